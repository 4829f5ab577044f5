"""What notebooks show of problems, meshes, populations, certificates and reports: whole, escaped, and never a flood."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh import display
from pinnpoint.mesh.mesh import Mesh

SQUARE = pp.io.generate("square", 4)


def rows(html: str) -> dict[str, str]:
    """The table that is shown."""
    found = re.findall(r"<tr><th[^>]*>(.*?)</th><td[^>]*>(.*?)</td></tr>", html)
    return {unescape(name): unescape(value) for name, value in found}


def test_a_mesh_is_shown_with_its_groups_and_edges():
    html = SQUARE._repr_html_()
    told = rows(html)
    assert (told["points"], told["triangles"], told["boundary “left”"]) == ("25", "32", "4 facets")
    assert len(re.findall("M", re.search(r'd="(M[^"]*)" stroke="#b5', html)[1])) == 56  # edges: 25 + 32 − 1


def test_names_are_escaped():
    mesh = Mesh(SQUARE.points, SQUARE.cells, facet_groups={"<b>": SQUARE.facets("left")})
    assert "<b>”" not in mesh._repr_html_()
    assert "boundary “<b>”" in rows(mesh._repr_html_())


def test_edges_are_counted_once():
    assert len(display.edges(SQUARE.cells)) == len(SQUARE.points) + len(SQUARE.cells) - 1  # Euler


@pytest.mark.parametrize("mesh", [pp.io.generate("square", 48), pp.io.generate("cube", 9)])
def test_large_meshes_do_not_flood_a_cell(mesh):
    assert len(mesh._repr_html_()) < 150_000


PROBLEMS = {
    "ReactionDiffusion": lambda: pp.fem.ReactionDiffusion(SQUARE, source="max(x, y)", diffusion="1 + x"),
    "Elasticity": lambda: pp.fem.Elasticity(SQUARE, young=210.0, poisson=0.3, fixed={"left": 0.0}),
    "Semilinear": lambda: pp.fem.Semilinear(SQUARE, cubic=2.0, source="x*y"),
    "Parabolic": lambda: pp.fem.Parabolic(SQUARE, initial="x*y", end=1.0, steps=2),
    "Box": lambda: pp.Box([0, 1], end=1.0, initial="sin(pi*x)"),
    "Region": lambda: pp.boxes.Region([0, 1], [0, 1], source="x*y", dirichlet={"sides": 0.0}),
    "Wave": lambda: pp.boxes.Wave([0, 1], end=1.0, initial="sin(pi*x)"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_say_what_they_are(name):
    html = PROBLEMS[name]()._repr_html_()
    told = rows(html)
    assert html.startswith(f"<p><b>{name}</b>")
    assert len(told) <= 48
    assert max(map(len, told.values())) <= 120
    assert "<script" not in html
    known = {"ReactionDiffusion": ("diffusion", "1 + x"), "Elasticity": ("young", "210")}
    known |= {"Box": ("initial", "sin(pi*x)"), "Semilinear": ("source", "x*y"), "Parabolic": ("initial", "x*y")}
    if name in known:
        key, value = known[name]
        assert told[key] == value


def test_a_population_is_shown_by_its_worst():
    problem = pp.fem.ReactionDiffusion(SQUARE, source=1.0)
    kappas = np.ones((3, len(SQUARE.cells)))
    queries = problem.mean()
    many = problem.operators().prepare(queries).certify_many(kappas, np.zeros((3, len(SQUARE.points))))
    told = rows(many._repr_html_())
    assert told["instances"] == told["certified"] == "3"
    assert any("widest" in name for name in told)


def test_a_report_is_shown_in_a_frame_and_saved(tmp_path):
    problem = pp.fem.ReactionDiffusion(SQUARE, source=1.0)
    certificate = pp.certify(problem, problem.space.U0, problem.points([[0.5, 0.5]], names=['a "name"']))
    report = certificate.report()
    html = report._repr_html_()
    page = unescape(re.search(r'srcdoc="([^"]*)"', html)[1])
    assert page == report.page
    assert "allow-same-origin" not in html
    assert report.save(tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert certificate.to_html(tmp_path / "again.html").read_text(encoding="utf-8") == page
    assert len(repr(report)) < 100
