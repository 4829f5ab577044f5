"""Watch a model at work: accept what is proved to be good, flag what is not, and fall back to a solver."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Limits, Vector, vector
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Guarantee
from pinnpoint.certificates.printed import verdict_of
from pinnpoint.certificates.verdicts import VIOLATED, WITHIN, accept_limits, value_limits
from pinnpoint.certifiers.families.certifier import FamilyCertifier
from pinnpoint.certifiers.protocols import Certifier, Prepared, Problem
from pinnpoint.certifiers.proved import Proved
from pinnpoint.models.given import Prediction
from pinnpoint.monitoring.decisions import (
    UNPROVED,
    ends_of,
    logged,
    logged_derived,
    positive,
    reason_of,
    shares,
    words_of,
)
from pinnpoint.monitoring.decisions import Decision as Decision
from pinnpoint.monitoring.log import ACCEPT, ACTIONS, FALLBACK, FLAG, DecisionLog
from pinnpoint.monitoring.log import LogError as LogError
from pinnpoint.monitoring.log import log_to_parquet as log_to_parquet
from pinnpoint.monitoring.log import read_log as read_log
from pinnpoint.systems.limits import Limit
from pinnpoint.systems.queries import Queries

EDGES = tuple(float(10.0 ** (k / 2)) for k in range(-16, 17))
"""Limits of the histogram's bins: the worst radius of a prediction over what is accepted, half a decade each."""

RENAMED = "Monitor: tolerance is called accept from now on, how wrong a prediction may be"


class Monitor:
    """Decides about predictions by certified intervals alone.

    Parameters
    ----------
    certifier
        A prepared method, ``pp.Exact().prepare(system, queries)``, or a prepared family.
    accept
        How wrong a prediction may be: a number, or one per query (None or infinite where it does not matter).
    limit
        Where true values must lie, as in `Certificate.judged`. `accept`, or this, or both.
    solver
        Called with the right-hand side b where a prediction is not accepted; returns an admissible state. Its answer
        is certified too. An exception that it raises is a reason, not the end.
    log
        A JSONL file that one line per decision is added to and flushed; counts go on from what it holds.
    options
        Passed on to every ``certify``, for example ``{"transfer": ...}``.
    tolerance
        The old word for `accept`; it warns.
    """

    def __init__(
        self,
        certifier: Any,
        accept: Limits = None,
        *,
        limit: Any = None,
        solver: Callable[[Vector], Any] | None = None,
        log: str | os.PathLike[str] | None = None,
        options: Mapping[str, Any] | None = None,
        tolerance: Limits = None,
    ) -> None:
        if not isinstance(certifier, Prepared):
            raise InputError(f"certifier: must be prepared, as by Exact().prepare(system, queries); got {certifier!r}")
        if solver is not None and not callable(solver):
            raise InputError(f"solver: must be a function from a right-hand side to a state; got {solver!r}")
        self.certifier = certifier
        self.names = certifier.names
        self.limit, self.derived = value_limits(limit, self.names, certifier.derived)
        self._limit = limit
        limited = self.limit is not None or any(one.limit or one.accept is not None for one in self.derived)
        self.accept = _limits(accept, tolerance, len(self.names), limited)
        self.solver, self.options = solver, dict(options or {})
        self.counts: Counter[str] = Counter(dict.fromkeys(ACTIONS, 0))
        self._bins = np.zeros(len(EDGES) + 1, dtype=np.int64)
        self._lock = threading.Lock()
        self._closed = False
        self._log = None if log is None else DecisionLog(log)
        for row in () if self._log is None else read_log(self._log.path):
            self._require_same(row)
            self._count(row)

    @classmethod
    def of(
        cls,
        problem: Problem,
        queries: Queries,
        accept: Limits = None,
        *,
        limit: Any = None,
        log: str | os.PathLike[str] | None = None,
    ) -> Monitor:
        """A monitor of predictions of a PDE's own solution, which is certified once: points, averages, extremes.

        Norms and largest errors, such as ``problem.everywhere()``, are those of each prediction that is checked.
        """
        return cls(Proved.of(problem, queries), accept, limit=limit, log=log)

    def check(
        self,
        prediction: Prediction | None = None,
        *,
        raw: ArrayLike | None = None,
        mu: ArrayLike | None = None,
        load: ArrayLike | None = None,
        label: object = None,
    ) -> Decision:
        """Decide about one prediction: a state, raw outputs at the queries (families), or both."""
        return self._kept([self._checked(prediction, raw, mu, load, _label(label))])[0]

    def judge(self, found: Certificate, label: object = None) -> Decision:
        """Decide about a certificate that was made elsewhere, for the same queries."""
        return self.judge_many([found], [label])[0]

    def judge_many(self, found: Sequence[Certificate], labels: Sequence[object] | None = None) -> list[Decision]:
        """Decide about certificates that were made elsewhere; all decisions are logged, or none."""
        names = [None] * len(found) if labels is None else [_label(label) for label in labels]
        if len(names) != len(found):
            raise InputError(f"labels: must be {len(found)}, one per certificate; got {len(names)}")
        rows = []
        for one, label in zip(found, names, strict=True):
            start, judged = time.perf_counter(), self._judged(one)
            rows.append(self._row(self._decide(judged, None, None), judged, label, start))
        return self._kept(rows)

    def check_many(
        self,
        predictions: Prediction,
        *,
        raw: ArrayLike | None = None,
        mu: ArrayLike | None = None,
        loads: ArrayLike | None = None,
        labels: Sequence[object] | None = None,
    ) -> list[Decision]:
        """Decide about many; one that is refused does not stop the others. All decisions are logged, or none."""
        columns: list[Any] = [predictions, raw, mu, loads, labels]
        if any(x is not None and not isinstance(x, Sized) for x in columns):
            raise InputError("predictions, raw, mu, loads, labels: must be lists or arrays, one row a prediction")
        count = next((len(x) for x in (mu, loads, predictions, raw) if isinstance(x, Sized)), 0)
        rows = [[None] * count if x is None else x for x in columns]
        if any(len(row) != count for row in rows):
            raise InputError(f"predictions, raw, mu, loads: must have equally many rows; got {[len(r) for r in rows]}")
        names = [_label(name) for name in rows[-1]]
        return self._kept([self._checked(U, o, m, b, k) for U, o, m, b, k in zip(*rows[:-1], names, strict=True)])

    @property
    def tolerance(self) -> Vector:
        """The old word for `accept`."""
        warnings.warn(RENAMED, DeprecationWarning, stacklevel=2)
        return self.accept

    @property
    def histogram(self) -> dict[str, list[float]]:
        """``counts[i]`` decisions with worst radius over `accept` below ``edges[i]``; one more for all above."""
        with self._lock:
            return {"edges": list(EDGES), "counts": [int(n) for n in self._bins]}

    def close(self) -> None:
        """Close the log; nothing is decided from then on."""
        with self._lock:
            if self._log is not None and not self._closed:
                self._log.close()
            self._closed = True

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the lock; a log stays where it is."""
        if self._log is not None:
            raise InputError("log: a monitor with a log cannot be copied or pickled, two would write it; make another")
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def __repr__(self) -> str:
        done = ", ".join(f"{action} {self.counts[action]}" for action in ACTIONS)
        return f"Monitor({len(self.names)} queries: {done})"

    def __str__(self) -> str:
        """Counts, and the histogram as bars."""
        lines = [", ".join(f"{action} {self.counts[action]}" for action in ACTIONS)]
        top = max(1, int(self._bins.max()))
        for i, n in enumerate(self._bins):
            if n:
                limit = f"< {EDGES[i]:.1e}" if i < len(EDGES) else f"≥ {EDGES[-1]:.1e}"
                lines.append(f"radius / accept {limit:>9}  {n:7d} {'#' * max(1, round(40 * n / top))}")
        return "\n".join(lines)

    # Decisions

    def _checked(self, prediction: Any, raw: Any, mu: Any, load: Any, label: Any) -> tuple[Decision, dict[str, Any]]:
        start = time.perf_counter()
        self._require_open()
        try:
            found = self._certify(prediction, raw, mu, load)
        except InputError as error:
            return self._row(self._rescue(None, f"refused: {error}", mu, load), None, label, start)
        return self._row(self._decide(found, mu, load), found, label, start)

    def _judged(self, found: Any) -> Certificate:
        if not isinstance(found, Certificate):
            raise InputError(f"found: must be a certificate, which is proved; got {type(found).__name__}")
        if found.names != self.names:
            raise InputError(f"found: must be a certificate of {', '.join(self.names)}; got {', '.join(found.names)}")
        return found.judged(self.accept, self._limit)

    def _require_same(self, row: Mapping[str, Any]) -> None:
        """Refuse a log of decisions about other queries, or by another limit: counts would be added up with these."""
        asked = row.get("queries") or []
        names = [q.get("name") if isinstance(q, dict) else None for q in asked] if isinstance(asked, list) else []
        if not names:
            return
        other = "" if names == list(self.names) else f"about other queries, {', '.join(map(str, names[:5]))}"
        mine = [{"accept": float(a) if np.isfinite(a) else None} for a in self.accept]
        for i, row_of in enumerate(mine):
            row_of |= ends_of(None if self.limit is None else Limit(*map(float, self.limit[i])))
        for key, word in (("accept", "accept"), ("above", "limit"), ("below", "limit")):
            if not other and all(key in q for q in asked) and [q[key] for q in asked] != [m[key] for m in mine]:
                other = f"by another {word}"
        if other:
            assert self._log is not None
            self._log.close()
            raise InputError(f"log: '{self._log.path}' holds decisions {other}; give another name")

    def _require_open(self) -> None:
        if self._closed:
            raise InputError("monitor: is closed, and decides no more; make another, its counts go on from the log")

    def _certify(
        self, prediction: Prediction | None, raw: ArrayLike | None, mu: ArrayLike | None, load: ArrayLike | None
    ) -> Certificate:
        if isinstance(self.certifier, FamilyCertifier):
            if load is not None or mu is None:
                raise InputError("mu: a family's predictions come with mu, and without load")
            return self.certifier.certify(prediction, mu=mu, raw=raw, **self.options).judged(self.accept, self._limit)
        if mu is not None:
            raise InputError("mu: only for a prepared family; give load, or leave it out")
        if prediction is None:
            raise InputError("prediction: is missing, a state of the system; raw outputs alone are enough for families")
        return (
            self._one()
            .certify(cast(ArrayLike, prediction), raw=raw, load=load, **self.options)
            .judged(self.accept, self._limit)
        )

    def _one(self) -> Certifier:
        if not isinstance(self.certifier, Certifier):
            raise InputError("certifier: answers elsewhere; give its certificates to judge")
        return self.certifier

    def _decide(self, found: Certificate, mu: ArrayLike | None, load: ArrayLike | None) -> Decision:
        radius = found.value_radius if found.raw is None else found.raw_radius
        values = found.value if found.raw is None else found.raw
        if positive(found):
            surely = "" if found.guarantee is Guarantee.DETERMINISTIC else verdict_of(found, WITHIN)
            return Decision(ACCEPT, values, radius, found, surely, found.verdicts)
        reason = reason_of(found, self.accept)
        return self._rescue(Decision(FLAG, values, radius, found, reason, found.verdicts), reason, mu, load)

    def _rescue(self, flagged: Decision | None, reason: str, mu: ArrayLike | None, load: ArrayLike | None) -> Decision:
        """The solver's answer where there is one that is proved to be close enough; none moves a true value."""
        flagged = Decision(FLAG, None, None, None, reason) if flagged is None else flagged
        hopeless = flagged.certificate is not None and VIOLATED in words_of(flagged.certificate)
        if self.solver is None or hopeless:
            return flagged
        try:
            answer = self.solver(self._right_hand_side(mu, load))
            if answer is None:
                raise InputError("returned None instead of a state")
            found = self._certify(answer, None, mu, load)
        except Exception as error:  # whatever a foreign solver raises or returns is a reason, not the end
            note = f"{reason}; solver: {str(error) or type(error).__name__}"
            return replace(flagged, reason=note)
        if found.guarantee is Guarantee.ESTIMATE:
            return replace(flagged, reason=f"{reason}; solver: {UNPROVED}")
        if not positive(found):
            off = f"its answer is off by up to {float(np.max(found.value_radius)):.3e}"
            close = all(v.get("accept", WITHIN) == WITHIN for v in found.verdicts)
            return replace(flagged, reason=f"{reason}; solver: {reason_of(found, self.accept) if close else off}")
        return Decision(FALLBACK, found.value, found.value_radius, found, reason, flagged.verdicts)

    def _right_hand_side(self, mu: ArrayLike | None, load: ArrayLike | None) -> Vector:
        if isinstance(self.certifier, FamilyCertifier):
            m = self.certifier.table.coefficients(mu)[0]
            return np.asarray(self.certifier.base + m @ self.certifier.F)
        own = self._one().load
        return vector("load", own if load is None else load, own.size)

    # Records

    def _row(
        self, done: Decision, seen: Certificate | None, label: str | int | None, start: float
    ) -> tuple[Decision, dict[str, Any]]:
        """A decision, and its line of the log."""
        ratio = np.inf
        if seen is not None:
            radius = seen.value_radius if seen.raw is None else seen.raw_radius
            ratio = float(np.max(shares(np.asarray(radius), self.accept)))
        row: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "label": label,
            "certificate": None if seen is None or self._log is None else seen.id,
            "action": done.action,
            "reason": done.reason,
            "ratio": ratio if np.isfinite(ratio) else None,
            "seconds": round(time.perf_counter() - start, 6),
            "queries": [] if seen is None else [logged(seen, done, i) for i in range(len(seen))],
        }
        if seen is not None and seen.derivations:
            row["derived"] = [logged_derived(one) for one in seen.derived]
        return done, row

    def _kept(self, made: Sequence[tuple[Decision, dict[str, Any]]]) -> list[Decision]:
        """Decisions, once all of them are logged and counted."""
        rows = [row for _, row in made]
        with self._lock:
            self._require_open()
            if self._log is not None and rows:
                self._record(rows)
            for row in rows:
                self._count(row)
        return [done for done, _ in made]

    def _record(self, rows: Sequence[Mapping[str, Any]]) -> None:
        assert self._log is not None
        self._log.add(rows)

    def _count(self, row: Mapping[str, Any]) -> None:
        self.counts[row["action"]] += 1
        ratio = np.inf if row["ratio"] is None else row["ratio"]
        self._bins[int(np.searchsorted(EDGES, ratio, side="right"))] += 1


def _limits(accept: Limits, tolerance: Limits, count: int, limited: bool) -> Vector:
    """What is accepted, by the new word or by the old one; anything where true values alone are asked about."""
    if tolerance is not None:
        if accept is not None:
            raise InputError("tolerance: is the old word for accept; give accept alone")
        warnings.warn(RENAMED, DeprecationWarning, stacklevel=3)
    limits = accept_limits(tolerance if accept is None else accept, count)
    if limits is None and not limited:
        raise InputError(
            "accept: is missing; say how wrong a prediction may be, one number or one per query, or give limit, where "
            "true values must lie"
        )
    return np.full(count, np.inf) if limits is None else limits


def _label(given: object) -> str | int | None:
    """As the log has it."""
    name = given if given is None or isinstance(given, str | int) else str(given)
    if isinstance(name, str) and any("\ud800" <= c <= "\udfff" for c in name):  # half a character cannot be told
        raise InputError("label: must be Unicode text, without lone surrogates")
    return name
