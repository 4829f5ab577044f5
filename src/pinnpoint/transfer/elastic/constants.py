"""What loads that no rigid motion feels cost on a cell: Korn's constants of simplices.

Let K̂ be Kuhn's simplex 0, e_1, e_1 + e_2, … (in the plane a right isosceles triangle of leg 1), and x ↦ Bx + b a map of
K̂ onto the cell K. The covariant pull-back v̂ = Bᵀv∘(Bx + b) takes rigid motions to rigid motions, linear fields to
linear fields, and has ε̂(v̂) = Bᵀε(v)B. So for every v on K

    min over rigid r  ‖v − r‖_K ≤ ĉ ‖B‖²‖B⁻¹‖ ‖ε(v)‖_K ,     min over quadratic q  ‖v − q‖_K ≤ ĉ₂ ‖B‖²‖B⁻¹‖ ‖ε(v)‖_K ,
    ∫_F t·v ≤ ĉ_F ‖B‖²‖B⁻¹‖ √(|F||K̂| / (|F̂||K|)) ‖t‖_F ‖ε(v)‖_K   for t ⟂ linear fields on the facet F,

spectral norms, in the best order of the vertices of K. All of K̂'s constants are proved by verified eigenvalue bounds
(elasticity.md, steps 5c to 5f), which a test computes again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, up

RIGID = {2: 0.623, 3: 0.814}
"""ĉ, by dimension, rounded up."""
QUADRATIC = {2: 0.332, 3: 0.52}
"""ĉ₂, rounded up: for loads that are orthogonal to all quadratics."""
LIFT = {2: 0.34, 3: 0.5}
"""Upper bounds of ‖τ‖/‖p‖ on K̂ for the lift τ of linear forces p (see `lift`)."""
MEAN = {2: 1.2248, 3: 1.6528}
"""Upper bounds of r/√(d!), r the largest ‖σ‖ on K̂ of stresses of body moments e, |e| = 1, alone."""
TRACE = {2: 1.73, 3: 3.06}
"""ĉ_F, by dimension, the largest over the facets of K̂, rounded up."""
SQUARINGS = 6
"""‖A^64‖_F^(1/64) exceeds the spectral norm of a 3 × 3 matrix A by less than 0.9 %."""


def stretch(points: Vector, cells: Index) -> Vector:
    """Upper bounds (n,) of ‖B‖²‖B⁻¹‖ in the best order of the vertices: what a cell makes of K̂'s constants.

    Infinite for cells that are too flat.
    """
    best = np.full(len(cells), np.inf)
    for shape, _ in _stretches(points, cells):
        best = np.minimum(best, shape)
    return best  # elasticity.md, step 5c


def trace_constant(points: Vector, cells: Index, opposite: Index, areas: Vector, volumes: Vector) -> Vector:
    """Upper bounds (n,) of c_F for the facets opposite the local vertices `opposite` of cells.

    Guarantee: |∫_F t·v| ≤ c_F‖t‖_F‖ε(v)‖_K for t orthogonal to the linear fields on F.

    Parameters
    ----------
    areas, volumes
        Upper bounds of |F| and lower bounds of |K|.
    """
    d = points.shape[1]
    best = np.full(len(cells), np.inf)
    for shape, order in _stretches(points, cells):
        place = np.argsort(order)[opposite]  # F is the image of the facet opposite this vertex of K̂
        ends = (place == 0) | (place == d)
        thin = np.where(ends, 1.0, 0.7071067811865476) / d  # |K̂|/|F̂| = 1/d, or 1/(d√2)   # elasticity.md, step 5f
        best = np.minimum(best, up(shape * np.sqrt(up(areas * thin, 4) / volumes), 8))
    return np.asarray(up(TRACE[d] * best, 4))  # elasticity.md, step 5f


def _stretches(points: Vector, cells: Index) -> Iterator[tuple[Vector, tuple[int, ...]]]:
    """Upper bounds of ‖B‖²‖B⁻¹‖ for each order of the vertices; a path and its reverse have the same.

    The columns of B are the steps of the path x_0, x_1, … through the vertices: differences, one rounding each.
    """
    X, d = points[cells], points.shape[1]
    for order in permutations(range(d + 1)):
        if order[0] > order[-1]:
            continue
        B = np.swapaxes(np.diff(X[:, order], axis=1), 1, 2)
        yield up(spectral_norm(B) ** 2 * _inverse_norm(B), 8), order


def spectral_norm(A: Vector) -> Vector:
    """Upper bounds (n,) of ‖A + ΔA‖ for |ΔA| ≤ 2⁻⁵³|A| and all rounding, A (n, d, d).

    With X_0 = AᵀA and X_{k+1} = X_k², ‖A‖^{2^{k+1}} ≤ ‖X_k‖_F. Squares are taken of matrices scaled to ‖X‖_F = 1.
    """
    size = np.sqrt((A * A).sum(axis=(1, 2)))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        X = A / size[:, None, None]
        X = np.matmul(np.swapaxes(X, 1, 2), X)
        exponent, log = 0.5, np.zeros(len(A))
        for _ in range(SQUARINGS):
            now = np.sqrt((X * X).sum(axis=(1, 2)))
            log += exponent * np.log(now)
            X = X / now[:, None, None]
            X, exponent = np.matmul(X, X), 0.5 * exponent
        log += exponent * np.log(np.sqrt((X * X).sum(axis=(1, 2))))
        found = size * np.exp(log)
    # ‖X‖ ≥ ‖X‖_F/√d, so each rounded square loses at most the factor 1 − d γ; all together far below 2¹² u
    found = found * (1.0 + 4096.0 * UNIT) + TINY  # elasticity.md, step 5c
    found[size == 0.0] = TINY
    return np.where(np.isnan(found), np.inf, found)


def _inverse_norm(B: Vector) -> Vector:
    """Upper bounds of ‖(B + ΔB)⁻¹‖ for |ΔB| ≤ 2⁻⁵³|B|: ‖X‖/(1 − ‖I − X(B + ΔB)‖) with X nearly the inverse."""
    d = B.shape[1]
    X = _inverses(B)
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.matmul(np.abs(X), np.abs(B))
        gap = np.abs(np.eye(d) - np.matmul(X, B)) + gamma(d + 3) * (size + np.eye(d))
        wrong = up(np.sqrt((gap * gap).sum(axis=(1, 2))), 16)
        found = up(spectral_norm(X) / (1.0 - wrong), 8)  # elasticity.md, step 5c
    return np.where(wrong < 0.5, found, np.inf)


def _inverses(B: Vector) -> Vector:
    """Inverses in floating point, infinite where there is none."""
    flat = np.linalg.det(B) == 0.0
    X = np.linalg.inv(np.where(flat[:, None, None], np.eye(B.shape[1]), B))
    X[flat] = np.inf
    return np.asarray(X)
