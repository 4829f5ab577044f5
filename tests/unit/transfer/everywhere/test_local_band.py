"""The L² bound and the band against closed forms; each constant dropped or falsified is missed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

import pinnpoint as pp
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.energy.estimator import Side
from pinnpoint.transfer.everywhere import l2, local_band
from pinnpoint.transfer.everywhere.balls import ball_volume, ball_volume_up, gradient_norm, potential_norm
from pinnpoint.transfer.everywhere.l2 import l2_error, second_constant
from pinnpoint.transfer.everywhere.local_band import left_over, local
from pinnpoint.transfer.everywhere.neighbourhoods import Neighbourhoods
from pinnpoint.transfer.everywhere.setting import Setting


def setting_of(problem, state=None):
    """A problem's own discrete solution, or another state, with its flux."""
    model = problem.continuum(Topology.of(problem.mesh), None)
    if state is None:
        state = pp.solve(problem) if hasattr(pp, "solve") else _solved(problem, model)
    flux = model.fluxes(state[None, :], [model.load], [model.boundary_load])[..., 0]
    side = Side(state, model.load, flux, model.boundary_load)
    return Setting(model, side, model.estimator.measure(side, [])[0])


def _solved(problem, model):
    from scipy.sparse.linalg import splu

    A, space = problem.system.A.tocsc(), problem.system.space
    U = np.array(space.U0, dtype=float)
    free = np.asarray(space.free)
    U[free] += splu(A[free][:, free]).solve((model.vector(model.load, model.boundary_load) - A @ U)[free])
    return U


def values_in_cells(setting, per_cell, rng):
    """Points in every cell and the state there."""
    model = setting.model
    d = model.d
    bary = rng.dirichlet(np.ones(d + 1), (len(model.kappa), per_cell))
    X = np.einsum("cpj,cjx->cpx", bary, model.points[model.topology.cells])
    from pinnpoint.taylor.bernstein import values
    from pinnpoint.transfer.continuum import bernstein

    b = bernstein(setting.side.nodal[model.cell_nodes], d, model.degree)
    return X, np.einsum("cpk,ck->cp", values(bary), b)


def l2_distance(setting, exact):
    """‖u − u_h‖₂ by a fine rule."""
    X, u = values_in_cells(setting, 60, np.random.default_rng(5))
    off = exact(X.reshape(-1, X.shape[-1])).reshape(u.shape) - u
    return math.sqrt(float((setting.model.topology.volumes * (off**2).mean(axis=1)).sum()))


def test_balls_have_the_norms_of_their_potentials():
    """By quadrature of the radial derivative, over the sphere's surface."""
    surface = {1: lambda t: 2.0, 2: lambda t: 2 * math.pi * t, 3: lambda t: 4 * math.pi * t * t}
    for d in (1, 2, 3):
        for r in (0.3, 2.0):

            def slope(t, d=d, r=r):
                return (1 - (t / r) ** d) / surface[d](t)

            def height(t, r=r, slope=slope):
                return quad(slope, t, r, limit=200)[0]

            for p in {1: (2.0, math.inf), 2: (3.0, 4.0, math.inf), 3: (4.0, 6.0, math.inf)}[d]:
                q = 1.0 if math.isinf(p) else p / (p - 1)
                integral = quad(lambda t: slope(t) ** q * surface[d](t), 0, r, limit=400)[0]  # noqa: B023
                assert gradient_norm(d, p, r) == pytest.approx(integral ** (1 / q), rel=1e-6)
            square = quad(lambda t: height(t) ** 2 * surface[d](t), 0, r, limit=400)[0]  # noqa: B023
            assert potential_norm(d, r) == pytest.approx(math.sqrt(square), rel=1e-6)
            assert ball_volume(d, r) < surface[d](r) * r / d < ball_volume_up(d, r)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_value_is_the_mean_over_a_ball_and_the_potential_of_the_density(d):
    """e(0) = mean e + ∫Φ(−Δe) for e = cos(kρ²): signs and normalisation of Φ."""
    k, r = 1.7, 0.9
    surface = {1: 2.0, 2: 2 * math.pi, 3: 4 * math.pi}[d]
    scale = {1: r / 4, 2: 1 / (2 * math.pi), 3: 1 / (4 * math.pi * r)}[d]

    def minus_laplacian(t):
        return 4 * k * k * t * t * math.cos(k * t * t) + 2 * d * k * math.sin(k * t * t)

    mean = quad(lambda t: math.cos(k * t * t) * t ** (d - 1), 0, r)[0] * d / r**d
    own = quad(lambda t: scale * _potential(d, t / r) * minus_laplacian(t) * surface * t ** (d - 1), 0, r)[0]
    assert mean + own == pytest.approx(1.0, abs=1e-8)


def test_folded_balls_stay_below_what_is_counted():
    """Signed sums over the images of a box: potentials in [0, Φ], densities at most 1, 1 and 2 over |B|."""
    rng = np.random.default_rng(0)
    worst = {1: 0.0, 2: 0.0, 3: 0.0}
    for d in (1, 2, 3):
        for _ in range(300):
            r = rng.uniform(0.1, 0.5)
            x, y = rng.uniform(0, 1, d) * rng.choice([0.1, 1.0]), rng.uniform(0, 1, (40, d)) * rng.choice([0.2, 1.0])
            density, potential = np.zeros(40), np.zeros(40)
            for corner in np.ndindex(*[3] * d):
                image = np.stack([(y[:, i], -y[:, i], 2 - y[:, i])[c] for i, c in enumerate(corner)], axis=1)
                sign = (-1.0) ** sum(c > 0 for c in corner)
                t = np.minimum(np.linalg.norm(image - x, axis=1) / r, 1.0)
                density += sign * (t < 1.0)
                potential += sign * _potential(d, t)
            own = np.minimum(np.linalg.norm(y - x, axis=1) / r, 1.0)
            assert np.all(potential >= -1e-12)
            assert np.all(potential <= _potential(d, own) + 1e-12)
            worst[d] = max(worst[d], float(np.abs(density).max()))
    assert worst == {1: 1.0, 2: 1.0, 3: 2.0}


def _potential(d, t):
    t = np.maximum(t, 1e-9)
    return {1: (1 - t) ** 2, 2: -np.log(t) - 0.5 * (1 - t * t), 3: 1 / t - 1.5 + 0.5 * t * t}[d]


@pytest.mark.parametrize(
    ("kind", "n", "bend"), [("square", 9, 1.0), ("square", 9, 5.0), ("cube", 3, 1.0), ("interval", 40, 3.0)]
)
def test_neighbourhoods_hold_all_cells_within_reach(kind, n, bend):
    """By brute force over vertices and centres, on uniform and on graded meshes."""
    mesh = pp.io.generate(kind, n)
    T = Topology(mesh.points**bend, mesh.cells)
    C = len(T.cells)
    rng = np.random.default_rng(1)
    tops, sums = rng.uniform(-1, 1, (2, C)), rng.uniform(0, 1, (1, C))
    P = T.points[T.cells]
    for r in (0.01, 0.1, 0.4):
        top, total = Neighbourhoods(T).gather(r, tops, sums)
        for i in rng.integers(0, C, 12):
            gap = np.linalg.norm(P[:, :, None, :] - P[i][None, None], axis=-1).min(axis=(1, 2))
            near = gap <= r
            assert np.all(top[:, i] >= tops[:, near].max(axis=1))
            assert total[0, i] >= sums[0, near].sum()
        assert np.mean(total[0] <= sums.sum() * 1.0001) == 1.0
        if r == 0.01 and (kind, bend) == ("square", 1.0):
            assert np.median(total[0]) < 0.7 * sums.sum()  # a neighbourhood, not everything


def test_the_l2_bound_of_a_state_that_solves_nothing():
    """(0, 1), κ = 0.01, u = sin πx, u_h = 0: without κ_min^{−½} at the residual E would be 0.093 against 0.707."""
    mesh = pp.io.generate("interval", 32)
    problem = pp.fem.ReactionDiffusion(mesh, source="0.01*pi**2*sin(pi*x)", diffusion=0.01)
    setting = setting_of(problem, np.zeros(33))
    found = l2_error(setting)
    assert math.sqrt(0.5) < found.value < 1.8 * math.sqrt(0.5)
    literal = found.constant.value * setting.energy + 0.1 * found.defect  # C_F in place of C_F κ_min^{−½}
    assert literal < math.sqrt(0.5)


PROBLEMS = {
    "sine": ("square", {"source": "2*pi**2*sin(pi*x)*sin(pi*y)"}, lambda X: np.sin(np.pi * X).prod(axis=1)),
    "reaction": (
        "square",
        {"source": "(2*pi**2 + 30)*sin(pi*x)*sin(pi*y)", "reaction": 30.0},
        lambda X: np.sin(np.pi * X).prod(axis=1),
    ),
    "mixed": (
        "square",
        {"source": "0.25*pi**2*sin(pi*x/2)", "dirichlet": {"left": 0.0}, "neumann": {"top": 0.0}},
        lambda X: np.sin(np.pi * X[:, 0] / 2),
    ),
    "data": ("square", {"source": "0", "dirichlet": {"boundary": "x*y + x"}}, lambda X: X[:, 0] * (X[:, 1] + 1)),
    "line": ("interval", {"source": "pi**2*sin(pi*x)"}, lambda X: np.sin(np.pi * X[:, 0])),
    "cube": ("cube", {"source": "3*pi**2*sin(pi*x)*sin(pi*y)*sin(pi*z)"}, lambda X: np.sin(np.pi * X).prod(axis=1)),
}


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("name", PROBLEMS)
def test_bounds_hold_and_are_not_far(name, degree):
    kind, given, exact = PROBLEMS[name]
    n = {"interval": 12, "square": 8, "cube": 3}[kind]
    problem = pp.fem.ReactionDiffusion(pp.io.generate(kind, n), degree=degree, **given)
    setting = setting_of(problem)
    found = l2_error(setting)
    true = l2_distance(setting, exact)
    assert true <= found.value * (1 + 1e-9) + 1e-14
    assert found.value <= 12.0 * true + 1e-10
    (band,) = local(setting)
    X, u = values_in_cells(setting, 20, np.random.default_rng(2))
    off = np.abs(exact(X.reshape(-1, X.shape[-1])).reshape(u.shape) - u).max(axis=1)
    assert np.all(off <= band.bounds + 1e-14)
    assert band.proved
    assert np.all(np.isfinite(band.bounds))


def test_perturbed_states_stay_inside():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source="2*pi**2*sin(pi*x)*sin(pi*y)")
    U = setting_of(problem).side.nodal.copy()
    inner = np.all((problem.mesh.points > 0) & (problem.mesh.points < 1), axis=1)
    rng = np.random.default_rng(3)
    missed = 0
    for size in (1e-2, 1e-1, 1.0):
        state = U.copy()
        state[inner] += size * rng.uniform(1, 2) * np.sin(np.pi * problem.mesh.points[inner]).prod(axis=1)
        setting = setting_of(problem, state)
        found = l2_error(setting)
        true = l2_distance(setting, PROBLEMS["sine"][2])
        assert true <= found.value
        missed += true > found.value - found.defect  # the defect dropped
    assert missed >= 1


def test_dropped_terms_are_missed(monkeypatch):
    """M_h, E and the norms near a cell, each taken too small."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source="2*pi**2*sin(pi*x)*sin(pi*y)")
    setting, exact = setting_of(problem), PROBLEMS["sine"][2]
    found, true = l2_error(setting), l2_distance(setting, exact)
    assert true > 0.1 * found.value
    assert found.value == pytest.approx(found.constant.value * setting.energy + found.defect, rel=1e-8)
    X, u = values_in_cells(setting, 20, np.random.default_rng(2))
    off = np.abs(exact(X.reshape(-1, 2)).reshape(u.shape) - u).max(axis=1)
    norms = setting.norms

    def missed(error, share):
        band = local_band.Band(
            setting.model,
            replace(norms, density=share * norms.density, peak=share * norms.peak),
            np.zeros(len(off)),
            replace(found, value=error * found.value),
        )
        return int(np.sum(off > band.best()[0]))

    assert missed(1.0, 1.0) == 0
    assert missed(0.02, 0.02) > 20
    assert missed(0.0, 1.0) + missed(1.0, 0.0) > 0


def test_what_a_lift_leaves_pays_for_the_reaction_with_its_own_size():
    """∫ cΦu is at most c‖Φ‖₂(‖u_h‖_B + E), not c‖Φ‖₂E: u itself is asked for."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source=1.0, reaction=40.0)
    setting = setting_of(problem)
    error = l2_error(setting)
    height, r = np.full(len(setting.model.kappa), 0.1), 0.2
    bands = [local_band.Band(setting.model, setting.norms, top, error) for top in (0.0 * height, height)]
    more = bands[1].within(r) - bands[0].within(r)
    inside = 0.1 + 40.0 * potential_norm(2, r) * 0.1 * math.sqrt(ball_volume(2, r))
    assert np.all(more >= inside * (1.0 - 1e-9))


def test_what_a_lift_leaves_over():
    """u itself is bounded, with no δ: a small smooth source, and a state of its own."""
    for reaction in (0.0, 25.0):
        source = f"1e-3*(5*pi**2+{reaction})*sin(pi*x)*sin(2*pi*y)"
        problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source=source, reaction=reaction)
        setting = setting_of(problem)
        (found,) = left_over(setting)
        X, _ = values_in_cells(setting, 20, np.random.default_rng(2))
        u = 1e-3 * np.sin(np.pi * X[..., 0]) * np.sin(2 * np.pi * X[..., 1])
        top = np.abs(u).max(axis=1)
        assert np.all(top <= found.bounds)
        assert found.largest < 4e-3
    state = setting.side.nodal.copy()
    state[problem.mesh.points[:, 0] == 0.0] = 1e-5  # another boundary value than that of u
    moved = setting_of(problem, state)
    assert np.all(top <= left_over(moved)[0].bounds + moved.model.mismatch(state)[0])


def test_friedrichs_constants():
    """Of forms with mixed boundaries, from paths: above the true one, π/2 for one held side."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source="1", dirichlet={"left": 0.0})
    model = problem.continuum(Topology.of(problem.mesh), None)
    assert 2 / math.pi < second_constant(model) < 10.0
    full = pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source="1", diffusion=4.0)
    model = full.continuum(Topology.of(full.mesh), None)
    assert second_constant(model) == pytest.approx(0.5 / (math.pi * math.sqrt(2)), rel=1e-12)


def test_without_a_mesh_constant_there_is_no_band(monkeypatch):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source="1", reaction=1.0, dirichlet={})
    setting = setting_of(problem)
    assert local(setting) == []
    assert "no facet is Dirichlet" in l2_error(setting).reason
    assert l2.l2_error(setting).value == math.inf
