"""The error of a prediction of the wave equation at a point: integrals over its past."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pinnpoint.base.brief import brief
from pinnpoint.boxes.equation import Equation
from pinnpoint.boxes.parts import Model, Part
from pinnpoint.boxes.paths import Crossing, Path, Strip, path
from pinnpoint.boxes.points import Sum, added, refined
from pinnpoint.boxes.volumes import Span, Volume, near, volume
from pinnpoint.formulas.expressions import Expression
from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.smooth import CHUNK, model_at
from pinnpoint.rounding.arithmetic import up
from pinnpoint.taylor.functions import sincos
from pinnpoint.taylor.inputs import Data
from pinnpoint.taylor.jets import ZERO, Jet, jet_of, plus, times
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.networks import BLOCK

Models = list[TaylorModel]
PI = constant(math.pi, 2e-16)
ALL: Span = (Fraction(0), Fraction(1))


@dataclass(frozen=True, eq=False)
class Waves:
    """u_tt − a²Δu = f: the equation's box and data, its speed a, and u and u_t at the start."""

    equation: Equation
    speed: float
    initial: Data
    velocity: Data

    __repr__ = brief

    def residual(self, lift: Lift, X: Models) -> TaylorModel:
        """The model of f − u_θ,tt + a²Δu_θ, from those of the coordinates, time last."""
        d, a = self.equation.d, constant(self.speed)
        bend = lift.jet(X, tuple(range(d))).laplacian
        rate = lift.jet(X, (d,)).laplacian
        left = plus(model_at(self.equation.source, X), times(a * a, bend))
        return left if rate is ZERO else left - rate  # wave.md, step 1a

    def start(self, lift: Lift, X: Models) -> Jet:
        """The models of e₀ = u₀ − u_θ and of its gradient at t = 0."""
        d = self.equation.d
        assert isinstance(self.initial, Expression)
        found = lift.jet([*X[:d], constant(0.0)], tuple(range(d)))
        return jet_of(self.initial, X[:d], tuple(range(d))) - found

    def begun(self, lift: Lift, X: Models) -> TaylorModel:
        """The model of e₀ alone."""
        d = self.equation.d
        return model_at(self.initial, X[:d]) - lift.jet([*X[:d], constant(0.0)], ()).value

    def started(self, lift: Lift, X: Models) -> TaylorModel:
        """The model of e₁ = u₁ − u_θ,t at t = 0."""
        d = self.equation.d
        rate = lift.jet([*X[:d], constant(0.0)], (d,)).gradient[0]
        given = model_at(self.velocity, X[:d])
        return given if rate is ZERO else given - rate


def part(name: str, model: Model, variables: int, lift: Lift) -> Part:
    """Data of some variables that are integrated over."""
    block = BLOCK if isinstance(lift.prediction, MLP) else CHUNK
    return Part(name, lambda X: model(X[:variables]), tuple(range(variables)), None, "always", block)


# A line between two ends


def line_error(waves: Waves, lift: Lift, at: float, time: float, budget: int | None = None) -> tuple[Sum, float]:
    """The error at a point of a line, and what is not known of it where a path ends in a corner."""
    axis, reach = waves.equation.axes[0], Fraction(waves.speed) * Fraction(time)
    values: list[tuple[float, float]] = []
    volumes: list[Volume] = []
    jump = 0.0
    for upwards in (True, False):
        found = path((axis.low, axis.high), axis.ends, at, reach, upwards)
        for strip in found.strips:
            volumes += _strip(waves, lift, strip, time)
        for crossing in found.crossings:
            _meet(waves, lift, crossing, time, values, volumes)
        last = found.strips[-1]
        values.append(_scaled(waves.begun(lift, [near(last.last)]), 0.5 * last.sign))  # wave.md, step 2c
        jump += _corner(waves, lift, found, values[-1])
    predicted = [waves.equation.value(lift, (at,), time)]
    (inside,) = refined(volumes, predicted, budget)
    moved = Sum(math.fsum(v for v, _ in values), 0.0, 0.0, 0.0, float(up(math.fsum(e for _, e in values))))
    return added([inside, moved]), jump


def _strip(waves: Waves, lift: Lift, strip: Strip, time: float) -> list[Volume]:
    """What the residual and the first velocities add along a strip."""
    T, a, offset = constant(time), constant(waves.speed), near(strip.offset)

    def x_of(way: TaylorModel) -> TaylorModel:
        return offset + way if strip.turn > 0 else offset - way

    def residual(X: Models) -> TaylorModel:
        left = T - X[0] / a
        return waves.residual(lift, [x_of(X[0]), X[1] * left]) * left  # wave.md, step 3a

    def velocity(X: Models) -> TaylorModel:
        return waves.started(lift, [x_of(X[0])])

    weight, span = 0.5 * strip.sign / waves.speed, (strip.start, strip.stop)
    parts = (part("residual", residual, 2, lift), [span, ALL]), (part("velocity", velocity, 1, lift), [span])
    return [volume(one, weight, spans) for one, spans in parts]


def _meet(
    waves: Waves,
    lift: Lift,
    crossing: Crossing,
    time: float,
    values: list[tuple[float, float]],
    volumes: list[Volume],
) -> None:
    """What the data of an end adds where a path meets it."""
    axis, then = waves.equation.axes[0], Fraction(time) - crossing.way / Fraction(waves.speed)
    model = end_model(waves, lift, crossing.upper)
    if axis.ends[int(crossing.upper)] == "dirichlet":
        values.append(_scaled(model([near(then)]), float(crossing.sign)))  # wave.md, step 2b
    else:
        weight = waves.speed * crossing.sign
        volumes.append(volume(part("flux", model, 1, lift), weight, [(Fraction(0), then)]))  # wave.md, step 2d


def end_model(waves: Waves, lift: Lift, upper: bool) -> Model:
    """The model of what is left at an end, from that of the time."""
    axis = waves.equation.axes[0]
    place = constant(axis.high if upper else axis.low)
    (found,) = [p for p in waves.equation.parts(lift) if p.face == (0, upper)]
    return lambda X: found.model([place, X[0]])


def _corner(waves: Waves, lift: Lift, found: Path, last: tuple[float, float]) -> float:
    """How far u may jump where a path ends in a corner, exactly: |m(0) − e₀| at a Dirichlet end."""
    corner = found.corner
    if corner is None or waves.equation.axes[0].ends[int(corner.upper)] != "dirichlet":
        return 0.0
    given, off = _scaled(end_model(waves, lift, corner.upper)([constant(0.0)]), 1.0)
    sign = found.strips[-1].sign
    return float(up(abs(given - 2.0 * sign * last[0]) + off + 2.0 * last[1], 4))  # wave.md, step 2e


def _scaled(model: TaylorModel, by: float) -> tuple[float, float]:
    """A model of one number times ½ or 1, with a sign."""
    return by * float(model.C.flat[0]), abs(by) * float(model.e.flat[0])


# Cones in the plane and in space


def cone_error(waves: Waves, lift: Lift, at: Sequence[float], time: float, budget: int | None = None) -> Sum:
    """The error at a point whose past stays inside the box."""
    d, T, a = waves.equation.d, constant(time), constant(waves.speed)

    def direction(X: Models) -> tuple[list[TaylorModel], TaylorModel]:
        """The first d components of a unit vector in space, and (π/2) sin θ."""
        sine, cosine = sincos(times(PI if d == 3 else PI * constant(0.5), X[-2]))
        y, x = sincos(PI * constant(2.0) * X[-1])
        return [sine * x, sine * y, cosine][:d], PI * constant(0.5) * sine

    def places(n: list[TaylorModel], way: TaylorModel) -> Models:
        return [constant(p) + way * one for p, one in zip(at, n, strict=True)]

    def residual(X: Models) -> TaylorModel:
        n, weight = direction(X)
        s = T * X[0]
        return waves.residual(lift, [*places(n, a * s), T - s]) * (weight * s * T)  # wave.md, step 4b

    def start(X: Models) -> TaylorModel:
        n, weight = direction(X)
        where = places(n, a * T)
        jet, rate = waves.start(lift, where), waves.started(lift, where)
        total = jet.value + T * rate
        for one, slope in zip(n, jet.gradient, strict=True):
            total = plus(total, times(a * T * one, slope))
        return total * weight  # wave.md, step 4a

    parts = [volume(part("residual", residual, 3, lift), 1.0, [ALL] * 3, (2, 2, 8))]
    parts.append(volume(part("start", start, 2, lift), 1.0, [ALL] * 2, (2, 8)))
    return refined(parts, [waves.equation.value(lift, at, time)], budget)[0]


def error_at(
    waves: Waves, lift: Lift, at: Sequence[float], time: float, budget: int | None = None
) -> tuple[Sum, float]:
    """The error at a point, and how far u itself may jump there."""
    if waves.equation.d == 1:
        return line_error(waves, lift, float(at[0]), time, budget)
    return cone_error(waves, lift, tuple(map(float, at)), time, budget), 0.0
