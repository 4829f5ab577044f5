"""The checker sees by itself whether a mesh covers its domain once."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint_verify import verify
from pinnpoint_verify.cover import apart, covers_once
from pinnpoint_verify.reader import Refused
from tests.unit.mesh.test_cover import OVERLAPS, TOUCHING, largest_ball, ramp


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlapping_cells_are_refused(name):
    with pytest.raises(Refused, match="overlap; the domain is not covered once"):
        covers_once(*OVERLAPS[name])


def test_a_strip_that_winds_round_more_than_once_and_a_folded_mesh_are_refused():
    covers_once(*ramp(0.9))
    with pytest.raises(Refused, match="overlap"):
        covers_once(*ramp(1.1))
    with pytest.raises(Refused, match="neighbours overlap"):
        covers_once(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.2, 0.1]]), np.array([[0, 1, 2], [0, 1, 3]]))


@pytest.mark.parametrize("name", TOUCHING)
def test_touching_cells_are_not(name):
    X, T = TOUCHING[name]
    covers_once(X, T)
    covers_once(X + 100.0, T)


@pytest.mark.parametrize("kind", ["interval", "square", "cube", "lshape", "fichera", "frame", "dumbbell", "bracket"])
def test_meshes_of_domains_pass_squeezed_ones_too(kind):
    mesh = generate(kind, None if kind == "bracket" else 4)
    covers_once(mesh.points, mesh.cells)
    covers_once(mesh.points * np.array([1.0, 1e-5, 1e-3])[: mesh.dim], mesh.cells)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_two_simplices_are_apart_exactly_when_no_ball_fits_into_both(dim):
    rng = np.random.default_rng(10 + dim)
    P, Q = rng.uniform(size=(2, 80, dim + 1, dim))
    Q += 0.4 * rng.uniform(-1.0, 1.0, (80, 1, dim))
    Q[:20, 0] = P[:20, 0]  # a common vertex
    radius = np.array([largest_ball(p, q) for p, q in zip(P, Q, strict=True)])
    height = np.array([min(largest_ball(p, p), largest_ball(q, q)) for p, q in zip(P, Q, strict=True)])
    clear = (radius <= 0.0) | (radius > 0.01 * height)
    assert np.array_equal(apart(P, Q, 1e-9)[clear], radius[clear] <= 0.0)
    assert clear.sum() > 60


@pytest.mark.parametrize("target", ["continuous", "discrete"])
def test_a_bundle_of_an_overlapping_mesh_is_not_verified(target, tmp_path):
    X, T = OVERLAPS["squares"]
    problem = pp.fem.ReactionDiffusion(Mesh.trusted(X, T, {}, {}), source=1.0)
    queries = problem.points([[0.2, 0.5]])
    certificate = pp.certify(problem, problem.space.U0, queries, target=target)
    pp.write_bundle(tmp_path / "bundle", certificate, problem, problem.space.U0, queries)
    with pytest.raises(Refused, match="covered once"):
        verify(tmp_path / "bundle")
