"""Data in space and time: numbers, formulas in x, y, z and t, functions of points and times.

A function of space and time is asked at points whose last coordinate is t, (N, d + 1). Somebody's function may take
them so, or take points and times apart, ``f(X, t)`` with (N, d) and (N,).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.data.coefficients import Function, function, parsed
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.mesh.mesh import BOUNDARY
from pinnpoint.taylor.inputs import enclosed

TIME = "t"
TOGETHER = 1 << 16
"""Points of space and time at which functions are asked together."""


def variables(dim: int) -> tuple[str, ...]:
    """Names of the coordinates of space and time, in the order of the columns."""
    return (*("x", "y", "z")[:dim], TIME)


@dataclass(frozen=True, eq=False)
class Apart:
    """f(X, t) as a function of points of space and time."""

    f: Any

    __repr__ = brief

    def __call__(self, points: Vector) -> Any:
        """Values at (N, d + 1)."""
        return self.f(points[:, :-1], points[:, -1])


@dataclass(frozen=True, eq=False)
class At:
    """A function of space and time at one time, as a function of space."""

    f: Any
    time: float

    __repr__ = brief

    def __call__(self, X: Vector) -> Any:
        """Values at (N, d)."""
        return self.f(joined(X, self.time))


def joined(X: Vector, time: Any) -> Vector:
    """Points (N, d) at a time, or at (N,) of them, as (N, d + 1)."""
    return np.column_stack([X, np.broadcast_to(np.asarray(time, dtype=np.float64), len(X))])


def over_levels(values: Callable[[Vector], Vector], X: Vector, times: Vector, together: bool = True) -> Vector:
    """Values (levels, N) at points (N, d) and all times, of a function of points of space and time as rows.

    Many levels are asked for together, unless the function is only known to take one time.
    """
    few = max(1, TOGETHER // max(1, len(X))) if together else 1
    found = np.empty((times.size, len(X)))
    for a in range(0, times.size, few):
        some = times[a : a + few]
        rows = joined(np.tile(X, (some.size, 1)), np.repeat(some, len(X)))
        found[a : a + few] = values(rows).reshape(some.size, len(X))
    return found


def of_columns(f: Any) -> Any:
    """A callable as a function of points whose last coordinate is t: two arguments are points and times."""
    if isinstance(f, Expression | Apart) or enclosed(f):
        return f
    try:
        inspect.signature(f).bind(None, None)
    except (TypeError, ValueError):
        return f
    return Apart(f)


def in_time(given: Any, name: str, dim: int) -> Any:
    """Data with texts parsed as formulas in space and time, in tables too."""
    if isinstance(given, Mapping):
        return {key: in_time(value, f"{name} '{key}'", dim) for key, value in given.items()}
    if isinstance(given, str):
        return parse(given, variables(dim), name=name)
    if isinstance(given, Expression):
        return of_space(given, name, dim)
    return of_columns(given) if callable(given) else parsed(given, name)


def of_space(given: Expression, name: str, dim: int) -> Expression:
    """A formula that was parsed elsewhere, with t for its last coordinate."""
    if given.variables == variables(dim):
        return given
    return parse(given.text, variables(dim), name=name)


def steady(given: Any) -> bool:
    """Whether data are known not to depend on time."""
    if isinstance(given, Mapping):
        return all(steady(value) for value in given.values())
    return not callable(given) or (isinstance(given, Expression) and TIME not in given.variables_used)


def at_time(name: str, given: Any, time: float) -> Function:
    """Data at one time as a function of points (N, d), its values checked."""
    return function(name, At(given, time) if callable(given) else given)


def table_at(table: Mapping[str, Any], time: float) -> dict[str, Any]:
    """A table of boundary data at one time."""
    return {group: At(given, time) if callable(given) else given for group, given in table.items()}


def moving_sides(dim: int, dirichlet: Any, neumann: Any, robin: Any = None) -> dict[str, dict[str, Any]]:
    """Tables of values and fluxes with their formulas parsed; zero values all around where nothing is said."""
    around = {} if robin else {BOUNDARY: 0.0}
    found = {"dirichlet": around if dirichlet is None else dirichlet, "neumann": neumann or {}}
    for name, table in found.items():
        if not isinstance(table, Mapping):
            raise InputError(f"{name}: must be a table from boundary groups to values; got {type(table).__name__}")
    return {name: in_time(table, name, dim) for name, table in found.items()}


def moving_robin(dim: int, given: Any) -> dict[str, tuple[Any, Any]]:
    """A table of Robin groups with its values parsed as formulas in space and time; coefficients do not move."""
    if not isinstance(given or {}, Mapping):
        raise InputError(f"robin: must be a table from boundary groups to pairs; got {type(given).__name__}")
    found = {}
    for group, pair in (given or {}).items():
        if isinstance(pair, Mapping):
            pair = tuple(pair.get(word) for word in ("coefficient", "value"))
        if not isinstance(pair, tuple | list) or len(pair) != 2 or any(x is None for x in pair):
            raise InputError(f"robin '{group}': must be a pair (coefficient, value); got {pair!r}")
        require_still(f"robin '{group}' coefficient", pair[0])
        found[str(group)] = (pair[0], in_time(pair[1], f"robin '{group}' value", dim))
    return found


def require_still(name: str, given: Any) -> None:
    """Refuse texts in which t stands where nothing may depend on time."""
    if isinstance(given, Mapping):
        for key, part in given.items():
            require_still(f"{name} '{key}'", part)
    elif isinstance(given, list | tuple):
        for part in given:
            require_still(name, part)
    elif isinstance(given, str) and re.search(r"\bt\b", given):
        why = "it is u at t = 0" if name == "initial" else "source and boundary data may, and coefficients not"
        raise InputError(f"{name}: must not depend on t: {why}; got {given!r}")


def initial_data(given: Any) -> Any:
    """The initial values: a number, a formula in space, or a function of points (N, d)."""
    require_still("initial", given)
    found = parsed(given, "initial")
    if isinstance(found, Mapping | list | tuple):
        raise InputError(f"initial: must be a number, a formula or a function of points; got {type(given).__name__}")
    return found
