"""Progress on stderr: one line per stage, with the time it took; rewritten in place on a terminal."""

from __future__ import annotations

import logging
import sys
import time
from types import TracebackType

SELDOM = 2.0
"""Seconds between counts."""


class Stages:
    """Announces stages; silent when asked to be."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self.total, self.quiet = total, quiet
        self.number, self.text = 0, ""
        self.began = self.started = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        """Begin a stage."""
        self._close()
        self.number, self.text, self.began = self.number + 1, text, time.monotonic()
        if not self.quiet and self.terminal:
            share = (self.number - 1) / self.total
            spent = self.began - self.started
            left = f", about {spent / share - spent:.0f} s left" if share > 0.2 and spent > 2.0 else ""
            filled = "#" * round(20 * share)
            print(f"\r\x1b[K[{filled:20}] {text}{left}", end="", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Tell how the present stage is going."""
        if not self.quiet:
            line = f"  {text}"
            print(
                f"\r\x1b[K{line}" if self.terminal else line,
                end="" if self.terminal else "\n",
                file=sys.stderr,
                flush=True,
            )

    def _close(self) -> None:
        if self.text and not self.quiet:
            line = f"{self.text}: {time.monotonic() - self.began:.1f} s"
            print(f"\r\x1b[K{line}" if self.terminal else line, file=sys.stderr, flush=True)
        self.text = ""

    def __enter__(self) -> Stages:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._close()
        elif self.text and not self.quiet and self.terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class Told(logging.Handler):
    """What the transfer tells the log, as notes of the stage: of single queries at once, counts of them seldom.

    Within ``with Told(stage):`` the transfer's log is switched on; a stage that is done soon shows nothing.
    """

    def __init__(self, stage: Stages) -> None:
        super().__init__(logging.INFO)
        self.stage, self.began, self.last = stage, 0.0, 0.0
        self.log = logging.getLogger("pinnpoint.transfer")
        self.level_before = self.log.level

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record."""
        now, text = time.monotonic(), record.getMessage()
        if hasattr(record, "done"):
            if record.done == 0:
                self.began = self.last = now
            if now - self.last < SELDOM:
                return
            self.last = now
            left = (now - self.began) * (record.total - record.done) / max(1, record.done)  # type: ignore[attr-defined]
            text = f"{text}, about {left:.0f} s left" if record.done else text
        self.stage.note(text)

    def __enter__(self) -> Told:
        if not self.stage.quiet:
            self.log.addHandler(self)
            self.log.setLevel(logging.INFO)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.log.removeHandler(self)
        self.log.setLevel(self.level_before)
