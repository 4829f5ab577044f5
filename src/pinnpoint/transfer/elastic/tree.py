"""Defects of equilibrium, carried to where the body is held along a tree of cells.

A cell whose facet moments leave a force and a moment over is put in balance by tractions on the facets of a tree: each
cell passes what it has and what it got on through one facet, and the last facet is held in all components. Tractions
force/|F| + ω × (x − x_F) are linear, so that they are facet moments of a stress ς, and σ_h + ς is in equilibrium. Only
magnitudes are added: signs and rounding cannot matter, and ς is never formed. A part of the body that has no such facet
but rollers has a root cell; there d(d + 1)/2 forces at vertices of held facets, each in a held component, balance all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import UNIT, gamma, up

STIFF = 1e8
"""Forces of supports may be this many times what they balance: beyond, the body counts as one that can move."""


@dataclass(frozen=True, eq=False)
class Supports:
    """Forces at vertices that hold a part without a fully held facet.

    Attributes
    ----------
    root
        The root cell of the part.
    vertices, components, cells
        Where the forces act, (k,), their components, and the cells whose held facets take them.
    arms
        Upper bounds of the distances of the vertices from the centroids of these cells.
    inverse
        Upper bounds of |G⁻¹| by entries, (k, k), for G from the forces to force and moment/size about the root's
        centroid.
    size
        A length.
    """

    root: int
    vertices: Index
    components: Index
    cells: Index
    arms: Vector
    inverse: Vector
    size: float

    def forces(self, force: float, moment: float) -> Vector:
        """Upper bounds of the forces that balance a force and a moment about the root's centroid."""
        d = 2 if len(self.cells) == 3 else 3
        load = np.concatenate([np.full(d, force), np.full(len(self.cells) - d, moment / self.size)])
        return np.asarray(up(self.inverse @ load, 16))  # elasticity.md, step 6c


@dataclass(frozen=True, eq=False)
class Tree:
    """Ways from each cell to where the body is held.

    Attributes
    ----------
    parent
        The facet through which a cell passes on, (C,); −1 for roots and where nothing is held.
    levels
        Cells with a parent facet, the nearest to what is held first.
    above
        The cell behind the parent facet, −1 where that is held, (C,).
    own, step
        Upper bounds of the lever arms (C,): from the cell's centroid to the point about which it sums moments (the
        centre of its parent facet, or its own centroid), and from there to that of the cell above.
    spread
        Upper bounds of Σ|m_{F,i}| for a moment of one about the centre of the parent facet, (C,).
    supports
        Of the parts that only rollers hold.
    loose
        A cell of each part that can move.
    """

    topology: Topology
    parent: Index
    levels: tuple[Index, ...]
    above: Index
    own: Vector
    step: Vector
    spread: Vector
    supports: tuple[Supports, ...]
    loose: Index

    __repr__ = brief

    @classmethod
    def of(cls, T: Topology, held: NDArray[np.bool_], lam: Vector, mu: Vector) -> Tree:
        """The tree of a body whose facets are held in some components, (F, d); stiff cells carry by preference."""
        C, d = len(T.cells), T.dim
        full = np.flatnonzero(held.all(axis=1))
        part = _parts(T)
        reached = np.zeros(int(part.max()) + 1, dtype=bool)
        reached[part[T.facet_cells[full, 0]]] = True
        slop = float(up(gamma(16) * d * float(np.abs(T.points).max()), 4))
        supports, loose = [], []
        for number in np.flatnonzero(~reached):
            cells = np.flatnonzero(part == number)
            found = _supports(T, held, cells, slop)
            if found is None:
                loose.append(int(cells[0]))
            else:
                supports.append(found)
        roots = np.array([s.root for s in supports], dtype=np.intp)
        parent, levels = _grown(T, full, roots, np.minimum(2.0 * mu, 2.0 * mu + d * lam))
        two = T.facet_cells[parent]
        above = np.where(parent < 0, -1, np.where(two[:, 0] == np.arange(C), two[:, 1], two[:, 0]))
        centre = T.points[T.cells].mean(axis=1)
        at = np.where(parent[:, None] < 0, centre, T.points[T.facets[parent]].mean(axis=1))
        own = up(np.sqrt(((centre - at) ** 2).sum(axis=1)) + slop, 8)
        step = up(np.sqrt(((at - at[above]) ** 2).sum(axis=1)) + slop, 8)
        spread = _spread(T.points[T.facets[parent]])
        return cls(T, parent, levels, above, own, step, spread, tuple(supports), np.array(loose, dtype=np.intp))

    def require_held(self) -> None:
        """Refuse a body of which a part can move."""
        if not len(self.loose):
            return
        at = self.topology.points[self.topology.cells[self.loose[0]]].mean(axis=0)
        place = ", ".join(f"{x:.6g}" for x in at)
        more = "" if len(self.loose) == 1 else f" (and {len(self.loose) - 1} more)"
        raise InputError(
            f"fixed: the part of the body at ({place}) can move{more}: parts hang together through facets, and what "
            "is held there leaves a translation or a rotation free; hold all components on a facet of the part, or "
            "single components on facets that together stop every rigid motion"
        )

    def cost(self, force: Vector, moment: Vector, norm_factor: Vector) -> Vector:
        """Upper bounds a_K (C,) of ‖ς‖_{C⁻¹,K}; infinite for a part that can move.

        Parameters
        ----------
        force, moment
            Upper bounds (C,) of the cells' forces, and of their moments about the centroids.
        norm_factor
            N_K with ‖σ(m)‖_{C⁻¹,K} ≤ N_K Σ |m_slot|, the sum over the cell's facets and their vertices.

        Guarantee: there are facet moments on the tree and on held pairs that balance every cell, and their stress ς has
        at most a_K on each.
        """
        slots = np.zeros(len(force))
        if self.supports:
            sums, turns = self._carried(force, moment)
            force, moment = force.copy(), moment.copy()
            for s in self.supports:
                phi = s.forces(float(sums[s.root]), float(turns[s.root]))
                np.add.at(slots, s.cells, up(phi, 8))
                np.add.at(force, s.cells, up(phi, 8))
                np.add.at(moment, s.cells, up(phi * s.arms, 8))
            force, moment = up(force, 8), up(moment, 8)
        sums, turns = self._carried(force, moment)
        through = np.where(self.parent < 0, 0.0, up(sums + turns * self.spread, 4))  # elasticity.md, step 6b
        linked = self.above >= 0
        slots += through + np.bincount(self.above[linked], through[linked], minlength=len(force))
        cost = np.asarray(up(norm_factor * up(slots, 8), 4))  # elasticity.md, step 6b
        if len(self.loose):
            part = _parts(self.topology)
            cost[np.isin(part, part[self.loose])] = np.inf
        return np.where(np.isnan(cost), np.inf, cost)

    def _carried(self, force: Vector, moment: Vector) -> tuple[Vector, Vector]:
        """Bounds of force and moment of each cell with all that comes through it, about its parent facet's centre."""
        sums = up(force)
        turns = up(moment + force * self.own, 4)
        for cells in reversed(self.levels):  # elasticity.md, step 6a
            sums[cells] = up(sums[cells], 8)
            turns[cells] = up(turns[cells], 8)
            on = cells[self.above[cells] >= 0]
            np.add.at(sums, self.above[on], sums[on])
            np.add.at(turns, self.above[on], up(turns[on] + self.step[on] * sums[on], 4))
        return up(sums, 8), up(turns, 8)


def _grown(T: Topology, full: Index, roots: Index, stiffness: Vector) -> tuple[Index, tuple[Index, ...]]:
    """Parent facets and levels, breadth first from held facets and root cells."""
    C = len(T.cells)
    parent, seen = np.full(C, -1, dtype=np.intp), np.zeros(C, dtype=bool)
    seen[roots] = True
    facets = np.concatenate([full, T.cell_facets[roots].ravel()])
    donor = np.concatenate([np.full(len(full), np.inf), np.repeat(stiffness[roots], T.dim + 1)])
    levels: list[Index] = []
    while len(facets):
        cells = T.facet_cells[facets]
        new = np.where((cells[:, 0] >= 0) & ~seen[cells[:, 0]], cells[:, 0], cells[:, 1])
        fresh = (new >= 0) & ~seen[new]
        facets, new, donor = facets[fresh], new[fresh], donor[fresh]
        order = np.lexsort((-donor, new))
        first = np.unique(new[order], return_index=True)[1]
        chosen = order[first]
        level = new[chosen]
        if not len(level):
            break
        parent[level], seen[level] = facets[chosen], True
        levels.append(level)
        facets = T.cell_facets[level].ravel()
        donor = np.repeat(stiffness[level], T.dim + 1)
    return parent, tuple(levels)


def _parts(T: Topology) -> Index:
    """The part of each cell; parts hang together through facets."""
    one, two = T.facet_cells[~T.boundary].T
    links = sp.coo_array((np.ones(len(one)), (one, two)), shape=(len(T.cells),) * 2)
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)


def _spread(F: Vector) -> Vector:
    """Upper bounds of Σ_i |m_i| of the traction ω × y with moment one on facets (n, d, d), y from the centre.

    m_i = |F| ω × y_i/(d(d + 1)), and the moment is (|F|/(d(d + 1))) Σ y_i × (ω × y_i): at least |F||ω|/(d(d + 1)) times
    the smaller eigenvalue of Σ y_i y_iᵀ in the facet's plane. Its trace is a third of the edges' squares together, and
    the product of the two eigenvalues is 4/3 |F|².
    """
    d = F.shape[1]
    if d == 2:
        length = np.sqrt(((F[:, 1] - F[:, 0]) ** 2).sum(axis=1))
        return np.asarray(up(2.0 / length, 8))  # elasticity.md, step 6b
    edges = np.stack([F[:, 1] - F[:, 0], F[:, 2] - F[:, 1], F[:, 0] - F[:, 2]])
    squares = (edges**2).sum(axis=2)
    trace = squares.sum(axis=0) / 3.0
    size = np.cross(edges[0], edges[1])
    rough = np.abs(edges[0]).sum(axis=1) * np.abs(edges[1]).sum(axis=1)  # bounds the products behind the cross product
    double = np.sqrt((size**2).sum(axis=1)) - gamma(16) * rough  # at most 2|F|
    product = np.maximum(double, 0.0) ** 2 / 3.0
    larger = 0.5 * (trace + np.sqrt(np.maximum(trace**2 - 4.0 * product, 0.0) + gamma(32) * trace**2))
    edge = np.sqrt(squares)
    # |y_i| ≤ (a + b)/3 for the two edges at vertex i
    total = 2.0 / 3.0 * edge.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = up(total * larger / product, 64)  # elasticity.md, step 6b
    return np.where(product > 0.0, found, np.inf)


def _supports(T: Topology, held: NDArray[np.bool_], cells: Index, slop: float) -> Supports | None:
    """Forces that hold a part, or None where it can move."""
    d = T.dim
    centre = T.points[T.cells[cells]].mean(axis=1)
    root = int(cells[np.argmin(((centre - centre.mean(axis=0)) ** 2).sum(axis=1))])
    inside = np.zeros(len(T.cells), dtype=bool)
    inside[cells] = True
    facets = np.flatnonzero(held.any(axis=1) & inside[T.facet_cells[:, 0]])
    row, component = np.nonzero(held[facets])
    vertex = T.facets[facets[row]].ravel()
    cell, component = np.repeat(T.facet_cells[facets[row], 0], d), np.repeat(component, d)
    first = np.unique(vertex * d + component, return_index=True)[1]
    vertex, cell, component = vertex[first], cell[first], component[first]
    at = T.points[T.cells[root]].mean(axis=0)
    size = float(np.abs(T.points[T.cells[cells]] - at).max())
    G = _wrenches((T.points[vertex] - at) / size, component)
    if G.shape[1] < len(G):
        return None
    chosen = sla.qr(G, mode="r", pivoting=True)[1][: len(G)]
    G, vertex, component, cell = G[:, chosen], vertex[chosen], component[chosen], cell[chosen]
    inverse = _inverse_bound(G, slop / size)
    if inverse is None:
        return None
    middle = T.points[T.cells[cell]].mean(axis=1)
    arms = up(np.sqrt(((T.points[vertex] - middle) ** 2).sum(axis=1)) + slop, 8)
    return Supports(root, vertex, component, cell, arms, inverse, size)


def _wrenches(y: Vector, component: Index) -> Vector:
    """Force and moment of unit forces at points, (d(d + 1)/2, n)."""
    d = y.shape[1]
    e = np.eye(d)[component]
    turn = (y[:, 0] * e[:, 1] - y[:, 1] * e[:, 0])[None] if d == 2 else np.cross(y, e).T
    return np.concatenate([e.T, turn])


def _inverse_bound(G: Vector, wrong: float) -> Vector | None:
    """Upper bounds of |(G + ΔG)⁻¹| by entries for |ΔG| ≤ wrong + 8u|G|; None where that is singular or nearly so."""
    k = len(G)
    try:
        X = np.linalg.inv(G)
    except np.linalg.LinAlgError:
        return None
    size = np.abs(X)
    if not float(size.max()) < STIFF:
        return None
    gap = np.abs(np.eye(k) - X @ G) + gamma(2 * k + 4) * (size @ np.abs(G) + np.eye(k))
    gap += size @ (np.full((k, k), wrong) + 8.0 * UNIT * np.abs(G))
    norm = float(up(gap.sum(axis=1).max(), 16))
    if not norm < 0.5:
        return None
    # elasticity.md, step 6c: (G + ΔG)⁻¹ = (I − E)⁻¹X, and |E X| ≤ ‖E‖ max |X| in every column
    return np.asarray(up(size + norm / (1.0 - norm) * size.max(axis=0), 8))
