"""Second-order and quadrilateral elements: read, bent or straight, and cut conformingly."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.io.meshes.blocks import Block, Blocks, build_mesh
from pinnpoint.io.meshes.simplices import FACES, cut, simplified

RING6 = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
2
1 1 "rim"
2 2 "body"
$EndPhysicalNames
$Nodes
13
1 0 0 0
2 1 0 0
3 0 1 0
4 -1 0 0
5 0 -1 0
6 0.5 0 0
7 0 0.5 0
8 -0.5 0 0
9 0 -0.5 0
10 0.7071067811865476 0.7071067811865476 0
11 -0.7071067811865476 0.7071067811865476 0
12 -0.7071067811865476 -0.7071067811865476 0
13 0.7071067811865476 -0.7071067811865476 0
$EndNodes
$Elements
8
1 8 2 1 1 2 3 10
2 8 2 1 1 3 4 11
3 8 2 1 1 4 5 12
4 8 2 1 1 5 2 13
5 9 2 2 1 1 2 3 6 10 7
6 9 2 2 1 1 3 4 7 11 8
7 9 2 2 1 1 4 5 8 12 9
8 9 2 2 1 1 5 2 9 13 6
$EndElements
"""


def test_second_order_triangles_of_gmsh_are_bent_cells_or_straight_ones(tmp_path):
    file = tmp_path / "disc.msh"
    file.write_text(RING6)
    mesh = pp.io.read_mesh(file)
    assert len(mesh.points) == 5
    assert len(mesh.cells) == 4
    assert mesh.middles.source == "disc.msh"
    assert sorted(map(tuple, mesh.middles.edges.tolist())) == [(1, 2), (1, 4), (2, 3), (3, 4)]
    assert np.allclose(np.hypot(*mesh.middles.points.T), 1.0)
    assert len(mesh.facets("rim")) == 4
    flat = pp.io.read_mesh(file, straight=True)
    assert flat.middles is None
    assert "0.293" in flat.remarks[0]
    problem = pp.fem.ReactionDiffusion(flat, source=1.0)
    certificate = pp.certify(problem, problem.space.U0, problem.points([[0.1, 0.1]]))
    assert any("mid-side" in note for note in certificate.notes)
    with pytest.raises(pp.InputError, match="straight=True"):
        pp.fem.Elasticity(mesh, young=1.0, poisson=0.3, fixed={"rim": [0, 0]})


def test_ten_node_tetrahedra_have_the_same_edges_in_both_orders():
    X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    pairs = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]
    middle = np.array([0.5 * (X[a] + X[b]) for a, b in pairs])
    middle[5] += [0.02, 0.03, 0.03]
    blocks = Blocks(np.concatenate([X, middle]), [Block("tetra10", np.arange(10)[None, :])])
    file, sides, _ = simplified(blocks)
    mesh = build_mesh(file, sides)
    assert mesh.middles.edges.tolist() == [[2, 3]]
    assert len(mesh.points) == 4


@pytest.mark.parametrize("kind", ["hexahedron", "wedge", "pyramid"])
def test_cells_are_cut_into_their_volume_whatever_the_numbers_of_their_vertices(kind):
    X = {
        "hexahedron": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]],
        "wedge": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]],
        "pyramid": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.3, 0.4, 1]],
    }[kind]
    size = {"hexahedron": 1.0, "wedge": 0.5, "pyramid": 1.0 / 3.0}[kind]
    X, rng = np.array(X, dtype=float), np.random.default_rng(7)
    for _ in range(20):
        number = rng.permutation(len(X))
        points = np.empty_like(X)
        points[number] = X
        made = cut(Block(kind, number[None, :], {"all": np.array([0])}))
        V = points[made.cells]
        volumes = np.abs(np.linalg.det(V[:, 1:] - V[:, :1])) / 6.0
        assert np.isclose(volumes.sum(), size)
        assert volumes.min() > 1e-3
        assert made.groups["all"].tolist() == list(range(len(made.cells)))
        for face in FACES[kind]:  # every face is cut from its smallest vertex
            if len(face) == 4:
                v = number[list(face)]
                k = int(np.argmin(v))
                edge = {int(v[k]), int(v[(k + 2) % 4])}
                assert any(edge <= set(t.tolist()) for t in made.cells)


def test_hexahedra_and_their_faces_make_one_mesh_and_say_so():
    n = 3
    line = np.linspace(0.0, 1.0, n + 1)
    grid = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    at = lambda i, j, k: (i * (n + 1) + j) * (n + 1) + k  # noqa: E731
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
    cells = [[at(i + a, j + b, k + c) for a, b, c in corners] for i in range(n) for j in range(n) for k in range(n)]
    floor = [[at(i, j, 0), at(i + 1, j, 0), at(i + 1, j + 1, 0), at(i, j + 1, 0)] for i in range(n) for j in range(n)]
    rng = np.random.default_rng(2)
    number = rng.permutation(len(grid))
    points = np.empty_like(grid)
    points[number] = grid
    blocks = [
        Block("hexahedron", number[np.array(cells)]),
        Block("quad", number[np.array(floor)], {"floor": np.arange(n * n)}),
    ]
    file, sides, said = simplified(Blocks(points, blocks))
    mesh = build_mesh(file, sides, remarks=said)
    assert sides is None
    assert np.isclose(mesh.volumes.sum(), 1.0)
    assert np.isclose(mesh.facet_measures(mesh.facets("floor")).sum(), 1.0)
    assert said[0].startswith("27 hexahedra were cut into 162 tetrahedra; intervals")
    problem = pp.fem.ReactionDiffusion(mesh, source=1.0)
    certificate = pp.certify(problem, problem.space.U0, problem.points([[0.5, 0.5, 0.5]]))
    assert certificate.contains([0.0562128298294354]).all()
    assert any("hexahedra" in note for note in certificate.notes)
    with pytest.raises(pp.InputError, match="cut into simplices"):
        pp.certify(problem, problem.space.U0, problem.points([[0.5, 0.5, 0.5]]), target="discrete")
    moving = pp.fem.Parabolic(mesh, source=1.0, end=0.1, steps=2)
    with pytest.raises(pp.InputError, match="cut into simplices"):  # curved.md, step 4a
        pp.certify(moving, moving.space.U0, moving.points([[0.5, 0.5, 0.5]], time=0.1), target="discrete")


ABAQUS6 = """*NODE
1, 0, 0
2, 1, 0
3, 0, 1
4, -1, 0
5, 0, -1
6, 0.5, 0
7, 0, 0.5
8, -0.5, 0
9, 0, -0.5
10, 0.7071067811865476, 0.7071067811865476
11, -0.7071067811865476, 0.7071067811865476
12, -0.7071067811865476, -0.7071067811865476
13, 0.7071067811865476, -0.7071067811865476
*ELEMENT, TYPE={kind}, ELSET=body
1, 1, 2, 3, 6, 10, 7
2, 1, 3, 4, 7, 11, 8
3, 1, 4, 5, 8, 12, 9
4, 1, 5, 2, 9, 13, 6
*NSET, NSET=rim
2, 3, 4, 5, 10, 11, 12, 13
"""


def nastran(abaqus: str) -> str:
    """The same mesh as bulk data: coordinates of nodes have a point, elements are CTRIA6."""
    rows = [[w.strip() for w in line.split(",")] for line in abaqus.splitlines() if line[0].isdigit()]
    grids = [f"GRID,{i},,{float(x)!r},{float(y)!r},0.0" for i, x, y in (r for r in rows if len(r) == 3)]
    return "\n".join(["BEGIN BULK", *grids, *(f"CTRIA6,{r[0]},7,{','.join(r[1:])}" for r in rows if len(r) == 7)])


@pytest.mark.parametrize("kind", ["CPS6", "CPE6H", "DC2D6", "CTRIA6"])
def test_second_order_elements_of_decks_are_a_mesh_with_its_own_geometry(tmp_path, kind):
    (tmp_path / "disc.msh").write_text(RING6)
    file = tmp_path / ("disc.bdf" if kind == "CTRIA6" else "disc.inp")
    text = ABAQUS6.format(kind=kind)
    file.write_text(nastran(text) if kind == "CTRIA6" else text)
    wanted, mesh = pp.io.read_mesh(tmp_path / "disc.msh"), pp.io.read_mesh(file)
    assert np.array_equal(mesh.points, wanted.points)
    assert np.array_equal(np.sort(mesh.cells, axis=1), np.sort(wanted.cells, axis=1))
    assert np.array_equal(mesh.middles.edges, wanted.middles.edges)
    assert np.array_equal(mesh.middles.points, wanted.middles.points)
    assert mesh.middles.source == file.name
    assert list(mesh.cell_groups) == (["7"] if kind == "CTRIA6" else ["body"])
    if kind != "CTRIA6":
        assert len(mesh.facets("rim")) == 4
    assert "0.293" in pp.io.read_mesh(file, straight=True).remarks[0]


def test_lines_with_a_node_between_their_ends_name_boundary_groups_wherever_it_stands(tmp_path):
    file = tmp_path / "disc.inp"
    lines = "*ELEMENT, TYPE=T3D3, ELSET=arc\n5, 2, 3, 10\n6, 3, 11, 4\n"
    file.write_text(ABAQUS6.format(kind="CPS6") + lines)
    assert sorted(map(tuple, np.sort(pp.io.read_mesh(file).facets("arc")).tolist())) == [(1, 2), (2, 3)]


def test_bars_beside_the_cells_of_a_nastran_mesh_are_left_out_and_told(tmp_path, caplog):
    file = tmp_path / "disc.bdf"
    text = nastran(ABAQUS6.format(kind="CPS6"))
    file.write_text(text)
    wanted = pp.io.read_mesh(file)
    file.write_text(f"{text}\nCBAR,9,1,2,3,10\n")
    mesh = pp.io.read_mesh(file)
    assert np.array_equal(mesh.cells, wanted.cells)
    assert np.array_equal(mesh.middles.points, wanted.middles.points)
    assert "1 elements CBAR along lines belong to no mesh of cells" in caplog.text


@pytest.mark.parametrize("suffix", ["inp", "bdf"])
def test_ten_node_tetrahedra_of_decks_keep_every_mid_side_node_on_its_edge(tmp_path, suffix):
    X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    pairs = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]  # the order of both manuals
    off = 0.01 * np.arange(1, 7)
    middle = np.array([0.5 * (X[a] + X[b]) for a, b in pairs]) + off[:, None] * [0.0, 0.0, -1.0]
    rows = np.concatenate([X, middle]).tolist()
    file = tmp_path / f"one.{suffix}"
    if suffix == "inp":
        nodes = "\n".join(f"{i}, {x!r}, {y!r}, {z!r}" for i, (x, y, z) in enumerate(rows, 1))
        file.write_text(f"*NODE\n{nodes}\n*ELEMENT, TYPE=C3D10MH\n1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10\n")
    else:
        nodes = "\n".join(f"GRID,{i},,{x!r},{y!r},{z!r}" for i, (x, y, z) in enumerate(rows, 1))
        file.write_text(f"BEGIN BULK\n{nodes}\nCTETRA,1,1,1,2,3,4,5,6\n,7,8,9,10\nENDDATA\n")
    mesh = pp.io.read_mesh(file)
    found = {tuple(e): d for e, d in zip(mesh.middles.edges.tolist(), mesh.middles.distances(X), strict=True)}
    assert found == pytest.approx({tuple(sorted(e)): d for e, d in zip(pairs, off, strict=True)})


@pytest.mark.parametrize(("last", "words"), [(3, "point 3: is a vertex and"), (4, "point 4: is in the middle of two")])
def test_a_mid_side_node_belongs_to_one_side_and_is_no_vertex(last, words):
    cells = np.array([[0, 1, 2, 3, 4, 5, 6, 7, 8, last]])
    with pytest.raises(pp.InputError, match=words):
        simplified(Blocks(np.random.default_rng(0).normal(size=(10, 3)), [Block("tetra10", cells)]))
