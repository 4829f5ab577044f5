"""All self-equilibrated moments by local modes, and the nearest stress over them by conjugate gradients.

Every m with ρ = 0, f = 0 and no prescribed moment is a sum of these (but for few fields of multiply connected bodies):

- *stretches* of a facet along its edge from a to b, t = x_b − x_a: m_{F,b} = t, m_{F,a} = −t;
- *circulations* around an entity g of codimension 2 (a vertex, an edge), for each vertex a of g and each axis k:
  m_{F,a} = ±e_k on all facets F at g, the sign that of n_F about g;
- the *swell* of g: m_{F,c} = n_F/h_c, m_{F,a} = −β_a n_F/h_c on all facets F = g + {c}, h_c the distance of c from g
  and β the barycentric coordinates of its foot.

In 2D these are the degrees of freedom of the Airy function in the space of Hsieh, Clough and Tocher. A mode that
touches a prescribed moment is left out. Nothing here is believed: m + Zy is some m, whatever y is, and its ρ is
computed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.threads import on_all_cores
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.elastic.reference import roots, slots, voigt
from pinnpoint.transfer.elastic.stress import Aim, StressSpace, parts, product


@dataclass(frozen=True, eq=False)
class Frames:
    """Geometry of the facets, and of the entities of codimension 2 opposite each of their vertices.

    Attributes
    ----------
    tangents
        (F, edges, d): x_b − x_a for the pairs a < b.
    normals
        (F, d): unit, outward of the first cell; zeros of facets across an axis are exact.
    entities
        (F, d): number of the entity opposite each vertex.
    turns
        (F, d): sign of n_F about that entity.
    swells
        (F, d, d): for the entity opposite c, 1/h_c at c and −β_a/h_c at its own vertices.
    count
        Number of entities.
    """

    tangents: Vector
    normals: Vector
    entities: Index
    turns: Vector
    swells: Vector
    count: int

    @classmethod
    def of(cls, space: StressSpace) -> Frames:
        """Frames of a mesh."""
        T, d = space.topology, space.d
        X = T.points[T.facets]
        tangents = np.stack([X[:, b] - X[:, a] for a, b in combinations(range(d), 2)], axis=1)
        opposite = T.points[T.cells.ravel()[space.first]]
        normals = _across(X[:, 1:] - X[:, :1])
        normals *= np.sign(np.einsum("fa,fa->f", normals, X[:, 0] - opposite))[:, None]
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        turns, swells = np.empty((len(X), d)), np.empty((len(X), d, d))
        for c in range(d):
            rest = [i for i in range(d) if i != c]
            arm = X[:, c] - X[:, rest[0]]
            if d == 2:
                about, beta = np.stack([-arm[:, 1], arm[:, 0]], axis=1), np.ones((len(X), 1))
            else:
                edge = X[:, rest[1]] - X[:, rest[0]]
                z = np.einsum("fa,fa->f", arm, edge) / np.einsum("fa,fa->f", edge, edge)
                arm = arm - z[:, None] * edge
                about, beta = np.cross(edge, arm), np.stack([1.0 - z, z], axis=1)
            turns[:, c] = np.sign(np.einsum("fa,fa->f", about, normals))
            height = np.linalg.norm(arm, axis=1)
            swells[:, c, c] = 1.0 / height
            swells[:, c, rest] = -beta / height[:, None]
        entities, count = _entities(T)
        return cls(tangents, normals, entities, turns, swells, count)


@dataclass(frozen=True, eq=False)
class Modes:
    """The modes of a mesh: amplitudes y to moments, in the order stretches, circulations, swells.

    Attributes
    ----------
    tangents, normals
        As in `Frames`.
    turn
        Signs, sparse: from (entity, its vertex) to (facet, its vertex), for each axis.
    swell
        Lengths of normal moments, sparse: from entities to (facet, its vertex).
    fixed
        (F, d): prescribed components.
    inverse
        Inverse diagonal of the modes' energies; zero for a mode that is left out.
    """

    tangents: Vector
    normals: Vector
    turn: sp.csr_array
    swell: sp.csr_array
    fixed: Mask
    inverse: Vector

    @classmethod
    def of(cls, space: StressSpace, fixed: Mask) -> Modes:
        """All modes of a mesh that leave these components of the tractions as they are."""
        frames = Frames.of(space)
        (F, d), G = frames.entities.shape, frames.count
        turn_at, turn_by, swell_at, swell_by = [], [], [], []
        for i in range(d):  # the vertex of the facet
            for c in range(d):  # the entity opposite c
                swell_at.append(frames.entities[:, c])
                swell_by.append(frames.swells[:, c, i])
                if c != i:
                    turn_at.append(frames.entities[:, c] * (d - 1) + (i if i < c else i - 1))
                    turn_by.append(frames.turns[:, c])
        turn = _by_rows(turn_at, turn_by, F * d, G * (d - 1))
        swell = _by_rows(swell_at, swell_by, F * d, G)
        energies = np.concatenate([part.ravel() for part in _energies(space, frames)])
        free = np.concatenate([part.ravel() for part in _free(frames, fixed)])
        inverse = np.zeros(len(energies))
        np.divide(1.0, energies, out=inverse, where=free & (energies > 0.0))
        return cls(frames.tangents, frames.normals, turn, swell, fixed, inverse)

    def moments(self, y: Vector) -> Vector:
        """Zy, (F, d, d)."""
        F, edges, d = self.tangents.shape
        stretch, circulation, swell = self._split(y)
        m = np.asarray(self.turn @ circulation).reshape(F, d, d)  # elasticity.md, step 4a
        lengths = np.asarray(self.swell @ swell).reshape(F, d)
        for i in range(d):
            m[:, i] += lengths[:, i, None] * self.normals
        for e, (a, b) in enumerate(combinations(range(d), 2)):
            along = stretch.reshape(F, edges)[:, e, None] * self.tangents[:, e]
            m[:, b] += along
            m[:, a] -= along
        return m

    def amplitudes(self, r: Vector) -> Vector:
        """Zᵀr for r (F, d, d)."""
        F, edges, d = self.tangents.shape
        stretch = np.empty((F, edges))
        for e, (a, b) in enumerate(combinations(range(d), 2)):
            stretch[:, e] = np.einsum("fa,fa->f", r[:, b] - r[:, a], self.tangents[:, e])
        circulation = np.asarray(self.turn.T @ r.reshape(F * d, d))
        swell = np.asarray(self.swell.T @ np.matmul(r, self.normals[:, :, None]).ravel())
        return np.concatenate([stretch.ravel(), circulation.ravel(), swell])

    def _split(self, y: Vector) -> tuple[Vector, Vector, Vector]:
        F, edges, d = self.tangents.shape
        n, k = self.turn.shape[1], F * edges
        return y[:k], y[k : k + n * d].reshape(n, d), y[k + n * d :]


def improved(
    space: StressSpace,
    modes: Modes,
    m: Vector,
    fm: Vector | None,
    aim: Aim,
    iterations: int = 8,
    decrease: float = 0.0,
) -> Vector:
    """Moments with the same ρ up to rounding and a smaller ‖σ_h − aim‖, by conjugate gradients over all modes.

    Parameters
    ----------
    iterations
        At most so many; 8 leave about a tenth to the optimum.
    decrease
        Stop when an iteration lowers the square of the norm by less than this, relative to what is left.
    """
    energy, gradient = space.gradient(m, fm, aim)
    left = float(energy.sum())
    r = -0.5 * modes.amplitudes(gradient)
    z = modes.inverse * r
    y, p, rz = np.zeros_like(z), z.copy(), float(r @ z)
    for _ in range(iterations):
        energy, gradient = space.gradient(modes.moments(p), None, None)
        square = float(energy.sum())
        if not (rz > 0.0 and square > 0.0):
            break
        step = rz / square
        y += step * p
        left -= step * rz
        if step * rz <= decrease * max(left, 0.0):
            break
        r -= (0.5 * step) * modes.amplitudes(gradient)
        z = modes.inverse * r
        rz, before = float(r @ z), rz
        p *= rz / before
        p += z
    found = modes.moments(y)
    found += m
    given = np.broadcast_to(modes.fixed[:, None, :], m.shape)
    found[given] = m[given]  # elasticity.md, step 4b
    return found


def _across(E: Vector) -> Vector:
    """A normal of d − 1 edges, (F, d − 1, d)."""
    if E.shape[2] == 2:
        return np.stack([E[:, 0, 1], -E[:, 0, 0]], axis=1)
    return np.asarray(np.cross(E[:, 0], E[:, 1]))


def _entities(T: Topology) -> tuple[Index, int]:
    """Numbers of the entities of codimension 2 opposite each vertex of each facet, (F, d), and how many there are."""
    if T.dim == 2:
        return np.ascontiguousarray(T.facets[:, ::-1]), len(T.points)
    a, b, c = T.facets.T
    N = len(T.points)
    keys, number = np.unique(np.stack([b * N + c, a * N + c, a * N + b], axis=1), return_inverse=True)
    return number.reshape(T.facets.shape).astype(np.intp), len(keys)


def _by_rows(at: list[Index], values: list[Vector], rows: int, columns: int) -> sp.csr_array:
    """A sparse matrix with the same number of entries in each row (facet, vertex), given vertex by vertex."""
    F = len(at[0])
    width = len(at) * F // rows
    indices = np.stack(at, axis=1).reshape(-1).astype(np.int32 if columns < 2**31 else np.int64)
    start = np.arange(rows + 1, dtype=indices.dtype) * width
    return sp.csr_array((np.stack(values, axis=1).reshape(-1), indices, start), shape=(rows, columns))


def _free(frames: Frames, fixed: Mask) -> tuple[Mask, Mask, Mask]:
    """Which modes touch no prescribed moment: entries are zero there to the last bit."""
    (_, d), G = frames.entities.shape, frames.count
    stretch = ~np.any((frames.tangents != 0.0) & fixed[:, None, :], axis=2)  # elasticity.md, step 4b
    circulation, swell = np.ones((G, d - 1, d), dtype=bool), np.ones(G, dtype=bool)
    leaning = np.any((frames.normals != 0.0) & fixed, axis=1)  # elasticity.md, step 4b
    for c in range(d):
        swell[frames.entities[leaning, c]] = False
        for k in range(d):
            circulation[frames.entities[fixed[:, k], c], :, k] = False
    return stretch, circulation, swell


def _energies(space: StressSpace, frames: Frames) -> tuple[Vector, Vector, Vector]:
    """‖σ(mode)‖²_{C⁻¹} of all modes: stretches (F, edges), circulations (G, d − 1, d), swells (G,); floats."""
    T, C, d = space.topology, len(space.mu), space.d
    pairs, n1 = list(combinations(range(d + 1), 2)), d + 1
    edges = frames.tangents.shape[1]
    stretch_table, turn_table = _tables(d)
    stretch = np.empty((C, n1 * edges))
    circulation, swell = np.empty((C, len(pairs), d - 1, d)), np.empty((C, len(pairs)))

    def work(part: slice) -> None:
        metric = space.metric[part]
        n, inverse = len(metric), T.gradients[part, 1:]
        stretch[part] = product(metric.reshape(n, -1), stretch_table)
        forms = product(metric.reshape(n, -1), turn_table).reshape(n, -1, d, d)
        turned = np.matmul(forms, inverse[:, None]) * inverse[:, None]
        circulation[part] = turned.sum(axis=2).reshape(n, len(pairs), d - 1, d)
        swell[part] = _swell_energies(space, frames, part)

    on_all_cores(work, parts(C))
    on_facets = stretch.reshape(-1, edges)[space.first]
    inside = np.flatnonzero(space.second >= 0)
    on_facets[inside] += stretch.reshape(-1, edges)[space.second[inside]]
    where = np.stack([frames.entities[T.cell_facets[:, j], k - 1] for j, k in pairs], axis=1).ravel()
    columns = circulation.reshape(len(where), -1)
    turned: Vector = np.empty((frames.count, columns.shape[1]))
    for q in range(columns.shape[1]):
        turned[:, q] = np.bincount(where, columns[:, q], minlength=frames.count)
    swollen: Vector = np.bincount(where, swell.ravel(), minlength=frames.count).astype(np.float64)
    return on_facets, turned.reshape(-1, d - 1, d), swollen


def _swell_energies(space: StressSpace, frames: Frames, part: slice) -> Vector:
    """Energies of swells on each of some cells, by pairs of facets."""
    T, d = space.topology, space.d
    pairs, of_moments = list(combinations(range(d + 1), 2)), roots(d)[0].T.reshape(d + 1, d * d, -1)
    facets, sign, inverse = T.cell_facets[part], T.sign[part], T.gradients[part, 1:]
    n, found = len(facets), np.empty((len(facets), len(pairs)))
    for q, (j, k) in enumerate(pairs):
        S = np.zeros((n, of_moments.shape[2]))
        for one, c in ((j, k - 1), (k, j)):  # the other facet's vertex in this facet's order
            outward = frames.normals[facets[:, one]] * sign[:, one, None]
            across = np.matmul(inverse, outward[:, :, None])[:, None, :, 0]
            S += product((frames.swells[facets[:, one], c][:, :, None] * across).reshape(n, -1), of_moments[one])
        nodes = S.reshape(n, -1, len(voigt(d)))
        found[:, q] = np.einsum("nka,nka->n", nodes, np.matmul(nodes, space.metric[part]))
    return found


@cache
def _tables(d: int) -> tuple[Vector, Vector]:
    """From the metric (ns²) to energies of stretches (local facet, edge), and to forms of circulations.

    In reference coordinates a stretch is the same for all cells, and a circulation is +v̂ at one facet, −v̂ at the next.
    """
    n1, ns = d + 1, len(voigt(d))
    R = roots(d)[0].reshape(n1 * n1, ns, n1 * d, d)
    V = np.vstack([np.zeros(d), np.eye(d)])
    place = {slot: k for k, slot in enumerate(slots(d))}
    stretches, circulations = [], []
    for j in range(n1):
        rest = [i for i in range(n1) if i != j]
        for a, b in combinations(rest, 2):
            S = (R[:, :, place[j, b]] - R[:, :, place[j, a]]) @ (V[b] - V[a])
            stretches.append(np.einsum("xa,xb->ab", S, S).ravel())
    for j, k in combinations(range(n1), 2):
        for a in (i for i in range(n1) if i not in (j, k)):
            S = R[:, :, place[j, a]] - R[:, :, place[k, a]]
            circulations.append(np.einsum("xap,xbq->abpq", S, S).reshape(ns * ns, d * d))
    return np.stack(stretches, axis=1), np.concatenate(circulations, axis=1)
