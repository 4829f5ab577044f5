"""Formulas on bent cells and held displacements stay declared: what varies faster than samples see is refused.

A formula is bounded on boxes about parts of cells, where a map has them; parts are cut until it moves little on each.
Nothing here is part of a proof, and nothing here can make a bundle verify: it can only refuse.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint_verify.bent import Bent
from pinnpoint_verify.checker import Ball
from pinnpoint_verify.discs import Ranges
from pinnpoint_verify.enclosures import children
from pinnpoint_verify.reader import Array, larger, need
from pinnpoint_verify.rows import is_number

SHARE = 0.5
"""Of the formula's size: how much it may move on a part."""
DEPTH, MOST = {1: 18, 2: 12, 3: 8}, 60_000
"""Cuts of a simplex, by its dimension, and parts at a time."""


def calm(what: str, text: Any, bent: Bent | None, V: Array, cells: Array, floor: float) -> None:
    """Refuse a formula with narrow features on simplices V (n, m + 1, d) of cells; `floor` is no size of it."""
    if not isinstance(text, str) or is_number(text) or not len(V):
        return
    m, size = V.shape[1] - 1, floor
    ends = list(combinations(range(m + 1), 2))
    for level in range(DEPTH[m] + 1):
        X = np.concatenate([V, *(0.5 * (V[:, [j]] + V[:, [k]]) for j, k in ends)], axis=1)
        P = X if bent is None else bent.at(X, cells)[0]
        low, high = P.min(axis=1), P.max(axis=1)
        half = 0.5 * (high - low) + 0.1 * (high - low).max(axis=1, keepdims=True)
        found = Ranges(text, [Ball(x, r) for x, r in zip((0.5 * (low + high)).T, half.T, strict=True)]).value
        if level == 0:
            points = Ranges(text, [Ball(x) for x in P.reshape(-1, P.shape[2]).T]).value
            size = larger(size, float(np.max(np.abs(points.m), initial=0.0, where=np.isfinite(points.r))))
        wide = ~(found.r <= SHARE * size)
        if not wide.any():
            return
        need(
            level < DEPTH[m] and wide.sum() * 2**m <= MOST + 64 * len(np.unique(cells)),
            f"{what}: a formula that varies too fast for samples to see, on curves or where it is held",
        )
        V, cells = children(V[wide]), np.repeat(cells[wide], 2**m)


def scales(side: Any) -> dict[str, float]:
    """What data of a problem measure, from its state, its diffusion and its extent."""
    mesh = side.mesh
    u, kappa = float(np.abs(side.nodal).max(initial=0.0)), float(mesh.kappa.max())
    long = float(np.ptp(mesh.points, axis=0).max())
    found = {"held": u, "through": kappa * u / long, "source": kappa * u / long**2}
    return found | {"alpha": kappa / long, "A": kappa, "b": kappa / long, "c": kappa / long**2}
