"""Work is counted, bounded and told: thin domains, points next to the boundary, sources that cells do not resolve."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest
from flint import arb, ctx

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.cli.main import main
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.systems.semilinear.reaction import Reaction
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.line_moments import ring_moments
from pinnpoint.transfer.points.mollifier import density
from pinnpoint.transfer.points.work import BUDGET, Work
from pinnpoint_verify import main as verify
from tests.support.continua import box, with_sides
from tests.support.truths import exactly, holds


@pytest.fixture(autouse=True)
def precision():
    before, ctx.prec = ctx.prec, 256
    yield
    ctx.prec = before


def asked(problem, points, **more):
    return pp.certify(problem, np.zeros(problem.space.N), problem.points(np.atleast_2d(points)), **more)


def plate(lengths, cells):
    """A box of tetrahedra or triangles."""
    return with_sides(*box([np.linspace(0.0, a, n + 1) for a, n in zip(lengths, cells, strict=True)]))


def across_a_plate(y, width, terms=40):
    """u(½, y) for −Δu = 1 on (0, 1) × (0, width), zero all around: a parabola less a series that the ends cause."""
    y, width = exactly(y), exactly(width)
    u = y * (width - y) / 2
    for k in range(1, 2 * terms, 2):
        a = k * arb.pi() / width
        u -= 4 * width**2 / (arb.pi() * k) ** 3 * (a * y).sin() / (a / 2).cosh()
    return u


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("width", [1e-4, 1e-2])
def test_a_thin_domain_gets_an_interval_of_the_size_of_its_solution(degree, width):
    problem = pp.fem.ReactionDiffusion(plate((1.0, width), (4, 3)), 1.0, degree=degree)
    assert len(problem.mesh.cells) == 24
    found = asked(problem, [[0.5, 0.5 * width], [0.5, 0.2 * width]])
    for i, share in enumerate((0.5, 0.2)):
        assert holds(found.lower[i], found.upper[i], across_a_plate(share * width, width))
        assert found.radius[i] <= 0.6 * share * (1.0 - share) * width**2
    assert np.all(found.details["work"] < 40_000)
    assert "comparison" in found.notes[0]


def test_a_thin_plate_of_tetrahedra_is_cheap_too():
    problem = pp.fem.ReactionDiffusion(plate((1.0, 1.0, 1e-3), (2, 2, 2)), "1 + x")
    found = asked(problem, [0.5, 0.45, 5e-4])
    assert -1e-15 <= found.lower[0] <= 1.4e-7 <= found.upper[0] <= 3e-7
    assert found.details["work"][0] < 100_000


def test_thin_pieces_are_halved_across_their_longest_edge():
    """Otherwise each of the two directions is cut as often as the long one needs."""
    P, T = box([np.linspace(0.0, 1.0, 5), np.linspace(0.0, 1e-3, 4)])
    spent = Work(50_000)
    found = density(Kernel.build(2, 1.0, 0.0, 4e-4), P, T, np.array([0.4, 4e-4]), 1e-4, spent=spent)
    assert spent.spent < 20_000
    assert not spent.stopped
    assert found.proved


@pytest.mark.parametrize("away", [1e-3, 1e-5, 1e-8])
def test_a_point_next_to_the_boundary_gets_an_interval_of_its_own_size(away):
    """−Δu = 2(y(1 − y) + x(1 − x)) has u = x(1 − x) y(1 − y)."""
    problem = pp.fem.ReactionDiffusion(plate((1.0, 1.0), (6, 6)), "2*(y*(1-y) + x*(1-x))")
    found = asked(problem, [0.4, away])
    x, y = exactly(0.4), exactly(away)
    assert holds(found.lower[0], found.upper[0], x * (1 - x) * y * (1 - y))
    assert found.radius[0] <= 0.3 * away


MIXED = [
    ({"bottom": 1.0}, "y*(2-y)/2 + 1", True),  # free on the other three sides
    ({"top": 1.0}, "(1-y)*(1+y)/2 + 1", True),
    ({"bottom": 0.0, "top": 0.0}, "y*(1-y)/2", True),
    ({"left": 0.0}, "x*(2-x)/2", False),
]


@pytest.mark.parametrize(("dirichlet", "truth", "narrow"), MIXED)
def test_comparison_holds_with_free_sides(dirichlet, truth, narrow):
    """u = truth for −Δu = 1, whose shape in a thin domain is that of y/width."""
    width = 2.0**-12
    problem = pp.fem.ReactionDiffusion(plate((1.0, width), (4, 2)), 1.0, dirichlet=dirichlet)
    x, y = exactly(0.4), exactly(0.4 * width)
    W = exactly(width)
    values = {
        "y*(2-y)/2 + 1": y * (2 * W - y) / 2 + 1,
        "(1-y)*(1+y)/2 + 1": (W - y) * (W + y) / 2 + 1,
        "y*(1-y)/2": y * (W - y) / 2,
        "x*(2-x)/2": x * (2 - x) / 2,
    }
    found = asked(problem, [0.4, 0.4 * width])
    assert holds(found.lower[0], found.upper[0], values[truth])
    if narrow:
        assert found.radius[0] <= width**2


def test_comparison_is_refused_where_a_slanted_side_is_free():
    """On a triangle whose slanted side lets nothing through, no function of y alone is above the solution."""
    mesh = Mesh(
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1e-3]], [[0, 1, 2]], facet_groups={"slanted": [[1, 2]], "left": [[0, 2]]}
    )
    problem = pp.fem.ReactionDiffusion(mesh, 1.0, dirichlet={"left": 0.0})
    found = asked(problem, [0.3, 1e-4])
    assert not any("comparison" in note for note in found.notes)


@pytest.mark.parametrize("c", [0.0, 3.0])
def test_comparison_takes_data_reactions_and_jumps_into_account(c):
    """Constants solve the equation with f = c u; where κ jumps only bounds that allow for that are used."""
    mesh = plate((1.0, 1e-3), (4, 2))
    kappa = np.where(mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5, 1.0, 7.0)
    problem = pp.fem.ReactionDiffusion(mesh, -2.0 * c, diffusion=kappa, reaction=c, dirichlet={"boundary": -2.0})
    found = asked(problem, [[0.3, 5e-4], [0.7, 1e-5]])
    assert np.all((found.lower <= -2.0) & (-2.0 <= found.upper))


def test_semilinear_problems_in_thin_domains_are_compared_as_well():
    problem = pp.fem.Semilinear(plate((1.0, 1e-4), (4, 3)), cubic=20.0, source=1.0)
    found = asked(problem, [0.5, 5e-5])
    assert found.lower[0] <= 1.2499999e-9 <= found.upper[0] <= 1.3e-9
    general = pp.fem.Semilinear(plate((1.0, 1e-4), (4, 3)), source=1.0, g=Reaction("exp(u)", "exp(u)", "exp(u)"))
    found = asked(general, [0.5, 5e-5])  # −Δu = 1 − e^u is nearly zero
    assert abs(found.center[0]) + found.radius[0] <= 1e-15


PEAKS = {
    "2*100**3*(x-1/3)/(1+(100*(x-1/3))**2)**2": ("atan", 100),
    "2*10000**3*(x-1/3)/(1+(10000*(x-1/3))**2)**2": ("atan", 10000),
}


@pytest.mark.parametrize("source", PEAKS)
@pytest.mark.parametrize("x", [0.1, 0.32, 0.34, 0.5])
def test_steep_sources_on_few_cells_cost_little(source, x):
    a = PEAKS[source][1]
    mesh = with_sides(*box([np.linspace(0.0, 1.0, 6)]))
    ends = {"left": f"atan({a}*(0-1/3))", "right": f"atan({a}*(1-1/3))"}
    found = asked(pp.fem.ReactionDiffusion(mesh, source, dirichlet=ends), [x])
    truth = (a * (exactly(x) - arb(1) / 3)).atan()
    assert holds(found.lower[0], found.upper[0], truth)
    assert found.details["work"][0] < 100_000


def test_a_peak_between_all_samples_is_found():
    """A Gaussian of width 1e-4 in a cell of 0.05; its mass is 1e-4 √π up to e^(−10⁶)."""
    mesh = with_sides(*box([np.linspace(0.0, 1.0, 21)]))
    found = asked(pp.fem.ReactionDiffusion(mesh, "exp(-((x-0.51)/1e-4)**2)"), [0.3])
    truth = exactly(0.3) * arb("0.49") * arb("1e-4") * arb.pi().sqrt()
    assert holds(found.lower[0], found.upper[0], truth)
    assert found.radius[0] < 0.2 * float(truth)
    plane = asked(
        pp.fem.ReactionDiffusion(plate((1.0, 1.0), (8, 8)), "exp(-((x-0.51)**2+(y-0.52)**2)/1e-8)"), [0.3, 0.4]
    )
    assert np.all(np.isfinite(plane.radius))
    assert plane.radius[0] < 1e-5


def test_data_that_only_rounding_is_left_of_is_not_divided_further():
    mesh = with_sides(*box([np.linspace(0.0, 1.0, 201)]))
    found = asked(pp.fem.ReactionDiffusion(mesh, "sin(10*pi*x)", reaction=2.0, degree=2), [0.5])
    assert found.details["work"][0] < 150_000  # of which rings in decimals are the most
    assert found.radius[0] < 1e-10


def test_oscillating_data_is_resolved_within_the_budget_and_told_beyond_it():
    problem = pp.fem.ReactionDiffusion(plate((1.0, 1.0), (8, 8)), "sin(500*x)")
    full, poor = asked(problem, [0.5, 0.5]), asked(problem, [0.5, 0.5], budget=2000)
    assert full.radius[0] < 0.2 * poor.radius[0]
    assert full.details["work"][0] <= 2 * BUDGET
    assert poor.details["work"][0] <= 8000
    assert not full.notes
    assert any("raise budget" in note for note in poor.notes)
    assert abs(full.center[0] - poor.center[0]) <= full.radius[0] + poor.radius[0]


def test_work_does_not_depend_on_anything_but_the_query():
    problem = pp.fem.ReactionDiffusion(plate((1.0, 1.0), (6, 6)), "sin(20*x)*y")
    first, second = (asked(problem, [0.41, 0.3]) for _ in range(2))
    assert np.array_equal(first.details["work"], second.details["work"])
    assert np.array_equal(first.radius, second.radius)


def test_budgets_are_whole_and_for_the_continuous_target():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 3), 1.0)
    for wrong in (0, 1.5, -3):
        with pytest.raises(InputError, match="budget"):
            asked(problem, [0.5, 0.4], budget=wrong)
    with pytest.raises(InputError, match="budget"):
        asked(problem, [0.5, 0.4], budget=100, target="discrete")


def test_a_hopeless_query_is_told_before_its_work(caplog):
    problem = pp.fem.ReactionDiffusion(plate((1.0, 1.0), (4, 4)), 1.0, diffusion=1.0)
    queries = problem.points([[0.5, 0.4], [0.5, 1e-5]], ["inside", "edge"])
    with caplog.at_level(logging.INFO, logger="pinnpoint.transfer"):
        problem.transfer(queries)
    lines = [record.getMessage() for record in caplog.records]
    assert lines[:2] == ["query 1 of 2, 'inside'", "query 2 of 2, 'edge'"]
    assert "'edge'" in lines[2]
    assert "Grade the mesh" in lines[2]


def test_the_library_is_silent(capfd):
    asked(pp.fem.ReactionDiffusion(plate((1.0, 1e-3), (4, 2)), 1.0), [0.5, 5e-4])
    assert capfd.readouterr() == ("", "")


CASE = """
[mesh]
generate = "square"
cells = 6
[problem]
kind = "reaction-diffusion"
source = "sin(60*x)"
dirichlet.boundary = 0
[prediction]
zero = true
[[query]]
name = "edge"
kind = "point"
at = [0.5, 1e-6]
[[query]]
name = "middle"
kind = "point"
at = [0.5, 0.45]
[certificate]
budget = 3000
"""


def test_a_case_with_a_budget_is_told_and_its_bundle_verifies(tmp_path, capsys):
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    assert main(["certify", str(path), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert "Grade the mesh" in said.err
    notes = json.loads((tmp_path / "out" / "certificate.json").read_text())["notes"]
    assert any("comparison" in note for note in notes)
    assert any("raise budget" in note for note in notes)
    assert verify(tmp_path / "out" / "bundle") == 0
    assert main(["certify", str(path), "--out", str(tmp_path / "b"), "--set", "certificate.target=discrete"]) == 2
    assert "certificate.budget" in capsys.readouterr().err


@pytest.mark.parametrize("c", [0.0, 0.7, 30.0])
def test_moments_of_short_rings_are_those_of_decimals(c):
    kernel = Kernel.build(1, 1.3, c, 0.45)
    places = np.array([0, 1, 40, 63])
    a, b = kernel.radius / 64 * places, kernel.radius / 64 * (places + 1)
    for i, (values, errors, size) in enumerate(ring_moments(kernel, a, b, 12)):
        other, slack, whole = kernel.moments(float(a[i]), float(b[i]), 12)
        assert np.all(np.abs(values - other) <= errors + slack)
        assert whole * (1.0 - 1e-9) <= size <= whole + 3.0 * errors[0]
        assert np.all(errors <= 1e-11 * kernel.radius**2)


def test_work_counts_and_stops():
    work = Work(100)
    work.spend(30)
    work.stop("the mollifier")
    assert (work.spent, work.stopped, work.models(costly=False), work.models(costly=True)) == (
        30,
        ["the mollifier"],
        10,
        2,
    )
