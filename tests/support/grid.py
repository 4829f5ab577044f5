"""The grid of states × adjoints on which intervals are held against 400-bit arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse.linalg as spla

import pinnpoint as pp
from tests.support import exactly, gallery

CASES = [
    lambda: gallery.poisson_1d(60),
    lambda: gallery.poisson_1d(90, grading=3.0),
    lambda: gallery.poisson_1d(80, contrast=1e6),
    lambda: gallery.poisson_2d(11),
    lambda: gallery.poisson_2d(10, grading=2.5),
    lambda: gallery.poisson_2d(10, contrast=1e6),
    lambda: gallery.elasticity_2d(8),
    lambda: gallery.elasticity_2d(6, "cantilever"),
    lambda: gallery.elasticity_2d(7, grading=2.0),
    lambda: gallery.elasticity_2d(7, "cantilever", contrast=1e6),
]
ADJOINTS = {
    "CG 1e-3": pp.Inexact(tolerance=1e-3),
    "CG 1e-6": pp.Inexact(tolerance=1e-6),
    "CG 1e-10": pp.Inexact(tolerance=1e-10),
    "direct": pp.Exact(),
    "refined": pp.Exact(refine=True),
}
STATES = ("noise 1e-1", "noise 1e-3", "noise 1e-6", "CG 1e-3", "CG 1e-6", "CG 1e-10", "direct", "refined")
QUERIES = 10
SEEDS = 3


@dataclass
class Tally:
    """Counts over a grid."""

    intervals: int = 0
    misses: int = 0
    radius_misses: int = 0
    naive_misses: int = 0
    worst_solved: float = 0.0


def state(kind: str, A, b, rng: np.random.Generator) -> np.ndarray:
    solved = spla.spsolve(A.tocsc(), b)
    if kind == "direct":
        return solved
    if kind == "refined":
        return solved - spla.spsolve(A.tocsc(), A @ solved - b)
    what, size = kind.split()
    if what == "noise":
        return solved * (1.0 + float(size) * rng.standard_normal(b.size))
    start = solved * (1.0 + 0.1 * rng.standard_normal(b.size))
    M = spla.LinearOperator(A.shape, matvec=lambda v: v.ravel() / A.diagonal())
    return spla.cg((A + A.T) * 0.5, b, x0=start, rtol=float(size), atol=0.0, maxiter=20000, M=M)[0]


def functionals(n: int, rng: np.random.Generator) -> np.ndarray:
    """Point values, averages and differences."""
    L = np.zeros((QUERIES, n))
    for i in range(QUERIES):
        if i % 3 == 0:
            L[i, rng.integers(n)] = 1.0
        elif i % 3 == 1:
            L[i, rng.choice(n, 5, replace=False)] = 0.2
        else:
            L[i, rng.choice(n, 3, replace=False)] = rng.standard_normal(3)
    return L


def run(make, tally: Tally, *, adjoints=None, states=STATES, seeds=SEEDS) -> None:
    """Hold every interval of one system against the truth."""
    case = make()
    A, b = case.reduced()
    rng = np.random.default_rng(b.size)
    L = functionals(b.size, rng)
    exact_solution = exactly.solve_arb(A, b)
    truths = [exactly.functional(ell, exact_solution) for ell in L]
    system, queries = pp.LinearSystem(A, b), pp.Queries(L)
    alpha = np.linalg.eigvalsh((A + A.T).toarray() * 0.5)[0]
    T = A.T.tocsr()
    for name, method in (ADJOINTS if adjoints is None else adjoints).items():
        certifier = method.prepare(system, queries)
        G = certifier.green.q
        s = np.linalg.norm(L.T - T @ G.T, axis=0)
        for kind in states:
            for seed in range(seeds):
                y = state(kind, A, b, np.random.default_rng([seed, b.size]))
                c = certifier.certify(y)
                r = A @ y - b
                naive_center, naive_radius = L @ y - G @ r, s * np.linalg.norm(r) / alpha
                for i, truth in enumerate(truths):
                    tally.intervals += 1
                    tally.misses += not exactly.holds(c.lower[i], c.upper[i], truth)
                    tally.radius_misses += not exactly.within(c.center[i], c.radius[i], truth)
                    tally.naive_misses += not exactly.within(naive_center[i], naive_radius[i], truth)
                if kind in ("direct", "refined") and name in ("direct", "refined"):
                    size = np.array([abs(float(t)) for t in truths])
                    tally.worst_solved = max(tally.worst_solved, float(np.max(c.radius / size)))
