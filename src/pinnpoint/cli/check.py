"""`pinnpoint check CASE.toml`: validate a case and say what it holds, without solving anything."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.cases import build
from pinnpoint.cli.progress import Stages
from pinnpoint.io.cases import read_case
from pinnpoint.mesh import BOUNDARY, CELLS, Mesh

MEASURES = {0: "points", 1: "length", 2: "area", 3: "volume"}


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("check", help="validate a case file; print groups, conditions, loads and memory")
    parser.add_argument("case", type=Path, metavar="CASE.toml")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="replace a value of the case")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Everything that certify would refuse is refused here, but for what only a solve can show."""
    case = read_case(arguments.case, arguments.set)
    with Stages(4, quiet=True) as stage:
        study = build(case, stage)
    problem, mesh = study.problem, study.problem.mesh
    unit = f" [{case.units}]" if case.units else ""
    print(
        f"{case.title}: {case.problem.kind}, {mesh.dim}D, {len(mesh.cells)} {CELLS[mesh.dim]}, {len(mesh.points)} nodes"
    )
    for line in groups(mesh, unit):
        print(line)
    for kind, table in problem.conditions.items():
        for group, value in table.items():
            print(f"{kind} on '{group}': {_show(value)}")
    load = ", ".join(f"{v:.6g}" for v in np.atleast_1d(problem.total_load))
    print(f"total applied load{unit}: {load}")
    print(f"quadrature order {problem.quadrature}; {len(study.queries)} queries; method {case.certificate.method}")
    print(f"unknowns: {problem.system.n} of {problem.system.N}")
    print(f"predicted memory: {memory(problem, len(study.queries)):.2f} GB")
    return 0


def groups(mesh: Mesh, unit: str) -> list[str]:
    """One line per group: its dimension, its number of members and its size."""
    found = [(n, mesh.dim, "cells", len(c), mesh.volumes[c].sum()) for n, c in mesh.cell_groups.items()]
    for name in [*mesh.facet_groups, *([] if BOUNDARY in mesh.facet_groups else [BOUNDARY])]:
        facets = mesh.facets(name)
        found.append((name, mesh.dim - 1, "facets", len(facets), mesh.facet_measures(facets).sum()))
    return [f"group '{n}': {d}D, {count} {what}, {MEASURES[d]} {size:.6g}{unit}" for n, d, what, count, size in found]


def memory(problem: Any, queries: int) -> float:
    """Peak memory in GB, from measured growth: assembled matrix, LU factors with their fill, vectors per query."""
    n, entries = problem.system.n, problem.A.nnz
    dim = problem.mesh.dim
    fill = {1: 4.0, 2: 3.1 * max(1.0, np.log2(max(n, 2))) / 2.0, 3: 0.9 * n ** (1.0 / 3.0)}[dim]
    return float(0.16 + (12.0 * entries * 9.0 + 16.0 * fill * entries + 8.0 * n * queries * 5.0) / 2**30)


def _show(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "(" + ", ".join("free" if v is None else _show(v) for v in value) + ")"
    return str(getattr(value, "text", value))
