"""The data terms ∫ f·Φ_k and −∫ f·∂_lΦ_k of displacements and their gradients, in polar coordinates about the point.

Both are sums of radial functions of `kelvin`, each against a combination of the force and of the direction e:

    2μ f·Φ_k     = A f_k − D e_k (f·e),
    2μ f·∂_lΦ_k  = A' e_l f_k − (D' − 2D/r) e_k e_l (f·e) − (D/r)(e_k f_l + δ_kl f·e).

Affine forces contribute nothing: Φ_k is even and made of second derivatives of a function whose gradient vanishes at
R, so ∫Φ_k = 0 and ∫ y_j Φ_k = 0; and as Φ_k = 0 at R, ∫∂_lΦ_k = 0 and ∫ y_j ∂_lΦ_k = −δ_jl ∫Φ_k = 0. So constants
need no integral, and formulas are integrated less an affine function that is close to them. Forces are taken apart by
components: constants, formulas and smooth data by Taylor models, and opaque functions by product rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from numbers import Real
from operator import add
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats, number
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import UNIT, at_most, up
from pinnpoint.taylor.inputs import Data, Enclosed, costly, enclosed, fixed, function, model_of
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.transfer.elastic.kelvin import Kelvin
from pinnpoint.transfer.elastic.radial import Ringed
from pinnpoint.transfer.points.data_term import agreed, product_rule
from pinnpoint.transfer.points.polar_models import Models, against
from pinnpoint.transfer.points.work import Work

Field = TypeVar("Field", TaylorModel, Vector)
Angular = Callable[[Mapping[int, Any], Sequence[Any], Any], list[Any]]
"""What the radial functions are integrated with, from those components of the force that are there, e, and zero."""


def displacement_term(
    kernel: Kelvin, f: Sequence[Data], k: int, x0: ArrayLike, tolerance: float, spent: Work | None = None
) -> tuple[float, float, bool]:
    """∫_B f·Φ_k dx: value, bound of the error, and whether that is proved. u_k(x₀) = ∫ϱ u_k + value.

    Components of f may be numbers, formulas, smooth data, or functions of points (N, d); for these the error is an
    estimate. Formulas are refined until the error is below `tolerance`, or rounding or the budget stops it.
    """

    def angular(force: Mapping[int, Field], e: Sequence[Field], zero: Field) -> list[Field]:
        along = _along(force, e, zero)
        return [force.get(k, zero), -(along * e[k])]  # elasticity.md, step 8a

    return _term(kernel, kernel.parts, f, angular, x0, float(tolerance), spent)


def tensor_term(
    kernel: Kelvin,
    f: Sequence[Data],
    slopes: Sequence[tuple[float, int, int]],
    x0: ArrayLike,
    tolerance: float,
    spent: Work | None = None,
) -> tuple[float, float, bool]:
    """−Σ c ∫_B f·∂_lΦ_k dx over triples (c, k, l) in one pass over f: Σ c ∂_l u_k(x₀) = Σ c ∫ϱ ∂_l u_k + value."""

    def angular(force: Mapping[int, Field], e: Sequence[Field], zero: Field) -> list[Field]:
        along = _along(force, e, zero)
        found = [zero, zero, zero]
        for c, k, axis in slopes:
            cross = force.get(axis, zero) * e[k]
            # elasticity.md, step 8f
            parts = [-(force.get(k, zero) * e[axis]), along * (e[k] * e[axis]), cross + along if k == axis else cross]
            found = [
                one + (part if c == 1.0 else part * _number(c, zero)) for one, part in zip(found, parts, strict=True)
            ]
        return found

    return _term(kernel, kernel.slopes, f, angular, x0, float(tolerance), spent)


def _number(c: float, like: Field) -> Field:
    return constant(c) if isinstance(like, TaylorModel) else np.full_like(like, c)


def _along(force: Mapping[int, Field], e: Sequence[Field], zero: Field) -> Field:
    """f·e."""
    return reduce(add, (component * e[m] for m, component in force.items()), zero)


def _term(
    kernel: Kelvin,
    kernels: Sequence[Ringed],
    f: Sequence[Data],
    angular: Angular,
    x0: ArrayLike,
    tolerance: float,
    spent: Work | None,
) -> tuple[float, float, bool]:
    x0 = np.asarray(x0, dtype=np.float64).reshape(-1)
    if x0.shape != (kernel.d,) or len(f) != kernel.d:
        raise InputError(f"x0, f: must have {kernel.d} components for this kernel; got {x0.size} and {len(f)}")
    formulas, functions = _taken_apart(f)
    value, error = 0.0, 0.0
    if formulas:
        value, error = _enclosed(kernels, formulas, angular, x0, tolerance, spent)
    if functions:
        more, wrong = _sampled(kernels, functions, angular, x0, tolerance)
        value, error = value + more, float(up(error + wrong + UNIT * abs(value + more)))
    if not math.isfinite(value):
        value, error = 0.0, math.inf
    return value, at_most(error), not functions


def _taken_apart(f: Sequence[Data]) -> tuple[dict[int, Enclosed], dict[int, Callable[[Vector], Any]]]:
    """Components with models, and components that can only be called; constants are in neither."""
    formulas: dict[int, Enclosed] = {}
    functions: dict[int, Callable[[Vector], Any]] = {}
    for m, component in enumerate(f):
        if isinstance(component, Real) and not isinstance(component, bool):
            number("f", component)  # elasticity.md, step 8h
        elif enclosed(component):
            if fixed(component) is None:
                formulas[m] = component
        else:
            functions[m] = function(component)
    return formulas, functions


def _enclosed(
    kernels: Sequence[Ringed],
    f: Mapping[int, Enclosed],
    angular: Angular,
    x0: Vector,
    tolerance: float,
    spent: Work | None,
) -> tuple[float, float]:
    """By Taylor models of the components, less affine functions, and of the direction."""
    affine = {m: _affine(component, x0, 0.5 * kernels[0].radius) for m, component in f.items()}

    def parts(X: Models, directions: Callable[[], Models]) -> Models:
        force = {m: _less(model_of(component, X), X, affine[m]) for m, component in f.items()}
        return angular(force, directions(), constant(0.0))

    dear = any(costly(component) for component in f.values())
    return against(kernels, parts, x0, tolerance, spent, dear=dear, each=len(f))  # elasticity.md, step 8h


def _affine(f: Enclosed, x0: Vector, step: float) -> Vector:
    """Coefficients of an affine function near f, constant first; any will do, and zeros where f fails."""
    d = len(x0)
    X = np.concatenate([x0[None, :], x0 + step * np.eye(d), x0 - step * np.eye(d)])
    try:
        values = floats("f", f(X))
    except InputError:  # the models will say that there is no bound
        return np.zeros(d + 1)
    with np.errstate(all="ignore"):
        slopes = (values[1 : d + 1] - values[d + 1 :]) / (2.0 * step)
        found = np.array([values[0] - slopes @ x0, *slopes])
    return found if np.isfinite(found).all() else np.zeros(d + 1)


def _less(model: TaylorModel, X: Models, affine: Vector) -> TaylorModel:
    """The model minus an affine function of the coordinates."""
    for x, slope in zip(X, affine[1:], strict=True):
        if slope:
            model = model - x * constant(float(slope))
    return model - constant(float(affine[0]))  # elasticity.md, step 8h


def _sampled(
    kernels: Sequence[Ringed],
    f: Mapping[int, Callable[[Vector], Any]],
    angular: Angular,
    x0: Vector,
    tolerance: float,
) -> tuple[float, float]:
    """By product rules; the error is an estimate."""

    def called(X: Vector, i: int) -> Vector:
        Y = X - x0
        e = Y / np.linalg.norm(Y, axis=1)[:, None]
        force = {m: floats("f", component(X)) for m, component in f.items()}
        for values in force.values():
            if values.shape != (len(X),):
                raise InputError(f"f: must return {len(X)} values for {len(X)} points; got shape {values.shape}")
        return np.asarray(angular(force, list(e.T), np.zeros(len(X)))[i])

    def rule(rings: int, points: int, angles: int) -> float:
        found = (
            product_rule(G, lambda X, i=i: called(X, i), x0, rings, points, angles)  # type: ignore[misc]
            for i, G in enumerate(kernels)
        )
        return math.fsum(found)

    return agreed(rule, tolerance)
