"""A load family on a bracket: train coefficient networks, certify every test load. Needs the extra `torch`.

    python studies/load_family.py [--quick] [--dofs 400000] [--out results.json]

F_μ = μ₁ vertical + μ₂ horizontal + μ₃ diagonal + μ₄ torsion; 512 training, 128 validation and 256 test loads, random
and scaled; output ranks 2 to 4 in a reduced compatible basis; 3 hidden layers of 128 GELU units, AdamW, batches of 64,
1200 epochs, the best checkpoint by validation. 28 queries of the displacement u_z: four patch averages, sixteen
off-grid surface points, eight interior points. What is certified are the network's outputs as it would be deployed, in
float32. Three of the loads share a point, so the solutions span three directions; the fourth basis vector is gravity's.

The full form takes the Gmsh bracket, a PARDISO factorization (pypardiso; else algebraic multigrid, pyamg) for Green
vectors, and coercivity by paths of cells; `--quick` the small bracket that comes with the package. The truth is
independent: multigrid-preconditioned conjugate gradients for each of the four loads, whose combinations are exact by
linearity; its own defect is reported. The "fresh solve" is one run of conjugate gradients with Jacobi preconditioning
to 1e-10, timed in the same run.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import torch

import pinnpoint as pp
from pinnpoint import training

KINDS = ("patch average", "surface point", "interior point")
COUNTS = (4, 16, 8)


def make_problem(dofs: int | None) -> tuple[Any, list[dict[str, Any]], dict[str, Any]]:
    """The bracket with its four load cases, and gravity for a further basis vector."""
    try:
        from pinnpoint.fem.bracket import LOADS, bracket
    except ImportError as error:
        raise SystemExit(f"this study needs the generated bracket: {error}") from error

    loads = [{"force": {"pin": load}} for load in LOADS.values()]
    return bracket(dofs=dofs), loads, {"body": ("0", "0", "-1")}


def make_queries(problem: Any, rng: np.random.Generator) -> pp.Queries:
    """Averages over small patches, and points inside facets and cells, as rows of barycentric weights."""
    mesh = problem.mesh
    surface = mesh.facets("surface")
    middle = mesh.points[surface].mean(axis=1)
    area = mesh.facet_measures(surface)
    rows: list[tuple[np.ndarray, np.ndarray]] = []
    size = 0.08 * np.ptp(mesh.points[:, 0])
    pin = mesh.points[np.unique(mesh.facets("pin"))].mean(axis=0)
    away = np.linalg.norm(middle - pin, axis=1)
    for k in (np.argmin(away), np.argmax(middle[:, 2]), np.argmax(away), np.argsort(away)[len(away) // 2]):
        near = np.linalg.norm(middle - middle[k], axis=1) <= size
        weight = np.repeat(area[near] / area[near].sum() / 3.0, 3)
        rows.append((surface[near].ravel(), weight))
    for simplices, count in ((surface, COUNTS[1]), (mesh.cells, COUNTS[2])):
        chosen = rng.choice(len(simplices), count, replace=False)
        bary = rng.dirichlet(np.ones(simplices.shape[1]), count)
        rows += [(simplices[c], b) for c, b in zip(chosen, bary, strict=True)]
    L = sp.lil_array((len(rows), problem.system.N))
    for i, (nodes, weight) in enumerate(rows):
        row = np.bincount(3 * nodes + 2, weight, minlength=problem.system.N)
        where = np.flatnonzero(row)
        L[i, where] = row[where]
    names = [f"{kind} {i + 1}" for kind, count in zip(KINDS, COUNTS, strict=True) for i in range(count)]
    return pp.Queries(sp.csr_array(L), names)


class Pardiso:
    """A factorization by MKL, for one or many right-hand sides."""

    def __init__(self, A: Any) -> None:
        from pypardiso import PyPardisoSolver

        self.A = sp.csr_matrix(sp.triu(A, format="csr"))
        self.solver = PyPardisoSolver(mtype=2)
        self.solver.factorize(self.A)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """A⁻¹b."""
        return np.asarray(self.solver.solve(self.A, np.asfortranarray(b))).reshape(b.shape)

    solve_transposed = solve


class Multigrid:
    """Conjugate gradients with smoothed aggregation and rigid-body modes."""

    def __init__(self, A: Any, points: np.ndarray, tolerance: float = 1e-12) -> None:
        import pyamg

        x, y, z = (points - points.mean(axis=0)).T / np.ptp(points)
        B = np.zeros((3 * len(points), 6))
        for k in range(3):
            B[k::3, k] = 1.0
        B[0::3, 3], B[1::3, 3] = -y, x
        B[1::3, 4], B[2::3, 4] = -z, y
        B[0::3, 5], B[2::3, 5] = z, -x
        self.A, self.tolerance = sp.csr_matrix(A), tolerance
        blocks = sp.bsr_matrix(self.A, blocksize=(3, 3))
        self.levels = pyamg.smoothed_aggregation_solver(blocks, B=B, strength=("symmetric", {"theta": 0.08}))

    def solve(self, b: np.ndarray) -> np.ndarray:
        """A⁻¹b, column by column, with one step of refinement."""
        if b.ndim == 2:
            return np.stack([self.solve(column) for column in b.T], axis=1)
        x = self.levels.solve(b, tol=self.tolerance, accel="cg", maxiter=400)
        return np.asarray(x + self.levels.solve(b - self.A @ x, tol=1e-4, accel="cg", maxiter=100))

    solve_transposed = solve


def reference(problem: Any, A: Any, F: np.ndarray) -> tuple[np.ndarray, float]:
    """Solutions of the single loads by a solver that the certificates do not use, and their relative residual."""
    free = np.asarray(problem.space.free)
    try:
        points = problem.mesh.points[np.unique(free // 3)]
        solve = Multigrid(A, points).solve
    except ImportError:
        solve = lambda b: np.stack([_cg(A, c, 1e-13)[0] for c in b.T], axis=1)  # noqa: E731
    U = np.zeros((len(F), problem.system.N))
    U[:, free] = solve(F[:, free].T).T
    r = np.linalg.norm(A @ U[:, free].T - F[:, free].T, axis=0) / np.linalg.norm(F[:, free], axis=1)
    return U, float(r.max())


def _cg(A: Any, b: np.ndarray, tolerance: float) -> tuple[np.ndarray, int]:
    d = 1.0 / A.diagonal()
    steps = 0

    def count(_: Any) -> None:
        nonlocal steps
        steps += 1

    M = spla.LinearOperator(A.shape, matvec=lambda v: d * v)
    x, _ = spla.cg(A, b, rtol=tolerance, atol=0.0, M=M, maxiter=50_000, callback=count)
    return x, steps


def prepared(problem: Any, family: pp.LoadFamily, queries: pp.Queries, A: Any) -> Any:
    """Direct factorization where it fits, else PARDISO or multigrid with coercivity by paths of cells."""
    if problem.system.n < 30_000:
        return family.prepare(queries)
    from pinnpoint.fem.coercivity import path_coercivity

    alpha = path_coercivity(problem)
    try:
        solver: Any = Pardiso(A)
    except ImportError:
        solver = Multigrid(A, problem.mesh.points[np.unique(np.asarray(problem.space.free) // 3)])
    return family.prepare(queries, pp.Exact(solver=solver, coercivity=alpha))


def loads(rng: np.random.Generator, count: int) -> np.ndarray:
    """Random directions in the box, scaled."""
    return rng.uniform(-1.0, 1.0, (count, 4)) * rng.uniform(0.5, 1.5, (count, 1))


def float32(trained: Any, states: Any, mu: np.ndarray) -> np.ndarray:
    """The outputs at the queries as a deployed network computes them."""
    a = trained(mu).astype(np.float32)
    return (a @ states.values.T.astype(np.float32) + states.constant.astype(np.float32)).astype(np.float64)


def best_of(runs: int, work: Any) -> float:
    """Seconds of the quickest run."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def study(dofs: int | None, epochs: int, report: Any) -> dict[str, Any]:
    """Everything, with numbers."""
    rng = np.random.default_rng(7)
    start = time.perf_counter()
    problem, tables, gravity = make_problem(dofs)
    family = problem.family(tables)
    queries = make_queries(problem, rng)
    free = np.asarray(problem.space.free)
    A = sp.csr_array(problem.A[free][:, free])
    report(f"{problem.system.n} dofs, {A.nnz} nonzeros: assembled in {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    certifier = prepared(problem, family, queries, A)
    offline = time.perf_counter() - start
    report(f"prepared in {offline:.1f} s")
    train, check, test = (loads(rng, n) for n in (512, 128, 256))
    start = time.perf_counter()
    solved, defect = reference(problem, A, family.F)
    report(f"references in {time.perf_counter() - start:.1f} s, relative residual {defect:.1e}")
    truth = test @ (queries.L @ solved.T).T
    start = time.perf_counter()
    fresh, steps = _cg(A, (test[0] @ family.F)[free], 1e-10)
    cg_seconds = time.perf_counter() - start
    report(f"fresh CG solve: {cg_seconds:.1f} s, {steps} iterations")
    own = np.zeros(problem.system.N)
    own[free] = fresh
    cg_error = float(np.max(np.abs(queries.L @ own - truth[0]) / np.abs(truth[0])))
    basis = training.reduced_basis(certifier, 3, train)
    extra = np.zeros((problem.system.N, 1))
    extra[free, 0] = certifier.certifier._solver.solve(problem.load(**gravity)[free])
    extra /= np.sqrt(float(extra[free, 0] @ (A @ extra[free, 0])))
    rows = []
    for rank in (2, 3, 4):
        V = np.concatenate([basis, extra], axis=1) if rank == 4 else training.reduced_basis(certifier, rank, train)
        settings = training.Settings(epochs=epochs, optimizer="adamw", batch=64)
        trained = training.train_family(certifier, V, train, check, settings)
        reduced = certifier.reduced(V)
        raw = float32(trained, reduced.states, test)
        batch = reduced.certify_many(trained, test, raw=raw)
        rows.append(_row(rank, trained, batch, truth, raw))
        seconds = best_of(5, partial(reduced.certify_many, trained, test))
        rows[-1]["milliseconds a load, coefficients"] = 1e3 * seconds / len(test)
        report(f"rank {rank}: {rows[-1]}")
    raw_seconds = (
        best_of(5, lambda: certifier.certify_raw(np.tile(raw, (40, 1)), np.tile(test, (40, 1)))) / len(test) / 40
    )
    states = trained(test) @ V.T
    state_seconds = best_of(2, lambda: certifier.certify_many(states, test)) / len(test)
    value_seconds = best_of(2, lambda: certifier.certify_many(states, test, residuals=False)) / len(test)
    center = certifier.certify_raw(raw, test).center
    return {
        "dofs": problem.system.n,
        "nonzeros": int(A.nnz),
        "offline seconds": round(offline, 1),
        "reference residual": defect,
        "evaluations": int(truth.size),
        "worst corrected-centre error, relative": float(np.max(np.abs(center - truth) / np.abs(truth))),
        "worst corrected-centre error over the largest value of its query": float(
            np.max(np.abs(center - truth) / np.abs(truth).max(axis=0))
        ),
        "relative radius": float(np.max(certifier.certify_raw(raw, test).radius / np.abs(truth).max(axis=0))),
        "fresh CG seconds": round(cg_seconds, 2),
        "fresh CG iterations": steps,
        "fresh CG error": cg_error,
        "milliseconds a load, raw outputs": 1e3 * raw_seconds,
        "milliseconds a load, full states with residual norms": 1e3 * state_seconds,
        "milliseconds a load, full states": 1e3 * value_seconds,
        "fresh CG / full states with residual norms": cg_seconds / state_seconds,
        "fresh CG / raw outputs": cg_seconds / raw_seconds,
        "ranks": rows,
        "claims": [f"{c.status}: {c.claim}" for c in certifier.table.claims],
    }


def _row(rank: int, trained: Any, batch: Any, truth: np.ndarray, raw: np.ndarray) -> dict[str, Any]:
    error = np.abs(raw - truth)
    slip = 1e-12 * np.abs(truth).max(axis=0)  # the reference's own rounding
    held = error <= batch.raw_radius + slip
    kinds = np.repeat(np.arange(3), COUNTS)
    return {
        "rank": rank,
        "best validation loss": trained.history.best_loss,
        "best epoch": trained.history.best,
        "training seconds": round(trained.history.seconds, 1),
        "coverage": float(held.mean()),
        "coverage by kind": {kind: float(held[:, kinds == k].mean()) for k, kind in enumerate(KINDS)},
        "median raw error": float(np.median(error)),
        "q95 raw error": float(np.quantile(error, 0.95)),
        "median raw radius": float(np.median(batch.raw_radius)),
        "q95 raw radius": float(np.quantile(batch.raw_radius, 0.95)),
        "q95 mismatch": float(np.quantile(batch.mismatch, 0.95)),
        "q95 largest correction of a load": float(np.quantile(np.abs(batch.correction).max(axis=1), 0.95)),
        "mean residual norm": float(batch.residual_norm.mean()),
    }


def main() -> None:
    """Run, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the small bracket, few epochs")
    parser.add_argument("--dofs", type=int, default=400_000, help="free displacements of the bracket, met within 15 %%")
    parser.add_argument("--out", type=Path, help="write the numbers as JSON")
    arguments = parser.parse_args()
    start = time.perf_counter()
    told = lambda text: print(f"[{time.perf_counter() - start:7.1f} s] {text}", flush=True)  # noqa: E731
    torch.set_num_threads(1)
    found = study(None if arguments.quick else arguments.dofs, 100 if arguments.quick else 1200, told)
    print(json.dumps(found, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if not all(row["coverage"] == 1.0 for row in found["ranks"]):
        raise SystemExit("an interval missed the truth")


if __name__ == "__main__":
    main()
