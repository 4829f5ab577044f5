"""The proof of stability of steps in time, from matrices of one level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector, is_symmetric
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError
from pinnpoint.rounding.arithmetic import UNIT, down, gamma, up
from pinnpoint.rounding.bounds import Coercivity
from pinnpoint.rounding.coercivity import prove_coercivity
from pinnpoint.rounding.matrices import product_up
from pinnpoint.rounding.stepped import Stepped
from pinnpoint.systems.evolution.grid import TimeGrid

GROWTH = (0.01, 0.1, 1.0, 2.0, 4.0, 8.0, 16.0)
"""γT that is tried where K is not positive definite, after one that only makes up for rounding."""
MIDDLE = 6.0
"""How much larger than at its end a state may be in the middle of a slab."""


@dataclass(frozen=True, eq=False)
class StepMatrices:
    """What a proof was made of: M and K over the free entries, the grid, γ, and ‖D|M|D‖/μ and ‖D|K|D‖/μ."""

    M: Any
    K: Any
    grid: TimeGrid
    gamma: float
    sizes: tuple[float, float]

    __repr__ = brief


def step_stability(M: Matrix, K: Matrix, grid: TimeGrid, fingerprint: str) -> Stepped:
    """Stability of the block matrix of a grid, with the rounding of its stored entries.

    *Guarantee:* deterministic. *Assumes:* nothing; with "cg2" K must be symmetric. *Cost:* a factorization or two of
    the size of a level.

    Parameters
    ----------
    M, K
        Over the free entries of a level, as stored.
    fingerprint
        Of the block matrix.
    """
    if grid.per_slab == 2 and not is_symmetric(K):
        raise CertificationError("coercivity: quadratic steps in time are proved to be stable without convection")
    mass = prove_coercivity(sp.csr_array(M), equilibrate=True)
    assert mass.scale is not None
    gamma_, how = floor_of(M, K, grid.end, mass)
    m, k = (_scaled_norm(B, mass.scale) for B in (M, K))
    columns, rows = step_weights(grid, gamma_, m / down(mass.alpha), k / down(mass.alpha))
    claim = (
        f"steps in time are stable in the energy of the mass matrix, which is at least {mass.alpha:.6e} times diagonal "
        f"D⁻² ({mass.how}); {how}"
    )
    made_of = StepMatrices(M, K, grid, gamma_, (m / mass.alpha, k / mass.alpha))
    return Stepped(columns, rows, mass.scale, mass.alpha, claim, fingerprint, made_of=made_of)


def floor_of(M: Matrix, K: Matrix, end: float, mass: Coercivity) -> tuple[float, str]:
    """γ ≥ 0 with (K + Kᵀ)/2 + γM ⪰ 0, verified, and what was verified in words."""
    try:
        found = prove_coercivity(sp.csr_array(K), equilibrate=True)
        return 0.0, f"the symmetric part of K is positive definite ({found.how})"
    except CertificationError:
        pass
    assert mass.scale is not None
    least = 1e3 * UNIT * _scaled_norm(K, mass.scale) / mass.alpha
    for gamma_ in [least, *(g / end for g in GROWTH if g / end > least)]:
        try:
            # stepping.md, step 2a
            found = prove_coercivity(sp.csr_array(K + gamma_ * M), error=partial(_sum_error, M, K, gamma_))
        except CertificationError:
            continue
        return gamma_, f"the symmetric part of K is at least −{gamma_:.3e} times the mass matrix ({found.how})"
    raise CertificationError(
        f"coercivity: the symmetric part of K falls below −{GROWTH[-1] / end:.3g} times the mass matrix, so states may "
        "grow too fast for a bound; take a shorter time, or target='continuous'"
    )


def _sum_error(M: Matrix, K: Matrix, gamma_: float, v: Vector) -> Vector:
    """Bounds of what was rounded in the entries of K + γM, and of its transpose, times v ≥ 0."""
    size = sp.csr_array((abs(K) + abs(K.T)) * 0.5 + gamma_ * abs(M))
    return np.asarray(up(4.0 * UNIT * product_up(size, v)))


def _scaled_norm(B: Matrix, d: Vector) -> float:
    """Upper bound of ‖D|B|D‖₂, by the largest sums of rows and columns."""
    size = abs(sp.csr_array(B))
    rows = float(np.max(up(d * product_up(size, d))))
    columns = float(np.max(up(d * product_up(sp.csr_array(size.T), d))))
    return float(up(np.sqrt(up(rows * columns))))


def step_weights(grid: TimeGrid, gamma_: float, m: float, k: float) -> tuple[Vector, Vector]:
    """The weights of levels and rows; `m` and `k` bound ‖D|M|D‖/μ and ‖D|K|D‖/μ."""
    two = grid.per_slab == 2
    columns, rows = np.empty((grid.steps, grid.per_slab)), np.empty((grid.steps, grid.per_slab))
    above = below = 1.0
    for slab in range(grid.steps):
        G, H = grid.coefficients(slab)
        eps = float(up(gamma(3) * np.max(up(np.abs(G) * m + np.abs(H) * k)) / grid.unit))  # stepping.md, step 2a
        # stepping.md, step 2b: Crank–Nicolson's half of γτ, and Euler's whole, and less than that would do
        tau = float(up(np.max(np.abs(H).sum(axis=1)) / grid.unit))
        eta, gain = float(up(gamma_ * tau * (1.0 if slab < grid.damped else 0.5) + eps)), 1.0
        if two:
            rest = float(down(1.0 - up(6.0 * eps)))
            if not rest > 0.5:
                raise CertificationError("coercivity: the steps are too long for the rounding of their matrix")
            gain = float(up(3.0 / rest))
            eta = float(up(18.0 * eps / rest + 14.0 / 3.0 * gamma_ * tau))  # stepping.md, step 2c
        if not eta <= 0.5:
            raise CertificationError(
                f"coercivity: states may grow by more than a step of length {grid.lengths[slab]:.3g} allows to bound; "
                "take shorter steps"
            )
        above = float(up(above * up((1.0 + eta) / down(1.0 - eta))))
        below = float(down(below * down((1.0 + eta) / (1.0 - eta))))
        columns[slab] = [MIDDLE * above, above] if two else [above]  # stepping.md, step 2d
        rows[slab] = up(gain / grid.unit / down(down(below) * down(1.0 - eta)))
    return columns.ravel(), rows.ravel()
