"""`pinnpoint demo`: certify a wrong prediction of a small Poisson system."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.certify import certify
from pinnpoint.queries import Queries
from pinnpoint.spaces import AdmissibleSpace
from pinnpoint.systems import LinearSystem

CELLS = 64


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("demo", help="certify an embedded example")
    parser.add_argument("--out", type=Path, default=Path("pinnpoint-demo"), help="where certificate.json goes")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """−u″ = 1 on the unit interval; the prediction hides a bump between its collocation points."""
    n, h = CELLS + 1, 1.0 / CELLS
    x = np.linspace(0.0, 1.0, n)
    A = sp.diags_array([2.0 / h, -1.0 / h, -1.0 / h], offsets=[0, 1, -1], shape=(n, n))
    system = LinearSystem(A, np.full(n, h), space=AdmissibleSpace.dirichlet(n, [0, n - 1], 0.0))
    truth = 0.5 * x * (1.0 - x)
    bump = np.where(np.abs(x - 0.5625) < 0.06, 0.03 * np.cos(np.pi * (x - 0.5625) / 0.12) ** 2, 0.0)
    at = [16, 36, 48]
    L = sp.csr_array((np.ones(3), (np.arange(3), at)), shape=(3, n))
    queries = Queries(L, names=[f"u({x[i]:g})" for i in at], points=x[at])
    certificate = certify(system, truth + bump, queries)
    print("−u″ = 1, u(0) = u(1) = 0; a prediction with a bump that collocation at tenths never sees\n")
    print(certificate)
    print(
        "\nThe value predicted at each point is wrong by gᵀr =",
        ", ".join(f"{c:.3g}" for c in certificate.value - certificate.center),
    )
    os.makedirs(arguments.out, exist_ok=True)
    path = certificate.to_json(arguments.out / "certificate.json", title="Hidden bump", units="1")
    print(f"Wrote {path}")
    return 0
