"""Moments in equilibrium, near to a given stress: small problems around the vertices.

Once mean stresses s_K are chosen that satisfy the equations of linear elements, ρ = 0 falls apart by vertex and
component:

    Σ_{j≠a} ±m_{F_j,a} = |K| s_K ∇λ_a − fm_a        for every cell K around the vertex a,

cells are nodes, facets links, and facets where the component is held lead to the ground. The nearest moments to given
ones in the weights W_F = Σ_K |K|/(2μ|F|²) come from one Laplacian for each vertex. Cells that hang together through the
vertex only are patches of their own. Nothing of this is believed: whatever m comes out, its ρ is computed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.threads import on_all_cores
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.elastic.reference import voigt
from pinnpoint.transfer.elastic.stress import StressSpace, parts

ENTRIES = 200_000
"""Matrix entries at once."""


@dataclass(frozen=True, eq=False)
class Patches:
    """Patches of one size whose matrices are solved together, some components at once.

    Attributes
    ----------
    corners
        (g, n): entries of a (C, d + 1) table of cells and their vertices.
    links, pairs
        (L,): entries of a (F, d) table of facets and their vertices, and the places they have in g matrices n × n,
        first cell before second.
    ground
        (g, n): weights of what leads to the ground.
    components
        Which components have this ground.
    """

    corners: Index
    links: Index
    pairs: Index
    ground: Vector
    components: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Start:
    """All patches of a mesh, prepared once for many loads.

    Attributes
    ----------
    space
        The stresses.
    fixed
        (F, d): components of the traction that are prescribed.
    give
        (F,): 1/W_F.
    patches
        Together they hold every corner, once for each component.
    """

    space: StressSpace
    fixed: Mask
    give: Vector
    patches: list[Patches]

    @classmethod
    def of(cls, space: StressSpace, fixed: Mask) -> Start:
        """Patches for these prescribed components."""
        T, d = space.topology, space.d
        area = _areas(T)
        weight = (T.volumes / (2.0 * space.mu))[space.first // (d + 1)]
        inside = space.second >= 0
        weight[inside] += (T.volumes / (2.0 * space.mu))[space.second[inside] // (d + 1)]
        give = area**2 / weight
        ends = np.stack([_corners(space.first, d), _corners(space.second, d)], axis=2)
        return cls(space, fixed, give, _patches(len(T.cells) * (d + 1), ends, give, fixed))

    def equilibrated(self, aim_at_vertices: Vector, mean: Vector, fm: Vector | None, gm: Vector) -> Vector:
        """Moments near to a stress's tractions, in equilibrium if the means satisfy the linear elements' equations.

        Parameters
        ----------
        aim_at_vertices
            Stress at the vertices of each cell, (C, d + 1, ns).
        mean
            s_K, (C, ns).
        fm
            ∫_K f λ_i, (C, d + 1, d), or None for none.
        gm
            Moments of the prescribed tractions, (F, d, d); read where `fixed`, and kept to the last bit.
        """
        given = np.broadcast_to(self.fixed[:, None, :], gm.shape)
        m = np.where(given, gm, self._averages(aim_at_vertices))
        self._repair(m, mean, fm)
        return np.where(given, gm, m)  # elasticity.md, step 3b

    def _averages(self, stress: Vector) -> Vector:
        """Moments of both cells' tractions, averaged with weights 1/μ."""
        T, C, d = self.space.topology, len(stress), self.space.d
        by_cell = np.empty((C, d + 1, d, d))
        others = np.array([[a for a in range(d + 1) if a != j] for j in range(d + 1)])
        entry, gradients = _entries(d), T.gradients

        def work(part: slice) -> None:
            S = stress[part][:, :, entry]
            weight = T.volumes[part] / ((d + 1.0) * self.space.mu[part])
            t = np.matmul(S, -weight[:, None, None, None] * np.swapaxes(gradients[part], 1, 2)[:, None])
            for j in range(d + 1):
                here = t[:, others[j]][..., j]
                by_cell[part, j] = here + here.sum(axis=1, keepdims=True)

        on_all_cores(work, parts(C))
        soft = 1.0 / self.space.mu
        total = soft[self.space.first // (d + 1)]
        inside = self.space.second >= 0
        total[inside] += soft[self.space.second[inside] // (d + 1)]
        return self.space.summed(by_cell) / total[:, None, None]

    def _repair(self, m: Vector, mean: Vector, fm: Vector | None) -> None:
        """Add to m, where it is free, the least that makes every cell's sums what the means ask for."""
        T, d = self.space.topology, self.space.d
        s = mean[:, _entries(d)] * T.volumes[:, None, None]
        wanted = np.matmul(T.gradients, s) - self.space.vertex_forces(m, fm)  # elasticity.md, step 3a
        rest = wanted.reshape(-1, d)
        potential = np.zeros_like(rest)

        def work(patches: Patches) -> None:
            at = (patches.corners.reshape(-1, 1), np.array(patches.components))
            r = rest[at].reshape(*patches.corners.shape, -1)
            potential[at] = self._solved(patches, r).reshape(-1, len(patches.components))

        on_all_cores(work, self.patches)
        for part in parts(len(self.fixed)):
            one, two = (_corners(side[part], d) for side in (self.space.first, self.space.second))
            rise = potential[one]
            inside = np.flatnonzero(two[:, 0] >= 0)
            rise[inside] -= potential[two[inside]]
            rise *= self.give[part, None, None]
            m[part] += np.where(self.fixed[part, None], 0.0, rise)

    def _solved(self, patches: Patches, rest: Vector) -> Vector:
        """Potentials of some patches, (g, n, components); the mean of `rest` is taken out where nothing is held."""
        g, n = patches.corners.shape
        L = np.zeros((g, n, n))
        flat = L.reshape(-1)
        give = self.give[patches.links // self.space.d]
        flat[patches.pairs] = -give
        L += np.swapaxes(L, 1, 2).copy()
        diagonal = patches.ground - L.sum(axis=2)
        floating = ~np.any(patches.ground > 0.0, axis=1)
        rest[floating] -= rest[floating].mean(axis=1, keepdims=True)
        scale = diagonal.max(axis=1)
        scale = np.where(scale > 0.0, scale, 1.0)
        L[floating] += (scale[floating] / n)[:, None, None]
        L[:, np.arange(n), np.arange(n)] += diagonal
        return np.asarray(np.linalg.solve(L, rest))


def averaged(space: StressSpace, stress_by_cell: Vector) -> Vector:
    """Averages of cell stresses, (C, ns), around vertices with weights |K|/μ, by cells and vertices, (C, d + 1, ns)."""
    T = space.topology
    weight = T.volumes / space.mu
    flat, N = T.cells.ravel(), len(T.points)
    total = np.bincount(flat, np.repeat(weight, space.d + 1), minlength=N)
    sums = np.empty((N, stress_by_cell.shape[1]))
    for k in range(stress_by_cell.shape[1]):
        sums[:, k] = np.bincount(flat, np.repeat(weight * stress_by_cell[:, k], space.d + 1), minlength=N)
    used = total > 0.0
    sums[used] /= total[used, None]
    return np.asarray(sums[T.cells])


def _entries(d: int) -> Index:
    """Where the entries of a matrix are stored, (d, d)."""
    where = np.empty((d, d), dtype=np.intp)
    for k, (p, q) in enumerate(voigt(d)):
        where[p, q] = where[q, p] = k
    return where


def _areas(T: Topology) -> Vector:
    """Lengths or areas of the facets."""
    E = T.points[T.facets[:, 1:]] - T.points[T.facets[:, :1]]
    if T.dim == 2:
        return np.asarray(np.linalg.norm(E[:, 0], axis=1))
    return np.asarray(0.5 * np.linalg.norm(np.cross(E[:, 0], E[:, 1]), axis=1))


def _corners(sides: Index, d: int) -> Index:
    """(F, d): entries of a (C, d + 1) table of vertices, for facets given as entries of one of local facets."""
    cell, j = sides // (d + 1), sides % (d + 1)
    local = np.arange(d) + (np.arange(d) >= j[:, None])
    return np.where(sides[:, None] < 0, -1, cell[:, None] * (d + 1) + local)


def _patches(count: int, ends: Index, give: Vector, fixed: Mask) -> list[Patches]:
    """Connected sets of corners, by size and by what holds them, in portions."""
    d = fixed.shape[1]
    one, two = ends[..., 0].ravel(), ends[..., 1].ravel()
    inside = np.flatnonzero(two >= 0)
    graph = sp.coo_array((np.ones(len(inside), dtype=np.int8), (one[inside], two[inside])), shape=(count, count))
    number, label = connected_components(graph, directed=False)
    ground = np.zeros((count, d))
    outer = np.flatnonzero(two < 0)
    for c in range(d):
        free = outer[~fixed[outer // d, c]]
        ground[:, c] = np.bincount(one[free], give[free // d], minlength=count)
    mixed = np.zeros(number, dtype=bool)
    mixed[label[np.any(ground != ground[:, :1], axis=1)]] = True
    size = np.bincount(label, minlength=number)
    # patches in the order of their sizes, corners and links in the order of their patches
    order = np.lexsort((size, mixed))
    rank = np.empty(number, dtype=np.intp)
    rank[order] = np.arange(number)
    label = rank[label]
    size, mixed = size[order], mixed[order]
    corners = np.argsort(label, kind="stable")
    place = np.empty(count, dtype=np.intp)
    start = np.concatenate([[0], np.cumsum(size)])
    place[corners] = np.arange(count) - np.repeat(start[:-1], size)
    links = inside[np.argsort(label[one[inside]], kind="stable")]
    owner = label[one[links]]
    link_start = np.searchsorted(owner, np.arange(number + 1))
    found = []
    for a, b in _portions(size, mixed):
        n, used = int(size[a]), links[link_start[a] : link_start[b]]
        pairs = ((label[one[used]] - a) * n + place[one[used]]) * n + place[two[used]]
        here = corners[start[a] : start[b]].reshape(b - a, n)
        every = tuple(range(d))
        for components in ((c,) for c in every) if mixed[a] else (every,):
            found.append(Patches(here, used, pairs, ground[here, components[0]], components))
    return found


def _portions(size: Index, mixed: Mask) -> list[tuple[int, int]]:
    """Runs of patches of one kind with at most so many matrix entries, at least one patch each."""
    change = np.flatnonzero((np.diff(size) != 0) | (mixed[1:] != mixed[:-1])) + 1
    found = []
    for a, b in pairwise([0, *change.tolist(), len(size)]):
        step = max(1, ENTRIES // int(size[a]) ** 2)
        found += [(k, min(k + step, b)) for k in range(a, b, step)]
    return found
