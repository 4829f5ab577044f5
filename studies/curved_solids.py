"""Plane solids with curved sides, random ones with known solutions: python -m studies.curved_solids [--count N].

Squares with a round or elliptic hole that is loaded by the stress of u = ∇φ, φ = e^{ax}cos(ay + t)/a, whose values are
held on the outer sides; rings that are held at one circle and pulled or pressed at the other. Displacements and
stresses at points are compared with the solutions. "missed" counts intervals that do not hold the truth or are not
proved.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.round import ring_mesh
from studies.curved import plate, summary

OUT = Path(__file__).parent / "results" / "curved_solids.json"


def holed(rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray, str]:
    """A square with a hole; its solution has no volume change and no body force."""
    ratio = float(rng.choice([1.0, rng.uniform(0.7, 0.9)]))
    here = plate(rng, rng.uniform(-0.3, 0.3, 2), float(rng.uniform(0.7, 1.1)), ratio)
    a, t = (float(v) for v in (rng.uniform(0.5, 1.5), rng.uniform(-1.0, 1.0)))
    nu, young = float(rng.uniform(0.0, 0.45)), float(rng.choice([0.2, 1.0, 50.0]))
    mu = young / (2.0 * (1.0 + nu))
    wave, turn = (f"exp({a!r}*x)*{f}({a!r}*y + ({t!r}))" for f in ("cos", "sin"))
    nx, ny = here.normals["hole"]
    s, q = f"{2.0 * mu * a!r}*{wave}", f"-{2.0 * mu * a!r}*{turn}"  # σ_xx = −σ_yy and σ_xy
    pull = f"({s})*{nx} + ({q})*{ny}", f"({q})*{nx} - ({s})*{ny}"
    outer = {group: (wave, f"-{turn}") for group in here.mesh.facet_groups if group != "hole"}
    made = pp.fem.Elasticity(
        here.mesh,
        young=young,
        poisson=nu,
        plane=str(rng.choice(["stress", "strain"])),
        degree=2,
        fixed=outer,
        traction={"hole": pull},
        geometry=here.geometry,
    )
    X = here.points
    lift = np.exp(a * X[:, 0])
    c = np.cos(a * X[:, 1] + t)
    return (
        made,
        X,
        np.concatenate([lift * c, 2.0 * mu * a * lift * c]),
        f"hole, {'round' if ratio == 1.0 else 'ellipse'}",
    )


def gripped(rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray, str]:
    """A ring held at one circle: u_r = Ar + B/r."""
    r, R = float(rng.uniform(0.35, 0.6)), 1.0
    nu, young, pull = float(rng.uniform(0.0, 0.45)), float(rng.choice([0.2, 1.0, 50.0])), float(rng.choice([-1.0, 2.0]))
    inside = bool(rng.integers(2))
    held, loaded, names = (r, R, ("hole", "outer")) if inside else (R, r, ("outer", "hole"))
    side = 1.0 if inside else -1.0  # of the normal along the radius
    made = pp.fem.Elasticity(
        ring_mesh(r, R, 8, 60),
        young=young,
        poisson=nu,
        plane="stress",
        degree=2,
        fixed={names[0]: 0.0},
        traction={names[1]: (f"{side * pull / loaded!r}*x", f"{side * pull / loaded!r}*y")},
        geometry={"hole": pp.Circle((0, 0), r), "outer": pp.Circle((0, 0), R)},
    )
    k, m = young / (1.0 - nu), young / (1.0 + nu)
    A = pull / (k + m * held**2 / loaded**2)
    B = -A * held**2
    angle, at = rng.uniform(0.0, 6.28, 3), rng.uniform(0.5 * (r + R) - 0.05, 0.5 * (r + R) + 0.05, 3)
    c, s = np.cos(angle), np.sin(angle)
    along, around = k * A - m * B / at**2, k * A + m * B / at**2
    truth = np.concatenate([(A * at + B / at) * c, along * c**2 + around * s**2])
    return made, at[:, None] * np.stack([c, s], axis=1), truth, f"ring held {'inside' if inside else 'outside'}"


def rows_of(seed: int) -> list[dict[str, Any]]:
    """The intervals of one problem."""
    rng = np.random.default_rng([2026, seed])
    made, X, truth, what = (gripped if seed % 3 == 2 else holed)(rng)
    found = pp.certify(made, made.space.U0, made.points(X, "x") + made.stress(X, "xx"))
    proved, n = found.guarantee == "deterministic", len(X)
    size = np.concatenate([np.full(n, np.abs(truth[:n]).max()), np.full(n, np.abs(truth[n:]).max())])
    return [
        {
            "what": f"{what}, {'displacement' if i < n else 'stress'}",
            "missed": not (proved and low <= t <= high),
            "share": float(r / s),
            "off": float(abs(m - t) / r) if math.isfinite(r) else 0.0,
        }
        for i, (low, high, m, r, t, s) in enumerate(
            zip(found.lower, found.upper, found.center, found.radius, truth, size, strict=True)
        )
    ]


def main() -> None:
    """Problems one by one; a run goes on where the last one stopped."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--out", type=Path, default=OUT)
    told = parser.parse_args()
    kept = json.loads(told.out.read_text(encoding="utf-8"))["problems"] if told.out.exists() else []
    start = time.process_time()
    for seed in range(len(kept), told.count):
        if time.process_time() - start > told.seconds:
            break
        kept.append(rows_of(seed))
        rows = [row for each in kept for row in each]
        kinds = sorted({row["what"] for row in rows})
        found = {"all": summary(rows)} | {k: summary([row for row in rows if row["what"] == k]) for k in kinds}
        told.out.write_text(json.dumps({"campaign": found, "problems": kept}) + "\n", encoding="utf-8")
        print(seed, summary(kept[-1]), flush=True)
    print(json.dumps(summary([row for each in kept for row in each]), indent=1))


if __name__ == "__main__":
    main()
