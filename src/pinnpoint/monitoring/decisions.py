"""What became of a prediction, why, and the line of the log that says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Guarantee
from pinnpoint.certificates.derived import DerivedInterval
from pinnpoint.certificates.printed import verdict_of
from pinnpoint.certificates.verdicts import BEYOND, NEGATIVE, POSITIVE, UNDECIDED, WITHIN
from pinnpoint.report.surety import bounds
from pinnpoint.systems.limits import WORDS, Limit

UNPROVED = "its radius is an estimate, which proves nothing"


@dataclass(frozen=True, eq=False)
class Decision:
    """What became of one prediction.

    Attributes
    ----------
    action
        ``"accept"``: every verdict is positive, within and holds (an estimate is never accepted). ``"fallback"``: some
        verdict is negative or undecided, and the solver's answer, certified in the same way, is accepted. ``"flag"``:
        neither, or there is no solver.
    values
        The answer to use: the prediction's, or the solver's; None where the prediction was refused.
    radius
        Proved: the target lies within this of `values`, query by query.
    certificate
        Of the answer; None where the prediction was refused and no solver answered.
    reason
        Why it was not accepted, or how surely, where that is no proof: "within with confidence 0.95".
    verdicts
        On the prediction, query by query, as `Certificate.verdicts` has them; empty where it was refused.
    """

    action: str
    values: Vector | None
    radius: Vector | None
    certificate: Certificate | None
    reason: str = ""
    verdicts: tuple[Mapping[str, str], ...] = ()

    __repr__ = brief


def words_of(found: Certificate) -> list[str]:
    """Every verdict, of queries and of what is derived from them."""
    all_of_them = [*found.verdicts, *(one.verdicts or {} for one in found.derived)]
    return [word for verdict in all_of_them for word in verdict.values()]


def positive(found: Certificate) -> bool:
    """Whether everything that was asked is proved."""
    return all(word in POSITIVE for word in words_of(found))


def reason_of(found: Certificate, accept: Vector) -> str:
    """Why a prediction is not accepted: where it is furthest from that, and the first limit that is not kept."""
    if found.guarantee is Guarantee.ESTIMATE:
        return UNPROVED
    verdicts = [v.get("accept", WITHIN) for v in found.verdicts]
    parts = [] if all(word == WITHIN for word in verdicts) else [_furthest(found, accept, verdicts)]
    others = [(name, limit, word) for name, limit, word in _others(found) if word not in POSITIVE]
    others.sort(key=lambda one: one[2] not in NEGATIVE)  # what is proved comes first
    for name, limit, word in others[:1]:
        what = "" if limit is None else f"the limit, {bounds(limit.said())}, is "
        parts.append(f"{name}: {what}{verdict_of(found, word)}")
    return "; ".join(parts)


def _others(found: Certificate) -> list[tuple[str, Limit | None, str]]:
    """Names, limits and verdicts beside those on predictions of queries; no limit where a prediction is judged."""
    rows: list[tuple[str, Limit | None, str]] = []
    for name, limit, verdict in zip(found.names, found.limits, found.verdicts, strict=True):
        rows += [(name, limit, verdict["limit"])] if limit is not None else []
    for one in found.derived:
        verdict = dict(one.verdicts or {})
        rows += [(one.name, one.limit if key == "limit" else None, word) for key, word in verdict.items()]
    return rows


def _furthest(found: Certificate, accept: Vector, verdicts: list[str]) -> str:
    """Where the prediction is furthest from being accepted; proved beyond comes first."""
    assert found.off is not None
    least, most = found.off
    beyond = np.array([word == BEYOND for word in verdicts])
    seen = np.where(beyond, least, 0.0) if beyond.any() else most
    worst = int(np.argmax(shares(seen, accept)))
    name, limit = found.names[worst], f"accept = {accept[worst]:.3e}"
    if beyond.any():
        return f"{name}: {verdict_of(found, BEYOND, limit)}, off by at least {least[worst]:.3e}"
    return f"{name}: {UNDECIDED}, off by at most {most[worst]:.3e} against {limit}"


def shares(radius: Vector, accept: Vector) -> Vector:
    """Shares of what is accepted; nothing where nothing is asked."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(np.isfinite(accept), radius / accept, 0.0)


def logged(seen: Certificate, done: Decision, i: int) -> dict[str, Any]:
    """A query in the log."""

    def at(a: Vector | None) -> float | None:
        return None if a is None or not np.isfinite(a[i]) else float(a[i])

    verdicts = done.verdicts[i] if done.verdicts else {}
    return {
        "name": seen.names[i],
        "predicted": at(seen.value if seen.raw is None else seen.raw),
        "radius": at(seen.value_radius if seen.raw is None else seen.raw_radius),
        "lower": at(seen.lower),
        "upper": at(seen.upper),
        "answer": at(done.values),
        "accept": at(seen.accept),
        "verdict": verdicts.get("accept"),
        **ends_of(seen.limits[i]),
        "limit": verdicts.get("limit"),
    }


def logged_derived(one: DerivedInterval) -> dict[str, Any]:
    """A derived quantity in the log."""
    bounded, verdicts = np.isfinite(one.radius), one.verdicts or {}
    return {
        "name": one.name,
        "predicted": one.value,
        "lower": one.lower if bounded else None,
        "upper": one.upper if bounded else None,
        "accept": one.accept,
        "verdict": verdicts.get("accept"),
        **ends_of(one.limit),
        "limit": verdicts.get("limit"),
    }


def ends_of(limit: Limit | None) -> dict[str, float | None]:
    """Both ends of a limit; None where there is none."""
    ends = {} if limit is None else limit.said()
    return {word: ends.get(word) for word in WORDS}
