"""Weights 1/|G| of averages in time on cells, on blocks and on balls, from the case alone (docs/slabs.md, step 8l)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint_verify.blocks import Pieces
from pinnpoint_verify.checker import UNIT, Ball, Mesh, Shape, gamma, total, up
from pinnpoint_verify.mollifiers import DEPTH, clear, density_bounds
from pinnpoint_verify.reader import Array, need

Row = dict[str, Any]
RIM = {1: 2e-9, 2: 2e-6, 3: 4e-4}
"""What of a ball's weight may stay unresolved at its rim, against (h/R)², by dimension."""


@dataclass(frozen=True)
class Weight:
    """Symmetric coefficients on cells (C, d + 1, d + 1), there high, e1, e2 (C, 3), and a relative error of it all."""

    beta: Array
    rest: Array
    square: float
    """Upper bound of ∫ψ² = 1/|G|."""
    scale: float = 0.0


def over_cells(mesh: Mesh, cells: Array) -> Weight:
    """On a union of cells."""
    weight = 1.0 / mesh.volume[cells].total()  # type: ignore[attr-defined]
    beta, rest = _nothing(mesh)
    beta[cells], rest[cells, 1:] = float(weight.m), float(weight.r)
    return Weight(beta, rest, float(weight.top))


def over_block(mesh: Mesh, row: Row) -> Weight:
    """On the block whose faces are the floats x₀ ± side/2, which must lie in the domain."""
    name, at, half = row["name"], np.array(row["at"], dtype=float), 0.5 * float(row["side"])
    need(at.shape == (mesh.d,) and half > 0.0, f"{name!r}: no block")
    low, high = at - half, at + half
    size = Ball(1.0)
    for a, b in zip(low.tolist(), high.tolist(), strict=True):
        size = size * (Ball(b) - Ball(a))
    V = mesh.points[mesh.cells]
    here = np.flatnonzero(np.all((V.max(axis=1) > low) & (V.min(axis=1) < high), axis=1))
    need(len(here) > 0, f"{name!r}: the block leaves the domain")
    pieces, held = Pieces(V[here], low, high), Shape(V[here]).vol.m
    missing = float(size.m) - float(np.sum(pieces.inside[2] * held[pieces.inside[1]]))
    lost = abs(missing) + total(held * pieces.doubt) + gamma(len(held) + 40) * total(held)
    need(lost <= 1e-8 * float(size.m), f"{name!r}: the block leaves the domain")
    beta, rest = _nothing(mesh)
    height = Ball(1.0) / size
    beta[here], rest[here] = pieces.closer(height)  # checking.md, step 8f
    return Weight(beta, rest, float(height.top), float(up(2.0 * lost / float(size.m))))


def over_ball(mesh: Mesh, row: Row) -> Weight:
    """On a ball in the domain; cells at its rim are cut until little is left of them."""
    name, x0, R = row["name"], np.array(row["at"], dtype=float), float(row["ball"])
    need(x0.shape == (mesh.d,) and R > 0.0, f"{name!r}: no ball")
    need(clear(x0, mesh.walls(mesh.neighbour < 0), R), f"{name!r}: the ball leaves the domain")
    pi, r = Ball(math.pi, 4.0 * UNIT), Ball(R)
    size = {1: 2.0 * r, 2: pi * r * r, 3: pi * r * r * r * 4.0 / 3.0}[mesh.d]
    V = mesh.points[mesh.cells]
    far = np.sqrt(((V - x0) ** 2).sum(axis=2)).min(axis=1)
    here = np.flatnonzero(far - mesh.h <= 1.01 * R)
    need(len(here) > 0, f"{name!r}: a ball outside of the mesh")
    close = RIM[mesh.d] * (float(mesh.h.max()) / R) ** 2
    volume = mesh.top[here]

    def enough(first: Array, _: Array) -> bool:
        return bool(total(volume * first) <= close)

    beta, rest = _nothing(mesh)
    peak = 1.0 / size
    beta[here], rest[here] = density_bounds(V[here], x0, R, peak, DEPTH[mesh.d], 0, None, enough)  # checking.md, 8e
    return Weight(beta, rest, float(peak.top))


def _nothing(mesh: Mesh) -> tuple[Array, Array]:
    return np.zeros((mesh.C, mesh.d + 1, mesh.d + 1)), np.zeros((mesh.C, 3))
