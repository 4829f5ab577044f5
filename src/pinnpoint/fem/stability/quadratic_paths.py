"""Coercivity of quadratic elements from the mesh alone: paths bound the values at vertices, strains those at midpoints.

On a cell K the strain of a quadratic displacement u is linear; ε^j are its values at the vertices, and u₁ is the linear
displacement with u's values there. Along an edge e = (a, b) with τ = x_b − x_a the slope of u·τ is τᵀετ, so that

    τᵀ ε(u₁) τ = ½ τᵀ (ε^a + ε^b) τ,        ε(u₁) = Σ_e (τᵀ ε(u₁) τ) D_e,   D_e = −sym(∇λ_a ⊗ ∇λ_b),

and what the midpoint has beyond the mean of its ends, b_e, is an eighth of u's second derivative along the edge:

    −8 b_e = 2 (ε^b − ε^a) τ − Σ_j ∇λ_j (τᵀ ε^j τ).

A scalar has gradients g^j for strains: τ·∇u₁ = ½ τ·(g^a + g^b), ∇u₁ = Σ_e (τ·∇u₁)(∇λ_b − ∇λ_a)/(d + 1), and
−8 b_e = τ·(g^b − g^a).
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Matrix, Vector
from pinnpoint.base.threads import on_all_cores
from pinnpoint.fem.assembling.elements import Nodes, product_table
from pinnpoint.fem.stability.compared import half_sums
from pinnpoint.fem.stability.paths import path_bound
from pinnpoint.fem.stability.stored import shape_errors
from pinnpoint.fem.stability.wide import WIDE, wide_gap, wide_shapes
from pinnpoint.mesh.facets import chunks
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.rounding.arithmetic import UNIT, down, gamma, up

LITTLE = 0.1
"""The t of a midpoint's bound: what bubbles add is small beside the paths."""
SLACK = 1.0 + 1e-9
"""For the few roundings of each of the nonnegative quantities below; what cancels has its own bound."""


def quadratic_bound(nodes: Nodes, held: Index, stiffness: Vector, free: Any, *, elastic: bool) -> float:
    """A lower bound of uᵀAu / |u|² over all quadratics u that vanish on the held facets, for exact element integrals.

    The arguments are those of `path_bound`; `free` says which vertices count. With the linear part's energy below that
    of u, paths bound Σ_v|u_v|² by uᵀAu/α₁; a midpoint has |u_e|² ≤ (1 + t)(|u_a|² + |u_b|²)/2 + (1 + 1/t)|b_e|²,
    any t > 0.
    """
    mesh = nodes.mesh
    share, bubbles = cell_constants(mesh, elastic=elastic)
    weaker = np.asarray(down(stiffness / share, 4))
    first = path_bound(mesh, held, weaker, free, elastic=elastic)
    ends = 1.0 + (1.0 + LITTLE) * 0.5 * int(np.bincount(nodes.edges.ravel(), minlength=1).max())
    beyond = float(up((1.0 + 1.0 / LITTLE) * np.max(bubbles / (stiffness * mesh.volumes)) * SLACK, 8))
    return float(down(1.0 / up(ends / first + beyond, 8), 4))  # proofs.md, step 3k


def cell_constants(mesh: Mesh, *, elastic: bool) -> tuple[Vector, Vector]:
    """Per cell C² and β²: |K||ε(u₁)|² ≤ C²‖ε(u)‖²_K, and |K| Σ_e|b_e|² ≤ β²‖ε(u)‖²_K; gradients for scalars.

    ‖ε‖²_K = |K| ε·M̂ε over the values at vertices, M̂ = (1 + δ_ij)/((d+1)(d+2)), whose inverse is
    (d+1)(d+2)(I − 11ᵀ/(d+2)), so β has a factor (d+1)(d+2). With ε(u₁) = Σ_j B_j ε^j and Σ_j B_j = I, C² is the largest
    eigenvalue of Σ_ij B_i M̂⁻¹_ij B_jᵀ = (d+1)(d+2) Σ_j B_jB_jᵀ − (d+1) I. Those of Σ_j B_jB_jᵀ are those of
    Y = ¼ (N ∘ S) Q over edges e, f: N counts common vertices, S_ef = (τ_e·τ_f)², Q_ef = D_e : D_f; and
    λ ≤ (tr Y⁴)^¼. For scalars S_ef = τ_e·τ_f, and Q_ef = q_e·q_f with q = (∇λ_b − ∇λ_a)/(d + 1).
    """
    slope, _ = shape_errors(mesh)
    found = on_all_cores(lambda part: _constants(mesh, part, slope[part], elastic), chunks(len(mesh.cells)))
    share, bubbles = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return share, bubbles


def _constants(mesh: Mesh, part: slice, slope: Vector, elastic: bool) -> tuple[Vector, Vector]:
    d = mesh.dim
    P, G = mesh.points[mesh.cells[part]], mesh.gradients[part]
    first, last = np.array(list(combinations(range(d + 1), 2))).T
    tau = P[:, last] - P[:, first]
    long = np.sqrt((tau**2).sum(axis=2)) * SLACK  # |τ_e|
    steep = np.sqrt((G**2).sum(axis=2)) * (1.0 + slope)[:, None] * SLACK  # |∇λ_j|
    common = sum((one[:, None] == other) * 1.0 for one, other in product((first, last), repeat=2))
    S = tau @ np.swapaxes(tau, 1, 2)
    if elastic:
        g, (a, b) = G @ np.swapaxes(G, 1, 2), (first, last)
        Q = 0.5 * (g[:, a][:, :, a] * g[:, b][:, :, b] + g[:, a][:, :, b] * g[:, b][:, :, a])
        S, size = S**2, steep[:, a] * steep[:, b] * long**2
    else:
        q = (G[:, last] - G[:, first]) / (d + 1.0)
        Q, size = q @ np.swapaxes(q, 1, 2), (steep[:, first] + steep[:, last]) * long / (d + 1.0)
    Y = 0.25 * (common * S) @ Q
    square = Y @ Y
    largest = (size**2).sum(axis=1)  # of |Y|, Frobenius' norm, also of the magnitudes in its sums
    lost = ((1.0 + slope) ** 16 - 1.0 + gamma(512)) * len(first) * largest**4
    root = ((square * np.swapaxes(square, 1, 2)).sum(axis=(1, 2)) + lost) ** 0.25 * SLACK
    count = (d + 1.0) * (d + 2.0)
    share = up(count * root - (d + 1.0), 8)  # proofs.md, step 3k
    bubbles = np.zeros(len(P))
    for e, ends in enumerate(zip(first, last, strict=True)):
        beta = np.zeros((len(P), d + 1))
        beta[:, ends] = (0.25 if elastic else 0.125) * long[:, [e]]
        beta += 0.125 * long[:, [e]] ** 2 * steep if elastic else 0.0
        bubbles += (beta**2).sum(axis=1)  # proofs.md, step 3k
    return np.maximum(np.asarray(share), 1.0), np.asarray(up(bubbles * count * SLACK, 8))


def quadratic_error(nodes: Nodes, A: Matrix, lam: Vector | None, mu: Vector, rows: Index | None = None) -> float:
    """Upper bound of the norm of A − A₀, A the stored stiffness of quadratic elements, A₀ exact for the same numbers.

    A is compared, entry by entry, with Σ over cells of Σ_ab T_ab V (λ g_a g_bᵀ + μ g_b g_aᵀ + μ g_a·g_b I) in extended
    precision, where T is rounded once, a product has at most 12 roundings, and gradients and volumes are known as
    `shape_errors` says. Half the sums of the norms of the blocks of a row and of a column bound the symmetric part.
    """
    mesh, (C, k) = nodes.mesh, nodes.cell_dofs.shape
    d, shapes = mesh.dim, wide_shapes(nodes.mesh)
    table = np.abs(product_table(d)).reshape(k, k, (d + 1) ** 2)
    sums = 0.5 * (table.sum(axis=0) + table.sum(axis=1)) * SLACK
    shared = int(np.bincount(nodes.cell_dofs.ravel()).max())
    roundings = 4.0 * WIDE / UNIT * gamma(shared + (d + 1) ** 2 + 16)
    slope, volume = shape_errors(mesh, shapes)
    weights = np.empty((C, k))

    def fill(part: slice) -> None:
        s, v, m = slope[part], volume[part], mu[part]
        size = m if lam is None else up(2.0 * m + np.abs(lam[part]))
        entries = m if lam is None else up(np.sqrt(d) * m + m + np.abs(lam[part]), 8)
        wrong = up((2.0 + s) * s * (1.0 + v) + v, 16) * size + roundings * entries  # proofs.md, step 3i
        g = np.sqrt((shapes[0][part].astype(float) ** 2).sum(axis=2)) * (1.0 + s)[:, None] * SLACK
        products = (g[:, :, None] * g[:, None, :]).reshape(len(g), -1)
        V = shapes[1][part].astype(float) * (1.0 + v) * SLACK
        weights[part] = (wrong * V)[:, None] * (products @ sums.T)

    on_all_cores(fill, chunks(C))
    at_node = np.bincount(nodes.cell_dofs.ravel(), weights.ravel(), minlength=len(nodes))
    beside = half_sums(wide_gap(nodes, shapes, A, lam, mu)).reshape(len(nodes), -1).max(axis=1)
    at_node, beside = (at_node, beside) if rows is None else (at_node[rows], beside[rows])
    return float(up((np.max(at_node, initial=0.0) + np.max(beside, initial=0.0)) * SLACK, 16))
