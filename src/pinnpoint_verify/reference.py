"""What stored data are compared with, by quadrature: formulas, distances, mollifiers and kernels of balls."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from pinnpoint_verify.reader import Array, need

BALL = {1: 2.0, 2: math.pi, 3: 4.0 * math.pi / 3.0}


def rule(m: int, n: int) -> tuple[Array, Array]:
    """Barycentric points and weights on an m-simplex: Gauss points in collapsed coordinates."""
    bary, weights = np.ones((1, 1)), np.ones(1)
    for k in range(1, m + 1):
        x, w = special.roots_jacobi(n, 0, k - 1)
        x, w = 0.5 * (1.0 + x), w / w.sum()
        bary = np.concatenate([np.repeat(1.0 - x, len(bary))[:, None], np.kron(x[:, None], bary)], axis=1)[:, ::-1]
        weights = np.kron(w, weights)
    return bary, weights


def distance(x: Array, V: Array) -> float:
    """Smallest distance of a point from simplices with corners (n, k, d): the nearest point of each of their faces."""
    best, P = math.inf, V - x
    for size in range(1, V.shape[1] + 1):
        for corners in combinations(range(V.shape[1]), size):
            a, E = P[:, corners[0]], P[:, corners[1:]] - P[:, corners[:1]]
            G = E @ E.swapaxes(1, 2)
            t = -np.linalg.solve(G, (E @ a[:, :, None]))[:, :, 0] if size > 1 else np.zeros((len(V), 0))
            inside = np.all(t >= 0.0, axis=1) & (t.sum(axis=1) <= 1.0)
            gap = np.sqrt(((a + np.einsum("nk,nkc->nc", t, E)) ** 2).sum(axis=1))
            best = min(best, float(gap[inside].min(initial=math.inf)))
    return best


def directions(d: int, n: int) -> tuple[Array, Array]:
    """Points of the sphere, and weights that add up to one."""
    if d == 1:
        return np.array([[1.0], [-1.0]]), np.full(2, 0.5)
    angle = math.pi * (np.arange(2 * n) + 0.5) / n
    flat = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if d == 2:
        return flat, np.full(2 * n, 0.5 / n)
    z, w = special.roots_legendre(n)
    ring = np.sqrt(1.0 - z**2)[:, None, None] * flat
    points = np.concatenate([ring, np.broadcast_to(z[:, None, None], (n, 2 * n, 1))], axis=2)
    return points.reshape(-1, 3), np.repeat(w, 2 * n) / (4.0 * n)


def radial(d: int, kappa: float, c: float, R: float, a: float, f: Callable[[Array], Array], n: int) -> Any:
    """C of w = C (1 − s), s = r²/R², and ∫fΦ, with the size of what it is the difference of.

    For the mean v of a solution over spheres −κ(4 s v″ + 2 d v′)/R² + c v = f̄(s). The query of v is ∫w v + ∫fΦ; with
    f = 0 this gives C, with v(0) = 0 it gives ∫fΦ. Collocation at Chebyshev points in s.
    """
    s = 0.5 * (1.0 - np.cos(math.pi * (np.arange(n) + 0.5) / n))

    def at(y: Array, k: int = 0) -> Array:
        return chebyshev.chebvander(2.0 * y - 1.0, n - k) @ (2.0**k * chebyshev.chebder(np.eye(n + 1), k))

    op = c * at(s) - kappa / R**2 * (4.0 * s[:, None] * at(s, 2) + 2.0 * d * at(s, 1))
    system = np.concatenate([op, at(np.zeros(1))])
    right = np.zeros((n + 1, 2))
    right[-1, 0], right[:-1, 1] = 1.0, f(R * np.sqrt(s))
    both = np.linalg.solve(system, right)
    x, w = special.roots_legendre(2 * n)
    x, w = 0.5 * (1.0 + x), 0.5 * w * d
    w = w * x ** (d - 1)
    h, v = ((w @ at((a / R * x) ** 2) @ part, (w * (1.0 - x**2)) @ at(x**2) @ part) for part in both.T)
    C = h[0] / (BALL[d] * R**d * h[1])
    rest = C * BALL[d] * R**d * v[1]
    return C, v[0] - rest, abs(v[0]) + abs(rest)


def potential(d: int, kappa: float, R: float, a: float, r: Array) -> Array:
    """Φ for c = 0 and the mollifier C (1 − s): in closed form."""
    p, q = np.maximum(r, max(a, 1e-300)) / R, a / R
    s = p**2
    factor = {1: R / kappa, 2: 1.0 / (4.0 * math.pi * kappa), 3: 1.0 / (4.0 * math.pi * kappa * R)}[d]
    y = np.maximum(0.0, q**2 - (r / R) ** 2)
    if d == 1:
        out, slope = 3 / 16 - p / 2 + 3 * s / 8 - s**2 / 16, (1 / (4 * q) if q else 0.0) - 3 / 8 + q**2 / 8
        bend = 1 / 16
    elif d == 2:
        out, slope, bend = -np.log(s) - 1.5 + 2 * s - s**2 / 2, (1 / q**2 if q else 0.0) + q**2 - 2, 0.5
    else:
        out, slope = 1 / p - 15 / 8 + 5 * s / 4 - 3 * s**2 / 8, (0.5 / q**3 if q else 0.0) - 5 / 4 + 3 * q**2 / 4
        bend = 3 / 8
    return factor * np.where(r < R, out + y * slope - y**2 * bend, 0.0)


def compare(what: str, data: tuple[Array, ...], V: Array, f: Callable[[Array, Array], Array], loose: Any = 0.0) -> None:
    """Stored coefficients and bounds against a function of points and barycentric coordinates, cells (n, m + 1, d)."""
    beta, high, e1, e2 = data
    m, found = V.shape[1] - 1, []
    for n in (5, 8):
        bary, weights = rule(m, n)
        X = np.einsum("qi,nic->nqc", bary, V)
        gap = f(X, bary) - np.einsum("njk,qj,qk->nq", beta, bary, bary, optimize=True)
        need(np.all(np.isfinite(gap)), f"{what}: the data are not finite (sampled)")
        moments = np.einsum("nq,q,qj,qk->njk", gap, weights, bary, bary, optimize=True)
        found.append((moments, np.sqrt((gap**2) @ weights), np.abs(gap).max(axis=1)))
    (rough, some, _), (fine, rms, top) = found
    size = 1e-10 * (np.abs(beta).max(axis=(1, 2)) + top) + loose
    chance = 0.02 * rms + 0.1 * high  # two rules may agree about a kink, or both miss it
    apart = 4.0 * np.abs(fine - rough).max(axis=(1, 2)) + chance
    fits = np.abs(fine).max(axis=(1, 2)) <= e1 + apart + size
    need(np.all(fits), f"{what}: its stored coefficients are not those of the data (sampled)")
    fits = rms <= 1.05 * (high + e2) + 4.0 * np.abs(rms - some) + 10.0 * size
    need(np.all(fits), f"{what}: its stored bounds are too small (sampled)")
