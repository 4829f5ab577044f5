"""A query of a solid as a functional that is bounded in the energy norm, and the tensors of stresses and strains."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import at_most, sum_up, up
from pinnpoint.systems.goals import (
    CellStrain,
    CellStressAlong,
    Strain,
)
from pinnpoint.transfer.elastic.loads import Load, StressLoad, root_mean_square
from pinnpoint.transfer.elastic.reference import voigt
from pinnpoint.transfer.elastic.solid import Solid


@dataclass(frozen=True, eq=False)
class Functional:
    """J(v) = ∫ b·v + ∫ t·v + ∫ S : ε(v) + constant.

    Attributes
    ----------
    load
        b, t and S.
    constant, error, data
        The constant, a bound of its error, and the part of that which is due to the integration of data.
    lift
        Boundary values of the dual state (nodes · d, zero elsewhere), for reactions.
    known
        Whether J does not depend on the solution at all: it is the constant.
    own
        Whether it is the work of the loads themselves.
    scale
        Relative error of the load as a whole.
    stress_norm
        Upper bound of ‖S‖.
    ball
        Radius of the kernel's ball.
    proved
        False where an ingredient is an estimate.
    """

    load: Load = field(default_factory=Load)
    constant: float = 0.0
    error: float = 0.0
    data: float = 0.0
    lift: Vector | None = None
    known: bool = False
    own: bool = False
    scale: float = 0.0
    stress_norm: float = 0.0
    ball: float = math.nan
    proved: bool = True
    note: str = ""
    outlook: str = ""
    work: int = 0

    __repr__ = brief

    @property
    def sign(self) -> float:
        """Of the weak residual and of a(e, ε) in J(u)."""
        return 1.0 if self.lift is None else -1.0  # elasticity.md, step 10d


def unit_tensor(d: int, i: int, j: int) -> Vector:
    """E_ij = sym(e_i ⊗ e_j), by its entries."""
    return np.array([(0.5 if i != j else 1.0) if {a, b} == {i, j} else 0.0 for a, b in voigt(d)])


def tensor_on(solid: Solid, cells: Any, goal: Any) -> Vector:
    """CE_ij, or E_ij, on cells, (n, ns)."""
    along = isinstance(goal, CellStressAlong)
    E = np.array(goal.along) if along else unit_tensor(solid.d, goal.i, goal.j)
    mu, lam = solid.mu[cells], solid.lam[cells]
    if isinstance(goal, Strain | CellStrain):
        return np.repeat(E[None], len(mu), axis=0)
    diagonal = np.array([1.0 if a == b else 0.0 for a, b in voigt(solid.d)])
    if along:
        trace = float(E @ diagonal)
        return np.asarray(2.0 * mu[:, None] * E + lam[:, None] * trace * diagonal)
    # elasticity.md, step 10h
    return np.asarray(2.0 * mu[:, None] * E + (lam[:, None] * diagonal if goal.i == goal.j else 0.0))


def with_norm(solid: Solid, J: Functional, S: StressLoad) -> Functional:
    """The same with a bound of ‖S‖, and with the rounding of its tensor."""
    cells = slice(None) if S.weight.cells is None else S.weight.cells
    size = root_mean_square(S.weight) * solid.d * np.abs(S.tensor).max(axis=1)
    square = size * size * solid.topology.volumes[cells] * (1.0 + solid.slack[cells]) / solid.c_min[cells]
    return replace(J, stress_norm=at_most(up(math.sqrt(sum_up(up(square, 16))), 4)))


def given_on(solid: Solid, facet: int, k: int) -> Any:
    """What is given of a component on a facet that is held in it."""
    for facets, given in solid.dirichlet:
        if given[k] is not None and facet in facets:
            return given[k]
    raise InputError(f"fixed: facet {facet} is held in component {'xyz'[k]} without data")
