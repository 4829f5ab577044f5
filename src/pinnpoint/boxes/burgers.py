"""Burgers' equation on a line as a problem: contraction in L¹, no mesh, no solve."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, number, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.box import places, point_queries
from pinnpoint.boxes.certificates import TERMS, assembled
from pinnpoint.boxes.equation import Equation
from pinnpoint.boxes.parts import Cells, Model, Part
from pinnpoint.boxes.points import ROUNDS, refined, worst
from pinnpoint.boxes.reading import Given, axis_of, data_of, faces_of
from pinnpoint.boxes.slopes import off_by, settles, steepest
from pinnpoint.boxes.suprema import bounds_of
from pinnpoint.boxes.volumes import Volume, volume
from pinnpoint.boxes.waves import part
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim
from pinnpoint.certifiers.protocols import SelfCertifying
from pinnpoint.formulas.expressions import Expression
from pinnpoint.models.given import Prediction
from pinnpoint.models.lifts import Lift
from pinnpoint.models.smooth import model_at
from pinnpoint.rounding.arithmetic import gamma, require_round_to_nearest, sum_up, up
from pinnpoint.systems.goals import Ball, Point
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.inputs import Data
from pinnpoint.taylor.jets import ZERO, Jet, jet_of, plus, times
from pinnpoint.taylor.models import TaylorModel, constant

SHARE = 0.05
"""Of an L¹ norm, what may be due to models and to changes of sign."""
WORK = 3000
CLAIMS = (
    Claim("continuous target: the solution of Burgers' equation itself"),
    Claim("no mesh and no system: what the prediction leaves of the equation, in L¹ (burgers.md)"),
    Claim("weights of networks, numbers and formulas are exactly as given"),
)
Models = list[TaylorModel]


@dataclass(frozen=True, eq=False, init=False)
class Burgers(SelfCertifying):
    """u_t + u u_x = νu_xx + f on a line, u given at both ends and at t = 0: averages over intervals, and points.

    Points need zero ends and f = 0; their intervals are narrow where u has no steep descent nearby.

    Parameters
    ----------
    side
        The pair [low, high].
    end
        The last time.
    viscosity
        ν > 0, a number.
    source, initial
        f and u₀, numbers or formulas in x and, for f, t.
    dirichlet
        u at the ends: a number or a formula in t, or a table from ``"x-"`` and ``"x+"`` to such.
    """

    equation: Equation
    viscosity: float

    __repr__ = brief

    def __init__(
        self,
        side: Sequence[float],
        *,
        end: float,
        viscosity: float,
        source: Data | str = 0.0,
        initial: Data | str = 0.0,
        dirichlet: Given = 0.0,
    ) -> None:
        axis, last = axis_of(0, side, ("dirichlet", "dirichlet")), number("end", end, above=0.0)
        nu = number("viscosity", viscosity, above=0.0)
        given = faces_of((axis,), ("x", "t"), dirichlet, 0.0)
        for (_, upper), data in given.items():
            if not isinstance(data, Expression):
                raise InputError(f"dirichlet on x{'+' if upper else '-'}: must be a number or a formula in t")
        f, u0 = data_of("source", source, ("x", "t")), data_of("initial", initial, ("x",))
        set_fields(self, equation=Equation((axis,), last, 0.0, f, u0, given, None), viscosity=nu)

    @property
    def fingerprint(self) -> str:
        """A digest of the shape, which its queries carry."""
        axis = self.equation.axes[0]
        return hashlib.sha256(repr(("burgers", axis.low, axis.high, self.equation.end)).encode()).hexdigest()

    def averages(
        self, X: ArrayLike, radius: float, names: Sequence[str] | None = None, *, time: float | None = None
    ) -> Queries:
        """The averages over [x − radius, x + radius], inside the line, at a time; at the end by default."""
        P, R, axis = places(X, 1), number("radius", radius, above=0.0), self.equation.axes[0]
        t = self.equation.time(time)
        for k, (x,) in enumerate(P):
            at, half = Fraction(float(x)), Fraction(R)
            if at - half < Fraction(axis.low) or at + half > Fraction(axis.high):
                raise InputError(f"X: the interval {k} around {x:g}, radius {R:g}, is not inside the line")
        goals = [Ball((float(x),), R, time=t) for (x,) in P]
        return Queries(sp.csr_array((len(P), 1)), names, points=P, goals=goals, made_for={"box": self.fingerprint})

    def points(self, X: ArrayLike, names: Sequence[str] | None = None, *, time: float | None = None) -> Queries:
        """The values at points inside the line, at a time; at the end by default."""
        if not settles(self.equation):
            raise InputError(
                "points: of Burgers' equation need source = 0 and dirichlet = 0 at both ends, where slopes are "
                "bounded; ask for averages"
            )
        P, axis, t = places(X, 1), self.equation.axes[0], self.equation.time(time)
        for k, (x,) in enumerate(P):
            if not axis.low < x < axis.high:
                raise InputError(f"X: point {k}, {x:g}, is not inside the line; at an end u is its datum")
        return point_queries(P, t, names, self.fingerprint)

    def certified(self, prediction: Prediction, queries: Queries, budget: int | None = None) -> Certificate:
        """Intervals of averages and values of u itself; see `pinnpoint.certify`."""
        if queries.made_for.get("box") != self.fingerprint:
            raise InputError("queries: were not made by this problem; ask it, problem.averages(X, radius, time=…)")
        require_round_to_nearest()
        lift, count = self.equation.lift_of(prediction), len(queries)
        values, moved = np.zeros(count), np.zeros(count)
        errors = {name: np.zeros(count) for name in TERMS}
        norms: dict[float, float] = {}
        for i, goal in enumerate(queries.goals):
            if not isinstance(goal, Ball | Point) or goal.time is None:
                raise InputError(
                    f"query '{queries.names[i]}': Burgers' equation answers averages and points; got {goal!r}"
                )
            if goal.time not in norms:
                norms[goal.time] = self._norm(lift, goal.time, budget)
            shift = _ramp(self, lift, [constant(goal.at[0]), constant(goal.time)]).value
            moved[i], errors["quadrature"][i] = float(shift.C.flat[0]), float(shift.e.flat[0])
            if isinstance(goal, Point):
                values[i], errors["evaluation"][i] = self.equation.value(lift, goal.at, goal.time)
                errors["transfer"][i] = self._off_by(lift, goal.at[0], goal.time, norms[goal.time])
                continue
            values[i], errors["evaluation"][i] = self._average(lift, goal, goal.time)
            errors["transfer"][i] = up(norms[goal.time] / (2.0 * goal.radius) * (1.0 + 1e-12))  # burgers.md, step 2b
        return assembled(queries, values, moved, errors, CLAIMS)

    def _off_by(self, lift: Lift, at: float, time: float, norm: float) -> float:
        """Upper bound of |u − v| at a point."""

        def slope(X: Models) -> TaylorModel:
            found = self._mended(lift, [X[0], constant(time)], (0,)).gradient[0]
            return constant(0.0) if found is ZERO else found

        return off_by(self.equation, lift, slope, at, steepest(self.equation, lift, time), norm)

    def _average(self, lift: Lift, goal: Ball, time: float) -> tuple[float, float]:
        """The prediction's own average."""
        at, R = Fraction(goal.at[0]), Fraction(goal.radius)
        model = part("value", lambda X: lift.jet([X[0], constant(time)], ()).value, 1, lift)
        (found,) = refined([volume(model, 0.5 / goal.radius, [(at - R, at + R)], (8,))], [(1.0, 0.0)], WORK)
        return found.value, found.radius

    def _norm(self, lift: Lift, time: float, budget: int | None) -> float:
        """Upper bound of ‖u − v‖₁ at a time, v the prediction with its ends mended."""
        axis = self.equation.axes[0]
        side, span = (Fraction(axis.low), Fraction(axis.high)), (Fraction(0), Fraction(time))
        start = part("start", self._start(lift), 1, lift)
        left = part("residual", self._residual(lift), 2, lift)
        first, inside = volume(start, 1.0, [side], (8,)), volume(left, 1.0, [side, span], (8, 4))
        return float(up(norm_of(first, budget) + norm_of(inside, budget)))  # burgers.md, step 2a

    def _mended(self, lift: Lift, X: Models, axes: Sequence[int]) -> Jet:
        """The jet of v = u_θ + the ramp of what it is off by at the ends."""
        return lift.jet(X, axes) + _ramp(self, lift, X, axes)  # burgers.md, step 1b

    def _start(self, lift: Lift) -> Model:
        return lambda X: model_at(self.equation.initial, X) - self._mended(lift, [X[0], constant(0.0)], ()).value

    def _residual(self, lift: Lift) -> Model:
        def model(X: Models) -> TaylorModel:
            along, after = self._mended(lift, X, (0,)), self._mended(lift, X, (1,))
            left = plus(model_at(self.equation.source, X), times(constant(self.viscosity), along.laplacian))
            flow = plus(times(along.value, along.gradient[0]), after.gradient[0])
            return plus(left, times(constant(-1.0), flow))  # burgers.md, step 1a

        return model


def _ramp(problem: Burgers, lift: Lift, X: Models, axes: Sequence[int] = ()) -> Jet:
    """The jet of (1 − λ)m₋(t) + λm₊(t), λ from 0 to 1 along the line, m what the prediction is off by at an end."""
    axis = problem.equation.axes[0]
    low, high, ONE = constant(axis.low), constant(axis.high), constant(1.0)
    share = (X[0] - low) / (high - low)
    slope = tuple(ONE / (high - low) if a == 0 else ZERO for a in axes)
    up_ramp = Jet(share, slope, ZERO)
    down_ramp = Jet(ONE - share, tuple(times(constant(-1.0), s) for s in slope), ZERO)
    total: Jet | None = None
    for upper, ramp in ((False, down_ramp), (True, up_ramp)):
        data, place = problem.equation.given[0, upper], [high if upper else low, X[1]]
        if not isinstance(data, Expression):
            raise TypeError("data at the ends are formulas")
        later = tuple(a for a in axes if a == 1)
        off = jet_of(data, place, later) - lift.jet(place, later)
        found = ramp * _padded(off, axes)
        total = found if total is None else total + found
    if total is None:
        raise RuntimeError("a line has two ends")
    return total


def _padded(jet: Jet, axes: Sequence[int]) -> Jet:
    """The jet of a function of time alone, in the axes that are asked for."""
    if 1 in axes:
        return jet
    return Jet(jet.value, (ZERO,) * len(axes), ZERO)


def norm_of(found: Volume, budget: int | None) -> float:
    """Upper bound of ∫|data|, once boxes are cut."""
    work, most = len(found.cells), WORK if budget is None else budget
    for _ in range(ROUNDS):
        bounds, loose = _absolute(found.part, found.cells)
        chosen = worst([np.where(np.isfinite(loose), loose / (SHARE * float(np.sum(bounds)) + 1e-300), np.inf)])
        if chosen is None or work >= most:
            break
        work += found.split(chosen[0][: max(most - work, 1)])
    bounds, _ = _absolute(found.part, found.cells)
    return float(up(sum_up(bounds))) if np.isfinite(bounds).all() else math.inf


def _absolute(part_of: Part, cells: Cells) -> tuple[Vector, Vector]:
    """Upper bounds of ∫|data| on each box, and how much of each is due to the model or to a change of sign."""
    S, size = part_of.space, np.prod(cells.high - cells.low, axis=1)
    sums = S.powers[:, None, :] + S.powers[None, :, :]
    gram = np.where(np.all(sums % 2 == 0, axis=2), 1.0 / np.prod(sums + 1.0, axis=2), 0.0)
    most = np.abs(cells.C).sum(axis=0)
    blur = gamma(3 * S.size + 32) * most
    with np.errstate(invalid="ignore", over="ignore"):
        square = np.maximum(np.sum(cells.C * (gram @ cells.C), axis=0), 0.0)
        mean = np.sqrt(square + blur * most) * (1.0 + 1e-12)  # burgers.md, step 3a
        exact = np.abs(gram[0] @ cells.C)
        low, high = bounds_of(part_of, cells)
        signed = (low >= 0.0) | (high <= 0.0)
        least = np.where(signed, np.minimum(exact + blur, mean), mean)  # burgers.md, step 3a
        bound = size * (least + cells.e) * (1.0 + 1e-12)
        loose = size * (cells.e + np.where(signed, 0.0, mean - exact))
    return np.where(np.isnan(bound), np.inf, bound), np.where(np.isnan(loose), np.inf, loose)
