"""The kernels of points where coefficients vary, in floating point, for comparison with what a bundle declares.

Ψ = gΦ of docs/kernels.md, section 1, Φ from radial quadrature. Nothing here is part of a proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from pinnpoint_verify.bent import Bent
from pinnpoint_verify.checker import Ball, Cells, Density, Mesh, Query, means, up
from pinnpoint_verify.constants import value_at
from pinnpoint_verify.discs import Ranges
from pinnpoint_verify.formulas import formula, plain
from pinnpoint_verify.lifts import Jet, formula_jet
from pinnpoint_verify.reader import Array, larger, need, smaller
from pinnpoint_verify.reference import compare, directions
from pinnpoint_verify.rows import is_number
from pinnpoint_verify.varying import VariedSide

Row = dict[str, Any]
DEGREE = 60
"""Of radial functions."""
RULES = {1: ((1, 40), (1, 60), (1, 90)), 2: ((32, 40), (64, 60), (128, 90)), 3: ((24, 32), (40, 48), (64, 64))}
"""Directions and radii of samples of integrals over balls, ever finer."""


class Kernel:
    """Ψ = gΦ and w of a point where κ, b and c vary, or A is a constant matrix (kernels.md, section 1)."""

    def __init__(self, A: Any, c: Any, x0: Array, R: float, b: Any = None) -> None:
        self.c, self.b, self.x0, self.R, self.d = c, b, x0, R, len(x0)
        self.table: Any = None
        d, self.A, self.matrices = self.d, np.eye(len(x0)), cast(Any, None)
        if isinstance(A, list) and d > 1:
            A = [[plain(v) for v in row] for row in A]
            same = all(A[i][j] == (A[0][0] if i == j else 0.0) for i in range(d) for j in range(d))
            if not same:
                self.table = A if any(not is_number(v) for row in A for v in row) else None
                self.A, self.matrices = self.matrix(A, x0[None])[0], A
            A = A[0][0] if same else 1.0
        self.kappa, self.L = A, np.linalg.cholesky(self.A)
        self.inverse, self.root = np.linalg.inv(self.A), float(np.prod(np.diag(self.L)))
        self.kappa0 = float(jet(self.kappa, x0[None]).v[0])
        self.b0 = np.zeros(d) if b is None else np.array([float(formula(v, x0[None])[0]) for v in b])
        self.beta = self.inverse @ self.b0 / (2.0 * self.kappa0)
        self.nu2 = 0.0
        self.nu2 = larger(0.0, -float(self.bracket(x0[None])[0]) / self.kappa0)
        self.phi, self.slope, self.height = radial_kernel(self.d, math.sqrt(self.nu2) * R)
        self.height /= R**self.d
        self.size = self.height * math.exp(R * float(np.linalg.norm(self.L.T @ self.beta))) / self.root

    def matrix(self, A: Any, X: Array) -> Array:
        """A matrix by its formulas at points (…, d)."""
        each = [[formula(A[smaller(i, j)][larger(i, j)], X) for j in range(self.d)] for i in range(self.d)]
        return np.stack([np.stack(row, axis=-1) for row in each], axis=-2)

    def field(self, X: Array) -> Array:
        """The load q = (A₀ − A)∇Ψ of a matrix that varies, (…, d)."""
        Y = self.stretched(X)
        r = np.sqrt((Y**2).sum(axis=-1)) / self.R
        safe = np.clip(r, 1e-12, 1.0)
        steep = (self.slope(safe) / safe * self.R ** (-self.d))[..., None] * ((X - self.x0) @ self.inverse)
        rise = self.weight(X)[..., None] * (steep - self.beta * self.potential(X)[..., None])
        return np.einsum("...ij,...j->...i", self.A - self.matrix(self.table, X), rise) * (r < 1.0)[..., None]

    def largest_load(self) -> float:
        """The largest |q_c|, about."""
        unit = directions(self.d, 8)[0]
        X = self.x0 + self.R * np.array([0.1, 0.3, 0.5, 0.7])[:, None, None] * (unit @ self.L.T)
        return float(np.abs(self.field(X)).max())

    def stretched(self, X: Array) -> Array:
        """L⁻¹(x − x₀)."""
        return np.asarray((X - self.x0) @ np.linalg.inv(self.L).T)

    def drift(self, X: Array) -> tuple[Array, Array]:
        """B (…, d) and its divergence at points."""
        if self.b is None:
            return np.zeros(X.shape), np.zeros(X.shape[:-1])
        jets = [jet(v, X) for v in self.b]
        return np.stack([j.v for j in jets], axis=-1), np.asarray(sum(j.g[i] for i, j in enumerate(jets)))

    def bracket(self, X: Array) -> Array:
        """E at points."""
        k = jet(self.kappa, X)
        bent = (k.g**2).sum(axis=0) / (4.0 * k.v)
        b, rise = self.drift(X)
        along = b @ self.beta + np.einsum("...i,i...->...", b, k.g) / (2.0 * k.v)
        own = k.v * (self.nu2 + float(self.beta @ self.A @ self.beta)) - 0.5 * k.lap + bent
        return np.asarray(own + rise - along - formula(self.c, X))

    def weight(self, X: Array) -> Array:
        """G at points."""
        slant = np.exp(-(X - self.x0) @ self.beta)
        return np.asarray(slant / (np.sqrt(formula(self.kappa, X) * self.kappa0) * self.root))

    def potential(self, X: Array) -> Array:
        """Φ at points."""
        r = np.sqrt((self.stretched(X) ** 2).sum(axis=-1)) / self.R
        return np.asarray(np.where(r < 1.0, self.phi(np.clip(r, 1e-12, 1.0)), 0.0) * self.R ** (2 - self.d))

    def turning(self, X: Array) -> Array:
        """(2/R²) V Φ_s at points."""
        if self.b is None:
            return np.zeros(X.shape[:-1])
        r = np.clip(np.sqrt((self.stretched(X) ** 2).sum(axis=-1)) / self.R, 1e-12, 1.0)
        gap = self.drift(X)[0] - (formula(self.kappa, X) / self.kappa0)[..., None] * self.b0
        V = np.einsum("...i,ij,...j->...", gap, self.inverse, X - self.x0)
        return np.asarray(V * self.slope(r) / r * self.R ** (-self.d))

    def density(self, X: Array) -> Array:
        """W at points."""
        s = (self.stretched(X) ** 2).sum(axis=-1) / self.R**2
        own = formula(self.kappa, X) * self.height * np.maximum(0.0, 1.0 - s) ** 2
        own = own + self.bracket(X) * self.potential(X) + self.turning(X)
        return np.asarray(self.weight(X) * own * (s < 1.0))

    def integral(self, f: Any, count: int, n: int) -> tuple[float, float]:
        """∫ fΨ and ∫ |fΨ| over the ball."""

        def values(X: Array) -> Array:
            return np.asarray((f(X) if callable(f) else formula(f, X)) * self.weight(X) * self.potential(X))

        value, size = self.over_ball(lambda X: values(X)[..., None], count, n)
        return float(value[0]), float(size[0])

    def over_ball(self, f: Callable[[Array], Array], count: int, n: int) -> tuple[Array, Array]:
        """Integrals of f and |f| over the ball, f of points (…, d) with values (…, m)."""
        unit, weights = directions(self.d, count)
        t, w = special.roots_legendre(n)
        t, w = 0.5 * (1.0 + t), 0.5 * w
        r = t * t  # Φ is singular at the centre
        values = f(self.x0 + self.R * r[:, None, None] * (unit @ self.L.T))
        sphere = {1: 2.0, 2: 2.0 * math.pi, 3: 4.0 * math.pi}[self.d] * self.R**self.d * self.root
        shells = (sphere * w * 2.0 * t * r ** (self.d - 1))[:, None] * weights
        return np.einsum("rk,rkm->m", shells, values), np.einsum("rk,rkm->m", shells, np.abs(values))

    def near_enough(self, f: Any, given: float, error: float) -> tuple[bool, float]:
        """Whether a number is ∫ fΨ, as far as ever finer rules tell it; and that."""
        value = self.integral(f, *RULES[self.d][0])[0]
        for sizes in RULES[self.d][1:]:
            last, (value, size) = value, self.integral(f, *sizes)
            if abs(given - value) <= error + 4.0 * abs(value - last) + 1e-8 * size:
                return True, value
        return False, value


def radial_kernel(d: int, decay: float) -> tuple[Callable[[Array], Array], Callable[[Array], Array], float]:
    """Φ of the unit ball, (−Δ + decay²)Φ = δ − C(1 − r²)², and Φ′, as functions of r, and C."""
    h: Any = {1: np.cosh, 2: special.i0, 3: lambda z: np.where(z > 1e-8, np.sinh(z) / np.maximum(z, 1e-8), 1.0)}[d]
    solution: Callable[[Array], Array] = lambda r: np.asarray(h(decay * r))  # noqa: E731
    sphere = {1: 2.0, 2: 2.0 * math.pi, 3: 4.0 * math.pi}[d]
    domain: Callable[[Array], Array] = lambda r: 2.0 * np.asarray(r) - 1.0  # noqa: E731

    def fitted(f: Callable[[Array], Array]) -> Array:
        """Coefficients of the integral from 0 of a function on (0, 1)."""
        return 0.5 * chebyshev.chebint(chebyshev.chebinterpolate(lambda y: f(0.5 * (1.0 + y)), DEGREE), lbnd=-1)

    mass = fitted(lambda r: r ** (d - 1) * (1.0 - r * r) ** 2 * solution(r))
    whole = float(chebyshev.chebval(1.0, mass))

    def left(r: Array) -> Array:
        F = 1.0 - chebyshev.chebval(domain(r), mass) / whole
        return np.asarray((F / solution(r) ** 2 - 1.0) / r ** (d - 1))

    rest = fitted(left)
    end = float(chebyshev.chebval(1.0, rest))
    start: Any = {1: lambda r: 1.0 - r, 2: lambda r: -np.log(r), 3: lambda r: 1.0 / r - 1.0}[d]

    def phi(r: Array) -> Array:
        return np.asarray(solution(r) * (start(r) + end - chebyshev.chebval(domain(r), rest)) / sphere)

    def slope(r: Array) -> Array:
        """Φ′ of Φ = h (start + end − rest): start′ = −r^{1−d}, rest′ = left."""
        z = decay * r
        rise: Any = {1: np.sinh, 2: special.i1, 3: lambda z: np.where(z > 1e-3, _rise(z), z / 3.0)}[d]
        bent = decay * rise(z) * (start(r) + end - chebyshev.chebval(domain(r), rest))
        return np.asarray((bent - solution(r) * (r ** (1.0 - d) + left(r))) / sphere)

    return phi, slope, 1.0 / (sphere * whole)


def _rise(z: Array) -> Array:
    """(sinh z / z)′."""
    z = np.maximum(z, 1e-3)
    return np.asarray(np.cosh(z) / z - np.sinh(z) / z**2)


def point_agrees(kernel: Kernel, query: Query, g: Cells, name: str, bent: Bent | None = None) -> None:
    """W and q of a point on a range of cells; about the point, where Φ is singular, they are cut until rules agree."""
    mesh, R = query.p.mesh, kernel.R
    V, data = mesh.points[mesh.cells[g.part]], query.w.on(g.part.start, g.part.stop)
    h = g.h * float(np.linalg.norm(np.linalg.inv(kernel.L), 2))
    far = np.sqrt((kernel.stretched(V) ** 2).sum(axis=2))
    first, last = far.min(axis=1), far.max(axis=1)
    stored = np.any(data[0], axis=(1, 2)) | (data[1] + data[2] + data[3] > 0.0)
    here = np.nonzero(stored | (first - h < R))[0]
    cut = ((last > R * (1.0 - 1e-9)) & (first - h < R))[here]
    cut |= np.zeros(len(here), dtype=bool) if bent is None else bent.bent[g.part][here]
    size = kernel.size

    def density(X: Array, bary: Array, at: Array) -> Array:
        if bent is None:
            return kernel.density(X)
        Y, J = bent.at(X, g.part.start + here[at])  # curved.md, step 1f
        return kernel.density(Y) * np.linalg.det(J)

    loose = np.where(cut, 0.02 * size * np.minimum(1.0, h[here] / R), 1e-7 * size)
    compare(f"density of {name!r}", tuple(x[here] for x in data), V[here], density, loose)
    q = query.z.field if isinstance(query.z, VariedSide) else []
    small = 1e-7 * kernel.largest_load() if q else 0.0  # q has two derivatives where the ball ends
    for c, part in enumerate(q):
        rows = tuple(x[here] for x in part.on(g.part.start, g.part.stop))
        compare(f"load of {name!r}", rows, V[here], lambda X, bary, at, c=c: kernel.field(X)[..., c], small)


def potential_agrees(kernel: Kernel, query: Query, g: Cells, name: str) -> None:
    """Ψ of a point on a range of cells, away from the point and from where the ball ends."""
    assert query.phi is not None
    mesh, R = query.p.mesh, kernel.R
    V, data = mesh.points[mesh.cells[g.part]], query.phi.on(g.part.start, g.part.stop)
    h = g.h * float(np.linalg.norm(np.linalg.inv(kernel.L), 2))
    far = np.sqrt((kernel.stretched(V) ** 2).sum(axis=2))
    first, last = far.min(axis=1), far.max(axis=1)
    crossed = (first - h < R) & (last > R * (1.0 - 1e-9)) | (first <= h)
    keep = np.nonzero(~crossed)[0]
    unit = {1: R, 2: 1.0 / (4.0 * math.pi), 3: 1.0 / (4.0 * math.pi * R)}[mesh.d] / (kernel.kappa0 * kernel.root)
    rows = tuple(x[keep] for x in data)
    compare(
        f"kernel of {name!r}",
        rows,
        V[keep],
        lambda X, bary, at: kernel.weight(X) * kernel.potential(X),
        1e-7 * unit,
    )


def mass_agrees(kernel: Kernel, phi: Density, mesh: Mesh, name: str) -> None:
    """∫ Ψ."""
    held = float(np.sum(phi.beta.mean(axis=1) * mesh.top[phi.at]))
    off = float(np.sum(mesh.top[phi.at] * phi.rest[:, 1]))
    fits, value = kernel.near_enough(1.0, held, off)
    need(fits, f"kernel of {name!r}: its integral is {held!r}, not {value!r} (sampled)")


def sizes_of(kernel: Kernel, name: str) -> tuple[float, tuple[float, float]]:
    """A number with Ψ ≤ height · ψ(L⁻¹y), ψ of κ = 1, and upper bounds of ‖L‖ and (det L)^¼. Part of the proof."""
    d, x0 = kernel.d, kernel.x0
    if kernel.matrices is not None:  # indefinite.md, step 10d
        A = [[value_at(v, x0) for v in row] for row in kernel.matrices]
        B = [[A[smaller(i, j)][larger(i, j)] for j in range(d)] for i in range(d)]
        need(all(x is not None for row in B for x in row), f"{name!r}: the diffusion has no value at the point")
        M: Any = [[cast(Ball, x) for x in row] for row in B]
        det = M[0][0] * M[1][1] - M[0][1] * M[1][0]
        if d == 3:
            det = M[2][2] * det - M[1][2] * (M[0][0] * M[1][2] - M[0][1] * M[0][2])
            det = det + M[0][2] * (M[0][1] * M[1][2] - M[0][2] * M[1][1])
        need(float(det.low) > 0.0, f"{name!r}: the diffusion at the point is not positive")
        frobenius = math.sqrt(sum(float(x.top) ** 2 for row in M for x in row)) * (1.0 + 1e-13)
        return float(up(1.0 / math.sqrt(float(det.low)))), (
            float(up(math.sqrt(frobenius))),
            float(up(math.sqrt(math.sqrt(math.sqrt(float(det.top)))))),
        )
    count = {1: 64, 2: 16, 3: 8}[d]
    steps = [(2.0 * np.indices((count,) * d)[i].ravel() + 1.0) / count - 1.0 for i in range(d)]
    half = (1.0 + 1e-12) * kernel.R / count
    box = [Ball(x0[i] + kernel.R * steps[i], half + 1e-14 * np.abs(x0[i])) for i in range(d)]
    at, whole = value_at(kernel.kappa, x0), Ranges(kernel.kappa, box).value
    low = float(np.min(whole.low))
    need(at is not None and float(at.low) > 0.0 and low > 0.0, f"{name!r}: κ in the ball is not positive")
    return float(up(1.0 / math.sqrt(float(cast(Ball, at).low) * low * (1.0 - 1e-14)))), (1.0, 1.0)


def constants_agree(kernel: Kernel, w: Density, mesh: Mesh, source: Any, goal: Row, name: str) -> None:
    """∫ fΨ, and the integral of w: with u = 1 in the identity it is 1 − ∫ cΨ."""
    fits, value = kernel.near_enough(source, goal["constant"], goal["error"])
    need(fits, f"{name!r}: ∫fΨ is {value!r}, not {goal['constant']!r} (sampled)")
    held = float(np.sum(w.beta.mean(axis=1) * mesh.top[w.at]))
    off = float(np.sum(mesh.top[w.at] * w.rest[:, 1])) + 1e-7
    fits, value = kernel.near_enough(kernel.c, 1.0 - held, off)
    need(fits, f"density of {name!r}: its integral is {held!r}, not {1.0 - value!r} (sampled)")


def with_one(Y: Array) -> Array:
    """1 and the coordinates, (…, d + 1)."""
    return np.concatenate([np.ones((*Y.shape[:-1], 1)), Y], axis=-1)


def loads_agree(kernel: Kernel, query: Query, name: str) -> None:
    """∫ q (x − x₀)^α, |α| ≤ 2, of a matrix that varies: what is orthogonal to quadratics on cells does not enter."""
    mesh, q = query.p.mesh, query.z.field if isinstance(query.z, VariedSide) else []
    need(bool(q) == (kernel.table is not None), f"{name!r}: a load on gradients where there is none, or none")
    for c, part in enumerate(q):
        away = with_one(mesh.points[mesh.cells[part.at]] - kernel.x0)
        beta, _, error, _ = (x[part.at] for x in part.on(0, mesh.C))
        held = np.einsum(
            "nab,abkl,nki,nlj,n->ij", beta, means(mesh.d, 4).m, away, away, mesh.top[part.at], optimize=True
        )
        most = np.abs(away).max(axis=1)
        off = np.einsum("n,ni,nj->ij", mesh.top[part.at] * error, most, most)

        def own(X: Array, c: int = c) -> Array:
            Y = with_one(X - kernel.x0)
            return np.asarray(
                (kernel.field(X)[..., c, None, None] * Y[..., :, None] * Y[..., None, :]).reshape(*X.shape[:-1], -1)
            )

        found = [kernel.over_ball(own, *sizes) for sizes in RULES[mesh.d]]
        apart = np.minimum(*(np.abs(a[0] - found[-1][0]) for a in found[:2]))
        fits = np.abs(held.ravel() - found[-1][0]) <= off.ravel() + 4.0 * apart + 1e-7 * found[-1][1]
        need(bool(np.all(fits)), f"load of {name!r}: its moments are not those of (A₀ − A)∇Ψ (sampled)")


def jet(given: Any, X: Array) -> Jet:
    """A formula at points (…, d), with its slopes and its Laplacian."""
    zero = np.zeros(X.shape[:-1])
    unit = np.eye(X.shape[-1])
    slopes = [np.stack([np.full_like(zero, unit[i, j]) for j in range(len(unit))]) for i in range(len(unit))]
    return formula_jet(given, [Jet(X[..., i], slopes[i], zero) for i in range(len(unit))])
