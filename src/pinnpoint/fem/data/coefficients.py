"""Coefficients as users give them: numbers, functions, expressions, values per group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, asked, frozen, number, plain, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.taylor.domains import require_defined as defined_on
from pinnpoint.taylor.inputs import enclosed

Function = Callable[[Vector], Vector]
Data = (
    float | str | Expression | Callable[[Vector], ArrayLike] | Mapping[str, object] | Sequence[object] | Vector | None
)
"""A number, a formula, a function of points, a table from groups, or one number per cell."""


@dataclass(frozen=True, eq=False)
class PointFunction:
    """Somebody's function of points (N, d), under the name of the argument; its values are N finite numbers."""

    name: str
    f: Any

    __repr__ = brief

    @property
    def terms(self) -> Any:
        """Data of the size of the terms that cancel in this, where the function knows it."""
        return getattr(self.f, "terms", 0.0)

    def __call__(self, X: Any) -> Vector:
        """Values (N,); what the function raises is a refusal."""
        values = asked(self.f, X, self.name)
        if values.shape == (len(X), 1):
            values = values[:, 0]
        if values.shape != (len(X),):
            raise InputError(f"{self.name}: must map {len(X)} points to {len(X)} numbers; got shape {values.shape}")
        if not np.all(np.isfinite(values)):
            bad = int(np.argmin(np.isfinite(values)))
            raise InputError(f"{self.name}: is not finite at {X[bad].tolist()}")
        return values


def function(name: str, given: Data) -> Function:
    """A scalar function of points (N, d) from a number, an expression's text or a callable; its values are checked."""
    if isinstance(given, str):
        given = parse(given, name=name)
    elif not callable(given):
        constant = _constant(name, given)
        return lambda X: np.full(len(X), constant)
    return PointFunction(name, given.f if isinstance(given, PointFunction) else given)


def _constant(name: str, given: Any) -> float:
    if isinstance(given, Mapping | list | tuple | set) or np.ndim(given):
        kind = f"an array of shape {given.shape}" if isinstance(given, np.ndarray) else f"a {type(given).__name__}"
        raise InputError(f"{name}: must be a number, a formula or a function of points (N, d); got {kind}")
    return number(name, given)


def named(name: str, given: Any) -> Any:
    """The same with a plain function under the name of its argument; formulas and smooth data know themselves."""
    plain_one = callable(given) and not enclosed(given) and not isinstance(given, PointFunction)
    return PointFunction(name, given) if plain_one else given


def require_defined(name: str, given: Any, vertices: Any) -> None:
    """Refuse formulas, of components too, that are undefined somewhere on simplices (N, m + 1, d)."""
    if isinstance(given, list | tuple):
        for i, each in enumerate(given):
            require_defined(f"{name}[{i}]", each, vertices)
    given = parse(given) if isinstance(given, str) and given != "free" else given
    if isinstance(given, Expression):
        defined_on(given, vertices, name)


def require_defined_on(mesh: Mesh, table: Mapping[str, Any], name: str) -> None:
    """Refuse boundary data with formulas that are undefined somewhere on their groups."""
    for group, given in table.items():
        require_defined(f"{name} '{group}'", given, mesh.points[mesh.facets(group)])


def parsed(given: object, name: str = "expression") -> Any:
    """The same with texts parsed and numbers of other kinds as floats, in tables and lists too.

    "free" stays a word.
    """
    if isinstance(given, Mapping):
        return {key: parsed(value, f"{name} '{key}'") for key, value in given.items()}
    if isinstance(given, list | tuple):
        return type(given)(parsed(value, f"{name}[{i}]") for i, value in enumerate(given))
    if isinstance(given, Decimal | Fraction) or getattr(given, "shape", None) == ():
        return number(name, given)
    return parse(given, name=name) if isinstance(given, str) and given != "free" else given


def split(name: str, given: Data, count: int, *, free: bool = False) -> list[Any]:
    """What is given for each component, formulas parsed; None where "free" or None leaves it alone.

    With `free` that is offered to whoever gives too few.
    """
    given = plain(given)
    single = isinstance(given, str | Number | np.generic) or (isinstance(given, np.ndarray) and given.ndim == 0)
    if given is None or single or callable(given):
        given = [given] * count
    if not isinstance(given, list | tuple | np.ndarray):  # keys of tables, bytes or members of sets are no components
        raise InputError(f"{name}: must be a number, an expression or a list of {count}; got {type(given).__name__}")
    each = list(given)
    if len(each) != count:
        hint = '; "free" leaves one alone' if free and count > 1 else ""
        raise InputError(f"{name}: must have {count} components; got {len(each)}{hint}")
    found: list[Any] = []
    for i, g in enumerate(each):
        label = name if count == 1 else f"{name}[{i}]"
        if g is None or (isinstance(g, str) and g == "free"):
            found.append(None)
        elif isinstance(g, str):
            found.append(parse(g, name=label))
        else:
            found.append(named(label, g) if callable(g) else number(label, g))
    return found


def components(name: str, given: Data, count: int) -> list[Function | None]:
    """One function per component; None or "free" stands for a component that is left alone."""
    each = split(name, given, count)
    return [None if g is None else function(f"{name}[{i}]", g) for i, g in enumerate(each)]


def per_cell(name: str, given: Any, mesh: Mesh) -> Vector:
    """One number per cell: a number, an array, or a table from cell groups that covers every cell once."""
    if isinstance(given, Mapping):
        values = np.full(len(mesh.cells), np.nan)
        for group, value in given.items():
            try:
                cells = mesh.cells_of(group)
            except InputError as error:
                raise InputError(f"{name}: {error}") from error
            if not np.all(np.isnan(values[cells])):
                raise InputError(f"{name}: group '{group}' shares cells with another group; give each cell one value")
            values[cells] = number(f"{name} of group '{group}'", value)
        if np.isnan(values).any():
            cell = int(np.argmax(np.isnan(values)))
            named = [g for g, members in mesh.cell_groups.items() if cell in members]
            where = f"group '{named[0]}'" if named else "no group"
            raise InputError(
                f"{name}: {int(np.isnan(values).sum())} cells have no value, the first is cell {cell} in {where}"
            )
        return values
    if np.ndim(given) == 0 and not callable(given):
        return np.full(len(mesh.cells), number(name, given))
    if callable(given):
        raise InputError(f"{name}: must be constant on each cell: a number, a table of groups, or one number per cell")
    return vector(name, given, len(mesh.cells))


@dataclass(frozen=True, eq=False)
class Opposite:
    """−f of an opaque f; `terms` is the data that cancels in it."""

    f: Any
    terms: Any

    def __call__(self, X: Vector) -> Vector:
        """Values at points."""
        return -np.asarray(self.f(X))


def own(given: Any) -> Any:
    """Data as it is now, whatever its owner writes into it later."""
    if isinstance(given, Mapping):
        return dict(given)
    if callable(given) or np.ndim(given) == 0:
        return given
    kept = np.array(given)
    if kept.dtype == object:
        return given if isinstance(given, tuple) else tuple(map(own, given))
    frozen(kept)
    return kept
