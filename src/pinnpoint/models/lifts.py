"""Predictions as lifts: what a smooth u leaves for a correction e = u* − u to solve.

For −∇·(κ∇u*) + c u* = f with constant κ and c the correction solves the same equation with the source
r = f + κΔu − c u, the boundary values g − u and the fluxes g_N − κ∂u/∂n. Each of these is data that encloses itself:
Taylor models of u, ∇u and Δu through formulas and networks, formed as one model, so that what cancels does cancel.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

from pinnpoint.base.arrays import Vector, number, set_fields, vector, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.models.folds import Fold
from pinnpoint.models.given import require_no_file
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.networks.torch import from_torch, is_module
from pinnpoint.models.opaque import OpaqueLift, Smoothness
from pinnpoint.models.smooth import CHUNK, Function, Models, SmoothField, data, model_at, values_at
from pinnpoint.taylor.formulas import Doubts
from pinnpoint.taylor.inputs import Data, enclosed, model_of
from pinnpoint.taylor.jets import Jet, Pairs, jet_of, plus, seeds, times
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.networks import BLOCK, network, row


@dataclass(frozen=True, eq=False)
class Lift:
    """u = offset + factor · prediction(inputs), and what it leaves of an equation.

    Parameters
    ----------
    prediction
        An `MLP` with one output, a torch module that `from_torch` reads, a formula (`Expression` or text), or a number.
        Weights are exactly the floats stored.
    factor
        A formula that multiplies it, for example one that vanishes on the boundary.
    offset
        A formula that is added, for example one with the boundary values.
    inputs
        Formulas of the coordinates that a network sees in place of them, for example ``["2*x - 1", "2*y - 1"]``.
    variables
        Names of the coordinates in formulas, in the order of a network's inputs; ``("x", "t")`` on a line in time.
    """

    prediction: Any
    factor: Expression | None
    offset: Expression | None
    inputs: tuple[Expression, ...] | None
    folds: tuple[Fold, ...]
    """Planes between which its jumps are taken away, one pair after the other."""

    __repr__ = brief

    def __init__(
        self,
        prediction: Any,
        factor: Data | str | None = None,
        offset: Data | str | None = None,
        inputs: Sequence[Any] | None = None,
        variables: Sequence[str] = ("x", "y", "z"),
    ) -> None:
        u = from_torch(prediction) if is_module(prediction) else prediction
        if isinstance(u, str | os.PathLike):
            require_no_file(u)
            u = parse(u, variables, name="prediction")
        if not isinstance(u, MLP | Expression):
            u = number("prediction", u)
        fed = None if inputs is None else tuple(_formula(f"inputs[{i}]", f, variables) for i, f in enumerate(inputs))
        if isinstance(u, MLP):
            if u.outputs != 1:
                raise InputError(f"prediction: must have one output; this network has {u.outputs}")
            if fed is not None and len(fed) != u.dim:
                raise InputError(f"inputs: the network has {u.dim} inputs; got {len(fed)} formulas")
        elif fed is not None:
            raise InputError("inputs: only a network has inputs; put them into the formula")
        w, g = (None if v is None else _formula(n, v, variables) for n, v in (("factor", factor), ("offset", offset)))
        set_fields(self, prediction=u, factor=w, offset=g, inputs=fed, folds=())

    @property
    def formulas(self) -> tuple[Expression, ...]:
        """Every formula it is made of."""
        given = (self.prediction, self.factor, self.offset, *(self.inputs or ()))
        return tuple(f for f in given if isinstance(f, Expression))

    def folded(self, folds: Sequence[Fold]) -> Lift:
        """The same function made periodic between these planes."""
        lift = copy(self)
        set_fields(lift, folds=tuple(folds))
        return lift

    @staticmethod
    def opaque(
        value: Function, laplacian: Function, gradient: Function | None = None, smoothness: Smoothness | None = None
    ) -> OpaqueLift:
        """The lift of a function of points (N, d) with its Laplacian (N,) and gradient (N, d), all taken as given.

        What follows is an estimate; with bounds declared as `Smoothness` it is proved from these.
        """
        return OpaqueLift(value, laplacian, gradient, smoothness)

    def jet(self, coordinates: Models, axes: Sequence[int] | None = None, pairs: Pairs = ()) -> Jet:
        """Models of u, ∇u and Δu from those of the coordinates, or of derivatives along some axes alone.

        With `pairs` also of ∂_a∂_b u for these pairs of axes.
        """
        if self.folds:
            return self.folds[-1].jet(self.folded(self.folds[:-1]).jet, coordinates, axes, pairs)
        u = self.prediction
        if isinstance(u, MLP):
            jet = row(outputs_of(u, self.inputs, coordinates, axes, pairs), 0)
        elif isinstance(u, Expression):
            jet = jet_of(u, coordinates, axes, pairs)
        else:
            jet = Jet.constant(constant(u), len(coordinates if axes is None else axes))
        return self.dressed(jet, coordinates, axes, pairs)

    def dressed(self, jet: Jet, coordinates: Models, axes: Sequence[int] | None, pairs: Pairs = ()) -> Jet:
        """The jet of u from that of the prediction itself, a network's last layer."""
        u = self.prediction
        if isinstance(u, MLP) and u.factor == "unit-box":
            jet = _unit_box(seeds(coordinates, axes, pairs)) * jet
        if self.factor is not None:
            jet = jet_of(self.factor, coordinates, axes, pairs) * jet
        return jet if self.offset is None else jet_of(self.offset, coordinates, axes, pairs) + jet

    @property
    def value(self) -> SmoothField:
        """The field u."""
        return self._field(lambda X: self.jet(X, ()).value)

    @property
    def laplacian(self) -> SmoothField:
        """The field Δu."""
        return self._field(lambda X: self.jet(X).laplacian)

    def slope(self, axis: int) -> SmoothField:
        """The field ∂u/∂x_axis."""
        i = whole("axis", axis)
        return self._field(partial(self._slope, i))

    def flux(self, normal: Vector, kappa: float, given: Data | str = 0.0) -> Function:
        """The field g − κ n·∇u for one normal n, exactly these floats; what a Neumann condition leaves."""
        n, k, g = vector("normal", normal), number("kappa", kappa, above=0.0), data("given", given)
        if callable(g) and not enclosed(g):
            slopes = [self.slope(i) for i in range(len(n))]
            return lambda X: values_at(g, X) - k * sum(v * s(X) for v, s in zip(n, slopes, strict=True))
        axes = [i for i, v in enumerate(n) if v]
        return self._field(partial(self._flux, n, k, g, axes))

    def minus(self, given: Data | str) -> Function:
        """The field u − g; it encloses itself where g is a number, a formula or smooth data."""
        g = data("given", given)
        if callable(g) and not enclosed(g):
            return OpaqueLift(self.value, self.laplacian).minus(g)
        return self._field(partial(self._minus, g))

    def residual(
        self, source: Data | str, kappa: float, reaction: float = 0.0, less: Expression | None = None
    ) -> Function:
        """The field r = f + κΔu − c u for numbers κ > 0 and c ≥ 0; it encloses itself unless f is opaque.

        Where `less` is a formula g of u, r = f + κΔu − c u − g(u).
        """
        f, k, c = data("source", source), number("kappa", kappa, above=0.0), number("reaction", reaction)
        if callable(f) and not enclosed(f):
            if less is not None:
                raise InputError("lift: beside a nonlinear reaction the source must be a number or a formula")
            return OpaqueLift(self.value, self.laplacian).residual(f, k, c)
        return self._field(partial(self._residual, f, k, c, less), f)

    # Models of the fields above; methods rather than closures, so that problems can be pickled

    def _slope(self, axis: int, X: list[TaylorModel]) -> TaylorModel:
        return self.jet(X, (axis,)).gradient[0]

    def _flux(self, n: Vector, k: float, g: Data, axes: list[int], X: list[TaylorModel]) -> TaylorModel:
        out = model_at(g, X)
        for i, slope in zip(axes, self.jet(X, axes).gradient, strict=True):
            out = out - constant(k) * (constant(n[i]) * slope)
        return out

    def _minus(self, g: Data, X: list[TaylorModel]) -> TaylorModel:
        return self.jet(X, ()).value - model_at(g, X)

    def _residual(self, f: Data, k: float, c: float, less: Expression | None, X: list[TaylorModel]) -> TaylorModel:
        u = self.jet(X)
        r = plus(model_at(f, X), u.laplacian if k == 1.0 else times(constant(k), u.laplacian))
        r = r if c == 0.0 else r - constant(c) * u.value
        return r if less is None else r - model_of(less, [u.value])  # indefinite.md, step 12a

    def _field(self, model: Callable[[list[TaylorModel]], TaylorModel], terms: Data = 0.0) -> SmoothField:
        return SmoothField(model, BLOCK if isinstance(self.prediction, MLP) else CHUNK, terms)


def outputs_of(
    u: MLP, inputs: Sequence[Expression] | None, coordinates: Models, axes: Sequence[int] | None, pairs: Pairs = ()
) -> Jet:
    """A network's last layer, with one row an output, from the models of the coordinates."""
    fed = seeds(coordinates, axes, pairs)
    if inputs is not None:
        fed = [jet_of(f, coordinates, axes, pairs) for f in inputs]
    if len(fed) != u.dim:
        raise InputError(f"prediction: the network has {u.dim} inputs, the problem {len(fed)}; say inputs")
    doubts = Doubts()
    for j in fed:  # an activation is bounded, and would make a number of what is none
        doubts.watch("inputs", (), j.value)
    return network(u.weights, u.biases, u.activation, fed).under(doubts)


def _unit_box(coordinates: Sequence[Jet]) -> Jet:
    """The jet of ∏ x_i (1 − x_i)."""
    one = Jet.constant(constant(1.0), len(coordinates[0].gradient))
    product = one
    for i, x in enumerate(coordinates):
        product = x * (one - x) if i == 0 else product * (x * (one - x))
    return product


def _formula(name: str, given: Any, variables: Sequence[str]) -> Expression:
    return given if isinstance(given, Expression) else parse(given, variables, name=name)
