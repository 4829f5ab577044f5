"""Counters in Prometheus' text format."""

from __future__ import annotations

import threading
from collections import Counter

EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Requests by path and status, decisions, items, seconds; safe to use from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._actions: Counter[str] = Counter()
        self._bins = [0] * (len(EDGES) + 1)
        self._seconds = 0.0
        self.waiting = 0

    def request(self, path: str, status: int, seconds: float) -> None:
        """One request is answered."""
        with self._lock:
            self._requests[path, status] += 1
            if path == "/v1/certify":
                self._seconds += seconds
                self._bins[next((i for i, edge in enumerate(EDGES) if seconds <= edge), len(EDGES))] += 1

    def decisions(self, actions: list[str]) -> None:
        """Items of one request are decided."""
        with self._lock:
            self._actions.update(actions)

    def text(self) -> str:
        """All of it."""
        with self._lock:
            lines = ["# HELP pinnpoint_requests_total Requests answered.", "# TYPE pinnpoint_requests_total counter"]
            for (path, status), n in sorted(self._requests.items()):
                lines.append(f'pinnpoint_requests_total{{path="{path}",status="{status}"}} {n}')
            lines += ["# HELP pinnpoint_items_total Predictions certified.", "# TYPE pinnpoint_items_total counter"]
            for action, n in sorted(self._actions.items()):
                lines.append(f'pinnpoint_items_total{{action="{action}"}} {n}')
            name = "pinnpoint_certify_seconds"
            lines += [f"# HELP {name} Seconds to answer /v1/certify.", f"# TYPE {name} histogram"]
            total = 0
            for edge, n in zip((*(f"{e:g}" for e in EDGES), "+Inf"), self._bins, strict=True):
                total += n
                lines.append(f'{name}_bucket{{le="{edge}"}} {total}')
            lines += [f"{name}_sum {self._seconds:.6f}", f"{name}_count {total}"]
            lines += ["# HELP pinnpoint_in_flight Requests at work or waiting.", "# TYPE pinnpoint_in_flight gauge"]
            lines.append(f"pinnpoint_in_flight {self.waiting}")
        return "\n".join(lines) + "\n"
