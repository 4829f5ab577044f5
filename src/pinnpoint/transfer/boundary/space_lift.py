"""A lift of the Dirichlet data that the elements do not meet, in space: docs/curved.md, section 3.

Edges and faces of Γ_D have polynomials (see `lift_modes`) with float coefficients, fitted to m = g − u_h. Their sum E
is continuous, lives in the cells around these edges and faces, and is a polynomial on each of them. What E leaves of m
on Γ_D is enclosed, and counts by the maximum principle. Any coefficients are sound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import gamma, sum_up, up
from pinnpoint.taylor import tables
from pinnpoint.taylor.bernstein import gram
from pinnpoint.taylor.geometry import Simplices, coordinates
from pinnpoint.taylor.inputs import ORDER, enclosed, fixed, model_of
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.simplices import quadratic
from pinnpoint.transfer.boundary.data_lift import DataLift, against, coefficient_bounds
from pinnpoint.transfer.boundary.facets import left_over, measures
from pinnpoint.transfer.boundary.lift_modes import ROUNDINGS, fitting, lattice, moments, on_path, powers_of, products
from pinnpoint.transfer.continuum import Continuum, bernstein
from pinnpoint.transfer.energy.anchors import NEUMANN
from pinnpoint.transfer.energy.cells import COUNT, State
from pinnpoint.transfer.energy.estimator import Bounds, Side
from pinnpoint.transfer.energy.geometry import Shapes

Q = ORDER[2]
EDGE, FACE = len(powers_of(2)), len(powers_of(3))
CHUNK = 4096


@dataclass(frozen=True, eq=False)
class SpaceLift:
    """E, and what it costs.

    Attributes
    ----------
    facets, sign
        The facets of Γ_D, ascending, and 1 where the flux through them is stored outward, else −1.
    edges, edge_modes, face_modes
        Edges of Γ_D, (E, 2), with their coefficients, (E, EDGE), and those of its facets, (F, FACE).
    ends
        An upper bound of |g − u_h − E| on Γ_D.
    open
        Other boundary facets that E does not vanish on, and upper bounds of |E| there.
    gradient, size, energy
        On every cell, bounds of ‖A^{1/2}∇E‖_K, of ‖E‖_K, and of what a(E, ·) costs there.
    """

    facets: Index
    sign: Vector
    edges: Index
    edge_modes: Vector
    face_modes: Vector
    ends: float
    open: tuple[Index, Vector]
    gradient: Vector
    size: Vector
    energy: Vector

    __repr__ = brief

    @classmethod
    def of(cls, model: Continuum, state: Vector) -> SpaceLift | None:
        """From the data and a state; None where nothing is known of the data."""
        parts = [(facets, given) for facets, given in model.dirichlet if len(facets)]
        if not parts or not all(enclosed(given) or fixed(given) is not None for _, given in parts):
            return None
        missed = [_missed(model, facets, given, state) for facets, given in parts]
        facets = np.concatenate([f for f, _ in parts])
        C = np.concatenate(
            [np.broadcast_to(m.C, (m.C.shape[0], len(f))) for m, (f, _) in zip(missed, parts, strict=True)], axis=1
        )
        e = np.concatenate([np.broadcast_to(m.e, len(f)) for m, (f, _) in zip(missed, parts, strict=True)])
        if not np.isfinite(e).all():
            return None
        order = np.argsort(facets, kind="stable")
        return cls._made(model, facets[order], C[:, order], e[order], missed[0].space)

    @classmethod
    def _made(cls, model: Continuum, facets: Index, C: Vector, e: Vector, space: Any) -> SpaceLift:
        """From models of g − u_h on the facets of Γ_D, coefficients (monomials, F)."""
        T = model.topology
        edges, rows = edges_of(T.facets[facets])
        t = lattice()
        xi = 1.0 - 2.0 * t[:, 0], 2.0 * t[:, 2] - 1.0
        values = np.stack([xi[0] ** a * xi[1] ** b for a, b in space.powers.tolist()], axis=1) @ C
        fitted = fitting() @ values
        edge_modes = np.zeros((len(edges), EDGE))
        for k in range(3):
            edge_modes[rows[:, k]] = fitted[k * EDGE : (k + 1) * EDGE].T
        face_modes = np.ascontiguousarray(fitted[3 * EDGE :].T)
        own = np.concatenate([edge_modes[rows].reshape(len(facets), -1), face_modes], axis=1)
        Z = on_path(Q)
        left = C - Z @ own.T
        size = (np.abs(Z) @ np.abs(own.T)).sum(axis=0) + np.abs(C).sum(axis=0)
        most = np.abs(tables.bernstein(2, Q)[0] @ left).max(axis=0)
        ends = float(up(most + e + gamma(Z.shape[1] + len(Z) + 8) * size, 8).max())  # curved.md, step 3e
        cells = T.facet_cells[facets, 0]
        local = np.argmax(T.cell_facets[cells] == facets[:, None], axis=1)
        costs = _costs(model, facets, edges, edge_modes, face_modes)
        return cls(facets, T.sign[cells, local], edges, edge_modes, face_modes, ends, *costs)

    def over(self, primal: Bounds) -> Bounds:
        """The bounds of a state with E added to it."""
        return replace(primal, lift=self.energy)  # curved.md, step 3b

    def across(self, model: Continuum, dual: Side) -> tuple[float, float]:
        """∫ (τ·n) E over Γ_D of the flux τ of a dual; a bound of the error and of ∫ (g_d − αz_h − τ·n) E elsewhere."""
        t = np.broadcast_to(dual.flux[self.facets] * self.sign[:, None], (len(self.facets), 3))
        _, rows = edges_of(model.topology.facets[self.facets])
        own = np.concatenate([self.edge_modes[rows].reshape(len(t), -1), self.face_modes], axis=1)
        table, size = moments(2)
        parts = (t * (own @ table)).sum(axis=1)  # curved.md, step 3c
        off = gamma(ROUNDINGS) * (np.abs(t) * (np.abs(own) @ size)).sum(axis=1)
        found = sum_up(np.asarray(up(off + gamma(8) * np.abs(parts), 8)))
        return math.fsum(parts.tolist()), float(up(found + self._beside(model, dual)))

    def _beside(self, model: Continuum, dual: Side) -> float:
        """Upper bound of |∫ (g_d − αz_h − τ·n) E| over boundary facets without given values."""
        facets, top = self.open
        if dual.aim is None or not len(facets):
            return 0.0  # the flux is zero there
        left = left_over(model.points, model.topology, model.kappa, model.anchors, dual.aim, dual.flux)
        square = np.einsum("np,pq,nq->n", left.gap, gram(left.dim), left.gap, optimize=True)
        square = np.maximum(square, 0.0) + gamma(60) * np.abs(left.gap).max(axis=1) ** 2 + left.high**2
        gap = np.zeros(len(model.topology.facets))
        area = left.area * (1.0 + left.slack)
        gap[dual.aim.facets] = up(area * (np.sqrt(square) + left.blur + left.error2), 16)
        return sum_up(np.asarray(up(gap[facets] * top)))  # curved.md, step 3f

    def through(self, model: Continuum, dual: Vector) -> float:
        """Upper bound of what the data that E leaves change of a flux with this dual state; infinite where A varies."""
        if model.medium is not None:
            return math.inf
        d, total = model.d, np.zeros(len(model.kappa))
        for start in range(0, len(total), CHUNK):
            part = slice(start, start + CHUNK)
            shapes = Shapes.of(model.points, model.topology.cells[part])
            state = State.of(shapes, dual[model.cell_nodes[part]].T, model.degree)
            steep = np.sqrt((state.slopes**2).sum(axis=1)).max(axis=0)
            steep = steep + d * (shapes.slack + gamma(COUNT)) * state.size
            sides = d * (np.sqrt((shapes.gradients**2).sum(axis=1)).sum(axis=0) + 12.0 * shapes.slack * shapes.steep)
            each = 2.0 * model.kappa[part] * sides * steep + np.abs(model.reaction[part]) * state.top
            total[part] = up(each * shapes.volume * (1.0 + shapes.slack), 64)  # curved.md, step 3g
        if model.exchange is not None:
            own = model.exchange
            area, slack = measures(model.points[own.vertices])
            most = 3.0 * np.abs(dual[own.nodes]).max(axis=1)
            total = np.concatenate([total, up(own.top * area * (1.0 + slack) * most, 16)])
        return float(up(self.ends * sum_up(total)))

    def left(self, model: Continuum, dual: Bounds) -> float:
        """Upper bound of |(ϱ_d, E) + (δ_d, ∇E)|."""
        return against(model, dual, self.energy, self.gradient, self.size)


def edges_of(faces: Index) -> tuple[Index, Index]:
    """The edges of triangles with sorted vertices, (E, 2), and the three of each, (F, 3), in the order of pairs."""
    pairs = np.stack([faces[:, list(two)] for two in combinations(range(3), 2)], axis=1)
    edges, rows = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
    return edges, rows.reshape(len(faces), 3)


def _missed(model: Continuum, facets: Index, given: Any, state: Vector) -> TaylorModel:
    """The model of g − u_h on facets, in the order of their own vertices."""
    vertices = model.topology.facets[facets]
    V, first = model.points[vertices], np.zeros(len(facets), dtype=np.intp)
    X = coordinates(Simplices(V, np.zeros((len(V), 3))), first, Q)
    w = state[model.nodes_of(vertices)]
    slip = np.asarray(up(gamma(16) * np.abs(w).max(axis=1)))
    u = quadratic(bernstein(w, 2, model.degree), first, Q, slip)
    known = fixed(given)
    return (constant(*known) if known is not None else model_of(given, X)) - u


def _rows(edges: Index, simplices: Index, count: int) -> Index:
    """Of each pair of vertices of simplices the row of that edge, or the number of edges where it is none."""
    known = edges[:, 0] * count + edges[:, 1]
    pairs = [simplices[:, j] * count + simplices[:, k] for j, k in combinations(range(simplices.shape[1]), 2)]
    codes = np.stack(pairs, axis=1)
    at = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    return np.asarray(np.where(known[at] == codes, at, len(known)))


def _costs(
    model: Continuum, facets: Index, edges: Index, edge_modes: Vector, face_modes: Vector
) -> tuple[tuple[Index, Vector], Vector, Vector, Vector]:
    """Facets beside Γ_D with bounds of E there, and per cell ‖A^{1/2}∇E‖, ‖E‖ and what a(E, ·) costs."""
    T, count = model.topology, len(model.points)
    padded = np.concatenate([edge_modes, np.zeros((1, EDGE))])
    faces = np.full(len(T.facets), len(facets))
    faces[facets] = np.arange(len(facets))
    inside = np.concatenate([face_modes, np.zeros((1, FACE))])
    free = np.flatnonzero(model.kind == NEUMANN)
    beside = _rows(edges, T.facets[free], count)
    touched = (beside < len(edges)).any(axis=1)
    free = free[touched]
    top = up(0.25 * np.abs(padded[beside[touched]]).sum(axis=(1, 2)), 32)  # λ_aλ_b ≤ ¼
    at = _rows(edges, T.cells, count)
    cells = np.flatnonzero((at < len(edges)).any(axis=1))
    gradient, size = np.zeros(len(T.cells)), np.zeros(len(T.cells))
    for start in range(0, len(cells), CHUNK):
        some = cells[start : start + CHUNK]
        # faces in the order of triples (0, 1, 2), (0, 1, 3), …: opposite the vertices 3, 2, 1, 0
        opposite = T.cell_facets[some][:, ::-1]
        v = np.concatenate(
            [padded[at[some]].reshape(len(some), -1), inside[faces[opposite]].reshape(len(some), -1)], axis=1
        )
        gradient[some], size[some] = _norms(Shapes.of(model.points, T.cells[some]), v)
    most, bottom = coefficient_bounds(model, cells)
    gradient[cells] = up(np.sqrt(most) * gradient[cells], 4)
    energy = np.zeros(len(T.cells))
    energy[cells] = up(gradient[cells] + np.sqrt(bottom) * size[cells], 8)  # curved.md, step 3b
    if model.exchange is not None and len(free):
        alpha = np.zeros(len(T.facets))
        alpha[model.exchange.facets] = model.exchange.top
        area, slack = measures(model.points[T.facets[free]])
        more = up(np.sqrt(alpha[free] * area * (1.0 + slack)) * top, 16)  # curved.md, step 3f
        np.add.at(energy, T.facet_cells[free, 0], more)
    return (free, top), gradient, size, np.asarray(up(energy, 8))


def _form(m: int, k: int, j: int, v: Vector) -> tuple[Vector, Vector]:
    """Means of ∂_kE ∂_jE on m-simplices, with an error that is added, and sums of absolute terms."""
    G, size = products(m, k, j)
    terms = np.einsum("ni,ni->n", np.abs(v) @ size, np.abs(v))
    found = np.einsum("ni,ni->n", v @ G, v)
    return np.maximum(found, 0.0) + gamma(ROUNDINGS) * terms if k == j else found, terms


def _norms(shapes: Shapes, v: Vector) -> tuple[Vector, Vector]:
    """Bounds of ‖∇E‖_K and ‖E‖_K on tetrahedra, from coefficients of their modes (n, modes)."""
    square, wrong = np.zeros(len(v)), np.zeros(len(v))
    steep = np.sqrt(3.0) * shapes.steep
    for k in range(4):
        for j in range(4):
            both, terms = _form(3, k, j, v)
            square += both * (shapes.gradients[k] * shapes.gradients[j]).sum(axis=0)
            wrong += terms * steep * steep * (3.0 * shapes.slack + gamma(2 * ROUNDINGS))  # curved.md, step 3e
    volume = up(shapes.volume * (1.0 + shapes.slack), 4)
    gradient = np.sqrt(volume * (np.maximum(square, 0.0) + up(wrong, 64)))
    return np.asarray(up(gradient, 16)), np.asarray(up(np.sqrt(volume * _form(3, -1, -1, v)[0]), 16))


def lift_of(model: Continuum, state: Vector) -> DataLift | SpaceLift | None:
    """The lift of the Dirichlet data that a state misses; None where it is not for this problem."""
    convective = model.coefficients is not None and model.coefficients.convective
    if convective or model.gluing is not None or model.d == 1:
        return None
    return DataLift.of(model, state) if model.d == 2 else SpaceLift.of(model, state)
