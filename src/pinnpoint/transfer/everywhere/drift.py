"""Convection, with no solve: level sets where c ≥ (∇·b)⁺, and a barrier along the flow that does not know κ."""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import down, up
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.inputs import Data, fixed
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import NEUMANN
from pinnpoint.transfer.everywhere.barriers import height, ranges
from pinnpoint.transfer.everywhere.bounds import CellBounds
from pinnpoint.transfer.everywhere.residual import residual
from pinnpoint.transfer.media.coefficients import balance

ROUTE = "barrier along the flow"


def drift(model: Continuum, load: Density, boundary: tuple[float, bool]) -> list[CellBounds]:
    """Bounds of |u| for −∇·(A∇u) + b·∇u + c u = f with Dirichlet values all around and c ≥ 0, one region.

    *Guarantee:* |u| is at most this at every point of the cell. *Cost:* the maximum of |f|, ranges of b and c.
    """
    given = model.coefficients
    if given is None or np.any(model.kind == NEUMANN):
        return []
    b, c, A = given.convection[0], given.reaction[0], given.diffusion[0]
    X = model.points[model.topology.cells]
    if b is None or _least(c, X) < 0.0:
        return []
    found = [*residual(model, load, boundary)] if _least(balance(c, b, 1.0), X) >= 0.0 else []  # everywhere.md, step 7a
    entries = [a for row in A for a in row] if isinstance(A, tuple) else [A]
    if any(fixed(a) is None for a in entries):
        return found
    F, low, high = None, X.min(axis=1), X.max(axis=1)
    ends = model.points.min(axis=0), model.points.max(axis=0)
    for i, speed in enumerate(b):
        slow, fast = (float(x) for x in (_least(speed, X), -_least(speed, X, -1.0)))
        least, way = (slow, high[:, i] - ends[0][i]) if slow > 0.0 else (-fast, ends[1][i] - low[:, i])
        if least > 0.0:
            F = height(model) if F is None else F
            phi = up(F * up(way, 1) / down(least, 1), 8)  # everywhere.md, step 7b
            found.append(CellBounds(ROUTE, np.asarray(up(phi + boundary[0])), boundary[1], {"boundary": boundary[0]}))
    return found


def _least(f: Data, X: Vector, sign: float = 1.0) -> float:
    """A bound of sign · f from below."""
    known = fixed(f)
    if known is not None:
        return float(sign * known[0] - known[1])
    low, high = ranges(f, X)
    return float(low.min() if sign > 0.0 else -high.max())
