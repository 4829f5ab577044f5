"""What Dirichlet data that the elements do not meet changes, where coefficients vary.

Of values and averages, where c ≥ −Q: the difference of two solutions is w = w₀ + v with (B + Q)(w₀, ·) = 0 and
B(v, ·) = Q(w₀, ·) on V, so that |w₀| ≤ M and J(w) = J(w₀) + Q(w₀, z). Of fluxes, where rounding is all there is:

g_D − g_h is the trace of D = Σ δ_i φ_i over the nodes of Γ_D (`gaps`). The flux of what it moves is B(D, z) with
z = z_h + ε, ε ∈ V, and

    |B(D, z)| ≤ Σ_K |K| ( |A| |∇D| |∇z_h| + |b| |∇D| |z_h| + |c| |D| |z_h| )
                + ‖ε‖ { (Σ_K |K| |A| |∇D|²)^½ + P (Σ_K |K| (|b| |∇D| + |c| |D|)²)^½ },      ‖v‖₂ ≤ P‖v‖ on V,

with suprema over the cells; Robin facets add (∫αD²)^½ ((∫αz_h²)^½ + ‖ε‖).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import at_most, gamma, sum_up, up
from pinnpoint.taylor.bernstein import Density, gram
from pinnpoint.transfer.boundary.facets import measures
from pinnpoint.transfer.continuum import Continuum, bernstein
from pinnpoint.transfer.energy.estimator import CHUNK
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.everywhere.constants import density_constant
from pinnpoint.transfer.goals import Functional
from pinnpoint.transfer.line.one_dimension import reach
from pinnpoint.transfer.media.medium import Medium, Piece, mean_square


def varied_change(
    model: Continuum, medium: Medium, J: Functional, mismatch: float, dual: Vector, error: float
) -> float:
    """Upper bound of |J(w)| for data within `mismatch`, c somewhere negative, and ‖ε‖ ≤ `error` but for `growth`."""
    volume = np.asarray(up(model.topology.volumes * (1.0 + model.anchors.slack), 4))
    lack, length, own = -medium.least_reaction, math.sqrt(mean_square(model.anchors)), 0.0
    if J.source is not None:  # ∫|w| + ∫|g|
        near = slice(None) if J.source.cells is None else J.source.cells
        own += sum_up(up(mean_size(J.source, model.d) * volume[near], 8))
    if J.load is not None:
        area, slack = measures(model.points[J.load.vertices])
        own += sum_up(up(mean_size(J.load.density, model.d - 1) * area * (1.0 + slack), 8))
    heavy = sum_up(up(state_size(model, dual) * volume, 8))
    whole = math.sqrt(sum_up(volume)) * length * error * model.growth
    return at_most(float(up(mismatch * (own + lack * (heavy + whole)), 32)))  # varying.md, step 5c


def varied_point_change(model: Continuum, medium: Medium, goal: Any, mismatch: float) -> float:
    """The same of a value on a line, |w(x)| ≤ M + C_pt‖v‖ with ‖v‖ ≤ (1 − τ)⁻¹ P Q |Ω|^½ M."""
    lack, length = -medium.least_reaction, math.sqrt(mean_square(model.anchors))
    volume = math.sqrt(sum_up(up(model.topology.volumes * (1.0 + model.anchors.slack), 4)))
    far = float(reach(model, np.array([goal.at[0]]))[0])
    grown = far * model.growth**2 * length * lack * volume
    return at_most(float(up(mismatch * (1.0 + grown), 32)))  # varying.md, step 5c


def spread(model: Continuum, medium: Medium, planes: int) -> float:
    """How many times their size data of the boundary may change the solution anywhere."""
    lack, copies = max(0.0, -medium.least_reaction, -medium.least_transposed), 2.0**planes
    volume = sum_up(up(model.topology.volumes * (1.0 + model.anchors.slack), 4))
    own = lack * math.sqrt(volume) * (1.0 + lack * mean_square(model.anchors) * model.growth**2)
    constant = density_constant(model.d, copies * volume) * math.sqrt(copies) / float(model.kappa.min())
    return at_most(float(up(1.0 + constant * own, 32)))  # varying.md, step 5d


def varied_flux_change(
    model: Continuum, medium: Medium, mismatch: float, dual: Vector, error: float, square: float | None = None
) -> float:
    """Upper bound of |B(D, z)| for |δ_i| ≤ `mismatch`, ‖ε‖ ≤ `error` and ‖ε‖₂² ≤ `square` ‖ε‖², by default P²."""
    held = np.zeros(model.size)
    held[np.unique(model.nodes_of(model.topology.facets[model.dirichlet_facets()]))] = mismatch
    own, z, on = held[model.cell_nodes].max(axis=1), dual[model.cell_nodes], model.exchange
    slope = _steepness(model)
    d, volume = model.d, up(model.anchors.volume * (1.0 + 4.0 * model.anchors.slack), 4)
    # |v_h| ≤ 3 max and |∂v_h| ≤ 6d spread · steep, as in gaps
    rise, top = math.sqrt(d) * 2.0 * own * slope, 3.0 * own
    dual_rise, dual_top = math.sqrt(d) * np.ptp(z, axis=1) * slope, 3.0 * np.abs(z).max(axis=1)
    A = np.max([np.sum([size_on(p) for p in row], axis=0) for row in medium.diffusion], axis=0)
    b = 0.0 if medium.convection is None else np.sqrt(np.sum([size_on(p) ** 2 for p in medium.convection], axis=0))
    lower = b * rise + size_on(medium.reaction) * top
    first = sum_up(up(volume * (A * rise * dual_rise + lower * dual_top), 32))
    sides = [0.0 if on is None else math.sqrt(sum_up(on.energy(model.points, v))) for v in (held, dual)]
    first = float(up(first + up(sides[0] * sides[1])))  # of Robin facets, ∫αDz_h
    square = mean_square(model.anchors) if square is None else square
    roots = [math.sqrt(sum_up(up(volume * v, 32))) for v in (A * rise**2, lower**2)]
    rest = roots[0] + (math.sqrt(square) * roots[1] if roots[1] else 0.0) + sides[0]
    return at_most(float(up(first + error * rest * model.growth, 32)))  # varying.md, step 5b


def mean_size(what: Density, m: int) -> Vector:
    """Upper bounds of the mean of |w| on each simplex."""
    b = what.coefficients
    square = np.einsum("ni,ij,nj->n", b, gram(m), b) if m else b[:, 0] ** 2
    size = np.abs(b).max(axis=1, initial=0.0)
    return np.asarray(up(np.sqrt(np.maximum(square, 0.0) + gamma(64) * size**2 + what.high**2) + what.error2, 16))


def state_size(model: Continuum, nodal: Vector) -> Vector:
    """Upper bounds of the mean of |v_h| on each cell."""
    w = nodal[model.cell_nodes]
    blur = np.asarray(up(gamma(16) * np.abs(w).max(axis=1)))
    return mean_size(Density(bernstein(w, model.d, model.degree), np.zeros(len(w)), blur, blur), model.d)


def size_on(piece: Piece) -> Vector:
    """Upper bounds of |coefficient| on each cell."""
    return np.asarray(up(np.abs(piece.C).sum(axis=0) + piece.e, 64))


def _steepness(model: Continuum) -> Vector:
    """6d max |∇λ_i| on each cell, with its rounding."""
    found = np.empty(len(model.kappa))
    for start in range(0, len(found), CHUNK):
        part = slice(start, start + CHUNK)
        shapes = Shapes.of(model.points, model.topology.cells[part])
        found[part] = up(6.0 * model.d * shapes.steep * (1.0 + shapes.slack), 8)
    return found
