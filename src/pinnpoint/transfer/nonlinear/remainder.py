"""What the linearised dual leaves of a cubic reaction.

In the words of `monotone`: e = u − u_h, t = ‖e‖_a ≤ η, X = ∫ λ(u² + u u_h + u_h²) e² ≤ t(η − t), q = λe²(2u_h + u), and
J(u) holds −∫qG with G = z + Φ, z = z_h + ε, ‖ε‖_a ≤ η_d.

G is the Green function of b for the query: for φ ≥ 0 and b(v, ·) = ∫φ· the query of v is b(v, z) + ∫φΦ = ∫φG, and it is
nonnegative because v is. So G ≥ 0, and with q = q⁺ − q⁻ the remainder lies in [−∫q⁺G, ∫q⁻G]. With the constants of
`norms`, ‖eG‖₂ ≤ A t, A = max|z_h| C₂ + C_Φ + C₄² η_d. As (2u_h + u)² ≤ 4(u² + u u_h + u_h²),

    ∫q^±G ≤ 2√X √λ ‖eG‖₂ ≤ 2√λ A t √(t(η − t)) ≤ (3√3/8) √λ A η²,

and as q = λe²(3u_h + e), q^± ≤ λe²(3u_h^± + |e|), so that also

    ∫q^±G ≤ λ(3 max u_h^± ‖e‖₂ + ‖e‖₄²)‖eG‖₂ ≤ λ A (3 max u_h^± C₂ η² + C₄² η³).

The smaller bounds count. Where u_h has one sign, one of them is of third order.
"""

from __future__ import annotations

import math

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import at_most, up
from pinnpoint.transfer.energy.norms import Norms

STEEP = 0.6495190528383291
"""3√3/8, the largest 2 m √(m(1 − m)) for 0 ≤ m ≤ 1, rounded up."""


def amplitude(norms: Norms, beside: float, dual: Vector, eta_dual: float) -> float:
    """A, with ‖eG‖₂ ≤ A t; `beside` is C_Φ."""
    height = float(np.max(np.abs(dual)))
    # continuous.md, step 10e
    A = height * norms.second + norms.fourth**2 * eta_dual + beside
    return float(up(A, 8))


def remainder(
    norms: Norms, cubic: Vector, state: Vector, eta: float, beside: float, dual: Vector, eta_dual: float
) -> tuple[float, float]:
    """Upper bounds of ∫q⁺G and ∫q⁻G.

    Parameters
    ----------
    cubic
        λ ≥ 0 on each cell.
    state, dual
        Nodal values of u_h and z_h, linear elements.
    eta, eta_dual
        η and η_d.
    beside
        C_Φ, with ‖vΦ‖₂ ≤ C_Φ ‖v‖_a; zero where there is no kernel.
    """
    lam = float(cubic.max(initial=0.0))
    if lam == 0.0:
        return 0.0, 0.0
    A = amplitude(norms, beside, dual, eta_dual)
    both = at_most(STEEP * math.sqrt(lam) * A * eta * eta)  # continuous.md, step 10f
    found = []
    for sign in (1.0, -1.0):
        top = max(0.0, float(np.max(sign * state)))
        # continuous.md, step 10f
        own = at_most(lam * A * (3.0 * top * norms.second * eta * eta + norms.fourth**2 * eta * eta * eta))
        found.append(float(up(min(both, own), 32)))
    return found[0], found[1]
