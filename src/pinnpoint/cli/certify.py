"""`pinnpoint certify CASE.toml`: certify a case and write its outputs."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.errors import PinnpointError, shortage
from pinnpoint.base.files import read_bytes
from pinnpoint.base.workspace import keep_memory, return_memory
from pinnpoint.cases.read import case_of, read_case, table_of
from pinnpoint.cases.study import Result, build
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Guarantee
from pinnpoint.certificates.printed import changed_line, least_text, table, verdict_of
from pinnpoint.certificates.verdicts import BEYOND, NEGATIVE, UNDECIDED, VIOLATED
from pinnpoint.cli.process import launched
from pinnpoint.cli.progress import Stages, Told
from pinnpoint.cli.watch import LARGE, Watch
from pinnpoint.outputs.draft import FILES, Draft, require_place, write_outputs
from pinnpoint.outputs.tables import labels
from pinnpoint.report.surety import bounds


def run(arguments: argparse.Namespace) -> int:
    """Exit code 4 where a verdict is negative; else 1 where an interval is too wide or a verdict is open."""
    if arguments.petsc is not None or launched():
        return run_together(arguments)
    with Stages(6, quiet=arguments.quiet) as stage:
        watch, file = Watch(stage), read_bytes(arguments.case, "case file")
        keep_memory()
        out = arguments.out or Path(arguments.case).absolute().with_suffix("")
        require_place(out)
        table = table_of(file, arguments.case, arguments.set)
        if table.has("box"):
            from pinnpoint.cli.boxes import certify_box  # with all that boxes need

            return certify_box(table, arguments, out)
        case = case_of(table, arguments.case, arguments.set)
        study = build(case, watch, trust=arguments.trust_model)
        if study.problem.system.n > LARGE:
            return_memory()
        with Draft(study, out) as draft:
            stage(f"certifying {len(study.queries)} queries on {study.problem.system.n} unknowns")
            study = study.storing(draft.green_file())
            with Told(stage):
                result = study.certify(Watch(stage, draft, study.limits))
            stage("writing the outputs")
            files = draft.write(result)
    return tell(result, files, arguments)


def run_together(arguments: argparse.Namespace) -> int:
    """The same over several processes; the first one reads, writes and speaks for all."""
    from pinnpoint.distributed.certify import certify as together
    from pinnpoint.distributed.continuous import certify as shared
    from pinnpoint.distributed.team import Team, options_of

    team, trust = Team.assemble(arguments.petsc or ""), arguments.trust_model
    try:
        team.from_lead(lambda: options_of(arguments.petsc or ""))
        case = team.from_lead(lambda: read_case(arguments.case, arguments.set))
        out = arguments.out or case.path.with_suffix("")
        team.from_lead(lambda: require_place(out))
        with Stages(6, quiet=arguments.quiet or not team.leads()) as stage:
            if case.certificate.target == "continuous":
                result, files = shared(case, team, lambda done: write_outputs(done, out), Watch(stage), trust=trust)
            else:
                result = together(case, team, Watch(stage), trust=trust)
                stage("writing the outputs")
                files = team.from_lead(lambda: [] if result is None else write_outputs(result, out))
        code = 0 if result is None else tell(result, files or [], arguments)
        return team.from_lead(lambda: code)
    except PinnpointError:
        if team.leads():
            raise
        return 2
    except Exception as error:
        if isinstance(error, MemoryError):
            print(shortage(error), file=sys.stderr, flush=True)
        else:
            traceback.print_exc()
        team.comm.Abort(3)
        raise


def tell(result: Result, files: list[Path], arguments: argparse.Namespace) -> int:
    """Print the results; the exit code."""
    if arguments.json:
        print(files[0].read_text(encoding="utf-8"), end="")
    elif not arguments.quiet:
        print(summary(result, files))
    if why := unchecked(files):
        print(f"pinnpoint: the bundle cannot be re-checked: {why}", file=sys.stderr)
    words = [word for verdict in result.certificate.verdicts for word in verdict.values()]
    words += [word for one in result.certificate.derived for word in (one.verdicts or {}).values()]
    if any(word in NEGATIVE for word in words):
        return 4
    return 1 if wide(result).any() or UNDECIDED in words else 0


def unchecked(files: list[Path]) -> str:
    """Why the bundle that was written cannot be re-checked; empty where it can, and where there is none."""
    proof = next((path / "proof.json" for path in files if path.name == FILES[3]), None)
    if proof is None or not proof.is_file():
        return ""
    return str(json.loads(proof.read_text(encoding="utf-8")).get("unsupported", ""))


def wide(result: Result) -> Any:
    """Which intervals exceed their tolerance, or are unbounded."""
    radius = result.certificate.radius
    return (radius > result.study.limits) | ~np.isfinite(radius)


def verdicts(certificate: Certificate) -> list[str]:
    """What was not proved of what was asked, in words."""
    unproved = certificate.guarantee is Guarantee.ESTIMATE
    why = "an estimate proves nothing" if unproved else "the interval reaches to both sides"
    lines, verdicts = list[str](), certificate.verdicts
    if certificate.accept is not None and certificate.off is not None:
        least, _ = certificate.off
        for i, verdict in enumerate(verdicts):
            name, limit = certificate.names[i], f"accept = {certificate.accept[i]:g}"
            if verdict.get("accept") == BEYOND:
                beyond = verdict_of(certificate, BEYOND, limit)
                lines.append(f"{name}: the prediction is {beyond}, off by at least {least_text(least[i])}")
            elif verdict.get("accept") == UNDECIDED:
                lines.append(f"{name}: undecided whether the prediction is within {limit}, {why}")
    limited = list(zip(certificate.names, certificate.limits, verdicts, strict=True))
    limited += [(one.name, one.limit, dict(one.verdicts or {})) for one in certificate.derived]
    for name, wanted, verdict in limited:
        text = "" if wanted is None else bounds(wanted.said())
        if verdict.get("limit") == VIOLATED:
            lines.append(f"{name}: the limit, {text}, is {verdict_of(certificate, VIOLATED)}")
        elif verdict.get("limit") == UNDECIDED:
            lines.append(f"{name}: undecided whether the limit, {text}, holds; {why}")
    return lines


def summary(result: Result, files: list[Path]) -> str:
    """The table and what to open."""
    study, certificate = result.study, result.certificate
    units = [] if isinstance(study.case.units, str) else labels(study.case, study.problem.mesh.dim)
    lines = [study.case.title, table(certificate, units)]
    if len(result.history) > 1:
        first, last = result.history[0], result.history[-1]
        lines.append(f"refined {len(result.history) - 1} times, from {first.dofs} to {last.dofs} unknowns")
    narrowing = certificate.narrowing
    if narrowing is not None:
        low, high = f"{np.min(narrowing):.3g}", f"{np.max(narrowing):.3g}"
        span = low if low == high else f"{low} to {high}"
        lines.append(f"the proof is {span} times narrower than without the prediction on the same mesh")
    if result.stopped:
        lines.append(f"stopped early: {result.stopped}")
    changed = certificate.details["projection_mismatch"]
    if changed > 0.0 and not any(note.startswith(changed_line(changed)) for note in certificate.notes):
        lines.append(changed_line(changed))
    for i in np.flatnonzero(wide(result)):
        what = "wider than its tolerance" if np.isfinite(certificate.radius[i]) else "unbounded, nothing is proved"
        lines.append(f"{certificate.names[i]}: {what}")
    lines += verdicts(certificate)
    declared = [c.claim for c in certificate.assumptions if c.status == "declared"]
    lines += [f"declared, not verified: {claim}" for claim in declared]
    lines.append(f"wrote {', '.join(json.dumps(str(f))[1:-1] for f in files)}")
    return "\n".join(lines)
