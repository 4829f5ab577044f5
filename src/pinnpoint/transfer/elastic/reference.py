"""The symmetric stress of Johnson and Mercier (2D) and Křížek (3D) on the reference simplex, in integers.

A *split* cell is cut into d + 1 sub-simplices, in sub-simplex s the centroid stands for vertex s. Stresses are linear
on each of them; the *split node* (s, a) is vertex a of sub-simplex s, and (s, s) its centroid. On the reference simplex
(the origin and the unit vectors) such a stress is given by the moments ∫_F (σn) λ_i of its facets and by the moments
∫ f λ_i of a body force:

    σ = (R m)/den + R_f f,     R and R_f integer, den = d + 1.

That these integers are the right ones is not believed but verified, in integers, against the three conditions that
every proof uses: continuous σn between sub-simplices, the facets' moments, the mean.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import CertificationError

Integers = NDArray[np.int64]


def voigt(d: int) -> list[tuple[int, int]]:
    """Entries of a symmetric tensor in the order in which they are stored: xx, xy, yy or xx, xy, xz, yy, yz, zz."""
    return [(a, b) for a in range(d) for b in range(a, d)]


def congruence(A: Vector) -> Vector:
    """Matrices of S ↦ A S Aᵀ on stored entries, (n, ns, ns), for A (n, d, d)."""
    p, q = np.array(voigt(A.shape[1])).T
    found = A[:, p[:, None], p] * A[:, q[:, None], q]
    off = np.flatnonzero(p != q)
    found[:, :, off] += A[:, p[:, None], q[off]] * A[:, q[:, None], p[off]]
    return np.asarray(found)


def slots(d: int) -> list[tuple[int, int]]:
    """(j, i), j major: vertex i of the facet opposite vertex j; a cell's moments come in this order."""
    return [(j, i) for j in range(d + 1) for i in range(d + 1) if i != j]


@cache
def numerators(d: int) -> tuple[Integers, Integers, int]:
    """R, R_f and den: reference stresses of moments and of body forces.

    Returns
    -------
    R
        ((d + 1)² ns, (d + 1) d d): rows (s, a, entry), columns (slot, component); the stress is R m / den.
    R_f
        ((d + 1)² ns, (d + 1) d): columns (vertex, component); the stress is R_f f.
    den
        3 in 2D, 4 in 3D.

    Guarantee: `verified`; a wrong table raises.
    """
    den = d + 1
    ties, moments, mean = (A.astype(np.float64) for A in conditions(d))
    inverse = np.linalg.inv(np.vstack([ties, moments, mean]))
    nt, nm = len(ties), len(moments)
    of_moments, of_mean = inverse[:, nt : nt + nm], inverse[:, nt + nm :]
    by_slots, by_vertices = (A.astype(np.float64) for A in first_moments(d))
    R = den * (factorial(d + 1) * of_moments + of_mean @ by_slots)
    Rf = of_mean @ by_vertices
    found: tuple[Integers, Integers, int] = np.rint(R).astype(np.int64), np.rint(Rf).astype(np.int64), den
    if not verified(d, *found):
        raise CertificationError("stress: the reference tables do not satisfy their conditions")
    for table in found[:2]:
        table.flags.writeable = False
    return found


def verified(d: int, R: Integers, Rf: Integers, den: int) -> bool:
    """Whether stresses of these tables have continuous σn, the given moments and the mean of the formula.

    All in integers, the largest below 10⁵.
    """
    ties, moments, mean = conditions(d)
    by_slots, by_vertices = first_moments(d)
    unit = np.eye(len(slots(d)) * d, dtype=np.int64)
    return bool(
        not np.any(ties @ R)  # elasticity.md, step 1b
        and not np.any(ties @ Rf)
        and np.array_equal(moments @ R, factorial(d + 1) * den * unit)  # elasticity.md, step 1b
        and not np.any(moments @ Rf)
        and np.array_equal(mean @ R, den * by_slots)  # elasticity.md, step 1b
        and np.array_equal(mean @ Rf, by_vertices)
    )


@cache
def conditions(d: int) -> tuple[Integers, Integers, Integers]:
    """Rows over the stresses at split nodes: jumps of σn inside, (d + 1)! times the facets' moments, 2(d + 1) Σ σ.

    With outward area vectors A_j = −∇λ_j/(d − 1)! the moment of a linear field on a facet is
    ∫_F σn λ_i = Σ_{a≠j} (1 + δ_ai) σ(j, a) A_j/(d(d + 1)). The mean of σ is Σ σ/(d + 1)², the sum over all split nodes.
    """
    n1, ns = d + 1, len(voigt(d))
    V = n1 * np.vstack([np.zeros((1, d), dtype=np.int64), np.eye(d, dtype=np.int64)])  # n1 times the vertices
    gradients = np.vstack([-np.ones((1, d), dtype=np.int64), np.eye(d, dtype=np.int64)])
    centre = V.sum(axis=0) // n1
    ties, moments = [], []
    for s, t in combinations(range(n1), 2):
        rest = [v for v in range(n1) if v not in (s, t)]
        normal = _normal([V[v] - centre for v in rest])
        for a, b in [*((v, v) for v in rest), (s, t)]:  # the last is the centroid
            ties.append(_traction(d, s, a, normal) - _traction(d, t, b, normal))
    for j, i in slots(d):
        parts = [(1 + (a == i)) * _traction(d, j, a, -gradients[j]) for a in range(n1) if a != j]
        moments.append(np.sum(parts, axis=0))
    mean = 2 * n1 * np.tile(np.eye(ns, dtype=np.int64), n1 * n1)
    return np.vstack(ties), np.vstack(moments), mean


@cache
def first_moments(d: int) -> tuple[Integers, Integers]:
    """2(d + 1) Σ σ = 2(d + 1)³ d! |K|s as rows over moments (slot, component) and over body forces (vertex, component).

    |K| s = sym Σ_i t_i ⊗ (x_i − x̄), t_i the sum of what the slots (j, i) and the body force give to vertex i.
    """
    n1, pairs = d + 1, voigt(d)
    V = np.vstack([np.zeros((1, d), dtype=np.int64), np.eye(d, dtype=np.int64)])
    arms = n1 * V - V.sum(axis=0)  # n1 (x_i − x̄)
    rows = np.zeros((len(pairs), n1, d), dtype=np.int64)
    for k, (p, q) in enumerate(pairs):
        rows[k, :, p] += arms[:, q]
        rows[k, :, q] += arms[:, p]
    rows *= n1**2 * factorial(d)
    by_slots = np.stack([rows[:, i] for _, i in slots(d)], axis=1)
    return by_slots.reshape(len(pairs), -1), rows.reshape(len(pairs), -1)


@cache
def roots(d: int) -> tuple[Vector, Vector, Vector]:
    """R, den R_f and the linear fields, times the square root of the mass matrix (1 + δ) of the nodes of a sub-simplex.

    With S = roots[0] m + roots[1] f − den · roots[2] v in reference coordinates, the sum of H(S, S) over all nodes
    is the square of a norm. Floats: for searching, not for proving.
    """
    R, Rf, den = numerators(d)
    n1, ns = d + 1, len(voigt(d))
    root = np.eye(n1) + (np.sqrt(n1 + 1.0) - 1.0) / n1
    spread = np.stack([np.eye(n1)] * n1)
    for s in range(n1):
        spread[s, s] = 1.0 / n1
    return (
        np.einsum("ab,sbr->sar", root, R.reshape(n1, n1, -1)).reshape(n1 * n1 * ns, -1),
        np.einsum("ab,sbr->sar", root, den * Rf.reshape(n1, n1, -1)).reshape(n1 * n1 * ns, -1),
        np.einsum("ab,sbv->sav", root, spread).reshape(n1 * n1, n1),
    )


def _normal(edges: list[Integers]) -> Integers:
    """A vector across d − 1 edges."""
    if len(edges) == 1:
        return np.array([edges[0][1], -edges[0][0]])
    return np.cross(edges[0], edges[1])


def _traction(d: int, s: int, a: int, normal: Integers) -> Integers:
    """Rows that take all stresses to σ n at the node (s, a)."""
    pairs, n1 = voigt(d), d + 1
    rows = np.zeros((d, n1 * n1, len(pairs)), dtype=np.int64)
    for k, (p, q) in enumerate(pairs):
        rows[p, s * n1 + a, k] += normal[q]
        if p != q:
            rows[q, s * n1 + a, k] += normal[p]
    return rows.reshape(d, -1)
