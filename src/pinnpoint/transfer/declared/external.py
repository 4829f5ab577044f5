"""A transfer bound from elsewhere: another tool's, or the caller's own theorem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pinnpoint.base.arrays import per_query
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.transfer import TransferBound, TransferContext


@dataclass(frozen=True, eq=False)
class External:
    """|ℓᵀU* − λ(u*)| ≤ bound, on the caller's word.

    *Guarantee:* as the discrete certificate's, for the continuous target. *Assumes:* the bound, which is listed as
    declared with the words given.

    Parameters
    ----------
    bound
        One number or one per query, ≥ 0.
    claim
        Where the bound comes from.
    """

    bound_: Any
    claim: str = ""

    __repr__ = brief

    def __init__(self, bound: Any, claim: str = "") -> None:
        if not isinstance(claim, str):
            raise InputError(f"claim: must be a sentence; got {type(claim).__name__}")
        object.__setattr__(self, "bound_", bound)
        object.__setattr__(self, "claim", claim)

    def bound(self, context: TransferContext) -> TransferBound:
        """The term ``transfer``."""
        given = per_query("bound", self.bound_, len(context.names), sign="nonnegative")
        words = f": {self.claim}" if self.claim else ""
        said = Claim(f"the discrete value is within the given bound of the PDE's own{words}", "declared")
        return TransferBound({"transfer": given}, (said,))
