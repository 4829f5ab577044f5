"""States and stream functions on any triangulation: steps preconditioned by two factors of the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.topology import Topology
from pinnpoint.solvers.direct import SparseLU
from pinnpoint.solvers.reference import SMALL, conjugate
from pinnpoint.transfer.energy.anchors import DIRICHLET, NEUMANN
from pinnpoint.transfer.operators.particular import Geometry, Particular
from pinnpoint.transfer.operators.sums import StateSums


@dataclass(frozen=True, eq=False)
class Found:
    """Fields that steps end with, one column a load: state values at the nodes, stream functions, fields of holes."""

    states: Vector
    streams: Vector
    extra: Vector

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Triangles:
    """What steps need on one triangulation, whatever κ is.

    Attributes
    ----------
    gradient
        (2C, N): ∇v at the cells, components in turn.
    free, held
        Nodes that no Dirichlet value holds, and the others.
    joined
        (N, n): nodal values of ψ from its unknowns: one for each connected Neumann part, one for every other node.
    loose
        Unknowns of ψ but one of each part of the mesh.
    """

    geometry: Geometry
    gradient: Any
    free: Index
    held: Index
    joined: Any
    loose: Index
    state_factor: SparseLU
    stream_factor: SparseLU

    __repr__ = brief

    @classmethod
    def of(cls, topology: Topology, kind: Any, geometry: Geometry) -> Triangles:
        """Factors of the reference κ = 1."""
        N = len(topology.points)
        gradient = gradients(topology, geometry)
        held = np.unique(topology.facets[kind == DIRICHLET])
        free = np.setdiff1d(np.arange(N), held)
        joined, loose = _unknowns(topology, kind)
        weights = sp.diags_array(np.repeat(geometry.area, 2))
        A = sp.csr_array(gradient.T @ weights @ gradient)
        B = sp.csr_array(joined.T @ A @ joined)  # |curl ψ| = |∇ψ|
        return cls(
            geometry,
            gradient,
            free,
            held,
            joined,
            loose,
            SparseLU(_symmetric(A[free][:, free])),
            SparseLU(_symmetric(B[loose][:, loose])),
        )

    def curl(self, streams: Vector) -> Vector:
        """(∂_y ψ, −∂_x ψ) at the cells, (2C, m), of nodal values (N, m)."""
        g = self.gradient @ streams
        found = np.empty_like(g)
        found[0::2], found[1::2] = g[1::2], -g[0::2]
        return np.asarray(found)

    def against_curls(self, fields: Vector) -> Vector:
        """Σ_K field·curl φ over the unknowns of ψ, (n, m), of values at the cells (2C, m)."""
        turned = np.empty_like(fields)
        turned[0::2], turned[1::2] = -fields[1::2], fields[0::2]
        return np.asarray(self.joined.T @ (self.gradient.T @ turned))

    def primal_steps(self, kappa: Vector, rows: Vector, start: Vector, steps: int, small: float = SMALL) -> Vector:
        """Steps towards ∫ κ∇v·∇φ = rows on the free nodes, from states (N, m) whose held values stay."""
        weights = np.repeat(self.geometry.area * kappa, 2)[:, None]
        gradient, free = self.gradient[:, self.free], self.free
        r = rows[free] - gradient.T @ (weights * (self.gradient @ start))
        found = start.copy()

        def operate(p: Vector) -> Vector:
            return np.asarray(gradient.T @ (weights * (gradient @ p)))

        found[free] += conjugate(operate, self.state_factor.solve, r, steps, small)
        return found

    def stream_steps(
        self,
        kappa: Vector,
        fluxes: Vector,
        holes: Sequence[Particular],
        start: Vector,
        steps: int,
        small: float = SMALL,
    ) -> tuple[Vector, Vector]:
        """Steps towards the least ∫ κ⁻¹|σ|² over ψ and the multiples of holes' fields: ψ at the nodes, multiples."""
        weights = np.repeat(self.geometry.area / kappa, 2)[:, None]
        xi = np.stack([h.flux.ravel() for h in holes], axis=1) if holes else np.zeros((len(weights), 0))
        own = np.repeat(self.geometry.area, 2)
        n, L, m = len(self.loose), xi.shape[1], fluxes.shape[1]
        inner = np.linalg.inv(xi.T @ (own[:, None] * xi)) if L else np.zeros((0, 0))

        def field(p: Vector) -> Vector:
            full = np.zeros((self.joined.shape[1], p.shape[1]))
            full[self.loose] = p[:n]
            return np.asarray(self.curl(self.joined @ full) + xi @ p[n:])

        def tested(f: Vector) -> Vector:
            return np.concatenate([self.against_curls(f)[self.loose], xi.T @ f])

        def operate(p: Vector) -> Vector:
            return tested(weights * field(p))

        def precondition(r: Vector) -> Vector:
            return np.concatenate([self.stream_factor.solve(r[:n]), inner @ r[n:]])

        r = -tested(weights * (fluxes + self.curl(start)))
        p = conjugate(operate, precondition, r, steps, small)
        full = np.zeros((self.joined.shape[1], m))
        full[self.loose] = p[:n]
        return start + self.joined @ full, p[n:].T.copy()

    def admissible_streams(self, streams: Vector) -> Vector:
        """The same stream functions with one value on each Neumann part, (N, m)."""
        first = np.asarray(self.joined.argmax(axis=0)).ravel()
        return np.asarray(self.joined @ streams[first])  # operators.md, step 1a

    def sums(
        self,
        kappa: Vector,
        found: Found,
        fluxes: Vector,
        holes: Sequence[Particular],
        rows: Vector,
        predicted: Vector,
    ) -> tuple[StateSums, StateSums, StateSums]:
        """Of the state, of the prediction with the same flux, and of the duals; without an axis of instances."""
        area = np.repeat(self.geometry.area, 2)
        inverse, direct = area / np.repeat(kappa, 2), area * np.repeat(kappa, 2)
        slopes = self.gradient @ found.states
        sigma = fluxes + self.curl(found.streams)
        for j, hole in enumerate(holes):
            sigma = sigma + hole.flux.ravel()[:, None] * found.extra[:, j]
        k2 = np.repeat(kappa, 2)[:, None]
        delta = sigma - k2 * slopes
        squares, energies = _weighted(inverse, delta, delta), _weighted(direct, slopes, slopes)
        top, stream = np.abs(found.states).max(axis=0), np.abs(found.streams).max(axis=0)
        extra, zero = np.abs(found.extra), np.zeros(())
        own = StateSums(
            squares[0], energies[0], area @ (delta[:, 0] * slopes[:, 0]), zero, zero, top[0], stream[0], extra[0]
        )
        guess = self.gradient @ predicted
        left = sigma[:, 0] - k2[:, 0] * guess
        other = StateSums(
            inverse @ (left * left),
            direct @ (guess * guess),
            zero,
            zero,
            zero,
            np.abs(predicted).max(),
            stream[0],
            extra[0],
        )
        crosses = _weighted(inverse, delta[:, :1], delta[:, 1:])
        forms = _weighted(direct, slopes[:, :1], slopes[:, 1:])
        values = rows[:, 1:].T @ found.states[:, 0] + rows[:, 0] @ found.states[:, 1:]
        duals = StateSums(squares[1:], energies[1:], crosses, forms, values, top[1:], stream[1:], extra[1:])
        return own, other, duals


def gradients(topology: Topology, geometry: Geometry) -> Any:
    """∇v at the cells from values at the nodes, components in turn, (dC, N)."""
    (C, m), d = topology.cells.shape, topology.dim
    rows = np.repeat(np.arange(d * C).reshape(C, d)[:, None, :], m, axis=1)
    columns = np.repeat(topology.cells[:, :, None], d, axis=2)
    parts = geometry.gradients.ravel(), (rows.ravel(), columns.ravel())
    return sp.csr_array(parts, shape=(d * C, len(topology.points)))


def _weighted(weights: Vector, one: Vector, two: Vector) -> Vector:
    return np.asarray(weights @ (one * two))


def _symmetric(A: Any) -> Any:
    return sp.csr_array(0.5 * (A + A.T))


def _unknowns(topology: Topology, kind: Any) -> tuple[Any, Index]:
    """Which unknown of ψ each node has, as a matrix, and all unknowns but one of each part of the mesh."""
    N = len(topology.points)
    a, b = topology.facets[kind == NEUMANN].T
    together = sp.csr_array((np.ones(len(a)), (a, b)), shape=(N, N))
    count, label = connected_components(together, directed=False)  # operators.md, step 1a
    joined = sp.csr_array((np.ones(N), (np.arange(N), label)), shape=(N, count))
    cells = topology.cells
    links = sp.csr_array((np.ones(2 * len(cells)), (cells[:, [0, 0]].ravel(), cells[:, 1:].ravel())), shape=(N, N))
    parts = connected_components(links, directed=False)[1]
    part_of = np.zeros(count, dtype=np.intp)
    part_of[label] = parts
    held = np.unique(part_of, return_index=True)[1]
    return joined, np.setdiff1d(np.arange(count), held)


def rings(topology: Topology, kind: Any) -> list[Index]:
    """Nodes of the Dirichlet facets of each boundary ring that has some, without the first ring of each part."""
    N, boundary = len(topology.points), topology.boundary
    a, b = topology.facets[boundary].T
    ring = connected_components(sp.csr_array((np.ones(len(a)), (a, b)), shape=(N, N)), directed=False)[1]
    cells = topology.cells
    links = sp.csr_array((np.ones(2 * len(cells)), (cells[:, [0, 0]].ravel(), cells[:, 1:].ravel())), shape=(N, N))
    part = connected_components(links, directed=False)[1]
    held = np.unique(topology.facets[kind == DIRICHLET])
    found, seen = [], set()
    for label in np.unique(ring[held]):
        nodes = held[ring[held] == label]
        if part[nodes[0]] in seen:
            found.append(nodes)  # operators.md, step 1d
        seen.add(part[nodes[0]])
    return found
