"""Corrected values: u at any number of points from one state and one number, with no dual problem for any of them.

With w and Φ of a ball about x (`transfer.points.kernels`), u(x) = ∫w u + ∫fΦ. So U(x) = ∫w u_h + ∫fΦ is computable, and

    |u(x) − U(x)| ≤ ‖w‖₂ ‖u − u_h‖₂.

In a box where u vanishes on the boundary, κ is one number and c = 0, balls may leave it: u and f are continued oddly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import UNIT, at_most, down, gamma, sum_up, up
from pinnpoint.systems.queries import Point
from pinnpoint.taylor.bernstein import Density, gram
from pinnpoint.transfer.continuum import Continuum, bernstein
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.everywhere.balls import PI_UP
from pinnpoint.transfer.everywhere.boxes import box_sides, rim_height
from pinnpoint.transfer.everywhere.l2 import MeanError, l2_error
from pinnpoint.transfer.everywhere.setting import Setting
from pinnpoint.transfer.goals import functional
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.mollifier import density as mollified
from pinnpoint.transfer.points.potentials import NEAR, potential

FINE = 0.005
"""Share of the radius that integration may have."""
TINY_RIM = 0.01
"""Values on the boundary that cost more than this share of ‖u − u_h‖₂ are no zeros."""
BATCH = 24
"""Images whose potentials are enclosed at once."""
SQUARES = {1: 8.0 / 15.0, 2: 1.0 / 3.0, 3: 8.0 / 35.0}
"""Means of (1 − s)² over a ball."""


@dataclass(frozen=True, eq=False)
class Corrected:
    """Values of the PDE's own solution at points.

    Attributes
    ----------
    points
        (N, d).
    values
        U(x).
    radii
        |u(x) − U(x)| is at most this.
    mean_error
        The bound of ‖u − u_h‖₂ that all of them rest on.
    proved
        False where an ingredient is an estimate.
    """

    points: Vector
    values: Vector
    radii: Vector
    mean_error: float
    proved: bool

    __repr__ = brief

    @property
    def radius(self) -> float:
        """One number for all points."""
        return float(np.max(self.radii, initial=0.0))


def corrected(
    setting: Setting, X: Vector, mismatch: tuple[float, bool] = (0.0, True), *, thorough: bool = True
) -> Corrected:
    """U at points inside the domain.

    Parameters
    ----------
    X
        (N, d).
    mismatch
        A bound of |g_D − u_h| on Γ_D, and whether it is proved.
    thorough
        Whether the mesh constant may cost whatever it takes.
    """
    error = l2_error(setting, thorough=thorough)
    if not math.isfinite(error.value):
        raise InputError(f"corrected: no bound of the error in the mean: {error.reason}; ask for points instead")
    box = Mirrors.of(setting, error)
    sure = setting.proved and mismatch[1]
    if box is not None:
        values, radii = box.values(X)
        return Corrected(X, values, np.asarray(up(radii + mismatch[0])), error.value, sure)
    found = [_plain(setting, error, x) for x in X]
    values, radii = np.array([v for v, _, _ in found]), np.array([r for _, r, _ in found])
    return Corrected(X, values, np.asarray(up(radii + mismatch[0])), error.value, sure and all(p for *_, p in found))


def _plain(setting: Setting, error: MeanError, x: Vector) -> tuple[float, float, bool]:
    """With the largest ball about x in which the coefficients are constant."""
    model = setting.model
    J = functional(model, Point(tuple(x.tolist())), f"point {x.tolist()}", lambda group: np.zeros(0, dtype=np.intp))
    if J.known:
        return J.constant, J.error, J.proved
    if J.source is None or J.kernel is None:
        raise InputError(f"corrected: no ball around {x.tolist()} stays where the coefficients are constant")
    value, off = paired(setting, J.source)
    total = value + J.constant  # band.md, step 3a
    radius = norm_of(J.kernel) * error.value + off + J.error + 4.0 * UNIT * (abs(value) + abs(J.constant))
    return total, at_most(float(up(radius, 16))), J.proved


def norm_of(kernel: Kernel) -> float:
    """‖w‖₂, rounded up, for k = 1."""
    d, R = kernel.d, kernel.radius
    if kernel.k != 1:
        raise InputError(f"kernel: k must be 1; got {kernel.k}")
    volume = {1: 2.0 * R, 2: PI_UP * R * R, 3: 4.0 / 3.0 * PI_UP * R**3}[d]
    return float(up((kernel.peak + kernel.peak_error) * math.sqrt(volume * SQUARES[d]), 32))  # band.md, step 3b


def paired(setting: Setting, w: Density) -> tuple[float, float]:
    """∫w u_h, and a bound of its error."""
    model = setting.model
    which = slice(None) if w.cells is None else w.cells
    nodal = setting.side.nodal[model.cell_nodes[which]]
    u = bernstein(nodal, model.d, model.degree)
    slip = gamma(16) * np.abs(nodal).max(axis=1, initial=0.0)
    zero = np.zeros(len(u))
    return _integral(model, w, Density(u, zero, zero, zero), slip)


def _integral(model: Continuum, w: Density, f: Density, slip: Vector | float = 0.0) -> tuple[float, float]:
    """∫w f over the cells of w, f with rows for these cells, whose coefficients are true to `slip`."""
    which = slice(None) if w.cells is None else w.cells
    volume, slack = model.topology.volumes[which], model.anchors.slack[which]
    a, b = w.coefficients, f.coefficients
    each = np.einsum("np,pq,nq->n", a, gram(model.d), b, optimize=True) * volume
    top_a, top_b = np.abs(a).max(axis=1, initial=0.0), np.abs(b).max(axis=1, initial=0.0) + slip
    wrong = (2.0 * slack + gamma(80)) * top_a * top_b + top_a * slip  # band.md, step 3c
    wrong = wrong + w.high * f.high + w.error1 * top_b + w.error2 * f.high
    wrong = wrong + f.error2 * (top_a + w.high + w.error2)
    total = math.fsum(each.tolist())
    return total, at_most(float(up(sum_up(up(wrong * volume * (1.0 + slack), 16)) + UNIT * abs(total))))


@dataclass(frozen=True, eq=False)
class Mirrors:
    """A box in which u vanishes on the boundary, and one kernel for all points.

    Attributes
    ----------
    radius
        ‖w‖₂ ‖u − u_h‖₂, one number for all points.
    low, high
        Corners of the box.
    """

    setting: Setting
    kernel: Kernel
    radius: float
    low: Vector
    high: Vector

    __repr__ = brief

    @classmethod
    def of(cls, setting: Setting, error: MeanError) -> Mirrors | None:
        """None where the hypotheses are not met."""
        model = setting.model
        sides = box_sides(model)
        even = np.all(model.kappa == model.kappa[0]) and not np.any(model.reaction)
        rim = rim_height(model, setting.side.nodal)
        low, high = model.points.min(axis=0), model.points.max(axis=0)
        lost = up(rim * math.sqrt(float(np.prod(up(high - low)))), 8)  # band.md, step 3f
        if sides is None or not (np.all(sides == DIRICHLET) and even) or lost > TINY_RIM * error.value:
            return None
        kernel = Kernel.build(model.d, float(model.kappa[0]), 0.0, float(down(0.5 * np.min(high - low))), 1)
        return cls(setting, kernel, float(up(norm_of(kernel) * (error.value + lost) + rim)), low, high)

    def values(self, X: Vector) -> tuple[Vector, Vector]:
        """U and radii at points."""
        outside = ~(np.all(X >= self.low, axis=1) & np.all(X <= self.high, axis=1))
        if outside.any():
            raise InputError(f"corrected: the point {X[int(np.argmax(outside))].tolist()} lies outside the domain")
        found = [(i, sign, centre) for i, x in enumerate(X) for sign, centre in self._images(x)]
        centres = np.array([centre for _, _, centre in found])
        data = [part for a in range(0, len(found), BATCH) for part in self._data(centres[a : a + BATCH])]
        parts: list[list[float]] = [[] for _ in X]
        off = np.zeros(len(X))
        for (i, sign, centre), (value, missed) in zip(found, data, strict=True):
            mean, wrong = self._mean(centre)
            parts[i] += [sign * mean, sign * value]  # band.md, step 3d
            off[i] = up(off[i] + wrong + missed)
        size = np.array([sum(abs(p) for p in each) for each in parts])
        radii = up(self.radius + off + self._moved(X) + 4.0 * UNIT * size, 16)
        return np.array([math.fsum(each) for each in parts]), np.asarray(radii)

    @cached_property
    def heights(self) -> tuple[float, float]:
        """Sizes of u_h and of f."""
        source = self.setting.side.source
        f = float(np.max(np.abs(source.coefficients).max(axis=1) + source.high + source.error2))
        return float(np.abs(self.setting.side.nodal).max()), f

    @cached_property
    def inner(self) -> float:
        """r₀ of the small ball that stands for the point in Φ: its share of the radius is small."""
        f = self.heights[1]
        core = math.sqrt(8.0 * self.kernel.kappa * FINE * self.radius / f) if f > 0.0 else math.inf
        return min(NEAR.get(self.kernel.d, 1.0) * self.setting.model.spacing, core)

    def _mean(self, centre: Vector) -> tuple[float, float]:
        """∫w u_h over the box, w about an image, and a bound of its error."""
        model = self.setting.model
        target = FINE * self.radius / (2.0**model.d * max(self.heights[0], 1e-300))
        return paired(
            self.setting, mollified(self.kernel, model.points, model.topology.cells, centre, target, covered=False)
        )

    def _data(self, centres: Vector) -> Iterator[tuple[float, float]]:
        """∫fΦ over the box and bounds of its error, Φ about images; cells are moved, so that one formula serves all."""
        model, kernel, source = self.setting.model, self.kernel, self.setting.side.source
        T, d = model.topology, model.d
        P = model.points[T.cells]
        low, high = P.min(axis=1), P.max(axis=1)
        gaps = np.maximum(np.maximum(low[None] - centres[:, None], centres[:, None] - high[None]), 0.0)
        which, cell = np.nonzero((gaps**2).sum(axis=2) <= (kernel.radius * (1.0 + 1e-9)) ** 2)
        V = P[cell] - centres[which][:, None]
        factor = {1: kernel.radius, 2: 1.0 / (4.0 * math.pi), 3: 1.0 / (4.0 * math.pi * kernel.radius)}[
            d
        ] / kernel.kappa
        mass = factor * float(np.sum(T.volumes * np.abs(source.coefficients).max(axis=1)))
        tolerance = 2.0 * FINE * self.radius / (2.0**d * max(mass, 1e-300))
        rows = np.arange(V.shape[0] * (d + 1)).reshape(-1, d + 1)
        phi = potential(
            kernel,
            V.reshape(-1, d),
            rows,
            model.anchors.volume[cell],
            np.zeros(d),
            tolerance,
            self.inner / NEAR.get(d, 1.0),
        )
        assert phi.cells is not None
        which, cell = which[phi.cells], cell[phi.cells]
        for i in range(len(centres)):
            mine = which == i
            here = cell[mine]
            w = Density(phi.coefficients[mine], phi.high[mine], phi.error1[mine], phi.error2[mine], here)
            f = Density(source.coefficients[here], source.high[here], source.error1[here], source.error2[here])
            yield _integral(model, w, f)

    def _moved(self, X: Vector) -> Vector:
        """What the rounding of images' centres, and of cells moved to them, may do."""
        d, R, (u, f) = self.kernel.d, self.kernel.radius, self.heights
        away = 16.0 * UNIT * np.abs(np.concatenate([X, [self.low, self.high]])).max()
        steep = {1: 1.0, 2: 1.0 / self.inner, 3: 1.0 / self.inner**2}[d] * (2.0 * R) ** d  # more than sup|∇Φ| |B|
        return np.full(len(X), 2.0**d * away * (15.0 * u / R + steep * f / self.kernel.kappa))  # band.md, step 3e

    def _images(self, x: Vector) -> Iterator[tuple[float, Vector]]:
        """Signs and centres of the balls that meet the box: x, and its images in the faces within R."""
        R = self.kernel.radius * (1.0 + 1e-12)
        places = [
            [(1.0, t)] + [(-1.0, 2.0 * end - t) for end in (a, b) if abs(t - end) < R]
            for t, a, b in zip(x.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        ]
        for chosen in product(*places):
            centre = np.array([t for _, t in chosen])
            gap = np.maximum(np.maximum(self.low - centre, centre - self.high), 0.0)
            if float(np.sqrt((gap**2).sum())) < R:
                yield math.prod(s for s, _ in chosen), centre
