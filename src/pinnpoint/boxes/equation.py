"""The equation on a box, and what a prediction leaves of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pinnpoint.base.arrays import number
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.kernels import Axis
from pinnpoint.boxes.parts import Part
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.networks.torch import is_module
from pinnpoint.models.smooth import CHUNK, model_at
from pinnpoint.taylor.formulas import evaluate
from pinnpoint.taylor.inputs import Data
from pinnpoint.taylor.jets import ZERO, plus, times
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.networks import BLOCK

NAMES = ("x", "y", "z")
Models = list[TaylorModel]


@dataclass(frozen=True, eq=False)
class Equation:
    """u_t − ∇·(κ∇u) + b·∇u + c u + g(u) = f on a box, κ diagonal, all of κ, b, c numbers.

    Attributes
    ----------
    end
        The last time; None for the stationary equation, without u_t.
    given
        Data on the faces (axis, upper): u at a Dirichlet face, κ∂_n u at a Neumann face.
    nonlinear
        g, a formula in u; None where there is none.
    """

    axes: tuple[Axis, ...]
    end: float | None
    reaction: float
    source: Data
    initial: Data
    given: Mapping[tuple[int, bool], Data]
    nonlinear: Expression | None = None

    __repr__ = brief

    @property
    def d(self) -> int:
        """Dimension of space."""
        return len(self.axes)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the coordinates, time last."""
        return (*NAMES[: self.d], *(() if self.end is None else ("t",)))

    def time(self, given: float | None) -> float | None:
        """The time that is asked for, the end by default; None for the stationary equation."""
        if self.end is None:
            if given is not None:
                raise InputError("time: this box has no end, so that nothing depends on time; leave it out")
            return None
        t = self.end if given is None else number("time", given)
        if not 0.0 < t <= self.end:
            raise InputError(
                f"time: must be above 0, where u is its initial value, and at most {self.end:g}; got {t:g}"
            )
        return t

    def lift_of(self, prediction: Any) -> Lift:
        """A prediction as a function with exact derivatives, or a refusal."""
        return lift_on(prediction, self.variables)

    def parts(self, lift: Lift) -> tuple[Part, ...]:
        """What the prediction leaves: inside, at the start, and on the faces."""
        block = BLOCK if isinstance(lift.prediction, MLP) else CHUNK
        all_axes, when = tuple(range(self.d)), "always" if self.end is None else "time"
        found = [Part("residual", partial(self._residual, lift), all_axes, None, when, block)]  # box.md, step 1a
        if self.end is not None:
            found.append(Part("initial", partial(self._initial, lift), all_axes, None, "start", block))
        for (axis, upper), data in self.given.items():
            rest = tuple(i for i in all_axes if i != axis)
            model = partial(self._face, lift, axis, upper, data)  # box.md, step 1b
            found.append(Part("face", model, rest, (axis, upper), when, block))
        return tuple(found)

    def value(self, lift: Lift, at: Sequence[float], time: float) -> tuple[float, float]:
        """The prediction at a point, and what the float may be off by."""
        X = [constant(v) for v in (*at, *(() if self.end is None else (time,)))]
        found = lift.jet(X, ()).value
        return float(found.C.flat[0]), float(found.e.flat[0])

    # Models from those of the coordinates, time last whether or not it is used

    def _own(self, X: Models) -> Models:
        return X[: len(self.variables)]

    def _residual(self, lift: Lift, X: Models) -> TaylorModel:
        X = self._own(X)
        space = tuple(range(self.d))
        even = all(axis.kappa == self.axes[0].kappa for axis in self.axes)
        jet = lift.jet(X, space, () if even else tuple((i, i) for i in space))
        left = model_at(self.source, X)
        if even:
            kappa = self.axes[0].kappa
            left = plus(left, jet.laplacian if kappa == 1.0 else times(constant(kappa), jet.laplacian))
        else:
            for axis, second in zip(self.axes, jet.second(tuple((i, i) for i in space)), strict=True):
                left = plus(left, times(constant(axis.kappa), second))
        if self.end is not None:
            rate = lift.jet(X, (self.d,)).gradient[0]
            left = left if rate is ZERO else left - rate
        for axis, slope in zip(self.axes, jet.gradient, strict=True):
            if axis.drift and slope is not ZERO:
                left = left - constant(axis.drift) * slope
        if self.reaction:
            left = left - constant(self.reaction) * jet.value
        return left if self.nonlinear is None else left - evaluate(self.nonlinear, [jet.value])

    def _initial(self, lift: Lift, X: Models) -> TaylorModel:
        return model_at(self.initial, X[: self.d]) - lift.jet(self._own(X), ()).value

    def off_by(self, lift: Lift, data: Data, X: Models) -> TaylorModel:
        """The model of g − u_θ."""
        X = self._own(X)
        return model_at(data, X) - lift.jet(X, ()).value

    def _face(self, lift: Lift, axis: int, upper: bool, data: Data, X: Models) -> TaylorModel:
        X, a = self._own(X), self.axes[axis]
        if a.ends[int(upper)] == "dirichlet":
            return self.off_by(lift, data, X)
        slope = lift.jet(X, (axis,)).gradient[0]
        outward = a.kappa if upper else -a.kappa
        return model_at(data, X) if slope is ZERO else model_at(data, X) - constant(outward) * slope


def lift_on(prediction: Any, variables: Sequence[str]) -> Lift:
    """A prediction in these coordinates as a function with exact derivatives, or a refusal."""
    if isinstance(prediction, str | int | float):
        prediction = parse(prediction, variables, name="prediction")
    if not (isinstance(prediction, Lift | MLP | Expression) or is_module(prediction)):
        raise InputError(
            "prediction: must be a network by its weights (MLP, a torch module), a formula or a Lift, whose "
            f"derivatives can be enclosed; got {type(prediction).__name__}"
        )
    lift = prediction if isinstance(prediction, Lift) else Lift(prediction)
    for formula in lift.formulas:
        _require_names(formula, variables)
    u = lift.prediction
    if isinstance(u, MLP) and lift.inputs is None and u.dim != len(variables):
        raise InputError(
            f"prediction: the network has {u.dim} inputs, and the box has {len(variables)}, "
            f"{', '.join(variables)}; say pinnpoint.models.Lift(network, inputs=[…], variables=…)"
        )
    return lift


def _require_names(formula: Expression, own: Sequence[str]) -> None:
    for name in formula.variables_used:
        place = formula.variables.index(name)
        if name not in own or own.index(name) != place:
            raise InputError(
                f"{formula.name}: {name} is not read as a coordinate of this box, {', '.join(own)}; say "
                f"pinnpoint.models.Lift(…, variables={tuple(own)})"
            )
