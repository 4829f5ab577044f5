"""What boxes refuse, and what they say where nothing can be bounded."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.boxes import Wave


@pytest.mark.parametrize("boundary", [["dirichlet", "periodic"], "dirichlet"])
def test_reaction_close_to_an_eigenvalue_is_refused_with_it(boundary):
    least = 9.8696 * (1 if boundary != "dirichlet" else 2)
    with pytest.raises(pp.InputError, match=r"^reaction: .* is so close to -"):
        pp.Box([0, 1], [0, 1], reaction=-least + 0.01, boundary=boundary, source="1")
    with pytest.raises(pp.InputError, match=r"^reaction: without end c must be above -9\.869"):
        pp.Box([0, 1], reaction=-12.0)
    with pytest.raises(pp.InputError, match="c must be positive"):
        pp.Box([0, 1], boundary="neumann")


@pytest.mark.parametrize(("prediction", "source"), [("1/(x-0.3)", "0"), ("0", "1/(x-0.3)"), ("exp(1000*x)", "0")])
def test_interval_is_infinite_and_says_why_where_nothing_is_bounded(prediction, source):
    box = pp.Box([0, 1], end=0.1, source=source)
    found = pp.certify(box, prediction, box.points([[0.5]]), budget=200)
    assert found.lower[0] == -np.inf
    assert found.upper[0] == np.inf
    assert any("could not be bounded" in claim.claim for claim in found.assumptions)


@pytest.mark.parametrize("given", [{"extraction": "l2"}, {"lift": True}])
def test_options_of_meshes_are_refused(given):
    box = pp.Box([0, 1], end=0.1)
    with pytest.raises(pp.InputError, match="extraction, lift"):
        pp.certify(box, "x*(1-x)", box.points([[0.5]]), **given)


def test_nonlinear_box_without_end_is_refused():
    with pytest.raises(pp.InputError, match=r"^nonlinear: is for boxes in time"):
        pp.Box([0, 1], nonlinear="u**3")


def test_wave_takes_an_initial_value_with_a_kink():
    """d'Alembert: u = (u₀(x − t) + u₀(x + t))/2 before the ends are felt."""
    wave = Wave([0, 1], end=0.2, initial="abs(x-0.5)", dirichlet={"x-": "0.5 - t", "x+": "0.5 - t"})
    found = pp.certify(wave, "x", wave.points([[0.4]]))
    assert found.contains([0.5 * (0.3 + 0.1)])[0]
    assert found.radius[0] < 1e-12
    plane = Wave([0, 1], [0, 1], end=0.2, initial="abs(x-0.5)")
    with pytest.raises(pp.InputError, match="derivatives"):
        pp.certify(plane, "x", plane.points([[0.5, 0.5]]))
