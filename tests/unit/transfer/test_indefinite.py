"""Reactions below zero: separation from the spectrum, both radii, Dirichlet data, refusals."""

import dataclasses
import math
from itertools import product

import numpy as np
import pytest
from scipy.special import j0

import pinnpoint as pp
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding import inertia as counts
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.spectrum import separation as separations
from pinnpoint.transfer.spectrum.indefinite import Indefinite
from pinnpoint.transfer.spectrum.separation import Separation, separation

PI = math.pi
ZERO = {"boundary": 0.0}


def nothing(X):
    return 0.0 * X[:, 0]


def model_of(problem):
    return problem.continuum(Topology.of(problem.mesh))


def helmholtz(mesh, k2, **more):
    return pp.fem.ReactionDiffusion(mesh, reaction=-k2, **({"source": 1.0, "dirichlet": ZERO} | more))


def box_eigenvalues(d, count=200):
    modes = range(1, 12)
    return np.sort([PI**2 * sum(i * i for i in mode) for mode in product(modes, repeat=d)])[:count]


# Separation


SEPARATED = [
    ("interval", 16, 5.0),
    ("interval", 24, 30.0),
    ("interval", 40, 120.0),
    ("square", 8, 12.0),
    ("square", 12, 35.0),
    ("square", 14, 60.0),
    ("cube", 3, 20.0),
    pytest.param("cube", 8, 40.0, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("shape", "n", "k2"), SEPARATED)
def test_the_reaction_is_between_the_eigenvalues_that_are_claimed(shape, n, k2):
    mesh = pp.io.generate(shape, n)
    found, true = separation(model_of(helmholtz(mesh, k2))), box_eigenvalues(mesh.dim)
    m = int(np.sum(true < k2))
    assert found.count == m
    assert 1.0 < found.above <= true[m] / k2
    if m:
        assert true[m - 1] / k2 <= found.below < 1.0
    assert found.floor <= true[0]
    spectrum = 1.0 / (1.0 - k2 / true)
    assert found.low <= spectrum.min() + 0.0 if m else found.low == 0.0
    assert found.high >= spectrum.max()
    assert found.gain >= np.abs(spectrum).max()


def test_coefficients_that_jump_and_free_sides_are_separated_too():
    """Against eigenvalues of a finer mesh, from above."""
    from scipy.linalg import eigh

    from pinnpoint.transfer.spectrum.conforming import conforming
    from pinnpoint.transfer.spectrum.forms import Forms

    def setting(n):
        mesh = pp.io.generate("square", n)
        x, y = mesh.points[mesh.cells].mean(axis=1).T
        c = np.where(x < 0.5, -50.0, np.where(y < 0.5, 0.0, 15.0))
        kappa = np.where(y < 0.5, 1.0, 3.0)
        return helmholtz(mesh, -c, diffusion=kappa, dirichlet={"left": 0.0, "bottom": 0.0})

    model = model_of(setting(16))
    found = separation(model)
    space = conforming(model, Forms.of(model))
    near = eigh(space.mass.toarray(), space.stiffness.toarray(), eigvals_only=True)[::-1]
    true = 1.0 / near[near > 1e-12][:6]  # from above, by quadratic elements
    m = int(np.sum(true < 1.0))
    assert found.count == m >= 1
    assert true[m - 1] <= found.below * (1.0 + 1e-9) < 1.0 < found.above <= true[m]


def test_rounding_lowers_the_one_count_and_raises_the_other(monkeypatch):
    """θ is lowered for Crouzeix–Raviart elements and raised for conforming ones: never the other way round."""
    model = model_of(helmholtz(pp.io.generate("square", 14), 60.0))
    plain = separation(model)

    def worse(C, error=0.0):
        found = counts.inertia(C, error)
        return dataclasses.replace(found, defect=found.defect + 1e-6)

    monkeypatch.setattr(separations, "inertia", worse)
    found = separation(model)
    assert found.below > plain.below
    assert found.above < plain.above


def test_without_the_interpolation_constant_the_lower_bound_is_false(monkeypatch):
    """On a mesh whose Crouzeix–Raviart eigenvalues are above the true ones for lack of cells."""
    mesh = pp.io.generate("interval", 6)
    model, true = model_of(helmholtz(mesh, 30.0)), box_eigenvalues(1)
    assert separation(model).above <= true[1] / 30.0
    monkeypatch.setattr(separations, "interpolation_constant", lambda *a: 0.0)
    assert separation(model).above > true[1] / 30.0


# The two bounds, in finite dimensions


def finite_case(rng):
    """Symmetric K, a subspace V_h, residuals with parts in V_h: everything that `Indefinite.ends` bounds."""
    n, m = int(rng.integers(4, 9)), int(rng.integers(1, 3))
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    lam = np.concatenate([rng.uniform(0.2, 0.97, m), rng.uniform(1.03, 30.0, n - m)])
    K = Q @ np.diag(1.0 / lam) @ Q.T
    H = np.linalg.qr(Q[:, : n - 2] + 0.2 * rng.standard_normal((n, n - 2)))[0]  # V_h, near the first modes
    rest = np.linalg.qr(np.eye(n) - H @ H.T)[0][:, :2]
    rest = rest - H @ (H.T @ rest)
    rest = np.linalg.qr(rest)[0]
    M = math.sqrt(float(np.linalg.eigvalsh(rest.T @ K @ rest).max()))
    gap = Separation(m, float(lam[:m].max()), float(lam[m:].min()), float(lam.min()), 1.0)
    return K, H, rest, M, gap


def test_both_bounds_hold_in_finite_dimensions_and_need_all_their_factors():
    rng = np.random.default_rng(5)
    worst, without = 0.0, 0.0
    for _ in range(4000):
        K, H, rest, M, gap = finite_case(rng)
        n = len(K)
        S = np.linalg.inv(np.eye(n) - K)
        size = 10.0 ** rng.uniform(-3, 0.5)
        x, y = (
            rest @ rng.standard_normal(rest.shape[1]) + size * H @ rng.standard_normal(H.shape[1]) for _ in range(2)
        )
        true = x @ S @ y
        eta_p, eta_d = np.linalg.norm(x), np.linalg.norm(y)
        s = math.sqrt(eta_d / eta_p)
        less, more = (0.25 * np.linalg.norm(s * x + e * y / s) ** 2 for e in (-1.0, 1.0))
        C = math.sqrt(1.0 / gap.floor)
        r_p, r_d = C * np.linalg.norm(H.T @ x), C * np.linalg.norm(H.T @ y)
        for factor in (M, math.inf):
            it = Indefinite(None, gap)
            it.__dict__["mesh_factor"] = factor
            low, high, _ = it.ends((-less, more, 0.0), (eta_p, eta_d), (r_p, r_d))
            assert low <= true <= high
            assert np.linalg.norm(S @ x) <= it.energy(eta_p, r_p) * (1.0 + 1e-12)
            worst = max(worst, abs(true - 0.5 * (low + high)) / (0.5 * (high - low)))
        bad = M * eta_p + r_p, M * eta_d / 1.0 + r_d  # the dual's part without 1/β
        off = abs(true - 0.5 * (more - less)) - 0.5 * (more + less)
        without = max(without, off / (bad[0] * bad[1]))
    assert worst > 0.3
    assert without > 2.0


# Intervals


def interval_case(n, degree, k2):
    u = "sin(pi*x)+0.3*sin(2*pi*x)"
    p = helmholtz(
        pp.io.generate("interval", n), k2, degree=degree, source=f"pi**2*sin(pi*x)+1.2*pi**2*sin(2*pi*x)-{k2}*({u})"
    )
    X = np.array([[0.31], [0.5]])
    return p, X, np.sin(PI * X[:, 0]) + 0.3 * np.sin(2 * PI * X[:, 0])


@pytest.mark.parametrize(("n", "degree", "k2"), [(24, 1, 5.0), (24, 2, 25.0), (40, 1, 60.0), (32, 2, 100.0)])
def test_intervals_hold_the_truth_in_one_dimension(n, degree, k2):
    p, X, truth = interval_case(n, degree, k2)
    c = pp.certify(p, nothing, p.points(X))
    assert c.guarantee == "deterministic"
    assert c.target == "continuous"
    assert np.all(c.contains(truth))
    assert np.all(c.radius < (1e-2 if degree == 1 else 1e-4))


@pytest.mark.parametrize(("degree", "k2"), [(1, 12.0), (2, 12.0), (2, 35.0), (2, 60.0)])
def test_intervals_hold_the_truth_in_two_dimensions(degree, k2):
    p = helmholtz(pp.io.generate("square", 12), k2, degree=degree, source=f"(2*pi**2-{k2})*sin(pi*x)*sin(pi*y)")
    X = np.array([[0.37, 0.52], [0.71, 0.36]])
    q = p.points(X) + p.averages([[0.4, 0.5]], 0.1)
    c = pp.certify(p, nothing, q)
    assert np.all(c.contains([*np.prod(np.sin(PI * X), axis=1), float(c.center[2])]))
    # an average over a ball of radius R multiplies sin sin by 2 J₁(kR)/(kR), k² = 2π²
    z = 0.1 * PI * math.sqrt(2.0)
    from scipy.special import j1

    mean = 2.0 * j1(z) / z * math.sin(0.4 * PI)
    assert c.lower[2] <= mean <= c.upper[2]
    assert np.all(c.radius < (0.2 if degree == 1 else 2e-3))


def test_free_sides_averages_over_them_and_fluxes():
    k2 = 15.0
    u = "sin(pi*x)*cos(pi*y)"
    p = helmholtz(
        pp.io.generate("square", 12), k2, degree=2, source=f"(2*pi**2-{k2})*{u}", dirichlet={"left": 0.0, "right": 0.0}
    )
    c = pp.certify(p, nothing, p.points([[0.4, 0.3]]) + p.patch("top") + p.flux("left"))
    truth = [math.sin(0.4 * PI) * math.cos(0.3 * PI), -2.0 / PI, 0.0]
    assert np.all(c.contains(truth))
    assert np.all(c.radius < 2e-3)


@pytest.mark.slow
def test_intervals_hold_the_truth_in_three_dimensions():
    S = "sin(pi*x)*sin(pi*y)*sin(pi*z)"
    for n, degree, k2 in ((4, 2, 20.0), (8, 1, 40.0)):
        p = helmholtz(pp.io.generate("cube", n), k2, degree=degree, source=f"(3*pi**2-{k2})*{S}")
        X = np.array([[0.4, 0.5, 0.55]])
        c = pp.certify(p, nothing, p.points(X))
        assert np.all(c.contains(np.prod(np.sin(PI * X), axis=1)))


@pytest.mark.slow
def test_radii_on_the_square_of_the_page():
    u = "sin(pi*x)*sin(2*pi*y)+0.3*sin(3*pi*x)*sin(pi*y)+8*x*(1-x)*y*(1-y)"
    f = "5*pi**2*sin(pi*x)*sin(2*pi*y)+3*pi**2*sin(3*pi*x)*sin(pi*y)+16*(x*(1-x)+y*(1-y))"
    X = np.array([(0.5, 0.5), (0.37, 0.52), (0.71, 0.36)])
    x, y = X.T
    truth = np.sin(PI * x) * np.sin(2 * PI * y) + 0.3 * np.sin(3 * PI * x) * np.sin(PI * y)
    truth += 8 * x * (1 - x) * y * (1 - y)
    for k2, most in ((10.0, 2e-5), (30.0, 3e-5), (60.0, 7e-5)):
        p = helmholtz(pp.io.generate("square", 32), k2, degree=2, source=f"{f}-{k2}*({u})")
        c = pp.certify(p, nothing, p.points(X))
        assert np.all(c.contains(truth))
        assert np.all(c.radius <= most)


def test_lifts_keep_the_prediction():
    p = helmholtz(pp.io.generate("square", 8), 30.0, degree=2, source="(2*pi**2-30)*sin(pi*x)*sin(pi*y)")
    X = np.array([[0.5, 0.5], [0.3, 0.6]])
    c = pp.certify(p, "1.001*sin(pi*x)*sin(pi*y)", p.points(X), lift=True)
    assert np.all(c.contains(np.prod(np.sin(PI * X), axis=1)))
    assert np.all(c.radius < 2e-6)


# States near resonance: any state is a state


def moved_states(k2, n, size, replace=None):
    """Intervals from states moved along the first mode, whose eigenvalue is next to k²."""
    p = helmholtz(pp.io.generate("square", n), k2, degree=2, source=f"(2*pi**2-{k2})*sin(pi*x)*sin(pi*y)")
    X = np.array([[0.5, 0.5], [0.37, 0.52]])
    route = p.transfer(p.points(X))
    if replace is not None:
        it = Indefinite(route.model, replace)
        it.__dict__["mesh_factor"] = math.inf
        object.__setattr__(route, "indefinite", it)
    mode = np.prod(np.sin(PI * p.nodes.points), axis=1) * size
    free = np.asarray(p.space.free)
    mode[np.setdiff1d(np.arange(len(mode)), free)] = 0.0
    A = p.A[free][:, free].toarray()

    def solved(b):
        z = np.zeros(len(mode))
        z[free] = np.linalg.solve(A, b[free])
        return z + mode

    model = route.model
    state = solved(model.vector(model.load, None))
    duals = {i: solved(model.vector(J.source, None)) for i, J in enumerate(route.goals)}
    primal, pairs, _ = route._measure(model.primal(state), duals)
    found = [route._enclosed(i, state, primal, pairs[i], duals[i]) for i in range(2)]
    truth = np.prod(np.sin(PI * X), axis=1)
    return [abs(f.center - t) / f.radius for f, t in zip(found, truth, strict=True)]


@pytest.mark.parametrize("k2", [17.0, 19.0, 22.0])
def test_states_moved_along_a_nearly_resonant_mode_are_held(k2):
    assert max(moved_states(k2, 8, 30.0)) <= 1.0
    coercive = Separation(0, 0.0, 1e300, 1.0, k2)
    assert max(moved_states(k2, 8, 30.0, coercive)) > 1.0, "the coercive constant must miss"


@pytest.mark.parametrize("k2", [17.0, 19.0])
def test_what_a_state_misses_of_its_equations_is_divided_by_the_gap(k2):
    """A state moved along a nearly resonant mode: with ‖r‖ itself the energy bound would be below the error."""
    p = helmholtz(pp.io.generate("square", 8), k2, degree=2, source=f"(2*pi**2-{k2})*sin(pi*x)*sin(pi*y)")
    mode = np.prod(np.sin(PI * p.nodes.points), axis=1)
    mode[np.setdiff1d(np.arange(len(mode)), np.asarray(p.space.free))] = 0.0
    state, true = -30.0 * mode, 31.0 * PI / math.sqrt(2.0)  # u = sin πx sin πy, ‖∇u‖² = π²/2
    route = p.transfer(p.points([[0.5, 0.5]]))
    model, it = route.model, route.indefinite
    eta = model.estimator.energy(route._measure(model.primal(state), {})[0])
    defect, M = it.defect(state, model.load, model.boundary_load), it.mesh_factor
    assert math.isfinite(M)
    assert it.energy(eta, defect) >= 0.999 * true
    length = it.gap.gain * (M * eta + defect)
    assert 0.5 * eta + math.hypot(0.5 * eta, length) >= 0.999 * true
    assert 0.5 * eta + math.hypot(0.5 * eta, M * eta + defect) < 0.9 * true


# Dirichlet data


def test_data_is_amplified_as_far_as_it_must_be():
    """−u″ − 9u = 0 with u = 1 at both ends of (0, 1): 14.1 in the middle, where c ≥ 0 would leave 1."""
    p = helmholtz(pp.io.generate("interval", 64), 9.0, degree=2, source=0.0, dirichlet={"boundary": 1.0})
    route = p.transfer(p.points([[0.5]]))
    c = pp.certify(p, nothing, p.points([[0.5]]))
    assert c.contains([1.0 / math.cos(1.5)])[0]
    assert 14.0 < c.center[0] < 14.2
    dual = pp.certify(p, nothing, p.points([[0.5]])).evidence.witness.duals[0]
    change = route.indefinite.moved(route.goals[0], 1.0, dual, 0.0)
    assert 14.1 <= change <= 60.0


@pytest.mark.parametrize("k2", [5.0, 15.0, 30.0, 60.0])
def test_data_that_the_elements_do_not_meet(k2):
    g = "sin(2*x)*cos(y)"
    X = np.array([[0.5, 0.5], [0.3, 0.6]])
    for degree in (1, 2):
        p = helmholtz(
            pp.io.generate("square", 12), k2, degree=degree, source=f"(5-{k2})*{g}", dirichlet={"boundary": g}
        )
        c = pp.certify(p, nothing, p.points(X))
        assert np.all(c.contains(np.sin(2 * X[:, 0]) * np.cos(X[:, 1])))
        assert np.all(c.terms["boundary"] > 0.0)
    with pytest.raises(pp.InputError, match="flux"):
        pp.certify(p, nothing, p.flux("boundary"))


# Kernels


def test_the_kernel_of_a_negative_reaction_is_the_one_of_bessel_functions():
    """In the plane ∫ w J₀(k|x − x₀|) = 1, as J₀ solves the homogeneous equation."""
    k = 3.0
    K = Kernel.build(2, 1.0, -k * k, 0.7, 1)
    r = np.linspace(0.0, K.radius, 20001)
    f = K.peak * (1.0 - (r / K.radius) ** 2) * j0(k * r) * 2.0 * PI * r
    assert abs(np.trapezoid(f, r) - 1.0) < 1e-6
    assert K.positive
    assert all(K.value(float(x))[0] >= 0.0 for x in np.linspace(0.05, K.radius, 30))
    assert Kernel.build(2, 1.0, -100.0, 5.0).radius < 2.405 / 10.0


# Refusals


def test_refusals_name_the_numbers():
    square = pp.io.generate("square", 8)
    X = [[0.5, 0.5]]
    for k2, words in ((2 * PI**2, "19.739"), (95.0, "needs cells of a diameter"), (400.0, "cells are too large")):
        p = helmholtz(square, k2)
        with pytest.raises(pp.InputError, match=words):
            pp.certify(p, nothing, p.points(X))
    free = helmholtz(square, 5.0, dirichlet={})
    with pytest.raises(pp.InputError, match="no boundary group is Dirichlet"):
        pp.certify(free, nothing, free.points(X))
    p = helmholtz(square, 10.0)
    with pytest.raises(pp.InputError, match="a reaction ≥ 0 is needed"):
        pp.certify(p, "0*x", p.everywhere(solve=False), lift=True)
    p = helmholtz(square, 40.0)
    with pytest.raises(pp.InputError, match="first zero"):
        pp.certify(p, nothing, p.averages(X, 0.45))


def test_the_discrete_target_of_an_indefinite_system():
    p = helmholtz(pp.io.generate("square", 48), 60.0)
    c = pp.certify(p, nothing, p.points([[0.5, 0.5]]), target="discrete")
    free = np.asarray(p.space.free)
    U = np.zeros(len(p.mesh.points))
    import scipy.sparse.linalg as spla

    U[free] = spla.spsolve(p.A[free][:, free].tocsc(), p.b[free])
    assert c.contains(p.points([[0.5, 0.5]]).L @ U)[0]
    assert c.radius[0] < 1e-11
    assert any("counts of pivots" in a.claim for a in c.assumptions)
