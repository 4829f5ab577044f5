"""What a transfer is told by a certificate, and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.rounding.arithmetic import up
from pinnpoint.systems.queries import Queries


@dataclass(frozen=True, eq=False)
class TransferContext:
    """The discrete side, as far as a transfer may use it."""

    names: tuple[str, ...]
    sigma: Vector | None
    """Upper bounds of σ."""
    residual_norm: Callable[[Any], float]
    """U ↦ an upper bound of ‖A U − b‖_W for an admissible U."""
    energy_weight: bool
    """Whether the residual is measured with W = Â⁻¹."""
    bias: Callable[[Any], tuple[Vector, Vector]] | None
    """U ↦ the products gᵀ(A U − b) and upper bounds of their errors; None where no Green vectors are kept."""
    free: Any = None
    """Numbers of the free coordinates; None where all are, or where the space is more than fixed entries."""
    solve: Callable[[Vector], Vector] | None = None
    """b ↦ an admissible U with A U ≈ b on the free rows."""
    adjoint: Callable[[], Vector] | None = None
    """Approximate solutions of Âᵀq = ℓ̂, one row per query, in free coordinates."""
    discrete: Callable[[Any], tuple[Vector, Vector]] | None = None
    """U ↦ centres and radii of the discrete target's intervals, certified from the state U; None where the discrete
    target is not proved at all and a transfer must stand on its own."""
    root: Callable[[Vector], tuple[Vector, Callable[[Vector], Vector]]] | None = None
    """For nonlinear systems: b ↦ an admissible U that nearly solves the system with that load, and a solver of J(U)."""
    left: Callable[[Vector, Vector], Vector] | None = None
    """Where states come from steps towards a reference: (U, b) ↦ v, Āv = b − A U on the free rows, zero elsewhere."""
    reference: Vector | None = None
    """κ̄ of Ā on the cells, then."""
    increment: Callable[[Vector], Vector] | None = None
    """For linear systems: r ↦ nearly Â⁻¹ r, in free coordinates."""

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class TransferBound:
    """λ(u*) = ℓᵀU* + shift ± Σ terms, or λ(u*) = center ± Σ terms, with what this rests on."""

    terms: Mapping[str, Vector]
    claims: tuple[Claim, ...]
    details: Mapping[str, Any] = field(default_factory=dict)
    shift: Vector | None = None
    center: Vector | None = None
    proved: bool = True
    """False where an ingredient is an estimate."""
    evidence: Evidence = field(default_factory=Evidence)

    __repr__ = brief


@runtime_checkable
class Transfer(Protocol):
    """Bounds the distance between the discrete target's value and the continuous one."""

    def bound(self, context: TransferContext) -> TransferBound:
        """The transfer's terms for these queries."""
        ...


class Route(ABC):
    """A problem's own transfer, made for its queries."""

    @property
    @abstractmethod
    def functionals(self) -> Queries:
        """The queries' bounded forms, of which the discrete certificate is made."""

    @abstractmethod
    def bound(self, context: TransferContext) -> TransferBound:
        """The transfer's terms for these queries."""


PRODUCTS = 1e-7
"""Share of a product bound that is added to it: rounding goes into it by square roots."""
RESERVE, LEAST = 3e-10, 1e-140
"""Share of a radius that is added to it, and four times its rounding: another program can then prove the interval, also
one that takes squares of what is next to nothing."""


def with_reserve(terms: dict[str, Vector]) -> dict[str, Vector]:
    """The terms, with the reserve counted as rounding."""
    more = 4.0 * terms["rounding"] + RESERVE * np.sum(list(terms.values()), axis=0) + LEAST
    return {**terms, "rounding": np.asarray(up(terms["rounding"] + more))}
