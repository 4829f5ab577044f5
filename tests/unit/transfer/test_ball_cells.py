"""Cells in a ball, cut by its sphere and outside, and the mollifier inside, against exact rationals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.taylor.bernstein import pairs
from pinnpoint.transfer.points.ball_cells import MeshCells
from pinnpoint.transfer.points.profiles import Profile


@dataclass(frozen=True)
class Bump:
    """A mollifier of which nothing but its shape is known."""

    d: int
    radius: float
    profile: Profile
    peak: float = 3.7
    peak_error: float = 0.0
    mass: float = 1.0
    mass_error: float = 0.0


def exactly(x):
    return [Fraction(float(c)) for c in x]


def height(corners, x0, radius, bary):
    """1 − |x − x₀|²/R² of a point of a cell."""
    x = [sum(b * v[i] for b, v in zip(bary, corners, strict=True)) - c for i, c in enumerate(exactly(x0))]
    return 1 - sum(c * c for c in x) / Fraction(radius) ** 2


@pytest.mark.parametrize(("kind", "cells"), [("interval", 40), ("square", 9), ("cube", 5)])
def test_the_mollifier_inside_is_known_but_for_rounding_and_cells_left_out_are_outside(kind, cells):
    mesh, rng = pp.io.generate(kind, cells), np.random.default_rng(1)
    d, x0, radius = mesh.dim, np.full(mesh.dim, 0.437), 0.3331
    ball = MeshCells.of(mesh.points, mesh.cells).about(x0, radius)
    w = ball.mollified(Bump(d, radius, Profile(1)))
    assert len(ball.inside)
    assert len(ball.cut)
    row = {cell: i for i, cell in enumerate(ball.inside.tolist())}
    far = sorted(set(range(len(mesh.cells))) - set(ball.near.tolist()))
    for cell in [*rng.permutation(ball.inside)[:12].tolist(), *rng.permutation(far)[:12].tolist()]:
        corners = [exactly(v) for v in mesh.points[mesh.cells[cell]]]
        for _ in range(4):
            weights = rng.integers(0, 9, d + 1) + 1
            bary = [Fraction(int(a), int(weights.sum())) for a in weights]
            t = height(corners, x0, radius, bary)
            if cell not in row:
                assert t < 0
                continue
            beta = exactly(w.coefficients[row[cell]])
            held = sum(b * bary[j] * bary[q] * (1 if j == q else 2) for b, (j, q) in zip(beta, pairs(d), strict=True))
            assert t > 0
            assert abs(held - Fraction(3.7) * t) <= Fraction(float(w.error1[row[cell]]))
    assert np.all(w.error1 < 1e-13)


def test_a_peak_that_is_not_known_counts():
    """The error of the height is in that of the mollifier, and of the ball itself nothing else."""
    mesh = pp.io.generate("square", 6)
    ball = MeshCells.of(mesh.points, mesh.cells).about(np.array([0.5, 0.5]), 0.45)
    for k in (0, 1):
        w = ball.mollified(Bump(2, 0.45, Profile(k), peak_error=0.25))
        assert np.all((w.error1 >= 0.25) & (w.error2 >= 0.25) & (w.error2 <= 0.2500001))
    assert np.all(w.coefficients <= 3.7 * (1.0 + 1e-12) * 2.0)


def test_a_vertex_at_the_sphere_is_not_inside():
    """One ulp beyond the ball or within it: such cells are cut."""
    mesh = pp.io.generate("square", 8)
    for radius in (np.nextafter(0.25, 0.0), 0.25, np.nextafter(0.25, 1.0)):
        ball = MeshCells.of(mesh.points, mesh.cells).about(np.array([0.5, 0.5]), float(radius))
        touched = np.flatnonzero(np.any(np.linalg.norm(mesh.points - 0.5, axis=1)[mesh.cells] == 0.25, axis=1))
        assert not set(touched.tolist()) & set(ball.inside.tolist())
