"""The result: intervals, what they are worth, and where their width comes from."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from pinnpoint.arrays import Vector, floats, per_query
from pinnpoint.errors import CertificationError, DependencyMissingError, InputError
from pinnpoint.version import __version__

SCHEMA = "pinnpoint-certificate/1"


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
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("value", "center"):
            if not np.all(np.isfinite(getattr(self, name))):
                raise CertificationError(f"{name}: not finite; the system's numbers leave the range of float64")
        if np.any(np.isnan(self.radius)) or np.any(self.radius < 0.0):
            raise CertificationError("radius: not a number; nothing was proved")

    def __len__(self) -> int:
        return len(self.names)

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
        """Radius of the interval centred at the raw output, if one was given."""
        return None if self.raw is None else self._radius_at(self.raw)

    @property
    def mismatch(self) -> Vector | None:
        """ζ = |raw − value|, the representation mismatch of the raw output."""
        return None if self.raw is None else np.abs(self.raw - self.value)

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
        return np.asarray((np.abs(at - self.center) + self.radius) * (1.0 + 2.0**-50))

    @staticmethod
    def _ends(center: Vector, radius: Vector) -> tuple[Vector, Vector]:
        return np.nextafter(center - radius, -np.inf), np.nextafter(center + radius, np.inf)

    def with_details(self, **more: Any) -> Certificate:
        """The same certificate with further details."""
        return replace(self, details={**self.details, **more})

    def seen_at(self, queries: Any, U: Vector, raw: Any = None) -> Certificate:
        """The same intervals beside the queries' own values of U, where another form of them was certified.

        The term ``evaluation`` is the distance between the two forms at U; the interval centred at `value` counts it.
        """
        value = np.asarray(queries.L @ U + queries.constants)
        terms = {**self.terms, "evaluation": np.abs(value - self.value)}
        if raw is not None:
            raw = per_query("raw", raw, len(self))
            terms["mismatch"] = np.abs(raw - value)
        return replace(self, value=value, raw=raw, terms=terms)

    def to_dict(self, **header: Any) -> dict[str, Any]:
        """The certificate as plain Python, in the layout of certificate.json; `header` adds title, units, …."""
        versions = {
            "pinnpoint": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        }
        return {
            "schema": SCHEMA,
            "title": header.pop("title", ""),
            "units": header.pop("units", ""),
            "versions": versions,
            "method": self.method,
            "dofs": self.dofs,
            "radius_terms": list(self.radius_terms),
            **header,
            **({"solver": self.details["solver"]} if "solver" in self.details else {}),
            "assumptions": [{"claim": c.claim, "status": c.status} for c in self.assumptions],
            "queries": [self._query(i) for i in range(len(self))],
        }

    def _query(self, i: int) -> dict[str, Any]:
        lower, upper = self._ends(self.center, self.radius)

        def at(a: Vector | None) -> float | None:
            return None if a is None else _number(a[i])

        row: dict[str, Any] = {"name": self.names[i]}
        if self.points is not None:
            row["at"] = [float(c) for c in self.points[i]]
        row |= {
            "target": self.target,
            "guarantee": str(self.guarantee),
            "confidence": self.confidence,
            "rounding": self.rounding,
            "value": at(self.value),
            "value_radius": at(self.value_radius),
            "raw": at(self.raw),
            "raw_radius": at(self.raw_radius),
            "center": at(self.center),
            "radius": at(self.radius),
            "lower": at(lower),
            "upper": at(upper),
            "sensitivity": at(self.sigma),
            "residual_norm": None if self.residual_norm is None else _number(self.residual_norm),
            "terms": {name: _number(t[i]) for name, t in self.terms.items()},
        }
        return row

    def to_json(self, path: str | os.PathLike[str], **header: Any) -> Path:
        """Write certificate.json whole or not at all; an unbounded end is null."""
        return self.write_json(path, self.to_dict(**header))

    @staticmethod
    def write_json(path: str | os.PathLike[str], data: Mapping[str, Any]) -> Path:
        """Write plain data as strict JSON, whole or not at all."""
        try:
            text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
        except (TypeError, ValueError) as error:
            raise InputError(f"header: must hold plain finite JSON values ({error})") from error
        target = Path(path)
        if not target.parent.is_dir():
            raise InputError(f"path: the folder '{target.parent}' does not exist; make it first")
        part = target.with_name(target.name + ".part")
        part.write_text(text, encoding="utf-8")
        os.replace(part, target)
        return target

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
            One number or one per query, to be marked in the table.
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
        table |= {f"term:{name}": t for name, t in self.terms.items()}
        table["guarantee"] = [str(self.guarantee)] * len(self)
        return pd.DataFrame(table).set_index("name")

    def __str__(self) -> str:
        """A table for people."""
        lower, upper = self._ends(self.center, self.radius)
        width = max(5, *(len(n) for n in self.names))
        sure = f", confidence {self.confidence:g}" if self.guarantee is Guarantee.PROBABILISTIC else ""
        lines = [
            f"{self.method}: {self.guarantee}{sure}; target: {self.target}; rounding {self.rounding}",
            f"{'query':{width}}  {'value':>13}  {'lower':>22}  {'upper':>22}  {'radius':>9}",
        ]
        for i, name in enumerate(self.names):
            lines.append(
                f"{name:{width}}  {self.value[i]:13.6g}  {lower[i]:22.15g}  {upper[i]:22.15g}  {self.radius[i]:9.2e}"
            )
        return "\n".join(lines)


class CertificateBatch(Sequence[Certificate]):
    """Certificates of many states, with the arrays stacked: shape (states, queries)."""

    def __init__(self, certificates: Sequence[Certificate]) -> None:
        self._all = tuple(certificates)

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, i: Any) -> Any:
        return CertificateBatch(self._all[i]) if isinstance(i, slice) else self._all[i]

    def __iter__(self) -> Iterator[Certificate]:
        return iter(self._all)

    def to_html(
        self,
        path: str | os.PathLike[str],
        loads: Sequence[str] | None = None,
        *,
        mesh: Any = None,
        fields: Any = None,
        tolerance: Any = None,
        **header: Any,
    ) -> Path:
        """Write one report of all states, which `loads` name; `fields` has one mapping per state.

        Otherwise as `Certificate.to_html`.
        """
        from pinnpoint.report import write_family

        return write_family(path, [c.to_dict(**header) for c in self._all], loads, mesh, fields, tolerance)

    def _stack(self, name: str) -> Vector:
        return np.array([getattr(c, name) for c in self._all])

    @property
    def value(self) -> Vector:
        """ℓᵀU of each state."""
        return self._stack("value")

    @property
    def center(self) -> Vector:
        """Centres."""
        return self._stack("center")

    @property
    def radius(self) -> Vector:
        """Radii."""
        return self._stack("radius")

    @property
    def lower(self) -> Vector:
        """Lower ends."""
        return self._stack("lower")

    @property
    def upper(self) -> Vector:
        """Upper ends."""
        return self._stack("upper")

    @property
    def residual_norm(self) -> Vector:
        """‖r‖_W of each state, shape (states,)."""
        return self._stack("residual_norm")


def _number(x: Any) -> float | None:
    x = float(x)
    return x if np.isfinite(x) else None
