"""States that are polynomials in time on every slab, by their Legendre modes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.systems.evolution.grid import TimeGrid


@dataclass(frozen=True, eq=False)
class Motion:
    """A function of finite elements in space that is linear or quadratic in time on every slab.

    It *is* what the stored modes say; between slabs it may jump by the rounding of these.

    Parameters
    ----------
    grid
        The slabs.
    levels
        States at the grid's levels, (levels, n).
    """

    grid: TimeGrid
    levels: Vector

    __repr__ = brief

    def modes(self, slab: int, count: int) -> tuple[Vector, Vector]:
        """Modes of the function and of its derivative in time on a slab, (count, n) each."""
        m = self.grid.per_slab
        return slab_modes(self.levels[slab * m : (slab + 1) * m + 1], float(self.grid.lengths[slab]), count)

    def jump(self, volume: float) -> float:
        """Upper bound of ‖[u_h]‖ at any node, in a domain of this volume."""
        top = float(np.abs(self.levels).max(initial=0.0))
        return float(up(4.0 * gamma(24) * top * np.sqrt(volume), 8))  # slabs.md, step 2a

    def top(self) -> float:
        """Upper bound of |u_h|: quadratics are at most three times their values at the nodes, in time and in space."""
        return float(up(np.abs(self.levels).max(initial=0.0) * (1.0 if self.grid.per_slab == 1 else 9.0)))


def slab_modes(U: Vector, tau: float, count: int) -> tuple[Vector, Vector]:
    """Modes from two or three levels of a slab of length τ, and of the derivative, within γ₁₆ of its terms."""
    found, rate = np.zeros((count, U.shape[1])), np.zeros((count, U.shape[1]))
    found[1] = 0.5 * (U[-1] - U[0])
    if len(U) == 2:
        found[0] = 0.5 * (U[0] + U[1])
    else:  # slabs.md, step 2a
        bend = 0.5 * (U[0] + U[2]) - U[1]
        found[0], found[2] = U[1] + bend / 3.0, bend * (2.0 / 3.0)
        rate[1] = found[2] * (6.0 / tau)
    rate[0] = found[1] * (2.0 / tau)
    return found, rate
