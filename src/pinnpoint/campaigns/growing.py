"""What all tables of a campaign have in common."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.campaigns.tasks import Row


class AbstractTable(ABC):
    """A table of instances; `done` holds the names of those that are in it."""

    done: set[str]
    pause: float = math.inf
    """Seconds after which `tick` should be called again."""

    @abstractmethod
    def add(self, instance: str, rows: list[Row]) -> None:
        """Append one instance; where it is refused, the table is as it was before."""

    @abstractmethod
    def tick(self) -> None:
        """Write what has been waiting for long."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left."""

    def __enter__(self) -> AbstractTable:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


FAR = 2**31 - 2
"""Of a file, the place of the byte that is locked on Windows, where nothing is written."""


def lock(stream: Any, path: Path) -> None:
    """One run at a time; a kill lets go of the lock."""
    try:
        _held(stream.fileno())
    except OSError as error:
        raise InputError(
            f"out: '{path}' is being written by another run; wait for it, or choose another file"
        ) from error


def _held(number: int) -> None:
    """Lock a file by what the system has, or raise OSError; without either there is no lock."""
    try:
        import fcntl
    except ImportError:
        _held_on_windows(number)
        return
    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _held_on_windows(number: int) -> None:
    try:
        import msvcrt
    except ImportError:
        return
    locks: Any = msvcrt
    here = os.lseek(number, 0, os.SEEK_CUR)
    try:
        os.lseek(number, FAR, os.SEEK_SET)  # locks there are of bytes from where one is, and nobody may read these
        locks.locking(number, locks.LK_NBLCK, 1)
    finally:
        os.lseek(number, here, os.SEEK_SET)


def other_columns(instance: str, given: Any, known: Any) -> InputError:
    """The refusal of an instance that does not fit."""
    return InputError(
        f"task: instance '{instance[:60]}' has the columns {', '.join(given)}; the table has {', '.join(known)}; "
        "return the same columns for every instance, None where there is no value"
    )


def not_written(path: Path, error: OSError) -> InputError:
    """The refusal of the disk."""
    return InputError(f"out: '{path}' could not be written ({error.strerror}); make room and run again to go on")
