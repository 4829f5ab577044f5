"""Campaigns: nothing lost, nothing doubled, whatever fails, dies or is killed."""

from __future__ import annotations

import csv
import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

import pinnpoint as pp
from pinnpoint import campaigns
from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.campaigns.tables import open_table
from tests.support import campaign_tasks as tasks

SCRIPT = Path(tasks.__file__)


def table(path):
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def require_whole(path, count):
    """Every instance once, both rows together, with the right numbers."""
    rows = table(path)
    assert len(rows) == 2 * count
    assert sorted({r["instance"] for r in rows}) == sorted(f"i{k}" for k in range(count))
    for one, two in zip(rows[::2], rows[1::2], strict=True):
        x = float(one["instance"][1:])
        assert one["instance"] == two["instance"]
        assert [one["row"], two["row"], one["rows"]] == ["1", "2", "2"]
        assert (float(one["value"]), float(two["value"])) == (x, x**2)


def test_here_and_again(tmp_path):
    out = tmp_path / "table.csv"
    first = campaigns.run(tasks.square, tasks.instances(5), out)
    assert (first.done, first.skipped, first.failed) == (5, 0, {})
    again = campaigns.run(tasks.square, tasks.instances(9), out)
    assert (again.done, again.skipped) == (4, 5)
    require_whole(out, 9)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_threads_and_processes_give_whole_tables(tmp_path, kind):
    out = tmp_path / "table.csv"
    make = {"threads": ThreadPoolExecutor, "processes": tasks.pool}[kind]
    said = []
    with make(2) as executor:
        campaigns.run(tasks.square, tasks.instances(40), out, executor, window=7, report=lambda s: said.append(s.done))
    require_whole(out, 40)
    assert said == list(range(1, 41))


def test_a_generator_is_read_only_as_far_as_needed(tmp_path):
    taken = []

    def endless():
        k = 0
        while True:
            taken.append(k)
            yield f"i{k}", k
            k += 1

    def stop(summary):
        if summary.done == 30:
            raise KeyboardInterrupt

    with ThreadPoolExecutor(2) as executor, pytest.raises(KeyboardInterrupt):
        campaigns.run(tasks.square, endless(), tmp_path / "t.csv", executor, window=5, report=stop)
    assert len(taken) <= 30 + 6
    assert campaigns.run(tasks.square, tasks.instances(40), tmp_path / "t.csv").skipped == 30
    require_whole(tmp_path / "t.csv", 40)


def test_errors_are_retried(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    with ThreadPoolExecutor(3) as executor:
        done = campaigns.run(partial(tasks.fails_once, marks), tasks.instances(20), tmp_path / "t.csv", executor)
    require_whole(tmp_path / "t.csv", 20)
    assert done.retried == 7
    assert not done.failed


def test_dead_workers_are_replaced(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    make = tasks.pool
    done = campaigns.run(partial(tasks.dies_once, marks), tasks.instances(24), tmp_path / "t.csv", make, window=6)
    require_whole(tmp_path / "t.csv", 24)
    assert not done.failed


class Breaking(ThreadPoolExecutor):
    """As a pool of processes that breaks between two submissions: its pipe is closed before it says so."""

    submitted = 0

    def submit(self, fn, *args):
        self.submitted += 1
        if self.submitted > 2:
            raise OSError("handle is closed")
        return super().submit(fn, *args)


def test_a_pool_whose_pipe_is_closed_counts_as_broken(tmp_path):
    pools = iter([Breaking, *[ThreadPoolExecutor] * 9])
    done = campaigns.run(tasks.square, tasks.instances(12), tmp_path / "t.csv", lambda: next(pools)(2), window=6)
    require_whole(tmp_path / "t.csv", 12)
    assert not done.failed


def test_the_deadly_instance_alone_is_given_up(tmp_path):
    make = tasks.pool
    done = campaigns.run(tasks.always_dies, tasks.instances(12), tmp_path / "t.csv", make, retries=1)
    assert list(done.failed) == ["i5"]
    assert {r["instance"] for r in table(tmp_path / "t.csv")} == {f"i{k}" for k in range(12) if k != 5}
    with tasks.pool(1) as executor, pytest.raises(InputError, match="pass a function that makes one"):
        campaigns.run(tasks.always_dies, tasks.instances(12), tmp_path / "u.csv", executor)


def test_an_instance_that_never_comes_back(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    with ThreadPoolExecutor(3) as executor:
        task = partial(tasks.hangs_once, marks)
        done = campaigns.run(task, tasks.instances(6), tmp_path / "t.csv", executor, timeout=0.3)
        assert (done.done, done.retried, done.failed) == (6, 1, {})
        require_whole(tmp_path / "t.csv", 6)
    require_whole(tmp_path / "t.csv", 6)  # the late answer is not written


class Remembers(Executor):
    """As Dask: equal calls are one, with one result, and `shutdown` knows fewer arguments than it might."""

    def __init__(self):
        self.calls, self.shut = {}, False

    def submit(self, fn, *args):
        future = self.calls.setdefault(args, Future())
        if not future.done():
            try:
                future.set_result(fn(*args))
            except RuntimeError as error:
                future.set_exception(error)
        return future

    def shutdown(self, wait=True):
        self.shut = True


def test_every_attempt_is_a_call_of_its_own(tmp_path):
    marks, made = tmp_path / "marks", []
    marks.mkdir()

    def make():
        made.append(Remembers())
        return made[-1]

    done = campaigns.run(partial(tasks.fails_once, marks), tasks.instances(9), tmp_path / "t.csv", make)
    assert (done.done, done.retried, done.failed) == (9, 3, {})
    assert made[0].shut
    require_whole(tmp_path / "t.csv", 9)


class Deserted(Executor):
    """A cluster whose workers are gone and do not come back, which it does not tell."""

    def submit(self, fn, *args):
        return Future()


def test_an_executor_that_says_nothing_is_made_again(tmp_path):
    made = []

    def make():
        made.append(Deserted() if len(made) < 2 else Remembers())
        return made[-1]

    done = campaigns.run(tasks.square, tasks.instances(9), tmp_path / "t.csv", make, timeout=0.1, window=4)
    assert (done.done, done.failed, len(made)) == (9, {}, 3)
    require_whole(tmp_path / "t.csv", 9)
    lost = campaigns.run(tasks.square, {"a": 1}, tmp_path / "u.csv", Deserted, timeout=0.05, retries=1)
    assert lost.failed == {"a": "TimeoutError: no answer in 0.05 s"}


def test_refusals_are_not_retried(tmp_path):
    calls = []

    def refuse(x):
        calls.append(x)
        raise InputError("x: is wrong")

    done = campaigns.run(refuse, {"a": 1, "b": 2}, tmp_path / "t.csv")
    assert calls == [1, 2]
    assert done.failed == {"a": "InputError: x: is wrong", "b": "InputError: x: is wrong"}
    assert campaigns.run(tasks.square, {"a": 1, "b": 2}, tmp_path / "t.csv").done == 2


def test_a_table_cut_anywhere_is_resumed(tmp_path):
    """All byte lengths that a kill, or a full disk, can leave behind."""
    whole = tmp_path / "whole.csv"
    campaigns.run(tasks.square, tasks.instances(4), whole)
    data = whole.read_bytes()
    for length in range(len(data) + 1):
        cut = tmp_path / "cut.csv"
        cut.write_bytes(data[:length])
        done = campaigns.run(tasks.square, tasks.instances(4), cut)
        assert done.done + done.skipped == 4
        require_whole(cut, 4)


@pytest.mark.parametrize("workers", [0, 2])
def test_killed_at_random_points(tmp_path, workers):
    """SIGKILL again and again until a run comes to its end."""
    out, count, kills = tmp_path / "t.csv", 100, 0
    rng = random.Random(workers)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(pp.__file__).parent.parent), *sys.path])}
    for attempt in range(6):
        run = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(out), str(count), str(workers)],
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        began, before = time.monotonic(), out.stat().st_size if out.exists() else 0
        reach = before + rng.randrange(1, 1500)  # it must get somewhere before it dies
        while run.poll() is None and (attempt == 5 or time.monotonic() - began < 30):
            if attempt < 5 and out.exists() and out.stat().st_size > reach:
                break
            time.sleep(0.001)
        if run.poll() is None:
            kills += 1
            os.killpg(run.pid, signal.SIGKILL)
        said = run.communicate()[0]
        if run.returncode == 0:
            assert said.split()[2] == b"0"
            break
    else:
        pytest.fail("no run came to its end")
    assert kills >= 1
    require_whole(out, count)


def test_one_run_at_a_time(tmp_path):
    with open_table(tmp_path / "t.csv"), pytest.raises(InputError, match="another run"):
        campaigns.run(tasks.square, tasks.instances(2), tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b,c\n1,2,3\n", "not a table of a campaign"),
        (b"instance,row,rows,x\na,1,1,2\na,1,1,2\n", "twice"),
        (b"instance,row,rows,x\na,2,2,2\n", "out of order"),
        (b"instance,row,rows,x\na,one,2,2\n", "no campaign wrote"),
        (b"\xff\xfe\n", "not a table"),
    ],
)
def test_other_files_are_left_alone(tmp_path, content, words):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        campaigns.run(tasks.square, tasks.instances(2), path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (3.0, "must return"),
        ([], "must return"),
        ({"x": float("nan")}, "NaN as 'x'"),
        ({"x": [1]}, "'x' must be a number"),
    ],
)
def test_results_must_be_plain(tmp_path, result, words):
    done = campaigns.run(lambda x: result, {"a": 1}, tmp_path / "t.csv")
    assert words in done.failed["a"]


def test_bad_instances_and_tables_are_refused(tmp_path):
    with pytest.raises(InputError, match="given twice"):
        campaigns.run(tasks.square, [("a", 1), ("a", 2)], tmp_path / "t.csv")
    with pytest.raises(InputError, match="pairs of a name"):
        campaigns.run(tasks.square, [1, 2], tmp_path / "u.csv")
    with pytest.raises(InputError, match=r"must end in .csv or .parquet"):
        campaigns.run(tasks.square, {"a": 1}, tmp_path / "t.txt")
    campaigns.run(tasks.square, {"a": 1}, tmp_path / "v.csv")
    with pytest.raises(InputError, match="the table has part, value"):
        campaigns.run(lambda x: {"other": 1}, {"b": 1}, tmp_path / "v.csv")


CASE = """[mesh]
generate = "square"
cells = 4
[problem]
kind = "reaction-diffusion"
source = 1.0
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
name = "centre"
at = [0.5, 0.5]
[certificate]
target = "discrete"
"""


def test_a_case_file_is_certified_for_every_override(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(CASE, encoding="utf-8")
    family = {f"source {s}": [f"problem.source={s}"] for s in (1.0, 2.0, 4.0)}
    with tasks.pool() as executor:
        campaigns.run(partial(campaigns.certify_case, path), family, tmp_path / "t.csv", executor)
    rows = {r["instance"]: r for r in table(tmp_path / "t.csv")}
    one, four = (rows[f"source {s}"] for s in (1.0, 4.0))
    assert float(four["center"]) == pytest.approx(4.0 * float(one["center"]))
    assert float(one["lower"]) <= float(one["center"]) <= float(one["upper"])
    assert one["guarantee"] == "deterministic"


@pytest.mark.optional
@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="pip install 'pinnpoint[parquet]'")
def test_parquet_tables_are_whole(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    from pinnpoint.campaigns import tables

    monkeypatch.setattr(tables, "BATCH", 4)
    out = tmp_path / "t.parquet"

    def stop(summary):
        if summary.done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        campaigns.run(tasks.square, tasks.instances(11), out, report=stop)
    (out / ".part-000009.parquet").write_bytes(b"half a file")
    done = campaigns.run(tasks.square, tasks.instances(11), out)
    assert done.done + done.skipped == 11
    rows = pq.read_table(out).to_pylist()
    assert sorted(r["value"] for r in rows if r["part"] == "square") == [float(k) ** 2 for k in range(11)]


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DependencyMissingError, match=r"pinnpoint\[parquet\]"):
        campaigns.run(tasks.square, {"a": 1}, tmp_path / "t.parquet")


DASK = """
import sys
from functools import partial
from tests.support import campaign_tasks as tasks
from pinnpoint import campaigns
import dask
from distributed import Client, LocalCluster

dask.config.set({"distributed.scheduler.allowed-failures": int(sys.argv[3])})
open_now = []


def close():
    while open_now:
        open_now.pop().close()


def make():
    close()  # Dask does not restart a worker that dies while it starts: another cluster then
    open_now.append(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None))
    open_now.append(Client(open_now[0]))
    return open_now[1].get_executor()


if __name__ == "__main__":
    task = partial(tasks.dies_once, sys.argv[1])
    done = campaigns.run(task, tasks.instances(7), sys.argv[2], make, timeout=20)
    close()
    print(done.done, done.failed)
"""


@pytest.mark.optional
@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="pip install 'pinnpoint[dask]'")
@pytest.mark.parametrize("failures", [3, 0])
def test_dask_with_dying_workers(tmp_path, failures):
    """Dask itself tries again, or gives a task up at its worker's first death, and then `run` tries again."""
    (tmp_path / "marks").mkdir()
    script = tmp_path / "script.py"
    script.write_text(DASK, encoding="utf-8")
    paths = [str(Path(pp.__file__).parent.parent), *sys.path]
    done = subprocess.run(
        [
            sys.executable,
            str(script),
            str(tmp_path / "marks"),
            str(tmp_path / "t.csv"),
            str(failures),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.stdout.strip() == "7 {}", done.stderr
    require_whole(tmp_path / "t.csv", 7)
