"""`pinnpoint certify` and `check` for case files with [box], which have no mesh."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.errors import InputError
from pinnpoint.cases.boxes import BoxCase, box_of
from pinnpoint.cases.tables import Table
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.json import identified
from pinnpoint.certificates.printed import table
from pinnpoint.certificates.verdicts import NEGATIVE, UNDECIDED
from pinnpoint.outputs.bundle.boxes import of_points, problem_of, write_box
from pinnpoint.outputs.tables import write_csv
from pinnpoint.systems.goals import Everywhere

BUNDLE = "bundle"


def certify_box(root: Table, arguments: argparse.Namespace, out: Path) -> int:
    """Certify, write certificate.json, certificate.csv and, where the checker can prove it again, a bundle."""
    case = box_of(root, arguments.case)
    found = case.certify()
    files, note = _write(case, found, out)
    if arguments.json:
        print(files[0].read_text(encoding="utf-8"), end="")
    elif not arguments.quiet:
        lines = [
            case.title,
            table(found, [] if isinstance(case.units, str) else case.labels),
            *([note] if note else []),
        ]
        print("\n".join([*lines, f"wrote {', '.join(map(str, files))}"]))
    words = [word for verdict in found.verdicts for word in verdict.values()]
    if any(word in NEGATIVE for word in words):
        return 4
    return 1 if UNDECIDED in words or not np.isfinite(found.radius).all() else 0


def _write(case: BoxCase, found: Certificate, out: Path) -> tuple[list[Path], str]:
    """The files, and why there is no bundle, or not of all."""
    out.mkdir(parents=True, exist_ok=True)
    files = [out / "certificate.json", out / "certificate.csv"]
    header: dict[str, Any] = {"title": case.title, "units": case.units}
    note, whole = "", not any(isinstance(goal, Everywhere) for goal in case.queries.goals)
    if (out / BUNDLE).exists():
        shutil.rmtree(out / BUNDLE)
    try:
        files.append(write_box(out / BUNDLE, found, case.box, case.prediction, case.queries, **header))
        note = "" if whole else "the bundle is about the points alone, not about the largest error"
    except InputError as error:
        note = f"no bundle: {error}"
    header["problem"] = problem_of(case.box.equation)
    data = of_points(found, case.queries, **header) if whole else found.to_dict(**header)
    data = identified(data | ({"notes": [*found.notes, note]} if note else {}))
    files[0].write_text(json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")
    write_csv(files[1], found, case.labels, data["id"])
    return files, note


def check_box(case: BoxCase) -> int:
    """What the case says; nothing is computed."""
    equation = case.box.equation
    sides = " × ".join(f"[{a.low:g}, {a.high:g}]" for a in equation.axes)
    print(f"{case.title}: a box {sides}, no mesh and no unknowns")
    for name, axis in zip(equation.variables, equation.axes, strict=False):
        print(f"axis {name}: {axis.ends[0]} and {axis.ends[1]}, diffusion {axis.kappa:g}, convection {axis.drift:g}")
    print("stationary" if equation.end is None else f"time: 0 to {equation.end:g}")
    print(f"reaction {equation.reaction:g}; {len(case.queries)} queries; method box")
    return 0
