"""Bundles of g(u) beside κ(x), matrices and c(x): both programs prove the same, and forgeries do not verify."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from pinnpoint_verify import claims
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reactions import Reaction
from pinnpoint_verify.reader import Refused
from tests.soundness.test_bundle_forged import Forger
from tests.support.reaction_bundles import FORGED, radii, scaled, written

VARIED = {"diffusion": "1+x*y", "robin": {"right": (2.0, 1.0)}, "dirichlet": {"left": 0.0}, "groups": ("right",)}
MATRIX = {"diffusion": [["2+x", "0.5*y"], ["0.5*y", "3.0"]], "reaction": "1+x"}
CASES = [
    (1, 2, "sinh(u)", {"diffusion": "1+x", "reaction": "x"}),
    (2, 1, 5.0, {"diffusion": "1+x", "reaction": "y"}),
    (2, 1, "u+sin(u)/2", VARIED),
    (2, 1, "sinh(u)", {"diffusion": [[2.0, 1.0], [1.0, 3.0]]}),
]
LONGER = [
    (2, 2, "tanh(u)", {"diffusion": "1+x", "robin": {"right": ("1+y", "y")}}),
    (2, 2, "sinh(u)", MATRIX),
    (2, 1, "sinh(u)", {"diffusion": "1+y", "periodic": {"left": "right"}, "dirichlet": {"bottom": 0.0}, "cells": 3}),
    (3, 1, "sinh(u)", {"diffusion": "1+x"}),
    (3, 1, 5.0, {"diffusion": [[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]}),
]


@pytest.mark.parametrize(("d", "degree", "g", "more"), CASES)
def test_both_programs_prove_the_same(tmp_path, d, degree, g, more):
    certificate = written(tmp_path / "b", d, degree, g, **more)
    np.testing.assert_allclose(radii(tmp_path / "b"), certificate.radius, rtol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "degree", "g", "more"), LONGER)
def test_of_quadratic_elements_pairs_and_in_space(tmp_path, d, degree, g, more):
    certificate = written(tmp_path / "b", d, degree, g, **more)
    np.testing.assert_allclose(radii(tmp_path / "b"), certificate.radius, rtol=0.02)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    root = tmp_path_factory.mktemp("honest")
    written(root / "varied", g="u+sin(u)/2", **VARIED)
    written(root / "matrix", **MATRIX)
    return root


def another(word, new):
    """Another coefficient, in the case and in the proof."""

    def change(forger):
        forger.json("case.json", lambda data: data["problem"].update({word: new}))
        forger.json("proof.json", lambda data: data["medium"].update({word: [new]}))

    return change


def no_load(forger):
    for path in (forger.folder / "dual").glob("q0_*.npy"):
        path.unlink()


MEDIA = {
    "varied": {
        "another κ": another("diffusion", "1.1+x*y"),
        "a scaled model of κ": scaled("medium/a_beta", 1.1),
        "another kernel": scaled("dual/phi0_beta", 1.01),
        "no kernel": scaled("dual/phi0_beta", 0.0),
        "another density": scaled("dual/m0_beta", 1.01),
        "another Robin coefficient": scaled("robin/alpha_beta", 2.0),
    },
    "matrix": {
        "another c": another("reaction", 0.0),
        "a scaled metric": scaled("medium/metric", 1.1),
        "a scaled load": scaled("dual/q0_0_beta", 1.1),
        "no load on gradients": no_load,
        "no dual source": scaled("dual/w0_beta", 0.0),
    },
}


@pytest.mark.parametrize(("kind", "what"), [(k, w) for k in MEDIA for w in FORGED | MEDIA[k]])
def test_what_was_altered_is_refused(honest, tmp_path, kind, what):
    shutil.copytree(honest / kind, tmp_path / "b")
    forger = Forger(tmp_path / "b")
    (FORGED | MEDIA[kind])[what](forger)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


@pytest.mark.parametrize("kind", MEDIA)
def test_a_kernel_that_is_taken_for_lower_proves_what_is_false(honest, monkeypatch, kind):
    """Its height is part of the remainder, and without ∫g(u_h)Ψ an honest bundle is refused."""
    proved, plain = radii(honest / kind), claims.sizes_of
    with monkeypatch.context() as m:
        m.setattr(claims, "sizes_of", lambda kernel, name: (0.01 * plain(kernel, name)[0], (1.0, 1.0)))
        m.setattr(claims, "ALONE", ())
        assert radii(honest / kind)[0] < proved[0]
    monkeypatch.setattr(Reaction, "against", lambda self, phi, p, part, terms, off: (terms, off))
    with pytest.raises(Refused):
        verify(honest / kind)


def test_heights_hold_what_kernels_are(honest, monkeypatch):
    """Ψ at points of the ball is below height · ψ."""
    seen, plain = [], claims.sizes_of
    monkeypatch.setattr(claims, "sizes_of", lambda k, name: seen.append((k, plain(k, name))) or plain(k, name))
    verify(honest / "varied")
    verify(honest / "matrix")
    for kernel, (height, stretch) in seen:
        rng = np.random.default_rng(0)
        t = rng.normal(size=(400, 2))
        t *= kernel.R * rng.uniform(0.01, 1.0, (400, 1)) / np.linalg.norm(t, axis=1, keepdims=True)
        X = kernel.x0 + t @ kernel.L.T
        top = -np.log(np.linalg.norm(t, axis=1) / kernel.R) / (2.0 * np.pi)
        assert np.all(kernel.weight(X) * kernel.potential(X) <= height * top)
        assert np.linalg.norm(kernel.L, 2) <= stretch[0]
        assert np.linalg.det(kernel.L) ** 0.25 <= stretch[1] * (1.0 + 1e-12)
        assert height <= 1.3 * kernel.weight(X).max()
    assert len(seen) == 2
