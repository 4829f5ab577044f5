"""What the nonlinear certificates share: methods, prepared certifiers, and the assembly of their result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.assembly import Findings, assemble, total
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim, Guarantee
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.transfer import Transfer, TransferContext
from pinnpoint.certifiers.continuous import ContinuousCertifier, NonlinearCertifier, require_own_load
from pinnpoint.certifiers.ground import own_values
from pinnpoint.certifiers.nonlinear.basepoint import BasePoint, ReducedQueries, VerifiedBall, base_point
from pinnpoint.certifiers.nonlinear.norm_balls import declared_ball, newton_ball
from pinnpoint.certifiers.nonlinear.reaction_balls import NORMS, anchor, reaction_balls, semidefinite
from pinnpoint.certifiers.proof import Proof, prove
from pinnpoint.rounding import stability as st
from pinnpoint.rounding.arithmetic import UNIT, require_round_to_nearest, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.forms import InverseForm
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.nonlinear import NonlinearSystem
from pinnpoint.systems.queries import Queries, require_linear
from pinnpoint.systems.semilinear.base import AbstractSemilinear


class AbstractNonlinearMethod(ABC):
    """A way to certify nonlinear systems."""

    rounding: bool

    def prepare(
        self, system: LinearSystem, queries: Queries, *, discrete: bool = True
    ) -> AbstractNonlinearCertifier | ContinuousCertifier:
        """Check what is given; the linear algebra belongs to each state, where J is taken.

        With ``discrete=False`` the discrete target is not proved, because a transfer will stand on its own.
        """
        if not isinstance(system, AbstractSemilinear | NonlinearSystem):
            raise InputError(
                f"system: {type(self).__name__} certifies nonlinear systems; got {type(system).__name__}; for linear "
                "ones use Exact"
            )
        if not isinstance(queries, Queries):
            raise InputError(f"queries: must be Queries; got {type(queries).__name__}; wrap L as pinnpoint.Queries(L)")
        if discrete:
            require_linear(queries)
        rounding = self.rounding and system.covers_rounding
        seen = ReducedQueries(queries, system.space, rounding)
        assert seen.reduced is not None
        prepared = self._prepare(system, seen)
        return prepared if discrete else ContinuousCertifier(system, seen, prepared.name)

    @abstractmethod
    def _prepare(self, system: LinearSystem, queries: ReducedQueries) -> AbstractNonlinearCertifier:
        """`prepare`, once its arguments are known to be what they should."""


@dataclass(frozen=True, eq=False)
class Found:
    """What was proved about the discrete target from one base point."""

    base: BasePoint
    center: Ball
    terms: Mapping[str, Vector]
    radius_terms: tuple[str, ...]
    correction: Vector | None
    sigma: Vector
    residual_norm: float
    green: Vector
    claims: tuple[Claim, ...]
    balls: Mapping[str, Mapping[str, float]]
    """What each verified ball is made of, by the name of its norm."""


class AbstractNonlinearCertifier(NonlinearCertifier):
    """A prepared nonlinear method."""

    system: Any
    seen: ReducedQueries
    polish: int

    @abstractmethod
    def _discrete(self, base: BasePoint) -> Found:
        """Certify the discrete target from a base point."""

    @property
    @abstractmethod
    def target(self) -> str:
        """The discrete target in words."""

    def base(self, U: ArrayLike, name: str = "U", polish: int | None = None) -> BasePoint:
        """The base point of an admissible state, after the Newton steps that were asked for."""
        steps = self.polish if polish is None else polish
        return base_point(self.system, self.start(U, name), rounding=self.seen.rounding, polish=steps)

    def newton(self, U: ArrayLike) -> Vector:
        """The state one Newton step on from the base point."""
        return np.asarray(self.system.space.vector_of(self.base(U).moved().y))

    def _certify(
        self, U: ArrayLike, raw: ArrayLike | None, transfer: Transfer | None, load: ArrayLike | None
    ) -> Certificate:
        require_own_load(load)
        space, queries = self.system.space, self.seen.queries
        if self.seen.rounding:
            require_round_to_nearest()
        start = self.start(U)
        base, value = self.base(U), self.seen.values(start)
        raw = own_values(queries, space, U, start, value) if raw is None else raw
        proof = self._discrete(base)
        center, terms, counted = self._rounded(proof)
        given = [Claim(note) for note in space.notes]
        claims = [Claim(f"discrete target: {self.target}"), *(Claim(n) for n in queries.notes), *given]
        claims += [Claim(text, status) for text, status in self.system.claims]
        if self.polish:
            claims.append(Claim(f"base point: {self.polish} Newton steps from the prediction"))
        findings = Findings(
            queries=queries,
            method=self.name,
            value=value.rounded()[0],
            center=center,
            terms=terms,
            counted=counted,
            claims=[*claims, *proof.claims],
            lasting=given,
            covered=self.seen.rounding,
            guarantee=Guarantee.DETERMINISTIC if self.system.proved else Guarantee.ESTIMATE,
            correction=proof.correction,
            sigma=proof.sigma,
            residual_norm=proof.residual_norm,
            dofs=self.system.n,
            details={"balls": proof.balls, "polish": self.polish},
            evidence=Evidence(polish=self.polish),
        )
        return assemble(findings, None if transfer is None else transfer.bound(self._context(base, proof)), raw)

    def evidence(self, U: Vector) -> Evidence:
        """The state one Newton step on."""
        return Evidence(corrected=self.newton(U), polish=self.polish)

    def _rounded(self, found: Found) -> tuple[Vector, dict[str, Vector], list[str]]:
        center, error = found.center.rounded()
        terms, counted = dict(found.terms), list(found.radius_terms)
        if self.seen.rounding:
            terms["rounding"] = error
            counted.append("rounding")
        return center, terms, counted

    def _context(self, base: BasePoint, found: Found) -> TransferContext:
        """For transfers: another state is certified from its own base point, with its own remainder."""
        count = len(self.seen.queries)

        def discrete(U: ArrayLike) -> tuple[Vector, Vector]:
            there = self._same_target(base, self.base(U, "state", 0))
            center, terms, counted = self._rounded(there)
            return center, total(terms, counted, count)

        def bias(U: ArrayLike) -> tuple[Vector, Vector]:
            center, radius = discrete(U)
            value, error = self.seen.values(self.base(U, "state", 0).y).rounded()
            gap = value - center
            return gap, np.asarray(up(radius + error + UNIT * np.abs(gap)))

        return TransferContext(
            self.seen.queries.names,
            None,
            lambda U: self._norm(self.base(U, "state", 0)),
            isinstance(self.system.weight, str),
            bias,
            self.system.space.free,
            None,
            lambda: found.green,
            discrete,
        )

    def _same_target(self, base: BasePoint, there: BasePoint) -> Found:
        """The certificate from another base point, once its target is known to be the same one.

        Newton–Kantorovich proves that the ball of radius 2η around a point holds one target only, so it is enough that
        all of the ball verified from the other point lies in it. A monotone system has one root.
        """
        found, first = self._discrete(there), self._discrete(base)
        if isinstance(self.system, AbstractSemilinear) and self.system.monotone and semidefinite(base):
            return found
        gap = exact(np.asarray(np.nextafter(np.abs(there.y - base.y), np.inf)))
        for name, ball in found.balls.items():
            other = first.balls.get(name)
            if name == "energy" or other is None or "eta" not in ball:
                continue
            apart = float(np.max(gap.hi)) if name == "max" else self.system.X.norm(gap)
            for inner, outer in ((other, ball), (ball, other)):
                if float(up(apart + inner["radius"])) <= 2.0 * outer["eta"]:  # proofs.md, step 6k
                    return found
        raise CertificationError(
            "transfer: the root verified from the comparison state was not shown to be the one verified from the "
            "prediction: neither ball of uniqueness, of radius 2η, holds all of the other verified ball. Take Newton "
            "steps from the prediction first (polish)"
        )

    @abstractmethod
    def _norm(self, base: BasePoint) -> float:
        """‖F(y)‖_W, rounded up."""


def require_norm(norm: Any) -> None:
    """Refuse what is not the name of a norm."""
    if norm not in ("auto", *NORMS):
        raise InputError(f"norm: must be 'auto', {' or '.join(map(repr, NORMS))}; got {norm!r}")


def verified_balls(base: BasePoint, norm: str, polish: int, declared: float | None) -> tuple[Proof, list[VerifiedBall]]:
    """Stability of J(y), and every ball that holds a root."""
    core, system = base.core, base.system
    if isinstance(system, AbstractSemilinear):
        if declared is not None:
            raise InputError("ball: only for a NonlinearSystem; a semilinear problem's ball is verified")
        at = anchor(base)
        stability = st.Coercive(at.form(), at.claim, "verified")
        form = InverseForm(at.form()) if core.is_energy else core.form
        return Proof(stability, form, (Claim(at.claim),)), reaction_balls(at, norm, polish)
    if norm != "auto":
        raise InputError("norm: a NonlinearSystem has its own norm; give it there")
    proof = prove(core, base.solver, None)
    ball = newton_ball(base, polish) if declared is None else declared_ball(base, declared)
    return proof, [ball]
