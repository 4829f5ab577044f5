"""The steps of a compiled patch problem that do not depend on what is minimised: balance, numbering, Cholesky.

Importing this module needs the extra ``fast``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from pinnpoint.transfer.flux.patches import PRESCRIBED

_LOOSE = {"reassoc", "contract", "arcp", "nsz"}
_HUGE = 1e150


class PatchMesh(NamedTuple):
    """The mesh, and ``around[i]``: the vertices of a cell but i."""

    cells: Any
    cell_facets: Any
    facet_cells: Any
    sign: Any
    orientation: Any
    volumes: Any
    around: Any
    kind: Any


class PatchData(NamedTuple):
    """See `patches.Ingredients`; ``pair[i, j]`` numbers the moments."""

    metric: Any
    alpha: Any
    load: Any
    moments: Any
    table: Any
    pair: Any


class Scratch(NamedTuple):
    """Scratch of one thread.

    Cells of the patch: ``cell`` and the vertex's place ``spot`` in it, ``need`` the sum of fluxes it still lacks,
    ``parent`` its facet towards the root, ``queue`` the part at hand, root first. Maps from the mesh to the patch:
    ``here`` for cells, ``link`` for vertices, ``base`` for facets (their first unknown).
    """

    here: Any
    base: Any
    link: Any
    cell: Any
    spot: Any
    seen: Any
    queue: Any
    parent: Any
    need: Any
    ring: Any
    tree: Any
    number: Any
    A: Any
    b: Any
    first: Any


@njit(cache=True, error_model="numpy", fastmath=_LOOSE)
def solve_envelope(A, b, first, n):  # type: ignore[no-untyped-def]
    """Solve with the lower triangle of A, rows i from first[i]; directions without energy stay zero."""
    m = b.shape[0]
    for i in range(n):
        row, begin = A[i], first[i]
        diagonal = row[i]
        for k in range(begin, i):
            other = A[k]
            acc = row[k]
            for x in range(max(begin, first[k]), k):
                acc -= row[x] * other[x]
            row[k] = acc * other[k]  # the diagonal holds reciprocals
        acc = diagonal
        for x in range(begin, i):
            acc -= row[x] * row[x]
        row[i] = 1.0 / np.sqrt(acc) if acc > 1e-14 * diagonal else 1.0 / _HUGE
        for j in range(m):
            acc = b[j, i]
            for x in range(begin, i):
                acc -= row[x] * b[j, x]
            b[j, i] = acc * row[i]
    for j in range(m):
        for i in range(n - 1, -1, -1):
            v = b[j, i] * A[i, i]
            b[j, i] = v
            for x in range(first[i], i):
                b[j, x] -= A[i, x] * v


@njit(cache=True, forceinline=True)
def _root(tree, i):  # type: ignore[no-untyped-def]
    while tree[i] != i:
        i = tree[i]
    return i


@njit(cache=True, forceinline=True)
def _across(mesh, f, K):  # type: ignore[no-untyped-def]
    return mesh.facet_cells[f, 0] if mesh.facet_cells[f, 0] != K else mesh.facet_cells[f, 1]


@njit(cache=True, error_model="numpy", forceinline=True)
def gather(d, seed, grounded, mesh, data, work, out):  # type: ignore[no-untyped-def]
    """Queue what hangs together with the root, with the sums it needs; counts cells, free and prescribed facets."""
    m, values = out.shape[3], data.alpha.shape[2]
    queue, need = work.queue, work.need
    queue[0], work.seen[seed] = seed, True
    head, tail, free, given, volume = 0, 1, 0, 0, 0.0
    while head < tail:
        p = queue[head]
        head += 1
        K, a = work.cell[p], work.spot[p]
        volume += mesh.volumes[K]
        for j in range(m):
            acc = 0.0
            for v in range(values):
                acc += data.alpha[K, a, v, j]
            need[p, j] = acc / values - data.load[K, a, j]
        for r in range(d):
            k = mesh.around[a, r]
            f = mesh.cell_facets[K, k]
            other = _across(mesh, f, K)
            free += mesh.facet_cells[f, 0] == K
            if other >= 0:
                p2 = work.here[other]
                if not work.seen[p2]:
                    work.seen[p2] = True
                    queue[tail] = p2
                    tail += 1
                    for i in range(d + 1):
                        if mesh.cell_facets[other, i] == f:
                            work.parent[p2] = i
            elif mesh.kind[f] == PRESCRIBED:
                given += 1
                for j in range(m):
                    need[p, j] -= out[f, a - (a > k), 0, j]
    if not grounded:
        for j in range(m):
            acc = 0.0
            for z in range(tail):
                acc += need[queue[z], j]
            for z in range(tail):
                need[queue[z], j] -= acc / volume * mesh.volumes[work.cell[queue[z]]]
    return tail, free - given, given


@njit(cache=True, forceinline=True)
def balance_tree(tail, mesh, work, out):  # type: ignore[no-untyped-def]
    """Fluxes along the tree, from the leaves to the root."""
    for z in range(tail - 1, -1, -1):
        p = work.queue[z]
        k = work.parent[p]
        if k < 0:
            continue
        K, a = work.cell[p], work.spot[p]
        f = mesh.cell_facets[K, k]
        other = _across(mesh, f, K)
        for j in range(out.shape[3]):
            out[f, a - (a > k), 0, j] = mesh.sign[K, k] * work.need[p, j]
            if other >= 0:
                work.need[work.here[other], j] += work.need[p, j]


@njit(cache=True, forceinline=True)
def join_edges(tail, given, mesh, work):  # type: ignore[no-untyped-def]
    """Classes of edges at the vertex that prescribed facets join (d = 3): their number, and the one that is held."""
    rings, tree, link = 0, work.tree, work.link
    for z in range(tail):
        K, a = work.cell[work.queue[z]], work.spot[work.queue[z]]
        for r in range(3):
            v = mesh.cells[K, mesh.around[a, r]]
            if link[v] < 0:
                link[v] = rings
                work.ring[rings], tree[rings], work.number[rings] = v, rings, -1
                rings += 1
    held = rings - 1
    for z in range(tail if given > 0 else 0):
        K, a = work.cell[work.queue[z]], work.spot[work.queue[z]]
        for r in range(3):
            if mesh.kind[mesh.cell_facets[K, mesh.around[a, r]]] == PRESCRIBED:
                i = _root(tree, link[mesh.cells[K, mesh.around[a, (r + 1) % 3]]])
                held = _root(tree, link[mesh.cells[K, mesh.around[a, (r + 2) % 3]]])
                tree[i] = held
    return rings, _root(tree, held)


@njit(cache=True, forceinline=True)
def number_unknowns(d, q, tail, held, mesh, work):  # type: ignore[no-untyped-def]
    """Number the rotations about edges and the facets' coordinates in the order of the queue."""
    unknowns, turns = 0, 0
    for z in range(tail):
        K, a = work.cell[work.queue[z]], work.spot[work.queue[z]]
        for r in range(d):
            if d == 3:
                i = work.link[mesh.cells[K, mesh.around[a, r]]]
                top = _root(work.tree, i)
                if top != held and work.number[top] < 0:
                    work.number[top] = unknowns
                    unknowns += 1
                    turns += 1
                work.number[i] = work.number[top]
            f = mesh.cell_facets[K, mesh.around[a, r]]
            if q > 1 and work.base[f] < 0 and mesh.kind[f] != PRESCRIBED:
                work.base[f] = unknowns
                unknowns += q - 1
    return unknowns, turns
