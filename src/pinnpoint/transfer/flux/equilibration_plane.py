"""The patch problems of `equilibration` for RT1 in the plane, where going round the vertex solves the balances.

With the triangles K_1 … K_n about a vertex in order and x_j the flux from K_j to K_{j+1}, the balance of K_j is
x_j − x_{j−1} = β_j, so that x_j = t + S_j, S_j = β_1 + … + β_j: one number t is left, and one ζ_j of each edge (for RT0
t alone: `fans_lowest`). What is minimised becomes a quadratic of these, of about n + 1 unknowns instead of the 3n of
the saddle point system with its multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.flux.fans import SLOTS, Fans, fans
from pinnpoint.transfer.flux.patches import FREE, PRESCRIBED, Ingredients

_CHUNK, _COLUMNS = 12_000, 32
"""Corners and right-hand sides that are worked on at a time."""


def solve_fans(topology: Topology, cells: Ingredients, kind: NDArray[np.int8], out: Vector) -> None:
    """Solve the patch problems of all vertices; fills ``out``, whose prescribed rows are given."""
    forms, data = _forms(cells)
    patches = []
    for same in fans(topology):
        step = max(1, _CHUNK // same.corners.shape[1])
        for low in range(0, len(same.corners), step):
            part = Fans(same.corners[low : low + step], same.entered[low : low + step], same.closed)
            patches.append(_Patches.of(topology, kind, part, forms))
    for low in range(0, out.shape[-1], _COLUMNS):
        some = slice(low, low + _COLUMNS)
        linear, beta = _linear(cells, data, some), _balances(cells, some)
        for one in patches:
            one.solve(linear[one.corners], beta[one.corners], out[..., some])


def _forms(cells: Ingredients) -> tuple[Vector, list[Vector]]:
    """Of each corner, the form of its triangle's outward coordinates, (3C, 2q, 2q); what multiplies the data."""
    q = cells.width
    forms, data = np.empty((len(cells.metric), 3, 2 * q, 2 * q)), []
    for a in range(3):
        T = cells.table[a]
        both = (cells.metric @ T.reshape(len(T), -1)).reshape(-1, *T.shape[1:])
        forms[:, a] = both[..., : 2 * q]
        data.append(both[..., 2 * q :].copy())
    return forms.reshape(-1, 2 * q, 2 * q), data


def _linear(cells: Ingredients, data: list[Vector], some: slice) -> Vector:
    """Of each corner and right-hand side, the linear form of its triangle's outward coordinates, (3C, 2q, m)."""
    part = replace(cells, alpha=cells.alpha[..., some], load=cells.load[..., some], moments=cells.moments[..., some])
    found = np.empty((len(data[0]), 3, data[0].shape[1], part.load.shape[-1]))
    for a in range(3):
        np.matmul(data[a], part.data(slice(None), a), out=found[:, a])
    return found.reshape(-1, *found.shape[2:])


def _balances(cells: Ingredients, some: slice) -> Vector:
    """β of each corner and right-hand side, (3C, m)."""
    mean = cells.alpha[..., some].mean(axis=2)
    return np.asarray(mean - cells.load[..., some]).reshape(-1, mean.shape[-1])


@dataclass(frozen=True, eq=False)
class _Patches:
    """Some fans of one shape; x are fluxes along the walk.

    Attributes
    ----------
    corners
        (B, n).
    faces, place
        The edges that the walk crosses, (B, n + 1), the first again as the last of a ring; and the vertex in each.
    forward
        Signs of fluxes along the walk against the stored ones, (B, n + 1).
    given
        Which edges have prescribed fluxes, (B, n + 1).
    share
        Of a defect, by area, (B, n); none where an edge's flux is free.
    local
        (B, n, 3, 4): from outward coordinates to derivatives by t, by the ζ that a triangle is entered by, and by the
        one that it is left by.
    turned, form
        local applied to the triangles' forms, (B, n, 3, 4); and once more, (B, n, 3, 3).
    """

    corners: Index
    faces: Index
    place: Index
    forward: Vector
    given: NDArray[np.bool_]
    share: Vector
    local: Vector
    turned: Vector
    form: Vector
    closed: bool

    @classmethod
    def of(cls, topology: Topology, kind: NDArray[np.int8], same: Fans, forms: Vector) -> _Patches:
        K, a = same.corners // 3, same.corners % 3
        slots, left = SLOTS[a], same.entered == 0  # whether slot 1 is the one it is left by
        edges, sign = topology.cell_facets[K[..., None], slots], topology.sign[K[..., None], slots]
        faces, forward = np.empty((len(K), K.shape[1] + 1), dtype=np.intp), np.empty((len(K), K.shape[1] + 1))
        for found, of_slots, turn in ((faces, edges, 1), (forward, sign, -1)):
            found[:, 1:] = np.where(left, of_slots[..., 1], of_slots[..., 0])
            found[:, 0] = turn * np.where(left[:, 0], of_slots[:, 0, 0], of_slots[:, 0, 1])
        place = (topology.facets[faces, 1] == topology.cells[K[:, 0], a[:, 0]][:, None]).astype(np.intp)
        local = np.zeros((*K.shape, 3, 4))
        local[..., 0, 0], local[..., 0, 2] = np.where(left, -1.0, 1.0), np.where(left, 1.0, -1.0)
        for slot, entered in ((0, left), (1, ~left)):
            local[..., 1, 2 * slot + 1] = np.where(entered, sign[..., slot], 0.0)
            local[..., 2, 2 * slot + 1] = np.where(entered, 0.0, sign[..., slot])
        turned = local @ forms[same.corners]
        share = topology.volumes[K]
        share /= share.sum(axis=1, keepdims=True)
        if not same.closed:
            share[np.any(kind[faces] == FREE, axis=1)] = 0.0
        form = turned @ np.swapaxes(local, 2, 3)
        given = kind[faces] == PRESCRIBED
        return cls(same.corners, faces, place, forward, given, share, local, turned, form, same.closed)

    def solve(self, linear: Vector, beta: Vector, out: Vector) -> None:
        """Minimise for the triangles' linear forms, (B, n, 4, m), and balances, (B, n, m), and store."""
        given, forward = self.given[..., None], self.forward[..., None]
        prescribed = bool(self.given.any())
        known = np.where(given, out[self.faces, self.place, 0] * forward, 0.0) if prescribed else None
        defect = beta.sum(axis=1)
        if known is not None:
            defect -= known[:, -1] - known[:, 0]
        beta -= self.share[..., None] * defect[:, None]
        S = np.zeros((len(beta), beta.shape[1] + 1, beta.shape[2]))
        np.cumsum(beta, axis=1, out=S[:, 1:])
        slope = self.slopes(linear, S)
        t = zeta = None
        if known is not None:
            t = np.where(given[:, 0], known[:, 0], np.where(given[:, -1], known[:, -1] - S[:, -1], 0.0))
            zeta = np.where(given, out[self.faces, self.place, 1], 0.0)
        t, zeta = self.with_slopes(slope, t, zeta)
        out[self.faces, self.place, 1] = zeta
        x = t[:, None] + S
        x = x if known is None else np.where(given, known, x)
        out[self.faces, self.place, 0] = x * forward  # continuous.md, step 1d

    def slopes(self, linear: Vector, S: Vector) -> Vector:
        """Derivatives at t = 0, ζ = 0 by the unknowns of each triangle, (B, n, 3, m)."""
        left = self.local[..., 0, 2] > 0.0
        first, second = self.turned[..., 0], self.turned[..., 2]  # by what is outward of each slot
        entered, after = np.where(left[..., None], first, second), np.where(left[..., None], second, first)
        found = self.local @ linear
        found += after[..., None] * S[:, 1:, None]
        found -= entered[..., None] * S[:, :-1, None]
        return np.asarray(found)

    def with_slopes(self, slope: Vector, t: Vector | None, zeta: Vector | None) -> tuple[Vector, Vector]:
        """The t and the ζ_j as they are stored, (B, m) and (B, n + 1, m); what is prescribed is kept."""
        (B, n), m = self.corners.shape, slope.shape[3]
        size = n + 1 if self.closed else n + 2  # t, then the edges
        A, b = np.zeros((B, size, size)), np.zeros((B, size, m))
        for k in range(n):
            at = (0, 1 + k, 1 + (k + 1) % (size - 1))
            for i, row in enumerate(at):
                b[:, row] -= slope[:, k, i]
                for j, column in enumerate(at):
                    A[:, row, column] += self.form[:, k, i, j]
        if t is None or zeta is None:
            x = np.linalg.solve(A, b)
        else:
            ends = np.concatenate([(self.given[:, 0] | self.given[:, -1])[:, None], self.given], axis=1)
            x = np.concatenate([t[:, None], zeta], axis=1)
            b -= A @ x
            A *= ~ends[:, :, None] & ~ends[:, None, :]
            A[:, np.arange(size), np.arange(size)] += ends
            x += np.linalg.solve(A, b * ~ends[..., None])
        return x[:, 0], np.concatenate([x[:, 1:], x[:, 1:2]], axis=1) if self.closed else x[:, 1:]
