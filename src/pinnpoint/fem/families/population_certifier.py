"""Populations certified: many instances of one family, read in chunks, bad ones as rows with their reason."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Vector, has, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.population import CERTIFIED, LOWER, UPPER, Instances, Population, joined
from pinnpoint.fem.families.cellwise import Cellwise
from pinnpoint.fem.families.diffusion_families import DiffusionFamily, prepared
from pinnpoint.fem.families.operator_witness import witness_of
from pinnpoint.mesh.refine import Refiner
from pinnpoint.rounding.arithmetic import require_round_to_nearest
from pinnpoint.systems.queries import Queries
from pinnpoint.transfer.operators.loaded import Loaded
from pinnpoint.transfer.operators.patched import Patched
from pinnpoint.transfer.operators.prepared import Enclosures, Prepared
from pinnpoint.transfer.operators.witness import Witness

MANY = 2**18
"""Coefficients that are read at once: few enough for memory to be used again."""
MOST = 48
"""Steps after which an instance is not gone on with."""
LESS = 0.95
"""Further steps must make the gap smaller by this factor."""
RANGE = 2.0**-400, 2.0**400
"""Coefficients beyond these could overflow in a sum."""

NOTHING = (
    "the steps left the range of floating-point numbers, or κ has a contrast beyond their digits, so nothing is "
    "proved; rescale κ"
)


@dataclass(frozen=True, eq=False)
class PopulationCertifier:
    """What no κ changes, for one family and its queries.

    *Guarantee:* deterministic, rounding covered ([operators](operators.md)). *Assumes:* nothing; where the source is an
    opaque function it is refused. *Cost:* per instance `steps` times two, and `dual_steps` times two for each query
    but the mean, applications of the reference's inverse: sine and cosine transforms on lattices of squares (with the
    extra ``fast``), substitutions elsewhere.
    """

    family: DiffusionFamily
    queries: Queries
    steps: int
    dual_steps: int
    tolerance: float | None
    prepared: Prepared | Patched | Loaded | Cellwise
    notes: tuple[str, ...] = ()

    __repr__ = brief

    def certify_many(self, kappas: Any, predictions: Any, streams: Any = None, *, mu: Any = None) -> Population:
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
        mu
            Of families with loads: their multiples, (S, loads).
        """
        further = {name: rows for name, rows in (("streams", streams), ("mu", mu)) if rows is not None}
        given = {"kappas": kappas, "predictions": predictions} | further
        if ("mu" in given) != bool(self.family.loads):
            need = "must be given, a multiple of each load" if self.family.loads else "the family has no loads"
            raise InputError(f"mu: {need}; say operators(loads=[...]) and certify_many(kappas, predictions, mu=...)")
        if streams is not None and isinstance(self.prepared, Patched | Cellwise):
            how = "target='discrete'" if isinstance(self.prepared, Cellwise) else "patches"
            raise InputError(f"streams: stream functions have no place with {how}; leave them out")
        for name, rows in given.items():
            if not (isinstance(rows, Iterable) or has(rows, "__getitem__")):
                raise InputError(f"{name}: must be rows, one an instance; got {type(rows).__name__}")
        sizes = {len(rows) for rows in given.values() if isinstance(rows, Sized)}
        if len(sizes) > 1:
            raise InputError(f"kappas, predictions: must have a row each for every instance; got {sorted(sizes)} rows")
        rows_of: Iterable[tuple[Any, ...]] = _side_by_side(given)
        if mu is not None:
            rows_of = ((row[0], row[1], None if streams is None else row[2], row[-1]) for row in rows_of)
        parts = list(self.certify_chunks(rows_of))
        if not parts:
            raise InputError("kappas: are none; give at least one row")
        whole_ = joined(parts)
        sized = all(has(x, "__len__", "__getitem__") for x in given.values())
        return replace(whole_, instances=Instances(kappas, predictions, streams, mu) if sized else None)

    def certify_chunks(
        self, instances: Iterable[Sequence[Any]], chunk: int | None = None, first: int = 0
    ) -> Iterator[Population]:
        """Certify a stream of (κ, prediction), (κ, prediction, ψ), or (κ, prediction, ψ or None, μ), chunk by chunk."""
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

    def witness(self, kappa: ArrayLike, prediction: ArrayLike) -> Witness:
        """States, fluxes and claims of one instance, which ``pinnpoint_verify`` proves again without this package.

        For flagged and sampled instances; in two dimensions, with a source that is one number on each cell, u = 0 on
        the whole boundary, and averages over cells or the mean.
        """
        if isinstance(self.prepared, Cellwise):
            raise InputError("witness: holds fluxes, which target='discrete' does not have; leave it out")
        if self.family.loads:
            raise InputError("witness: is for one load; make a family of the instance's own")
        return witness_of(self.family, self.queries, (self.steps, self.dual_steps), kappa, prediction)

    def refine(self, population: Population, rows: ArrayLike, *, meshes: int = 1) -> Population:
        """Certify some rows of a population again: with more steps, and on meshes up to `meshes` times twice as fine.

        `rows` are numbers of rows, as ``population.undecided(0.02)`` gives them. Every row of what comes out is the
        better one of what was tried; `number` says which instance it is. The discrete target is one of this mesh, so
        that it has more steps alone.
        """
        given = population.instances
        if given is None:
            raise InputError("population: its coefficients came from a generator and are gone; give arrays")
        meshes, asked = whole("meshes", meshes), np.asarray(rows).ravel()
        if asked.size and asked.dtype.kind not in "iub":
            raise InputError(f"rows: must be whole numbers or a mask; got {asked.tolist()[:8]}")
        if asked.dtype == bool and len(asked) != len(population):
            raise InputError(f"rows: a mask must have {len(population)} entries; got {len(asked)}")
        which = np.flatnonzero(asked) if asked.dtype == bool else asked.astype(np.intp)
        if not len(which):
            raise InputError("rows: are none; there is nothing to refine")
        if which.min() < 0 or which.max() >= len(population):
            raise InputError(f"rows: must be numbers from 0 to {len(population) - 1}; got {which.tolist()[:8]}")
        some = given.only(which)
        finest, best = self, replace(self, tolerance=1e-300)._again(some)
        for _ in range(0 if isinstance(self.prepared, Cellwise) else meshes):
            finest, some = finest._finer(some)
            best = _better(best, replace(finest, tolerance=1e-300)._again(some))
        return replace(best, number=population.number[which], instances=given.only(which))

    def _again(self, some: Instances) -> Population:
        return self.certify_many(some.kappas, some.predictions, some.streams, mu=some.mu)

    def _finer(self, some: Instances) -> tuple[PopulationCertifier, Instances]:
        """The family on a mesh twice as fine, and its instances there."""
        problem: Any = self.family.problem
        refiner = Refiner(problem.mesh)
        refiner.uniform()
        finer = problem.refined(refiner.mesh, refiner.parents)
        family = replace(self.family, problem=finer)
        asked = finer.ask(self.queries.goals, self.queries.names)
        made = replace(
            self,
            family=family,
            queries=asked,
            prepared=prepared(family, asked, patches=isinstance(self.prepared, Patched)),
        )
        kappas = some.kappas
        if self.family.groups is None:
            kappas = [np.asarray(k, dtype=np.float64)[refiner.parents] for k in kappas]
        predictions = [refiner.prolong(np.asarray(u, dtype=np.float64)) for u in some.predictions]
        return made, Instances(kappas, predictions, None, some.mu)

    def _population(self, rows: Sequence[Sequence[Any]], first: int) -> Population:
        """Of some rows at once."""
        S, N = len(rows), len(self.family.problem.mesh.points)
        kappas, states = np.empty((S, self.family.width)), np.empty((S, N))
        streams = np.zeros((S, N)) if any(len(row) > 2 and row[2] is not None for row in rows) else None
        mu = np.zeros((S, len(self.family.loads))) if self.family.loads else None
        status = []
        for i, row in enumerate(rows):
            wanted = [("kappa", row[0], kappas[i]), ("prediction", row[1], states[i])]
            if streams is not None and len(row) > 2 and row[2] is not None:
                wanted.append(("stream", row[2], streams[i]))
            if mu is not None:
                wanted.append(("mu", row[3] if len(row) > 3 else (), mu[i]))
            status.append(_read(wanted))
            if status[i] != CERTIFIED:
                kappas[i], states[i] = 1.0, 0.0
        for name, read in (("kappa", kappas), ("prediction", states), ("stream", streams), ("mu", mu)):
            _judge(name, read, status)
        ends = kappas.min(axis=1), kappas.max(axis=1)
        overwritten = self._admissible(states)
        values = np.asarray((self.queries.L @ states.T).T + self.queries.constants)
        cells = self.family.on_cells(kappas)
        good = np.flatnonzero([s == CERTIFIED for s in status])
        taken = slice(None) if len(good) == S else good
        more = (None if x is None else x[taken] for x in (streams, mu))
        found, steps = self._enclosed(cells[taken], states[taken], *more)
        return self._put_together(found, steps, good, status, first, values, overwritten, ends[1] / ends[0])

    def _admissible(self, states: Vector) -> Vector:
        """Set the Dirichlet values; the largest differences."""
        space: Any = self.family.problem.space
        held, values = space.fixed, space.U0[space.fixed]
        away = np.abs(states[:, held] - values).max(axis=1, initial=0.0)
        states[:, held] = values  # operators.md, step 4b
        return np.asarray(away)

    def _enclosed(
        self, kappas: Vector, states: Vector, streams: Vector | None, mu: Vector | None
    ) -> tuple[Enclosures | None, Index]:
        """Proved numbers, and how many steps they took."""
        if not len(kappas):
            return None, np.zeros(0, dtype=np.intp)
        if self.tolerance is None:
            return self._at(kappas, states, streams, mu, self.steps), np.full(len(kappas), self.steps)
        best = self._at(kappas, states, streams, mu, 2)
        steps, going, count = np.full(len(kappas), 2), best.gap > self.tolerance, 2
        while going.any() and count < MOST:
            count = count + 1 if count < 4 else 2 * count - count // 2
            rows = np.flatnonzero(going)
            psi, many = (None if x is None else x[rows] for x in (streams, mu))
            now = self._at(kappas[rows], states[rows], psi, many, count)
            less, smaller = now.gap < LESS * best.gap[rows], now.gap < best.gap[rows]
            took = rows[smaller]
            for name, kept in vars(best).items():
                kept[took] = vars(now)[name][smaller]
            steps[took] = count
            going[rows] = less & (now.gap > self.tolerance)
        return best, steps

    def _at(self, kappas: Vector, states: Vector, streams: Vector | None, mu: Vector | None, steps: int) -> Enclosures:
        more = self.dual_steps + max(0, steps - self.steps)
        return self.prepared.enclose(kappas, states, streams, steps, more, mu)

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
        kept: dict[str, Any] = {name: np.full(S, math.inf) for name in UPPER}
        kept |= {name: np.zeros(S) for name in LOWER}
        kept |= {"center": np.zeros((S, Q)), "radius": np.full((S, Q), math.inf)}
        taken = np.zeros(S, dtype=np.intp)
        if found is not None:
            taken[good] = steps
            for name, into in kept.items():
                into[good] = vars(found)[name]
        lost = ~np.isfinite(kept["energy"])
        for i in np.flatnonzero(lost):
            if status[i] == CERTIFIED:
                status[i] = NOTHING
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
            target="discrete" if isinstance(self.prepared, Cellwise) else "continuous",
        )


def _side_by_side(given: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """A row of each at a time; generators, too, must end together."""
    gone = object()
    for i, row in enumerate(zip_longest(*given.values(), fillvalue=gone)):
        short = [name for name, part in zip(given, row, strict=True) if part is gone]
        if short:
            raise InputError(f"{', '.join(given)}: must have a row each for every instance; {short[0]} ends after {i}")
        yield row


def _read(wanted: Sequence[tuple[str, Any, Vector]]) -> str:
    """Copy rows to where they belong, or say why not."""
    for name, given, into in wanted:
        try:
            if np.iscomplexobj(given):
                return f"{name}: does not hold real numbers"
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
    for name in UPPER:
        kept[name] = np.minimum(vars(one)[name], vars(two)[name])
    for name in LOWER:
        kept[name] = np.maximum(vars(one)[name], vars(two)[name])
    narrower = two.radius < one.radius
    kept["center"] = np.where(narrower, two.center, one.center)
    kept["radius"] = np.where(narrower, two.radius, one.radius)
    kept["steps"] = np.maximum(one.steps, two.steps)
    return replace(one, **kept)
