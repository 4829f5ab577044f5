"""Intervals of derived quantities, by interval arithmetic over the intervals of their components.

Each is a function of the components, and the interval holds its values on the whole box of their intervals. So it holds
the true one as surely as the components' intervals hold together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.verdicts import answers
from pinnpoint.rounding.arithmetic import down, gamma, up
from pinnpoint.systems.derived import MAGNITUDE, PRINCIPAL, VON_MISES, Derived
from pinnpoint.systems.limits import Limit

SLACK = gamma(96)
"""Of sums of at most 36 products of three factors, each known up to a few roundings, against those of their sizes."""
COUNTS = {MAGNITUDE: (2, 3), VON_MISES: (3, 6), PRINCIPAL: (3, 6)}
"""How many components each kind has, in the plane and in space."""


@dataclass(frozen=True)
class DerivedInterval:
    """[lower, upper] holds the derived quantity; `value` is that of the prediction.

    Attributes
    ----------
    guarantee
        The weakest of the components'.
    verdicts
        As a certificate's, of what was asked.
    """

    name: str
    kind: str
    of: tuple[str, ...]
    value: float
    lower: float
    upper: float
    guarantee: str
    accept: float | None = None
    verdicts: Mapping[str, str] | None = None
    limit: Limit | None = None

    __repr__ = brief

    @property
    def center(self) -> float:
        """The middle; the prediction's value where the interval is unbounded."""
        return 0.5 * self.lower + 0.5 * self.upper if math.isfinite(self.upper - self.lower) else self.value

    @property
    def radius(self) -> float:
        """So that center ± radius holds the interval."""
        half = max(self.upper - self.center, self.center - self.lower)
        return float(up(half, 2)) if math.isfinite(half) else math.inf

    def contains(self, x: float) -> bool:
        """Whether the interval holds a number."""
        return bool(self.lower <= x <= self.upper)


def derive(
    asked: Sequence[Derived],
    names: Sequence[str],
    ends: tuple[Vector, Vector],
    prediction: Vector,
    guarantees: Sequence[str],
) -> tuple[DerivedInterval, ...]:
    """The intervals of derived quantities from those of all queries."""
    place = {name: i for i, name in enumerate(names)}
    found = []
    for one in asked:
        missing = [name for name in one.of if name not in place]
        if missing or len(one.of) not in COUNTS.get(one.kind, ()):
            what = f"needs '{missing[0]}'" if missing else f"cannot be made of {len(one.of)} components"
            raise InputError(f"query '{one.name}': {what}, which is not among the queries")
        at = [place[name] for name in one.of]
        low, high = enclosed(one, ends[0][at], ends[1][at])
        if one.along is not None and one.toward is not None:
            if one.along not in place:
                raise InputError(f"query '{one.name}': needs '{one.along}', which is not among the queries")
            at = [*at, place[one.along]]
            found_along = along_range(one, ends[0][at], ends[1][at])
            low, high = max(low, found_along[0]), min(high, found_along[1])
            low, high = (low, high) if low <= high else (0.0, math.inf)
        value = plainly(one, prediction[at[: len(one.of)]])
        worst = max((guarantees[i] for i in at), key=("deterministic", "probabilistic", "estimate").index)
        found.append(_judged(one, value, (low, high), worst))
    return tuple(found)


def _judged(one: Derived, value: float, ends: tuple[float, float], guarantee: str) -> DerivedInterval:
    accept, limit = (None if x is None else np.array([x]) for x in (one.accept, one.limit))
    bounds = np.array([ends[0]]), np.array([ends[1]])
    verdicts = answers(np.array([value]), bounds, accept, limit, proved=guarantee != "estimate")[0]
    return DerivedInterval(one.name, one.kind, one.of, value, *ends, guarantee, one.accept, verdicts, one.limit)


def enclosed(one: Derived, lower: Vector, upper: Vector) -> tuple[float, float]:
    """Bounds of a derived quantity over the box lower ≤ x ≤ upper."""
    if not (np.all(np.isfinite(lower)) and np.all(np.isfinite(upper))):
        return (-math.inf if one.kind == PRINCIPAL else 0.0), math.inf
    with np.errstate(over="ignore", invalid="ignore"):
        if one.kind == PRINCIPAL:
            low, high = principal_range(lower, upper, one.order)
        else:
            low, high = norm_range(form(one), lower, upper)
    return (low, high) if low <= high else ((-math.inf if one.kind == PRINCIPAL else 0.0), math.inf)


def form(one: Derived) -> Vector:
    """B of the seminorm √(xᵀBx), as far as floats have it."""
    n = len(one.of)
    if one.kind == MAGNITUDE:
        return np.eye(n)
    if n == 6:  # xx, xy, xz, yy, yz, zz
        B = np.diag([1.0, 3.0, 3.0, 1.0, 3.0, 1.0])
        for i, j in ((0, 3), (0, 5), (3, 5)):
            B[i, j] = B[j, i] = -0.5
        return B
    nu = 0.0 if one.poisson is None else one.poisson
    own, mixed = 1.0 - nu + nu * nu, -(0.5 + nu - nu * nu)
    return np.array([[own, 0.0, mixed], [0.0, 3.0, 0.0], [mixed, 0.0, own]])


def norm_range(B: Vector, lower: Vector, upper: Vector) -> tuple[float, float]:
    """Bounds of p(x) = √(xᵀBx) over a box, for B ⪰ 0 with entries of a few roundings.

    p is convex, so that its maximum is at a vertex. By Cauchy and Schwarz p(x) p(c) ≥ cᵀBx for every c, and at the
    middle c of the box cᵀBx ≥ cᵀBc − Σ |Bc|_i r_i.
    """
    vertices = np.array(list(product(*zip(lower.tolist(), upper.tolist(), strict=True))))
    size = np.abs(vertices) @ np.abs(B)
    largest = np.einsum("vi,ij,vj->v", vertices, B, vertices) + SLACK * np.einsum("vi,vi->v", size, np.abs(vertices))
    top = float(up(largest.max(), 2))
    if not math.isfinite(top):
        return 0.0, math.inf
    high = float(up(math.sqrt(max(0.0, top)), 2))  # elasticity.md, step 11a
    c = 0.5 * lower + 0.5 * upper
    r = up(np.maximum(upper - c, c - lower), 2)
    g, mass = B @ c, np.abs(B) @ np.abs(c)
    square = float(up(float(c @ g) + SLACK * float(np.abs(c) @ mass), 2))
    least = float(c @ g) - float(np.abs(g) @ r) - up(SLACK * float((np.abs(c) + r) @ mass), 8)
    if not (least > 0.0 and square > 0.0):
        return 0.0, high
    return max(0.0, float(down(float(down(least)) / up(math.sqrt(square), 2)))), high  # elasticity.md, step 11b


def magnitudes(lower: Vector, upper: Vector) -> tuple[Vector, Vector]:
    """Bounds of √Σx² over boxes lower ≤ x ≤ upper, (S, n) each: at their nearest and their farthest points."""
    near = np.maximum(0.0, np.maximum(lower, -upper))
    far = np.maximum(np.abs(lower), np.abs(upper))
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = (np.sqrt((x * x).sum(axis=1)) for x in (near, far))
    # elasticity.md, step 11a
    return np.maximum(0.0, down(low, 8)), np.asarray(up(high, 8))


def along_range(one: Derived, lower: Vector, upper: Vector) -> tuple[float, float]:
    """Bounds of p(x) = √(xᵀBx) over a box in which ℓᵀx, ℓ = By, has an interval of its own, the last one.

    With q² = yᵀBy, (ℓᵀx)² ≤ q² p(x)², and p(x)² = (ℓᵀx)²/q² + p_⊥(x)², p_⊥² = xᵀ(B − ℓℓᵀ/q²)x ≥ 0, largest at a vertex.
    """
    assert one.toward is not None
    B, y = form(one), np.array(one.toward)
    if not np.all(np.isfinite([*lower, *upper])):
        return 0.0, math.inf
    g = B @ y
    square = float(y @ g)
    if one.poisson is not None or not square > 0.0 or not exactly(B, y):
        return 0.0, math.inf
    a, b = float(lower[-1]), float(upper[-1])
    least = max(0.0, a, -b)
    low = float(down(float(down(least, 2)) / up(math.sqrt(square), 2), 2))  # elasticity.md, step 11d
    vertices = np.array(list(product(*zip(lower[:-1].tolist(), upper[:-1].tolist(), strict=True))))
    size = (
        np.einsum("vi,ij,vj->v", np.abs(vertices), np.abs(B), np.abs(vertices))
        + (np.abs(vertices) @ np.abs(g)) ** 2 / square
    )
    across = np.einsum("vi,ij,vj->v", vertices, B, vertices) - (vertices @ g) ** 2 / square
    rest = max(0.0, float(up(np.max(across + SLACK * size), 2)))
    top = max(a * a, b * b)
    return max(0.0, low), float(up(math.sqrt(up(up(top, 2) / down(square, 2), 2) + rest), 4))  # elasticity.md, step 11d


def exactly(B: Vector, y: Vector) -> bool:
    """Whether By and yᵀBy are exact in floats, so that the query along them is what it is said to be."""
    exact = [sum(Fraction(b) * Fraction(v) for b, v in zip(row, y.tolist(), strict=True)) for row in B.tolist()]
    square = sum(v * Fraction(x) for v, x in zip(exact, y.tolist(), strict=True))
    return [Fraction(v) for v in (B @ y).tolist()] == exact and Fraction(float(y @ (B @ y))) == square


def principal_range(lower: Vector, upper: Vector, order: int) -> tuple[float, float]:
    """Bounds of an eigenvalue over a box of symmetric matrices, by Weyl's inequality around its middle.

    With R ≥ |x − c| entry by entry, |λ_k(x) − λ_k(c)| ≤ ‖R‖₂. For the computed V and D of c = VDVᵀ, Ostrowski and Weyl
    give |λ_k(c) − D_k| ≤ ‖VᵀV − I‖ ‖c‖ + ‖VᵀcV − D‖.
    """
    c = 0.5 * lower + 0.5 * upper
    A, R = tensor(c), tensor(up(np.maximum(upper - c, c - lower), 2))
    wide = min(float(up(np.sqrt(np.sum(R * R)), 16)), float(up(R.sum(axis=1).max(), 8)))
    D, V = np.linalg.eigh(A)
    whole = float(up(np.sqrt(np.sum(A * A)), 16))
    turned = np.abs(V).T @ np.abs(A) @ np.abs(V)
    off = np.abs(V.T @ A @ V - np.diag(D)) + SLACK * (turned + np.diag(np.abs(D)))
    skew = np.abs(V.T @ V - np.eye(len(A))) + SLACK * (np.abs(V).T @ np.abs(V) + np.eye(len(A)))
    slack = up(np.sqrt(np.sum(off * off)), 16) + up(np.sqrt(np.sum(skew * skew)), 16) * whole
    k = len(A) - order
    radius = float(up(wide + slack, 8))  # elasticity.md, step 11c
    return math.nextafter(float(D[k]) - radius, -math.inf), math.nextafter(float(D[k]) + radius, math.inf)


def tensor(x: Vector) -> Vector:
    """The symmetric matrix of xx, xy, yy or xx, xy, xz, yy, yz, zz."""
    d = 2 if len(x) == 3 else 3
    A: Any = np.zeros((d, d))
    i, j = np.triu_indices(d)
    A[i, j] = A[j, i] = x
    return np.asarray(A, dtype=np.float64)


def plainly(one: Derived, x: Vector) -> float:
    """The quantity of given components, in plain floats."""
    if one.kind == PRINCIPAL:
        return float(np.linalg.eigvalsh(tensor(x))[-one.order])
    return math.sqrt(max(0.0, float(x @ form(one) @ x)))
