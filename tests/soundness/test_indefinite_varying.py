"""Reactions between eigenvalues beside coefficients that vary, matrices, Robin sides and periodic pairs."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
import scipy.linalg as dense

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.transfer.spectrum import nonconforming, separation
from pinnpoint.transfer.spectrum.conforming import conforming
from pinnpoint.transfer.spectrum.forms import Forms
from pinnpoint.transfer.spectrum.indefinite import Indefinite
from tests.support.gaps import random_case

PI = math.pi
X = np.array([[0.37, 0.52], [0.71, 0.36]])
S, C = "sin(pi*x)*sin(pi*y)", "cos(pi*x)*cos(pi*y)"
WAVE = np.prod(np.sin(PI * X), axis=1)


def square(n=8, **given):
    return pp.fem.ReactionDiffusion(pp.io.generate("square", n), degree=2, **given)


def scalar(k2=30.0, **more):
    """u = sin πx sin πy, κ = 1 + xy/2."""
    slopes = "(y*cos(pi*x)*sin(pi*y)+x*sin(pi*x)*cos(pi*y))"
    source = f"(1+x*y/2)*2*pi**2*{S} - pi/2*{slopes} - {k2}*{S}"
    return square(source=source, diffusion="1+x*y/2", reaction=-k2, **more)


def matrix():
    slopes = "pi*cos(pi*x)*sin(pi*y)-pi*sin(pi*x)*cos(pi*y)"
    source = f"(5+x)*pi**2*{S}-{slopes}-2*x*pi**2*{C}-80*{S}"
    return square(source=source, diffusion=[["2+x", "x"], ["x", "3"]], reaction=-80.0)


def changing():
    """c falls below zero on a part alone."""
    return square(source=f"(2*pi**2+60*(x-0.8))*{S}", reaction="60*(x-0.8)")


def cooled(k2=20.0, n=8, kappa="1"):
    """u = cos 2x sin πy, with Robin sides left and right."""
    u, slope = "cos(2*x)*sin(pi*y)", 0 if kappa == "1" else 1
    source = f"({kappa})*(4+pi**2)*{u}+{slope}*2*sin(2*x)*sin(pi*y)-{k2}*{u}"
    right = f"(-2*({1 + slope})*sin(2)+(1+y)*cos(2))*sin(pi*y)"
    robin = {"left": (3.0, "3*sin(pi*y)"), "right": ("1+y", right)}
    given = {"dirichlet": {"bottom": 0.0, "top": 0.0}, "robin": robin, "reaction": -k2}
    return square(n, source=source, **given, **({} if kappa == "1" else {"diffusion": kappa}))


def exchanged():
    """u = cos 2x cos y, nothing fixed: Robin sides all around."""
    robin = {"left": (3.0, "3*cos(y)"), "right": (1.0, "(cos(2)-2*sin(2))*cos(y)")}
    robin |= {"bottom": (1.0, "cos(2*x)"), "top": (1.0, "cos(2*x)*(cos(1)-sin(1))")}
    return square(source="-15*cos(2*x)*cos(y)", reaction=-20.0, dirichlet={}, robin=robin)


def tube(kappa="1+y"):
    """u = sin 2πx y(1 − y), periodic in x."""
    source = "(1+y)*(4*pi**2*sin(2*pi*x)*y*(1-y)+2*sin(2*pi*x))-(1-2*y)*sin(2*pi*x)-40*sin(2*pi*x)*y*(1-y)"
    sides = {"dirichlet": {"bottom": 0.0, "top": 0.0}, "periodic": {"left": "right"}}
    return square(10, source=source, diffusion=kappa, reaction=-40.0, **sides)


ROUND = np.cos(2.0 * X[:, 0]) * np.sin(PI * X[:, 1])
CASES = {
    "scalar": (scalar, WAVE, 0.003),
    "matrix": (matrix, WAVE, 0.02),
    "changing": (changing, WAVE, 0.1),
    "robin": (cooled, ROUND, 0.02),
    "robin and scalar": (lambda: cooled(40.0, kappa="1+x"), ROUND, 0.06),
    "robin all around": (exchanged, np.cos(2.0 * X[:, 0]) * np.cos(X[:, 1]), 2e-3),
    "tube": (tube, np.sin(2.0 * PI * X[:, 0]) * X[:, 1] * (1.0 - X[:, 1]), 4e-3),
}


SLOW = ("matrix", "changing", "robin and scalar")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in CASES])
def test_intervals_hold_the_truth(name):
    make, truth, most = CASES[name]
    problem = make()
    found = pp.certify(problem, problem.space.U0, problem.points(X))
    assert found.guarantee == "deterministic"
    assert found.contains(truth).all()
    assert found.radius.max() < most
    assert any("counts of negative pivots" in a.claim for a in found.assumptions)


def test_averages_and_fluxes_beside_robin_sides():
    problem = cooled(20.0, 10)
    queries = problem.points(X) + problem.patch("right") + problem.flux("right")
    found = pp.certify(problem, problem.space.U0, queries)
    assert found.contains([*ROUND, math.cos(2.0) * 2.0 / PI, -4.0 * math.sin(2.0) / PI]).all()
    assert found.radius.max() < 0.01


def test_galerkins_radius_is_the_narrower_one_and_the_other_holds_too(monkeypatch):
    problem = scalar(30.0)
    narrow = pp.certify(problem, problem.space.U0, problem.mean())
    monkeypatch.setattr(Indefinite, "mesh_factor", property(lambda self: math.inf))
    plain = pp.certify(problem, problem.space.U0, problem.mean())
    for found in (narrow, plain):
        assert found.contains([4.0 / PI**2]).all()
    assert np.all(narrow.radius < 0.9 * plain.radius)


@pytest.mark.parametrize(
    ("d", "count"), [(1, 4), pytest.param(2, 4, marks=pytest.mark.slow), pytest.param(3, 2, marks=pytest.mark.slow)]
)
def test_random_problems_are_held(d, count):
    rng, checked = np.random.default_rng([8, d]), 0
    for _ in range(count):
        problem, _, points, truth = random_case(rng, d)
        try:
            found = pp.certify(problem, problem.space.U0, problem.points(points))
        except pp.InputError as error:
            if "not separated" not in str(error):
                raise
            continue
        checked += 1
        assert found.contains(truth).all()
    assert checked >= (count + 1) // 2


def line(n, kappa, c, **more):
    return pp.fem.ReactionDiffusion(pp.io.generate("interval", n), 1.0, kappa, c, degree=2, **more)


def spectrum(problem, n=400):
    """The eigenvalues of a over q by quadratic elements on a fine mesh."""
    given = problem.given
    robin = None if problem.sides is None else {k: (a, g) for k, (a, g) in problem.sides.table.items()}
    fine = line(n, given["diffusion"], given["reaction"], robin=robin, dirichlet=given["dirichlet"])
    model = fine.continuum(fine.topology)
    space = conforming(model, Forms.of(model))
    values = dense.eigh(space.mass.toarray(), space.stiffness.toarray(), eigvals_only=True)[::-1]
    return 1.0 / values[values > 1e-12][:6]


def steep():
    """κ grows by a factor of e² on four cells."""
    return line(4, "exp(2*x)", "-20*exp(-x)")


def held(n=6):
    return line(n, 1.0, -14.0, dirichlet={"left": 0.0}, robin={"right": (30.0, 0.0)})


def gap_of(problem):
    return separation.separation(problem.continuum(problem.topology))


@pytest.mark.parametrize("problem", [steep(), line(12, "2+sin(3*x)", "-90-30*x"), held(), held(12)])
def test_the_reaction_is_between_the_eigenvalues_that_are_claimed(problem):
    found, true = gap_of(problem), spectrum(problem)
    m = int(np.sum(true < 1.0))
    assert found.count == m
    assert 1.0 < found.above <= true[m]
    assert m == 0 or true[m - 1] * (1.0 - 1e-7) <= found.below < 1.0


def test_without_what_the_variation_takes_the_lower_bound_is_false():
    """Means of κ alone, and no interpolation constant: the first is what step 13b is for."""
    problem = line(8, "1.1+sin(18*x)", "-1-x/9")
    model = problem.continuum(problem.topology)
    forms = Forms.of(model)
    true = spectrum(problem)[0]
    space = nonconforming.Nonconforming.of(model, forms, grip=True)
    assert separation._from_below(model, space, forms, 0, math.inf)[0] <= true
    bad = dataclasses.replace(forms, stiff=forms.middle, spare=np.full_like(forms.spare, 1e6))
    space = nonconforming.Nonconforming.of(model, bad, grip=True)
    assert separation._from_below(model, space, bad, 0, math.inf)[0] > true


def test_without_the_robin_term_the_upper_bound_is_false():
    """Of a stiff spring: free, the first eigenvalue would be a quarter of what it is."""
    problem = held(12)
    model = problem.continuum(problem.topology)
    forms, true = Forms.of(model), spectrum(problem)[0]
    with_it = separation._nearest(*_pencil(model, forms), 0.0, "LA")
    assert with_it >= true * (1.0 - 1e-9)
    object.__setattr__(model.exchange, "top", 0.0 * model.exchange.top)
    assert separation._nearest(*_pencil(model, forms), 0.0, "LA") < 0.5 * true


def _pencil(model, forms):
    space = conforming(model, forms)
    return space.stiffness, space.mass


@pytest.mark.parametrize(
    "problem",
    [steep(), line(12, "1.5+sin(9*x)", "-14-8*sin(9*x)"), held(8), line(8, "1+x", "90*(x-0.8)")],
    ids=["steep", "wavy", "robin", "changing"],
)
def test_functions_orthogonal_to_the_elements_are_as_small_as_is_claimed(problem):
    """sup ‖v‖_q/‖v‖_a over v orthogonal to the linear elements, by a fine mesh that contains them."""
    model = problem.continuum(problem.topology)
    it = Indefinite(model, gap_of(problem))
    assert math.isfinite(it.mesh_factor)
    cells, cuts = len(problem.mesh.cells), 40
    n = cells * cuts
    fine = line(
        n,
        problem.given["diffusion"],
        problem.given["reaction"],
        dirichlet=problem.given["dirichlet"],
        robin=None if problem.sides is None else dict(problem.sides.table),
    )
    model = fine.continuum(fine.topology)
    space = conforming(model, Forms.of(model))
    A, M = space.stiffness.toarray(), space.mass.toarray()
    held_ends = [0] if "left" in problem.given["dirichlet"] else [0, n]
    free = np.setdiff1d(np.arange(n + 1), held_ends)
    x = np.concatenate([np.arange(n + 1), np.arange(n) + 0.5])[np.concatenate([free, n + 1 + np.arange(n)])] / cuts
    nodes = [k for k in range(cells + 1) if k * cuts not in held_ends]
    hats = np.maximum(0.0, 1.0 - np.abs(x[:, None] - np.array(nodes)[None, :]))  # Bernstein: linear functions exactly
    Q = dense.null_space((A @ hats).T)
    true = math.sqrt(dense.eigh(Q.T @ M @ Q, Q.T @ A @ Q, eigvals_only=True)[-1])
    assert true <= it.mesh_factor * (1.0 + 1e-9)
    if it.forms.apart:  # the mean coefficients alone say too little
        root = math.sqrt(it.gap.weight) * it.mesh.value
        assert it.mesh_factor > root


@pytest.mark.slow
def test_data_that_the_elements_do_not_meet():
    g, k2 = "sin(2*x)*cos(y)", 30.0
    slopes = "(2*y*cos(2*x)*cos(y)-x*sin(2*x)*sin(y))/2"
    problem = square(
        source=f"(1+x*y/2)*5*{g}-{slopes}-{k2}*{g}", diffusion="1+x*y/2", reaction=-k2, dirichlet={"boundary": g}
    )
    found = pp.certify(problem, problem.space.U0, problem.points(X))
    assert found.contains(np.sin(2 * X[:, 0]) * np.cos(X[:, 1])).all()
    assert np.all(found.terms["boundary"] > 0.0)
    assert found.radius.max() < 0.02


@pytest.mark.slow
def test_lifts_keep_the_prediction():
    problem = scalar()
    found = pp.certify(problem, f"1.001*{S}", problem.points(X), lift=True)
    assert found.contains(WAVE).all()
    assert found.radius.max() < 1e-5


def test_refusals_name_the_number_the_place_and_the_mesh():
    problem = square(4, source=1.0, diffusion="1+x", reaction="-60-10*x")
    words = r"falls to -70 near \[0\.9.*not separated.*needs cells of a diameter of about"
    with pytest.raises(pp.InputError, match=words):
        pp.certify(problem, problem.space.U0, problem.points(X))
    free = square(4, source=1.0, diffusion="1+x", reaction="-5-x", dirichlet={})
    with pytest.raises(pp.InputError, match="no boundary group is Dirichlet"):
        pp.certify(free, free.space.U0, free.points(X))
    windy = square(4, source=1.0, reaction="-60-10*x", convection=("1", "0"))
    with pytest.raises(pp.InputError, match=r"c − ½∇·b must be ≥ 0"):
        pp.certify(windy, windy.space.U0, windy.points(X))


CASE = """
[mesh]
generate = "square"
cells = 8
[problem]
kind = "reaction-diffusion"
diffusion = "1+x*y/2"
reaction = "-30"
source = "%s"
degree = 2
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
name = "p"
kind = "point"
at = [0.37, 0.52]
"""


def test_of_a_case_file_whose_bundle_says_what_it_has_not(tmp_path):
    problem = scalar()
    (tmp_path / "case.toml").write_text(CASE % problem.given["source"].text)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    (row,) = json.loads((tmp_path / "out" / "certificate.json").read_text())["queries"]
    assert row["lower"] <= WAVE[0] <= row["upper"]
    assert row["radius"] < 0.003
    assert "between eigenvalues" in (tmp_path / "out" / "bundle" / "proof.json").read_text()
    found = pp.certify(problem, problem.space.U0, problem.points(X))
    with pytest.raises(pp.InputError, match="between eigenvalues"):
        pp.write_bundle(tmp_path / "b", found, problem, problem.space.U0, problem.points(X))
