"""What a solver is: set up once, solve many right-hand sides, also transposed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import CertificationError, InputError, PinnpointError


class NotDefiniteError(InputError):
    """A Cholesky factorization met a pivot that is not positive."""

    @classmethod
    def of(cls, name: str) -> NotDefiniteError:
        """What a named solver has to say."""
        return cls(
            f"solver: {name!r} needs a symmetric positive definite matrix, and this one is not positive definite; "
            "use solver='auto' or 'superlu', which take any regular matrix"
        )


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
    if asked is None:
        return max(1, count)
    said = asked(count) if callable(asked) else asked
    try:
        found = float(said)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not (callable(asked) and math.isfinite(found)):
        raise InputError(
            f"solver: width of {type(solver).__name__} must be a method that returns how many right-hand sides to hand "
            f"over at a time, a number of at least 1; got {said!r}"
        )
    return max(1, int(found))


def answer(solve: Callable[[Vector], Vector], b: Vector, *, guard: bool = True) -> Vector:
    """What a solver says, as finite floats of the right shape.

    It gets a copy of b, since many overwrite their right-hand sides and b may be part of a proof; without `guard`, for
    backends known to leave it alone, b itself.

    NaN, infinity and numerical failures become zeros, which can only widen an interval; an answer that is not an
    array of the right shape is refused, and so is a solver that fails for another reason.
    """
    if not np.all(np.isfinite(b)):
        return np.zeros_like(b)
    try:
        with np.errstate(all="ignore"):
            x = np.asarray(solve(b.copy(order="K") if guard else b))
    except (ArithmeticError, np.linalg.LinAlgError, RuntimeError):
        return np.zeros_like(b)
    except (MemoryError, PinnpointError):
        raise
    except Exception as error:
        name = type(getattr(solve, "__self__", solve)).__name__
        raise CertificationError(
            f"solver: {name} failed on a right-hand side of shape {b.shape} with {type(error).__name__}: {error}"
        ) from error
    if x.shape != b.shape or x.dtype.kind not in "fiu":
        raise CertificationError(
            f"solver: returned an array of shape {x.shape} and type {x.dtype} for a right-hand side of shape {b.shape}"
        )
    x = x.astype(np.float64, copy=False)
    return x if np.all(np.isfinite(x)) else np.where(np.isfinite(x), x, 0.0)
