"""What flows must be for b·n to be one number on both sides of every facet."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.coefficients import Coefficients

NUMBER = "Two sides are one only up to rounding, so that it must be a number there: give one"


def require_continuous(coefficients: Coefficients, T: Topology, mesh: Mesh, glued: Index | None) -> None:
    """Refuse b whose normal component jumps between regions, or may do so between facets that are glued.

    B(v, v) has ½∫_F [b·n]v² on every facet where b·n jumps, and the dual problem's fluxes jump by [b·n]z there; the
    theorem is for fields without such jumps. On a facet across an axis that component of b alone counts.

    Parameters
    ----------
    glued
        Vertex numbers of facets (n, d) that are glued to others; b·n is only known to agree there where it is a number.
    """
    if not coefficients.convective:
        return
    d = mesh.dim
    flows = [b if b is not None else (0.0,) * d for b in coefficients.convection]
    one, two = T.facet_cells.T
    between = np.flatnonzero(two >= 0)
    between = between[coefficients.regions[one[between]] != coefficients.regions[two[between]]]
    V = T.points[T.facets[between]]
    pairs = np.stack([coefficients.regions[one[between]], coefficients.regions[two[between]]], axis=1)
    for a, b in np.unique(np.sort(pairs, axis=1), axis=0):
        here = (np.sort(pairs, axis=1) == (a, b)).all(axis=1)
        differs = np.array([not _same(flows[a][i], flows[b][i]) for i in range(d)])
        # varying.md, step 1e
        _refuse(np.any(across(V[here]) & differs, axis=1), V[here], "jumps between two groups of cells")
    if glued is not None and len(glued):
        moves = np.array([any(not _number(b[i]) for b in flows) for i in range(d)])
        _refuse(
            np.any(across(mesh.points[glued]) & moves, axis=1),
            mesh.points[glued],
            "may jump at a periodic pair",
            NUMBER,
        )


def across(V: Vector) -> Mask:
    """Components that the normals of facets with vertices (n, d, d) may have, (n, d)."""
    if V.shape[2] == 1:
        return np.ones((len(V), 1), dtype=bool)
    flat = np.ptp(V, axis=1) == 0.0
    return np.asarray(np.where(flat.any(axis=1)[:, None], flat, True))


def _refuse(bad: Any, V: Vector, what: str, remedy: str = "Give one field for all cells") -> None:
    if np.any(bad):
        raise InputError(
            f"convection: its component along the normal {what}, for example at "
            f"{V[int(np.argmax(bad))].mean(axis=0).tolist()}; the continuous target needs one that does not. "
            f"{remedy}, or say target='discrete'"
        )


def _number(given: Any) -> bool:
    return not callable(given) or (isinstance(given, Expression) and given.constant is not None)


def _same(a: Any, b: Any) -> bool:
    """Whether two numbers or formulas are the same as written."""
    if isinstance(a, Expression) and isinstance(b, Expression):
        return a.text.split() == b.text.split()
    return not callable(a) and not callable(b) and a == b
