"""The data term ∫_B f Φ dx of a point value or a ball average, in polar coordinates about the point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats, number
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import UNIT, at_most
from pinnpoint.taylor.inputs import enclosed
from pinnpoint.transfer.points import polar_models
from pinnpoint.transfer.points.kernels import Kernel, scaled
from pinnpoint.transfer.points.rings import Radial
from pinnpoint.transfer.points.work import Work


def data_term(
    kernel: Kernel, f: object, x0: ArrayLike, tolerance: float, spent: Work | None = None
) -> tuple[float, float, bool]:
    """∫_B f Φ dx: value, bound of the error, and whether that is proved.

    A number is integrated in closed form. A formula or smooth data is enclosed by Taylor models in polar coordinates,
    refined until the error is below `tolerance`, or rounding or the budget stops it. For any other function, called
    with points (N, d), the error is the difference between two product rules, an estimate.
    """
    x0 = np.asarray(x0, dtype=np.float64).reshape(-1)
    if x0.shape != (kernel.d,):
        raise InputError(f"x0: must have {kernel.d} coordinates for this kernel; got {x0.size}")
    if isinstance(f, Real) and not isinstance(f, bool):
        return (*scaled(kernel, number("f", f), 0.0), True)
    if enclosed(f):
        return (*polar_models.enclosed(kernel, f, x0, float(tolerance), spent), True)
    if callable(f):
        return (*_sampled(kernel, f, x0, float(tolerance)), False)
    raise InputError(f"f: must be a number, a formula or a function of points (N, d); got {type(f).__name__}")


def data_terms(
    kernels: Sequence[Kernel], f: object, X: Vector, tolerances: Sequence[float], spent: Sequence[Work]
) -> list[tuple[float, float, bool]]:
    """`data_term` of kernels about the rows of X; Taylor models of their patches are made together."""
    if not isinstance(f, Real) and enclosed(f):
        return [(*term, True) for term in polar_models.enclosed_each(kernels, f, X, tolerances, spent)]
    every = zip(kernels, X, tolerances, spent, strict=True)
    return [data_term(kernel, f, x0, tolerance, work) for kernel, x0, tolerance, work in every]


def _sampled(kernel: Kernel, f: Callable[[Vector], Any], x0: Vector, tolerance: float) -> tuple[float, float]:
    return agreed(lambda *sizes: product_rule(kernel, f, x0, *sizes), tolerance)


def agreed(rule: Callable[[int, int, int], float], tolerance: float) -> tuple[float, float]:
    """Finer and finer product rules until two agree; what they differ by is an estimate of the error."""
    before = rule(3, 5, 12)
    for rings, points, angles in ((4, 8, 32), (8, 8, 64), (16, 8, 128)):
        value = rule(rings, points, angles)
        error = abs(value - before) + 16.0 * UNIT * abs(value)  # continuous.md, step 8d
        if error <= tolerance:
            break
        before = value
    return value, at_most(error)


def product_rule(kernel: Radial, f: Callable[[Vector], Any], x0: Vector, rings: int, points: int, angles: int) -> float:
    """Rings with interpolatory rules for the weight Φ r^{d−1}, times a rule on the sphere."""
    d = kernel.d
    directions, share = _sphere(d, angles)
    x, _ = scipy.special.roots_legendre(points)
    to_weights = np.linalg.inv(np.vander(x, increasing=True).T)
    ends = np.linspace(0.0, kernel.radius, rings + 1)
    total = 0.0
    for a, b in pairwise(ends):
        weights = to_weights @ kernel.moments(float(a), float(b), points - 1)[0]
        r = 0.5 * (a + b) + 0.5 * (b - a) * x
        X = (x0 + r[:, None, None] * directions).reshape(-1, d)
        values = floats("f", f(X))
        if values.shape != (len(X),) or not np.isfinite(values).all():
            raise InputError(f"f: must return {len(X)} finite values for {len(X)} points; got shape {values.shape}")
        total += float(weights @ (values.reshape(points, -1) @ share))
    return total


def _sphere(d: int, angles: int) -> tuple[Vector, Vector]:
    """Directions (Q, d) and weights that add up to the measure of the unit sphere."""
    if d == 1:
        return np.array([[1.0], [-1.0]]), np.ones(2)
    phi = 2.0 * np.pi * np.arange(angles) / angles
    circle = np.stack([np.cos(phi), np.sin(phi)], axis=1)
    if d == 2:
        return circle, np.full(angles, 2.0 * np.pi / angles)
    z, w = scipy.special.roots_legendre(angles // 2)
    level = np.sqrt(1.0 - z * z)
    flat = level[:, None, None] * circle
    upright = np.broadcast_to(z[:, None, None], (len(z), angles, 1))
    return np.concatenate([flat, upright], axis=2).reshape(-1, 3), np.repeat(w * 2.0 * np.pi / angles, angles)
