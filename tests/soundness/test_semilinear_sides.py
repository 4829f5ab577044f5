"""Robin sides, periodic pairs and bounds everywhere beside nonlinear reactions, against known solutions."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.transfer.boundary.robin import Exchange
from pinnpoint.transfer.energy import norms
from pinnpoint.transfer.nonlinear.monotone import Monotone

SQUARE = pp.io.generate("square", 6)
U = "cos(x)*cos(y)"
ONE, SIN = math.cos(1.0), math.sin(1.0)
SIDES = {
    "right": ("2", "(2*cos(1)-sin(1))*cos(y)"),
    "top": ("1+x", "cos(x)*((1+x)*cos(1)-sin(1))"),
    "left": ("3", "3*cos(y)"),
}
TRUTHS = [math.cos(0.4) * math.cos(0.5), ONE * SIN, -SIN * SIN, SIN * SIN]


def cooled(degree=2, g="sinh(u)", fixed=True):
    """u = cos x cos y with Robin sides; values at the bottom, or nothing fixed at all."""
    source = f"2*{U}+{g.replace('u', f'({U})')}"
    sides = dict(SIDES)
    bottom = {"dirichlet": {"bottom": "cos(x)"}} if fixed else {}
    if not fixed:
        sides["bottom"] = ("1", "cos(x)")
    return pp.fem.Semilinear(SQUARE, g=g, source=source, robin=sides, degree=degree, **bottom)


@pytest.mark.parametrize(("degree", "g", "fixed"), [(1, "u**3", True), (2, "sinh(u)", True), (2, "u+sin(u)/2", False)])
def test_robin_sides(degree, g, fixed):
    problem = cooled(degree, g, fixed)
    queries = problem.points([[0.4, 0.5]]) + problem.patch("right") + problem.flux("right") + problem.mean()
    certificate = pp.certify(problem, problem.space.U0, queries)
    assert str(certificate.guarantee) == "deterministic"
    assert certificate.contains(TRUTHS).all()
    assert certificate.radius.max() < (0.05 if degree == 1 else 2e-3)


def test_the_robin_term_counts(monkeypatch):
    """Without the states' own share α u_h the flux is no longer that of the facets, and intervals are useless."""
    problem = cooled()
    monkeypatch.setattr(Exchange, "wanted", lambda self, load, nodal, degree: load)
    certificate = pp.certify(problem, problem.space.U0, problem.points([[0.4, 0.5]]) + problem.mean())
    assert certificate.radius.min() > 1.0


def test_a_flux_without_a_robin_condition_is_refused():
    with pytest.raises(pp.InputError, match=r"flux 'bottom'.*without a Robin condition"):
        cooled().flux("bottom")


V = "sin(2*pi*x)*sin(pi*y)"


def around(n=8):
    """The wave V on a tube."""
    return pp.fem.Semilinear(
        pp.io.generate("square", n),
        g="sinh(u)",
        source=f"5*pi**2*{V}+sinh({V})",
        dirichlet={"bottom": 0.0, "top": 0.0},
        periodic={"left": "right"},
        degree=2,
    )


def test_periodic_pairs():
    problem = around()
    X = [[0.3, 0.5], [0.7, 0.8]]
    certificate = pp.certify(problem, problem.space.U0, problem.points(X) + problem.mean())
    truth = [math.sin(0.6 * math.pi), math.sin(1.4 * math.pi) * math.sin(0.8 * math.pi), 0.0]
    assert certificate.contains(truth).all()
    assert certificate.radius.max() < 0.1
    line = pp.fem.Semilinear(
        pp.io.generate("interval", 16),
        cubic=1.0,
        reaction=1.0,
        source="(4*pi**2+1)*sin(2*pi*x)+sin(2*pi*x)**3",
        periodic={"left": "right"},
        degree=2,
    )
    found = pp.certify(line, line.space.U0, line.points([[0.3]]))
    assert found.contains([math.sin(0.6 * math.pi)]).all()
    assert found.radius[0] < 0.02


def test_sides_of_pairs_are_free():
    """sin πy is periodic in x: ‖v‖₂ = ‖∇v‖₂/π, more than with values on all sides; Talenti's theorem is not used."""
    problem = around()
    route = problem.transfer(problem.mean())
    assert route.norms.second >= 1.0 / math.pi
    assert norms.faces_of(route.model).tolist() == [0.0, 2.0]
    assert not norms.Norms.of(route.model).vanishing


def test_pairs_of_other_domains_are_refused():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 0.8], [2.0, 1.0]])
    bent = Mesh(points, [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]], facet_groups={"a": [[0, 3]], "b": [[2, 5]]})
    problem = pp.fem.Semilinear(bent, cubic=1.0, reaction=1.0, source=1.0, periodic={"a": "b"})
    with pytest.raises(pp.InputError, match=r"periodic: .*rectangles and boxes"):
        pp.certify(problem, problem.space.U0, problem.mean())


WAVE = "sin(pi*x)*sin(pi*y)"


def asked(problem):
    extremes = problem.everywhere() + problem.maximum() + problem.minimum()
    return extremes + problem.l2_error() + problem.energy_error()


@pytest.mark.parametrize(
    ("g", "A", "source"),
    [
        ("2*u**3", "1", f"2*pi**2*{WAVE}"),
        ("-3*sin(u)", "1", f"2*pi**2*{WAVE}"),
        ("sinh(u)", [["4", "3"], ["3", "7"]], f"11*pi**2*{WAVE}-6*pi**2*cos(pi*x)*cos(pi*y)"),
    ],
)
def test_everywhere(g, A, source):
    """The prediction is the solution and a tenth of it: every norm of its error is known but for the elements."""
    total = f"{source}+{g.replace('u', f'({WAVE})')}"
    problem = pp.fem.Semilinear(pp.io.generate("square", 8), g=g, source=total, diffusion=A, degree=2)
    certificate = pp.certify(problem, f"1.1*{WAVE}", asked(problem))
    matrix = np.array([[1.0, 0.0], [0.0, 1.0]]) if A == "1" else np.array([[4.0, 3.0], [3.0, 7.0]])
    energy = 0.1 * math.sqrt(np.trace(matrix) * math.pi**2 / 4.0)
    truth = [0.1, 1.0, 0.0, 0.05, energy]
    near = 1e-3  # of the elements' function to the formula
    assert np.all(certificate.lower <= np.array(truth) + near)
    assert np.all(certificate.upper >= np.array(truth) - near)
    assert certificate.upper[0] < 0.4
    assert certificate.upper[0] > 0.1 - near
    assert certificate.lower[3] > 0.03
    assert str(certificate.guarantee) == "deterministic"


def test_level_sets_see_the_reaction():
    """A state that is far off: its bound is at least its error, and without g(u_h) it would not be."""
    problem = pp.fem.Semilinear(pp.io.generate("square", 6), g="400*sinh(u)", source=f"2*pi**2*{WAVE}+400*sinh({WAVE})")
    route = problem.transfer(problem.everywhere())
    off = 0.5 * pp.fem.ReactionDiffusion(problem.mesh).extract(WAVE).U

    def largest(state):
        primal = route.primal(state)
        return route._extremes(primal, (0.0, True)).found(off)[0].upper

    assert largest(off) >= 0.45


def test_a_fall_is_carried():
    """γ‖e‖₂ stands beside ‖ϱ‖₂: −Δu = 15u + …, 15 below 2π², and a state of nothing."""
    problem = pp.fem.Semilinear(
        pp.io.generate("square", 6), g="-15*u", source=f"(2*pi**2-15)*{WAVE}", dirichlet={"boundary": 0.0}
    )
    route = problem.transfer(problem.everywhere())
    state = np.zeros(len(problem.nodes))
    primal = route.primal(state)
    assert route._extremes(primal, (0.0, True)).found(state)[0].upper >= 1.0
    plain = Monotone(route.model, route.term, route.queries, route.facets_of, None, route.cells_of)
    object.__setattr__(plain, "norms", replace(route.norms, fall=0.0))
    primal = plain.primal(state)
    assert plain._extremes(primal, (0.0, True)).found(state)[0].upper < 1.0


def test_everywhere_beside_pairs_is_refused():
    problem = around(4)
    with pytest.raises(pp.InputError, match="periodic pairs beside a nonlinear reaction"):
        pp.certify(problem, problem.space.U0, problem.everywhere())


def test_the_energy_error_needs_data_that_is_met():
    problem = pp.fem.Semilinear(SQUARE, cubic=1.0, source=1.0, dirichlet={"boundary": "sin(x)"})
    with pytest.raises(pp.InputError, match="energy error needs Dirichlet data that the elements meet exactly"):
        pp.certify(problem, problem.space.U0, problem.energy_error())


CASE = """
[mesh]
generate = "square"
cells = 4
[problem]
kind = "semilinear"
cubic = 1.0
reaction = 1.0
source = "2"
degree = 2
[problem.robin]
bottom = { coefficient = 2.0, value = 2.0 }
top = { coefficient = "1+x", value = "1+x" }
[problem.periodic]
left = "right"
[prediction]
zero = true
[[query]]
name = "p"
kind = "point"
at = [0.4, 0.5]
[[query]]
name = "out"
kind = "flux"
group = "top"
"""


def test_of_a_case_file(tmp_path):
    """u = 1 solves −Δu + u + u³ = 2 with Robin values α on a tube."""
    (tmp_path / "case.toml").write_text(CASE)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    rows = json.loads((tmp_path / "out" / "certificate.json").read_text())["queries"]
    for row, truth in zip(rows, (1.0, 0.0), strict=True):
        assert row["lower"] <= truth <= row["upper"]
        assert row["radius"] < 1e-3
    assert "bundles of reactions are for" in (tmp_path / "out" / "bundle" / "proof.json").read_text()
