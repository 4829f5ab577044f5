"""What every bound that holds everywhere gives back: a proved number on each cell, and how it was found.

There are two kinds. A bound of the *error* is of |u − u_h| for a state u_h with a flux, where u has u_h's own Dirichlet
values; who calls adds the mismatch of the data (continuous.md, step 7a). A bound of the *size* is of |u| itself, data
and all: for what a lift leaves over, the error of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.transfer.everywhere.setting import Setting


@dataclass(frozen=True, eq=False)
class CellBounds:
    """Upper bounds on each cell.

    Attributes
    ----------
    route
        How they were found, as certificates say it: "level sets", "residual", "barrier", "band".
    bounds
        (C,), nonnegative; infinite where nothing is proved.
    proved
        False where an ingredient is an estimate.
    numbers
        What another program needs to find them again, as plain numbers.
    """

    route: str
    bounds: Vector
    proved: bool = True
    numbers: Mapping[str, Any] = field(default_factory=dict)

    __repr__ = brief

    @property
    def largest(self) -> float:
        """Over all cells."""
        return float(np.max(self.bounds, initial=0.0))  # everywhere.md, step 5b


Finder = Callable[[Setting], Sequence[CellBounds]]
"""Finds bounds of one kind; none where its hypotheses are not met."""
