"""Intervals for queries: their ends, what was predicted, how far apart the two are, and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pinnpoint.base.arrays import Limits, Vector, attributes, floats, frozen, set_fields
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.base.tables import ReadOnly
from pinnpoint.certificates.claims import Claim, Guarantee
from pinnpoint.certificates.derived import DerivedInterval, derive
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.verdicts import accept_limits, answers, distances, value_limits
from pinnpoint.systems.derived import Derived
from pinnpoint.systems.limits import Limit
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.targets import BY_TARGET

ARRAYS = (
    "value",
    "center",
    "radius",
    "correction",
    "sigma",
    "raw",
    "points",
    "times",
    "mesh_estimate",
    "accept",
    "limit",
    "band",
)
"""Of a certificate, beside its terms."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals for K queries; every array is over queries.

    The tightest interval that the method proves is ``[lower, upper]``: `center` ± `radius`, rounded outward.
    `radius` is the sum of the `terms` named in `radius_terms`; the interval centred at the prediction adds the
    distance |center − value|, and the one centred at the raw output |center − raw|.

    Attributes
    ----------
    value
        ℓᵀU + constant of the admissible vector.
    raw
        The prediction's own values where it is not that vector: a model's outputs, or ℓᵀ of values at nodes as they
        were given, before the boundary conditions changed them. Verdicts are on these.
    correction
        The signed gᵀr where the method computes it, else None.
    sigma
        Upper bounds of σ = ‖g‖_{W⁻¹} (with the stated confidence for probabilistic ones), or None.
    residual_norm
        Upper bound of ‖r‖_W.
    effective_residual_norm
        Upper bound of ‖P_eff r‖_W for least-squares targets; the residual norm otherwise.
    terms
        Contributions to the radii, by source.
    interval_of
        What the intervals hold, in plain words: the PDE's solution on what the cells cover, the discrete solution on
        this mesh, or that of a discrete system whose mesh is not known.
    mesh_estimate
        For the discrete solution on a mesh: |PDE's value − discrete value|, estimated; part of no interval. Not a
        number where it is not known, None where it was not estimated, which `notes` says.
    notes
        Remarks for people, such as boundaries that look curved.
    details
        What a method adds: χ and ϑ of a localization, the exact comparison bias, the allowances of inexact solves.
    """

    names: tuple[str, ...]
    value: Vector
    center: Vector
    radius: Vector
    terms: Mapping[str, Vector]
    radius_terms: tuple[str, ...]
    guarantee: Guarantee
    method: str
    target: str = "discrete"
    confidence: float = 1.0
    rounding: str = "covered"
    correction: Vector | None = None
    sigma: Vector | None = None
    residual_norm: float | None = None
    effective_residual_norm: float | None = None
    coefficient_bound: float | None = None
    """Upper bound of ‖U − U*‖₂ (paper, eq. euclidean_coefficient_error_bound), where stability was proved."""
    raw: Vector | None = None
    assumptions: tuple[Claim, ...] = ()
    points: Vector | None = None
    times: Vector | None = None
    """When, where the solution moves."""
    dofs: int | None = None
    interval_of: str = ""
    mesh_estimate: Vector | None = None
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    narrowing: Vector | None = None
    """Of a lift: by which factor the proof is narrower than without the prediction, on the same mesh."""
    evidence: Evidence = field(default_factory=Evidence, repr=False)
    """What stands behind the intervals; see `pinnpoint.certificates.evidence`."""
    accept: Vector | None = None
    """How wrong the prediction may be, query by query; infinite where nothing was asked. See `judged`."""
    limit: Vector | None = None
    """Of the true values, (K, 2): above ≤ value ≤ below; infinite where nothing was asked. See `judged`."""
    band: Vector | None = None
    """Where the largest error was asked for: a proved bound of the prediction's error on each cell of the mesh."""
    derivations: tuple[Derived, ...] = ()
    """What follows from these intervals; see `derived`."""

    def __post_init__(self) -> None:
        if not self.interval_of:
            set_fields(self, interval_of=BY_TARGET[self.target][0])
        for name, a in (("value", self.value), ("center", self.center)):
            if not np.all(np.isfinite(a)):
                raise CertificationError(f"{name}: not finite; the system's numbers leave the range of float64")
        if np.any(np.isnan(self.radius)) or np.any(self.radius < 0.0):
            raise CertificationError("radius: not a number; nothing was proved")
        if len(self.radius) and not np.any(np.isfinite(self.radius)):
            set_fields(self, guarantee=Guarantee.ESTIMATE)
        # Some are a prepared certifier's own: writing into them would change its later answers.
        frozen(*attributes(self, *ARRAYS).values(), *self.terms.values())
        set_fields(self, terms=ReadOnly(self.terms), details=ReadOnly(self.details))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def guarantees(self) -> tuple[str, ...]:
        """What each interval is worth: that of the certificate, but an unbounded one says nothing, an estimate."""
        return tuple(str(self.guarantee if b else Guarantee.ESTIMATE) for b in np.isfinite(self.radius))

    @property
    def lower(self) -> Vector:
        """Lower ends, rounded down."""
        return self._ends(self.center, self.radius)[0]

    @property
    def upper(self) -> Vector:
        """Upper ends, rounded up."""
        return self._ends(self.center, self.radius)[1]

    @property
    def value_radius(self) -> Vector:
        """Radius of the interval centred at `value`."""
        return self._radius_at(self.value)

    @property
    def raw_radius(self) -> Vector | None:
        """Radius of the interval centred at the raw output, if one was given; not a number where `raw` is none."""
        return None if self.raw is None else self._radius_at(self.raw)

    @property
    def mismatch(self) -> Vector | None:
        """ζ = |raw − value|, the representation mismatch of the raw output."""
        return None if self.raw is None else np.abs(self.raw - self.value)  # paper, eq. 3.12

    @property
    def prediction(self) -> Vector | None:
        """What is judged: the model's own output where there is one, else `value`; None where nothing was predicted."""
        if self.raw is None:
            return self.value if self.evidence.predicted else None
        return np.where(np.isnan(self.raw), self.value, self.raw)

    @property
    def off(self) -> tuple[Vector, Vector] | None:
        """|prediction − target| is at least the first and at most the second, as surely as the intervals hold."""
        return None if self.prediction is None else distances(self.prediction, self.lower, self.upper)

    @property
    def verdicts(self) -> tuple[dict[str, str], ...]:
        """What was asked of each query, as ``{"accept": "within", "limit": "holds"}``; empty where nothing was.

        ``"within"``: the prediction is proved to be off by at most `accept`; ``"beyond"``: by more than it.
        ``"holds"``: the true value is proved to keep its `limit`; ``"violated"``: not to. ``"undecided"``: the interval
        has points of both kinds, is unbounded, or is an estimate. See `pinnpoint.certificates.verdicts`.
        """
        proved = self.guarantee is not Guarantee.ESTIMATE
        return tuple(answers(self.prediction, (self.lower, self.upper), self.accept, self.limit, proved=proved))

    @property
    def limits(self) -> tuple[Limit | None, ...]:
        """What was asked of each true value; None where nothing was."""
        if self.limit is None:
            return (None,) * len(self)
        return tuple(one if one.said() else None for one in (Limit(*map(float, row)) for row in self.limit))

    @property
    def derived(self) -> tuple[DerivedInterval, ...]:
        """Intervals of what is derived from several queries, such as magnitudes and von Mises stresses.

        By interval arithmetic over the components' intervals: as sure as the least sure of these.
        """
        if not self.derivations:
            return ()
        own = self.value if self.prediction is None else self.prediction
        return derive(self.derivations, self.names, (self.lower, self.upper), own, self.guarantees)

    def judged(self, accept: Limits = None, limit: Any = None) -> Self:
        """The same certificate, asked for verdicts; what is not given here is not asked.

        Parameters
        ----------
        accept
            How wrong the prediction may be: one number, or one per query (None: any).
        limit
            Where the true value must lie: ``{"above": 0.0, "below": 0.2}``, either or both, or a pair; one for all
            queries and derived quantities, or one per query (None: anywhere), and then one per derived quantity.
        """
        accepts = accept_limits(accept, len(self))
        if accepts is not None and self.prediction is None:
            raise InputError("accept: nothing was predicted that could be judged; give a state, or raw outputs")
        limits, derivations = value_limits(limit, self.names, self.derivations)
        return replace(self, accept=accepts, limit=limits, derivations=derivations)

    def interval(self, kind: str = "corrected") -> Vector:
        """Intervals of shape (K, 2): ``"corrected"``, ``"prediction"`` (centred at `value`) or ``"raw"``."""
        if kind == "corrected":
            if self.correction is None:
                raise CertificationError(
                    f"interval: {self.method} computes no correction; take interval('prediction'), or another method"
                )
            ends = self._ends(self.center, self.radius)
        elif kind == "prediction":
            ends = self._ends(self.value, self.value_radius)
        elif kind == "raw":
            if self.raw is None:
                raise CertificationError("interval: no raw output was given; pass raw= to certify")
            ends = self._ends(self.raw, self._radius_at(self.raw))
        else:
            raise InputError(f"kind: must be 'corrected', 'prediction' or 'raw'; got {kind!r}")
        return np.stack(ends, axis=1)

    def contains(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Whether each interval holds the given value; one number is compared with all of them."""
        x = floats("x", x)
        if x.shape not in ((), self.center.shape):
            raise InputError(f"x: must be one number or {len(self)}, one per query; got shape {x.shape}")
        lower, upper = self._ends(self.center, self.radius)
        return np.asarray((lower <= x) & (x <= upper))

    def _radius_at(self, at: Vector) -> Vector:
        # The distance is rounded once and the sum once: two ulps up.
        # paper, eq. 4.30; paper, eq. 4.31; paper, eq. 5.3
        return np.asarray((np.abs(at - self.center) + self.radius) * (1.0 + 2.0**-50))

    @staticmethod
    def _ends(center: Vector, radius: Vector) -> tuple[Vector, Vector]:
        # a difference is zero in floating point where it is zero
        with np.errstate(over="ignore"):  # an end beyond all floats is infinite
            low, high = center - radius, np.nextafter(center + radius, np.inf)
            return np.where(low == 0.0, 0.0, np.nextafter(low, -np.inf)), high  # paper, eq. 4.29

    def with_details(self, **more: Any) -> Self:
        """The same certificate with further details."""
        return replace(self, details={**self.details, **more})

    def seen_at(self, queries: Queries, U: Vector, raw: Vector | None = None) -> Self:
        """The same intervals beside the queries' own values of U, where another form of them was certified.

        The term ``evaluation`` is the distance between the two forms at U; the interval centred at `value` counts it.
        """
        value = np.asarray(queries.L @ U + queries.constants)
        terms = {**self.terms, "evaluation": np.abs(value - self.value)}  # continuous.md, step 9b
        return replace(self, value=value, raw=None, terms=terms).beside(raw)

    def beside(self, raw: Vector | None) -> Self:
        """The same intervals beside the model's own outputs, not a number for queries of which it has none."""
        if raw is None:
            return self
        return replace(self, raw=raw, terms={**self.terms, "mismatch": np.abs(raw - self.value)})
