"""What stresses and states of the straight mesh leave on curved sides of a plane solid, and what that costs.

On a free arc r = t ds/dξ − σ_h(−Y′, 1) is the traction of Airy's stress of ψ = ℓ²ω²(α − θβ)χ(θ), ω = κτ(1 − τ),
θ = (η − y)/ω, χ = 1 − 3θ² + 2θ³, but for what α and β do not meet; on a held one E = m(1 − θ) is what a state misses.
Products of states and stresses over slivers and along arcs belong to the value. Part of the proof of solids.py; the
formulas are derived in docs/curved.md, section 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint_verify.arcs import ACROSS, BETWEEN, LINE, Arcs, Jet, Pulled, added, gauss, places, shape_functions, times
from pinnpoint_verify.arcs import unbalanced as missing
from pinnpoint_verify.checker import Ball, Shape, mix, quadratic, total, up
from pinnpoint_verify.reader import Array, need
from pinnpoint_verify.solid_cells import flipped, stack, stresses

DEGREE = 22
"""Of the polynomials α and β."""
ENDS = np.array([[1, 2], [0, 2], [0, 1]])


def legendre(tau: Ball) -> list[Ball]:
    """Legendre's polynomials on (0, 1) and their first three derivatives by τ, (points, DEGREE + 1) each."""
    x, one, zero = 2.0 * tau - 1.0, Ball(np.ones_like(tau.m)), Ball(np.zeros_like(tau.m))
    P = [[one, x], [zero, one], [zero, zero], [zero, zero]]
    for j in range(1, DEGREE):
        P[0].append(((2.0 * j + 1.0) * x * P[0][j] - float(j) * P[0][j - 1]) / (j + 1.0))
        for k in (1, 2, 3):
            P[k].append(P[k][j - 1] + (2.0 * j + 1.0) * P[k - 1][j])
    return [stack(row, 1) * 2.0**k for k, row in enumerate(P)]


class ArcSide:
    """A state with its stress at the arcs: what these cost there, and what products need of them."""

    def __init__(self, arcs: Arcs, side: Any) -> None:
        body, load = side.body, side.load
        self.arcs, self.side = arcs, side
        self.pulled = Pulled(arcs) if load.pulled is None else load.pulled
        self.target = np.zeros((len(arcs.at), 2)) if load.target is None else load.target
        self.mu, self.lam, self.c_min = body.mu[arcs.cells], body.lam[arcs.cells], body.c_min[arcs.cells]
        self.c_max = up(2.0 * self.mu + 2.0 * np.abs(self.lam))
        self.shape = Shape(body.points[body.cells[arcs.cells]])
        self.force = self._force()
        self.nodal = side.nodal[body.nodes_of(body.cells[arcs.cells])]
        ends = side.nodal[body.facets[arcs.at]]
        fits = np.all(ends[~arcs.free] == self.target[~arcs.free][:, None])
        need(fits, "state: is not what is held at the ends of curved sides")

    def _force(self) -> Array:
        """The force density, which has to be a number on the arcs' cells, (n, 2)."""
        load, cells, found = self.side.load, self.arcs.cells, np.zeros((len(self.arcs.cells), 2))
        for c in range(2):
            beta, *rest = (x[cells] for x in load.on(load.f[c], slice(0, self.side.body.C), 2))
            need(not np.any(np.ptp(beta, axis=(1, 2))) and not np.any(rest), "arcs: a force that varies beside a curve")
            found[:, c] = beta[:, 0, 0]
        need(not np.any(load.on(load.weight, slice(0, self.side.body.C), 2)[0][cells]), "arcs: a stress query beside")
        return found

    def unbalanced(self) -> Array:
        """Of the chords' moments, (n,); zero where arcs are held."""
        m = self.side.m[self.arcs.at]
        return np.where(self.arcs.free, missing(self.arcs, self.pulled, self.force, m), 0.0)

    def cost(self, rest: Array, rough: Array) -> Array:
        """What is not δ on the arcs' cells, from what it is on the straight ones, (n,)."""
        arcs, side = self.arcs, self.side
        need(not np.any(rough[arcs.cells]), "arcs: a traction that varies beside a curve")
        f = Ball(np.repeat(self.force[:, None], 3, axis=1)) * (self.shape.vol / 3.0)[:, None, None]
        sign = side.body.sign[arcs.cells][:, :, None, None]
        sigma = stresses(self.shape, side.m[side.body.cell_facets[arcs.cells]] * sign, f)
        rows = np.arange(len(arcs.cells))
        third = stack([sigma[rows, arcs.local, k] for k in (*ENDS[arcs.local].T, arcs.local)], 1)  # ends, centroid
        self.third = mix("nia,nkab,njb->nkij", arcs.frame, third, arcs.frame)
        self._state()
        straight = rest[arcs.cells]
        self.loose = up(np.sqrt(36.0 * self.c_max / self.shape.vol.low) * straight)  # curved.md, step 6f
        found = straight + self._carried(self.loose) + self._outside(third)
        lifted = np.where(arcs.free, self._airy(), 0.0)
        self.miss, self.energy = self._missed()
        return up(found + lifted + self.energy)

    def _state(self) -> None:
        """Strain and stress of the state at the cells' vertices, (n, 3, 2, 2)."""
        rises = [quadratic(self.nodal[:, :, c], 2, self.side.body.degree)[1] for c in range(2)]
        slope = stack([mix("njk,nkc->njc", 2.0 * rise, self.shape.grad) for rise in rises], 2)
        self.strain = 0.5 * (slope + flipped(slope))
        trace = mix("njaa->nj", self.strain)[:, :, None, None] * self.lam[:, None, None, None]
        self.stress = self.strain * (2.0 * self.mu)[:, None, None, None] + trace * np.eye(2)

    def _outside(self, third: Ball) -> Array:
        """‖δ‖ on slivers that are added to cells."""
        rows, local = np.arange(len(self.mu)), self.arcs.local
        middle = mix("njab->nab", self.stress) / 3.0
        aim = stack([*(self.stress[rows, k] for k in ENDS[local].T), middle], 1)
        delta = third - aim
        most = np.sqrt(mix("nkab,nkab->nk", delta, delta).top).max(axis=1)
        return up((1.0 + 2.0 * self.arcs.over) * most * np.sqrt(self.arcs.area / self.c_min))

    def _carried(self, top: Array) -> Array:
        """What a stress costs on slivers and arcs that is linear on the third at a chord, at most `top` there."""
        arcs, y1, y2 = self.arcs, *self.arcs.steep
        wide = up((1.0 + 2.0 * arcs.over) * top)
        rates = 2.0 + 12.0 * y1 / arcs.height.low
        value, slope = up((1.0 + y1) * wide), up(y2 * wide + (1.0 + y1) * rates * top)
        return up(wide * np.sqrt(arcs.area / self.c_min) + self._any(value, slope))

    def _any(self, value: Array, slope: Array) -> Array:
        """What any r without resultants costs, with entries up to `value` and derivatives up to `slope`."""
        arcs, k, y1, y2 = self.arcs, self.arcs.kappa, *self.arcs.steep
        beta, alpha, u = 2.0 * value / k, 2.0 * (1.0 + y1) * value / k**2, y1 + k
        both = alpha + beta
        yy = 3.0 * beta + 6.0 * both
        xy = value + 1.5 * beta * u + 1.5 * (beta + value) + 6.0 * both * u + 1.5 * both * k
        xx = value * (1.0 + y1) + 0.25 * k * slope + 3.0 * (beta + value) * u + 6.0 * both * u**2
        xx = xx + 1.5 * both * (0.25 * k * (y2 + 2.0 * k) + 2.0 * u * k)
        size = np.sqrt(yy**2 + 2.0 * xy**2 + xx**2)
        return up(size * arcs.length.top * np.sqrt(k / (6.0 * self.c_min)))  # curved.md, step 6e

    def _left(self, tau: Ball) -> list[Jet]:
        """The r of the stress and of the polynomials of t along arcs, by components, with first derivatives."""
        eta = self.arcs.graph(tau)
        weights = self.arcs.in_third(tau, eta[:2])
        both = [stack([w[m] for w in weights], 0) for m in (0, 1)]
        S = {(i, j): [mix("knp,nk->np", w, self.third[:, :, i, j]) for w in both] for i, j in ((0, 0), (0, 1), (1, 1))}
        t, rise = self.pulled.at(tau), eta[1:3]
        one, two = (added(times(rise, S[0, c]), S[c, 1], -1.0) for c in (0, 1))
        return [added(t[0], one), added(t[1], two)]  # curved.md, step 6c

    def _airy(self) -> Array:
        """The norm of Airy's stress for r, (n,)."""
        arcs, tau = self.arcs, places()
        r, eta, omega = self._left(tau), arcs.graph(tau), arcs.omega(tau)
        a, b = _fitted(arcs, tau, r, eta)
        alpha, beta = ([mix("nk,pk->np", c, V) for V in legendre(tau)] for c in (a, b))
        own = times(omega, beta)  # b = −∫r_ξ
        p = added(times(omega, omega, alpha)[1:], times(eta[1:], own), -1.0)
        value, slope = (
            BETWEEN * np.maximum((r[0][m] + own[m + 1]).top, (r[1][m] - p[m + 1]).top).max(axis=1) for m in (0, 1)
        )
        value, slope = up(value + self.pulled.e), up(slope + self.pulled.f)
        return up(self._norm(a, b) + self._any(value, slope))

    def _norm(self, a: Array, b: Array) -> Array:
        """‖D²ψ‖ over the strips of α and β with these coefficients, by a rule that is exact."""
        arcs, (tau, w), (theta, v) = self.arcs, gauss(LINE), gauss(ACROSS)
        alpha, beta = ([mix("nk,pk->np", c, V)[..., None] for V in legendre(tau)[:3]] for c in (a, b))
        eta, o = ([x[..., None] for x in jet] for jet in (arcs.graph(tau), arcs.omega(tau)))
        chi = 1.0 - theta * theta * (3.0 - 2.0 * theta)
        d1, d2 = -6.0 * theta * (1.0 - theta), 12.0 * theta - 6.0
        both = [x - theta * y for x, y in zip(alpha, beta, strict=True)]
        H = [x * chi for x in both]  # by τ; then by θ once, and by τ too; then by θ twice
        Ht = [x * d1 - y * chi for x, y in zip(both[:2], beta[:2], strict=True)]
        Htt = both[0] * d2 - 2.0 * beta[0] * d1
        u = eta[1] - theta * o[1]
        yy = Htt
        xy = -(o[1] * Ht[0]) - o[0] * Ht[1] - u * Htt
        xx = 2.0 * (o[1] * o[1] + o[0] * o[2]) * H[0] + 4.0 * o[0] * o[1] * H[1] + o[0] * o[0] * H[2]
        xx = xx + 2.0 * o[1] * u * Ht[0] + 2.0 * o[0] * u * Ht[1] + o[0] * (eta[2] - theta * o[2]) * Ht[0]
        xx = xx + u * u * Htt  # curved.md, step 6d
        square = (yy * yy + 2.0 * (xy * xy) + xx * xx) * o[0]
        whole = mix("npt,p,t->n", square, w, v)
        return up(arcs.length.top * np.sqrt(whole.top / self.c_min))

    def _missed(self) -> tuple[Ball, Array]:
        """M at Gauss points (n, points, 2), and bounds of ‖E‖_a; nothing on free arcs."""
        arcs, (tau, w), (theta, v), held = self.arcs, gauss(LINE), gauss(ACROSS), ~self.arcs.free
        n = len(held)
        if not np.any(held):
            return Ball(np.zeros((n, LINE, 2))), np.zeros(n)
        eta, o, degree = arcs.graph(tau), arcs.omega(tau), self.side.body.degree
        bary = arcs.in_cell(tau, eta[0])
        none, zero = Ball(np.zeros_like(tau.m)), Ball(np.zeros_like(eta[0].m))
        rate = arcs.in_cell(none + 1.0, eta[1]) - arcs.in_cell(none, zero)
        local = Ball(self.target[:, None]) - self.nodal
        m = mix("npk,nkc->npc", shape_functions(bary, degree), local)
        dm = mix("npk,nkc->npc", _moved(bary, rate, degree), local)
        bump = (m / o[0][..., None])[:, :, None]
        turn = eta[1][..., None] - theta * o[1][..., None]
        along = dm[:, :, None] * (1.0 - theta)[:, None] - bump * turn[..., None]
        square = mix("nptc,nptc,np,p,t->n", along, along, o[0], w, v)
        square = square + mix("npc,npc,np,p->n", bump[:, :, 0], bump[:, :, 0], o[0], w)
        energy = up(np.sqrt(np.maximum(square.top, 0.0) * self.c_max))  # curved.md, step 6i
        m = m * held[:, None, None].astype(float)
        return m, np.where(held, energy, 0.0)

    def lengths(self) -> Array:
        """‖δ‖ with what is not δ, on the arcs' cells."""
        side, at = self.side, self.arcs.cells
        return up(np.sqrt(np.maximum(side.square[at], 0.0) + side.wide[at]) + side.rest[at])

    def work(self, other: ArcSide) -> tuple[Ball, float]:
        """∫(σn)·m over held arcs, m what the other misses, and what a stress that is not stored may add."""
        arcs, (tau, w), held = self.arcs, gauss(LINE), ~self.arcs.free
        if not np.any(held):
            return Ball(0.0), 0.0
        r = self._left(tau)  # without tractions on held arcs
        m = mix("nia,npa->inp", arcs.frame, other.miss)
        done = -(mix("np,np,p->n", r[0][0], m[0], w) + mix("np,np,p->n", r[1][0], m[1], w)) * arcs.length
        wide = up((1.0 + arcs.steep[0]) * (1.0 + 2.0 * arcs.over) * self.loose * arcs.length.top)
        size = mix("npc,npc,p->n", other.miss, other.miss, w).top  # |∫σn·m| ≤ max|σn| rms|m|
        return done[held].total(), total(up(wide * np.sqrt(size))[held])


def _fitted(arcs: Arcs, tau: Ball, r: list[Jet], eta: Jet) -> tuple[Array, Array]:
    """Floats near α and β for r = (−(ωβ)′, (ω²α)″ − (η′ωβ)′)."""
    t = tau.m
    P = [V.m for V in legendre(tau)]
    o, k = [t * (1.0 - t), 1.0 - 2.0 * t, np.full_like(t, -2.0)], arcs.kappa[:, None]
    first = o[0][:, None] * P[1] + o[1][:, None] * P[0]
    b = -(r[0][0].m @ np.linalg.pinv(first).T) / k
    s = [o[0] ** 2, 2.0 * o[0] * o[1], 2.0 * (o[1] ** 2 + o[0] * o[2])]
    second = s[0][:, None] * P[2] + 2.0 * s[1][:, None] * P[1] + s[2][:, None] * P[0]
    own = [k * (b @ (o[0][:, None] * P[0]).T), k * (b @ first.T)]
    right = r[1][0].m + eta[2].m * own[0] + eta[1].m * own[1]
    return right @ np.linalg.pinv(second).T / k**2, b


def _moved(bary: Ball, rate: Ball, degree: int) -> Ball:
    """Derivatives of shape functions along a line on which barycentric coordinates change at these rates."""
    if degree == 1:
        return rate
    parts = [(4.0 * bary[..., i] - 1.0) * rate[..., i] for i in range(3)]
    parts += [4.0 * (bary[..., i] * rate[..., j] + bary[..., j] * rate[..., i]) for i, j in ((0, 1), (0, 2), (1, 2))]
    return stack(parts, -1)


def moved(p: ArcSide, z: ArcSide, sign: float, acts: bool) -> tuple[Ball, float]:
    """What slivers and arcs add to J(u_h) + sign [L(z_h) − a(u_h, z_h)], and what is not known of it."""
    arcs, (tau, w), (share, v) = p.arcs, gauss(LINE), gauss(ACROSS)
    degree, eta = p.side.body.degree, arcs.graph(tau)[0]
    value, off = Ball(0.0), 0.0
    for t in range(ACROSS):  # curved.md, step 6g
        y = eta * share[t]
        bary = arcs.in_cell(tau, y)
        stress, strain = mix("npk,nkab->npab", bary, p.stress), mix("npk,nkab->npab", bary, z.strain)
        inside = -sign * mix("npab,npab->np", stress, strain)
        shape = shape_functions(bary, degree)
        inside = inside + sign * mix("npk,nkc,nc->np", shape, z.nodal, p.force)
        inside = inside + float(acts) * mix("npk,nkc,nc->np", shape, p.nodal, z.force)
        part = mix("np,np,p->n", inside, eta, w) * arcs.length * arcs.length
        value = value + (part * v[t]).total()
    shape, ell = shape_functions(arcs.in_cell(tau, eta), degree), arcs.length
    for load, state, factor in ((p, z, sign), (z, p, float(acts))):
        if factor:
            t_, u = load.pulled.at(tau), mix("nia,npk,nka->inp", arcs.frame, shape, state.nodal)
            done = sum((mix("np,np,p->n", t_[i][0], u[i], w) for i in range(2)), Ball(0.0)) * ell
            value = value + factor * done.total()
            tall = 4.0 * (1.0 + 2.0 * arcs.over) ** 2 * np.abs(state.nodal).sum(axis=(1, 2))
            off += total(up(2.0 * ell.top * load.pulled.e * tall))
    one, more = p.work(z)
    two, yet = z.work(p)
    q, s = p.lengths(), z.lengths()
    off += more + yet + total(up(s * p.energy + q * z.energy + p.energy * z.energy))  # curved.md, step 6k
    return value - sign * (one + two), off
