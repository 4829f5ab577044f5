"""Files in and out: meshes, fields, case files, decks."""

import importlib
from typing import Any

from pinnpoint.io.generate import generate
from pinnpoint.io.meshes import read_mesh

_ABOVE = {"read_deck": ("pinnpoint.decks", "read_deck"), "simjeb": ("pinnpoint.decks.simjeb", None)}


def __getattr__(name: str) -> Any:
    """What makes finite-element problems of files lives above this package and is imported when first used."""
    if name not in _ABOVE:
        raise AttributeError(f"module 'pinnpoint.io' has no attribute {name!r}")
    module, attribute = _ABOVE[name]
    found = importlib.import_module(module)
    return found if attribute is None else getattr(found, attribute)


__all__ = ["generate", "read_deck", "read_mesh", "simjeb"]
