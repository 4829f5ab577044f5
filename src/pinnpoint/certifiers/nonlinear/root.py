"""The exact-root certificate: a verified ball at the base point, an adjoint solve there, and the Taylor remainder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import number, set_fields, whole
from pinnpoint.base.brief import brief
from pinnpoint.certificates.claims import Claim
from pinnpoint.certifiers.green import green_vectors
from pinnpoint.certifiers.ground import Ground
from pinnpoint.certifiers.nonlinear.base import (
    AbstractNonlinearCertifier,
    AbstractNonlinearMethod,
    Found,
    require_norm,
    verified_balls,
)
from pinnpoint.certifiers.nonlinear.basepoint import BasePoint, ReducedQueries, tightest
from pinnpoint.rounding.arithmetic import up
from pinnpoint.systems.linear import LinearSystem


@dataclass(frozen=True, eq=False)
class Root(AbstractNonlinearMethod):
    """ℓᵀU* = ℓᵀU − gᵀF(y) − gᵀR(y; y − y*) with g the adjoint solution at y (paper, thm. nonlinear_root_interval).

    A root y* is verified within reach of the base point first (Newton–Kantorovich; strong monotonicity where it
    applies). Then |gᵀR| is bounded over that neighbourhood, which is quadratic in its radius.

    *Guarantee:* deterministic, for the stored system. *Assumes:* nothing for cubic reactions and formulas; else the
    constants that the system was given. *Raises* `CertificationError` with the numbers where no root is verified.
    *Cost:* one factorization of J(y), one solve per query, a handful more.

    Parameters
    ----------
    rounding
        Cover floating-point rounding.
    norm
        For semilinear problems: "max" (an M-matrix comparison of J), "energy", or "auto" for the tighter one, query by
        query.
    polish
        Newton steps to take from the prediction first. The interval is then centred where they lead, and the
        prediction is compared with it.
    correct
        False for the norm-only interval around the prediction's own value.
    ball
        A radius t with ‖y − y*‖_X ≤ t in the system's norm for a zero that was verified elsewhere; the caller's word.
        The only way for systems with more equations than unknowns.
    """

    rounding: bool = True
    norm: str = "auto"
    polish: int = 0
    correct: bool = True
    ball: float | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        set_fields(self, polish=whole("polish", self.polish))
        require_norm(self.norm)
        if self.ball is not None:
            set_fields(self, ball=number("ball", self.ball, low=0.0))

    def _prepare(self, system: LinearSystem, queries: ReducedQueries) -> RootCertifier:
        return RootCertifier(system, queries, self.polish, self)


@dataclass(frozen=True, eq=False)
class RootCertifier(AbstractNonlinearCertifier):
    """`Root`, prepared."""

    system: Any
    seen: ReducedQueries
    polish: int
    method: Root
    name: str = "root"

    __repr__ = brief

    @property
    def target(self) -> str:
        """The system's own."""
        return str(self.system.target)

    def _discrete(self, base: BasePoint) -> Found:
        core, method = base.core, self.method
        proof, balls = verified_balls(base, method.norm, method.polish, method.ball)
        L, ell = core.functionals(self.seen.reduced)
        ground = Ground(core, self.seen.reduced, L, ell, base.solver, proof)
        green = green_vectors(ground, base.solver, refine=False)
        # proofs.md, step 6a
        pairs = [tightest(balls, core.green(green.ball(i)), core.defect(green.ball(i), e)) for i, e in enumerate(ell)]
        bent, algebra = (np.array(column) for column in zip(*pairs, strict=True))
        length = proof.form.norm(base.F)
        terms = {"remainder": bent, "algebra": algebra}
        center = self.seen.values(base.y)
        counted: tuple[str, ...] = ("remainder", "algebra")
        if method.correct:
            pairing = green.pair(core.normal(base.F), enclose=core.rounding)
            correction, _ = pairing.rounded()
            terms = {"correction": np.abs(correction), **terms}
            center = center - pairing  # paper, eq. 6.25
        else:
            correction = None
            terms = {"norm": np.asarray(up(green.sigma * length)), **terms}  # paper, eq. 6.29
            counted = ("norm", *counted)
        claims = (*proof.claims, *(Claim(b.claim, b.status) for b in balls))
        return Found(
            base,
            center,
            terms,
            counted,
            correction,
            green.sigma,
            length,
            green.q,
            claims,
            {b.name: b.details for b in balls},
        )

    def _norm(self, base: BasePoint) -> float:
        return float(verified_balls(base, self.method.norm, 0, self.method.ball)[0].form.norm(base.F))
