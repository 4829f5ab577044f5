"""A reaction–diffusion problem as the transfer to its own solution sees it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import down, gamma, up
from pinnpoint.taylor.bernstein import Density, from_linear, from_quadratic, gram, linear_projection, pairs
from pinnpoint.taylor.inputs import Data, enclosed, fixed
from pinnpoint.taylor.simplices import density
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.anchors import DIRICHLET, Anchors, anchors
from pinnpoint.transfer.equilibration import equilibrate
from pinnpoint.transfer.estimator import CHUNK, Estimator
from pinnpoint.transfer.facets import FacetLoad, measures
from pinnpoint.transfer.work import BUDGET

SHARE = {1: 2e-2, 2: 5e-2}
"""The data's error on a cell, relative to its size, against (h/L)^(2 · degree), by degree; below 1 % of the radius."""

PEAKED, LOOK = 100.0, {1: 10, 2: 4, 3: 2}
"""Functions whose largest sample is above this many medians are looked at by their bounds on cells cut this often."""

FLOOR = 1e-12
"""Rounding in data of which large terms cancel, against those terms: models are not asked for more."""


@dataclass(frozen=True, eq=False)
class Continuum:
    """−∇·(κ∇u) + c u = f on the polygon or polyhedron that the mesh covers.

    Attributes
    ----------
    edges
        Vertex pairs of the edges with degrees of freedom of their own, in the order of these; empty for degree 1.
    kappa, reaction
        κ > 0 and c ≥ 0 on each cell.
    kind
        0 for interior facets, 1 for Dirichlet, 2 for Neumann.
    source
        f: a number, an `Expression`, smooth data (`taylor.inputs.Smooth`), or a function of points.
    dirichlet, neumann
        Facet numbers and what is given on them.
    budget
        Units of work (see `work`) for each query, and for the source.
    """

    topology: Topology
    edges: Index
    degree: int
    kappa: Vector
    reaction: Vector
    kind: Any
    source: Any
    dirichlet: Sequence[tuple[Index, Any]]
    neumann: Sequence[tuple[Index, Any]]
    budget: int = BUDGET

    __repr__ = brief

    @property
    def points(self) -> Vector:
        """Coordinates of the vertices."""
        return self.topology.points

    @property
    def d(self) -> int:
        """Space dimension."""
        return self.topology.dim

    @property
    def size(self) -> int:
        """Degrees of freedom."""
        return len(self.points) + len(self.edges)

    @cached_property
    def cell_nodes(self) -> Index:
        """Degrees of freedom of the sorted cells: vertices, then edges in the order of pairs j < l."""
        return self.nodes_of(self.topology.cells)

    def nodes_of(self, simplices: Index) -> Index:
        """Degrees of freedom of sorted simplices."""
        return node_numbers(simplices, len(self.points), self.edges if self.degree == 2 else None)

    @cached_property
    def spacing(self) -> float:
        """Mean cell size, as the side of a cell of mean volume, or by the length of thin cells."""
        side = float(np.mean(self.topology.volumes) ** (1.0 / self.d))
        return max(side, float(np.mean(self.anchors.diameter)) / (self.d + 2))

    @cached_property
    def anchors(self) -> Anchors:
        """Constants for means."""
        return anchors(self.topology, self.points, self.kappa, self.reaction, self.kind, CHUNK)

    @cached_property
    def estimator(self) -> Estimator:
        """Bounds from fluxes."""
        return Estimator(
            self.topology,
            self.points,
            self.cell_nodes,
            self.degree,
            self.kappa,
            self.reaction,
            self.kind,
            self.anchors,
        )

    @cached_property
    def load(self) -> Density:
        """F on every cell."""
        X = self.points[self.topology.cells]
        extent = float(np.max(self.points.max(axis=0) - self.points.min(axis=0)))
        small = SHARE[self.degree] * (self.spacing / extent) ** (2 * self.degree)
        tolerance = max(small * self.strength, self.floor)
        return density(  # continuous.md, step 8a
            self.source, X, tolerance=tolerance if tolerance > 0.0 else None, mean=True, work=self.budget / BUDGET
        )

    @cached_property
    def floor(self) -> float:
        """An error of the source that rounding excuses."""
        return FLOOR * self.height(getattr(self.source, "terms", 0.0))

    @cached_property
    def strength(self) -> float:
        """The size of the source, for tolerances."""
        return self.height(self.source)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Proved bounds of the source from below and above."""
        known = fixed(self.source)
        if known is None:
            if not enclosed(self.source):
                raise InputError(
                    "source: the range of a function is not known; give a formula, or say target='discrete'"
                )
            V, values = self.points[self.topology.cells], self.load.coefficients
            middle = float(0.5 * (values.min() + values.max()))
            # continuous.md, step 11e
            bounds, _ = supremum(self.source, V, minus=np.full((len(V), len(pairs(self.d))), middle))
            known = middle, float(bounds.max())
        return float(down(known[0] - known[1], 1)), float(-down(-known[0] - known[1], 1))

    def height(self, given: Data) -> float:
        """The size of a function at the vertices and inside the cells, or its mean where peaks may lie between."""
        if not callable(given):
            return abs(float(given))
        P = self.points[self.topology.cells]
        inside = 0.6 * P[:, 0] + (0.4 / self.d) * P[:, 1:].sum(axis=1)  # vertices may all be zeros of it
        seen = np.abs(np.concatenate([given(self.points), given(inside)]))
        top = float(np.max(seen, initial=0.0))
        if enclosed(given) and not top < PEAKED * float(np.median(seen)):
            top = max(top, 0.25 * self._mean_size(given, P))
        return top

    def _mean_size(self, given: Data, P: Vector) -> float:
        """The root mean square over the domain, roughly; zero where no bound was found."""
        bound = float(np.max(supremum(given, P, depth=LOOK[self.d])[0]))
        if not 0.0 < bound < math.inf:
            return 0.0
        f = density(given, P, tolerance=0.01 * bound, mean=True)
        squares = np.einsum("ni,ij,nj->n", f.coefficients, gram(self.d), f.coefficients) + f.high**2 + f.error2**2
        found = math.sqrt(float(np.average(squares, weights=self.topology.volumes)))
        return found if math.isfinite(found) else 0.0

    @cached_property
    def boundary_load(self) -> FacetLoad | None:
        """g_N on the Neumann facets where it is not zero."""
        found = [(f, g) for f, g in self.neumann if len(f) and not (isinstance(g, int | float) and g == 0)]
        if not found:
            return None
        parts = [density(g, self.points[self.topology.facets[f]]) for f, g in found]  # continuous.md, step 8a
        joined = Density(
            np.concatenate([p.coefficients for p in parts]),
            np.concatenate([p.high for p in parts]),
            np.concatenate([p.error1 for p in parts]),
            np.concatenate([p.error2 for p in parts]),
            proved=all(p.proved for p in parts),
        )
        return self.facet_load(np.concatenate([f for f, _ in found]), joined)

    def facet_load(self, facets: Index, what: Density) -> FacetLoad:
        """A flux prescribed on facets."""
        vertices = self.topology.facets[facets]
        return FacetLoad(facets, vertices, self.nodes_of(vertices), what)

    def mismatch(self, U: Vector) -> tuple[float, bool]:
        """Upper bound of |g_D − u_h| on the Dirichlet part, and whether it is proved."""
        found, proved = self._mismatches(U)
        return max((float(np.max(bounds, initial=0.0)) for _, bounds in found), default=0.0), proved

    def mismatched_cells(self, U: Vector, worst: float) -> Index:
        """Cells at the Dirichlet facets with the largest mismatch, if there is any."""
        if worst == 0.0:
            return np.zeros(0, dtype=np.intp)
        found = [self.topology.facet_cells[f[b > 0.3 * worst], 0] for f, b in self._mismatches(U)[0]]
        return np.unique(np.concatenate(found))

    def _mismatches(self, U: Vector) -> tuple[list[tuple[Index, Vector]], bool]:
        """Facets and bounds of |g_D − u_h| on them."""
        found: list[tuple[Index, Vector]] = []
        proved = True
        for facets, given in self.dirichlet:
            vertices = self.topology.facets[facets]
            w = U[self.nodes_of(vertices)]
            known = fixed(given)
            if known is not None and known[1] == 0.0 and np.all(w == known[0]):
                continue
            # continuous.md, step 7a
            bounds, sure = supremum(given, self.points[vertices], minus=bernstein(w, self.d - 1, self.degree))
            blur = np.where(np.ptp(w, axis=1) == 0.0, 0.0, gamma(16) * np.abs(w).max(axis=1, initial=0.0))
            found.append((facets, np.asarray(up(bounds + blur))))
            proved = proved and sure
        return found, proved

    def vector(self, source: Density | None, load: FacetLoad | None) -> Vector:
        """∫ f φ_i + ∫ g φ_i for every degree of freedom, in floating point."""
        b = np.zeros(self.size)
        if source is not None:
            which = slice(None) if source.cells is None else source.cells
            table = shape_table(self.d, self.degree) @ gram(self.d)
            local = (source.coefficients @ table.T) * self.topology.volumes[which, None]
            b += np.bincount(self.cell_nodes[which].ravel(), local.ravel(), minlength=self.size)
        if load is not None:
            m = self.d - 1
            table = shape_table(m, self.degree) @ gram(m)
            local = (load.density.coefficients @ table.T) * measures(self.points[load.vertices])[0][:, None]
            b += np.bincount(load.nodes.ravel(), local.ravel(), minlength=self.size)
        return b

    def fluxes(self, nodal: Vector, sources: Sequence[Density], loads: Sequence[FacetLoad | None]) -> Vector:
        """Equilibrated facet densities (F, 1 or d, m) for states (m, size)."""
        d, T, order = self.d, self.topology, self.degree - 1
        b = np.stack([bernstein(u[self.cell_nodes], d, self.degree) for u in nodal], axis=2)
        count = d + 1 if self.degree == 2 else 1
        slopes = np.zeros((len(b), count, d, len(nodal)))
        number = {pair: p for p, pair in enumerate(pairs(d))}
        for at in range(count):
            for other in set(range(d + 1)) - {at}:
                rise = 2.0 * (b[:, number[min(at, other), max(at, other)]] - b[:, number[at, at]])
                slopes[:, at] += T.gradients[:, other, :, None] * rise[:, None, :]
        rest = np.stack([f.coefficients for f in sources], axis=2) - self.reaction[:, None, None] * b
        prescribed = None
        if any(g is not None for g in loads):
            prescribed = np.zeros((len(T.facets), d, len(nodal)))
            for i, g in enumerate(loads):
                if g is not None:
                    area = measures(self.points[g.vertices])[0][:, None]
                    t = g.density.coefficients @ linear_projection(d - 1).T
                    prescribed[g.facets, :, i] = area * (t if order == 1 else t.mean(axis=1, keepdims=True))
        return equilibrate(T, self.kappa, slopes, rest, self.kind, prescribed, order)  # continuous.md, step 1d

    def blocking(self, *, reaction: bool = True) -> Index:
        """Facets that a ball may not cross: the boundary, and jumps of κ or, if asked, of c."""
        one, two = self.topology.facet_cells.T
        jump = (two < 0) | (self.kappa[one] != self.kappa[two])
        if reaction:
            jump |= self.reaction[one] != self.reaction[two]
        return np.nonzero(jump)[0]

    def kind_of_vertices(self) -> Vector:
        """In one dimension, the kind of each vertex, which is a facet."""
        kinds = np.zeros(len(self.points))
        kinds[self.topology.facets[:, 0]] = self.kind
        return kinds

    def dirichlet_facets(self) -> Index:
        """Numbers of the Dirichlet facets."""
        return np.nonzero(self.kind == DIRICHLET)[0]


def node_numbers(simplices: Index, n: int, edges: Index | None) -> Index:
    """Nodes of sorted simplices: their vertices, of which there are n in all, then their edges where these have any."""
    if edges is None or simplices.shape[1] == 1:
        return simplices
    known = edges[:, 0] * n + edges[:, 1]
    local = combinations(range(simplices.shape[1]), 2)
    places = [n + np.searchsorted(known, simplices[:, j] * n + simplices[:, k]) for j, k in local]
    return np.concatenate([simplices, np.stack(places, axis=1)], axis=1)


def bernstein(w: Vector, m: int, degree: int) -> Vector:
    """Bernstein coefficients of a state on m-simplices from its nodal values there."""
    if m == 0:
        return w[:, :1]
    return from_linear(w) if degree == 1 else from_quadratic(w, m)


def shape_table(m: int, degree: int) -> Vector:
    """Bernstein coefficients of the nodal basis, (nodes, pairs)."""
    if m == 0:
        return np.ones((1, 1))
    count = m + 1 if degree == 1 else len(pairs(m))
    return np.ascontiguousarray(bernstein(np.eye(count), m, degree))
