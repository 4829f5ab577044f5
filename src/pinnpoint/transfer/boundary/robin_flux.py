"""The flux through a Robin group: ∫ κ∂_n u = ∫ g − ∫ αu, a bounded functional and a number of the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import UNIT, gamma, sum_up, up
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.simplices import density
from pinnpoint.transfer.boundary.facets import measures
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET


def robin_flux(model: Continuum, facets: Index, group: str, name: str) -> dict[str, Any]:
    """Its form, as the fields of a `Functional`; Neumann facets of the group add their data."""
    at = model.exchange
    on = np.zeros(0, dtype=np.intp) if at is None else np.flatnonzero(np.isin(at.facets, facets))
    if at is None or not on.size or np.any(model.kind[facets] == DIRICHLET):
        raise InputError(
            f"query '{name}': the flux through group '{group}' is part of the data where it is a Neumann group; fluxes "
            "are certified through Dirichlet groups, and through Robin groups"
        )
    a = at.alpha
    taken = Density(-a.coefficients[on], a.high[on], a.error1[on], a.error2[on], None, a.proved)
    area, slack = measures(model.points[at.vertices[on]])
    constant = error = data = 0.0
    proved = True
    for these, given in model.neumann:
        own = np.intersect1d(facets, these)
        if not own.size:
            continue
        V = model.points[model.topology.facets[own]]
        size, off = measures(V)
        g = density(given, V)
        constant += math.fsum((size * g.coefficients.mean(axis=1)).tolist())  # robin.md, step 4a
        top = np.abs(g.coefficients).max(axis=1)
        error = float(up(error + sum_up(up(size * (off + gamma(20)) * top, 4)) + 2.0 * UNIT * abs(constant), 8))
        data = float(up(data + sum_up(up(size * (1.0 + off) * g.error1, 4)), 8))
        proved = proved and g.proved
    return {
        "load": model.facet_load(at.facets[on], taken),
        "constant": constant,
        "error": float(up(error + data)),
        "data": data,
        "proved": proved and a.proved,
        "reach": sum_up(up(at.top[on] * area * (1.0 + slack), 8)),  # robin.md, step 4b
    }
