"""Periodic pairs: boundary facets that are one, and what that makes of the topology (docs/robin.md, section 7)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from pinnpoint_verify.reader import Array, Bundle, larger, need

Row = dict[str, Any]
CLOSE = 1e-9
"""How far facets of a pair may be from translates of one another, against the extent of the mesh."""


class Pairs:
    """Facets that are glued: vertex j of a first facet is vertex j of its second one, (n, d) each."""

    def __init__(self, bundle: Bundle, points: Array, cells: Array, keys: Array | None) -> None:
        d, n, found = points.shape[1], int(cells.max()) + 1, list[Array]()
        while f"mesh/pair{len(found)}" in bundle:
            found.append(bundle(f"mesh/pair{len(found)}", None, 2, d, whole=n))
            need(len(found[-1]), "mesh/pair: a pair without facets")
        self.groups = found
        self.first, self.second = (np.concatenate([pair[:, k] for pair in found]) for k in (0, 1))
        every = np.sort(np.concatenate([self.first, self.second]), axis=1)
        names, count = np.unique(
            np.concatenate([np.delete(cells, i, axis=1) for i in range(d + 1)]), axis=0, return_counts=True
        )
        both = np.unique(np.concatenate([names[count == 1], every]), axis=0)
        alone = len(np.unique(every, axis=0)) == len(every)
        need(alone and len(both) == np.sum(count == 1), "mesh/pair: a facet twice, or one that is inside")
        for pair in found:
            far = points[pair[:, 1]] - points[pair[:, 0]]
            slack = CLOSE * float(np.ptp(points[:n], axis=0).max())
            need(np.abs(far - far[:1, :1]).max() <= slack, "mesh/pair: not translates of one another")
        a, b = [self.first.ravel()], [self.second.ravel()]
        if keys is not None and d > 1:
            for ends, to in ((self.first, a), (self.second, b)):
                two = [np.sort(ends[:, list(jk)], axis=1) for jk in combinations(range(d), 2)]
                to += [n + np.searchsorted(keys, pair[:, 0] * n + pair[:, 1]) for pair in two]
        self.same = _least(len(points), np.concatenate(a), np.concatenate(b))
        of = np.sort(self.same[cells], axis=1)
        need(not np.any(of[:, 1:] == of[:, :-1]), "mesh/pair: a cell reaches from one side to the other")

    @property
    def seams(self) -> Array:
        """Vertices of the facets on both sides."""
        return np.concatenate([self.first, self.second])


def _least(n: int, a: Array, b: Array) -> Array:
    """The smallest of n numbers that each is one with."""
    graph = sp.coo_array((np.ones(len(a)), (a, b)), shape=(n, n))
    count, label = connected_components(graph, directed=False)
    least = np.full(count, n)
    np.minimum.at(least, label, np.arange(n))
    return np.asarray(least[label])


def is_glued(bundle: Bundle) -> bool:
    """Whether there are periodic pairs."""
    return "mesh/pair0" in bundle


def joined(bundle: Bundle, simplices: Array, keys: Array | None = None) -> Array:
    """Nodes of simplices, of periodic pairs what stands for them; `keys` are those of edges with nodes of their own."""
    if not is_glued(bundle):
        return simplices
    nodes = bundle("mesh/nodes", None, None)
    cells = bundle("mesh/cells", None, None, whole=len(nodes))
    return np.asarray(Pairs(bundle, nodes, cells, keys).same[simplices])


def glue(grid: Any, pairs: Pairs) -> None:
    """Join cells across the pairs; second facets are no facets of their own (robin.md, step 7b).

    Vertices of cells and facets are sorted by what they are one with, so that both cells read a flux in one order.
    """
    n, same = grid.n, pairs.same
    order = np.argsort(same[grid.cells], axis=1, kind="stable")
    names = names_of(grid.facets, n)
    one, two = (np.array(np.searchsorted(names, names_of(np.sort(f, axis=1), n))) for f in (pairs.first, pairs.second))
    sign = np.take_along_axis(grid.sign, order, axis=1)
    grid.cells, grid.cell_facets = (np.take_along_axis(a, order, axis=1) for a in (grid.cells, grid.cell_facets))
    grid.facets = np.take_along_axis(grid.facets, np.argsort(same[grid.facets], axis=1, kind="stable"), axis=1)
    away = grid.owner[two]
    sign[away, np.argmax(grid.cell_facets[away] == two[:, None], axis=1)] = -1.0
    grid.sign = sign
    grid.neighbour[one], grid.inner[one] = away, True
    number, kept = np.arange(len(grid.facets)), np.setdiff1d(np.arange(len(grid.facets)), two)
    number[two] = one
    new = np.searchsorted(kept, number)
    grid.cell_facets = new[grid.cell_facets]
    grid.facets, grid.owner, grid.neighbour, grid.inner = (
        a[kept] for a in (grid.facets, grid.owner, grid.neighbour, grid.inner)
    )
    grid.paired = np.isin(kept, one)


def names_of(facets: Array, n: int) -> Array:
    """One number for each facet, in lexicographic order."""
    need(n ** facets.shape[1] < 2**63, "mesh: too many nodes to be numbered")
    found = np.zeros(len(facets), dtype=np.int64)
    for column in facets.T:
        found = found * n + column
    return found


def pairs_agree(bundle: Bundle, case: Row, nodes: Array, sides: Any) -> None:
    """As many pairs as the case has, each of sides that it names."""
    table = case["problem"].get("periodic") or {}
    need(isinstance(table, dict), "periodic: not a table")
    count = sum(name.startswith("mesh/pair") for name in bundle.arrays)
    need(count == len(table), "periodic: not the pairs of the case")
    for k, (one, two) in enumerate(table.items()):
        pair = bundle(f"mesh/pair{k}", None, 2, nodes.shape[1], whole=len(nodes))
        for name, facets in ((one, pair[:, 0]), (two, pair[:, 1])):
            sides(nodes, {str(name): facets}, case)


def flow_agrees(convection: Any, mesh: Any) -> None:
    """b·n is the same on both sides of a pair (varying.md, step 1e)."""
    from pinnpoint_verify.checker import Shape
    from pinnpoint_verify.reference import rule

    pairs, m = mesh.pairs, mesh.d - 1
    bary = np.concatenate([np.eye(m + 1), rule(m, 5)[0]])
    facets = np.nonzero(mesh.paired)[0]
    T = mesh.facets[facets]
    known = names_of(np.sort(pairs.first, axis=1), mesh.n)
    rank = np.argsort(known)
    at = rank[np.searchsorted(known[rank], names_of(np.sort(T, axis=1), mesh.n))]
    image = np.take_along_axis(pairs.second[at], np.argsort(pairs.same[pairs.second[at]], axis=1), axis=1)
    cells, local = mesh.owner[facets], np.argmax(mesh.cell_facets[mesh.owner[facets]] == facets[:, None], axis=1)
    n = -Shape(mesh.points[mesh.cells[cells]]).grad.m[np.arange(len(cells)), local]
    n = n / np.linalg.norm(n, axis=1, keepdims=True)
    b = convection(np.einsum("qi,nic->nqc", bary, mesh.points[T]), cells)[0]
    c = convection(np.einsum("qi,nic->nqc", bary, mesh.points[image]), mesh.neighbour[facets])[0]
    through = np.einsum("nqc,nc->nq", b - c, n)
    fits = np.all(np.abs(through) <= 1e-9 * larger(np.abs(b).max(initial=0.0), np.abs(c).max(initial=0.0)))
    need(fits, "medium: convection jumps at a periodic pair (sampled)")
