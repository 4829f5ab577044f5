"""The cut-off backward heat kernel of a point, or of a Gaussian average, enclosed slab by slab.

With s = T − t, ρ = |x − x₀|²/R² and G = (4πκ(s + s₀))^{−d/2} e^{−|x−x₀|²/4κ(s+s₀) − cs}, Ψ = χ(ρ)ϑ(s/S)G solves the
backward equation up to ω = G{−χϑ′/S + ϑ/R²[−2|x−x₀|²χ′/(s+s₀) + κ(4ρχ″ + 2dχ′)]} (docs/slabs.md, step 4a). χ and ϑ
are polynomials; ω and Ψ are polynomials with remainders in (ρ, s) on bins and pieces of slabs, and so have modes.
"""

from __future__ import annotations

import math

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, gamma, mix, up
from pinnpoint_verify.enclosures import inverse_gram, pairs
from pinnpoint_verify.models import Model, bent, flat, space
from pinnpoint_verify.reader import Array, larger, smaller
from pinnpoint_verify.slab_fits import Modes, lost, symmetric
from pinnpoint_verify.slab_leaves import Leaves, Tilt

ORDER, COUNT, RIM = {1: 12, 2: 10, 3: 7}, {1: 9, 2: 8, 3: 5}, {1: 7, 2: 5, 3: 3}
"""Degrees of the polynomials in (ρ, s), and powers of ρ that are kept, by dimension."""
NEAR, RATIO = {1: 12.0, 2: 8.0, 3: 5.0}, 1.1
"""Widths of ρ on leaves are smaller than ρ by this factor; ages at the ends of a piece differ by this one at most."""
FADED, CHUNK = 42.0, 20_000
"""Exponents beyond which G is bounded only; bins × pieces at a time."""


def inverse_beta(p: int, q: int) -> int:
    """1/B(p + 1, q + 1)."""
    return math.factorial(p + q + 1) // (math.factorial(p) * math.factorial(q))


def _power(x: Model, n: int) -> Model:
    found = flat(x, Ball(np.ones_like(x.e)))
    for _ in range(n):
        found = found * x
    return found


def _sum(x: Model, p: int, q: int) -> Model:
    """Σ_{j≤p} C(q + j, j) x^j."""
    total = flat(x, Ball(np.full_like(x.e, float(math.comb(q + p, p)))))
    for j in range(p - 1, -1, -1):
        total = (total * x).raised(Ball(float(math.comb(q + j, j))))
    return total


class Kernel:
    """Of one query; S ≤ T, and the ball of radius R lies where κ and c are constant."""

    def __init__(
        self,
        x0: Array,
        kappa: float,
        c: float,
        R: float,
        S: float,
        s0: float,
        powers: list[int],
        flow: Array | None = None,
    ) -> None:
        self.x0, self.kappa, self.R, self.S, self.s0 = x0, kappa, R, S, s0
        self.tilt, lost = None, Ball(c)
        if flow is not None and np.any(flow):  # slabs.md, step 7d
            beta = Ball(flow) / (2.0 * Ball(kappa))
            self.tilt = Tilt(beta.m, beta.r, x0)
            lost = lost + kappa * mix("c,c->", beta, beta)
        self.c, self.blur = float(lost.m), float(lost.r)
        self.p, self.q, self.pt, self.qt = powers
        self.d = len(x0)

    def early(self, s: float) -> tuple[float, float]:
        """Upper bounds of ∫₀^s‖ω‖ in L¹ and L² of a point (docs/slabs.md, step 4d)."""
        p, q, d, k, R = self.p, self.q, self.d, self.kappa, self.R
        peak, lower = ((2.0 * n / math.e) ** n * (1.0 + 1e-12) for n in (p + 1, p))  # sup of yⁿe^{−y/2}
        M = 8.0 * peak + (4.0 * p + 4.0 * q + 2.0 * d) * lower
        second = (4.0 * k / R**2) ** p * k / R**2 * inverse_beta(p, q) * M
        first = inverse_beta(self.pt, self.qt) / self.S ** (self.pt + 1)
        one = two = 0.0
        wide = (2.0 ** (d / 2), 1.0) if self.tilt is None else (2.0**d * self.grown(s), 2.0 ** (d / 4) * self.grown(s))
        for factor, n in ((first, self.pt), (second, p)):
            one += wide[0] * factor * s ** (n + 1) / (n + 1)
            two += wide[1] * factor * (4.0 * math.pi * k) ** (-d / 4) * s ** (n + 1 - d / 4) / (n + 1 - d / 4)
        return float(up(one * (1.0 + 1e-11))), float(up(two * (1.0 + 1e-11)))

    def grown(self, s: float) -> float:
        """Upper bound of e^{4κs|β|²}, by which a drift's factor raises bounds about the point (docs/slabs.md, 7f)."""
        return 1.0 if self.tilt is None else math.exp(smaller(700.0, 4.0 * self.kappa * s * self.tilt.square)) * 1.001

    def missing(self, s: float) -> float:
        """Upper bound of 1 − (∫₀^s∫Ψ)/s: 1 − χ ≤ ρ^{p+1}/((p+1)B) has Gaussian moments, ϑ and e^{−cs} fall."""
        p, q, d = self.p, self.q, self.d
        moment = math.prod(0.5 * d + i for i in range(p + 1))
        cut = inverse_beta(p, q) / (p + 1) * (4.0 * self.kappa * s / self.R**2) ** (p + 1) * moment
        fade = inverse_beta(self.pt, self.qt) / (self.pt + 1) * (s / self.S) ** (self.pt + 1)
        return float(up((cut + fade + (self.c + self.blur) * s) * (1.0 + 1e-11)))

    def resolve(self, V: Array, start: float, depth: int) -> None:
        """Cut the cells so that ω is followed for s ≥ start."""
        self.start, self.V = start, V
        floor = 0.35 * 4.0 * self.kappa * (start + self.s0) / self.R**2
        count, rim = COUNT[self.d], RIM[self.d]
        self.leaves = Leaves(V, self.x0, self.R, floor, NEAR[self.d], count, self.q - 1, rim, depth, self.tilt)
        L, order = self.leaves, ORDER[self.d]
        S = space(2, order)
        self.unit = [int(np.flatnonzero((S.degree == 1) & (S.powers[:, i] == 1))[0]) for i in (0, 1)]
        C = np.zeros((len(S.degree), len(L.centre)))
        C[0], C[self.unit[0]] = L.centre, np.where(L.edge, -L.half, L.half)
        rho = Model(S, C, np.zeros(len(L.centre)))
        B, k = float(inverse_beta(self.p, self.q)), self.kappa
        m, chi, lower = (-rho).raised(Ball(1.0)), _sum(rho, self.p, self.q), _power(rho, self.p - 1)
        power = lower * rho
        turned = (rho * power * m).scaled(Ball(2.0 * B))
        R2 = Ball(self.R) * self.R
        bend = (rho * (power.scaled(Ball(float(self.q))) + (lower * m).scaled(Ball(-float(self.p))))).scaled(Ball(4.0))
        bend = (bend + (power * m).scaled(Ball(-2.0 * self.d))).scaled(Ball(k * B, 2.0 * UNIT * k * B) / R2)
        self.rho, self.parts = rho, []
        for group, more in (([m * m * chi, turned, bend], self.q - 1), ([chi], self.q + 1)):
            whole = _power(m, more)
            self.parts.append([_either(L.edge, x, x * whole) for x in group])

    def pieces(self, start: float, end: float, T: float) -> Array:
        """Intervals of s that make up what is resolved of the slab (start, end) of time, (n, 2)."""
        low, high = larger(T - end, self.start), smaller(T - start, self.S)
        if low >= high:
            return np.zeros((0, 2))
        n = larger(1, math.ceil(math.log((high + self.s0) / (low + self.s0)) / math.log(RATIO)))
        marks = np.geomspace(low + self.s0, high + self.s0, n + 1) - self.s0
        marks[0], marks[-1] = low, high
        return np.stack([marks[:-1], marks[1:]], axis=1)

    def _passing(self, pieces: Array) -> tuple[Model, Model, list[Model]]:
        """R²/4κ(s + s₀), cs, and what depends on s alone of ω (three factors) and of Ψ."""
        S = space(2, ORDER[self.d])
        C = np.zeros((len(S.degree), len(pieces)))
        C[0], C[self.unit[1]] = 0.5 * (pieces[:, 0] + pieces[:, 1]), 0.5 * (pieces[:, 1] - pieces[:, 0])
        s = Model(S, C, 4.0 * UNIT * pieces[:, 1])
        k = Ball(self.kappa) * 4.0
        over = bent(s.raised(Ball(self.s0)).scaled(k), "inverse", 1)[0]
        thin = over.scaled(1.0 / Ball(math.pi, 4.0 * UNIT))
        root = bent(thin, "sqrt", 1)[0] if self.d % 2 else None
        scale = thin if root is None else root if self.d == 1 else thin * root
        y = s.scaled(1.0 / Ball(self.S))
        left = (-y).raised(Ball(1.0))
        theta = _power(left, self.qt + 1) * _sum(y, self.pt, self.qt) * scale
        slope = _power(y, self.pt) * _power(left, self.qt) * scale
        slope = slope.scaled(Ball(float(inverse_beta(self.pt, self.qt))) / self.S)
        late = theta * over.scaled(k)
        return over.scaled(Ball(self.R) * self.R), s.scaled(Ball(self.c, self.blur)), [slope, late, theta]

    def _tops(self, s: Array) -> tuple[Array, Array]:
        """Upper bounds of |ω|e^y and Ψe^y, y = |x−x₀|²/4κ(s+s₀), for all later s."""
        late = s + self.s0
        scale = (4.0 * math.pi * self.kappa * late) ** (-self.d / 2)
        fade = inverse_beta(self.pt, self.qt) / self.S
        turned = 2.0 / late + self.kappa * (4.0 * (self.p + self.q) + 2.0 * self.d) / self.R**2
        return up(scale * (fade + inverse_beta(self.p, self.q) * turned) * 1.001), up(scale * 1.001)

    def _models(self, pieces: Array, wanted: int) -> list[tuple[Array, Array]]:
        """Coefficients (monomials, bins, pieces) and remainders of ω, and of Ψ."""
        L, n, S = self.leaves, len(pieces), space(2, ORDER[self.d])
        bins = len(L.centre)
        least = np.maximum(L.centre - L.half, 0.0) * self.R**2
        faded = (least[:, None] > FADED * 4.0 * self.kappa * (pieces[:, 1] + self.s0)).ravel()
        found = [(np.zeros((len(S.degree), bins * n)), np.zeros(bins * n)) for _ in range(wanted)]
        for (_, e), top in zip(found, self._tops(pieces[:, 0]), strict=False):
            e[faded] = (np.tile(top, bins) * math.exp(-FADED) * 1.001)[faded]
        rate, fall, late = self._passing(pieces)
        live = np.flatnonzero(~faded)
        for a in range(0, len(live), CHUNK):
            at = live[a : a + CHUNK]
            i, j = at // n, at % n
            exponent = -(_at(self.rho, i) * _at(rate, j))
            E = bent(exponent + -_at(fall, j) if self.c else exponent, "exp", 1)[0]
            for f, (own, factors) in enumerate(((self.parts[0], late), (self.parts[1], late[2:]))[:wanted]):
                total = None
                for x, y in zip(own, factors, strict=True):
                    term = _at(x, i) * _at(y, j)
                    total = term if total is None else total + term
                assert total is not None
                total = E * total
                found[f][0][:, at], found[f][1][at] = total.C, total.e
        return [(C.reshape(len(C), bins, n), e.reshape(bins, n)) for C, e in found]

    def slab(self, start: float, end: float, T: float, count: int, wanted: int) -> list[Modes]:
        """Modes of ω, and of Ψ, on a slab."""
        pieces = self.pieces(start, end, T)
        cells = len(self.V)
        if not len(pieces):
            return [Modes(count, cells, self.d) for _ in range(wanted)]
        with np.errstate(all="ignore"):
            models = self._models(pieces, wanted)
        return [self._modes(C, e, pieces, (start, end, T), count, 2 * f) for f, (C, e) in enumerate(models)]

    def _modes(
        self, C: Array, e: Array, pieces: Array, slab: tuple[float, float, float], count: int, more: int
    ) -> Modes:
        """Quadratics on cells for each mode; `more` powers of 1 − ρ stand before Ψ at the rim."""
        L, S = self.leaves, space(2, ORDER[self.d])
        tau, q, kept = slab[1] - slab[0], S.q, COUNT[self.d]
        table = np.zeros((kept, q + 1, *C.shape[1:]))
        lost_ = np.zeros_like(e)
        scale = np.where(L.edge, L.half ** (self.q - 1 + more), 1.0)[:, None]
        rim = np.where(L.edge, RIM[self.d] + 2 - more, kept)
        for row, (i, j) in zip(C, S.powers.tolist(), strict=True):
            inside = (i < rim)[:, None]
            lost_ += np.where(inside, 0.0, np.abs(row))
            if i < kept:
                table[i, j] += np.where(inside, row, 0.0)
        table, e = table * scale, up((e + lost_) * scale * (1.0 + 1e-12))
        P, size = _time(count, q, pieces, slab)
        a = np.einsum("knj,ijbn->kbi", P, table, optimize=True)
        rough = np.einsum("knj,ijbn->kbi", np.abs(P) + size, np.abs(table), optimize=True)
        blur = gamma(pieces.size * (q + 1) + 40) * rough
        blur = up(blur + np.einsum("knj,ijbn->kbi", size, np.abs(table), optimize=True))
        share = up((pieces[:, 1] - pieces[:, 0]) / tau)
        even = np.array([[1.0 / (i + j + 1) if (i + j) % 2 == 0 else 0.0 for j in range(q + 1)] for i in range(q + 1)])
        energy = np.einsum("ijbn,jl,mlbn,n->bim", table, even, table, share, optimize=True)
        bulk = np.einsum("ijbn,jl,mlbn,n->bim", np.abs(table), even, np.abs(table), share, optimize=True)
        taken = sum((a[k][:, :, None] * a[k][:, None] / (2 * k + 1) for k in range(count)), np.zeros_like(energy))
        left = _diagonals(energy - taken)
        blurred = _diagonals(gamma(4 * pieces.size * (q + 1) ** 2) * bulk + gamma(200) * np.abs(taken)).sum(axis=1)
        mean, square = up(e @ share), up(np.sqrt((e * e) @ share))
        made = Modes(count, len(self.V), self.d)
        for k in range(count):
            grow = math.sqrt(2.0 * k + 1.0)
            self._gather(made, k, a[k], blur[k], mean if k == 0 else grow * square, grow * square, more)
        made.rest = self._rests(left, blurred, square, more)
        return made

    def _rests(self, left: Array, blurred: Array, square: Array, more: int) -> Array:
        """Root mean squares on cells of what is orthogonal in time to all modes (docs/slabs.md, step 8b)."""
        L, found = self.leaves, np.zeros(len(self.V))
        size = np.abs(left).sum(axis=1)
        for G in (L.inside, L.rim):
            skip = 2 * more if G is L.rim else 0
            own, width = np.zeros((len(left), 2 * G.count - 1)), smaller(2 * G.count - 1 - skip, left.shape[1])
            own[:, skip : skip + width] = left[:, :width]
            # slabs.md, step 8b
            most, off = G.top + G.loss, G.loss * np.sqrt(size[G.bin])
            each = np.maximum((own[G.bin] * G.means).sum(axis=1), 0.0) + (blurred + L.slack * size)[G.bin] * most**2
            each = each + (G.two**2).sum(axis=1) * size[G.bin] * most**2
            np.add.at(found, G.cell, G.share * (np.sqrt(each) + off + most * square[G.bin]) ** 2)
        return up(np.sqrt(found) * (1.0 + 1e-9))

    def _gather(self, made: Modes, k: int, a: Array, blur: Array, mean: Array, square: Array, more: int) -> None:
        """One mode on cells from what it is on leaves: a_i (bins, powers) within `blur`, and remainders."""
        d, n = self.d, len(self.V)
        G_inverse, slack = inverse_gram(d), self.leaves.slack
        moments, squares = np.zeros((n, len(pairs(d)))), np.zeros(n)
        sizes, first, second, fuzz = np.zeros((4, n))
        for G in (self.leaves.inside, self.leaves.rim):
            if not len(G.cell):
                continue
            skip = more if G is self.leaves.rim else 0
            own, off = (np.zeros((len(a), G.count)) for _ in range(2))
            width = smaller(G.count - skip, a.shape[1])
            own[:, skip : skip + width], off[:, skip : skip + width] = a[:, :width], blur[:, :width]
            A, Z = own[G.bin], off[G.bin]
            np.add.at(moments, G.cell, G.share[:, None] * np.einsum("ni,nip->np", A, G.moments))
            conv = _diagonals(own[:, :, None] * own[:, None])[G.bin]
            np.add.at(squares, G.cell, G.share * (conv * G.means).sum(axis=1))
            most = G.top + G.loss  # slabs.md, step 8k
            size = np.abs(A).sum(axis=1)
            np.add.at(sizes, G.cell, G.share * (size * most) ** 2)
            steps = np.abs(A) @ (G.first + np.arange(G.count))
            wrong = (Z.sum(axis=1) + G.noise * steps) * most + size * G.loss
            np.add.at(fuzz, G.cell, G.share * 2.0 * size * most * wrong)
            one, two = ((np.abs(A) * x).sum(axis=1) * most for x in (G.one, G.two))
            np.add.at(first, G.cell, G.share * (one + wrong + mean[G.bin] * most))
            np.add.at(second, G.cell, G.share * (two + wrong + square[G.bin] * most) ** 2)
        beta = moments @ G_inverse
        left = squares - (beta * moments).sum(axis=1)
        fog = up(lost(d) * slack * np.sqrt(sizes))
        made.beta[k] = symmetric(beta, d)
        made.high[k] = up(np.sqrt(np.maximum(left, 0.0) + (slack + gamma(400)) * 40.0 * sizes + fuzz))
        made.e1[k] = up(first * (1.0 + 1e-9) + fog)  # slabs.md, step 8c
        made.e2[k] = up(np.sqrt(second) * (1.0 + 1e-9) + fog)


def _diagonals(x: Array) -> Array:
    """Σ_{i+j=n} of matrices (bins, K, K), (bins, 2K − 1)."""
    K = x.shape[1]
    found = np.zeros((len(x), 2 * K - 1))
    for i in range(K):
        found[:, i : i + K] += x[:, i]
    return found


def _at(x: Model, i: Array) -> Model:
    return Model(x.S, x.C[:, i], x.e[i])


def _either(which: Array, one: Model, two: Model) -> Model:
    return Model(one.S, np.where(which, one.C, two.C), np.where(which, one.e, two.e))


def _time(count: int, q: int, pieces: Array, slab: tuple[float, float, float]) -> tuple[Array, Array]:
    """(2k + 1)/2 ∫ L_k(θ) ξ^j dθ over pieces s = middle + length ξ, (count, pieces, q + 1), and its rounding."""
    start, end, T = slab
    tau = end - start
    a = (T - 0.5 * (pieces[:, 0] + pieces[:, 1]) - 0.5 * (start + end)) * (2.0 / tau)
    b = -(pieces[:, 1] - pieces[:, 0]) / tau
    table, rough = np.zeros((2, count, len(a), q + 1))
    for k in range(count):
        for i, c in enumerate(np.polynomial.legendre.leg2poly([0.0] * k + [1.0])):
            for r in range(i + 1):
                term = c * math.comb(i, r) * a ** (i - r) * b**r
                size = abs(c) * math.comb(i, r) * np.maximum(np.abs(a), 1.0) ** (i - r) * np.abs(b) ** r
                for j in range(r % 2, q + 1, 2):
                    table[k, :, j] += (2 * k + 1) / (r + j + 1) * term * np.abs(b)
                    rough[k, :, j] += (2 * k + 1) / (r + j + 1) * size * np.abs(b)
    slip = gamma(60) + 32.0 * count * UNIT * (abs(T) + abs(end)) / tau
    return table, up(4.0 * slip * rough)
