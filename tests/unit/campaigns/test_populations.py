"""Populations as campaigns: the rows of one call, whatever they come from and whoever is killed."""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint import campaigns
from pinnpoint.campaigns import records
from pinnpoint.fem.families.random_fields import on_triangles
from tests import ROOT
from tests.support import population_tasks as tasks

SCRIPT = Path(tasks.__file__)


def expected(count=tasks.COUNT):
    K, U = tasks.arrays(count)
    return tasks.make().certify_many(on_triangles(K), U)


def written(folder, count=tasks.COUNT):
    K, U = tasks.arrays(count)
    np.save(folder / "k.npy", K.astype(np.float32))
    np.save(folder / "u.npy", U)
    return tasks.stored(folder)


def same(path, population):
    """The table has each instance once, with the numbers of one call for all."""
    with path.open(encoding="utf-8") as stream:
        rows = sorted(csv.DictReader(stream), key=lambda r: int(r["number"]))
    assert [int(r["number"]) for r in rows] == list(range(len(population)))
    for name, wanted in (("error", population.error), ("error_lower", population.lower)):
        found = [float(r[name]) for r in rows]
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)  # the last bits are those of the chunks
    assert [r["status"] != "certified" for r in rows] == (~population.certified).tolist()
    assert "kappa" in rows[5]["status"]


def test_chunks_of_files_are_the_rows_of_one_call(tmp_path):
    source = written(tmp_path)
    done = campaigns.run_population(tasks.make, source, tmp_path / "t.csv", chunk=32)
    assert (done.done, done.failed) == (3, {})
    same(tmp_path / "t.csv", expected())
    again = campaigns.run_population(tasks.make, source, tmp_path / "t.csv", chunk=32)
    assert (again.done, again.skipped) == (0, 3)


def test_generators_are_sent_to_workers_and_gone_on_with(tmp_path):
    K, U = tasks.arrays()

    def instances():
        yield from zip(on_triangles(K), U, strict=True)

    def halted():
        yield from islice(instances(), 47)
        raise KeyboardInterrupt

    out = tmp_path / "t.csv"
    with pytest.raises(KeyboardInterrupt):
        campaigns.run_population(tasks.make, halted(), out, chunk=20)
    with ThreadPoolExecutor(2) as pool:
        done = campaigns.run_population(tasks.make, instances(), tmp_path / "t.csv", pool, chunk=20)
    assert (done.done, done.skipped) == (3, 2)
    same(tmp_path / "t.csv", expected())


@pytest.mark.optional
def test_zarr_hdf5_and_pictures_of_predictions(tmp_path):
    zarr, h5py = pytest.importorskip("zarr"), pytest.importorskip("h5py")
    K, _ = tasks.arrays(12)
    states = np.random.default_rng(1).random((12, 5, 5)).astype(np.float32)
    zarr.open_array(str(tmp_path / "k.zarr"), mode="w", shape=K.shape, chunks=(4, 6, 6), dtype="f8")[:] = K
    with h5py.File(tmp_path / "u.h5", "w") as file:
        file["u"], file["other"] = states, K
    source = campaigns.Stored(
        str(tmp_path / "k.zarr"), str(tmp_path / "u.h5"), grid="cells", at="nodes", names=(None, "u", None)
    )
    assert len(source) == 12
    campaigns.run_population(tasks.make, source, tmp_path / "t.csv", chunk=5)
    mesh = pp.io.generate("square", tasks.CELLS)
    same(tmp_path / "t.csv", tasks.make().certify_many(on_triangles(K), pp.fem.on_nodes(mesh, states)))


def test_the_certifier_is_prepared_once_in_each_worker(tmp_path):
    made = []

    def make(cells):
        made.append(cells)
        return tasks.make(cells)

    campaigns.run_population(make, written(tmp_path, 20), tmp_path / "t.csv", chunk=5, arguments=(tasks.CELLS,))
    assert made == [tasks.CELLS]


def test_refusals(tmp_path):
    with pytest.raises(pp.InputError, match="make: must be a function"):
        campaigns.run_population(3, [], tmp_path / "t.csv")
    source = written(tmp_path)
    np.save(tmp_path / "u.npy", np.zeros((3, 49)))
    with pytest.raises(pp.InputError, match=r"one row an instance; they have \[3, 90\]"):
        campaigns.run_population(tasks.make, source, tmp_path / "t.csv")


def numbers(path):
    with path.open(encoding="utf-8") as stream:
        return [int(r["number"]) for r in csv.DictReader(stream)]


def test_a_table_of_another_job_is_not_gone_on_with(tmp_path):
    """Other chunks, counts, predictions, arguments or functions: none lost, none doubled, none of an old model."""
    out, source = tmp_path / "t.csv", written(tmp_path, 20)
    run = partial(campaigns.run_population, tasks.make, source, out)
    run(chunk=8, arguments=(tasks.CELLS,))
    for match, options in (
        (r"chunk was 8 and is 5\); choose chunk=8 or another", {"chunk": 5, "arguments": (tasks.CELLS,)}),
        (r"arguments was \[\"6\"\] and is \[\"6\", \"2\"\]", {"chunk": 8, "arguments": (tasks.CELLS, 2)}),
    ):
        with pytest.raises(pp.InputError, match=match):
            run(**options)

    def make(cells):
        return tasks.make(cells)

    with pytest.raises(pp.InputError, match=r"make was tests.support.population_tasks.make .* and is"):
        campaigns.run_population(make, source, out, chunk=8, arguments=(tasks.CELLS,))
    states = np.load(tmp_path / "u.npy")
    states[-1, 20] += 1e-9
    np.save(tmp_path / "u.npy", states)
    with pytest.raises(pp.InputError, match=r"another job \(predictions was .*\); choose another table"):
        run(chunk=8, arguments=(tasks.CELLS,))
    with pytest.raises(pp.InputError, match="count of instances was 20 and is 30"):
        campaigns.run_population(tasks.make, written(tmp_path, 30), out, chunk=8, arguments=(tasks.CELLS,))
    assert numbers(out) == list(range(20))
    written(tmp_path, 20)  # the same again, with another time
    assert run(chunk=8, arguments=(tasks.CELLS,)).skipped == 3
    (tmp_path / "t.csv.of.json").unlink()
    with pytest.raises(pp.InputError, match=r"'t.csv.of.json' beside it, which says of what, is missing"):
        run(chunk=8, arguments=(tasks.CELLS,))


def test_other_instances_that_are_sent_are_noticed(tmp_path):
    K, U = tasks.arrays(24)
    pairs, out = list(zip(on_triangles(K), U, strict=True)), tmp_path / "t.csv"
    run = partial(campaigns.run_population, tasks.make, out=out, chunk=8)
    run(pairs[:16])
    assert (run(pairs).done, numbers(out)) == (1, list(range(24)))  # grown by whole chunks: gone on with
    with pytest.raises(pp.InputError, match="has 16 instances, and the table holds some from 16 on"):
        run(pairs[:16])
    other = [*pairs[:10], (pairs[10][0], pairs[10][1] + 1e-9), *pairs[11:]]
    with pytest.raises(pp.InputError, match="instances 8 to 15 are not those that the table has"):
        run(other)
    begun = tmp_path / "s.csv"
    campaigns.run_population(tasks.make, pairs[:10], begun, chunk=8)
    with pytest.raises(pp.InputError, match="instances 8 to 15 are not those"):
        campaigns.run_population(tasks.make, pairs, begun, chunk=8)
    assert numbers(begun) == list(range(10))


@dataclass(frozen=True)
class Drawn:
    seed: int

    def __len__(self):
        return 6

    def rows(self, start, stop, certifier):
        K, U = tasks.arrays(stop)
        return list(zip(on_triangles(K)[start:], U[start:], strict=True))


def test_sources_of_ones_own_are_told_by_their_repr(tmp_path):
    campaigns.run_population(tasks.make, Drawn(1), tmp_path / "t.csv", chunk=6)
    assert campaigns.run_population(tasks.make, Drawn(1), tmp_path / "t.csv", chunk=6).skipped == 1
    with pytest.raises(pp.InputError, match=r"source was Drawn\(seed=1\) and is Drawn\(seed=2\)"):
        campaigns.run_population(tasks.make, Drawn(2), tmp_path / "t.csv", chunk=6)


def test_large_files_are_told_by_size_time_and_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "WHOLE", 10)
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(8))
    first = records.of_files(path)
    assert records.of_files(path) == first
    os.utime(path, ns=(1, 1))
    assert records.of_files(path) != first


def test_killed_until_it_comes_to_its_end(tmp_path):
    """SIGKILL after some rows, again and again: none lost, none doubled."""
    out, rng, kills = tmp_path / "t.csv", random.Random(3), 0
    written(tmp_path)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), *sys.path])}
    for attempt in range(3):
        command = [sys.executable, str(SCRIPT), str(out), str(tmp_path)]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, start_new_session=True)
        reach, begun = (out.stat().st_size if out.exists() else 0) + rng.randrange(200, 2000), time.monotonic()
        while run.poll() is None and (attempt == 2 or time.monotonic() - begun < 60):
            if attempt < 2 and out.exists() and out.stat().st_size > reach:
                break
            time.sleep(0.0005)
        if run.poll() is None:
            kills += 1
            os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        if run.returncode == 0:
            break
    else:
        pytest.fail("no run came to its end")
    assert kills >= 1
    same(out, expected())
