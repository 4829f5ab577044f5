"""CHOLMOD's sparse Cholesky factorization, through scikit-sparse (extra ``cholmod``)."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Matrix, Vector
from pinnpoint.base.errors import DependencyMissingError
from pinnpoint.solvers.direct import refuse_singular
from pinnpoint.solvers.protocol import NotDefiniteError

BLOCK = 16
"""Right-hand sides to solve for at once."""
REFERENCE = re.compile(r"^.*/libblas\.so[.\d]*$", flags=re.M)
"""Libraries of BLAS that may be the reference one; quick ones stand under this name in folders that name them."""
QUICK = re.compile(r"openblas|mkl|blis|atlas|flexiblas", flags=re.I)


class Cholmod:
    """B = R Rᵀ for a symmetric positive definite matrix; other matrices raise `NotDefiniteError`.

    The supernodal kind is asked for: the simplicial one factorises indefinite matrices without a word.
    """

    name = "CHOLMOD"
    accurate = True

    def __init__(self, B: Matrix) -> None:
        self._B, self._factor = B, _factorize(B)
        self._alone = threading.Lock()  # CHOLMOD's workspace serves one call at a time
        refuse_singular(B, self.solve, self.solve)

    def solve(self, b: Vector) -> Vector:
        """B⁻¹ b."""
        with self._alone:
            return np.asarray(self._factor(np.asfortranarray(b)))

    solve_transposed = solve

    def __reduce__(self) -> tuple[Any, ...]:
        """The factor belongs to the process; a copy makes its own."""
        return Cholmod, (self._B,)

    def width(self, count: int) -> int:
        """How many of so many right-hand sides to hand over at a time; more would only take memory."""
        return -(-count // max(1, -(-count // BLOCK)))

    @staticmethod
    def definite(C: Matrix) -> bool | Callable[[], Index]:
        """False unless a floating-point Cholesky factorization of C ran to its end, else how to count its rows."""
        try:
            factor = _factorize(C)
        except NotDefiniteError:
            return False
        return lambda: np.bincount(factor.L().indices, minlength=C.shape[0])


def on_reference_blas(maps: Path = Path("/proc/self/maps")) -> bool:
    """Whether CHOLMOD was linked to the reference BLAS, which multiplies several times slower than others.

    Seen in what is loaded with it; where that cannot be read, it counts as quick. Only time depends on it.
    """
    try:
        import sksparse.cholmod  # noqa: F401

        loaded = maps.read_text(encoding="utf-8", errors="replace")
    except (ImportError, OSError):
        return False
    return any(not QUICK.search(path) for path in REFERENCE.findall(loaded))


def by_columns(B: Matrix) -> Any:
    """A symmetric matrix by columns: the arrays of its rows, which are the same."""
    if B.format != "csr" or not B.has_canonical_format:
        return sp.csc_matrix(B)
    return sp.csc_matrix((B.data, B.indices, B.indptr), shape=B.shape)


def _factorize(B: Matrix) -> Any:
    try:
        from sksparse.cholmod import CholmodError, CholmodOutOfMemoryError, cholesky
    except ImportError as error:
        raise DependencyMissingError(
            "solver: 'cholmod' needs scikit-sparse; pip install 'pinnpoint[cholmod]' (and SuiteSparse's headers)"
        ) from error
    try:
        return cholesky(by_columns(B), mode="supernodal")
    except CholmodOutOfMemoryError as error:
        raise MemoryError("CHOLMOD's factor") from error
    except CholmodError as error:
        raise NotDefiniteError.of("cholmod") from error
