"""A reaction–diffusion problem as the transfer to its own solution sees it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.mesh.gluing import Gluing, by_class, seams
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import UNIT, down, gamma, up
from pinnpoint.taylor.bernstein import Density, from_linear, from_quadratic, gram, linear_projection, pairs
from pinnpoint.taylor.inputs import Blurred, Data, enclosed, fixed
from pinnpoint.taylor.simplices import density
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.boundary.facets import FacetLoad, measures
from pinnpoint.transfer.boundary.robin import Exchange, exchange
from pinnpoint.transfer.boundary.seams import Seam
from pinnpoint.transfer.energy.anchors import DIRICHLET, NEUMANN, Anchors, anchors
from pinnpoint.transfer.energy.estimator import CHUNK, Estimator, Side
from pinnpoint.transfer.everywhere.convex import convex_constant
from pinnpoint.transfer.everywhere.mesh_constant import (
    MOST,
    MeshConstant,
    forecast,
    interpolation_constant,
    mesh_constant,
)
from pinnpoint.transfer.flux.equilibration import equilibrate
from pinnpoint.transfer.flux.fans_lowest import LowestFluxes
from pinnpoint.transfer.flux.flux_map import MANY, FluxMap
from pinnpoint.transfer.flux.rests import Rests
from pinnpoint.transfer.flux.targets import against_gradients, targets
from pinnpoint.transfer.helpers import Helpers
from pinnpoint.transfer.media.coefficients import Coefficients, Field
from pinnpoint.transfer.media.medium import Medium, sinks, spared
from pinnpoint.transfer.media.outflow import Outflow
from pinnpoint.transfer.media.regional import Regional
from pinnpoint.transfer.points.ground import Ground
from pinnpoint.transfer.points.work import BUDGET
from pinnpoint.transfer.stretch import Stretch

CLOSE = 1.6
"""Of C_h: where the closed form of the mesh constant is at most this, an eigenvalue would hardly give less."""
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
        f: a number, an `Expression`, smooth data (`taylor.inputs.Smooth`), a function of points, or `Regional`.
    dirichlet, neumann
        Facet numbers and what is given on them; g of Robin facets is among the latter.
    budget
        Units of work (see `work`) for each query, and for the source.
    medium
        A, b and c where they vary inside cells, are matrices or convect; None where κ and c are all there is. With
        it, `kappa` holds lower bounds of A's eigenvalues, and `reaction` of c − ½∇·b.
    robin
        Facet numbers, α ≥ 0 on them, and what to call it.
    gluing, same
        Of periodic problems: the pairs of facets, and the degree of freedom that stands for each. Then the topology is
        glued, and kind is 0 on the pairs.
    stretch
        Of curved domains: how much larger cells and facets are there than in the mesh.
    ground
        Of curved domains: what is given there, for points.
    helpers
        Other processes that take part in the work; None where this one does it all.
    seam
        Of what a lift leaves between periodic pairs: its source and the field that its slopes load the gradients with.
    frugal
        Whether the source needs to be known no better than radii of points and balls are: those of fluxes and of
        averages over sides may be nothing but its error.
    reacts
        Whether a reaction g(u) comes on top, which is left to who knows it.
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
    medium: Medium | None = None
    robin: Sequence[tuple[Index, Any, str]] = ()
    gluing: Gluing | None = None
    same: Index | None = None
    stretch: Stretch | None = None
    ground: Ground | None = None
    helpers: Helpers | None = None
    seam: Seam | None = None
    frugal: bool = False
    reacts: bool = False

    __repr__ = brief

    @property
    def coefficients(self) -> Coefficients | None:
        """The functions A, b and c where they vary inside cells, are matrices or convect."""
        return None if self.medium is None else self.medium.coefficients

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

    @cached_property
    def own_nodes(self) -> Index:
        """The same where each node stands for itself, for predictions that jump at periodic pairs."""
        if self.same is None:
            return self.cell_nodes
        return node_numbers(self.topology.cells, len(self.points), self.edges if self.degree == 2 else None)

    def nodes_of(self, simplices: Index) -> Index:
        """Degrees of freedom of sorted simplices."""
        found = node_numbers(simplices, len(self.points), self.edges if self.degree == 2 else None)
        return found if self.same is None else self.same[found]  # robin.md, step 7a

    @cached_property
    def extent(self) -> float:
        """The longest side of the box that holds all points."""
        return float(np.max(self.points.max(axis=0) - self.points.min(axis=0)))

    @cached_property
    def spacing(self) -> float:
        """Mean cell size, as the side of a cell of mean volume, or by the length of thin cells."""
        side = float(np.mean(self.topology.volumes) ** (1.0 / self.d))
        return max(side, float(np.mean(self.anchors.diameter)) / (self.d + 2))

    @cached_property
    def anchors(self) -> Anchors:
        """Constants for means."""
        grip = None if self.exchange is None else self.exchange.grip(self.points, self.topology)
        found = anchors(self.topology, self.points, self.kappa, self.reaction, self.kind, CHUNK, grip)
        return found if self.gluing is None else replace(found, friedrichs=math.inf)  # robin.md, step 7d

    @cached_property
    def exchange(self) -> Exchange | None:
        """α on the Robin facets, proved nonnegative."""
        given = [(facets, a) for facets, a, _ in self.robin]
        return exchange(given, self.points, self.topology.facets, self.nodes_of, [name for _, _, name in self.robin])

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
            self.medium,
            self.growth,
            None if self.exchange is None else self.exchange.on_all(len(self.topology.facets)),
            self.helpers,
        )

    @cached_property
    def growth(self) -> float:
        """How much larger norms of errors may be because c − ½∇·b is only proved to be nearly ≥ 0."""
        if self.medium is None or self.deep:
            return 1.0
        return spared(self.medium, self.anchors, self.topology, self.outflow)

    @cached_property
    def deep(self) -> bool:
        """Whether a reaction that varies falls further than coercivity can pay for, and nothing convects."""
        return self.medium is not None and sinks(self.medium, self.anchors)

    @cached_property
    def outflow(self) -> Outflow | None:
        """What convection carries through the Neumann part."""
        if self.coefficients is None:
            return None
        return Outflow.of(self.coefficients, self.topology, np.flatnonzero(self.kind == NEUMANN))

    def wanted(self, nodal: Vector, load: FacetLoad | None, *, dual: bool = True) -> FacetLoad | None:
        """The flux that a state asks for where no value is given; None where that is g.

        It is g − αv_h on Robin facets, and of a dual state g − (α + b·n)z_h.
        """
        carried = self.carried(nodal, load) if dual else None
        if self.exchange is None:
            return carried
        return self.exchange.wanted(load if carried is None else carried, nodal, self.degree)

    def primal(self, state: Vector, rests: Rests | None = None) -> Side:
        """A state of the problem itself with its flux."""
        wanted, rest = self.wanted(state, self.boundary_load, dual=False), None if rests is None else rests.of_primal()
        load = self.boundary_load if wanted is None else wanted
        flux = self.fluxes(state[None, :], [self.load], [load], [self.field], rest=rest)[..., 0]
        return Side(state, self.load, flux, self.boundary_load, self.field, wanted=wanted)

    def carried(self, nodal: Vector, load: FacetLoad | None) -> FacetLoad | None:
        """The flux g − b·n z_h that a dual state asks for on the Neumann part; None where that is g."""
        out = self.outflow
        if out is None:
            return None
        facets = out.facets if load is None else np.union1d(out.facets, load.facets)
        w = nodal[self.nodes_of(self.topology.facets[out.facets])]
        beta = bernstein(w, self.d - 1, self.degree)
        carried = out.times(beta, np.asarray(up(gamma(16) * np.abs(w).max(axis=1))))  # varying.md, step 4b
        more = 4.0 * self._coarse(out.facets) * np.abs(beta).max(axis=1)  # varying.md, step 7d
        one, two = (np.asarray(up(e + more)) for e in (carried.error1, carried.error2))
        carried = replace(carried, error1=one, error2=two)
        given = None if load is None else (load.facets, load.density)
        return self.facet_load(facets, difference(facets, given, (out.facets, carried), len(pairs(self.d - 1))))

    def _coarse(self, facets: Index) -> Vector:
        """Errors of the models of b on the cells of facets, which may be larger than those of b·n on the facets."""
        assert self.medium is not None
        assert self.medium.convection is not None
        cells = self.topology.facet_cells[facets, 0]
        each = [np.broadcast_to(b.e, len(self.kappa))[cells] for b in self.medium.convection]
        return np.asarray(np.sum(each, axis=0))

    def mesh_constant(self, *, thorough: bool) -> MeshConstant | str:
        """M_h: how far functions orthogonal to the linear elements are from zero in the mean; or why it is not known.

        Parameters
        ----------
        thorough
            False where it may cost no more than `MOST` factorizations of linear elements.
        """
        if self.reacts:
            return "mesh constant: is for linear problems"
        folded = self.gluing is not None and self.folded
        if self.medium is not None or self.stretch is not None or self.exchange is not None or folded:
            return "mesh constant: κ and c must be constant on each cell, boundaries straight, fixed or free"
        found = self._cheap_constant
        return self._costly_constant if thorough and isinstance(found, str) else found

    @property
    def _vertex(self) -> Index | None:
        """The vertex that stands for each, where there are periodic pairs."""
        return None if self.gluing is None else self.gluing.vertex

    @cached_property
    def folded(self) -> bool:
        """Whether two cells have two facets in common, as they may on coarse meshes with periodic pairs."""
        facets = np.sort(self.topology.cell_facets, axis=1)
        both = np.concatenate([facets[:, [i, j]] for i, j in combinations(range(self.d + 1), 2)])
        return len(np.unique(both, axis=0)) < len(both)

    @cached_property
    def _cheap_constant(self) -> MeshConstant | str:
        held = self.kind == DIRICHLET
        closed = None if self.gluing is not None else convex_constant(self.topology, self.kappa, held)
        few = forecast(self.topology) <= MOST
        if closed is not None and (closed <= CLOSE * interpolation_constant(self.topology, self.kappa) or not few):
            return MeshConstant(closed, closed, 0.0, 0.0, 0.0)  # band.md, step 1k
        try:
            return mesh_constant(self.topology, self.kappa, held, same=self._vertex, thorough=False)
        except CertificationError as error:
            return str(error) if closed is None else MeshConstant(closed, closed, 0.0, 0.0, 0.0)

    @cached_property
    def _costly_constant(self) -> MeshConstant | str:
        try:
            return mesh_constant(self.topology, self.kappa, self.kind == DIRICHLET, same=self._vertex)
        except CertificationError as error:
            return str(error)

    @property
    def fine(self) -> float:
        """The error of the source on a cell that does not show."""
        extent = float(np.max(self.points.max(axis=0) - self.points.min(axis=0)))
        small = SHARE[self.degree] * (self.spacing / extent) ** (2 * self.degree)
        return max(small * self.strength, self.floor)

    @cached_property
    def load(self) -> Density:
        """F on every cell."""
        X, tolerance = self.points[self.topology.cells], self.fine
        found = [
            (
                cells,
                density(  # continuous.md, step 8a
                    f if self.seam is None else self.seam.source,
                    X[cells],
                    tolerance=tolerance if tolerance > 0.0 else None,
                    mean=True,
                    work=self.budget / BUDGET * (len(cells) / len(X) if _bent(f) else 1.0),
                    shared=None if self.helpers is None else self.helpers.look,
                    frugal=self.frugal,
                ),
            )
            for cells, f in self.sources
        ]
        return found[0][1] if len(found) == 1 else joined(found, len(X))

    @cached_property
    def field(self) -> Field | None:
        """The part of the load that acts on gradients."""
        return None if self.seam is None else self.seam.field(self.points[self.topology.cells])

    @property
    def right_side(self) -> Vector:
        """The load of every degree of freedom, in floating point."""
        return self.vector(self.load, self.boundary_load, self.field)

    @cached_property
    def sources(self) -> list[tuple[Index, Any]]:
        """The cells that each formula of the source holds in."""
        if isinstance(self.source, Regional):
            return self.source.pieces
        return [(np.arange(len(self.topology.cells)), self.source)]

    def source_at(self, cell: int) -> Any:
        """The source in a cell and, as far as no facet of `blocking` is crossed, around it."""
        return self.source.at(cell) if isinstance(self.source, Regional) else self.source

    @cached_property
    def floor(self) -> float:
        """An error of the source that rounding excuses."""
        return FLOOR * self.height(getattr(self.source, "terms", 0.0))

    @cached_property
    def strength(self) -> float:
        """The size of the source, for tolerances."""
        if isinstance(self.source, Regional):
            return max(self.height(f, self.points[self.topology.cells[cells]]) for cells, f in self.sources)
        return self.height(self.source)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Proved bounds of the source from below and above."""
        each = [self._range(cells, f) for cells, f in self.sources]
        return min(low for low, _ in each), max(high for _, high in each)

    def _range(self, cells: Index, f: Any) -> tuple[float, float]:
        known = fixed(f)
        if known is None:
            if not enclosed(f):
                raise InputError(
                    "source: the range of a function is not known; give a formula, or say target='discrete'"
                )
            V, values = self.points[self.topology.cells[cells]], self.load.coefficients[cells]
            middle = float(0.5 * (values.min() + values.max()))
            # continuous.md, step 11e
            bounds, _ = supremum(f, V, minus=np.full((len(V), len(pairs(self.d))), middle))
            known = middle, float(bounds.max())
        return float(down(known[0] - known[1], 1)), float(-down(-known[0] - known[1], 1))

    def height(self, given: Data, cells: Vector | None = None) -> float:
        """The size of a function at the vertices and inside the cells, or its mean where peaks may lie between.

        Of cells with vertices (N, d + 1, d); of all cells where there are none.
        """
        if not callable(given):
            return abs(float(given))
        P = self.points[self.topology.cells] if cells is None else cells
        inside = 0.6 * P[:, 0] + (0.4 / self.d) * P[:, 1:].sum(axis=1)  # vertices may all be zeros of it
        corners = self.points if cells is None else P.reshape(-1, self.d)
        seen = np.abs(np.concatenate([given(corners), given(inside)]))
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
        weights = self.topology.volumes if len(P) == len(self.topology.cells) else None
        found = math.sqrt(float(np.average(squares, weights=weights)))
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

    def vector(self, source: Density | None, load: FacetLoad | None, field: Field | None = None) -> Vector:
        """∫ f φ_i + ∫ g φ_i + ∫ q·∇φ_i for every degree of freedom, in floating point."""
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
        if field is not None:
            table = shape_table(self.d, self.degree)
            b += against_gradients(self.topology, self.cell_nodes, self.size, table, field)
        return b

    def fluxes(
        self,
        nodal: Vector,
        sources: Sequence[Density],
        loads: Sequence[FacetLoad | None],
        fields: Sequence[Field | None] | None = None,
        *,
        transposed: bool = False,
        columns: int = 0,
        rest: tuple[Vector, Vector] | None = None,
        more: Vector | None = None,
    ) -> Vector:
        """Equilibrated facet densities (F, 1 or d, m) for states (m, size), `columns` of them in all calls.

        `rest` is κ̄ on the cells and v (m, size) where κ∇u + κ̄∇v, and not κ∇u, has the load at every free node. In a
        medium `more` is w (m, size) where A∇(u + w) has it beside b·∇u + c u and the least of c − ½∇·b times w.
        """
        T, order = self.topology, self.degree - 1
        if self.medium is not None:
            fields = [None] * len(nodal) if fields is None else fields
            wanted, lower = targets(self.medium, T, self.cell_nodes, self.degree, nodal, fields, transposed=transposed)
            if more is not None:
                extra, _ = targets(self.medium, T, self.cell_nodes, self.degree, more, fields, transposed=transposed)
                wanted = wanted + extra
                lower = lower + self.reaction[:, None, None] * self._pieces(more)
            source = np.stack([f.coefficients for f in sources], axis=2) - lower
            ones, R = np.ones(len(T.cells)), self.medium.metric.R
            return equilibrate(  # varying.md, step 2d
                self.joined, ones, wanted, source, self.kind, self.prescribed(loads), order, metric=R
            )
        if fields is not None and any(q is not None for q in fields):
            return self._pushed(nodal, sources, loads, fields)
        if order == 0 and self.d > 1 and rest is None and self.exchange is None and columns >= MANY[self.d]:
            return self._mapped(nodal, sources, loads)
        if order == 0 and self.d == 2 and rest is None and self.helpers is None:
            return self.lowest.fluxes(nodal, sources, self.prescribed(loads), columns=columns)  # continuous.md, step 1d
        source = np.stack([f.on_all(len(self.kappa)).coefficients for f in sources], axis=2)
        if self.helpers is not None and rest is None:
            return self.helpers.fluxes(self, nodal, source, self.prescribed(loads))
        return self.balanced(nodal, source, self.prescribed(loads), columns=columns, rest=rest)

    def _pushed(
        self,
        nodal: Vector,
        sources: Sequence[Density],
        loads: Sequence[FacetLoad | None],
        fields: Sequence[Field | None],
    ) -> Vector:
        """The fluxes near κ∇v_h − q."""
        C = len(self.kappa)
        source = np.stack([f.on_all(C).coefficients for f in sources], axis=2)
        none = np.zeros((C, len(pairs(self.d)), self.d))
        q = np.stack([none if f is None else f.on_all(C).coefficients for f in fields], axis=3)
        if self.degree == 2:
            away = np.einsum("jp,npcm->njcm", linear_projection(self.d), q)
        else:
            away = q.mean(axis=1, keepdims=True)
        return self.balanced(nodal, source, self.prescribed(loads), less=away)

    def balanced(
        self,
        nodal: Vector,
        source: Vector,
        prescribed: Vector | None,
        *,
        columns: int = 0,
        rest: tuple[Vector, Vector] | None = None,
        less: Vector | None = None,
        only: Any = None,
    ) -> Vector:
        """`fluxes` from Bernstein coefficients of the sources, (C, pairs, m); `only` as in `equilibrate`.

        With `less`, (C, d + 1 or 1, d, m), they are to be near κ∇v_h less that.
        """
        slopes = self._slopes(nodal)
        if rest is not None:
            # operators.md, step 13c
            slopes += (rest[0] / self.kappa)[:, None, None, None] * self._slopes(rest[1])
        if less is not None:
            slopes = slopes - less / self.kappa[:, None, None, None]  # lift.md, step 13c
        if np.any(self.reaction):
            source = source - self.reaction[:, None, None] * self._pieces(nodal)
        order = self.degree - 1
        # continuous.md, step 1d
        return equilibrate(
            self.joined, self.kappa, slopes, source, self.kind, prescribed, order, columns=columns, only=only
        )

    def _pieces(self, nodal: Vector) -> Vector:
        """Bernstein coefficients of states (m, size) on the cells, (C, pairs, m)."""
        return np.stack([bernstein(u[self.cell_nodes], self.d, self.degree) for u in nodal], axis=2)

    def _slopes(self, nodal: Vector) -> Vector:
        """Gradients of states at the vertices of the cells, or of linear elements one a cell, (C, d + 1 or 1, d, m)."""
        d = self.d
        if self.degree == 1:
            w = nodal.T[self.cell_nodes]
            slopes = np.matmul(self.topology.gradients[:, 1:].transpose(0, 2, 1), w[:, 1:] - w[:, :1])
            return np.asarray(slopes[:, None])
        b = self._pieces(nodal)
        slopes = np.zeros((len(b), d + 1, d, b.shape[2]))
        number = {pair: p for p, pair in enumerate(pairs(d))}
        for at in range(d + 1):
            for other in set(range(d + 1)) - {at}:
                rise = 2.0 * (b[:, number[min(at, other), max(at, other)]] - b[:, number[at, at]])
                slopes[:, at] += self.topology.gradients[:, other, :, None] * rise[:, None, :]
        return slopes

    @cached_property
    def lowest(self) -> LowestFluxes:
        """Fluxes of linear elements in the plane."""
        return LowestFluxes.of(self.joined, self.cell_nodes, self.kappa, self.reaction, self.kind)

    @cached_property
    def flux_map(self) -> FluxMap:
        """The flux as a linear map, where many are wanted."""
        return FluxMap.of(self.joined, self.cell_nodes, self.size, self.kappa, self.reaction, self.kind)

    def _mapped(self, nodal: Vector, sources: Sequence[Density], loads: Sequence[FacetLoad | None]) -> Vector:
        """The fluxes by `flux_map`, and those of prescribed ones, each once."""
        found, d = self.flux_map.fluxes(nodal, sources), self.d
        still = np.zeros((len(self.kappa), 1, d, 1)), np.zeros((len(self.kappa), len(pairs(d)), 1))
        known: dict[int, Vector] = {}
        for i, load in enumerate(loads):
            if load is not None:
                if id(load) not in known:
                    given = self.prescribed([load])
                    known[id(load)] = equilibrate(self.joined, self.kappa, *still, self.kind, given)
                found[..., i] += known[id(load)][..., 0]
        return found

    @cached_property
    def joined(self) -> Topology:
        """The mesh as patches see it: with vertices that are one under one number."""
        return self.topology if self.gluing is None else by_class(self.topology, self.gluing)  # robin.md, step 7b

    def walls(self, *, reaction: bool = True) -> Vector:
        """Vertices of the facets that a ball may not cross, (n, d, d): `blocking`, and periodic pairs on both sides."""
        return self._walls if reaction else self._with_seams(self.blocking(reaction=False))

    @cached_property
    def _walls(self) -> Vector:
        return self._with_seams(self.blocking())

    def outline(self) -> Vector:
        """The same of the boundary alone, whatever jumps inside."""
        return self._with_seams(np.nonzero(self.topology.facet_cells[:, 1] < 0)[0])

    def _with_seams(self, facets: Index) -> Vector:
        found = self.points[self.topology.facets[facets]]
        if self.gluing is None:
            return np.asarray(found)
        return np.concatenate([found, seams(self.points, self.gluing)])  # robin.md, step 7c

    def prescribed(self, loads: Sequence[FacetLoad | None]) -> Vector | None:
        """Densities (F, d, m) of fluxes that are given on Neumann facets; None where none is."""
        if all(g is None for g in loads):
            return None
        d = self.d
        found = np.zeros((len(self.topology.facets), d, len(loads)))
        for i, g in enumerate(loads):
            if g is not None:
                area = measures(self.points[g.vertices])[0][:, None]
                t = g.density.coefficients @ linear_projection(d - 1).T
                # of linear elements a state's own part is shared among the vertices as it is there; constants stay
                even = self.degree == 1 and self.exchange is None
                found[g.facets, :, i] = area * (t.mean(axis=1, keepdims=True) if even else t)
        return found

    def blocking(self, *, reaction: bool = True) -> Index:
        """Facets that a ball may not cross: the boundary, and jumps of κ, of f or, if asked, of c."""
        one, two = self.topology.facet_cells.T
        if self.coefficients is not None:
            jump = self.coefficients.jumps(self.topology.facet_cells)
        else:
            jump = (two < 0) | (self.kappa[one] != self.kappa[two])
            if reaction:
                jump |= self.reaction[one] != self.reaction[two]
        if isinstance(self.source, Regional):
            jump = jump | self.source.jumps(self.topology.facet_cells)
        return np.nonzero(jump)[0]

    def kind_of_vertices(self) -> Vector:
        """In one dimension, the kind of each vertex, which is a facet."""
        kinds = np.zeros(len(self.points))
        kinds[self.topology.facets[:, 0]] = self.kind
        return kinds

    def dirichlet_facets(self) -> Index:
        """Numbers of the Dirichlet facets."""
        return np.nonzero(self.kind == DIRICHLET)[0]


def difference(facets: Index, one: tuple[Index, Density] | None, two: tuple[Index, Density], width: int) -> Density:
    """One function less another, each known on some of these sorted facets and zero on the others."""
    beta = np.zeros((len(facets), width))
    rest = np.zeros((3, len(facets)))
    for given, sign in ((one, 1.0), (two, -1.0)):
        if given is not None:
            at, f = np.searchsorted(facets, given[0]), given[1]
            beta[at] += sign * f.coefficients
            rest[:, at] += np.stack([f.high, f.error1, f.error2])
    blur = UNIT * np.abs(beta).max(axis=1)
    high, error1, error2 = up(rest, 4)
    proved = two[1].proved and (one is None or one[1].proved)
    return Density(beta, high, up(error1 + blur), up(error2 + blur), proved=proved)


def joined(found: Sequence[tuple[Index, Density]], count: int) -> Density:
    """One density on so many cells from those of parts of them."""
    coefficients = np.zeros((count, found[0][1].coefficients.shape[1]))
    high, error1, error2 = np.zeros(count), np.zeros(count), np.zeros(count)
    for cells, f in found:
        coefficients[cells], high[cells], error1[cells], error2[cells] = f.coefficients, f.high, f.error1, f.error2
    return Density(coefficients, high, error1, error2, proved=all(f.proved for _, f in found))


def node_numbers(simplices: Index, n: int, edges: Index | None) -> Index:
    """Nodes of simplices: their vertices, of which there are n in all, then their edges where these have any."""
    if edges is None or simplices.shape[1] == 1:
        return simplices
    known = edges[:, 0] * n + edges[:, 1]
    pairs_ = [np.sort(simplices[:, list(two)], axis=1) for two in combinations(range(simplices.shape[1]), 2)]
    places = [n + np.searchsorted(known, two[:, 0] * n + two[:, 1]) for two in pairs_]
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


def _bent(f: Any) -> bool:
    """Whether models of data cost far more than those of the formula behind them: by the map of curved surfaces."""
    return isinstance(f, Blurred) and f.blurred
