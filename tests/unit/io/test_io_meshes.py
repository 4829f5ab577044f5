"""Mesh files: what was written comes back, with its groups; everything else is refused."""

from __future__ import annotations

import builtins
import logging
import subprocess
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.io.meshes.read import read_mesh
from pinnpoint.mesh.domains import generate
from tests.support.meshes import entities, name_groups

meshio = pytest.importorskip("meshio")
KIND = {0: "vertex", 1: "line", 2: "triangle", 3: "tetra"}


def to_meshio(mesh, groups=("left", "right")):
    """The mesh, its cells in two groups and some sides, in meshio's words."""
    half = len(mesh.cells) // 2
    points = np.pad(mesh.points, ((0, 0), (0, 3 - mesh.dim)))
    cells = [(KIND[mesh.dim], mesh.cells[:half]), (KIND[mesh.dim], mesh.cells[half:])]
    tags = [np.full(half, 1), np.full(len(mesh.cells) - half, 2)]
    names = {"low": np.array([1, mesh.dim]), "high": np.array([2, mesh.dim])}
    for i, name in enumerate(groups):
        cells.append((KIND[mesh.dim - 1], mesh.facets(name)))
        tags.append(np.full(len(mesh.facets(name)), i + 1))  # the same tags, one dimension lower
        names[name] = np.array([i + 1, mesh.dim - 1])
    data = {"gmsh:physical": tags, "gmsh:geometrical": tags}
    return meshio.Mesh(points, cells, cell_data=data, field_data=names)


def facet_set(rows):
    return {tuple(sorted(row)) for row in rows.tolist()}


def assert_same(read, mesh, low="low", high="high", left="left", right="right"):
    np.testing.assert_array_equal(read.points, mesh.points)
    np.testing.assert_array_equal(read.cells, mesh.cells)
    half = len(mesh.cells) // 2
    np.testing.assert_array_equal(read.cells_of(low), np.arange(half))
    np.testing.assert_array_equal(read.cells_of(high), np.arange(half, len(mesh.cells)))
    assert facet_set(read.facets(left)) == facet_set(mesh.facets("left"))
    assert facet_set(read.facets(right)) == facet_set(mesh.facets("right"))


@pytest.mark.parametrize("kind", ["interval", "square", "cube"])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("version", ["gmsh22", "gmsh"])
@pytest.mark.filterwarnings("ignore")
def test_meshes_of_gmsh_come_back_with_their_groups(tmp_path, capsys, kind, binary, version):
    mesh = generate(kind, 4)
    written = to_meshio(mesh)
    if version == "gmsh":  # its writer wants to know the entity of each node
        written.point_data["gmsh:dim_tags"] = entities(mesh)
    path = tmp_path / "a.msh"
    written.write(path, file_format=version, binary=binary)
    capsys.readouterr()
    assert_same(read_mesh(path), mesh)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["interval", "square", "cube"])
@pytest.mark.parametrize(
    ("suffix", "options"),
    [
        (".vtu", {}),
        (".vtu", {"binary": False}),
        (".vtu", {"compression": "lzma"}),
        (".vtk", {}),
        (".vtk", {"binary": False}),
        (".vtk", {"file_format": "vtk42"}),
        (".xdmf", {"data_format": "XML"}),
        (".xdmf", {"data_format": "HDF"}),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_groups_without_names_are_left_out_aloud(tmp_path, capsys, caplog, kind, suffix, options):
    """These formats number groups, and meshio writes no names: they are left out aloud, and how to name them is said.

    meshio's XDMF cannot mix points and lines.
    """
    mesh = generate(kind, 4)
    path = tmp_path / f"a{suffix}"
    sides = () if (kind, suffix) == ("interval", ".xdmf") else ("left", "right")
    to_meshio(mesh, sides).write(path, **options)
    capsys.readouterr()
    read = read_mesh(path)
    np.testing.assert_array_equal(read.cells, mesh.cells)
    assert not read.cell_groups
    assert not read.facet_groups
    assert capsys.readouterr() == ("", "")
    for dim, ask in ((mesh.dim, read.cells_of), *([(mesh.dim - 1, read.facets)] if sides else [])):
        assert f"2 (dimension {dim})" in caplog.text
        with pytest.raises(InputError, match=rf"group 2 of dimension {dim} has no name .* that hold \[2, {dim}\]"):
            ask("2")
    assert read.facets("boundary").shape == mesh.boundary.shape


@pytest.mark.parametrize("kind", ["interval", "square", "cube"])
@pytest.mark.filterwarnings("ignore")
def test_named_by_field_data(tmp_path, caplog, kind):
    mesh = generate(kind, 4)
    written = to_meshio(mesh)
    path = tmp_path / "a.vtu"
    written.write(path, binary=False)
    name_groups(path, written.field_data)
    assert_same(read_mesh(path), mesh)
    assert not caplog.messages


@pytest.mark.parametrize("kind", ["square", "cube"])
@pytest.mark.filterwarnings("ignore")
def test_abaqus_written_by_meshio(tmp_path, kind):
    mesh = generate(kind, 3)
    sets = {"inlet": np.flatnonzero(mesh.points[:, 0] == 0.0)}
    parts = {"body": [np.arange(5)]}
    X = np.pad(mesh.points, ((0, 0), (0, 3 - mesh.dim)))
    meshio.Mesh(X, [(KIND[mesh.dim], mesh.cells)], point_sets=sets, cell_sets=parts).write(
        tmp_path / "a.inp", translate_cell_names=True
    )
    text = (tmp_path / "a.inp").read_text().replace("R3D3", "CPS3")
    (tmp_path / "a.inp").write_text(text)
    read = read_mesh(tmp_path / "a.inp")
    np.testing.assert_array_equal(read.points, mesh.points)
    np.testing.assert_array_equal(read.cells, mesh.cells)
    np.testing.assert_array_equal(read.cells_of("body"), np.arange(5))
    assert facet_set(read.facets("inlet")) == facet_set(mesh.facets("left"))


ABAQUS = """*HEADING
made by hand
** a comment
*Node, nset=all
 10, 0., 0., 0.
 20, 1., 0., 0.,
*NODE
 30, 0., 1., 0.
 40, 0., 0., 1.
 50, 1., 1., 1.
*Element, type=C3D4
 7, 10, 20, 30, 40
*Element, type=C3D4, elset=far
 9, 20, 50, 30,
 40
*ELSET, ELSET=Near
 7
*ELSET, ELSET=both
 near, far
*ELSET, ELSET=counted, GENERATE
 7, 9, 2
*NSET, NSET=bottom
 10, 20,
 30
*SURFACE, NAME=floor, TYPE=ELEMENT
 near, S1
*SURFACE, NAME=wall
 7, S4
*SURFACE, NAME=nodes, TYPE=NODE
 bottom
*STEP
*END STEP
"""


def test_abaqus_by_hand(tmp_path):
    path = tmp_path / "a.inp"
    path.write_text(ABAQUS)
    mesh = read_mesh(path)
    assert mesh.cells.tolist() == [[0, 1, 2, 3], [1, 4, 2, 3]]
    assert {k: v.tolist() for k, v in mesh.cell_groups.items()} == {
        "far": [1],
        "Near": [0],
        "both": [0, 1],
        "counted": [0, 1],
    }
    assert facet_set(mesh.facets("floor")) == facet_set(mesh.facets("bottom")) == {(0, 1, 2)}
    assert facet_set(mesh.facets("nodes")) == {(0, 1, 2)}
    assert facet_set(mesh.facets("wall")) == {(0, 2, 3)}
    assert "all" not in mesh.facet_groups  # two nodes make no facet


MSH22 = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
4
1 1 "inflow"
1 5 "outflow"
2 1 "steel"
2 2 "copper"
$EndPhysicalNames
$Nodes
4
1 0 0 0
2 1 0 0
3 1 1 0
7 0 1 0
$EndNodes
$Elements
5
1 15 2 0 1 1
2 1 2 1 4 1 7
3 2 2 1 1 1 2 3
4 1 2 5 4 2 3
5 2 2 2 1 1 3 7
$EndElements
"""


@pytest.fixture
def save(tmp_path):
    def write(text, name="a.msh"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_equal_tags_of_different_dimensions(save):
    """Volume group 1 and boundary group 1 keep their own names."""
    mesh = read_mesh(save(MSH22))
    assert {k: v.tolist() for k, v in mesh.cell_groups.items()} == {"steel": [0], "copper": [1]}
    assert {k: facet_set(v) for k, v in mesh.facet_groups.items()} == {"inflow": {(0, 3)}, "outflow": {(1, 2)}}
    assert mesh.points.shape == (4, 2)
    assert read_mesh(save(MSH22.replace("\n", "\r\n"))).cells.tolist() == mesh.cells.tolist()


def test_equal_names_of_different_dimensions(save):
    mesh = read_mesh(save(MSH22.replace('"inflow"', '"steel"')))
    assert mesh.cells_of("steel").tolist() == [0]
    assert facet_set(mesh.facets("steel")) == {(0, 3)}


def test_an_element_in_two_groups_is_one_element(save):
    """MSH 2.2 writes it once per group."""
    text = MSH22.replace("$Elements\n5", "$Elements\n6").replace("$EndElements", "6 2 2 2 1 1 2 3\n$EndElements")
    mesh = read_mesh(save(text))
    assert len(mesh.cells) == 2
    assert len(mesh.cells_of("copper")) == 2
    assert len(mesh.cells_of("steel")) == 1


def test_elements_in_any_order_and_with_any_tags(save):
    """Types alternate, and the number of tags differs from element to element."""
    text = MSH22.replace("5 2 2 2 1 1 3 7", "5 2 3 2 1 9 1 3 7")
    mesh = read_mesh(save(text))
    assert mesh.cells.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert {k: v.tolist() for k, v in mesh.cell_groups.items()} == {"steel": [0], "copper": [1]}
    assert "2" not in read_mesh(save(text.replace("4 1 2 5 4 2 3", "4 1 0 2 3"))).facet_groups


MSH41 = """$MeshFormat
4.1 0 8
$EndMeshFormat
$PhysicalNames
4
1 1 "inflow"
1 6 "wall"
2 1 "plate"
2 3 "all"
$EndPhysicalNames
$Entities
1 2 1 0
1 0 0 0 0
1 0 0 0 0 1 0 2 1 6 2 1 -1
2 0 0 0 1 0 0 0 2 1 -1
1 0 0 0 1 1 0 2 1 3 1 1
$EndEntities
$Nodes
2 5 1 9
0 1 0 1
9
0.5 0.5 0
2 1 1 4
1
2
3
7
0 0 0 0 0
1 0 0 0 0
1 1 0 0 0
0 1 0 0 0
$EndNodes
$Elements
4 5 1 5
0 1 15 1
1 9
1 1 1 1
2 1 7
1 2 1 1
3 1 2
2 1 2 2
4 1 2 3
5 1 3 7
$EndElements
"""


@pytest.mark.parametrize("blocks", ["2 5 1 9\n", "3 5 1 9\n1 1 0 0\n", "3 5 1 9\n1 1 1 0\n"])
def test_gmsh_41_by_hand(save, caplog, blocks):
    """Entities in two groups, in none and without nodes; parametric and unused nodes."""
    with caplog.at_level(logging.WARNING):
        mesh = read_mesh(save(MSH41.replace("2 5 1 9\n", blocks)))
    assert "1 of 5 points belong to no cell" in caplog.text
    assert {k: facet_set(v) for k, v in mesh.facet_groups.items()} == {"inflow": {(0, 3)}, "wall": {(0, 3)}}
    assert {k: v.tolist() for k, v in mesh.cell_groups.items()} == {"plate": [0, 1], "all": [0, 1]}


def test_a_group_called_boundary_must_be_the_boundary(save):
    assert "4" not in read_mesh(save(MSH22)).facet_groups
    with pytest.raises(InputError, match=r"group 'boundary': holds 1 facets, but .* which has 4; rename"):
        read_mesh(save(MSH22.replace("inflow", "boundary")))


def binary_msh(version="gmsh22"):
    square = generate("square", 2)
    mesh = to_meshio(square)
    mesh.point_data["gmsh:dim_tags"] = entities(square)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "a.msh"
        mesh.write(path, file_format=version, binary=True)
        return path.read_bytes()


def vtu(cells=1, pieces=1, kind=5, x="0 0 0 1 0 0 0 1 0", connectivity="0 1 2"):
    piece = f"""<Piece NumberOfPoints="3" NumberOfCells="{cells}">
<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">{x}</DataArray></Points>
<Cells><DataArray type="Int64" Name="connectivity" format="ascii">{connectivity}</DataArray>
<DataArray type="Int64" Name="offsets" format="ascii">3</DataArray>
<DataArray type="UInt8" Name="types" format="ascii">{kind}</DataArray></Cells>
<PointData></PointData><CellData></CellData></Piece>"""
    return f"""<VTKFile type="UnstructuredGrid" version="0.1" byte_order="LittleEndian">
<UnstructuredGrid>{piece * pieces}</UnstructuredGrid></VTKFile>"""


def test_vtu_by_hand(save):
    assert read_mesh(save(vtu(), "a.vtu")).cells.tolist() == [[0, 1, 2]]


def gmsh(old, new, text=MSH22):
    assert old in text
    return text.replace(old, new), "a.msh"


REFUSED = {
    "empty": (("", "a.msh"), "the file is empty"),
    "junk msh": ((b"\x00\xff" * 50, "a.msh"), "does not begin with"),
    "junk vtu": ((b"\x00\xff" * 50, "a.vtu"), "could not be read as VTU"),
    "junk vtk": (("hello\n" * 9, "a.vtk"), "could not be read as VTK"),
    "junk xdmf": (("<html></html>", "a.xdmf"), "could not be read as XDMF"),
    "junk inp": (("hello", "a.inp"), "no keyword"),
    "unknown suffix": (("hello", "a.stl"), r"'.stl' files are not read \(known: .msh"),
    "no suffix": (("hello", "mesh"), "files are not read"),
    "old msh": (gmsh("2.2 0 8", "1.0 0 8"), "MSH version 1.0 is not read"),
    "msh 4.0": (gmsh("2.2 0 8", "4 0 8"), "MSH version 4 is not read"),
    "no nodes": (gmsh("$Nodes", "$Knots"), r"section \$Nodes is missing"),
    "cut short": ((MSH22[:-30], "a.msh"), "it is not closed"),
    "text in nodes": (gmsh("2 1 0 0", "2 1 zero 0"), "text where numbers should be"),
    "NaN in nodes": (gmsh("2 1 0 0", "2 nan 0 0"), "points: point 1 is not finite"),
    "too few nodes": (gmsh("$Nodes\n4", "$Nodes\n5"), "ends before all"),
    "too many nodes": (gmsh("$Nodes\n4", "$Nodes\n3"), "left over"),
    "node twice": (gmsh("7 0 1 0", "3 0 1 0"), "node 3 is given twice"),
    "unknown node": (gmsh("1 3 7", "1 3 8"), "node 8 is used but not given"),
    "node zero": (gmsh("1 3 7", "1 3 0"), "node 0 is used but not given"),
    "element count": (gmsh("$Elements\n5", "$Elements\n6"), "announces 6 entries and holds 5"),
    "fraction": (gmsh("1 3 7", "1 3 7.5"), "should be whole"),
    "element cut short": (gmsh("5 2 2 2 1 1 3 7", "5 2 2 2 1 1 3"), "cut short"),
    "quads": (gmsh("5 2 2 2 1 1 3 7", "5 16 2 2 1 1 2 3 7 1 2 3 7"), "is a vertex and in the middle of a side"),
    "third order": (gmsh("5 2 2 2 1 1 3 7", "5 21 2 2 1 1 2 3 7 1 2 3 7 1 2"), "1 of type triangle10"),
    "unknown type": (gmsh("5 2 2 2 1 1 3 7", "5 92 2 2 1 1 2 3"), "Gmsh's type 92"),
    "group of points in 2D": (
        (
            MSH22.replace("1 15 2 0 1 1", "1 15 2 9 1 1")
            .replace('1 5 "outflow"', '1 5 "outflow"\n0 9 "pin"')
            .replace("$PhysicalNames\n4", "$PhysicalNames\n5"),
            "a.msh",
        ),
        "group 'pin': holds 1 elements of type vertex",
    ),
    "names miscounted": (gmsh("$PhysicalNames\n4", "$PhysicalNames\n5"), "announces 5 names and holds 4"),
    "unnamed facets": (
        gmsh('1 5 "outflow"', '1 6 "outflow"'),
        r'physical group 5 of dimension 1: has no name.* Physical Curve\("name", 5\) = .* \'1 5 "name"\'',
    ),
    "unnamed cells": (gmsh('2 1 "steel"', '2 9 "steel"'), r"physical group 1 of dimension 2: has no name"),
    "unnamed points": (gmsh("1 15 2 0 1 1", "1 15 2 9 1 1"), "physical group 9 of dimension 0: has no name"),
    "4.1 unnamed": (gmsh('2 1 "plate"', '2 7 "plate"', MSH41), "physical group 1 of dimension 2: has no name"),
    "tilted": (gmsh("3 1 1 0", "3 1 1 0.5"), "must have z = 0 everywhere; it runs from 0 to 0.5"),
    "flat cell": (gmsh("3 1 1 0", "3 2 0 0"), "no volume"),
    "overlapping cells": (gmsh("7 0 1 0", "7 1.5 0 0"), "overlap"),
    "foreign facet": (gmsh("2 1 2 1 4 1 7", "2 1 2 1 4 2 7"), r"facet group 'inflow': .* is not a facet"),
    "facet off the cells": (gmsh("5 2 2 2 1 1 3 7", "5 2 2 2 1 1 3 2"), "belong to no cell"),
    "cell twice in a group": (gmsh("5 2 2 2 1 1 3 7", "5 2 2 1 1 1 2 3"), "twice"),
    "only points": (
        gmsh(MSH22[MSH22.index("$Elements") :], "$Elements\n1\n1 15 2 0 1 1\n$EndElements\n"),
        "no intervals, triangles or tetrahedra",
    ),
    "no elements": (gmsh(MSH22[MSH22.index("$Elements") :], "$Elements\n0\n$EndElements\n"), "no intervals"),
    "4.1 count": (gmsh("4 5 1 5", "4 6 1 5", MSH41), "announces 6 entries and holds 5"),
    "4.1 node count": (gmsh("2 5 1 9", "2 6 1 9", MSH41), "announces 6 entries and holds 5"),
    "4.1 blocks": (gmsh("4 5 1 5", "3 5 1 5", MSH41), "left over"),
    "4.1 entity": (gmsh("1 2 1 1\n3 1 2", "1 8 1 1\n3 1 2", MSH41), "entity 8 of dimension 1 is used but not given"),
    "4.1 partitioned": (gmsh("$Nodes", "$PartitionedEntities\n$Nodes", MSH41), "partitioned"),
    "binary cut": ((binary_msh()[:-60], "a.msh"), "cut short|counts say"),
    "binary 4.1 cut": ((binary_msh("gmsh")[:-100], "a.msh"), "cut short|counts say"),
    "byte order": ((binary_msh().replace(b"\x01\x00\x00\x00\n$End", b"\x00\x00\x00\x01\n$End"), "a.msh"), "byte order"),
    "vtu count": ((vtu(cells=2), "a.vtu"), "VTU"),
    "vtu in pieces": ((vtu(pieces=2), "a.vtu"), "announces 2 elements in 2 pieces, but 1 were read"),
    "vtu of another kind": ((vtu(kind=69), "a.vtu"), "triangle|VTU"),
    "vtu with NaN": ((vtu(x="0 0 0 nan 0 0 0 1 0"), "a.vtu"), "not finite"),
    "vtu index": ((vtu(connectivity="0 1 3"), "a.vtu"), "between 0 and 2"),
    "vtu negative index": ((vtu(connectivity="0 1 -1"), "a.vtu"), "between 0 and 2"),
    "inp quads": ((ABAQUS.replace("C3D4", "C3D8R"), "a.inp"), "which are not rows of 9"),
    "inp second order": ((ABAQUS.replace("C3D4", "C3D10"), "a.inp"), "not rows of 11"),
    "inp bricks": ((ABAQUS.replace("C3D4", "C3D27R"), "a.inp"), "type C3D27R: not supported.*C3D10"),
    "inp include": (("*INCLUDE, INPUT=b.inp\n" + ABAQUS, "a.inp"), r"\*INCLUDE changes the mesh"),
    "inp cylindrical": ((ABAQUS.replace("*NODE", "*NODE, SYSTEM=C"), "a.inp"), r"\*NODE on line 7: the option SYSTEM"),
    "inp elsewhere": ((ABAQUS.replace("=C3D4", "=C3D4, INPUT=b", 1), "a.inp"), r"\*ELEMENT on line .*the option INPUT"),
    "inp instances": ((ABAQUS + "*INSTANCE, NAME=a\n*INSTANCE, NAME=b\n", "a.inp"), "only one part"),
    "inp moved instance": ((ABAQUS + "*INSTANCE, NAME=a\n1., 0., 0.\n", "a.inp"), "not moved"),
    "inp node": ((ABAQUS.replace("10, 20, 30, 40", "10, 20, 30, 99"), "a.inp"), "node 99 is used"),
    "inp text": ((ABAQUS.replace("0., 1., 0.", "0., one, 0."), "a.inp"), "text where numbers"),
    "inp short row": ((ABAQUS.replace("7, 10, 20, 30, 40", "7, 10, 20, 30"), "a.inp"), "not rows of 5"),
    "inp element twice": ((ABAQUS.replace("7, 10,", "9, 10,"), "a.inp"), "given twice"),
    "inp unknown set": ((ABAQUS.replace(" near, far", " near, off"), "a.inp"), "'off' is used before"),
    "inp unknown element": ((ABAQUS.replace("ELSET=Near\n 7", "ELSET=Near\n 8"), "a.inp"), "element 8 is not given"),
    "inp range": ((ABAQUS.replace("7, 9, 2", "7, 999999999999, 1"), "a.inp"), "numbers that are not given"),
    "inp text in range": ((ABAQUS.replace("7, 9, 2", "seven, 9, 2"), "a.inp"), "text where numbers"),
    "inp huge number": ((ABAQUS.replace("ELSET=Near\n 7", "ELSET=Near\n 7" + "0" * 30), "a.inp"), "broken|not given"),
    "inp face": ((ABAQUS.replace("near, S1", "near, SPOS"), "a.inp"), "'SPOS' is not a face"),
    "inp without elements": ((ABAQUS[: ABAQUS.index("*Element")], "a.inp"), r"no \*NODE or no \*ELEMENT"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_mesh_files_are_refused_by_their_name(name, save, capsys):
    (content, file), words = REFUSED[name]
    path = save(content, file)
    with pytest.raises(InputError, match=words) as caught:
        read_mesh(path)
    assert file in str(caught.value)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("path", "words"),
    [("missing.msh", "no such file"), (".", "is a directory"), (3, "not a readable file"), ("a\0b", "not|no such")],
)
def test_missing_mesh_files_are_refused(tmp_path, path, words):
    with pytest.raises(InputError, match=words):
        read_mesh(tmp_path / path if isinstance(path, str) and "\0" not in path else path)


def test_without_meshio_its_formats_are_refused_with_a_hint(save, monkeypatch):
    real = builtins.__import__

    def blocked(name, *rest, **options):
        if name == "meshio":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", blocked)
    assert len(read_mesh(save(MSH22)).cells) == 2
    with pytest.raises(DependencyMissingError, match=r"pinnpoint\[mesh\]"):
        read_mesh(save(vtu(), "a.vtu"))


def test_importing_the_package_imports_no_reader():
    code = "import sys, pinnpoint.io.meshes.read, pinnpoint.io.fields; print('meshio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
