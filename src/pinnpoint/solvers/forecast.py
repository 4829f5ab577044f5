"""What a factorization of a matrix will hold and cost, before any is made: its symbolic analysis, by nested dissection.

A part of the graph is eliminated after its halves, so the columns of its separator S reach S itself and the rim R of
the part: the nodes cut off before that are neighbours of it. That makes |S||R| + |S|²/2 entries and Σ (|R| + k)²
multiplications, k up to |S|. Small parts are not cut: each depth's sums go on as those before them. A forecast decides
about time alone; nothing is proved with it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pinnpoint.base.arrays import Index, Matrix, Vector
from pinnpoint.solvers.graphs import Cut, Graph

CUTS = 7
"""Depths that are cut in earnest; three at least tell how the sums go on."""
LAST = 3
"""Sums whose growth is taken for that of the depths to come."""
FEW = 8
"""Nodes of a part down to which separators are counted."""
CHOLESKY = ("cholmod", "pardiso", "cvxopt")
ENTRY = {"superlu": 79e-9, **dict.fromkeys(CHOLESKY, 24e-9)}
WORK = {"superlu": 0.17e-9, **dict.fromkeys(CHOLESKY, 0.02e-9)}
"""Seconds for each entry of a factor and each of its multiplications, measured on one core."""
REFERENCE = 7.0
"""Times that a multiplication takes longer with the reference BLAS: 382,716 unknowns of a solid, 320 s."""
BACK = 1.8e-9
"""Seconds for each entry of a factor and each right-hand side."""
SETUP, CYCLE, PRODUCT = 0.5e-6, 23e-9, 1.5e-9
"""Seconds for each entry of the matrix: to set multigrid up, for one of its iterations, for one product."""
QUICK, PLAIN = 15, 40.0
"""Iterations of multigrid before it was tried, the fewest to hope for, and of plain ones for each node along a side."""


class Fill(NamedTuple):
    """Entries of a Cholesky factor and the multiplications that make it."""

    entries: float
    work: float

    @classmethod
    def of(cls, A: Matrix, points: Vector | None) -> Fill:
        """Forecast for a matrix with its unknowns at these places; without them, by distances in its graph."""
        graph = Graph.of(A, points)
        size = len(graph.node) / len(graph.places)  # unknowns of a node
        sums: list[tuple[float, float]] = []
        rim = np.zeros((2, 0), dtype=np.int64)
        for cut in graph.cuts(min(graph.depth, CUTS)):
            sums.append(_columns(cut, rim, size))
            rim = _rim(cut, rim)
        more = max(0, round(math.log2(max(len(graph.places) / FEW, 1.0))) - len(sums))
        entries, work = (_continued([one[k] for one in sums], more) for k in (0, 1))
        return cls(entries, work)


def _columns(cut: Cut, rim: Index, size: float) -> tuple[float, float]:
    """Entries and multiplications of all separators of one depth."""
    parts = int(cut.part.max()) + 1
    S = size * np.bincount(cut.part[cut.between], minlength=parts)
    R = size * np.bincount(cut.part[rim[0]], minlength=parts)
    return float(np.sum(S * (R + 0.5 * S))), float(np.sum(S * (R * (R + S) + S * S / 3.0)))


def _rim(cut: Cut, rim: Index) -> Index:
    """Pairs of a node that is left and one that was cut off beside it, one pair for each part and node cut off."""
    ends = np.concatenate([cut.pairs, cut.pairs[::-1]], axis=1)
    fresh = ends[:, ~cut.between[ends[0]] & cut.between[ends[1]]]
    every = np.concatenate([rim[:, ~cut.between[rim[0]]], fresh], axis=1)
    part = 2 * cut.part[every[0]] + cut.side[every[0]]
    _, once = np.unique(part * np.int64(len(cut.part)) + every[1], return_index=True)
    return every[:, once]


def _continued(sums: list[float], more: int) -> float:
    """The sum of all depths, where further ones grow or shrink as the last ones did."""
    first, last = sums[-min(LAST, len(sums))], sums[-1]
    growth = (last / first) ** (1.0 / max(1, min(LAST, len(sums)) - 1)) if first > 0.0 and last > 0.0 else 1.0
    return sum(sums) + sum(last * growth**k for k in range(1, more + 1))


def seconds(
    name: str, n: int, nnz: int, dim: int, queries: int, fill: Fill, iterations: float = QUICK, slow: float = 1.0
) -> float:
    """Forecast for a backend: to make it, and to solve for each query; multiplications take `slow` times longer."""
    if name in ENTRY:
        return ENTRY[name] * fill.entries + slow * WORK[name] * fill.work + queries * BACK * fill.entries
    if name == "krylov":
        return queries * PLAIN * math.pow(n, 1.0 / dim) * PRODUCT * nnz
    return SETUP * nnz + queries * iterations * CYCLE * nnz
