"""The data of a problem in time on its slabs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.free_memory import free_memory
from pinnpoint.formulas.expressions import Expression
from pinnpoint.models.smooth import SmoothField, model_at
from pinnpoint.rounding.arithmetic import up
from pinnpoint.taylor.bernstein import pairs
from pinnpoint.taylor.inputs import Enclosed, costly, enclosed, fixed
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.prisms import Modes, about, bounds, modes
from pinnpoint.taylor.simplices import density
from pinnpoint.transfer.heat_kernel.carried import Carried

ORDERS = (4, 5, 6, 8, 10)
"""Of the models in space and time that are tried."""
TRIAL = 64
"""Cells on which they are tried."""
TIME = "t"
SHARE = 0.25
"""Of the free memory that kept modes may take."""


def moves(f: Any) -> bool:
    """Whether data may depend on time."""
    return enclosed(f) and not (isinstance(f, Expression) and TIME not in f.variables_used)


@dataclass(frozen=True, eq=False)
class Source:
    """F on the cells, slab by slab.

    Attributes
    ----------
    pieces
        Cells, and what is given on them: a number, a formula in space and time, or smooth data of d + 1 coordinates.
    vertices
        Of all cells, (C, d + 1, d).
    nodes
        Of the time grid.
    share
        Errors that are small enough, against the size of the data.
    work
        On pieces that do not move, as in `density`.
    """

    pieces: Sequence[tuple[Index, Any]]
    vertices: Vector
    nodes: Vector
    count: int
    share: float
    work: float = 1.0
    name: str = "source"
    """What it is called where it is refused."""

    __repr__ = brief

    def __post_init__(self) -> None:
        for _, f in self.pieces:
            if not (enclosed(f) or fixed(f) is not None):
                raise InputError(
                    f"{self.name}: on the continuous target it must be a number or a formula, of which integrals are "
                    f"enclosed; got {'a function' if callable(f) else type(f).__name__}. Say target='discrete'"
                )

    @cached_property
    def vanishes(self) -> bool:
        """Whether f = 0."""
        return all(fixed(f) == (0.0, 0.0) for _, f in self.pieces)

    @cached_property
    def _steady(self) -> Modes:
        """Of what does not depend on time."""
        m = self.vertices.shape[1] - 1
        made = Modes.zero(self.count, len(self.vertices), m)
        for cells, f in self.pieces:
            if not moves(f):
                V = self.vertices[cells]
                rough = density(f, V)
                small = self.share * float(np.abs(rough.coefficients).max(initial=1e-300))
                found = density(f, V, tolerance=small, work=self.work)
                one = Modes.steady(found, self.count)
                _put(made, one, cells)
        return made

    @cached_property
    def _orders(self) -> list[int]:
        """A degree for every piece."""
        return [self._order(cells, f) if moves(f) else 0 for cells, f in self.pieces]

    def _order(self, cells: Index, f: Enclosed) -> int:
        some = self.vertices[cells[np.linspace(0, len(cells) - 1, min(TRIAL, len(cells))).astype(np.intp)]]
        slab = int(np.argmax(np.diff(self.nodes)))
        start, end = float(self.nodes[slab]), float(self.nodes[slab + 1])
        for q in ORDERS:
            if q < self.count:
                continue
            found = modes(f, some, start, end, self.count, q)
            if float(found.error1[0].max()) <= self.share * float(np.abs(found.coefficients).max(initial=1e-300)):
                return q
        return ORDERS[-1]

    def range(self, cells: Index, start: float, end: float) -> tuple[float, float]:
        """Bounds of f from below and above on some cells, from a time to another."""
        low, high = np.inf, -np.inf
        for own, f in self.pieces:
            here = np.intersect1d(own, cells)
            if not here.size:
                continue
            known = fixed(f)
            if known is None:
                least, most = bounds(f, self.vertices[here], start, end, ORDERS[1])
            else:
                least, most = known[0] - known[1], known[0] + known[1]
            low, high = min(low, least), max(high, most)
        return float(low), float(high)

    def about(
        self, x0: Vector, cells: Index, width: float, start: float, end: float, turned: Carried | None = None
    ) -> tuple[float, float] | None:
        """The mean of f under weights that are even in every x_i − x₀,i, with squares of at most width²/72 in the mean.

        Centre and radius; nothing where f is not one formula on these cells, which hold the box x₀ ± width as far as it
        is in the domain. f is multiplied by a kernel's factor where it has one.
        """
        own = [f for part, f in self.pieces if np.isin(cells, part).any()]
        if len(own) != 1 or not np.isin(cells, self.pieces[[f for _, f in self.pieces].index(own[0])][0]).all():
            return None
        known = fixed(own[0])
        if known is not None and turned is None:
            return known
        f = own[0] if turned is None else SmoothField(partial(_turned, own[0], turned))
        model = about(f, x0, width, start, end, ORDERS[2])
        powers = model.space.powers[:, :-1]
        odd, flat = np.any(powers % 2 == 1, axis=1), ~np.any(powers, axis=1)
        share = np.where(odd, 0.0, np.where(flat, 1.0, 1.0 / 72.0))  # slabs.md, step 4e
        share[0] = 0.0
        spread = float(up(share @ np.abs(model.C[:, 0]) + model.e[0], 64))
        return (float(model.C[0, 0]), spread) if np.isfinite(spread) else None

    @cached_property
    def endless(self) -> float:
        """When the first slab begins on which f is found to have no bound; infinity where none is."""
        for cells, f in self.pieces:
            for n in range(len(self.nodes) - 1) if moves(f) else ():
                V = self.vertices[cells[: TRIAL if n == 0 else 1]]
                if not any(self._bounded(f, V, n, q) for q in ORDERS[:: len(ORDERS) - 1]):
                    return float(self.nodes[n])
        return np.inf

    def _bounded(self, f: Enclosed, V: Vector, n: int, q: int) -> bool:
        found = modes(f, V, float(self.nodes[n]), float(self.nodes[n + 1]), self.count, max(q, self.count))
        return bool(np.isfinite(found.coefficients).all() and np.isfinite(found.error1).all())

    @cached_property
    def _kept(self) -> dict[int, Modes]:
        """Modes of slabs that cost much to find again."""
        return {}

    @cached_property
    def _keeps(self) -> bool:
        """Whether all of these fit into memory with ease."""
        cells, m = self.vertices.shape[0], self.vertices.shape[1] - 1
        need = 8.0 * cells * (self.count * (len(pairs(m)) + 3) + 1) * (len(self.nodes) - 1)
        return any(costly(f) for _, f in self.pieces) and need < SHARE * free_memory()

    def slab(self, n: int) -> Modes:
        """Modes of f on a slab."""
        found = self._kept.get(n)
        if found is None:
            found = self._made(n)
            if self._keeps:
                self._kept[n] = found
        return found

    def _made(self, n: int) -> Modes:
        moving = [(cells, f, q) for (cells, f), q in zip(self.pieces, self._orders, strict=True) if q]
        if not moving:
            return self._steady
        made = Modes(*(x.copy() for x in _rows(self._steady)))
        for cells, f, q in moving:
            # slabs.md, step 2b
            found = modes(f, self.vertices[cells], float(self.nodes[n]), float(self.nodes[n + 1]), self.count, q)
            _put(made, found, cells)
        return made


def _rows(m: Modes) -> tuple[Vector, ...]:
    return m.coefficients, m.high, m.error1, m.error2, m.rest


def _put(made: Modes, part: Modes, cells: Index) -> None:
    for whole, own in zip(_rows(made)[:4], _rows(part)[:4], strict=True):
        whole[:, cells] = own
    made.rest[cells] = part.rest


def _turned(f: Any, turned: Carried, X: Sequence[TaylorModel]) -> TaylorModel:
    """E f from models of the coordinates, time last."""
    return turned.factor(-1.0, X[:-1]) * model_at(f, list(X))
