"""Decks of second-order elements: the same part with straight sides, whatever the order of their nodes."""

import json

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import pinnpoint as pp
from pinnpoint import fem
from pinnpoint.cli.main import main
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.io.meshes.blocks import Block as Cells
from pinnpoint.io.meshes.blocks import Blocks, build_mesh
from pinnpoint.io.meshes.simplices import simplified
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from tests.support.written import large

E, NU, PRESSURE = 3.0e4, 0.3, 25.0
SIDES = {2: ((0, 1), (1, 2), (2, 0)), 3: ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))}
"""Mid-side nodes as both formats list them."""
CONTROL = ["SOL 101", "CEND", "SUBCASE 1", "  LOAD = 2", "  SPC = 1", "BEGIN BULK"]


class Block:
    """A square or a cube with ids in no order: clamped on the left, pressed on the right."""

    def __init__(self, d, cells=2, bend=0.0):
        self.d, self.mesh = d, generate("square" if d == 2 else "cube", cells)
        self.nodes = Nodes(self.mesh, 2)
        self.X = self.nodes.points.copy()
        V = len(self.mesh.points)
        off = np.random.default_rng(4).permutation(len(self.X) * 2)[: len(self.X)] + 3
        self.ids = off
        self.bent = V + int(np.argmin(np.linalg.norm(self.X[V:] - 0.5, axis=1)))
        self.X[self.bent, 0] += bend
        edge = {tuple(e): V + k for k, e in enumerate(self.nodes.edges.tolist())}
        middle = [[edge[tuple(sorted((c[a], c[b])))] for a, b in SIDES[d]] for c in self.mesh.cells.tolist()]
        self.rows = np.concatenate([self.mesh.cells, np.array(middle)], axis=1)
        self.left, self.right = (np.flatnonzero(self.nodes.points[:, 0] == x) for x in (0.0, 1.0))

    def faces(self):
        """Cells with a face on the right, and the vertex off it."""
        on = self.mesh.points[self.mesh.cells][:, :, 0] == 1.0
        cells = np.flatnonzero(on.sum(axis=1) == self.d)
        return cells, np.argmin(on[cells], axis=1)

    def nastran(self, force=None, *, loaded=True):
        X = np.pad(self.X, ((0, 0), (0, 3 - self.d)))
        lines = [large("GRID", int(i), "", *x) for i, x in zip(self.ids, X.tolist(), strict=True)]
        kind, section = ("CTETRA", large("PSOLID", 4, 9)) if self.d == 3 else ("CTRIA6", large("PSHELL", 4, 9, 1.0))
        lines += [large(kind, e + 1, 4, *self.ids[row].tolist()) for e, row in enumerate(self.rows)]
        lines += [section, large("MAT1", 9, E, "", NU), large("SPC1", 1, 123456, *self.ids[self.left].tolist())]
        if not loaded:
            pass
        elif self.d == 2 or force is not None:
            node, F = (self.right[0], (1.0, 2.0, 0.0)) if force is None else force
            lines.append(large("FORCE", 2, int(self.ids[node]), 0, 1.0, *F))
        else:
            for cell, off in zip(*self.faces(), strict=True):
                v = self.ids[self.mesh.cells[cell]]
                lines.append(large("PLOAD4", 2, int(cell) + 1, PRESSURE, "", "", "", int(v[off - 1]), int(v[off])))
        return "\n".join([*CONTROL, *lines, "ENDDATA", ""])

    def falling(self, name, density=7.0):
        """Without pressure, under its own weight."""
        if name == "part.bdf":
            text = self.nastran(loaded=False)
            text = text.replace("ENDDATA", large("GRAV", 2, "", 9.81, 0.0, -1.0, 0.0) + "\nENDDATA")
            return text.replace(large("MAT1", 9, E, "", NU), large("MAT1", 9, E, "", NU, density))
        fall = "*Dload\nall, GRAV, 9.81, 0., -1., 0.\n"
        text = self.abaqus().replace(f"*Dsload\nright, P, {PRESSURE}\n", fall)
        return text.replace("*Elastic\n", f"*Density\n{density!r}\n*Elastic\n") if density else text

    def abaqus(self):
        kind = "C3D10" if self.d == 3 else "CPE6"
        face = {3: {3: 1, 2: 2, 0: 3, 1: 4}, 2: {2: 1, 0: 2, 1: 3}}[self.d]  # vertex to the face without it
        text = ["*Node", *(f"{i}, {', '.join(map(repr, x))}" for i, x in zip(self.ids, self.X.tolist(), strict=True))]
        text.append(f"*Element, type={kind}, elset=all")
        text += [f"{e + 1}, {', '.join(map(str, self.ids[row]))}" for e, row in enumerate(self.rows)]
        text += ["*Nset, nset=left", *(str(i) for i in self.ids[self.left])]
        text += [
            "*Surface, name=right, type=ELEMENT",
            *(f"{c + 1}, S{face[int(o)]}" for c, o in zip(*self.faces(), strict=True)),
        ]
        text += ["*Solid Section, elset=all, material=steel", "*Material, name=steel", "*Elastic", f"{E!r}, {NU!r}"]
        text += [
            "*Boundary",
            f"left, 1, {self.d}",
            "*Step",
            "*Static",
            "*Dsload",
            f"right, P, {PRESSURE}",
            "*End Step",
            "",
        ]
        return "\n".join(text)

    def problem(self, plane="strain"):
        push = [-PRESSURE] + [0.0] * (self.d - 1)
        return fem.Elasticity(self.mesh, E, NU, fixed={"left": 0.0}, traction={"right": push}, degree=2, plane=plane)


def solved(problem):
    U, free = problem.space.U0.copy(), problem.space.free
    U[free] = spsolve(problem.A[free][:, free].tocsc(), (problem.b - problem.A @ U)[free])
    return U.reshape(len(problem.nodes), -1)


def by_place(points, values):
    order = np.lexsort(np.round(points, 9).T)
    return values[order]


def read(tmp_path, text, name):
    (tmp_path / name).write_text(text)
    return pp.io.read_deck(tmp_path / name)


@pytest.mark.parametrize(("d", "name"), [(3, "part.bdf"), (3, "part.inp"), (2, "part.inp")])
def test_pressed_blocks_move_as_their_problem_does(tmp_path, d, name):
    block = Block(d)
    deck = read(tmp_path, block.nastran() if name == "part.bdf" else block.abaqus(), name)
    problem, truth = deck.problem(), block.problem()
    assert (problem.degree, deck.data.notes) == (2, ())
    place = {int(i): x for i, x in zip(block.ids, block.nodes.points, strict=True)}
    assert np.allclose([place[int(i)] for i in deck.node_ids], problem.nodes.points, atol=1e-8)
    assert np.allclose(
        by_place(problem.nodes.points, solved(problem)),
        by_place(truth.nodes.points, solved(truth)),
        rtol=1e-6,
        atol=1e-12,
    )
    assert problem.total_load == pytest.approx(truth.total_load, rel=1e-6, abs=1e-9)
    asked = problem.points([[0.6, 0.5, 0.4][:d]], "x")
    c = pp.certify(problem, problem.space.U0, asked, target="discrete")
    wanted = truth.points([[0.6, 0.5, 0.4][:d]], "x").L @ solved(truth).ravel()
    assert c.center == pytest.approx(wanted, rel=1e-6)


def grouped(mesh):
    """The same mesh with the sides of the cube at x = 0 and x = 1 as groups."""
    X = mesh.points[mesh.boundary][:, :, 0]
    sides = {name: mesh.boundary[(X == x).all(axis=1)] for name, x in (("left", 0.0), ("right", 1.0))}
    return Mesh(mesh.points, mesh.cells, {}, sides, middles=mesh.middles, remarks=mesh.remarks)


def hexahedra(n):
    """The unit cube by n³ hexahedra, cut as files of them are."""
    X = np.stack(np.meshgrid(*[np.arange(n + 1) / n] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    corner = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])
    low = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    rows = (low + corner) @ np.array([(n + 1) ** 2, n + 1, 1])
    file, sides, said = simplified(Blocks(X, [Cells("hexahedron", rows)]))
    assert said
    return build_mesh(file, sides)


def test_one_part_as_tetrahedra_of_both_orders_hexahedra_and_deck_has_intervals_that_meet(tmp_path):
    block, push = Block(3), [-PRESSURE, 0.0, 0.0]
    file, sides, _ = simplified(Blocks(block.X, [Cells("tetra10", block.rows)]))
    second = build_mesh(file, sides)
    assert second.middles is None  # mid-side nodes in the middle: nothing is bent
    meshes = {"first": (block.mesh, 1), "second": (second, 2), "hexahedra": (hexahedra(2), 2)}
    problems = [
        fem.Elasticity(grouped(mesh), E, NU, fixed={"left": 0.0}, traction={"right": push}, degree=degree)
        for mesh, degree in meshes.values()
    ]
    problems.append(read(tmp_path, block.nastran(), "part.bdf").solid())
    found = [pp.certify(p, p.space.U0, p.mean("x")) for p in problems]
    assert all(c.interval_of == "the PDE's solution on the mesh's polyhedron" for c in found)
    assert max(c.lower[0] for c in found) < min(c.upper[0] for c in found) < 0.0
    assert all(c.radius[0] < 0.25 * abs(c.center[0]) for c in found[1:])
    assert abs(found[1].center[0] - found[3].center[0]) < 1e-9


def test_forces_on_mid_side_nodes_and_plane_elements_of_nastran(tmp_path):
    block = Block(2)
    node = int(next(n for n in block.right if n >= len(block.mesh.points)))
    deck = read(tmp_path, block.nastran((node, (1.0, 2.0, 0.0))), "part.bdf")
    problem = deck.problem()
    row = int(np.flatnonzero(deck.node_ids == block.ids[node])[0])
    assert row >= len(deck.mesh.points)
    load = problem.b.reshape(-1, 2)
    assert np.array_equal(np.flatnonzero(load.any(axis=1)), [row])
    assert np.allclose(load[row], [1.0, 2.0])
    truth = block.problem("stress").under(by_rows(block, node))
    assert np.allclose(
        by_place(problem.nodes.points, solved(problem)),
        by_place(truth.nodes.points, solved(truth)),
        rtol=1e-6,
        atol=1e-12,
    )


def by_rows(block, node):
    forces = np.zeros(block.X.shape)
    forces[node] = [1.0, 2.0]
    return forces


@pytest.mark.parametrize("name", ["part.bdf", "part.inp"])
def test_curved_sides_are_told_and_straightened(tmp_path, caplog, name):
    block, straight = Block(3, bend=0.03), Block(3)
    text = [b.nastran() if name == "part.bdf" else b.abaqus() for b in (block, straight)]
    deck, other = read(tmp_path, text[0], name), read(tmp_path, text[1], name)
    assert (
        f"1 of {len(block.nodes.edges)} mid-side nodes are off the middle of their chords, by at most 0.03"
        in deck.data.notes[0]
    )
    assert f"node {int(block.ids[block.bent])}" in caplog.text
    problem = deck.problem()
    assert abs(problem.A - other.problem().A).max() == 0.0
    c = pp.certify(problem, problem.space.U0, problem.points([[0.6, 0.5, 0.4]], "x"), target="discrete")
    assert any("straight sides" in note for note in c.notes)


def test_a_case_lists_values_by_id(tmp_path, capsys):
    block = Block(3, bend=0.01)
    deck = read(tmp_path, block.nastran(), "part.bdf")
    U = solved(deck.problem())
    order = np.argsort(deck.node_ids)
    np.savez(tmp_path / "field.npz", values=U[order])
    assert np.array_equal(deck.nodal(deck.node_ids[order], U[order]), U)
    text = (
        '[problem]\ndeck = "part.bdf"\n[prediction]\nfile = "field.npz"\n[[query]]\nname = "a"\nat = [0.6, 0.5, 0.4]\n'
    )
    text += 'component = "x"\n[[query]]\nname = "vm"\nkind = "von-mises"\nat = [0.3, 0.5, 0.4]\n'
    (tmp_path / "case.toml").write_text(text + '[certificate]\ntarget = "discrete"\n')
    assert main(["certify", str(tmp_path / "case.toml"), "--quiet", "--out", str(tmp_path / "out")]) == 0
    row = json.loads((tmp_path / "out" / "certificate.json").read_text())["queries"][0]
    assert row["value"] == pytest.approx(row["center"], rel=1e-9)
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0
    assert main(["check", str(tmp_path / "case.toml")]) == 0
    assert "quadratic elements" in capsys.readouterr().out


def test_second_order_decks_that_are_none_are_refused(tmp_path):
    block = Block(3)
    text = block.abaqus()
    first = next(line for line in text.splitlines() if line.startswith("1, ") and line.count(",") == 10)
    numbers = first.split(", ")
    torn = text.replace(first, ", ".join([*numbers[:-1], numbers[5]]))
    with pytest.raises(pp.InputError, match="middle"):
        read(tmp_path, torn, "a.inp")
    vertex = text.replace(first, ", ".join([*numbers[:-1], numbers[1]]))
    with pytest.raises(pp.InputError, match="is a vertex and in the middle of a side"):
        read(tmp_path, vertex, "b.inp")
    for name in ("a.inp", "b.inp"):
        with pytest.raises(pp.InputError, match="in the middle of the same side"):
            pp.io.read_mesh(tmp_path / name)


@pytest.mark.parametrize(("d", "name"), [(3, "part.bdf"), (3, "part.inp"), (2, "part.inp")])
def test_pressed_blocks_are_certified_themselves(tmp_path, d, name):
    """Held facets and pressures: the same problem, and its own solution lies in the intervals of both."""
    block = Block(d)
    deck = read(tmp_path, block.nastran() if name == "part.bdf" else block.abaqus(), name)
    solid, truth = deck.solid(), block.problem()
    assert abs(solid.A - deck.problem().A).max() == 0.0
    assert np.allclose(solid.b, deck.problem().b, rtol=1e-9, atol=1e-9)
    assert np.array_equal(solid.space.free, deck.problem().space.free)
    assert len(solid.mesh.facets("pressure 1")) == len(block.mesh.facets("right"))
    at = [[0.6, 0.5, 0.4][:d]]
    found = pp.certify(solid, solid.space.U0, solid.points(at, "x"))
    other = pp.certify(truth, truth.space.U0, truth.points(at, "x"))
    assert found.target == "continuous"
    assert found.guarantee == "deterministic"
    assert abs(found.center - other.center) <= found.radius + other.radius
    assert found.radius == pytest.approx(other.radius, rel=0.3)
    assert any("supports at nodes are those of" in note for note in found.notes)


def test_what_acts_at_nodes_has_no_meaning_for_the_solid(tmp_path):
    block = Block(3)
    node = int(block.right[0])
    deck = read(tmp_path, block.nastran((node, (1.0, 0.0, 0.0))), "part.bdf")
    with pytest.raises(pp.InputError, match=f"forces at node {int(block.ids[node])} have no meaning"):
        deck.solid()
    lone = next(int(n) for n in range(len(block.X)) if block.X[n, 0] == 0.5)
    held = block.abaqus().replace("*Boundary\n", f"*Boundary\n{int(block.ids[lone])}, 2, 2\n")
    with pytest.raises(pp.InputError, match=f"supports at node {int(block.ids[lone])} hold no whole boundary facet"):
        read(tmp_path, held, "part.inp").solid()
    moved = block.abaqus().replace("*Static\n", f"*Static\n*Boundary\n{int(block.ids[block.left[0]])}, 1, 1, 0.5\n")
    with pytest.raises(pp.InputError, match="vary over a face"):
        read(tmp_path, moved, "moved.inp").solid()


def test_a_case_certifies_a_deck_itself(tmp_path, capsys):
    block = Block(2)
    (tmp_path / "part.inp").write_text(block.abaqus())
    text = '[problem]\ndeck = "part.inp"\n[prediction]\nzero = true\n[[query]]\nname = "a"\nat = [0.6, 0.5]\n'
    (tmp_path / "case.toml").write_text(text + 'component = "x"\ntolerance = 1e-5\n')
    assert main(["certify", str(tmp_path / "case.toml"), "--quiet", "--out", str(tmp_path / "out")]) == 0
    data = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert data["queries"][0]["target"] == "continuous"
    assert data["queries"][0]["radius"] <= 1e-5
    assert len(data["refinement"]["steps"]) > 1


@pytest.mark.parametrize(("d", "name"), [(2, "part.bdf"), (3, "part.bdf"), (2, "part.inp"), (3, "part.inp")])
def test_weight_is_a_body_force(tmp_path, d, name):
    block = Block(d)
    deck = read(tmp_path, block.falling(name), name)
    plane = "stress" if (d, name) == (2, "part.bdf") else "strain"
    down = [0.0, -7.0 * 9.81, 0.0][:d]
    truth = fem.Elasticity(block.mesh, E, NU, down, {"left": 0.0}, degree=2, plane=plane)
    for problem in (deck.problem(), deck.solid()):
        U, V = solved(problem), solved(truth)
        assert np.allclose(by_place(problem.nodes.points, U), by_place(truth.nodes.points, V), rtol=1e-6, atol=1e-12)
    assert deck.solid().given["body"] == pytest.approx(down)
    found = pp.certify(deck.solid(), deck.solid().space.U0, deck.solid().mean("y"))
    wanted = pp.certify(truth, truth.space.U0, truth.mean("y"))
    assert abs(found.center - wanted.center) <= found.radius + wanted.radius


def test_weight_without_mass_is_refused(tmp_path):
    block = Block(3)
    with pytest.raises(pp.InputError, match=r"element 1 has no \*DENSITY"):
        read(tmp_path, block.falling("part.inp", None), "part.inp")
    with pytest.raises(pp.InputError, match="no material has a density"):
        read(tmp_path, block.falling("part.bdf", 0.0), "part.bdf")
    text = block.falling("part.inp")
    with pytest.raises(pp.InputError, match="direction of gravity must have length 1"):
        read(tmp_path, text.replace("0., -1., 0.", "0., -2., 0."), "long.inp")
    for card, words in (("CONM2,900,5,0,1.0", "masses at nodes have a weight"), ("PARAM,WTMASS,0.001", "WTMASS")):
        with pytest.raises(pp.InputError, match=words):
            read(tmp_path, block.falling("part.bdf").replace("ENDDATA", f"{card}\nENDDATA"), "part.bdf")
