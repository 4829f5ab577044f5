"""The pointwise weight of a box: |u(x)| ≤ w(x) ‖f‖₂/κ where Ω lies in the box and u vanishes on ∂Ω.

By the maximum principle 0 ≤ G_Ω ≤ G_box, and ‖G_box(x, ·)‖₂² is a sine series. On a cell each sin² is replaced by its
largest value there; what is left of the series is bounded by integrals.
"""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.transfer.everywhere.constants import PI_DOWN

TERMS = {2: 48, 3: 24}
"""Of the series, for each axis."""
CHUNK = 2048
PI_UP = float(np.nextafter(PI_DOWN, 4.0))


def box_weight(low: Vector, high: Vector, box: tuple[Vector, Vector]) -> Vector:
    """Upper bounds of w on boxes low ≤ x ≤ high, (n, d) each, inside a box with two opposite corners."""
    a, b = box
    d, sides = len(a), b - a
    if d == 1:
        return _on_a_line(low[:, 0] - a[0], b[0] - high[:, 0], float(sides[0]))
    J = TERMS[d]
    j = np.arange(1.0, J + 1.0)
    axes = [(j / up(side, 2)) ** 2 for side in sides]
    squares = sum(np.ix_(*axes)) * (PI_DOWN * PI_DOWN)  # λ from below, but for rounding
    table = (2.0**d / np.prod(sides)) / squares**2  # everywhere.md, step 4c
    found = np.empty(len(low))
    for start in range(0, len(low), CHUNK):
        part = slice(start, start + CHUNK)
        S = [_crests((low[part, i] - a[i]) / sides[i], (high[part, i] - a[i]) / sides[i], J) for i in range(d)]
        if d == 2:
            found[part] = np.einsum("nj,nj->n", S[0] @ table, S[1])
        else:
            inner = np.einsum("nj,jkl->nkl", S[0], table, optimize=True)
            found[part] = np.einsum("nkl,nk,nl->n", inner, S[1], S[2], optimize=True)
    total = found * (1.0 + gamma(40 * J**d)) + _tail(sides, J)
    return np.asarray(up(np.sqrt(total), 16))


def _on_a_line(left: Vector, right: Vector, side: float) -> Vector:
    """x(l − x)/√(3l), largest at the point of the interval that is nearest to the middle."""
    reach = np.minimum(side - right, np.maximum(left, 0.5 * side))  # x nearest to the middle
    return np.asarray(up(reach * (side - reach) / np.sqrt(3.0 * side) * (1.0 + 64.0 * gamma(1)), 16))


def _crests(low: Vector, high: Vector, J: int) -> Vector:
    """Upper bounds of sin²(jπt) for low ≤ t ≤ high, (n, J)."""
    j = np.arange(1.0, J + 1.0)
    s, t = low[:, None] * j, high[:, None] * j
    crest = np.floor(t + 0.5 + 1e-9) > np.floor(s + 0.5 - 1e-9)  # an odd multiple of ½ in between
    ends = np.maximum(np.abs(np.sin(np.pi * s)), np.abs(np.sin(np.pi * t))) + 1e-12
    return np.where(crest, 1.0, np.minimum(1.0, ends**2 * (1.0 + 1e-14)))


def _tail(sides: Vector, J: int) -> float:
    """Terms with an index beyond J, with sin² ≤ 1."""
    d, volume = len(sides), float(np.prod(sides))
    total = 0.0
    for i in range(d):  # everywhere.md, step 4d
        side, others = float(sides[i]), float(np.prod(np.delete(sides, i)))
        series = side**3 * others * PI_UP / (8.0 * J**2) if d == 2 else side**2 * others * PI_UP / (4.0 * J)
        total += series
    return float(up(2.0**d / volume / PI_DOWN**4 * total * (1.0 + 1e-13), 64))
