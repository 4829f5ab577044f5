"""Densities 1/|B| of blocks on cells against stored quadratics (docs/checking.md, step 8f). Part of the proof.

Cells that a face of the block meets are cut along its plane, in barycentric coordinates; where rounding leaves in doubt
on which side a point lies, both sides are counted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, Mesh, Query, Shape, gamma, means, total, up
from pinnpoint_verify.enclosures import gram, inverse_gram, pairs
from pinnpoint_verify.own import replaced
from pinnpoint_verify.points import close
from pinnpoint_verify.reader import Array, larger, need

Row = dict[str, Any]
THIN, BLUR = 1e-9, 128.0 * UNIT
"""The share of a cell that is not worth a cut, and of coordinates the rounding of points that cuts have made."""


class Pieces:
    """Parts of cells in a block, and the share of each cell of which that is not certain."""

    def __init__(self, V: Array, low: Array, high: Array) -> None:
        n, d = V.shape[0], V.shape[2]
        bary, cell, share = np.broadcast_to(np.eye(d + 1), (n, d + 1, d + 1)), np.arange(n), np.ones(n)
        (self.doubt, touched, self.sliver), self.cut = np.zeros((3, n)), np.zeros(n, dtype=bool)
        first = True
        for axis in range(d):
            for level, side in ((low[axis], 1.0), (high[axis], -1.0)):
                t = side * (V[:, :, axis] - level)
                size = np.abs(V[:, :, axis]).max(axis=1) + abs(level)
                small = np.minimum(np.maximum(t.max(axis=1), 0.0), np.maximum(-t.min(axis=1), 0.0))
                thin = d * small / np.ptp(t, axis=1) * (1.0 + 1e-9)  # signs of differences are exact, and zero is zero
                crossed = thin >= THIN
                self.sliver += np.where(crossed, 0.0, thin)
                t = np.where(~crossed[:, None] & (np.abs(t) <= small[:, None]), 0.0, t)
                blur = BLUR * size
                wide = np.maximum(np.ptp(t, axis=1) - 2.0 * blur, 1e-300)
                slip = np.where(np.abs(t).min(axis=1) <= blur, np.minimum(d * 2.0 * blur / wide, 1.0), 0.0)
                self.doubt += np.where(crossed, np.minimum(d * 2.0 * blur / wide, 1.0), 0.0)
                touched, self.cut = touched + np.where(crossed, 0.0, slip), self.cut | crossed
                at = np.einsum("nij,nj->ni", bary, t[cell])
                at = np.where((np.abs(at) <= blur[cell, None]) & (crossed[cell, None] | (not first)), 0.0, at)
                bary, tag, share, full = split(at, bary, np.arange(len(cell)), share)
                bary, cell, share, first = bary[full], cell[tag][full], share[full], False
        self.inside = bary, cell, share
        self.doubt = np.where(self.cut, np.minimum(up(self.doubt + touched), 1.0), 0.0) + up(self.sliver)

    def closer(self, height: Ball) -> tuple[Array, Array]:
        """Coefficients (n, d + 1, d + 1) near those of the density, and high, e1, e2 (n, 3) for them.

        Means of w λ_jλ_k are exact on pieces but for rounding; what is in doubt counts in them and in mean squares.
        """
        n, d, C = len(self.cut), self.inside[0].shape[1] - 1, float(height.m)
        (bary, cell, share), G, inverse = self.inside, gram(d), inverse_gram(d)
        both = np.einsum("nai,ab,nbj->nij", bary, means(d, 2).m, bary) * share[:, None, None]
        g = C * np.stack([np.bincount(cell, both[:, j, k], n) for j, k in pairs(d)], axis=1)
        parts, held = np.bincount(cell, minlength=n), np.bincount(cell, share, n)
        c = g @ inverse
        beta = np.zeros((n, d + 1, d + 1))
        for p, (j, k) in enumerate(pairs(d)):
            beta[:, j, k] += 0.5 * c[:, p]
            beta[:, k, j] += 0.5 * c[:, p]
        left, size = g - c @ G, C + np.abs(c).sum(axis=1)
        rounding = gamma(1.0) * (4.0 * parts + 400.0)
        moved = np.sqrt(np.maximum(np.einsum("np,pq,nq->n", left, inverse, left), 0.0)) * (1.0 + 1e-9)
        moved = moved + math.sqrt(float(np.linalg.norm(inverse, 2)) * len(G)) * (rounding * size + self.doubt * C)
        square = C * C * held - 2.0 * np.einsum("np,np->n", c, g) + np.einsum("np,pq,nq->n", c, G, c)
        high = np.sqrt(np.maximum(square, 0.0) + (2.0 * rounding + self.doubt) * size**2)
        error = up(moved + height.r)
        rest = up(np.stack([high, error, error], axis=1) * (1.0 + 1e-9))
        even = np.where(held > 0.5, C, 0.0)  # there the density is one number
        slip = math.sqrt(float(np.linalg.norm(inverse, 2)) * len(G)) * self.doubt * C + height.r
        whole = up(np.stack([C * np.sqrt(self.doubt), slip, slip], axis=1))
        beta = np.where(self.cut[:, None, None], beta, even[:, None, None])
        return beta, np.where(self.cut[:, None], rest, whole)  # checking.md, step 8f


def split(t: Array, bary: Array, tag: Array, share: Array) -> tuple[Array, ...]:
    """Simplices cut at zeros of ℓ on their edges until none has corners of both signs; the last: where ℓ > 0."""
    while True:
        mixed = (t.max(axis=1) > 0.0) & (t.min(axis=1) < 0.0)
        if not mixed.any():
            return bary, tag, share, t.max(axis=1) > 0.0
        at, rows = np.nonzero(mixed)[0], np.arange(int(mixed.sum()))
        j, k = np.argmax(t[at], axis=1), np.argmin(t[at], axis=1)
        theta, new = t[at, j] / (t[at, j] - t[at, k]), []  # from j towards k
        for z in (bary, t[:, :, None]):
            one, two = z[at].copy(), z[at].copy()
            one[rows, k] = two[rows, j] = (1.0 - theta)[:, None] * z[at, j] + theta[:, None] * z[at, k]
            new.append(np.concatenate([z[~mixed], one, two]))
        bary, t, n = new[0], new[1][:, :, 0], len(at)
        first, last = slice(len(t) - 2 * n, len(t) - n), slice(len(t) - n, None)
        t[first][rows, k] = t[last][rows, j] = 0.0
        share = np.concatenate([share[~mixed], share[at] * theta, share[at] * (1.0 - theta)])
        tag = np.concatenate([tag[~mixed], tag[at], tag[at]])


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
    full[here], rest = pieces.closer(height)  # any Q will do
    query.w = query.z.source = replaced(stored, here, full, rest)
    close(stored, query.w, mesh, f"{name!r}: not the density of its block")
