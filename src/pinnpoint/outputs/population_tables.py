"""The report of a campaign's table: a population of any size, of which only the rows are left."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, number
from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.base.files import PathLike
from pinnpoint.base.version import __version__
from pinnpoint.report.population import PopulationView, write_population_report

COLUMNS = ("number", "status", "error", "error_lower", "contrast")
CERTIFIED = "certified"
NOTES = (
    "every bound was proved when its row was written, rounding included; the table itself is taken as it is",
    "κ is one number on each cell, as stored, and the domain the one that the mesh covers",
)

TARGETS = {
    "continuous": "bounds are about the solution of the PDE itself",
    "discrete": "bounds are about the solution of the discrete system, not about the PDE's",
}
UNTOLD = "the table does not say whether bounds are about the PDE's solution or the discrete system's"


def report_table(table: PathLike, path: PathLike, *, accept: float, title: str = "A campaign") -> Path:
    """Write the report of a table of `campaigns.run_population`, CSV or Parquet, for relative energy errors.

    Without coefficients there are no pictures and no remedy; `write_population` has them for populations at hand.
    """
    source, accept = Path(table), number("accept", accept, low=0.0)
    columns = _csv(source) if source.suffix.lower() == ".csv" else _parquet(source)
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        raise InputError(f"table: '{source}' has no column '{missing[0]}'; it is no table of a population")
    order = np.argsort(columns["number"].astype(np.int64), kind="stable")
    of = {name: values[order] for name, values in columns.items()}
    upper, lower, status = of["error"].astype(float), of["error_lower"].astype(float), of["status"].astype(str)
    good = status == CERTIFIED
    verdicts = np.where(
        ~good, "refused", np.where(upper <= accept, "within", np.where(lower > accept, "beyond", "undecided"))
    )
    view = PopulationView(
        title,
        "relative energy error",
        accept,
        verdicts.tolist(),
        np.where(good, upper, math.inf),
        np.where(good, lower, 0.0),
        of["number"].astype(np.int64),
        {"contrast": of["contrast"].astype(float)},
        [_query(name.removesuffix(" radius"), of, good) for name in of if name.endswith(" radius")],
        [(int(of["number"][i]), str(status[i])) for i in np.flatnonzero(~good)],
        notes=(*NOTES, *_targets(of)),
        told={"table": source.name, "pinnpoint": __version__},
    )
    return write_population_report(path, view)


def _targets(of: dict[str, Any]) -> list[str]:
    """What the rows are about, in words."""
    if "target" not in of:
        return [UNTOLD]
    found = sorted(set(of["target"].astype(str)))
    if len(found) > 1:
        raise InputError(f"table: has rows of several targets ({', '.join(found)}); report them apart")
    return [TARGETS.get(found[0], UNTOLD)]


def _query(name: str, of: dict[str, Any], good: Any) -> tuple[str, float, float, float, float]:
    radius = of[f"{name} radius"][good].astype(float)
    away = np.abs(of[f"{name} value"][good].astype(float) - of[f"{name} center"][good].astype(float))
    if not len(radius):
        return name, math.inf, math.inf, math.inf, math.inf
    return name, float(np.median(radius)), float(radius.max()), float(np.median(away)), float(away.max())


def _csv(path: Path) -> dict[str, Vector]:
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"table: '{path}' could not be read ({str(error)[:100]})") from error
    if not rows:
        raise InputError(f"table: '{path}' has no rows yet")
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _parquet(path: Path) -> dict[str, Vector]:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DependencyMissingError("table: Parquet needs pyarrow: pip install 'pinnpoint[parquet]'") from error
    files = sorted(path.glob("part-*.parquet"))
    if not files:
        raise InputError(f"table: '{path}' is no folder of Parquet files of a campaign")
    parts = [pq.read_table(file, partitioning=None) for file in files]
    return {
        name: np.concatenate([np.asarray(part[name].to_pylist()) for part in parts]) for name in parts[0].schema.names
    }
