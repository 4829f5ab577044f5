"""Do lifted intervals hold the PDE's own solution? Random problems, meshes, points, formulas and networks.

    python studies/lift_campaign.py [--cases 160] [--quick] [--seed 0]

Truth from outside: u* is a sum of products of sines, exponentials and polynomials with random decimals, f = −κΔu* + cu*
and the boundary data follow from it as formulas, and its values are computed in 200-bit arithmetic. Intervals, squares
and cubes on structured, perturbed, uneven and Delaunay meshes, linear and quadratic elements, with and without
reaction, Dirichlet and Neumann sides. Predictions are formulas near u* and arbitrary networks with all activations,
near it or not, saturated or not, that meet the boundary values or do not; and the trained networks on their benchmark.
Where κ jumps the lift must be refused. `share` is |centre − truth| over the radius, `gain` the radius without the
prediction over that with it. An infinite radius is no miss; it is counted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import pinnpoint as pp
from pinnpoint.models import MLP, Lift
from pinnpoint.models.networks import benchmark
from tests.support.continua import SIDES, random_factor, unit_mesh
from tests.support.truths import Separable, exactly, holds

MESHES = ("structured", "perturbed", "uneven", "delaunay")
PREDICTIONS = ("formula", "network", "near", "saturated", "factor", "trained", "steep", "jump")
ACTIVATIONS = ("tanh", "tanh", "sin", "sigmoid", "softplus", "silu", "gelu", "gelu-tanh")
CELLS = {1: (3, 16), 2: (2, 5), 3: (1, 2)}
HIDDEN = {1: 8, 2: 6, 3: 4}
BENCHMARK = benchmark.load()


def network(rng: Any, d: int, steep: float = 1.0) -> MLP:
    """Two hidden layers of random weights; the first `steep` times as large."""
    n = HIDDEN[d]
    W = [rng.normal(size=(b, a)) / np.sqrt(a) for a, b in pairwise((d, n, n, 1))]
    b = [rng.normal(size=len(w)) for w in W]
    return MLP([W[0] * steep, *W[1:]], [b[0] * steep, *b[1:]], str(rng.choice(ACTIVATIONS)))


def prediction(rng: Any, u: Separable, kind: str) -> Any:
    """What is certified; it need not be near the solution."""
    d = u.d
    if kind == "formula":
        size = 10.0 ** rng.uniform(-6, 0)
        return f"{u.text()} + {size:.3g}*" + "*".join(random_factor(rng).text(x) for x in "xyz"[:d])
    if kind == "network":
        return network(rng, d)
    if kind == "saturated":
        return Lift(network(rng, d, 10.0 ** rng.uniform(1, 4)), f"{10.0 ** rng.uniform(-8, 0):.3g}", u.text())
    small = f"{10.0 ** rng.uniform(-8, -1):.3g}"
    if kind == "factor":
        small += "".join(f"*{x}*(1-{x})" for x in "xyz"[:d])
    return Lift(network(rng, d), small, u.text())


def posed(rng: Any, kind: str) -> tuple[str, Any, Any, Any, list[Any]]:
    """Label, problem, prediction, queries and true values."""
    degree, shape = int(rng.integers(1, 3)), str(rng.choice(MESHES))
    if kind in ("trained", "steep"):
        n = int(rng.integers(2, 4 if kind == "steep" else 7))
        mesh = unit_mesh(rng, 2, n, shape)
        problem = pp.fem.ReactionDiffusion(mesh, source=BENCHMARK.source_text, degree=degree)
        name = str(rng.choice(["rough", "fair", "good"]))
        net = getattr(BENCHMARK, name)
        if kind == "steep":
            factor = 10.0 ** rng.uniform(0.3, 3.0)
            net = MLP([net.weights[0] * factor, *net.weights[1:]], [net.biases[0] * factor, *net.biases[1:]],
                      "tanh", "unit-box")  # fmt: skip
        X = rng.uniform(0.03, 0.97, (1 if kind == "steep" else 4, 2))
        return f"{name} {shape} n={n} P{degree}", problem, net, problem.points(X), list(BENCHMARK.exact(X))
    d = int(rng.choice([1, 2, 2, 3]))
    n = int(rng.integers(*CELLS[d], endpoint=True))
    n = max(n, 2 if degree == 1 else 1)  # something must be free
    mesh = unit_mesh(rng, d, n, shape if d > 1 else str(rng.choice(["structured", "uneven"])))
    u = Separable(tuple(tuple(random_factor(rng) for _ in range(d)) for _ in range(int(rng.integers(1, 3)))))
    kappa, c = float(rng.choice([1.0, 2.5, 0.125])), float(rng.choice([0.0, 0.5, 7.0, 40.0]))
    sides = [(name, axis, float(end)) for axis, pair in enumerate(SIDES[:d]) for end, name in enumerate(pair)]
    free = [s for s in sides if rng.uniform() < 0.3]
    free = free[1:] if len(free) == len(sides) else free
    neumann = {name: u.slope(axis, kappa if end else -kappa) for name, axis, end in free}
    dirichlet = {name: u.text() for name, _, _ in sides if name not in neumann}
    spread: Any = kappa
    if kind == "jump":
        spread = np.where(np.arange(len(mesh.cells)) % 2, kappa, 2.0 * kappa)
    problem = pp.fem.ReactionDiffusion(mesh, u.source(kappa, c), spread, c, dirichlet, neumann, degree=degree)
    X = rng.uniform(0.05, 0.95, (6 if kind == "formula" or d == 1 else 3, d))
    inner = mesh.points[np.all((mesh.points > 0.0) & (mesh.points < 1.0), axis=1)]
    if len(inner) and rng.uniform() < 0.3:
        X[0] = inner[int(rng.integers(len(inner)))]
    queries, truths = problem.points(X), [u(x) for x in X]
    if rng.uniform() < 0.3:
        side, axis, end = sides[int(rng.integers(len(sides)))]
        queries, truths = queries + problem.patch(side), [*truths, u.line_integrals([0.0] * d, [1.0] * d, axis, end, 0)]
    label = f"{d}D {shape} n={n} P{degree} κ={kappa} c={c} N={','.join(neumann)}"
    return label, problem, prediction(rng, u, kind), queries, truths


def refused(problem: Any, asked: Any, queries: Any) -> bool:
    """Whether the lift is refused with a reason."""
    try:
        pp.certify(problem, asked, queries, lift=True)
    except pp.InputError as error:
        return "same on all cells" in str(error)
    return False


def campaign(cases: int, seed: int = 0, kinds: tuple[str, ...] = PREDICTIONS) -> tuple[dict[Any, list[Any]], list[str]]:
    """Rows of (share, gain, quadrature/radius, seconds) by kind and dimension, and what went wrong."""
    rows: dict[Any, list[Any]] = defaultdict(list)
    wrong: list[str] = []
    for k in range(cases):
        if k and k % 8 == 0:
            print(
                f"{k} of {cases} cases, {sum(map(len, rows.values()))} intervals, {len(wrong)} wrong", file=sys.stderr
            )
        rng, kind = np.random.default_rng([seed, k]), kinds[k % len(kinds)]
        label, problem, asked, queries, truths = posed(rng, kind)
        label, start = f"case {k}, {kind}, {label}", time.process_time()
        if kind == "jump" and problem.mesh.cells.shape[0] > 1:
            if not refused(problem, asked, queries):
                wrong.append(f"{label}: not refused")
            rows[kind, problem.mesh.dim] += [(np.nan,) * 4]
            continue
        found = pp.certify(problem, asked, queries, lift=True)
        seconds = time.process_time() - start
        if found.guarantee.value != "deterministic" or np.isnan([*found.radius, *found.center]).any():
            wrong.append(f"{label}: {found.guarantee.value}, {found.radius}")
        for i, truth in enumerate(truths):
            low, high = float(found.lower[i]), float(found.upper[i])
            if isinstance(truth, float):  # of the trained networks: computed in floating point
                low, high = low - 1e-15, high + 1e-15
            if np.isfinite([low, high]).all() and not holds(low, high, exactly(truth)):
                wrong.append(f"{label}: {float(truth)!r} is not in [{low!r}, {high!r}]")
            off = abs(found.center[i] - float(truth)) / found.radius[i]
            share = found.terms["quadrature"][i] / found.radius[i] if np.isfinite(found.radius[i]) else np.nan
            rows[kind, problem.mesh.dim].append((off, found.details["narrowing"][i], share, seconds))
    return rows, wrong


def main() -> None:
    """Run all cases and print the table; exit with 1 where an interval misses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=160)
    parser.add_argument("--quick", action="store_true", help="one case of each kind")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rows, wrong = campaign(len(PREDICTIONS) if asked.quick else asked.cases, asked.seed)
    print("prediction  dim  points  share: median  largest  gain: median    largest  quadrature/radius  seconds a case")
    for (kind, d), values in sorted(rows.items(), key=lambda item: (PREDICTIONS.index(item[0][0]), item[0][1])):
        if kind == "jump":
            print(f"{kind:12}{d}D {len(values):6d}  refused")
            continue
        share, gain, quadrature, cost = np.array(values, dtype=float).T
        print(
            f"{kind:12}{d}D {len(values):6d} {np.median(share):14.2g} {np.max(share):8.2g} {np.median(gain):13.3g} "
            f"{np.max(gain):10.3g} {np.nanmedian(quadrature):18.2g} {np.median(cost):15.1f}"
        )
    for line in wrong:
        print("WRONG:", line)
    gains = [row[1] for (kind, _), values in rows.items() if kind != "jump" for row in values]
    print(f"{len(gains)} intervals, {gains.count(0.0)} of them infinite: {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
