"""Barriers: functions that are larger than the solution, whatever the boundary conditions, in closed form or given.

If φ ≥ 0 has −κΔφ + cφ ≥ F in Ω and κ∂_nφ ≥ τ on Γ_N, then |u| ≤ max_{Γ_D}|g| + φ wherever |f| ≤ F and |g_N| ≤ τ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.models.lifts import Lift
from pinnpoint.rounding.arithmetic import down, up
from pinnpoint.taylor.inputs import Data, enclosed
from pinnpoint.taylor.simplices import density
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import NEUMANN
from pinnpoint.transfer.everywhere.bounds import CellBounds
from pinnpoint.transfer.everywhere.mirrors import unmet_on

ROUTE, GIVEN = "barrier", "barrier, as given"
CLOSE = 0.2
"""Suprema of sources may exceed values that are taken by so much."""


@dataclass(frozen=True, eq=False)
class Side:
    """Neumann facets with one outward normal ±e_i, and a bound of |g_N| on each."""

    axis: int
    sign: int
    facets: Index
    gap: Vector


def barrier(model: Continuum, boundary: tuple[float, bool]) -> list[CellBounds]:
    """Bounds of |u| by closed forms, where κ is one number and Neumann facets are parallel to the axes.

    *Guarantee:* |u| is at most this at every point of the cell. *Assumes:* c ≥ 0. *Cost:* the maximum of |f|.
    """
    sides = neumann_sides(model)
    uniform = model.coefficients is None and np.all(model.kappa == model.kappa[0])
    if sides is None or not uniform or not _known(model.source):
        return []
    low, high = model.points.min(axis=0), model.points.max(axis=0)
    gaps = [_gaps(model, sides, i, (low[i], high[i])) for i in range(model.d)]
    free = [i for i, (minus, plus, ends) in enumerate(gaps) if minus is None or plus is None]
    lost = any(m is not None and p is not None and max(m, p) > 0.0 and not ends for m, p, ends in gaps)
    if not free or lost:
        return []
    F = height(model)
    X = model.points[model.topology.cells]
    boxes = X.min(axis=1) - low, X.max(axis=1) - low, up(high - low, 1)
    heights = [sum(_added(gaps, boxes)) + _main(i, gaps, boxes, F) for i in free]
    phi = up(np.min(heights, axis=0) / down(model.kappa[0], 1), 32)  # everywhere.md, step 6b
    bounds = np.asarray(up(phi + boundary[0]))
    return [CellBounds(ROUTE, bounds, boundary[1], {"height": F, "boundary": boundary[0]})]


def given_barrier(model: Continuum, boundary: tuple[float, bool], w: Expression) -> list[CellBounds]:
    """Bounds of |u| by a formula w: any w with −κΔw + cw > 0 that is proved here, however it was found."""
    sides, lift = neumann_sides(model), Lift(w)
    kappa, c = float(model.kappa[0]), float(model.reaction[0])
    uniform = model.coefficients is None and np.all(model.kappa == kappa) and np.all(model.reaction == c)
    if sides is None or not uniform or not _known(model.source):
        raise InputError("barrier: needs one diffusion, one reaction and Neumann facets parallel to the axes")
    X = model.points[model.topology.cells]
    theta = -float(np.max(ranges(lift.residual(0.0, kappa, c), X)[1]))  # everywhere.md, step 6c
    if not theta > 0.0:
        raise InputError(f"barrier: −κΔw + c w must be proved positive everywhere; it is proved above {theta:.3g} only")
    bottom, top = ranges(lift.value, X)
    shift = max(0.0, -float(bottom.min()))
    tau = max((float(np.max(side.gap, initial=0.0)) for side in sides), default=0.0)
    scale = up(height(model) / down(theta, 1))
    for side in sides:
        normal = np.zeros(model.d)
        normal[side.axis] = side.sign
        V = model.points[model.topology.facets[side.facets]]
        slope = -float(np.max(ranges(lift.flux(normal, kappa, 0.0), V)[1]))  # κ∂_n w from below
        if slope < 0.0 or (tau > 0.0 and not slope > 0.0):
            raise InputError("barrier: κ∂w/∂n must be proved ≥ 0 on Neumann facets, and > 0 where the flux is missed")
        if tau > 0.0:
            scale = max(scale, up(tau / down(slope, 1)))
    bounds = up(boundary[0] + scale * (np.maximum(top, 0.0) + shift), 16)
    return [CellBounds(GIVEN, np.asarray(bounds), boundary[1], {"boundary": boundary[0]})]


def neumann_sides(model: Continuum) -> list[Side] | None:
    """The Neumann facets by their normals; None where some are not parallel to the axes."""
    T = model.topology
    facets = np.flatnonzero(model.kind == NEUMANN)
    V = model.points[T.facets[facets]]
    flat = np.ptp(V, axis=1) == 0.0
    if not np.all(flat.any(axis=1)):
        return None
    axis = np.argmax(flat, axis=1)
    level = V[np.arange(len(V)), 0, axis]
    inside = model.points[T.cells[T.facet_cells[facets, 0]]].mean(axis=1)[np.arange(len(V)), axis]
    sign = np.where(inside < level, 1, -1)
    gap = np.zeros(len(T.facets))
    for these, given in model.neumann:
        if len(these):
            bounds, sure = unmet_on(model, these, given, None)
            if not sure:
                return None
            gap[these] = bounds
    found = []
    for i in range(model.d):
        for s in (-1, 1):
            these = facets[(axis == i) & (sign == s)]
            if len(these):
                found.append(Side(i, s, these, gap[these]))
    return found


Gaps = tuple[float | None, float | None, bool]
"""Of an axis: bounds of |g_N| where normals point down and up it, None without such facets; if they lie at its ends."""


def _gaps(model: Continuum, sides: list[Side], axis: int, ends: tuple[float, float]) -> Gaps:
    most: dict[int, float] = {}
    at_ends = True
    for side in sides:
        if side.axis == axis:
            most[side.sign] = float(np.max(side.gap, initial=0.0))
            level = model.points[model.topology.facets[side.facets], axis]
            at_ends = at_ends and bool(np.all(level == ends[side.sign > 0]))
    return most.get(-1), most.get(1), at_ends


def _main(axis: int, gaps: list[Gaps], boxes: tuple[Vector, Vector, Vector], F: float) -> Vector:
    """κ times the part of φ that bends along one axis, its largest value on each cell."""
    minus, plus, _ = gaps[axis]
    low, high, width = boxes[0][:, axis], boxes[1][:, axis], float(boxes[2][axis])
    for i, (m, p, _) in enumerate(gaps):
        if m is not None and p is not None:
            F = float(up(F + 2.0 * max(m, p) / down(boxes[2][i], 2)))  # of the parabolas that are added
    if plus is None and minus is None:
        t = np.clip(0.5 * width, low, high)
        return np.asarray(up(0.5 * F * t * (width - t) * (1.0 + 1e-15), 8))
    t = np.asarray(up(high if minus is None else width - low, 2))  # from the end that is not free
    t = np.minimum(t, width)
    return np.asarray(up(F * t * (width - 0.5 * t), 8))


def _added(gaps: list[Gaps], boxes: tuple[Vector, Vector, Vector]) -> Iterator[Vector]:
    """κ times what is added for |g_N|, its largest value on each cell."""
    yield np.zeros(len(boxes[0]))
    for i, (minus, plus, _) in enumerate(gaps):
        low, high, width = boxes[0][:, i], boxes[1][:, i], float(boxes[2][i])
        if minus is None and plus is not None:
            yield np.asarray(up(plus * high, 4))
        elif plus is None and minus is not None:
            yield np.asarray(up(minus * (width - low), 4))
        elif minus is not None and plus is not None:
            off = np.maximum(np.abs(low - 0.5 * width), np.abs(high - 0.5 * width))
            yield np.asarray(up(max(minus, plus) * off * off / width * (1.0 + 1e-14), 8))


def height(model: Continuum) -> float:
    """F ≥ |f|."""
    found, _ = supremum(model.source, model.points[model.topology.cells], relative=CLOSE)  # everywhere.md, step 6a
    top = float(np.max(found, initial=0.0))
    if not math.isfinite(top):
        raise InputError("barrier: the size of what the prediction leaves of the equation is not bounded; refine")
    return top


def ranges(f: Data, V: Vector) -> tuple[Vector, Vector]:
    """Bounds of enclosed data on simplices, from below and above."""
    near = density(f, V).coefficients  # a quadratic lies between its coefficients
    bounds, _ = supremum(f, V, minus=near, relative=CLOSE)
    return np.asarray(down(near.min(axis=1) - bounds)), np.asarray(-down(-near.max(axis=1) - bounds))


def _known(f: Data) -> bool:
    return not callable(f) or enclosed(f)
