"""The equilibrated flux of linear elements as a linear map of states and sources, for many of them on one mesh.

What the patches of `equilibration` minimise is the same for every right-hand side: solved once for the values at a
patch's nodes and for the loads of its cells, they are two sparse matrices. Nothing here is proved; bounds are to be
computed from the flux that comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Matrix, Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import Density, pairs
from pinnpoint.transfer.flux.equilibration import patches
from pinnpoint.transfer.flux.patches import FREE, PRESCRIBED, first_moments, form_table

MANY = {2: 48, 3: 160}
"""Right-hand sides from which the map is worth its making."""


@dataclass(frozen=True, eq=False)
class FluxMap:
    """Facet densities t = states · V + loads · W, without prescribed fluxes.

    Attributes
    ----------
    values
        From nodal values, (F, n).
    loads
        From ∫_K f λ_a, (F, C (d + 1)).
    moments
        From Bernstein coefficients to the mean of f λ_a, (d + 1, pairs).
    volumes
        |K|.
    """

    values: Matrix
    loads: Matrix
    moments: Vector
    volumes: Vector

    __repr__ = brief

    @classmethod
    def of(cls, topology: Topology, nodes: Index, size: int, kappa: Vector, reaction: Vector, kind: Index) -> FluxMap:
        """For cells with these nodes, of which there are so many."""
        d, C, F = topology.dim, len(topology.cells), len(topology.facets)
        rows: list[tuple[Vector, Index, Index]] = []
        loads: list[tuple[Vector, Index, Index]] = []
        stiff, mass = _local(topology, kappa, reaction)
        edges = [np.einsum("kx,kx->k", topology.edges[:, i], topology.edges[:, j]) for i, j in pairs(d - 1)]
        metric = np.stack(edges, axis=1) / (d * d * kappa * topology.volumes)[:, None]
        for K, a, faces, local, around in patches(topology, 1):
            x = _responses(topology, kind, metric, (stiff, mass), K, a, faces, local, around)
            x[kind[faces] == PRESCRIBED] = 0.0
            B, n = K.shape
            own = np.concatenate([nodes[K].reshape(B, -1), K * (d + 1) + a], axis=1)
            shape = x.shape
            at = np.broadcast_to(faces[:, :, None], shape), np.broadcast_to(own[:, None, :], shape)
            cut = n * (d + 1)
            rows.append((x[..., :cut].ravel(), at[0][..., :cut].ravel(), at[1][..., :cut].ravel()))
            loads.append((x[..., cut:].ravel(), at[0][..., cut:].ravel(), at[1][..., cut:].ravel()))
        return cls(_matrix(rows, (F, size)), _matrix(loads, (F, C * (d + 1))), first_moments(d), topology.volumes)

    def fluxes(self, nodal: Vector, sources: Sequence[Density]) -> Vector:
        """Facet densities (F, 1, m) for states (m, size)."""
        found = np.empty((len(nodal), self.values.shape[0]))
        for i, (u, f) in enumerate(zip(nodal, sources, strict=True)):
            own = (f.coefficients @ self.moments.T) * self.volumes[:, None]
            found[i] = self.values @ u + self.loads @ own.ravel()  # continuous.md, step 1d
        return found.T[:, None, :]


def _matrix(rows: list[tuple[Vector, Index, Index]], shape: tuple[int, int]) -> Matrix:
    values, i, j = (np.concatenate(each) for each in zip(*rows, strict=True))
    found = sp.csr_array(sp.coo_array((values, (i, j)), shape=shape))
    found.sum_duplicates()
    return found


def _local(topology: Topology, kappa: Vector, reaction: Vector) -> tuple[Vector, Vector]:
    """κ∫∇λ_i·∇λ_j and c∫λ_iλ_j on every cell, (C, d + 1, d + 1)."""
    d, G = topology.dim, topology.gradients
    stiff = np.einsum("kix,kjx->kij", G, G) * (kappa * topology.volumes)[:, None, None]
    ones = (np.ones((d + 1, d + 1)) + np.eye(d + 1)) / ((d + 1) * (d + 2))
    return stiff, (reaction * topology.volumes)[:, None, None] * ones


def _responses(
    topology: Topology,
    kind: Index,
    metric: Vector,
    matrices: tuple[Vector, Vector],
    K: Index,
    a: Index,
    faces: Index,
    local: Index,
    around: Index,
) -> Vector:
    """Fluxes of patches of one shape for each value at a node of a cell, then for each load ∫_K fλ_a, (B, facets, …).

    The same systems as in `equilibration`: facet means about the vertex, and a balance on every cell.
    """
    (B, n), d, size = K.shape, topology.dim, faces.shape[1]
    table, row, cell = form_table(d, 0), np.arange(B)[:, None], np.arange(n)
    both = np.empty((B, n, d, 2 * d))
    for i in range(d + 1):
        here = a == i
        both[here] = (metric[K[here]] @ table[i].reshape(len(table[i]), -1)).reshape(-1, d, 2 * d)
    sign = topology.sign[K[..., None], around[a]]
    both *= sign[..., None] / (np.einsum("bnii->b", both[..., :d]) / (n * d))[:, None, None, None]
    stiff, mass = (matrix[K] for matrix in matrices)
    others = np.take_along_axis(stiff, around[a][..., None], axis=2)
    inner = both[..., d:] @ others  # (B, n, d, d + 1)
    balance = np.take_along_axis(stiff + mass, a[..., None, None], axis=2)[:, :, 0]
    A, b = np.zeros((B, size + n, size + n)), np.zeros((B, size + n, n, d + 2))
    for k in range(n):
        A[row[..., None], local[:, k, :, None], local[:, k, None, :]] += both[:, k, :, :d] * sign[:, k, None, :]
        b[row, local[:, k], k, : d + 1] -= inner[:, k]
        A[row, size + k, local[:, k]] = sign[:, k]
        A[row, local[:, k], size + k] = sign[:, k]
    b[:, size + cell, cell, : d + 1] = balance
    b[:, size + cell, cell, d + 1] = -1.0
    given, grounded = kind[faces] == PRESCRIBED, np.any(kind[faces] == FREE, axis=1)
    if given.any():
        free = np.concatenate([~given, np.ones((B, n), dtype=bool)], axis=1)
        A *= free[:, :, None] & free[:, None, :]
        b[~free] = 0.0
        which = np.nonzero(given)
        A[which[0], which[1], which[1]] = 1.0
    if not grounded.all():
        volume = topology.volumes[K] * ~grounded[:, None]
        share = volume / np.where(grounded, 1.0, volume.sum(axis=1))[:, None]
        b[:, size:] -= share[..., None, None] * b[:, size:].sum(axis=1, keepdims=True)
        A[~grounded, size:, size:] -= 1.0
    x = np.linalg.solve(A, b.reshape(B, size + n, -1))[:, :size].reshape(B, size, n, d + 2)
    return np.concatenate([x[..., : d + 1].reshape(B, size, -1), x[..., d + 1]], axis=2)
