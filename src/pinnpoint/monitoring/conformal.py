"""Statistical bands beside the proved intervals: sharper, for a population, and never a proof (extra ``conformal``).

A band from split conformal prediction holds the truth of a new load with the stated probability, if that load comes
from the population of the calibration loads. It says nothing of any single load, and nothing at all of others: the
proved interval does. So bands are a type of their own, are never part of a `Certificate`, and say of themselves what
they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from pinnpoint.base.arrays import Vector, attributes, floats, number, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.certificates.certificate import Certificate

PLACES = ("center", "value", "raw")
FEATURES = ("tail", "local", "norm", "correction", "algebra", "mismatch")
"""Certified terms that may tell how far a centre is off."""


@dataclass(frozen=True, eq=False)
class StatisticalBand:
    """Intervals that hold the truth for a share `confidence` of a population; arrays (loads, queries)."""

    names: tuple[str, ...]
    center: Vector
    lower: Vector
    upper: Vector
    confidence: float
    calibrated: int

    kind = "statistical"

    __repr__ = brief

    @property
    def claim(self) -> str:
        """What the band is worth, in words."""
        return (
            f"statistical, not proved: each query's band holds the truth for {_share(self.confidence)} of loads from "
            f"the population of its {self.calibrated} calibration loads"
        )

    def covers(self, x: ArrayLike) -> Any:
        """Whether x, (loads, queries), lies in the bands."""
        x = floats("x", x)
        if x.shape != self.center.shape:
            raise InputError(f"x: must have shape {self.center.shape}; got {x.shape}")
        return np.asarray((self.lower <= x) & (x <= self.upper))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, under a name of its own."""
        rows = {"center": _plain(self.center), "lower": _plain(self.lower), "upper": _plain(self.upper)}
        told = {"kind": self.kind, "claim": self.claim, "confidence": self.confidence, "calibrated": self.calibrated}
        return {"statistical": {**told, "names": list(self.names), **rows}}

    def beside(self, certificates: Sequence[Certificate], load: int = 0) -> str:
        """One load for people: the proved intervals, and the bands apart from them."""
        proved = self._of(certificates, load)
        width = max(5, *(len(n) for n in self.names))
        lines = [f"{'query':{width}}  {'proved: lower':>16}  {'upper':>16}   {'statistical: lower':>18}  {'upper':>16}"]
        for i, name in enumerate(self.names):
            band = f"{self.lower[load, i]:18.9g}  {self.upper[load, i]:16.9g}"
            lines.append(f"{name:{width}}  {proved.lower[i]:16.9g}  {proved.upper[i]:16.9g}   {band}")
        return "\n".join([*lines, self.claim])

    def _of(self, certificates: Sequence[Certificate], load: int) -> Certificate:
        """The certificate of a load; refuses those of other loads or queries."""
        if len(certificates) != len(self.center):
            raise InputError(f"certificates: must be the {len(self.center)} of the bands; got {len(certificates)}")
        if not -len(self.center) <= whole("load", load) < len(self.center):
            raise InputError(f"load: must be below {len(self.center)}, the number of bands; got {load}")
        proved = certificates[load]
        places = attributes(proved, *PLACES).values()
        if proved.names != self.names or not any(np.array_equal(x, self.center[load]) for x in places if x is not None):
            raise InputError("certificates: are of other loads or queries than the bands; give those that made them")
        return proved


@dataclass(frozen=True, eq=False)
class Overlay:
    """Calibrated bands for further certificates of the same queries."""

    regressor: Any
    names: tuple[str, ...]
    at: str
    difficulty: Callable[[Certificate], Vector] | None
    confidence: float
    calibrated: int

    __repr__ = brief

    def band(self, certificates: Sequence[Certificate]) -> StatisticalBand:
        """Bands of new loads."""
        center, sigma, bins = _table(certificates, self.names, self.at, self.difficulty)
        ends = self.regressor.predict_int(center.ravel(), sigmas=sigma, bins=bins, confidence=self.confidence)
        lower, upper = (np.asarray(e).reshape(center.shape) for e in np.asarray(ends).T)
        return StatisticalBand(self.names, center, lower, upper, self.confidence, self.calibrated)


def calibrate(
    certificates: Sequence[Certificate],
    truth: Any,
    *,
    confidence: float = 0.95,
    at: str = "center",
    difficulty: str | Callable[[Certificate], Vector] | None = "features",
    seed: int = 0,
) -> Overlay:
    """Split conformal bands by crepes, query by query, scaled by certified features.

    Parameters
    ----------
    certificates
        Of calibration loads, which stand for the population: a `CertificateBatch`, a `FamilyBatch`, or a list. Those of
        `Localized` bring χ, ϑ, the signed local correction and the tail product.
    truth
        (loads, queries): for example centres of `Exact`.
    at
        What the bands are centred at: ``"center"`` (a localized certificate's corrected value), ``"value"``, ``"raw"``.
    difficulty
        How hard a load is said to be. ``"features"``: a nonnegative combination of the certified terms, χ, ϑ and the
        residual norm, fitted to half of the calibration loads, while the other half calibrates; ``"radius"``: the
        proved radius; None: all alike; or a function of a certificate.
    seed
        Of the split.
    """
    try:
        from crepes import ConformalRegressor
    except ImportError as error:
        raise DependencyMissingError("calibrate needs crepes: pip install 'pinnpoint[conformal]'") from error
    confidence = number("confidence", confidence, above=0.0, high=1.0)
    if at not in PLACES:
        raise InputError(f"at: must be one of {', '.join(PLACES)}; got {at!r}")
    if not len(certificates):
        raise InputError("certificates: there are none to calibrate with")
    names = certificates[0].names
    y = floats("truth", truth)
    if y.shape != (len(certificates), len(names)) or not np.all(np.isfinite(y)):
        raise InputError(f"truth: must be finite, shape ({len(certificates)}, {len(names)}); got {y.shape}")
    order = np.random.default_rng(whole("seed", seed)).permutation(len(certificates))
    half = len(order) // 2 if difficulty == "features" else 0
    rows, scale = order[half:], _given(difficulty)
    least = max(2, math.ceil(1.0 / (1.0 - confidence))) if confidence < 1.0 else math.inf
    if len(rows) < least or (difficulty == "features" and half == 0):
        raise InputError(
            f"certificates: {_share(confidence)} needs at least {least} calibration loads"
            f"{' (half of them fit the features)' if difficulty == 'features' else ''}; got {len(rows)}"
        )
    if difficulty == "features":
        scale = _fitted([certificates[int(i)] for i in order[:half]], y[order[:half]], at)
    center, sigma, bins = _table([certificates[int(i)] for i in rows], names, at, scale)
    regressor = ConformalRegressor().fit((y[rows] - center).ravel(), sigmas=sigma, bins=bins)
    return Overlay(regressor, names, at, scale, confidence, len(rows))


def features(certificate: Certificate) -> Vector:
    """Certified quantities per query, (queries, features), all nonnegative."""
    return np.stack(list(_named(certificate).values()), axis=1).reshape(len(certificate), -1)


def _named(certificate: Certificate) -> dict[str, Vector]:
    """Features by name."""
    columns = {name: np.asarray(certificate.terms[name]) for name in FEATURES if name in certificate.terms}
    for name in ("chi", "theta"):
        if name in certificate.details:
            columns[name] = np.asarray(certificate.details[name]) * (certificate.residual_norm or 0.0)
    if certificate.sigma is not None and certificate.residual_norm is not None:
        columns["sigma"] = certificate.sigma * certificate.residual_norm
    columns["radius"] = np.asarray(certificate.radius)
    return {name: np.where(np.isfinite(c), c, 0.0) for name, c in columns.items()}


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A nonnegative combination of features, and a floor."""

    kinds: tuple[str, ...]
    top: Vector
    weight: Vector
    floor: float

    __repr__ = brief

    def __call__(self, certificate: Certificate) -> Vector:
        return np.asarray(_columns(certificate, self.kinds) / self.top @ self.weight + self.floor)


def _columns(certificate: Certificate, kinds: tuple[str, ...]) -> Vector:
    """Features of these names; what a state was not changed by is zero, others must be there."""
    found = _named(certificate)
    missing = [name for name in kinds if name not in found and name != "mismatch"]
    if missing:
        raise InputError(
            f"certificates: have no {', '.join(missing)}, which the bands were calibrated by; take the same method"
        )
    return np.stack([found.get(name, np.zeros(len(certificate))) for name in kinds], axis=1)


def _fitted(certificates: Sequence[Certificate], truth: Vector, at: str) -> _Fitted:
    """The nonnegative combination of features that fits |truth − centre| best, and a floor."""
    kinds = tuple(dict.fromkeys(name for c in certificates for name in _named(c)))
    X = np.concatenate([_columns(c, kinds) for c in certificates])
    error = np.abs(truth - np.stack([_place(c, at) for c in certificates])).ravel()
    top = np.maximum(X.max(axis=0), np.finfo(np.float64).tiny)
    weight, _ = nnls(X / top, error)
    return _Fitted(kinds, top, weight, max(1e-3 * float(np.mean(error)), float(np.finfo(np.float64).tiny)))


def _by_radius(certificate: Certificate) -> Vector:
    return np.asarray(certificate.radius) + np.finfo(np.float64).tiny


def _given(difficulty: Any) -> Callable[[Certificate], Vector] | None:
    if difficulty == "radius":
        return _by_radius
    if difficulty is None or difficulty == "features":
        return None
    if not callable(difficulty):
        raise InputError(f"difficulty: must be 'features', 'radius', None or a function; got {difficulty!r}")
    return difficulty  # type: ignore[no-any-return]


def _table(certificates: Sequence[Certificate], names: Any, at: str, difficulty: Any) -> tuple[Vector, Any, Any]:
    """Centres (loads, queries), and difficulties and query numbers, flat."""
    if not len(certificates):
        raise InputError("certificates: there are none")
    for c in certificates:
        if c.names != names:
            raise InputError(f"certificates: must all be of the queries {', '.join(names)}; got {', '.join(c.names)}")
    center = np.stack([_place(c, at) for c in certificates])
    sigma = None if difficulty is None else np.concatenate([_hardness(difficulty, c) for c in certificates])
    if sigma is not None and not (np.all(np.isfinite(sigma)) and np.all(sigma > 0.0)):
        raise InputError("difficulty: must be finite and > 0 for every load and query")
    return center, sigma, np.tile(np.arange(len(names)), len(center))


def _hardness(difficulty: Callable[[Certificate], Vector], certificate: Certificate) -> Vector:
    found = floats("difficulty", difficulty(certificate))
    if found.shape != (len(certificate),):
        raise InputError(f"difficulty: must give {len(certificate)} numbers, one per query; got shape {found.shape}")
    return found


def _share(confidence: float) -> str:
    """In percent with all its digits: 99.9 % is not 100 %."""
    return f"{round(100.0 * confidence, 10):.12g}%"


def _plain(a: Vector) -> list[list[float | None]]:
    """Strict JSON: an unbounded end is null."""
    return [[float(v) if math.isfinite(v) else None for v in row] for row in a]


def _place(certificate: Certificate, at: str) -> Vector:
    found = attributes(certificate, at)[at]
    if found is None or not np.all(np.isfinite(found)):
        raise InputError(f"at: '{at}' needs certificates with the model's raw outputs of every query")
    return np.asarray(found)
