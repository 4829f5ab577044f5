"""Intervals: the direct route from residuals to point errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats, number, set_fields, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.rounding.arithmetic import TINY, at_most, gamma, up
from pinnpoint.rounding.decimals import Range
from pinnpoint.taylor.inputs import Data

DIGITS = 60
MOST_DIGITS = 2000
SIZES = (1e-90, 1e90)
"""Resistances h/κ of cells; products of those within cannot underflow to any effect."""
Bounds = tuple[float, float]
"""A lower and an upper bound."""


@dataclass(frozen=True, eq=False)
class DirectRoute:
    """|u(x) − u*(x)| from the residual of u itself, without a discrete system (paper, app. continuous_residual_route).

    For −(κu′)′ + c u = f on (a, b), u(a) = g_a, u(b) = g_b, and F = −(κu′)′ + c u − f,

        u(x) − u*(x) = ∫ G_x F + p_a (u(a) − g_a) + p_b (u(b) − g_b),

    with G_x the Green function and p_a, p_b the values at x of the solutions with boundary values (1, 0), (0, 1). With
    r(t) = ∫_a^t κ⁻¹ and s(t) = ∫_t^b κ⁻¹, for c = 0: G_x(t) = r(min)s(max)/r(b), p_a = s(x)/r(b). For c > 0 and
    μ = √(c/κ): G_x(t) = sinh μ(min − a) sinh μ(b − max) / (κμ sinh μ(b − a)), p_a = sinh μ(b − x)/sinh μ(b − a).

    *Guarantee:* deterministic; norms of G_x are enclosed, rounding included. *Assumes:* κ and c are what is stored;
    κu′ is absolutely continuous; what the caller says of F and of the boundary values.

    Parameters
    ----------
    nodes
        a < … < b: the ends, and where κ jumps.
    kappa
        κ > 0, a number or one per piece.
    x
        The query point, in [a, b].
    reaction
        c ≥ 0, a number; above zero κ must be a number too.
    radius
        R > 0 of the local part (x − R, x + R), cut to (a, b); its ends are rounded to floats, see `window`.
    """

    nodes: Vector
    kappa: Vector
    x: float
    reaction: float
    window: Bounds
    """Ends of the local part; all of (a, b) where no radius is given."""
    norm: Bounds
    """Of ‖G_x‖ in L²(a, b)."""
    local: Bounds
    """Of ‖G_x‖ in L² of the window."""
    tail: Bounds
    """Of ‖G_x‖ in L² outside the window."""
    ends: tuple[Bounds, Bounds]
    """Of p_a and p_b."""

    __repr__ = brief

    def __init__(
        self, nodes: ArrayLike, kappa: ArrayLike, x: float, *, reaction: float = 0.0, radius: float | None = None
    ) -> None:
        t, k = _chain(vector("nodes", nodes), kappa)
        x, c = number("x", x, low=float(t[0]), high=float(t[-1])), number("reaction", reaction, low=0.0)
        R = math.inf if radius is None else number("radius", radius, above=0.0)
        window = (max(float(t[0]), x - R), min(float(t[-1]), x + R))
        if c > 0.0 and np.any(k != k[0]):
            raise InputError("reaction: above zero it needs the same kappa everywhere")
        made = _layered(t, k, x, window) if c == 0.0 else _exponential(t, float(k[0]), c, x, window)
        set_fields(self, nodes=t, kappa=k, x=x, reaction=c, window=window, **made)

    @property
    def stability(self) -> float:
        """Upper bound of S_x, with the residual space L²(a, b) × ℝ² of equation and boundary values."""
        return at_most(up(math.sqrt(up(self.norm[1] ** 2 + self.ends[0][1] ** 2 + self.ends[1][1] ** 2, 8))))

    def bound(self, residual: float, *, left: float = 0.0, right: float = 0.0) -> float:
        """|u(x) − u*(x)| ≤ ‖G_x‖ ‖F‖ + p_a |u(a) − g_a| + p_b |u(b) − g_b|, from bounds of the three."""
        # paper, eq. B.4
        return at_most(up(self.norm[1] * number("residual", residual, low=0.0) + self._boundary(left, right), 8))

    def split(
        self,
        tail: float,
        *,
        pairing: float | None = None,
        local: float | None = None,
        left: float = 0.0,
        right: float = 0.0,
    ) -> float:
        """The local/tail split: |∫_window G_x F| + ‖G_x‖_tail ‖F‖_tail + boundary terms.

        Parameters
        ----------
        tail
            Bound of ‖F‖ in L² outside the window.
        pairing
            Bound of |∫_window G_x F|.
        local
            Bound of ‖F‖ in L² of the window, where the pairing is not known.
        left, right
            Bounds of |u(a) − g_a| and |u(b) − g_b|.
        """
        if (pairing is None) == (local is None):
            raise InputError("pairing, local: give exactly one of them")
        near = number("pairing", pairing, low=0.0) if local is None else self.local[1] * number("local", local, low=0.0)
        far = self.tail[1] * number("tail", tail, low=0.0)
        return at_most(up(near + far + self._boundary(left, right), 8))  # paper, eq. B.7

    def error(self, field: Any, source: Data, *, left: Data = 0.0, right: Data = 0.0) -> float:
        """Upper bound of |u(x) − u*(x)| for a smooth field u, from its residual, which is enclosed by Taylor models.

        Nothing is declared: the norms of F over (a, b), the window and the rest, and |u(a) − g_a|, |u(b) − g_b| are
        proved bounds, and the smaller of `bound` and `split` is returned.

        Parameters
        ----------
        field
            u, twice differentiable on [a, b]: a formula, a number, an `MLP` of one input, or a `Lift`.
        source
            f, a number or a formula.
        left, right
            g_a and g_b, numbers or formulas.
        """
        from pinnpoint.transfer.line.residuals import interval_residual

        if np.any(self.kappa != self.kappa[0]):
            raise InputError("kappa: must be the same everywhere; κu′ of a smooth field jumps with κ")
        ends = float(self.nodes[0]), float(self.nodes[-1])
        F = interval_residual(field, source, ends, float(self.kappa[0]), self.reaction, self.window, (left, right))
        found = (F.whole, F.local, F.tail, F.left, F.right)
        if not np.all(np.isfinite(found)):
            return math.inf
        return min(
            self.bound(F.whole, left=F.left, right=F.right),
            self.split(F.tail, local=F.local, left=F.left, right=F.right),
        )

    def _boundary(self, left: float, right: float) -> float:
        each = (number("left", left, low=0.0), number("right", right, low=0.0))
        return float(up(sum(p[1] * r for p, r in zip(self.ends, each, strict=True))))


def _chain(t: Vector, kappa: ArrayLike) -> tuple[Vector, Vector]:
    """Nodes from left to right, and κ between them."""
    step = np.diff(t)
    if t.size < 2 or not (np.all(step > 0.0) or np.all(step < 0.0)):
        raise InputError("points, cells: must be one chain of intervals that meet end to end")
    k = floats("kappa", kappa)
    k = vector("kappa", np.full(step.size, float(k)) if k.ndim == 0 else k, step.size, sign="positive")
    t, k = (t, k) if step[0] > 0.0 else (t[::-1].copy(), k[::-1].copy())
    size = np.diff(t) / k
    if not (float(size.min()) > SIZES[0] and float(size.max()) < SIZES[1]):
        raise InputError(f"kappa: length over kappa must lie within {SIZES[0]:g} and {SIZES[1]:g}; rescale")
    return t, k


def _layered(nodes: Vector, kappa: Vector, x: float, window: Bounds) -> dict[str, Any]:
    """Without reaction: G_x is linear between nodes, x and the window's ends; all sums are of positive numbers."""
    t = np.unique(np.concatenate([nodes, [x], window]))
    h = np.diff(t)
    k = kappa[np.clip(np.searchsorted(nodes, t[:-1], side="right") - 1, 0, kappa.size - 1)]
    before, after = (np.concatenate([[0.0], np.cumsum(p)]) for p in (h / k, (h / k)[::-1]))
    after = after[::-1]
    at = int(np.searchsorted(t, x))
    G = np.minimum(before, before[at]) * (np.minimum(after, after[at]) / before[-1])
    square = h * (G[:-1] ** 2 + G[:-1] * G[1:] + G[1:] ** 2) / 3.0
    inside = (t[:-1] >= window[0]) & (t[1:] <= window[1])
    # sums of n terms with 2 roundings each; products of three of them, squared, summed again
    slack = 2.0 * gamma(8 * t.size + 40)

    def about(value: float) -> Bounds:
        return max(0.0, value * (1.0 - slack) - TINY), at_most(up(value * (1.0 + slack) + TINY))

    def norm(parts: ArrayLike) -> Bounds:
        low, high = about(float(np.sum(square[parts])))
        return math.sqrt(low) * (1.0 - 2.0 * gamma(2)), at_most(up(math.sqrt(high)))

    one, two = (about(float(side[at] / before[-1])) for side in (after, before))
    everywhere = np.ones(h.size, dtype=bool)
    return {"norm": norm(everywhere), "local": norm(inside), "tail": norm(~inside), "ends": (one, two)}


def _exponential(nodes: Vector, kappa: float, c: float, x: float, window: Bounds) -> dict[str, Any]:
    """With reaction: closed forms in decimal ranges, with more digits until they are sharp."""
    digits = DIGITS
    while digits <= MOST_DIGITS:
        try:
            found: tuple[Range, ...] = _closed_form(float(nodes[0]), float(nodes[-1]), kappa, c, x, window, digits)
        except ArithmeticError:  # cancellation left nothing to divide by
            found = ()
        if found and all(r.sharp for r in found):
            whole, near, far, one, two = (r.floats() for r in found)
            return {"norm": whole, "local": near, "tail": far, "ends": (one, two)}
        digits *= 2
    raise CertificationError(f"reaction: {c!r} beside kappa {kappa!r} is beyond {MOST_DIGITS} digits; rescale")


def _closed_form(
    a: float, b: float, kappa: float, c: float, x: float, window: Bounds, digits: int
) -> tuple[Range, ...]:
    """‖G_x‖ over all, window and rest, p_a and p_b, by ∫_0^τ sinh²(μs) ds = (sinh 2μτ − 2μτ)/(4μ)."""

    def exactly(v: float) -> Range:
        return Range.of(v, digits)

    mu = (exactly(c) / exactly(kappa)).sqrt()
    base = (mu * (_gap(a, b, digits))).sinh()

    def primitive(tau: Range) -> Range:
        y = exactly(2.0) * mu * tau
        return (y.sinh() - y) / (exactly(4.0) * mu)

    def between(far: Range, near: Range) -> Range:
        return primitive(far) - primitive(near)

    left, right = _gap(a, x, digits), _gap(x, b, digits)
    one, two = ((mu * gap).sinh() / base for gap in (right, left))
    weights = [(p / (exactly(kappa) * mu)) * (p / (exactly(kappa) * mu)) for p in (one, two)]
    edges = (_gap(a, window[0], digits), _gap(window[1], b, digits))
    near = weights[0] * between(left, edges[0]) + weights[1] * between(right, edges[1])
    far = weights[0] * primitive(edges[0]) + weights[1] * primitive(edges[1])
    return (near + far).sqrt(), near.sqrt(), far.sqrt(), one, two


def _gap(low: float, high: float, digits: int) -> Range:
    """The length high − low."""
    shift = Range.of(max(0.0, -low), digits)  # ranges hold no negative numbers
    if low < 0.0:
        return Range.of(high, digits) + shift if high >= 0.0 else shift - Range.of(-high, digits)
    return Range.of(high, digits) - Range.of(low, digits)
