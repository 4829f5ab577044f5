"""What a population is about is said: its target, and whether its values are somebody's outputs alone."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import skfem

import pinnpoint as pp

LINE = np.linspace(0.0, 1.0, 7)
MESH = skfem.MeshTri.init_tensor(LINE, LINE).with_subdomains({"l": lambda x: x[0] < 0.5, "r": lambda x: x[0] > 0.5})


def test_outputs_are_accepted_by_query_alone():
    problem = pp.fem.ReactionDiffusion(MESH, source=1.0)
    reduced = problem.operators(["l", "r"]).reduce(problem.mean("m"), 4, (0.2, 2.0), target="discrete")
    found = reduced.certify_many([[1.0, 0.5]], [[77.0]])
    for ask in (found.accepted, found.undecided):
        with pytest.raises(pp.InputError, match=r"query: outputs were given.*name one of m"):
            ask(0.01)
    assert found.accepted(0.01, "m").verdicts == ("beyond",)
    assert "the reduced state is the prediction" not in found.notes
    own = reduced.certify_many([[1.0, 0.5]])
    assert own.accepted(0.01).verdicts == ("within",)
    assert "the reduced state is the prediction" in own.notes


@pytest.mark.parametrize("target", ["continuous", "discrete"])
def test_tables_and_their_reports_say_the_target(tmp_path, target):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source=1.0)
    found = (
        problem.operators().prepare(problem.mean("m"), target=target).certify_many(np.ones((2, 72)), np.zeros((2, 49)))
    )
    assert (found.target, {row["target"] for row in found.rows()}) == (target, {target})
    with (tmp_path / "t.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(found.rows()[0]))
        writer.writeheader()
        writer.writerows(found.rows())
    text = pp.report_table(tmp_path / "t.csv", tmp_path / "t.html", accept=0.1).read_text(encoding="utf-8")
    assert ("solution of the discrete system, not about" in text) == (target == "discrete")
    assert ("solution of the PDE itself" in text) == (target == "continuous")


def test_what_cannot_be_meant_is_refused(tmp_path):
    problem = pp.fem.ReactionDiffusion(MESH, source=1.0)
    family = problem.operators(["l", "r"])
    certifier = family.prepare(problem.mean("m"))
    found = certifier.certify_many(np.ones((2, 2)), np.zeros((2, 49)))
    for match, call in (
        ("rows: must be whole numbers or a mask", lambda: certifier.refine(found, [0.5])),
        ("meshes: ", lambda: certifier.refine(found, [0], meshes=-1)),
        ("patches: must be True or False; got 'x'", lambda: family.prepare(problem.mean("m"), patches="x")),
        ("within: must be two rising numbers; got 1.0", lambda: family.reduce(problem.mean("m"), 4, 1.0)),
        ("steps, tolerance: are two ways", lambda: problem.reference(steps=3, tolerance=1e-2)),
        ("tolerance: is a share of the load and must be < 1; got 1", lambda: problem.reference(tolerance=1.0)),
        (
            "features: 'a' must have 2 numbers",
            lambda: pp.write_population(found, certifier, tmp_path, accept=0.1, features={"a": ["x", "y"]}),
        ),
    ):
        with pytest.raises(pp.InputError, match=match):
            call()
