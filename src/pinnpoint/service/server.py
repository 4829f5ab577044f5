"""The server under the application: who listens, and how long a connection may keep it waiting."""

from __future__ import annotations

import errno
import signal
import socket
from collections.abc import Callable
from typing import Any

from pinnpoint.base.errors import DependencyMissingError, InputError

LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

BACKLOG = 2048
"""Connections that may wait to be taken."""


def configured(app: Any, host: str, port: int) -> Any:
    """Uvicorn's settings, with a protocol that closes connections whose head does not come or that do not read."""
    try:
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol
    except ImportError as error:
        raise DependencyMissingError("pinnpoint serve needs uvicorn: pip install 'pinnpoint[serve]'") from error
    patience = app.state.service.limits.patience

    class Impatient(H11Protocol):
        """Heads must come, and answers must be read, within the same time as bodies."""

        head: Any = None
        unread: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.head = self.loop.call_later(patience, self._late)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            waits = self.cycle is None or self.cycle.response_complete  # for a head of which a part has come
            if not waits and self.head is not None:
                self.head.cancel()
                self.head = None
            elif waits and self.head is None:
                self.head = self.loop.call_later(patience, self._late)

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in (self.head, self.unread):
                if timer is not None:
                    timer.cancel()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self.unread = self.loop.call_later(patience, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self.unread is not None:
                self.unread.cancel()

        def _late(self) -> None:
            if not self.transport.is_closing():
                self.transport.write(LATE)
                self.transport.close()

    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=Impatient,
        log_level="warning",
        timeout_graceful_shutdown=10,
        server_header=False,
    )


def listening(host: str, port: int) -> list[socket.socket]:
    """Sockets at every address of a host; refuses a host that has none here, and a port that is taken."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise InputError(f"host: '{host}' is not known here; give an address of this machine, or 127.0.0.1") from error
    sockets: list[socket.socket] = []
    failed: OSError | None = None
    for family, address in dict.fromkeys((one[0], one[4]) for one in found):
        try:
            sockets.append(socket.create_server(address, family=family, backlog=BACKLOG))
        except OSError as error:
            failed = error
    if not sockets or (failed is not None and failed.errno == errno.EADDRINUSE):
        for one in sockets:
            one.close()
        if failed is not None and failed.errno == errno.EADDRNOTAVAIL:
            raise InputError(f"host: '{host}' is no address of this machine; 127.0.0.1 is") from failed
        raise InputError(f"port: cannot listen on {host}:{port}; is it taken? choose another, or 0 for any") from failed
    return sockets


def run_app(app: Any, host: str = "127.0.0.1", port: int = 8765, started: Callable[[int], None] | None = None) -> None:
    """Serve until interrupted or terminated; requests at work are finished first."""
    config = configured(app, host, port)
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started and started is not None:
                started(self.servers[0].sockets[0].getsockname()[1])

    sockets = listening(host, port)
    ends = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: None) for number in ends]  # uvicorn raises them again when it is done
    try:
        Server(config).run(sockets=sockets)
    finally:
        for one in sockets:
            one.close()
        for number, handler in zip(ends, before, strict=True):
            signal.signal(number, handler)
