"""The discrete system of what a lift leaves beside a reaction: g(u_θ + e) − g(u_θ) in the place of g(e)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.balls import Ball
from pinnpoint.systems.semilinear.reaction import ReactionSystem


@dataclass(frozen=True, eq=False)
class ShiftedSystem(ReactionSystem):
    """A `ReactionSystem` whose reaction is g(shift + e) − g(shift), for states of the continuous target.

    Parameters
    ----------
    shift
        (C, Q), u_θ at the quadrature points. Nothing that is proved rests on it.
    """

    shift: Any = None

    __repr__ = brief

    def _at_rule(self, y: Vector) -> tuple[Vector, Vector]:
        u, slack = super()._at_rule(y)
        return np.asarray(u + self.shift), slack

    @cached_property
    def _still(self) -> Vector:
        """What g(shift) is to the free rows."""
        return np.asarray(self._scatter.A @ self.reaction.values("g", self.shift, None)[0].ravel())

    def residual(self, y: Vector, *, rounding: bool = True) -> Ball:
        """F(e), in plain floats: no discrete target is proved from it."""
        return Ball(super().residual(y, rounding=False).hi - self._still)

    def _require_positive(self) -> None:
        raise InputError("lift: what a prediction leaves beside a nonlinear reaction has the continuous target only")
