"""Data that is given region by region: one formula, or number, in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.taylor.inputs import Data


@dataclass(frozen=True, eq=False)
class Regional:
    """f of each region; between regions it may jump.

    Attributes
    ----------
    regions
        The region of each cell, (C,).
    parts
        What is given in each region.
    """

    regions: Index
    parts: tuple[Data, ...]

    __repr__ = brief

    @property
    def pieces(self) -> list[tuple[Index, Data]]:
        """The cells that each formula holds in."""
        cells = [np.flatnonzero(self.regions == i) for i in range(len(self.parts))]
        return [(inside, f) for inside, f in zip(cells, self.parts, strict=True) if inside.size]

    def at(self, cell: int) -> Data:
        """What holds in a cell."""
        return self.parts[int(self.regions[cell])]

    def jumps(self, facet_cells: Index) -> Mask:
        """Facets, given by the cells on their two sides (F, 2), between regions."""
        one, two = facet_cells.T
        return np.asarray((two >= 0) & (self.regions[one] != self.regions[two]))

    def __call__(self, X: Vector) -> Vector:
        """Refuse: a point alone does not say which region it is in."""
        raise InputError("source: a table of groups has no value at a point alone; give one formula for what needs it")
