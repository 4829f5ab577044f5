"""Scalar Lagrange elements of degree 1 and 2: their nodes, their shape functions, and exact element tables.

Degree 2 has a node at every vertex and at the midpoint of every edge. With barycentric coordinates λ the shape
functions are λ_j (2λ_j − 1) at vertices and 4 λ_j λ_l at midpoints.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector, set_fields, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.taylor.bernstein import mean_of_powers, pairs

FACET_MEANS: dict[int, dict[int, tuple[tuple[int, ...], int]]] = {
    1: {1: ((1,), 1), 2: ((1, 1), 2), 3: ((1, 1, 1), 3)},
    2: {1: ((1,), 1), 2: ((1, 1, 4), 6), 3: ((0, 0, 0, 1, 1, 1), 3)},
}
"""By degree and dimension: means of the shape functions over a facet, as numerators and a denominator."""

ORDER = {1: 4, 2: 6}
"""Quadrature order of loads, by degree, unless told."""

Polynomial = dict[tuple[int, ...], Fraction]
"""Powers of the barycentric coordinates to coefficients."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """The degrees of freedom of a continuous scalar space on a mesh.

    Numbering: the vertices in the mesh's order; for degree 2 then the edges, ordered by their sorted vertex pairs. In
    a cell: its vertices in the cell's own order, then its edges (j, l), j < l, in the order of `bernstein.pairs`. In a
    facet the same.

    Attributes
    ----------
    points
        (n, d); midpoints are rounded averages.
    cell_dofs
        (C, nb).
    edges
        (E, 2) vertex numbers, smaller first; empty for degree 1.
    same
        For periodic problems, the node that stands for each; None where each stands for itself.
    """

    mesh: Mesh
    degree: int
    points: Vector
    cell_dofs: Index
    edges: Index
    same: Index | None

    __repr__ = brief

    def __init__(self, mesh: Mesh, degree: int = 1, same: Index | None = None) -> None:
        degree = whole("degree", degree, low=1)
        if degree > 2:
            raise InputError(f"degree: must be 1 (linear) or 2 (quadratic elements); got {degree}")
        points, cells = mesh.points, mesh.cells
        edges = np.zeros((0, 2), dtype=np.intp)
        if degree == 2:
            n, every = len(mesh.points), _edges(mesh.cells)
            keys, place = np.unique(every[..., 0] * n + every[..., 1], return_inverse=True)
            edges = np.stack([keys // n, keys % n], axis=1)
            points = np.concatenate([points, 0.5 * points[edges[:, 0]] + 0.5 * points[edges[:, 1]]])
            cells = np.concatenate([cells, n + place.reshape(len(cells), -1)], axis=1)
        cells = cells if same is None else same[cells]
        set_fields(self, mesh=mesh, degree=degree, points=points, cell_dofs=cells, edges=edges, same=same)

    def __len__(self) -> int:
        return len(self.points)

    def facet_dofs(self, facets: Index) -> Index:
        """Degrees of freedom on facets given by their vertices, (F, nf)."""
        if self.degree == 1 or self.mesh.dim == 1:
            return facets if self.same is None else self.same[facets]
        n, every = len(self.mesh.points), _edges(facets)
        place = np.searchsorted(self.edges[:, 0] * n + self.edges[:, 1], every[..., 0] * n + every[..., 1])
        found = np.concatenate([facets, n + place], axis=1)
        return found if self.same is None else self.same[found]

    def shapes(self, bary: Vector) -> Vector:
        """Shape functions at barycentric points (…, m + 1) of cells or facets; (…, nb)."""
        if self.degree == 1:
            return bary
        products = [4.0 * bary[..., j] * bary[..., k] for j, k in combinations(range(bary.shape[-1]), 2)]
        return np.concatenate([bary * (2.0 * bary - 1.0), *(p[..., None] for p in products)], axis=-1)

    def derivatives(self, cell: Index, bary: Vector, axis: int) -> Vector:
        """∂/∂x_axis of the shape functions at points of cells; (P, nb)."""
        G = self.mesh.gradients[cell][:, :, axis]
        if self.degree == 1:
            return G
        products = [4.0 * (bary[:, j] * G[:, k] + bary[:, k] * G[:, j]) for j, k in combinations(range(G.shape[1]), 2)]
        return np.concatenate([(4.0 * bary - 1.0) * G, np.stack(products, axis=1)], axis=1)

    def spread(self, values: Vector) -> Vector:
        """Rows at the vertices to rows at all nodes: midpoints take the average of their ends."""
        middle = 0.5 * values[self.edges[:, 0]] + 0.5 * values[self.edges[:, 1]]
        return np.concatenate([values, middle]) if self.degree == 2 else values


def quadratic_stiffness(linear: Vector, *, steady: bool = False) -> Vector:
    """Element matrices of degree 2 from those of degree 1, bitwise symmetric.

    ∇φ_i = Σ_a ∂φ_i/∂λ_a ∇λ_a, so for a coefficient K that is constant on the cell

        ∫ ∇φ_i·K∇φ_j = Σ_ab mean(∂φ_i/∂λ_a ∂φ_j/∂λ_b) G_ab,   G_ab = ∫ ∇λ_a·K∇λ_b.

    A matrix product may round a row differently from place to place; `steady` sums entry by entry in one order, so that
    processes with different cells beside a cell that they share store the same numbers for it.
    """
    m = linear.shape[1] - 1
    first, second = np.array(pairs(m)).T
    flat, table = linear[:, first, second], stiffness_table(m)
    return _mirrored(in_order(flat, table) if steady else flat @ table.T, len(shape_functions(m)))


def quadratic_products(linear: Vector, out: Vector, *, steady: bool = False) -> None:
    """The same for any products G_ab of ∇λ_a and ∇λ_b, not symmetric in a and b; written into `out`, (C, nb, nb)."""
    m = linear.shape[1] - 1
    if steady:
        out.reshape(len(linear), -1)[:] = in_order(linear.reshape(len(linear), -1), product_table(m))
        return
    np.matmul(linear.reshape(len(linear), -1), product_table(m).T, out=out.reshape(len(linear), -1))


def in_order(flat: Vector, table: Vector) -> Vector:
    """Rows of `flat` times the table's transpose, each entry a sum in the order of the columns."""
    columns, found = np.ascontiguousarray(flat.T), np.zeros((len(table), len(flat)))
    for row, entries in zip(found, table, strict=True):
        for k in np.flatnonzero(entries):
            row += entries[k] * columns[k]
    return found.T


def quadratic_mass(volumes: Vector, m: int) -> Vector:
    """∫ φ_i φ_j per cell, exact up to rounding."""
    shapes = shape_functions(m)
    table = [float(_mean(_product(a, b))) for i, a in enumerate(shapes) for b in shapes[i:]]
    return _mirrored(volumes[:, None] * np.array(table), len(shapes))


@cache
def shape_functions(m: int) -> tuple[Polynomial, ...]:
    """The nodal quadratics of an m-simplex."""

    def powers(*which: int) -> tuple[int, ...]:
        return tuple(which.count(j) for j in range(m + 1))

    corners = [{powers(j, j): Fraction(2), powers(j): Fraction(-1)} for j in range(m + 1)]
    middles = [{powers(j, k): Fraction(4)} for j, k in combinations(range(m + 1), 2)]
    return (*corners, *middles)


@cache
def stiffness_table(m: int) -> Vector:
    """Rows: i ≤ j; columns: a ≤ b, with both orders of a ≠ b added."""
    shapes = shape_functions(m)
    slopes = [[_derivative(p, a) for a in range(m + 1)] for p in shapes]
    rows = []
    for i, u in enumerate(slopes):
        for v in slopes[i:]:
            row = [
                _mean(_product(u[a], v[b])) + (_mean(_product(u[b], v[a])) if a != b else Fraction(0))
                for a, b in pairs(m)
            ]
            rows.append([float(x) for x in row])
    return np.array(rows)


@cache
def product_table(m: int) -> Vector:
    """mean(∂φ_i/∂λ_a ∂φ_j/∂λ_b), rows (i, j), columns (a, b)."""
    return np.array([[float(x) for x in row] for row in exact_products(m)])


@cache
def exact_products(m: int) -> list[list[Fraction]]:
    """The same as fractions."""
    slopes = [[_derivative(p, a) for a in range(m + 1)] for p in shape_functions(m)]
    return [[_mean(_product(p, q)) for p in u for q in v] for u in slopes for v in slopes]


def _edges(simplices: Index) -> Any:
    """Sorted vertex pairs of simplices, (S, edges, 2)."""
    local = np.array(list(combinations(range(simplices.shape[1]), 2)))
    return np.sort(simplices[:, local], axis=2)


def _mirrored(upper: Vector, size: int) -> Vector:
    """Symmetric matrices from their upper triangles, row by row."""
    i, j = np.triu_indices(size)
    where = np.empty((size, size), dtype=np.intp)
    where[i, j] = where[j, i] = np.arange(len(i))
    return np.asarray(upper[:, where])


def _derivative(p: Polynomial, a: int) -> Polynomial:
    return {(*s[:a], s[a] - 1, *s[a + 1 :]): x * s[a] for s, x in p.items() if s[a]}


def _product(p: Polynomial, q: Polynomial) -> Polynomial:
    polynomial: Polynomial = {}
    for s, x in p.items():
        for t, y in q.items():
            powers = tuple(a + b for a, b in zip(s, t, strict=True))
            polynomial[powers] = polynomial.get(powers, Fraction(0)) + x * y
    return polynomial


def _mean(p: Polynomial) -> Fraction:
    return sum((x * mean_of_powers(powers) for powers, x in p.items()), Fraction(0))
