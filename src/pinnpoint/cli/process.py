"""The process around a command: who started it, streams that are closed or full, and signals that end it."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that ask the process to end, beside Ctrl-C."""
LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")
"""Numbers of processes that mpirun and its kin set."""


class EndedError(KeyboardInterrupt):
    """A signal asked the process to end; what was begun is cleared away as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Stream(io.TextIOWrapper):
    """A standard stream whose writes do not fail: what cannot be written goes nowhere, and `failure` says why."""

    failure: OSError | None = None

    def write(self, text: str) -> int:
        """As much as can be."""
        try:
            return super().write(text)
        except OSError as error:
            self._silence(error)
        return len(text)

    def flush(self) -> None:
        """What is left goes nowhere either, so that Python does not try again when it ends."""
        try:
            super().flush()
        except OSError as error:
            self._silence(error)

    def _silence(self, error: OSError) -> None:
        self.failure = self.failure or error
        with suppress(OSError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)


def take_streams() -> None:
    """Have something behind all standard streams, and make writing to them safe.

    A file that is opened later would else get the number of a closed one, and what is printed would go into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # takes the smallest number that is free
            if null != number:
                os.dup2(null, number)
                os.close(null)
    for name, number in (("stdout", 1), ("stderr", 2)):
        old = getattr(sys, name)
        if old is None:  # it was closed
            new = Stream(open(number, "wb", closefd=False), encoding="utf-8", errors="backslashreplace")
        else:
            lines, through = old.line_buffering, old.write_through
            new = Stream(old.buffer, old.encoding, "backslashreplace", line_buffering=lines, write_through=through)
        setattr(sys, name, new)


def launched() -> bool:
    """Whether a launcher of MPI started this process among others."""
    return any(os.environ.get(name, "").isdecimal() and int(os.environ[name]) > 1 for name in LAUNCHERS)


def unwritten() -> OSError | None:
    """Why what was printed has not arrived, where it has not."""
    sys.stdout.flush()
    return sys.stdout.failure if isinstance(sys.stdout, Stream) else None


def leave(number: int, frame: FrameType | None = None) -> NoReturn:
    """End at once: nothing was begun yet, or it is cleared away. An exception within an import could get lost."""
    with suppress(OSError, RuntimeError):  # RuntimeError: the signal came in the midst of a write
        sys.stdout.flush()
    with suppress(OSError):
        os.write(2, f"pinnpoint: {word(number)}\n".encode())
    os._exit(128 + number)


def word(number: int) -> str:
    """What happened to the process."""
    return "interrupted" if number == signal.SIGINT else "terminated"


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Within it signals end the process right away; after it they unwind what was begun.

    Signals that are ignored, as by nohup, or handled by whoever called, stay so.
    """
    ours = [n for n in ENDS if signal.getsignal(n) is signal.SIG_DFL]
    stopping = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    for number in [*ours, *([signal.SIGINT] if stopping else [])]:
        signal.signal(number, leave)
    try:
        yield
    finally:
        if stopping:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in ours:
            signal.signal(number, unwind)


def unwind(number: int, frame: FrameType | None) -> NoReturn:
    """The handler of signals that end the process."""
    raise EndedError(number)
