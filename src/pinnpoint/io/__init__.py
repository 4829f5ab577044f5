"""Files in and out: meshes, fields, case files, decks."""

from typing import TYPE_CHECKING

from pinnpoint.io.meshes.read import read_mesh
from pinnpoint.io.stores import open_rows
from pinnpoint.mesh.domains import generate

if TYPE_CHECKING:
    from pinnpoint.io.darcy import DarcyData, read_darcy
    from pinnpoint.io.decks import simjeb
    from pinnpoint.io.decks.problems import read_deck

if not TYPE_CHECKING:  # a type checker would take every misspelt name for Any

    def __getattr__(name):
        """Finite-element problems of files are imported when first used."""
        if name == "read_deck":
            from pinnpoint.io.decks.problems import read_deck

            return read_deck
        if name in ("DarcyData", "read_darcy"):
            from pinnpoint.io import darcy

            return {"DarcyData": darcy.DarcyData, "read_darcy": darcy.read_darcy}[name]
        if name == "simjeb":
            from pinnpoint.io.decks import simjeb

            return simjeb
        raise AttributeError(f"module 'pinnpoint.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})


__all__ = ["DarcyData", "generate", "open_rows", "read_darcy", "read_deck", "read_mesh", "simjeb"]
