"""Cells and their stiffness in extended precision, as the processor has it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.errors import CertificationError
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import Nodes, exact_products
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.rounding.arithmetic import up

WIDE = float(np.finfo(np.longdouble).eps) / 2.0
"""Unit roundoff of extended precision; that of doubles on processors without one."""


def columns(x: Any) -> Any:
    """(c, …) as (…, c), in memory too."""
    return np.ascontiguousarray(x.reshape(len(x), -1).T).reshape(*x.shape[1:], len(x))


def determinant(E: Matrix, sign: float = -1.0) -> Any:
    """The expansion of each determinant of E (d, d, c), or the same sum of magnitudes, with the other sign."""
    if len(E) == 1:
        return E[0, 0]
    if len(E) == 2:
        return E[0, 0] * E[1, 1] + sign * E[0, 1] * E[1, 0]
    a, b, c = E
    return sum(a[i] * (b[i - 2] * c[i - 1] + sign * b[i - 1] * c[i - 2]) for i in range(3))


def wide_shapes(mesh: Mesh) -> tuple[Any, Any]:
    """Gradients and volumes in extended precision, by cofactors."""
    P = mesh.points[mesh.cells].astype(np.longdouble)
    E = P[:, 1:] - P[:, :1]
    det = determinant(E.transpose(1, 2, 0))
    if mesh.dim == 1:
        G = np.ones_like(E)
    elif mesh.dim == 2:
        G = np.stack([E[:, 1, ::-1] * [1, -1], E[:, 0, ::-1] * [-1, 1]], axis=1)
    else:
        G = np.stack([np.cross(E[:, (k + 1) % 3], E[:, (k + 2) % 3]) for k in range(3)], axis=1)
    G = G / det[:, None, None]
    return np.concatenate([-G.sum(axis=1, keepdims=True), G], axis=1), np.abs(det) / {1: 1, 2: 2, 3: 6}[mesh.dim]


def wide_gap(nodes: Nodes, shapes: tuple[Any, Any], A: Matrix, lam: Vector | None, mu: Vector) -> Any:
    """|A − reference|, entry by entry, the reference from the given gradients and volumes in extended precision."""
    (G, V), n, where = shapes, A.shape[0], assembly.pattern(nodes)
    table = None if nodes.degree == 1 else wide_table(nodes.mesh.dim)
    d = 1 if lam is None else int(G.shape[2])
    blocks = sp.csr_array(A).tobsr((d, d))
    blocks.sort_indices()
    if not (np.array_equal(blocks.indptr, where.indptr) and np.array_equal(blocks.indices, where.indices)):
        raise CertificationError("coercivity: the matrix has other entries than the mesh")
    order = np.argsort(where.slot, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(where.slot))[:-1]])
    dot = sum(G[:, :, None, k] * G[:, None, :, k] for k in range(G.shape[2])) * (mu * V)[:, None, None]
    gap = np.empty((where.size, d, d))
    for a, b in product(range(d), repeat=2):
        K = dot if a == b else np.zeros_like(dot)
        if lam is not None:
            K = K + (lam * V)[:, None, None] * G[:, :, None, a] * G[:, None, :, b]
            K += (mu * V)[:, None, None] * G[:, :, None, b] * G[:, None, :, a]
        K = K if table is None else K.reshape(len(K), -1) @ table.T
        entries = np.add.reduceat(K.reshape(-1)[order], start)
        gap[:, a, b] = up(np.abs(blocks.data[:, a, b] - entries).astype(float), 4)
    return sp.csr_array(sp.bsr_array((gap, where.indices, where.indptr), shape=(n, n)))


def wide_table(m: int) -> Any:
    """The means of products of the quadratics' slopes, rows (i, j), columns (a, b), each rounded once."""
    return np.array([[np.longdouble(x.numerator) / x.denominator for x in row] for row in exact_products(m)])
