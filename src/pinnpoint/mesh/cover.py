"""Whether a mesh covers its domain once.

Let m(x) be the number of cells around x. Across a facet with two cells, one on either side, m does not change; so it
jumps at boundary facets only. Where cells overlap, m is 2 or more, and far away it is 0: somewhere on the way it falls
from 2 or more at a boundary facet whose cell lies on the upper side. That cell then overlaps another one. So it is
enough to look at the cells with a facet on the boundary, each against the cells around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.rounding.arithmetic import UNIT

TOUCH = 1e-9
"""Cells that reach this far into one another, against the extent of the mesh, touch for whoever made it: a slit."""
SHALLOW = 1e-3
"""But no further than this, against the thinner one's height; `ROUNDED` is added."""
ROUNDED = 64.0 * UNIT
"""What rounding may move a point of a cell; the largest coordinate lies between ½ and 1."""
CHUNK = 8192
"""Boundary cells that are worked on at a time."""
STEPS = 4
"""Classes of cells' sizes in an octave."""


class Overlap(NamedTuple):
    """Two cells with common inner points."""

    cells: tuple[int, int]
    near: Vector


def first_overlap(points: Vector, cells: Index, outer: Index) -> Overlap | None:
    """One pair of cells that overlap, if there is any.

    Parameters
    ----------
    points, cells
        Of a mesh whose neighbours lie on opposite sides of their common facet.
    outer
        The cells that have a facet on the boundary.
    """
    unit = float(2.0 ** np.frexp(np.max(np.abs(points)))[1])
    points = points / unit  # so that products of lengths stay in range
    low, high = _boxes(points, cells)
    touch = TOUCH * float(np.max(np.ptp(points, axis=0)))
    inner = np.ones(len(cells), dtype=bool)
    inner[outer] = False
    A = points[cells[outer]]
    N = _normals(A)[0]
    for row, other in _near(low, high, outer):
        close = _boxed(low, high, outer[row], other, inner)
        row, other = row[close], other[close]
        close = np.flatnonzero(~_beyond(N[row], A[row], points[cells[other]], ROUNDED))  # hardly any stay
        one, other = outer[row[close]], other[close]
        bad = _deep(points[cells[one]], points[cells[other]], touch)
        if bad.size:
            i, j = sorted((int(one[bad[0]]), int(other[bad[0]])))
            return Overlap((i, j), 0.5 * unit * (np.maximum(low[i], low[j]) + np.minimum(high[i], high[j])))
    return None


def _boxes(points: Vector, cells: Index) -> tuple[Vector, Vector]:
    """The lowest and highest coordinates of each cell."""
    low = points.take(cells[:, 0], axis=0)
    high = low.copy()
    for i in range(1, cells.shape[1]):
        vertex = points.take(cells[:, i], axis=0)
        np.minimum(low, vertex, out=low)
        np.maximum(high, vertex, out=high)
    return low, high


def _boxed(low: Vector, high: Vector, one: Index, other: Index, inner: NDArray[np.bool_]) -> Index:
    """Which pairs of two cells have boxes that overlap; one of the two pairs of boundary cells is enough."""
    found = (one < other) | inner[other]
    for axis in range(low.shape[1]):
        bottom, top = low[:, axis], high[:, axis]
        found &= np.minimum(top[one], top[other]) - np.maximum(bottom[one], bottom[other]) > ROUNDED
    return np.flatnonzero(found)


def _near(low: Vector, high: Vector, outer: Index) -> Iterator[tuple[Index, Index]]:
    """Places in ``outer`` and cells: at least all pairs whose boxes overlap; by sizes, so that they stay few."""
    middle, reach = 0.5 * (low + high), 0.5 * (high - low).max(axis=1)
    ordered = np.argsort(reach[outer])
    parts = [ordered[start : start + CHUNK] for start in range(0, len(ordered), CHUNK)]
    asked = [(part, scipy.spatial.cKDTree(middle[outer[part]]), float(reach[outer[part]].max())) for part in parts]
    size = np.floor(STEPS * np.log2(reach))
    for one in np.unique(size):
        members = np.flatnonzero(size == one)
        tree = scipy.spatial.cKDTree(middle[members], balanced_tree=False, compact_nodes=False)
        largest = float(reach[members].max())
        for part, own, far in asked:
            within = (largest + far) * (1.0 - 4.0 * UNIT)
            found = own.sparse_distance_matrix(tree, within, p=np.inf, output_type="ndarray")
            yield part[found["i"]], members[found["j"]]


def _deep(A: Vector, B: Vector, touch: float) -> Index:
    """Which pairs of simplices (P, d + 1, d) reach into one another: no axis of theirs separates them."""
    origin = A[:, :1]
    A, B = A - origin, B - origin
    M, k = _normals(B)
    keep = np.flatnonzero(~_beyond(M, B, A, ROUNDED))
    A, B, M, k = A[keep], B[keep], M[keep], k[keep]
    N, h = _normals(A)
    slack = (np.minimum(touch, SHALLOW * np.minimum(h, k)) + ROUNDED)[:, None]  # continuous.md, step 1e
    left = np.flatnonzero(~(_beyond(N, A, B, slack) | _beyond(M, B, A, slack)))
    if A.shape[2] == 3 and left.size:
        left = left[~_apart_by_edges(A[left], B[left], slack[left])]
    return np.asarray(keep[left])


def _normals(A: Vector) -> tuple[Vector, Vector]:
    """Inward unit normals of the facets opposite each vertex, (P, d + 1, d), and the smallest heights."""
    d = A.shape[2]
    N = np.empty_like(A)
    for i in range(d + 1):
        base = [j for j in range(d + 1) if j != i]
        edges = A[:, base[1:]] - A[:, base[:1]]
        N[:, i] = 1.0 if d == 1 else _across(edges)
    N /= np.linalg.norm(N, axis=2, keepdims=True)
    height = np.stack([np.einsum("pd,pd->p", N[:, i], A[:, i] - A[:, i - 1]) for i in range(d + 1)], axis=1)
    N *= np.where(height < 0.0, -1.0, 1.0)[..., None]
    return N, np.abs(height).min(axis=1)


def _across(edges: Vector) -> Vector:
    """A normal of edges (P, d − 1, d)."""
    if edges.shape[2] == 2:
        return np.stack([-edges[:, 0, 1], edges[:, 0, 0]], axis=1)
    return np.cross(edges[:, 0], edges[:, 1])


def _beyond(N: Vector, A: Vector, B: Vector, slack: Vector | float) -> NDArray[np.bool_]:
    """Whether a facet of A has B on its outer side."""
    own = np.einsum("pid,pid->pi", N, np.roll(A, 1, axis=1))
    highest = (B @ np.swapaxes(N, 1, 2)).max(axis=1)
    return np.asarray((highest - own <= slack).any(axis=1))


def _apart_by_edges(A: Vector, B: Vector, slack: Vector) -> NDArray[np.bool_]:
    """Whether an axis across an edge of either tetrahedron separates them."""
    i, j = np.triu_indices(4, 1)
    axes = np.cross((A[:, j] - A[:, i])[:, :, None], (B[:, j] - B[:, i])[:, None]).reshape(len(A), -1, 3)
    length = np.linalg.norm(axes, axis=2, keepdims=True)
    axes = np.swapaxes(axes / np.where(length > 0.0, length, np.nan), 1, 2)  # comparisons with nan are false
    a, b = A @ axes, B @ axes
    found = (a.max(axis=1) - b.min(axis=1) <= slack) | (b.max(axis=1) - a.min(axis=1) <= slack)
    return np.asarray(found.any(axis=1))
