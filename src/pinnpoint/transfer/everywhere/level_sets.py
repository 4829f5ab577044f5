"""Level sets: |u − u_h| ≤ T everywhere, from norms of δ and ϱ alone, for any state, any flux and any κ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import at_most, down, sum_up, up
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.everywhere.bounds import CellBounds
from pinnpoint.transfer.everywhere.constants import POWERS, density_constant, flux_constant
from pinnpoint.transfer.everywhere.mirrors import mirrors, unmet
from pinnpoint.transfer.everywhere.setting import CellNorms, Setting

ROUTE = "level sets"


@dataclass(frozen=True)
class LevelSets:
    """The bound and what it is made of.

    Attributes
    ----------
    density, flux
        The two terms.
    power
        The exponent p of the second.
    mirrors
        How many planes hold the Neumann part.
    """

    density: float
    flux: float
    power: float
    mirrors: int = 0

    __repr__ = brief

    @property
    def total(self) -> float:
        """Their sum."""
        return at_most(float(up(self.density + self.flux)))


def level_sets(setting: Setting) -> Sequence[CellBounds]:
    """One number for all cells, of |u − ũ|; none where Neumann facets do not lie in mirrors.

    *Guarantee:* |u − ũ| is at most this at every point, u with the Dirichlet values of ũ. *Assumes:* nothing flows in
    through Neumann facets. *Cost:* one pass over the cells.
    """
    planes, out = mirrors(setting.model), setting.model.outflow
    if setting.model.gluing is not None:  # robin.md, step 7d
        return []
    if planes is None or (out is not None and not float(out.floor.min()) >= 0.0):  # everywhere.md, step 2i
        return []
    field, divergence, sure = unmet(setting.model, setting.side.flux, setting.side.nodal)
    found = talenti(setting.model, with_field(setting.norms, field, divergence), planes, setting.carried)
    numbers = {"power": found.power, "density": found.density, "flux": found.flux, "mirrors": planes}
    bounds = np.full(len(setting.model.kappa), found.total)
    return [CellBounds(ROUTE, bounds, setting.proved and sure, numbers)]


def with_field(norms: CellNorms, field: Vector, divergence: Vector) -> CellNorms:
    """The norms after a field that is bounded on each cell, with a bounded divergence, was added."""
    if not (field.any() or divergence.any()):
        return norms
    peak = np.asarray(up(norms.peak + field))
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.stack(
            [up(((norms.means[k - 1] ** (0.5 / k) * norms.peak + field) / peak) ** (2 * k), 128) for k in (1, 2, 3)]
        )
    means = np.where(field > 0.0, np.minimum(1.0, np.nan_to_num(means, nan=1.0)), norms.means)
    density = np.asarray(up(norms.density + divergence * np.sqrt(norms.volume), 8))
    return replace(norms, peak=peak, means=means, density=density)


def talenti(model: Continuum, norms: CellNorms, planes: int = 0, more: float = 0.0) -> LevelSets:
    """The bound of the theorem for these norms, with the best exponent; `more` is added to ‖ϱ‖₂."""
    n, copies = model.d, 2.0**planes
    volume = sum_up(norms.volume) * copies  # everywhere.md, step 3a
    low = float(down(model.kappa.min(), 1))
    rho = float(up(math.sqrt(copies * sum_up(up(norms.density**2))), 8))
    rho = float(up(rho + math.sqrt(copies) * more, 4)) if more else rho  # everywhere.md, step 2h
    density = float(up(density_constant(n, volume) * rho / low, 8))  # everywhere.md, step 1f
    size = lengths(norms, copies)
    each = {p: flux_constant(n, p, volume) * interpolated(size, p) for p in POWERS[n]}  # everywhere.md, step 1g
    best = min(each, key=lambda p: each[p])
    return LevelSets(density, float(up(each[best] / down(math.sqrt(low), 2), 16)), best, planes)


def lengths(norms: CellNorms, copies: float = 1.0) -> dict[float, float]:
    """Upper bounds of ‖κ^{-½}δ‖_p for p = 2, 4, 6, ∞."""
    top = float(np.max(norms.peak, initial=0.0))
    found = {math.inf: top}
    share = norms.peak / top if top > 0.0 else np.zeros_like(norms.peak)
    for k in (1, 2, 3):
        total = copies * sum_up(up(norms.volume * share ** (2 * k) * norms.means[k - 1], 64))
        found[2.0 * k] = float(up(top * total ** (0.5 / k), 64))  # everywhere.md, step 2d
    return found


def interpolated(size: dict[float, float], p: float) -> float:
    """‖·‖_p from its neighbours among the known exponents: ‖·‖_a^{1−θ}‖·‖_b^θ with 1/p = (1−θ)/a + θ/b."""
    if p in size:
        return size[p]
    a, b = max(q for q in size if q < p), min(q for q in size if q > p)
    theta = (1.0 / a - 1.0 / p) / (1.0 / a - 1.0 / b)
    low, high = size[a], size[b]
    return float(up(low * (high / low) ** theta, 128)) if low > 0.0 else 0.0  # everywhere.md, step 2f
