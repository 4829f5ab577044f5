"""A total force and moment on the faces that an averaging element spans, as a traction that is linear over them.

RBE3 gives its nodes f_i = F/n + ω × r_i. What that means for the solid is t(x) = F/|Γ| + ω × (x − c), c the centroid of
the faces Γ and J ω = M + (x_ref − c) × F, J = ∫ (|r|² I − r rᵀ): the same force and the same moment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import Nodes


@dataclass(frozen=True, eq=False)
class Carried:
    """A force and a moment at a point, carried evenly by nodes.

    Attributes
    ----------
    nodes
        Numbers of the nodes.
    at
        The reference point.
    even
        Whether all nodes have the same weight.
    """

    name: str
    nodes: Index
    at: Vector
    force: Vector
    moment: Vector
    even: bool = True

    __repr__ = brief


def faces_of(nodes: Nodes, one: Carried) -> Index:
    """The boundary facets all of whose nodes are among its nodes; every node must be on one of them."""
    inside = np.zeros(len(nodes), dtype=bool)
    inside[one.nodes] = True
    boundary = nodes.mesh.boundary
    faces = boundary[inside[nodes.facet_dofs(boundary)].all(axis=1)]
    covered = np.zeros(len(nodes), dtype=bool)
    covered[nodes.facet_dofs(faces).ravel()] = True
    if not one.even or np.any(inside & ~covered):
        why = "not all of its weights are equal" if one.even is False else "its nodes are not those of whole faces"
        raise InputError(
            f"target: {one.name} spreads a load, and {why}, so that it is no traction of the solid itself; give it "
            "the nodes of faces with one weight, or say target = 'discrete' for the solution of the discrete system"
        )
    return np.asarray(faces)


def linear_traction(X: Vector, one: Carried) -> list[str]:
    """Formulas of the traction on triangles (F, 3, 3)."""
    normal = 0.5 * np.cross(X[:, 1] - X[:, 0], X[:, 2] - X[:, 0])
    area = np.linalg.norm(normal, axis=1)
    middle = X.mean(axis=1)
    whole = float(area.sum())
    c = (area[:, None] * middle).sum(axis=0) / whole
    V, m = X - c, middle - c
    # ∫ r rᵀ over a triangle is |T|/12 (Σ v vᵀ + 9 m mᵀ)
    outer = np.einsum("f,fia,fib->ab", area, V, V) / 12.0 + 0.75 * np.einsum("f,fa,fb->ab", area, m, m)
    J = np.trace(outer) * np.eye(3) - outer
    turn = one.moment + np.cross(one.at - c, one.force)
    w = np.linalg.lstsq(J, turn, rcond=1e-12)[0]
    if np.linalg.norm(J @ w - turn) > 1e-9 * (np.linalg.norm(turn) + 1e-300):
        raise InputError(f"target: {one.name}: its faces cannot carry the moment")
    spin = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    base = one.force / whole - spin @ c
    return [
        "+".join([f"({b!r})", *(f"({s!r})*{x}" for s, x in zip(row, "xyz", strict=True) if s)])
        for b, row in zip(base.tolist(), spin.tolist(), strict=True)
    ]
