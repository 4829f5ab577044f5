"""The HTTP service under load: right answers, clear refusals, flat memory, and a kill that loses nothing.

    python studies/serve_load.py [--requests 10000] [--clients 8] [--target discrete] [--out results.json]

Needs the extra `serve`. Clients on this machine send predictions with labels, three in ten of them broken in one of
many ways, to `pinnpoint serve CASE.toml --log decisions.jsonl`. After a fifth of the requests the service is killed
(SIGKILL) in the midst of them and started again with the same log; at the end it is terminated (SIGTERM). Every answer
is compared with the truth (a dense solve, or the exact solution for the continuous target), every refusal with the
status that its body deserves, and the log with the answers: each one that a client was given must be in it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.monitoring.monitor import read_log

CASE = """
title = "Plate"
[mesh]
generate = "square"
cells = 6
[problem]
kind = "reaction-diffusion"
source = "2*pi**2*sin(pi*x)*sin(pi*y)"
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
name = "centre"
at = [0.5, 0.5]
accept = 0.05
tolerance = 0.05
[[query]]
name = "side"
at = [0.31, 0.77]
accept = 0.05
tolerance = 0.05
[certificate]
target = "{target}"
"""
BAD = [
    (b"", 400),
    (b"{", 400),
    (b'{"items": [{"raw": [NaN, 1]}]}', 400),
    (b"\xff\xfe", 400),
    (b"[" * 50_000, 400),
    (b'"text"', 422),
    (b'{"items": []}', 422),
    (b'{"items": [{}]}', 422),
    (b'{"items": [{"raw": [1]}]}', 422),
    (b'{"items": [{"raw": [1, "2"]}]}', 422),
    (b'{"items": [{"raw": [1, null]}]}', 422),
    (b'{"items": [{"raw": [1, 1e400]}]}', 422),
    (b'{"items": [{"raw": [1, 2], "mu": [1]}]}', 422),
    (b'{"items": [{"values": [1, 2]}]}', 422),
    (b'{"items": [{"raw": [1, 2], "label": 3}]}', 422),
    (b'{"items": [{"raw": [1, 2]}], "model": "x"}', 422),
]
ACCEPT = 0.05


class Service:
    """The command in a process of its own, and its memory."""

    def __init__(self, folder: Path, target: str) -> None:
        self.case, self.log = folder / "case.toml", folder / "decisions.jsonl"
        self.case.write_text(CASE.format(target=target), encoding="utf-8")
        self.memory: list[int] = []
        self.start()

    def start(self) -> None:
        """Begin, and wait until it listens."""
        command = [sys.executable, "-m", "pinnpoint.cli.main", "serve", str(self.case), "--port", "0"]
        source = {**os.environ, "PYTHONPATH": str(Path(pp.__file__).parent.parent), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [*command, "--log", str(self.log)],
            env=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().split(":")[2].split()[0])
        self.memory = []

    def end(self, number: int) -> int:
        """Send a signal and wait."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def look(self) -> None:
        """Note the resident memory, in bytes."""
        status = Path(f"/proc/{self.process.pid}/statm")
        if status.exists():
            self.memory.append(int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))


def ask(port: int, body: bytes) -> tuple[int, Any]:
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("POST", "/v1/certify", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


class Clients:
    """What the clients saw."""

    def __init__(self, service: Service, target: str, requests: int, clients: int) -> None:
        self.service, self.each, self.clients = service, requests // clients, clients
        problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source="2*pi**2*sin(pi*x)*sin(pi*y)")
        queries = problem.points([[0.5, 0.5], [0.31, 0.77]])
        self.size, self.truth = problem.system.N, np.prod(np.sin(np.pi * queries.points), axis=1)
        if target == "discrete":
            free, A = np.asarray(problem.space.free), problem.A.toarray()
            U = np.zeros(self.size)
            U[free] = np.linalg.solve(A[np.ix_(free, free)], problem.b[free])
            self.truth = queries.L @ U
        self.statuses: Counter[int] = Counter()
        self.answered: dict[str, str] = {}
        self.broken: set[str] = set()
        self.wrong: list[str] = []
        self.seconds: list[float] = []
        self.lock = threading.Lock()

    @property
    def done(self) -> int:
        """Requests that were answered."""
        return sum(self.statuses.values())

    def run(self, k: int) -> None:
        """One client; what a kill interrupts is sent again."""
        rng = np.random.default_rng(k)
        for i in range(self.each):
            label = f"{k}.{i}"
            body, wanted, raw = self.request(rng, label)
            while True:
                start = time.perf_counter()
                try:
                    status, told = ask(self.service.port, body)
                    break
                except (OSError, http.client.HTTPException, ValueError):
                    self.broken.add(label)
                    time.sleep(0.1)
            fault = self.judge(status, told, wanted, raw)
            with self.lock:
                self.statuses[status] += 1
                self.seconds.append(time.perf_counter() - start)
                if fault:
                    self.wrong.append(f"{label}: {status}, {fault}")
                if status == 200:
                    self.answered[label] = told["items"][0]["action"]

    def request(self, rng: np.random.Generator, label: str) -> tuple[bytes, int, Any]:
        """A body, the status that it deserves, and the outputs in it."""
        if rng.random() < 0.3:
            return (*BAD[rng.integers(len(BAD))], None)
        raw = self.truth + rng.normal(size=2) * 10.0 ** rng.uniform(-4, 0)
        item = {"raw": raw.tolist(), "label": label}
        if rng.random() < 0.2:
            item["values"] = rng.normal(size=self.size).tolist()
        return json.dumps({"items": [item]}).encode(), 200, raw

    def judge(self, status: int, told: Any, wanted: int, raw: Any) -> str:
        """What is wrong with an answer."""
        if status == 429 or (status == wanted and wanted != 200):
            return "" if told.get("error") else "no reason is given"
        if status != wanted:
            return f"not {wanted}: {told}"
        row = told["items"][0]
        low, high, radius = (np.array([q[e] for q in row["queries"]]) for e in ("lower", "upper", "raw_radius"))
        slip = 1e-13  # of the dense solve
        if not (np.all(low <= self.truth + slip) and np.all(high >= self.truth - slip)):
            return f"the interval misses the truth: {row}"
        if not np.all(np.abs(raw - self.truth) <= radius + slip):
            return f"the radius is too small: {row}"
        fits = row["action"] == ("accept" if np.all(radius <= ACCEPT) else "flag")
        return "" if fits else f"a wrong decision: {row}"


def study(requests: int, clients: int, target: str, folder: Path, report: Any) -> dict[str, Any]:
    """Everything, with numbers."""
    service = Service(folder, target)
    seen = Clients(service, target, requests, clients)
    threads = [threading.Thread(target=seen.run, args=(k,)) for k in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    while seen.done < requests // 5:
        time.sleep(0.02)
    service.end(signal.SIGKILL)
    report(f"killed after {seen.done} answers")
    service.start()
    while any(thread.is_alive() for thread in threads):
        service.look()
        threads[0].join(timeout=0.5) if threads[0].is_alive() else time.sleep(0.5)
    service.look()
    seconds = time.perf_counter() - start
    code = service.end(signal.SIGTERM)
    rows = list(read_log(service.log))
    logged = Counter(str(row["label"]) for row in rows)
    actions = {str(row["label"]): row["action"] for row in rows}
    memory = service.memory[len(service.memory) // 5 :]
    return {
        "target": target,
        "requests": seen.done,
        "clients": clients,
        "seconds": round(seconds, 1),
        "answers by status": {str(k): n for k, n in sorted(seen.statuses.items())},
        "wrong answers": seen.wrong[:20],
        "requests that the kill interrupted, sent again": len(seen.broken),
        "answers that the log lacks": sum(label not in logged for label in seen.answered),
        "answers that the log tells otherwise": sum(actions.get(k) != v for k, v in seen.answered.items()),
        "logged twice, and not interrupted": sum(n > 1 and label not in seen.broken for label, n in logged.items()),
        "median and 99th percentile of milliseconds": [
            round(1e3 * float(np.quantile(seen.seconds, q)), 1) for q in (0.5, 0.99)
        ],
        "memory after a fifth, at most after it, at the end, in MB": [
            round(m / 1e6, 1) for m in (memory[0], max(memory), memory[-1])
        ],
        "exit code after SIGTERM": code,
    }


def main() -> None:
    """Run, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--target", choices=("discrete", "continuous"), default="discrete")
    parser.add_argument("--out", type=Path, help="write the numbers as JSON")
    arguments = parser.parse_args()
    told = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        found = study(arguments.requests, arguments.clients, arguments.target, Path(folder), told)
    print(json.dumps(found, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    lost = found["answers that the log lacks"] + found["answers that the log tells otherwise"]
    if found["wrong answers"] or lost or found["logged twice, and not interrupted"]:
        raise SystemExit("the service was wrong")


if __name__ == "__main__":
    main()
