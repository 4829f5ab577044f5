"""Coefficients from .npz and .npy files, for `verify --inputs`: one number or matrix a cell, or a picture's pixels.

A picture has values[i, j] at the i-th place along x and the j-th along y of its box, the mesh's own unless told. A cell
has the value of the pixel that holds its centre (`cells`), the mean of that pixel's corners (`nodes`), or what the
corners give by interpolation in each coordinate (`bilinear`). A centre on an edge of pixels may have either's.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from itertools import product
from typing import Any

import numpy as np

from pinnpoint_verify.checker import Discrete
from pinnpoint_verify.functionals import Places
from pinnpoint_verify.reader import Array, Bundle, Refused, need
from pinnpoint_verify.rows import from_file, is_number
from pinnpoint_verify.systems import Stored, matrix

Row = dict[str, Any]
WORDS = {"diffusion": "kappa", "reaction": "reaction"}
"""Coefficients, and the arrays that a proof has of them where they are constant on cells."""
EDGE, CLOSE = 1e-9, 1e-11
"""How near an edge of pixels a centre may lie on either side, in pixels; of the largest value, where some are added."""


def arrays_of(data: bytes, what: str) -> dict[str, Array]:
    """Arrays of numbers in an .npz file by their names, or that of an .npy file under no name; nothing is unpickled."""
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            return {"": np.asarray(loaded)}
        with loaded as archive:
            need(len(set(archive.files)) == len(archive.files), f"inputs: {what!r} has two arrays of one name")
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        raise Refused(f"inputs: {what!r} is no file of plain arrays ({type(error).__name__})") from error


def numbers(data: bytes, name: str | None, what: str) -> Array:
    """The array of that name, or `values`, or the only one of an .npy file, all of it finite."""
    arrays = arrays_of(data, what)
    found = arrays.get("") if "" in arrays else arrays.get(name or "values")
    need(found is not None, f"inputs: {what!r} has no array {name or 'values'!r}")
    need(isinstance(found, np.ndarray) and found.dtype.kind in "fiub", f"inputs: {what!r} has no numbers")
    values = np.asarray(found, dtype=float)
    need(np.all(np.isfinite(values)), f"inputs: {what!r} has numbers that are not finite")
    return values


def on_cells(values: Array, said: Row, X: Array) -> list[Array]:
    """What every cell with vertices X (n, d + 1, d) may have: one array, or one for each side of edges of pixels."""
    count, d, grid = len(X), X.shape[2], said.get("grid")
    if grid is None:
        need(values.shape in ((count,), (count, d, d)), "inputs: not one value for each cell")
        return [values]
    corners = grid != "cells"
    need(grid in ("cells", "nodes", "bilinear") and values.ndim == d, "inputs: a picture of another kind")
    need(all(n > corners for n in values.shape), "inputs: a picture without pixels")
    P = X.reshape(-1, d)
    box = np.stack([P.min(axis=0), P.max(axis=0)], axis=1) if said.get("box") is None else np.array(said["box"], float)
    need(box.shape == (d, 2) and np.all(box[:, 1] > box[:, 0]), "inputs: a box without an inside")
    pixels = np.array(values.shape) - corners
    place = (X.mean(axis=1) - box[:, 0]) / (box[:, 1] - box[:, 0]) * pixels
    need(np.all((place >= -EDGE * pixels) & (place <= (1.0 + EDGE) * pixels)), "inputs: cells outside the picture")
    found = []
    for sides in product((-EDGE, EDGE), repeat=d):
        pixel = np.clip(np.floor(place + np.array(sides)), 0, pixels - 1).astype(int)
        if not corners:
            found.append(values[tuple(pixel.T)])
            continue
        share = place - pixel if grid == "bilinear" else np.full_like(place, 0.5)
        mean = np.zeros(count)
        for corner in product((0, 1), repeat=d):
            weight = np.prod([share[:, i] if c else 1.0 - share[:, i] for i, c in enumerate(corner)], axis=0)
            mean += weight * values[tuple((pixel + corner).T)]
        found.append(mean)
    return found


def proved_with(bundle: Bundle, word: str, proof: Row, count: int) -> Array | None:
    """The coefficient of every cell that the proof has; None where it has none, or formulas."""
    if "medium" in proof:
        said, region = proof["medium"].get(word), bundle("medium/region", count, whole=count)
        need(isinstance(said, list) and len(said) > region.max(), f"medium: not a {word} for every region")
        known = all(is_number(v) or (isinstance(v, list) and all(is_number(x) for row in v for x in row)) for v in said)
        alike = known and len({np.shape(v) for v in said}) == 1
        return np.array(said, dtype=float)[region] if alike else None
    name = f"continuous/{WORDS[word]}"
    return bundle(name, count) if name in bundle else None


def cells_agree(word: str, data: bytes, bundle: Bundle, case: Row, proof: Row) -> tuple[str, bool]:
    """What the proof has on each cell, or the matrix where there is none, is what the file says under the case."""
    said, at = case["problem"][word], Places(bundle, proof)
    own = bundle("mesh/own", *at.cells.shape, whole=at.n) if "mesh/own" in bundle else at.cells
    values = on_cells(numbers(data, said.get("field"), said["file"]), said, at.nodes[own])
    stored = proved_with(bundle, word, proof, len(own))
    line, by = f"inputs: {word} is not that of the file on every cell", said.get("grid") or "the order of the cells"
    if stored is None:
        return "", proof["target"] == "discrete"  # there with the matrix
    need(stored.ndim == values[0].ndim, f"{line}: matrices, and numbers")
    near = 0.0 if said.get("grid") in (None, "cells") else CLOSE * float(np.abs(values[0]).max(initial=0.0))
    fits = np.any([np.abs(stored - v).reshape(len(own), -1).max(axis=1) <= near for v in values], axis=0)
    need(np.all(fits), f"{line}, {int(np.sum(~fits))} of {len(own)} differ")
    return f", its value on each of {len(own)} cells, by {by}", True


def matrix_agrees(files: dict[str, bytes], bundle: Bundle, case: Row, proof: Row) -> bool:
    """Whether the stored matrix was compared with that of the files' values; refused where it is another one."""
    problem, at, d = case["problem"], Places(bundle, proof), Discrete(bundle, len(case["queries"]))
    stored = Stored(bundle, at)
    X = at.nodes[stored.cells]
    for word, data in files.items():
        values = on_cells(numbers(data, problem[word].get("field"), problem[word]["file"]), problem[word], X)
        apart = np.any([np.abs(v - values[0]) > CLOSE * np.abs(values[0]).max() for v in values])
        if values[0].ndim > 1 or apart:  # matrices, or centres on edges of pixels
            return False
        stored.filed[word] = values[0]
    return matrix(d, at, problem, stored)[0] is not None


def by_order(case: Row) -> bool:
    """Whether a case has values by the order of its cells."""
    given = [case["problem"].get(word) for word in WORDS]
    return any(from_file(one) and one.get("grid") is None for one in given)


def files_of(case: Row, proof: Row) -> set[str]:
    """Coefficients that a case reads from files and that are looked at here."""
    fits = proof["components"] == 1 and "bent" not in proof and "reduction" not in proof
    return {word for word in WORDS if fits and from_file(case["problem"].get(word))}
