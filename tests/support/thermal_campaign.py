"""Do intervals of heated bodies hold the truth? Random polynomials, and layered bars whose parts are very unlike.

python -m tests.support.thermal_campaign [cases] [seed] counts misses, and intervals narrower than 1 % of the value.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from tests.support import polynomials as poly
from tests.support.elastic_closed import SIDES

Case = tuple[Any, Any, list[Fraction], str]


def factor(young: float, poisson: float, alpha: float, plane: str) -> Fraction:
    """κ of S = κϑI, exactly."""
    E, nu, a = (Fraction(x) for x in (young, poisson, alpha))
    return E * a / (1 - nu if plane == "stress" else 1 - 2 * nu)


def polynomial(rng: np.random.Generator, quick: bool) -> Case:
    """Displacement and temperature are polynomials, with clamps, rollers and tractions that belong to them."""
    d, degree = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    n = int(rng.integers(2, 5 if quick else 10)) if d == 2 else int(rng.integers(2, 3 if quick else 5))
    plane = str(rng.choice(["strain", "stress"])) if d == 2 else "strain"
    young, poisson = float(rng.choice([0.5, 3.0])), float(rng.choice([-0.1875, 0.0, 0.3125, 0.4375]))
    alpha = float(rng.choice([-0.5, 0.125, 2.0]))
    lam, mu = poly.lame(young, poisson, plane)
    kappa = factor(young, poisson, alpha, plane)
    u = [poly.random_polynomial(rng, d, int(rng.integers(1, 4))) for _ in range(d)]
    theta = poly.random_polynomial(rng, d, int(rng.integers(0, 4)))

    def stress(i: int, j: int) -> Any:
        own = poly.stress(u, lam, mu, i, j)
        return own + (-kappa) * theta if i == j else own

    force = [p + kappa * theta.slope(i) for i, p in enumerate(poly.body(u, lam, mu))]
    fixed, traction = {}, {}
    for number, name in enumerate(SIDES[d]):
        axis, side = divmod(number, 2)
        kind = "clamp" if number == 0 else str(rng.choice(["clamp", "roller", "traction", "traction"]))
        given = [((2 * side - 1) * stress(c, axis)).text for c in range(d)]
        if kind != "traction":
            fixed[name] = tuple(u[c].text if c == axis or kind == "clamp" else "free" for c in range(d))
        if kind != "clamp":
            traction[name] = tuple(None if c == axis and kind == "roller" else given[c] for c in range(d))
    mesh = poly.distorted(generate({2: "square", 3: "cube"}[d], n), rng, float(rng.choice([0.0, 0.3])))
    heat = {"expansion": alpha, "temperature": theta.text}
    loads = [p.text for p in force]
    problem = pp.fem.Elasticity(mesh, young, poisson, loads, fixed, traction, plane=plane, degree=degree, **heat)
    x, k = rng.uniform(0.2, 0.8, d), int(rng.integers(0, d))
    i, j = sorted(rng.integers(0, d, 2).tolist())
    pair = "xyz"[i] + "xyz"[j]
    queries = problem.points([x], k, ["u"]) + problem.stress([x], pair, ["stress"]) + problem.stress([x], "xx", ["xx"])
    queries = queries + problem.strain([x], pair, ["strain"]) + problem.mean(k, "mean")
    exact = [u[k](x), stress(i, j)(x), stress(0, 0)(x), poly.strain(u, i, j)(x), poly.box_mean(u[k])]
    return problem, queries, exact, f"{d}D P{degree} n={n} nu={poisson} {plane}"


def layered(rng: np.random.Generator, quick: bool) -> Case:
    """A bar of two parts between smooth walls, ν = 0: u_x′ = t/E + αϑ(x), σ_xx = t, σ_yy = −Eαϑ; E up to 1:1000."""
    d, degree = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    n = 2 * int(rng.integers(1, 3 if quick else 5)) if d == 2 else 2 * int(rng.integers(1, 2 if quick else 3))
    box = generate({2: "square", 3: "cube"}[d], n)
    soft = np.flatnonzero(box.points[box.cells].mean(axis=1)[:, 0] < 0.5)
    hard = np.setdiff1d(np.arange(len(box.cells)), soft)
    groups = {name: box.facets(name) for name in SIDES[d]}
    mesh = Mesh(box.points, box.cells, cell_groups={"soft": soft, "hard": hard}, facet_groups=groups)
    young = {"soft": 1.0, "hard": float(rng.choice([2.0, 50.0, 1000.0]))}
    alpha = {"soft": float(rng.choice([0.5, -1.0])), "hard": float(rng.choice([0.0, 0.25, 3.0]))}
    c = [Fraction(int(v), 4) for v in rng.integers(-4, 5, int(rng.integers(1, 4)))]
    theta = poly.Polynomial({(p, *[0] * (d - 1)): v for p, v in enumerate(c)})
    t = float(rng.choice([-1.0, 0.0, 2.0]))

    def grown(x: Fraction) -> Fraction:
        """∫₀ˣ ϑ."""
        return sum((v * x ** (p + 1) / (p + 1) for p, v in enumerate(c)), Fraction(0))

    def shift(x: Fraction) -> Fraction:
        low, high = min(x, Fraction(1, 2)), max(x, Fraction(1, 2))
        E, a = ({k: Fraction(v) for k, v in table.items()} for table in (young, alpha))
        first = Fraction(t) / E["soft"] * low + a["soft"] * grown(low)
        return (
            first
            + Fraction(t) / E["hard"] * (high - Fraction(1, 2))
            + a["hard"] * (grown(high) - grown(Fraction(1, 2)))
        )

    axes = [("left", 0), *((name, k // 2) for k, name in enumerate(SIDES[d]) if k >= 2)]
    fixed = {name: tuple(0.0 if k == axis else "free" for k in range(d)) for name, axis in axes}
    plane = str(rng.choice(["strain", "stress"])) if d == 2 else "strain"
    problem = pp.fem.Elasticity(
        mesh,
        young,
        0.0,
        None,
        fixed,
        {"right": (t, *[0.0] * (d - 1))},
        plane=plane,
        degree=degree,
        expansion=alpha,
        temperature=theta.text if len(c) > 1 else float(c[0]),
    )
    x = np.array([float(rng.choice([0.25, 0.75])), *[0.5] * (d - 1)])
    part = "soft" if x[0] < 0.5 else "hard"
    ends = (Fraction(0), Fraction(1, 2)) if part == "soft" else (Fraction(1, 2), Fraction(1))
    mean = (grown(ends[1]) - grown(ends[0])) * 2
    pressed = Fraction(young[part]) * Fraction(alpha[part])
    queries = problem.patch("right", "x", "end") + problem.points([x], "x", ["u"]) + problem.stress([x], "xx", ["xx"])
    queries = queries + problem.stress([x], "yy", ["yy"]) + problem.stress(part, "yy", "cells")
    queries = queries + problem.reaction("left", "x", "reaction")
    where = Fraction(float(x[0]))
    exact = [shift(Fraction(1)), shift(where), Fraction(t), -pressed * theta(x), -pressed * mean, Fraction(-t)]
    return problem, queries, exact, f"layers {d}D P{degree} n={n} E={young['hard']} {plane}"


def main(count: int, seed: int, quick: bool = False) -> tuple[int, int, int]:
    """Intervals, misses, and intervals narrower than 1 % of the value."""
    rng, total, missed, narrow = np.random.default_rng(seed), 0, 0, 0
    for number in range(count):
        problem, queries, exact, words = (layered if number % 3 == 2 else polynomial)(rng, quick)
        U = problem.space.U0 if rng.random() < 0.5 else rng.normal(size=problem.space.N)
        c = pp.certify(problem, problem.space.project(U).U, queries)
        for name, low, high, v in zip(c.names, c.lower, c.upper, exact, strict=True):
            total += 1
            narrow += bool(high - low < 0.02 * abs(v))
            if not Fraction(float(low)) <= v <= Fraction(float(high)):
                missed += 1
                print(f"MISSED case {number} {words} {name}: {float(v)!r} not in [{low!r}, {high!r}]", flush=True)
    print(f"{total} intervals, {missed} missed, {narrow} narrower than 1 % of the value")
    return total, missed, narrow


if __name__ == "__main__":
    main(*(int(a) for a in (sys.argv[1:] or ["20"])), *([0] if len(sys.argv) < 3 else []))
