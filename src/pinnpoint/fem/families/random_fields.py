"""Random coefficients as the data sets of neural operators draw them."""

from __future__ import annotations

import numpy as np
import scipy

from pinnpoint.base.arrays import Vector, number, whole
from pinnpoint.base.errors import InputError


def darcy_fields(
    cells: int,
    count: int,
    seed: int | tuple[int, ...] = 0,
    *,
    low: float = 3.0,
    high: float = 12.0,
    tau: float = 3.0,
    alpha: float = 2.0,
    nodes: bool = False,
) -> Vector:
    """Coefficients of two values on a square, (count, cells, cells): the Darcy benchmark of the literature.

    A Gaussian field with the covariance (−Δ + τ²)^−α, Δ with natural boundary conditions and without its mean, is
    `high` where it is not negative and `low` elsewhere; axis 1 runs along x, axis 2 along y.

    Parameters
    ----------
    cells
        Pixels along each side.
    seed
        Of the random numbers; a tuple for one of many independent streams.
    low, high
        The two values. The literature has 3 and 12, a public generator of the same name 4 and 12.
    nodes
        Values at the corners of the pixels, (count, cells + 1, cells + 1), instead.
    """
    n, count = whole("cells", cells, low=1) + bool(nodes), whole("count", count, low=1)
    low, high = number("low", low, above=0.0), number("high", high, above=0.0)
    tau, alpha = number("tau", tau, above=0.0), number("alpha", alpha, above=0.0)
    if not high >= low:
        raise InputError(f"low, high: must not fall; got {low} and {high}")
    k = np.arange(n)
    size = tau ** (alpha - 1.0) * (np.pi**2 * (k[:, None] ** 2 + k**2) + tau**2) ** (-0.5 * alpha)
    noise = np.random.default_rng(seed).normal(size=(count, n, n)) * (n * size)
    noise[:, 0, 0] = 0.0
    return np.where(scipy.fft.idctn(noise, axes=(1, 2), norm="ortho") >= 0.0, high, low)


def on_triangles(pixels: Vector) -> Vector:
    """Values of pixels (…, n, n) on the two triangles of each square of the generated mesh, (…, 2 n²)."""
    return np.repeat(pixels.reshape(*pixels.shape[:-2], -1), 2, axis=-1)
