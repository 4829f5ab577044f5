"""Largest values and sums over the cells that lie within a distance of each cell, or a little further away.

Cells are put into bins by their centres, by classes of like size. Whatever lies within r of a cell of centre x and
radius s has its own centre within r + s + s′; the bins that hold such centres, and a few more, are looked at.
"""

from __future__ import annotations

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

    __repr__ = brief

    @cached_property
    def places(self) -> tuple[Vector, Vector]:
        """Centres (C, d), and upper bounds of the distances of vertices from them."""
        P = self.topology.points[self.topology.cells]
        centre = P.mean(axis=1)
        far = np.sqrt(((P - centre[:, None]) ** 2).sum(axis=2).max(axis=1))
        return centre, far * (1.0 + SLIP) + SLIP * float(np.ptp(P, axis=(0, 1)).max())

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
        X, _ = self.places
        X = X - X.min(axis=0)
        extent, d = X.max(axis=0), X.shape[1]
        top, total = np.full(tops.shape, -np.inf), np.zeros(sums.shape)
        for (s, mine), (t, theirs) in product(self.classes, self.classes):
            reach = (r + s + t) * (1.0 + SLIP)
            side = max(reach / WINDOW[d], float(extent.max()) / MOST[d])
            away = int(np.ceil(reach / side)) + 1
            inner = tuple(np.floor(extent / side).astype(int) + 1)
            at, source = (np.floor(X[these] / side).astype(int) for these in (mine, theirs))
            outer = tuple(n + 2 * away for n in inner)
            a, b = np.full((len(tops), *outer), -np.inf), np.zeros((len(sums), *outer))
            flat = np.ravel_multi_index(tuple((source + away).T), outer)
            _spread(a.reshape(len(tops), -1), b.reshape(len(sums), -1), flat, tops[:, theirs], sums[:, theirs])
            high, whole = np.full((len(tops), *inner), -np.inf), np.zeros((len(sums), *inner))
            for shift in _window(d, reach / side, away):
                part = (slice(None), *(slice(away + i, away + i + n) for i, n in zip(shift, inner, strict=True)))
                np.maximum(high, a[part], out=high)
                whole += b[part]
            place = (slice(None), *at.T)
            top[:, mine] = np.maximum(top[:, mine], high[place])
            total[:, mine] += whole[place]
        # band.md, step 4d
        return top, np.asarray(up(total * (1.0 + 2.0 * gamma(tops.shape[1] + 10_000)), 4))


def _spread(a: Vector, b: Vector, flat: Index, tops: Vector, sums: Vector) -> None:
    """Largest values and sums in each bin."""
    order = np.argsort(flat, kind="stable")
    start = np.flatnonzero(np.diff(flat[order], prepend=-1))
    bins = flat[order][start]
    a[:, bins] = np.maximum.reduceat(tops[:, order], start, axis=1)
    b[:, bins] = np.add.reduceat(sums[:, order], start, axis=1)


def _window(d: int, reach: float, away: int) -> Index:
    """Shifts between bins of which some points are within `reach` sides of each other."""
    steps = np.arange(-away, away + 1)
    grid = np.stack(np.meshgrid(*[steps] * d, indexing="ij"), axis=-1).reshape(-1, d)
    nearest = np.maximum(np.abs(grid) - 1, 0)
    return np.asarray(grid[(nearest**2).sum(axis=1) <= reach * reach * (1.0 + SLIP) + SLIP])
