"""Loss curves of the trained benchmark, and a population left behind: python docs/predictor_plots.py.

Draws docs/training.svg and docs/population.svg with matplotlib (extra ``plot``) from the stored numbers of
studies/train_benchmark.py and studies/out_of_distribution.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parent / "studies" / "results"
COLOURS = {8: "#d1495b", 16: "#edae49", 24: "#3a7d44", 32: "#00507a"}


def stored(study: str) -> list[dict[str, Any]]:
    """Rows of a study."""
    rows: list[dict[str, Any]] = json.loads((RESULTS / study / "result.json").read_text(encoding="utf-8"))
    return rows


def training(pyplot: Any) -> Any:
    """Loss by epoch, mesh and seed: the compatible residual beside plain collocation."""
    figure, both = pyplot.subplots(1, 2, figsize=(8.6, 3.6), sharey=True, layout="constrained")
    rows = stored("train-benchmark")
    titles = {"compatible": "residual of the certified system", "collocation": "plain collocation"}
    for axes, (kind, title) in zip(both, titles.items(), strict=True):
        for row in (r for r in rows if r["kind"] == kind):
            curve = row["loss curve"]
            step = 600 // len(curve)
            told = f"{row['cells']} cells a side" if row["seed"] == 0 else None
            axes.plot([step * k for k in range(len(curve))], curve, color=COLOURS[row["cells"]], lw=1, label=told)
        seconds = [r["training seconds"] for r in rows if r["kind"] == kind]
        axes.set_title(f"{title}\n{min(seconds):.0f} to {max(seconds):.0f} s a network", fontsize=10)
        axes.set_xlabel("epoch")
        axes.set_yscale("log")
        axes.grid(color="#e3e6ea")
    both[0].set_ylabel("normalised loss, seeds 0, 1, 2")
    both[0].legend(fontsize=8)
    return figure


def population(pyplot: Any) -> Any:
    """Share of intervals that hold, and of loads that are flagged, against the distance from the training loads."""
    figure, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    rows = stored("out-of-distribution")
    shift = [row["shift"] for row in rows]
    axes.plot(shift, [r["proved coverage"] for r in rows], "o-", color="#00507a", label="proved intervals that hold")
    axes.plot(
        shift,
        [r["conformal coverage"] for r in rows],
        "s-",
        color="#d1495b",
        label="95 % conformal bands that hold (statistical)",
    )
    axes.plot(
        shift,
        [r["flagged by the monitor"] for r in rows],
        "^--",
        color="#7a7a7a",
        label="loads that the monitor flags",
    )
    axes.axhline(0.95, color="#d1495b", lw=0.8, ls=":")
    axes.set_xlabel("distance of the loads from those of the training and calibration")
    axes.set_ylabel("share")
    axes.set_ylim(-0.03, 1.05)
    axes.grid(color="#e3e6ea")
    axes.legend(fontsize=8, loc="center right")
    return figure


def main() -> None:
    """Write both pictures."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "pinnpoint", "svg.fonttype": "none", "font.size": 10})
    from matplotlib import pyplot

    for name, draw in (("training", training), ("population", population)):
        draw(pyplot).savefig(HERE / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
