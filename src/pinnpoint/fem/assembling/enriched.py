"""Linear elements enriched by a quadratic bubble 4 λ_a λ_b on every edge: the operator, applied cell by cell.

Coefficients are rows: first those of the linear functions, then those of the bubbles. With the gradient of a field on a
cell G(λ) = G₀ + Σ_a λ_a G_a and the stress (or flux) S = law(G), all integrals are closed formulas:

    ∫ λ_a = |T| / (d + 1),    ∫ λ_a λ_b = |T| (1 + δ_ab) / ((d + 1)(d + 2)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.threads import on_all_cores
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.mesh.facets import chunks
from pinnpoint.taylor.bernstein import mean_of_powers

BLOCK = 2**16
"""Cells whose products are held at a time."""

Law = Callable[[slice, Vector], Vector]
"""From gradients (…, k, d, c) of the components on some cells to stresses or fluxes."""


@dataclass(frozen=True, eq=False)
class Enriched:
    """A symmetric second-order operator on linear elements and edge bubbles.

    Attributes
    ----------
    nodes
        Those of degree 2, which number the edges.
    count
        Components of the field.
    law
        Stress or flux of gradients.
    blocks
        From ∫ ∂_iφ ∂_jφ of a bubble over some cells, (d, d, c), to its diagonal block (k, k, c).
    reaction
        c per cell, or None.
    """

    nodes: Nodes
    count: int
    law: Law
    blocks: Law
    reaction: Vector | None = None

    def apply(self, X: Vector) -> Vector:
        """The operator's products with all functions, for coefficients X of shape (V + E, count)."""
        mesh, dofs = self.nodes.mesh, self.nodes.cell_dofs
        total = np.zeros((len(self.nodes), self.count))
        for start in range(0, len(dofs), BLOCK):
            here = dofs[start : start + BLOCK]
            out = np.empty((dofs.shape[1], self.count, len(here)))

            def fill(at: slice, start: int = start, here: Any = here, out: Vector = out) -> None:
                part = slice(start + at.start, start + at.stop)
                x = np.ascontiguousarray(np.moveaxis(X[here[at]], 0, 2))  # (nodes, count, cells)
                grad = np.ascontiguousarray(np.moveaxis(mesh.gradients[part], 0, 2))
                self._cells(part, x, grad, out[:, :, at])

            on_all_cores(fill, chunks(len(here)))
            for k in range(self.count):
                total[:, k] += np.bincount(here.T.ravel(), out[:, k].ravel(), minlength=len(total))
        return total

    def _cells(self, part: slice, x: Vector, grad: Vector, out: Vector) -> None:
        d, volumes = self.nodes.mesh.dim, self.nodes.mesh.volumes[part]
        first, second = np.array(list(combinations(range(d + 1), 2))).T
        V, W = x[: d + 1], x[d + 1 :]
        G = np.zeros((d + 2, self.count, d, x.shape[2]))  # G_a, and last the constant part
        for e, (a, b) in enumerate(zip(first, second, strict=True)):
            G[a] += 4.0 * W[e][:, None] * grad[b]
            G[b] += 4.0 * W[e][:, None] * grad[a]
        for a in range(d + 1):
            G[-1] += V[a][:, None] * grad[a]
        S = self.law(part, G) * volumes
        total = S[:-1].sum(axis=0)
        whole = S[-1] + total / (d + 1)
        M = S[-1] / (d + 1) + (S[:-1] + total) / ((d + 1) * (d + 2))  # ∫ S λ_a
        for a in range(d + 1):
            out[a] = (whole * grad[a]).sum(axis=1)
        for e, (a, b) in enumerate(zip(first, second, strict=True)):
            out[d + 1 + e] = 4.0 * (M[a] * grad[b] + M[b] * grad[a]).sum(axis=1)
        if self.reaction is not None:
            out += np.einsum("ij,jkc->ikc", mass_table(d), x) * (volumes * self.reaction[part])

    def of_bubbles(self, U: Vector) -> Vector:
        """The products of a field of linear elements, U at the vertices, with every bubble, (E, count)."""
        V = len(self.nodes.mesh.points)
        X = np.zeros((len(self.nodes), self.count))
        X[:V] = U.reshape(V, self.count)
        return self.apply(X)[V:]

    def diagonal(self) -> Vector:
        """The diagonal block of every bubble, (E, count, count)."""
        mesh, n = self.nodes.mesh, len(self.nodes.mesh.points)
        d, local = mesh.dim, self.nodes.cell_dofs[:, mesh.dim + 1 :] - n
        out = np.empty((local.shape[1], self.count**2, len(local)))
        table = mass_table(d)

        def fill(part: slice) -> None:
            grad = np.ascontiguousarray(np.moveaxis(mesh.gradients[part], 0, 2))
            size = mesh.volumes[part]
            for e, (a, b) in enumerate(combinations(range(d + 1), 2)):
                p, q = grad[a], grad[b]
                H = 2.0 * (p[:, None] * p + q[:, None] * q) + p[:, None] * q + q[:, None] * p
                block = self.blocks(part, H * (16.0 * size / ((d + 1) * (d + 2))))
                if self.reaction is not None:
                    here = table[d + 1 + e, d + 1 + e] * size * self.reaction[part]
                    block = block + np.eye(self.count)[:, :, None] * here
                out[e, :, part] = block.reshape(self.count**2, -1)

        on_all_cores(fill, chunks(len(local)))
        edges = len(self.nodes) - n
        columns = [np.bincount(local.T.ravel(), out[:, k].ravel(), minlength=edges) for k in range(self.count**2)]
        return np.asarray(np.stack(columns, axis=1), dtype=np.float64).reshape(edges, self.count, self.count)


@dataclass(frozen=True, eq=False)
class Enrichment:
    """A problem on linear elements and edge bubbles, around a state.

    Attributes
    ----------
    operator
        Its operator, linearised at the state.
    residual
        Load minus operator of the discrete solution, tested with every bubble, (E, count).
    held
        Which bubbles' coefficients are given, (E, count).
    values
        By how much given boundary values exceed their linear interpolation at midpoints, where `held`.
    """

    operator: Enriched
    residual: Vector
    held: Any
    values: Vector


def diffusive(K: Vector) -> tuple[Law, Law]:
    """Flux K∇u for K of shape (C,) or (C, d, d), and the blocks of bubbles."""
    if K.ndim == 1:
        return lambda part, G: G * K[part], lambda part, H: np.einsum("iic,c->c", H, K[part])[None, None]

    def law(part: slice, G: Vector) -> Vector:
        return np.asarray(np.einsum("cij,...jc->...ic", K[part], G))

    return law, lambda part, H: np.einsum("cij,ijc->c", K[part], H)[None, None]


def elastic(lam: Vector, mu: Vector) -> tuple[Law, Law]:
    """Hooke's law σ = λ tr(ε) I + 2μ ε, and the blocks of bubbles."""

    def law(part: slice, G: Vector) -> Vector:
        S = (G + np.swapaxes(G, 1, 2)) * mu[part]
        trace = np.einsum("aiic->ac", G) * lam[part]
        for i in range(G.shape[1]):
            S[:, i, i] += trace
        return S

    def blocks(part: slice, H: Vector) -> Vector:
        trace = np.einsum("iic->c", H) * mu[part]
        return np.asarray((lam[part] + mu[part]) * H + np.eye(len(H))[:, :, None] * trace)

    return law, blocks


def mass_table(d: int) -> Vector:
    """Means of products of the functions λ_a and 4 λ_a λ_b over a simplex."""
    powers = np.eye(d + 1, dtype=int)
    middles = [powers[a] + powers[b] for a, b in combinations(range(d + 1), 2)]
    each: list[tuple[float, Any]] = [*((1.0, p) for p in powers), *((4.0, p) for p in middles)]
    return np.array([[s * t * float(mean_of_powers([int(k) for k in p + q])) for t, q in each] for s, p in each])
