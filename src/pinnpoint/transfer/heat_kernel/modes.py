"""Modes in time of ω and Ψ on the cells, slab by slab."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, up
from pinnpoint.taylor.geometry import Simplices
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.prisms import Modes, legendre, split
from pinnpoint.taylor.spaces import space
from pinnpoint.transfer.heat_kernel.kernel import HeatKernel
from pinnpoint.transfer.heat_kernel.leaves import FINE, PLAIN, SPACE, Leaves, leaves, squared_distances

ORDER = {1: 10, 2: 8, 3: 6}
"""Of the models in (ρ, s)."""
KEPT = {1: 8, 2: 6, 3: 4}
"""Powers of ρ that are kept."""
RATIO = {2: 1.15, 3: 1.08}
"""Of s at the ends of a piece of a slab, at most, by p."""
DEPTH = {1: 14, 2: 7, 3: 5}
"""Of leaves, at most."""
FADED = 40.0
"""Exponents beyond which G is bounded, not resolved."""
CHUNK = 8192


@dataclass(frozen=True, eq=False)
class KernelModes:
    """Modes of ω and Ψ of one query.

    Attributes
    ----------
    kernel
        The query's kernel.
    time
        T of the query.
    start
        s below which ω and Ψ are not resolved but bounded; zero where s₀ > 0.
    """

    kernel: HeatKernel
    leaves: Leaves
    time: float
    start: float
    count: int
    vertices: Vector

    __repr__ = brief

    @classmethod
    def of(cls, kernel: HeatKernel, vertices: Vector, time: float, count: int, fine: float) -> KernelModes:
        """For cells (C, d + 1, d), and so many modes; `fine` is what may stay unresolved."""
        d, size = kernel.d, float(np.ptp(vertices, axis=1).max())
        depth, start = 0, 0.0
        while depth < DEPTH[d]:
            # what a leaf of this size resolves
            start = 0.0 if kernel.spread > 0.0 else (size / 2**depth) ** 2 / kernel.kappa
            width = math.sqrt(4.0 * kernel.kappa * kernel.spread)
            if kernel.early(start)[0] <= fine if kernel.spread == 0.0 else size / 2**depth <= 0.3 * width:
                break
            depth += 1
        cut = SPACE if d == 3 else PLAIN if kernel.powers[0] < 3 else FINE
        found = leaves(vertices, kernel.center, kernel.radius, KEPT[d], kernel.powers[1] - 1, depth, cut)
        return cls(kernel, found, time, start, count, vertices)

    def pieces(self, start: float, end: float) -> list[tuple[float, float]]:
        """Intervals of s that make up the part of the slab (start, end) of time that is resolved."""
        low, high = max(self.time - end, self.start), self.time - start
        marks = [low, high]
        if low < self.kernel.span < high:
            marks.insert(1, self.kernel.span)
            marks.pop()  # Ψ and ω vanish beyond S
        if low >= min(high, self.kernel.span):
            return []
        found = []
        for a, b in pairwise(marks):
            n = max(
                1,
                math.ceil(
                    math.log((b + self.kernel.spread) / (a + self.kernel.spread))
                    / math.log(RATIO[min(max(self.kernel.powers[0], 2), 3)])
                ),
            )
            inner = np.geomspace(a + self.kernel.spread, b + self.kernel.spread, n + 1)[1:-1] - self.kernel.spread
            ends = [a, *inner.tolist(), b]
            found += list(pairwise(ends))
        return found

    def slab(self, start: float, end: float, *, alone: bool = False) -> tuple[Modes, Modes] | None:
        """ω and Ψ on the slab (start, end), or ω and nothing; None where they vanish."""
        pieces = self.pieces(start, end)
        if not pieces:
            return None
        found = self._coefficients(np.array(pieces), start, end, 1 if alone else 2)
        low = self.leaves.first
        omega = self._modes(found[0], low)
        return omega, omega if alone else self._modes(found[1], low + 2)

    def _coefficients(self, pieces: Vector, start: float, end: float, wanted: int) -> list[tuple[Vector, ...]]:
        """For ω, or ω and Ψ: coefficients (modes, bins, powers), their rounding, errors and rests."""
        centre, half = self.leaves.rho
        bins, n, order = len(centre), len(pieces), ORDER[self.kernel.d]
        middle, length = 0.5 * (pieces[:, 0] + pieces[:, 1]), 0.5 * (pieces[:, 1] - pieces[:, 0])
        rho, s = (np.repeat(centre, n), np.repeat(half, n)), (np.tile(middle, bins), np.tile(length, bins))
        rim = np.repeat(self.leaves.rim, n)
        least, wide = np.maximum(rho[0] - rho[1], 0.0), 4.0 * self.kernel.kappa * (s[0] + s[1] + self.kernel.spread)
        faded = least * self.kernel.radius**2 > FADED * wide
        live = np.flatnonzero(~faded)
        M = space(2, order)
        found = [(np.zeros((M.size, bins * n)), np.zeros(bins * n)) for _ in range(wanted)]
        for i, top in enumerate(self.kernel.tops(s[0] - s[1])[:wanted]):
            found[i][1][faded] = top[faded] * math.exp(-FADED) * 1.001  # slabs.md, step 4b
        for a in range(0, len(live), CHUNK):
            part = live[a : a + CHUNK]
            x, _, H, K = self.kernel.models((rho[0][part], rho[1][part]), (s[0][part], s[1][part]), order)
            m = constant(1.0) - x
            for i, (model, power) in enumerate(((H, self.leaves.first), (K, self.leaves.first + 2))[:wanted]):
                y = self._with_rim(model, m, power, rim[part], rho[1][part])
                found[i][0][:, part], found[i][1][part] = y.C, y.e
        return [self._read(C, e, bins, middle, length, start, end, order) for C, e in found]

    @staticmethod
    def _with_rim(model: TaylorModel, m: TaylorModel, power: int, rim: Mask, half: Vector) -> TaylorModel:
        """m^power times the model; where the rim cuts, (−1)^i w^power times the coefficient of ξ^i instead."""
        whole = model * m**power
        if not rim.any():
            return whole
        sign = (-1.0) ** model.space.powers[:, 0]
        scale = half**power
        C = np.where(rim, model.C * sign[:, None] * scale, whole.C)
        e = np.where(rim, (model.e + gamma(power + 4) * model.norm) * scale * (1.0 + 1e-14), whole.e)
        return TaylorModel(model.space, C, e)  # slabs.md, step 4b

    def _read(
        self, C: Vector, e: Vector, bins: int, middle: Vector, length: Vector, start: float, end: float, q: int
    ) -> tuple[Vector, ...]:
        n = len(middle)
        e = e.reshape(bins, n)
        powers = np.stack([p.reshape(q + 1, bins, n) for p in split(C, 1, q)])  # (time power, power of ξ, bin, piece)
        P, size = mode_table(self.count, q, self.time, middle, length, start, end)
        a = np.einsum("knj,jibn->kbi", P, powers)
        rough = np.einsum("knj,jibn->kbi", np.abs(P) + size, np.abs(powers))
        blur = up(gamma(n * (q + 1) + 8) * rough + np.einsum("knj,jibn->kbi", size, np.abs(powers)), 32)
        share = up(2.0 * length / (end - start), 8)
        even = np.array([[1.0 / (i + j + 1) if (i + j) % 2 == 0 else 0.0 for j in range(q + 1)] for i in range(q + 1)])
        energy = np.einsum("jibn,jl,libn,n->bi", powers, even, powers, share, optimize=True)
        bulk = np.einsum("jibn,jl,libn,n->bi", np.abs(powers), even, np.abs(powers), share, optimize=True)
        taken = sum(a[k] ** 2 / (2 * k + 1) for k in range(self.count))
        rest = np.sqrt(np.maximum(energy - taken, 0.0) + gamma(4 * n * (q + 1) ** 2) * bulk).sum(axis=1)
        mean, square = up(e @ share, 16), up(np.sqrt((e * e) @ share), 16)
        return a, blur, mean, square, np.asarray(up(rest + square, 32))

    def _modes(self, found: tuple[Vector, ...], lowest: int) -> Modes:
        L = self.leaves
        a, blur, *spread = found
        made = Modes.zero(self.count, len(self.vertices), L.m)
        bin_, reached = L.bin, L.is_inside | L.is_cut
        mean, square, rest = (np.where(reached, x[bin_], 0.0) for x in spread)
        for k in range(self.count):
            beta, high, one, two = L.rows(a[k], blur[k], lowest)
            grow = math.sqrt(2 * k + 1)
            one, two = up(one + grow * square if k else one + mean), up(two + grow * square)
            rows = L.gather((beta, high, np.asarray(one), np.asarray(two)))
            made.coefficients[k, L.cells], made.high[k, L.cells] = rows[0], rows[1]
            made.error1[k, L.cells], made.error2[k, L.cells] = rows[2], rows[3]
        made.rest[L.cells] = up(np.sqrt(L.spread(np.asarray(up(rest * rest)))), 2)
        return made

    def reached(self) -> Index:
        """Cells that come closer to the centre than 12√(κ · start): there Ψ is for s < start, but for e^{−18} of it."""
        low = squared_distances(Simplices(self.vertices, np.zeros_like(self.vertices[:, 0])), self.kernel.center, 1.0)[
            2
        ]
        return np.flatnonzero(low <= 144.0 * self.kernel.kappa * self.start)

    @cached_property
    def unresolved(self) -> tuple[float, float]:
        """Upper bounds of the integrals over s < start of ‖ω‖ in L¹ and L²."""
        return self.kernel.early(self.start) if self.start > 0.0 else (0.0, 0.0)


def mode_table(
    count: int, q: int, time: float, middle: Vector, length: Vector, start: float, end: float
) -> tuple[Vector, Vector]:
    """(2k + 1)/2 times the integral of L_k θ-wise against powers of a piece's own coordinate, (count, n, q + 1).

    On a piece s = middle + length ξ the slab's coordinate is θ = a + bξ. The second array bounds the rounding.
    """
    tau = end - start
    a = ((time - middle) - 0.5 * (start + end)) * (2.0 / tau)
    b = -2.0 * length / tau
    table, rough = np.zeros((count, len(a), q + 1)), np.zeros((count, len(a), q + 1))
    for k, L in enumerate(legendre(count)):
        for i, c in enumerate(L):
            for r in range(i + 1):
                factor = float(c) * math.comb(i, r)
                term, size = (
                    factor * a ** (i - r) * b**r,
                    abs(factor) * np.maximum(np.abs(a), 1.0) ** (i - r) * np.abs(b) ** r,
                )
                for j in range(q + 1):
                    if (r + j) % 2 == 0:
                        table[k, :, j] += (2 * k + 1) / (r + j + 1) * term * np.abs(b)
                        rough[k, :, j] += (2 * k + 1) / (r + j + 1) * size * np.abs(b)
    # a is a difference of times of the size of `time`, so its error is that rounding over τ
    slip = gamma(40) + 8.0 * count * UNIT * (abs(time) + abs(end)) / tau
    return table, np.asarray(up(slip * rough * 4.0, 8) + TINY)
