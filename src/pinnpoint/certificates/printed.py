"""A certificate as a table of text; every bound is rounded outward, so that what is printed still holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pinnpoint.certificates.claims import Guarantee
from pinnpoint.certificates.intervals import Intervals
from pinnpoint.report.numbers import above, below, interval, near, short
from pinnpoint.report.surety import bounds, share, sure
from pinnpoint.systems.limits import Limit
from pinnpoint.systems.targets import ESTIMATED

DERIVED = "derived, by interval arithmetic over the intervals above:"
CHANGED = "boundary conditions changed the prediction"
DIGITS = 4
"""Of how far a prediction is off."""
Column = tuple[str, list[str]]


def table(certificate: Intervals, units: Sequence[str] = ()) -> str:
    """What was predicted, what is proved, how far apart they are, and the verdicts that were asked for.

    `units` are labels, one for each query, then one for each derived quantity.
    """
    c, own = certificate, list(units)[: len(certificate)]
    luck = f", confidence {share(c.confidence)}" if c.guarantee is Guarantee.PROBABILISTIC else ""
    worth = str(c.guarantee) if len(set(c.guarantees)) <= 1 else f"{c.guarantee} where bounded"
    lines = [f"{c.method}: {worth}{luck}; target: {c.target}; rounding {c.rounding}"]
    lines.append(f"intervals of {c.interval_of}")
    padded = []
    columns = [*_columns(c), *([("unit", own)] if any(own) else [])]
    for k, (head, cells) in enumerate(columns):
        width = max(len(text) for text in (head, *cells))
        left = k == 0 or head in ("verdict", "limit", "unit")
        padded.append([f"{text:<{width}}" if left else f"{text:>{width}}" for text in (head, *cells)])
    lines += ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]
    lines += [] if c.mesh_estimate is None else [ESTIMATED]
    lines += derived_lines(c, list(units)[len(c) :])
    lines += [f"note: {note}" for note in c.notes] + in_vain(c)
    return "\n".join(lines)


def _columns(c: Intervals) -> Iterator[Column]:
    ends = [interval(_finite(a), _finite(b)) for a, b in zip(c.lower, c.upper, strict=True)]
    yield "query", list(c.names)
    if c.raw is not None:
        yield "raw prediction", ["" if np.isnan(x) else _plain(near(float(x))) for x in c.raw]
    if c.evidence.predicted:  # else nothing but raw outputs was given
        yield "prediction" if c.raw is None else "value", [_plain(near(float(x))) for x in c.value]
    yield "lower", [_plain(low) for low, _ in ends]
    yield "upper", [_plain(high) for _, high in ends]
    yield "radius", [above(_finite(r)) for r in c.radius]
    if c.off is not None:
        least, most = c.off
        guess = "estimated " if c.guarantee is Guarantee.ESTIMATE else ""
        yield f"{guess}off by at least", [least_text(x) for x in least]
        yield "at most", [above(_finite(x), DIGITS) for x in most]
    if c.mesh_estimate is not None:
        yield "mesh", [f"~{_plain(near(float(x), 2))}" if np.isfinite(x) else "?" for x in c.mesh_estimate]
    if c.accept is not None:
        asked = [short(float(a)) if np.isfinite(a) else "" for a in c.accept]
        yield "accept", asked
        yield "verdict", [verdict_of(c, v["accept"]) if "accept" in v else "" for v in c.verdicts]
    if c.limit is not None:
        pairs = zip(c.limits, c.verdicts, strict=True)
        yield "limit", ["" if one is None else _limited(c, one, v) for one, v in pairs]


def derived_lines(c: Intervals, units: Sequence[str] = ()) -> list[str]:
    """What follows from several queries, one line each."""
    lines = [DERIVED] if c.derivations else []
    for one, unit in zip(c.derived, units or [""] * len(c.derivations), strict=True):
        low, high = (_plain(end) for end in interval(_finite(one.lower), _finite(one.upper)))
        words = one.verdicts or {}
        judged = f"; {verdict_of(c, words['accept'])}" if "accept" in words else ""
        judged += "" if one.limit is None else f"; {_limited(c, one.limit, words)}"
        predicted = f"prediction {_plain(near(one.value))}, " if c.evidence.predicted else ""
        made = f"{one.kind} of {', '.join(one.of)}"
        lines.append(f"{one.name}: {predicted}lower {low}, upper {high}{unit and ' '}{unit} ({made}){judged}")
    return lines


def _limited(c: Intervals, limit: Limit, verdicts: Mapping[str, str]) -> str:
    """A limit of the true value, and the verdict on it."""
    return f"{bounds(limit.said())}: {verdict_of(c, verdicts['limit'])}"


def verdict_of(c: Intervals, word: str, limit: str = "") -> str:
    """A verdict in words: proved, or with the confidence of intervals that hang on a draw."""
    return sure(word, c.confidence if c.guarantee is Guarantee.PROBABILISTIC else None, limit)


def in_vain(c: Intervals) -> list[str]:
    """Which queries a lift did not pay for."""
    worth = np.ones(len(c.names)) if c.narrowing is None else c.narrowing
    paid = [f"{n} ({float(f'{w:.2g}'):g})" for n, w in zip(c.names, worth, strict=True) if w < 1.0]
    more = f" and {len(paid) - 5} more" if len(paid) > 5 else ""
    return [f"the lift did not pay, the proof is wider than without it: {', '.join(paid[:5])}{more}"] if paid else []


def changed_line(most: float) -> str:
    """What the boundary conditions did to a prediction."""
    return f"{CHANGED} by at most {above(most)} at a node"


def least_text(x: float) -> str:
    """How far off a prediction is at least."""
    return below(float(x), DIGITS) if x > 0.0 else "0"


def _finite(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


def _plain(text: str) -> str:
    """With the minus sign that programs read."""
    return text.replace("\N{MINUS SIGN}", "-")
