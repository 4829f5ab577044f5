"""The processes at work for the first one: it asks all of them, does its own share, and puts the answers together.

Everything here is called by the first process alone; the others `serve`. Each cell, patch, query and row is done by one
process, by the code that one machine runs, so a bound differs from that of one machine by the rounding of fluxes and
solves alone, and holds for the numbers that were put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from threading import RLock
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Matrix, Vector
from pinnpoint.distributed.partition import owners
from pinnpoint.distributed.shares import Portion, Share
from pinnpoint.distributed.solver import Solver
from pinnpoint.distributed.team import Team, attempt, refuse
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.simplices import Rows, look
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.estimator import ROWS, Side
from pinnpoint.transfer.helpers import Helpers, OnCells
from pinnpoint.transfer.points.kernelled import Kernelled, completed
from pinnpoint.transfer.points.mollifier import cells_near

TOLERANCE = 1e-10
"""Of one solve; what it leaves is solved for once more."""


class Hand:
    """What one process does when it is asked."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.portion: Portion | None = None
        self.solver: Solver | None = None
        self.jobs: dict[str, Callable[..., Any]] = {
            "settle": self.settle,
            "fluxes": self.fluxes,
            "on_cells": self.on_cells,
            "look": look,
            "complete": self.complete,
            "take_rows": self.take_rows,
            "solve": self.solve,
        }

    def answer(self, job: str, share: tuple[Any, ...]) -> tuple[bool, Any, float]:
        """Whether a job was done, what it made or why it was refused, and its CPU seconds."""
        start = process_time()
        return *attempt(lambda: self.jobs[job](*share)), process_time() - start

    def settle(self, given: dict[str, Any]) -> None:
        """Take a part of a model."""
        self.portion = Portion.of(given)

    def fluxes(self, nodal: Vector, source: Vector, prescribed: Vector | None) -> Vector:
        """Of its own vertices' patches."""
        assert self.portion is not None
        return self.portion.fluxes(nodal, source, prescribed)

    def on_cells(self, sides: Sequence[tuple[Vector, Vector, Vector, float, bool]]) -> OnCells:
        """What sides leave on its own cells."""
        assert self.portion is not None
        made = []
        for nodal, source, flux, sign, acts in sides:
            made.append((Side(nodal, Density(source[:, 3:], *source[:, :3].T), flux), sign, acts))
        return self.portion.estimator.on_cells(made[0][0], made[1:])

    def complete(self, points: Vector, cells: Index, waiting: Sequence[Kernelled]) -> list[Any]:
        """Mollifiers and data terms of some queries, and what they cost."""
        return [(*found, one.spent) for found, one in zip(completed(points, cells, waiting), waiting, strict=True)]

    def take_rows(self, A: Matrix, total: int, motions: Vector, block: int) -> None:
        """Rows of a matrix that is to be solved with."""
        numbers = np.arange(total)
        self.solver = Solver(self.team, A, numbers, total, list(motions), block, TOLERANCE)

    def solve(self, b: Vector) -> Vector:
        """All processes together, column by column."""
        assert self.solver is not None
        return np.stack([self.solver.solve(column) for column in b])


class Crew(Helpers):
    """The hands of all processes, for the first one."""

    def __init__(self, team: Team) -> None:
        self.team, self._hand, self._lock = team, Hand(team), RLock()
        self._model: Continuum | None = None
        self._shares: list[Share] = []
        self.spent: list[list[float]] = []
        """CPU seconds of each process, for every time that all were asked."""

    def ask(self, job: str, shares: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What all processes answer; outputs are written by threads, which take turns here."""
        comm = self.team.comm
        with self._lock:
            for rank in range(1, self.team.size):
                comm.send((job, shares[rank]), dest=rank)
            answers = [self._hand.answer(job, shares[0])]
            answers += [comm.recv(source=rank) for rank in range(1, self.team.size)]
            self.spent.append([seconds for _, _, seconds in answers])
        for ok, value, _ in answers:
            if not ok:
                refuse(value)
        return [value for _, value, _ in answers]

    def release(self) -> None:
        """Nothing more will be asked."""
        for rank in range(1, self.team.size):
            self.team.comm.send((None, ()), dest=rank)

    def _settle(self, model: Continuum) -> None:
        if self._model is not model:
            owner = owners(model.points, self.team.size)
            T, nodes = model.topology, model.cell_nodes
            self._shares = [Share.of(T, nodes, owner, rank) for rank in range(self.team.size)]
            self.ask("settle", [(share.given(model),) for share in self._shares])
            self._model = model

    def fluxes(self, model: Any, nodal: Vector, source: Vector, prescribed: Vector | None) -> Vector:
        """Sums of what the owners of a facet's vertices found."""
        with self._lock:
            self._settle(model)
            parts = self.ask(
                "fluxes",
                [
                    (nodal[:, s.nodes], source[s.cells], None if prescribed is None else prescribed[s.facets])
                    for s in self._shares
                ],
            )
        total = np.zeros((len(model.topology.facets), *parts[0].shape[1:]))
        for share, part in zip(self._shares, parts, strict=True):
            total[share.facets] += part  # continuous.md, step 1d
        return total

    def on_cells(self, primal: Any, duals: Sequence[tuple[Any, float, bool]]) -> OnCells:
        """Every cell by its owner."""
        assert self._model is not None
        sides = [(primal, 1.0, False), *duals]
        asked = []
        for share in self._shares:
            own = share.own_cells
            asked.append(
                (
                    [
                        (side.nodal[share.nodes], _rows(side.source, own), side.flux[share.facets], sign, acts)
                        for side, sign, acts in sides
                    ],
                )
            )
        found, C, K = self.ask("on_cells", asked), len(self._model.kappa), len(duals)
        rows = {name: np.empty((K + 1, C)) for name in ROWS}
        product, values = np.empty((K, C)), np.empty((K, C))
        for share, part in zip(self._shares, found, strict=True):
            own = share.own_cells
            for name in ROWS:
                rows[name][:, own] = part.rows[name]
            product[:, own], values[:, own] = part.product, part.values
        return OnCells(rows, product, values, np.concatenate([part.added for part in found]))

    def look(self, f: Any, vertices: Vector, order: int, limit: Vector, few: int) -> tuple[Rows, Index]:
        """Simplices in parts of equal size."""
        size = self.team.size
        ends = [len(vertices) * k // size for k in range(size + 1)]
        parts = [slice(a, b) for a, b in pairwise(ends)]
        found = self.ask("look", [(f, vertices[part], order, limit[part], few) for part in parts])
        b, h, one, two = (np.concatenate([rows[k] for rows, _ in found]) for k in range(4))
        return (b, h, one, two), np.concatenate([again for _, again in found])

    def completed(
        self, points: Vector, cells: Index, waiting: Sequence[Kernelled]
    ) -> Iterator[tuple[Density, float, float, bool]]:
        """Queries in turn to all processes, each with the cells near its balls."""
        size = self.team.size
        chosen = [list(range(rank, len(waiting), size)) for rank in range(size)]
        cut, shares = [], []
        for numbers in chosen:
            keep = np.zeros(len(cells), dtype=bool)
            for i in numbers:
                keep[cells_near(points, cells, waiting[i].x0, waiting[i].kernel.radius)] = True
            here = np.flatnonzero(keep)
            vertices, local = np.unique(cells[here], return_inverse=True)
            cut.append(here)
            shares.append((points[vertices], local.reshape(-1, cells.shape[1]), [waiting[i] for i in numbers]))
        made: list[Any] = [None] * len(waiting)
        for numbers, here, answers in zip(chosen, cut, self.ask("complete", shares), strict=True):
            for i, (w, value, error, sure, spent) in zip(numbers, answers, strict=True):
                waiting[i].spent.spent, waiting[i].spent.stopped = spent.spent, spent.stopped
                w = Density(w.coefficients, w.high, w.error1, w.error2, here[w.cells], proved=w.proved)
                made[i] = (w, value, error, sure)
        return iter(made)

    def solver(self, A: Matrix, points: Vector | None, modes: Vector | None, block: int) -> CrewSolver:
        """A solver of all processes for a symmetric positive definite matrix."""
        return CrewSolver(self, A, points, modes, block)


class CrewSolver:
    """PETSc over all processes, for the first one's vectors."""

    accurate = False

    def __init__(self, crew: Crew, A: Matrix, points: Vector | None, modes: Vector | None, block: int) -> None:
        self.crew, size, n = crew, crew.team.size, A.shape[0]
        self.name = f"PETSc over {size} processes"
        spots = np.arange(n)[:, None] * 1.0 if points is None else points
        whole = n % block == 0
        nodes = spots[::block] if whole else spots
        owner = np.repeat(owners(nodes, size), block if whole else 1)
        self._order = np.argsort(owner, kind="stable")
        place = np.empty(n, dtype=np.intp)
        place[self._order] = np.arange(n)
        self._ends = np.searchsorted(owner[self._order], np.arange(size + 1))
        B = sp.csr_array(A)[self._order]
        B = sp.csr_array((B.data, place[B.indices], B.indptr), shape=B.shape)
        motions = (np.ones((n, 1)) if modes is None else modes)[self._order].T
        shares = [(B[a:b], n, motions[:, a:b], block if whole else 1) for a, b in self._parts()]
        crew.ask("take_rows", shares)

    def _parts(self) -> list[tuple[int, int]]:
        return list(zip(self._ends[:-1].tolist(), self._ends[1:].tolist(), strict=True))

    def solve(self, b: Vector) -> Vector:
        """Approximate A⁻¹ b, column by column."""
        columns = np.atleast_2d(b.T)[:, self._order]
        found = np.concatenate(self.crew.ask("solve", [(columns[:, a:b],) for a, b in self._parts()]), axis=1)
        out = np.empty_like(found)
        out[:, self._order] = found
        return out.T.reshape(b.shape)

    solve_transposed = solve


def _rows(f: Density, cells: Index) -> Vector:
    """high, error1, error2 and the coefficients of a density on some cells."""
    return np.column_stack([f.high[cells], f.error1[cells], f.error2[cells], f.coefficients[cells]])


def serve(team: Team) -> None:
    """Do what the first process asks until it asks for nothing more."""
    hand = Hand(team)
    while True:
        job, share = team.comm.recv(source=0)
        if job is None:
            return
        team.comm.send(hand.answer(job, share), dest=0)
