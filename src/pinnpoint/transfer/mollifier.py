"""The mollifier w = C (1 − s)₊^k, s = |x − x₀|²/R², on the cells of a simplicial mesh, with proved errors.

Cells cut by the sphere are divided where the bounds of `pieces` are not small enough. On each piece a polynomial stands
for w; the integrals of these polynomials against quadratics are exact but for rounding, which is bounded.
"""

from __future__ import annotations

from dataclasses import replace
from math import factorial

import numpy as np

from pinnpoint.arrays import Vector
from pinnpoint.bernstein import Density, Index, gram, inverse_gram, means, pairs, values
from pinnpoint.errors import CertificationError, InputError
from pinnpoint.rounding.arithmetic import TINY, UNIT, dot_up, gamma, gammas, sum_up, up
from pinnpoint.transfer.kernels import Kernel
from pinnpoint.transfer.pieces import MINIMAX, MOST_LEVELS, POWER, Pieces, divided, inside, joined, start
from pinnpoint.transfer.simplices import POSITIVE_PART, RULE_DEFECT, rule

BLOCK = 2**17
"""Values of a rule that are held at once."""
DEEP = 2
"""Tetrahedra on the sphere halved this often matter little for the mean of w², which is then only bounded."""


def density(
    kernel: Kernel, points: Vector, cells: Index, x0: Vector, target: float, *, most_pieces: int = 400_000
) -> Density:
    """The mollifier on the cells that the ball about x0 meets.

    The integral of the error, Σ |K| error1, is brought below about `target` unless that takes more than `most_pieces`
    simplices; then the density is returned with the error reached.

    *Assumes:* the ball lies in the union of the cells. Its mass is compared with the closed form, and a difference
    beyond the bounds raises.

    Parameters
    ----------
    kernel
        Gives the radius and the height of w.
    points, cells
        (N, d) coordinates and (C, d + 1) vertex numbers; coefficients follow this order of vertices.
    x0
        Centre of the ball.
    target
        Wanted bound of ∫|ε|.
    """
    d, k = kernel.d, kernel.k
    x0 = np.asarray(x0, dtype=np.float64).reshape(-1)
    if x0.shape != (d,) or points.shape[1] != d or cells.shape[1] != d + 1:
        raise InputError(
            f"points, cells, x0: a kernel in {d}D needs {d}, {d + 1} and {d} columns; "
            f"got {points.shape[1]}, {cells.shape[1]} and {x0.size}"
        )
    near = _near(points, cells, x0, kernel.radius)
    corners = points[cells[near]]
    first = start(corners, x0, kernel.radius, k)
    volume, volume_error = _volumes(corners[first.cell])
    near, first = near[first.cell], replace(first, cell=np.arange(len(first.cell)))
    fits = inside(first)
    whole, pool = first[np.flatnonzero(fits)], first[np.flatnonzero(~fits)]
    sums = Sums(len(near), d, k)
    sums.add(whole)
    pool = _refined(pool, sums, volume * kernel.peak, target, most_pieces)
    sums.add(pool)
    beta, noise = sums.coefficients()
    high = sums.high(beta, noise)
    high[whole.cell] = sums.high_directly(whole, beta[whole.cell])
    extra = noise * kernel.peak + 2.0 * UNIT * kernel.peak * np.abs(beta).max(axis=1) + TINY
    error1 = sums.error1() * kernel.peak + kernel.peak_error * sums.size
    error2 = sums.error2() * kernel.peak + kernel.peak_error * np.sqrt(sums.top * sums.size)
    result = Density(
        beta * kernel.peak,
        np.asarray(up(high * kernel.peak)),
        np.asarray(up((error1 + extra) * (1.0 + gammas(sums.pieces + 8.0)), 8)),
        np.asarray(up((error2 + extra) * (1.0 + gammas(sums.pieces + 8.0)), 8)),
        near,
    )
    _check_mass(kernel, result, volume, volume_error)
    return result


def _near(points: Vector, cells: Index, x0: Vector, radius: float) -> Index:
    """Cells whose bounding box meets that of the ball."""
    reach = radius * (1.0 + 1e-12) + 1e-12 * float(np.max(np.abs(x0), initial=0.0))
    low, high = points < x0 - reach, points > x0 + reach
    keep = np.ones(len(cells), dtype=bool)
    for i in range(points.shape[1]):
        keep &= ~(low[:, i][cells].all(axis=1) | high[:, i][cells].all(axis=1))
    return np.flatnonzero(keep)


def _refined(pool: Pieces, sums: Sums, height: Vector, target: float, most: int) -> Pieces:
    """Divide the pieces with the largest errors until the rest is below the target; add those inside to `sums`."""
    while len(pool.cell):
        weight = pool.error * height[pool.cell] * pool.share
        order = np.argsort(weight)
        running = np.cumsum(weight[order])
        if running[-1] <= target:
            break
        split = order[np.searchsorted(running, 0.5 * target, side="right") :]
        split = split[pool.level[split] < MOST_LEVELS]
        room = (most - len(pool.cell)) // 2**sums.d
        if room <= 0 or not len(split):
            break
        split = split[-room:]
        rest = np.ones(len(pool.cell), dtype=bool)
        rest[split] = False
        new = divided(pool[split], sums.k)
        fits = inside(new)
        sums.add(new[np.flatnonzero(fits)])
        pool = joined(pool[np.flatnonzero(rest)], new[np.flatnonzero(~fits)])
    return pool


class Sums:
    """Per cell: means of f B_jl and of f² for the piecewise polynomial f, and the errors of its pieces."""

    def __init__(self, count: int, d: int, k: int) -> None:
        self.count, self.d, self.k = count, d, k
        self.moments = np.zeros((count, len(pairs(d))))
        self.squares, self.top, self.size, self.pieces = (np.zeros(count) for _ in range(4))
        self.first, self.second = np.zeros(count), np.zeros(count)

    def add(self, p: Pieces) -> None:
        """Add pieces with the polynomial each chose."""
        share, bound = p.share, p.tau**self.k
        self.first += self._spread(p, share * p.error)
        self.second += self._spread(p, share * p.error * p.error)
        self.size += self._spread(p, share * bound)
        self.pieces += self._spread(p, np.ones(len(p.cell)))
        np.maximum.at(self.top, p.cell, bound)
        deep = (self.d == 3) & (p.level >= DEEP)
        for kind, squared, which in ((POWER, True, p.level >= 0), (MINIMAX, True, ~deep), (MINIMAX, False, deep)):
            q = p[np.flatnonzero((p.kind == kind) & which)]
            if len(q.cell):
                moments, squares = self._means(q, kind, squared=squared)
                weight = q.share
                for i in range(moments.shape[1]):
                    self.moments[:, i] += self._spread(q, weight * moments[:, i])
                self.squares += self._spread(q, weight * squares)

    def coefficients(self) -> tuple[Vector, Vector]:
        """Coefficients of the projection of f to quadratics, and bounds of their errors."""
        inverse = inverse_gram(self.d)
        beta = self.moments @ inverse
        n = len(inverse)
        # evaluation of f, the rule, the change to the cell's coordinates, and the sums over pieces
        steps = 5 * (n + 6) + 40 + self._rule(MINIMAX, squared=True) ** self.d + 6 * (self.d + 1) + self.pieces
        # Σ_jl |coefficient of f B_jl| ≤ largest coefficient of f ≤ 1.1 τ^k, since Σ B_jl = 1
        wrong = (gammas(steps) + 1.2 * RULE_DEFECT) * self.size
        wrong = wrong * np.abs(inverse).max() + gamma(n + 4) * (np.abs(self.moments) @ np.abs(inverse)).max(axis=1)
        return beta, np.asarray(up(wrong, 40))

    def high(self, beta: Vector, noise: Vector) -> Vector:
        """Root mean square of f minus its projection, by Pythagoras: good where f is not nearly quadratic."""
        G, steps = gram(self.d), gammas(self.pieces + 400.0)
        kept = np.maximum(np.einsum("ni,ij,nj->n", beta, G, beta), 0.0)
        size = np.einsum("ni,ij,nj->n", np.abs(beta), G, np.abs(beta))
        left = self.squares * (1.0 + 2.0 * steps) - kept + gamma(80) * size + 2.0 * np.sqrt(kept) * noise
        # values of f are off by a few u τ^k, and so is the rule
        left += (2.5 * RULE_DEFECT + 3.0 * gamma(5 * (len(G) + 6) + 40)) * self.top * self.size
        return np.asarray(up(np.sqrt(np.maximum(up(left, 8), 0.0))))

    def high_directly(self, whole: Pieces, beta: Vector) -> Vector:
        """The same from values of f − Σ β B on cells that are a single piece: no cancellation of squares."""
        bary, weights = rule(self.d, 2 * self.k + 1)
        B = values(bary)
        out = np.zeros(len(beta))
        for rows in _blocks(len(beta), len(weights)):
            r = _powers(whole.T[rows] @ B.T, self.k) - beta[rows] @ B.T
            out[rows] = np.einsum("nq,nq,q->n", r, r, weights)
        floor = gamma(5 * (B.shape[1] + 6) + 40) * (whole.tau**self.k + np.abs(beta).max(axis=1, initial=0.0))
        # the rule misses at most 1e-6 of the square of a polynomial of this degree
        return np.asarray(up(np.sqrt(out) * (1.0 + 1e-6) * (1.0 + gamma(len(weights) + 9)) + 2.0 * floor, 8))

    def error1(self) -> Vector:
        """Mean error of f."""
        return np.asarray(up(self.first * (1.0 + gammas(self.pieces + 4.0))))

    def error2(self) -> Vector:
        """Root mean square error of f."""
        return np.asarray(up(np.sqrt(up(self.second * (1.0 + gammas(self.pieces + 4.0))))))

    def _rule(self, kind: int, *, squared: bool) -> int:
        """Points a direction: for f² of degree 4m, f of degree 2m, or at least for f B of degree 2m + 2."""
        m = self.k if kind == POWER else len(POSITIVE_PART[self.k][0]) - 1
        return 2 * m + 1 if squared else m + 2

    def _means(self, p: Pieces, kind: int, *, squared: bool) -> tuple[Vector, Vector]:
        """Means of f B_jl, B of the cell, and of f² over each piece."""
        m = self.d + 1
        bary, weights = rule(self.d, self._rule(kind, squared=squared))
        B = values(bary)
        half = np.array([1.0 if j == q else 0.5 for j, q in pairs(self.d)])
        table = B * half * weights[:, None]  # w λ_j λ_l
        full = np.empty((m, m), dtype=np.intp)
        for i, (j, q) in enumerate(pairs(self.d)):
            full[j, q] = full[q, j] = i
        local, squares = np.empty((len(p.cell), B.shape[1])), np.empty(len(p.cell))
        for rows in _blocks(len(p.cell), len(weights)):
            t = p.T[rows] @ B.T
            f = _powers(t, self.k) if kind == POWER else _minimax(t, p.tau[rows], self.k)
            local[rows] = f @ table
            if squared:
                squares[rows] = (f * f) @ weights
            else:  # −error ≤ f ≤ top, so the mean of f² is at most top (mean f + 2 error)
                top = np.maximum(p.T[rows].max(axis=1), 0.0) ** self.k + 2.0 * p.error[rows]
                squares[rows] = top * (np.abs(f @ weights) + 2.0 * p.error[rows])
        M = np.matmul(p.bary.transpose(0, 2, 1), np.matmul(local[:, full], p.bary))
        out = np.stack([(M[:, j, q] + M[:, q, j]) * (1.0 if j != q else 0.5) for j, q in pairs(self.d)], axis=1)
        return out, squares

    def _spread(self, p: Pieces, x: Vector) -> Vector:
        return np.bincount(p.cell, x, self.count).astype(np.float64)


def _blocks(count: int, width: int) -> list[slice]:
    step = max(BLOCK // width, 1)
    return [slice(i, i + step) for i in range(0, count, step)]


def _powers(t: Vector, k: int) -> Vector:
    f = t if k == 1 else t * t
    for _ in range(k - 2):
        f = f * t
    return f


def _minimax(t: Vector, tau: Vector, k: int) -> Vector:
    coefficients = POSITIVE_PART[k][0]
    x = t / tau[:, None]
    f = np.full_like(x, coefficients[-1])
    for a in reversed(coefficients[:-1]):
        f *= x
        f += a
    return np.asarray(f * (tau**k)[:, None])


def _volumes(corners: Vector) -> tuple[Vector, Vector]:
    """Volumes of simplices and bounds of their rounding errors."""
    E = corners[:, 1:] - corners[:, :1]
    d = E.shape[1]
    A = np.abs(E)
    if d == 1:
        det, permanent = E[:, 0, 0], A[:, 0, 0]
    elif d == 2:
        det = E[:, 0, 0] * E[:, 1, 1] - E[:, 0, 1] * E[:, 1, 0]
        permanent = A[:, 0, 0] * A[:, 1, 1] + A[:, 0, 1] * A[:, 1, 0]
    else:
        det = np.einsum("ni,ni->n", E[:, 0], np.cross(E[:, 1], E[:, 2]))
        turned = A[:, 1][:, [1, 2, 0]] * A[:, 2][:, [2, 0, 1]] + A[:, 1][:, [2, 0, 1]] * A[:, 2][:, [1, 2, 0]]
        permanent = np.einsum("ni,ni->n", A[:, 0], turned)
    return np.abs(det) / factorial(d), np.asarray(up(gamma(16) * permanent, 16))


def _check_mass(kernel: Kernel, w: Density, volume: Vector, volume_error: Vector) -> None:
    """Σ ∫_K w must be the closed form, or the mesh does not hold the ball."""
    mean = w.coefficients @ means(kernel.d)
    mass = float(np.sum(mean * volume))
    size = np.abs(w.coefficients).max(axis=1)
    allowed = sum_up(np.asarray(up(volume * w.error1 + volume_error * (size + w.error1), 8))) + kernel.mass_error
    allowed += gamma(len(volume) + 40) * dot_up(size, volume) + gamma(8) * kernel.mass
    if not abs(mass - kernel.mass) <= up(allowed, 8):
        raise CertificationError(
            f"radius: the mollifier of the ball of radius {kernel.radius!r} has the mass {kernel.mass!r}, but the "
            f"cells hold {mass!r}; the ball must lie inside the mesh"
        )
