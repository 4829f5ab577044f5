"""How stiff an isotropic material is at least, and what the rounding of its coefficients does."""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import down, gamma


def least_stiffness(lam: Vector, mu: Vector, d: int) -> Vector:
    """Lower bounds of c_min = min(2μ, 2μ + dλ), the least eigenvalue of C: |τ|²/c_min is at least τ : C⁻¹τ."""
    low = np.minimum(2.0 * mu, 2.0 * mu + d * lam) - gamma(8) * (2.0 * mu + d * np.abs(lam))  # terms may cancel
    return np.asarray(np.maximum(down(low, 4), 0.0))  # elasticity.md, step 2c


def material_error(lam: Vector, mu: Vector, d: int, steps: float) -> float:
    """How far the energy of floats λ, μ is from that of the material, relatively, after `steps` roundings in each.

    |δC(ε, ε)| ≤ γ (2μ|ε|² + |λ| tr²) ≤ γ C(ε, ε) (2μ + d|λ|)/(2μ + dλ) for λ < 0, and ≤ γ C(ε, ε) for λ ≥ 0.
    """
    with np.errstate(divide="ignore"):
        factor = np.where(lam >= 0.0, 1.0, (2.0 * mu + d * np.abs(lam)) / least_stiffness(lam, mu, d))
    return float(2.0 * gamma(steps) * np.max(factor, initial=1.0))  # elasticity.md, step 9d
