"""Matrices of PETSc and DOLFINx: the blocks of docs/decks.md run as they stand, each in a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

DOCS = (Path(__file__).parent.parent / "docs" / "decks.md").read_text(encoding="utf-8")
TELL = "import json\nprint(json.dumps([certificate.lower[0], certificate.upper[0]]))\n"
KINDS = """
import numpy as np
import scipy.sparse as sp
import pinnpoint as pp
from petsc4py import PETSc

n, D = 40, np.array([0, 1, 39], dtype=np.int32)
rng = np.random.default_rng(0)
B = sp.random(n, n, 0.1, random_state=0)
A = sp.csr_matrix(B + B.T + 9 * sp.identity(n))
load, g = rng.normal(size=n), np.zeros(n)
g[D] = [1.0, -2.0, 0.5]
free = np.setdiff1d(np.arange(n), D)
u = g.copy()
u[free] = np.linalg.solve(A.toarray()[np.ix_(free, free)], load[free] - (A @ g)[free])
mat = PETSc.Mat().createAIJ((n, n), csr=(A.indptr, A.indices, A.data))
x, b = mat.createVecRight(), mat.createVecLeft()
x.array[:], b.array[:] = g, load
mat.zeroRowsColumns(D, diag=1.0, x=x, b=b)
mat.setOption(PETSc.Mat.Option.SYMMETRIC, True)
for kind in ("aij", "baij", "sbaij"):
    system = pp.adapters.from_petsc(mat.convert(kind), b, fixed=D)
    certificate = pp.certify(system, system.space.project(np.zeros(n)).U, pp.Queries(np.eye(n)))
    assert np.abs(certificate.center - u).max() <= 1e-12
    assert certificate.radius.max() <= 1e-12
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def block(kind):
    return "\n".join(re.findall(rf"```python {kind}\n(.*?)```", DOCS, flags=re.S))


def test_petsc():
    """−u″ = 0.01 on a grid of step 1: the nodal values are exact."""
    lower, upper = json.loads(run(block("petsc") + TELL))
    i = np.arange(50)
    assert lower - 1e-11 <= (0.005 * i * (49 - i)).mean() <= upper + 1e-11
    assert upper - lower <= 1e-11


def test_kinds_of_matrices():
    run(KINDS)


@pytest.mark.skipif(find_spec("dolfinx") is None, reason="no DOLFINx; on Debian: apt install python3-dolfinx")
def test_dolfinx():
    """Linear triangles on this grid are the five-point stencil: its sine series is the value at the centre."""
    lower, upper = json.loads(run(block("dolfinx") + TELL).splitlines()[-1])
    n = 16
    k = np.arange(1, n)
    S = np.sin(np.pi * np.outer(k, k) / n) * np.sqrt(2 / n)  # orthogonal, symmetric, diagonalizes both directions
    wave = 4 * np.sin(np.pi * k / (2 * n)) ** 2
    F = S @ np.full((n - 1, n - 1), 1 / n**2) @ S
    truth = 0.5 + (S @ (F / (wave[:, None] + wave)) @ S)[n // 2 - 1, n // 2 - 1]
    assert lower - 1e-13 <= truth <= upper + 1e-13
    assert upper - lower <= 1e-12
