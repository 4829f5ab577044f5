"""Fluxes on a part of the boundary, or on all of it: the constants of a box, and semilinear problems solved exactly."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.energy.norms import Norms

WAVE = (
    "sin(pi*x/2)*cos(pi*y)",
    "-1.25*pi**2*sin(pi*x/2)*cos(pi*y)",
    lambda X: np.sin(np.pi * X[:, 0] / 2) * np.cos(np.pi * X[:, 1]),
)
GROWTH = ("exp(x)*y**2", "exp(x)*(y**2+2)", lambda X: np.exp(X[:, 0]) * X[:, 1] ** 2)
SLAB = ("sin(pi*x/2)*y", "-0.25*pi**2*sin(pi*x/2)*y", lambda X: np.sin(np.pi * X[:, 0] / 2) * X[:, 1])
LINE = ("exp(x)", "exp(x)", lambda X: np.exp(X[:, 0]))
FREE = {"left": "-y**2", "right": "exp(1)*y**2", "top": "2*exp(x)", "bottom": "0"}
AROUND = {"right": 0.0, "front": 0.0, "back": 0.0, "bottom": "-sin(pi*x/2)", "top": "sin(pi*x/2)"}
CASES = {
    "one face": ("square", 8, WAVE, ["left"], {"right": 0.0}, 0.0, 20.0),
    "two faces": ("square", 8, WAVE, ["left", "right"], {"top": 0.0}, 0.0, 20.0),
    "no face": ("square", 8, GROWTH, [], FREE, 5.0, 1.0),
    "cube": ("cube", 3, SLAB, ["left"], AROUND, 0.0, 1.0),
    "line": ("interval", 16, LINE, [], {"left": -1.0, "right": "exp(1)"}, 2.0, 3.0),
}


def solved_by(domain, cells, solution, fixed, flux, c, lam):
    u, laplacian, exact = solution
    source = f"-({laplacian}) + {c}*({u}) + {lam}*({u})**3"
    mesh = generate(domain, cells)
    problem = pp.fem.Semilinear(
        mesh, cubic=lam, source=source, reaction=c, dirichlet=dict.fromkeys(fixed, u), neumann=flux
    )
    return problem, exact


@pytest.mark.parametrize("name", CASES)
def test_fluxes_on_a_part(name):
    problem, exact = solved_by(*CASES[name])
    X = np.array([[0.41, 0.33, 0.52], [0.63, 0.78, 0.3]])[:, : problem.mesh.dim]
    found = pp.certify(problem, lambda P: 0.0 * P[:, 0], problem.points(X))
    assert (found.guarantee, found.target) == ("deterministic", "continuous")
    assert np.all(found.contains(exact(X)))
    assert found.radius.max() < {1: 0.02, 2: 0.25, 3: 2.0}[problem.mesh.dim]


def test_radii_fall_with_second_order():
    radii = []
    for cells in (8, 16, 32):
        problem, exact = solved_by("square", cells, *CASES["one face"][2:])
        found = pp.certify(problem, lambda P: 0.0 * P[:, 0], problem.points([[0.41, 0.33]]))
        assert found.contains(exact(np.array([[0.41, 0.33]])))[0]
        radii.append(found.radius[0])
    assert radii[1] / radii[2] > 3.9


@pytest.mark.parametrize("name", CASES)
def test_constants_of_norms(name):
    """Discrete functions that vanish on the Dirichlet part stay within them; some come close."""
    problem, _ = solved_by(*CASES[name])
    mesh, rng = problem.mesh, np.random.default_rng(1)
    norms = Norms.of(problem.linear.continuum(Topology.of(mesh)))
    d, free = mesh.dim, problem.space.free
    fixed = np.ones(len(mesh.points), dtype=bool)
    fixed[slice(None) if free is None else free] = False
    bary = rng.dirichlet(np.ones(d + 1), 400)
    closest = 0.0
    for k in range(60):
        x, power = mesh.points, rng.integers(0, 4, d)
        v = np.prod(np.sin(np.pi * x / 2 * (1 + power)) if k % 2 else np.abs(x - rng.random(d)) ** power, axis=1)
        v = np.where(fixed, 0.0, np.ones_like(v) if k == 0 else v + (rng.normal() if k % 3 == 0 else 0.0))
        at, size = v[mesh.cells] @ bary.T, mesh.volumes[:, None] / len(bary)
        energy = np.sqrt(v @ problem.linear.A @ v)
        second, fourth = np.sum(at**2 * size) ** 0.5, np.sum(at**4 * size) ** 0.25
        assert second <= 1.01 * norms.second * energy
        assert fourth <= 1.01 * norms.fourth * energy
        assert np.abs(v).max() <= norms.top * energy
        closest = max(closest, second / (norms.second * energy))
    assert closest > 0.5
