"""Problems on curved domains with solutions in closed form."""

from __future__ import annotations

import math

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.middles import Middles
from pinnpoint.mesh.round import disc_mesh, ring_mesh

INNER, OUTER = 0.3, 1.0
RING = {"hole": pp.Circle((0, 0), INNER), "outer": pp.Circle((0, 0), OUTER)}
VALUE = "exp(x)*sin(2*y + 0.3)"
"""Of a function with −Δu = 3u."""
OUTWARD = f"-(x*exp(x)*sin(2*y + 0.3) + 2*y*exp(x)*cos(2*y + 0.3))/{INNER}"
"""Its normal derivative on the hole's circle."""


def value(X):
    """The function itself."""
    X = np.asarray(X)
    return np.exp(X[:, 0]) * np.sin(2.0 * X[:, 1] + 0.3)


def torsion(X):
    """The solution of −Δu = 1, u = 0 on the ring."""
    r = np.sqrt((np.asarray(X) ** 2).sum(axis=1))
    return (1.0 - r**2) / 4.0 + (1.0 - INNER**2) / 4.0 * np.log(r) / math.log(1.0 / INNER)


def ring(layers=10, around=44):
    """The ring's polygon."""
    return ring_mesh(INNER, OUTER, layers, around)


def ellipse(n, a, b):
    """The polygon of an ellipse, by stretching a disc's."""
    disc = disc_mesh(n)
    return Mesh(disc.points * [a, b], disc.cells, {}, dict(disc.facet_groups))


def second_order(mesh, project):
    """A second-order mesh: mid-side nodes of boundary edges moved by `project`."""
    edges = np.unique(np.sort(mesh.boundary, axis=1), axis=0)
    middle = 0.5 * (mesh.points[edges[:, 0]] + mesh.points[edges[:, 1]])
    return Mesh(
        mesh.points,
        mesh.cells,
        dict(mesh.cell_groups),
        dict(mesh.facet_groups),
        middles=Middles(edges, project(middle)),
    )


def certified(problem, X, **more):
    """The certificate of values at points, from a prediction that is zero inside."""
    return pp.certify(problem, problem.space.U0, problem.points(X), **more)
