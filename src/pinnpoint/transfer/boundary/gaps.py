"""Fluxes where the elements meet the Dirichlet data but for rounding.

Let the data g be, on every facet of Γ_D, a polynomial of the elements' degree: a number, a formula of that degree, in
one dimension anything. Then g − u_h on Γ_D is the trace of D = Σ_i δ_i φ_i with |δ_i| ≤ m = max |g − u_h|, a sum over
the nodes of Γ_D. The solution with data g differs from the one with u_h's data by a w with a(w, v) = 0 for all v that
vanish on Γ_D, and w − D is such a v. With z the dual solution of a flux, a(v, z) = 0 for such v, the flux changes by

    a(w, z) = a(D, z) ≤ ‖D‖_a ‖z‖_a ≤ ‖D‖_a ‖z_h‖_a,

as z has the least energy among all states with its boundary values, such as z_h. Both energies are bounded roughly,
which is enough for rounding: where node values differ by at most r on a cell and are at most t, derivatives are at most
6 d r S by component, S the largest sum of absolute products behind a derivative of a barycentric coordinate, and values
at most 3 t.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.formulas.expressions import Expression
from pinnpoint.rounding.arithmetic import at_most, sum_up, up
from pinnpoint.taylor.inputs import Data
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.estimator import CHUNK
from pinnpoint.transfer.energy.geometry import Shapes

Graded = tuple[float, float | None]
"""The degree of a part of a formula, and the value of a plain number."""
RESERVE = 4.0
"""How many times what is found of rounding may be found by another program, with bounds of energies of its own."""
GRAIN = 2e-14
"""To what share of the data another program proves that it is met at the ends of a line."""


def is_met(model: Continuum) -> bool:
    """Whether the elements have the Dirichlet data among their traces, so that only rounding is between them."""
    return model.d == 1 or all(polynomial_degree(given) <= model.degree for _, given in model.dirichlet)


def reserved(model: Continuum, mismatch: float, state: Vector) -> float:
    """The mismatch of data met but for rounding, with a reserve: it may be all there is of a radius."""
    held = np.unique(model.nodes_of(model.topology.facets[model.dirichlet_facets()]))
    grain = GRAIN * float(np.abs(state[held]).max(initial=0.0)) if model.d == 1 else 0.0
    return float(up(RESERVE * max(mismatch, grain), 4))


def flux_change(model: Continuum, mismatch: float, dual: Vector) -> float:
    """Upper bound of ‖D‖_a ‖z_h‖_a for |δ_i| ≤ `mismatch`."""
    # continuous.md, step 7b
    return at_most(up(extension_energy(model, mismatch) * state_energy(model, dual), 4))


def extension_energy(model: Continuum, mismatch: float) -> float:
    """Upper bound of ‖D‖_a for |δ_i| ≤ `mismatch`, with |c| for c."""
    held = np.zeros(model.size)
    held[np.unique(model.nodes_of(model.topology.facets[model.dirichlet_facets()]))] = mismatch
    own = held[model.cell_nodes].max(axis=1)
    return _with_exchange(model, _energy(model, 2.0 * own, own), held)


def state_energy(model: Continuum, nodal: Vector) -> float:
    """Upper bound of ‖z_h‖_a, with |c| for c."""
    z = nodal[model.cell_nodes]
    return _with_exchange(model, _energy(model, np.ptp(z, axis=1), np.abs(z).max(axis=1)), nodal)


def _with_exchange(model: Continuum, energy: float, nodal: Vector) -> float:
    """With what Robin facets add to ‖v‖_a."""
    if model.exchange is None:
        return energy
    return at_most(up(math.hypot(energy, math.sqrt(sum_up(model.exchange.energy(model.points, nodal)))), 8))


def _energy(model: Continuum, spread: Vector, top: Vector) -> float:
    """Upper bound of ‖v‖_a for node values on each cell that differ by at most `spread` and are at most `top`."""
    d, squares = model.d, np.zeros(len(spread))
    for start in range(0, len(spread), CHUNK):
        part = slice(start, start + CHUNK)
        if not (np.any(spread[part]) or np.any(top[part])):
            continue
        shapes = Shapes.of(model.points, model.topology.cells[part])
        slope = 6.0 * d * spread[part] * shapes.steep * (1.0 + shapes.slack)
        # continuous.md, step 7b
        each = model.kappa[part] * d * slope**2 + np.abs(model.reaction[part]) * (3.0 * top[part]) ** 2
        squares[part] = up(each * shapes.volume * (1.0 + shapes.slack), 32)
    return at_most(up(math.sqrt(sum_up(squares)), 4))


def polynomial_degree(given: Data) -> float:
    """The degree of a number or a formula as a polynomial; infinite for what is none by its form."""
    if not callable(given):
        return 0
    if not isinstance(given, Expression):
        return math.inf
    return given.fold(lambda kind, what: (0.0, float(what)) if kind == "number" else (1.0, None), _composed)[0]


def _composed(kind: str, what: Any, operands: list[Graded]) -> Graded:
    if kind == "negate":
        return operands[0][0], None
    if kind == "operator":
        return _of_operator(str(what), operands[0][0], operands[1]), None
    return math.inf if any(degree for degree, _ in operands) else 0, None


def _of_operator(what: str, a: float, b: tuple[float, float | None]) -> float:
    degree, value = b
    if what in "+-":
        return max(a, degree)
    if what == "*":
        return a + degree
    if degree:
        return math.inf
    if what == "/":
        return a
    power = value if value is not None and value >= 0.0 and value == int(value) else math.inf
    return a * power if a else 0
