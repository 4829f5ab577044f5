"""Points on a line by the energy bound alone: part of the proof, beside checker.py."""

from __future__ import annotations

import math

import numpy as np

from pinnpoint_verify.checker import (
    DIRICHLET,
    UNIT,
    Ball,
    Cells,
    Side,
    energy,
    gamma,
    length,
    means,
    mix,
    total,
    tuple_of,
    up,
)
from pinnpoint_verify.reader import Array, need, smaller


def on_a_line(p: Side, x: float) -> tuple[float, float]:
    """In one dimension |u(x) − u_h(x)| ≤ C_pt η, with the smaller of two energy bounds."""
    mesh, X, g = p.mesh, p.mesh.points[:, 0], Cells(p.mesh, slice(0, p.mesh.C))
    P, ends = X[mesh.cells], X[mesh.facets[mesh.kind == DIRICHLET, 0]]
    order = np.argsort(P.min(axis=1))
    if np.count_nonzero(mesh.kind) != 2 or np.any(P.min(axis=1)[order[1:]] != P.max(axis=1)[order[:-1]]):
        return 0.0, math.inf  # not one interval
    low, kappa, cost = P.min(axis=1)[order], mesh.kappa[order], up(mesh.h / mesh.kappa)[order]
    before, after = np.concatenate([[0.0], np.cumsum(cost)]), np.concatenate([np.cumsum(cost[::-1])[::-1], [0.0]])

    def reach(y: Array) -> Array:
        at = np.clip(np.searchsorted(low, y, side="right") - 1, 0, mesh.C - 1)
        left = before[at] + np.maximum(y - low[at], 0.0) / kappa[at]
        right = after[at + 1] + np.maximum(P.max(axis=1)[order][at] - y, 0.0) / kappa[at]
        ways = ((X.min(), left), (X.max(), right))
        found = np.minimum(*(np.where(np.any(ends == e), a, np.inf) for e, a in ways))
        for e, a in ways:  # a Robin end holds as well: w(end)² ≤ ‖w‖²/α
            alpha = mesh.alpha[X[mesh.facets[:, 0]] == e].max(initial=0.0)
            found = np.minimum(found, a + 1.0 / alpha if alpha > 0.0 else np.inf)
        return up(np.sqrt(up(found * (1.0 + gamma(4 * mesh.C + 20)))))

    p.measure(g)
    rest, curved = p.f - g.c[:, None, None] * p.b, g.kappa * mix("njc,njc->n", p.slopes, g.grad) * (mesh.degree - 1.0)
    whole = rest + curved[:, None, None]
    rms = np.sqrt(mix("njk,jklm,nlm->n", whole, means(1, 4), whole).top + p.high**2) + p.e2
    eta = length(up(mesh.convex * np.sqrt(mesh.top) * rms))
    # nodal residuals ∫ S φ_i + g_i − a(u_h, φ_i), zero for a Galerkin solution up to rounding
    part = mix("njk,jki->ni", rest, means(1, 3)) - g.kappa[:, None] * mix("njc,nic->ni", 0.5 * p.slopes, g.grad)
    part, wrong = part * g.vol[:, None], (p.e1 * mesh.top)[:, None]
    r, off = (
        np.bincount(mesh.cells.ravel(), a.ravel(), minlength=mesh.n)
        for a in (part.m, part.r + 8.0 * UNIT * np.abs(part.m) + wrong)
    )
    if p.load is not None:
        at = mesh.facets[p.load.at, 0]
        r[at] += p.load.beta[:, 0]
        off[at] += p.load.rest[:, 1] + 4.0 * UNIT * (np.abs(r[at]) + np.abs(p.load.beta[:, 0]))
    for f, alpha, error in [] if mesh.exchange is None else mesh.exchange.numbers():
        v = mesh.facets[f, 0]
        r[v] -= alpha * p.nodal[v]
        off[v] += 4.0 * UNIT * (abs(r[v]) + 2.0 * abs(alpha * p.nodal[v])) + error * abs(p.nodal[v])
    inside = ~np.isin(np.arange(mesh.n), mesh.facets[mesh.kind == DIRICHLET, 0])
    eta = eta + total(up((np.abs(r) + off) * reach(X[: mesh.n]))[inside])
    cell = int(np.argmax((P.min(axis=1) <= x) & (x <= P.max(axis=1))))
    need(P[cell].min() <= x <= P[cell].max(), "query: the point is outside the mesh")
    t = (Ball(x) - P[cell, :1]) / (Ball(P[cell, 1:]) - P[cell, :1])
    bary = [1.0 - t, t]
    value = sum((bary[j] * bary[k] * p.b[cell, j, k] for j, k in np.ndindex(2, 2)), Ball(np.zeros(1)))
    C = smaller(float(reach(np.array([x]))[0]), float(up(mesh.reach[cell] + mesh.step[cell])))
    return tuple_of(value[0], C * smaller(eta, energy(p)))
