"""That the bent boundary faces of a mesh of tetrahedra stay apart where they share no vertex.

On a face the displacement is at most b = Σ_e |D_e| max |Q_e|/4 over its edges, so that two faces whose triangles are
farther apart than the sum of their b do not meet. Faces that share a vertex are joined there, as the mesh says. See
docs/curved.md, step 1c.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import scipy

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.bent.maps import Bends, edge_rows
from pinnpoint.mesh.facets import facet_keys

MARGIN = 1e-9
CHUNK = 100_000


def require_apart(bends: Bends) -> None:
    """Refuse bent boundary faces that meet, or are not shown not to."""
    faces = bends.mesh.boundary
    V = bends.mesh.points[faces]
    reach = displacement(bends, faces)
    bent = reach > 0.0
    if not bent.any():
        return
    middle = V.mean(axis=1)
    wide = np.sqrt(((V - middle[:, None]) ** 2).sum(axis=2)).max(axis=1) + reach
    tree, some = scipy.spatial.cKDTree(middle), np.flatnonzero(bent)
    near = tree.query_ball_point(middle[some], (wide[some] + float(wide.max())) * (1.0 + MARGIN))
    one = np.repeat(some, [len(n) for n in near])
    two = np.concatenate([np.asarray(n, dtype=np.intp) for n in near])
    close = ((middle[one] - middle[two]) ** 2).sum(axis=1) <= ((wide[one] + wide[two]) * (1.0 + MARGIN)) ** 2
    one, two = one[close], two[close]
    shared = (faces[one][:, :, None] == faces[two][:, None]).any(axis=(1, 2))
    one, two = one[~shared], two[~shared]
    for start in range(0, len(one), CHUNK):
        a, b = one[start : start + CHUNK], two[start : start + CHUNK]
        gap = separation(V[a], V[b])
        bad = ~(gap > (reach[a] + reach[b]) * (1.0 + MARGIN) + MARGIN * (wide[a] + wide[b]))
        if bad.any():
            k = int(np.argmax(bad))
            raise InputError(
                f"mesh: bent boundary faces near {middle[a[k]].tolist()} and {middle[b[k]].tolist()} meet, or are not "
                "shown not to; refine the mesh there"
            )


def displacement(bends: Bends, faces: Index) -> Vector:
    """Upper bounds of how far Φ moves points of faces, but for the vertices' offsets."""
    return along_edges(bends, faces) + between_edges(bends, faces)


def along_edges(bends: Bends, simplices: Index) -> Vector:
    """What bent edges of facets or cells, by their vertices, do to it."""
    P, total = bends.profiles, np.zeros(len(simplices))
    low, high = P.spread()
    size = 0.25 * np.maximum(np.abs(low), np.abs(high)) * np.sqrt((P.direction**2).sum(axis=1)) * (1.0 + MARGIN)
    for a, b in combinations(range(simplices.shape[1]), 2):
        row = edge_rows(P.edges, np.sort(simplices[:, [a, b]], axis=1), len(bends.mesh.points))
        total += np.where(row >= 0, size[row], 0.0)
    return total


def between_edges(bends: Bends, faces: Index) -> Vector:
    """What is bent between the edges of faces."""
    if not len(bends.patches.faces):
        return np.zeros(len(faces))
    n = len(bends.mesh.points)
    keys, mine = facet_keys(bends.patches.faces, n), facet_keys(faces, n)
    order = np.argsort(keys)
    at = order[np.minimum(np.searchsorted(keys[order], mine), len(keys) - 1)]
    return np.where(keys[at] == mine, bends.patches.reach()[at], 0.0)


def separation(one: Vector, two: Vector) -> Vector:
    """Lower bounds, but for rounding, of the distances between triangles (n, 3, 3): gaps along axes."""
    edges = [np.stack([T[:, (i + 1) % 3] - T[:, i] for i in range(3)], axis=1) for T in (one, two)]
    axes = [np.cross(e[:, 0], e[:, 1]) for e in edges]
    axes += [np.cross(edges[0][:, i], edges[1][:, j]) for i in range(3) for j in range(3)]
    axes += [np.cross(n, e[:, i]) for n, e in zip(axes[:2], edges, strict=True) for i in range(3)]
    axes += [two[:, j] - one[:, i] for i in range(3) for j in range(3)]
    axes.append(two.mean(axis=1) - one.mean(axis=1))
    best = np.full(len(one), -np.inf)
    for axis in axes:
        size = np.sqrt((axis**2).sum(axis=1))
        with np.errstate(all="ignore"):
            unit = axis / size[:, None]
        p, q = (np.einsum("nk,nik->ni", unit, T) for T in (one, two))
        gap = np.maximum(p.min(axis=1) - q.max(axis=1), q.min(axis=1) - p.max(axis=1))
        best = np.fmax(best, np.where(size > 0.0, gap, -np.inf))
    return best
