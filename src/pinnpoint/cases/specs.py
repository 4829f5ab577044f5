"""What a case file says, as records."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinnpoint.base.brief import brief
from pinnpoint.cases.kinds import KINDS, Kind, ProblemSpec, TimeSpec
from pinnpoint.cases.tables import Value
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.bent.shapes import Shape
from pinnpoint.systems.limits import Limit


@dataclass(frozen=True)
class MeshSpec:
    """A mesh file, or a standard domain with its cells per unit length; a bracket may have its dofs instead."""

    file: Path | None = None
    generate: str | None = None
    cells: int | None = None
    dofs: int | None = None
    straight: bool | None = None
    """Whether mid-side nodes are left out."""


@dataclass(frozen=True)
class PredictionSpec:
    """Where the prediction comes from: exactly one of the sources is given."""

    source: str
    file: Path | None = None
    field: str | None = None
    expression: Value | None = None
    onnx: Path | None = None
    torch: Path | None = None
    factory: str | None = None
    activation: str | None = None
    factor: Expression | None = None
    model: Path | None = None
    input: str | None = None
    output: str | None = None

    __repr__ = brief


@dataclass(frozen=True)
class QuerySpec:
    """One number that is wanted."""

    name: str
    kind: str
    at: tuple[float, ...] | None = None
    radius: float | None = None
    group: str | None = None
    component: str | tuple[float, ...] | None = None
    tolerance: float | None = None
    """How narrow the proof must be."""
    accept: float | None = None
    """How wrong the prediction may be."""
    limit: Limit | None = None
    """Where the true value must lie: its own, or the case's."""
    side: float | None = None
    """Of a block."""
    time: float | None = None
    """When, where the solution moves; the end by default."""
    spread: float | None = None
    """Of a Gaussian weight, in the place of a ball's radius."""
    since: float | None = None
    """The first of the times that are averaged over."""


@dataclass(frozen=True)
class DerivedSpec:
    """One number that follows from others; `of` are the names of their queries, once the mesh is known."""

    name: str
    kind: str
    at: tuple[float, ...] | None = None
    group: str | None = None
    tolerance: float | None = None
    accept: float | None = None
    of: tuple[str, ...] = ()
    limit: Limit | None = None


@dataclass(frozen=True)
class CertificateSpec:
    """What is to be proved, and how; `options` are the method's own."""

    target: str = "continuous"
    method: str = "exact"
    rounding: bool = True
    lift: bool | str = False
    tolerance: float | None = None
    max_dofs: int | None = None
    quadrature: int | None = None
    options: Mapping[str, float | int | str] | None = None
    accept: float | None = None
    budget: int | None = None
    """Work for the integrals of a query."""
    until: str | None = None
    """What refinement is for, where it is not the tolerance: "decided"."""

    __repr__ = brief


@dataclass(frozen=True)
class Case:
    """A case file that was read; `mesh` is None where a deck gives the mesh."""

    title: str
    units: str | Mapping[str, str]
    mesh: MeshSpec | None
    problem: ProblemSpec
    prediction: PredictionSpec
    queries: tuple[QuerySpec, ...]
    certificate: CertificateSpec
    path: Path
    resolved: Mapping[str, Any]
    overrides: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    """What the file calls things that have two names, by the first one."""
    geometry: Mapping[str, Shape] = field(default_factory=dict)
    """Curves that boundary groups are."""
    derived: tuple[DerivedSpec, ...] = ()
    """What follows from several queries; `queries` has these once the mesh is known."""
    time: TimeSpec | None = None
    """The time grid of a kind that moves."""

    __repr__ = brief

    @property
    def kind(self) -> Kind[Any]:
        """The kind of its PDE."""
        return KINDS[self.problem.kind]

    def to_dict(self) -> dict[str, Any]:
        """The case with all defaults filled in, as plain data for JSON."""
        return copy.deepcopy(dict(self.resolved))
