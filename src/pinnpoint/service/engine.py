"""What the service certifies with: prepared once, asked from many threads, never changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pinnpoint.base.arrays import Vector, per_query
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.cases.study import Study
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certifiers.base import AbstractMethod
from pinnpoint.certifiers.families.certifier import FamilyCertifier
from pinnpoint.certifiers.families.loads import LoadFamily
from pinnpoint.certifiers.protocols import Extraction, Prepared
from pinnpoint.certifiers.proved import Proved
from pinnpoint.certifiers.verb import run
from pinnpoint.fem.lifts.lifted import AbstractLifted
from pinnpoint.systems.derived import Derived

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
    derived
        What follows from the queries.
    """

    answer: Answer
    names: tuple[str, ...]
    target: str
    values: int
    loads: int
    dofs: int
    title: str = ""
    tolerance: Vector | None = None
    derived: tuple[Derived, ...] = ()

    __repr__ = brief


def engine_of_family(family: FamilyCertifier, title: str = "") -> Engine:
    """Every request brings its μ."""
    core = family.ground.core

    def answer(values: Vector | None, raw: Vector | None, mu: Vector | None) -> Certificate:
        if values is None:
            return family.certify(mu=mu, raw=raw)
        found = core.system.space.project(values)
        given = Extraction(found.U, found.mismatch, "nodal values", 0.0, values, by_nodes=True)
        return given.beside(family.certify(given.U, mu=mu, raw=raw), family.queries)

    size, derived = (core.system.N, len(family.F), core.system.n), family.queries.derived
    return Engine(answer, family.names, "discrete", *size, title, derived=derived)


def engine_of_case(study: Study) -> Engine:
    """A case file, built: its own load is fixed, and its prediction is only a first example.

    The interval of a linear problem, and that of a continuous target, is the same for every prediction: it is computed
    once, and each request is compared with it.
    """
    queries, target = study.queries, study.case.certificate.target
    problem = (
        study.problem.base if isinstance(study.problem, AbstractLifted) else study.problem
    )  # predictions are nodal values, lifted or not
    if target == "discrete" and isinstance(study.method, AbstractMethod):
        family = LoadFamily(problem.system, problem.b[None, :]).prepare(queries, study.method)
        one = np.ones(1)

        def answer(values: Vector | None, raw: Vector | None, mu: Vector | None) -> Certificate:
            if values is None:
                return family.certify(mu=one, raw=raw)
            given: Extraction = problem.extract(values)
            return given.beside(family.certify(given.U, mu=one, raw=raw), queries)

    elif target == "continuous":
        standing = Proved.known(problem, queries, study.certify().certificate)
        proved = standing.certificate
        if proved.evidence.extremes is not None and isinstance(study.problem, AbstractLifted):
            raise InputError(
                "lift: requests bring values at nodes, and the largest error of a lift is that of its network alone; "
                "leave lift out"
            )

        def answer(values: Vector | None, raw: Vector | None, mu: Vector | None) -> Certificate:
            if values is None:
                raw = per_query("raw", raw, len(proved))
                if proved.evidence.extremes is not None:
                    raise InputError("values: the largest error is that of a whole field; send its values at the nodes")
                return replace(proved, value=raw, raw=raw, terms=_terms(proved))
            return standing.certify(values, raw=raw)

    else:
        prepared = run(study.method, problem, study.prediction, queries, target=target)[1]

        def answer(values: Vector | None, raw: Vector | None, mu: Vector | None) -> Certificate:
            given = problem.extract(study.prediction if values is None else values)
            found = prepared.certify(given.U, raw=raw)
            return found if values is None else given.beside(found, queries)

    asked = study.limits if np.isfinite(study.limits).any() else None
    size = (problem.system.N, 0, problem.system.n)
    return Engine(answer, queries.names, target, *size, study.case.title, asked, queries.derived)


def _terms(proved: Certificate) -> dict[str, Vector]:
    """Without what belongs to the prediction that was first certified."""
    return {name: term for name, term in proved.terms.items() if name in proved.radius_terms}
