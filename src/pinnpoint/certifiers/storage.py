"""Where Green vectors are kept: in memory or in a file, in double or single precision."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError

PAGE = 4096
PRECISIONS = {"float64": np.float64, "float32": np.float32}


@dataclass(frozen=True)
class Storage:
    """One row per query.

    A Green vector in single precision is another vector, half as large, whose defect is enclosed like any other: for
    states with a small residual the interval hardly changes, for poor ones it widens.

    Parameters
    ----------
    precision
        ``"float64"`` or ``"float32"``.
    file
        A .npy file to map into memory; None to keep the rows there. An existing file is replaced by a new one, so that
        whoever has mapped it keeps what was in it. Nobody else may write into it while it is in use.
    """

    precision: str = "float64"
    file: Any = None

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise InputError(f"storage: must be 'float64' or 'float32'; got {self.precision!r}")
        if not isinstance(self.file, str | os.PathLike | None):
            raise InputError(f"file: must be the path of a .npy file; got {self.file!r}")
        if self.file is not None and Path(self.file).suffix != ".npy":
            raise InputError(f"file: must end in .npy; got '{self.file}'")

    @property
    def is_single(self) -> bool:
        """Whether vectors are rounded to single precision."""
        return self.precision == "float32"

    def rows(self, K: int, n: int) -> Any:
        """An array of this shape with any content."""
        kind = PRECISIONS[self.precision]
        if self.file is None:
            return np.empty((K, n), dtype=kind)
        try:
            self.discard()
            found = np.lib.format.open_memmap(self.file, mode="w+", dtype=kind, shape=(K, n))
            if hasattr(os, "posix_fallocate"):  # a full disk is refused here; later it would end the process
                with Path(self.file).open("r+b") as stream:
                    os.posix_fallocate(stream.fileno(), 0, found.offset + found.nbytes)
            found.reshape(-1)[:: PAGE // found.itemsize] = 0.0  # every page is mapped now, not in the midst of solves
            return found
        except OSError as error:
            self.discard()
            raise InputError(
                f"file: '{self.file}' could not be made ({error.strerror}); choose another place"
            ) from error

    def discard(self) -> None:
        """Remove the file."""
        if self.file is not None:
            with suppress(OSError):
                Path(self.file).unlink(missing_ok=True)

    def rounded(self, X: Vector) -> Vector:
        """What is left of X once it was stored."""
        if not self.is_single:
            return X
        with np.errstate(over="ignore", under="ignore"):
            return X.astype(np.float32).astype(np.float64)


DOUBLE = Storage()
