"""Abaqus and CalculiX decks: the same part says the same in every format; steps add up; the rest is refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from tests.support.decks import PRESSURE, E, Part, edit, listed, read
from tests.support.meshes import entities, name_groups


@pytest.mark.filterwarnings("ignore")
def test_one_part_in_every_format_gives_one_certificate(tmp_path, capsys):
    """One part as .msh 2.2 and 4.1, .vtu, .inp and .bdf, as meshes and as decks: one certificate."""
    meshio = pytest.importorskip("meshio")
    part = Part()
    text = {".inp": part.abaqus(), ".bdf": part.nastran()}
    X = part.X
    mesh = pp.io.read_deck(_put(tmp_path / "first.bdf", text[".bdf"])).mesh
    top = mesh.boundary[np.isin(mesh.boundary, part.top).all(axis=1)]
    end = mesh.boundary[np.isin(mesh.boundary, part.end).all(axis=1)]
    tags = [np.full(len(part.T), 2), np.full(len(end), 1), np.full(len(top), 2)]
    written = meshio.Mesh(
        X,
        [("tetra", part.T), ("triangle", end), ("triangle", top)],
        cell_data={"gmsh:physical": tags, "gmsh:geometrical": tags},
        field_data={"body": np.array([2, 3]), "end": np.array([1, 2]), "top": np.array([2, 2])},
    )
    written.write(tmp_path / "22.msh", file_format="gmsh22")
    written.write(tmp_path / "part.vtu", binary=False)
    name_groups(tmp_path / "part.vtu", written.field_data)
    written.point_data["gmsh:dim_tags"] = entities(mesh)
    written.write(tmp_path / "41.msh", file_format="gmsh")
    capsys.readouterr()
    problems = {k: pp.io.read_deck(_put(tmp_path / f"deck{k}", t)).problem() for k, t in text.items()}
    n = {tuple(sorted(f)): _inward(X, f, mesh) for f in top.tolist()}
    forces = np.zeros_like(X)
    for f, normal in n.items():
        forces[list(f)] += PRESSURE * normal / 3
    for name in ("22.msh", "41.msh", "part.vtu"):
        found = pp.io.read_mesh(tmp_path / name)
        np.testing.assert_array_equal(found.facets("top").shape, top.shape)
        np.testing.assert_array_equal(found.cells_of("body"), np.arange(len(part.T)))
        problems[name] = pp.fem.Elasticity(found, E, 0.3, fixed={"end": 0.0}, nodal=forces)
    found = pp.io.read_mesh(tmp_path / "deck.inp")
    row = {tuple(x): k for k, x in enumerate(X.tolist())}
    order = [row[tuple(x)] for x in found.points.tolist()]  # a mesh keeps the order of its file
    problems["inp as a mesh"] = pp.fem.Elasticity(found, E, 0.3, fixed={"end": 0.0}, nodal=forces[order])
    at = [[1.0, 1.0, 0.4], [0.5, 1.2, 2.0]]
    certificates = {
        k: pp.certify(p, 1e-3 * np.sin(p.mesh.points), p.points(at, "x"), target="discrete")
        for k, p in problems.items()
    }
    first = certificates[".bdf"]
    assert len(certificates) == 6
    assert np.all(first.radius < 1e-12)
    for name, c in certificates.items():
        for what in ("value", "center", "sigma", "residual_norm"):
            np.testing.assert_allclose(getattr(c, what), getattr(first, what), rtol=1e-11, err_msg=f"{name} {what}")


def _put(path, text):
    path.write_text(text)
    return path


def _inward(X, facet, mesh):
    a, b, c = X[list(facet)]
    n = np.cross(b - a, c - a) / 2
    return n * np.sign(n @ (X.mean(axis=0) - a))


def test_steps_carry_over(tmp_path):
    part = Part()
    a, b, c = (int(i) for i in part.ids[part.top[:3]])
    physics = f"""*Step, name=first
*Static
1., 1.
*Cload
{a}, 1, 5.
{b}, 2, 7.
*End Step
*Step, perturbation
*Static
*Cload
{c}, 3, 1.
*End Step
*Step
*Static
*Cload
{a}, 1, 6.
*Boundary
{b}, 3, 3, 0.01
*End Step
*Step
*Static
*Cload, op=NEW
{c}, 1, 2.
*Boundary, op=NEW
end, ENCASTRE
*End Step
""".splitlines()
    deck = read(tmp_path, part.abaqus(physics), "part.inp")
    row = {a: part.top[0], b: part.top[1], c: part.top[2]}
    wanted = [{(a, 0): 5.0, (b, 1): 7.0}, {(c, 2): 1.0}, {(a, 0): 6.0, (b, 1): 7.0}, {(c, 0): 2.0}]
    for number, forces in enumerate(wanted, 1):
        f = np.zeros_like(part.X)
        for (node, k), value in forces.items():
            f[row[node], k] = value
        np.testing.assert_array_equal(deck.subcases[number].load, f)
    fixed = [3 * len(part.X) - deck.problem(k).system.n - 3 * len(part.end) for k in (1, 2, 3, 4)]
    assert fixed == [0, 0, 1, 0]
    assert deck.problem(3).space.U0[3 * row[b] + 2] == 0.01
    assert deck.subcases[1].label == "first"


@pytest.mark.parametrize(("kind", "plane"), [("CPS3", "stress"), ("CPE3", "strain")])
def test_plane_elements_are_in_their_plane_state(tmp_path, kind, plane):
    mesh = pp.io.generate("square", 3)
    nodes = "\n".join(f"{k + 1}, {x!r}, {y!r}" for k, (x, y) in enumerate(mesh.points.tolist()))
    cells = "\n".join(f"{k + 1}, {listed((c + 1).tolist())}" for k, c in enumerate(mesh.cells))
    left = listed((np.flatnonzero(mesh.points[:, 0] == 0) + 1).tolist())
    right = {tuple(sorted(f)) for f in mesh.facets("right").tolist()}
    sides = [
        (e + 1, k + 1)
        for e, c in enumerate(mesh.cells.tolist())
        for k, (i, j) in enumerate([(0, 1), (1, 2), (2, 0)])
        if tuple(sorted((c[i], c[j]))) in right
    ]
    loads = "\n".join(f"{e}, P{k}, 4." for e, k in sides)
    text = f"""*NODE
{nodes}
*ELEMENT, TYPE={kind},
 ELSET=all
{cells}
*NSET, NSET=left
{left}
*MATERIAL, NAME="m 1"
*ELASTIC, TYPE=ISO
100., 0.25
*SOLID SECTION, ELSET=ALL, MATERIAL="m 1"
0.5
*BOUNDARY
left, PINNED
*STEP
*STATIC
*DLOAD
{loads}
*END STEP
"""
    problem = read(tmp_path, text, "plane.inp").problem()
    other = pp.fem.Elasticity(mesh, 100.0, 0.25, fixed={"left": 0.0}, traction={"right": [-4.0, 0.0]}, plane=plane)
    assert abs(problem.A - other.A).max() <= 1e-14 * abs(other.A).max()
    np.testing.assert_allclose(problem.b, other.b, atol=1e-15)
    np.testing.assert_array_equal(problem.space.free, other.space.free)


def before(keyword, text):
    return edit(f"*{keyword}\n", f"{text}\n*{keyword}\n")


REFUSED = {
    "equation": (
        before("Step", "*Equation\n2\n5, 1, 1., 8, 1, -1."),
        r"\*EQUATION on line \d+: this keyword is not read",
    ),
    "coupling": (before("Step", "*Coupling, constraint name=a"), r"\*COUPLING on line"),
    "plastic": (before("Density", "*Plastic\n1., 0."), r"\*PLASTIC on line"),
    "temperature": (before("Static", "*Temperature\nall, 3."), r"\*TEMPERATURE on line"),
    "transform": (before("Step", "*Transform, nset=end\n1., 0., 0., 0., 1., 0."), r"\*TRANSFORM on line"),
    "frequency": (edit("*Static", "*Frequency"), r"\*FREQUENCY on line"),
    "include": (before("Step", "*Include, input=a.inp"), r"\*INCLUDE on line"),
    "large": (edit("*Step", "*Step, nlgeom=YES"), "NLGEOM: large displacements are not read"),
    "amplitude": (edit("*Dsload", "*Dsload, amplitude=a"), r"\*DSLOAD on line .*AMPLITUDE is not read"),
    "body force": (edit("*Dsload\ntop, P, 250.0", "*Dload\nall, BX, 9.81"), "only pressures"),
    "velocity": (edit("*Boundary", "*Boundary, type=VELOCITY"), "only TYPE=DISPLACEMENT"),
    "anisotropic": (edit("*Elastic", "*Elastic, type=ORTHO"), "only isotropic materials"),
    "orientation": (edit("material=steel", "material=steel, orientation=o"), "ORIENTATION is not read"),
    "second order": (edit("C3D4", "C3D10"), "holds 120 numbers, which are not rows of 11"),
    "hybrid": (edit("C3D4", "C3D4H"), "elements of type 'C3D4H'"),
    "no section": (edit("*Solid Section, elset=all, material=steel\n", ""), "elements have none"),
    "no material": (edit("material=steel", "material=wood"), "the material 'WOOD' has no"),
    "no set": (edit("end, 1, 6", "start, 1, 6"), "the set 'start' is not given"),
    "no node": (edit("end, 1, 6", "4, 1, 6"), "node 4 is not a node of any element"),
    "component": (edit("end, 1, 6", "end, 11, 11"), "components must be numbers from 1 to 6"),
    "downwards": (edit("end, 1, 6", "end, 1, 6\n56, 3, 1"), "components must run upwards; got '56, 3, 1'"),
    "moved at the start": (edit("end, 1, 6", "end, 1, 3, 0.1"), r"outside a \*STEP only zero displacements are held"),
    "load outside": (edit("*Step\n*Static\n", ""), "loads belong into a"),
    "no step": (lambda text: text[: text.index("*Step")], "no complete step"),
    "open step": (edit("*End Step", ""), "no complete step"),
    "no support": (edit("end, 1, 6", "end, 4, 6"), "nothing holds the body"),
    "load twice": (edit("*Dsload", "*Cload\n5, 1, 1.\n5, 1, 2.\n*Dsload"), r"\*CLOAD on line .*node 5 is given twice"),
    "moment": (edit("*Dsload", "*Cload\n5, 4, 1.\n*Dsload"), "component 4 .*cannot be loaded"),
    "no surface": (edit("top, P", "side, P"), "the surface 'side' is not given"),
    "value": (edit("P, 250.0", "P, nan"), "must hold finite numbers; got 'nan'"),
    "generated": (before("Step", "*Ngen\n1, 9"), r"\*NGEN on line"),
    "scopes": (
        lambda text: text.replace("*Node\n", "*Part, name=p\n*Node\n").replace(
            "*Solid", "*End Part\n*Assembly, name=a\n*Nset, nset=end\n5\n*End Assembly\n*Solid"
        ),
        "the set 'end' is given in the part and in the assembly",
    ),
    "unnamed set": (before("Step", "*Nset\n5"), r"\*NSET on line .*has no name; say NSET="),
    "unnamed surface": (edit("*Surface, name=top, ", "*Surface, "), "has no name; say NAME="),
    "overlapping sections": (
        edit("*Solid Section", "*Elset, elset=some\n1, 2\n*Solid Section, elset=some, material=steel\n*Solid Section"),
        "some of its elements have a section already",
    ),
    "overlapping supports": (edit("end, 1, 6", "end, 1, 6\n56, 1, 1, 0.5"), "node .* is given twice in one step"),
    "mixed blocks": (before("Step", "*Element, type=S3\n900, 5, 8, 11"), "elements of type 'S3'"),
    "set by elements": (before("Step", "*Nset, nset=a, elset=all"), "the option ELSET is not read"),
    "empty set": (edit("*Boundary\nend", "*Nset, nset=none\n*Boundary\nnone"), "the set 'none' is empty"),
    "two parts": (
        lambda text: text.replace("*Node\n", "*Part, name=p\n*End Part\n*Part, name=q\n*Node\n"),
        "only one part is read",
    ),
    "junk": (lambda text: "hello", "holds no keyword"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_an_abaqus_deck_means_otherwise_is_refused_by_name(tmp_path, name):
    change, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        read(tmp_path, change(Part((2, 1, 2)).abaqus()), "part.inp")


def test_other_missing_and_empty_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"'.txt' files are not read \(known: .bdf"):
        read(tmp_path, "x", "a.txt")
    with pytest.raises(InputError, match="the file is empty"):
        read(tmp_path, "", "a.bdf")
    with pytest.raises(InputError, match="no such file"):
        pp.io.read_deck(tmp_path / "none.bdf")
