"""Work cut into parts and done on all cores, by functions that release Python's lock while they compute."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Done = TypeVar("Done")

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
SHARE_FROM = 2_000_000
"""Products below which threads cost more than they save."""


def on_all_cores(work: Callable[[Part], Done], starts: Iterable[Part]) -> list[Done]:
    """work(start) for every start, done in any order; the results in the order of the starts, or the first error."""
    parts = list(starts)
    if len(parts) <= 1 or CORES == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(min(CORES, len(parts))) as pool:
        return list(pool.map(work, parts))


def share(count: int, products: int) -> int:
    """Size of the parts into which so many items go, one part per core where there is enough to do."""
    return max(1, -(-count // CORES) if products >= SHARE_FROM else count)
