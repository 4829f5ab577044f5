"""`verify --inputs DIR`: this file, this load, this interval. Files that a certificate names, read by the checker.

Each must have its SHA-256. Then the case file says what case.json says; a mesh of simplices in a plain .msh file (2.2
or 4.1) has the stored cells, groups of facets and coefficients of groups; values in an .npz file are those of the
stored state. Of other formats the digest alone is checked, and said so.
"""

from __future__ import annotations

import hashlib
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint_verify.checker import Grid
from pinnpoint_verify.formulas import plain
from pinnpoint_verify.reader import Array, Bundle, Refused, need

Row = dict[str, Any]
VERTICES = {15: 1, 1: 2, 2: 3, 4: 4}
"""Of Gmsh's elements of first order."""
MOST = 2**32
"""Bytes of a file."""


class MeshFile:
    """Points, and simplices by (dimension, physical tag), of a plain .msh file; names of groups."""

    def __init__(self, text: str) -> None:
        self.text = text
        version, binary = self._section("MeshFormat").split()[:2]
        need(version in ("2.2", "4.1") and binary == "0", "mesh: a .msh file that is not plain text 2.2 or 4.1")
        lines = self._section("PhysicalNames", "0").splitlines()[1:]
        split = [line.split(None, 2) for line in lines]
        self.names = {word.strip().strip('"'): (int(d), int(tag)) for d, tag, word in split}
        self.parts: dict[tuple[int, int], list[Array]] = {}
        self.cells: dict[int, list[Array]] = {}
        self._old() if version == "2.2" else self._new()

    def _section(self, name: str, without: str | None = None) -> str:
        _, found, rest = self.text.partition(f"${name}\n")
        need(found or without is not None, f"mesh: no ${name}")
        return rest.partition(f"$End{name}")[0].strip() if found else str(without)

    def _old(self) -> None:
        """Version 2.2: a line an element."""
        nodes = np.array(self._section("Nodes").split()[1:], dtype=float).reshape(-1, 4)
        self._points(nodes[:, 0].astype(int), nodes[:, 1:])
        for line in self._section("Elements").splitlines()[1:]:
            numbers = [int(x) for x in line.split()]
            need(numbers[1] in VERTICES, "mesh: elements that are no simplices of first order")
            self._add(numbers[1], [numbers[3]] if numbers[2] else [], [numbers[3 + numbers[2] :]])

    def _new(self) -> None:
        """Version 4.1: blocks of entities, whose tags are in $Entities."""
        numbers = iter(self._section("Entities").split())
        counts = [int(next(numbers)) for _ in range(4)]
        tags: dict[tuple[int, int], list[int]] = {}
        for d, count in enumerate(counts):
            for _ in range(count):
                own = int(next(numbers))
                for _ in range(3 if d == 0 else 6):
                    next(numbers)
                tags[d, own] = [int(next(numbers)) for _ in range(int(next(numbers)))]
                for _ in range(int(next(numbers)) if d else 0):
                    next(numbers)
        lines = iter(self._section("Nodes").splitlines()[1:])
        ids, points = list[int](), list[list[float]]()
        for line in lines:
            count = int(line.split()[3])
            ids += [int(next(lines)) for _ in range(count)]
            points += [[float(x) for x in next(lines).split()[:3]] for _ in range(count)]
        self._points(np.array(ids), np.array(points))
        lines = iter(self._section("Elements").splitlines()[1:])
        for line in lines:
            d, own, kind, count = (int(x) for x in line.split())
            rows = [[int(x) for x in next(lines).split()[1:]] for _ in range(count)]
            need(kind in VERTICES, "mesh: elements that are no simplices of first order")
            self._add(kind, [abs(tag) for tag in tags[d, own]], rows)

    def _points(self, ids: Array, points: Array) -> None:
        self.points, self.at = points, {int(k): i for i, k in enumerate(ids)}

    def _add(self, kind: int, tags: list[int], rows: list[list[int]]) -> None:
        simplices = np.array([[self.at[k] for k in row] for row in rows]).reshape(-1, VERTICES[kind])
        self.cells.setdefault(VERTICES[kind] - 1, []).append(simplices)
        for tag in tags:
            self.parts.setdefault((VERTICES[kind] - 1, tag), []).append(simplices)


def inputs_agree(folder: Any, bundle: Bundle, certificate: Row, case: Row, proof: Row) -> list[str]:
    """What was compared with the files that the certificate names, as lines."""
    need(certificate.get("inputs"), "inputs: this certificate was made in Python and names no files")
    said = []
    for name, about in certificate["inputs"].items():
        if "file" not in about:
            continue
        path = Path(folder) / about["file"]
        need(path.is_file() and path.stat().st_size <= MOST, f"inputs: {about['file']!r} is not in the folder")
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        need(digest == about["sha256"], f"inputs: {about['file']!r} has the SHA-256 {digest}, not {about['sha256']}")
        found = _compared(name, path, data, bundle, certificate, case, proof)
        said.append(f"{name} {about['file']}: its SHA-256{found}")
    return said


def _compared(name: str, path: Path, data: bytes, bundle: Bundle, certificate: Row, case: Row, proof: Row) -> str:
    """What else of a file is the bundle's."""
    if name == "case" and path.suffix == ".toml" and "set" not in certificate["inputs"]["case"]:
        case_agrees(tomllib.loads(data.decode()), case)
        return ", problem, queries and certificate as stored"
    if name == "mesh" and path.suffix == ".msh" and "refinement" not in certificate:
        try:
            return mesh_agrees(MeshFile(data.decode().replace("\r\n", "\n")), bundle, case, proof)
        except (UnicodeDecodeError, Refused) as error:
            if "not plain text" in str(error) or "no simplices" in str(error) or isinstance(error, UnicodeDecodeError):
                return " alone (not a plain mesh of simplices of first order)"
            raise
    if name == "prediction" and path.suffix == ".npz" and proof["degree"] == 1 and "refinement" not in certificate:
        return values_agree(path, bundle)
    return " alone"


def case_agrees(given: Row, case: Row) -> None:
    """What a case file says of problem, queries and certificate is what is stored."""
    for table in ("problem", "certificate"):
        for key, value in given.get(table, {}).items():
            stored = case[table].get(key, case[table].get("options", {}).get(key))
            need(_same(value, stored), f"inputs: the case file has {table}.{key} = {value!r}, stored is {stored!r}")
    asked = given.get("query", [])
    need(len(asked) == len(case["queries"]), "inputs: the case file has another number of queries")
    for row, stored in zip(asked, case["queries"], strict=True):
        for key, value in row.items():
            fits = key not in stored or _same(value, stored[key])
            need(fits, f"inputs: the case file's query {row.get('name')!r} has another {key}")


def _same(value: Any, stored: Any) -> bool:
    if isinstance(value, dict) and value.keys() == {"coefficient", "value"} and isinstance(stored, list):
        value = [value["coefficient"], value["value"]]
    if isinstance(value, dict):
        keyed = isinstance(stored, dict) and all(k in stored for k in value)
        return keyed and all(_same(v, stored[k]) for k, v in value.items())
    if isinstance(value, list):
        whole = isinstance(stored, list) and len(value) == len(stored)
        return whole and all(map(_same, value, stored))
    if isinstance(value, str) and isinstance(stored, str) and Path(stored).name == value.split("/")[-1]:
        return True
    return bool(plain(value) == plain(stored))


def mesh_agrees(file: MeshFile, bundle: Bundle, case: Row, proof: Row) -> str:
    """Cells, groups of facets and coefficients of groups of cells are those of the file: by coordinates."""
    nodes, cells = (np.asarray(bundle.arrays[f"mesh/{k}"]) for k in ("nodes", "cells"))
    d = nodes.shape[1]
    need(d in file.cells and not np.any(file.points[:, d:]), "inputs: the mesh file has another dimension")
    places, number = np.unique(file.points[:, :d], axis=0, return_inverse=True)
    number = number.ravel()
    order = {row.tobytes(): i for i, row in enumerate(places + 0.0)}
    used = np.unique(cells)
    at = np.full(len(nodes), -1)
    at[used] = [order.get(row.tobytes(), -1) for row in nodes[used] + 0.0]
    need(np.all(at[used] >= 0), "inputs: the mesh file does not have the stored nodes")
    own = np.sort(at[cells], axis=1)
    need(_set(own) == _set(np.sort(number[np.concatenate(file.cells[d])], axis=1)), "inputs: not the mesh file's cells")
    said = [", cells"]
    if proof["target"] == "continuous" and "solid" not in proof:
        grid = Grid(bundle, int(proof["degree"]))
        for word, key in (("d", "dirichlet"), ("n", "neumann")):
            for k, group in enumerate(case["problem"].get(key) or {}):
                if group in file.names and f"continuous/{word}{k}" in bundle:
                    stored = _set(np.sort(at[grid.facets[bundle.arrays[f"continuous/{word}{k}"]]], axis=1))
                    need(stored == _group(file, group, number), f"inputs: not the mesh file's group {group!r}")
                    said.append(f"group {group!r}")
        for key, name in (("diffusion", "kappa"), ("reaction", "reaction")):
            table = case["problem"].get(key)
            if isinstance(table, dict) and all(group in file.names for group in table):
                values = bundle.arrays[f"continuous/{name}"]
                for group, value in table.items():
                    inside = np.array([tuple(row) in _group(file, group, number) for row in own.tolist()])
                    fits = not isinstance(value, int | float) or np.all(values[inside] == value)
                    need(fits, f"inputs: {key} is not {value!r} on the mesh file's group {group!r}")
                said.append(f"{key} of groups")
    return ", ".join(said)


def _group(file: MeshFile, name: str, number: Array) -> set[Any]:
    return _set(np.sort(number[np.concatenate(file.parts.get(file.names[name], [np.zeros((0, 1), int)]))], axis=1))


def _set(rows: Array) -> set[Any]:
    return set(map(tuple, rows.tolist()))


def values_agree(path: Path, bundle: Bundle) -> str:
    """Values at the nodes, where they are in the mesh's order, are the stored state's where nothing is fixed."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            names, values = set(stored.files), np.asarray(stored["values"], dtype=float).ravel()
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise Refused(f"inputs: {path.name!r} has no values ({type(error).__name__})") from error
    U, free = bundle.arrays["system/u"], bundle.arrays["system/free"]
    if "points" in names or values.shape != U.shape:
        return " alone (its values are matched by coordinates)"
    need(np.array_equal(values[free], U[free]), f"inputs: the stored state does not have the values of {path.name!r}")
    return ", values at the nodes"
