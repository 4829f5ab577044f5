"""Families in which every instance has a diffusion coefficient of its own: prepared once, certified by the thousand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Vector, has, number, vector, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.population import CERTIFIED, Instances, Population, joined
from pinnpoint.fem.assembly import StiffnessProduct
from pinnpoint.fem.scalar_queries import ScalarQueries
from pinnpoint.mesh.refine import Refiner
from pinnpoint.rounding.arithmetic import require_round_to_nearest
from pinnpoint.systems.queries import Queries
from pinnpoint.transfer.operators.patched import Patched, prepare_patches
from pinnpoint.transfer.operators.prepared import Enclosures, Prepared, prepare

MANY = 2**18
"""Coefficients that are read at once: few enough for memory to be used again."""
ONE_SOLVE = 12
"""Steps that a plain solve by the same means takes, to an error of about 1e-7."""
MOST = 48
"""Steps after which an instance is not gone on with."""
LESS = 0.95
"""Further steps must make the gap smaller by this factor."""
RANGE = 2.0**-400, 2.0**400
"""Coefficients beyond these could overflow in a sum."""


@dataclass(frozen=True, eq=False)
class OperatorFamily:
    """All problems −∇·(κ∇u) = f that differ from one in κ alone, κ one number on each cell or on each group.

    Parameters
    ----------
    problem
        Gives mesh, source, boundary data; its own diffusion is not used.
    groups
        Names of cell groups that κ is constant on, in the order of a row of `kappas`; None for one number a cell.
    """

    problem: ScalarQueries
    groups: tuple[str, ...] | None = None

    __repr__ = brief

    @classmethod
    def of(cls, problem: Any, diffusion: str | Sequence[str], loads: ArrayLike | None) -> OperatorFamily:
        """Check what was asked for."""
        if loads is not None:
            raise InputError("loads: a family in which κ and the load both change is not supported; make one per load")
        if isinstance(diffusion, str):
            if diffusion != "cells":
                raise InputError(f"diffusion: must be 'cells' or a list of cell groups; got {diffusion!r}")
            return cls(problem)
        groups = tuple(diffusion)
        held = np.zeros(len(problem.mesh.cells), dtype=int)
        for group in groups:
            held[problem.mesh.cells_of(group)] += 1
        if np.any(held != 1):
            cell = int(np.argmax(held != 1))
            raise InputError(f"diffusion: groups must hold every cell once; cell {cell} is in {held[cell]} of them")
        return cls(problem, groups)

    @property
    def width(self) -> int:
        """Numbers in a row of `kappas`."""
        return len(self.problem.mesh.cells) if self.groups is None else len(self.groups)

    @cached_property
    def product(self) -> StiffnessProduct:
        """Stiffness matrices of all instances as one sparse product."""
        nodes: Any = self.problem.nodes
        return StiffnessProduct.of(nodes)

    def matrix(self, kappa: ArrayLike) -> Any:
        """The stiffness matrix of one instance over all nodes, from its row of `kappas`."""
        row = vector("kappa", kappa, self.width, sign="positive")
        return self.product.matrix(self.on_cells(row[None])[0])

    def on_cells(self, kappas: Vector) -> Vector:
        """κ on every cell, (S, C)."""
        if self.groups is None:
            return kappas
        found = np.empty((len(kappas), len(self.problem.mesh.cells)))
        for k, group in enumerate(self.groups):
            found[:, self.problem.mesh.cells_of(group)] = kappas[:, [k]]
        return found

    def prepare(
        self,
        queries: Queries,
        *,
        steps: int | None = None,
        dual_steps: int | None = None,
        tolerance: float | None = None,
        budget: int | str | None = None,
        patches: bool = False,
    ) -> PopulationCertifier:
        """Everything that no κ changes.

        Parameters
        ----------
        queries
            The mean, averages over cells, blocks, balls and Neumann groups.
        steps
            Preconditioned steps for the state and its flux; 3 by default.
        dual_steps
            The same for each query's dual; 1 by default.
        tolerance
            Instead of `steps`: go on with an instance until its `gap` is below, or further steps make it less than 5 %
            smaller.
        budget
            Instead of steps: how often the reference's inverse is applied for an instance, or ``"one solve"`` for as
            often as a plain solve by the same means would.
        patches
            In two dimensions too take fluxes from patches, as is always done in three, not from stream functions:
            narrower by a little for few steps, and far dearer.
        """
        if sum(x is not None for x in (steps, tolerance, budget)) > 1:
            raise InputError("steps, tolerance, budget: are three ways to say the same; give one")
        aim = None if tolerance is None else number("tolerance", tolerance, above=0.0)
        made = _prepared(self, queries, patches=patches)
        chosen = (
            3 if steps is None else whole("steps", steps),
            1 if dual_steps is None else whole("dual_steps", dual_steps),
        )
        if budget is not None:
            chosen = _afforded(budget, len(made.with_duals))
        notes = (
            "κ is one number on each cell, as stored, and the domain the one that the mesh covers",
            "predictions are piecewise linear with the problem's Dirichlet values on the boundary",
        )
        return PopulationCertifier(self, queries, chosen[0], chosen[1], aim, made, notes)


def _afforded(budget: int | str, duals: int) -> tuple[int, int]:
    """Steps and dual steps for so many applications of the reference's inverse."""
    if isinstance(budget, str) and budget != "one solve":
        raise InputError(f"budget: must be a whole number or 'one solve'; got {budget!r}")
    total = ONE_SOLVE if isinstance(budget, str) else whole("budget", budget, low=2)
    for steps in (3, 2, 1):
        left = total - 2 * steps
        if left >= 2 * duals or steps == 1:
            return (steps if duals else total // 2), max(0, left // (2 * duals)) if duals else 0
    raise AssertionError


def _prepared(family: OperatorFamily, queries: Queries, *, patches: bool = False) -> Prepared | Patched:
    """The reference κ = 1 with loads and fluxes, or a refusal."""
    problem: Any = family.problem
    mesh = problem.mesh
    if mesh.dim == 1:
        raise InputError("operators: families need two or three dimensions; on intervals certify one by one")
    if problem.degree != 1:
        raise InputError("operators: linear elements only; say degree=1")
    if problem.reaction is not None or problem.reaction_varies:
        raise InputError("operators: a reaction ties fluxes to the state; families have none. Certify one by one")
    refused = {"convection": problem.given.get("convection"), "robin": problem.sides, "periodic": problem.loops}
    for name, given in refused.items():
        if given is not None:
            # operators.md, step 6a
            raise InputError(f"operators: families of diffusion coefficients have no {name}; certify one by one")
    if queries.L.shape[1] != len(mesh.points):
        raise InputError("queries: belong to another mesh; make them from the family's problem")
    given = problem.given
    plain = type(problem)(
        mesh, given["source"], 1.0, 0.0, given["dirichlet"], given["neumann"], quadrature=problem.quadrature
    )
    T = plain.topology
    model = plain.continuum(T)
    values = np.zeros(len(mesh.points))
    free = plain.space.free
    held = np.setdiff1d(np.arange(len(values)), free) if free is not None else np.zeros(0, dtype=np.intp)
    values[held] = plain.space.U0[held]
    mismatch, _ = model.mismatch(values)
    if mismatch != 0.0:
        raise InputError(
            f"operators: Dirichlet data must be numbers that the elements meet exactly; they miss by {mismatch:.3e}"
        )
    groups = partial(T.numbers_of_group, mesh)
    made = prepare if mesh.dim == 2 and not patches else prepare_patches
    found = made(model, values, queries.goals, queries.names, groups, problem.cell_numbers)
    if not found.proved:
        raise InputError(
            "source: the bounds of families need numbers or formulas; it is a function nothing is known of"
        )
    return found


@dataclass(frozen=True, eq=False)
class PopulationCertifier:
    """What no κ changes, for one family and its queries.

    *Guarantee:* deterministic, rounding covered ([operators](operators.md)). *Assumes:* nothing; where the source is an
    opaque function it is refused. *Cost:* per instance `steps` times two, and `dual_steps` times two for each query
    but the mean, applications of the reference's inverse: sine and cosine transforms on lattices of squares (with the
    extra ``fast``), substitutions elsewhere.
    """

    family: OperatorFamily
    queries: Queries
    steps: int
    dual_steps: int
    tolerance: float | None
    prepared: Prepared | Patched
    notes: tuple[str, ...] = ()

    __repr__ = brief

    def certify_many(self, kappas: Any, predictions: Any, streams: Any = None) -> Population:
        """Certify S instances.

        Parameters
        ----------
        kappas
            κ > 0, (S, cells) or (S, groups): an array, memory-mapped, zarr, or any sequence of rows; or a generator.
        predictions
            Values at the nodes, (S, nodes).
        streams
            Values at the nodes of predicted stream functions ψ, (S, nodes): steps for the flux begin with that of the
            reference plus curl ψ = (∂_y ψ, −∂_x ψ).
        """
        given = (kappas, predictions) if streams is None else (kappas, predictions, streams)
        parts = list(self.certify_chunks(zip(*given, strict=True)))
        if not parts:
            raise InputError("kappas: are none; give at least one row")
        whole_ = joined(parts)
        sized = all(has(x, "__len__", "__getitem__") for x in given)
        return replace(whole_, instances=Instances(*given) if sized else None)

    def certify_chunks(
        self, instances: Iterable[Sequence[Any]], chunk: int | None = None, first: int = 0
    ) -> Iterator[Population]:
        """Certify a stream of (κ, prediction) or (κ, prediction, ψ), `chunk` instances at a time."""
        require_round_to_nearest()
        chunk = max(4, MANY // len(self.family.problem.mesh.cells)) if chunk is None else whole("chunk", chunk, low=1)
        rows: list[Sequence[Any]] = []
        for row in instances:
            rows.append(row)
            if len(rows) == chunk:
                yield self._population(rows, first)
                first, rows = first + len(rows), []
        if rows:
            yield self._population(rows, first)

    def refine(self, population: Population, rows: ArrayLike, *, meshes: int = 1) -> Population:
        """Certify some rows of a population again: with more steps, and on meshes up to `meshes` times twice as fine.

        `rows` are numbers of rows, as ``population.undecided(0.02)`` gives them. Every row of what comes out is the
        better one of what was tried; `number` says which instance it is.
        """
        given = population.instances
        if given is None:
            raise InputError("population: its coefficients came from a generator and are gone; give arrays")
        which = np.asarray(rows, dtype=np.intp).ravel()
        if not len(which):
            raise InputError("rows: are none; there is nothing to refine")
        some = given.only(which)
        finest, best = self, replace(self, tolerance=1e-300)._again(some)
        for _ in range(meshes):
            finest, some = finest._finer(some)
            best = _better(best, replace(finest, tolerance=1e-300)._again(some))
        return replace(best, number=population.number[which], instances=given.only(which))

    def _again(self, some: Instances) -> Population:
        return self.certify_many(*(x for x in (some.kappas, some.predictions, some.streams) if x is not None))

    def _finer(self, some: Instances) -> tuple[PopulationCertifier, Instances]:
        """The family on a mesh twice as fine, and its instances there."""
        problem: Any = self.family.problem
        refiner = Refiner(problem.mesh)
        refiner.uniform()
        finer = problem.refined(refiner.mesh, refiner.parents)
        family = OperatorFamily(finer, self.family.groups)
        asked = finer.ask(self.queries.goals, self.queries.names)
        made = replace(self, family=family, queries=asked, prepared=_prepared(family, asked))
        kappas = some.kappas
        if self.family.groups is None:
            kappas = [np.asarray(k, dtype=np.float64)[refiner.parents] for k in kappas]
        predictions = [refiner.prolong(np.asarray(u, dtype=np.float64)) for u in some.predictions]
        return made, Instances(kappas, predictions)

    def _population(self, rows: Sequence[Sequence[Any]], first: int) -> Population:
        """Of some rows at once."""
        S, N = len(rows), len(self.family.problem.mesh.points)
        kappas, states = np.empty((S, self.family.width)), np.empty((S, N))
        streams = np.zeros((S, N)) if any(len(row) > 2 for row in rows) else None
        status = []
        for i, row in enumerate(rows):
            wanted = [("kappa", row[0], kappas[i]), ("prediction", row[1], states[i])]
            if streams is not None and len(row) > 2:
                wanted.append(("stream", row[2], streams[i]))
            status.append(_read(wanted))
            if status[i] != CERTIFIED:
                kappas[i], states[i] = 1.0, 0.0
        for name, read in (("kappa", kappas), ("prediction", states), ("stream", streams)):
            _judge(name, read, status)
        ends = kappas.min(axis=1), kappas.max(axis=1)
        overwritten = self._admissible(states)
        values = np.asarray((self.queries.L @ states.T).T + self.queries.constants)
        cells = self.family.on_cells(kappas)
        good = np.flatnonzero([s == CERTIFIED for s in status])
        taken = slice(None) if len(good) == S else good
        found, steps = self._enclosed(cells[taken], states[taken], None if streams is None else streams[taken])
        return self._put_together(found, steps, good, status, first, values, overwritten, ends[1] / ends[0])

    def _admissible(self, states: Vector) -> Vector:
        """Set the Dirichlet values; the largest differences."""
        space: Any = self.family.problem.space
        held, values = space.fixed, space.U0[space.fixed]
        away = np.abs(states[:, held] - values).max(axis=1, initial=0.0)
        states[:, held] = values  # operators.md, step 4b
        return np.asarray(away)

    def _enclosed(self, kappas: Vector, states: Vector, streams: Vector | None) -> tuple[Enclosures | None, Index]:
        """Proved numbers, and how many steps they took."""
        if not len(kappas):
            return None, np.zeros(0, dtype=np.intp)
        if self.tolerance is None:
            return self._at(kappas, states, streams, self.steps), np.full(len(kappas), self.steps)
        best = self._at(kappas, states, streams, 2)
        steps, going, count = np.full(len(kappas), 2), best.gap > self.tolerance, 2
        while going.any() and count < MOST:
            count = count + 1 if count < 4 else 2 * count - count // 2
            rows = np.flatnonzero(going)
            now = self._at(kappas[rows], states[rows], None if streams is None else streams[rows], count)
            less, smaller = now.gap < LESS * best.gap[rows], now.gap < best.gap[rows]
            took = rows[smaller]
            for name, kept in vars(best).items():
                kept[took] = vars(now)[name][smaller]
            steps[took] = count
            going[rows] = less & (now.gap > self.tolerance)
        return best, steps

    def _at(self, kappas: Vector, states: Vector, streams: Vector | None, steps: int) -> Enclosures:
        return self.prepared.enclose(kappas, states, streams, steps, self.dual_steps + max(0, steps - self.steps))

    def _put_together(
        self,
        found: Enclosures | None,
        steps: Index,
        good: Index,
        status: list[str],
        first: int,
        values: Vector,
        overwritten: Vector,
        contrast: Vector,
    ) -> Population:
        S, Q = values.shape
        kept: dict[str, Any] = {name: np.full(S, math.inf) for name in ("error", "energy", "norm", "gap")}
        kept |= {name: np.zeros(S) for name in ("lower", "energy_lower", "norm_lower")}
        kept |= {"center": np.zeros((S, Q)), "radius": np.full((S, Q), math.inf)}
        taken = np.zeros(S, dtype=np.intp)
        if found is not None:
            taken[good] = steps
            for name, into in kept.items():
                into[good] = vars(found)[name]
        lost = ~np.isfinite(kept["gap"])
        for i in np.flatnonzero(lost):
            if status[i] == CERTIFIED:
                status[i] = "the steps left the range of floating-point numbers, so nothing is proved; rescale κ"
        return Population(
            self.queries.names,
            np.arange(first, first + S),
            **kept,
            value=values,
            overwritten=overwritten,
            steps=taken,
            contrast=contrast,
            status=tuple(status),
            notes=self.notes,
        )


def _read(wanted: Sequence[tuple[str, Any, Vector]]) -> str:
    """Copy rows to where they belong, or say why not."""
    for name, given, into in wanted:
        try:
            row = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            return f"{name}: does not hold real numbers"
        if row.size != into.size:
            return f"{name}: must have {into.size} entries; it has {row.size}"
        into[:] = row.reshape(-1)
    return CERTIFIED


def _judge(name: str, read: Vector | None, status: list[str]) -> None:
    """Say of every row what is wrong with its numbers, and put harmless ones in their place."""
    if read is None:
        return
    low, high = read.min(axis=1), read.max(axis=1)
    least = RANGE[0] if name == "kappa" else -RANGE[1]
    for i in np.flatnonzero(~((low >= least) & (high <= RANGE[1]))):  # NaN is neither
        if status[i] == CERTIFIED and not np.all(np.isfinite(read[i])):
            status[i] = f"{name}: holds NaN or infinity"
        elif status[i] == CERTIFIED:
            must = "be > 0 and of moderate size" if name == "kappa" else "be of moderate size"
            status[i] = f"{name}: must {must}; it lies between {low[i]:.3e} and {high[i]:.3e}"
        read[i] = 1.0


def _better(one: Population, two: Population) -> Population:
    """Row by row and query by query the narrower of two proofs of the same instances."""
    kept: dict[str, Any] = {}
    for name in ("error", "energy", "norm", "gap"):
        kept[name] = np.minimum(vars(one)[name], vars(two)[name])
    for name in ("lower", "energy_lower", "norm_lower"):
        kept[name] = np.maximum(vars(one)[name], vars(two)[name])
    narrower = two.radius < one.radius
    kept["center"] = np.where(narrower, two.center, one.center)
    kept["radius"] = np.where(narrower, two.radius, one.radius)
    kept["steps"] = np.maximum(one.steps, two.steps)
    return replace(one, **kept)
