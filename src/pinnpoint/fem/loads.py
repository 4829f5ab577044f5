"""Loads of a family: vectors, or what a problem assembles into them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pinnpoint.arrays import Vector, floats
from pinnpoint.errors import InputError


def vectors(assemble: Callable[..., Vector], loads: Any) -> Vector:
    """Stack vectors and tables of arguments of a problem's `load`."""
    if isinstance(loads, Mapping):
        raise InputError("loads: must be a list of loads, each a vector or a table; got one table; put it in a list")
    if isinstance(loads, np.ndarray):
        return floats("loads", loads)
    rows = []
    for k, given in enumerate(loads):
        if not isinstance(given, Mapping):
            rows.append(floats(f"loads[{k}]", given).ravel())
            continue
        try:
            rows.append(assemble(**given))
        except TypeError as error:
            raise InputError(f"loads[{k}]: {error}; give the arguments of problem.load") from error
    if not rows or len({row.size for row in rows}) > 1:
        raise InputError(f"loads: must be vectors of one length; got lengths {sorted({row.size for row in rows})}")
    return np.stack(rows)
