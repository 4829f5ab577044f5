"""Populations of any size as campaigns: chunks of instances are the unit of work, one row of the table an instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pinnpoint.base.arrays import Vector, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import PathLike
from pinnpoint.campaigns.records import Record, of_files, of_function, of_rows, require_same, told
from pinnpoint.campaigns.runner import Summary, run
from pinnpoint.campaigns.tasks import Row
from pinnpoint.fem.data.grids import GridMap
from pinnpoint.fem.families.population_certifier import PopulationCertifier
from pinnpoint.io.stores import open_rows

CHUNK = 256
"""Instances of a chunk."""
Make = Callable[..., PopulationCertifier]


@runtime_checkable
class Source(Protocol):
    """Instances that workers read or make themselves, a chunk at a time.

    Its ``repr`` must tell one source from another, a network from one trained further too: a table is gone on with only
    for the same.
    """

    def __len__(self) -> int:
        """How many there are."""

    def rows(self, start: int, stop: int, certifier: PopulationCertifier) -> list[tuple[Any, ...]]:
        """Some of them, (κ, prediction) or (κ, prediction, ψ), as the certifier takes them; the same at every call."""


@dataclass(frozen=True)
class Stored:
    """Instances in files that every worker can read: memory-mapped ``.npy``, HDF5 or zarr.

    Parameters
    ----------
    kappas, predictions, streams
        Paths: κ on cells or groups (S, …) or on pictures (S, n_x, n_y), values at the nodes (S, nodes) or on pictures,
        and stream functions, where there are any.
    grid, at
        What κ and predictions on pictures mean, as in `fem.from_grid` and `fem.on_nodes`; None where they are given
        for cells and nodes.
    names
        Of the three arrays, in files that hold several.
    """

    kappas: str
    predictions: str
    streams: str | None = None
    grid: str | None = None
    at: str | None = None
    names: tuple[str | None, ...] = (None, None, None)

    __repr__ = brief

    def __len__(self) -> int:
        counts = {int(a.shape[0]) for a in self._opened() if a is not None}
        if len(counts) != 1:
            raise InputError(f"stored: the arrays must have one row an instance; they have {sorted(counts)}")
        return counts.pop()

    def record(self) -> Record:
        """What tells this source from others: what is in the files, and how it is read."""
        paths = (self.kappas, self.predictions, self.streams)
        digests = ["none" if p is None else of_files(p) for p in paths]
        return dict(zip(("κ", "predictions", "stream functions"), digests, strict=True)) | {
            "reading": told((self.grid, self.at, self.names))
        }

    def _opened(self) -> list[Any]:
        paths = (self.kappas, self.predictions, self.streams)
        return [None if p is None else open_rows(p, n) for p, n in zip(paths, self.names, strict=True)]

    def rows(self, start: int, stop: int, certifier: PopulationCertifier) -> list[tuple[Any, ...]]:
        """Some instances as the certifier takes them; nothing else is read."""
        K, U, psi = (None if a is None else np.asarray(a[start:stop]) for a in self._opened())
        assert K is not None
        assert U is not None
        mesh = certifier.family.problem.mesh
        if self.grid is not None:
            K = _mapped(GridMap.of_cells(mesh, K.shape[1:], self.grid), K)
        if self.at is not None:
            U = _mapped(GridMap.of_nodes(mesh, U.shape[1:], self.at), U)
        return list(zip(K, U, strict=True) if psi is None else zip(K, U, psi, strict=True))


def _mapped(onto: GridMap, pictures: Any) -> Vector:
    return onto(np.asarray(pictures, dtype=np.float64))


def run_population(
    make: Make,
    source: Source | Iterable[tuple[Any, ...]],
    out: PathLike,
    executor: Executor | Callable[[], Executor] | None = None,
    *,
    arguments: tuple[Any, ...] = (),
    chunk: int = CHUNK,
    **options: Any,
) -> Summary:
    """Certify a population over any executor, into one row an instance; run it again to go on after a kill.

    Parameters
    ----------
    make
        A function that workers can import and that prepares the certifier, called once in each with `arguments`.
    source
        `Stored`, of which each worker reads its own chunks, or anything else that has a length and `rows`, such as one
        that draws coefficients and calls a network; or any iterable, a generator too, of (κ, prediction) or
        (κ, prediction, ψ), which are sent to the workers. A generator must give the same instances in the same order
        when it is run again.
    out, executor, options
        As in `run`; a chunk is an instance there. Beside the table stands what it is of, ``….of.json``: chunk, count,
        the text of `make`, `arguments`, and a digest of the files or the ``repr`` of the source. A table of anything
        else, or one without it, is not gone on with. Of generators every chunk is compared when it is skipped.

    *Guarantee:* that of `run`: every chunk is in the table whole and once, or in ``Summary.failed``, or not yet done.
    Bad instances are rows with their reason.
    """
    if not callable(make):
        raise InputError(f"make: must be a function that prepares a certifier; got {type(make).__name__}")
    chunk = whole("chunk", chunk, low=1)
    record: Record = {"chunk": chunk, "make": of_function(make), "arguments": [told(a) for a in arguments]}
    task = partial(certify_chunk, make, arguments)
    if not isinstance(source, Source):
        done = require_same(out, record | {"source": "instances that were sent"})
        return run(task, _sent(iter(source), chunk, done), out, executor, **options)
    record["count of instances"] = len(source)
    require_same(out, record | (source.record() if isinstance(source, Stored) else {"source": told(source)}))
    return run(task, _stored(source, chunk), out, executor, **options)


def _stored(source: Source, chunk: int) -> Iterator[tuple[str, Any]]:
    count = len(source)
    for start in range(0, count, chunk):
        yield f"{start:012d}", (start, source, min(start + chunk, count))


def _sent(instances: Iterator[tuple[Any, ...]], chunk: int, done: set[str]) -> Iterator[tuple[str, Any]]:
    """Chunks by their number and digest, so that others than those in the table are noticed."""
    start, known = 0, {int(name.partition("-")[0]): name for name in done}
    while rows := list(islice(instances, chunk)):
        name = f"{start:012d}-{of_rows(rows)}"
        if known.get(start, name) != name:
            raise InputError(
                f"source: instances {start} to {start + len(rows) - 1} are not those that the table has under these "
                "numbers; give the same ones in the same order, or choose another table"
            )
        yield name, (start, rows, start + len(rows))
        start += len(rows)
    if known and max(known) >= start:
        raise InputError(
            f"source: has {start} instances, and the table holds some from {max(known)} on; give all that it was "
            "begun with, or choose another table"
        )


@lru_cache(2)
def _prepared(make: Make, arguments: tuple[Any, ...]) -> PopulationCertifier:
    """Once in each worker."""
    return make(*arguments)


def certify_chunk(make: Make, arguments: tuple[Any, ...], job: tuple[int, Any, int]) -> list[Row]:
    """The task: rows of one chunk."""
    start, source, stop = job
    certifier = _prepared(make, arguments)
    rows = source.rows(start, stop, certifier) if isinstance(source, Source) else source
    return [row for part in certifier.certify_chunks(rows, chunk=max(1, len(rows)), first=start) for row in part.rows()]
