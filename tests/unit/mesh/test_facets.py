"""Numbering of facets and edges against sets, and sorts that carry places against NumPy's."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh import facets


@pytest.mark.parametrize("bits", [8, 40, 50, 58, 62])
def test_sorts_that_carry_places(bits):
    """One sort, two sorts, or NumPy's own, by the size of the keys."""
    keys = np.random.default_rng(bits).integers(0, 2**bits, 3000)
    keys = np.concatenate([keys, keys[::3], [0, 2**bits - 1]])
    np.testing.assert_array_equal(facets._argsort(keys), np.argsort(keys, kind="stable"))
    keys >>= 20  # long runs of equal ones
    np.testing.assert_array_equal(keys[facets._argsort(keys)], np.sort(keys))


def test_sorts_of_other_keys():
    assert facets._argsort(np.zeros(0, dtype=np.int64)).size == 0
    large = np.array([2**80, 3, 2**70], dtype=object)
    assert facets._argsort(large).tolist() == [1, 2, 0]


@pytest.mark.parametrize("kind", ["interval", "square", "cube"])
def test_tables_hold_every_facet_and_edge_once(kind):
    mesh = pp.io.generate(kind, 3)
    d, n = mesh.dim, len(mesh.points)
    for size, (unique, of_cell, count) in (
        (d, facets.facet_table(mesh.cells, n)),
        (2, facets.edge_table(mesh.cells, n)),
    ):
        every = [tuple(sorted(f)) for cell in mesh.cells.tolist() for f in combinations(cell, size)]
        assert [tuple(f) for f in unique.tolist()] == sorted(set(every))
        assert count.tolist() == [every.count(tuple(f)) for f in unique.tolist()]
        for row, local in zip(of_cell, combinations(range(d + 1), size), strict=True):
            np.testing.assert_array_equal(unique[row], np.sort(mesh.cells[:, list(local)], axis=1))


def test_keys_forget_the_order_of_vertices():
    mesh = pp.io.generate("cube", 2)
    n = len(mesh.points)
    keys = facets.facet_keys(mesh.boundary, n)
    assert np.all(np.diff(keys) > 0)
    np.testing.assert_array_equal(facets.facet_keys(mesh.boundary[:, [2, 0, 1]], n), keys)
    assert facets.facet_keys(np.array([[5, 2, 2**21]]), 2**21 + 1)[0] == (2 * (2**21 + 1) + 5) * (2**21 + 1) + 2**21
