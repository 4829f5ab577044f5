"""A problem's own stiffness matrix as a reference for others on its mesh."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.arrays import number, whole
from pinnpoint.base.errors import InputError
from pinnpoint.certifiers.core import Core
from pinnpoint.certifiers.setup import solver_for
from pinnpoint.fem.assembling.assembly import StiffnessProduct
from pinnpoint.solvers.reference import Reference, Sines
from pinnpoint.systems.linear import LinearSystem

MANY = 24
"""Right-hand sides that a factor is expected to serve."""
TOLERANCE = 1e-3
"""What may be left of the load, by default."""


def reference_of(problem: Any, steps: int | None, tolerance: float, multigrid: bool | None) -> Reference:
    """∫ κ̄∇φ_i·∇φ_j on the free nodes, κ̄ the problem's own diffusion, inverted by transforms or a factor."""
    free = problem.space.free
    if problem.coefficients is not None or problem.loops is not None or problem.diffusion.ndim != 1:
        raise InputError("reference: κ̄ must be one number on each cell, without convection and periodic pairs")
    if free is None or len(free) == problem.space.N:
        raise InputError("reference: needs values that are held somewhere; give a Dirichlet group")
    steps = None if steps is None else whole("steps", steps)
    if multigrid is not None and not isinstance(multigrid, bool):
        raise InputError(f"multigrid: must be true, false or left out; got {multigrid!r}")
    if steps is not None and tolerance != TOLERANCE:
        raise InputError("steps, tolerance: are two ways to say the same; give one")
    tolerance = number("tolerance", tolerance, above=0.0)
    if tolerance >= 1.0:
        raise InputError(f"tolerance: is a share of the load and must be < 1; got {tolerance:g}")
    A = StiffnessProduct.of(problem.nodes).matrix(problem.diffusion)[free][:, free]
    points = problem.nodes.points[free]
    even = problem.degree == 1 and float(np.ptp(problem.diffusion)) == 0.0
    inverse: Any = Sines.of(A, points) if even else None
    if inverse is None:
        core = Core(LinearSystem(A, np.zeros(len(free)), row_points=points), rounding=False)
        inverse = solver_for(core, None, MANY)[0]
    made = problem.mesh.fingerprint, free, problem.diffusion, inverse, A.diagonal()
    return Reference(*made, steps, tolerance, multigrid)
