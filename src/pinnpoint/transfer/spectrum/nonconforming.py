"""Crouzeix–Raviart functions with lower bounds of the energy and upper ones of what a negative reaction takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import down, gamma, up
from pinnpoint.rounding.matrices import product_up
from pinnpoint.taylor.bernstein import mean_of_powers, pairs
from pinnpoint.transfer.boundary.facets import measures
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.everywhere.crouzeix_raviart import CrouzeixRaviart, assemble, mass_pattern
from pinnpoint.transfer.everywhere.mesh_constant import interpolation_constant
from pinnpoint.transfer.spectrum.forms import Forms, Known

LEAST = 1e-3
"""Weights below this share of the largest one are raised to it, where eigenvalues are bounded from below."""
SHARE = 0.1
"""Of ‖∇(v − Πv)‖² that pays for what Π loses of a positive reaction."""


@dataclass(frozen=True, eq=False)
class Nonconforming:
    """Crouzeix–Raviart functions with a lower bound of ∫A∇v·∇v + ∫αv².

    Attributes
    ----------
    plain
        The space itself; its stiffness has no Robin terms.
    stiffness, wrong
        The bound as computed, and a bound of the norm of its error.
    """

    plain: CrouzeixRaviart
    stiffness: Any
    wrong: float

    @classmethod
    def of(cls, model: Continuum, forms: Forms, *, grip: bool) -> Nonconforming:
        """Of a problem; without `grip` Robin facets are free."""
        space = assemble(model.topology, forms.stiff, model.kind == DIRICHLET)
        wrong = float(up(product_up(space.stiffness_error, np.ones(space.size)).max()))
        on = model.exchange
        if on is None or not grip:
            return cls(space, space.stiffness, wrong)
        area, slack = measures(model.points[on.vertices])
        diagonal = np.zeros(len(model.topology.facets))
        diagonal[on.facets] = down(np.maximum(on.weight, 0.0) * area * (1.0 - slack), 8)  # indefinite.md, step 13d
        A = sp.csr_array(space.stiffness + sp.diags_array(diagonal[space.facets]))
        more = gamma(2) * product_up(sp.csr_array(abs(A)), np.ones(space.size)).max()
        return cls(space, A, float(up(wrong + more)))


def with_positive(model: Continuum, space: Nonconforming, forms: Forms) -> tuple[Any, float, float]:
    """A with (1 − t)(c + q)vw of Crouzeix–Raviart functions, a bound of the norm of its error, and ϑ."""
    c, plain = np.maximum(forms.rise.low, 0.0), space.plain
    if not np.any(c):
        return space.stiffness, space.wrong, 0.0
    ratio = np.asarray(forms.spare / np.maximum(c, 1e-300))
    X = float(up(interpolation_constant(model.topology, ratio) ** 2, 8))
    t = X / (SHARE + X)  # indefinite.md, step 2e
    M, _ = weighted_mass(model, plain, c * (1.0 - t))
    A = sp.csr_array(space.stiffness + M)
    size = product_up(sp.csr_array(abs(M)), np.ones(plain.size)).max()
    more = (plain.mass_slack + gamma(8)) * size + gamma(2) * product_up(sp.csr_array(abs(A)), np.ones(plain.size)).max()
    return A, float(up(space.wrong + more, 8)), float(up(X * (1.0 - t) / t, 16))


def weighted_mass(model: Continuum, space: CrouzeixRaviart, weight: Vector) -> tuple[Any, Vector]:
    """∫ q φ_F φ_G for a weight on each cell, true to the space's `mass_slack`, and lower bounds of its row's share."""
    T, d = model.topology, model.d
    alpha, beta = mass_pattern(d)
    M = _assembled(T, space, (T.volumes * weight)[:, None, None] * (alpha * np.eye(d + 1) + beta))
    return M, _row_shares(model, space, weight)


def sinking(model: Continuum, space: CrouzeixRaviart, sink: Known, top: Vector) -> tuple[Any, Vector, float]:
    """The same for q ≤ `top`, raised to that where it is small, and how true it is to a factor 1 ± ζ."""
    T, d = model.topology, model.d
    raised = sink.low < LEAST * float(top.max())
    if bool(np.all(raised)) or sink.beta.shape[1] == 1:
        M, floor = weighted_mass(model, space, top)
        return M, floor, space.mass_slack
    beta = np.where(raised[:, None], top[:, None], sink.beta)
    low, error = np.where(raised, top, sink.low), np.where(raised, 0.0, sink.error)
    local = np.einsum("rij,nr,n->nij", shares(d), beta, T.volumes, optimize=True)
    size = np.abs(beta).max(axis=1)
    # indefinite.md, step 13d
    loose = float(up((error / low + gamma(4096) * size / low).max() + space.mass_slack, 8))
    return _assembled(T, space, local), _row_shares(model, space, low), loose


@cache
def shares(d: int) -> Vector:
    """Means of B_r φ_i φ_j, φ_i = 1 − dλ_i, (pairs, d + 1, d + 1)."""
    hats = np.ones((d + 1, d + 1)) - d * np.eye(d + 1)  # φ_i = Σ_k hats_ik λ_k
    products = np.zeros((len(pairs(d)), d + 1, d + 1))
    for r, pair in enumerate(pairs(d)):
        for k in range(d + 1):
            for m in range(d + 1):
                powers = [int(k == i) + int(m == i) + pair.count(i) for i in range(d + 1)]
                products[r, k, m] = (2 - (pair[0] == pair[1])) * float(mean_of_powers(powers))
    table: Vector = np.einsum("ik,rkm,jm->rij", hats, products, hats)
    table.flags.writeable = False
    return table


def _assembled(T: Topology, space: CrouzeixRaviart, local: Vector) -> Any:
    """A sparse matrix from those of cells."""
    count = local.shape[1]
    place = np.full(len(T.facets), -1)
    place[space.facets] = np.arange(space.size)
    at = place[T.cell_facets]
    rows, columns = np.repeat(at, count, axis=1).ravel(), np.tile(at, (1, count)).ravel()
    there = (rows >= 0) & (columns >= 0)
    return sp.csr_array((local.ravel()[there], (rows[there], columns[there])), shape=(space.size, space.size))


def _row_shares(model: Continuum, space: CrouzeixRaviart, weight: Vector) -> Vector:
    """Lower bounds m with ∫q v² ≥ Σ m_F v_F²."""
    T, d = model.topology, model.d
    alpha, beta = mass_pattern(d)
    least = model.anchors.volume * weight * (alpha + min(0.0, (d + 1) * beta))
    floor = np.bincount(T.cell_facets.ravel(), np.repeat(least, d + 1), minlength=len(T.facets))[space.facets]
    return np.asarray(down(floor, 32))
