"""What steps towards a reference leave, made part of the fluxes: patches balance without a tight solve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief


@dataclass(frozen=True, eq=False)
class Rests:
    """v = Ā⁻¹(b − A u) of a state and of its duals: κ∇u + κ̄∇v has b at every free node.

    Attributes
    ----------
    kappa
        κ̄ on the cells.
    primal, duals
        Values at all degrees of freedom, zero where values are held.
    """

    kappa: Vector
    primal: Vector
    duals: Mapping[int, Vector]

    __repr__ = brief

    def of_primal(self) -> tuple[Vector, Vector]:
        """κ̄, and v of the state as a row."""
        return self.kappa, self.primal[None, :]  # operators.md, step 13b

    def of_duals(self, which: Sequence[int]) -> tuple[Vector, Vector]:
        """κ̄, and v of these duals as rows."""
        return self.kappa, np.stack([self.duals[i] for i in which])
