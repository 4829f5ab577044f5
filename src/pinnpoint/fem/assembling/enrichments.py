"""What a problem on linear elements is for edge bubbles: their loads, and which of them are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.data.coefficients import Data, components
from pinnpoint.fem.data.held import HeldBoundary, prescribed
from pinnpoint.mesh.quadrature import rule
from pinnpoint.systems.spaces import AdmissibleSpace


def body_load(nodes: Nodes, given: Data, order: int, count: int, name: str) -> Vector:
    """∫ f φ of the bubbles, (E, count)."""
    b = np.zeros((len(nodes) - len(nodes.mesh.points), count))
    if isinstance(given, int | float):
        return b + given * _means(nodes)[:, None]
    for k, f in enumerate(components(name, given, count)):
        if f is not None:
            b[:, k] = assembly.load(nodes, f, order)[-len(b) :]
    return b


def _means(nodes: Nodes) -> Vector:
    """∫ φ of the bubbles."""
    mesh, d = nodes.mesh, nodes.mesh.dim
    edges = nodes.cell_dofs[:, d + 1 :] - len(mesh.points)
    sizes = np.repeat(mesh.volumes * (4.0 / ((d + 1) * (d + 2))), edges.shape[1])
    return np.bincount(edges.ravel(), sizes, minlength=len(nodes.edges)).astype(np.float64)


def reaction_load(nodes: Nodes, U: Vector, g: Callable[[Vector], Vector], order: int) -> Vector:
    """∫ g(u) φ of the bubbles, (E, 1), for u of linear elements; g maps (C, Q) values at points of all cells."""
    mesh = nodes.mesh
    bary, weights = rule(mesh.dim, order)
    bubbles = nodes.shapes(bary)[:, mesh.dim + 1 :]
    local = np.einsum("cq,q,qe,c->ce", g(U[mesh.cells] @ bary.T), weights, bubbles, mesh.volumes, optimize=True)
    edges = nodes.cell_dofs[:, mesh.dim + 1 :] - len(mesh.points)
    return np.bincount(edges.ravel(), local.ravel(), minlength=len(nodes.edges)).astype(np.float64)[:, None]


def surface_load(nodes: Nodes, table: Mapping[str, Any], order: int, count: int, name: str) -> Vector:
    """∫ g φ of the bubbles over boundary groups, (E, count)."""
    b = np.zeros((len(nodes) - len(nodes.mesh.points), count))
    for group, given in table.items():
        for k, f in enumerate(components(f"{name} '{group}'", given, count)):
            if f is not None:
                b[:, k] += assembly.boundary_load(nodes, nodes.mesh.facets(group), f, order)[-len(b) :]
    return b


def nodal_load(nodes: Nodes, forces: Vector) -> Vector:
    """What forces at nodes, (V, count), are for the bubbles: the same forces as densities between loaded nodes.

    On boundary facets, or in cells where inner nodes are loaded too, whose nodes all carry a force, F_a / ∫ λ_a is
    taken for the density at a. A node without such a neighbourhood carries a point force, which bubbles do not feel.
    """
    mesh, V, E = nodes.mesh, len(forces), len(nodes) - len(forces)
    loaded = np.any(forces != 0.0, axis=1)
    inner = np.ones(V, dtype=bool)
    inner[mesh.boundary.ravel()] = False
    simplices = mesh.cells if np.any(loaded & inner) else mesh.boundary
    simplices = simplices[loaded[simplices].all(axis=1)]
    if not len(simplices) or simplices.shape[1] == 1:
        return np.zeros((E, forces.shape[1]))
    solid = simplices.shape[1] == mesh.dim + 1
    size = mesh.volumes[loaded[mesh.cells].all(axis=1)] if solid else mesh.facet_measures(simplices)
    k = simplices.shape[1]
    share = np.bincount(simplices.ravel(), np.repeat(size / k, k), minlength=V)
    density = np.divide(forces, share[:, None], out=np.zeros_like(forces), where=share[:, None] > 0.0)
    i, j = np.triu_indices(k, 1)
    local = density[simplices]
    # ∫ λ_c 4 λ_a λ_b = 4 |T| (k − 1)! / (k + 2)! · (2 for c = a or b, else 1)
    mean = 4.0 * (local.sum(axis=1)[:, None] + local[:, i] + local[:, j]) / (k * (k + 1) * (k + 2))
    edges = nodes.facet_dofs(simplices)[:, k:] - V
    parts = [(size[:, None] * mean[..., c]).ravel() for c in range(forces.shape[1])]
    return np.stack([np.bincount(edges.ravel(), part, minlength=E) for part in parts], axis=1).astype(np.float64)


def given_values(nodes: Nodes, given: HeldBoundary, count: int, name: str) -> tuple[Any, Vector]:
    """Which bubbles lie in boundary groups with given values, and their coefficients there."""
    V = len(nodes.mesh.points)
    dofs, values = prescribed(nodes, given, count, name)
    held, full = np.zeros((len(nodes), count), dtype=bool), np.zeros((len(nodes), count))
    held.reshape(-1)[dofs], full.reshape(-1)[dofs] = True, values
    middle = 0.5 * full[nodes.edges[:, 0]] + 0.5 * full[nodes.edges[:, 1]]
    return held[V:], np.where(held[V:], full[V:] - middle, 0.0)


def tied(nodes: Nodes, space: AdmissibleSpace, count: int) -> Any:
    """Bubbles on boundary edges whose ends are both held, or moved by others, in a component: they stay straight."""
    V = len(nodes.mesh.points)
    Z = sp.csr_array(space.Z)
    own = np.zeros(space.N, dtype=bool)
    single = np.flatnonzero(np.diff(Z.indptr) == 1)
    column = Z.indices[Z.indptr[single]]
    own[single] = (np.bincount(Z.indices, minlength=Z.shape[1])[column] == 1) & (Z.data[Z.indptr[single]] == 1.0)
    bound = ~own.reshape(V, count)
    outer = np.zeros(len(nodes.edges), dtype=bool)
    outer[_facet_edges(nodes, nodes.mesh.boundary)] = True
    return bound[nodes.edges[:, 0]] & bound[nodes.edges[:, 1]] & outer[:, None]


def _facet_edges(nodes: Nodes, facets: Index) -> Index:
    return np.unique(nodes.facet_dofs(facets)[:, facets.shape[1] :]) - len(nodes.mesh.points)
