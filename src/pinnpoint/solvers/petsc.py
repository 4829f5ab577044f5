"""PETSc in one process: conjugate gradients with GAMG, or whatever PETSc's options ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector, is_symmetric
from pinnpoint.base.errors import DependencyMissingError

PREFIX = "pinnpoint_"
"""Options such as ``-pinnpoint_pc_type`` reach the solver."""


class Petsc:
    """A KSP for one matrix: CG where it is symmetric, else GMRES."""

    name = "PETSc"
    accurate = False

    def __init__(self, B: Matrix, modes: Vector | None = None, tolerance: float = 1e-9, iterations: int = 1000) -> None:
        try:
            from petsc4py import PETSc
        except ImportError as error:
            raise DependencyMissingError(
                "solver: 'petsc' needs petsc4py; install PETSc with your system's packages (python3-petsc4py)"
            ) from error
        self._petsc, self._given = PETSc, (B, modes, tolerance, iterations)
        C = sp.csr_matrix(B)
        kind = PETSc.IntType
        parts = (C.indptr.astype(kind), C.indices.astype(kind), C.data)
        self._A = PETSc.Mat().createAIJ(size=C.shape, csr=parts, comm=PETSc.COMM_SELF)
        if modes is not None:
            basis = np.linalg.qr(modes)[0]
            vectors = [PETSc.Vec().createWithArray(np.ascontiguousarray(v), comm=PETSc.COMM_SELF) for v in basis.T]
            self._A.setNearNullSpace(PETSc.NullSpace().create(vectors=vectors, comm=PETSc.COMM_SELF))
        symmetric = is_symmetric(B)
        self._ksp = PETSc.KSP().create(PETSc.COMM_SELF)
        self._ksp.setOptionsPrefix(PREFIX)
        self._ksp.setOperators(self._A)
        self._ksp.setType("cg" if symmetric else "gmres")
        self._ksp.getPC().setType("gamg" if symmetric else "ilu")
        self._ksp.setTolerances(rtol=tolerance, max_it=iterations)
        self._ksp.setFromOptions()
        self._ksp.setUp()

    def __reduce__(self) -> tuple[Any, ...]:
        """PETSc's objects belong to the process; a copy makes its own."""
        return Petsc, self._given

    def solve(self, b: Vector) -> Vector:
        """Approximate B⁻¹ b, column by column."""
        return self._each(b, self._ksp.solve)

    def solve_transposed(self, b: Vector) -> Vector:
        """Approximate B⁻ᵀ b, column by column."""
        return self._each(b, self._ksp.solveTranspose)

    def _each(self, b: Vector, run: Any) -> Vector:
        right, left = self._A.createVecs()
        out = np.empty(b.shape)
        for column, into in zip(np.atleast_2d(b.T), np.atleast_2d(out.T), strict=True):
            left.setArray(column)
            run(left, right)
            into[:] = right.getArray()
        return out
