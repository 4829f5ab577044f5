"""Green vectors: approximate adjoint solutions with certified defects and sensitivities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.threads import begin, on_all_cores
from pinnpoint.base.workspace import Workspace, have_ready, release_memory
from pinnpoint.certifiers.core import Core
from pinnpoint.certifiers.ground import Ground
from pinnpoint.certifiers.proof import Proof, prove, prove_roughly, unproved, weight_only
from pinnpoint.certifiers.setup import solver_for
from pinnpoint.certifiers.storage import DOUBLE, Storage
from pinnpoint.rounding.arithmetic import require_range, up
from pinnpoint.rounding.balls import Ball
from pinnpoint.rounding.bounds import Coercivity
from pinnpoint.rounding.forms import DiagonalForm
from pinnpoint.rounding.matrices import EnclosedMatrix, dots
from pinnpoint.rounding.slices import CHUNK, Sliced, column_lengths, largest
from pinnpoint.rounding.stability import Coercive
from pinnpoint.solvers.choice import Task
from pinnpoint.solvers.direct import DENSE_UP_TO, MANY, SparseLU
from pinnpoint.solvers.protocol import Solver, answer, is_accurate, width
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries

FILLS_FROM, FEW = 10_000, 24
"""Unknowns from which, and queries up to which, conjugate gradients beat a factorization that fills in."""


@dataclass(frozen=True, eq=False)
class GreenVectors:
    """Adjoint solutions q_i (rows), with q_lo their second halves where they were refined.

    For least-squares targets the residual-side Green vector is g = WÂq; for square ones g = q.
    """

    q: Vector
    q_lo: Vector | None
    left: Vector | None
    """The query's factor of the algebraic bound |sᵀB⁻¹ρ|."""
    sigma: Vector
    """Upper bounds of σ = ‖g‖_{W⁻¹}: ‖g̃‖_{W⁻¹} + δ_adj (paper, prop. inexact_adjoint_certificate)."""
    delta: Vector
    """δ_adj ≥ ‖g − g̃‖_{W⁻¹}."""

    __repr__ = brief

    def ball(self, i: int) -> Ball:
        """q_i as a ball without radius."""
        return Ball(np.asarray(self.q[i], dtype=np.float64), None if self.q_lo is None else self.q_lo[i])

    def pair(self, rho: Ball, *, enclose: bool) -> Ball:
        """q_iᵀρ for all i."""
        return dots(self.q, rho, self.q_lo, enclose=enclose)


def lay_ground(
    system: LinearSystem,
    queries: Queries,
    *,
    rounding: bool,
    solver: Solver | str | None,
    coercivity: Coercivity | float | None,
    inverts: bool = True,
    adjoints: int = 0,
    rough: bool = False,
) -> Ground:
    """Core, functionals, solver and stability proof.

    In exact arithmetic a direct solve needs no proof; with rounding covered, or an iterative solver, it does. So many
    `adjoints` will be solved for afterwards. `rough`: a rough bound will do, as Green vectors can be refined.
    """
    core = Core(system, rounding=rounding)
    L, ell = core.functionals(queries)
    if not inverts:
        return Ground(core, queries, L, ell, None, weight_only(core))
    early = prove_roughly(core) if rough and rounding and coercivity is None else None
    many = adjoints >= MANY and early is None
    ready = begin(lambda: core.arrange(many)) if rounding and system.n > DENSE_UP_TO else None
    if many:
        have_ready(system.n)
    chosen, choice = solver_for(core, solver, len(queries))
    if ready is not None:
        ready.result()
    if adjoints and isinstance(chosen, SparseLU) and ell.exact:
        chosen.expect(adjoints, ell.L.indices)
    if early is not None:
        proof = early
    elif rounding or coercivity is not None or choice.own or not choice.accurate:
        proof = prove(core, chosen, coercivity)
    else:
        proof = unproved(core, chosen)
    return Ground(core, queries, L, ell, chosen, proof, choice)


def bare_ground(system: LinearSystem, queries: Queries, solver: Solver | str | None) -> Ground:
    """Core, functionals and solver in plain floating point, for results that are proved elsewhere.

    Where factors would fill in, as in three dimensions, and queries are few, the solver is conjugate gradients, but not
    for solids, whose equations need more of a preconditioner.
    """
    core = Core(system, rounding=False)
    L, ell = core.functionals(queries)
    fills = system.n > FILLS_FROM and Task.of(core.matrix, system.row_points).solid
    if solver is None and fills and len(queries) <= FEW and system.modes is None:
        solver = "krylov"
    chosen, choice = solver_for(core, solver, len(queries))
    return Ground(core, queries, L, ell, chosen, weight_only(core), choice)


def green_vectors(
    ground: Ground, solver: Solver, *, refine: bool, storage: Storage = DOUBLE, rows: Any = None
) -> GreenVectors:
    """Solve Bᵀq = ℓ̂ for every query and bound what is left, for q as it is stored, in `rows` of it if given.

    *Cost:* one solve per query with a direct solver of a square system, two with others, one more when refined.
    """
    if refine and storage.is_single:
        raise InputError("storage: refined Green vectors are pairs of doubles; use 'float64', or refine=False")
    if isinstance(solver, SparseLU):
        solver.settle()
    return _Adjoints(ground, solver, refine, storage, rows).found()


class _Adjoints:
    """Adjoint solutions under way: block by block, by the way that suits solver and queries."""

    def __init__(self, ground: Ground, solver: Solver, refine: bool, storage: Storage, rows: Any) -> None:
        core, proof, K = ground.core, ground.proof, ground.K
        self.ground, self.core, self.proof, self.solver, self.storage = ground, core, proof, solver, storage
        self.accurate = core.system.is_square and is_accurate(solver)
        self.Q = storage.rows(K, core.system.n) if rows is None else rows
        self.q_lo = np.zeros(self.Q.shape) if refine else None
        self.left, self.sigma, self.delta = (np.zeros(K) for _ in range(3))
        # many defects at once pay where there are many, with nothing but rounding in them
        enough = K >= MANY if isinstance(solver, SparseLU) else K > 1 and core.system.n > DENSE_UP_TO
        blocks = enough and ground.ell.exact and proof.stability is not None
        self.many = core.many if blocks and not (refine or proof.rough) else None
        self.whole = core.adjoint if blocks and self.many is None else None
        self.simple, self.work = _simple(core, proof), Workspace()

    def found(self) -> GreenVectors:
        """All of them."""
        K, solver = self.ground.K, self.solver
        step = width(solver, K)
        near = self.many is not None and isinstance(solver, SparseLU)
        order = solver.near(self.ground.ell.first()) if near and isinstance(solver, SparseLU) else np.arange(K)
        if self.whole is None:
            on_all_cores(lambda a: self._part(order[a : a + step]), range(0, K, step))
        else:  # these solvers and products use all cores themselves, and memory is dear
            for a in range(0, K, step):
                self._part(order[a : a + step])
        release_memory()
        left = None if self.proof.stability is None else self.left
        return GreenVectors(self.Q, self.q_lo, left, self.sigma, self.delta)

    def _part(self, at: Index) -> None:
        if self.many is not None and self.simple is not None and isinstance(self.solver, SparseLU):
            self._at_once(at, self.many, self.solver, *self.simple)
        elif self.many is not None:
            self._together(at, self.many)
        elif self.q_lo is not None and self.whole is not None:
            self._in_halves(at, self.q_lo, self.whole)
        else:
            self._one_by_one(at)

    def _stored(self, i: int) -> Ball:
        return Ball(np.asarray(self.Q[i], dtype=np.float64), None if self.q_lo is None else self.q_lo[i])

    def _measure(self, i: int, defect: Callable[[Ball], Ball]) -> None:
        core, proof, q = self.core, self.proof, self._stored(i)
        length = proof.form.dual(core.green(q)) if not core.is_energy else proof.form.dual(q)  # paper, eq. 4.13
        if proof.stability is None:
            self.sigma[i] = length
            return
        left = proof.stability.left(defect(q))
        # paper, eq. B.27
        delta = left if not core.system.is_square else proof.stability.green_error(left, proof.form)
        self.left[i], self.delta[i], self.sigma[i] = left, delta, up(length + delta)

    def _solve(self, rhs: Vector) -> Vector:
        own = self.ground.choice is None or self.ground.choice.own
        X = answer(self.solver.solve_transposed, rhs, guard=own)  # paper, eq. 4.11
        return X.copy() if own else X  # a caller's array may change later

    def _keep(self, at: Index, X: Vector) -> Vector:
        X = self.storage.rounded(X)
        if self.core.rounding:
            require_range("Green vectors", X)
        self.Q[at] = X.T
        return X

    def _one_by_one(self, at: Index) -> None:
        core, ells = self.core, [self.ground.ell[i] for i in at]
        self._keep(at, self._solve(np.array([ell.hi for ell in ells]).T))  # contiguous columns, as solvers want them
        if not self.accurate:
            pairs = zip(at, ells, strict=True)
            left_over = np.array([core.defect(Ball(self._stored(i).hi), ell).hi for i, ell in pairs])
            self._keep(at, np.array([self._stored(i).hi for i in at]).T - self._solve(left_over.T))
        for i, ell in zip(at, ells, strict=True):
            if self.q_lo is not None:
                self.q_lo[i] = -answer(self.solver.solve_transposed, core.defect(Ball(self.Q[i]), ell).hi)
            self._measure(i, partial(core.defect, ell=ell))

    def _together(self, at: Index, many: Sliced) -> None:
        block = self.ground.ell.columns(at)
        X = self._solve(block)
        if not self.accurate:
            X = X - self._solve(np.stack([s.hi for s in many.residuals(X, block)], axis=1))
        X = self._keep(at, X)
        for i, s in zip(at, many.residuals(X, block), strict=True):
            self._measure(i, lambda q, s=s: s)  # type: ignore[misc]

    def _at_once(
        self,
        at: Index,
        many: Sliced,
        lu: SparseLU,
        stability: Coercive,
        near: Vector | None,
        factor: float,
        far: Vector | None,
    ) -> None:
        """The same, where all lengths are weighted Euclidean ones."""
        L = self.ground.ell.L[at]
        room, spare = (self.work.array(name, L.shape[::-1]) for name in ("solutions", "spare"))
        with np.errstate(all="ignore"):
            X = lu.adjoints(L, (room, spare))
        size = largest(X)
        if not np.all(np.isfinite(size)):
            X = np.where(np.isfinite(X), X, 0.0)  # which can only widen an interval
            size = largest(X)
        if self.core.rounding:
            require_range("Green vectors", size)
        if self.storage.is_single:
            X = self.storage.rounded(X)
            size = largest(X)
        for b in range(0, len(X), CHUNK):
            self.Q[at, b : b + CHUNK] = X[b : b + CHUNK].T
        lengths = column_lengths(X, far)
        self.left[at] = up(factor * many.lengths(X, size, sp.csr_array(L).T, near, spare))
        for i, length in zip(at, lengths, strict=True):
            self.delta[i] = stability.green_error(self.left[i], self.proof.form)
            self.sigma[i] = up(length + self.delta[i])

    def _in_halves(self, at: Index, q_lo: Vector, whole: EnclosedMatrix) -> None:
        core, ell = self.core, self.ground.ell
        S = np.stack([ell[i].hi for i in at])  # columns are contiguous, as solvers want them
        self._keep(at, self._solve(S.T))
        error = np.empty_like(S)
        for s, e, i in zip(S, error, at, strict=True):
            s[:], e[:] = core.defect(Ball(self.Q[i]), ell[i]).rounded()
        q_lo[at] = -self._solve(S.T).T
        for i, s, e, rest in zip(at, S, error, whole.products(q_lo[at]), strict=True):
            self._measure(i, lambda q, s=s, e=e, rest=rest: Ball(s, None, e) + rest)  # type: ignore[misc]


def _simple(core: Core, proof: Proof) -> tuple[Coercive, Vector | None, float, Vector | None] | None:
    """The proof, D and c with left(s) = c ‖Ds‖₂, and E with ‖q‖_{W⁻¹} = ‖Eq‖₂; None where norms are others."""
    stability, form = proof.stability, proof.form
    weights = stability.weights if isinstance(stability, Coercive) else None
    if weights is None or core.is_energy or not core.system.is_square or not isinstance(form, DiagonalForm):
        return None
    assert isinstance(stability, Coercive)
    return stability, *weights, form.roots[1]
