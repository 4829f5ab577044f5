"""Bundles of largest errors, extreme values and norms beside reactions below zero, Neumann data and Robin sides."""

from __future__ import annotations

import contextlib
import io
import math
import shutil

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.transfer.everywhere import asked, lengths, level_sets, local_band
from pinnpoint.transfer.spectrum.indefinite import Indefinite
from pinnpoint_verify.claims import main
from pinnpoint_verify.enclosures import largest, tops
from tests.soundness.test_bundle_forged import Forger
from tests.support.forging import proved

WAVE, RAMP = "sin(pi*x)*sin(pi*y)", "x*sin(pi*y)"
HELD = {"left": 0.0, "bottom": 0.0, "top": 0.0}
BENT = {"source": f"pi**2*{RAMP}", "dirichlet": HELD}


def square(n=5, **given):
    return pp.fem.ReactionDiffusion(pp.io.generate("square", n), **({"degree": 2} | given))


def line(q):
    """Near resonance: what is left of the equation is small, and u = sin πx is not."""
    return pp.fem.ReactionDiffusion(pp.io.generate("interval", 64), f"{math.pi**2 - q}*sin(pi*x)", reaction=-q)


def every(p):
    return p.everywhere(checked=True) + p.maximum(checked=True) + p.minimum(checked=True) + p.l2_error()


CASES = {
    "below zero": (lambda: square(6, source=f"(2*pi**2-30)*{WAVE}", reaction=-30.0), (1.0, 1.0, 0.0, 0.5)),
    "missed data": (
        lambda: square(source="-3*cos(x)*cos(y)", reaction=-5.0, dirichlet={"boundary": "cos(x)*cos(y)"}),
        (None, 1.0, math.cos(1.0) ** 2, None),
    ),
    "fluxes below zero": (
        lambda: square(source=f"(pi**2-5)*{RAMP}", dirichlet=HELD, neumann={"right": "sin(pi*y)"}, reaction=-5.0),
        (1.0, 1.0, 0.0, 6.0**-0.5),
    ),
    "fluxes": (lambda: square(**BENT, neumann={"right": "sin(pi*y)"}), (1.0, 1.0, 0.0, 6.0**-0.5)),
    "linear elements": (
        lambda: square(**BENT, neumann={"right": "sin(pi*y)"}, degree=1),
        (1.0, 1.0, 0.0, 6.0**-0.5),
    ),
    "Robin": (lambda: square(**BENT, robin={"right": (2.0, "3*sin(pi*y)")}), (1.0, 1.0, 0.0, 6.0**-0.5)),
    "Robin, a formula": (
        lambda: square(**BENT, robin={"right": ("1+y", "(2+y)*sin(pi*y)")}),
        (1.0, 1.0, 0.0, 6.0**-0.5),
    ),
    "between eigenvalues, Robin": (
        lambda: square(
            8, source=f"(pi**2-24)*{RAMP}", dirichlet=HELD, reaction=-24.0, robin={"right": ("1+y", "(2+y)*sin(pi*y)")}
        ),
        (1.0, 1.0, 0.0, 6.0**-0.5),
    ),
    "a line": (lambda: line(0.5 * math.pi**2), (1.0, 1.0, 0.0, 0.5**0.5)),
}


def written(folder, p, queries, given=None, **more):
    given = p.space.U0 if given is None else given
    found = pp.certify(p, given, queries, **more)
    pp.write_bundle(folder, found, p, given, queries)
    return found


def verdict(folder):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(folder)
    return out.getvalue().strip().splitlines()[-1]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root, found = tmp_path_factory.mktemp("whole"), {}
    for name, (problem, _) in CASES.items():
        p = problem()
        queries = every(p) + (p.energy_error() if name != "missed data" else p.mean())
        found[name] = root / name, written(root / name, p, queries)
    return found


@pytest.mark.parametrize("name", CASES)
def test_bundles_are_verified_and_hold_the_truth(made, name):
    folder, found = made[name]
    truth = CASES[name][1]
    known = [i for i, value in enumerate(truth) if value is not None]
    assert found.contains([*(value or 0.0 for value in truth), 0.0])[known].all()
    assert verdict(folder) == "VERIFIED"


@pytest.mark.parametrize("name", ["below zero", "fluxes", "fluxes below zero"])
def test_what_a_lift_leaves_is_verified(tmp_path, name):
    problem, _ = CASES[name]
    p, u = problem(), f"1.01*{WAVE if name == 'below zero' else RAMP}"
    found = written(tmp_path / "b", p, p.everywhere(checked=True) + p.l2_error(), u, lift=True)
    assert found.contains([0.01, 0.01 * CASES[name][1][3]]).all()
    assert verdict(tmp_path / "b") == "VERIFIED"


def test_lifts_beside_robin_sides_have_no_bundle_of_the_largest_error(tmp_path):
    p = CASES["Robin"][0]()
    with pytest.raises(pp.InputError, match="lifts beside Robin sides"):
        written(tmp_path / "b", p, p.everywhere(checked=True), f"1.01*{RAMP}", lift=True)
    written(tmp_path / "c", p, p.l2_error(), f"1.01*{RAMP}", lift=True)
    assert verdict(tmp_path / "c") == "VERIFIED"


def untouched(model, flux, state=None):
    return np.zeros(len(model.kappa)), np.zeros(len(model.kappa)), True


DROPPED = {
    "what a reaction carries": (lambda: line(0.97 * math.pi**2), 0, (Indefinite, "carried", lambda self, *a: 0.0)),
    "what it carries beside Robin sides": (
        CASES["between eigenvalues, Robin"][0],
        0,
        (Indefinite, "carried", lambda self, *a: 0.0),
    ),
    "what a reaction makes of data": (CASES["missed data"][0], 1, (Indefinite, "spread", lambda self, planes: 1.0)),
    "what the spectrum makes of an energy": (
        CASES["below zero"][0],
        4,
        (Indefinite, "energy", lambda self, e, r: 0.5 * e),
    ),
    "what the spectrum makes of a mean": (
        CASES["below zero"][0],
        3,
        (lengths, "by_energy", lambda model, energy, *rest: (1e-3 * energy, energy)),
    ),
    "what a flux leaves of its data": (CASES["fluxes"][0], 0, (level_sets, "unmet", untouched)),
    "what a flux leaves of Robin data": (CASES["Robin, a formula"][0], 1, (level_sets, "unmet", untouched)),
    "the first eigenvalue": (CASES["Robin"][0], 3, (lengths, "mean_constant", lambda model: (0.1, None))),
}


@pytest.mark.parametrize("name", DROPPED)
def test_claims_without_it_are_noticed(tmp_path, monkeypatch, name):
    problem, which, (where, what, instead) = DROPPED[name]
    if what == "unmet":
        monkeypatch.setattr(local_band, what, instead)
    monkeypatch.setattr(where, what, instead)
    p = problem()
    queries = [p.everywhere(checked=True), p.maximum(checked=True), p.minimum(checked=True), p.l2_error()]
    queries.append(p.energy_error())
    written(tmp_path / "b", p, queries[which])
    assert "is proved" in verdict(tmp_path / "b")


def numbers(**new):
    return lambda d: d["goals"][3].update(new)


FORGED = {
    "a mean by a mesh constant": ("below zero", numbers(mean={"first": None}), "beside a reaction below zero"),
    "no mesh constant": ("fluxes", numbers(mean=None), "without its mesh constant"),
    "no first eigenvalue": ("Robin", numbers(mean={"first": None}), "is proved"),
    "a wrong first eigenvalue": ("Robin", numbers(mean={"first": 20.0}), "0 are claimed"),
    "no eigenvalue": ("Robin", numbers(mean={}), "with a mesh constant"),
    "no spectrum": ("below zero", lambda d: d.pop("spectrum"), "spectrum"),
    "no flux on the right": ("fluxes", lambda d: d.update(neumann=[0.0]), "not that of the case"),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_is_not_so_is_noticed(made, tmp_path, name):
    of, change, words = FORGED[name]
    shutil.copytree(made[of][0], tmp_path / "b")
    f = Forger(tmp_path / "b")
    f.json("proof.json", change)
    f.seal()
    assert words in verdict(tmp_path / "b")


@pytest.mark.parametrize("name", CASES)
def test_narrower_claims_are_noticed(made, tmp_path, name):
    folder, found = made[name]
    for i in (0, 3):
        shutil.copytree(folder, tmp_path / f"{i}")
        f = Forger(tmp_path / f"{i}")
        f.claim(i, float(found.center[i]), 0.7 * float(found.radius[i]))
        f.seal()
        assert verdict(tmp_path / f"{i}").startswith("NOT VERIFIED")


def test_bounds_on_each_simplex_are_close_and_their_largest_is_that_of_all():
    """sup |e^x − 1 − x| over [0, 1] and [1, 2], at the right ends."""
    V = np.array([[[0.0], [1.0]], [[1.0], [2.0]]])
    b = np.array([[[1.0, 1.5], [1.5, 2.0]], [[2.0, 2.5], [2.5, 3.0]]])
    truth = np.array([math.e - 2.0, math.e**2 - 3.0])
    found = tops("exp(x)", V, b, 1.0005)
    assert np.all(truth <= found)
    assert np.all(found <= 1.002 * truth)
    assert truth[1] <= largest("exp(x)", V, b, 1.0) <= 1.2 * truth[1]
    assert asked.is_plain is lengths.is_plain


def kept(folder, data, formula, network=False):
    """The largest error of a lifted prediction, beside Dirichlet data on the left."""
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source="1+x", dirichlet={**SIDES, "left": data})
    if network:
        rng = np.random.default_rng(2)
        W, b = [rng.normal(size=(3, 2)), rng.normal(size=(1, 3))], [rng.normal(size=3), np.ones(1)]
        formula = pp.models.Lift(pp.models.MLP(W, b, "tanh"), formula)
    found = pp.certify(p, formula, p.everywhere(checked=True), target="continuous", lift=True)
    pp.write_bundle(folder, found, p, formula, p.everywhere(checked=True))
    return Forger(folder)


SIDES = {"right": 0.0, "bottom": 0.0, "top": 0.0}


@pytest.mark.parametrize("network", [False, True])
def test_a_narrow_bump_in_what_is_held_counts_for_lifts_too(tmp_path, network):
    """sup|u − u_θ| is at least 5; the stored bound of the data was compared with points that do not see the bump."""
    f = kept(tmp_path / "b", "0*y", "x*(1-x)*y*(1-y)", network)
    assert main(f.folder) == 0
    for name in ("case.json", "proof.json", "certificate.json"):
        path = f.folder / name
        path.write_text(path.read_text().replace('"0*y"', '"0*y+5*exp(-((y-0.4321)/1e-4)**2)"'))
    f.seal()
    assert proved(f.folder)[0][0] + proved(f.folder)[0][1] >= 5.0
    assert verdict(f.folder).startswith("NOT VERIFIED")


def test_what_vertices_show_of_an_error_is_proved(tmp_path, monkeypatch):
    """u = 1 + x and u_θ = 0, sup|u − u_θ| = 2; a stored number that was larger by 5e-10 passed."""
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 2), source=0.0, dirichlet={"boundary": "1+x"})
    found = pp.certify(p, "0", p.everywhere(checked=True), target="continuous", lift=True)
    f = Forger(pp.write_bundle(tmp_path / "b", found, p, "0", p.everywhere(checked=True)))
    f.json("proof.json", lambda d: d["goals"][0].update(least=2.0 * (1.0 + 5e-10)))
    f.seal()
    ((c, r),) = proved(f.folder)
    assert c - r <= 2.0 <= c + r
