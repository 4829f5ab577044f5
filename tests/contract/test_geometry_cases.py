"""Case files with [geometry]: the curve is the domain's, a wrong one is refused, and every output says so."""

from __future__ import annotations

import json

import meshio
import pytest

from pinnpoint.cli.main import main
from pinnpoint.mesh.round import ball_mesh

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
