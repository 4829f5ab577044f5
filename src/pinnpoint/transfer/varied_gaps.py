"""What rounding in Dirichlet data changes of a flux, where coefficients vary.

g_D − g_h is the trace of D = Σ δ_i φ_i over the nodes of Γ_D (`gaps`). The flux of what it moves is B(D, z) with
z = z_h + ε, ε ∈ V, and

    |B(D, z)| ≤ Σ_K |K| ( |A| |∇D| |∇z_h| + |b| |∇D| |z_h| + |c| |D| |z_h| )
                + ‖ε‖ { (Σ_K |K| |A| |∇D|²)^½ + P (Σ_K |K| (|b| |∇D| + |c| |D|)²)^½ },      ‖v‖₂ ≤ P‖v‖ on V,

with suprema over the cells.
"""

from __future__ import annotations

import math

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import at_most, sum_up, up
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.estimator import CHUNK
from pinnpoint.transfer.geometry import Shapes
from pinnpoint.transfer.medium import Medium, Piece, mean_square


def varied_flux_change(model: Continuum, medium: Medium, mismatch: float, dual: Vector, error: float) -> float:
    """Upper bound of |B(D, z)| for |δ_i| ≤ `mismatch` and ‖ε‖ ≤ `error`."""
    held = np.zeros(model.size)
    held[np.unique(model.nodes_of(model.topology.facets[model.dirichlet_facets()]))] = mismatch
    own, z = held[model.cell_nodes].max(axis=1), dual[model.cell_nodes]
    slope = _steepness(model)
    d, volume = model.d, up(model.anchors.volume * (1.0 + 4.0 * model.anchors.slack), 4)
    # |v_h| ≤ 3 max and |∂v_h| ≤ 6d spread · steep, as in gaps
    rise, top = math.sqrt(d) * 2.0 * own * slope, 3.0 * own
    dual_rise, dual_top = math.sqrt(d) * np.ptp(z, axis=1) * slope, 3.0 * np.abs(z).max(axis=1)
    A = np.max([np.sum([_size(p) for p in row], axis=0) for row in medium.diffusion], axis=0)
    b = 0.0 if medium.convection is None else np.sqrt(np.sum([_size(p) ** 2 for p in medium.convection], axis=0))
    lower = b * rise + _size(medium.reaction) * top
    first = sum_up(up(volume * (A * rise * dual_rise + lower * dual_top), 32))
    square = mean_square(model.anchors)
    roots = [math.sqrt(sum_up(up(volume * v, 32))) for v in (A * rise**2, lower**2)]
    rest = roots[0] + (math.sqrt(square) * roots[1] if roots[1] else 0.0)
    return at_most(float(up(first + error * rest * model.growth, 32)))  # varying.md, step 5b


def _size(piece: Piece) -> Vector:
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
