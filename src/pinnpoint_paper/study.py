"""What a study is: parts computed one by one, checks on their numbers, rows beside the paper's, and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.brief import brief

Part = Callable[[], dict[str, Any]]
Results = Mapping[str, Any]
"""Numbers of the parts, by the parts' names, as they stand in the JSON file."""


@dataclass(frozen=True)
class Check:
    """One claim, whether our numbers bear it out, and the numbers."""

    claim: str
    holds: bool | np.bool_
    seen: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "holds", bool(self.holds))


@dataclass(frozen=True)
class Row:
    """One quantity of ours; `paper` is the name of the paper's number or statement it stands beside.

    `note` says what differs and why.
    """

    quantity: str
    ours: str
    paper: str = ""
    note: str = ""


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure, its file name without ending, and its caption."""

    name: str
    figure: Any
    caption: str


@dataclass(frozen=True, eq=False)
class Study:
    """An experiment.

    Parameters
    ----------
    name, title, about
        For the command line, headings, and one paragraph on what is done.
    where
        The place in the paper: section and label.
    claims
        Rows of the paper's experiment map that this study answers for.
    parts
        From "quick" or "full" to named functions without arguments; each returns plain numbers for JSON.
    checks, rows, draw
        From the numbers of all parts.
    subject
        Data of the user's that it is on, where that is so; results on other data are not resumed.
    """

    name: str
    title: str
    about: str
    where: str
    parts: Callable[[str], dict[str, Part]]
    checks: Callable[[Results], list[Check]]
    rows: Callable[[Results], list[Row]]
    draw: Callable[[Results], list[Drawing]]
    claims: tuple[str, ...] = ()
    subject: str = ""

    __repr__ = brief


def having(results: Results, prefix: str) -> list[Any]:
    """The parts whose names start with `prefix`, in order."""
    return [part for key, part in results.items() if key.startswith(prefix)]


def slope(h: Any, y: Any) -> float:
    """The exponent p of a least-squares fit y ≈ C hᵖ."""
    return float(np.polyfit(np.log(np.asarray(h)), np.log(np.asarray(y)), 1)[0])


def tell(x: float, digits: int = 3) -> str:
    """A number for people."""
    return f"{x:.{digits}g}"


def ranged(values: Any, digits: int = 3) -> str:
    """Smallest to largest."""
    a = np.asarray(values, dtype=float)
    return f"{tell(float(a.min()), digits)} to {tell(float(a.max()), digits)}"
