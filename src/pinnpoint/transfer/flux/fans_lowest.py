"""The patch problems of `equilibration` for RT0 in the plane: one number t of each fan, in closed form.

With the triangles K_1 … K_n about a vertex in order, x_k = t + S_k the flux from K_k to K_{k+1} and S_k the sum of the
balances β_1 … β_k, the outward coordinates in K_k are x_k and −x_{k−1}. What is minimised is Σ_k yᵀWy/2 with
y = (x_k + α_k, α′_k − x_{k−1}), α_k and α′_k those of the edges that K_k is left and entered by; so that

    t Σ_k (g_k + h_k) = −Σ_k [ g_k (S_k + α_k) + h_k (S_{k−1} − α′_k) ],     g = W_11 − W_12,  h = W_22 − W_12.

What depends on the mesh and its coefficients alone is made once; right-hand sides are worked on one after the other,
in arrays whose last axis is the fans'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.threads import CORES, on_all_cores
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import Density
from pinnpoint.transfer.energy.linear_sides import METER
from pinnpoint.transfer.flux.fans import SLOTS, Fans, fans
from pinnpoint.transfer.flux.patches import FREE, PRESCRIBED, edge_metric, first_moments, form_table, shares

SECONDS = 2e-7
"""What NumPy takes for a state on a triangle."""
_CHUNK = 24_000
"""Corners that are worked on at a time."""


@dataclass(frozen=True, eq=False)
class LowestFans:
    """The fans of a plane mesh with metric `metric` (see `patches.Ingredients`) and kinds of edges."""

    parts: tuple[_Part, ...]
    edges: int

    @classmethod
    def of(cls, topology: Topology, metric: Vector, kind: NDArray[np.int8]) -> LowestFans:
        """From the cells' Gram matrices over 4κ|K|, (C, 3)."""
        pull, parts = _pulls(metric), []
        for same in fans(topology):
            step = max(1, _CHUNK // same.corners.shape[1])
            for low in range(0, len(same.corners), step):
                some = Fans(same.corners[low : low + step], same.entered[low : low + step], same.closed)
                parts.append(_Part.of(topology, kind, some, pull))
        return cls(tuple(parts), len(kind))

    def solve(self, alpha: Vector, beta: Vector, out: Vector, *, compiled: bool = False) -> None:
        """Fill ``out`` (2, F), the flux of each edge by its vertex, for α and β (3, C) of the cells' vertices.

        Rows of edges with prescribed fluxes are given in ``out``, and kept.
        """
        a, b, x = alpha.ravel(), beta.ravel(), out.reshape(-1)
        for part in self.parts:
            if compiled and part.given is None:
                part.solve_compiled(a, b, x)
            else:
                part.solve(a, b, x)


def _pulls(metric: Vector) -> Vector:
    """W_ss − W_01 of each corner (a, K) and slot s, (2, 3C)."""
    table = form_table(2, 0)[..., :2]  # (corner, component, slot, slot)
    found = np.empty((2, 3, len(metric)))
    for a in range(3):
        for slot in range(2):
            found[slot, a] = metric @ (table[a, :, slot, slot] - table[a, :, 0, 1])
    return found.reshape(2, -1)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some fans of one shape, n corners each.

    Attributes
    ----------
    own, left, entered
        Numbers aC + K of the corners themselves, and of the vertices opposite the edges that they are left and
        entered by, (n, B).
    ahead, behind
        g and h, (n, B), over the sum of both over the fan.
    target, forward
        Where fluxes x_k, k = 1 … n, and of rows x_0 before them, are stored, and with which sign.
    share
        Of a defect, by area, (n, B); None where an edge's flux is free.
    given
        Which of the first and the last edge have prescribed fluxes, (2, B); None where none has.
    """

    own: Index
    left: Index
    entered: Index
    ahead: Vector
    behind: Vector
    target: Index
    forward: Vector
    share: Vector | None
    given: NDArray[np.bool_] | None
    closed: bool

    @classmethod
    def of(cls, topology: Topology, kind: NDArray[np.int8], same: Fans, pull: Vector) -> _Part:
        C, F = len(topology.cells), len(topology.facets)
        corners, entered = np.ascontiguousarray(same.corners.T), np.ascontiguousarray(same.entered.T)
        K, a = corners // 3, corners % 3
        own, out, into = a * C + K, SLOTS[a, 1 - entered], SLOTS[a, entered]
        edges, forward = topology.cell_facets[K, out], topology.sign[K, out]
        if not same.closed:
            edges = np.concatenate([topology.cell_facets[K[:1], into[:1]], edges])
            forward = np.concatenate([-topology.sign[K[:1], into[:1]], forward])
        place = topology.facets[edges, 1] == topology.cells[K[0], a[0]]
        ahead, behind = (np.where(slot == 1, pull[1][own], pull[0][own]) for slot in (1 - entered, entered))
        whole = (ahead + behind).sum(axis=0)
        area = topology.volumes[K]
        share: Vector | None = area / area.sum(axis=0)
        given = None
        if not same.closed:
            free = np.any(kind[edges] == FREE, axis=0)
            share = None if free.all() else np.where(free, 0.0, area / area.sum(axis=0))
            ends = kind[edges[[0, -1]]] == PRESCRIBED
            given = ends if ends.any() else None
        target = edges + F * place
        of_slots = out * C + K, into * C + K
        return cls(own, *of_slots, ahead / whole, behind / whole, target, forward, share, given, same.closed)

    def solve(self, alpha: Vector, beta: Vector, out: Vector) -> None:
        """Minimise for α and β of all corners, and store."""
        n, B = self.own.shape
        S = np.empty((n + 1, B))
        S[0] = 0.0
        rise = S[1:]
        np.take(beta, self.own, out=rise, mode="clip")
        known = None
        if self.given is not None:
            known = out[self.target[[0, -1]]] * self.forward[[0, -1]] * self.given
        if self.share is not None:
            defect = rise.sum(axis=0)
            if known is not None:
                defect -= known[1] - known[0]
            rise -= self.share * defect
        np.cumsum(rise, axis=0, out=rise)
        pulled = alpha[self.left]
        pulled += rise
        pulled *= self.ahead
        other = S[:-1] - alpha[self.entered]
        other *= self.behind
        pulled += other
        t = -pulled.sum(axis=0)
        if known is not None and self.given is not None:
            first, last = self.given
            t = np.where(first, known[0], np.where(last, known[1] - S[-1], t))
        S += t
        if self.closed:
            out[self.target] = S[1:] * self.forward  # continuous.md, step 1d
            return
        if known is not None and self.given is not None:
            S[[0, -1]] = np.where(self.given, known, S[[0, -1]])
        out[self.target] = S * self.forward  # continuous.md, step 1d

    def solve_compiled(self, alpha: Vector, beta: Vector, out: Vector) -> None:
        """The same, where no flux is prescribed."""
        from pinnpoint.transfer.energy.linear_compiled import solve_fans

        shared, sums = self.share is not None, np.empty((len(self.own) + 3, self.own.shape[1]))
        share = self.ahead if self.share is None else self.share
        of_slots = self.own, self.left, self.entered, self.ahead, self.behind
        solve_fans(alpha, beta, *of_slots, self.target, self.forward, share, shared, self.closed, sums, out)


@dataclass(frozen=True, eq=False)
class LowestFluxes:
    """RT0 fluxes of linear elements in the plane, from states and sources.

    Attributes
    ----------
    fans
        The patch problems.
    nodes
        Of each triangle, (3, C).
    stiffness
        κ|K| ∇λ_i·∇λ_j for ij = 01, 02, 12, (3, C).
    volumes, reaction
        |K| and c.
    """

    fans: LowestFans
    nodes: Index
    stiffness: Vector
    volumes: Vector
    reaction: Vector

    @classmethod
    def of(
        cls, topology: Topology, nodes: Index, kappa: Vector, reaction: Vector, kind: NDArray[np.int8]
    ) -> LowestFluxes:
        """For triangles with these nodes, (C, 3)."""
        G, scale = topology.gradients, kappa * topology.volumes
        products = [np.einsum("kx,kx->k", G[:, i], G[:, j]) * scale for i, j in ((0, 1), (0, 2), (1, 2))]
        made = LowestFans.of(topology, edge_metric(topology, kappa), kind)
        return cls(made, np.ascontiguousarray(nodes.T), np.stack(products), topology.volumes, reaction)

    def fluxes(
        self, nodal: Vector, sources: Sequence[Density], prescribed: Vector | None, *, columns: int = 0
    ) -> Vector:
        """Densities (F, 1, m) for states (m, size), with those of edges that are prescribed, (F, 2, m).

        `columns` states are known to come, these included.
        """
        count, found = len(nodal), np.empty((len(nodal), self.fans.edges))
        compiled = METER.worth(SECONDS * count * len(self.volumes), SECONDS * max(columns, count) * len(self.volumes))
        given = None
        if prescribed is not None:
            given = np.einsum("aj,fjm->maf", shares(2, 0)[:, 0], prescribed)

        def work(some: range) -> None:
            alpha, beta = np.empty((2, *self.nodes.shape))
            out = np.zeros((2, self.fans.edges))
            for i in some:
                if given is not None:
                    out[:] = given[i]
                self._balance(nodal[i], alpha, beta, compiled=compiled)
                self._load(beta, nodal[i], sources[i])
                self.fans.solve(alpha, beta, out, compiled=compiled)
                np.add(out[0], out[1], out=found[i])

        on_all_cores(work, [range(k, count, CORES) for k in range(min(CORES, count))])
        return found.T[:, None, :]

    def _balance(self, u: Vector, alpha: Vector, beta: Vector, *, compiled: bool) -> None:
        """∫ κ∇u_h·∇λ_a of every triangle, twice."""
        if compiled:
            from pinnpoint.transfer.energy.linear_compiled import balances

            balances(np.ascontiguousarray(u), self.nodes, self.stiffness, alpha, beta)
            return
        w = u[self.nodes]
        one, two = self.stiffness[0] * (w[1] - w[0]), self.stiffness[1] * (w[2] - w[0])
        three = self.stiffness[2] * (w[2] - w[1])
        alpha[0], alpha[1], alpha[2] = one + two, three - one, -two - three
        beta[:] = alpha

    def _load(self, beta: Vector, u: Vector, f: Density) -> None:
        """Subtract ∫ (f − c u_h) λ_a."""
        which = slice(None) if f.cells is None else f.cells
        beta[:, which] -= (first_moments(2) @ f.coefficients.T) * self.volumes[which]
        if np.any(self.reaction):
            w = u[self.nodes]
            beta += (self.reaction * self.volumes / 12.0) * (w.sum(axis=0) + w)
