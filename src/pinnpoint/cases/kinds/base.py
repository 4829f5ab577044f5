"""A kind of PDE is one object: what it is called, how its table is read, what is built, asked and proved of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from pinnpoint.base.brief import brief
from pinnpoint.cases.tables import Table
from pinnpoint.mesh.bent.shapes import Shape
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.report.units import SCALAR, Quantities

LINEAR = ("exact", "norm", "inexact", "localized", "randomized")
NONLINEAR = ("root", "stationary")
TARGETS = ("continuous", "discrete")
SCALAR_GOALS = ("point", "average", "patch", "flux", "mean", "cells", "gradient")
ELASTIC_GOALS = (
    *("point", "average", "patch", "cells", "mean", "stress", "strain"),
    *("von-mises", "principal", "magnitude", "reaction", "compliance"),
)
EXTREMES = ("everywhere", "maximum", "minimum", "l2-error", "energy-error")
GOALS = tuple(dict.fromkeys((*SCALAR_GOALS, *ELASTIC_GOALS, *EXTREMES)))
"""Kinds of queries."""


@dataclass(frozen=True)
class ProblemSpec:
    """The [problem] table of a case; a kind adds its own keys in a subclass.

    Attributes
    ----------
    deck
        A deck that gives the mesh and everything else, with the number of the subcase in it.
    """

    kind: str
    degree: int = 1
    deck: Path | None = None
    subcase: int | None = None

    __repr__ = brief


Spec = TypeVar("Spec", bound=ProblemSpec)


@dataclass(frozen=True)
class TimeSpec:
    """The [time] table of a case."""

    end: float | None = None
    steps: int | None = None
    nodes: tuple[float, ...] | None = None
    grade: str = "end"
    scheme: str = "cg1"
    damped: int = 0

    __repr__ = brief


@dataclass(frozen=True)
class Setting:
    """What a builder needs to know beside the spec.

    The order of quadrature, which of two words the file uses, and the times of a kind that moves.
    """

    quadrature: int | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    geometry: Mapping[str, Shape] = field(default_factory=dict)
    """Curves that boundary groups are."""
    time: TimeSpec | None = None


@dataclass(frozen=True, eq=False)
class Kind(Generic[Spec]):
    """One kind of PDE; `pinnpoint.cases.kinds.register` makes it known to case files.

    Attributes
    ----------
    name
        What ``problem.kind`` says.
    spec
        The record of its [problem] table.
    read
        From the table to the fields of the record, beyond kind and degree.
    build
        From the record, a mesh and a setting to the problem, as ``pinnpoint.certify`` takes it.
    keys
        Of its table; where another kind's table has one of them it is refused.
    special
        Those of its keys that mean this kind: refused elsewhere with its name.
    words
        Second names of keys.
    vector
        Whether the solution has one component for each coordinate; else it has one.
    methods
        That fit, the default first.
    targets
        That can be proved, as far as the kind decides about it.
    goals
        Kinds of queries; `instead` says what to ask in the place of others.
    quantities
        What labels of units are for.
    rechecked
        Whether the checker of bundles knows the kind and compares the stored system with its own; of others it proves
        what was certified of the system as it is stored.
    moves
        Whether its solution depends on time: the case has a table [time], and queries have times.
    lifts, refines, distributes, decks
        Whether a smooth prediction can be kept unprojected, a tolerance refines the mesh, many processes can share it,
        and a deck can give it.
    """

    name: str
    spec: type[Spec]
    read: Callable[[Table], dict[str, Any]]
    build: Callable[[Spec, Mesh, Setting], Any]
    keys: tuple[str, ...]
    special: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    vector: bool = False
    degrees: int = 2
    methods: tuple[str, ...] = LINEAR
    targets: tuple[str, ...] = TARGETS
    goals: tuple[str, ...] = SCALAR_GOALS
    instead: Mapping[str, str] = field(default_factory=dict)
    quantities: Quantities = SCALAR
    rechecked: bool = False
    moves: bool = False
    lifts: bool = False
    refines: bool = False
    distributes: bool = False
    decks: bool = False
    curved: bool = False
    """Whether boundary groups may be curves by description."""

    __repr__ = brief

    @property
    def linear(self) -> bool:
        """Whether the methods of linear systems fit."""
        return self.methods[0] in LINEAR

    def components(self, dim: int) -> int:
        """Of the solution on a mesh of that dimension."""
        return dim if self.vector else 1

    @property
    def arguments(self) -> dict[str, str]:
        """What the builder's arguments are called in a case file."""
        return {key: f"problem.{key}" for key in ("degree", *self.keys, *self.special, *self.words.values())}
