"""Safetensors files: a length, a table in JSON, and plain numbers; nothing in them is executed."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import write_whole

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
WHOLE = {"I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
MOST_HEADER = 100_000_000
KEYS = {"dtype", "shape", "data_offsets"}


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, Vector]:
    """Every tensor in float64, exactly. Refuses what leaves the file, overlaps, has holes or is no floating point."""
    return {name: decoded(raw, dtype).reshape(shape) for name, raw, dtype, shape in _tensors(path, SIZES)}


def read_state(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Every tensor in its own number format, whole numbers as well; bfloat16 becomes float32, exactly."""
    found: dict[str, NDArray[Any]] = {}
    for name, raw, dtype, shape in _tensors(path, {**SIZES, **WHOLE}):
        if dtype == "BF16":
            found[name] = decoded(raw, dtype).astype(np.float32).reshape(shape)
        else:
            kind = "?" if dtype == "BOOL" else f"<{dtype[0].lower()}{({**SIZES, **WHOLE})[dtype]}"
            found[name] = np.frombuffer(raw, dtype=kind).reshape(shape).copy()
    return found


def _tensors(path: Any, sizes: Mapping[str, int]) -> list[tuple[str, bytes, str, tuple[int, ...]]]:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read; {error.strerror}") from error
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(len(data) - 8, MOST_HEADER):
        raise InputError(f"{path}: must be a safetensors file; its table would leave the file")
    try:
        table = json.loads(data[8 : 8 + length].decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: must be a safetensors file; its table is not JSON: {error}") from error
    if not isinstance(table, dict):
        raise InputError(f"{path}: must be a safetensors file; its table is no object")
    body = memoryview(data)[8 + length :]
    table.pop("__metadata__", None)
    entries = [(_checked(path, name, entry, sizes), name) for name, entry in table.items()]
    at, found = 0, []
    for (start, stop, dtype, shape), name in sorted(entries):
        if start != at or stop > len(body):
            raise InputError(f"{path}: {name} is not stored next to the tensor before it, or leaves the file")
        found.append((name, bytes(body[start:stop]), dtype, shape))
        at = stop
    if at != len(body):
        raise InputError(f"{path}: {len(body) - at} bytes at its end belong to no tensor")
    return found


def decoded(raw: bytes, dtype: str) -> Vector:
    """Little-endian numbers of one kind, in float64."""
    if dtype == "BF16":
        wide = np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16
        return wide.view(np.float32).astype(np.float64)
    return np.frombuffer(raw, dtype=f"<f{SIZES[dtype]}").astype(np.float64)


def _checked(path: Any, name: str, entry: Any, sizes: Mapping[str, int]) -> tuple[int, int, str, tuple[int, ...]]:
    if not isinstance(entry, dict) or set(entry) != KEYS:
        raise InputError(f"{path}: {name} must have dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if dtype not in sizes:
        raise InputError(f"{path}: {name} must be of {', '.join(sizes)}; got {dtype!r}")
    whole = [isinstance(v, list) and all(type(n) is int and n >= 0 for n in v) for v in (shape, offsets)]
    if not all(whole) or len(offsets) != 2 or len(shape) > 8:
        raise InputError(f"{path}: {name} must have a shape and two offsets of whole numbers")
    if offsets[1] - offsets[0] != math.prod(shape) * sizes[dtype]:
        raise InputError(f"{path}: {name} has {offsets[1] - offsets[0]} bytes for the shape {shape} of {dtype}")
    return offsets[0], offsets[1], dtype, tuple(shape)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands twice")
    return made


def write_safetensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Any], metadata: Mapping[str, str] | None = None
) -> Path:
    """Write arrays in float64, whole or not at all."""
    table: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at, body = 0, []
    for name, given in tensors.items():
        a = np.ascontiguousarray(np.asarray(given, dtype="<f8"))
        table[name] = {"dtype": "F64", "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        body.append(a.tobytes())
        at += a.nbytes
    head = json.dumps(table).encode("utf-8")
    head += b" " * (-len(head) % 8)
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"path: the folder '{target.parent}' does not exist; make it first")
    return write_whole(target, [len(head).to_bytes(8, "little"), head, *body])


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """What the writer of a file noted beside its tensors."""
    read_safetensors(path)
    data = Path(path).read_bytes()
    table = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return {str(k): str(v) for k, v in table.get("__metadata__", {}).items()}
