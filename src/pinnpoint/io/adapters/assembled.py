"""An assembled matrix and load with Dirichlet conditions, however they were put in.

Write f for the free entries and d for the others, with values g. All treatments lead to the equations

    A_ff u_f + A_fd g = b_f,

because the rows f are as assembled, or with the columns d moved to the load. So the system is tested with the free
entries, U = g on d, and only g has to be found:

=========== ==================================================== ==============================================
treatment   what A and b are                                     g
=========== ==================================================== ==============================================
full        as assembled, N × N                                  must be given
eliminated  A_ff, and b_f − A_fd g                               must be given; it only completes U
identity    rows d are multiples of unit rows (columns may stay)  b_d over the diagonal; `values` must agree
penalty     diagonals of d are huge                              must be given unless b_d = 0; the load must fit
=========== ==================================================== ==============================================
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Matrix, Vector, has, matrix, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.spaces import AdmissibleSpace

PENALTY, PLAIN = 1e6, 1e2
"""A row is penalized when its diagonal is so many times its largest other entry, and plain below the other."""
AGREE = 1e-12
"""Values given twice may differ by so much, relative to the largest."""


class Treatment(StrEnum):
    """How Dirichlet conditions were put into a matrix."""

    FULL = "full"
    ELIMINATED = "eliminated"
    IDENTITY = "identity"
    PENALTY = "penalty"

    __repr__ = brief


WHY = {
    Treatment.FULL: "the fixed rows are plain",
    Treatment.ELIMINATED: "the fixed rows were eliminated",
    Treatment.PENALTY: "the diagonals of the fixed rows are penalized",
}


def from_assembled(
    A: Matrix,
    b: ArrayLike,
    free: ArrayLike | None = None,
    *,
    fixed: ArrayLike | None = None,
    values: ArrayLike | None = None,
    treatment: str | None = None,
    weight: ArrayLike | None = None,
) -> LinearSystem:
    """The system of an assembled matrix whose Dirichlet rows were treated in one of the usual ways.

    Parameters
    ----------
    A, b
        Matrix and load, N × N, or n × n for the n free entries alone.
    free, fixed
        Indices or a mask of the free entries, or of the others: one of the two. For an eliminated matrix give `free`
        in the numbering of all N entries, or a mask of length N.
    values
        Dirichlet values: one number, one per fixed entry in increasing order, or a vector of length N.
    treatment
        "full", "eliminated", "identity" or "penalty"; found from the matrix by default, and refused where it is not
        plain. ``system.space.project(U).U`` makes any vector of length N admissible.
    """
    A = matrix("A", A)
    if A.shape[0] != A.shape[1]:
        raise InputError(f"A: must be square; got shape {A.shape}")
    A.eliminate_zeros()
    b = vector("b", b, A.shape[0])
    if (free is None) == (fixed is None):
        raise InputError("free: say which entries are free, or which are fixed: exactly one of free= and fixed=")
    N, free_rows = _numbering(A.shape[0], free, fixed, values)
    held = np.setdiff1d(np.arange(N), free_rows)
    if not held.size:
        return LinearSystem(A, b, weight=weight)
    how = _treatment(treatment, A, held, N)
    g = _given(values, held, N)
    if how is Treatment.IDENTITY:
        with np.errstate(over="ignore"):  # refused with the space
            g = _agreed(b[held] / A.diagonal()[held], g, held)
    elif how is Treatment.PENALTY and g is None and not np.any(b[held]):
        g = np.zeros(held.size)
    if g is None:
        raise InputError(f"values: {WHY[how]}, so the matrix does not say the Dirichlet values; give them")
    if how is Treatment.PENALTY:
        _require_fit(A, b, held, g)
    elif how is Treatment.ELIMINATED:
        A, b = _embedded(A, b, free_rows, N)
    space = AdmissibleSpace.dirichlet(N, held, g)
    return LinearSystem(A, b, space=space, weight=weight, reduction="galerkin")


def _numbering(size: int, free: Any, fixed: Any, values: ArrayLike | None) -> tuple[int, Index]:
    """The number of all entries, and the free ones in increasing order."""
    given, name = (free, "free") if fixed is None else (fixed, "fixed")
    a = np.asarray(given.flatten() if has(given, "flatten") and not isinstance(given, np.ndarray) else given)
    if a.dtype == bool:
        N, rows = a.size, np.flatnonzero(a)
    elif a.ndim == 1 and (a.dtype.kind in "iu" or not a.size):
        rows = np.unique(a.astype(np.intp))
        if rows.size < a.size:
            raise InputError(f"{name}: an entry is listed twice")
        if rows.size and rows[0] < 0:
            raise InputError(f"{name}: must be indices ≥ 0; got {int(rows[0])}")
        last = int(rows[-1]) + 1 if rows.size else 0
        full = np.size(values) if values is not None and np.ndim(values) == 1 else 0
        if name == "free":
            N = max(size, last) if rows.size != size else max(last, full if full > size else 0)
        else:
            N = size if last <= size else size + rows.size
    else:
        raise InputError(f"{name}: must be indices or a mask; got {a.dtype} of shape {a.shape}")
    free_rows = rows if name == "free" else np.setdiff1d(np.arange(N), rows)
    if size not in (N, free_rows.size) or (rows.size and rows[-1] >= N):
        raise InputError(
            f"{name}: {free_rows.size} free of {N} entries do not fit a matrix of size {size}; an eliminated matrix "
            "has one row per free entry"
        )
    if not free_rows.size:
        raise InputError(f"{name}: nothing is free")
    return N, free_rows


def _treatment(asked: str | None, A: Matrix, held: Index, N: int) -> Treatment:
    if asked is not None and asked not in list(Treatment):
        raise InputError(f"treatment: must be one of {', '.join(Treatment)}; got {asked!r}")
    if A.shape[0] != N:
        found = {Treatment.ELIMINATED}
    else:
        found = _seen(A, held, asked)
    mixed = asked == Treatment.IDENTITY and len(found) > 1  # only unit rows say their values
    if asked is not None and (Treatment(asked) not in found or mixed):
        raise InputError(f"treatment: '{asked}' was asked for, but the matrix looks {' and '.join(sorted(found))}")
    if asked is None and len(found) > 1:
        raise InputError(
            f"treatment: the fixed rows look {' and '.join(sorted(found))}; say treatment= if one of them is meant, or "
            "treat all rows alike"
        )
    return Treatment(asked) if asked is not None else found.pop()


def _seen(A: Matrix, held: Index, asked: str | None) -> set[Treatment]:
    """The treatments that the fixed rows show."""
    rows = abs(A[held])
    diagonal = np.abs(A.diagonal()[held])
    other = sp.csr_array((rows.data.copy(), rows.indices.copy(), rows.indptr.copy()), shape=rows.shape)
    other.data[other.indices == np.repeat(held, np.diff(other.indptr))] = 0.0
    largest = np.asarray(other.max(axis=1).todense()).ravel() if other.nnz else np.zeros(held.size)
    if np.any(diagonal == 0.0):
        raise InputError(f"A: row {int(held[np.argmax(diagonal == 0.0)])} is fixed and has no diagonal")
    unit, heavy = largest == 0.0, diagonal >= PENALTY * largest
    plain = diagonal < PLAIN * largest
    unclear = ~unit & ~heavy & ~plain
    if unclear.any() and asked is None:
        row = int(held[np.argmax(unclear)])
        ratio = float((diagonal / np.where(largest > 0, largest, 1.0))[np.argmax(unclear)])
        raise InputError(
            f"treatment: the diagonal of row {row} is {ratio:.1e} times its other entries, too much for a plain row "
            "and too little for a penalty; say treatment='full' or treatment='penalty'"
        )
    found = set()
    if unit.any():
        found.add(Treatment.IDENTITY)
    if (heavy & ~unit).any():
        found.add(Treatment.PENALTY)
    if plain.any():
        found.add(Treatment.FULL)
    if unclear.any():
        found |= {Treatment.FULL, Treatment.PENALTY}
    return found


def _given(values: ArrayLike | None, held: Index, N: int) -> Vector | None:
    if values is None:
        return None
    if np.ndim(values) == 0:
        return vector("values", np.full(held.size, values), held.size)
    if np.size(values) == N and N != held.size:
        return vector("values", values, N)[held]
    return vector("values", values, held.size)


def _agreed(found: Vector, given: Vector | None, held: Index) -> Vector:
    if given is None:
        return found
    off = np.abs(found - given)
    if np.any(off > AGREE * max(float(np.abs(given).max()), float(np.abs(found).max()))):
        k = int(np.argmax(off))
        raise InputError(
            f"values: entry {int(held[k])} is given as {float(given[k])!r}, but its identity row and load say "
            f"{float(found[k])!r}; which is meant?"
        )
    return given


def _require_fit(A: Matrix, b: Vector, held: Index, g: Vector) -> None:
    """A penalty's load over its diagonal is about the value: up to the stiffness and the load that it outweighs."""
    diagonal = A.diagonal()[held]
    found = b[held] / diagonal
    rest = np.delete(b, held)
    off = np.abs(found - g) - 1e-4 * float(np.abs(g).max()) - 10.0 * float(np.abs(rest).max()) / np.abs(diagonal)
    if np.any(off > 0.0):
        k = int(np.argmax(off))
        raise InputError(
            f"values: entry {int(held[k])} is given as {float(g[k])!r}, but its penalty and load say about "
            f"{float(found[k]):.6g}; which is meant?"
        )


def _embedded(A: Matrix, b: Vector, free: Index, N: int) -> tuple[Any, Vector]:
    """The eliminated matrix on vectors of all entries; the others' rows and columns are empty."""
    C = A.tocoo()
    whole = sp.csr_array((C.data, (free[C.row], free[C.col])), shape=(N, N))
    load = np.zeros(N)
    load[free] = b
    return whole, load
