"""The triangles about each vertex of a plane mesh, one after the other.

A corner is a triangle with one of its vertices, number 3K + a; it lies between the two edges of K at that vertex, those
opposite its other vertices: slot 0 and slot 1, in ascending order of these. Corners at one vertex that share edges form
a fan: a ring, closed, or a row that begins and ends at the boundary. A vertex has one fan, unless the mesh is not a
manifold there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index
from pinnpoint.mesh.topology import Topology

SLOTS = np.array([[j for j in range(3) if j != k] for k in range(3)])
"""The local numbers of the edges at each local vertex."""


@dataclass(frozen=True, eq=False)
class Fans:
    """Fans of n corners each, all closed or none.

    Attributes
    ----------
    corners
        (B, n), in the order of a walk about the vertex.
    entered
        (B, n): the slot of the edge by which the walk enters the triangle; it leaves by the other.
    closed
        Whether the last triangle is followed by the first.
    """

    corners: Index
    entered: Index
    closed: bool


def fans(topology: Topology) -> list[Fans]:
    """All fans of a plane mesh, those of equal shape together."""
    after, edge = _links(topology)  # continuous.md, step 1d
    begin = np.flatnonzero(np.any(after < 0, axis=1))
    rows = _walked(after, edge, begin, np.argmax(after[begin] < 0, axis=1))
    found = [one for one in rows if len(one.corners)]
    seen = np.zeros(len(after), dtype=bool)
    for one in found:
        seen[one.corners] = True
    while not seen.all():  # once, unless a vertex has several rings
        left = np.flatnonzero(~seen)
        begin = left[np.unique(topology.cells.ravel()[left], return_index=True)[1]]
        for one in _walked(after, edge, begin, np.zeros(len(begin), dtype=np.intp)):
            seen[one.corners] = True
            found.append(one)
    return found


def _links(topology: Topology) -> tuple[Index, Index]:
    """The corner behind each slot of a corner, −1 at the boundary, and the edge between: (3C, 2) each."""
    edge = topology.cell_facets[:, SLOTS].reshape(-1, 2)
    after = np.full(edge.shape, -1, dtype=np.intp)
    flat = topology.cell_facets.ravel()
    order = np.argsort(flat, kind="stable")
    count = np.bincount(flat)
    one = (np.cumsum(count) - 2)[count == 2]
    sides = order[one], order[one + 1]  # the edge in its two triangles, 3K + local number
    for k in range(2):  # the corners at the edge's k-th vertex
        corners = [side - side % 3 + SLOTS[side % 3, k] for side in sides]
        slots = [(side % 3 != SLOTS[c % 3, 0]).astype(np.intp) for side, c in zip(sides, corners, strict=True)]
        after[corners[0], slots[0]], after[corners[1], slots[1]] = corners[1], corners[0]
    return after, edge


def _walked(after: Index, edge: Index, begin: Index, slot: Index) -> list[Fans]:
    """Walks from corners that are entered by the given slots, to the boundary or back; of a row, one of the two."""
    who, c, entered = np.arange(len(begin)), begin, slot
    steps: list[tuple[Index, Index, Index]] = []
    last, closed = begin.copy(), np.zeros(len(begin), dtype=bool)
    while len(who):
        steps.append((who, c, entered))
        last[who] = c
        beyond, crossed = after[c, 1 - entered], edge[c, 1 - entered]
        closed[who] = beyond == begin[who]
        going = (beyond >= 0) & ~closed[who]
        who, c, crossed = who[going], beyond[going], crossed[going]
        entered = (edge[c, 1] == crossed).astype(np.intp)
    if not steps:
        return []
    walk, corner, entry = (np.concatenate(column) for column in zip(*steps, strict=True))
    order = np.argsort(walk, kind="stable")
    size = np.bincount(walk)
    start = np.cumsum(size) - size
    kept = closed | (begin <= last)
    found = []
    for ring in (False, True):
        for n in np.unique(size[kept & (closed == ring)]):
            at = order[start[kept & (closed == ring) & (size == n), None] + np.arange(n)]
            found.append(Fans(corner[at], entry[at], ring))
    return found
