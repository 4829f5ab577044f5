"""Curves and surfaces by description: each is the zero set of a formula.

A number in a description means the real number that its shortest decimal stands for, as in formulas; the float is
within the error that the formula's models carry.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

from pinnpoint.base.arrays import number
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression, parse


@runtime_checkable
class Shape(Protocol):
    """The zero set of a formula that changes its sign there."""

    dim: ClassVar[int | None]

    @property
    def level(self) -> Expression:
        """The formula."""

    @property
    def words(self) -> str:
        """For people."""


def _numbers(name: str, given: Sequence[float], count: int) -> tuple[float, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != count:
        raise InputError(f"{name}: must be {count} numbers; got {given!r:.60}")
    return tuple(number(f"{name}[{i}]", x) for i, x in enumerate(given))


def _positive(name: str, given: float) -> float:
    return number(name, given, above=0.0)


def _less(variable: str, x: float) -> str:
    """The difference as a formula has it."""
    return variable if x == 0.0 else f"({variable} - {x!r})" if x > 0.0 else f"({variable} + {-x!r})"


@dataclass(frozen=True)
class Circle:
    """The circle about a centre (x, y)."""

    center: tuple[float, float]
    radius: float
    dim: ClassVar[int | None] = 2

    __repr__ = brief

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _numbers("circle", self.center, 2))
        object.__setattr__(self, "radius", _positive("radius", self.radius))

    @cached_property
    def level(self) -> Expression:
        """(|x − c|² − R²)/R²."""
        x, y = (_less(v, c) for v, c in zip("xy", self.center, strict=True))
        return parse(f"({x}**2 + {y}**2)/{self.radius!r}**2 - 1", name="circle")

    @property
    def words(self) -> str:
        """For people."""
        return f"the circle of radius {self.radius!r} about {list(self.center)!r}"


@dataclass(frozen=True)
class Ellipse:
    """The ellipse about a centre with half axes (a, b), the first turned by an angle (radians) from the x axis."""

    center: tuple[float, float]
    axes: tuple[float, float]
    angle: float = 0.0
    dim: ClassVar[int | None] = 2

    __repr__ = brief

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _numbers("ellipse", self.center, 2))
        axes = _numbers("axes", self.axes, 2)
        object.__setattr__(self, "axes", tuple(_positive(f"axes[{i}]", a) for i, a in enumerate(axes)))
        object.__setattr__(self, "angle", number("angle", self.angle))

    @cached_property
    def level(self) -> Expression:
        """(x′/a)² + (y′/b)² − 1."""
        x, y = (_less(v, c) for v, c in zip("xy", self.center, strict=True))
        along, across = x, y
        if self.angle != 0.0:
            t = repr(self.angle) if self.angle > 0.0 else f"(-{-self.angle!r})"
            along, across = f"(cos({t})*{x} + sin({t})*{y})", f"(cos({t})*{y} - sin({t})*{x})"
        a, b = self.axes
        return parse(f"({along}/{a!r})**2 + ({across}/{b!r})**2 - 1", name="ellipse")

    @property
    def words(self) -> str:
        """For people."""
        turned = f", turned by {self.angle!r}" if self.angle else ""
        return f"the ellipse with half axes {list(self.axes)!r} about {list(self.center)!r}{turned}"


@dataclass(frozen=True)
class LevelSet:
    """The zero set of a formula in x, y (and z), whose gradient does not vanish there, which is proved."""

    formula: str | Expression
    dim: ClassVar[int | None] = None

    __repr__ = brief

    def __post_init__(self) -> None:
        _ = self.level  # unknown names are refused here, not where a domain is made of it

    @cached_property
    def level(self) -> Expression:
        """The formula."""
        given = parse(self.formula, name="level") if isinstance(self.formula, str) else self.formula
        if not isinstance(given, Expression) or not given.variables_used:
            raise InputError(f"level: must be a formula that vanishes on the curve; got {self.formula!r:.60}")
        return given

    @property
    def words(self) -> str:
        """For people."""
        what = "surface" if "z" in self.level.variables_used else "curve"
        return f"the {what} {self.level.text} = 0"


@dataclass(frozen=True)
class Sphere:
    """The sphere about a centre (x, y, z)."""

    center: tuple[float, float, float]
    radius: float
    dim: ClassVar[int | None] = 3

    __repr__ = brief

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _numbers("sphere", self.center, 3))
        object.__setattr__(self, "radius", _positive("radius", self.radius))

    @cached_property
    def level(self) -> Expression:
        """(|x − c|² − R²)/R²."""
        x, y, z = (_less(v, c) for v, c in zip("xyz", self.center, strict=True))
        return parse(f"({x}**2 + {y}**2 + {z}**2)/{self.radius!r}**2 - 1", name="sphere")

    @property
    def words(self) -> str:
        """For people."""
        return f"the sphere of radius {self.radius!r} about {list(self.center)!r}"


@dataclass(frozen=True)
class Cylinder:
    """The cylinder about the line through a centre along an axis."""

    center: tuple[float, float, float]
    axis: tuple[float, float, float]
    radius: float
    dim: ClassVar[int | None] = 3

    __repr__ = brief

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _numbers("cylinder", self.center, 3))
        object.__setattr__(self, "axis", _numbers("axis", self.axis, 3))
        object.__setattr__(self, "radius", _positive("radius", self.radius))
        if not math.hypot(*self.axis) > 0.0:
            raise InputError("axis: must not be zero")

    @cached_property
    def level(self) -> Expression:
        """|a × (x − c)|²/(|a|²R²) − 1."""
        p = [_less(v, c) for v, c in zip("xyz", self.center, strict=True)]
        a = [f"({t!r})" if t >= 0.0 else f"(-{-t!r})" for t in self.axis]
        across = [f"({a[i - 2]}*{p[i - 1]} - {a[i - 1]}*{p[i - 2]})**2" for i in range(3)]
        size = " + ".join(f"{t}**2" for t in a)
        return parse(f"({' + '.join(across)})/(({size})*{self.radius!r}**2) - 1", name="cylinder")

    @property
    def words(self) -> str:
        """For people."""
        line = f"the line through {list(self.center)!r} along {list(self.axis)!r}"
        return f"the cylinder of radius {self.radius!r} about {line}"


def said(shape: Shape) -> dict[str, Any]:
    """A curve in the words of a case."""
    if isinstance(shape, LevelSet):
        return {"level": shape.level.text.strip()}
    if isinstance(shape, Ellipse):
        return {"ellipse": list(shape.center), "axes": list(shape.axes), "angle": shape.angle}
    if isinstance(shape, Cylinder):
        return {"cylinder": list(shape.center), "axis": list(shape.axis), "radius": shape.radius}
    assert isinstance(shape, Circle | Sphere)
    return {"circle" if isinstance(shape, Circle) else "sphere": list(shape.center), "radius": shape.radius}
