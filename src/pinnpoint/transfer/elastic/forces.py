"""Body forces and tractions: their moments, and what no stress of the facet moments carries.

A body force is known as f = f₂ + h + ε on each cell (`taylor.bernstein.Density`): a quadratic, a part orthogonal to all
quadratics, and an error. The stress σ_h + τ has −div(σ_h + τ) = f₂ as soon as its moments are those of f₂ (see `lift`);
the moments of ε are a defect that cells pass on (`tree`), and what is left, h + (ε − Qε), no linear field feels, and h
no quadratic one:

    |∫_K h·w| ≤ ĉ₂‖B‖²‖B⁻¹‖ ‖h‖_K ‖ε(w)‖_K ,     ‖ε(w)‖_K ≤ c_min^{-1/2} ‖w‖_{a,K} .

A traction is carried as far as it is linear; the rest costs c_F c_min^{-1/2} ‖t − Π₁t‖_F.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.taylor.bernstein import Density, from_linear, gram, linear_projection, pairs
from pinnpoint.transfer.boundary.facets import measures
from pinnpoint.transfer.elastic.constants import LIFT, MEAN, QUADRATIC, RIGID, stretch, trace_constant
from pinnpoint.transfer.energy.geometry import Shapes

CHUNK = 8192


def body_moments(T: Topology, densities: Sequence[Density]) -> tuple[Vector, Vector, Vector]:
    """∫_K f₂ λ_i, and bounds of what is wrong with it.

    Parameters
    ----------
    densities
        One for each component, with a row for every cell.

    Returns
    -------
    moments
        (C, d + 1, d).
    rounding, data
        (C,): upper bounds of |computed − ∫ f₂ λ_i| and of |∫ ε λ_i|, for each entry.
    """
    C, d = len(T.cells), T.dim
    moments, rounding, data = np.zeros((C, d + 1, d)), np.zeros(C), np.zeros(C)
    error1 = np.max([f.error1 for f in densities], axis=0)
    acting = np.any([f.coefficients.any(axis=1) for f in densities], axis=0) | (error1 > 0.0)
    for cells in _parts(np.flatnonzero(acting)):
        volume, slack = _volumes(T, cells)
        beta = np.stack([f.coefficients[cells] for f in densities], axis=2)
        moments[cells] = (
            np.einsum("ip,npc->nic", against_linear(d), beta) * volume[:, None, None]
        )  # elasticity.md, step 5a
        top = np.abs(beta).max(axis=(1, 2)) * volume
        rounding[cells] = up((slack + gamma(len(pairs(d)) + 12)) * top, 8)  # elasticity.md, step 5a
        data[cells] = up(volume * (1.0 + slack) * error1[cells], 8)  # elasticity.md, step 5a
    return moments, rounding, data


def oscillation(T: Topology, densities: Sequence[Density], c_min: Vector) -> tuple[Vector, Vector]:
    """The cost by cells of h + (ε − Qε) and of the stress that the moments of ε make in their cell; ε's share of it.

    Parameters
    ----------
    c_min
        Lower bounds (C,) of min(2μ, 2μ + dλ).

    Guarantee: |∫_K (h + ε − Qε)·w| + ‖σ(0, ∫ελ_i)‖_{C⁻¹,K} ‖w‖_{a,K} ≤ cost ‖w‖_{a,K}, rounding counted.
    """
    d = T.dim
    cost, data = np.zeros(len(T.cells)), np.zeros(len(T.cells))
    high, error2 = _length([f.high for f in densities]), _length([f.error2 for f in densities])
    for cells in _parts(np.flatnonzero((high > 0.0) | (error2 > 0.0))):
        volume, slack = _volumes(T, cells)
        unit = stretch(T.points, T.cells[cells]) * np.sqrt(volume * (1.0 + slack) / c_min[cells])
        share = math.hypot(RIGID[d], LIFT[d]) + MEAN[d]
        data[cells] = up(_product(unit, share * error2[cells]), 24)  # elasticity.md, step 5d
        cost[cells] = up(up(_product(unit, QUADRATIC[d] * high[cells]), 24) + data[cells])  # elasticity.md, step 5d
    return cost, data


def traction_moments(T: Topology, facets: Index, densities: Sequence[Density]) -> tuple[Vector, Vector, Vector]:
    """∫_F t₂ λ_i for facets, (n, d, components), vertices as in `T.facets`; bounds as in `body_moments`, (n,) each."""
    d = T.dim
    area, slack = measures(T.points[T.facets[facets]])
    beta = np.stack([t.coefficients for t in densities], axis=2)
    moments = np.einsum("ip,npc->nic", against_linear(d - 1), beta) * area[:, None, None]  # elasticity.md, step 5e
    rounding = (slack + gamma(len(pairs(d - 1)) + 12)) * np.abs(beta).max(axis=(1, 2)) * area
    error1 = np.max([t.error1 for t in densities], axis=0)
    return moments, up(rounding, 8), up(_product(area * (1.0 + slack), error1), 8)  # elasticity.md, step 5e


def traction_cost(T: Topology, facets: Index, densities: Sequence[Density], c_min: Vector) -> Vector:
    """The cost (C,) on the facets' cells of what is not linear in a traction; zero where it is constant."""
    d = T.dim
    cost = np.zeros(len(facets))
    rest = _length([_not_linear(t, d - 1) for t in densities])
    rough = np.flatnonzero(rest > 0.0)
    cells = T.facet_cells[facets[rough], 0]
    if len(rough):
        volume, loose = _volumes(T, cells)
        area, slack = measures(T.points[T.facets[facets[rough]]])
        area = up(area * (1.0 + slack), 4)
        opposite = np.argmax(T.cell_facets[cells] == facets[rough, None], axis=1)
        c = trace_constant(T.points, T.cells[cells], opposite, area, volume * (1.0 - 2.0 * loose))
        cost[rough] = up(_product(c * np.sqrt(area / c_min[cells]), rest[rough]), 16)  # elasticity.md, step 5e
    total = np.bincount(T.facet_cells[facets, 0], cost, minlength=len(T.cells))
    return np.where(total > 0.0, up(total, 8), 0.0)


def against_linear(m: int) -> Vector:
    """Means of B_jl λ_i over an m-simplex, (m + 1, pairs)."""
    A = np.full((m + 1, len(pairs(m))), 2.0)
    for p, (j, k) in enumerate(pairs(m)):
        A[j, p] += 2.0
        A[k, p] += 2.0
    return A / ((m + 1) * (m + 2) * (m + 3))


def _not_linear(t: Density, m: int) -> Vector:
    """Upper bounds of the root mean square of t − Π₁t on each facet."""
    b = t.coefficients
    away = b - from_linear(b @ linear_projection(m).T)  # any linear function bounds the distance
    square = np.maximum(np.einsum("np,pq,nq->n", away, gram(m), away), 0.0) + gamma(60) * np.abs(away).max(axis=1) ** 2
    blur = gamma(4) * np.abs(b).max(axis=1)
    rest = up(np.sqrt(square + t.high**2) + blur + t.error2, 8)  # elasticity.md, step 5e
    flat = (np.ptp(b, axis=1) == 0.0) & (t.high == 0.0) & (t.error2 == 0.0)
    return np.where(flat, 0.0, rest)


def _length(parts: Sequence[Vector]) -> Vector:
    """Upper bounds of √Σ x_c²."""
    if len(parts) == 1:
        return parts[0]
    found = np.zeros_like(parts[0])
    for x in parts:
        found = np.hypot(found, x)
    return np.where(found > 0.0, up(found, 8), 0.0)


def _product(a: Vector, b: Vector) -> Vector:
    """The product, with 0 · ∞ = ∞: a bound that is not known bounds nothing."""
    with np.errstate(invalid="ignore"):
        found = a * b
    return np.where(np.isnan(found), np.inf, found)


def _volumes(T: Topology, cells: Index) -> tuple[Vector, Vector]:
    shapes = Shapes.of(T.points, T.cells[cells])
    return shapes.volume, shapes.slack


def _parts(cells: Index) -> list[Index]:
    return [cells[a : a + CHUNK] for a in range(0, len(cells), CHUNK)]
