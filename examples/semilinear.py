"""Certify a prediction of −u″ + 20u³ = f: a verified root, and how the remainder shrinks with Newton steps."""

import numpy as np

import pinnpoint as pp

mesh = pp.io.generate("interval", 64)
problem = pp.fem.Semilinear(mesh, cubic=20.0, source="pi**2*sin(pi*x) + 20*sin(pi*x)**3")
queries = problem.points([[0.25], [0.5]], names=["u(1/4)", "u(1/2)"])


def prediction(X):
    """Your network; this one is off by one per cent."""
    return np.sin(np.pi * X[:, 0]) + 0.01 * np.sin(3 * np.pi * X[:, 0])


for steps in range(3):
    certificate = pp.certify(problem, prediction, queries, pp.Root(polish=steps), target="discrete")
    print(f"{steps} Newton steps\n{certificate}")

norm_only = pp.certify(problem, prediction, queries, pp.Root(correct=False), target="discrete")
assert np.all(norm_only.contains(certificate.center))
assert np.all(certificate.radius < 1e-9)
