"""Do intervals of elastic bodies hold the truth? Random solutions in closed form, meshes, materials, states, queries.

`studies/elastic_containment.py` runs many cases and stores what came out.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse.linalg import spsolve

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from tests.support import elastic_closed as closed
from tests.support import polynomials as poly


def polynomials(rng: np.random.Generator, quick: bool) -> closed.Case:
    """A displacement of polynomials, held all around or with conditions of all kinds."""
    d, degree = int(rng.choice([2, 2, 2, 3])), int(rng.integers(1, 3))
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
        pull = lambda c, axis, sign: (sign * poly.stress(u, lam, mu, c, axis)).text  # noqa: E731
        fixed, traction = closed.conditions(rng, [p.text for p in u], pull)
    f = [p.text for p in poly.body(u, lam, mu)]
    problem = pp.fem.Elasticity(mesh, young, poisson, f, fixed, traction, plane=plane, degree=degree)
    x = rng.uniform(0.15, 0.85, d)
    i, j = sorted(rng.integers(0, d, 2).tolist())
    k, pair = int(rng.integers(0, d)), "xyz"[i] + "xyz"[j]
    queries = problem.points([x], k, ["u"]) + problem.stress([x], pair, ["stress"])
    queries = queries + problem.strain([x], pair, ["strain"]) + problem.mean(k, "mean")
    exact = [u[k](x), poly.stress(u, lam, mu, i, j)(x), poly.strain(u, i, j)(x), poly.box_mean(u[k])]
    words = f"polynomials {d}D P{degree} n={n} nu={poisson} {plane} {'held' if held else 'mixed'}"
    return problem, queries, exact, words


KINDS = {
    "polynomials": polynomials,
    "waves": closed.waves,
    "Lamé": closed.lame,
    "layers": closed.layers,
    "Kirsch": closed.kirsch,
    "Timoshenko": closed.beam,
    "thick plate": closed.slab,
}


def state(rng: np.random.Generator, problem: Any) -> Any:
    """A prediction: nothing, noise, or the elements' own solution."""
    kind, N, space = int(rng.integers(0, 3)), problem.space.N, problem.space
    if kind < 2:
        return space.project(space.U0 if kind == 0 else rng.normal(size=N)).U
    Z = space.Z
    return space.vector_of(spsolve((Z.T @ problem.A @ Z).tocsc(), Z.T @ (problem.b - problem.A @ space.U0)))


def run(kind: str, seed: int, quick: bool = False) -> dict[str, Any]:
    """One case: its intervals that miss the truth, and how many are narrower than 1 % of the value."""
    rng, start = np.random.default_rng([seed, list(KINDS).index(kind)]), time.process_time()
    problem, queries, exact, words = KINDS[kind](rng, quick)
    found = pp.certify(problem, state(rng, problem), queries)
    rows = [*zip(found.names, found.lower, found.upper, strict=True)]
    rows += [(one.name, one.lower, one.upper) for one in found.derived]
    missed, narrow, shares = [], 0, []
    for (name, low, high), truth in zip(rows, exact, strict=True):
        low, high, value = Fraction(float(low)), Fraction(float(high)), Fraction(truth)
        narrow += high - low < Fraction(2, 100) * abs(value)
        shares.append(float(abs(2 * value - low - high) / (high - low)))  # of derived values the middle means nothing
        if not low <= value <= high:
            missed.append(f"{words} seed {seed} {name}: {float(value)!r} not in [{float(low)!r}, {float(high)!r}]")
    return {
        "kind": kind,
        "seed": seed,
        "words": words,
        "intervals": len(rows),
        "narrow": int(narrow),
        "missed": missed,
        "worst": max(shares[: len(found.names)]),
        "guarantee": str(found.guarantee.value),
        "seconds": round(time.process_time() - start, 2),
    }
