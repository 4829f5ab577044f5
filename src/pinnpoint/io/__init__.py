"""Files in and out: meshes, fields, case files, decks."""

import importlib
from typing import TYPE_CHECKING

from pinnpoint.io.generate import generate
from pinnpoint.io.meshes import read_mesh

if TYPE_CHECKING:
    from pinnpoint.decks import read_deck, simjeb

if not TYPE_CHECKING:  # a type checker would take every misspelt name for Any

    def __getattr__(name):
        """What makes finite-element problems of files lives above this package and is imported when first used."""
        if name == "read_deck":
            return importlib.import_module("pinnpoint.decks").read_deck
        if name == "simjeb":
            return importlib.import_module("pinnpoint.decks.simjeb")
        raise AttributeError(f"module 'pinnpoint.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})


__all__ = ["generate", "read_deck", "read_mesh", "simjeb"]
