"""What is asked: affine functionals of the coefficient vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import (
    Index,
    Mask,
    Matrix,
    Vector,
    asked,
    dimensions,
    distinct_names,
    frozen,
    matrix,
    number,
    per_query,
    point_list,
    set_fields,
    shown,
)
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.models.given import Prediction
from pinnpoint.systems.derived import Derived
from pinnpoint.systems.goals import Ball as Ball
from pinnpoint.systems.goals import Everywhere as Everywhere
from pinnpoint.systems.goals import Extreme as Extreme
from pinnpoint.systems.goals import Flux as Flux
from pinnpoint.systems.goals import Goal as Goal
from pinnpoint.systems.goals import Patch as Patch
from pinnpoint.systems.goals import Point as Point
from pinnpoint.systems.goals import time_of

SAME = 1e-9
"""How much rows may differ that are made of the same functional twice."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Where a callable prediction is evaluated for its own, unprojected value of each query.

    The value is ``weights @ u(points)[:, component]``, with `weights` sparse, (K, points).
    """

    points: Vector
    weights: Any
    component: int = 0

    __repr__ = brief

    def __call__(self, prediction: Prediction) -> Vector:
        """The raw values of a prediction that maps points (N, d) to (N,) or (N, c)."""
        values = asked(prediction, self.points)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != len(self.points) or values.shape[1] <= self.component:
            raise InputError(
                f"prediction: must map {len(self.points)} points to as many rows with component {self.component}; got "
                f"shape {values.shape}"
            )
        if not np.all(np.isfinite(values)):
            bad = int(np.argmin(np.isfinite(values).all(axis=1)))
            raise InputError(f"prediction: is not finite at {self.points[bad].tolist()}")
        return np.asarray(self.weights @ values[:, self.component])


@dataclass(frozen=True, eq=False)
class DirectedSamples:
    """The same where several components count: Σ_k ``weights[k] @ u(points)[:, k]``."""

    points: Vector
    weights: tuple[Any, ...]

    __repr__ = brief

    def __call__(self, prediction: Prediction) -> Vector:
        """The raw values of a prediction that maps points (N, d) to (N, c)."""
        each = [Samples(self.points, weights, k)(prediction) for k, weights in enumerate(self.weights)]
        return np.asarray(sum(each))


@dataclass(frozen=True, eq=False)
class JoinedSamples:
    """The samples of lists of queries, one after the other; None where a list has none, such as fluxes."""

    parts: tuple[AnySamples | None, ...]
    counts: tuple[int, ...]

    __repr__ = brief

    def __call__(self, prediction: Prediction) -> Vector:
        """The raw values of all; those of lists without samples are not numbers."""
        found = zip(self.parts, self.counts, strict=True)
        return np.concatenate([np.full(k, np.nan) if part is None else part(prediction) for part, k in found])


AnySamples = Samples | DirectedSamples | JoinedSamples


@dataclass(frozen=True, eq=False)
class JoinedRows:
    """The rows of two lists of queries on other elements; those that are not known there are not numbers."""

    parts: tuple[Callable[[Any], Any] | None, ...]
    counts: tuple[int, ...]

    __repr__ = brief

    def __call__(self, nodes: Any) -> Any:
        """The rows on these nodes."""
        known = [None if part is None else sp.csr_array(part(nodes)) for part in self.parts]
        width = next((rows.shape[1] for rows in known if rows is not None), 1)
        return sp.vstack(
            [
                sp.csr_array(([np.nan] * k, (range(k), [0] * k)), shape=(k, width)) if rows is None else rows
                for rows, k in zip(known, self.counts, strict=True)
            ],
            format="csr",
        )


@dataclass(frozen=True, eq=False)
class Apart:
    """Nodes that are one of a problem's and two of a prediction's, as on the two sides of a periodic pair.

    Attributes
    ----------
    nodes
        On which each stands for itself: those of the prediction.
    same
        The one that stands for each in the problem.
    jumps
        1 where one of the latter has another value the second time.
    told
        The largest difference, where it is, and of which pair, in words.
    """

    nodes: Any
    same: Index
    jumps: Vector
    told: str

    __repr__ = brief

    def rows(self, queries: Queries, needed: Mask) -> Any:
        """The queries on the prediction's own nodes; refuses `needed` ones that are not known there and see a jump."""
        L, n = sp.csr_array(queries.stored), len(self.same)
        own = sp.csr_array(L.shape if queries.on_nodes is None else queries.on_nodes(self.nodes))
        fold = sp.csr_array((np.ones(n), (np.arange(n), self.same)), shape=(n, n))
        size, off = (np.asarray(abs(part).sum(axis=1)).ravel() for part in (L, own @ fold - L))
        known = off <= SAME * size
        lost = needed & ~known & (np.asarray(abs(L) @ self.jumps) > 0.0)
        if np.any(lost):
            raise InputError(
                f"query '{queries.names[int(np.argmax(lost))]}': {self.told}; what such a prediction has for it is not "
                "known. Give one with the same values on both sides, or ask for points and averages"
            )
        own.data = np.where(np.repeat(known, np.diff(own.indptr)), own.data, 0.0)
        return own


def require_linear(queries: Queries) -> None:
    """Refuse extremes, whose rows say nothing of a discrete solution."""
    for goal, name in zip(queries.goals, queries.names, strict=True):
        if isinstance(goal, Extreme):
            raise InputError(
                f"query '{name}': extremes over the domain are certified for the PDE's own solution; leave "
                "target='discrete' out, and certify the problem"
            )


def without_solve(queries: Queries) -> bool:
    """Whether nothing is asked that needs a solve."""
    return all(isinstance(goal, Everywhere) and not goal.solve for goal in queries.goals)


def _joined_samples(*lists: Queries) -> JoinedSamples | None:
    known = any(one.samples is not None for one in lists)
    return JoinedSamples(tuple(one.samples for one in lists), tuple(len(one) for one in lists)) if known else None


def _joined_rows(*lists: Queries) -> JoinedRows | None:
    parts: list[tuple[Callable[[Any], Any] | None, int]] = []
    for one in lists:
        rows = one.on_nodes
        parts += zip(rows.parts, rows.counts, strict=True) if isinstance(rows, JoinedRows) else [(rows, len(one))]
    known = any(part is not None for part, _ in parts)
    return JoinedRows(tuple(p for p, _ in parts), tuple(k for _, k in parts)) if known else None


@dataclass(frozen=True, eq=False)
class Queries:
    """K functionals ℓ_iᵀU + constant_i.

    Parameters
    ----------
    L
        K × N, dense or sparse: row i is ℓ_i.
    names
        One per query, all different; q0, q1, … by default.
    constants
        Added to each value, for affine functionals.
    error
        Entrywise bounds |Δℓ| ≤ e_ℓ, shape of L; every functional within them is certified. A number stands for
        that multiple of |L|.
    points
        Where each query sits, K × d, for localization and reports.
    samples
        How a callable prediction is evaluated for its raw values.
    notes
        What the functionals are, where it is not plain; every certificate repeats them.
    goals
        What each query asks of the PDE's own solution, where it has a meaning there; None where it has none.
    on_nodes
        From the nodes of other elements on the same mesh to the functionals' rows there; None where that is not known.
    made_for
        Digests of what the rows were made from, such as a problem's mesh: a problem with other ones refuses them, and
        they cannot be joined to queries with other ones.
    derived
        What is to follow from these queries' values, such as the magnitude of a vector.
    """

    stored: Any = field(metadata={"name": "L"})
    """L as the certifiers work with it; nobody else is to write into it."""
    names: tuple[str, ...]
    constants: Vector
    error: Any | None
    points: Vector | None
    samples: AnySamples | None
    notes: tuple[str, ...]
    goals: tuple[Goal | None, ...]
    on_nodes: Callable[[Any], Any] | None
    made_for: Mapping[str, str] = field(repr=False)
    derived: tuple[Derived, ...]
    times: Vector | None = field(repr=False)
    """When, where all queries are about a time."""

    __repr__ = brief

    def __init__(
        self,
        L: Matrix,
        names: Sequence[str] | None = None,
        constants: ArrayLike = 0.0,
        *,
        error: Any | None = None,
        points: Any | None = None,
        samples: AnySamples | None = None,
        notes: Sequence[str] = (),
        goals: Sequence[Goal | None] | None = None,
        on_nodes: Callable[[Any], Any] | None = None,
        made_for: Mapping[str, str] | None = None,
        derived: Sequence[Derived] = (),
    ) -> None:
        L = matrix("L", L)
        if L.shape[0] == 0:
            raise InputError("L: holds no query; give at least one row")
        if error is not None:
            if dimensions("error", error) == 0:
                error = abs(L) * (number("error", error, low=0.0) * (1.0 + 2.0**-50))
            error = matrix("error", error)
            if error.shape != L.shape:
                raise InputError(f"error: must have L's shape {L.shape}; got shape {error.shape}")
            if error.nnz and float(error.data.min()) < 0.0:
                raise InputError(f"error: must be ≥ 0; got {float(error.data.min())!r}")
        set_fields(
            self,
            stored=L,
            names=distinct_names(names, L.shape[0]),
            constants=per_query("constants", constants, L.shape[0]),
            error=error,
            points=None if points is None else point_list("points", points, L.shape[0]),
            samples=samples,
            notes=tuple(notes),
            goals=(None,) * L.shape[0] if goals is None else tuple(goals),
            on_nodes=on_nodes,
            made_for=dict(made_for or {}),
            derived=(),
        )
        each = [time_of(goal) for goal in self.goals]
        set_fields(self, times=None if any(t is None for t in each) else np.array(each, dtype=np.float64))
        if derived:
            set_fields(self, derived=self.deriving(derived).derived)
        frozen(self.constants, self.points, None if error is None else error.data)

    @property
    def L(self) -> Any:
        """The rows ℓ_i, which cannot be written into."""
        return shown(self.stored)

    def __len__(self) -> int:
        return int(self.stored.shape[0])

    def before(self, given: Vector, mismatch: Vector, value: Vector, rows: Any | None = None) -> Vector | None:
        """The values of a vector whose entries were then changed: `value` where no changed entry counts.

        Parameters
        ----------
        given
            The vector as it was.
        mismatch
            What it differs in from the vector that it became; None is returned where this is nothing.
        value
            The values of that vector.
        rows
            The functionals of the vector as it was, where they are others.
        """
        if not np.any(mismatch):
            return None
        rows = self.stored if rows is None else rows
        given = np.asarray(given, dtype=np.float64)
        counts = np.asarray(abs(rows) @ (mismatch != 0.0).astype(np.float64)) > 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            own = np.asarray(rows @ given + self.constants)
        if not np.all(np.isfinite(own)):
            worst = self.names[int(np.argmin(np.isfinite(own)))]
            raise InputError(f"prediction: its value of '{worst}' leaves the range of float64; give smaller values")
        return np.where(counts, own, value)

    def deriving(self, derived: Sequence[Derived]) -> Queries:
        """The same queries, from whose values these quantities follow."""
        names = [*self.names, *(one.name for one in derived)]
        distinct_names(names, len(names))
        unknown = [name for one in derived for name in one.of if name not in self.names]
        if unknown:
            raise InputError(f"derived: '{unknown[0]}' is not among the queries")
        queries = copy(self)
        set_fields(queries, derived=tuple(derived))
        return queries

    def only(self, rows: Sequence[int]) -> Queries:
        """Some of the queries, by their numbers, without what is derived from them."""
        return Queries(
            self.stored[list(rows)],
            [self.names[i] for i in rows],
            self.constants[list(rows)],
            points=None if self.points is None else self.points[list(rows)],
            goals=[self.goals[i] for i in rows],
            notes=self.notes,
            made_for=self.made_for,
        )

    def _names_after(self, count: int) -> tuple[str, ...]:
        """The names, where they are the plain numbers counted on."""
        plain = tuple(f"q{i}" for i in range(len(self)))
        return tuple(f"q{count + i}" for i in range(len(self))) if self.names == plain else self.names

    def __add__(self, other: Queries) -> Queries:
        """Both lists in one, for example points and averages of one problem."""
        if self.L.shape[1] != other.L.shape[1]:
            raise InputError(f"queries: cannot be joined, {self.L.shape[1]} columns against {other.L.shape[1]}")
        foreign = sorted(
            k for k in self.made_for.keys() & other.made_for.keys() if self.made_for[k] != other.made_for[k]
        )
        if foreign:
            raise InputError(f"queries: cannot be joined, they were made by problems that differ in their {foreign[0]}")
        error = None
        if self.error is not None or other.error is not None:
            none = [q.error if q.error is not None else sp.csr_array(q.L.shape) for q in (self, other)]
            error = sp.vstack(none)
        both = self.points is not None and other.points is not None and self.points.shape[1] == other.points.shape[1]
        return Queries(
            sp.vstack([self.L, other.L]),
            [*self.names, *other._names_after(len(self))],
            np.concatenate([self.constants, other.constants]),
            error=error,
            points=np.concatenate([self.points, other.points]) if both else None,
            samples=_joined_samples(self, other),
            notes=tuple(dict.fromkeys([*self.notes, *other.notes])),
            goals=[*self.goals, *other.goals],
            on_nodes=_joined_rows(self, other),
            made_for={**self.made_for, **other.made_for},
            derived=[*self.derived, *other.derived],
        )
