"""Rules on simplices: the tables are those that scikit-fem has, beyond them products of Gauss–Jacobi rules."""

from __future__ import annotations

import numpy as np
import pytest

from pinnpoint.mesh.quadrature import _tables, conical, inner_order, rule


def test_the_tables_are_those_of_scikit_fem():
    quadrature, refdom = pytest.importorskip("skfem.quadrature"), pytest.importorskip("skfem.refdom")
    numbers = {2: {n: n for n in (2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 17, 19)}, 3: {1: 1, 2: 2, 4: 5, 5: 6, 6: 7}}
    assert {(d, n) for d in numbers for n in numbers[d]} == set(_tables())
    for (dim, order), table in _tables().items():
        X, w = quadrature.get_quadrature({2: refdom.RefTri, 3: refdom.RefTet}[dim], numbers[dim][order])
        assert np.array_equal(table[:, :-1].T, X)
        assert np.array_equal(table[:, -1], w / {2: 0.5, 3: 1.0 / 6.0}[dim])


def test_beyond_the_tables_rules_are_conical():
    points, weights = conical(3, 4)
    bary, again = rule(3, 7)
    assert np.array_equal(np.roll(points, 1, axis=1), bary)
    assert np.array_equal(weights, again)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_rules_of_bent_cells_have_their_points_inside(dim):
    """A point on a face has two cells, and data that is carried back jumps there."""
    for order in range(1, 13):
        found = inner_order(dim, order)
        assert found >= order
        assert np.all(rule(dim, found)[0] > 0.0)
    assert [inner_order(3, k) for k in (1, 2, 3, 4, 5, 6)] == [1, 2, 6, 6, 6, 6]
