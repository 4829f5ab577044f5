"""Crouzeix–Raviart functions: linear on each cell, continuous in the means over facets, with enclosed matrices.

Facet F opposite vertex i of a cell carries φ_F = 1 − dλ_i there. With k_ij = κ|K|∇λ_i·∇λ_j on a cell,

    ∫κ∇φ_i·∇φ_j = d² k_ij,     ∫κ∇φ_i·∇λ_j = −d k_ij,     ∫φ_iφ_j = |K| (α [i = j] + β),

α = d²/((d+1)(d+2)), β = 1 − 2d/(d+1) + α, and two facets have at most one cell in common: every entry of an assembled
matrix is a sum of at most two numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import down, gamma, up
from pinnpoint.rounding.matrices import product_up
from pinnpoint.transfer.energy.geometry import Shapes

CHUNK = 8192
"""Cells at once."""


@dataclass(frozen=True, eq=False)
class CrouzeixRaviart:
    """Matrices of −∇·(κ∇·) over Crouzeix–Raviart functions whose means vanish on some facets.

    Attributes
    ----------
    facets, vertices
        Numbers of the facets and of the vertices with degrees of freedom; linear functions vanish at the others.
    stiffness, mass
        ∫κ∇φ_F·∇φ_G and ∫φ_Fφ_G as computed; the first is true to `stiffness_error`, entry by entry.
    coupling
        B = ∫κ∇φ_F·∇λ_a = AP, (facets, vertices), as computed; true to `coupling_error`.
    injection
        P: linear functions in terms of the φ_F, whose coefficients are means over facets; 1/d, rounded.
    linear_stiffness
        PᵀAP, of the linear functions, as computed.
    plane
        Whether cells are triangles.
    mass_slack
        |xᵀ(M̃ − M)x| ≤ mass_slack · xᵀMx for every x, M̃ as computed.
    mass_floor
        Lower bounds m with M ⪰ diag(m).
    """

    facets: Index
    vertices: Index
    stiffness: Any
    stiffness_error: Any
    mass: Any
    mass_slack: float
    mass_floor: Vector
    coupling: Any
    coupling_error: Any
    injection: Any
    linear_stiffness: Any
    plane: bool

    __repr__ = brief

    @property
    def size(self) -> int:
        """Degrees of freedom."""
        return len(self.facets)

    def penalised(self, weights: Vector) -> Any:
        """A + B diag(w) Bᵀ as computed, for powers of two w; equal to A where Bᵀx = 0."""
        B = self.coupling
        return sp.csr_array(self.stiffness + (B @ sp.diags_array(weights)) @ B.T)  # band.md, step 1f

    def penalised_error(self, weights: Vector, v: Vector) -> Vector:
        """Upper bound of E v, v ≥ 0, for |fl(A + BwBᵀ) − (A + BwBᵀ)| ≤ E, entry by entry."""
        B, wrong, w = abs(self.coupling), self.coupling_error, weights
        Bt, wrongt = sp.csr_array(B.T), sp.csr_array(wrong.T)
        seen, lost = product_up(Bt, v), product_up(wrongt, v)
        terms = product_up(sp.csr_array(abs(self.stiffness)), v) + product_up(B, w * seen)
        error = product_up(self.stiffness_error, v) + product_up(B, w * lost) + product_up(wrong, w * (seen + lost))
        return np.asarray(up(error + gamma(16) * terms, 16))  # band.md, step 1g

    def bordered(self, theta: float, D: Vector, Y: Vector, corner: float) -> tuple[Any, float]:
        """The matrix [[D(A − θM̃)D, DBY], [YBᵀD, −corner I]] as computed, D and Y powers of two, and a bound ‖E‖₂.

        E is what rounding does to A, B and the sums; M̃ is the mass as computed.
        """
        scale, side = sp.diags_array(D), sp.diags_array(Y)
        inner, B = scale @ (self.stiffness - theta * self.mass) @ scale, scale @ self.coupling @ side
        whole = sp.block_array([[inner, B], [B.T, -corner * sp.eye_array(len(Y))]], format="csr")  # band.md, step 1j
        size = product_up(sp.csr_array(abs(self.stiffness)), D) + theta * product_up(sp.csr_array(abs(self.mass)), D)
        rows = product_up(self.stiffness_error, D) + gamma(8) * size + product_up(self.coupling_error, Y)
        columns = product_up(sp.csr_array(self.coupling_error.T), D)
        wrong = max(float(np.max(up(D * rows, 8), initial=0.0)), float(np.max(up(Y * columns, 8), initial=0.0)))
        return whole, wrong  # band.md, step 1j


def mass_pattern(d: int) -> tuple[float, float]:
    """α and β: ∫φ_iφ_j = |K| (α [i = j] + β)."""
    alpha = d * d / ((d + 1) * (d + 2))
    return alpha, (d * d + (1 - d) * (d + 2)) / ((d + 1) * (d + 2))


def assemble(topology: Topology, kappa: Vector, held: Mask, same: Index | None = None) -> CrouzeixRaviart:
    """Matrices of a mesh.

    Parameters
    ----------
    kappa
        κ > 0 on each cell, or a symmetric matrix (C, d, d).
    held
        Which facets are Dirichlet, (F,): Crouzeix–Raviart functions have mean zero there, linear ones vanish.
    same
        Of periodic pairs, the vertex that stands for each.
    """
    T, d = topology, topology.dim
    F, N = len(T.facets), len(T.points)
    k, wrong, volume, slack = _cells(T, kappa)
    of = np.arange(N) if same is None else same
    facets, vertices = np.flatnonzero(~held), np.setdiff1d(of, of[T.facets[held]])
    nf, nv = len(facets), len(vertices)
    f, v = _renumbered(facets, F)[T.cell_facets], _renumbered(vertices, N)[of[T.cells]]
    alpha, beta = mass_pattern(d)
    blur = np.broadcast_to(wrong[:, None, None], k.shape)
    local = volume[:, None, None] * (alpha * np.eye(d + 1) + beta)  # band.md, step 1c
    least = volume * (1.0 - slack) * (alpha + min(0.0, (d + 1) * beta))
    floor = np.bincount(T.cell_facets.ravel(), np.repeat(least, d + 1), minlength=F)[facets]
    corners = np.broadcast_to(np.full(d, 1.0 / d), (nf, 1, d))
    return CrouzeixRaviart(
        facets,
        vertices,
        _sparse(d * d * k, f, f, (nf, nf)),  # band.md, step 1b
        _sparse(d * d * blur, f, f, (nf, nf)),
        _sparse(local, f, f, (nf, nf)),
        float(up(4.0 * (float(slack.max()) + gamma(16)))),  # band.md, step 1g
        np.asarray(down(floor, 32)),
        _sparse(-d * k, f, v, (nf, nv)),  # band.md, step 1b
        _sparse(d * blur, f, v, (nf, nv)),
        _sparse(corners, np.arange(nf)[:, None], _renumbered(vertices, N)[of[T.facets[facets]]], (nf, nv)),
        _sparse(k, v, v, (nv, nv)),
        d == 2,
    )


def _cells(T: Topology, kappa: Vector) -> tuple[Vector, Vector, Vector, Vector]:
    """k_ij of each cell, (C, d + 1, d + 1), and a bound of their errors; volumes and the relative error of these."""
    d, C = T.dim, len(T.cells)
    k, wrong, volume, slack = np.empty((C, d + 1, d + 1)), np.empty(C), np.empty(C), np.empty(C)
    for a in range(0, C, CHUNK):
        part = slice(a, min(a + CHUNK, C))
        shapes = Shapes.of(T.points, T.cells[part])
        size = d * kappa[part] if kappa.ndim == 1 else np.abs(kappa[part]).sum(axis=(1, 2))
        if kappa.ndim == 1:
            k[part] = np.einsum("icn,jcn,n->nij", shapes.gradients, shapes.gradients, kappa[part] * shapes.volume)
        else:
            flow = np.einsum("ncd,jdn->jcn", kappa[part], shapes.gradients)
            both = np.einsum("icn,jcn,n->nij", shapes.gradients, flow, shapes.volume)
            k[part] = 0.5 * (both + np.swapaxes(both, 1, 2))
        # band.md, step 1g; indefinite.md, step 13d
        wrong[part] = up(4.0 * size * shapes.volume * shapes.steep**2 * (shapes.slack + gamma(16)), 32)
        volume[part], slack[part] = shapes.volume, shapes.slack
    return k, wrong, volume, slack


def _renumbered(chosen: Index, count: int) -> Index:
    """The place of each number among the chosen ones, −1 for the others."""
    place = np.full(count, -1, dtype=np.intp)
    place[chosen] = np.arange(len(chosen))
    return place


def _sparse(values: Vector, rows: Index, columns: Index, shape: tuple[int, int]) -> Any:
    """Sums of small matrices (n, r, c) over their rows (n, r) and columns (n, c); negative numbers are left out."""
    i, j = (np.broadcast_to(a, values.shape).ravel() for a in (rows[:, :, None], columns[:, None, :]))
    there = (i >= 0) & (j >= 0)
    return sp.csr_array((values.ravel()[there], (i[there], j[there])), shape=shape)
