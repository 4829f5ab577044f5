"""Certificates of many loads as plain arrays; a full `Certificate` is made for any one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Limits, Vector, floats, frozen
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.assembly import NEGLECTED, Findings, assemble
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim, Guarantee
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.verdicts import accept_limits, answers, value_limits
from pinnpoint.systems.queries import Queries


@dataclass(frozen=True, eq=False)
class FamilyBatch(Sequence[Certificate]):
    """Intervals for S loads and K queries; arrays have shape (S, K).

    `value` is None where only raw outputs were certified. ``batch[i]`` is the certificate of one load.
    """

    queries: Queries
    mu: Vector
    center: Vector
    radius: Vector
    terms: Mapping[str, Vector]
    value: Vector | None
    raw: Vector | None
    residual_norm: Vector | None
    guarantee: Guarantee
    confidence: float
    covered: bool
    method: str
    claims: tuple[Claim, ...]
    sigma: Vector | None
    dofs: int
    accept: Vector | None = None
    """How wrong predictions may be, query by query; infinite where nothing was asked. See `judged`."""
    limit: Vector | None = None
    """Of the true values, (K, 2), as a certificate's."""

    __repr__ = brief

    def __post_init__(self) -> None:
        frozen(self.center, self.radius, self.value, self.sigma, self.accept, self.limit, *self.terms.values())

    def __len__(self) -> int:
        return len(self.mu)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the queries."""
        return self.queries.names

    @property
    def points(self) -> Vector | None:
        """Where the queries are, if they have places."""
        return self.queries.points

    @property
    def lower(self) -> Vector:
        """Lower ends, rounded down."""
        return np.nextafter(self.center - self.radius, -np.inf)

    @property
    def upper(self) -> Vector:
        """Upper ends, rounded up."""
        return np.nextafter(self.center + self.radius, np.inf)

    @property
    def value_radius(self) -> Vector | None:
        """Radii of the intervals centred at `value`."""
        return None if self.value is None else self._radius_at(self.value)

    @property
    def raw_radius(self) -> Vector | None:
        """Radii of the intervals centred at the raw outputs."""
        return None if self.raw is None else self._radius_at(self.raw)

    @property
    def correction(self) -> Vector | None:
        """ℓᵀU − centre: the signed gᵀr, rounded."""
        return None if self.value is None else self.value - self.center

    @property
    def mismatch(self) -> Vector | None:
        """ζ = |raw − value|."""
        return None if self.raw is None or self.value is None else np.abs(self.raw - self.value)

    def judged(self, accept: Limits = None, limit: Any = None) -> FamilyBatch:
        """The same intervals, asked for verdicts as in `Certificate.judged`."""
        accepts = accept_limits(accept, len(self.names))
        if accepts is not None and self.raw is None and self.value is None:
            raise InputError("accept: nothing was predicted that could be judged; give states, or raw outputs")
        limits, derived = value_limits(limit, self.names, self.queries.derived)
        queries = self.queries.deriving(derived) if derived else self.queries
        return replace(self, accept=accepts, limit=limits, queries=queries)

    @property
    def verdicts(self) -> tuple[tuple[dict[str, str], ...], ...]:
        """Load by load and query by query, as `Certificate.verdicts` has them."""
        said = self.value if self.raw is None else self.raw
        proved, k = self.guarantee is not Guarantee.ESTIMATE, len(self.names)
        found = answers(said, (self.lower, self.upper), self.accept, self.limit, proved=proved)
        return tuple(tuple(found[i * k : (i + 1) * k]) for i in range(len(self)))

    def contains(self, x: ArrayLike) -> Any:
        """Whether x, (S, K), lies in the tightest intervals."""
        x = floats("x", x)
        if x.shape != self.center.shape:
            raise InputError(f"x: must have shape {self.center.shape}; got {x.shape}")
        return np.asarray((self.lower <= x) & (x <= self.upper))

    def _radius_at(self, at: Vector) -> Vector:
        return np.asarray((np.abs(at - self.center) + self.radius) * (1.0 + 2.0**-50))

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return self._cut(i)
        i = range(len(self))[i]
        raw = None if self.raw is None else self.raw[i]
        value = self.value[i] if self.value is not None else (self.center[i] if raw is None else raw)
        terms = {name: term[i] for name, term in self.terms.items()}
        extra = {"correction": np.abs(value - self.center[i])}
        if raw is not None and self.value is not None:
            extra["mismatch"] = np.abs(raw - value)
        findings = Findings(
            queries=self.queries,
            method=self.method,
            value=value,
            center=self.center[i],
            radius=self.radius[i],
            terms={**extra, **terms},
            counted=tuple(terms),
            guarantee=self.guarantee,
            confidence=self.confidence,
            covered=self.covered,
            correction=None if self.value is None else value - self.center[i],
            sigma=self.sigma,
            residual_norm=None if self.residual_norm is None else float(self.residual_norm[i]),
            raw=raw,
            claims=[claim for claim in self.claims if claim != NEGLECTED],
            dofs=self.dofs,
            accept=self.accept,
            limit=self.limit,
            details={"mu": self.mu[i].tolist()},
            evidence=Evidence(predicted=self.value is not None),
        )
        return assemble(findings)

    def __iter__(self) -> Iterator[Certificate]:
        return (self[i] for i in range(len(self)))

    def _cut(self, i: slice) -> FamilyBatch:
        def cut(a: Vector | None) -> Vector | None:
            return None if a is None else a[i]

        return replace(
            self,
            mu=self.mu[i],
            center=self.center[i],
            radius=self.radius[i],
            terms={name: term[i] for name, term in self.terms.items()},
            value=cut(self.value),
            raw=cut(self.raw),
            residual_norm=cut(self.residual_norm),
        )
