"""Domains that are boxes, by the kinds of their faces; and how large a state is on the Dirichlet part."""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import up
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.everywhere.covers import cover


def box_sides(model: Continuum) -> Vector | None:
    """Kinds of the faces, (2, d), where Ω is a box and each of its faces is Dirichlet or Neumann as a whole.

    Faces that are glued have the kind 0, of facets inside. A connected domain in its bounding box whose boundary lies
    in the box's boundary is the box.
    """
    X, outside = model.points, model.topology.boundary
    P, kind = X[model.topology.facets[outside]], model.kind[outside]
    found, covered = np.zeros((2, model.d)), np.zeros(len(P), dtype=bool)
    unrolled = None if model.gluing is None else cover(model)
    if isinstance(unrolled, str):
        return None
    for side, ends in enumerate((X.min(axis=0), X.max(axis=0))):
        for axis, end in enumerate(ends):
            here = np.all(P[:, :, axis] == end, axis=1)
            covered |= here
            if unrolled is not None and unrolled.axes[axis] and not here.any():
                continue  # robin.md, step 7f
            found[side, axis] = kind[here][0] if here.any() and np.all(kind[here] == kind[here][0]) else np.nan
    return found if bool(covered.all()) and not np.isnan(found).any() else None  # band.md, step 5a


def rim_height(model: Continuum, nodal: Vector) -> float:
    """Upper bound of |u_h| on Γ_D: coefficients of quadratics are at most three times values at nodes."""
    held = np.unique(model.nodes_of(model.topology.facets[model.kind == DIRICHLET]))
    top = float(np.abs(nodal[held]).max(initial=0.0))
    return float(up(3.0 * top, 8)) if top > 0.0 else 0.0  # band.md, step 3f
