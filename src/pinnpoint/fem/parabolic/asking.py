"""What can be asked of a problem in time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Mask, Vector, per_query
from pinnpoint.base.errors import InputError
from pinnpoint.fem.data.held import resolve
from pinnpoint.fem.parabolic.queries import asked_since, asked_times, gaussians, moving
from pinnpoint.fem.problem import LiftableElements
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.fem.scalar_queries import Names
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.systems.evolution.grid import TimeGrid
from pinnpoint.systems.evolution.stepper import Stepper
from pinnpoint.systems.goals import Ball, Block, Cells, Gaussian, Goal, Patch, Point, time_of
from pinnpoint.systems.queries import Queries


class MovingQueries(LiftableElements):
    """Functionals in space, each at a time."""

    if TYPE_CHECKING:

        @property
        def stationary(self) -> ReactionDiffusion: ...  # noqa: D102
        @property
        def grid(self) -> TimeGrid: ...  # noqa: D102
        @property
        def stepper(self) -> Stepper: ...  # noqa: D102
        @property
        def start(self) -> Vector: ...  # noqa: D102
        @property
        def held(self) -> Vector: ...  # noqa: D102
        @property
        def file(self) -> Any: ...  # noqa: D102

    @abstractmethod
    def like(
        self,
        source: Any,
        initial: Any,
        dirichlet: Mapping[str, Any],
        reaction: Any = None,
        *,
        mesh: Mesh | None = None,
        neumann: Mapping[str, Any] | None = None,
        robin: Mapping[str, Any] | None = None,
    ) -> Self:
        """The same coefficients with other data, on the same mesh, perhaps with other groups, and the same slabs."""

    @property
    def held_all_around(self) -> bool:
        """Whether Dirichlet conditions hold on every facet of the boundary: nodes of a free one may all be held."""
        held = resolve(self.mesh, self.given["dirichlet"], 1, "dirichlet").facets(self.mesh)
        return len(held) == len(self.mesh.boundary)

    def points(self, X: ArrayLike, names: Sequence[str] | None = None, *, time: ArrayLike | None = None) -> Queries:
        """Values at points and a time, or a time for each; the end by default."""
        return self._at(self.stationary.points(X, names), time)

    def averages(
        self,
        X: ArrayLike,
        radius: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        *,
        spread: ArrayLike | None = None,
        reach: ArrayLike | None = None,
        time: ArrayLike | None = None,
        since: ArrayLike | None = None,
    ) -> Queries:
        """Averages at a time over balls of a radius, or with Gaussian weights of a standard deviation `spread`.

        A Gaussian weight is cut off smoothly at the distance `reach`, that of the boundary by default; see `Gaussian`.
        Balls are averaged over the times from `since` to `time` where it is given.
        """
        if (radius is None) == (spread is None):
            raise InputError("radius, spread: give one of them, of balls or of Gaussian weights")
        if radius is None and since is not None:
            raise InputError("since: averages over time are of balls, cells and the domain; leave it out with spread")
        if radius is None:
            return self._at(gaussians(self.stationary._queries, X, spread, reach, names), time)  # type: ignore[arg-type]
        return self._at(self.stationary.averages(X, radius, names), time, since)

    def mean(
        self, name: str | None = None, *, time: ArrayLike | None = None, since: ArrayLike | None = None
    ) -> Queries:
        """The average over the domain at a time, or over the times from `since` to it."""
        return self._at(self.stationary.mean(name), time, since)

    def cells(
        self,
        where: Any,
        name: Names = None,
        *,
        side: ArrayLike | None = None,
        time: ArrayLike | None = None,
        since: ArrayLike | None = None,
    ) -> Queries:
        """The average over a group of cells, or over cells with these numbers, at a time, or since another.

        With `side`, over squares or cubes about points, as in `ReactionDiffusion.cells`.
        """
        return self._at(self.stationary.cells(where, side, name), time, since)

    def patch(self, group: str, name: str | None = None, *, time: ArrayLike | None = None) -> Queries:
        """The average over a boundary group at a time."""
        return self._at(self.stationary.patch(group, None, name), time)

    def _at(self, found: Queries, time: ArrayLike | None, since: ArrayLike | None = None) -> Queries:
        times = asked_times(self.grid, time, len(found))
        return moving(found, self.grid, times, asked_since(self.grid, since, times))

    def ask(self, goals: Sequence[Goal | None], names: Sequence[str]) -> Queries:
        """Queries for what is asked of the PDE's own solution."""
        asked: Queries | None = None
        for goal, name in zip(goals, names, strict=True):
            if isinstance(goal, Point):
                part = self.points([goal.at], [name], time=goal.time)
            elif isinstance(goal, Ball):
                part = self.averages([goal.at], goal.radius, [name], time=goal.time, since=goal.since)
            elif isinstance(goal, Block):
                part = self.cells([goal.at], name, side=goal.side, time=goal.time, since=goal.since)
            elif isinstance(goal, Gaussian):
                part = self.averages([goal.at], None, [name], spread=goal.spread, reach=goal.reach, time=goal.time)
            elif isinstance(goal, Patch):
                part = self.patch(goal.group, name, time=goal.time)
            elif isinstance(goal, Cells) and not isinstance(goal.cells, tuple):
                part = self._at(self.stationary._queries.cells(goal.cells, [name], None), goal.time, goal.since)
            else:
                raise InputError(f"query '{name}': is not known beyond this mesh; ask for points and averages")
            asked = part if asked is None else asked + part
        assert asked is not None
        return asked

    def near(self, queries: Queries, radius: ArrayLike, duration: ArrayLike) -> Mask:
        """Rows of the system near queries in space and before their times, (queries, rows), for `Localized`.

        Parameters
        ----------
        radius
            Of the ball about each query's point.
        duration
            Slabs count that end later than so long before the query's time, and begin before it.
        """
        if queries.points is None:
            raise InputError("queries: have no points to be near to")
        free, grid = self.stationary.space.free, self.grid
        R, S = (per_query(name, x, len(queries)) for name, x in (("radius", radius), ("duration", duration)))
        X = self.nodes.points if free is None else self.nodes.points[free]
        far = np.sqrt(np.sum((X[None] - queries.points[:, None]) ** 2, axis=2))
        t = np.array([grid.end if time_of(goal) is None else time_of(goal) for goal in queries.goals])
        when = (grid.nodes[None, 1:] > (t - S)[:, None]) & (grid.nodes[None, :-1] < t[:, None])
        when = np.repeat(when, grid.per_slab, axis=1)
        return np.asarray((when[:, :, None] & (far <= R[:, None])[:, None, :]).reshape(len(queries), -1))
