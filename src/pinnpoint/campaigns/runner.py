"""Run a task on many instances over any executor: each result once in the table, whatever fails or is killed."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any
from uuid import uuid4

from pinnpoint.base.arrays import number, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError, PinnpointError
from pinnpoint.base.files import PathLike
from pinnpoint.campaigns.growing import AbstractTable
from pinnpoint.campaigns.patience import Patience
from pinnpoint.campaigns.tables import open_table
from pinnpoint.campaigns.tasks import Row, work, writable

WINDOW = 64
"""Instances that wait in the executor at once."""
log = logging.getLogger(__name__)
Item = tuple[str, Any]


@dataclass(eq=False)
class Summary:
    """What became of the instances.

    Attributes
    ----------
    done
        How many were computed and written by this run.
    skipped
        How many were in the table already.
    retried
        How many attempts had to be made again.
    failed
        Instance to its last error, where retries did not help; it is not in the table, and a further run tries it.
    """

    done: int = 0
    skipped: int = 0
    retried: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    __repr__ = brief


def run(
    task: Callable[[Any], Any],
    instances: Mapping[str, Any] | Iterable[Item],
    out: PathLike,
    executor: Executor | Callable[[], Executor] | None = None,
    *,
    retries: int = 2,
    window: int = WINDOW,
    timeout: float | None = None,
    report: Callable[[Summary], None] | None = None,
) -> Summary:
    """Apply a task to every instance and stream the rows into a table; run it again to go on after a kill.

    Parameters
    ----------
    task
        From an instance to a certificate, a mapping of plain values, or a list of mappings; importable by the workers.
        All instances have the same columns, none of them called instance, row or rows.
    instances
        Names to instances, or pairs of both, which may come from a generator of any length.
    out
        A ``.csv`` file or a ``.parquet`` folder. Instances that it holds are skipped.
    executor
        Any `concurrent.futures.Executor`, such as a pool of processes or ``dask.distributed.Client().get_executor()``;
        or a function that makes one, which is called again when the executor breaks because a worker died. None: here.
        Pools of processes should be started by "forkserver" or "spawn": a fork of a process with threads may hang.
    retries
        Further attempts after an error. What pinnpoint itself refuses is not tried again.
    window
        Instances handed to the executor at once.
    timeout
        Seconds after which an instance is taken for lost and handed in again, counted as an error: seconds since a
        worker took it up, where the executor tells, as threads and processes do. One that waits for a worker, and any
        instance where the executor does not tell, as Dask's does not, is lost after as many seconds in which no
        instance began or came back. If all are lost at once, an executor that a function made is made again.
    report
        Is told the summary after every instance.

    *Guarantee:* every instance is in the table once, or in `Summary.failed`, or not yet done. Only this process
    writes, one whole instance at a time, and only after its name was found missing.
    """
    if not callable(task):
        raise InputError(f"task: must be a function of one instance; got {type(task).__name__}")
    retries, window = whole("retries", retries), whole("window", window, low=1)
    patience = Patience(math.inf if timeout is None else number("timeout", timeout, above=0.0))
    items = iter(instances.items() if isinstance(instances, Mapping) else instances)
    with open_table(out) as table:
        job = Job(partial(work, task), table, retries, report)
        if executor is None:
            for item in job.new(items):
                job.here(item)
            return job.summary
        pool = Pool(executor)
        try:
            job.over(pool, items, window, patience)
        finally:
            pool.close()
        return job.summary


class Pool:
    """The executor, made again where it breaks and we know how."""

    def __init__(self, given: Executor | Callable[[], Executor]) -> None:
        self.make = None if isinstance(given, Executor) else given
        self.executor = given if isinstance(given, Executor) else given()
        if not hasattr(self.executor, "submit"):
            raise InputError(f"executor: must have submit, as executors do; got {type(self.executor).__name__}")

    def renew(self, error: BaseException) -> None:
        """Another executor in place of a broken one."""
        if self.make is None:
            raise InputError(
                f"executor: broke because a worker died ({error}); pass a function that makes one, such as "
                "lambda: ProcessPoolExecutor(4), so that it can be made again"
            ) from error
        # a worker that a broken pool started last may outlive it, and the pool then waits for it for ever
        workers = list((getattr(self.executor, "_processes", None) or {}).values())
        self._shut(wait=False)
        for worker in workers:
            worker.kill()
        self.executor = self.make()

    def close(self) -> None:
        """Let go of what was made here."""
        if self.make is not None:
            self._shut(wait=True)

    def _shut(self, *, wait: bool) -> None:
        try:
            self.executor.shutdown(wait=wait, cancel_futures=True)
        except TypeError:  # Dask's has no such argument
            self.executor.shutdown(wait=wait)


class Job:
    """The bookkeeping of one run."""

    def __init__(
        self,
        call: Callable[..., list[Row]],
        table: AbstractTable,
        retries: int,
        report: Callable[[Summary], None] | None,
    ) -> None:
        self.call, self.table, self.retries, self.report = call, table, retries, report
        self.summary = Summary()
        self.attempts: dict[str, int] = {}
        self.seen: set[str] = set()
        self.tokens = (f"{name}-{k}" for name in [uuid4().hex] for k in count())
        """One for each attempt, so that no executor takes it for an earlier one."""
        self.again: deque[Item] = deque()
        self.alone: deque[Item] = deque()
        """Instances that were in an executor when it broke: tried one by one, so that only the guilty one counts."""

    def new(self, items: Iterator[Item]) -> Iterator[Item]:
        """Instances that are not in the table yet."""
        before = set(self.table.done)
        for pair in items:
            if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str)):
                raise InputError(f"instances: must be pairs of a name and an instance; got {str(pair)[:60]!r}")
            name = " ".join(pair[0].split())
            if not name or not writable(name):
                wrong = "not valid Unicode" if name else "empty"
                raise InputError(
                    f"instances: the name {pair[0][:60]!r} is {wrong}; give every instance one that can be read"
                )
            if name in self.seen:
                raise InputError(f"instances: '{name[:60]}' is given twice; names must differ by more than spaces")
            self.seen.add(name)
            if name in before:
                self.summary.skipped += 1
                continue
            yield name, pair[1]

    def here(self, item: Item) -> None:
        """Without an executor."""
        while True:
            try:
                rows = self.call(item[1])
            except Exception as error:
                if self.failed(item, error):
                    continue
                return
            self.write(item[0], rows)
            return

    def over(self, pool: Pool, items: Iterator[Item], window: int, patience: Patience) -> None:
        """Keep the executor fed until nothing is left."""
        fresh, flying = self.new(items), dict[Future[list[Row]], Item]()
        try:
            while True:
                self.feed(pool, fresh, flying, window)
                if not flying:
                    return
                left = min(self.table.pause, patience.pause)
                for future in wait(flying, None if math.isinf(left) else left, FIRST_COMPLETED).done:
                    if future in flying:
                        self.land(pool, future, flying)
                self.lost(pool, patience.lost(flying, pool.executor), flying, patience.seconds)
                self.table.tick()
        finally:
            for future in flying:
                future.cancel()

    def feed(self, pool: Pool, fresh: Iterator[Item], flying: dict[Future[list[Row]], Item], window: int) -> None:
        """Submit: instances that must be alone by themselves, else up to a window of them."""
        while len(flying) < (1 if self.alone else window):
            queue = self.alone or self.again
            item = queue.popleft() if queue else next(fresh, None)
            if item is None:
                return
            try:
                flying[pool.executor.submit(self.call, item[1], next(self.tokens))] = item
            except (BrokenExecutor, OSError) as error:  # a pool that is just breaking has closed its pipe already
                self.alone.append(item)
                self.broken(pool, error, flying)

    def lost(
        self, pool: Pool, late: list[Future[list[Row]]], flying: dict[Future[list[Row]], Item], seconds: float
    ) -> None:
        """Hand in again what never came back; should it come after all, nobody looks.

        Where all that was handed in is late, an executor that can be made again is taken for broken.
        """
        if not late:
            return
        error = TimeoutError(f"no answer in {seconds:g} s")
        stuck = pool.make is not None and all(future in late or future.done() for future in flying)
        if not stuck or len(flying) == 1:  # of several any one, or none, may be the cause
            for future in late:
                item = flying.pop(future)
                future.cancel()
                if self.failed(item, error):
                    (self.alone if stuck else self.again).append(item)
        if stuck:
            self.broken(pool, error, flying)

    def land(self, pool: Pool, future: Future[list[Row]], flying: dict[Future[list[Row]], Item]) -> None:
        """One future is done, well or not."""
        item = flying.pop(future)
        try:
            rows = future.result()
        except BrokenExecutor as error:
            if not flying:  # it was alone: it did it
                if self.failed(item, error):
                    self.alone.append(item)
            else:
                self.alone.append(item)
            self.broken(pool, error, flying)
        except (Exception, CancelledError) as error:
            if self.failed(item, error):
                self.again.append(item)
        else:
            self.write(item[0], rows)

    def broken(self, pool: Pool, error: BaseException, flying: dict[Future[list[Row]], Item]) -> None:
        """Take back all that was flying, keep what had landed in time, and make another executor."""
        for future, item in list(flying.items()):
            if future.done() and not future.cancelled() and future.exception() is None:
                self.write(item[0], future.result())
            else:
                future.cancel()
                self.alone.append(item)
        flying.clear()
        log.warning("executor broke (%s); %d instances are tried one by one", error, len(self.alone))
        pool.renew(error)

    def failed(self, item: Item, error: BaseException) -> bool:
        """Whether to try again."""
        self.attempts[item[0]] = self.attempts.get(item[0], 0) + 1
        if not isinstance(error, PinnpointError) and self.attempts[item[0]] <= self.retries:
            self.summary.retried += 1
            log.info("instance '%s' failed (%s: %s) and is tried again", item[0], type(error).__name__, error)
            return True
        self.summary.failed[item[0]] = f"{type(error).__name__}: {error}"
        self.tell()
        return False

    def write(self, name: str, rows: list[Row]) -> None:
        """Into the table, unless it is there."""
        if name not in self.table.done:
            self.table.add(name, rows)
            self.summary.done += 1
            self.tell()

    def tell(self) -> None:
        """To whoever asked."""
        if self.report is not None:
            self.report(self.summary)
