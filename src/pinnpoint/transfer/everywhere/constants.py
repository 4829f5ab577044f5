"""Constants of the level-set theorem, rounded up.

With C = nω_n^{1/n}, the isoperimetric constant, and V = |B_R|, in n = 1, 2, 3 dimensions:

    density:  C⁻² ‖∫_r^V s^{−2+2/n} ds‖_{L²(0,V)},        flux:  C⁻¹ ‖s^{−1+1/n}‖_{L^{p′}(0,V)},  p > n.
"""

from __future__ import annotations

import math

from pinnpoint.rounding.arithmetic import down, up

PI_DOWN = 3.141592653589793  # float64's value is below π
ROUNDINGS = 400
"""More than the roundings in any constant here, powers and the cancellation of 1 − p′(1 − 1/n) counted."""
POWERS = {
    1: (2.0, 3.0, 4.0, 6.0, math.inf),
    2: (2.1, 2.25, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 12.0, math.inf),
    3: (3.1, 3.25, 3.5, 4.0, 5.0, 6.0, 8.0, 12.0, 24.0, math.inf),
}
"""Exponents p of ‖δ‖_p that are tried, by dimension."""


def isoperimetric(n: int) -> float:
    """C from below: perimeter ≥ C · volume^{1 − 1/n}."""
    exact = {1: 2.0, 2: 2.0 * math.sqrt(PI_DOWN), 3: (36.0 * PI_DOWN) ** (1.0 / 3.0)}[n]
    return float(down(exact, 16))


def density_constant(n: int, volume: float) -> float:
    """The largest ‖e‖_∞/‖ϱ‖₂ for −Δe = ϱ in domains of at most this volume."""
    C = isoperimetric(n)
    # everywhere.md, step 1f
    norm = {1: math.sqrt(volume**3 / 3.0), 2: math.sqrt(2.0 * volume), 3: 3.0 * volume ** (1.0 / 6.0)}[n]
    return float(up(norm / (C * C), ROUNDINGS))


def flux_constant(n: int, p: float, volume: float) -> float:
    """The largest ‖e‖_∞/‖δ‖_p for −Δe = −∇·δ."""
    C = isoperimetric(n)
    if math.isinf(p):
        return float(up(n * volume ** (1.0 / n) / C, ROUNDINGS))  # everywhere.md, step 1g
    dual = p / (p - 1.0)
    left = 1.0 - dual * (1.0 - 1.0 / n)
    return float(up((volume**left / left) ** (1.0 / dual) / C, ROUNDINGS))  # everywhere.md, step 1g
