"""Radius against unknowns, uniform against adaptive, P1 against P2: python docs/tolerance_plots.py [--draw].

Certifies −Δu = 1, u = 0 on the boundary, at one point of each domain (some minutes on one core), writes the numbers to
docs/tolerance.json and draws docs/tolerance-*.svg with matplotlib (extra ``plot``); --draw draws the numbers that are
there.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pinnpoint as pp

HERE = Path(__file__).parent
Curve = list[tuple[int, float]]


@dataclass(frozen=True)
class Panel:
    """One domain: uniform meshes by degree, where refinement starts and ends, and the promise drawn as dots."""

    title: str
    at: tuple[float, ...]
    sizes: dict[int, tuple[int, ...]]
    start: int
    most: dict[int, int]
    tolerance: float
    promised: tuple[tuple[int, float], ...] = ()


PANELS = {
    "frame": Panel(
        "(−1, 1)² without [−½, ½]², u(¾, ¾)", (0.75, 0.75), {1: (4, 8, 16, 32, 64, 96), 2: (4, 8, 16, 32, 48)}, 4,
        {1: 20_000, 2: 12_000}, 1e-6, ((1200, 1e-4), (11_000, 1e-6)),
    ),
    "lshape": Panel(
        "L-shape, u(−½, ½)", (-0.5, 0.5), {1: (2, 4, 8, 16, 32, 64), 2: (2, 4, 8, 16, 32)}, 2,
        {1: 20_000, 2: 12_000}, 1e-6,
    ),
    "cube": Panel(
        "unit cube, u(½, ½, ½)", (0.5, 0.5, 0.5), {1: (3, 6, 12, 20), 2: (2, 3, 6, 10)}, 3, {1: 8000, 2: 12_000}, 1e-5,
        ((12_000, 1e-5),),
    ),
    "fichera": Panel(
        "Fichera corner, u(−0.4, −0.4, 0.4)", (-0.4, -0.4, 0.4), {1: (2, 4, 8, 12), 2: (2, 4, 6, 8)}, 2,
        {1: 12_000, 2: 30_000}, 1e-4, ((30_000, 1e-4),),
    ),
}  # fmt: skip
LOOKS: dict[str, Any] = {
    "P1 uniform": {"color": "#d1495b", "linestyle": "--", "marker": "o", "markerfacecolor": "white"},
    "P1 adaptive": {"color": "#d1495b", "marker": "o"},
    "P2 uniform": {"color": "#00507a", "linestyle": "--", "marker": "s", "markerfacecolor": "white"},
    "P2 adaptive": {"color": "#00507a", "marker": "s"},
}


def curves(kind: str, panel: Panel) -> dict[str, Curve]:
    """Unknowns and radius on each mesh."""

    def problem(n: int, degree: int) -> Any:
        return pp.fem.ReactionDiffusion(pp.io.generate(kind, n), source=1.0, degree=degree)

    found: dict[str, Curve] = {}
    for degree, cells in panel.sizes.items():
        line: Curve = []
        for n in cells:
            p = problem(n, degree)
            line.append((len(p.space.free), float(pp.certify(p, p.space.U0, p.points([panel.at])).radius[0])))
        found[f"P{degree} uniform"] = line
        p = problem(panel.start, degree)
        limit = panel.most[degree]
        steps = pp.certify_to(p, p.space.U0, p.points([panel.at]), panel.tolerance, max_dofs=limit).history
        found[f"P{degree} adaptive"] = [(step.dofs, float(step.radius[0])) for step in steps]
    return found


def draw(kind: str, panel: Panel, lines: dict[str, Curve]) -> Path:
    """One logarithmic plot."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": kind, "svg.fonttype": "none", "font.size": 10, "font.family": "sans-serif"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5.2, 3.9), layout="constrained")
    for name, line in lines.items():
        axes.loglog(*zip(*line, strict=True), label=name, linewidth=1.6, markersize=4, **LOOKS[name])
    for n, r in panel.promised:
        axes.plot(n, r, marker="*", markersize=13, color="#edae49", markeredgecolor="#7a5200", linestyle="none",
                  label="required" if (n, r) == panel.promised[0] else None, zorder=5)  # fmt: skip
    axes.set_xlabel("unknowns (number)")
    axes.set_ylabel("proved radius (units of u)")
    axes.set_title(panel.title, fontsize=10)
    axes.grid(which="major", color="#e3e6ea")
    axes.legend(fontsize=8.5, frameon=False)
    path = HERE / f"tolerance-{kind}.svg"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return path


def main() -> None:
    """Compute unless told not to, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="draw the numbers in docs/tolerance.json")
    parser.add_argument("--only", nargs="*", default=list(PANELS), choices=list(PANELS))
    given = parser.parse_args()
    store = HERE / "tolerance.json"
    data = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
    for kind in given.only:
        if not given.draw:
            data[kind] = {n: [[k, float(f"{r:.4g}")] for k, r in c] for n, c in curves(kind, PANELS[kind]).items()}
            store.write_text(json.dumps(data) + "\n", encoding="utf-8")
        path = draw(kind, PANELS[kind], data[kind])
        print(f"Wrote {path.name}, {path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
