"""Simplicial meshes with named groups: intervals, triangles, tetrahedra."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector, digest, floats, frozen, members, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.tables import ReadOnly
from pinnpoint.base.threads import on_all_cores
from pinnpoint.mesh.cover import first_overlap
from pinnpoint.mesh.display import mesh_html
from pinnpoint.mesh.facets import both, chunks, facet_keys, facet_table, sides
from pinnpoint.mesh.middles import Drawn, Middles

BOUNDARY = "boundary"
"""The name that always stands for the whole boundary."""
CELLS = {1: "intervals", 2: "triangles", 3: "tetrahedra"}


CUT = "were cut into"
"""What the remarks of a mesh say whose file had other elements than simplices."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Points, simplices, and groups of cells and of boundary facets.

    Refuses what is not a mesh: indices out of range, points that no cell uses, coordinates that are not finite, cells
    without volume, cells that overlap (a domain is covered once; slits, whose sides touch, are allowed), facets with
    more than two cells, and group facets that are not facets of the mesh.

    Parameters
    ----------
    points
        N × d, d = 1, 2 or 3.
    cells
        C × (d + 1) vertex numbers.
    cell_groups
        Name to cell numbers, or to a mask with one truth value per cell.
    facet_groups
        Name to facets, F × d vertex numbers.
    unnamed
        Dimension and number of a file's groups that have no name, and how to name them.
    middles
        Mid-side nodes of a second-order mesh that are off the middle of their edges; the cells are then bent.
    remarks
        What a reader of certificates should know of how the mesh was made.

    Attributes
    ----------
    drawn
        Points of curved edges, where the mesh stands for a curved domain: for pictures.
    """

    points: Vector
    cells: Index
    cell_groups: Mapping[str, Index]
    facet_groups: Mapping[str, Index]
    unnamed: Mapping[tuple[int, str], str]
    middles: Middles | None
    remarks: tuple[str, ...]
    drawn: Drawn | None = None

    __repr__ = brief

    def __init__(
        self,
        points: Any,
        cells: Any,
        cell_groups: Mapping[str, Any] | None = None,
        facet_groups: Mapping[str, Any] | None = None,
        unnamed: Mapping[tuple[int, str], str] | None = None,
        *,
        middles: Middles | None = None,
        remarks: tuple[str, ...] = (),
    ) -> None:
        X = floats("points", points)
        X = X[:, None] if X.ndim == 1 else X
        if X.ndim != 2 or X.shape[1] not in CELLS:
            raise InputError(f"points: must have shape (N, 1), (N, 2) or (N, 3); got {X.shape}")
        if not np.all(np.isfinite(X)):
            raise InputError(f"points: point {int(np.argmin(np.isfinite(X).all(axis=1)))} is not finite")
        T = _indices("cells", cells, X.shape[1] + 1, len(X))
        if not len(T):
            raise InputError("cells: the mesh has no cells")
        unused = np.flatnonzero(np.bincount(T.ravel(), minlength=len(X)) == 0)
        if unused.size:
            raise InputError(
                f"points: {unused.size} points belong to no cell, the first is point {int(unused[0])}; remove them"
            )
        facets = {
            str(k): _once(_indices(f"facet group '{k}'", v, X.shape[1], len(X)), len(X))
            for k, v in (facet_groups or {}).items()
        }
        groups = {str(k): members(f"cell group '{k}'", v, len(T)) for k, v in (cell_groups or {}).items()}
        set_fields(
            self, points=X, cells=T, unnamed=dict(unnamed or {}), middles=middles, remarks=tuple(remarks), drawn=None
        )
        set_fields(self, cell_groups=ReadOnly(groups), facet_groups=ReadOnly(facets))
        frozen(X, T, *groups.values(), *facets.values())
        self._require_volumes()
        self._require_no_overlap()
        self._require_one_cover()
        self._require_known_facets()

    @classmethod
    def trusted(
        cls, points: Vector, cells: Index, cell_groups: Mapping[str, Index], facet_groups: Mapping[str, Index]
    ) -> Mesh:
        """A mesh from arrays that are known to be one: nothing is copied and nothing is checked."""
        mesh = object.__new__(cls)
        set_fields(mesh, points=points, cells=cells, unnamed={}, middles=None, remarks=(), drawn=None)
        set_fields(mesh, cell_groups=ReadOnly(cell_groups), facet_groups=ReadOnly(facet_groups))
        frozen(points, cells, *cell_groups.values(), *facet_groups.values())
        return mesh

    def with_facets(self, groups: Mapping[str, Index]) -> Mesh:
        """The same mesh with more groups of its boundary facets, which are taken as they are."""
        mesh = copy(self)
        set_fields(mesh, facet_groups=ReadOnly({**self.facet_groups, **groups}))
        frozen(*groups.values())
        return mesh

    def _repr_html_(self) -> str:
        """Numbers, groups and a drawing, for notebooks."""
        return mesh_html(self)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of points and cells: the same for copies, another one for any other mesh or numbering."""
        return digest(self.points, self.cells)

    @property
    def is_cut(self) -> bool:
        """Whether its simplices are parts of other elements of the file."""
        return any(CUT in remark for remark in self.remarks)

    @property
    def dim(self) -> int:
        """Space dimension."""
        return int(self.points.shape[1])

    @cached_property
    def edges_of_cells(self) -> Vector:
        """Edge vectors from each cell's first vertex, (C, d, d)."""
        return self._edges(slice(None))

    def _edges(self, cells: slice) -> Vector:
        P = self.points.take(self.cells[cells], axis=0)
        return np.asarray(P[:, 1:] - P[:, :1])

    @cached_property
    def volumes(self) -> Vector:
        """Lengths, areas or volumes of the cells."""
        found = np.asarray(np.abs(self._determinants) / factorial(self.dim))
        frozen(found)
        return found

    @cached_property
    def _determinants(self) -> Vector:
        found = np.empty(len(self.cells))

        def fill(cells: slice) -> None:
            with np.errstate(all="ignore"):  # what overflows has no volume
                found[cells] = np.linalg.det(self._edges(cells))

        on_all_cores(fill, chunks(len(found)))
        return found

    @cached_property
    def gradients(self) -> Vector:
        """Gradients of the barycentric coordinates, (C, d + 1, d)."""
        found = np.empty((len(self.cells), self.dim + 1, self.dim))

        def fill(cells: slice) -> None:
            inverse = np.linalg.inv(self._edges(cells))  # columns are the gradients of coordinates 1..d
            found[cells, 1:] = np.swapaxes(inverse, 1, 2)
            found[cells, 0] = -np.swapaxes(inverse, 1, 2).sum(axis=1)

        on_all_cores(fill, chunks(len(found)))
        return found

    @cached_property
    def _facet_table(self) -> tuple[Any, Any, Any]:
        """All facets once (sorted vertices), the facet opposite each cell vertex, and how many cells each one has."""
        return facet_table(self.cells, len(self.points))

    @cached_property
    def boundary(self) -> Index:
        """Boundary facets, (F, d) vertex numbers."""
        unique, _, count = self._facet_table
        found = np.asarray(unique[count == 1], dtype=np.intp)
        frozen(found)
        return found

    def facets(self, group: str) -> Index:
        """Facets of a boundary group; ``"boundary"`` is the whole boundary."""
        if group in self.facet_groups:
            return self.facet_groups[group]
        if group == BOUNDARY:
            return self.boundary
        known = ", ".join(sorted([*self.facet_groups, BOUNDARY]))
        raise self._unknown(group, self.dim - 1, f"boundary group; it has {known}")

    def at_vertices(self, values: Vector) -> Vector:
        """Values of cells at the vertices, averaged by volume."""
        corners, n, cells = self.cells.shape[1], len(self.points), self.cells.ravel()
        weight = np.bincount(cells, np.repeat(self.volumes, corners), minlength=n)
        return np.asarray(np.bincount(cells, np.repeat(self.volumes * values, corners), minlength=n) / weight)

    def largest_at_vertices(self, values: Vector) -> Vector:
        """The largest value of the cells at each vertex: in between, linear functions are not below those of cells."""
        found = np.zeros(len(self.points))
        np.maximum.at(found, self.cells.ravel(), np.repeat(values, self.cells.shape[1]))
        return found

    def cells_of(self, group: str) -> Index:
        """Cell numbers of a group."""
        if group in self.cell_groups:
            return self.cell_groups[group]
        known = ", ".join(sorted(self.cell_groups)) or "none"
        raise self._unknown(group, self.dim, f"cell group; it has {known}")

    def _unknown(self, group: str, dim: int, what: str) -> InputError:
        how = f"{self.unnamed[dim, group]}. By that name " if (dim, group) in self.unnamed else ""
        return InputError(f"group '{group}': {how}the mesh has no such {what}")

    def facet_measures(self, facets: Index) -> Vector:
        """Lengths or areas of facets; 1 for the end points of intervals."""
        P = self.points[facets]
        if self.dim == 1:
            return np.ones(len(facets))
        if self.dim == 2:
            return np.asarray(np.linalg.norm(P[:, 1] - P[:, 0], axis=1))
        return np.asarray(0.5 * np.linalg.norm(np.cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0]), axis=1))

    def outer_normals(self, facets: Index) -> Vector:
        """Outward unit normals of boundary facets, (F, d)."""
        unique, opposite, count = self._facet_table
        n, alone = len(self.points), np.nonzero(count.take(opposite) == 1)
        keys = facet_keys(unique, n)
        number = np.minimum(np.searchsorted(keys, facet_keys(facets, n)), len(keys) - 1)
        if np.any(keys[number] != facet_keys(facets, n)) or np.any(count[number] != 1):
            raise InputError("facets: have no outward normal; only facets of the boundary have one")
        place = np.zeros(len(unique), dtype=np.intp)
        place[opposite[alone]] = np.arange(len(alone[0]))
        row, cell = (part[place[number]] for part in alone)
        inward = self.gradients[cell, self.dim - row]
        return np.asarray(-inward / np.linalg.norm(inward, axis=1, keepdims=True))

    def _require_volumes(self) -> None:
        size = np.empty(len(self.cells))

        def fill(cells: slice) -> None:
            with np.errstate(all="ignore"):
                lengths = np.abs(self._edges(cells)).reshape(-1, self.dim**2)
                size[cells] = np.ascontiguousarray(lengths.T).max(axis=0) ** self.dim

        on_all_cores(fill, chunks(len(size)))
        flat = self.volumes <= 1e-14 * size
        if flat.any():
            cell = int(np.argmax(flat))
            raise InputError(
                f"cells: {int(flat.sum())} of {len(flat)} have no volume, the first is cell {cell} with vertices "
                f"{self.cells[cell].tolist()}"
            )

    def _require_no_overlap(self) -> None:
        """The two cells of an interior facet lie on opposite sides of it."""
        unique, opposite, count = self._facet_table
        if count.max() > 2:
            bad = unique[int(np.argmax(count))]
            raise InputError(f"cells: {int(count.max())} cells share the facet {bad.tolist()}; at most two can")
        one, other = both(opposite, sides(self.cells, self._determinants < 0.0), len(unique))
        wrong = (one == other) & (count == 2)
        if wrong.any():
            first, second = np.flatnonzero((opposite == int(np.argmax(wrong))).any(axis=0))
            raise InputError(
                f"cells: {int(wrong.sum())} pairs of neighbours overlap, the first are cells {int(first)} and "
                f"{int(second)}; one of them is inverted"
            )

    def _require_one_cover(self) -> None:
        """No two cells overlap, be they neighbours or not."""
        _, opposite, count = self._facet_table
        outer = np.flatnonzero((count.take(opposite) == 1).any(axis=0))
        found = first_overlap(self.points, self.cells, outer)
        if found is not None:
            raise InputError(
                f"cells: {found.cells[0]} and {found.cells[1]} overlap near {found.near.tolist()}; a mesh covers its "
                "domain once: join overlapping parts before meshing (in Gmsh: fragment or fuse them), or remove one"
            )

    def _require_known_facets(self) -> None:
        if not self.facet_groups:
            return
        known = facet_keys(self._facet_table[0], len(self.points))  # ascending
        for name, facets in self.facet_groups.items():
            keys = facet_keys(facets, len(self.points))
            missing = known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] != keys
            if missing.any():
                raise InputError(
                    f"facet group '{name}': {facets[int(np.argmax(missing))].tolist()} is not a facet of any cell"
                )


def _once(facets: Index, n: int) -> Index:
    """Each facet once, in the order given."""
    keys = facet_keys(facets, n)
    ordered = np.sort(keys)
    if not np.any(ordered[1:] == ordered[:-1]):
        return facets
    return np.asarray(facets[np.sort(np.unique(keys, return_index=True)[1])])


def _indices(name: str, x: Any, width: int, n: int) -> Index:
    if np.ma.is_masked(x):
        raise InputError(f"{name}: some entries are masked, so they have no value; fill them")
    a = np.asarray(x)
    if a.size == 0:
        return np.zeros((0, width), dtype=np.intp)
    a = a[:, None] if a.ndim == 1 and width == 1 else a
    if a.dtype.kind not in "iu" or a.ndim != 2 or a.shape[1] != width:
        raise InputError(f"{name}: must be integers of shape (count, {width}); got {a.dtype} of shape {a.shape}")
    if int(a.min()) < 0 or int(a.max()) >= n:
        raise InputError(f"{name}: vertex numbers must lie between 0 and {n - 1}; got {int(a.min())} to {int(a.max())}")
    return np.array(a, dtype=np.intp)
