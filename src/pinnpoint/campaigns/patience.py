"""When an instance in an executor is taken for lost."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from concurrent.futures import Executor, Future
from typing import Any


class Patience:
    """The clock of each instance.

    It starts when a worker takes the instance up. Pools of processes call more running than they have workers: of
    these the first ones run. What waits, or does not tell whether it runs, is measured by the silence of the executor:
    the time since any instance began, came back or was given up.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.pause = math.inf if math.isinf(seconds) else min(max(seconds / 8.0, 0.01), 1.0)
        self.heard = time.monotonic()
        self.present: set[Future[Any]] = set()
        self.began: dict[Future[Any], float] = {}

    def lost(self, flying: Iterable[Future[Any]], executor: Executor) -> list[Future[Any]]:
        """Those of the futures, in the order in which they were handed in, that took too long."""
        if math.isinf(self.seconds):
            return []
        now = time.monotonic()
        here = [future for future in flying if not future.done()]
        if self.present != set(here):
            self.heard, self.present = now, set(here)
        self.began = {future: start for future, start in self.began.items() if not future.done()}
        workers = getattr(executor, "_max_workers", math.inf)
        for future in here:
            if future not in self.began and len(self.began) < workers and future.running():
                self.began[future] = self.heard = now
        late = [future for future in here if now - self.began.get(future, self.heard) > self.seconds]
        if late:
            self.heard = now
        return late
