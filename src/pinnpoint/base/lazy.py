"""Packages whose public names are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def importer(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package, from its public names and the modules that they come from.

    These are inside the package, or told in full.
    No name may be that of a module inside the package: importing this would put it in the name's place.
    """

    def first_use(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        told = homes[name]
        home = import_module(told if told.startswith("pinnpoint.") else f"{package}.{told}")
        value = vars(home)[name] if name in vars(home) else import_module(f"{home.__name__}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    return first_use
