"""Which cells of a mesh lie inside a ball, which its sphere may cut, and a mollifier on the former.

With vertices z_i scaled by R about x₀, t = 1 − |x − x₀|²/R² has the Bernstein coefficients 1 − z_j·z_l on a cell. One
whose vertices lie in the ball lies in it, for balls are convex. In a cell t ≤ max t(z_i) + q with q at most half the
square of the longest scaled edge (`pieces`), so that it is outside where that is below zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import factorial

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, up
from pinnpoint.taylor.bernstein import Density, pairs
from pinnpoint.transfer.points.profiles import Bump

NEAR = 2.0**-40
"""Vertices so close to the sphere count as outside, and cells as cut: more than the rounding of squares of lengths."""


@dataclass(frozen=True, eq=False)
class MeshCells:
    """Coordinates (d, N) and vertex numbers (d + 1, C), one array a component and a corner."""

    points: Vector
    nodes: Index

    @classmethod
    def of(cls, points: Vector, cells: Index) -> MeshCells:
        """From (N, d) and (C, d + 1)."""
        return cls(np.ascontiguousarray(points.T), np.ascontiguousarray(cells.T))

    @cached_property
    def volumes(self) -> tuple[Vector, Vector]:
        """Of all cells, and bounds of their rounding errors."""
        d = len(self.points)
        E = [[x[self.nodes[i]] - x[self.nodes[0]] for x in self.points] for i in range(1, d + 1)]
        det, permanent = _determinant(E)
        return np.abs(det) / factorial(d), np.asarray(up(gamma(16) * permanent, 16))

    @cached_property
    def longest(self) -> Vector:
        """Squares of the longest edges, roughly."""
        found = np.zeros(self.nodes.shape[1])
        for i, j in combinations(range(len(self.nodes)), 2):
            edge = sum((x[self.nodes[i]] - x[self.nodes[j]]) ** 2 for x in self.points)
            np.maximum(found, edge, out=found)
        return found

    @cached_property
    def widest(self) -> float:
        """The longest edge of all, roughly."""
        return float(np.sqrt(np.max(self.longest, initial=0.0)))

    def about(self, x0: Vector, radius: float) -> Ball:
        """Cells inside the ball, and those that it may cut, in ascending order."""
        z = (self.points - x0[:, None]) / radius
        square = np.einsum("xn,xn->n", z, z)
        least = square[self.nodes[0]]
        # the vertices of a cell that is met, inside or cut, lie within two of the longest edges of the ball
        near = np.flatnonzero(least <= (1.0 + NEAR) * (1.0 + 2.0 * self.widest / radius) ** 2)
        least = least[near]
        most = least.copy()
        for nodes in self.nodes[1:]:
            other = square[nodes[near]]
            np.minimum(least, other, out=least)
            np.maximum(most, other, out=most)
        inside = most <= 1.0 - NEAR
        met = least <= (1.0 + NEAR) * (1.0 + (0.5 / radius / radius) * self.longest[near])  # continuous.md, step 8c
        return Ball(self, z, near[inside], near[met & ~inside])


@dataclass(frozen=True, eq=False)
class Ball:
    """Scaled coordinates z (d, N), the cells inside, and those that the sphere may cut."""

    mesh: MeshCells
    z: Vector
    inside: Index
    cut: Index

    @property
    def near(self) -> Index:
        """Both."""
        return np.sort(np.concatenate([self.inside, self.cut]))

    def mollified(self, kernel: Bump) -> Density:
        """W = C t^k, k ≤ 1, on the cells inside: quadratics that are known but for rounding."""
        d, peak, n = len(self.z), kernel.peak, len(self.inside)
        beta, wrong = np.full((n, len(pairs(d))), peak), kernel.peak_error
        if kernel.profile.k == 1:
            corners = [self.z[:, nodes[self.inside]] for nodes in self.mesh.nodes]
            for p, (j, q) in enumerate(pairs(d)):
                beta[:, p] = peak * (1.0 - np.einsum("xn,xn->n", corners[j], corners[q]))
            # z to γ_{d+8} each, lengths at most 1, |1 − z_j·z_l| ≤ 2, and the product with the peak
            wrong = wrong + abs(peak) * (4.0 * gamma(d + 30) + 4.0 * UNIT)  # continuous.md, step 8c
        error = np.full(n, float(up(wrong, 8)) + TINY)
        return Density(beta, np.zeros(n), error, error.copy(), self.inside)


def both(one: Density, two: Density) -> Density:
    """Densities on cells of their own as one, cells in ascending order."""
    assert one.cells is not None
    assert two.cells is not None
    cells = np.concatenate([one.cells, two.cells])
    order = np.argsort(cells, kind="stable")
    beta, high, error1, error2 = (
        np.concatenate(parts)[order]
        for parts in (
            (one.coefficients, two.coefficients),
            (one.high, two.high),
            (one.error1, two.error1),
            (one.error2, two.error2),
        )
    )
    return Density(beta, high, error1, error2, cells[order], one.proved and two.proved)


def _determinant(E: list[list[Vector]]) -> tuple[Vector, Vector]:
    """Of matrices whose entries are arrays, and the same sum of absolute values."""
    if len(E) == 1:
        return E[0][0], np.abs(E[0][0])
    if len(E) == 2:
        one, two = E[0][0] * E[1][1], E[0][1] * E[1][0]
        return one - two, np.abs(one) + np.abs(two)
    det, size = np.zeros_like(E[0][0]), np.zeros_like(E[0][0])
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        one, two = E[1][j] * E[2][k], E[1][k] * E[2][j]
        det += E[0][i] * (one - two)
        size += np.abs(E[0][i]) * (np.abs(one) + np.abs(two))
    return det, size
