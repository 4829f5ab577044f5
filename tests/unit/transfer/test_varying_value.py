"""Values of queries beside coefficients that vary: what is not known of A∇u_h counts by the largest slopes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pinnpoint.transfer.energy.cells import State
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.media.medium import Action
from pinnpoint.transfer.media.varying import ROOM, Given, against_slopes, varied_weak

V = np.array([[[0.1, 0.2], [0.7, 0.3], [0.3, 0.9]], [[0.0, 0.0], [0.01, 0.0], [0.3, 0.02]]])


def made(degree):
    """Two triangles and a state on them."""
    shapes = Shapes.of(V.reshape(6, 2), np.arange(6).reshape(2, 3))
    nodal = np.random.default_rng(7).normal(size=(3 if degree == 1 else 6, 2))
    return shapes, State.of(shapes, nodal, degree), nodal


def slopes(vertices, nodal):
    """∇v_h of a quadratic at the vertices, in rational numbers."""
    X = [[Fraction(x) for x in p] for p in vertices.tolist()]
    v = [Fraction(x) for x in nodal.tolist()]
    (a, b), (c, d) = ([X[k][i] - X[0][i] for i in range(2)] for k in (1, 2))
    det = a * d - b * c
    G = [None, (d / det, -c / det), (-b / det, a / det)]
    G[0] = tuple(-x - y for x, y in zip(G[1], G[2], strict=True))
    middle = {(0, 1): v[3], (0, 2): v[4], (1, 2): v[5]}
    found = []
    for k in range(3):
        along = [4 * middle[min(j, k), max(j, k)] - v[j] if j != k else 3 * v[k] for j in range(3)]
        found.append([sum(along[j] * G[j][i] for j in range(3)) for i in range(2)])
    return found


def test_largest_slopes_are_bounded_closely():
    shapes, state, nodal = made(2)
    top = state.steepest(shapes)
    for n in range(2):
        true = slopes(V[n], nodal[:, n])
        for i in range(2):
            most = max(abs(s[i]) for s in true)
            assert most <= Fraction(top[i, n]) <= most * Fraction(1 + 1e-9)


@pytest.mark.parametrize("degree", [1, 2])
def test_what_is_not_known_of_fluxes_moves_the_value_by_less_than_is_counted(degree):
    shapes, state, _ = made(degree)
    flat = np.zeros((6, 2))
    error = np.array([[1e-3, 2e-3], [3e-3, 1e-4]])
    none = Action(np.zeros((6, 2, 2)), 0.0 * error, error, flat, np.zeros(2), np.zeros(2))
    given = Given(flat, np.zeros(2), np.zeros(2), np.zeros(2))
    _, _, off = varied_weak(shapes, none, state, given, state, None, 1.0)
    along = np.sign(state.slopes.sum(axis=0))
    worst = replace(none, flux=np.broadcast_to(along * error, (6, 2, 2)))
    value, wrong, _ = varied_weak(shapes, worst, state, given, state, None, 1.0)
    assert np.all(np.abs(value) <= off / ROOM + wrong)
    if degree == 1:
        assert np.all(np.abs(value) >= 0.999999 * off / ROOM)
    field = replace(given, field=worst.flux, field_error1=error)
    more, blur, unknown = against_slopes(shapes, field, state)
    assert np.all(np.abs(more) <= unknown + blur)
