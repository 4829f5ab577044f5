"""Transfer by a comparison state: the paper's interface (T_h, ε_eval, U_π)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import number, per_query, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.transfer import TransferBound, TransferContext
from pinnpoint.rounding.arithmetic import up


@dataclass(frozen=True, eq=False)
class Comparison:
    """|ℓᵀU* − u*(x)| ≤ σ T_h + ε_eval, or |gᵀτ| + ε_eval where the comparison state is known.

    Exact comparison identity (paper, prop. admissible_discretization_bias): for any admissible U_π with
    τ = A U_π − b,

        ℓᵀU* − u*(x) = −gᵀτ + (ℓᵀU_π − u*(x)).

    *Guarantee:* as the discrete certificate's, for the continuous target. *Assumes:* ``evaluation`` bounds
    |ℓᵀU_π − u*(x)|, the caller's word; ``residual`` bounds ‖τ‖_W, the caller's word, or computed from ``state``.

    Parameters
    ----------
    evaluation
        ε_eval ≥ 0, one number or one per query.
    residual
        T_h ≥ ‖τ‖_W, where U_π itself is not at hand.
    state
        U_π, admissible; then τ is computed and T_h needs no declaration.
    """

    evaluation: Any
    residual: float | None = None
    state: Any | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        if (self.residual is None) == (self.state is None):
            raise InputError("residual, state: give exactly one of them, a bound T_h or the comparison vector U_π")
        if self.residual is not None:
            set_fields(self, residual=number("residual", self.residual, low=0.0))

    def bound(self, context: TransferContext) -> TransferBound:
        """The terms ``transfer`` and ``evaluation``."""
        evaluation = per_query("evaluation", self.evaluation, len(context.names), sign="nonnegative")
        said = Claim("ε_eval bounds |ℓᵀU_π − u*(x)| at every query", "declared")
        if self.state is not None and context.bias is not None:
            bias, error = context.bias(self.state)
            terms = {"transfer": np.asarray(up(np.abs(bias) + error)), "evaluation": evaluation}  # paper, eq. 4.26
            details = {"bias": -bias, "consistency_norm": context.residual_norm(self.state)}
            return TransferBound(terms, (said, Claim("gᵀτ computed from the comparison state U_π")), details)
        if context.sigma is None:
            raise CertificationError("transfer: this method computes no sensitivity σ, which σ T_h needs")
        if self.state is not None:
            T = context.residual_norm(self.state)  # paper, eq. 4.22
            claim = Claim(f"‖τ‖_W ≤ {T:.6e}, computed from the comparison state U_π")
        else:
            T = float(self.residual)  # type: ignore[arg-type]
            claim = Claim(f"‖τ‖_W ≤ T_h = {T:.6e}", "declared")
        terms = {"transfer": np.asarray(up(context.sigma * T)), "evaluation": evaluation}  # paper, eq. 4.27
        return TransferBound(terms, (said, claim), {"consistency_norm": T})
