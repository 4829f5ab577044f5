"""Second-order quadrilaterals, hexahedra, prisms and pyramids: cut into second-order simplices of the same domain."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem.curved.bending import Bending
from pinnpoint.io.meshes import simplices
from pinnpoint.io.meshes.blocks import Block, Blocks, build_mesh
from pinnpoint.io.meshes.diagonals import EDGES, PLAIN, QUADS

GMSH = {  # the edges of Gmsh's mid-side nodes, in the order of its manual
    "hexahedron20": "01 03 04 12 15 23 26 37 45 47 56 67",
    "wedge15": "01 02 03 12 14 25 34 35 45",
    "pyramid13": "01 03 04 12 14 23 24 34",
}
NUMBER = {"hexahedron20": 17, "wedge15": 18, "pyramid13": 19}
CORNERS = {
    "hexahedron20": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]],
    "wedge15": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]],
    "pyramid13": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.4, 0.5, 1]],
}
SHELL = {"wall": lambda x, y, z: ((1 + x) * np.cos(y), (1 + x) * np.sin(y), z)}
SHELL["dome"] = lambda x, y, z: tuple((1 + x) * v for v in (np.cos(y) * np.cos(z), np.sin(y) * np.cos(z), np.sin(z)))


def bricks(place, n, centres):
    """n × n × 1 hexahedra with 20 nodes, or 27 in an order of its own, whose nodes a map has placed."""
    unit = np.array(CORNERS["hexahedron20"])
    middles = [(unit[a] + unit[b]) / 2 for a, b in EDGES["hexahedron"]]
    more = [unit.mean(axis=0), *(unit[list(f)].mean(axis=0) for f in QUADS["hexahedron"])]
    local = np.array([*unit, *middles, *(more if centres else [])])
    steps = np.array([(0, i, j) for i in range(n) for j in range(n)])
    X = (local[None] + steps[:, None]) * [0.5, 0.9 / n, 0.8 / n]
    keys, cells = np.unique(X.reshape(-1, 3).round(9), axis=0, return_inverse=True)
    return np.stack(place(*keys.T), axis=1), cells.reshape(len(X), -1)


def made(X, kind, cells):
    """The cut mesh."""
    file, sides, remarks = simplices.simplified(Blocks(X, [Block(kind, cells)]))
    return build_mesh(file, sides, "bricks", remarks)


def volume(X, cells):
    """Of hexahedra with 20 nodes by their own maps, from the shape functions' textbook formulas."""
    unit = 2.0 * np.array(CORNERS["hexahedron20"]) - 1.0
    nodes = np.array([*unit, *[(unit[a] + unit[b]) / 2 for a, b in EDGES["hexahedron"]]])
    powers = np.array([p for p in np.ndindex(3, 3, 3) if sum(p) - sum(np.array(p) == 1) <= 2])

    def table(x, k=None):
        q = powers.astype(float)
        base = [x[i] ** powers[:, i] if i != k else q[:, i] * x[i] ** np.maximum(powers[:, i] - 1, 0) for i in range(3)]
        return np.prod(base, axis=0)

    assert len(powers) == 20  # the serendipity space
    inverse = np.linalg.inv(np.array([table(x) for x in nodes]))
    g, w = np.polynomial.legendre.leggauss(4)
    total = 0.0
    for i, j, k in np.ndindex(4, 4, 4):
        slopes = np.stack([table((g[i], g[j], g[k]), axis) @ inverse for axis in range(3)])
        total += w[i] * w[j] * w[k] * np.linalg.det(np.einsum("an,cnd->cad", slopes, X[cells[:, :20]])).sum()
    return abs(total)


@pytest.mark.parametrize("centres", [False, True])
def test_hexahedra_under_a_cylinder_keep_their_volume(centres):
    X, cells = bricks(SHELL["wall"], 2, centres)
    mesh = made(X, "hexahedron27" if centres else "hexahedron20", cells)
    assert len(mesh.cells) == 24
    assert "hexahedra of second order were cut into 24 tetrahedra;" in mesh.remarks[0]
    assert "off the cut ones" not in mesh.remarks[0]
    assert Bending.of(mesh, None).size_of(mesh.cells) == pytest.approx(volume(X, cells), rel=1e-12)


def test_faces_that_two_triangles_do_not_follow_are_told(monkeypatch):
    X, cells = bricks(SHELL["dome"], 2, False)
    mesh = made(X, "hexahedron20", cells)
    (away,) = (float(part.split(" ")[0]) for part in mesh.remarks[0].split("up to ")[1:])
    true, bending = volume(X, cells), Bending.of(mesh, None)
    area = bending.size_of(mesh.boundary)
    assert 1e-6 < away < 1e-3
    off = abs(bending.size_of(mesh.cells) - true)
    assert off < away * area
    straight = lambda faces, X: (X, np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int), 0.0)  # noqa: E731
    monkeypatch.setattr(simplices, "bent", straight)
    mesh = made(X, "hexahedron20", cells)
    assert abs(Bending.of(mesh, None).size_of(mesh.cells) - true) > 5.0 * off


@pytest.mark.parametrize("kind", ["quad8", "quad9"])
def test_quadrilaterals_with_curved_sides_keep_their_area_and_straight_diagonals(kind):
    angle, r = np.meshgrid(np.linspace(0.0, 1.2, 5), np.linspace(1.0, 2.0, 5), indexing="ij")
    X = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1).reshape(-1, 2)
    at = np.arange(25).reshape(5, 5)
    places = [(0, 0), (0, 2), (2, 2), (2, 0), (0, 1), (1, 2), (2, 1), (1, 0), (1, 1)][: 8 if kind == "quad8" else 9]
    cells = np.array([[at[2 * i + a, 2 * j + b] for a, b in places] for i in range(2) for j in range(2)])
    mesh = made(X, kind, cells)
    rim = [at[0, j] for j in range(5)] + [at[i, 4] for i in range(1, 5)]
    rim += [at[4, j] for j in range(3, -1, -1)] + [at[i, 0] for i in range(3, -1, -1)]
    area = 0.0  # ½∮ x dy − y dx along quadratic sides: exact by Simpson's rule of two factors of degree 2 and 1
    for a, m, b in zip(rim[0:-2:2], rim[1:-1:2], rim[2::2], strict=True):
        P, M, Q = X[a], X[m], X[b]
        x, dx = (P, M, Q), (4 * M - 3 * P - Q, Q - P, 3 * Q - 4 * M + P)
        terms = [p[0] * d[1] - p[1] * d[0] for p, d in zip(x, dx, strict=True)]
        area += (terms[0] + 4 * terms[1] + terms[2]) / 12
    bending = Bending.of(mesh, None)
    assert bending.size_of(mesh.cells) == pytest.approx(abs(area), rel=1e-12)
    lines = {tuple(sorted(edge)) for edge in mesh.middles.edges.tolist()}
    outer = {
        tuple(sorted(edge)) for edge in np.concatenate([mesh.cells[:, p] for p in ([0, 1], [1, 2], [0, 2])]).tolist()
    }
    assert lines < outer
    assert len(lines) == 6  # the arcs of the inner, the middle and the outer circle


@pytest.mark.parametrize("kind", GMSH)
def test_gmshs_order_of_nodes_is_its_own(tmp_path, kind):
    V = np.array(CORNERS[kind], dtype=float)
    pairs = [(int(a), int(b)) for a, b in GMSH[kind].split()]
    X = np.array([*V, *[(V[a] + V[b]) / 2 for a, b in pairs]])
    X[len(V) + 4] += 0.03  # the fifth mid-side node is off its edge
    nodes = "\n".join(f"{i + 1} {x!r} {y!r} {z!r}" for i, (x, y, z) in enumerate(X.tolist()))
    every = " ".join(str(i + 1) for i in range(len(X)))
    file = tmp_path / "one.msh"
    file.write_text(
        f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{len(X)}\n{nodes}\n$EndNodes\n"
        f"$Elements\n1\n1 {NUMBER[kind]} 0 {every}\n$EndElements\n"
    )
    mesh = pp.io.read_mesh(file)
    bent = {tuple(edge) for edge in mesh.middles.edges.tolist()}
    assert pairs[4] in bent
    faces = [f for f in QUADS[PLAIN[kind][0]] if set(pairs[4]) <= set(f)]
    diagonals = {tuple(sorted((f[k], f[k - 2]))) for f in faces for k in range(4)}
    assert bent <= {pairs[4], *diagonals}
    assert len(bent) == 1 + len(faces)


@pytest.mark.parametrize(("kind", "name"), [("hexahedron", "C3D8R"), ("hexahedron20", "C3D20R")])
def test_hexahedra_of_abaqus_files_are_cut_with_their_surfaces(tmp_path, kind, name):
    X, cells = bricks(SHELL["wall"], 2, False)
    cells = cells[:, : 8 if kind == "hexahedron" else 20]
    used, cells = np.unique(cells, return_inverse=True)
    X, cells = X[used], cells.reshape(4, -1)
    nodes = "\n".join(f"{i}, {x!r}, {y!r}, {z!r}" for i, (x, y, z) in enumerate(X.tolist(), 1))
    rows = "\n".join(", ".join(str(v) for v in [k, *(row + 1)]) for k, row in enumerate(cells, 1))
    file = tmp_path / "wall.inp"
    file.write_text(f"*NODE\n{nodes}\n*ELEMENT, TYPE={name}, ELSET=body\n{rows}\n*SURFACE, NAME=inside\nbody, S6\n")
    mesh, wanted = pp.io.read_mesh(file), made(X, kind, cells)
    assert np.array_equal(mesh.points, wanted.points)
    assert np.array_equal(mesh.cells, wanted.cells)
    assert (mesh.middles is None) == (kind == "hexahedron")
    if mesh.middles is not None:
        assert np.array_equal(mesh.middles.points, wanted.middles.points)
    inside = mesh.facets("inside")  # S6 has the nodes 4, 8, 5 and 1: x = 0 of the brick, the inner radius
    assert len(inside) == 8
    assert np.allclose(np.hypot(*mesh.points[np.unique(inside)][:, :2].T), 1.0)
    assert len(mesh.cell_groups["body"]) == 24


def test_quadrilaterals_of_abaqus_files_are_cut_with_their_sides(tmp_path):
    file = tmp_path / "two.inp"
    nodes = "\n".join(f"{1 + 3 * j + i}, {i}, {j}" for j in range(2) for i in range(3))
    file.write_text(
        f"*NODE\n{nodes}\n*ELEMENT, TYPE=CPS4R, ELSET=plate\n1, 1, 2, 5, 4\n2, 2, 3, 6, 5\n"
        "*SURFACE, NAME=right\n2, S2\n"
    )
    mesh = pp.io.read_mesh(file)
    assert len(mesh.cells) == 4
    assert sorted(mesh.facets("right").ravel().tolist()) == [2, 5]
    assert "2 quadrilaterals were cut into 4 triangles" in mesh.remarks[0]
