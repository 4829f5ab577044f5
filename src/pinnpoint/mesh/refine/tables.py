"""How tagged simplices are cut in two: newest-vertex bisection of triangles, tagged bisection of tetrahedra.

A simplex is kept as an ordered list of vertices whose first two span its refinement edge, and a kind. The vertex order
and the kind fix the mark of each of its triangles (the edge at which that triangle will be cut). For tetrahedra these
are the five kinds of Arnold, Mukherjee and Pouly, "Locally adapted tetrahedral meshes using bisection" (SIAM J. Sci.
Comput. 22, 2000): planar (unflagged and flagged), adjacent, mixed, opposite. With v₀v₁ the refinement edge, the marks
of the triangles v₁v₂v₃ and v₀v₂v₃ are

=========  =============  ======================================================
planar     v₁v₂ and v₀v₂  children are planar and flagged; of a flagged one adjacent
adjacent   v₁v₃ and v₀v₂  children are planar
mixed      v₂v₃ and v₀v₂  children are planar
opposite   v₂v₃ and v₂v₃  children are planar
=========  =============  ======================================================

If the first marks are the largest edges of the triangles in one total order of the edges of a conforming mesh, two
tetrahedra agree on the mark of the triangle they share, bisection until no edge of a simplex is cut ends (theorem 3.1
there), and the descendants of a tetrahedron fall into at most 72 similarity classes, those of a triangle into 4.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np

from pinnpoint.base.arrays import Index, Vector

PLANAR, FLAGGED, ADJACENT, MIXED, OPPOSITE = range(5)
MARKS: dict[int, dict[int, dict[tuple[int, ...], tuple[int, int]]]] = {
    1: {0: {}},
    2: {0: {(0, 1, 2): (0, 1)}},
    3: {
        PLANAR: {(0, 1, 2): (0, 1), (0, 1, 3): (0, 1), (0, 2, 3): (0, 2), (1, 2, 3): (1, 2)},
        ADJACENT: {(0, 1, 2): (0, 1), (0, 1, 3): (0, 1), (0, 2, 3): (0, 2), (1, 2, 3): (1, 3)},
        MIXED: {(0, 1, 2): (0, 1), (0, 1, 3): (0, 1), (0, 2, 3): (0, 2), (1, 2, 3): (2, 3)},
        OPPOSITE: {(0, 1, 2): (0, 1), (0, 1, 3): (0, 1), (0, 2, 3): (2, 3), (1, 2, 3): (2, 3)},
    },
}
"""Dimension and kind to the mark of each triangle; a flagged tetrahedron is never the first one."""
CHILDREN: dict[int, list[tuple[tuple[int, ...], tuple[int, ...], int]]] = {
    1: [((0, 2), (2, 1), 0)],
    2: [((2, 0, 3), (1, 2, 3), 0)],
    3: [
        ((0, 2, 3, 4), (1, 2, 3, 4), FLAGGED),
        ((0, 2, 3, 4), (1, 2, 3, 4), ADJACENT),
        ((0, 2, 3, 4), (1, 3, 2, 4), PLANAR),
        ((0, 2, 3, 4), (2, 3, 1, 4), PLANAR),
        ((2, 3, 0, 4), (2, 3, 1, 4), PLANAR),
    ],
}
"""Dimension and kind to the vertices of both children (d + 1 is the new vertex) and to their kind."""


class Rules(NamedTuple):
    """The tables of one dimension, by kind (K of them)."""

    pairs: list[tuple[int, int]]
    """Edges of a simplex; the first one is the refinement edge."""
    vertices: Index
    """(K, 2, d + 1): the children's vertices among the parent's and the new one."""
    edges: Index
    """(K, 2, pairs): the children's edges among the parent's, the halves of its first one, and the new ones."""
    odd: Any
    """(K, 2): whether the order of the child's vertices has the opposite orientation."""
    kind: Any
    """(K,): the children's kind."""


@cache
def rules(d: int) -> Rules:
    """What bisection does to simplices of dimension d."""
    pairs = list(combinations(range(d + 1), 2))
    place = {frozenset(p): i for i, p in enumerate(pairs)}
    for i, k in enumerate([0, 1, *range(2, d + 1)]):
        place[frozenset((k, d + 1))] = len(pairs) + i
    table = CHILDREN[d]
    vertices = np.array([entry[:2] for entry in table], dtype=np.intp)
    edges = np.array([[[place[frozenset((c[i], c[j]))] for i, j in pairs] for c in e[:2]] for e in table], np.intp)
    untouched = [[d + 1 if k == 1 - end else k for k in range(d + 1)] for end in range(2)]
    odd = np.array(
        [[_odd([base.index(v) for v in c]) for base, c in zip(untouched, e[:2], strict=True)] for e in table]
    )
    return Rules(pairs, vertices, edges, odd, np.array([e[2] for e in table], dtype=np.uint8))


class Tags(NamedTuple):
    """How the vertices of simplices are to be ordered, whether that reverses their orientation, and their kind."""

    order: Index
    odd: Any
    kind: Any


def first_tags(rank: Vector, d: int) -> Tags:
    """Tags of the simplices of a first mesh: each triangle is marked at its edge of largest rank.

    Parameters
    ----------
    rank
        (C, pairs): a total order of the edges of the mesh.
    d
        Dimension of the simplices.
    """
    order, odd, kind = _first_tags(d)
    pairs = rules(d).pairs
    code = np.zeros(len(rank), dtype=np.intp)
    for triangle in combinations(range(d + 1), 3):
        edges = np.array([pairs.index(pair) for pair in combinations(triangle, 2)])
        code = code * len(pairs) + edges[np.argmax(rank[:, edges], axis=1)]
    return Tags(order[code], odd[code], kind[code])


@cache
def _first_tags(d: int) -> Tags:
    """The tags for every combination of marks of the triangles."""
    pairs, triangles = rules(d).pairs, list(combinations(range(d + 1), 3))
    size = len(pairs) ** len(triangles)
    order, odd, kinds = np.zeros((size, d + 1), np.intp), np.zeros(size, bool), np.zeros(size, np.uint8)
    for vertices in reversed(list(permutations(range(d + 1)))):  # of several orders the first one stays
        for kind, marks in MARKS[d].items():
            named = {_named(vertices, t): _named(vertices, mark) for t, mark in marks.items()}
            code = 0
            for triangle in triangles:
                code = code * len(pairs) + pairs.index(named[triangle])
            order[code], odd[code], kinds[code] = vertices, _odd(list(vertices)), kind
    return Tags(order, odd, kinds)


def _named(vertices: tuple[int, ...], local: tuple[int, ...]) -> Any:
    return tuple(sorted(vertices[k] for k in local))


def _odd(order: list[int]) -> bool:
    return sum(order[i] > order[j] for i, j in combinations(range(len(order)), 2)) % 2 == 1
