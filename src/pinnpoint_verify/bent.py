"""The map of a curved domain at points of its straight cells, for comparisons: docs/curved.md, section 5.

Φ(x) = x + Σ_e D_e λ_aλ_b Q_e(s) + Σ_F D_F λ₁λ₂λ₃ S_F(π). A second-order mesh has Q = 4 and the stored D. Over the
edges of a curve or a surface φ = 0 the height η = τ(1 − τ)Q along D, and over a face G = μ₁μ₂μ₃S along D_F, are found
by Newton's method at every point that is asked for, with their slopes: no polynomial of the bundle enters. Nothing
here is part of a proof, and nothing here can make a bundle verify: it can only refuse.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint_verify.domains import outer
from pinnpoint_verify.lifts import Jet, formula_jet
from pinnpoint_verify.reader import Array, Bundle, need

Row = dict[str, Any]
FINE = {2: 5, 3: 2}
"""How often facets are cut for distances from them."""
STEPS, ENOUGH = 12, 1e-15
"""Of Newton's method, at most, and when it ends; heights are against a chord."""
INSIDE = 1e-3
"""Nearer to an edge of a face S is extrapolated: it is 0/0 there."""
ON = 1e-11
"""How far from its curve a vertex may be, against the coordinates."""
LEFT = "that facets with all vertices on a curve are not part of it: {} of them"
DECLARED = "that the bent cells cover the curved domain once, and the map's distance from its polynomials"


class Bent:
    """Bent edges and faces of a bundle's cells."""

    def __init__(self, bundle: Bundle, proof: Row, case: Row, nodes: Array, cells: Array) -> None:
        self.nodes, self.cells, self.d = nodes, cells, nodes.shape[1]
        self.last: Any = None
        self.straight = 0  # boundary facets with all vertices on a curve that are not bent onto it
        groups, table = proof["bent"]["groups"], case.get("geometry") or {}
        need(isinstance(groups, list) and groups == list(table), "bent: other curves than in the case")
        self.groups, self.levels = groups, [level(table[group], self.d) for group in groups]
        n = len(nodes)
        self.edges = bundle("bent/edges", None, 2, whole=n)
        need(len(self.edges) and np.all(np.diff(self.edges, axis=1) > 0), "bent: edges that are none")
        self.D = bundle("bent/direction", len(self.edges), self.d)
        self.slots = list(combinations(range(self.d + 1), 2))
        keys = self.edges[:, 0] * n + self.edges[:, 1]
        need(np.all(np.diff(keys) > 0), "bent: edges are not in order")
        self.edge_of = np.stack([_find(keys, cells[:, a] * n + cells[:, b]) for a, b in self.slots], axis=1)
        need(len(np.unique(self.edge_of)) - np.any(self.edge_of < 0) == len(keys), "bent: edges of no cell")
        self.bent = np.any(self.edge_of >= 0, axis=1)
        self.faces, self.across = np.zeros((0, 3), dtype=int), np.zeros((0, 3))
        self.face_of = np.full(cells.shape, -1)
        if not groups:
            return
        self.group = bundle("bent/group", len(self.edges), whole=len(groups))
        facets = self.edges
        if self.d == 3:
            facets = self.faces = bundle("bent/faces", None, 3, whole=n)
            self.across = bundle("bent/across", len(facets), 3)
            self.face_group = bundle("bent/face_group", len(facets), whole=len(groups))
            names = (facets[:, 0] * n + facets[:, 1]) * n + facets[:, 2]
            need(np.all(np.diff(names) > 0), "bent: faces are not in order")
            for k in range(4):
                a, b, c = np.delete(cells, k, axis=1).T
                self.face_of[:, k] = _find(names, (a * n + b) * n + c)
            need(np.all(np.isin(np.arange(len(facets)), self.face_of)), "bent: faces of no cell")
            some = np.unique(np.concatenate([facets[:, [0, 1]], facets[:, [0, 2]], facets[:, [1, 2]]]), axis=0)
            need(np.array_equal(some, self.edges), "bent: edges that no bent face has")
        self._on_curves(facets)

    def _on_curves(self, facets: Array) -> None:
        """Vertices lie on their curves; in the plane directions are across the chords."""
        rim, kinds = outer(self.cells), self.group if self.d == 2 else self.face_group
        every = np.unique(np.concatenate([np.delete(self.cells, k, axis=1) for k in range(self.d + 1)]), axis=0)
        size = ON * float(np.abs(self.nodes).max())
        for k, text in enumerate(self.levels):
            at = np.unique(self.edges[self.group == k])
            need(len(at), "bent: a curve without facets")
            value, slope = level_at(text, self.nodes[at])
            far = np.abs(value) / np.sqrt((slope**2).sum(axis=1))
            need(np.all(far <= size), "bent: vertices are not on their curve")
            value, slope = level_at(text, self.nodes)
            near = np.abs(value) <= size * np.sqrt((slope**2).sum(axis=1))
            own = facets[kinds == k]
            inside = len(np.unique(np.concatenate([rim, own]), axis=0)) > len(rim)  # a border between coefficients
            self.straight += int(np.sum(near[every if inside else rim].all(axis=1))) - len(own)
        along = np.diff(self.nodes[self.edges], axis=1)[:, 0]
        across = np.abs((along * self.D).sum(axis=1)) <= 1e-12 * (along**2).sum(axis=1)
        need(self.d == 3 or np.all(across), "bent: a direction is not across its chord")

    def facets_agree(self, name: str, facets: Array) -> None:
        """The facets of a group of data that is a curve are those that are bent onto it."""
        if name not in self.groups:
            return
        k, own = self.groups.index(name), self.edges if self.d == 2 else self.faces
        mine = own[(self.group if self.d == 2 else self.face_group) == k]
        need(np.array_equal(np.unique(facets, axis=0), mine), f"bent: other facets than the group {name!r} has")

    def at(self, X: Array, cells: Array) -> tuple[Array, Array]:
        """Φ and J (n, q, d, d) at points (n, q, d) of these cells, or of facets of theirs; the last are kept."""
        known = self.last is not None and X.shape == self.last[0].shape and np.array_equal(cells, self.last[1])
        if not (known and np.array_equal(X, self.last[0])):
            self.last = np.array(X), np.array(cells), self._at(X, cells)
        found: tuple[Array, Array] = self.last[2]
        return found

    def _at(self, X: Array, cells: Array) -> tuple[Array, Array]:
        Y, J = np.array(X), np.broadcast_to(np.eye(self.d), (*X.shape, self.d)).copy()
        rows = np.nonzero(self.bent[cells])[0]
        if not len(rows):
            return Y, J
        T = self.cells[cells[rows]]
        V = self.nodes[T]
        inverse = np.linalg.inv(V[:, 1:] - V[:, :1]).swapaxes(1, 2)
        G = np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)
        lam = np.einsum("nik,nqk->nqi", G, X[rows] - V[:, :1])
        lam[..., 0] += 1.0
        y, j = Y[rows], J[rows]
        for s, (a, b) in enumerate(self.slots):
            some = np.nonzero(self.edge_of[cells[rows], s] >= 0)[0]
            if len(some):
                e = self.edge_of[cells[rows[some]], s]
                p, dp = self._edge(e, lam[some][..., a], lam[some][..., b], G[some, a], G[some, b])
                y[some] += p[..., None] * self.D[e][:, None]
                j[some] += self.D[e][:, None, :, None] * dp[:, :, None, :]
        for k in range(4 if len(self.faces) else 0):
            some = np.nonzero(self.face_of[cells[rows], k] >= 0)[0]
            if len(some):
                f, on = self.face_of[cells[rows[some]], k], [i for i in range(4) if i != k] + [k]
                p, dp = self._face(f, lam[some][..., on], G[some][:, on])
                y[some] += p[..., None] * self.across[f][:, None]
                j[some] += self.across[f][:, None, :, None] * dp[:, :, None, :]
        Y[rows], J[rows] = y, j
        need(np.all(np.linalg.det(J) > 0.0), "bent: a cell is turned over (sampled)")
        return Y, J

    def back(self, x0: Array, some: Array, name: str) -> tuple[int, Array]:
        """That cell, and the place in it."""
        V = self.nodes[self.cells[some]]
        Y = V.mean(axis=1, keepdims=True)
        inverse = np.linalg.inv((V[:, 1:] - V[:, :1]).swapaxes(1, 2))
        for _ in range(STEPS):
            P, J = self.at(Y, some)
            Y = Y - np.linalg.solve(J, (P - x0)[..., None])[..., 0]
            t = np.einsum("nij,nj->ni", inverse, Y[:, 0] - V[:, 0])
            lam = np.clip(np.concatenate([1.0 - t.sum(axis=1, keepdims=True), t], axis=1), 0.0, None)
            lam = lam / lam.sum(axis=1, keepdims=True)  # the nearest place inside, about
            inside = np.einsum("ni,nik->nk", lam, V)
            away, Y = np.abs(inside - Y[:, 0]).max(axis=1), inside[:, None]
        far = np.abs(self.at(Y, some)[0][:, 0] - x0).max(axis=1) + away
        need(far.min() <= 1e-9 * np.abs(self.nodes).max(), f"{name!r}: the point is outside the domain")
        return int(some[np.argmin(far)]), Y[np.argmin(far), 0]

    def followed(self, V: Array, cells: Array) -> Array:
        """Small parts of facets with corners (n, d, d) of cells, where they are in the domain."""
        parts, m = [np.eye(self.d)], self.d - 1
        for _ in range(FINE[self.d]):
            parts = [half @ T for T in parts for half in _halves(m)]
        return self.at(np.einsum("qi,nik->nqk", np.concatenate(parts), V), cells)[0].reshape(-1, self.d, self.d)

    def area(self, X: Array, cells: Array, V: Array) -> tuple[Array, Array]:
        """Φ and |cof(J) n| at points (n, q, d) of facets with corners V (n, d, d)."""
        Y, J = self.at(X, cells)
        E = V[:, 1:] - V[:, :1]
        n = np.stack([-E[:, 0, 1], E[:, 0, 0]], axis=1) if self.d == 2 else np.cross(E[:, 0], E[:, 1])
        n = n / np.linalg.norm(n, axis=1, keepdims=True)
        cof = np.linalg.det(J)[..., None, None] * np.linalg.inv(J).swapaxes(2, 3)
        return Y, np.linalg.norm(np.einsum("nqij,nj->nqi", cof, n), axis=2)

    def _edge(self, e: Array, a: Array, b: Array, da: Array, db: Array) -> tuple[Array, Array]:
        """λ_aλ_bQ and its gradient."""
        both, rise = a * b, b[..., None] * da[:, None] + a[..., None] * db[:, None]
        if not self.levels:
            return 4.0 * both, 4.0 * rise
        t = np.clip(0.5 * (1.0 + b - a), 0.0, 1.0)
        eta, slope, ends = self._height(e, t)
        bump = t * (1.0 - t)
        safe = bump > 1e-12
        Q = np.where(safe, eta / np.where(safe, bump, 1.0), np.where(t < 0.5, ends[0], -ends[1]))
        share = np.where(safe, both / np.where(safe, bump, 1.0), 0.0)
        steep = share * (slope - (1.0 - 2.0 * t) * Q)  # λ_aλ_bQ′
        return both * Q, rise * Q[..., None] + 0.5 * steep[..., None] * (db - da)[:, None]

    def _height(self, e: Array, t: Array) -> tuple[Array, Array, list[Array]]:
        """η and η′ at t on edges, and η′ at both ends."""
        A, along, D = self.nodes[self.edges[e, 0]], np.diff(self.nodes[self.edges[e]], axis=1)[:, 0], self.D[e]
        t = np.concatenate([t, np.zeros((len(t), 1)), np.ones((len(t), 1))], axis=1)
        base = A[:, None] + t[..., None] * along[:, None]
        eta, g = self._root(self.group[e], base, D)
        with np.errstate(all="ignore"):
            slope = -(g * along[:, None]).sum(axis=2) / (g * D[:, None]).sum(axis=2)
        return eta[:, :-2], slope[:, :-2], [slope[:, -2:-1], slope[:, -1:]]

    def _root(self, group: Array, base: Array, D: Array) -> tuple[Array, Array]:
        """The height along D over points (n, q, d) at which φ of their group vanishes, and ∇φ there."""
        eta, g = np.zeros(base.shape[:2]), np.zeros_like(base)
        with np.errstate(all="ignore"):
            for k in np.unique(group):
                some = np.nonzero(group == k)[0]
                for _ in range(STEPS):
                    value, slope = level_at(self.levels[k], base[some] + eta[some][..., None] * D[some, None])
                    step = value / (slope * D[some, None]).sum(axis=2)
                    eta[some] = eta[some] - step  # curved.md, step 5
                    if np.all(np.abs(step) <= ENOUGH):
                        break
                g[some] = slope
                need(np.all(np.abs(step) <= 1e-9), "bent: a curve is not found over its chord (sampled)")
        return eta, g

    def _face(self, f: Array, lam: Array, G: Array) -> tuple[Array, Array]:
        """λ₁λ₂λ₃S(π) and its gradient; the last coordinate is that of the vertex opposite the face."""
        pi = lam[..., :3] + lam[..., 3:] / 3.0
        S, S1, S2 = self._slope(f, pi)
        one, two, three = (lam[..., i] for i in range(3))
        bump = one * two * three
        pairs = np.stack([two * three, three * one, one * two], axis=2)
        d = G[:, :2] + G[:, 3:] / 3.0
        rise = np.einsum("nqi,nik->nqk", pairs, G[:, :3]) * S[..., None]
        return bump * S, rise + bump[..., None] * (S1[..., None] * d[:, None, 0] + S2[..., None] * d[:, None, 1])

    def _slope(self, f: Array, pi: Array) -> list[Array]:
        """S and its derivatives by μ₁ and μ₂ (μ₃ the rest); near edges from three places further inside."""
        near, found = np.any(pi < INSIDE, axis=2), []
        if not np.any(near):
            return self._inside(f, pi)
        for k in (1, 2, 3):
            t = np.where(near, 5.0 * k * INSIDE, 0.0)[..., None]
            found.append(self._inside(f, (1.0 - t) * pi + t / 3.0))
        return [np.where(near, 3.0 * x - 3.0 * y + z, x) for x, y, z in zip(*found, strict=True)]

    def _inside(self, f: Array, mu: Array) -> list[Array]:
        """The same where no coordinate is zero."""
        T = self.faces[f]
        V, n = self.nodes[T], len(self.nodes)
        P = np.einsum("nqi,nik->nqk", mu, V)
        turn = [np.broadcast_to((V[:, i] - V[:, 2])[:, None], P.shape).copy() for i in (0, 1)]
        keys = self.edges[:, 0] * n + self.edges[:, 1]
        unit = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
        for a, b in combinations(range(3), 2):
            e = _find(keys, T[:, a] * n + T[:, b])
            flat = np.broadcast_to(unit[a], (len(f), 2)), np.broadcast_to(unit[b], (len(f), 2))
            p, dp = self._edge(e, mu[..., a], mu[..., b], *flat)
            P = P + p[..., None] * self.D[e][:, None]
            turn = [x + dp[..., i, None] * self.D[e][:, None] for i, x in enumerate(turn)]
        height, g = self._root(self.face_group[f], P, self.across[f])
        rate, bump = (g * self.across[f][:, None]).sum(axis=2), mu.prod(axis=2)
        S = height / bump
        slopes = [-(g * x).sum(axis=2) / rate for x in turn]
        return [S, *((s - S * bump * (1.0 / mu[..., i] - 1.0 / mu[..., 2])) / bump for i, s in enumerate(slopes))]


def _halves(m: int) -> list[Array]:
    """Corners of the parts of a line or a triangle, cut at the middles of its sides."""
    if m == 1:
        return [np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.5, 0.5], [0.0, 1.0]])]
    e = np.eye(3)
    a, b, c = 0.5 * (e[0] + e[1]), 0.5 * (e[1] + e[2]), 0.5 * (e[2] + e[0])
    return [np.stack(T) for T in ((e[0], a, c), (a, e[1], b), (c, b, e[2]), (a, b, c))]


def _find(keys: Array, wanted: Array) -> Array:
    """Places among ascending keys; −1 where there is none."""
    if not len(keys):
        return np.full(wanted.shape, -1)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


def level_at(text: str, X: Array) -> tuple[Array, Array]:
    """φ (…,) and ∇φ (…, d) at points."""
    zero, unit = np.zeros(X.shape[:-1]), np.eye(X.shape[-1])
    slopes = [np.stack([np.full_like(zero, v) for v in row]) for row in unit]
    found = formula_jet(text, [Jet(X[..., i], slope, zero) for i, slope in enumerate(slopes)])
    return np.broadcast_to(found.v, zero.shape), np.moveaxis(np.broadcast_to(found.g, (len(unit), *zero.shape)), 0, -1)


def level(said: Row, d: int) -> str:
    """The formula that vanishes on what a case describes."""

    def numbers(word: str, count: int) -> list[float]:
        given: Any = said.get(word)
        need(isinstance(given, list) and len(given) == count, f"geometry: {word} must be {count} numbers")
        return [float(x) for x in given]

    def less(center: list[float]) -> list[str]:
        return [f"({v} - ({c!r}))" for v, c in zip("xyz", center, strict=False)]

    if "level" in said:
        return str(said["level"])
    if "ellipse" in said:
        (x, y), (a, b), t = less(numbers("ellipse", 2)), numbers("axes", 2), float(said.get("angle", 0.0))
        return f"((cos({t!r})*{x} + sin({t!r})*{y})/{a!r})**2 + ((cos({t!r})*{y} - sin({t!r})*{x})/{b!r})**2 - 1"
    radius = f"{float(said['radius'])!r}**2"
    if "cylinder" in said:
        p, along = less(numbers("cylinder", 3)), [f"({t!r})" for t in numbers("axis", 3)]
        across = " + ".join(f"({along[i - 2]}*{p[i - 1]} - {along[i - 1]}*{p[i - 2]})**2" for i in range(3))
        return f"({across})/(({' + '.join(f'{t}**2' for t in along)})*{radius}) - 1"
    word = "circle" if d == 2 else "sphere"
    return f"({' + '.join(f'{x}**2' for x in less(numbers(word, d)))})/{radius} - 1"
