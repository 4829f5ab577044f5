"""Temperatures, tractions with a direction, forces carried by faces, and weights of several densities, of decks."""

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint import fem
from pinnpoint.formulas.expressions import parse
from pinnpoint.io.decks.carried import Carried, linear_traction
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import at_points, rule
from tests.support.written import large
from tests.unit.io.test_decks_second_order import NU, PRESSURE, Block, E, by_place, read, solved

ALPHA, TREF = 2e-5, 20.0
FREE = f"*Dsload\nright, P, {PRESSURE}\n"


def warm(block, name, theta, *, default=True):
    """The block without pressure, warmer by theta(x) than 20 degrees."""
    T = [float(TREF + theta(x)) for x in block.nodes.points]
    if name == "part.bdf":
        lines = [large("TEMPD", 7, 999.0)] if default else []
        lines += [large("TEMP", 7, int(i), t) for i, t in zip(block.ids, T, strict=True)]
        text = block.nastran(loaded=False).replace("  LOAD = 2", "  TEMP(LOAD) = 7")
        text = text.replace("ENDDATA", "\n".join([*lines, "ENDDATA"]))
        return text.replace(large("MAT1", 9, E, "", NU), large("MAT1", 9, E, "", NU, "", ALPHA, TREF))
    text = block.abaqus().replace("*Elastic\n", f"*Expansion\n{ALPHA!r}\n*Elastic\n")
    every = "*Nset, nset=every\n" + "\n".join(str(i) for i in block.ids) + "\n"
    first = f"{every}*Initial Conditions, type=TEMPERATURE\nevery, {TREF!r}\n"
    then = "*Temperature\n" + "\n".join(f"{i}, {t!r}" for i, t in zip(block.ids, T, strict=True)) + "\n"
    return text.replace("*Boundary\n", first + "*Boundary\n").replace(FREE, then)


@pytest.mark.parametrize(("d", "name"), [(3, "part.bdf"), (3, "part.inp"), (2, "part.inp")])
def test_warm_blocks_move_as_their_problem_does(tmp_path, d, name):
    """Linear temperatures are the same at nodes as by a formula, for the elements and for the solid itself."""
    block = Block(d)
    deck = read(tmp_path, warm(block, name, lambda x: 30.0 * x[0] - 10.0 * x[1]), name)
    given = {"fixed": {"left": 0.0}, "degree": 2, "expansion": ALPHA, "temperature": "30*x - 10*y"}
    truth = fem.Elasticity(block.mesh, E, NU, **given)
    problem = deck.problem()
    found, wanted = (by_place(p.nodes.points, solved(p)) for p in (problem, truth))
    assert np.abs(wanted).max() > 1e-5
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-14)
    solid = deck.solid()
    assert solid.thermal is not None
    mean = pp.certify(solid, solid.space.U0, solid.mean("x"))
    other = pp.certify(truth, truth.space.U0, truth.mean("x"))
    assert max(mean.lower[0], other.lower[0]) <= min(mean.upper[0], other.upper[0])
    assert mean.radius[0] == pytest.approx(other.radius[0], rel=1e-3)


@pytest.mark.parametrize("name", ["part.bdf", "part.inp"])
def test_even_temperatures_may_be_asked_at_points_and_in_all_steps(tmp_path, name):
    block = Block(3)
    solid = read(tmp_path, warm(block, name, lambda x: 50.0), name).solid()
    certificate = pp.certify(solid, solid.space.U0, solid.stress([[0.4, 0.5, 0.5]], "xx"))
    assert np.isfinite(certificate.radius[0])
    truth = fem.Elasticity(block.mesh, E, NU, fixed={"left": 0.0}, degree=2, expansion=ALPHA, temperature=50.0)
    other = pp.certify(truth, truth.space.U0, truth.stress([[0.4, 0.5, 0.5]], "xx"))
    assert max(certificate.lower[0], other.lower[0]) <= min(certificate.upper[0], other.upper[0])


@pytest.mark.parametrize("name", ["part.bdf", "part.inp"])
def test_temperatures_that_bend_along_an_edge_are_told_of(tmp_path, name):
    """What mid-side nodes say is not used where it is not between their ends': every certificate says so."""
    straight, bent = (
        read(tmp_path, warm(Block(3), name, theta), name).solid()
        for theta in (lambda x: 100.0 * x[2], lambda x: 100.0 * x[2] ** 2)
    )
    assert not any("temperatures" in note for note in straight.given["notes"])
    note = next(note for note in bent.given["notes"] if "temperatures are linear" in note)
    assert "mid-side nodes have others" in note


def test_what_is_said_of_temperatures_is_refused_by_name(tmp_path):
    block = Block(3)
    text = warm(block, "part.bdf", lambda x: 1.0, default=False)
    wet = warm(block, "part.inp", lambda x: 1.0)
    for changed, name, words in (
        (text.replace("TEMP(LOAD) = 7", "TEMP(LOAD) = 8"), "part.bdf", r"TEMP\(LOAD\) = 8: the deck has no such set"),
        (text.replace("TEMP(LOAD)", "TEMPERATURE"), "part.bdf", "TEMPERATURE on line"),
        (wet.replace("type=TEMPERATURE", "type=STRESS"), "part.inp", "only TYPE=TEMPERATURE"),
        (wet.replace("*Step\n", "*Step, perturbation\n"), "part.inp", "temperatures of perturbation steps"),
    ):
        with pytest.raises(pp.InputError, match=words):
            read(tmp_path, changed, name)
    two = wet.replace(f"*Expansion\n{ALPHA!r}\n", f"*Expansion\n{ALPHA!r}, 0.\n{2 * ALPHA!r}, 100.\n")
    with pytest.raises(pp.InputError, match="its thermal expansion depends on the temperature"):
        read(tmp_path, two, "part.inp").problem()


def test_expansion_without_temperatures_is_passed_over(tmp_path):
    deck = read(tmp_path, Block(3).abaqus().replace("*Elastic\n", f"*Expansion\n{ALPHA!r}\n*Elastic\n"), "part.inp")
    assert "*EXPANSION" in deck.ignored
    assert deck.solid().thermal is None


def pulled(block, name, direction=(0.0, 3.0, 4.0), size=10.0):
    if name == "part.inp":
        return block.abaqus().replace(FREE, f"*Dsload\nright, TRVEC, {size!r}, {', '.join(map(repr, direction))}\n")
    lines = faces(block, size, "", *direction)
    return block.nastran(loaded=False).replace("ENDDATA", "\n".join([*lines, "ENDDATA"]))


def faces(block, size, *more):
    """PLOAD4 on the right."""
    lines = []
    for cell, off in zip(*block.faces(), strict=True):
        v = block.ids[block.mesh.cells[cell]]
        lines.append(large("PLOAD4", 2, int(cell) + 1, size, "", "", "", int(v[off - 1]), int(v[off]), *more))
    return lines


@pytest.mark.parametrize("name", ["part.bdf", "part.inp"])
def test_tractions_with_a_direction(tmp_path, name):
    block = Block(3)
    deck = read(tmp_path, pulled(block, name), name)
    truth = fem.Elasticity(block.mesh, E, NU, fixed={"left": 0.0}, traction={"right": [0.0, 6.0, 8.0]}, degree=2)
    np.testing.assert_allclose(deck.problem().total_load, [0.0, 6.0, 8.0], atol=1e-12)
    solid = deck.solid()
    np.testing.assert_allclose(
        by_place(solid.nodes.points, solved(solid)), by_place(truth.nodes.points, solved(truth)), rtol=1e-6, atol=1e-12
    )
    one, two = (pp.certify(p, p.space.U0, p.mean("z")) for p in (solid, truth))
    assert max(one.lower[0], two.lower[0]) <= min(one.upper[0], two.upper[0])


def carrying(block, force, moment, at, nodes=None, weight=1.0):
    """An RBE3 over the right face, whose reference node is loaded."""
    nodes = block.right if nodes is None else nodes
    lines = [large("GRID", 9001, "", *at)]
    lines.append(large("RBE3", 5001, "", 9001, 123456, weight, 123, *(int(block.ids[k]) for k in nodes)))
    lines.append(large("FORCE", 2, 9001, 0, 1.0, *force))
    if any(moment):
        lines.append(large("MOMENT", 2, 9001, 0, 1.0, *moment))
    return block.nastran(loaded=False).replace("ENDDATA", "\n".join([*lines, "ENDDATA"]))


@pytest.mark.parametrize(
    ("force", "moment"), [((5.0, 0.0, -2.0), (0.0, 0.0, 0.0)), ((0.0, 1.0, 0.0), (3.0, -1.0, 2.0))]
)
def test_carried_forces_are_linear_tractions_with_the_same_resultants(tmp_path, force, moment):
    block = Block(3)
    deck = read(tmp_path, carrying(block, force, moment, (1.4, 0.3, 0.6)), "part.bdf")
    solid = deck.solid()
    assert any("RBE3" in note and "linear over its" in note for note in solid.given["notes"])
    [(group, given)] = solid.conditions["traction"].items()
    facets = solid.mesh.facets(group)
    np.testing.assert_allclose(solid.total_load, force, atol=1e-9)
    bary, weights = rule(2, 4)
    X = at_points(solid.mesh.points[facets], bary)
    t = np.stack([parse(text)(X.reshape(-1, 3)).reshape(X.shape[:2]) for text in given], axis=-1)
    share = solid.mesh.facet_measures(facets)[:, None] * weights
    arm = X - np.array([1.4, 0.3, 0.6])
    np.testing.assert_allclose(np.einsum("fq,fqc->c", share, t), force, atol=1e-10)
    np.testing.assert_allclose(np.einsum("fq,fqc->c", share, np.cross(arm, t)), moment, atol=1e-10)
    certificate = pp.certify(solid, solid.space.U0, solid.reaction(next(iter(solid.conditions["fixed"])), "y"))
    assert certificate.lower[0] <= -force[1] <= certificate.upper[0]


def test_loads_on_half_a_face_or_with_uneven_weights_are_refused(tmp_path):
    block = Block(3)
    some = block.right[:-2]
    with pytest.raises(pp.InputError, match=r"RBE3 .* its nodes are not those of whole faces"):
        read(tmp_path, carrying(block, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.5, 0.5), some), "part.bdf").solid()
    text = carrying(block, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.5, 0.5))
    both = text.replace("ENDDATA", "\n".join([*faces(block, 1.0), "ENDDATA"]))
    with pytest.raises(pp.InputError, match="a facet has two loads"):
        read(tmp_path, both, "part.bdf").solid()
    uneven = carrying(block, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.5, 0.5), block.right[:-1])
    last = int(block.ids[block.right[-1]])
    first = large("RBE3", 5001, "", 9001, 123456, 1.0, 123, *(int(block.ids[k]) for k in block.right[:-1]))
    two = large(
        "RBE3", 5001, "", 9001, 123456, 1.0, 123, *(int(block.ids[k]) for k in block.right[:-1]), 2.0, 123, last
    )
    with pytest.raises(pp.InputError, match="not all of its weights are equal"):
        read(tmp_path, uneven.replace(first, two), "part.bdf").solid()


def test_directions_of_pressures_are_checked(tmp_path):
    block = Block(3)
    for words in (("", 0.0, 0.0, 0.0), (3, 1.0, 0.0, 0.0)):
        text = block.nastran(loaded=False).replace("ENDDATA", "\n".join([*faces(block, 10.0, *words), "ENDDATA"]))
        with pytest.raises(pp.InputError, match="a direction of its own is read in the basic system"):
            read(tmp_path, text, "part.bdf")


def test_a_thin_strip_carries_no_moment_about_itself():
    X = np.array(
        [[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1e-9, 0.0]]]
    )
    one = Carried("RBE3 1", np.arange(3), np.zeros(3), np.zeros(3), np.array([1.0, 0.0, 0.0]))
    with pytest.raises(pp.InputError, match="cannot carry the moment"):
        linear_traction(X, one)


@pytest.mark.parametrize("name", ["part.bdf", "part.inp"])
def test_weights_of_several_densities(tmp_path, name):
    """Two materials of one stiffness and two densities: what holds the part carries its weight."""
    block = Block(3)
    heavy = block.mesh.points[block.mesh.cells].mean(axis=1)[:, 1] > 0.5
    text = block.falling(name, 7.0)
    if name == "part.bdf":
        rows = []
        for e, row in enumerate(block.rows):
            old = large("CTETRA", e + 1, 4, *block.ids[row].tolist())
            assert text.count(old) == 1
            rows.append((old, large("CTETRA", e + 1, 5 if heavy[e] else 4, *block.ids[row].tolist())))
        for old, new in rows:
            text = text.replace(old, new)
        text = text.replace(
            "ENDDATA", "\n".join([large("PSOLID", 5, 10), large("MAT1", 10, E, "", NU, 21.0), "ENDDATA"])
        )
    else:
        sets = ["*Elset, elset=heavy", *(str(int(e) + 1) for e in np.flatnonzero(heavy))]
        sets += ["*Elset, elset=light", *(str(int(e) + 1) for e in np.flatnonzero(~heavy))]
        sections = "*Solid Section, elset=light, material=steel\n*Solid Section, elset=heavy, material=lead"
        text = text.replace("*Solid Section, elset=all, material=steel", "\n".join([*sets, sections]))
        text = text.replace(
            "*Boundary\n", f"*Material, name=lead\n*Density\n21.0\n*Elastic\n{E!r}, {NU!r}\n*Boundary\n"
        )
    solid = read(tmp_path, text, name).solid()
    volume = solid.mesh.volumes
    total = -9.81 * (7.0 * 0.5 + 21.0 * 0.5)
    assert volume.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(solid.total_load, [0.0, total, 0.0], rtol=1e-9, atol=1e-9)
    certificate = pp.certify(solid, solid.space.U0, solid.reaction("held 1", "y"))
    assert certificate.lower[0] <= -total <= certificate.upper[0]
    mesh = Mesh(block.mesh.points, block.mesh.cells, {"heavy": heavy, "light": ~heavy}, block.mesh.facet_groups)
    body = {"heavy": [0.0, -9.81 * 21.0, 0.0], "light": [0.0, -9.81 * 7.0, 0.0]}
    truth = fem.Elasticity(mesh, E, NU, body, {"left": 0.0}, degree=2)
    found, wanted = (by_place(p.nodes.points, solved(p)) for p in (solid, truth))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-13)
