"""Tractions that a stress leaves on curved sides, carried by Airy functions inside the cells at these sides.

On an arc over a chord let r = t ds/dξ − σ_h(−Y′, 1) be what the stress leaves, without force and moment. With
b = −∫r_ξ, p = ∫r_y, a = ∫(p + Y′b) along ξ, w = κτ(1 − τ)ℓ, θ = (Y − y)/w and χ = 1 − 3θ² + 2θ³ the function
ψ = (a − wθb)χ(θ) has ∇ψ = (p, b) on the arc and is zero with its gradient for θ = 1, and the stress
(ψ_yy, −ψ_ξy, ψ_ξξ) has no divergence, the traction r on the arc, and none on the cell's other sides. Its norm is what r
costs. See docs/curved.md, steps 6c to 6f.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import legendre

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.transfer.elastic.arcs import ACROSS, LINE, Arcs, Graph, Pulled, gauss

DEGREE = 18
"""Of the polynomials α and β with a = w²α, b = wβ: one more than this many coefficients."""
SAMPLES = 160
"""Points at which what these leave is looked at."""
TOP = 2 * (DEGREE + 9)
"""No polynomial that is looked at has a higher degree."""
COUNT = 20_000
"""More than the roundings of any value, relative to the absolute terms in it."""


@cache
def basis(points: tuple[float, ...]) -> tuple[Vector, ...]:
    """Legendre's polynomials on (0, 1) and their first three derivatives by τ at points, (points, DEGREE + 1) each."""
    x, found = 2.0 * np.array(points) - 1.0, []
    for k in range(4):
        columns = []
        for j in range(DEGREE + 1):
            c = np.zeros(DEGREE + 1)
            c[j] = 1.0
            columns.append(2.0**k * legendre.legval(x, legendre.legder(c, k) if k else c))
        found.append(np.stack(columns, axis=1))
    return tuple(found)


@cache
def samples() -> Vector:
    """Chebyshev's points of (0, 1)."""
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * (np.arange(SAMPLES) + 0.5) / SAMPLES))


BETWEEN = 1.0 / np.cos(0.5 * np.pi * TOP / SAMPLES)
"""How much larger a polynomial of degree TOP is between these points: Ehlich and Zeller."""


@dataclass(frozen=True, eq=False)
class Bump:
    """ω = κτ(1 − τ) and its derivatives at points, by arcs."""

    values: tuple[Vector, ...]

    @classmethod
    def of(cls, slope: Vector, tau: Vector) -> Bump:
        """At points (P,)."""
        k, zero = slope[:, None], np.zeros((len(slope), len(tau)))
        return cls((k * (tau * (1.0 - tau)), k * (1.0 - 2.0 * tau), -2.0 * k + zero, zero))


def product(one: Sequence[Vector], two: Sequence[Vector]) -> list[Vector]:
    """Derivatives of a product up to the order that both have."""
    rows = [[1], [1, 1], [1, 2, 1], [1, 3, 3, 1]]
    depth = min(len(one), len(two))
    return [sum((c * one[k - j] * two[j] for j, c in enumerate(rows[k])), 0.0 * one[0]) for k in range(depth)]


@dataclass(frozen=True, eq=False)
class Jump:
    """r along arcs: its values and derivatives by τ at points, (2, n, P) each, with bounds of their absolute terms."""

    r: Vector
    rate: Vector
    size: Vector
    steep: Vector

    @classmethod
    def of(cls, arcs: Arcs, stress: Vector, given: Pulled, graph: Graph) -> Jump:
        """From the stress in the parts of the cells at the chords, (n, 3, 3): ends and centroid, entries ee, en, nn."""
        eta, one, two, _ = graph.values
        centre = -3.0 * eta / arcs.height[:, None]
        middle = (1.0 + arcs.foot[:, None]) / 3.0
        second = graph.tau - centre * middle
        share = np.stack([1.0 - second - centre, second, centre], axis=2)
        down = -3.0 * one / arcs.height[:, None]
        speed = 1.0 - down * middle
        moved = np.stack([-speed - down, speed, down], axis=2)
        S, dS = (np.einsum("npk,nkv->vnp", x, stress) for x in (share, moved))
        top, steep = (np.einsum("npk,nkv->vnp", np.abs(x), np.abs(stress)) for x in (share, moved))
        t, dt = given.at(graph.tau)
        r = np.stack([t[0] + one * S[0] - S[1], t[1] + one * S[1] - S[2]])  # curved.md, step 6c
        rate = np.stack([dt[0] + two * S[0] + one * dS[0] - dS[1], dt[1] + two * S[1] + one * dS[1] - dS[2]])
        a1, a2 = graph.sizes[1], graph.sizes[2]
        size = np.stack([given.top[0][:, None] + a1 * top[0] + top[1], given.top[1][:, None] + a1 * top[1] + top[2]])
        tall = np.stack(
            [given.steep[c][:, None] + a2 * top[c] + a1 * steep[c] + steep[c + 1] + top[c + 1] for c in range(2)]
        )
        return cls(r, rate, size, tall)


def framed(arcs: Arcs, values: Vector) -> Vector:
    """Stresses in the parts of the cells at the chords, by their ends and the centroid, in the chords' frames.

    Parameters
    ----------
    values
        At the split nodes of the arcs' cells, (n, 3, 3, 3).
    """
    rows = np.arange(len(arcs.cells))
    own = values[rows, arcs.local]
    others = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])[arcs.local]
    S = own[rows[:, None], others]
    full = np.stack([np.stack([S[..., 0], S[..., 1]], axis=-1), np.stack([S[..., 1], S[..., 2]], axis=-1)], axis=-2)
    turned = np.einsum("nia,nkab,njb->nkij", arcs.frame, full, arcs.frame)
    return np.stack([turned[..., 0, 0], turned[..., 0, 1], turned[..., 1, 1]], axis=-1)


def cost(arcs: Arcs, stress: Vector, wrong: Vector, given: Pulled, c_min: Vector, blur: Vector) -> Vector:
    """Upper bounds of the norm of a stress that carries r, (n,).

    Parameters
    ----------
    stress, wrong
        In the chords' frames, and bounds of the error of any entry, (n,).
    c_min
        Lower bounds of the least eigenvalue of C, (n,).
    blur
        Bounds of the relative errors of the chords' frames, (n,).
    """
    near = _fitted(arcs, Jump.of(arcs, stress, given, arcs.line))
    main = _norm(arcs, near, c_min)  # curved.md, step 6d
    jump = Jump.of(arcs, stress, given, Graph.of(arcs.shape, samples()))
    value, slope = _left(arcs, near, jump, blur)
    grown = 2.0 * (1.0 + 2.0 * arcs.over) * wrong * (1.0 + arcs.steep[0])
    value = up(value + given.e.max(axis=0) + grown, 8)
    bend = grown * (2.0 + 6.0 / arcs.height * (1.0 + arcs.steep[0])) + 2.0 * wrong * arcs.steep[1]
    slope = up(slope + given.f.max(axis=0) + bend, 8)
    return np.asarray(up(main + crude(arcs, value, slope, c_min), 8))


def crude(arcs: Arcs, value: Vector, slope: Vector, c_min: Vector) -> Vector:
    """What any r without force and moment costs with entries up to `value` and derivatives by τ up to `slope`."""
    k, y1, y2 = arcs.slope, arcs.steep[0], arcs.steep[1]
    beta = 2.0 * value / k
    alpha = 2.0 * (1.0 + y1) * value / k**2
    u = y1 + k
    both = alpha + beta
    yy = 3.0 * beta + 6.0 * both  # |χ′| ≤ 3/2, |χ″| ≤ 6
    xy = value + 1.5 * beta * u + 1.5 * (beta + value) + 6.0 * both * u + 1.5 * both * k
    xx = value * (1.0 + y1) + 0.25 * k * slope + 3.0 * (beta + value) * u + 6.0 * both * u**2
    xx = xx + 1.5 * both * (0.25 * k * (y2 + 2.0 * k) + 2.0 * u * k)
    size = np.sqrt(yy**2 + 2.0 * xy**2 + xx**2)
    return np.asarray(up(size * arcs.length * np.sqrt(k / (6.0 * c_min)), 64))  # curved.md, step 6e


def amplified(arcs: Arcs, norm: Vector, c_min: Vector, c_max: Vector, volume: Vector) -> Vector:
    """What a stress of norm at most `norm` in its straight cell costs on the curved one, tractions on the arc included.

    It is linear on the part at the chord, a third of the cell: |σ|² ≤ 36 c_max ‖σ‖²/|K| at its vertices.
    """
    top = np.sqrt(36.0 * c_max / volume) * norm
    wide = (1.0 + 2.0 * arcs.over) * top
    value = 2.0 * wide * (1.0 + arcs.steep[0])
    slope = value * (2.0 + 6.0 / arcs.height * (1.0 + arcs.steep[0])) + 2.0 * wide * arcs.steep[1]
    more = wide * np.sqrt(arcs.added / c_min)
    return np.asarray(up(norm + more + crude(arcs, value, slope, c_min), 64))  # curved.md, step 6f


def _fitted(arcs: Arcs, jump: Jump) -> tuple[Vector, Vector]:
    """Coefficients (n, DEGREE + 1) of α and β, near those of r."""
    tau, w = gauss(LINE)
    r, eta1 = jump.r, arcs.line.values[1]
    P = legendre.legvander(2.0 * tau - 1.0, LINE - 1)
    to = ((2 * np.arange(LINE) + 1.0)[:, None] * P.T) * w  # values to coefficients
    c = np.einsum("kp,cnp->cnk", to, r)
    c[:, :, 0] = 0.0  # no force
    b, p = (_integral(sign * c[i]) @ P.T for i, sign in ((0, -1.0), (1, 1.0)))
    d = (p + eta1 * b) @ to.T
    d[:, 0] = 0.0  # no moment
    a = _integral(d) @ P.T
    omega = Bump.of(arcs.slope, tau).values[0]
    V = basis(tuple(tau.tolist()))[0]
    out = (2 * np.arange(DEGREE + 1) + 1.0)[:, None] * V.T * w
    return (a / omega**2) @ out.T, (b / omega) @ out.T


def _integral(c: Vector) -> Vector:
    """Coefficients of ∫₀^τ, as many as there were."""
    n = c.shape[1]
    found = np.zeros_like(c)
    k = np.arange(1, n)
    found[:, 1:] += c[:, :-1] / (2.0 * (2.0 * k - 1.0))
    found[:, 1:-1] -= c[:, 2:] / (2.0 * (2.0 * k[:-1] + 3.0))
    found[:, 0] = 0.5 * c[:, 0] - c[:, 1] / 6.0
    return found


def _parts(arcs: Arcs, near: tuple[Vector, Vector], graph: Graph, absolute: bool) -> dict[str, list[Vector]]:
    """ωβ and ω²α with their derivatives, and p̄ = (ω²α)′ − η′ωβ; or sums of the absolute terms in them."""
    V = basis(tuple(graph.tau.tolist()))
    omega = list(Bump.of(arcs.slope, graph.tau).values)
    alpha, beta = ([c @ v.T for v in V] for c in near)
    eta, sign = list(graph.values), -1.0
    if absolute:
        alpha, beta = ([np.abs(c) @ np.abs(v).T for v in V] for c in near)
        omega, eta, sign = [np.abs(x) for x in omega], list(graph.sizes), 1.0
    b, a = product(omega, beta), product(product(omega, omega), alpha)
    tilt = product(eta[1:], b[:3])
    p = [a[k + 1] + sign * tilt[k] for k in range(3)]
    return {"omega": omega, "alpha": alpha, "beta": beta, "b": b, "p": p, "eta": eta}


def _left(arcs: Arcs, near: tuple[Vector, Vector], jump: Jump, blur: Vector) -> tuple[Vector, Vector]:
    """Upper bounds of |r − r₀| and |r′ − r₀′|, r₀ of the fitted functions: r₀ = (−b′, p′)."""
    graph = Graph.of(arcs.shape, samples())
    own, size = (_parts(arcs, near, graph, absolute) for absolute in (False, True))
    found = []
    for k, r, most in ((1, jump.r, jump.size), (2, jump.rate, jump.steep)):
        off = np.maximum(np.abs(r[0] + own["b"][k]), np.abs(r[1] - own["p"][k]))
        scale = np.maximum(most[0] + size["b"][k], most[1] + size["p"][k])
        rounding = (gamma(COUNT) + blur[:, None]) * scale
        found.append(up(BETWEEN * (off + rounding).max(axis=1), 16))
    return found[0], found[1]


def _norm(arcs: Arcs, near: tuple[Vector, Vector], c_min: Vector) -> Vector:
    """Upper bounds of ‖(ψ_yy, −ψ_ξy, ψ_ξξ)‖ over the lift, by a rule that is exact."""
    (tau, w), (theta, v) = gauss(LINE), gauss(ACROSS)
    square, size = (_squares(_parts(arcs, near, arcs.line, absolute), theta, absolute) for absolute in (False, True))
    k = arcs.slope[:, None] * (tau * (1.0 - tau))
    total, scale = (np.einsum("npt,np,p,t->n", x, k, w, v) for x in (square, size))
    with_rounding = np.sqrt(total) + gamma(COUNT) * np.sqrt(scale)
    return np.asarray(up(arcs.length * with_rounding / np.sqrt(c_min), 64))


def _squares(x: dict[str, list[Vector]], theta: Vector, absolute: bool) -> Vector:
    """|D²ψ|² at points of the lift, (n, P, T)."""
    chi, slope, bend = 1.0 - 3.0 * theta**2 + 2.0 * theta**3, -6.0 * theta * (1.0 - theta), -6.0 + 12.0 * theta
    sign = -1.0
    if absolute:
        chi, slope, bend, sign = np.abs(chi), np.abs(slope), np.full_like(theta, 6.0), 1.0
    omega, eta = ([y[..., None] for y in x[name]] for name in ("omega", "eta"))
    alpha, beta = x["alpha"][0][..., None], x["beta"][0][..., None]
    b, p = ([y[..., None] for y in x[name]] for name in ("b", "p"))
    with np.errstate(invalid="ignore", divide="ignore"):
        pi = p[0] / omega[0]
    u = eta[1] + sign * theta * omega[1]
    both = alpha + sign * theta * beta
    side = pi + sign * theta * b[1]
    yy = sign * 2.0 * beta * slope + both * bend
    xy = b[1] * chi + beta * slope * u + sign * side * slope + sign * both * bend * u + both * slope * omega[1]
    xx = (p[1] + sign * eta[1] * b[1] + sign * theta * omega[0] * b[2]) * chi + 2.0 * side * slope * u
    more = omega[0] * (eta[2] + sign * theta * omega[2]) + sign * 2.0 * u * omega[1]
    xx = xx + both * bend * u * u + both * slope * more
    return np.asarray(yy**2 + 2.0 * xy**2 + xx**2)
