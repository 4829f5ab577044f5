"""Parts of a mesh: each process owns some nodes and holds every cell that touches them, in the mesh's order.

So all rows of a process's own nodes are assembled from the same cells in the same order as on one machine: they are the
same to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.mesh.mesh import BOUNDARY, Mesh


@dataclass(frozen=True, eq=False)
class Part:
    """What one process holds.

    Attributes
    ----------
    mesh
        Its cells, with all groups cut to them; "boundary" is the whole mesh's.
    nodes
        Its elements' nodes.
    numbers
        Of its nodes in the whole mesh: of vertices, then of edges, ascending each.
    own
        Which of its nodes it owns.
    """

    mesh: Mesh
    nodes: Nodes
    numbers: Index
    own: Index


def owners(points: Vector, parts: int) -> Index:
    """The part of each point: halves along the longest side, again and again, sizes differing by one at most."""
    owner = np.zeros(len(points), dtype=np.intp)

    def split(which: Index, first: int, count: int) -> None:
        if count == 1:
            owner[which] = first
            return
        X = points[which]
        order = which[np.argsort(X[:, int(np.argmax(np.ptp(X, axis=0)))], kind="stable")]
        low = count // 2
        cut = len(which) * low // count
        split(order[:cut], first, low)
        split(order[cut:], first + low, count - low)

    split(np.arange(len(points)), 0, parts)
    return owner


def of_nodes(nodes: Nodes, owner: Index) -> Index:
    """The part of each node: an edge belongs to the owner of its lower vertex, who has all of the edge's cells."""
    return np.concatenate([owner, owner[nodes.edges[:, 0]]])


def cut(whole: Nodes, owner: Index, part: int) -> Part:
    """The part of one process, by the owners of vertices."""
    mesh, mine = whole.mesh, owner == part
    cells = np.flatnonzero(mine[mesh.cells].any(axis=1))
    vertices = np.unique(mesh.cells[cells])
    number = np.full(len(mesh.points), -1, dtype=np.intp)
    number[vertices] = np.arange(len(vertices))
    inside = np.full(len(mesh.cells), -1, dtype=np.intp)
    inside[cells] = np.arange(len(cells))
    cell_groups = {name: inside[c][inside[c] >= 0] for name, c in mesh.cell_groups.items()}
    facets = {
        name: number[f[mine[f].any(axis=1)]] for name, f in {BOUNDARY: mesh.boundary, **mesh.facet_groups}.items()
    }
    small = Mesh.trusted(mesh.points[vertices], number[mesh.cells[cells]], cell_groups, facets)
    nodes = Nodes(small, whole.degree)
    n = len(mesh.points)
    ends = vertices[nodes.edges]
    edges = np.searchsorted(whole.edges[:, 0] * n + whole.edges[:, 1], ends[:, 0] * n + ends[:, 1])
    return Part(small, nodes, np.concatenate([vertices, n + edges]), of_nodes(nodes, owner[vertices]) == part)
