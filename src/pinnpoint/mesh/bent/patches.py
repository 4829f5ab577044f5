"""The surface over a triangle: a polynomial near it, and proved bounds of what lies between.

Over a face with barycentric μ let P(μ) be the face with its edges bent onto the surface. The surface is P + G D, D a
direction across it, and G = μ₁μ₂μ₃ S vanishes on the edges. A polynomial near S is interpolated; in a band about it the
formula φ is monotone along D and changes sign, so that G is there, unique and smooth, and its derivatives are enclosed.
In the cell, λ₄ the coordinate of the opposite vertex, the face's part of the map is

    D λ₁λ₂λ₃ S(π),     π_i = λ_i + λ₄/3,

zero on all other facets. See docs/curved.md, step 2d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.facets import facet_keys
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor.models import TaylorModel, constant, settled
from pinnpoint.taylor.spaces import POINT

DEGREE = 4
"""Of the polynomial near S, in μ₁ − 1/3 and μ₂ − 1/3."""
THIRD = 1.0 / 3.0
POWERS = np.array([(i, j) for i in range(DEGREE + 1) for j in range(DEGREE + 1 - i)])


@dataclass(frozen=True, eq=False)
class Patches:
    """How faces are bent between their edges, one row a face.

    Attributes
    ----------
    faces
        Vertex numbers (F, 3), ascending.
    direction
        D, (F, 3).
    shape
        Coefficients of the polynomial s near S, (F, len(POWERS)).
    value_error, slope_error
        Bounds of |G − G_s| and of its derivatives along μ_i − μ_j, G_s = μ₁μ₂μ₃ s, (F,).
    """

    faces: Index
    direction: Vector
    shape: Vector
    value_error: Vector
    slope_error: Vector

    __repr__ = brief

    def reach(self) -> Vector:
        """Upper bounds of |G D|."""
        size = np.abs(self.shape) @ (2.0 / 3.0) ** POWERS.sum(axis=1) / 27.0 + self.value_error
        return np.asarray(up(size * np.sqrt((self.direction**2).sum(axis=1)), 64))


def none() -> Patches:
    """No faces."""
    return Patches(np.zeros((0, 3), dtype=np.intp), np.zeros((0, 3)), np.zeros((0, len(POWERS))), *np.zeros((2, 0)))


@dataclass(frozen=True, eq=False)
class FaceTable:
    """Cells with a bent face: their rows among the bent cells, the face, and where its vertices and the last one are.

    A cell with two such faces has two rows.
    """

    row: Index
    face: Index
    local: Index

    __repr__ = brief

    @classmethod
    def of(cls, patches: Patches, cells: Index, n: int) -> FaceTable:
        """Of the bent cells (B, 4) by n vertices."""
        keys = facet_keys(patches.faces, n)
        order = np.argsort(keys)
        rows, faces, local = [], [], []
        for last in range(4):
            others = np.array([j for j in range(4) if j != last])
            ascending = others[np.argsort(cells[:, others], axis=1)]
            mine = np.take_along_axis(cells, ascending, axis=1)
            at = order[np.minimum(np.searchsorted(keys[order], facet_keys(mine, n)), len(keys) - 1)]
            hit = np.flatnonzero((patches.faces[at] == mine).all(axis=1))
            rows.append(hit)
            faces.append(at[hit])
            local.append(np.column_stack([ascending[hit], np.full(len(hit), last)]))
        return cls(*(np.concatenate(part) for part in (rows, faces, local)))

    def parts(self, rows: Index, count: int) -> list[tuple[Index, Index]]:
        """Pairs (columns, entries of this table) of simplices in cells of these rows, no column twice in a pair."""
        found = []
        left = np.arange(len(self.row))
        while left.size:
            first, at = np.unique(self.row[left], return_index=True)
            entry = np.full(count + 1, -1)
            entry[first] = left[at]
            columns = np.flatnonzero(entry[rows] >= 0)
            if columns.size:
                found.append((columns, entry[rows[columns]]))
            left = np.delete(left, at)
        return found


def polynomial(c: Vector, a: TaylorModel, b: TaylorModel) -> tuple[TaylorModel, TaylorModel, TaylorModel]:
    """Σ c_ij a^i b^j with its derivatives by a and by b; c (F, len(POWERS))."""
    at = {(int(i), int(j)): c[:, k] for k, (i, j) in enumerate(POWERS)}
    top = int(POWERS.sum(axis=1)[c.any(axis=0)].max(initial=0))

    def inner(i: int, what: int) -> TaylorModel:
        """Σ_j c_ij b^j, or its derivative."""
        found = None
        for j in range(top - i, what - 1, -1):
            factor = float(j) if what else 1.0
            term = constant(factor * at[i, j], UNIT * np.abs(factor * at[i, j]) if what else 0.0)
            found = term if found is None else found * b + term
        return constant(np.zeros(len(c))) if found is None else found

    value, along, across = inner(top, 0), constant(np.zeros(len(c))), inner(top, 1)
    for i in range(top - 1, -1, -1):
        along = along * a + value
        value, across = value * a + inner(i, 0), across * a + inner(i, 1)
    return value, along, across


def values(c: Vector, a: Vector, b: Vector) -> tuple[Vector, Vector, Vector]:
    """The same in floating point, a and b (N,)."""
    i, j = POWERS.T
    A, B = a[:, None], b[:, None]
    first = i * A ** np.maximum(i - 1, 0) * B**j
    second = j * A**i * B ** np.maximum(j - 1, 0)
    return tuple((c * m).sum(axis=1) for m in (A**i * B**j, first, second))


def chosen(models: Sequence[TaylorModel], which: Index, columns: Index) -> TaylorModel:
    """Column by column one of several models."""
    C = np.stack([np.broadcast_to(m.C, (m.C.shape[0], len(m.e))) for m in models])
    e = np.stack([m.e for m in models])
    return TaylorModel(models[0].space, np.ascontiguousarray(C[which, :, columns].T), e[which, columns])


def replaced(model: TaylorModel, columns: Index, more: TaylorModel) -> TaylorModel:
    """The model with something added in some columns."""
    N = len(model.e)
    if len(columns) == N:
        return model + more
    if model.space is POINT or model.C.shape[0] == 1:
        C = np.zeros((more.space.size, N))
        C[0] = np.broadcast_to(model.C[0], N)
        model = TaylorModel(more.space, C, np.broadcast_to(model.e, N).copy())
    here = TaylorModel(model.space, np.ascontiguousarray(model.C[:, columns]), model.e[columns]) + more
    C, e = model.C.copy(), model.e.copy()
    C[:, columns], e[columns] = here.C, here.e
    return TaylorModel(model.space, C, e)


def add_faces(
    patches: Patches,
    table: FaceTable,
    rows: Index,
    count: int,
    lam: Sequence[TaylorModel],
    slopes: tuple[Vector, Vector],
    x: list[TaylorModel],
    J: list[list[TaylorModel]],
) -> None:
    """Add what bent faces do to Φ and J over simplices in cells of these rows; `slopes` are ∇λ and their errors."""
    third = constant(THIRD, UNIT)
    for columns, entry in table.parts(rows, count):
        local, face = table.local[entry], table.face[entry]
        L = [chosen(lam, local[:, i], columns) for i in range(4)]
        G, wrong = (s[columns[:, None], local] for s in slopes)
        pi = [L[i] + L[3] * third for i in range(2)]
        S, S1, S2 = polynomial(patches.shape[face], *(p - constant(THIRD) for p in pi))
        pairs = (L[1] * L[2], L[2] * L[0], L[0] * L[1])
        bump = pairs[2] * L[2]
        bent = _loosened(bump * S, patches.value_error[face])  # curved.md, step 2d
        slope = []
        for m in range(3):
            g = [constant(G[:, i, m], wrong[:, i, m]) for i in range(4)]
            d = [g[i] + g[3] * third for i in range(2)]
            rise = (g[0] * pairs[0] + g[1] * pairs[1] + g[2] * pairs[2]) * S + bump * (S1 * d[0] + S2 * d[1])
            size = np.abs(G[:, :, m]) + wrong[:, :, m]
            lost = size[:, :3].sum(axis=1) * 2.5 + size[:, 3] * 1.5
            slope.append(_loosened(rise, up(lost * patches.slope_error[face], 8)))  # curved.md, step 2d
        for k in range(3):
            D = constant(patches.direction[face, k])
            x[k] = replaced(x[k], columns, D * bent)
            for m in range(3):
                J[k][m] = replaced(J[k][m], columns, D * slope[m])


def move_faces(
    patches: Patches, table: FaceTable, rows: Index, count: int, lam: Vector, G: Vector, Y: Vector, J: Vector
) -> None:
    """The same at points in floating point."""
    for columns, entry in table.parts(rows, count):
        local, face = table.local[entry], table.face[entry]
        L, g = lam[columns[:, None], local], G[columns[:, None], local]
        pi = L[:, :2] + L[:, 3:] / 3.0 - THIRD
        S, S1, S2 = values(patches.shape[face], pi[:, 0], pi[:, 1])
        pairs = np.stack([L[:, 1] * L[:, 2], L[:, 2] * L[:, 0], L[:, 0] * L[:, 1]], axis=1)
        bump = pairs[:, 2] * L[:, 2]
        d = g[:, :2] + g[:, 3:] / 3.0
        rise = np.einsum("ni,nim->nm", pairs, g[:, :3]) * S[:, None]
        rise += bump[:, None] * (S1[:, None] * d[:, 0] + S2[:, None] * d[:, 1])
        D = patches.direction[face]
        Y[columns] += D * (bump * S)[:, None]
        J[columns] += D[:, :, None] * rise[:, None, :]


def _loosened(model: TaylorModel, more: Vector) -> TaylorModel:
    """The same with a larger remainder."""
    return settled(model.space, model.C, up(model.e + more, 2))


def joined_patches(parts: Sequence[Patches]) -> Patches:
    """Patches of several surfaces together."""
    rows: list[Any] = [(p.faces, p.direction, p.shape, p.value_error, p.slope_error) for p in parts]
    return Patches(*(np.concatenate([row[i] for row in rows]) for i in range(5)))
