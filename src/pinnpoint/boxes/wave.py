"""The wave equation as a problem: no mesh, no solve."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import number, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.box import places, point_queries
from pinnpoint.boxes.brackets import Bracketed
from pinnpoint.boxes.certificates import TERMS, assembled, fill
from pinnpoint.boxes.equation import NAMES, Equation
from pinnpoint.boxes.parts import Part
from pinnpoint.boxes.reading import Given, axis_of, data_of, ends_of, faces_of
from pinnpoint.boxes.suprema import extremes, largest
from pinnpoint.boxes.waves import Waves, end_model, error_at, part
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim
from pinnpoint.certifiers.protocols import SelfCertifying
from pinnpoint.formulas.expressions import Expression
from pinnpoint.models.given import Prediction
from pinnpoint.models.lifts import Lift
from pinnpoint.rounding.arithmetic import UNIT, require_round_to_nearest, up
from pinnpoint.systems.goals import Everywhere, Point
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.inputs import Data

CLAIMS = (
    Claim("continuous target: the solution of the wave equation itself"),
    Claim("no mesh and no system: what the prediction leaves of the equation, over the past of the point (wave.md)"),
    Claim("weights of networks, numbers and formulas are exactly as given"),
)


@dataclass(frozen=True, eq=False, init=False)
class Wave(SelfCertifying):
    """u_tt − a²Δu = f, u = u₀ and u_t = u₁ at t = 0, on a line between two ends, or in the plane and in space.

    The error of a prediction at a point is an integral of what it leaves of the equation over the past of that point:
    ``pp.certify(wave, prediction, wave.points(X, time=0.5))`` encloses it.

    Parameters
    ----------
    sides
        One pair [low, high] for each axis, one to three. With two or three nothing is asked of the sides, and only
        points are answered whose past, the ball of radius a·time, lies between them.
    end
        The last time.
    speed
        a > 0, a number.
    source, initial, velocity
        f, u₀ and u₁, numbers or formulas in x, y, z and, for f, t.
    boundary
        ``"dirichlet"`` or ``"neumann"`` at the ends of a line, or a pair of these.
    dirichlet, neumann
        u at Dirichlet ends, ∂_n u at Neumann ends: a number or formula in t for both, or a table from ``"x-"`` and
        ``"x+"`` to such; 0 where nothing is said.
    """

    waves: Waves

    __repr__ = brief

    def __init__(
        self,
        *sides: Sequence[float],
        end: float,
        speed: float = 1.0,
        source: Data | str = 0.0,
        initial: Data | str = 0.0,
        velocity: Data | str = 0.0,
        boundary: str | Sequence[str] = "dirichlet",
        dirichlet: Given = 0.0,
        neumann: Given = 0.0,
    ) -> None:
        d = len(sides)
        if not 1 <= d <= 3:
            raise InputError(f"sides: give one to three pairs [low, high]; got {d}")
        if d > 1 and (boundary, dirichlet, neumann) != ("dirichlet", 0.0, 0.0):
            raise InputError("boundary: in the plane and in space the sides are out of sight; leave out what is there")
        ends = ends_of(boundary if isinstance(boundary, str) else [boundary], d)
        if "periodic" in ends[0]:
            raise InputError("boundary: must be 'dirichlet' or 'neumann' at the ends of a wave's line")
        axes = tuple(axis_of(i, sides[i], ends[i]) for i in range(d))
        last, a = number("end", end, above=0.0), number("speed", speed, above=0.0)
        names = (*NAMES[:d], "t")
        for kind, told in (("dirichlet", dirichlet), ("neumann", neumann)):
            if told != 0.0 and kind not in ends[0]:
                raise InputError(f"{kind}: no end is one; say boundary='{kind}', or leave it out")
        given = faces_of(axes, names, dirichlet, neumann)
        start = data_of("initial", initial, names[:d])
        if d > 1 and not isinstance(start, Expression):
            raise InputError("initial: in the plane and in space it must be a number or a formula with derivatives")
        equation = Equation(axes, last, 0.0, data_of("source", source, names), start, given, None)
        set_fields(self, waves=Waves(equation, a, start, data_of("velocity", velocity, names[:d])))

    @property
    def equation(self) -> Equation:
        """The box, the end and the data."""
        return self.waves.equation

    @property
    def fingerprint(self) -> str:
        """A digest of the shape, which its queries carry."""
        sides = [(a.low, a.high) for a in self.equation.axes]
        return hashlib.sha256(repr(("wave", sides, self.equation.end, self.waves.speed)).encode()).hexdigest()

    def points(self, X: ArrayLike, names: Sequence[str] | None = None, *, time: float | None = None) -> Queries:
        """The values at points (K, d), strictly inside, at a time; at the end by default."""
        P, t = places(X, self.equation.d), self.equation.time(time)
        reach = Fraction(self.waves.speed) * Fraction(t or 0.0) if self.equation.d > 1 else Fraction(0)
        for k, p in enumerate(P):
            for axis, x in zip(self.equation.axes, p, strict=True):
                gap = min(Fraction(float(x)) - Fraction(axis.low), Fraction(axis.high) - Fraction(float(x)))
                if gap <= 0 or gap < reach:
                    raise InputError(
                        f"X: point {k}, {p.tolist()}, must be inside, by {float(reach):g} of what sides do until {t:g}"
                        if reach
                        else f"X: point {k}, {p.tolist()}, is not inside the line; at an end u is its datum"
                    )
        return point_queries(P, t, names, self.fingerprint)

    def everywhere(self, name: str = "everywhere") -> Queries:
        """The largest error of the prediction on a line, max |u_θ − u| over all places and times."""
        if self.equation.d > 1:
            raise InputError("everywhere: is for lines; in the plane and in space ask for points")
        made_for = {"box": self.fingerprint}
        return Queries(sp.csr_array((1, 1)), [name], goals=[Everywhere(solve=False)], made_for=made_for)

    def certified(self, prediction: Prediction, queries: Queries, budget: int | None = None) -> Certificate:
        """Intervals of u itself; see `pinnpoint.certify`."""
        if queries.made_for.get("box") != self.fingerprint:
            raise InputError("queries: were not made by this wave; ask it, wave.points(X, time=…)")
        require_round_to_nearest()
        lift, count = self.equation.lift_of(prediction), len(queries)
        values, moved = np.zeros(count), np.zeros(count)
        errors = {name: np.zeros(count) for name in TERMS}
        for i, goal in enumerate(queries.goals):
            if isinstance(goal, Everywhere):
                low, high = self._largest(lift, budget)
                moved[i] = 0.5 * (low + high) if math.isfinite(high) else low
                errors["transfer"][i] = up(0.5 * (high - low) + 4.0 * UNIT * high)
            elif isinstance(goal, Point) and goal.time is not None:
                found, jump = error_at(self.waves, lift, goal.at, goal.time, budget)
                values[i], errors["evaluation"][i] = self.equation.value(lift, goal.at, goal.time)
                moved[i] = found.value
                fill(errors, i, Bracketed(found, 0.0), "remainder")
                errors["boundary"][i] = jump
            else:
                raise InputError(f"query '{queries.names[i]}': a wave answers points and everywhere; got {goal!r}")
        return assembled(queries, values, moved, errors, CLAIMS)

    def _largest(self, lift: Lift, budget: int | None) -> tuple[float, float]:
        """Bounds of max |e| on a line, by the sizes of what is left, and by the error at three points."""
        axis, T, a = self.equation.axes[0], self.equation.end or 0.0, self.waves.speed
        met = float(up(a * T / (axis.high - axis.low) + 1.0, 4))
        sizes = {"residual": 0.0, "start": 0.0, "velocity": 0.0, "dirichlet": 0.0, "neumann": 0.0}
        for name, sized, box in self._sized(lift):
            low, high = (np.array([[e[k] for e in box]]) for k in (0, 1))
            top = largest(extremes(sized, low, high, 0.0, [None] * len(box)))
            sizes[name] = max(sizes[name], top)
        above = sizes["start"] + T * (sizes["velocity"] + 0.5 * T * sizes["residual"])  # wave.md, step 5a
        above += 2.0 * met * (sizes["dirichlet"] + a * T * sizes["neumann"])  # wave.md, step 5b
        above = float(up(above * (1.0 + 1e-12)))
        if not math.isfinite(above):
            return 0.0, math.inf
        below = 0.0
        for k in (1, 2, 3):
            at = (axis.low + (axis.high - axis.low) * k / 4.0,)
            found, jump = error_at(self.waves, lift, at, T, budget or 1000)
            below = max(below, (abs(found.value) - found.radius - jump) * (1.0 - 8.0 * UNIT))  # wave.md, step 5c
        return min(below, above), above

    def _sized(self, lift: Lift) -> list[tuple[str, Part, list[Any]]]:
        """What is left, by name, with the boxes that it lives on."""
        axis, T = self.equation.axes[0], self.equation.end or 0.0
        side, times = (axis.low, axis.high), (0.0, T)
        found: list[tuple[str, Part, list[Any]]] = [
            ("residual", part("residual", lambda X: self.waves.residual(lift, X), 2, lift), [side, times]),
            ("start", part("start", lambda X: self.waves.begun(lift, X), 1, lift), [side]),
            ("velocity", part("velocity", lambda X: self.waves.started(lift, X), 1, lift), [side]),
        ]
        for upper in (False, True):
            model = end_model(self.waves, lift, upper)
            found.append((axis.ends[int(upper)], part("end", model, 1, lift), [times]))
        return found
