"""Simplices with floating-point error: volumes and gradients of barycentric coordinates, and how far off they may be.

Arrays here keep the cells on the last axis, so that each operation runs over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import CertificationError
from pinnpoint.rounding.arithmetic import gamma, up


@dataclass(frozen=True, eq=False)
class Shapes:
    """Geometry of a chunk of cells.

    With float coordinates taken as exact, every difference v_l − v_i carries one rounding. Determinants and cofactors
    are sums of at most 6 products of at most 3 differences, so that |fl(det) − det| ≤ γ₁₀ perm(|E|), perm the same sum
    with absolute values; `slack` is that error relative to |det|.

    Attributes
    ----------
    vertices
        (d + 1, d, n).
    volume
        |K| as computed, (n,); true to the relative error `slack`.
    gradients
        ∇λ_i as computed, (d + 1, d, n).
    steep
        Upper bounds S of max_{i, component} of the sum of absolute products behind ∇λ_i; each component of ∇λ_i is true
        to the absolute error ``slack * steep``.
    diameter
        Upper bounds of the longest edge, (n,).
    slack
        (n,).
    """

    vertices: Vector
    volume: Vector
    gradients: Vector
    steep: Vector
    diameter: Vector
    slack: Vector

    @property
    def d(self) -> int:
        """Space dimension."""
        return int(self.vertices.shape[1])

    @classmethod
    def of(cls, points: Vector, cells: Index) -> Shapes:
        """Shapes of cells given by vertex numbers (n, d + 1)."""
        V = np.ascontiguousarray(np.moveaxis(points[cells], 0, -1))
        d = V.shape[1]
        E = V[1:] - V[0]
        signed, sizes = cofactors(E), cofactors(np.abs(E), absolute=True)
        det = np.einsum("cn,cn->n", E[0], signed[0])
        permanent = np.einsum("cn,cn->n", np.abs(E[0]), sizes[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            raw = gamma(10) * permanent / np.abs(det)  # continuous.md, step 8f
            # 1/det is off by raw/(1 − raw); a few more roundings enter where it is used
            slack = np.where(raw < 0.01, up(raw / (1.0 - raw) + gamma(8), 8), np.inf)
        if not np.all(np.isfinite(slack)):
            cell = int(np.argmin(np.isfinite(slack)))
            raise CertificationError(
                f"mesh: the cell with vertices {cells[cell].tolist()} is too flat for its volume to be enclosed"
            )
        G = np.empty_like(V)
        G[1:] = signed / det
        G[0] = -G[1:].sum(axis=0)
        steep = sizes.max(axis=(0, 1)) / np.abs(det) * d
        edges = [((V[i] - V[j]) ** 2).sum(axis=0) for i in range(d + 1) for j in range(i)]
        h = np.sqrt(np.max(edges, axis=0))
        return cls(V, np.abs(det) / factorial(d), G, up(steep, 16), up(h, 8), slack)


def cofactors(E: Vector, *, absolute: bool = False) -> Vector:
    """Rows C_i with E_j · C_i = det δ_ij, or the same sums of absolute products."""
    d, sign = len(E), 1.0 if absolute else -1.0
    if d == 1:
        return np.ones_like(E)
    if d == 2:
        (a, b), (c, e) = E
        return np.stack([np.stack([e, sign * c]), np.stack([sign * b, a])])

    def cross(p: Vector, q: Vector) -> Vector:
        return np.stack(
            [
                p[1] * q[2] + sign * p[2] * q[1],
                p[2] * q[0] + sign * p[0] * q[2],
                p[0] * q[1] + sign * p[1] * q[0],
            ]
        )

    return np.stack([cross(E[1], E[2]), cross(E[2], E[0]), cross(E[0], E[1])])
