"""Admissible coefficient vectors U = U₀ + Z y: Dirichlet values, gauges, multi-point constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.typing import ArrayLike, NDArray

from pinnpoint.base.arrays import Matrix, Vector, frozen, matrix, set_fields, shown, vector, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.rounding.arithmetic import TINY, gamma, up
from pinnpoint.rounding.coercivity import verify_coercivity
from pinnpoint.rounding.matrices import product_up

ADMISSIBLE = 1e-10
"""A vector this close to the admissible set, relative to its largest entry, counts as one of its members."""

ROUNDED = 2.0**-44
"""Of coordinates in a general Z, relative to the largest entry."""


class Projection(NamedTuple):
    """The nearest admissible vector, its coordinates, and what was lost on the way."""

    U: Vector
    y: Vector
    mismatch: Vector
    """Given vector minus its projection, entry by entry; report its size, it is not part of any interval."""

    def __repr__(self) -> str:
        return brief(self)


@dataclass(frozen=True, eq=False)
class AdmissibleSpace:
    """The affine set U₀ + range Z (paper, eq. admissible_affine_space).

    Parameters
    ----------
    U0
        One admissible vector, length N.
    Z
        N × n with full column rank, which is verified: by an identity block, or by a factorization of ZᵀZ.
    notes
        How the constraints came about, where it is not plain; every certificate repeats them.
    """

    U0: Vector
    stored: Any = field(metadata={"name": "Z"})
    """Z as it is worked with; nobody else is to write into it."""
    notes: tuple[str, ...]

    __repr__ = brief

    def __init__(self, U0: ArrayLike, Z: Matrix, *, notes: Sequence[str] = ()) -> None:
        U0 = vector("U0", U0)
        Z = matrix("Z", Z)
        if Z.shape[0] != U0.size:
            raise InputError(f"Z: must have {U0.size} rows, one per entry of U0; got shape {Z.shape}")
        if not 0 < Z.shape[1] <= Z.shape[0]:
            raise InputError(f"Z: must have between 1 and {Z.shape[0]} columns; got {Z.shape[1]}")
        set_fields(self, U0=U0, stored=Z, notes=tuple(notes))
        if self.free is not None:
            U0[self.free] = 0.0  # the same set, and y is then exactly U[free]
        if self.free is None and not _has_identity_block(Z):
            _require_full_rank(Z)
        frozen(U0, self.free, self.fixed)

    @property
    def Z(self) -> Any:
        """The directions, which cannot be written into."""
        return shown(self.stored)

    @classmethod
    def unconstrained(cls, n: int) -> AdmissibleSpace:
        """Every vector of length n."""
        n = whole("n", n, low=1)
        return cls(np.zeros(n), sp.eye_array(n, format="csr"))

    @classmethod
    def dirichlet(
        cls, n: int, dofs: ArrayLike, values: ArrayLike = 0.0, *, notes: Sequence[str] = ()
    ) -> AdmissibleSpace:
        """Vectors of length n whose entries `dofs` have the given values.

        `dofs` are indices, or a mask of length n.
        """
        n = whole("n", n, low=1)
        try:
            dofs = np.asarray(dofs)
        except ValueError as error:
            raise InputError(f"dofs: must be a list of integers or a mask ({error})") from error
        if dofs.dtype == bool:
            if dofs.shape != (n,):
                raise InputError(f"dofs: a mask must have {n} entries; got shape {dofs.shape}")
            dofs = np.nonzero(dofs)[0]
        if dofs.size and dofs.dtype.kind not in "iu":
            raise InputError(f"dofs: must be integers or a mask; got {dofs.dtype}")
        dofs = dofs.ravel().astype(np.intp)
        if dofs.size and (int(dofs.min()) < 0 or int(dofs.max()) >= n):
            raise InputError(f"dofs: must lie between 0 and {n - 1}; got {int(dofs.min())} to {int(dofs.max())}")
        if np.unique(dofs).size != dofs.size:
            raise InputError("dofs: an entry is fixed twice; list each of them once")
        if dofs.size == n:
            raise InputError("dofs: every entry is fixed; nothing is left to certify")
        given = np.asarray(values, dtype=object)
        U0 = np.zeros(n)
        U0[dofs] = vector("values", np.full(dofs.size, values) if given.ndim == 0 else values, dofs.size)
        free = _others(n, dofs)
        Z = sp.csr_array((np.ones(free.size), (free, np.arange(free.size))), shape=(n, free.size))
        return cls(U0, Z, notes=notes)

    @classmethod
    def constrained(cls, C: Matrix, d: Any) -> AdmissibleSpace:
        """Vectors with C U = d: multi-point constraints, gauges such as a zero mean (one row C).

        As many entries as there are constraints are eliminated by a pivoted factorization of C. What is then
        certified is the stored space U₀ + Z y, whose members meet the constraints up to the rounding of Z. A constraint
        on all entries, such as a zero mean, makes ZᵀA Z dense: beyond a few thousand entries fix one value with
        `dirichlet` instead and ask for differences.
        """
        C = matrix("C", C)
        m, n = C.shape
        d = vector("d", np.atleast_1d(d), m)
        if m == 0:
            raise InputError("C: holds no constraint; use AdmissibleSpace.unconstrained(n)")
        if m >= n:
            raise InputError(f"C: {m} constraints on {n} entries leave nothing to certify")
        slaves = _pivots(C)
        free = _others(n, slaves)
        block = sp.csc_array(C[:, slaves])
        lu = spla.splu(block)
        U0 = np.zeros(n)
        U0[slaves] = lu.solve(d)
        rest = sp.csc_array(C[:, free])
        touched = np.nonzero(np.diff(rest.indptr))[0]
        D = -lu.solve(rest[:, touched].toarray()) if touched.size else np.zeros((m, 0))
        i, j = np.nonzero(D)
        rows = np.concatenate([free, slaves[i]])
        columns = np.concatenate([np.arange(free.size), touched[j]])
        Z = sp.csr_array((np.concatenate([np.ones(free.size), D[i, j]]), (rows, columns)), shape=(n, free.size))
        return cls(U0, Z)

    @property
    def N(self) -> int:
        """Length of U."""
        return int(self.U0.size)

    @property
    def n(self) -> int:
        """Number of free coordinates."""
        return int(self.stored.shape[1])

    @cached_property
    def free(self) -> NDArray[np.intp] | None:
        """Where Z only selects entries: which ones, in the order of y; else None."""
        Z = self.stored
        if Z.nnz != Z.shape[1] or not np.all(Z.data == 1.0):
            return None
        C = Z.tocoo()
        if any(np.bincount(index).max() > 1 for index in (C.row, C.col)):
            return None
        free = np.empty(Z.shape[1], dtype=np.intp)
        free[C.col] = C.row
        return free

    @cached_property
    def fixed(self) -> NDArray[np.intp]:
        """Where Z only selects entries: the others."""
        return _others(self.N, np.arange(0) if self.free is None else self.free)

    @cached_property
    def is_whole(self) -> bool:
        """Whether nothing is constrained and y is U itself."""
        return self.free is not None and self.n == self.N and bool(np.all(self.free == np.arange(self.N)))

    @cached_property
    def norm(self) -> float:
        """Upper bound of ‖Z‖₂."""
        if self.free is not None:
            return 1.0
        M = sp.csr_array(abs(self.stored))
        rows = product_up(M, np.ones(self.n)).max()
        columns = product_up(sp.csr_array(M.T), np.ones(self.N)).max()
        return float(up(np.sqrt(up(float(rows) * float(columns)))))

    def project(self, U: ArrayLike) -> Projection:
        """The admissible vector nearest to U in the Euclidean norm, and the mismatch U − projection."""
        U = vector("U", U, self.N)
        if self.free is not None:
            y = U[self.free]
            V = self.vector_of(y)
            return Projection(V, y, U - V)
        y = self._coordinates(U - self.U0)
        V = self.vector_of(y)
        y = y + self._coordinates(U - V)
        V = self.vector_of(y)
        return Projection(V, y, U - V)

    def require_member(self, U: Vector, name: str = "U") -> Vector:
        """Coordinates y of an admissible U; refuses one that is further than rounding from the set."""
        if self.free is not None:
            y = U[self.free]
            off = U[self.fixed] - self.U0[self.fixed]
            where = self.fixed
        else:
            _, y, off = self.project(U)
            where = np.arange(self.N)
        worst = int(np.argmax(np.abs(off))) if off.size else -1
        limit = ADMISSIBLE * max(float(np.max(np.abs(U))), float(np.max(np.abs(self.U0))))
        if off.size and abs(float(off[worst])) > limit:
            raise InputError(
                f"{name}: not admissible, entry {int(where[worst])} is off by {float(off[worst]):.3e}; project it "
                f"first, {name} = space.project({name}).U, and report the mismatch"
            )
        return y

    def mismatch(self, U: Vector, y: Vector) -> Vector:
        """U minus the member with its coordinates y; of a general Z what is more than the rounding of these."""
        if self.free is not None and np.array_equal(U[self.fixed], self.U0[self.fixed]):
            return np.zeros(0)
        off = U - self.vector_of(y)
        least = 0.0 if self.free is not None else ROUNDED * float(np.max(np.abs(U), initial=0.0))
        return np.where(np.abs(off) > least, off, 0.0)

    def vector_of(self, y: Vector) -> Vector:
        """U₀ + Z y, rounded; exact where Z only selects entries."""
        if self.free is None:
            return np.asarray(self.U0 + self.stored @ y)
        U = self.U0.copy()
        U[self.free] = y
        return U

    @cached_property
    def _gram(self) -> Any:
        """Columns of Z scaled by powers of two, and the factored Gram matrix of the result."""
        top = np.asarray(abs(self.stored).max(axis=0).toarray()).ravel()
        scale = np.ldexp(1.0, -np.rint(np.log2(top)).astype(int))
        S = sp.csr_array(self.stored @ sp.diags_array(scale))
        return S, scale, spla.splu(sp.csc_array(S.T @ S))

    def __getstate__(self) -> dict[str, Any]:
        """Without the factor, which belongs to the process and is made again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_gram"}

    def _coordinates(self, V: Vector) -> Vector:
        S, scale, gram = self._gram
        return np.asarray(scale * gram.solve(S.T @ V))


def _others(n: int, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """The numbers below n that were not chosen."""
    return np.flatnonzero(np.bincount(chosen, minlength=n) == 0)


def _has_identity_block(Z: Matrix) -> bool:
    """Whether some rows of Z have a single entry each and together reach every column: then Z has full rank."""
    single = np.diff(Z.indptr) == 1
    columns = Z.indices[Z.indptr[:-1][single]]
    values = Z.data[Z.indptr[:-1][single]]
    return bool(np.unique(columns[values != 0.0]).size == Z.shape[1])


def _require_full_rank(Z: Matrix) -> None:
    """Verify λ_min(ZᵀZ) > 0 with the rounding of the product enclosed."""
    top = np.asarray(abs(Z).max(axis=0).toarray()).ravel()
    if not float(top.min()) > 0.0:
        raise InputError(f"Z: column {int(np.argmin(top))} is zero; remove it")
    Z = sp.csr_array(Z @ sp.diags_array(np.ldexp(1.0, -np.rint(np.log2(top)).astype(int))))  # the same rank
    M = sp.csr_array(abs(Z))
    Mt = sp.csr_array(M.T)
    k = int(np.diff(Mt.indptr).max())

    def forming(v: Vector) -> Vector:
        return np.asarray(up(gamma(k + 2) * product_up(Mt, product_up(M, v)) + M.shape[0] * TINY * float(np.sum(v))))

    H = sp.csr_array(Z.T @ Z)
    try:
        verify_coercivity(sp.csr_array((H + H.T) * 0.5), error=forming)
    except CertificationError as error:
        raise InputError(
            f"Z: {Z.shape[0]} × {Z.shape[1]} was not verified to have full column rank ({error}); remove dependent "
            "columns"
        ) from error


def _pivots(C: Matrix) -> NDArray[np.intp]:
    """One column per constraint, by QR with column pivoting on the columns that any constraint touches."""
    from scipy.linalg import qr

    touched = np.unique(C.indices)
    if touched.size < C.shape[0]:
        raise InputError(f"C: {C.shape[0]} constraints touch only {touched.size} entries; they are dependent")
    # The largest entries make the best pivots; a few per row are enough unless rows share them.
    D = sp.csc_array(C)[:, touched].toarray()
    R, order = qr(D, mode="r", pivoting=True)[0:2]
    diagonal = np.abs(np.diag(R))[: C.shape[0]]
    if not float(diagonal.min()) > 1e-12 * float(diagonal.max()):
        raise InputError(
            f"C: the {C.shape[0]} constraints are linearly dependent or nearly so (pivots from "
            f"{float(diagonal.max()):.1e} down to {float(diagonal.min()):.1e}); drop the redundant ones"
        )
    return np.sort(touched[order[: C.shape[0]]])
