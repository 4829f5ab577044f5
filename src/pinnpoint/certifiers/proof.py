"""Find the proof of stability that the algebraic and rounding terms stand on."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector, number
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.base.free_memory import free_memory
from pinnpoint.certificates.claims import Claim
from pinnpoint.certifiers.core import Core
from pinnpoint.rounding import stability as st
from pinnpoint.rounding.bounds import Coercivity
from pinnpoint.rounding.coercivity import NEARLY, prove_coercivity, z_part
from pinnpoint.rounding.forms import DiagonalForm, Form, InverseForm
from pinnpoint.solvers import choice
from pinnpoint.solvers.amg import Multigrid
from pinnpoint.solvers.choice import GB, ROOM, Task, installed, predicted
from pinnpoint.solvers.cholmod import Cholmod
from pinnpoint.solvers.direct import DENSE_UP_TO
from pinnpoint.solvers.pardiso import Pardiso
from pinnpoint.solvers.petsc import Petsc
from pinnpoint.solvers.protocol import Solver, answer, is_accurate
from pinnpoint.solvers.wheel_cholmod import PlacedCholesky

FEW_ENOUGH = 10_000
"""Unknowns up to which SciPy's own factorization proves coercivity quickly enough."""
SYMMETRY = 1e-8
"""How far from symmetric, relative to its largest entry, Â may be for the energy weight."""


class Proof(NamedTuple):
    """A stability bound, the norms of the weight in use, and what to say about both."""

    stability: st.Stability | None
    form: Form
    claims: tuple[Claim, ...]
    rough: bool = False
    """Whether the bound is so far below the truth that Green vectors should be refined."""

    def __repr__(self) -> str:
        return brief(self)


def prove(
    core: Core, solver: Solver | None, declared: Coercivity | float | None, *, sharpen: Solver | None = None
) -> Proof:
    """Stability of B: the caller's word where given, else verified; raises where neither is to be had.

    `solver` serves the norms of the energy weight; with `sharpen`, defects too are bounded in the energy norm.
    """
    if core.is_energy:
        require_symmetric(core)
    if declared is not None:
        given = declared if isinstance(declared, Coercivity) else Coercivity(number("coercivity", declared, above=0.0))
        bound = _own_word(core, given)
        stability = _declared(core, bound, sharpen)
    elif not core.system.is_matrix:
        raise CertificationError(
            "coercivity: the system is a LinearOperator, so no bound can be verified; declare one, for example "
            "coercivity=pinnpoint.Coercivity(alpha)"
        )
    elif not core.system.is_square:
        stability = _least_squares(core, solver, sharpen)
    else:
        stability = _square(core, solver, sharpen)
    claims = (Claim(stability.claim, stability.status),)
    if not core.is_energy:
        return Proof(stability, core.form, claims)
    if not isinstance(stability, st.Coercive):
        raise CertificationError("weight: 'energy' needs a positive definite operator, and none could be verified")
    return Proof(stability, InverseForm(replace(stability.form, solve=_solve(solver))), claims)


def prove_roughly(core: Core) -> Proof | None:
    """The system's own bound, before any solver is made, for a large matrix that fills in; None for others."""
    floor = _floor(core) if _fills_in(core) else None
    if floor is None:
        return None
    stability = _coercive(core, floor, None)
    return Proof(stability, core.form, (Claim(stability.claim, stability.status),), True)


def unproved(core: Core, solver: Solver | None) -> Proof:
    """Plain floating point without a stability proof: defects of the solves are not counted."""
    claim = Claim("direct solves are exact", "declared")
    if not core.is_energy:
        return Proof(None, core.form, (claim,))
    require_symmetric(core)
    return Proof(None, InverseForm(core.energy_form(math.inf, DiagonalForm(), _solve(solver))), (claim,))


def weight_only(core: Core) -> Proof:
    """Enclosed norms of the weight, where nothing is inverted."""
    return Proof(None, core.form, ())


def require_symmetric(core: Core) -> None:
    """The energy weight needs a symmetric operator; tiny skew parts from assembly are fine."""
    if not core.system.is_matrix:
        return
    A = core.matrix
    skew, top = abs(A - A.T), float(abs(A).max())
    worst = float(skew.max()) if skew.nnz else 0.0
    if worst > SYMMETRY * top:
        raise InputError(
            f"weight: 'energy' means W = Â⁻¹ and needs a symmetric positive definite operator; max |Â − Âᵀ| is "
            f"{worst:.1e} against entries up to {top:.1e}"
        )


def _own_word(core: Core, bound: Coercivity) -> Coercivity:
    """A caller's bound is declared, unless it was proved for this very matrix."""
    size = None if bound.P is None else bound.P.shape[0]
    size = bound.scale.size if size is None and bound.scale is not None else size
    if size is not None and size != core.system.n:
        raise InputError(f"coercivity: P must have the reduced size {core.system.n}; got {size}")
    if bound.status == "verified" and bound.of == "operator" and core.system.is_square and core.system.is_matrix:
        if core.matrix_error is None and bound.fingerprint == core.fingerprint:
            return bound
    return replace(bound, status="declared")


def _solve(solver: Solver | None) -> Any:
    return None if solver is None else partial(answer, solver.solve)


def _inverse(solver: Solver | None) -> Any:
    """A direct solver's inverse, to look for eigenvalues with; iterative ones are too rough for that."""
    return _solve(solver) if is_accurate(solver) else None


def _by_package(package: Any, B: Matrix) -> Any:
    """B⁻¹ by a factor that is made when it is first asked for."""
    made: list[Solver] = []

    def solve(v: Vector) -> Vector:
        try:
            made[:] = made or [package(B)]
        except InputError as error:
            raise CertificationError(str(error)) from error
        return answer(made[0].solve, v)

    return solve


def _cholesky(core: Core) -> Any:
    """A Cholesky package for the proof; without one, large matrices that fill in too much for SuperLU are refused."""
    B, points = core.matrix, core.system.row_points
    n = B.shape[0]
    if n <= DENSE_UP_TO:
        return None
    task = Task.of(B, points)
    if n > FEW_ENOUGH:
        packages = {"cholmod": Cholmod, "pardiso": Pardiso, "cvxopt": PlacedCholesky(points)}
        found = [package for name, package in packages.items() if installed(name)]
        if found:
            return found[0]
    need, room = predicted("superlu", task), ROOM * free_memory()
    if need > room and z_part(B)[1] > NEARLY * float(B.diagonal().max()):
        raise CertificationError(
            f"coercivity: its proof needs a factorization of about {need / GB:.3g} GB, and {room / GB:.3g} GB are at "
            "hand; install 'pinnpoint[cholmod]', 'pinnpoint[pardiso]' or 'pinnpoint[cvxopt]', which need less, or "
            "declare coercivity"
        )
    return None


def _fills_in(core: Core) -> bool:
    """Whether a factorization for the proof alone would be large, and no M-matrix spares it."""
    system = core.system
    if core.is_energy or not (system.is_matrix and system.is_square) or system.n < choice.ROUGH_FROM:
        return False
    B = core.matrix
    solid = Task.of(B, system.row_points).solid
    some = z_part(sp.csr_array(B[:FEW_ENOUGH]))[1]  # of many rows; an M-matrix has none
    return solid and some > NEARLY * float(B.diagonal().max())


def _floor(core: Core) -> Coercivity | None:
    """The system's own bound, if it has one that was proved for this very matrix."""
    if core.system.floor is None or core.system.A_error is not None:
        return None
    try:
        bound = _own_word(core, core.system.floor())
    except CertificationError:
        return None
    return bound if bound.status == "verified" else None


def _by_steps(core: Core) -> st.Stability | None:
    """The proof by which the system itself says that it is stable, if it is for this very matrix."""
    if core.system.stability is None:
        return None
    try:
        found = core.system.stability()
    except CertificationError:
        return None
    return found if found.fingerprint == core.fingerprint else None


def _coercive(core: Core, bound: Coercivity, sharpen: Solver | None) -> st.Coercive:
    name = "the symmetric part of the reduced operator" if core.system.is_square else "Ĥ = ÂᵀWÂ"
    P = "the identity" if bound.scale is None and bound.P is None else ("P" if bound.P is not None else "diagonal D⁻²")
    claim = f"{name} is at least {bound.alpha:.6e} times {P} ({bound.how})"
    form = core.energy_form(bound.alpha, st.floor_of(bound), _solve(sharpen))
    return st.Coercive(form, claim, bound.status, sharpen is not None, bound.witness)


def _declared(core: Core, bound: Coercivity, sharpen: Solver | None) -> st.Stability:
    if bound.of == "normal" and core.system.is_square:
        if core.is_energy:  # Ĥ = Â for W = Â⁻¹
            return _coercive(core, bound, sharpen)
        claim = f"Ĥ = ÂᵀWÂ is at least {bound.alpha:.6e} times P ({bound.how})"
        return st.Normal(bound.alpha, st.floor_of(bound), core.form, claim, bound.status)
    return _coercive(core, bound, sharpen)


def _least_squares(core: Core, solver: Solver | None, sharpen: Solver | None) -> st.Stability:
    H, error = core.normal_matrix
    try:
        bound = prove_coercivity(H, equilibrate=True, error=error, solve=_inverse(solver))
    except CertificationError as problem:
        raise CertificationError(
            f"the full column rank of the reduced {core.system.M} × {core.system.n} operator could not be verified "
            f"({problem}); rescale it, remove dependent columns, or declare coercivity"
        ) from problem
    return _coercive(core, bound, sharpen)


def _square(core: Core, solver: Solver | None, sharpen: Solver | None) -> st.Stability:
    """Coercivity first; then an M-matrix witness, an approximate inverse, and singular values."""
    B, errors = core.matrix, core.matrix_error
    own = _by_steps(core) if errors is None else None
    if own is not None:
        return own
    symmetrised = None if errors is None else (lambda v: 0.5 * (errors[0](v) + errors[1](v)))
    tried = ""
    try:
        cholesky = _cholesky(core)
    except CertificationError:
        floor = None if core.is_energy else _floor(core)
        if floor is None:
            raise
        return _coercive(core, floor, sharpen)
    inverse = _inverse(solver) if core.symmetric else None
    if inverse is None and cholesky is not None and core.symmetric:
        inverse = _by_package(cholesky, B)
    try:
        bound = prove_coercivity(
            B,
            equilibrate=True,
            error=symmetrised,
            solve=inverse,
            definite=None if cholesky is None else cholesky.definite,
            rough=_solve(solver) if core.symmetric and isinstance(solver, Multigrid | Petsc) else None,
        )
        return _coercive(core, bound, sharpen)
    except CertificationError as problem:
        tried = str(problem)
    if errors is None and solver is not None:
        witness = st.inverse_positive(B, _solve(solver))
        if witness is not None:
            return witness
    for way in (
        st.approximate_inverse,
        st.symmetric_gap,
        st.smallest_singular_value,
    ):
        found = way(B, None if errors is None else errors[0])
        if found is not None:
            return found
    raise CertificationError(
        f"the reduced {B.shape[0]} × {B.shape[0]} operator could not be verified to be invertible ({tried}); it may be "
        "singular or too ill-conditioned: check the constraints, rescale the equations, or declare coercivity"
    )


def diagonal_of(core: Core) -> Vector | None:
    """Diagonal of B for Jacobi scaling, where it is stored and positive."""
    if not core.system.is_matrix:
        return None
    d = core.matrix.diagonal() if core.system.is_square else core.normal_matrix[0].diagonal()
    return np.asarray(d) if d.size and float(d.min()) > 0.0 else None
