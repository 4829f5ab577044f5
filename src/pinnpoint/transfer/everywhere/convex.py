"""The mesh constant of a convex plane domain: a closed form, with no factorization at all.

Where κ is one number and Ω a convex polygon with Dirichlet values all around, or a rectangle whose sides are Dirichlet
or Neumann each as a whole, solutions have ‖D²w‖₂ ≤ ‖Δw‖₂, so that M_h is at most the constant of interpolation at the
vertices, ‖∇(w − Iw)‖_K ≤ C_K ‖D²w‖_K.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import UNIT, down, up
from pinnpoint.transfer.energy.geometry import Shapes

PI_DOWN = 3.141592653589793  # float64's value is below π
FRAMES = ((1.0, 1.0, 0.0), (1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (1.0, 1.0, 1.0))
"""Weights of the three edges' directions, of which the best counts on each cell."""


def convex_constant(topology: Topology, kappa: Vector, held: Mask) -> float | None:
    """An upper bound of M_h where κ is one number, the domain convex and held, or a rectangle with held sides; or None.

    Parameters
    ----------
    held
        The Dirichlet facets, (F,).
    """
    T = topology
    if T.dim != 2 or T.glued or not np.all(kappa == kappa[0]):
        return None
    if not (np.array_equal(held, T.boundary) or has_whole_sides(T, held)) or not is_convex(T.points, _outer(T)):
        return None
    worst = float(np.max(interpolation_constants(T)))
    return float(up(worst / down(math.sqrt(float(kappa[0]))), 4))  # band.md, step 1k


def _outer(topology: Topology) -> Index:
    return topology.facets[topology.boundary]


def has_whole_sides(topology: Topology, held: Mask) -> bool:
    """Whether boundary facets lie on the sides of the bounding box, each side held or free as a whole, some held."""
    P, fixed = topology.points[_outer(topology)], held[topology.boundary]
    covered = np.zeros(len(P), dtype=bool)
    for axis in (0, 1):
        for end in (P[:, :, axis].min(), P[:, :, axis].max()):
            here = np.all(P[:, :, axis] == end, axis=1)
            covered |= here
            if np.any(fixed[here]) and not np.all(fixed[here]):
                return False
    return bool(covered.all()) and bool(fixed.any())  # band.md, step 1n


def interpolation_constants(topology: Topology) -> Vector:
    """C_K with ‖∇(w − Iw)‖_K ≤ C_K ‖D²w‖_K for the linear interpolant at the vertices of each triangle."""
    T = topology
    shapes = Shapes.of(T.points, T.cells)
    P = T.points[T.cells]
    edges = np.stack([P[:, (i + 2) % 3] - P[:, (i + 1) % 3] for i in range(3)])  # the i-th is opposite the vertex i
    squares = (edges**2).sum(axis=2)
    # mean |x − a|² over K is (|p|² + |q|² + p·q)/6, p and q the edges at a, and 2 p·q = |p|² + |q|² − |p − q|²
    spread = (1.5 * (squares.sum(axis=0) - squares) - 0.5 * squares) / 6.0
    c2 = squares.max(axis=0) / PI_DOWN**2 + spread / 4.0  # band.md, step 1l
    unit = edges / np.sqrt(squares)[:, :, None]
    best = np.full(len(P), np.inf)
    for weights in FRAMES:
        w = np.array(weights)[:, None] * np.ones_like(c2)
        least = _determinant(weights, squares, shapes.volume) / _largest(w, unit)
        best = np.minimum(best, _largest(w * c2, unit) / least)  # band.md, step 1l
    return np.asarray(up(np.sqrt(best * (1.0 + 4.0 * shapes.slack)), 256))


def _determinant(weights: tuple[float, ...], squares: Vector, volume: Vector) -> Vector:
    """Of Σ w_i t_i t_iᵀ: Σ w_i w_j sin² of the angle between two edges, and that sine is 2|K| over their lengths."""
    pairs = ((0, 1), (0, 2), (1, 2))
    return np.asarray(sum(weights[i] * weights[j] * 4.0 * volume**2 / (squares[i] * squares[j]) for i, j in pairs))


def _largest(weights: Vector, unit: Vector) -> Vector:
    """The largest eigenvalue of Σ w_i t_i t_iᵀ on each cell; weights and directions (3, C) and (3, C, 2)."""
    a, b, c = ((weights * unit[:, :, i] * unit[:, :, j]).sum(axis=0) for i, j in ((0, 0), (1, 1), (0, 1)))
    return np.asarray(0.5 * (a + b + np.sqrt((a - b) ** 2 + 4.0 * c * c)))


def is_convex(points: Vector, facets: Index) -> bool:
    """Whether edges are the boundary of one convex polygon: one loop that only turns one way, and once around."""
    loop = _loop(facets)
    if loop is None:
        return False
    X = points[loop]
    e, f = np.roll(X, -1, axis=0) - X, np.roll(X, -2, axis=0) - np.roll(X, -1, axis=0)
    turn, along = e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0], (e * f).sum(axis=1)
    blur = 8.0 * UNIT * (np.abs(e[:, 0] * f[:, 1]) + np.abs(e[:, 1] * f[:, 0])) + 1e-300
    sign = np.where(np.abs(turn) > blur, np.sign(turn), 2.0)
    for i in np.flatnonzero(sign == 2.0):
        sign[i] = _turn(*(X[(i + k) % len(X)].tolist() for k in range(3)))
    angle = float(np.sum(np.arctan2(np.where(sign == 0.0, 0.0, turn), along)))
    one_way = bool(np.all(sign >= 0.0)) or bool(np.all(sign <= 0.0))
    return one_way and bool(np.all((sign != 0.0) | (along > 0.0))) and abs(abs(angle) - 2.0 * math.pi) < 1.0


def _turn(a: list[float], b: list[float], c: list[float]) -> float:
    """The sign of a turn, exactly."""
    (x0, y0), (x1, y1), (x2, y2) = ([Fraction(t) for t in p] for p in (a, b, c))
    cross = (x1 - x0) * (y2 - y1) - (y1 - y0) * (x2 - x1)
    return float((cross > 0) - (cross < 0))


def _loop(facets: Index) -> list[int] | None:
    """The vertices of one closed loop of edges in order; None where there are more, or edges branch."""
    near: dict[int, list[int]] = {}
    for a, b in facets.tolist():
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    if any(len(found) != 2 for found in near.values()):
        return None
    start = int(facets[0, 0])
    loop, last, here = [start], start, near[start][0]
    while here != start:
        loop.append(here)
        last, here = here, next(v for v in near[here] if v != last)
    return loop if len(loop) == len(near) and len(loop) > 2 else None
