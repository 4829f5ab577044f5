"""The neural lift: the truth is inside, a better network buys a narrower proof, and what is not proved is refused."""

from __future__ import annotations

import json
import runpy
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main as command
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.models import MLP, Lift, Smoothness
from pinnpoint.models.networks import benchmark
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.declared import Declared
from pinnpoint.taylor.geometry import Simplices, orders
from pinnpoint.taylor.inputs import models as models_on
from pinnpoint.transfer.boundary.facets import FacetLoad
from tests import ROOT
from tests.support import continua
from tests.support.network_files import gemms, onnx, safetensors, state

BENCHMARK = benchmark.load()
POINTS = np.array([[0.37, 0.52], [0.88, 0.15]])


def square(n: int, degree: int = 1, **more) -> pp.fem.ReactionDiffusion:
    given = {"source": BENCHMARK.source_text} | more
    return pp.fem.ReactionDiffusion(generate("square", n), degree=degree, **given)


@cache
def at_points(network: str, n: int, degree: int, count: int = 1) -> pp.Certificate:
    problem = square(n, degree)
    return pp.certify(problem, getattr(BENCHMARK, network), problem.points(POINTS[:count]), lift=True)


def steeper(network: MLP, factor: float) -> MLP:
    """The network with first-layer weights so large that its neurons saturate."""
    first = (network.weights[0] * factor, network.biases[0] * factor)
    return MLP([first[0], *network.weights[1:]], [first[1], *network.biases[1:]], network.activation, network.factor)


def test_benchmark_is_consistent():
    """f is −Δu* (by differences), the networks vanish on the boundary, and each is better than the one before."""
    X = np.random.default_rng(0).uniform(0.05, 0.95, (200, 2))
    h = 1e-3
    around = sum(BENCHMARK.exact(X + h * np.array(e)) for e in ((1, 0), (-1, 0), (0, 1), (0, -1)))
    f = parse(BENCHMARK.source_text, name="f")(X)
    assert np.abs(f + (around - 4.0 * BENCHMARK.exact(X)) / h**2).max() < 3e-2
    norms = [np.sqrt(np.mean(BENCHMARK.residual(u, X) ** 2)) for u in BENCHMARK.networks]
    assert norms[0] > 2.0 * norms[1] > 20.0 * norms[2]
    edge = np.array([[0.0, 0.3], [1.0, 0.7], [0.2, 0.0], [0.9, 1.0]])
    assert all(np.all(u(edge) == 0.0) for u in BENCHMARK.networks)


def test_what_a_trained_network_is_worth():
    best = at_points("good", 32, 1)
    assert best.guarantee.value == "deterministic"
    assert best.contains(BENCHMARK.exact(POINTS[:1])).all()
    assert np.all(best.details["narrowing"] >= 1000.0)
    plain = square(32)
    alone = pp.certify(plain, plain.space.U0, plain.points(POINTS[:1]))
    assert best.radius * best.details["narrowing"] == pytest.approx(alone.radius)
    assert np.all(best.radius <= alone.radius / 100.0)
    assert np.all(best.terms["quadrature"] <= 0.02 * best.radius)
    assert np.all(best.terms["boundary"] <= 1e-290)
    assert best.raw == pytest.approx(BENCHMARK.good(POINTS[:1]), abs=1e-14)
    assert any("lift" in claim.claim and claim.status == "verified" for claim in best.assumptions)


def test_radii_follow_residuals():
    """The same on the mesh n = 32 is in docs/lift.md."""
    found = [at_points(name, 8, 1) for name in ("rough", "fair", "good")]
    for worse, better in pairwise(found):
        assert np.all(better.radius < worse.radius)
    for certificate in found:
        assert certificate.guarantee.value == "deterministic"
        assert certificate.contains(BENCHMARK.exact(POINTS[:1])).all()
        assert np.all(certificate.terms["quadrature"] <= 0.02 * certificate.radius)
        assert np.all(certificate.details["narrowing"] > 1.0)


def test_quadratic_elements_are_narrower():
    narrow = at_points("fair", 8, 2)
    assert np.all(narrow.radius < 0.5 * at_points("fair", 8, 1).radius)
    assert narrow.contains(BENCHMARK.exact(POINTS[:1])).all()
    assert np.all(narrow.terms["quadrature"] <= 0.02 * narrow.radius)


def test_saturated_networks_are_held():
    problem = square(2)
    certificate = pp.certify(problem, steeper(BENCHMARK.rough, 50.0), problem.points(POINTS[:1]), lift=True)
    assert not np.isnan(certificate.radius).any()
    assert not np.isnan(certificate.center).any()
    assert certificate.contains(BENCHMARK.exact(POINTS[:1])).all()
    assert certificate.details["narrowing"][0] < 1.0


def test_boundary_values_that_are_not_met():
    """Without the factor the network is not zero on the boundary: the maximum principle pays for it."""
    rough = BENCHMARK.rough
    loose = MLP(rough.weights, rough.biases, "tanh", "none")
    problem = square(4)
    queries = problem.points(POINTS[:1])
    off = pp.certify(problem, Lift(loose, factor="x*(1-x)*y*(1-y)", offset="1e-4*x*y"), queries, lift=True)
    assert off.contains(BENCHMARK.exact(POINTS[:1])).all()
    assert off.guarantee.value == "deterministic"
    assert np.all(off.terms["boundary"] < 1e-17)  # what is left of 1e-4 xy on the boundary is linear on every facet
    bent = pp.certify(problem, Lift(0.0, offset="1e-3*x**2*y**2"), queries, lift=True)
    assert bent.contains(BENCHMARK.exact(POINTS[:1])).all()
    expected = 1e-3 / (4.0 * 4**2)  # the parabola on an edge of the top and right sides, against its chord
    assert bent.terms["boundary"] == pytest.approx(np.full(1, expected), rel=1e-3)
    wild = pp.certify(problem, loose, queries, lift=True)
    assert wild.contains(BENCHMARK.exact(POINTS[:1])).all()
    assert np.all(wild.terms["boundary"] > 0.0)
    assert np.all(wild.radius >= wild.terms["boundary"])


def test_an_exact_lift_on_an_interval_leaves_rounding_alone():
    """−u″ + 2u = f with u = sin 3x: an exact lift leaves rounding, a wrong one its residual."""
    mesh = generate("interval", 16)
    truth = "sin(3*x)"
    problem = pp.fem.ReactionDiffusion(
        mesh, source="11*sin(3*x)", reaction=2.0, dirichlet={"left": 0.0}, neumann={"right": "3*cos(3)"}
    )
    queries = problem.points([[0.21], [0.5]]) + problem.patch("right", name="end")
    values = np.sin([0.63, 1.5, 3.0])
    exact = pp.certify(problem, truth, queries, lift=True)
    assert exact.contains(values).all()
    assert np.all(exact.radius < 1e-11)
    for wrong in (f"{truth}+1e-3*x**2", "0.9*x"):
        found = pp.certify(problem, wrong, queries, lift=True)
        assert found.contains(values).all()
        assert found.guarantee.value == "deterministic"


@pytest.mark.slow
def test_a_near_lift_in_a_cube_narrows_a_thousandfold():
    sides = [f"{t}*(1-{t})" for t in "xyz"]
    source = "2*(" + "+".join(f"{sides[i]}*{sides[j]}" for i, j in ((0, 1), (0, 2), (1, 2))) + ")"
    problem = pp.fem.ReactionDiffusion(generate("cube", 3), source=source)
    X = np.array([[0.5, 0.4, 0.6]])
    found = pp.certify(problem, "*".join(sides) + "*(1+1e-4*x)", problem.points(X), lift=True)
    assert found.contains((X * (1.0 - X)).prod(axis=1)).all()
    assert np.all(found.details["narrowing"] > 1e3)
    assert found.guarantee.value == "deterministic"


@pytest.mark.parametrize("degree", [1, 2])
def test_mixed_boundary_averages_patches_and_fluxes(degree):
    """u = exp(x) sin y + x² with values on three sides and a flux on the right."""
    truth = parse("exp(x)*sin(y)+x**2", name="u")
    problem = pp.fem.ReactionDiffusion(
        generate("square", 8),
        source="-2+3*(exp(x)*sin(y)+x**2)",
        reaction=3.0,
        dirichlet={"left": "sin(y)", "bottom": "x**2", "top": "exp(x)*sin(1)+x**2"},
        neumann={"right": "exp(1)*sin(y)+2"},
        degree=degree,
    )
    queries = (
        problem.points([[0.6, 0.3]]) + problem.averages([[0.4, 0.5]], 0.2, names=["ball"]) + problem.patch("right")
    )
    angle = 2.0 * np.pi * np.arange(64) / 64
    r, w = np.polynomial.legendre.leggauss(20)
    r, w = 0.1 * (r + 1.0), 0.1 * w
    ring = np.array([0.4, 0.5]) + r[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ball = float((w * r) @ truth(ring.reshape(-1, 2)).reshape(20, 64).mean(axis=1)) * 2.0 / 0.2**2
    values = np.array([truth(np.array([[0.6, 0.3]]))[0], ball, np.e * (1.0 - np.cos(1.0)) + 1.0])
    plain = pp.certify(problem, problem.space.U0, queries)
    assert plain.contains(values).all()
    for wrong in ("exp(x)*sin(y)+x**2+1e-3*x*x*y*y", "x**2+x*y", "exp(x)*sin(y)+x**2+1e-3*tanh(40*(x-0.5))"):
        found = pp.certify(problem, wrong, queries, lift=True)
        assert found.guarantee.value == "deterministic"
        assert np.all(np.abs(found.center - values) <= found.radius + 1e-14)
    exact = pp.certify(problem, "exp(x)*sin(y)+x**2", queries, lift=True)
    assert np.all(np.abs(exact.center - values) <= exact.radius + 1e-14)
    assert np.all(exact.radius < 1e-10)


@pytest.mark.slow
def test_a_lift_on_a_random_mesh_holds_the_truth():
    rng = np.random.default_rng(5)
    problem = pp.fem.ReactionDiffusion(continua.unit_mesh(rng, 2, 5, "delaunay"), source=BENCHMARK.source_text)
    X = rng.uniform(0.2, 0.8, (1, 2))
    found = pp.certify(problem, BENCHMARK.rough, problem.points(X), lift=True)
    assert found.contains(BENCHMARK.exact(X)).all()
    assert np.all(found.details["narrowing"] > 3.0)


@pytest.mark.slow
def test_opaque_lifts_are_estimates():
    good = BENCHMARK.good
    problem = square(8)
    opaque = Lift.opaque(good, good.laplacian, lambda X: good.derivatives(X)[1])
    found = pp.certify(problem, opaque, problem.points(POINTS[:1]), lift=True)
    proved = at_points("good", 8, 1)
    assert found.guarantee.value == "estimate"
    assert found.center == pytest.approx(proved.center, abs=1e-8)
    assert any("lift" in claim.claim and claim.status == "declared" for claim in found.assumptions)


def wave(**more):
    """−Δu = f with u = sin πx sin πy and a nearby opaque prediction, its slopes and Laplacian."""
    problem = pp.fem.ReactionDiffusion(generate("square", 3), source="2*pi**2*sin(pi*x)*sin(pi*y)", **more)

    def near(X):
        return 0.99 * np.sin(np.pi * X).prod(axis=1)

    def slopes(X):
        return 0.99 * np.pi * np.cos(np.pi * X) * np.sin(np.pi * X[:, ::-1])

    return problem, (near, lambda X: -2.0 * np.pi**2 * near(X), slopes)


def test_declared_smoothness_is_a_proof():
    """|∂²u| ≤ 0.99 π² along any direction, and so on: with these declared, the result is deterministic."""
    problem, functions = wave()
    queries = problem.points([[0.37, 0.52], [0.0, 0.3]])
    at = np.sin(np.pi * np.array([0.37, 0.52])).prod()
    bounds = Smoothness(value=9.8, laplacian=194.0, accuracy=1e-13)
    found = pp.certify(problem, Lift.opaque(*functions, bounds), queries, lift=True)
    assert found.guarantee.value == "deterministic"
    assert np.all(np.abs(found.center - [at, 0.0]) <= found.radius)
    assert found.details["narrowing"][0] > 2.0
    claims = [c for c in found.assumptions if c.status == "declared"]
    assert any("second derivatives" in c.claim and "194" in c.claim for c in claims)
    proved = pp.certify(problem, "0.99*sin(pi*x)*sin(pi*y)", queries, lift=True)
    assert np.all(np.abs(found.center - proved.center) <= found.radius + proved.radius)
    assert np.all(found.radius >= 0.99 * proved.radius)


def test_a_bound_that_is_too_small_misses():
    """The declared bound is used: with a false one the enclosure of a field that bends does not hold."""
    box = np.zeros(2), np.ones(2)

    def f(X):
        return np.sin(3.0 * X[:, 0]) * np.cos(2.0 * X[:, 1])

    V = np.random.default_rng(3).uniform(0.0, 1.0, (60, 3, 2))
    inside = np.random.default_rng(4).dirichlet(np.ones(3), 200)

    def outside(bound):
        model, which = models_on(Declared(f, bound, 1e-15, *box), Simplices(V, np.zeros((60, 2))), 3)
        x, y = (V[:, :, i] @ inside.T for i in (0, 1))
        P = [V[np.arange(60)[:, None], orders(2)[which]][:, k] for k in range(3)]
        a, b = P[1] - P[0], P[2] - P[1]
        det = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
        dx, dy = x - P[0][:, :1], y - P[0][:, 1:]
        s = 2.0 * (dx * b[:, 1:] - dy * b[:, :1]) / det[:, None] - 1.0
        t = 2.0 * (dy * a[:, :1] - dx * a[:, 1:]) / det[:, None] - 1.0
        C, (one, first, second) = (
            model.C,
            [list(map(tuple, model.space.powers)).index(p) for p in ((0, 0), (1, 0), (0, 1))],
        )
        p = C[one][:, None] + C[first][:, None] * s + C[second][:, None] * t
        truth = f(np.stack([x.ravel(), y.ravel()], axis=1)).reshape(x.shape)
        return int((np.abs(truth - p) > model.e[:, None] + 1e-12).sum())

    assert outside(13.0) == 0
    assert outside(0.5) > 0


def test_fluxes_of_opaque_predictions():
    more = {"dirichlet": {"left": 0.0, "right": 0.0, "bottom": 0.0}, "neumann": {"top": "-pi*sin(pi*x)"}}
    problem, functions = wave(**more)
    queries, at = problem.points([[0.4, 0.6]]), np.sin([0.4 * np.pi, 0.6 * np.pi]).prod()
    guess = pp.certify(problem, Lift.opaque(*functions), queries, lift=True)
    assert guess.guarantee.value == "estimate"
    assert abs(guess.center[0] - at) <= guess.radius[0]
    bounds = Smoothness(9.8, 194.0, 1e-13, gradient=31.0)
    sure = pp.certify(problem, Lift.opaque(*functions, bounds), queries, lift=True)
    assert sure.guarantee.value == "deterministic"
    assert abs(sure.center[0] - at) <= sure.radius[0]
    with pytest.raises(pp.InputError, match="gradient: missing"):
        pp.certify(problem, Lift.opaque(*functions[:2]), queries, lift=True)
    with pytest.raises(pp.InputError, match=r"smoothness\.gradient: missing"):
        pp.certify(problem, Lift.opaque(*functions, Smoothness(9.8, 194.0, 1e-13)), queries, lift=True)
    with pytest.raises(pp.InputError, match=r"smoothness\.accuracy"):
        Smoothness(9.8, 194.0, -1.0)


def tiny(scale, activation="tanh", seed=1, factor="unit-box"):
    rng = np.random.default_rng(seed)
    W = [rng.normal(size=shape) * scale for shape in ((4, 2), (1, 4))]
    return MLP(W, [rng.normal(size=len(w)) * scale for w in W], activation, factor)


@pytest.mark.parametrize(
    "network",
    [
        tiny(1e3, "softplus"),
        tiny(1e3, "gelu"),
        *(tiny(10.0**k) for k in (-200, 30, 90)),
        tiny(1e60, "sin", factor="none"),
        tiny(1e100, "softplus"),
        MLP([np.zeros((4, 2)), np.ones((1, 4))], [np.full(4, -800.0), np.zeros(1)], "tanh", "unit-box"),
        MLP([np.zeros((4, 2)), np.zeros((1, 4))], [np.zeros(4), np.array([0.3])], "tanh", "none"),
    ],
)
def test_huge_dead_and_constant_networks(network):
    """Whatever the weights: the truth inside, no NaN, no warning."""
    problem = pp.fem.ReactionDiffusion(generate("square", 2), source="2*x*(1-x) + 2*y*(1-y)")
    found = pp.certify(problem, network, problem.points(POINTS[:1]), lift=True)
    assert not np.isnan([*found.radius, *found.center, *found.details["narrowing"]]).any()
    assert found.contains((POINTS[:1] * (1.0 - POINTS[:1])).prod(axis=1)).all()


def test_points_on_boundaries_and_vertices():
    problem = square(4)
    X = np.array([[0.0, 0.5], [1.0, 1.0], [0.5, 0.5], [0.5, 0.25], [0.625, 0.625]])
    found = pp.certify(problem, f"0.99*({BENCHMARK.exact_text})", problem.points(X), lift=True)
    assert np.all(np.abs(found.center - BENCHMARK.exact(X)) <= found.radius + 1e-16)
    assert np.all(found.radius[:2] < 1e-15)
    assert found.details["narrowing"][:2] == pytest.approx(np.ones(2))  # nothing to gain there
    assert np.all(found.details["narrowing"][2:] > 10.0)


def test_unresolved_fluxes_are_infinite():
    """An infinite error of a flux stays infinite where the test function vanishes."""
    what = Density(np.zeros((1, 3)), np.zeros(1), np.full(1, np.inf), np.full(1, np.inf))
    load = FacetLoad(np.array([0]), np.array([[0, 1]]), np.array([[0, 1]]), what)
    assert load.against(np.array([[0.0, 0.0], [1.0, 0.0]]), np.zeros(2), 1)[2] == np.inf


def test_no_interval_of_the_campaign_misses():
    """One case of each kind of the campaign in studies/, which has some 600 intervals."""
    path = ROOT / "studies" / "lift_campaign.py"
    study = runpy.run_path(str(path))
    kinds = tuple(k for k in study["PREDICTIONS"] if k not in ("trained", "steep"))
    rows, wrong = study["campaign"](6, 3, kinds)
    assert not wrong
    assert sum(map(len, rows.values())) > 15


def case_file(folder, prediction):
    path = folder / "case.toml"
    path.write_text(
        '[mesh]\ngenerate = "square"\ncells = 6\n[problem]\nkind = "reaction-diffusion"\n'
        'source = "2*pi**2*sin(pi*x)*sin(pi*y)"\n[problem.dirichlet]\nboundary = 0.0\n'
        f"[prediction]\n{prediction}\n"
        '[[query]]\nname = "q"\nat = [0.37, 0.52]\n[certificate]\ntarget = "continuous"\nlift = true\n',
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("how", ["torch", "onnx"])
def test_case_files_say_what_a_network_is_worth(how, tmp_path, capsys):
    """Weights from safetensors and ONNX files: the report and certificate.json say the factor, as Python does."""
    first = np.pi * np.array([[1.0, 1.0], [1.0, -1.0]])  # cos π(x−y) − cos π(x+y) = 2 sin πx sin πy, as sines
    W, b = [first, np.array([[-0.495, 0.495]])], [np.full(2, np.pi / 2), np.zeros(1)]
    if how == "torch":
        (tmp_path / "net.safetensors").write_bytes(safetensors(state(W, b)))
        text = 'torch = "net.safetensors"\nactivation = "sin"'
    else:
        (tmp_path / "net.onnx").write_bytes(onnx(*gemms(W, b, "Sin")))
        text = 'onnx = "net.onnx"'
    assert command(["certify", str(case_file(tmp_path, text)), "--out", str(tmp_path / "out")]) == 0
    assert "times narrower than without the prediction on the same mesh" in capsys.readouterr().out
    (row,) = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))["queries"]
    assert row["narrowing"] > 50.0
    problem = pp.fem.ReactionDiffusion(generate("square", 6), source="2*pi**2*sin(pi*x)*sin(pi*y)")
    found = pp.certify(problem, MLP(W, b, "sin"), problem.points([[0.37, 0.52]]), lift=True)
    assert found.details["narrowing"][0] == pytest.approx(row["narrowing"], rel=1e-6)


def test_to_a_tolerance():
    problem, _ = wave()
    near, at = "sin(pi*x)*sin(pi*y)+0.01*sin(pi*x)*sin(3*pi*y)", np.sin([0.37 * np.pi, 0.52 * np.pi]).prod()
    queries = problem.points(POINTS[:1])
    found = pp.certify_to(problem.lifted(near), near, queries, 2e-3)
    assert found.reached
    assert len(found.history) > 1
    assert found.certificate.contains([at]).all()
    assert found.certificate.guarantee.value == "deterministic"
    alone = pp.certify_to(problem, problem.space.U0, queries, 2e-3, max_dofs=found.history[-1].dofs)
    assert not alone.reached


@pytest.mark.parametrize(
    ("more", "prediction", "message"),
    [
        ({"diffusion": [1.0, 2.0] * 16}, "x*(1-x)*y*(1-y)", "same on all cells"),
        ({}, lambda X: X[:, 0], "known derivatives"),
        ({}, "abs(x-0.5)", "no second derivatives"),
        ({}, MLP([np.ones((2, 2))], [np.ones(2)]), "must have one output"),
        ({}, MLP([np.ones((1, 3))], [np.ones(1)]), "has 3 inputs"),
    ],
)
def test_what_is_refused(more, prediction, message):
    problem = square(4, **more)
    with pytest.raises(pp.InputError, match=message):
        pp.certify(problem, prediction, problem.points(POINTS[:1]), lift=True)


def test_slanted_fluxes_and_other_targets_are_refused():
    mesh = generate("square", 4)
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    slanted = Mesh(mesh.points @ turn.T, mesh.cells, {}, mesh.facet_groups)
    problem = pp.fem.ReactionDiffusion(slanted, source=1.0, dirichlet={"left": 0.0})
    centre = problem.points([turn @ [0.5, 0.5]])
    with pytest.raises(pp.InputError, match="parallel to the axes"):
        pp.certify(problem, "x*y", centre, lift=True)
    fixed = pp.fem.ReactionDiffusion(slanted, source=1.0)
    assert pp.certify(fixed, "0.1*x*y", centre, lift=True).guarantee.value == "deterministic"
    with pytest.raises(pp.InputError, match="continuous target"):
        pp.certify(fixed, "0.1*x*y", centre, lift=True, target="discrete")
