"""The solver for B, chosen or given."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.certifiers.core import Core
from pinnpoint.certifiers.proof import diagonal_of
from pinnpoint.rounding.balls import exact
from pinnpoint.rounding.matrices import LinearMap
from pinnpoint.solvers.amg import Multigrid
from pinnpoint.solvers.choice import NAMES, Choice, Task, asked_for, choose
from pinnpoint.solvers.cholmod import Cholmod
from pinnpoint.solvers.direct import DENSE_UP_TO, WeightedQR, factorize
from pinnpoint.solvers.forecast import ENTRY
from pinnpoint.solvers.iterative import Krylov, LeastSquares
from pinnpoint.solvers.pardiso import Pardiso
from pinnpoint.solvers.petsc import Petsc
from pinnpoint.solvers.protocol import NotDefiniteError, Solver
from pinnpoint.solvers.reference import Reference
from pinnpoint.solvers.wheel_cholmod import WheelCholmod


def direct_solver(core: Core) -> Solver:
    """LU for square systems; weighted QR for small least-squares systems, LU of Ĥ (refined later) for large ones."""
    if core.system.is_square:
        return factorize(core.matrix, core.system.row_points)
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
        forward, backward = partial(_product, plain.reduced), partial(_product, plain.reduced.T)
        symmetric = core.is_energy or (system.is_matrix and core.symmetric)
        diagonal = diagonal_of(core) if symmetric else None
        symmetric = symmetric and (diagonal is not None or not system.is_matrix)
        return Krylov(forward, backward, system.n, symmetric, tolerance, iterations, diagonal)
    normal = partial(_normal, plain)
    return Krylov(normal, normal, system.n, True, tolerance, iterations, diagonal_of(core))


def lsmr_solver(core: Core, name: str = "lsmr") -> LeastSquares:
    """LSMR or LSQR on W^½ Â, for diagonal weights."""
    w, A = core.system.weight, core.matrix
    if not (w is None or isinstance(w, np.ndarray)):
        raise InputError("solver: 'lsmr' and 'lsqr' need an identity or diagonal weight; use 'direct' or 'krylov'")
    root = np.ones(core.system.M) if w is None else np.sqrt(w)
    C = sp.csr_array(sp.diags_array(root) @ A)
    T = sp.csr_array(C.T)
    return LeastSquares(partial(_times, C), partial(_times, T), C.shape, name=name.upper())


def _product(B: LinearMap, v: Vector) -> Vector:
    return B.affine(exact(v)).hi


def _normal(core: Core, v: Vector) -> Vector:
    return core.defect(exact(v), exact(np.zeros(core.system.n))).hi


def _times(C: Matrix, v: Vector) -> Vector:
    return np.asarray(C @ v.ravel())


def task_of(core: Core, queries: int) -> Task:
    """What the choice of a solver depends on."""
    definite = bool(diagonal_of(core) is not None and core.symmetric)
    return Task.of(core.matrix, core.system.row_points, queries, definite=definite)


def _backend(name: str, core: Core) -> Solver:
    B, modes, points = core.matrix, core.system.modes, core.system.row_points
    if name == "superlu":
        return factorize(B, points)
    if name in ("cholmod", "cvxopt") and not core.symmetric:
        raise InputError(
            f"solver: '{name}' reads one triangle of a symmetric matrix, and this one is not symmetric; use 'superlu', "
            "or 'krylov' to save memory"
        )
    if name == "cholmod":
        return Cholmod(B)
    if name == "cvxopt":
        return WheelCholmod(B, points)
    if name == "pardiso":
        return Pardiso(B)
    if name == "amg":
        return Multigrid(B, modes, core.system.node_size)
    if name == "petsc":
        return Petsc(B, modes)
    return krylov_solver(core, 1e-12, None)


def _automatic(core: Core, queries: int) -> tuple[Solver, Choice]:
    """The first choice that works; one that finds the matrix indefinite gives way to the next.

    So does multigrid where a few steps foresee more iterations than the next choice would cost.
    """
    task = task_of(core, queries).analysed(core.matrix, core.system.row_points)
    failed, choices = "", choose(task)
    for choice, after in zip_longest(choices, choices[1:]):
        try:
            solver = _backend(choice.name, core)
        except NotDefiniteError as error:
            failed += f"; {choice.name} found the matrix not positive definite"
            last = error
            continue
        if isinstance(solver, Multigrid) and after is not None and after.name in ENTRY:
            steps = solver.foreseen()
            if task.seconds("amg", steps) - task.seconds("amg", 0.0) > task.seconds(after.name):
                failed += f"; amg would take {steps:.0f} iterations a query"
                continue
        return solver, replace(choice, why=choice.why + failed)
    raise last


def solver_for(core: Core, asked: Any, queries: int = 1) -> tuple[Solver, Choice]:
    """The solver for B that was asked for, and what to say about it.

    None or ``"auto"``: chosen by size, dimension, queries, installed packages and free memory. A name of `NAMES`, or an
    object with solve and solve_transposed for B.
    """
    found, choice = _solver_for(core, asked, queries)
    return found, choice.of(found)


def _nearly_symmetric(A: Any) -> bool:
    """Up to roundings of its entries; whatever the steps leave is counted."""
    return bool(abs(A - A.T).max() <= 1e-12 * abs(A).max())


def _solver_for(core: Core, asked: Any, queries: int) -> tuple[Solver, Choice]:
    if isinstance(asked, str) and asked not in NAMES:
        raise InputError(
            f"solver: must be one of {', '.join(repr(n) for n in NAMES)} or an object with solve and solve_transposed; "
            f"got {asked!r}"
        )
    if asked in ("lsmr", "lsqr"):
        if core.system.is_square:
            raise InputError(f"solver: {asked!r} is for least-squares systems; use 'krylov'")
        return lsmr_solver(core, asked), Choice(asked, "asked for", 0.0)
    if isinstance(asked, Reference):
        if not (core.system.is_square and core.system.is_matrix and _nearly_symmetric(core.matrix)):
            raise InputError("solver: steps towards a reference are for symmetric matrices; use solver='auto'")
        steps = asked.on(core.matrix, core.system.made_on, core.system.space.free)
        return steps, Choice(f"{steps.name} by {asked.inverse.name}", "asked for", 0.0)
    if not isinstance(asked, str) and asked is not None:
        if not (callable(getattr(asked, "solve", None)) and callable(getattr(asked, "solve_transposed", None))):
            raise InputError(
                "solver: must be a name or an object with solve and solve_transposed; "
                f"got {type(asked).__name__} {asked!r}"
            )
        return asked, Choice(str(getattr(asked, "name", type(asked).__name__)), "the caller's own", 0.0, own=True)
    if asked in (None, "auto") and core.system.solver is not None:
        return core.system.solver, Choice(core.system.solver.name, "the system's own", 0.0)
    if asked == "krylov":
        return krylov_solver(core, 1e-12, None), Choice("krylov", "asked for", 0.0)
    small = core.system.n <= DENSE_UP_TO
    if asked == "direct" or small or not core.system.is_square:
        if asked not in (None, "auto", "direct", "superlu"):
            if not core.system.is_square:
                raise InputError(f"solver: {asked!r} is for square systems; use 'direct', 'krylov' or 'lsmr'")
            asked_for(asked, task_of(core, queries))
            return _backend(asked, core), Choice(asked, "asked for", 0.0)
        found = direct_solver(core)
        return found, Choice(found.name, "small" if small else "direct", 0.0)
    if asked in (None, "auto"):
        return _automatic(core, queries)
    choice = asked_for(asked, task_of(core, queries))
    return _backend(asked, core), choice
