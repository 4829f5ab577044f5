"""Smooth predictions kept as they are on curved domains.

In the domain itself e = u − u_θ solves the equation with the source r = f + κΔu_θ − c u_θ and the Dirichlet data
g − u_θ: a problem with the same curves, whose data are carried back to the straight mesh as all data are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from pinnpoint.base.errors import InputError
from pinnpoint.fem.curved.bending import Bending
from pinnpoint.fem.curved.bent import Spread
from pinnpoint.fem.data.coefficients import Opposite
from pinnpoint.models.lifts import Lift
from pinnpoint.models.opaque import OpaqueLift
from pinnpoint.models.smooth import CHUNK, SmoothField
from pinnpoint.rounding.arithmetic import UNIT, gamma, sum_up, up
from pinnpoint.systems.goals import Cells
from pinnpoint.taylor.inputs import enclosed, fixed, model_of
from pinnpoint.taylor.models import constant
from pinnpoint.taylor.simplices import density
from pinnpoint.transfer.energy.geometry import Shapes


def constants(bending: Bending) -> tuple[float, float]:
    """The numbers κ and c of a problem on a curved domain, or a refusal."""
    found = []
    for name in ("diffusion", "reaction"):
        given = bending.given[name]
        known = None if isinstance(given, Mapping | tuple | list | np.ndarray) else fixed(given)
        if known is None or known[1] != 0.0:
            raise InputError(f"lift: on curved domains the {name} must be one number; certify without the lift")
        found.append(known[0])
    return found[0], found[1]


def require_liftable(bending: Bending, held: int) -> None:
    """Refuse what a lift on a curved domain is not proved for; `held` is the number of Dirichlet facets."""
    constants(bending)
    if isinstance(bending.given["source"], Mapping):
        raise InputError("lift: the source must be one formula for all cells; certify without the lift")
    if held < len(bending.mesh.boundary):
        raise InputError(
            "lift: on curved domains a prediction is kept where Dirichlet values are given all around; its fluxes "
            "through curves are not enclosed. Certify without the lift"
        )


def left_on_curves(bending: Bending, lift: Lift | OpaqueLift) -> tuple[Any, dict[str, Any]]:
    """The residual of a prediction in the domain itself, and what it leaves of the Dirichlet data."""
    source = lift.residual(bending.given["source"], *constants(bending))  # curved.md, step 1e
    return source, {group: rest_of(lift, g) for group, g in bending.given["dirichlet"].items()}


def rest_of(lift: Lift | OpaqueLift, given: Any) -> Any:
    """The field g − u of Dirichlet data g."""
    f: Any = lift.minus(given)
    if not enclosed(f):
        return Opposite(f, given)
    return SmoothField(partial(_minus, f), f.block if isinstance(f, SmoothField) else CHUNK)


def _minus(f: Any, X: Any) -> Any:
    return constant(-1.0) * model_of(f, X)


def own_mean(bending: Bending, lift: Lift | OpaqueLift, goal: Cells) -> tuple[float, float, bool]:
    """The prediction's mean over cells as they are in the domain, a bound of its error, and whether it is proved."""
    mesh, where = bending.mesh, goal.cells
    chosen = mesh.cells_of(where) if isinstance(where, str) else np.arange(len(mesh.cells)) if where is None else where
    T = np.sort(mesh.cells[np.asarray(chosen, dtype=np.intp)], axis=1)
    shapes = Shapes.of(mesh.points, T)
    sums, off, proved = [], [], True
    for what in (Spread(bending.bends, lift.value, "prediction"), Spread(bending.bends, 1.0, "geometry")):
        w = density(what, mesh.points[T])
        top = np.abs(w.coefficients).max(axis=1)
        sums.append(math.fsum((shapes.volume * w.coefficients.mean(axis=1)).tolist()))
        wrong = shapes.volume * (w.error1 * (1.0 + shapes.slack) + (2.0 * shapes.slack + gamma(60)) * top)
        off.append(sum_up(np.asarray(up(wrong, 8))))
        proved = proved and w.proved
    value, size = sums[0] / sums[1], sums[1] * (1.0 - 1e-9) - off[1]
    if not size > 0.0:
        return 0.0, math.inf, proved
    error = (off[0] + abs(value) * off[1]) / size * (1.0 + 1e-9)  # curved.md, step 1e
    return value, float(up(error + 4.0 * UNIT * abs(value), 8)), proved
