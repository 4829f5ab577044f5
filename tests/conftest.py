"""Shared fixtures, the path to the gallery, and choices of tests."""

import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

SLOW = "slow"
TENTH = 10


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="a tenth of the tests of every file, none of the slow ones")
    parser.addoption("--without-numba", action="store_true", help="as if numba were not installed")


def pytest_configure(config):
    if config.getoption("--without-numba"):
        sys.modules["numba"] = None  # importing it raises ImportError, and it cannot be found


def pytest_collection_modifyitems(config, items):
    """Every tenth test of a file, and one at least: the same on every machine, and new files are in at once."""
    if not config.getoption("--quick"):
        return
    by_file = defaultdict(list)
    for item in items:
        if item.get_closest_marker(SLOW) is None:
            by_file[item.path].append(item)
    chosen = {id(item) for tests in by_file.values() for item in tests[::TENTH]}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
    items[:] = [item for item in items if id(item) in chosen]
