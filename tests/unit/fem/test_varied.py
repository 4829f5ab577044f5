"""Coefficients as they are given: formulas, matrices, groups, pictures; assembly against integrals by hand."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem.data.grids import from_grid
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.taylor.minima import minimum


def halves(n: int = 4) -> Mesh:
    mesh = generate("square", n)
    left = mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5
    groups = {"a": np.flatnonzero(left), "b": np.flatnonzero(~left)}
    return Mesh(mesh.points, mesh.cells, cell_groups=groups, facet_groups=mesh.facet_groups)


@pytest.mark.parametrize("degree", [1, 2])
def test_forms_of_polynomials_are_integrals(degree):
    """∫ A∇v·∇w + (b·∇v)w + c v w of v = x, w = 1 − y."""
    p = pp.fem.ReactionDiffusion(
        generate("square", 3), 1.0, [["1+x", "x*y"], ["x*y", "2"]], "x", convection=("y", "x"), degree=degree
    )
    x, y = p.nodes.points.T
    # A∇x·∇(1−y) = −xy; (b·∇x)(1 − y) = y(1 − y); c x (1 − y) = x²(1 − y)
    assert (1.0 - y) @ (p.A @ x) == pytest.approx(-0.25 + 1.0 / 6.0 + 1.0 / 6.0, abs=1e-13)
    # the transpose is the form with the arguments exchanged: b·∇(1 − y) x = −x²
    assert x @ (p.A @ (1.0 - y)) == pytest.approx(-0.25 - 1.0 / 3.0 + 1.0 / 6.0, abs=1e-13)


def test_groups_have_their_own_formulas():
    p = pp.fem.ReactionDiffusion(halves(), 1.0, {"a": "1+x", "b": 3.0}, {"a": "x", "b": 0.5})
    c = p.coefficients
    assert len(c.diffusion) == len(c.reaction) == 2
    x, one = p.nodes.points[:, 0], np.ones(len(p.nodes))
    assert x @ (p.A @ x) == pytest.approx(0.5 + 0.125 + 1.5 + 1.0 / 64.0 + 0.5 * (1.0 - 0.125) / 3.0, abs=1e-12)
    assert one @ (p.A @ one) == pytest.approx(0.125 + 0.25, abs=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": "1+x"}, "have no value"),
        ({"a": 1.0, "c": 2.0}, "diffusion: .*'c'"),
        ([["1", "x"]], "must be a 2 × 2 matrix"),
        ({"a": "x-1", "b": 1.0}, "must be > 0; it is"),
    ],
)
def test_diffusion_that_is_refused(given, message):
    with pytest.raises(pp.InputError, match=message):
        pp.fem.ReactionDiffusion(halves(), 1.0, given)


def test_numbers_have_no_coefficients_that_vary():
    for diffusion in (2.0, "2", {"a": 1.0, "b": "3"}, np.ones(32)):
        p = pp.fem.ReactionDiffusion(halves(), 1.0, diffusion)
        assert p.coefficients is None
        assert p.diffusion.shape == (32,)


def test_one_matrix_for_each_cell():
    mesh = halves()
    each = np.where(np.isin(np.arange(32), mesh.cells_of("a"))[:, None, None], np.eye(2), [[2.0, 1.0], [1.0, 3.0]])
    p = pp.fem.ReactionDiffusion(mesh, 1.0, each)
    q = pp.fem.ReactionDiffusion(mesh, 1.0, {"a": 1.0, "b": [[2.0, 1.0], [1.0, 3.0]]})
    assert len(p.coefficients.diffusion) == 2
    assert abs(p.A - q.A).max() < 1e-14


def test_refined_problems_keep_what_was_given():
    p = pp.fem.ReactionDiffusion(halves(), 1.0, "1+x", convection=("1", "0"), dirichlet={"left": 0.0}, degree=2)
    fine = generate("square", 8)
    again = p.refined(fine, np.repeat(np.arange(32), 4))
    assert again.given["convection"] == p.given["convection"]
    assert again.coefficients.convective


def test_pictures_of_pixels_and_of_corners():
    mesh, picture = generate("square", 4), np.arange(1.0, 7.0).reshape(2, 3)
    middle = mesh.points[mesh.cells].mean(axis=1)
    pixels = from_grid(mesh, picture)
    assert (pixels == picture[(middle[:, 0] > 0.5).astype(int), np.floor(3 * middle[:, 1]).astype(int)]).all()
    corners = np.add.outer(3.0 * np.linspace(0.0, 1.0, 3), np.linspace(0.0, 1.0, 5))
    np.testing.assert_allclose(from_grid(mesh, corners, "bilinear"), 3.0 * middle[:, 0] + middle[:, 1], rtol=1e-13)
    means = from_grid(mesh, corners, "nodes", [[0.0, 1.0], [0.0, 1.0]])
    np.testing.assert_allclose(means, 1.5 * np.floor(2 * middle[:, 0]) + 0.75 + np.floor(4 * middle[:, 1]) / 4 + 0.125)
    for values, grid, box, message in (
        (picture[0], "cells", None, "2 axes"),
        (picture, "pixels", None, "grid"),
        (picture, "cells", [[0.0, 0.5], [0.0, 1.0]], "lie outside"),
        (picture, "cells", [[1.0, 0.5], [0.0, 1.0]], "box"),
        (picture[:1], "nodes", None, "two nodes"),
    ):
        with pytest.raises(pp.InputError, match=message):
            from_grid(mesh, values, grid, box)


def test_a_picture_is_one_number_for_each_cell():
    mesh = generate("square", 8)
    p = pp.fem.ReactionDiffusion(mesh, 1.0, from_grid(mesh, 1.0 + np.random.default_rng(0).random((4, 4))), degree=2)
    assert p.coefficients is None
    assert np.isfinite(pp.certify(p, p.space.U0, p.flux("boundary")).radius).all()


@pytest.mark.parametrize("formula", ["1+x*y", "exp(-3*x)*cos(y)", "x*y", "1/(0.1+(x-0.3)**2)", "abs(x-0.5)"])
def test_minima_are_below_all_values_and_close(formula):
    mesh = generate("square", 5)
    V, f = mesh.points[mesh.cells], parse(formula)
    low = minimum(f, V)
    weights = np.random.default_rng(1).dirichlet(np.ones(3), 400)
    seen = f(np.einsum("qi,cix->cqx", weights, V).reshape(-1, 2)).reshape(len(V), -1).min(axis=1)
    assert (low <= seen + 1e-14).all()
    assert (low >= seen - 0.1 * np.abs(seen) - 0.02).all()
    if formula == "x*y":
        assert low.min() == 0.0  # to the last bit, by the signs of the coordinates
