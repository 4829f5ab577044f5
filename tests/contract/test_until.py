"""Refinement until every verdict is decided: Python, case files, the checker; decided verdicts are never wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.mesh.domains import generate

CASE = """[mesh]
generate = "square"
cells = 3
[problem]
kind = "reaction-diffusion"
source = "2*pi**2*sin(pi*x)*sin(pi*y)"
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "1.1*sin(pi*x)*sin(pi*y)"
[[query]]
name = "centre"
at = [0.5, 0.5]
limit = {{ below = {below} }}
[[query]]
name = "mean"
kind = "mean"
accept = {accept}
[certificate]
until = "decided"
max_dofs = {most}
"""


def certified(tmp_path, below=1.5, accept=0.2, most=3000, more=""):
    path = tmp_path / "case.toml"
    path.write_text(CASE.format(below=below, accept=accept, most=most) + more)
    code = main(["certify", str(path), "--quiet", "--out", str(tmp_path / "out")])
    data = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0
    return code, data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("below", "accept", "code", "words"),
    [(1.5, 0.2, 0, ["holds", "within"]), (0.8, 0.2, 4, ["violated", "within"]), (1.5, 0.01, 4, ["holds", "beyond"])],
)
def test_case_files_end_with_the_verdicts(tmp_path, capsys, below, accept, code, words):
    found, data = certified(tmp_path, below, accept)
    assert found == code
    assert [next(iter(row["verdicts"].values())) for row in data["queries"]] == words
    assert data["refinement"]["stopped"] == ""
    assert data["refinement"]["until"] == "decided"


@pytest.mark.slow
def test_it_refines_no_further_than_it_takes(tmp_path, capsys):
    easy, hard = (certified(tmp_path, below=below)[1] for below in (3.0, 1.02))
    assert len(easy["refinement"]["steps"]) < len(hard["refinement"]["steps"])
    assert easy["dofs"] < 0.5 * hard["dofs"]


def test_a_budget_that_is_gone_leaves_a_verdict_undecided(tmp_path, capsys):
    code, data = certified(tmp_path, below=1.0, most=120)
    assert code == 1
    assert data["queries"][0]["verdicts"] == {"limit": "undecided"}
    assert "max_dofs" in data["refinement"]["stopped"]


def test_a_tolerance_is_narrow_enough_for_what_stays_open(tmp_path, capsys):
    code, data = certified(tmp_path, below=1.0, more="tolerance = 0.3\n")
    assert code == 1
    assert data["queries"][0]["radius"] <= 0.3
    assert data["refinement"]["stopped"] == ""


def test_nothing_to_decide_is_refused(tmp_path, capsys):
    text = CASE.format(below=1, accept=1, most=100).replace("limit = { below = 1 }\n", "").replace("accept = 1\n", "")
    (tmp_path / "case.toml").write_text(text)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "o")]) == 2
    assert "certificate.until" in capsys.readouterr().err
    problem = pp.fem.ReactionDiffusion(generate("square", 3), source=1.0)
    queries = problem.points([[0.5, 0.5]])
    with pytest.raises(pp.InputError, match="something to decide"):
        pp.certify_to(problem, problem.space.U0, queries, until="decided")
    with pytest.raises(pp.InputError, match="'tolerance' or 'decided'"):
        pp.certify_to(problem, problem.space.U0, queries, 1e-3, until="then")


def test_estimates_decide_nothing_and_say_so():
    problem = pp.fem.ReactionDiffusion(generate("square", 3), source=lambda X: 1.0 + X[:, 0])
    found = pp.certify_to(problem, problem.space.U0, problem.points([[0.5, 0.5]]), until="decided", limit=(None, 1.0))
    assert not found.reached
    assert "estimate" in found.stopped
    assert len(found.history) == 1


@pytest.mark.slow
def test_derived_quantities_are_refined_for_their_limits():
    body = pp.fem.Elasticity(generate("square", 2), 100.0, 0.3, body=["0", "-1"], fixed={"left": 0.0})
    queries = body.magnitude([[0.8, 0.5]], names=["sag"])
    first = pp.certify(body, body.space.U0, queries).derived[0]
    end = first.center + 0.3 * first.radius
    found = pp.certify_to(
        body, body.space.U0, queries, until="decided", limit=[None, None, {"below": end}], max_dofs=3000
    )
    assert found.reached == (found.certificate.derived[0].verdicts["limit"] != "undecided")
    assert len(found.history) > 1


@pytest.mark.slow
def test_decided_verdicts_are_never_wrong():
    """Random limits and accepted errors of known solutions, close to what is decided: each answer occurs."""
    rng = np.random.default_rng(31)
    counts, wrong, total = dict.fromkeys(("within", "beyond", "holds", "violated", "undecided"), 0), 0, 0
    for k in range(12):
        m, n = rng.uniform(1.0, 4.0, 2).tolist()
        p, q = rng.uniform(0.0, 3.0, 2).tolist()
        text = f"sin({m!r}*x+{p!r})*sin({n!r}*y+{q!r})"
        problem = pp.fem.ReactionDiffusion(
            generate("square", 4), source=f"{m * m + n * n!r}*{text}", dirichlet={"boundary": text}, degree=1 + k % 2
        )
        X = rng.uniform(0.2, 0.8, (12, 2))

        def exact(X, m=m, n=n, p=p, q=q):
            return np.sin(m * X[:, 0] + p) * np.sin(n * X[:, 1] + q)

        slopes = m * np.cos(m * X[:, 0] + p) * np.sin(n * X[:, 1] + q)
        queries = problem.points(X) + problem.gradients(X, "x") + problem.mean()
        mean = (np.cos(p) - np.cos(m + p)) * (np.cos(q) - np.cos(n + q)) / (m * n)
        truth = np.concatenate([exact(X), slopes, [mean]])
        first = pp.certify(problem, problem.space.U0, queries)
        off = rng.choice([0.05, 0.5, 1.5, 4.0], len(truth)) * first.radius * rng.choice([-1.0, 1.0], len(truth))
        limit = [{"below": t + s} for t, s in zip(truth, off, strict=True)]
        size = np.abs(truth - first.value)
        accept = size * rng.choice([0.2, 0.9, 1.1, 3.0], len(truth)) + 1e-3
        found = pp.certify_to(
            problem, problem.space.U0, queries, until="decided", limit=limit, accept=accept, max_dofs=250
        ).certificate
        for i, verdict in enumerate(found.verdicts):
            keeps, near = off[i] >= 0.0, abs(found.prediction[i] - truth[i]) <= accept[i]
            for key, yes, no, holds in (("limit", "holds", "violated", keeps), ("accept", "within", "beyond", near)):
                counts[verdict[key]] += 1
                total += 1
                wrong += verdict[key] == (no if holds else yes)
    assert total >= 500
    assert wrong == 0
    assert min(counts.values()) >= 10, counts
