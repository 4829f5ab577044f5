"""The HTTP service: every answer right or a clear 4xx, whoever asks and however many at once."""

from __future__ import annotations

import asyncio
import http.client
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import pinnpoint as pp
from tests import ROOT
from tests.support.chains import chain
from tests.support.reports import poisson

pytest.importorskip("starlette", reason="pip install 'pinnpoint[serve]'")
pytest.importorskip("uvicorn", reason="pip install 'pinnpoint[serve]'")

from pinnpoint.cli.main import main
from pinnpoint.monitoring.monitor import read_log
from pinnpoint.service import Engine, Limits, engine_of_family, make_app

pytestmark = pytest.mark.optional
BOTH = "accept = 0.05\ntolerance = 0.05"  # of the prediction, and of the proof
CASE = poisson(
    "square",
    5,
    {"centre": f"at = [0.5, 0.5]\n{BOTH}", "side": f"at = [0.31, 0.77]\n{BOTH}"},
    title="Plate",
    source="2*pi**2*sin(pi*x)*sin(pi*y)",
    certificate='target = "{target}"',
)
REQUESTS = int(os.environ.get("PINNPOINT_REQUESTS", "240"))


def ask(port, body, path="/v1/certify", method="POST", kind="application/json", timeout=30):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, data if method == "POST" else None, {"Content-Type": kind})
        response = connection.getresponse()
        text = response.read()
        json_like = response.getheader("Content-Type", "").startswith("application/json")
        return response.status, json.loads(text) if json_like else text.decode()
    finally:
        connection.close()


@contextmanager
def serving(folder: Path, target="discrete", *options):
    """The command itself, in a process of its own."""
    (folder / "case.toml").write_text(CASE.format(target=target))
    source = str(Path(pp.__file__).parent.parent)
    command = [sys.executable, "-m", "pinnpoint.cli.main", "serve", str(folder / "case.toml"), "--port", "0", *options]
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        line = process.stdout.readline()
        assert "serving on http://127.0.0.1:" in line
        yield int(line.split(":")[2].split()[0]), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
        process.stdout.close()


@contextmanager
def in_process(app):
    """The same application in a thread, where the engine is one of the test's own."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=30)


def family():
    system, queries, rng = chain(14)
    return pp.LoadFamily(system, rng.normal(size=(2, 14))).prepare(queries)


BAD = [
    (b"", 400),
    (b"{", 400),
    (b'{"items": [{"raw": [NaN, 1]}]}', 400),
    (b'{"items": [{"raw": [Infinity, 1]}]}', 400),
    (b"\xff\xfe", 400),
    (b"[" * 100_000, 400),
    (b"[]", 422),
    (b'"text"', 422),
    (b"{}", 422),
    (b'{"items": []}', 422),
    (b'{"items": {"raw": [1, 2]}}', 422),
    (b'{"items": [3]}', 422),
    (b'{"items": [{}]}', 422),
    (b'{"items": [{"raw": [1]}]}', 422),
    (b'{"items": [{"raw": [1, 2, 3]}]}', 422),
    (b'{"items": [{"raw": [1, "2"]}]}', 422),
    (b'{"items": [{"raw": [1, true]}]}', 422),
    (b'{"items": [{"raw": [1, null]}]}', 422),
    (b'{"items": [{"raw": [1, 1e200]}]}', 422),
    (b'{"items": [{"raw": [1, 1e400]}]}', 422),
    (b'{"items": [{"raw": [1, 2], "mu": [1]}]}', 422),
    (b'{"items": [{"raws": [1, 2]}]}', 422),
    (b'{"items": [{"values": [1, 2]}]}', 422),
    (b'{"items": [{"raw": [1, 2], "label": 3}]}', 422),
    (b'{"items": [{"raw": [1, 2]}], "model": "x"}', 422),
]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["discrete", "continuous"])
def test_many_clients_and_bad_bodies(tmp_path, target):
    """Answers agree with the library, bad bodies are told what is wrong, memory stays flat."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 5), source="2*pi**2*sin(pi*x)*sin(pi*y)")
    queries = problem.points([[0.5, 0.5], [0.31, 0.77]])
    truth = np.prod(np.sin(np.pi * queries.points), axis=1)
    if target == "discrete":
        free, A = np.asarray(problem.space.free), problem.A.toarray()
        U = np.zeros(problem.system.N)
        U[free] = np.linalg.solve(A[np.ix_(free, free)], problem.b[free])
        truth = queries.L @ U
    with serving(tmp_path, target, "--log", str(tmp_path / "log.jsonl")) as (port, process):
        wrong: list[str] = []
        good = [0] * 8

        def client(k):
            rng = np.random.default_rng(k)
            for i in range(REQUESTS // 8):
                if rng.random() < 0.3:
                    body, wanted = BAD[rng.integers(len(BAD))]
                    status, told = ask(port, body)
                    if status != wanted or not told["error"]:
                        wrong.append(f"{body[:60]!r}: {status}, not {wanted}")
                    continue
                raw = truth + rng.normal(size=2) * 10.0 ** rng.uniform(-4, 0)
                values = rng.normal(size=problem.system.N) if rng.random() < 0.2 else None
                item = {"raw": raw.tolist(), "label": f"{k}.{i}"}
                if values is not None:
                    item["values"] = values.tolist()
                status, told = ask(port, {"items": [item]})
                good[k] += status == 200
                if status == 429:
                    continue
                row = told["items"][0]
                radius = np.array([q["raw_radius"] for q in row["queries"]])
                low, high = (np.array([q[e] for q in row["queries"]]) for e in ("lower", "upper"))
                apart = np.abs(raw - center)
                fine = np.all(np.abs(radius - width - apart) <= 1e-12) and np.all(low <= truth + 1e-12)
                fine = fine and np.all(high >= truth - 1e-12) and np.all(np.abs(raw - truth) <= radius + 1e-12)
                fine = fine and row["action"] == ("accept" if np.all(radius <= 0.05) else "flag")
                if values is not None:
                    U = problem.extract(values).U
                    fine = fine and np.allclose([q["value"] for q in row["queries"]], queries.L @ U, atol=1e-12)
                if not fine:
                    wrong.append(f"{k}.{i}: {row}")

        rows = ask(port, {"items": [{"raw": [0, 0], "label": "first"}]})[1]["items"][0]["queries"]
        center, width = (np.array([q[key] for q in rows]) for key in ("center", "radius"))
        assert np.all(np.abs(center - truth) <= width + 1e-12)
        assert np.all(width <= (1e-12 if target == "discrete" else 0.05))
        before = memory(process.pid)
        threads = [threading.Thread(target=client, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong[:5]
        assert sum(good) > 0.5 * REQUESTS
        assert memory(process.pid) < before + 30e6
        status, text = ask(port, b"", "/metrics", "GET")
        assert status == 200
        assert f'path="/v1/certify",status="200"}} {sum(good) + 1}' in text
    assert process.returncode == 0
    rows = list(read_log(tmp_path / "log.jsonl"))
    assert len(rows) == sum(good) + 1
    assert len({row["label"] for row in rows}) == len(rows)


def memory(pid):
    """Resident bytes of a process."""
    status = Path(f"/proc/{pid}/statm")
    return int(status.read_text().split()[1]) * 4096 if status.exists() else 0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("serve")) as (port, _):
        yield port


def test_health_queries_and_openapi_are_answered(server):
    port = server
    assert ask(port, b"", "/healthz", "GET") == (200, {"status": "ok"})
    about = ask(port, b"", "/v1/queries", "GET")[1]
    assert (about["queries"], about["target"]) == (["centre", "side"], "discrete")
    assert about["accept"] == about["tolerance"] == [0.05, 0.05]
    assert ask(port, b"", "/openapi.json", "GET")[1]["openapi"].startswith("3.")
    assert ask(port, b"", "/nothing", "GET")[0] == 404
    assert ask(port, b"", "/v1/certify", "GET")[0] == 405
    assert ask(port, b"{}", kind="text/plain")[0] == 415
    assert ask(port, {"items": [{"raw": [0, 0]}] * 257})[0] == 422
    assert len(ask(port, {"items": [{"raw": [0, 0]}] * 256})[1]["items"]) == 256
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        raw.sendall(
            b"POST /v1/certify HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            b"Content-Length: 99999999999\r\n\r\n"
        )
        assert b" 413 " in raw.recv(1000).splitlines()[0]


def test_families_take_mu_and_limits_hold():
    made = family()
    app = make_app(engine_of_family(made), Limits(body=2000, patience=0.5))
    with in_process(app) as port:
        mu, raw = [0.3, -1.2], [0.1, 0.2, 0.3]
        status, told = ask(port, {"items": [{"raw": raw, "mu": mu}]})
        right = made.certify(mu=mu, raw=raw)
        assert status == 200
        assert [q["raw_radius"] for q in told["items"][0]["queries"]] == right.raw_radius.tolist()
        assert told["items"][0]["queries"][0]["value"] is None
        assert told["items"][0]["action"] is None
        for item, words in (({"raw": raw}, "mu: is missing"), ({"raw": raw, "mu": [1]}, "list of 2 numbers")):
            status, told = ask(port, {"items": [item]})
            assert status == 422
            assert words in told["error"]
        assert ask(port, b" " * 3000)[0] == 413
        with socket.create_connection(("127.0.0.1", port), timeout=10) as slow:  # sends its body too slowly
            head = "POST /v1/certify HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            slow.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            assert b" 408 " in slow.recv(1000).splitlines()[0]


def test_overload_answers_429_and_nothing_wrong():
    made = family()
    free = threading.Event()

    def slow(values, raw, mu):
        free.wait(20)
        return made.certify(mu=mu, raw=raw)

    engine = Engine(slow, made.names, "discrete", 14, 2, 12)
    with in_process(make_app(engine, Limits(workers=1, waiting=2))) as port:
        found = []
        body = {"items": [{"raw": [0.1, 0.2, 0.3], "mu": [1.0, 2.0]}]}
        threads = [threading.Thread(target=lambda: found.append(ask(port, body))) for _ in range(10)]
        for thread in threads:
            thread.start()
        while len(found) < 7:
            time.sleep(0.02)
        assert ask(port, b"", "/healthz", "GET")[0] == 200  # still answers
        free.set()
        for thread in threads:
            thread.join()
    assert sorted(status for status, _ in found) == [200] * 3 + [429] * 7
    right = made.certify(mu=[1.0, 2.0]).center.tolist()
    for status, told in found:
        assert status == 429 or [q["center"] for q in told["items"][0]["queries"]] == right


def test_an_internal_error_says_nothing_of_the_inside():
    made = family()

    def broken(values, raw, mu):
        raise ZeroDivisionError("secret")

    engine = Engine(broken, made.names, "discrete", 14, 0, 12)
    with in_process(make_app(engine)) as port:
        status, told = ask(port, {"items": [{"raw": [0.1, 0.2, 0.3]}]})
        assert (status, "secret" in json.dumps(told)) == (500, False)


def test_a_kill_under_load_loses_nothing():
    """The short form of `studies/serve_load.py`: killed in the midst of requests, and started again."""
    script = ROOT / "studies" / "serve_load.py"
    spec = importlib.util.spec_from_file_location("serve_load", script)
    load = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(load)
    with tempfile.TemporaryDirectory() as folder:
        found = load.study(160, 8, "discrete", Path(folder), lambda text: None)
    assert found["requests"] == 160
    assert found["wrong answers"] == []
    assert found["answers that the log lacks"] == found["answers that the log tells otherwise"] == 0
    assert found["logged twice, and not interrupted"] == 0
    assert found["exit code after SIGTERM"] == 0
    assert set(found["answers by status"]) <= {"200", "400", "422", "429"}


SLOW = """
import time
import numpy as np
import pinnpoint as pp
from pinnpoint.service import Engine, Limits, make_app, run_app

system = pp.LinearSystem(np.eye(2), np.ones(2))
prepared = pp.LoadFamily(system, np.ones((1, 2))).prepare(pp.Queries(np.eye(2)))

def slow(values, raw, mu):
    time.sleep(1.5)
    return prepared.certify(mu=[1.0], raw=raw)

engine = Engine(slow, prepared.names, "discrete", 2, 0, 2)
run_app(make_app(engine, Limits(workers=1, waiting=4)), port=0, started=lambda port: print(port, flush=True))
print("ended", flush=True)
"""


def test_termination_answers_what_is_in_flight():
    """Two requests are at work or waiting when SIGTERM comes: both are answered, new ones are not taken."""
    source = {**os.environ, "PYTHONPATH": str(Path(pp.__file__).parent.parent), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", SLOW], env=source, stdout=subprocess.PIPE, text=True)
    try:
        port = int(process.stdout.readline())
        found = []
        body = {"items": [{"raw": [1.0, 1.5]}]}
        threads = [threading.Thread(target=lambda: found.append(ask(port, body, timeout=60))) for _ in range(2)]
        for thread in threads:
            thread.start()
        while "pinnpoint_in_flight 2" not in ask(port, b"", "/metrics", "GET")[1]:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert [status for status, _ in found] == [200, 200]
        assert all(q["lower"] <= 1.0 <= q["upper"] for _, told in found for q in told["items"][0]["queries"])
        assert process.stdout.readline() == "ended\n"
        assert process.wait(timeout=30) == 0
        with pytest.raises(OSError, match="refused"):
            ask(port, body)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()


def test_a_client_that_leaves_is_no_error_of_the_service():
    with in_process(make_app(engine_of_family(family()))) as port:
        head = b"POST /v1/certify HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as gone:
                gone.sendall(head)
        while 'status="400"} 5' not in (text := ask(port, b"", "/metrics", "GET")[1]):
            time.sleep(0.02)
        assert 'status="500"' not in text
        assert "pinnpoint_in_flight 0" in text
        assert ask(port, {"items": [{"raw": [0.1, 0.2, 0.3], "mu": [1.0, 2.0]}]})[0] == 200


def test_bad_options_of_serve_are_refused(tmp_path, capsys):
    from pinnpoint.cli.main import main

    (tmp_path / "case.toml").write_text(CASE.format(target="discrete"))
    case = str(tmp_path / "case.toml")
    for option, value, words in (
        ("--port", "99999", "port"),
        ("--max-batch", "0", "batch"),
        ("--waiting", "-1", "wait"),
    ):
        assert main(["serve", case, option, value]) == 2
        assert words in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "none.toml")]) == 2
    (tmp_path / "free.toml").write_text(CASE.format(target="discrete").replace(f"{BOTH}\n", ""))
    assert main(["serve", str(tmp_path / "free.toml"), "--log", str(tmp_path / "log.jsonl")]) == 2
    assert "--log: records decisions" in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["serve", case, "--port", str(taken.getsockname()[1])]) == 2
    assert "is it taken?" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("schemathesis") is None, reason="pip install schemathesis")
def test_schemathesis_finds_nothing(server, tmp_path):
    port = server
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent)) or "schemathesis"
    count = os.environ.get("PINNPOINT_EXAMPLES", "8")
    command = [program, "run", f"http://127.0.0.1:{port}/openapi.json", "--max-examples", count, "--seed", "1"]
    command += ["--request-timeout", "120"]  # a machine with other work may be slow; a 5xx is what is looked for
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]


@contextmanager
def with_head_timeout(app):
    """As `in_process`, with the server's own protocol."""
    import uvicorn

    from pinnpoint.service.server import configured

    server = uvicorn.Server(configured(app, "127.0.0.1", 0))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=30)


HEAD = b"POST /v1/certify HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
GOOD = {"items": [{"raw": [0.1, 0.2, 0.3], "mu": [1.0, 2.0]}]}


def test_slow_senders_take_nobodys_place():
    """40 connections with one byte of a body each, and as many that send chunks for ever: others are answered."""
    with with_head_timeout(make_app(engine_of_family(family()), Limits(patience=60.0, workers=1, waiting=2))) as port:
        slow = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(80)]
        for i, one in enumerate(slow):
            rest = b"Content-Length: 500\r\n\r\n{" if i % 2 else b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
            one.sendall(HEAD + rest)
        time.sleep(0.2)
        for _ in range(3):
            assert ask(port, GOOD)[0] == 200
        for one in slow:
            one.close()


def test_bodies_together_have_a_limit_and_the_slowest_goes_first(monkeypatch):
    monkeypatch.setattr("pinnpoint.service.app.BODIES", 3)
    with with_head_timeout(make_app(engine_of_family(family()), Limits(body=20_000, patience=60.0))) as port:
        slow = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(5)]
        for one in slow:
            one.sendall(HEAD + b"Content-Length: 19000\r\n\r\n" + b" " * 18000)
            time.sleep(0.1)
        assert b" 408 " in slow[0].recv(1000).splitlines()[0]  # the first had to go, the last is still welcome
        assert ask(port, GOOD)[0] == 200
        body = json.dumps(GOOD).encode()
        slow[-1].sendall(body + b" " * (1000 - len(body)))
        assert b" 200 " in slow[-1].recv(1000).splitlines()[0]
        for one in slow:
            one.close()


def send_for(seconds, connection, request):
    """Send a request again and again, however slowly it is answered."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        connection.sendall(request)
        time.sleep(0.01)


@pytest.mark.slow
def test_heads_must_arrive_and_answers_be_read():
    with with_head_timeout(make_app(engine_of_family(family()), Limits(patience=0.5))) as port:
        for part in (b"", b"POST /v1", HEAD):
            with socket.create_connection(("127.0.0.1", port), timeout=30) as late:
                late.sendall(part)
                said = b""
                while chunk := late.recv(1000):
                    said += chunk
                assert said.endswith(b"408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        with socket.create_connection(("127.0.0.1", port), timeout=30) as late:  # the head of a second request
            late.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            said = b""
            while not said.endswith(b"}"):
                said += late.recv(1000)
            late.sendall(b"GET /hea")
            assert b" 408 " in late.recv(1000)
        many = json.dumps({"items": GOOD["items"] * 256}).encode()
        with socket.socket() as deaf:  # sends requests and reads nothing
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.settimeout(120)
            deaf.connect(("127.0.0.1", port))
            whole = HEAD + f"Content-Length: {len(many)}\r\n\r\n".encode() + many
            with pytest.raises((ConnectionResetError, BrokenPipeError)):  # a time-out is neither
                send_for(120.0, deaf, whole)
        assert ask(port, GOOD)[0] == 200


ODD = [
    (b'{"items": [{"raw": [1, 2, 3], "mu": [1, 2], "label": "\\ud800"}]}', 422),
    (b'{"items": [{"raw": [1, 2, 3], "mu": [1, 2], "label": "a\\udfffb"}]}', 422),
    (b'{"items": [{"raw": [1, 2, 3], "mu": [1, 2], "label": "\\udc00\\ud800"}]}', 422),
    (b'{"items": [{"raw": [1, 2, 3], "mu": [1, 2], "\\ud800": 1}]}', 422),
    (b'{"\\udfff": [1]}', 422),
    (b'{"items": [{"raw": [1, 2, "\\ud800"], "mu": [1, 2]}]}', 422),
    (b'{"items": "\\ud800"}', 422),
    (b'{"items": [{"raw": [1, 2, 3], "mu": [1, 2], "label": "\xed\xa0\x80"}]}', 400),
    (b'{"items": [{"raw": [1, 2, 3], "raw": [4, 5, 6], "mu": [1, 2]}]}', 400),
    (b'{"items": [], "items": [{"raw": [1, 2, 3], "mu": [1, 2]}]}', 400),
    (b'{"items": [{"raw": [1, 2, ' + b"9" * 5000 + b'], "mu": [1, 2]}]}', 400),
    (b'{"items": [{"raw": [1, 2, ' + b"9" * 400 + b'], "mu": [1, 2]}]}', 422),
    (b'{"items": [{"raw": [1, 2, 1e999999999], "mu": [1, 2]}]}', 422),
    (b'{"items": [{"raw": [1, 2, -Infinity], "mu": [1, 2]}]}', 400),
    (b'{"items":' + b"[" * 50_000 + b"]" * 50_000 + b"}", 400),
    (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, 400),
    (b"\xef\xbb\xbf" + json.dumps(GOOD).encode(), 400),
    (json.dumps(GOOD).encode("utf-16"), 400),
]


def test_odd_bodies_are_refused_before_anything_is_logged(tmp_path):
    prepared = family()
    with pp.Monitor(prepared, 10.0, log=tmp_path / "log") as monitor:
        with in_process(make_app(engine_of_family(prepared), monitor=monitor)) as port:
            for body, status in ODD:
                found = ask(port, body)
                assert (found[0], bool(found[1]["error"])) == (status, True), body[:80]
            text = "pair \U0001f600, \0, \u2028, é"
            told = ask(port, {"items": [{**GOOD["items"][0], "label": text}]})
            assert (told[0], told[1]["items"][0]["label"]) == (200, text)
        assert [row["label"] for row in read_log(tmp_path / "log")] == [text]


def test_lengths_that_lie_and_other_methods(server):
    for head, answer in (
        (b"Content-Length: -1\r\n\r\n", b" 400 "),
        (b"Content-Length: 5, 6\r\n\r\n{}", b" 400 "),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}", b" 4"),
        ("Content-Length: ²\r\n\r\n{}".encode("latin-1"), b" 400 "),
        (b"Content-Length: 1\r\n\r\n{}", b" 400 "),
        (b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b" 400 "),
    ):
        with socket.create_connection(("127.0.0.1", server), timeout=30) as raw:
            raw.sendall(HEAD + head)
            assert answer in raw.recv(1000).splitlines()[0], head
    for method, path, status in (
        ("HEAD", "/healthz", 200),
        ("HEAD", "/v1/certify", 405),
        ("OPTIONS", "/v1/certify", 405),
        ("DELETE", "/healthz", 405),
    ):
        with socket.create_connection(("127.0.0.1", server), timeout=30) as raw:
            raw.sendall(f"{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
            assert f" {status} ".encode() in raw.recv(1000).splitlines()[0]


def test_a_log_that_is_full_is_told_and_nothing_is_decided(tmp_path, monkeypatch):
    from pinnpoint.monitoring.monitor import LogError

    prepared = family()
    with pp.Monitor(prepared, 10.0, log=tmp_path / "log") as monitor:
        with in_process(make_app(engine_of_family(prepared), monitor=monitor)) as port:

            def full(row):
                raise LogError("log: could not be written")

            with monkeypatch.context() as patched:
                patched.setattr(monitor, "_record", full)
                assert ask(port, GOOD)[0] == 503
            assert ask(port, GOOD)[0] == 200
    assert sum(monitor.counts.values()) == 1


def test_a_body_that_is_on_its_way_when_the_service_ends_is_told_so():
    """The server cancels what has not ended in time; that is no internal error."""
    sent = []

    async def stopped():
        begun, head = asyncio.Event(), [(b"content-type", b"application/json"), (b"content-length", b"31")]
        scope = {"type": "http", "method": "POST", "path": "/v1/certify", "headers": head, "query_string": b""}

        async def receive():
            begun.set()
            await asyncio.sleep(60)

        async def send(message):
            sent.append(message)

        app = make_app(engine_of_family(family()))
        task = asyncio.create_task(app({**scope, "app": app, "root_path": "", "http_version": "1.1"}, receive, send))
        await begun.wait()
        task.cancel()
        await task

    asyncio.run(stopped())
    assert sent[0]["status"] == 503
    assert (b"connection", b"close") in sent[0]["headers"]
    assert b"shutting down" in sent[1]["body"]


def test_the_decisions_of_a_request_are_logged_together_or_not_at_all(tmp_path):
    prepared, log = family(), tmp_path / "log"
    three = {"items": [{**GOOD["items"][0], "label": name} for name in "abc"]}
    with pp.Monitor(prepared, 10.0, log=log) as monitor:
        with in_process(make_app(engine_of_family(prepared), monitor=monitor)) as port:
            assert ask(port, three)[0] == 200
            real, before = monitor._log.file, log.read_bytes()

            class Full:
                fileno = real.fileno

                def write(self, data):
                    return real.write(data[: 2 * len(data) // 3 + 10])  # two lines, and some of the third

            monitor._log.file = Full()
            assert ask(port, three)[0] == 503
            monitor._log.file = real
            assert log.read_bytes() == before
            log.unlink()
            assert ask(port, three)[0] == 200
    assert [row["label"] for row in read_log(log)] == ["a", "b", "c"]
    assert sum(monitor.counts.values()) == 6


def test_refused_options_are_called_as_they_were_given(tmp_path, capsys):
    case = tmp_path / "case.toml"
    case.write_text(
        '[mesh]\ngenerate = "square"\ncells = 2\n[problem]\nkind = "reaction-diffusion"\nsource = 1\n'
        "[problem.dirichlet]\nboundary = 0\n[prediction]\nzero = true\n[[query]]\nat = [0.5, 0.5]\naccept = 1.0\n"
        '[certificate]\ntarget = "discrete"\n'
    )
    for words, said in {
        ("--max-batch", "0"): "--max-batch: must be > 0",
        ("--max-body", "0"): "--max-body: must be > 0",
        ("--workers", "-1"): "--workers: must be > 0",
        ("--host", "300.1.1.1"): "--host: '300.1.1.1' is not known here",
        ("--log", str(case)): "--log: ",
    }.items():
        before = case.read_bytes()
        assert main(["serve", str(case), "--port", "0", *words]) == 2
        *_, last = capsys.readouterr().err.strip().splitlines()
        assert said in last
        assert case.read_bytes() == before
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", str(case), "--port", str(taken.getsockname()[1])]) == 2
    assert "--port: cannot listen" in capsys.readouterr().err


BRACKET = """[mesh]
generate = "square"
cells = 3
[problem]
kind = "elasticity"
young = 1000.0
poisson = 0.3
body = ["0", "-1"]
[problem.dirichlet]
left = [0.0, 0.0]
[prediction]
zero = true
[[query]]
name = "strong"
kind = "von-mises"
at = [0.3, 0.4]
[[query]]
name = "tip"
at = [0.9, 0.6]
component = "y"
[certificate]
target = "discrete"
"""


def test_limits_of_true_values_are_answered(tmp_path):
    """Each of the three answers, for a query and for what is derived from several."""
    from pinnpoint.cases.read import read_case
    from pinnpoint.cases.study import build
    from pinnpoint.cli.serve import accepted_by, limited
    from pinnpoint.service import engine_of_case

    case = tmp_path / "case.toml"
    case.write_text(BRACKET, encoding="utf-8")
    plain = build(read_case(case))
    assert not limited(plain)
    found = engine_of_case(plain).answer(np.zeros(plain.problem.system.N), None, None)
    tip, strong = float(found.center[-1]), found.derived[0].center
    for query, derived, action, words in (
        (f"above={tip - 1}", f"below={strong + 1}", "accept", ["holds", "holds"]),
        (f"above={tip}", f"below={strong + 1}", "flag", ["undecided", "holds"]),
        (f"below={tip - 1}", f"below={strong}", "flag", ["violated", "undecided"]),
        (f"above={tip - 1}", f"below={strong / 2}", "flag", ["holds", "violated"]),
    ):
        study = build(read_case(case, [f"query.1.limit.{query}", f"query.0.limit.{derived}"]))
        assert limited(study)
        assert accepted_by(study) is None
        engine = engine_of_case(study)
        with (
            pp.Monitor(engine, limit=study.limit) as monitor,
            in_process(make_app(engine, Limits(), monitor)) as port,
        ):
            about = ask(port, b"", "/v1/queries", "GET")[1]
            assert [bool(one) for one in about["limit"]] == [False, False, False, True]
            assert about["derived"][0]["limit"] == study.queries.derived[0].limit.said()
            status, answer = ask(port, {"items": [{"values": [0.0] * engine.values}]})
        assert status == 200
        (item,) = answer["items"]
        assert item["action"] == action
        assert [item["queries"][-1]["verdicts"]["limit"], item["derived"][0]["verdicts"]["limit"]] == words


def test_the_command_serves_limits(tmp_path):
    limits = ("--set", "query.0.limit.above=0.5", "--set", "query.1.limit.above=5.0", "--log", str(tmp_path / "log"))
    with serving(tmp_path, "discrete", *limits) as (port, _):
        _, answer = ask(port, {"items": [{"raw": [1.0, 0.5]}]})
        described = ask(port, b"", "/openapi.json", "GET")[1]
    (item,) = answer["items"]
    assert [q["verdicts"]["limit"] for q in item["queries"]] == ["holds", "violated"]
    assert item["action"] == "flag"
    (row,) = read_log(tmp_path / "log")
    assert [q["limit"] for q in row["queries"]] == ["holds", "violated"]
    assert '"violated"' in json.dumps(described)
