"""Reactions below zero beside Robin groups and periodic pairs, also above eigenvalues, and their bundles."""

from __future__ import annotations

import math
import re
import shutil

import numpy as np
import pytest
from scipy.optimize import brentq

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.transfer.spectrum.indefinite import Indefinite
from pinnpoint.transfer.spectrum.separation import separation
from pinnpoint_verify import claims
from pinnpoint_verify.checker import DIRICHLET
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reader import Refused
from pinnpoint_verify.spectrum import Spectrum
from tests.soundness.test_bundle_forged import Forger

X = np.array([[0.3, 0.4], [0.75, 0.3]])


def exchanged(c=-1.0, degree=2, n=6):
    """u = 1 + xy, with u_x + 2u on the right, given values on the left and fluxes elsewhere."""
    given = {"dirichlet": {"left": 1.0}, "neumann": {"bottom": "-x", "top": "x"}, "robin": {"right": (2.0, "2+3*y")}}
    mesh = pp.io.generate("square", n)
    return pp.fem.ReactionDiffusion(mesh, f"{c}*(1+x*y)", reaction=c, degree=degree, **given)


def tube(c=-5.0, n=6):
    """u = sin 2πx y(1 − y); the first eigenvalue is π²."""
    u = "(sin(2*pi*x)*y*(1-y))"
    sides = {"dirichlet": {"bottom": 0.0, "top": 0.0}, "periodic": {"left": "right"}}
    source = f"4*pi**2*{u} + 2*sin(2*pi*x) + ({c})*{u}"
    return pp.fem.ReactionDiffusion(pp.io.generate("square", n), source, reaction=c, degree=2, **sides)


def check_exchange() -> None:
    problem = exchanged(c=-2.2, degree=1)
    certificate = pp.certify(problem, problem.space.U0, problem.points(X) + problem.patch("right"))
    assert certificate.contains([*(1.0 + X[:, 0] * X[:, 1]), 1.5]).all()


def check_tube() -> None:
    problem = tube()
    certificate = pp.certify(problem, problem.space.U0, problem.points(X) + problem.mean())
    assert certificate.contains([*(np.sin(2.0 * np.pi * X[:, 0]) * X[:, 1] * (1.0 - X[:, 1])), 0.0]).all()
    assert certificate.radius.max() < 0.01


def test_robin():
    check_exchange()
    problem = exchanged()
    assert pp.certify(problem, problem.space.U0, problem.points(X)).radius.max() < 1e-4


def test_periodic():
    check_tube()


@pytest.mark.parametrize(("problem", "first"), [(exchanged(n=8), math.pi**2 / 4.0), (tube(n=8), math.pi**2)])
def test_the_first_eigenvalue_from_below(problem, first):
    """Of free facets in the place of Robin ones, and of the glued tube."""
    model = problem.continuum(problem.topology)
    found = separation(model)
    assert found.count == 0
    assert 0.9 * first < -float(model.reaction.min()) * found.above < first
    assert 0.9 * first < found.floor < first


@pytest.mark.parametrize("problem", [exchanged(-30.0, n=4), tube(-44.0)], ids=["robin", "periodic"])
def test_what_is_not_separated_is_refused_with_the_diameter_that_would_do(problem):
    with pytest.raises(InputError, match=r"not separated from the eigenvalues.*needs cells of a diameter of about"):
        pp.certify(problem, problem.space.U0, problem.points(X))


@pytest.mark.parametrize(
    ("problem", "why"),
    [(exchanged(), "at most one across each axis"), (tube(), "below zero beside periodic pairs")],
    ids=["robin", "periodic"],
)
def test_what_is_not_proved(problem, why):
    with pytest.raises(InputError, match=why):
        pp.certify(problem, problem.space.U0, problem.everywhere())


def rod():
    """Of linear elements, held at one end."""
    return pp.fem.ReactionDiffusion(
        pp.io.generate("interval", 12), "1+x", reaction=-1.0, dirichlet={"left": 0.5}, robin={"right": (2.0, 1.0)}
    )


def between(n=8):
    """Above one eigenvalue, with a Robin coefficient that varies."""
    sides = {"dirichlet": {"left": 0.0, "bottom": 0.0, "top": 0.0}, "robin": {"right": ("1+y", "exp(y)")}}
    return pp.fem.ReactionDiffusion(pp.io.generate("square", n), "1+x", reaction=-28.0, degree=2, **sides)


def resting(c=-30.0):
    """Held by nothing but Robin ends."""
    ends = {"left": (1.0, 0.0), "right": (2.0, 1.0)}
    return pp.fem.ReactionDiffusion(
        pp.io.generate("interval", 24), "1+x", reaction=c, degree=2, dirichlet={}, robin=ends
    )


CASES = {
    "robin, above": (between, lambda p: p.points(X) + p.flux("right")),
    "periodic, above": (lambda: tube(-25.0, n=8), lambda p: p.points(X) + p.mean()),
    "Robin ends, above": (resting, lambda p: p.points([[0.3]]) + p.mean()),
    "robin": (lambda: exchanged(-2.0, degree=1), lambda p: p.points(X) + p.patch("right") + p.flux("right") + p.mean()),
    "periodic": (tube, lambda p: p.points(X) + p.averages(X[:1], 0.15) + p.mean()),
    "line": (rod, lambda p: p.points([[0.4]]) + p.flux("left")),
}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    root, found = tmp_path_factory.mktemp("sides"), {}
    for name, (problem, asked) in CASES.items():
        p = problem()
        certificate = pp.certify(p, p.space.U0, asked(p))
        pp.write_bundle(root / name, certificate, p, p.space.U0, asked(p))
        found[name] = root / name, certificate
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_checker_proves_the_same(bundles, name):
    folder, certificate = bundles[name]
    lines = [line for line in verify(folder) if ": proved " in line]
    found = np.array([float(re.search(r"± ([\d.e+-]+);", line)[1]) for line in lines])
    np.testing.assert_allclose(found, certificate.radius, rtol=0.01)


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("robin", {"count": 1}, "no count from above"),
        ("periodic", {"count": 1}, "no count from above"),
        ("robin, above", {"count": 2}, "1 eigenvalues are below, 2 are claimed"),
        ("robin, above", {"count": 0}, "1 eigenvalues may lie below"),
        ("periodic, above", {"count": 2}, "1 eigenvalues are below, 2 are claimed"),
        ("periodic, above", {"above": 0.3}, "0 eigenvalues are below"),
        ("Robin ends, above", {"mesh": [1.0, 1.0]}, "a mesh constant where nothing is held"),
        ("robin", {"below": 5.0}, "eigenvalues may lie below"),
        ("periodic", {"below": 5.0}, "eigenvalues may lie below"),
        ("periodic", {"first": 15.0}, "eigenvalues may lie below"),
    ],
)
def test_what_is_not_so_is_refused(bundles, tmp_path, name, change, why):
    shutil.copytree(bundles[name][0], tmp_path / "b")
    forger = Forger(tmp_path / "b")
    forger.json("proof.json", lambda d: d["spectrum"].update(change))
    forger.seal()
    with pytest.raises(Refused, match=why):
        verify(tmp_path / "b")


@pytest.fixture
def seen(monkeypatch):
    """The checker's own gaps in the spectrum, as they are proved."""
    found: list[Spectrum] = []
    monkeypatch.setattr(claims, "Spectrum", lambda *given: found.append(Spectrum(*given)) or found[-1])
    return found


def test_the_checker_encloses_the_eigenvalues_between_robin_ends(bundles, seen):
    """−u″ = μ²u, u′(0) = u(0), u′(1) + 2u(1) = 0: (μ² − 2) sin μ = 3μ cos μ; free ends have (kπ)²."""
    verify(bundles["Robin ends, above"][0])
    roots = [brentq(lambda m: (m * m - 2.0) * math.sin(m) - 3.0 * m * math.cos(m), a, a + math.pi) for a in (3.2, 6.3)]
    below = -seen[0].low / (1.0 - seen[0].low) * 30.0
    assert roots[0] ** 2 <= below <= 1.001 * roots[0] ** 2
    assert 0.99 * roots[1] ** 2 <= 30.0 * seen[0].above <= roots[1] ** 2


def test_the_checker_encloses_the_eigenvalues_of_the_tube(bundles, seen):
    """π² and 5π², sin and cos."""
    verify(bundles["periodic, above"][0])
    assert math.pi**2 <= -seen[0].low / (1.0 - seen[0].low) * 25.0 <= 1.001 * math.pi**2
    assert 0.6 * 4.0 * math.pi**2 <= 25.0 * seen[0].above <= 4.0 * math.pi**2


@pytest.mark.parametrize(
    ("name", "problem"), [("robin, above", between), ("periodic, above", lambda: tube(-25.0, n=8))]
)
def test_the_factor_of_nearly_galerkin_states_is_that_of_both_programs(bundles, seen, name, problem):
    verify(bundles[name][0])
    p = problem()
    own = Indefinite.of(p.continuum(p.topology))
    assert own is not None
    assert 0.995 * own.mesh_factor <= seen[0].M <= own.mesh_factor  # which keeps a reserve
    seen[0]._through = lambda M: 0.0
    shifts = own.witness["mesh"]
    without = seen[0]._mesh_constant(shifts, seen[0].mesh.kind == DIRICHLET)
    assert without < (0.9 if name.startswith("robin") else 1.01) * seen[0].M


def test_lifts_of_tubes():
    problem = tube(n=4)
    near = "1.01*sin(2*pi*x)*y*(1-y) + 0.1*x*y*(1-y)"
    certificate = pp.certify(problem, near, problem.points(X), lift="anyway")
    assert certificate.contains(np.sin(2.0 * np.pi * X[:, 0]) * X[:, 1] * (1.0 - X[:, 1])).all()
    assert certificate.radius.max() < 0.01
