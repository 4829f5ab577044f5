"""Work cut into parts and done on all cores, by functions that release Python's lock while they compute."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
SHARE_FROM = 2_000_000
"""Products below which threads cost more than they save."""


def on_all_cores(work: Callable[[int], None], starts: Iterable[int]) -> None:
    """work(start) for every start, in any order; the first error is raised."""
    parts = list(starts)
    if len(parts) <= 1 or CORES == 1:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(min(CORES, len(parts))) as pool:
        list(pool.map(work, parts))


def share(count: int, products: int) -> int:
    """Size of the parts into which so many items go, one part per core where there is enough to do."""
    return max(1, -(-count // CORES) if products >= SHARE_FROM else count)
