"""`pinnpoint certify` over many processes: the continuous target.

The first process reads, assembles and proves; patches, cells, sources, mollifiers and solves are shared (`crew`). What
is put together is what one machine puts together, so nothing new has to be proved, and bundles are as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds.reaction_diffusion import ScalarSpec, require_numbers
from pinnpoint.cases.specs import Case
from pinnpoint.cases.study import SILENT, Result, build
from pinnpoint.certifiers.core import Core
from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.protocols import Events
from pinnpoint.distributed.certify import require_kind
from pinnpoint.distributed.crew import Crew, serve
from pinnpoint.distributed.team import Team, attempt, refuse

T = TypeVar("T")
KINDS_OF_QUERIES = ("point", "average", "patch", "mean")


def require_fit(case: Case) -> None:
    """Refuse by name what is not shared."""
    spec, problem = case.certificate, case.problem
    unfit = {
        "certificate.method": spec.method != "exact",
        "certificate.rounding": not spec.rounding,
        "certificate.lift": bool(spec.lift),
        "certificate.tolerance": spec.tolerance is not None,
        "certificate.until": spec.until is not None,
        "query.tolerance": any(query.tolerance is not None for query in case.queries),
    }
    for name, wrong in unfit.items():
        if wrong:
            raise InputError(f"{name}: is not available over several processes; remove it, or run without mpirun")
    require_kind(case)
    if case.geometry:
        raise InputError("geometry: curved domains are certified by one process; run without mpirun")
    if isinstance(problem, ScalarSpec):
        require_numbers(problem)
        for word, given in (("robin", problem.robin), ("periodic", problem.periodic)):
            if given:
                raise InputError(f"problem.{word}: is certified by one process only; run without mpirun")
        c = problem.reaction
        least = min(c.values()) if isinstance(c, Mapping) else c.constant
        if least is None or least < 0.0:
            raise InputError("problem.reaction: over several processes it must be numbers ≥ 0; run without mpirun")
    others = [query.kind for query in case.queries if query.kind not in KINDS_OF_QUERIES]
    if others:
        fitting = ", ".join(f"'{kind}'" for kind in KINDS_OF_QUERIES)
        raise InputError(f"query.kind: over several processes it must be one of {fitting}; got '{others[0]}'")


def certify(
    case: Case, team: Team, write: Callable[[Result], T], events: Events = SILENT, *, trust: bool = False
) -> tuple[Result | None, T | None]:
    """Certify a case and write what it leaves; the first process gets both, the others serve until it is done."""
    team.from_lead(lambda: require_fit(case))
    answer: tuple[bool, Any] = True, (None, None)
    if team.leads():
        crew = Crew(team)
        try:
            answer = attempt(lambda: _written(_certified(case, crew, events, trust=trust), write, events))
        finally:
            crew.release()
    else:
        serve(team)
    ok, found = answer
    team.from_lead(lambda: None if ok else refuse(found))
    return found  # type: ignore[no-any-return]


def _written(result: Result, write: Callable[[Result], T], events: Events) -> tuple[Result, T]:
    events.stage("writing the outputs")
    return result, write(result)


def _certified(case: Case, crew: Crew, events: Events, *, trust: bool) -> Result:
    study = build(case, events, trust=trust)
    system, size = study.problem.system, crew.team.size
    events.stage(f"certifying {len(study.queries)} queries on {system.n} unknowns over {size} processes")
    solver = crew.solver(Core(system, rounding=False).matrix, system.row_points, system.modes, system.node_size)
    shared = replace(study, problem=study.problem.shared(crew), method=Exact(solver=solver))
    result = shared.certify(events)
    return replace(result, certificate=result.certificate.with_details(processes=size))
