"""What a certified population leaves behind: a table of its instances, its shares, and a report."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.linalg import spsolve

from pinnpoint.base.arrays import Vector, number
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import PathLike, write_whole
from pinnpoint.base.version import __version__
from pinnpoint.certificates.population import Population
from pinnpoint.fem.families.cellwise import Cellwise
from pinnpoint.fem.families.population_certifier import PopulationCertifier
from pinnpoint.report.population import PopulationView, Worst, write_population_report

TRIED = 8
"""Undecided instances that are tried with more steps to see what would decide them."""
MORE = 2
HELPS = 0.95
"""More steps help where they make the gap smaller by this factor."""
CHUNK = 256
COLUMNS = ("radius_median", "radius_largest", "away_median", "away_largest")


def write_population(
    population: Population,
    certifier: PopulationCertifier,
    out: PathLike,
    *,
    accept: float,
    query: str | int | None = None,
    title: str = "A population of predictions",
    features: Mapping[str, Any] | None = None,
    told: Mapping[str, str] | None = None,
) -> tuple[Path, Path, Path]:
    """Write population.csv, population.json and report.html into a folder; the three paths.

    Parameters
    ----------
    certifier
        The one that made the population: its mesh is drawn, and it tries whether steps or mesh are the remedy.
    accept
        How wrong a prediction may be: its relative energy error, or with `query` the relative error of that value.
    features
        Further columns, one number an instance, to draw the error against; those of κ come by themselves where the
        population knows its coefficients.
    told
        Where data and predictions come from, such as ``read_darcy(...).told``.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"out: '{folder}' is no folder; choose another name")
    accept = number("accept", accept, low=0.0)
    view = population_view(population, certifier, accept, query, title, features or {}, told or {})
    folder.mkdir(parents=True, exist_ok=True)
    rows = population.rows()
    summary = json.dumps(_summary(view), allow_nan=False, indent=1)
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return (
        write_whole(folder / "population.csv", [table.getvalue().encode("utf-8")]),
        write_whole(folder / "population.json", [summary.encode("utf-8")]),
        write_population_report(folder / "report.html", view),
    )


def population_view(
    population: Population,
    certifier: PopulationCertifier,
    accept: float,
    query: str | int | None,
    title: str,
    features: Mapping[str, Any],
    told: Mapping[str, str],
) -> PopulationView:
    """What the report shows."""
    shares, good = population.accepted(accept, query), population.certified
    verdicts = list(shares.verdicts)
    upper, lower = (population.error, population.lower) if query is None else _of_query(population, query)
    columns = coefficient_features(population, certifier) | {
        name: _column(name, values, len(population)) for name, values in features.items()
    }
    asked = None if query is None else population.names[population.column(query)]
    what = "relative energy error" if asked is None else f"relative error of {asked}"
    bare = PopulationView(title, what, accept, verdicts, upper, lower, population.number)
    row = bare.furthest
    return PopulationView(
        title,
        what,
        accept,
        verdicts,
        upper,
        lower,
        population.number,
        columns,
        [_query(population, q) for q in range(len(population.names))],
        [(int(population.number[i]), population.status[i]) for i in np.flatnonzero(~good)],
        remedy(population, certifier, accept, query),
        population.notes,
        {**told, "pinnpoint": __version__, "steps": _steps(population)},
        None if row is None else worst(population, certifier, row),
    )


def coefficient_features(population: Population, certifier: PopulationCertifier) -> dict[str, Vector]:
    """Contrast of κ, its mean, the share of its larger values and of facets at which it jumps."""
    found = {"contrast": np.asarray(population.contrast)}
    given, problem = population.instances, certifier.family.problem
    if given is None:
        return found
    mesh = problem.mesh
    X = mesh.points[mesh.cells]
    area = np.abs(np.linalg.det(X[:, 1:] - X[:, :1]))
    area = area / area.sum()
    pairs = _neighbours(mesh.cells)
    values = np.full((3, len(population)), math.nan)
    good = np.flatnonzero(population.certified)
    for start in range(0, len(good), CHUNK):
        some = good[start : start + CHUNK]
        K = certifier.family.on_cells(np.array([np.asarray(given.kappas[int(i)], dtype=np.float64) for i in some]))
        middle = np.sqrt(K.min(axis=1) * K.max(axis=1))
        values[:, some] = K @ area, (middle[:, None] < K) @ area, (K[:, pairs[0]] != K[:, pairs[1]]).mean(axis=1)
    names = ("mean of κ", "share of larger κ", "facets with a jump")
    return found | dict(zip(names, values, strict=True))


def _neighbours(cells: Any) -> Any:
    """Pairs of cells with a common facet, (2, F)."""
    v = cells.shape[1]
    facets = np.sort(cells[:, list(combinations(range(v), v - 1))].reshape(-1, v - 1), axis=1)
    order = np.lexsort(facets.T)
    same = np.flatnonzero((facets[order][1:] == facets[order][:-1]).all(axis=1))
    return np.stack([order[same] // v, order[same + 1] // v])


def remedy(population: Population, certifier: PopulationCertifier, accept: float, query: str | int | None) -> str:
    """Whether steps or the mesh leave instances undecided, as tried on a few of them."""
    open_ = population.undecided(accept, query)
    if not len(open_) or population.instances is None:
        return ""
    some = population.instances.only(open_[:TRIED])
    steps = int(population.steps[open_[:TRIED]].max()) + MORE
    more = replace(certifier, steps=steps, dual_steps=certifier.dual_steps + MORE, tolerance=None)
    again = more.certify_many(some.kappas, some.predictions, some.streams, mu=some.mu)
    ratio = float(np.median(again.gap / population.gap[open_[:TRIED]]))
    tried = f"tried on {len(again)} of {len(open_)} undecided instances with {steps} steps"
    if ratio < HELPS:
        return f"More steps: they make what is left {100.0 * (1.0 - ratio):.0f} % smaller ({tried})."
    if isinstance(certifier.prepared, Cellwise):
        return f"None of its own: more steps leave what rounding leaves, {100.0 * ratio:.0f} % of it ({tried})."
    return f"A finer mesh: more steps leave what the mesh leaves, {100.0 * ratio:.0f} % of it ({tried})."


def worst(population: Population, certifier: PopulationCertifier, row: int) -> Worst | None:
    """One instance as pictures; where it is wrong is drawn from the discrete solution, solved for this one."""
    given = population.instances
    if given is None or certifier.family.loads or certifier.family.problem.mesh.dim != 2:
        return None
    problem: Any = certifier.family.problem
    mesh = problem.mesh
    kappa = certifier.family.on_cells(np.asarray(given.kappas[row], dtype=np.float64)[None])[0]
    prediction = np.array(given.predictions[row], dtype=np.float64)
    data = problem.given
    one = type(problem)(mesh, data["source"], kappa, 0.0, data["dirichlet"], data["neumann"])
    free, U = one.space.free, np.array(one.space.U0)
    fixed = np.setdiff1d(np.arange(len(U)), free)
    prediction[fixed] = U[fixed]
    U[free] = spsolve(one.A[free][:, free].tocsc(), (one.b - one.A @ U)[free])
    X, v = mesh.points[mesh.cells], (U - prediction)[mesh.cells]
    e, f = X[:, 1] - X[:, 0], X[:, 2] - X[:, 0]
    double = e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0]
    a, b = v[:, 1] - v[:, 0], v[:, 2] - v[:, 0]
    slope = np.stack([a * f[:, 1] - b * e[:, 1], b * e[:, 0] - a * f[:, 0]]) / double
    share = kappa * np.abs(double) * (slope**2).sum(axis=0)
    total = float(share.sum())
    note = (
        "Where it is wrong: the root of each cell's share in the energy of prediction − discrete solution, as computed."
    )
    return Worst(mesh.points, mesh.cells, kappa, prediction, share / total if total > 0.0 else share, note)


def _of_query(population: Population, query: str | int) -> tuple[Vector, Vector]:
    """Bounds of |value − J(u)|/|J(u)|, for drawing; the verdicts are those of `accepted`."""
    q = population.column(query)
    away, size = np.abs(population.value[:, q] - population.center[:, q]), np.abs(population.center[:, q])
    radius = population.radius[:, q]
    with np.errstate(all="ignore"):
        upper = np.where(size > radius, (away + radius) / (size - radius), math.inf)
        lower = np.where(np.isfinite(radius), np.maximum(away - radius, 0.0) / (size + radius), 0.0)
    return upper, lower


def _query(population: Population, q: int) -> tuple[str, float, float, float, float]:
    good = population.certified
    if not good.any():
        return population.names[q], math.inf, math.inf, math.inf, math.inf
    radius, away = population.radius[good, q], np.abs(population.value[good, q] - population.center[good, q])
    middle, most = (float(np.median(radius)), float(np.median(away))), (float(radius.max()), float(away.max()))
    return population.names[q], middle[0], most[0], middle[1], most[1]


def _column(name: str, values: Any, count: int) -> Vector:
    try:
        column = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"features: '{name}' must have {count} numbers, one an instance; got others") from error
    if column.shape != (count,):
        raise InputError(f"features: '{name}' must have {count} numbers, one an instance; got shape {column.shape}")
    return column


def _steps(population: Population) -> str:
    steps = population.steps[population.certified]
    if not len(steps):
        return "none"
    least, most = int(steps.min()), int(steps.max())
    return str(most) if least == most else f"{least} to {most}"


def _summary(view: PopulationView) -> dict[str, Any]:
    """The report's numbers as strict JSON."""
    S = max(len(view.verdicts), 1)

    def plain(x: float) -> float | None:
        return float(x) if math.isfinite(x) else None

    known = np.isfinite(view.upper)
    levels = (0.05, 0.5, 0.95, 1.0) if known.any() else ()
    quantiles = {f"{q:g}": [plain(float(np.quantile(a[known], q))) for a in (view.lower, view.upper)] for q in levels}
    return {
        "schema": "pinnpoint-population/1",
        "title": view.title,
        "error": view.what,
        "accept": view.accept,
        "instances": len(view.verdicts),
        "shares": {word: count / S for word, count in view.counts.items()},
        "quantiles": quantiles,
        "worst": None if view.furthest is None else int(view.numbers[view.furthest]),
        "queries": [{"name": n} | dict(zip(COLUMNS, map(plain, numbers), strict=True)) for n, *numbers in view.queries],
        "remedy": view.remedy,
        "notes": list(view.notes),
        "told": dict(view.told),
    }
