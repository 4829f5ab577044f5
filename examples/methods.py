"""One system, every method: what each one proves and what it costs."""

import numpy as np

import pinnpoint as pp

rng = np.random.default_rng(0)
n = 200
x = np.linspace(0.0, 1.0, n)
A = np.diag(np.full(n, 2.05)) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)
truth = np.exp(-3.0 * x) * np.sin(4.0 * x)
system = pp.LinearSystem(A, A @ truth, row_points=x)
queries = pp.Queries(np.eye(n)[[20, 100, 180]], names=["near", "middle", "far"], points=x[[20, 100, 180]])
prediction = truth + 0.01 * rng.normal(size=n)

for method in (
    pp.Exact(),
    pp.Norm(),
    pp.Inexact(tolerance=1e-3),
    pp.Inexact("both", tolerance=1e-3, primal_iterations=10),
    pp.Localized(radius=0.1),
    pp.Randomized(probes=16, delta=0.05, seed=0),
):
    certificate = pp.certify(system, prediction, queries, method)
    print(f"{certificate.method:11} {certificate.guarantee:13} radii", np.array2string(certificate.radius, precision=1))
    assert np.all(np.abs(certificate.center - truth[[20, 100, 180]]) <= certificate.radius + 1e-12)
