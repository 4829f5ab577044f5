"""The stationary-target certificate: S = JᵀWF, its derivative K, and the same chain as for roots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import set_fields, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.claims import Claim
from pinnpoint.certifiers.nonlinear.base import (
    AbstractNonlinearCertifier,
    AbstractNonlinearMethod,
    Found,
    require_norm,
    verified_balls,
)
from pinnpoint.certifiers.nonlinear.basepoint import BasePoint, ReducedQueries
from pinnpoint.certifiers.nonlinear.norm_balls import stationary_ball
from pinnpoint.rounding.arithmetic import norm_up, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.matrices import EnclosedMatrix, LinearMap, PlainMatrix, dots
from pinnpoint.solvers.direct import factorize
from pinnpoint.solvers.protocol import answer
from pinnpoint.systems.linear import LinearSystem


@dataclass(frozen=True, eq=False)
class Stationary(AbstractNonlinearMethod):
    """ℓᵀU* = ℓᵀU − qᵀS(y) − qᵀR(y; y − y*), K(y)q = ℓ̂, for a zero y* of S = JᵀWF (paper, thm. nonlinear_ls_interval).

    Where F has as many entries as y, a verified root with J nonsingular around it is the only stationary point there,
    and F(y*) = 0 turns the remainder into JᵀW R_root + D²F[d]ᵀWF, which is bounded over the root's ball. Else
    Newton–Kantorovich is applied to S with the declared Lipschitz constant of K.

    *Guarantee:* deterministic; the target is a strict local minimizer of ½‖F‖²_W, never claimed to be a global one.
    *Assumes*, *Cost*, parameters: as `Root`, with K in place of J.
    """

    rounding: bool = True
    norm: str = "auto"
    polish: int = 0
    correct: bool = True

    __repr__ = brief

    def __post_init__(self) -> None:
        set_fields(self, polish=whole("polish", self.polish))
        require_norm(self.norm)

    def _prepare(self, system: LinearSystem, queries: ReducedQueries) -> StationaryCertifier:
        if isinstance(system.weight, str):
            raise InputError("weight: a stationary target needs W itself; give None, a vector or a matrix")
        return StationaryCertifier(system, queries, self.polish, self)


@dataclass(frozen=True, eq=False)
class Hessian:
    """K = JᵀWJ + G at a base point, applied factor by factor."""

    base: BasePoint
    G: LinearMap
    matrix: Any

    def green(self, q: Ball) -> Ball:
        """The residual-side p = W J q."""
        return self.base.core.form.apply(self.base.core.reduced.affine(q))

    def defect(self, q: Ball, ell: Ball) -> Ball:
        """K q − ℓ̂."""
        return self.base.core.reduced.T.affine(self.green(q), ell) + self.G.affine(q)


@dataclass(frozen=True, eq=False)
class StationaryCertifier(AbstractNonlinearCertifier):
    """`Stationary`, prepared."""

    system: Any
    seen: ReducedQueries
    polish: int
    method: Stationary
    name: str = "stationary"

    __repr__ = brief

    @property
    def target(self) -> str:
        """A stationary point, no more."""
        return "the verified stationary point of ½‖F‖²_W near the base point, a strict local minimizer"

    def _discrete(self, base: BasePoint) -> Found:
        core, method = base.core, self.method
        z = core.form.apply(base.F)
        G, E = self.system.second(base.y, z, rounding=core.rounding)
        K = sp.csr_array(core.normal_matrix[0] + G)  # paper, eq. C.4
        hessian = Hessian(base, EnclosedMatrix(G, E) if core.rounding else PlainMatrix(G), K)
        S = core.reduced.T.affine(z)  # paper, eq. C.1
        try:
            solver = factorize(K)
        except InputError as error:
            raise CertificationError(f"K = D(JᵀWF) is singular or nearly so at the base point ({error})") from error
        bound, claims, sizes = self._bounds(base, hessian, (G, E), S, solver.solve)
        _, ell = core.functionals(self.seen.reduced)
        rhs = np.stack([e.hi for e in ell], axis=1)
        Q = answer(solver.solve, rhs).T.copy()
        bent, algebra = np.zeros(len(Q)), np.zeros(len(Q))
        for i, e in enumerate(ell):
            Q[i] -= answer(solver.solve, hessian.defect(exact(Q[i]), e).hi)
            bent[i], algebra[i] = bound(exact(Q[i]), hessian.defect(exact(Q[i]), e))
        sigma = np.array([norm_up(q) for q in Q])
        terms = {"remainder": bent, "algebra": algebra}
        center = self.seen.values(base.y)
        correction, first = None, "norm"
        if method.correct:
            pairing = dots(Q, S, enclose=core.rounding)
            correction, _ = pairing.rounded()
            center, first = center - pairing, "correction"  # paper, eq. C.19
            terms = {"correction": np.abs(correction), **terms}
        else:
            terms = {"norm": np.asarray(up(sigma * S.norm())), **terms}
        counted = tuple(name for name in terms if name != "correction" or first == "norm")
        return Found(base, center, terms, counted, correction, sigma, core.form.norm(base.F), Q, claims, sizes)

    def _bounds(
        self, base: BasePoint, hessian: Hessian, G: tuple[Any, Any], S: Ball, solve: Any
    ) -> tuple[Callable[[Ball, Ball], tuple[float, float]], tuple[Claim, ...], dict[str, Any]]:
        """(q, Kq − ℓ̂) ↦ bounds of |qᵀR| and of |(ℓ̂ − Kq)ᵀd|, with what they rest on."""
        method = self.method
        if not base.core.system.is_square:
            ball = stationary_ball(base, hessian.matrix, G, S, hessian.defect, solve, method.polish)
            claim = Claim(ball.claim, ball.status)
            return (lambda q, s: (ball.remainder(q), ball.reach(s))), (claim,), {ball.name: ball.details}
        proof, balls = verified_balls(base, method.norm, method.polish, None)

        def smallest(q: Ball, s: Ball) -> tuple[float, float]:
            p, Gq = hessian.green(q), hessian.G.affine(q)
            found = [(float(up(b.remainder(p) + b.reach(Gq))), b.reach(s)) for b in balls]  # proofs.md, step 6i
            return min(found, key=sum)

        minimum = Claim(
            "the target is a strict local minimizer of ½‖F‖²_W: F vanishes there and J is nonsingular on the ball, so "
            "K = JᵀWJ is positive definite at it",
            "verified" if all(b.status == "verified" for b in balls) else "declared",
        )
        claims = (*proof.claims, *(Claim(b.claim, b.status) for b in balls), minimum)
        return smallest, claims, {b.name: b.details for b in balls}

    def _norm(self, base: BasePoint) -> float:
        return base.core.form.norm(base.F)
