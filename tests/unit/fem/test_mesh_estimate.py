"""The discrete target says that it is of this mesh, and what the mesh leaves is estimated."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.assembling.enriched import Enriched, diffusive, elastic
from pinnpoint.fem.mesh_estimate import at_nodes
from pinnpoint.io import simjeb
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.report.page import render
from pinnpoint.report.terms import advise
from pinnpoint.systems.targets import DOMAINS, MESH, SYSTEM, TRANSFERRED
from tests.support.written import Bracket

SMOOTH = "2*pi**2*sin(pi*x)*sin(pi*y)"
PLACES = np.array([[0.31, 0.47], [0.5, 0.5], [0.83, 0.13]])


def smooth(X):
    return np.prod(np.sin(np.pi * X), axis=1)


def corner(X):
    """The singular function of the L-shape: harmonic, zero on both sides of the reentrant corner."""
    angle = np.mod(np.arctan2(X[:, 1], X[:, 0]), 2.0 * np.pi)
    return np.hypot(X[:, 0], X[:, 1]) ** (2.0 / 3.0) * np.sin(2.0 * angle / 3.0)


def certified(problem, queries, U=None, **options):
    return pp.certify(problem, problem.space.U0 if U is None else U, queries, target="discrete", **options)


def effectivity(certificate, truth):
    return certificate.mesh_estimate / np.abs(truth - certificate.center)


@pytest.mark.parametrize(("kind", "cells", "reaction"), [("interval", 5, 0.0), ("square", 3, 2.5), ("cube", 2, 1.0)])
def test_the_enriched_operator_is_that_of_quadratic_elements(kind, cells, reaction):
    mesh = pp.io.generate(kind, cells)
    rng = np.random.default_rng(0)
    K = rng.uniform(0.5, 2.0, len(mesh.cells))
    problem = pp.fem.ReactionDiffusion(mesh, diffusion=K, reaction=reaction, degree=2)
    operator = Enriched(Nodes(mesh, 2), 1, *diffusive(K), np.full(len(K), reaction))
    x, y = rng.standard_normal((2, len(problem.nodes), 1))
    full = at_nodes(problem.nodes, y)[:, 0] @ (problem.A @ at_nodes(problem.nodes, x)[:, 0])
    assert np.vdot(y, operator.apply(x)) == pytest.approx(full, rel=1e-11)
    bubbles = problem.A.diagonal()[len(mesh.points) :]
    assert operator.diagonal()[:, 0, 0] == pytest.approx(bubbles, rel=1e-11)


def test_the_enriched_elastic_operator_is_symmetric_and_holds_the_linear_one():
    mesh = pp.io.generate("cube", 2)
    problem = pp.fem.Elasticity(mesh, 3.0, 0.3, fixed={"left": 0.0})
    operator = Enriched(Nodes(mesh, 2), 3, *elastic(*problem.lame))
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, len(operator.nodes), 3))
    assert np.vdot(y, operator.apply(x)) == pytest.approx(np.vdot(x, operator.apply(y)), rel=1e-11)
    V = len(mesh.points)
    x[V:] = 0.0
    assert operator.apply(x)[:V].ravel() == pytest.approx(problem.A @ x[:V].ravel(), abs=1e-12)
    one = np.zeros_like(x)
    one[V + 7, 1] = 1.0
    assert operator.apply(one)[V + 7] == pytest.approx(operator.diagonal()[7, :, 1], abs=1e-12)


@pytest.mark.parametrize("cells", [8, 24])
def test_the_estimate_of_a_smooth_solution_is_near_its_error(cells):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", cells), source=SMOOTH)
    certificate = certified(problem, problem.points(PLACES))
    assert effectivity(certificate, smooth(PLACES)) == pytest.approx(1.0, abs=0.3)


@pytest.mark.parametrize("cells", [4, 12])
def test_the_estimate_of_a_singular_solution_is_within_a_factor_of_three(cells):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("lshape", cells), dirichlet={"boundary": corner})
    at = np.array([[-0.3, 0.3], [0.11, 0.2], [-0.05, 0.05]])
    found = effectivity(certified(problem, problem.points(at)), corner(at))
    assert np.all((found > 1.0 / 3.0) & (found < 3.0)), found


def test_averages_fluxes_and_slopes_are_estimated_too():
    def asked(cells, degree=1):
        problem = pp.fem.ReactionDiffusion(
            pp.io.generate("square", cells),
            source="exp(x)",
            reaction="1+x*y",
            dirichlet={"left": 0.0, "right": "y*y"},
            neumann={"top": "x"},
            degree=degree,
        )
        queries = problem.averages([[0.6, 0.7]], 0.2, ["mean"]) + problem.flux("right", "flux")
        queries += problem.patch("top", name="patch")
        return certified(problem, queries + problem.gradients([[0.31, 0.47]], "x", ["slope"]))

    certificate = asked(8)
    found = effectivity(certificate, asked(24, 2).center)
    assert np.all((found > 1.0 / 3.0) & (found < 3.0)), found


def test_cubic_reactions_are_estimated():
    source = f"{SMOOTH} + 20*(sin(pi*x)*sin(pi*y))**3"
    problem = pp.fem.Semilinear(pp.io.generate("square", 16), cubic=20.0, source=source)
    certificate = certified(problem, problem.points(PLACES[:2]), smooth)
    assert effectivity(certificate, smooth(PLACES[:2])) == pytest.approx(1.0, abs=0.3)
    assert certificate.interval_of == MESH


def cantilever(cells):
    """A plate of height 1/4 clamped at its left end under its own weight: bending, where linear elements are stiff."""
    square = pp.io.generate("square", cells)
    mesh = Mesh(square.points * [1.0, 0.25], square.cells, facet_groups=square.facet_groups)
    return pp.fem.Elasticity(mesh, 1.0, 0.3, [0.0, -1.0], {"left": 0.0}, plane="stress")


def test_the_estimate_of_a_bent_plate_is_near_what_refinement_shows():
    coarse, fine = cantilever(8), cantilever(64)
    tip = [[1.0, 0.125]]
    exact = certified(fine, fine.points(tip, "y")).center
    found = effectivity(certified(coarse, coarse.points(tip, "y")), exact)
    assert 0.5 < found[0] < 2.0


def test_the_bracket_at_a_coarse_mesh_is_told_to_be_tens_of_percent_off():
    problem = pp.fem.bracket("vertical")
    certificate = certified(problem, problem.patch("pin", "z"))
    assert 0.2 < certificate.mesh_estimate[0] / certificate.center[0] < 1.0
    assert certificate.radius[0] < 1e-6 * certificate.mesh_estimate[0]


@pytest.mark.parametrize("method", [pp.Norm(), pp.Inexact(), pp.Localized(radius=0.3), pp.Randomized()], ids=str)
def test_every_method_estimates_the_same(method):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source=SMOOTH)
    queries = problem.points(PLACES)
    plain = certified(problem, queries)
    assert certified(problem, queries, method=method).mesh_estimate == pytest.approx(plain.mesh_estimate, rel=1e-3)


def test_the_estimate_is_part_of_no_interval_and_no_term():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source=SMOOTH)
    queries = problem.points(PLACES)
    certificate = certified(problem, queries)
    bare = pp.certify(problem.system, problem.space.U0, pp.Queries(queries.L))
    assert certificate.radius == pytest.approx(bare.radius)
    assert not any("mesh" in term for term in certificate.terms)
    assert np.all(certificate.mesh_estimate > 1e6 * certificate.radius)


def test_what_cannot_be_estimated_is_said():
    mesh = pp.io.generate("square", 4)
    quadratic = pp.fem.ReactionDiffusion(mesh, source="1", degree=2)
    certificate = certified(quadratic, quadratic.points([[0.5, 0.5]]))
    assert certificate.mesh_estimate is None
    assert "not estimated" in certificate.notes[0]
    linear = pp.fem.ReactionDiffusion(mesh, source="1")
    rows = certified(linear, pp.Queries(linear.points([[0.5, 0.5]]).L))
    assert rows.mesh_estimate is None
    assert "not estimated" in rows.notes[0]
    both = certified(linear, linear.points([[0.5, 0.5]]) + pp.Queries(linear.points([[0.4, 0.5]]).L, ["row"]))
    assert np.isfinite(both.mesh_estimate[0])
    assert np.isnan(both.mesh_estimate[1])
    assert both.to_dict()["queries"][1]["mesh_estimate"] is None


def test_every_certificate_says_what_its_intervals_are_of():
    for kind, dim in (("interval", 1), ("square", 2), ("cube", 3)):
        problem = pp.fem.ReactionDiffusion(pp.io.generate(kind, 3), source="1")
        queries = problem.points([[0.5] * dim])
        assert pp.certify(problem, problem.space.U0, queries).interval_of == DOMAINS[dim]
        assert certified(problem, queries).interval_of == MESH
        bare = pp.certify(problem.system, problem.space.U0, queries)
        assert bare.interval_of == SYSTEM
        assert f"intervals of {SYSTEM}\n" in str(bare)
        assert SYSTEM in bare._repr_html_()
        transfer = pp.Comparison(state=problem.space.U0, evaluation=0.1)
        assert pp.certify(problem, problem.space.U0, queries, transfer=transfer).interval_of == TRANSFERRED


def test_a_deck_with_rigid_bolts_and_a_spread_load_is_estimated(tmp_path):
    """Supports and loads at nodes: the estimate is of the order of what a finer part of the same shape shows."""
    found = {}
    for scale in (1, 3):
        Bracket(scale=scale).write(tmp_path)
        problem = simjeb.load(tmp_path, 7).problem()
        X = problem.mesh.points
        found[scale] = certified(problem, problem.points(X[[np.argmax(X.sum(axis=1))]], "z"))
    assert found[1].interval_of == MESH
    assert 1.0 / 3.0 < found[1].mesh_estimate[0] / abs(found[3].center[0] - found[1].center[0]) < 3.0


CASE = """
title = "Bracket"
[mesh]
generate = "bracket"
[problem]
kind = "elasticity"
young = 113800.0
poisson = 0.342
[problem.dirichlet]
bolts = 0.0
[problem.force]
pin = [0.0, 0.0, 35585.77]
[prediction]
zero = true
[[query]]
name = "pin"
kind = "patch"
group = "pin"
component = "z"
[certificate]
target = "discrete"
"""


def test_table_certificate_and_report_of_a_bracket_speak_of_the_mesh(tmp_path, capsys):
    (tmp_path / "case.toml").write_text(CASE)
    assert main(["certify", str(tmp_path / "case.toml")]) == 0
    out = capsys.readouterr().out
    assert f"intervals of {MESH}" in out
    assert "an estimate from quadratic elements" in out
    assert "note: the boundaries" in out
    data = json.loads((tmp_path / "case" / "certificate.json").read_text())
    assert data["interval_of"] == MESH
    row = data["queries"][0]
    assert 0.2 < row["mesh_estimate"] / row["center"] < 1.0
    assert "mesh_estimate" in (tmp_path / "case" / "certificate.csv").read_text().splitlines()[0]
    page = (tmp_path / "case" / "report.html").read_text()
    assert "1 interval of the discrete solution proved" in page
    assert "What the mesh leaves is not in them" in page
    assert "The mesh leaves about (estimate)" in page
    assert "A finer mesh" in page
    assert "tighter adjoint" not in page
    assert main(["verify", str(tmp_path / "case" / "bundle")]) == 0


def test_advice_is_about_the_mesh_where_it_dominates_and_about_the_proof_where_it_does_not():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source=SMOOTH)
    data = certified(problem, problem.points(PLACES[:1], ["here"])).to_dict()
    row = data["queries"][0]
    assert advise(row, data).action == "A finer mesh near ‘here’"
    row["mesh_estimate"] = None
    assert "finer mesh" in advise(row, data).action
    row["radius"], row["mesh_estimate"] = 1.0, 1e-3
    row["terms"]["algebra"] = 1.0
    assert "adjoint" in advise(row, data).action
    assert "Keep in mind" not in render(data)
