"""Coefficients of −∇·(A∇u) + b·∇u + c u = f that vary inside cells, region by region.

A region is a set of cells in which A, b and c are given by the same formulas. Between regions they may jump; inside
one they are smooth wherever the formulas are. The transposed operator, of dual problems, has −b and c − ∇·b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.taylor.bernstein import AbstractRows
from pinnpoint.taylor.inputs import Enclosed, model_of
from pinnpoint.taylor.jets import ZERO, jet_of, plus, times
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.spaces import POINT

Coefficient = float | Enclosed
"""A number, a formula, or smooth data."""
Diffusion = Coefficient | tuple[tuple[Coefficient, ...], ...]
"""One number or formula, or a symmetric d × d table of them."""


@dataclass(frozen=True, eq=False)
class Coefficients:
    """A, b and c of each region.

    Attributes
    ----------
    regions
        The region of each cell, (C,).
    diffusion
        A of each region: a scalar, or a symmetric d × d table.
    convection
        b of each region, d numbers or formulas; None where there is none.
    reaction
        c of each region.
    """

    regions: Index
    diffusion: tuple[Diffusion, ...]
    convection: tuple[tuple[Coefficient, ...] | None, ...]
    reaction: tuple[Coefficient, ...]

    __repr__ = brief

    @property
    def convective(self) -> bool:
        """Whether there is convection anywhere."""
        return any(b is not None for b in self.convection)

    @property
    def scalar(self) -> bool:
        """Whether A is a scalar everywhere."""
        return not any(isinstance(a, tuple) for a in self.diffusion)

    def at(self, cell: int) -> tuple[Diffusion, tuple[Coefficient, ...] | None, Coefficient]:
        """A, b and c in a cell."""
        r = int(self.regions[cell])
        return self.diffusion[r], self.convection[r], self.reaction[r]

    def jumps(self, facet_cells: Index) -> Mask:
        """Facets, given by the cells on their two sides (F, 2), that lie on the boundary or between regions."""
        one, two = facet_cells.T
        return np.asarray((two < 0) | (self.regions[one] != self.regions[two]))


def matrix(given: Diffusion, d: int) -> tuple[tuple[Coefficient, ...], ...]:
    """A as a d × d table."""
    if isinstance(given, tuple):
        return given
    return tuple(tuple(given if i == j else 0.0 for j in range(d)) for i in range(d))


@dataclass(frozen=True, eq=False)
class Balance:
    """c − weight ∇·b, data that encloses itself: weight ½ for the symmetric part, 1 for the transposed operator."""

    reaction: Coefficient
    convection: tuple[Coefficient, ...]
    weight: float

    __repr__ = brief

    def __call__(self, X: Vector) -> Vector:
        """Values at points (N, d)."""
        P = np.asarray(X, dtype=np.float64)
        model = self.taylor([TaylorModel(POINT, x[None].copy(), np.zeros(len(P))) for x in P.T])
        return np.array(np.broadcast_to(model.C[0], len(P)))

    def taylor(self, coordinates: Sequence[TaylorModel]) -> TaylorModel:
        """The model from those of the coordinates."""
        c = modelled(self.reaction, coordinates)
        div = divergence(self.convection, coordinates)
        return c if div is ZERO else c - times(constant(self.weight), div)


def modelled(given: Coefficient, coordinates: Sequence[TaylorModel]) -> TaylorModel:
    """The model of a coefficient from those of the coordinates."""
    return model_of(given, coordinates) if callable(given) else constant(float(given))


def divergence(convection: Sequence[Coefficient], coordinates: Sequence[TaylorModel]) -> TaylorModel:
    """The model of ∇·b."""
    total = ZERO
    for i, b in enumerate(convection):
        total = plus(total, derivative(b, coordinates, i))
    return total


def derivative(given: Coefficient, coordinates: Sequence[TaylorModel], axis: int) -> TaylorModel:
    """The model of a coefficient's derivative along an axis, almost everywhere."""
    if not callable(given):
        return ZERO
    if not isinstance(given, Expression):
        raise InputError(
            f"convection: needs numbers or formulas, whose derivatives are known; got {type(given).__name__}"
        )
    return jet_of(given, coordinates, (axis,), bends=True).gradient[0]


def balance(reaction: Coefficient, convection: tuple[Coefficient, ...] | None, weight: float) -> Coefficient:
    """The data c − weight ∇·b; c itself where b has no divergence by its formulas."""
    # varying.md, step 1c
    if convection is None or not any(_along(b, i) for i, b in enumerate(convection)):
        return reaction
    return Balance(reaction, convection, weight)


def _along(given: Any, axis: int) -> bool:
    """Whether a coefficient depends on this coordinate."""
    if not callable(given):
        return False
    return not isinstance(given, Expression) or given.variables[axis] in given.variables_used


@dataclass(frozen=True, eq=False)
class Field(AbstractRows):
    """A vector field q on some cells, known to a proved error: β is (n, pairs, d), bounds are by component, (n, d)."""

    __repr__ = brief
