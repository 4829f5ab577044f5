"""Campaigns at their edges: odd names and values, tasks that exit, slow queues, full disks, executors that remember."""

from __future__ import annotations

import csv
import errno
import importlib.util
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

import pinnpoint as pp
from pinnpoint import campaigns
from pinnpoint.base.errors import InputError
from pinnpoint.campaigns import tables
from tests.support import campaign_tasks as tasks

NO_ARROW = importlib.util.find_spec("pyarrow") is None
parquet = pytest.mark.skipif(NO_ARROW, reason="pip install 'pinnpoint[parquet]'")
BOTH = [".csv", pytest.param(".parquet", marks=parquet)]


def leaves(x):
    if x == 3:
        sys.exit(0)
    return {"x": float(x)}


def interrupted(x):
    if x == 3:
        raise KeyboardInterrupt
    return {"x": float(x)}


def folder_rows(path):
    import pyarrow.parquet as pq

    return sorted(pq.read_table(path).to_pylist(), key=lambda row: row["instance"])


def names_in(path):
    if path.suffix == ".parquet":
        return [row["instance"] for row in folder_rows(path)]
    with path.open(encoding="utf-8", newline="") as file:
        return [line.split(",")[0] for line in file][1:]


@pytest.mark.parametrize("kind", ["here", "threads", "processes"])
def test_a_task_that_exits_has_failed(tmp_path, kind):
    executor = {"here": None, "threads": partial(ThreadPoolExecutor, 2), "processes": tasks.pool}[kind]
    done = campaigns.run(leaves, tasks.instances(5), tmp_path / "t.csv", executor, retries=1)
    assert (done.done, done.retried) == (4, 1)
    assert done.failed == {"i3": "RuntimeError: the task raised SystemExit(0)"}


@pytest.mark.parametrize("kind", ["here", "threads"])
def test_interrupts_still_stop_the_run(tmp_path, kind):
    executor = {"here": None, "threads": partial(ThreadPoolExecutor, 1)}[kind]
    with pytest.raises(KeyboardInterrupt):
        campaigns.run(interrupted, tasks.instances(5), tmp_path / "t.csv", executor)
    assert "i3" not in names_in(tmp_path / "t.csv")
    assert campaigns.run(leaves, tasks.instances(3), tmp_path / "t.csv").failed == {}


@pytest.mark.parametrize("suffix", BOTH)
@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"instance": "same", "x": 1.0}, "column 'instance', which the table has itself"),
        ({"rows": 7}, "column 'rows', which the table has itself"),
        ({"row": 7}, "column 'row', which the table has itself"),
        ({"a\nb": 1.0}, "must be one line"),
        ({"a\rb": 1.0}, "must be one line"),
        ({"a\udc80": 1.0}, "valid Unicode"),
        ({"x": "a\udc80"}, "valid Unicode"),
        ({"x": 10**5000}, "bits"),
        ({1: 1.0, "1": 2.0}, "two columns of one name"),
    ],
)
def test_what_no_table_can_hold(tmp_path, suffix, result, words):
    out = tmp_path / f"t{suffix}"
    for _ in range(2):
        done = campaigns.run(lambda x: result if x == 1 else {"x": 1.0}, {"a": 0, "b": 1, "c": 2}, out)
        assert list(done.failed) == ["b"]
        assert words in done.failed["b"]
        assert names_in(out) == ["a", "c"]


@pytest.mark.parametrize("suffix", BOTH)
@pytest.mark.parametrize(("name", "words"), [("", "empty"), (" \n", "empty"), ("bad\udc80", "not valid Unicode")])
def test_names_that_cannot_be_read(tmp_path, suffix, name, words):
    out = tmp_path / f"t{suffix}"
    with pytest.raises(InputError, match=words) as refusal:
        campaigns.run(lambda x: {"x": x}, [("a", 1), (name, 2), ("c", 3)], out)
    assert "twice" not in str(refusal.value)
    assert names_in(out) == ["a"]


@pytest.mark.parametrize("suffix", BOTH)
def test_long_names_and_texts_are_resumed(tmp_path, suffix):
    family = {"n" * 200_000: "a,b", 'q"' * 100_000: "a" * 200_000, "third": 'say "so", ' * 20_000, "b\x00,": ""}
    out = tmp_path / f"t{suffix}"
    assert campaigns.run(lambda x: {"x": x, "y,": None}, family, out).done == 4
    again = campaigns.run(lambda x: {"x": x, "y,": None}, family | {"more": "1"}, out)
    assert (again.done, again.skipped) == (1, 4)


@pytest.mark.parametrize(
    "cells",
    [["", ""], ["a", 'b"', '"'], ['"', ""], ["", ",", ""], ['a","b', '""'], ["x" * 140_000 + '"', "ü"], ["\x00", " "]],
)
def test_cells_are_read_as_they_were_written(cells):
    import io

    from pinnpoint.campaigns.csv_tables import _cells

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    assert _cells(text.getvalue()[:-1]) == cells


@pytest.mark.parametrize("line", ['"a', 'a"b', '"a"b,c', 'a,"b'])
def test_cells_out_of_place(tmp_path, line):
    path = tmp_path / "t.csv"
    path.write_text(f"instance,row,rows,x\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match="out of place"):
        campaigns.run(tasks.square, tasks.instances(2), path)


@pytest.mark.parametrize("suffix", BOTH)
@pytest.mark.parametrize("other", [{"x": 1.0, "y": 2.0}, {"y": 1.0}, [{"x": 1.0}, {"x": 1.0, "y": 2.0}]])
def test_columns_are_those_of_the_first_instance(tmp_path, suffix, other):
    """Refused in the same run and in a later one; what came before stays."""
    out = tmp_path / f"t{suffix}"

    def task(x):
        return other if x == 2 else {"x": 1.0}

    for start in (0, 2):
        with pytest.raises(InputError, match=r"instance 'i2' has the columns .*; the table has x"):
            campaigns.run(task, ((f"i{k}", k) for k in range(start, 5)), out)
        assert names_in(out) == ["i0", "i1"]
    if suffix == ".csv":
        return
    assert campaigns.run(lambda x: {"x": 0.5}, tasks.instances(4), out).skipped == 2


@pytest.mark.optional
@parquet
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((1, 2, "text"), r"'x' of instance 'i2' is 'text' \(string\), and the column holds int64"),
        (("text", "", 1.5), "the column holds string"),
        ((True, False, 1), "the column holds bool"),
        ((1.5, 2.5, False), "the column holds double"),
        ((1, 2, 2**70), "'x' of instance 'i2' does not fit into the 64 bits"),
        ((1.5, 2.5, 2**60), "'x' of instance 'i2' is 1152921504606846976"),
        ((1, 2**60, 1.5), "instance 'i2'"),
    ],
)
@pytest.mark.parametrize("batch", [1, 256])
def test_values_that_do_not_fit_their_column(tmp_path, monkeypatch, values, words, batch):
    """The instances before are written, and the table can be gone on with."""
    monkeypatch.setattr(tables, "BATCH", batch)
    out = tmp_path / "t.parquet"
    for _ in range(2):
        with pytest.raises(InputError, match=words):
            campaigns.run(lambda x: {"x": values[x]}, tasks.instances(3), out)
        assert [row["x"] for row in folder_rows(out)] == list(values[:2])


@pytest.mark.optional
@parquet
@pytest.mark.parametrize("batch", [1, 256])
@pytest.mark.parametrize("again", [False, True])
def test_columns_grow_wider(tmp_path, monkeypatch, batch, again):
    """None, whole numbers and others in one column, in one run or in several, in one file or in several."""
    monkeypatch.setattr(tables, "BATCH", batch)
    out = tmp_path / "t.parquet"
    values = [(None, None, None), (1, None, True), (2, "a", None), (0.5, None, False), (3, "b", True)]
    for stop in range(1, 6) if again else [5]:
        campaigns.run(lambda x: dict(zip("xyz", values[x], strict=True)), tasks.instances(stop), out)
    assert [(row["x"], row["y"], row["z"]) for row in folder_rows(out)] == values
    assert len(list(out.glob("part-*"))) == (5 if batch == 1 or again else 1)


@pytest.mark.optional
@parquet
def test_a_widening_that_was_killed_is_finished(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = tmp_path / "t.parquet"
    out.mkdir()
    for k, value in enumerate([0.5, 1, None]):
        rows = [{"instance": f"i{k}", "row": 1, "rows": 1, "x": value}]
        pq.write_table(pa.Table.from_pylist(rows), out / f"part-{k + 1:06d}.parquet")
    assert campaigns.run(lambda x: {"x": x}, tasks.instances(4), out).skipped == 3
    assert [row["x"] for row in folder_rows(out)] == [0.5, 1.0, None, 3.0]


@pytest.mark.optional
@parquet
@pytest.mark.parametrize("content", [b"", b"PAR1 half a file PAR1", None])
def test_parquet_files_of_others(tmp_path, content):
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = tmp_path / "t.parquet"
    out.mkdir()
    if content is None:
        pq.write_table(pa.table({"x": [1.0]}), out / "part-000001.parquet")
    else:
        (out / "part-000001.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"part-000001\.parquet' is not a file of this campaign"):
        campaigns.run(tasks.square, tasks.instances(2), out)


@pytest.mark.optional
@parquet
def test_a_full_disk(tmp_path, monkeypatch):
    """Nothing half written, nothing lost that was whole; the next run goes on."""
    from pinnpoint.campaigns import parquet_tables

    monkeypatch.setattr(tables, "BATCH", 2)
    out, real = tmp_path / "t.parquet", os.fsync

    def full(number):
        if (out / "part-000001.parquet").exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        real(number)

    monkeypatch.setattr(parquet_tables.os, "fsync", full)
    with pytest.raises(InputError, match=r"could not be written \(No space left on device"):
        campaigns.run(tasks.square, tasks.instances(7), out)
    monkeypatch.setattr(parquet_tables.os, "fsync", real)
    assert sorted(path.name for path in out.iterdir()) == [".lock", "part-000001.parquet"]
    done = campaigns.run(tasks.square, tasks.instances(7), out)
    assert (done.done, done.skipped) == (5, 2)


SLOW = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pinnpoint.campaigns import run, tables
import time

tables.FLUSH = 0.2

def task(k):
    time.sleep(60.0 if k == 5 else 0.01)
    return {"x": float(k)}

print("go", flush=True)
run(task, ((f"i{k}", k) for k in range(6)), sys.argv[1], ThreadPoolExecutor(1))
"""


@pytest.mark.optional
@parquet
def test_a_kill_loses_little_of_a_parquet_table(tmp_path):
    """Instances are on the disk some seconds after they are done, even where the next takes for ever."""
    out = tmp_path / "t.parquet"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(pp.__file__).parent.parent), *sys.path])}
    run = subprocess.Popen([sys.executable, "-c", SLOW, str(out)], env=environment, start_new_session=True)
    try:
        began = time.monotonic()
        while time.monotonic() - began < 40 and not (out.exists() and len(names_in(out)) == 5):
            time.sleep(0.05)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    assert names_in(out) == [f"i{k}" for k in range(5)]


@pytest.mark.parametrize("make", [partial(ThreadPoolExecutor, 1), partial(tasks.pool, 1)])
def test_waiting_in_a_queue_is_not_being_lost(tmp_path, make):
    """Eight instances of 0.3 s, one at a time, with a timeout of 1.5 s."""
    with make() as executor:
        executor.submit(tasks.square, 1).result()
        done = campaigns.run(tasks.slowly, tasks.instances(8), tmp_path / "t.csv", executor, timeout=1.5)
    assert (done.done, done.retried, done.failed) == (8, 0, {})


def test_nobody_left_to_work(tmp_path):
    """The only worker hangs: all that waits for it is given up in the end, rather than waited for."""
    import threading

    free = threading.Event()
    with ThreadPoolExecutor(1) as executor:
        done = campaigns.run(lambda x: free.wait(30), tasks.instances(3), tmp_path / "t.csv", executor, timeout=0.2)
        free.set()
    assert sorted(done.failed) == ["i0", "i1", "i2"]
    assert all("no answer in 0.2 s" in words for words in done.failed.values())


class Remembering(ThreadPoolExecutor):
    """Keeps results by the arguments of the call, and never tells what runs, as Dask's executor does."""

    def __init__(self, workers):
        super().__init__(workers)
        self.kept = {}

    def submit(self, function, /, *args):
        key = repr((function, args))
        if key not in self.kept:
            self.kept[key] = super().submit(function, *args)
            self.kept[key].running = lambda: False
        return self.kept[key]


def test_an_executor_with_a_memory_tries_again(tmp_path):
    (tmp_path / "marks").mkdir()
    task = partial(tasks.fails_once, str(tmp_path / "marks"))
    with Remembering(2) as executor:
        done = campaigns.run(task, tasks.instances(7), tmp_path / "t.csv", executor)
    assert (done.done, done.retried, done.failed) == (7, 3, {})


def test_an_executor_that_does_not_tell(tmp_path):
    """One that hangs is handed in again once nothing else comes back; those that wait are not lost."""
    (tmp_path / "marks").mkdir()
    with Remembering(2) as executor:
        task = partial(tasks.hangs_once_slowly, str(tmp_path / "marks"))
        done = campaigns.run(task, tasks.instances(8), tmp_path / "t.csv", executor, timeout=1.5)
    assert (done.done, done.retried, done.failed) == (8, 1, {})


DASK = """
import sys
from functools import partial
from tests.support import campaign_tasks as tasks
from pinnpoint import campaigns
from distributed import Client, LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        task = partial(tasks.fails_once, sys.argv[1])
        done = campaigns.run(task, tasks.instances(7), sys.argv[2], client.get_executor(), timeout=40)
        print(done.done, done.retried, done.failed)
"""


@pytest.mark.optional
@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="pip install 'pinnpoint[dask]'")
def test_dask_tries_again(tmp_path):
    (tmp_path / "marks").mkdir()
    script = tmp_path / "script.py"
    script.write_text(DASK, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "marks"), str(tmp_path / "t.csv")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(pp.__file__).parent.parent), *sys.path])},
    )
    assert done.stdout.strip() == "7 3 {}", done.stderr
