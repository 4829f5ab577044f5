"""Loads with a fixed flux for each: everything about them that no diffusion coefficient changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import gamma, norm_up, sum_up, up
from pinnpoint.taylor.bernstein import Density
from pinnpoint.transfer.boundary.facets import FacetLoad, measures
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.estimator import PI_DOWN, Side
from pinnpoint.transfer.energy.geometry import Shapes

SEEN = 1e-10
"""Oscillations below this share of the flux are not worth a number on each cell."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """Numbers of the mesh that rounding bounds need.

    Attributes
    ----------
    area
        |K| as computed, (C,).
    gradients
        ∇λ_i as computed, (C, 3, 2), of the sorted cells.
    spread
        ∫_K |x − x̄|² as computed, (C,).
    slack
        Relative error of areas and spreads, and of ∇λ_i against `steep`.
    steep
        Γ: where |v| ≤ 1 at the vertices, the L² norm of the computed ∇v is wrong by at most (γ + slack) times this.
    """

    area: Vector
    gradients: Vector
    spread: Vector
    slack: float
    steep: float

    __repr__ = brief

    @classmethod
    def of(cls, points: Vector, cells: Index) -> Geometry:
        """Of triangles or tetrahedra."""
        shapes = Shapes.of(points, cells)
        V, d = shapes.vertices, shapes.d
        squares = np.zeros(V.shape[2])
        for i in range(d + 1):
            for j in range(i):
                squares += ((V[i] - V[j]) ** 2).sum(axis=0)
        # operators.md, step 1b: Σ|v_i − x̄|² is the sum of squared edges over d + 1
        spread = shapes.volume * squares / ((d + 1) ** 2 * (d + 2))
        slack = float(shapes.slack.max()) + gamma(32)
        # operators.md, step 5a
        steep = (
            (d + 1.0) * math.sqrt(d) * norm_up(np.asarray(up(np.sqrt(shapes.volume * (1.0 + slack)) * shapes.steep, 8)))
        )
        gradients = np.ascontiguousarray(np.moveaxis(shapes.gradients, -1, 0))
        return cls(shapes.volume, gradients, spread, float(up(slack, 2)), float(up(steep, 8)))


@dataclass(frozen=True, eq=False)
class Particular:
    """A load ∫ w v + ∫_N g v with a flux σ₀ in H(div) for it, ∇·σ₀ = −w but for what is counted here.

    Attributes
    ----------
    flux, divergence
        σ₀ = flux + (divergence/d)(x − x̄) on each cell, (C, d) and (C,), as stored.
    slip
        Upper bound of the L² norm of what is wrong with that.
    size
        Upper bound of the L² norm of `flux`.
    rough
        Upper bounds of h_K/π ‖w + ∇·σ₀ − mean‖_K, with the same of Neumann data, (C,): over √κ they bound what the flux
        leaves of the load against w ∈ V. None where `means` has all of it.
    means
        The same for means, and for `rough` where that is None: over √(min κ).
    facets
        σ₀ by its facets, |F| σ₀·n, (F,).
    row
        ∫ w φ_i + ∫_N g φ_i, (N,), as computed.
    row_size, row_error
        Σ|row|, and a bound of |∫ w v + ∫_N g v − row·v| / max|v|.
    proved
        False where an ingredient is an estimate.
    """

    flux: Vector
    divergence: Vector
    slip: float
    size: float
    rough: Vector | None
    means: float
    facets: Vector
    row: Vector
    row_size: float
    row_error: float
    proved: bool

    __repr__ = brief


def particulars(
    model: Continuum, states: Vector, loads: Sequence[tuple[Density, FacetLoad | None]], geometry: Geometry
) -> list[Particular]:
    """Fluxes around the reference's states, and all that is known of them; `model` has κ = 1 and no reaction."""
    found = []
    fluxes = model.fluxes(states, [w for w, _ in loads], [g for _, g in loads])
    for k, (w, g) in enumerate(loads):
        found.append(_particular(model, Side(states[k], w, fluxes[..., k], g), geometry))
    return found


def _particular(model: Continuum, side: Side, geometry: Geometry) -> Particular:
    T, d = model.topology, model.d
    shapes = Shapes.of(model.points, T.cells)
    bounds, _ = model.estimator.measure(side, [])
    s = model.estimator.outward(side.flux, slice(0, len(T.cells)))[:, 0]
    V = shapes.vertices
    scale = 1.0 / (d * shapes.volume)
    flux = np.zeros((d, len(T.cells)))
    for i in range(d + 1):  # operators.md, step 1b: x̄ − v_i is a sum of edges
        flux += s[i] * sum(V[j] - V[i] for j in range(d + 1) if j != i) * (scale / (d + 1))
    divergence = s.sum(axis=0) / shapes.volume
    heavy = np.abs(s).sum(axis=0)
    wrong = 4.0 * (shapes.slack + gamma(32)) * heavy * shapes.diameter / shapes.volume
    slip = norm_up(np.asarray(up(np.sqrt(shapes.volume * (1.0 + geometry.slack)) * wrong, 16)))  # operators.md, step 5b
    lengths = np.sqrt((flux * flux).sum(axis=0) * shapes.volume * (1.0 + geometry.slack))
    size = norm_up(np.asarray(up(lengths, 16)))
    rough = np.asarray(up(shapes.diameter / PI_DOWN * bounds.oscillation + bounds.facet, 8))  # operators.md, step 1c
    total, means = norm_up(rough), bounds.means
    kept: Vector | None = rough
    if total <= SEEN * size:
        kept, means = None, float(up(means + total))
    row = model.vector(side.source, side.load)
    return Particular(
        np.ascontiguousarray(flux.T),
        divergence,
        slip,
        size,
        kept,
        means,
        side.flux[:, 0].copy(),
        row,
        sum_up(np.abs(row)),
        _row_error(model, side, geometry),
        side.source.proved and (side.load is None or side.load.density.proved),
    )


def _row_error(model: Continuum, side: Side, geometry: Geometry) -> float:
    """What rounding and errors of the load do to ∫ w v, where |v| ≤ 1."""
    w, g = side.source, side.load
    which = slice(None) if w.cells is None else w.cells
    degree = int(np.bincount(model.topology.cells.ravel()).max())
    loose = geometry.slack + gamma(80 + degree)
    area = geometry.area[which] * (1.0 + geometry.slack)
    total = sum_up(np.asarray(up(area * (loose * np.abs(w.coefficients).max(axis=1) + w.error1), 8)))
    if g is not None:
        length, slack = measures(model.points[g.vertices])
        top = np.abs(g.density.coefficients).max(axis=1)
        off = length * (1.0 + slack) * ((slack + loose) * top + g.density.error1)
        total = float(up(total + sum_up(np.asarray(up(off, 8)))))
    return total  # operators.md, step 5d
