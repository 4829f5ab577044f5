"""The texts of a bundle: what was certified, and what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.brief import brief
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Guarantee
from pinnpoint.certificates.json import identified
from pinnpoint.certifiers.protocols import Problem
from pinnpoint.fem.curved.bent import Carried
from pinnpoint.fem.data.coefficients import split
from pinnpoint.fem.elastic.elastic_queries import ElasticQueries
from pinnpoint.fem.elastic.loads import Load
from pinnpoint.fem.lifts.lifted import AbstractLifted
from pinnpoint.fem.problem import FiniteElements
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.fem.semilinear import Semilinear
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.bent.shapes import said as curve
from pinnpoint.outputs.bundle.curved import bending_of
from pinnpoint.systems.derived import said as derived_row
from pinnpoint.systems.goals import (
    ERRORS,
    Ball,
    Block,
    Cells,
    CellStrain,
    CellStress,
    CellStressAlong,
    Compliance,
    Extreme,
    Flux,
    Gaussian,
    Goal,
    Maximum,
    Minimum,
    Patch,
    Point,
    Reaction,
    Slope,
    Strain,
    Stress,
)
from pinnpoint.systems.queries import Queries

AXES = ("x", "y", "z")
FOLLOWED = {"sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "atan"}
"""Functions that the checker has models of."""
KINDS: dict[type, str] = {
    Point: "point",
    Ball: "ball",
    Patch: "patch",
    Flux: "flux",
    Block: "cells",
    Slope: "gradient",
    Cells: "cells",
    Strain: "strain",
    Stress: "stress",
    CellStrain: "strain",
    CellStress: "stress",
    CellStressAlong: "stress",
    Reaction: "reaction",
    Compliance: "compliance",
    **ERRORS,
    Maximum: "maximum",
    Minimum: "minimum",
}


@dataclass(frozen=True, eq=False)
class Document:
    """The content of certificate.json and case.json; None where it is made from the certificate."""

    certificate: Mapping[str, Any] | None = None
    case: Mapping[str, Any] | None = None
    of: str = ""
    """The id of the certificate that a shorter one, which the checker can follow, is made from."""

    __repr__ = brief

    def complete(self, certificate: Certificate, problem: Any, queries: Queries, options: Any) -> Document:
        """With both."""
        data = _certificate(certificate, queries) if self.certificate is None else self.certificate
        data = identified({**data, "of": self.of}) if self.of else data
        return Document(data, _case(certificate, problem, data, queries, options) if self.case is None else self.case)


def text(given: Any) -> Any:
    """What the case says; None for what is no formula, such as the residual of a network."""
    if isinstance(given, Expression):
        return given.text.strip() if given.constant is None else given.constant
    if isinstance(given, Carried):  # by the map of a curved domain: what was given there
        return text(given.given)
    if isinstance(given, Mapping):  # by groups
        return {group: text(part) for group, part in given.items()}
    return None if callable(given) else float(given)


def given_data(problem: Any) -> Mapping[str, Any]:
    """Data of a problem as they were given; a lifted problem's are those of its base."""
    base, own = problem.base if isinstance(problem, AbstractLifted) else problem, bending_of(problem)
    if own is not None:
        empty = {word for word in ("robin", "convection", "periodic", "geometry") if not own.given.get(word)}
        return {word: what for word, what in own.given.items() if word not in empty | {"geometry"}}
    return base.given if isinstance(base, FiniteElements) else {}


def _uncheckable(problem: Any) -> str:
    """What conditions have no witnesses for the checker."""
    given = given_data(problem)
    words = [text(pair[0]) for pair in given.get("robin", {}).values()]
    if None in words:
        return "problem: of Robin groups the checker knows numbers and formulas as coefficients"
    return ""


def wordless(certificate: Certificate, problem: Any) -> str:
    """Why data that encloses itself but is no formula cannot be re-checked; empty where there is none."""
    against = _uncheckable(problem)
    if against:
        return against
    if certificate.target != "continuous" or certificate.guarantee is Guarantee.ESTIMATE:
        return ""
    given = given_data(problem)
    values = {"robin": {group: pair[1] for group, pair in given.get("robin", {}).items()}}
    for key in ("source", "dirichlet", "neumann", "robin"):
        data = values[key] if key in values else given.get(key, 0.0)
        for one in data.values() if isinstance(data, Mapping) else [data]:
            if text(one) is None:
                return (
                    f"problem: its {key} is a function, and the checker has no formula to compare with; give a "
                    "formula, or a plain function, which makes the result an estimate"
                )
    return ""


def _certificate(certificate: Certificate, queries: Queries) -> dict[str, Any]:
    data = certificate.to_dict()
    goals = queries.goals or (None,) * len(queries)
    for row, goal in zip(data["queries"], goals, strict=True):
        row.pop("at", None)
        row |= said(goal)
    return identified(data)


def said(goal: Goal | None) -> dict[str, Any]:
    """A goal as certificates have it; rows of coefficients are just functionals, and cells without a name numbers."""
    if goal is None:
        return {"kind": "functional"}
    row: dict[str, Any] = {"kind": KINDS[type(goal)].replace("ball", "average")}
    if isinstance(goal, Point | Ball | Block | Slope | Strain | Stress):
        row["at"] = [float(x) for x in goal.at]
    if isinstance(goal, Ball):
        row["ball"] = float(goal.radius)
    if isinstance(goal, Block):
        return row | {"side": float(goal.side)}
    if isinstance(goal, Slope):
        return row | {"kind": "flux" if goal.flux else "gradient", "component": AXES[goal.axis]}
    if isinstance(goal, Patch | Flux | Reaction):
        row["group"] = goal.group
    if isinstance(goal, Cells | CellStrain | CellStress):
        row |= {"kind": "mean"} if goal.cells is None else {"group": _group(goal.cells)}
    if isinstance(goal, Strain | Stress | CellStrain | CellStress):
        return row | {"component": AXES[goal.i] + AXES[goal.j]}
    if isinstance(goal, CellStressAlong):
        return row | {"group": _group(goal.cells), "component": list(goal.along)}
    if isinstance(goal, Maximum | Minimum) and goal.cells is not None:
        row["group"] = goal.cells
    given = None if isinstance(goal, Flux | Compliance | Extreme | Gaussian) else goal.component
    if given is None:
        return row
    return row | {
        "component": AXES[given] if isinstance(given, int) else list(given) if isinstance(given, tuple) else given
    }


def _group(cells: Any) -> Any:
    """A name, or the numbers of cells in ascending order."""
    return sorted(cells) if isinstance(cells, tuple) else cells


def _elastic(problem: ElasticQueries) -> dict[str, Any]:
    """An elastic problem's data in the words of a case."""

    def texts(given: Any) -> Any:
        if isinstance(given, list | tuple | np.ndarray):
            return [texts(g) for g in given]
        return given if given is None or isinstance(given, str) else text(given)

    given, made = problem.given, problem.conditions
    data: dict[str, Any] = {"kind": "elasticity", "plane": given["plane"]}
    if problem.weights is None:
        body = split("body", 0.0 if given["body"] is None else given["body"], problem.mesh.dim)
        data["body"] = [0.0 if f is None else text(f) for f in body]
    else:
        by = given["body"]
        data["body"] = {g: [float(x) for x in row] for g, row in by.items()} if isinstance(by, Mapping) else None
    if problem.thermal is not None:
        theta, alpha = problem.thermal.temperature, given["expansion"]
        data["temperature"] = None if isinstance(theta, np.ndarray) else text(theta)
        table = isinstance(alpha, Mapping)
        data["expansion"] = {g: float(v) for g, v in alpha.items()} if table else [] if np.ndim(alpha) else float(alpha)
    for word, key in (("dirichlet", "fixed"), ("neumann", "traction")):
        data[word] = {group: texts(what) for group, what in made[key].items()}
    data["force"] = {
        group: {"force": texts(total), "even": True}
        for group, total in made["force"].items()
        if not isinstance(total, Load)
    }
    for word in ("young", "poisson"):
        x = given[word]
        by_cell = isinstance(x, np.ndarray | list | tuple) and np.ndim(x) > 0
        data[word] = {k: float(v) for k, v in x.items()} if isinstance(x, Mapping) else None if by_cell else float(x)
    return data


def _coefficients(problem: Any) -> dict[str, Any]:
    """A, b and c, where they have words: numbers, formulas and matrices of these, by groups too."""

    def texts(given: Any) -> Any:
        if isinstance(given, Mapping):
            return {group: texts(what) for group, what in given.items()}
        if np.ndim(given):
            return [texts(x) for x in given]
        return given if isinstance(given, str) else text(given)

    base = problem.base if isinstance(problem, AbstractLifted) else problem
    base = base.linear if isinstance(base, Semilinear) else base
    if not isinstance(base, ReactionDiffusion):
        return {}
    found: dict[str, Any] = {}
    for word in ("diffusion", "convection", "reaction"):
        given = given_data(base).get(word)
        by_cell = isinstance(given, np.ndarray) and word != "convection" and given.ndim in (1, 3)
        if given is not None:
            found[word] = None if by_cell else texts(given)
    return found


def _case(
    certificate: Certificate, problem: Any, said: Mapping[str, Any], queries: Queries, options: Any
) -> dict[str, Any]:
    """What was asked in Python, as far as it can be said."""
    given, system = given_data(problem), problem.system if isinstance(problem, Problem) else problem
    data: dict[str, Any] = {"source": text(given["source"]) if "source" in given else None}
    for key in ("dirichlet", "neumann"):
        if isinstance(problem, Problem) and problem.components == 1 and key in given:
            data[key] = {group: text(value) for group, value in given[key].items()}
    data |= _coefficients(problem)
    if "robin" in given:
        data["robin"] = {group: [text(what) for what in pair] for group, pair in given["robin"].items()}
    if "periodic" in given:
        data["periodic"] = dict(given["periodic"])
    if isinstance(problem, Semilinear) and problem.g is not None:
        data["g"] = text(problem.g.g)
    elif isinstance(problem, Semilinear) and problem.cubic is not None:
        data["cubic"] = None if np.ptp(problem.cubic) else float(problem.cubic[0])
    base = problem.base if isinstance(problem, AbstractLifted) else problem
    curves = base.bending if isinstance(base, ElasticQueries) else bending_of(problem)
    if certificate.target == "continuous" and isinstance(base, ElasticQueries):
        data = _elastic(base)
    words = {"name": "name", "kind": "kind", "at": "at", "ball": "radius", "group": "group", "component": "component"}
    words |= {"side": "side", "accept": "accept", "limit": "limit"}
    asked = [{words[k]: row[k] for k in words if k in row} for row in said["queries"]]
    polish = certificate.evidence.polish
    known = {**({"polish": polish} if polish else {}), **(options or {})}
    sigma = any(claim.claim.startswith("σ̄ ") for claim in certificate.assumptions)
    notes = {
        "queries": [note for note in queries.notes if not note.startswith("ball averages ")],
        "space": list(system.space.notes),
    }
    return {
        "title": said["title"],
        "units": said["units"],
        "problem": data,
        **({} if curves is None else {"geometry": {group: curve(shape) for group, shape in curves.geometry.items()}}),
        "queries": asked,
        **({"derived": [derived_row(one) for one in certificate.derivations]} if certificate.derivations else {}),
        "notes": notes,
        "certificate": {
            "method": certificate.method,
            "target": certificate.target,
            "rounding": certificate.rounding == "covered",
            "lift": isinstance(problem, AbstractLifted),
            **({"weighted": True} if system.weight is not None else {}),
            "options": {**known, **({"sigma": "given"} if sigma else {})},
        },
    }
