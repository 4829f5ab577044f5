"""Prepare once, certify many: Green vectors are reused for every load and prediction."""

import numpy as np
import scipy.sparse as sp

import pinnpoint as pp

n, h = 129, 1.0 / 128
A = sp.diags_array([2.0 / h, -1.0 / h, -1.0 / h], offsets=[0, 1, -1], shape=(n, n))
space = pp.AdmissibleSpace.dirichlet(n, [0, n - 1], 0.0)
system = pp.LinearSystem(A, np.zeros(n), space=space)
queries = pp.Queries(np.eye(n)[[32, 64, 96]], names=["quarter", "middle", "three quarters"])

certifier = pp.Exact().prepare(system, queries)

rng = np.random.default_rng(0)
loads = h * rng.uniform(0.5, 1.5, size=(50, n))
predictions = np.stack([space.project(rng.normal(0.05, 0.02, n)).U for _ in loads])
batch = certifier.certify_many(predictions, loads=loads)

free = slice(1, n - 1)
solved = sp.linalg.spsolve(sp.csc_array(A)[free, free], loads[:, free].T)[[31, 63, 95]].T
error, width = np.abs(batch.value - solved).max(), 2 * batch.radius.max()
print(f"worst error of a prediction {error:.3f}, widest interval {width:.1e}")

assert np.all(np.abs(batch.center - solved) <= batch.radius + 1e-12)
