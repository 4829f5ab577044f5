"""Families with few coefficients: reduced states and stream functions, and their sums from products of the bases."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.transfer.operators.any_mesh import AnyMesh, Sums
from pinnpoint.transfer.operators.bases import shared_out
from pinnpoint.transfer.operators.sums import StateSums, Weights

FULL, NEAR = 48, 1e-10
"""Steps at most for a state of the bases, which end where rᵀz has fallen so far: the bases are not trusted."""


@dataclass(frozen=True, eq=False)
class Side:
    """Bases of one load, and the products of its fields on each region.

    Attributes
    ----------
    states, streams
        (N, r) and (N, r′), as stored: combinations of them are what is measured.
    products
        (G, 1 + r′ + r, 1 + r′ + r): of [σ̄₀, curl Ψ, ∇V], weighted by area.
    with_first
        The same of the primal load's fields with these.
    work
        Of the states with their own row, (r,).
    tops
        max |V_j| and max |Ψ_j|.
    """

    states: Vector
    streams: Vector
    products: Vector
    with_first: Vector
    work: Vector
    tops: tuple[Vector, Vector]

    __repr__ = brief

    @cached_property
    def lengths(self) -> Vector:
        """Norms of the fields on each region, (G, 1 + r′ + r)."""
        return np.asarray(np.sqrt(np.einsum("qii->qi", self.products)))

    @cached_property
    def _parts(self) -> tuple[Vector, Vector, Vector]:
        """Products of states, of stream functions, and of these with σ̄₀, flat, each with a row a region."""
        n, G = self.streams.shape[1], self.products
        parts = G[:, 1 + n :, 1 + n :], G[:, 1 : 1 + n, 1 : 1 + n], G[:, 1 : 1 + n, 0]
        return parts[0].reshape(len(G), -1), parts[1].reshape(len(G), -1), parts[2]

    def combined(self, kappas: Vector) -> Vector:
        """Coefficients of states (S, r): reduced Galerkin, not trusted."""
        r = self.states.shape[1]
        A = (kappas @ self._parts[0]).reshape(-1, r, r)
        # operators.md, step 9a
        found = np.linalg.solve(A, np.broadcast_to(self.work, (len(kappas), r))[..., None])
        return np.asarray(found[..., 0])

    def turned(self, inverse: Vector) -> Vector:
        """Coefficients of stream functions (S, r′), with 1/κ (S, G)."""
        n = self.streams.shape[1]
        B = (inverse @ self._parts[1]).reshape(-1, n, n)
        return np.asarray(np.linalg.solve(B, -(inverse @ self._parts[2])[..., None])[..., 0])  # operators.md, step 9a


@dataclass(frozen=True, eq=False)
class Reduced:
    """Steps and sums for κ constant on G regions, from bases of each load.

    Attributes
    ----------
    sides
        The primal load's, then the duals'.
    rows
        Of the duals against the primal states, (Q, r), and of the primal against the duals' states.
    """

    sides: tuple[Side, ...]
    rows: tuple[Vector, ...]
    back: tuple[Vector, ...]

    __repr__ = brief

    more, holes = 0.0, ()

    @classmethod
    def of(cls, full: AnyMesh, region: Index, kappas: Vector, rank: int) -> Reduced:
        """Bases from the states and stream functions of some coefficients, rows (T, G)."""
        nowhere = np.zeros(len(full.states))
        found = [full.fields(k[region], nowhere, None, FULL, FULL, NEAR) for k in kappas]
        sides: list[Side] = []
        for k, load in enumerate(full.loads):
            V, P = shared_out(full, k, found, region, kappas, rank)
            fields = _fields(full, load.flux, V, P)
            first = fields if not sides else _fields(full, full.loads[0].flux, sides[0].states, sides[0].streams)
            products = _products(fields, fields, region, full)
            tops = np.abs(V).max(axis=0), np.abs(P).max(axis=0)
            sides.append(Side(V, P, products, _products(first, fields, region, full), load.row @ V, tops))
        own = full.loads[0].row
        rows = tuple(p.row @ sides[0].states for p in full.loads[1:])
        return cls(tuple(sides), rows, tuple(own @ s.states for s in sides[1:]))

    def sums(self, kappas: Vector, predictions: Vector, streams: Vector | None, steps: int, dual_steps: int) -> Sums:
        """For rows of κ (S, G); there are no predictions, and no steps."""
        made = [_Combination.of(side, kappas) for side in self.sides]
        own, none = made[0], np.zeros((len(kappas), 0))
        zero = np.zeros(len(kappas))
        first = StateSums(own.square(), own.energy(), own.cross(), zero, zero, own.top, own.stream, none, own.size)
        columns: list[list[Vector]] = [[] for _ in range(8)]
        for k, dual in enumerate(made[1:]):
            product, form = dual.against(own)
            value = own.c @ self.rows[k] + dual.c @ self.back[k]
            parts = (dual.square(), dual.energy(), product, form, value, dual.top, dual.stream, dual.size)
            for column, part in zip(columns, parts, strict=True):
                column.append(part)
        Q = len(made) - 1
        shaped = [np.stack(c, axis=1) if c else np.zeros((len(kappas), 0)) for c in columns]
        square, energy, cross, form, own_values, top, stream, size = shaped
        nothing = np.zeros((len(kappas), Q, 0))
        return first, first, StateSums(square, energy, cross, form, own_values, top, stream, nothing, size)

    def weights(self, whole: Weights, region: Index, count: int) -> Weights:
        """Sums over cells gathered by region."""
        n = whole.few.shape[1]
        table = np.zeros((count, n))
        np.add.at(table, region[whole.cells], whole.few)
        for column, dense in zip(whole.everywhere, whole.dense.T, strict=True):
            table[:, column] = np.bincount(region, dense, minlength=count)
        return Weights(np.arange(n), table, np.zeros(0, dtype=np.intp), np.zeros((0, n)), whole.loads)


@dataclass(frozen=True, eq=False)
class _Combination:
    """Coefficients of one load for all instances: y = (κ^{-½}, κ^{-½}c_ψ, −κ^½c_v) on each region, (S, G, n)."""

    side: Side
    kappas: Vector
    c: Vector
    y: Vector
    top: Vector
    stream: Vector
    size: Vector

    @classmethod
    def of(cls, side: Side, kappas: Vector) -> _Combination:
        c, p = side.combined(kappas), side.turned(1.0 / kappas)
        root = np.sqrt(kappas)[:, :, None]
        y = np.concatenate([1.0 / root, p[:, None] / root, -c[:, None] * root], axis=2)
        each = (np.abs(y) * side.lengths).sum(axis=2)  # operators.md, step 9c
        tops = np.abs(c) @ side.tops[0], np.abs(p) @ side.tops[1]
        return cls(side, kappas, c, y, tops[0] * 1.01, tops[1] * 1.01, np.sqrt((each * each).sum(axis=1)) * 1.01)

    @property
    def states_only(self) -> Vector:
        """The last part of −y: κ^½ ∇v."""
        return -self.y[:, :, -self.c.shape[1] :]

    def square(self) -> Vector:
        """Σ κ⁻¹|δ̄|²."""
        return _form(self.y, self.side.products, self.y)

    def energy(self) -> Vector:
        """Σ κ|∇v|²."""
        r = self.c.shape[1]
        v, G = self.states_only, self.side.products[:, -r:, -r:]
        return np.maximum(_form(v, G, v), 0.0)

    def cross(self) -> Vector:
        """Σ δ̄·∇v."""
        G = self.side.products[:, :, -self.c.shape[1] :]
        return _form(self.y, G, self.states_only)

    def against(self, first: _Combination) -> tuple[Vector, Vector]:
        """Σ κ⁻¹ δ̄_p·δ̄_d and Σ κ∇u·∇z."""
        H, r, n = self.side.with_first, first.c.shape[1], self.c.shape[1]
        product = _form(first.y, H, self.y)
        form = _form(first.states_only, H[:, -r:, -n:], self.states_only)
        return product, form


def _form(a: Vector, G: Vector, b: Vector) -> Vector:
    """Σ_q a_qᵀ G_q b_q for vectors (S, G, n), in any order."""
    return np.asarray((np.matmul(a.swapaxes(0, 1), G) * b.swapaxes(0, 1)).sum(axis=(0, 2)))  # operators.md, step 9b


def _fields(full: AnyMesh, flux: Vector, V: Vector, P: Vector) -> Vector:
    """[σ̄₀, curl Ψ, ∇V] at the cells, (2C, 1 + r′ + r)."""
    T = full.triangles
    return np.concatenate([flux.reshape(-1, 1), T.curl(P), T.gradient @ V], axis=1)


def _products(one: Vector, two: Vector, region: Index, full: AnyMesh) -> Vector:
    """∫ one·two over each region, (G, m, n)."""
    area, rows = np.repeat(full.triangles.geometry.area, 2)[:, None], np.repeat(region, 2)
    return np.stack([one[rows == q].T @ (area * two)[rows == q] for q in range(int(region.max()) + 1)])
