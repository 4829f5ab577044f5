"""The result: intervals, what they are worth, and where their width comes from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Vector, floats, frozen, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, DependencyMissingError, InputError
from pinnpoint.certificates.json import record, write_json
from pinnpoint.certificates.verdicts import accept_limits, accepted, distances
from pinnpoint.systems.targets import BY_TARGET

ARRAYS = ("value", "center", "radius", "correction", "sigma", "raw", "points", "mesh_estimate", "accept")
"""Of a certificate, beside its terms."""


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


@dataclass(frozen=True, eq=False)
class Certificate:
    """Intervals for K queries; every array is over queries.

    The tightest interval that the method proves is ``[lower, upper]``: `center` ± `radius`, rounded outward.
    `radius` is the sum of the `terms` named in `radius_terms`; the interval centred at the prediction adds the
    distance |center − value|, and the one centred at the raw output |center − raw|.

    Attributes
    ----------
    value
        ℓᵀU + constant of the admissible vector.
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
    dofs: int | None = None
    interval_of: str = ""
    mesh_estimate: Vector | None = None
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    accept: Vector | None = None
    """How wrong the prediction may be, query by query; infinite where nothing was asked. See `judged`."""

    def __post_init__(self) -> None:
        if not self.interval_of:
            set_fields(self, interval_of=BY_TARGET[self.target][0])
        for name in ("value", "center"):
            if not np.all(np.isfinite(getattr(self, name))):
                raise CertificationError(f"{name}: not finite; the system's numbers leave the range of float64")
        if np.any(np.isnan(self.radius)) or np.any(self.radius < 0.0):
            raise CertificationError("radius: not a number; nothing was proved")
        if len(self.radius) and not np.any(np.isfinite(self.radius)):
            set_fields(self, guarantee=Guarantee.ESTIMATE)
        # Some are a prepared certifier's own: writing into them would change its later answers.
        frozen(*(getattr(self, name) for name in ARRAYS), *self.terms.values())

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
            return None if "value" in self.details else self.value
        return np.where(np.isnan(self.raw), self.value, self.raw)

    @property
    def off(self) -> tuple[Vector, Vector] | None:
        """|prediction − target| is at least the first and at most the second, as surely as the intervals hold."""
        return None if self.prediction is None else distances(self.prediction, self.lower, self.upper)

    @property
    def verdicts(self) -> tuple[dict[str, str], ...]:
        """What was asked of each query, ``{"accept": "within" | "beyond" | "undecided"}``; empty where nothing was.

        ``"within"``: the prediction is proved to be off by at most `accept`; ``"beyond"``: by more than it;
        ``"undecided"``: the interval has points of both kinds, is unbounded, or is an estimate. See
        `pinnpoint.certificates.verdicts`.
        """
        if self.accept is None or self.prediction is None:
            return tuple({} for _ in self.names)
        proved = self.guarantee is not Guarantee.ESTIMATE
        found = accepted(self.prediction, self.lower, self.upper, self.accept, proved=proved)
        return tuple({"accept": str(v)} if np.isfinite(a) else {} for v, a in zip(found, self.accept, strict=True))

    def judged(self, accept: Any) -> Certificate:
        """The same certificate, asked how wrong the prediction may be: one number, or one per query (None: any)."""
        limits = accept_limits(accept, len(self))
        if limits is not None and self.prediction is None:
            raise InputError("accept: nothing was predicted that could be judged; give a state, or raw outputs")
        return replace(self, accept=limits)

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

    def contains(self, x: Any) -> NDArray[np.bool_]:
        """Whether each interval holds the given value; one number is compared with all of them."""
        x = floats("x", x)
        if x.shape not in ((), self.center.shape):
            raise InputError(f"x: must be one number or {len(self)}, one per query; got shape {x.shape}")
        lower, upper = self._ends(self.center, self.radius)
        return np.asarray((lower <= x) & (x <= upper))

    def _radius_at(self, at: Vector) -> Vector:
        # The distance is rounded once and the sum once: two ulps up.
        # paper, eq. 4.30; paper, eq. 4.31
        return np.asarray((np.abs(at - self.center) + self.radius) * (1.0 + 2.0**-50))

    @staticmethod
    def _ends(center: Vector, radius: Vector) -> tuple[Vector, Vector]:
        with np.errstate(over="ignore"):  # an end beyond all floats is infinite
            return np.nextafter(center - radius, -np.inf), np.nextafter(center + radius, np.inf)  # paper, eq. 4.29

    def with_details(self, **more: Any) -> Certificate:
        """The same certificate with further details."""
        return replace(self, details={**self.details, **more})

    def seen_at(self, queries: Any, U: Vector, raw: Vector | None = None) -> Certificate:
        """The same intervals beside the queries' own values of U, where another form of them was certified.

        The term ``evaluation`` is the distance between the two forms at U; the interval centred at `value` counts it.
        """
        value = np.asarray(queries.L @ U + queries.constants)
        terms = {**self.terms, "evaluation": np.abs(value - self.value)}  # continuous.md, step 9b
        return replace(self, value=value, raw=None, terms=terms).beside(raw)

    def beside(self, raw: Vector | None) -> Certificate:
        """The same intervals beside the model's own outputs, not a number for queries of which it has none."""
        if raw is None:
            return self
        return replace(self, raw=raw, terms={**self.terms, "mismatch": np.abs(raw - self.value)})

    def to_dict(self, **header: Any) -> dict[str, Any]:
        """The certificate as plain Python, in the layout of certificate.json; `header` adds title, units, …."""
        return record(self, **header)

    def to_json(self, path: str | os.PathLike[str], **header: Any) -> Path:
        """Write certificate.json whole or not at all; an unbounded end is null."""
        return write_json(path, self.to_dict(**header))

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        mesh: Any = None,
        fields: Any = None,
        tolerance: Any = None,
        **header: Any,
    ) -> Path:
        """Write a report, one HTML file that needs nothing else, whole or not at all.

        Parameters
        ----------
        path
            The file; one that exists is replaced.
        mesh, fields
            To show the part: its mesh, and name to nodal values. ``prediction``, ``corrected``, ``error`` and
            ``green <query>`` have their meaning.
        tolerance
            How narrow the proof must be, one number or one per query, to be marked in the table. How wrong the
            prediction may be is the certificate's own `accept`: ``certificate.judged(…).to_html(…)``.
        header
            ``title``, ``units`` and whatever else `to_json` takes.
        """
        from pinnpoint.report import View, write_report
        from pinnpoint.report.family import marked

        data = marked(self.to_dict(**header), tolerance)
        return write_report(path, data, None if mesh is None else View.of(mesh, fields or {}, self.points))

    def _repr_html_(self) -> str:
        """A compact table for notebooks."""
        from pinnpoint.report.notebook import compact

        return compact(self.to_dict())

    def plot(self, ax: Any = None) -> Any:
        """Intervals and predictions side by side, as matplotlib axes (extra ``plot``)."""
        from pinnpoint.report.matplot import draw

        return draw(self.to_dict(), ax)

    def to_frame(self) -> Any:
        """A pandas table, one row per query (extra ``frame``)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise DependencyMissingError("to_frame needs pandas: pip install 'pinnpoint[frame]'") from error
        lower, upper = self._ends(self.center, self.radius)
        table = {
            "name": list(self.names),
            "value": self.value,
            "center": self.center,
            "radius": self.radius,
            "lower": lower,
            "upper": upper,
            "value_radius": self.value_radius,
        }
        if self.sigma is not None:
            table["sensitivity"] = self.sigma
        if self.raw is not None:
            table |= {"raw": self.raw, "raw_radius": self._radius_at(self.raw)}
        if self.mesh_estimate is not None:
            table["mesh_estimate"] = self.mesh_estimate
        table |= {f"term:{name}": t for name, t in self.terms.items()}
        table["guarantee"] = list(self.guarantees)
        if self.accept is not None:
            table |= {"accept": self.accept, "verdict": [v.get("accept", "") for v in self.verdicts]}
        return pd.DataFrame(table).set_index("name")

    def __str__(self) -> str:
        """A table for people."""
        from pinnpoint.certificates.printed import table

        return table(self)

    def __repr__(self) -> str:
        """In one line; ``print`` shows the table."""
        worst = float(np.max(self.radius, initial=0.0))
        return (
            f"Certificate({len(self)} queries, {self.method}, {self.guarantee}, target {self.target}, "
            f"largest radius {worst:.3g})"
        )
