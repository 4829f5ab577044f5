"""The verb: validate, prepare and certify once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Limits, Vector, number, per_query, whole
from pinnpoint.base.errors import InputError, SingularError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.settled import settled, with_errors_named
from pinnpoint.certificates.transfer import Route, Transfer
from pinnpoint.certificates.verdicts import accept_limits, value_limits
from pinnpoint.certifiers.base import AbstractCertifier, AbstractMethod
from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.protocols import Certifier, Liftable, Problem, SelfCertifying, Transferable
from pinnpoint.mesh.quality import unjoined_notes
from pinnpoint.models.given import Prediction
from pinnpoint.models.runtimes.predictor import Predictor
from pinnpoint.rounding.arithmetic import TINY, UNIT
from pinnpoint.systems.goals import Block, Cells, EnergyError, Everywhere, Gaussian, L2Error, since_of, time_of
from pinnpoint.systems.nonlinear import NonlinearSystem
from pinnpoint.systems.queries import Ball, Extreme, Patch, Queries, without_solve
from pinnpoint.systems.semilinear.base import AbstractSemilinear

if TYPE_CHECKING:  # nonlinear methods are loaded where they are asked for
    from pinnpoint.certifiers.nonlinear.base import AbstractNonlinearMethod

    AnyMethod = AbstractMethod | AbstractNonlinearMethod

log = logging.getLogger(__name__)
TARGETS = ("discrete", "continuous")
MOST_WORK = 10**9
"""The largest budget."""


def certify(
    system: Any,
    U: Prediction,
    queries: Queries,
    method: AnyMethod | None = None,
    *,
    raw: ArrayLike | None = None,
    transfer: Transfer | None = None,
    target: str | None = None,
    extraction: str = "nodal",
    lift: bool | str = False,
    accept: Limits = None,
    limit: Any = None,
    budget: int | None = None,
) -> Certificate:
    """Intervals that hold the values of the target at every query.

    For many states of one system, keep ``method.prepare(system, queries)`` and call its ``certify``.

    Parameters
    ----------
    system
        The compatible system, or a finite-element problem, which has one; or a `Box`, which needs none.
    U
        The prediction: an admissible coefficient vector (``system.space.project`` makes one). For a problem also
        nodal values, a callable on points (N, d), a torch module, a formula, or ``NodeValues`` matched by coordinates.
    queries
        What is asked.
    method
        `Exact` by default, and `Root` for nonlinear systems; see also `Norm`, `Inexact`, `Localized`, `Randomized`,
        `Stationary`.
    raw
        The model's own outputs at the queries, before projection; a callable's are computed.
    transfer
        Proved bounds from the discrete target to the continuous one, for example `Comparison`.
    target
        ``"discrete"`` or ``"continuous"``. For a problem the default is continuous: its own proved transfer, or the one
        given; where there is none it is refused, never downgraded in silence.
    extraction
        Π_h for a callable prediction of a problem: ``"nodal"``, ``"l2"`` or ``"constrained"``.
    lift
        Keep the prediction unprojected and certify what it leaves over: the radius scales with its residual. It must be
        an `MLP`, a torch module that `from_torch` reads, a formula, a number, or a `Lift`; for displacements a network
        with an output for each component, a list of formulas, or a `VectorLift`. ``details["narrowing"]`` says by which
        factor the proof is narrower than without the prediction on the same mesh. What it will cost is logged
        beforehand; a lift that takes long and whose residual, sampled, forecasts a wider proof is refused unless it is
        wanted ``"anyway"``.
    accept
        How wrong the prediction may be, one number or one per query (None where it does not matter);
        ``certificate.verdicts`` says whether it is proved to be within, proved to be beyond, or undecided.
    limit
        Where the true value must lie, ``{"above": 0.0, "below": 0.2}``, either or both: one for all queries and what is
        derived from them, or one per query (None where it does not matter). ``certificate.verdicts`` says whether it
        holds by proof, is violated by proof, or is undecided; see `Certificate.judged`.
    budget
        How much work the integrals of a query of the continuous target may take, in units that are the same on every
        machine (``details["work"]``; `transfer.points.work`). Beyond it the bound reached is issued: valid, but wider,
        and ``certificate.notes`` says so where it matters.
    """
    if isinstance(system, SelfCertifying):
        unused = {"method": method, "raw": raw, "transfer": transfer, "lift": lift or None}
        unused |= {"extraction": None if extraction == "nodal" else extraction}
        return _by_itself(system, U, queries, unused, target, budget, accept, limit)
    method = default_method(system) if method is None else method
    if not is_method(method):
        raise InputError(f"method: must be a method such as pinnpoint.Exact(); got {method!r}")
    if target not in (None, *TARGETS):
        raise InputError(f"target: must be 'discrete' or 'continuous'; got {target!r}")
    if isinstance(queries, Queries):
        accept_limits(accept, len(queries))  # refused before the work
        value_limits(limit, queries.names, queries.derived)
    if lift:
        if not isinstance(system, Liftable) or target == "discrete" or transfer is not None:
            raise InputError(
                "lift: is for the continuous target of reaction–diffusion, semilinear, elasticity and parabolic "
                "problems, without a transfer"
            )
        _require_queries(queries)
        if without_solve(queries):
            bare = system.lifted(system.lift_of(U)).unsolved(queries, budget)
            return with_errors_named(bare, queries).judged(accept, limit)
        rest = system.lifted(foresee(method, system, U, queries, lift))
        plain = without_prediction(method, system, queries, budget)
        certificate = narrowed(run(method, rest, rest.space.U0, queries, budget=budget)[0], plain)
    else:
        if isinstance(queries, Queries) and without_solve(queries):
            raise InputError(f"query '{queries.names[0]}': a bound without a solve is for lifts; say lift=True")
        how = Way(target, transfer, extraction, None, budget)
        certificate = run_by(how, method, system, U, queries, raw)[0]
    return with_errors_named(certificate, queries).judged(accept, limit)


def _by_itself(
    problem: SelfCertifying,
    prediction: Prediction,
    queries: Queries,
    unused: Mapping[str, Any],
    target: str | None,
    budget: int | None,
    accept: Limits,
    limit: Any,
) -> Certificate:
    """`certify` for a problem that has no discrete system."""
    wrong = [name for name, given in unused.items() if given is not None]
    wrong += [] if target in (None, "continuous") else ["target"]
    if wrong:
        raise InputError(
            f"{', '.join(wrong)}: this problem has no discrete system, takes the prediction as it is and certifies its "
            f"own solution; leave {'it' if len(wrong) == 1 else 'them'} out"
        )
    if budget is not None:
        whole("budget", number("budget", budget, low=1, high=MOST_WORK))
    _require_queries(queries)
    accept_limits(accept, len(queries))  # refused before the work
    value_limits(limit, queries.names, queries.derived)
    found = problem.certified(prediction, queries, budget)
    return with_errors_named(found, queries).judged(accept, limit)


def foresee(
    method: AnyMethod,
    problem: Liftable,
    prediction: Prediction,
    queries: Queries,
    given: bool | str,
    tell: Callable[[str], None] = log.info,
) -> Any:
    """The prediction as a lift; its cost is told, and one that would take long for nothing is refused.

    Parameters
    ----------
    given
        True, or ``"anyway"`` for a lift that is not to be refused.
    """
    if given not in (True, "anyway"):
        raise InputError(f"lift: must be true, false or 'anyway'; got {given!r}")
    _require_queries(queries)
    lift = problem.lift_of(prediction)
    ahead = problem.lift_cost(lift, len(queries))
    tell(ahead.text)
    if given != "anyway" and ahead.long:
        plain, certifier = run(method, problem, problem.space.U0, queries)
        solver = certifier.ground.solver if isinstance(certifier, AbstractCertifier) else None
        if solver is not None:
            problem.require_worth(lift, plain, solver, ahead)
    return lift


def without_prediction(
    method: AnyMethod, problem: Transferable, queries: Queries, budget: int | None
) -> Certificate | None:
    """What is proved without a lift; None where an extreme is asked for that only the lift has a bound of."""
    try:
        return run(method, problem, problem.space.U0, queries, budget=budget)[0]
    except InputError:
        if not any(isinstance(goal, Extreme) for goal in queries.goals):
            raise
        return None


def narrowed(certificate: Certificate, plain: Certificate | None) -> Certificate:
    """The certificate of a lift, with by how much it is narrower than the one without on the same mesh."""
    unknown = np.full(len(certificate), np.inf)
    factor, radius = (unknown, unknown) if plain is None else (narrowing(plain, certificate), plain.radius)
    return replace(certificate, narrowing=factor).with_details(plain_radius=radius, narrowing=factor)


def default_method(system: Any) -> AnyMethod:
    """`Root` for nonlinear systems and problems, else `Exact`."""
    if isinstance(system, Problem) and system.surely_linear:
        return Exact()
    inner = system.system if isinstance(system, Problem) else system
    if not isinstance(inner, AbstractSemilinear | NonlinearSystem):
        return Exact()
    from pinnpoint.certifiers.nonlinear.root import Root

    return Root()


def is_method(method: object) -> bool:
    """Whether it is one of the methods, of linear systems or of nonlinear ones."""
    if isinstance(method, AbstractMethod):
        return True
    from pinnpoint.certifiers.nonlinear.base import AbstractNonlinearMethod

    return isinstance(method, AbstractNonlinearMethod)


def narrowing(plain: Certificate, found: Certificate) -> Vector:
    """By which factor radii are narrower, both taken to be at least the rounding of the largest value."""
    centers = np.concatenate([plain.center, found.center])
    least = UNIT * float(np.max(np.abs(centers), initial=0.0, where=np.isfinite(centers))) + TINY
    a, b = np.maximum(plain.radius, least), np.maximum(found.radius, least)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(a == b, 1.0, a / b)


@dataclass(frozen=True, eq=False)
class Way:
    """How a state of a problem is certified; see `certify`, and `run` for the tolerance."""

    target: str | None = None
    transfer: Transfer | None = None
    extraction: str = "nodal"
    tolerance: Any = None
    budget: int | None = None

    def own(self, problem: Problem | None) -> bool:
        """Whether the problem's own transfer leads to the target; refuses what does not go together."""
        target = self.target or ("continuous" if problem is not None or self.transfer is not None else "discrete")
        own = self.transfer is None and target == "continuous"
        if own and not isinstance(problem, Transferable):
            raise InputError(
                "target: the continuous target needs a proved transfer, and none is known for this problem; pass "
                "transfer=, or say target='discrete' for the solution of the discrete system"
            )
        if isinstance(self.transfer, Route):
            raise InputError("transfer: a problem uses its own transfer by itself; leave transfer= out")
        if target == "discrete" and self.transfer is not None:
            raise InputError("target: a transfer leads to the continuous target; drop transfer= or target='discrete'")
        if self.budget is not None and not own:
            raise InputError(
                "budget: is for the continuous target of a problem with a transfer of its own; leave it out"
            )
        return own


def run(
    method: AnyMethod,
    system: Any,
    U: Prediction,
    queries: Queries,
    *,
    raw: ArrayLike | None = None,
    transfer: Transfer | None = None,
    target: str | None = None,
    extraction: str = "nodal",
    tolerance: Limits = None,
    budget: int | None = None,
    prepared: Callable[[Certifier], None] = lambda certifier: None,
) -> tuple[Certificate, Certifier]:
    """`certify`, and the prepared certifier with its Green vectors for further use.

    `tolerance` says which queries the indicators for refinement are for: those with larger radii. `prepared` is told
    the certifier of a problem's discrete target before the state is certified.
    """
    return run_by(Way(target, transfer, extraction, tolerance, budget), method, system, U, queries, raw, prepared)


def run_by(
    how: Way,
    method: AnyMethod,
    system: Any,
    U: Prediction,
    queries: Queries,
    raw: ArrayLike | None = None,
    prepared: Callable[[Certifier], None] = lambda certifier: None,
) -> tuple[Certificate, Certifier]:
    """`run`, with its options together."""
    problem = system if isinstance(system, Problem) else None
    own = how.own(problem)
    if isinstance(method, Exact) and method.states is None and how.transfer is None:
        method = replace(method, states=1)
    if problem is None:
        certifier: Certifier = method.prepare(system, queries)
        return certifier.certify(cast(ArrayLike, U), raw=raw, transfer=how.transfer), certifier
    prediction = problem.prediction(U)
    _require_own_values(queries, how.extraction)
    extracted = problem.extract(prediction, how.extraction)
    _require_fit(queries, problem, len(extracted.U))
    if how.target == "discrete":
        problem.require_discrete()
    notes = problem.notes
    outputs = outputs_of(prediction, queries) if raw is None else per_query("raw", raw, len(queries))
    with _mesh_blamed(problem):
        if own and isinstance(problem, Transferable):
            route = problem.transfer(queries, how.tolerance, how.budget)
            certifier = problem.prepared(method, route)
            certificate = certifier.certify(extracted.U, transfer=route)
            certificate = problem.beside(certificate, queries, extracted.U, outputs)
        else:
            certifier = method.prepare(problem.system, queries)
            prepared(certifier)
            certificate = certifier.certify(extracted.U, transfer=how.transfer).beside(outputs)
    certificate = problem.finish(certificate, queries, extracted.U, certifier, own=own)
    certificate = replace(certificate, derivations=queries.derived, notes=(*notes, *certificate.notes))
    certificate = extracted.beside(certificate, queries)
    certificate = settled(certificate, extracted.U if extracted.given is None else extracted.given)
    if raw is None and callable(prediction):
        certificate = replace(certificate, notes=(*certificate.notes, *_by_a_rule(queries, outputs)))
    model = prediction.description if isinstance(prediction, Predictor) else None
    return certificate.with_details(
        **({} if model is None else {"model": str(model)}),
        extraction=extracted.how,
        projection_mismatch=extracted.changed,
        matching_distance=extracted.distance,
        quadrature=problem.quadrature,
    ), certifier


@contextmanager
def _mesh_blamed(problem: Problem) -> Iterator[None]:
    """A singular matrix may come from the data, or from parts that nothing holds because nobody joined them: say so."""
    try:
        yield
    except SingularError as error:
        why = problem.why_singular()
        if why:
            raise SingularError(why) from error
        notes = unjoined_notes(problem.mesh)
        if notes:
            raise SingularError(f"{error}. {' '.join(notes)}; or a part that is not joined is not held") from error
        raise


def outputs_of(prediction: Prediction, queries: Queries) -> Vector | None:
    """A callable's own values of the queries, not a number for queries that are not made of values."""
    return queries.samples(prediction) if callable(prediction) and queries.samples is not None else None


def _by_a_rule(queries: Queries, outputs: Vector | None) -> list[str]:
    """What is to be said of a function's own averages, which are sums over points, or over nodes and times."""
    values = np.full(len(queries), np.nan) if outputs is None else outputs
    ruled, fleeting, moving = list[str](), list[str](), list[str]()
    for name, goal, x in zip(queries.names, queries.goals, values, strict=True):
        if isinstance(goal, Ball | Block | Cells | Gaussian | Patch) and np.isfinite(x):
            (ruled if time_of(goal) is None else fleeting).append(f"'{name}'")
        elif since_of(goal) is not None:
            moving.append(f"'{name}'")
    notes = [
        (ruled, "raw", "by a rule of points", "is not seen (lift=True encloses it)"),
        (fleeting, "raw", "by a rule of points", "is not seen"),
        (moving, "value", "of its values at the nodes and times", "is not seen"),
    ]
    return [
        f"{what} of {', '.join(some[:3])}{f' and {len(some) - 3} more' if len(some) > 3 else ''}: the prediction's "
        f"average {how}; intervals and verdicts are about that number, and what the prediction does between the "
        f"points {end}"
        for some, what, how, end in notes
        if some
    ]


def _require_own_values(queries: Queries, extraction: str) -> None:
    """Errors over the domain are of the function with the prediction's own values at the nodes, no other."""
    if extraction == "nodal" or not isinstance(queries, Queries):
        return
    for goal, name in zip(queries.goals, queries.names, strict=True):
        if isinstance(goal, Everywhere | L2Error | EnergyError):
            raise InputError(
                f"extraction: query '{name}' is about the prediction's own values at the nodes; got {extraction!r}. "
                "Leave extraction out, or keep the prediction as it is with lift=True"
            )


def _require_fit(queries: Queries, problem: Problem, count: int) -> None:
    _require_queries(queries)
    if queries.L.shape[1] != count:
        raise InputError(
            f"queries: are for {queries.L.shape[1]} coefficients, and the problem has {count}; ask this very "
            "problem, problem.points(…), not one on another mesh or of another degree"
        )
    for what, print_ in queries.made_for.items():
        if problem.fingerprint(what) != print_:
            raise InputError(
                f"queries: were made by a problem with another {what}; ask this very problem, problem.points(…), not "
                "one on another mesh, with other node numbers or with other data"
            )


def _require_queries(queries: Queries) -> None:
    if not isinstance(queries, Queries):
        raise InputError(f"queries: must be Queries; got {type(queries).__name__}; wrap L as pinnpoint.Queries(L)")
