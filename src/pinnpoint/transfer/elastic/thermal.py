"""Thermal expansion: the stress κϑ I that a change ϑ of temperature would cause in a body that cannot move.

σ(u) = Cε(u) − κϑ I with κ = Eα/(1 − 2ν), in plane stress Eα/(1 − ν), so that a(u, w) = L(w) + ∫ κϑ div w.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.models.smooth import Models, SmoothField, model_at
from pinnpoint.models.vector_lifts import Sum
from pinnpoint.rounding.arithmetic import gamma, sum_up, up
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.inputs import enclosed, fixed
from pinnpoint.taylor.jets import jet_of
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.simplices import enclose

ROUNDED = gamma(4)
"""Of κ: a subtraction of floats, two products and a quotient."""


@dataclass(frozen=True, eq=False)
class Thermal:
    """κ on each cell, floats that are true to `ROUNDED`, and ϑ.

    Attributes
    ----------
    temperature
        A number, a formula or a function of points; or one number for each vertex, between which ϑ is linear.
    """

    kappa: Vector
    temperature: Any
    slopes: tuple[Any, ...] | None = field(init=False)
    """∂ϑ/∂x_i, where formulas have it."""

    __repr__ = brief

    def __post_init__(self) -> None:
        given, slopes = self.temperature, None
        if isinstance(given, Expression) and fixed(given) is None:
            used = given.variables_used
            slopes = tuple(SmoothField(partial(_slope, given, i)) if a in used else 0.0 for i, a in enumerate("xyz"))
        elif not isinstance(given, np.ndarray) and fixed(given) is not None:
            slopes = (0.0, 0.0, 0.0)
        object.__setattr__(self, "slopes", slopes)

    def scaled(self, theta: Density) -> Density:
        """κϑ from ϑ on all cells, with the rounding of κ and of the product."""
        k = np.abs(self.kappa)
        top = np.abs(theta.coefficients).max(axis=1) + theta.high + theta.error2
        off = up((ROUNDED + gamma(4)) * k * top, 8)  # elasticity.md, step 12b
        one, two = (np.asarray(up(k * e + off, 4)) for e in (theta.error1, theta.error2))
        rows, high = theta.coefficients * self.kappa[:, None], np.asarray(up(k * theta.high, 4))
        return Density(rows, high, one, two, theta.cells, theta.proved)

    def at(self, x0: Vector, cell: int) -> tuple[float, float]:
        """κϑ at a point of a cell, and a bound of its error."""
        value, error = (float(a[0]) for a in enclose(self.temperature, x0[None, :]))
        k = float(self.kappa[cell])
        # elasticity.md, step 12d
        return k * value, float(up(abs(k) * (error + (ROUNDED + gamma(4)) * (abs(value) + error)), 8))

    def pulled(self, body: Sequence[Any], cell: int, name: str) -> tuple[Any, ...]:
        """F − κ∇ϑ with the κ of a cell; refuses a query at a point where ∇ϑ is not known."""
        if self.slopes is None:
            raise InputError(
                f"query '{name}': values at points and averages over balls need a temperature with known derivatives, "
                "a number or a formula; ask for averages over cells or boundary groups"
            )
        k = float(self.kappa[cell])
        kappa = constant(k, float(up(ROUNDED * abs(k))))  # elasticity.md, step 12d
        found = []
        for f, slope in zip(body, self.slopes, strict=False):
            known = not callable(f) or enclosed(f)
            pull = SmoothField(partial(_pull, f if known else 0.0, slope, kappa))
            found.append(f if not callable(slope) else pull if known else Sum(f, pull))
        return tuple(found)


def mean(weight: Density, cells: Index, volumes: Vector, slack: Vector) -> tuple[float, float]:
    """The average of a density over cells, and a bound of its error; volumes are known up to their relative slack."""
    volumes, slack = volumes[cells], slack[cells]
    rows = weight.coefficients[cells]
    loose = float(np.max(slack))
    if not loose < 0.25:
        return 0.0, math.inf
    size = math.fsum(volumes.tolist())
    value = math.fsum((volumes * rows.mean(axis=1)).tolist()) / size
    each = volumes * (1.0 + slack) * (weight.error1[cells] + (2.0 * slack + gamma(40)) * np.abs(rows).max(axis=1))
    error = sum_up(up(each, 8)) / size * (1.0 + 2.0 * loose) + (2.0 * loose + gamma(8)) * abs(value)
    return value, float(up(error, 16))  # elasticity.md, step 12c


def _pull(f: Any, slope: SmoothField, kappa: TaylorModel, coordinates: Models) -> TaylorModel:
    return model_at(f, coordinates) - kappa * slope.model(list(coordinates))


def _slope(given: Expression, i: int, coordinates: Models) -> TaylorModel:
    return jet_of(given, coordinates, (i,)).gradient[0]
