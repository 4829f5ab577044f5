"""A linear elastic solid as the transfer to its own displacements and stresses sees it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import UNIT, gamma, sum_up, up
from pinnpoint.taylor.bernstein import Density, from_linear, gram
from pinnpoint.taylor.inputs import fixed
from pinnpoint.taylor.simplices import density
from pinnpoint.transfer.boundary.facets import FacetLoad, measures
from pinnpoint.transfer.continuum import FLOOR, node_numbers, shape_table
from pinnpoint.transfer.elastic.arcs import Arcs
from pinnpoint.transfer.elastic.loads import Load, StressLoad, Traction
from pinnpoint.transfer.elastic.material import least_stiffness
from pinnpoint.transfer.elastic.reference import voigt
from pinnpoint.transfer.elastic.thermal import Thermal
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.points.work import BUDGET

SHARE = {1: 2e-2, 2: 5e-3}
"""The data's error on a cell, relative to its size, against (h/L)^(2 · degree), by degree."""

FINE = 1e-6
"""The error of tractions, relative to their size: cells pass on what is wrong with their forces."""

CHUNK = 4096
"""Cells at once."""


@dataclass(frozen=True, eq=False)
class Solid:
    """−∇·σ(u) = f, σ = 2με(u) + λ tr ε(u) I, on the polygon or polyhedron that the mesh covers.

    Attributes
    ----------
    edges
        Vertex pairs of the edges with degrees of freedom of their own, in the order of these; used for degree 2.
    lam, mu
        Lamé's coefficients on each cell, floats; in plane stress λ is the reduced one.
    off
        Upper bound of the relative difference between the energies of these and of the material that was asked for.
    held
        Which displacement components are given on which facets, (F, d).
    body
        f by components: numbers, formulas, functions of points; zero for none.
    dirichlet, traction
        Facet numbers, and what is given on them by components; None where a component is free, or not loaded.
    forces
        Facet numbers, and the total force that is spread evenly over them.
    thermal
        What a change of temperature does; None where there is none.
    weights
        Further force densities that are constant on each cell, (C, d); None where there are none.
    budget
        Units of work for each query.
    arcs
        Curved sides of a plane solid; None where all are straight.
    """

    topology: Topology
    edges: Index
    degree: int
    lam: Vector
    mu: Vector
    off: float
    held: NDArray[np.bool_]
    body: tuple[Any, ...]
    dirichlet: Sequence[tuple[Index, Sequence[Any]]]
    traction: Sequence[tuple[Index, Sequence[Any]]]
    forces: Sequence[tuple[Index, Vector]] = ()
    thermal: Thermal | None = None
    weights: Vector | None = None
    budget: int = BUDGET
    arcs: Arcs | None = None

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
        """Nodes; each has d displacements."""
        return len(self.points) + (len(self.edges) if self.degree == 2 else 0)

    @cached_property
    def fixed(self) -> NDArray[np.bool_]:
        """Where the traction is given: components that are not held on the boundary, (F, d)."""
        return np.asarray(self.topology.boundary[:, None] & ~self.held)

    @cached_property
    def c_min(self) -> Vector:
        """Lower bounds of the least eigenvalue of C: ‖ε‖² ≤ ε : Cε / c_min."""
        return least_stiffness(self.lam, self.mu, self.d)

    @cached_property
    def slack(self) -> Vector:
        """Relative errors of the cells' computed volumes, (C,)."""
        cells = self.topology.cells
        parts = [Shapes.of(self.points, cells[a : a + CHUNK]).slack for a in range(0, len(cells), CHUNK)]
        return np.concatenate(parts)

    @cached_property
    def stiff(self) -> Vector:
        """Relative error of C⁻¹ as computed from floats, (C,)."""
        return np.asarray(up(2.0 * gamma(8) * (2.0 * self.mu + self.d * np.abs(self.lam)) / self.c_min, 8))

    @cached_property
    def cell_nodes(self) -> Index:
        """Nodes of the sorted cells: vertices, then edges in the order of pairs j < l."""
        return self.nodes_of(self.topology.cells)

    def nodes_of(self, simplices: Index) -> Index:
        """Nodes of sorted simplices."""
        return node_numbers(simplices, len(self.points), self.edges if self.degree == 2 else None)

    @cached_property
    def spacing(self) -> float:
        """Mean cell size, as the side of a cell of mean volume, or by the length of thin cells."""
        side = float(np.mean(self.topology.volumes) ** (1.0 / self.d))
        return max(side, float(np.mean(self.topology.diameters)) / (self.d + 2))

    @cached_property
    def extent(self) -> float:
        """The longest side of a box around the solid."""
        return float(np.max(self.points.max(axis=0) - self.points.min(axis=0)))

    @cached_property
    def load(self) -> Load:
        """F, t, and S of thermal expansion."""
        return Load(self._body_load(), tuple(self._tractions()), self._stress())

    def _body_load(self) -> tuple[Density | None, ...] | None:
        X = self.points[self.topology.cells]
        found = [None if fixed(f) == (0.0, 0.0) else self._density(f, X) for f in self.body]
        if self.weights is not None:
            found = [_added(f, w, self.d) for f, w in zip(found, self.weights.T, strict=True)]
        return tuple(found) if any(f is not None for f in found) else None

    def _stress(self) -> StressLoad | None:
        if self.thermal is None:
            return None
        identity = np.array([1.0 if a == b else 0.0 for a, b in voigt(self.d)])
        return StressLoad(self.expansion, np.tile(identity, (len(self.mu), 1)))  # elasticity.md, step 12a

    @cached_property
    def expansion(self) -> Density:
        """κϑ on all cells."""
        assert self.thermal is not None
        given, cells = self.thermal.temperature, self.topology.cells
        if not isinstance(given, np.ndarray):
            return self.thermal.scaled(self._density(given, self.points[cells]))
        rows, top = from_linear(given[cells]), np.abs(given[cells]).max(axis=1)
        off = up(gamma(2) * top, 2)
        return self.thermal.scaled(Density(rows, np.zeros(len(rows)), off, off))

    def _density(self, f: Any, X: Vector) -> Density:
        strength = self.height(f)
        tolerance = SHARE[self.degree] * (self.spacing / self.extent) ** (2 * self.degree) * strength
        tolerance = max(tolerance, self.floor(f))
        return density(f, X, tolerance=tolerance if tolerance > 0.0 else None, mean=True, work=self.budget / BUDGET)

    def floor(self, f: Any) -> float:
        """Rounding in data of which large terms cancel: models are not asked for more."""
        return FLOOR * self.height(getattr(f, "terms", 0.0))

    def height(self, f: Any) -> float:
        """The size of a function at the vertices and inside the cells, for tolerances."""
        if not callable(f):
            return abs(float(f))
        P = self.points[self.topology.cells]
        inside = 0.6 * P[:, 0] + (0.4 / self.d) * P[:, 1:].sum(axis=1)
        return float(np.max(np.abs(np.concatenate([f(self.points), f(inside)])), initial=0.0))

    def _tractions(self) -> Iterator[Traction]:
        for facets, given in self.traction:
            for c, t in enumerate(given):
                if t is not None and len(facets) and fixed(t) != (0.0, 0.0):
                    V = self.points[self.topology.facets[facets]]
                    high = float(np.max(np.abs(t(V.mean(axis=1))))) if callable(t) else 0.0
                    limit = max(FINE * high, self.floor(t))
                    what = density(t, V, tolerance=limit if limit > 0.0 else None)
                    yield Traction(c, self.facet_load(facets, what), flat=fixed(t) is not None)
        for facets, total in self.forces:
            area, slack = measures(self.points[self.topology.facets[facets]])
            whole = math.fsum(area.tolist())
            off = float(up(sum_up(area * slack) / whole + gamma(8)))  # elasticity.md, step 10f
            for c in np.flatnonzero(total).tolist():
                t = Density.constant(np.full(len(facets), total[c] / whole), self.d - 1)
                wrong = np.full(len(facets), float(up(off * abs(total[c]) / whole)))
                what = Density(t.coefficients, t.high, wrong, wrong)
                yield Traction(c, self.facet_load(facets, what), flat=True)

    def facet_load(self, facets: Index, what: Density) -> FacetLoad:
        """A traction component on facets."""
        vertices = self.topology.facets[facets]
        return FacetLoad(facets, vertices, self.nodes_of(vertices), what)

    def vector(self, load: Load) -> Vector:
        """J(φ_i e_c) for every displacement, in floating point, (nodes · d,)."""
        b, d, T = np.zeros((self.size, self.d)), self.d, self.topology
        table = shape_table(d, self.degree) @ gram(d)
        for c, f in enumerate(load.body or ()):
            if f is not None:
                which = slice(None) if f.cells is None else f.cells
                local = (f.coefficients @ table.T) * T.volumes[which, None]
                b[:, c] += np.bincount(self.cell_nodes[which].ravel(), local.ravel(), minlength=self.size)
        facet_table = shape_table(d - 1, self.degree) @ gram(d - 1)
        for traction in load.traction:
            t = traction.on
            local = (t.density.coefficients @ facet_table.T) * measures(self.points[t.vertices])[0][:, None]
            b[:, traction.component] += np.bincount(t.nodes.ravel(), local.ravel(), minlength=self.size)
        if load.stress is not None:
            w = load.stress.weight
            which = slice(None) if w.cells is None else w.cells
            corner = _corner_means(d) @ w.coefficients.T  # means of ω λ_i, (d + 1, n)
            values = load.stress.tensor[:, None, :] * corner.T[:, :, None]
            b += self._against_strain(values * T.volumes[which, None, None], which)
        return b.ravel()

    def against_means(self, stress: Vector) -> Vector:
        """∫ s : ε(φ) for stresses that are constant on cells, (C, ns)."""
        d, T = self.d, self.topology
        values = np.repeat(stress[:, None, :] * (T.volumes / (d + 1))[:, None, None], d + 1, axis=1)
        return self._against_strain(values, slice(None)).ravel()

    def against_linear(self, stress: Vector) -> Vector:
        """∫ S : ε(φ) for stresses that are linear on cells, by their values at the vertices, (C, d + 1, ns)."""
        d, T = self.d, self.topology
        values = (stress + stress.sum(axis=1, keepdims=True)) * (T.volumes / ((d + 1) * (d + 2)))[:, None, None]
        return self._against_strain(values, slice(None)).ravel()

    def _against_strain(self, values: Vector, which: Any) -> Vector:
        """Σ over cells of ∫ S : ∇φ_i from the integrals of S λ_j, (n, d + 1, ns)."""
        d, G = self.d, self.topology.gradients[which]
        V = np.empty((*values.shape[:2], d, d))
        for v, (a, b) in enumerate(voigt(d)):
            V[:, :, a, b] = V[:, :, b, a] = values[..., v]
        total = V.sum(axis=1)
        nodes, found = self.cell_nodes[which], np.zeros((self.size, d))
        vertex = np.einsum("kca,kia->kic", total, G)  # ∫ S ∇λ_i
        if self.degree == 1:
            local = vertex
        else:
            at = np.einsum("kjca,kia->kijc", V, G)  # ∫ S λ_j ∇λ_i
            own = np.einsum("kiic->kic", at)
            middle = [4.0 * (at[:, i, j] + at[:, j, i]) for i in range(d + 1) for j in range(i + 1, d + 1)]
            local = np.concatenate([4.0 * own - vertex, np.stack(middle, axis=1)], axis=1)
        for c in range(d):
            found[:, c] += np.bincount(nodes.ravel(), local[..., c].ravel(), minlength=self.size)
        return found

    def forces_in(self, cell: int, name: str) -> tuple[Any, ...]:
        """What acts in a ball about a point of a cell, but for constants: f − κ∇ϑ."""
        return self.body if self.thermal is None else self.thermal.pulled(self.body, cell, name)

    def blocking(self) -> Index:
        """Facets that a ball may not cross: the boundary, jumps of material and force, curved cells."""
        one, two = self.topology.facet_cells.T
        jump = (two < 0) | (self.lam[one] != self.lam[two]) | (self.mu[one] != self.mu[two])
        if self.thermal is not None:
            jump |= self.thermal.kappa[one] != self.thermal.kappa[two]  # elasticity.md, step 12d
        if self.weights is not None:
            jump |= np.any(self.weights[one] != self.weights[two], axis=1)  # elasticity.md, step 12f
        if self.arcs is not None:
            jump[self.topology.cell_facets[self.arcs.cells]] = True  # curved.md, step 6h
        return np.nonzero(jump)[0]


def _added(f: Density | None, values: Vector, d: int) -> Density | None:
    """A density, and numbers on cells."""
    if not np.any(values):
        return f
    if f is None:
        return Density.constant(values, d)
    rows = f.coefficients + values[:, None]
    off = up(UNIT * np.abs(rows).max(axis=1), 2)
    return Density(rows, f.high, up(f.error1 + off), up(f.error2 + off), None, f.proved)  # elasticity.md, step 12f


def _corner_means(d: int) -> Vector:
    """From Bernstein coefficients to the means of ω λ_i, (d + 1, pairs)."""
    return np.asarray(from_linear(np.eye(d + 1)[None])[0].T @ gram(d))
