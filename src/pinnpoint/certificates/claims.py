"""What an interval is worth, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError


class Guarantee(StrEnum):
    """What an interval is worth."""

    DETERMINISTIC = "deterministic"
    """It holds the target, by proof."""
    PROBABILISTIC = "probabilistic"
    """All intervals hold together with the stated confidence, over the method's own random draws."""
    ESTIMATE = "estimate"
    """At least one ingredient is not proved."""


@dataclass(frozen=True)
class Claim:
    """One thing the interval rests on: proved here, or the caller's word."""

    claim: str
    status: str = "verified"

    __repr__ = brief

    def __post_init__(self) -> None:
        if self.status not in ("verified", "declared"):
            raise InputError(f"status: must be 'verified' or 'declared'; got {self.status!r}")


def domain_words(curved: bool) -> str:
    """Which domain a weak solution is on, for the claims of a certificate."""
    return "the curved domain that its notes name" if curved else "the domain that the mesh covers"
