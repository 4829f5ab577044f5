"""Balls about points stop where λ, μ or the thermal stress jumps, each by itself."""

import numpy as np
import pytest

from pinnpoint.fem import Elasticity
from pinnpoint.fem.elastic.solids import solid_of
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.topology import Topology


@pytest.mark.parametrize("jump", ["lambda", "mu", "kappa", "nothing"])
def test_every_jump_stops_balls(jump):
    """2μ = E/(1 + ν): E = 1 + ν keeps μ, and ν = 0 keeps λ = 0."""
    mesh = generate("square", 4)
    right = mesh.points[mesh.cells].mean(axis=1)[:, 0] > 0.5
    mesh = Mesh(mesh.points, mesh.cells, {"a": ~right, "b": right}, mesh.facet_groups)
    materials = {"lambda": ((1.0, 1.25), (0.0, 0.25)), "mu": ((1.0, 4.0), (0.0, 0.0))}
    young, poisson = materials.get(jump, ((1.0, 1.0), (0.0, 0.0)))
    alpha = (0.1, 0.3) if jump == "kappa" else (0.1, 0.1)
    heat = {} if jump in ("lambda", "mu") else {"expansion": dict(zip("ab", alpha, strict=True)), "temperature": 1.0}
    values = {"young": dict(zip("ab", young, strict=True)), "poisson": dict(zip("ab", poisson, strict=True))}
    solid = solid_of(Elasticity(mesh, **values, fixed={"left": 0.0}, **heat), Topology.of(mesh))
    same = {"lambda": solid.mu, "mu": solid.lam}.get(jump, solid.lam)
    assert np.ptp(same) == 0.0
    T = solid.topology
    inside = T.facets[solid.blocking()][~T.boundary[solid.blocking()]]
    on_line = np.all(T.points[T.facets][:, :, 0] == 0.5, axis=1)
    assert len(inside) == (0 if jump == "nothing" else np.count_nonzero(on_line))
    assert np.all(T.points[inside][:, :, 0] == 0.5)
