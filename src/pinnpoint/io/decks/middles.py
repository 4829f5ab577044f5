"""Mid-side nodes of second-order elements: which edge each one is on, and how far off its chord."""

from __future__ import annotations

import logging

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.mesh.mesh import Mesh

log = logging.getLogger(__name__)
SIDES = {2: (0, 2, 1), 3: (0, 2, 3, 1, 4, 5)}
"""By dimension: a deck's mid-side nodes (1–2, 2–3, 3–1, 1–4, 2–4, 3–4) in the order of pairs of vertices."""
CLOSE = 1e-6
"""Of an edge: what is less off its chord counts as the rounding of the deck's numbers."""


def on_edges(mesh: Mesh, middles: Index, ids: Index) -> tuple[Nodes, Index]:
    """The nodes of the quadratic elements, and the deck's row of each edge's mid-side node.

    Parameters
    ----------
    middles
        (C, edges) rows of the deck's nodes, in the deck's own order of a cell's sides.
    ids
        The deck's number of each row, for messages.
    """
    nodes = Nodes(mesh, 2)
    V, d = len(mesh.points), mesh.dim
    edge = nodes.cell_dofs[:, d + 1 :] - V
    rows = middles[:, list(SIDES[d])]
    place = np.full(len(nodes.edges), -1, dtype=np.intp)
    place[edge.ravel()] = rows.ravel()
    other = place[edge] != rows
    if other.any():
        node = int(ids[rows[other][0]])
        raise InputError(
            f"node {node}: neighbouring elements have other nodes in the middle of the same side; join them"
        )
    if len(np.unique(place)) < len(place):
        twice = np.sort(place)
        node = int(ids[twice[np.flatnonzero(np.diff(twice) == 0)[0]]])
        raise InputError(f"node {node}: is in the middle of two sides; elements of second order need one for each")
    return nodes, place


def off_chords(nodes: Nodes, X: Vector, ids: Index) -> tuple[str, ...]:
    """What is to be said of mid-side nodes at X that are not in the middle of their chords."""
    V = len(nodes.mesh.points)
    gap = np.linalg.norm(X - nodes.points[V:], axis=1)
    ends = nodes.mesh.points[nodes.edges]
    share = gap / np.maximum(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1), 1e-300)
    if not np.any(share > CLOSE):
        return ()
    worst = int(np.argmax(gap))
    note = (
        f"{int(np.count_nonzero(share > CLOSE))} of {len(gap)} mid-side nodes are off the middle of their chords, by "
        f"at most {gap[worst]:.3g} (node {int(ids[worst])}, {share[worst]:.2g} of its edge): the problem is that of "
        "the part with straight sides"
    )
    log.warning("%s", note)
    return (note,)
