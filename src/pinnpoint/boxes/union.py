"""Domains that are made of boxes, such as an L: kernels between those of an inner and an outer box."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pinnpoint.base.arrays import Vector, number, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.box import Box, places, point_queries
from pinnpoint.boxes.brackets import Pair, bracketed, seen_inside
from pinnpoint.boxes.certificates import TERMS, assembled, fill
from pinnpoint.boxes.equation import Equation
from pinnpoint.boxes.kernels import Axis, Kernel
from pinnpoint.boxes.parts import Cells, Part, Seen, modelled
from pinnpoint.boxes.suprema import extremes, largest
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim
from pinnpoint.certifiers.protocols import SelfCertifying
from pinnpoint.models.given import Prediction
from pinnpoint.models.lifts import Lift
from pinnpoint.rounding.arithmetic import require_round_to_nearest, up
from pinnpoint.systems.goals import Point
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.inputs import Data

CLAIMS = (
    Claim("continuous target: the solution on the union of the boxes itself"),
    Claim(
        "the domain's heat kernel lies between those of an inner and an outer box, Dirichlet data all around (box.md)"
    ),
    Claim("weights of networks, numbers and formulas are exactly as given"),
)
Side = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Blocks:
    """The boxes on the grid of all their ends: which cells of it belong to the domain."""

    cuts: tuple[Vector, ...]
    filled: NDArray[np.bool_]

    __repr__ = brief

    def cells(self) -> list[tuple[Side, ...]]:
        """The cells of the domain, one pair of ends an axis."""
        return [tuple(self.side(k, i) for k, i in enumerate(index)) for index in np.argwhere(self.filled).tolist()]

    def side(self, axis: int, i: int) -> Side:
        """The i-th interval of an axis."""
        return float(self.cuts[axis][i]), float(self.cuts[axis][i + 1])

    def faces(self) -> list[tuple[int, float, tuple[Side, ...]]]:
        """The boundary: axis, coordinate and the cell of every face that has nothing on its other side."""
        found = []
        for index in np.argwhere(self.filled).tolist():
            for axis, step in product(range(len(self.cuts)), (-1, 1)):
                other = list(index)
                other[axis] += step
                if 0 <= other[axis] < self.filled.shape[axis] and self.filled[tuple(other)]:
                    continue
                at = self.cuts[axis][index[axis] + (step > 0)]
                found.append((axis, float(at), tuple(self.side(k, i) for k, i in enumerate(index))))
        return found

    def inner(self, p: Vector) -> tuple[Side, ...] | None:
        """The box inside the domain in which the point is farthest from the faces; None on the boundary."""
        best, found = 0.0, None
        ranges = []
        for cuts, x in zip(self.cuts, p, strict=True):
            n = len(cuts)
            ranges.append([(i, j) for i in range(n) for j in range(i + 1, n) if cuts[i] < x < cuts[j]])
        for choice in product(*ranges):
            if not self.filled[tuple(slice(i, j) for i, j in choice)].all():
                continue
            sides = tuple((float(c[i]), float(c[j])) for c, (i, j) in zip(self.cuts, choice, strict=True))
            gap = min(min(x - a, b - x) for x, (a, b) in zip(p, sides, strict=True))
            size = gap + 1e-6 * sum(b - a for a, b in sides)
            if size > best:
                best, found = size, sides
        return found


@dataclass(frozen=True, eq=False, init=False)
class Boxes(SelfCertifying):
    """u_t − ∇·(κ∇u) + b·∇u + c u = f on a union of boxes, u = g all around.

    The kernel of the domain is not known, but lies between those of any box inside and of the box around it, so that
    intervals are wider than a `Box`'s: by half of what the residual weighs against the difference.

    Parameters
    ----------
    boxes
        Each a list of pairs [low, high], one for each axis; together they are the domain.
    end, diffusion, source, initial, convection, reaction, dirichlet
        As for `Box`; dirichlet is one number or formula.
    """

    around: Equation
    """The equation on the smallest box around the domain."""
    blocks: Blocks

    __repr__ = brief

    def __init__(
        self,
        boxes: Sequence[Sequence[Sequence[float]]],
        *,
        end: float,
        diffusion: float | Sequence[float] = 1.0,
        source: Data | str = 0.0,
        initial: Data | str = 0.0,
        convection: Sequence[float] | None = None,
        reaction: float = 0.0,
        dirichlet: float | str = 0.0,
    ) -> None:
        each = [np.array([[number("boxes", v) for v in side] for side in box]) for box in boxes]
        if not each or any(b.ndim != 2 or b.shape != each[0].shape or b.shape[1] != 2 for b in each):
            raise InputError("boxes: give boxes of the same dimension, each a list of pairs [low, high]")
        if any((b[:, 0] >= b[:, 1]).any() for b in each):
            raise InputError("boxes: the ends of every pair must increase")
        number("end", end, above=0.0)
        low, high = np.min([b[:, 0] for b in each], axis=0), np.max([b[:, 1] for b in each], axis=0)
        box = Box(
            *np.stack([low, high], axis=1).tolist(),
            end=end,
            diffusion=diffusion,
            source=source,
            initial=initial,
            convection=convection,
            reaction=reaction,
            dirichlet=dirichlet,
        )
        cuts = tuple(np.unique([b[k] for b in each]) for k in range(len(low)))
        filled = np.zeros([len(c) - 1 for c in cuts], dtype=bool)
        for b in each:
            filled[tuple(slice(*np.searchsorted(c, b[k])) for k, c in enumerate(cuts))] = True
        set_fields(self, around=box.equation, blocks=Blocks(cuts, filled))

    @property
    def fingerprint(self) -> str:
        """A digest of the domain, which its queries carry."""
        said = (self.blocks.cells(), self.around.end)
        return hashlib.sha256(repr(said).encode()).hexdigest()

    def points(self, X: ArrayLike, names: Sequence[str] | None = None, *, time: float | None = None) -> Queries:
        """The values at points (K, d) inside the domain at a time; at the end by default."""
        P = places(X, self.around.d)
        for k, p in enumerate(P):
            if self.blocks.inner(p) is None:
                which = f"point {k}, {p.tolist()},"
                raise InputError(f"X: {which} is not inside the domain; on a Dirichlet face u is its datum")
        return point_queries(P, self.around.time(time), names, self.fingerprint)

    def certified(self, prediction: Prediction, queries: Queries, budget: int | None = None) -> Certificate:
        """Intervals of u itself; see `pinnpoint.certify`."""
        if queries.made_for.get("box") != self.fingerprint:
            raise InputError("queries: were not made by this domain; ask it, boxes.points(X, time=…)")
        require_round_to_nearest()
        lift, count = self.around.lift_of(prediction), len(queries)
        values, moved = np.zeros(count), np.zeros(count)
        errors: dict[str, Any] = {name: np.zeros(count) for name in TERMS}
        edge = self.mismatch(lift)
        for i, goal in enumerate(queries.goals):
            if not isinstance(goal, Point) or goal.time is None:
                raise InputError(f"query '{queries.names[i]}': a union of boxes answers points")
            values[i], errors["evaluation"][i] = self.around.value(lift, goal.at, goal.time)
            found = bracketed(self._pairs(lift, np.array(goal.at), goal.time), [values[i]], budget)[0]
            moved[i] = found.sum.value
            fill(errors, i, found, "transfer")
            errors["boundary"][i] = edge
        return assembled(queries, values, moved, errors, CLAIMS)

    def mismatch(self, lift: Lift) -> float:
        """Upper bound of what the boundary values are off by, times the growth e^{γT}."""
        e, top = self.around, 0.0
        end = float(e.end or 0.0)
        for axis, at, cell in self.blocks.faces():
            rest = tuple(k for k in range(e.d) if k != axis)
            data = next(iter(e.given.values()))
            part = Part("face", partial(e.off_by, lift, data), rest, None, "time", 1024)
            low, high = (np.array([[*(cell[k][j] for k in rest), (0.0, end)[j]]]) for j in (0, 1))
            fixed = [at if k == axis else None for k in range(e.d)]
            top = max(top, largest(extremes(part, low, high, end, fixed)))  # box.md, step 8b
        return float(up(top * math.exp(max(-e.reaction, 0.0) * end) * (1.0 + 1e-9)))

    def _pairs(self, lift: Lift, p: Vector, time: float) -> list[Pair]:
        """The inside and the start, each with the kernels of the inner and of the outer box."""
        e, sides = self.around, self.blocks.inner(p)
        if sides is None:
            raise InputError(f"X: {p.tolist()} is not inside the domain")
        inner = tuple(Axis(a, b, x.ends, x.kappa, x.drift) for (a, b), x in zip(sides, e.axes, strict=True))
        found = []
        for part in e.parts(lift):
            if part.face is not None:
                continue
            high, low = (
                Seen(part, tuple(Kernel(a, float(x)) for a, x in zip(axes, p, strict=True)), time, e.reaction)
                for axes in (e.axes, inner)
            )
            span = [(0.0, time)] if part.timed else []
            ends = np.array([[*cell, *span] for cell in self.blocks.cells()])
            cells = modelled(part, ends[:, :, 0].copy(), ends[:, :, 1].copy(), time, [None] * e.d)
            inside = partial(_within, sides)
            shares = [high.shares(cells)], [seen_inside(low, cells, inside)]
            found.append(Pair(part, (None,) * e.d, (high,), (low,), (inside,), cells, *shares))  # box.md, step 8a
        return found


def _within(sides: Sequence[Side], cells: Cells) -> NDArray[np.bool_]:
    """Which cells lie in a box; the others do not meet it."""
    a, b = np.array(sides).T
    d = len(a)
    return np.asarray((cells.low[:, :d] >= a).all(axis=1) & (cells.high[:, :d] <= b).all(axis=1))
