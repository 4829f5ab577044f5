"""How well shaped the cells of a mesh are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from pinnpoint.base.arrays import Vector
from pinnpoint.mesh.facets import edge_table, facet_keys
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.topology import Topology


@dataclass(frozen=True)
class Quality:
    """Extremes over all cells.

    Attributes
    ----------
    angle
        The smallest angle between two facets of a cell, in degrees.
    widest
        The largest one.
    ratio
        The smallest d · inradius / circumradius, 1 for a regular simplex.
    """

    angle: float
    widest: float
    ratio: float


def quality(mesh: Mesh) -> Quality:
    """Angles and radius ratios of triangles or tetrahedra."""
    angles = facet_angles(mesh)
    return Quality(float(angles.min()), float(angles.max()), float(radius_ratios(mesh).min()))


def facet_angles(mesh: Mesh) -> Vector:
    """Angles between the facets of each cell in degrees: the corners of triangles, dihedral in tetrahedra."""
    normal = mesh.gradients / np.linalg.norm(mesh.gradients, axis=2, keepdims=True)
    pairs = list(combinations(range(mesh.dim + 1), 2))
    cosine = np.stack([-np.einsum("cd,cd->c", normal[:, i], normal[:, j]) for i, j in pairs], axis=1)
    return np.asarray(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def radius_ratios(mesh: Mesh) -> Vector:
    """Inradius times d over circumradius, of each cell.

    With E the edge vectors from vertex 0 the circumcentre is x_0 + z, 2 E z = (|e_1|², …), and the inradius is
    1 / Σ |∇λ_i|.
    """
    E = mesh.edges_of_cells
    z = np.linalg.solve(2.0 * E, np.einsum("cij,cij->ci", E, E)[..., None])[..., 0]
    inner = 1.0 / np.linalg.norm(mesh.gradients, axis=2).sum(axis=1)
    return np.asarray(mesh.dim * inner / np.linalg.norm(z, axis=1))


SAME = 1e-9
"""Nodes this near, against the extent of the mesh, lie at the same place for whoever made it."""
OBLIQUE = np.array([1.0, 0.7548776662466927, 0.5698402909980532])
"""A direction in which few nodes of any mesh lie abreast."""


def coincident(mesh: Mesh) -> tuple[int, Vector | None]:
    """How many nodes lie where one with a smaller number does, without a common cell, and the first such place.

    Cells on two sides of such nodes are not joined: a crack, or parts that somebody forgot to merge.
    """
    points, n = mesh.points, len(mesh.points)
    reach = SAME * float(np.max(points.max(axis=0) - points.min(axis=0)))
    outer = np.unique(mesh.boundary)  # an inner node has cells all round, among which no other node's have room
    along = (points[outer] - points.min(axis=0)) @ OBLIQUE[: mesh.dim]
    if np.min(np.diff(np.sort(along)), initial=np.inf) > 4.0 * reach:  # near ones would be near along any direction
        return 0, None
    pairs = outer[scipy.spatial.cKDTree(points[outer]).query_pairs(reach, output_type="ndarray")]
    if len(pairs):
        edges = facet_keys(edge_table(mesh.cells, n)[0], n)
        pairs = pairs[~np.isin(facet_keys(pairs, n), edges)]
    later = np.unique(pairs.max(axis=1)) if len(pairs) else np.zeros(0, dtype=np.intp)
    return len(later), points[later[0]] if len(later) else None


def bodies(mesh: Mesh) -> int:
    """How many parts of a mesh hang together through facets."""
    one, two = Topology.of(mesh).facet_cells.T
    inside, C = two >= 0, len(mesh.cells)
    joined = sp.coo_array((np.ones(int(inside.sum())), (one[inside], two[inside])), shape=(C, C))
    return int(connected_components(joined, directed=False, return_labels=False))


def unjoined_notes(mesh: Mesh) -> tuple[str, ...]:
    """For people: nodes that lie at one place and are not joined, and parts; nothing where there are none."""
    count, where = coincident(mesh)
    if where is not None:
        return (
            f"{count} nodes lie at the place of another one, for example at {where.tolist()}: cells on the two sides "
            "are not joined there, so the domain has a slit. Merge the nodes, unless it is a crack",
        )
    parts = bodies(mesh)
    if parts == 1:
        return ()
    return (
        f"the mesh has {parts} parts that share no facet: each is a domain of its own, whether they touch or not. Join "
        "them before meshing (in Gmsh: fragment), unless they are meant to be apart",
    )
