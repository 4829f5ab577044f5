"""The part with its fields, as the viewer draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, has, point_list
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.report.colours import MAPS
from pinnpoint.report.packing import PLACES, Packer
from pinnpoint.report.still import EYE, Still, still
from pinnpoint.report.surface import MAX_NODES, Surface, surface

GREEN = "green "
"""Fields of this prefix are the influence of the query that the rest names."""
LABELS = {"prediction": "Prediction", "corrected": "Corrected", "error": "Difference"}
POWER = 3
"""Influences peak at their query: colours follow the cube root."""
BUDGET = 1_600_000
"""Bytes of fields before they are deflated; beyond it fewer nodes are drawn, and influences are left out."""
FEWEST = 4_000
"""Nodes that are drawn however many fields there are."""


@dataclass(frozen=True, eq=False)
class Field:
    """One field at the drawn nodes, (n, c); of a query where it is an influence, of a load in a family."""

    name: str
    values: Vector
    query: str | None = None
    load: str | None = None

    @property
    def label(self) -> str:
        """What it is called."""
        return LABELS.get(self.name, self.name)

    @property
    def signed(self) -> bool:
        """Whether colours show its sign."""
        return self.values.shape[1] == 1 and (self.name == "error" or self.query is not None)

    @property
    def sizes(self) -> Vector:
        """The field, or the length of its vectors; influences by their root."""
        V = self.values[:, 0] if self.values.shape[1] == 1 else np.linalg.norm(self.values, axis=1)
        return np.sign(V) * np.abs(V) ** (1.0 / POWER) if self.query is not None else V

    @property
    def unit(self) -> Vector:
        """Between 0 and 1, for colours; signed fields have 0 in the middle."""
        V = self.sizes
        lo, hi = float(V.min()), float(V.max())
        if self.signed:
            hi = max(abs(lo), abs(hi))
            lo = -hi
        half = 0.5 * hi - 0.5 * lo  # the range itself may overflow
        return np.asarray((0.5 * V - 0.5 * lo) / half) if half > 0.0 else np.full(len(V), 0.5)


class Scene:
    """A mesh as it is drawn, whatever fields it shows.

    Parameters
    ----------
    mesh
        The mesh.
    columns
        Components of all fields together, influences aside: with many of them fewer nodes are drawn.
    at
        Where the queries sit, (K, d): solids are cut there.
    """

    def __init__(self, mesh: Mesh, columns: int, at: Any = None) -> None:
        self.mesh, self.most = mesh, self.nodes(columns)
        self.surface = surface(mesh, self.most, at)

    @staticmethod
    def nodes(columns: int) -> int:
        """At most so many nodes are drawn."""
        return min(MAX_NODES, max(FEWEST, BUDGET // (2 * columns + 2)))

    @cached_property
    def opened(self) -> Still | None:
        """The picture that needs no WebGL, of a solid cut open; intervals are drawn as curves instead."""
        return None if self.surface.dim == 1 else still(self.surface, opened=True)

    @cached_property
    def closed(self) -> Still | None:
        """The same, of a whole solid."""
        return None if self.surface.dim == 1 else still(self.surface, opened=False)


@dataclass(frozen=True, eq=False)
class View:
    """A surface, or an interval, with fields."""

    scene: Scene
    fields: tuple[Field, ...]
    left_out: int = 0
    """Influences that would have made the report too large."""
    times: tuple[str, ...] = ()
    """Where loads are moments: their names, one after the other."""

    __repr__ = brief

    @classmethod
    def of(
        cls,
        mesh: Any,
        fields: Mapping[str, Any] | Sequence[tuple[str, Mapping[str, Any]]],
        at: Any = None,
        scene: Scene | None = None,
        *,
        moments: bool = False,
    ) -> View:
        """What can be seen of a mesh.

        Parameters
        ----------
        mesh
            A mesh, a scikit-fem mesh, or a problem that has one; of tetrahedra only the boundary is kept.
        fields
            Name to values (n,) or (n, c), in the mesh's node order (further nodes of quadratic elements are cut off).
            The names ``prediction``, ``corrected``, ``error`` and ``green <query>`` have their meaning; or a list of
            (load, fields) for a family.
        at
            Where the queries sit, (K, d): solids are cut there.
        scene
            Of this mesh and these queries, where it was made before; used if it has the right number of nodes.
        moments
            Whether the loads of a list are moments: a slider goes through them, with one scale of colours for all.
        """
        mesh = _mesh(mesh)
        each = [(None, fields)] if isinstance(fields, Mapping) else [(str(load), f) for load, f in fields]
        columns = sum(np.ndim(a) and np.size(a) // len(a) for _, some in each for k, a in some.items() if not _query(k))
        if scene is None or scene.mesh is not mesh or scene.most != Scene.nodes(columns):
            scene = Scene(mesh, columns, at)
        seen = scene.surface
        found = [_field(seen, len(mesh.points), name, a, load) for load, some in each for name, a in some.items()]
        if not found:
            raise InputError("fields: is empty; give at least the prediction")
        plain = [f for f in found if f.query is None]
        greens = [f for f in found if f.query is not None]
        size = 2 * len(seen.nodes)
        room = max(1, (BUDGET - size * sum(f.values.shape[1] for f in plain)) // size)
        times = tuple(load for load, _ in each if load is not None) if moments else ()
        return cls(scene, (*plain, *greens[:room]), max(0, len(greens) - room), times)

    @property
    def surface(self) -> Surface:
        """What is drawn."""
        return self.scene.surface

    @property
    def still(self) -> Still | None:
        """The picture that needs no WebGL; solids are cut open where all fields are scalar."""
        scalar = all(f.values.shape[1] == 1 for f in self.fields)
        return self.scene.opened if scalar else self.scene.closed

    @cached_property
    def packed(self) -> tuple[dict[str, Any], str]:
        """What the viewer reads, and the bytes it speaks of in base64."""
        s, packer = self.surface, Packer()
        ranges = self._ranges() if self.times else {}
        return {
            "dim": s.dim,
            "eye": EYE,
            "maps": MAPS,
            "points": [packer.scaled(s.points[:, k], PLACES) for k in range(3)],
            "triangles": packer.whole(s.triangles),
            "edges": packer.whole(s.edges),
            "cuts": [{"level": level, "triangles": packer.whole(T)} for level, T in s.cuts],
            "fields": [self._packed(f, packer) | ranges.get(f.name, {}) for f in self.fields],
            **({"times": list(self.times)} if self.times else {}),
        }, packer.base64()

    def _ranges(self) -> dict[str, dict[str, list[float]]]:
        """The least and the largest value of every field over all moments."""
        found: dict[str, list[float]] = {}
        for f in self.fields:
            ends = found.setdefault(f.name, [float("inf"), -float("inf")])
            ends[:] = min(ends[0], float(f.values.min())), max(ends[1], float(f.values.max()))
        return {name: {"range": ends} for name, ends in found.items()}

    @staticmethod
    def _packed(field: Field, packer: Packer) -> dict[str, Any]:
        parts = [field.sizes[:, None]] if field.query is not None else [field.values]
        return {
            "name": field.name,
            "label": field.label,
            "query": field.query,
            "load": field.load,
            "signed": field.signed,
            "power": POWER if field.query is not None else 1,
            "parts": [packer.scaled(column) for column in parts[0].T],
        }


def _mesh(given: Any) -> Mesh:
    mesh = getattr(given, "mesh", given)
    if isinstance(mesh, Mesh):
        return mesh
    if not has(mesh, "p", "t"):
        raise InputError(f"mesh: must be a mesh or a problem that has one; got {type(given).__name__}")
    return Mesh(np.asarray(mesh.p).T, np.asarray(mesh.t).T)


def _field(seen: Surface, count: int, name: str, values: Any, load: str | None) -> Field:
    a = np.asarray(values)
    rows = point_list(f"field '{name}'", a, len(a) if a.ndim else count)
    if len(rows) < count:
        raise InputError(f"field '{name}': must have {count} rows, one per node; got {len(rows)}")
    return Field(name, seen.at(rows), _query(name), load)


def _query(name: str) -> str | None:
    return name.removeprefix(GREEN) if name.startswith(GREEN) else None
