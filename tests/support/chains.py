"""Springs on a line."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import pinnpoint as pp


def chain(n=12, weight=None):
    """Springs on a line with prescribed nonzero ends, in numbers that are no round decimals."""
    rng = np.random.default_rng(n)
    k = rng.uniform(0.3, 3.0, n - 1) * 10.0
    A = sp.diags_array([np.r_[k, 0] + np.r_[0, k], -k, -k], offsets=[0, 1, -1], shape=(n, n)).tocsr()
    space = pp.AdmissibleSpace.dirichlet(n, [0, n - 1], [0.1, -0.7])
    system = pp.LinearSystem(A, np.zeros(n), space=space, weight=weight, row_points=np.linspace(0, 1, n)[1:-1])
    L = np.zeros((3, n))
    L[0, n // 3], L[1, n // 2], L[2, 2:6] = 1.0, 0.3, 0.25
    queries = pp.Queries(L, constants=[0.0, 0.1, 0.0], points=[[0.3], [0.5], [0.3]])
    return system, queries, rng
