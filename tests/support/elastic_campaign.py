"""Do intervals of elastic bodies hold the truth? Random manufactured solutions, meshes, materials and queries.

python -m tests.support.elastic_campaign [cases] [seed] counts misses, and intervals narrower than 1 % of the value.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from tests.support import polynomials as poly

SIDES = {2: ("left", "right", "bottom", "top"), 3: ("left", "right", "bottom", "top", "front", "back")}


def conditions(rng: np.random.Generator, u: Any, lam: Fraction, mu: Fraction) -> tuple[dict[str, Any], dict[str, Any]]:
    """Clamps, rollers and tractions at random on the sides of the box, the first one a clamp."""
    d, fixed, traction = len(u), {}, {}
    for number, name in enumerate(SIDES[d]):
        axis, side = divmod(number, 2)
        kind = "clamp" if number == 0 else str(rng.choice(["clamp", "roller", "traction", "traction"]))
        given = [(2 * side - 1) * poly.stress(u, lam, mu, c, axis) for c in range(d)]
        if kind == "clamp":
            fixed[name] = tuple(p.text for p in u)
        elif kind == "roller":
            fixed[name] = tuple(u[c].text if c == axis else "free" for c in range(d))
            traction[name] = tuple(None if c == axis else given[c].text for c in range(d))
        else:
            traction[name] = tuple(p.text for p in given)
    return fixed, traction


def case(rng: np.random.Generator, quick: bool = False) -> tuple[Any, Any, list[Fraction], str]:
    """A problem, its queries, and their true values."""
    d, degree = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    n = int(rng.integers(2, 6 if quick else 12)) if d == 2 else int(rng.integers(2, 4 if quick else 5))
    plane = str(rng.choice(["strain", "stress"])) if d == 2 else "strain"
    young, poisson = (
        float(rng.choice([0.5, 1.0, 3.0])),
        float(rng.choice([-0.1875, 0.0, 0.25, 0.3125, 0.4375, 0.498046875])),
    )
    lam, mu = poly.lame(young, poisson, plane)
    mesh = poly.distorted(generate({2: "square", 3: "cube"}[d], n), rng, float(rng.choice([0.0, 0.3])))
    held = bool(rng.integers(0, 2))
    if held:
        u = [poly.bubble(d) * poly.random_polynomial(rng, d, int(rng.integers(0, 5 - d))) for _ in range(d)]
        fixed: dict[str, Any] = {"boundary": 0.0}
        traction: dict[str, Any] = {}
    else:
        u = [poly.random_polynomial(rng, d, int(rng.integers(2, 4))) for _ in range(d)]
        fixed, traction = conditions(rng, u, lam, mu)
    f = [p.text for p in poly.body(u, lam, mu)]
    problem = pp.fem.Elasticity(mesh, young, poisson, f, fixed, traction, plane=plane, degree=degree)
    x = rng.uniform(0.15, 0.85, d)
    i, j = sorted(rng.integers(0, d, 2).tolist())
    k, pair = int(rng.integers(0, d)), "xyz"[i] + "xyz"[j]
    queries = problem.points([x], k, ["u"]) + problem.stress([x], pair, ["stress"])
    queries = queries + problem.strain([x], pair, ["strain"]) + problem.mean(k, "mean")
    exact = [u[k](x), poly.stress(u, lam, mu, i, j)(x), poly.strain(u, i, j)(x), poly.box_mean(u[k])]
    words = f"{d}D P{degree} n={n} nu={poisson} {plane} {'held' if held else 'mixed'}"
    return problem, queries, exact, words


def main(count: int, seed: int, quick: bool = False) -> tuple[int, int, int]:
    """Intervals, misses, and intervals narrower than 1 % of the value."""
    rng, total, missed, narrow = np.random.default_rng(seed), 0, 0, 0
    for number in range(count):
        problem, queries, exact, words = case(rng, quick)
        start = time.perf_counter()
        U = problem.space.U0 if rng.random() < 0.5 else rng.normal(size=problem.space.N)
        c = pp.certify(problem, problem.space.project(U).U, queries)
        for name, low, high, v in zip(c.names, c.lower, c.upper, exact, strict=True):
            total += 1
            narrow += bool(high - low < 0.02 * abs(v))
            if not Fraction(float(low)) <= v <= Fraction(float(high)):
                missed += 1
                print(f"MISSED case {number} {words} {name}: {float(v)!r} not in [{low!r}, {high!r}]", flush=True)
        worst = float(np.max(np.abs(c.center - [float(v) for v in exact]) / c.radius))
        print(f"{number} {words} {time.perf_counter() - start:.1f} s worst {worst:.3f} {c.guarantee}", flush=True)
    print(f"{total} intervals, {missed} missed, {narrow} narrower than 1 % of the value")
    return total, missed, narrow


if __name__ == "__main__":
    main(*(int(a) for a in (sys.argv[1:] or ["20"])), *([0] if len(sys.argv) < 3 else []))
