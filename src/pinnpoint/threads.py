"""Work cut into parts and done on all cores, by functions that release Python's lock while they compute."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

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


def begin(work: Callable[[], Done]) -> Future[Done]:
    """Start work in a thread of its own; the future holds its result or its error."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(work)
    pool.shutdown(wait=False)
    return future


class Scratch(threading.local):
    """Arrays that each thread uses again and again: fresh memory can cost more than what is written into it.

    Whoever takes one by its name owns it until the next call into this package.
    """

    def __init__(self) -> None:
        self._flat: dict[str, Any] = {}

    def array(self, name: str, shape: tuple[int, ...]) -> Any:
        """An array of floats with any content."""
        size = math.prod(shape)
        flat = self._flat.get(name)
        if flat is None or flat.size < size:
            flat = self._flat[name] = np.empty(size)
        return flat[:size].reshape(shape)

    def clear(self) -> None:
        """Let go of this thread's arrays."""
        self._flat.clear()


SCRATCH = Scratch()


def share(count: int, products: int) -> int:
    """Size of the parts into which so many items go, one part per core where there is enough to do."""
    return max(1, -(-count // CORES) if products >= SHARE_FROM else count)
