"""Work cut into parts and done on all cores, by functions that release Python's lock while they compute."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

Part = TypeVar("Part")
Done = TypeVar("Done")

LOCAL = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
"""Where Open MPI and MPICH say how many processes of a run share this machine."""


def cores_for(allowed: int, machine: int, environment: Mapping[str, str]) -> int:
    """Threads that a process may use: the processors it is bound to, and its share among the processes of MPI."""
    beside = next((environment[name] for name in LOCAL if environment.get(name, "").isdigit()), "1")
    return max(1, min(allowed, machine // max(1, int(beside))))


_machine = os.cpu_count() or 1
CORES = cores_for(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else _machine, _machine, os.environ)
SHARE_FROM = 2_000_000
"""Products below which threads cost more than they save."""


class _Workers(threading.local):
    """Threads that are kept: starting them costs as much as a small product. Within one of them all runs in turn."""

    inside = False
    beside = False


_workers = _Workers()
_pool: list[ThreadPoolExecutor] = []
_beside: list[ThreadPoolExecutor] = []
if hasattr(os, "register_at_fork"):  # a child has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.clear)
    os.register_at_fork(after_in_child=_beside.clear)


def on_all_cores(work: Callable[[Part], Done], starts: Iterable[Part]) -> list[Done]:
    """work(start) for every start, done in any order; the results in the order of the starts, or the first error."""
    parts = list(starts)
    if len(parts) <= 1 or CORES == 1 or _workers.inside:
        return [work(part) for part in parts]
    if not _pool:
        _pool.append(ThreadPoolExecutor(CORES, initializer=lambda: setattr(_workers, "inside", True)))
    here = 1 if len(parts) <= CORES else 0  # a part for each core: the first one is done right here
    futures = [_pool[0].submit(work, part) for part in parts[here:]]
    try:
        first = [work(part) for part in parts[:here]]
    finally:
        wait(futures)
    return first + [future.result() for future in futures]


def begin(work: Callable[[], Done]) -> Future[Done]:
    """Start work beside the caller's, or queue it; the future holds its result or its error.

    One core is left to the caller: works of any number take turns on the others. Begun within another, it is done
    right away.
    """
    if _workers.beside:
        future: Future[Done] = Future()
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
        return future
    if not _beside:
        _beside.append(ThreadPoolExecutor(max(1, CORES - 1), initializer=lambda: setattr(_workers, "beside", True)))
    return _beside[0].submit(work)


def start(work: Callable[[], object]) -> None:
    """Start work in a thread of its own, whose end nobody waits for: it takes no turn from others."""
    threading.Thread(target=work).start()


def share(count: int, products: int) -> int:
    """Size of the parts into which so many items go, one part per core where there is enough to do."""
    return max(1, -(-count // CORES) if products >= SHARE_FROM else count)
