"""What a lift leaves at periodic pairs: a field on gradients that carries its slopes from one side to the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.inputs import Enclosed
from pinnpoint.taylor.simplices import density
from pinnpoint.transfer.media.coefficients import Field


@dataclass(frozen=True, eq=False)
class Seam:
    """The load ∫ (r + ∇·Q) w + Q·∇w of what a lift leaves, r its residual inside the domain.

    Attributes
    ----------
    source
        The data r + ∇·Q.
    fields
        Q by components; None where one is zero.
    """

    source: Enclosed
    fields: tuple[Enclosed | None, ...]

    __repr__ = brief

    def field(self, cells: Vector) -> Field:
        """Q on cells with these vertices (C, d + 1, d)."""
        none = Density.constant(np.zeros(len(cells)), cells.shape[2])
        each = [none if f is None else density(f, cells) for f in self.fields]  # lift.md, step 13b
        rows = [(q.coefficients, q.high, q.error1, q.error2) for q in each]
        coefficients, high, error1, error2 = (np.stack(row, axis=-1) for row in zip(*rows, strict=True))
        return Field(coefficients, high, error1, error2)
