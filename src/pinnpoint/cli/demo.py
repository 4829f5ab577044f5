"""`pinnpoint demo`: certify a really trained PINN whose loss is tiny and whose value is wrong between its samples."""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.cases.queries import make_queries
from pinnpoint.cases.read import read_case
from pinnpoint.cases.study import Study, make_method, make_problem, open_mesh
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.cli.progress import Stages
from pinnpoint.models.networks import hidden_bump
from pinnpoint.outputs.draft import require_place, write_outputs

CASE = """title = "A PINN with a hidden bump"
units = "1"
[mesh]
generate = "square"
cells = 80
[problem]
kind = "reaction-diffusion"
source = "{source}"
[problem.dirichlet]
boundary = 0.0
[prediction]
file = "prediction.npz"     # the network's values at the mesh nodes
[[query]]
name = "bump"
at = [{x}, {y}]
[[query]]
name = "centre"
at = [0.5, 0.5]
[[query]]
name = "average"
kind = "average"
at = [0.3, 0.7]
radius = 0.2
# [certificate]
# accept = 0.01             # how wrong the network may be: proved within, proved beyond (exit code 4), or undecided
"""


def run(arguments: argparse.Namespace) -> int:
    """The main job on an embedded case."""
    out = arguments.out
    require_place(out)
    if arguments.which == "operator":
        from pinnpoint.cli.demo_operator import run as run_operator

        return run_operator(arguments)
    bump = hidden_bump.load()
    with Stages(6, quiet=arguments.quiet) as stage, tempfile.TemporaryDirectory() as folder:
        x, y = bump.worst_point
        path = Path(folder) / "case.toml"
        path.write_text(CASE.format(source=bump.source_text, x=float(x), y=float(y)), encoding="utf-8")
        np.savez(Path(folder) / "prediction.npz", values=np.zeros(1))
        case = read_case(path)
        stage("assembling")
        problem = make_problem(case, open_mesh(case))
        nodal = problem.extract(bump.network)
        np.savez(Path(folder) / "prediction.npz", values=nodal.U, points=problem.mesh.points)
        study = Study(case, problem, bump.network, make_queries(case, problem), make_method(case))
        stage("certifying")
        result = study.certify()
        certificate = result.certificate
        stage("writing")
        files = write_outputs(result, out)
        for name in ("case.toml", "prediction.npz"):
            (out / name).write_bytes((Path(folder) / name).read_bytes())
    print(story(bump, certificate))
    print(f"Open {out / 'report.html'} in a browser. The numbers are in {files[0]}, the fields in {files[2]}.")
    print(f"Change {out / 'case.toml'} and run: pinnpoint certify {out / 'case.toml'}")
    return 0


def story(bump: Any, certificate: Certificate) -> str:
    """A table that a person can read."""
    lines = [
        "A PINN for -Laplace(u) = 2 pi^2 sin(pi x) sin(pi y), u = 0 on the boundary of the unit square.",
        f"Its loss at its {len(bump.collocation)} collocation points is {bump.loss:.1e}. Is it right in between?",
        "",
        f"{'query':8}  {'PINN says':>10}  {'proved interval of the solution':>31}  {'PINN is off by at least':>23}",
    ]
    assert certificate.prediction is not None
    assert certificate.off is not None
    for i, name in enumerate(certificate.names):
        raw, off = certificate.prediction[i], certificate.off[0][i]
        interval = f"[{_down(certificate.lower[i]):.6f}, {_up(certificate.upper[i]):.6f}]"
        lines.append(f"{name:8}  {raw:10.6f}  {interval:>31}  {_down(off):23.6f}")
    worst = int(np.argmax(np.abs(certificate.value - certificate.center)))
    lines += [
        "",
        f"The loss saw nothing; the certificate proves '{certificate.names[worst]}' wrong. The intervals hold "
        f"{certificate.interval_of}: {certificate.guarantee}, rounding {certificate.rounding}.",
    ]
    return "\n".join(lines)


def _down(x: float) -> float:
    """Six decimals, rounded down."""
    return math.floor(x * 1e6) / 1e6


def _up(x: float) -> float:
    """Six decimals, rounded up."""
    return math.ceil(x * 1e6) / 1e6
