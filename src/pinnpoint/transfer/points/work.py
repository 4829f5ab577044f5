"""Work in units that are the same on every machine, and a budget of them for each query.

A unit is a piece of a cell that the mollifier was clipped on; a Taylor model of the data costs as much as `MODEL` of
them, one of costly data (a network's) `COSTLY`. A bound that has used up its budget is issued as it is: it is valid,
only wider than it might be.
"""

from __future__ import annotations

from dataclasses import dataclass, field

BUDGET = 400_000
"""Units for each query, and for the source on all cells; a few seconds."""
MODEL, COSTLY = 10, 50


@dataclass
class Work:
    """What a query may spend, has spent, and which parts of it would have spent more."""

    budget: int = BUDGET
    spent: int = 0
    stopped: list[str] = field(default_factory=list)

    def spend(self, units: int) -> None:
        """Count units."""
        self.spent += units  # continuous.md, step 12a

    def stop(self, part: str) -> None:
        """Take note that a part ended at its budget."""
        self.stopped.append(part)

    def models(self, *, costly: bool) -> int:
        """Models of the data that the budget allows."""
        return max(1, self.budget // (COSTLY if costly else MODEL))  # continuous.md, step 12a
