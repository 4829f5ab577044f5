"""`verify --inputs DIR`: this file, this load, this interval. Files that a certificate names, read by the checker.

Each must have its SHA-256. Then the case file says what case.json says, and no more; a mesh of simplices of first order
(mesh_files.py, decks.py) has the stored cells, groups and coefficients of groups; a deck is the stored system; values
in an .npz, .npy or .vtu file are those of the stored state, or the coefficient of every cell. What was not compared is
said, and stays declared.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from pinnpoint_verify.abaqus import Keywords
from pinnpoint_verify.case_file import case_agrees
from pinnpoint_verify.cell_values import by_order, cells_agree, files_of, matrix_agrees
from pinnpoint_verify.checker import Discrete, Grid
from pinnpoint_verify.decks import Solid
from pinnpoint_verify.domains import outer
from pinnpoint_verify.functionals import Places
from pinnpoint_verify.mesh_files import MeshFile, Unread, boundary_rows, msh, vtu
from pinnpoint_verify.nastran import Bulk
from pinnpoint_verify.predicted import prediction_file_agrees
from pinnpoint_verify.reader import Array, Bundle, Refused, need
from pinnpoint_verify.rows import from_file
from pinnpoint_verify.systems import Stored, assembled, is_matrix

Row = dict[str, Any]
NEAR = 1e-3
"""How far nodes may be from their curves, against the shortest edge there."""
DECKS = (".bdf", ".fem", ".nas", ".dat", ".inp")
MOST = 2**32
"""Bytes of a file."""

GROUPS = {f"which cells the groups of {word} are" for word in ("diffusion", "reaction", "young", "poisson")}
GROUPS |= {"which facets the groups of the mesh are"}
"""What a mesh file says."""


@dataclass
class Held:
    """What was compared with the files that a certificate names.

    Lines, whether that is all of mesh, prediction and coefficients, and what there is something to compare with now.
    """

    lines: list[str] = field(default_factory=list)
    whole: bool = True
    weights: bool = False
    seen: set[str] = field(default_factory=set)


def inputs_agree(folder: Any, bundle: Bundle, certificate: Row, case: Row, proof: Row) -> Held:
    """What was compared with the files that the certificate names."""
    need(certificate.get("inputs"), nameless(certificate))
    held, coefficients = Held(), dict[str, bytes]()
    for name, about in certificate["inputs"].items():
        if "file" not in about:
            held.lines.append(generated(about, case))
            held.whole = False
            continue
        called = file_of(name, case)
        need(called in (None, about["file"]), f"inputs: {name} is {about['file']!r}, and the case names {called!r}")
        path = Path(folder) / about["file"]
        need(path.is_file() and path.stat().st_size <= MOST, f"inputs: {about['file']!r} is not in the folder")
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        need(digest == about["sha256"], f"inputs: {about['file']!r} has the SHA-256 {digest}, not {about['sha256']}")
        try:
            found, all_of_it = _compared(name, path.suffix.lower(), data, bundle, certificate, case, proof)
        except (Unread, UnicodeDecodeError) as error:
            why = str(error) if isinstance(error, Unread) else "data that are no text"
            found, all_of_it = f" alone ({why}: not read here)", False
        if name in files_of(case, proof) and "refinement" not in certificate:
            coefficients[name] = data
        if all_of_it:
            by_cells = {f"the {name} on each cell, which comes from a file", f"{name} by cells"}
            held.seen |= GROUPS if name == "mesh" else by_cells
        held.lines.append(f"{name} {about['file']}: its SHA-256{found}")
        held.whole &= all_of_it
        held.weights |= name == "prediction" and all_of_it
    return _with_matrix(held, coefficients, bundle, case, proof)


def nameless(certificate: Row) -> str:
    """Why a bundle has nothing to compare files with."""
    if "of" in certificate:
        return (
            f"inputs: this bundle is about steps in time as a system, and stores no names or SHA-256 of files: "
            f"they are in the certificate {certificate['of']!r} that it is made from. Nothing can be compared: verify "
            "it without --inputs"
        )
    return "inputs: this certificate was made in Python and names no files"


def generated(about: Row, case: Row) -> str:
    """A mesh of a domain by its name: these words are compared, the cells are not made here."""
    said = {key: value for key, value in (case.get("mesh") or {}).items() if value is not None}
    about = {key: value for key, value in about.items() if value is not None}
    need(said == about, f"inputs: mesh is {about!r}, and the case says {said!r}")
    words = ", ".join(f"{key} = {value!r}" for key, value in said.items())
    return f"mesh {words}: as the case has it; its cells are not made here, and stay declared"


def file_of(name: str, case: Row) -> str | None:
    """The name of a file in the case; it may lie elsewhere than it did."""
    said = case.get("prediction", {})
    if name == "prediction":
        found = said.get(said.get("source"))
    else:
        given = case.get("mesh") if name == "mesh" else case["problem"].get(name)
        found = given.get("file") if isinstance(given, dict) else given
    return Path(found).name if isinstance(found, str) else None


def _with_matrix(held: Held, files: dict[str, bytes], bundle: Bundle, case: Row, proof: Row) -> Held:
    """The stored matrix against that of coefficients from files."""
    if files and files.keys() == files_of(case, proof) and matrix_agrees(files, bundle, case, proof):
        held.lines.append(f"A, with {' and '.join(files)} from the file{'s' * (len(files) > 1)}")
        held.seen.add("A")
    elif files and proof["target"] == "discrete":
        held.whole = False
    return held


def _compared(
    name: str, suffix: str, data: bytes, bundle: Bundle, certificate: Row, case: Row, proof: Row
) -> tuple[str, bool]:
    """What else of a file is the bundle's, and whether that is all."""
    refined = "refinement" in certificate
    if name == "case" and suffix == ".toml" and "set" not in certificate["inputs"]["case"]:
        about = Path(certificate["inputs"]["case"]["file"])
        return case_agrees(toml(data), case, about.stem), True
    if name == "mesh" and not refined:
        if suffix == ".vtu":
            return mesh_agrees(vtu(data), bundle, case, proof)
        text = data.decode().replace("\r\n", "\n")
        return mesh_agrees(_mesh(text, suffix), bundle, case, proof)
    if name == "deck" and "with_included_sha256" not in certificate["inputs"]["deck"] and not refined:
        text = data.decode().replace("\r\n", "\n")
        subcase = case["problem"].get("subcase")
        return deck_agrees(Keywords(text).solid() if suffix == ".inp" else Bulk(text).solid(subcase), bundle, proof)
    if name == "prediction" and not refined:
        return prediction_file_agrees(suffix, data, bundle, case, proof)
    if name in files_of(case, proof) and not refined:
        return cells_agree(name, data, bundle, case, proof)
    return " alone", False


def toml(data: bytes) -> Row:
    """The tables of a case file."""
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused(f"inputs: the case file is no TOML ({str(error)[:100]})") from error


def _mesh(text: str, suffix: str) -> MeshFile:
    """A mesh in plain text, by its suffix; of one that is not known here the digest alone is compared."""
    if suffix in DECKS:
        return Keywords(text).mesh() if suffix == ".inp" else Bulk(text).mesh()
    if suffix != ".msh":
        raise Unread(f"a mesh in a {suffix} file")
    return msh(text)


class Placed:
    """A mesh file's nodes and the stored ones, numbered by place; those of `curves` were moved onto them."""

    def __init__(self, file: MeshFile, bundle: Bundle, curves: Iterable[str] = ()) -> None:
        self.file, nodes, self.cells = file, bundle.arrays["mesh/nodes"], np.asarray(bundle.arrays["mesh/cells"])
        d = nodes.shape[1]
        need(d in file.cells and not np.any(file.points[:, d:]), "inputs: the mesh file has another dimension")
        places, number = np.unique(file.points[:, :d] + 0.0, axis=0, return_inverse=True)
        self.number, order = number.ravel(), {row.tobytes(): i for i, row in enumerate(places)}
        used = np.unique(self.cells)
        self.at = np.full(len(nodes), -1)
        self.at[used] = [order.get(row.tobytes(), -1) for row in np.asarray(nodes)[used] + 0.0]
        other = np.sort(self.number[np.concatenate(file.cells[d])], axis=1)
        self.outer = outer(np.sort(np.concatenate(file.cells[d]), axis=1))
        self.moved = self._on_curves(used[self.at[used] < 0], places, other, nodes, curves)
        fits = np.all(self.at[used] >= 0) and len(np.unique(self.at[used])) == len(used)
        need(fits, "inputs: the mesh file does not have the stored nodes")
        self.own = np.sort(self.at[self.cells], axis=1)
        need(_set(self.own) == _set(other), "inputs: not the mesh file's cells")
        self.in_order = np.array_equal(self.own, other)

    def _on_curves(self, lost: Array, places: Array, cells: Array, nodes: Array, curves: Iterable[str]) -> float:
        """How far nodes of described groups were moved at most: to their curves, on which they are shown to be."""
        rows = [self.number[rows].ravel() for g in curves if (rows := self._rows(g)) is not None]
        on = np.unique(np.concatenate(rows)) if rows else np.zeros(0, dtype=int)
        if not len(lost) or not len(on):
            return 0.0
        size = np.full(len(places), np.inf)
        for a, b in combinations(range(cells.shape[1]), 2):
            length = np.sqrt(((places[cells[:, a]] - places[cells[:, b]]) ** 2).sum(axis=1))
            np.minimum.at(size, cells[:, a], length)
            np.minimum.at(size, cells[:, b], length)
        far, nearest = cKDTree(places[on]).query(nodes[lost])
        fits = far <= NEAR * (1.0 + 1e-9) * size[on[nearest]]
        self.at[lost[fits]] = on[nearest[fits]]
        return float(far.max())

    def facets(self, group: str) -> set[Any] | None:
        """Facets of a group of the file, by places; None where it has none of that name."""
        rows = self._rows(group)
        return None if rows is None else _set(np.sort(self.number[rows], axis=1))

    def _rows(self, group: str) -> Array | None:
        return self.outer if group == "boundary" else boundary_rows(self.file, group, self.outer)

    def inside(self, group: str) -> Array | None:
        """Which of the stored cells are in a group of the file."""
        rows = self.file.groups.get((group, self.own.shape[1] - 1))
        known = None if rows is None else _set(np.sort(self.number[np.concatenate(rows)], axis=1))
        return None if known is None else np.array([tuple(row) in known for row in self.own.tolist()])


def mesh_agrees(file: MeshFile, bundle: Bundle, case: Row, proof: Row) -> tuple[str, bool]:
    """Cells, groups of facets and coefficients of groups of cells are those of the file: by coordinates."""
    placed, problem, left = Placed(file, bundle, case.get("geometry") or {}), case["problem"], list[str]()
    said = [f", cells{f' with nodes moved onto curves by up to {placed.moved:.2g}' if placed.moved else ''}"]
    stored = _stored_facets(bundle, problem, proof)
    for (word, group), facets in stored.items():
        own = placed.facets(group)
        if own is None or facets is None:
            left.append(group)
            continue
        if group != "boundary":  # which the others override
            if word == "dirichlet" and proof["target"] == "discrete":
                fits = {k for row in own for k in row} <= set(placed.at[facets[:, 0]].tolist())
            else:
                fits = _set(np.sort(placed.at[facets], axis=1)) == own
            need(fits, f"inputs: not the mesh file's group {group!r}")
            said.append(f"group {group!r}")
    solid = "young" in problem
    for key, name in (("young", "young"), ("poisson", "poisson")) if solid else KAPPA:
        table, values = problem.get(key), bundle.arrays.get(f"continuous/{name}", bundle.arrays.get(f"system/{key}"))
        if not isinstance(table, dict) or from_file(table):
            continue
        if (
            values is None
            or "bent" in proof
            or not all(isinstance(v, int | float) and placed.inside(g) is not None for g, v in table.items())
        ):
            left.append(key)
            continue
        for group, value in table.items():
            fits = bool(np.all(values[placed.inside(group)] == value))
            need(fits, f"inputs: {key} is not {value!r} on the mesh file's group {group!r}")
        said.append(f"{key} of groups")
    if by_order(case) and not placed.in_order:
        left.append("the order of the cells")
    if left:
        said.append(f"but not {', '.join(dict.fromkeys(left))}")
    return ", ".join(said), not left


KAPPA = (("diffusion", "kappa"), ("reaction", "reaction"))


def _stored_facets(bundle: Bundle, problem: Row, proof: Row) -> dict[tuple[str, str], Array | None]:
    """Vertices of the facets, or the fixed nodes, that a bundle has for the groups of a case; None where none."""
    found: dict[tuple[str, str], Array | None] = {}
    grid = Grid(bundle, int(proof["degree"])) if proof["target"] == "continuous" else None
    loads = [(w, g) for w in ("neumann", "robin", "force") for g in problem.get(w) or {}]
    for word, letter in (("dirichlet", "d"), ("neumann", "n"), ("force", "q"), ("robin", "")):
        for k, group in enumerate(problem.get(word) or {}):
            name = (
                f"continuous/{letter}{k}"
                if grid is not None
                else f"mesh/load{loads.index((word, group))}"
                if letter != "d"
                else ""
            )
            if name in bundle:
                rows = bundle.arrays[name]
                found[word, group] = grid.facets[rows] if grid is not None else rows
            elif grid is None and word == "dirichlet":
                fixed = np.setdiff1d(np.arange(len(bundle.arrays["system/u"])), bundle.arrays["system/free"])
                found[word, group] = np.unique(fixed // int(proof["components"]))[:, None]
            else:
                found[word, group] = None
    return found


def deck_agrees(deck: Solid, bundle: Bundle, proof: Row) -> tuple[str, bool]:
    """Matrix, load and supports of a deck are those of the stored system, to rounding."""
    placed, d = Placed(deck.mesh, bundle), Discrete(bundle, len(proof_rows(bundle)))
    at = Places(bundle, proof)
    order = {tuple(row): i for i, row in enumerate(np.sort(placed.number[deck.cells], axis=1).tolist())}
    rows = np.array([order[tuple(row)] for row in placed.own.tolist()])
    back = np.full(len(placed.number), -1)
    back[placed.at[: at.n]] = np.arange(at.n)
    node = {int(k): int(back[placed.number[k]]) for k in range(len(placed.number))}
    need(np.all(np.isfinite(deck.young)), "inputs: a cell of the deck has no material")
    held = np.array(sorted({3 * node[n] + k for n, k in deck.held if node[n] >= 0}))
    need(np.array_equal(held, d.fixed) and not np.any(d.held), "inputs: not the deck's supports")
    K = assembled(d, at, deck.young[rows], deck.poisson[rows], {}, Stored(bundle, at))
    is_matrix(K, d, at, "inputs: not the matrix of the deck")
    b = np.zeros(d.N)
    for (n, k), size in deck.forces.items():
        need(node[n] >= 0, "inputs: a force of the deck at a node of no cell")
        b[3 * node[n] + k] += size
    far = np.abs(b[d.free] - d.b)
    need(np.all(far <= 1e-12 * np.abs(b).max(initial=0.0)), "inputs: not the deck's forces")
    return ", cells, materials, supports and forces as stored", proof["target"] == "discrete"


def proof_rows(bundle: Bundle) -> list[Row]:
    """The queries of the certificate."""
    return list(bundle.json["certificate.json"]["queries"])


def _set(rows: Array) -> set[Any]:
    return set(map(tuple, rows.tolist()))
