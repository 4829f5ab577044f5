"""Case files with [geometry]: the curve is the domain's, a wrong one is refused, and every output says so."""

from __future__ import annotations

import hashlib
import json

import meshio
import numpy as np
import pytest

from pinnpoint.cli.main import main
from pinnpoint.mesh.round import ball_mesh, disc_mesh
from tests.soundness.test_bundle_forged import Forger

CASE = """
title = "Torsion of a shaft"
[mesh]
generate = "disc"
cells = 6
[problem]
kind = "reaction-diffusion"
source = 1.0
degree = 2
[problem.dirichlet]
boundary = 0.0
[geometry]
rim = {SHAPE}
[prediction]
expression = "(1 - x**2 - y**2)/4"
[[query]]
name = "here"
at = [0.3, 0.2]
[[query]]
name = "all"
kind = "mean"
"""
TRUE = {
    "circle": "{ circle = [0, 0], radius = 1 }",
    "ellipse": "{ ellipse = [0, 0], axes = [1, 1], angle = 0.7 }",
    "level": '{ level = "x**2 + y**2 - 1" }',
}


@pytest.mark.parametrize("word", TRUE)
def test_a_disc_by_its_curve_is_certified_and_every_output_says_so(word, tmp_path, capsys):
    case = tmp_path / "case.toml"
    case.write_text(CASE.replace("{SHAPE}", TRUE[word]))
    assert main(["check", str(case)]) == 0
    out = capsys.readouterr().out
    assert "the boundary 'rim' is the" in out
    assert "length 6.28319" in out
    assert "total applied load: 3.14159" in out
    assert main(["certify", str(case), "--quiet"]) == 0
    found = json.loads((tmp_path / "case" / "certificate.json").read_text())
    for row, truth in zip(found["queries"], (0.2175, 0.125), strict=True):
        assert row["lower"] <= truth <= row["upper"]
        assert row["radius"] < 1e-4
        assert row["guarantee"] == "deterministic"
    assert any("intervals of the PDE's own solution are for it" in note for note in found["notes"])
    assert main(["verify", str(tmp_path / "case" / "bundle")]) == 0
    page = (tmp_path / "case" / "report.html").read_text()
    assert "domain that the given curves bound" in page


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("{ circle = [0, 0], radius = 1.01 }", "away from"),
        ("{ sphere = [0, 0, 0], radius = 1 }", "plane meshes"),
        ("{ circle = [0, 0], radius = 1, axes = [1, 2] }", "axes"),
        ("{ radius = 1 }", "exactly one of"),
    ],
)
def test_what_is_no_curve_of_the_mesh_is_refused(shape, words, tmp_path, capsys):
    case = tmp_path / "case.toml"
    case.write_text(CASE.replace("{SHAPE}", shape))
    assert main(["certify", str(case)]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "case").exists()


@pytest.mark.slow
def test_a_sphere_and_a_cylinder_are_read_and_held_against_the_mesh(tmp_path, capsys):
    mesh = ball_mesh(5)
    meshio.write(tmp_path / "ball.vtu", meshio.Mesh(mesh.points, [("tetra", mesh.cells)]))
    case = tmp_path / "case.toml"
    text = CASE.replace('generate = "disc"\ncells = 6', 'file = "ball.vtu"').replace(
        "at = [0.3, 0.2]", "at = [0, 0, 0]"
    )
    text = text.replace("rim", "boundary").replace("degree = 2\n", "")
    case.write_text(text.replace("{SHAPE}", "{ sphere = [0, 0, 0], radius = 1 }"))
    assert main(["check", str(case)]) == 0
    assert "the boundary 'boundary' is the sphere of radius 1.0" in capsys.readouterr().out
    coarse = ball_mesh(2)
    meshio.write(tmp_path / "ball.vtu", meshio.Mesh(coarse.points, [("tetra", coarse.cells)]))
    assert main(["check", str(case)]) == 2
    refused = capsys.readouterr().err
    assert "mesh: bent boundary faces near" in refused
    assert "refine the mesh there" in refused
    case.write_text(text.replace("{SHAPE}", "{ cylinder = [0, 0, 0], axis = [0, 0, 1], radius = 1 }"))
    assert main(["check", str(case)]) == 2
    assert "away from the cylinder" in capsys.readouterr().err


def written(path, points, cells) -> None:
    """A plane .msh file; its cells are the group "disc"."""
    X, T = np.column_stack([points, np.zeros(len(points))]).tolist(), (cells + 1).tolist()
    lines = [
        '$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n2 1 "disc"\n$EndPhysicalNames\n$Nodes',
        str(len(X)),
    ]
    lines += [f"{i + 1} {x!r} {y!r} {z!r}" for i, (x, y, z) in enumerate(X)]
    lines += ["$EndNodes\n$Elements", str(len(T)), *(f"{i + 1} 2 2 1 1 {a} {b} {c}" for i, (a, b, c) in enumerate(T))]
    path.write_text("\n".join([*lines, "$EndElements\n"]))


def test_a_mesh_file_whose_nodes_were_moved_onto_their_curve_is_the_bundles(tmp_path, capsys):
    mesh, part, case = disc_mesh(5), tmp_path / "disc.msh", tmp_path / "case.toml"
    rim = np.hypot(*mesh.points.T) > 0.99
    X = mesh.points * np.where(rim, 1.0 + 1e-5, 1.0)[:, None]
    text = CASE.replace('generate = "disc"\ncells = 6', f'file = "{part.name}"').replace("rim =", "boundary =")
    case.write_text(text.replace("{SHAPE}", TRUE["circle"]))
    written(part, X, mesh.cells)
    assert main(["certify", str(case), "--quiet"]) == 0
    bundle, held = tmp_path / "case" / "bundle", ["--inputs", str(tmp_path)]
    capsys.readouterr()
    assert main(["verify", str(bundle), *held]) == 0
    out = capsys.readouterr().out
    assert "cells with nodes moved onto curves by up to 1e-05" in out
    assert "declared: mesh and prediction" not in out
    along = np.stack([-X[:, 1], X[:, 0]], axis=1)
    for step, move in ((1e-6, ~rim), (1e-3, rim)):  # inside, and farther than vertices are moved
        written(part, X + step * along * move[:, None], mesh.cells)
        digest = hashlib.sha256(part.read_bytes()).hexdigest()
        forger = Forger(bundle)
        forger.json("certificate.json", lambda d, sha=digest: d["inputs"]["mesh"].update(sha256=sha))
        forger.seal()
        assert main(["verify", str(bundle), *held]) == 1
        assert "the mesh file does not have the stored nodes" in capsys.readouterr().out


def test_coefficients_of_groups_on_curved_domains_are_not_those_of_the_file_and_that_is_said(tmp_path, capsys):
    mesh, case = disc_mesh(5), tmp_path / "case.toml"
    written(tmp_path / "disc.msh", mesh.points, mesh.cells)
    text = CASE.replace('generate = "disc"\ncells = 6', 'file = "disc.msh"').replace("rim =", "boundary =")
    text = text.replace("source = 1.0", "source = 1.0\ndiffusion = { disc = 2.0 }")
    case.write_text(text.replace("{SHAPE}", TRUE["circle"]))
    assert main(["certify", str(case), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "case" / "bundle"), "--inputs", str(tmp_path)]) == 0
    assert "but not diffusion" in capsys.readouterr().out


SOLID = """
[mesh]
generate = "disc"
cells = 4
[problem]
kind = "elasticity"
young = 2.0
poisson = 0.25
body = [0.0, -1.0]
degree = 2
[problem.fixed]
rim = 0.0
[geometry]
rim = { circle = [0, 0], radius = 1 }
[prediction]
expression = ["0", "-0.15625*(1 - x**2 - y**2)"]
[[query]]
name = "all"
kind = "mean"
component = "y"
[[query]]
name = "here"
at = [0.2, 0.1]
component = "y"
"""


def test_a_disc_held_at_its_circle_under_its_weight_has_its_own_displacements(tmp_path, capsys):
    """u_y = c(1 − r²), c = −1/(4μ + 2(λ + μ)): quadratic elements, continued to the circle, have it exactly."""
    case = tmp_path / "case.toml"
    case.write_text(SOLID)
    assert main(["check", str(case)]) == 0
    assert "the boundary 'rim' is the circle" in capsys.readouterr().out
    assert main(["certify", str(case), "--quiet"]) == 0
    found = json.loads((tmp_path / "case" / "certificate.json").read_text())
    for row, truth, radius in zip(found["queries"], (-0.078125, -0.1484375), (1e-9, 1e-6), strict=True):
        assert row["lower"] <= truth <= row["upper"]
        assert row["radius"] < radius
        assert row["guarantee"] == "deterministic"
    assert found["interval_of"] == "the PDE's solution on the domain that arcs at the given curves bound"
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "case" / "bundle")]) == 0
    assert "that arcs do not meet one another" in capsys.readouterr().out
