"""Largest values and sums over the cells that lie within a distance of each cell, or a little further away.

Cells are put into bins by their centres, by classes of like size. Whatever lies within r of a cell of centre x and
radius s has its own centre within r + s + s′; the bins that hold such centres, and a few more, are looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import gamma, up

WINDOW = {1: 16, 2: 5, 3: 3}
"""Bins between a cell and the farthest centre that counts."""
MOST = {1: 4096, 2: 256, 3: 48}
"""Bins along the longest side."""
SLIP = 1e-9
"""Relative room for the rounding of places."""


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The cells of a mesh, by places and sizes."""

    topology: Topology
    shifts: Vector | None = None
    """Translations by which copies of the cells are seen as well, the first of them zero."""

    __repr__ = brief

    @cached_property
    def places(self) -> tuple[Vector, Vector]:
        """Centres (C, d), from the lowest of each coordinate, and upper bounds of vertices' distances from them."""
        X, cells = self.topology.points, self.topology.cells
        corners = [X[cells[:, i]] for i in range(cells.shape[1])]
        centre = sum(corners[1:], corners[0]) / len(corners)
        square = np.zeros(len(cells))
        for corner in corners:
            away = corner - centre
            square = np.maximum(square, np.einsum("cd,cd->c", away, away))
        extent, size = float(np.ptp(X, axis=0).max()), np.sqrt(square)
        if self.shifts is not None:
            centre = (self.shifts[:, None] + centre).reshape(-1, centre.shape[1])
            size, extent = np.tile(size, len(self.shifts)), 3.0 * extent
        return centre - centre.min(axis=0), size * (1.0 + SLIP) + SLIP * extent

    @cached_property
    def classes(self) -> list[tuple[float, Index]]:
        """Radii, each with the cells that are at most so large and more than half of it."""
        size = self.places[1]
        power = np.ceil(np.log2(size / size.max()) - 1e-12).astype(int)
        return [(float(size[power == k].max()), np.flatnonzero(power == k)) for k in np.unique(power)]

    def gather(self, r: float, tops: Vector, sums: Vector) -> tuple[Vector, Vector]:
        """The largest of each row of `tops` (Q, C) and the sum of each row of `sums` (S, C) ≥ 0, over cells within r.

        Both are taken over a superset of these cells, itself included; sums are rounded up.
        """
        if self.shifts is not None:
            n, copies = tops.shape[1], len(self.shifts)
            top, total = self._gather(r, np.tile(tops, copies), np.tile(sums, copies))
            return top[:, :n], total[:, :n]  # robin.md, step 7f
        return self._gather(r, tops, sums)

    def _gather(self, r: float, tops: Vector, sums: Vector) -> tuple[Vector, Vector]:
        X, _ = self.places
        extent, d = X.max(axis=0), X.shape[1]
        top, total = np.full(tops.shape, -np.inf), np.zeros(sums.shape)
        for (s, mine), (t, theirs) in product(self.classes, self.classes):
            reach = (r + s + t) * (1.0 + SLIP)
            side = max(reach / WINDOW[d], float(extent.max()) / MOST[d])
            away = int(np.ceil(reach / side)) + 1
            inner = tuple(np.floor(extent / side).astype(int) + 1)
            at = (X[mine] / side).astype(np.intp).T
            source = at if theirs is mine else (X[theirs] / side).astype(np.intp).T
            outer = tuple(n + 2 * away for n in inner)
            a, b = np.full((len(tops), *outer), -np.inf), np.zeros((len(sums), *outer))
            flat = np.ravel_multi_index(tuple(source + away), outer)
            flats = [rows.reshape(len(rows), math.prod(outer)) for rows in (a, b)]  # of no rows too
            _spread(flats[0], flats[1], flat, theirs, tops, sums)
            high, whole = np.full((len(tops), *inner), -np.inf), np.zeros((len(sums), *inner))
            _swept(a, b, high, whole, _runs(d, reach / side, away), away)
            place = np.ravel_multi_index(tuple(at), inner)
            high, whole = (np.take(rows.reshape(len(rows), math.prod(inner)), place, axis=1) for rows in (high, whole))
            if len(mine) == X.shape[0]:
                return high, _rounded(whole)
            top[:, mine] = np.maximum(top[:, mine], high)
            total[:, mine] += whole
        return top, _rounded(total)


def _rounded(total: Vector) -> Vector:
    """Sums over all cells, or fewer, rounded up."""
    return np.asarray(up(total * (1.0 + 2.0 * gamma(total.shape[1] + 10_000)), 4))  # band.md, step 4d


def _spread(a: Vector, b: Vector, flat: Index, cells: Index, tops: Vector, sums: Vector) -> None:
    """Largest values and sums in each bin, of cells and the bins that they lie in."""
    order = np.argsort(flat, kind="stable")
    start = np.flatnonzero(np.diff(flat[order], prepend=-1))
    bins, chosen = flat[order][start], cells[order]
    a[:, bins] = np.maximum.reduceat(np.take(tops, chosen, axis=1), start, axis=1)
    b[:, bins] = np.add.reduceat(np.take(sums, chosen, axis=1), start, axis=1)


def _swept(a: Vector, b: Vector, high: Vector, whole: Vector, runs: list[tuple[Index, int]], away: int) -> None:
    """Largest values of `a` and sums of `b` over a window of bins about each bin, run by run along the last axis.

    Of 1, 2, 4, … neighbours in a row both are made once. A run's largest value is that of two such blocks that may
    overlap, its sum that of blocks side by side.
    """
    inner, longest = high.shape[1:], max(2 * half + 1 for _, half in runs)
    tops, sums = [a], [b]
    while 2 ** len(tops) <= longest:
        k = 2 ** (len(tops) - 1)
        one, two = tops[-1], sums[-1]
        tops.append(np.maximum(one[..., :-k], one[..., k:]))
        sums.append(two[..., :-k] + two[..., k:])

    def block(blocks: list[Vector], shift: Index, start: int, level: int) -> Vector:
        first = [slice(away + i, away + i + n) for i, n in zip(shift, inner[:-1], strict=True)]
        return blocks[level][(slice(None), *first, slice(away + start, away + start + inner[-1]))]

    for shift, half in runs:
        length, level = 2 * half + 1, (2 * half + 1).bit_length() - 1
        np.maximum(high, block(tops, shift, -half, level), out=high)
        np.maximum(high, block(tops, shift, half + 1 - 2**level, level), out=high)
        start = -half
        for level in range(length.bit_length()):
            if length >> level & 1:
                whole += block(sums, shift, start, level)
                start += 2**level


def _runs(d: int, reach: float, away: int) -> list[tuple[Index, int]]:
    """Shifts along all axes but the last, and how far bins may be apart along that, for points within `reach` sides."""
    steps = np.arange(-away, away + 1)
    grid = np.array(list(product(steps.tolist(), repeat=d - 1)), dtype=np.intp).reshape(len(steps) ** (d - 1), d - 1)
    square = (np.maximum(np.abs(grid) - 1, 0) ** 2).sum(axis=1)
    limit = reach * reach * (1.0 + SLIP) + SLIP
    along = np.maximum(steps[away:] - 1, 0) ** 2
    halves = (square[:, None] + along[None] <= limit).sum(axis=1) - 1
    return [(shift, int(half)) for shift, half in zip(grid, halves, strict=True) if half >= 0]
