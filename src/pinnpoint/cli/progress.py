"""Progress on stderr: one line per stage, with the time it took; rewritten in place on a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType


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
