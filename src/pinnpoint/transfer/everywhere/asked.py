"""What is asked beside linear functionals: the largest error, norms of the error, extreme values of the solution."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.extremes import Extremes, Found
from pinnpoint.rounding.arithmetic import up
from pinnpoint.systems.goals import EnergyError, Everywhere, Goal, L2Error, Maximum, Minimum, extreme_queries
from pinnpoint.systems.queries import Queries
from pinnpoint.transfer.everywhere.lengths import energy_length, is_plain, mean_length
from pinnpoint.transfer.everywhere.ranges import largest_value
from pinnpoint.transfer.everywhere.setting import Setting
from pinnpoint.transfer.everywhere.suprema import BAND, CHECKED, Suprema, smallest

BY_NODES = (
    "over the domain the prediction is judged by the finite-element function with its values at the nodes: what it "
    "does between them is not seen"
)


@dataclass(frozen=True, eq=False)
class Asked(Extremes):
    """What one solve says about norms of errors and extreme values.

    Attributes
    ----------
    goals, names
        By the numbers of the queries; the largest error is left to `suprema`.
    cells
        Numbers of the cells of groups that are asked for.
    """

    setting: Setting
    mismatch: tuple[float, bool]
    lifted: bool
    suprema: Suprema
    goals: Mapping[int, Goal]
    names: Mapping[int, str]
    cells: Mapping[str, Index]

    __repr__ = brief

    @property
    def places(self) -> tuple[int, ...]:
        """Queries at points at which the largest error is at least what they prove."""
        return self.suprema.places

    @property
    def note(self) -> str:
        """What the largest error is that of, and extreme values and norms."""
        if self.suprema.rows:
            return self.suprema.note
        return ("" if self.lifted else BY_NODES) + self.suprema.unknown

    def found(self, given: Vector) -> Mapping[int, Found]:
        """The intervals by the queries' numbers."""
        v, known = None if self.lifted else given, dict(self.suprema.found(given)) if self.suprema.rows else {}
        for i, goal in self.goals.items():
            if isinstance(goal, L2Error):
                known[i] = mean_length(self.setting, self.mismatch, v, self.names[i])
            elif isinstance(goal, EnergyError):
                known[i] = energy_length(self.setting, self.mismatch, v, self.names[i])
            elif isinstance(goal, Maximum | Minimum):
                own = given[self.setting.model.own_nodes[self._cells(goal)]]
                top = np.max(own) if isinstance(goal, Maximum) else np.min(own)
                known[i] = replace(self.values[i], value=float(top))
        return known

    @cached_property
    def values(self) -> Mapping[int, Found]:
        """Intervals of the solution's own extreme values, whatever the prediction."""
        asked = {i: goal for i, goal in self.goals.items() if isinstance(goal, Maximum | Minimum)}
        return {i: self._value(goal, self.names[i]) for i, goal in asked.items()}

    def _cells(self, goal: Maximum | Minimum) -> Index:
        return np.arange(len(self.setting.model.kappa)) if goal.cells is None else self.cells[goal.cells]

    def _value(self, goal: Maximum | Minimum, name: str) -> Found:
        """The interval of the solution's own largest or smallest value."""
        known = [e for e in self.suprema.errors if e.route in CHECKED or not goal.checked]
        error, _, sure = smallest(known, len(self.setting.model.kappa))
        sign = 1.0 if isinstance(goal, Maximum) else -1.0
        whole = np.asarray(up(error + self.mismatch[0]))
        found = largest_value(self.setting, whole, self.mismatch, self._cells(goal), sign, alone=goal.checked)
        if not (math.isfinite(found.lower) and math.isfinite(found.upper)):
            raise InputError(
                f"query '{name}': no bound that holds on all of these cells is proved for these boundary conditions; "
                "ask for points, or fix values there"
            )
        again = goal.checked and goal.cells is None and found.proved and sure and is_plain(self.setting.model)
        local = next((dict(e.numbers) for e in known if e.route == BAND), None)
        return replace(found, proved=found.proved and sure, rechecked=again, numbers={"local": local})


def asked_for(
    setting: Setting,
    mismatch: tuple[float, bool],
    queries: Queries,
    cells_of: Callable[[str], Index],
    *,
    lifted: bool,
) -> Extremes:
    """What is known of the extremes among queries."""
    rows = extreme_queries(queries.goals)
    others = {i: queries.goals[i] for i in rows if not isinstance(queries.goals[i], Everywhere)}
    names = {i: queries.names[i] for i in others}
    for i, goal in others.items():
        if lifted and isinstance(goal, Maximum | Minimum):
            raise InputError(
                f"query '{names[i]}': extreme values are those of the whole solution; leave lift out, or ask for "
                "everywhere"
            )
    setting = replace(setting, thorough=thorough(queries.goals))
    pointwise = any(isinstance(queries.goals[i], Everywhere | Maximum | Minimum) for i in rows)
    suprema = (
        Suprema.of(setting, mismatch, queries, lifted=lifted) if pointwise else _nothing(setting, mismatch, lifted)
    )
    if not others:
        return suprema
    groups = {goal.cells for goal in others.values() if isinstance(goal, Maximum | Minimum) and goal.cells is not None}
    goals = {i: goal for i, goal in others.items() if goal is not None}
    return Asked(setting, mismatch, lifted, suprema, goals, names, {group: cells_of(group) for group in groups})


def _nothing(setting: Setting, mismatch: tuple[float, bool], lifted: bool) -> Suprema:
    return Suprema(setting.model, (), (), lifted, setting.side.nodal, mismatch, ())


def thorough(goals: Sequence[Goal | None]) -> bool:
    """Whether the mesh constant may cost whatever it takes: where it was said so, and where nothing else will do."""
    said = (g for g in goals if isinstance(g, Everywhere | Maximum | Minimum))
    return any(g.thorough for g in said) or any(isinstance(g, L2Error) for g in goals)
