"""A deck becomes elasticity problems, one per subcase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint import fem
from pinnpoint.base.arrays import Index, Matrix, Vector, floats
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import PathLike
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.io.decks.abaqus.deck import read_abaqus_deck
from pinnpoint.io.decks.deck import DeckData, Subcase
from pinnpoint.io.decks.nastran.deck import read_nastran
from pinnpoint.io.decks.solids import conditions
from pinnpoint.io.decks.text import ABAQUS, NASTRAN, read_text
from pinnpoint.mesh.mesh import Mesh


@dataclass(frozen=True, eq=False)
class Deck:
    """A deck with everything it says; mesh nodes are in order of increasing id."""

    path: Path
    data: DeckData

    __repr__ = brief

    @property
    def mesh(self) -> Mesh:
        """The mesh; cells are grouped by property, boundary facets by supports, rigid elements, sets and surfaces."""
        return self.data.mesh

    @property
    def node_ids(self) -> Index:
        """The deck's number of each node: of the mesh's points, then of the middles of its edges."""
        return self.data.node_ids

    @property
    def cell_ids(self) -> Index:
        """The deck's number of each cell."""
        return self.data.cell_ids

    @property
    def subcases(self) -> Mapping[int, Subcase]:
        """Supports and loads by number."""
        return self.data.subcases

    @property
    def ignored(self) -> tuple[str, ...]:
        """Keywords that were passed over because they do not change the physics."""
        return self.data.ignored

    @cached_property
    def _made(self) -> dict[str, fem.Elasticity]:
        return {}

    def problem(self, subcase: int | None = None, weight: Matrix | Vector | None = None) -> fem.Elasticity:
        """The elasticity problem of a subcase; the first one by default.

        Subcases with the same supports share their matrix.
        """
        case = self.data.subcase(next(iter(self.subcases)) if subcase is None else subcase)
        key = f"{case.supports} {weight if weight is None or isinstance(weight, str) else id(weight)}"
        heat: dict[str, Any] = {}
        if case.meaning is not None and case.meaning.warmth is not None:
            key, heat = f"{key} {case.number}", self.data.heat(case)
        if key not in self._made:
            data = self.data
            self._made[key] = fem.Elasticity(
                data.mesh,
                data.young,
                data.poisson,
                plane=data.plane or "strain",
                space=case.space,
                nodal=case.load,
                weight=weight,
                degree=data.degree,
                notes=data.remarks(case),
                resultants=data.uneven,
                **heat,
            )
        return self._made[key] if heat else self._made[key].under(case.load)

    def solid(self, subcase: int | None = None, weight: Matrix | Vector | None = None) -> fem.Elasticity:
        """The problem of a subcase by what it means for the solid itself: held facets and pressures.

        The continuous target can be proved for it. Forces at nodes, supports that hold no whole facet, and rigid
        elements have no such meaning and are refused with their nodes.
        """
        data = self.data
        case = data.subcase(next(iter(self.subcases)) if subcase is None else subcase)
        if case.meaning is None:
            raise InputError(
                f"subcase {case.number}: nothing is known of what its supports and loads mean for the solid"
            )
        found = conditions(Nodes(data.mesh, data.degree), case.meaning, data.node_ids)
        return fem.Elasticity(
            found.mesh,
            data.young,
            data.poisson,
            found.body,
            found.fixed,
            found.traction,
            plane=data.plane or "strain",
            weight=weight,
            degree=data.degree,
            notes=(*data.remarks(case), *found.notes),
            resultants=data.uneven,
            **data.heat(case),
        )

    def in_order(self, values: Vector) -> Vector:
        """Values in order of increasing node id, in the order of the problem's nodes."""
        return values[np.argsort(np.argsort(self.node_ids))] if len(values) == len(self.node_ids) else values

    def nodal(self, ids: ArrayLike, values: ArrayLike) -> Vector:
        """Values given by node id, in the order of the mesh; every mesh node needs one."""
        given, V = np.asarray(ids), floats("values", values)
        if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) != len(V):
            raise InputError(f"ids: must be {len(V)} whole numbers, one per row of values; got shape {given.shape}")
        order = np.argsort(given, kind="stable")
        if np.any(np.diff(given[order]) == 0):
            raise InputError("ids: a node is given twice")
        place = np.minimum(np.searchsorted(given[order], self.node_ids), len(given) - 1)
        missing = given[order][place] != self.node_ids
        if missing.any():
            raise InputError(
                f"ids: {int(missing.sum())} of {len(self.node_ids)} mesh nodes have no value, the first is node "
                f"{int(self.node_ids[np.argmax(missing)])}"
            )
        return np.asarray(V[order[place]])


def read_deck(path: PathLike) -> Deck:
    """Read a Nastran or OptiStruct deck (.bdf, .fem, .nas, .dat) or an Abaqus or CalculiX one (.inp).

    Tetrahedra or plane triangles of first or second order, the latter with straight sides; isotropic linear elasticity,
    supports, nodal forces, moments on rigid and averaging elements, pressures. A keyword that is not understood and may
    change the physics is refused with its name and line. Included files must lie in the deck's folder.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in NASTRAN + ABAQUS:
        raise InputError(f"deck '{target}': '{suffix}' files are not read (known: {', '.join(NASTRAN + ABAQUS)})")
    try:
        text = read_text(target, include=suffix in NASTRAN)
        with np.errstate(all="ignore"):  # what overflows is refused where it is used
            return Deck(target, read_nastran(text) if suffix in NASTRAN else read_abaqus_deck(text))
    except InputError as error:
        message = str(error)
        raise InputError(message if message.startswith("deck '") else f"deck '{target}': {message}") from error
    except (ArithmeticError, LookupError, MemoryError, ValueError, RecursionError) as error:
        raise InputError(f"deck '{target}': could not be read; it is broken ({error})") from error
