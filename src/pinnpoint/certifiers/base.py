"""What all linear certificates share: one preparation, one observation of a state, one assembly of the result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, floats, per_query
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.batch import CertificateBatch
from pinnpoint.certificates.certificate import Certificate, Claim, Guarantee
from pinnpoint.certificates.transfer import Transfer, TransferContext
from pinnpoint.certifiers.batches import observe_many
from pinnpoint.certifiers.core import Core, Functionals
from pinnpoint.certifiers.least_squares import effective_norm
from pinnpoint.certifiers.proof import Proof
from pinnpoint.certifiers.setup import solver_for
from pinnpoint.rounding.arithmetic import UNIT, require_range, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.matrices import LinearMap
from pinnpoint.solvers.choice import Choice
from pinnpoint.solvers.protocol import Solver, answer
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries


class AbstractMethod(ABC):
    """A way to certify linear systems. `prepare` once, then `certify` many states."""

    def prepare(self, system: LinearSystem, queries: Queries, *, discrete: bool = True) -> AbstractCertifier:
        """Everything that does not depend on the state: solvers, proofs, Green vectors or probes.

        With ``discrete=False`` the discrete target need not be proved, because a transfer will stand on its own;
        a method may then leave out its stability proof.
        """
        if not isinstance(system, LinearSystem):
            hint = "; nonlinear systems need Root or Stationary" if hasattr(system, "jacobian") else ""
            raise InputError(f"system: must be a LinearSystem; got {type(system).__name__}{hint}")
        if not isinstance(queries, Queries):
            raise InputError(f"queries: must be Queries; got {type(queries).__name__}; wrap L as pinnpoint.Queries(L)")
        return self._prepare(system, queries) if discrete else self._prepare_only(system, queries)

    def _prepare_only(self, system: LinearSystem, queries: Queries) -> AbstractCertifier:
        """`prepare` without the need to prove the discrete target."""
        return self._prepare(system, queries)

    @abstractmethod
    def _prepare(self, system: LinearSystem, queries: Queries) -> AbstractCertifier:
        """`prepare`, once its arguments are known to be what they should."""


@dataclass(frozen=True, eq=False)
class Ground:
    """System, queries, solver and proof, ready for states."""

    core: Core
    queries: Queries
    L: LinearMap
    ell: Functionals
    solver: Solver | None
    proof: Proof
    choice: Choice | None = None

    __repr__ = brief

    @property
    def K(self) -> int:
        """Number of queries."""
        return len(self.queries)


@dataclass(frozen=True, eq=False)
class Observation:
    """One state, seen through the system."""

    y: Vector
    U: Ball
    r: Ball
    rho: Ball
    value: Ball
    b: Ball
    right: float | None
    """The state's factor of the algebraic bound |sᵀB⁻¹ρ|, where stability was proved."""
    pairs: Ball | None = None
    """Products with the Green vectors, where they came with the residual."""

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method has proved about the discrete target, before transfer."""

    center: Ball
    terms: Mapping[str, Vector]
    radius_terms: tuple[str, ...]
    guarantee: Guarantee = Guarantee.DETERMINISTIC
    confidence: float = 1.0
    correction: Vector | None = None
    sigma: Vector | None = None
    claims: tuple[Claim, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    __repr__ = brief


class AbstractCertifier(ABC):
    """A prepared method."""

    name: str
    ground: Ground

    @abstractmethod
    def _discrete(self, seen: Observation) -> Outcome:
        """Certify the discrete target."""

    def _bias(self, tau: Ball) -> tuple[Vector, Vector] | None:
        """Products gᵀτ and bounds of their errors, where Green vectors are kept."""
        return None

    def certify(
        self, U: Any, *, raw: Any = None, transfer: Transfer | None = None, load: Any = None, accept: Any = None
    ) -> Certificate:
        """Intervals for one state.

        Parameters
        ----------
        U
            Admissible coefficient vector.
        raw
            The unprojected model's own outputs at the queries, to be certified as well.
        transfer
            Bounds that carry the discrete target over to the continuous one.
        load
            Another right-hand side b of the same system.
        accept
            How wrong the prediction may be, one number or one per query; see `Certificate.verdicts`.
        """
        _require_transfer(transfer)
        self.ground.core.require_sound()
        seen = self.observe(U, load)
        return self._assemble(seen, self._discrete(seen), raw, transfer).judged(accept)

    def certify_many(
        self,
        U_batch: Any,
        loads: Any = None,
        *,
        raw: Any = None,
        transfer: Transfer | None = None,
        accept: Any = None,
    ) -> CertificateBatch:
        """Intervals for many states, shape (states, N), each with its own load where `loads` are given."""
        states = floats("U_batch", U_batch)
        if states.ndim != 2:
            raise InputError(f"U_batch: must have shape (states, {self.ground.core.system.N}); got {states.shape}")
        count = states.shape[0]
        given: list[Any] = [None] * count
        for name, what in (("loads", loads), ("raw", raw)):
            rows = count if what is None else (len(what) if hasattr(what, "__len__") else 0)
            if rows != count:
                raise InputError(f"{name}: must have {count} rows, one per state; got {rows}")
        bs, raws = (given if what is None else list(what) for what in (loads, raw))
        _require_transfer(transfer)
        self.ground.core.require_sound()
        seen = observe_many(self, states, bs)
        return CertificateBatch(
            [self._assemble(one, self._discrete(one), o, transfer) for one, o in zip(seen, raws, strict=True)]
        ).judged(accept)

    def observe(self, U: Any, load: Any = None) -> Observation:
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

    def _assemble(self, seen: Observation, out: Outcome, raw: Any, transfer: Transfer | None) -> Certificate:
        ground, core = self.ground, self.ground.core
        queries = ground.queries
        value, _ = seen.value.rounded()
        center, terms, radius_terms = self._rounded(out)
        claims = [Claim(f"discrete target: {core.system.target}"), *(Claim(note) for note in queries.notes)]
        given = [Claim(note) for note in core.system.space.notes]
        claims += [*given, *ground.proof.claims, *out.claims]
        details, guarantee, covered = dict(out.details), out.guarantee, core.rounding
        if ground.choice is not None:
            details["solver"] = str(ground.choice)
        if transfer is not None:
            bound = transfer.bound(self._context(seen, out))
            for name, term in bound.terms.items():
                terms[name] = np.asarray(up(terms[name] + term)) if name in radius_terms else term
                radius_terms += [] if name in radius_terms else [name]
            if bound.center is not None:  # nothing discrete is used
                center, radius_terms, claims, covered = bound.center, list(bound.terms), given, True
                terms |= bound.terms
            elif bound.shift is not None:
                before, center = center, center + bound.shift
                shifted = np.asarray(up(UNIT * (np.abs(before) + np.abs(center)) + terms.get("rounding", 0.0)))
                terms["rounding"], radius_terms = shifted, list(dict.fromkeys([*radius_terms, "rounding"]))
            claims += bound.claims
            details |= bound.details
            guarantee = guarantee if bound.proved else Guarantee.ESTIMATE
        if not covered:
            claims.append(Claim("floating-point rounding is negligible (not covered)", "declared"))
        radius = self._sum(terms, radius_terms)
        if raw is not None:
            raw = per_query("raw", raw, ground.K)
            terms["mismatch"] = np.abs(raw - value)
        r_norm = ground.proof.form.norm(seen.r)
        effective = r_norm if core.system.is_square else self._effective_norm(seen)
        stability = ground.proof.stability
        return Certificate(
            names=queries.names,
            value=value,
            center=center,
            radius=radius,
            terms=terms,
            radius_terms=tuple(radius_terms),
            guarantee=guarantee,
            method=self.name,
            target="discrete" if transfer is None else "continuous",
            confidence=out.confidence,
            rounding="covered" if covered else "not covered",
            correction=out.correction,
            sigma=out.sigma,
            residual_norm=r_norm,
            effective_residual_norm=effective,
            coefficient_bound=None
            if stability is None or seen.right is None
            else float(up(core.system.space.norm * stability.solution_norm(seen.rho, seen.right))),
            raw=raw,
            assumptions=tuple(claims),
            points=queries.points,
            dofs=core.system.n,
            details=details,
        )

    def _rounded(self, out: Outcome) -> tuple[Vector, dict[str, Vector], list[str]]:
        """Centres as floats, all terms, and the names of those that make up the radius."""
        center, error = out.center.rounded()
        terms, counted = dict(out.terms), list(out.radius_terms)
        if self.ground.core.rounding:
            terms["rounding"] = np.asarray(up(terms.get("rounding", 0.0) + error))
            counted.append("rounding")
        return center, terms, counted

    def _sum(self, terms: Mapping[str, Vector], names: Sequence[str]) -> Vector:
        radius = np.zeros(self.ground.K)
        for name in names:
            radius = np.asarray(up(radius + terms[name]))
        return radius

    @property
    def _proves_discrete(self) -> bool:
        """Whether `_discrete` is a proof."""
        return True

    @cached_property
    def _solver(self) -> Solver:
        return solver_for(self.ground.core, None)[0] if self.ground.solver is None else self.ground.solver

    def _context(self, seen: Observation, out: Outcome) -> TransferContext:
        core = self.ground.core

        def consistency(U: Any) -> Ball:
            return core.residual(core.state(U, "state")[1], seen.b)

        def bias(U: Any) -> tuple[Vector, Vector]:
            found = self._bias(consistency(U))
            assert found is not None
            return found

        def solve(b: Vector) -> Vector:
            space = core.system.space
            start = self._see(np.zeros(core.system.n), core.expand(np.zeros(core.system.n)), core.load(b))
            y = -answer(self._solver.solve, start.rho.hi)
            return space.vector_of(y - answer(self._solver.solve, self._see(y, core.expand(y), start.b).rho.hi))

        def adjoint() -> Vector:
            green = getattr(self, "green", None)
            if green is not None:
                return np.asarray(green.q, dtype=np.float64)
            rhs = np.stack([ell.hi for ell in self.ground.ell], axis=1)
            return np.asarray(answer(self._solver.solve_transposed, rhs).T)

        def discrete(U: Any) -> tuple[Vector, Vector]:
            y, ball = core.state(U, "state")
            center, terms, counted = self._rounded(self._discrete(self._see(y, ball, seen.b)))
            return center, self._sum(terms, counted)

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
        )


def _require_transfer(transfer: Any) -> None:
    if transfer is not None and not callable(getattr(transfer, "bound", None)):
        raise InputError(f"transfer: must be a transfer such as pinnpoint.Comparison(...); got {transfer!r}")
