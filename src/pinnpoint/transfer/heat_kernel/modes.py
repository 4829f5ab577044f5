"""Modes in time of ω and Ψ on the cells, slab by slab."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, up
from pinnpoint.taylor import functions
from pinnpoint.taylor.geometry import Simplices
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.outer import outer, sum_of
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


class Weights(NamedTuple):
    """What a kernel is on a slab."""

    omega: Modes
    psi: Modes
    plain: Modes
    """ω without what convection and a reaction that varies add to it."""


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
    nodes: Vector

    __repr__ = brief

    @classmethod
    def of(
        cls, kernel: HeatKernel, vertices: Vector, time: float, count: int, fine: float, nodes: Vector | None = None
    ) -> KernelModes:
        """For cells (C, d + 1, d), and so many modes; `fine` is what may stay unresolved.

        `nodes` are those of the slabs that will be asked for, the last one first, where they are known.
        """
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
        return cls(kernel, found, time, start, count, vertices, np.zeros(0) if nodes is None else nodes)

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

    def slab(self, start: float, end: float, *, alone: bool = False) -> Weights | None:
        """ω and Ψ on the slab (start, end), or ω and nothing; None where they vanish."""
        if not self.pieces(start, end):
            return None
        one, first, second = self.factored
        wanted = 3 if second is not None else 2 if first is not None or not alone else 1
        found = self._waiting.pop((start, end, wanted), None)
        if found is None:
            self._waiting.clear()
            slabs = self._group(start, end)
            self._waiting.update(
                ((*slab, wanted), one) for slab, one in zip(slabs, self._found(slabs, wanted), strict=True)
            )
            found = self._waiting.pop((start, end, wanted))
        low = self.leaves.first
        omega = plain = self._modes(one, found[0], low)
        if first is not None:  # slabs.md, step 7d
            omega = omega.plus(self._modes(first, found[1], low + 2))
        if second is not None:
            omega = omega.plus(self._modes(second, found[2], low + 1))
        return Weights(omega, plain if alone else self._modes(one, found[1], low + 2), plain)

    @cached_property
    def factored(self) -> tuple[Leaves, Leaves | None, Leaves | None]:
        """The leaves with the factors of ω and Φ, of Φ alone and of ∂_ρΦ; none where these vanish."""
        L, carried = self.leaves, self.kernel.carried
        if carried is None:
            return L, None, None
        one, first, second = (None if f is None else L.times(f) for f in carried.factors)
        return L if one is None else one, first, second

    @cached_property
    def _waiting(self) -> dict[tuple[float, float, int], list[tuple[Vector, ...]]]:
        """What is known of slabs that were found together with the one that was asked for."""
        return {}

    def _group(self, start: float, end: float) -> list[tuple[float, float]]:
        """The slab, and those before it that are found with it: a call costs as much for one as for several."""
        slabs, n = [(start, end)], len(self.pieces(start, end))
        last = int(np.searchsorted(self.nodes, start))
        for a, b in zip(self.nodes[:last][::-1].tolist(), self.nodes[1 : last + 1][::-1].tolist(), strict=True):
            n += len(self.pieces(a, b))
            if n * len(self.leaves.rim) > CHUNK:
                break
            slabs.append((a, b))
        return [slab for slab in slabs if self.pieces(*slab)]

    @cached_property
    def _radial(self) -> tuple[TaylorModel, list[tuple[TaylorModel, ...]]]:
        """ρ on the bins, and what of ω, Φ and ∂_ρΦ depends on it alone; the rim's bins without their powers of m."""
        rho = _line(*self.leaves.rho, ORDER[self.kernel.d])
        *omega, chi = self.kernel.radial(rho)
        m, rim = constant(1.0) - rho, self.leaves.rim
        found = []
        first = self.leaves.first
        for models, power in ((omega, first), ([chi], first + 2), (self.kernel.slope(rho), first + 1)):
            whole = m**power
            found.append(tuple(_either(rim, x, x * whole) for x in models))
        return rho, found

    def _found(self, slabs: list[tuple[float, float]], wanted: int) -> list[list[tuple[Vector, ...]]]:
        """For ω, or ω and Ψ, on slabs: coefficients (modes, bins, powers), their rounding, errors and rests."""
        own = [self.pieces(*slab) for slab in slabs]
        pieces = np.array([piece for each in own for piece in each])
        models = self._models(pieces, wanted)
        found, at = [], 0
        for slab, each in zip(slabs, own, strict=True):
            here = slice(at, at + len(each))
            middle, length = 0.5 * (pieces[here, 0] + pieces[here, 1]), 0.5 * (pieces[here, 1] - pieces[here, 0])
            found.append([self._read(C[..., here], e[:, here], middle, length, *slab) for C, e in models])
            at += len(each)
        return found

    def _models(self, pieces: Vector, wanted: int) -> list[tuple[Vector, Vector]]:
        """Coefficients (monomials, bins, pieces) and remainders of ω, or of ω and Ψ."""
        centre, half = self.leaves.rho
        bins, n, order, K = len(centre), len(pieces), ORDER[self.kernel.d], self.kernel
        middle, length = 0.5 * (pieces[:, 0] + pieces[:, 1]), 0.5 * (pieces[:, 1] - pieces[:, 0])
        least, late = np.maximum(centre - half, 0.0), middle + length + K.spread
        faded = (least[:, None] * K.radius**2 > FADED * 4.0 * K.kappa * late).ravel()
        live, M = np.flatnonzero(~faded), space(2, order)
        found = [(np.zeros((M.size, bins * n)), np.zeros(bins * n)) for _ in range(wanted)]
        for i, top in enumerate(K.tops(middle - length)[:wanted]):
            found[i][1][faded] = np.tile(top, bins)[faded] * math.exp(-FADED) * 1.001  # slabs.md, step 4b
        rho, radial = self._radial
        rate, lost, *y = K.passing(_line(middle, length, order))
        passing = (y, y[2:], [y[2], y[2] * rate]), (0, 2, 1)
        for a in range(0, len(live), CHUNK):
            part = live[a : a + CHUNK]
            at = part // n, part % n
            exponent = -outer(rho, rate, *at)
            if K.reaction != 0.0 or K.blur != 0.0:
                exponent = exponent - outer(_line(np.ones(1), np.zeros(1), order), lost, np.zeros_like(at[0]), at[1])
            E = functions.exp(exponent)
            for i, (x, powers, power) in enumerate(list(zip(radial, *passing, strict=True))[:wanted]):
                model = E * sum_of([outer(one, two, *at) for one, two in zip(x, powers, strict=True)])
                model = self._at_rim(model, self.leaves.first + power, at[0])
                found[i][0][:, part], found[i][1][part] = model.C, model.e
        return [(C.reshape(M.size, bins, n), e.reshape(bins, n)) for C, e in found]

    def _at_rim(self, model: TaylorModel, power: int, bins: Index) -> TaylorModel:
        """Where the rim cuts, (−1)^i w^power times the coefficient of ξ^i."""
        rim = self.leaves.rim[bins]
        if not rim.any():
            return model
        scale = np.where(rim, self.leaves.rho[1][bins] ** power, 1.0)
        sign = np.where(rim, ((-1.0) ** model.space.powers[:, 0])[:, None], 1.0)
        off = np.where(rim, gamma(power + 4) * model.norm, 0.0)
        e = (model.e + off) * scale * (1.0 + 1e-14)
        return TaylorModel(model.space, model.C * sign * scale, e)  # slabs.md, step 4b

    def _read(
        self, C: Vector, e: Vector, middle: Vector, length: Vector, start: float, end: float
    ) -> tuple[Vector, ...]:
        """Modes of a slab from the models on its pieces."""
        (bins, n), q = e.shape, ORDER[self.kernel.d]
        flat = C.reshape(len(C), bins * n)
        powers = np.stack(
            [p.reshape(q + 1, bins, n) for p in split(flat, 1, q)]
        )  # (time power, power of ξ, bin, piece)
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

    def _modes(self, L: Leaves, found: tuple[Vector, ...], lowest: int) -> Modes:
        a, blur, *spread = found
        made = Modes.zero(self.count, len(self.vertices), L.m)
        bin_, reached = L.bin, L.is_inside | L.is_cut
        mean, square, rest = (np.where(reached, up(x[bin_] * L.size), 0.0) for x in spread)
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
    def reach(self) -> float:
        """Upper bound of the distance from the centre in these cells."""
        far = ((self.vertices[self.reached()] - self.kernel.center) ** 2).sum(axis=2).max(initial=0.0)
        return math.sqrt(far) * (1.0 + 1e-12)

    @cached_property
    def unresolved(self) -> tuple[float, float]:
        """Upper bounds of the integrals over s < start of ‖ω‖ in L¹ and L²."""
        return self.kernel.early(self.start) if self.start > 0.0 else (0.0, 0.0)


def _line(centre: Vector, half: Vector, order: int) -> TaylorModel:
    """A coordinate as models in itself, from centres and half-widths."""
    C = np.zeros((order + 1, len(centre)))
    C[0], C[1] = centre, half
    return TaylorModel(space(1, order), C, np.zeros(len(centre)))


def _either(which: Mask, one: TaylorModel, two: TaylorModel) -> TaylorModel:
    """One model on some elements, the other on the rest."""
    return TaylorModel(one.space, np.where(which, one.C, two.C), np.where(which, one.e, two.e))


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
