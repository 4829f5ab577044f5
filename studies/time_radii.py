"""Radii of points in time with everything enclosed, against closed forms: widths, errors of centres, times.

    python studies/time_radii.py [--quick] [--only NAME ...]

`decay` is Πsin πx_i e^{−dπ²t} until 0.1; `source` is sin πx(sin πy)(1 + sin 5t) + 0.3 sin 3πx(sin πy)cos 3t until 0.5.
As many steps as cells on a side, graded towards the end; the point (0.4), (0.4, 0.55) or (0.4, 0.55, 0.45). Prints
every radius beside the bound that it is to stay below, and keeps them in results/time_radii.json; 1 if one is above, or
if an interval missed the truth.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pinnpoint as pp

OUT = Path(__file__).parent / "results" / "time_radii.json"
AT = (0.4, 0.55, 0.45)
KIND = {1: "interval", 2: "square", 3: "cube"}
PI = math.pi


@dataclass(frozen=True)
class Row:
    """One problem at one size; `below` is what its radius may be at most."""

    dimension: int
    name: str
    degree: int
    cells: int
    below: float | None

    @property
    def label(self) -> str:
        """As it is printed and stored."""
        return f"{self.dimension}D {self.name} P{self.degree}/cG({self.degree}) n = {self.cells}"


ROWS = (
    *(Row(1, "decay", 1, n, None) for n in (16, 32, 64)),
    *(Row(1, "source", 1, n, None) for n in (16, 32, 64)),
    *(Row(1, "decay", 2, n, b) for n, b in ((16, None), (32, None), (64, 7e-8))),
    *(Row(1, "source", 2, n, b) for n, b in ((16, None), (32, None), (64, 1.6e-6))),
    *(Row(2, "decay", 1, n, b) for n, b in ((16, 1.4e-2), (32, 3e-3), (64, 7e-4))),
    *(Row(2, "source", 1, n, b) for n, b in ((16, 1.25e-1), (32, 2.7e-2), (64, 6.3e-3))),
    *(Row(2, name, 2, 32, None) for name in ("decay", "source")),
    *(Row(3, "decay", 1, n, None) for n in (6, 8, 12)),
    Row(3, "decay", 2, 6, None),
)
QUICK = tuple(row for row in ROWS if row.cells * row.dimension <= 32 and row.dimension * row.degree < 4)


def problem_of(row: Row) -> tuple[pp.fem.Parabolic, float]:
    """The problem and its solution's value."""
    d, x = row.dimension, ("x", "y", "z")
    wave = "*".join(f"sin(pi*{v})" for v in x[:d])
    value = math.prod(math.sin(PI * a) for a in AT[:d])
    mesh = pp.io.generate(KIND[d], row.cells)
    about = dict(steps=row.cells, scheme=f"cg{row.degree}", degree=row.degree)
    if row.name == "decay":
        return pp.fem.Parabolic(mesh, initial=wave, end=0.1, **about), value * math.exp(-d * PI * PI * 0.1)
    rest = "*".join(["1", *(f"sin(pi*{v})" for v in x[1:d])])
    one, three = f"{d}*pi**2", f"{8 + d}*pi**2"
    source = f"{wave}*(5*cos(5*t) + {one}*(1 + sin(5*t))) + 0.3*sin(3*pi*x)*{rest}*(-3*sin(3*t) + {three}*cos(3*t))"
    initial = f"{wave} + 0.3*sin(3*pi*x)*{rest}"
    high = 0.3 * math.sin(3 * PI * AT[0]) * math.prod(math.sin(PI * a) for a in AT[1:d])
    return (
        pp.fem.Parabolic(mesh, initial=initial, source=source, end=0.5, **about),
        value * (1.0 + math.sin(2.5)) + high * math.cos(1.5),
    )


def run(row: Row) -> dict[str, float | str | bool | None]:
    """Certify one row."""
    problem, truth = problem_of(row)
    start = time.process_time()
    states = problem.states()
    sweep = time.process_time() - start
    found = pp.certify(problem, states, problem.points([AT[: row.dimension]]))
    spent = time.process_time() - start - sweep
    return {
        "row": row.label,
        "radius": float(found.radius[0]),
        "below": row.below,
        "error of the centre": abs(float(found.center[0]) - truth),
        "holds": bool(found.contains(truth)[0]),
        "guarantee": str(found.guarantee),
        "sweep [s]": round(sweep, 2),
        "certificate [s]": round(spent, 2),
    }


def main() -> int:
    """Run and store all rows, or some."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", default=[], help="parts of rows' names")
    options = parser.parse_args()
    rows = [row for row in (QUICK if options.quick else ROWS) if all(part in row.label for part in options.only)]
    known = {} if options.quick or not OUT.exists() else {r["row"]: r for r in json.loads(OUT.read_text())["rows"]}
    wrong = 0
    for row in rows:
        found = run(row)
        fine = found["holds"] and (row.below is None or float(found["radius"] or 0.0) <= row.below)
        wrong += not fine
        print(json.dumps(found), "" if fine else "<- above", flush=True)
        known[row.label] = found
        if not options.quick:
            order = [each.label for each in ROWS]
            kept = sorted(known.values(), key=lambda r: order.index(str(r["row"])))
            OUT.write_text(json.dumps({"version": pp.__version__, "rows": kept}, indent=1) + "\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
