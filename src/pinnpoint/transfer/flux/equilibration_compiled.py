"""The patch problems of `equilibration` compiled with numba: no saddle point systems.

On every patch a spanning tree of its cells gives fluxes that balance. What is left free is a multiple of the rotation
about the vertex (d = 2) or about each edge at the vertex (d = 3), and the zero-mean coordinates of every facet; a
Cholesky factorisation within the envelope solves for them. Rotations about edges that prescribed facets join move
together. Importing this module needs the extra ``fast``.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.threads import CORES, on_all_cores
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import pairs
from pinnpoint.transfer.flux.patches import FREE, PRESCRIBED, Ingredients
from pinnpoint.transfer.flux.patches_compiled import (
    PatchData,
    PatchMesh,
    Scratch,
    balance_tree,
    gather,
    join_edges,
    number_unknowns,
    solve_envelope,
)


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
    work = Scratch(
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
            tail, free, given = gather(d, seed, grounded, mesh, data, work, out)
            balance_tree(tail, mesh, work, out)
            unknowns, turns, rings, held, spin = 0, 0, 0, -1, -1
            if d == 3:
                rings, held = join_edges(tail, given, mesh, work)
            if dq > 2:
                unknowns, turns = number_unknowns(d, q, tail, held, mesh, work)
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
                solve_envelope(A, b, first, unknowns)
                _apply(d, q, tail, spin, mesh, work, out)
            for i in range(rings):
                work.link[work.ring[i]] = -1
            for z in range(tail if q > 1 else 0):
                for r in range(d):
                    work.base[mesh.cell_facets[cell[work.queue[z]], mesh.around[spot[work.queue[z]], r]]] = -1


def solve_patches(topology: Topology, cells: Ingredients, kind: NDArray[np.int8], out: Vector) -> Index:
    """Solve the patch problems; fills ``out``, and returns the vertices where rotations do not span what is free."""
    d, q = topology.dim, cells.width  # continuous.md, step 1d
    start, corner = topology.corners
    around = np.array([[j for j in range(d + 1) if j != k] for k in range(d + 1)])
    number = {p: i for i, p in enumerate(pairs(d))}
    pair = np.array([[number[min(i, j), max(i, j)] for j in range(d + 1)] for i in range(d + 1)])
    width = d * q + (0 if q == 1 else (d + 1) ** 2)  # the data of RT0 have the forms of the coordinates
    table = np.array(cells.table[..., :width], order="C").reshape(d + 1, -1, d * q * width)
    plain = (np.ascontiguousarray(x) for x in (cells.metric, cells.alpha, cells.load, cells.moments))
    metric, alpha, load, moments = plain
    data = PatchData(metric, alpha, load, moments, table, pair)
    mesh = PatchMesh(
        topology.cells,
        topology.cell_facets,
        topology.facet_cells,
        topology.sign,
        topology.orientation,
        topology.volumes,
        around,
        np.ascontiguousarray(kind, dtype=np.int8),
    )
    odd, touched = np.zeros((2, len(start) - 1), dtype=np.bool_)
    touched[topology.facets[kind == FREE]] = True
    most = int(np.diff(start).max())
    faces = int(np.bincount(topology.facets.ravel()).max())
    widest = (q - 1) * faces + (most + 4 if d == 3 else 1)
    rest = (d, q, mesh, data, start, corner, touched, out, odd, most, widest)
    parts = CORES if len(corner) > 20_000 else 1
    cuts = [0, *np.searchsorted(start, np.linspace(0, len(corner), parts + 1)[1:-1]).tolist(), len(start) - 1]
    on_all_cores(lambda ends: _range(*ends, *rest), pairwise(cuts))
    return np.flatnonzero(odd)
