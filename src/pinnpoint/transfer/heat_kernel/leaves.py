"""Radial functions on the cells of a ball: powers of (ρ − ρ_b)/w_b on leaves, as quadratics with proved rests.

A radial function that is Σ a_i ξ^i within e for ξ = (ρ − ρ_b)/w_b ∈ [−1, 1] is on a simplex Σ a_i (ξ^i restricted),
and ξ^i restricted does not depend on time: it is projected onto quadratics once. Cells are cut into children where ρ
varies too much on them for such sums to be short; leaves that the rim ρ = 1 cuts take powers of (1 − ρ)₊/w instead,
which are found on children further down.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import comb

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import UNIT, gamma, up
from pinnpoint.taylor.bernstein import pairs
from pinnpoint.taylor.geometry import Simplices
from pinnpoint.taylor.inputs import Enclosed
from pinnpoint.taylor.simplices import gathered
from pinnpoint.transfer.energy.products import LOOSE, multiplied, projected
from pinnpoint.transfer.heat_kernel.factors import Factor

AT_ONCE = 2048
"""Leaves that the rim cuts whose children are held together."""
INNER = {1: 12, 2: 4, 3: 3}
"""Powers kept on children of leaves that the rim cuts."""
RIM_DEPTH = {1: 24, 2: 6, 3: 2}
DEEPEST = {1: 8, 2: 5, 3: 2}
"""Levels of leaves, at most, where ρ varies much on the cells."""


@dataclass(frozen=True)
class Fineness:
    """How finely leaves and bins are cut.

    Attributes
    ----------
    near
        Leaves are smaller than their distance from the centre by this factor, while there is depth.
    wide
        Half-widths of ρ on a leaf, at most, while there is depth.
    coarse
        Half-widths of bins, against ρ, at least.
    """

    near: float = 6.0
    wide: float = 0.15
    coarse: float = 0.04


PLAIN, FINE, SPACE = Fineness(), Fineness(12.0, 0.08, 0.02), Fineness(3.0, 0.25, 0.06)


@dataclass(frozen=True, eq=False)
class Powers:
    """Powers of one quadratic on simplices: β (count, N, pairs), the rests' root mean squares and errors (count, N).

    The errors are in the mean and in the root mean square.
    """

    beta: Vector
    high: Vector
    error1: Vector
    error2: Vector

    @cached_property
    def by_leaf(self) -> Vector:
        """β with the elements first, (N, count, pairs)."""
        return np.ascontiguousarray(self.beta.transpose(1, 0, 2))

    @cached_property
    def top(self) -> Vector:
        """Bounds of the powers, (count, N)."""
        return np.asarray(np.abs(self.beta).max(axis=2, initial=0.0))


def squared_distances(simplices: Simplices, x0: Vector, radius: float) -> tuple[Vector, Vector, Vector, Vector]:
    """β of ρ, (N, pairs), a bound of its error, and bounds of ρ from below and above, (N,)."""
    m = simplices.m
    E = simplices.vertices - x0
    size, slack = np.abs(E).sum(axis=2), simplices.slack.sum(axis=1)
    R2 = radius * radius
    beta = np.stack([np.einsum("nx,nx->n", E[:, j], E[:, k]) for j, k in pairs(m)], axis=1) / R2
    top = size.max(axis=1)
    error = up((gamma(16) * top * top + 2.0 * slack * (top + slack)) / R2, 16)  # slabs.md, step 4b
    middle = E.mean(axis=1)
    far = np.sqrt(((E - middle[:, None]) ** 2).sum(axis=2).max(axis=1))
    near = np.maximum(np.sqrt((middle**2).sum(axis=1)) - far, 0.0) ** 2 / R2 * (1.0 - 1e-12)
    low = np.maximum(np.maximum(beta.min(axis=1), near) - error, 0.0)
    corner = np.stack([beta[:, p] for p, (j, k) in enumerate(pairs(m)) if j == k], axis=1).max(axis=1)
    return beta, error, low, corner + error  # |x − x₀|² is convex


def powers(xi: Vector, error: Vector, count: int, factor: Factor | None = None) -> Powers:
    """1, ξ, …, ξ^count of quadratics with coefficients ξ (N, pairs), within `error` of a function in [−1, 1].

    They are multiplied by a factor where there is one.
    """
    N, width = xi.shape
    m = {3: 1, 6: 2, 10: 3}[width]
    beta, high, wrong = np.zeros((count + 1, N, width)), np.zeros((count + 1, N)), np.zeros((count + 1, N))
    if factor is not None:  # slabs.md, step 7e
        c, size, top = factor.coefficients, np.maximum(np.abs(xi).max(axis=1, initial=0.0), 1.0), factor.top
        for i in range(count + 1):
            degree = factor.degree + 2 * i
            c = c if i == 0 else multiplied(c, xi, m, degree - 2, 2)
            off = factor.error + top * (i * error * (1.0 + error) ** i + (i + 1) * LOOSE * size**i)
            f = projected(c, m, degree, np.asarray(up(off, 8)))
            beta[i], high[i], wrong[i] = f.coefficients, f.high, f.error1
        return Powers(beta, high, wrong, wrong)
    beta[0] = 1.0
    if count >= 1:
        beta[1], wrong[1] = xi, error
    c, size = xi, np.abs(xi).max(axis=1, initial=0.0)
    for i in range(2, count + 1):
        c = multiplied(c, xi, m, 2 * (i - 1), 2)
        off = i * error * (1.0 + error) ** i + i * LOOSE * np.maximum(size, 1.0) ** i
        f = projected(c, m, 2 * i, np.asarray(up(off, 8)))
        beta[i], high[i], wrong[i] = f.coefficients, f.high, f.error1
    return Powers(beta, high, wrong, wrong)


@dataclass(frozen=True, eq=False)
class Level:
    """Simplices of one depth: where the leaves among them stand in the list of all, −1 for those with children."""

    leaf: Index


@dataclass(frozen=True, eq=False)
class Leaves:
    """Cells that meet the ball, cut into leaves.

    Attributes
    ----------
    cells
        Which cells these are.
    levels
        The tree, cells first; children of the simplices with children stand in order on the next level.
    bin
        Of each leaf.
    rho
        Centre and half-width of ρ in each bin.
    rim
        Whether the rim cuts the bin's leaves; their powers are of (1 − ρ)₊/w, from q − 1 on.
    """

    m: int
    cells: Index
    levels: tuple[Level, ...]
    bin: Index
    rho: tuple[Vector, Vector]
    rim: Mask
    inside: Powers
    cut: Powers
    is_inside: Mask
    is_cut: Mask
    first: int
    place: Place
    size: Vector
    """Upper bounds of the factor on each leaf."""

    __repr__ = brief

    def times(self, f: Enclosed) -> Leaves:
        """The same with all powers multiplied by a smooth function."""
        inside, cut, size = self.place.powers(self, f)
        return replace(self, inside=inside, cut=cut, size=size)

    def rows(self, a: Vector, size: Vector, lowest: int) -> tuple[Vector, Vector, Vector, Vector]:
        """β, high, error1 and error2 on the leaves of functions with coefficients a (bins, count + 1) within `size`.

        On cut leaves the coefficients stand for the powers lowest, lowest + 1, … of (1 − ρ)₊/w.
        """
        n = len(self.bin)
        beta, high, one, two = np.zeros((n, self.inside.beta.shape[2])), np.zeros(n), np.zeros(n), np.zeros(n)
        for which, P, skip in ((self.is_inside, self.inside, 0), (self.is_cut, self.cut, lowest - self.first)):
            b = self.bin[which]
            count = min(a.shape[1], len(P.beta) - skip)
            own = slice(skip, skip + count)
            A, Z = a[b][:, :count], size[b][:, :count]
            both = np.abs(A) + Z
            beta[which] = np.matmul(A[:, None], P.by_leaf[:, own])[:, 0]
            top = P.top[own]
            high[which] = up(np.einsum("ni,in->n", both, P.high[own]), 16)
            # powers that are not kept are at most 1
            lost = (np.abs(a[b][:, count:]) + size[b][:, count:]).sum(axis=1) * self.size[which]
            blur = lost + np.einsum("ni,in->n", Z + gamma(count + 4) * np.abs(A), top)
            one[which] = up(blur + np.einsum("ni,in->n", both, P.error1[own]), 32)  # slabs.md, step 4b
            two[which] = up(blur + np.einsum("ni,in->n", both, P.error2[own]), 32)
        return beta, high, one, two

    def gather(self, rows: tuple[Vector, Vector, Vector, Vector]) -> tuple[Vector, Vector, Vector, Vector]:
        """β, high, error1 and error2 on the cells from those on the leaves."""
        below: tuple[Vector, Vector, Vector, Vector] | None = None
        for level in reversed(self.levels):
            n, here = len(level.leaf), level.leaf >= 0
            made = (np.empty((n, rows[0].shape[1])), np.empty(n), np.empty(n), np.empty(n))
            for row, value in zip(made, rows, strict=True):
                row[here] = value[level.leaf[here]]
            if below is not None:
                for row, value in zip(made, gathered(self.m, below), strict=True):
                    row[~here] = value
            below = made
        assert below is not None
        return below

    def spread(self, square: Vector) -> Vector:
        """Means over the cells from those over the leaves, rounded up."""
        below: Vector | None = None
        for level in reversed(self.levels):
            here = level.leaf >= 0
            made = np.empty(len(level.leaf))
            made[here] = square[level.leaf[here]]
            if below is not None:
                made[~here] = up(below.reshape(-1, 2**self.m).mean(axis=1), 8)
            below = made
        assert below is not None
        return below


@dataclass(frozen=True, eq=False)
class Place:
    """Where the leaves are, and how many powers of ρ there are on them."""

    simplices: Simplices
    center: Vector
    radius: float
    count: int

    __repr__ = brief

    def powers(self, of: Leaves, f: Enclosed | None) -> tuple[Powers, Powers, Vector]:
        """Powers on inner leaves and on those that the rim cuts, times f, and bounds of f on all leaves."""
        beta, error = squared_distances(self.simplices, self.center, self.radius)[:2]
        centre, half = of.rho[0][of.bin], of.rho[1][of.bin]
        xi = (beta - centre[:, None]) / half[:, None]
        off = up(error / half + gamma(8) * (np.abs(beta).max(axis=1) + centre) / half, 8)
        inner, some = of.is_inside, self.simplices[np.flatnonzero(of.is_cut)]
        factor = None if f is None else Factor.of(f, self.simplices)
        inside = powers(xi[inner], np.asarray(off)[inner], self.count, None if factor is None else factor[inner])
        where = self.center, self.radius, half[of.is_cut]
        cut = _rim(some, *where, of.first, self.count, RIM_DEPTH[of.m], f)
        return inside, cut, np.ones(len(beta)) if factor is None else factor.top


def leaves(vertices: Vector, x0: Vector, radius: float, count: int, first: int, depth: int, fine: Fineness) -> Leaves:
    """The leaves of the cells (C, d + 1, d) that meet the ball; `first` is the lowest power on cut leaves."""
    m = vertices.shape[1] - 1
    whole = Simplices(vertices, np.zeros((len(vertices), m)))
    low = squared_distances(whole, x0, radius)[2]
    cells = np.flatnonzero(low < 1.0)
    here, levels, kept, number = whole[cells], [], [], 0
    most = max(depth, DEEPEST[m])
    for level in range(most + 1):
        _, _, low, high = squared_distances(here, x0, radius)
        size = np.sqrt(((here.vertices[:, 1:] - here.vertices[:, :1]) ** 2).sum(axis=2).max(axis=1))
        close = (np.sqrt(low) * radius < fine.near * size) & (level < depth)
        rough = high - low > 2.0 * np.where((high > 1.0) & (low < 1.0), 0.5 * fine.wide, fine.wide)
        split = (rough | close) & (low < 1.0) & (level < most)
        number_here = np.where(split, -1, number + np.cumsum(~split) - 1)
        number += int((~split).sum())
        levels.append(Level(number_here))
        kept.append(here[~split])
        if not split.any():
            break
        here = here[split].children()
    every = Simplices(np.concatenate([k.vertices for k in kept]), np.concatenate([k.slack for k in kept]))
    low, high = squared_distances(every, x0, radius)[2:]
    is_cut, outside = (high > 1.0) & (low < 1.0), low >= 1.0
    bins = np.zeros(len(low), dtype=np.intp)
    bins[~outside], rho, rim = _bins(low[~outside], high[~outside], is_cut[~outside], fine.coarse)
    inner, none = ~is_cut & ~outside, powers(np.zeros((0, len(pairs(m)))), np.zeros(0), count)
    place = Place(every, x0, radius, count)
    bare = Leaves(m, cells, tuple(levels), bins, rho, rim, none, none, inner, is_cut, first, place, np.ones(len(low)))
    inside, cut, _ = place.powers(bare, None)
    return replace(bare, inside=inside, cut=cut)


def _bins(low: Vector, high: Vector, is_cut: Mask, coarse: float) -> tuple[Index, tuple[Vector, Vector], Mask]:
    """Leaves of like ranges of ρ together; those that the rim cuts are about ρ = 1."""
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    least = np.maximum(np.maximum(half, coarse * middle), 1e-12)
    rank = np.ceil(np.log(least) / np.log(1.5)).astype(np.int64)
    wide = 1.5 ** rank.astype(np.float64)
    place = np.floor(middle / (0.6 * wide)).astype(np.int64)
    reach = np.maximum(np.abs(high - 1.0), np.abs(1.0 - low))
    ranked = np.ceil(np.log(np.maximum(reach, 1e-12)) / np.log(1.5)).astype(np.int64)
    key = np.stack([np.where(is_cut, ranked, rank), np.where(is_cut, -1, place)], axis=1)
    _, bins = np.unique(key, axis=0, return_inverse=True)
    bins = np.asarray(bins, dtype=np.intp).ravel()
    number = int(bins.max(initial=-1)) + 1
    bottom, top, rim = np.full(number, np.inf), np.full(number, -np.inf), np.zeros(number, dtype=bool)
    np.minimum.at(bottom, bins, low)
    np.maximum.at(top, bins, high)
    rim[bins] = is_cut
    centre = np.where(rim, 1.0, 0.5 * (bottom + top))
    width = up(np.maximum(top - centre, centre - bottom), 8) + 4.0 * UNIT
    return bins, (centre, np.asarray(width)), rim


def _rim(
    some: Simplices,
    x0: Vector,
    radius: float,
    w: Vector,
    first: int,
    count: int,
    depth: int,
    f: Enclosed | None = None,
) -> Powers:
    """Powers first … first + count of (1 − ρ)₊/w on simplices that the rim cuts, times f."""
    n, m, number = len(some), some.m, count + 1
    width = len(pairs(m))
    if n > AT_ONCE:
        blocks = [slice(a, a + AT_ONCE) for a in range(0, n, AT_ONCE)]
        made = [_rim(some[own], x0, radius, w[own], first, count, depth, f) for own in blocks]
        each = zip(*((one.beta, one.high, one.error1, one.error2) for one in made), strict=True)
        return Powers(*(np.concatenate(rows, axis=1) for rows in each))
    if not n:
        return Powers(np.zeros((number, n, width)), *(np.zeros((number, n)) for _ in range(3)))
    levels: list[tuple[Mask, tuple[Vector, Vector, Vector, Vector]]] = []
    here, scale = some, w
    for level in range(depth + 1):
        beta, error, low, high = squared_distances(here, x0, radius)
        split = (low < 1.0) & (high > 1.0) & (level < depth)
        factor = None if f is None else Factor.of(f, here)
        levels.append((split, _rim_rows(beta, error, low, high, scale, first, number, factor)))
        if not split.any():
            break
        here, scale = here[split].children(), np.repeat(scale[split], 2**m)
    below: tuple[Vector, ...] | None = None
    for split, rows in reversed(levels):
        if below is not None:
            flat = tuple(r.reshape(-1, *r.shape[2:]) for r in below)
            finer = gathered(m, flat)  # type: ignore[arg-type]
            for row, value in zip(rows, finer, strict=True):
                row[:, split] = value.reshape(number, -1, *value.shape[1:])
        below = rows
    assert below is not None
    return Powers(below[0], below[1], below[2], below[3])


def _rim_rows(
    beta: Vector,
    error: Vector,
    low: Vector,
    high: Vector,
    w: Vector,
    first: int,
    number: int,
    factor: Factor | None = None,
) -> tuple[Vector, Vector, Vector, Vector]:
    """β, high, error1, error2, (number, n, …): zero outside the rim, expanded inside, half of the largest on it."""
    n, width = beta.shape
    rows = np.zeros((number, n, width)), np.zeros((number, n)), np.zeros((number, n)), np.zeros((number, n))
    inner = np.flatnonzero(high <= 1.0)
    met = (low < 1.0) & (high > 1.0)
    top = np.where(met, up(np.maximum(1.0 - low, 0.0) / w, 4), 0.0)
    for i in range(number):
        half = 0.5 * top ** (first + i)  # slabs.md, step 4c
        if factor is not None:
            half = 2.0 * half * factor.top  # its sign is not known
        rows[0][i, met] = half[met, None] if factor is None else 0.0
        off = up(half, 8)
        rows[2][i], rows[3][i] = np.where(met, off, 0.0), np.where(met, off, 0.0)
    if not inner.size:
        return rows
    c = 0.5 * (low + high)[inner]
    half = up(0.5 * (high - low)[inner], 4) + 4.0 * UNIT
    xi = (beta[inner] - c[:, None]) / half[:, None]
    off = up(error[inner] / half + gamma(8) * (np.abs(beta[inner]).max(axis=1) + c) / half, 8)
    kept = INNER[{3: 1, 6: 2, 10: 3}[width]]
    P = powers(xi, off, kept, None if factor is None else factor[inner])
    middle, step = (1.0 - c) / w[inner], half / w[inner]
    for i in range(number):
        j = first + i
        a = np.stack([comb(j, k) * middle ** (j - k) * (-step) ** k for k in range(min(j, kept) + 1)])
        k = len(a)
        size = np.abs(a)
        tail = sum((comb(j, r) * np.abs(middle) ** (j - r) * step**r for r in range(kept + 1, j + 1)), np.zeros(len(c)))
        tail = tail if factor is None else tail * factor.top[inner]
        rows[0][i, inner] = np.einsum("kn,knp->np", a, P.beta[:k])
        rows[1][i, inner] = up(np.einsum("kn,kn->n", size, P.high[:k]), 16)
        blur = gamma(16 + 2 * j) * np.einsum("kn,kn->n", size, np.abs(P.beta[:k]).max(axis=2))
        wrong = up(np.einsum("kn,kn->n", size, P.error2[:k]) + blur + tail, 32)
        rows[2][i, inner], rows[3][i, inner] = wrong, wrong
    return rows
