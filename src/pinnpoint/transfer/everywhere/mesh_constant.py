"""The mesh constant M_h: how far functions orthogonal to the linear elements are from zero in the mean.

M_h = sup ‖v‖₂/‖v‖_a over v ∈ H¹ that vanish on Γ_D with a(v, V_h) = 0, a = ∫κ∇v·∇w and V_h the linear elements. Equally
‖w − R_h w‖_a ≤ M_h ‖g‖₂ for every solution of a(w, ·) = (g, ·) and its projection R_h w. With λ⊥ the smallest
eigenvalue over Crouzeix–Raviart functions orthogonal to V_h and C_h their interpolation constant, M_h² ≤ 1/λ⊥ + C_h².
No eigenvalue solver is trusted: λ⊥ ≥ θ is one factorization.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.base.arrays import Mask, Vector
from pinnpoint.base.errors import CertificationError
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import TINY, UNIT, down, gamma, up
from pinnpoint.rounding.coercivity import Solve, scaled
from pinnpoint.rounding.matrices import product_up
from pinnpoint.transfer.everywhere.crouzeix_raviart import CrouzeixRaviart, assemble

PI_DOWN = 3.141592653589793  # float64's value is below π
DENSE_UP_TO = 40
"""Unknowns up to which eigenvalues are those of dense matrices."""
BUDGET = {2: 40_000, 3: 8_000}
"""Cells up to which the factorization is tried, by dimension: a few seconds, and rounding leaves enough of it."""
ENOUGH = {2: 6.0, 3: 16.0}
"""Penalties that the factorization mostly needs, against θ/(λ₁μ₁)."""
RESERVE = 1e-9
"""Share of the eigenvalue that is left to other programs' roundings."""
SHARES = (0.98, 0.9, 0.7)
"""Of the computed eigenvalue, tried one after the other."""


@dataclass(frozen=True)
class MeshConstant:
    """M_h and what proves it.

    Attributes
    ----------
    value
        An upper bound of M_h.
    interpolation
        C_h.
    shift, penalty
        θ and τ of the factorization, 0 where none was needed; the weights are τ over the power of two next to the
        diagonal of the linear elements' stiffness.
    eigenvalue
        The proved lower bound of λ⊥, 0 where it is over nothing.
    """

    value: float
    interpolation: float
    shift: float
    penalty: float
    eigenvalue: float

    def with_reaction(self, most: float, factor: float) -> float:
        """M of the form a + (c·, ·), c ≤ `most`; `factor` bounds ‖g − cw‖₂/‖g‖₂ for its solutions w."""
        return float(up(self.value * math.sqrt(1.0 + most * self.value**2) * factor, 16))  # band.md, step 1h


def mesh_constant(topology: Topology, kappa: Vector, held: Mask) -> MeshConstant:
    """M_h of a mesh, κ > 0 on each cell, and the facets of Γ_D.

    *Guarantee:* deterministic, rounding included. *Cost:* factorizations of the linear and of the Crouzeix–Raviart
    stiffness for a suggestion, and one of a matrix with a wider stencil for the proof.

    Raises
    ------
    CertificationError
        Where nothing is held, the mesh is beyond the budget, or no factorization succeeded.
    """
    d, C_h = topology.dim, interpolation_constant(topology, kappa)
    if not np.any(held):
        raise CertificationError("mesh constant: no facet is Dirichlet, so constants are orthogonal to nothing")
    if d == 1:  # band.md, step 1i
        return MeshConstant(C_h, C_h, 0.0, 0.0, 0.0)
    if len(topology.cells) > BUDGET[d]:
        raise CertificationError(
            f"mesh constant: {len(topology.cells)} cells are beyond the {BUDGET[d]} up to which it is computed"
        )
    space = assemble(topology, kappa, held)
    if not space.size:
        return MeshConstant(C_h, C_h, 0.0, 0.0, 0.0)
    guess, smooth = suggestion(space)
    if not (math.isfinite(guess) and guess > 0.0):
        raise CertificationError("mesh constant: no eigenvalue was found; the mesh may be too distorted")
    for share in SHARES:
        for tau in penalties(d, guess, smooth):
            low = eigenvalue_bound(space, share * guess, tau)
            if low > 0.7 * share * guess:
                low = float(down(low - 0.25 * (share * guess - low) - RESERVE * low))  # another program may lose more
                value = float(up(math.sqrt(up(1.0 / low) + up(C_h * C_h)), 4))  # band.md, step 1e
                return MeshConstant(value, C_h, share * guess, tau, low)  # band.md, step 1a
    raise CertificationError("mesh constant: no factorization succeeded; refine the mesh, or make its cells less flat")


def interpolation_constant(topology: Topology, kappa: Vector) -> float:
    """C_h = max C_K/√κ with ‖v − Πv‖_K ≤ C_K ‖∇(v − Πv)‖_K for functions whose means over facets Π keeps."""
    P, d = topology.points[topology.cells], topology.dim
    squares = np.stack([((P[:, i] - P[:, j]) ** 2).sum(axis=1) for i, j in combinations(range(d + 1), 2)])
    longest = squares.max(axis=0)
    if d == 1:
        return float(up(math.sqrt(float((longest / kappa).max())) / PI_DOWN, 16))  # band.md, step 1i
    total = longest / PI_DOWN**2 + squares.sum(axis=0) / (d * d * (d + 1) ** 2 * (d + 2))  # band.md, step 1d
    return float(up(math.sqrt(float((total / kappa).max())), 32))


def weights(space: CrouzeixRaviart, tau: float) -> Vector:
    """Powers of two near τ over the diagonal of the linear elements' stiffness."""
    diagonal = space.linear_stiffness.diagonal()
    return np.asarray(np.ldexp(1.0, np.rint(np.log2(tau / diagonal)).astype(int)))


def eigenvalue_bound(space: CrouzeixRaviart, theta: float, tau: float) -> float:
    """A lower bound of λ⊥: θ less what rounding may hide, or −∞ where the factorization fails.

    A + BwBᵀ is A where Bᵀx = 0. If D(A + BwBᵀ − θM)D ⪰ −ζI for a diagonal D then there xᵀAx ≥ θxᵀMx − ζ|D⁻¹x|², and
    |D⁻¹x|² ≤ max(D⁻²/m) xᵀMx.
    """
    w = weights(space, tau)
    D = np.ldexp(1.0, -np.rint(0.5 * np.log2(space.mass_floor)).astype(int))
    S = scaled(space.penalised(w) - theta * space.mass, D)
    defect = pivot_defect(S)  # band.md, step 1f
    if not math.isfinite(defect):
        return -math.inf
    size = product_up(sp.csr_array(abs(space.mass)), D)
    loss = float(np.max(up(D * (space.penalised_error(w, D) + gamma(4) * (theta * size)))))  # band.md, step 1g
    loss = float(up(loss + gamma(4) * float(np.max(product_up(sp.csr_array(abs(S)), np.ones(space.size))))))
    ratio = float(np.max(up(1.0 / (D * D * space.mass_floor))))
    return float(down(theta * down(1.0 - space.mass_slack) - up(up(defect + loss) * ratio), 8))  # band.md, step 1g


def pivot_defect(S: Any) -> float:
    """ζ with S ⪰ −ζI from one sparse factorization with diagonal pivots, as `rounding.coercivity.lu_defect` proves it.

    The same bound, in passes over the factors' arrays: factors here have millions of entries. Infinite where a pivot is
    not positive.
    """
    n = S.shape[0]
    try:
        lu = spla.splu(
            sp.csc_array((S + S.T) * 0.5),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True, "Equil": False},
        )
    except RuntimeError:
        return math.inf
    L, V = lu.L.tocsc(), lu.U.tocsr()  # columns of L and rows of U, which are alike
    L.sort_indices()
    V.sort_indices()
    pivots = V.data[V.indptr[:-1]] if np.array_equal(V.indices[V.indptr[:-1]], np.arange(n)) else np.zeros(n)
    alike = np.array_equal(lu.perm_r, lu.perm_c) and np.array_equal(L.indptr, V.indptr)
    alike = alike and np.array_equal(L.indices, V.indices)
    if not (alike and np.all(np.isfinite(pivots)) and float(pivots.min()) > 0.0 and np.all(np.isfinite(L.data))):
        return math.inf
    counts, start = np.diff(L.indptr), L.indptr[:-1]
    ell, v = np.abs(L.data), np.abs(V.data)
    turned = L.data * np.repeat(pivots, counts)
    skew = np.abs(turned - V.data) + (4.0 * UNIT) * np.abs(turned)  # proofs.md, step 3e
    rows = int(np.bincount(L.indices, minlength=n).max())
    f, most = gamma(rows + 4), 2 * rows + 2 * int(counts.max())

    def lower(x: Vector) -> Vector:  # |L| x
        return np.asarray(np.bincount(L.indices, ell * np.repeat(x, counts), minlength=n), dtype=np.float64)

    across = f * np.add.reduceat(v, start) + np.add.reduceat(skew, start)
    by_rows = float(lower(across).max())  # proofs.md, step 3e
    down_l = np.add.reduceat(ell, start)
    by_columns = float(np.bincount(V.indices, (f * v + skew) * np.repeat(down_l, counts), minlength=n).max())
    slack = 1.0 + 4.0 * gamma(most + 10)
    return float(up(math.sqrt(by_rows * by_columns) * slack + n * n * TINY, 8))  # proofs.md, step 3e


def penalties(d: int, guess: float, smooth: float) -> list[float]:
    """Penalties τ to try, from where the smoothest linear function is expected to be paid for."""
    first = math.ceil(math.log2(max(ENOUGH[d] * guess * smooth, 1.0)))
    return [2.0**k for k in range(first, first + 9, 2)]


def suggestion(space: CrouzeixRaviart) -> tuple[float, float]:
    """λ⊥ in floating point, and 1/(λ₁μ₁) of the linear elements, λ₁ with their mass and μ₁ with K's own diagonal."""
    A, M, P, K = (sp.csc_array(X) for X in (space.stiffness, space.mass, space.injection, space.linear_stiffness))
    if not K.shape[0]:
        return 1.0 / _largest(lambda x: _factor(A)(M @ x), A, _factor(A)), 0.0
    solve, linear = _factor(A), _factor(K)
    lumped = P.T @ (M @ np.ones(A.shape[0]))
    smooth = _growth(lambda x: linear(lumped * x), len(lumped)) * _growth(
        lambda x: linear(K.diagonal() * x), len(lumped)
    )

    def orthogonal(x: Vector) -> Vector:
        y = solve(M @ x)
        return np.asarray(y - P @ linear(space.coupling.T @ y))

    return 1.0 / _largest(orthogonal, A, solve), smooth


def _largest(apply: Solve, A: Any, solve: Solve) -> float:
    """The largest eigenvalue of an operator that is symmetric in the product of A; NaN where none was found."""
    n = A.shape[0]
    start = apply(np.random.default_rng(0).standard_normal(n))
    if n <= DENSE_UP_TO:
        T = np.stack([apply(row) for row in np.eye(n)], axis=1)
        return float(np.max(np.linalg.eigvals(T).real))
    product = spla.LinearOperator(A.shape, matvec=lambda x: A @ apply(x), dtype=np.float64)
    inverse = spla.LinearOperator(A.shape, matvec=solve, dtype=np.float64)
    try:
        found = spla.eigsh(
            product, k=1, M=A, Minv=inverse, which="LA", v0=start, tol=1e-2, ncv=8, return_eigenvectors=False
        )
    except (spla.ArpackNoConvergence, RuntimeError):
        return math.nan
    return float(found[0])


def _growth(apply: Solve, n: int) -> float:
    """Roughly the largest eigenvalue of an operator with a positive eigenvector, by a few powers."""
    x, size = np.ones(n), math.sqrt(n)
    for _ in range(8):
        x = apply(x / size)
        size = float(np.linalg.norm(x))
    return size


def _factor(A: Any) -> Solve:
    try:
        lu = spla.splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError as error:
        raise CertificationError(f"mesh constant: a stiffness matrix is singular ({error})") from error
    return lambda b: np.asarray(lu.solve(b))
