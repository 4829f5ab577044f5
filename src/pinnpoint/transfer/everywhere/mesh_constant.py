"""The mesh constant M_h: how far functions orthogonal to the linear elements are from zero in the mean.

M_h = sup ‖v‖₂/‖v‖_a over v ∈ H¹ that vanish on Γ_D with a(v, V_h) = 0, a = ∫κ∇v·∇w and V_h the linear elements. Equally
‖w − R_h w‖_a ≤ M_h ‖g‖₂ for every solution of a(w, ·) = (g, ·) and its projection R_h w. With λ⊥ the smallest
eigenvalue over Crouzeix–Raviart functions orthogonal to V_h and C_h their interpolation constant, M_h² ≤ 1/λ⊥ + C_h².
No eigenvalue solver is trusted: λ⊥ ≥ θ is one factorization.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.errors import CertificationError
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import TINY, UNIT, down, gamma, gammas, up
from pinnpoint.rounding.coercivity import Solve, scaled
from pinnpoint.rounding.matrices import product_up
from pinnpoint.transfer.everywhere.crouzeix_raviart import CrouzeixRaviart, assemble

PI_DOWN = 3.141592653589793  # float64's value is below π
STEPS = 40
"""Of Lanczos' method at most."""
CLOSE = 2e-3
"""Relative change of its value over two steps at which it ends; ten times that where one proof must do."""
MMD, NATURAL = "MMD_AT_PLUS_A", "NATURAL"
POWERS = 3
"""Of an operator for its growth, which counts to a factor of two."""
WIDE = 512.0
"""How much larger than balanced the rows of vertices are: rounding there must stay below the corner."""
BUDGET = {2: 60_000, 3: 8_000}
"""Cells up to which the factorization is tried, by dimension: a few seconds, and rounding leaves enough of it."""
ENOUGH = {2: 12.0, 3: 16.0}
"""Penalties that the factorization mostly needs, against θ/(λ₁μ₁)."""
RESERVE = 1e-9
"""Share of the eigenvalue that is left to other programs' roundings."""
LOSSES = (0.005, 4.0)
"""The same with the narrower stencil, where pivots may grow otherwise, and how much more may be lost to rounding."""
SHARES = (0.985, 0.9, 0.8, 0.7)
"""Of the computed eigenvalue, tried one after the other; where one proof must do the second, the third if `MANY`."""
MANY = 30_000
"""Cells from which rounding asks for small penalties, which prove smaller shares."""
MOST = 25.0
"""Factorizations of the linear elements that M_h may cost where another bound is at hand."""
COSTS = {1: ((math.inf, 0.0),), 2: ((60_000, 20.0), (math.inf, 90.0)), 3: ((math.inf, 100.0),)}
"""What it cost when measured (band.md, step 1m), by dimension and number of cells."""


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


def forecast(topology: Topology) -> float:
    """About how many factorizations of the linear elements' stiffness M_h will cost."""
    return next(cost for cells, cost in COSTS[topology.dim] if len(topology.cells) <= cells)  # band.md, step 1m


def mesh_constant(
    topology: Topology,
    kappa: Vector,
    held: Mask,
    *,
    same: Index | None = None,
    thorough: bool = True,
    least: Vector | None = None,
) -> MeshConstant:
    """M_h of a mesh, κ > 0 on each cell, and the facets of Γ_D; `same` is what stands for each vertex at pairs.

    Where κ is a matrix on each cell, (C, d, d), `least` has lower bounds of its eigenvalues.

    *Guarantee:* deterministic, rounding included. *Cost:* factorizations of the linear and of the Crouzeix–Raviart
    stiffness for a suggestion, and one of a matrix with a wider stencil for the proof, or as many as it takes with
    `thorough`; without, no more than `MOST` factorizations of the linear elements.

    Raises
    ------
    CertificationError
        Where nothing is held, the mesh is beyond the budget, or no factorization succeeded.
    """
    d, C_h = topology.dim, interpolation_constant(topology, kappa if least is None else least)
    if not np.any(held):
        raise CertificationError("mesh constant: no facet is Dirichlet, so constants are orthogonal to nothing")
    if d == 1:  # band.md, step 1i
        return MeshConstant(C_h, C_h, 0.0, 0.0, 0.0)
    if not thorough and forecast(topology) > MOST:
        raise CertificationError(
            f"mesh constant: about {forecast(topology):.0f} factorizations of linear elements are forecast for "
            f"{len(topology.cells)} cells, and {MOST:.0f} allowed"
        )
    if len(topology.cells) > BUDGET[d]:
        raise CertificationError(
            f"mesh constant: {len(topology.cells)} cells are beyond the {BUDGET[d]} up to which it is computed"
        )
    space = assemble(topology, kappa, held, same)
    if not space.size:
        return MeshConstant(C_h, C_h, 0.0, 0.0, 0.0)
    guess, smooth, order = suggestion(space, CLOSE if thorough else 10.0 * CLOSE)
    if not (math.isfinite(guess) and guess > 0.0):
        raise CertificationError("mesh constant: no eigenvalue was found; the mesh may be too distorted")
    shares = SHARES if thorough else SHARES[1:] if len(topology.cells) <= MANY else SHARES[2:]
    for share, bound, tau in product(shares, [bordered_bound, eigenvalue_bound], penalties(d, guess, smooth)):
        tau = tau if share > SHARES[2] else 0.5 * tau
        low = bound(space, share * guess, tau, order)
        if low > 0.7 * share * guess:
            spare = LOSSES if bound is bordered_bound else (RESERVE, 0.25)  # another program may lose more
            low = float(down(low - spare[1] * (share * guess - low) - spare[0] * low))
            value = float(up(math.sqrt(up(1.0 / low) + up(C_h * C_h)), 4))  # band.md, step 1e
            return MeshConstant(value, C_h, share * guess, tau, low)  # band.md, step 1a
        if not thorough:
            raise CertificationError("mesh constant: the one factorization within its budget did not prove it")
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


def eigenvalue_bound(space: CrouzeixRaviart, theta: float, tau: float, order: Index | None = None) -> float:
    """A lower bound of λ⊥: θ less what rounding may hide, or −∞ where the factorization fails.

    A + BwBᵀ is A where Bᵀx = 0. If D(A + BwBᵀ − θM)D ⪰ −ζI for a diagonal D then there xᵀAx ≥ θxᵀMx − ζ|D⁻¹x|², and
    |D⁻¹x|² ≤ max(D⁻²/m) xᵀMx.
    """
    w = weights(space, tau)
    D = np.ldexp(1.0, -np.rint(0.5 * np.log2(space.mass_floor)).astype(int))
    S = scaled(space.penalised(w) - theta * space.mass, D)
    negative, defect = pivots(sp.csc_array((S + S.T) * 0.5))  # band.md, step 1f
    if negative:
        return -math.inf
    size = product_up(sp.csr_array(abs(space.mass)), D)
    loss = float(np.max(up(D * (space.penalised_error(w, D) + gamma(4) * (theta * size)))))  # band.md, step 1g
    loss = float(up(loss + gamma(4) * float(np.max(product_up(sp.csr_array(abs(S)), np.ones(space.size))))))
    ratio = float(np.max(up(1.0 / (D * D * space.mass_floor))))
    return float(down(theta * down(1.0 - space.mass_slack) - up(up(defect + loss) * ratio), 8))  # band.md, step 1g


def bordered_bound(space: CrouzeixRaviart, theta: float, tau: float, order: Index | None = None) -> float:
    """The same bound from a matrix with a narrower stencil, which rounding spoils sooner.

    S = [[D(A − θM)D, DBY], [YBᵀD, −ϱI]] with Y²/ϱ about the weights. If S + ζI has no more negative eigenvalues than Y
    has entries, and ζ < ϱ, then D(A − θM)D + ζI ⪰ 0 where BᵀDx = 0.
    """
    D, K = _near_power(1.0 / np.sqrt(space.mass_floor)), space.linear_stiffness.diagonal()
    Y = WIDE * _near_power(np.sqrt(theta / K))
    corner = float(WIDE**2 * np.ldexp(1.0, int(np.rint(np.log2(theta / tau)))))
    S, wrong = space.bordered(theta, D, Y, corner)
    negative, defect = pivots(_columns(S)) if order is None else pivots(_reordered(S, order), NATURAL)
    zeta = float(up(defect + wrong))
    if negative > len(Y) or not zeta < corner:  # band.md, step 1j
        return -math.inf
    ratio = float(np.max(up(1.0 / (D * D * space.mass_floor))))
    return float(down(theta * down(1.0 - space.mass_slack) - up(zeta * ratio), 8))  # band.md, step 1g


def _near_power(x: Vector) -> Vector:
    """Powers of two."""
    return np.asarray(np.ldexp(1.0, np.rint(np.log2(x)).astype(int)))


def pivots(S: Any, order: str = MMD) -> tuple[int, float]:
    """How many diagonal pivots of S = KDKᵀ + E are negative, and a bound of ‖E‖₂, as `rounding.inertia` proves it.

    The same bound, in passes over the factors' arrays: factors here have millions of entries. Infinite where the
    factorization fails.
    """
    n = S.shape[0]
    try:
        lu = spla.splu(S, permc_spec=order, diag_pivot_thresh=0.0, options={"SymmetricMode": True, "Equil": False})
    except RuntimeError:
        return n, math.inf
    L, V = lu.L.tocsr().tocsc(), lu.U.tocsr()  # in order: columns of L and rows of U, which are alike
    own = V.data[V.indptr[:-1]] if np.array_equal(V.indices[V.indptr[:-1]], np.arange(n)) else np.zeros(n)
    alike = np.array_equal(lu.perm_r, lu.perm_c) and np.array_equal(L.indptr, V.indptr)
    alike = alike and np.array_equal(L.indices, V.indices)
    if not (alike and np.all(np.isfinite(own)) and np.all(own) and np.all(np.isfinite(L.data))):
        return n, math.inf
    counts, rows, one = np.diff(L.indptr), np.bincount(L.indices, minlength=n), np.ones(n)

    def matrix(data: Vector) -> Any:  # U's pattern is that of L transposed
        return sp.csr_array((data, V.indices, V.indptr), shape=(n, n))

    turned = L.data * np.repeat(own, counts)
    skew = matrix(np.abs(turned - V.data) + (4.0 * UNIT) * np.abs(turned))  # |D||F|ᵀ of `rounding.inertia`
    ell, v, f = matrix(np.abs(L.data)), matrix(np.abs(V.data)), gammas(rows + 4.0)
    by_rows = float((f * (ell.T @ (v @ one))).max())  # proofs.md, step 3e
    by_columns = float((v.T @ (ell @ f)).max())
    twice = float((skew.T @ ((skew @ one) / np.abs(own))).max())
    slack = 1.0 + 4.0 * gamma(2 * int(rows.max()) + 2 * int(counts.max()) + 10)
    defect = float(up((math.sqrt(by_rows * by_columns) + 0.25 * twice) * slack + n * n * TINY, 8))
    return int(np.count_nonzero(own < 0.0)), defect  # proofs.md, step 3j


def penalties(d: int, guess: float, smooth: float) -> list[float]:
    """Penalties τ to try, from where the smoothest linear function is expected to be paid for."""
    first = math.ceil(math.log2(max(ENOUGH[d] * guess * smooth, 1.0)))
    return [2.0**k for k in range(first, first + 9, 2)]


def suggestion(space: CrouzeixRaviart, close: float = CLOSE) -> tuple[float, float, Index | None]:
    """λ⊥ in floating point, NaN where none was found, 1/(λ₁μ₁) of the linear elements; in the plane `border_order`.

    Lanczos' method for T = (I − PK⁻¹Bᵀ)A⁻¹M, K = PᵀAP, which is symmetric in the product of A and whose largest
    eigenvalue is 1/λ⊥. λ₁ is the linear elements' first eigenvalue with their mass, μ₁ with K's own diagonal.
    """
    A, M, P, K = space.stiffness, space.mass, space.injection, space.linear_stiffness
    back, smooth, linear, order = sp.csr_array(space.coupling.T), 0.0, None, None
    if K.shape[0]:
        factors = _factors(_columns(K), MMD)
        linear, order = factors.solve, border_order(space, factors.perm_c) if space.plane else None
        lumped, own = P.T @ (M @ np.ones(A.shape[0])), K.diagonal()
        smooth = _growth(lambda x: linear(lumped * x), len(own)) * _growth(lambda x: linear(own * x), len(own))
    solve = _solver(A, order)

    def apply(x: Vector) -> Vector:
        y = solve(M @ x)
        return y if linear is None else np.asarray(y - P @ linear(back @ y))

    basis, images = np.empty((STEPS, space.size)), np.empty((STEPS, space.size))
    v, values, T = apply(np.random.default_rng(0).standard_normal(space.size)), [0.0, 0.0], np.zeros((STEPS, STEPS))
    for k in range(min(STEPS, space.size)):
        for _ in range(2 if k else 0):
            v = v - basis[:k].T @ (images[:k] @ v)
        image = A @ v
        length = math.sqrt(max(float(v @ image), 0.0))
        if not length > 1e-12 * max(values[-1], 1e-300):
            break
        basis[k], images[k] = v / length, image / length
        v = apply(basis[k])
        T[: k + 1, k] = T[k, : k + 1] = images[: k + 1] @ v
        values.append(float(np.linalg.eigvalsh(T[: k + 1, : k + 1])[-1]))
        if k > 2 and values[-1] - values[-3] < close * values[-1]:
            break
    return 1.0 / values[-1] if values[-1] > 0.0 else math.nan, smooth, order


def border_order(space: CrouzeixRaviart, linear: Index) -> Index:
    """An order of facets and vertices in which factors stay sparse and pivots small, from places of vertices.

    A facet comes just after the first of its vertices in an order that serves the linear elements, one without before
    all: separators of the linear elements' graph, with the facets inside them, separate the bordered one.
    """
    n = len(linear)
    ahead = sp.csr_array(space.injection)
    ahead.data = (n - linear[ahead.indices]).astype(float)
    first = n - np.asarray(ahead.max(axis=1).todense()).ravel()
    first[np.diff(ahead.indptr) == 0] = -1.0
    return np.argsort(np.concatenate([first + 0.5, linear]), kind="stable")


def _reordered(S: Any, order: Index) -> Any:
    """A symmetric matrix in another order, by columns."""
    return _columns(sp.csr_array(S)[order][:, order])


def _columns(S: Any) -> Any:
    """A symmetric matrix by rows, read by columns."""
    return sp.csc_array((S.data, S.indices, S.indptr), shape=S.shape)


def _growth(apply: Solve, n: int) -> float:
    """Roughly the largest eigenvalue of an operator with a positive eigenvector, by a few powers."""
    x, size = np.ones(n), math.sqrt(n)
    for _ in range(POWERS):
        x = apply(x / size)
        size = float(np.linalg.norm(x))
    return size


def _solver(A: Any, order: Index | None) -> Solve:
    """A⁻¹, with its rows in the order of `border_order`."""
    if order is None:
        plain: Solve = _factors(_columns(A), MMD).solve
        return plain
    facets = order[order < A.shape[0]]
    inner, back = _factors(_reordered(A, facets), NATURAL), np.argsort(facets)
    return lambda b: np.asarray(inner.solve(b[facets])[back])


def _factors(A: Any, order: str) -> Any:
    try:
        return spla.splu(A, permc_spec=order, diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError as error:
        raise CertificationError(f"mesh constant: a stiffness matrix is singular ({error})") from error
