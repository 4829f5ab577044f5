"""PETSc and DOLFINx matrices and vectors: AIJ (CSR), BAIJ and SBAIJ (blocks), `la.MatrixCSR`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector, has
from pinnpoint.base.errors import InputError
from pinnpoint.io.adapters.assembled import from_assembled
from pinnpoint.systems.linear import LinearSystem


def from_petsc(A: Any, b: Any, free: Any = None, **options: Any) -> LinearSystem:
    """The system of a PETSc or DOLFINx matrix on one process; arguments as in `from_assembled`.

    DOLFINx's `assemble_matrix(a, bcs=bcs)` with `apply_lifting` and `set_bc` leaves identity rows, which are found;
    `fixed` are then the conditions' degrees of freedom, unrolled to entries for vector-valued spaces.
    """
    return from_assembled(csr_of(A), array_of(b), free, **options)


def csr_of(A: Any) -> Any:
    """A matrix as SciPy's CSR, with blocks opened."""
    if has(A, "getValuesCSR"):
        _require_one_process(A)
        if A.getType() not in ("seqaij", "aij"):
            A = A.convert("aij")
        indptr, indices, data = A.getValuesCSR()
        return _real(sp.csr_array((data.copy(), indices.copy(), indptr.copy()), shape=A.getSize()))
    if has(A, "to_scipy"):
        return _real(sp.csr_array(A.to_scipy()))
    if sp.issparse(A):
        return _real(sp.csr_array(A))
    if has(A, "data", "indices", "indptr"):  # MatrixCSR before DOLFINx 0.6
        data, indices, indptr = np.array(A.data), np.array(A.indices), np.array(A.indptr)
        return _real(sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1,) * 2))
    raise InputError(f"A: must be a PETSc matrix or a DOLFINx MatrixCSR; got {type(A).__name__}")


def array_of(b: Any) -> Vector:
    """A vector's entries."""
    if has(b, "getArray"):
        _require_one_process(b)
        return np.array(_real(b.getArray()))
    return np.array(_real(np.asarray(b.array if has(b, "array") else b)))


def _require_one_process(x: Any) -> None:
    size = int(x.getComm().getSize())
    if size > 1:
        raise InputError(f"A: is spread over {size} processes; gather it on one, e.g. with A.getRedundantMatrix")


def _real(x: Any) -> Any:
    if np.issubdtype(x.dtype, np.complexfloating):
        raise InputError("A: complex PETSc builds are not supported; use one with real scalars")
    return x
