"""pinnpoint beside other methods on the same problems: python studies/comparison.py [--quick] [--out FILE].

Reduced-basis estimators of pyMOR (extra `compare`), dual-weighted residuals (written out below), split conformal
prediction. Times are processor seconds; run it with one thread.
The tables of docs/comparison.md are made of what this writes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse.linalg as spla

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh

OUT = Path(__file__).parent / "results" / "comparison.json"
POINTS = [[0.3, 0.4], [0.71, 0.62], [0.52, 0.81]]


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and what came out."""
    start = time.process_time()
    found = action()
    return time.process_time() - start, found


def reduced(problem: Any) -> tuple[Any, Any]:
    """The free rows, and the matrix there."""
    free = np.asarray(problem.space.free)
    return free, problem.A.tocsr()[free][:, free]


def model(A: Any, terms: list[Any], weights: list[Any], F: Any, functionals: list[Any], L: Any) -> Any:
    """A pyMOR model of Σ weights·terms U = Σ functionals·F, with outputs L U; energy product A."""
    from pymor.models.basic import StationaryModel
    from pymor.operators.constructions import LincombOperator, VectorOperator
    from pymor.operators.numpy import NumpyMatrixOperator

    operators = [NumpyMatrixOperator(T) for T in terms]
    operator = operators[0] if len(terms) == 1 else LincombOperator(operators, weights)
    vectors = [VectorOperator(operators[0].source.from_numpy(f[:, None])) for f in F]
    rhs = vectors[0] if len(vectors) == 1 else LincombOperator(vectors, functionals)
    product = NumpyMatrixOperator(A)
    return StationaryModel(operator, rhs, output_functional=NumpyMatrixOperator(L), products={"energy": product})


def basis(fom: Any, parameters: Any) -> Any:
    """An energy-orthonormal basis of solved snapshots."""
    from pymor.algorithms.gram_schmidt import gram_schmidt

    U = fom.solution_space.empty()
    for mu in parameters:
        U.append(fom.solve({"mu": mu} if len(mu) else None))
    return gram_schmidt(U, product=fom.products["energy"])


def summary(bound: Any, error: Any) -> dict[str, float]:
    """How far bounds are above the errors they bound."""
    ratio = bound / error
    return {
        "median error": float(np.median(error)),
        "median bound": float(np.median(bound)),
        "median bound / error": float(np.median(ratio)),
        "bounds below the error": int(np.sum(ratio < 1.0)),
    }


def loads(cells: int, count: int, ranks: tuple[int, ...]) -> dict[str, Any]:
    """−Δu = Σ μ_k f_k, eight terms: pyMOR's reduced bases with both of its output estimators, and our family."""
    from pymor.parameters.functionals import ConstantParameterFunctional, ProjectionParameterFunctional
    from pymor.reductors.coercive import CoerciveRBReductor
    from pymor.reductors.dwr import DWRCoerciveRBReductor

    p = 8
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", cells))
    family = problem.family([{"source": f"sin({k + 1}*pi*x)*cos({k % 3}*pi*y) + x**{k}"} for k in range(p)])
    queries = problem.points(POINTS)
    free, A = reduced(problem)
    F = np.array([family.vector(mu)[free] for mu in np.eye(p)])
    L = queries.L[:, free]
    L = L.toarray() if hasattr(L, "toarray") else np.asarray(L)
    weights = [ProjectionParameterFunctional("mu", p, k) for k in range(p)]
    fom = model(A, [A], [], F, weights, L)
    product, one = fom.products["energy"], ConstantParameterFunctional(1.0)

    def duals() -> list[Any]:  # the same operator, minus each output's functional as its load (its sign there)
        return [model(A, [A], [], [-row], [], L[:1]) for row in L]

    def adjoints() -> list[Any]:  # the best dual bases there are: the solved duals
        return [basis(dual, [np.zeros(0)]) for dual in duals()]

    rng = np.random.default_rng(0)
    train, test = rng.uniform(0.5, 1.5, (p, p)), rng.uniform(0.5, 1.5, (count, p))
    offline, certifier = timed(lambda: family.prepare(queries))
    rows: list[dict[str, Any]] = []
    for rank in ranks:
        snapshots, RB = timed(lambda rank=rank: basis(fom, train[:rank]))
        for name, make in (
            ("CoerciveRBReductor", lambda RB=RB: CoerciveRBReductor(fom, RB, product, one)),
            ("DWRCoerciveRBReductor", lambda RB=RB: DWRCoerciveRBReductor(fom, duals(), RB, adjoints(), product, one)),
        ):
            build, rom = timed(lambda make=make: make().reduce())
            seconds, found = timed(
                lambda rom=rom: [(rom.output({"mu": m}), rom.estimate_output_error({"mu": m})) for m in test]
            )
            value = np.array([np.ravel(v) for v, _ in found])
            bound = np.array([np.ravel(e) for _, e in found])
            online, batch = timed(lambda value=value: certifier.certify_raw(value, test))
            error = np.abs(value - batch.center)
            sure = error - batch.radius > bound
            rows.append(
                {
                    "rank": rank,
                    "reductor": name,
                    "offline [s]": snapshots + build,
                    "online [ms]": 1e3 * seconds / count,
                    "pymor": summary(bound, np.maximum(error, 1e-300)) | {"bounds below the error": int(sure.sum())},
                    "ours": summary(batch.raw_radius, np.maximum(error, 1e-300)),
                    "ours, online [ms]": 1e3 * online / count,
                }
            )
    return {
        "dofs": int(free.size), "loads": count, "queries": len(POINTS), "ours, offline [s]": offline,
        "ours, widest radius": float(batch.radius.max()), "rows": rows,
    }  # fmt: skip


def operator(cells: int, count: int, rank: int) -> dict[str, Any]:
    """−∇·(κ_μ∇u) = 1, κ_μ = μ_k on quarter k: a parameter in the operator.

    pyMOR's reduced basis, our reduced duals and our `Exact` for three points of the discrete solution; our families of
    operators for the mean and averages over blocks about these points of the PDE's own solution, predictions from no
    network (zero).
    """
    from pymor.parameters.functionals import MinThetaParameterFunctional, ProjectionParameterFunctional
    from pymor.reductors.coercive import CoerciveRBReductor

    mesh = pp.io.generate("square", cells)
    centre = mesh.points[mesh.cells].mean(axis=1)
    quarter = (centre[:, 0] > 0.5).astype(int) + 2 * (centre[:, 1] > 0.5)

    def of(kappa: Any) -> Any:
        return pp.fem.ReactionDiffusion(mesh, source=1.0, diffusion=np.asarray(kappa, dtype=float)[quarter])

    first = of(np.ones(4))
    free, A = reduced(first)
    tiny = 1e-9  # a diffusion must be positive
    terms = [(reduced(of(np.where(np.arange(4) == k, 1.0 + tiny, tiny)))[1] - tiny * A).tocsr() for k in range(4)]
    queries = first.points(POINTS)
    L = queries.L[:, free]
    L = L.toarray() if hasattr(L, "toarray") else np.asarray(L)
    weights = [ProjectionParameterFunctional("mu", 4, k) for k in range(4)]
    fom = model(A, terms, weights, [first.b[free]], [], L)
    floor = MinThetaParameterFunctional(weights, {"mu": np.ones(4)})
    rng = np.random.default_rng(1)
    train, test = rng.uniform(0.2, 2.0, (rank, 4)), rng.uniform(0.2, 2.0, (count, 4))
    snapshots, RB = timed(lambda: basis(fom, train))
    build, rom = timed(lambda: CoerciveRBReductor(fom, RB, fom.products["energy"], floor).reduce())
    online, found = timed(lambda: [(rom.output({"mu": m}), rom.estimate_output_error({"mu": m})) for m in test])
    value, bound = (np.array([np.ravel(f[i]) for f in found]) for i in (0, 1))

    def certified(mu: Any) -> Any:
        problem = of(mu)
        return pp.Exact().prepare(problem.system, problem.points(POINTS)).certify(problem.space.U0)

    seconds, proved = timed(lambda: [certified(mu) for mu in test])
    error = np.abs(value - np.array([c.center for c in proved]))
    names = [f"quarter {k}" for k in range(4)]
    grouped = Mesh(mesh.points, mesh.cells, {name: quarter == k for k, name in enumerate(names)}, mesh.facet_groups)
    parts = pp.fem.ReactionDiffusion(grouped, source=1.0)
    averages = parts.mean() + parts.cells(POINTS, side=0.125, name=[f"block {i}" for i in range(len(POINTS))])
    bases, few = timed(lambda: parts.operators(names).reduce(averages, rank=rank, within=(0.2, 2.0)))
    few.certify_many(test[:1])
    points, discrete = timed(
        lambda: parts.operators(names).reduce(parts.points(POINTS), rank=rank, within=(0.2, 2.0), target="discrete")
    )
    own = discrete.certify_many(test)
    theirs = discrete.certify_many(test, value)  # pyMOR's values, with our bound
    single, _ = timed(lambda: [discrete.certify_many(test[i : i + 1]) for i in range(count)])
    thousand, _ = timed(lambda: discrete.certify_many(np.tile(test, (20, 1))))
    missed = np.abs(own.value - np.array([c.center for c in proved]))
    alone, _ = timed(lambda: [few.certify_many(test[i : i + 1]) for i in range(count)])
    batch, small = timed(lambda: few.certify_many(np.tile(test, (20, 1))))
    asked = first.mean() + first.cells(POINTS, side=0.125, name=[f"block {i}" for i in range(len(POINTS))])
    once, certifier = timed(lambda: first.operators(diffusion="cells").prepare(asked, steps=4, dual_steps=3))
    kappas, zeros = test[:, quarter], np.zeros((count, len(mesh.points)))
    certifier.certify_many(kappas[:1], zeros[:1])  # what is compiled is compiled
    many, population = timed(lambda: certifier.certify_many(kappas, zeros))
    solved = first.operators(diffusion="cells").prepare(first.mean(), steps=40).certify_many(kappas, zeros)
    share = few.certify_many(test).gap / solved.gap
    return {
        "reduced, η by the mesh": float(np.median(share)), "reduced, worst η by the mesh": float(share.max()),
        "reduced, once [s]": bases, "reduced, in batches [ms]": 1e3 * batch / (20 * count),
        "reduced, alone [ms]": 1e3 * alone / count, "reduced, median radius": float(np.median(small.radius)),
        "reduced, median radius / value": float(np.median(small.radius / np.abs(small.center))),
        "discrete, once [s]": points, "discrete, in batches [ms]": 1e3 * thousand / (20 * count),
        "discrete, alone [ms]": 1e3 * single / count, "discrete, widest radius": float(own.radius.max()),
        "discrete": summary(own.raw_radius, missed), "pymor, our bound": summary(theirs.raw_radius, error),
        "discrete, worst bound / error": float((own.raw_radius / missed).max()),
        "family, once [s]": once, "family, per parameter [ms]": 1e3 * many / count,
        "family, median radius": float(np.median(population.radius)),
        "family, median radius / value": float(np.median(population.radius / np.abs(population.center))),
        "dofs": int(free.size), "parameters": count, "rank": rank, "pymor, offline [s]": snapshots + build,
        "pymor, online [ms]": 1e3 * online / count, "pymor": summary(bound, error),
        "ours, per parameter [ms]": 1e3 * seconds / count,
        "ours, widest radius": float(max(c.radius.max() for c in proved)),
    }  # fmt: skip


def dual_weighted(cells: int) -> dict[str, Any]:
    """J(u) − J(u_h) ≈ (f, z) − a(u_h, z) with z from quadratic elements; −Δu = f with a known solution."""
    f, exact = "exp(x)*(2*x*(1-x) + y*(1-y)*(x+3)*x)", lambda X: np.exp(X[:, 0]) * np.prod(X * (1.0 - X), axis=1)
    mesh = pp.io.generate("square", cells)
    at = np.random.default_rng(2).uniform(0.15, 0.85, (24, 2))
    linear, quadratic = (pp.fem.ReactionDiffusion(mesh, source=f, degree=k) for k in (1, 2))
    truth = exact(at)

    def estimate() -> tuple[Any, Any]:
        free, A = reduced(linear)
        u = np.zeros(linear.system.N)
        u[free] = spla.splu(A.tocsc()).solve(linear.b[free])
        all_nodes = quadratic.extract(u).U  # the same function among quadratics
        inner, A2 = reduced(quadratic)
        rest = (quadratic.b - quadratic.A @ all_nodes)[inner]
        asked = quadratic.points(at).L[:, inner]
        asked = asked.toarray() if hasattr(asked, "toarray") else np.asarray(asked)
        z = spla.splu(A2.tocsc()).solve(asked.T)
        return linear.points(at).L @ u, z.T @ rest

    seconds, (value, guess) = timed(estimate)
    error = truth - value
    rows = {"dual-weighted, quadratic dual": {
        "seconds": seconds, "median error": float(np.median(np.abs(error))),
        "median |estimate| / error": float(np.median(np.abs(guess / error))),
        "below the error": int(np.sum(np.abs(guess) < np.abs(error))),
        "median error after correction": float(np.median(np.abs(error - guess))),
    }}  # fmt: skip
    for name, problem in (("pinnpoint, linear", linear), ("pinnpoint, quadratic", quadratic)):
        queries = problem.points(at)
        seconds, found = timed(lambda p=problem, q=queries: pp.certify(p, p.space.U0, q))
        error = np.abs(found.center - truth)
        rows[name] = {
            "seconds": seconds, "median error": float(np.median(error)),
            "median radius": float(np.median(found.radius)),
            "median |estimate| / error": float(np.median(found.radius / error)),
            "below the error": int(np.sum(found.radius < error)),
        }  # fmt: skip
    return {"cells": cells, "queries": len(at), "rows": rows}


def conformal(cells: int, calibration: int, count: int) -> dict[str, Any]:
    """Bands of a surrogate for loads, calibrated on solved ones; in the population and beyond it."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", cells))
    family = problem.family([{"source": "x"}, {"source": "sin(3*x)*y"}, {"source": "exp(x*y)"}])
    certifier = family.prepare(problem.points([POINTS[0]]))
    rng = np.random.default_rng(3)

    def truth(mu: Any) -> Any:
        return certifier.certify_raw(np.zeros((len(mu), 1)), mu).center[:, 0]

    def surrogate(
        mu: Any,
    ) -> Any:  # quadratic ridge on products of parameters that were seen: smooth, and slightly wrong
        features = np.column_stack([np.ones(len(mu)), np.sin(mu), mu[:, :1] * mu[:, 1:2]])
        return features @ fit

    seen = rng.uniform(0.5, 1.5, (60, 3))
    features = np.column_stack([np.ones(60), np.sin(seen), seen[:, :1] * seen[:, 1:2]])
    fit = np.linalg.lstsq(features, truth(seen), rcond=None)[0]
    given = rng.uniform(0.5, 1.5, (calibration, 3))
    rows = []
    scores = np.sort(np.abs(truth(given) - surrogate(given)))
    half = float(scores[int(np.ceil(0.95 * (calibration + 1))) - 1])  # the split conformal quantile
    for shift in (0.0, 0.5, 1.0):
        mu = rng.uniform(0.5, 1.5, (count, 3)) + shift
        says, true = surrogate(mu), truth(mu)
        proof, batch = timed(lambda says=says, mu=mu: certifier.certify_raw(says[:, None], mu))
        rows.append(
            {
                "shift": shift,
                "median error": float(np.median(np.abs(says - true))),
                "band": half,
                "bands that hold": float(np.mean(np.abs(says - true) <= half)),
                "proved radius about the surrogate": float(np.median(batch.raw_radius)),
                "proofs that hold": float(np.mean(np.abs(says - true) <= batch.raw_radius[:, 0])),
                "proof [µs]": 1e6 * proof / count,
            }
        )
    return {"calibration": calibration, "loads": count, "rows": rows}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", choices=("loads", "operator", "dual-weighted", "conformal"), help="the others stay")
    arguments = parser.parse_args()
    quick = arguments.quick
    from pymor.core.logger import set_log_levels

    set_log_levels({"pymor": "ERROR"})
    parts = {
        "loads": lambda: loads(*((16, 20, (2, 8)) if quick else (150, 200, (2, 4, 6, 8)))),
        "operator": lambda: operator(*((16, 5, 4) if quick else (100, 50, 10))),
        "dual-weighted": lambda: dual_weighted(8 if quick else 32),
        "conformal": lambda: conformal(8, 1000, 5000),
    }
    found: dict[str, Any] = {"versions": {name: _version(name) for name in ("pymor", "numpy", "scipy")}}
    if arguments.only is not None:
        found |= json.loads(arguments.out.read_text(encoding="utf-8"))
        parts = {arguments.only: parts[arguments.only]}
    found |= {name: part() for name, part in parts.items()}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1, ensure_ascii=False))


def _version(name: str) -> str:
    from importlib.metadata import version

    return version(name)


if __name__ == "__main__":
    main()
