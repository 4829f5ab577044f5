"""Signals on a line between two ends: where they come from, exactly, with their reflections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError

MOST = 2000
"""Reflections that are followed."""


@dataclass(frozen=True)
class Strip:
    """A stretch of a path between two ends: x = turn · δ + offset while the way δ goes from start to stop."""

    sign: int
    turn: int
    offset: Fraction
    start: Fraction
    stop: Fraction

    __repr__ = brief

    @property
    def last(self) -> Fraction:
        """Where it stops."""
        return self.turn * self.stop + self.offset


@dataclass(frozen=True)
class Crossing:
    """An end that a path meets after the way δ."""

    sign: int
    upper: bool
    way: Fraction

    __repr__ = brief


@dataclass(frozen=True)
class Path:
    """From a point in one direction, for a way; `corner` says that it stops at an end, exactly."""

    strips: tuple[Strip, ...]
    crossings: tuple[Crossing, ...]
    corner: Crossing | None

    __repr__ = brief


def path(sides: tuple[float, float], ends: Sequence[str], at: float, reach: Fraction, up: bool) -> Path:
    """The path from a point upwards or downwards, reflected at the ends, with the sign −1 at a Dirichlet end."""
    low, high = map(Fraction, sides)
    here, way, sign, turn = Fraction(at), Fraction(0), 1, 1 if up else -1
    strips: list[Strip] = []
    crossings: list[Crossing] = []
    while True:
        free = high - here if turn > 0 else here - low
        stop = min(way + free, reach)
        strips.append(Strip(sign, turn, here - turn * way, way, stop))  # wave.md, step 2a
        crossing = Crossing(sign, turn > 0, way + free)
        if way + free >= reach:
            return Path(tuple(strips), tuple(crossings), crossing if way + free == reach else None)
        if len(crossings) >= MOST:
            raise InputError(f"time: signals are reflected more than {MOST} times until then; ask for an earlier time")
        crossings.append(crossing)
        sign = -sign if ends[int(turn > 0)] == "dirichlet" else sign  # wave.md, step 2b
        here, way, turn = (high if turn > 0 else low), way + free, -turn
