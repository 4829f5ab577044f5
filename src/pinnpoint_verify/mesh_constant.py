"""λ⊥ of Crouzeix–Raviart functions orthogonal to linear ones, and signs of pivots (docs/band.md, 1f to 1j)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint_verify.checker import DIRICHLET, UNIT, Mesh, Shape, gamma, mix, up
from pinnpoint_verify.reader import Array, larger, need, smaller

MMD, OPTIONS = "MMD_AT_PLUS_A", {"SymmetricMode": True, "Equil": False, "DiagPivotThresh": 0.0}
WIDE = 512.0
"""How much larger than balanced the rows of vertices are."""


def most(A: Any) -> float:
    """The largest row sum."""
    return float(up((A @ np.ones(A.shape[1])).max(initial=0.0) * (1.0 + gamma(A.shape[1] + 4))))


def pivoted(C: Any, order: str = MMD) -> tuple[Array, float]:
    """Pivots D of C = KDKᵀ + E and a bound of ‖E‖₂, K half of L and half of what U says (docs/proofs.md, 3e)."""
    C, one = sp.csr_array((C + C.T) * 0.5), np.ones(C.shape[0])
    lu = spla.splu(sp.csc_array(C), permc_spec=order, options=OPTIONS)
    L, V = sp.csr_array(lu.L), sp.csr_array(lu.U)
    pivots = V.diagonal()
    good = np.array_equal(lu.perm_r, lu.perm_c) and np.all(np.isfinite(L.data)) and np.all(np.isfinite(pivots))
    need(good and np.all(pivots != 0.0), "spectrum: no factorization with diagonal pivots")
    G, f = sp.csr_array(sp.diags_array(pivots) @ L.T), (np.diff(L.indptr) + 5.0) * UNIT
    skew = abs(G - V) + 4.0 * UNIT * abs(G)
    rows, columns = (f * (abs(L) @ (abs(V) @ one))).max(), (abs(V).T @ (abs(L).T @ f)).max()
    twice = (skew.T @ ((skew @ one) / np.abs(pivots))).max()
    return pivots, (math.sqrt(rows * columns) + 0.25 * twice) * (1.0 + 1e-9) + 8.0 * UNIT * most(abs(C))


def negative(C: Any, error: float, order: str = MMD) -> tuple[int, float]:
    """How many pivots of C = KDKᵀ + E are negative, and a bound of ‖E‖₂."""
    pivots, off = pivoted(C, order)
    return int(np.count_nonzero(pivots < 0.0)), float(up(off + error))


def eigenvalue(mesh: Mesh, free: Array, theta: float, tau: float) -> float:
    """A lower bound of λ⊥."""
    d, (nf, nv) = mesh.d, (len(free), mesh.n)
    shape = Shape(mesh.points[mesh.cells])
    k = mix("nic,njc->nij", shape.grad, shape.grad) * (shape.vol * mesh.kappa)[:, None, None]
    at, inside = np.full(len(mesh.facets), -1), np.ones(mesh.n, dtype=bool)
    at[free] = np.arange(nf)
    of = np.arange(mesh.n) if mesh.pairs is None else mesh.pairs.same[: mesh.n]  # of vertices at periodic pairs
    cells, facets = of[mesh.cells], of[mesh.facets]
    inside[facets[mesh.kind == DIRICHLET]] = False
    f, v = at[mesh.cell_facets], np.where(inside[cells], cells, -1)

    def matrix(x: Array, rows: Array, columns: Array, size: tuple[int, int]) -> Any:
        i, j = np.broadcast_to(rows[:, :, None], x.shape).ravel(), np.broadcast_to(columns[:, None, :], x.shape).ravel()
        own = (i >= 0) & (j >= 0)
        return sp.csr_array((x.ravel()[own], (i[own], j[own])), shape=size)

    A, A_off = (matrix(d * d * x, f, f, (nf, nf)) for x in (k.m, up(k.r + 4.0 * UNIT * np.abs(k.m))))
    B, B_off = (matrix(d * x, f, v, (nf, nv)) for x in (k.m, up(k.r + 4.0 * UNIT * np.abs(k.m))))
    alpha = d * d / ((d + 1) * (d + 2))
    beta = 1.0 - 2.0 * d / (d + 1) + alpha
    M = matrix(shape.vol.m[:, None, None] * (alpha * np.eye(d + 1) + beta), f, f, (nf, nf))
    slack = float(np.max(shape.vol.r / shape.vol.m)) * 4.0 + 64.0 * UNIT
    least = shape.vol.low * (alpha + smaller(0.0, (d + 1) * beta)) * (1.0 - 1e-14)
    m = np.bincount(mesh.cell_facets.ravel(), np.repeat(least, d + 1), minlength=len(mesh.facets))[free]
    stiff = matrix(k.m, v, v, (nv, nv))
    own = stiff.diagonal()
    w = np.where(own > 0.0, 2.0 ** np.rint(np.log2(tau / np.where(own > 0.0, own, 1.0))), 0.0)
    D = 2.0 ** -np.rint(0.5 * np.log2(m))
    W, scale = sp.diags_array(w), sp.diags_array(D)
    there, ratio = np.flatnonzero(own > 0.0), float(np.max(1.0 / (D * D * m)))
    place = np.full(nv, np.inf)  # a facet after its first vertex keeps factors sparse and pivots small
    place[there] = spla.splu(sp.csc_array(stiff[there][:, there]), permc_spec=MMD, options=OPTIONS).perm_c
    first = place[facets[free]].min(axis=1)
    first = np.where(np.isinf(first), -1.0, first)
    order = np.argsort(np.concatenate([first + 0.5, place[there]]), kind="stable") if d == 2 else None
    zeta = _bordered([A, A_off, theta * M], [B[:, there], B_off[:, there]], D, own[there], (theta, tau), order)
    if zeta * ratio < 0.3 * theta:
        return theta * (1.0 - slack) - float(up(zeta * ratio)) - 1e-13 * theta
    S = sp.csr_array(scale @ (A + B @ W @ B.T - theta * M) @ scale)
    size = sp.csr_array(abs(A) + abs(B) @ W @ abs(B).T + theta * abs(M))
    wrong = A_off + abs(B) @ W @ B_off.T + B_off @ W @ (abs(B) + B_off).T + gamma(24) * size
    loss = float(up(np.max(D * (wrong @ D) * (1.0 + 1e-9))))
    return theta * (1.0 - slack) - float(up((_defect(S) + loss) * ratio)) - 1e-13 * theta


def _bordered(
    inner: list[Any], side: list[Any], D: Array, own: Array, at: tuple[float, float], order: Array | None
) -> float:
    """ζ < ϱ with D(A − θM)D ⪰ −ζI where BᵀDx = 0, from the matrix with the corner −ϱ; infinite where none is proved."""
    (A, A_off, M), (B, B_off), (theta, tau), nv = inner, side, at, len(own)
    Y, corner = WIDE * 2.0 ** np.rint(0.5 * np.log2(theta / own)), WIDE**2 * 2.0 ** np.rint(np.log2(theta / tau))
    scale, border = sp.diags_array(D), sp.diags_array(Y)
    C = scale @ B @ border
    S = sp.block_array([[scale @ (A - M) @ scale, C], [C.T, -corner * sp.eye_array(nv)]], format="csr")
    rows = D * ((A_off + gamma(24) * (abs(A) + abs(M))) @ D + B_off @ Y)
    columns = Y * (B_off.T @ D)
    wrong = float(up(larger(rows.max(initial=0.0), columns.max(initial=0.0)) * (1.0 + 1e-9)))
    try:
        count, zeta = negative(S, wrong) if order is None else negative(S[order][:, order], wrong, "NATURAL")
    except RuntimeError:  # a pivot is zero
        return math.inf
    return zeta if count <= nv and zeta < corner else math.inf


def _defect(S: Any) -> float:
    """ζ with S ⪰ −ζI, from a factorization with positive pivots."""
    pivots, off = pivoted(S)
    need(pivots.min() > 0.0, "mesh constant: no factorization with positive pivots")
    return float(up(off))
