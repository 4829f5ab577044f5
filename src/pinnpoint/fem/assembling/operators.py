"""The element matrices of −∇·(A∇u) + b·∇u, and what its coefficients are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, asked, floats
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.assembling.varied_assembly import drift, varied_stiffness
from pinnpoint.fem.data.coefficients import per_cell
from pinnpoint.fem.data.varied import coefficients, convection_parts, diffusion_parts, reaction_parts
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import HIGHEST, at_points, rule
from pinnpoint.taylor.inputs import enclosed
from pinnpoint.transfer.media.coefficients import Coefficients

FINER = 2
"""Rules for coefficients that vary have an order this much higher than those of loads."""


def is_opaque(given: Any) -> bool:
    """Whether a coefficient is somebody's function, or a table with one."""
    if isinstance(given, Mapping):
        return any(is_opaque(v) for v in given.values())
    return callable(given) and not enclosed(given)


def operator(
    nodes: Nodes, diffusion: Any, convection: Any, reaction: Any, order: int
) -> tuple[Coefficients | None, Vector, Vector]:
    """The coefficients where they are more than a number on each cell, A on each cell, and the element matrices."""
    mesh = nodes.mesh
    b = convection_parts(convection, mesh)
    made, parts = None, None
    if not is_opaque(diffusion):
        parts = diffusion_parts(diffusion, mesh)
        made = None if is_opaque(reaction) else coefficients(parts, b, reaction_parts(reaction, mesh))
    finer = min(order + FINER, max(order, HIGHEST[mesh.dim]))
    tables = parts is not None and isinstance(diffusion, Mapping) and any(isinstance(a, tuple) for a in parts.values)
    if parts is not None and (parts.varies or tables):
        bary, weights = rule(mesh.dim, finer)
        X = at_points(mesh.points[mesh.cells], bary)
        A = parts.at(X, mesh)
        require_positive(A, X)
        K = np.einsum("q,cq...->c...", weights, A) if parts.varies else A[:, 0]
        exact = nodes.degree == 1 or not parts.varies  # linear elements see means only
        local = assembly.stiffness(nodes, K) if exact else varied_stiffness(nodes, A, bary, weights)
    else:
        K = averaged(diffusion, mesh, order)
        local = assembly.stiffness(nodes, K)
    if b is not None:
        bary, weights = rule(mesh.dim, finer)
        local = local + drift(nodes, b.at(at_points(mesh.points[mesh.cells], bary), mesh), bary, weights)
    return made, K, local


def require_positive(A: Vector, X: Vector) -> None:
    """Refuse a diffusion that is not positive at the points (C, Q, d) where it was seen."""
    low = A if A.ndim == 2 else np.linalg.eigvalsh(A)[..., 0]
    worst = np.unravel_index(int(np.argmin(low)), low.shape)
    if not low[worst] > 0.0:
        what = "be > 0" if A.ndim == 2 else "be positive definite"
        number = "it is" if A.ndim == 2 else "its smallest eigenvalue is"
        raise InputError(f"diffusion: must {what}; {number} {float(low[worst]):.3e} at {X[worst].tolist()}")


def numbers(given: Any) -> Any:
    """The same with formulas in which no coordinate enters as numbers, in tables too."""
    if isinstance(given, Mapping):
        return {key: numbers(value) for key, value in given.items()}
    if isinstance(given, list | tuple):
        return [numbers(value) for value in given]
    constant = given.constant if isinstance(given, Expression) else None
    return given if constant is None else constant


def averaged(given: Any, mesh: Mesh, order: int) -> Vector:
    """A on each cell, (C,) or (C, d, d), where it is given by numbers or by a function of points; then its means."""
    d, given = mesh.dim, numbers(given)
    if callable(given):
        bary, weights = rule(d, order)
        X = at_points(mesh.points[mesh.cells], bary)
        values = asked(given, X.reshape(-1, d), "diffusion")
        if values.shape != (X.shape[0] * X.shape[1], d, d):
            raise InputError(f"diffusion: a function must return matrices (N, {d}, {d}); got shape {values.shape}")
        K = np.einsum("q,cqij->cij", weights, values.reshape(*X.shape[:2], d, d))
    elif not isinstance(given, Mapping) and np.ndim(given) == 2:
        K = np.broadcast_to(floats("diffusion", given), (len(mesh.cells), *np.shape(given)))
    elif isinstance(given, np.ndarray) and given.shape == (len(mesh.cells), d, d):
        K = given
    else:
        K = per_cell("diffusion", given, mesh)
        if float(K.min()) <= 0.0:
            worst = int(np.argmin(K))
            where = np.round(mesh.points[mesh.cells[worst]].mean(axis=0), 6).tolist()
            raise InputError(f"diffusion: must be > 0; cell {worst} at {where} has {float(K.min())!r}")
        return K
    if K.shape[1:] != (d, d) or not np.all(np.isfinite(K)):
        raise InputError(f"diffusion: must be finite {d} × {d} matrices; got shape {K.shape[1:]}")
    if not np.allclose(K, np.swapaxes(K, 1, 2), rtol=1e-12, atol=0.0):
        raise InputError("diffusion: matrices must be symmetric")
    low = np.linalg.eigvalsh(K)[:, 0]
    if float(low.min()) <= 0.0:
        worst = int(np.argmin(low))
        where = np.round(mesh.points[mesh.cells[worst]].mean(axis=0), 6).tolist()
        raise InputError(
            f"diffusion: must be positive definite; cell {worst} at {where} has eigenvalue {low.min():.3e}"
        )
    return np.asarray(0.5 * (K + np.swapaxes(K, 1, 2)) if d > 1 else K[:, 0, 0])
