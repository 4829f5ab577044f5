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
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint import campaigns
from pinnpoint.campaigns.populations import certify_chunk
from pinnpoint.fem.random_fields import on_triangles
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

    class StopError(RuntimeError):
        pass

    def halted(make, arguments, job):
        if job[0] >= 40:
            raise StopError
        return certify_chunk(make, arguments, job)

    jobs = campaigns.populations._sent(instances(), 20)
    first = campaigns.run(partial(halted, tasks.make, ()), jobs, tmp_path / "t.csv", retries=0)
    assert first.done == 2
    assert len(first.failed) == 3
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
