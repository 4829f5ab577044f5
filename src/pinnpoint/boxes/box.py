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
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certifiers.protocols import SelfCertifying
from pinnpoint.formulas.expressions import parse
from pinnpoint.models.given import Prediction
from pinnpoint.systems.goals import Everywhere, Point
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.inputs import Data, enclosed

KINDS = ("dirichlet", "neumann", "periodic")
GROWTH = 1e6
"""Growth e^{γT} beyond which nothing useful can be proved."""
Given = float | str | Mapping[str, float | str]


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
        ends = _ends(boundary, d)
        kappa, drift = (
            _each("diffusion", diffusion, d),
            _each("convection", 0.0 if convection is None else convection, d),
        )
        axes = tuple(_axis(i, sides[i], ends[i], kappa[i], drift[i]) for i in range(d))
        last = None if end is None else number("end", end, above=0.0)
        names = (*NAMES[:d], *(() if last is None else ("t",)))
        c = number("reaction", reaction)
        if last is not None and -c * last > math.log(GROWTH):
            raise InputError(f"reaction: e^(-c·end) = {math.exp(min(-c * last, 700.0)):.1e} is above 1e6; ask for less")
        if last is None and not _decays(axes, c):
            raise InputError("reaction: without end and Dirichlet faces c must be positive; else u is not unique")
        for kind, told in (("dirichlet", dirichlet), ("neumann", neumann)):
            if not isinstance(told, Mapping) and told != 0.0 and not any(kind in pair for pair in ends):
                raise InputError(f"{kind}: the box has no such faces; say boundary='{kind}', or leave it out")
        if last is None and initial != 0.0:
            raise InputError("initial: belongs to a box in time; give end, or leave initial out for the stationary one")
        given = _faces(axes, names, dirichlet, neumann)
        g = None if nonlinear is None else parse(nonlinear, ("u",), name="nonlinear")
        f, u0 = _data("source", source, names), _data("initial", initial, names[:d])
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
                raise InputError(f"X: point {k}, {p.tolist()}, is not inside the box; on a face u is its datum")
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


def _decays(axes: Sequence[Axis], reaction: float) -> bool:
    return reaction + sum(axis.decay for axis in axes) > 0.0


def _ends(boundary: str | Sequence[Any], d: int) -> list[tuple[str, str]]:
    """The condition at both ends of every axis."""
    each = [boundary] * d if isinstance(boundary, str) else list(boundary)
    if len(each) != d:
        raise InputError(f"boundary: give one kind, or one for each of the {d} axes; got {len(each)}")
    found = []
    for one in each:
        pair = (one, one) if isinstance(one, str) else tuple(one)
        if len(pair) != 2 or any(end not in KINDS for end in pair) or (("periodic" in pair) and pair[0] != pair[1]):
            raise InputError(f"boundary: must be {', '.join(map(repr, KINDS))}, or two of the first; got {one!r}")
        found.append((str(pair[0]), str(pair[1])))
    return found


def _each(name: str, given: Any, d: int) -> list[float]:
    """One number for each axis."""
    each = list(given) if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else [given] * d
    if len(each) != d:
        raise InputError(f"{name}: give one number for each of the {d} axes; got {len(each)}")
    return [number(f"{name}[{i}]", v, above=0.0 if name == "diffusion" else None) for i, v in enumerate(each)]


def _axis(i: int, side: Sequence[float], ends: tuple[str, str], kappa: float, drift: float) -> Axis:
    if not isinstance(side, Sequence | np.ndarray) or len(side) != 2:
        raise InputError(f"sides[{i}]: must be a pair [low, high]; got {side!r}")
    low, high = number(f"sides[{i}][0]", side[0]), number(f"sides[{i}][1]", side[1])
    if not low < high:
        raise InputError(f"sides[{i}]: must increase; got [{low:g}, {high:g}]")
    if drift and "neumann" in ends:
        raise InputError(f"convection[{i}]: must be 0 along an axis with Neumann ends; no kernel is known there")
    if drift and ends[0] == "dirichlet" and abs(drift) * (high - low) / kappa > 60.0:
        raise InputError(f"convection[{i}]: |b|L/κ is above 60 between Dirichlet ends; the images would cancel")
    return Axis(low, high, ends, kappa, drift)


def _data(name: str, given: Any, variables: Sequence[str]) -> Any:
    """A number or formula; other functions cannot be enclosed."""
    if isinstance(given, str | int | float) and not isinstance(given, bool):
        return parse(given, variables, name=name)
    if not enclosed(given):
        raise InputError(f"{name}: must be a number or a formula in {', '.join(variables)}; got {type(given).__name__}")
    return given


def _faces(
    axes: Sequence[Axis], names: Sequence[str], dirichlet: Given, neumann: Given
) -> dict[tuple[int, bool], Data]:
    """Data of every face that is not periodic."""
    found: dict[tuple[int, bool], Data] = {}
    known: dict[str, set[str]] = {"dirichlet": set(), "neumann": set()}
    for i, axis in enumerate(axes):
        for upper in (False, True):
            kind = axis.ends[int(upper)]
            if kind == "periodic":
                continue
            said, face = (dirichlet if kind == "dirichlet" else neumann), f"{NAMES[i]}{'+' if upper else '-'}"
            known[kind].add(face)
            value = said.get(face, 0.0) if isinstance(said, Mapping) else said
            found[i, upper] = _data(f"{kind} on {face}", value, names)
    for kind, said in (("dirichlet", dirichlet), ("neumann", neumann)):
        for face in said if isinstance(said, Mapping) else ():
            if face not in known[kind]:
                raise InputError(f"{kind}: {face!r} is no {kind} face of this box; these are {sorted(known[kind])}")
    return found
