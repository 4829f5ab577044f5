"""Monitors: what is accepted is close, what is not is flagged or solved, and no record is lost."""

from __future__ import annotations

import importlib.util
import json
import threading
from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.monitoring.conformal import StatisticalBand
from pinnpoint.monitoring.monitor import EDGES, log_to_parquet, read_log
from tests.support.chains import chain


def family(n=14):
    system, queries, rng = chain(n)
    made = pp.LoadFamily(system, rng.normal(size=(2, n)))
    return made, made.prepare(queries), rng


def direct(system):
    free = np.asarray(system.space.free)
    A = system.A.toarray()

    def solve(b):
        U = np.array(system.space.U0)
        U[free] = np.linalg.solve(A[np.ix_(free, free)], (b - A @ system.space.U0)[free])
        return U

    return solve


def truth(made, mu, queries):
    return queries.L @ direct(made.system)(made.vector(mu)) + queries.constants


def test_accepts_flags_and_falls_back(tmp_path):
    made, certifier, rng = family()
    queries = certifier.ground.queries
    plain = pp.Monitor(certifier, 1e-3)
    saved = pp.Monitor(certifier, 1e-3, solver=direct(made.system), log=tmp_path / "log.jsonl")
    for k in range(40):
        mu = rng.normal(size=2)
        off = 10.0 ** rng.uniform(-6, 0)
        right = truth(made, mu, queries)
        raw = right + off * rng.choice([-1, 1], 3)
        seen, helped = plain.check(raw=raw, mu=mu), saved.check(raw=raw, mu=mu, label=k)
        assert seen.action == ("accept" if off < 1e-3 * (1 - 1e-9) else "flag")
        assert helped.action == ("accept" if seen.action == "accept" else "fallback")
        assert np.all(np.abs(helped.values - right) <= helped.radius + 1e-12)
        assert np.all(helped.radius <= 1e-3)
    assert plain.counts["fallback"] == 0
    assert saved.counts["flag"] == 0
    assert sum(saved.counts.values()) == sum(saved.histogram["counts"]) == 40
    assert len(saved.histogram["counts"]) == len(EDGES) + 1
    saved.close()
    rows = list(read_log(tmp_path / "log.jsonl"))
    assert [row["label"] for row in rows] == list(range(40))
    assert "fallback" in str(saved)
    assert "#" in str(saved)


def test_refused_predictions_and_failing_solvers():
    made, certifier, _ = family()
    monitor = pp.Monitor(certifier, 1e-3)
    found = monitor.check(raw=[np.nan, 0.0, 0.0], mu=[1.0, 1.0])
    assert (found.action, found.values) == ("flag", None)
    assert "NaN" in found.reason

    def broken(b):
        raise RuntimeError("no licence")

    def rough(b):
        return made.system.space.U0

    assert "no licence" in pp.Monitor(certifier, 1e-3, solver=broken).check(raw=[9, 9, 9], mu=[1.0, 1.0]).reason
    worse = pp.Monitor(certifier, 1e-3, solver=rough).check(raw=[9, 9, 9], mu=[1.0, 1.0])
    assert worse.action == "flag"
    assert "its answer is off" in worse.reason
    saved = pp.Monitor(certifier, 1e-3, solver=direct(made.system)).check(raw=[np.nan, 0, 0], mu=[1.0, 1.0])
    assert saved.action == "fallback"
    with pytest.raises(pp.InputError, match="accept: entries must be > 0"):
        pp.Monitor(certifier, 0.0)
    with pytest.raises(pp.InputError, match="certifier"):
        pp.Monitor(pp.Exact(), 1.0)


def raising(error):
    def solve(b):
        raise error

    return solve


class ForeignError(Exception):
    pass


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (raising(KeyError("mesh")), "mesh"),
        (raising(OSError("no such file")), "no such file"),
        (raising(ForeignError("queue is full")), "queue is full"),
        (raising(MemoryError()), "MemoryError"),
        (lambda b: None, "returned None"),
        (lambda b: 7.0, "must be a vector"),
        (lambda b: "solved", "must hold real numbers"),
        (lambda b: np.full(14, np.nan), "not finite"),
        (lambda b: np.zeros(3), "must have shape"),
        (lambda b: np.zeros((14, 14)), "must be a vector"),
        (lambda b: np.ones(14), "not admissible"),
        (lambda b: b.fill(0.0), "returned None"),
    ],
)
def test_whatever_a_solver_does_is_a_reason(solver, words, tmp_path):
    made, certifier, _ = family()
    with pp.Monitor(certifier, 1e-3, solver=solver, log=tmp_path / "log.jsonl") as monitor:
        for given in ([9.0, 9.0, 9.0], [np.nan, 0.0, 0.0]):
            found = monitor.check(raw=given, mu=[1.0, 1.0])
            assert found.action == "flag"
            assert words in found.reason
        assert monitor.check(raw=truth(made, [1.0, 1.0], certifier.ground.queries), mu=[1.0, 1.0]).action == "accept"
    assert [row["action"] for row in read_log(tmp_path / "log.jsonl")] == ["flag", "flag", "accept"]


@pytest.mark.parametrize("bad", [{"mu": 1.0}, {"mu": None}, {"mu": [1.0]}, {"mu": "1"}, {"mu": [1.0, np.inf]}, {}])
def test_garbage_is_flagged(bad):
    _, certifier, _ = family()
    monitor = pp.Monitor(certifier, 1e-3)
    for given in ({"raw": [0.0, 0.0, 0.0]}, {"raw": 1.0}, {"raw": "x"}, {"prediction": 3.0}):
        assert monitor.check(**given, **bad).action == "flag"
    assert monitor.counts["flag"] == 4


def test_estimates_are_never_accepted_and_bands_are_no_certificates():
    made, certifier, _ = family()
    right = truth(made, [1.0, 1.0], certifier.ground.queries)
    proved = certifier.certify(mu=[1.0, 1.0], raw=right)
    monitor = pp.Monitor(certifier, 1e-3)
    assert monitor.judge(proved, label=float("nan")).action == "accept"
    guess = replace(proved, guarantee=pp.Guarantee.ESTIMATE)
    found = monitor.judge(guess)
    assert (found.action, "estimate" in found.reason) == ("flag", True)
    band = StatisticalBand(monitor.names, right[None], right[None], right[None], 0.9, 100)
    with pytest.raises(pp.InputError, match="must be a certificate, which is proved"):
        monitor.judge(band)
    small = pp.Monitor(certifier, 1e-320)
    assert small.check(raw=right + 1.0, mu=[1.0, 1.0]).action == "flag"


def test_labels_of_any_kind_are_written(tmp_path):
    _, certifier, _ = family()
    with pp.Monitor(certifier, 1e-3, log=tmp_path / "log.jsonl") as monitor:
        for label in (float("nan"), float("inf"), 1.5, np.int64(3), ("a", 1), b"x", "line\nbreak \u2028", None, True):
            monitor.check(raw=[0.0, 0.0, 0.0], mu=[1.0, 1.0], label=label)
    labels = [row["label"] for row in read_log(tmp_path / "log.jsonl")]
    assert labels == ["nan", "inf", "1.5", "3", "('a', 1)", "b'x'", "line\nbreak \u2028", None, True]


def test_foreign_logs_and_places(tmp_path):
    """Lines that no monitor wrote are left out; what is no file is refused."""
    _, certifier, _ = family()
    log = tmp_path / "log.jsonl"
    log.write_bytes(
        b'\x80\x04garbage\n{"action":"accept"}\n{"action":"accept","ratio":"x"}\n[1]\n{"action":["accept"],"ratio":1}\n'
        b'{"action":"accept","ratio":true}\n{"action":"accept","ratio":-1}\n{"action":"flag","ratio":1e999}\n{"action":"fl'
    )
    with pp.Monitor(certifier, 1e-3, log=log) as monitor:
        assert dict(monitor.counts) == {"accept": 0, "flag": 1, "fallback": 0}
        monitor.check(raw=[9.0, 9.0, 9.0], mu=[1.0, 1.0])
        with pytest.raises(pp.InputError, match="must be lists or arrays"):
            monitor.check_many(row for row in ())
    assert [row["action"] for row in read_log(log)] == ["flag", "flag"]
    if importlib.util.find_spec("pyarrow"):
        assert log_to_parquet(log, tmp_path / "log.parquet").stat().st_size > 0
    with pytest.raises(pp.InputError, match="is a folder"):
        pp.Monitor(certifier, 1e-3, log=tmp_path)


def test_plain_certifiers_and_many():
    system, queries, rng = chain()
    monitor = pp.Monitor(pp.Exact().prepare(system, queries), [1e-3, 1e-3, 1e-2])
    loads = rng.normal(size=(6, system.N))
    solve = direct(system)
    states = np.stack([solve(b) for b in loads])
    states[3:, 4] += 0.5
    done = monitor.check_many(states, loads=loads)
    assert [d.action for d in done] == ["accept"] * 3 + ["flag"] * 3
    with pytest.raises(pp.InputError, match="equally many rows"):
        monitor.check_many(states, loads=loads[:2])
    assert monitor.check(states[0], mu=[1.0]).action == "flag"


def test_a_restart_goes_on_and_a_torn_line_is_left_out(tmp_path):
    _, certifier, _ = family()
    log = tmp_path / "log.jsonl"
    with pp.Monitor(certifier, 1.0, log=log) as monitor:
        for _ in range(3):
            monitor.check(raw=np.zeros(3), mu=[0.1, 0.1])
    with log.open("a") as file:
        file.write('{"time": "2026-01-01T00:00:00", "act')
    with pp.Monitor(certifier, 1.0, log=log) as again:
        assert sum(again.counts.values()) == 3
        again.check(raw=np.zeros(3), mu=[0.1, 0.1])
    with pp.Monitor(certifier, 1.0, log=log) as third:
        assert sum(third.counts.values()) == sum(third.histogram["counts"]) == 4
    with pytest.raises(pp.InputError, match="folder"):
        pp.Monitor(certifier, 1.0, log=tmp_path / "none" / "log.jsonl")


def test_threads_write_whole_lines(tmp_path):
    _, certifier, _ = family()
    with pp.Monitor(certifier, 1.0, log=tmp_path / "log.jsonl") as monitor:
        work = [
            threading.Thread(target=lambda: [monitor.check(raw=np.zeros(3), mu=[0.1, 0.2]) for _ in range(50)])
            for _ in range(4)
        ]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert len(lines) == 200
    assert all(json.loads(line)["action"] for line in lines)
    assert sum(monitor.counts.values()) == 200


@pytest.mark.optional
def test_a_log_as_parquet_holds_every_record(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install 'pinnpoint[parquet]'")
    _, certifier, _ = family()
    with pp.Monitor(certifier, 1.0, log=tmp_path / "log.jsonl") as monitor:
        monitor.check(raw=np.zeros(3), mu=[0.1, 0.2], label="a")
        monitor.check(raw=np.full(3, np.nan), mu=[0.1, 0.2])
    table = parquet.read_table(log_to_parquet(tmp_path / "log.jsonl", tmp_path / "log.parquet")).to_pydict()
    assert table["name"] == [*certifier.names, None]
    assert table["action"][-1] == "flag"
    assert table["label"][0] == "a"


@pytest.mark.parametrize("method", [pp.Root(), pp.Stationary(), pp.Exact(), pp.Norm()])
def test_prepared_methods_of_every_kind_are_watched(method):
    mesh = pp.io.generate("interval", 12)
    linear = isinstance(method, pp.Exact | pp.Norm)
    problem = pp.fem.ReactionDiffusion(mesh, "1") if linear else pp.fem.Semilinear(mesh, 1.0, "1")
    monitor = pp.Monitor(method.prepare(problem.system, problem.points([[0.5]])), 1.0)
    assert monitor.check(problem.space.U0).action == "accept"
    assert monitor.check(problem.extract("100*x*(1-x)").U).action == "flag"


def watched(tmp_path, **more):
    _, certifier, _ = family()
    return pp.Monitor(certifier, 1.0, log=tmp_path / "log.jsonl", **more)


ZERO = {"raw": np.zeros(3), "mu": [0.1, 0.1]}


def test_a_closed_monitor_decides_nothing(tmp_path):
    with watched(tmp_path) as monitor:
        found = monitor.check(**ZERO).certificate
    for call in (
        lambda: monitor.check(**ZERO),
        lambda: monitor.judge(found),
        lambda: monitor.check_many(None, raw=[np.zeros(3)], mu=[[0.1, 0.1]]),
    ):
        with pytest.raises(pp.InputError, match="monitor: is closed"):
            call()
    assert sum(monitor.counts.values()) == len(list(read_log(tmp_path / "log.jsonl"))) == 1
    monitor.close()


@pytest.mark.parametrize("room", [0, 1, 40, 500, 900])
def test_a_batch_is_logged_whole_or_not_at_all(tmp_path, room):
    """What a full disk took of it is taken back, so that a restart counts nothing that nobody was told of."""
    with watched(tmp_path) as monitor:
        found = monitor.check(**ZERO, label="first").certificate
        real, before = monitor._log.file, (tmp_path / "log.jsonl").read_bytes()

        class Full:
            fileno = real.fileno

            def write(self, data):
                return real.write(data[:room])

        for call in (
            lambda: monitor.judge_many([found] * 3, ["a", "b", "c"]),
            lambda: monitor.check_many(None, raw=np.zeros((3, 3)), mu=np.full((3, 2), 0.1)),
        ):
            monitor._log.file = Full()
            with pytest.raises(pp.PinnpointError, match="log: could not be written"):
                call()
            monitor._log.file = real
            assert (tmp_path / "log.jsonl").read_bytes() == before
        assert monitor.counts["accept"] == 1
        assert len(monitor.judge_many([found] * 2)) == 2
    with watched(tmp_path) as again:
        assert again.counts["accept"] == 3


def test_lines_that_others_wrote_are_not_taken_back(tmp_path):
    with watched(tmp_path) as monitor, watched(tmp_path) as other:
        found = monitor.check(**ZERO, label="first").certificate
        real = monitor._log.file

        class Full:
            fileno = real.fileno

            def write(self, data):
                real.write(data[:10])
                other.check(**ZERO, label="other")
                raise OSError(28, "No space left on device")

        monitor._log.file = Full()
        with pytest.raises(pp.PinnpointError, match="log: could not be written"):
            monitor.judge(found)
        monitor._log.file = real
        monitor.judge(found, "last")
    assert "other" in (tmp_path / "log.jsonl").read_text()
    assert [row["label"] for row in read_log(tmp_path / "log.jsonl")][-1] == "last"


def test_a_log_that_is_deleted_or_moved_is_begun_anew(tmp_path):
    log = tmp_path / "log.jsonl"
    with watched(tmp_path) as monitor:
        monitor.check(**ZERO, label="one")
        log.unlink()
        monitor.check(**ZERO, label="two")
        log.rename(tmp_path / "moved.jsonl")
        monitor.check(**ZERO, label="three")
        log.unlink()
        log.mkdir()
        with pytest.raises(pp.PinnpointError, match=r"log: .* is a folder.*; the decision does not count"):
            monitor.check(**ZERO, label="four")
        log.rmdir()
        monitor.check(**ZERO, label="five")
        assert monitor.counts["accept"] == 4
    assert [row["label"] for row in read_log(tmp_path / "moved.jsonl")] == ["two"]
    assert [row["label"] for row in read_log(log)] == ["five"]


def test_files_that_are_no_logs_are_not_written_to(tmp_path):
    _, certifier, _ = family()
    for text in (b'title = "case"\n', b"\x80\x04binary", b'{\n "schema": 1\n}\n', b'{"label": 1}\n', b"\n"):
        (tmp_path / "file").write_bytes(text)
        with pytest.raises(pp.InputError, match="is no log of decisions"):
            pp.Monitor(certifier, 1.0, log=tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == text
    for text in (b"", b"{", b'{"time": "2026', b'{"time": "2026\n'):  # a first line that was cut off
        (tmp_path / "file").write_bytes(text)
        pp.Monitor(certifier, 1.0, log=tmp_path / "file").close()
    for given in (5, b"log", "", "a\0b", 1.5, True):
        with pytest.raises(pp.InputError, match="log: must be the name of a file"):
            pp.Monitor(certifier, 1.0, log=given)
    with watched(tmp_path) as monitor:
        monitor.check(**ZERO)
    system, queries, _ = chain()
    renamed = pp.Queries(queries.L, names=["x", "y", "z"])
    with pytest.raises(pp.InputError, match="holds decisions about other queries"):
        pp.Monitor(pp.Exact().prepare(system, renamed), 1.0, log=tmp_path / "log.jsonl")
    with pytest.raises(pp.InputError, match="holds decisions by another accept"):
        pp.Monitor(certifier, 0.5, log=tmp_path / "log.jsonl")


def test_labels_and_logs_that_cannot_be_told(tmp_path):
    with watched(tmp_path) as monitor:
        with pytest.raises(pp.InputError, match="label: must be Unicode text"):
            monitor.check(**ZERO, label="\ud800")
        assert monitor.counts["accept"] == 0
        monitor.check(**ZERO, label="kept")
    with pytest.raises(pp.InputError, match=r"log: .* could not be read"):
        list(read_log(tmp_path / "none"))
    if importlib.util.find_spec("pyarrow"):
        log = tmp_path / "log.jsonl"
        log.write_text(log.read_text().replace("kept", "\\ud800"))
        log_to_parquet(log, tmp_path / "log.parquet")
        with pytest.raises(pp.InputError, match=r"log: .* could not be read"):
            log_to_parquet(tmp_path / "none", tmp_path / "log.parquet")


def test_monitors_are_pickled_without_a_log_alone(tmp_path):
    import pickle

    _, certifier, _ = family()
    monitor = pp.Monitor(certifier, 1.0)
    monitor.check(**ZERO)
    again = pickle.loads(pickle.dumps(monitor))
    assert again.check(**ZERO).action == "accept"
    assert (again.counts["accept"], monitor.counts["accept"]) == (2, 1)
    with watched(tmp_path) as logged, pytest.raises(pp.InputError, match="log: a monitor with a log cannot be copied"):
        pickle.dumps(logged)


def test_a_missing_state_is_told():
    system, queries, _ = chain()
    decided = pp.Monitor(pp.Exact().prepare(system, queries), 1.0).check(raw=[0.0, 0.0, 0.0])
    assert decided.reason.startswith("refused: prediction: is missing")
