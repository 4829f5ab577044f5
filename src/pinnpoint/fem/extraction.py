"""Extraction Π_h: from any prediction to an admissible coefficient vector, with what was lost on the way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, asked, floats
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certifiers.protocols import Extraction as Extraction
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import ORDER, Nodes
from pinnpoint.fem.data.coefficients import require_defined
from pinnpoint.fem.pointwise import require_function
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.matching import match
from pinnpoint.models.given import Prediction, as_prediction
from pinnpoint.systems.spaces import AdmissibleSpace

MAPS = ("nodal", "l2", "constrained")


@dataclass(frozen=True, eq=False)
class NodeValues:
    """A prediction known at points of its own: values (n,) or (n, c) at points (n, d), matched by coordinates."""

    points: Any
    values: Any

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Formulas:
    """A prediction by one formula a component."""

    parts: tuple[Expression, ...]

    __repr__ = brief

    def __call__(self, X: Vector) -> Vector:
        """Values (N, c) at points (N, d)."""
        return np.stack([f(X) for f in self.parts], axis=1)


def extract(nodes: Nodes, space: AdmissibleSpace, count: int, prediction: Prediction, how: str = "nodal") -> Extraction:
    """An admissible vector from nodal values, values at points, or a callable on points.

    Values known at the vertices alone are averaged at the edge midpoints of quadratic elements, and `how` says so.

    Parameters
    ----------
    how
        For callables. ``"nodal"``: interpolation. ``"l2"``: the L² projection, then moved to the boundary values.
        ``"constrained"``: the L² projection among admissible vectors.
    """
    if how not in MAPS:
        raise InputError(f"extraction: must be one of {', '.join(MAPS)}; got {how!r}")
    distance, prediction = 0.0, as_prediction(prediction)
    if isinstance(prediction, NodeValues):
        values, distance = _matched(nodes, prediction)
        U, how = _at_nodes(nodes, values, count, "nodal values{} matched by coordinates")
    elif callable(prediction) and how == "nodal":
        U = nodal(evaluate(prediction, nodes.points, count), len(nodes), count)
    elif callable(prediction):
        U = _projected(nodes, space, count, prediction, constrained=how == "constrained")
    else:
        U, how = _at_nodes(nodes, prediction, count, "nodal values{}")
    if isinstance(prediction, Expression | Formulas):
        parts = prediction.parts if isinstance(prediction, Formulas) else (prediction,)
        require_defined("prediction", parts, nodes.mesh.points[nodes.mesh.cells])
    found = space.project(U)
    return Extraction(found.U, found.mismatch, how, distance, U, not callable(prediction))


def nodal(values: ArrayLike, nodes: int, count: int) -> Vector:
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


def evaluate(prediction: Prediction, X: Vector, count: int) -> Vector:
    """Values of a callable at points, (N, count), checked."""
    a = asked(prediction, X)
    a = a[:, None] if a.ndim == 1 else a
    if a.shape != (len(X), count):
        shape = f"({len(X)},)" if count == 1 else f"({len(X)}, {count})"
        raise InputError(f"prediction: must map points {X.shape} to values {shape}; got {a.shape}")
    if not np.all(np.isfinite(a)):
        bad = int(np.argmin(np.isfinite(a).all(axis=1)))
        raise InputError(f"prediction: is not finite at {X[bad].tolist()}")
    require_function(prediction, X, a)
    return a


def _matched(nodes: Nodes, prediction: NodeValues) -> tuple[Vector, float]:
    """Values at all nodes where every node has one, else at the vertices."""
    vertices = nodes.mesh.points
    if nodes.degree == 1 or len(prediction.points) < len(nodes):
        return match(prediction.points, prediction.values, vertices)
    try:
        return match(prediction.points, prediction.values, nodes.points)
    except InputError as error:
        try:
            return match(prediction.points, prediction.values, vertices)
        except InputError:
            raise error from None


def _at_nodes(nodes: Nodes, values: Any, count: int, how: str) -> tuple[Vector, str]:
    """Coefficients from values at all nodes, or at the vertices of quadratic elements."""
    vertices = len(nodes.mesh.points)
    a = floats("prediction", values)
    if nodes.degree == 2 and a.shape in ((vertices * count,), (vertices, count)):
        known = nodal(a, vertices, count).reshape(vertices, count)
        return nodes.spread(known).ravel(), how.format(" at the vertices") + ", edge midpoints by averaging"
    return nodal(a, len(nodes), count), how.format("")


def _projected(
    nodes: Nodes, space: AdmissibleSpace, count: int, prediction: Prediction, *, constrained: bool
) -> Vector:
    where = assembly.pattern(nodes)
    M = assembly.scalar_matrix(assembly.mass(nodes, None, np.zeros(0), np.zeros(0)), where)
    order = ORDER[nodes.degree]
    b = np.stack([assembly.load(nodes, partial(_component, prediction, count, k), order) for k in range(count)], axis=1)
    if not constrained:
        return np.asarray(spla.splu(M.tocsc()).solve(b)).ravel()
    M = sp.csr_array(sp.kron(M, sp.eye_array(count)))
    Z = space.Z
    y = spla.splu(sp.csc_array(Z.T @ M @ Z)).solve(Z.T @ (b.ravel() - M @ space.U0))
    return space.vector_of(np.asarray(y))


def _component(prediction: Prediction, count: int, k: int, X: Vector) -> Vector:
    return evaluate(prediction, X, count)[:, k]
