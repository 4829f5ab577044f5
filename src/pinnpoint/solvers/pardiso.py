"""MKL PARDISO, through pypardiso (extra ``pardiso``)."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector, is_symmetric
from pinnpoint.base.errors import DependencyMissingError
from pinnpoint.solvers.direct import refuse_singular, singular
from pinnpoint.solvers.protocol import NotDefiniteError

DEFINITE, GENERAL = 2, 11
"""PARDISO's numbers for real symmetric positive definite and real nonsymmetric matrices."""
TRANSPOSED, SOLVE = 12, 33
"""The parameter, counted from one, that asks for solves with the transposed matrix, and the phase of solving."""
NO_MEMORY = (-2, -9)
"""Its errors that mean so."""

BLOCK = 32
"""Right-hand sides to solve for at once."""


class Pardiso:
    """Cholesky where B is symmetric, else LU; a symmetric B that is not positive definite raises `NotDefiniteError`."""

    name = "PARDISO"
    accurate = True

    def __init__(self, B: Matrix) -> None:
        self._given, self._symmetric = B, is_symmetric(B)
        self._solver, self._B = _factorize(B, DEFINITE if self._symmetric else GENERAL)
        self._alone = threading.Lock()
        refuse_singular(B, self.solve, self.solve_transposed)

    def solve(self, b: Vector) -> Vector:
        """B⁻¹ b."""
        with self._alone:
            return np.asarray(self._solver.solve(self._B, np.asfortranarray(b))).reshape(b.shape)

    def solve_transposed(self, b: Vector) -> Vector:
        """B⁻ᵀ b."""
        if self._symmetric:
            return self.solve(b)
        with self._alone:  # pypardiso's own solve sets this parameter itself
            self._solver.set_iparm(TRANSPOSED, 2)
            self._solver.set_phase(SOLVE)
            return np.asarray(self._solver._call_pardiso(self._B, np.asfortranarray(b))).reshape(b.shape)

    def __reduce__(self) -> tuple[Any, ...]:
        """The factor belongs to the process; a copy makes its own."""
        return Pardiso, (self._given,)

    def width(self, count: int) -> int:
        """How many of so many right-hand sides to hand over at a time; more would only take memory."""
        return min(count, BLOCK)

    @staticmethod
    def definite(C: Matrix) -> bool:
        """Whether a floating-point Cholesky factorization of C ran to its end."""
        try:
            solver, _ = _factorize(C, DEFINITE)
        except NotDefiniteError:
            return False
        solver.free_memory(everything=True)
        return True

    def __del__(self) -> None:
        solver = self.__dict__.get("_solver")
        if solver is not None and not sys.is_finalizing():
            solver.free_memory(everything=True)


def _factorize(B: Matrix, kind: int) -> tuple[Any, Any]:
    try:
        from pypardiso import PyPardisoSolver
        from pypardiso.pardiso_wrapper import PyPardisoError
    except ImportError as error:
        raise DependencyMissingError(
            "solver: 'pardiso' needs pypardiso (with MKL, about 1 GB); pip install 'pinnpoint[pardiso]'"
        ) from error
    if kind == DEFINITE and not float(B.diagonal().min()) > 0.0:
        raise NotDefiniteError.of("pardiso")
    stored = sp.csr_matrix(sp.triu(B) if kind == DEFINITE else B)
    if not np.all(np.diff(stored.indptr)):  # PARDISO would read beyond them
        raise singular(B.shape[0], "it has empty rows")
    stored.sort_indices()
    solver = PyPardisoSolver(mtype=kind)
    try:
        solver.factorize(stored)
    except PyPardisoError as error:
        if error.value in NO_MEMORY:
            raise MemoryError("PARDISO's factor") from error
        if kind == DEFINITE:
            raise NotDefiniteError.of("pardiso") from error
        raise NotDefiniteError(
            f"solver: 'pardiso' could not factorise the matrix (error {error.value}); it may be singular or badly "
            "scaled; use solver='superlu'"
        ) from error
    return solver, stored
