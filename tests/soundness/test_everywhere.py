"""The largest error over the domain is inside its interval, and every cell's error below its bound."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.models.networks import benchmark
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.everywhere import barriers, level_sets, residual
from tests.support.worst import FAMILIES, Worst

QUICK = 3
"""Cases of each family; studies/everywhere.py runs 300."""


def missed(known: Worst, certificate: pp.Certificate) -> str:
    """What of a certificate is not true, on at least 10,000 points; empty where all is."""
    errors = known.errors()
    assert errors.size >= 10_000
    worst, slack = float(errors.max()), 1e-12
    if np.any(errors.max(axis=1) > certificate.band * (1 + slack) + slack):
        return f"{known.label}: a cell is beyond its bound"
    if worst > certificate.upper[0] * (1 + slack) + slack:
        return f"{known.label}: {worst} beyond {certificate.upper[0]}"
    between = 1.05 * worst + 1e-3 * np.abs(known.prediction).max()  # the lattice may miss the maximum by so much
    return f"{known.label}: below {certificate.lower[0]}" if certificate.lower[0] > between else ""


def campaign(name: str, count: int) -> list[str]:
    found = []
    for i in range(count):
        known = FAMILIES[name](np.random.default_rng([7, i, sum(map(ord, name))]))
        certificate = pp.certify(known.problem, known.prediction, known.problem.everywhere())
        assert str(certificate.guarantee) == "deterministic"
        assert certificate.target == "continuous"
        found.append(missed(known, certificate))
    return [text for text in found if text]


@pytest.mark.parametrize("name", FAMILIES)
def test_no_error_is_beyond_its_bound(name):
    assert campaign(name, 1 if "3D" in name else QUICK) == []


SINES = "sin(pi*x)*sin(pi*y)"


def of_sines(n: int = 8, degree: int = 1) -> pp.fem.ReactionDiffusion:
    mesh = pp.io.generate("square", n)
    return pp.fem.ReactionDiffusion(mesh, source=f"2*pi**2*{SINES}", dirichlet={"boundary": 0.0}, degree=degree)


def half_line(source: float, flux: float, n: int = 4) -> pp.fem.ReactionDiffusion:
    """u = 0 at x = 0, a flux at x = 1."""
    mesh = pp.io.generate("interval", n)
    return pp.fem.ReactionDiffusion(mesh, source=source, dirichlet={"left": 0.0}, neumann={"right": flux})


def most(problem: pp.fem.ReactionDiffusion, prediction: str, *, solve: bool = False) -> float:
    """The upper end for a formula."""
    return float(pp.certify(problem, prediction, problem.everywhere(solve=solve), lift=True).upper[0])


@pytest.mark.parametrize("solve", [True, False])
@pytest.mark.parametrize("off", [1e-6, 1e-3, 0.5])
def test_the_error_of_a_formula_is_inside_and_the_bound_close(off, solve):
    p = of_sines()
    c = pp.certify(p, f"{1 + off!r}*{SINES}", p.everywhere(solve=solve), lift=True)
    assert c.lower[0] <= off * (1 + 1e-9)
    assert off <= c.upper[0] <= 1.13 * off
    assert str(c.guarantee) == "deterministic"
    assert c.rounding == "covered"


@pytest.mark.parametrize("solve", [True, False])
def test_errors_of_the_boundary_values_count_and_are_seen(solve):
    p = of_sines()
    c = pp.certify(p, f"{SINES}+0.01*(1+x)", p.everywhere(solve=solve), lift=True)
    assert 0.02 * (1 - 1e-9) <= c.upper[0] <= 0.0201
    assert c.lower[0] >= 0.0199  # at the corners


def test_reflections_bound_what_is_left_between_a_held_and_a_free_end():
    assert 0.5 <= most(half_line(1.0, 0.0), "0") <= 0.6  # u = x − x²/2
    assert 1.0 <= most(half_line(0.0, 1.0), "0") <= 3.0  # u = x


@pytest.mark.parametrize(
    ("module", "name", "value", "problem", "prediction", "truth"),
    [
        (residual, "mirrors", lambda model: 0, half_line(1.0, 0.0), "0", 0.5),
        (residual, "unmet", lambda m, f: (np.zeros(4), np.zeros(4), True), half_line(0.0, 1.0), "0", 1.0),
        (level_sets, "density_constant", lambda n, V: 0.1, of_sines(), f"1.001*{SINES}", 1e-3),
        (residual, "box_weight", lambda low, high, box: np.full(len(low), 0.1), of_sines(), f"1.001*{SINES}", 1e-3),
        (Continuum, "mismatch", lambda self, U: (0.0, True), of_sines(), f"{SINES}+0.01", 0.01),
    ],
    ids=["mirrors", "Neumann data", "density constant", "weight of the box", "boundary values"],
)
def test_a_part_left_out_is_missed(monkeypatch, module, name, value, problem, prediction, truth):
    assert most(problem, prediction) >= truth
    monkeypatch.setattr(module, name, value)
    assert most(problem, prediction) < truth


@pytest.mark.parametrize(
    ("name", "value"),
    [("flux_constant", lambda n, p, V: 0.0), ("lengths", lambda norms, copies: {2.0: 0, 4.0: 0, 6.0: 0, np.inf: 0})],
)
def test_what_the_flux_misses_of_the_gradient_counts(monkeypatch, name, value):
    p = pp.fem.ReactionDiffusion(pp.io.generate("interval", 6), source=1.0, dirichlet={"boundary": 0.0})
    nodal = (lambda x: 0.5 * x * (1 - x))(p.nodes.points[:, 0])
    asked = p.everywhere()
    truth = 1.0 / (8 * 36)  # of the interpolant
    assert pp.certify(p, nodal, asked).upper[0] >= truth
    monkeypatch.setattr(level_sets, name, value)
    assert pp.certify(p, nodal, asked).upper[0] < truth


def test_the_prediction_s_distance_from_the_state_counts():
    p = of_sines(16, 2)
    U = p.extract(lambda X: np.zeros(len(X))).U
    c = pp.certify(p, U, p.everywhere())
    assert c.lower[0] >= 0.97
    assert 1.0 <= c.upper[0] <= 1.03


def test_boundary_values_as_they_were_given_are_judged():
    p = of_sines(16, 2)
    nodal = np.sin(np.pi * p.nodes.points[:, 0]) * np.sin(np.pi * p.nodes.points[:, 1])
    nodal[0] += 0.5  # a corner
    c = pp.certify(p, nodal, p.everywhere(), accept=0.4)
    assert c.verdicts[0]["accept"] == "beyond"
    assert c.lower[0] >= 0.499


@pytest.mark.parametrize("i", range(3))
def test_the_shipped_networks_in_order_and_with_no_solve(i):
    given = benchmark.load()
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 16), source=given.source_text, dirichlet={"boundary": 0.0})
    c = pp.certify(p, given.networks[i], p.everywhere(solve=False), lift=True)
    X = np.random.default_rng(i).random((10_000, 2))
    worst = float(np.abs(given.exact(X) - given.networks[i](X)).max())
    assert worst <= c.upper[0] <= (1.9e-2, 6.0e-3, 2.0e-4)[i]
    assert str(c.guarantee) == "deterministic"
    assert c.details["routes"] == {"everywhere": "residual, no solve"}


def free_sides(source: object, held: dict, flux: dict | None = None) -> pp.fem.ReactionDiffusion:
    return pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source=source, dirichlet=held, neumann=flux or {})


PARABOLA, SADDLE = "y*(1-y)/2", "(x-0.5)**2-0.25"
BARRIERS = {
    "across a channel": (free_sides(1.0, {"bottom": 0.0, "top": 0.0}), 0.125, 1.0),
    "a free side": (free_sides(1.0, {"left": 0.0}), 0.5, 1.0),
    "its mirror image": (free_sides(1.0, {"right": 0.0}), 0.5, 1.0),
    "a flux": (free_sides(0.0, {"left": 0.0}, {"right": 1.0}), 1.0, 1.0),
    "a flux on two free sides": (free_sides(0.0, {"bottom": 0.0}, {"top": -1.0, "left": 0.0}), 1.0, 1.0),
    "fluxes on opposite sides": (
        free_sides(0.0, {"bottom": SADDLE, "top": SADDLE}, {"left": 1.0, "right": 1.0}),
        0.25,
        3.0,
    ),
}


@pytest.mark.parametrize("name", BARRIERS)
def test_barriers_hold_and_most_are_attained(name):
    p, truth, factor = BARRIERS[name]
    c = pp.certify(p, "0", p.everywhere(solve=False), lift=True)
    assert truth <= c.upper[0] <= truth * factor * (1.0 + 1e-8)
    assert c.details["routes"] == {"everywhere": "barrier"}


@pytest.mark.parametrize("scale", [0.9, 0.5])
def test_a_barrier_that_is_too_low_is_missed(monkeypatch, scale):
    p, truth, _ = BARRIERS["across a channel"]
    whole = barriers.height
    monkeypatch.setattr(barriers, "height", lambda model: scale * whole(model))
    assert pp.certify(p, "0", p.everywhere(solve=False), lift=True).upper[0] < truth


@pytest.mark.parametrize(("name", "part"), [("a flux", "_added"), ("fluxes on opposite sides", "_added")])
def test_a_barrier_without_its_part_for_fluxes_is_missed(monkeypatch, name, part):
    p, truth, _ = BARRIERS[name]
    monkeypatch.setattr(barriers, part, lambda gaps, boxes: iter([np.zeros(len(boxes[0]))]))
    monkeypatch.setattr(barriers, "_main", lambda axis, gaps, boxes, F: np.zeros(len(boxes[0])))
    monkeypatch.setattr(Continuum, "mismatch", lambda self, U: (0.0, True))
    assert pp.certify(p, "0", p.everywhere(solve=False), lift=True).upper[0] < truth


def test_a_barrier_of_one_s_own_is_proved_before_it_counts():
    p = of_sines(6)
    w = "cos(0.9*pi*(x-0.5))*cos(0.9*pi*(y-0.5))"
    c = pp.certify(p, f"1.1*{SINES}", p.everywhere(solve=False, barrier=w), lift=True)
    given = [one for one in c.evidence.extremes.sizes if one.route == "barrier, as given"]
    assert len(given) == 1
    assert given[0].largest >= 0.1
    for wrong, why in (("-x*(1-x)", "proved positive"), ("x", "proved positive")):
        with pytest.raises(pp.InputError, match=why):
            pp.certify(p, SINES, p.everywhere(solve=False, barrier=wrong), lift=True)
    channel, _, _ = BARRIERS["across a channel"]
    with pytest.raises(pp.InputError, match="on Neumann facets"):
        pp.certify(channel, "0", channel.everywhere(solve=False, barrier="x*(1-x)"), lift=True)


SLOPES = "pi*cos(pi*x)*sin(pi*y)", "pi*sin(pi*x)*cos(pi*y)"


@pytest.mark.parametrize(
    ("diffusion", "source"),
    [
        ("1+x", f"-{SLOPES[0]}+(1+x)*2*pi**2*{SINES}"),
        ([[4.0, 1.0], [1.0, 2.0]], f"6*pi**2*{SINES}-2*pi**2*cos(pi*x)*cos(pi*y)"),
    ],
)
def test_coefficients_may_vary_without_a_solve(diffusion, source):
    mesh = pp.io.generate("square", 6)
    p = pp.fem.ReactionDiffusion(mesh, source=source, diffusion=diffusion, dirichlet={"boundary": 0.0})
    assert 1e-3 <= most(p, f"1.001*{SINES}") <= 2.5e-3
    solved = pp.certify(p, f"1.001*{SINES}", p.everywhere(), lift=True)
    assert solved.lower[0] <= 1e-3 <= solved.upper[0] <= 2.5e-3


@pytest.mark.parametrize(("kappa", "factor"), [(1.0, 1.2), (1e-2, 3.2), (1e-4, 3.2)])
def test_the_barrier_along_the_flow_does_not_know_the_diffusion(kappa, factor):
    source = f"{kappa!r}*2*pi**2*{SINES}+2*{SLOPES[0]}-{SLOPES[1]}"
    mesh, flow = pp.io.generate("square", 6), ("2", "-1")
    p = pp.fem.ReactionDiffusion(mesh, source=source, diffusion=kappa, convection=flow, dirichlet={"boundary": 0.0})
    assert 1e-3 <= most(p, f"1.001*{SINES}") <= factor * 1e-3


def test_the_weight_of_a_box_is_not_used_with_convection():
    """−u″ + 2u′ = f on (0, 1): ‖G(0.75, ·)‖₂ = 0.1149, and the weight without drift is 0.1083."""
    mesh = pp.io.generate("interval", 40)
    p = pp.fem.ReactionDiffusion(mesh, source=1.0, convection=("2",), dirichlet={"boundary": 0.0})
    c = pp.certify(p, "0", p.everywhere(solve=False), lift=True)
    residual_ = [one for one in c.evidence.extremes.sizes if one.route == "residual, no solve"]
    assert residual_[0].bounds[29:31].min() >= 0.1149


@pytest.mark.parametrize(
    ("given", "why", "solve"),
    [
        ({"reaction": -3.0}, "reaction ≥ 0", False),
        ({"robin": {"right": (2.0, 1.0)}, "dirichlet": {"left": 0.0}}, "Robin", True),
        ({"robin": {"right": (2.0, 1.0)}, "dirichlet": {"left": 0.0}}, "Robin", False),
        ({"diffusion": np.where(np.arange(72) < 36, 1.0, 9.0)}, "lift", True),
        ({"diffusion": np.where(np.arange(72) < 36, 1.0, 9.0)}, "lift", False),
    ],
)
def test_a_lift_without_a_theorem_is_refused(given, why, solve):
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source=1.0, **({"dirichlet": {"boundary": 0.0}} | given))
    with pytest.raises(pp.InputError, match=why):
        pp.certify(p, "x*(1-x)*y*(1-y)", p.everywhere(solve=solve), lift=True)


@pytest.mark.slow
def test_the_good_network_with_what_it_leaves_solved_for():
    given = benchmark.load()
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 32), source=given.source_text, dirichlet={"boundary": 0.0})
    c = pp.certify(p, given.networks[2], p.everywhere(), lift=True)
    X = np.random.default_rng(0).random((10_000, 2))
    assert float(np.abs(given.exact(X) - given.networks[2](X)).max()) <= c.upper[0] <= 1.5e-5
    assert c.details["routes"] == {"everywhere": "band"}


@pytest.mark.slow
def test_random_features_over_the_whole_square_without_a_solve():
    """Δu = sin πx sin πy: a least-squares fit of 200 tanh features, its own residual and boundary values enclosed."""
    rng = np.random.default_rng(0)
    W, b = rng.uniform(-3.0, 3.0, (200, 2)), rng.uniform(-3.0, 3.0, 200)
    t, e = (np.arange(40) + 0.5) / 40, np.linspace(0.0, 1.0, 100)
    X = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    sides = np.concatenate([np.stack([e, 0 * e + k], axis=1)[:, ::s] for k in (0, 1) for s in (1, -1)])
    T, edge = np.tanh(X @ W.T + b), np.tanh(sides @ W.T + b)
    rows = np.concatenate([-2.0 * T * (1.0 - T**2) * (W**2).sum(axis=1), 100.0 * edge])
    rows = np.column_stack([rows, np.repeat([0.0, 100.0], [len(X), len(sides)])])
    right = np.concatenate([np.sin(np.pi * X[:, 0]) * np.sin(np.pi * X[:, 1]), np.zeros(len(sides))])
    fit = np.linalg.lstsq(rows, right, rcond=1e-13)[0]
    network = pp.models.MLP([W, fit[None, :-1]], [b, fit[-1:]])
    mesh = pp.io.generate("square", 6)
    p = pp.fem.ReactionDiffusion(mesh, source="-sin(pi*x)*sin(pi*y)", dirichlet={"boundary": 0.0})
    c = pp.certify(p, network, p.everywhere(solve=False), lift=True)
    P = rng.random((10_000, 2))
    exact = -np.sin(np.pi * P[:, 0]) * np.sin(np.pi * P[:, 1]) / (2.0 * np.pi**2)
    assert float(np.abs(network(P) - exact).max()) <= c.upper[0] <= 3e-6
    assert c.lower[0] > 0.0  # the boundary values are seen to be off


@pytest.mark.parametrize("reaction", ["-8+0*x", "x - 0.5", "-8.0"])
def test_without_a_solve_a_reaction_that_may_be_negative_is_refused(reaction):
    """−u″ − 8u = (π² − 8) sin πx: the level-set bound of a residual with c ≥ 0 would be a fifth of the error 0.1."""
    problem = pp.fem.ReactionDiffusion(
        pp.io.generate("interval", 8),
        f"(pi**2 + ({reaction}))*sin(pi*x)",
        reaction=reaction,
        dirichlet={"boundary": 0.0},
    )
    with pytest.raises(pp.InputError, match="reaction ≥ 0 is needed"):
        pp.certify(problem, "0.9*sin(pi*x)", problem.everywhere(solve=False), lift=True)
