"""`pinnpoint certify` over many processes: the discrete target, from a state that is refined to almost nothing.

With Ũ and q any vectors, ℓᵀU* = ℓᵀŨ − qᵀr̃ − sᵀA⁻¹r̃, r̃ = AŨ − b, s = ℓ̂ − Aᵀq, and |sᵀA⁻¹r̃| ≤ ‖s‖‖r̃‖/α for any proved α.
Rows of r̃ and s are enclosed where they live; products and norms are sums of enclosed parts (`Team.add`, `Team.norm`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.cases.kinds import KINDS
from pinnpoint.cases.kinds.elasticity import ElasticSpec
from pinnpoint.cases.queries import make_queries
from pinnpoint.cases.specs import Case
from pinnpoint.cases.study import SILENT, Result, Study, make_method, open_mesh, open_prediction
from pinnpoint.certificates.assembly import Findings, assemble
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certifiers.protocols import Certifier, Events, Extraction
from pinnpoint.distributed.coercive import prove
from pinnpoint.distributed.frame import Frame, make_frame
from pinnpoint.distributed.partition import cut, of_nodes, owners
from pinnpoint.distributed.refinement import UNSEEN, green, polish
from pinnpoint.distributed.rows import Rows, assemble_rows
from pinnpoint.distributed.solver import Solver
from pinnpoint.distributed.team import Team
from pinnpoint.mesh.curves import curve_notes
from pinnpoint.mesh.quality import unjoined_notes
from pinnpoint.rounding.arithmetic import down, require_round_to_nearest, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.matrices import EnclosedMatrix, dots
from pinnpoint.systems.queries import Queries, require_linear
from pinnpoint.systems.targets import MESH


@dataclass(frozen=True, eq=False)
class Asked:
    """What the first process knows: the whole mesh, the state, the queries."""

    frame: Frame
    queries: Queries
    found: Extraction
    raw: Vector | None
    owner: Any
    numbers: Any


def require_fit(case: Case) -> None:
    """What runs over many processes."""
    spec = case.certificate
    wanted = {
        "certificate.target": (spec.target, "discrete"),  # `continuous` is for the other one
        "certificate.method": (spec.method, "exact"),
        "certificate.rounding": (spec.rounding, True),
    }
    for name, (got, need) in wanted.items():
        if got != need:
            raise InputError(f"{name}: over several processes it must be {need!r}; got {got!r}")
    require_kind(case)
    others = [q.kind for q in case.queries if q.kind not in ("point", "average", "patch")]
    if others:
        raise InputError(
            f"query.kind: '{others[0]}' is not available over several processes; ask for points or averages"
        )


def require_kind(case: Case) -> None:
    """Problems that are spread over processes."""
    if not case.kind.distributes or case.mesh is None:
        fitting = " and ".join(kind.name for kind in KINDS.values() if kind.distributes)
        raise InputError(f"problem.kind: over several processes {fitting} with a mesh are solved")
    if isinstance(case.problem, ElasticSpec):
        given = case.problem
        if given.expansion is not None or isinstance(given.body, Mapping):
            word = "body: by groups of cells it" if given.expansion is None else "expansion:"
            raise InputError(f"problem.{word} is not available over several processes")


def certify(case: Case, team: Team, events: Events = SILENT, *, trust: bool = False) -> Result | None:
    """Certify a case; the first process gets the result, the others None."""
    require_fit(case)
    require_round_to_nearest()
    events.stage("reading the mesh")
    asked: Any = None

    def read() -> int:
        nonlocal asked
        asked = _ask(case, team.size, trust=trust)
        return len(asked.queries)

    K = team.from_lead(read)
    events.stage(f"assembling on {team.size} processes")
    part, given = team.scatter(lambda: _parts(asked, team.size))
    local = team.together(lambda: assemble_rows(part, case.problem, case.certificate.quadrature, given["forces"]))
    count = given["count"]
    own = np.repeat(part.own, count)
    rows = Rows(team, local, given["free"], own, given["numbers"])
    events.stage(f"solving {K} adjoints of {rows.n} unknowns")
    solver = Solver.of(rows, part.nodes.points, count, rows.mine // count, rows.mine % count)
    alpha, how = prove(rows, solver, part, lambda: asked.frame.floor())
    length = team.norm(rows.residual(exact(given["U"])))
    state, r, small = polish(rows, solver, given["U"])
    parts = team.gather(np.stack([state.hi[rows.mine], np.asarray(state.lo)[rows.mine]]))
    polished: Ball = exact(np.empty(0))

    def sizes() -> Any:
        nonlocal polished
        polished = _whole(asked, parts)
        return np.abs(asked.queries.L @ polished.hi - asked.queries.constants)

    with np.errstate(all="ignore"):
        allowed = UNSEEN * alpha * team.from_lead(sizes) / small
    Q, Q_lo, left, norms = green(rows, solver, given["L"], np.nan_to_num(allowed), alpha)
    pairing = team.add(dots(Q, r, Q_lo if Q_lo.any() else None))
    vectors = team.gather(Q[: min(K, 20)])
    if asked is None:
        return None
    events.stage("certifying")
    outputs, offset = EnclosedMatrix(asked.queries.stored), exact(-asked.queries.constants)
    value, center = outputs.affine(exact(asked.found.U), offset), outputs.affine(polished, offset) - pairing
    claim = Claim(f"the symmetric part of the reduced operator is at least {alpha:.6e} times the identity ({how})")
    certificate = _certificate(asked, value, center, left, norms, (length, small), alpha, claim, rows.n)
    joined, curved = unjoined_notes(asked.frame.mesh), curve_notes(asked.frame.mesh)
    notes = (*joined, *curved, "what the mesh leaves was not estimated: many processes share it")
    certificate = asked.found.beside(replace(certificate, interval_of=MESH, notes=notes), asked.queries).with_details(
        extraction=asked.found.how,
        projection_mismatch=asked.found.changed,
        matching_distance=asked.found.distance,
        quadrature=local.quadrature,
        processes=team.size,
        iterations=solver.iterations,
    )
    study = Study(case, asked.frame.finished(local.quadrature), asked.found.U, asked.queries, make_method(case))
    certifier = Gathered(asked.queries, _drawn(asked, polished.hi, vectors))
    return Result(study, certificate.judged(study.accept, study.limit), certifier)


def _ask(case: Case, size: int, *, trust: bool = False) -> Asked:
    frame = make_frame(case, open_mesh(case))
    if len(frame.mesh.points) < 4 * size:
        raise InputError(f"mesh: {len(frame.mesh.points)} nodes are too few for {size} processes; use fewer")
    prediction = open_prediction(case, frame, trust=trust)
    queries = make_queries(case, frame)
    require_linear(queries)
    found = frame.extract(prediction)
    raw = queries.samples(prediction) if callable(prediction) and queries.samples is not None else None
    owner = owners(frame.mesh.points, size)
    free = frame.free
    mine = np.repeat(of_nodes(frame.nodes, owner), frame.components)
    order = np.flatnonzero(free)[np.argsort(mine[free], kind="stable")]
    numbers = np.zeros(len(free), dtype=np.intp)
    numbers[order] = np.arange(len(order))
    return Asked(frame, queries, found, raw, owner, numbers)


def _parts(asked: Asked, size: int) -> list[Any]:
    """What each process is given."""
    frame, count = asked.frame, asked.frame.components
    L = sp.csc_array(asked.queries.L)
    parts = []
    for k in range(size):
        part = cut(frame.nodes, asked.owner, k)
        dofs = (part.numbers[:, None] * count + np.arange(count)).ravel()
        mine = dofs[np.repeat(part.own, count) & frame.free[dofs]]
        forces = None if frame.forces is None else frame.forces[part.numbers]
        given = {
            "count": count,
            "free": frame.free[dofs],
            "numbers": asked.numbers[dofs],
            "U": asked.found.U[dofs],
            "L": sp.csr_array(L[:, mine]),
            "forces": forces,
        }
        parts.append((part, given))
    return parts


def _certificate(
    asked: Asked,
    value: Ball,
    polished: Ball,
    left: Vector,
    norms: Vector,
    lengths: tuple[float, float],
    alpha: float,
    claim: Claim,
    n: int,
) -> Certificate:
    """`lengths` are those of the residuals of the given and of the refined state."""
    queries, (length, small) = asked.queries, lengths
    center, error = polished.rounded()
    correction, _ = (value - polished).rounded()
    algebra = np.asarray(up(up(left * small) / down(alpha), 8))
    if not np.all(np.isfinite(left)):
        raise CertificationError("--petsc: the solver left no finite Green vector; check PETSc's options")
    terms = {"correction": np.abs(correction), "algebra": algebra, "rounding": np.asarray(up(error))}
    values, _ = value.rounded()
    target = "the solution of the stored float64 system, assembled by parts"
    notes = asked.frame.space.notes
    findings = Findings(
        queries=queries,
        method="exact",
        value=values,
        center=center,
        terms=terms,
        counted=("algebra", "rounding"),
        correction=correction,
        sigma=np.asarray(up(norms + up(left / down(alpha)))),
        residual_norm=length,
        effective_residual_norm=length,
        coefficient_bound=float(up(length / down(alpha))),
        claims=(Claim(f"discrete target: {target}"), *(Claim(n) for n in (*queries.notes, *notes)), claim),
        dofs=n,
    )
    return assemble(findings, raw=asked.raw)


def _places(asked: Asked) -> tuple[Any, Any]:
    """Free unknowns, and the same in the order of the processes."""
    owner = np.repeat(of_nodes(asked.frame.nodes, asked.owner), asked.frame.components)
    free = np.flatnonzero(asked.frame.free)
    return free, free[np.argsort(owner[free], kind="stable")]


def _whole(asked: Asked, parts: Any) -> Ball:
    """The refined state at all unknowns."""
    hi, lo = asked.found.U.copy(), np.zeros(len(asked.found.U))
    order = _places(asked)[1]
    hi[order], lo[order] = np.concatenate(parts, axis=1)
    return Ball(hi, lo)


@dataclass(frozen=True, eq=False)
class Gathered(Certifier):
    """What `outputs` draws, gathered from all processes; states are certified where their rows are."""

    asked: Queries
    drawn: Evidence
    name: str = "exact"

    @property
    def queries(self) -> Queries:
        """What was asked."""
        return self.asked

    @property
    def load(self) -> Vector:
        """Refused: the rows are gone."""
        raise CertificationError("certifier: over several processes no one has the whole load")

    def _certify(self, *_: Any, **__: Any) -> Certificate:
        """Refused: the rows are gone."""
        raise CertificationError("certifier: over several processes each state is a run of its own")

    def evidence(self, U: Vector) -> Evidence:
        """The corrected field and the first Green vectors."""
        return self.drawn


def _drawn(asked: Asked, U: Vector, vectors: Any) -> Evidence:
    """The corrected field and the first Green vectors."""
    free, order = _places(asked)
    q = np.zeros((len(asked.queries), len(free)))
    together = np.concatenate(vectors, axis=1)
    q[: len(together), np.searchsorted(free, order)] = together
    return Evidence(corrected=U, green=q)
