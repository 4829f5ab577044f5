"""The heat kernel of an interval as a sum over images, and its moments on cells.

On an axis [a, b] of length L with diffusion κ and drift β, s = v², ℓ = 2√κ v, the kernel seen from x₀ is

    g(x; v) = Σ_m w_m e^{−y²}/(√π ℓ),    y = (x − p_m + βs)/ℓ,

where p_m runs over the images of x₀: x₀ + 2mL and 2a − x₀ + 2mL, with the signs of reflections (− at a Dirichlet end,
+ at a Neumann end) times e^{β(x₀ − p_m)/2κ}, or x₀ + mL with the weight one on a periodic axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.rules import IN_SPACE, axes, gauss
from pinnpoint.rounding.arithmetic import UNIT, gamma, up

REACH = 6.5
"""Standard widths beyond which a Gaussian is cut off: erfc(6.5) = 4e-20."""
RHO = 8.0
MOST_IMAGES = 20000
SIGNS = {"dirichlet": -1.0, "neumann": 1.0}


@dataclass(frozen=True)
class Axis:
    """One axis of a box, with the condition at each end ("dirichlet", "neumann", or both "periodic")."""

    low: float
    high: float
    ends: tuple[str, str]
    kappa: float
    drift: float = 0.0

    __repr__ = brief

    @property
    def length(self) -> float:
        """Of the interval, rounded up."""
        return float(up(self.high - self.low))

    @property
    def periodic(self) -> bool:
        """Whether both ends are one."""
        return self.ends[0] == "periodic"

    @property
    def tilt(self) -> float:
        """Upper bound of e^{|β|L/2κ}, by which a drift between Dirichlet ends skews the kernel."""
        if self.drift == 0.0 or self.periodic:
            return 1.0
        return float(up(math.exp(abs(self.drift) * self.length / (2.0 * self.kappa)) * (1.0 + 1e-13)))

    @property
    def decay(self) -> float:
        """Lower bound of the rate at which the kernel's mass decays."""
        ends = self.ends.count("dirichlet")
        if not ends:
            return 0.0
        half_waves = 3.14159 / (self.length * (1.0 if ends == 2 else 2.0))
        return (self.kappa * half_waves**2 + self.drift**2 / (4.0 * self.kappa)) * (1.0 - 1e-6)  # box.md, step 4e


@dataclass(frozen=True, eq=False)
class Moments:
    """Of cells (columns) at times v² (rows): ∫ ξ^k g dx, what they may be off by, and the mass without signs."""

    values: Vector
    """(J, n, q + 1)."""
    error: Vector
    """(J, n), for every k."""
    mass: Vector
    """(J, n): upper bounds of Σ_m |w_m| ∫ over the cell."""

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Kernel:
    """The kernel of an axis, seen from x₀."""

    axis: Axis
    x0: float

    __repr__ = brief

    def images(self, reach: float) -> tuple[Vector, Vector, Vector]:
        """Positions, signs and logarithms of weights of the images within `reach` of the interval."""
        a, L = self.axis, self.axis.high - self.axis.low
        count = math.ceil(reach / L) + 2
        if count > MOST_IMAGES:
            raise InputError(
                f"end: the kernel needs {count} images of a point, because κt is so much larger than the box; ask for "
                "an earlier time, or give a reaction that lets the stationary solution decay"
            )
        m = np.arange(-count, count + 1)
        if a.periodic:
            return np.asarray(self.x0 + m * L, dtype=np.float64), np.ones(len(m)), np.zeros(len(m))  # box.md, step 2b
        below, above = (SIGNS[end] for end in a.ends)
        turned = np.where(m % 2 == 0, 1.0, below * above)
        p = np.concatenate([self.x0 + 2 * m * L, 2 * a.low - self.x0 + 2 * m * L])
        sign = np.concatenate([turned, below * turned])  # box.md, step 2a
        return p, sign, a.drift * (self.x0 - p) / (2.0 * a.kappa)  # box.md, step 2c

    def reach(self, v: Vector) -> Any:
        """How many widths ℓ count on each side, so that what is cut off weighs erfc(REACH) times the tilt."""
        return REACH + abs(self.axis.drift) * v / (2.0 * math.sqrt(self.axis.kappa))  # box.md, step 3d

    @cached_property
    def cut(self) -> float:
        """Upper bound of all that is cut off."""
        return float(up(self.axis.tilt * float(scipy.special.erfc(REACH)) * 1.001))  # box.md, step 3d

    def moments(self, cells: Vector, v: Vector, q: int) -> Moments:
        """Moments up to degree q of cells (n, 2) in ξ = (2x − lo − hi)/(hi − lo) at the times v²."""
        a, J, n = self.axis, len(v), len(cells)
        width, far = 2.0 * math.sqrt(a.kappa) * v, self.reach(v)
        p, signs, folds = self.images(float(np.max(far * width) + abs(a.drift) * np.max(v) ** 2 + (a.high - a.low)))
        centre = p - a.drift * v[:, None] ** 2  # (J, m)
        ends = (cells[None, :, None, :] - centre[:, None, :, None]) / width[:, None, None, None]
        low = np.maximum(ends[..., 0], -far[:, None, None])
        high = np.minimum(ends[..., 1], far[:, None, None])
        j, c, m = np.nonzero(high > low)
        low, high = low[j, c, m], high[j, c, m]
        pieces = np.ceil(high - low).astype(np.intp)
        row = np.repeat(np.arange(len(j)), pieces)
        place = np.arange(len(row)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        half = (high - low)[row] / (2.0 * pieces[row])
        middle = low[row] + half * (2.0 * place + 1.0)
        rule = gauss(IN_SPACE)
        y = middle[:, None] + half[:, None] * rule.nodes
        mid, hw = cells.mean(axis=1), 0.5 * (cells[:, 1] - cells[:, 0])
        jr, cr = j[row], c[row]
        fold = folds[m]  # of w_m e^{−y²}, never of w_m alone, which may be huge
        density = np.exp(fold[row][:, None] - y * y) * (rule.weights * (half / math.sqrt(math.pi))[:, None])
        xi = (centre[jr, m[row]] - mid[cr])[:, None] / hw[cr][:, None] + (width[jr] / hw[cr])[:, None] * y
        xi = np.clip(xi, -1.0, 1.0)
        at, sign = jr * n + cr, signs[m][row]
        values = np.empty((J, n, q + 1))
        term = density * sign[:, None]
        for k in range(q + 1):
            values[:, :, k] = np.bincount(at, term.sum(axis=1), J * n).reshape(J, n)  # box.md, step 3c
            term = term * xi
        mass = np.bincount(at, density.sum(axis=1), J * n).reshape(J, n)
        # what may be off: rounding of the places, the rule, the sums, and what is cut off
        blur = 8.0 * UNIT * (np.abs(cells).max() + np.abs(self.x0) + np.abs(centre).max(axis=1)[:, None])
        shifted = blur / hw + blur / width[:, None]
        long, short = (0.5 * x for x in axes(RHO))
        rules = rule.analytic(float(np.exp(short**2) * axes(RHO)[0] ** q), RHO) + rule.own
        nearest = np.maximum(np.abs(middle) - long, 0.0)  # |e^{−y²}| ≤ e^{short² − nearest²} on the ellipse
        spread = np.bincount(at, half * np.exp(fold[row] - nearest**2), J * n).reshape(J, n)  # box.md, step 3c
        border = np.maximum(np.minimum(np.abs(low), np.abs(high)) - (blur / width[:, None])[j, 0], 0.0)
        touched = np.bincount(j * n + c, np.exp(fold - border**2), J * n).reshape(J, n)
        terms = int(np.bincount(at).max(initial=0))
        relative = gamma(8 * IN_SPACE + terms + 4 * q + 32) + 16.0 * UNIT * float(np.max(far)) ** 2 + 32.0 * UNIT
        relative = relative + 8.0 * UNIT * abs(a.drift) * (abs(self.x0) + float(np.abs(p).max())) / a.kappa
        error = mass * (relative + q * blur / hw) + rules * spread + 2.0 * touched * shifted * 1.2 + self.cut
        return Moments(values, np.asarray(up(error, 32)), np.asarray(up(mass * (1.0 + relative) + error, 8)))

    def mass(self, theta: float, size: float, least: float) -> float:
        """Upper bound of Σ|w_m| ∫ |g| over the axis for complex v with |arg v| ≤ θ < π/4 and least ≤ |v| ≤ size."""
        a, cosine = self.axis, math.cos(2.0 * theta)
        spread = 1.0 / math.sqrt(cosine)  # box.md, step 4b
        if not a.drift:
            return float(up(spread * (1.0 + 1e-12)))
        exponent = a.drift**2 * size**2 * (1.0 - cosine**2) / (4.0 * a.kappa * cosine)  # box.md, step 4b
        near = math.exp(min(exponent * (1.0 + 1e-12), 700.0))
        if not a.periodic:
            apart = cosine * (a.high - a.low) ** 2 / (a.kappa * size**2)
            late = math.exp(-(a.drift**2) * least**2 * cosine / (4.0 * a.kappa) * (1.0 - 1e-12))
            near = min(near * (5.0 + 4.0 / apart), a.tilt * late)  # box.md, step 4b
        return float(up(spread * near * (1.0 + 1e-9)))

    def face(self, upper: bool, v: Vector) -> tuple[Vector, Vector]:
        """What data on a face weighs: κ|∂_n g| at a Dirichlet end, g at a Neumann end; values and error bounds (J,)."""
        a, width, far = self.axis, 2.0 * math.sqrt(self.axis.kappa) * v, self.reach(v)
        p, signs, folds = self.images(float(np.max(far * width) + abs(a.drift) * np.max(v) ** 2 + (a.high - a.low)))
        at = a.high if upper else a.low
        z = at - (p - a.drift * v[:, None] ** 2)
        y = z / width[:, None]
        felt = np.abs(y) <= far[:, None] + 2.0
        density = signs * np.exp(np.where(felt, folds - y * y, -np.inf)) / (math.sqrt(math.pi) * width[:, None])
        blur = 8.0 * UNIT * (np.abs(at) + np.abs(p) + np.abs(a.drift) * v[:, None] ** 2)
        off = 64.0 * UNIT * (1.0 + y * y) + (2.0 * np.abs(y) + 1.0) * blur / width[:, None] * 2.0
        off = off + 8.0 * UNIT * abs(a.drift) * (abs(self.x0) + np.abs(p)) / a.kappa
        beyond = a.tilt * np.exp(-((REACH + 1.0) ** 2)) / width  # box.md, step 3d
        if a.ends[int(upper)] == "neumann":
            error = (np.abs(density) * (off + gamma(len(p) + 8))).sum(axis=1) + beyond * 40.0
            return density.sum(axis=1), np.asarray(up(error, 32))  # box.md, step 2e
        slope = density * (2.0 * a.kappa * (y if upper else -y) / width[:, None])
        size = np.abs(density) * 2.0 * a.kappa / width[:, None]
        near = size * (np.abs(y) * (off + gamma(len(p) + 16)) + blur / width[:, None])
        error = near.sum(axis=1) + beyond * 400.0 * a.kappa / width
        return slope.sum(axis=1), np.asarray(up(error, 32))  # box.md, step 2d

    def face_bound(self, upper: bool, least: float, decay: float) -> float:
        """Upper bound of the weight of a face for complex v with |v| ≥ least and Re v⁻² ≥ decay."""
        a = self.axis
        if a.periodic or decay <= 0.0:
            return math.inf
        p, _, _ = Kernel(Axis(a.low, a.high, a.ends, a.kappa), self.x0).images(
            math.sqrt(4.0 * a.kappa * 750.0 / decay) + (a.high - a.low)
        )
        z = np.abs((a.high if upper else a.low) - p) * (1.0 + 1e-12)
        gauss_of = np.exp(-(np.maximum(z * (1.0 - 1e-11) - 1e-12 * np.abs(p), 0.0) ** 2) * decay / (4.0 * a.kappa))
        size = gauss_of / (math.sqrt(4.0 * math.pi * a.kappa) * least)
        if a.ends[int(upper)] == "dirichlet":
            size = size * z / (2.0 * least**2)
        turned = a.drift * (self.x0 - (a.high if upper else a.low)) / (2.0 * a.kappa)
        return float(up(size.sum() * math.exp(turned) * (1.0 + 1e-9))) + 1e-290  # box.md, step 4c
