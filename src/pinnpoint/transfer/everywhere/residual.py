"""The size of a solution from its data alone, with no solve: for what a lift leaves over, the error of the network."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pinnpoint.formulas.expressions import Expression
from pinnpoint.rounding.arithmetic import down, gamma, sum_up, up
from pinnpoint.taylor.bernstein import Density, gram
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET, NEUMANN
from pinnpoint.transfer.everywhere.barriers import barrier, given_barrier
from pinnpoint.transfer.everywhere.bounds import CellBounds
from pinnpoint.transfer.everywhere.box_weight import box_weight
from pinnpoint.transfer.everywhere.level_sets import talenti, with_field
from pinnpoint.transfer.everywhere.mirrors import mirrors, unmet
from pinnpoint.transfer.everywhere.setting import CellNorms

ROUTE = "residual, no solve"


def sizes(
    model: Continuum, load: Density, boundary: tuple[float, bool], given: Sequence[Expression] = ()
) -> list[CellBounds]:
    """Every bound of |u| that needs the data alone; by barriers where those are given, or Neumann facets are there."""
    found = [*residual(model, load, boundary)]
    if np.any(model.kind == NEUMANN):
        found += barrier(model, boundary)
    for w in given:
        found += given_barrier(model, boundary, w)
    return found


def residual(model: Continuum, load: Density, boundary: tuple[float, bool]) -> Sequence[CellBounds]:
    """Bounds of |u| from ‖f‖₂ and the boundary values; none where Neumann facets do not lie in mirrors.

    *Guarantee:* |u| is at most this at every point of the cell. *Assumes:* c ≥ 0. *Cost:* norms of enclosed data.

    Parameters
    ----------
    load
        f on every cell.
    boundary
        A bound of |g_D|, and whether it is proved.
    """
    planes = mirrors(model)
    if planes is None:
        return []
    field, divergence, sure = unmet(model, None)
    norms = with_field(source_norms(model, load), field, divergence)
    found = talenti(model, norms, planes)  # everywhere.md, step 4a
    bounds = np.full(len(model.kappa), found.total)
    if not planes and _uniform(model):
        f = float(up(math.sqrt(sum_up(up(norms.density**2))), 8))
        X = model.points[model.topology.cells]
        box = model.points.min(axis=0), model.points.max(axis=0)
        w = box_weight(X.min(axis=1), X.max(axis=1), box)
        bounds = np.minimum(bounds, up(w * f / down(model.kappa[0], 1), 8))  # everywhere.md, step 4c
    numbers = {"power": found.power, "density": found.density, "flux": found.flux, "mirrors": planes}
    numbers |= {"boundary": boundary[0]}
    proved = load.proved and sure and boundary[1]
    return [CellBounds(ROUTE, np.asarray(up(bounds + boundary[0])), proved, numbers)]


def source_norms(model: Continuum, load: Density) -> CellNorms:
    """Norms of f alone, where state and flux are zero."""
    C, d = len(model.kappa), model.d
    volume = up(model.topology.volumes * (1.0 + 2.0 * model.anchors.slack), 4)
    b = load.coefficients
    square = np.einsum("ni,ij,nj->n", b, gram(d), b, optimize=True) + gamma(200) * np.abs(b).max(axis=1) ** 2
    rms = np.sqrt(np.maximum(square, 0.0) + load.high**2) + load.error2  # everywhere.md, step 4b
    zero = np.zeros(C)
    return CellNorms(volume, zero, np.zeros((3, C)), np.asarray(up(np.sqrt(volume) * rms, 32)))


def _uniform(model: Continuum) -> bool:
    """Whether κ is one number and all of ∂Ω is Dirichlet."""
    outer = model.topology.facet_cells[:, 1] < 0
    if model.coefficients is not None:
        return False
    return bool(np.all(model.kappa == model.kappa[0]) and np.all(model.kind[outer] == DIRICHLET))
