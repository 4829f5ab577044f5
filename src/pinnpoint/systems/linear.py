"""Compatible linear systems: residual, weight and admissible space on one coefficient vector."""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator

from pinnpoint.base.arrays import (
    Matrix,
    Vector,
    dimensions,
    frozen,
    matrix,
    number,
    point_list,
    set_fields,
    shown,
    vector,
    whole,
)
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.rounding.bounds import Coercivity, fingerprint
from pinnpoint.rounding.forms import Form
from pinnpoint.rounding.stability import form_of
from pinnpoint.rounding.stepped import Stepped
from pinnpoint.solvers.protocol import Solver
from pinnpoint.systems.spaces import AdmissibleSpace

ENERGY = "energy"
REDUCTIONS = ("auto", "rows", "galerkin")


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """The residual F(U) = A U − b on U = U₀ + Z y, with a weight W on residuals (paper, Framework).

    With Â the reduced operator, the target is Â⁻¹b̂ where Â is square, and the W-least-squares solution where
    it has more rows than columns. Which system is certified is exactly the one stored here, in float64, widened
    by `A_error` and `b_error` where they are given.

    Parameters
    ----------
    A
        M × N: dense, SciPy-sparse, or a ``LinearOperator`` with its adjoint (then ``rounding=False`` only).
    b
        Length M.
    space
        The admissible vectors; all of them by default.
    weight
        None (identity), a positive vector, a sparse or dense symmetric positive definite matrix (verified), or
        ``"energy"`` for W = Â⁻¹ with Â symmetric positive definite (no matrix is inverted). Its size is that of
        the reduced residual.
    reduction
        ``"rows"``: the residual is A U − b as it stands, so Â = A Z. ``"galerkin"``: test with the admissible
        directions too, Zᵀ(A U − b), so Â = ZᵀA Z. ``"auto"``: Galerkin where A is N × N and the space has
        fewer coordinates than N (an assembled finite-element matrix with its constrained rows), else rows.
    A_error, b_error
        Entrywise bounds |ΔA| ≤ E_A and |Δb| ≤ e_b: every system within them is certified. A number stands for that
        multiple of |A| or |b|.
    row_points
        Coordinates of the residual rows, for localization: one row per reduced residual entry, or per entry of
        U (then restricted).
    modes
        Vectors that A hardly sees, shape (N, m), such as rigid-body motions; multigrid is faster with them, and nothing
        else depends on them. Unknowns of a node that follow each other in U may be named by `node_size`.
    floor
        A function that proves the reduced operator's coercivity without a factorization, for large systems.
    stability
        A function that proves |sᵀÂ⁻¹ρ| ≤ left(s) right(ρ) for the reduced operator as it is stored, in place of a
        factorization.
    solver
        Of the reduced operator, in place of a factorization; it is not trusted.
    made_on
        A digest of the mesh whose nodes the unknowns belong to; queries that were made on another one are refused.
    """

    stored: Any = field(metadata={"name": "A"})
    """A as the certifiers work with it; nobody else is to write into it."""
    b: Vector
    space: AdmissibleSpace
    weight: Any
    reduction: str
    A_error: Any | None
    b_error: Vector | None
    row_points: Vector | None
    modes: Vector | None
    node_size: int
    floor: Callable[[], Coercivity] | None
    stability: Callable[[], Stepped] | None
    solver: Solver | None
    made_on: str | None = field(repr=False)

    __repr__ = brief

    def __init__(
        self,
        A: Matrix,
        b: ArrayLike,
        space: AdmissibleSpace | None = None,
        weight: Matrix | None = None,
        *,
        reduction: str = "auto",
        A_error: Any | None = None,
        b_error: Any | None = None,
        row_points: Any | None = None,
        modes: Any | None = None,
        node_size: int = 1,
        floor: Callable[[], Coercivity] | None = None,
        stability: Callable[[], Stepped] | None = None,
        solver: Solver | None = None,
        made_on: str | None = None,
    ) -> None:
        A = _operator(A)
        rows, columns = (int(k) for k in A.shape)
        if not (rows and columns):
            raise InputError(f"A: must have rows and columns; got shape {A.shape}")
        space = AdmissibleSpace.unconstrained(columns) if space is None else space
        if not isinstance(space, AdmissibleSpace):
            raise InputError(f"space: must be an AdmissibleSpace; got {type(space).__name__}")
        if space.N != columns:
            raise InputError(f"A: must have {space.N} columns, the length of admissible vectors; got shape {A.shape}")
        set_fields(
            self,
            stored=A,
            b=vector("b", b, rows),
            space=space,
            reduction=_reduction(reduction, A.shape, space, weight),
            A_error=_matrix_error(A_error, A),
            b_error=_load_error(b_error, vector("b", b, rows)),
        )
        if self.M < self.n:
            raise InputError(
                f"A: {self.M} equations for {self.n} free coordinates; the system is underdetermined: add equations "
                "or constraints"
            )
        set_fields(self, weight=_weight(weight, self.M, square=self.is_square), row_points=self._points(row_points))
        set_fields(self, modes=self._modes(modes), node_size=self._node_size(whole("node_size", node_size, low=1)))
        set_fields(self, floor=floor, stability=stability, solver=solver, made_on=made_on)
        frozen(self.b, self.b_error, self.weight, self.row_points, self.modes)
        frozen(*(a.data for a in (self.A_error, self.weight) if a is not None and sp.issparse(a)))

    @property
    def A(self) -> Any:
        """The stored matrix, which cannot be written into."""
        return shown(self.stored)

    @property
    def N(self) -> int:
        """Length of U."""
        return self.space.N

    @property
    def n(self) -> int:
        """Number of free coordinates."""
        return self.space.n

    @property
    def M(self) -> int:
        """Number of reduced residual entries."""
        return self.n if self.reduction == "galerkin" else int(self.stored.shape[0])

    @property
    def is_square(self) -> bool:
        """Whether the reduced operator is square; else the target is a least-squares solution."""
        return self.M == self.n

    @property
    def is_matrix(self) -> bool:
        """Whether A is stored; a LinearOperator is not."""
        return bool(sp.issparse(self.stored))

    @property
    def target(self) -> str:
        """What the certified value belongs to, in words."""
        if self.reduction == "galerkin":
            return "the solution of Zᵀ(A U − b) = 0 over the admissible space"
        kind = "the solution of A U = b" if self.is_square else "the weighted least-squares solution of A U ≈ b"
        return f"{kind} over the admissible space"

    @cached_property
    def weight_form(self) -> Form | None:
        """Norms of the weight, verified; None for the energy weight, which needs Â."""
        return None if isinstance(self.weight, str) else form_of(self.weight, "weight")

    @cached_property
    def free_rows(self) -> Any:
        """The stored rows of the free entries, for a space that fixes entries."""
        return self.stored if self.space.is_whole else sp.csr_array(self.stored[self.space.free])

    @cached_property
    def free_block(self) -> Any:
        """Their columns of the free entries: the reduced matrix of a Galerkin system."""
        return self.stored if self.space.is_whole else sp.csr_array(self.free_rows[:, self.space.free])

    @cached_property
    def fingerprint(self) -> str:
        """Of `free_block`."""
        return fingerprint(self.free_block)

    def residual(self, U: ArrayLike) -> Vector:
        """The reduced residual r = A U − b (or Zᵀ of it), in plain floating point."""
        r = self.stored @ vector("U", U, self.N) - self.b
        return np.asarray(self.space.Z.T @ r if self.reduction == "galerkin" else r)

    def _points(self, points: Any | None) -> Vector | None:
        if points is None:
            return None
        rows = len(points) if isinstance(points, Sized) else 0
        over_U = rows == self.N and self.N != self.M and self.space.free is not None
        X = point_list("row_points", points, self.N if over_U else self.M)
        return X[self.space.free] if over_U else X

    def _modes(self, modes: Any | None) -> Vector | None:
        if modes is None or self.space.free is None:
            return None
        return point_list("modes", modes, self.N)[self.space.free]

    def _node_size(self, size: int) -> int:
        """Unknowns per node among the free ones: one where a node lost some of its own."""
        free = self.space.free
        if size == 1 or free is None or self.n % size:
            return 1
        nodes = np.arange(self.N)[free].reshape(-1, size)
        return size if np.array_equal(nodes, nodes[:, :1] + np.arange(size)) and not np.any(nodes[:, 0] % size) else 1


def _operator(A: Matrix) -> Any:
    if not isinstance(A, LinearOperator):
        return matrix("A", A)
    try:
        A.rmatvec(np.zeros(A.shape[0]))
    except (NotImplementedError, TypeError, AttributeError) as error:
        raise InputError("A: a LinearOperator must come with its adjoint; define rmatvec") from error
    if np.issubdtype(A.dtype, np.complexfloating):
        raise InputError(f"A: complex operators are not supported; got {A.dtype}")
    return A


def _reduction(asked: str, shape: tuple[int, ...], space: AdmissibleSpace, weight: Matrix) -> str:
    if asked not in REDUCTIONS:
        raise InputError(f"reduction: must be one of {', '.join(REDUCTIONS)}; got {asked!r}")
    assembled = shape[0] == space.N > space.n
    if asked == "galerkin" and shape[0] != space.N:
        raise InputError(f"reduction: 'galerkin' needs A to be {space.N} × {space.N}; got {tuple(shape)}")
    if asked != "auto":
        return asked
    given = not (weight is None or isinstance(weight, str))
    if assembled and given and np.shape(weight)[:1] == (space.N,):
        raise InputError(
            f"weight: has {space.N} rows, but the residual tested with the admissible directions has {space.n}; pass "
            "a weight of that size, or reduction='rows' for the least-squares target"
        )
    return "galerkin" if assembled else "rows"


def _load_error(e: Any | None, b: Vector) -> Vector | None:
    if e is None:
        return None
    if dimensions("b_error", e) == 0:
        return np.asarray(np.abs(b) * (number("b_error", e, low=0.0) * (1.0 + 2.0**-50)))
    return vector("b_error", e, len(b), sign="nonnegative")


def _matrix_error(E: Any | None, A: Matrix) -> Any | None:
    if E is None:
        return None
    if not sp.issparse(A):
        raise InputError("A_error: needs A as a stored matrix")
    if dimensions("A_error", E) == 0:
        return abs(A) * (number("A_error", E, low=0.0) * (1.0 + 2.0**-50))
    E = matrix("A_error", E)
    if E.shape != A.shape:
        raise InputError(f"A_error: must have A's shape {A.shape}; got {E.shape}")
    if E.nnz and float(E.data.min()) < 0.0:
        raise InputError(f"A_error: entries must be ≥ 0; got {float(E.data.min())!r}")
    return E


def _weight(weight: Matrix, size: int, *, square: bool) -> Any:
    """None, "energy", a positive vector, or a verified symmetric positive definite sparse matrix."""
    if weight is None:
        return None
    if isinstance(weight, str):
        if weight != ENERGY:
            raise InputError(f"weight: must be None, a matrix, a vector or 'energy'; got {weight!r}")
        if not square:
            raise InputError(
                "weight: 'energy' means W = Â⁻¹ and needs a square reduced operator; this one is rectangular"
            )
        return weight
    if not sp.issparse(weight) and dimensions("weight", weight) == 1:
        return vector("weight", weight, size, sign="positive")
    if isinstance(weight, LinearOperator):
        raise InputError("weight: must be a matrix; a LinearOperator has no entries to verify")
    W = matrix("weight", weight)
    if W.shape != (size, size):
        raise InputError(f"weight: must be {size} × {size}, the size of the reduced residual; got {W.shape}")
    if W.nnz <= size and (W - sp.diags_array(W.diagonal())).count_nonzero() == 0:
        return vector("weight", W.diagonal(), size, sign="positive")
    skew = abs(W - W.T)
    if skew.nnz and float(skew.max()) > 0.0:
        raise InputError(f"weight: must be symmetric; max |W − Wᵀ| is {float(skew.max()):.1e}; pass (W + W.T)/2")
    try:
        form_of(W, "weight")
    except CertificationError as error:
        raise InputError(f"weight: must be symmetric positive definite; {error}") from error
    return W
