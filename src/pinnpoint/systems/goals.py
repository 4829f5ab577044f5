"""What a query asks of the PDE's own solution, in words that hold on every mesh of the same domain."""

from __future__ import annotations

from dataclasses import dataclass

from pinnpoint.base.brief import brief

NORMAL = "normal"
"""The direction of the outer normal of a boundary group."""

Direction = int | str | tuple[float, ...]
"""Number of a component, "normal", or a vector v: what is asked for is u·v."""
Where = str | tuple[int, ...] | None
"""A group of cells, numbers of cells of the mesh at hand, or None for the whole domain."""


@dataclass(frozen=True)
class Point:
    """The value at a point; of one component where the solution has several."""

    at: tuple[float, ...]
    component: int | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Ball:
    """The average over a ball; of one component where the solution has several."""

    at: tuple[float, ...]
    radius: float
    component: int | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Patch:
    """The average over a boundary group; of a component or in a direction where the solution has several."""

    group: str
    component: Direction | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Cells:
    """The average over cells; of one component where the solution has several."""

    cells: Where
    component: int | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Flux:
    """The total flux through a boundary group."""

    group: str


@dataclass(frozen=True)
class Strain:
    """ε_ij = (∂u_i/∂x_j + ∂u_j/∂x_i)/2 at a point, i ≤ j."""

    at: tuple[float, ...]
    i: int
    j: int

    __repr__ = brief


@dataclass(frozen=True)
class Stress:
    """σ_ij = λ tr(ε) δ_ij + 2μ ε_ij at a point, i ≤ j."""

    at: tuple[float, ...]
    i: int
    j: int

    __repr__ = brief


@dataclass(frozen=True)
class CellStrain:
    """The average of ε_ij over cells, i ≤ j."""

    cells: Where
    i: int
    j: int

    __repr__ = brief


@dataclass(frozen=True)
class CellStress:
    """The average of σ_ij over cells, i ≤ j."""

    cells: Where
    i: int
    j: int

    __repr__ = brief


@dataclass(frozen=True)
class Reaction:
    """The total force ∫ (σn)_k with which what holds a boundary group acts on the body."""

    group: str
    component: int

    __repr__ = brief


@dataclass(frozen=True)
class Compliance:
    """The work L(u) of the loads."""

    __repr__ = brief


Goal = Point | Ball | Patch | Cells | Flux | Strain | Stress | CellStrain | CellStress | Reaction | Compliance
"""What a query asks of the PDE's own solution."""
