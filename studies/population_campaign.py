"""A campaign over a population that is killed again and again: none lost, none doubled. Needs `dask`, `parquet`.

    python studies/population_campaign.py OUT [--count 100000] [--cells 64] [--kills 4] [--quick]

Darcy fields of 3 and 12 on 64 × 64 squares, drawn by the workers from the chunk's number; predictions are those of a
homogeneous medium, u₁/κ̂ with κ̂ the geometric mean of κ and u₁ the solution for κ = 1. Energy errors from both sides
and the mean, three steps, chunks of 250 as instances of the campaign, over a Dask cluster of two processes into
Parquet. A process beside it kills the whole cluster (SIGKILL) after a random share of the work, and starts it again,
and kills single workers in between. OUT/table.parquet has one row an instance; OUT/result.json what it took.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint import campaigns
from pinnpoint.fem.families.random_fields import darcy_fields, on_triangles

CHUNK = 250


def make(cells: int) -> Any:
    """Once in each worker."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", cells), source=1.0)
    return problem.operators().prepare(problem.mean(), steps=3)


@cache
def homogeneous(cells: int) -> np.ndarray:
    """The solution for κ = 1 at the nodes, by its sine series."""
    k = np.arange(1, 60, 2)
    S = np.sin(np.pi * np.outer(np.arange(cells + 1) / cells, k))
    weights = 16.0 / np.pi**4 / (np.outer(k, k) * (k[:, None] ** 2 + k**2))
    return (S @ weights @ S.T).ravel()


@dataclass(frozen=True)
class Drawn:
    """Instances that workers draw."""

    count: int
    cells: int

    def __len__(self) -> int:
        return self.count

    def rows(self, start: int, stop: int, certifier: Any) -> list[tuple[Any, ...]]:
        """A chunk: the same for the same start."""
        K = darcy_fields(self.cells, stop - start, (7, start))
        states = homogeneous(self.cells) / np.exp(np.log(K).mean(axis=(1, 2)))[:, None]
        return list(zip(on_triangles(K), states, strict=True))


def drive(out: Path, table: str, count: int, cells: int, chunk: int) -> None:
    """One attempt, which may be killed."""
    import population_campaign as own  # by its name, so that workers know it by reference
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        (out / "workers.json").write_text(json.dumps(list(client.run(os.getpid).values())))
        start = time.perf_counter()
        done = campaigns.run_population(
            own.make,
            own.Drawn(count, cells),
            out / table,
            client.get_executor(),
            arguments=(cells,),
            chunk=chunk,
        )
        seconds = time.perf_counter() - start
        peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        busy = client.run(time.process_time)
    result = {"chunks": done.done, "skipped": done.skipped, "failed": len(done.failed), "seconds": seconds}
    result |= {"worker MB": max(peaks.values()) / 1024.0, "processor seconds of workers": sum(busy.values())}
    result["driver MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    (out / "last.json").write_text(json.dumps(result))


def written(path: Path) -> int:
    """Files of a Parquet table, or kilobytes of a CSV file, so far."""
    if path.suffix == ".csv":
        return path.stat().st_size // 1024 if path.exists() else 0
    return len(list(path.glob("part-*.parquet")))


def watch(out: Path, table: str, command: list[str], kills: int) -> dict[str, Any]:
    """Start, kill, start again; the last attempt is left alone but for one of its workers."""
    rng, killed, workers, begun = random.Random(1), list[int](), 0, time.perf_counter()
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    for attempt in range(kills + 1):
        before = written(out / table)
        (out / "workers.json").unlink(missing_ok=True)
        run = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, start_new_session=True)
        aim, wounded = before + rng.randrange(1, 3), False
        while run.poll() is None:
            time.sleep(0.02)
            if not wounded and attempt % 2 == 0 and (out / "workers.json").exists():
                time.sleep(rng.uniform(0.2, 1.0))
                try:
                    os.kill(rng.choice(json.loads((out / "workers.json").read_text())), signal.SIGKILL)
                    workers += 1
                except (ProcessLookupError, ValueError):
                    pass
                wounded = True
            if attempt < kills and written(out / table) >= aim:
                time.sleep(rng.uniform(0.0, 0.5))
                os.killpg(run.pid, signal.SIGKILL)
                killed.append(written(out / table))
                break
        run.wait()
        if run.returncode == 0:
            break
        if attempt == kills:
            raise SystemExit(f"the last attempt ended with {run.returncode}")
    unit = "kilobytes of the table" if table.endswith(".csv") else "files of the table"
    told = {"kills": len(killed), f"{unit} at each kill": killed, "workers killed": workers}
    return told | {"wall seconds": time.perf_counter() - begun}


def read(path: Path) -> dict[str, np.ndarray]:
    """Columns of the table."""
    names = ("number", "status", "error", "error_lower")
    if path.suffix == ".csv":
        with path.open(encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        found = {name: np.array([row[name] for row in rows]) for name in names}
        return {name: a if name == "status" else a.astype(float) for name, a in found.items()}
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=list(names))
    return {name: np.array(table[name].to_pylist()) for name in names}


def check(out: Path, table: str, count: int) -> dict[str, Any]:
    """Every instance once, and what the table says of them."""
    columns = read(out / table)
    numbers = columns["number"].astype(int)
    lost, twice = count - len(np.unique(numbers)), len(numbers) - len(np.unique(numbers))
    size = sum(f.stat().st_size for f in ([out / table] if table.endswith(".csv") else (out / table).glob("part-*")))
    return {
        "rows": len(numbers),
        "lost": lost,
        "twice": twice,
        "certified": int(np.sum(columns["status"] == "certified")),
        "median error": float(np.median(columns["error"])),
        "median lower bound": float(np.median(columns["error_lower"])),
        "bytes a row": size / max(1, len(numbers)),
    }


def main() -> None:
    """Drive, or watch somebody drive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--chunk", type=int, default=CHUNK)
    parser.add_argument("--table", default="table.parquet", help="or table.csv")
    parser.add_argument("--quick", action="store_true", help="400 instances on 8 × 8 squares, one kill, CSV")
    parser.add_argument("--drive", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.count, options.cells, options.kills, options.chunk, options.table = 400, 8, 1, 4, "table.csv"
    if options.drive:
        drive(options.out, options.table, options.count, options.cells, options.chunk)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, str(options.out), "--drive", "--count", str(options.count)]
    command += ["--cells", str(options.cells), "--chunk", str(options.chunk), "--table", options.table]
    found = watch(options.out, options.table, command, options.kills) | check(options.out, options.table, options.count)
    found |= {"last": json.loads((options.out / "last.json").read_text()), "instances": options.count}
    (options.out / "result.json").write_text(json.dumps(found, indent=1))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
