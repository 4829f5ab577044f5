"""What a solver is: set up once, solve many right-hand sides, also transposed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from pinnpoint.errors import CertificationError, InputError
from pinnpoint.rounding.arithmetic import Vector


class NotDefiniteError(InputError):
    """A Cholesky factorization met a pivot that is not positive."""


class Solver(Protocol):
    """An approximate inverse of one matrix B, set up by its constructor.

    Two attributes are optional. ``accurate`` says that solves are backward stable, as direct ones are, so that they
    need no second solve for what the first one left. ``width(count)`` says how many of so many right-hand sides to
    hand over at a time; all of them by default.
    """

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


def is_accurate(solver: Solver | None) -> bool:
    """Whether a solver calls itself backward stable; nothing but the work of a second solve rests on it."""
    return bool(getattr(solver, "accurate", False))


def width(solver: Solver, count: int) -> int:
    """How many of so many right-hand sides to hand over at a time."""
    asked = getattr(solver, "width", None)
    return max(1, count if asked is None else int(asked(count)))


def answer(solve: Callable[[Vector], Vector], b: Vector, *, guard: bool = True) -> Vector:
    """What a solver says, as finite floats of the right shape.

    It gets a copy of b, since many overwrite their right-hand sides and b may be part of a proof; without `guard`, for
    backends known to leave it alone, b itself.

    NaN, infinity and numerical failures become zeros, which can only widen an interval; an answer that is not an
    array of the right shape is refused.
    """
    if not np.all(np.isfinite(b)):
        return np.zeros_like(b)
    try:
        with np.errstate(all="ignore"):
            x = np.asarray(solve(b.copy(order="K") if guard else b))
    except (ArithmeticError, np.linalg.LinAlgError, RuntimeError):
        return np.zeros_like(b)
    if x.shape != b.shape or x.dtype.kind not in "fiu":
        raise CertificationError(
            f"solver: returned an array of shape {x.shape} and type {x.dtype} for a right-hand side of shape {b.shape}"
        )
    x = x.astype(np.float64, copy=False)
    return x if np.all(np.isfinite(x)) else np.where(np.isfinite(x), x, 0.0)
