"""Choices of tests: a quick tenth of them, or all as if numba were not there."""

import signal
import sys
from collections import defaultdict

TENTH = 10


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="a tenth of the tests of every file, none of the slow ones")
    parser.addoption("--without-numba", action="store_true", help="as if numba were not installed")


def pytest_configure(config):
    if config.getoption("--without-numba"):
        sys.modules["numba"] = None  # importing it raises ImportError, and it cannot be found
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's background job, and children would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    """Every tenth test of a file, and one at least: the same on every machine, and new files are in at once."""
    if not config.getoption("--quick"):
        return
    by_file = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") is None:
            by_file[item.path].append(item)
    chosen = {id(item) for tests in by_file.values() for item in tests[::TENTH]}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
    items[:] = [item for item in items if id(item) in chosen]
