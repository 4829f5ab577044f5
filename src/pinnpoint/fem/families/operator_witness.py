"""One instance of a family with what its bounds rest on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import vector
from pinnpoint.base.errors import InputError
from pinnpoint.fem.families.diffusion_families import DiffusionFamily, reference
from pinnpoint.systems.goals import Cells
from pinnpoint.systems.queries import Queries
from pinnpoint.transfer.energy.anchors import NEUMANN
from pinnpoint.transfer.operators.any_mesh import AnyMesh
from pinnpoint.transfer.operators.prepared import prepare
from pinnpoint.transfer.operators.witness import Witness, widened


def witness_of(
    family: DiffusionFamily, queries: Queries, steps: tuple[int, int], kappa: ArrayLike, prediction: ArrayLike
) -> Witness:
    """Certify one instance on its mesh as any triangulation, and keep what that rests on."""
    problem: Any = family.problem
    model, values, groups = reference(problem)
    members = np.zeros((len(queries), len(problem.mesh.cells)), dtype=bool)
    for q, goal in enumerate(queries.goals):
        if not isinstance(goal, Cells):
            raise InputError(f"query '{queries.names[q]}': witnesses are for averages over cells and the mean")
        members[q, problem.cell_numbers(goal.cells)] = True
    flat = np.ptp(model.load.coefficients, axis=1)
    known = flat.any() or model.load.high.any() or model.load.error1.any()
    if np.any(values) or known or model.d != 2 or np.any(model.kind == NEUMANN):
        raise InputError("witness: needs two dimensions, a source that is one number a cell, and u = 0 all around")
    made = prepare(model, values, queries.goals, queries.names, groups, problem.cell_numbers, lattice=False)
    assert isinstance(made.engine, AnyMesh)
    row = vector("kappa", kappa, family.width, sign="positive")
    u = vector("prediction", prediction, len(values))
    u[problem.space.fixed] = 0.0
    on_cells = family.on_cells(row[None])[0]
    found = made.engine.fields(on_cells, u, None, *steps)
    proved = made.enclose(on_cells[None], u[None], None, *steps)
    fluxes = made.engine.facet_fluxes(model.topology, found)
    sizes = np.array([proved.energy[0], proved.energy_lower[0], proved.norm[0], proved.norm_lower[0]])
    energies, radius = widened(sizes, proved.center[0], proved.radius[0])
    has_dual = np.isin(np.arange(len(queries)), made.with_duals)
    source = model.load.coefficients[:, 0].copy()
    return Witness(
        model.points,
        model.topology.cells,
        on_cells,
        source,
        u,
        found.states[:, 0],
        fluxes[:, 0],
        energies,
        proved.center[0],
        radius,
        members,
        has_dual,
        found.states[:, 1:].T.copy(),
        fluxes[:, 1:].T.copy(),
    )
