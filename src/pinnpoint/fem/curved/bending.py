"""The geometry of a scalar problem: the mesh with its boundary on given curves, and the data carried back to it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.assembling.operators import is_opaque
from pinnpoint.fem.curved.bent import Carried, Spread, Through, carried, on_groups, turned
from pinnpoint.fem.data.borders import bodies
from pinnpoint.fem.data.coefficients import own
from pinnpoint.fem.data.sources import by_groups, source_of
from pinnpoint.fem.data.varied import Parts, diffusion_parts, reaction_parts, regions_of
from pinnpoint.mesh.bent.arcs import arcs, joined
from pinnpoint.mesh.bent.faces import require_apart
from pinnpoint.mesh.bent.maps import TERMS, Bends, Profiles
from pinnpoint.mesh.bent.places import back
from pinnpoint.mesh.bent.projection import projected
from pinnpoint.mesh.bent.shapes import Shape
from pinnpoint.mesh.bent.simple import require_simple
from pinnpoint.mesh.bent.surfaces import on_surfaces
from pinnpoint.mesh.curves import curve_notes
from pinnpoint.mesh.facets import edge_table, facet_keys
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.middles import STRAIGHT, Middles
from pinnpoint.mesh.quadrature import at_points, conical
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.systems.targets import CURVED, ISOPARAMETRIC
from pinnpoint.taylor.minima import minimum
from pinnpoint.transfer.boundary.facets import measures
from pinnpoint.transfer.points.ground import Ground
from pinnpoint.transfer.stretch import Stretch

FINE = 6
"""Gauss points along each side for sizes."""
MARK = "bent cells: "
"""How the groups of cells begin that stand for what is given on bent and on straight cells."""


@dataclass(frozen=True, eq=False)
class Bending:
    """What the domain is.

    Attributes
    ----------
    mesh
        The straight mesh with its vertices on the curves.
    bends
        The map onto the domain.
    geometry
        Curves by group; None where the mesh is of second order.
    words
        What the domain is, for people.
    """

    mesh: Mesh
    bends: Bends
    geometry: Mapping[str, Shape]
    words: tuple[str, ...]
    given: Mapping[str, Any] = field(default_factory=dict)
    """The data as it was given."""
    second_order: Mesh | None = None
    """The mesh with its mid-side nodes, where these are its geometry."""
    origin: Bending | None = None
    """Of a refined mesh: the geometry that was refined."""

    __repr__ = brief

    @classmethod
    def of(cls, mesh: Mesh, geometry: Mapping[str, Shape] | None, *, far: bool = False) -> Bending | None:
        """From curves of boundary groups, or from mid-side nodes; None where there are neither."""
        if geometry is not None and not isinstance(geometry, Mapping):
            raise InputError(f"geometry: must be a table from boundary groups to curves; got {type(geometry).__name__}")
        if mesh.middles is not None:
            return cls._of_second_order(mesh, geometry)
        if not geometry:
            return None
        for group, shape in geometry.items():
            _require_shape(group, shape, mesh.dim)
            if not len(mesh.facets(group)):
                raise InputError(f"geometry: group '{group}' has no facets")
        mesh = unmarked(mesh)
        points, offset = projected(mesh, geometry, far=far)
        moved = Mesh(points, mesh.cells, mesh.cell_groups, mesh.facet_groups, remarks=mesh.remarks)
        if mesh.dim == 3:
            bends = on_surfaces(moved, offset, geometry)  # curved.md, step 2d
        else:
            chords = [arcs(points, offset, moved.facets(g), shape, g) for g, shape in geometry.items()]
            bends = Bends(moved, joined(chords), offset)
        require_cover(bends)
        outer = facet_keys(mesh.boundary, len(mesh.points))
        kinds = {group: np.isin(facet_keys(mesh.facets(group), len(mesh.points)), outer).all() for group in geometry}
        words = tuple(
            f"the {'boundary' if kinds[group] else 'border'} '{group}' is {shape.words}"
            for group, shape in geometry.items()
        )
        return cls(moved, bends, dict(geometry), words)

    @classmethod
    def _of_second_order(cls, mesh: Mesh, geometry: Mapping[str, Shape] | None) -> Bending:
        """The isoparametric domain of a second-order mesh."""
        if geometry:
            raise InputError(
                "geometry: the mesh has mid-side nodes, which are a geometry of their own; read it with straight=True "
                "(mesh.straight in a case file), or give no curves"
            )
        assert mesh.middles is not None
        A, B, M = (*(mesh.points[mesh.middles.edges[:, i]] for i in (0, 1)), mesh.middles.points)
        D = M - 0.5 * (A + B)
        wrong = up(4.0 * UNIT * (np.abs(A) + np.abs(B) + np.abs(M)), 2)
        shape = np.zeros((len(D), TERMS))
        shape[:, 0] = 4.0
        profiles = Profiles(mesh.middles.edges, D, wrong, shape, np.zeros(len(D)), np.zeros(len(D)))
        plain = copy(mesh)
        set_fields(plain, middles=None)
        bends = Bends(plain, profiles, np.zeros_like(mesh.points))
        require_cover(bends)
        away = float(np.sqrt((D * D).sum(axis=1)).max())
        words = (
            f"the domain is the isoparametric domain of {mesh.middles.source}: {len(D)} mid-side nodes are off the "
            f"middles of their edges, by up to {away:.3g}; nodes within {STRAIGHT:g} of an edge's length count as in "
            "its middle, and new nodes of refined meshes are rounded once",
        )
        return cls(plain, bends, {}, words, second_order=mesh)

    @cached_property
    def stretch(self) -> Stretch:
        """How much larger cells and facets are in the domain."""
        bent = np.zeros(len(self.mesh.cells), dtype=bool)
        bent[self.bends.cells] = True
        return Stretch(bent, Spread(self.bends, 1.0, "geometry"), Through(self.bends, 1.0, "geometry"))

    @cached_property
    def ground(self) -> Ground:
        """What is given in the domain, for points."""
        A = diffusion_parts(self.given["diffusion"], self.mesh)
        given = regions_of(A, None, reaction_parts(self.given["reaction"], self.mesh))
        return Ground(self.bends, given, source_of(self.given["source"], self.mesh))

    @property
    def domain(self) -> str:
        """What intervals are of."""
        return CURVED if self.geometry else ISOPARAMETRIC

    def notes(self) -> tuple[str, ...]:
        """What the domain is, and what looks curved besides."""
        if not self.geometry:
            return self.words
        own = (f"{words}; intervals of the PDE's own solution are for it" for words in self.words)
        return (*own, *curve_notes(self.mesh, self.geometry, bodies(self.mesh, self.given)))

    def translated(self, given: Mapping[str, Any]) -> tuple[Mesh, dict[str, Any]]:
        """The mesh with groups for bent cells, and the data of the problem on it."""
        if given.get("convection") is not None:
            raise InputError("geometry: convection beside curved boundaries is not supported; leave one of them out")
        if given.get("periodic"):
            raise InputError("geometry: periodic pairs beside curved boundaries are not supported")
        if is_opaque(given["diffusion"]) or is_opaque(given["reaction"]):
            raise InputError("geometry: curved boundaries need a diffusion and a reaction by numbers or formulas")
        for name in ("dirichlet", "neumann", "robin"):
            if not isinstance(given.get(name) or {}, Mapping):
                got = type(given[name]).__name__
                raise InputError(f"{name}: must be a table from boundary groups to values; got {got}")
        set_fields(self, given={name: own(what) for name, what in given.items()} | {"geometry": self.geometry})
        bent, groups = self.bends.kinds, dict[str, Index]()
        made: dict[str, Any] = {
            "source": self._source(given["source"], bent, groups),
            "diffusion": self._split(diffusion_parts(given["diffusion"], self.mesh), bent, groups),
            "reaction": self._split(reaction_parts(given["reaction"], self.mesh), bent, groups),
            "dirichlet": on_groups(self.bends, given["dirichlet"], "dirichlet", Carried),
            "neumann": on_groups(self.bends, given["neumann"], "neumann", Through),
        }
        if given.get("robin"):
            each = {group: _pair(pair) for group, pair in given["robin"].items()}
            alpha = on_groups(self.bends, {g: a for g, (a, _) in each.items()}, "robin", Through)
            value = on_groups(self.bends, {g: v for g, (_, v) in each.items()}, "robin", Through)
            made["robin"] = {group: (alpha[group], value[group]) for group in each}
        mesh = Mesh.trusted(
            self.mesh.points, self.mesh.cells, {**self.mesh.cell_groups, **groups}, dict(self.mesh.facet_groups)
        )
        set_fields(mesh, remarks=self.mesh.remarks, drawn=self.bends.drawn())
        return mesh, made

    def _source(self, given: Any, bent: Index, groups: dict[str, Index]) -> Any:
        if not callable(given) and not isinstance(given, Mapping) and float(given) == 0.0:
            return given
        parts = by_groups(given, self.mesh)
        labels = np.empty(len(self.mesh.cells), dtype=np.intp)
        for i, (_, _, cells) in enumerate(parts):
            labels[cells] = i
        return self._split(Parts("source", labels, tuple(f for _, f, _ in parts)), bent, groups)

    def _split(self, parts: Parts, bent: Index, groups: dict[str, Index]) -> Any:
        """A table from groups of cells that are bent or not to what is given there."""
        table = {}
        if parts.name == "reaction" and all(not callable(v) and v == 0.0 for v in parts.values):
            return 0.0
        for i, value in enumerate(parts.values):
            for here, said in enumerate(("", " touched", " bent")):
                cells = np.flatnonzero((parts.labels == i) & (bent == here))
                if not len(cells):
                    continue
                name = f"{MARK}{parts.name} {i}{said}"
                groups[name] = cells
                table[name] = value
                if here:
                    diffusion = parts.name == "diffusion"
                    table[name] = (
                        turned(self.bends, value) if diffusion else carried(self.bends, value, parts.name, Spread)
                    )
        return table

    def size_of(self, simplices: Index) -> float:
        """About the volume of cells, or the measure of boundary facets, by their vertices, in the domain."""
        V, d = self.mesh.points[simplices], self.mesh.dim
        bary, weights = conical(simplices.shape[1] - 1, FINE)
        X = at_points(V, bary).reshape(-1, d)
        if simplices.shape[1] == d + 1:
            E = V[:, 1:] - V[:, :1]
            flat = np.abs(np.linalg.det(E)) / (2.0 if d == 2 else 6.0)
            return float(flat @ (np.linalg.det(self.bends.moved(X)[1]).reshape(len(V), -1) @ weights))
        return float(measures(V)[0] @ (self.stretch.area(X).reshape(len(V), -1) @ weights))

    def nodes(self, nodes: Nodes) -> Nodes:
        """The nodes of the straight mesh where they are in the domain."""
        found = copy(nodes)
        set_fields(found, points=self.bends.moved(nodes.points)[0])
        return found

    def on(self, mesh: Mesh) -> Mesh:
        """A refined mesh with its vertices where the map of the first one takes them, and on the curves."""
        mesh = unmarked(mesh)
        root = self.root(mesh)
        points = root.bends.moved(mesh.points)[0]  # curved.md, step 2f
        points[: len(root.mesh.points)] = root.mesh.points
        if not self.geometry:
            return root._of_children(mesh, points)
        placed = Mesh(points, mesh.cells, mesh.cell_groups, mesh.facet_groups)
        points, _ = projected(placed, self.geometry, far=True)
        return Mesh(points, mesh.cells, mesh.cell_groups, mesh.facet_groups, remarks=mesh.remarks)

    def root(self, mesh: Mesh) -> Bending:
        """The geometry of which a mesh is a refinement: refinements go on from the first straight mesh."""
        own = self.mesh.points
        refines = len(mesh.points) >= len(own) and np.array_equal(mesh.points[: len(own)], own)
        return self if refines or self.origin is None else self.origin

    def _of_children(self, mesh: Mesh, points: Vector) -> Mesh:
        """The second-order mesh whose map is that of this one, from a refinement of its straight mesh.

        On a part of a cell a quadratic map is the quadratic map of its values at the part's nodes.
        """
        assert self.second_order is not None
        assert self.second_order.middles is not None
        edges = edge_table(mesh.cells, len(mesh.points))[0]
        middle = self.bends.moved(mesh.points[edges].mean(axis=1))[0]  # curved.md, step 2f
        middles = Middles(edges, middle, self.second_order.middles.source).off(points)
        return Mesh(points, mesh.cells, mesh.cell_groups, mesh.facet_groups, middles=middles, remarks=mesh.remarks)

    def require_outside(self, X: Vector, reach: Vector, what: str) -> None:
        """Refuse balls about points, or points, that meet bent cells."""
        cell, _, _ = back(self.bends, X, what)
        inside = self.bends.row_of[cell] < len(self.bends.cells)
        if inside.any():
            k = int(np.argmax(inside))
            raise InputError(
                f"{what}: {X[k].tolist()} lies in a cell at a curved boundary, where points are not supported; move it "
                "inside by about a cell, or refine the mesh"
            )
        for k in np.flatnonzero(reach > 0.0).tolist():
            V = self.bends.vertices
            away = np.sqrt(((V.mean(axis=1) - X[k]) ** 2).sum(axis=1))
            wide = np.sqrt(((V - V.mean(axis=1, keepdims=True)) ** 2).sum(axis=2)).max(axis=1)
            if float((away - wide).min()) <= float(reach[k]) * (1.0 + 1e-9):
                raise InputError(
                    f"{what}: the ball of radius {float(reach[k]):g} about {X[k].tolist()} may meet cells at a curved "
                    "boundary; make it smaller, or refine the mesh"
                )


def unmarked(mesh: Mesh) -> Mesh:
    """The mesh without the groups that stand for bent cells: facets between those are not to be kept flat."""
    groups = {name: cells for name, cells in mesh.cell_groups.items() if not name.startswith(MARK)}
    if len(groups) == len(mesh.cell_groups):
        return mesh
    found = Mesh.trusted(mesh.points, mesh.cells, groups, dict(mesh.facet_groups))
    set_fields(found, remarks=mesh.remarks)
    return found


def require_cover(bends: Bends) -> None:
    """Refuse a map that is not proved to cover its domain once."""
    low = minimum(Spread(bends, 1.0, "geometry"), bends.vertices)  # curved.md, step 1b
    if not float(low.min()) > 0.0:
        k = int(np.argmin(low))
        raise InputError(
            f"geometry: the cell about {bends.vertices[k].mean(axis=0).tolist()} is turned over by the curve, or not "
            f"shown not to be (the lower bound of its Jacobian is {float(low[k]):.3e}): its facets on the curve are "
            "too long or the cell too flat. Refine the mesh there, to facets of about half the curve's radius or less"
        )
    (require_simple if bends.d == 2 else require_apart)(bends)  # curved.md, step 1c


def _pair(given: Any) -> tuple[Any, Any]:
    return (given["coefficient"], given["value"]) if isinstance(given, Mapping) else (given[0], given[1])


def _require_shape(group: str, shape: Any, dim: int) -> None:
    if not isinstance(shape, Shape):
        raise InputError(
            f"geometry '{group}': must be pp.Circle, pp.Ellipse, pp.LevelSet, pp.Sphere or pp.Cylinder; got "
            f"{type(shape).__name__}"
        )
    if dim == 1 or shape.dim not in (None, dim):
        raise InputError(
            f"geometry '{group}': {shape.words} in {dim}D; circles and ellipses are for plane meshes, spheres and "
            "cylinders for tetrahedra"
        )
