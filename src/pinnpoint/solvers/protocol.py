"""What a solver is: set up once, solve many right-hand sides, also transposed."""

from __future__ import annotations

from typing import Protocol

from pinnpoint.rounding.arithmetic import Vector


class Solver(Protocol):
    """An approximate inverse of one matrix B."""

    @property
    def name(self) -> str:
        """What it is called in reports."""
        ...

    def solve(self, b: Vector) -> Vector:
        """Approximate B⁻¹ b for a vector, or for the columns of a matrix."""
        ...

    def solve_transposed(self, b: Vector) -> Vector:
        """Approximate B⁻ᵀ b."""
        ...
