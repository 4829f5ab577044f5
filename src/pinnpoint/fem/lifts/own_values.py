"""A smooth prediction's own averages over cells and blocks, and its derivatives at points, enclosed."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.fem.problem import ScalarProblem
from pinnpoint.models.lifts import Lift
from pinnpoint.models.opaque import OpaqueLift
from pinnpoint.rounding.arithmetic import UNIT, gamma, sum_up, up
from pinnpoint.systems.goals import Block, Cells, Slope
from pinnpoint.taylor.bernstein import means
from pinnpoint.taylor.inputs import enclosed
from pinnpoint.taylor.simplices import density, enclose
from pinnpoint.transfer.blocks import corners_of
from pinnpoint.transfer.energy.geometry import Shapes

SHARP = 1e-12
"""Wanted error of an average over a block, relative to the prediction's size there."""


def own_value(
    problem: ScalarProblem, lift: Lift | OpaqueLift, goal: Cells | Block | Slope
) -> tuple[float, float, bool]:
    """Value, bound of its error, and whether that is proved."""
    mesh = problem.mesh
    if isinstance(goal, Slope):
        slope: Any = lift.slope(goal.axis)
        factor, X = float(problem.diffusion[0]) if goal.flux else 1.0, np.array([goal.at])
        if not enclosed(slope):
            return factor * float(slope(X)[0]), 0.0, False
        at, off = enclose(slope, X)
        value = factor * float(at[0])
        return value, float(up(factor * float(off[0]) + UNIT * abs(value))), True  # gradients.md, step 4a
    if isinstance(goal, Block):
        low, high = corners_of(np.array(goal.at), goal.side)
        points, cells = _simplices(low, high)
        size = max(1e-300, float(np.abs(lift.value(points)).max()))
        return _average(lift.value, points, cells, SHARP * size)
    where = goal.cells
    chosen = mesh.cells_of(where) if isinstance(where, str) else np.arange(len(mesh.cells)) if where is None else where
    return _average(lift.value, mesh.points, np.sort(mesh.cells[np.asarray(chosen, dtype=np.intp)], axis=1), None)


def _average(u: Any, points: Vector, cells: Any, tolerance: float | None) -> tuple[float, float, bool]:
    """The mean over simplices."""
    shapes = Shapes.of(points, cells)
    f = density(u, points[cells], tolerance=tolerance)
    mean = f.coefficients @ means(points.shape[1])
    top = np.abs(f.coefficients).max(axis=1)
    total = math.fsum(shapes.volume.tolist())
    value = math.fsum((shapes.volume * mean).tolist()) / total
    wrong = shapes.volume * (f.error1 * (1.0 + shapes.slack) + (2.0 * shapes.slack + gamma(60)) * top)
    error = sum_up(np.asarray(up(wrong, 8))) / total
    error += float(up(sum_up(shapes.volume * shapes.slack) / total + gamma(8))) * abs(value)
    return value, float(up(error * (1.0 + 1e-9) + 4.0 * UNIT * abs(value), 8)), f.proved  # gradients.md, step 4b


def _simplices(low: Vector, high: Vector) -> tuple[Vector, Any]:
    """A block as d! simplices: the points whose scaled coordinates come in one order."""
    d = len(low)
    numbers = np.arange(2**d)
    points = np.where((numbers[:, None] >> np.arange(d)) & 1, high, low)
    cells = [[sum(1 << axis for axis in order[:k]) for k in range(d + 1)] for order in permutations(range(d))]
    return points, np.sort(np.array(cells), axis=1)
