"""‖u − u_h‖₂ from the energy bound: Aubin and Nitsche's argument with a computed constant, for any state.

Let w solve a_c(w, ·) = (e, ·). Then ‖e‖₂² = a_c(e, w) = a_c(e, w − R_h w) + R(R_h w), R the weak residual of u_h. It
need not vanish on the linear elements: what a solver leaves, and the error of the data, are counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.rounding.arithmetic import at_most, down, gamma, norm_up, sum_up, up
from pinnpoint.taylor.bernstein import gram
from pinnpoint.transfer.boundary.facets import measures
from pinnpoint.transfer.continuum import Continuum, shape_table
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.energy.estimator import Side
from pinnpoint.transfer.everywhere.mesh_constant import MeshConstant
from pinnpoint.transfer.everywhere.setting import Setting

SPARE = 8e-9
"""Of bounds in norms, left to another program: defects that are all rounding may count for more there."""
LEAST = 1e-13
"""Of the state: bounds of the error are not taken smaller."""


@dataclass(frozen=True)
class MeanError:
    """A bound of ‖u − u_h‖₂, u with the Dirichlet values of u_h.

    Attributes
    ----------
    value
        E, the bound; infinite where none is proved.
    constant
        M_h of the mesh, None where there is none.
    defect
        The part of E that the residual against linear elements is responsible for.
    reason
        Why there is no bound.
    """

    value: float
    constant: MeshConstant | None
    defect: float
    reason: str = ""


def l2_error(setting: Setting, *, thorough: bool = True) -> MeanError:
    """E ≥ ‖u − u_h‖₂ for a state with its flux, where the mesh constant is at hand, or within its budget.

    *Guarantee:* deterministic, as far as the data are enclosed. *Assumes:* κ, c ≥ 0 constant on each cell. *Cost:* the
    mesh constant, once a mesh; one pass over the cells.
    """
    model, side = setting.model, setting.side
    M = model.mesh_constant(thorough=thorough)
    if isinstance(M, str):
        return MeanError(math.inf, None, math.inf, M)
    if float(model.reaction.min()) < 0.0:
        return MeanError(math.inf, M, math.inf, "the reaction is negative somewhere")
    C, most = second_constant(model), float(model.reaction.max())
    factor = 1.0 if bool(np.all(model.reaction == most)) else float(up(1.0 + most * C * C))
    energy = setting.energy
    norm, rounding = residual_norm(setting, C)
    defect = float(up(C * norm, 4))  # band.md, step 2b
    value = float(up(M.with_reaction(most, factor) * energy + defect))  # band.md, step 2a
    # so that another program can prove it
    value = float(up(value * (1.0 + SPARE) + 4.0 * C * rounding + _floor(model, side)))
    return MeanError(at_most(value), M, at_most(defect))


def _floor(model: Continuum, side: Side) -> float:
    """Next to nothing against ‖u_h‖₂, and more than the rounding of its energy."""
    return LEAST * float(np.abs(side.nodal).max(initial=0.0)) * math.sqrt(float(model.topology.volumes.sum()))


def second_constant(model: Continuum) -> float:
    """C with ‖v‖₂ ≤ C‖v‖_{a_c} for v that vanish on Γ_D: the smallest of Friedrichs', 1/√c and paths."""
    found, anchors = [model.anchors.friedrichs], model.anchors
    least = float(model.reaction.min())
    if least > 0.0:
        found.append(float(up(1.0 / down(math.sqrt(least)))))
    volume = up(model.topology.volumes * (1.0 + anchors.slack), 4)
    paths = sum_up(up(volume * anchors.reach**2, 8))
    found.append(float(up(math.sqrt(paths + float(anchors.convex.max()) ** 2), 8)))  # band.md, step 2c
    return min(at_most(c) for c in found)


def residual_norm(setting: Setting, C: float) -> tuple[float, float]:
    """Upper bound of sup R(v)/‖v‖_{a_c} over linear elements v that vanish on Γ_D, and how much of it is rounding.

    C is that of `second_constant`.
    """
    model = setting.model
    r, wrong, lumped, data = linear_residual(setting)
    held = lumped <= 0.0  # vertices that stand for nothing
    held[_of(model, model.topology.facets[model.kind == DIRICHLET])] = True
    free = np.flatnonzero(~held)
    root, times = np.sqrt(lumped[free]), C * math.sqrt(model.d + 2.0)
    nodes, rounding = norm_up(up((np.abs(r) + wrong)[free] / root, 8)), norm_up(up(wrong[free] / root, 8))
    # band.md, step 2d
    return at_most(float(up(times * nodes + C * norm_up(data), 8))), at_most(float(up(times * rounding, 8)))


def linear_residual(setting: Setting) -> tuple[Vector, Vector, Vector, Vector]:
    """R(λ_i) for every vertex, as computed without the data's error, and a bound of its rounding.

    And lower bounds of the lumped masses Σ|K|/(d + 1), and upper bounds of ‖ε‖_K of the source on each cell.
    """
    model, side, seen = setting.model, setting.side, setting.cells
    d, T, N = model.d, model.topology, len(model.points)
    r, wrong, lumped, size = np.zeros(N), np.zeros(N), np.zeros(N), np.zeros(N)
    for i in range(d + 1):
        here, local = _of(model, T.cells[:, i]), seen.moments[i]
        r += np.bincount(here, local, minlength=N)
        size += np.bincount(here, np.abs(local), minlength=N)
        wrong += np.bincount(here, seen.blur, minlength=N)
        lumped += np.bincount(here, seen.share, minlength=N)
    data = np.asarray(up(np.sqrt(seen.norms.volume) * side.source.error2, 8))
    if side.load is not None:
        load, m = side.load, d - 1
        area, slack = measures(model.points[load.vertices])
        b = load.density.coefficients
        local = (b @ (shape_table(m, 1) @ gram(m)).T) * area[:, None]
        blur = up(area * ((slack + gamma(80)) * np.abs(b).max(axis=1) + (1.0 + slack) * load.density.error1), 16)
        at = _of(model, load.vertices)
        for i in range(d):
            r += np.bincount(at[:, i], local[:, i], minlength=N)
            size += np.bincount(at[:, i], np.abs(local[:, i]), minlength=N)
            wrong += np.bincount(at[:, i], blur, minlength=N)
    terms = int(np.bincount(_of(model, T.cells).ravel()).max()) + 2 * (d + 1) + d
    sums = gamma(2.0 * terms)  # of the sums over cells, and over facets
    return r, np.asarray(up(wrong * (1.0 + 2.0 * sums) + sums * size, 8)), np.asarray(down(lumped * (1.0 - sums))), data


def _of(model: Continuum, vertices: Index) -> Index:
    """What stands for vertices, where there are periodic pairs."""
    return vertices if model.gluing is None else np.asarray(model.gluing.vertex[vertices])  # robin.md, step 7g
