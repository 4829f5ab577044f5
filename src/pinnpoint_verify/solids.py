"""Displacements and stresses of a linear elastic body, proved again from states and facet moments: beside checker.py.

−∇·σ(u) = f, σ = Cε = 2με + λ tr(ε) I, λ and μ constant on cells; u_c = g_c on pairs (facet, component) that are held,
(σn)_c = t_c on the others of the boundary. For any state u_h with the held values and any moments m_{F,i} = ∫_F (σn)λ_i
there is one stress σ_h, linear on the d + 1 parts of each cell around its centroid (`tables`), and with τ (`lifted`)

    a(u − u_h, w) = Σ_K (δ, ε(w)) + what is not δ,      δ = σ_h + τ + S − Cε(u_h),
    J(u) = J(u_h) ± [L(z_h) − a(u_h, z_h)] ± a(e, ε),   −η₋²/4 ≤ a(e, ε) ≤ η₊²/4,
    η±² = Σ_K (‖sδ_p ± δ_d/s‖_K + s o_p + o_d/s)² .

What is not δ costs o_K on a cell: what is not quadratic in the data, or not known (Korn's constants of simplices), and
what is missing to equilibrium, carried to where the body is held (solid_tree.py). Proofs are in docs/elasticity.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, Density, Grid, Shape, areas, ball, means, mix, quadratic, total, up
from pinnpoint_verify.reader import Array, Bundle, need, smaller
from pinnpoint_verify.solid_cells import balance, flipped, inner, korn, put, slot_norm, stack, stresses
from pinnpoint_verify.solid_tables import cubic, lift_table
from pinnpoint_verify.solid_tree import Tree

HIGH, LOOSE, TRACE = {2: 0.332, 3: 0.52}, {2: 1.9346, 3: 2.6082}, {2: 1.73, 3: 3.06}
"""Of Kuhn's simplex: Korn's constant for forces ⟂ quadratics; √(ĉ² + t²) + r/√d! for any (elasticity.md, steps 5c, 5d);
that of traces (step 5f)."""
CHUNK = 2000


class Body(Grid):
    """The mesh with its material, and what is held: (F, d)."""

    def __init__(self, bundle: Bundle, degree: int) -> None:
        super().__init__(bundle, degree)
        need(self.d in (2, 3), "mesh: a solid has two or three dimensions")
        self.lam, self.mu = (bundle(f"continuous/{k}", self.C) for k in ("lam", "mu"))
        self.c_min = np.minimum(2.0 * self.mu, (Ball(2.0 * self.mu) + Ball(self.lam) * float(self.d)).low)
        need(np.all(self.c_min > 0.0), "material: not stable")
        self.held = np.zeros((len(self.facets), self.d), dtype=bool)
        self.lift: tuple[Array, float] | None = lift_table(bundle, self.d) if "lift/table" in bundle else None
        self.arcs: Any = None  # curved sides

    def close(self) -> None:
        """Once all of `held` is known: norms of stresses by their moments, and ways to what is held."""
        need(not np.any(self.held & self.inner[:, None]), "held: a facet inside the body")
        self.fixed = ~self.inner[:, None] & ~self.held
        parts = [(g.h, g.vol.top, slot_norm(g, self.c_min[p])) for p, g in self.parts()]
        self.h, self.top, self.factor = (np.concatenate(x) for x in zip(*parts, strict=True))
        self.tree = Tree(self)

    def parts(self, size: int = CHUNK) -> Any:
        """Ranges of cells with their geometry."""
        for a in range(0, self.C, size):
            part = slice(a, smaller(a + size, self.C))
            yield part, Shape(self.points[self.cells[part]])


@dataclass
class Traction:
    """One component of a traction: places, coefficients (n, d, d), high, e1, e2; `flat` where it is constant."""

    component: int
    at: Array
    beta: Array
    high: Array
    e1: Array
    e2: Array
    flat: bool


class Load:
    """What acts: f by components, tractions, and S = ω T with a tensor on each cell; on curved sides what is pulled.

    There a state that is held has the values `target`, (arcs, d).
    """

    def __init__(self, body: Body) -> None:
        self.f: list[Any] = [None] * body.d
        self.tractions: list[Traction] = []
        self.weight: Any = None
        self.pulled: Any = None
        self.target: Any = None
        self.tensor = np.zeros((body.C, body.d, body.d))

    def on(self, what: Any, part: slice, d: int) -> tuple[Array, Array, Array, Array]:
        """Symmetric coefficients, high, e1, e2 of a density, or of a number, on a range of cells."""
        count = part.stop - part.start
        if isinstance(what, Density):
            return what.on(part.start, part.stop)
        zero, value = np.zeros(count), 0.0 if what is None else what
        value = value[part] if isinstance(value, np.ndarray) else np.full(count, value)
        return np.broadcast_to(value[:, None, None], (count, d + 1, d + 1)), zero, zero, zero


def flat(f: Array) -> Array:
    """Where a quadratic is constant."""
    return np.ptp(f.reshape(len(f), -1), axis=1) == 0.0


class Side:
    """A state with its load and moments; o_K of all cells, then δ on ranges of cells."""

    def __init__(self, body: Body, nodal: Array, m: Array, load: Load) -> None:
        self.body, self.nodal, self.m, self.load = body, nodal, m, load
        C, d = body.C, body.d
        self.square, self.wide, self.rest = np.zeros(C), np.zeros(C), np.zeros(C)
        self.energy, self.norm = 0.0, 0.0
        self.on_arcs: Any = None
        if body.arcs is not None:
            from pinnpoint_verify.arc_sides import ArcSide

            self.on_arcs = ArcSide(body.arcs, self)
        self.gap, rough = self._tractions()
        force, moment, osc = np.zeros(C), np.zeros(C), np.zeros(C)
        for part, g in body.parts():
            fm, e1 = self._moments(part, g)
            force[part], moment[part] = balance(body.points[body.cells[part]], self._out(part), fm, e1)
            osc[part] = self._oscillation(part, g)
        self.force, self.moment = up(force + self.gap), up(moment + body.h * self.gap)
        cost = body.tree.cost(self.force, self.moment, body.factor)
        self.rest = up(osc + rough + body.factor * self.gap + cost)
        if self.on_arcs is not None:
            self.rest[body.arcs.cells] = self.on_arcs.cost(self.rest, rough)
        need(np.all(np.isfinite(self.rest)), "tree: a part of the body can move, or a bound is not finite")
        need(d == m.shape[1] == m.shape[2], "moments: of another dimension")

    def _tractions(self) -> tuple[Array, Array]:
        """Σ|∫tλ_i − m| by cells where tractions are given, and the cost of what is not linear in them."""
        body, d = self.body, self.body.d
        wanted = Ball(np.zeros_like(self.m), np.zeros_like(self.m))
        unknown, rough = np.zeros(len(body.facets)), np.zeros(body.C)
        for t in self.load.tractions:
            need(np.all(body.fixed[t.at, t.component]), "traction: on what is held, or inside")
            area = areas(body.points[body.facets[t.at]])
            more = mix("njk,jki->ni", t.beta, means(d - 1, 3)) * area[:, None]
            put(wanted, (t.at, slice(None), t.component), wanted[t.at, :, t.component] + more)
            unknown[t.at] = up(unknown[t.at] + area.top * t.e1)
            if not t.flat:
                rough = up(rough + self._rough(t, area))
        far = np.where(body.fixed[:, None, :], np.abs(self.m - wanted.m) * (1.0 + 4.0 * UNIT) + wanted.r, 0.0)
        gap = up(np.sqrt((far**2).sum(axis=2)).sum(axis=1) + unknown)
        gap[body.inner] = 0.0
        if self.on_arcs is not None:
            gap[body.arcs.at] = self.on_arcs.unbalanced()
        return up(np.bincount(body.owner, gap, minlength=body.C)), rough

    def _rough(self, t: Traction, area: Ball) -> Array:
        """c_F c_min^{-1/2} ‖t − Π₁t‖_F on the facets' cells."""
        body, d = self.body, self.body.d
        b = Ball(t.beta)
        m = d - 1
        linear = (m + 1.0) * (
            (m + 2.0) * mix("njk,jki->ni", b, means(m, 3)) - mix("njk,jk->n", b, means(m, 2))[:, None]
        )
        away = b - 0.5 * (linear[:, :, None] + linear[:, None, :])
        square = mix("njk,njk->n", mix("njk,jklm->nlm", away, means(m, 4)), away)
        rest = up(np.sqrt(np.maximum(square.top, 0.0) + t.high**2) + t.e2)
        cell = body.owner[t.at]
        g = Shape(body.points[body.cells[cell]])
        place = np.argmax(body.cell_facets[cell] == t.at[:, None], axis=1)
        c = TRACE[d] * korn(g, place) * np.sqrt(area.top / g.vol.low)
        return up(np.bincount(cell, up(c * np.sqrt(area.top / body.c_min[cell]) * rest), minlength=body.C))

    def _out(self, part: slice) -> Array:
        """±m on cells, outward."""
        return self.m[self.body.cell_facets[part]] * self.body.sign[part][:, :, None, None]

    def _moments(self, part: slice, g: Shape) -> tuple[Ball, Array]:
        """∫f₂λ_i on cells, (n, d + 1, d), and ∫|ε| of what is not known."""
        d, f = self.body.d, [self.load.on(f, part, self.body.d) for f in self.load.f]
        both = [mix("njk,jki->ni", x[0], means(d, 3)) * g.vol[:, None] for x in f]
        fm = Ball(np.stack([x.m for x in both], axis=2), np.stack([x.r for x in both], axis=2))
        return fm, up(g.vol.top * np.sqrt(sum(x[2] ** 2 for x in f)))

    def _oscillation(self, part: slice, g: Shape) -> Array:
        """What is not quadratic, or not known, of f and of ω."""
        body, d = self.body, self.body.d
        f = [self.load.on(f, part, d) for f in self.load.f]
        high, error = (np.sqrt(sum(x[k] ** 2 for x in f)) for k in (1, 3))
        size = np.sqrt(g.vol.top / body.c_min[part])
        found, some = np.zeros(len(size)), np.nonzero(high + error > 0.0)[0]
        if len(some):
            c = korn(Shape(body.points[body.cells[part][some]]))
            found[some] = up(c * size[some] * (HIGH[d] * high + LOOSE[d] * error)[some])
        _, more, _, unknown = self.load.on(self.load.weight, part, d)
        return up(found + (more + unknown) * d * np.abs(self.load.tensor[part]).max(axis=(1, 2)) * size)

    def varies(self, part: slice) -> Array:
        """Cells on which f or ω is not constant."""
        data = [*self.load.f, self.load.weight]
        return ~np.all([flat(self.load.on(x, part, self.body.d)[0]) for x in data], axis=0)

    def measure(self, part: slice, g: Shape, rich: Array) -> None:
        """δ at the linear nodes of the parts of cells, and at their cubic nodes on rich ones; ε(u_h), Cε(u_h)."""
        body, d, load = self.body, self.body.d, self.load
        n = part.stop - part.start
        local = self.nodal[body.nodes_of(body.cells[part])]
        both = [quadratic(local[:, :, c], d, body.degree) for c in range(d)]
        self.b, slopes = [b for b, _ in both], [mix("njk,nkc->njc", 2.0 * rise, g.grad) for _, rise in both]
        slope = stack(slopes, 2)  # (n, vertex, component, direction)
        self.strain = 0.5 * (slope + flipped(slope))
        trace = mix("njaa->nj", self.strain)
        lam, mu = body.lam[part][:, None, None, None], body.mu[part][:, None, None, None]
        self.stress = self.strain * (2.0 * mu) + (trace[:, :, None, None] * lam) * np.eye(d)
        self.energy += total(
            g.vol.top * mix("njab,njab->n", mix("njab,jk->nkab", self.stress, means(d, 2)), self.strain).top
        )
        fm, _ = self._moments(part, g)
        sigma = stresses(g, self._out(part), fm)
        weight, _, _, _ = load.on(load.weight, part, d)
        self.own = self.varies(part)
        constant = np.where(self.own, 0.0, weight[:, 0, 0])
        aim = self.stress - (Ball(constant[:, None, None]) * load.tensor[part])[:, None]
        self.lines = Ball(np.zeros((n, d + 1, d + 1, d, d)), np.zeros((n, d + 1, d + 1, d, d)))
        middle = mix("njab->nab", aim) / float(d + 1)
        for s, a in np.ndindex(d + 1, d + 1):
            put(self.lines, (slice(None), s, a), sigma[:, s, a] - (middle if s == a else aim[:, a]))
        self.full = self._rich(part, rich) if np.any(rich) else None
        self.square[part], self.wide[part] = (x := self.against(self, part, g, rich)).m, x.r
        size = np.abs(weight).max(axis=(1, 2)) + load.on(load.weight, part, d)[1] + load.on(load.weight, part, d)[3]
        size = size * d * np.abs(load.tensor[part]).max(axis=(1, 2))
        self.norm += total(up(size**2 * g.vol.top / body.c_min[part]))

    def _rich(self, part: slice, rich: Array) -> Ball:
        """δ at the cubic nodes of the parts of rich cells, with τ and with ω that varies."""
        body, d, load = self.body, self.body.d, self.load
        bary = cubic(d)[0]
        found = mix("xa,nsaij->nsxij", Ball(bary, UNIT * bary), self.lines[rich])
        own = self.own[rich]
        if not np.any(own):
            return found
        g = Shape(body.points[body.cells[part][rich][own]])
        here = found[own]
        if any(isinstance(f, Density) for f in load.f):
            need(body.lift is not None, "lift/table.npy: is missing")
            T, den = body.lift  # type: ignore[misc]
            up_to = np.triu_indices(d + 1)
            f = np.stack([load.on(f, part, d)[0][rich][own][:, up_to[0], up_to[1]] for f in load.f], axis=2)
            moved = mix("nkc,npc->npk", g.grad[:, 1:], f)
            tau = mix("sxabpk,npk->nsxab", T, moved) / den
            B = g.E[:, 1:]
            here = here + mix("nsxak,nkb->nsxab", mix("nka,nsxkl->nsxal", B, tau), B)
        if load.weight is not None:
            at = np.repeat(bary[None], d + 1, axis=0)
            for s in range(d + 1):
                at[s, :, s] = 0.0
                at[s] += bary[:, s : s + 1] / (d + 1)
            near = Ball(at, 4.0 * UNIT * at)
            w = load.on(load.weight, part, d)[0][rich][own]
            values = mix("nsxk,sxk->nsx", mix("njk,sxj->nsxk", w, near), near)
            here = here + values[..., None, None] * load.tensor[part][rich][own][:, None, None]
        put(found, own, here)
        return found

    def against(self, other: Side, part: slice, g: Shape, rich: Array) -> Ball:
        """∫ δ₁ : C⁻¹δ₂ on every cell: |dev|²/2μ + tr²/(d(dλ + 2μ))."""
        body, d = self.body, self.body.d
        linear = (np.eye(d + 1) + 1.0) / ((d + 1) * (d + 2))
        whole_, trace = inner(self.lines, other.lines, Ball(linear, 2.0 * UNIT * linear))
        if self.full is not None and other.full is not None:
            mass = cubic(d)[2]
            for old, new in zip(
                (whole_, trace), inner(self.full, other.full, Ball(mass, UNIT * np.abs(mass))), strict=True
            ):
                put(old, rich, new)
        lam, mu = body.lam[part], body.mu[part]
        bulk = (Ball(2.0 * mu) + Ball(lam) * float(d)) * float(d)
        return ball(((whole_ - trace / float(d)) / Ball(2.0 * mu) + trace / bulk) * g.vol / float(d + 1))


def energy(p: Side, z: Side | None = None, both: Any = 0.0, wide: Any = 0.0, s: float = 1.0) -> float:
    """Upper bound of ‖e‖_a, or of ‖s e ± ε/s‖_a with ±∫δ₁:C⁻¹δ₂ in `both`, known to `wide`."""
    square, off, rest = p.square * (s * s), p.wide * (s * s), s * p.rest
    if z is not None:
        square, off = square + 2.0 * both + z.square / (s * s), off + 2.0 * wide + z.wide / (s * s)
        off = off + 8.0 * UNIT * (p.square * (s * s) + 2.0 * np.abs(both) + z.square / (s * s))
        rest = rest + z.rest / s
    return float(up(math.sqrt(total(up(np.sqrt(np.maximum(square, 0.0) + off) + rest) ** 2))))


class Query:
    """J(u) by a dual state: terms are gathered from ranges of cells, then bounded."""

    def __init__(self, p: Side, z: Side, sign: float, acts: bool) -> None:
        self.p, self.z, self.sign, self.acts = p, z, sign, acts
        self.both, self.wide = np.zeros(p.body.C), np.zeros(p.body.C)
        self.value, self.off, self.size = Ball(0.0), 0.0, 0.0

    def measure(self, part: slice, g: Shape, rich: Array) -> None:
        """J(u_h) + sign [L(z_h) − a(u_h, z_h)] on a range of cells."""
        p, z, d = self.p, self.z, self.p.body.d
        if z is not p:
            z.measure(part, g, rich)
        both = p.against(z, part, g, rich)
        self.both[part], self.wide[part] = both.m, both.r
        work = -mix("njab,njab->n", mix("njab,jk->nkab", p.stress, means(d, 2)), z.strain) * self.sign
        off = np.zeros(part.stop - part.start)
        for load, v, factor in ((p.load, z, self.sign), (z.load, p, float(self.acts))):
            for c in range(d):
                f, _, e1, _ = load.on(load.f[c], part, d)
                if factor and load.f[c] is not None:
                    work = work + factor * mix("njk,njk->n", mix("njk,jklm->nlm", f, means(d, 4)), v.b[c])
                    off = off + e1 * v.b[c].top.max(axis=(1, 2))
            if factor and load.weight is not None:
                w, _, e1, _ = load.on(load.weight, part, d)
                slope = mix("njab,nab->nj", v.strain, load.tensor[part])
                work = work + factor * mix("nj,nj->n", mix("nkl,klj->nj", w, means(d, 3)), slope)
                off = off + e1 * slope.top.max(axis=1)
        self.value, self.off = self.value + (work * g.vol).total(), self.off + total(up(off) * g.vol.top)

    def bound(self, constant: float, error: float, scale: float, theta: float) -> tuple[float, float]:
        """Centre and radius."""
        p, z = self.p, self.z
        eta, dual, low, high = energy(p), energy(z), 0.0, 0.0
        if not (eta == 0.0 or dual == 0.0):  # what is no number stays
            s = math.sqrt(dual / eta)
            low, high = (0.25 * energy(p, z, e * self.both, self.wide, s) ** 2 for e in (-1.0, 1.0))
        value, off = self.value, self.off
        for side, v, factor in ((p, z, self.sign), (z, p, float(self.acts))):
            for t in side.load.tractions if factor else ():
                facets = p.body.facets[t.at]
                b = quadratic(v.nodal[p.body.nodes_of(facets)][:, :, t.component], p.body.d - 1, p.body.degree)[0]
                area = areas(p.body.points[facets])
                more = mix("njk,njk->n", mix("njk,jklm->nlm", t.beta, means(p.body.d - 1, 4)), b)
                value = value + factor * (more * area).total()
                off = off + total(area.top * t.e1 * b.top.max(axis=(1, 2)))
        if p.on_arcs is not None:
            from pinnpoint_verify.arc_sides import moved

            more, wide = moved(p.on_arcs, z.on_arcs, self.sign, self.acts)
            value, off = value + more, off + wide
        less, more_ = (low, high) if self.sign > 0.0 else (high, low)
        size = float(value.top) + abs(constant) + less + more_
        self.size = (math.sqrt(p.energy) + eta) * (math.sqrt(z.energy) + dual + math.sqrt(z.norm))
        off = off + 0.5 * (less + more_) + error + 2.0 * scale * size + 2.0 * theta * self.size
        centre = value + constant + 0.5 * (more_ - less)
        return float(centre.m), float(up(centre.r + off + 8.0 * UNIT * size))
