"""What queries have of the data, densities of blocks and ranges: proved from the case, whatever a bundle stores."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint_verify import rows
from pinnpoint_verify.blocks import Pieces
from pinnpoint_verify.checker import Ball
from pinnpoint_verify.constants import integral, stays, value_at
from pinnpoint_verify.formulas import plain
from pinnpoint_verify.reader import Refused
from tests.support.forged import Forger
from tests.support.forging import checked, claim

BUMP = "+3000*exp(-((y-0.7031)**2)/1e-8)"
HELD = {"dirichlet": {"left": "sin(3*y)"}, "robin": {"right": ("2+y", 0.0)}}


def made(folder, ask, prediction=None, n=4, **given):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", n), **({"source": "1+x"} | given))
    queries = ask(problem)
    U, lift = (problem.space.U0, None) if prediction is None else (prediction, True)
    found = pp.certify(problem, U, queries, lift=lift)
    pp.write_bundle(folder, found, problem, U, queries)
    good, said, _ = checked(folder)
    assert good, said
    return said


@pytest.mark.parametrize("query", ["point", "patch"])
def test_what_is_held_is_known_from_the_data_and_nothing_else(query, tmp_path):
    asked = {"point": lambda p: p.points([[0.0, 0.3]]), "patch": lambda p: p.patch("left")}[query]
    said = made(tmp_path / "b", asked, dirichlet={"left": "sin(3*y)"})
    assert not [line for line in said.splitlines() if "samples" in line and "polynomials" not in line]

    by = []

    def moved(c):
        row = c["queries"][0]
        by.append(2.0 * row["radius"])
        claim(row, c["radius_terms"], row["center"] + by[0], row["radius"])

    forged = Forger(tmp_path / "b", tmp_path / "f").json("certificate", moved)
    forged.json("proof", lambda p: p["goals"][0].update(constant=p["goals"][0]["constant"] + by[0]))
    good, said, _ = checked(forged.seal())
    assert not good, said


def test_a_held_value_that_is_no_number_is_not_any_number(tmp_path):
    """(y − 0.3)/(y − 0.3) has no value at y = 0.3: before, any constant did."""
    made(tmp_path / "b", lambda p: p.points([[0.0, 0.3]]), dirichlet={"left": "sin(3*y)"})
    other = "sin(3*y)*(y-0.3)/(y-0.3)"

    def moved(c):
        row = c["queries"][0]
        claim(row, c["radius_terms"], 5.0, 1e-14)

    forged = Forger(tmp_path / "b", tmp_path / "f").json("certificate", moved)
    forged.json("proof", lambda p: [p["goals"][0].update(constant=5.0), p.update(dirichlet=[other])])
    forged.json("case", lambda c: c["problem"].update(dirichlet={"left": other}))
    good, said, _ = checked(forged.seal())
    assert not good or "the value of 'q0' on the Dirichlet boundary" in said


def test_narrow_features_of_data_are_seen():
    V = np.array([[[0.0, 0.2], [0.0, 1.0]]])
    found = integral("1.0" + BUMP, V)
    assert found is None or abs(float(found.m) - 0.8 - 3000.0 * np.sqrt(np.pi) * 1e-4) <= found.r
    assert stays("2+y", V, np.array([2.2]), np.array([3.0]))
    assert not stays("2+y" + BUMP, V, np.array([2.2]), np.array([3.0]))
    assert not stays("2+y", V, np.array([2.21]), np.array([3.0]))
    assert abs(float(value_at("exp(x+y)", np.array([0.0, 0.5])).m) - np.exp(0.5)) < 1e-15
    assert value_at("1/x", np.array([0.0, 0.5])) is None


def test_bounds_of_robin_coefficients_are_proved(tmp_path):
    said = made(tmp_path / "b", lambda p: p.points([[0.4, 0.55]]), **HELD)
    assert "lower bounds of Robin" not in said
    forged = Forger(tmp_path / "b", tmp_path / "f").array("robin/low", lambda a: a + 1e-6).seal()
    good, said, _ = checked(forged)
    assert not good or "lower bounds of Robin" in said


def test_a_lift_leaves_something_on_every_free_facet(tmp_path):
    """Without what u_θ leaves of the natural condition another problem would be proved."""
    ask, u = lambda p: p.points([[0.4, 0.55]]), "x*y"
    said = made(tmp_path / "b", ask, u, dirichlet={"left": 0.0})
    assert "enclosures of fluxes" not in said
    forged = Forger(tmp_path / "b", tmp_path / "f").json("proof", lambda p: p.update(neumann=[]))
    for path in (*forged.folder.glob("continuous/n*.npy"), *forged.folder.glob("source/g_*.npy")):
        path.unlink()
    forged.array("continuous/flux", lambda a: 0.0 * a)
    good, said, _ = checked(forged.seal())
    assert not good
    assert "on all free facets" in said


@pytest.mark.parametrize("d", [1, 2, 3])
def test_densities_of_blocks_are_as_close_as_is_said(d):
    rng = np.random.default_rng(d)
    V = rng.uniform(0.0, 1.0, (40, d + 1, d))
    V = V[np.abs(np.linalg.det(V[:, 1:] - V[:, :1])) > 0.02]
    low, high, height = np.full(d, 0.31), np.full(d, 0.72), Ball(7.0)
    pieces = Pieces(V, low, high)
    beta, rest = pieces.closer(height)
    high_, e1, _ = rest.T
    B = rng.dirichlet(np.ones(d + 1), 60_000)
    X = np.einsum("qi,nic->nqc", B, V)
    within = np.all((X > low) & (X < high), axis=2)
    gap = 7.0 * within - np.einsum("njk,qj,qk->nq", beta, B, B, optimize=True)
    rms, few = np.sqrt((gap**2).mean(axis=1)), np.minimum(within.sum(axis=1), (~within).sum(axis=1))
    assert np.all(rms <= (high_ + e1) * (1.0 + 3.0 / np.sqrt(few + 1.0)) + 1e-9)  # points are chosen by chance
    assert np.median(rms[pieces.cut] / high_[pieces.cut]) > 0.9
    share = np.bincount(pieces.inside[1], pieces.inside[2], minlength=len(V))
    assert np.all(np.abs(share - within.mean(axis=1)) < 0.02)


def test_an_average_over_a_block_is_that_of_the_block(tmp_path):
    said = made(tmp_path / "b", lambda p: p.cells([[0.4, 0.5]], side=0.3))
    assert "densities" not in said
    for k, change in enumerate((lambda a: 1.001 * a, lambda a: a[::-1])):
        forged = Forger(tmp_path / "b", tmp_path / f"f{k}").array("dual/w0_beta", change).seal()
        assert not checked(forged)[0] or k == 0


def test_the_height_of_an_even_density_counts(tmp_path):
    made(tmp_path / "b", lambda p: p.mean())
    forged = Forger(tmp_path / "b", tmp_path / "f").array("dual/w0_beta", lambda a: a * (1.0 + 1e-5)).seal()
    good, said, _ = checked(forged)
    assert not good
    assert "not the density of its group" in said


def test_what_is_infinite_agrees_with_nothing():
    assert not rows.near(1.0, np.inf, 1e-15)
    assert not rows.near(1.0, np.nan, 1e-15)
    assert rows.near(1.0, 1.0 + 1e-16, 1e-15)
    for text in ("1e308*10", "1e400", "0*1e400", "log(0)", "sqrt(0-1)"):
        with pytest.raises(Refused, match="not finite"):
            plain(text)


@pytest.mark.parametrize("text", ["1e16+1-1e16", "1e-400*1e300*1e100*5", "1e-323*1e300*1e23", "1-0.9-0.1", "sin(pi)"])
def test_formulas_without_coordinates_whose_floats_are_other_numbers_are_refused(text):
    """Their value in binary64 is what a proof would use: 0, 0, 0.988, −3·10⁻¹⁷."""
    with pytest.raises(Refused, match="loses its digits"):
        plain(text)


def test_formulas_without_coordinates_are_the_floats_next_to_them():
    known = {"1/3": 1.0 / 3.0, "0.1+0.2": 0.30000000000000004, "2**0.5": 2.0**0.5, "0*5": 0.0, "-1e-400": 0.0}
    assert {text: plain(text) for text in known} == known


def test_a_source_that_is_another_number_in_floats_does_not_verify(tmp_path):
    """Stored is the proof for 2, and the case says 3."""
    made(tmp_path / "b", lambda p: p.mean(), source=2.0, dirichlet={"boundary": 0.0})
    forger = Forger(tmp_path / "b", tmp_path / "f")
    forger.json("case", lambda d: d["problem"].update(source="2+1e16+1-1e16")).seal()
    good, said, _ = checked(tmp_path / "f")
    assert not good
    assert "loses its digits" in said
