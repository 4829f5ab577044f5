"""What stored data are compared with, by quadrature: formulas, distances, mollifiers and kernels of balls."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from pinnpoint_verify.reader import Array, larger, need, smaller

PIECES = {0: 0, 1: 8, 2: 5, 3: 3}
"""By dimension, how often a cell is cut in two along each axis at most."""
FEW = 4
"""Contributions of single points that are left out on cells that are cut."""
MOST = 500_000
"""Points at a time."""
BALL = {1: 2.0, 2: math.pi, 3: 4.0 * math.pi / 3.0, 4: math.pi**2 / 2.0, 5: 8.0 * math.pi**2 / 15.0}
"""Volumes of unit balls."""


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
            best = smaller(best, float(gap[inside].min(initial=math.inf)))
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
    p, q = np.maximum(r, larger(a, 1e-300)) / R, a / R
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


def compare(what: str, data: tuple[Array, ...], V: Array, f: Callable[..., Array], loose: Any = 0.0) -> None:
    """Stored coefficients and bounds against a function of points, barycentric coordinates and cells (n, m + 1, d).

    Two rules may agree about a kink, or both miss a narrow feature: cells that do not fit are cut into ever smaller
    pieces, until they fit or the last pieces say that they do not.
    """
    loose = np.broadcast_to(loose, len(V))
    left, rough, why = np.arange(len(V)), _moments(data, V, f, np.arange(len(V)), 5, 0), ""
    for pieces in range(0, PIECES[V.shape[1] - 1] + 1):
        fine = _moments(data, V, f, left, 5 if pieces else 8, pieces)
        good, why = _fit(tuple(x[left] for x in data), rough, fine, loose[left], what)
        left, rough = left[~good], tuple(x[~good] for x in fine)
        if not len(left):
            return
    need(False, f"{what}: {why} (sampled)")


def _fit(data: tuple[Array, ...], rough: Any, fine: Any, loose: Array, what: str) -> tuple[Array, str]:
    """Which cells fit what two samplings found, and why others do not."""
    (beta, high, e1, e2), (less, some, seen), (more, rms, top) = data, rough, fine
    need(np.all(np.isfinite(top)) and np.all(np.isfinite(seen)), f"{what}: the data are not finite (sampled)")
    size = 1e-10 * (np.abs(beta).max(axis=(1, 2)) + top) + loose
    chance = 0.02 * rms + 0.1 * high
    apart = 4.0 * np.abs(more - less).max(axis=(1, 2)) + chance
    first = np.abs(more).max(axis=(1, 2)) <= e1 + apart + size
    second = rms <= 1.05 * (high + e2) + 4.0 * np.abs(rms - some) + 10.0 * size
    words = (
        "its stored coefficients are not those of the data" if not np.all(first) else "its stored bounds are too small"
    )
    return first & second, words


def _moments(data: tuple[Array, ...], V: Array, f: Callable[..., Array], some: Array, n: int, pieces: int) -> Any:
    """Means against products of two coordinates, root mean square and maximum of what is left on cells that are cut.

    Where they are cut, the few largest contributions to the mean square are left out: a feature that is seen is spread
    over many points, and one that lies between them may be met by a few.
    """
    bary, weights = cut(*rule(V.shape[1] - 1, n), pieces)
    step, found = larger(1, MOST // len(weights)), []
    for start in range(0, larger(1, len(some)), step):
        at = some[start : start + step]
        X = np.einsum("qi,nic->nqc", bary, V[at])
        gap = f(X, bary, at) - np.einsum("njk,qj,qk->nq", data[0][at], bary, bary, optimize=True)
        square = gap**2 * weights
        keep = np.ones(gap.shape, dtype=bool)
        if pieces and gap.shape[1] > 40 * FEW:
            np.put_along_axis(keep, np.argpartition(square, -FEW, axis=1)[:, -FEW:], False, axis=1)
        moments = np.einsum("nq,q,qj,qk->njk", gap * keep, weights, bary, bary, optimize=True)
        found.append((moments, np.sqrt((square * keep).sum(axis=1)), np.abs(gap).max(axis=1)))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def cut(bary: Array, weights: Array, times: int) -> tuple[Array, Array]:
    """A rule on the pieces of a simplex: its longest edge in barycentric coordinates is halved, m times a step."""
    m = bary.shape[1] - 1
    corners = np.eye(m + 1)[None]
    for _ in range(times * m):
        pairs = list(combinations(range(m + 1), 2))
        lengths = np.stack([((corners[:, j] - corners[:, k]) ** 2).sum(axis=1) for j, k in pairs], axis=1)
        j, k = np.array(pairs)[np.argmax(lengths, axis=1)].T
        at, halves = np.arange(len(corners)), []
        middle = 0.5 * (corners[at, j] + corners[at, k])
        for end in (j, k):
            half = corners.copy()
            half[at, end] = middle
            halves.append(half)
        corners = np.concatenate(halves)
    points = np.einsum("qi,nij->nqj", bary, corners).reshape(-1, m + 1)
    return points, np.tile(weights, len(corners)) / len(corners)
