"""Systems Σ μ_q A_q U = b with a few positive parameters in the matrix: reduced states and duals, proved outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Matrix, Vector, is_symmetric
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError
from pinnpoint.rounding.arithmetic import down, gamma, norm_up, up
from pinnpoint.rounding.coercivity import lu_defect, prove_coercivity
from pinnpoint.rounding.matrices import product_up
from pinnpoint.solvers.direct import SparseLU
from pinnpoint.solvers.reduction import basis

SHIFTS = (1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9)
"""Shares of the largest diagonal entry that terms are shifted by for a factor to exist."""
LOST = 1e-13
"""What projections leave of a column below this share of it adds no direction."""


@dataclass(frozen=True, eq=False)
class AffineSystem:
    """Σ μ_q A_q U = b for μ > 0, with stored symmetric A_q that are positive semidefinite but for rounding.

    Attributes
    ----------
    terms
        A_q, (n, n), stored by rows.
    b, L
        The load, (n,), and the outputs' rows, (Q, n).
    mean
        Ā: the sum of the terms, as stored.
    alpha
        Ā ⪰ α I.
    floors
        A_q ⪰ −ε_q I.
    off
        ‖Σ A_q − Ā‖ at most.
    """

    terms: tuple[Matrix, ...]
    b: Vector
    L: Vector
    mean: Matrix
    alpha: float
    floors: Vector
    off: float

    __repr__ = brief

    @classmethod
    def of(cls, terms: Sequence[Matrix], b: Vector, L: Vector) -> AffineSystem:
        """Prove what the bounds rest on; terms that are not symmetric to the last bit are made so."""
        rows = [sp.csr_array(A) for A in terms]
        own = tuple(A if is_symmetric(A) else sp.csr_array(0.5 * (A + A.T)) for A in rows)
        mean, size = own[0], abs(own[0])
        for A in own[1:]:
            mean, size = sp.csr_array(mean + A), sp.csr_array(size + abs(A))
        mean.sum_duplicates()
        row = float(np.max(product_up(size, np.ones(len(b)))))
        off = float(up(gamma(len(own) + 1) * row))
        floors = np.array([_floor(A) for A in own])
        return cls(own, b, L, mean, prove_coercivity(mean).alpha, floors, off)

    def ends(self, mu: Vector) -> tuple[Vector, Vector]:
        """θ_low and θ_high with θ_low Ā ⪯ A_μ ⪯ θ_high Ā, for rows of μ > 0."""
        low, high = mu.min(axis=1), mu.max(axis=1)
        under = low * self.off + (mu - low[:, None]) @ self.floors
        over = high * self.off + (high[:, None] - mu) @ self.floors
        # operators.md, step 10a
        return np.asarray(down(low - up(under / self.alpha, 32))), np.asarray(up(high + up(over / self.alpha, 32)))


def _floor(A: Matrix) -> float:
    """ε with A ⪰ −ε I, proved by a factor of the shifted matrix."""
    inside = A.diagonal() != 0.0
    at = np.flatnonzero(inside)
    B = sp.csr_array(A[at][:, at])
    if len(at) == 0 or np.any(A[np.flatnonzero(~inside)].data != 0.0):
        raise CertificationError("terms: one is zero on its diagonal and not in its rows, so it is not semidefinite")
    top = float(B.diagonal().max())
    for share in SHIFTS:
        defect = lu_defect(B, -share * top)
        if math.isfinite(defect):
            return float(up(share * top + defect))  # operators.md, step 10a
    raise CertificationError("terms: one could not be proved positive semidefinite; is it the stiffness of some cells?")


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals M x in the norm of Ā⁻¹: M = ĀQT + S, Q nearly orthonormal in Ā's product.

    Attributes
    ----------
    T
        Coefficients, one column for each of M.
    slip
        Of each column: a bound of ‖S_j‖ in the norm of Ā⁻¹, and of the rounding of products with T.
    delta
        ‖QᵀĀQ − I‖ at most.
    """

    T: Vector
    slip: Vector
    delta: float

    __repr__ = brief

    @classmethod
    def of(cls, system: AffineSystem, M: Vector, M_error: Vector) -> Residuals:
        """From columns (n, m), of which each is known to `M_error` in length."""
        A, n = system.mean, len(M)
        Q, known = _orthonormal(A, SparseLU(A).solve(M))
        AQ, entries = np.asarray(A @ Q), int(np.diff(A.indptr).max(initial=0))
        AQ_error = gamma(entries + 2) * np.asarray(abs(A) @ np.abs(Q))
        T = np.where(np.arange(Q.shape[1])[:, None] < known, Q.T @ M, 0.0)
        k, m = T.shape
        sizes = np.abs(T)
        left = np.abs(M - AQ @ T) + 1.01 * (gamma(k + 4) * (np.abs(M) + np.abs(AQ) @ sizes) + AQ_error @ sizes)
        root = math.sqrt(system.alpha) * (1.0 - 1e-14)
        spill = np.array([norm_up(np.asarray(up(x, 8))) for x in left.T]) + M_error
        wrong = 1.01 * (gamma(n + 4) * (np.abs(Q).T @ np.abs(AQ)) + np.abs(Q).T @ AQ_error)
        delta = norm_up(np.asarray(up(np.abs(Q.T @ AQ - np.eye(k)) + wrong, 8)).ravel())
        lengths = np.array([norm_up(t) for t in T.T])
        slip = up(spill / root + gamma(k + m + 8) * 1.01 * (1.0 + delta) * lengths, 8)  # operators.md, step 10c
        return cls(T, np.asarray(slip), delta)

    def some(self, columns: slice) -> Residuals:
        """Of some columns; the last rows of T, of which they have nothing, are left out."""
        T = self.T[:, columns]
        most = int(np.flatnonzero(np.any(T != 0.0, axis=1)).max(initial=0)) + 1
        return Residuals(np.ascontiguousarray(T[:most]), self.slip[columns], self.delta)


def _orthonormal(A: Matrix, V: Vector) -> tuple[Vector, Index]:
    """Columns that are orthonormal in A's product, and how many of them span V's first ones; not trusted."""
    found = np.empty_like(V)
    images = np.empty_like(V)
    count, known = 0, []
    for v in V.T:
        w, size = v.copy(), math.sqrt(max(float(v @ (A @ v)), 0.0))
        for _ in range(2):
            w -= found[:, :count] @ (images[:, :count].T @ w)
        image = A @ w
        length = math.sqrt(max(float(w @ image), 0.0))
        if length > LOST * size:
            found[:, count], images[:, count] = w / length, image / length
            count += 1
        known.append(count)
    return np.ascontiguousarray(found[:, :count]), np.array(known)


@dataclass(frozen=True, eq=False)
class Side:
    """A load with the basis of its states: the problem's own, or the dual one of an output.

    Attributes
    ----------
    basis
        V, (n, r).
    galerkin
        VᵀA_qV, (G, r, r), and Vᵀ of the load, (r,); not trusted.
    residuals
        Of the columns [load, A_q V_j].
    lengths, images
        Upper bounds of ‖V_j‖, (r,), and of ‖|A_q||V_j|‖, (G, r).
    """

    basis: Vector
    galerkin: tuple[Vector, Vector]
    residuals: Residuals
    lengths: Vector
    images: Vector

    __repr__ = brief

    def coefficients(self, mu: Vector) -> Vector:
        """Reduced Galerkin states, (S, r)."""
        A, b = self.galerkin
        loads = np.broadcast_to(b, (len(mu), len(b)))[..., None]
        return np.asarray(np.linalg.solve(np.einsum("sq,qij->sij", mu, A), loads)[..., 0])

    def norms(self, mu: Vector, c: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        """T x and the slip of each instance, and ‖r‖ in the norm of Ā⁻¹ from below and above."""
        R = self.residuals
        x = np.concatenate([np.ones((len(mu), 1)), -(mu[:, :, None] * c[:, None, :]).reshape(len(mu), -1)], axis=1)
        t = x @ R.T.T
        slip = np.asarray(up((np.abs(x) @ R.slip) * (1.0 + 2.0 * gamma(x.shape[1] + 4)), 8))
        length = np.sqrt(np.einsum("si,si->s", t, t))
        loose = 2.0 * gamma(t.shape[1] + 8)
        high = up(length * ((1.0 + loose) * math.sqrt(1.0 + R.delta)) + slip, 8)  # operators.md, step 10c
        low = np.maximum(down(length * ((1.0 - loose) * (1.0 - R.delta)) - slip, 8), 0.0)
        return t, slip, low, np.asarray(high)


def sides(system: AffineSystem, drawn: Vector, rank: int) -> tuple[Side, ...]:
    """The problem's side and one a query, from states at some parameters (T, G)."""
    loads = np.column_stack([system.b, system.L.T])
    states = []
    for mu in drawn:
        A = sum((m * A for m, A in zip(mu[1:], system.terms[1:], strict=True)), mu[0] * system.terms[0])
        states.append(SparseLU(sp.csr_array(A)).solve(loads))
    bases = [basis(np.stack([s[:, k] for s in states], axis=1), rank) for k in range(loads.shape[1])]
    entries = max(int(np.diff(A.indptr).max(initial=0)) for A in system.terms)
    columns, errors, images, at = [], [], [], [0]
    for k, V in enumerate(bases):
        own = [np.asarray(A @ V) for A in system.terms]
        sizes = np.array([[norm_up(x) for x in np.asarray(up(abs(A) @ np.abs(V), entries)).T] for A in system.terms])
        columns += [loads[:, [k]], *own]
        errors += [np.zeros(1), up(gamma(entries + 2) * sizes.ravel())]
        images.append(sizes)
        at.append(at[-1] + 1 + sizes.size)
    whole = Residuals.of(system, np.concatenate(columns, axis=1), np.concatenate(errors))
    found = []
    for k, V in enumerate(bases):
        galerkin = np.stack([V.T @ (A @ V) for A in system.terms]), V.T @ loads[:, k]
        lengths = np.array([norm_up(v) for v in V.T])
        found.append(Side(V, galerkin, whole.some(slice(at[k], at[k + 1])), lengths, images[k]))
    return tuple(found)
