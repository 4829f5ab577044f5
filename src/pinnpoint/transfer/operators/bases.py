"""Bases of states and of stream functions, shared out by what they leave of η. Nothing here is part of a proof."""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.transfer.operators.any_mesh import AnyMesh
from pinnpoint.transfer.operators.triangles import Found

SMALL = 1e-11
"""Singular values below this share of the first are rounding."""


def shared_out(
    full: AnyMesh, load: int, found: list[Found], region: Index, kappas: Vector, rank: int
) -> tuple[Vector, Vector]:
    """Bases V of states and Ψ of stream functions of one load, 2·rank functions in all; κ by regions, (T, G)."""
    T, own = full.triangles, full.loads[load]
    area, rows = np.repeat(T.geometry.area, 2), np.repeat(region, 2)
    states, streams = (np.stack([vars(f)[name][:, load] for f in found], axis=1) for name in ("states", "streams"))
    slopes, turned = T.gradient @ states, T.curl(streams)
    direct = kappas[:, rows].T
    delta = own.flux.reshape(-1, 1) + turned - direct * slopes
    tail = np.bincount(region, own.divergence**2 * T.geometry.spread / 4.0, minlength=kappas.shape[1])
    eta = area @ (delta * delta / direct) + (1.0 / kappas) @ tail
    V, left = _leading(states, slopes, kappas, rows, area, 2 * rank)
    P, turns = _leading(streams, turned, 1.0 / kappas, rows, area, 2 * rank)
    r, n = V.shape[1], P.shape[1]
    if r + n > 2 * rank:  # operators.md, step 9d
        worst = {
            k: np.max((left[k - 1] + turns[2 * rank - k - 1]) / eta)
            for k in range(2 * rank - n, r + 1)
            if 0 < k < 2 * rank
        }
        r = min(worst, key=lambda k: float(worst[k]))
        n = 2 * rank - r
    return V[:, :r].copy(), P[:, :n].copy()


def _leading(
    values: Vector, slopes: Vector, weights: Vector, rows: Index, area: Vector, most: int
) -> tuple[Vector, Vector]:
    """Leading functions of snapshots (N, T), and what the first 1, 2, … leave of each one's own square, (r, T).

    Snapshots have size one in their own weights (T, G), so that large solutions do not count more than small ones.
    """
    scaled = np.sqrt(area)[:, None] * slopes
    parts = [scaled[rows == q] for q in range(weights.shape[1])]
    squares = np.einsum("tq,qt->t", weights, np.stack([(x * x).sum(axis=0) for x in parts]))
    lengths = np.sqrt(np.where(squares > 0.0, squares, 1.0))
    U, s, W = np.linalg.svd(scaled / lengths, full_matrices=False)
    r = max(1, min(most, int(np.sum(s > SMALL * s[0]))))
    bases = [U[rows == q, :r] for q in range(len(parts))]
    grams = np.stack([u.T @ u for u in bases])
    tested = np.stack([u.T @ x for u, x in zip(bases, parts, strict=True)])
    G = np.einsum("tq,qij->tij", weights, grams)
    b = np.einsum("tq,qit->ti", weights, tested)
    # in nested Galerkin spaces each further function takes its share: the squares of L⁻¹b
    y = np.linalg.solve(np.linalg.cholesky(G), b[..., None])[..., 0]
    left = np.maximum(squares - np.cumsum(y * y, axis=1).T, 0.0)
    return np.ascontiguousarray((values / lengths) @ (W[:r].T / np.where(s[:r] > 0.0, s[:r], 1.0))), left
