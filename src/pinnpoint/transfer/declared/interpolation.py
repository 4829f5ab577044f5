"""The a priori transfer: interpolation estimates with the caller's constants and seminorms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import attributes, number, per_query, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.transfer import TransferBound, TransferContext
from pinnpoint.rounding.arithmetic import up


@dataclass(frozen=True, eq=False)
class Interpolation:
    """|ℓᵀU* − u*(x)| ≤ C_int σ h |u*|_{H²} + C_pt h² |u*|_{W^{2,∞}} (paper, thm. interpolation_transfer_bound).

    *Guarantee:* as the discrete certificate's, for the continuous target. *Assumes:* the theorem's hypotheses and all
    five numbers, the caller's word. The weight must be the energy weight W = Â⁻¹.

    Parameters
    ----------
    h
        Mesh size.
    C_int, C_pt
        Constants of the two estimates, from α_a, M_a and the shape regularity.
    H2
        Bound of |u*|_{H²(Ω)}.
    W2inf
        Bounds of |u*|_{W^{2,∞}} on the patch around each query; one number or one per query.
    at_nodes
        Which queries are values at mesh nodes: their evaluation error is zero.
    """

    h: float
    C_int: float
    C_pt: float
    H2: float
    W2inf: Any
    at_nodes: Any = False

    __repr__ = brief

    def __post_init__(self) -> None:
        for name, value in attributes(self, "h", "C_int", "C_pt", "H2").items():
            set_fields(self, **{name: number(name, value, low=0.0)})

    def bound(self, context: TransferContext) -> TransferBound:
        """The terms ``transfer`` and ``evaluation``."""
        if not context.energy_weight:
            raise InputError("transfer: the interpolation theorem needs weight='energy' (W = Â⁻¹)")
        if context.sigma is None:
            raise CertificationError("transfer: this method computes no sensitivity σ, which σ T_h needs")
        K = len(context.names)
        local = per_query("W2inf", self.W2inf, K, sign="nonnegative")
        at_nodes = np.broadcast_to(np.asarray(self.at_nodes, dtype=bool), (K,))
        T = float(up(up(self.C_int * self.h) * self.H2))  # paper, eq. 5.17
        evaluation = np.where(at_nodes, 0.0, up(up(self.C_pt * self.h * self.h) * local, 8))  # paper, eq. 5.18
        claims = (
            Claim(f"‖τ‖_W ≤ C_int h |u*|_H² = {T:.6e}", "declared"),
            Claim("ε_eval = C_pt h² |u*|_W²∞ bounds |ℓᵀU_π − u*(x)|, zero at nodes", "declared"),
        )
        terms = {"transfer": np.asarray(up(context.sigma * T)), "evaluation": evaluation}  # paper, eq. 5.19
        return TransferBound(terms, claims, {"consistency_norm": T})
