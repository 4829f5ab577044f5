"""The kernel Φ of a point value or a ball average as a density on cells, for c = 0 and the mollifier C(1 − s).

With ρ = |x − x₀|/R, s = ρ² and −κΔΦ = δ_{x₀} − C(1 − s), Φ = Φ′ = 0 at ρ = 1, integration of the radial flux gives

    1D:  Φ = R/κ (3/16 − ρ/2 + 3s/8 − s²/16) = R/(16κ) (1 − ρ)³(3 + ρ),
    2D:  Φ = 1/(4πκ) (−log s − 3/2 + 2s − s²/2),
    3D:  Φ = 1/(4πκR) (1/ρ − 15/8 + 5s/4 − 3s²/8) = 1/(4πκR) (1 − ρ)³(8 + 9ρ + 3s)/(8ρ).

Each is positive for ρ < 1 and negative beyond, so the extension by zero is the positive part. For the average over the
ball ρ ≤ ρ₀ the potential outside of it is the same, and inside, with y = s₀ − s, it is Φ(ρ₀) plus

    1D:  y (1/(4ρ₀) − 3/8 + s₀/8) − y²/16,   2D:  y (1/s₀ + s₀ − 2) − y²/2,   3D:  y (1/(2ρ₀s₀) − 5/4 + 3s₀/4) − 3y²/8.

A point value in 2D or 3D is taken as an average over a small ball of radius r₀; the difference is nonnegative,
supported there, with integral r₀²/(8κ), r₀²/(10κ) and L² norm (r₀/κ) √(5/(96π)), (1/κ) √(33 r₀/(560π)). In all cases
|Φ| ≤ ψ, the potential of the point that vanishes at R (`norms`), with integral R²/(2dκ) and L² norm R/κ times
√(R/6), 1/√(8π), 1/√(12πR).
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.formulas.expressions import parse
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.simplices import density
from pinnpoint.transfer.points.kernels import Kernel

PI_DOWN = 3.141592653589793  # float64's value is below π
NEAR = {2: 0.05, 3: 0.05}
"""r₀ of a point value against the size of the cell there."""
FEW = {1: 8, 2: 64, 3: 400}
"""Cells within two cell sizes of a point, about."""
GROWTH = {1: 1.0, 2: 2.0, 3: 4.0}
"""Of the tolerance from a simplex to its children at x₀."""
SKIN = {1: 1.0, 2: 1.4, 3: 2.0}
"""The same at the sphere."""
ORDER = {1: 6, 2: 4, 3: 4}
"""Degree of the Taylor models; what they miss is subdivided."""
OUTSIDE = {
    1: "3/16 - T/2 + 3*T**2/8 - T**4/16",
    2: "-log(T) - 1.5 + 2*T - T**2/2",
    3: "1/sqrt(T) - 15/8 + 5*T/4 - 3*T**2/8",
}
INSIDE = {
    1: "Y*(1/(4*P) - 3/8 + Q/8) - Y**2/16",
    2: "Y*(1/Q + Q - 2) - Y**2/2",
    3: "Y*(1/(2*P*Q) - 5/4 + 3*Q/4) - 3*Y**2/8",
}
FOURTH = 5.529
"""Upper bound of ∫_0^1 (−log s − 3/2 + 2s − s²/2)⁴ ds."""


def formula(d: int, radius: float, x0: Vector, inner: float, *, outside: bool = False, inside: bool = False) -> str:
    """Φ without its factor as a formula in x, y, z; `inner` is r₀, 0 for a point in one dimension.

    With `outside` it is for places with |x − x₀| ≥ r₀ alone, with `inside` for |x − x₀| ≤ R.
    """
    radius, inner = float(radius), float(inner)
    square = "+".join(f"({x}-({float(a)!r}))**2" for x, a in zip("xyz", x0, strict=False))
    s, ratio = f"(({square})/({radius!r})**2)", f"({inner!r}/({radius!r}))"
    t, least = (f"(abs(x-({float(x0[0])!r}))/({radius!r}))", ratio) if d == 1 else (s, f"{ratio}**2")
    cases = bool(inner) and not outside
    text = OUTSIDE[d].replace("T", f"max({t},{least})" if cases else t)
    if not inside:
        text = f"max(0,{text})"
    if cases:
        text += "+" + INSIDE[d].replace("Y", f"max(0,{ratio}**2-{s})").replace("P", ratio).replace("Q", f"({ratio}**2)")
    return text


def potential(
    kernel: Kernel, points: Vector, cells: Index, volumes: Vector, x0: Vector, tolerance: float, size: float
) -> Density:
    """Φ on the cells that the ball meets, for a kernel with c = 0 and k = 1.

    Parameters
    ----------
    volumes
        Lower bounds of |K|.
    tolerance
        Wanted mean error, against Φ without its factor (R/κ, 1/(4πκ), 1/(4πκR)).
    size
        Of the cells near x₀.
    """
    d, R, kappa = kernel.d, kernel.radius, kernel.kappa
    assert (kernel.c, kernel.k) == (0.0, 1)
    inner = kernel.average_radius
    point = inner == 0.0 and d > 1
    if point:
        inner = min(NEAR[d] * size, 0.5 * R)
    V = points[cells]
    low, high = V.min(axis=1), V.max(axis=1)
    gap = np.maximum(np.maximum(low - x0, x0 - high), 0.0)
    away = np.sqrt((gap**2).sum(axis=1)) * (1.0 - 1e-9)
    near = np.nonzero(away <= R)[0]
    far = np.sqrt(((V[near] - x0) ** 2).sum(axis=2).max(axis=1)) * (1.0 + 1e-9)
    ball = {1: 2.0, 2: math.pi, 3: 4.0}[d] * R**d
    few = np.maximum(1.0, ball / (FEW[d] * volumes[near]))  # the cells about x₀ are few: they may be less accurate
    limits = tolerance * np.where(away[near] < 2.0 * size, few, 1.0)
    apart = away[near] > np.maximum(2.0 * inner, 0.25 * (high - low)[near].max(axis=1))
    f = _resolved(kernel, V[near], x0, inner, apart, far < R, limits)
    # continuous.md, step 10c
    factor = {1: R / kappa, 2: 1.0 / (4.0 * math.pi * kappa), 3: 1.0 / (4.0 * math.pi * kappa * R)}[d]
    beta = factor * f.coefficients
    slip = gamma(16) * np.abs(beta).max(axis=1, initial=0.0)
    error1, error2 = up(factor * f.error1 + slip, 16), up(factor * f.error2 + slip, 16)
    if point:
        whole, root = {
            2: (inner**2 / (8.0 * kappa), inner / kappa * math.sqrt(5.0 / (96.0 * PI_DOWN))),
            3: (inner**2 / (10.0 * kappa), math.sqrt(33.0 * inner / (560.0 * PI_DOWN)) / kappa),
        }[d]
        touched = away[near] <= inner
        error1 = np.where(touched, up(error1 + whole / volumes[near], 16), error1)
        error2 = np.where(touched, up(error2 + root / np.sqrt(volumes[near]), 16), error2)
    rest = np.asarray(up(factor * f.high, 16))
    whole, root = (
        R**2 / (2.0 * d * kappa),
        math.sqrt({1: R / 6.0, 2: 0.125 / PI_DOWN, 3: 1.0 / (12.0 * PI_DOWN * R)}[d]),
    )
    plain1 = np.asarray(up(whole / volumes[near], 16))
    plain2 = np.asarray(up(root * R / kappa / np.sqrt(volumes[near]), 16))
    lost = ~((error1 < plain1) & np.isfinite(error2))  # cells that were not resolved: Φ itself is the error
    return Density(
        np.where(lost[:, None], 0.0, beta),
        np.where(lost, 0.0, rest),
        np.where(lost, plain1, error1),
        np.where(lost, plain2, error2),
        near,
    )


def _resolved(
    kernel: Kernel, V: Vector, x0: Vector, inner: float, outside: Vector, inside: Vector, limits: Vector
) -> Density:
    """Φ without its factor on simplices, of which some are known to lie outside of r₀ or inside of R."""
    count = V.shape[1] * (V.shape[1] + 1) // 2
    beta, rest = np.zeros((len(V), count)), np.zeros((3, len(V)))
    for out, within in product((True, False), repeat=2):
        these = (outside == out) & (inside == within)
        if these.any():
            text = formula(kernel.d, kernel.radius, x0, inner, outside=out, inside=within)
            point = kernel.average_radius == 0.0 and not out
            growth = GROWTH[kernel.d] if point else 1.0 if within else SKIN[kernel.d]
            f = density(parse(text), V[these], order=ORDER[kernel.d], tolerance=limits[these], growth=growth)
            beta[these], rest[:, these] = f.coefficients, (f.high, f.error1, f.error2)
    return Density(beta, *rest)
