"""Curved sides of a plane solid: arcs over chords of its mesh, tractions along them, and slivers between the two.

Over a chord of length ℓ with tangent e and outward normal n the boundary is Y = ℓη(τ), η = τ(1 − τ)q(τ − ½), ξ = ℓτ,
with the floats q of the bundle: docs/curved.md, section 6. All here is enclosed from them; that arcs are near the
case's own curves is compared at points. Part of the proof of solids.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from pinnpoint_verify.bent import level, level_at
from pinnpoint_verify.checker import Ball, mix, up
from pinnpoint_verify.discs import Walk
from pinnpoint_verify.reader import Array, Bundle, need, smaller
from pinnpoint_verify.solid_cells import put, stack

Row = dict[str, Any]
TERMS, TOP = 7, 54
"""Coefficients of q; no polynomial that is looked at along an arc has this degree."""
LINE, ACROSS, SAMPLES = 40, 6, 160
"""Gauss points along arcs and across strips, exact to degrees 79 and 11; places at which remainders are looked at."""
LENGTH = 41
"""Coefficients of a traction along an arc."""
RADII = (1.1, 1.2, 1.35, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0)
"""Of discs about arcs, by half their chords."""
LOOSE = 2e-15
"""More than Gauss points and weights are off."""
DEPTH, WIDEST = 0.95, 2.0
"""The share of a cell's depth that strips take, and the largest slope of their lower ends."""
NEAR = 1e-12
"""How far samples may be from a curve besides what is claimed, by the coordinates."""
LEFT = "that facets with both ends on a curve are not part of it: {} of them"
DECLARED = "that arcs do not meet one another"

Jet = list[Ball]


@cache
def gauss(count: int) -> tuple[Ball, Ball]:
    """Points and weights on (0, 1)."""
    x, w = np.polynomial.legendre.leggauss(count)
    return Ball(0.5 * (x + 1.0), LOOSE), Ball(0.5 * w, LOOSE)


@cache
def places() -> Ball:
    """Chebyshev's points of (0, 1)."""
    return Ball(0.5 - 0.5 * np.cos(np.pi * (np.arange(SAMPLES) + 0.5) / SAMPLES), LOOSE)


BETWEEN = (1.0 + 1e-12) / math.cos(0.5 * math.pi * TOP / SAMPLES)
"""How much larger a polynomial of degree below TOP is between these points: Ehlich and Zeller."""


def times(*jets: Sequence[Ball]) -> Jet:
    """Derivatives of a product, up to the order that all factors have."""
    found = list(jets[0])
    for g in jets[1:]:
        depth = smaller(len(found), len(g))
        found = [
            sum((float(math.comb(m, j)) * found[j] * g[m - j] for j in range(m + 1)), Ball(0.0)) for m in range(depth)
        ]
    return found


def added(f: Sequence[Ball], g: Sequence[Ball], sign: float = 1.0) -> Jet:
    """Derivatives of a sum."""
    return [a + sign * b for a, b in zip(f, g, strict=False)]


def powers(s: Ball, count: int) -> Ball:
    """1, s, s², … (points, count)."""
    found = [Ball(np.ones_like(s.m))]
    for _ in range(count - 1):
        found.append(found[-1] * s)
    return stack(found, 1)


class Arcs:
    """The arcs of a body, in the order of their chords."""

    def __init__(self, bundle: Bundle, body: Any, about: Row, case: Row) -> None:
        need(body.d == 2 and isinstance(about, dict) and about.keys() == {"groups", "away"}, "arcs: a wrong form")
        groups, table = about["groups"], case.get("geometry") or {}
        need(isinstance(groups, list) and groups and groups == list(table), "arcs: other curves than in the case")
        self.groups, self.away = groups, float(about["away"])
        self.at = at = bundle("arcs/facets", None, whole=len(body.facets))
        n = len(at)
        need(n and np.all(np.diff(at) > 0) and not np.any(body.inner[at]), "arcs: not facets of the boundary")
        self.q, self.group = bundle("arcs/shape", n, TERMS), bundle("arcs/group", n, whole=len(groups))
        self.cells = body.owner[at]
        need(len(np.unique(self.cells)) == n, "arcs: a cell with two curved sides")
        T = body.cells[self.cells]
        self.local = np.argmax(body.cell_facets[self.cells] == at[:, None], axis=1)
        self.ends, self.apex = body.points[body.facets[at]], body.points[T[np.arange(n), self.local]]
        self.free = ~body.held[at].any(axis=1)
        need(np.array_equal(self.free, ~body.held[at].all(axis=1)), "arcs: held in one component alone")
        self._frame()
        self._room()
        self._on_curves(table)
        others = np.setdiff1d(np.nonzero(~body.inner)[0], at)
        self.straight = sum(self._near(body, level(table[g], 2), others) for g in groups)

    def _frame(self) -> None:
        """ℓ, e, n, and the vertex opposite: above `foot` of the chord, `height` below it, by ℓ."""
        A, B = self.ends[:, 0], self.ends[:, 1]
        along, to = Ball(B) - A, Ball(self.apex) - A
        square = mix("nc,nc->n", along, along)
        self.length = square.sqrt()
        turned = along[:, [1, 0]] * np.array([-1.0, 1.0])
        side = mix("nc,nc->n", turned, to)
        need(np.all(np.abs(side.m) > 4.0 * side.r), "arcs: a cell is too flat")
        self.sign = -np.sign(side.m)
        self.frame = stack([along, turned * self.sign[:, None]], 1) / self.length[:, None, None]  # rows e and n
        self.foot, self.height = mix("nc,nc->n", along, to) / square, side * np.sign(side.m) / square

    def _room(self) -> None:
        """Bounds of q and of η′, η″; the strip's slope κ; what must hold for the lifts."""
        q, p = np.abs(self.q), np.arange(TERMS)
        wide = up((q[:, 1:] * 0.5 ** p[1:]).sum(axis=1))
        self.low, self.high = self.q[:, 0] - wide, self.q[:, 0] + wide
        tops = [(q * p**k * 0.5 ** np.maximum(p - k, 0)).sum(axis=1) for k in range(3)]
        self.steep = up(tops[0] + 0.25 * tops[1]), up(2.0 * (tops[0] + tops[1]) + 0.25 * tops[2])
        third = (1.0 + self.foot) / 3.0
        inside = np.maximum(-self.low, 0.0) < DEPTH * self._depth(third, self.height / 3.0)  # curved.md, step 6a
        depth = self._depth(self.foot, self.height)
        self.kappa = np.minimum(DEPTH * (depth + self.low), WIDEST)  # curved.md, step 6d
        fits = inside & (self.kappa > 1e-3) & (self.height.low > 1e-6) & (self.steep[0] < 1.0)
        need(np.all(fits & (third.top < 1.0)), "arcs: a curved side is too long for its cell")
        self.over = up(0.25 * np.maximum(self.high, 0.0) * 3.0 / self.height.low)
        most = up(np.maximum(self.high, 0.0) / 6.0) * self.length.top**2
        self.area = up(most)  # of slivers that are added, at most

    @staticmethod
    def _depth(foot: Ball, height: Ball) -> Array:
        """The largest κ with τ(1 − τ)κ inside the triangle below the chord."""
        with np.errstate(all="ignore"):
            one = np.where(foot.m > 0.0, height.low / foot.top, np.inf)
            two = np.where(foot.m < 1.0, height.low / (1.0 - foot).top, np.inf)
        return np.minimum(one, two)

    def _on_curves(self, table: Row) -> None:
        """Arcs are as near to the case's own curves as is claimed, at points."""
        t = Ball(np.linspace(0.0, 1.0, 33))
        eta = self.graph(t)[0]
        X = self.ends[:, :1] + t.m[:, None] * (self.ends[:, 1:] - self.ends[:, :1])
        X = X + (self.length[:, None] * eta).m[..., None] * self.frame.m[:, 1:]
        size = NEAR * float(np.abs(self.ends).max())
        for k, name in enumerate(self.groups):
            mine = self.group == k
            value, slope = level_at(level(table[name], 2), X[mine])
            far = np.abs(value) <= (1.01 * self.away + size) * np.sqrt((slope**2).sum(axis=-1))
            need(np.any(mine) and np.all(far), f"arcs: not on the curve of {name!r} (sampled)")

    def _near(self, body: Any, text: str, others: Array) -> int:
        """Straight boundary facets with both ends on a curve."""
        value, slope = level_at(text, body.points)
        near = np.abs(value) <= NEAR * float(np.abs(body.points).max()) * np.sqrt((slope**2).sum(axis=1))
        return int(near[body.facets[others]].all(axis=1).sum())

    def facets_agree(self, name: str, facets: Array) -> None:
        """A group of data is a curve as a whole, the one of its name, or straight."""
        mine = np.isin(facets, self.at)
        need(mine.all() or not mine.any(), f"arcs: a part of the group {name!r}")
        if name in self.groups:
            own = self.at[self.group == self.groups.index(name)]
            need(np.array_equal(np.unique(facets), own), f"arcs: other facets than the group {name!r} has")

    def graph(self, tau: Ball) -> Jet:
        """η and its first three derivatives, (n, points)."""
        c = Ball(np.zeros((len(self.q), TERMS + 2)))
        put(c, (slice(None), slice(0, TERMS)), Ball(0.25 * self.q))  # τ(1 − τ) = ¼ − s²
        c = c - np.concatenate([np.zeros((len(self.q), 2)), self.q], axis=1)
        V, found = powers(tau - 0.5, TERMS + 2), []
        for _ in range(4):
            found.append(mix("nk,pk->np", c, V[:, : c.m.shape[1]]))
            c = c[:, 1:] * np.arange(1.0, c.m.shape[1])
        return found

    def omega(self, tau: Ball) -> Jet:
        """κτ(1 − τ) and its derivatives."""
        k, zero = self.kappa[:, None], np.zeros((len(self.kappa), len(tau.m)))
        return [k * (tau * (1.0 - tau)), k * (1.0 - 2.0 * tau), Ball(-2.0 * k + zero), Ball(zero)]

    def in_third(self, tau: Ball, eta: Jet) -> list[Jet]:
        """Weights of the chord's ends and of the centroid at points of the arc, with derivatives."""
        centre = [e * (-3.0 / self.height)[:, None] for e in eta]
        middle, zero = ((1.0 + self.foot) / 3.0)[:, None], Ball(np.zeros_like(eta[0].m))
        line = [tau + zero, 1.0 + zero, zero, zero][: len(eta)]
        second = added(line, [c * middle for c in centre], -1.0)
        first = added(added([1.0 + zero, zero, zero, zero], second, -1.0), centre, -1.0)
        return [first, second, centre]

    def in_cell(self, tau: Ball, y: Ball) -> Ball:
        """Barycentric coordinates (n, points, 3) of (τ, y), in the order of the cells' vertices."""
        last = -(y / self.height[:, None])
        two = tau - last * self.foot[:, None]
        found, rows = Ball(np.zeros((*y.m.shape, 3))), np.arange(len(self.at))
        others = np.array([[1, 2], [0, 2], [0, 1]])[self.local]
        for what, where in ((1.0 - two - last, others[:, 0]), (two, others[:, 1]), (last, self.local)):
            put(found, (rows, slice(None), where), what)
        return found


class Pulled:
    """Tractions t ds/dξ along arcs, in the chords' frames: Chebyshev's polynomials, and what these may be off."""

    def __init__(self, arcs: Arcs) -> None:
        n = len(arcs.at)
        self.arcs, self.c = arcs, Ball(np.zeros((n, 2, LENGTH)))
        self.e, self.f = np.zeros(n), np.zeros(n)

    def add(self, facets: Array, component: int, text: Any) -> None:
        """A component of what is given on some arcs."""
        arcs = self.arcs
        rows = np.nonzero(np.isin(arcs.at, facets))[0]
        turn = np.outer(np.arange(LENGTH), 2 * np.arange(LENGTH) + 1) % (4 * LENGTH)
        T = np.cos(np.pi * turn / (2.0 * LENGTH)) * 2.0 / LENGTH
        T[0] *= 0.5
        nodes = np.broadcast_to(T[1] * 0.5 * LENGTH, (len(rows), LENGTH))
        values = self._value(rows, Ball(nodes, LOOSE), text)
        need(np.all(np.isfinite(values.r)), "traction: not bounded on an arc")
        c = mix("jk,nk->nj", Ball(T, LOOSE / LENGTH), values)
        e, f = self._tail(rows, text)
        more = self.c[rows] + arcs.frame[rows][:, :, component][:, :, None] * c[:, None]
        put(self.c, rows, more)
        self.e[rows], self.f[rows] = up(self.e[rows] + e), up(self.f[rows] + f)

    def _value(self, rows: Array, x: Ball, text: Any) -> Ball:
        """T(x), x = 2τ − 1, a ball of each arc and point; where it is a disc, the value on all of it."""
        arcs = self.arcs
        s, q = 0.5 * x, Ball(arcs.q[rows])
        Q, Q1 = q[:, TERMS - 1 :], Ball(np.zeros((len(rows), 1)))
        for k in range(TERMS - 2, -1, -1):
            Q1 = Q1 * s + Q
            Q = Q * s + q[:, k : k + 1]
        bump = 0.25 - s * s
        slope = bump * Q1 - 2.0 * s * Q
        speed = Walk("sqrt(x)", [1.0 + slope * slope])
        lost, found = speed.rough, speed.value
        if isinstance(text, str):
            A, ell = arcs.ends[rows, 0], arcs.length[rows]
            along = Ball(arcs.ends[rows, 1]) - A
            place = [
                A[:, c : c + 1] + (0.5 + s) * along[:, c : c + 1] + (ell * arcs.frame[rows, 1, c])[:, None] * (bump * Q)
                for c in range(2)
            ]
            walk = Walk(text, place)
            lost, found = lost | walk.rough, found * walk.value
        else:
            found = found * float(text)
        return Ball(found.m, np.where(lost, np.inf, found.r))

    def _tail(self, rows: Array, text: Any) -> tuple[Array, Array]:
        """Bounds of |T − p| and of |T′ − p′| by τ: |a_k| ≤ 2Mρ^{−k} of a function bounded by M on an ellipse."""
        e, f = np.full(len(rows), np.inf), np.full(len(rows), np.inf)
        N = float(LENGTH)
        for R in RADII:
            with np.errstate(all="ignore"):
                M = self._value(rows, Ball(np.zeros((len(rows), 1)), R), text).top[:, 0]
            a = (1.0 - 1e-12) / (R + math.sqrt(R * R - 1.0))
            sums = 1.0 / (1.0 - a), N * N / (1.0 - a) + 2.0 * N * a / (1.0 - a) ** 2 + a * (1.0 + a) / (1.0 - a) ** 3
            for into, share in ((e, 4.0 * sums[0]), (f, 8.0 * sums[1])):
                some = np.where(np.isfinite(M), up(share * a**N * M), np.inf)
                np.minimum(into, some, out=into)  # curved.md, step 6l
        need(np.all(np.isfinite(e)), "traction: not shown to be smooth along an arc")
        return e, f

    def at(self, tau: Ball) -> list[Jet]:
        """The polynomials, by components, with their first derivatives by τ."""
        x = 2.0 * tau - 1.0
        T, D = [Ball(np.ones_like(x.m)), x], [Ball(np.zeros_like(x.m)), Ball(np.ones_like(x.m))]
        for _ in range(LENGTH - 2):
            T.append(2.0 * x * T[-1] - T[-2])
            D.append(2.0 * T[-2] + 2.0 * x * D[-1] - D[-2])
        both = stack(T, 1), 2.0 * stack(D, 1)
        return [[mix("nk,pk->np", self.c[:, i], V) for V in both] for i in range(2)]


def unbalanced(arcs: Arcs, pulled: Pulled, body: Array, m: Array) -> Array:
    """Σ|m| of what is missing for facet moments m (n, 2, 2) to have force and moment of arc and sliver, (n,).

    `body` is the force density in the cells, (n, 2). One of four numbers, the moment of the shear, is free.
    """
    tau, w = gauss(LINE)
    eta, arm, ell = arcs.graph(tau)[0], tau - 0.5, arcs.length
    t, f = [jet[0] for jet in pulled.at(tau)], mix("nia,na->ni", arcs.frame, body)
    have = mix("nia,nka->nki", arcs.frame, m)

    def line(x: Ball) -> Ball:
        return mix("np,p->n", x, w)

    # curved.md, step 6b
    far = [ell * line(t[c]) + ell * ell * f[:, c] * line(eta) - have[:, 0, c] - have[:, 1, c] for c in range(2)]
    turn = ell * line(arm * t[1] - eta * t[0])
    turn = turn + ell * ell * (f[:, 1] * line(eta * arm) - f[:, 0] * line(0.5 * eta * eta))
    turn = turn - 0.5 * (have[:, 1, 1] - have[:, 0, 1])
    unknown = ell.top * pulled.e * (4.0 + 2.0 * up(0.25 * np.maximum(np.abs(arcs.low), np.abs(arcs.high))))
    return up(np.sqrt(far[0].top ** 2 + far[1].top ** 2) + 2.0 * turn.top + unknown)


def sliver_sizes(arcs: Arcs) -> Ball:
    """Areas of slivers, negative where these are cut off."""
    tau, w = gauss(LINE)
    return arcs.length * arcs.length * mix("np,p->n", arcs.graph(tau)[0], w)


def shape_functions(bary: Ball, degree: int) -> Ball:
    """Of the elements at points, (…, nodes)."""
    if degree == 1:
        return bary
    parts = [bary[..., i] * (2.0 * bary[..., i] - 1.0) for i in range(3)]
    parts += [4.0 * bary[..., i] * bary[..., j] for i, j in ((0, 1), (0, 2), (1, 2))]
    return stack(parts, -1)
