"""What is asked: affine functionals of the coefficient vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.arrays import Vector, distinct_names, matrix, per_query
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
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        L = matrix("L", L)
        if L.shape[0] == 0:
            raise InputError("L: holds no query")
        put("L", L)
        put("names", distinct_names(names, L.shape[0]))
        put("constants", per_query("constants", constants, L.shape[0]))
        if error is not None:
            error = abs(L) * (float(error) * (1.0 + 2.0**-50)) if np.isscalar(error) else matrix("error", error)
            if error.shape != L.shape or (error.nnz and float(error.data.min()) < 0.0):
                raise InputError(f"error: must be ≥ 0 and have L's shape {L.shape}; got shape {error.shape}")
        put("error", error)
        if points is not None:
            points = np.asarray(points, dtype=np.float64)
            points = points[:, None] if points.ndim == 1 else points
            if points.ndim != 2 or points.shape[0] != L.shape[0] or not np.all(np.isfinite(points)):
                raise InputError(f"points: must be {L.shape[0]} finite points; got shape {points.shape}")
        put("points", points)

    def __len__(self) -> int:
        return int(self.L.shape[0])
