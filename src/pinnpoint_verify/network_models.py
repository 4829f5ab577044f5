"""Layers of a network as polynomials with remainders: value, gradient and Laplacian (docs/checking.md, section 13).

An activation is a polynomial T that is computed in floats, degree by degree, and whose distance from the function is
bounded afterwards, by what it leaves of a differential equation along rays: neither truncation nor rounding has to be
followed through the recurrence. Nothing of the producing side is used.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from pinnpoint_verify.checker import UNIT, Ball, gamma, up
from pinnpoint_verify.discs import SMOOTH
from pinnpoint_verify.models import Model
from pinnpoint_verify.reader import Array, need

ACTIVATIONS = ("tanh", "sin", "sigmoid", "silu", "softplus", "gelu", "gelu-tanh")
"""Those whose layers are followed."""


def norms(p: Model) -> Array:
    """Σ|C_α| of each degree, rounded up (q + 1, …)."""
    return np.asarray(up(p.S.sizes(p.C) * (1.0 + gamma(len(p.C) + 4))))


def beyond(a: Array, b: Array) -> Array:
    """Σ_{j+k>q} a_j b_k."""
    later = np.cumsum(b[::-1], axis=0)
    found = sum((a[j] * later[j - 1] for j in range(1, len(a))), np.zeros(a.shape[1:]))
    return np.asarray(up(found * (1.0 + gamma(4 * len(a)))))


def convolved(a: Array, b: Array) -> Array:
    """Σ_{j+k≤q} a_j b_k, at least."""
    return np.asarray(up(a.sum(axis=0) * b.sum(axis=0) * (1.0 + gamma(4 * len(a)))))


def settled(p: Model, C: Array, e: Array, bad: Array) -> Model:
    """A function between −1 and 1 of a model; where that is not finite neither is this."""
    e = np.where(np.isfinite(p.e), np.where(bad, 1.0, e), np.inf)
    return Model(p.S, np.where(bad | ~np.isfinite(e), 0.0, C), e)


def ray_steps(p: Model) -> tuple[Array, Array]:
    """Multiples j p_j, and Σ|p_j| j of each degree."""
    return p.C * p.S.degree.reshape(-1, *[1] * (p.C.ndim - 1)), norms(p) * np.arange(p.S.q + 1.0).reshape(
        -1, *[1] * (p.C.ndim - 1)
    )


@np.errstate(all="ignore")
def tanh(p: Model) -> tuple[Model, Model]:
    """Models of t = tanh p and of s = 1 − t²."""
    S, q = p.S, p.S.q
    jp, sizes = ray_steps(p)
    T, N = np.zeros_like(p.C), np.zeros_like(p.C)  # N = 1 − T² up to degree q
    start = SMOOTH["tanh"](Ball(p.C[0]))
    T[0] = start.m
    N[0] = 1.0 - T[0] * T[0]
    for k in range(1, q + 1):
        part = S.part(T, k)
        for j in range(1, k + 1):
            S.into(T, jp, j, N, k - j)  # checking.md, step 13b
        part /= k
        for j in range(k // 2 + 1):
            S.into(N, T, j, T, k - j, -1.0 if 2 * j == k else -2.0)
    one, two = norms(Model(S, T, p.e)), norms(Model(S, N, p.e))
    steps, whole, loose = sizes.sum(axis=0), one.sum(axis=0), gamma(2 * len(T) + 3 * q + 16)
    cut, lost = beyond(one, one), up(loose * (1.0 + convolved(one, one)))  # |1 − T² − N| ≤ cut + lost
    high, low = beyond(sizes, two) + cut * steps, loose * convolved(sizes, two) + lost * steps
    grown, slow = np.exp((1.0 + whole) * norms(p)[1:].sum(axis=0)), (1.0 + whole) * steps
    late = np.fmin(grown / (q + 1.0), np.where(slow < 0.9 * q, 1.0 / (q - np.fmin(slow, 0.9 * q)), np.inf))
    e = up((high * late + (start.r + low) * grown) * (1.0 + 1e-9))  # checking.md, step 13c
    e = np.fmin(e, 1.0 + whole)
    off = up(cut + lost)
    steep = np.fmin(1.0, two.sum(axis=0) + off + e * (2.0 + whole) + 0.77 * p.e)
    e = up(np.fmin(e + steep * p.e, 1.0 + whole) * (1.0 + 1e-9))
    bad = ~(np.isfinite(T).all(axis=0) & np.isfinite(N).all(axis=0) & np.isfinite(e))
    off = up((off + e * (1.0 + whole)) * (1.0 + 1e-9))
    return settled(p, T, e, bad), settled(p, N, off, bad)


@np.errstate(all="ignore")
def sine(p: Model) -> tuple[Model, Model]:
    """Models of sin p and cos p."""
    S, q = p.S, p.S.q
    jp, sizes = ray_steps(p)
    A, B = np.zeros_like(p.C), np.zeros_like(p.C)
    start = SMOOTH["sin"](Ball(p.C[0])), SMOOTH["cos"](Ball(p.C[0]))
    A[0], B[0] = start[0].m, start[1].m
    for k in range(1, q + 1):
        for j in range(1, k + 1):
            S.into(A, jp, j, B, k - j)
            S.into(B, jp, j, A, k - j, -1.0)
        for out in (A, B):
            S.part(out, k)[...] /= k
    loose, e = gamma(2 * len(A) + 16), start[0].r + start[1].r
    for own in (A, B):
        size = norms(Model(S, own, p.e))
        e = e + beyond(sizes, size) / (q + 1.0) + loose * convolved(sizes, size)  # checking.md, step 13d
    e = up((e + p.e) * (1.0 + 1e-9))
    bad = ~(np.isfinite(A).all(axis=0) & np.isfinite(B).all(axis=0) & np.isfinite(e))
    return settled(p, A, e, bad), settled(p, B, e, bad)


@np.errstate(all="ignore")
def bell(p: Model) -> Model:
    """exp(−p²/2)."""
    S, q = p.S, p.S.q
    P = (Model(S, p.C, np.zeros_like(p.e)) * Model(S, p.C, np.zeros_like(p.e))).scaled(Ball(0.5))
    jp, sizes = ray_steps(P)
    start = SMOOTH["exp"](Ball(-P.C[0]))
    Y = np.zeros_like(p.C)
    Y[0] = start.m
    for k in range(1, q + 1):
        for j in range(1, k + 1):
            S.into(Y, jp, j, Y, k - j, -1.0)
        S.part(Y, k)[...] /= k
    size = norms(Model(S, Y, p.e))
    left = beyond(sizes, size) / (q + 1.0) + gamma(2 * len(Y) + 16) * convolved(sizes, size) + start.r
    grown = np.exp(norms(P)[1:].sum(axis=0))
    e = up((left * grown + np.expm1(P.e) + 0.61 * p.e) * (1.0 + 1e-9))  # checking.md, step 13k
    bad = ~(np.isfinite(Y).all(axis=0) & np.isfinite(e))
    return settled(p, Y, e, bad)


@np.errstate(all="ignore")
def integrated(p: Model, g: Model, top: Array) -> Model:
    """A function whose derivative g lies between −1 and 1, from its values `top` at the constant terms."""
    S = p.S
    jp, sizes = ray_steps(p)
    Y = np.zeros_like(p.C)
    Y[0] = top
    for k in range(1, S.q + 1):
        for j in range(1, k + 1):
            S.into(Y, jp, j, g.C, k - j)
        S.part(Y, k)[...] /= k
    size = norms(g)
    rest = beyond(sizes, size) / (S.q + 1.0) + gamma(2 * len(Y) + 16) * convolved(sizes, size)
    W = norms(p)[1:].sum(axis=0)
    e = up((rest + g.e * W + p.e + 32.0 * UNIT * (top + 1.0)) * (1.0 + 1e-9))  # checking.md, step 13e
    bad = ~(np.isfinite(Y).all(axis=0) & np.isfinite(e))
    return Model(S, np.where(bad, 0.0, Y), np.where(bad, np.inf, e))


def activated(p: Model, name: str) -> tuple[Model, Model, Model]:
    """An activation with its first two derivatives."""
    if name == "tanh":
        t, s = tanh(p)
        return t, s, (t * s).scaled(Ball(-2.0))
    if name == "sin":
        a, b = sine(p)
        return a, b, -a
    t, s = tanh(p.scaled(Ball(0.5)))
    half = Ball(np.full_like(t.e, 0.5))
    gate, first, second = t.scaled(Ball(0.5)).raised(half), s.scaled(Ball(0.25)), (t * s).scaled(Ball(-0.25))
    if name == "sigmoid":
        return gate, first, second
    need(name in ACTIVATIONS, "lift: an activation that is not followed")
    if name == "softplus":
        return integrated(p, gate, np.logaddexp(0.0, p.C[0])), gate, first
    if name == "gelu":  # Φ, φ and −zφ of the normal distribution
        first = bell(p).scaled(Ball(1.0 / math.sqrt(2.0 * math.pi), 2.0 * UNIT))
        gate, second = integrated(p, first, special.ndtr(p.C[0])), -(p * first)
    elif name == "gelu-tanh":
        scale, cubic = Ball(math.sqrt(2.0 / math.pi), 4.0 * UNIT), Ball(0.044715, UNIT)
        square = p * p
        t, s = tanh((p + (p * square).scaled(cubic)).scaled(scale))
        rise = square.scaled(3.0 * cubic).raised(Ball(2.0 * half.m)).scaled(scale)
        gate, first = t.scaled(Ball(0.5)).raised(half), (s * rise).scaled(Ball(0.5))
        second = (p * s).scaled(3.0 * scale * cubic) + -(t * s * rise * rise)
    return p * gate, gate + p * first, first.scaled(Ball(2.0)) + p * second  # silu and its like


class Field:
    """A function by models of its value, its slopes and its Laplacian; None is zero."""

    def __init__(self, v: Model, g: list[Model | None], lap: Model | None) -> None:
        self.v, self.g, self.lap = v, g, lap

    def __mul__(self, b: Field) -> Field:
        lap = plus(times(self.v, b.lap), times(b.v, self.lap))
        for x, y in zip(self.g, b.g, strict=True):
            both = times(x, y)
            lap = lap if both is None else plus(lap, both.scaled(Ball(2.0)))
        g = [plus(times(x, b.v), times(y, self.v)) for x, y in zip(self.g, b.g, strict=True)]
        return Field(self.v * b.v, g, lap)  # checking.md, step 13a

    def __add__(self, b: Field) -> Field:
        return Field(self.v + b.v, [plus(x, y) for x, y in zip(self.g, b.g, strict=True)], plus(self.lap, b.lap))

    def bent(self, name: str) -> Field:
        """An activation of it."""
        v, first, second = activated(self.v, name)
        lap, squares = times(first, self.lap), None
        for x in self.g:
            squares = plus(squares, times(x, x))
        return Field(v, [times(x, first) for x in self.g], plus(lap, times(second, squares)))  # checking.md, step 13a

    def layer(self, W: Array, b: Array) -> Field:
        """W h + b."""
        g = [None if x is None else weighed(x, W) for x in self.g]
        return Field(weighed(self.v, W, b), g, None if self.lap is None else weighed(self.lap, W))


def plus(a: Model | None, b: Model | None) -> Model | None:
    """A sum."""
    return b if a is None else a if b is None else a + b


def times(a: Model | None, b: Model | None) -> Model | None:
    """A product."""
    return None if a is None or b is None else a * b


def weighed(m: Model, W: Array, b: Array | None = None) -> Model:
    """W m + b, unit by unit: C is (monomials, units, …)."""
    C = np.einsum("vu,aun->avn", W, m.C, optimize=True)
    e = np.abs(W) @ m.e + gamma(W.shape[1] + len(m.C) + 8) * (np.abs(W) @ np.abs(m.C).sum(axis=0))
    found = Model(m.S, C, up(e * (1.0 + gamma(W.shape[1] + 4))))  # checking.md, step 13a
    return found if b is None else found.raised(Ball(np.repeat(b[:, None], C.shape[2], axis=1)))
