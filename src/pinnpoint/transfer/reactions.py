"""Reactions as `monotone` sees them: their densities, a linearisation m ≥ 0, and what that leaves over.

For the cubic, m = 3λu_h². For any other nondecreasing g, m is a number μ ≥ 0 on each cell, g′ at the middle of the
state's range there, and, with e = u − u_h,

    |q| = |g(u) − g(u_h) − μe| ≤ osc |e| + ½ sup|g″| e²,     osc = sup |g′ − μ| over the cell's range,

where sup|g″| is over the values between u and u_h. With ‖eG‖₂ ≤ A t as in `remainder`,

    |∫qG| ≤ A η (‖osc‖₂ + ½ sup|g″| C₂ η).

*Range of u.* In one dimension |e| ≤ C η. Else, where the fluxes given are zero, u ≤ M for every M ≥ 0 that is at least
the Dirichlet data and has c M + g(M) ≥ f: test with (u − M)⁺. Where all of ∂Ω is Dirichlet and M ≥ 0 bounds the data,
−∇·(κ∇u) ≤ s = (sup f − c M − g(M))⁺ where u > M, so u ≤ M + sR²/(2d min κ), R the radius of the ball with Ω's volume
(Talenti). From below, the same holds for −u and −g(−u).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import at_most, down, gamma, norm_up, sum_up, up
from pinnpoint.systems.semilinear.reaction import Reaction
from pinnpoint.taylor.bernstein import Density, from_linear, pairs
from pinnpoint.taylor.inputs import fixed
from pinnpoint.taylor.simplices import density, enclose
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.anchors import DIRICHLET
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.kernels import Kernel
from pinnpoint.transfer.norms import PI_DOWN, Norms
from pinnpoint.transfer.products import combined, square_times, square_times_linear
from pinnpoint.transfer.remainder import amplitude, remainder


class Term(Protocol):
    """A nondecreasing reaction."""

    @property
    def claim(self) -> str:
        """What makes the solution unique, in words."""
        ...

    def values(self, w: Vector) -> Density:
        """The density g(u_h) on every cell, from vertex values."""
        ...

    def size(self, w: Vector) -> Vector:
        """Upper bounds of |g(u_h)| on the cells."""
        ...

    def simple(self, values: Density, w: Vector) -> Density:
        """The density of g(u_h) with bounds that are easy to check, for its product with a kernel."""
        ...

    def on_density(self, w: Vector, given: Density) -> Density:
        """The product of m and a density, on all cells."""
        ...

    def on_state(self, w: Vector, z: Vector) -> Density:
        """The product of m and the linear function with vertex values z."""
        ...

    @property
    def at_zero(self) -> tuple[float, float]:
        """The reaction at zero and a bound of its error."""
        ...

    def rest(
        self, model: Continuum, norms: Norms, state: Vector, eta: float, kernel: Kernel | None, z: Vector, eta_z: float
    ) -> tuple[float, float]:
        """Upper bounds of ∫q⁺G and ∫q⁻G."""
        ...


@dataclass(frozen=True, eq=False)
class CubicTerm:
    """λu³ with λ ≥ 0 on each cell."""

    cubic: Vector
    claim: str = "κ, c ≥ 0 and λ ≥ 0 are constant on each cell; the reaction λu³ is monotone, so u is unique"

    def values(self, w: Vector) -> Density:
        """λu_h³."""
        return square_times_linear(w, self.cubic, w)  # continuous.md, step 10a

    def size(self, w: Vector) -> Vector:
        """λ max|u_h|³."""
        return np.asarray(up(self.cubic * np.abs(w).max(axis=1) ** 3, 8))

    def simple(self, values: Density, w: Vector) -> Density:
        """u_h³ is quadratic up to (u_h − mean)³, which is at most the range cubed."""
        return replace(values, high=np.asarray(up(self.cubic * np.ptp(w, axis=1) ** 3, 8)))

    def on_density(self, w: Vector, given: Density) -> Density:
        """3λu_h² times it."""
        near = slice(None) if given.cells is None else given.cells
        return square_times(w[near], 3.0 * self.cubic[near], given).on_all(len(w))

    def on_state(self, w: Vector, z: Vector) -> Density:
        """3λu_h² z."""
        return square_times_linear(w, 3.0 * self.cubic, z)

    @property
    def at_zero(self) -> tuple[float, float]:
        """Nothing."""
        return 0.0, 0.0

    def rest(
        self, model: Continuum, norms: Norms, state: Vector, eta: float, kernel: Kernel | None, z: Vector, eta_z: float
    ) -> tuple[float, float]:
        """See `remainder`."""
        return remainder(norms, self.cubic, state, eta, kernel, z, eta_z)


@dataclass(frozen=True, eq=False)
class ReactionTerm:
    """g, a formula whose derivative is proved to be nonnegative."""

    g: Reaction
    claim: str = "κ and c ≥ 0 are constant on each cell; g′ ≥ 0 is proved on the real line, so u is unique"

    def values(self, w: Vector) -> Density:
        """The density of g over the values of the state, in which every cell is affine."""
        m = w.shape[1] - 1
        V = np.zeros((*w.shape, max(1, m)))
        V[:, :, 0] = w
        return density(self.g.g, V)

    def size(self, w: Vector) -> Vector:
        """The supremum over the cell's range."""
        return supremum(self.g.g, _ranges(w))[0]

    def simple(self, values: Density, w: Vector) -> Density:
        """As it is."""
        return values

    def slopes(self, w: Vector) -> Vector:
        """μ: g′ at the middle of the range, and not below zero."""
        middle = 0.5 * (w.min(axis=1) + w.max(axis=1))
        return np.maximum(self.g.values("first", middle, None)[0], 0.0)  # continuous.md, step 10l

    def on_density(self, w: Vector, given: Density) -> Density:
        """μ times it."""
        return combined([(self.slopes(w), given.on_all(len(w)))])

    def on_state(self, w: Vector, z: Vector) -> Density:
        """μz."""
        blur = np.asarray(up(gamma(4) * np.abs(z).max(axis=1)))
        return combined([(self.slopes(w), Density(from_linear(z), np.zeros(len(z)), blur, blur))])

    @property
    def at_zero(self) -> tuple[float, float]:
        """Enclosed like any other value."""
        value, error = enclose(self.g.g, np.zeros((1, 1)))
        return float(value[0]), float(error[0])

    def rest(
        self, model: Continuum, norms: Norms, state: Vector, eta: float, kernel: Kernel | None, z: Vector, eta_z: float
    ) -> tuple[float, float]:
        """As in the module's text, the same from both sides."""
        w = state[model.cell_nodes]
        A = amplitude(norms, kernel, z, eta_z)
        mu = self.slopes(w)
        # continuous.md, step 10l
        off = supremum(self.g.first, _ranges(w), minus=np.repeat(mu[:, None], len(pairs(1)), axis=1))[0]
        volume = up(model.topology.volumes * (1.0 + model.anchors.slack), 4)
        spread = norm_up(up(off * up(np.sqrt(volume)), 4))
        low, high = self._range(model, norms, state, eta)
        bend = float(self.g.top(np.array([low]), np.array([high]))[0])
        both = at_most(float(up(A * eta * (spread + 0.5 * bend * norms.second * eta), 32)))  # continuous.md, step 10l
        return both, both

    def _range(self, model: Continuum, norms: Norms, state: Vector, eta: float) -> tuple[float, float]:
        low, high = float(state.min()), float(state.max())
        if model.d == 1:
            far = norms.top * eta
            return float(-up(far - low)), float(up(high + far))  # continuous.md, step 10m
        least, most = model.range
        nodes = np.unique(model.topology.facets[model.dirichlet_facets()])
        data = state[nodes] if nodes.size else np.zeros(0)
        top = self._ceiling(model, data, most, 1.0)
        bottom = self._ceiling(model, -data, -least, -1.0)
        if not (math.isfinite(top) and math.isfinite(bottom)):
            raise InputError(
                "target: the range of the solution was not bounded, which the continuous target of a general reaction "
                "needs in two and three dimensions: give Dirichlet data on the whole boundary, or let the fluxes be "
                "zero and g grow beyond the source. Or say target='discrete'"
            )
        return min(low, -bottom), max(high, top)

    def _ceiling(self, model: Continuum, data: Vector, load: float, side: float) -> float:
        """An upper bound of side · u, for the mirrored reaction −g(−u) where side is −1."""
        least = float(model.reaction.min())

        def lift(M: float) -> float:
            value, error = enclose(self.g.g, np.array([[side * M]]))
            return float(down(down(side * value[0] - error[0]) + down(least * M)))

        start = max(0.0, float(np.max(data, initial=-math.inf)))
        found = math.inf
        if all(fixed(g) == (0.0, 0.0) for _, g in model.neumann):
            tried = (float(start + step) for step in (0.0, *np.geomspace(2.0**-10, 2.0**20, 140)))
            found = next((M for M in tried if lift(M) >= load), math.inf)  # continuous.md, step 10m
        if np.all(model.kind[model.topology.facet_cells[:, 1] < 0] == DIRICHLET):
            s = max(0.0, float(up(load - lift(start))))
            size = sum_up(up(model.topology.volumes * (1.0 + model.anchors.slack))) / PI_DOWN
            square = size if model.d == 2 else (0.75 * size) ** (2.0 / 3.0)
            # continuous.md, step 10m
            found = min(found, float(up(start + s * square / (2.0 * model.d * float(model.kappa.min())), 32)))
        return found


def _ranges(w: Vector) -> Vector:
    return np.stack([w.min(axis=1), w.max(axis=1)], axis=1)[:, :, None]
