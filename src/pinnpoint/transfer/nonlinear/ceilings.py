"""What is known of a solution before anything is solved, by comparison with functions of one coordinate.

Let −∇·(κ∇u) + c u + g(u) = f with c ≥ 0 and g nondecreasing, g(0) = 0 (or nothing in its place), u = g_h on Γ_D, no
flux on Γ_N, and f ≤ F with F ≥ 0. Let M ≥ g_h on Γ_D, and M ≥ 0 too unless c = g = 0. If φ ≥ 0 has −∇·(κ∇φ) ≥ F in Ω
and κ∂_nφ ≥ 0 on Γ_N, then v = M + φ has a(v, w) + (g(v), w) ≥ (f, w) for every w ≥ 0 that vanishes on Γ_D; with
w = (u − v)⁺ that gives u ≤ v. From below, the same holds for −u and −f. In the slab a ≤ x_i ≤ b that holds Ω,

- φ = F/(2κ) (x_i − a)(b − x_i), where κ is one number and the Neumann facets are parallel to the axis;
- φ = F/κ (x_i − a)(b − (x_i + a)/2), where Neumann facets may also have normals with n_i ≥ 0, and its mirror image;
- u ≤ M + F R²/(2d min κ) for any κ, where all of ∂Ω is Dirichlet: R the radius of the ball of Ω's volume (Talenti);
- u ≤ max(M, F/min c) for any κ, where c > 0.

The φ are concave, so averages over balls and blocks are not above the value at the centre. These bounds do not depend
on the mesh: they count where cells are far too large for their ball, as in thin domains and next to the boundary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import down, sum_up, up
from pinnpoint.systems.goals import Block, Slope
from pinnpoint.systems.queries import Ball, Flux, Goal, Point
from pinnpoint.taylor.inputs import enclosed, fixed
from pinnpoint.transfer.continuum import Continuum, bernstein
from pinnpoint.transfer.energy.anchors import DIRICHLET, NEUMANN

PI_DOWN = 3.141592653589793  # float64's value is below π
WORTH = 0.2
"""Radii below this share of what is known beforehand are left alone."""


def above(x: float) -> float:
    """Upper bound of what x, of any sign, is the rounding of."""
    return float(-down(-x))


@dataclass(frozen=True, eq=False)
class Ceilings:
    """Bounds of a solution whose Dirichlet values are those of a state.

    Attributes
    ----------
    low, high
        Bounds of the Dirichlet values, and zero where there is a reaction.
    at_zero
        g(0) and a bound of its error, taken off the source.
    """

    model: Continuum
    low: float
    high: float
    at_zero: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(
        cls, model: Continuum, state: Vector, *, reacts: bool, at_zero: tuple[float, float] = (0.0, 0.0)
    ) -> Ceilings:
        """For the boundary values of a state; `reacts` where there is more than −∇·(κ∇u)."""
        w = state[model.nodes_of(model.topology.facets[model.dirichlet_facets()])]
        values = bernstein(w, model.d - 1, model.degree).ravel() if w.size else np.zeros(0)
        # robin.md, step 4b
        if reacts or model.exchange is not None or np.any(model.reaction) or not values.size:
            values = np.append(values, 0.0)
        size = float(up(1e-15 * np.abs(values).max()))  # of the change to Bernstein's form
        return cls(model, float(values.min()) - size, float(values.max()) + size, at_zero)

    def narrowed(self, goal: Goal | None, center: float, radius: float) -> tuple[float, float] | None:
        """Centre and radius of what an interval has in common with these bounds, where that is clearly less."""
        model = self.model
        if model.gluing is not None:  # robin.md, step 7d
            return None
        if goal is None or isinstance(goal, Flux | Slope) or any(fixed(g) != (0.0, 0.0) for _, g in model.neumann):
            return None
        one = min(self._heights(goal), default=math.inf)
        if not radius > WORTH * (self.high - self.low + 0.5 * model.strength * one) or not enclosed_or_number(model):
            return None
        low, high = model.range
        g, error = self.at_zero
        top = self._top(goal, self.high, max(0.0, above(above(high - g) + error)))
        bottom = -self._top(goal, -self.low, max(0.0, above(above(g - low) + error)))
        # continuous.md, step 11e
        low, high = max(bottom, float(down(center - radius))), min(top, above(center + radius))
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            return None
        middle = 0.5 * low + 0.5 * high
        half = float(up(max(high - middle, middle - low), 4))
        return (middle, half) if half < 0.99 * radius else None

    def _top(self, goal: Goal, M: float, F: float) -> float:
        """An upper bound of the value for a source of at most F and data of at most M."""
        found = min((above(M + up(F * one, 2)) for one in self._heights(goal)), default=math.inf)
        least = float(self.model.reaction.min())
        if least > 0.0:
            found = min(found, max(M, up(F / least)))  # continuous.md, step 11d
        return float(found)

    def _heights(self, goal: Goal) -> Iterator[float]:
        """Upper bounds of φ for F = 1 where it is asked for."""
        model = self.model
        kappa, d = float(model.kappa.min()), model.d
        if np.all(model.kappa == kappa):
            for axis in range(d):
                yield from self._across(goal, axis, kappa)
        if np.all(model.kind[model.topology.facet_cells[:, 1] < 0] == DIRICHLET):
            size = (
                sum_up(up(model.topology.volumes * (1.0 + model.anchors.slack))) / {1: 2.0, 2: PI_DOWN, 3: PI_DOWN}[d]
            )
            square = {1: size * size, 2: size, 3: (0.75 * size) ** (2.0 / 3.0)}[d]
            yield float(up(square / (2.0 * d * kappa), 32))  # continuous.md, step 11c

    def _across(self, goal: Goal, axis: int, kappa: float) -> Iterator[float]:
        X, T = self.model.points, self.model.topology
        a, b = float(X[:, axis].min()), float(X[:, axis].max())
        width = up(b - a)
        normals = _normal_signs(X, T, np.flatnonzero(self.model.kind == NEUMANN), axis)
        left, right = width, width
        if isinstance(goal, Point | Ball | Block):
            left, right = up(max(0.0, goal.at[axis] - a)), up(max(0.0, b - goal.at[axis]))
        inside = isinstance(goal, Point | Ball | Block)
        if not normals:
            # continuous.md, step 11a
            yield float(up(left * right / (2.0 * kappa), 4) if inside else up(width * width / (8.0 * kappa), 4))
        for sign, near, far in ((1, left, right), (-1, right, left)):
            if normals <= {sign}:  # (t − a)(b − (t + a)/2) with t − a = near, b − t = far
                # continuous.md, step 11b
                yield float(up(near * (far + 0.5 * near) / kappa, 6) if inside else up(width * width / (2 * kappa), 4))


def enclosed_or_number(model: Continuum) -> bool:
    """Whether the range of the source can be proved."""
    return all(not callable(f) or enclosed(f) for _, f in model.sources)


def _normal_signs(X: Vector, T: Topology, facets: Index, axis: int) -> set[int]:
    """Signs that an axis' component of the outward normals of boundary facets may have; none where it is zero.

    The component is zero on facets that lie in a plane of another axis. Its sign is that of the distance of the facet's
    plane from the opposite vertex along the axis: taken as known only for facets in a plane of this axis.
    """
    V = X[T.facets[facets]]
    flat = np.ptp(V, axis=1) == 0.0
    rest = ~np.delete(flat, axis, axis=1).any(axis=1) if X.shape[1] > 1 else np.ones(len(V), dtype=bool)
    if not np.all(flat[rest, axis]):
        return {-1, 1}
    cells = X[T.cells[T.facet_cells[facets[rest], 0]]].mean(axis=1)[:, axis]
    return {int(s) for s in np.sign(V[rest, 0, axis] - cells)}
