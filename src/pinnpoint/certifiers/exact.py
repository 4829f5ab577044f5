"""The adjoint Green certificate: one direct adjoint solve per query, then one product per state."""

from __future__ import annotations

from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.threads import begin
from pinnpoint.certifiers.base import AbstractCertifier, AbstractMethod
from pinnpoint.certifiers.green import GreenVectors, bare_ground, green_vectors, lay_ground
from pinnpoint.certifiers.ground import Ground, Observation, Outcome
from pinnpoint.certifiers.storage import Storage
from pinnpoint.rounding.arithmetic import up
from pinnpoint.rounding.balls import Ball
from pinnpoint.rounding.bounds import Coercivity
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries


@dataclass(frozen=True, eq=False)
class Exact(AbstractMethod):
    """ℓᵀU* = ℓᵀU − gᵀr, with g = Â⁻ᵀℓ̂ (paper, thm. linear_deterministic_interval).

    The computed g̃ leaves s = ℓ̂ − Âᵀg̃, so the interval is c ± (|sᵀÂ⁻¹r| + rounding) around
    c = ℓᵀU − g̃ᵀr, with |sᵀÂ⁻¹r| bounded by a verified stability constant. For overdetermined systems the
    same with Ĥ and ÂᵀW r.

    *Guarantee:* deterministic; with ``rounding=True`` for the stored float64 system, else in exact arithmetic.
    *Assumes:* nothing beyond the system, unless `coercivity` is declared. *Cost:* one factorization and one
    solve per query offline, at most one more factorization for stability; online one double-double residual and
    one product with each Green vector.

    Parameters
    ----------
    rounding
        Cover floating-point rounding.
    refine
        Keep g̃ as a pair of floats: one more solve per query, and the algebraic term vanishes even for poor states.
    coercivity
        A bound of the caller's own instead of a verified one.
    solver
        ``"auto"`` chooses by size, dimension, queries, installed packages and free memory; ``"superlu"``,
        ``"cholmod"``, ``"pardiso"``, ``"cvxopt"``, ``"amg"``, ``"petsc"``, ``"krylov"``, ``"lsmr"``, ``"lsqr"``, or an
        object with solve and solve_transposed. Whatever it returns, its defect is enclosed.
    states
        How many states will be certified, where that is known. A large solid's bound is rough, and is made up for by
        refined Green vectors; for fewer states than queries each state is corrected by two solves instead.
    storage, file
        ``"float32"`` halves the memory of the Green vectors, whose rounding then counts as a defect; a .npy `file`
        keeps them on disk, mapped into memory.
    """

    rounding: bool = True
    refine: bool = False
    coercivity: Coercivity | float | None = None
    solver: Any = None
    states: int | None = None
    storage: str = "float64"
    file: Any = None

    __repr__ = brief

    def _prepare(self, system: LinearSystem, queries: Queries) -> ExactCertifier:
        """Green vectors, sensitivities and the stability proof."""
        kept = Storage(self.storage, self.file)
        if self.states is not None:
            whole("states", self.states)
        rows = None if self.file is None else begin(lambda: kept.rows(len(queries), system.n))
        try:
            return self._prepared(system, queries, kept, rows)
        except BaseException:  # a file that is not whole would be taken for one that is
            if rows is not None:
                wait([rows])
            kept.discard()
            raise

    def _prepared(self, system: LinearSystem, queries: Queries, kept: Storage, rows: Any) -> ExactCertifier:
        ground = lay_ground(
            system,
            queries,
            rounding=self.rounding,
            solver=self.solver,
            coercivity=self.coercivity,
            adjoints=len(queries),
            rough=not kept.is_single,
        )
        assert ground.solver is not None
        place = None if rows is None else rows.result()
        polish = ground.proof.rough and not self.refine and self.states is not None and self.states < len(queries)
        refine = self.refine or (ground.proof.rough and not polish)
        green = green_vectors(ground, ground.solver, refine=refine, storage=kept, rows=place)
        return ExactCertifier(ground, green, polish=polish)

    def _prepare_only(self, system: LinearSystem, queries: Queries) -> ExactCertifier:
        """Green vectors alone; their defects are not counted."""
        ground = bare_ground(system, queries, self.solver)
        assert ground.solver is not None
        return ExactCertifier(ground, green_vectors(ground, ground.solver, refine=False), proved=False)


@dataclass(frozen=True, eq=False)
class ExactCertifier(AbstractCertifier):
    """`Exact`, prepared."""

    ground: Ground
    green: GreenVectors
    name: str = "exact"
    proved: bool = True
    polish: bool = False
    """Whether each state is corrected by two solves: ℓᵀU* = ℓᵀŨ − gᵀr̃ for any Ũ, with |sᵀÂ⁻¹r̃| small for a good one."""

    __repr__ = brief

    @property
    def _proves_discrete(self) -> bool:
        return self.proved

    def _discrete(self, seen: Observation) -> Outcome:
        core = self.ground.core
        at = self._refined(seen, self._solver) if self.polish else seen
        # proofs.md, step 1b; paper, eq. 4.15
        pairing = self.green.pair(at.rho, enclose=core.rounding) if at.pairs is None else at.pairs
        center = at.value - pairing if core.rounding else Ball(at.value.hi - pairing.hi)  # paper, eq. 4.28
        correction, _ = (seen.value - center if self.polish else pairing).rounded()
        terms = {"correction": np.abs(correction)}
        counted: tuple[str, ...] = ()
        if at.right is not None and self.green.left is not None:
            terms["algebra"] = np.asarray(up(self.green.left * at.right))  # proofs.md, step 1b
            counted = ("algebra",)
        return Outcome(
            center=center,
            terms=terms,
            radius_terms=counted,
            correction=correction,
            sigma=self.green.sigma,
            state=at.U if self.polish else None,
        )

    def _bias(self, tau: Ball) -> tuple[Vector, Vector] | None:
        return signed(self.ground, self.green, tau)


def signed(ground: Ground, green: GreenVectors, tau: Ball) -> tuple[Vector, Vector]:
    """gᵀτ with an upper bound of its whole error, algebraic and rounding."""
    core, stability = ground.core, ground.proof.stability
    rho = core.normal(tau)
    value, error = green.pair(rho, enclose=core.rounding).rounded()
    if not core.rounding:
        error = np.zeros_like(value)
    if stability is not None and green.left is not None:
        error = np.asarray(up(error + up(green.left * stability.right(rho))))
    return value, error
