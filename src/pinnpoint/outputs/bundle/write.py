"""Write a certificate with the witnesses that prove it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.settled import known_extremes
from pinnpoint.certifiers.protocols import Liftable, Problem, SelfCertifying
from pinnpoint.fem.curved.bent import Carried
from pinnpoint.fem.lifts.lifted import AbstractLifted
from pinnpoint.fem.parabolic.asking import MovingQueries
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.formulas.expressions import Expression
from pinnpoint.formulas.signs import bounds
from pinnpoint.mesh.topology import Topology
from pinnpoint.outputs.bundle import discrete
from pinnpoint.outputs.bundle.continuous import continuous
from pinnpoint.outputs.bundle.curved import bent, curved_obstacle
from pinnpoint.outputs.bundle.document import Document, text, wordless
from pinnpoint.outputs.bundle.files import Writer
from pinnpoint.outputs.bundle.moving import as_system
from pinnpoint.outputs.bundle.reduced import is_reduced, reduced, reduced_obstacle
from pinnpoint.outputs.bundle.varied import varied_obstacle
from pinnpoint.systems.goals import Compliance
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.semilinear.cubic import CubicSystem
from pinnpoint.systems.semilinear.reaction import ReactionSystem
from pinnpoint.taylor.inputs import fixed
from pinnpoint.transfer.energy.norms import faces_of
from pinnpoint.transfer.equilibrated import Witness as Fluxes
from pinnpoint.transfer.media.regional import Regional
from pinnpoint.transfer.nonlinear.lifted_reactions import LiftedTerm
from pinnpoint.transfer.nonlinear.monotone import Witness as Nonlinear
from pinnpoint.transfer.nonlinear.reactions import ReactionTerm

MOST_NAME = 1000
"""Characters of a query's name, for the checker."""
SYSTEM = "system"
"""What does not depend on the state, and may be written early."""
DROPPED = 1e-10
"""What boundary conditions may change of a formula that the checker takes for the same, against its values."""


def begin_bundle(folder: Path, problem: Problem, queries: Queries) -> Writer:
    """Begin to write what is known before anything is certified, beside other work; see `write_bundle`, `begun`."""
    out = Writer(folder)
    out.early(SYSTEM, lambda: discrete.system(out, problem, queries))
    return out


def write_bundle(
    folder: str | os.PathLike[str],
    certificate: Certificate,
    problem: Any,
    prediction: Any,
    queries: Queries,
    *,
    options: Mapping[str, Any] | None = None,
    evidence: Evidence | None = None,
    document: Document | None = None,
    partial: bool = False,
    begun: Writer | None = None,
) -> Path:
    """Write everything that makes a certificate true into a new folder, for ``pinnpoint verify``.

    For finite-element problems and for systems, least squares and those with a general Z too, with any of the methods.
    Of the discrete target reactions other than a cubic with λ ≥ 0 are refused.

    Parameters
    ----------
    problem
        The problem or system that was certified.
    options
        Of the method, where the checker needs them: probes, delta and seed of `Randomized`.
    evidence
        What is at hand: the solver, Green vectors, a state that was solved for, what proves coercivity (a bound that
        was proved at linear cost is proved again from a tree of cells; of quadratic elements it is declared).
    document
        The content of certificate.json, and the resolved case; made from the other arguments by default.
    partial
        Write what cannot be re-checked without witnesses, with the reason in it, instead of refusing it.
    begun
        The writer of this folder, where Green vectors are being written already.
    """
    moving = _in_time(certificate, problem, prediction, queries)
    if isinstance(problem, SelfCertifying) or (moving is not None and not (moving and partial)):
        return _alone(Path(folder), certificate, problem, prediction, queries, document)
    certificate, problem, prediction, queries = _as_stored(certificate, problem, prediction, queries)
    system = _system(problem)
    U = problem.extract(prediction).U if isinstance(problem, Problem) else vector("prediction", prediction)
    against = moving or _against(certificate, problem, prediction, queries)
    if against and not partial:
        raise InputError(against)
    texts = (document or Document()).complete(certificate, problem, queries, options)
    claim = Claimed(certificate, problem, queries, U, texts, evidence or Evidence())
    out = _out(folder, begun, not against and isinstance(system, LinearSystem) and certificate.target == "discrete")
    try:
        claim.write(out, against)
    except CertificationError as error:  # a witness that cannot be found although the method needs none
        out.discard()
        if not partial:
            raise InputError(f"certificate: a witness for the checker could not be made ({error})") from error
        claim.write(_new(folder), str(error))
    except BaseException:
        out.discard()
        raise
    return Path(folder)


def unchecked(certificate: Certificate, problem: Any, prediction: Any, queries: Queries) -> str:
    """Why a bundle of a case cannot be re-checked; empty where it can, but for witnesses that are not found later."""
    moving = _in_time(certificate, problem, prediction, queries)
    if isinstance(problem, SelfCertifying | MovingQueries) or moving is not None:
        return moving or ""
    return _against(certificate, _as_certified(certificate, problem, prediction), prediction, queries)


def _against(certificate: Certificate, problem: Any, prediction: Any, queries: Queries) -> str:
    """Why what is certified cannot be re-checked."""
    against = _moving(problem) or _kept(problem, queries) or _varied(problem)
    against = against or curved_obstacle(problem, queries) or obstacle(certificate, _system(problem))
    against = against or wordless(certificate, problem)
    if against or certificate.evidence.extremes is None:
        return against
    U = problem.extract(prediction).U if isinstance(problem, Problem) else vector("prediction", prediction)
    return extreme_obstacle(certificate, U) or dropped(certificate, problem, prediction)


def _alone(
    folder: Path, certificate: Certificate, problem: Any, prediction: Any, queries: Queries, document: Document | None
) -> Path:
    """What has no system: boxes, and the PDE's own solution in time."""
    if isinstance(problem, SelfCertifying):
        from pinnpoint.outputs.bundle.boxes import write_box  # with all that boxes need

        return write_box(folder, certificate, problem, prediction, queries)
    from pinnpoint.outputs.bundle.slabs import write_slabs  # with all that moves

    return write_slabs(folder, certificate, problem, prediction, queries, document)


def _in_time(certificate: Certificate, problem: Any, prediction: Any, queries: Queries) -> str | None:
    """Why the PDE's own solution in time cannot be re-checked; None of what is none."""
    if not isinstance(problem, MovingQueries) or certificate.target == "discrete":
        return None
    from pinnpoint.outputs.bundle.slabs import moving_obstacle

    return moving_obstacle(certificate, problem, prediction, queries)


def _out(folder: str | os.PathLike[str], begun: Writer | None, useful: bool) -> Writer:
    """The writer that was begun, where it is of use."""
    if begun is not None and useful:
        return begun
    if begun is not None:
        begun.discard()
    return _new(folder)


def _new(folder: str | os.PathLike[str]) -> Writer:
    try:
        return Writer(Path(folder))
    except OSError as error:
        raise InputError(
            f"folder: '{folder}' could not be made ({error.strerror}); name a new folder in one that exists"
        ) from error


def _as_stored(
    certificate: Certificate, problem: Any, prediction: Any, queries: Queries
) -> tuple[Certificate, Any, Any, Queries]:
    """The same; steps in time as the system that they are, whose case, points and times are told and not proved."""
    if isinstance(problem, MovingQueries) and certificate.target == "discrete":
        told, bare = as_system(certificate, problem, queries)
        return told, problem.system, problem.extract(prediction).U, bare
    return certificate, _as_certified(certificate, problem, prediction), prediction, queries


def _as_certified(certificate: Certificate, problem: Any, prediction: Any) -> Any:
    """The problem that the certificate is of: where its prediction was lifted, the one of what that leaves."""
    if certificate.narrowing is None or isinstance(problem, AbstractLifted):
        return problem
    if not isinstance(problem, Liftable):
        raise InputError("problem: its prediction was lifted; hand in problem.lifted(prediction) of the problem")
    return problem.lifted(prediction)


def _system(problem: Any) -> Any:
    """What was certified; the block matrix of a problem in time is not made for nothing."""
    if _moving(problem):
        return None
    return problem.system if isinstance(problem, Problem) else problem


def _moving(problem: Any) -> str:
    """Why a problem in time cannot be re-checked."""
    if not isinstance(problem.base if isinstance(problem, AbstractLifted) else problem, MovingQueries):
        return ""
    return "problem: in time hand in the problem itself and the prediction, not problem.lifted(prediction)"


def _kept(problem: Any, queries: Queries) -> str:
    """Why a lifted solid cannot be re-checked."""
    if not isinstance(problem, AbstractLifted):
        return ""
    from pinnpoint.fem.elastic.lifted_solids import LiftedSolid  # with all that solids need
    from pinnpoint.fem.elastic.solids import solid_of

    if not isinstance(problem, LiftedSolid):
        return ""
    if any(isinstance(goal, Compliance) for goal in queries.goals):
        return "queries: the work of the loads through a lift is not re-checked; certify it without the lift"
    whole = solid_of(problem.base, Topology.of(problem.base.mesh))
    data = [*whole.body, *(x for _, given in (*whole.traction, *whole.dirichlet) for x in given if x is not None)]
    if any(text(x) is None for x in data):
        return "problem: data that are functions have no formula to compare with; certify without the lift"
    return ""


def _varied(problem: Any) -> str:
    """Why a domain or coefficients cannot be re-checked: the checker knows straight cells, numbers and formulas."""
    problem = problem.base if isinstance(problem, AbstractLifted) else problem
    if not isinstance(problem, ReactionDiffusion):
        return ""
    parts = problem.given["source"].values() if isinstance(problem.given["source"], Mapping) else ()
    if any(callable(part) and not isinstance(part, Expression | Carried) for part in parts):
        return "problem: sources by groups have witnesses for the checker where they are numbers and formulas"
    return ""


@dataclass(frozen=True, eq=False)
class Claimed:
    """A certificate with all that it is about."""

    certificate: Certificate
    problem: Any
    queries: Queries
    U: Vector
    document: Document
    evidence: Evidence

    __repr__ = brief

    def write(self, out: Writer, against: str) -> None:
        """All files; without witnesses, and with the reason, where something is against them."""
        assert self.document.certificate is not None
        out.json("certificate.json", self.document.certificate)
        out.json("case.json", self.document.case)
        out.json("proof.json", {"unsupported": against} if against else self._proof(out))
        out.close(self.document.certificate)

    def _proof(self, out: Writer) -> dict[str, Any]:
        """Witnesses, and what they are witnesses of."""
        certificate, problem, queries = self.certificate, self.problem, self.queries
        system = problem.system if isinstance(problem, Problem) else problem
        proof: dict[str, Any] = {
            "target": certificate.target,
            "method": certificate.method,
            "radius_terms": list(certificate.radius_terms),
        }
        if is_reduced(system):
            return proof | reduced(out, system, queries, self.U)
        proof |= out.late(SYSTEM, lambda: discrete.system(out, problem, queries))
        out.array("system/u", self.U)
        if certificate.target == "continuous":
            witness = certificate.evidence.witness
            if not _of_solid(witness):
                return proof | continuous(out, witness, problem, queries, certificate.evidence.extremes, self.U)
            from pinnpoint.outputs.bundle.solid import solid

            return proof | solid(out, witness, problem, queries)
        if isinstance(system, LinearSystem):
            return proof | bent(out, problem) | discrete.linear(out, problem, queries, self.evidence)
        return proof | discrete.cubic(out, system, queries, self.U, certificate.evidence.polish)


def extreme_obstacle(certificate: Certificate, U: Vector) -> str:
    """Why the checker cannot prove the largest error; empty where it can."""
    for i, found in known_extremes(certificate, U).items():
        name = certificate.names[i]
        if not found.rechecked:
            return (
                f"query '{name}': the checker proves the largest error again by level sets, residuals and bands, and "
                "norms of the error where Dirichlet data is met, not with periodic pairs, nonlinear reactions, "
                "barriers, or lifts beside Robin sides, and this one is by "
                f"'{found.route}'; of linear problems ask with checked=True, of the whole domain, for what it can prove"
            )
        if found.upper > certificate.upper[i] or found.lower < certificate.lower[i]:
            return f"query '{name}': boundary values of the prediction were changed, which the checker does not see"
    return ""


def dropped(certificate: Certificate, problem: Any, prediction: Any) -> str:
    """Why the checker refuses extremes and norms of a formula: the state that is stored has other boundary values."""
    if certificate.evidence.extremes is None or not isinstance(problem, Problem):
        return ""
    found = problem.extract(prediction)
    most = 0.0 if found.given is None else DROPPED * float(np.max(np.abs(found.given), initial=0.0))
    if not isinstance(problem.prediction(prediction), Expression) or found.changed <= most:
        return ""
    return (
        "prediction: its values on the boundary are not the problem's, and the largest error and norms are about it as "
        f"it was given, up to {found.changed:.3g} from what the checker sees; give one with the boundary's values, or "
        "leave these queries out"
    )


def obstacle(certificate: Certificate, system: Any) -> str:
    """Why the checker cannot prove a certificate; empty where it can."""
    cubic = isinstance(system, CubicSystem) and system.monotone
    general = isinstance(system, ReactionSystem) and certificate.target == "continuous"
    if not isinstance(system, LinearSystem) and not cubic and not general:
        return (
            "problem: bundles are for linear systems, for cubic reactions with λ ≥ 0 and, with the continuous target, "
            "for other reactions that are formulas"
        )
    if isinstance(system, CubicSystem) and system.space.free is None:
        return "problem: bundles of cubic reactions are for spaces that fix entries, AdmissibleSpace.dirichlet, or none"
    if is_reduced(system) and reduced_obstacle(certificate, system):
        return reduced_obstacle(certificate, system)
    if certificate.target == "continuous" and certificate.evidence.witness is None:
        return (
            "certificate: its transfer leaves no witnesses; bundles of the continuous target are for the problem's own "
            "transfer, certify(problem, …, target='continuous')"
        )
    witness = certificate.evidence.witness
    if certificate.target == "continuous" and isinstance(witness, Fluxes) and witness.route.model.seam is not None:
        return "lift: bundles of lifts beside periodic pairs are not written; certify without the lift"
    if certificate.target == "continuous" and isinstance(witness, Fluxes | Nonlinear) and varied_obstacle(witness):
        return varied_obstacle(witness)
    if certificate.target == "continuous" and isinstance(witness, Nonlinear) and not checked(witness.route):
        return (
            "problem: bundles of reactions are for c ≥ 0 and g′ ≥ 0, for boxes or Dirichlet "
            "data all around without lifts, and of other reactions than cubic ones for fluxes and Robin values that "
            "are numbers, or a g″ that is bounded on the real line"
        )
    if _of_solid(witness) and (why := _solid_obstacle(certificate)):
        return why
    if max(map(len, certificate.names)) > MOST_NAME:
        return f"queries: names must have at most {MOST_NAME} characters; shorten them"
    if not np.all(np.isfinite(certificate.radius)):
        return "certificate: an interval is unbounded; leave out that query"
    return ""


def _of_solid(witness: Any) -> bool:
    """Whether a solid's transfer left it."""
    if witness is None or isinstance(witness, Fluxes | Nonlinear):
        return False
    from pinnpoint.transfer.elastic.route import Witness  # with all that solids need

    return isinstance(witness, Witness)


def _solid_obstacle(certificate: Certificate) -> str:
    from pinnpoint.outputs.bundle.solid import solid_obstacle

    return solid_obstacle(certificate)


def checked(route: Any) -> bool:
    """Whether the checker knows the norms and the range that a nonlinear transfer uses."""
    norms, model, term = route.norms, route.model, route.term
    if isinstance(term, LiftedTerm):
        return False
    known = bool(norms.fall == 0.0 and (norms.vanishing or model.d == 1 or faces_of(model) is not None))
    if not isinstance(term, ReactionTerm):
        return known
    whole = bounds(term.g.second)
    flat = whole is not None and all(math.isfinite(x) for x in whole)
    plain = all(fixed(given) is not None for _, given in model.neumann)
    return known and (model.d == 1 or flat or plain) and not isinstance(model.source, Regional)
