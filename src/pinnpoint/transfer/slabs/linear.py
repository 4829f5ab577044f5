"""What linear elements and fluxes of lowest order leave on each cell, for the many sides that slabs have.

The numbers of `transfer.energy.cells`, in fewer operations: σ = (d|K|)⁻¹ Σ_i s_i (x − v_i) has the divergence
Σ_i s_i/|K|, and δ = σ − κ∇v_h is linear with the vertex values D_j = (d|K|)⁻¹(E_j Σ_i s_i − Σ_i s_iE_i) − κ∇v_h,
E_j = v_j − v_0. So

    ∫_K δ·δ′ = |K|/((d+1)(d+2)) [ Σ_j D_j·D′_j + (Σ_j D_j)·(Σ_j D′_j) ].

Fewer roundings meet in each number than there, so its bounds of them hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.threads import on_all_cores
from pinnpoint.rounding.arithmetic import TINY, gamma, sum_up, up
from pinnpoint.taylor.bernstein import gram, pairs
from pinnpoint.transfer.energy.cells import COUNT
from pinnpoint.transfer.energy.estimator import KEPT, ROWS, Bounds, Estimator, Pair, Side
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.flux.patches import first_moments
from pinnpoint.transfer.helpers import OnCells

CHUNK = 8192
"""Cells at once."""


class Cells(NamedTuple):
    """Geometry and coefficients of some cells."""

    shapes: Shapes
    edges: Vector
    """E_j = v_j − v_0, j ≥ 1, (d, d, n)."""
    above: Vector
    """Upper bounds of |K|."""
    root: Vector
    slack: Vector
    kappa: Vector
    reaction: Vector


class Left(NamedTuple):
    """What is kept of a side for its products with another."""

    values: Vector
    """At the vertices, (d + 1, n)."""
    slope: Vector
    steep: Vector
    """Bounds of the products behind the slope."""
    top: Vector
    blur: Vector
    delta: Vector
    total: Vector
    """Σ_j D_j."""
    loads: Vector
    """Means of (f − c v_h) λ_a, (n, d + 1)."""
    size: Vector
    """max |f|."""
    error: Vector


@dataclass(frozen=True, eq=False)
class LinearCells:
    """The cells of an estimator of linear elements with constant coefficients on each."""

    estimator: Estimator
    _kept: dict[int, Cells] = field(default_factory=dict, repr=False)

    __repr__ = brief

    def _cells(self, part: slice) -> Cells:
        cells = self._kept.get(part.start)
        if cells is None:
            E = self.estimator
            shapes, k = Shapes.of(E.points, E.topology.cells[part]), E.kappa[part]
            above = np.asarray(up(shapes.volume * (1.0 + shapes.slack), 4))
            edges = shapes.vertices[1:] - shapes.vertices[0]
            root = np.sqrt(shapes.d * above / k)
            cells = Cells(shapes, edges, above, root, shapes.slack + gamma(COUNT), k, E.reaction[part])
            if len(E.kappa) <= KEPT:
                self._kept[part.start] = cells
        return cells

    def measure(self, primal: Side, duals: Sequence[Side]) -> tuple[Bounds, list[Pair]]:
        """As `Estimator.measure`, for duals whose residual counts with a plus and whose sources do not act."""
        E, sides = self.estimator, [primal, *duals]
        C, K = len(E.kappa), len(duals)
        rows = {name: np.zeros((K + 1, C)) for name in ROWS}
        product, values = np.empty((K, C)), np.empty((K, C))

        def work(part: slice) -> list[tuple[float, float]]:
            cells, sums = self._cells(part), []
            first = self._side(cells, primal, part, rows, 0)
            for i, side in enumerate(duals):
                left = self._side(cells, side, part, rows, i + 1)
                product[i, part] = _inner(cells, first, left)  # continuous.md, step 3b
                values[i, part], off, data = _weak(cells, first, left)
                sums.append((sum_up(off), sum_up(data)))
            return sums

        parts = [slice(a, min(a + CHUNK, C)) for a in range(0, C, CHUNK)]
        added = np.array(on_all_cores(work, parts), dtype=np.float64).reshape(len(parts), K, 2)
        return E.put_together(sides, [1.0] * K, OnCells(rows, product, values, added))

    def _side(self, cells: Cells, side: Side, part: slice, rows: dict[str, Vector], i: int) -> Left:
        """Fill the rows of a side on some cells."""
        T, shapes, d = self.estimator.topology, cells.shapes, cells.shapes.d
        scale, kappa = 1.0 / (d * shapes.volume), cells.kappa
        w = np.ascontiguousarray(side.nodal[self.estimator.cell_nodes[part]].T)
        rise = w[1:] - w[0]
        slope = np.einsum("kn,kcn->cn", rise, shapes.gradients[1:])
        steep = np.asarray(up(d * np.abs(rise).max(axis=0) * shapes.steep, 8))
        peak = np.abs(w).max(axis=0)
        blur = gamma(16) * peak
        top = np.asarray(up(peak + blur, 4))
        s = (side.flux[:, 0][T.cell_facets[part]] * T.sign[part]).T  # continuous.md, step 1b
        out, heavy = s.sum(axis=0), np.abs(s).sum(axis=0)
        # continuous.md, step 1a
        delta = np.empty((d + 1, d, s.shape[1]))
        delta[0] = -scale * np.einsum("in,icn->cn", s[1:], cells.edges) - kappa * slope
        delta[1:] = (scale * out) * cells.edges + delta[0]
        wrong = cells.slack * (2.0 * heavy * shapes.diameter * scale + kappa * steep)  # continuous.md, step 8f
        largest = np.abs(delta).max(axis=(0, 1))
        rows["size"][i, part] = up(cells.root * (largest + wrong), 16)
        rows["fuzz"][i, part] = up(cells.root * wrong, 16)
        loads, size = self._left(cells, side, part, w, top, blur, out, heavy, rows, i)
        left = Left(w, slope, steep, top, blur, delta, delta.sum(axis=0), loads, size, side.source.error1[part])
        rows["square"][i, part] = _inner(cells, left, left)  # continuous.md, step 2b
        return left

    def _left(
        self,
        cells: Cells,
        side: Side,
        part: slice,
        w: Vector,
        top: Vector,
        blur: Vector,
        out: Vector,
        heavy: Vector,
        rows: dict[str, Vector],
        i: int,
    ) -> tuple[Vector, Vector]:
        """Oscillation and defect of ϱ = f − c v_h + ∇·σ; means of (f − c v_h)λ_a, and max |f|."""
        shapes, d, f, c = cells.shapes, cells.shapes.d, side.source, cells.reaction
        total, size = f.coefficients[part], largest(f.coefficients[part])
        if np.any(c):
            own = np.stack([0.5 * (w[j] + w[k]) for j, k in pairs(d)], axis=1)
            total = total - c[:, None] * own
        weight = size + c * top + 2.0 * (d + 1.0) ** 2 * heavy / (d * shapes.volume)
        fog = np.asarray(up(cells.slack * weight + c * blur, 8)) + TINY  # continuous.md, step 8f
        middle = np.einsum("np->n", total) / total.shape[1]
        away = total - middle[:, None]
        square = np.einsum("np,np->n", away @ gram(d), away)
        high = f.high[part]
        spread = np.sqrt(np.maximum(square, 0.0) + gamma(COUNT) * largest(away) ** 2 + high**2)
        root = np.sqrt(cells.above)
        error2, error1 = up(root * f.error2[part], 4), up(cells.above * f.error1[part], 4)  # continuous.md, step 8a
        mean = middle + out / shapes.volume
        rows["oscillation"][i, part] = up(root * (spread + fog) + error2, 8)  # continuous.md, step 2a
        rows["defect"][i, part] = up(cells.above * (np.abs(mean) + fog) + error1, 8)  # continuous.md, step 2d
        rows["osc"][i, part], rows["def"][i, part] = error2, error1
        return total @ first_moments(d).T, size


def largest(x: Vector) -> Vector:
    """Largest absolute values of rows; by columns, of which there are few."""
    size = np.abs(x)
    found = size[:, 0].copy()
    for p in range(1, x.shape[1]):
        np.maximum(found, size[:, p], out=found)
    return found


def _inner(cells: Cells, one: Left, two: Left) -> Vector:
    """∫_K κ⁻¹ δ₁·δ₂ as computed."""
    d = cells.shapes.d
    total = np.einsum("jcn,jcn->n", one.delta, two.delta) + np.einsum("cn,cn->n", one.total, two.total)
    return np.asarray(total * (cells.shapes.volume / cells.kappa) / ((d + 1) * (d + 2)))


def _weak(cells: Cells, u: Left, z: Left) -> tuple[Vector, Vector, Vector]:
    """∫_K (f − c u_h) z_h − κ∇u_h·∇z_h, and bounds of its rounding and of the data's error."""
    d, k, c, volume = cells.shapes.d, cells.kappa, cells.reaction, cells.shapes.volume
    mass = np.einsum("na,an->n", u.loads, z.values)
    total = mass - k * np.einsum("cn,cn->n", u.slope, z.slope)  # continuous.md, step 3a
    size = (u.size + c * u.top) * z.top
    wrong = 3.0 * cells.slack * (size + d * k * u.steep * z.steep)  # continuous.md, step 8f
    wrong = wrong + u.blur * c * z.top + z.blur * (u.size + c * u.top)
    data = up(cells.above * u.error * z.top, 8)  # continuous.md, step 8a
    return total * volume, np.asarray(up(wrong * volume, 16)), np.asarray(data)
