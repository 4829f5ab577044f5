"""Sums and products of unevaluated pairs hi + lo of floats (double-double), elementwise on arrays.

With u = 2⁻⁵³, barring under- and overflow, the result of `add` differs from the exact sum by at most 3u²/(1 − 4u) of
it, and that of `scale` from the exact product by at most 2u² of it (Joldes, Muller, Popescu, *Tight and rigorous error
bounds for basic building blocks of double-word arithmetic*, 2017, Theorems 3.1 and 4.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import two_prod, two_sum

Pair = tuple[Vector, Vector]

STEP = 2.0**-103
"""More than the relative error of one `scale` and one `add` together."""


def whole(x: Vector) -> Pair:
    """A float as a pair."""
    return x, np.zeros_like(x)


def add(a: Pair, b: Pair) -> Pair:
    """The sum a + b."""
    s, s_low = two_sum(a[0], b[0])
    t, t_low = two_sum(a[1], b[1])
    v, v_low = _fast_two_sum(s, s_low + t)
    return _fast_two_sum(v, t_low + v_low)  # proofs.md, step 5j


def scale(x: Vector, a: Pair, parts: tuple[Any, Any] | None = None) -> Pair:
    """The product x a for a float x; `parts` is ``split(x)`` where it is at hand."""
    p, e = two_prod(a[0], x, parts)
    t, t_low = _fast_two_sum(p, x * a[1])
    return _fast_two_sum(t, t_low + e)  # proofs.md, step 5j


def _fast_two_sum(a: Vector, b: Vector) -> Pair:
    """Dekker: exact for |a| ≥ |b|."""
    s = a + b
    return s, b - (s - a)
