"""The verb: validate, prepare and certify once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, per_query
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.transfer import Transfer
from pinnpoint.certificates.verdicts import accept_limits
from pinnpoint.certifiers.base import AbstractCertifier, AbstractMethod
from pinnpoint.certifiers.continuous import ContinuousCertifier
from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.nonlinear.base import AbstractNonlinearCertifier, AbstractNonlinearMethod
from pinnpoint.certifiers.nonlinear.root import Root
from pinnpoint.models.given import as_prediction
from pinnpoint.rounding.arithmetic import TINY, UNIT
from pinnpoint.systems.nonlinear import NonlinearSystem
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.semilinear.base import AbstractSemilinear

log = logging.getLogger(__name__)
TARGETS = ("discrete", "continuous")
AnyMethod = AbstractMethod | AbstractNonlinearMethod
AnyCertifier = AbstractCertifier | AbstractNonlinearCertifier | ContinuousCertifier


def certify(
    system: Any,
    U: Any,
    queries: Queries,
    method: AnyMethod | None = None,
    *,
    raw: Any = None,
    transfer: Transfer | None = None,
    target: str | None = None,
    extraction: str = "nodal",
    lift: bool | str = False,
    accept: Any = None,
    budget: int | None = None,
) -> Certificate:
    """Intervals that hold the values of the target at every query.

    For many states of one system, keep ``method.prepare(system, queries)`` and call its ``certify``.

    Parameters
    ----------
    system
        The compatible system, or a finite-element problem, which has one.
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
        an `MLP`, a torch module that `from_torch` reads, a formula, a number, or a `Lift`. ``details["narrowing"]``
        says by which factor the proof is narrower than without the prediction on the same mesh. What it will cost is
        logged beforehand; a lift that takes long and whose residual, sampled, forecasts a wider proof is refused unless
        it is wanted ``"anyway"``.
    accept
        How wrong the prediction may be, one number or one per query (None where it does not matter);
        ``certificate.verdicts`` says whether it is proved to be within, proved to be beyond, or undecided.
    budget
        How much work the integrals of a query of the continuous target may take, in units that are the same on every
        machine (``details["work"]``; `transfer.work`). Beyond it the bound reached is issued: valid, but wider, and
        ``certificate.notes`` says so where it matters.
    """
    method = default_method(system) if method is None else method
    if not isinstance(method, AbstractMethod | AbstractNonlinearMethod):
        raise InputError(f"method: must be a method such as pinnpoint.Exact(); got {method!r}")
    if target not in (None, *TARGETS):
        raise InputError(f"target: must be 'discrete' or 'continuous'; got {target!r}")
    if isinstance(queries, Queries):
        accept_limits(accept, len(queries))  # refused before the work
    if lift:
        if not hasattr(system, "lifted") or target == "discrete" or transfer is not None:
            raise InputError("lift: is for the continuous target of a reaction–diffusion problem, without a transfer")
        prediction = foresee(method, system, U, queries, lift)
        rest = system.lifted(prediction)
        plain, found = (run(method, p, p.space.U0, queries, budget=budget)[0] for p in (system, rest))
        found = found.with_details(plain_radius=plain.radius, narrowing=narrowing(plain, found))
    else:
        how: dict[str, Any] = {"transfer": transfer, "target": target, "extraction": extraction, "budget": budget}
        found = run(method, system, U, queries, raw=raw, **how)[0]
    return found.judged(accept)


def foresee(
    method: AnyMethod,
    problem: Any,
    prediction: Any,
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
    from pinnpoint.fem.forecast import cost, require_worth
    from pinnpoint.fem.lifted import lift_of

    if given not in (True, "anyway"):
        raise InputError(f"lift: must be true, false or 'anyway'; got {given!r}")
    _require_queries(queries)
    lift = lift_of(problem, prediction)
    ahead = cost(problem, lift, len(queries))
    tell(ahead.text)
    if given != "anyway" and ahead.long:
        plain, certifier = run(method, problem, problem.space.U0, queries)
        solver = certifier.ground.solver if isinstance(certifier, AbstractCertifier) else None
        if solver is not None:
            require_worth(problem, lift, plain, solver, ahead)
    return lift


def default_method(system: Any) -> AnyMethod:
    """`Root` for nonlinear systems and problems, else `Exact`."""
    inner = getattr(system, "system", system)
    return Root() if isinstance(inner, AbstractSemilinear | NonlinearSystem) else Exact()


def narrowing(plain: Certificate, found: Certificate) -> Vector:
    """By which factor radii are narrower, both taken to be at least the rounding of the largest value."""
    centers = np.concatenate([plain.center, found.center])
    least = UNIT * float(np.max(np.abs(centers), initial=0.0, where=np.isfinite(centers))) + TINY
    a, b = np.maximum(plain.radius, least), np.maximum(found.radius, least)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(a == b, 1.0, a / b)


def run(
    method: AnyMethod,
    system: Any,
    U: Any,
    queries: Queries,
    *,
    raw: Any = None,
    transfer: Transfer | None = None,
    target: str | None = None,
    extraction: str = "nodal",
    tolerance: Any = None,
    budget: int | None = None,
    prepared: Callable[[AnyCertifier], None] = lambda certifier: None,
) -> tuple[Certificate, AnyCertifier]:
    """`certify`, and the prepared certifier with its Green vectors for further use.

    `tolerance` says which queries the indicators for refinement are for: those with larger radii. `prepared` is told
    the certifier of a problem's discrete target before the state is certified.
    """
    problem = system if hasattr(system, "extract") and hasattr(system, "system") else None
    wanted = target or ("continuous" if problem is not None or transfer is not None else "discrete")
    own = transfer is None and wanted == "continuous"
    if own and not hasattr(problem, "transfer"):
        raise InputError(
            "target: the continuous target needs a proved transfer, and none is known for this problem; pass "
            "transfer=, or say target='discrete' for the solution of the discrete system"
        )
    if hasattr(transfer, "functionals"):
        raise InputError("transfer: a problem uses its own transfer by itself; leave transfer= out")
    if wanted == "discrete" and transfer is not None:
        raise InputError("target: a transfer leads to the continuous target; drop transfer= or target='discrete'")
    if budget is not None and not own:
        raise InputError("budget: is for the continuous target of a problem with a transfer of its own; leave it out")
    certifier: AnyCertifier
    if isinstance(method, Exact) and method.states is None and transfer is None:
        method = replace(method, states=1)
    if problem is None:
        certifier = method.prepare(system, queries)
        return certifier.certify(U, raw=raw, transfer=transfer), certifier
    U = as_prediction(U)
    found = problem.extract(U, extraction)
    _require_queries(queries)
    if queries.L.shape[1] != len(found.U):
        raise InputError(
            f"queries: are for {queries.L.shape[1]} coefficients, and the problem has {len(found.U)}; ask this very "
            "problem, problem.points(…), not one on another mesh or of another degree"
        )
    outputs = _outputs(U, queries) if raw is None else per_query("raw", raw, len(queries))
    if own:
        route = problem.transfer(queries, tolerance, budget)
        certifier = method.prepare(problem.system, route.functionals, discrete=False)
        certificate = certifier.certify(found.U, transfer=route)
        finished = getattr(problem, "finished", None)
        if finished is not None:
            certificate = finished(certificate, queries)
        else:
            certificate = certificate.seen_at(queries, found.U, outputs)
    else:
        certifier = method.prepare(problem.system, queries)
        prepared(certifier)
        certificate = certifier.certify(found.U, transfer=transfer).beside(outputs)
    from pinnpoint.fem.described import described  # the algebraic core needs numpy and scipy alone

    certificate = described(certificate, problem, queries, found.U, certifier, own=own)
    model = getattr(U, "description", None)
    certificate = certificate.with_details(
        **({} if model is None else {"model": str(model)}),
        extraction=found.how,
        projection_mismatch=float(np.max(np.abs(found.mismatch), initial=0.0)),
        matching_distance=found.distance,
        quadrature=problem.quadrature,
    )
    return certificate, certifier


def _outputs(prediction: Any, queries: Queries) -> Vector | None:
    """A callable's own values of the queries, not a number for queries that are not made of values."""
    return queries.samples(prediction) if callable(prediction) and queries.samples is not None else None


def _require_queries(queries: Any) -> None:
    if not isinstance(queries, Queries):
        raise InputError(f"queries: must be Queries; got {type(queries).__name__}; wrap L as pinnpoint.Queries(L)")
