"""Write a certificate with the witnesses that prove it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, vector
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Guarantee
from pinnpoint.outputs.bundle import discrete
from pinnpoint.outputs.bundle.continuous import KINDS, continuous, text
from pinnpoint.outputs.bundle.files import Writer
from pinnpoint.solvers.protocol import Solver
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Ball, Flux, Patch, Point, Queries
from pinnpoint.systems.semilinear.cubic import CubicSystem

MOST_NAME = 1000
"""Characters of a query's name, for the checker."""
SYSTEM = "system"
"""What does not depend on the state, and may be written early."""


def begin_bundle(folder: Path, problem: Any, queries: Queries) -> Writer:
    """Begin to write what is known before anything is certified, beside other work; see `write_bundle`, `begun`."""
    out = Writer(folder)
    out.early(SYSTEM, lambda: discrete.system(out, problem, problem.system, queries))
    return out


def write_bundle(
    folder: str | os.PathLike[str],
    certificate: Certificate,
    problem: Any,
    prediction: Any,
    queries: Queries,
    *,
    options: Mapping[str, Any] | None = None,
    said: Mapping[str, Any] | None = None,
    case: Mapping[str, Any] | None = None,
    solver: Solver | None = None,
    green: Any = None,
    positive: Vector | None = None,
    state: Any = None,
    coercivity: float | None = None,
    partial: bool = False,
    begun: Writer | None = None,
) -> Path:
    """Write everything that makes a certificate true into a new folder, for ``pinnpoint verify``.

    For finite-element problems, and for systems whose spaces fix entries (or none), with any of the methods. Systems
    with general Z, least squares and reactions other than a cubic with λ ≥ 0 are refused.

    Parameters
    ----------
    problem
        The problem or system that was certified.
    options
        Of the method, where the checker needs them: probes, delta and seed of `Randomized`.
    said, case
        The content of certificate.json, and the resolved case; made from the other arguments by default.
    solver, green, positive, state
        Of the reduced matrix, Green vectors as rows, the positive vector that proves coercivity, and a state that was
        solved for, floats or a ball of pairs of them, where they are at hand.
    coercivity
        A bound that was proved at linear cost, where a witness would need a factorization; the checker takes it as
        declared, and says so.
    partial
        Write what cannot be re-checked without witnesses, with the reason in it, instead of refusing it.
    begun
        The writer of this folder, where Green vectors are being written already.
    """
    problem = _as_certified(certificate, problem, prediction)
    system = getattr(problem, "system", problem)
    U = problem.extract(prediction).U if hasattr(problem, "extract") else vector("prediction", prediction)
    against = obstacle(certificate, system) or _wordless(certificate, problem)
    if against and not partial:
        raise InputError(against)
    said = _said(certificate, queries, getattr(problem, "components", 1)) if said is None else said
    case = _case(certificate, problem, said, queries, options) if case is None else case
    if begun is not None and (against or not isinstance(system, LinearSystem) or certificate.target != "discrete"):
        begun.discard()
        begun = None
    out = _new(folder) if begun is None else begun
    try:
        _write(out, certificate, problem, queries, U, against, said, case, solver, green, positive, state, coercivity)
    except CertificationError as error:  # a witness that cannot be found although the method needs none
        out.discard()
        if not partial:
            raise InputError(f"certificate: a witness for the checker could not be made ({error})") from error
        _write(_new(folder), certificate, problem, queries, U, str(error), said, case, None, None)
    except BaseException:
        out.discard()
        raise
    return Path(folder)


def _new(folder: str | os.PathLike[str]) -> Writer:
    try:
        return Writer(Path(folder))
    except OSError as error:
        raise InputError(
            f"folder: '{folder}' could not be made ({error.strerror}); name a new folder in one that exists"
        ) from error


def _as_certified(certificate: Certificate, problem: Any, prediction: Any) -> Any:
    """The problem that the certificate is of: where its prediction was lifted, the one of what that leaves."""
    if certificate.narrowing is not None and getattr(problem, "lift", None) is None:
        if not hasattr(problem, "lifted"):
            raise InputError("problem: its prediction was lifted; hand in problem.lifted(prediction) of the problem")
        return problem.lifted(prediction)
    return problem


def _write(
    out: Writer,
    certificate: Certificate,
    problem: Any,
    queries: Queries,
    U: Vector,
    against: str,
    said: Mapping[str, Any],
    case: Mapping[str, Any],
    solver: Solver | None,
    green: Any,
    positive: Vector | None = None,
    state: Any = None,
    coercivity: float | None = None,
) -> None:
    system = getattr(problem, "system", problem)
    out.json("certificate.json", said)
    out.json("case.json", case)
    proof: dict[str, Any] = {
        "target": certificate.target,
        "method": certificate.method,
        "radius_terms": list(certificate.radius_terms),
    }
    if against:
        proof = {"unsupported": against}
    else:
        proof |= out.late(SYSTEM, lambda: discrete.system(out, problem, system, queries))
        out.array("system/u", U)
        if certificate.target == "continuous":
            proof |= continuous(out, certificate.evidence.witness, problem, queries)
        elif isinstance(system, LinearSystem):
            proof |= discrete.linear(out, system, queries, solver, green, positive, state, coercivity)
        else:
            proof |= discrete.cubic(out, system, queries, U, certificate.evidence.polish)
    out.json("proof.json", proof)
    out.close(said["versions"])


def obstacle(certificate: Certificate, system: Any) -> str:
    """Why the checker cannot prove a certificate; empty where it can."""
    if not isinstance(system, LinearSystem) and not (isinstance(system, CubicSystem) and system.monotone):
        return "problem: bundles are for linear systems and for cubic reactions with λ ≥ 0"
    if system.space.free is None or system.A.shape != (system.space.N, system.space.N):
        return (
            "problem: bundles are for square systems whose space fixes entries, AdmissibleSpace.dirichlet, or none; "
            "got a general Z or more rows than unknowns"
        )
    if certificate.target == "continuous" and certificate.evidence.witness is None:
        return (
            "certificate: its transfer leaves no witnesses; bundles of the continuous target are for the problem's own "
            "transfer, certify(problem, …, target='continuous')"
        )
    if max(map(len, certificate.names)) > MOST_NAME:
        return f"queries: names must have at most {MOST_NAME} characters; shorten them"
    if not np.all(np.isfinite(certificate.radius)):
        return "certificate: an interval is unbounded; leave out that query"
    return ""


def _wordless(certificate: Certificate, problem: Any) -> str:
    """Why data that encloses itself but is no formula cannot be re-checked; empty where there is none."""
    if certificate.target != "continuous" or certificate.guarantee is Guarantee.ESTIMATE:
        return ""
    given = getattr(getattr(problem, "base", problem), "given", {})
    for key in ("source", "dirichlet", "neumann"):
        data = given.get(key, 0.0)
        for one in data.values() if isinstance(data, Mapping) else [data]:
            if text(one) is None:
                return (
                    f"problem: its {key} is a function, and the checker has no formula to compare with; give a "
                    "formula, or a plain function, which makes the result an estimate"
                )
    return ""


def _said(certificate: Certificate, queries: Queries, components: int) -> dict[str, Any]:
    data = certificate.to_dict()
    goals = queries.goals or (None,) * len(queries)
    for i, (row, goal) in enumerate(zip(data["queries"], goals, strict=True)):
        row["kind"] = "functional" if goal is None else KINDS[type(goal)].replace("ball", "average")
        row.pop("at", None)
        if isinstance(goal, Point | Ball):
            row["at"] = [float(x) for x in goal.at]
        if isinstance(goal, Ball):
            row["ball"] = float(goal.radius)
        if isinstance(goal, Patch | Flux):
            row["group"] = goal.group
        if goal is not None and components > 1:
            row["component"] = "xyz"[int(queries.L[[i]].indices[0]) % components]
    return data


def _case(
    certificate: Certificate, problem: Any, said: Mapping[str, Any], queries: Queries, options: Any
) -> dict[str, Any]:
    """What was asked in Python, as far as it can be said."""
    given = getattr(getattr(problem, "base", problem), "given", {})  # a lifted problem's is the one of its base
    data: dict[str, Any] = {"source": text(given["source"]) if "source" in given else None}
    for key in ("dirichlet", "neumann"):
        if getattr(problem, "components", 2) == 1 and key in given:
            data[key] = {group: text(value) for group, value in given[key].items()}
    words = {"name": "name", "kind": "kind", "at": "at", "ball": "radius", "group": "group", "component": "component"}
    words |= {"accept": "accept"}
    asked = [{words[k]: row[k] for k in words if k in row} for row in said["queries"]]
    polish = certificate.evidence.polish
    known = {**({"polish": polish} if polish else {}), **(options or {})}
    sigma = any(claim.claim.startswith("σ̄ ") for claim in certificate.assumptions)
    notes = {
        "queries": [note for note in queries.notes if not note.startswith("ball averages ")],
        "space": list(getattr(problem, "system", problem).space.notes),
    }
    return {
        "title": said["title"],
        "units": said["units"],
        "problem": data,
        "queries": asked,
        "notes": notes,
        "certificate": {
            "method": certificate.method,
            "target": certificate.target,
            "rounding": certificate.rounding == "covered",
            "lift": getattr(problem, "lift", None) is not None,
            **({"weighted": True} if getattr(problem, "system", problem).weight is not None else {}),
            "options": {**known, **({"sigma": "given"} if sigma else {})},
        },
    }
