"""Boundary conditions: every facet has one, whatever the order of a table; groups override "boundary" and say so."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pytest

import pinnpoint as pp
import pinnpoint_verify as verifier
from pinnpoint import fem
from pinnpoint.cases.read import read_case
from pinnpoint.cli.main import main
from pinnpoint.distributed.frame import make_frame
from pinnpoint.fem.elastic.loads import Load
from pinnpoint.fem.stability.coercivity import path_coercivity
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.transfer.boundary.gaps import flux_change

SQUARE = generate("square", 4)
CUBE = generate("cube", 2)


def grouped(**groups) -> Mesh:
    """The square with further groups: unions of its sides, or some of a side's facets."""
    more = {name: np.concatenate([SQUARE.facets(side) for side in sides]) for name, sides in groups.items()}
    return Mesh(SQUARE.points, SQUARE.cells, {}, {**SQUARE.facet_groups, **more})


def overriding(certificate) -> list[str]:
    return [c.claim for c in certificate.assumptions if "overrides" in c.claim]


@pytest.mark.parametrize("names", [("boundary", "left"), ("left", "boundary")])
@pytest.mark.parametrize("make", [fem.ReactionDiffusion, lambda m, **k: fem.Semilinear(m, 1.0, **k)])
def test_a_facet_of_two_groups_counts_once(make, names):
    problem = make(SQUARE, dirichlet=dict.fromkeys(names, 1.0))
    found = pp.certify(problem, np.ones(25), problem.patch("left"))
    assert abs(found.center[0] - 1.0) + found.radius[0] < 1e-12
    assert found.contains(1.0).all()
    assert overriding(found) == ["group 'left' overrides 'boundary' on 4 facets"]


@pytest.mark.parametrize("target", ["discrete", "continuous"])
def test_a_hole_overrides_the_boundary(target):
    mesh = generate("frame", 4)
    problem = fem.ReactionDiffusion(mesh, dirichlet={"hole": 1.0, "boundary": 0.0})
    apart = fem.ReactionDiffusion(
        mesh, dirichlet={**dict.fromkeys(("left", "right", "bottom", "top"), 0.0), "hole": 1.0}
    )
    asked = [p.points([[0.75, 0.1]]) for p in (problem, apart)]
    one, two = (pp.certify(p, p.space.U0, q, target=target) for p, q in zip((problem, apart), asked, strict=True))
    assert np.allclose(one.center, two.center, rtol=1e-12)
    assert overriding(one) == ["group 'hole' overrides 'boundary' on 16 facets"]
    assert not overriding(two)


@pytest.mark.parametrize("value", [1.0, "1", lambda X: np.ones(len(X))])
def test_a_facet_in_two_dirichlet_groups_is_refused(value):
    """However well the values agree."""
    mesh = grouped(west=["left"], sides=["left", "right"])
    for table in permutations(["left", "sides"]), permutations(["west", "left"]):
        for names in table:
            with pytest.raises(pp.InputError, match=r"dirichlet: groups '\w+' and '\w+' share 4 facets"):
                fem.ReactionDiffusion(mesh, dirichlet=dict.fromkeys(names, value))
    with pytest.raises(pp.InputError, match="share 4 facets"):
        fem.ReactionDiffusion(mesh, dirichlet={"boundary": value, "left": value, "west": value})
    with pytest.raises(pp.InputError, match="share 4 facets"):
        fem.Semilinear(mesh, 1.0, dirichlet={"left": value, "west": value})


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_facet_with_dirichlet_and_neumann_data_is_refused(value):
    with pytest.raises(pp.InputError, match="neumann: group 'left' shares 4 of its facets with a dirichlet group"):
        fem.ReactionDiffusion(SQUARE, dirichlet={"boundary": 0.0}, neumann={"left": value})
    with pytest.raises(pp.InputError, match="neumann: group 'boundary' shares 4 of its facets"):
        fem.ReactionDiffusion(SQUARE, dirichlet={"left": 0.0}, neumann={"boundary": value})
    with pytest.raises(pp.InputError, match="neumann: groups 'right' and 'east' share 4 facets"):
        fem.ReactionDiffusion(grouped(east=["right"]), dirichlet={"left": 0.0}, neumann={"right": value, "east": value})


def test_loads_of_elasticity_share_no_facet():
    mesh, fixed = grouped(east=["right"]), {"left": 0.0}
    for force in ([1.0, 0.0], Load((1.0, 0.0))):
        with pytest.raises(pp.InputError, match="force: group 'east' and traction 'right' share 4 facets"):
            fem.Elasticity(mesh, 1.0, 0.3, fixed=fixed, traction={"right": [1.0, 0.0]}, force={"east": force})
    problem = fem.Elasticity(mesh, 1.0, 0.3, fixed=fixed)
    with pytest.raises(pp.InputError, match="force: group 'east' and traction 'right' share 4 facets"):
        problem.load(traction={"right": [1.0, 0.0]}, force={"east": [1.0, 0.0]})


def test_rollers_share_facets_in_different_components():
    mesh = grouped(west=["left"])
    both = fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": (0.0, "free"), "west": (None, 0.5)})
    one = fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": (0.0, 0.5)})
    assert np.array_equal(both.space.U0, one.space.U0)
    assert path_coercivity(both).alpha == path_coercivity(one).alpha
    with pytest.raises(pp.InputError, match=r"fixed: groups 'left' and 'west' share 4 facets; .* in each component"):
        fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": (0.0, 0.0), "west": (None, 0.0)})


def test_a_group_overrides_the_boundary_in_all_components():
    """Also in those that it leaves free: its nodes move, and no path of the coercivity starts at its facets."""
    problem = fem.Elasticity(SQUARE, 1.0, 0.3, fixed={"boundary": 0.0, "right": (0.0, "free")})
    inner = np.flatnonzero((SQUARE.points[:, 0] == 1.0) & (abs(SQUARE.points[:, 1] - 0.5) < 0.5))
    assert set(2 * inner + 1) <= set(problem.space.free)
    assert not set(2 * inner) & set(problem.space.free)
    assert len(problem.held.facets(SQUARE)) == 12
    assert path_coercivity(problem).alpha > 0.0
    queries = problem.points([[0.5, 0.5]], "x")
    found = pp.certify(problem, np.zeros(50), queries, target="discrete")
    assert overriding(found) == ["group 'right' overrides 'boundary' on 4 facets"]
    with pytest.raises(pp.InputError, match="fixed 'right': every component is free"):
        fem.Elasticity(SQUARE, 1.0, 0.3, fixed={"boundary": 0.0, "right": "free"})


@pytest.mark.parametrize("size", [1.0, 9e-13, 1e-30, 1e30])
@pytest.mark.parametrize("names", [("boundary", "right"), ("right", "boundary"), ("top", "right"), ("right", "top")])
def test_values_that_jump_are_refused_at_any_scale(size, names):
    values = dict(zip(("boundary", "top", "right"), (0.0, 0.0, size), strict=True))
    for form in (lambda v: v, repr, lambda v: lambda X: np.full(len(X), v)):
        with pytest.raises(pp.InputError, match=r"groups '\w+' and '\w+' overlap at node .* with different values"):
            fem.ReactionDiffusion(SQUARE, dirichlet={name: form(values[name]) for name in names})
    near = {"top": size, "right": size * (1.0 + 2.0**-50)}
    with pytest.raises(pp.InputError, match="overlap at node"):
        fem.ReactionDiffusion(SQUARE, dirichlet=near)


WAVES = {
    "formula": lambda a: f"{a!r}*sin(8*pi*y)",
    "function": lambda a: lambda X: a * np.sin(8.0 * np.pi * X[:, 1]),
}


@pytest.mark.parametrize("size", [1.0, 1e-20, 1e20])
@pytest.mark.parametrize("form", WAVES)
def test_values_that_agree_to_rounding_are_accepted_in_any_order(form, size):
    """The sine vanishes at the corners, and its float64 value does not."""
    wave = WAVES[form](size)
    tables = [{"boundary": 0.0, "left": wave}, {"left": wave, "boundary": 0.0}]
    problems = [fem.ReactionDiffusion(SQUARE, dirichlet=t) for t in tables]
    assert np.array_equal(problems[0].space.U0, problems[1].space.U0)
    corners = [int(np.flatnonzero((SQUARE.points == c).all(axis=1))[0]) for c in ([0.0, 0.0], [0.0, 1.0])]
    assert np.all(problems[0].space.U0[corners] == 0.0)
    found = [pp.certify(p, p.space.U0, p.patch("left") + p.points([[0.4, 0.6]])) for p in problems]
    assert np.array_equal(found[0].center, found[1].center)
    assert np.array_equal(found[0].radius, found[1].radius)
    assert found[0].contains(0.0).all()
    assert found[0].guarantee == ("deterministic" if form == "formula" else "estimate")


def test_a_formula_that_misses_by_more_than_its_rounding_is_refused():
    with pytest.raises(pp.InputError, match="overlap at node"):
        fem.ReactionDiffusion(SQUARE, dirichlet={"boundary": 0.0, "left": "sin(8*pi*y) + 1e-15"})


@pytest.mark.parametrize("degree", [1, 2])
def test_data_that_jump_along_an_edge_are_refused(degree):
    """Equal at the nodes of the edge between two faces, different between them."""
    n = 2 * degree
    with pytest.raises(pp.InputError, match=r"groups 'left' and 'front' overlap at .* with different values"):
        fem.ReactionDiffusion(CUBE, dirichlet={"left": f"sin({n}*pi*y)", "front": 0.0}, degree=degree)
    fem.ReactionDiffusion(CUBE, dirichlet={"left": f"sin({n}*pi*y)", "front": f"cos(x)*sin({n}*pi*y)"}, degree=degree)


def test_the_lift_keeps_what_overrides_what():
    problem = fem.ReactionDiffusion(SQUARE, source=1.0, dirichlet={"boundary": 0.0, "left": "y*(1-y)"})
    queries = problem.points([[0.4, 0.6]]) + problem.patch("left")
    plain = pp.certify(problem, problem.space.U0, queries)
    lifted = pp.certify(problem, "y*(1-y)*(1-x)", queries, lift=True)
    assert np.all((plain.lower <= lifted.upper) & (lifted.lower <= plain.upper))
    assert lifted.contains([lifted.center[0], 1.0 / 6.0]).all()
    assert overriding(lifted) == ["group 'left' overrides 'boundary' on 4 facets"]
    opaque = problem.lifted(pp.models.Lift.opaque(lambda X: 1e3 + 0.1 * X[:, 0], lambda X: np.zeros(len(X))))
    assert len(opaque.rest.held.parts) == 2


def test_a_group_called_boundary_that_is_not_the_whole_is_refused():
    mesh = Mesh(SQUARE.points, SQUARE.cells, {}, {"boundary": SQUARE.facets("left")})
    with pytest.raises(pp.InputError, match=r"'boundary' is the whole boundary, .* 4 of its 16 facets"):
        fem.ReactionDiffusion(mesh)
    same = Mesh(SQUARE.points, SQUARE.cells, {}, {"boundary": SQUARE.boundary[::-1]})
    assert fem.ReactionDiffusion(same).system.n == 9


CASE = """[mesh]
generate = "square"
cells = 4
[problem]
kind = "{kind}"
{more}
[problem.dirichlet]
{table}
[prediction]
zero = true
[[query]]
name = "edge"
kind = "patch"
group = "left"
{component}
[certificate]
target = "{target}"
"""
SCALAR = {"kind": "reaction-diffusion", "more": "", "component": "", "target": "continuous"}
SOLID = {
    "kind": "elasticity",
    "more": "young = 1.0\npoisson = 0.3",
    "component": 'component = "x"',
    "target": "discrete",
}


@pytest.mark.parametrize(
    "given", [SCALAR, {**SCALAR, "target": "discrete"}, SOLID], ids=["scalar", "discrete", "solid"]
)
@pytest.mark.parametrize("table", ["boundary = 1\nleft = 1", "left = 1\nright = 1\nboundary = 1\ntop = 1\nbottom = 1"])
def test_a_case_says_what_overrides_what(tmp_path, capsys, given, table):
    path = tmp_path / "case.toml"
    path.write_text(CASE.format(**given, table=table))
    assert main(["check", str(path)]) == 0
    assert "group 'left' overrides 'boundary' on 4 facets" in capsys.readouterr().out
    assert main(["certify", str(path), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    found = json.loads((tmp_path / "out" / "certificate.json").read_text())
    row = found["queries"][0]
    assert row["lower"] <= 1.0 <= row["upper"]
    assert row["radius"] < 1e-9
    assert {"claim": "group 'left' overrides 'boundary' on 4 facets", "status": "verified"} in found["assumptions"]
    assert verifier.main(tmp_path / "out" / "bundle") == 0


def test_conditions_of_groups_without_facets_are_refused():
    square = generate("square", 2)
    mesh = Mesh(square.points, square.cells, {}, {**square.facet_groups, "none": np.zeros((0, 2), dtype=int)})
    words = "group 'none' has no facets"
    with pytest.raises(pp.InputError, match=f"dirichlet: {words}"):
        fem.ReactionDiffusion(mesh, dirichlet={"boundary": 0.0, "none": 1.0})
    with pytest.raises(pp.InputError, match=f"neumann: {words}"):
        fem.ReactionDiffusion(mesh, dirichlet={"left": 0.0}, neumann={"none": 1.0})
    with pytest.raises(pp.InputError, match=f"neumann: {words}"):
        fem.Semilinear(mesh, cubic=1.0, dirichlet={"left": 0.0}, neumann={"none": 1.0})
    with pytest.raises(pp.InputError, match=f"fixed: {words}"):
        fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": 0.0, "none": 0.0})
    with pytest.raises(pp.InputError, match=f"traction: {words}"):
        fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": 0.0}, traction={"none": (1.0, 0.0)})


def test_a_free_group_inside_boundary_is_told_how_to_be_free():
    with pytest.raises(pp.InputError, match="remove it, and name the groups that are held instead of 'boundary'"):
        fem.Elasticity(generate("square", 2), 1.0, 0.3, fixed={"boundary": 0.0, "right": ("free", None)})


def test_several_processes_check_the_same_conditions(tmp_path):
    path = tmp_path / "case.toml"
    for given in (SCALAR, SOLID):
        path.write_text(CASE.format(**given, table="left = 1\nboundary = 1"))
        frame = make_frame(read_case(path), SQUARE)
        assert frame.space.notes == ("group 'left' overrides 'boundary' on 4 facets",)
        assert np.unique(frame.held.facets(SQUARE), axis=0).shape == (16, 2)
        assert frame.floor() > 0.0
        path.write_text(CASE.format(**given, table="left = 1\nwest = 1"))
        with pytest.raises(pp.InputError, match=r"problem.dirichlet: groups 'left' and 'west' share 4 facets"):
            make_frame(read_case(path), grouped(west=["left"]))


FRAME = generate("frame", 4)
OUTER = dict.fromkeys(("left", "right", "bottom", "top"), 0.0)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("text", ["0.1", "1/3", "x/3 + 0.1*y - 0.3", "sqrt(2)*(x + 1)", "sin(1)*y + min(2, 3)"])
def test_a_flux_with_data_met_but_for_rounding_is_certified(degree, text):
    """Formulas that no float meets: the interval is that of the nearest numbers, a trace wider."""
    made = fem.ReactionDiffusion(FRAME, source=1.0, dirichlet={**OUTER, "hole": text}, degree=degree)
    found = pp.certify(made, made.space.U0, made.flux("hole"))
    assert found.guarantee == "deterministic"
    assert 0.0 < found.terms["boundary"][0] < 1e-6 * found.radius[0]
    inside = pp.certify(made, made.space.U0, made.flux("hole"), target="discrete")
    assert found.lower[0] < inside.center[0] < found.upper[0]


def test_the_flux_moves_by_less_than_what_is_added_for_its_data():
    """With the data moved by m everywhere on one part, the flux moves by m times that part's capacity."""
    plain = fem.ReactionDiffusion(FRAME, dirichlet={**OUTER, "hole": 0.0}, reaction=2.0)
    route = plain.transfer(plain.flux("hole"))
    model, z = route.model, np.zeros(len(FRAME.points))
    z[np.unique(FRAME.facets("hole"))] = 1.0
    for m in (1e-12, 1.0):
        moved = fem.ReactionDiffusion(FRAME, dirichlet={**OUTER, "hole": m}, reaction=2.0)
        found = pp.certify(moved, moved.space.U0, moved.flux("hole"))
        assert abs(found.center[0]) + found.radius[0] <= flux_change(model, m, z)


@pytest.mark.parametrize("text", ["x*y*x", "sin(x)", "1/(x + 3)", "x**1.5 + 2", "2**x", "sqrt(x + 2)"])
def test_a_flux_with_smooth_data_that_is_not_met_holds_that_of_a_finer_mesh(text):
    data = {**OUTER, "hole": text.replace("x", "(x + 1)")}
    found = []
    for mesh in (FRAME, generate("frame", 8)):
        made = fem.ReactionDiffusion(mesh, dirichlet=data, degree=2)
        found.append(pp.certify(made, made.space.U0, made.flux("hole")))
    coarse, fine = found
    assert fine.radius[0] < coarse.radius[0] < np.inf
    assert max(coarse.lower[0], fine.lower[0]) <= min(coarse.upper[0], fine.upper[0])


@pytest.mark.parametrize("text", ["abs(x)", "min(0.5, y*x)"])
def test_a_flux_with_data_that_is_not_met_nor_smooth_is_refused(text):
    made = fem.ReactionDiffusion(FRAME, dirichlet={**OUTER, "hole": text.replace("x", "(x + 1)")}, degree=2)
    with pytest.raises(pp.InputError, match="meet but for rounding"):
        pp.certify(made, made.space.U0, made.flux("hole"))


def test_fluxes_of_intervals_take_any_data():
    line = generate("interval", 8)
    made = fem.ReactionDiffusion(line, dirichlet={"left": "exp(1)", "right": "sin(3)"})
    found = pp.certify(made, made.space.U0, made.flux("right"))
    assert found.contains(np.sin(3.0) - np.exp(1.0)).all()
    assert found.radius[0] < 1e-10


def test_a_bundle_of_such_a_flux_verifies(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(
        '[mesh]\ngenerate = "frame"\ncells = 4\n[problem]\nkind = "reaction-diffusion"\nsource = "1"\n'
        "[problem.dirichlet]\nboundary = 0.0\nhole = 0.1\n[prediction]\nzero = true\n"
        '[[query]]\nname = "heat"\nkind = "flux"\ngroup = "hole"\n'
    )
    assert main(["certify", str(path), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert verifier.main(tmp_path / "out" / "bundle") == 0
