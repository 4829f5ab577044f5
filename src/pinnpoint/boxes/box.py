"""The box as a problem: no mesh, no solve."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats, number, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.certificates import certificate_of
from pinnpoint.boxes.equation import NAMES, Equation
from pinnpoint.boxes.kernels import Axis
from pinnpoint.boxes.reading import Given, axis_of, data_of, each_of, ends_of, faces_of
from pinnpoint.boxes.stationary import lifetime
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certifiers.protocols import SelfCertifying
from pinnpoint.formulas.expressions import parse
from pinnpoint.models.given import Prediction
from pinnpoint.systems.goals import Everywhere, Point
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.inputs import Data

FOLDS_AT_MOST = 690.0
"""Exponents that kernels of stationary boxes may grow by before they have decayed."""
GROWTH = 1e6
"""Growth e^{γT} beyond which nothing useful can be proved."""


@dataclass(frozen=True, eq=False, init=False)
class Box(SelfCertifying):
    """u_t − ∇·(κ∇u) + b·∇u + c u + g(u) = f on a box and its faces, u = u₀ at t = 0; without `end` the stationary one.

    The error of a prediction is an integral of what it leaves of the equation against the heat kernel of the box,
    which is known in closed form: ``pp.certify(box, prediction, box.points(X, time=0.5))`` encloses it.

    Parameters
    ----------
    sides
        One pair [low, high] for each axis, one to three.
    end
        The last time; None for −∇·(κ∇u) + b·∇u + c u = f.
    diffusion
        κ > 0, a number, or one for each axis.
    source, initial
        f and u₀, numbers or formulas in x, y, z and, for f, t.
    convection
        b, a number for each axis. Neumann ends need b = 0 along their axis.
    reaction
        c, a number; e^{−c·end} at most 1e6.
    boundary
        ``"dirichlet"``, ``"neumann"`` or ``"periodic"``, for all axes or one for each; a pair gives the two ends of an
        axis.
    dirichlet, neumann
        u on Dirichlet faces, κ∂_n u on Neumann faces: a number or formula for all of them, or a table from the names
        of faces, ``"x-"``, ``"x+"``, ``"y-"`` …, to such; 0 where nothing is said.
    nonlinear
        g, a formula in u.
    """

    equation: Equation

    __repr__ = brief

    def __init__(
        self,
        *sides: Sequence[float],
        end: float | None = None,
        diffusion: float | Sequence[float] = 1.0,
        source: Data | str = 0.0,
        initial: Data | str = 0.0,
        convection: Sequence[float] | None = None,
        reaction: float = 0.0,
        boundary: str | Sequence[Any] = "dirichlet",
        dirichlet: Given = 0.0,
        neumann: Given = 0.0,
        nonlinear: str | None = None,
    ) -> None:
        d = len(sides)
        if not 1 <= d <= 3:
            raise InputError(f"sides: give one to three pairs [low, high]; got {d}")
        ends = ends_of(boundary, d)
        kappa, drift = (
            each_of("diffusion", diffusion, d),
            each_of("convection", 0.0 if convection is None else convection, d),
        )
        axes = tuple(axis_of(i, sides[i], ends[i], kappa[i], drift[i]) for i in range(d))
        last = None if end is None else number("end", end, above=0.0)
        names = (*NAMES[:d], *(() if last is None else ("t",)))
        c = number("reaction", reaction)
        if last is not None and -c * last > math.log(GROWTH):
            raise InputError(f"reaction: e^(-c·end) = {math.exp(min(-c * last, 700.0)):.1e} is above 1e6; ask for less")
        if last is None and not _decays(axes, c):
            raise InputError(_resonance(axes, c))
        if last is None and -c * lifetime(axes, c) > FOLDS_AT_MOST:
            raise InputError(
                f"reaction: {c:g} is so close to {-_eigenvalue(axes):.6g}, where u is not unique, that kernels grow "
                "beyond all numbers before they decay; ask for a larger c"
            )
        if last is None and nonlinear is not None:
            raise InputError("nonlinear: is for boxes in time; give end, or leave nonlinear out")
        for kind, told in (("dirichlet", dirichlet), ("neumann", neumann)):
            if not isinstance(told, Mapping) and told != 0.0 and not any(kind in pair for pair in ends):
                raise InputError(f"{kind}: the box has no such faces; say boundary='{kind}', or leave it out")
        if last is None and initial != 0.0:
            raise InputError("initial: belongs to a box in time; give end, or leave initial out for the stationary one")
        given = faces_of(axes, names, dirichlet, neumann)
        g = None if nonlinear is None else parse(nonlinear, ("u",), name="nonlinear")
        f, u0 = data_of("source", source, names), data_of("initial", initial, names[:d])
        set_fields(self, equation=Equation(axes, last, c, f, u0, given, g))

    @property
    def fingerprint(self) -> str:
        """A digest of the box's shape, which its queries carry."""
        sides = [(a.low, a.high) for a in self.equation.axes]
        return hashlib.sha256(repr((sides, self.equation.end)).encode()).hexdigest()

    def points(self, X: ArrayLike, names: Sequence[str] | None = None, *, time: float | None = None) -> Queries:
        """The values at points (K, d), strictly inside the box, at a time; at the end by default."""
        P = places(X, self.equation.d)
        for k, p in enumerate(P):
            if not all(axis.low < x < axis.high for axis, x in zip(self.equation.axes, p, strict=True)):
                which = f"point {k}, {p.tolist()}," if len(P) > 1 else f"{p.tolist()}"
                raise InputError(f"X: {which} is not inside the box; on a Dirichlet face u is its datum")
        return point_queries(P, self.equation.time(time), names, self.fingerprint)

    def everywhere(self, name: str = "everywhere") -> Queries:
        """The largest error of the prediction, max |u_θ − u| over the box and all times."""
        goals = [Everywhere(solve=False)]
        return Queries(sp.csr_array((1, 1)), [name], goals=goals, made_for={"box": self.fingerprint})

    def certified(self, prediction: Prediction, queries: Queries, budget: int | None = None) -> Certificate:
        """Intervals of u itself; see `pinnpoint.certify`."""
        if queries.made_for.get("box") != self.fingerprint:
            raise InputError("queries: were not made by this box; ask it, box.points(X, time=…)")
        return certificate_of(self.equation, prediction, queries, budget)


def places(X: ArrayLike, d: int) -> Vector:
    """Finite points (K, d)."""
    P = floats("X", X)
    P = P.reshape(-1, 1) if P.ndim == 1 and d == 1 else np.atleast_2d(P)
    if P.ndim != 2 or P.shape[1] != d or not np.isfinite(P).all():
        raise InputError(f"X: must be finite points, one row of {d} coordinates each; got shape {P.shape}")
    return P


def point_queries(P: Vector, time: float | None, names: Sequence[str] | None, fingerprint: str) -> Queries:
    """Queries of values at points and a time."""
    goals = [Point(tuple(map(float, p)), time=time) for p in P]
    return Queries(sp.csr_array((len(P), 1)), names, points=P, goals=goals, made_for={"box": fingerprint})


def _eigenvalue(axes: Sequence[Axis]) -> float:
    return sum(axis.decay for axis in axes)


def _decays(axes: Sequence[Axis], reaction: float) -> bool:
    return reaction + _eigenvalue(axes) > 0.0


def _resonance(axes: Sequence[Axis], reaction: float) -> str:
    least = _eigenvalue(axes)
    if not least > 0.0:
        return f"reaction: without end and Dirichlet faces c must be positive, else u is not unique; got {reaction:g}"
    return (
        f"reaction: without end c must be above {-least:.6g}, minus the smallest eigenvalue of the box, where u ceases "
        f"to be unique and kernels to decay; got {reaction:g}"
    )
