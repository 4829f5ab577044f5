"""What a case file says, as records."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinnpoint.base.brief import brief
from pinnpoint.formulas.expressions import Expression

Value = Expression | tuple[Expression | None, ...]
"""One formula for all components, or one for each; None leaves the component free."""
PerGroup = float | Mapping[str, float]


@dataclass(frozen=True)
class MeshSpec:
    """A mesh file, or a standard domain with its cells per unit length; a bracket may have its dofs instead."""

    file: Path | None = None
    generate: str | None = None
    cells: int | None = None
    dofs: int | None = None


@dataclass(frozen=True)
class ForceSpec:
    """A total force on a group: spread evenly, or with a moment and a reference point over the group's nodes."""

    force: tuple[float, ...]
    moment: tuple[float, ...] | None = None
    at: tuple[float, ...] | None = None
    even: bool = True


@dataclass(frozen=True)
class ProblemSpec:
    """The PDE; what does not belong to its kind is None.

    Attributes
    ----------
    deck
        A deck that gives the mesh and everything else; then all but `kind`, `deck` and `subcase` is empty.
    """

    kind: str
    degree: int = 1
    diffusion: PerGroup | None = None
    reaction: Expression | Mapping[str, float] | None = None
    source: Expression | None = None
    cubic: float | None = None
    young: PerGroup | None = None
    poisson: PerGroup | None = None
    body: tuple[Expression, ...] | None = None
    plane: str | None = None
    deck: Path | None = None
    subcase: int | None = None
    dirichlet: Mapping[str, Value] | None = None
    neumann: Mapping[str, Value] | None = None
    force: Mapping[str, ForceSpec] | None = None

    __repr__ = brief


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
    component: str | None = None
    tolerance: float | None = None
    """How narrow the proof must be."""
    accept: float | None = None
    """How wrong the prediction may be."""


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

    __repr__ = brief

    def to_dict(self) -> dict[str, Any]:
        """The case with all defaults filled in, as plain data for JSON."""
        return copy.deepcopy(dict(self.resolved))
