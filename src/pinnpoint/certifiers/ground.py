"""What linear certificates stand on: the prepared system, a state seen through it, and what was proved about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.brief import brief
from pinnpoint.certificates.claims import Claim, Guarantee
from pinnpoint.certifiers.core import Core, Functionals
from pinnpoint.certifiers.proof import Proof
from pinnpoint.rounding.balls import Ball
from pinnpoint.rounding.matrices import LinearMap
from pinnpoint.solvers.choice import Choice
from pinnpoint.solvers.protocol import Solver
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.spaces import AdmissibleSpace


@dataclass(frozen=True, eq=False)
class Ground:
    """System, queries, solver and proof, ready for states."""

    core: Core
    queries: Queries
    L: LinearMap
    ell: Functionals
    solver: Solver | None
    proof: Proof
    choice: Choice | None = None

    __repr__ = brief

    @property
    def K(self) -> int:
        """Number of queries."""
        return len(self.queries)


@dataclass(frozen=True, eq=False)
class Observation:
    """One state, seen through the system."""

    y: Vector
    U: Ball
    r: Ball
    rho: Ball
    value: Ball
    b: Ball
    right: float | None
    """The state's factor of the algebraic bound |sᵀB⁻¹ρ|, where stability was proved."""
    pairs: Ball | None = None
    """Products with the Green vectors, where they came with the residual."""

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method has proved about the discrete target, before transfer."""

    center: Ball
    terms: Mapping[str, Vector]
    radius_terms: tuple[str, ...]
    guarantee: Guarantee = Guarantee.DETERMINISTIC
    confidence: float = 1.0
    correction: Vector | None = None
    sigma: Vector | None = None
    claims: tuple[Claim, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    state: Ball | None = None
    """The state that was taken in the prediction's place, where it was polished first."""

    __repr__ = brief


def own_values(queries: Queries, space: AdmissibleSpace, U: Any, y: Vector, value: Ball) -> Vector | None:
    """The queries' values of a state that differs from the member with its coordinates y; None where it does not."""
    given = floats("U", U)
    mismatch = space.mismatch(given, y)
    return queries.before(given, mismatch, value.rounded()[0]) if mismatch.any() else None
