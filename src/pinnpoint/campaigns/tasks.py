"""What workers do, and the rows that they send back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pinnpoint.certificate import Certificate
from pinnpoint.errors import InputError

Row = dict[str, Any]
COLUMNS = ("value", "center", "radius", "lower", "upper")


def work(task: Callable[[Any], Any], instance: Any, mark: str = "") -> list[Row]:
    """One instance as plain rows, made where the task runs, so that only these travel; `mark` tells attempts apart."""
    del mark
    return rows_of(task(instance))


def rows_of(result: Any) -> list[Row]:
    """Rows from a certificate (one per query), a mapping, or a list of mappings."""
    if isinstance(result, Certificate):
        return [
            {
                "query": name,
                **{column: float(getattr(result, column)[i]) for column in COLUMNS},
                "target": result.target,
                "guarantee": str(result.guarantee),
            }
            for i, name in enumerate(result.names)
        ]
    found = [result] if isinstance(result, Mapping) else result
    if not isinstance(found, list | tuple) or not found or not all(isinstance(row, Mapping) for row in found):
        raise InputError(
            f"task: must return a certificate, a mapping or a list of mappings; got {type(result).__name__}"
        )
    return [{str(key): _plain(str(key), value) for key, value in row.items()} for row in found]


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        raise InputError(f"task: returned NaN as '{name}'; leave the value out, or return None")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(f"task: '{name}' must be a number, text, true or false, or None; got {type(value).__name__}")
