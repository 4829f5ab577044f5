"""The closed form of the mesh constant on convex plane domains: hypotheses exactly, constants against functions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.quadrature import rule
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.everywhere.convex import convex_constant, interpolation_constants, is_convex
from pinnpoint.transfer.everywhere.mesh_constant import mesh_constant
from pinnpoint_verify.convex import _hull
from tests.unit.transfer.everywhere.test_mesh_constant import below, distorted

LOOP = lambda n: np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)  # noqa: E731


def around(n: int, times: int = 1) -> np.ndarray:
    angle = 2.0 * np.pi * times * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def both(points: np.ndarray, edges: np.ndarray) -> bool:
    """What both programs say."""
    found = is_convex(points, edges)
    assert _hull(points, edges) == found
    return found


def test_convexity_is_decided_exactly():
    assert both(around(17), LOOP(17))
    assert both(around(17)[::-1], LOOP(17))
    square = np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert both(square, LOOP(5))
    dented = square.copy()
    dented[1, 1] = 5e-324
    assert not both(dented, LOOP(5))
    dented[1, 1] = -5e-324
    assert both(dented, LOOP(5))
    near = np.array([[0.0, 0.0], [0.3, 0.1], [3.0, 1.0], [0.0, 1.0]])  # 3 times 0.1 is not 0.3 in floats
    assert both(near, LOOP(4)) == (3 * Fraction(0.1) <= Fraction(0.3))
    near[1] = 0.6, 0.2
    assert both(near, LOOP(4)) == (3 * Fraction(0.2) <= Fraction(0.6))
    assert not is_convex(around(5, times=2), LOOP(5))  # a pentagram turns one way, twice
    assert not is_convex(np.concatenate([around(8), 0.5 * around(8)]), np.concatenate([LOOP(8), 8 + LOOP(8)]))
    for kind in ("lshape", "dumbbell"):
        T = Topology.of(generate(kind, 2))
        assert not both(T.points, T.facets[T.boundary])


def ratios(T: Topology, degree: int = 3) -> np.ndarray:
    """The largest ‖∇(w − Iw)‖/‖D²w‖ over polynomials on each triangle: from below."""
    bary, weights = rule(2, 6)
    found = []
    for K in T.points[T.cells]:
        X = bary @ K
        centre = K.mean(axis=0)
        size = np.ptp(K, axis=0).max()
        x, y = ((X - centre) / size).T
        X0 = (K - centre) / size
        powers = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i) if i + j > 1]
        lift = np.linalg.inv(np.concatenate([np.ones((3, 1)), X0], axis=1))
        slopes, seconds = [], []
        for i, j in powers:
            values = X0[:, 0] ** i * X0[:, 1] ** j
            gx, gy = (lift @ values)[1:]
            dx = i * x ** max(i - 1, 0) * y**j - gx
            dy = j * x**i * y ** max(j - 1, 0) - gy
            slopes.append(np.concatenate([dx, dy]))
            xx = i * (i - 1) * x ** max(i - 2, 0) * y**j
            yy = j * (j - 1) * x**i * y ** max(j - 2, 0)
            xy = i * j * x ** max(i - 1, 0) * y ** max(j - 1, 0)
            seconds.append(np.concatenate([xx, yy, math.sqrt(2.0) * xy]))
        G, H = np.array(slopes), np.array(seconds)
        A, B = (G * np.tile(weights, 2)) @ G.T, (H * np.tile(weights, 3)) @ H.T
        L = np.linalg.inv(np.linalg.cholesky(B))
        found.append(size * math.sqrt(np.linalg.eigvalsh(L @ A @ L.T)[-1]))
    return np.array(found)


def test_interpolation_constants_lie_above_what_polynomials_attain():
    """And not far: half of them, or less, fails."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(-1, 1, (90, 2)), [[0, 0], [1, 0], [0, 1], [0.5, math.sqrt(0.75)]]])
    T = Topology(points, np.concatenate([np.arange(90).reshape(-1, 3), [[90, 91, 92], [90, 91, 93]]]))
    seen, claimed = ratios(T), interpolation_constants(T)
    assert np.all(seen <= claimed)
    assert np.all(seen[-2:] > 0.5 * claimed[-2:])
    assert claimed[-2] == pytest.approx(0.60770802)


@pytest.mark.parametrize("n", [2, 4])
def test_the_closed_form_lies_above_what_a_finer_mesh_attains(n):
    straight = Topology.of(generate("square", n))
    flat = Topology(straight.points * [1.0, 0.25], straight.cells)
    for T in (straight, distorted("square", n), flat):
        kappa = np.full(len(T.cells), 3.0)
        low, found = below(T, kappa, T.boundary), convex_constant(T, kappa, T.boundary)
        assert found is not None
        assert low <= found <= 5.0 * low


@pytest.mark.parametrize("sides", [("left",), ("left", "right"), ("bottom", "right"), ("left", "right", "top")])
def test_rectangles_may_have_free_sides(sides):
    mesh = generate("square", 4)
    T = Topology(mesh.points * [1.0, 0.6], mesh.cells)
    held, kappa = np.zeros(len(T.facets), dtype=bool), np.full(len(T.cells), 0.5)
    for side in sides:
        held[Topology.of(mesh).numbers_of_group(mesh, side)] = True
    low, found = below(T, kappa, held), convex_constant(T, kappa, held)
    assert found is not None
    assert low <= found <= 5.0 * low
    part = held.copy()
    part[np.flatnonzero(held)[0]] = False
    assert convex_constant(T, kappa, part) is None  # the condition changes within a side
    assert convex_constant(T, kappa, np.zeros_like(held)) is None
    leaning = Topology(mesh.points + mesh.points[:, ::-1] * [0.3, 0.0], mesh.cells)
    assert convex_constant(leaning, kappa, held) is None


def test_hypotheses():
    T = Topology.of(generate("square", 4))
    one = np.ones(len(T.cells))
    assert convex_constant(T, one, T.boundary) < mesh_constant(T, one, T.boundary).value
    assert convex_constant(T, np.where(np.arange(len(one)) > 3, 2.0, 1.0), T.boundary) is None
    free = T.boundary.copy()
    free[np.flatnonzero(free)[0]] = False
    assert convex_constant(T, one, free) is None
    for kind in ("lshape", "cube", "interval"):
        other = Topology.of(generate(kind, 2))
        assert convex_constant(other, np.ones(len(other.cells)), other.boundary) is None
