"""SimJEB's brackets: mesh, supports, four load cases and the released displacements as one family of problems.

The dataset (doi:10.7910/DVN/XFUWJG) is not part of this package. A bracket is `<id>.fem`, an OptiStruct deck whose
bolts are RBE2 with fixed centres and whose pin is an RBE3 that carries the load, and `<id>field.csv`, the fields of the
four cases at the nodes, in mm and MPa with 7 digits.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Matrix, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import PathLike, numbers, read_bytes
from pinnpoint.certificates.batch import CertificateBatch
from pinnpoint.certifiers.base import AbstractMethod
from pinnpoint.certifiers.exact import Exact
from pinnpoint.fem.elastic.elasticity import Elasticity
from pinnpoint.io.decks.problems import Deck, read_deck
from pinnpoint.mesh.matching import match
from pinnpoint.systems.queries import Queries

CASES = ("vertical", "horizontal", "diagonal", "torsion")
PARTS = ("xdisp", "ydisp", "zdisp", "magdisp", "stress")
HEADER = ["id", "surf", "x", "y", "z", *(f"{case[:3]}_{part}" for case in CASES for part in PARTS)]
LOADS = {
    "vertical": (0.0, 0.0, 35585.77),
    "horizontal": (-37809.9, 0.0, 0.0),
    "diagonal": (-28276.2, 0.0, 31403.9),
    "torsion": (0.0, 0.0, 0.0),
}
"""Resultant forces of the cases, N; torsion is a pure moment."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Bracket:
    """One body with four loads: the matrix, the supports and the Green vectors are shared.

    Attributes
    ----------
    deck
        The deck, with the mesh and the node ids.
    numbers
        Subcase of each load case.
    released
        (n, 3) displacements of each case from the dataset, in the order of the mesh.
    stress
        (n,) stresses of each case.
    surface
        0 interior, 1 free surface, 2 bolt holes, 3 pin, per node.
    notes
        What is unusual about this bracket.
    """

    deck: Deck
    numbers: Mapping[str, int]
    released: Mapping[str, Vector]
    stress: Mapping[str, Vector]
    surface: Index
    notes: tuple[str, ...]

    __repr__ = brief

    def problem(self, case: str = "vertical", weight: Matrix | Vector | None = None) -> Elasticity:
        """The problem of a load case."""
        if case not in self.numbers:
            raise InputError(f"case: must be one of {', '.join(CASES)}; got {case!r}")
        return self.deck.problem(self.numbers[case], weight)

    @property
    def loads(self) -> Vector:
        """(4, N) load vectors in the order of `CASES`."""
        return np.stack([self.deck.subcases[self.numbers[case]].load.ravel() for case in CASES])

    def certify(
        self, predictions: Mapping[str, Any], queries: Queries, method: AbstractMethod | None = None
    ) -> CertificateBatch:
        """Intervals for a prediction of each case, from one preparation; queries from `problem()`."""
        _require_all(predictions)
        problem = self.problem()
        certifier = (Exact() if method is None else method).prepare(problem.system, queries)
        states = np.stack([problem.extract(predictions[case]).U for case in CASES])
        return certifier.certify_many(states, loads=self.loads)

    def to_html(
        self,
        path: PathLike,
        batch: CertificateBatch,
        predictions: Mapping[str, Any],
        *,
        tolerance: Vector | float | None = None,
        **header: str,
    ) -> Path:
        """Write one report of the four cases, each with its prediction, the released field and their difference.

        Parameters
        ----------
        batch, predictions
            What `certify` returned and was given.
        tolerance, header
            As in `Certificate.to_html`; the units are mm unless said otherwise.
        """
        _require_all(predictions)
        problem = self.problem()
        fields = []
        for case in CASES:
            found = problem.extract(predictions[case]).U.reshape(-1, 3)
            shown = {"prediction": found, "Released": self.released[case]}
            fields.append(shown | {"Off the released": found - self.released[case]})
        header = {"title": f"SimJEB {self.deck.path.stem}", "units": "mm"} | header
        return batch.to_html(path, CASES, mesh=self.deck.mesh, fields=fields, tolerance=tolerance, **header)


def _require_all(predictions: Mapping[str, Any]) -> None:
    if set(predictions) != set(CASES):
        raise InputError(f"predictions: need one for each of {', '.join(CASES)}; got {', '.join(predictions)}")


def load(folder: PathLike, id: int | str) -> Bracket:
    """Read a bracket.

    Parameters
    ----------
    folder
        Where `<id>.fem` and `<id>field.csv` lie.
    id
        The bracket's number.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"folder '{place}': no such folder")
    path = place / f"{id}.fem"
    if path.is_file() and not path.read_bytes().strip():
        raise InputError(f"bracket {id}: '{path.name}' is empty, as 293.fem is in the dataset; choose another bracket")
    deck = read_deck(path)
    notes: list[str] = []
    if deck.mesh.dim != 3:
        raise InputError(f"bracket {id}: must be a mesh of tetrahedra; '{path.name}' holds triangles")
    gaps = int(deck.node_ids[-1] - deck.node_ids[0]) + 1 - len(deck.node_ids)
    if gaps:
        notes.append(f"{gaps} node ids are missing between {deck.node_ids[0]} and {deck.node_ids[-1]}; rows go by id")
    table = _table(place, id, notes)
    rows = _rows(deck, table, id, notes)
    column = {name: table[rows, k] for k, name in enumerate(HEADER)}
    released = {c: np.stack([column[f"{c[:3]}_{p}"] for p in PARTS[:3]], axis=1) for c in CASES}
    stress = {c: column[f"{c[:3]}_stress"] for c in CASES}
    bracket = Bracket(deck, _cases(deck, id), released, stress, column["surf"].astype(np.intp), ())
    notes += _unusual(bracket)
    for note in notes:
        log.warning("bracket %s: %s", id, note)
    return Bracket(deck, bracket.numbers, released, stress, bracket.surface, tuple(notes))


def _table(place: Path, id: int | str, notes: list[str]) -> Vector:
    path, other = place / f"{id}field.csv", place / f"{id}.csv"
    if not path.exists() and other.exists():
        notes.append(f"read '{other.name}', as the dataset's README calls it; its files are named '{path.name}'")
        path = other
    head, _, body = read_bytes(path, f"bracket {id}: field").replace(b"\r", b"").partition(b"\n")
    names = [name.strip() for name in head.decode("utf-8-sig", errors="replace").split(",")]
    if names != HEADER:
        wrong = next((n for n in HEADER if n not in names), "the order of the columns")
        raise InputError(
            f"bracket {id}: '{path.name}' must begin with the header {','.join(HEADER[:7])},…; see {wrong!r}"
        )
    try:
        flat = numbers(body.strip().replace(b"\n", b","), ",")
    except ValueError as error:
        raise InputError(f"bracket {id}: '{path.name}' holds {error}") from error
    if not flat.size or flat.size % len(HEADER) or not np.all(np.isfinite(flat)):
        raise InputError(f"bracket {id}: '{path.name}' must hold rows of {len(HEADER)} finite numbers; is it complete?")
    return flat.reshape(-1, len(HEADER))


def _rows(deck: Deck, table: Vector, id: int | str, notes: list[str]) -> Index:
    """Rows of the table in the order of the mesh: by id where the coordinates agree, else by coordinates."""
    X, P, ids = deck.mesh.points, table[:, 2:5], table[:, 0]
    order = np.argsort(ids, kind="stable")
    place = order[np.minimum(np.searchsorted(ids[order], deck.node_ids), len(ids) - 1)]
    if np.array_equal(ids[place], deck.node_ids) and float(np.abs(P[place] - X).max()) <= _rounding(X):
        return np.asarray(place)
    try:
        found, _ = match(P, np.arange(len(P), dtype=np.float64), X)
    except InputError as error:
        raise InputError(f"bracket {id}: {_moved(P, X, ids[place] == deck.node_ids, place)} ({error})") from error
    notes.append("the field's ids are not the deck's; rows were matched by coordinates")
    return found.astype(np.intp)


def _rounding(X: Vector) -> float:
    """What 7 digits of coordinates may differ."""
    return 2e-6 * float(np.abs(X).max())


def _moved(P: Vector, X: Vector, same: Mask, place: Index) -> str:
    """Says how the field's points lie to the deck's, where ids pair them."""
    if same.sum() < 4:
        return "the field's points are not the deck's nodes, neither by id nor by place"
    A, B = X[same], P[place][same]
    a, b = A - A.mean(axis=0), B - B.mean(axis=0)
    U, _, V = np.linalg.svd(a.T @ b)
    R = U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ V))]) @ V
    off = float(np.abs(a @ R - b).max())
    if off > 1e-3 * float(np.abs(a).max()):
        return "the field's points are not the deck's nodes, and no rotation makes them so"
    angle = np.degrees(np.arccos(np.clip((np.trace(R) - 1.0) / 2.0, -1.0, 1.0)))
    shift = B.mean(axis=0) - A.mean(axis=0) @ R
    return (
        f"the deck is the field's part rotated by {angle:.4g}° and moved by {np.round(shift, 4).tolist()}, as some of "
        "the dataset's are; bring both into one position"
    )


def _cases(deck: Deck, id: int | str) -> dict[str, int]:
    """Subcases by their labels, else by their order."""
    if len(deck.subcases) != len(CASES):
        raise InputError(f"bracket {id}: must have {len(CASES)} subcases, {', '.join(CASES)}; got {len(deck.subcases)}")
    labels = {case: [k for k, s in deck.subcases.items() if case[:3] in s.label.lower()] for case in CASES}
    if all(len(found) == 1 for found in labels.values()):
        return {case: found[0] for case, found in labels.items()}
    return dict(zip(CASES, deck.subcases, strict=True))


def _unusual(bracket: Bracket) -> list[str]:
    """Loads that are not the dataset's, and bolts that do not stand upright."""
    notes = []
    for case, usual in LOADS.items():
        total = bracket.deck.subcases[bracket.numbers[case]].load.sum(axis=0)
        if float(np.abs(total - usual).max()) > 1e-4 * 37809.9:
            notes.append(f"the load '{case}' has the resultant {np.round(total, 3).tolist()}, usually {list(usual)}")
    bolts = bracket.deck.mesh.points[bracket.surface == 2]
    if len(bolts) >= 3:
        centred = bolts - bolts.mean(axis=0)
        normal = np.linalg.svd(centred.T @ centred)[2][-1]
        if abs(float(normal[2])) < 0.99:
            notes.append(
                f"the part is rotated: the bolts' plane has the normal {np.round(normal, 3).tolist()}, usually z"
            )
    return notes
