"""Reactions below zero beside Robin groups and periodic pairs; those above the first eigenvalue are not bundled."""

from __future__ import annotations

import math
import re
import shutil

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.transfer.spectrum.separation import separation
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reader import Refused
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


@pytest.mark.parametrize("problem", [exchanged(), tube()], ids=["robin", "periodic"])
def test_what_is_not_proved(problem):
    with pytest.raises(InputError, match="beside Robin groups or periodic pairs"):
        pp.certify(problem, problem.space.U0, problem.everywhere())


def rod():
    """Of linear elements, held at one end."""
    return pp.fem.ReactionDiffusion(
        pp.io.generate("interval", 12), "1+x", reaction=-1.0, dirichlet={"left": 0.5}, robin={"right": (2.0, 1.0)}
    )


CASES = {
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
        ("robin", {"count": 1}, "above an eigenvalue, beside Robin groups"),
        ("periodic", {"count": 1}, "above an eigenvalue, beside Robin groups"),
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


def test_lifts_of_tubes():
    problem = tube(n=4)
    near = "1.01*sin(2*pi*x)*y*(1-y) + 0.1*x*y*(1-y)"
    certificate = pp.certify(problem, near, problem.points(X), lift="anyway")
    assert certificate.contains(np.sin(2.0 * np.pi * X[:, 0]) * X[:, 1] * (1.0 - X[:, 1])).all()
    assert certificate.radius.max() < 0.01
