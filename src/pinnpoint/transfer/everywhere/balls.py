"""Norms of the potential of a ball: −ΔΦ = δ_x − 1_B/|B| with Φ = 0, ∇Φ = 0 on the sphere of radius r.

‖Φ‖₂² = r³/40,  5r²/(96π),  33r/(560π)                                          in 1, 2 and 3 dimensions,
‖∇Φ‖_q^q = 2^{1−q} r/(q+1),  (2π)^{1−q} r^{2−q} ½B(1 − q/2, q + 1),  (4π)^{1−q} r^{3−2q} ⅓B(1 − 2q/3, q + 1).
"""

from __future__ import annotations

import math

from pinnpoint.rounding.arithmetic import down, up

PI_DOWN = 3.141592653589793  # float64's value is below π
PI_UP = 3.1415926535897936
ROUNDINGS = 4000
"""More than the roundings in any constant here; gamma functions of the library are counted as a thousand each."""


def ball_volume(d: int, r: float) -> float:
    """|B_r| from below."""
    return float(down({1: 2.0 * r, 2: PI_DOWN * r * r, 3: 4.0 / 3.0 * PI_DOWN * r**3}[d], 16))


def ball_volume_up(d: int, r: float) -> float:
    """|B_r| from above."""
    return float(up({1: 2.0 * r, 2: PI_UP * r * r, 3: 4.0 / 3.0 * PI_UP * r**3}[d], 16))


def potential_norm(d: int, r: float) -> float:
    """‖Φ‖₂, rounded up."""
    square = {1: r**3 / 40.0, 2: 5.0 * r * r / (96.0 * PI_DOWN), 3: 33.0 * r / (560.0 * PI_DOWN)}[d]
    return float(up(math.sqrt(square), 64))  # band.md, step 4b


def gradient_norm(d: int, p: float, r: float) -> float:
    """‖∇Φ‖_{p′}, 1/p + 1/p′ = 1, p > d, rounded up."""
    q = 1.0 if math.isinf(p) else p / (p - 1.0)
    if d == 1:
        power = 2.0 ** (1.0 - q) * r / (q + 1.0)
    elif d == 2:
        power = (2.0 * PI_DOWN) ** (1.0 - q) * r ** (2.0 - q) * 0.5 * _beta(1.0 - q / 2.0, q + 1.0)
    else:
        power = (4.0 * PI_DOWN) ** (1.0 - q) * r ** (3.0 - 2.0 * q) * _beta(1.0 - 2.0 * q / 3.0, q + 1.0) / 3.0
    return float(up(power ** (1.0 / q), ROUNDINGS))  # band.md, step 4b


def _beta(a: float, b: float) -> float:
    return math.gamma(a) * math.gamma(b) / math.gamma(a + b)
