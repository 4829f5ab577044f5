"""What workers do, and the rows that they send back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pinnpoint.base.arrays import attributes
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.systems.limits import WORDS

Row = dict[str, Any]
LEAD = ("instance", "row", "rows")
"""Columns that every table has before those of the task."""
COLUMNS = ("value", "center", "radius", "lower", "upper")
BITS = 10000
"""Of the largest whole number; Python refuses to write longer ones as text."""


def work(task: Callable[[Any], Any], instance: Any, attempt: str = "") -> list[Row]:
    """One instance as plain rows, made where the task runs, so that only these travel.

    Executors that keep results by the hash of a call, as Dask's do, tell calls apart by `attempt`. A task that wants
    to end the process has failed, no more.
    """
    try:
        result = task(instance)
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RuntimeError(f"the task raised {type(error).__name__}({error})") from error
    return rows_of(result)


def rows_of(result: Any) -> list[Row]:
    """Rows from a certificate (one per query), a mapping, or a list of mappings."""
    if isinstance(result, Certificate):
        arrays, worth = attributes(result, *COLUMNS), result.guarantees
        return [
            {
                "query": name,
                **{column: float(array[i]) for column, array in arrays.items()},
                "target": result.target,
                "guarantee": worth[i],
                **verdict,
            }
            for i, (name, verdict) in enumerate(zip(result.names, _verdicts(result), strict=True))
        ]
    found = [result] if isinstance(result, Mapping) else result
    if not isinstance(found, list | tuple) or not found or not all(isinstance(row, Mapping) for row in found):
        raise InputError(
            f"task: must return a certificate, a mapping or a list of mappings; got {type(result).__name__}"
        )
    return [_row(row) for row in found]


def _verdicts(result: Certificate) -> list[Row]:
    """Columns ``accept`` and ``verdict``, and ``above``, ``below`` and ``limit``, where something was asked."""
    rows, verdicts = [Row() for _ in result.names], result.verdicts
    if result.accept is not None:
        for row, a, v in zip(rows, result.accept, verdicts, strict=True):
            row |= {"accept": float(a) if "accept" in v else None, "verdict": v.get("accept")}
    if result.limit is not None:
        for row, one, v in zip(rows, result.limits, verdicts, strict=True):
            ends = {} if one is None else one.said()
            row |= {**{word: ends.get(word) for word in WORDS}, "limit": v.get("limit")}
    return rows


def _row(given: Mapping[Any, Any]) -> Row:
    row = {str(key): _plain(str(key), value) for key, value in given.items()}
    if len(row) < len(given):
        raise InputError(f"task: returned two columns of one name; got {list(given)}")
    for name in row:
        if name in LEAD:
            raise InputError(f"task: returned a column '{name}', which the table has itself; call it otherwise")
        if "\n" in name or "\r" in name or not writable(name):
            raise InputError(f"task: returned a column {name[:60]!r}; a name must be one line of valid Unicode")
    return row


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        raise InputError(f"task: returned NaN as '{name}'; return None instead")
    if isinstance(value, str) and not writable(value):
        raise InputError(f"task: returned text as {name!r} that is not valid Unicode, {value[:60]!r}")
    if isinstance(value, int) and value.bit_length() > BITS:
        raise InputError(f"task: returned a whole number of more than {BITS} bits as '{name}'; return text")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(f"task: '{name}' must be a number, text, true or false, or None; got {type(value).__name__}")


def writable(text: str) -> bool:
    """Whether a text can be written as UTF-8; halves of surrogate pairs cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
