"""Predicted displacements as lifts: what a smooth u leaves of the equations of an elastic body.

For −∇·σ(u*) = f, σ = λ tr ε I + 2με with constant λ and μ, the correction e = u* − u solves the same equations with the
body force r_i = f_i + μΔu_i + (λ + μ) Σ_j ∂_i∂_j u_j, and with the tractions t_i − Σ_j σ_ij(u) n_j. Each is formed as
one Taylor model from those of u's derivatives through formulas and networks, so that what cancels does cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.models.lifts import Lift, outputs_of
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.networks.torch import from_torch, is_module
from pinnpoint.models.smooth import CHUNK, Function, Models, SmoothField, model_at, values_at
from pinnpoint.taylor.inputs import Data, enclosed
from pinnpoint.taylor.jets import ZERO, Jet, Pairs, plus, times
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.networks import BLOCK, row

Law = tuple[TaylorModel, TaylorModel]
"""λ and μ, as constants with their errors."""
Direction = tuple[TaylorModel, ...]
"""A vector by its components, as constants with their errors."""


@dataclass(frozen=True, eq=False)
class VectorLift:
    """u_c = offset_c + factor_c · prediction_c(inputs), and what it leaves of the equations of an elastic body.

    Parameters
    ----------
    prediction
        An `MLP` with an output for each component, a torch module that `from_torch` reads, or a list with a formula, a
        number, a network with one output or a `Lift` for each component.
    factor, offset
        Formulas as in `Lift`: one for all components, or a list with one for each.
    inputs
        As in `Lift`.
    """

    parts: tuple[Lift, ...]
    network: MLP | None

    __repr__ = brief

    def __init__(
        self, prediction: Any, factor: Any = None, offset: Any = None, inputs: Sequence[Any] | None = None
    ) -> None:
        u = from_torch(prediction) if is_module(prediction) else prediction
        if not isinstance(u, MLP | list | tuple):
            raise InputError(
                "prediction: a displacement is a network with an output for each component, or a list with a formula "
                f"for each; got {type(u).__name__}"
            )
        shared = u if isinstance(u, MLP) else None
        each = [_output(u, c) for c in range(u.outputs)] if isinstance(u, MLP) else list(u)
        w, g = (_listed(name, given, len(each)) for name, given in (("factor", factor), ("offset", offset)))
        dressed = factor is not None or offset is not None or inputs is not None
        if dressed and any(isinstance(p, Lift) for p in each):
            raise InputError("prediction: a Lift has its own factor, offset and inputs; give them there")
        parts = [p if isinstance(p, Lift) else Lift(p, w[c], g[c], inputs) for c, p in enumerate(each)]
        set_fields(self, parts=tuple(parts), network=shared)

    @property
    def formulas(self) -> tuple[Expression, ...]:
        """Every formula it is made of."""
        return tuple(f for part in self.parts for f in part.formulas)

    @property
    def neurons(self) -> int:
        """Hidden neurons; those of the largest network."""
        networks = [part.prediction for part in self.parts if isinstance(part.prediction, MLP)]
        return max((sum(len(W) for W in u.weights[:-1]) for u in networks), default=0)

    def value(self, X: Vector) -> Vector:
        """Values (N, d) at points."""
        return np.stack([part.value(X) for part in self.parts], axis=1)

    def along(self, v: Direction) -> SmoothField:
        """The field u·v."""
        return self._field(partial(self._along, v))

    def strain(self, i: int, j: int) -> SmoothField:
        """The field ε_ij(u)."""
        return self._field(partial(self._strain, i, j))

    def stress(self, i: int, j: int, law: Law) -> SmoothField:
        """The field σ_ij(u)."""
        return self._field(partial(self._stress, i, j, law))

    def traction(self, i: int, normal: Direction, law: Law, given: Data) -> Function:
        """The field t_i − Σ_j σ_ij(u) n_j: what a traction leaves; it encloses itself unless t_i is opaque."""
        model = partial(self._traction, i, normal, law)
        return self._less(model, given, self._field(partial(model, 0.0)))

    def work(self, load: Sequence[Data], law: Law | None) -> Function:
        """The field 2 Σ f_i u_i − Σ σ_ij(u) ε_ij(u), without the second sum where there is no law."""
        if any(callable(f) and not enclosed(f) for f in load):
            raise InputError("compliance: a load that is a plain function has no proved work; give a formula")
        return self._field(partial(self._work, tuple(load), law))

    def residual(self, i: int, law: Law, body: Data) -> Function:
        """The field f_i + μΔu_i + (λ + μ) Σ_j ∂_i∂_j u_j; it encloses itself unless f_i is opaque."""
        terms = self._field(partial(self._bent, i, law))
        return self._less(partial(self._residual, i, law), body, terms)

    def _less(self, model: Callable[[Any, list[TaylorModel]], TaylorModel], given: Any, terms: Data = 0.0) -> Function:
        if callable(given) and not enclosed(given):
            return Sum(given, self._field(partial(model, 0.0)))
        return self._field(partial(model, given), terms)

    # Models of the fields above; methods rather than closures, so that problems can be pickled

    def jets(self, X: Models, axes: Sequence[int] | None = None, pairs: Pairs = ()) -> list[Jet]:
        """The jets of all components, of a network's outputs together."""
        if self.network is None:
            return [part.jet(X, axes, pairs) for part in self.parts]
        last = outputs_of(self.network, self.parts[0].inputs, X, axes, pairs)
        return [part.dressed(row(last, c), X, axes, pairs) for c, part in enumerate(self.parts)]

    def _along(self, v: Direction, X: list[TaylorModel]) -> TaylorModel:
        model = constant(0.0)
        for x, jet in zip(v, self.jets(X, ()), strict=True):
            model = model + x * jet.value
        return model

    def _strain(self, i: int, j: int, X: list[TaylorModel]) -> TaylorModel:
        u = self.jets(X)
        return u[i].gradient[i] if i == j else times(constant(0.5), plus(u[i].gradient[j], u[j].gradient[i]))

    def _stress(self, i: int, j: int, law: Law, X: list[TaylorModel]) -> TaylorModel:
        return stress_of(self.jets(X), i, j, law)

    def _traction(self, i: int, n: Direction, law: Law, t: Any, X: list[TaylorModel]) -> TaylorModel:
        u, model = self.jets(X), _model(t, X)
        for j, x in enumerate(n):
            if x is not ZERO:
                model = model - times(x, stress_of(u, i, j, law))  # lift.md, step 8
        return model

    def _work(self, load: Sequence[Any], law: Law | None, X: list[TaylorModel]) -> TaylorModel:
        u, model = self.jets(X, () if law is None else None), constant(0.0)
        for f, jet in zip(load, u, strict=True):
            model = model + times(constant(2.0), times(_model(f, X), jet.value))
        for i, j in product(range(len(u) if law is not None else 0), repeat=2):
            assert law is not None
            model = model - times(stress_of(u, i, j, law), u[i].gradient[j])  # lift.md, step 12
        return model

    def _bent(self, i: int, law: Law, X: list[TaylorModel]) -> TaylorModel:
        return times(law[1], self.jets(X)[i].laplacian)

    def _residual(self, i: int, law: Law, f: Any, X: list[TaylorModel]) -> TaylorModel:
        (lam, mu), pairs = law, tuple((i, j) for j in range(len(X)))
        u = self.jets(X, None, pairs)
        bent = ZERO
        for j, jet in enumerate(u):
            bent = plus(bent, jet.second(pairs)[j])  # ∂_i div u
        r = plus(_model(f, X), times(mu, u[i].laplacian))  # lift.md, step 6
        return plus(r, times(lam + mu, bent))

    def _field(self, model: Callable[[list[TaylorModel]], TaylorModel], terms: Data = 0.0) -> SmoothField:
        return SmoothField(model, BLOCK if self.neurons else CHUNK, terms)


@dataclass(frozen=True, eq=False)
class Sum:
    """An opaque function and a field, added."""

    given: Function
    field: SmoothField

    def __call__(self, X: Vector) -> Vector:
        """Values (N,)."""
        return np.asarray(values_at(self.given, X) + self.field(X))


def stress_of(u: Sequence[Jet], i: int, j: int, law: Law) -> TaylorModel:
    """σ_ij = λ δ_ij Σ_k ∂_k u_k + μ (∂_i u_j + ∂_j u_i)."""
    lam, mu = law
    model = times(mu, plus(u[i].gradient[j], u[j].gradient[i]))
    if i == j:
        trace = ZERO
        for k, jet in enumerate(u):
            trace = plus(trace, jet.gradient[k])
        model = plus(model, times(lam, trace))
    return model


def _model(g: Any, X: list[TaylorModel]) -> TaylorModel:
    """Data, or a constant with an error."""
    return g if isinstance(g, TaylorModel) else model_at(g, X)


def _output(u: MLP, c: int) -> MLP:
    """The network with one of its outputs."""
    W, b = u.weights, u.biases
    return MLP([*W[:-1], W[-1][c : c + 1]], [*b[:-1], b[-1][c : c + 1]], u.activation, u.factor)


def _listed(name: str, given: Any, count: int) -> list[Any]:
    if not isinstance(given, list | tuple):
        return [given] * count
    if len(given) != count:
        raise InputError(f"{name}: must be one formula, or one for each of {count} components; got {len(given)}")
    return list(given)
