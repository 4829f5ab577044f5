"""Which bounds are tried.

Each finder says itself where its hypotheses are not met, and the smallest valid bound counts.
"""

from __future__ import annotations

from pinnpoint.transfer.everywhere.bounds import Finder
from pinnpoint.transfer.everywhere.level_sets import level_sets
from pinnpoint.transfer.everywhere.local_band import around, left_over, local

ERRORS: tuple[Finder, ...] = (level_sets, local, around)
"""Of |u − ũ|, u with the Dirichlet values of ũ."""
LEFT_OVER: tuple[Finder, ...] = (left_over,)
"""Of |u| for what a lift leaves over, but for the mismatch of the Dirichlet data of ũ."""
