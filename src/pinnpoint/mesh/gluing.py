"""Boundary facets glued in pairs by translations, for periodic conditions.

The pairs are identified vertex by vertex. That the two facets are translates of one another is checked up to rounding;
nothing that is proved rests on it, as facets are identified by their barycentric coordinates (docs/robin.md, step 7a).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from pinnpoint.base.arrays import Index, Mask, Vector, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.facets import facet_keys
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.topology import Topology

CLOSE = 1e-9
"""How far a vertex may be from the image of its partner, against the extent of the mesh."""


@dataclass(frozen=True, eq=False)
class Gluing:
    """Pairs of boundary facets that are one.

    Attributes
    ----------
    first, second
        (n, d) vertex numbers; vertex j of a first facet is vertex j of its second one.
    vertex
        The smallest number among the vertices that are one with each.
    """

    first: Index
    second: Index
    vertex: Index

    __repr__ = brief

    @classmethod
    def of(cls, mesh: Mesh, pairs: Mapping[str, str]) -> Gluing:
        """From pairs of boundary groups; refuses groups that are no translates of one another."""
        found = [_matched(mesh, one, two) for one, two in pairs.items()]
        first, second = (np.concatenate([pair[i] for pair in found]) for i in (0, 1))
        every = facet_keys(np.concatenate([first, second]), len(mesh.points))
        if len(np.unique(every)) < len(every):
            raise InputError("periodic: a facet is glued twice; each group may be in one pair")
        vertex = together(len(mesh.points), first.ravel(), second.ravel())
        cells = np.sort(vertex[mesh.cells], axis=1)
        bad = np.any(cells[:, 1:] == cells[:, :-1], axis=1)
        if bad.any():
            raise InputError(
                f"periodic: {int(bad.sum())} cells reach from one side to the other, for example cell "
                f"{int(np.argmax(bad))}; refine the mesh across the pair"
            )
        return cls(first, second, vertex)


def _matched(mesh: Mesh, one: str, two: str) -> tuple[Index, Index]:
    """The facets of two groups, those of the second in the order of the first."""
    name, X = f"periodic '{one}'", mesh.points
    if one == two:
        raise InputError(f"{name}: a group cannot be glued to itself")
    f, g = mesh.facets(one), mesh.facets(two)
    a, b = np.unique(f), np.unique(g)
    if len(f) != len(g) or len(a) != len(b):
        raise InputError(
            f"{name}: has {len(f)} facets and {len(a)} nodes, '{two}' has {len(g)} and {len(b)}; the meshes of a pair "
            "must match"
        )
    shift = X[b].min(axis=0) - X[a].min(axis=0)
    distance, at = scipy.spatial.cKDTree(X[b]).query(X[a] + shift)
    worst = int(np.argmax(distance))
    if not float(distance[worst]) <= CLOSE * float(np.ptp(X, axis=0).max()) or len(np.unique(at)) < len(at):
        raise InputError(
            f"{name}: the node at {X[a[worst]].tolist()} has no partner on '{two}': shifted by {shift.tolist()} it is "
            f"{float(distance[worst]):.3g} from the nearest node there; the meshes of a pair must match"
        )
    image = np.zeros(len(X), dtype=np.intp)
    image[a] = b[at]
    second = image[f]
    if not np.all(np.isin(facet_keys(second, len(X)), facet_keys(g, len(X)))):
        raise InputError(f"{name}: its nodes match those of '{two}', and its facets do not; mesh both sides alike")
    return f, second


def together(n: int, a: Index, b: Index) -> Index:
    """The smallest of n numbers that each is one with, where a[i] is one with b[i]."""
    graph = sp.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(n, n))
    count, label = connected_components(graph, directed=False)
    least = np.full(count, n)
    np.minimum.at(least, label, np.arange(n))
    return np.asarray(least[label])


def glued(T: Topology, gluing: Gluing) -> Topology:
    """The same cells, joined across the pairs as well; the second facets of pairs are no facets of their own.

    Vertices of cells and of facets are sorted by what they are glued to, so that both cells of a facet have its
    vertices in the same order. Coordinates stay those of each cell.
    """
    same = gluing.vertex
    order = np.argsort(same[T.cells], axis=1, kind="stable")
    cells, cell_facets, sign = (np.take_along_axis(a, order, axis=1) for a in (T.cells, T.cell_facets, T.sign))
    facets = np.take_along_axis(T.facets, np.argsort(same[T.facets], axis=1, kind="stable"), axis=1)
    one, two = T.facet_numbers(gluing.first), T.facet_numbers(gluing.second)
    facet_cells = T.facet_cells.copy()
    away = facet_cells[two, 0]
    place = np.argmax(cell_facets[away] == two[:, None], axis=1)
    sign[away, place] = -1.0
    facet_cells[one, 1] = away
    number = np.arange(len(facets))
    number[two] = one
    kept = np.setdiff1d(number, two)
    new = np.searchsorted(kept, number)
    topology = object.__new__(Topology)
    set_fields(
        topology,
        points=T.points,
        cells=cells,
        facets=facets[kept],
        cell_facets=new[cell_facets],
        facet_cells=facet_cells[kept],
        sign=sign,
        _keys=T._keys,
        _pairs=T._pairs,
        _rows=T.facets,
        _number=new,
    )
    return topology


def by_class(T: Topology, gluing: Gluing) -> Topology:
    """A glued topology with the numbers of classes in the place of those of vertices, and the same geometry."""
    topology = object.__new__(Topology)
    names = ("points", "cell_facets", "facet_cells", "sign", "_keys", "_pairs", "_rows", "_number")
    rest: dict[str, Any] = {name: getattr(T, name) for name in names}
    set_fields(topology, cells=gluing.vertex[T.cells], facets=gluing.vertex[T.facets], **rest)
    for name in ("edges", "_cofactors", "orientation", "volumes", "gradients", "diameters"):
        topology.__dict__[name] = getattr(T, name)
    return topology


def seams(points: Vector, gluing: Gluing) -> Vector:
    """Vertices of all facets of the pairs, on both sides, (2n, d, d)."""
    return np.concatenate([points[gluing.first], points[gluing.second]])


def axes_of(points: Vector, gluing: Gluing) -> Mask | str:
    """Which axes are glued where each pair lies in the two planes that bound the mesh across one, or why it does not.

    The facets of such pairs are exact translates: all other coordinates are the same to the last bit.
    """
    X, one, two, d = points, gluing.first, gluing.second, points.shape[1]
    low, high = X.min(axis=0), X.max(axis=0)
    glued, done = np.zeros(d, dtype=bool), np.zeros(len(one), dtype=bool)
    for axis in range(d):
        a, b = X[one], X[two]
        ends = [np.all(P[:, :, axis] == end[axis], axis=1) for P, end in ((a, low), (b, high), (a, high), (b, low))]
        here = (ends[0] & ends[1]) | (ends[2] & ends[3])
        rest = np.arange(d) != axis
        done |= here & np.all(a[:, :, rest] == b[:, :, rest], axis=(1, 2))
        glued[axis] = bool(here.any())
    if done.all():
        return glued
    k = int(np.argmin(done))
    return (
        f"periodic pairs must be exact translates along an axis that bound the domain; the facet at "
        f"{X[one[k]].mean(axis=0).tolist()} is glued to that at {X[two[k]].mean(axis=0).tolist()}"
    )
