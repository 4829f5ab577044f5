"""Tasks that workers can import, and a campaign that a test can kill: python campaign_tasks.py OUT COUNT WORKERS."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from pinnpoint import campaigns


def pool(workers=2):
    """Processes that are forked from a clean one."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["pinnpoint.campaigns"])
    return ProcessPoolExecutor(workers, mp_context=context)


def square(x):
    return [{"part": "root", "value": float(x)}, {"part": "square", "value": float(x) ** 2}]


def slow_square(x):
    time.sleep(0.004)
    return square(x)


def fails_once(folder, x):
    """Raises at the first attempt of every third instance."""
    if x % 3 == 0 and _first(folder, x):
        raise RuntimeError(f"lost the connection at {x}")
    return square(x)


def dies_once(folder, x):
    """The worker itself dies at the first attempt of every seventh instance."""
    if x % 7 == 0 and _first(folder, x):
        os._exit(1)
    return square(x)


def hangs_once(folder, x):
    if x == 2 and _first(folder, x):
        time.sleep(1.5)
    return square(x)


def slowly(x):
    time.sleep(0.3)
    return square(x)


def hangs_once_slowly(folder, x):
    if x == 2 and _first(folder, x):
        time.sleep(4.0)
    return slowly(x)


def always_dies(x):
    if x == 5:
        os._exit(1)
    return square(x)


def _first(folder, x):
    try:
        (Path(folder) / str(x)).touch(exist_ok=False)
        return True
    except FileExistsError:
        return False


def instances(count):
    return ((f"i{k}", k) for k in range(count))


if __name__ == "__main__":
    out, count, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    make = partial(pool, workers) if workers else None
    done = campaigns.run(slow_square, instances(count), out, make)
    print(done.done, done.skipped, len(done.failed))
