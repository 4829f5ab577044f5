"""Energy bounds of errors, and the product bound of a scalar query, from stresses in equilibrium.

A state u_h of the problem a(u, w) = L(w), L(w) = ∫ f·w + ∫ t·w + ∫ S : ε(w), with a symmetric stress σ_h + τ of
continuous normal components, leaves δ = σ_h + τ + S − Cε(u_h), and for every w that vanishes where u is held

    a(u − u_h, w) = Σ_K [ (f + div(σ_h + τ), w)_K + (δ, ε(w))_K ] + Σ_F (t − σ_h n, w)_F .

What is not δ costs at most o_K ‖w‖_{a,K} on each cell (`forces`, `tree`), so that ‖u − u_h‖_a² ≤ Σ_K (‖δ‖_K + o_K)².
With e = u − u_h, ε = z − z_h of a dual problem and s > 0, a(e, ε) = ¼‖s e + ε/s‖² − ¼‖s e − ε/s‖², and δ and o add.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Vector
from pinnpoint.base.threads import on_all_cores
from pinnpoint.rounding.arithmetic import UNIT, at_most, gamma, sum_up, up
from pinnpoint.taylor.bernstein import from_linear, gram, values
from pinnpoint.transfer.elastic.lift import lattice, lifted, mass
from pinnpoint.transfer.elastic.loads import Load, StressLoad
from pinnpoint.transfer.elastic.reference import voigt
from pinnpoint.transfer.elastic.solid import Solid
from pinnpoint.transfer.elastic.strains import Strains, mean_of_linear
from pinnpoint.transfer.elastic.stress import StressSpace
from pinnpoint.transfer.energy.cells import mean_product
from pinnpoint.transfer.energy.geometry import Shapes

CHUNK = 1024
"""Cells at once."""
ROUNDINGS = 200
"""More than the roundings in any inner product on a cell, relative to its absolute products."""


@dataclass(frozen=True, eq=False)
class Side:
    """A state with its load and a stress for it.

    Attributes
    ----------
    nodal
        Displacements, (nodes, d).
    load
        What acts, with a row for every cell.
    m
        Facet moments of the stress, (F, d, d).
    fm, fm_error
        ∫_K f λ_i, (C, d + 1, d), and bounds of the error of its entries, (C,).
    rest, rest_data
        o_K, (C,), and the part of it that comes from the error of the data.
    force, moment, stray
        Upper bounds of the cells' defects of force and moment, and sums of the errors of given facet moments, (C,).
    sign, acts
        Of a dual: the sign of the residual in its value, and whether its load acts on the primal state.
    """

    nodal: Vector
    load: Load
    m: Vector
    fm: Vector
    fm_error: Vector
    rest: Vector
    rest_data: Vector
    force: Vector
    moment: Vector
    stray: Vector
    sign: float = 1.0
    acts: bool = True
    varies: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "varies", self.load.varies(len(self.fm)))


@dataclass(frozen=True, eq=False)
class Bounds:
    """Numbers of one side over all cells.

    Attributes
    ----------
    square, size
        ‖δ‖²_K as computed, and upper bounds of the absolute products behind its root.
    fuzz
        Upper bounds of the rounding in δ, as a norm.
    rest, rest_data
        o_K, and what comes from the data's error.
    energy
        Upper bound of ‖u_h‖_a.
    """

    square: Vector
    size: Vector
    fuzz: Vector
    rest: Vector
    rest_data: Vector
    energy: float


@dataclass(frozen=True, eq=False)
class Pair:
    """A dual against the primal."""

    dual: Bounds
    product: Vector
    value: float
    """J(u_h) + sign · (residual of u_h at z_h), rounded once."""
    rounding: float
    data: float


@dataclass(frozen=True, eq=False)
class Delta:
    """δ on some cells at the nodes of the split, (n, d + 1, nodes, ns), and bounds of the error of its entries."""

    at: Vector
    wrong: Vector


@dataclass(frozen=True, eq=False)
class Products:
    """Norms and products for one solid."""

    solid: Solid
    space: StressSpace

    @cached_property
    def _cubic(self) -> tuple[Vector, Vector, Vector]:
        """Interpolation from linear to cubic nodes, the cubic mass matrix, and Bernstein values at the nodes."""
        d = self.solid.d
        return cubic_nodes(d), np.asarray(mass(d, 3), dtype=np.float64), split_values(d)

    def measure(self, primal: Side, duals: Sequence[Side]) -> tuple[Bounds, list[Pair]]:
        """Bounds of a primal side, and of each dual with it."""
        C, sides = len(self.solid.mu), [primal, *duals]
        rows = {name: np.empty((len(sides), C)) for name in ("square", "size", "fuzz", "energy")}
        product, worth = np.empty((len(duals), C)), np.empty((len(duals), C))

        def work(part: slice) -> list[tuple[float, float]]:
            return self._measure(part, sides, rows, product, worth)

        parts = [slice(a, min(a + CHUNK, C)) for a in range(0, C, CHUNK)]
        added: Vector = np.array(on_all_cores(work, parts), dtype=np.float64).reshape(len(parts), len(duals), 2)
        found = []
        for i, side in enumerate(sides):
            energy = at_most(up(math.sqrt(sum_up(rows["energy"][i])), 4))
            square, size, fuzz = (rows[name][i] for name in ("square", "size", "fuzz"))
            found.append(Bounds(square, size, fuzz, side.rest, side.rest_data, energy))
        pairs = []
        for i, dual in enumerate(duals):
            more, off, data = self._on_facets(primal, dual)
            total = math.fsum([*worth[i].tolist(), more])  # elasticity.md, step 9c
            rounding = up(sum_up(added[:, i, 0]) + off + 2.0 * UNIT * abs(total))
            data = up(sum_up(added[:, i, 1]) + data)
            pairs.append(Pair(found[i + 1], product[i], total, at_most(rounding), at_most(data)))
        return found[0], pairs

    def _measure(
        self, part: slice, sides: Sequence[Side], rows: dict[str, Vector], product: Vector, worth: Vector
    ) -> list[tuple[float, float]]:
        """Fill the rows of some cells; what they add to the rounding and to the data's error of each value."""
        solid, sums = self.solid, []
        shapes = Shapes.of(solid.points, solid.topology.cells[part])
        lam, mu = solid.lam[part], solid.mu[part]
        first: Any = None
        for i, side in enumerate(sides):
            state = Strains.of(shapes, side.nodal[solid.cell_nodes[part]], solid.degree, lam, mu)
            delta = self._delta(side, state, part, shapes)
            rich = side.varies[part] if i == 0 else side.varies[part] | sides[0].varies[part]
            square, size = self._square(side, delta, rich, part, shapes)
            rows["square"][i, part], rows["size"][i, part] = square, size
            rows["fuzz"][i, part] = self._length(delta.wrong, shapes, part)
            mean = np.abs(mean_of_linear(state.stress, state.strain)) + across(state, state)
            rows["energy"][i, part] = up(shapes.volume * (1.0 + shapes.slack) * mean, 16)
            if i == 0:
                first = (side, state, delta)
                continue
            product[i - 1, part] = self._inner(first[0], first[2], side, delta, rich, part, shapes)
            worth[i - 1, part], off, data = self._worth(first[0], first[1], side, state, part, shapes)
            sums.append((sum_up(off), sum_up(data)))
        return sums

    def _delta(self, side: Side, state: Strains, part: slice, shapes: Shapes) -> Delta:
        """σ_h − Cε(u_h), and S where it is constant on the cell, at the linear nodes of the split."""
        d = shapes.d
        sigma, wrong = self.space.nodal(side.m, side.fm, part, side.fm_error)
        aim, wrong = state.stress, up(wrong + state.wrong)
        if side.load.stress is not None:
            S = side.load.stress
            constant = np.where(side.varies[part], 0.0, S.weight.coefficients[part, 0])
            aim = aim - (constant[:, None] * S.tensor[part])[:, None, :]
        at = sigma - aim[:, None]
        middle = aim.mean(axis=1)
        for s in range(d + 1):
            at[:, s, s] = sigma[:, s, s] - middle
        size = np.abs(sigma).max(axis=(1, 2, 3)) + np.abs(aim).max(axis=(1, 2))
        return Delta(at, np.asarray(up(wrong + gamma(12) * size, 8)))

    def _rich(self, side: Side, delta: Delta, rows: Any, part: slice, shapes: Shapes) -> Delta:
        """δ at the cubic nodes on some cells of the part, with τ and with S that varies."""
        solid, d = self.solid, self.solid.d
        linear, _, table = self._cubic
        at = np.einsum("al,nslv->nsav", linear, delta.at[rows], optimize=True)
        wrong = up(delta.wrong[rows] + gamma(4 * d) * np.abs(delta.at[rows]).max(axis=(1, 2, 3), initial=0.0), 8)
        cells = np.arange(part.start, part.stop)[rows]
        own = side.varies[cells]
        if side.load.body is not None and own.any():
            f = np.stack([_rows(b, cells[own], d) for b in side.load.body], axis=2)
            tau, off = lifted(solid.topology, cells[own], f)
            at[own] += tau  # elasticity.md, step 2a
            wrong[own] = up(wrong[own] + off + gamma(4) * np.abs(tau).max(axis=(1, 2, 3), initial=0.0))
        if side.load.stress is not None and own.any():
            S = side.load.stress
            w = S.weight.coefficients[cells[own]]
            more = np.einsum("sap,np->nsa", table, w, optimize=True)[..., None] * S.tensor[cells[own]][:, None, None, :]
            at[own] += more
            size = np.abs(w).max(axis=1) * np.abs(S.tensor[cells[own]]).max(axis=1)
            wrong[own] = up(wrong[own] + gamma(60) * size + gamma(4) * np.abs(at[own]).max(axis=(1, 2, 3), initial=0.0))
        return Delta(at, np.asarray(wrong))

    def _square(
        self, side: Side, delta: Delta, rich: NDArray[np.bool_], part: slice, shapes: Shapes
    ) -> tuple[Vector, Vector]:
        """‖δ‖² and the size behind it; the rounding of rich cells is added to δ's own."""
        square = self._form(delta.at, delta.at, part, shapes, slice(None))
        top = np.abs(delta.at).max(axis=(1, 2, 3))
        if rich.any():
            more = self._rich(side, delta, rich, part, shapes)
            square[rich] = self._form(more.at, more.at, part, shapes, rich)
            top[rich] = np.abs(more.at).max(axis=(1, 2, 3))
            delta.wrong[rich] = more.wrong
        return square, self._length(up(top + delta.wrong), shapes, part)

    def _inner(
        self, one: Side, a: Delta, two: Side, b: Delta, rich: NDArray[np.bool_], part: slice, shapes: Shapes
    ) -> Vector:
        product = self._form(a.at, b.at, part, shapes, slice(None))
        if rich.any():
            first, second = (self._rich(side, delta, rich, part, shapes).at for side, delta in ((one, a), (two, b)))
            product[rich] = self._form(first, second, part, shapes, rich)
        return product

    def _form(self, one: Vector, two: Vector, part: slice, shapes: Shapes, rows: Any) -> Vector:
        """∫_K τ₁ : C⁻¹τ₂ from values at linear or cubic nodes of the split: |dev|²/2μ + tr²/(d(dλ + 2μ))."""
        d, n, nodes = self.solid.d, len(one), one.shape[2]
        lam, mu = self.solid.lam[part][rows], self.solid.mu[part][rows]
        if nodes == d + 1:
            spread = (two + two.sum(axis=2, keepdims=True)) / ((d + 1) * (d + 2))
        else:
            spread = np.matmul(self._cubic[1], two.reshape(n * (d + 1), nodes, -1)).reshape(two.shape)
        diagonal = [v for v, (a, b) in enumerate(voigt(d)) if a == b]
        twice = np.array([1.0 if a == b else 2.0 for a, b in voigt(d)])
        whole = np.einsum("nsav,nsav,v->n", one, spread, twice)
        trace = np.einsum("nsa,nsa->n", one[..., diagonal].sum(axis=-1), spread[..., diagonal].sum(axis=-1))
        # elasticity.md, step 2b
        found = (whole - trace / d) / (2.0 * mu) + trace / (d * (d * lam + 2.0 * mu))
        return np.asarray(found * shapes.volume[rows] / (d + 1))

    def _length(self, entry: Vector, shapes: Shapes, part: slice) -> Vector:
        """Upper bounds of ‖τ‖ in C⁻¹ for tensors with entries up to these."""
        vol = up(shapes.volume * (1.0 + shapes.slack), 4)
        return np.asarray(up(shapes.d * entry * np.sqrt(vol / self.solid.c_min[part]), 16))

    def _worth(
        self, primal: Side, u: Strains, dual: Side, z: Strains, part: slice, shapes: Shapes
    ) -> tuple[Vector, Vector, Vector]:
        """J(u_h) + sign [L(z_h) − a(u_h, z_h)] on cells, a bound of its rounding, and of what the data's error does."""
        mean = -dual.sign * mean_of_linear(u.stress, z.strain)  # elasticity.md, step 10a
        size, data = np.abs(mean), np.zeros(len(mean))
        for load, v, sign in ((primal.load, z, dual.sign), (dual.load, u, 1.0 if dual.acts else 0.0)):
            if sign == 0.0:
                continue
            more, scale, error = work_of(load, v, part)
            mean, size, data = mean + sign * more, size + scale, data + error
        vol = shapes.volume * (1.0 + shapes.slack)
        # elasticity.md, step 9c
        off = up(vol * ((3.0 * shapes.slack + gamma(ROUNDINGS)) * size + across(u, z)), 32)
        return mean * shapes.volume, off, up(vol * data, 8)

    def _on_facets(self, primal: Side, dual: Side) -> tuple[float, float, float]:
        value = off = data = 0.0
        for load, nodal, sign in ((primal.load, dual.nodal, dual.sign), (dual.load, primal.nodal, 1.0)):
            for t in load.traction:
                v = np.ascontiguousarray(nodal[:, t.component])
                a, b, e = t.on.against(self.solid.points, v, self.solid.degree)  # elasticity.md, step 10a
                value, off, data = value + sign * a, up(off + b + UNIT * abs(value)), up(data + e)
        return value, float(off), float(data)

    def energy(self, p: Bounds) -> float:
        """η ≥ ‖u − u_h‖_a."""
        return self._total(p, None, 1.0, 0.0, 1.0)

    def lengths(self, p: Bounds) -> Vector:
        """Upper bounds of ‖δ‖_K + o_K, (C,)."""
        slack = self.solid.slack + self.solid.stiff + gamma(ROUNDINGS)
        return np.asarray(up(np.sqrt(np.maximum(p.square, 0.0) + 4.0 * slack * p.size**2) + p.fuzz + p.rest, 8))

    def shares(self, p: Bounds) -> Vector:
        """How much of η² each cell holds, summing to one: indicators, not bounds."""
        each = (np.sqrt(np.maximum(p.square, 0.0)) + p.rest) ** 2
        total = float(each.sum())
        return each / total if 0.0 < total < math.inf else np.ones(len(each)) / len(each)

    def product_bound(self, p: Bounds, pair: Pair) -> tuple[float, float, float]:
        """Ends [−η₋²/4, η₊²/4] that hold a(u − u_h, z − z_h), and the part of their half-width due to data."""
        eta_p, eta_d = self.energy(p), self.energy(pair.dual)
        if not (math.isfinite(eta_p) and math.isfinite(eta_d)):
            return -math.inf, math.inf, math.inf
        if eta_p == 0.0 or eta_d == 0.0:
            return 0.0, 0.0, 0.0
        s = math.sqrt(eta_d / eta_p)  # elasticity.md, step 10c
        ends = []
        for sign in (-1.0, 1.0):
            full, bare = (self._total(p, pair, s, sign, data) for data in (1.0, 0.0))
            # elasticity.md, step 10b
            ends.append((float(up(0.25 * full * full)), float(up(0.25 * (full * full - bare * bare)))))
        return -ends[0][0], ends[1][0], float(up(0.5 * (ends[0][1] + ends[1][1])))

    def _total(self, p: Bounds, pair: Pair | None, s: float, sign: float, data: float) -> float:
        """Upper bound of ‖s e ± ε/s‖_a, or of ‖e‖_a; `data` = 0 leaves the data's own error out (for reports only)."""
        d = None if pair is None else pair.dual

        def mix(a: Vector, b: Vector | None) -> Vector:
            return s * a if b is None else s * a + b / s

        square = p.square * (s * s)
        if pair is not None:
            square = square + (2.0 * sign) * pair.product + pair.dual.square / (s * s)
        size = mix(p.size, None if d is None else d.size)
        slack = self.solid.slack + self.solid.stiff + gamma(ROUNDINGS)
        q = np.sqrt(np.maximum(square, 0.0) + 4.0 * slack * size * size)  # elasticity.md, step 9a
        q = q + mix(p.fuzz, None if d is None else d.fuzz)
        rest = p.rest if data else p.rest - p.rest_data
        other = None if d is None else (d.rest if data else d.rest - d.rest_data)
        total = math.sqrt(at_most(sum_up(up((q + mix(rest, other)) ** 2, 32))))  # elasticity.md, step 2b
        return at_most(float(up(total, 8)))


@cache
def cubic_nodes(d: int) -> Vector:
    """Barycentric coordinates of the cubic nodes of a simplex, (nodes, d + 1)."""
    return np.array([[float(x) for x in row] for row in lattice(d, 3)])


@cache
def split_values(d: int) -> Vector:
    """Bernstein quadratics of a cell at the cubic nodes of its split, (d + 1, nodes, pairs)."""
    nodes = cubic_nodes(d)
    bary = np.repeat(nodes[None], d + 1, axis=0)
    for s in range(d + 1):
        bary[s, :, s] = 0.0
        bary[s] += nodes[:, s : s + 1] / (d + 1)
    return values(bary)


def across(u: Strains, z: Strains) -> Vector:
    """Bounds of what rounding does to the mean of Cε(u_h) : ε(z_h)."""
    d = len(u.parts)
    # elasticity.md, step 9c
    return np.asarray(up(d * d * (u.wrong * z.wide + u.tall * z.blur + gamma(ROUNDINGS) * u.tall * z.wide), 8))


def work_of(load: Load, v: Strains, part: slice) -> tuple[Vector, Vector, Vector]:
    """Means of f·v_h + S : ε(v_h) on cells, the size of what is summed, and a bound of what the data's error does."""
    n, d = len(v.wide), len(v.parts)
    mean, size, data = np.zeros(n), np.zeros(n), np.zeros(n)
    for c, f in enumerate(load.body or ()):
        if f is not None:
            b = np.ascontiguousarray(f.coefficients[part].T)
            mean = mean + mean_product(b, v.parts[c].coefficients, d)
            top = np.abs(b).max(axis=0)
            size, data = size + top * v.parts[c].top, data + f.error1[part] * v.parts[c].top
            size = size + top * v.parts[c].blur / gamma(1)
    if load.stress is not None:
        more, scale, error = _stress_work(load.stress, v, part)
        mean, size, data = mean + more, size + scale, data + error
    return mean, size, np.asarray(up(data, 8))


def _stress_work(S: StressLoad, v: Strains, part: slice) -> tuple[Vector, Vector, Vector]:
    d = len(v.parts)
    twice = np.array([1.0 if a == b else 2.0 for a, b in voigt(d)])
    T, w = S.tensor[part] * twice, S.weight.coefficients[part]
    slope = np.einsum("nav,nv->na", v.strain, T)
    mean = np.einsum("np,pq,nq->n", w, gram(d), from_linear(slope), optimize=True)
    sums, top = np.abs(T).sum(axis=1), np.abs(w).max(axis=1)
    size = top * sums * (v.wide + v.blur / gamma(ROUNDINGS))
    reach = np.abs(slope).max(axis=1) + sums * (v.blur + gamma(4 * d) * v.wide)  # T : ε(v_h) is linear on the cell
    return mean, size, up(S.weight.error1[part] * reach, 16)


def _rows(f: Any, cells: Vector, d: int) -> Vector:
    return np.zeros((len(cells), (d + 1) * (d + 2) // 2)) if f is None else f.coefficients[cells]
