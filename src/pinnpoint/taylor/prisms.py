"""Data on simplices times an interval of time: Legendre modes in time, each a quadratic in space, with proved errors.

On K × I, I of length τ, write f = Σ_{k<n} f_k(x) L_k(t) + f_⊥ with L_k the Legendre polynomials of I and f_⊥ orthogonal
in time to them at every x. A Taylor model of f in d + 1 coordinates, Σ C_{αj} ξ^α θ^j within e, gives
f_k = Σ_j P_kj Σ_α C_{αj} ξ^α with P_kj = (2k + 1)/2 ∫ θ^j L_k, within √(2k + 1) e, and then a quadratic and what is
left of it as on simplices; f_⊥ has a root mean square over K × I of at most Σ_j ‖C_{·j}‖₁ rms(θ^j − Σ_k P_kj L_k) + e.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, up
from pinnpoint.taylor import tables
from pinnpoint.taylor.bernstein import Density, pairs
from pinnpoint.taylor.geometry import Simplices, coordinates, path_order, to_own_order
from pinnpoint.taylor.inputs import Enclosed, model_of
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.spaces import MANY, space

CHUNK = 2048


@dataclass(frozen=True, eq=False)
class Modes:
    """A function on cells × I by its modes in time.

    Attributes
    ----------
    coefficients
        β of each mode, (modes, C, pairs).
    high
        Upper bounds of the root mean square of what a mode is beyond quadratics, (modes, C).
    error1, error2
        Upper bounds of the mean and the root mean square of what is not known of a mode, (modes, C).
    rest
        Upper bounds of the root mean square of f_⊥ over K × I, (C,).
    """

    coefficients: Vector
    high: Vector
    error1: Vector
    error2: Vector
    rest: Vector

    __repr__ = brief

    @classmethod
    def zero(cls, count: int, cells: int, m: int) -> Modes:
        """The function that vanishes."""
        high, one, two = (np.zeros((count, cells)) for _ in range(3))
        return cls(np.zeros((count, cells, len(pairs(m)))), high, one, two, np.zeros(cells))

    @classmethod
    def steady(cls, f: Density, count: int) -> Modes:
        """A function that does not depend on time."""
        made = cls.zero(count, len(f.high), {1: 0, 3: 1, 6: 2, 10: 3}[f.coefficients.shape[1]])
        made.coefficients[0], made.high[0], made.error1[0], made.error2[0] = f.coefficients, f.high, f.error1, f.error2
        return made

    def mode(self, k: int) -> Density:
        """Mode k as a density."""
        return Density(self.coefficients[k], self.high[k], self.error1[k], self.error2[k])

    def plus(self, other: Modes) -> Modes:
        """The sum of two functions."""
        beta = self.coefficients + other.coefficients
        slip = UNIT * np.abs(beta).max(axis=2, initial=0.0)
        rows = (up(a + b) for a, b in ((self.high, other.high), (self.rest, other.rest)))
        high, rest = (np.asarray(x) for x in rows)
        one, two = self.error1 + other.error1, self.error2 + other.error2
        return Modes(beta, high, np.asarray(up(one + slip, 2)), np.asarray(up(two + slip, 2)), rest)

    @property
    def top(self) -> Vector:
        """Upper bounds of |Σ_k β-part|, (C,)."""
        return np.asarray(up(np.abs(self.coefficients).max(axis=2).sum(axis=0), 8))


@cache
def legendre(count: int) -> tuple[tuple[Fraction, ...], ...]:
    """Coefficients of L_0 … in powers of θ."""
    rows = [[Fraction(1)], [Fraction(0), Fraction(1)]]
    for k in range(1, count):
        a = [Fraction(0), *rows[k]]
        b = [*rows[k - 1], Fraction(0), Fraction(0)]
        rows.append([(Fraction(2 * k + 1) * x - k * y) / (k + 1) for x, y in zip(a, b, strict=True)])
    return tuple(tuple(r) for r in rows[:count])


@cache
def time_tables(count: int, q: int) -> tuple[Vector, Vector]:
    """P_kj, (count, q + 1), and the root mean squares of θ^j − Σ_k P_kj L_k, (q + 1,), rounded up."""
    P = [
        [
            Fraction(2 * k + 1, 2) * sum((c * Fraction(2, i + j + 1) for i, c in enumerate(L) if (i + j) % 2 == 0))
            for j in range(q + 1)
        ]
        for k, L in enumerate(legendre(count))
    ]
    rest = []
    for j in range(q + 1):
        square = Fraction(1, 2 * j + 1) - sum(P[k][j] ** 2 / (2 * k + 1) for k in range(count))
        rest.append(math.sqrt(square) * (1.0 + 1e-12) if square else 0.0)
    return np.array([[float(x) for x in row] for row in P]), np.array(rest)


def modes(f: Enclosed, vertices: Vector, start: float, end: float, count: int, order: int) -> Modes:
    """Modes of a formula or of smooth data in d + 1 coordinates, the last of them time, on simplices (N, d + 1, d)."""
    N, m = len(vertices), vertices.shape[1] - 1
    made = Modes.zero(count, N, m)
    for a in range(0, N, CHUNK):
        part = slice(a, a + CHUNK)
        beta, high, error, rest = _modes(f, vertices[part], start, end, count, order)
        made.coefficients[:, part], made.high[:, part], made.rest[part] = beta, high, rest
        made.error1[:, part], made.error2[:, part] = error, error
    return made


def prism_models(f: Enclosed, V: Vector, start: float, end: float, q: int) -> tuple[TaylorModel, Index]:
    """The model of f on simplices (N, m + 1, d) times an interval, and the order of vertices it stands in."""
    m = V.shape[1] - 1
    which = path_order(V)
    X = [lifted(x, q) for x in coordinates(Simplices(V, np.zeros((len(V), V.shape[2]))), which, q)]
    model = model_of(f, [*X, clock(start, end, len(V), m, q)])
    S = space(m + 1, q)
    if model.space.size == S.size and model.C.shape[1] == len(V):
        return model, which
    C = np.zeros((S.size, len(V)))
    C[: len(model.C)] = model.C
    return TaylorModel(S, C, np.array(np.broadcast_to(model.e, len(V)))), which


def about(f: Enclosed, x0: Vector, width: float, start: float, end: float, q: int) -> TaylorModel:
    """The model of f on the box x₀ ± width times an interval, in coordinates from −1 to 1."""
    d = len(x0)
    S, X = space(d + 1, q), []
    for i in range(d):
        C = np.zeros((S.size, 1))
        C[0], C[int(np.flatnonzero((S.powers.sum(axis=1) == 1) & (S.powers[:, i] == 1))[0])] = x0[i], width
        X.append(TaylorModel(S, C, np.zeros(1)))
    model = model_of(f, [*X, clock(start, end, 1, d, q)])
    C = np.zeros((S.size, 1))
    C[: len(model.C)] = model.C
    return TaylorModel(S, C, np.array(np.broadcast_to(model.e, 1)))


def bounds(f: Enclosed, V: Vector, start: float, end: float, q: int) -> tuple[float, float]:
    """Bounds of f from below and above on simplices times an interval."""
    low, high = prism_models(f, V, start, end, q)[0].bounds
    return float(low.min()), float(high.max())


def _modes(f: Enclosed, V: Vector, start: float, end: float, count: int, q: int) -> tuple[Vector, ...]:
    m = V.shape[1] - 1
    model, which = prism_models(f, V, start, end, q)
    C, e = model.C, model.e
    by_power = split(C, m, q)
    P, rest = time_tables(count, q)
    perp = sum(rest[j] * np.abs(by_power[j]).sum(axis=0) for j in range(q + 1)) * MANY + TINY
    beta, high, blur = [], [], []
    for k in range(count):
        D = sum(P[k, j] * by_power[j] for j in range(q + 1))
        size = sum(abs(P[k, j]) * np.abs(by_power[j]) for j in range(q + 1))
        b, h, s = quadratics(D, size, which, m, q)
        beta.append(b)
        high.append(h)
        blur.append(up(s + math.sqrt(2 * k + 1) * e, 8))
    return np.stack(beta), np.stack(high), np.stack(blur), np.asarray(up(perp + e))  # slabs.md, step 2b


def quadratics(D: Vector, size: Vector, which: Index, m: int, q: int) -> tuple[Vector, Vector, Vector]:
    """β (N, pairs), the rest's root mean square and the rounding of polynomials D (M, N) that are sums of `size`."""
    if m == 0:  # simplices are points
        return D[:1].T.copy(), np.zeros(D.shape[1]), np.asarray(gamma(q + 6) * size[0] * MANY + TINY)
    T = tables.projection(m, q)
    beta = to_own_order((T @ D).T, which, m)  # taylor.md, step 6c
    blur = gamma(D.shape[0] + q + 6) * (np.abs(T).max(axis=0) @ size) * MANY + TINY
    high = np.zeros(D.shape[1])
    if q >= 3:
        tail = D[space(m, q).slices[3].start :]
        z = tables.rest(m, q) @ tail
        high = np.sqrt((z * z).sum(axis=0)) + gamma(D.shape[0] + 6) * size.sum(axis=0)  # taylor.md, step 6c
        high = np.where(tail.any(axis=0), high * MANY + TINY, 0.0)
    return beta, high, blur


def lifted(x: TaylorModel, q: int) -> TaylorModel:
    """A model in d coordinates as one in d + 1; it is linear."""
    S, d = space(x.space.d + 1, q), x.space.d
    C = np.zeros((S.size, x.C.shape[1]))
    C[: d + 1] = x.C[: d + 1]
    return TaylorModel(S, C, x.e)


def clock(start: float, end: float, number: int, d: int, q: int) -> TaylorModel:
    """The model of time on an interval, the last of d + 1 coordinates."""
    S = space(d + 1, q)
    C = np.zeros((S.size, number))
    C[0], C[d + 1] = 0.5 * (start + end), 0.5 * (end - start)
    return TaylorModel(S, C, np.full(number, gamma(8) * max(abs(start), abs(end)) + TINY))


@cache
def _places(m: int, q: int) -> tuple[tuple[Index, Index], ...]:
    """For each power of time, which monomials have it, and which monomials of the m coordinates these are."""
    whole, part = space(m + 1, q).powers, space(m, q).powers
    place = {tuple(a): i for i, a in enumerate(part.tolist())}
    found = []
    for j in range(q + 1):
        here = np.flatnonzero(whole[:, m] == j)
        found.append((here, np.array([place[tuple(a)] for a in whole[here, :m].tolist()], dtype=np.intp)))
    return tuple(found)


def split(C: Vector, m: int, q: int) -> Sequence[Vector]:
    """The polynomials in space, (M, N), that stand with each power of time."""
    parts = []
    for here, there in _places(m, q):
        D = np.zeros((space(m, q).size, C.shape[1]))
        D[there] = C[here]
        parts.append(D)
    return parts
