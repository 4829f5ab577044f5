"""The verb: validate, prepare and certify once."""

from __future__ import annotations

from typing import Any

from pinnpoint.certificate import Certificate
from pinnpoint.certifiers.base import AbstractMethod
from pinnpoint.certifiers.exact import Exact
from pinnpoint.errors import InputError
from pinnpoint.queries import Queries
from pinnpoint.systems import LinearSystem
from pinnpoint.transfer.interface import Transfer


def certify(
    system: LinearSystem,
    U: Any,
    queries: Queries,
    method: AbstractMethod | None = None,
    *,
    raw: Any = None,
    transfer: Transfer | None = None,
) -> Certificate:
    """Intervals that hold the values of the target at every query.

    Parameters
    ----------
    system
        The compatible system.
    U
        The prediction: an admissible coefficient vector (``system.space.project`` makes one).
    queries
        What is asked.
    method
        `Exact` by default; see also `Norm`, `Inexact`, `Localized`, `Randomized`.
    raw
        The model's own outputs at the queries, before projection.
    transfer
        Proved bounds from the discrete target to the continuous one, for example `Comparison`.

    For many states of one system, keep ``method.prepare(system, queries)`` and call its ``certify``.
    """
    method = Exact() if method is None else method
    if not isinstance(method, AbstractMethod):
        raise InputError(f"method: must be a method such as pinnpoint.Exact(); got {method!r}")
    return method.prepare(system, queries).certify(U, raw=raw, transfer=transfer)
