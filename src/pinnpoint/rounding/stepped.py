"""Stability of steps in time: sums over time of lengths of a level, for |sᵀB⁻¹ρ| ≤ left(s) · right(ρ)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import at_most, dot_up, down, gamma, norm_up, up
from pinnpoint.rounding.balls import Ball
from pinnpoint.rounding.forms import DiagonalForm, Form
from pinnpoint.rounding.stability import dual_from


@dataclass(frozen=True, eq=False)
class Stepped:
    """|sᵀB⁻¹ρ| ≤ Σ_c w_c ‖Ds_c‖/√μ · Σ_r v_r ‖Dρ_r‖/√μ, levels c and rows r with as many unknowns each.

    Parameters
    ----------
    columns, rows
        w and v, one for each level and for each row.
    scale
        D, powers of two, one for each unknown of a level.
    mu
        μ with M ⪰ μD⁻².
    fingerprint
        Of the matrix that it was proved for.
    """

    columns: Vector
    rows: Vector
    scale: Vector
    mu: float
    claim: str
    fingerprint: str
    status: str = "verified"
    made_of: Any = None
    """The matrices of one level and the steps, for another program."""

    __repr__ = brief

    def left(self, s: Ball) -> float:
        """The query's factor."""
        return self._length(s, self.columns)

    def right(self, rho: Ball) -> float:
        """The state's factor."""
        return self._length(rho, self.rows)

    def _length(self, v: Ball, weights: Vector) -> float:
        n = self.scale.size
        m = up(v.magnitude().reshape(weights.size, n) * self.scale)
        squares = np.einsum("rn,rn->r", m, m)
        each = up(np.sqrt(up(squares * (1.0 + 2.0 * gamma(n + 1)))))  # stepping.md, step 2a
        return at_most(up(dot_up(np.asarray(each), weights) / down(math.sqrt(self.mu))))  # stepping.md, step 2d

    def green_error(self, left: float, form: Form) -> float:
        """Upper bound of ‖B⁻ᵀs‖_{W⁻¹}: row r of it is at most left(s) v_r in the norm of M."""
        return self._far(left, self.rows, form)

    def solution_norm(self, rho: Ball, right: float) -> float:
        """Upper bound of ‖B⁻¹ρ‖₂."""
        return self._far(right, self.columns, DiagonalForm())

    def _far(self, length: float, weights: Vector, form: Form) -> float:
        whole = float(up(length * norm_up(weights) / down(math.sqrt(self.mu))))  # stepping.md, step 2e
        return dual_from(form, whole, DiagonalForm(np.tile(self.scale**-2.0, weights.size)))
