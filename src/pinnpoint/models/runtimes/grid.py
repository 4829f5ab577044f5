"""Outputs on regular grids, as neural operators give them, interpolated linearly."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats, vector
from pinnpoint.base.errors import InputError
from pinnpoint.models.runtimes.predictor import CHUNK, Predictor

PLACES = ("nodes", "cells")


def grid_predictor(
    values: ArrayLike,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = 1.0,
    *,
    channels: bool = False,
    at: str = "nodes",
    chunk: int = CHUNK,
) -> Predictor:
    """Values on a regular grid of a box, axis k of the array along coordinate k.

    Parameters
    ----------
    values
        (n_x, n_y, …), or with ``channels=True`` (c, n_x, n_y, …), of one instance. Torch and JAX arrays are taken too.
    lower, upper
        Corners of the box: numbers, or one per coordinate.
    at
        ``"nodes"``: the first and last values lie on the box's faces. ``"cells"``: values lie at cell centres; the half
        cells outside them are extrapolated linearly.
    """
    a = floats("values", values)
    if at not in PLACES:
        raise InputError(f"at: must be one of {', '.join(PLACES)}; got {at!r}")
    a = np.moveaxis(a, 0, -1) if channels else a[..., None]
    dim = a.ndim - 1
    if not 1 <= dim <= 3 or min(a.shape[:-1]) < 2:
        raise InputError(f"values: must lie on a grid of 1 to 3 axes with 2 or more values each; got {a.shape}")
    if not np.all(np.isfinite(a)):
        bad = np.argwhere(~np.isfinite(a).all(axis=-1))
        raise InputError(f"values: must be finite; {len(bad)} are not, the first at grid point {bad[0].tolist()}")
    low, high = (
        vector(name, np.full(dim, x) if np.ndim(x) == 0 else x, dim) for name, x in (("lower", lower), ("upper", upper))
    )
    if not np.all(low < high):
        raise InputError(f"lower, upper: must be corners of a box; got {low.tolist()} and {high.tolist()}")
    half = [0.0 if at == "nodes" else 0.5 * (h - o) / n for o, h, n in zip(low, high, a.shape[:-1], strict=True)]
    axes = [np.linspace(o + e, h - e, n) for o, h, e, n in zip(low, high, half, a.shape[:-1], strict=True)]
    inside = scipy.interpolate.RegularGridInterpolator(axes, a, bounds_error=False, fill_value=None)
    reach = 1e-9 * (high - low)

    def evaluate(X: Vector) -> Vector:
        if X.shape[1] != dim:
            raise InputError(f"points: the grid has {dim} coordinates; got {X.shape[1]}")
        out = ~np.all((low - reach <= X) & (high + reach >= X), axis=1)  # what is no number is nowhere
        if out.any():
            where = X[int(np.argmax(out))].tolist()
            raise InputError(f"points: {int(out.sum())} lie outside the grid's box, the first at {where}")
        return np.asarray(inside(X))

    return Predictor(evaluate, f"{'×'.join(map(str, a.shape[:-1]))} grid, interpolated linearly", chunk)
