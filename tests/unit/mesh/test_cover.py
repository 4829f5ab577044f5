"""A mesh covers its domain once: cells that overlap are refused, wherever they are; cells that touch are not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.mesh.cover import _deep, first_overlap
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh


def both(mesh, other=None, shift=0.0):
    """Two meshes in one, not joined, the second one moved."""
    other = mesh if other is None else other
    return np.concatenate([mesh.points, other.points + shift]), np.concatenate(
        [mesh.cells, other.cells + len(mesh.points)]
    )


OVERLAPS = {
    "intervals": both(generate("interval", 8), shift=0.53),
    "squares": both(generate("square", 6), shift=[0.53, 0.0]),
    "squares that share lines": both(generate("square", 4), shift=[0.5, 0.0]),
    "the same square twice": both(generate("square", 3)),
    "a triangle inside a square": both(generate("square", 2), Mesh([[0.1, 0.1], [0.2, 0.1], [0.1, 0.2]], [[0, 1, 2]])),
    "a small cell deep inside a large one": both(
        generate("square", 1), Mesh([[0.7, 0.2], [0.7 + 1e-6, 0.2], [0.7, 0.2 + 1e-6]], [[0, 1, 2]])
    ),
    "cubes": both(generate("cube", 3), shift=[0.4, 0.3, 0.2]),
    "cubes that share planes": both(generate("cube", 2), shift=[0.5, 0.0, 0.0]),
    "the same cube twice": both(generate("cube", 2)),
    "a cube that goes one millionth into another": both(generate("cube", 2), shift=[1.0 - 1e-6, 0.0, 0.0]),
    "far from the origin": both(generate("square", 4), shift=[0.53, 0.0]),
}


def ramp(turns: float, count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """A strip around the origin that meets itself after one turn."""
    angle = np.linspace(0.0, 2.0 * math.pi * turns, count + 1)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    a, b = np.arange(count), np.arange(count) + count + 1
    return np.concatenate([ring, 2.0 * ring]), np.concatenate(
        [np.stack([a, b, b + 1], axis=1), np.stack([a, b + 1, a + 1], axis=1)]
    )


@pytest.mark.parametrize("name", OVERLAPS)
def test_cells_that_overlap_without_a_common_facet_are_refused_with_both_cells_and_the_place(name):
    X, T = OVERLAPS[name]
    with pytest.raises(pp.InputError, match=r"cells: \d+ and \d+ overlap near \[.*covers its domain once") as caught:
        Mesh(X + (1e3 if name == "far from the origin" else 0.0), T)
    assert "\n" not in str(caught.value)


def test_a_strip_that_winds_round_more_than_once_is_refused():
    Mesh(*ramp(0.9))
    with pytest.raises(pp.InputError, match="overlap near"):
        Mesh(*ramp(1.1))


TOUCHING = {
    "squares side by side, nodes not merged": both(generate("square", 4), shift=[1.0, 0.0]),
    "squares side by side with other nodes": both(generate("square", 4), generate("square", 3), [1.0, 0.0]),
    "squares that meet in a corner": both(generate("square", 3), shift=[1.0, 1.0]),
    "cubes side by side with other nodes": both(generate("cube", 2), generate("cube", 3), [0.0, 1.0, 0.0]),
    "cubes along an edge": both(generate("cube", 2), shift=[1.0, 1.0, 0.0]),
    "intervals end to end": both(generate("interval", 4), shift=1.0),
    "a slit whose sides differ by rounding": both(generate("square", 4), shift=[1.0 - 1e-12, 0.0]),
    "a whole turn, its ends not merged": ramp(1.0),
}


@pytest.mark.parametrize("scale", [1e-90, 1.0, 1e90])
@pytest.mark.parametrize("name", TOUCHING)
def test_cells_that_only_touch_are_a_mesh(name, scale):
    X, T = TOUCHING[name]
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((X.shape[1],) * 2))[0]
    Mesh(scale * X, T)
    Mesh(scale * (X @ turn + 100.0), T)


@pytest.mark.parametrize("kind", ["square", "cube", "lshape", "fichera", "frame", "dumbbell"])
def test_moved_and_squeezed_meshes_are_not_refused(kind):
    mesh, rng = generate(kind, 4), np.random.default_rng(7)
    X = mesh.points + 0.03 * rng.uniform(-1.0, 1.0, mesh.points.shape)
    squeeze = np.array([1.0, 1e-5, 1e-3])[: mesh.dim]
    turn = np.linalg.qr(rng.standard_normal((mesh.dim, mesh.dim)))[0]
    for points in (mesh.points, X, X * squeeze, (X * squeeze) @ turn, X + 1e5):
        Mesh(points, mesh.cells)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_two_simplices_overlap_exactly_when_a_ball_fits_into_both(dim):
    rng = np.random.default_rng(dim)
    A, B = rng.uniform(size=(2, 120, dim + 1, dim))
    B += 0.4 * rng.uniform(-1.0, 1.0, (120, 1, dim))
    B[:30, 0] = A[:30, 0]  # a common vertex
    radius = np.array([largest_ball(a, b) for a, b in zip(A, B, strict=True)])
    found = np.isin(np.arange(120), _deep(A, B, 1e-9))
    height = np.array([min(largest_ball(a, a), largest_ball(b, b)) for a, b in zip(A, B, strict=True)])
    clear = (radius <= 0.0) | (radius > 0.01 * height)
    assert np.array_equal(found[clear], radius[clear] > 0.0)
    assert found.any()
    assert clear.sum() > 100


def largest_ball(a, b) -> float:
    """The radius of the largest ball in two simplices; negative where they are apart."""
    rows, limits = [], []
    for simplex in (a, b):
        E = np.linalg.inv(np.vstack([simplex.T, np.ones(len(simplex))]))  # λ = E (x, 1)
        size = np.linalg.norm(E[:, :-1], axis=1, keepdims=True)
        rows.append(np.hstack([-E[:, :-1] / size, np.ones((len(E), 1))]))
        limits.append(E[:, -1] / size[:, 0])
    cost = np.zeros(a.shape[1] + 1)
    cost[-1] = -1.0
    free = [(None, None)] * len(cost)
    return float(linprog(cost, np.vstack(rows), np.concatenate(limits), bounds=free).x[-1])


def test_boundary_cells_are_enough_where_only_a_boundary_meets_an_inner_cell():
    X, T = both(generate("square", 12), generate("square", 2), np.array([0.0, 0.0]))
    X[-9:] = 0.4 + 0.2 * X[-9:]  # a small square in the middle of the large one, whose own boundary is far away
    mesh = generate("square", 12)
    outer = np.flatnonzero(np.isin(mesh.cells, mesh.boundary).sum(axis=1) >= 2)
    assert first_overlap(mesh.points, mesh.cells, outer) is None
    with pytest.raises(pp.InputError, match="overlap near"):
        Mesh(X, T)


def slit(overlap: float) -> pp.fem.ReactionDiffusion:
    """Two squares, not joined, one a little over the other: u = 1 on the left one and 2 on the right one."""
    square = generate("square", 4)
    X, T = both(square, shift=[1.0 - overlap, 0.0])
    ends = {"far left": square.facet_groups["left"], "far right": square.facet_groups["right"] + len(square.points)}
    mesh = Mesh(X, T, facet_groups=ends)
    return pp.fem.ReactionDiffusion(mesh, source=0.0, dirichlet={"far left": 1.0, "far right": 2.0})


@pytest.mark.parametrize(("x", "truth"), [(0.75, 1.0), (1.25, 2.0)])
def test_beside_a_slit_whose_sides_overlap_a_little_each_side_has_its_own_solution(x, truth):
    problem = slit(1.5e-9)
    found = pp.certify(problem, problem.space.U0, problem.points([[x, 0.4]]))
    assert abs(found.center[0] - truth) <= found.radius[0] < 0.01


def test_a_point_that_both_sides_of_a_slit_cover_is_refused():
    problem = slit(1.5e-9)
    with pytest.raises(pp.CertificationError, match=r"mass 1\.0, but the cells hold 1\.99"):
        pp.certify(problem, problem.space.U0, problem.points([[1.0 - 0.75e-9, 0.4]]))


def test_check_and_certify_refuse_a_file_of_overlapping_parts(tmp_path, capsys):
    X, T = OVERLAPS["squares"]
    lines = ["# vtk DataFile Version 3.0", "two", "ASCII", "DATASET UNSTRUCTURED_GRID", f"POINTS {len(X)} double"]
    lines += [f"{x!r} {y!r} 0.0" for x, y in X.tolist()]
    lines += [f"CELLS {len(T)} {4 * len(T)}", *(f"3 {a} {b} {c}" for a, b, c in T)]
    lines += [f"CELL_TYPES {len(T)}", *(["5"] * len(T))]
    (tmp_path / "two.vtk").write_text("\n".join(lines) + "\n")
    case = tmp_path / "case.toml"
    case.write_text(
        '[mesh]\nfile = "two.vtk"\n[problem]\nkind = "reaction-diffusion"\nsource = 1.0\n'
        "[problem.dirichlet]\nboundary = 0.0\n[prediction]\nzero = true\n"
        '[[query]]\nname = "c"\nkind = "point"\nat = [0.25, 0.5]\n'
    )
    for command in (["check", str(case)], ["certify", str(case), "--out", str(tmp_path / "out")]):
        assert main(command) == 2
        assert "overlap near" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
