"""Assembly with coefficients that vary inside cells, from their values at quadrature points."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.fem.assembling.elements import Nodes

CHUNK = 4096


def shape_derivatives(nodes: Nodes, bary: Vector) -> Vector:
    """∂φ_i/∂λ_k at barycentric points, (Q, nb, d + 1)."""
    Q, k = bary.shape
    if nodes.degree == 1:
        return np.broadcast_to(np.eye(k), (Q, k, k))
    found = np.zeros((Q, k + k * (k - 1) // 2, k))
    for i in range(k):
        found[:, i, i] = 4.0 * bary[:, i] - 1.0
    for e, (i, j) in enumerate(combinations(range(k), 2)):
        found[:, k + e, i], found[:, k + e, j] = 4.0 * bary[:, j], 4.0 * bary[:, i]
    return found


def varied_stiffness(nodes: Nodes, A: Vector, bary: Vector, weights: Vector) -> Vector:
    """∫ A∇φ_j·∇φ_i per cell from values of A at quadrature points, (C, Q) or (C, Q, d, d); bitwise symmetric."""
    D, mesh = shape_derivatives(nodes, bary), nodes.mesh
    nb = D.shape[1]
    table = np.einsum("q,qia,qjb->ijqab", weights, D, D).reshape(nb * nb, -1)
    local = np.empty((len(mesh.cells), nb, nb))
    for start in range(0, len(local), CHUNK):
        part = slice(start, start + CHUNK)
        G, a = mesh.gradients[part], A[part]
        if A.ndim == 2:
            products = np.einsum("cax,cbx,c->cab", G, G, mesh.volumes[part])[:, None] * a[:, :, None, None]
        else:
            products = np.einsum("cax,cqxy,cby,c->cqab", G, a, G, mesh.volumes[part], optimize=True)
        local[part] = (products.reshape(len(a), -1) @ table.T).reshape(-1, nb, nb)
    return 0.5 * (local + np.swapaxes(local, 1, 2))


def drift(nodes: Nodes, b: Vector, bary: Vector, weights: Vector) -> Vector:
    """∫ (b·∇φ_j) φ_i per cell from values of b at quadrature points, (C, Q, d)."""
    D, mesh, phi = shape_derivatives(nodes, bary), nodes.mesh, nodes.shapes(bary)
    nb = D.shape[1]
    table = np.einsum("q,qi,qja->ijqa", weights, phi, D).reshape(nb * nb, -1)
    local = np.empty((len(mesh.cells), nb, nb))
    for start in range(0, len(local), CHUNK):
        part = slice(start, start + CHUNK)
        along = np.einsum("cqx,cax,c->cqa", b[part], mesh.gradients[part], mesh.volumes[part], optimize=True)
        local[part] = (along.reshape(len(along), -1) @ table.T).reshape(-1, nb, nb)
    return local
