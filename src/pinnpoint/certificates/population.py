"""Certificates of a whole population: many instances of one kind of problem, each with a coefficient of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector, frozen, number
from pinnpoint.base.brief import brief
from pinnpoint.base.display import titled
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import UNIT

WITHIN, BEYOND, UNDECIDED, REFUSED = "within", "beyond", "undecided", "refused"
CERTIFIED = ""
"""The status of an instance that was certified; any other is the reason why it was not."""
UPPER, LOWER = ("error", "energy", "norm", "gap"), ("lower", "energy_lower", "norm_lower")
"""Bounds from above, infinite where nothing is proved, and from below, zero there."""


@dataclass(frozen=True, eq=False)
class Shares:
    """How many of a population's predictions are proved to be good enough.

    Attributes
    ----------
    within, beyond, undecided, refused
        Shares of all instances, which add up to one: the error is proved to be at most the tolerance, proved to be
        above it, or neither; or the instance was refused, and nothing is proved of it.
    verdicts
        "within", "beyond", "undecided" or "refused" for each instance.
    """

    within: float
    beyond: float
    undecided: float
    refused: float
    verdicts: tuple[str, ...]

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Instances:
    """What a population was made from, as it was given: nothing is copied."""

    kappas: Any
    predictions: Any
    streams: Any = None
    mu: Any = None

    __repr__ = brief

    def only(self, which: Index) -> Instances:
        """Some of them."""

        def rows(given: Any) -> Any:
            return None if given is None else [given[int(i)] for i in which]

        return Instances(rows(self.kappas), rows(self.predictions), rows(self.streams), rows(self.mu))

    def __len__(self) -> int:
        return len(self.kappas)


@dataclass(frozen=True, eq=False)
class Population:
    """Proved errors and values of S instances and Q queries.

    Every number is about the solution u of the PDE itself with the instance's own κ, on the domain that the mesh
    covers; where `target` is "discrete", about the solution of the discrete system with it.
    An instance that was refused has infinite bounds and its reason in `status`; it never ends the batch.

    *Guarantee:* deterministic, rounding covered ([operators](operators.md)). The prediction is the piecewise linear
    function with the given values at the nodes and the problem's Dirichlet values on the boundary: where other values
    were given there, they are replaced, and `overwritten` has the largest difference.

    Attributes
    ----------
    names
        Of the queries.
    number
        The instance's number in what was given, (S,).
    error, lower
        Upper and lower bounds of the prediction's relative energy error ‖u − u_θ‖_a/‖u‖_a, (S,).
    energy, energy_lower
        The same without the division.
    norm, norm_lower
        Upper and lower bounds of ‖u‖_a, (S,).
    gap
        Upper bounds of the energy error of the state that the steps end with, over the lower bound of ‖u‖_a, (S,):
        what the mesh and the steps leave.
    center, radius
        The intervals of the queries, (S, Q).
    value
        The prediction's own values of the queries, (S, Q), as computed.
    overwritten
        Largest differences between the prediction's boundary values and the given ones, (S,).
    steps
        Steps for the state, (S,).
    contrast
        max κ / min κ, (S,).
    status
        "" for certified instances, else why it was refused.
    notes
        What holds for all of them.
    instances
        Coefficients and predictions as they were given; None where they came from a generator.
    cells
        Of each instance the cells' shares of the prediction's η², (S, C); None unless asked for.
    outputs
        Whether `value` are somebody's values of the queries alone: energy errors are then those of another state, and
        `accepted` needs a query.
    target
        What the bounds are about: the PDE's solution, "continuous", or that of the discrete system, "discrete".
    """

    names: tuple[str, ...]
    number: Index
    error: Vector
    lower: Vector
    energy: Vector
    energy_lower: Vector
    norm: Vector
    norm_lower: Vector
    gap: Vector
    center: Vector
    radius: Vector
    value: Vector
    overwritten: Vector
    steps: Index
    contrast: Vector
    status: tuple[str, ...]
    notes: tuple[str, ...] = ()
    instances: Instances | None = field(default=None, compare=False)
    cells: Vector | None = None
    outputs: bool = False
    target: str = "continuous"

    __repr__ = brief

    def __post_init__(self) -> None:
        frozen(self.number, self.error, self.lower, self.center, self.radius, self.value, self.steps)

    def __len__(self) -> int:
        return len(self.number)

    def _repr_html_(self) -> str:
        """How many, how wrong, and the widest interval of each query, for notebooks."""
        sure = self.certified
        told = [("instances", f"{len(self):,}"), ("certified", f"{int(sure.sum()):,}")]
        if sure.any():
            for name, of in (("proved energy error, relative: median", np.median), ("largest", np.max)):
                told.append((name, f"{_percent(of(self.lower[sure]))} to {_percent(of(self.error[sure]))}"))
            widest = np.max(self.radius[sure], axis=0)
            told += [(f"{q}: widest ±", f"{r:.3g}") for q, r in zip(self.names, widest, strict=True)]
        told += [("refused", reason) for reason in dict.fromkeys(s for s in self.status if s != CERTIFIED)]
        return titled(self, told)

    @property
    def certified(self) -> Mask:
        """Which instances were certified."""
        return np.array([s == CERTIFIED for s in self.status], dtype=bool)

    @property
    def raw_radius(self) -> Vector:
        """Radii of the intervals that are centred at the prediction's own values, (S, Q)."""
        far = np.abs(self.value - self.center) + self.radius
        return np.asarray(np.where(np.isnan(far), math.inf, far * (1.0 + 4.0 * UNIT)))

    def accepted(self, tolerance: float, query: str | int | None = None) -> Shares:
        """Shares of predictions proved within, proved beyond, undecided, and refused.

        Without a `query` the tolerance is for the relative energy error; with one it is for the error of the
        prediction's value relative to the true value, |value − J(u)| ≤ tolerance |J(u)|.
        """
        within, beyond = self._sides(number("tolerance", tolerance, low=0.0), query)
        sides = zip(self.certified, within, beyond, strict=True)
        said = tuple(REFUSED if not c else WITHIN if w else BEYOND if b else UNDECIDED for c, w, b in sides)
        good, bad, unknown, refused = (
            said.count(word) / max(len(self), 1) for word in (WITHIN, BEYOND, UNDECIDED, REFUSED)
        )
        return Shares(good, bad, unknown, refused, said)

    def undecided(self, tolerance: float, query: str | int | None = None) -> Index:
        """Rows of certified instances of which neither is proved, for `refine`."""
        within, beyond = self._sides(number("tolerance", tolerance, low=0.0), query)
        return np.flatnonzero(self.certified & ~within & ~beyond)

    def _sides(self, tolerance: float, query: str | int | None) -> tuple[Mask, Mask]:
        """Which are proved within, and which beyond."""
        if query is None and self.outputs:
            raise InputError(
                "query: outputs were given, and energy errors are those of the reduced state, not of what gave them; "
                f"name one of {', '.join(self.names)}"
            )
        if query is None:
            return self.error <= tolerance, self.lower > tolerance
        q = self.column(query)
        away = np.abs(self.value[:, q] - self.center[:, q])
        size, radius = np.abs(self.center[:, q]), self.radius[:, q]
        slip = 16.0 * UNIT * (away + size + np.where(np.isfinite(radius), radius, 0.0))
        least = np.maximum(size - radius, 0.0)
        with np.errstate(invalid="ignore"):
            within = away + radius + slip <= tolerance * least
            beyond = away - radius - slip > tolerance * (size + radius)
        known = np.isfinite(radius) & np.isfinite(away)
        return within & known, beyond & known

    def column(self, query: str | int) -> int:
        """The number of a query."""
        if isinstance(query, str):
            if query not in self.names:
                raise InputError(f"query: must be one of {', '.join(self.names)}; got {query!r}")
            return self.names.index(query)
        if not 0 <= query < len(self.names):
            raise InputError(f"query: must lie between 0 and {len(self.names) - 1}; got {query}")
        return int(query)

    def refused(self, reasons: Mapping[int, str]) -> Population:
        """The same with nothing proved of some rows, and why."""
        if not reasons:
            return self
        bad = np.array([i in reasons for i in range(len(self))])
        kept: dict[str, Any] = {name: np.where(bad, math.inf, vars(self)[name]) for name in UPPER}
        kept |= {name: np.where(bad, 0.0, vars(self)[name]) for name in LOWER}
        kept |= {"center": np.where(bad[:, None], 0.0, self.center)}
        kept |= {"radius": np.where(bad[:, None], math.inf, self.radius)}
        return replace(self, **kept, status=tuple(reasons.get(i, s) for i, s in enumerate(self.status)))

    def rows(self) -> list[dict[str, Any]]:
        """One plain table row an instance: what campaigns write."""
        found = []
        for i in range(len(self)):
            row: dict[str, Any] = {
                "number": int(self.number[i]),
                "status": self.status[i] or "certified",
                "target": self.target,
                "error": float(self.error[i]),
                "error_lower": float(self.lower[i]),
                "gap": float(self.gap[i]),
                "contrast": float(self.contrast[i]),
                "steps": int(self.steps[i]),
            }
            for q, name in enumerate(self.names):
                row[f"{name} center"], row[f"{name} radius"] = float(self.center[i, q]), float(self.radius[i, q])
                row[f"{name} value"] = float(self.value[i, q])
            found.append(row)
        return found


def joined(parts: Sequence[Population]) -> Population:
    """One population of several, in this order."""
    if not parts:
        raise InputError("populations: are none; give at least one")
    first = parts[0]
    if any(p.names != first.names for p in parts):
        raise InputError("populations: were asked for different queries; join those of one certifier")

    def stacked(name: str) -> Any:
        return np.concatenate([vars(p)[name] for p in parts])

    arrays = [name for name, what in vars(first).items() if isinstance(what, np.ndarray) and name != "cells"]
    kept = {name: stacked(name) for name in arrays}
    cells = None if any(p.cells is None for p in parts) else stacked("cells")
    status = tuple(s for p in parts for s in p.status)
    notes = tuple(dict.fromkeys(n for p in parts for n in p.notes))
    return Population(
        first.names, **kept, status=status, notes=notes, cells=cells, outputs=first.outputs, target=first.target
    )


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"
