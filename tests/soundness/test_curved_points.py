"""Points near curved boundaries: the truth is inside right up to the curve, and each part of the proof is needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import iv

import pinnpoint as pp
from pinnpoint.mesh.bent import places
from pinnpoint.mesh.bent.maps import Bends
from pinnpoint.mesh.round import disc_mesh
from pinnpoint.transfer.points import ground
from pinnpoint.transfer.points.kernels import Kernel
from tests.support.curved import INNER, OUTWARD, RING, VALUE, certified, ring, second_order, value

RIM = {"rim": pp.Circle((0, 0), 1)}
NEAR = np.array([[0.97, 0.1], [0.0, 0.999], [-0.7, -0.7], [0.8, 0.5], [np.cos(0.1) * 0.995, np.sin(0.1) * 0.995]])


def test_points_between_a_chord_and_its_circle_are_certified():
    problem = pp.fem.ReactionDiffusion(disc_mesh(8), source=1.0, degree=2, geometry=RIM)
    c = certified(problem, NEAR)
    assert c.contains((1.0 - (NEAR**2).sum(axis=1)) / 4.0).all()
    assert c.guarantee == "deterministic"
    assert (c.radius[[0, 3]] < 1e-3).all()


@pytest.mark.parametrize("kind", ["dirichlet", "neumann", "robin"])
def test_points_beside_a_hole_with_every_kind_of_data(kind):
    X = np.array([[INNER + 0.02, 0.0], [0.0, -INNER - 0.05], [0.99, 0.0], [0.25, 0.25]])
    more = {
        "dirichlet": {"dirichlet": {"outer": VALUE, "hole": VALUE}},
        "neumann": {"dirichlet": {"outer": VALUE}, "neumann": {"hole": OUTWARD}},
        "robin": {"dirichlet": {"outer": VALUE}, "robin": {"hole": (2.0, f"{OUTWARD} + 2*{VALUE}")}},
    }[kind]
    problem = pp.fem.ReactionDiffusion(ring(10, 44), source=f"3*{VALUE}", degree=2, geometry=RING, **more)
    c = certified(problem, X)
    assert c.contains(value(X)).all()
    assert (c.radius[1] < 0.02) & (c.radius[3] < 0.02)


def test_coefficients_that_vary_about_a_point_beside_a_curve():
    problem = pp.fem.ReactionDiffusion(  # u = x² + y², κ = 1 + x/2, c = 1 + y²
        disc_mesh(8),
        source="-4*(1 + x/2) - x + (1 + y**2)*(x**2 + y**2)",
        diffusion="1 + x/2",
        reaction="1 + y**2",
        dirichlet={"rim": "x**2 + y**2"},
        degree=2,
        geometry=RIM,
    )
    P = np.array([[0.95, 0.1], [-0.2, -0.93]])
    assert certified(problem, P).contains((P**2).sum(axis=1)).all()


def test_points_in_bent_cells_of_second_order_meshes():
    flat = pp.io.generate("square", 6)
    bend = second_order(flat, lambda M: M + np.where(M[:, 1:] == 0.0, [[0.0, 0.02]], 0.0))
    P = np.array([[0.5, 0.06], [0.25, 0.1]])
    c = certified(pp.fem.ReactionDiffusion(bend, dirichlet={"boundary": "exp(x)*cos(y)"}, degree=2), P)
    assert c.contains(np.exp(P[:, 0]) * np.cos(P[:, 1])).all()
    assert (c.radius < 0.02).all()
    with pytest.raises(pp.InputError, match="outside the curved domain"):
        pp.fem.ReactionDiffusion(bend, dirichlet={"boundary": 0.0}).points([[1.0 / 12.0, 0.001]])


def test_points_on_or_beyond_the_curve_are_refused():
    problem = pp.fem.ReactionDiffusion(disc_mesh(6), source=1.0, degree=2, geometry=RIM)
    with pytest.raises(pp.InputError, match="outside the curved domain"):
        problem.points([[0.0, 1.001]])
    with pytest.raises(pp.InputError, match="lies on the curved boundary"):
        certified(problem, np.array([[1.0, 0.0]]))


def test_a_ball_inside_a_chord_ends_at_the_circle_not_at_the_chord():
    problem = pp.fem.ReactionDiffusion(ring(5, 22), source=1.0, degree=2, geometry=RING)
    bends = problem.bending.bends
    facets = bends.mesh.points[bends.mesh.facets("hole")]
    pieces, away = places.followed(bends, facets)
    r = np.hypot(*np.moveaxis(pieces, 2, 0))
    assert (np.abs(r - INNER) <= away[:, None] + 1e-15).all()
    assert away.max() < 1e-3 * (INNER - np.hypot(*facets.mean(axis=1).T)).max() * 10.0
    _, bary, off = places.back(bends, np.array([[INNER * 1.001, 0.0], [0.6, 0.2]]))
    assert off.max() < 1e-9
    assert bary.min() >= 0.0


def test_densities_without_the_determinant_or_the_map_miss(monkeypatch):
    def problem():
        return pp.fem.ReactionDiffusion(disc_mesh(8), source=1.0, degree=2, geometry=RIM)

    x = NEAR[[0, 3]]
    truth = (1.0 - (x**2).sum(axis=1)) / 4.0
    intact = certified(problem(), x)
    assert intact.contains(truth).all()
    with monkeypatch.context() as m:
        m.setattr(ground.Pulled, "taylor", lambda self, X: self.data.taylor(self.bends.at(X).x))
        assert not certified(problem(), x).contains(truth).all()
    with monkeypatch.context() as m:
        m.setattr(ground.Pulled, "taylor", lambda self, X: self.data.taylor(X))
        assert not certified(problem(), x).contains(truth).all()


def test_newton_starts_in_every_cell_near_a_point():
    mesh = disc_mesh(6)
    bends: Bends = pp.fem.ReactionDiffusion(mesh, source=1.0, geometry=RIM).bending.bends
    t = np.linspace(0.0, 6.2, 40)
    X = 0.9999 * np.stack([np.cos(t), np.sin(t)], axis=1)
    cell, bary, _ = places.back(bends, X)
    Y = np.einsum("ni,nik->nk", bary, mesh.points[mesh.cells[cell]])
    assert np.abs(bends.moved(Y)[0] - X).max() < 1e-12


def ball_means(c):
    """Balls that reach into the cells at the rim of a disc with −Δu + cu = 1, and the truth."""
    X, a = np.array([[0.75, 0.2], [0.3, 0.5]]), np.array([0.2, 0.35])
    problem = pp.fem.ReactionDiffusion(
        disc_mesh(6), source=1.0, reaction=c, degree=2, geometry={"rim": pp.Circle((0, 0), 1)}
    )
    r = np.hypot(*X.T)
    if c == 0.0:
        return problem, problem.averages(X, a), (1.0 - r**2 - 0.5 * a**2) / 4.0
    return problem, problem.averages(X, a), (1.0 - iv(0, 3.0 * r) * 2.0 * iv(1, 3.0 * a) / (3.0 * a) / iv(0, 3.0)) / 9.0


@pytest.mark.parametrize("c", [0.0, 9.0])
def test_averages_over_balls_that_reach_into_bent_cells(c, monkeypatch):
    problem, asked, truth = ball_means(c)
    found = pp.certify(problem, problem.space.U0, asked)
    assert found.guarantee == "deterministic"
    assert found.contains(truth).all()
    assert (found.radius < 3e-3 * truth).all()
    if c > 0.0:  # without the average of h the density is a point's
        build = Kernel.build

        def bare(d, kappa, c, radius, k, average=0.0):
            made = build(d, kappa, c, radius, k, average)
            return replace(made, peak=build(d, kappa, c, made.radius, k).peak)

        monkeypatch.setattr(Kernel, "build", staticmethod(bare))
        assert not pp.certify(problem, problem.space.U0, asked).contains(truth).all()


def test_balls_that_leave_a_curved_domain_and_bundles_of_others_are_refused(tmp_path):
    problem, asked, _ = ball_means(0.0)
    with pytest.raises(pp.InputError, match=r"outside|not proved to stay"):
        pp.certify(problem, problem.space.U0, problem.averages([[0.75, 0.2]], 0.3))
    found = pp.certify(problem, problem.space.U0, asked)
    with pytest.raises(pp.InputError, match="balls that meet cells at curves"):
        pp.write_bundle(tmp_path / "b", found, problem, problem.space.U0, asked)
    uneven = pp.fem.ReactionDiffusion(
        disc_mesh(6), source=1.0, diffusion="1 + x**2", degree=2, geometry={"rim": pp.Circle((0, 0), 1)}
    )
    with pytest.raises(pp.InputError, match="need a diffusion and a reaction"):
        pp.certify(uneven, uneven.space.U0, uneven.averages([[0.75, 0.2]], 0.2))
