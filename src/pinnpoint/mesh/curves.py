"""Boundaries that look like curves or curved surfaces, which a mesh of straight cells only approximates.

Nothing here is a proof: a polygon of many small turns is taken for a curve, and its distance from it is that of the
circle through the same turns. Corners are not: squares, hexagons and octagons turn by 90, 60 and 45 degrees.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.facets import both, edge_table, facet_keys
from pinnpoint.mesh.mesh import BOUNDARY, Mesh

FLAT = 1e-4
"""Turns below this many radians are rounding of coordinates in files: no curve that is meshed turns so little."""
CORNER = np.deg2rad(41.0)
"""A turn by more is a corner; the icosahedron's faces turn by 41.8 degrees."""
REFINED_CORNER = np.deg2rad(20.0)
"""The same where a straight side has several facets: of a curve, only refinement makes such."""
FEWEST = 4
"""Turns in a row, or planes side by side, that make a curve."""
MOST_NAMES = 8
BORDER = ""
"""The name of what lies between groups of cells and is no group itself."""
APART = 3.0
"""A side longer than its neighbours by this factor is straight between two curves."""


@dataclass(frozen=True)
class Curve:
    """A part of the boundary that looks curved.

    Attributes
    ----------
    group
        The boundary group that its facets belong to.
    facets
        How many there are.
    turn
        How much one turns against the next, in degrees; the median.
    gap
        The largest distance from the curve, about.
    """

    group: str
    facets: int
    turn: float
    gap: float


@dataclass(frozen=True, eq=False)
class Bent:
    """Facets that look curved: their vertices, how much each turns, and their distances from the curve."""

    facets: Any
    turn: Vector
    gap: Vector


def curves(mesh: Mesh, bodies: Index | None = None) -> tuple[Curve, ...]:
    """The boundary groups that look curved, each facet counted in the smallest group that has it.

    With numbers of `bodies` for the cells, the borders between these instead.
    """
    if mesh.dim == 1 or (bodies is not None and not np.any(bodies)):
        return ()
    sheet = _outer(mesh) if bodies is None else _between(mesh, bodies)
    bent = (_in_the_plane if mesh.dim == 2 else _in_space)(mesh, *sheet)
    if not len(bent.facets):
        return ()
    keys = facet_keys(bent.facets, len(mesh.points))
    names = [*sorted(mesh.facet_groups, key=lambda g: -len(mesh.facet_groups[g]))]
    owner = np.full(len(keys), -1)
    for i, name in enumerate(names):
        owner[np.isin(keys, facet_keys(mesh.facet_groups[name], len(mesh.points)))] = i
    found = []
    for i in np.unique(owner).tolist():
        at = owner == i
        name, turn = (
            (BOUNDARY if bodies is None else BORDER) if i < 0 else names[i],
            float(np.rad2deg(np.median(bent.turn[at]))),
        )
        found.append(Curve(name, int(at.sum()), turn, float(bent.gap[at].max())))
    return tuple(sorted(found, key=lambda curve: -curve.gap))


def curve_notes(mesh: Mesh, known: Collection[str] = (), bodies: Index | None = None) -> tuple[str, ...]:
    """For people: what looks curved, and how far the mesh is from it; nothing where all is straight.

    Groups that are `known` have curves of their own. Borders between `bodies` are told of after the boundary.
    """
    notes = _told(mesh, [curve for curve in curves(mesh) if curve.group not in known])
    inside = [] if bodies is None else [curve for curve in curves(mesh, bodies) if curve.group not in known]
    if inside:
        what = "polygon" if mesh.dim == 2 else "polyhedron"
        notes += (
            f"the border between groups of cells with other data looks curved ({sum(c.facets for c in inside)} "
            f"facets); intervals are for the {what} that these facets bound; its distance from the curve is about "
            f"{inside[0].gap:.2g}",
        )
    return notes


def _told(mesh: Mesh, found: list[Curve]) -> tuple[str, ...]:
    if not found:
        return ()
    body, what = ("polygon", "curve") if mesh.dim == 2 else ("polyhedron", "curved surface")
    names = ", ".join(f"'{curve.group}'" for curve in found[:MOST_NAMES]) + (", …" if len(found) > MOST_NAMES else "")
    low, high = (f"{turn:.3g}" for turn in (min(c.turn for c in found), max(c.turn for c in found)))
    turning = f"turning by about {low if low == high else f'{low} to {high}'}° each"
    look = f"the boundary {names} looks" if len(found) == 1 else f"the boundaries {names} look"
    where = "" if len(found) == 1 else f", most at '{found[0].group}'"
    return (
        f"{look} curved ({sum(c.facets for c in found)} facets {turning}); intervals are of the {body}; its distance "
        f"from the {what} is about {found[0].gap:.2g}{where}",
    )


def _outer(mesh: Mesh) -> tuple[Any, Any]:
    """Boundary facets (F, d), and the vertex opposite each of them."""
    unique, opposite, count = mesh._facet_table
    row, cell = np.nonzero(count[opposite] == 1)
    return unique[opposite[row, cell]], mesh.cells[cell, mesh.dim - row]


def _between(mesh: Mesh, bodies: Index) -> tuple[Any, Any]:
    """Facets between bodies (F, d), and the vertex opposite each of them in that with the lower number."""
    unique, opposite, count = mesh._facet_table
    one, two = both(opposite, np.broadcast_to(bodies, opposite.shape), len(count))
    low = np.where((count == 2) & (one != two), np.minimum(one, two), -1)
    row, cell = np.nonzero(low[opposite] == bodies)
    return unique[opposite[row, cell]], mesh.cells[cell, mesh.dim - row]


def _in_the_plane(mesh: Mesh, edges: Any, inner: Any) -> Bent:
    """Sides are runs of facets in line; a curve is a run of sides that turn the same way by small angles."""
    X, n = mesh.points, len(mesh.points)
    d, e = X[edges[:, 1]] - X[edges[:, 0]], X[inner] - X[edges[:, 0]]
    clockwise = d[:, 0] * e[:, 1] < d[:, 1] * e[:, 0]
    tail, head = np.where(clockwise, edges[:, 1], edges[:, 0]), np.where(clockwise, edges[:, 0], edges[:, 1])
    d = X[head] - X[tail]
    after = np.full(n, -1)
    after[tail] = np.arange(len(tail))
    once = (np.bincount(tail, minlength=n) == 1) & (np.bincount(head, minlength=n) == 1)
    follows = np.where(once[head], after[head], -1)  # the facet after each one
    joined = np.flatnonzero(follows >= 0)
    f = follows[joined]
    turn = np.zeros(len(tail))  # at the head of each facet
    cross = d[joined, 0] * d[f, 1] - d[joined, 1] * d[f, 0]
    turn[joined] = np.arctan2(cross, (d[joined] * d[f]).sum(axis=1))
    flat = (follows >= 0) & (np.abs(turn) < FLAT)
    side = _components(len(tail), np.flatnonzero(flat), follows[flat])
    length = np.bincount(side, np.hypot(d[:, 0], d[:, 1])).astype(np.float64)
    refined = np.bincount(side) > 1
    at = np.flatnonzero((follows >= 0) & ~flat)  # turns, each at the head of a facet
    one, two, angle = side[at], side[follows[at]], turn[at]
    small = np.abs(angle) < np.where(refined[one] | refined[two], REFINED_CORNER, CORNER)
    one, two, angle = one[small], two[small], angle[small]
    return _arcs(edges, side, length, one, two, angle)


def _arcs(edges: Index, side: Index, length: Vector, one: Index, two: Index, angle: Vector) -> Bent:
    """Curves among sides, given the small turns from side `one` to side `two`."""
    S, T = len(length), np.arange(len(one))
    first, last = np.full(S, -1), np.full(S, -1)  # turns at both ends of a side
    last[one], first[two] = T, T
    inner = np.flatnonzero((first >= 0) & (last >= 0))
    a, b = first[inner], last[inner]
    near = length[inner] <= APART * np.maximum(length[one[a]], length[two[b]])
    alike = near & (np.sign(angle[a]) == np.sign(angle[b]))
    inner, a, b = inner[alike], a[alike], b[alike]
    run = _components(len(one), a, b)
    many = (np.bincount(run, minlength=1) >= FEWEST)[run] if len(run) else np.zeros(0, dtype=bool)
    share = np.abs(angle) / np.maximum(length[one] + length[two], 1e-300)  # of a turn, per length of a side
    ends = np.zeros((2, S))
    ends[0, inner], ends[1, inner] = share[a] * many[a], share[b] * many[b]
    for mine, others, which in ((first, one, 0), (last, two, 1)):  # a run ends in a corner
        lone = np.flatnonzero((mine >= 0) & ((first < 0) | (last < 0)))
        t = mine[lone]
        fits = many[t] & (length[lone] <= 1.5 * length[others[t]])
        ends[which, lone[fits]] = ends[1 - which, lone[fits]] = share[t[fits]]
    curved = np.flatnonzero((ends > 0.0).all(axis=0))
    L = length[curved]
    gap = 0.5 * L * np.tan(0.25 * L * ends[:, curved].sum(axis=0))
    turns = L * ends[:, curved].sum(axis=0)
    representative = np.zeros(S, dtype=np.intp)
    representative[side] = np.arange(len(side))
    return Bent(edges[representative[curved]], turns, gap)


def _in_space(mesh: Mesh, faces: Any, inner: Any) -> Bent:
    """A curved surface: triangles all of whose vertices lie on edges that bend a little."""
    X = mesh.points
    A, B, C = (X[faces[:, k]] for k in range(3))
    normal = np.cross(B - A, C - A)
    normal *= np.where(((X[inner] - A) * normal).sum(axis=1) > 0.0, -1.0, 1.0)[:, None]
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    ends, edge, count = edge_table(faces, len(X))
    one, two = both(edge, np.broadcast_to(np.arange(len(faces)), edge.shape), len(count))
    pair = count == 2
    cross = np.linalg.norm(np.cross(normal[one], normal[two]), axis=1)
    turn = np.where(pair, np.arctan2(cross, (normal[one] * normal[two]).sum(axis=1)), np.pi)
    bends, smooth = (turn >= FLAT) & (turn < CORNER), turn < CORNER
    bent = np.zeros(len(X), dtype=bool)
    bent[ends[bends].ravel()] = True
    curved = bent[faces].all(axis=1)
    inside = smooth & curved[one] & curved[two]
    part = _components(len(faces), one[inside], two[inside])
    planes = _components(len(faces), one[turn < FLAT], two[turn < FLAT])
    sheets = np.unique(np.stack([part[curved], planes[curved]]), axis=1)[0]
    enough = np.bincount(sheets, minlength=len(faces))[part] >= FEWEST
    curved &= enough & (np.bincount(part[curved], minlength=len(faces))[part] >= 2 * FEWEST)
    which = np.flatnonzero(curved)
    turns = np.where(inside[edge[:, which]], turn[edge[:, which]], 0.0).max(axis=0, initial=0.0)
    return Bent(faces[which], turns, _gaps(X, faces[which], normal[which], part[which]))


def _gaps(X: Vector, faces: Index, normal: Vector, part: Index) -> Vector:
    """Distances of triangles from the surface with their vertices and mean normals: at edges, or at the centroid.

    An edge c between normals m and n lies |(m − n)·c| / 8 below the arc through its ends; the centroid of the quadratic
    with these heights at the midpoints is 4/9 of their sum up.
    """
    corner, at = np.unique(np.stack([np.repeat(part, 3), faces.ravel()]), axis=1, return_inverse=True)
    P = X[faces]
    weight = np.empty(faces.shape)
    for k in range(3):
        u, v = P[:, (k + 1) % 3] - P[:, k], P[:, (k + 2) % 3] - P[:, k]
        weight[:, k] = np.arctan2(np.linalg.norm(np.cross(u, v), axis=1), (u * v).sum(axis=1))
    at = at.reshape(-1)
    mean = [np.bincount(at, (weight * normal[:, [i]]).ravel(), minlength=corner.shape[1]) for i in range(3)]
    m = np.stack(mean, axis=1)
    m = (m / np.maximum(np.linalg.norm(m, axis=1), 1e-300)[:, None])[at].reshape(*faces.shape, 3)
    height = np.stack(
        [np.abs(((m[:, i] - m[:, j]) * (P[:, i] - P[:, j])).sum(axis=1)) / 8.0 for i, j in ((0, 1), (1, 2), (2, 0))]
    )
    return np.asarray(np.maximum(height.max(axis=0, initial=0.0), height.sum(axis=0) * 4.0 / 9.0))


def _components(count: int, one: Index, two: Index) -> Any:
    """The number of the connected part that each of so many things belongs to."""
    one, two = np.asarray(one, dtype=np.int32), np.asarray(two, dtype=np.int32)  # as SciPy before 1.15 needs them
    graph = sp.csr_matrix((np.ones(len(one), dtype=np.int8), (one, two)), shape=(count, count))
    return connected_components(graph, directed=False)[1]
