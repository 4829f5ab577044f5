"""One part with a curved lid in four forms: their intervals hold the same truth, which is off the straight mesh's."""

from __future__ import annotations

import meshio
import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.facets import edge_table
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.middles import Middles

N, RISE = 2, 0.3
VALUE = "exp(x)*sin(y + 0.3) + z"
LID = pp.LevelSet(f"z - 1 - {RISE}*x*(1 - x)")
"""A parabola: cells of second order follow it exactly."""
SIDES = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]
"""Of a tetrahedron, as decks have its mid-side nodes."""


def raised(X):
    """Points of the cube in the part."""
    lifted = np.array(X, dtype=float)
    lifted[:, 2] *= 1.0 + RISE * lifted[:, 0] * (1.0 - lifted[:, 0])
    return lifted


def tetrahedra() -> Mesh:
    """Of first order, and the group of the lid."""
    cube = pp.io.generate("cube", N)
    lid = cube.boundary[(cube.points[cube.boundary][:, :, 2] == 1.0).all(axis=1)]
    return Mesh(raised(cube.points), cube.cells, {}, {"lid": lid})


def bent_tetrahedra() -> Mesh:
    """Of second order: the sides of the lid's faces are bent."""
    mesh, cube = tetrahedra(), pp.io.generate("cube", N)
    edges = edge_table(mesh.facets("lid"), len(mesh.points))[0]
    return Mesh(mesh.points, mesh.cells, {}, {}, middles=Middles(edges, raised(cube.points[edges].mean(axis=1))))


def hexahedra(folder) -> Mesh:
    """Of second order, 20 nodes."""
    a = np.arange(N)
    low = np.stack(np.meshgrid(a, a, a, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    corner = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])
    ends = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)]
    places = np.concatenate([2 * corner, np.array([corner[i] + corner[j] for i, j in ends])])
    every, number = np.unique((2 * low + places).reshape(-1, 3), axis=0, return_inverse=True)
    X = raised(every / (2 * N))
    inside = (every[:, 0] % 2 == 1) & (every[:, 2] < 2 * N)  # only the lid is bent
    ends = [every[inside] + side for side in ([1, 0, 0], [-1, 0, 0])]
    X[inside] = np.mean([raised(e / (2 * N)) for e in ends], axis=0)
    meshio.write(folder / "part.vtu", meshio.Mesh(X, [("hexahedron20", number.reshape(-1, 20))]))
    return pp.io.read_mesh(folder / "part.vtu")


def deck(folder) -> Mesh:
    """Abaqus' C3D10."""
    mesh = bent_tetrahedra()
    edges = edge_table(mesh.cells, len(mesh.points))[0]
    middle = mesh.points[edges].mean(axis=1)
    number = {tuple(edge): i for i, edge in enumerate(edges.tolist())}
    middle[[number[tuple(edge)] for edge in mesh.middles.edges.tolist()]] = mesh.middles.points
    count = len(mesh.points)
    lines = ["*NODE"]
    lines += [f"{i + 1}, {x!r}, {y!r}, {z!r}" for i, (x, y, z) in enumerate([*mesh.points.tolist(), *middle.tolist()])]
    lines.append("*ELEMENT, TYPE=C3D10, ELSET=PART")
    for i, cell in enumerate(mesh.cells.tolist()):
        sides = [count + number[tuple(sorted((cell[a], cell[b])))] for a, b in SIDES]
        lines.append(", ".join(str(k) for k in [i + 1, *(v + 1 for v in cell + sides)]))
    (folder / "part.inp").write_text("\n".join(lines) + "\n")
    return pp.io.read_mesh(folder / "part.inp")


def certified(mesh, **more):
    """The mean over the part of a harmonic function that is given all around."""
    problem = pp.fem.ReactionDiffusion(mesh, 0.0, dirichlet={"boundary": VALUE}, degree=2, **more)
    return pp.certify(problem, problem.space.U0, problem.mean())


def truth() -> float:
    """The same by Gauss's rule."""
    t, w = np.polynomial.legendre.leggauss(20)
    x, w = 0.5 * (1.0 + t), 0.5 * w
    H = 1.0 + RISE * x * (1.0 - x)
    wave = (w * np.exp(x) * H).sum() * (w * np.sin(x + 0.3)).sum()
    return float((wave + (w * 0.5 * H * H).sum()) / (w * H).sum())


@pytest.mark.slow
def test_one_part_in_four_forms_has_one_value(tmp_path):
    found = {
        "first order": certified(tetrahedra(), geometry={"lid": LID}),
        "second order": certified(bent_tetrahedra()),
        "hexahedra": certified(hexahedra(tmp_path)),
        "deck": certified(deck(tmp_path)),
    }
    for name, certificate in found.items():
        assert certificate.contains([truth()]).all(), name
        assert certificate.guarantee == "deterministic", name
    straight = certified(tetrahedra())
    assert not straight.contains([truth()]).any()
    assert not any("looks curved" in note for note in found["first order"].notes)
    assert "hexahedra of second order were cut into" in " ".join(found["hexahedra"].notes)
    assert "isoparametric domain of part.inp" in " ".join(found["deck"].notes)
