"""Densities 1/|B| of blocks on cells against stored quadratics (docs/checking.md, step 8f). Part of the proof.

Cells that a face of the block meets are cut along its plane, in barycentric coordinates; where rounding leaves in doubt
on which side a point lies, both sides are counted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, Mesh, Query, Shape, gamma, total, up
from pinnpoint_verify.enclosures import inverse_gram
from pinnpoint_verify.mollifiers import Sums, split
from pinnpoint_verify.own import replaced
from pinnpoint_verify.points import close
from pinnpoint_verify.reader import Array, larger, need

Row = dict[str, Any]
BLUR = 128.0 * UNIT
"""Of coordinates of points that cuts have made."""


class Pieces:
    """Parts of cells in and out of a block, and the share of each cell of which that is not certain."""

    def __init__(self, V: Array, low: Array, high: Array) -> None:
        n, d = V.shape[0], V.shape[2]
        bary, cell, share = np.broadcast_to(np.eye(d + 1), (n, d + 1, d + 1)), np.arange(n), np.ones(n)
        self.doubt, touched, self.cut = np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool)
        self.out = list[tuple[Array, Array, Array]]()
        for axis in range(d):
            for level, side in ((low[axis], 1.0), (high[axis], -1.0)):
                t = side * (V[:, :, axis] - level)
                size = np.abs(V[:, :, axis]).max(axis=1) + abs(level)
                crossed = (t.max(axis=1) > 0.0) & (t.min(axis=1) < 0.0)  # signs of differences are exact
                blur = BLUR * size
                wide = np.maximum(np.ptp(t, axis=1) - 2.0 * blur, 1e-300)
                slip = np.where(np.abs(t).min(axis=1) <= blur, np.minimum(d * 2.0 * blur / wide, 1.0), 0.0)
                self.doubt += np.where(crossed, np.minimum(d * 2.0 * blur / wide, 1.0), 0.0)
                touched, self.cut = touched + np.where(crossed, 0.0, slip), self.cut | crossed
                at = np.einsum("nij,nj->ni", bary, t[cell])
                at = np.where((np.abs(at) <= blur[cell, None]) & (crossed[cell, None] | (len(self.out) > 0)), 0.0, at)
                _, bary, tag, share, full = split(at, bary[:, :, :0], bary, np.arange(len(cell)), share)
                cell = cell[tag]
                self.out.append((bary[~full], cell[~full], share[~full]))
                bary, cell, share = bary[full], cell[full], share[full]
        self.inside = bary, cell, share
        self.doubt = np.where(self.cut, np.minimum(up(self.doubt + touched), 1.0), 0.0)

    def sums(self, beta: Array, height: float) -> Sums:
        """Of the density less Σ β_jk λ_j λ_k."""
        found = Sums(beta, height, 0, None)
        for (bary, cell, share), full in (*((one, 0.0) for one in self.out), (self.inside, 1.0)):
            y = np.zeros((len(cell), bary.shape[1], bary.shape[1] - 1))
            found.add(y, bary, cell, share, np.full(len(cell), full))
        return found

    def rest(self, sums: Sums, beta: Array, height: Ball) -> Array:
        """High, e1 and e2 (n, 3): in moments what is in doubt counts once, in squares under the root."""
        d, size = beta.shape[1] - 1, np.abs(beta).max(axis=(1, 2))
        G, top = inverse_gram(d), up(height.top + size)
        found = sums.rest(d, gamma(60) * size + float(height.r) * (1.0 + 1e-9))
        moved = math.sqrt(float(np.linalg.norm(G, 2)) * len(G)) * up(self.doubt * top)
        high = np.sqrt(found[:, 0] ** 2 + self.doubt * top**2)
        found = up(np.stack([high, found[:, 1], found[:, 2]], axis=1) * (1.0 + 1e-9) + moved[:, None])
        whole = float(up(height.r)) * np.array([0.0, 1.0, 1.0])  # there the density is one number
        return np.where(self.cut[:, None], found, whole)

    def closer(self, beta: Array, height: float) -> Array:
        """Coefficients near those of the density, and the density itself on cells that are not cut."""
        even = np.zeros(len(beta))
        even[self.inside[1]] = height
        moved = beta + self.sums(beta, height).closer(beta.shape[1] - 1)
        return np.where(self.cut[:, None, None], moved, even[:, None, None])


def proved_block(query: Query, goal: Row, name: str) -> None:
    """Replace the density of an average over a block, which must lie in the domain."""
    mesh: Mesh = query.p.mesh
    at, half = np.array(goal["at"], dtype=float), 0.5 * float(goal["side"])
    need(at.shape == (mesh.d,) and half > 0.0, f"{name!r}: no block")
    low, high = at - half, at + half  # as floats: these are the faces
    size = Ball(1.0)
    for a, b in zip(low.tolist(), high.tolist(), strict=True):
        size = size * (Ball(b) - Ball(a))
    V, stored = mesh.points[mesh.cells], query.w
    near = np.all((V.max(axis=1) > low) & (V.min(axis=1) < high), axis=1)
    here, full = np.union1d(stored.at, np.nonzero(near)[0]), stored.on(0, mesh.C)[0]
    V, height = V[here], Ball(1.0) / size
    pieces = Pieces(V, low, high)
    held = Shape(V).vol.m
    missing = float(size.m) - float(np.sum(pieces.inside[2] * held[pieces.inside[1]]))
    lost = abs(missing) + total(held * pieces.doubt) + gamma(len(held) + 40) * total(held)
    need(lost <= 1e-8 * float(size.m), f"{name!r}: the block leaves the domain")
    goal["scale"] = larger(float(goal["scale"]), float(up(2.0 * lost / float(size.m))))
    full[here] = pieces.closer(full[here], float(height.m))  # any Q will do
    rest = pieces.rest(pieces.sums(full[here], float(height.m)), full[here], height)  # checking.md, step 8f
    query.w = query.z.source = replaced(stored, here, full, rest)
    close(stored, query.w, mesh, name)
