"""In one dimension no issued radius is above the paper's C_pt·η, computed here by itself."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh


@pytest.mark.parametrize("seed", range(12))
def test_never_above_the_papers_bound(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 24))
    x = np.concatenate([[0.0], np.sort(rng.uniform(0.02, 0.98, n - 1)), [1.0]])
    kappa, c = 10.0 ** rng.uniform(-1.5, 1.5, n), float(rng.uniform(0.1, 60.0))
    cells = np.stack([np.arange(n), np.arange(1, n + 1)], axis=1)
    problem = pp.fem.ReactionDiffusion(Mesh(x[:, None], cells), "1 + 5*x**2", kappa, c)
    free = problem.space.free
    U = problem.space.U0.copy()
    U[free] = np.linalg.solve(problem.A.toarray()[np.ix_(free, free)], problem.b[free])
    t, w = np.polynomial.legendre.leggauss(8)
    h, s = np.diff(x), 0.5 * (t + 1.0)
    X = x[:-1, None] + h[:, None] * s
    R = 1.0 + 5.0 * X**2 - c * (U[:-1, None] * (1.0 - s) + U[1:, None] * s)
    eta = np.sqrt(np.sum(h**2 / (np.pi**2 * kappa) * np.sum(R**2 * w, axis=1) * 0.5 * h))
    at = np.concatenate([rng.uniform(0.01, 0.99, 5), x[1:-1][:3]])
    left = np.array([np.sum(np.clip(p - x[:-1], 0.0, h) / kappa) for p in at])
    C = np.sqrt(np.minimum(left, np.sum(h / kappa) - left))
    found = pp.certify(problem, np.zeros(n + 1), problem.points(at[:, None]))
    assert np.all(found.radius <= C * eta * (1.0 + 1e-9) + 1e-12)
