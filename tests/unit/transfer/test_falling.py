"""Reactions whose derivative is negative somewhere, but above the first eigenvalue's negative."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.energy.norms import Norms
from pinnpoint.transfer.nonlinear.reactions import ReactionTerm, fluxes, height

PI = math.pi
Reaction = pp.fem.Reaction
WAVE = {"interval": "sin(pi*x)", "square": "sin(pi*x)*sin(pi*y)"}


def nothing(X):
    return 0.0 * X[:, 0]


def wave(domain, cells, g, c=0.0, cubic=None, size=1.0):
    u = f"({size}*{WAVE[domain]})"
    d = 1 if domain == "interval" else 2
    whole = (g or f"{cubic}*u**3").replace("u", u)
    return pp.fem.Semilinear(
        generate(domain, cells),
        cubic=cubic,
        g=None if g is None else Reaction(g),
        reaction=c,
        source=f"{d}*pi**2*{u} + ({c})*{u} + {whole}",
    )


CASES = [
    ("interval", 24, "u**3-6*u", 0.0, None),
    ("interval", 32, "3*sin(u)", 0.0, None),
    ("interval", 32, None, -8.0, 20.0),
    ("square", 12, "u**3-10*u", 0.0, None),
    ("square", 12, "5*sin(2*u)", 0.0, None),
    ("square", 12, "u**5-3*u", -5.0, None),
    ("square", 12, None, -15.0, 4.0),
]


@pytest.mark.parametrize(("domain", "cells", "g", "c", "cubic"), CASES)
def test_solution_is_held(domain, cells, g, c, cubic):
    problem = wave(domain, cells, g, c, cubic)
    X = np.array([[0.41, 0.33], [0.63, 0.78]])[:, : problem.mesh.dim]
    found = pp.certify(problem, nothing, problem.points(X))
    assert (found.guarantee, found.target) == ("deterministic", "continuous")
    assert np.all(found.contains(np.prod(np.sin(PI * X), axis=1)))
    assert found.radius.max() < 1.0
    assert any("u is unique" in a.claim for a in found.assumptions)


def test_states_moved_along_the_first_mode_need_the_factor(monkeypatch):
    """e = s·φ₁ has the residual (λ₁ − γ)s: with γ next to λ₁ the energy without 1/(1 − γ/λ₁) is far too small."""
    problem = wave("interval", 64, None, -9.0, 0.0)
    route = problem.transfer(problem.points([[0.5]]))
    X = problem.mesh.points[:, 0]
    state = 3.0 * np.sin(PI * X)
    state[[0, -1]] = 0.0
    A = problem.A.toarray()[1:-1, 1:-1]

    def dual(b):
        z = np.zeros(len(b))
        order = np.argsort(X)
        free = order[1:-1]
        z[free] = np.linalg.solve(problem.A.toarray()[np.ix_(free, free)], b[free])
        return z

    assert len(A)
    primal, found = route.enclosed(state, dual)
    assert abs(found[0].center - 1.0) <= found[0].radius
    true = 2.0 * PI / math.sqrt(2.0)  # ‖2 sin πx‖ in energy
    assert primal.energy >= true
    monkeypatch.setattr(Norms, "slope", property(lambda self: 1.0))
    assert route.primal(state).energy < 0.2 * true


def test_data_is_amplified():
    """−u″ − 9u = 0, u = 1 at both ends: 14.1 in the middle; comparison would leave 1."""
    problem = wave("interval", 16, None, -9.0, 0.0)
    route = problem.transfer(problem.points([[0.5]]))
    assert 1.0 / math.cos(1.5) <= route._missed(1.0) < 40.0


@pytest.mark.parametrize(("gamma", "true"), [(1.0, 0.307), (3.0, 0.545), (5.0, 2.01)])
def test_heights_on_a_disc(gamma, true):
    """A disc of radius 1 by a polygon; sup of −Δv = 1 + γv is (1/J₀(√γ) − 1)/γ, R²/4 alone is false."""
    from scipy.special import j0

    r, n = np.linspace(0.0, 1.0, 9), 48
    angle = 2.0 * PI * np.arange(n) / n
    points = np.concatenate([[[0.0, 0.0]], *[[[s * math.cos(a), s * math.sin(a)] for a in angle] for s in r[1:]]])
    cells = []
    for i in range(n):
        j = (i + 1) % n
        cells.append([0, 1 + i, 1 + j])
        for k in range(7):
            a, b, c, e = 1 + k * n + i, 1 + k * n + j, 1 + (k + 1) * n + i, 1 + (k + 1) * n + j
            cells += [[a, c, e], [a, e, b]]
    problem = pp.fem.Semilinear(Mesh(points, np.array(cells)), g=Reaction(f"-{gamma}*u"), source=1.0)
    model = problem.linear.continuum(Topology.of(problem.mesh))
    norms = Norms.of(model).falling(gamma, model)
    found = height(model, norms)
    assert abs((1.0 / j0(math.sqrt(gamma)) - 1.0) / gamma - true) < 5e-3
    assert true * 0.98 <= found < 6.0 * true
    _low, high = ReactionTerm(problem.g)._range(model, norms, np.zeros(len(points)), 1.0)
    assert high >= 0.98 * true
    assert high > 0.25 or gamma < 1.0


def test_the_first_eigenvalue_decides():
    X = [[0.5, 0.5]]
    wide = pp.fem.Semilinear(generate("square", 12), g=Reaction("u**3-19*u"), source=1.0)
    assert np.isfinite(pp.certify(wide, nothing, wide.points(X)).radius[0])
    for g in ("u**3-20*u", "-25*u"):
        problem = pp.fem.Semilinear(generate("square", 12), g=Reaction(g), source=1.0)
        with pytest.raises(InputError, match=r"must be above −λ₁, of which 19\.7"):
            pp.certify(problem, nothing, problem.points(X))
    # an L: the box around it proves less than its own first eigenvalue, 9.64 for sides of 2
    ell = pp.fem.Semilinear(generate("lshape", 8), g=Reaction("u**3-7*u"), source=1.0)
    found = pp.certify(ell, nothing, ell.points([[0.3, 0.3]]))
    assert np.isfinite(found.radius[0])


# Free sides beyond boxes, and fluxes for any g


def test_a_domain_with_free_sides_across_axes():
    """u = cos(πx) cos(πy) on an L of unit squares: no flux through any side; its values are given on one."""
    u = "cos(pi*x)*cos(pi*y)"
    problem = pp.fem.Semilinear(
        generate("lshape", 16), cubic=2.0, source=f"2*pi**2*{u} + 2*({u})**3", dirichlet={"left": "-cos(pi*y)"}
    )
    assert not Norms.of(problem.linear.continuum(Topology.of(problem.mesh))).vanishing
    X = np.array([[-0.6, 0.45], [0.5, 0.4]])
    found = pp.certify(problem, nothing, problem.points(X))
    assert np.all(found.contains(np.prod(np.cos(PI * X), axis=1)))
    assert found.radius.max() < 3.0


def test_constants_of_norms_beyond_boxes():
    problem = pp.fem.Semilinear(generate("lshape", 6), cubic=1.0, source=1.0, dirichlet={"left": 0.0})
    mesh, rng = problem.mesh, np.random.default_rng(1)
    norms = Norms.of(problem.linear.continuum(Topology.of(mesh)))
    free = problem.space.free
    bary, closest = rng.dirichlet(np.ones(3), 300), 0.0
    A = problem.linear.A
    for k in range(60):
        v = np.zeros(len(mesh.points))
        x = mesh.points[free]
        v[free] = (
            1.0
            if k == 0
            else np.prod(np.abs(x - rng.random(2) * 2 + 1) ** rng.integers(0, 4, 2), axis=1) + rng.normal()
        )
        if k % 3 == 2:
            v[free] = rng.standard_normal(len(free))
        at, size = v[mesh.cells] @ bary.T, mesh.volumes[:, None] / len(bary)
        energy = math.sqrt(v @ A @ v)
        assert np.sum(at**2 * size) ** 0.5 <= 1.01 * norms.second * energy
        assert np.sum(at**4 * size) ** 0.25 <= 1.01 * norms.fourth * energy
        closest = max(closest, np.sum(at**2 * size) ** 0.5 / (norms.second * energy))
    assert closest > 0.3


def test_slanted_free_sides_are_refused():
    mesh = Mesh(
        np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 2.0], [0.5, 0.7]]),
        np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]),
        facet_groups={"bottom": np.array([[0, 1]])},
    )
    problem = pp.fem.Semilinear(mesh, cubic=1.0, source=1.0, dirichlet={"bottom": 0.0})
    with pytest.raises(InputError, match="not parallel to axes"):
        pp.certify(problem, nothing, problem.points([[0.5, 0.5]]))


@pytest.mark.parametrize("g", ["sinh(u)", "exp(u)", "u**3", "atan(u)"])
def test_fluxes_with_any_reaction(g):
    """u = x + y² on the square with fluxes on three sides."""
    u = "(x + y**2)"
    problem = pp.fem.Semilinear(
        generate("square", 12),
        g=Reaction(g),
        source=f"-2 + {g.replace('u', u)}" if g != "atan(u)" else f"-2 + atan{u}",
        dirichlet={"left": "y**2"},
        neumann={"right": 1.0, "top": 2.0, "bottom": 0.0},
    )
    X = np.array([[0.4, 0.55]])
    found = pp.certify(problem, nothing, problem.points(X))
    assert found.contains(X[:, 0] + X[:, 1] ** 2)[0]
    assert found.radius[0] < 2.0
    route = problem.transfer(problem.points(X))
    assert np.all(fluxes(route.model, 1.0) >= [1.0, 2.0])
    assert np.allclose(fluxes(route.model, 1.0), [1.0, 2.0])
    assert np.all(fluxes(route.model, -1.0) < 1e-100)
    low, high = ReactionTerm(problem.g)._range(route.model, route.norms, np.zeros(169), 1.0)
    assert low <= 0.0
    assert high >= 2.0


# Quadratic elements


def quadratic(domain, cells, g, cubic=None, degree=2, **more):
    u = WAVE[domain]
    whole = f"{cubic}*({u})**3" if g is None else f"sinh({u})"
    return pp.fem.Semilinear(
        generate(domain, cells),
        cubic=cubic,
        g=None if g is None else Reaction(g),
        source=f"{1 if domain == 'interval' else 2}*pi**2*{u} + {whole}",
        degree=degree,
        **more,
    )


def test_quadratic_elements_hold_the_solution_with_order_three():
    X = np.array([[0.41, 0.33], [0.63, 0.78]])
    for domain, g, cubic in (("interval", "sinh(u)", None), ("interval", None, 20.0), ("square", "sinh(u)", None)):
        at = X[:, : 1 if domain == "interval" else 2]
        radii = []
        for cells in (6, 12):
            problem = quadratic(domain, cells, g, cubic)
            found = pp.certify(problem, nothing, problem.points(at))
            assert found.guarantee == "deterministic"
            assert np.all(found.contains(np.prod(np.sin(PI * at), axis=1)))
            radii.append(found.radius.max())
        assert radii[0] / radii[1] > 6.0


def test_quadratic_states_that_solve_nothing_are_held():
    problem = quadratic("square", 6, "sinh(u)")
    X = np.array([[0.45, 0.55]])
    route = problem.transfer(problem.points(X))
    free, rng = np.asarray(problem.space.free), np.random.default_rng(4)
    P = problem.nodes.points
    A = problem.A.toarray()[np.ix_(free, free)]

    def dual(b):
        z = np.zeros(len(P))
        z[free] = np.linalg.solve(A, b[free])
        return z

    for size in (0.0, 0.02, 0.3):
        state = np.zeros(len(P))
        state[free] = np.prod(np.sin(PI * P[free]), axis=1) + size * rng.standard_normal(len(free))
        _, found = route.enclosed(state, dual)
        assert abs(found[0].center - math.sin(0.45 * PI) * math.sin(0.55 * PI)) <= found[0].radius


def test_compositions_are_those_of_the_elements():
    from pinnpoint.taylor.bernstein import pairs
    from pinnpoint.transfer.nonlinear.reactions import ReactionTerm as Term

    rng = np.random.default_rng(0)
    for d in (1, 2, 3):
        count = (d + 1) * (d + 2) // 2
        w = rng.standard_normal((4, 1)) + 0.05 * rng.standard_normal((4, count))
        found = Term(Reaction("sinh(u)"), d).values(w)
        bary = rng.dirichlet(np.ones(d + 1), 300)
        ends = [(i, j) for i, j in pairs(d) if i < j]
        shapes = np.concatenate(
            [bary * (2 * bary - 1), np.stack([4 * bary[:, i] * bary[:, j] for i, j in ends], axis=1)], axis=1
        )
        basis = np.stack([(1 if i == j else 2) * bary[:, i] * bary[:, j] for i, j in pairs(d)], axis=1)
        off = np.sinh(w @ shapes.T) - found.coefficients @ basis.T
        assert np.all(np.sqrt(np.mean(off**2, axis=1)) <= 1.2 * (found.high + found.error2) + 1e-14)
        low, high = Term(Reaction("sinh(u)"), d)._ranges(w)[:, :, 0].T
        assert np.all((w @ shapes.T).min(axis=1) >= low)
        assert np.all((w @ shapes.T).max(axis=1) <= high)


def test_what_degree_two_does_not_have_is_refused():
    problem = quadratic("square", 4, None, 2.0)
    with pytest.raises(InputError, match="degree 2 have the continuous target only"):
        pp.certify(problem, np.zeros(len(problem.nodes)), problem.points([[0.5, 0.4]]), target="discrete")
    mesh = generate("square", 4)
    with pytest.raises(InputError, match="one number for degree = 2"):
        pp.fem.Semilinear(mesh, cubic=np.arange(len(mesh.cells)) + 1.0, source=1.0, degree=2)
    with pytest.raises(InputError, match="degree"):
        pp.fem.Semilinear(mesh, cubic=1.0, source=1.0, degree=3)
