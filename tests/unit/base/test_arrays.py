"""Small things that are done to many at a time."""

from __future__ import annotations

import numpy as np
import pytest

from pinnpoint.base.arrays import products, row_max, squared


@pytest.mark.parametrize("n", [0, 1, 50])
def test_many_small_matrices(n):
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((n, 2, 4)), rng.standard_normal((n, 4, 3))
    assert products(A, B).shape == (n, 2, 3)
    np.testing.assert_allclose(products(A, B), A @ B, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(products(B.transpose(0, 2, 1), A.transpose(0, 2, 1)), (A @ B).transpose(0, 2, 1))
    np.testing.assert_allclose(squared(A), (A**2).sum(axis=-1))
    assert np.array_equal(row_max(A), A.max(axis=-1))
