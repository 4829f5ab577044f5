"""A0 needs A∇u_θ without jumps: across those of A the prediction's flux jumps, which no residual on cells sees."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp


def layered(kappa):
    return pp.fem.ReactionDiffusion(pp.io.generate("square", 4), 1.0, kappa, dirichlet={"boundary": 0.0})


def halves(mesh):
    left = mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5
    return np.where(left, 1.0, 5.0)


@pytest.mark.parametrize("solve", [True, False])
@pytest.mark.parametrize("matrix", [False, True])
def test_lifts_across_jumps_of_the_diffusion_are_refused(solve, matrix):
    kappa = halves(pp.io.generate("square", 4))
    problem = layered(kappa[:, None, None] * np.array([[2.0, 1.0], [1.0, 2.0]]) if matrix else kappa)
    with pytest.raises(pp.InputError, match="across a jump of"):
        pp.certify(problem, "x*(1-x)*y*(1-y)", problem.everywhere(solve=solve), lift=True)


def test_without_the_refusal_the_residual_would_say_nothing_of_the_jump():
    """u_θ = 0.2x on (0, 1), κ = 1 | 5 and f = 0: its residual is 0 on all cells, and it is not the solution."""
    mesh = pp.io.generate("interval", 4)
    given = {"dirichlet": {"left": 0.0, "right": 0.2}}
    problem = pp.fem.ReactionDiffusion(mesh, 0.0, halves(mesh), **given)
    found = pp.certify(problem, "0.2*x", problem.points([[0.5]]))
    true = 0.2 * 5.0 / 6.0
    assert found.contains([true]).all()
    assert abs(0.1 - true) > 0.05
    with pytest.raises(pp.InputError, match="across a jump of κ"):
        pp.certify(problem, "0.2*x", problem.points([[0.5]]), lift=True)
