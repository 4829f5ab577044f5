"""CHOLMOD as it comes inside CVXOPT's wheels (extra ``cvxopt``): no compiler and no headers are needed.

CVXOPT is under the GNU General Public License, version 3: an extra that users choose, never a requirement.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Matrix, Vector
from pinnpoint.base.errors import DependencyMissingError
from pinnpoint.solvers.cholmod import BLOCK
from pinnpoint.solvers.direct import refuse_singular
from pinnpoint.solvers.graphs import solid_order
from pinnpoint.solvers.protocol import NotDefiniteError

SUPERNODAL = {"supernodal": 2, "print": 0}
"""LLᵀ by supernodes: the simplicial kind factorises indefinite matrices without a word."""


class WheelCholmod:
    """B = R Rᵀ for a symmetric positive definite matrix; other matrices raise `NotDefiniteError`.

    Parameters
    ----------
    points
        Where the unknowns are: nested dissection by coordinates makes the factor of a solid up to three times cheaper;
        without them distances in the graph serve.
    """

    name = "CHOLMOD of CVXOPT"
    accurate = True

    def __init__(self, B: Matrix, points: Vector | None = None) -> None:
        self._B, self._points, self._factor = B, points, _factorize(B, points)
        self._alone = threading.Lock()  # CHOLMOD's workspace serves one call at a time
        refuse_singular(B, self.solve, self.solve)

    def solve(self, b: Vector) -> Vector:
        """B⁻¹ b."""
        from cvxopt import cholmod, matrix

        columns = np.array(b, dtype=np.float64, order="F").reshape(len(b), -1, order="F")
        with self._alone:
            x = matrix(columns)
            cholmod.solve(self._factor, x)
        return np.asarray(x).reshape(b.shape)

    solve_transposed = solve

    def __reduce__(self) -> tuple[Any, ...]:
        """The factor belongs to the process; a copy makes its own."""
        return WheelCholmod, (self._B, self._points)

    def width(self, count: int) -> int:
        """How many of so many right-hand sides to hand over at a time; more would only take memory."""
        return -(-count // max(1, -(-count // BLOCK)))

    @staticmethod
    def definite(C: Matrix, points: Vector | None = None) -> bool | Callable[[], Index]:
        """False unless a floating-point Cholesky factorization of C ran to its end, else how to count its rows."""
        try:
            factor = _factorize(C, points)
        except NotDefiniteError:
            return False
        return partial(_rows, factor, C.shape[0])


@dataclass(frozen=True, eq=False)
class PlacedCholesky:
    """Factorizations of matrices whose unknowns are at the same places."""

    points: Vector | None

    def __call__(self, B: Matrix) -> WheelCholmod:
        """A solver for B."""
        return WheelCholmod(B, self.points)

    def definite(self, C: Matrix) -> bool | Callable[[], Index]:
        """False unless a floating-point Cholesky factorization of C ran to its end, else how to count its rows."""
        return WheelCholmod.definite(C, self.points)


def _rows(factor: Any, n: int) -> Index:
    """Stored entries of each row of a factor, zeros among them."""
    from cvxopt import cholmod

    return np.bincount(np.asarray(cholmod.getfactor(factor).CCS[1]).ravel(), minlength=n)


def _factorize(B: Matrix, points: Vector | None) -> Any:
    try:
        from cvxopt import cholmod, matrix, spmatrix
    except ImportError as error:
        raise DependencyMissingError(
            "solver: 'cvxopt' needs CVXOPT (GPL-3, wheels of 15 to 20 MB); pip install 'pinnpoint[cvxopt]'"
        ) from error
    lower = sp.coo_array(sp.tril(B))
    order = solid_order(B, points)
    cholmod.options.update(SUPERNODAL)
    try:
        A = spmatrix(lower.data, lower.row, lower.col, B.shape)
        factor = cholmod.symbolic(A) if order is None else cholmod.symbolic(A, matrix(order.astype(np.int64)))
        cholmod.numeric(A, factor)
    except ArithmeticError as error:
        raise NotDefiniteError.of("cvxopt") from error
    return factor
