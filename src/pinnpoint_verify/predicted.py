"""A prediction's file, for `verify --inputs`: values at the nodes, or a network's weights, are the stored ones."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from pinnpoint_verify.cell_values import arrays_of, numbers
from pinnpoint_verify.mesh_files import Unread, VtuArrays
from pinnpoint_verify.reader import Array, Bundle, Refused, need

Row = dict[str, Any]
WIDTHS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
"""Of numbers in .safetensors files."""


def prediction_file_agrees(suffix: str, data: bytes, bundle: Bundle, case: Row, proof: Row) -> tuple[str, bool]:
    """What of a prediction's file is the bundle's, and whether that is all."""
    said = case.get("prediction", {})
    if (proof.get("lift") or {}).get("kind") == "network":
        return weights_agree(tensors(data), bundle, proof) if suffix == ".safetensors" else (" alone", False)
    if proof["degree"] != 1 or said.get("source") != "file" or proof.get("lift"):
        return " alone", False
    name = said.get("field")
    if suffix == ".vtu" and isinstance(name, str):
        arrays = VtuArrays(data)
        if not arrays.has("PointData", name):
            raise Refused(f"inputs: the prediction's file has no field {name!r}")
        points = arrays.of("Points", None).reshape(-1, 3).astype(float)
        values = arrays.of("PointData", name).astype(float)
        return values_agree(values, points, f"field {name!r}", bundle, proof)
    if suffix in (".npz", ".npy"):
        points = arrays_of(data, said["file"]).get("points")
        return values_agree(numbers(data, name, said["file"]), points, "values", bundle, proof)
    return " alone", False


def values_agree(values: Array, points: Array | None, what: str, bundle: Bundle, proof: Row) -> tuple[str, bool]:
    """Values at the nodes, in their order or by their places, are those of the stored state where nothing is fixed."""
    nodes, count = np.asarray(bundle.arrays["mesh/nodes"]), int(proof["components"])
    at = np.arange(len(nodes))
    if points is not None:
        points = np.asarray(points, dtype=float)
        need(points.ndim == 2 and points.shape[1] >= nodes.shape[1], f"inputs: the {what} are at no points")
        place = {row.tobytes(): i for i, row in enumerate(points[:, : nodes.shape[1]] + 0.0)}
        at = np.array([place.get(row.tobytes(), -1) for row in nodes + 0.0])
        if np.any(at < 0) or len(place) != len(points):
            return " alone (its points are not the nodes)", False
    rows = len(points) if points is not None else len(nodes)
    need(values.size and values.size % rows == 0, f"inputs: the {what} are not one for each node")
    values = values.reshape(rows, -1)
    if values.shape[1] == 3 and count == 2:  # viewers' third component of plane vectors
        values = values[:, :2]
    need(values.shape[1] == count, f"inputs: the {what} have another number of components")
    U, free = bundle.arrays["system/u"], bundle.arrays["system/free"]
    need(np.array_equal(values[at].ravel()[free], U[free]), f"inputs: the stored state does not have the {what}")
    return f", {what} at the nodes", True


def tensors(data: bytes) -> dict[str, Array]:
    """A .safetensors file: the length of a table in JSON, the table, and numbers; in the table's order."""
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        table = json.loads(data[8:start])
        return {name: _tensor(one, data[start:]) for name, one in table.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unread("a .safetensors file of another kind") from error


def _tensor(one: Row, data: bytes) -> Array:
    a, b = one["data_offsets"]
    if one["dtype"] not in WIDTHS or not 0 <= a <= b <= len(data):
        raise Unread("numbers of another kind")
    kind = np.dtype(WIDTHS[one["dtype"]])
    if b - a != kind.itemsize * math.prod(one["shape"]):
        raise Unread("tensors of another length")
    return np.frombuffer(data[a:b], kind).astype(float).reshape(one["shape"])


def weights_agree(given: dict[str, Array], bundle: Bundle, proof: Row) -> tuple[str, bool]:
    """Layers of the file, by the numbers in their names, are those of the network that was lifted."""
    names = sorted((name.removesuffix(".weight") for name in given if name.endswith(".weight")), key=_numbers)
    wanted = {f"{name}.{part}" for name in names for part in ("weight", "bias")}
    if given.keys() != wanted or len({_numbers(name) for name in names}) != len(names):
        return " alone (its layers are not numbered)", False
    need(len(names) == proof["lift"]["layers"], "inputs: the file's network has another number of layers")
    for k, name in enumerate(names):
        for part, letter in (("weight", "w"), ("bias", "b")):
            own = bundle.arrays.get(f"lift/{letter}{k}")
            fits = own is not None and np.array_equal(own, given[f"{name}.{part}"])
            need(fits, f"inputs: the {part} of layer {k} is not the file's")
    return ", weights", True


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", name))
