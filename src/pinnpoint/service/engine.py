"""What the service certifies with: prepared once, asked from many threads, never changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pinnpoint.base.arrays import Vector, per_query
from pinnpoint.base.brief import brief
from pinnpoint.cases.study import Study
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certifiers.base import AbstractMethod
from pinnpoint.certifiers.families.certifier import FamilyCertifier
from pinnpoint.certifiers.families.loads import LoadFamily
from pinnpoint.certifiers.protocols import Prepared
from pinnpoint.certifiers.verb import run

Answer = Callable[[Vector | None, Vector | None, Vector | None], Certificate]


@dataclass(frozen=True, eq=False)
class Engine(Prepared):
    """One prepared certifier behind a function.

    Attributes
    ----------
    answer
        From (nodal values or None, raw outputs or None, μ or None) to a certificate; at least one of the first two.
    names, target
        Of the queries.
    values
        How many numbers a state has.
    loads
        How many numbers μ has; 0 where the load is fixed.
    tolerance
        How narrow the proofs were asked to be, query by query; None where nothing was asked.
    """

    answer: Answer
    names: tuple[str, ...]
    target: str
    values: int
    loads: int
    dofs: int
    title: str = ""
    tolerance: Vector | None = None

    __repr__ = brief


def engine_of_family(family: FamilyCertifier, title: str = "") -> Engine:
    """Every request brings its μ."""

    def answer(values: Vector | None, raw: Vector | None, mu: Vector | None) -> Certificate:
        state = None if values is None else family.ground.core.system.space.project(values).U
        return family.certify(state, mu=mu, raw=raw)

    core = family.ground.core
    return Engine(answer, family.names, "discrete", core.system.N, len(family.F), core.system.n, title)


def engine_of_case(study: Study) -> Engine:
    """A case file, built: its own load is fixed, and its prediction is only a first example.

    The interval of a linear problem, and that of a continuous target, is the same for every prediction: it is computed
    once, and each request is compared with it.
    """
    queries, target = study.queries, study.case.certificate.target
    problem = getattr(study.problem, "base", study.problem)  # predictions are nodal values, lifted or not
    if target == "discrete" and isinstance(study.method, AbstractMethod):
        family = LoadFamily(problem.system, problem.b[None, :]).prepare(queries, study.method)
        one = np.ones(1)

        def answer(values: Vector | None, raw: Vector | None, mu: Vector | None) -> Certificate:
            return family.certify(None if values is None else problem.extract(values).U, mu=one, raw=raw)

    elif target == "continuous":
        proved = study.certify().certificate

        def answer(values: Vector | None, raw: Vector | None, mu: Vector | None) -> Certificate:
            raw = None if raw is None else per_query("raw", raw, len(proved))
            if values is None:
                assert raw is not None
                return replace(proved, value=raw, raw=raw, terms=_terms(proved))
            return proved.seen_at(queries, problem.extract(values).U, raw)

    else:
        prepared = run(study.method, problem, study.prediction, queries, target=target)[1]

        def answer(values: Vector | None, raw: Vector | None, mu: Vector | None) -> Certificate:
            state = problem.extract(study.prediction if values is None else values).U
            return prepared.certify(state, raw=raw)

    asked = study.limits if np.isfinite(study.limits).any() else None
    return Engine(answer, queries.names, target, problem.system.N, 0, problem.system.n, study.case.title, asked)


def _terms(proved: Certificate) -> dict[str, Vector]:
    """Without what belongs to the prediction that was first certified."""
    return {name: term for name, term in proved.terms.items() if name in proved.radius_terms}
