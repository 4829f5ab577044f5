"""Nastran decks: what they mean, against an assembly of the tests' own; what is not understood is refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse.linalg as spla

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.io.decks.nastran.fields import integers, reals
from tests.support.decks import BENDING, CONTROL, NU, Beam, E, edit, read
from tests.support.written import free, large, least_forces, small, stiffness, value_of

WRITERS = {"small": small, "large": large, "free": free}


def test_numbers_of_nastran_are_read_in_every_notation():
    texts = ["1", "1.", ".5", "-.5", "4.43-9", "4.43+9", "-7.-2", "1.5E3", "1.5d3", "+3.E+2", "1.5D-3", " 2.5  ", "7"]
    got = reals(np.array([t.encode() for t in texts]), str)
    wanted = [float(value_of(t.strip()).lower().replace("d", "e").replace("ee", "e")) for t in texts]
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(integers(np.array([b" 12", b"", b"-3"]), str, 7), [12, 7, -3])
    for bad in (b"1.0.0", b"nan", b"inf", b"1e999", b"one", b"1 2", b"1_0", b"--1", b"", b"0x1p3"):
        with pytest.raises(InputError, match="must be a"):
            reals(np.array([b"1.", bad]), lambda k: f"field {k}:")
    for bad in (b"1.0", b"99999999999999999999", b"1e3", b""):
        with pytest.raises(InputError, match="field 1: must be a whole number"):
            integers(np.array([b"1", bad]), lambda k: f"field {k}:")


@pytest.mark.parametrize("form", WRITERS)
def test_matrix_load_and_solution(tmp_path, form):
    beam = Beam()
    deck = read(tmp_path, beam.deck(WRITERS[form]))
    np.testing.assert_array_equal(deck.node_ids, beam.ids)
    np.testing.assert_array_equal(deck.mesh.points, beam.X)
    K, f, u = beam.truth()
    problem = deck.problem(1)
    assert abs(problem.A - K).max() < 1e-14 * abs(K).max()
    np.testing.assert_array_equal(problem.b, f)
    assert deck.subcases[1].label == "bending"
    assert {"PARAM POST", "STRESS", "TITLE"} <= set(deck.ignored)
    released = u.astype(np.float32).astype(np.float64)  # what a binary result file holds
    r = problem.system.residual(released)
    assert np.all(np.abs(r) <= problem.space.Z.T @ (abs(K) @ (2.0**-24 * np.abs(u))) + 1e-6)
    assert np.abs(r).max() > 0.0
    queries = problem.points([[1.0, 1.0, 0.4], [0.5, 1.2, 2.0]], "x")
    certificate = pp.certify(problem, deck.nodal(beam.ids, released.reshape(-1, 3)), queries, target="discrete")
    truth = queries.L @ u
    identity = certificate.value - certificate.correction - truth
    assert np.all(np.abs(identity) <= 1e-12 * np.abs(truth))
    assert np.all(certificate.radius <= 1e-12 * np.abs(truth))


@pytest.mark.skipif(not BENDING, reason="set PINNPOINT_SOLID_BENDING to the folder of pyNastran's solid_bending")
def test_solid_bending_of_pynastran():
    """pyNastran's model with the displacements that Nastran computed (op2, single precision)."""
    folder = Path(BENDING)
    deck = pp.io.read_deck(folder / "solid_bending.bdf")
    table = np.loadtxt(folder / "displacements_from_op2.csv", delimiter=",", skiprows=1)
    problem, U = deck.problem(1), deck.nodal(table[:, 0].astype(int), table[:, 1:])
    Z = problem.space.Z
    r = problem.system.residual(U.ravel())
    assert np.all(np.abs(r) <= Z.T @ (abs(problem.A) @ (2.0**-24 * np.abs(U.ravel()))) + 1e-6)
    assert problem.b @ U.ravel() == pytest.approx(125.3029, abs=1e-4)
    queries = problem.points([[0.5, 1.0, 0.1], [0.9, 0.9, 0.9]], "x")
    certificate = pp.certify(problem, U, queries, target="discrete")
    u = problem.space.vector_of(spla.splu((Z.T @ problem.A @ Z).tocsc()).solve(Z.T @ problem.b))
    np.testing.assert_allclose(certificate.value - certificate.correction, queries.L @ u, rtol=1e-12)


def test_marks_of_continuations(tmp_path):
    """Names of continuations, plain and numbered, in free and small field; fields to the left and the right."""
    beam = Beam((2, 1, 2))
    nodes = [int(i) for i in beam.ids]
    end = set(beam.ids[beam.end].tolist())
    held = [n for n in nodes if n in end] + [nodes[0]] * 4
    free_ = f"SPC1,1,123,{','.join(map(str, held[:6]))},+1\n+1,{','.join(map(str, held[6:]))},+\n+\n"
    marked = "SPC1    1       123     " + "".join(f"{n:>8}" for n in held[:6]) + "+A\n+A      "
    marked += "".join(f"{n:<8}" for n in held[6:])
    plain = read(tmp_path, beam.deck(cards=[*beam.usual(small)[:-3], "SPCADD,2,1", small("SPC1", 1, 123, *held)]))
    for text in (free_, marked):
        deck = read(tmp_path, beam.deck(cards=[*beam.usual(small)[:-3], "SPCADD,2,1", text]))
        np.testing.assert_array_equal(deck.problem().space.free, plain.problem().space.free)
    assert plain.problem().system.n == 3 * (len(nodes) - len(end) - 1)


def test_pressure_and_coordinate_systems(tmp_path):
    beam = Beam()
    inner = [card for card in beam.usual(small) if not card.startswith(("FORCE", "LOAD"))]
    system = "CORD2R  5               1.      2.      3.      1.      2.      4.\n+       1.      3.      3."
    round_ = "CORD2C  6       5       0.      0.      0.      0.      0.      1.\n+       1.      0.      0."
    axes = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # x towards (1, 3, 3), z up
    local = (beam.X - [1.0, 2.0, 3.0]) @ axes.T
    polar = np.stack([np.hypot(*local.T[:2]), np.degrees(np.arctan2(local[:, 1], local[:, 0])), local[:, 2]], axis=1)
    which = np.arange(len(beam.X)) % 3
    rows = []
    for k, i in enumerate(beam.ids.tolist()):
        x = [beam.X, local, polar][which[k]][k].tolist()
        rows.append(free("GRID", i, ["", 5, 6][which[k]], *x))
    face = np.flatnonzero((np.isin(beam.T, beam.top)).sum(axis=1) == 3)
    loads, f = [], np.zeros_like(beam.X)
    for e in face:
        on = [v for v in beam.T[e] if v in beam.top]
        off = next(v for v in beam.T[e] if v not in beam.top)
        loads.append(small("PLOAD4", 1, e + 1, 250.0, "", "", "", int(beam.ids[on[0]]), int(beam.ids[off])))
        a, b, c = beam.X[on]
        n = np.cross(b - a, c - a) / 2
        f[on] += 250.0 * n * np.sign(n @ (beam.X[off] - a)) / 3
    loads.append(small("FORCE", 1, int(beam.ids[0]), 5, 10.0, 1.0, 2.0, 3.0))
    f[0] += 10.0 * np.array([1.0, 2.0, 3.0]) @ axes
    cells = [c for c in beam.mesh_cards(free) if not c.startswith("GRID")]
    text = CONTROL.replace("LOAD = 2", "LOAD = 1") + "\n".join([system, round_, *rows, *cells, *inner, *loads])
    problem = read(tmp_path, text).problem()
    np.testing.assert_allclose(problem.mesh.points, beam.X, atol=1e-14)
    np.testing.assert_allclose(problem.b.reshape(-1, 3), f, atol=1e-11)


def test_rigid_elements_agree_with_the_saddle_point_system(tmp_path):
    """A free RBE2 with force and moment at its centre, and an RBE3 with weights, against the saddle-point system."""
    beam = Beam()
    held = [small("SPC1", 2, 123, *beam.ids[beam.end].tolist())]
    tip = np.flatnonzero(beam.X[:, 2] < 0.3)
    side = np.flatnonzero((beam.X[:, 1] > 1.7) & (beam.X[:, 2] > 0.5) & (beam.X[:, 2] < 3.5))
    side = np.setdiff1d(side, tip)
    a, b = np.array([1.0, 1.0, -0.5]), np.array([1.0, 3.0, 2.0])
    F, M, G = np.array([100.0, -50.0, 20.0]), np.array([7.0, 11.0, -30.0]), np.array([5.0, 4.0, 300.0])
    half = len(side) // 2
    cards = [
        *held,
        small("GRID", 1, "", *a.tolist()),
        small("GRID", 2, "", *b.tolist()),
        small("RBE2", 800, 1, 123456, *beam.ids[tip].tolist(), 1.2e-5),
        small(
            "RBE3",
            801,
            "",
            2,
            123456,
            1.0,
            123,
            *beam.ids[side[:half]].tolist(),
            2.0,
            123,
            *beam.ids[side[half:]].tolist(),
        ),
        small("FORCE", 2, 1, "", 1.0, *F.tolist()),
        small("MOMENT", 2, 1, "", 1.0, *M.tolist()),
        small("FORCE", 2, 2, "", 1.0, *G.tolist()),
        small("MOMENT", 2, 2, "", 2.0, *M.tolist()),
    ]
    deck = read(tmp_path, beam.deck(cards=cards))
    problem = deck.problem(1)
    weights = np.repeat([1.0, 2.0], [half, len(side) - half])
    root = np.sqrt(weights)[:, None]
    f = np.zeros_like(beam.X)
    C = np.zeros((6, 3 * len(side)))  # least Σ|f|²/w: scale by √w
    probe = np.eye(len(side) * 3).reshape(-1, len(side), 3)
    for k, unit in enumerate(probe):
        part = unit * root
        C[:, k] = np.concatenate([part.sum(axis=0), np.cross(beam.X[side] - b, part).sum(axis=0)])
    f[side] = np.linalg.lstsq(C, np.concatenate([G, 2 * M]), rcond=None)[0].reshape(-1, 3) * root
    K = stiffness(beam.X, beam.T, E, NU).toarray()
    n = len(K)
    S = np.zeros((n + 6 + 3 * len(tip) + 3 * len(beam.end),) * 2)
    S[:n, :n] = K
    row = n + 6
    for v in tip:  # u_v − t − θ × r = 0
        x, y, z = beam.X[v] - a
        turn = np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])
        S[row : row + 3, 3 * v : 3 * v + 3], S[row : row + 3, n : n + 3] = np.eye(3), -np.eye(3)
        S[row : row + 3, n + 3 : n + 6] = -turn
        row += 3
    for v in beam.end:
        S[row : row + 3, 3 * v : 3 * v + 3] = np.eye(3)
        row += 3
    S[: n + 6, n + 6 :] = S[n + 6 :, : n + 6].T
    u = np.linalg.solve(S, np.concatenate([f.ravel(), F, M, np.zeros(len(S) - n - 6)]))[:n]
    Z = problem.space.Z
    y = spla.splu((Z.T @ problem.A @ Z).tocsc()).solve(Z.T @ (problem.b - problem.A @ problem.space.U0))
    np.testing.assert_allclose(problem.space.vector_of(y), u, atol=1e-9 * np.abs(u).max())
    queries = problem.points(beam.X[tip[:2]].mean(axis=0)[None] + [0.0, 0.0, 0.4], "y")
    certificate = pp.certify(problem, np.zeros(n), queries, target="discrete")
    np.testing.assert_allclose(certificate.center, queries.L @ u, rtol=1e-8)
    assert np.all(certificate.radius < 1e-8 * np.abs(u).max())
    assert set(deck.mesh.facet_groups) == {"SPC 2", "RBE2 1", "RBE3 2"}


def test_rigid_elements_of_one_centre(tmp_path):
    """Several RBE2 with one centre are one body, whether it is loaded or not, and whether or not it is a mesh node."""
    beam = Beam()
    tip = np.flatnonzero(beam.X[:, 2] < 0.3)
    half, inner = len(tip) // 2, int(beam.ids[np.argmin(np.abs(beam.X - [1, 1, 1]).sum(axis=1))])
    cards = [small("SPC1", 2, 123, *beam.ids[beam.end].tolist()), small("GRID", 1, "", 1.0, 1.0, -0.5)]
    cards.append(small("FORCE", 2, int(beam.ids[beam.top[5]]), "", 1.0, 3.0, 2.0, 1.0))
    push = [small("FORCE", 2, 1, "", 1.0, 5.0, 4.0, 3.0), small("MOMENT", 2, 1, "", 1.0, 5.0, 7.0, 3.0)]
    for centre, more in ((1, []), (1, push), (inner, [])):
        found = []
        for parts in ([tip], [tip[:half], tip[half:]]):
            rigid = [small("RBE2", 800 + k, centre, 123456, *beam.ids[p].tolist()) for k, p in enumerate(parts)]
            problem = read(tmp_path, beam.deck(cards=[*cards, *rigid, *more])).problem()
            Z = problem.space.Z
            y = spla.splu((Z.T @ problem.A @ Z).tocsc()).solve(Z.T @ problem.b)
            found.append((problem.system.n, problem.space.vector_of(y)))
        assert found[0][0] == found[1][0]
        np.testing.assert_allclose(found[1][1], found[0][1], atol=1e-10 * np.abs(found[0][1]).max())


def test_titles_end_where_they_end(tmp_path):
    """A comma at the end of a title does not swallow the line below it."""
    beam = Beam()
    control = CONTROL.replace("bending\n", "bending, shear,\n").replace("by a test", "by a test,")
    deck = read(tmp_path, beam.deck(control=control))
    assert deck.subcases[1].label == "bending, shear,"
    np.testing.assert_array_equal(deck.problem().b, beam.truth()[1])


def test_what_is_taken_in_one_of_two_ways_is_told(tmp_path, caplog):
    """What is taken in one of two ways is told."""
    beam = Beam((2, 1, 2))
    text = beam.deck().replace("3.0+7           .3", "3.0+7   1.153+7 .3")
    inner = next(x for x in text.splitlines() if x.startswith(f"GRID    {int(beam.ids[1])} "))
    text = text.replace("BEGIN BULK\n", "BEGIN BULK\nCORD2R,5,,0.,0.,0.,1.,0.,0.,\n,1.,1.,0.\n")
    read(tmp_path, text.replace(inner, f"{inner:<48}5"))
    assert "G = 1.153e+07 is passed over; E and ν say 1.153846e+07" in caplog.text
    assert "some GRIDs have axes of their own (field CD)" in caplog.text


def test_prescribed_motions_are_met(tmp_path):
    """Nodes fixed to values, permanent supports of GRID, and a rigid element turned by its centre."""
    beam = Beam()
    tip = np.flatnonzero(beam.X[:, 2] < 0.3)
    cards = [
        small("SPC1", 2, 123, *beam.ids[beam.end].tolist()),
        small("GRID", 1, "", 1.0, 1.0, -1.0, "", 6),
        small("RBE2", 800, 1, 123, *beam.ids[tip].tolist()),
        small("SPC", 2, 1, 123, 0.25, 1, 45, 0.5),
    ]
    problem = read(tmp_path, beam.deck(cards=cards, control=CONTROL.replace("   LOAD = 2\n", ""))).problem()
    moved = problem.space.U0.reshape(-1, 3)[tip]
    r = beam.X[tip] - [1.0, 1.0, -1.0]
    np.testing.assert_allclose(moved, 0.25 + np.cross([0.5, 0.5, 0.0], r), atol=1e-15)
    assert problem.system.n == 3 * (len(beam.X) - len(tip) - len(beam.end))


def test_subcases_share_supports(tmp_path):
    beam = Beam()
    control = "SPC = 2\nSUBCASE 10\n LOAD = 1\nSUBCASE 20\n LOAD = 2\nBEGIN BULK\n"
    deck = read(tmp_path, beam.deck(control=control), "part.fem")
    one, two = deck.problem(10), deck.problem(20)
    assert one.A is two.A or abs(one.A - two.A).max() == 0.0
    np.testing.assert_array_equal(2.0 * one.b, two.b)
    assert list(deck.subcases) == [10, 20]
    with pytest.raises(InputError, match="subcase 1: the deck has no such subcase; it has 10, 20"):
        deck.problem(1)


def test_a_membrane_is_in_plane_stress_per_unit_of_its_thickness(tmp_path):
    """CTRIA3 in the plane: the material's own stiffness, and forces divided by the thickness."""
    mesh = pp.io.generate("square", 3)
    left = np.flatnonzero(mesh.points[:, 0] == 0)
    cards = [large("GRID", k + 1, "", *x, 0.0) for k, x in enumerate(mesh.points.tolist())]
    cards += [small("CTRIA3", k + 1, 1, *(c + 1)) for k, c in enumerate(mesh.cells)]
    cards += [small("PSHELL", 1, 1, 0.5, 1), small("MAT1", 1, 100.0, "", 0.25)]
    cards += [
        small("SPC1", 1, 12, *(left + 1).tolist()),
        small("SPC1", 1, 3456, 1, "THRU", 99),
        small("FORCE", 1, 16, 0, 2.0, 1.0, 0.0, 0.0),
    ]
    deck = read(tmp_path, "SPC = 1\nLOAD = 1\nBEGIN BULK\n" + "\n".join(cards))
    problem = deck.problem()
    other = pp.fem.Elasticity(mesh, 100.0, 0.25, fixed={"left": 0.0}, plane="stress")
    assert abs(problem.A - other.A).max() <= 1e-9 * abs(other.A).max()
    np.testing.assert_array_equal(problem.space.free, other.space.free)
    np.testing.assert_array_equal(problem.total_load, [4.0, 0.0])
    assert any("per unit of thickness" in note for note in deck.data.notes)


def test_included_files_are_read_in_place(tmp_path):
    beam = Beam()
    whole = beam.deck()
    lines = whole.splitlines()
    cut = next(k for k, line in enumerate(lines) if line.startswith("CTETRA"))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "nodes.inc").write_text("\n".join(lines[13:cut]) + "\n")
    text = "\n".join([*lines[:13], "INCLUDE 'sub/nodes.inc'", *lines[cut:]])
    deck = read(tmp_path, text, "with.bdf")
    other = read(tmp_path, whole, "whole.bdf")
    np.testing.assert_array_equal(deck.mesh.points, other.mesh.points)
    for target in ("../outside.inc", "/etc/hostname", "with.bdf", "none.inc", ""):
        with pytest.raises(InputError, match=r"INCLUDE|no such file|included"):
            read(tmp_path, text.replace("sub/nodes.inc", target), "with.bdf")
    (tmp_path / "sub" / "link.inc").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match="outside the deck's folder"):
        read(tmp_path, text.replace("nodes.inc", "link.inc"), "with.bdf")
    bad = (tmp_path / "sub" / "nodes.inc").read_text() + "TEMPP1,1,5,20.\n"
    (tmp_path / "sub" / "nodes.inc").write_text(bad)
    with pytest.raises(InputError, match=rf"TEMPP1 on line {cut - 13 + 1} of 'nodes.inc'"):
        read(tmp_path, text, "with.bdf")


def add(card):
    return edit("ENDDATA", card + "\nENDDATA")


REFUSED = {
    "temperature": (add("TEMPF,1,20."), r"TEMPF on line \d+: this card is not read and may change"),
    "gravity along other axes": (add("GRAV,1,7,9.81,0.,0.,-1."), "in the basic coordinate system only"),
    "contact": (add("BCTABLE,1"), r"BCTABLE on line \d+"),
    "mpc card": (add("MPC,1,5,1,1.,8,1,-1."), r"MPC on line \d+"),
    "hexahedra": (add("CHEXA,999,4,5,8,11,14,17,20,\n,23,26"), "CHEXA on line .*only CTETRA, or CTRIA3"),
    "second order": (add("CTETRA,999,4,5,8,11,14,17,20,\n,23,26,29,32"), "have not all of their 6 mid-side nodes"),
    "shell on solid": (add("CTRIA3,999,4,5,8,11"), "CTRIA3 on line .*shells on solids"),
    "orthotropic": (edit("MAT1 ", "MAT9 "), r"MAT9 on line \d+"),
    "parameter": (add("PARAM,LGDISP,1"), r"PARAM LGDISP on line \d+"),
    "inertia relief": (add("PARAM,INREL,-2"), "PARAM INREL"),
    "solution": (edit("SOL 101", "SOL 103"), "SOL on line 1: only linear statics"),
    "mpc": (edit("   SPC = 2", "   SPC = 2\n   MPC = 3"), "MPC on line 9: this case control is not read"),
    "temperature load": (edit("   SPC = 2", "   SPC = 2\n   TEMP(LOAD) = 3"), r"TEMP\(LOAD\) = 3: the deck has no"),
    "initial temperature": (edit("   SPC = 2", "   TEMP(INIT) = 3"), "TEMP on line 8"),
    "method": (edit("   SPC = 2", "   METHOD = 3"), "METHOD on line 8"),
    "subcase": (edit("SUBCASE 1", "SUBCASE one"), "SUBCASE on line 5: must be followed by a positive whole number"),
    "no such support": (edit("   SPC = 2", "   SPC = 77"), "SUBCASE 1: SPC = 77: the deck has no such set"),
    "no such part of it": (
        edit("SPCADD  2       1       3", "SPCADD  2       1       4"),
        "SPC = 4, which SPCADD 2 names",
    ),
    "moment on an average": (
        add("GRID,4,,0.,0.,0.\nRBE3,9,,4,123,1.,123,5,8,\n,11\nMOMENT,1,4,,1.,1.,0.,0."),
        "node 4 is loaded in a component that the element does not average",
    ),
    "turned follower": (
        lambda text: (
            "SPC = 1\nBEGIN BULK\nCORD2R,5,,0.,0.,0.,1.,0.,0.,\n,1.,1.,0.\nGRID,1\nGRID,2,,1.,,,5\nGRID,3,,,1.\n"
            "GRID,4,,,,1.\nGRID,5\nCTETRA,1,1,1,2,3,4\nPSOLID,1,1\nMAT1,1,1.,,.3\nRBE2,9,5,12,2\nSPC1,1,123,1,3,4\n"
        ),
        "RBE2 on line .*a coordinate system of their own",
    ),
    "two values": (
        add("SPC,1,5,1,.5\nSPC,1,5,1,.6"),
        "SUBCASE 1: SPC: node 5 is fixed twice, to different values",
    ),
    "set of two kinds": (
        add("FORCE,2,5,,1.,1.,0.,0."),
        r"LOAD on line \d+: set 2 is given as FORCE and as LOAD",
    ),
    "two loads": (edit("   LOAD = 2", "   LOAD = 2\n   LOAD = 1"), "LOAD on line 8: is given twice"),
    "two averages": (
        add("GRID,4,,0.,0.,0.\nRBE3,9,,4,123,1.,123,5,8,\n,11\nRBE3,7,,4,123,1.,123,5,8,\n,11"),
        r"RBE3 on line \d+: its reference node is that of another RBE3",
    ),
    "rigid on an average": (
        add("GRID,4,,0.,0.,0.\nRBE3,9,,4,123,1.,123,5,8,\n,11\nRBE2,7,4,123,17"),
        r"RBE2 on line \d+: its centre is the reference node of RBE3 on line",
    ),
    "no support": (edit("   SPC = 2", ""), "nothing holds the body"),
    "no such load": (edit("   LOAD = 2", "   LOAD = 77"), "LOAD = 77: the deck has no such set"),
    "force without a direction": (add("FORCE,1,5,0,100."), r"FORCE on line \d+.* has no direction"),
    "force with a direction of zeros": (add("FORCE,1,5,0,100.,0.,0.,0."), r"FORCE on line \d+.* has no direction"),
    "moment without a direction": (add("MOMENT,1,5,0,100."), r"MOMENT on line \d+.* has no direction"),
    "missing node": (add("FORCE,1,4,0,1.,1.,0.,0."), "FORCE on line .*node 4 is used but not given"),
    "node twice": (add("GRID,5,,0.,0.,0."), "GRID on line .*node 5 is given twice"),
    "element twice": (add("CTETRA,1,4,5,8,11,14"), "element 1 is given twice"),
    "missing vertex": (add("CTETRA,999,4,5,8,11,4"), "CTETRA: node 4 is used but not given"),
    "no property": (edit("PSOLID  4 ", "PSOLID  3 "), "PSOLID 4 is not given"),
    "no material": (edit("MAT1    9 ", "MAT1    8 "), "PSOLID on line .*MAT1 9 is given 0 times"),
    "poisson": (edit(".3      7.4-4", ".5      7.4-4"), "MAT1 on line .*needs two of E"),
    "inconsistent": (edit("3.0+7           .3", "3.0+7   1.+7    .3"), "do not fit an isotropic material"),
    "coordinates": (add("GRID,4,77,0.,0.,0."), "coordinate system 77 is not given"),
    "line system": (add("CORD2R,5,,0.,0.,0.,1.,0.,0.,\n,2.,0.,0."), "its three points lie on a line"),
    "system loop": (add("CORD2R,5,6,0.,0.,0.,1.,0.,0.,\n,2.,1.,0."), "system 6 is not given"),
    "free moment": (add("MOMENT,1,5,0,1.,1.,0.,0."), "node 5 carries a moment"),
    "load on air": (add("GRID,4,,0.,0.,0.\nFORCE,1,4,0,1.,1.,0.,0."), "node 4 is loaded, but"),
    "superelement": (add("GRID,4,,0.,0.,0.,,,3"), "superelement"),
    "grid set": (add("GRDSET,,,,,,,456"), r"GRDSET on line \d+"),
    "average of some": (add("GRID,4,,0.,0.,0.\nRBE3,9,,4,123,1.,12,5,8"), "only averages of the components 123"),
    "average that acts": (add("GRID,4,,0.,0.,0.\nRBE3,9,,4,123,1.,123,5,8,\n,11,UM,5,1"), "UM and ALPHA are not read"),
    "rigid on support": (add("GRID,4,,0.,0.,0.\nRBE2,9,4,123,14,29"), "also held by a support"),
    "rigid on air": (add("GRID,4,,0.,0.,0.\nGRID,3,,0.,0.,0.\nRBE2,9,4,123,3,8"), "must be nodes of elements"),
    "uneven pressure": (add("PLOAD4,1,1,1.,2.,3.,,5,8"), "only even pressure"),
    "directed pressure": (add("PLOAD4,1,1,1.,,,,5,8,\n,0,1.,0.,0."), "G1 must be a vertex of the face"),
    "number": (
        edit("FORCE   1       5 ", "FORCE   1       5x"),
        "FORCE on line .*field 3 must be a whole number; got '5X'",
    ),
    "long free field": (add("GRID,4,,0.,0.,0.,,,,,,,9"), "more than 8 fields"),
    "lost continuation": (edit("BEGIN BULK\n", "BEGIN BULK\n+       1.0\n"), "a continuation without a card"),
    "continuation order": (
        add("SPC1    9       123     5       8       11      14      17      20      +A\n+B      23"),
        "continuation 'B' does not follow its card",
    ),
    "components": (add("SPC1,9,127,5"), "components must be digits from 1 to 6; got '127'"),
    "offset": (
        lambda text: "SPC = 1\nBEGIN BULK\nGRID,1\nGRID,2,,1.\nGRID,3,,0.,1.\nCTRIA3,1,1,1,2,3,,.1\n",
        "CTRIA3 on line .*offsets and thicknesses",
    ),
    "space": (
        lambda text: "SPC = 1\nBEGIN BULK\nGRID,1\nGRID,2,,1.\nGRID,3,,0.,1.,2.\nCTRIA3,1,1,1,2,3\n",
        "CTRIA3: triangles are read in the plane z = 0 only",
    ),
    "no control": (edit(CONTROL, ""), "has no case control"),
    "empty bulk": (lambda text: CONTROL, "holds no GRID"),
    "no elements": (lambda text: CONTROL + "GRID,1,,0.,0.,0.\n", "holds no CTETRA"),
    "not a deck": (lambda text: "hello\n", "no BEGIN BULK and no GRID"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_nastran_deck_means_otherwise_is_refused_by_name(tmp_path, name):
    change, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        read(tmp_path, change(Beam((2, 1, 2)).deck()))


def test_held_in_a_turned_system(tmp_path):
    beam = Beam((2, 1, 2))
    text = beam.deck().replace("BEGIN BULK\n", "BEGIN BULK\nCORD2R,5,,0.,0.,0.,1.,0.,0.,\n,1.,1.,0.\n")
    end = int(beam.ids[beam.end[0]])
    line = next(x for x in text.splitlines() if x.startswith(f"GRID    {end} "))
    turned = text.replace(line, f"{line:<48}5")
    assert read(tmp_path, turned).problem().system.n  # clamped altogether: no matter in which system
    some = turned.replace("SPC1    1       123456", "SPC1    1       1     ")
    with pytest.raises(InputError, match=f"GRID {end}: is held in a coordinate system of its own"):
        read(tmp_path, some)


def test_triangles_of_a_deck_name_boundary_groups(tmp_path):
    """As a mesh, a deck's triangles name boundary groups by property."""
    beam = Beam((2, 1, 2))
    faces = [f for f in beam.T[:, [0, 1, 2]].tolist() if np.isin(f, beam.end).all()]
    faces += [f for f in beam.T[:, [1, 2, 3]].tolist() if np.isin(f, beam.end).all()]
    cards = [small("CTRIA3", 900 + k, 7, *beam.ids[f].tolist()) for k, f in enumerate(faces)]
    (tmp_path / "part.nas").write_text(beam.deck(cards=[*cards, "TEMPD,1,20."]))
    mesh = pp.io.read_mesh(tmp_path / "part.nas")
    np.testing.assert_array_equal(mesh.points, beam.X)
    assert len(mesh.facets("7")) == len(faces) > 0
    assert len(mesh.cells_of("4")) == len(beam.T)


def test_least_forces_helper():
    """The helper that SimJEB's truth rests on: its forces have the resultant."""
    rng = np.random.default_rng(0)
    X, at, F, M = rng.normal(size=(9, 3)), rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    f = least_forces(X, at, F, M)
    np.testing.assert_allclose(f.sum(axis=0), F, atol=1e-12)
    np.testing.assert_allclose(np.cross(X - at, f).sum(axis=0), M, atol=1e-12)
