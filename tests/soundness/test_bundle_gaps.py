"""Fluxes beside Dirichlet data that the elements do not meet to the last digit: the checker counts them too."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint_verify import claims, gaps
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reader import Refused

TABLE = [["2 + x", "0.3*y"], ["0.3*y", "1"]]
FLAT = {"boundary": "0.1 + 0.7*x"}
CASES = {
    "formulas": ("square", {"diffusion": "1 + x*y", "dirichlet": FLAT}, ["boundary"]),
    "a line": ("interval", {"diffusion": "1 + x", "dirichlet": {"left": "sin(3)", "right": "exp(1)"}}, ["left"]),
    "a matrix and a drift": (
        "square",
        {"diffusion": TABLE, "convection": ("1", "0.2"), "reaction": "2 + x", "dirichlet": FLAT},
        ["boundary"],
    ),
    "a Robin side": (
        "square",
        {"diffusion": "1 + x", "dirichlet": {"bottom": "0.1 + 0.3*x"}, "robin": {"top": ("1 + x", 2.0)}},
        ["bottom", "top"],
    ),
    "between eigenvalues": ("square", {"reaction": -30.0, "dirichlet": FLAT}, ["boundary"]),
    "between eigenvalues, a Robin side": (
        "square",
        {"reaction": -9.0, "dirichlet": {"bottom": "0.1 + 0.3*x"}, "robin": {"top": (2.0, 1.0)}},
        ["bottom", "top"],
    ),
}
CELLS = {"interval": 6, "square": 6}


def written(folder, mesh, more, groups):
    """A bundle with the fluxes through these groups."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate(mesh, CELLS[mesh]), "1", degree=2, **more)
    queries = problem.flux(groups[0])
    for group in groups[1:]:
        queries = queries + problem.flux(group)
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)
    return certificate


@pytest.mark.parametrize("what", CASES)
def test_two_programs_count_what_data_changes(tmp_path, monkeypatch, what):
    """Both find it from models of their own; it is far above zero, and far below the interval."""
    found, own = [], claims.missed
    monkeypatch.setattr(claims, "missed", lambda *given: found.append(own(*given)) or found[-1])
    certificate = written(tmp_path / "b", *CASES[what])
    assert verify(tmp_path / "b")
    counted = certificate.terms["boundary"]
    assert np.all(counted > 0.0)
    if found:  # beside a spectrum it is counted there
        assert np.all(np.abs(np.log10(found / counted)) < 2.0)  # of a flux it has a reserve


@pytest.mark.parametrize("what", ["formulas", "a matrix and a drift", "between eigenvalues"])
def test_it_counts(tmp_path, monkeypatch, what):
    written(tmp_path / "b", *CASES[what])
    monkeypatch.setattr(gaps, "_gap", lambda query, mismatch: np.full(query.p.mesh.size, 1.0))
    with pytest.raises(Refused):
        verify(tmp_path / "b")


def test_fluxes_of_data_that_is_lifted_are_not_called_met(tmp_path):
    more = {"diffusion": "1 + x", "dirichlet": {"bottom": "exp(x)"}, "robin": {"top": (1.0, 2.0)}}
    certificate = written(tmp_path / "b", "square", more, ["bottom", "top"])
    assert not any("of fluxes: met" in claim.claim for claim in certificate.assumptions)
    assert any("lifted into the cells" in claim.claim for claim in certificate.assumptions)
    assert verify(tmp_path / "b")


@pytest.mark.parametrize("reaction", ["2 + x", "x"])
def test_data_beside_a_drift_and_a_reaction_by_a_formula(tmp_path, reaction):
    """Written where the checker sees from its models that c ≥ 0, so that the maximum principle holds."""
    grid = pp.io.generate("square", 4)
    problem = pp.fem.ReactionDiffusion(
        grid, "1", "1 + x", reaction, {"boundary": "exp(x)*y"}, convection=("1", "0"), degree=2
    )
    queries = problem.mean() + problem.points([[0.4, 0.6]])
    certificate = pp.certify(problem, problem.space.U0, queries)
    if reaction == "x":
        with pytest.raises(pp.InputError, match="touch zero"):
            pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)
        return
    pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)
    assert verify(tmp_path / "b")


@pytest.mark.parametrize("more", [{}, {"diffusion": 2.0}, {"diffusion": "1 + x", "source": -0.7}])
@pytest.mark.parametrize("mesh", CELLS)
def test_fluxes_of_solutions_that_the_elements_have(tmp_path, mesh, more):
    """What data changes is all there is of the radius then, and both programs bound rounding."""
    u, whole = ("0.1 + 0.7*x", "left") if mesh == "interval" else ("0.1 + 0.7*x + 0.3*y", "boundary")
    problem = pp.fem.ReactionDiffusion(
        pp.io.generate(mesh, CELLS[mesh]), **{"source": 0.0} | more, dirichlet={"boundary": u}
    )
    queries = problem.flux(whole)
    certificate = pp.certify(problem, problem.space.U0, queries)
    assert certificate.radius[0] < 1e-9
    pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)
    assert verify(tmp_path / "b")
