"""Boundaries that look curved are told of, with the size of the gap; corners are not."""

from __future__ import annotations

import json

import numpy as np
import pytest
import skfem

import pinnpoint as pp
from pinnpoint.certifiers.tolerance import certify_to
from pinnpoint.cli.main import main
from pinnpoint.fem.conversion import as_mesh
from pinnpoint.mesh.curves import curve_notes, curves
from pinnpoint.mesh.mesh import Mesh


def polygon(n, refine=0, radius=1.0):
    """A regular polygon, its sides cut 2**refine times."""
    a = 2.0 * np.pi * np.arange(n) / n
    points = np.concatenate([[[0.0, 0.0]], radius * np.stack([np.cos(a), np.sin(a)], axis=1)])
    cells = np.stack([np.zeros(n, dtype=int), 1 + np.arange(n), 1 + (np.arange(n) + 1) % n])
    mesh = skfem.MeshTri(points.T.copy(), cells)
    return as_mesh(mesh.refined(refine) if refine else mesh)


def ring(inner, outer, n, layers=3, part=1.0):
    """Quarters or whole of a ring, its hole and rim named."""
    m = n if part == 1.0 else n + 1
    angle = 2.0 * np.pi * part * np.arange(m) / n
    radius = np.linspace(inner, outer, layers + 1)
    points = (radius[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)[None]).reshape(-1, 2)
    i, j = (a.ravel() for a in np.meshgrid(np.arange(layers), np.arange(n), indexing="ij"))
    a, b, c, d = i * m + j, i * m + (j + 1) % m, (i + 1) * m + j, (i + 1) * m + (j + 1) % m
    cells = np.concatenate([np.stack([a, c, d], axis=1), np.stack([a, d, b], axis=1)])
    k = np.arange(n)
    facets = {"hole": np.stack([k, (k + 1) % m], axis=1)}
    facets["rim"] = facets["hole"] + layers * m
    return Mesh(points, cells, facet_groups=facets)


def tube(inner, outer, height, n, layers=3):
    """A tube of tetrahedra over a ring."""
    flat = ring(inner, outer, n, 1)
    N = len(flat.points)
    z = np.linspace(0.0, height, layers + 1)
    points = np.concatenate([np.column_stack([flat.points, np.full(N, h)]) for h in z])
    order = np.sort(flat.cells, axis=1)
    a, b, c = order.T
    low = [np.stack(t, axis=1) for t in ((a, b, c, c + N), (a, b, b + N, c + N), (a, a + N, b + N, c + N))]
    return Mesh(points, np.concatenate([t + k * N for k in range(layers) for t in low]))


def sagitta(radius, n):
    return radius * (1.0 - np.cos(np.pi / n))


@pytest.mark.parametrize("n", [9, 12, 16, 48, 200])
def test_a_disk_is_told_with_its_sagitta(n):
    (curve,) = curves(polygon(n, radius=2.0))
    assert curve.facets == n
    assert curve.turn == pytest.approx(360.0 / n)
    assert curve.gap == pytest.approx(sagitta(2.0, n), rel=0.05)


@pytest.mark.parametrize("refine", [1, 3])
def test_a_refined_disk_is_told_too(refine):
    (curve,) = curves(polygon(48, refine))
    assert curve.facets == 48
    assert curve.gap == pytest.approx(sagitta(1.0, 48), rel=0.05)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 8])
@pytest.mark.parametrize("refine", [0, 2])
def test_polygons_with_corners_are_not_curves(n, refine):
    assert curves(polygon(n, refine)) == ()


@pytest.mark.parametrize("kind", ["interval", "square", "lshape", "dumbbell", "frame", "cube", "fichera"])
def test_straight_domains_are_not_curves(kind):
    assert curves(pp.io.generate(kind, 4)) == ()


@pytest.mark.parametrize("noise", [0.0, 1e-7])
def test_moved_inner_nodes_and_rounded_coordinates_make_no_curve(noise):
    square = pp.io.generate("square", 16)
    rng, points = np.random.default_rng(0), square.points.copy()
    inner = np.all((points > 0.0) & (points < 1.0), axis=1)
    points[inner] += 0.01 * rng.uniform(-1.0, 1.0, points[inner].shape)
    assert curves(Mesh(points + noise * rng.uniform(-1.0, 1.0, points.shape), square.cells)) == ()


def test_a_shallow_roof_and_an_icosahedron_have_corners():
    cube = pp.io.generate("cube", 4)
    points = cube.points.copy()
    points[:, 2] *= 1.0 + 0.2 * np.minimum(points[:, 0], 1.0 - points[:, 0])
    assert curves(Mesh(points, cube.cells)) == ()
    g = (1.0 + 5.0**0.5) / 2.0
    X = np.array([[0.0, a, b * g] for a in (-1, 1) for b in (-1, 1)])
    X = np.concatenate([X, np.roll(X, 1, axis=1), np.roll(X, 2, axis=1)])
    near = np.linalg.norm(X[:, None] - X[None], axis=2) < 2.1
    faces = [
        [i, j, k] for i in range(12) for j in range(i) for k in range(j) if near[i, j] and near[j, k] and near[i, k]
    ]
    assert len(faces) == 20
    assert curves(Mesh(np.concatenate([X, np.zeros((1, 3))]), [[*f, 12] for f in faces])) == ()


def test_each_group_of_a_ring_has_its_own_gap():
    found = {curve.group: curve for curve in curves(ring(0.3, 1.0, 48))}
    assert set(found) == {"hole", "rim"}
    for name, radius in (("hole", 0.3), ("rim", 1.0)):
        assert found[name].facets == 48
        assert found[name].gap == pytest.approx(sagitta(radius, 48), rel=0.05)


def test_an_arc_between_straight_sides_is_told_and_the_sides_are_not():
    found = {curve.group: curve for curve in curves(ring(0.5, 1.0, 64, part=0.25))}
    assert set(found) == {"hole", "rim"}
    assert found["rim"].gap == pytest.approx(sagitta(1.0, 256), rel=0.1)


def test_a_tube_and_a_ball_are_told_with_their_gaps():
    (curve,) = curves(tube(0.5, 1.0, 2.0, 24))
    assert curve.facets == 2 * 24 * 2 * 3  # both walls, quads of two triangles
    assert curve.gap == pytest.approx(sagitta(1.0, 24), rel=0.2)
    ball = as_mesh(skfem.MeshTet.init_ball(3))
    (curve,) = curves(ball)
    faces = ball.points[ball.boundary]
    truth = (1.0 - np.linalg.norm(faces.mean(axis=1), axis=1)).max()
    assert 0.7 < curve.gap / truth < 1.5
    assert curves(tube(0.5, 1.0, 2.0, 6)) == ()


def test_the_holes_of_the_bracket_are_told():
    found = {curve.group for curve in curves(pp.io.generate("bracket"))}
    assert {"bolt1", "bolt2", "bolt3", "bolt4", "pin"} <= found
    assert len(curve_notes(pp.io.generate("bracket"))) == 1


def test_disjoint_intervals_of_two_disks_say_what_they_are_of():
    """Each is right for its own polygon; the note has the gap that explains them."""
    found = []
    for n in (20, 64):
        mesh = ring(0.3, 1.0, n, 6 if n == 20 else 18)
        problem = pp.fem.ReactionDiffusion(mesh, source="1", dirichlet={"boundary": 0.0})
        found.append(pp.certify(problem, problem.space.U0, problem.averages([[0.65, 0.0]], 0.2)))
    for certificate in found:
        assert certificate.interval_of.endswith("polygon")
        assert len(certificate.notes) == 1
        assert "look curved" in certificate.notes[0]
        assert certificate.to_dict()["notes"] == list(certificate.notes)


def test_elasticity_says_it_too():
    mesh = ring(0.3, 1.0, 32)
    problem = pp.fem.Elasticity(mesh, 1.0, 0.3, fixed={"hole": 0.0}, traction={"rim": (1.0, 0.0)})
    certificate = pp.certify(problem, problem.space.U0, problem.points([[0.6, 0.1]], "x"), target="discrete")
    assert "'rim'" in certificate.notes[0]
    assert certificate.mesh_estimate is not None


def test_refinement_keeps_the_note_of_the_first_mesh():
    problem = pp.fem.ReactionDiffusion(polygon(16), source="1")
    found = certify_to(problem, problem.space.U0, problem.averages([[0.1, 0.0]], 0.3), 1e-3, max_dofs=3000)
    assert len(found.history) > 1
    assert found.certificate.notes == curve_notes(problem.mesh) != ()


CASE = """
title = "Disk with a hole"
[mesh]
file = "ring.npz"
[problem]
kind = "reaction-diffusion"
source = "1"
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
name = "here"
at = [0.6, 0.1]
"""


def test_check_certificate_and_report_tell_of_the_curve(tmp_path, capsys):
    import meshio

    mesh = ring(0.3, 1.0, 24)
    cells = [("triangle", mesh.cells)]
    meshio.write(tmp_path / "ring.vtu", meshio.Mesh(np.column_stack([mesh.points, 0.0 * mesh.points[:, 0]]), cells))
    case = tmp_path / "case.toml"
    case.write_text(CASE.replace("ring.npz", "ring.vtu"))
    assert main(["check", str(case)]) == 0
    assert "note: the boundary 'boundary' looks curved (48 facets turning by about 15° each)" in capsys.readouterr().out
    assert main(["certify", str(case)]) == 0
    data = json.loads((tmp_path / "case" / "certificate.json").read_text())
    assert "about 0.0086" in data["notes"][0]
    page = (tmp_path / "case" / "report.html").read_text()
    assert "Keep in mind" in page
    assert "looks curved" in page
    assert (
        "the PDE&#x27;s solution on the mesh&#x27;s polygon" in page
        or "the PDE's solution on the mesh's polygon" in page
    )
    assert main(["verify", str(tmp_path / "case" / "bundle")]) == 0
