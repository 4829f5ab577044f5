"""`pinnpoint certify CASE.toml`: certify a case and write its outputs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.cases import Study, build
from pinnpoint.certificate import Certificate
from pinnpoint.cli.progress import Stages
from pinnpoint.io.cases import Case, read_case
from pinnpoint.outputs import require_place, write_outputs


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("certify", help="certify a case file and write certificate, table and field")
    parser.add_argument("case", type=Path, metavar="CASE.toml")
    parser.add_argument("--out", type=Path, help="folder for the outputs (default: the case's name beside it)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="replace a value of the case")
    parser.add_argument("--json", action="store_true", help="print the certificate as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress, no table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 where an interval is wider than its tolerance."""
    case = read_case(arguments.case, arguments.set)
    out = arguments.out or case.path.with_suffix("")
    require_place(out)
    with Stages(6, quiet=arguments.quiet) as stage:
        study = build(case, stage)
        stage(f"certifying {len(study.queries)} queries on {study.problem.system.n} unknowns")
        certificate, certifier = study.certify()
        stage("writing the outputs")
        files = write_outputs(study, certificate, certifier, out)
    if arguments.json:
        print(files[0].read_text(encoding="utf-8"), end="")
    elif not arguments.quiet:
        print(summary(study, certificate, files))
    return 1 if wide(case, certificate).any() else 0


def wide(case: Case, certificate: Certificate) -> Any:
    """Which intervals exceed their tolerance."""
    limits = np.array([np.inf if q.tolerance is None else q.tolerance for q in case.queries])
    return certificate.radius > limits


def summary(study: Study, certificate: Certificate, files: list[Path]) -> str:
    """The table and what to open."""
    lines = [study.case.title, str(certificate)]
    changed = certificate.details["projection_mismatch"]
    if changed > 0.0:
        lines.append(f"boundary conditions changed the prediction by at most {changed:.3g} at a node")
    for name, flag in zip(certificate.names, wide(study.case, certificate), strict=True):
        if flag:
            lines.append(f"{name}: wider than its tolerance")
    declared = [c.claim for c in certificate.assumptions if c.status == "declared"]
    lines += [f"declared, not verified: {claim}" for claim in declared]
    lines.append(f"wrote {', '.join(json.dumps(str(f))[1:-1] for f in files)}")
    return "\n".join(lines)
