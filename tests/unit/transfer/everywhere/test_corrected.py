"""Corrected values: one number for all points, against closed forms, with and without images."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

import pinnpoint as pp
from pinnpoint.transfer.everywhere import corrected as module
from pinnpoint.transfer.everywhere.corrected import norm_of
from pinnpoint.transfer.points.kernels import Kernel


def wave(X):
    return np.sin(np.pi * X).prod(axis=1)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("c", [0.0, 7.0])
def test_norms_of_mollifiers(d, c):
    kernel = Kernel.build(d, 1.3, c, 0.4, 1)
    surface = {1: lambda t: 2.0, 2: lambda t: 2 * math.pi * t, 3: lambda t: 4 * math.pi * t * t}[d]
    square = quad(lambda t: (kernel.peak * (1 - (t / 0.4) ** 2)) ** 2 * surface(t), 0, 0.4)[0]
    assert norm_of(kernel) == pytest.approx(math.sqrt(square), rel=1e-10)
    assert norm_of(kernel) > math.sqrt(square) * (1 - 1e-12)


def test_folded_mollifiers_are_at_most_the_mollifier():
    rng = np.random.default_rng(0)
    least = 0.0
    for _ in range(2000):
        s, a, b, c = rng.uniform(0, 1, 4) * rng.choice([0.3, 1.0], 4)
        sums = sum((-1) ** bin(k).count("1") * max(0.0, 1 - s - _part(k, a, b, c)) for k in range(8))
        assert abs(sums) <= 1 - s + 1e-14
        least = min(least, sums / (1 - s))
    assert least < -0.2  # in space it does change its sign


@pytest.mark.parametrize(("d", "power", "below"), [(2, 1, 0.0), (2, 2, 0.0), (3, 2, 0.0), (3, 3, 0.0), (3, 1, -0.46)])
def test_folded_mollifiers_keep_their_sign_but_the_flattest_in_space(d, power, below):
    """Signed sums of (1 − s)₊^k over images: in [0, (1 − s)^k] for k ≥ 1 in the plane and k ≥ 2 in space, not for 1."""
    rng = np.random.default_rng(power)
    tried = [(0.0, 0.5, 0.5, 0.5), *(rng.uniform(0, 1, 4) * rng.choice([0.3, 1.0], 4) for _ in range(2000))]
    least = 0.0
    for s, a, b, c in tried:
        each = (max(0.0, 1 - s - _part(k, a, b, c)) ** power * (-1) ** bin(k).count("1") for k in range(2**d))
        found = sum(each) / (1 - s) ** power
        assert found <= 1.0 + 1e-12
        least = min(least, found)
    assert (least > -1e-12) if below == 0.0 else (-0.5 - 1e-12 < least < below)


def test_with_a_reaction_nothing_is_folded():
    """The folding of ρ − cΦ/κ may be larger than it: radii are those of each point's own ball."""
    given = {"source": "(2*pi**2+9)*sin(pi*x)*sin(pi*y)", "reaction": 9.0}
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 8), **given)
    X = np.array([[0.5, 0.5], [0.95, 0.4]])
    found = problem.corrected(X)
    assert np.all(np.abs(found.values - wave(X)) <= found.radii)
    assert found.radii[1] > 5.0 * found.radii[0]


def _part(k, a, b, c):
    return a * (k & 1) + b * (k >> 1 & 1) + c * (k >> 2 & 1)


@pytest.mark.parametrize("degree", [1, 2])
def test_one_number_for_points_up_to_the_boundary(degree):
    problem = pp.fem.ReactionDiffusion(
        pp.io.generate("square", 8), source="6*pi**2*sin(pi*x)*sin(pi*y)", diffusion=3.0, degree=degree
    )
    X = np.concatenate([np.random.default_rng(1).uniform(0, 1, (9, 2)), [[0.001, 0.5], [0.999, 0.999], [0.5, 0.5]]])
    found = problem.corrected(X)
    off = np.abs(found.values - wave(X))
    assert np.all(off <= found.radii)
    assert found.proved
    assert found.radius < 1.05 * found.radii.min()  # one number
    assert found.radius < (0.07, 0.005)[degree - 1]
    assert np.max(off) > found.radius / 300


def test_without_images_the_ball_is_that_of_the_point():
    """Data on the boundary, a reaction, and a jump of κ: each point has its own radius."""
    exact = lambda X: np.exp(X[:, 0]) * np.sin(X[:, 1])  # noqa: E731
    problem = pp.fem.ReactionDiffusion(
        pp.io.generate("square", 8), source="2*exp(x)*sin(y)", reaction=2.0, dirichlet={"boundary": "exp(x)*sin(y)"}
    )
    X = np.array([[0.5, 0.5], [0.3, 0.6], [0.9, 0.4]])
    found = problem.corrected(X)
    assert np.all(np.abs(found.values - exact(X)) <= found.radii)
    assert found.radii[2] > 2.0 * found.radii[0]
    line = pp.fem.ReactionDiffusion(pp.io.generate("interval", 16), source="pi**2*sin(pi*x)")
    Y = np.array([[0.11], [0.77]])
    found = line.corrected(Y)
    assert np.all(np.abs(found.values - np.sin(np.pi * Y[:, 0])) <= found.radii)
    assert found.radius < 0.02


@pytest.mark.slow
def test_in_space():
    problem = pp.fem.ReactionDiffusion(
        pp.io.generate("cube", 3), source="3*pi**2*sin(pi*x)*sin(pi*y)*sin(pi*z)", degree=2
    )
    X = np.array([[0.4, 0.5, 0.6], [0.05, 0.1, 0.9]])
    found = problem.corrected(X)
    assert np.all(np.abs(found.values - wave(X)) <= found.radii)
    assert found.radius < 0.3


def test_a_prediction_is_corrected():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source="2*pi**2*sin(pi*x)*sin(pi*y)", degree=2)
    X = np.array([[0.2, 0.7], [0.9, 0.9]])
    found = problem.corrected(X, "0.999*sin(pi*x)*sin(pi*y)")
    assert np.all(np.abs(found.values - wave(X)) <= found.radii)
    assert found.radius < 2e-5
    assert found.radius < 0.01 * problem.corrected(X).radius


def test_too_small_a_norm_is_missed(monkeypatch):
    """‖w‖₂E taken a hundred times too small; an image left out."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source="2*pi**2*sin(pi*x)*sin(pi*y)", degree=2)
    X = np.random.default_rng(2).uniform(0, 1, (6, 2))
    whole = problem.corrected(X)
    off = np.abs(whole.values - wave(X))
    assert np.all(off <= whole.radii)
    assert np.any(off > 0.001 * whole.radii)
    images = module.Mirrors._images
    monkeypatch.setattr(module.Mirrors, "_images", lambda self, x: list(images(self, x))[:1])
    assert np.any(np.abs(problem.corrected(X).values - wave(X)) > whole.radii)


def test_refusals():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source="1")
    with pytest.raises(pp.InputError, match="outside"):
        problem.corrected([[1.5, 0.5]])
    free = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source="1", reaction=1.0, dirichlet={})
    with pytest.raises(pp.InputError, match="no bound of the error in the mean"):
        free.corrected([[0.5, 0.5]])
