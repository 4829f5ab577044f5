"""Models of a lower degree, where points need no more: they enclose, and give way where they are poor."""

from __future__ import annotations

import numpy as np

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse
from pinnpoint.taylor import simplices
from pinnpoint.taylor.bernstein import gram, means


def cells_of(n):
    mesh = pp.io.generate("square", n)
    return mesh.points[mesh.cells]


def test_frugal_models_enclose_and_leave_little_of_the_tolerance():
    """Against models of degree 14: means differ by no more than both errors, as do the projections."""
    f, V, tolerance = parse("exp(x)*sin(3*y)"), cells_of(12), 1e-5
    found = simplices.density(f, V, tolerance=tolerance, frugal=True)
    truth = simplices.density(f, V, order=14)
    assert np.median(found.error2) > 1e3 * np.median(truth.error2)  # it is another degree
    assert np.all(found.error2 <= simplices.WITHIN * tolerance * 1.01)
    apart = found.coefficients - truth.coefficients
    assert np.all(np.abs(apart @ means(2)) <= found.error1 + truth.error1)
    size = np.sqrt(np.einsum("ni,ij,nj->n", apart, gram(2), apart))
    assert np.all(size <= found.error2 + truth.error2)
    assert np.all(np.abs(found.high - truth.high) <= found.error2 + truth.error2)


def test_cells_with_a_peak_get_the_models_that_they_always_got():
    """A narrow bump between the cells of a trial: there the usual degree is taken, and cells are subdivided."""
    f, V = parse("exp(x) + exp(-4000*((x - 0.52)**2 + (y - 0.48)**2))"), cells_of(24)
    found = simplices.density(f, V, tolerance=1e-4, mean=True, frugal=True)
    usual = simplices.density(f, V, tolerance=1e-4, mean=True)
    near = np.linalg.norm(V.mean(axis=1) - [0.52, 0.48], axis=1) < 0.03
    assert near.any()
    np.testing.assert_allclose(found.coefficients[near], usual.coefficients[near], rtol=1e-6)
    assert np.all(found.error1 <= np.maximum(usual.error1 * 1.001, simplices.WITHIN * 1e-4 * 1.01))
