"""Cells bent along their edges: the map from the straight mesh onto the curved domain, its values and derivatives.

On a cell with barycentric coordinates λ, and over its edges e = (a, b) with a direction D_e and a profile Q_e,

    Φ(x) = Σ_v λ_v v* + Σ_e D_e λ_a λ_b Q_e(s),      s = (λ_b − λ_a)/2,

v* the true place of the vertex, within `offset` of the stored one. An edge's part vanishes on every facet that does not
hold the edge, and on those that do it depends on the edge and the facet alone: Φ is continuous. A second-order mesh has
Q = 4 and D the mid-side node's distance from the middle of its edge. See docs/curved.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector, digest
from pinnpoint.base.brief import brief
from pinnpoint.mesh.bent.patches import FaceTable, Patches, add_faces, move_faces, none, replaced
from pinnpoint.mesh.location import Locator
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.middles import Drawn
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor import functions
from pinnpoint.taylor.models import TaylorModel, constant, settled

KEPT = 4
"""Sets of simplices of which Φ and J are kept: entries of A, determinants and data ask for the same ones."""
ASKED = 2
"""The same of points: those of cells that are bent and of those that only touch a curve."""
SEEN = 3
"""Points of an edge that are drawn between its ends."""
TERMS = 7
"""Coefficients of an edge's profile, powers of s from the zeroth on."""


@dataclass(frozen=True, eq=False)
class Profiles:
    """How edges are bent, one row an edge.

    Attributes
    ----------
    edges
        Vertex numbers (E, 2), smaller first.
    direction, direction_error
        D, (E, d), and bounds of its error.
    shape
        Coefficients of a polynomial q near Q, (E, TERMS).
    value_error, slope_error
        Bounds of |Q − q|, and of (1/4 − s²)|Q′ − q′|, (E,).
    """

    edges: Index
    direction: Vector
    direction_error: Vector
    shape: Vector
    value_error: Vector
    slope_error: Vector

    __repr__ = brief

    def spread(self) -> tuple[Vector, Vector]:
        """Bounds of Q from below and above on each edge."""
        powers = 0.5 ** np.arange(1, TERMS)
        wide = up((np.abs(self.shape[:, 1:]) * powers).sum(axis=1) + self.value_error, 16)
        return self.shape[:, 0] - wide, self.shape[:, 0] + wide


@dataclass(frozen=True, eq=False)
class Local:
    """Models of Φ, of J = ∇Φ (rows are components), and the bent cell of each simplex."""

    x: tuple[TaylorModel, ...]
    J: tuple[tuple[TaylorModel, ...], ...]
    rows: Index

    @cached_property
    def cofactors(self) -> tuple[tuple[TaylorModel, ...], ...]:
        """The matrix det J · J^{−T}."""
        return cofactors(self.J)

    @cached_property
    def determinant(self) -> TaylorModel:
        """The determinant of J."""
        return total([a * b for a, b in zip(self.J[0], self.cofactors[0], strict=True)])


@dataclass(frozen=True, eq=False)
class Moved:
    """Φ (N, d) and J (N, d, d) at points in floating point, and the rows of their cells among the bent ones."""

    Y: Vector
    J: Vector
    rows: Index

    @cached_property
    def determinant(self) -> Vector:
        """The determinants of J."""
        return np.asarray(np.linalg.det(self.J))

    @cached_property
    def cofactors(self) -> Vector:
        """The matrices det J · J^{−T}."""
        return np.asarray(self.determinant[:, None, None] * np.linalg.inv(self.J).transpose(0, 2, 1))


@dataclass(frozen=True, eq=False)
class Bends:
    """The bent cells of a mesh.

    Attributes
    ----------
    mesh
        The straight mesh.
    profiles
        Of the edges that are bent.
    offset
        Bounds of |v* − v| of every vertex, by component, (n, d).
    patches
        Of the faces that are bent between their edges, in space.
    """

    mesh: Mesh
    profiles: Profiles
    offset: Vector
    patches: Patches = field(default_factory=none)

    __repr__ = brief

    @property
    def d(self) -> int:
        """Space dimension."""
        return self.mesh.dim

    @cached_property
    def slots(self) -> list[tuple[int, int]]:
        """Local vertex pairs of a cell."""
        return list(combinations(range(self.d + 1), 2))

    @cached_property
    def _edge_of(self) -> Index:
        """The profile of each edge of each cell, (C, slots); −1 where it is straight."""
        T, n = self.mesh.cells, len(self.mesh.points)
        columns = [edge_rows(self.profiles.edges, np.sort(T[:, [a, b]], axis=1), n) for a, b in self.slots]
        return np.stack(columns, axis=1)

    @cached_property
    def cells(self) -> Index:
        """Numbers of the cells on which Φ is not the identity."""
        moved: Any = (self.offset > 0.0).any(axis=1)
        return np.flatnonzero(moved[self.mesh.cells].any(axis=1) | (self._edge_of >= 0).any(axis=1))

    @cached_property
    def kinds(self) -> Index:
        """Of every cell: 0 where Φ is the identity, 1 where only vertices are moved by rounding, 2 elsewhere."""
        found = np.zeros(len(self.mesh.cells), dtype=np.intp)
        found[self.cells] = 1
        found[(self._edge_of >= 0).any(axis=1)] = 2
        return found

    @cached_property
    def row_of(self) -> Index:
        """The row of each cell among the bent ones; the row after the last for all others."""
        found = np.full(len(self.mesh.cells), len(self.cells), dtype=np.intp)
        found[self.cells] = np.arange(len(self.cells))
        return found

    @cached_property
    def locator(self) -> Locator:
        """Which cell holds a point."""
        return Locator(self.mesh)

    @cached_property
    def vertices(self) -> Vector:
        """Vertices of the bent cells, (B, d + 1, d)."""
        return np.asarray(self.mesh.points[self.mesh.cells[self.cells]])

    @cached_property
    def _gradients(self) -> tuple[Vector, Vector]:
        """∇λ of the bent cells, and bounds of the error, with a row of zeros behind."""
        V, d = self.vertices, self.d
        at = [[constant(V[:, i, k]) for k in range(d)] for i in range(d + 1)]
        E = tuple(tuple(at[i + 1][k] - at[0][k] for k in range(d)) for i in range(d))
        cof = cofactors(E)
        det = total([a * b for a, b in zip(E[0], cof[0], strict=True)])
        G = [[c / det for c in row] for row in cof]  # rows of the inverse, transposed
        first = [-total([G[i][k] for i in range(d)]) for k in range(d)]
        found, error = np.zeros((len(V) + 1, d + 1, d)), np.zeros((len(V) + 1, d + 1, d))
        for i, row in enumerate([first, *G]):
            for k, g in enumerate(row):
                found[:-1, i, k], error[:-1, i, k] = g.C[0], g.e
        return found, error

    @cached_property
    def _table(self) -> dict[str, Vector]:
        """What Φ is made of, one row a bent cell and a row of zeros behind."""
        P, B, S = self.profiles, len(self.cells), len(self.slots)
        edge, T = self._edge_of[self.cells], self.mesh.cells[self.cells]
        rows: dict[str, Any] = {
            "direction": np.zeros((B + 1, S, self.d)),
            "wrong": np.zeros((B + 1, S, self.d)),
            "shape": np.zeros((B + 1, S, TERMS)),
            "value": np.zeros((B + 1, S)),
            "slope": np.zeros((B + 1, S)),
            "offset": np.zeros((B + 1, self.d + 1, self.d)),
            "corner": np.zeros((B + 1, self.d)),
        }
        odd = np.where(np.arange(TERMS) % 2 == 1, -1.0, 1.0)
        for k, (a, b) in enumerate(self.slots):
            at = np.flatnonzero(edge[:, k] >= 0)
            e = edge[at, k]
            turned = (T[at, a] > T[at, b])[:, None]
            rows["direction"][at, k], rows["wrong"][at, k] = P.direction[e], P.direction_error[e]
            rows["shape"][at, k] = np.where(turned, P.shape[e] * odd, P.shape[e])
            rows["value"][at, k], rows["slope"][at, k] = P.value_error[e], P.slope_error[e]
        rows["offset"][:-1] = self.offset[T]
        rows["corner"][:-1] = self.mesh.points[T[:, 0]]
        return rows

    @cached_property
    def _faces(self) -> FaceTable | None:
        if not len(self.patches.faces):
            return None
        return FaceTable.of(self.patches, self.mesh.cells[self.cells], len(self.mesh.points))

    def meets(self, x0: Vector, radius: float) -> bool:
        """Whether a ball may meet bent cells: by balls about them, with what the map moves them by."""
        V = self.vertices
        middle = V.mean(axis=1)
        wide = np.sqrt(((V - middle[:, None]) ** 2).sum(axis=2)).max(axis=1)
        away = np.sqrt(((middle - x0) ** 2).sum(axis=1))
        return bool((away - 1.5 * wide <= radius * (1.0 + 1e-9)).any())

    def rows(self, X: Vector) -> Index:
        """The rows of the cells that hold points (N, d)."""
        return np.asarray(self.row_of[self.locator.locate(X)[0]])

    @cached_property
    def _seen(self) -> dict[str, Local]:
        return {}

    def at(self, coordinates: Sequence[TaylorModel]) -> Local:
        """Φ and J from models of the coordinates over simplices, each within one cell; the last ones are kept."""
        S = coordinates[0].space
        name = f"{S.d} {S.q} {digest(*(a for x in coordinates for a in (x.C[: 1 + S.d], x.e)))}"
        local = self._seen.get(name)
        if local is None:
            local = self._at(coordinates)
            if len(self._seen) >= KEPT:
                self._seen.clear()
            self._seen[name] = local
        return local

    def _at(self, coordinates: Sequence[TaylorModel]) -> Local:
        rows = self.rows(middles(coordinates))
        G, wrong = (g[rows] for g in self._gradients)
        table = {name: what[rows] for name, what in self._table.items()}
        d = self.d
        slope = [[constant(G[:, i, k], wrong[:, i, k]) for k in range(d)] for i in range(d + 1)]
        away = [x - constant(table["corner"][:, k]) for k, x in enumerate(coordinates)]
        lam = [total([slope[i][k] * away[k] for k in range(d)]) for i in range(1, d + 1)]
        lam = [constant(1.0) - total(lam), *lam]
        off = table["offset"]
        x = [loosened(v, off[:, :, k].max(axis=1)) for k, v in enumerate(coordinates)]  # curved.md, step 2c
        size = np.abs(G) + wrong
        J = [[self._identity(k, m, off, size) for m in range(d)] for k in range(d)]
        for s, (a, b) in enumerate(self.slots):
            columns = np.flatnonzero(table["direction"][:, s].any(axis=1))
            if columns.size:
                own = {name: table[name][columns, s] for name in ("direction", "wrong", "shape", "value", "slope")}
                at = [[constant(G[columns, i, k], wrong[columns, i, k]) for k in range(d)] for i in (a, b)]
                wide = size[columns][:, [a, b]].sum(axis=1)
                self._bend(columns, (taken(lam[a], columns), taken(lam[b], columns)), at, wide, own, x, J)
        if self._faces is not None:
            add_faces(self.patches, self._faces, rows, len(self.cells), lam, (G, wrong), x, J)
        return Local(tuple(x), tuple(tuple(row) for row in J), rows)

    @staticmethod
    def _identity(k: int, m: int, off: Vector, size: Vector) -> TaylorModel:
        """∂x_k/∂x_m with what the vertices' true places add."""
        N = len(off)
        lost = up((off[:, :, k] * size[:, :, m]).sum(axis=1), 16)  # curved.md, step 2c
        return constant(np.full(N, 1.0 if k == m else 0.0), lost)

    def _bend(
        self,
        columns: Index,
        lam: tuple[TaylorModel, TaylorModel],
        slope: list[list[TaylorModel]],
        size: Vector,
        own: dict[str, Vector],
        x: list[TaylorModel],
        J: list[list[TaylorModel]],
    ) -> None:
        """Add what one edge does to Φ and J over those simplices in whose cells it is bent."""
        a, b = lam
        half = constant(0.5)
        t = (b - a) * half
        c = own["shape"]
        top = int(np.max(np.flatnonzero(c.any(axis=0)), initial=0))
        q, dq = constant(c[:, top]), constant(top * c[:, top], UNIT * np.abs(top * c[:, top]))
        for j in range(top - 1, -1, -1):
            q = q * t + constant(c[:, j])
            if j > 0:
                dq = dq * t + constant(j * c[:, j], UNIT * np.abs(j * c[:, j]))
        q = loosened(q, own["value"])  # curved.md, step 2b
        both = a * b
        bent, bump, rises = both * q, both * dq, []
        for m in range(self.d):
            tilt = (slope[1][m] - slope[0][m]) * half
            rise = (b * slope[0][m] + a * slope[1][m]) * q + bump * tilt
            rises.append(loosened(rise, up(0.5 * own["slope"] * size[:, m], 8)))  # curved.md, step 2b
        for k in range(self.d):
            D = constant(own["direction"][:, k], own["wrong"][:, k])
            if not (own["direction"][:, k].any() or own["wrong"][:, k].any()):
                continue
            x[k] = replaced(x[k], columns, D * bent)
            for m, rise in enumerate(rises):
                J[k][m] = replaced(J[k][m], columns, D * rise)

    def drawn(self) -> Drawn:
        """Points of the bent edges, for pictures."""
        edges = self.profiles.edges
        A, B = (self.mesh.points[edges[:, i]] for i in (0, 1))
        share = np.arange(1, SEEN + 1) / (SEEN + 1.0)
        chord = A[:, None] + share[None, :, None] * (B - A)[:, None]
        return Drawn(edges, self.moved(chord.reshape(-1, self.d))[0].reshape(chord.shape))

    def _opposite(self, X: Vector, rows: Index) -> tuple[Vector, Vector]:
        """∇λ of the vertex opposite the boundary facet that holds each point, (N, d), and bounds of the error."""
        G, wrong = self._gradients
        lam = np.einsum("nik,nk->ni", G[rows], X - self._table["corner"][rows])
        lam[:, 0] += 1.0
        which = np.argmin(np.abs(lam), axis=1)
        found, error = G[rows, which], wrong[rows, which]
        found[rows == len(self.cells)] = np.eye(self.d)[0]
        return found, error

    def normals(self, X: Vector, rows: Index) -> Vector:
        """Unit normals, up to their sign, of the boundary facets that hold points, in floating point."""
        G, _ = self._opposite(X, rows)
        return np.asarray(G / np.sqrt((G * G).sum(axis=1))[:, None])

    def normal_models(self, coordinates: Sequence[TaylorModel], rows: Index) -> list[TaylorModel]:
        """The same as models over parts of boundary facets."""
        G, wrong = self._opposite(middles(coordinates), rows)
        parts = [constant(G[:, k], wrong[:, k]) for k in range(self.d)]
        size = functions.sqrt(total([g * g for g in parts]))
        return [g / size for g in parts]

    def where(self, X: Vector) -> Moved:
        """Φ and J at points; the last ones are kept: all entries of A ask for the same."""
        name = digest(X)
        moved = self._last.get(name)
        if moved is None:
            moved = Moved(*self.moved(X))
            while len(self._last) >= ASKED:
                self._last.pop(next(iter(self._last)))
            self._last[name] = moved
        return moved

    @cached_property
    def _last(self) -> dict[str, Moved]:
        return {}

    def moved(self, X: Vector, rows: Index | None = None) -> tuple[Vector, Vector, Index]:
        """Φ (N, d) and J (N, d, d) at points of the straight mesh in floating point, and the rows of their cells."""
        X = np.asarray(X, dtype=np.float64)
        rows = self.rows(X) if rows is None else rows
        G = self._gradients[0][rows]
        table = {name: what[rows] for name, what in self._table.items()}
        away = X - table["corner"]
        lam = np.einsum("nik,nk->ni", G, away)
        lam[:, 0] += 1.0
        Y, J = X.copy(), np.broadcast_to(np.eye(self.d), (len(X), self.d, self.d)).copy()
        powers = np.arange(TERMS)
        for s, (a, b) in enumerate(self.slots):
            t = 0.5 * (lam[:, b] - lam[:, a])
            c = table["shape"][:, s]
            q = (c * t[:, None] ** powers).sum(axis=1)
            dq = (c[:, 1:] * powers[1:] * t[:, None] ** powers[:-1]).sum(axis=1)
            both = lam[:, a] * lam[:, b]
            rise = (lam[:, b, None] * G[:, a] + lam[:, a, None] * G[:, b]) * q[:, None]
            rise = rise + (0.5 * both * dq)[:, None] * (G[:, b] - G[:, a])
            D = table["direction"][:, s]
            Y += D * (both * q)[:, None]
            J += D[:, :, None] * rise[:, None, :]
        if self._faces is not None:
            move_faces(self.patches, self._faces, rows, len(self.cells), lam, G, Y, J)
        return Y, J, rows


def edge_rows(edges: Index, wanted: Index, n: int) -> Index:
    """Where each wanted edge is among `edges`, both (…, 2) with the smaller of n vertices first; −1 where it is not."""
    known = edges[:, 0] * n + edges[:, 1]
    order = np.argsort(known, kind="stable")
    key = wanted[:, 0] * n + wanted[:, 1]
    at = order[np.minimum(np.searchsorted(known[order], key), len(known) - 1)]
    return np.where(known[at] == key, at, -1)


def middles(coordinates: Sequence[TaylorModel]) -> Vector:
    """A point inside each simplex, (N, d), from models of its coordinates."""
    S = coordinates[0].space
    m = S.d
    place = np.array([(m + 1 - 2 * i) / (m + 1) for i in range(1, m + 1)])
    found = []
    for x in coordinates:
        value = x.C[0].copy()
        for i in range(m):
            value = value + place[i] * x.C[1 + i]
        found.append(value)
    return np.stack(found, axis=1)


def taken(model: TaylorModel, columns: Index) -> TaylorModel:
    """The model over some of its simplices."""
    if len(columns) == len(model.e):
        return model
    return TaylorModel(model.space, np.ascontiguousarray(model.C[:, columns]), model.e[columns])


def loosened(model: TaylorModel, more: Vector) -> TaylorModel:
    """The same with a larger remainder."""
    if not np.any(more):
        return model
    return settled(model.space, model.C, up(model.e + more, 2))


def total(parts: Sequence[TaylorModel]) -> TaylorModel:
    """The sum."""
    model = parts[0]
    for part in parts[1:]:
        model = model + part
    return model


def cofactors(J: Sequence[Sequence[TaylorModel]]) -> tuple[tuple[TaylorModel, ...], ...]:
    """The matrix det J · J^{−T}."""
    if len(J) == 2:
        (a, b), (c, d) = J
        return (d, -c), (-b, a)
    found = []
    for i in range(3):
        p, q = J[i - 2], J[i - 1]
        found.append(tuple(p[k - 2] * q[k - 1] - p[k - 1] * q[k - 2] for k in range(3)))
    return tuple(found)
