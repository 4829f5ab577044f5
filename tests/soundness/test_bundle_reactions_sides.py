"""Bundles of g(u) beside Robin groups and periodic pairs: both programs prove the same, and forgeries do not verify."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.mesh import Mesh
from pinnpoint_verify import checker, cubics, reactions
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reader import Refused
from tests.soundness.test_bundle_forged import Forger
from tests.support.reaction_bundles import FORGED, radii, scaled, words, written

ROBIN = {"robin": {"right": (2.0, 0.0)}, "dirichlet": {"left": 0.0}, "groups": ("right", "bottom")}
LOADED = {"robin": {"right": ("1+y", "1+y"), "top": (3.0, 0.0)}, "groups": ("right",)}
ROUND = {"periodic": {"left": "right"}, "dirichlet": {"bottom": 0.0}}
CASES = [
    (1, 2, "sinh(u)", {"robin": {"left": (1.0, 0.0), "right": (2.0, 0.5)}, "groups": ("right",)}),
    (2, 1, 5.0, ROBIN),
    (2, 1, "tanh(u)", LOADED),
    (1, 1, "sinh(u)", {"periodic": {"left": "right"}, "reaction": 1.0}),
    (2, 1, 5.0, {"periodic": {"left": "right"}, "robin": {"bottom": (1.0, 0.0)}, "cells": 3, "groups": ("bottom",)}),
]
LONGER = [
    (2, 2, {"robin": {"right": (2.0, -1.0), "left": (1e3, 0.0)}, "groups": ("right",)}),
    (2, 2, ROUND | {"neumann": {"top": 1.0}, "cells": 3}),
    (3, 1, ROBIN),
    (3, 1, ROUND | {"cells": 3}),
]


@pytest.mark.parametrize(("d", "degree", "g", "more"), CASES)
def test_both_programs_prove_the_same(tmp_path, d, degree, g, more):
    certificate = written(tmp_path / "b", d, degree, g, **more)
    np.testing.assert_allclose(radii(tmp_path / "b"), certificate.radius, rtol=0.01)


@pytest.mark.parametrize("word", ["convection", "geometry"])
def test_what_only_linear_problems_take_is_refused(word):
    with pytest.raises(InputError, match=f"{word}: a semilinear problem, .* takes none; got tuple. .*fem.React"):
        pp.fem.Semilinear(pp.io.generate("square", 2), g="u", **{word: ("1", "x")})
    with pytest.raises(TypeError, match="unexpected keyword argument 'gg'"):
        pp.fem.Semilinear(pp.io.generate("square", 2), g="u", gg=1)


def test_tanh_beside_robin_data_and_a_diffusion_that_varies():
    """Its g″ is bounded, so that no range of u is needed; of atan that is not known, and the refusal says so."""
    u, kappa = "x*y", "1+x"
    problem = pp.fem.Semilinear(
        pp.io.generate("square", 4),
        g="tanh(2*u)",
        source=f"-y+tanh(2*{u})",
        diffusion=kappa,
        dirichlet={"left": 0.0, "bottom": 0.0, "top": "x"},
        robin={"right": ("1+y", "2*y+(1+y)*y")},
        degree=2,
    )
    found = pp.certify(problem, problem.space.U0, problem.points([[0.4, 0.55]]))
    assert found.contains([0.22])[0]
    assert found.radius[0] < 5e-3
    words = r"None is needed where g″ is bounded on the real line, which of g″ = .* was not proved"
    data = {"diffusion": kappa, "robin": {"right": ("1", "y")}}
    problem = pp.fem.Semilinear(pp.io.generate("square", 2), g="atan(u)", source=1.0, **data)
    with pytest.raises(InputError, match=words):
        pp.certify(problem, problem.space.U0, problem.mean())


@pytest.mark.slow
@pytest.mark.parametrize(("d", "degree", "more"), LONGER)
def test_of_quadratic_elements_and_in_space(tmp_path, d, degree, more):
    certificate = written(tmp_path / "b", d, degree, **more)
    np.testing.assert_allclose(radii(tmp_path / "b"), certificate.radius, rtol=0.01)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    root = tmp_path_factory.mktemp("honest")
    written(root / "robin", **ROBIN)
    written(root / "round", **ROUND | {"cells": 3})
    return root


def exchanged(factor):
    """Another coefficient, wherever it is said."""

    def change(forger):
        for part in ("alpha_beta", "low", "top"):
            forger.array(f"robin/{part}", lambda a: factor * a)
        forger.json("case.json", lambda data: data["problem"].update(robin={"right": [2.0 * factor, 0.0]}))

    return change


def no_robin(forger):
    for path in (forger.folder / "robin").glob("*.npy"):
        path.unlink()
    forger.json("case.json", lambda data: data["problem"].pop("robin"))


def no_pair(forger):
    (forger.folder / "mesh" / "pair0.npy").unlink()
    forger.json("case.json", lambda data: data["problem"].pop("periodic"))


def shorter(forger):
    forger.array("mesh/pair0", lambda a: a[1:])


SIDES = {
    "robin": {
        "twice α": exchanged(2.0),
        "α by a millionth": exchanged(1.0 + 1e-6),
        "no α": no_robin,
        "another value": words("robin", {"right": [2.0, 0.1]}),
        "another load of the flux": scaled("dual/g2_beta", 1.01),
    },
    "round": {"no pair": no_pair, "a shorter pair": shorter},
}


@pytest.mark.parametrize(("kind", "what"), [(k, w) for k in SIDES for w in FORGED | SIDES[k]])
def test_what_was_altered_is_refused(honest, tmp_path, kind, what):
    shutil.copytree(honest / kind, tmp_path / "b")
    forger = Forger(tmp_path / "b")
    (FORGED | SIDES[kind])[what](forger)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


def test_without_what_robin_groups_take_an_honest_bundle_is_refused(honest, monkeypatch):
    monkeypatch.setattr("pinnpoint_verify.robin.taken", lambda p, nodal: (checker.Ball(0.0), 0.0))
    with pytest.raises(Refused):
        verify(honest / "robin")


def test_seams_are_free_sides(honest, monkeypatch):
    """A checker that forgets them takes constants of functions that vanish there, and proves what is false."""
    proved = radii(honest / "round")
    plain = cubics.faces

    def closed(mesh):
        on, kind = plain(mesh)
        return on, np.full(len(kind), checker.DIRICHLET)

    monkeypatch.setattr(cubics, "faces", closed)
    monkeypatch.setattr("pinnpoint_verify.claims.ALONE", ())
    assert np.all(radii(honest / "round") < 0.95 * proved)


def test_idle_nodes_are_what_stands_for_them(honest, monkeypatch):
    monkeypatch.setattr(reactions, "joined", lambda bundle, simplices, keys=None: simplices)
    with pytest.raises(Refused):
        verify(honest / "round")


def test_pairs_that_are_shifted_carry_no_sum_of_profiles(tmp_path):
    """φ(y) jumps where a point is one with another of another y: fluxes then have no bound of the range."""
    from pinnpoint.transfer.nonlinear.reactions import along_axes

    plain = pp.io.generate("square", 4)
    X = plain.points[plain.facets("left")].mean(axis=1)[:, 1]
    groups = dict(plain.facet_groups)
    groups["low"] = plain.facets("left")[X < 0.5]
    X = plain.points[plain.facets("right")].mean(axis=1)[:, 1]
    groups["high"] = plain.facets("right")[X > 0.5]
    mesh = Mesh(plain.points, plain.cells, plain.cell_groups, groups)
    for pair, along in (({"low": "high"}, False), ({"left": "right"}, True)):
        problem = pp.fem.Semilinear(mesh, g="sinh(u)", source=1.0, reaction=1.0, periodic=pair)
        assert along_axes(problem.transfer(problem.mean()).model) is along
