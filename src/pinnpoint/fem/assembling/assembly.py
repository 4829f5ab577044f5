"""Assembly of Lagrange elements: node blocks summed by counting, no loop over cells.

Every pair of nodes of a cell is a block; pairs are numbered once per mesh, and each entry of the blocks is one
weighted count. Memory is a few arrays of the number of pairs, not of the number of scalar entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.threads import CORES, on_all_cores
from pinnpoint.fem.assembling.elements import Nodes, in_order, quadratic_mass, quadratic_products, quadratic_stiffness
from pinnpoint.fem.data.coefficients import Function
from pinnpoint.mesh.facets import chunks
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import at_points, rule


@dataclass(frozen=True, eq=False)
class Pattern:
    """The sparsity of node pairs, and where each cell's pairs go."""

    indptr: Index
    indices: Index
    slot: Any
    """Slot of each (cell, i, j), flattened."""

    @property
    def size(self) -> int:
        """Number of distinct pairs."""
        return int(self.indices.size)

    @cached_property
    def mirror(self) -> Index:
        """For each slot (i, j) that of (j, i)."""
        n, every = self.indptr.size - 1, np.arange(self.size, dtype=self.indices.dtype)
        return np.asarray(sp.csc_array((every, self.indices, self.indptr), shape=(n, n)).tocsr().data)


def pattern(nodes: Nodes) -> Pattern:
    """Number the pairs of nodes that share a cell."""
    n, (C, k) = len(nodes), nodes.cell_dofs.shape
    small = np.int32 if C * k * k < 2**31 else np.int64
    dofs = nodes.cell_dofs.astype(small)
    belongs = sp.csr_array((np.ones(C * k, small), dofs.ravel(), np.arange(0, C * k + 1, k, dtype=small)), shape=(C, n))
    pairs = sp.csr_array(belongs.T @ belongs)  # how many cells two nodes share
    pairs.sort_indices()
    pairs.data = np.arange(pairs.nnz, dtype=small)
    slot = pairs[np.repeat(dofs, k, axis=1).ravel(), np.tile(dofs, (1, k)).ravel()]
    return Pattern(pairs.indptr, pairs.indices, np.asarray(slot).ravel())


def summed(cell_matrices: Vector, where: Pattern) -> Vector:
    """Sums of the entries of (C, k, k) matrices by slot, cell after cell.

    A product with a sparse matrix of one column per cell: unlike counting, it leaves Python's lock to other threads.
    """
    C = len(cell_matrices)
    start = np.arange(0, where.slot.size + 1, where.slot.size // max(C, 1), dtype=where.slot.dtype)
    return np.asarray(sp.csc_array((cell_matrices.ravel(), where.slot, start), shape=(where.size, C)) @ np.ones(C))


def scalar_matrix(cell_matrices: Vector, where: Pattern) -> Any:
    """Σ over cells of (C, k, k) matrices."""
    data = summed(cell_matrices, where)
    n = where.indptr.size - 1
    return sp.csr_array((data, where.indices.copy(), where.indptr.copy()), shape=(n, n))


@dataclass(frozen=True, eq=False)
class StiffnessProduct:
    """Stiffness matrices of any κ, one number a cell, as one sparse product: their entries are S κ.

    Attributes
    ----------
    where
        Of the matrix.
    S
        (slots, cells): the entries of each cell's matrix for κ = 1.
    """

    where: Pattern
    S: Any

    __repr__ = brief

    @classmethod
    def of(cls, nodes: Nodes) -> StiffnessProduct:
        """For one mesh, whatever κ is."""
        where, C = pattern(nodes), len(nodes.mesh.cells)
        unit = stiffness(nodes, np.ones(C))
        cell = np.repeat(np.arange(C, dtype=where.slot.dtype), where.slot.size // max(C, 1))
        return cls(where, sp.csr_array((unit.ravel(), (where.slot, cell)), shape=(where.size, C)))

    def matrix(self, kappa: Vector) -> Any:
        """∫ κ∇φ_i·∇φ_j over all nodes; the pattern is shared, not copied."""
        n = self.where.indptr.size - 1
        return sp.csr_array((self.S @ kappa, self.where.indices, self.where.indptr), shape=(n, n), copy=False)


def stiffness(nodes: Nodes, diffusion: Vector, *, steady: bool = False) -> Vector:
    """∫ ∇φ_i · K ∇φ_j per cell, for K a number (C,) or a symmetric matrix (C, d, d) averaged over each cell.

    `steady`: to the last bit the same for a cell whatever the cells beside it, as `quadratic_stiffness` explains.
    """
    linear = _linear_stiffness(nodes.mesh, diffusion)
    return linear if nodes.degree == 1 else quadratic_stiffness(linear, steady=steady)


def _linear_stiffness(mesh: Mesh, diffusion: Vector) -> Vector:
    G = mesh.gradients
    if diffusion.ndim == 1:
        return np.asarray(np.einsum("cid,cjd,c->cij", G, G, diffusion * mesh.volumes, optimize=True))
    flux = np.einsum("cde,cje->cjd", diffusion, G)
    entries = np.einsum("cid,cjd,c->cij", G, flux, mesh.volumes, optimize=True)
    return np.asarray(0.5 * (entries + np.swapaxes(entries, 1, 2)))


def mass(nodes: Nodes, reaction: Vector | None, bary: Vector, weights: Vector) -> Vector:
    """∫ c φ_i φ_j per cell from values of c at quadrature points (C, Q), or c = 1."""
    volumes, k = nodes.mesh.volumes, nodes.mesh.dim + 1
    if reaction is None and nodes.degree == 2:
        return quadratic_mass(volumes, nodes.mesh.dim)
    if reaction is None:
        exact = (np.ones((k, k)) + np.eye(k)) / ((k + 1) * k)
        return np.asarray(volumes[:, None, None] * exact)
    phi = nodes.shapes(bary)
    local = np.asarray(np.einsum("cq,q,qi,qj,c->cij", reaction, weights, phi, phi, volumes, optimize=True))
    return local if nodes.degree == 1 else np.asarray(0.5 * (local + np.swapaxes(local, 1, 2)))


def load(nodes: Nodes, f: Function, order: int, cells: Index | None = None, *, steady: bool = False) -> Vector:
    """∫ f φ_i by quadrature, over some cells or all, in chunks of them; `steady` as in `stiffness`."""
    mesh = nodes.mesh
    bary, weights = rule(mesh.dim, order)
    phi = nodes.shapes(bary)
    b = np.zeros(len(nodes))
    step = max(1, 2_000_000 // len(weights))
    for a in range(0, len(mesh.cells) if cells is None else len(cells), step):
        part: Any = slice(a, a + step) if cells is None else cells[a : a + step]
        X = at_points(mesh.points[mesh.cells[part]], bary)
        values = f(X.reshape(-1, mesh.dim)).reshape(X.shape[:2])
        if steady:
            local = in_order(values, (weights[:, None] * phi).T) * mesh.volumes[part, None]
        else:
            local = np.einsum("cq,q,qi,c->ci", values, weights, phi, mesh.volumes[part], optimize=True)
        b += np.bincount(nodes.cell_dofs[part].ravel(), local.ravel(), minlength=b.size)
    return b


def boundary_load(nodes: Nodes, facets: Index, g: Function, order: int, *, steady: bool = False) -> Vector:
    """∫ g φ_i over boundary facets by quadrature; `steady` as in `stiffness`."""
    mesh = nodes.mesh
    bary, weights = rule(mesh.dim - 1, order)
    X = at_points(mesh.points[facets], bary)
    values = g(X.reshape(-1, mesh.dim)).reshape(X.shape[:2])
    phi = nodes.shapes(bary)
    if steady:
        local = in_order(values, (weights[:, None] * phi).T) * mesh.facet_measures(facets)[:, None]
    else:
        local = np.einsum("fq,q,qi,f->fi", values, weights, phi, mesh.facet_measures(facets), optimize=True)
    return np.bincount(nodes.facet_dofs(facets).ravel(), local.ravel(), minlength=len(nodes)).astype(np.float64)


def boundary_mass(nodes: Nodes, facets: Index, alpha: Function, order: int, where: Pattern) -> Vector:
    """∫ α φ_i φ_j over boundary facets by quadrature, by slot."""
    mesh = nodes.mesh
    bary, weights = rule(mesh.dim - 1, order)
    X = at_points(mesh.points[facets], bary)
    values = alpha(X.reshape(-1, mesh.dim)).reshape(X.shape[:2])
    phi = nodes.shapes(bary)
    local = np.einsum("fq,q,qi,qj,f->fij", values, weights, phi, phi, mesh.facet_measures(facets), optimize=True)
    local = 0.5 * (local + np.swapaxes(local, 1, 2))
    dofs, n = nodes.facet_dofs(facets), where.indptr.size - 1
    slots = sp.csr_array((np.arange(where.size), where.indices, where.indptr), shape=(n, n))
    k = dofs.shape[1]
    at = slots[np.repeat(dofs, k, axis=1).ravel(), np.tile(dofs, (1, k)).ravel()]
    return np.bincount(np.asarray(at).ravel(), local.ravel(), minlength=where.size).astype(np.float64)


def elasticity_matrix(
    nodes: Nodes, lame_lambda: Vector, lame_mu: Vector, where: Pattern, *, steady: bool = False
) -> Any:
    """∫ λ (∇·u)(∇·v) + 2μ ε(u):ε(v), degrees of freedom node by node; `steady` as in `stiffness`."""
    mesh, k = nodes.mesh, nodes.cell_dofs.shape[1]
    d, G = mesh.dim, mesh.gradients
    lam, mu = lame_lambda * mesh.volumes, lame_mu * mesh.volumes
    C, blocks, mirror = len(mesh.cells), np.empty((where.size, d, d)), where.mirror

    def entries(pairs: list[tuple[int, int]]) -> None:
        K = np.empty((C, k, k))
        for a, b in pairs:
            for part in chunks(C):
                linear = lam[part, None, None] * (outer := G[part, :, None, a] * G[part, None, :, b])
                linear += mu[part, None, None] * np.swapaxes(outer, 1, 2)
                if a == b:
                    linear += np.einsum("cid,cjd,c->cij", G[part], G[part], mu[part], optimize=True)
                if nodes.degree == 1:
                    K[part] = linear
                elif a == b:
                    K[part] = quadratic_stiffness(linear, steady=steady)
                else:
                    quadratic_products(linear, out=K[part], steady=steady)
            blocks[:, a, b] = summed(K, where)
            if a != b:  # K_ba(i, j) = K_ab(j, i)
                blocks[:, b, a] = blocks[mirror, a, b]

    every = list(combinations_with_replacement(range(d), 2))
    on_all_cores(entries, [every[k::CORES] for k in range(min(CORES, len(every)))])
    n = d * len(nodes)
    return sp.csr_array(sp.bsr_array((blocks, where.indices, where.indptr), shape=(n, n)))
