"""Formulas about curved domains that look right and are not: what is proved differs from them where they fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.middles import Middles
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.boundary.data_lift import coefficient_bounds
from pinnpoint.transfer.elastic import airy
from pinnpoint.transfer.elastic.arcs import Graph, gauss
from tests.support import curved_solids as cs


def test_reactions_on_bent_cells_are_bounded_by_the_bent_cells_volume():
    """A triangle whose hypotenuse is bent inwards by 0.2: |Ω| = 0.3114, and ∫1·1 = 0.5 on the straight one."""
    inward = 0.5 - 0.2 / np.sqrt(2.0)
    bend = Middles(np.array([[1, 2]]), np.array([[inward, inward]]))
    mesh = Mesh(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([[0, 1, 2]]), {}, {}, middles=bend)
    problem = pp.fem.ReactionDiffusion(mesh, source=1.0, reaction=1.0, dirichlet={})
    assert np.isclose(problem.bending.size_of(problem.mesh.cells), 0.3114, atol=2e-4)
    floor = problem.continuum(Topology.of(problem.mesh)).reaction
    assert (floor <= 0.44).all()  # the least determinant; with |K| alone the bound 0.395 is below the residual's 0.5
    assert (floor > 0.3).all()


def test_a_lift_of_data_is_added_outside_of_the_root():
    """Cells with N and a lift e count (N + e)²; e inside the root of q² + o²/c would give 1.118 for 1.5."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 2), source="1 + x", reaction=1.0)
    certificate = pp.certify(problem, problem.space.U0, problem.mean())
    witness = certificate.evidence.witness
    estimator = witness.route.model.estimator
    bounds = estimator.measure(witness.primal(), [])[0]
    bare = replace(bounds, means=0.0, data=(0.0 * bounds.oscillation, 0.0))
    alone = np.array([estimator.energy(_only(bare, k)) for k in range(3)])
    lifts = 0.5 + np.arange(len(bounds.square))
    for k in range(3):
        found = estimator.energy(replace(_only(bare, k), lift=_one(lifts, k)))
        assert found >= (alone[k] + lifts[k]) * (1.0 - 1e-12)


def test_the_energy_of_a_lift_counts_determinants_beside_eigenvalues():
    """A cell that is enlarged has det J > 1 where A's eigenvalues are 1: c det J counts, not c times the latter."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    edges = np.array([[0, 1], [0, 2], [1, 2]])
    out = np.array([[0.5, -0.2], [-0.2, 0.5], [0.7, 0.7]])
    mesh = Mesh(X, np.array([[0, 1, 2]]), {}, {}, middles=Middles(edges, out))
    problem = pp.fem.ReactionDiffusion(mesh, source=1.0, reaction=3.0, dirichlet={})
    top, most = coefficient_bounds(problem.continuum(Topology.of(problem.mesh)), np.array([0]))
    bary = np.random.default_rng(2).dirichlet(np.ones(3), 200)
    J = problem.bending.bends.moved(bary @ X)[1]
    size = np.linalg.det(J)
    A = size[:, None, None] * np.linalg.inv(J) @ np.linalg.inv(J).transpose(0, 2, 1)
    largest = np.linalg.eigvalsh(A).max(axis=1)
    assert (top[0] >= largest).all()
    assert (most[0] >= 3.0 * size).all()
    assert (size > largest).any()


@pytest.mark.parametrize(("more", "factor"), [({"convection": ("1", "0")}, 4), ({"reaction": -1.0}, 2)])
def test_data_beside_convection_or_reactions_below_zero_are_not_lifted(more, factor):
    """c^½‖E‖ has no meaning for c < 0, and (b·∇E, w) is not bounded by the energy of E."""
    u = "exp(x)*sin(2*y + 0.3)"
    given = {"source": f"{factor}*{u}", "dirichlet": {"boundary": u}, "degree": 2}
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 6), **given, **more)
    found = pp.certify(problem, problem.space.U0, problem.points([[0.5, 0.4]]))
    assert found.contains([np.exp(0.5) * np.sin(1.1)]).all()
    assert not any("lifted" in claim.claim for claim in found.assumptions)


def _one(x, k):
    found = np.zeros_like(x)
    found[k] = x[k]
    return found


def _only(bounds, k):
    names = ("square", "size", "high", "fuzz", "facet", "oscillation")
    return replace(bounds, **{name: _one(getattr(bounds, name), k) for name in names})


@pytest.mark.parametrize("power", [(2, 0), (1, 1), (0, 2), (3, 0), (2, 1)])
def test_airys_stress_does_the_work_of_the_traction_that_is_left(power):
    """∫ r·w = ∫ τ : ε(w), τ by second differences of ψ: false for a collar in which ψ has kinks at the nodes."""
    problem = cs.kirsch(6)
    arcs = problem.transfer(problem.points([[1.2, 1.3]], "x")).arcs
    rng = np.random.default_rng(11)
    near = tuple(rng.normal(size=(len(arcs.facets), airy.DEGREE + 1)) * 0.4 ** np.arange(airy.DEGREE + 1) for _ in "ab")
    tau, w = gauss(40)
    theta, v = gauss(6)
    own, eta = airy._parts(arcs, near, arcs.line, False), arcs.line.values[0]
    r = np.stack([-own["b"][1], own["p"][1]])
    i, j = power
    h = 2e-4
    done = np.zeros((2, len(arcs.facets)))
    inside = (tau > 0.01) & (tau < 0.99)
    for t, weight in zip(theta, v, strict=True):
        y = eta - t * arcs.slope[:, None] * tau * (1.0 - tau)

        def psi(dx, dy, y=y):
            x = tau + dx
            V = airy.basis(tuple(x.tolist()))[0]
            alpha, beta = (c @ V.T for c in near)
            omega = arcs.slope[:, None] * (x * (1.0 - x))
            at = (Graph.of(arcs.shape, x).values[0] - y - dy) / omega
            return omega**2 * (alpha - at * beta) * (1.0 - 3.0 * at**2 + 2.0 * at**3)

        xx = (psi(h, 0) - 2 * psi(0, 0) + psi(-h, 0)) / h**2
        yy = (psi(0, h) - 2 * psi(0, 0) + psi(0, -h)) / h**2
        xy = (psi(h, h) - psi(h, -h) - psi(-h, h) + psi(-h, -h)) / (4 * h**2)
        dx = i * tau ** max(i - 1, 0) * y**j
        dy = j * tau**i * y ** max(j - 1, 0)
        omega = arcs.slope[:, None] * tau * (1.0 - tau) * w * weight * inside
        done += np.stack([(yy * dx - xy * dy) * omega, (-xy * dx + xx * dy) * omega]).sum(axis=2)
    work = (r * (tau**i * eta**j) * w).sum(axis=2)
    assert np.allclose(done, work, atol=2e-2 * np.abs(work).max() + 2e-3 * np.abs(r).max())
