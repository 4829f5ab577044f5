"""The flux of linear elements as a map says what the patches say."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.taylor.bernstein import Density, pairs
from pinnpoint.transfer.continuum import Continuum


def model_of(kind: str, cells: int, **given) -> Continuum:
    mesh = pp.io.generate(kind, cells)
    problem = pp.fem.Parabolic(mesh, end=1.0, steps=2, **given)
    model = problem.transfer(problem.points(mesh.points[mesh.cells].mean(axis=1)[:1])).model
    assert isinstance(model, Continuum)
    return model


@pytest.mark.parametrize(
    ("kind", "cells", "given"),
    [
        ("square", 5, {}),
        ("square", 4, dict(reaction=3.0, diffusion=0.2, dirichlet={"left": 0.0}, neumann={"right": "1 + y"})),
        ("lshape", 4, dict(dirichlet={}, reaction=0.0)),
        ("cube", 2, dict(dirichlet={"left": 0.0}, reaction=1.0)),
    ],
)
def test_map_says_what_patches_say(kind, cells, given):
    model = model_of(kind, cells, **given)
    rng = np.random.default_rng(1)
    nodal = rng.standard_normal((3, model.size))
    zero = np.zeros(len(model.kappa))
    sources = [Density(rng.standard_normal((len(zero), len(pairs(model.d)))), zero, zero, zero) for _ in range(3)]
    loads = [model.boundary_load, None, None]
    plain = model.fluxes(nodal, sources, loads)
    mapped = model.fluxes(nodal, sources, loads, columns=1000)
    assert mapped.shape == plain.shape
    assert np.abs(mapped - plain).max() < 1e-11 * np.abs(plain).max()
    assert not np.any(mapped[(model.kind == 2) & (plain[:, 0, 1] == 0.0)][:, 0, 1])
