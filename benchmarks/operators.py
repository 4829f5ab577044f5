"""What a certificate costs beside a solve: energy error and mean, and ten averages, for coefficients of contrast 4.

Processor time of one thread, medians over rounds in one run, in which everything takes its turn: SuperLU on the lean
5-point matrix (analysis, factor and solve, without assembly), the solver by the same transforms (12 steps in float32),
S κ beside assembly.

OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/operators.py [--quick] [--out operators.json]
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.fft import idctn

import pinnpoint as pp

TOP = 0.012
"""About the largest value of the solutions; radii are shares of it."""


def fields(n, count, seed=0, low=3.0, high=12.0, tau=3.0, alpha=2.0):
    """A Gaussian field with covariance (−Δ + τ²)^−α, thresholded: one number a square."""
    k = np.arange(n)
    decay = tau ** (alpha - 1.0) * (np.pi**2 * (k[:, None] ** 2 + k[None, :] ** 2) + tau**2) ** (-alpha / 2.0)
    waves = n * decay * np.random.default_rng(seed).normal(size=(count, n, n))
    waves[:, 0, 0] = 0.0
    return np.where(idctn(waves, axes=(1, 2), norm="ortho") >= 0.0, high, low)


def five_point(k):
    """The matrix of linear elements without the zeros of its diagonals."""
    n = len(k)
    wx, wy = np.zeros((n, n + 1)), np.zeros((n + 1, n))
    wx[:, :-1] += 0.5 * k
    wx[:, 1:] += 0.5 * k
    wy[:-1] += 0.5 * k
    wy[1:] += 0.5 * k
    ix, iy, at = wx[:, 1:-1], wy[1:-1], np.arange((n - 1) ** 2).reshape(n - 1, n - 1)
    diagonal = (ix[:-1] + ix[1:] + iy[:, :-1] + iy[:, 1:]).ravel()
    values = [diagonal, *[-ix[1:-1].ravel()] * 2, *[-iy[:, 1:-1].ravel()] * 2]
    rows = [at, at[:-1], at[1:], at[:, :-1], at[:, 1:]]
    columns = [at, at[1:], at[:-1], at[:, 1:], at[:, :-1]]
    entries = np.concatenate(values), tuple(np.concatenate([a.ravel() for a in part]) for part in (rows, columns))
    return sp.csc_array(entries, shape=(at.size, at.size))


def took(works, rounds):
    """Processor times in ms of each of some works, (rounds,), one after the other in every round."""
    for work in works.values():
        work()
    found = {name: np.zeros(rounds) for name in works}
    for k in range(rounds):
        for name, work in works.items():
            start = time.process_time()
            work()
            found[name][k] = 1e3 * (time.process_time() - start)
    return found


def beside_jumps(p, K, count=12):
    """Radii at middles of pixels with jumps of κ beside them; and those of the problem alone, whose balls end there."""
    n = len(K)
    near = np.zeros((n, n), dtype=bool)
    near[1:-1, 1:-1] = [
        [np.ptp(K[i - 1 : i + 2, j - 1 : j + 2]) > 0.0 for j in range(1, n - 1)] for i in range(1, n - 1)
    ]
    at = np.random.default_rng(3).permutation(np.argwhere(near))[:count]
    pixels, kappa, zero = (at + 0.5) / n, K.reshape(1, -1).repeat(2, axis=1), np.zeros(len(p.mesh.points))
    few, more = (
        p.operators().prepare(p.points(pixels), steps=3, dual_steps=steps).certify_many(kappa, zero[None]).radius[0]
        for steps in (1, 3)
    )
    one = pp.fem.ReactionDiffusion(p.mesh, 1.0, kappa[0], dirichlet={"boundary": 0.0})
    alone = pp.certify(one, zero, one.points(pixels)).radius
    told = {"1 dual step": few, "3 dual steps": more, "alone": alone}
    found = {f"beside jumps, {name}": float(np.median(x) / TOP) for name, x in told.items()}
    return found | {"beside jumps, share": float(np.median(more / alone)), "beside jumps, points": len(at)}


def measured(n, count, rounds):
    """One row of the table."""
    mesh = pp.io.generate("square", n)
    p = pp.fem.ReactionDiffusion(mesh, source=1.0, dirichlet={"boundary": 0.0})
    squares = fields(n, count)
    kappas, guesses = squares.reshape(count, -1).repeat(2, axis=1), np.zeros((count, len(mesh.points)))
    at = np.round(np.random.default_rng(1).uniform(0.1, 0.9, (10, 2)) * n) / n
    family = p.operators()
    mean = family.prepare(p.mean(), steps=3)
    ten = family.prepare(p.mean() + p.cells(at, side=4 / 64), steps=3, dual_steps=1)
    pixels = (np.floor(np.random.default_rng(2).uniform(0.1, 0.9, (10, 2)) * n) + 0.5) / n
    points = family.prepare(p.mean() + p.points(pixels), steps=3, dual_steps=1)
    matrices, b = [five_point(k) for k in squares], np.full((n - 1) ** 2, 1.0 / n**2)
    lean = {"permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}, "diag_pivot_thresh": 0.0}
    engine = mean.prepared.engine

    def transforms():
        from pinnpoint.transfer.operators.grid import _Walk

        for a in range(0, count, 8):
            k = np.ascontiguousarray(np.moveaxis(kappas[a : a + 8].reshape(-1, n, n, 2), 3, 1))
            _Walk.of(engine, k, 1.0 / k, np.full(len(k), 8.0)).states(guesses[a : a + 8].reshape(-1, n + 1, n + 1), 12)

    works = {
        "superlu": lambda: [spla.splu(A, **lean).solve(b) for A in matrices],
        "transforms": transforms,
        "energy and mean": lambda: mean.certify_many(kappas, guesses),
        "ten averages": lambda: ten.certify_many(kappas, guesses),
        "ten points": lambda: points.certify_many(kappas, guesses),
        "product": lambda: [family.product.matrix(k) for k in kappas],
        "assembly": lambda: pp.fem.ReactionDiffusion(mesh, 1.0, kappas[0]).A,
    }
    each = took(works, rounds)
    times = {name: t / (1 if name == "assembly" else count) for name, t in each.items()}
    row = {name: float(np.median(t)) for name, t in times.items()}
    few, many = mean.certify_many(kappas, guesses), ten.certify_many(kappas, guesses)
    limit = family.prepare(p.mean(), steps=30).certify_many(kappas, guesses)
    row["gap"], row["limit"] = float(np.median(few.gap)), float(np.median(limit.gap))
    row["mean radius"] = float(np.median(few.radius / few.center))
    row["point radius"] = float(np.median(points.certify_many(kappas, guesses).radius[:, 1:]) / TOP)
    row["average radius"] = float(np.median(many.radius[:, 1:]) / TOP)
    row |= beside_jumps(p, squares[0])
    row["worst radius"] = float(many.radius[:, 1:].max() / TOP)
    for name, of in (("of a solve", "superlu"), ("of transforms", "transforms")):
        what = ("energy and mean", "ten averages", "ten points")
        row[name] = [float(np.median(times[w] / times[of])) for w in what]
    return row


def main():
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default="operators.json")
    options = parser.parse_args()
    rows = {}
    for n in (16,) if options.quick else (64, 128):
        rows[n] = measured(n, 16 if n == 64 else 8, 3 if options.quick else 7)
        print(n, json.dumps(rows[n], indent=1), flush=True)
    Path(options.out).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
