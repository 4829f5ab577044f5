"""Predicted peaks of `pinnpoint certify` against measured ones."""

from __future__ import annotations

import pytest

from pinnpoint.cli.peak import peak
from pinnpoint.solvers.choice import ROUGH_FROM, Task

PEAKS = [  # cells of an edge, unknowns, solver, peak in GB
    ("square scalar", 50, 2_401, "superlu", 0.148),
    ("square scalar", 200, 39_601, "superlu", 0.221),
    ("square scalar", 200, 39_601, "cholmod", 0.214),
    ("square scalar", 200, 39_601, "amg", 0.238),
    ("square scalar", 380, 143_641, "superlu", 0.472),
    ("square scalar", 380, 143_641, "cholmod", 0.390),
    ("square scalar", 380, 143_641, "amg", 0.349),
    ("square elastic", 50, 5_100, "superlu", 0.179),
    ("square elastic", 140, 39_480, "superlu", 0.648),
    ("square elastic", 140, 39_480, "cholmod", 0.617),
    ("square elastic", 140, 39_480, "amg", 0.699),
    ("cube scalar", 14, 2_197, "superlu", 0.153),
    ("cube scalar", 22, 9_261, "superlu", 0.234),
    ("cube scalar", 30, 24_389, "cholmod", 0.282),
    ("cube scalar", 30, 24_389, "amg", 0.284),
    ("cube scalar", 50, 117_649, "cholmod", 1.073),
    ("cube scalar", 50, 117_649, "amg", 0.603),
    ("cube elastic", 9, 2_700, "superlu", 0.246),
    ("cube elastic", 9, 2_700, "amg", 0.309),
    ("cube elastic", 16, 13_872, "superlu", 1.668),
    ("cube elastic", 16, 13_872, "cholmod", 1.590),
    ("cube elastic", 24, 45_000, "cholmod", 0.620),
    ("cube elastic", 24, 45_000, "amg", 0.743),
    ("cube elastic", 35, 136_080, "cholmod", 2.006),
    ("cube elastic", 35, 136_080, "amg", 1.632),
]
ROW = {"square scalar": 7, "square elastic": 14, "cube scalar": 14.5, "cube elastic": 42}


@pytest.mark.parametrize(("kind", "edge", "n", "solver", "measured"), PEAKS)
def test_peaks_of_generated_domains_are_within_half(kind, edge, n, solver, measured):
    """Within a factor 1.5 of the largest resident set of a process of its own, for two queries at points."""
    dim = 2 if kind.startswith("square") else 3
    elastic = kind.endswith("elastic")
    task = Task(n, int(ROW[kind] * n), dim, 2, True)
    cells = 2 * edge**2 if dim == 2 else 6 * edge**3
    rough = elastic and dim == 3 and n >= ROUGH_FROM
    found = peak(solver, task, cells, dim if elastic else 1, 1, easy=not elastic, rough=rough) / 1e9
    assert 1 / 1.5 < found / measured < 1.5


@pytest.mark.parametrize(
    ("solver", "n", "nnz", "cells", "measured"),
    [("cholmod", 382_716, 16_100_000, 560_000, 3.7), ("amg", 1_000_000, 42_000_000, 1_700_000, 6.5)],
)
def test_peaks_of_large_solids_are_within_half(solver, n, nnz, cells, measured):
    """The bracket with 28 queries."""
    found = peak(solver, Task(n, nnz, 3, 28, True), cells, 3, 1, easy=False, rough=True) / 1e9
    assert 1 / 1.5 < found / measured < 1.5
