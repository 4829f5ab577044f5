"""Case files with [box]: equations on boxes, without a mesh."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError, in_words
from pinnpoint.base.files import PathLike
from pinnpoint.boxes.box import Box
from pinnpoint.boxes.equation import NAMES
from pinnpoint.cases.goals import query_table, read_limit, read_units, require_different
from pinnpoint.cases.predictions import read_prediction
from pinnpoint.cases.tables import Table
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certifiers.verb import TARGETS, certify
from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks.files import load_network
from pinnpoint.report.units import SCALAR, Units, label
from pinnpoint.systems.limits import Limit
from pinnpoint.systems.queries import Queries

COEFFICIENTS = ("sides", "boundary", "diffusion", "convection", "reaction", "source", "initial", "nonlinear")
WORDS = (*COEFFICIENTS, "dirichlet", "neumann")


@dataclass(frozen=True, eq=False)
class BoxCase:
    """A case of a box with everything it names made."""

    title: str
    units: Units
    box: Box
    prediction: Lift
    queries: Queries
    accept: Vector
    limit: list[Limit | None]
    budget: int | None
    path: Path

    __repr__ = brief

    @property
    def labels(self) -> list[str]:
        """The unit of each query's value."""
        return [label(self.units, SCALAR.solution)] * len(self.queries)

    def certify(self) -> Certificate:
        """Intervals, with the verdicts that were asked for."""
        found = certify(self.box, self.prediction, self.queries, budget=self.budget)
        return found.judged(self.accept, self.limit)


def box_of(root: Table, path: PathLike) -> BoxCase:
    """What the tables of a case file with [box] say."""
    title = root.text("title", Path(path).stem)
    units = read_units(root, SCALAR, "a box")
    with in_words({word: f"box.{word}" for word in WORDS} | {"end": "time.end"}):
        box = _box(root)
        names = box.equation.variables
        lift = _prediction(root.table("prediction", required=True), names)
        certificate = root.table("certificate")
        budget, accept = (
            certificate.whole("budget", None, low=1, high=10**9),
            certificate.number("accept", None, "positive"),
        )
        common = read_limit(certificate)
        if certificate.choice("target", TARGETS, "continuous") == "discrete":
            raise InputError(
                "certificate.target: a box has no mesh and no discrete system, its intervals are of the PDE's own "
                "solution; say 'continuous', or leave target out"
            )
        certificate.done()
        rows = root.take("query")
        if not isinstance(rows, list) or not rows:
            raise InputError("query: give at least one [[query]], each in double brackets")
        asked = [_query(query_table(row, i, root), i, box) for i, row in enumerate(rows)]
    root.done()
    require_different([queries.names[0] for queries, _, _ in asked])
    joined = asked[0][0]
    for more, _, _ in asked[1:]:
        joined = joined + more
    wanted = [accept if own is None else own for _, own, _ in asked]
    limits = [common if own is None else own for _, _, own in asked]
    return BoxCase(
        title,
        units,
        box,
        lift,
        joined,
        np.array([np.inf if a is None else a for a in wanted]),
        limits,
        budget,
        Path(path).absolute(),
    )


def _box(root: Table) -> Box:
    table = root.table("box", required=True)
    time = root.table("time")
    sides = table.take("sides")
    if not isinstance(sides, list) or not sides or not all(isinstance(side, list) for side in sides):
        raise InputError(f"box.sides: must be a list of pairs, [[0, 1], [0, 2]]; got {str(sides)[:60]!r}")
    given: dict[str, Any] = {key: table.take(key) for key in WORDS[1:] if table.has(key)}
    table.known.extend(WORDS)
    table.done()
    end = time.number("end", None, "positive") if root.has("time") else None
    time.done()
    if isinstance(given.get("boundary"), list):
        given["boundary"] = [tuple(one) if isinstance(one, list) else one for one in given["boundary"]]
    return Box(*sides, end=end, **given)


def _prediction(table: Table, names: tuple[str, ...]) -> Lift:
    spec = read_prediction(table, names)
    table.done()
    if spec.source == "zero":
        return Lift("0", variables=names)
    if spec.source == "expression" and not isinstance(spec.expression, tuple):
        return Lift(spec.expression)
    if spec.onnx is not None:
        return Lift(load_network(spec.onnx), spec.factor, variables=names)
    if spec.torch is not None and spec.activation is not None:
        return Lift(load_network(spec.torch, spec.activation), spec.factor, variables=names)
    raise InputError(
        f"prediction.{spec.source}: a box needs derivatives, of an expression, onnx, or torch with an activation, in "
        f"{', '.join(names)}"
    )


def _query(table: Table, i: int, box: Box) -> tuple[Queries, float | None, Limit | None]:
    """One query, and what is asked of it."""
    name, kind = table.text("name", f"q{i}", 1000), table.choice("kind", ("point", "everywhere"), "point")
    accept, limit = table.number("accept", None, "positive"), read_limit(table)
    at, time = table.take("at", None), table.number("time", None)
    table.done()
    if kind == "everywhere":
        if at is not None or time is not None:
            raise InputError(f"{table.name}: the largest error has no place and no time; remove at and time")
        return box.everywhere(name), accept, limit
    if at is None:
        raise InputError(f"{table.key('at')}: is missing; give {', '.join(NAMES[: box.equation.d])}")
    with in_words({"X": table.key("at"), "time": table.key("time")}):
        return box.points([at], [name], time=time), accept, limit
