"""The patch problems of `equilibration` compiled with numba: no saddle point systems.

On every patch a spanning tree of its cells gives fluxes that balance. What is left free is a multiple of the rotation
about the vertex (d = 2) or about each edge at the vertex (d = 3), and the zero-mean coordinates of every facet; a
Cholesky factorisation within the envelope solves for them. Rotations about edges that prescribed facets join move
together. Importing this module needs the extra ``fast``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray

from pinnpoint.arrays import Vector
from pinnpoint.bernstein import pairs
from pinnpoint.transfer.patches import FREE, PRESCRIBED, Index, Ingredients
from pinnpoint.transfer.topology import Topology

_LOOSE = {"reassoc", "contract", "arcp", "nsz"}
_HUGE = 1e150


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


@njit(cache=True)
def _root(tree, i):  # type: ignore[no-untyped-def]
    while tree[i] != i:
        i = tree[i]
    return i


@njit(cache=True, error_model="numpy")
def _range(  # type: ignore[no-untyped-def]
    low, high, d, q, cells, cell_facets, facet_cells, sign, orientation, volumes, start, corner, around, pair,
    metric, alpha, load, moments, table, kind, out, odd, most, widest,
):  # fmt: skip
    """Patches of the vertices low … high − 1; every (facet, vertex) of ``out`` is written by one patch alone."""
    m, components, values = out.shape[3], table.shape[1], alpha.shape[2]
    dq, width = d * q, table.shape[3]
    turns = 3 if d == 3 else 1
    here = np.full(len(cells), -1, np.int32)
    base = np.full(len(kind) if q > 1 else 1, -1, np.int32)
    link = np.full(len(start) - 1 if d == 3 else 1, -1, np.int32)
    seen = np.empty(most, np.bool_)
    queue, parent = np.empty(most, np.int64), np.empty(most, np.int64)
    need = np.empty((most, m))
    ring, tree, number = np.empty(most + 4, np.int64), np.empty(most + 4, np.int64), np.empty(most + 4, np.int64)
    A, b, first = np.empty((widest, widest)), np.empty((m, widest)), np.empty(widest, np.int64)
    W, R = np.empty((dq, width)), np.empty((turns + dq, dq))
    full, slope = np.empty((m, width)), np.empty((m, dq))
    column, one, two = np.empty(turns + dq, np.int64), np.empty(turns + dq, np.int64), np.empty(turns + dq, np.int64)
    weights = np.empty(turns + dq)
    for a in range(low, high):
        at, n = start[a], start[a + 1] - start[a]
        for p in range(n):
            here[corner[at + p] // (d + 1)] = p
            seen[p] = False
        for trial in range(2 * n):  # first the roots with a free facet
            seed = trial % n
            if seen[seed]:
                continue
            K, la = corner[at + seed] // (d + 1), corner[at + seed] % (d + 1)
            parent[seed] = -1
            for r in range(d):
                if kind[cell_facets[K, around[la, r]]] == FREE:
                    parent[seed] = around[la, r]
            grounded = parent[seed] >= 0
            if trial < n and not grounded:
                continue
            # the part of the patch that hangs together with the root, breadth first
            queue[0], seen[seed], head, tail, prescribed, volume = seed, True, 0, 1, False, 0.0
            while head < tail:
                p = queue[head]
                head += 1
                K, la = corner[at + p] // (d + 1), corner[at + p] % (d + 1)
                volume += volumes[K]
                for j in range(m):
                    acc = 0.0
                    for v in range(values):
                        acc += alpha[K, la, v, j]
                    need[p, j] = acc / values - load[K, la, j]
                for r in range(d):
                    k = around[la, r]
                    f = cell_facets[K, k]
                    other = facet_cells[f, 0] if facet_cells[f, 0] != K else facet_cells[f, 1]
                    if other < 0:
                        if kind[f] == PRESCRIBED:
                            prescribed = True
                            for j in range(m):
                                need[p, j] -= out[f, la - (la > k), 0, j]
                        continue
                    p2 = here[other]
                    if not seen[p2]:
                        seen[p2] = True
                        queue[tail] = p2
                        tail += 1
                        for i in range(d + 1):
                            if cell_facets[other, i] == f:
                                parent[p2] = i
            if not grounded:
                for j in range(m):
                    acc = 0.0
                    for z in range(tail):
                        acc += need[queue[z], j]
                    acc /= volume
                    for z in range(tail):
                        need[queue[z], j] -= acc * volumes[corner[at + queue[z]] // (d + 1)]
            for z in range(tail - 1, -1, -1):
                p = queue[z]
                k = parent[p]
                if k < 0:
                    continue
                K, la = corner[at + p] // (d + 1), corner[at + p] % (d + 1)
                f = cell_facets[K, k]
                other = facet_cells[f, 0] if facet_cells[f, 0] != K else facet_cells[f, 1]
                for j in range(m):
                    out[f, la - (la > k), 0, j] = sign[K, k] * need[p, j]
                    if other >= 0:
                        need[here[other], j] += need[p, j]
            # number the unknowns
            unknowns, rings, held, free, turnings = 0, 0, -1, 0, 0
            if d == 3:
                for z in range(tail):
                    c = corner[at + queue[z]]
                    for r in range(3):
                        v = cells[c // 4, around[c % 4, r]]
                        if link[v] < 0:
                            link[v] = rings
                            ring[rings], tree[rings], number[rings] = v, rings, -1
                            rings += 1
                held = rings - 1
                if prescribed:
                    for z in range(tail):
                        c = corner[at + queue[z]]
                        for r in range(3):
                            if kind[cell_facets[c // 4, around[c % 4, r]]] == PRESCRIBED:
                                i = _root(tree, link[cells[c // 4, around[c % 4, (r + 1) % 3]]])
                                held = _root(tree, link[cells[c // 4, around[c % 4, (r + 2) % 3]]])
                                tree[i] = held
                    held = _root(tree, held)
            for z in range(tail):
                c = corner[at + queue[z]]
                K, la = c // (d + 1), c % (d + 1)
                for r in range(d):
                    if d == 3:
                        i = link[cells[K, around[la, r]]]
                        top = _root(tree, i)
                        if top != held and number[top] < 0:
                            number[top] = unknowns
                            unknowns += 1
                            turnings += 1
                        number[i] = number[top]
                    f = cell_facets[K, around[la, r]]
                    if facet_cells[f, 0] == K and kind[f] != PRESCRIBED:
                        free += 1
                    if q > 1:
                        if base[f] < 0 and kind[f] != PRESCRIBED:
                            base[f] = unknowns
                            unknowns += q - 1
            spin = -1
            if d == 2 and not prescribed:
                spin = unknowns
                unknowns += 1
                turnings += 1
            if turnings != free - tail + (0 if grounded else 1):
                odd[a] = True  # the cells about the vertex have a hole or touch along an edge
            elif unknowns > 0:
                for i in range(unknowns):
                    first[i] = i
                    for j in range(i + 1):
                        A[i, j] = 0.0
                    for j in range(m):
                        b[j, i] = 0.0
                for z in range(tail):
                    c = corner[at + queue[z]]
                    K, la = c // (d + 1), c % (d + 1)
                    W[:] = 0.0
                    for x in range(components):
                        factor = metric[K, x]
                        for r in range(dq):
                            for y in range(width):
                                W[r, y] += factor * table[la, x, r, y]
                    for r in range(d):
                        k = around[la, r]
                        f = cell_facets[K, k]
                        for x in range(q):
                            for j in range(m):
                                full[j, r * q + x] = sign[K, k] * out[f, la - (la > k), x, j]
                    if q == 1:
                        for r in range(d):
                            for j in range(m):
                                full[j, d + r] = alpha[K, around[la, r], 0, j]
                    else:
                        for j in range(m):
                            y = dq
                            for i in range(1, d + 1):
                                for v in range(d + 1):
                                    full[j, y] = alpha[K, i, v, j]
                                    y += 1
                            for v in range(d + 1):
                                mu = moments[K, pair[la, v], j]
                                full[j, y] = d * alpha[K, la, v, j] / (d + 1.0) - d * (d + 2.0) * mu
                                y += 1
                    for j in range(m):
                        for r in range(dq):
                            acc = 0.0
                            for y in range(width):
                                acc += W[r, y] * full[j, y]
                            slope[j, r] = acc
                    # columns: rotations e_one − e_two, then the facets' zero-mean coordinates
                    turn = orientation[K] * (1.0 - 2.0 * (la % 2))
                    used, lowest = 0, unknowns
                    for r in range(turns):
                        u = spin if d == 2 else number[link[cells[K, around[la, r]]]]
                        if u >= 0:
                            column[used], weights[used] = u, turn
                            one[used] = ((r + 1) % d) * q if d == 3 else 0
                            two[used] = ((r + 2) % d) * q if d == 3 else q
                            used += 1
                            lowest = min(lowest, u)
                    for r in range(d):
                        if q > 1:
                            f = cell_facets[K, around[la, r]]
                            u = base[f]
                            if u >= 0:
                                lowest = min(lowest, u)
                                for x in range(1, q):
                                    column[used], weights[used] = u + x - 1, sign[K, around[la, r]]
                                    one[used], two[used] = r * q + x, -1
                                    used += 1
                    for i in range(used):
                        u, w, x, y = column[i], weights[i], one[i], two[i]
                        first[u] = min(first[u], lowest)
                        if y < 0:
                            for j in range(m):
                                b[j, u] -= w * slope[j, x]
                            for r in range(dq):
                                R[i, r] = w * W[x, r]
                        else:
                            for j in range(m):
                                b[j, u] -= w * (slope[j, x] - slope[j, y])
                            for r in range(dq):
                                R[i, r] = w * (W[x, r] - W[y, r])
                        for j in range(used):
                            if column[j] <= u:
                                v = two[j]
                                value = R[i, one[j]] - (R[i, v] if v >= 0 else 0.0)
                                A[u, column[j]] += weights[j] * value
                _solve(A, b, first, unknowns)
                for z in range(tail):
                    c = corner[at + queue[z]]
                    K, la = c // (d + 1), c % (d + 1)
                    turn = orientation[K] * (1.0 - 2.0 * (la % 2))
                    for r in range(d):
                        k = around[la, r]
                        f = cell_facets[K, k]
                        if facet_cells[f, 0] != K or kind[f] == PRESCRIBED:
                            continue
                        place = la - (la > k)
                        plus, minus = spin, -1
                        if d == 3:
                            plus = number[link[cells[K, around[la, (r + 2) % 3]]]]
                            minus = number[link[cells[K, around[la, (r + 1) % 3]]]]
                        elif r == 1:
                            plus, minus = -1, spin
                        for j in range(m):
                            acc = 0.0
                            if plus >= 0:
                                acc += b[j, plus]
                            if minus >= 0:
                                acc -= b[j, minus]
                            out[f, place, 0, j] += turn * acc
                            for x in range(1, q):
                                out[f, place, x, j] = b[j, base[f] + x - 1]
            for i in range(rings):
                link[ring[i]] = -1
            if q > 1:
                for z in range(tail):
                    c = corner[at + queue[z]]
                    for r in range(d):
                        base[cell_facets[c // (d + 1), around[c % (d + 1), r]]] = -1


@njit(cache=True, parallel=True)
def _all(cuts, d, q, *rest):  # type: ignore[no-untyped-def]
    for part in prange(len(cuts) - 1):
        _range(cuts[part], cuts[part + 1], d, q, *rest)


def solve_patches(topology: Topology, cells: Ingredients, kind: NDArray[np.int8], out: Vector) -> Index:
    """Solve the patch problems; fills ``out``, and returns the vertices where rotations do not span what is free."""
    d, q = topology.dim, cells.width
    start, corner = topology.corners
    around = np.array([[j for j in range(d + 1) if j != k] for k in range(d + 1)])
    number = {p: i for i, p in enumerate(pairs(d))}
    pair = np.array([[number[min(i, j), max(i, j)] for j in range(d + 1)] for i in range(d + 1)])
    most = int(np.diff(start).max())
    faces = int(np.bincount(topology.facets.ravel()).max())
    widest = (q - 1) * faces + (most + 4 if d == 3 else 1)
    odd = np.zeros(len(start) - 1, dtype=np.bool_)
    threads: Any = get_num_threads()
    cuts = np.searchsorted(start, np.linspace(0, len(corner), threads + 1)[1:-1])
    cuts = np.concatenate([[0], cuts, [len(start) - 1]]).astype(np.int64)
    _all(
        cuts, d, q, topology.cells, topology.cell_facets, topology.facet_cells, topology.sign, topology.orientation,
        topology.volumes, start, corner, around, pair, cells.metric, cells.alpha, cells.load, cells.moments,
        cells.table, kind, out, odd, most, widest,
    )  # fmt: skip
    return np.flatnonzero(odd)
