"""Integrals of formulas and smooth data against Φ, with Taylor models on patches of polar coordinates.

On a patch r ∈ [a, b], angles in a box, f is a polynomial in local coordinates in [−1, 1] plus at most e
(pinnpoint.taylor). The polynomial is integrated with the radial moments of Φ, the rest is at most e ∫|Φ| over the
patch. In 3D the model is multiplied by sin θ first. Patches are halved along their longest side. A kernel may also be a
sum of radial functions, each against its own function of place and direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from operator import itemgetter

import numpy as np

from pinnpoint.base.arrays import Index, Vector, attributes
from pinnpoint.rounding.arithmetic import TINY, UNIT, at_most, gamma, sum_up, up
from pinnpoint.taylor.functions import sincos
from pinnpoint.taylor.inputs import Enclosed, costly, fixed, model_of
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.spaces import space
from pinnpoint.transfer.points.kernels import Kernel, UniformKernel, scaled
from pinnpoint.transfer.points.line_moments import Ring, ring_moments, suits
from pinnpoint.transfer.points.rings import Radial, ends, ring
from pinnpoint.transfer.points.work import COSTLY, MODEL, Work

ORDER = {1: 12, 2: 12, 3: 9}
DECIMAL = 100
"""What a ring costs whose moments are computed in decimals, in models."""
THINNEST, SHALLOW = 6, 4
"""In two and three dimensions rings are halved this often at most; in one, moments of thinner rings are floats."""
TABLED = 6
"""Angles that are halved no more often have their sines in a table."""
CHUNK = 1024
ROUNDING = 1e5
"""Errors below this many floors may be rounding."""
SAMPLE, DEEPEST = 12, 20
"""Patches that a look ahead takes, and how deep it goes."""


Models = Sequence[TaylorModel]
Parts = Callable[[Models, Callable[[], Models]], Models]
"""For each radial function the model of what it is integrated with: from the coordinates, and from the direction."""


def enclosed(
    kernel: Kernel | UniformKernel, f: Enclosed, x0: Vector, tolerance: float, spent: Work | None = None
) -> tuple[float, float]:
    """∫_B f Φ dx and a proved bound of the error.

    The patches with the largest errors are halved until the sum is below `tolerance`, until only rounding is left, or
    until the budget's models were made or a look ahead says that these would not suffice.
    """
    known = fixed(f)
    if known is not None:
        return scaled(kernel, *known)
    return against((kernel,), lambda X, _: (model_of(f, X),), x0, tolerance, spent, dear=costly(f))


def against(
    kernels: Sequence[Radial],
    parts: Parts,
    x0: Vector,
    tolerance: float,
    spent: Work | None = None,
    *,
    dear: bool,
    each: int = 1,
) -> tuple[float, float]:
    """Σ_i ∫_B g_i Φ_i dx and a proved bound of the error, as `enclosed`.

    Parameters
    ----------
    kernels, parts
        The Φ_i, of one ball, and models of the g_i.
    dear, each
        Whether models of the data cost much, and how many a patch takes.
    """
    balls = _Balls((tuple(kernels),), parts, x0[None], each)
    return _searched(balls, [tolerance], [Work() if spent is None else spent], dear=dear)[0]


def enclosed_each(
    kernels: Sequence[Kernel | UniformKernel],
    f: Enclosed,
    X: Vector,
    tolerances: Sequence[float],
    spent: Sequence[Work],
) -> list[tuple[float, float]]:
    """`enclosed` for several kernels about the rows of X, with the models of all their patches made together."""
    known = fixed(f)
    if known is not None:
        return [scaled(kernel, *known) for kernel in kernels]
    balls = _Balls(tuple((kernel,) for kernel in kernels), lambda Y, _: (model_of(f, Y),), X)
    return _searched(balls, tolerances, spent, dear=costly(f))


Measured = tuple[Vector, Vector, Vector]
"""On each patch the integral, a bound of its error, and what that cannot fall below for rounding."""
Search = Generator[Index, Measured, tuple[float, float]]
"""Asks for patches to be measured; in the end it has the integral and a bound of its error."""


def _searched(
    balls: _Balls, tolerances: Sequence[float], spent: Sequence[Work], *, dear: bool
) -> list[tuple[float, float]]:
    """All searches at a time: what they ask for is measured together."""
    searches = [_search(balls, i, *told, dear=dear) for i, told in enumerate(zip(tolerances, spent, strict=True))]
    asked, found = {i: next(search) for i, search in enumerate(searches)}, dict[int, tuple[float, float]]()
    while asked:
        measured = balls.integrate(np.concatenate(list(asked.values())))
        ends = np.cumsum([len(places) for places in asked.values()])[:-1]
        for i, *rows in zip(list(asked), *(np.split(column, ends) for column in measured), strict=True):
            try:
                asked[i] = searches[i].send((rows[0], rows[1], rows[2]))
            except StopIteration as end:
                found[i] = end.value
                del asked[i]
    return [found[i] for i in range(len(searches))]


def _search(balls: _Balls, ball: int, tolerance: float, spent: Work, *, dear: bool) -> Search:
    """The patches with the largest errors of one ball are halved until the sum is small."""
    places = balls.first(ball)
    pool = _Pool(places, *(yield places), np.full(len(places), math.inf))
    most, mark = spent.models(costly=dear), (math.inf, len(pool))
    while (total := sum_up(pool.error)) > tolerance:
        if total <= 0.5 * mark[0] < math.inf or mark[0] == math.inf > total:
            mark = total, len(pool)
        chosen = pool.worth(tolerance)
        if not len(chosen):
            break
        stalled, needed = len(pool) > 8 * mark[1], float(balls.count[ball])
        if stalled and needed < most:
            needed += yield from _ahead(balls, pool[chosen])
        if needed >= most or balls.count[ball] >= most:
            spent.stop("the integral of the data")
            break
        mark = (mark[0], len(pool)) if stalled else mark
        chosen = chosen[-max(1, (most - int(balls.count[ball])) // 2) :]
        rest = np.ones(len(pool), dtype=bool)
        rest[chosen] = False
        places = balls.halved(pool.places[chosen])
        halves = _Pool(places, *(yield places), np.tile(0.5 * pool.error[chosen], 2))
        pool = pool[np.flatnonzero(rest)].joined(halves)
    value = math.fsum(pool.value)  # continuous.md, step 8g
    spent.spend(int(balls.count[ball]) * (COSTLY if dear else MODEL))
    return value, at_most(float(up(sum_up(pool.error) + UNIT * abs(value) + TINY)))


def _ahead(balls: _Balls, pool: _Pool) -> Generator[Index, Measured, float]:
    """How many patches it will roughly take until the models of these get better than a constant.

    Some of the worst are halved again and again, and only one half of each is looked at.
    """
    some = pool[np.unique(np.linspace(0, len(pool) - 1, SAMPLE).astype(np.intp))]
    places, share = some.places, some.error
    for level in range(1, DEEPEST):
        both = balls.halved(places)
        places = both[: len(places)] if level % 2 else both[len(places) :]
        share = 0.5 * share
        _, error, _ = yield places
        if int(np.count_nonzero(error < 0.1 * share)) > len(share) // 2:
            return len(pool) * 2.0**level
    return math.inf


@dataclass(frozen=True, eq=False)
class _Pool:
    """Patches with their integrals, bounds of the errors, what these cannot fall below, and half the parent's error."""

    places: Index
    value: Vector
    error: Vector
    floor: Vector
    before: Vector

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, chosen: Index) -> _Pool:
        return _Pool(*(a[chosen] for a in attributes(self, *self.__dataclass_fields__).values()))

    def joined(self, other: _Pool) -> _Pool:
        """Both lists in one."""
        both = (attributes(pool, *self.__dataclass_fields__).values() for pool in (self, other))
        return _Pool(*map(np.concatenate, zip(*both, strict=True)))

    def worth(self, tolerance: float) -> Index:
        """Patches to halve, by increasing error: all but the smallest, and those that only rounding is left of.

        Truncation falls by 2^q with each halving; what falls less and is small is rounding.
        """
        order = np.argsort(self.error, kind="stable")
        large = order[np.searchsorted(np.cumsum(self.error[order]), 0.5 * tolerance, side="right") :]
        e, floor = self.error[large], self.floor[large]
        stuck = (e <= floor) | ((e > 0.3 * self.before[large]) & (e < ROUNDING * floor))
        return np.asarray(large[~stuck])


@dataclass(eq=False)
class _Balls:
    """Balls about the rows of `centres`, each with its kernels.

    Patches are rows (level, place) of each coordinate, the place-th of 2^level parts of the coordinate's range, and the
    number of the ball.
    """

    kernels: tuple[tuple[Radial, ...], ...]
    parts: Parts
    centres: Vector
    each: int = 1
    rings: dict[tuple[int, int, int, int], Ring] = field(default_factory=dict)
    count: Index = field(init=False)
    """Models made so far, by ball."""

    def __post_init__(self) -> None:
        self.count = np.zeros(len(self.kernels), dtype=np.intp)
        self.radii = np.array([own[0].radius for own in self.kernels])

    @property
    def d(self) -> int:
        """Dimension."""
        return self.kernels[0][0].d

    def first(self, ball: int) -> Index:
        """The coarsest patches; in 1D the second coordinate is the side."""
        d = self.d
        if d == 1:
            return np.array([[0, 0, 1, 0, ball], [0, 0, 1, 1, ball]])
        levels = (2,) if d == 2 else (1, 2)
        grid = np.meshgrid(*(np.arange(2**n) for n in levels), indexing="ij")
        columns = [np.zeros(grid[0].size, dtype=np.intp)] * 2
        for n, places in zip(levels, grid, strict=True):
            columns += [np.full(places.size, n), places.ravel()]
        return np.stack([*columns, np.full(grid[0].size, ball)], axis=1).astype(np.intp)

    def halved(self, patches: Index) -> Index:
        """Both halves across the longest side."""
        d = self.d
        radial = self.radii[patches[:, -1]] * 0.5 ** patches[:, 0]
        sides = [radial]
        outer = radial * (patches[:, 1] + 1)
        for i in range(1, d):
            span = 2.0 * np.pi if i == d - 1 else np.pi
            sides.append(outer * span * 0.5 ** patches[:, 2 * i])
        if d == 3:  # a circle of latitude is shorter
            width = np.pi * 0.5 ** patches[:, 2]
            middle = (patches[:, 3] + 0.5) * width
            sides[2] = sides[2] * np.minimum(np.sin(middle) + 0.5 * width, 1.0)
        if d > 1:
            sides[0] = np.where(patches[:, 0] < THINNEST, sides[0], 0.0)
        axis = np.argmax(np.stack(sides), axis=0)
        rows = np.arange(len(patches))
        parts = []
        for side in (0, 1):
            new = patches.copy()
            new[rows, 2 * axis] += 1
            new[rows, 2 * axis + 1] = 2 * patches[rows, 2 * axis + 1] + side
            parts.append(new)
        return np.concatenate(parts)

    def integrate(self, patches: Index) -> Measured:
        """What is known of each patch."""
        self.count += self.each * np.bincount(patches[:, -1], minlength=len(self.count))
        parts = [self._chunk(patches[i : i + CHUNK]) for i in range(0, len(patches), CHUNK)]
        a, b, c = (np.concatenate(x) for x in zip(*parts, strict=True))
        return a, b, c

    def _chunk(self, patches: Index) -> Measured:
        models = self.parts(self._coordinates(patches), lambda: self._directions(patches))
        found = [self._against(i, model, patches) for i, model in enumerate(models)]
        value, error, floor = (np.asarray(sum(x[1:], start=x[0])) for x in zip(*found, strict=True))
        if len(found) > 1:
            with np.errstate(invalid="ignore"):
                rounding = gamma(len(found)) * sum(np.abs(part[0]) for part in found)
                error = np.nan_to_num(up(error + rounding, 2 * len(found)), nan=np.inf, posinf=np.inf)
        return value, error, floor

    def _against(self, i: int, model: TaylorModel, patches: Index) -> Measured:
        """The same for one radial function."""
        d = self.d
        S = space(d, ORDER[d])
        if d == 3:
            model = model * _turns(self.d, 1, patches)[0]
        C = np.broadcast_to(model.C, (S.size, len(patches))) if model.space.size == S.size else None
        if C is None:
            C = np.zeros((S.size, len(patches)))
            C[0] = model.C[0]
        e = np.broadcast_to(model.e, len(patches))
        rows = self._rings_of(i, patches)
        radial, radial_error = (np.array([row[j] for row in rows]).T for j in (0, 1))
        size = np.array([row[2] for row in rows])
        powers = S.powers
        weight = np.ones((S.size, len(patches)))
        measure = np.ones(len(patches))
        for j in range(1, d):
            half = (2.0 if j == d - 1 else 1.0) * np.pi * 0.5 ** (patches[:, 2 * j] + 1)
            measure = measure * (2.0 * half)
            p = powers[:, j]
            weight = weight * np.where(p % 2 == 0, 2.0 / (p + 1.0), 0.0)[:, None] * half
        if d == 1:
            weight = np.ones((S.size, len(patches)))
        terms = C * radial[powers[:, 0]] * weight  # continuous.md, step 8b
        bulk = np.abs(terms).sum(axis=0)
        wrong = (np.abs(C) * radial_error[powers[:, 0]] * weight).sum(axis=0)
        with np.errstate(invalid="ignore"):
            error = up(e * size * measure + wrong + gamma(S.size + 12) * bulk, 3 * S.size)  # continuous.md, step 8b
        return (
            terms.sum(axis=0),
            np.where(np.isnan(error), np.inf, error),
            64.0 * UNIT * (bulk + size * measure * np.abs(C[0])),
        )

    def _rings_of(self, i: int, patches: Index) -> list[Ring]:
        """The radial moments of the i-th kernels that belong to each patch."""
        order = ORDER[self.d]
        keys = [(ball, i, level, place) for level, place, ball in patches[:, [0, 1, -1]].tolist()]
        missing = sorted(set(keys) - self.rings.keys())
        for ball, found in groupby(missing, key=itemgetter(0)):
            kernel, new = self.kernels[ball][i], list(found)
            short = [key for key in new if key[2] > SHALLOW]
            if short and suits(kernel):
                a, b = ends(kernel.radius, *np.array(short).T[2:])
                self.rings.update(zip(short, ring_moments(kernel, a, b, order), strict=True))
            for key in new:
                if key not in self.rings:
                    self.rings[key] = ring(kernel, key[2], key[3], order)
                    self.count[ball] += DECIMAL
        return [self.rings[key] for key in keys]

    def _coordinates(self, patches: Index) -> list[TaylorModel]:
        d = self.d
        r = self._radius(patches)
        x = [constant(v) for v in self.centres[patches[:, -1]].T]
        if d == 1:
            side = constant(1.0 - 2.0 * patches[:, 3])
            return [x[0] + r * side]
        s, c = _turns(d, d - 1, patches)
        if d == 2:
            return [x[0] + r * c, x[1] + r * s]
        high, wide = _turns(self.d, 1, patches)
        flat = r * high
        return [x[0] + flat * c, x[1] + flat * s, x[2] + r * wide]

    def _directions(self, patches: Index) -> list[TaylorModel]:
        """Models of (x − x₀)/r."""
        if self.d == 1:
            return [constant(1.0 - 2.0 * patches[:, 3])]
        s, c = _turns(self.d, self.d - 1, patches)
        if self.d == 2:
            return [c, s]
        high, wide = _turns(self.d, 1, patches)
        return [high * c, high * s, wide]

    def _radius(self, patches: Index) -> TaylorModel:
        """Model of r = (a + b)/2 + (b − a)/2 ξ with the ends of the moments, or these before they are rounded.

        Rounded ends move the centre by at most uR and the half by as much; uR and uR/2 more is rounded here.
        """
        R = self.radii[patches[:, -1]]
        a, b = ends(R, patches[:, 0], patches[:, 1])
        return _line(self.d, 0, 0.5 * (a + b), 0.5 * (b - a), 4.0 * UNIT * R)  # continuous.md, step 8b


def _turns(d: int, i: int, patches: Index) -> tuple[TaylorModel, TaylorModel]:
    """Sine and cosine of the i-th coordinate."""
    levels, places = patches[:, 2 * i], patches[:, 2 * i + 1]
    if levels.max() > TABLED:
        return sincos(_angle(d, i, levels, places))
    own = (1 << levels) + places
    s, c = (TaylorModel(m.space, m.C[:, own], m.e[own], m.least, m.most) for m in _turned(d, i))
    return s, c


@cache
def _turned(d: int, i: int) -> tuple[TaylorModel, TaylorModel]:
    """Sine and cosine on all parts of the i-th coordinate's range that are not small: 2^level + place counts them."""
    levels = np.maximum(np.frexp(np.arange(2.0 * 2**TABLED))[1] - 1, 0).astype(np.intp)
    return sincos(_angle(d, i, levels, np.maximum(np.arange(len(levels)) - (1 << levels), 0)))


def _angle(d: int, i: int, levels: Index, places: Index) -> TaylorModel:
    """θ = centre + half ξ_i; π enters with its error."""
    span = (2.0 if i == d - 1 else 1.0) * np.pi
    half = 0.5 * span * 0.5 ** levels.astype(np.float64)
    return _line(d, i, (2.0 * places + 1.0) * half, half, 4.0 * UNIT * span)


def _line(d: int, i: int, centre: Vector, half: Vector, error: float | Vector) -> TaylorModel:
    S = space(d, ORDER[d])
    C = np.zeros((S.size, len(centre)))
    C[0] = centre
    C[int(np.flatnonzero((S.degree == 1) & (S.powers[:, i] == 1))[0])] = half
    return TaylorModel(S, C, np.array(np.broadcast_to(error, len(centre))))
