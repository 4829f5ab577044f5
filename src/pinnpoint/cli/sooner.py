"""The first import of SciPy without parts of NumPy that nobody here uses: a third of its time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

UNUSED = ("char", "ctypeslib", "f2py", "ma", "matlib", "polynomial", "rec", "testing", "typing")
"""Modules that NumPy loads where they are asked for by name; SciPy asks for every name, and uses none of these."""


@contextmanager
def without_unused_names() -> Iterator[None]:
    """What is imported meanwhile does not see these names among NumPy's; whoever imports them by name still can."""
    import numpy as np

    if "scipy" in sys.modules:
        yield
        return
    names, before = vars(np), {name: vars(np)[name] for name in ("__all__", "__dir__")}
    names["__all__"] = [name for name in before["__all__"] if name not in UNUSED]
    names["__dir__"] = lambda: [name for name in before["__dir__"]() if name not in UNUSED]
    try:
        yield
    finally:
        names.update(before)
