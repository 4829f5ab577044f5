"""What a tree of cells does, with signs: tractions on its facets that put every cell in balance."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from pinnpoint.mesh.topology import Topology


def grid(d, n, rng=None, move=0.0):
    """n^d cubes in Kuhn's simplices, interior vertices moved at random."""
    X = np.stack(np.meshgrid(*[np.arange(n + 1)] * d, indexing="ij"), -1).reshape(-1, d) / n
    strides = (n + 1) ** np.arange(d)
    corner = np.flatnonzero(np.all(X < 1.0, axis=1))
    cells = [corner[:, None] + np.concatenate([[0], np.cumsum(p)]) for p in permutations(strides)]
    if rng is not None:
        inside = np.all((X > 0.0) & (X < 1.0), axis=1)
        X = X + move / n * rng.uniform(-1.0, 1.0, X.shape) * inside[:, None]
    return Topology(X, np.concatenate(cells))


def sides(T, axis, value):
    return T.boundary & np.all(T.points[T.facets][:, :, axis] == value, axis=1)


def cross(a, b):
    return np.cross(a, b) if a.shape[-1] == 3 else np.array([a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]])


def tractions(X, force, moment):
    """Facet moments (d, d) of force/|F| + ω × (x − x_F) with that force, and that moment about x_F."""
    d = len(X)
    y = X - X.mean(axis=0)
    if d == 2:
        omega = moment[0] / (y**2).sum()
        return force / d + omega * np.stack([-y[:, 1], y[:, 0]], axis=1)
    inertia = np.eye(3) * (y**2).sum() - y.T @ y
    return force / d + np.cross(np.linalg.solve(inertia, moment), y)


class Signed:
    """What the tree does, with signs: outward facet moments of ς for each cell, (C, facets, d, d)."""

    def __init__(self, tree, held, defects):
        T = tree.topology
        self.T, self.d = T, T.dim
        X = T.points[T.cells]
        self.centre = X.mean(axis=1)
        self.force = defects.sum(axis=1)
        self.moment = np.stack(
            [
                sum(cross(X[k] - self.centre[k], defects[k]))
                if self.d == 3
                else np.array([cross(X[k] - self.centre[k], defects[k]).sum()])
                for k in range(len(X))
            ]
        )
        self.m = np.zeros((len(X), self.d + 1, self.d, self.d))
        force, moment = self.force.copy(), self.moment.copy()
        for s in tree.supports:  # forces that balance the whole, found from the whole
            at = self.centre[s.root]
            total = force.sum(axis=0)
            turn = sum(self.moment[k] + cross(self.centre[k] - at, force[k]) for k in range(len(X)))
            e = np.eye(self.d)[s.components]
            G = np.stack(
                [np.concatenate([a, cross(T.points[v] - at, a)]) for v, a in zip(s.vertices, e, strict=True)], axis=1
            )
            phi = np.linalg.solve(G, -np.concatenate([total, turn]))
            for v, a, k, size in zip(s.vertices, e, s.cells, phi, strict=True):
                f = next(
                    j
                    for j in range(self.d + 1)
                    if held[T.cell_facets[k, j], a.argmax()] and v in T.facets[T.cell_facets[k, j]]
                )
                self.m[k, f, list(T.facets[T.cell_facets[k, f]]).index(v)] += size * a
                force[k] += size * a
                moment[k] += cross(T.points[v] - self.centre[k], size * a)
        for level in reversed(tree.levels):
            for k in level:
                f = tree.parent[k]
                F = T.points[T.facets[f]]
                turn = moment[k] + cross(self.centre[k] - F.mean(axis=0), force[k])
                m = tractions(F, -force[k], -turn)
                self.m[k, list(T.cell_facets[k]).index(f)] += m
                up = T.facet_cells[f].sum() - k if T.facet_cells[f, 1] >= 0 else -1
                if up >= 0:
                    self.m[up, list(T.cell_facets[up]).index(f)] -= m
                    force[up] += force[k]
                    moment[up] += turn + cross(F.mean(axis=0) - self.centre[up], force[k])

    def left(self):
        """Forces and moments of the cells with ς."""
        T, worst = self.T, 0.0
        for k in range(len(T.cells)):
            F, M = self.force[k].copy(), self.moment[k].copy()
            for j in range(self.d + 1):
                X = T.points[T.facets[T.cell_facets[k, j]]]
                F += self.m[k, j].sum(axis=0)
                for i in range(self.d):
                    M += cross(X[i] - self.centre[k], self.m[k, j, i])
            worst = max(worst, np.abs(F).max(), np.abs(M).max())
        return worst

    def slots(self):
        return np.linalg.norm(self.m, axis=3).sum(axis=(1, 2))

    def bounds(self):
        return np.linalg.norm(self.force, axis=1) * (1 + 1e-12), np.linalg.norm(self.moment, axis=1) * (1 + 1e-12)
