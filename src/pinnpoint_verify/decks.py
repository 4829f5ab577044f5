"""A body as a deck describes it, for `verify --inputs`: cells, one law a cell, nodes that are held, forces at nodes.

nastran.py and abaqus.py read such decks, in the words that the manuals give. A word that is not in their lists may
change the physics; then the deck is not compared (`Unread`), and the report says so. Nothing verifies for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pinnpoint_verify.mesh_files import MeshFile
from pinnpoint_verify.reader import Array


@dataclass
class Solid:
    """A body by its mesh, E and ν of every cell, nodes held in a direction, and forces (node, direction) at nodes."""

    mesh: MeshFile
    cells: Array
    young: Array
    poisson: Array
    held: set[tuple[int, int]] = field(default_factory=set)
    forces: dict[tuple[int, int], float] = field(default_factory=dict)

    def push(self, node: int, k: int, size: float) -> None:
        """Add a force."""
        self.forces[node, k] = self.forces.get((node, k), 0.0) + size


def directions(text: str) -> list[int]:
    """Directions of translation among the digits of a support."""
    return [int(c) - 1 for c in text if c in "123"]
