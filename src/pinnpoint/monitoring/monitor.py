"""Watch a model at work: accept what is proved to be close, flag what is not, and fall back to a solver."""

from __future__ import annotations

import json
import os
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Limits, Vector, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import DependencyMissingError, InputError, PinnpointError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Guarantee
from pinnpoint.certificates.json import once
from pinnpoint.certificates.printed import verdict_of
from pinnpoint.certificates.verdicts import BEYOND, WITHIN, accept_limits
from pinnpoint.certifiers.families.certifier import FamilyCertifier
from pinnpoint.certifiers.protocols import Certifier, Prepared
from pinnpoint.models.given import Prediction

ACCEPT, FLAG, FALLBACK = ACTIONS = ("accept", "flag", "fallback")
EDGES = tuple(float(10.0 ** (k / 2)) for k in range(-16, 17))
"""Limits of the histogram's bins: the worst radius of a prediction over what is accepted, half a decade each."""

RENAMED = "Monitor: tolerance is called accept from now on, how wrong a prediction may be"
UNPROVED = "its radius is an estimate, which proves nothing"


class LogError(PinnpointError, OSError):
    """A decision could not be recorded, and so was not made."""


@dataclass(frozen=True, eq=False)
class Decision:
    """What became of one prediction.

    Attributes
    ----------
    action
        ``"accept"``: every verdict on the prediction is within (an estimate is never accepted). ``"fallback"``: some
        verdict is beyond or undecided, and the solver's answer, certified in the same way, is accepted. ``"flag"``:
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


class Monitor:
    """Decides about predictions by certified intervals alone.

    Parameters
    ----------
    certifier
        A prepared method, ``pp.Exact().prepare(system, queries)``, or a prepared family.
    accept
        How wrong a prediction may be: a number, or one per query (None or infinite where it does not matter).
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
        self.accept = _limits(accept, tolerance, len(self.names))
        self.solver, self.options = solver, dict(options or {})
        self.counts: Counter[str] = Counter({action: 0 for action in ACTIONS})
        self._bins = np.zeros(len(EDGES) + 1, dtype=np.int64)
        self._lock = threading.Lock()
        self._torn = False
        self._log: Any = None if log is None else self._open(Path(log))

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
        start = time.perf_counter()
        try:
            found = self._certify(prediction, raw, mu, load)
        except InputError as error:
            return self._finish(self._rescue(None, f"refused: {error}", mu, load), None, label, start)
        return self._finish(self._decide(found, mu, load), found, label, start)

    def judge(self, found: Certificate, label: object = None) -> Decision:
        """Decide about a certificate that was made elsewhere, for the same queries."""
        if not isinstance(found, Certificate):
            raise InputError(f"found: must be a certificate, which is proved; got {type(found).__name__}")
        if found.names != self.names:
            raise InputError(f"found: must be a certificate of {', '.join(self.names)}; got {', '.join(found.names)}")
        found = found.judged(self.accept)
        return self._finish(self._decide(found, None, None), found, label, time.perf_counter())

    def check_many(
        self,
        predictions: Prediction,
        *,
        raw: ArrayLike | None = None,
        mu: ArrayLike | None = None,
        loads: ArrayLike | None = None,
        labels: Sequence[object] | None = None,
    ) -> list[Decision]:
        """Decide about many; one that is refused does not stop the others."""
        columns: list[Any] = [predictions, raw, mu, loads, labels]
        if any(x is not None and not isinstance(x, Sized) for x in columns):
            raise InputError("predictions, raw, mu, loads, labels: must be lists or arrays, one row a prediction")
        count = next((len(x) for x in (mu, loads, predictions, raw) if isinstance(x, Sized)), 0)
        rows = [[None] * count if x is None else x for x in columns]
        if any(len(row) != count for row in rows):
            raise InputError(f"predictions, raw, mu, loads: must have equally many rows; got {[len(r) for r in rows]}")
        return [self.check(U, raw=o, mu=m, load=b, label=name) for U, o, m, b, name in zip(*rows, strict=True)]

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
        """Close the log."""
        if self._log is not None:
            self._log.close()
            self._log = None

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

    def _certify(
        self, prediction: Prediction | None, raw: ArrayLike | None, mu: ArrayLike | None, load: ArrayLike | None
    ) -> Certificate:
        if isinstance(self.certifier, FamilyCertifier):
            if load is not None or mu is None:
                raise InputError("mu: a family's predictions come with mu, and without load")
            return self.certifier.certify(prediction, mu=mu, raw=raw, **self.options).judged(self.accept)
        if mu is not None:
            raise InputError("mu: only for a prepared family; give load, or leave it out")
        return self._one().certify(cast(ArrayLike, prediction), raw=raw, load=load, **self.options).judged(self.accept)

    def _one(self) -> Certifier:
        if not isinstance(self.certifier, Certifier):
            raise InputError("certifier: answers elsewhere; give its certificates to judge")
        return self.certifier

    def _decide(self, found: Certificate, mu: ArrayLike | None, load: ArrayLike | None) -> Decision:
        radius = found.value_radius if found.raw is None else found.raw_radius
        values = found.value if found.raw is None else found.raw
        if _within(found):
            surely = "" if found.guarantee is Guarantee.DETERMINISTIC else verdict_of(found, WITHIN)
            return Decision(ACCEPT, values, radius, found, surely, found.verdicts)
        reason = self._reason(found)
        return self._rescue(Decision(FLAG, values, radius, found, reason, found.verdicts), reason, mu, load)

    def _reason(self, found: Certificate) -> str:
        """Where the prediction is furthest from being accepted; proved beyond comes first."""
        if found.guarantee is Guarantee.ESTIMATE:
            return UNPROVED
        assert found.off is not None
        least, most = found.off
        beyond = np.array([v.get("accept") == BEYOND for v in found.verdicts])
        seen = np.where(beyond, least, 0.0) if beyond.any() else most
        worst = int(np.argmax(_over(seen, self.accept)))
        limit = f"accept = {self.accept[worst]:.3e}"
        if beyond.any():
            return f"{self.names[worst]}: {verdict_of(found, BEYOND, limit)}, off by at least {least[worst]:.3e}"
        return f"{self.names[worst]}: undecided, off by at most {most[worst]:.3e} against {limit}"

    def _rescue(self, flagged: Decision | None, reason: str, mu: ArrayLike | None, load: ArrayLike | None) -> Decision:
        """The solver's answer where there is one that is proved to be close enough."""
        flagged = Decision(FLAG, None, None, None, reason) if flagged is None else flagged
        if self.solver is None:
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
        if not _within(found):
            note = f"{reason}; solver: its answer is off by up to {float(np.max(found.value_radius)):.3e}"
            return replace(flagged, reason=note)
        return Decision(FALLBACK, found.value, found.value_radius, found, reason, flagged.verdicts)

    def _right_hand_side(self, mu: ArrayLike | None, load: ArrayLike | None) -> Vector:
        if isinstance(self.certifier, FamilyCertifier):
            m = self.certifier.table.coefficients(mu)[0]
            return np.asarray(self.certifier.base + m @ self.certifier.F)
        own = self._one().load
        return vector("load", own if load is None else load, own.size)

    # Records

    def _finish(self, done: Decision, seen: Certificate | None, label: object, start: float) -> Decision:
        ratio = np.inf
        if seen is not None:
            radius = seen.value_radius if seen.raw is None else seen.raw_radius
            ratio = float(np.max(_over(np.asarray(radius), self.accept)))
        row: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "label": label if label is None or isinstance(label, str | int) else str(label),
            "action": done.action,
            "reason": done.reason,
            "ratio": ratio if np.isfinite(ratio) else None,
            "seconds": round(time.perf_counter() - start, 6),
            "queries": [] if seen is None else [_query(seen, done, i) for i in range(len(seen))],
        }
        with self._lock:
            if self._log is not None:
                self._record(row)
            self._count(row)
        return done

    def _count(self, row: Mapping[str, Any]) -> None:
        self.counts[row["action"]] += 1
        ratio = np.inf if row["ratio"] is None else row["ratio"]
        self._bins[int(np.searchsorted(EDGES, ratio, side="right"))] += 1

    def _open(self, path: Path) -> Any:
        if not path.parent.is_dir():
            raise InputError(f"log: the folder '{path.parent}' does not exist; make it first")
        if path.is_dir():
            raise InputError(f"log: '{path}' is a folder; give the name of a file")
        if path.exists() and not path.is_file():  # a device may have no end
            raise InputError(f"log: '{path}' is no regular file, which counts could go on from; give another name")
        try:
            file = path.open("a+b", buffering=0)
        except OSError as error:
            raise InputError(f"log: '{path}' could not be opened ({error.strerror}); choose another place") from error
        for row in read_log(path):
            self._count(row)
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            self._torn = file.read(1) != b"\n"
        return file

    def _record(self, row: Mapping[str, Any]) -> None:
        """Add one line, with one write; a line that was cut off before it, by a kill or a full disk, stands alone."""
        data = (b"\n" if self._torn else b"") + json.dumps(row, allow_nan=False).encode("ascii") + b"\n"
        try:
            whole = self._log.write(data) == len(data)
        except OSError as error:
            raise LogError(f"log: could not be written ({error.strerror}); the decision does not count") from error
        finally:
            self._torn = True
        if not whole:
            raise LogError("log: could not be written to its end, the disk is full; the decision does not count")
        self._torn = False


def _limits(accept: Limits, tolerance: Limits, count: int) -> Vector:
    """What is accepted, by the new word or by the old one."""
    if tolerance is not None:
        if accept is not None:
            raise InputError("tolerance: is the old word for accept; give accept alone")
        warnings.warn(RENAMED, DeprecationWarning, stacklevel=3)
    limits = accept_limits(tolerance if accept is None else accept, count)
    if limits is None:
        raise InputError("accept: is missing; say how wrong a prediction may be, one number or one per query")
    return limits


def _within(found: Certificate) -> bool:
    """Whether every verdict is positive."""
    return all(word == WITHIN for verdict in found.verdicts for word in verdict.values())


def _over(radius: Vector, accept: Vector) -> Vector:
    """Shares of what is accepted; nothing where nothing is asked."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(np.isfinite(accept), radius / accept, 0.0)


def _query(seen: Certificate, done: Decision, i: int) -> dict[str, Any]:
    def at(a: Vector | None) -> float | None:
        return None if a is None or not np.isfinite(a[i]) else float(a[i])

    return {
        "name": seen.names[i],
        "predicted": at(seen.value if seen.raw is None else seen.raw),
        "radius": at(seen.value_radius if seen.raw is None else seen.raw_radius),
        "lower": at(seen.lower),
        "upper": at(seen.upper),
        "answer": at(done.values),
        "verdict": done.verdicts[i].get("accept") if done.verdicts else None,
    }


def read_log(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The decisions in a log, in order; lines that were cut off are left out."""
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                row = json.loads(line, object_pairs_hook=once)
            except ValueError:
                continue
            if isinstance(row, dict) and row.get("action") in ACTIONS and _is_ratio(row.get("ratio", "")):
                yield row


def _is_ratio(x: ArrayLike) -> bool:
    return x is None or (isinstance(x, int | float) and not isinstance(x, bool) and x >= 0.0)


def log_to_parquet(log: str | os.PathLike[str], path: str | os.PathLike[str]) -> Path:
    """A log as a Parquet table, one row per decision and query (extra ``parquet``)."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DependencyMissingError("log_to_parquet needs pyarrow: pip install 'pinnpoint[parquet]'") from error
    rows = []
    for number, row in enumerate(read_log(log)):
        head = {"decision": number, **{k: v for k, v in row.items() if k != "queries"}}
        head["label"] = None if head.get("label") is None else str(head["label"])
        rows += [{**head, **query} for query in row.get("queries") or [{}]]
    kinds = {"decision": pa.int64(), **dict.fromkeys(("time", "label", "action", "reason"), pa.string())}
    kinds |= dict.fromkeys(("ratio", "seconds"), pa.float64()) | {"name": pa.string()}
    kinds |= dict.fromkeys(("predicted", "radius", "lower", "upper", "answer"), pa.float64())
    kinds |= {"verdict": pa.string()}
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items()))), str(path))
    return Path(path)
