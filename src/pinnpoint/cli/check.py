"""`pinnpoint check CASE.toml`: validate a case and say what it holds, without solving anything."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index
from pinnpoint.base.errors import in_words
from pinnpoint.cases.boxes import box_of
from pinnpoint.cases.read import case_of, read_table
from pinnpoint.cases.study import arguments_of, build
from pinnpoint.cli.boxes import check_box
from pinnpoint.cli.peak import moving_bytes, peak
from pinnpoint.fem.curved.bending import Bending
from pinnpoint.fem.elastic.loads import Load
from pinnpoint.fem.lifts.lifted import AbstractLifted
from pinnpoint.fem.parabolic.asking import MovingQueries
from pinnpoint.fem.problem import FiniteElements
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.curves import curve_notes
from pinnpoint.mesh.mesh import BOUNDARY, CELLS, Mesh
from pinnpoint.mesh.quality import quality, unjoined_notes
from pinnpoint.report.units import Units, bracketed, label
from pinnpoint.rounding.coercivity import NEARLY, z_part
from pinnpoint.solvers.choice import GB, MODULES, ROUGH_FROM, Choice, Task, asked_for, choose
from pinnpoint.solvers.direct import DENSE_UP_TO
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.transfer.equilibrated import Equilibrated, foreseen

MEASURES = {0: "points", 1: "length", 2: "area", 3: "volume"}


def run(arguments: argparse.Namespace) -> int:
    """Everything that certify would refuse is refused here, but for what only a solve can show."""
    table = read_table(arguments.case, arguments.set)
    if table.has("box"):
        return check_box(box_of(table, arguments.case))
    case = case_of(table, arguments.case, arguments.set)
    study = build(case, trust=arguments.trust_model)
    study.problem.extract(study.prediction)
    forecasts: list[str] = []
    if case.certificate.target == "continuous":  # points without a ball, bodies that can move, groups that are no data
        with in_words(arguments_of(case)):
            forecasts = _forecasts(study.problem.transfer(study.queries, None, case.certificate.budget))
    problem: Any = study.problem.base if isinstance(study.problem, AbstractLifted) else study.problem
    mesh = problem.mesh
    quadratic = ", quadratic elements" if study.problem.degree == 2 else ""
    print(
        f"{case.title}: {case.problem.kind}, {mesh.dim}D, {len(mesh.cells)} {CELLS[mesh.dim]}, {len(mesh.points)} nodes"
        f"{quadratic}"
    )
    if mesh.dim > 1:
        shape = quality(mesh)
        kind = "dihedral angles" if mesh.dim == 3 else "angles"
        print(f"{kind} {shape.angle:.1f} to {shape.widest:.1f} degrees; smallest radius ratio {shape.ratio:.3f} of 1")
    for note in unjoined_notes(mesh):
        print(note)
    bending = problem.bending if isinstance(problem, ReactionDiffusion) else None
    for line in groups(mesh if bending is None else bending.mesh, case.units, bending):
        print(line)
    curved = problem.curve_notes() if isinstance(problem, FiniteElements) else curve_notes(mesh)
    for note in (*curved, *mesh.remarks, *forecasts):
        print(f"note: {note}")
    for kind, table in problem.conditions.items():
        for group, value in table.items():
            print(f"{kind} on '{group}': {_show(value)}")
    for note in problem.space.notes:
        print(note)
    if study.deck is not None:
        chosen = study.deck.subcases[int(case.problem.subcase or 1)]
        name, held = study.deck.path.name, problem.system.N - problem.system.n
        print(f"deck '{name}', subcase {chosen.number} '{chosen.label}': {held} displacements held or tied")
        print(f"passed over, no effect on the solution: {', '.join(study.deck.ignored) or 'nothing'}")
    load = ", ".join(f"{v:.6g}" for v in np.atleast_1d(problem.total_load))
    print(f"total applied load{bracketed(label(case.units, 'load', mesh.dim))}: {load}")
    print(f"quadrature order {problem.quadrature}; {len(study.queries)} queries; method {case.certificate.method}")
    if isinstance(problem, MovingQueries):
        for line in moving(problem, len(study.queries), discrete=case.certificate.target == "discrete"):
            print(line)
        return 0
    print(f"unknowns: {problem.system.n} of {problem.system.N}")
    asked = str((case.certificate.options or {}).get("solver", "auto"))
    if case.kind.linear and asked in ("auto", *MODULES):
        choice = choice_for(problem, len(study.queries), asked)
        print(f"solver: {choice}")
    else:
        choice = None
    print(f"predicted memory: {memory(problem, len(study.queries), choice):.2f} GB")
    return 0


def moving(problem: MovingQueries, queries: int, *, discrete: bool) -> list[str]:
    """What is special of a problem in time: its grid, and what the sweeps need."""
    grid, n = problem.grid, problem.stationary.space.n
    short, long = float(grid.lengths.min()), float(grid.lengths.max())
    damped = f", the first {grid.damped} damped" if grid.damped else ""
    need = moving_bytes(problem, queries, discrete=discrete)
    return [
        f"time: 0 to {grid.end:g} in {grid.steps} steps of {short:.3g} to {long:.3g}, {grid.scheme}{damped}",
        f"unknowns: {n * grid.rows}, {n} at each of {grid.rows} levels",
        "solver: sweeps in time, one factorization for each length of a step",
        f"predicted memory: {need / GB:.2f} GB",
    ]


def choice_for(problem: Any, queries: int, name: str) -> Choice:
    """The solver that `certify` will take, unless the matrix turns out not to be positive definite."""
    n = problem.system.n
    if n <= DENSE_UP_TO and name == "auto":
        return Choice("dense LU", "small", 0.0)
    task = Task(n, int(problem.A.nnz * n / problem.system.N), problem.mesh.dim, queries, True)
    if name != "auto":
        return asked_for(name, task)
    if isinstance(problem.system, LinearSystem) and problem.system.is_matrix and not task.small:
        task = task.analysed(problem.system.free_block, problem.system.row_points)
    return choose(task)[0]


def groups(mesh: Mesh, units: Units, bending: Bending | None = None) -> list[str]:
    """One line per group: its dimension, its number of members and its size, on curved domains that in the domain."""

    def size_of(simplices: Index, flat: Any) -> float:
        return float(flat.sum()) if bending is None else bending.size_of(simplices)

    cells = mesh.cell_groups.items()
    found = [(n, mesh.dim, "cells", len(c), size_of(mesh.cells[c], mesh.volumes[c])) for n, c in cells]
    for name in [*mesh.facet_groups, *([] if BOUNDARY in mesh.facet_groups else [BOUNDARY])]:
        facets = mesh.facets(name)
        found.append((name, mesh.dim - 1, "facets", len(facets), size_of(facets, mesh.facet_measures(facets))))
    return [
        f"group '{n}': {d}D, {count} {what}, {MEASURES[d]} {size:.6g}{bracketed(label(units, MEASURES[d]))}"
        for n, d, what, count, size in found
    ]


def memory(problem: Any, queries: int, choice: Choice | None = None) -> float:
    """Peak memory of `certify` in GB; see `peak`."""
    system, mesh = problem.system, problem.mesh
    easy = z_part(problem.A)[1] <= NEARLY * float(problem.A.diagonal().max())
    task = Task(system.n, int(problem.A.nnz * system.n / system.N), mesh.dim, queries, True)
    rough = (
        not easy
        and mesh.dim == 3
        and system.n >= ROUGH_FROM
        and isinstance(system, LinearSystem)
        and system.floor is not None
    )
    name = "superlu" if choice is None else choice.name
    return peak(name, task, len(mesh.cells), problem.components, problem.degree, easy=easy, rough=rough) / GB


def _forecasts(route: Any) -> list[str]:
    """What is to be expected of intervals, where that is nothing good: large Péclet numbers, small balls."""
    if not isinstance(route, Equilibrated):
        return []
    each = zip(route.queries.names, route.goals, strict=True)
    return [*foreseen(route.model), *(f"query '{name}': {J.outlook}" for name, J in each if J.outlook)]


def _show(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "(" + ", ".join("free" if v is None else _show(v) for v in value) + ")"
    return value.text if isinstance(value, Expression | Load) else str(value)
