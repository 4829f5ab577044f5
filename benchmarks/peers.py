"""What each line of the benchmark is measured against, in the same run, and the figure of them all.

    python benchmarks/peers.py [--history FILE] [--out docs/benchmarks.svg]

Ratios are of times on one machine in one run, below 1 where ours is the shorter one. The figure has a row for each
line, the last run as a full dot and those before as rings. No package is needed.
"""

from __future__ import annotations

import argparse
import json
import math
from html import escape
from pathlib import Path

HERE = Path(__file__).parent


def _first(row, *words):
    """The first number whose name has all of these words."""
    return next(value for name, value in row.items() if all(word in name for word in words))


def _point(row):
    """All but solves against assembling and one solve."""
    ours, peer = ("mesh [s]", "mollifier [s]", "fluxes [s]", "bounds [s]"), ("assembling [s]", "AMG solve [s]")
    return sum(row.get(key, 0.0) for key in ours) / sum(row[key] for key in peer)


PEERS = {
    "online": ("certified state", "sparse products", lambda r: r["certify [sparse products]"]),
    "coercivity": ("proof of stability", "factorizations", lambda r: r["time [factorizations]"]),
    "verify": ("checking a bundle", "5 certified states and a proof", lambda r: r["verify / (5 online + coercivity)"]),
    "tightness": ("σ of 16 probes", "exact σ", lambda r: r["randomized 16: sigma / exact sigma"]),
    "whole case": ("file to certificate", "mesh, assembly and factorization", lambda r: r["ratio"]),
    "solid, online": ("certified state", "passes at the triad's pace", lambda r: _first(r, "certify", "[passes]")),
    "solid, adjoints": ("28 adjoints", "28 Jacobi-CG solves", lambda r: 1.0 / _first(r, "times faster")),
    "lift": ("model of a network", "model of a formula", lambda r: 1e3 * _first(r, "network [ms") / _first(r, "[µs")),
    "3D assembly": ("assembly", "scikit-fem's", lambda r: 1.0 / r["times faster"]),
    "semilinear root": ("certificate of a root", "Newton steps", lambda r: r["Newton steps"]),
    "continuous": ("point, all counted", "assembly and an AMG solve", _point),
    "ten points": ("ten points", "scikit-fem's assembly and SuperLU", lambda r: _first(r, "ratio")),
    "beside estimates": ("24 points P1, at first", "dual-weighted", lambda r: _first(r, "P1 / estimate, cold")),
    "start-up": (
        "small case, all outputs",
        "import of numpy and scipy",
        lambda r: _first(r, "the same, processor") / _first(r, "import of"),
    ),
    "first certificate": (
        "first one with numba",
        "without",
        lambda r: _first(r, "with numba") / _first(r, "without numba"),
    ),
    "hundred points": ("file to outputs", "mesh, assembly and factorization", lambda r: _first(r, "ratio")),
    "point in time": ("point in time", "sweeps", lambda r: r["certify / sweep"]),
    "band": ("band", "fluxes and their bounds", lambda r: r["level sets and band / fluxes"]),
    "solid, continuous": ("point", "assembly, multigrid and solve", lambda r: r["ratio"]),
    "refinement": (
        "first marked cells",
        "making the mesh",
        lambda r: _first(r, "marked [s]") / max(r["mesh [s]"], 0.01),
    ),
}
"""By how a line's name begins: what is timed, its peer, and the ratio of both."""


def peer_of(name):
    """The longest entry of `PEERS` that a line's name begins with."""
    return PEERS[max((start for start in PEERS if name.startswith(start)), key=len)]


def ratio_of(name, row):
    """Ours over the peer's, from a line's numbers."""
    return float(f"{peer_of(name)[2](row):.3g}")


def said(name, row):
    """The line as it is printed: ours beside its peer and the memory's pace, then all numbers."""
    ours, peer, _ = peer_of(name)
    head = f"{name}: {ours} = {ratio_of(name, row):g} × {peer}; triad {row['triad [GB/s]']} GB/s"
    return head + "".join(f"\n    {key}: {value}" for key, value in row.items() if key != "triad [GB/s]")


def lines_of(history):
    """Rows of a history's file, full sizes only where there are any."""
    rows = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [row for row in rows if row["sizes"] == "full"] or rows


def figure(rows):
    """All lines on one axis of ratios, as the text of an SVG file."""
    names = list(dict.fromkeys(name for row in rows for name in row["results"]))
    ratios = {name: [ratio_of(name, row["results"][name]) for row in rows if name in row["results"]] for name in names}
    every = [value for values in ratios.values() for value in values if value > 0.0]
    low, high = math.floor(math.log10(min([0.1, *every]))), math.ceil(math.log10(max([10.0, *every])))
    left, width, step, top = 430, 420, 20, 34
    tall = top + step * len(names) + 30

    def x(value):
        return left + width * (math.log10(max(value, 10.0**low)) - low) / (high - low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}" height="{tall}" '
        f'viewBox="0 0 {left + width + 30} {tall}" font-family="sans-serif" font-size="12">',
        f'<rect width="{left + width + 30}" height="{tall}" fill="white"/>',
    ]
    for power in range(low, high + 1):
        at, strong = x(10.0**power), power == 0
        shade = "#444" if strong else "#ddd"
        out.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top - 8}" y2="{tall - 24}" stroke="{shade}"/>'
            f'<text x="{at:.1f}" y="{tall - 8}" text-anchor="middle">{10.0**power:g}</text>'
        )
    last = rows[-1]
    pace = "" if last["triad [GB/s]"] is None else f", triad {last['triad [GB/s]']} GB/s, load {last['load']}"
    where = f"{last['when'][:10]}, {last['machine']}{pace}"
    out.append(f'<text x="8" y="18">{escape(where)}, {escape(last["sizes"])} sizes: time over the peer’s</text>')
    for k, name in enumerate(names):
        y, (ours, peer, _) = top + step * (k + 0.5), peer_of(name)
        label = f"{name}: {ours} / {peer}"
        out.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>')
        for value in ratios[name][:-1]:
            out.append(f'<circle cx="{x(value):.1f}" cy="{y:.1f}" r="3" fill="none" stroke="#888"/>')
        out.append(f'<circle cx="{x(ratios[name][-1]):.1f}" cy="{y:.1f}" r="4" fill="#1b5e9a"/>')
    return "\n".join([*out, "</svg>\n"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--history", type=Path, default=HERE / "history.jsonl")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "benchmarks.svg")
    args = parser.parse_args()
    args.out.write_text(figure(lines_of(args.history)), encoding="utf-8")


if __name__ == "__main__":
    main()
