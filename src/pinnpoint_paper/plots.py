"""Figures by matplotlib (extra ``plot``), imported late and without its global state."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.errors import DependencyMissingError
from pinnpoint_paper.results import replace, write
from pinnpoint_paper.study import Drawing

BLUE, RED, GREEN, GOLD, GREY, PURPLE = "#1f5fa8", "#c8402f", "#2e8b57", "#c98a00", "#6b7280", "#7a4fa3"
STYLE = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "svg.hashsalt": "pinnpoint",
    "figure.dpi": 110.0,
}
CAPTIONS = "captions.json"


def require() -> Any:
    """matplotlib, or a refusal that names the extra."""
    try:
        import matplotlib
    except ImportError as error:
        raise DependencyMissingError(
            "figures need matplotlib: pip install 'pinnpoint[plot]', or pass --no-figures for the numbers alone"
        ) from error
    return matplotlib


def styled() -> Any:
    """A context in which figures are drawn and saved."""
    return require().rc_context(STYLE)


def canvas(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure and its axes as an array (rows, columns)."""
    require()
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def logs(ax: Any, x: str, y: str, title: str = "") -> None:
    """Both axes logarithmic, with labels."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    label(ax, x, y, title)


def label(ax: Any, x: str, y: str, title: str = "") -> None:
    """Axis labels and a title."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(title, loc="left")


def ticks(ax: Any, values: Any) -> None:
    """These ticks on the x axis and no others."""
    values = list(values)
    from matplotlib.ticker import NullLocator

    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(values, [f"{v:g}" for v in values])


def whole(ax: Any) -> None:
    """Whole numbers on the x axis."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def legend(ax: Any, room: float = 1.0, **options: Any) -> None:
    """A legend, with the y axis stretched upwards by a factor to make room for it."""
    if room != 1.0:
        low, high = ax.get_ylim()
        ax.set_ylim(low, high * room if ax.get_yscale() == "log" else low + (high - low) * room)
    ax.legend(**options)


def field(ax: Any, points: Any, cells: Any, values: Any, **options: Any) -> Any:
    """A nodal field on triangles."""
    from matplotlib.tri import Triangulation

    X = np.asarray(points)
    shown = ax.tripcolor(Triangulation(X[:, 0], X[:, 1], cells), np.asarray(values), shading="gouraud", **options)
    shown.set_rasterized(True)
    ax.set_aspect("equal")
    ax.grid(visible=False)
    return shown


def save(drawings: list[Drawing], folder: Path) -> None:
    """PNG and SVG of each figure, and the captions."""
    for drawing in drawings:
        for kind in ("png", "svg"):
            held = BytesIO()
            told = {"Date": None} if kind == "svg" else {"Software": None}
            with styled():
                drawing.figure.savefig(held, format=kind, dpi=150, metadata=told)
            drawing.figure.set_layout_engine("none")  # the second kind keeps the places of the first
            replace(folder / f"{drawing.name}.{kind}", held.getvalue())
    write(folder / CAPTIONS, [{"name": d.name, "caption": d.caption} for d in drawings])


def captions(folder: Path) -> list[dict[str, str]]:
    """Names and captions of the figures in a folder."""
    try:
        found = json.loads((folder / CAPTIONS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [c for c in found if (folder / f"{c['name']}.png").exists()]
