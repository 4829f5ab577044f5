"""The files of a bundle, and the manifest of them."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.errors import CertificationError
from pinnpoint.base.threads import begin

SCHEMA = "pinnpoint-bundle/1"
LARGEST = 1e100
"""Numbers of arrays are below, for the checker."""
REMEDY = "which the checker cannot use; a larger budget, or data of a smaller range, may bound it"


class Writer:
    """Writes files into a folder and remembers what the manifest says about them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, Any] = {}
        self._begun: dict[str, tuple[Any, Future[None]]] = {}
        self._others: dict[str, Future[Any]] = {}
        folder.mkdir()

    def begin(self, name: str, a: Any) -> None:
        """Write an array beside other work; `array` then waits for it, where it is given the same one.

        One that is mapped from this very file is there already.
        """
        self._begun[name] = (a, begin(lambda: self._array(name, a)))

    def wait(self) -> None:
        """Wait for what was begun."""
        wait([*self._others.values(), *(future for _, future in self._begun.values())])

    def early(self, name: str, work: Callable[[], Any]) -> None:
        """Do work beside other work; `late` then waits for it."""
        self._others[name] = begin(work)

    def late(self, name: str, work: Callable[[], Any]) -> Any:
        """The result of work, which may have been begun under this name."""
        future = self._others.pop(name, None)
        return work() if future is None else future.result()

    def discard(self) -> None:
        """Remove the folder."""
        self.wait()
        shutil.rmtree(self.folder)

    def array(self, name: str, a: Any) -> None:
        """Floats or integers as .npy, little endian."""
        given, future = self._begun.pop(name, (None, None))
        if future is not None:
            future.result()
        if future is None or given is not a:
            self._array(name, a)

    def _array(self, name: str, a: Any) -> None:
        path = self.path(f"{name}.npy")
        mapped = isinstance(a, np.memmap) and a.filename is not None and Path(a.filename) == path.absolute()
        a = np.asarray(a)
        a = np.ascontiguousarray(a, dtype="<f8" if a.dtype.kind == "f" else "<i8")
        if a.dtype.kind == "f" and not max(float(a.max(initial=0.0)), -float(a.min(initial=0.0))) < LARGEST:
            raise CertificationError(f"{name}: holds numbers of {LARGEST} and beyond, {REMEDY}")
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(a))
        pieces = (head.getvalue(), a.reshape(-1).view(np.uint8).data)
        if not mapped:
            with path.open("wb") as stream:
                stream.writelines(pieces)
        self._note(f"{name}.npy", *pieces, dtype=a.dtype.str, shape=list(a.shape))

    def sparse(self, name: str, A: Any) -> None:
        """A matrix as the three arrays of its CSR form."""
        A = sp.csr_array(A)
        if not A.has_canonical_format:
            A = A.copy()
            A.sum_duplicates()
        for part in ("data", "indices", "indptr"):
            self.array(f"{name}_{part}", getattr(A, part))

    def json(self, name: str, data: Any) -> None:
        """Strict JSON."""
        try:
            text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False).encode() + b"\n"
        except ValueError as error:
            raise CertificationError(f"{name}: a bound is infinite, {REMEDY}") from error
        self.path(name).write_bytes(text)
        self._note(name, text)

    def close(self, certificate: Mapping[str, Any]) -> None:
        """Write the manifest, with the certificate's id and versions."""
        said = {"schema": SCHEMA, "certificate": certificate["id"], "versions": certificate["versions"]}
        said |= {"files": dict(sorted(self.files.items()))}
        (self.folder / "manifest.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")

    def path(self, name: str) -> Path:
        """Where a file goes; its folder is made."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        return path

    def _note(self, name: str, *pieces: bytes | memoryview, **more: Any) -> None:
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
        self.files[name] = {"sha256": digest.hexdigest(), "bytes": sum(map(len, pieces)), **more}


def foreign(folder: Path) -> str:
    """A file in a folder that no bundle has put there, by its manifest; empty where there is none."""
    try:
        said = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        named = {"manifest.json", *said["files"]} if said["schema"] == SCHEMA else set()
    except (OSError, ValueError, LookupError, TypeError):
        named = set()
    files = (
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    )
    return next((name for name in files if name not in named), "")
