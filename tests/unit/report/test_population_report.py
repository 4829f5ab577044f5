"""The report of a population: its numbers are the population's, and the page shows the worst of them."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import pinnpoint as pp
from pinnpoint.fem.families.random_fields import darcy_fields, on_triangles
from pinnpoint.outputs.population_tables import report_table
from pinnpoint.outputs.populations import coefficient_features, remedy
from pinnpoint.report.population import PopulationView, render_population
from tests.support.browser import Browser, executable

CELLS = 8


@pytest.fixture(scope="module")
def certified():
    """Twelve instances, of which one is refused and one is bad on purpose."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", CELLS), source=1.0)
    kappas = on_triangles(darcy_fields(CELLS, 12, 3))
    certifier = problem.operators().prepare(problem.mean(), steps=4)
    states = np.array([solved(problem, k) for k in kappas])
    kappas[2, 5] = -1.0
    states[7] *= 3.0
    return certifier, certifier.certify_many(kappas, states)


def solved(problem, kappa):
    one = pp.fem.ReactionDiffusion(problem.mesh, source=1.0, diffusion=kappa)
    free, U = one.space.free, np.zeros(len(one.b))
    U[free] = spsolve(one.A[free][:, free].tocsc(), one.b[free])
    return U


def test_files_hold_the_population(certified, tmp_path):
    certifier, population = certified
    files = pp.write_population(population, certifier, tmp_path / "out", accept=0.9, told={"file": "a & <b>"})
    table, summary, page = (f.read_text(encoding="utf-8") for f in files)
    rows = list(csv.DictReader(table.splitlines()))
    assert [int(r["number"]) for r in rows] == list(range(12))
    np.testing.assert_array_equal([float(r["error"]) for r in rows], population.error)
    data = json.loads(summary)
    shares = population.accepted(0.9)
    assert data["shares"] == pytest.approx(
        {"within": shares.within, "beyond": shares.beyond, "undecided": shares.undecided, "refused": shares.refused}
    )
    assert data["worst"] == 7
    assert "number 7" in page
    assert "number 2: kappa" in page
    assert "a &amp; &lt;b&gt;" in page
    assert page.count("data:image/png") == 3
    assert not re.search(r'(src|href)="(?!data:|#)', page)


def test_the_bar_adds_up_and_the_bounds_are_rounded_outward():
    view = PopulationView(
        "t", "error", 0.2, ["within", "beyond", "undecided", "refused"], np.array([0.1, 0.6, 0.123456, np.inf]),
        np.array([0.0, 0.5999999, 0.1, 0.0]), np.arange(4),
    )  # fmt: skip
    page = render_population(view)
    widths = [float(w) for w in re.findall(r'<rect x="[\d.]+%" width="([\d.]+)%"', page)]
    assert widths == [25.0] * 4
    assert view.furthest == 1
    assert "<b>0.599</b>" in page
    assert "<b>0.600</b>" in page
    empty = PopulationView("t", "error", 0.2, ["refused"], np.array([np.inf]), np.zeros(1), np.arange(1))
    assert "Nothing is proved" in render_population(empty)


def test_features_of_kappa_are_those_of_its_picture(certified):
    certifier, population = certified
    found = coefficient_features(population, certifier)
    pixels = darcy_fields(CELLS, 12, 3)
    good = population.certified
    np.testing.assert_allclose(found["mean of κ"][good], pixels.mean(axis=(1, 2))[good])
    np.testing.assert_allclose(found["share of larger κ"][good], (pixels > 6.0).mean(axis=(1, 2))[good])
    jumps = (np.diff(pixels, axis=1) != 0).sum(axis=(1, 2)) + (np.diff(pixels, axis=2) != 0).sum(axis=(1, 2))
    inner = 2 * CELLS * (CELLS - 1) + CELLS**2  # edges of squares, and diagonals
    np.testing.assert_allclose(found["facets with a jump"][good], jumps[good] / inner)
    assert np.isnan(found["mean of κ"][2])


def test_the_remedy_is_tried(certified):
    """On a coarse mesh more steps do not help; with too few of them they do."""
    certifier, population = certified
    middle = 0.5 * float(np.median(population.lower) + np.median(population.error))
    pages = {}
    for steps in (0, 6):
        few = replace(certifier, steps=steps)
        again = few.certify_many(population.instances.kappas, population.instances.predictions)
        pages[steps] = remedy(again, few, middle, None)
    assert pages[0].startswith("More steps")
    assert pages[6].startswith("A finer mesh")
    assert "undecided" in pages[6]


def test_a_query_may_decide_instead_of_the_energy(certified, tmp_path):
    certifier, population = certified
    name = population.names[0]
    files = pp.write_population(population, certifier, tmp_path, accept=0.5, query=name)
    assert json.loads(files[1].read_text())["error"] == f"relative error of {name}"
    with pytest.raises(pp.InputError, match="query: must be one of"):
        pp.write_population(population, certifier, tmp_path, accept=0.5, query="other")
    with pytest.raises(pp.InputError, match="features: 'x' must have 12 numbers"):
        pp.write_population(population, certifier, tmp_path, accept=0.5, features={"x": [1.0]})
    (tmp_path / "file").write_text("")
    with pytest.raises(pp.InputError, match="is no folder"):
        pp.write_population(population, certifier, tmp_path / "file", accept=0.5)


@pytest.mark.browser
@pytest.mark.skipif(executable() is None, reason="needs Chromium")
def test_a_browser_shows_it_without_complaint(certified, tmp_path):
    certifier, population = certified
    files = pp.write_population(population, certifier, tmp_path, accept=0.5)
    browser = Browser()
    try:
        for width in (1180, 390):
            browser.open(files[2], width, 900)
            assert browser.run("document.documentElement.scrollWidth") <= width
            assert browser.run("[...document.images].length + document.querySelectorAll('image').length") == 3
        assert not [e for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    finally:
        browser.close()


def test_three_dimensions_have_everything_but_pictures(tmp_path):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("cube", 2), source=1.0)
    certifier = problem.operators().prepare(problem.mean(), steps=2)
    kappas = np.random.default_rng(0).uniform(1.0, 2.0, (3, len(problem.mesh.cells)))
    population = certifier.certify_many(kappas, np.zeros((3, len(problem.mesh.points))))
    page = pp.write_population(population, certifier, tmp_path, accept=0.5)[2].read_text(encoding="utf-8")
    assert "How wrong are they?" in page
    assert "The worst of them" not in page
    np.testing.assert_array_equal(coefficient_features(population, certifier)["facets with a jump"], 1.0)


@pytest.mark.parametrize("suffix", [".csv", pytest.param(".parquet", marks=pytest.mark.optional)])
def test_the_report_of_a_campaigns_table_has_the_populations_numbers(certified, tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="pip install 'pinnpoint[parquet]'")
    _, population = certified
    rows = population.rows()
    chunks = {"b": rows[6:], "a": rows[:6]}  # as they came in
    pp.campaigns.run(chunks.get, {name: name for name in chunks}, tmp_path / f"t{suffix}")
    page = report_table(tmp_path / f"t{suffix}", tmp_path / "r.html", accept=0.9).read_text(encoding="utf-8")
    shares = population.accepted(0.9)
    assert f"{round(12 * shares.within)} (" in page
    assert "number 2: kappa" in page
    assert "number 7" in page
    pp.campaigns.run(lambda x: {"x": x}, {"a": 1}, tmp_path / f"other{suffix}")
    with pytest.raises(pp.InputError, match="has no column 'number'"):
        report_table(tmp_path / f"other{suffix}", tmp_path / "r.html", accept=0.9)


def test_remedies_are_tried_with_the_instances_own_loads_and_for_the_target_that_was_asked(tmp_path):
    """Energy errors of zero are one: accepted to one, nobody knows on which side they are."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source=1.0)
    kappas = np.random.default_rng(0).uniform(1.0, 20.0, (3, len(problem.mesh.cells)))
    zero = np.zeros((3, len(problem.mesh.points)))
    loaded = problem.operators(loads=[{"source": "x"}]).prepare(problem.mean(), steps=1)
    discrete = problem.operators().prepare(problem.mean(), steps=40, dual_steps=40, target="discrete")
    for certifier, more, word in ((loaded, {"mu": np.ones((3, 1))}, "steps"), (discrete, {}, "None of its own")):
        found = certifier.certify_many(kappas, zero, **more)
        files = pp.write_population(found, certifier, tmp_path / word, accept=1.0)
        assert word in json.loads(files[1].read_text(encoding="utf-8"))["remedy"]
    with pytest.raises(pp.InputError, match="streams: stream functions have no place"):
        discrete.certify_many(kappas, zero, zero)
