"""Overdetermined systems: what of the residual can still be corrected.

P_eff = ÂĤ⁻¹ÂᵀW is the W-orthogonal projector onto range Â, and only P_eff r enters the error (paper, prop.
projected_residual_identity): ‖P_eff r‖_W = ‖ρ‖_{Ĥ⁻¹} with ρ = ÂᵀW r.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

from pinnpoint.base.errors import CertificationError
from pinnpoint.certifiers.core import Core
from pinnpoint.certifiers.proof import Proof
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.forms import DiagonalForm
from pinnpoint.rounding.stability import Coercive
from pinnpoint.solvers.protocol import Solver, answer


def effective_norm(core: Core, proof: Proof, solver: Solver | None, rho: Ball, r_norm: float) -> float:
    """Upper bound of ‖P_eff r‖_W, never above ‖r‖_W.

    *Guarantee:* deterministic when stability is verified and products are enclosed. *Cost:* one solve.
    """
    solve = None if solver is None else partial(answer, solver.solve)
    if proof.stability is None:
        form = core.energy_form(math.inf, DiagonalForm(), solve)
    else:
        assert isinstance(proof.stability, Coercive)
        form = core.energy_form(proof.stability.form.alpha, proof.stability.form.P, solve)
    return min(form.dual(rho), r_norm)  # paper, eq. B.15; paper, eq. B.17


class EffectiveResidual(NamedTuple):
    """r̄ = Â z for an approximate correction z, and what z leaves of the normal equations."""

    r: Ball
    rest: Ball
    """ρ − Ĥz, enclosed."""


def effective_residual(core: Core, solver: Solver | None, rho: Ball) -> EffectiveResidual:
    """P_eff r up to an enclosed remainder: qᵀρ = gᵀ(Âz) + qᵀ(ρ − Ĥz) for g = WÂq, whatever z is."""
    if solver is None:
        raise CertificationError("solver: the effective residual needs one")
    Z = exact(answer(solver.solve, rho.hi))
    return EffectiveResidual(core.reduced.affine(Z), -core.symmetric_map.affine(Z, rho))
