"""What a case file means: its problem, prediction, queries and method."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError, in_words
from pinnpoint.base.files import PathLike
from pinnpoint.cases.derived import expanded, told
from pinnpoint.cases.kinds import KINDS, Setting
from pinnpoint.cases.kinds.coefficients import CoefficientFile
from pinnpoint.cases.models import open_model
from pinnpoint.cases.plain import printable
from pinnpoint.cases.queries import make_queries
from pinnpoint.cases.specs import Case
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certifiers.decided import DECIDED, TOLERANCE
from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.protocols import Certifier, Events, Step
from pinnpoint.certifiers.verb import foresee, narrowed, run, without_prediction
from pinnpoint.fem.data.coefficients import require_defined
from pinnpoint.fem.extraction import Formulas, NodeValues
from pinnpoint.io.decks.text import read_text
from pinnpoint.io.fields import read_field
from pinnpoint.io.meshes.read import read_mesh
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.models import Lift, VectorLift, load_network
from pinnpoint.systems.limits import Limit
from pinnpoint.systems.queries import Queries

if TYPE_CHECKING:
    from pinnpoint.certifiers.verb import AnyMethod
    from pinnpoint.io.decks.problems import Deck

ARGUMENTS = {
    "dofs": "mesh.dofs",
    "generate": "mesh.generate",
    "cells": "mesh.cells",
    "quadrature": "certificate.quadrature",
    "target": "certificate.target",
    "lift": "certificate.lift",
    "factory": "prediction.factory",
    "polish": "certificate.polish",
    "until": "certificate.until",
    "end": "time.end",
    "steps": "time.steps",
    "nodes": "time.nodes",
    "grade": "time.grade",
    "scheme": "time.scheme",
    "damped": "time.damped",
}
"""What arguments are called in a case file, beside those of its kind of problem."""
SILENT = Events()


@dataclass(frozen=True, eq=False)
class Study:
    """A case with everything it names made."""

    case: Case
    problem: Any
    prediction: Any
    queries: Queries
    method: AnyMethod
    deck: Deck | None = None

    __repr__ = brief

    def certify(self, events: Events = SILENT) -> Result:
        """Certify, on finer meshes where a tolerance of the continuous target asks for it."""
        spec = self.case.certificate
        with in_words(arguments_of(self.case)):
            refines = spec.target == "continuous" and (spec.until == DECIDED or np.any(np.isfinite(self.limits)))
            result = self._refined(events) if refines else self._as_it_is(events)
            result = result.compared() if spec.lift else result
            return replace(result, certificate=result.certificate.judged(self.accept, self.limit))

    def _as_it_is(self, events: Events) -> Result:
        spec = self.case.certificate
        certificate, certifier = run(
            self.method,
            self.problem,
            self.prediction,
            self.queries,
            target=spec.target,
            prepared=events.prepared,
            budget=spec.budget,
        )
        return Result(self, certificate, certifier)

    def _refined(self, events: Events) -> Result:
        spec = self.case.certificate
        from pinnpoint.certifiers.tolerance import MAX_DOFS, certify_to

        best = certify_to(
            self.problem,
            self.prediction,
            self.queries,
            self.limits,
            self.method,
            until=spec.until or TOLERANCE,
            accept=self.accept,
            limit=self.limit,
            max_dofs=MAX_DOFS if spec.max_dofs is None else spec.max_dofs,
            report=events.refined,
            budget=spec.budget,
        )
        study = replace(self, problem=best.problem, prediction=best.prediction, queries=best.queries)
        return Result(study, best.certificate, best.certifier, best.history, best.stopped)

    def storing(self, green: Path | None) -> Study:
        """With Green vectors that are computed straight into a file, where one is named."""
        if green is None or not isinstance(self.method, Exact):
            return self
        return replace(self, method=replace(self.method, file=green))

    @property
    def limits(self) -> Vector:
        """How narrow the proof of each query must be, its own tolerance or the case's; infinite where there is none."""
        case = self.case
        return _each(case.certificate.tolerance, [query.tolerance for query in case.queries])

    @property
    def accept(self) -> Vector:
        """How wrong the prediction may be at each query, its own limit or the case's; infinite where there is none."""
        case = self.case
        return _each(case.certificate.accept, [query.accept for query in case.queries])

    @property
    def limit(self) -> list[Limit | None] | None:
        """Where the true value of each query must lie, None where it may lie anywhere; None where nothing is asked."""
        each = [query.limit for query in self.case.queries]
        return each if any(one is not None for one in each) else None


def _each(common: float | None, own: Sequence[float | None]) -> Vector:
    """Of each query its own limit, or the common one; infinite where there is neither."""
    limits = [common if limit is None else limit for limit in own]
    return np.array([np.inf if limit is None else limit for limit in limits])


@dataclass(frozen=True, eq=False)
class Result:
    """A certified study, on the mesh where it ended.

    Attributes
    ----------
    history
        The meshes on the way to a tolerance.
    stopped
        Why refinement ended before the tolerance was met; empty where it was.
    """

    study: Study
    certificate: Certificate
    certifier: Certifier
    history: tuple[Step, ...] = ()
    stopped: str = ""

    __repr__ = brief

    def compared(self) -> Result:
        """With the factor by which a lifted prediction narrows the proof, against none on the same mesh."""
        base, asked = self.study.problem.unlifted, self.study.queries
        queries, budget = base.ask(asked.goals, asked.names), self.study.case.certificate.budget
        plain = without_prediction(self.study.method, base, queries, budget)
        return replace(self, certificate=narrowed(self.certificate, plain))


def arguments_of(case: Case) -> dict[str, str]:
    """What the case's file calls the arguments of everything that it names, by the word that it uses of two."""
    used = {word: case.words.get(word, word) for word in case.kind.words}
    both = {name: f"problem.{used[word]}" for word, other in case.kind.words.items() for name in (word, other)}
    return ARGUMENTS | case.kind.arguments | both


def open_mesh(case: Case) -> Mesh:
    """The mesh of a case, from a file or generated."""
    if case.mesh is None:
        return _read_deck(str(case.problem.deck)).mesh
    if case.mesh.file is not None:
        return read_mesh(case.mesh.file, straight=bool(case.mesh.straight))
    with in_words(arguments_of(case)):
        return generate(str(case.mesh.generate), case.mesh.cells, dofs=case.mesh.dofs)


def build(case: Case, events: Events = SILENT, *, trust: bool = False) -> Study:
    """Make everything that a case names; refuses what does not fit the mesh.

    With `trust` the prediction may be a file that runs code when it is opened, or a factory in a module beside the
    case.
    """
    _require_sense(case)
    events.stage("reading the deck" if case.problem.deck else "reading the mesh")
    deck = None if case.problem.deck is None else _read_deck(case.problem.deck)
    mesh = open_mesh(case) if deck is None else deck.mesh
    events.meshed(mesh)
    events.stage(f"assembling {len(mesh.cells)} cells")
    problem = make_problem(case, mesh) if deck is None else deck_problem(case, deck)
    case = expanded(_of_degree(case, problem.degree), mesh.dim)
    events.stage("reading the prediction")
    prediction = open_prediction(case, problem, trust=trust)
    if deck is not None and case.prediction.source == "file" and isinstance(prediction, np.ndarray):
        prediction = deck.in_order(prediction)
    events.stage("locating the queries")
    queries = make_queries(case, problem)
    if case.certificate.lift:
        with in_words(arguments_of(case)):
            lift, spec = smooth_prediction(case, problem.components), case.certificate.lift
            problem = problem.lifted(foresee(make_method(case), problem, lift, queries, spec, events.stage))
    return Study(told(case, queries), problem, prediction, queries, make_method(case), deck)


def _of_degree(case: Case, degree: int) -> Case:
    """The case with the degree of its problem, which a deck decides."""
    if case.problem.degree == degree or case.problem.deck is None:
        return case
    said = {**case.resolved, "problem": {**case.resolved["problem"], "degree": degree}}
    return replace(case, problem=replace(case.problem, degree=degree), resolved=said)


def _require_sense(case: Case) -> None:
    """Refuse what does not go together, before anything is read."""
    if case.certificate.lift and (case.certificate.target != "continuous" or not case.kind.lifts):
        fitting = " or ".join(f"'{kind.name}'" for kind in KINDS.values() if kind.lifts)
        raise InputError(f"certificate.lift: is for the continuous target of kind = {fitting}; remove it")
    if case.certificate.budget is not None and case.certificate.target == "discrete":
        raise InputError("certificate.budget: is for target = 'continuous'; remove it")
    if case.certificate.tolerance is not None and case.certificate.target == "discrete":
        raise InputError(
            "certificate.tolerance: refines the mesh until the radius for the PDE's own solution is below it; say "
            "target = 'continuous', or give each query a tolerance of its own to be told which are wider"
        )
    if case.certificate.until == DECIDED:
        if case.certificate.target == "discrete":
            raise InputError("certificate.until: refines for the PDE's own solution; say target = 'continuous'")
        asked = [case.certificate.accept, *(x for query in case.queries for x in (query.accept, query.limit))]
        if all(x is None for x in asked):
            raise InputError("certificate.until: 'decided' needs something to decide; give accept, or limit")
    if case.certificate.target not in case.kind.targets:
        raise InputError(
            f"certificate.target: no proved transfer to the continuous solution is available for {case.kind.name}; say "
            "target = 'discrete' to certify the solution of the discrete system"
        )


def make_problem(case: Case, mesh: Mesh) -> Any:
    """The assembled finite-element problem."""
    with in_words(arguments_of(case)):
        certificate = case.certificate
        setting = Setting(certificate.quadrature, case.words, case.geometry, case.time)
        problem = case.kind.build(case.problem, mesh, setting)
        if certificate.target == "continuous":
            problem.require_transfer()
        return problem


def _read_deck(path: PathLike) -> Deck:
    """The deck, with all that decks need."""
    from pinnpoint.io.decks.problems import read_deck

    return read_deck(path)


def deck_problem(case: Case, deck: Deck) -> Any:
    """The problem of a deck's subcase; a prediction that is a file lists nodes in order of increasing id."""
    number = int(case.problem.subcase or 1)
    if number not in deck.subcases:
        known = ", ".join(str(k) for k in deck.subcases)
        raise InputError(f"problem.subcase: the deck has no subcase {number}; it has {known}")
    with in_words(arguments_of(case)):
        return deck.solid(number) if case.certificate.target == "continuous" else deck.problem(number)


def open_prediction(case: Case, problem: Any, *, trust: bool = False) -> Any:
    """Nodal values, values at points, or a callable."""
    spec, mesh, count = case.prediction, problem.mesh, problem.components
    if spec.source == "zero":
        return problem.space.U0.copy()
    if spec.source == "file":
        field = read_field(spec.file, spec.field)  # type: ignore[arg-type]
        values = _components(np.asarray(field.values), mesh.dim, count)
        return values if field.points is None else NodeValues(field.points, values)
    if spec.source == "expression":
        given = spec.expression if isinstance(spec.expression, tuple) else (spec.expression,) * count
        if len(given) != count:
            raise InputError(f"prediction.expression: must have {count} components; got {len(given)}")
        if case.kind.moves:
            return problem.prediction(given[0])
        return Formulas(given)  # type: ignore[arg-type]
    if not case.kind.moves:
        require_defined("prediction.factor", spec.factor, mesh.points[mesh.cells])
    with in_words(arguments_of(case)):
        return open_model(case, lambda: smooth_prediction(case, count).value, trust=trust)


def smooth_prediction(case: Case, count: int) -> Lift | VectorLift:
    """The prediction of so many components with its derivatives: a network by its weights, or formulas."""
    spec, lift = case.prediction, Lift if count == 1 else VectorLift
    if spec.source == "expression":
        given = spec.expression if isinstance(spec.expression, tuple) else (spec.expression,) * count
        if len(given) == count:
            return Lift(given[0]) if count == 1 else VectorLift(given)
    if spec.source == "onnx":
        return lift(load_network(spec.onnx), spec.factor)  # type: ignore[arg-type]
    if spec.source == "torch" and spec.activation is not None:
        return lift(load_network(spec.torch, spec.activation), spec.factor)  # type: ignore[arg-type]
    if spec.source == "torch":
        raise InputError(
            "prediction.factory: the lift needs the network's layers; say prediction.activation, e.g. 'tanh', for a "
            "plain chain of them"
        )
    raise InputError(
        "certificate.lift: needs a prediction with known derivatives, a formula or a network; "
        f"prediction.{spec.source} has none"
    )


def _components(values: Vector, dim: int, count: int) -> Vector:
    """Cut a viewer's third zero component of two-dimensional vectors."""
    if values.ndim == 2 and count == dim == 2 and values.shape[1] == 3 and not np.any(values[:, 2]):
        return values[:, :2]
    return values


def make_method(case: Case) -> AnyMethod:
    """The method with its options."""
    spec = case.certificate
    options = dict(spec.options or {})
    if spec.method == "localized" and "radius" not in options:
        raise InputError("certificate.radius: the localized method needs one")
    return method_named(spec.method)(rounding=spec.rounding, **options)


def method_named(name: str) -> Callable[..., AnyMethod]:
    """A method by its name in case files; only this one is loaded."""
    if name == "exact":
        return Exact
    if name == "norm":
        from pinnpoint.certifiers.norm import Norm

        return Norm
    if name == "inexact":
        from pinnpoint.certifiers.inexact import Inexact

        return Inexact
    if name == "localized":
        from pinnpoint.certifiers.localized import Localized

        return Localized
    if name == "randomized":
        from pinnpoint.certifiers.randomized import Randomized

        return Randomized
    if name == "root":
        from pinnpoint.certifiers.nonlinear.root import Root

        return Root
    from pinnpoint.certifiers.nonlinear.stationary import Stationary

    return Stationary


def provenance(case: Case) -> dict[str, Any]:
    """SHA-256 of every file that the case reads, and of the case itself, with what was set over it."""
    files = {"case": case.path}
    if case.mesh is not None and case.mesh.file is not None:
        files["mesh"] = case.mesh.file
    if case.problem.deck is not None:
        files["deck"] = case.problem.deck
    for path in (case.prediction.file, case.prediction.onnx, case.prediction.torch, case.prediction.model):
        if path is not None:
            files["prediction"] = path
    files |= {word: given.file for word, given in vars(case.problem).items() if isinstance(given, CoefficientFile)}
    found: dict[str, Any] = {
        name: {"file": printable(path.name), "sha256": _sha256(path)} for name, path in files.items()
    }
    if case.problem.deck is not None and (text := read_text(case.problem.deck)).origin is not None:
        found["deck"]["with_included_sha256"] = hashlib.sha256(text.data).hexdigest()
    if case.overrides:
        found["case"]["set"] = list(case.overrides)
    if case.mesh is not None and case.mesh.generate is not None:
        found["mesh"] = {"generate": case.mesh.generate, "cells": case.mesh.cells}
        if case.mesh.dofs is not None:
            found["mesh"]["dofs"] = case.mesh.dofs
    return found


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
