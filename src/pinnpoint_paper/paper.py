"""What the paper reports: its experiment map, its numbers and its statements, each with its place."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Reported:
    """A number or a statement of the paper."""

    says: str
    where: str
    value: float | None = None


@dataclass(frozen=True)
class MapRow:
    """One row of the paper's table of claims."""

    claim: str
    theory: str
    benchmark: str
    metric: str


@cache
def _data() -> dict[str, dict[str, dict[str, str]]]:
    text = (files("pinnpoint_paper") / "paper.json").read_text(encoding="utf-8")
    data: dict[str, dict[str, dict[str, str]]] = json.loads(text)
    return data


@cache
def reported() -> dict[str, Reported]:
    """Numbers and statements by name."""
    return {name: Reported(**what) for name, what in _data()["reported"].items()}  # type: ignore[arg-type]


@cache
def experiment_map() -> dict[str, MapRow]:
    """The paper's table "Experiment map", by short names."""
    return {name: MapRow(**what) for name, what in _data()["experiment_map"].items()}


def title() -> str:
    """How the paper is cited."""
    return str(_data()["paper"]["title"])
