"""Thermal expansion and forces by cells, as users give them, on finite elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector, floats, frozen
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.data.coefficients import Data, function, named, per_cell, require_defined
from pinnpoint.fem.fields import shape_means
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import rule
from pinnpoint.transfer.elastic.thermal import Thermal


def thermal_of(mesh: Mesh, material: tuple[Data, Data, str], expansion: Data, temperature: Data) -> Thermal | None:
    """κ and ϑ of a body, from Young's modulus, Poisson's ratio and the plane state; None without expansion."""
    if (expansion is None) != (temperature is None):
        word, other = ("expansion", "temperature") if expansion is None else ("temperature", "expansion")
        raise InputError(f"{word}: is missing; thermal expansion needs it beside {other}")
    if expansion is None:
        return None
    young, nu = (per_cell(n, g, mesh) for n, g in (("young", material[0]), ("poisson", material[1])))
    alpha = per_cell("expansion", expansion, mesh)
    flat = mesh.dim == 2 and material[2] == "stress"
    kappa = young * alpha / (1.0 - nu if flat else 1.0 - 2.0 * nu)  # elasticity.md, step 12a
    if not np.all(np.isfinite(kappa)):
        raise InputError("expansion: what it does to this material leaves the range of float64")
    frozen(kappa)
    return Thermal(kappa, _field(mesh, temperature))


def _field(mesh: Mesh, given: Any) -> Any:
    """A number, a formula, a function, or values at the vertices; the same everywhere is a number."""
    given = parse(given, name="temperature") if isinstance(given, str) else given
    if callable(given):
        require_defined("temperature", given, mesh.points[mesh.cells])
        return named("temperature", given)
    values = floats("temperature", given)
    if values.ndim == 0:
        values = np.full(1, float(values))
    elif values.shape != (len(mesh.points),):
        raise InputError(
            f"temperature: must be a number, a formula, or one number for each of {len(mesh.points)} vertices; got "
            f"shape {values.shape}"
        )
    if not np.all(np.isfinite(values)):
        raise InputError("temperature: must be finite")
    if np.all(values == values[0]):
        return float(values[0])
    kept = np.array(values)
    frozen(kept)
    return kept


def stress_at(thermal: Thermal, mesh: Mesh, cell: Index, bary: Vector) -> Vector:
    """κϑ at points of cells, (N,)."""
    given = thermal.temperature
    if isinstance(given, np.ndarray):
        theta = np.einsum("ni,ni->n", given[mesh.cells[cell]], bary)
    else:
        theta = function("temperature", given)(np.einsum("ni,nid->nd", bary, mesh.points[mesh.cells[cell]]))
    return np.asarray(thermal.kappa[cell] * theta)


def mean_stress(thermal: Thermal, mesh: Mesh, cells: Index, order: int) -> Vector:
    """Averages of κϑ over cells by quadrature, (n,)."""
    bary, weights = rule(mesh.dim, order)
    found = np.zeros(len(cells))
    for x, w in zip(bary, weights, strict=True):
        found += w * stress_at(thermal, mesh, cells, np.broadcast_to(x, (len(cells), len(x))))
    return found


def thermal_load(thermal: Thermal, nodes: Nodes, order: int) -> Vector:
    """∫ κϑ ∂_cφ_i by quadrature, (n, d)."""
    mesh, d = nodes.mesh, nodes.mesh.dim
    bary, weights = rule(d, order)
    every, b = np.arange(len(mesh.cells)), np.zeros((len(nodes), d))
    for x, w in zip(bary, weights, strict=True):
        at = np.broadcast_to(x, (len(every), d + 1))
        share = w * mesh.volumes * stress_at(thermal, mesh, every, at)
        for c in range(d):
            local = share[:, None] * nodes.derivatives(every, at, c)
            b[:, c] += np.bincount(nodes.cell_dofs.ravel(), local.ravel(), minlength=len(nodes))
    return b


def by_cells(mesh: Mesh, body: Any) -> Vector | None:
    """Force densities (C, d) of a body that gives them by cells: a table from groups, or a row for each cell; or None.

    Numbers, formulas and functions, one or one for each component, are no such thing.
    """
    C, d = len(mesh.cells), mesh.dim
    if isinstance(body, Mapping):
        rows = {group: _row(group, given, d) for group, given in body.items()}
        parts = [per_cell("body", {g: row[c] for g, row in rows.items()}, mesh) for c in range(d)]
        return np.stack(parts, axis=1)
    if isinstance(body, np.ndarray) and body.ndim == 2:
        values = floats("body", body)
        if values.shape != (C, d) or not np.all(np.isfinite(values)):
            raise InputError(f"body: by cells it must be finite numbers of shape ({C}, {d}); got shape {values.shape}")
        return values
    return None


def _row(group: str, given: Any, d: int) -> Vector:
    values = floats(f"body '{group}'", given)
    if values.shape != (d,) or not np.all(np.isfinite(values)):
        raise InputError(f"body '{group}': must be {d} finite numbers; got {given!r}")
    return values


def weight_load(nodes: Nodes, weights: Vector) -> Vector:
    """∫ w φ_i of force densities that are constant on each cell, (n, d)."""
    each = nodes.mesh.volumes[:, None, None] * shape_means(nodes)[:, None] * weights[:, None, :]
    total = np.zeros((len(nodes), weights.shape[1]))
    np.add.at(total, nodes.cell_dofs, each)
    return total
