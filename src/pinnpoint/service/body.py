"""Requests and answers: strict JSON in, strict JSON out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, attributes
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import PinnpointError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Guarantee
from pinnpoint.certificates.json import once
from pinnpoint.monitoring.monitor import Decision
from pinnpoint.service.engine import Engine

LARGEST = 1e100
"""Numbers beyond this are refused."""
KEYS = ("label", "raw", "values", "mu")
ENDS = ("value", "center", "radius", "lower", "upper")
"""Of a derived quantity."""


class BadRequestError(PinnpointError):
    """A request that is refused, with its status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, eq=False)
class Item:
    """One prediction to certify."""

    label: str | None
    raw: Vector | None
    values: Vector | None
    mu: Vector | None

    __repr__ = brief


def parse(data: bytes, engine: Engine, most: int) -> list[Item]:
    """The items of a request, all of them right, or a refusal that says where and why."""
    try:
        body = json.loads(data.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=once)
    except UnicodeDecodeError as error:
        raise BadRequestError(400, f"body: must be UTF-8 text (byte {error.start})") from error
    except (ValueError, RecursionError) as error:
        raise BadRequestError(400, f"body: must be JSON ({str(error)[:100]})") from error
    _keys("body", body, ("items",))
    items = body.get("items")
    if not isinstance(items, list) or not items:
        raise BadRequestError(422, "items: must be a list with at least one prediction")
    if len(items) > most:
        raise BadRequestError(422, f"items: at most {most} predictions a request; got {len(items)}")
    return [_item(f"items[{i}]", item, engine) for i, item in enumerate(items)]


def _item(where: str, item: Any, engine: Engine) -> Item:
    _keys(where, item, KEYS)
    label = item.get("label")
    if label is not None and (not isinstance(label, str) or len(label) > 200):
        raise BadRequestError(422, f"{where}.label: must be text of at most 200 characters")
    if label is not None and any("\ud800" <= c <= "\udfff" for c in label):  # half a character cannot be told
        raise BadRequestError(422, f"{where}.label: must be Unicode text, without lone surrogates")
    if "raw" not in item and "values" not in item:
        raise BadRequestError(422, f"{where}: needs 'raw', one number per query, or 'values', one per unknown, or both")
    if engine.loads == 0 and "mu" in item:
        raise BadRequestError(422, f"{where}.mu: the load of this service is fixed; leave it out")
    if engine.loads and "mu" not in item:
        raise BadRequestError(422, f"{where}.mu: is missing; give {engine.loads} numbers")
    found = {
        key: _numbers(f"{where}.{key}", item[key], count) if key in item else None
        for key, count in (("raw", len(engine.names)), ("values", engine.values), ("mu", engine.loads))
    }
    return Item(label, **found)


def _keys(where: str, given: Any, known: tuple[str, ...]) -> None:
    if not isinstance(given, Mapping):
        raise BadRequestError(422, f"{where}: must be an object; got {type(given).__name__}")
    for key in given:
        if key not in known:
            close = get_close_matches(key, known, 1)
            hint = f"; did you mean '{close[0]}'?" if close else f"; known: {', '.join(known)}"
            raise BadRequestError(422, f"{where}: unknown key {key[:60]!r}{hint}")


def _numbers(where: str, given: Any, count: int) -> Vector:
    if not isinstance(given, list) or len(given) != count:
        got = f"{len(given)}" if isinstance(given, list) else type(given).__name__
        raise BadRequestError(422, f"{where}: must be a list of {count} numbers; got {got}")
    for i, v in enumerate(given):
        if type(v) not in (int, float) or not -LARGEST <= v <= LARGEST:
            raise BadRequestError(422, f"{where}[{i}]: must be a number up to {LARGEST:g}; got {str(v)[:40]!r}")
    return np.array([float(v) for v in given])


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def answered(item: Item, found: Certificate, decided: Decision | None) -> dict[str, Any]:
    """One item of the response; an unbounded end is null."""
    lower, upper = found.lower, found.upper

    def at(a: Vector | None, i: int) -> float | None:
        return None if a is None or not math.isfinite(a[i]) else float(a[i])

    has_state = item.values is not None
    rows = [
        {
            "name": name,
            "value": at(found.value, i) if has_state else None,
            "value_radius": at(found.value_radius, i) if has_state else None,
            "raw": at(found.raw, i),
            "raw_radius": at(found.raw_radius, i),
            "center": at(found.center, i),
            "radius": at(found.radius, i),
            "lower": at(lower, i),
            "upper": at(upper, i),
            "verdicts": dict(decided.verdicts[i]) if decided is not None and decided.verdicts else {},
        }
        for i, name in enumerate(found.names)
    ]
    judged = found if decided is None or decided.certificate is None else decided.certificate
    derived = [
        {
            "name": one.name,
            **{key: _finite(x) for key, x in attributes(one, *ENDS).items()},
            "verdicts": dict(one.verdicts or {}),
        }
        for one in judged.derived
    ]
    return {
        "label": item.label,
        "certificate": judged.id,
        "action": None if decided is None else decided.action,
        "target": found.target,
        "guarantee": max(found.guarantees, key=list(Guarantee).index),  # type: ignore[arg-type]
        "confidence": found.confidence,
        "rounding": found.rounding,
        "queries": rows,
        **({"derived": derived} if derived else {}),
    }


def _finite(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None
