"""Means over parts of a curved domain, as densities on the straight cells that are bent onto it.

With the map Φ of docs/curved.md the mean of u over Φ(G) is ∫_G û w with w = det J / ∫_G det J, and over a curved part
of the boundary that of |cof(J)n̂|: Taylor models of these, and their integrals, which are enclosed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import UNIT, down, gamma, sum_up, up
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.simplices import density

FINE = 1e-13
"""Remainders of det J and |cof(J)n̂| that are asked for."""
DEPTH = 1
"""How often cells are cut for them: what is left is mostly the curve's distance from its polynomial."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """How much larger cells and boundary facets are in the domain than in the mesh.

    Attributes
    ----------
    bent
        Whether the map is not the identity on a cell, (C,).
    volume, area
        The functions det J, and |cof(J)n̂| on boundary facets.
    """

    bent: Mask
    volume: Any
    area: Any

    __repr__ = brief

    def over(self, V: Vector, size: Vector, slack: Vector, cells: Index, what: Any) -> tuple[Density, float]:
        """The function over its integral on simplices with vertices V of these cells, and its relative error.

        Parameters
        ----------
        size, slack
            Measures of the simplices, and bounds of their relative errors.
        cells
            The cell of each.
        what
            `volume` or `area`.
        """
        m, bent = V.shape[1] - 1, np.flatnonzero(self.bent[cells])
        one = Density.constant(np.ones(len(V)), m)
        beta, high = one.coefficients.copy(), one.high.copy()
        e1, e2 = one.error1.copy(), one.error2.copy()
        if bent.size:
            w = density(what, V[bent], tolerance=FINE, depth=DEPTH)
            beta[bent], high[bent], e1[bent], e2[bent] = w.coefficients, w.high, w.error1, w.error2
        top = np.abs(beta).max(axis=1)
        total = math.fsum((size * beta.mean(axis=1)).tolist())
        off = sum_up(up(size * (e1 + (slack + gamma(40)) * top), 8))
        least = float(down(total - off, 2))
        wrong = float(up(off / least + gamma(8), 2)) if least > 0.0 else math.inf  # curved.md, step 1d
        blur = up(2.0 * UNIT * top / total, 4)
        e1, e2 = up(e1 / total + blur, 8), up(e2 / total + blur, 8)
        return Density(beta / total, np.asarray(up(high / total, 2)), np.asarray(e1), np.asarray(e2)), wrong
