"""The mollifier w = C (1 − s)₊^k, s = |x − x₀|²/R², on the cells of a simplicial mesh, with proved errors.

Its profile may have a further factor that is linear in t = 1 − s, or a coordinate of x − x₀; k = 0 is the ball itself.

Cells cut by the sphere are clipped by planes and divided where the bounds of `pieces` are not small enough. What stands
for w is a polynomial on each part; its integrals against quadratics are exact but for rounding, which is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pinnpoint.base.arrays import Index, Vector, by_entries, products, row_max
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.mesh.quadrature import RULE_DEFECT, conical
from pinnpoint.rounding.arithmetic import TINY, UNIT, dot_up, gamma, gammas, sum_up, up
from pinnpoint.taylor.bernstein import Density, gram, inverse_gram, means, pairs, values
from pinnpoint.transfer.points.ball_cells import MeshCells, both
from pinnpoint.transfer.points.clipping import positive_parts
from pinnpoint.transfer.points.pieces import CHUNK, MOST_LEVELS, Cells, Pieces, divided, joined, start
from pinnpoint.transfer.points.profiles import Bump, Profile
from pinnpoint.transfer.points.work import Work

TOGETHER = 30_000
"""Cells near balls that are worked on together."""
AT_REST = 2**17
"""Pieces that are done, before they are added up."""
AGAIN = 4
"""The budget is for pieces at one time; of those that are divided and done there may be as many again."""
ROUNDING = 2.0**-44
"""Cells with a smaller error than this, in units of the peak, are taken as inside the ball."""


def density(
    kernel: Bump,
    points: Vector,
    cells: Index,
    x0: Vector,
    target: float,
    *,
    spent: Work | None = None,
    covered: bool = True,
) -> Density:
    """The mollifier on the cells that the ball about x0 meets.

    The integral of the error, Σ |K| error1, is brought below about `target` unless that takes more than the budget
    of simplices at a time; then the density is returned with the error reached.

    *Assumes:* the ball lies in the union of the cells, where it is `covered`. Its mass is then compared with the closed
    form, and a difference beyond the bounds raises.

    Parameters
    ----------
    kernel
        Gives the radius, the profile and the height of w.
    points, cells
        (N, d) coordinates and (C, d + 1) vertex numbers; coefficients follow this order of vertices.
    x0
        Centre of the ball.
    target
        Wanted bound of ∫|ε|.
    """
    works = [Work() if spent is None else spent]
    return next(densities([kernel], points, cells, np.asarray(x0)[None], [target], works, covered=covered))


def densities(
    kernels: Sequence[Bump],
    points: Vector,
    cells: Index,
    X: Vector,
    targets: Sequence[float],
    spent: Sequence[Work],
    *,
    covered: bool = True,
) -> Iterator[Density]:
    """As `density` of several kernels of one profile about the rows of X; where cells are few, they go together."""
    d = kernels[0].d
    if X.ndim != 2 or X.shape[1] != d or points.shape[1] != d or cells.shape[1] != d + 1:
        raise InputError(
            f"points, cells, x0: a kernel in {d}D needs {d}, {d + 1} and {d} columns; "
            f"got {points.shape[1]}, {cells.shape[1]} and {X.shape[-1]}"
        )
    waiting, count, mesh, profile = list[_Ball](), 0, MeshCells.of(points, cells), kernels[0].profile
    for kernel, x0, target, work in zip(kernels, np.asarray(X, dtype=np.float64), targets, spent, strict=True):
        ball = mesh.about(x0, kernel.radius)
        near, inside = (ball.cut, ball.mollified(kernel)) if _closed(profile) else (ball.near, None)
        if waiting and count + len(near) > TOGETHER:
            yield from _together(waiting, points, cells, mesh, covered)
            waiting, count = [], 0
        waiting.append(_Ball(kernel, x0, near, target, work, inside))
        count += len(near)
    yield from _together(waiting, points, cells, mesh, covered)


def _closed(profile: Profile) -> bool:
    """Whether the mollifier is a quadratic inside the ball."""
    return profile.plain and profile.k <= 1


@dataclass(eq=False)
class _Ball:
    """A mollifier that is asked for: the cells near its ball, the wanted bound, and what may be spent on it.

    Where it is known on the cells inside the ball, `near` are those that the sphere may cut.
    """

    kernel: Bump
    x0: Vector
    near: Index
    target: float
    spent: Work
    inside: Density | None


def _together(balls: Sequence[_Ball], points: Vector, cells: Index, mesh: MeshCells, covered: bool) -> list[Density]:
    profile = balls[0].kernel.profile
    near = np.concatenate([ball.near for ball in balls])
    owner = np.repeat(np.arange(len(balls)), [len(ball.near) for ball in balls])
    numbers = [(ball.kernel.radius, ball.kernel.peak, ball.kernel.peak_error) for ball in balls]
    radius, peak, wrong = np.array(numbers)[owner].T
    corners = points[cells[near]]
    centre = np.array([ball.x0 for ball in balls])[owner]
    scaled = Cells.build((corners - centre[:, None]) / radius[:, None, None])
    first = start(scaled, profile)
    kept = first.cell
    near, owner, peak, wrong, scaled = near[kept], owner[kept], peak[kept], wrong[kept], scaled[kept]
    first = replace(first, cell=np.arange(len(first)))
    volume = mesh.volumes[0][near]
    sums = Sums(scaled, profile)
    fits = (first.error <= ROUNDING) & (first.y > 0.0).all(axis=1)
    whole, cut = np.flatnonzero(fits), np.flatnonzero(~fits)
    sums.add(first[whole])
    sums.add(_refined(first[cut], sums, volume * peak, owner, balls))
    beta, noise = sums.coefficients()
    high = sums.high(beta, noise)
    # a polynomial of degree 2 k is its own projection where k ≤ 1
    high[whole] = 0.0 if _closed(profile) else sums.high_directly(whole, beta[whole])
    extra = noise * peak + 2.0 * UNIT * peak * row_max(np.abs(beta)) + TINY
    error1 = sums.error1() * peak + wrong * sums.size  # continuous.md, step 8c
    error2 = sums.error2() * peak + wrong * np.sqrt(sums.top * sums.size)
    grow = 1.0 + gammas(sums.pieces + 8.0)
    beta, high = beta * peak[:, None], np.asarray(up(high * peak))
    error1, error2 = (np.asarray(up((error + extra) * grow, 8)) for error in (error1, error2))
    ends, made = np.searchsorted(owner, np.arange(len(balls) + 1)).tolist(), []
    for ball, at in zip(balls, map(slice, ends[:-1], ends[1:]), strict=True):
        rim = Density(beta[at].copy(), high[at].copy(), error1[at].copy(), error2[at].copy(), near[at].copy())
        made.append(rim if ball.inside is None else both(ball.inside, rim))
        if covered:
            _check_mass(ball.kernel, made[-1], mesh)
    return made


def cells_near(points: Vector, cells: Index, x0: Vector, radius: float) -> Index:
    """Cells whose bounding box meets that of the ball."""
    reach = radius * (1.0 + 1e-12) + 1e-12 * float(np.max(np.abs(x0), initial=0.0))
    low, high = points < x0 - reach, points > x0 + reach
    keep = np.ones(len(cells), dtype=bool)
    for i in range(points.shape[1]):
        keep &= ~(low[:, i][cells].all(axis=1) | high[:, i][cells].all(axis=1))
    return np.flatnonzero(keep)


def _refined(pool: Pieces, sums: Sums, height: Vector, owner: Index, balls: Sequence[_Ball]) -> Pieces:
    """Divide each ball's pieces with the largest errors until their sum is about its target; many go to `sums`."""
    targets = [ball.target for ball in balls]
    ended: list[Pieces] = [pool[:0]]
    while len(pool):
        weight, by = pool.error * height[pool.cell] * pool.share, owner[pool.cell]
        order = np.lexsort((weight, by))
        ends = np.searchsorted(by[order], np.arange(len(balls) + 1)).tolist()
        small, split, rest = np.zeros(len(balls)), [pool.cell[:0]], np.ones(len(pool), dtype=bool)
        for i in np.unique(by).tolist():
            own = order[ends[i] : ends[i + 1]]
            chosen, small[i] = _worst(pool, own, weight, targets[i], sums, balls[i].spent)
            split.append(chosen)
            rest[chosen] = False
            if not len(chosen):
                ended.append(pool[own])
                rest[own] = False
        kept, least = [pool[np.flatnonzero(rest)]], [0.05 * ball.target for ball in balls]
        for new in divided(pool[np.sort(np.concatenate(split))], sums.cells, sums.profile):
            whose, left = owner[new.cell], new.error * height[new.cell] * new.share
            done = (left <= small[whose]) | (new.error <= TINY)
            spared = np.bincount(whose, np.where(done, left, 0.0), len(balls))
            for i, made in enumerate(np.bincount(whose, minlength=len(balls)).tolist()):
                balls[i].spent.spend(made)
                targets[i] = max(targets[i] - float(spared[i]), least[i]) if made else targets[i]
            ended.append(new[np.flatnonzero(done)])
            kept.append(new[np.flatnonzero(~done)])
            if sum(map(len, ended)) > AT_REST:
                sums.add(joined(*ended))
                ended = [pool[:0]]
        pool = joined(*kept)
    return joined(*ended)


def _worst(pool: Pieces, own: Index, weight: Vector, target: float, sums: Sums, spent: Work) -> tuple[Index, float]:
    """Pieces of a ball to divide, of its `own` by growing weight, and the weight below which their parts are done."""
    gain = 0.25 ** (sums.profile.k + 1)  # what is left of an error after one division, for small pieces
    running = np.cumsum(weight[own])
    if running[-1] <= target:
        return own[:0], 0.0
    enough = (0.95 * target - gain * running[-1]) / (1.0 - gain)
    split = own[np.searchsorted(running, max(enough, 0.5 * target), side="right") :]
    split = split[pool.level[split] < MOST_LEVELS]
    room = min(spent.budget - len(own), AGAIN * spent.budget - spent.spent) // 2**sums.d  # continuous.md, step 12a
    if room <= 0 or not len(split):
        spent.stop("the mollifier")
        return own[:0], 0.0
    split = split[-room:]
    return split, float(weight[split[0]]) if enough > 0.5 * target else 0.0  # else there are further rounds


class Sums:
    """Per cell: means of f B_jl and of f² for the piecewise polynomial f, and the errors of its pieces."""

    def __init__(self, cells: Cells, profile: Profile) -> None:
        self.cells, self.profile = cells, profile
        n, self.d = len(cells.z), cells.z.shape[2]
        self.moments = np.zeros((n, len(pairs(self.d))))
        self.squares, self.top, self.size, self.pieces, self.first, self.second = (np.zeros(n) for _ in range(6))

    def add(self, p: Pieces) -> None:
        """Add pieces: the clipped polynomial and its errors."""
        if np.any(p.cell[1:] < p.cell[:-1]):
            p = p[np.argsort(p.cell, kind="stable")]
        for i in range(0, len(p), CHUNK):
            self._add(p[i : i + CHUNK])

    def _add(self, p: Pieces) -> None:
        n, profile, m = len(p), self.profile, self.d + 1
        z, _, blur = self.cells.parts(p.cell, p.bary)
        M, squares, size, pieces, top = np.zeros((n, m, m)), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        first, second = p.error.copy(), p.square.copy()
        slack = self.cells.slack[p.cell]
        for rows, corners, part in positive_parts(p.y):
            here = z[rows] if corners is None else products(corners, z[rows])
            T = _quadratic(here)
            local, square = self._means(T, here)
            bound = row_max(np.abs(T)) + blur[rows]
            power, wrong = profile.size(bound), profile.slope(bound) * blur[rows]  # the stored T are not quite t's
            if profile.axis is not None:  # nor are the coordinates
                reach = profile.reach(here, slack[rows])
                power, wrong = power * reach, wrong * reach + power * slack[rows]  # gradients.md, step 2c
            M[rows] += part[:, None, None] * (local if corners is None else _turned(local, corners))
            squares[rows] += part * square
            size[rows] += part * power
            first[rows] += part * wrong
            second[rows] += part * wrong * wrong
            top[rows] = np.maximum(top[rows], power)
            pieces[rows] += 1.0
        M = _turned(M, p.bary)
        low, share = p.cell[0], p.share

        def spread(sums: Vector, x: Vector) -> None:
            new = np.bincount(p.cell - low, x)
            sums[low : low + len(new)] += new

        spread(self.squares, share * squares)
        spread(self.size, share * size)
        spread(self.first, share * first)
        spread(self.second, share * second)
        spread(self.pieces, pieces)
        np.maximum.at(self.top, p.cell, top)
        for i, (j, q) in enumerate(pairs(self.d)):
            spread(self.moments[:, i], share * M[:, j, q] * (1.0 if j == q else 2.0))

    def coefficients(self) -> tuple[Vector, Vector]:
        """Coefficients of the projection of f to quadratics, and bounds of their errors."""
        inverse = inverse_gram(self.d)
        beta = self.moments @ inverse  # continuous.md, step 8c
        n = len(inverse)
        # evaluation of f, the rule, the change to the cell's coordinates, and the sums over pieces
        steps = 5 * (n + 6) + 40 + self.profile.points**self.d + 12 * (self.d + 1) + self.pieces
        # Σ_jl |coefficient of f B_jl| ≤ largest coefficient of f, since Σ B_jl = 1
        wrong = (gammas(steps) + 1.2 * RULE_DEFECT) * self.size
        wrong = wrong * np.abs(inverse).max() + gamma(n + 4) * row_max(np.abs(self.moments) @ np.abs(inverse))
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

    def high_directly(self, whole: Index, beta: Vector) -> Vector:
        """The same from values of f − Σ β B on cells that are a single piece: no cancellation of squares."""
        bary, weights = conical(self.d, self.profile.points)
        B = values(bary)
        out, floor = np.zeros(len(beta)), np.zeros(len(beta))
        for i in range(0, len(beta), CHUNK):
            rows = slice(i, i + CHUNK)
            z = self.cells.z[whole[rows]]
            T = _quadratic(z)
            r = self._values(T, z, bary, B) - beta[rows] @ B.T
            out[rows] = np.einsum("nq,nq,q->n", r, r, weights)
            floor[rows] = self.profile.size(row_max(np.abs(T))) + row_max(np.abs(beta[rows]))
        floor *= gamma(5 * (B.shape[1] + 6) + 40)
        # the rule misses at most 1e-6 of the square of a polynomial of this degree
        return np.asarray(up(np.sqrt(out) * (1.0 + 1e-6) * (1.0 + gamma(len(weights) + 9)) + 2.0 * floor, 8))

    def error1(self) -> Vector:
        """Mean error of f."""
        return np.asarray(up(self.first * (1.0 + gammas(self.pieces + 4.0))))

    def error2(self) -> Vector:
        """Root mean square error of f: that of clipping and that of rounding act together."""
        return np.asarray(up(np.sqrt(2.0 * up(self.second * (1.0 + gammas(self.pieces + 4.0))))))

    def _values(self, T: Vector, z: Vector, bary: Vector, B: Vector) -> Vector:
        """Values of f at points of simplices where t has the coefficients T, with scaled corners z."""
        f = self.profile(T @ B.T)
        return f if self.profile.axis is None else np.asarray(f * (self.profile.along(z) @ bary.T))

    def _means(self, T: Vector, z: Vector) -> tuple[Vector, Vector]:
        """Means of f λ_j λ_l and of f² over simplices where t has the coefficients T."""
        m = self.d + 1
        half = np.array([1.0 if j == q else 0.5 for j, q in pairs(self.d)])
        full = np.empty((m, m), dtype=np.intp)
        for i, (j, q) in enumerate(pairs(self.d)):
            full[j, q] = full[q, j] = i
        if self.profile.plain and self.profile.k == 1:
            local = T @ gram(self.d)
            squares = np.einsum("ni,ni->n", local, T)
            local *= half
        else:
            bary, weights = conical(self.d, self.profile.points)
            B = values(bary)
            f = self._values(T, z, bary, B)
            local, squares = f @ (B * half * weights[:, None]), (f * f) @ weights
        return local.take(full, axis=1), squares


def _turned(M: Vector, corners: Vector) -> Vector:
    """Means of products of barycentric coordinates, for those in which the corners are given."""
    m, c = (np.ascontiguousarray(x.transpose(1, 2, 0)) for x in (M, corners))
    return by_entries(c.transpose(1, 0, 2), by_entries(m, c)).transpose(2, 0, 1)


def _quadratic(z: Vector) -> Vector:
    """Bernstein coefficients 1 − z_j·z_l of t on simplices with scaled corners z."""
    inner = products(z, z.transpose(0, 2, 1))
    return np.stack([1.0 - inner[:, j, q] for j, q in pairs(z.shape[2])], axis=1)


def _check_mass(kernel: Bump, w: Density, mesh: MeshCells) -> None:
    """Σ ∫_K w must be the closed form, or the mesh does not hold the ball."""
    volume, volume_error = (each[w.cells] for each in mesh.volumes)
    mean = w.coefficients @ means(kernel.d)
    mass = float(np.sum(mean * volume))
    size = row_max(np.abs(w.coefficients))
    allowed = sum_up(np.asarray(up(volume * w.error1 + volume_error * (size + w.error1), 8))) + kernel.mass_error
    allowed += gamma(len(volume) + 40) * dot_up(size, volume) + gamma(8) * kernel.mass
    if not abs(mass - kernel.mass) <= up(allowed, 8):  # continuous.md, step 4g; continuous.md, step 8c
        raise CertificationError(
            f"radius: the mollifier of the ball of radius {kernel.radius!r} has the mass {kernel.mass!r}, but the "
            f"cells hold {mass!r}; the ball must lie inside the mesh"
        )
