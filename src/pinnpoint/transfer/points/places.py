"""Where a point lies: on a facet, in the domain, in which cell; what must be sure is decided in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.topology import Topology


def facet_at(T: Topology, facets: Index, x0: Vector) -> int | None:
    """The one of these facets that holds x0, decided in exact arithmetic.

    Refuses a point of a slit, where boundary facets lie on each other and the solution has two values.
    """
    found = _facets_at(T, facets, x0)
    if not found:
        return None
    first = set(T.facets[found[0]].tolist())
    for other in _facets_at(T, np.flatnonzero(T.boundary), x0):
        shared = sorted(first & set(T.facets[other].tolist()))
        if other != found[0] and not _in_hull(_about(T.points[shared], x0)):
            raise InputError(
                f"the point {x0.tolist()} lies on both sides of a slit, where the solution has two values; ask for an "
                "average over the boundary group of one side"
            )
    return found[0]


def _facets_at(T: Topology, facets: Index, x0: Vector) -> list[int]:
    """Those of these facets that hold x0."""
    V = T.points[T.facets[facets]]
    near = np.nonzero(np.all((V.min(axis=1) <= x0) & (x0 <= V.max(axis=1)), axis=1))[0]
    return [int(facets[i]) for i in near.tolist() if _holds_origin(_about(V[i], x0))]


def _about(points: Vector, x0: Vector) -> list[list[Fraction]]:
    """Exact differences to x0."""
    return [[Fraction(float(c)) - Fraction(float(a)) for c, a in zip(v, x0, strict=True)] for v in points]


def _in_hull(corners: list[list[Fraction]]) -> bool:
    """Whether the origin is one of the corners, or between two of them."""
    pairs = [(p, q) for i, p in enumerate(corners) for q in corners[:i]]
    d = len(corners[0]) if corners else 0
    return any(not any(p) for p in corners) or any(
        all(p[i] * q[j] == p[j] * q[i] for i in range(d) for j in range(i))
        and sum(a * b for a, b in zip(p, q, strict=True)) <= 0
        for p, q in pairs
    )


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
    low, high = T.boxes
    near = np.flatnonzero((low[0] <= x0[0]) & (x0[0] <= high[0]))
    for i, x in enumerate(x0[1:], 1):  # cells that hold x0 are among these
        near = near[(low[i][near] <= x) & (x <= high[i][near])]
    near = near if len(near) else np.arange(len(T.cells))
    bary = np.einsum("kix,kx->ik", T.gradients[near, 1:], x0 - T.points[T.cells[near, 0]])
    return int(near[np.argmax(np.minimum(bary.min(axis=0), 1.0 - bary.sum(axis=0)))])
