"""What all linear certificates share: one preparation, one observation of a state, one assembly of the result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.assembly import Findings, assemble, total
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.transfer import Transfer, TransferContext
from pinnpoint.certifiers.batches import observe_many
from pinnpoint.certifiers.green import GreenVectors
from pinnpoint.certifiers.ground import Ground, Observation, Outcome, own_values
from pinnpoint.certifiers.least_squares import effective_norm
from pinnpoint.certifiers.protocols import Certifier
from pinnpoint.certifiers.setup import solver_for
from pinnpoint.rounding.arithmetic import require_range, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.stability import Coercive
from pinnpoint.solvers.protocol import Solver, answer
from pinnpoint.solvers.reference import Steps
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.nonlinear import NonlinearSystem
from pinnpoint.systems.queries import Queries, require_linear
from pinnpoint.systems.semilinear.base import AbstractSemilinear


class AbstractMethod(ABC):
    """A way to certify linear systems. `prepare` once, then `certify` many states."""

    def prepare(self, system: LinearSystem, queries: Queries, *, discrete: bool = True) -> AbstractCertifier:
        """Everything that does not depend on the state: solvers, proofs, Green vectors or probes.

        With ``discrete=False`` the discrete target need not be proved, because a transfer will stand on its own;
        a method may then leave out its stability proof.
        """
        if not isinstance(system, LinearSystem):
            nonlinear = isinstance(system, NonlinearSystem | AbstractSemilinear)
            hint = "; nonlinear systems need Root or Stationary" if nonlinear else ""
            raise InputError(f"system: must be a LinearSystem; got {type(system).__name__}{hint}")
        if not isinstance(queries, Queries):
            raise InputError(f"queries: must be Queries; got {type(queries).__name__}; wrap L as pinnpoint.Queries(L)")
        if system.made_on is not None and queries.made_for.get("mesh", system.made_on) != system.made_on:
            raise InputError("queries: were made on another mesh than the system; ask the problem that has this system")
        if discrete:
            require_linear(queries)
        return self._prepare(system, queries) if discrete else self._prepare_only(system, queries)

    def _prepare_only(self, system: LinearSystem, queries: Queries) -> AbstractCertifier:
        """`prepare` without the need to prove the discrete target."""
        return self._prepare(system, queries)

    @abstractmethod
    def _prepare(self, system: LinearSystem, queries: Queries) -> AbstractCertifier:
        """`prepare`, once its arguments are known to be what they should."""


class AbstractCertifier(Certifier):
    """A prepared method for linear systems."""

    ground: Ground
    green: GreenVectors | None

    @property
    def queries(self) -> Queries:
        """What is asked."""
        return self.ground.queries

    @property
    def load(self) -> Vector:
        """The system's own right-hand side."""
        return self.ground.core.system.b

    @abstractmethod
    def _discrete(self, seen: Observation) -> Outcome:
        """Certify the discrete target."""

    def _bias(self, tau: Ball) -> tuple[Vector, Vector] | None:
        """Products gᵀτ and bounds of their errors, where Green vectors are kept."""
        return None

    def _certify(
        self, U: ArrayLike, raw: ArrayLike | None, transfer: Transfer | None, load: ArrayLike | None
    ) -> Certificate:
        self.ground.core.require_sound()
        seen = self.observe(U, load)
        return self._assemble(seen, self._discrete(seen), self._own(U, seen, raw), transfer)

    def _certify_many(
        self, states: Vector, loads: Sequence[Any], raws: Sequence[Any], transfer: Transfer | None
    ) -> list[Certificate]:
        self.ground.core.require_sound()
        seen = observe_many(self, states, loads)
        return [
            self._assemble(one, self._discrete(one), self._own(U, one, raw), transfer)
            for U, one, raw in zip(states, seen, raws, strict=True)
        ]

    def _own(self, U: ArrayLike, seen: Observation, raw: ArrayLike | None) -> ArrayLike | None:
        """The prediction's own values of the queries, where the state is admissible only almost."""
        if raw is not None:
            return raw
        return own_values(self.ground.queries, self.ground.core.system.space, U, seen.y, seen.value)

    def observe(self, U: ArrayLike, load: ArrayLike | None = None) -> Observation:
        """Residual and values of one admissible state."""
        core = self.ground.core
        y, ball = core.state(U)
        return self._see(y, ball, core.load(load))

    def _see(self, y: Vector, U: Ball, b: Ball) -> Observation:
        core = self.ground.core
        r = core.residual(U, b)
        return self.observation(y, U, r, self.ground.L.affine(U, exact(-self.ground.queries.constants)), b)

    def observation(self, y: Vector, U: Ball, r: Ball, value: Ball, b: Ball, pairs: Ball | None = None) -> Observation:
        """A state with its residual and values, and its products with the Green vectors where they are at hand."""
        rho = self.ground.core.normal(r)
        stability = self.ground.proof.stability
        return Observation(y, U, r, rho, value, b, None if stability is None else stability.right(rho), pairs)

    def _corrected(self, seen: Observation, solver: Solver) -> Observation:
        """The state y − ẽ for an approximate correction Bẽ = ρ, rounded to floats and observed anew.

        Any such state is admissible, so its own residual says how good it is, whatever the solver did.
        """
        y = seen.y - answer(solver.solve, seen.rho.hi)
        if self.ground.core.rounding:
            require_range("corrected state", y)
        return self._see(y, self.ground.core.expand(y), seen.b)

    def _refined(self, seen: Observation, solver: Solver) -> Observation:
        """The state y − ẽ₁ − ẽ₂, a pair of floats, from two corrections; observed anew like `_corrected`."""
        at, core = self._corrected(seen, solver), self.ground.core
        lo = -answer(solver.solve, at.rho.hi)
        if core.rounding:
            require_range("corrected state", lo)
        step = core.direction(exact(lo))
        floats = all(part is None for part in (at.U.lo, at.U.err, step.lo, step.err))
        U = Ball(at.U.hi, step.hi) if floats else at.U + step
        value = self.ground.L.affine(U, exact(-self.ground.queries.constants))
        return self.observation(at.y, U, core.residual(U, seen.b), value, seen.b)

    def _effective_norm(self, at: Observation) -> float:
        """‖r‖_W, or ‖P_eff r‖_W for a least-squares target."""
        ground = self.ground
        length = ground.proof.form.norm(at.r)
        if ground.core.system.is_square:
            return length
        return effective_norm(ground.core, ground.proof, ground.solver, at.rho, length)

    def _assemble(
        self, seen: Observation, out: Outcome, raw: ArrayLike | None, transfer: Transfer | None
    ) -> Certificate:
        ground, core, stability = self.ground, self.ground.core, self.ground.proof.stability
        value, _ = seen.value.rounded()
        center, terms, counted = self._rounded(out)
        bound = None if transfer is None else transfer.bound(self._context(seen, out))
        about = [Claim(f"discrete target: {core.system.target}"), *(Claim(note) for note in ground.queries.notes)]
        given = [Claim(note) for note in core.system.space.notes]
        length = ground.proof.form.norm(seen.r)
        findings = Findings(
            queries=ground.queries,
            method=self.name,
            value=value,
            center=center,
            terms=terms,
            counted=counted,
            claims=[*about, *given, *ground.proof.claims, *out.claims],
            lasting=given,
            covered=core.rounding,
            guarantee=out.guarantee,
            confidence=out.confidence,
            correction=out.correction,
            sigma=out.sigma,
            residual_norm=length,
            effective_residual_norm=length if core.system.is_square else self._effective_norm(seen),
            coefficient_bound=None
            if stability is None or seen.right is None
            else float(up(core.system.space.norm * stability.solution_norm(seen.rho, seen.right))),  # paper, eq. B.22
            dofs=core.system.n,
            details={**out.details, **({} if ground.choice is None else {"solver": str(ground.choice)})},
            evidence=Evidence(state=out.state),
        )
        return assemble(findings, bound, raw)

    def evidence(self, U: Vector) -> Evidence:
        """The correction of a state, Green vectors, and what proves stability."""
        system, solver, proof = self.ground.core.system, self.ground.solver, self.ground.proof
        free, corrected = system.space.free, None
        if solver is not None and free is not None:
            corrected = system.space.vector_of(U[free] - np.asarray(solver.solve(system.residual(U))))
        coercive = proof.stability if isinstance(proof.stability, Coercive) else None
        return Evidence(
            corrected=corrected,
            green=None if self.green is None else self.green.q,
            solver=solver,
            positive=None if coercive is None else coercive.witness,
            coercivity=coercive.form.alpha if coercive is not None and proof.rough else None,
        )

    def _rounded(self, out: Outcome) -> tuple[Vector, dict[str, Vector], list[str]]:
        """Centres as floats, all terms, and the names of those that make up the radius."""
        center, error = out.center.rounded()
        terms, counted = dict(out.terms), list(out.radius_terms)
        if self.ground.core.rounding:
            terms["rounding"] = np.asarray(up(terms.get("rounding", 0.0) + error))
            counted.append("rounding")
        return center, terms, counted

    @property
    def _proves_discrete(self) -> bool:
        """Whether `_discrete` is a proof."""
        return True

    @cached_property
    def _solver(self) -> Solver:
        return solver_for(self.ground.core, None)[0] if self.ground.solver is None else self.ground.solver

    def _context(self, seen: Observation, out: Outcome) -> TransferContext:
        core, used = self.ground.core, self.ground.solver
        steps = used if isinstance(used, Steps) else None

        def consistency(U: ArrayLike) -> Ball:
            return core.residual(core.state(U, "state")[1], seen.b)

        def bias(U: ArrayLike) -> tuple[Vector, Vector]:
            found = self._bias(consistency(U))
            assert found is not None
            return found

        def solve(b: Vector) -> Vector:
            space = core.system.space
            start = self._see(np.zeros(core.system.n), core.expand(np.zeros(core.system.n)), core.load(b))
            y = -answer(self._solver.solve, start.rho.hi)
            if steps is not None:  # operators.md, step 13a
                return space.vector_of(y)
            return space.vector_of(y - answer(self._solver.solve, self._see(y, core.expand(y), start.b).rho.hi))

        def adjoint() -> Vector:
            if self.green is not None:
                return np.asarray(self.green.q, dtype=np.float64)
            rhs = np.stack([ell.hi for ell in self.ground.ell], axis=1)
            return np.asarray(answer(self._solver.solve_transposed, rhs).T)

        def discrete(U: ArrayLike) -> tuple[Vector, Vector]:
            y, ball = core.state(U, "state")
            center, terms, counted = self._rounded(self._discrete(self._see(y, ball, seen.b)))
            return center, total(terms, counted, self.ground.K)

        def left(U: Vector, b: Vector) -> Vector:
            assert steps is not None
            system, free = core.system, steps.reference.free
            v = np.zeros(system.N)
            v[free] = answer(steps.reference.inverse.solve, b[free] - system.free_rows @ U)  # operators.md, step 13b
            return v

        has_green = self._bias(seen.r) is not None
        return TransferContext(
            self.ground.queries.names,
            out.sigma,
            lambda U: self.ground.proof.form.norm(consistency(U)),
            core.is_energy,
            bias if has_green else None,
            core.system.space.free,
            solve,
            adjoint,
            discrete if self._proves_discrete else None,
            left=None if steps is None else left,
            reference=None if steps is None else steps.reference.kappa,
            increment=lambda r: np.asarray(answer(self._solver.solve, r)),
        )
