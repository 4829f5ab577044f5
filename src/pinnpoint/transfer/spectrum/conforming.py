"""Quadratic elements of −∇·(κ∇v) + c⁺v and of a weighted mass, enclosed: eigenvalues from above.

On a cell with k_ij = κ|K|∇λ_i·∇λ_j and the Bernstein basis B_jl of `taylor.bernstein`, ∇B_jl = c_jl (λ_l∇λ_j + λ_j∇λ_l)
with c_jj = 1 and c_jl = 2 else, so that ∫κ∇B_p·∇B_q = Σ_ij T_pqij k_ij with T of rational numbers. Functions are
continuous where coefficients are shared, and vanish on facets whose coefficients do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import down, gamma, up
from pinnpoint.rounding.matrices import product_up
from pinnpoint.taylor.bernstein import gram, pairs
from pinnpoint.transfer.continuum import Continuum, node_numbers
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.energy.estimator import CHUNK
from pinnpoint.transfer.energy.geometry import Shapes


@dataclass(frozen=True, eq=False)
class Conforming:
    """Matrices of functions that vanish on the Dirichlet part, as computed.

    Attributes
    ----------
    stiffness, mass
        ∫κ∇v·∇w + c⁺vw and ∫q vw; the first is true to a matrix of norm `stiffness_error`, the second to `mass_error`.
    floor
        Lower bound of the smallest eigenvalue of ∫vw.
    """

    stiffness: Any
    stiffness_error: float
    mass: Any
    mass_error: float
    floor: float


@cache
def products(d: int) -> Vector:
    """T of the module's text, (pairs, pairs, d + 1, d + 1)."""
    P, table = pairs(d), np.zeros((len(pairs(d)), len(pairs(d)), d + 1, d + 1))
    share = 1.0 / ((d + 1) * (d + 2))
    for p, one in enumerate(P):
        for q, two in enumerate(P):
            scale = (1.0 if one[0] == one[1] else 2.0) * (1.0 if two[0] == two[1] else 2.0)
            for i, b in (one, one[::-1]):
                for j, f in (two, two[::-1]):
                    table[p, q, i, j] += scale * share * (2.0 if b == f else 1.0)
    table.flags.writeable = False
    return table


def conforming(model: Continuum, weight: Vector) -> Conforming:
    """Matrices of a problem with c⁺ of its reaction, and the mass of a weight on each cell."""
    T, d = model.topology, model.d
    local, wrong, volume, slack = _local(model)
    ends = np.array(list(combinations(range(d + 1), 2)), dtype=np.intp).reshape(-1, 2)
    n = len(model.points)
    edges = np.unique(T.cells[:, ends].reshape(-1, 2), axis=0)
    nodes = node_numbers(T.cells, n, edges)
    order = [j if j == k else d + 1 + ends.tolist().index([j, k]) for j, k in pairs(d)]
    at = nodes[:, order]
    held = np.zeros(n + len(edges), dtype=bool)
    held[np.unique(node_numbers(T.facets[model.kind == DIRICHLET], n, edges))] = True
    number = np.cumsum(~held) - 1
    size = int((~held).sum())
    where = np.where(held[at], -1, number[at])
    rows, columns = np.repeat(where, at.shape[1], axis=1).ravel(), np.tile(where, (1, at.shape[1])).ravel()
    there = (rows >= 0) & (columns >= 0)

    def matrix(values: Vector) -> Any:
        made = sp.csr_array((values.ravel()[there], (rows[there], columns[there])), shape=(size, size))
        made.sum_duplicates()
        return sp.csr_array((made + made.T) * 0.5)

    def norm(errors: Vector, of: Any) -> float:
        """Upper bound of the norm of a matrix whose entries are at most these, and the rounding of sums."""
        E = sp.csr_array((errors.ravel()[there], (rows[there], columns[there])), shape=(size, size))
        return float(up(product_up(sp.csr_array(E + gamma(64) * abs(of)), np.ones(size)).max(), 8))

    G = gram(d)
    positive = np.maximum(model.reaction, 0.0)
    mass = (volume * weight)[:, None, None] * G
    local = local + (volume * positive)[:, None, None] * G
    off = (volume * positive * (slack + gamma(16)))[:, None, None] * G
    A, M = matrix(local), matrix(mass)
    stiff = norm(wrong + off, matrix(np.abs(local)))
    heavy = norm((volume * weight * (slack + gamma(16)))[:, None, None] * G, matrix(np.abs(mass)))
    least = float(np.linalg.eigvalsh(G)[0]) * (1.0 - 1e-9)
    touched = np.zeros(n + len(edges))
    np.add.at(touched, nodes.ravel(), np.repeat(down(volume * (1.0 - slack), 4), nodes.shape[1]))
    return Conforming(A, stiff, M, heavy, float(down(least * touched[~held].min(initial=np.inf), 64)))


def _local(model: Continuum) -> tuple[Vector, Vector, Vector, Vector]:
    """Stiffness matrices of the cells in Bernstein's basis, bounds of their entries' errors, volumes and slacks."""
    C, d, T = len(model.kappa), model.d, products(model.d)
    m = len(pairs(d))
    local, wrong, volume, slack = np.empty((C, m, m)), np.empty((C, m, m)), np.empty(C), np.empty(C)
    for a in range(0, C, CHUNK):
        part = slice(a, min(a + CHUNK, C))
        shapes = Shapes.of(model.points, model.topology.cells[part])
        weight = model.kappa[part] * shapes.volume
        k = np.einsum("icn,jcn,n->nij", shapes.gradients, shapes.gradients, weight)
        size = weight * d * shapes.steep**2  # of each entry and of the products behind it
        local[part] = np.einsum("pqij,nij->npq", T, k)
        # indefinite.md, step 2d
        wrong[part] = up(size * (4.0 * shapes.slack + gamma(64)), 16)[:, None, None] * T.sum(axis=(2, 3))
        volume[part], slack[part] = shapes.volume, shapes.slack
    return local, wrong, volume, slack
