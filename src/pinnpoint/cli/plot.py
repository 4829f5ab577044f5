"""`pinnpoint plot RESULT`: the intervals of a certificate as PNG, SVG or PDF, without a browser."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.report.headline import an_error, stated

SUFFIXES = (".png", ".svg", ".pdf")
MOST = 60
"""Queries that one picture shows."""


def run(arguments: argparse.Namespace) -> int:
    """Draw what was proved beside what was predicted."""
    result, out = arguments.result, arguments.out
    path = result / "certificate.json" if result.is_dir() else result
    out = path.with_name("intervals.png") if out is None else out
    if out.suffix not in SUFFIXES:
        raise InputError(f"--out: must end in {', '.join(SUFFIXES)}; got '{out.name}'")
    try:
        certificate = json.loads(path.read_text(encoding="utf-8"))
        rows = certificate["queries"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"RESULT: must be a certificate.json or a folder with one; '{path}': {type(error).__name__}"
        ) from error
    draw(certificate, rows[:MOST], out)
    more = f", the first {MOST} of {len(rows)} queries" if len(rows) > MOST else ""
    print(f"wrote {out}{more}")
    return 0


def draw(certificate: dict[str, Any], rows: list[dict[str, Any]], out: Path) -> None:
    """One line a query, each on its own scale: the interval, and the prediction where it is."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise DependencyMissingError("plot needs matplotlib: pip install 'pinnpoint[plot]'") from error
    figure = Figure(figsize=(8.0, 0.5 * len(rows) + 1.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
    for panel, row in zip(panels, rows, strict=True):
        if row["lower"] is None or row["upper"] is None:
            panel.text(0.5, 0.5, "nothing was proved", ha="center", va="center", transform=panel.transAxes)
        else:
            panel.plot([row["lower"], row["upper"]], [0.0, 0.0], color="#00507a", linewidth=6, solid_capstyle="butt")
        if stated(row) is not None:
            panel.plot([stated(row)], [0.0], "o", color="#d1495b")
        held = an_error(row)
        panel.set_ylabel(
            row["name"] if held is None else f"{row['name']}\n({held})", rotation=0, ha="right", va="center"
        )
        panel.set_yticks([])
        panel.tick_params(labelsize=7)
        panel.margins(x=0.15)
    units = certificate.get("units") or "no units"
    title = f"{certificate.get('title') or 'certificate'} ({units}): proved intervals, and the prediction (dot)"
    figure.suptitle(title, fontsize=10)
    figure.savefig(out, dpi=150)
