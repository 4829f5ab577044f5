"""max |u_θ − u| over the domain: a band from the smallest of several bounds, and an interval of the maximum."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.extremes import Extremes, Found
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.rounding.arithmetic import down, gamma, up
from pinnpoint.systems.goals import Everywhere, Goal, Point
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.inputs import enclosed
from pinnpoint.taylor.simplices import enclose
from pinnpoint.transfer.continuum import Continuum, bernstein
from pinnpoint.transfer.everywhere.bounds import CellBounds
from pinnpoint.transfer.everywhere.drift import drift
from pinnpoint.transfer.everywhere.residual import sizes
from pinnpoint.transfer.everywhere.routes import ERRORS, LEFT_OVER
from pinnpoint.transfer.everywhere.setting import Setting

BAND = "band"
CHECKED = ("level sets", "residual, no solve", "band")
"""Routes that the checker of bundles proves again."""
OF_NETWORK = "everywhere: the largest error is that of the prediction itself, at every point of the domain"
OF_ELEMENTS = (
    "everywhere: the largest error is that of the finite-element function with the prediction's values at the nodes; "
    "certify with lift=True for the network itself"
)


@dataclass(frozen=True, eq=False)
class Suprema(Extremes):
    """What one solve says about every prediction of a problem.

    Attributes
    ----------
    rows, names
        The queries that ask for the largest error.
    lifted
        Whether u is what a lift leaves over.
    at
        Queries at points, where the error of a lift is enclosed.
    checked
        For each of the rows, whether only what the checker proves again is wanted.
    unknown
        Why there is no mesh constant, and so no band.
    state
        ũ, all degrees of freedom.
    mismatch
        A bound of |g_D − ũ| on Γ_D, and whether it is proved.
    errors
        Bounds of |u − ũ|, u with the Dirichlet values of ũ.
    sizes
        Bounds of |u| itself, for what a lift leaves over.
    """

    model: Continuum
    rows: tuple[int, ...]
    names: tuple[str, ...]
    lifted: bool
    state: Vector
    mismatch: tuple[float, bool]
    errors: tuple[CellBounds, ...]
    sizes: tuple[CellBounds, ...] = ()
    at: tuple[int, ...] = ()
    checked: tuple[bool, ...] = ()
    unknown: str = ""

    __repr__ = brief

    @classmethod
    def of(cls, setting: Setting, mismatch: tuple[float, bool], asked: Queries, *, lifted: bool) -> Suprema:
        """All bounds whose hypotheses are met."""
        model = setting.model
        errors = [found for finder in ERRORS for found in finder(setting)]
        left: list[CellBounds] = []
        if not lifted and witnesses(asked.goals):
            raise InputError(
                "barrier: bounds what a lift leaves over, and nothing is lifted here; certify with lift=True, or leave "
                "it out"
            )
        if lifted:
            falls = model.reacts and setting.carried > 0.0
            left += [] if falls else _alone(model, model.load, witnesses(asked.goals))  # indefinite.md, step 12e
            for finder in LEFT_OVER:
                found = finder(setting)
                left += [replace(one, bounds=np.asarray(up(one.bounds + mismatch[0]))) for one in found]
        rows = tuple(extreme_rows(asked.goals))
        names = tuple(asked.names[i] for i in rows)
        at = tuple(i for i, goal in enumerate(asked.goals) if lifted and isinstance(goal, Point))
        return cls(
            model,
            rows,
            names,
            lifted,
            setting.side.nodal,
            mismatch,
            tuple(errors),
            tuple(left),
            at,
            only_checked(asked.goals),
            no_constant(setting),
        )

    @property
    def places(self) -> tuple[int, ...]:
        """Queries at points at which the largest error is at least what they prove."""
        return self.at

    @property
    def note(self) -> str:
        """What the largest error is that of."""
        return (OF_NETWORK if self.lifted else OF_ELEMENTS) + self.unknown

    def found(self, given: Vector) -> Mapping[int, Found]:
        """The intervals of the largest error, by the queries' numbers."""
        v = None if self.lifted else given
        known = {checked: self._largest(v, checked=checked) for checked in set(self.checked)}
        return {i: known[checked] for i, checked in zip(self.rows, self.checked, strict=True)}

    def _largest(self, given: Vector | None, *, checked: bool) -> Found:
        """The interval of max |u − v|, v by its values at the nodes; None for v = 0, what a lift leaves over."""
        proved_again = self._interval(given, [e for e in self.errors if e.route in CHECKED], checked=True)
        if checked:
            best = proved_again
        else:
            best = self._interval(given, self.errors, checked=False)
        if not math.isfinite(best.upper):
            raise InputError(
                f"query '{self.names[0]}': no bound that holds everywhere is proved for these boundary conditions: "
                "Neumann and Robin facets must lie in planes x = const, y = const or z = const, at most one across "
                "each axis, or Neumann facets on the faces of a box. Ask for points, or fix values there"
            )
        same = proved_again.upper <= best.upper and proved_again.lower >= best.lower
        free = self.lifted and self.model.exchange is not None
        plain = self.model.gluing is None and not self.model.reacts and not free
        return replace(best, rechecked=same and best.proved and plain)

    def _interval(self, given: Vector | None, errors: Sequence[CellBounds], *, checked: bool) -> Found:
        """The interval from some bounds of |u − ũ|, and for a lift of |u|."""
        model = self.model
        w, z = self.state[model.cell_nodes], np.zeros(len(model.kappa))
        if given is not None:  # which may have two values at a periodic pair
            v = given[model.own_nodes]
            w, z = w - v, gamma(2) * (np.abs(w) + np.abs(v)).max(axis=1)
        b = bernstein(w, model.d, model.degree)
        top = up(np.abs(b).max(axis=1) + gamma(16) * np.abs(w).max(axis=1) + 4.0 * z)  # everywhere.md, step 5a
        error, _, sure = smallest(errors, len(top))
        error = np.asarray(up(error + self.mismatch[0]))
        parts = [replace(e, bounds=np.asarray(up(top + up(e.bounds + self.mismatch[0])))) for e in errors]
        parts += [e for e in self.sizes if given is None and (e.route in CHECKED or not checked)]
        band, names, proved = smallest(parts, len(top))  # everywhere.md, step 5b
        where = int(np.argmax(band))
        upper, proved = float(band[where]), proved and self.mismatch[1]
        seen, least = np.abs(w).max(axis=1) - 4.0 * z, self._at_boundary(given)
        lower = float(np.max(down(seen - error), initial=0.0)) if sure else 0.0  # everywhere.md, step 5c
        boundary = next((e.numbers["boundary"] for e in self.sizes if "boundary" in e.numbers), None)
        numbers: dict[str, Any] = {"boundary": boundary if self.lifted else None, "least": least}
        for word, some in (("local", errors), ("left", self.sizes if self.lifted else ())):
            numbers[word] = next((dict(e.numbers) for e in some if e.route == BAND), None)
        return Found(min(max(lower, least), upper), upper, 0.0, names(where), proved, band, numbers=numbers)

    def _at_boundary(self, given: Vector | None) -> float:
        """A bound of |g_D − v| from below, at the vertices of the Dirichlet facets."""
        found = 0.0
        for facets, data in self.model.dirichlet:
            if callable(data) and not enclosed(data):
                continue
            vertices = np.unique(self.model.topology.facets[facets])
            value, error = enclose(data, self.model.points[vertices])
            v = 0.0 if given is None else given[vertices]
            off = np.abs(value - v)
            found = max(found, float(np.max(down(down(off) - up(error)), initial=0.0)))  # everywhere.md, step 5d
        return found


def _alone(model: Continuum, load: Density, given: Sequence[Expression]) -> list[CellBounds]:
    """What is known of what a lift leaves over from its own size, where c ≥ 0 and there are no Robin facets."""
    medium = model.medium
    if given:
        require_barriers(model)
    if model.exchange is not None or float(model.reaction.min()) < 0.0:
        return []
    boundary = model.mismatch(np.zeros(model.size))
    if medium is not None and medium.coefficients.convective:
        return drift(model, load, boundary) if len(medium.coefficients.diffusion) == 1 else []
    if medium is not None and medium.least_reaction < 0.0:
        return []
    return sizes(model, load, boundary, given)


def no_constant(setting: Setting) -> str:
    """Why bounds hold without the mesh constant, in words; empty where it is known."""
    known = setting.model.mesh_constant(thorough=setting.thorough)
    if not isinstance(known, str):
        return ""
    more = "; thorough=True takes what it needs" if "factorization" in known and not setting.thorough else ""
    return f". Bounds are without the narrower band: {known}{more}"


def smallest(found: Sequence[CellBounds], cells: int) -> tuple[Vector, Callable[[int], str], bool]:
    """On each cell the smallest bound, and its route's name; where any is proved, estimates do not count."""
    proved = [one for one in found if one.proved]
    used = proved or list(found)
    if not used:
        return np.full(cells, np.inf), lambda cell: "", True
    table = np.stack([np.where(np.isnan(one.bounds), np.inf, one.bounds) for one in used])
    return table.min(axis=0), lambda cell: used[int(np.argmin(table[:, cell]))].route, bool(proved)


def witnesses(goals: Sequence[Goal | None]) -> list[Expression]:
    """Barriers that queries bring with them."""
    return [
        parse(goal.barrier, name="barrier")
        for goal in goals
        if isinstance(goal, Everywhere) and goal.barrier is not None
    ]


def require_barriers(model: Continuum) -> None:
    """Refuse a user's barrier where no comparison with it is proved."""
    if model.exchange is not None or model.coefficients is not None or float(model.reaction.min()) < 0.0:
        raise InputError(
            "barrier: needs one diffusion and one reaction ≥ 0, numbers, without convection and Robin groups; leave it "
            "out, and other bounds count"
        )


def only_checked(goals: Sequence[Goal | None]) -> tuple[bool, ...]:
    """For each query that asks for extremes, whether only what the checker proves again is wanted."""
    return tuple(goal.checked for goal in goals if isinstance(goal, Everywhere))


def extreme_rows(goals: Sequence[Goal | None]) -> list[int]:
    """Numbers of the queries that ask for extremes."""
    return [i for i, goal in enumerate(goals) if isinstance(goal, Everywhere)]
