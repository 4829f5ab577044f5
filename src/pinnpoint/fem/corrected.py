"""Corrected values of a scalar problem: one solve and one number for any number of points."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.fem.problem import ScalarProblem
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.solvers.direct import factorize
from pinnpoint.taylor.inputs import enclosed
from pinnpoint.taylor.simplices import enclose
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.estimator import Side
from pinnpoint.transfer.everywhere.corrected import Corrected, corrected
from pinnpoint.transfer.everywhere.setting import Setting, measured

if TYPE_CHECKING:
    from pinnpoint.fem.lifts.lifted import Lifted


def corrected_values(problem: ScalarProblem, X: Vector) -> Corrected:
    """Corrected values of the problem's own discrete solution."""
    problem.require_transfer()
    setting = solved(problem)
    mismatch = setting.model.mismatch(setting.side.nodal)
    return corrected(setting, X, mismatch)


def corrected_lift(lifted: Lifted, X: Vector) -> Corrected:
    """u_θ + U: corrected values of what a prediction leaves over, added to it."""
    rest, u = corrected_values(lifted.rest, X), lifted.lift.value
    sure = enclosed(u)
    own, off = enclose(u, X) if sure else (np.asarray(u(X)), np.zeros(len(X)))
    values = rest.values + own
    radii = np.asarray(up(rest.radii + off + 2.0 * UNIT * (np.abs(own) + np.abs(rest.values))))
    return replace(rest, values=values, radii=radii, proved=rest.proved and sure)


def solved(problem: ScalarProblem) -> Setting:
    """The discrete solution with its flux; nothing is trusted of how it was found."""
    model = problem.continuum(problem.topology)
    state = _state(problem.system, model)
    flux = model.fluxes(state[None, :], [model.load], [model.boundary_load])[..., 0]
    side = Side(state, model.load, flux, model.boundary_load)
    return measured(model, side)


def _state(system: Any, model: Continuum) -> Vector:
    A, space = sp.csr_array(system.A), system.space
    free, U = space.free, np.array(space.U0, dtype=np.float64)
    solver = factorize(sp.csr_array(A[free][:, free]))
    b = model.vector(model.load, model.boundary_load)
    for _ in range(2):  # the second time for what rounding left
        U[free] += solver.solve((b - A @ U)[free])
    return U
