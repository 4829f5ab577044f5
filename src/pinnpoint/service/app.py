"""The HTTP application: routes, limits and overload."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pinnpoint.base.errors import DependencyMissingError, InputError, PinnpointError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.monitoring.monitor import Decision, LogError, Monitor
from pinnpoint.service.arrival import Arrivals
from pinnpoint.service.body import BadRequestError, Item, answered, parse
from pinnpoint.service.engine import Engine
from pinnpoint.service.metrics import Metrics
from pinnpoint.service.openapi import describe
from pinnpoint.systems.derived import said
from pinnpoint.systems.limits import Limit

log = logging.getLogger(__name__)

BODIES = 8
"""Bodies of the largest size that may be on their way at once."""


@dataclass(frozen=True)
class Limits:
    """What a client may ask for.

    Attributes
    ----------
    body
        Bytes of a request.
    batch
        Predictions in a request.
    workers
        Requests that are computed at once.
    waiting
        Requests that may wait beside them; more are answered 429.
    patience
        Seconds in which a head and a body must each arrive, and an answer be read.
    """

    body: int = 16_000_000
    batch: int = 256
    workers: int = 2
    waiting: int = 16
    patience: float = 30.0

    def __post_init__(self) -> None:
        sizes = {"body": self.body, "batch": self.batch, "workers": self.workers, "patience": self.patience}
        for name, size in sizes.items():
            if not size > 0:
                raise InputError(f"{name}: must be > 0; got {size!r}")
        if self.waiting < 0:
            raise InputError(f"waiting: must be ≥ 0; got {self.waiting!r}")


def make_app(engine: Engine, limits: Limits | None = None, monitor: Monitor | None = None) -> Any:
    """An ASGI application. With a monitor every prediction is decided about and logged before it is answered."""
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.requests import ClientDisconnect
        from starlette.responses import JSONResponse, PlainTextResponse
        from starlette.routing import Route
    except ImportError as error:
        raise DependencyMissingError("pinnpoint serve needs starlette: pip install 'pinnpoint[serve]'") from error
    service = _Service(engine, Limits() if limits is None else limits, monitor)

    async def certify(request: Any) -> Any:
        status, content, headers = await service.answered(request, ClientDisconnect)
        return JSONResponse(content, status, headers or None)

    def fixed(path: str, make: Callable[[], Any]) -> Any:
        async def get(request: Any) -> Any:
            service.metrics.request(path, 200, 0.0)
            return make()

        return Route(path, get, methods=["GET"])

    async def refused(request: Any, error: Any) -> Any:
        return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)

    about, schema = service.about(), describe(engine, service.limits.batch)
    routes = [
        Route("/v1/certify", certify, methods=["POST"]),
        fixed("/v1/queries", lambda: JSONResponse(about)),
        fixed("/healthz", lambda: JSONResponse({"status": "ok"})),
        fixed("/metrics", lambda: PlainTextResponse(service.metrics.text(), media_type="text/plain; version=0.0.4")),
        fixed("/openapi.json", lambda: JSONResponse(schema)),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: refused})
    app.state.service = service
    return app


def _status(error: PinnpointError) -> int:
    """What a refusal is in HTTP's words; a log that fails is told to whoever runs the service, too."""
    if isinstance(error, BadRequestError):
        return error.status
    if isinstance(error, LogError):
        log.error("%s", error)
        return 503
    return 422


def _limit(x: float) -> float | None:
    """As JSON has it; none where nothing is asked."""
    return float(x) if math.isfinite(x) else None


def _limits(monitor: Monitor) -> dict[str, Any]:
    """Limits of true values, and what follows from the queries; nothing where there is none."""
    derived = [said(one) for one in monitor.derived]
    found: dict[str, Any] = {"derived": derived} if derived else {}
    if monitor.limit is not None:
        found["limit"] = [Limit(*map(float, row)).said() or None for row in monitor.limit]
    return found


class _Service:
    """Admission, reading and computing of requests."""

    def __init__(self, engine: Engine, limits: Limits, monitor: Monitor | None) -> None:
        self.engine, self.limits, self.monitor, self.metrics = engine, limits, monitor, Metrics()
        self.arrivals = Arrivals(limits.body, limits.patience, BODIES * limits.body)
        self.pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="certify")

    def about(self) -> dict[str, Any]:
        """What is asked, and of what."""
        engine = self.engine
        about = {"title": engine.title, "target": engine.target, "dofs": engine.dofs, "loads": engine.loads}
        about |= {"values": engine.values, "queries": list(engine.names)}
        if self.monitor is not None:
            about["accept"] = [_limit(a) for a in self.monitor.accept]
            about |= _limits(self.monitor)
        if engine.tolerance is not None:
            about["tolerance"] = [_limit(t) for t in engine.tolerance]
        return about

    async def answered(self, request: Any, gone: type[Exception]) -> tuple[int, dict[str, Any], dict[str, str]]:
        """Status, content and headers; `gone` is raised where the client has left."""
        start, status = time.perf_counter(), 500
        headers: dict[str, str] = {}
        try:
            content = await self.certify(request)
            status = 200
        except PinnpointError as error:
            status, content = _status(error), {"error": str(error)}
            if status == 429:
                headers["Retry-After"] = "1"
            if status in (408, 413):  # the rest of the body is not read
                headers["Connection"] = "close"
        except gone:  # before its body was complete; nobody reads the answer
            status, content = 400, {"error": "body: is not complete"}
        except asyncio.CancelledError:  # at the end of the time that a service which is stopped gives to its requests
            status, content = 503, {"error": "shutting down: the request was not finished"}
            headers["Connection"] = "close"
        except Exception:
            log.exception("internal error")
            content = {"error": "internal error; see the service's log"}
        finally:
            self.metrics.request("/v1/certify", status, time.perf_counter() - start)
        return status, content, headers

    async def certify(self, request: Any) -> dict[str, Any]:
        """One answer per item."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise BadRequestError(415, f"content-type: must be application/json; got {kind[:60] or 'none'!r}")
        self._admit()
        data = await self.arrivals.read(request)  # whoever sends slowly takes nobody's place
        self._admit()
        self.metrics.waiting += 1  # on the event loop, so nothing comes between check and count
        try:
            return await asyncio.get_running_loop().run_in_executor(self.pool, self._compute, data)
        finally:
            self.metrics.waiting -= 1

    def _admit(self) -> None:
        if self.metrics.waiting >= self.limits.workers + self.limits.waiting:
            raise BadRequestError(429, "overloaded: too many requests are waiting; try again in a second")

    def _compute(self, data: bytes) -> dict[str, Any]:
        items = parse(data, self.engine, self.limits.batch)
        found = [self.engine.answer(item.values, item.raw, item.mu) for item in items]  # all, before any is logged
        for item, certificate in zip(items, found, strict=True):  # what could not be answered is not decided
            json.dumps(answered(item, certificate, None), allow_nan=False, ensure_ascii=False).encode("utf-8")
        decided = self._decided(items, found)
        self.metrics.decisions(["certified" if one is None else one.action for one in decided])
        return {"items": [answered(*row) for row in zip(items, found, decided, strict=True)]}

    def _decided(self, items: list[Item], found: list[Certificate]) -> Sequence[Decision | None]:
        """A request's decisions, logged together; none without a monitor."""
        if self.monitor is None:
            return [None] * len(items)
        return self.monitor.judge_many(found, [item.label for item in items])
