"""A system in the arithmetic of its certificates: enclosed, or plain floating point.

With B the operator that the algebra inverts, B = Â for square systems and B = Ĥ = ÂᵀWÂ for least-squares
targets, and ρ = r or ρ = ÂᵀW r, every linear certificate of the paper is an evaluation of

    ℓᵀ(U − U*) = qᵀρ + sᵀB⁻¹ρ,   s = ℓ̂ − Bᵀq,

which holds for any vector q. `Core` encloses ρ and s; no reduced matrix is trusted beyond choosing q.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Matrix, Vector, is_symmetric, set_fields, vector
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.base.workspace import Workspace
from pinnpoint.rounding.arithmetic import TINY, gamma, require_range, require_round_to_nearest, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.bounds import fingerprint
from pinnpoint.rounding.forms import Form, MatrixForm
from pinnpoint.rounding.matrices import (
    Chain,
    EnclosedMatrix,
    LinearMap,
    PlainMatrix,
    SymmetricMap,
    compile_early,
    product_up,
)
from pinnpoint.rounding.slices import Sliced
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries

ErrorPair = tuple[Callable[[Vector], Vector], Callable[[Vector], Vector]]


class Core:
    """Maps, residuals and defects of one system."""

    def __init__(self, system: LinearSystem, *, rounding: bool) -> None:
        if rounding:
            require_round_to_nearest()
            require_range("b, U0", system.b, system.space.U0)
            if isinstance(system.weight, np.ndarray):
                require_range("weight", system.weight, 1.0 / system.weight)
            if not system.is_matrix:
                raise InputError(
                    "rounding: a LinearOperator's own rounding cannot be enclosed; pass the matrix, or rounding=False"
                )
            compile_early(system.stored.nnz)
        elif system.A_error is not None or system.b_error is not None:
            raise InputError("A_error, b_error: interval data needs rounding=True")
        self.system = system
        self.rounding = rounding
        A, E, b, b_error = system.stored, system.A_error, np.array(system.b), system.b_error
        free = system.space.free
        galerkin = system.reduction == "galerkin"
        self._rows: Any = None
        if galerkin and free is not None and system.is_matrix:
            A, b = system.free_rows, b[free]
            E = None if E is None else E[free]
            b_error = None if b_error is None else b_error[free]
            galerkin, self._rows = False, free
        self.b = Ball(b, None, b_error)
        self.A = self._wrap(A, E)
        Z = self._wrap(system.space.stored, None, "Z")
        self._restrict: LinearMap | None = Z.T if galerkin else None
        self.Z: LinearMap | None = None if free is not None else Z
        if system.space.is_whole:
            self.reduced: LinearMap = self.A
        elif free is not None and system.is_matrix:
            B = sp.csr_array(A[:, free]) if self._rows is None else system.free_block
            self.reduced = self._wrap(B, None if E is None else sp.csr_array(E[:, free]))
        else:
            self.reduced = Chain([*([Z.T] if galerkin else []), self.A, Z])
        self._form = self._weighted(system.weight_form)

    def require_sound(self) -> None:
        """Refuse to go on where the rounding mode was switched since."""
        if self.rounding:
            require_round_to_nearest()

    def _wrap(self, A: Matrix, error: Any | None = None, name: str = "A") -> Any:
        return EnclosedMatrix(A, error, name) if self.rounding else PlainMatrix(A)

    def homogeneous(self) -> Core:
        """The same operator with zero prescribed values and a zero right-hand side.

        Maps, norms and proofs do not depend on U₀ or b, so what is known of them is shared.
        """
        space, system, core = copy.copy(self.system.space), copy.copy(self.system), copy.copy(self)
        set_fields(space, U0=np.zeros(space.N))
        set_fields(system, space=space, b=np.zeros_like(self.system.b), b_error=None)
        core.system, core.b = system, exact(np.zeros_like(self.b.hi))
        return core

    # States and residuals

    def state(self, U: ArrayLike, name: str = "U") -> tuple[Vector, Ball]:
        """Coordinates y of an admissible vector, and the enclosed U₀ + Z y that is certified."""
        space = self.system.space
        U = vector(name, U, space.N)
        if self.rounding:
            require_range(name, U)
        y = space.require_member(U, name)
        fixed = space.fixed if self.Z is None else None
        same = fixed is not None and np.array_equal(U[fixed], space.U0[fixed])
        return y, exact(U) if same else self.expand(y)

    def expand(self, y: Vector) -> Ball:
        """U₀ + Z y, enclosed; exact where Z only selects entries."""
        if self.Z is None:
            return exact(self.system.space.vector_of(y))
        return self.Z.affine(exact(y), exact(-self.system.space.U0))

    def direction(self, y: Ball) -> Ball:
        """Z y, enclosed."""
        if self.Z is not None:
            return self.Z.affine(y)

        def spread(part: Vector | None) -> Vector | None:
            if part is None:
                return None
            V = np.zeros(self.system.N)
            V[self.system.space.free] = part
            return V

        hi = spread(y.hi)
        assert hi is not None
        return Ball(hi, spread(y.lo), spread(y.err))

    def load(self, b: Any | None) -> Ball:
        """The stored right-hand side, or another one of the same length."""
        if b is None:
            return self.b
        b = vector("load", b, self.system.b.size)
        if self.rounding:
            require_range("load", b)
        return Ball(b if self._rows is None else b[self._rows], None, self.b.err)

    def residual(self, U: Ball, b: Ball) -> Ball:
        """The residual A U − b, tested with Zᵀ for a Galerkin reduction."""
        r = self.A.affine(U, b)  # paper, eq. 4.9
        r = r if self._restrict is None else self._restrict.affine(r)
        if self.rounding:
            require_range("residual A U − b", r.hi)
        return r

    def normal(self, r: Ball) -> Ball:
        """ρ: r itself, or ÂᵀW r for a least-squares target."""
        if self.system.is_square:
            return r
        rho = self.reduced.T.affine(self.form.apply(r))  # paper, eq. B.9
        if self.rounding:
            require_range("normal residual ÂᵀW(A U − b)", rho.hi)
        return rho

    # Queries

    def functionals(self, queries: Queries) -> tuple[Any, Functionals]:
        """The map U ↦ LU, and the reduced functionals ℓ̂ = Zᵀℓ."""
        if queries.L.shape[1] != self.system.N:
            raise InputError(f"L: must have {self.system.N} columns, the length of U; got shape {queries.L.shape}")
        if queries.error is not None and not self.rounding:
            raise InputError("error: interval data needs rounding=True")
        return self._wrap(queries.stored, queries.error, "L"), Functionals(self, queries)

    def defect(self, q: Ball, ell: Ball) -> Ball:
        """Bᵀq − ℓ̂ = −s."""
        return self.reduced.T.affine(self.green(q), ell)  # proofs.md, step 1a

    @property
    def adjoint(self) -> EnclosedMatrix | None:
        """The stored Âᵀ of a square system, where nothing but rounding has to be covered."""
        T = self.reduced.T if self.system.is_square else None
        return T if isinstance(T, EnclosedMatrix) and T.error is None else None

    @property
    def many(self) -> Sliced | None:
        """Encloses many defects at once, where nothing but rounding has to be covered."""
        return None if self.adjoint is None else self.adjoint.sliced

    def arrange(self, adjoints: bool) -> None:
        """Bring the matrices into the forms that products with states, and with many adjoints, need."""
        if isinstance(self.A, EnclosedMatrix):
            self.A.arrange()
        if adjoints:
            _ = self.many

    def green(self, q: Ball) -> Ball:
        """The residual-side Green vector: q itself, or W Â q."""
        return q if self.system.is_square else self.form.apply(self.reduced.affine(q))  # paper, eq. 4.12

    # Norms

    @property
    def form(self) -> Form:
        """The weight's norms; for the energy weight they come with the stability proof."""
        if self._form is None:
            raise CertificationError("weight: the energy weight's norms come with the stability proof")
        return self._form

    def _weighted(self, form: Form | None) -> Form | None:
        if not self.rounding and isinstance(form, MatrixForm):
            return MatrixForm(PlainMatrix(self.system.weight), form.alpha, form.P, form.solve, enclose=False)
        return form

    def energy_form(self, alpha: float, P: Form, solve: Callable[[Vector], Vector] | None) -> MatrixForm:
        """Norms of the symmetric part of B, given B's coercivity."""
        return MatrixForm(self.symmetric_map, alpha, P, solve, self.rounding, self._largest_row_sum)

    def _largest_row_sum(self) -> float:
        return self._row_sum

    @cached_property
    def _row_sum(self) -> float:
        """Largest absolute row sum of (Â + Âᵀ)/2; infinite where it is not at hand, which only widens."""
        if not (self.system.is_matrix and self.system.is_square):
            return math.inf
        size = sp.csr_array(abs(self.matrix))
        one = np.ones(self.system.n)
        rows = product_up(size, one) + product_up(sp.csr_array(size.T), one)
        if self.matrix_error is not None:
            rows = rows + self.matrix_error[0](one) + self.matrix_error[1](one)
        return float(up(0.5 * float(rows.max()), 8))

    @cached_property
    def symmetric_map(self) -> LinearMap:
        """(B + Bᵀ)/2."""
        if not self.system.is_square:
            return NormalMap(self)
        if isinstance(self.reduced, EnclosedMatrix | PlainMatrix) and sp.issparse(self.reduced.A):
            error = self.reduced.error if isinstance(self.reduced, EnclosedMatrix) else None
            if self.symmetric and (error is None or is_symmetric(error)):
                return self.reduced
        return SymmetricMap(self.reduced)

    @property
    def fingerprint(self) -> str:
        """Of the stored Â."""
        ours = self._rows is not None and self.matrix.data is self.system.free_block.data
        return self.system.fingerprint if ours else fingerprint(self.matrix)

    @cached_property
    def symmetric(self) -> bool:
        """Whether the stored Â equals its transpose, to the last bit."""
        return is_symmetric(self.matrix)

    @property
    def is_energy(self) -> bool:
        """Whether the weight is W = Â⁻¹."""
        return isinstance(self.system.weight, str)

    # The matrices that solvers and stability proofs start from

    @cached_property
    def matrix(self) -> Any:
        """Â as a sparse matrix, rounded where Z is not a selection."""
        if not self.system.is_matrix:
            raise InputError("A: a LinearOperator has no entries to factorise; use Inexact with a declared coercivity")
        if isinstance(self.reduced, EnclosedMatrix | PlainMatrix):
            return self.reduced.A
        Z = self.system.space.Z
        B = self.system.A @ Z
        return sp.csr_array(Z.T @ B if self.system.reduction == "galerkin" else B)

    @cached_property
    def matrix_error(self) -> ErrorPair | None:
        """Maps v ↦ E v and v ↦ Eᵀ v with |Â − stored Â| ≤ E: data errors, and the rounding of A Z or ZᵀA Z."""
        E, space = self.system.A_error, self.system.space
        if isinstance(self.reduced, EnclosedMatrix | PlainMatrix):
            error = self.reduced.error if isinstance(self.reduced, EnclosedMatrix) else None
            if error is None:
                return None
            T = sp.csr_array(error.T)
            return partial(product_up, error), partial(product_up, T)
        A = sp.csr_array(abs(self.system.A))
        whole = A if E is None else sp.csr_array(A + E)
        Z = sp.csr_array(abs(space.Z))
        left = [sp.csr_array(Z.T)] if self.system.reduction == "galerkin" else []
        entries = sum(int(np.diff(M.indptr).max(initial=0)) for M in (*left, A)) + int(np.diff(Z.tocsc().indptr).max())
        steps = [*left, whole, Z]
        back = [sp.csr_array(M.T) for M in reversed(steps)]
        data = None if E is None else [*left, E, Z]
        data_back = None if data is None else [sp.csr_array(M.T) for M in reversed(data)]
        return partial(_product_error, entries, steps, data), partial(_product_error, entries, back, data_back)

    @cached_property
    def normal_matrix(self) -> tuple[Any, Callable[[Vector], Vector]]:
        """fl(ÂᵀWÂ), symmetric, and v ↦ E v with E its distance from every possible ÂᵀWÂ."""
        C = sp.csr_array(self.matrix)
        w = self.system.weight
        W = sp.eye_array(C.shape[0], format="csr") if w is None else w
        W = sp.csr_array(sp.diags_array(W) if isinstance(W, np.ndarray) else W)
        H = sp.csr_array(C.T @ (W @ C))
        H = sp.csr_array((H + H.T) * 0.5)
        aC, aW = sp.csr_array(abs(C)), sp.csr_array(abs(W))
        aCt = sp.csr_array(aC.T)
        k = int(np.diff(C.tocsc().indptr).max(initial=0)) + int(np.diff(aW.indptr).max(initial=0))
        return H, partial(_normal_error, k, (aC, aCt, aW), self.matrix_error)


def _products(mats: list[Any], v: Vector) -> Vector:
    for M in reversed(mats):
        v = product_up(M, v)
    return v


def _product_error(entries: int, main: list[Any], extra: list[Any] | None, v: Vector) -> Vector:
    """E v for the rounding of a product of matrices with so many entries in a row, and errors of the data."""
    data_part = 0.0 if extra is None else _products(extra, v)
    return np.asarray(up(gamma(entries + 4) * _products(main, v) + data_part + entries * TINY * float(np.sum(v))))


def _normal_error(k: int, sizes: tuple[Any, Any, Any], errors: ErrorPair | None, v: Vector) -> Vector:
    """E v for the distance of fl(ÂᵀWÂ), with |Â|, |Â|ᵀ and |W| given, from every possible ÂᵀWÂ."""
    aC, aCt, aW = sizes
    plain = product_up(aCt, product_up(aW, product_up(aC, v)))
    e = gamma(k + 6) * plain + 4.0 * aC.shape[0] * TINY * float(np.sum(v))
    if errors is not None:
        E, Et = errors
        Ev = E(v)
        e = e + Et(product_up(aW, product_up(aC, v) + Ev)) + product_up(aCt, product_up(aW, Ev))
    return np.asarray(up(e, 8))


class Functionals(Sequence[Ball]):
    """The reduced functionals ℓ̂_i, made when asked for."""

    def __init__(self, core: Core, queries: Queries) -> None:
        self.core = core
        free = core.system.space.free
        L, E = queries.stored, queries.error
        self.L = L if free is None else L[:, free]
        self.E = E if free is None or E is None else E[:, free]
        self._work = Workspace()

    def __len__(self) -> int:
        return int(self.L.shape[0])

    @property
    def exact(self) -> bool:
        """Whether all of them are known exactly, without a product of theirs."""
        return self.E is None and self.core.Z is None

    def first(self) -> Any:
        """For each ℓ̂ an entry that is not zero."""
        L = sp.csr_array(self.L)
        return np.append(L.indices, 0)[np.where(np.diff(L.indptr) > 0, L.indptr[:-1], L.nnz)]

    def columns(self, which: Any) -> Vector:
        """Some ℓ̂_i as columns, where they are exact, until this thread asks for others."""
        rows = self.L[which].tocoo()
        found = self._work.array("columns", rows.shape[::-1])
        found.fill(0.0)
        found[rows.col, rows.row] = rows.data
        return found

    def __getitem__(self, i: Any) -> Any:
        if not 0 <= i < len(self):
            raise IndexError(i)
        ell = Ball(self.L[[i]].toarray()[0], None, None if self.E is None else self.E[[i]].toarray()[0])
        return ell if self.core.Z is None else self.core.Z.T.affine(ell)  # paper, eq. 4.10


class NormalMap:
    """Ĥ = ÂᵀWÂ, applied factor by factor."""

    def __init__(self, core: Core) -> None:
        self.core = core

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n = self.core.system.n
        return n, n

    @property
    def T(self) -> NormalMap:
        """Itself."""
        return self

    def affine(self, x: Ball, b: Ball | None = None) -> Ball:
        """Enclosure of Ĥ x − b."""
        core = self.core
        return core.reduced.T.affine(core.form.apply(core.reduced.affine(x)), b)
