"""Layers of convection: cells that are refined for a tolerance are where the layer is."""

from __future__ import annotations

import numpy as np

import pinnpoint as pp

P = 100.0
"""The Péclet number."""


def layered(n: int):
    """u = y(1 − y)(x − (e^{P(x−1)} − e^{−P})/(1 − e^{−P})), which falls to zero within 1/P of x = 1."""
    layer = f"((exp({P}*(x-1))-exp(-{P}))/(1-exp(-{P})))"
    source = f"y*(1-y) + {2.0 / P}*(x-{layer})"
    mesh = pp.io.generate("square", n)
    return pp.fem.ReactionDiffusion(mesh, source, 1.0 / P, convection=("1", "0"), degree=2)


def test_a_tolerance_takes_a_fraction_of_the_unknowns_of_uniform_cells():
    truth = (0.5 - (1.0 / P - np.exp(-P) / (1.0 - np.exp(-P)))) / 6.0
    uniform = layered(16)
    wide = pp.certify(uniform, "0*x", uniform.mean())
    problem = layered(8)
    found = pp.certify_to(problem, "0*x", problem.mean(), float(wide.radius[0]))
    assert found.reached
    assert wide.contains(truth).all()
    assert found.certificate.contains(truth).all()
    assert found.problem.unknowns < 0.6 * uniform.unknowns
    mesh = found.problem.mesh
    middle = mesh.points[mesh.cells].mean(axis=1)[:, 0]
    assert middle[mesh.volumes < 1.01 * mesh.volumes.min()].min() > 0.75
