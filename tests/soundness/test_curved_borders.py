"""Borders between coefficients may be curves too, and say so; loads are of the curved domain."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.facets import edge_table
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.round import disc_mesh, ring_mesh
from pinnpoint_verify.claims import verify
from tests.support.curved import certified

MIDDLE, JUMP = 0.625, 10.0
CIRCLES = {"hole": pp.Circle((0, 0), 0.25), "outer": pp.Circle((0, 0), 1.0)}
BORDER = {"border": pp.Circle((0, 0), MIDDLE)}


def two_rings(layers, around):
    """The ring ¼–1, inside and outside of a circle."""
    mesh = ring_mesh(0.25, 1.0, layers, around)
    inside = np.hypot(*mesh.points[mesh.cells].mean(axis=1).T) < MIDDLE
    edges = edge_table(mesh.cells, len(mesh.points))[0]
    edges = edges[(np.abs(np.hypot(*mesh.points.T) - MIDDLE) < 1e-9)[edges].all(axis=1)]
    cells = {"in": np.flatnonzero(inside), "out": np.flatnonzero(~inside)}
    return Mesh(mesh.points, mesh.cells, cells, {**mesh.facet_groups, "border": edges})


def jumping(mesh, geometry, jump=JUMP):
    """κ = 1 inside and `jump` outside, one on the hole and zero on the outer circle."""
    kappa = {"in": 1.0, "out": jump}
    given = {"dirichlet": {"hole": 1.0, "outer": 0.0}, "geometry": geometry}
    return pp.fem.ReactionDiffusion(mesh, 0.0, kappa, degree=2, **given)


def truth(r):
    """Of `jumping`, and its flux through the outer circle."""
    slope = -1.0 / (math.log(MIDDLE / 0.25) - math.log(MIDDLE) / JUMP)
    u = np.where(r < MIDDLE, 1.0 + slope * np.log(r / 0.25), slope / JUMP * np.log(r))
    return u, 2.0 * math.pi * slope


def test_a_circle_between_two_materials_is_the_circle_and_its_polygon_is_told():
    mesh, X = two_rings(10, 60), np.array([[0.45, 0.1], [0.0, 0.6245], [0.8, 0.05]])
    u, flux = truth(np.hypot(*X.T))
    curved = jumping(mesh, CIRCLES | BORDER)
    found = pp.certify(curved, curved.space.U0, curved.points(X) + curved.flux("outer"))
    assert found.contains([*u, flux]).all()
    assert found.guarantee == "deterministic"
    assert found.radius[0] < 3e-4
    assert "the border 'border' is the circle" in " ".join(found.notes)
    assert "looks curved" not in " ".join(found.notes)
    straight = certified(jumping(mesh, CIRCLES), X[:1])
    assert not straight.contains(u[:1]).any()
    told = [note for note in straight.notes if "the border between groups of cells" in note]
    assert len(told) == 1
    assert f"about {MIDDLE * (1.0 - math.cos(math.pi / 60)):.2g}" in told[0]
    assert not any("border between" in note for note in jumping(mesh, CIRCLES, 1.0).notes)


@pytest.mark.parametrize("kind", ["semilinear", "in time", "solid"])
def test_every_kind_of_problem_tells_of_curved_borders(kind):
    mesh, two = two_rings(4, 40), {"in": 1.0, "out": 2.0}
    if kind == "semilinear":
        problem = pp.fem.Semilinear(mesh, cubic=1.0, source=1.0, diffusion=two)
    elif kind == "in time":
        problem = pp.fem.Parabolic(mesh, 1.0, diffusion=two, end=1.0, steps=2)
    else:
        problem = pp.fem.Elasticity(mesh, young=two, poisson=0.3, fixed={"outer": 0.0})
    assert any("border between groups of cells with other data looks curved (40 facets)" in n for n in problem.notes)


def test_straight_borders_are_none():
    mesh = pp.io.generate("square", 8)
    x = mesh.points[mesh.cells].mean(axis=1)[:, 0]
    halves = Mesh(mesh.points, mesh.cells, {"a": np.flatnonzero(x < 0.5), "b": np.flatnonzero(x > 0.5)}, {})
    assert pp.fem.ReactionDiffusion(halves, {"a": 1.0, "b": 2.0}).notes == ()


def test_the_bundle_of_a_curved_border_is_proved_again(tmp_path):
    problem = jumping(two_rings(4, 28), CIRCLES | BORDER)
    queries = problem.points([[0.45, 0.1], [0.6249, 0.0]]) + problem.flux("outer")
    pp.write_bundle(tmp_path / "b", pp.certify(problem, problem.space.U0, queries), problem, problem.space.U0, queries)
    lines = verify(tmp_path / "b")
    assert sum(": proved " in line for line in lines) == 3
    assert not any("facets with all vertices on a curve" in line for line in lines)


def test_borders_of_solids_are_no_curves():
    with pytest.raises(pp.InputError, match="geometry: group 'border' has 28 facets inside the domain"):
        pp.fem.Elasticity(two_rings(4, 28), young=1.0, poisson=0.3, fixed={"outer": 0.0}, geometry=CIRCLES | BORDER)


def test_geometry_is_a_table():
    with pytest.raises(pp.InputError, match="geometry: must be a table from boundary groups to curves; got list"):
        pp.fem.ReactionDiffusion(disc_mesh(3), 1.0, geometry=[("rim", 1.0)])


def test_further_loads_are_of_the_curved_domain():
    rim = {"rim": pp.Circle((0, 0), 1)}
    given = {"source": "1 + x", "neumann": {"rim": "1 + y"}}
    problem = pp.fem.ReactionDiffusion(disc_mesh(6), reaction=1.0, degree=2, geometry=rim, dirichlet={}, **given)
    assert np.array_equal(problem.load(**given), problem.b)
    assert math.isclose(problem.load(1.0).sum(), math.pi, rel_tol=1e-10)
    assert math.isclose(problem.load(0.0, {"rim": 1.0}).sum(), 2.0 * math.pi, rel_tol=1e-9)
