"""Rigid bodies and averages of decks (RBE2, RBE3): admissible motions, and forces spread over nodes.

Displacements are linear: a body's nodes move by u_i = t + θ × r_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.systems.spaces import AdmissibleSpace


@dataclass(frozen=True, eq=False)
class Body:
    """Nodes that move as one with a centre.

    Attributes
    ----------
    name
        For messages.
    centre
        Where t and θ are taken.
    tied
        A number of the centre: bodies with the same one share t and θ.
    master
        The mesh node at the centre whose displacement is t; −1 where the centre is no mesh node.
    rows
        The mesh nodes that follow.
    components
        Which of x, y, z follow.
    values
        t and θ where the supports fix them, NaN where they are free.
    """

    name: str
    centre: Vector
    tied: int
    master: int
    rows: Index
    components: Index
    values: Vector


def spread(points: Vector, weights: Vector, at: Vector, force: Vector, moment: Vector, name: str) -> Vector:
    """Forces on nodes with the resultant of a force and a moment at a point, as RBE3 spreads them.

    f_i = w_i (F/Σw + ω × r_i), r_i from the weighted centroid c, J ω = (x − c) × F + M, J = Σ w (|r|² I − r rᵀ).
    Among all forces with that resultant these have the least Σ |f_i|²/w_i.
    """
    total = float(weights.sum())
    centre = (weights @ points) / total
    r = points - centre
    J = np.einsum("n,nk,nk->", weights, r, r) * np.eye(3) - np.einsum("n,ni,nj->ij", weights, r, r)
    wanted = np.cross(at - centre, force) + moment
    size, axes = np.linalg.eigh(J)
    held = size > 1e-12 * max(float(size.max()), 0.0)
    turned = axes.T @ wanted
    lever = float(np.linalg.norm(at - centre)) + float(np.sqrt(max(float(size.max()), 0.0) / total))
    most = float(np.abs(moment).max()) + lever * float(np.abs(force).max())
    if np.any(~held & (np.abs(turned) > 1e-9 * most)):
        raise InputError(f"{name}: its nodes lie on a line or a point and cannot carry the moment applied to it")
    omega = axes @ np.where(held, turned / np.where(held, size, 1.0), 0.0)
    return np.asarray(weights[:, None] * (force / total + np.cross(omega, r)))


def space_with_bodies(points: Vector, fixed: Vector, bodies: Sequence[Body]) -> AdmissibleSpace:
    """The displacements, node by node, that agree with the supports and the rigid bodies.

    Parameters
    ----------
    points
        (n, d) mesh nodes.
    fixed
        (n, d) values where a displacement is prescribed, NaN elsewhere.
    bodies
        Rigid bodies, in three dimensions.
    """
    fixed = fixed.copy()
    loose: list[Body] = []
    for body in bodies:
        if np.isnan(body.values).any():
            loose.append(body)
        else:
            t, theta = body.values[:3], body.values[3:]
            moved = t + np.cross(theta, points[body.rows] - body.centre)
            _set(fixed, body, moved)
    n, d = fixed.shape
    if not loose:
        dofs = np.flatnonzero(~np.isnan(fixed))
        if not dofs.size:
            raise InputError("nothing holds the body: no displacement is fixed")
        return AdmissibleSpace.dirichlet(n * d, dofs, fixed.ravel()[dofs])
    return _eliminated(points, fixed, loose)


def _set(fixed: Vector, body: Body, moved: Vector) -> None:
    where = np.ix_(body.rows, body.components)
    old, new = fixed[where], moved[:, body.components]
    if np.any(~np.isnan(old) & (old != new)):
        row = int(np.argmax((~np.isnan(old) & (old != new)).any(axis=1)))
        raise InputError(f"{body.name}: node row {int(body.rows[row])} is also fixed to another value elsewhere")
    fixed[where] = new


def _eliminated(points: Vector, fixed: Vector, loose: Sequence[Body]) -> AdmissibleSpace:
    """U₀ + Z y with a column for every free entry and for every free motion of a body."""
    n, d = fixed.shape
    slave = np.zeros((n, d), dtype=bool)
    for body in loose:
        where = np.ix_(body.rows, body.components)
        if slave[where].any() or not np.isnan(fixed[where]).all() or body.master in body.rows:
            raise InputError(f"{body.name}: its nodes are also held by a support or by another rigid element")
        slave[where] = True
    for body in loose:
        if body.master >= 0 and slave[body.master].any():
            raise InputError(f"{body.name}: its centre follows another rigid element; chains are not read")
    free = np.flatnonzero((np.isnan(fixed) & ~slave).ravel())
    column = np.full(n * d, -1)
    column[free] = np.arange(free.size)
    U0 = np.where(np.isnan(fixed), 0.0, fixed).ravel()
    rows, columns, values, count = [free], [np.arange(free.size)], [np.ones(free.size)], free.size
    motions: dict[int, Index] = {}
    for body in loose:
        T = np.concatenate([np.broadcast_to(np.eye(3), (len(body.rows), 3, 3)), _turns(points, body)], axis=2)
        T = T[:, body.components]
        dofs = (body.rows[:, None] * d + body.components).ravel()
        known = body.values.copy()
        number = motions.setdefault(body.tied, np.full(6, -1))
        if body.master >= 0:
            number[:3] = column[body.master * d : body.master * d + 3]
            known[:3] = fixed[body.master]
        U0[dofs] = (T @ np.nan_to_num(known)).ravel()
        flat = T.reshape(-1, 6)
        for k in np.flatnonzero(np.isnan(known)):
            hit = np.flatnonzero(flat[:, k])
            if not hit.size:
                continue
            if number[k] < 0:
                number[k], count = count, count + 1
            rows.append(dofs[hit])
            columns.append(np.full(hit.size, number[k]))
            values.append(flat[hit, k])
    Z = sp.csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(n * d, count))
    try:
        return AdmissibleSpace(U0, Z)
    except InputError as error:
        raise InputError(
            f"{', '.join(b.name for b in loose)}: their free motions are not independent ({error})"
        ) from error


def _turns(points: Vector, body: Body) -> Vector:
    """θ ↦ θ × r per node, (m, 3, 3)."""
    x, y, z = (points[body.rows] - body.centre).T
    o = np.zeros_like(x)
    return np.stack([np.stack([o, z, -y], 1), np.stack([-z, o, x], 1), np.stack([y, -x, o], 1)], axis=1)
