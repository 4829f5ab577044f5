"""Nodes at one place that are not joined: said by certificates, and blamed for matrices that they make singular."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quality import coincident


def halves() -> Mesh:
    """The unit square cut along x = 1/2, with the nodes there twice."""
    mesh = generate("square", 4)
    X = mesh.points * [0.5, 1.0]
    left = mesh.facets("left")
    return Mesh(
        np.concatenate([X, X + np.array([0.5, 0.0])]),
        np.concatenate([mesh.cells, mesh.cells + len(X)]),
        {},
        {"left": left},
    )


@pytest.mark.parametrize("target", ["continuous", "discrete"])
def test_certificates_say_how_many_nodes_are_not_joined_and_where(target, tmp_path):
    problem = pp.fem.ReactionDiffusion(halves(), source=1.0)
    certificate = pp.certify(problem, problem.space.U0, problem.points([[0.3, 0.5]]), target=target)
    assert any(
        note.startswith("5 nodes lie at the place of another one, for example at [0.5,") for note in certificate.notes
    )
    assert "5 nodes lie at the place" in str(certificate)
    certificate.to_json(tmp_path / "c.json")
    assert "5 nodes lie at the place" in json.dumps(json.loads((tmp_path / "c.json").read_text()), ensure_ascii=False)


def test_a_half_that_floats_because_it_is_not_joined_is_said_to():
    problem = pp.fem.ReactionDiffusion(halves(), source=1.0, dirichlet={"left": 0.0})
    for target in ("continuous", "discrete"):
        with pytest.raises(pp.InputError, match=r"is singular.*5 nodes lie at the place of another one.*not held"):
            pp.certify(problem, problem.space.U0, problem.points([[0.3, 0.5]]), target=target)


def test_meshes_whose_nodes_are_joined_have_nothing_to_say():
    for kind in ("interval", "square", "cube", "frame"):
        assert coincident(generate(kind, 2)) == (0, None)
