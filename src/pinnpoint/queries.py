"""What is asked: affine functionals of the coefficient vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pinnpoint.arrays import Vector, dimensions, distinct_names, matrix, number, per_query, point_list, set_fields
from pinnpoint.errors import InputError


@dataclass(frozen=True, eq=False)
class Queries:
    """K functionals ℓ_iᵀU + constant_i.

    Parameters
    ----------
    L
        K × N, dense or sparse: row i is ℓ_i.
    names
        One per query, all different; q0, q1, … by default.
    constants
        Added to each value, for affine functionals.
    error
        Entrywise bounds |Δℓ| ≤ e_ℓ, shape of L; every functional within them is certified. A number stands for
        that multiple of |L|.
    points
        Where each query sits, K × d, for localization and reports.
    """

    L: Any
    names: tuple[str, ...]
    constants: Vector
    error: Any | None
    points: Vector | None

    def __init__(
        self,
        L: Any,
        names: Sequence[str] | None = None,
        constants: Any = 0.0,
        *,
        error: Any | None = None,
        points: Any | None = None,
    ) -> None:
        L = matrix("L", L)
        if L.shape[0] == 0:
            raise InputError("L: holds no query; give at least one row")
        if error is not None:
            if dimensions("error", error) == 0:
                error = abs(L) * (number("error", error, low=0.0) * (1.0 + 2.0**-50))
            error = matrix("error", error)
            if error.shape != L.shape:
                raise InputError(f"error: must have L's shape {L.shape}; got shape {error.shape}")
            if error.nnz and float(error.data.min()) < 0.0:
                raise InputError(f"error: must be ≥ 0; got {float(error.data.min())!r}")
        set_fields(
            self,
            L=L,
            names=distinct_names(names, L.shape[0]),
            constants=per_query("constants", constants, L.shape[0]),
            error=error,
            points=None if points is None else point_list("points", points, L.shape[0]),
        )

    def __len__(self) -> int:
        return int(self.L.shape[0])
