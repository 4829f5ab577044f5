"""The problem of a bundle in time, and its sweeps: data from the case's formulas, states and fluxes as stored."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import DIRICHLET, NEUMANN, Ball, means, mix, quadratic, total, up
from pinnpoint_verify.constants import stays
from pinnpoint_verify.formulas import plain
from pinnpoint_verify.model_jets import formula
from pinnpoint_verify.own import data_bounds, wanted
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.rows import is_number, same
from pinnpoint_verify.slab_data import NAMES, Datum, Source, initial, moves
from pinnpoint_verify.slab_fluxes import Fluxes, Made, along
from pinnpoint_verify.slab_goals import Averaged, MovingMesh, Pointed, agreed, mismatch
from pinnpoint_verify.slab_lifts import Left, still
from pinnpoint_verify.slab_weights import Weight, over_ball, over_block, over_cells
from pinnpoint_verify.slabs import Given, Sweep, modes_of, states_of

Row = dict[str, Any]
PROBLEM = {"kind", "source", "initial", "diffusion", "reaction", "dirichlet", "neumann", "robin", "end", "scheme"}


class Bundled:
    """The problem of a bundle: mesh, data from the case's formulas, and what is asked."""

    def __init__(self, bundle: Bundle, case: Row, proof: Row, rows: list[Row]) -> None:
        self.bundle, self.proof, self.rows, self.said = bundle, proof, rows, case["problem"]
        odd = sorted((self.said.keys() - {"convection"}) ^ PROBLEM)
        need(not odd, f"case.json: problem.{''.join(odd[:1])} is missing, or not part of a problem in time")
        need(self.said["kind"] == "parabolic", "case.json: no problem in time")
        need(type(proof["degree"]) is int and proof["scheme"] in ("cg1", "cg2"), "proof.json: an unknown scheme")
        need(self.said["scheme"] == proof["scheme"], "proof.json: another scheme than the case's")
        self.mesh = MovingMesh(bundle, proof["degree"])
        self.per_slab = 1 if proof["scheme"] == "cg1" else 2
        self.count = self.per_slab + 2
        self.close = wanted(rows)
        self.told: list[str] = []
        self._coefficients()
        self._convection()
        V, mesh = self.mesh.points[self.mesh.cells], self.mesh
        self.left: Left | None = None
        if "lift" in proof:  # slabs.md, step 8j
            self.left = Left(bundle, proof["lift"], self.said, mesh, mesh.flow)
            need(all(row["kind"] == "point" for row in rows), "lift: followed for points alone")
        self.source = Source(self._pieces(), V, self.count, self.close)
        first = self.said["initial"]
        self.start = initial(first, V, self.close) if self.left is None else self.left.start(V, self.close)
        self.held = [self._facets("d", k) for k in range(len(proof["dirichlet"]))]
        agreed(self.mesh, self.held)
        self._sides()
        self.load = self._load()

    def _sides(self) -> None:
        """Dirichlet data are the case's, group by group; `boundary` is all of it."""
        given = self.said["dirichlet"]
        fits = [_plain(x) for x in given.values()] == self.proof["dirichlet"]
        need(fits, "dirichlet: not that of the case")
        if "boundary" in given:
            free = (self.mesh.neighbour < 0) & (self.mesh.kind != DIRICHLET)
            need(not np.any(free), "dirichlet: 'boundary' is held, and some of its facets are not")
        if given.keys() - {"boundary"}:
            self.told.append("which facets are in the groups of the boundary")

    def _facets(self, letter: str, k: int) -> Array:
        found = self.bundle(f"continuous/{letter}{k}", None, whole=len(self.mesh.facets))
        need(np.all(np.diff(found) > 0), "facets of a group: not in order")
        return found

    def _coefficients(self) -> None:
        for key, values in (("diffusion", self.mesh.kappa), ("reaction", self.mesh.c)):
            given = plain(self.said[key])
            known = [plain(x) for x in given.values()] if isinstance(given, dict) else [given]
            if given is None:
                self.told.append(f"the {key} on each cell")
                continue
            need(all(map(is_number, known)) and np.all(np.isin(values, known)), f"{key}: not that of the case")
            self.told += [f"which cells are in the groups of the {key}"] if isinstance(given, dict) else []

    def _convection(self) -> None:
        """b: numbers, with values given all around, for points and averages over cells (docs/slabs.md, step 8h)."""
        given, mesh = self.said.get("convection"), self.mesh
        if given is None:
            return
        need(isinstance(given, list), "convection: not a number for each coordinate")
        b = [plain(x) for x in given]
        need(len(b) == mesh.d and all(map(is_number, b)), "convection: not a number for each coordinate")
        free = (mesh.neighbour < 0) & (mesh.kind != DIRICHLET)
        need(not np.any(free), "convection: not followed where the boundary is free")
        still = all(row["kind"] != "gaussian" for row in self.rows)
        need(still, "convection: not followed for Gaussian weights")
        mesh.flow = np.array(b, dtype=float)

    def _pieces(self) -> list[tuple[Array, Datum]]:
        given, every = self.proof["source"], np.arange(self.mesh.C)
        if not isinstance(given, list):
            need(same(given, _plain(self.said["source"])), "source: not that of the case")
            return [(every, Datum(given) if self.left is None else self.left.source())]
        table = self.said["source"]
        fits = isinstance(table, dict) and [_plain(x) for x in table.values()] == given
        need(fits, "source: not that of the case")
        region = self.bundle("source/region", self.mesh.C, whole=len(given))
        self.told.append("which cells are in the groups of the source")
        return [(every[region == k], Datum(text)) for k, text in enumerate(given)]

    def _exchanges(self, said: Any, alpha: Any, rows: Array) -> None:
        """α of a group: a number as it is, a formula by its models and bounds (docs/checking.md, step 14d)."""
        own, mesh = self.mesh.exchange, self.mesh
        if is_number(alpha):
            need(own.holds(rows, alpha), "robin: not that of the case")
            return
        need(isinstance(said, str), "robin: not that of the case")
        V, stored = mesh.points[mesh.facets[own.at[rows]]], np.stack([own.high, own.e1, own.e2], axis=1)[rows]
        rest, kept = data_bounds(said, V, own.beta[rows], stored, self.close)
        own.replace(rows, rest)
        bounded = np.all(own.low[rows] > 0.0) and stays(said, V, *(end[rows] for end in own.ends))
        need(bounded and not np.any(kept), "robin: a coefficient that is not proved to lie between its bounds")

    def _load(self) -> Fluxes | None:
        """Fluxes and Robin coefficients, enclosed from the case's formulas."""
        mesh, texts = self.mesh, self.proof["neumann"]
        given = [*self.said["neumann"].values(), *(pair[1] for pair in self.said["robin"].values())]
        need([_plain(x) for x in given] == texts, "neumann: not that of the case")
        alphas = [plain(pair[0]) for pair in self.said["robin"].values()]
        own, at = mesh.exchange, np.zeros(0, dtype=int)
        for k, (alpha, pair) in enumerate(zip(alphas, self.said["robin"].values(), strict=True)):
            if own is None:  # then no group may have a coefficient
                need(alpha == 0.0, "robin: not that of the case")
                continue
            facets = self.bundle(f"robin/r{k}", None, whole=len(mesh.facets))
            if alpha != 0.0:
                at = np.union1d(at, facets)
                need(np.all(np.isin(facets, own.at)), "robin: not that of the case")
                self._exchanges(pair[0], alpha, np.searchsorted(own.at, facets))
        need(np.array_equal(at, np.zeros(0, dtype=int) if own is None else own.at), "robin: not that of the case")
        groups = [self._facets("n", k) for k in range(len(texts))]
        if texts or alphas:
            self.told.append("which facets are in the groups of the boundary")
        parts = [(facets, text) for facets, text in zip(groups, texts, strict=True) if len(facets)]
        found = [] if self.left is not None else [(f, _given(text, mesh.d)) for f, text in parts if text != 0.0]
        if self.left is not None:  # every free facet has what the prediction leaves there
            rest = np.setdiff1d(np.flatnonzero(mesh.kind == NEUMANN), np.concatenate([f for f, _ in parts] or [at]))
            need(not alphas, "lift: beside Robin groups it is not followed")
            for facets, text in [*parts, (rest, 0.0)]:
                found += [(these, self.left.through(text, i, sign)) for these, i, sign in along(mesh, facets)]
        return Fluxes(found, mesh, self.count, self.close) if found else None


def _given(text: Any, d: int) -> Made:
    """A flux of the case."""
    return lambda X: formula(text, still(X), (*NAMES[:d], "t")).v


def _plain(given: Any) -> Any:
    return given.strip() if moves(given) else plain(given)


class Run:
    """Queries of one time: a sweep over the slabs until then."""

    def __init__(self, own: Bundled, r: int, said: Row) -> None:
        self.own, self.r, self.which = own, r, said["queries"]
        B, mesh = own.bundle, own.mesh
        self.nodes = B(f"run{r}/nodes", None)
        N = len(self.nodes) - 1
        fits = N > 0 and self.nodes[0] == 0.0 and np.all(np.diff(self.nodes) > 0.0)
        need(fits, "time: nodes that are not in order from zero")
        self.T = float(self.nodes[-1])
        self.levels = states_of(B, f"run{r}/u", mesh, N, own.per_slab)
        self.carries = bool(np.any(mesh.c) or mesh.exchange is not None)
        self.sweep = Sweep(mesh, self.nodes, self.levels, own.count, len(self.which))
        self.u = self._modes(self.levels)
        self.z = [states_of(B, f"run{r}/z{i}", mesh, N, own.per_slab) for i in self.which]
        held = np.unique(mesh.nodes_of(mesh.facets[mesh.kind == DIRICHLET]))
        need(not any(np.any(z[:, held]) for z in self.z), "dual states: not zero where values are given")
        # quadratics are at most 1.25 times their levels in time, and 2 times their nodes in space
        self.top = float(up(np.abs(self.levels).max(initial=0.0) * 2.5))
        self.goals = [self._goal(i) for i in self.which]

    def _modes(self, levels: Array) -> list[Array]:
        m = self.own.per_slab
        return [modes_of(levels[n * m : (n + 1) * m + 1], self.own.count) for n in range(len(self.nodes) - 1)]

    def _goal(self, i: int) -> Any:
        own, row, goal = self.own, self.own.rows[i], self.own.proof["goals"][i]
        need(row["time"] == self.T, f"{row['name']!r}: another time than that of its sweep")
        if row["kind"] in ("point", "gaussian"):
            return Pointed(goal, row, own.mesh, own.source, self.T, self.top)
        since = row.get("since")
        need(since is None or since in self.nodes[:-1], f"{row['name']!r}: averaged from a time that is no node")
        return Averaged(self._weight(i, row), own.mesh, self.T, since)

    def _weight(self, i: int, row: Row) -> Weight:
        """1/|G| on cells, on a block or on a ball."""
        own = self.own
        if row["kind"] == "average":
            return over_ball(own.mesh, row)
        if "side" in row:
            return over_block(own.mesh, row)
        cells = np.arange(own.mesh.C)
        if row["kind"] == "cells":
            cells = own.bundle(f"goal/cells{i}", None, whole=own.mesh.C)
            need(len(cells) and np.all(np.diff(cells) > 0), f"{row['name']!r}: no cells, or not in order")
            own.told.append(f"which cells are those of {row['name']!r}")
        return over_cells(own.mesh, cells)

    def _sides(self, name: str, n: int) -> tuple[Array | None, Array]:
        own, mesh, K = self.own, self.own.mesh, self.own.count
        N, width = len(self.nodes) - 1, 1 if mesh.degree == 1 else mesh.d
        t = own.bundle(f"run{self.r}/t{name}", N * K, len(mesh.facets), width)[n * K : (n + 1) * K]
        if not self.carries:
            return None, t
        return own.bundle(f"run{self.r}/v{name}", N * K, mesh.size)[n * K : (n + 1) * K], t

    def found(self) -> list[tuple[float, float]]:
        """Centre and radius of every query of the run."""
        own, z = self.own, [self._modes(levels) for levels in self.z]
        tops = 0.0
        for n in range(len(self.nodes) - 1):
            start, end = float(self.nodes[n]), float(self.nodes[n + 1])
            f = own.source.slab(start, end)
            tops = float(np.maximum(tops, f.top.max(initial=0.0)))  # not a number stays one
            duals = []
            for i, goal, modes, tally in zip(self.which, self.goals, z, self.sweep.tallies, strict=True):
                omega = goal.slab(n, start, end, f, tally)
                duals.append(Given(modes[n], *self._sides(str(i), n), omega, -1.0))
            loads, beyond = (None, 0.0) if own.load is None else own.load.slab(start, end)
            through = 0.0 if own.load is None else float(up(own.load.trace * beyond))
            self.sweep.slab(n, Given(self.u[n], *self._sides("", n), f, 1.0, loads, through), duals)
        gap, square, e1 = self._ends(own.start[0], own.start[1], self.u[0], -1.0)
        jumps, missed = self.sweep.jumps(self.u), self._mismatch()
        return [self._one(j, z[j], gap, square, e1, jumps, missed, tops) for j in range(len(self.which))]

    def _ends(self, beta: Array, rest: Array, modes: Array, sign: float) -> tuple[Ball, float, Array]:
        """What a state at an end of a slab leaves of a function, its square in L², and its error in the mean."""
        mesh = self.own.mesh
        gap = Ball(beta)
        for k, v in enumerate(modes):
            if np.any(v):
                gap = gap - sign**k * quadratic(v[mesh.nodes_of(mesh.cells)], mesh.d, mesh.degree)[0]
        own = mix("njk,jklm,nlm->n", gap, means(mesh.d, 4), gap)
        size = np.sqrt(np.maximum(own.top, 0.0) + rest[:, 0] ** 2) + rest[:, 2]
        return gap, total(up(mesh.top * size**2)), rest[:, 1]

    def _against(self, f: Ball, e1: Array, modes: Array, sign: float) -> tuple[Ball, float]:
        """∫ f v_h for the state at an end of a slab."""
        mesh = self.own.mesh
        v = Ball(np.zeros((mesh.C, mesh.d + 1, mesh.d + 1)))
        for k, w in enumerate(modes):
            if np.any(w):
                v = v + sign**k * quadratic(w[mesh.nodes_of(mesh.cells)], mesh.d, mesh.degree)[0]
        value = (mix("njk,jklm,nlm->n", f, means(mesh.d, 4), v) * mesh.volume).total()
        return value, total(up(mesh.top * e1 * v.top.max(axis=(1, 2))))

    def _mismatch(self) -> float:
        own = self.own
        texts = own.proof["dirichlet"]
        gaps = [
            mismatch(text, facets, own.mesh, self.nodes, self.levels, self.u, own.left)
            for text, facets in zip(texts, own.held, strict=True)
            if len(facets)
        ]
        return float(np.max(gaps, initial=0.0))  # not a number stays one, and is refused

    def _one(
        self, j: int, z: list[Array], gap: Ball, square: float, e1: Array, jumps: Array, missed: float, f_top: float
    ) -> tuple[float, float]:
        goal, sweep, mesh = self.goals[j], self.sweep, self.own.mesh
        first, off = self._against(gap, e1, z[0], -1.0)
        dual = sweep.jumps(z)
        beta, rest = goal.final
        _, final, _ = self._ends(beta, rest, z[-1], 1.0)  # slabs.md, step 8g
        if isinstance(goal, Averaged):  # slabs.md, step 8l
            both, wrong = self._against(Ball(beta), rest[:, 1], z[-1], 1.0)
            _, own, _ = self._ends(0.0 * beta, 0.0 * rest, z[-1], 1.0)
            final = smaller(final, float(up(goal.square - 2.0 * (both.m - both.r - wrong) + own + 1e-14 * goal.square)))
        last = self._against(Ball(beta), rest[:, 1], self.u[-1], 1.0)
        start, unresolved, second = self.T, 0.0, 0.0
        if isinstance(goal, Pointed) and goal.start > 0.0:
            start = self.T - goal.start
            unresolved, second = goal.kernel.early(goal.start)
        value, more, radius = sweep.bound(j, (jumps, dual), (square, final), start, second)
        early, wrong = goal.early(f_top)
        size = math.sqrt(total(mesh.top))
        dual_top = 4.0 * float(larger(np.abs(x).max(initial=0.0) for x in z))
        more += off + last[1] + wrong + unresolved * self.top + float(np.sum(jumps)) * size * dual_top
        value = value + first + last[0] + early
        radius = float(up(radius + more + value.r))
        if isinstance(goal, Averaged):  # gradients.md, step 1e
            radius = float(up(radius + 2.0 * goal.scale * (abs(float(value.m)) + radius)))
        if isinstance(goal, Pointed) and goal.kernel.s0 > 0.0:
            need(goal.mass.m > 2.0 * goal.mass.r, "average: its weight has no bound from below")
            found = Ball(value.m, radius) / goal.mass
            return float(found.m), float(up(found.r + missed))
        if self.own.left is not None:  # slabs.md, step 6b
            assert isinstance(goal, Pointed)
            value = value + self.own.left.value(goal.kernel.x0, self.T)
            radius = float(up(radius + value.r))
        return float(value.m), float(up(radius + missed + 8.0 * abs(float(value.m)) * 2.0**-53))
