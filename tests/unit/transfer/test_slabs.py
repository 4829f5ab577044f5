"""Intervals in time against closed forms, the product theorem at matrix level, and what a term left out does."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import leggauss, legval
from scipy.integrate import quad
from scipy.special import betainc

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse
from pinnpoint.rounding.arithmetic import sum_up
from pinnpoint.taylor.bernstein import gram, pairs, values
from pinnpoint.taylor.models import constant
from pinnpoint.taylor.prisms import modes
from pinnpoint.transfer.heat_kernel.kernel import HeatKernel, inverse_beta
from pinnpoint.transfer.heat_kernel.modes import KernelModes
from pinnpoint.transfer.slabs import measured, route
from pinnpoint.transfer.slabs.data import Source
from pinnpoint.transfer.slabs.enclosure import Slabs
from pinnpoint.transfer.slabs.theorem import Sums, product_bound

PI = math.pi


def zero(X, *t):
    return 0 * X[:, 0]


def certified(problem, X, time=None):
    return pp.certify(problem, zero, problem.points(X, time=time))


def line(n=16, **given):
    given = {"source": "0", "initial": "sin(pi*x)", "dirichlet": {"boundary": 0.0}, "end": 0.1, "steps": n, **given}
    return pp.fem.Parabolic(pp.io.generate("interval", n), **given)


# ---- the theorem ----------------------------------------------------------------------------------------------------


def pair_of(A, e, z, T=1.0):
    """β and the sums of two polynomials in time with values in R^n, by a rule that is exact for them."""
    x, w = leggauss(12)
    t, w = 0.5 * T * (x + 1.0), 0.5 * T * w
    root = np.linalg.cholesky(np.linalg.inv(A))  # A^{-1} = root rootᵀ

    def at(p, s):
        return np.array([q(s) for q in p])

    def slope(p, s):
        return np.array([q.deriv()(s) for q in p])

    beta, P, Q, C = float(at(e, 0.0) @ at(z, 0.0)), 0.0, 0.0, 0.0
    for s, v in zip(t, w, strict=True):
        R, Rd = slope(e, s) + A @ at(e, s), -slope(z, s) + A @ at(z, s)
        beta += v * float(R @ at(z, s))
        P, Q, C = (
            P + v * float(np.sum((root.T @ R) ** 2)),
            Q + v * float(np.sum((root.T @ Rd) ** 2)),
            C + v * float((root.T @ R) @ (root.T @ Rd)),
        )
    one = np.zeros(1)
    initial, final = float(np.sum(at(e, 0.0) ** 2)), float(np.sum(at(z, T) ** 2))
    sums = Sums(one + P, one + Q, one + C, one, one, one, one, initial, final)
    return beta, sums


def drawn(rng, n):
    B = rng.normal(size=(n, n))
    A = B @ B.T + 0.1 * np.eye(n)
    return A, *([Polynomial(rng.normal(size=4)) for _ in range(n)] for _ in range(2))


def test_product_theorem_holds_for_random_matrices():
    rng = np.random.default_rng(1)
    for _ in range(60):
        A, e, z = drawn(rng, int(rng.integers(1, 5)))
        beta, sums = pair_of(A, e, z)
        for eigenvalue in (0.0, 0.999 * float(np.linalg.eigvalsh(A)[0])):
            center, radius, _ = product_bound(sums, np.array([0.0, 1.0]), eigenvalue)
            assert abs(beta - center) <= radius * (1.0 + 1e-12)


def test_product_theorem_is_sharp_and_needs_its_initial_and_final_terms():
    """With e = ε the bound is attained; without 2‖e(0)‖² or 2‖ε(T)‖² it is false."""
    rng = np.random.default_rng(2)
    A, e, _ = drawn(rng, 3)
    beta, sums = pair_of(A, e, e)
    center, radius, _ = product_bound(sums, np.array([0.0, 1.0]))
    assert 0.999 * radius <= abs(beta - center) <= radius * (1.0 + 1e-12)
    for bare in (replace(sums, initial=0.0), replace(sums, final=0.0)):
        center, radius, _ = product_bound(bare, np.array([0.0, 1.0]))
        assert abs(beta - center) > radius


def test_defects_in_the_mean_cost_what_the_theorem_says():
    """R = ϱ alone, a point mass at 0: e = ϱ for small A, ε constant, β = (ϱ, ε)."""
    one = np.zeros(1)
    sums = Sums(one, one + 2.0, one, one, one, one + 1.0, one, 0.0, 0.0)
    _, radius, _ = product_bound(sums, np.array([0.0, 1.0]))
    assert radius == pytest.approx(1.0)  # ‖ε‖ = (Q/2)^½ = 1
    assert product_bound(replace(sums, loose_primal=one), np.array([0.0, 1.0]))[1] < 1e-12


# ---- kernels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["interval", "square"])
def test_kernel_reproduces_caloric_polynomials(kind):
    """∫∫ωu = u(x₀, T) for u = 1, x and |x|² + 2dκt, within the errors that the modes state."""
    mesh = pp.io.generate(kind, 6)
    d, T, kappa = mesh.dim, 0.1, 0.7
    x0 = np.array([0.45, 0.55])[:d]
    V = mesh.points[np.sort(mesh.cells, axis=1)]
    kernel = HeatKernel(x0, kappa, 0.0, 0.4, 0.1)
    found = KernelModes.of(kernel, V, T, 3, 1e-6)
    nodes = T * (1.0 - (1.0 - np.linspace(0.0, 1.0, 6)) ** 2)
    total, off = np.zeros(3), np.zeros(3)
    G = gram(d)
    for a, b in pairwise(nodes):
        w = found.slab(a, b).omega
        tau, middle = b - a, 0.5 * (a + b)
        one = np.ones((len(V), len(pairs(d))))
        lin = np.stack([0.5 * (V[:, j, 0] + V[:, k, 0]) for j, k in pairs(d)], axis=1)
        quad = np.stack([np.einsum("nx,nx->n", V[:, j], V[:, k]) for j, k in pairs(d)], axis=1)
        zeroth = [one, lin, quad + 2 * d * kappa * middle]
        first = [0 * one, 0 * one, 0 * one + 2 * d * kappa * tau / 2]
        for i in range(3):
            for k, u in enumerate((zeroth[i], first[i])):
                weight = tau / (2 * k + 1)
                total[i] += weight * np.sum(np.einsum("np,pq,nq->n", w.coefficients[k], G, u) * mesh.volumes)
                off[i] += weight * np.sum(w.error1[k] * np.abs(u).max(axis=1) * mesh.volumes)
    off += kernel.early(found.start)[0] * 3.0
    truth = np.array([1.0, x0[0], x0 @ x0 + 2 * d * kappa * T])
    assert np.all(np.abs(total - truth) <= off + 1e-12)
    assert np.all(off < 2e-3)


def omega(kernel, r, s):
    rho = (r / kernel.radius) ** 2
    H, _ = kernel.smooth(constant(rho), constant(np.full(len(r), s)))
    return H.C[0] * (1.0 - rho) ** (kernel.powers[1] - 1)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_bound_near_the_point_needs_the_cut_off_in_time(d):
    """The share of χϑ′/S: without it, the bound of |ω| near the point is false."""
    kernel = HeatKernel(np.full(d, 0.5), 1.0, 0.0, 0.4, 0.24)
    area = {1: 2.0, 2: 2.0 * PI, 3: 4.0 * PI}[d]
    end, total = 1e-7, 0.0
    x, w = leggauss(40)
    for v, q in zip(0.5 * (x + 1.0), 0.5 * w, strict=True):
        s = end * v
        r = np.linspace(0.0, 14.0 * math.sqrt(s), 400)
        total += end * q * np.trapezoid(np.abs(omega(kernel, r, s)) * area * r ** (d - 1), r)
    assert total <= kernel.early(end)[0]
    assert total > replace(kernel, span=math.inf).early(end)[0]
    assert inverse_beta(2, 3) == 60


def test_modes_of_a_formula_agree_with_a_rule():
    mesh = pp.io.generate("square", 4)
    V = mesh.points[mesh.cells]
    f = parse("exp(-t)*sin(3*x + y*t)", ("x", "y", "t"))
    found = modes(f, V, 0.2, 0.3, 3, 8)
    y, w = leggauss(12)
    bary = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])
    X = np.einsum("qi,kid->kqd", bary, V)
    at = np.stack([f(np.column_stack([X.reshape(-1, 2), np.full(X.shape[0] * 2, 0.25 + 0.05 * s)])) for s in y])
    for k in range(3):
        exact = (2 * k + 1) / 2 * np.einsum("y,yn->n", w * legval(y, np.eye(3)[k]), at).reshape(-1, 2)
        gap = np.abs(exact - found.coefficients[k] @ values(bary).T)
        assert gap.max() < 6.0 * found.high[k].max() + found.error1[k].max() + 1e-14
    assert found.error1.max() < 1e-6


# ---- containment ----------------------------------------------------------------------------------------------------

CASES = {
    "reaction": (
        dict(diffusion=0.7, reaction=3.0),
        lambda x: math.sin(PI * x) * math.exp(-(0.7 * PI**2 + 3.0) * 0.1),
        6e-3,
    ),
    "mixed": (
        dict(initial="sin(pi*x/2)", dirichlet={"left": 0.0}),
        lambda x: math.sin(PI * x / 2) * math.exp(-(PI**2) / 40),
        2e-3,
    ),
    "neumann": (
        dict(initial="cos(pi*x)", dirichlet={}),
        lambda x: math.cos(PI * x) * math.exp(-(PI**2) / 10),
        1.2e-2,
    ),
    "flux": (
        dict(source="1", initial="x**2", dirichlet={"left": "3*t"}, neumann={"right": 2.0}),
        lambda x: x * x + 0.3,
        4e-3,
    ),
    "dirichlet": (
        dict(source="cos(t)*x", initial="0", dirichlet={"left": 0.0, "right": "sin(t)"}),
        lambda x: x * math.sin(0.1),
        4e-6,
    ),
    "source": (
        dict(source="sin(pi*x)*(cos(t) + pi**2*sin(t))", initial="0"),
        lambda x: math.sin(PI * x) * math.sin(0.1),
        2e-3,
    ),
    "quadratic": (
        dict(degree=2, scheme="cg2"),
        lambda x: math.sin(PI * x) * math.exp(-(PI**2) / 10),
        6e-5,
    ),
    "damped": (
        dict(damped=2, grade="both"),
        lambda x: math.sin(PI * x) * math.exp(-(PI**2) / 10),
        4e-2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_closed_forms(name):
    given, truth, most = CASES[name]
    c = certified(line(**given), [[0.3], [0.62]])
    assert c.guarantee == "deterministic"
    assert c.target == "continuous"
    assert c.contains([truth(0.3), truth(0.62)]).all()
    assert c.radius.max() < most


def test_jumps_of_diffusion_are_met():
    """κ = 1 and 4 about x = ½, steady: u = x on the left at the rate of the flux; starts at its limit."""
    mesh = pp.io.generate("interval", 16)
    kappa = np.where(mesh.points[mesh.cells, 0].mean(axis=1) < 0.5, 1.0, 4.0)
    # −(κu′)′ = 0, u(0) = 0, u(1) = 1: slopes 1.6 and 0.4
    problem = pp.fem.Parabolic(
        mesh,
        source="0",
        initial="min(1.6*x, 0.6 + 0.4*x)",
        diffusion=kappa,
        dirichlet={"left": 0.0, "right": 1.0},
        end=0.1,
        steps=8,
    )
    c = certified(problem, [[0.25], [0.75]])
    assert c.contains([0.4, 0.9]).all()
    assert c.radius.max() < 1e-3


def test_plane_and_earlier_times():
    mesh = pp.io.generate("square", 6)
    problem = pp.fem.Parabolic(
        mesh, source="0", initial="sin(pi*x)*sin(pi*y)", dirichlet={"boundary": 0.0}, end=0.05, steps=6
    )
    X, times = [[0.4, 0.55], [0.4, 0.55]], [0.05, 0.03]
    c = pp.certify(problem, zero, problem.points(X, time=times))
    wave = math.sin(0.4 * PI) * math.sin(0.55 * PI)
    assert c.contains([wave * math.exp(-2 * PI**2 * t) for t in times]).all()
    assert c.radius.max() < 0.25


def test_radii_fall_with_their_order():
    for given, order in ((dict(), 2.0), (dict(degree=2, scheme="cg2"), 4.0)):
        radii = [float(certified(line(n, **given), [[0.4]]).radius[0]) for n in (8, 16)]
        assert math.log2(radii[0] / radii[1]) > order - 0.3


def test_any_states_are_certified():
    """States that solve nothing: zeros, and noise."""
    problem = line(8)
    route = problem.transfer(problem.points([[0.4]]))
    rng = np.random.default_rng(0)
    truth = math.sin(0.4 * PI) * math.exp(-(PI**2) / 10)
    for size in (0.0, 0.1):
        levels = size * rng.normal(size=problem.states().shape)
        levels[:, problem.stationary.space.fixed] = 0.0
        slabs = replace(route._slabs(0.1), levels=levels)
        found = slabs.enclose([route._kernel(route.queries.goals[0], "q", 0.1)])[0]
        assert abs(found.center - truth) <= found.transfer + found.quadrature + found.rounding


@pytest.mark.parametrize(("kappa", "c", "sigma", "reach"), [(1.0, 0.0, 0.05, 0.3), (0.7, 2.0, 0.1, 0.35)])
def test_gaussian_averages_are_held(kappa, c, sigma, reach):
    problem = line(16, diffusion=kappa, reaction=c)
    asked = problem.averages([[0.4]], spread=sigma, reach=reach)
    weight = lambda r: (1.0 - betainc(3, 4, min(1.0, (r / reach) ** 2))) * math.exp(-r * r / 2 / sigma**2)  # noqa: E731
    mass = quad(weight, -reach, reach)[0]
    value = quad(lambda r: weight(r) * math.sin(PI * (0.4 + r)), -reach, reach)[0] / mass
    c_ = pp.certify(problem, zero, asked)
    assert c_.contains([value * math.exp(-(kappa * PI**2 + c) * 0.1)]).all()
    assert c_.radius[0] < 8e-3


# ---- sabotage -------------------------------------------------------------------------------------------------------


def test_value_without_the_residual_at_the_dual_state_is_false(monkeypatch):
    """With states of zeros all that is known is in the bracket and in ∫∫fΨ."""
    given, truth, _ = CASES["source"]
    problem = line(16, **given)

    def gap():
        route = problem.transfer(problem.points([[0.4]]))
        slabs = replace(route._slabs(0.1), levels=np.zeros_like(problem.states()))
        found = slabs.enclose([route._kernel(route.queries.goals[0], "q", 0.1)])[0]
        return abs(found.center - truth(0.4)) - (found.transfer + found.quadrature + found.rounding)

    assert gap() <= 0.0
    with monkeypatch.context() as patch:
        patch.setattr(Slabs, "_pair", lambda *a: None)
        assert gap() > 0.0


def test_states_off_galerkin_need_the_bracket(monkeypatch):
    problem = line(32)
    truth = math.sin(0.4 * PI) * math.exp(-(PI**2) / 10)
    route = problem.transfer(problem.points([[0.4]]))
    bent = problem.states().copy()
    bent[:, problem.stationary.space.free] += 2e-2 * np.sin(PI * problem.nodes.points[problem.stationary.space.free, 0])
    bent[0] = problem.states()[0]

    def gap():
        slabs = replace(route._slabs(0.1), levels=bent)
        found = slabs.enclose([route._kernel(route.queries.goals[0], "q", 0.1)])[0]
        return abs(found.center - truth) - (found.transfer + found.quadrature + found.rounding)

    assert gap() <= 0.0
    value = measured.Meter._value

    def bare(self, tally, weight, k, _, *rest):
        value(self, tally, weight, k, 0.0, *rest)

    monkeypatch.setattr(measured.Meter, "_value", bare)
    assert gap() > 0.0


def test_a_source_between_the_quadratics_is_seen_by_its_oscillation():
    """A source that is orthogonal to quadratics on every cell leaves no flux: only oscillation knows of it."""
    n = 4
    source = f"1000*cos(2*pi*{8 * n}*x)"
    problem = line(n, initial="0", source=source, end=0.02, steps=4)
    c = certified(problem, [[0.4]])
    w = 2.0 * PI * 8 * n
    assert c.contains([1000.0 / w**2 * math.cos(w * 0.4)]).all() or c.radius[0] > 0.5
    assert c.radius[0] > 1e-3


def test_what_a_source_is_beyond_the_modes_counts(monkeypatch):
    """f = L₃ on its one slab: all modes, states and fluxes vanish, and u does not."""
    problem = line(2, initial="0", source="100*(20*(2*t-1)**3-12*(2*t-1))", end=1.0, steps=1)
    rate = (np.arange(1.0, 4001.0, 2.0) * PI) ** 2
    late, early = ((1.0 / rate - s * 12.0 / rate**2 + 60.0 / rate**3 - s * 120.0 / rate**4) for s in (1.0, -1.0))
    truth = float(np.sum(8.0 / rate * 800.0 * (late + np.exp(-rate) * early)))  # by parts, mode by mode

    def gap():
        found = pp.certify(problem, np.zeros(problem.grid.levels.size * len(problem.nodes)), problem.mean())
        return abs(float(found.center[0]) - truth) - float(found.radius[0])

    assert gap() <= 0.0
    monkeypatch.setattr(measured.Meter, "_left", lambda *a: (0.0, 0.0))
    assert gap() > 0.0


def test_what_boundary_values_are_between_the_levels_counts(monkeypatch):
    """g = sin ωt vanishes at all levels, and so do the states; u(½, T) does not."""
    problem = line(4, initial="0", dirichlet={"boundary": "10*sin(40*pi*t)"}, end=0.1, steps=2, grade="none")
    omega, k = 40.0 * PI, np.arange(1.0, 401.0, 2.0)
    rate = (k * PI) ** 2
    own = 40.0 * k * PI * omega * (np.exp(-0.1 * rate) - 1.0) / (rate**2 + omega**2)
    truth = float(np.sum(own * (-1.0) ** ((k - 1) / 2)))

    def gap():
        found = pp.certify(problem, np.zeros(problem.grid.levels.size * len(problem.nodes)), problem.points([[0.5]]))
        return abs(float(found.center[0]) - truth) - float(found.radius[0])

    assert gap() <= 0.0
    monkeypatch.setattr(route, "mismatch", lambda *a: (0.0, True))
    assert gap() > 0.0


def test_friedrichs_constant_knows_the_diffusion():
    wide, slow = (line(8, diffusion=k) for k in (1.0, 0.01))
    constants = [p.transfer(p.points([[0.4]])).model.anchors.friedrichs for p in (wide, slow)]
    assert constants[1] == pytest.approx(10.0 * constants[0])


# ---- refusals -------------------------------------------------------------------------------------------------------


def test_what_is_not_proved_is_refused():
    for given, word in (
        (dict(convection=["20*x"]), "convection"),
        (dict(reaction=-2.0), "reaction"),
        (dict(source=lambda X, t: X[:, 0]), "source"),
        (dict(dirichlet={"left": 0.0}, neumann={"right": lambda X, t: t}), "neumann"),
        (dict(diffusion="1 + x"), "diffusion must be a number"),
        (dict(dirichlet={}, neumann={"right": 1.0}), "neumann"),
    ):
        with pytest.raises(pp.InputError, match=word):
            certified(line(4, **given), [[0.4]])
    with pytest.raises(pp.InputError, match="boundary"):
        certified(line(4), [[0.0]])


def test_sums_are_rounded_up():
    assert sum_up(np.full(3, 0.1)) >= 0.3


@pytest.mark.optional
def test_random_problems_are_held():
    """The quick form of studies/slabs.py."""
    pytest.importorskip("flint")
    from studies.slabs import campaign

    found = campaign(5, 1, seed=7, families=("drift", "data", "flux", "jump", "rough"))
    assert found["misses"] == 0
    assert found["unproved"] == 0
    narrow = campaign(1, 1, seed=3, families=("data",))
    assert narrow["misses"] == 0
    assert narrow["narrow"] == 1


@pytest.mark.parametrize("text", ["x**2", "sin(5*x + 3*t)", "exp(-x)*t", "1 + x"])
def test_sources_about_a_point_are_enclosed_to_second_order(text):
    """The mean of f under a Gaussian of the variance 2κs, over s: odd parts vanish, even ones are no less than told."""
    f, kappa, s, x0, end = parse(text, ("x", "t")), 0.5, 1e-3, 0.4, 0.5
    V = np.array([[[0.0], [1.0]]])
    source = Source([(np.arange(1), f)], V, np.array([0.0, end]), 3, 1e-3)
    value, spread = source.about(np.array([x0]), np.arange(1), 12.0 * math.sqrt(kappa * s), end - s, end)
    y, v = np.polynomial.hermite.hermgauss(40)
    ages, w = np.polynomial.legendre.leggauss(20)
    mean = 0.0
    for age, share in zip(0.5 * s * (1.0 + ages), 0.5 * w, strict=True):
        X = np.stack([x0 + 2.0 * math.sqrt(kappa * age) * y, np.full_like(y, end - age)], axis=1)
        mean += share * float(f(X) @ v) / math.sqrt(math.pi)
    assert abs(mean - value) <= spread + 1e-14
    assert spread <= 8.0 * abs(mean - value) + 1e-12  # without the even part, or that in time, it would miss


def test_sources_that_change_about_a_point_have_no_such_mean():
    V = np.array([[[0.0], [0.5]], [[0.5], [1.0]]])
    one, two = (parse(text, ("x", "t")) for text in ("x", "x**2"))
    source = Source([(np.array([0]), one), (np.array([1]), two)], V, np.array([0.0, 0.5]), 3, 1e-3)
    assert source.about(np.array([0.5]), np.arange(2), 0.1, 0.4, 0.5) is None
    assert source.about(np.array([0.2]), np.array([0]), 0.1, 0.4, 0.5) is not None
