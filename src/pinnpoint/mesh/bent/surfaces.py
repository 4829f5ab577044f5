"""Spheres, cylinders and other surfaces by description: edges and faces of tetrahedra bent onto them.

The edges of a group's faces are bent as chords of curves are, each along a direction of its own, and the faces between
them as `patches` says. Where an edge also belongs to a flat face its direction lies in that face, which stays flat. See
docs/curved.md, step 2d.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.bent.arcs import arcs, joined, lowered
from pinnpoint.mesh.bent.flats import flat_facets, kept_flat
from pinnpoint.mesh.bent.maps import Bends, edge_rows, total
from pinnpoint.mesh.bent.patches import DEGREE, POWERS, THIRD, Patches, joined_patches, polynomial
from pinnpoint.mesh.bent.projection import gradient
from pinnpoint.mesh.bent.shapes import Shape
from pinnpoint.mesh.facets import edge_table
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.rounding.arithmetic import UNIT
from pinnpoint.taylor.bernstein import children
from pinnpoint.taylor.jets import jet_of
from pinnpoint.taylor.models import TaylorModel, constant, settled
from pinnpoint.taylor.spaces import space

ORDER = 8
STEPS = 8
CHUNK = 4096
LEVELS = 3
"""How often faces are cut in four for bounds over them."""


def on_surfaces(mesh: Mesh, offset: Vector, geometry: Mapping[str, Shape]) -> Bends:
    """The map of a mesh of tetrahedra, its vertices on their surfaces up to `offset`, onto its domain."""
    flat, parts = flat_facets(mesh, geometry), []
    for group, shape in geometry.items():
        edges = edge_table(mesh.facets(group), len(mesh.points))[0]
        across = directions(mesh, edges, shape, flat)
        parts.append(arcs(mesh.points, offset, edges, shape, group, across))
    edged = Bends(mesh, joined(parts), offset)
    faces = [patches(edged, mesh.facets(group), shape, group) for group, shape in geometry.items()]
    return Bends(mesh, lowered(edged.profiles), offset, joined_patches(faces))  # curved.md, step 2e


def directions(mesh: Mesh, edges: Index, shape: Shape, flat: Index) -> Vector:
    """For each edge a direction across the surface, as long as the edge, along the flat faces that hold it."""
    ends = mesh.points[edges]
    _, slope = gradient(shape.level, ends.mean(axis=1))
    n = len(mesh.points)
    if len(flat):
        table, which, _ = edge_table(flat, n)
        slope = kept_flat(mesh.points, flat, which.T, edge_rows(table, edges, n), slope)
    size = np.sqrt((slope**2).sum(axis=1))
    length = np.sqrt(((ends[:, 1] - ends[:, 0]) ** 2).sum(axis=1))
    with np.errstate(all="ignore"):
        D = slope * (length / size)[:, None]
    return np.where(np.isfinite(D), D, 0.0)


def patches(bends: Bends, facets: Index, shape: Shape, group: str) -> Patches:
    """The surface over faces whose edges are bent onto it already."""
    faces = np.sort(facets, axis=1)
    V = bends.mesh.points[faces]
    _, slope = gradient(shape.level, V.mean(axis=1))
    long = np.sqrt(((V - V[:, [1, 2, 0]]) ** 2).sum(axis=2)).max(axis=1)
    with np.errstate(all="ignore"):
        D = slope * (long / np.sqrt((slope**2).sum(axis=1)))[:, None]
    D = np.where(np.isfinite(D), D, 0.0)
    c = fitted(bends, V, D, shape)
    value, steep = enclosed(bends, V, D, c, shape)
    if not np.isfinite(value + steep).all():
        k = int(np.argmin(np.isfinite(value + steep)))
        raise InputError(
            f"geometry '{group}': {shape.words} could not be followed over the face about "
            f"{V[k].mean(axis=0).tolist()}; refine the mesh there"
        )
    return Patches(faces, D, c, value, steep)


def fitted(bends: Bends, V: Vector, D: Vector, shape: Shape) -> Vector:
    """Coefficients of a polynomial near S on faces, in floating point."""
    n = DEGREE + 4
    mu = np.array([(i, j, n - i - j) for i in range(1, n) for j in range(1, n - i)]) / n
    P = bends.moved(np.einsum("qi,nik->nqk", mu, V).reshape(-1, 3))[0]
    across, G = np.repeat(D, len(mu), axis=0), np.zeros(len(P))
    for _ in range(STEPS):
        value, slope = gradient(shape.level, P + G[:, None] * across)
        rate = (slope * across).sum(axis=1)
        with np.errstate(all="ignore"):
            step = np.where(rate != 0.0, value / rate, 0.0)
        G = G - np.where(np.isfinite(step), np.clip(step, -1.0, 1.0), 0.0)
    bump = mu.prod(axis=1)
    M = bump[:, None] * (mu[:, :1] - THIRD) ** POWERS[:, 0] * (mu[:, 1:2] - THIRD) ** POWERS[:, 1]
    found: Vector = np.linalg.lstsq(M, G.reshape(len(V), len(mu)).T, rcond=None)[0].T
    return np.ascontiguousarray(found)


def enclosed(bends: Bends, V: Vector, D: Vector, c: Vector, shape: Shape) -> tuple[Vector, Vector]:
    """Upper bounds of |G − G_s| and of its derivatives along μ_i − μ_j; infinite where nothing is proved."""
    value, steep = np.zeros(len(V)), np.zeros(len(V))
    for face, corners in pieces(len(V)):
        each = _on_parts(bends, V[face], D[face], c[face], shape, corners)
        np.maximum.at(value, face, each[0])
        np.maximum.at(steep, face, each[1])
    return value, steep


def pieces(count: int) -> Iterator[tuple[Index, Vector]]:
    """Parts of so many triangles: the triangle of each, and barycentric coordinates (N, 3, 3), which are exact."""
    parts = [np.eye(3)]
    for _ in range(LEVELS):
        parts = [child @ T for T in parts for child in children(2)]
    step = max(1, CHUNK // len(parts))
    for start in range(0, count, step):
        some = np.arange(start, min(start + step, count))
        yield np.repeat(some, len(parts)), np.tile(np.stack(parts), (len(some), 1, 1))


def _bumps(c: Vector, corners: Vector) -> tuple[list[TaylorModel], TaylorModel, list[TaylorModel]]:
    """Models over parts of faces: of μ, of G_s = μ₁μ₂μ₃ s, and of its derivatives along μ₁ − μ₃ and μ₂ − μ₃."""
    F, S = len(c), space(2, ORDER, simplex=True)

    def linear(i: int) -> TaylorModel:
        """μ_i over the part."""
        C = np.zeros((S.size, F))
        one, two, three = corners[:, :, i].T
        C[0], C[1], C[2] = 0.5 * (one + three), 0.5 * (two - one), 0.5 * (three - two)
        return TaylorModel(S, C, np.zeros(F))

    mu = [linear(i) for i in range(3)]
    s, s1, s2 = polynomial(c, mu[0] - constant(THIRD), mu[1] - constant(THIRD))
    bump = mu[0] * mu[1] * mu[2]
    slopes = [(mu[1 - i] * mu[2] - mu[0] * mu[1]) * s + bump * t for i, t in enumerate((s1, s2))]
    return mu, bump * s, slopes


def _on_parts(bends: Bends, V: Vector, D: Vector, c: Vector, shape: Shape, corners: Vector) -> Vector:
    """The same over parts of faces, one row of each argument a part."""
    F = len(V)
    mu, G, slopes = _bumps(c, corners)
    local = bends.at([total([mu[i] * constant(V[:, i, k]) for i in range(3)]) for k in range(3)])
    across = [constant(D[:, k]) for k in range(3)]
    place = [x + d * G for x, d in zip(local.x, across, strict=True)]
    residual = _largest(jet_of(shape.level, place, ()).value, F)
    guess = (gradient(shape.level, V.mean(axis=1))[1] * D).sum(axis=1)
    with np.errstate(all="ignore"):
        epsilon = np.where(guess != 0.0, 4.0 * residual / np.abs(guess), 0.0) + 8.0 * UNIT
    wide = [settled(p.space, p.C, p.e + 2.0 * epsilon * np.abs(D[:, k])) for k, p in enumerate(place)]
    slope = jet_of(shape.level, wide).gradient
    rate = total([g * d for g, d in zip(slope, across, strict=True)])
    low, high = (np.broadcast_to(b, F) for b in rate.bounds)
    least = np.maximum(np.maximum(low, -high), 0.0)
    sure = (least > 0.0) & (residual <= epsilon * least * (1.0 - 4.0 * UNIT))  # curved.md, step 2d
    rises = []
    for i in range(2):
        edge = [constant(V[:, i, k]) - constant(V[:, 2, k]) for k in range(3)]
        turn = [total([a * e for a, e in zip(row, edge, strict=True)]) for row in local.J]
        rises.append(total([g * (t + d * slopes[i]) for g, t, d in zip(slope, turn, across, strict=True)]))
    steep = np.max([_largest(rise / rate, F) for rise in (*rises, rises[0] - rises[1])], axis=0)
    return np.where(sure, np.stack([epsilon, steep]), np.inf)


def _largest(model: TaylorModel, count: int) -> Vector:
    return np.asarray(np.maximum(*(np.abs(np.broadcast_to(b, count)) for b in model.bounds)))
