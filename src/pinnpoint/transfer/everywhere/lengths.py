"""The prediction's error in the mean and in the energy norm: the distance of two states, and a bound of one's error."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.extremes import Found
from pinnpoint.rounding.arithmetic import at_most, down, gamma, norm_up, sum_up, up
from pinnpoint.taylor.bernstein import pairs
from pinnpoint.taylor.simplices import density
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.boundary.gaps import extension_energy, is_met
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.energy.cells import COUNT, State, mean_product
from pinnpoint.transfer.energy.estimator import CHUNK
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.energy.products import LOOSE, multiplied, projected
from pinnpoint.transfer.everywhere.l2 import SPARE, l2_error, second_constant
from pinnpoint.transfer.everywhere.setting import Setting
from pinnpoint.transfer.media.medium import Medium
from pinnpoint.transfer.media.varied_gaps import size_on
from pinnpoint.transfer.spectrum.indefinite import Indefinite
from pinnpoint.transfer.spectrum.separation import first_eigenvalue
from pinnpoint.transfer.stretch import DEPTH, FINE

ROUNDING = 1e-12
"""Of the distance of two states, left to other programs' roundings."""


def mean_length(setting: Setting, mismatch: tuple[float, bool], given: Vector | None, name: str) -> Found:
    """An interval of ‖u − v‖₂ for a prediction v by its values at the nodes; None for v = 0."""
    model = setting.model
    error = l2_error(setting)
    stretch = _stretched(model)
    extent = up(math.sqrt(sum_up(up(stretch * model.topology.volumes * (1.0 + model.anchors.slack), 4))))
    missed = float(up(mismatch[0] * extent)) if mismatch[0] else 0.0
    if not math.isfinite(missed):
        raise InputError(
            f"query '{name}': beside a reaction below zero and these boundary conditions the error in the mean needs "
            f"Dirichlet data that the elements meet exactly, such as numbers; it differs by up to {mismatch[0]:.3g}"
        )
    apart = distance(setting, given, energy=False)
    if setting.lengths is not None:
        own = math.sqrt(float(stretch.max())) * setting.lengths[0]  # curved.md, step 1h
        found = _around(setting, *apart, float(up(own + missed)), mismatch, "energy")  # band.md, step 8c
        by_first = model.exchange is not None and float(model.reaction.min()) >= 0.0
        numbers = {"mean": {"first": mean_constant(model)[1] if is_plain(model) else None} if by_first else None}
        return replace(found, numbers=numbers, rechecked=found.proved and is_plain(model))
    if not math.isfinite(error.value):
        raise InputError(f"query '{name}': no error in the mean is bounded: {error.reason}; ask for 'energy-error'")
    M = error.constant
    assert M is not None
    mean = {"shift": M.shift, "penalty": M.penalty, "eigenvalue": M.eigenvalue, "error": error.value}
    bound = float(up(error.value + missed))  # band.md, step 8a
    found = _around(setting, *apart, bound, mismatch, "mesh constant")
    return replace(found, numbers={"mean": mean}, rechecked=found.proved and is_plain(model))


def energy_length(setting: Setting, mismatch: tuple[float, bool], given: Vector | None, name: str) -> Found:
    """The same of the energy norm (∫κ|∇v|² + c⁺v²)^½; with convection, or c that may be negative, (∫A∇v·∇v)^½."""
    model, missed = setting.model, 0.0
    if mismatch[0] > 0.0:
        if not is_met(model) or float(model.reaction.min()) < 0.0 or model.coefficients is not None:
            raise InputError(
                f"query '{name}': the energy error needs Dirichlet data that the elements meet but for rounding: "
                f"numbers, or polynomials of degree {model.degree}, and beside a reaction below zero or coefficients "
                f"that vary numbers; the data given differs by up to {mismatch[0]:.3g}"
            )
        missed = extension_energy(model, mismatch[0])  # band.md, step 8b
    bound = float(up((setting.energy if setting.lengths is None else setting.lengths[1]) + missed))
    found = _around(setting, *distance(setting, given, energy=True), bound, mismatch, "equilibrated fluxes")
    return replace(found, rechecked=found.proved and is_plain(model) and mismatch[0] == 0.0)


def by_energy(
    model: Continuum, energy: float, indefinite: Indefinite | None, carried: float
) -> tuple[float, float] | None:
    """Bounds of ‖e‖₂ and of ‖e‖_a where the mesh constant says nothing; None where it may.

    `energy` is the bound of ‖e‖_a of a negative reaction, else η; `carried` that of ‖qe‖₂.
    """
    if indefinite is not None:
        mean, q = float(up(energy / math.sqrt(indefinite.gap.floor), 4)), -model.reaction
        if model.medium is None and float(q.min()) == float(q.max()):
            mean = min(mean, float(up(carried / float(q.min()), 2)))
        return at_most(mean), energy
    if model.medium is None and model.exchange is None and model.gluing is None:
        return None
    length = float(up(model.growth * energy))
    return at_most(float(up(mean_constant(model)[0] * length, 4))), at_most(length)  # band.md, step 8c


def mean_constant(model: Continuum) -> tuple[float, float | None]:
    """C with ‖v‖₂ ≤ C‖v‖ for v that vanish on Γ_D: `second_constant`, or by the first eigenvalue where that pays.

    And the shift that proves it, where it is of that.
    """
    C = second_constant(model)
    if math.isfinite(model.anchors.friedrichs) or not np.any(model.kind == DIRICHLET) or model.folded:
        return C, None
    try:
        least, theta = first_eigenvalue(model)
    except (CertificationError, InputError):
        return C, None
    other = float(up(1.0 / down(math.sqrt(least), 4), 2))  # indefinite.md, step 2b
    return (other, theta) if other < C else (C, None)


def is_plain(model: Continuum) -> bool:
    """Whether the checker has the theorem: numbers as coefficients, straight boundaries without periodic pairs."""
    return model.medium is None and model.stretch is None and model.gluing is None and not model.reacts


def _around(setting: Setting, low: float, high: float, bound: float, mismatch: tuple[float, bool], route: str) -> Found:
    bound = float(up(bound * (1.0 + SPARE) + ROUNDING * high))
    lower = max(0.0, float(down(low - bound)))  # band.md, step 8a
    return Found(lower, at_most(float(up(high + bound))), 0.0, route, setting.proved and mismatch[1])


def distance(setting: Setting, given: Vector | None, *, energy: bool) -> tuple[float, float]:
    """Bounds of ‖ũ − v‖ from below and above, in L² or in the energy norm."""
    model, state = setting.model, setting.side.nodal
    squares, wrong, lost = (np.empty(len(model.kappa)) for _ in range(3))
    for start in range(0, len(squares), CHUNK):
        part = slice(start, start + CHUNK)
        shapes = Shapes.of(model.points, model.topology.cells[part])
        apart, slip = _apart(state[model.cell_nodes[part]], None if given is None else given[model.own_nodes[part]])
        v = State.of(shapes, apart.T, model.degree)
        k, c = model.kappa[part], np.maximum(model.reaction[part], 0.0) if energy else np.ones(len(model.kappa[part]))
        mean = c * mean_product(v.coefficients, v.coefficients, shapes.d)
        size, z = c * v.top**2, slip.max(axis=1)
        if not energy and model.stretch is not None:
            c, mean, size = _on_curves(model, part, shapes, v, mean, size)
        blur = 9.0 * c * z**2  # coefficients are at most three times values at nodes
        if energy and model.medium is not None:
            mean, size, blur = _by_medium(model.medium, part, shapes, v, z)
        elif energy:
            weight = (np.ones((shapes.d + 1,) * 2) + np.eye(shapes.d + 1)) / ((shapes.d + 1) * (shapes.d + 2))
            slopes = np.einsum("jcn,jk,kcn->n", v.slopes, weight, v.slopes, optimize=True)
            mean, size = mean + k * slopes, size + shapes.d * k * v.size**2
            blur = blur + k * shapes.d * (6.0 * shapes.d * z * shapes.steep) ** 2
        squares[part] = mean * shapes.volume
        wrong[part] = up((4.0 * (shapes.slack + gamma(COUNT)) * size + 4.0 * c * v.blur * v.top) * shapes.volume, 32)
        lost[part] = up(np.sqrt(blur * shapes.volume * (1.0 + shapes.slack)), 32)
    total, off, moved = math.fsum(np.maximum(squares, 0.0).tolist()), sum_up(wrong), norm_up(lost)
    high = up(math.sqrt(up(total + off)) + moved)
    return max(0.0, float(down(math.sqrt(max(0.0, float(down(total - off)))) - moved))), float(high)


def _apart(state: Vector, given: Vector | None) -> tuple[Vector, Vector]:
    """Differences at the nodes of cells, and their rounding; v may have two values at a periodic pair."""
    if given is None:
        return state, np.zeros_like(state)
    return state - given, gamma(2) * (np.abs(state) + np.abs(given))  # band.md, step 8a


def _by_medium(medium: Medium, part: slice, shapes: Shapes, v: State, slip: Vector) -> tuple[Vector, Vector, Vector]:
    """Means of A∇v·∇v, what its rounding and errors are counted from, and the square of what `slip` of nodes moves."""
    action, d = medium.act(part, shapes, v, transposed=False), shapes.d
    slopes = [np.stack([0.5 * (v.slopes[j, i] + v.slopes[k, i]) for j, k in pairs(d)]) for i in range(d)]
    mean = np.sum([mean_product(action.flux[:, i], slopes[i], d) for i in range(d)], axis=0)  # band.md, step 8d
    sure = 4.0 * (shapes.slack + gamma(COUNT))
    size = np.abs(action.flux).max(axis=0).sum(axis=0) * v.size
    size = size + (action.flux_error * v.steepest(shapes)).sum(axis=0) / sure
    A = np.max([np.sum([size_on(p)[part] for p in row], axis=0) for row in medium.diffusion], axis=0)
    moved = A * d * (6.0 * d * slip * shapes.steep) ** 2
    if not medium.coefficients.convective and medium.least_reaction >= 0.0:
        mean = mean + mean_product(action.lower, v.coefficients, d)  # band.md, step 8d
        size = size + (np.abs(action.lower).max(axis=0) + action.lower_error / sure) * v.top
        moved = moved + 9.0 * size_on(medium.reaction)[part] * slip**2
    return mean, np.asarray(size), np.asarray(moved)


def _stretched(model: Continuum) -> Vector:
    """Upper bounds of det J on every cell; ones where no cell is bent."""
    found = np.ones(len(model.kappa))
    if model.stretch is not None:
        bent = np.flatnonzero(model.stretch.bent)
        found[bent] = supremum(model.stretch.volume, model.points[model.topology.cells[bent]], relative=0.05)[0]
    return found


def _on_curves(
    model: Continuum, part: slice, shapes: Shapes, v: State, mean: Vector, size: Vector
) -> tuple[Vector, Vector, Vector]:
    """Bounds of det J, means of v² det J, and what their rounding and errors are counted from."""
    assert model.stretch is not None
    bent = np.flatnonzero(model.stretch.bent[part])
    top = np.ones(len(mean))
    if not len(bent):
        return top, mean, size
    V = model.points[model.topology.cells[part][bent]]
    top[bent] = supremum(model.stretch.volume, V, relative=0.05)[0]
    w = density(model.stretch.volume, V, tolerance=FINE, depth=DEPTH)
    b = np.ascontiguousarray(v.coefficients[:, bent].T)
    product = projected(multiplied(w.coefficients, b, shapes.d, 2, 2), shapes.d, 4, np.zeros(len(bent)))
    own = v.top[bent]
    # v det J = its projection onto quadratics, what is orthogonal to them, and errors; v is a quadratic
    wrong = product.error1 + own * (LOOSE * np.abs(w.coefficients).max(axis=1) + w.high + w.error1)
    mean[bent] = mean_product(np.ascontiguousarray(product.coefficients.T), v.coefficients[:, bent], shapes.d)
    sure = 4.0 * (shapes.slack[bent] + gamma(COUNT))
    size[bent] = top[bent] * size[bent] + own * up(wrong, 8) / sure  # curved.md, step 1h
    return top, mean, size
