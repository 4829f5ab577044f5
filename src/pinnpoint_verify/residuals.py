"""What a lifted formula u_θ leaves of the equation and of its data, as formulas (docs/checking.md, section 11).

Part of the proof: f + ∇·(A∇u_θ) − b·∇u_θ − c u_θ and g − u_θ are trees made of the case's own formulas and of
derivatives of u_θ, so that they are enclosed as any formula is; so are u_θ's own value and slope at a point.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pinnpoint_verify.calculus import Kink, Tree, derivative, minus, plus, times
from pinnpoint_verify.checker import Ball, Mesh, Shape, areas, means, mix, up
from pinnpoint_verify.discs import Walk
from pinnpoint_verify.enclosures import enclosed, projection
from pinnpoint_verify.reader import Array, larger, smaller

Row = dict[str, Any]


class Leaves(Protocol):
    """What a lifted prediction leaves, as data that are enclosed; None where they are not."""

    known: bool

    def constant(self, source: Any, kappa: float, c: float) -> Any:
        """Of the source, where κ and c are numbers."""

    def varied(self, source: Any, A: Any, b: Any, c: Any) -> Any:
        """Of the source, where coefficients vary."""

    def held(self, given: Any) -> Any:
        """Of Dirichlet data."""

    def flux(self, given: Any, axis: int, factor: float, A: Any) -> Any:
        """Of Neumann data on facets across an axis."""

    def value(self, goal: Row, V: Array) -> tuple[float, float] | None:
        """Its own value of a query."""


class Leftover:
    """Trees of a lifted formula; `known` is False where it has no derivatives that are formulas."""

    def __init__(self, said: Row | None, d: int) -> None:
        self.d, self.known = d, said is not None and said["kind"] == "formula"
        if not self.known or said is None:
            return
        factor, offset = (
            said[key] if said[key] is not None else usual for key, usual in (("factor", 1.0), ("offset", 0.0))
        )
        self.u = plus(offset, times(factor, said["formula"]))
        try:
            self.slopes = [derivative(self.u, i) for i in range(d)]
            self.bends = [derivative(slope, i) for i, slope in enumerate(self.slopes)]
        except Kink:
            self.known = False

    def constant(self, source: Any, kappa: float, c: float) -> Tree:
        """The source with κΔu_θ − c u_θ added."""
        return plus(source, times(kappa, plus(*self.bends)), minus(times(c, self.u)))  # checking.md, step 11a

    def varied(self, source: Any, A: Any, b: Any, c: Any) -> Tree | None:
        """The source with ∇·(A∇u_θ) − b·∇u_θ − c u_θ added; None where A has a kink."""
        rows = A if isinstance(A, list) else [[A if i == j else 0.0 for j in range(self.d)] for i in range(self.d)]
        flux = [
            plus(*(times(rows[smaller(i, j)][larger(i, j)], self.slopes[j]) for j in range(self.d)))
            for i in range(self.d)
        ]
        flow = [times(v, slope) for v, slope in zip(b or [0.0] * self.d, self.slopes, strict=True)]
        try:
            spread = [derivative(part, i) for i, part in enumerate(flux)]
        except Kink:
            return None
        return plus(source, *spread, *(minus(part) for part in (*flow, times(c, self.u))))  # checking.md, step 11a

    def held(self, given: Any) -> Tree:
        """Dirichlet data less u_θ."""
        return plus(given, minus(self.u))

    def flux(self, given: Any, axis: int, factor: float, A: Any) -> Tree:
        """Neumann data less n·A∇u_θ on facets across an axis, n = ±1 along it; `factor` is that, with a number κ."""
        rows = A if isinstance(A, list) else [[A if i == j else 0.0 for j in range(self.d)] for i in range(self.d)]
        along = (times(rows[smaller(axis, j)][larger(axis, j)], self.slopes[j]) for j in range(self.d))
        return plus(given, times(-factor, plus(*along)))  # checking.md, step 11b

    def value(self, goal: Row, V: Array) -> tuple[float, float] | None:
        """u_θ, its slope or its flux at a point, or its mean over simplices V, with an error; None for others."""
        if len(V):
            return self._mean(V)
        if goal["kind"] not in ("point", "gradient"):
            return None
        tree = self.slopes[goal["axis"]] if goal["kind"] == "gradient" else self.u
        found = Walk(tree, [Ball(np.array([float(x)])) for x in goal["at"]]).value[0]
        found = found * float(goal["kappa"]) if goal.get("flux") else found
        return float(found.m), float(up(found.r))

    def _mean(self, V: Array) -> tuple[float, float] | None:
        """The mean of projections, whose errors have bounds."""
        m = V.shape[1] - 1
        beta = projection(self.u, V)
        rest, rough = enclosed(self.u, V, beta)
        if rough.any():
            return None
        found = mix("njk,jk->n", Ball(beta), means(m, 2))
        size = areas(V) if m < V.shape[2] else Shape(V).vol
        total = (Ball(found.m, up(found.r + rest[:, 1])) * size).total() / size.total()  # checking.md, step 11c
        return float(total.m), float(up(total.r))


def fluxes(left: Leaves, mesh: Mesh, groups: list[Array], given: list[Any], A: Any) -> tuple[list[Any], list[Array]]:
    """Leftovers on facets across an axis, each with its facets; A is None where κ is a number on each cell."""
    texts, facets = list[Any](), list[Array]()
    for part, data in zip(groups, given, strict=True):
        cell = mesh.owner[part]
        V, middle = mesh.points[mesh.facets[part]], mesh.points[mesh.cells[cell]].mean(axis=1)
        kappa = mesh.kappa[cell] if A is None else np.ones(len(part))
        for axis in range(mesh.d):
            flat = np.all(V[:, :, axis] == V[:, :1, axis], axis=1)
            factor = kappa * np.where(V[:, 0, axis] > middle[:, axis], 1.0, -1.0)
            for one in np.unique(factor[flat]).tolist():
                texts.append(left.flux(data, axis, one, 1.0 if A is None else A))
                facets.append(part[flat & (factor == one)])
    return texts, facets


def by_pairs(left: Leaves, mesh: Mesh, source: Any) -> tuple[list[Any], Array]:
    """Residuals for each pair κ, c that cells have, and which cells have which."""
    pairs, region = np.unique(np.stack([mesh.kappa, mesh.c], axis=1), axis=0, return_inverse=True)
    return [left.constant(source, *pair) for pair in pairs.tolist()], np.reshape(region, -1)
