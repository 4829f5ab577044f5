"""How narrow intervals must become for their verdicts to be decided.

A verdict is undecided while the interval reaches to both sides of an end: of a limit, or of the prediction plus or
minus what is accepted. With the centre at the distance s > 0 from the nearest such end it is decided once the radius is
below s, if the centre stays; s is what refinement aims at. Where the centre lies on an end no radius suffices, and the
budget ends the work.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pinnpoint.base.errors import InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Guarantee
from pinnpoint.certificates.verdicts import UNDECIDED, accept_limits, value_limits
from pinnpoint.certifiers.aims import NONE, Aims
from pinnpoint.systems.limits import Limit
from pinnpoint.systems.queries import Queries

TOLERANCE, DECIDED = UNTIL = ("tolerance", "decided")
"""What refinement is for: radii, or verdicts."""
NEARER = 0.9
"""Of its radius, what an undecided interval must at least come down to."""


def first_aims(until: str, queries: Queries, tolerance: object, accept: object, limit: object) -> Aims:
    """What refinement is to reach, as far as it is known beforehand; refuses verdicts where none is asked for."""
    accepts = accept_limits(accept, len(queries))
    limits, derived = value_limits(limit, queries.names, queries.derived)
    if until not in UNTIL:
        raise InputError(f"until: must be 'tolerance' or 'decided'; got {until!r}")
    if until == TOLERANCE:
        return Aims.of(queries, tolerance)  # type: ignore[arg-type]
    asked = accepts is not None or limits is not None
    if not asked and not any(one.accept is not None or one.limit is not None for one in derived):
        raise InputError("until: 'decided' needs something to decide; give accept, or limit")
    return Aims.of(queries, np.full(len(queries), np.inf) if tolerance is None else tolerance)  # type: ignore[arg-type]


def undecided(certificate: Certificate) -> int:
    """How many verdicts are."""
    words = [word for verdict in certificate.verdicts for word in verdict.values()]
    words += [word for one in certificate.derived for word in (one.verdicts or {}).values()]
    return words.count(UNDECIDED)


def open_aims(certificate: Certificate, enough: Aims) -> Aims:
    """Radii at which every verdict is expected to be decided; those that are enough anyway, or decided, count as such.

    Parameters
    ----------
    certificate
        Asked for its verdicts.
    enough
        Tolerances at which an undecided query is left alone; `NONE` where there is none.
    """
    queries, derived = np.full(len(certificate), NONE), np.full(len(certificate.derived), NONE)
    predicted = certificate.prediction
    for i, (verdict, limit) in enumerate(zip(certificate.verdicts, certificate.limits, strict=True)):
        p = None if predicted is None else float(predicted[i])
        a = None if certificate.accept is None else float(certificate.accept[i])
        queries[i] = _gap(float(certificate.center[i]), float(certificate.radius[i]), verdict, p, a, limit)
    for k, one in enumerate(certificate.derived):
        derived[k] = _gap(one.center, one.radius, one.verdicts or {}, one.value, one.accept, one.limit)
    return Aims(_at_least(queries, enough.queries), _at_least(derived, enough.derived))


def _at_least(aims: np.ndarray, enough: np.ndarray) -> np.ndarray:
    return np.where(enough < NONE, np.maximum(aims, enough), aims)


def _gap(
    c: float, r: float, verdict: Mapping[str, str], p: float | None, accept: float | None, limit: Limit | None
) -> float:
    """The radius at which an interval's verdicts are expected to be decided; `NONE` where all are."""
    ends = list[float]()
    if verdict.get("accept") == UNDECIDED and p is not None and accept is not None:
        ends += [p - accept, p + accept]
    if verdict.get("limit") == UNDECIDED and limit is not None:
        ends += [limit.above, limit.below]
    if not ends:
        return NONE
    return max(min([NEARER * r, *(abs(end - c) for end in ends if np.isfinite(end))]), 1e-300)


def hopeless(certificate: Certificate) -> str:
    """Why no refinement decides anything; empty where it may."""
    if certificate.guarantee is not Guarantee.ESTIMATE:
        return ""
    return "the result is an estimate, by which nothing is decided"
