"""Certify a prediction of a small linear system: the fifteen lines of the README."""

import numpy as np
import scipy.sparse as sp

import pinnpoint as pp

n, h = 65, 1.0 / 64  # −u″ = 1 on (0, 1), u(0) = u(1) = 0, linear elements
x = np.linspace(0.0, 1.0, n)
A = sp.diags_array([2.0 / h, -1.0 / h, -1.0 / h], offsets=[0, 1, -1], shape=(n, n))
b = np.full(n, h)

space = pp.AdmissibleSpace.dirichlet(n, [0, n - 1], 0.0)
system = pp.LinearSystem(A, b, space=space)
queries = pp.Queries(np.eye(n)[[16, 32]], names=["u(1/4)", "u(1/2)"])

prediction = 0.5 * x * (1.0 - x) + 0.02 * np.sin(9.0 * np.pi * x) * x * (1.0 - x)  # your network's nodal values
certificate = pp.certify(system, prediction, queries)
print(certificate)

assert certificate.contains([3.0 / 32.0, 1.0 / 8.0]).all()  # linear elements are exact at nodes here
