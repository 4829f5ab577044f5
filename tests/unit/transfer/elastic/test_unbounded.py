"""Intervals that could not be bounded say why; a matrix that rounding makes singular says what did it."""

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem import Elasticity
from pinnpoint.fem.elastic.solids import solid_of
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.elastic.route import unbounded


def notes(**given):
    problem = Elasticity(generate("square", 3), 1.0, 0.3, **given)
    certificate = pp.certify(problem, problem.space.U0, problem.patch("right", "x") + problem.mean("y"))
    return certificate, [note for note in certificate.notes if "unbounded" in note]


def test_a_held_root_says_why_and_where():
    certificate, said = notes(fixed={"left": ["sqrt(y)", 0.0]})
    assert not np.any(np.isfinite(certificate.radius))
    assert len(said) == 1
    assert "query 'right' (and 1 more): unbounded, because a held displacement" in said[0]
    assert "near (0.222222, 0.111111)" in said[0]


def test_what_is_bounded_says_nothing():
    certificate, said = notes(fixed={"left": ["y*y*y", 0.0]}, body=["sqrt(y)", 0.0])
    assert np.all(np.isfinite(certificate.radius))
    assert not said


@pytest.mark.parametrize("which", ["body", "traction"])
def test_forces_that_are_not_enclosed_are_named(which):
    """Formulas without bounds are refused when they are read; what slips through is still named."""
    given = {"body": ["x", 0.0]} if which == "body" else {"traction": {"right": [0.0, "y*y*y"]}}
    problem = Elasticity(generate("square", 3), 1.0, 0.3, fixed={"left": 0.0}, **given)
    solid = solid_of(problem, Topology.of(problem.mesh))
    none = np.zeros(len(solid.mu))
    assert unbounded(solid, none) == ""
    density = solid.load.body[0] if which == "body" else solid.load.traction[0].on.density
    density.error2.setflags(write=True)
    density.error2[1] = np.inf
    words = "the body force in x is" if which == "body" else "the traction in y is"
    assert unbounded(solid, none).startswith(words)


@pytest.mark.parametrize("degree", [1, 2])
def test_nearly_incompressible_is_blamed_for_a_singular_matrix(degree):
    with pytest.raises(pp.InputError, match=r"^poisson: in cell \d+ it is so near 0.5 .* Take at most 0.5 − 1e-10"):
        Elasticity(generate("square", 3), 1.0, 0.5 - 1e-15, fixed={"left": 0.0}, degree=degree)
    problem = Elasticity(generate("square", 3), 1.0, 0.5 - 1e-10, fixed={"left": 0.0}, degree=degree)
    certificate = pp.certify(problem, problem.space.U0, problem.patch("right", "y"))
    assert np.all(np.isfinite(certificate.radius))
