"""Polynomials with remainders on boxes, Σ C_α ξ^α ± e for ξ ∈ [−1, 1]^D, and what formulas and networks make of them.

A product cuts off what is beyond the degree q and adds its size to e; a function h is its Taylor polynomial at the
constant term p₀, with a tail from Cauchy's estimate: if |h(z) − h(p₀)| ≤ M for |z − p₀| ≤ ρ, the coefficient of
(z − p₀)^k is at most Mρ^{−k}. M is one evaluation on discs (docs/checking.md, section 6). Nothing of Taylor models
or derivatives of the producing side is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from itertools import product as tuples
from typing import Any

import numpy as np

from pinnpoint_verify.checker import TINY, UNIT, Ball, gamma, up
from pinnpoint_verify.discs import SMOOTH, _inverse
from pinnpoint_verify.reader import Array

REACHES = (2.2, 3.0, 4.0, 6.0, 10.0, 20.0, 60.0)
"""ρ against the size of what is not constant."""
STILL = 1e-6
"""ρ where nothing is."""


class Space:
    """Monomials of degree at most q in D variables, by degree, and which pairs make which."""

    def __init__(self, D: int, q: int) -> None:
        every = sorted((a for a in tuples(range(q + 1), repeat=D) if sum(a) <= q), key=lambda a: (sum(a), a[::-1]))
        at = {a: k for k, a in enumerate(every)}
        self.D, self.q, self.powers = D, q, np.array(every).reshape(len(every), D)
        self.degree = self.powers.sum(axis=1)
        self.first = [int(k) for k in np.searchsorted(self.degree, np.arange(q + 2))]
        self.products = {
            (j, k): [
                (a, _run([at[tuple(x + y for x, y in zip(every[a], b, strict=True))] for b in self.part(every, k)]))
                for a in range(self.first[j], self.first[j + 1])
            ]
            for j in range(q + 1)
            for k in range(j, q + 1 - j)
        }  # of each monomial of degree j ≤ k with all of degree k

    def part(self, C: Any, k: int) -> Any:
        """Those of one degree."""
        return C[self.first[k] : self.first[k + 1]]

    def into(self, out: Array, A: Array, j: int, B: Array, k: int, factor: float = 1.0) -> None:
        """Add the product of the parts of degree j and k to polynomials."""
        A, j, B, k = (A, j, B, k) if j <= k else (B, k, A, j)
        second = self.part(B, k)
        second = second if factor == 1.0 else factor * second
        for a, to in self.products[j, k]:
            out[to] += A[a] * second

    def sizes(self, C: Array) -> Array:
        """Σ|C_α| of each degree, (q + 1, …)."""
        first = np.searchsorted(self.degree, np.arange(self.q + 1))
        return np.add.reduceat(np.abs(C), first, axis=0)


@cache
def space(D: int, q: int) -> Space:
    """Made once."""
    return Space(D, q)


def _run(places: list[int]) -> Any:
    """Places as a slice, where they follow each other."""
    if not places:
        return slice(0, 0)
    even = all(b == a + 1 for a, b in pairwise(places))
    return slice(places[0], places[-1] + 1) if even else np.array(places)


class Model:
    """C (monomials, …) and e (…)."""

    def __init__(self, S: Space, C: Array, e: Array) -> None:
        self.S, self.C, self.e = S, C, e

    @property
    def size(self) -> Array:
        """Σ|C_α|, with its rounding."""
        return np.abs(self.C).sum(axis=0) * (1.0 + gamma(len(self.C) + 4))

    @property
    def top(self) -> Array:
        """Upper bound of |·| on the box."""
        return up(self.size + self.e)

    def __add__(self, b: Model) -> Model:
        C = self.C + b.C
        return Model(self.S, C, up(self.e + b.e + UNIT * np.abs(C).sum(axis=0) * (1.0 + 1e-9)))

    def __neg__(self) -> Model:
        return Model(self.S, -self.C, self.e)

    def __mul__(self, b: Model) -> Model:
        S = self.S
        C = np.zeros(np.broadcast_shapes(self.C.shape, b.C.shape))
        own, other = ([k for k in range(S.q + 1) if S.part(A, k).any()] for A in (self.C, b.C))
        for j in own:
            for k in other:
                if j + k <= S.q:
                    S.into(C, self.C, j, b.C, k)
        x, y = S.sizes(self.C), S.sizes(b.C)
        later = np.cumsum(y[::-1], axis=0)  # later[a − 1] = Σ of degrees above q − a
        cut = sum((x[a] * later[a - 1] for a in range(1, S.q + 1)), np.zeros(x.shape[1:]))  # checking.md, step 6a
        one, two = x.sum(axis=0), y.sum(axis=0)
        e = self.e * (two + b.e) + b.e * one + cut * (1.0 + gamma(4 * S.q)) + gamma(len(S.degree) + 8) * one * two
        return Model(S, C, up(e * (1.0 + 1e-12)))

    def scaled(self, c: Ball) -> Model:
        """A multiple by numbers that are the same on the whole of a box."""
        C = self.C * c.m
        more = np.abs(c.m) * self.e + c.r * (self.size + self.e) + UNIT * np.abs(C).sum(axis=0)
        return Model(self.S, C, up(more * (1.0 + 1e-9)))

    def raised(self, c: Ball) -> Model:
        """Numbers added."""
        C = self.C.copy()
        C[0] = C[0] + c.m
        return Model(self.S, C, up(self.e + c.r + UNIT * np.abs(C[0])))


def flat(like: Model, c: Ball) -> Model:
    """Numbers."""
    C = np.zeros_like(like.C)
    C[0] = c.m
    return Model(like.S, C, np.array(np.broadcast_to(c.r, like.e.shape)) + 0.0)


def together(parts: Sequence[Model | None], like: Model) -> Model | None:
    """Models one above the other, zero where there is none; None where there is none at all."""
    if all(p is None for p in parts):
        return None
    full = [flat(like, Ball(np.zeros_like(like.e))) if p is None else p for p in parts]
    return Model(like.S, np.stack([p.C for p in full], axis=1), np.stack([p.e for p in full]))


def _table(name: str, p: Array, K: int) -> list[Ball]:
    """Taylor coefficients of a function at the floats p, k = 0 … K."""
    x, one = Ball(p), Ball(np.ones_like(p))
    waves = {"sin": ("sin", "cos", -1.0), "cos": ("cos", "sin", -1.0), "sinh": ("sinh", "cosh", 1.0)}
    waves["cosh"] = ("cosh", "sinh", 1.0)
    if name in waves:
        own, other, sign = waves[name]
        pair = SMOOTH[own](x), SMOOTH[other](x) * (-1.0 if name == "cos" else 1.0)
        return [pair[k % 2] * (sign ** (k // 2)) / float(math.factorial(k)) for k in range(K + 1)]
    if name == "exp":
        return [SMOOTH["exp"](x) / float(math.factorial(k)) for k in range(K + 1)]
    if name in ("tanh", "tan"):  # t′ = 1 ∓ t²
        sign, a = (-1.0 if name == "tanh" else 1.0), [SMOOTH[name](x)]
        for k in range(K):
            square = sum((a[i] * a[k - i] for i in range(k + 1)), Ball(np.zeros_like(p)))
            a.append((square * sign + float(k == 0)) / float(k + 1))
        return a
    if name == "atan":  # (1 + z²)f′ = 1
        b: list[Ball] = []
        for k in range(K):
            left = one * float(k == 0) - (x * b[k - 1] * 2.0 if k else 0.0) - (b[k - 2] if k > 1 else 0.0)
            b.append(left / (one + x * x))
        return [SMOOTH["atan"](x), *(b[k] / float(k + 1) for k in range(K))]
    inverse = _inverse(x)
    if name == "inverse":
        a = [inverse]
        for _ in range(K):
            a.append(-(a[-1] * inverse))
        return a
    power = 0.5 if name == "sqrt" else 0.0
    a = [Ball(np.sqrt(p), 2.0 * UNIT * np.sqrt(np.abs(p))) if power else SMOOTH["log"](x), inverse]
    a[1] = a[0] * inverse * 0.5 if power else inverse
    for k in range(1, K):  # (k + 1) a_{k+1} = a_k (p − k)/z, and for log −k/(k+1)
        a.append(a[-1] * inverse * ((power - k) / (k + 1.0)))
        a[-1] = Ball(a[-1].m, up(a[-1].r + 4.0 * UNIT * np.abs(a[-1].m)))
    return a


def _reached(name: str, p: Array, r: Array) -> Array:
    """Upper bound of |h(z) − h(p)| for complex |z − p| ≤ r."""
    if name == "inverse":
        return _inverse(Ball(p, r)).r
    if name == "sqrt":
        good = r < 0.99 * p
        return np.where(good, 2.0 * r / np.sqrt(np.where(good, p, 1.0)), np.inf)  # |√z − √m| ≤ r/√m
    return SMOOTH[name](Ball(p, r)).r


@np.errstate(all="ignore")
def bent(p: Model, name: str, orders: int = 3) -> list[Model]:
    """h, h′, h″ of a model."""
    S, q = p.S, p.S.q
    p0, W = p.C[0], up((np.abs(p.C[1:]).sum(axis=0) + p.e) * (1.0 + gamma(len(p.C) + 4)))
    a = _table(name, p0, q + orders - 1)
    w = Model(S, np.concatenate([np.zeros_like(p.C[:1]), p.C[1:]]), np.zeros_like(p.e))
    tails = np.full((orders, *p0.shape), np.inf)
    still = [(1.0, STILL)] if np.any(W < STILL**2) else []  # a number: any circle will do, but none that is tiny
    for reach, least in [*((reach, TINY) for reach in REACHES), *still]:
        rho = reach * W + least
        M, x = _reached(name, p0, rho), W / rho
        for j in range(orders):  # checking.md, step 6b
            k, ratio = q + j + 1, x * (q + j + 2.0) / (q + 2.0)
            first = M * math.perm(k, j) * x ** (q + 1) / rho**j
            tails[j] = np.fmin(tails[j], np.where(ratio < 0.9, first / (1.0 - np.minimum(ratio, 0.9)), np.inf))
    found = []
    for j in range(orders):
        b = [a[k + j] * float(math.perm(k + j, j)) for k in range(q + 1)]
        P = _series(w, b)
        slope = sum((b[k].top * (k * W ** (k - 1)) for k in range(1, q + 1)), np.zeros_like(W))
        e = up(P.e + slope * p.e * (1.0 + 1e-9) + tails[j] * (1.0 + 1e-9))  # checking.md, step 6c
        bad = ~(np.isfinite(e) & np.isfinite(P.C).all(axis=0))
        found.append(Model(S, np.where(bad, 0.0, P.C), np.where(bad, np.inf, e)))
    return found


def _series(w: Model, b: list[Ball]) -> Model:
    """Σ b_k w^k by Horner's scheme, in w³ where w has many terms."""
    q = len(b) - 1
    if q < 4 or (w.C.reshape(len(w.C), -1) != 0.0).any(axis=1).sum() < 7:
        P = flat(w, b[q])
        for k in range(q - 1, -1, -1):
            P = (P * w).raised(b[k])
        return P
    square = w * w
    cube, found = square * w, None
    for k in range(q - q % 3, -1, -3):
        part = flat(w, b[k])
        for j, power in ((1, w), (2, square)):
            part = part if k + j > q else part + power.scaled(b[k + j])
        found = part if found is None else found * cube + part
    assert found is not None
    return found
