"""Direct solvers from SciPy: dense LU, sparse LU and weighted QR."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np
import scipy.linalg as dense
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.sparse.csgraph import reverse_cuthill_mckee

from pinnpoint.base.arrays import Index, Matrix, Vector, is_symmetric
from pinnpoint.base.errors import InputError, SingularError
from pinnpoint.base.threads import CORES, begin
from pinnpoint.solvers.graphs import solid_order
from pinnpoint.solvers.protocol import Solver
from pinnpoint.solvers.substitution import Substitution, factor_of

DENSE_UP_TO = 600
MANY, BLOCK = 12, 17
"""Right-hand sides from which a factor is worth taking out of SuperLU, and how many then go at once."""
LARGE = 100_000
"""Unknowns from which solves are dear."""
DISSECT_FROM = 3_000
"""Unknowns in space from which nested dissection by coordinates fills in less than minimum degree does."""
COLUMNS = 8
"""Right-hand sides that SuperLU solves at once: they share a pass over the factors and stay in cache."""
CONDITION_LIMIT = 2.0**50
"""Beyond this estimated condition number a matrix counts as singular in float64."""


class DenseLU:
    """LAPACK's LU factorization."""

    name = "dense LU"
    accurate = True

    def __init__(self, B: Vector) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dense.LinAlgWarning)
            self._lu = dense.lu_factor(B)
        rcond, _ = dense.lapack.dgecon(self._lu[0], np.linalg.norm(B, 1))
        _refuse_singular(B.shape[0], 1.0 / rcond if rcond > 0.0 else np.inf)

    def solve(self, b: Vector) -> Vector:
        """B⁻¹ b."""
        return np.asarray(dense.lu_solve(self._lu, b))

    def solve_transposed(self, b: Vector) -> Vector:
        """B⁻ᵀ b."""
        return np.asarray(dense.lu_solve(self._lu, b, trans=1))


class SparseLU:
    """SuperLU. Solves only read the factors, so several threads may solve at a time.

    Many right-hand sides of a symmetric matrix go through its factor together; see `substitution`. Unknowns of a solid
    are ordered by where they are, or by distances in the graph; in the plane minimum degree does as well.
    """

    name = "SuperLU"
    accurate = True
    _order: Any = slice(None)
    _both: Substitution | None = None
    _focused: Future[None] | None = None

    def __init__(self, B: Matrix, points: Vector | None = None) -> None:
        self._B, self._points = B, points
        same = is_symmetric(B)
        B = sp.csc_array(B)
        symmetric = same or is_symmetric((B != 0).astype(np.int8))
        order = solid_order(B, points) if symmetric and B.shape[0] > DISSECT_FROM else None
        spec = "NATURAL" if order is not None else "MMD_AT_PLUS_A" if symmetric else "COLAMD"
        # SuperLU's transposed solves go column by column; a symmetric matrix can do without them
        self._transposed = "N" if same else "T"
        self._symmetric = same
        self._arranging = threading.Lock()
        if symmetric:  # from a narrow band minimum degree finds less fill, whatever numbering a mesh came with
            self._order = reverse_cuthill_mckee(B, symmetric_mode=True) if order is None else order
            B = sp.csc_array(B[self._order][:, self._order])
        try:
            self._lu = spla.splu(B, permc_spec=spec, options={"SymmetricMode": symmetric})
        except RuntimeError as error:
            raise singular(B.shape[0], str(error)) from error
        n = B.shape[0]
        self._position = np.empty(n, dtype=np.intp)
        self._position[self._order] = self._lu.perm_r
        refuse_singular(B, self._lu.solve, lambda v: self._lu.solve(v, self._transposed))

    def solve(self, b: Vector) -> Vector:
        """B⁻¹ b."""
        return self._solve(b, "N")

    def solve_transposed(self, b: Vector) -> Vector:
        """B⁻ᵀ b."""
        return self._solve(b, self._transposed)

    def adjoints(self, L: Matrix, room: tuple[Vector, Vector]) -> Vector:
        """B⁻ᵀLᵀ for a sparse L with few entries; `room`, two arrays like it, is overwritten and may hold it after."""
        if self._both is not None:
            return self._both.solve_sparse(sp.csr_array(L).T, *room)
        return self.solve_transposed(np.ascontiguousarray(L.toarray().T))

    def near(self, rows: Index) -> Any:
        """An order of right-hand sides, given a row in which each is not zero, that brings related ones together."""
        return np.argsort(self._position[rows], kind="stable")

    def width(self, count: int) -> int:
        """How many of so many right-hand sides to hand over at a time, each part on a core of its own."""
        each = max(1, -(-count // CORES))
        most = BLOCK if self._symmetric and each >= MANY else COLUMNS
        return -(-each // -(-each // most))

    def _solve(self, b: Vector, how: str) -> Vector:
        if self._both is None and self._symmetric and b.ndim == 2 and b.shape[1] >= MANY:
            self._arrange()
        lu = self._lu
        if lu is None:  # another thread may be about to take the factor out of it
            with self._arranging:
                assert self._both is not None
            return self._both.solve(b)
        x = np.empty(b.shape, order="F")
        x.T[..., self._order] = lu.solve(b.T[..., self._order].T, how).T
        return x

    def expect(self, count: int, unknowns: Any) -> None:
        """Get ready for so many right-hand sides, zero elsewhere, partly beside what comes before them."""
        if self._both is None and self._symmetric and self.width(count) >= MANY:
            self._arrange()
            both = self._both
            if both is not None:
                self._focused = begin(lambda: both.focus(unknowns))

    def __reduce__(self) -> tuple[Any, ...]:
        """SuperLU's factors belong to the process; a copy makes its own, to the same bits."""
        return _factorized, (self._B, self._points, self._both is not None)

    def settle(self) -> None:
        """Wait for what was begun."""
        if self._focused is not None:
            self._focused.result()
            self._focused = None

    def _arrange(self) -> None:
        """Take the factor out of SuperLU, which is let go of before more memory is needed."""
        with self._arranging:
            if self._both is None and self._symmetric:
                factor = factor_of(self._lu)
                self._symmetric = factor is not None
                if factor is not None:
                    self._lu = None
                    self._both = Substitution(*factor, self._order)


def _factorized(B: Matrix, points: Vector | None, arranged: bool) -> SparseLU:
    made = SparseLU(B, points)
    if arranged:
        made._arrange()
    return made


class WeightedQR:
    """(RᵀR)⁻¹ for the QR factorization of a dense C with Ĥ = CᵀC: the normal matrix is never formed."""

    name = "weighted QR"
    accurate = True

    def __init__(self, C: Vector) -> None:
        self._R = dense.qr(C, mode="r")[0][: C.shape[1]]
        diagonal = np.abs(np.diag(self._R))
        top = float(diagonal.max(initial=0.0))
        if not (top > 0.0 and float(diagonal.min()) > top / CONDITION_LIMIT):
            raise _rank_deficient(C.shape, float(diagonal.min(initial=0.0)), top)

    def solve(self, b: Vector) -> Vector:
        """Ĥ⁻¹ b."""
        return np.asarray(dense.solve_triangular(self._R, dense.solve_triangular(self._R, b, trans="T")))

    solve_transposed = solve


def factorize(B: Matrix, points: Vector | None = None) -> Solver:
    """The direct solver for a square matrix of this size; where its unknowns are, if that is known."""
    if B.shape[0] <= DENSE_UP_TO:
        return DenseLU(B.toarray() if sp.issparse(B) else np.asarray(B))
    return SparseLU(B, points)


def refuse_singular(B: Matrix, solve: Callable[[Vector], Vector], transposed: Callable[[Vector], Vector]) -> None:
    """Refuse a sparse matrix whose condition number, estimated in the 1-norm from a few solves, is too large.

    Of a very large one from one solve with random signs, which no nullspace escapes.
    """
    n = B.shape[0]
    if n > LARGE:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], n)
        _refuse_singular(n, float(np.abs(solve(signs)).sum()) / n * _one_norm(B))
        return
    inverse = spla.LinearOperator(
        (n, n), matvec=lambda v: solve(v.ravel()), rmatvec=lambda v: transposed(v.ravel()), dtype=np.float64
    )
    with np.errstate(all="ignore"):
        size = float(spla.onenormest(inverse, t=1)) if n > 1 else float(abs(solve(np.ones(1))[0]))
    _refuse_singular(n, size * _one_norm(B))


def _one_norm(B: Matrix) -> float:
    """‖B‖₁ of a sparse matrix."""
    return float(abs(B).sum(axis=0).max())


def _refuse_singular(n: int, condition: float) -> None:
    if not condition < CONDITION_LIMIT:
        raise singular(n, f"condition number about {condition:.1e}")


def singular(n: int, why: str) -> SingularError:
    """The refusal of a matrix that cannot be inverted, and why it cannot."""
    return SingularError(
        f"A: the reduced {n} × {n} operator is singular, or so badly scaled that it is singular in float64 ({why}); "
        "remove its nullspace through the admissible space (Dirichlet values, a gauge, or constraints), or, where its "
        "entries differ by many orders of magnitude, scale its rows and columns, e.g. with D = diag(|A|)^(-1/2): "
        "matrix D A D, right-hand side D b, states D⁻¹u, queries D ℓ"
    )


def _rank_deficient(shape: tuple[int, ...], low: float, top: float) -> InputError:
    return InputError(
        f"A: the reduced {shape[0]} × {shape[1]} operator is rank deficient (diagonal of R from {low:.1e} to "
        f"{top:.1e}); the least-squares target is not unique: add equations or constraints"
    )
