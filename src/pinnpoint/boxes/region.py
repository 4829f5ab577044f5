"""Equations on boxes of any dimension, boxes with round holes, and balls, by comparison: no mesh and no kernel."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import number, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.barriers import Sized, bound, sized
from pinnpoint.boxes.box import places, point_queries
from pinnpoint.boxes.certificates import TERMS, assembled
from pinnpoint.boxes.equation import lift_on
from pinnpoint.boxes.leftover import Condition, Leftover
from pinnpoint.boxes.reading import data_of
from pinnpoint.boxes.shapes import Shape, shape_of
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim
from pinnpoint.certifiers.protocols import SelfCertifying
from pinnpoint.formulas.expressions import Expression
from pinnpoint.models.given import Prediction
from pinnpoint.rounding.arithmetic import UNIT, require_round_to_nearest, up
from pinnpoint.systems.goals import Everywhere, Point
from pinnpoint.systems.queries import Queries

CLAIMS = (
    Claim("continuous target: the weak solution on the domain itself"),
    Claim("no mesh, no system and no kernel: barriers for what the prediction leaves of the equation (region.md)"),
    Claim("weights of networks, numbers and formulas are exactly as given"),
)
MOST_AXES = 6


@dataclass(frozen=True, eq=False, init=False)
class Region(SelfCertifying):
    """u_t − ∇·(κ∇u) + c u = f on a box, a box without balls, or a ball, κ a formula; without `end` the stationary one.

    A prediction's error is below every barrier, a function that is larger than what the prediction leaves of the
    equation, of the start and of the boundary: ``pp.certify(region, network, region.everywhere())``. Bounds are coarser
    than those of `Box`, which knows its kernel, and reach further: six dimensions, κ(x), holes, Robin conditions.

    Parameters
    ----------
    sides
        One pair [low, high] for each axis of the box.
    holes
        Balls that are cut out, (centre, radius) each, away from each other and from the sides.
    ball
        (centre, radius) of a ball, in the place of sides.
    end
        The last time; None for −∇·(κ∇u) + c u = f.
    diffusion
        κ > 0, a number, or a formula in the coordinates with a derivative.
    reaction
        c ≥ 0, a number.
    source, initial
        f and u₀, numbers or formulas. Coordinates are x, y, z up to three dimensions, else x1, x2, …, and t.
    dirichlet, neumann, robin
        For each part of the boundary, ``"sides"``, ``"hole 0"`` …, or ``"ball"``, one of: u, κ∂_n u (on a ball, in
        time), or (α, g) with κ∂_n u + αu = g, α > 0.
    radial
        Whether, on a ball of any dimension, data and predictions are functions of s, the squared distance from its
        centre, and t: formulas in s and t, networks with these inputs. Bounds cost what two variables cost.
    """

    shape: Shape
    leftover: Leftover

    __repr__ = brief

    def __init__(
        self,
        *sides: Sequence[float],
        holes: Sequence[Sequence[Any]] = (),
        ball: Sequence[Any] | None = None,
        end: float | None = None,
        diffusion: float | str = 1.0,
        reaction: float = 0.0,
        source: float | str = 0.0,
        initial: float | str = 0.0,
        dirichlet: Mapping[str, float | str] | None = None,
        neumann: Mapping[str, float | str] | None = None,
        robin: Mapping[str, Sequence[Any]] | None = None,
        radial: bool = False,
    ) -> None:
        shape = shape_of(sides, holes, ball)
        if radial and shape.ball is None:
            raise InputError("radial: belongs to a ball; give ball=(centre, radius), or leave radial out")
        if not radial and not 1 <= shape.d <= MOST_AXES:
            raise InputError(f"sides: give one to {MOST_AXES} pairs [low, high]; got {shape.d}")
        last = None if end is None else number("end", end, above=0.0)
        space = ("s",) if radial else tuple("xyz"[: shape.d]) if shape.d <= 3 else _axes(shape.d)
        names = (*space, *(() if last is None else ("t",)))
        kappa = data_of("diffusion", diffusion, space)
        if not isinstance(kappa, Expression):
            raise InputError("diffusion: must be a number or a formula, whose derivative is known")
        if last is None and initial != 0.0:
            raise InputError("initial: belongs to a region in time; give end, or leave initial out")
        said = _conditions(shape, names, dirichlet or {}, neumann or {}, robin or {})
        number_of = float(diffusion) if isinstance(diffusion, int | float) else None
        if any(one.kind == "neumann" for one in said.values()) and (shape.ball is None or last is None):
            raise InputError("neumann: a barrier is known for a ball in time; say robin or dirichlet elsewhere")
        if number_of is None and (last is None or shape.ball is not None):
            raise InputError(
                "diffusion: must be a number for a ball, and without end; no barrier is known for formulas"
            )
        c = number("reaction", reaction)
        if c < 0.0:
            raise InputError(f"reaction: must be ≥ 0, or comparison fails; got {c:g}")
        if last is None and not c and any(one.kind != "dirichlet" for one in said.values()):
            raise InputError("end: without it and without a reaction, the boundary must be Dirichlet's all around")
        data = data_of("source", source, names), data_of("initial", initial, space)
        centre = shape.ball[0] if radial and shape.ball else ()
        set_fields(self, shape=shape, leftover=Leftover(names, last, kappa, number_of, c, *data, said, centre))

    @property
    def fingerprint(self) -> str:
        """A digest of the shape, which its queries carry."""
        told = ("region", self.shape.sides, self.shape.holes, self.shape.ball, self.leftover.end)
        return hashlib.sha256(repr(told).encode()).hexdigest()

    def points(self, X: ArrayLike, names: Sequence[str] | None = None, *, time: float | None = None) -> Queries:
        """The values at points (K, d), strictly inside, at a time; at the end by default."""
        P, last = places(X, self.shape.d), self.leftover.end
        outside = np.flatnonzero(~self.shape.holds(P))
        if outside.size:
            raise InputError(f"X: point {outside[0]}, {P[outside[0]].tolist()}, is not inside the domain")
        t = last if time is None else number("time", time, above=0.0)
        if last is None and time is not None:
            raise InputError("time: this region has no end, so that nothing depends on time; leave it out")
        if t is not None and last is not None and t > last:
            raise InputError(f"time: must be at most {last:g}; got {t:g}")
        return point_queries(P, t, names, self.fingerprint)

    def everywhere(self, name: str = "everywhere") -> Queries:
        """The largest error of the prediction, max |u_θ − u| over the domain and all times."""
        goals = [Everywhere(solve=False)]
        return Queries(sp.csr_array((1, 1)), [name], goals=goals, made_for={"box": self.fingerprint})

    def certified(self, prediction: Prediction, queries: Queries, budget: int | None = None) -> Certificate:
        """Intervals of u itself; see `pinnpoint.certify`."""
        if queries.made_for.get("box") != self.fingerprint:
            raise InputError("queries: were not made by this region; ask it, region.everywhere()")
        require_round_to_nearest()
        lift, count = lift_on(prediction, self.leftover.names), len(queries)
        found = sized(self.shape, self.leftover, lift, budget)
        values, moved = np.zeros(count), np.zeros(count)
        errors = {name: np.zeros(count) for name in TERMS}
        for i, goal in enumerate(queries.goals):
            if isinstance(goal, Point):
                values[i], errors["evaluation"][i] = self.leftover.value(lift, goal.at, goal.time)
                errors["transfer"][i] = self._bound(found, goal.time)
            else:
                high = self._bound(found, self.leftover.end)
                low = min(found.attained, high)
                moved[i] = 0.5 * (low + high) if math.isfinite(high) else low
                errors["transfer"][i] = up(0.5 * (high - low) + 4.0 * UNIT * high)
        return assembled(queries, values, moved, errors, CLAIMS)

    def _bound(self, found: Sized, time: float | None) -> float:
        return bound(self.shape, self.leftover, found, time)


def _axes(d: int) -> tuple[str, ...]:
    """Names of coordinates in more than three dimensions."""
    return tuple(f"x{i + 1}" for i in range(d))


def _conditions(
    shape: Shape,
    names: Sequence[str],
    dirichlet: Mapping[str, Any],
    neumann: Mapping[str, Any],
    robin: Mapping[str, Any],
) -> dict[str, Condition]:
    """One condition for each part of the boundary."""
    found: dict[str, Condition] = {}
    for kind, told in (("dirichlet", dirichlet), ("neumann", neumann), ("robin", robin)):
        for group, value in told.items():
            if group not in shape.groups:
                raise InputError(f"{kind}: {group!r} is no part of this boundary; these are {', '.join(shape.groups)}")
            if group in found:
                raise InputError(f"{kind}: {group!r} has a condition already; give one of dirichlet, neumann, robin")
            alpha = 0.0
            if kind == "robin":
                if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
                    raise InputError(f"robin: {group!r} needs a pair (coefficient, value); got {value!r}")
                alpha, value = number(f"robin: coefficient on {group!r}", value[0], above=0.0), value[1]
            found[group] = Condition(kind, alpha, data_of(f"{kind} on {group!r}", value, names))
    for group in shape.groups:
        if group not in found:
            raise InputError(f"dirichlet: nothing is said of {group!r}; give it a value, or a flux, or a Robin pair")
    return found
