"""The patch problems of `equilibration` compiled with numba: no saddle point systems.

On every patch a spanning tree of its cells gives fluxes that balance. What is left free is a multiple of the rotation
about the vertex (d = 2) or about each edge at the vertex (d = 3), and the zero-mean coordinates of every facet; a
Cholesky factorisation within the envelope solves for them. Rotations about edges that prescribed facets join move
together. Importing this module needs the extra ``fast``.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads, njit
from numpy.typing import NDArray

from pinnpoint.arrays import Vector
from pinnpoint.bernstein import pairs
from pinnpoint.transfer.patches import FREE, PRESCRIBED, Index, Ingredients
from pinnpoint.transfer.topology import Topology

_LOOSE = {"reassoc", "contract", "arcp", "nsz"}
_HUGE = 1e150


class _Mesh(NamedTuple):
    """The mesh, and ``around[i]``: the vertices of a cell but i."""

    cells: Any
    cell_facets: Any
    facet_cells: Any
    sign: Any
    orientation: Any
    volumes: Any
    around: Any
    kind: Any


class _Data(NamedTuple):
    """See `patches.Ingredients`; ``pair[i, j]`` numbers the moments."""

    metric: Any
    alpha: Any
    load: Any
    moments: Any
    table: Any
    pair: Any


class _Work(NamedTuple):
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
def _solve(A, b, first, n):  # type: ignore[no-untyped-def]
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
def _gather(d, seed, grounded, mesh, data, work, out):  # type: ignore[no-untyped-def]
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
def _balance(tail, mesh, work, out):  # type: ignore[no-untyped-def]
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
def _join(tail, given, mesh, work):  # type: ignore[no-untyped-def]
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
def _count(d, q, tail, held, mesh, work):  # type: ignore[no-untyped-def]
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


@njit(cache=True, error_model="numpy", forceinline=True)
def _slopes(d, q, K, a, mesh, data, out, flat, W, full, slope):  # type: ignore[no-untyped-def]
    """The cell's forms W, and the derivative of its distance at the fluxes found so far."""
    dq, width = W.shape
    m, alpha, table = out.shape[3], data.alpha, data.table
    factor = data.metric[K, 0]
    for y in range(dq * width):
        flat[y] = factor * table[a, 0, y]
    for x in range(1, table.shape[1]):
        factor = data.metric[K, x]
        for y in range(dq * width):
            flat[y] += factor * table[a, x, y]
    for r in range(d):
        k = mesh.around[a, r]
        f = mesh.cell_facets[K, k]
        for x in range(q):
            for j in range(m):
                full[j, r * q + x] = mesh.sign[K, k] * out[f, a - (a > k), x, j]
        if q == 1:
            for j in range(m):
                full[j, r] += alpha[K, k, 0, j]
    for j in range(m):
        if q > 1:
            y = dq
            for i in range(1, d + 1):
                for v in range(d + 1):
                    full[j, y] = alpha[K, i, v, j]
                    y += 1
            for v in range(d + 1):
                full[j, y] = d * alpha[K, a, v, j] / (d + 1.0) - d * (d + 2.0) * data.moments[K, data.pair[a, v], j]
                y += 1
        for r in range(dq):
            acc = 0.0
            for y in range(width):
                acc += W[r, y] * full[j, y]
            slope[j, r] = acc


@njit(cache=True, forceinline=True)
def _columns(d, q, K, a, spin, mesh, work, column, one, two, weight):  # type: ignore[no-untyped-def]
    """The unknowns that act on a cell: rotations as e_one − e_two, then the facets' zero-mean coordinates as e_one."""
    used = 0
    turn = mesh.orientation[K] * (1.0 - 2.0 * (a % 2))
    for r in range(3 if d == 3 else 1):
        u = work.number[work.link[mesh.cells[K, mesh.around[a, r]]]] if d == 3 else spin
        if u >= 0:
            column[used], weight[used] = u, turn
            one[used], two[used] = (r + 1) % 3 * q * (d - 2), ((r + 2) % 3 if d == 3 else 1) * q
            used += 1
    for r in range(d if q > 1 else 0):
        u = work.base[mesh.cell_facets[K, mesh.around[a, r]]]
        if u >= 0:
            for x in range(1, q):
                column[used], weight[used] = u + x - 1, mesh.sign[K, mesh.around[a, r]]
                one[used], two[used] = r * q + x, -1
                used += 1
    return used


@njit(cache=True, forceinline=True)
def _add(used, column, one, two, weight, W, slope, row, A, b, first):  # type: ignore[no-untyped-def]
    """Add a cell to the normal equations."""
    lowest = column[0]
    for i in range(1, used):
        lowest = min(lowest, column[i])
    for i in range(used):
        u, w, x, y = column[i], weight[i], one[i], two[i]
        first[u] = min(first[u], lowest)
        for j in range(len(b)):
            b[j, u] -= w * (slope[j, x] - (slope[j, y] if y >= 0 else 0.0))
        for r in range(len(row)):
            row[r] = w * (W[x, r] - (W[y, r] if y >= 0 else 0.0))
        for j in range(used):
            if column[j] <= u:
                A[u, column[j]] += weight[j] * (row[one[j]] - (row[two[j]] if two[j] >= 0 else 0.0))


@njit(cache=True, forceinline=True)
def _apply(d, q, tail, spin, mesh, work, out):  # type: ignore[no-untyped-def]
    """Add the solution to the fluxes, every facet once."""
    b = work.b
    for z in range(tail):
        K, a = work.cell[work.queue[z]], work.spot[work.queue[z]]
        turn = mesh.orientation[K] * (1.0 - 2.0 * (a % 2))
        for r in range(d):
            k = mesh.around[a, r]
            f = mesh.cell_facets[K, k]
            if mesh.facet_cells[f, 0] != K or mesh.kind[f] == PRESCRIBED:
                continue
            plus, minus = (spin, -1) if r == 0 else (-1, spin)
            if d == 3:
                plus = work.number[work.link[mesh.cells[K, mesh.around[a, (r + 2) % 3]]]]
                minus = work.number[work.link[mesh.cells[K, mesh.around[a, (r + 1) % 3]]]]
            for j in range(out.shape[3]):
                acc = (b[j, plus] if plus >= 0 else 0.0) - (b[j, minus] if minus >= 0 else 0.0)
                out[f, a - (a > k), 0, j] += turn * acc
                for x in range(1, q):
                    out[f, a - (a > k), x, j] = b[j, work.base[f] + x - 1]


@njit(cache=True, nogil=True, error_model="numpy")
def _range(low, high, d, q, mesh, data, start, corner, touched, out, odd, most, widest):  # type: ignore[no-untyped-def]
    """Patches of the vertices low … high − 1; every (facet, vertex) of ``out`` belongs to one patch alone."""
    m, dq, sides = out.shape[3], d * q, 3 + d * q
    work = _Work(
        np.full(len(mesh.cells), -1, np.int32),
        np.full(len(mesh.kind) if q > 1 else 1, -1, np.int32),
        np.full(len(odd) if d == 3 else 1, -1, np.int32),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.bool_),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty((most, m)),
        np.empty(most + 4, np.int64),
        np.empty(most + 4, np.int64),
        np.empty(most + 4, np.int64),
        np.empty((widest, widest)),
        np.empty((m, widest)),
        np.empty(widest, np.int64),
    )
    cell, spot, A, b, first = work.cell, work.spot, work.A, work.b, work.first
    width = data.table.shape[2] // dq
    flat, full, slope, row = np.empty(dq * width), np.empty((m, width)), np.empty((m, dq)), np.empty(dq)
    W = flat.reshape(dq, width)
    column, one, two = np.empty(sides, np.int64), np.empty(sides, np.int64), np.empty(sides, np.int64)
    weight = np.empty(sides)
    for vertex in range(low, high):
        at, n = start[vertex], start[vertex + 1] - start[vertex]
        for p in range(n):
            cell[p] = corner[at + p] // (d + 1)
            spot[p] = corner[at + p] - cell[p] * (d + 1)
            work.here[cell[p]] = p
            work.seen[p] = False
        for trial in range(0 if touched[vertex] else n, 2 * n):  # first the roots with a free facet
            seed = trial if trial < n else trial - n
            if work.seen[seed]:
                continue
            work.parent[seed] = -1
            for r in range(d):
                k = mesh.around[spot[seed], r]
                if mesh.kind[mesh.cell_facets[cell[seed], k]] == FREE:
                    work.parent[seed] = k
            grounded = work.parent[seed] >= 0
            if trial < n and not grounded:
                continue
            tail, free, given = _gather(d, seed, grounded, mesh, data, work, out)
            _balance(tail, mesh, work, out)
            unknowns, turns, rings, held, spin = 0, 0, 0, -1, -1
            if d == 3:
                rings, held = _join(tail, given, mesh, work)
            if dq > 2:
                unknowns, turns = _count(d, q, tail, held, mesh, work)
            if d == 2 and given == 0:
                spin, unknowns, turns = unknowns, unknowns + 1, 1
            if turns != free - tail + (0 if grounded else 1):
                odd[vertex] = True  # the cells about the vertex leave a hole, or touch along an edge
            elif unknowns > 0:
                first[:unknowns] = np.arange(unknowns)
                b[:, :unknowns] = 0.0
                for i in range(unknowns):
                    A[i, : i + 1] = 0.0
                for z in range(tail):
                    K, a = cell[work.queue[z]], spot[work.queue[z]]
                    used = _columns(d, q, K, a, spin, mesh, work, column, one, two, weight)
                    if used > 0:
                        _slopes(d, q, K, a, mesh, data, out, flat, W, full, slope)
                        _add(used, column, one, two, weight, W, slope, row, A, b, first)
                _solve(A, b, first, unknowns)
                _apply(d, q, tail, spin, mesh, work, out)
            for i in range(rings):
                work.link[work.ring[i]] = -1
            for z in range(tail if q > 1 else 0):
                for r in range(d):
                    work.base[mesh.cell_facets[cell[work.queue[z]], mesh.around[spot[work.queue[z]], r]]] = -1


def solve_patches(topology: Topology, cells: Ingredients, kind: NDArray[np.int8], out: Vector) -> Index:
    """Solve the patch problems; fills ``out``, and returns the vertices where rotations do not span what is free."""
    d, q = topology.dim, cells.width
    start, corner = topology.corners
    around = np.array([[j for j in range(d + 1) if j != k] for k in range(d + 1)])
    number = {p: i for i, p in enumerate(pairs(d))}
    pair = np.array([[number[min(i, j), max(i, j)] for j in range(d + 1)] for i in range(d + 1)])
    width = d * q + (0 if q == 1 else (d + 1) ** 2)  # the data of RT0 have the forms of the coordinates
    table = np.ascontiguousarray(cells.table[..., :width]).reshape(d + 1, -1, d * q * width)
    data = _Data(cells.metric, cells.alpha, cells.load, cells.moments, table, pair)
    mesh = _Mesh(
        topology.cells,
        topology.cell_facets,
        topology.facet_cells,
        topology.sign,
        topology.orientation,
        topology.volumes,
        around,
        kind,
    )
    odd, touched = np.zeros((2, len(start) - 1), dtype=np.bool_)
    touched[topology.facets[kind == FREE]] = True
    most = int(np.diff(start).max())
    faces = int(np.bincount(topology.facets.ravel()).max())
    widest = (q - 1) * faces + (most + 4 if d == 3 else 1)
    rest = (d, q, mesh, data, start, corner, touched, out, odd, most, widest)
    threads = get_num_threads() if len(corner) > 20_000 else 1
    cuts = [0, *np.searchsorted(start, np.linspace(0, len(corner), threads + 1)[1:-1]).tolist(), len(start) - 1]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda low, high: _range(low, high, *rest), cuts[:-1], cuts[1:]))
    return np.flatnonzero(odd)
