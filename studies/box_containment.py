"""Route without mesh and solve: is the truth inside? Random boxes, equations, conditions and predictions.

The true solution is a sum of waves A e^{mt} Π sin(k_i x_i + φ_i), whatever the conditions; sources, initial values and
data on the faces follow from it. The prediction is the truth plus waves that meet nothing. Every interval is compared
with the truth, and its width with the prediction's own error.

    python studies/box_containment.py 500
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse

KINDS = ("dirichlet", "neumann", "periodic", ("dirichlet", "neumann"), ("neumann", "dirichlet"))


@dataclass(frozen=True)
class Wave:
    """A e^{mt} Π sin(k_i x_i + φ_i)."""

    size: float
    rate: float
    k: tuple[str, ...]
    phase: tuple[float, ...]

    def text(self, slope: int | None = None, bend: bool = False) -> str:
        """The formula; with `slope` of its derivative along an axis, with `bend` twice."""
        factors = [repr(self.size), f"exp({self.rate!r}*t)"] if self.rate else [repr(self.size)]
        for i, (k, phase) in enumerate(zip(self.k, self.phase, strict=True)):
            inner = f"({k}*{'xyz'[i]}+{phase!r})"
            turned = f"(-({k})**2)*sin{inner}" if bend else f"{k}*cos{inner}"
            factors.append(turned if i == slope else f"sin{inner}")
        return "*".join(f"({f})" for f in factors)


@dataclass(frozen=True)
class Drawn:
    """A random case."""

    box: pp.Box
    prediction: str
    exact: str
    points: np.ndarray
    time: float | None


def draw(seed: int) -> Drawn:
    """The case of a seed."""
    rng = np.random.default_rng(seed)
    d = int(rng.choice([1, 1, 2, 2, 3]))
    steady = rng.random() < 0.25
    low = np.round(rng.uniform(-1.0, 1.0, d) * 64) / 64
    length = np.round(rng.uniform(0.4, 2.0, d) * 64) / 64
    high = low + length
    ends = [KINDS[rng.integers(len(KINDS))] for _ in range(d)]
    kappa = rng.uniform(0.2, 2.0, d) if rng.random() < 0.3 else np.full(d, rng.uniform(0.1, 2.0))
    kappa = (np.round(kappa * 64) / 64).tolist()
    free = ["neumann" in (end if isinstance(end, tuple) else (end,)) for end in ends]
    drift = [0.0 if f or rng.random() < 0.5 else round(64 * rng.uniform(-3.0, 3.0)) / 64 for f in free]
    c = round(64 * rng.uniform(-1.0, 3.0)) / 64 if rng.random() < 0.6 else 0.0
    if steady:
        c = abs(c) + 0.25
    end = None if steady else float(rng.uniform(0.02, 0.6))

    def wave(size: float) -> Wave:
        k = [
            f"{2 * int(rng.integers(1, 3))}*pi/{span!r}" if one == "periodic" else repr(round(rng.uniform(0.5, 4.0), 2))
            for one, span in zip(ends, length.tolist(), strict=True)
        ]
        rate = 0.0 if steady else round(rng.uniform(-2.0, 1.0), 2)
        return Wave(size, rate, tuple(k), tuple(round(v, 2) for v in rng.uniform(0.0, 6.0, d).tolist()))

    waves = [wave(round(rng.uniform(0.3, 1.5), 2)) for _ in range(int(rng.integers(1, 3)))]
    wrong = [wave(float(f"{10.0 ** rng.uniform(-6.0, -1.0):.2g}")) for _ in range(int(rng.integers(1, 3)))]
    source = []
    for w in waves:
        source.append(f"({(0.0 if steady else w.rate) + c!r})*{w.text()}")
        for i in range(d):
            source += [f"(-{kappa[i]!r})*{w.text(i, bend=True)}", f"({drift[i]!r})*{w.text(i)}"]
    exact = " + ".join(w.text() for w in waves)
    flux = {}
    for i, one in enumerate(ends):
        for j, kind in enumerate(one if isinstance(one, tuple) else (one, one)):
            if kind == "neumann":
                slope = " + ".join(w.text(i) for w in waves)
                flux["xyz"[i] + "-+"[j]] = f"({kappa[i] if j else -kappa[i]})*({slope})"
    box = pp.Box(
        *np.stack([low, high], 1).tolist(),
        end=end,
        diffusion=kappa,
        source=" + ".join(source),
        initial=0.0 if steady else exact.replace("*t)", "*0)"),
        convection=drift,
        reaction=c,
        boundary=ends,
        dirichlet=exact if any("dirichlet" in (one if isinstance(one, tuple) else (one,)) for one in ends) else 0.0,
        neumann=flux,
    )
    points = low + (high - low) * rng.uniform(0.03, 0.97, (2, d))
    when = None if end is None else float(end * rng.uniform(0.3, 1.0))
    return Drawn(box, f"{exact} + {' + '.join(w.text() for w in wrong)}", exact, points, when)


def run(seed: int, budget: int | None = None) -> dict[str, float]:
    """One case: how many of its intervals hold the truth, and how narrow they are."""
    case = draw(seed)
    start = time.process_time()
    found = pp.certify(case.box, case.prediction, case.box.points(case.points, time=case.time), budget=budget)
    spent = time.process_time() - start
    X = case.points if case.time is None else np.column_stack([case.points, np.full(len(case.points), case.time)])
    truth = parse(case.exact, case.box.equation.variables)(X)
    slack = 1e-14 * np.abs(truth)  # the truth is a float here
    held = (found.lower - slack <= truth) & (truth <= found.upper + slack)
    off = np.abs(found.value - truth)
    return {
        "seed": seed,
        "d": case.box.equation.d,
        "held": int(held.sum()),
        "asked": len(truth),
        "narrow": int((found.radius < 1e-2 * off + 1e-12).sum()),
        "worst": float(np.max(np.abs(found.center - truth) / found.radius)),
        "width": float(np.median(found.radius / off)),
        "seconds": spent,
    }


def main(count: int, out: Path | None = None, budget: int | None = None, first: int = 0) -> dict[str, float]:
    """Many cases, summed up."""
    rows = [run(seed, budget) for seed in range(first, first + count)]
    summary = {
        "cases": count,
        "intervals": sum(r["asked"] for r in rows),
        "held": sum(r["held"] for r in rows),
        "narrow": sum(r["narrow"] for r in rows),
        "worst": max(r["worst"] for r in rows),
        "width": float(np.median([r["width"] for r in rows])),
        "seconds": sum(r["seconds"] for r in rows),
    }
    if out is not None:
        out.write_text(json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return summary


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--budget", type=int, default=None)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    print(json.dumps(main(given.count, given.out, given.budget, given.first), indent=1))
