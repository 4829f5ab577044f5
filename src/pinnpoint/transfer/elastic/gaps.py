"""Displacements that are given by formulas which the elements do not meet.

Let g_c be given on the facets that are held in component c, and u_h be any state. A continuous field E that equals
g − u_h there makes e = u − u_h − E admissible. The facets with one formula make a group;
for each group and component

    E_c = χ (g_c − I g_c),     χ = Σ hats of the group's vertices,

with I g the element function that has u_h's values at the group's nodes and (floats near) g's elsewhere. It vanishes on
the facets of other groups, which have no vertex in common. Where g is a polynomial of the elements' degree, g − u_h is
rounding alone and E = Σ δ_v φ_v over the nodes, so that such groups may also meet. With σ_d, δ_d of a dual state,

    J(u) = J(u_h) + [residual of u_h at z_h] − ∫_{held} (σ_d n)·(g − u_h) + (δ_d, ε(E)) + (ϱ_d, E) + a(e, z − z_h) .
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, sum_up, two_sum, up
from pinnpoint.taylor.bernstein import Density, from_linear, from_quadratic, linear_projection
from pinnpoint.taylor.geometry import Simplices, coordinates, path_order
from pinnpoint.taylor.inputs import ORDER, Data, enclosed, model_of
from pinnpoint.taylor.jets import jet_of
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.simplices import density, quadratic, root_mean_square
from pinnpoint.taylor.spaces import POINT
from pinnpoint.transfer.boundary.gaps import polynomial_degree
from pinnpoint.transfer.energy.cells import State
from pinnpoint.transfer.energy.geometry import Shapes

Given = Sequence[tuple[Index, Sequence[Any]]]
"""Facets, and what is given on them by components; None where a component is free."""
CHUNK = 4096
FINE = 1e-9
"""Formulas are resolved to this share of their size on facets, where they enter the centre of the interval."""


@dataclass(frozen=True, eq=False)
class Gap:
    """E, bounded, and the linear part of g − u_h on held facets.

    Attributes
    ----------
    energy, length, top
        Upper bounds of ‖E‖_{a,K}, of ‖E‖_{L²(K)} and of |E| on each cell, (C,); zero where there is no E.
    facets, components
        Pairs with g − u_h ≠ 0, (n,) each.
    values, errors
        Vertex values (n, d) of the projection of (g − u_h)_c onto linear functions on the facet, and bounds of their
        errors, (n,).
    """

    topology: Topology
    energy: Vector
    length: Vector
    top: Vector
    facets: Index
    components: Index
    values: Vector
    errors: Vector

    __repr__ = brief

    @property
    def is_open(self) -> bool:
        """Whether there is anything between g and u_h."""
        return len(self.facets) > 0

    @classmethod
    def of(
        cls, T: Topology, cell_nodes: Index, degree: int, lam: Vector, mu: Vector, dirichlet: Given, state: Vector
    ) -> Gap:
        """The gap of a state with values (nodes, d); refuses different formulas at one vertex unless both are met."""
        elements = _Elements(T, cell_nodes, degree, state)
        D = np.zeros((len(T.cells), T.dim, 2 + T.dim))
        rows: list[tuple[Index, Index, Vector, Vector]] = []
        for c in range(T.dim):
            given = [(facets, data[c]) for facets, data in dirichlet if len(facets) and data[c] is not None]
            given = _merged(given)
            _require_apart(T, c, given, degree)
            parts = [elements.rounding(c, [x for x in given if polynomial_degree(x[1]) <= degree])]
            parts += [elements.formula(c, f, g) for f, g in given if polynomial_degree(g) > degree]
            for bounds, found in parts:
                rows += found
                D[:, c] += bounds
        energy, length, top = _norms(T, lam, mu, D)
        none = np.zeros(0, dtype=np.intp)
        facets = np.concatenate([none, *(r[0] for r in rows)])
        components = np.concatenate([none, *(r[1] for r in rows)])
        values = np.concatenate([np.zeros((0, T.dim)), *(r[2] for r in rows)])
        return cls(T, energy, length, top, facets, components, values, np.concatenate([[], *(r[3] for r in rows)]))

    def facet_term(self, m: Vector) -> tuple[float, float]:
        """−∫ (σ_d n)·(g − u_h) over held pairs for facet moments m (F, d, d) of a dual, and a bound of its error."""
        of = m[self.facets, :, self.components]
        terms = of * self.values  # elasticity.md, step 7c
        total = -math.fsum(terms.ravel().tolist())  # elasticity.md, step 7a
        size = np.abs(of).sum(axis=1)
        wrong = sum_up(up(size * self.errors, 8)) + sum_up(up(2.0 * UNIT * np.abs(terms).ravel(), 4))
        return total, float(up(wrong + UNIT * abs(total)))  # elasticity.md, step 7c

    def radius(self, size: Vector, force: Vector, moment: Vector, traction: Vector) -> float:
        """Upper bound of |(δ_d, ε(E)) + (ϱ_d, E)| and of what the dual's tractions leave on E.

        Parameters
        ----------
        size
            Upper bounds of ‖δ_d‖_{C⁻¹,K} + osc_d, what is not linear in tractions included, (C,).
        force, moment
            Upper bounds of the dual's defects on each cell, as for `Tree.cost`; what the tree makes of them is no
            bound for E, which does not vanish where the body is held.
        traction
            Sums over each cell of the errors of the dual's given facet moments.
        """
        cells = np.flatnonzero(self.top > 0.0)
        T, d = self.topology, self.topology.dim
        if not len(cells):
            return 0.0
        shapes = Shapes.of(T.points, T.cells[cells])
        steep = np.sqrt(d) * (d + 1.0) * shapes.steep * (1.0 + shapes.slack)  # Σ|∇λ_j|
        left = up(force[cells] + 0.5 * moment[cells] * steep, 16)  # elasticity.md, step 7d
        volume = shapes.volume * (1.0 - 2.0 * shapes.slack)
        left = up((d + 1.0) ** 1.5 * left / np.sqrt(volume), 16)  # elasticity.md, step 7d
        with np.errstate(invalid="ignore"):
            each = self.energy[cells] * size[cells] + self.length[cells] * left
            each = up(each + d * (d + 2.0) * self.top[cells] * traction[cells], 16)  # elasticity.md, step 7d
        return sum_up(np.where(np.isnan(each), np.inf, each))


@dataclass(frozen=True, eq=False)
class _Elements:
    """A state with the nodes of its cells and facets."""

    topology: Topology
    cell_nodes: Index
    degree: int
    state: Vector

    def facet_nodes(self, facets: Index) -> Index:
        """Nodes of boundary facets: vertices, then edges; as the elements of one dimension less have them."""
        T, d = self.topology, self.topology.dim
        cells = T.facet_cells[facets, 0]
        opposite = np.argmax(T.cell_facets[cells] == facets[:, None], axis=1)
        edges = {pair: d + 1 + k for k, pair in enumerate(combinations(range(d + 1), 2))}
        table = []
        for j in range(d + 1):
            own = [i for i in range(d + 1) if i != j]
            table.append(own + ([edges[pair] for pair in combinations(own, 2)] if self.degree == 2 else []))
        return np.take_along_axis(self.cell_nodes[cells], np.array(table, dtype=np.intp)[opposite], axis=1)

    def values_at_nodes(self, g: Data, nodes: Index) -> tuple[Vector, Vector]:
        """Values of g at nodes, and bounds of their errors; edges' midpoints are no floats."""
        X, slack = self._places()
        if not callable(g):
            return np.full(len(nodes), float(g)), np.zeros(len(nodes))
        if not enclosed(g):
            raise InputError("fixed: a displacement given by a function of points has no proved values; give a formula")
        columns = zip(X[nodes].T, slack[nodes].T, strict=True)
        model = model_of(g, [TaylorModel(POINT, x[None].copy(), s.copy()) for x, s in columns])
        return np.array(np.broadcast_to(model.C[0], len(nodes))), np.array(np.broadcast_to(model.e, len(nodes)))

    def _places(self) -> tuple[Vector, Vector]:
        T, d = self.topology, self.topology.dim
        X, slack = np.zeros((len(self.state), d)), np.zeros((len(self.state), d))
        X[: len(T.points)] = T.points
        if self.degree == 2:
            for k, (i, j) in enumerate(combinations(range(d + 1), 2)):
                s, t = two_sum(T.points[T.cells[:, i]], T.points[T.cells[:, j]])
                X[self.cell_nodes[:, d + 1 + k]] = 0.5 * s
                slack[self.cell_nodes[:, d + 1 + k]] = up(0.5 * np.abs(t), 2)
        return X, slack

    def rounding(self, c: int, given: Sequence[tuple[Index, Data]]) -> tuple[Vector, list[Any]]:
        """Bounds of |E_c| and of the rms of E_c and ∂_b E_c, (C, 2 + d), and facets, for data met but for rounding."""
        T, d = self.topology, self.topology.dim
        delta, rows = np.zeros(len(self.state)), []
        low, high = np.full(len(self.state), -np.inf), np.full(len(self.state), np.inf)
        for facets, g in given:
            own = np.unique(self.facet_nodes(facets))
            value, error = self.values_at_nodes(g, own)
            low[own] = np.maximum(low[own], value - up(error + UNIT * np.abs(value)) * (error > 0.0))
            high[own] = np.minimum(high[own], value + up(error + UNIT * np.abs(value)) * (error > 0.0))
            if np.any(low[own] > high[own]):
                at = self._places()[0][own[np.argmax(low[own] > high[own])]]
                place = ", ".join(f"{x:.6g}" for x in at)
                raise InputError(
                    f"fixed: component {'xyz'[c]} has two values at ({place}): no displacement of finite energy has "
                    "such a jump; give data that agree where facets meet"
                )
            off = np.abs(self.state[own, c] - value)
            off = np.where((off > 0.0) | (error > 0.0), up(off + error, 4), 0.0)  # elasticity.md, step 7b
            delta[own] = np.maximum(delta[own], off)
        for facets, _ in given:
            wrong = delta[self.facet_nodes(facets)].sum(axis=1)
            off = np.flatnonzero(wrong > 0.0)
            error = up(d * (d + 2.0) * wrong[off], 8)  # elasticity.md, step 7c
            rows.append((facets[off], np.full(len(off), c), np.zeros((len(off), d)), error))
        found = np.zeros((len(T.cells), 2 + d))
        total = delta[self.cell_nodes].sum(axis=1)
        cells = np.flatnonzero(total > 0.0)
        for part in (cells[a : a + CHUNK] for a in range(0, len(cells), CHUNK)):
            shapes = Shapes.of(T.points, T.cells[part])
            found[part, :2] = up(total[part], 16)[:, None]
            slope = 4.0 * total[part] * shapes.steep * (1.0 + shapes.slack)
            found[part, 2:] = up(slope, 24)[:, None]  # elasticity.md, step 7b
        return found, rows

    def formula(self, c: int, facets: Index, g: Data) -> tuple[Vector, list[Any]]:
        """The same for a formula that the elements do not meet."""
        if not isinstance(g, Expression):
            raise InputError(
                "fixed: for the continuous target a displacement is a number or a formula, not a function of points"
            )
        T, d = self.topology, self.topology.dim
        on = np.zeros(len(T.points), dtype=bool)
        on[T.facets[facets]] = True
        cells = np.flatnonzero(on[T.cells].any(axis=1))
        nodes = np.unique(self.cell_nodes[cells])
        near = np.zeros(len(self.state))
        near[nodes] = self.values_at_nodes(g, nodes)[0]
        held = np.unique(self.facet_nodes(facets))
        near[held] = self.state[held, c]
        found = np.zeros((len(T.cells), 2 + d))
        for part in (cells[a : a + CHUNK] for a in range(0, len(cells), CHUNK)):
            found[part] = self._bounds(g, part, near[self.cell_nodes[part]], on[T.cells[part]])
        return found, [self._projected(c, facets, g)]

    def _bounds(self, g: Expression, cells: Index, nodal: Vector, on: Any) -> Vector:
        """Bounds on cells of |E|, of its root mean square and of those of ∂_b E = χ ∂_b(g − Ig) + (g − Ig) ∂_b χ."""
        T, d = self.topology, self.topology.dim
        shapes = Shapes.of(T.points, T.cells[cells])
        simplices = Simplices(T.points[T.cells[cells]], np.zeros((len(cells), d)))
        which, q = path_order(simplices.vertices), ORDER[d]
        jet = jet_of(g, coordinates(simplices, which, q))
        state = State.of(shapes, np.ascontiguousarray(nodal.T), self.degree)
        blur = up((shapes.slack + gamma(60)) * state.size, 4)
        rest = jet.value - quadratic(state.coefficients.T, which, q, state.blur)
        chi = quadratic(from_linear(on.astype(np.float64)), which, q, np.zeros(len(cells)))
        found = np.empty((len(cells), 2 + d))
        found[:, 0] = up(np.maximum(-rest.bounds[0], rest.bounds[1]), 2)  # elasticity.md, step 7b: 0 ≤ χ ≤ 1
        found[:, 1] = root_mean_square(chi * rest, which)  # elasticity.md, step 7b
        for b in range(d):
            slope = jet.gradient[b] - quadratic(from_linear(state.slopes[:, b].T), which, q, blur)
            steep = np.einsum("ni,in->n", on.astype(np.float64), shapes.gradients[:, b])
            wrong = up((d + 1) * (shapes.slack + gamma(8)) * shapes.steep, 4)
            model = chi * slope + rest * constant(steep, wrong)
            found[:, 2 + b] = root_mean_square(model, which)  # elasticity.md, step 7b
        return np.where(np.isnan(found), np.inf, found)

    def _projected(self, c: int, facets: Index, g: Expression) -> tuple[Index, Index, Vector, Vector]:
        """Vertex values of the linear projection of g − u_h on facets, and bounds of their errors."""
        T, d = self.topology, self.topology.dim
        w = self.state[self.facet_nodes(facets), c]
        f: Density = density(g, T.points[T.facets[facets]], tolerance=FINE * float(np.abs(w).max()) + TINY)
        own = from_linear(w) if self.degree == 1 else from_quadratic(w, d - 1)
        values = (f.coefficients - own) @ linear_projection(d - 1).T
        size = np.abs(f.coefficients).max(axis=1) + np.abs(w).max(axis=1)
        # rows of the projection have absolute sums below d(d + 2); so has it on bounded functions
        errors = up(d * (d + 2.0) * (f.error1 + gamma(40) * 4.0 * size) + TINY, 8)  # elasticity.md, step 7c
        return facets, np.full(len(facets), c), values, errors


def _merged(given: Sequence[tuple[Index, Data]]) -> list[tuple[Index, Data]]:
    """Facets with the same data together."""
    found: list[tuple[Index, Data]] = []
    for facets, g in given:
        same = [k for k, (_, other) in enumerate(found) if _same(g, other)]
        if same:
            found[same[0]] = np.union1d(found[same[0]][0], facets), g
        else:
            found.append((np.asarray(facets, dtype=np.intp), g))
    return found


def _require_apart(T: Topology, c: int, given: Sequence[tuple[Index, Data]], degree: int) -> None:
    """Refuse a vertex where a formula that is not met and other data are given."""
    count, rough = np.zeros(len(T.points), dtype=np.intp), np.zeros(len(T.points), dtype=bool)
    for facets, g in given:
        vertices = np.unique(T.facets[facets])
        count[vertices] += 1
        rough[vertices] |= polynomial_degree(g) > degree
    bad = np.flatnonzero((count > 1) & rough)
    if len(bad):
        place = ", ".join(f"{x:.6g}" for x in T.points[bad[0]])
        raise InputError(
            f"fixed: component {'xyz'[c]} is given by different data at ({place}), and elements of degree {degree} do "
            "not meet them all; give one formula on facets that meet, or say target='discrete'"
        )


def _same(one: Data, two: Data) -> bool:
    if isinstance(one, Expression) and isinstance(two, Expression):
        return one == two
    return not callable(one) and not callable(two) and float(one) == float(two)


def _norms(T: Topology, lam: Vector, mu: Vector, D: Vector) -> tuple[Vector, Vector, Vector]:
    """‖E‖_a, ‖E‖ and sup |E| from bounds (C, d, 2 + d) of |E_c| and of the rms of E_c and ∂_b E_c."""
    energy, length, top = (np.zeros(len(T.cells)) for _ in range(3))
    cells = np.flatnonzero((D[:, :, 0] > 0.0).any(axis=1))
    for part in (cells[a : a + CHUNK] for a in range(0, len(cells), CHUNK)):
        shapes = Shapes.of(T.points, T.cells[part])
        volume = shapes.volume * (1.0 + shapes.slack)
        slopes = D[part, :, 2:]
        strain = 0.5 * (slopes + np.swapaxes(slopes, 1, 2))  # elasticity.md, step 7b: of magnitudes
        trace = np.einsum("naa->n", slopes)
        square = 2.0 * mu[part] * (strain**2).sum(axis=(1, 2)) + np.maximum(lam[part], 0.0) * trace**2
        energy[part] = up(np.sqrt(square * volume), 40)  # elasticity.md, step 7b
        top[part] = up(np.sqrt((D[part, :, 0] ** 2).sum(axis=1)), 24)
        length[part] = up(np.sqrt((D[part, :, 1] ** 2).sum(axis=1) * volume), 24)  # elasticity.md, step 7b
    return energy, length, top
