"""Single cells: stresses of moments, their norms, force and moment, Korn's constants: a part of solids.py's proof."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, Shape, ball, gamma, mix, two_prod, two_sum, up
from pinnpoint_verify.reader import Array
from pinnpoint_verify.solid_tables import tables

EXACT = 5.0 * 64.0 * 64.0 * UNIT * UNIT


def stack(parts: list[Ball], axis: int) -> Ball:
    """Balls side by side."""
    return Ball(np.stack([p.m for p in parts], axis=axis), np.stack([p.r for p in parts], axis=axis))


def flipped(x: Ball) -> Ball:
    """The transpose of the last two axes."""
    return Ball(x.m.swapaxes(-1, -2), x.r.swapaxes(-1, -2))


def put(into: Ball, at: Any, what: Ball) -> None:
    """Replace a part."""
    into.r = into.r if into.r.flags.writeable else np.array(into.r)
    into.m[at], into.r[at] = what.m, what.r


def inner(one: Ball, two: Ball, mass: Ball) -> tuple[Ball, Ball]:
    """Means over parts of τ₁:τ₂ and of tr τ₁ tr τ₂, summed over the parts."""
    spread = mix("ab,nsbij->nsaij", mass, two)
    both = mix("nsaij,nsaij->ns", one, spread)
    trace = mix("nsa,nsa->ns", mix("nsaii->nsa", one), mix("nsaii->nsa", spread))
    return mix("ns->n", both), mix("ns->n", trace)


def spectral(A: Array) -> Array:
    """Upper bounds of spectral norms: ‖A‖^(2^k) ≤ ‖(AᵀA)^(2^(k−1))‖_F."""
    size = np.sqrt((A * A).sum(axis=(1, 2)))
    X = A / size[:, None, None]
    X, share, log = X.swapaxes(1, 2) @ X, 0.5, np.log(size)
    for _ in range(9):
        f = np.sqrt((X * X).sum(axis=(1, 2)))
        X, log, share = X / f[:, None, None], log + share * np.log(f), 0.5 * share
        X = X @ X
    return np.exp(log + share * np.log(np.sqrt((X * X).sum(axis=(1, 2))))) * (1.0 + 1e-12)


def korn(g: Shape, facet: Array | None = None) -> Array:
    """‖B‖²‖B⁻¹‖ of the best path through the vertices; with facets (opposite local vertices) times √(|K̂|/|F̂|)."""
    d, best = g.E.m.shape[2], np.full(len(g.h), np.inf)
    for order in permutations(range(d + 1)):
        if order[0] < order[-1]:
            path = g.E[:, list(order)]
            B = path[:, 1:] - path[:, :-1]
            back = Ball(np.zeros_like(B.m))
            for k in range(d):
                put(back, (slice(None), k), mix("nkc->nc", g.grad[:, list(order[k + 1 :])]))
            sizes = [spectral(x.m) + np.sqrt((x.r**2).sum(axis=(1, 2))) * (1.0 + 1e-9) for x in (B, back)]
            found = up(sizes[0] ** 2 * sizes[1])
            if facet is not None:
                place = np.argsort(order)[facet]
                found = up(found * np.sqrt(np.where((place == 0) | (place == d), 1.0, 0.7071067811865476) / d))
            best = np.minimum(best, found)
    return best


def slot_norm(g: Shape, c_min: Array) -> Array:
    """N_K with ‖σ(m)‖_{C⁻¹} ≤ N_K Σ|m_slot|: the largest Frobenius norm of ∫σ:σ as a form in one moment alone."""
    R, _ = tables(g.E.m.shape[2])
    d, n = R.shape[2], len(R)
    Q = R + R.sum(axis=1, keepdims=True)
    table = np.einsum("sapqjik,sartjil->pqrtjikl", R, Q, optimize=True).reshape(d, d, d, d, -1)
    G = mix("npc,nqc->npq", g.E[:, 1:], g.E[:, 1:])
    both = mix("nqr,ntp->npqrt", G, G)
    form = mix("npqrt,pqrtz->nz", both, table)
    form = Ball(form.m.reshape(-1, n * d, d, d), np.array(form.r).reshape(-1, n * d, d, d))
    back = g.grad[:, 1:]
    form = mix("nzkl,nkc,nle->nzce", form, back, back)
    size = np.sqrt((form.top**2).sum(axis=(2, 3))).max(axis=1)
    scale = (n**4) * (d + 2.0) * math.factorial(d) ** 2
    return up(np.sqrt(up(size / (scale * g.vol.low * c_min))))


def stresses(g: Shape, out: Array, fm: Ball) -> Ball:
    """σ_h = B (R m̂ + R_f f̂) Bᵀ/|det B| at the nodes of the parts, (n, d + 1, d + 1, d, d)."""
    d = out.shape[2]
    R, Rf = tables(d)
    back, B = g.grad[:, 1:], g.E[:, 1:]
    S = mix("sapqjik,njik->nsapq", R, mix("nkc,njic->njik", back, out))
    if np.any(fm.m) or np.any(fm.r):
        S = S + mix("sapqik,nik->nsapq", Rf, mix("nkc,nic->nik", back, fm))
    S = mix("nsapl,nlq->nsapq", mix("nkp,nsakl->nsapl", B, S), B)
    return ball(S / (g.vol * float(math.factorial(d) * (d + 1)))[:, None, None, None, None])


def gathered(parts: list[Array]) -> tuple[Array, Array, Array]:
    """A sum as high + low, off by less than 64²u² of the sum of absolute values, the third."""
    high, low, size = parts[0] * 0.0, parts[0] * 0.0, parts[0] * 0.0
    for x in parts:
        high, e = two_sum(high, x)
        low, size = low + e, size + np.abs(x)
    return high, low, size


def balance(X: Array, out: Array, fm: Ball, unknown: Array) -> tuple[Array, Array]:
    """Upper bounds of |Σt_i| and |Σt_i ∧ (x_i − x̄)|, t_i = Σ_{j≠i} ±m_{F_j,i} + fm_i, in twice the precision."""
    d = X.shape[2]
    t = [gathered([*(out[:, j, i - (i > j)] for j in range(d + 1) if j != i), fm.m[:, i]]) for i in range(d + 1)]
    high, low, size = gathered([x for pair in t for x in pair[:2]])
    size = size + sum(x[2] for x in t)
    F, off = high + low, UNIT * np.abs(high + low) + EXACT * size
    turn, wrong = [], []
    arms = [two_sum(X[:, i], -X[:, 0]) for i in range(1, d + 1)]
    middle, reach = -sum(y for y, _ in arms) / (d + 1.0), np.max([np.abs(y).max(axis=1) for y, _ in arms], axis=0)
    for a, b in ((0, 1),) if d == 2 else ((1, 2), (2, 0), (0, 1)):
        terms, bulk = [], np.zeros(len(X))
        for (th, tl, ts), (yh, yl) in zip(t[1:], arms, strict=True):
            for p, q, sign in ((a, b, 1.0), (b, a, -1.0)):
                main, e = two_prod(th[:, p], yh[:, q])
                terms += [sign * main, sign * e, sign * (th[:, p] * yl[:, q]), sign * (tl[:, p] * yh[:, q])]
                bulk = bulk + ts[:, p] * np.abs(yh[:, q])
        h, rest, s = gathered(terms)
        aside = F[:, a] * middle[:, b] - F[:, b] * middle[:, a]
        turn.append(h + rest + aside)
        stray = (gamma(16) * np.abs(F).sum(axis=1) + 1.01 * off.sum(axis=1)) * reach
        wrong.append(EXACT * (bulk + s) + stray + 4.0 * UNIT * (np.abs(h + rest) + np.abs(aside)))
    force = np.sqrt(((np.abs(F) + off) ** 2).sum(axis=1))
    moment = np.sqrt(sum((np.abs(x) + w) ** 2 for x, w in zip(turn, wrong, strict=True)))
    stray = np.sqrt((fm.r.sum(axis=1) ** 2).sum(axis=1)) + unknown
    far = np.sqrt(np.max([((X[:, i] - X[:, j]) ** 2).sum(axis=1) for i, j in combinations(range(d + 1), 2)], axis=0))
    return up(force + stray), up(moment + far * stray)
