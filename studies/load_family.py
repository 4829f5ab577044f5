"""A load family on a bracket: train coefficient networks, certify every test load. Needs the extra `torch`.

    python studies/load_family.py [--quick] [--dofs 400000] [--out results.json]

F_μ = μ₁ vertical + μ₂ horizontal + μ₃ diagonal + μ₄ torsion; 512 training, 128 validation and 256 test loads, random
and scaled; output ranks 2 to 4 in a reduced compatible basis; 3 hidden layers of 128 GELU units, AdamW, batches of 64,
1200 epochs, the best checkpoint by validation. 28 queries of the displacement u_z: four patch averages, sixteen
off-grid surface points, eight interior points. What is certified are the network's outputs as it would be deployed, in
float32. Three of the loads share a point, so the solutions span three directions; the fourth basis vector is gravity's.

The full form takes the Gmsh bracket, the package's own choice of solver for Green vectors (PARDISO where pypardiso is
installed, else multigrid), and coercivity by paths of cells; `--quick` the small bracket that comes with the package.

The truth is independent: conjugate gradients with algebraic multigrid (pyamg) for each of the four loads, refined with
residuals in extended precision (numpy's longdouble, 64 bits of mantissa on x86) until they stop falling, the solution
itself kept in extended precision; its combinations are the solutions for all μ by linearity. The defect of the truth,
in extended precision, is reported. "Corrected-centre error" is |centre − truth| / |truth|, evaluation by evaluation,
at its worst of all 7,168: no scale of a query or family softens it. Values pass through zero over a family, so the same
over the largest value of the query is given as well, and the proved counterpart, radius / |centre|, at its worst.

The "fresh solve" is one run of conjugate gradients with Jacobi preconditioning to 1e-10 for the first test load, timed
in the same run. Times are of the clock and, after them, of the processor (all threads of this process): on a machine
with other work only the second are comparable.
"""

from __future__ import annotations

import argparse
import json
import os
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
        from pinnpoint.fem.elastic.bracket_loads import LOADS, bracket
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


def residual(A: Any, x: np.ndarray, b: np.ndarray) -> np.ndarray:
    """B − A x in extended precision, for one vector; rows in pieces, so that little memory is needed."""
    r = b.astype(np.longdouble)
    for first in range(0, A.shape[0], 20_000):
        last = min(first + 20_000, A.shape[0])
        at = slice(A.indptr[first], A.indptr[last])
        products = A.data[at].astype(np.longdouble) * x[A.indices[at]]
        r[first:last] -= np.add.reduceat(products, A.indptr[first:last] - A.indptr[first])
    return r


def reference(problem: Any, A: Any, F: np.ndarray, report: Any) -> tuple[np.ndarray, float]:
    """Solutions of the single loads in extended precision, and the worst relative residual that is left."""
    from pinnpoint.solvers.amg import Multigrid

    free = np.asarray(problem.space.free)
    solver = Multigrid(A, problem.system.modes, problem.system.node_size, tolerance=1e-10)
    b = np.ascontiguousarray(F[:, free].T)
    x = np.zeros(b.shape, dtype=np.longdouble)
    r, left = b.astype(np.longdouble), np.inf
    for step in range(8):
        y = x + solver.solve(np.asarray(r, dtype=np.float64))
        r_new = np.stack([residual(A, y[:, k], b[:, k]) for k in range(b.shape[1])], axis=1)
        found = float(max(np.linalg.norm(r_new[:, k]) / np.linalg.norm(b[:, k]) for k in range(b.shape[1])))
        report(f"references: step {step + 1}, relative residual {found:.1e}")
        if found > 0.5 * left:
            break
        x, r, left = y, r_new, found
    U = np.zeros((len(F), problem.system.N), dtype=np.longdouble)
    U[:, free] = x.T
    return U, left


def values(queries: pp.Queries, U: np.ndarray) -> np.ndarray:
    """ℓᵀU in extended precision, states by queries."""
    L = queries.L
    rows = [slice(L.indptr[i], L.indptr[i + 1]) for i in range(L.shape[0])]
    return np.stack([U[:, L.indices[at]] @ L.data[at].astype(np.longdouble) for at in rows], axis=1)


def _cg(A: Any, b: np.ndarray, tolerance: float) -> tuple[np.ndarray, int]:
    d = 1.0 / A.diagonal()
    steps = 0

    def count(_: Any) -> None:
        nonlocal steps
        steps += 1

    M = spla.LinearOperator(A.shape, matvec=lambda v: d * v)
    x, _ = spla.cg(A, b, rtol=tolerance, atol=0.0, M=M, maxiter=50_000, callback=count)
    return x, steps


def prepared(problem: Any, family: pp.LoadFamily, queries: pp.Queries) -> Any:
    """With coercivity by paths of cells where the system is large."""
    if problem.system.n < 30_000:
        return family.prepare(queries)
    from pinnpoint.fem.stability.coercivity import path_coercivity

    return family.prepare(queries, pp.Exact(coercivity=path_coercivity(problem)))


def loads(rng: np.random.Generator, count: int) -> np.ndarray:
    """Random directions in the box, scaled."""
    return rng.uniform(-1.0, 1.0, (count, 4)) * rng.uniform(0.5, 1.5, (count, 1))


def float32(trained: Any, states: Any, mu: np.ndarray) -> np.ndarray:
    """The outputs at the queries as a deployed network computes them."""
    a = trained(mu).astype(np.float32)
    return (a @ states.values.T.astype(np.float32) + states.constant.astype(np.float32)).astype(np.float64)


def best_of(runs: int, work: Any) -> np.ndarray:
    """Seconds of the clock and of the processor, each of its quickest run."""
    times = []
    for _ in range(runs):
        start = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return np.min(times, axis=0)


def study(dofs: int | None, epochs: int, report: Any, keep: Any) -> dict[str, Any]:
    """Everything, with numbers; `keep` is handed what there is after each stage."""
    rng = np.random.default_rng(7)
    start = time.perf_counter()
    problem, tables, gravity = make_problem(dofs)
    family = problem.family(tables)
    queries = make_queries(problem, rng)
    free = np.asarray(problem.space.free)
    A = sp.csr_array(problem.A[free][:, free])
    report(f"{problem.system.n} dofs, {A.nnz} nonzeros: assembled in {time.perf_counter() - start:.1f} s")
    train, check, test = (loads(rng, n) for n in (512, 128, 256))
    found: dict[str, Any] = {"dofs": problem.system.n, "nonzeros": int(A.nnz), "processors": os.cpu_count()}
    start = time.perf_counter(), time.process_time()
    certifier = prepared(problem, family, queries)
    found["offline seconds"] = round(time.perf_counter() - start[0], 1)
    found["offline processor seconds"] = round(time.process_time() - start[1], 1)
    found["claims"] = [f"{c.status}: {c.claim}" for c in certifier.table.claims]
    report(f"prepared in {found['offline seconds']} s")
    solved, found["reference residual"] = reference(problem, A, family.F, report)
    truth = test.astype(np.longdouble) @ values(queries, solved)
    batch = certifier.certify_raw(np.zeros(truth.shape), test)
    found |= _centres(batch, truth)
    keep(found)
    report(f"corrected centres: {found['worst corrected-centre error']:.1e} of the value itself")
    basis = training.reduced_basis(certifier, 3, train)
    extra = np.zeros((problem.system.N, 1))
    extra[free, 0] = certifier.certifier._solver.solve(problem.load(**gravity)[free])
    extra /= np.sqrt(float(extra[free, 0] @ (A @ extra[free, 0])))
    found["ranks"] = []
    for rank in (2, 3, 4):
        V = np.concatenate([basis, extra], axis=1) if rank == 4 else training.reduced_basis(certifier, rank, train)
        settings = training.Settings(epochs=epochs, optimizer="adamw", batch=64)
        trained = training.train_family(certifier, V, train, check, settings)
        reduced = certifier.reduced(V)
        raw = float32(trained, reduced.states, test)
        found["ranks"].append(_row(rank, trained, reduced.certify_many(trained, test, raw=raw), truth, raw))
        seconds = best_of(5, partial(reduced.certify_many, trained, test))
        found["ranks"][-1]["milliseconds a load, coefficients"] = _both(1e3 * seconds / len(test))
        keep(found)
        report(f"rank {rank}: {found['ranks'][-1]}")
    states = np.ascontiguousarray(trained(test) @ V.T)
    certifier.certify_many(states[:32], test[:32])  # compiles, and bounds the matrix
    online = {
        "raw outputs": best_of(5, lambda: certifier.certify_raw(np.tile(raw, (40, 1)), np.tile(test, (40, 1)))) / 40,
        "full states": best_of(3, lambda: certifier.certify_many(states, test, residuals=False)),
        "full states with residual norms": best_of(5, lambda: certifier.certify_many(states, test)),
    }
    for name, seconds in online.items():
        found[f"milliseconds a load, {name}"] = _both(1e3 * seconds / len(test))
    keep(found)
    report(f"online: {[v for k, v in found.items() if k.startswith('milliseconds')]}")
    own, steps = np.zeros(problem.system.N), 0
    b = (test[0] @ family.F)[free]

    def fresh() -> None:
        nonlocal steps
        own[free], steps = _cg(A, b, 1e-10)

    taken = best_of(1, fresh)
    found |= {"fresh CG seconds": _both(taken), "fresh CG iterations": steps}
    found["fresh CG error"] = float(np.max(np.abs(queries.L @ own - truth[0]) / np.abs(truth[0])))
    for name, seconds in online.items():
        found[f"fresh CG / {name}"] = _both(taken / (seconds / len(test)))
    report(f"fresh CG solve: {found['fresh CG seconds']} s, {steps} iterations")
    keep(found)
    return found


def _both(x: np.ndarray) -> dict[str, float]:
    return {"clock": float(x[0]), "processor": float(x[1])}


def _centres(batch: Any, truth: np.ndarray) -> dict[str, Any]:
    """How far the corrected centres are off, and how far they can be."""
    off = np.abs(batch.center - truth)
    return {
        "evaluations": int(truth.size),
        "centres whose interval holds the truth": float(np.mean(off <= batch.radius)),
        "worst corrected-centre error": float(np.max(off / np.abs(truth))),
        "median corrected-centre error": float(np.median(off / np.abs(truth))),
        "worst proved radius over the centre": float(np.max(batch.radius / np.abs(batch.center))),
        "worst corrected-centre error over the largest value of its query": float(
            np.max(off / np.abs(truth).max(axis=0))
        ),
        "worst radius over the largest value of its query": float(np.max(batch.radius / np.abs(truth).max(axis=0))),
        "smallest value over the largest of its query": float(np.min(np.abs(truth) / np.abs(truth).max(axis=0))),
    }


def _row(rank: int, trained: Any, batch: Any, truth: np.ndarray, raw: np.ndarray) -> dict[str, Any]:
    error = np.asarray(np.abs(raw - truth), dtype=np.float64)
    held = error <= batch.raw_radius  # no allowance: the truth has digits to spare
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

    def keep(found: dict[str, Any]) -> None:
        if arguments.out:
            arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

    found = study(None if arguments.quick else arguments.dofs, 100 if arguments.quick else 1200, told, keep)
    print(json.dumps(found, indent=1))
    if found["worst corrected-centre error"] > 1e-10:
        raise SystemExit("a corrected centre is off by more than 1e-10 of its value")
    if not all(row["coverage"] == 1.0 for row in found["ranks"]):
        raise SystemExit("an interval missed the truth")


if __name__ == "__main__":
    main()
