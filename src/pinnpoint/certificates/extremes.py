"""Queries that are no linear functionals, such as the largest error over the domain: intervals from bounds on cells.

A transfer knows bounds on cells that do not depend on the prediction; with a prediction they become an interval. Until
then such a query is unbounded, so that nobody takes an interval of one prediction for that of another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief


@dataclass(frozen=True, eq=False)
class Found:
    """An interval of an extreme value.

    Attributes
    ----------
    lower, upper
        Its ends.
    value
        The prediction's own.
    route
        Which bound it is, in words.
    proved
        False where an ingredient is an estimate.
    band
        For the largest error: a bound of it on each cell.
    rechecked
        Whether the checker of bundles proves it again.
    numbers
        What the checker needs for that.
    """

    lower: float
    upper: float
    value: float
    route: str
    proved: bool
    band: Vector | None = None
    rechecked: bool = False
    numbers: Mapping[str, Any] = field(default_factory=dict)

    __repr__ = brief


class Extremes(ABC):
    """What is known of extreme values, whatever the prediction."""

    @abstractmethod
    def found(self, given: Vector) -> Mapping[int, Found]:
        """The intervals of the queries that ask for extremes, by their numbers.

        Parameters
        ----------
        given
            The prediction's values at the nodes; a lift has its own.
        """

    @property
    @abstractmethod
    def places(self) -> tuple[int, ...]:
        """Queries at points at which the largest error is at least what they prove."""

    @property
    @abstractmethod
    def note(self) -> str:
        """What the largest error is that of."""
