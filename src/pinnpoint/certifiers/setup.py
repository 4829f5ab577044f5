"""The solver for B, chosen or given."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.arrays import is_symmetric
from pinnpoint.certifiers.core import Core
from pinnpoint.certifiers.proof import diagonal_of
from pinnpoint.errors import InputError
from pinnpoint.rounding.balls import exact
from pinnpoint.solvers.direct import DENSE_UP_TO, WeightedQR, factorize
from pinnpoint.solvers.iterative import Krylov, LeastSquares
from pinnpoint.solvers.protocol import Solver


def direct_solver(core: Core) -> Solver:
    """LU for square systems; weighted QR for small least-squares systems, LU of Ĥ (refined later) for large ones."""
    if core.system.is_square:
        return factorize(core.matrix)
    w = core.system.weight
    dense_root = w is None or isinstance(w, np.ndarray) or core.system.M <= 4 * DENSE_UP_TO
    if core.system.n <= DENSE_UP_TO and dense_root:
        C = core.matrix.toarray()
        if isinstance(w, np.ndarray):
            C = np.sqrt(w)[:, None] * C
        elif w is not None:
            C = np.linalg.cholesky(w.toarray()).T @ C
        return WeightedQR(C)
    return factorize(sp.csc_array(core.normal_matrix[0]))


def krylov_solver(core: Core, tolerance: float, iterations: int | None) -> Krylov:
    """CG, GMRES, or CG on the normal equations in factored form."""
    system = core.system
    plain = (
        Core(system, rounding=False) if core.rounding and system.A_error is None and system.b_error is None else core
    )
    if system.is_square:
        forward, backward = (
            (lambda v: plain.reduced.affine(exact(v)).hi),
            (lambda v: plain.reduced.T.affine(exact(v)).hi),
        )
        symmetric = core.is_energy or (system.is_matrix and is_symmetric(core.matrix))
        diagonal = diagonal_of(core) if symmetric else None
        symmetric = symmetric and (diagonal is not None or not system.is_matrix)
        return Krylov(forward, backward, system.n, symmetric, tolerance, iterations, diagonal)
    normal = lambda v: plain.defect(exact(v), exact(np.zeros(system.n))).hi  # noqa: E731
    return Krylov(normal, normal, system.n, True, tolerance, iterations, diagonal_of(core))


def lsmr_solver(core: Core) -> LeastSquares:
    """LSMR on W^½ Â, for diagonal weights."""
    w, A = core.system.weight, core.matrix
    if not (w is None or isinstance(w, np.ndarray)):
        raise InputError("solver: 'lsmr' needs an identity or diagonal weight; use 'direct' or 'krylov'")
    root = np.ones(core.system.M) if w is None else np.sqrt(w)
    C = sp.csr_array(sp.diags_array(root) @ A)
    T = sp.csr_array(C.T)
    return LeastSquares(lambda v: C @ v.ravel(), lambda v: T @ v.ravel(), C.shape)


def solver_for(core: Core, asked: Any) -> Solver:
    """None or "direct", "krylov", "lsmr", or an object with solve and solve_transposed for B."""
    if asked is None or asked == "direct":
        return direct_solver(core)
    if asked == "krylov":
        return krylov_solver(core, 1e-12, None)
    if asked == "lsmr" and not core.system.is_square:
        return lsmr_solver(core)
    if isinstance(asked, str) or not (hasattr(asked, "solve") and hasattr(asked, "solve_transposed")):
        raise InputError(
            "solver: must be 'direct', 'krylov', 'lsmr' (least squares) or an object with solve and "
            f"solve_transposed; got {asked!r}"
        )
    return asked  # type: ignore[no-any-return]
