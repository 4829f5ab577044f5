"""Intervals for the PDE's own solution hold it: every family of known solutions, every method, every state."""

from __future__ import annotations

import numpy as np
import pytest
import skfem
from flint import arb
from scipy.spatial import cKDTree

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.systems.queries import Point
from pinnpoint.transfer.energy.estimator import Side
from tests.support import continua
from tests.support.continua import Known, Tally, box, unit_mesh, with_sides
from tests.support.truths import Layers, exactly, holds

CASES = {
    "1D, P1": 40,
    "1D, P2": 24,
    "smooth 2D, P1": 12,
    "smooth 2D, P2": 10,
    "smooth 3D, P1": 3,
    "smooth 3D, P2": 2,
    "strips with fluxes 2D": 12,
    "strips with fluxes 3D": 3,
    "rings with fluxes": 10,
    "layers 2D, P1": 14,
    "layers 2D, P2": 10,
    "layers 3D": 4,
    "layers, near a jump": 6,
    "corners 2D": 6,
    "corners 3D": 3,
    "cross points": 2,
    "−Δu = 1": 12,
}


@pytest.mark.slow
@pytest.mark.parametrize("family", list(continua.FAMILIES))
def test_every_interval_holds_the_solution(family):
    tally = Tally()
    for k in range(CASES[family]):
        continua.run(continua.FAMILIES[family](np.random.default_rng([7, k])), tally)
    assert not tally.misses
    assert tally.intervals >= CASES[family]


METHODS = {
    "exact": pp.Exact(),
    "norm": pp.Norm(),
    "inexact": pp.Inexact(tolerance=1e-3),
    "localized": pp.Localized(radius=0.4),
    "randomized": pp.Randomized(),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", ["1D, P1", "smooth 2D, P1", "strips with fluxes 2D", "corners 2D"])
def test_every_method_holds_the_solution(family, method):
    tally = Tally()
    for k in range(2):
        known = continua.FAMILIES[family](np.random.default_rng([11, k]))
        if method == "localized":  # needs places
            at = [i for i, goal in enumerate(known.queries.goals) if isinstance(goal, Point)]
            X = np.array([known.queries.goals[i].at for i in at])
            known = Known(known.label, known.problem, known.problem.points(X), [known.truths[i] for i in at])
        continua.run(known, tally, METHODS[method])
        continua.run(known, tally, METHODS[method], np.zeros(len(known.problem.nodes)))
    assert not tally.misses


@pytest.mark.parametrize("family", ["1D, P2", "smooth 2D, P1", "rings with fluxes", "layers 2D, P1"])
def test_the_interval_does_not_depend_on_the_prediction(family):
    known = continua.FAMILIES[family](np.random.default_rng(5))
    rng, size = np.random.default_rng(6), len(known.problem.nodes)
    states = [known.solved(), np.zeros(size), rng.normal(size=size), 1e6 * rng.normal(size=size)]
    found = [pp.certify(known.problem, U, known.queries) for U in states]
    for c in found[1:]:
        assert np.all(c.center == found[0].center)
        assert np.all(c.radius == found[0].radius)
        assert all(holds(a, b, t) for a, b, t in zip(c.lower, c.upper, known.truths, strict=True))
    assert not np.allclose(found[2].value, found[0].value)


def true_error(known: Known, U: np.ndarray, u, gradient) -> float:
    """‖u − u_h‖_a by scikit-fem with high quadrature."""
    mesh, d, degree = known.problem.mesh, known.problem.mesh.dim, known.problem.degree
    kinds = {
        (2, 1): (skfem.MeshTri, skfem.ElementTriP1()),
        (2, 2): (skfem.MeshTri, skfem.ElementTriP2()),
        (3, 1): (skfem.MeshTet, skfem.ElementTetP1()),
        (3, 2): (skfem.MeshTet, skfem.ElementTetP2()),
    }
    make, element = kinds[d, degree]
    grid = make(np.ascontiguousarray(mesh.points.T), np.ascontiguousarray(mesh.cells.T))
    basis = skfem.Basis(grid, element, intorder=12 if d == 2 else 8)
    near, at = cKDTree(known.problem.nodes.points).query(basis.doflocs.T)
    assert near.max() < 1e-12
    state = basis.interpolate(U[at])
    x = np.asarray(basis.global_coordinates())
    kappa, c = float(known.problem.diffusion[0]), known.problem.reaction
    c = 0.0 if c is None else float(c[0])
    flat = x.reshape(d, -1).T
    e = u(flat).reshape(x.shape[1:]) - np.asarray(state)
    slope = gradient(flat).T.reshape(x.shape) - state.grad
    return float(np.sqrt(np.sum((kappa * (slope**2).sum(axis=0) + c * e * e) * basis.dx)))


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("state", ["zero", "noise", "wave", "nearly"])
def test_energy_bounds_of_states_that_solve_nothing(d, degree, state):
    rng = np.random.default_rng([d, degree])
    n = {2: {1: 8, 2: 4}, 3: {1: 3, 2: 2}}[d][degree]
    for kappa, c, kind in ((1.0, 0.0, "structured"), (2.5, 30.0, "perturbed"), (0.5, 1.0, "delaunay")):
        mesh = unit_mesh(rng, d, n, kind)
        text = "sin(pi*x)*exp(y)" + ("" if d == 2 else "*(1 + z)")

        def u(X):
            return np.sin(np.pi * X[:, 0]) * np.exp(X[:, 1]) * (1.0 if X.shape[1] == 2 else 1.0 + X[:, 2])

        def gradient(X):
            s, t, e = np.sin(np.pi * X[:, 0]), np.pi * np.cos(np.pi * X[:, 0]), np.exp(X[:, 1])
            w = 1.0 if X.shape[1] == 2 else 1.0 + X[:, 2]
            return np.stack([t * e * w, s * e * w, s * e][: X.shape[1]], axis=1)

        sides = {"bottom": f"-{kappa}*{text}", "top": f"{kappa}*{text}"}
        if d == 3:
            sides |= {"front": f"-{kappa}*sin(pi*x)*exp(y)", "back": f"{kappa}*sin(pi*x)*exp(y)"}
        problem = pp.fem.ReactionDiffusion(
            mesh,
            f"({kappa}*(pi**2 - 1) + {c})*{text}",
            kappa,
            c,
            dirichlet={"left": 0.0, "right": 0.0},
            neumann=sides,
            degree=degree,
        )
        known = Known(state, problem, None, [])
        exact = known.solved()
        free = problem.space.free
        U = np.array(exact)
        if state == "zero":
            U[free] = 0.0
        elif state == "noise":
            U[free] = rng.normal(size=free.size)
        elif state == "wave":
            U[free] = 3.0 * np.sin(7.0 * problem.nodes.points[free, 0])
        else:
            U[free] += 1e-3 * rng.normal(size=free.size)
        model = problem.transfer(problem.points(np.full((1, d), 0.4))).model
        flux = model.fluxes(np.stack([U, exact]), [model.load, model.load], [model.boundary_load] * 2)
        one = Side(U, model.load, flux[..., 0], model.boundary_load)
        two = Side(exact, model.load, flux[..., 1], model.boundary_load)
        bounds, (pair,) = model.estimator.measure(one, [(two, 1.0, True)])
        error = true_error(known, U, u, gradient)
        eta = model.estimator.energy(bounds)
        assert error <= eta * (1.0 + 1e-10)
        assert eta <= (60.0 if state == "noise" else 40.0) * error
        # a(u − U, u − u_h) from three energies
        other = true_error(known, exact, u, gradient)
        apart = true_error(known, U - exact, lambda X: 0.0 * X[:, 0], lambda X: 0.0 * X)
        product = 0.5 * (error**2 + other**2 - apart**2)
        low, high, _ = model.estimator.product_bound(bounds, pair)
        slip = 1e-9 * (error**2 + other**2)
        assert low - slip <= product <= high + slip


def interval(n, **data):
    cells = np.stack([np.arange(n), np.arange(1, n + 1)], axis=1)
    mesh = Mesh((np.arange(n + 1) / n)[:, None], cells, facet_groups={"left": [[0]], "right": [[n]]})
    return pp.fem.ReactionDiffusion(mesh, **data)


@pytest.mark.parametrize("degree", [1, 2])
def test_points_at_jumps_and_free_ends_without_a_fixed_end(degree):
    """No ball fits there, and no end is fixed: the bound goes through the reaction."""
    k, c = np.repeat([1.0, 10.0], 4), np.repeat([2.0, 0.0], 4)
    problem = interval(8, source="1 + x", diffusion=k, reaction=c, dirichlet={}, neumann={"right": 0.5}, degree=degree)
    phi = Layers(
        [0.0, 0.5, 1.0], [1.0, 10.0], [2.0, 0.0], [continua.Factor("poly", ("1", "1"))], (("flux", 0.0), ("flux", 0.5))
    )
    some = [0.5, 0.0, 1.0, 0.3, 0.75]
    found = pp.certify(problem, np.zeros(len(problem.nodes)), problem.points(np.array(some)[:, None]))
    assert all(holds(a, b, phi(x)) for a, b, x in zip(found.lower, found.upper, some, strict=True))
    assert np.all(found.radius < 0.2)


@pytest.mark.parametrize("d", [2, 3])
def test_points_on_jumps_and_free_sides_are_refused_in_plain_words(d):
    x = np.linspace(0.0, 1.0, 5)
    X, T = box([x] * d)
    k = np.where(X[T].mean(axis=1)[:, 0] < 0.5, 1.0, 7.0)
    problem = pp.fem.ReactionDiffusion(with_sides(X, T), 1.0, k, dirichlet={"left": 0.0})
    U = np.zeros(len(problem.nodes))
    with pytest.raises(pp.InputError, match=r"'q0'.*lies on a jump of the coefficients.*target='discrete'"):
        pp.certify(problem, U, problem.points([[0.5, *[0.3] * (d - 1)]]))
    with pytest.raises(pp.InputError, match=r"'q0'.*lies on the Neumann boundary"):
        pp.certify(problem, U, problem.points([[0.3, 1.0, 0.3][:d]]))
    with pytest.raises(pp.InputError, match=r"leaves the domain, whose boundary is 0\.2 away"):
        problem.averages([[0.8, *[0.5] * (d - 1)]], 0.3)
    fixed = pp.certify(problem, U, problem.points([[0.0, 0.3, 0.3][:d]]))
    assert fixed.lower[0] <= 0.0 <= fixed.upper[0]
    assert fixed.radius[0] < 1e-12


def test_fluxes_are_refused_where_they_are_not_defined():
    x = np.linspace(0.0, 1.0, 4)
    mesh = with_sides(*box([x, x]))
    problem = pp.fem.ReactionDiffusion(mesh, 1.0, dirichlet={"left": 0.0, "bottom": 0.0})
    U = np.zeros(len(problem.nodes))
    with pytest.raises(pp.InputError, match="touches other Dirichlet facets"):
        pp.certify(problem, U, problem.flux("left"))
    with pytest.raises(pp.InputError, match="fluxes are certified through Dirichlet groups"):
        pp.certify(problem, U, problem.flux("top"))
    bent = pp.fem.ReactionDiffusion(mesh, 1.0, dirichlet={"left": "abs(sin(3*y))"})
    with pytest.raises(pp.InputError, match="needs Dirichlet data that the elements meet but for rounding"):
        pp.certify(bent, U, bent.flux("left"))


def test_an_opaque_source_is_an_estimate():
    problem = interval(8, source=lambda X: np.exp(X[:, 0]))
    found = pp.certify(problem, np.zeros(9), problem.points([[0.4]]))
    assert found.guarantee == "estimate"


def test_the_truths_themselves():
    """Layers meet their equations; the sides of a jump agree in value and in flux."""
    phi = Layers(
        [0.0, 0.25, 1.0],
        [2.0, 30.0],
        [0.0, 5.0],
        [continua.Factor("sin", ("3", "0.1"))],
        (("value", 1.0), ("flux", -0.5)),
    )
    h = exactly(2.0**-60)
    for t, piece in ((0.1, 0), (0.7, 1)):
        x, k, c = exactly(t), exactly(phi.kappa[piece]), exactly(phi.reaction[piece])

        def value(s, piece=piece):
            basis, own = phi._basis(piece, s)[0], phi._particular(piece, s)[0]
            return basis[0] * phi.constants[2 * piece] + basis[1] * phi.constants[2 * piece + 1] + own

        second = (value(x + h) - 2 * value(x) + value(x - h)) / (h * h)
        assert abs(float(-k * second + c * value(x) - (3 * x + arb("0.1")).sin())) < 1e-15
    assert abs(float(phi(0.0) - 1)) < 1e-60
    assert abs(float(phi(1.0, True) * 30 + exactly(0.5))) < 1e-60


def test_parts_that_meet_in_a_vertex_alone_do_not_hold_each_other():
    """The discrete system is regular there, the PDE is not."""
    x = np.linspace(-1.0, 1.0, 5)
    mesh = with_sides(*box([x, x], lambda c: c[:, 0] * c[:, 1] > 0.0))
    held = pp.fem.ReactionDiffusion(mesh, 1.0)
    found = pp.certify(held, np.zeros(len(held.nodes)), held.points([[0.5, 0.5], [-0.5, -0.5]]))
    assert np.all((found.lower <= 0.0736713532815138) & (0.0736713532815138 <= found.upper))
    loose = pp.fem.ReactionDiffusion(mesh, 1.0, dirichlet={"right": 0.0})
    with pytest.raises(pp.InputError, match=r"8 cells, for example at .* no unique solution there"):
        pp.certify(loose, np.zeros(len(loose.nodes)), loose.points([[0.5, 0.5]]))
