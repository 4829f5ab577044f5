"""What a case asks of its problem: its queries, in its order, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cases.derived import quantities
from pinnpoint.cases.specs import Case, QuerySpec
from pinnpoint.fem.parabolic.asking import MovingQueries
from pinnpoint.systems.derived import VON_MISES, Derived
from pinnpoint.systems.queries import Queries


def make_queries(case: Case, problem: Any) -> Queries:
    """All queries of a case as one list, in its order, with what follows from them."""
    runs = groupby(case.queries, lambda spec: (spec.kind == "point", spec.component))
    parts = [part for _, run in runs for part in _run(list(run), problem)]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined + part
    return joined.deriving(_derived(case, problem)) if case.derived else joined


def _run(specs: list[QuerySpec], problem: Any) -> list[Queries]:
    """Queries that follow each other; points are located together."""
    if len(specs) > 1 and specs[0].kind == "point":
        component = {} if problem.components == 1 else {"component": specs[0].component}
        try:
            names = [spec.name for spec in specs]
            return [problem.points([spec.at for spec in specs], **component, **when(specs, problem), names=names)]
        except InputError:
            pass  # one of them is refused: by itself it is named
    return [_query(spec, problem) for spec in specs]


def when(specs: Sequence[QuerySpec], problem: Any) -> dict[str, Any]:
    """The times that queries are about, where the solution moves; the end where none is said."""
    if not isinstance(problem, MovingQueries):
        return {}
    moments = {"time": [problem.grid.end if spec.time is None else spec.time for spec in specs]}
    since = [spec.since for spec in specs if spec.since is not None]
    return moments | ({"since": since} if since else {})


def _query(spec: QuerySpec, problem: Any) -> Queries:
    label = f"query '{spec.name}'"
    component = {} if problem.components == 1 else {"component": spec.component}
    if problem.components > 1 and spec.component is None and spec.kind != "compliance":
        words = "two axes such as 'xy'" if spec.kind in ("stress", "strain") else "'x', 'y' or 'z'"
        raise InputError(f"{label}: needs a component, {words}")
    named, block = {"name": spec.name}, {} if spec.side is None else {"side": spec.side}
    moment = when([spec], problem)
    weight = moment | ({} if spec.spread is None else {"spread": spec.spread})

    def along(asked: Callable[..., Queries]) -> Queries:
        return asked([spec.at], spec.component, [spec.name])

    ask: dict[str, Callable[[], Queries]] = {
        "patch": lambda: problem.patch(spec.group, **component, **moment, **named),
        "flux": lambda: problem.flux(spec.group, **named) if spec.at is None else along(problem.fluxes),
        "gradient": lambda: along(problem.gradients),
        "cells": lambda: problem.cells(spec.group or [spec.at], **component, **moment, **block, **named),
        "mean": lambda: problem.mean(**component, **moment, **named),
        "reaction": lambda: problem.reaction(spec.group, **component, **named),
        "compliance": lambda: problem.compliance(**named),
        "everywhere": lambda: problem.everywhere(**named),
        "maximum": lambda: problem.maximum(spec.group, **named),
        "minimum": lambda: problem.minimum(spec.group, **named),
        "l2-error": lambda: problem.l2_error(**named),
        "energy-error": lambda: problem.energy_error(**named),
        "average": lambda: problem.averages([spec.at], spec.radius, **component, **weight, names=[spec.name]),
        "stress": lambda: problem.stress(spec.group or [spec.at], **component, names=[spec.name]),
        "strain": lambda: problem.strain(spec.group or [spec.at], **component, names=[spec.name]),
        "point": lambda: problem.points([spec.at], **component, **moment, names=[spec.name]),
    }
    try:
        if spec.at is not None and len(spec.at) != problem.mesh.dim:
            raise InputError(f"at: must have {problem.mesh.dim} coordinates; got {list(spec.at)}")
        return ask[spec.kind]()
    except InputError as error:
        raise InputError(f"{label}: {error}") from error


def _derived(case: Case, problem: Any) -> list[Derived]:
    """What follows from the queries, with Poisson's ratio where it counts."""
    derived = list[Derived]()
    for one in case.derived:
        each = quantities((one,), problem.mesh.dim)
        if one.kind == VON_MISES:
            try:
                each = [replace(each[0], poisson=problem.lateral(one.group or [one.at], 1)[0])]
            except InputError as error:
                raise InputError(f"query '{one.name}': {error}") from error
        derived += each
    return derived
