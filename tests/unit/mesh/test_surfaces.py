"""Faces of tetrahedra on surfaces: the map's models hold the map onto the sphere itself, and flat sides stay flat."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem.curved.bending import Bending
from pinnpoint.fem.curved.bent import BENT_DEGREE
from pinnpoint.mesh.bent.maps import edge_rows
from pinnpoint.mesh.bent.patches import Patches
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.round import ball_mesh
from pinnpoint.taylor.geometry import Simplices, coordinates, orders, path_order

BALL = {"rim": pp.Sphere((0, 0, 0), 1)}


def root(c, D):
    """η near zero with |c + ηD| = 1."""
    a, b, e = (D * D).sum(axis=-1), (c * D).sum(axis=-1), (c * c).sum(axis=-1) - 1.0
    return -e / (b + np.sign(b) * np.sqrt(b * b - a * e))


def edge_part(A, B, D, s):
    """Q(s) of the sphere over chords."""
    tau = 0.5 + s
    return root(A + tau[:, None] * (B - A), D) / (tau * (1.0 - tau))


def exactly(bends, rows, lam):
    """The map onto the unit sphere itself, (N, 3), at barycentric points lam (N, 4) of bent cells."""
    T = bends.mesh.cells[bends.cells[rows]]
    V = bends.mesh.points
    Y = np.einsum("ni,nik->nk", lam, V[T])
    n = len(V)

    def edges(corners, weight):
        out = np.zeros((len(corners), 3))
        for a in range(corners.shape[1]):
            for b in range(corners.shape[1]):
                low = corners[:, a] < corners[:, b]
                e = edge_rows(bends.profiles.edges, corners[:, [a, b]], n)
                at = np.flatnonzero(low & (e >= 0))
                D, wa, wb = bends.profiles.direction[e[at]], weight[at, a], weight[at, b]
                Q = edge_part(V[corners[at, a]], V[corners[at, b]], D, 0.5 * (wb - wa))
                out[at] += D * (wa * wb * Q)[:, None]
        return out

    Y += edges(T, lam)
    table = bends._faces
    for j, row in enumerate(table.row):
        at = np.flatnonzero(rows == row)
        face, local = table.face[j], table.local[j]
        w = lam[at][:, local]
        pi = w[:, :3] + w[:, 3:] / 3.0
        corners = np.broadcast_to(bends.patches.faces[face], (len(at), 3))
        P = np.einsum("ni,nik->nk", pi, V[corners]) + edges(corners, pi)
        D = np.broadcast_to(bends.patches.direction[face], P.shape)
        Y[at] += D * (root(P, D) / pi.prod(axis=1) * w[:, :3].prod(axis=1))[:, None]
    return Y


def at_points(model, bary, which):
    """A model at barycentric points, in its own order of vertices."""
    lam = bary[orders(3)[which]]
    t = np.cumsum(lam[:, ::-1], axis=1)[:, ::-1][:, 1:]
    M = np.stack([np.prod((2.0 * t - 1.0) ** p, axis=1) for p in model.space.powers], axis=0)
    return (M * model.C).sum(axis=0) if model.C.shape[0] > 1 else np.broadcast_to(model.C[0], len(which))


@pytest.fixture(scope="module")
def bends():
    return Bending.of(ball_mesh(3), BALL).bends


def off(bends, patches=None, seed=0):
    """How far models of Φ and J are off the exact map, over their errors."""
    if patches is not None:
        bends = type(bends)(bends.mesh, bends.profiles, bends.offset, patches)
    V, worst = bends.vertices, [0.0, 0.0]
    rows, which = np.arange(len(V)), path_order(V)
    local = bends.at(coordinates(Simplices(V, np.zeros((len(V), 3))), which, BENT_DEGREE[3]))
    E = V[:, 1:] - V[:, :1]
    inverse = np.linalg.inv(np.swapaxes(E, 1, 2))  # λ from x
    for bary in np.random.default_rng(seed).dirichlet(np.ones(4), 2):
        lam = np.broadcast_to(bary, (len(V), 4))
        Y = exactly(bends, rows, lam)
        for k in range(3):
            wrong = np.abs(at_points(local.x[k], bary, which) - Y[:, k])
            worst[0] = max(worst[0], float((wrong / (local.x[k].e + 1e-13)).max()))
        for m in range(3):
            step = 1e-5 * inverse[:, :, m]
            step = np.concatenate([-step.sum(axis=1, keepdims=True), step], axis=1)
            J = (exactly(bends, rows, lam + step) - exactly(bends, rows, lam - step)) / 2e-5
            for k in range(3):
                wrong = np.abs(at_points(local.J[k][m], bary, which) - J[:, k])
                worst[1] = max(worst[1], float((wrong / (local.J[k][m].e + 1e-8)).max()))
    return worst


def test_models_of_the_map_hold_the_map_onto_the_sphere_itself(bends):
    value, slope = off(bends)
    assert value <= 1.0
    assert slope <= 1.0
    P = bends.patches
    forged = Patches(P.faces, P.direction, 0.0 * P.shape, P.value_error, P.slope_error)
    assert max(off(bends, forged)) > 1.0  # edges on the sphere are not enough


def pipe(n):
    """A quarter of a pipe between the radii ½ and 1, its inner wall the group "wall", its ends and cuts flat."""
    cube = pp.io.generate("cube", n)
    r, a = 0.5 + 0.5 * cube.points[:, 0], 0.5 * np.pi * cube.points[:, 1]
    points = np.stack([r * np.cos(a), r * np.sin(a), cube.points[:, 2]], axis=1)
    points[cube.points[:, 1] == 1.0, 0] = 0.0
    return Mesh(points, cube.cells, {}, {"wall": cube.facets("left")})


def test_a_cylinder_keeps_its_ends_and_cuts_flat():
    given = {"wall": pp.Cylinder((0, 0, 0), (0, 0, 1), 0.5)}
    bends = Bending.of(pipe(4), given).bends
    mesh = bends.mesh
    rng = np.random.default_rng(1)
    for k, at in ((2, 0.0), (2, 1.0), (0, 0.0), (1, 0.0)):
        facets = mesh.boundary[(mesh.points[mesh.boundary][:, :, k] == at).all(axis=1)]
        X = np.einsum("qi,nik->nqk", rng.dirichlet(np.ones(3), 7), mesh.points[facets]).reshape(-1, 3)
        assert len(X)
        X[:, k] = at
        assert np.array_equal(bends.moved(X)[0][:, k], X[:, k])
        assert np.all(bends.offset[np.unique(facets), k] == 0.0)
    wall = mesh.points[mesh.facets("wall")]
    Y = bends.moved(np.einsum("qi,nik->nqk", rng.dirichlet(np.ones(3), 20), wall).reshape(-1, 3))[0]
    assert np.abs(np.hypot(Y[:, 0], Y[:, 1]) - 0.5).max() < 1e-4
