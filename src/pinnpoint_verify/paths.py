"""Coercivity of linear elements from a stored tree of cells, at linear cost. Part of the proof (docs/proofs.md, 3g–3i).

Witness: λ and μ of cells, `parent` (a root's is the cell itself), `depth`, `opposite` (which vertex a root's held facet
leaves out), `home` (a cell of each node) and one x > 0 a cell. Whatever they are, uᵀA₀u ≥ α₀|u|² is proved for the
exact stiffness A₀ of λ and μ, and A is compared with A₀ entry by entry; how they were found does not matter.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, Discrete, gamma, up
from pinnpoint_verify.reader import Array, Bundle, need

WIDE = float(np.finfo(np.longdouble).eps)
"""Twice the unit of extended precision, as the processor has it."""
CHUNK = 100_000
SLACK = 1.0 + 1e-9
"""For the few roundings of nonnegative quantities; what cancels has its own bound."""


def coercive(bundle: Bundle, d: Discrete, proof: dict[str, Any]) -> tuple[float, Array]:
    """Α and D = 1 with (B + Bᵀ)/2 ⪰ α D⁻², the claimed α once it is proved."""
    alpha, proved = float(proof["coercivity"]["alpha"]), path_coercivity(bundle, d, proof["components"])
    need(0.0 < alpha <= proved, f"coercivity: {alpha!r} is claimed, {proved!r} is proved by paths")
    return alpha, np.ones(len(d.free))


def path_coercivity(bundle: Bundle, d: Discrete, components: int) -> float:
    """Α with (B + Bᵀ)/2 ⪰ α I on the free unknowns: α₀ of the paths, less what A is off by."""
    nodes = bundle("mesh/nodes", None, None)
    n, m = nodes.shape
    need(
        m in (2, 3) and components in (1, m) and d.N == n * components, "paths: not linear elements in a plane or space"
    )
    cells = bundle("mesh/cells", None, m + 1, whole=n)
    need(len(cells) and np.all(np.diff(cells, axis=1) > 0), "mesh: vertices of a cell are not ascending")
    mu, lam = bundle("paths/mu", len(cells)), bundle("paths/lam", len(cells))
    elastic = components > 1
    need(elastic or not np.any(lam), "paths: λ of a scalar")
    least = np.minimum(2.0 * mu, (Ball(2.0 * mu) + Ball(lam) * float(m)).low) if elastic else mu
    need(np.all(least > 0.0), "paths: a cell has no stiffness")
    moving = np.zeros(d.N, dtype=bool)
    moving[d.free] = True
    shapes = Shapes(nodes, cells)
    floor = Paths(bundle, nodes, cells, moving.reshape(n, -1).any(axis=1)).bound(least * shapes.size, elastic)
    return (floor - stored_error(d, cells, shapes, (lam, mu), components)) * (1.0 - 1e-15)  # proofs.md, step 3i


class Shapes:
    """Gradients and volumes in extended precision, and relative bounds of their errors."""

    def __init__(self, nodes: Array, cells: Array) -> None:
        C, m = len(cells), nodes.shape[1]
        self.G, self.V = np.empty((C, m + 1, m), np.longdouble), np.empty(C, np.longdouble)
        self.slope, self.volume = np.empty(C), np.empty(C)
        for a in range(0, C, CHUNK):
            part = slice(a, a + CHUNK)
            self._measure(nodes[cells[part]].astype(np.longdouble), part)
        need(np.all(self.slope < 1e-6) and np.all(self.volume < 1e-10), "paths: a cell is too flat")
        self.size = self.V.astype(float) * (1.0 - 1e-9)
        self.steep = np.sqrt((self.G.astype(float) ** 2).sum(axis=2)) * SLACK
        """|∇λ_i| (C, m + 1)."""

    def _measure(self, P: Array, part: slice) -> None:
        """By cofactors; then the residual EᵀG − I, which bounds each gradient's error by a share of itself."""
        m = P.shape[2]
        E = P[:, 1:] - P[:, :1]
        e = np.abs(E)
        if m == 2:
            co = np.stack([E[:, 1, ::-1] * [1, -1], E[:, 0, ::-1] * [-1, 1]], axis=1)
            large = e[:, 0, 0] * e[:, 1, 1] + e[:, 0, 1] * e[:, 1, 0]
        else:
            co = np.stack([np.cross(E[:, (k + 1) % 3], E[:, (k + 2) % 3]) for k in range(3)], axis=1)
            sums = [e[:, 1, i - 2] * e[:, 2, i - 1] + e[:, 1, i - 1] * e[:, 2, i - 2] for i in range(3)]
            large = sum(e[:, 0, i] * s for i, s in enumerate(sums))
        det = sum(E[:, 0, i] * co[:, 0, i] for i in range(m))
        need(np.all(np.abs(det) > 0.0), "paths: a cell is too flat")
        G = co / det[:, None, None]
        first = -G.sum(axis=1)
        self.G[part, 0], self.G[part, 1:], self.V[part] = first, G, np.abs(det) / math.factorial(m)
        gap = np.einsum("nik,nil->nkl", E, G) - np.eye(m)
        loss = 8.0 * WIDE * (np.einsum("nik,nil->nkl", e, np.abs(G)) + np.eye(m))
        R = np.sqrt(((np.abs(gap) + loss) ** 2).sum(axis=(1, 2))).astype(float) * SLACK
        need(np.all(R < 0.1), "paths: a cell is too flat")
        summed = 4.0 * WIDE * (np.sqrt((G**2).sum(axis=2)).sum(axis=1) / np.sqrt((first**2).sum(axis=1))).astype(float)
        self.slope[part] = (R / (1.0 - R) * (1.0 + 2.0 * summed) + 2.0 * summed) * SLACK
        self.volume[part] = (16.0 * WIDE * large / np.abs(det)).astype(float) * SLACK


class Paths:
    """A forest of cells that begins at held facets."""

    def __init__(self, bundle: Bundle, nodes: Array, cells: Array, moving: Array) -> None:
        C, self.X, self.cells = len(cells), nodes, cells
        self.parent, self.depth = bundle("paths/parent", C, whole=C), bundle("paths/depth", C, whole=C)
        self.home, opposite = (
            bundle("paths/home", len(nodes), whole=C),
            bundle("paths/opposite", C, whole=cells.shape[1]),
        )
        self.x = bundle("paths/x", C)
        self.root = root = self.parent == np.arange(C)
        below = ~root
        fits = np.all(self.depth[root] == 0) and np.all(self.depth[below] == self.depth[self.parent[below]] + 1)
        need(fits, "paths: a cell is not one further than its parent")
        shared = (cells[:, :, None] == cells[self.parent][:, None, :]).any(axis=2)
        shared[root] = np.arange(cells.shape[1]) != opposite[root, None]
        need(np.all(shared.sum(axis=1) == cells.shape[1] - 1), "paths: a cell has no facet in common with its parent")
        self.facet = cells[shared].reshape(C, -1)
        need(np.all(~moving[self.facet[root]]), "paths: a root's facet is not held")
        self.nodes = np.nonzero(moving)[0]
        fits = np.all((cells[self.home[self.nodes]] == self.nodes[:, None]).any(axis=1))
        need(fits and self.x.min() > 1e-100, "paths: a node is not in its cell, or x is not positive")
        order = np.argsort(self.depth, kind="stable")
        self.levels = np.split(order, np.searchsorted(self.depth[order], np.arange(1, int(self.depth.max()) + 1)))

    def bound(self, stiffness: Array, elastic: bool) -> float:
        """1/max (MᵀM x)/x, from lower bounds of |K| times the energy over |∇u|² or |ε|²."""
        home, X, parent = self.home[self.nodes], self.X, self.parent
        blur = 32.0 * UNIT * float(np.abs(X).max())
        size: Any = lambda v: np.sqrt((v * v).sum(axis=1)) * SLACK + blur  # noqa: E731
        center, middle = X[self.cells].mean(axis=1), X[self.facet].mean(axis=1)
        own, above = size(middle - center), size(middle - center[parent])  # proofs.md, step 3g
        spread = size(X[self.nodes] - center[home])
        if elastic:
            turn = self._turns(home, middle, blur)
            own, above = own + turn, above + turn
        above[self.root] = 0.0  # held facets have no cell beyond them
        rigid = np.sqrt(stiffness) * (1.0 - 1e-9)
        strain, C = self.x / rigid, len(parent)
        total = own * strain + above * strain[parent]
        for level in self.levels[1:]:
            total[level] += total[parent[level]]
        u = spread * strain[home] + total[home]
        below = np.bincount(home, u, minlength=C)
        for level in self.levels[:0:-1]:
            np.add.at(below, parent[level], below[level])
        z = np.bincount(home, spread * u, minlength=C) + own * below
        z = (z + np.bincount(parent[~self.root], (above * below)[~self.root], minlength=C)) / rigid
        additions = 4 * (C + len(home) + len(self.levels)) + 64
        return 1.0 / (float(np.max(z / self.x)) * (1.0 + 2.0 * gamma(additions)) * SLACK)  # proofs.md, step 3h

    def _turns(self, home: Array, middle: Array, blur: float) -> Array:
        """How far a rotation about a facet moves what hangs on it: √(m₂/m₁) times the distance."""
        shape, P = middle.shape, self.X[self.nodes]
        low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
        lower: Any = np.minimum.at
        upper: Any = np.maximum.at
        lower(low, home, P)
        upper(high, home, P)
        for level in self.levels[:0:-1]:
            lower(low, self.parent[level], low[level])
            upper(high, self.parent[level], high[level])
        some = np.all(low <= high, axis=1)  # nothing hangs on the others
        arm = np.where(some[:, None], np.maximum(np.abs(low - middle), np.abs(high - middle)), 0.0)
        arm = (np.sqrt((arm * arm).sum(axis=1)) + blur) * SLACK
        if shape[1] == 2:
            return arm
        V = self.X[self.facet]
        t = ((V - middle[:, None]) ** 2).sum(axis=(1, 2)) * (1.0 + 1e-13)
        e, f = V[:, 1] - V[:, 0], V[:, 2] - V[:, 0]
        loss = 32.0 * UNIT * np.sqrt((e * e).sum(axis=1) * (f * f).sum(axis=1))
        twice = np.linalg.norm(np.cross(e, f), axis=1) - loss
        need(np.all(twice > 0.0), "paths: a facet has no area")
        q = twice**2 / 3.0 * (1.0 - 1e-13)  # m₁m₂ = 4A²/3, m₁ + m₂ = t
        return arm * (0.5 * (t + np.sqrt(np.maximum(t * t - 4.0 * q, 0.0) + 1e-14 * t * t)) / np.sqrt(q)) * SLACK


def stored_error(d: Discrete, cells: Array, shapes: Shapes, given: tuple[Array, Array], count: int) -> float:
    """Upper bound of ‖sym(A − A₀)‖ on the free unknowns: A against a reference, and that against A₀."""
    places = Places(cells, d.N // count)
    gap = Gap(d, count)
    for a, b in np.ndindex(count, count):
        gap.compare(a, b, places, places.summed(shapes, given, (a, b) if count > 1 else None))
    lam, mu = np.abs(given[0]), given[1]
    g = shapes.steep * (1.0 + shapes.slope)[:, None]
    exact = (2.0 + shapes.slope) * shapes.slope * (1.0 + shapes.volume) + shapes.volume
    rounded = WIDE * (places.most + 24.0) * 2.0
    weight = mu * (exact + rounded) if count == 1 else exact * (lam + 2.0 * mu) + rounded * (lam + 3.0 * mu)
    weight = weight * shapes.V.astype(float) * (1.0 + shapes.volume) * SLACK
    at_node = np.bincount(cells.ravel(), (weight[:, None] * g * g.sum(axis=1)[:, None]).ravel())
    return float(up((at_node.max() + gap.largest()) * SLACK))  # proofs.md, step 3i


class Places:
    """Nodes, then edges i < j, and the order in which entries of cells are summed."""

    def __init__(self, cells: Array, n: int) -> None:
        self.faces = [(i, i) for i in range(cells.shape[1])] + list(combinations(range(cells.shape[1]), 2))
        keys = np.concatenate([cells[:, i] * n + cells[:, j] for i, j in self.faces])
        self.order = np.argsort(keys, kind="stable")
        keys = keys[self.order]
        self.start = np.nonzero(np.diff(keys, prepend=-1))[0]
        self.first, self.second = np.divmod(keys[self.start], n)
        self.most = int(np.diff(np.append(self.start, len(keys))).max())

    def summed(self, shapes: Shapes, given: tuple[Array, Array], at: tuple[int, int] | None) -> Array:
        """Entries of the reference, of one pair of components."""
        (lam, mu), G, found = given, shapes.G, np.empty((len(self.faces), len(shapes.V)), np.longdouble)
        for row, (i, j) in zip(found, self.faces, strict=True):
            for c in range(0, len(mu), CHUNK):
                part = slice(c, c + CHUNK)
                g, h, V = G[part, i], G[part, j], shapes.V[part]
                k: Any = mu[part] * (g * h).sum(axis=1) if at is None or at[0] == at[1] else 0.0
                if at is not None:
                    k = k + lam[part] * g[:, at[0]] * h[:, at[1]] + mu[part] * g[:, at[1]] * h[:, at[0]]
                row[part] = V * k
        return np.add.reduceat(found.ravel()[self.order], self.start)


class Gap:
    """Half the sums of rows and columns of |A − reference| over the free unknowns."""

    def __init__(self, d: Discrete, count: int) -> None:
        self.number = np.full(d.N, -1)
        self.number[d.free] = np.arange(len(d.free))
        A, self.count, self.N = d.rows, count, d.N
        rows = np.repeat(d.free, np.diff(A.indptr))
        self.keys, self.data, self.sums = rows * d.N + A.indices, A.data, np.zeros(d.N)
        self.left = self.number[A.indices] >= 0

    def compare(self, a: int, b: int, places: Places, entries: Array) -> None:
        """With the components (a, b) of all blocks, and (b, a) of the transposed ones."""
        i, j = places.first * self.count + a, places.second * self.count + b
        self._add(i, j, entries)
        apart = places.first != places.second
        self._add(j[apart], i[apart], entries[apart])

    def _add(self, i: Array, j: Array, entries: Array) -> None:
        free = (self.number[i] >= 0) & (self.number[j] >= 0)
        i, j, entries = i[free], j[free], entries[free]
        at = np.searchsorted(self.keys, i * self.N + j)
        at = np.where(at < len(self.keys), at, 0)
        there = self.keys[at] == i * self.N + j
        off = np.abs(np.where(there, self.data[at], 0.0) - entries).astype(float) * SLACK
        self.left[at[there]] = False
        self._sum(i, j, off)

    def _sum(self, i: Array, j: Array, off: Array) -> None:
        for k in (i, j):
            self.sums += 0.5 * np.bincount(k, off, minlength=self.N)

    def largest(self) -> float:
        """With what A has where the mesh has nothing."""
        i, j = np.divmod(self.keys[self.left], self.N)
        self._sum(i, j, np.abs(self.data[self.left]))
        return float(self.sums.max()) * SLACK
