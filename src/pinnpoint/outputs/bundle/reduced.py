"""Witnesses of systems over U₀ + range Z and of least squares."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.outputs.bundle.discrete import coercive
from pinnpoint.outputs.bundle.files import Writer
from pinnpoint.solvers.direct import factorize
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries

STEPS = 4
"""Corrections of a state that is kept as a pair of floats."""


def is_reduced(system: Any) -> TypeGuard[LinearSystem]:
    """Whether the unknowns are no entries of U, or there are more equations than unknowns."""
    square = isinstance(system, LinearSystem) and system.space.free is not None
    return isinstance(system, LinearSystem) and not (square and system.A.shape == (system.N, system.N))


def reduced_obstacle(certificate: Certificate, system: LinearSystem) -> str:
    """Why the checker cannot prove such a certificate; empty where it can."""
    if not system.is_matrix:
        return "problem: bundles are for stored matrices; got a LinearOperator"
    if certificate.target != "discrete":
        return "certificate: its transfer leaves no witnesses; bundles of least squares and of a general Z are discrete"
    if sp.issparse(system.weight):
        return "problem: bundles of least squares are for weights that are vectors, or none; got a matrix"
    if system.A_error is not None or system.b_error is not None:
        return "problem: bundles are for one system; got A_error or b_error"
    return ""


def reduced(out: Writer, system: LinearSystem, queries: Queries, U: Vector) -> dict[str, Any]:
    """A, b, Z, U₀, W and ℓ; a solution as a pair of floats, Green vectors and what proves coercivity."""
    A, Z, galerkin = sp.csr_array(system.A), sp.csr_array(system.space.Z), system.reduction == "galerkin"
    tall = not (galerkin or system.is_square)
    weight = system.weight if isinstance(system.weight, np.ndarray) else None
    W = np.ones(A.shape[0]) if weight is None or not tall else weight
    AZ = sp.csr_array(A @ Z)
    B = sp.csr_array(AZ.T @ (sp.diags_array(W) @ AZ)) if tall else sp.csr_array(Z.T @ AZ) if galerkin else AZ
    solver = factorize(B)
    out.sparse("system/a", A)
    out.array("system/b", system.b)
    out.sparse("system/z", Z)
    out.array("system/u", U)
    out.array("system/u0", system.space.U0)
    out.array("system/y", np.linalg.lstsq(Z.toarray(), U - system.space.U0)[0])
    out.sparse("system/l", queries.L)
    out.array("system/constants", queries.constants)
    if tall and weight is not None:
        out.array("system/weight", weight)
    hi, lo = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
    for _ in range(STEPS):
        x = np.asarray(system.space.U0, np.longdouble) + _product(Z, hi) + _product(Z, lo)
        r = _product(A, x) - system.b
        rho = _product(Z.T, _product(A.T, W * r)) if tall else _product(Z.T, r) if galerkin else r
        step = lo - np.asarray(solver.solve(np.asarray(rho, float)))
        hi, lo = hi + step, step - ((hi + step) - hi)
    out.array("witness/state", hi)
    out.array("witness/rest", lo)
    right = np.ascontiguousarray((queries.L @ Z).toarray().T)
    out.array("witness/green", np.asarray(solver.solve_transposed(right)).T)
    return {
        "components": 1,
        "degree": 1,
        "weighted": system.weight is not None,
        "reduction": system.reduction,
        "coercivity": coercive(out, B, solver),
    }


def _product(M: Any, x: Any) -> Any:
    """M x in extended precision, where the machine has it."""
    M = sp.csr_array(M)
    terms = np.append(M.data.astype(np.longdouble) * x[M.indices], np.longdouble(0.0))
    rows = np.add.reduceat(terms, M.indptr[:-1])
    rows[M.indptr[1:] == M.indptr[:-1]] = 0.0
    return rows
