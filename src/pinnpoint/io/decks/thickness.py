"""Thicknesses of plane parts: their problems are per unit of thickness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief


@dataclass(frozen=True, eq=False)
class Thickness:
    """The largest thickness of a part, and each cell's share of it.

    Where they are all the same, stiffness, pressures and densities are those of the materials and stresses are
    stresses; forces at nodes are divided by it. Where they differ, stiffness, pressures and densities have the cell's
    share as a factor, and so would stresses.
    """

    largest: float
    share: Vector

    __repr__ = brief

    @classmethod
    def of(cls, thickness: Vector) -> Thickness:
        """From the thickness of each cell; 1 in space."""
        largest = float(thickness.max())
        return cls(largest, np.where(thickness == largest, 1.0, thickness / largest))

    @property
    def uneven(self) -> bool:
        """Whether cells have different thicknesses."""
        return bool(np.any(self.share != 1.0))

    @property
    def notes(self) -> tuple[str, ...]:
        """What certificates say of it."""
        if not self.uneven:
            said = f"the deck's thickness, {self.largest:g}"
            return () if self.largest == 1.0 else (f"forces are per unit of thickness: those of {said}, divided by it",)
        low = self.largest * float(self.share.min())
        said = f"the deck's thickness is {low:g} to {self.largest:g}"
        return (f"{said}: forces are those of the deck, divided by the largest",)
