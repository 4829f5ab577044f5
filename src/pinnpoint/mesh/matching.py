"""Values given at points, matched to the points of a mesh by coordinates, never by row."""

from __future__ import annotations

import logging

import numpy as np
import scipy
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats, point_list
from pinnpoint.base.errors import InputError

log = logging.getLogger(__name__)


def match(points: ArrayLike, values: ArrayLike, mesh_points: Vector, tolerance: float = 1e-3) -> tuple[Vector, float]:
    """Values in the order of the mesh's points, and the largest distance between matched points.

    Each mesh point must have exactly one given point within `tolerance` times the distance to its nearest neighbour in
    the mesh; nothing is ever matched by row. Given points that no mesh point matches are left out, and `logging` says
    how many.

    Parameters
    ----------
    points
        N × d points of the values; a missing coordinate counts as 0.
    values
        (N,) or (N, c).
    mesh_points
        Points of the mesh.
    tolerance
        Relative to the mesh's local size.
    """
    V = floats("values", values)
    P, X = point_list("points", points, len(V)), point_list("mesh points", mesh_points, len(mesh_points))
    width = max(P.shape[1], X.shape[1])
    P, X = (np.pad(a, ((0, 0), (0, width - a.shape[1]))) for a in (P, X))
    if len(P) < len(X):
        raise InputError(f"points: {len(X)} mesh points need a value each; only {len(P)} points are given")
    tree = scipy.spatial.cKDTree(P)
    distance, row = tree.query(X, k=1)
    spacing = scipy.spatial.cKDTree(X).query(X, k=2)[0][:, 1] if len(X) > 1 else np.ones(1)
    allowed = tolerance * spacing
    far = distance > allowed
    if far.any():
        k = int(np.argmax(np.where(far, distance / allowed, 0.0)))
        raise InputError(
            f"points: {int(far.sum())} of {len(X)} mesh points have no given point within {tolerance:g} of the mesh "
            f"size; the worst is {X[k].tolist()}, whose nearest given point is {distance[k]:.3g} away "
            f"({allowed[k]:.3g} is allowed)"
        )
    several = tree.query_ball_point(X, allowed, return_length=True) > 1
    if several.any():
        k = int(np.argmax(several))
        raise InputError(
            f"points: {int(several.sum())} of {len(X)} mesh points have several given points, the first is "
            f"{X[k].tolist()}; give one value per point"
        )
    if len(P) > len(X):
        log.warning("%d of %d given points are not points of the mesh and are left out", len(P) - len(X), len(P))
    return V[row], float(distance.max())
