"""What a deck says, whatever its dialect: mesh, material, and for each subcase supports and nodal forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.io.decks.solids import Meaning
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.systems.spaces import AdmissibleSpace

EVEN = 1e-6
"""Of the largest temperature: what a mid-side node is less off the mean of its edge counts as rounding."""


@dataclass(frozen=True, eq=False)
class Subcase:
    """Supports and loads of one subcase or step.

    Attributes
    ----------
    supports
        Says which supports these are: subcases with the same text share one space and one matrix.
    load
        (n, d) forces on the nodes.
    meaning
        What both were made from.
    """

    number: int
    label: str
    space: AdmissibleSpace
    load: Vector
    supports: str = ""
    meaning: Meaning | None = None

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class DeckData:
    """A deck that was read; mesh nodes are in order of increasing id.

    Attributes
    ----------
    node_ids, cell_ids
        The deck's own numbers of the nodes and cells.
    young, poisson
        Per cell; where plane parts have several thicknesses, Young's modulus has each cell's share of the largest.
    plane
        "stress" or "strain" in 2D, else None.
    ignored
        Keywords that do not change the physics and were passed over.
    degree
        1, or 2 for second-order elements: their nodes are the mesh's points and then the middles of its edges.
    notes
        Remarks for every certificate.
    expansion
        Thermal expansion per cell; None where no material has it.
    uneven
        Whether a plane part has several thicknesses.
    """

    mesh: Mesh
    node_ids: Index
    cell_ids: Index
    young: Vector
    poisson: Vector
    plane: str | None
    subcases: Mapping[int, Subcase]
    ignored: tuple[str, ...] = ()
    degree: int = 1
    notes: tuple[str, ...] = ()
    expansion: Vector | None = None
    uneven: bool = False

    __repr__ = brief

    def heat(self, case: Subcase) -> dict[str, Any]:
        """Thermal expansion and temperatures at the vertices, as problems take them; nothing where it is not warm."""
        warmth = None if case.meaning is None else case.meaning.warmth
        if warmth is None or self.expansion is None:
            return {}
        if np.any(np.isnan(self.expansion)):
            cell = int(self.cell_ids[np.argmax(np.isnan(self.expansion))])
            raise InputError(f"element {cell}: its thermal expansion depends on the temperature, which is not read")
        return {"expansion": self.expansion, "temperature": warmth[: len(self.mesh.points)]}

    def remarks(self, case: Subcase) -> tuple[str, ...]:
        """The deck's notes, and what is said of temperatures at mid-side nodes that are not between their ends'."""
        warmth = None if case.meaning is None else case.meaning.warmth
        if warmth is None or self.expansion is None or self.degree == 1:
            return self.notes
        V = len(self.mesh.points)
        gap = np.abs(warmth[V:] - warmth[Nodes(self.mesh, 2).edges].mean(axis=1))
        worst = int(np.argmax(gap))
        if gap[worst] <= EVEN * float(np.abs(warmth).max()):
            return self.notes
        note = (
            f"temperatures are linear between the vertices: {int(np.count_nonzero(gap))} mid-side nodes have others, "
            f"the furthest node {int(self.node_ids[V + worst])}, by {gap[worst]:.3g}, and are not used"
        )
        return (*self.notes, note)

    def subcase(self, number: int) -> Subcase:
        """A subcase by its number."""
        if number not in self.subcases:
            known = ", ".join(str(k) for k in self.subcases)
            raise InputError(f"subcase {number}: the deck has no such subcase; it has {known}")
        return self.subcases[number]
