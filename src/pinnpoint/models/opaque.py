"""Predictions of which only values are known, those of their derivatives among them: estimates, or declared bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, attributes, number, vector, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.models.smooth import Function, SmoothField, data, model_at, values_at
from pinnpoint.taylor.declared import Declared
from pinnpoint.taylor.inputs import Data, enclosed
from pinnpoint.taylor.jets import plus, times
from pinnpoint.taylor.models import TaylorModel, constant


@dataclass(frozen=True)
class Smoothness:
    """Declared bounds of an opaque prediction u, on the bounding box of the mesh.

    Parameters
    ----------
    value, laplacian, gradient
        M with |vᵀ∇²w v| ≤ M for unit vectors v, where w is u, Δu, or any ∂u/∂x_i (needed for fluxes alone).
    accuracy
        Bound of the error of every number that the functions return, rounding included.
    """

    value: float
    laplacian: float
    accuracy: float
    gradient: float | None = None

    def __post_init__(self) -> None:
        for name, bound in attributes(self, "value", "laplacian", "accuracy").items():
            number(f"smoothness.{name}", bound, low=0.0)
        if self.gradient is not None:
            number("smoothness.gradient", self.gradient, low=0.0)

    @property
    def claim(self) -> str:
        """What is declared."""
        slopes = "" if self.gradient is None else f", of its slopes {self.gradient:g}"
        return (
            f"lift: second derivatives of the prediction at most {self.value:g}, of its Laplacian "
            f"{self.laplacian:g}{slopes}; its numbers within {self.accuracy:g}"
        )


@dataclass(frozen=True, eq=False)
class OpaqueLift:
    """A lift given by functions: what follows from them is estimated, or proved from the bounds of `smoothness`."""

    value_of: Function
    laplacian_of: Function
    gradient_of: Function | None = None
    smoothness: Smoothness | None = None
    box: tuple[Vector, Vector] | None = None

    __repr__ = brief

    def on(self, points: Vector) -> OpaqueLift:
        """The same on the bounding box of points, where the declared bounds hold."""
        return replace(self, box=(points.min(axis=0), points.max(axis=0)))

    @property
    def value(self) -> Function:
        """The function u."""
        return self._declared(self.value_of, "value")

    @property
    def laplacian(self) -> Function:
        """The function Δu."""
        return self._declared(self.laplacian_of, "laplacian")

    def slope(self, axis: int) -> Function:
        """The function ∂u/∂x_axis."""
        gradient, i = self.gradient_of, whole("axis", axis)
        if gradient is None:
            raise InputError("gradient: missing; the fluxes of an opaque prediction need Lift.opaque(…, gradient)")
        return self._declared(lambda X: np.asarray(gradient(X))[:, i], "gradient")

    def flux(self, normal: Vector, kappa: float, given: Data | str = 0.0) -> Function:
        """The function g − κ n·∇u."""
        n, k, g = vector("normal", normal), number("kappa", kappa, above=0.0), data("given", given)
        slopes = [(float(v), self.slope(i)) for i, v in enumerate(n) if v]

        def model(X: list[TaylorModel]) -> TaylorModel:
            out = model_at(g, X)
            for v, slope in slopes:
                out = out - constant(k) * (constant(v) * model_at(slope, X))
            return out

        return self._joined(model, lambda X: values_at(g, X) - k * sum(v * s(X) for v, s in slopes), g, slopes[0][1])

    def minus(self, given: Data | str) -> Function:
        """The function u − g."""
        g, u = data("given", given), self.value
        return self._joined(lambda X: model_at(u, X) - model_at(g, X), lambda X: u(X) - values_at(g, X), g, u)

    def residual(self, source: Data | str, kappa: float, reaction: float = 0.0) -> Function:
        """The function f + κΔu − c u."""
        f, k, c = data("source", source), number("kappa", kappa, above=0.0), number("reaction", reaction)
        u, bent = self.value, self.laplacian

        def model(X: list[TaylorModel]) -> TaylorModel:
            r = plus(model_at(f, X), times(constant(k), model_at(bent, X)))
            return r if c == 0.0 else r - constant(c) * model_at(u, X)

        return self._joined(model, lambda X: values_at(f, X) + k * bent(X) - c * u(X), f, bent)

    def _declared(self, f: Function, name: str) -> Function:
        if self.smoothness is None or self.box is None:
            return f
        bound = attributes(self.smoothness, name)[name]
        if bound is None:
            raise InputError("smoothness.gradient: missing; fluxes need a bound of the slopes' second derivatives")
        return Declared(f, bound, self.smoothness.accuracy, *self.box)

    def _joined(self, model: Any, function: Function, given: Data, own: Function) -> Function:
        """A field that encloses itself where both parts do, else a plain function."""
        if enclosed(own) and (not callable(given) or enclosed(given)):
            return SmoothField(model, terms=given)
        return function
