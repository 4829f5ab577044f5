"""Body forces of degree 2, lifted exactly: stresses τ inside a cell that leave constants on its sub-simplices.

A cell is cut by its centroid into d + 1 sub-simplices, s with the centroid in place of vertex s. For a quadratic force
f with Bernstein coefficients β, τ is a symmetric cubic on each sub-simplex with

    τn = 0 on ∂K,     τn continuous inside,     −div τ = f − Qf,

Qf constant on each sub-simplex with the moments ∫_K Qf λ_i = ∫_K f λ_i: what −div σ_h of the facet moments' stress is.
With x = Bx̂ + b, τ = B τ̂ Bᵀ and f = B f̂ satisfy the conditions of the reference simplex, where τ̂ is a table of
rationals times β̂: one exact solution, close to the shortest for equilateral cells. A test verifies it in
rationals; scripts/stress_lift.py made it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import prod
from pathlib import Path

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.taylor.bernstein import mean_of_powers
from pinnpoint.transfer.elastic.reference import congruence
from pinnpoint.transfer.energy.geometry import Shapes

TABLES = Path(__file__).parents[2] / "data" / "stress_lift.npz"
COUNT = 100
"""More than the roundings in any value here."""


@cache
def lattice(d: int, r: int) -> tuple[tuple[Fraction, ...], ...]:
    """Barycentric coordinates of the nodes of degree r, in lexicographic order of (r λ_0, …, r λ_d).

    On sub-simplex s the coordinate s belongs to the centroid, the others to the cell's own vertices.
    """
    return tuple(tuple(Fraction(k, r) for k in a) for a in product(range(r + 1), repeat=d + 1) if sum(a) == r)


@cache
def mass(d: int, r: int) -> Vector:
    """Means over a simplex of products of the nodal basis of degree r, in the order of `lattice`, correctly rounded."""
    nodes = lattice(d, r)
    powers = [tuple(int(r * x) for x in node) for node in nodes]
    at_nodes = [
        [prod((x**k for x, k in zip(node, p, strict=True)), start=Fraction(1)) for p in powers] for node in nodes
    ]
    shapes = _inverse(at_nodes)  # column a: the monomials' coefficients of the function that is one at node a
    means = [[mean_of_powers([i + j for i, j in zip(p, q, strict=True)]) for q in powers] for p in powers]
    found = _times([list(column) for column in zip(*shapes, strict=True)], _times(means, shapes))
    A = np.array([[float(x) for x in row] for row in found])
    A.setflags(write=False)
    return A


@cache
def table(d: int) -> tuple[Vector, int]:
    """Numerators and denominator of τ̂: rows (s, node, entry xx, xy, …), columns (pair, component) of β̂."""
    with np.load(TABLES) as stored:
        A, den = stored[f"numerators_{d}"].astype(np.float64), int(stored[f"denominator_{d}"])  # all below 2⁵³
    A.setflags(write=False)
    return A, den


def lifted(T: Topology, cells: Index, coefficients: Vector) -> tuple[Vector, Vector]:
    """τ of quadratic forces on some cells at the cubic nodes of their sub-simplices, and bounds of its rounding.

    Parameters
    ----------
    cells
        Cell numbers, (n,).
    coefficients
        β, (n, pairs, d): exactly the floats stored.

    Returns
    -------
    tau
        (n, d + 1, nodes, ns): sub-simplex, node in the order of `lattice`, entry.
    error
        (n,).

    Guarantee: the exact τ satisfies the three conditions above, and each entry is within `error` of it.
    """
    d, n = T.dim, len(cells)
    A, den = table(d)
    shapes = Shapes.of(T.points, T.cells[cells])
    B = np.moveaxis(shapes.vertices[1:] - shapes.vertices[0], -1, 0)  # rows are edges: the transpose of B
    inverse = np.moveaxis(shapes.gradients[1:], -1, 0)
    reference = np.matmul(coefficients, np.swapaxes(inverse, 1, 2)).reshape(n, -1)
    S = np.matmul(reference, A.T).reshape(n, A.shape[0] // (d * (d + 1) // 2), -1) / den  # elasticity.md, step 5b
    tau = np.matmul(S, np.swapaxes(congruence(np.swapaxes(B, 1, 2)), 1, 2))  # elasticity.md, step 5b
    row = up(float(np.abs(A).sum(axis=1).max()) / den, A.shape[1])
    wide = up(np.abs(B).sum(axis=1).max(axis=1), 4)
    top = up(np.abs(coefficients).max(axis=(1, 2), initial=0.0) * d * shapes.steep * row * wide**2, 16)
    error = up(1.02 * (shapes.slack + gamma(COUNT)) * top, 8)  # elasticity.md, step 5b
    return tau.reshape(n, d + 1, -1, tau.shape[2]), error


def _times(A: list[list[Fraction]], B: list[list[Fraction]]) -> list[list[Fraction]]:
    columns = list(zip(*B, strict=True))
    return [[sum((x * y for x, y in zip(row, c, strict=True)), start=Fraction(0)) for c in columns] for row in A]


def _inverse(A: list[list[Fraction]]) -> list[list[Fraction]]:
    """Gauss–Jordan in exact arithmetic."""
    n = len(A)
    M = [[*row, *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(A)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if M[i][k])
        M[k], M[pivot] = M[pivot], M[k]
        M[k] = [x / M[k][k] for x in M[k]]
        for i in range(n):
            if i != k and M[i][k]:
                factor = M[i][k]
                M[i] = [x - factor * y for x, y in zip(M[i], M[k], strict=True)]
    return [row[n:] for row in M]
