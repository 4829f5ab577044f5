"""Forces and moments spread over the nodes of a patch, as RBE3 elements of structural codes do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import Nodes

PASSES = 3
FLAT = 1e-12
"""Second moments below this part of the largest count as zero: the nodes lie on a line or at one place."""


@dataclass(frozen=True)
class Load:
    """A force and a moment at a reference point, carried by all nodes of a boundary group (`spread`).

    Parameters
    ----------
    force
        One number per direction.
    moment
        About the reference point: three numbers, in 2D one.
    at
        The reference point; the mean of the nodes unless told.
    """

    force: tuple[float, ...]
    moment: tuple[float, ...] | float | None = None
    at: tuple[float, ...] | None = None

    __repr__ = brief

    @property
    def text(self) -> str:
        """For people."""
        moment = "" if self.moment is None else f", moment {self.moment}"
        where = "the nodes' mean" if self.at is None else f"{self.at}"
        return f"force {self.force}{moment} at {where}, spread over the nodes"


def spread(
    points: ArrayLike,
    force: Any,
    moment: ArrayLike | None = None,
    at: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Vector:
    """Nodal forces with a given resultant, (n, d).

    f_i = w_i (F/W + ω × r_i) with W = Σ w_i, r_i the place from the weighted mean c of the nodes and

        J ω = (x_ref − c) × F + M,   J = Σ w_i (|r_i|² I − r_i r_iᵀ),

    so that Σ f_i = F and Σ (x_i − x_ref) × f_i = M. What rounding leaves of both is spread again, so that they hold to
    a few units in the last place of the forces' own sums.

    Parameters
    ----------
    points
        (n, d), d = 2 or 3.
    force, moment, at
        F, M and x_ref as in `Load`.
    weights
        w ≥ 0, one per node; all 1 unless told.
    """
    X = floats("points", points)
    if X.ndim != 2 or X.shape[1] not in (2, 3) or not len(X):
        raise InputError(f"points: must have shape (n, 2) or (n, 3), n ≥ 1; got {X.shape}")
    d = X.shape[1]
    w = np.ones(len(X)) if weights is None else vector("weights", weights, len(X), sign="nonnegative")
    total = math.fsum(w)
    if total <= 0.0:
        raise InputError("weights: are all zero; give at least one node a weight")
    c = w @ X / total
    reference = c if at is None else vector("at", at, d)
    F = _three(vector("force", force, d))
    M = np.zeros(3) if moment is None else _moment(moment, d)
    R, S = _three(X - c), _three(X - reference)
    J = np.einsum("i,ij,ij->", w, R, R) * np.eye(3) - np.einsum("i,ij,ik->jk", w, R, R)
    arm = _three(reference - c)
    f = np.zeros_like(R)
    lost_force, lost_moment = F, M
    for _ in range(PASSES):
        omega = _solve(J, np.cross(arm, lost_force) + lost_moment)
        f += w[:, None] * (lost_force / total + np.cross(omega, R))
        lost_force = np.array([math.fsum([F[k], *(-f[:, k])]) for k in range(3)])
        turns = np.cross(S, f)
        lost_moment = np.array([math.fsum([M[k], *(-turns[:, k])]) for k in range(3)])
    arms = float(np.abs(S).max())
    scale = float(np.abs(M).max()) + arms * max(float(np.abs(F).max()), float(np.abs(f).sum() / len(f)))
    if float(np.abs(lost_moment).max()) > 1e-9 * scale:
        raise InputError("moment: cannot be carried by nodes that lie on a line or at one place; choose a wider patch")
    return f[:, :d]


def spread_over(nodes: Nodes, group: str, load: Load) -> Vector:
    """The nodal forces of a load on a boundary group, (n, d)."""
    here = np.unique(nodes.facet_dofs(nodes.mesh.facets(group)))
    if not len(here):
        raise InputError(f"force '{group}': the group has no facets")
    b = np.zeros(nodes.points.shape)
    try:
        b[here] = spread(nodes.points[here], load.force, load.moment, load.at)
    except InputError as error:
        raise InputError(f"force '{group}': {error}") from error
    return b


def _solve(J: Vector, turn: Vector) -> Vector:
    """ω of smallest length; directions about which the nodes cannot turn are left out."""
    values, axes = np.linalg.eigh(J)
    held = values > FLAT * max(float(values[-1]), np.finfo(float).tiny)
    return np.asarray(axes[:, held] @ ((axes[:, held].T @ turn) / values[held]))


def _moment(moment: ArrayLike, d: int) -> Vector:
    if d == 3:
        return vector("moment", moment, 3)
    return np.array([0.0, 0.0, float(vector("moment", np.atleast_1d(moment), 1)[0])])


def _three(x: Vector) -> Vector:
    """With a zero third coordinate in 2D."""
    return x if x.shape[-1] == 3 else np.concatenate([x, np.zeros((*x.shape[:-1], 1))], axis=-1)
