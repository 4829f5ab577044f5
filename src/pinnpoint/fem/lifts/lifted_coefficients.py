"""What a smooth prediction leaves of −∇·(A∇u) + b·∇u + c u = f and of A∇u·n = g, as data that enclose themselves."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.smooth import CHUNK, SmoothField, data, model_at
from pinnpoint.taylor.inputs import enclosed, model_of
from pinnpoint.taylor.jets import ZERO, plus, times
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.networks import BLOCK
from pinnpoint.transfer.media.coefficients import Coefficients, derivative, matrix, modelled

Models = list[TaylorModel]


def require_smooth(given: Coefficients, lift: Any) -> None:
    """Refuse lifts across jumps of the coefficients, and of functions whose derivatives are not known."""
    if len(given.diffusion) > 1:
        raise InputError(
            "lift: the coefficients must be given by the same formulas on all cells; across a jump of A the "
            "prediction's flux would jump. Certify without the lift"
        )
    if not isinstance(lift, Lift):
        raise InputError(
            "lift: with coefficients that vary, matrices or convection a network by its weights or a formula is "
            "needed; of other functions the derivatives are not known"
        )


def residual(lift: Lift, source: Any, given: Coefficients, less: Expression | None = None) -> SmoothField:
    """The field r = f + ∇·(A∇u) − b·∇u − c u, less g(u) where a formula g is given."""
    f = data("source", source)
    if callable(f) and not enclosed(f):
        raise InputError("lift: with coefficients that vary the source must be a number or a formula")
    return _field(lift, partial(_residual, lift, f, given, less), f)


def flux(lift: Lift, given: Coefficients, normal: Vector, prescribed: Any) -> SmoothField:
    """The field g − n·A∇u for one normal n, exactly these floats."""
    g = data("given", prescribed)
    if callable(g) and not enclosed(g):
        raise InputError("lift: with coefficients that vary fluxes must be numbers or formulas")
    return _field(lift, partial(_flux, lift, g, given, np.asarray(normal)))


def _field(lift: Lift, model: Any, terms: Any = 0.0) -> SmoothField:
    return SmoothField(model, BLOCK if isinstance(lift.prediction, MLP) else CHUNK, terms)


def _residual(lift: Lift, f: Any, given: Coefficients, less: Expression | None, X: Models) -> TaylorModel:
    d = len(X)
    A, scalar = matrix(given.diffusion[0], d), given.scalar
    which = () if scalar else tuple((i, j) for i in range(d) for j in range(i, d))
    u = lift.jet(X, None, which)
    r = model_at(f, X)
    if scalar:
        r = plus(r, times(modelled(A[0][0], X), u.laplacian))  # varying.md, step 6a
    else:
        second = dict(zip(which, u.second(which), strict=True))
        for i, j in which:
            a = modelled(A[i][j], X)
            r = plus(r, times(a if i == j else times(constant(2.0), a), second[i, j]))  # varying.md, step 6a
    for j in range(d):
        slope = ZERO
        for i in range(d):
            slope = plus(slope, derivative(A[min(i, j)][max(i, j)], X, i))
        b = given.convection[0]
        if b is not None and not (isinstance(b[j], float) and b[j] == 0.0):
            slope = plus(slope, -modelled(b[j], X))
        r = plus(r, times(slope, u.gradient[j]))
    c = given.reaction[0]
    r = r if isinstance(c, float) and c == 0.0 else plus(r, -times(modelled(c, X), u.value))
    return r if less is None else plus(r, -model_of(less, [u.value]))  # indefinite.md, step 12a


def _flux(lift: Lift, g: Any, given: Coefficients, n: Vector, X: Models) -> TaylorModel:
    d, out = len(X), model_at(g, X)
    A, slopes = matrix(given.diffusion[0], d), lift.jet(X).gradient
    for i in range(d):
        if n[i] == 0.0:
            continue
        for j in range(d):
            if A[i][j] != 0.0:
                a = modelled(A[min(i, j)][max(i, j)], X)
                out = plus(out, -times(constant(n[i]), times(a, slopes[j])))  # varying.md, step 6a
    return out
