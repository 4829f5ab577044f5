"""Intervals with matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pinnpoint.base.errors import DependencyMissingError
from pinnpoint.report.headline import stated, telling
from pinnpoint.report.units import bracketed, common, own


def draw(data: Mapping[str, Any], ax: Any = None) -> Any:
    """What the prediction says and what is proved, one row per query; an unbounded interval has no bar."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise DependencyMissingError("plot needs matplotlib: pip install 'pinnpoint[plot]'") from error
    rows = data["queries"]
    if ax is None:
        ax = pyplot.subplots(figsize=(6.4, 1.2 + 0.38 * len(rows)), layout="constrained")[1]
    at, worth = range(len(rows)), telling(rows)["guarantee"]
    bounded = [i for i in at if rows[i]["radius"] is not None]
    ax.errorbar(
        [rows[i]["center"] for i in bounded],
        bounded,
        xerr=[rows[i]["radius"] for i in bounded],
        fmt="|",
        capsize=4,
        label="proved" if worth == "deterministic" else worth,
    )
    ax.plot([math.nan if (x := stated(row)) is None else x for row in rows], at, "o", mfc="none", label="prediction")
    ax.set_yticks(list(at), [(row["name"] + bracketed(own(data, row))).replace("$", r"\$") for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel(f"value{bracketed(common(data))}")
    ax.set_title(f"intervals of {data['interval_of']}", fontsize="small")
    ax.legend()
    return ax
