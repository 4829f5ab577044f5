"""The files of a bundle, and the manifest of them."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

SCHEMA = "pinnpoint-bundle/1"


class Writer:
    """Writes files into a folder and remembers what the manifest says about them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, Any] = {}
        folder.mkdir()

    def array(self, name: str, a: Any) -> None:
        """Floats or integers as .npy, little endian."""
        a = np.asarray(a)
        a = np.ascontiguousarray(a, dtype="<f8" if a.dtype.kind == "f" else "<i8")
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(a))
        pieces = (head.getvalue(), a.reshape(-1).view(np.uint8).data)
        with self._path(f"{name}.npy").open("wb") as stream:
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
        text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False).encode() + b"\n"
        self._path(name).write_bytes(text)
        self._note(name, text)

    def close(self, versions: Any) -> None:
        """Write the manifest."""
        said = {"schema": SCHEMA, "versions": versions, "files": dict(sorted(self.files.items()))}
        (self.folder / "manifest.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")

    def _path(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        return path

    def _note(self, name: str, *pieces: bytes | memoryview, **more: Any) -> None:
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
        self.files[name] = {"sha256": digest.hexdigest(), "bytes": sum(map(len, pieces)), **more}
