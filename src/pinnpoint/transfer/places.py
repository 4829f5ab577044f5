"""Where a point lies: on a facet, in the domain, in which cell; what must be sure is decided in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.topology import Topology


def facet_at(T: Topology, facets: Index, x0: Vector) -> int | None:
    """The one of these facets that holds x0, decided in exact arithmetic."""
    V = T.points[T.facets[facets]]
    near = np.nonzero(np.all((V.min(axis=1) <= x0) & (x0 <= V.max(axis=1)), axis=1))[0]
    x = [Fraction(float(c)) for c in x0]
    for i in near.tolist():
        corners = [[Fraction(float(c)) - a for c, a in zip(v, x, strict=True)] for v in V[i]]
        if _holds_origin(corners):
            return int(facets[i])
    return None


def _holds_origin(corners: list[list[Fraction]]) -> bool:
    """Whether the origin is in the simplex with these d corners in d dimensions."""
    if len(corners) == 1:
        return corners[0][0] == 0
    if len(corners) == 2:
        p, q = corners
        return p[0] * q[1] == p[1] * q[0] and p[0] * q[0] + p[1] * q[1] <= 0
    crosses = []
    for i in range(3):
        p, q = corners[i], corners[(i + 1) % 3]
        crosses.append([p[(k + 1) % 3] * q[(k + 2) % 3] - p[(k + 2) % 3] * q[(k + 1) % 3] for k in range(3)])
    normal = [sum(c[k] for c in crosses) for k in range(3)]
    flat = sum(n * c for n, c in zip(normal, corners[0], strict=True)) == 0
    return flat and all(sum(n * c for n, c in zip(normal, cross, strict=True)) >= 0 for cross in crosses)


def in_domain(T: Topology, x0: Vector) -> bool:
    """Whether a cell holds x0, decided in exact arithmetic."""
    V = T.points[T.cells]
    near = np.nonzero(np.all((V.min(axis=1) <= x0) & (x0 <= V.max(axis=1)), axis=1))[0]
    x = [Fraction(float(c)) for c in x0]
    for i in near.tolist():
        P = [[Fraction(float(c)) - a for c, a in zip(v, x, strict=True)] for v in V[i]]
        whole = _determinant([[a - b for a, b in zip(p, P[0], strict=True)] for p in P[1:]])
        signs = [(-1) ** k * _determinant([*P[:k], *P[k + 1 :]]) * whole >= 0 for k in range(len(P))]
        if all(signs):
            return True
    return False


def _determinant(M: list[list[Fraction]]) -> Fraction:
    if len(M) == 1:
        return M[0][0]
    rest = [[row[:k] + row[k + 1 :] for row in M[1:]] for k in range(len(M))]
    return sum(((-1) ** k * M[0][k] * _determinant(rest[k]) for k in range(len(M))), Fraction(0))


def cell_of(T: Topology, x0: Vector) -> int:
    """The cell with the least negative barycentric coordinates of x0, around which coefficients are constant."""
    P = T.points[T.cells[:, 0]]
    low = np.full(len(P), np.inf)
    rest = np.ones(len(P))
    for i in range(1, T.dim + 1):
        bary = np.einsum("kx,kx->k", T.gradients[:, i], x0 - P)
        rest -= bary
        np.minimum(low, bary, out=low)
    return int(np.argmax(np.minimum(low, rest)))
