"""A lift tells its cost beforehand, is refused where it would be in vain unless asked for, and says if it was."""

from __future__ import annotations

import logging
from itertools import pairwise

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.certifiers.verb import run
from pinnpoint.cli.main import main
from pinnpoint.fem.lifts import forecast
from pinnpoint.fem.lifts.lifted import lift_of
from pinnpoint.models import MLP, Lift
from pinnpoint.models.networks import benchmark

GIVEN = benchmark.load()
AT = [[0.37, 0.52]]


def untrained(width: int = 32, seed: int = 0) -> MLP:
    rng = np.random.default_rng(seed)
    pairs = list(pairwise((2, width, width, width, 1)))
    return MLP([rng.normal(size=(m, n)) / np.sqrt(n) for n, m in pairs], [0.1 * rng.normal(size=m) for _, m in pairs])


def square(n: int, degree: int = 1, **more) -> pp.fem.ReactionDiffusion:
    return pp.fem.ReactionDiffusion(pp.io.generate("square", n), source=GIVEN.source_text, degree=degree, **more)


def expected(problem, prediction) -> float:
    plain, certifier = run(pp.Exact(), problem, problem.space.U0, problem.points(AT))
    return forecast.narrowing(problem, lift_of(problem, prediction), plain, certifier.ground.solver)


@pytest.mark.parametrize("degree", [1, 2])
def test_the_forecast_is_of_the_size_of_the_gain(degree):
    """A formula, so that the lift itself is quick."""
    wave = "sin(pi*x)*sin(2*pi*y)"
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source=f"5*pi**2*{wave}", degree=degree)
    for share, low, high in ((0.0, 0.5, 2.0), (0.97, 10.0, 100.0), (3.0, 0.2, 0.9)):
        found = pp.certify(problem, f"{share}*{wave}", problem.points(AT), lift=True).details["narrowing"][0]
        told = expected(problem, f"{share}*{wave}")
        assert found / 2.5 < told < 2.5 * found
        assert low < told < high


def test_better_networks_are_forecast_to_be_better():
    problem = square(8)
    told = [expected(problem, u) for u in (untrained(), *GIVEN.networks)]
    assert told[0] < 2.0 < told[1] < told[2] < told[3]


def test_the_cost_grows_with_cells_neurons_and_steepness():
    def seconds(n, network):
        return forecast.cost(square(n), Lift(network), 1).seconds

    few, many, wide = seconds(8, untrained()), seconds(32, untrained()), seconds(8, untrained(128))
    steep = MLP([6.0 * GIVEN.rough.weights[0], *GIVEN.rough.weights[1:]], GIVEN.rough.biases)
    assert 0.5 < few < many < 16.0 * few
    assert 3.0 * few < wide < 5.0 * few
    assert seconds(8, steep) > seconds(8, untrained())
    assert seconds(8, "sin(x)") < 1.0
    assert forecast.cost(square(8), Lift.opaque(np.sin, np.sin), 1).seconds == 0.0


def test_a_long_lift_in_vain_is_refused_before_the_work(monkeypatch):
    problem, net = square(40), untrained()
    worse = MLP([*net.weights[:-1], 5.0 * net.weights[-1]], net.biases)
    queries = problem.points(np.random.default_rng(0).uniform(0.2, 0.8, (4, 2)))

    def never(*given):
        raise AssertionError("the work was begun")

    monkeypatch.setattr(pp.fem.ReactionDiffusion, "lifted", never)
    with pytest.raises(pp.InputError, match=r"^lift: would take about \d+ s .* to make the proof wider.*'anyway'"):
        pp.certify(problem, worse, queries, lift=True)
    for given, prediction in (("anyway", worse), (True, GIVEN.fair)):
        with pytest.raises(AssertionError, match="the work was begun"):
            pp.certify(problem, prediction, queries, lift=given)
    with pytest.raises(pp.InputError, match="lift: must be true, false or 'anyway'; got 'always'"):
        pp.certify(problem, GIVEN.fair, queries, lift="always")


def test_a_cheap_lift_is_never_refused_and_its_certificate_says_that_it_did_not_pay(caplog):
    problem = square(6)
    with caplog.at_level(logging.INFO, logger="pinnpoint"):
        found = pp.certify(problem, f"3*({GIVEN.exact_text})", problem.points(AT, names=["q"]), lift=True)
    assert "lifting the prediction on 72 cells, about 1 s of one core" in caplog.text
    assert found.details["narrowing"][0] < 1.0
    assert "the lift did not pay, the proof is wider than without it: q (0." in str(found)
    good = pp.certify(problem, f"0.99*({GIVEN.exact_text})", problem.points(AT), lift=True)
    assert "did not pay" not in str(good)


@pytest.mark.parametrize("lift", ["true", '"anyway"'])
def test_a_case_is_told_the_cost_and_that_it_did_not_pay(tmp_path, capsys, lift):
    case = (
        '[mesh]\ngenerate = "square"\ncells = 4\n[problem]\nkind = "reaction-diffusion"\nsource = "1"\n'
        '[problem.dirichlet]\nboundary = 0.0\n[prediction]\nexpression = "-9*x*(1-x)*y*(1-y)"\n'
        f'[[query]]\nname = "q"\nat = [0.4, 0.5]\n[certificate]\nlift = {lift}\n'
    )
    (tmp_path / "case.toml").write_text(case)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert "lifting the prediction on 32 cells, about 1 s of one core" in said.err
    assert "the lift did not pay" in said.out
    assert "Leave out the lift" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0
    (tmp_path / "case.toml").write_text(case.replace(f"lift = {lift}", 'lift = "yes"'))
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "other")]) == 2
    assert "certificate.lift: must be true, false or 'anyway'; got 'yes'" in capsys.readouterr().err
