"""−∇·(A∇u) + b·∇u + c u = f with formulas, matrices and convection: truth inside, orders, refusals, counterexamples."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy import integrate

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.systems.semilinear.reaction import Reaction
from pinnpoint.taylor.models import constant
from pinnpoint.transfer import continuum
from pinnpoint.transfer.media.surroundings import Surroundings
from tests.support.varied import ask, draw, energy_bound, energy_error, solved

KINDS = ("scalar", "constant matrix", "matrix", "convection")
SIZES = {1: (4, 12), 2: (3, 7), 3: (2, 3)}
WAVE = "sin(pi*x)*sin(pi*y)"
SLOPES = "pi*cos(pi*x)*sin(pi*y)", "pi*sin(pi*x)*cos(pi*y)"
KAPPA = "exp(sin(3*x+2*y))"
FORMULA = f"{KAPPA}*(2*pi**2*{WAVE}-cos(3*x+2*y)*(3*{SLOPES[0]}+2*{SLOPES[1]}))"


def run(kind: str, d: int, seeds: range) -> tuple[int, int]:
    """Intervals of random problems: how many there are, and how many of them are narrow; each holds the truth."""
    count = narrow = 0
    for seed in seeds:
        rng = np.random.default_rng([seed, d])
        case = draw(seed, kind, d, int(rng.integers(*SIZES[d])))
        queries, truth = ask(case, rng, points=False)
        found = pp.certify(case.problem, case.problem.space.U0, queries)
        assert found.contains(truth).all(), f"{kind}, {d}D, seed {seed}: {truth} outside {found.lower}, {found.upper}"
        assert found.guarantee == "deterministic"
        count += len(truth)
        narrow += int(np.sum(found.radius < 0.2 * np.maximum(np.abs(truth), 0.01)))
    return count, narrow


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_random_problems_on_lines_hold_the_truth(kind):
    count, narrow = run(kind, 1, range(14))
    assert count >= 14
    assert narrow > 0.5 * count


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_random_problems_in_the_plane_hold_the_truth(kind):
    count, narrow = run(kind, 2, range(10))
    assert narrow > 0.4 * count


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_random_problems_in_space_hold_the_truth(kind):
    assert run(kind, 3, range(2))[0] == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d", "n", "index"), [(1, 6, 1.5), (2, 5, 2.5)])
def test_the_energy_bound_is_one_and_close(kind, d, n, index):
    for seed in range(4):
        case = draw(seed, kind, d, n)
        if case.problem.coefficients is None:  # in one dimension a constant matrix is a number
            continue
        U = solved(case.problem)
        U[case.problem.space.free] *= 1.0 + 0.01 * seed  # any state
        bound, true = energy_bound(case.problem, U), energy_error(case.problem, U, case.u, case.first)
        assert true <= bound
        if seed == 0:
            assert bound <= index * true


def radius(degree: int, n: int) -> float:
    sides = dict.fromkeys(("left", "bottom", "top"), 0.0)
    normal = "-pi*sin(pi*y)*exp(sin(3+2*y))"
    p = pp.fem.ReactionDiffusion(
        generate("square", n), FORMULA, KAPPA, dirichlet=sides, neumann={"right": normal}, degree=degree
    )
    found = pp.certify(p, p.space.U0, p.patch("right"))
    assert found.contains(np.zeros(1)).all()
    return float(found.radius[0])


@pytest.mark.parametrize(("degree", "order"), [(1, 1.8), (2, 3.0)])
def test_radii_fall_with_the_order_of_the_elements(degree, order):
    assert math.log2(radius(degree, 6) / radius(degree, 12)) > order


def test_outflow_belongs_to_the_dual():
    """−u″ + u′ = 1, u(0) = 0, u′(1) = 0: without b·n z_h the mean would be ½ with radius 0."""
    p = pp.fem.ReactionDiffusion(generate("interval", 8), 1.0, convection=("1",), dirichlet={"left": 0.0}, degree=2)
    truth = np.array([math.exp(-1.0), math.exp(-1.0) - 1.0])
    found = pp.certify(p, p.space.U0, p.patch("right") + p.flux("left"))
    assert found.contains(truth).all()
    assert found.radius.max() < 1e-6


def test_nothing_may_flow_in_through_a_free_end():
    p = pp.fem.ReactionDiffusion(generate("interval", 8), 1.0, convection=("-1",), dirichlet={"left": 0.0})
    with pytest.raises(pp.InputError, match=r"where no value is given .*; b·n is -1\.000e\+00 near \[1\.0\]"):
        pp.certify(p, p.space.U0, p.patch("right"))


def test_without_a_reaction_there_is_no_maximum_principle():
    """b = −40x, c = −20 on (−½, ½): c − ½b′ = 0, and data 1 give 2.89 at the centre; u is known by collocation."""
    line = generate("interval", 16)
    mesh = Mesh(line.points - 0.5, line.cells, facet_groups=line.facet_groups)
    given = {"convection": ("-40*x",), "reaction": -20.0}
    for data, end in ((0.0, 0.0), ("cos(x)", math.cos(0.5))):
        p = pp.fem.ReactionDiffusion(mesh, 1.0, dirichlet={"boundary": data}, degree=2, **given)
        found = pp.certify(p, p.space.U0, p.mean())
        line = np.linspace(-0.5, 0.5, 41)
        flow = integrate.solve_bvp(
            lambda x, u: np.stack([u[1], -40.0 * x * u[1] - 20.0 * u[0] - 1.0, u[0]]),
            lambda a, b, end=end: np.array([a[0] - end, b[0] - end, a[2]]),
            line,
            np.zeros((3, 41)),
            tol=1e-10,
            max_nodes=100_000,
        )
        assert found.contains(flow.y[2, -1]).all()
        assert found.radius[0] < 0.05 * abs(flow.y[2, -1])


REFUSED = {
    "κ < 0": ({"diffusion": "x-0.5"}, r"diffusion: must be > 0; it is -4.* at \[0\.0"),
    "κ < 0 between the points": (
        {"diffusion": "1-1.001*exp(-1000*(x-0.5)**2-1000*(y-0.5)**2)"},
        "diffusion: must be > 0",
    ),
    "A not definite": ({"diffusion": [["1", "2*x"], ["2*x", "1"]]}, "its smallest eigenvalue is"),
    "A not symmetric": (
        {"diffusion": [["1", "x"], ["y", "1"]]},
        "must be symmetric; got 'x' in row 1, column 2 and 'y'",
    ),
    "c − ½∇·b < 0": ({"convection": ("x", "0")}, r"c − ½∇·b must be ≥ 0.* is -5\.000e-01"),
    "c < 0": (
        {"reaction": "x-50"},
        r"reaction: which falls to -50 near \[0\.\d+, 0\.\d+\], it is not separated.*needs cells of a diameter of",
    ),
    "an opaque function": (
        {"diffusion": lambda X: np.tile(np.eye(2), (len(X), 1, 1))},
        "numbers or formulas; diffusion",
    ),
    "too few components": ({"convection": ("1",)}, "convection: must be a list of 2 numbers or formulas"),
}


def certified(given: dict[str, Any]) -> Any:
    p = pp.fem.ReactionDiffusion(generate("square", 6), 1.0, **given)
    return pp.certify(p, p.space.U0, p.flux("boundary"))


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals_name_the_place_and_the_number(given, message):
    with pytest.raises(pp.InputError, match=message):
        certified(given)


@pytest.mark.parametrize("deep", [5, 16])
def test_reactions_below_zero_by_formulas(deep):
    """c = −deep − x above minus the first eigenvalue 2π²; the wave is the solution."""
    source = f"(2*pi**2-{deep}-x)*{WAVE}"
    p = pp.fem.ReactionDiffusion(generate("square", 8), source, reaction=f"-{deep}-x", degree=2)
    found = pp.certify(p, p.space.U0, p.points([[0.4, 0.5]]) + p.mean())
    assert found.guarantee == "deterministic"
    assert found.contains([math.sin(0.4 * math.pi), 4.0 / math.pi**2]).all()
    assert found.radius.max() < 1e-2
    ends = []
    for cells in (4, 12):  # data that elements miss: intervals of two meshes meet
        missed = {"reaction": f"-{deep}-x", "dirichlet": {"boundary": "cos(x)"}}
        q = pp.fem.ReactionDiffusion(generate("square", cells), 1.0, degree=2, **missed)
        c = pp.certify(q, q.space.U0, q.mean())
        ends.append((float(c.lower[0]), float(c.upper[0])))
    assert ends[0][0] <= ends[1][1]
    assert ends[1][0] <= ends[0][1]
    assert ends[1][1] - ends[1][0] < 0.5 * (ends[0][1] - ends[0][0])


@pytest.mark.parametrize("share", [True, False])
def test_a_reaction_near_the_first_eigenvalue_needs_its_factor(monkeypatch, share):
    """−u″ + cu = f with c = −0.85π² + x(1−x)/100 and u = sin πx: the energy error of zero is that of u."""
    c = f"{-0.85 * math.pi**2}+0.01*x*(1-x)"
    p = pp.fem.ReactionDiffusion(generate("interval", 16), f"(pi**2+({c}))*sin(pi*x)", reaction=c, degree=2)
    if not share:
        monkeypatch.setattr(continuum, "spared", lambda *a: 1.0)
    truth = math.sqrt(0.5 * (math.pi**2 - 0.85 * math.pi**2 + 0.01 * 0.2))  # B(u, u)^½, nearly
    found = energy_bound(p, np.zeros(len(p.nodes)))
    assert (found >= truth) == share


@pytest.mark.parametrize("b", [("y-0.5", "0.5-x"), ("pi*sin(pi*x)*cos(pi*y)", "-pi*cos(pi*x)*sin(pi*y)")])
def test_curls_have_no_divergence_but_for_rounding(b):
    source = f"2*pi**2*{WAVE}+({b[0]})*{SLOPES[0]}+({b[1]})*{SLOPES[1]}"
    p = pp.fem.ReactionDiffusion(generate("square", 8), source, convection=b, degree=2)
    found = pp.certify(p, p.space.U0, p.points([[0.45, 0.55]]))
    assert found.contains(np.sin(0.45 * np.pi) * np.sin(0.55 * np.pi)).all()
    assert found.radius[0] < 1e-3


def test_what_needs_constants_is_refused():
    p = pp.fem.ReactionDiffusion(generate("square", 4), 1.0, "1+x")
    with pytest.raises(pp.InputError, match="constant on each cell"):
        p.corrected([[0.5, 0.5]])


def test_large_peclet_numbers_are_told_beforehand(caplog):
    with caplog.at_level("INFO", logger="pinnpoint.transfer"):
        for k, told in ((1.0, False), (1e-2, True)):
            p = pp.fem.ReactionDiffusion(generate("square", 6), 1.0, k, convection=("1", "0"))
            found = pp.certify(p, p.space.U0, p.flux("boundary"))
            assert any("Péclet" in note for note in found.notes) == told
            assert any("Péclet" in record.message for record in caplog.records) == told


def test_tolerances_refine_where_convection_needs_it():
    source = f"0.1*pi**2*{WAVE}+y*{SLOPES[0]}-x*{SLOPES[1]}"
    p = pp.fem.ReactionDiffusion(generate("square", 4), source, 0.05, convection=("y", "-x"), degree=2)
    queries = p.points([[0.4, 0.55]])
    plain = pp.certify(p, p.space.U0, queries)
    found = pp.certify_to(p, p.space.U0, queries, tolerance=0.2 * float(plain.radius[0])).certificate
    assert found.radius[0] <= 0.2 * plain.radius[0]
    assert found.contains(math.sin(0.4 * math.pi) * math.sin(0.55 * math.pi)).all()


def test_constants_by_formulas_and_by_numbers_agree():
    """κ = 2 as a matrix, c = 3 as a formula of x: the same problem as by numbers."""
    mesh, ask_for = generate("square", 6), lambda p: p.points([[0.4, 0.5]]) + p.flux("boundary")
    plain = pp.fem.ReactionDiffusion(mesh, "x*y", 2.0, 3.0, degree=2)
    other = pp.fem.ReactionDiffusion(mesh, "x*y", [[2.0, 0.0], [0.0, 2.0]], "3+0*x", degree=2)
    one, two = (pp.certify(p, p.space.U0, ask_for(p)) for p in (plain, other))
    assert (np.abs(one.center - two.center) <= one.radius + two.radius).all()
    assert two.radius[1] <= 2.0 * one.radius[1] + 1e-9


@pytest.mark.parametrize("data", ["0.1+0.7*x*y", "x**2-y"])
def test_fluxes_of_data_that_is_met_but_for_rounding(data):
    """u is the data, a quadratic; A∇u·n over the boundary is ∫∇·(A∇u), which the source and convection balance."""
    first = {"0.1+0.7*x*y": ("0.7*y", "0.7*x", "0"), "x**2-y": ("2*x", "-1", "2")}[data]
    source = f"-((1+x)*({first[2]})+({first[0]}))+y*({first[0]})-x*({first[1]})+({data})"
    p = pp.fem.ReactionDiffusion(
        generate("square", 4), source, "1+x", 1.0, {"boundary": data}, convection=("y", "-x"), degree=2
    )
    truth = {"0.1+0.7*x*y": 0.35, "x**2-y": 4.0}[data]  # ∫ (1 + x)Δu + ∂u/∂x
    found = pp.certify(p, p.space.U0, p.flux("boundary"))
    assert found.contains(truth).all()
    assert found.radius[0] < 1e-4
    assert 0.0 < found.terms["boundary"][0] < 1e-9


def test_formulas_may_jump_between_groups():
    """κ = 1 + x for x < ½ and 3(1 + x) beyond: u is a logarithm on each side, with the flux in common."""
    mesh = generate("interval", 16)
    middle = mesh.points[mesh.cells].mean(axis=1)[:, 0]
    groups = {"a": np.flatnonzero(middle < 0.5), "b": np.flatnonzero(middle > 0.5)}
    mesh = Mesh(mesh.points, mesh.cells, cell_groups=groups, facet_groups=mesh.facet_groups)
    p = pp.fem.ReactionDiffusion(
        mesh, 0.0, {"a": "1+x", "b": "3*(1+x)"}, dirichlet={"left": 0.0, "right": 1.0}, degree=2
    )
    flux = 1.0 / (math.log(1.5) + math.log(2.0 / 1.5) / 3.0)
    found = pp.certify(p, p.space.U0, p.flux("right") + p.points([[0.25]]))
    assert found.contains(np.array([flux, flux * math.log(1.25)])).all()
    assert found.radius[0] < 1e-6


@pytest.mark.slow
def test_lifts_leave_what_the_prediction_misses():
    matrix = [["2+x", "x*y"], ["x*y", "3"]]
    drift = "(1+x)*pi*cos(pi*x)*sin(pi*y)+y*pi*sin(pi*x)*cos(pi*y)"
    source = f"(5+x)*pi**2*{WAVE}-2*x*y*pi**2*cos(pi*x)*cos(pi*y)-({drift})"
    cases = {
        "scalar": {"diffusion": KAPPA, "source": FORMULA},
        "matrix": {"diffusion": matrix, "source": source},
        "convection": {"convection": ("y", "-x"), "source": f"2*pi**2*{WAVE}+y*{SLOPES[0]}-x*{SLOPES[1]}"},
    }
    sides = {"left": 0.0, "bottom": 0.0, "top": 0.0}
    for name, given in cases.items():
        normal = {"scalar": f"{KAPPA}*{SLOPES[0]}", "matrix": f"(2+x)*{SLOPES[0]}+x*y*{SLOPES[1]}"}.get(name, SLOPES[0])
        where = {"dirichlet": sides, "neumann": {"right": normal}} if name != "convection" else {}
        p = pp.fem.ReactionDiffusion(generate("square", 6), degree=2, **given, **where)
        queries = p.points([[0.4, 0.5]]) if name == "convection" else p.patch("right")
        truth = np.array([math.sin(0.4 * math.pi) if name == "convection" else 0.0])
        kept = pp.certify(p, f"1.001*{WAVE}", queries, lift=True)
        assert kept.contains(truth).all(), name
        assert kept.radius[0] < 3e-3 * pp.certify(p, p.space.U0, queries).radius[0], name


def test_a_smaller_ball_serves_where_derivatives_are_not_bounded():
    """κ = 1 + √x has no derivative at x = 0, where the largest ball about the centre ends."""
    s, u = "sin(pi*y)", "x**2*(1-x)*sin(pi*y)"
    f = f"-(sqrt(x)*(1-1.5*x)+(1+sqrt(x))*(2-6*x))*{s}+pi**2*(1+sqrt(x))*{u}"
    given = {"source": f, "diffusion": "1+sqrt(x)", "dirichlet": {"boundary": 0.0}, "degree": 2}
    p = pp.fem.ReactionDiffusion(generate("square", 12), **given)
    found = pp.certify(p, p.space.U0, p.points([[0.5, 0.5]]))
    assert found.guarantee == "deterministic"
    assert found.contains(np.array([0.125])).all()
    assert found.radius[0] < 2e-2


BENT = "1+abs(x-0.5)"
"""With u = 1 + (x − 0.5)², ∇·(κ∇u) = 2 + 4|x − 0.5|: the source need not know the sign."""


def bent(d: int, **more: Any) -> Any:
    mesh = generate("interval", 16) if d == 1 else generate("square", 8)
    return pp.fem.ReactionDiffusion(
        mesh, "-2-4*abs(x-0.5)", BENT, dirichlet={"boundary": "1+(x-0.5)**2"}, degree=2, **more
    )


@pytest.mark.parametrize("d", [1, 2])
def test_points_beside_a_bend_of_the_diffusion(d, monkeypatch):
    p = bent(d)
    X = np.array([[0.2, 0.5], [0.6, 0.4]])[:, :d]
    truth = 1.0 + (X[:, 0] - 0.5) ** 2
    found = pp.certify(p, p.space.U0, p.points(X))
    assert found.guarantee == "deterministic"
    assert found.contains(truth).all()
    assert found.radius.max() < 1e-2
    if d == 2:  # a ball that knows nothing of the bend
        monkeypatch.setattr(Surroundings, "box", lambda self, radius, pieces=1: [constant(v) for v in self.at])
        assert not pp.certify(p, p.space.U0, p.points(X)).contains(truth).all()


def test_a_point_at_a_bend_is_refused_with_the_place_and_the_number():
    p = bent(2)
    told = r"'1\+abs\(x-0\.5\)' bends at \[0\.5, 0\.5\]: the argument \(x-0\.5\) of abs is between 0 and 0 there"
    with pytest.raises(pp.InputError, match=told):
        pp.certify(p, p.space.U0, p.points([[0.5, 0.5]]))
    with pytest.raises(
        pp.InputError, match=r"bends within 0\.0101 of \[0\.5001, 0\.5\].* is between -0\.01 and 0\.0102"
    ):
        pp.certify(p, p.space.U0, p.points([[0.5001, 0.5]]))
    assert pp.certify(p, p.space.U0, p.mean()).contains([13.0 / 12.0]).all()


def test_streams_and_matrices_may_bend_at_the_point():
    """b = (|y − ½|, 0) with u = sin πx sin πy, and A = [[2, |x − ½|], [|x − ½|, 2]] with u = x."""
    source = f"2*pi**2*{WAVE}+abs(y-0.5)*{SLOPES[0]}"
    p = pp.fem.ReactionDiffusion(generate("square", 8), source, convection=("abs(y-0.5)", "0"), degree=2)
    found = pp.certify(p, p.space.U0, p.points([[0.5, 0.5]]))
    assert found.contains([1.0]).all()
    assert found.radius[0] < 1e-2
    A = [["2", "abs(x-0.5)"], ["abs(x-0.5)", "2"]]  # ∇·(A∇x) = 0: u = x
    q = pp.fem.ReactionDiffusion(generate("square", 8), 0.0, A, dirichlet={"boundary": "x"}, degree=2)
    found = pp.certify(q, q.space.U0, q.points([[0.5, 0.5]]))
    assert found.contains([0.5]).all()
    assert found.radius[0] < 1e-2


def test_an_unbounded_interval_says_why():
    """A kink of the slope in every ball: x = ½ itself."""
    p = pp.fem.ReactionDiffusion(generate("interval", 7), 1.0, "1+sqrt((x-0.5)**2)", dirichlet={"boundary": 0.0})
    found = pp.certify(p, p.space.U0, p.points([[0.5]]))
    assert np.isinf(found.radius).all()
    told = r"coefficients that are bounded about it.* radius 0\.\d+ about \[0\.5\]: in 1 cells.*\[0\.5\]"
    assert any(re.search(told, note) for note in found.notes)


def test_flows_that_are_the_same_on_both_sides_of_a_pair():
    """−Δu + (1 + y)u_x = f, periodic in x, u = sin 2πx sin πy; b·n that differs by what it says is refused."""
    wave = "sin(2*pi*x)*sin(pi*y)"
    f = f"5*pi**2*{wave}+(1+y)*2*pi*cos(2*pi*x)*sin(pi*y)"
    sides = {"dirichlet": {"top": 0.0, "bottom": 0.0}, "periodic": {"left": "right"}, "degree": 2}
    p = pp.fem.ReactionDiffusion(generate("square", 10), f, convection=("1+y", "0"), **sides)
    found = pp.certify(p, p.space.U0, p.points([[0.3, 0.55]]) + p.flux("top"))
    truth = np.array([math.sin(0.6 * math.pi) * math.sin(0.55 * math.pi), 0.0])
    assert found.contains(truth).all()
    assert found.radius[0] < 2e-3
    q = pp.fem.ReactionDiffusion(generate("square", 4), 1.0, convection=("1+x", "0"), reaction=1.0, **sides)
    with pytest.raises(pp.InputError, match=r"may jump at a periodic pair, for example at \[0\.0, 0\.125\]"):
        pp.certify(q, q.space.U0, q.flux("top"))


def test_matrices_that_are_not_positive_name_place_and_number():
    with pytest.raises(pp.InputError, match=r"cell 0 at \[0\.\d+, 0\.\d+\] has eigenvalue -1\.000e\+00"):
        pp.fem.ReactionDiffusion(generate("square", 3), 1.0, [[1.0, 2.0], [2.0, 1.0]])


def test_general_reactions_are_given_as_text():
    mesh = generate("square", 6)
    one, two = (
        pp.fem.Semilinear(mesh, g=g, source=1.0, dirichlet={"boundary": 0.0})
        for g in ("sinh(u)", Reaction("sinh(u)", "cosh(u)", "sinh(u)"))
    )
    first, second = (pp.certify(p, p.linear.space.U0, p.points([[0.5, 0.5]])) for p in (one, two))
    assert first.guarantee == "deterministic"
    assert abs(first.center[0] - second.center[0]) <= first.radius[0] + second.radius[0]
    with pytest.raises(pp.InputError, match=r"g .*not known"):
        pp.fem.Semilinear(mesh, g="sinh(x)", source=1.0)
