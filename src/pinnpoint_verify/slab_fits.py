"""Functions on simplices as quadratics: what is projected, what is orthogonal to quadratics, and what is not known.

A function p with values at the points of a rule that is exact for it is p = Σ β_jk λ_j λ_k + h + ε with h ⟂ quadratics,
rms h ≤ high and rms ε ≤ error (docs/slabs.md, step 8c). Polynomials in space and time have modes in time: on a slab
θ ∈ [−1, 1] they are Σ_k F_k L_k(θ) and a rest that is orthogonal to the modes.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from pinnpoint_verify.checker import UNIT, gamma, up
from pinnpoint_verify.enclosures import PEAK, inverse_gram, pairs, rule
from pinnpoint_verify.reader import Array, larger


@cache
def full(d: int) -> Array:
    """Where the coefficient of λ_j λ_k stands, (d + 1, d + 1); products of different ones are halves of both."""
    at = np.zeros((d + 1, d + 1), dtype=int)
    for place, (j, k) in enumerate(pairs(d)):
        at[j, k] = at[k, j] = place
    return at


def symmetric(beta: Array, d: int) -> Array:
    """Coefficients of the products λ_j λ_k, j ≤ k, as those of a symmetric form."""
    half = np.array([1.0 if j == k else 0.5 for j, k in pairs(d)])
    return np.asarray((beta * half)[..., full(d)])


def products(L: Array) -> Array:
    """λ_j λ_k at coordinates (…, d + 1), (…, pairs)."""
    return np.stack([L[..., j] * L[..., k] for j, k in pairs(L.shape[-1] - 1)], axis=-1)


@cache
def lost(d: int) -> float:
    """What an error of all moments becomes in the mean square of a projection, at most."""
    G = inverse_gram(d)
    return math.sqrt(float(np.linalg.norm(G, 2)) * len(G)) * 1.001


class Fits:
    """Polynomials |φ| ≤ 1 of a degree on whole simplices: β (n, K, pairs), high and error (n, K)."""

    def __init__(self, values: Array, d: int, m: int, noise: Array) -> None:
        B, w, off = rule(d, m)
        P, G = products(B), inverse_gram(d)
        self.beta = np.einsum("nkq,qp->nkp", values * w, P) @ G
        gap = values - np.einsum("nkp,qp->nkq", self.beta, P)
        g = np.einsum("nkq,qp->nkp", gap * w, P)
        size = 2.0 + 2.0 * np.abs(self.beta).sum(axis=2)
        slip = (gamma(len(w) + 30) + off) * size
        own = np.sqrt(np.maximum(np.einsum("nkp,pq,nkq->nk", g, G, g), 0.0))
        # slabs.md, step 8c
        self.error = up(own * (1.0 + 1e-6) + lost(d) * slip + PEAK[d] * off * size + noise)
        square = np.einsum("nkq,q->nk", gap * gap, w)
        self.high = up(np.sqrt(square * (1.0 + 1e-9) + (off + gamma(len(w) + 30)) * size * size) + noise)


def legendre(count: int, degree: int) -> Array:
    """(2k + 1)/2 ∫ θ^j L_k dθ, (count, degree + 1)."""
    found = np.zeros((count, degree + 1))
    for k in range(count):
        L = np.polynomial.legendre.leg2poly([0.0] * k + [1.0])
        for j in range(degree + 1):
            found[k, j] = (2 * k + 1) * sum(c / (i + j + 1) for i, c in enumerate(L) if (i + j) % 2 == 0)
    return found


@cache
def rests(count: int, degree: int) -> Array:
    """Upper bounds of the rms of θ^j less its modes, zero for what has only these."""
    P, found = legendre(count, degree), np.zeros(degree + 1)
    for j in range(count, degree + 1):
        left = 1.0 / (2 * j + 1) - sum(P[k, j] ** 2 / (2 * k + 1) for k in range(count))
        found[j] = math.sqrt(larger(left, 0.0) + 64.0 * UNIT)
    return found


class Modes:
    """F on a slab: symmetric coefficients (count, C, d + 1, d + 1), high, e1, e2 (count, C), and the rest (C)."""

    def __init__(self, count: int, cells: int, d: int) -> None:
        self.beta = np.zeros((count, cells, d + 1, d + 1))
        self.high, self.e1, self.e2 = np.zeros((3, count, cells))
        self.rest, self.top = np.zeros(cells), np.zeros(cells)
