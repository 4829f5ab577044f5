"""scikit-fem: a basis, its matrix and load, and Dirichlet conditions as `condense` and `enforce` take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Mask, Matrix, Vector, has, point_list, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.io.adapters.assembled import from_assembled
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries


@dataclass(frozen=True, eq=False)
class Assembled:
    """A system on the degrees of freedom of a scikit-fem basis."""

    basis: Any
    system: LinearSystem

    __repr__ = brief

    def points(self, X: Vector, names: Sequence[str] | None = None, component: int | None = None) -> Queries:
        """The solution at points (K, d); `component` for vector-valued elements."""
        X = point_list("points", X, len(X))
        d = int(self.basis.mesh.dim())
        if X.shape[1] != d:
            raise InputError(f"points: must have {d} coordinates; got {X.shape[1]}")
        try:
            L = sp.csr_array(self.basis.probes(X.T))
        except ValueError as error:
            raise InputError(f"points: one of them lies outside the mesh ({error})") from error
        parts = L.shape[0] // len(X)
        if (parts > 1) != (component is not None) or (component is not None and not 0 <= component < parts):
            raise InputError(
                f"component: must be a number below {parts} for a vector, None for a scalar; got {component}"
            )
        rows = np.arange(len(X)) + (component or 0) * len(X)
        return Queries(sp.csr_array(L[rows]), names, points=X)

    def average(self, functional: ArrayLike, name: str = "average") -> Queries:
        """Any functional that was assembled to a vector of the basis's length."""
        return Queries(vector("functional", functional, self.basis.N)[None, :], [name])

    def admissible(self, x: ArrayLike) -> Vector:
        """A prediction of the basis's length moved to the Dirichlet values."""
        return np.asarray(self.system.space.project(vector("x", x, self.basis.N)).U)


def from_skfem(
    basis: Any,
    A: Matrix,
    b: ArrayLike,
    x: ArrayLike | None = None,
    *,
    D: Any = None,
    interior: Any = None,
    treatment: str | None = None,
    weight: ArrayLike | None = None,
) -> Assembled:
    """Take what `skfem.condense` and `skfem.enforce` take: A, b, x with the Dirichlet values at D.

    Parameters
    ----------
    basis
        A scikit-fem basis.
    A, b
        As assembled, or after `condense`, `enforce` or `penalize` with the same D.
    x
        Vector with the Dirichlet values; 0 by default.
    D, interior
        Degrees of freedom that are fixed, or free (scikit-fem's I): indices or what `basis.get_dofs` returns.
    """
    if not has(basis, "N", "probes"):
        raise InputError(f"basis: must be a scikit-fem basis; got {type(basis).__name__}")
    N = int(basis.N)
    if (D is None) == (interior is None):
        raise InputError(
            "D: say which degrees of freedom are fixed, or which are free: exactly one of D= and interior="
        )
    given = interior if D is None else D
    dofs = np.asarray(given.flatten() if has(given, "flatten") else given)
    if dofs.size and (dofs.dtype.kind not in "iu" or int(dofs.min()) < 0 or int(dofs.max()) >= N):
        raise InputError(f"{'interior' if D is None else 'D'}: must be degrees of freedom between 0 and {N - 1}")
    free = np.zeros(N, dtype=bool)
    free[dofs.astype(np.intp)] = True
    free = free if D is None else ~free
    values = None if x is None else vector("x", x, N)
    if values is None and not (A.shape[0] == N and _has_unit_rows(A, ~free)):
        values = np.zeros(N)
    return Assembled(basis, from_assembled(A, b, free, values=values, treatment=treatment, weight=weight))


def _has_unit_rows(A: Matrix, held: Mask) -> bool:
    """Whether fixed rows hold a diagonal alone, so that the load says the values."""
    rows = sp.csr_array(A)[np.flatnonzero(held)]
    rows.eliminate_zeros()
    return bool(held.any() and np.all(np.diff(rows.indptr) == 1))
