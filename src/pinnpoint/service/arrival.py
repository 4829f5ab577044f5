"""Bodies on their way in: none takes a worker's place, too long, or all the memory."""

from __future__ import annotations

import asyncio
from typing import Any

from pinnpoint.service.body import BadRequestError


class Arrivals:
    """Reads bodies, each within a size and a time, all of them together within `room` bytes.

    Where they would take more, the one that has been coming for longest is given up: those who send at once are never
    kept out by those who do not.
    """

    def __init__(self, largest: int, patience: float, room: int) -> None:
        self.largest, self.patience, self.room = largest, patience, room
        self._coming: dict[asyncio.Timeout, int] = {}

    async def read(self, request: Any) -> bytes:
        """The whole body."""
        length = request.headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 15 or int(length) > self.largest):
            raise self._too_large()
        parts: list[bytes] = []
        clock = asyncio.timeout(self.patience)
        try:
            async with clock:
                self._coming[clock] = 0
                async for part in request.stream():
                    parts.append(part)
                    self._grow(clock, len(part))
        except TimeoutError as error:
            raise BadRequestError(408, f"body: did not arrive within {self.patience:g} seconds, or in time") from error
        finally:
            self._coming.pop(clock, None)
        return b"".join(parts)

    def _grow(self, clock: asyncio.Timeout, size: int) -> None:
        self._coming[clock] += size
        if self._coming[clock] > self.largest:
            raise self._too_large()
        held = sum(self._coming.values())
        while held > self.room and len(self._coming) > 1:
            oldest = next(iter(self._coming))
            held -= self._coming.pop(oldest)
            if oldest is clock:
                raise TimeoutError
            oldest.reschedule(0.0)

    def _too_large(self) -> BadRequestError:
        return BadRequestError(413, f"body: at most {self.largest} bytes")
