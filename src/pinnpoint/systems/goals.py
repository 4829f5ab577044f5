"""What a query asks of the PDE's own solution, in words that hold on every mesh of the same domain."""

from __future__ import annotations

from collections.abc import Sequence
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
    """The value at a point; of one component where the solution has several, at a time where it moves."""

    at: tuple[float, ...]
    component: int | None = None
    time: float | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Ball:
    """The average over a ball; of one component where the solution has several, at a time where it moves.

    With `since` averaged over the times from then to `time` too.
    """

    at: tuple[float, ...]
    radius: float
    component: int | None = None
    time: float | None = None
    since: float | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Gaussian:
    """The average at a time with the weight χ(r²/reach²) exp(−r²/(2 spread²)), divided by its integral.

    r is the distance from the point, χ(ρ) = 1 − I_ρ(3, 4) with the regularised incomplete beta function I for ρ ≤ 1,
    and 0 beyond: 1 at the point, and zero with three derivatives at the distance `reach`.
    """

    at: tuple[float, ...]
    spread: float
    reach: float
    time: float | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Patch:
    """The average over a boundary group; of a component or in a direction where the solution has several.

    At a time where it moves.
    """

    group: str
    component: Direction | None = None
    time: float | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Cells:
    """The average over cells; of one component where the solution has several, at a time where it moves.

    With `since` averaged over the times from then to `time` too.
    """

    cells: Where
    component: int | None = None
    time: float | None = None
    since: float | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Block:
    """The average over the square or cube of a side about a point, whose faces are normal to the axes.

    At a time where the solution moves; with `since` averaged over the times from then to `time` too.
    """

    at: tuple[float, ...]
    side: float
    time: float | None = None
    since: float | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Slope:
    """The derivative ∂u/∂x_axis at a point, or with `flux` the flux κ ∂u/∂x_axis there."""

    at: tuple[float, ...]
    axis: int
    flux: bool = False

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
class CellStressAlong:
    """The average of Σ E_ij σ_ij over cells, E symmetric, by its entries xx, xy, yy or xx, xy, xz, yy, yz, zz."""

    cells: Where
    along: tuple[float, ...]

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


@dataclass(frozen=True)
class Everywhere:
    """The largest error of the prediction, max |u_θ − u| over the domain.

    Attributes
    ----------
    solve
        False where a bound that needs no solve will do: for lifts.
    barrier
        A formula w with −κΔw + c w > 0 and κ∂w/∂n ≥ 0 on Neumann facets, which is proved: for lifts.
    checked
        Whether only bounds that the checker of bundles proves again are wanted.
    thorough
        Whether the mesh constant, which narrows the bounds, may cost whatever it takes.
    """

    solve: bool = True
    barrier: str | None = None
    checked: bool = False
    thorough: bool = False

    __repr__ = brief


@dataclass(frozen=True)
class L2Error:
    """The prediction's error in the mean, ‖u_θ − u‖ in L² of the domain."""

    __repr__ = brief


@dataclass(frozen=True)
class EnergyError:
    """The prediction's error in the energy norm, (∫ κ|∇(u_θ − u)|² + c (u_θ − u)²)^½."""

    __repr__ = brief


@dataclass(frozen=True)
class Maximum:
    """The largest value of the solution over the domain, or a group of cells; `checked`, `thorough` as `Everywhere`."""

    cells: str | None = None
    thorough: bool = False
    checked: bool = False

    __repr__ = brief


@dataclass(frozen=True)
class Minimum:
    """The smallest value of the solution over the domain, or a group of cells; see `Maximum`."""

    cells: str | None = None
    thorough: bool = False
    checked: bool = False

    __repr__ = brief


Place = Point | Ball | Gaussian | Patch | Cells | Block | Slope | Flux
Linear = Place | Strain | Stress | CellStrain | CellStress | CellStressAlong | Reaction | Compliance
Extreme = Everywhere | L2Error | EnergyError | Maximum | Minimum
"""What is no linear functional of the solution; its rows are zero, and its intervals come from bounds on cells."""
Goal = Linear | Extreme
"""What a query asks of the PDE's own solution."""
ERRORS: dict[type[object], str] = {Everywhere: "everywhere", L2Error: "l2-error", EnergyError: "energy-error"}
"""What asks for an error of the prediction rather than for a value of the solution, and its word in case files."""


def extreme_queries(goals: Sequence[Goal | None]) -> list[int]:
    """Numbers of the queries that are no linear functionals."""
    return [i for i, goal in enumerate(goals) if isinstance(goal, Extreme)]


def time_of(goal: Goal | None) -> float | None:
    """The time that a query is about; None where the solution does not move, or none was said."""
    return goal.time if isinstance(goal, Point | Ball | Block | Gaussian | Cells | Patch) else None


def since_of(goal: Goal | None) -> float | None:
    """The time from which on a query averages; None where it is about one time."""
    return goal.since if isinstance(goal, Ball | Block | Cells) else None
