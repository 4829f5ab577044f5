"""Conjugate gradients on many right-hand sides side by side: every product is one sparse product with a block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pinnpoint.base.arrays import Vector

Apply = Callable[[Vector], Vector]


def conjugate_gradients(apply: Apply, precondition: Apply, B: Vector, tolerance: float, iterations: int) -> Vector:
    """Approximate A⁻¹B for the columns of B, shape (n, k), each with scalars of its own.

    Columns leave the block when ‖r‖ ≤ tolerance ‖b‖, when their iteration breaks down, or when the budget is used up;
    what was reached is returned. Nothing is promised: whoever asks measures the defect.
    """
    X = np.zeros_like(B)
    goal = tolerance * np.sqrt(_dots(B, B))
    columns = np.flatnonzero((goal > 0.0) & np.isfinite(goal))
    R = np.ascontiguousarray(B[:, columns])
    x = np.zeros_like(R)
    P = Z = precondition(R)
    rz = _dots(R, Z)
    with np.errstate(all="ignore"):
        for _ in range(iterations):
            if not columns.size:
                break
            AP = apply(P)
            alpha = rz / _dots(P, AP)
            sound = np.isfinite(alpha) & (alpha > 0.0)
            alpha[~sound] = 0.0
            x += alpha * P
            R -= alpha * AP
            ahead = sound & (np.sqrt(_dots(R, R)) > goal[columns])
            if 4 * np.count_nonzero(ahead) <= 3 * columns.size:  # narrow the block
                X[:, columns[~ahead]] = x[:, ~ahead]
                columns, rz = columns[ahead], rz[ahead]
                x, R, P = (np.ascontiguousarray(V[:, ahead]) for V in (x, R, P))
                if not columns.size:
                    break
            Z = precondition(R)
            before, rz = rz, _dots(R, Z)
            P = Z + (rz / before) * P
    X[:, columns] = x
    return X


def _dots(A: Vector, B: Vector) -> Vector:
    return np.asarray(np.einsum("ij,ij->j", A, B))
