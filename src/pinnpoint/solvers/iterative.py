"""Krylov solvers with a tolerance or an iteration budget: early stopping is fine, the defect is certified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse.linalg as spla

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError

Product = Callable[[Vector], Vector]


@dataclass(frozen=True, eq=False)
class Krylov:
    """CG for symmetric positive definite B, GMRES otherwise, LSMR for Âᵀ W Â given by its square root.

    Parameters
    ----------
    apply, apply_transposed
        Products with B and Bᵀ.
    n
        Size of B.
    symmetric
        Whether B is symmetric positive definite.
    tolerance
        Relative residual to stop at.
    iterations
        At most so many iterations; None leaves it to the tolerance.
    diagonal
        Diagonal of B for Jacobi scaling, or None.
    """

    apply: Product
    apply_transposed: Product
    n: int
    symmetric: bool
    tolerance: float = 1e-10
    iterations: int | None = None
    diagonal: Vector | None = None

    __repr__ = brief

    @property
    def name(self) -> str:
        """Which method it is."""
        return "CG" if self.symmetric else "GMRES"

    def solve(self, b: Vector) -> Vector:
        """Approximate B⁻¹ b."""
        return self._columns(b, self.apply)

    def solve_transposed(self, b: Vector) -> Vector:
        """Approximate B⁻ᵀ b."""
        return self._columns(b, self.apply_transposed)

    def _columns(self, b: Vector, product: Product) -> Vector:
        if b.ndim == 2:
            return np.stack([self._one(column, product) for column in b.T], axis=1)
        return self._one(b, product)

    def _one(self, b: Vector, product: Product) -> Vector:
        B = spla.LinearOperator((self.n, self.n), matvec=product, dtype=np.float64)
        options = {"rtol": self.tolerance, "atol": 1e-300}  # an exact zero ends the iteration too
        M = None
        if self.diagonal is not None:
            inverse = 1.0 / self.diagonal
            M = spla.LinearOperator((self.n, self.n), matvec=lambda v: inverse * v.ravel(), dtype=np.float64)
        budget = 10 * self.n if self.iterations is None else self.iterations
        if budget == 0 or not np.any(b):
            return np.zeros(self.n)
        try:
            with np.errstate(all="ignore"):
                if self.symmetric:
                    x, _ = spla.cg(B, b, maxiter=budget, M=M, **options)
                else:
                    restart = min(self.n, budget, 100)
                    x, _ = spla.gmres(B, b, maxiter=-(-budget // restart), restart=restart, M=M, **options)
        except InputError:  # the iteration broke down and fed the operator NaN: no answer, which only costs width
            return np.zeros(self.n)
        return np.where(np.isfinite(x), x, 0.0)


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """(CᵀC)⁻¹ by LSMR or LSQR, which see the condition number of C and not its square.

    b ↦ x in two steps: the minimum-norm t with Cᵀt = b, which is C x, then x from C x = t.
    """

    forward: Product
    backward: Product
    shape: tuple[int, int]
    tolerance: float = 1e-12
    iterations: int | None = None
    name: str = "LSMR"

    __repr__ = brief

    def solve(self, b: Vector) -> Vector:
        """(CᵀC)⁻¹ b."""
        if b.ndim == 2:
            return np.stack([self.solve(column) for column in b.T], axis=1)
        C = spla.LinearOperator(self.shape, matvec=self.forward, rmatvec=self.backward, dtype=np.float64)
        options = {"atol": self.tolerance, "btol": self.tolerance, "conlim": 0.0}
        run, most = (spla.lsqr, "iter_lim") if self.name == "LSQR" else (spla.lsmr, "maxiter")
        options[most] = self.iterations  # type: ignore[assignment]
        t = run(C.T, b, **options)[0]
        return np.asarray(run(C, t, **options)[0])

    solve_transposed = solve
