"""Outward-rounded scalars and error-free transformations in binary64, without switching rounding modes.

With u = 2⁻⁵³ and γ_k = k u / (1 − k u), a nonnegative expression evaluated with at most k roundings differs
from its exact value by a factor within 1 ± γ_k (Higham, *Accuracy and Stability*, Lemma 3.1), plus underflow,
for which `TINY` is an allowance that also holds when subnormals are flushed to zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError

UNIT = 2.0**-53
"""Unit roundoff u."""
TINY = 2.0**-1000
"""More than any accumulation of 2²⁰ underflow errors of one operation (2⁻¹⁰²² each when flushed)."""
LIMIT = 2.0**480
"""Entries beyond this could overflow in Veltkamp's splitting or in a norm; they are refused."""

FEW = 32
"""Numbers that are handed to `math.fsum` one by one."""

_SPLITTER = 134217729.0  # 2²⁷ + 1


def gamma(k: float) -> float:
    """Upper bound of γ_k = k u / (1 − k u), for k < 2⁴⁵."""
    x = k * UNIT
    return x / (1.0 - x) * (1.0 + 8.0 * UNIT)  # proofs.md, step 5a


def gammas(k: NDArray[Any]) -> Vector:
    """`gamma` for each entry of an array."""
    x = np.asarray(k, dtype=np.float64) * UNIT
    return np.asarray(x / (1.0 - x) * (1.0 + 8.0 * UNIT))


def up(x: Any, k: int = 4) -> Any:
    """Upper bound of the exact value of a nonnegative expression evaluated with at most k roundings."""
    return x * (1.0 + 4.0 * k * UNIT) + TINY  # proofs.md, step 5a


def down(x: Any, k: int = 4) -> Any:
    """Lower bound of the exact value of an expression of one sign evaluated with at most k roundings."""
    return x - (np.abs(x) * (4.0 * k * UNIT) + TINY)  # proofs.md, step 5a


def sum_up(x: Vector) -> float:
    """Upper bound of Σ x_i for x ≥ 0."""
    return float(up(float(np.sum(x)) * (1.0 + 2.0 * gamma(x.size + 1)) + x.size * TINY))  # proofs.md, step 5a


def dot_up(x: Vector, y: Vector) -> float:
    """Upper bound of Σ x_i y_i for x, y ≥ 0."""
    # einsum rather than dot: threaded BLAS leaves spinning threads behind that slow everything after it
    # proofs.md, step 5a
    return float(up(float(np.einsum("i,i->", x, y)) * (1.0 + 2.0 * gamma(x.size + 1)) + x.size * TINY))


def norm_up(x: Vector) -> float:
    """Upper bound of ‖x‖₂; infinite where x holds NaN or overflows."""
    return at_most(up(math.sqrt(at_most(dot_up(x, x)))))


def at_most(x: float) -> float:
    """A computed upper bound as it may be used: one that came out as NaN bounds nothing, so it is infinite."""
    return math.inf if math.isnan(x) else float(x)


def two_sum(a: Any, b: ArrayLike) -> tuple[Any, Any]:
    """Knuth: a + b = s + t exactly, s = fl(a + b)."""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)  # proofs.md, step 5c


def sum_of(x: Vector) -> tuple[float, float]:
    """Σ x_i correctly rounded, and a bound of what it is off beyond that: at most γ² Σ|x_i|.

    Halves are added with what each sum loses until few numbers are left. At most log₂ n times: the losses are together
    no more than log₂ n · u Σ|x_i|, to the first order, and each goes through fewer than n + 64 plain additions.
    """
    count, size, lost, rest = len(x), sum_up(np.abs(x)), 0.0, x
    with np.errstate(over="ignore", invalid="ignore"):  # sums that overflow, or no numbers, are seen below
        while len(rest) > FEW:
            half = len(rest) // 2
            sums, losses = two_sum(rest[:half], rest[half : 2 * half])
            lost += float(np.sum(losses))
            rest = np.concatenate([sums, rest[2 * half :]])
    if not math.isfinite(lost):
        return math.fsum(x.tolist()), 0.0
    # continuous.md, step 8g
    return math.fsum([*rest.tolist(), lost]), float(up(gamma(count + 64) ** 2 * size)) if count > FEW else 0.0


def split(a: Any) -> tuple[Any, Any]:
    """Veltkamp: a = high + low exactly, each with at most 26 significant bits; needs |a| < 2⁹⁹⁰."""
    c = _SPLITTER * a
    high = c - (c - a)
    return high, a - high  # proofs.md, step 5c


def two_prod(a: Any, b: ArrayLike, b_parts: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
    """Dekker: a b = p + e exactly, p = fl(a b), barring underflow; needs |a|, |b| < 2⁴⁸⁰.

    Written as separate array operations, so no compiler can contract a product and a sum into one rounding.
    `b_parts` is ``split(b)`` where it is at hand.
    """
    p = a * b
    ah, al = split(a)
    bh, bl = split(b) if b_parts is None else b_parts
    return p, al * bl - (((p - ah * bh) - al * bh) - ah * bl)  # proofs.md, step 5c


def require_round_to_nearest() -> None:
    """Refuse to prove anything while another library has switched the rounding mode, or subnormal numbers off."""
    one, half, quarter = np.float64(1.0), np.float64(2.0**-53), np.float64(2.0**-54)
    # proofs.md, step 5h
    nearest = one + half == 1.0 and one - quarter == 1.0 and -one - half == -1.0 and one + 2.0 * half > 1.0
    if not nearest:
        raise InputError(
            "floating-point rounding: the processor does not round to nearest, so no rounding bound holds; "
            "restore the default rounding mode, or pass rounding=False"
        )
    if not np.float64(2.0**-1022) * np.float64(0.5) > 0.0:
        raise InputError(
            "floating-point rounding: the processor flushes subnormal numbers to zero, so no rounding bound holds; "
            "restore the default, or pass rounding=False"
        )


def require_range(name: str, *arrays: Vector) -> None:
    """Refuse entries that are not finite or whose products leave the range of the transformations."""
    for a in arrays:
        top = max(float(np.max(a)), -float(np.min(a))) if a.size else 0.0  # NaN where any entry is
        if not top < LIMIT:
            raise InputError(
                f"{name}: entries must be finite and below 2**480 (3e144) in magnitude for rounding to be covered; "
                f"got {top!r}; rescale the system"
            )
