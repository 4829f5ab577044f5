"""Fluxes that were measured are those of the bundle; where they take too much room they are made again."""

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.transfer import equilibrated


@pytest.mark.parametrize(("kind", "cells", "degree"), [("square", 6, 1), ("square", 4, 2), ("cube", 2, 1)])
def test_kept_fluxes_are_those_that_would_be_made_again(monkeypatch, kind, cells, degree):
    problem = pp.fem.ReactionDiffusion(pp.io.generate(kind, cells), source="1 + x", degree=degree)
    at = [[0.3, 0.4, 0.6][: problem.mesh.dim], [0.7, 0.6, 0.4][: problem.mesh.dim]]
    kept = pp.certify(problem, problem.space.U0, problem.points(at)).evidence.witness
    monkeypatch.setattr(equilibrated, "KEPT", 0)
    bare = pp.certify(problem, problem.space.U0, problem.points(at)).evidence.witness
    assert set(kept.fluxes) == {0, 1}
    assert not bare.fluxes
    for i in range(2):
        made, again = kept.dual(i), bare.dual(i)
        assert np.array_equal(made.nodal, again.nodal)
        assert np.abs(made.flux).max() > 0.0
        assert np.abs(made.flux - again.flux).max() <= 1e-12 * np.abs(again.flux).max()
