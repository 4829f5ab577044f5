"""The norm-only certificate: sensitivity times residual, no signed correction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, per_query
from pinnpoint.base.brief import brief
from pinnpoint.certificates.claims import Claim
from pinnpoint.certifiers.base import AbstractCertifier, AbstractMethod
from pinnpoint.certifiers.green import green_vectors, lay_ground
from pinnpoint.certifiers.ground import Ground, Observation, Outcome
from pinnpoint.rounding.arithmetic import up
from pinnpoint.rounding.bounds import Coercivity
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries


@dataclass(frozen=True, eq=False)
class Norm(AbstractMethod):
    """|ℓᵀ(U − U*)| ≤ σ ‖r‖_W (paper, eq. projected_norm_bound), with ‖P_eff r‖_W for overdetermined systems.

    *Guarantee:* deterministic. *Assumes:* nothing beyond the system, unless `sigma` or `coercivity` is
    declared. *Cost:* offline as `Exact`; online one residual and its norm (one solve for the energy weight and
    for overdetermined systems).

    Parameters
    ----------
    rounding
        Cover floating-point rounding.
    sigma
        Upper bounds σ̄ ≥ σ of the caller's own; no adjoint is then solved.
    coercivity, solver
        As in `Exact`.
    """

    rounding: bool = True
    sigma: Any = None
    coercivity: Coercivity | float | None = None
    solver: Any = None

    __repr__ = brief

    def _prepare(self, system: LinearSystem, queries: Queries) -> NormCertifier:
        """Sensitivities; the Green vectors themselves are not kept."""
        given = None if self.sigma is None else per_query("sigma", self.sigma, len(queries), sign="nonnegative")
        needed = given is None or not system.is_square or isinstance(system.weight, str)
        ground = lay_ground(
            system, queries, rounding=self.rounding, solver=self.solver, coercivity=self.coercivity, inverts=needed
        )
        if given is not None:
            return NormCertifier(ground, given, (Claim("σ̄ bounds the sensitivity of every query", "declared"),))
        assert ground.solver is not None
        return NormCertifier(ground, green_vectors(ground, ground.solver, refine=False).sigma, ())


@dataclass(frozen=True, eq=False)
class NormCertifier(AbstractCertifier):
    """`Norm`, prepared."""

    ground: Ground
    sigma: Vector
    claims: tuple[Claim, ...]
    name: str = "norm"

    green = None

    __repr__ = brief

    def _discrete(self, seen: Observation) -> Outcome:
        terms = {"norm": np.asarray(up(self.sigma * self._effective_norm(seen)))}  # proofs.md, step 1c; paper, eq. 5.1
        return Outcome(seen.value, terms, ("norm",), sigma=self.sigma, claims=self.claims)
