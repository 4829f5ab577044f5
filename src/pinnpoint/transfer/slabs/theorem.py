"""The product theorem in time: what the sums over slabs and modes say about a functional.

With e = u − u_h, ε = z − z_h, D_p and D_d fields that represent the residuals in the energy, C the computed part of
(D_p, D_d), P ≥ ‖D_p‖², Q ≥ ‖D_d‖², X ≥ what of (D_p, D_d) is not in C, and r_p, r_d ≥ ∫‖ϱ‖ for residuals in L¹(L²):

    | ∫⟨R, ε⟩ + (e(0), ε(0)) − C/2 | ≤ ½ (√(P′Q′) + X) + r_p √(Q′/2) + r_d √(P′/2) + r_p r_d,

P′ = P + 2‖e(0)‖², Q′ = Q + 2‖ε(T)‖². With λ ≤ the smallest eigenvalue of A, 0 ≤ θ < 1 and φ = e^{−θλ(T−t)} the same
holds for φe and ε/φ with all parts weighted, and P, Q, C and X divided by 1 − θ. Where the norm that D_p and D_d are
measured in is only proved to be at most `growth` times that of A's symmetric part, these are multiplied by its square.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import at_most, down, sum_up, up

SHARES = (0.0, 0.2, 0.35, 0.5, 0.65)
"""θ that are tried."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Of one query, by slabs, (N,); rounded up but for `shift`.

    Attributes
    ----------
    primal, dual
        P_n and Q_n.
    shift, slip
        C_n, and bounds of its rounding.
    cross
        X_n.
    loose_primal, loose_dual
        r_p and r_d.
    initial, final
        ‖e(0)‖² and ‖ε(T)‖².
    """

    primal: Vector
    dual: Vector
    shift: Vector
    slip: Vector
    cross: Vector
    loose_primal: Vector
    loose_dual: Vector
    initial: float
    final: float

    __repr__ = brief


def product_bound(
    sums: Sums, nodes: Vector, eigenvalue: float = 0.0, growth: float = 1.0
) -> tuple[float, float, float]:
    """Centre and radius of ∫⟨R, ε⟩ + (e(0), ε(0)), and θ; the narrowest over θ."""
    found = [_weighted(sums, nodes, eigenvalue, theta, growth) for theta in (SHARES if eigenvalue > 0.0 else (0.0,))]
    best = min(range(len(found)), key=lambda i: found[i][1])
    return *found[best], SHARES[best]


def _weighted(sums: Sums, nodes: Vector, eigenvalue: float, theta: float, growth: float) -> tuple[float, float]:
    """With φ = e^{−θλ(T−t)}."""
    T = float(nodes[-1])
    late = np.exp(-theta * eigenvalue * (T - nodes))
    slack = 1e-14 * (10.0 + theta * eigenvalue * T)  # of the exponent, and of exp
    most, least = np.asarray(up(late[1:] * (1.0 + slack), 8)), np.asarray(down(late[:-1] * (1.0 - slack), 8))
    if not float(least.min()) > 1e-150:
        return 0.0, math.inf  # weights that vanish in floats help nobody
    one = float(down(1.0 - theta, 1)) if theta else 1.0
    one = one if growth == 1.0 else float(down(one / up(growth**2, 2), 2))  # slabs.md, step 7a
    # slabs.md, step 3b
    first = 2.0 * up((late[0] * (1.0 + slack)) ** 2 * sums.initial, 16)
    P = float(up(up(sum_up(up(most**2 * sums.primal, 8)) / one) + first))
    Q = float(up(up(sum_up(up(sums.dual / least**2, 8)) / one) + 2.0 * sums.final))
    shift = math.fsum(sums.shift.tolist())
    # slabs.md, step 1c
    radius = 0.5 * (math.sqrt(P) * math.sqrt(Q) + (sum_up(sums.cross) + sum_up(sums.slip)) / one)
    loose_p, loose_d = sum_up(up(most * sums.loose_primal)), sum_up(up(sums.loose_dual / least))
    # slabs.md, step 1d
    more = loose_p * math.sqrt(0.5 * Q) + loose_d * math.sqrt(0.5 * P) + loose_p * loose_d
    return 0.5 * shift / one, at_most(float(up(radius + more + 1e-15 * abs(shift), 32)))
