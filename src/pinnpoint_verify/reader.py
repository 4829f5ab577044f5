"""Read a bundle strictly: names, sizes, hashes and types first; nothing is followed, unpickled or evaluated."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = Any
SCHEMA = "pinnpoint-bundle/1"


class Refused(Exception):  # noqa: N818
    """The line that fails."""


def need(true: Any, line: str) -> None:
    """Everything below is a list of these."""
    if not bool(true):
        raise Refused(line)


def larger(*x: Any, **how: Any) -> Any:
    """Python's `max`, but what is no number stays: `max(0.0, nan)` is 0.0, and a bound would be lost."""
    return _extreme(max, x, how)


def smaller(*x: Any, **how: Any) -> Any:
    """Python's `min`, but what is no number stays."""
    return _extreme(min, x, how)


def _extreme(of: Any, x: Any, how: Any) -> Any:
    """One of several, or of one list, by its `key`; the first that is no number, if there is one."""
    key, every = how.get("key", lambda v: v), list(x if len(x) > 1 else x[0])
    odd = [v for v in every if key(v) != key(v)]
    return odd[0] if odd else of(every, **how)


NAME = re.compile(r"[a-z0-9_]{1,40}(/[a-z0-9_]{1,40}){0,2}\.(npy|json)")
MOST_FILES, MOST_JSON, MOST_BYTES = 20_000, 2**26, 2**35
JSON = ("case.json", "certificate.json", "proof.json")


def strict_json(data: bytes, name: str) -> Any:
    """JSON without duplicate keys and without numbers that are not finite, or whole and beyond 18 digits."""

    def once(items: list[tuple[str, Any]]) -> dict[str, Any]:
        need(len(dict(items)) == len(items), f"{name}: a key appears twice")
        return dict(items)

    def finite(text: str) -> float:
        need(math.isfinite(float(text)), f"{name}: the number {text[:20]} is not finite")
        return float(text)

    def whole(text: str) -> int:
        need(len(text) < 20, f"{name}: the number {text[:20]}… is too large")
        return int(text)

    try:
        return json.loads(
            data.decode(), object_pairs_hook=once, parse_float=finite, parse_constant=finite, parse_int=whole
        )
    except (ValueError, RecursionError) as error:
        raise Refused(f"{name}: is not strict JSON ({type(error).__name__})") from error


class Bundle:
    """Files by name, each looked at through the manifest; `used` are those that a proof has read."""

    def __init__(self, path: Any) -> None:
        root, there, todo, seen = Path(path), dict[str, int](), [""], set[str]()
        need(root.is_dir(), f"{str(path)!r}: is not a folder")
        while todo:
            here = todo.pop()
            with os.scandir(root / here) as entries:
                for entry in entries:
                    name = here + entry.name
                    need(not entry.is_symlink(), f"{name!r}: is a symbolic link")
                    need(len(there) < MOST_FILES and name.count("/") < 3, f"{name!r}: too many files or folders")
                    if entry.is_dir():
                        todo.append(name + "/")
                        seen.add(name + "/")
                        need(len(seen) < MOST_FILES, f"{name!r}: too many files or folders")
                        continue
                    need(entry.is_file(), f"{name!r}: is not a regular file")
                    there[name] = entry.stat().st_size
        need(0 < there.pop("manifest.json", 0) <= MOST_JSON, "manifest.json: is missing or too large")
        need(sum(there.values()) <= MOST_BYTES, f"the files are larger than {MOST_BYTES} bytes together")
        text = (root / "manifest.json").read_bytes()
        need(text.endswith(b"}\n"), "manifest.json: does not end as it should")
        said = strict_json(text, "manifest.json")
        need(
            isinstance(said, dict) and set(said) - {"certificate"} == {"schema", "versions", "files"},
            "manifest.json: wrong keys",
        )
        need(said["schema"] == SCHEMA, "manifest.json: unknown schema")
        folders = {"/".join(name.split("/")[:k]) + "/" for name in there for k in range(1, name.count("/") + 1)}
        empty = sorted(seen - folders)[:3]
        need(not empty, f"{empty}: folders without files")
        odd = sorted(set(there) ^ set(said["files"]))[:3] if isinstance(said["files"], dict) else ["no list"]
        need(not odd, f"manifest.json: {odd} missing, or not in it")
        self.json: dict[str, Any] = {}
        self.arrays: dict[str, Array] = {}
        self.used: set[str] = set()
        self.versions, self.named = said["versions"], said.get("certificate")
        for name, about in said["files"].items():
            need(NAME.fullmatch(name), f"manifest.json: {name!r} is not the name of a file in a bundle")
            keys = {"sha256", "bytes"} | ({"dtype", "shape"} if name.endswith(".npy") else set())
            need(isinstance(about, dict) and set(about) == keys, f"{name}: wrong keys in the manifest")
            need(about["bytes"] == there[name], f"{name}: has another size than the manifest says")
            if name.endswith(".npy"):
                self._header(root / name, name, about["dtype"], about["shape"])
            else:
                need(name in JSON, f"{name}: is part of no proof")
                need(there[name] <= MOST_JSON, f"{name}: too large")
        for name, about in said["files"].items():  # what is read whole has a checked size by now
            if name.endswith(".npy"):
                with open(root / name, "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                need(digest == about["sha256"], f"{name}: has another SHA-256")
                self.arrays[name[:-4]] = self._array(root / name, name, about["dtype"], about["shape"])
            else:
                data = (root / name).read_bytes()
                need(hashlib.sha256(data).hexdigest() == about["sha256"], f"{name}: has another SHA-256")
                self.json[name] = strict_json(data, name)
                need(isinstance(self.json[name], dict), f"{name}: is not an object")

    @staticmethod
    def _header(path: Path, name: str, dtype: Any, shape: Any) -> int:
        """Where the data begin in a .npy file whose header is exactly the manifest's and whose data is that long."""
        whole = isinstance(shape, list) and len(shape) <= 3 and all(type(n) is int and 0 <= n < 2**40 for n in shape)
        need(dtype in ("<f8", "<i8") and whole, f"{name}: wrong dtype or shape")
        with open(path, "rb") as file:
            head = file.read(10)
            start = 10 + int.from_bytes(head[8:], "little")
            said = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
            fits = head[:8] == b"\x93NUMPY\x01\x00" and file.read(start - 10).decode("latin-1").strip() == said
        need(fits, f"{name}: its header is not what the manifest says")
        need(path.stat().st_size - start == 8 * math.prod(shape), f"{name}: is not as long as its header says")
        return start

    @classmethod
    def _array(cls, path: Path, name: str, dtype: Any, shape: Any) -> Array:
        """The data of a .npy file, all of it finite."""
        start = cls._header(path, name, dtype, shape)
        a = np.memmap(path, dtype, "r", start, tuple(shape)) if math.prod(shape) else np.zeros(shape, dtype)
        need(dtype != "<f8" or np.max(np.abs(a), initial=0.0) < 1e100, f"{name}: has numbers that are not finite")
        return a

    def identity(self) -> str:
        """The certificate's id: the SHA-256 of its content without it, on one line, keys sorted, without spaces.

        Manifest and certificate have it, or both were written before there were ids.
        """
        certificate = self.json["certificate.json"]
        rest = {key: value for key, value in certificate.items() if key != "id"}
        line = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
        own, said = hashlib.sha256(line.encode()).hexdigest(), certificate.get("id")
        need(said in (None, own), f"certificate.json: its id is {own}, not {said}")
        need(self.named == said, f"manifest.json: is of the certificate {self.named}, not of {said}")
        return own

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def __call__(self, name: str, *shape: int | None, whole: int | None = None) -> Array:
        """An array of the expected shape; with `whole`, of integers from 0 to whole − 1."""
        need(name in self.arrays, f"{name}.npy: is missing")
        self.used.add(name)
        a = self.arrays[name]
        fits = a.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, a.shape, strict=True))
        need(fits and (a.dtype.kind == "i") == (whole is not None), f"{name}.npy: has another dtype or shape")
        need(whole is None or not a.size or (a.min() >= 0 and a.max() < whole), f"{name}.npy: out of range")
        return np.asarray(a)

    def sparse(self, name: str, rows: int, columns: int) -> Array:
        """A CSR matrix from its three arrays."""
        start = self(f"{name}_indptr", rows + 1, whole=2**40)
        at, x = self(f"{name}_indices", None, whole=columns), self(f"{name}_data", None)
        need(start[0] == 0 and np.all(np.diff(start) >= 0) and start[-1] == len(at) == len(x), f"{name}: not CSR")
        A = sp.csr_array((x, at, start), shape=(rows, columns))
        need(A.has_canonical_format, f"{name}: indices are not sorted, or appear twice")
        return A
