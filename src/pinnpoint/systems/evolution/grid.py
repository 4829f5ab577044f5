"""Time grids: nodes, levels, and what a scheme does on one slab between two nodes.

On a slab of length τ a scheme has m unknown levels after the one it starts from, and m rows

    Σ_c (G_rc M + H_rc K) U_c = unit ∫ f L_r dt,    L_0 = 1, L_1 the Legendre polynomial of degree one on the slab,

for M U′ + K U = f, with c = 0 for the level before the slab; `TimeGrid.unit` is one or six.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Vector, frozen, number, set_fields, vector, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError

SCHEMES = {"cg1": 1, "cg2": 2}
"""Levels in a slab."""
GRADES = ("end", "both", "none")

SOONEST = 1e-12
"""The earliest time that may be asked for, as a share of the end."""


@dataclass(frozen=True, eq=False)
class TimeGrid:
    """0 = t₀ < … < t_N, and a scheme on the slabs between them.

    ``"cg1"`` is Crank–Nicolson with averaged data: continuous and linear in time, tested with constants. ``"cg2"`` is
    continuous and quadratic in time, tested with linear functions; it has a level in the middle of every slab.

    Parameters
    ----------
    nodes
        t₀ = 0 and the ends of the slabs, ascending.
    scheme
        "cg1" or "cg2".
    damped
        So many slabs at the beginning take backward Euler's step, for rough initial values; linear in time there.
    """

    nodes: Vector
    scheme: str = "cg1"
    damped: int = 0
    lengths: Vector = None  # type: ignore[assignment]
    """τ of every slab, the rounded differences of the nodes unless told."""

    __repr__ = brief

    def __post_init__(self) -> None:
        nodes = vector("nodes", self.nodes)
        if nodes.size < 2 or nodes[0] != 0.0 or not np.all(np.diff(nodes) > 0.0):
            raise InputError("nodes: must be times that begin with 0 and ascend, two at least")
        if self.scheme not in SCHEMES:
            raise InputError(f"scheme: must be one of {', '.join(SCHEMES)}; got {self.scheme!r}")
        damped = whole("damped", self.damped)
        if damped > nodes.size - 1:
            raise InputError(f"damped: must be at most {nodes.size - 1}, the number of steps; got {damped}")
        lengths = np.diff(nodes) if self.lengths is None else vector("lengths", self.lengths, nodes.size - 1)
        frozen(nodes, lengths)
        set_fields(self, nodes=nodes, damped=damped, lengths=lengths)

    @classmethod
    def made(
        cls,
        end: float | None,
        steps: int | None,
        nodes: ArrayLike | None = None,
        grade: str = "end",
        scheme: str = "cg1",
        damped: int = 0,
    ) -> TimeGrid:
        """From an end and a number of steps, or from nodes.

        `grade` says where steps are short: at the ``"end"``, T(1 − (1 − i/N)²); at ``"both"`` ends,
        T x²/(x² + (1 − x)²) with x = i/N; or nowhere, ``"none"``.
        """
        if nodes is not None:
            if steps is not None:
                raise InputError("steps, nodes: give at most one of them")
            found = vector("nodes", nodes)
            if end is not None and found.size and found[-1] != number("end", end, above=0.0):
                raise InputError(f"end: must be the last of the nodes, {float(found[-1])!r}; got {end!r}. Leave it out")
            return cls(found, scheme, damped)
        if end is None or steps is None:
            raise InputError("end, steps: are missing; give both, or give nodes")
        T, N = number("end", end, above=0.0), whole("steps", steps, low=1)
        if grade not in GRADES:
            raise InputError(f"grade: must be one of {', '.join(GRADES)}; got {grade!r}")
        x = np.arange(N + 1) / N
        if grade == "end":
            x = 1.0 - (1.0 - x) ** 2
        elif grade == "both":
            x = x**2 / (x**2 + (1.0 - x) ** 2)
        return cls(T * x, scheme, damped)

    @property
    def end(self) -> float:
        """T."""
        return float(self.nodes[-1])

    @property
    def steps(self) -> int:
        """N, the number of slabs."""
        return int(self.nodes.size) - 1

    @property
    def per_slab(self) -> int:
        """m, the unknown levels of a slab."""
        return SCHEMES[self.scheme]

    @cached_property
    def levels(self) -> Vector:
        """The times at which states are kept: the nodes, with "cg2" the middles of the slabs between them."""
        if self.per_slab == 1:
            return self.nodes
        found = self.halved
        frozen(found)
        return found

    @property
    def rows(self) -> int:
        """Equations, as many as unknown levels."""
        return self.steps * self.per_slab

    def own(self, slab: int) -> slice:
        """Numbers of the unknown levels of a slab; the level before them is its start."""
        m = self.per_slab
        return slice(slab * m + 1, slab * m + m + 1)

    @property
    def unit(self) -> float:
        """By which the rows are multiplied: six with "cg2", so that their coefficients are whole multiples of τ."""
        return 6.0 if self.per_slab == 2 else 1.0

    def coefficients(self, slab: int) -> tuple[Vector, Vector]:
        """G and H of a slab, each (m, m + 1), times `unit`; the first column is the level before it."""
        tau, euler = float(self.lengths[slab]), slab < self.damped
        if self.per_slab == 1:  # stepping.md, step 1a
            return np.array([[-1.0, 1.0]]), tau * np.array([[0.0, 1.0] if euler else [0.5, 0.5]])
        G = np.array([[-6.0, 0.0, 6.0], [4.0, -8.0, 4.0]])
        if euler:  # linear in time: the second row says that the level in the middle is the mean of the others
            return G, tau * np.array([[0.0, 0.0, 6.0], [0.0, 0.0, 0.0]])
        return G, tau * np.array([[1.0, 4.0, 1.0], [-1.0, 0.0, 1.0]])

    def matrices(self) -> tuple[Any, Any]:
        """G and H of all slabs, sparse (rows, levels): the block matrix is G ⊗ M + H ⊗ K."""
        m, N = self.per_slab, self.steps
        each = [self.coefficients(slab) for slab in range(N)]
        at = (np.arange(N) * m)[:, None, None]
        rows = np.broadcast_to(at + np.arange(m)[None, :, None], (N, m, m + 1)).ravel()
        columns = np.broadcast_to(at + np.arange(m + 1)[None, None, :], (N, m, m + 1)).ravel()
        shape = (self.rows, self.levels.size)
        found = []
        for k in range(2):
            values = np.stack([pair[k] for pair in each]).ravel()
            found.append(sp.csr_array((values, (rows, columns)), shape=shape))
        return found[0], found[1]

    def slab_of(self, times: ArrayLike) -> Index:
        """The slab that holds each time; a node counts to the slab that it ends."""
        t = np.atleast_1d(np.asarray(times, dtype=np.float64))
        return np.clip(np.searchsorted(self.nodes, t, side="left") - 1, 0, self.steps - 1)

    def at(self, times: ArrayLike) -> Any:
        """Values at times as rows over the levels, sparse (P, levels)."""
        t = np.atleast_1d(np.asarray(times, dtype=np.float64))
        slab, m = self.slab_of(t), self.per_slab
        x = (t - self.nodes[slab]) / self.lengths[slab]
        x = np.where(t == self.nodes[slab], 0.0, np.where(t == self.nodes[slab + 1], 1.0, x))
        if m == 1:
            shapes = np.stack([1.0 - x, x], axis=1)
        else:
            shapes = np.stack([(1.0 - x) * (1.0 - 2.0 * x), 4.0 * x * (1.0 - x), x * (2.0 * x - 1.0)], axis=1)
        columns = slab[:, None] * m + np.arange(m + 1)
        rows = np.repeat(np.arange(t.size), m + 1)
        found = sp.csr_array((shapes.ravel(), (rows, columns.ravel())), shape=(t.size, self.levels.size))
        found.eliminate_zeros()
        return found

    def require_inside(self, time: float | None) -> float:
        """A time of the problem, its end where None is given; the initial time is refused: its values are data."""
        t = self.end if time is None else number("time", time)
        if not SOONEST * self.end <= t <= self.end:
            at_start = "; at the initial time the value is the datum itself" if 0.0 <= t < self.end else ""
            raise InputError(f"time: must be after 0 and at most {self.end!r}, the end; got {t!r}{at_start}")
        return t

    def until(self, time: float) -> TimeGrid:
        """The grid up to a time, whose last slab it may cut."""
        t = self.require_inside(time)
        nodes = np.append(self.nodes[self.nodes < t], t)
        return TimeGrid(nodes, self.scheme, min(self.damped, nodes.size - 1))

    def with_node(self, time: float) -> TimeGrid:
        """The grid with a node at a time, which may cut a slab."""
        nodes = np.unique(np.append(self.nodes, time))
        return TimeGrid(nodes, self.scheme, min(self.damped, nodes.size - 1))

    def mean(self, since: float, time: float) -> Any:
        """The average over the times from one to another as a row over the levels, sparse (1, levels)."""
        inner = self.nodes[(self.nodes > since) & (self.nodes < time)]
        ends = np.concatenate([[since], inner, [time]])
        tau = np.diff(ends)
        rule = np.stack([ends[:-1], 0.5 * (ends[:-1] + ends[1:]), ends[1:]], axis=1).ravel()
        share = (tau[:, None] / tau.sum() * np.array([1.0, 4.0, 1.0]) / 6.0).ravel()  # Simpson's rule: exact here
        return sp.csr_array(sp.csr_array(share[None, :]) @ self.at(rule))

    @property
    def halved(self) -> Vector:
        """The nodes of a grid with every slab cut into halves."""
        found = np.empty(2 * self.steps + 1)
        found[::2], found[1::2] = self.nodes, 0.5 * (self.nodes[:-1] + self.nodes[1:])
        return found

    def reversed(self) -> TimeGrid:
        """The grid of the dual problem, in s = T − t, without damping; its slabs are as long as they were."""
        s = self.end - self.nodes[::-1]
        s[0], s[-1] = 0.0, self.end
        return TimeGrid(s, self.scheme, 0, self.lengths[::-1].copy())
