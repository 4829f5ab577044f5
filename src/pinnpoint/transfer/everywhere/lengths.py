"""The prediction's error in the mean and in the energy norm: the distance of two states, and a bound of one's error."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.extremes import Found
from pinnpoint.rounding.arithmetic import at_most, down, gamma, norm_up, sum_up, up
from pinnpoint.transfer.cells import COUNT, State, mean_product
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.estimator import CHUNK
from pinnpoint.transfer.everywhere.l2 import SPARE, l2_error
from pinnpoint.transfer.everywhere.setting import Setting
from pinnpoint.transfer.gaps import extension_energy, is_met
from pinnpoint.transfer.geometry import Shapes

ROUNDING = 1e-12
"""Of the distance of two states, left to other programs' roundings."""


def mean_length(setting: Setting, mismatch: tuple[float, bool], given: Vector | None, name: str) -> Found:
    """An interval of ‖u − v‖₂ for a prediction v by its values at the nodes; None for v = 0."""
    model = setting.model
    error = l2_error(setting)
    if not math.isfinite(error.value):
        raise InputError(f"query '{name}': no error in the mean is bounded: {error.reason}; ask for 'energy-error'")
    extent = up(math.sqrt(sum_up(up(model.topology.volumes * (1.0 + model.anchors.slack), 4))))
    bound = float(up(error.value + up(mismatch[0] * extent)))  # band.md, step 8a
    M = error.constant
    assert M is not None
    mean = {"shift": M.shift, "penalty": M.penalty, "eigenvalue": M.eigenvalue, "error": error.value}
    found = _around(setting, *distance(setting, given, energy=False), bound, mismatch, "mesh constant")
    return replace(found, numbers={"mean": mean}, rechecked=found.proved and is_plain(model))


def energy_length(setting: Setting, mismatch: tuple[float, bool], given: Vector | None, name: str) -> Found:
    """The same of the energy norm."""
    model, missed = setting.model, 0.0
    if model.coefficients is not None:
        raise InputError(f"query '{name}': energy errors need coefficients that are constant on each cell")
    if mismatch[0] > 0.0:
        if not is_met(model):
            raise InputError(
                f"query '{name}': the energy error needs Dirichlet data that the elements meet but for rounding: "
                f"numbers, or polynomials of degree {model.degree}; the data given differs by up to {mismatch[0]:.3g}"
            )
        missed = extension_energy(model, mismatch[0])  # band.md, step 8b
    bound = float(up(setting.energy + missed))
    found = _around(setting, *distance(setting, given, energy=True), bound, mismatch, "equilibrated fluxes")
    return replace(found, rechecked=found.proved and is_plain(model) and mismatch[0] == 0.0)


def is_plain(model: Continuum) -> bool:
    """Whether the checker has the theorem: numbers as coefficients, straight and held or free boundaries, no fluxes."""
    other = model.exchange is not None or model.gluing is not None or model.boundary_load is not None
    return model.medium is None and model.stretch is None and not other and float(model.reaction.min()) >= 0.0


def _around(setting: Setting, low: float, high: float, bound: float, mismatch: tuple[float, bool], route: str) -> Found:
    bound = float(up(bound * (1.0 + SPARE) + ROUNDING * high))
    lower = max(0.0, float(down(low - bound)))  # band.md, step 8a
    return Found(lower, at_most(float(up(high + bound))), 0.0, route, setting.proved and mismatch[1])


def distance(setting: Setting, given: Vector | None, *, energy: bool) -> tuple[float, float]:
    """Bounds of ‖ũ − v‖ from below and above, in L² or in the energy norm."""
    model, state = setting.model, setting.side.nodal
    apart = state if given is None else state - given
    slip = np.zeros_like(state) if given is None else gamma(2) * (np.abs(state) + np.abs(given))
    squares, wrong, lost = (np.empty(len(model.kappa)) for _ in range(3))
    for start in range(0, len(squares), CHUNK):
        part = slice(start, start + CHUNK)
        shapes = Shapes.of(model.points, model.topology.cells[part])
        v = State.of(shapes, apart[model.cell_nodes[part]].T, model.degree)
        k, c = model.kappa[part], model.reaction[part] if energy else np.ones(len(model.kappa[part]))
        mean = c * mean_product(v.coefficients, v.coefficients, shapes.d)
        size, z = c * v.top**2, slip[model.cell_nodes[part]].max(axis=1)
        blur = 9.0 * c * z**2  # coefficients are at most three times values at nodes
        if energy:
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
