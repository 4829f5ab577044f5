"""Extraction Π_h: from any prediction to an admissible coefficient vector, with what was lost on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.arrays import Vector, floats
from pinnpoint.errors import InputError
from pinnpoint.fem import assembly
from pinnpoint.io.fields import match
from pinnpoint.mesh import Mesh
from pinnpoint.spaces import AdmissibleSpace

MAPS = ("nodal", "l2", "constrained")


@dataclass(frozen=True, eq=False)
class Extraction:
    """The certified vector and how it came about."""

    U: Vector
    mismatch: Vector
    """Extracted minus admissible, entry by entry: what the boundary conditions changed."""
    how: str
    distance: float = 0.0
    """Largest distance between a given point and its mesh node, where points were matched."""


@dataclass(frozen=True, eq=False)
class NodeValues:
    """A prediction known at points of its own: values (n,) or (n, c) at points (n, d), matched by coordinates."""

    points: Any
    values: Any


def extract(mesh: Mesh, space: AdmissibleSpace, count: int, prediction: Any, how: str = "nodal") -> Extraction:
    """An admissible vector from nodal values, values at points, or a callable on points.

    Parameters
    ----------
    how
        For callables. ``"nodal"``: interpolation. ``"l2"``: the L² projection, then moved to the boundary values.
        ``"constrained"``: the L² projection among admissible vectors.
    """
    if how not in MAPS:
        raise InputError(f"extraction: must be one of {', '.join(MAPS)}; got {how!r}")
    distance = 0.0
    if isinstance(prediction, NodeValues):
        values, distance = match(prediction.points, prediction.values, mesh.points)
        U = nodal(values, len(mesh.points), count)
        how = "nodal values matched by coordinates"
    elif callable(prediction) and how == "nodal":
        U = nodal(evaluate(prediction, mesh.points, count), len(mesh.points), count)
    elif callable(prediction):
        U = _projected(mesh, space, count, prediction, constrained=how == "constrained")
    else:
        U = nodal(prediction, len(mesh.points), count)
        how = "nodal values"
    found = space.project(U)
    return Extraction(found.U, found.mismatch, how, distance)


def nodal(values: Any, nodes: int, count: int) -> Vector:
    """Coefficients node by node from (n,), (n, c) or (n·c,) values."""
    a = floats("prediction", values)
    if a.shape not in ((nodes * count,), (nodes, count)):
        shape = f"({nodes},)" if count == 1 else f"({nodes}, {count})"
        raise InputError(f"prediction: must hold one value per mesh node, shape {shape}; got shape {a.shape}")
    if not np.all(np.isfinite(a)):
        bad = ~np.isfinite(a.reshape(nodes, -1)).all(axis=1)
        raise InputError(
            f"prediction: {int(bad.sum())} nodes are NaN or infinite, the first is node {int(np.argmax(bad))}"
        )
    return a.ravel()


def evaluate(prediction: Any, X: Vector, count: int) -> Vector:
    """Values of a callable at points, (N, count), checked."""
    a = floats("prediction", prediction(X))
    a = a[:, None] if a.ndim == 1 else a
    if a.shape != (len(X), count):
        shape = f"({len(X)},)" if count == 1 else f"({len(X)}, {count})"
        raise InputError(f"prediction: must map points {X.shape} to values {shape}; got {a.shape}")
    if not np.all(np.isfinite(a)):
        bad = int(np.argmin(np.isfinite(a).all(axis=1)))
        raise InputError(f"prediction: is not finite at {X[bad].tolist()}")
    return a


def _projected(mesh: Mesh, space: AdmissibleSpace, count: int, prediction: Any, *, constrained: bool) -> Vector:
    where = assembly.pattern(mesh)
    M = assembly.scalar_matrix(mesh, assembly.mass(mesh, None, np.zeros(0), np.zeros(0)), where)
    b = np.stack(
        [assembly.load(mesh, lambda X, k=k: evaluate(prediction, X, count)[:, k], 4) for k in range(count)], axis=1
    )
    if not constrained:
        return np.asarray(spla.splu(M.tocsc()).solve(b)).ravel()
    M = sp.csr_array(sp.kron(M, sp.eye_array(count)))
    Z = space.Z
    y = spla.splu(sp.csc_array(Z.T @ M @ Z)).solve(Z.T @ (b.ravel() - M @ space.U0))
    return space.vector_of(np.asarray(y))
