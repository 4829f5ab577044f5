"""Waves: the truth is inside, intervals are narrow, and what a proof rests on is missed when it is left out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.boxes import wave as problems
from pinnpoint.boxes import waves
from pinnpoint.boxes.volumes import Volume
from pinnpoint.models.networks.heat import heat_task

GUESS = "0.8*sin(2*x) + 0.3*x*t + 0.2*cos(t)"


def travelling(seed):
    """u = F(x − at) + G(x + at) + x t³, its data, ends and a place: every condition is met by construction."""
    rng = np.random.default_rng(seed)
    low, length, a = rng.uniform(-1, 1), rng.uniform(0.5, 2), rng.uniform(0.3, 3)
    p, q, k = rng.uniform(0.5, 2.5), rng.uniform(-1, 1), rng.uniform(0.5, 2)
    ends = [("dirichlet", "neumann")[i] for i in rng.integers(0, 2, 2)]
    high, time = low + length, rng.uniform(0.3, 3.0)
    ahead, back = f"({a!r}*t)", f"(-{a!r}*t)"
    F, dF = (lambda z: f"sin({p!r}*({z}))"), (lambda z: f"{p!r}*cos({p!r}*({z}))")
    G, dG = (
        (lambda z: f"({q!r}*({z})**2 + cos({k!r}*({z})))"),
        (lambda z: f"({2 * q!r}*({z}) - {k!r}*sin({k!r}*({z})))"),
    )

    def at(x):
        return f"{F(f'{x} - {ahead}')} + {G(f'{x} - {back}')} + ({x})*t**3"

    def slope(x, sign):
        return f"{sign}*({dF(f'{x} - {ahead}')} + {dG(f'{x} - {back}')} + t**3)"

    data = {"dirichlet": {}, "neumann": {}}
    for name, x, sign, kind in (("x-", repr(low), "-1", ends[0]), ("x+", repr(high), "1", ends[1])):
        data[kind][name] = at(x) if kind == "dirichlet" else slope(x, sign)
    problem = pp.boxes.Wave(
        [low, high],
        end=time,
        speed=a,
        source="6*x*t",
        initial=f"{F('x')} + {G('x')}",
        velocity=f"-{a!r}*{dF('x')} + {a!r}*{dG('x')}",
        boundary=ends,
        **{kind: told or 0.0 for kind, told in data.items()},
    )
    x = low + length * rng.uniform(0.05, 0.95)
    z, y = x - a * time, x + a * time
    truth = math.sin(p * z) + q * y**2 + math.cos(k * y) + x * time**3
    return problem, x, truth


@pytest.mark.parametrize("seed", range(24))
def test_travelling_waves_between_two_ends_are_held(seed):
    problem, x, truth = travelling(seed)
    found = pp.certify(problem, GUESS, problem.points([x]))
    assert found.contains(truth).all()
    assert found.guarantee == "deterministic"
    assert found.radius[0] < 1e-3 * abs(found.value[0] - truth) + 1e-10


@pytest.mark.parametrize("d", [2, 3])
def test_cones_in_the_plane_and_in_space_hold_the_truth(d):
    """sin x sin y (sin z) cos(a√d t) + x t + 0.05 t³ solves the equation with the source 0.3 t."""
    start = "*".join(f"sin({v})" for v in "xyz"[:d])
    problem = pp.boxes.Wave(*[[-3, 3]] * d, end=1.0, speed=1.5, initial=start, velocity="x", source="0.3*t")
    P = np.array([[0.3, 0.4, -0.2][:d], [-1.1, 0.7, 0.9][:d]])
    found = pp.certify(problem, f"{start}*(1 - 0.5*t**2) + 0.1*x*y*t + 0.2*x", problem.points(P, time=0.8), budget=3000)
    truth = np.prod(np.sin(P), axis=1) * math.cos(1.2 * math.sqrt(d)) + 0.8 * P[:, 0] + 0.05 * 0.8**3
    assert found.contains(truth).all()
    assert np.all(found.radius < 1e-3 * np.abs(found.value - truth))


def test_a_network_between_two_ends_is_certified():
    network = heat_task("heat_1d").network()
    problem = pp.boxes.Wave([0, 1], end=1.0, speed=2.0, initial="sin(pi*x)")
    found = pp.certify(problem, network, problem.points([0.3, 0.8], time=0.9))
    truth = np.sin(np.pi * np.array([0.3, 0.8])) * math.cos(1.8 * math.pi)
    assert found.contains(truth).all()
    assert np.all(found.radius < 1e-3 * np.abs(found.value - truth))


def test_a_jump_that_runs_along_a_characteristic_is_inside():
    """u₀ = 1 against u = 0 at the ends: at (½, ½) u falls from 1 to −1."""
    problem = pp.boxes.Wave([0, 1], end=1.0, initial=1.0)
    found = pp.certify(problem, "0", problem.points([0.5], time=0.5))
    assert found.lower[0] <= -1.0
    assert found.upper[0] >= 1.0
    later = pp.certify(problem, "0", problem.points([0.5], time=0.75))
    assert later.contains(-1.0).all()
    assert later.radius[0] < 1e-12
    fits = pp.boxes.Wave([0, 1], end=1.0, initial="sin(pi*x)")
    assert pp.certify(fits, "0", fits.points([0.5], time=0.5)).radius[0] < 1e-12


def test_largest_errors_hold_those_of_a_grid():
    problem = pp.boxes.Wave([0, 1], end=0.7, speed=2.0, initial="sin(pi*x)")
    exact, extra = "sin(pi*x)*cos(2*pi*t)", "0.02*cos(x)*(1 + t**2)"
    found = pp.certify(problem, f"{exact} + {extra}", problem.everywhere())
    assert 0.02 < found.lower[0] <= 0.0298 <= found.upper[0] < 0.5  # 0.02 · (1 + 0.49) at x = 0


def lost(monkeypatch, how):
    """Intervals of three problems with something left out; whether one of them misses."""
    monkeypatch.setattr(*how)
    missed = False
    for seed in (1, 4, 7):
        problem, x, truth = travelling(seed)
        missed |= not pp.certify(problem, GUESS, problem.points([x])).contains(truth).all()
    return missed


def same_sign(*arguments):
    found = PATH(*arguments)
    return replace(found, strips=tuple(replace(s, sign=1) for s in found.strips))


PATH, VOLUME, SUMS = waves.path, waves.volume, Volume.sums


@pytest.mark.parametrize(
    "how",
    [
        pytest.param((waves, "path", same_sign), id="signs of reflections"),
        pytest.param((waves, "path", lambda *a: replace(PATH(*a), crossings=())), id="data at the ends"),
        pytest.param((waves, "_scaled", lambda model, by: (0.0, 0.0)), id="values at the start"),
        pytest.param((waves.Waves, "started", lambda self, lift, X: waves.constant(0.0)), id="velocities"),
        pytest.param((waves.Waves, "residual", lambda self, lift, X: waves.constant(0.0)), id="the residual"),
        pytest.param((waves, "volume", lambda p, w, s: VOLUME(p, 0.5 * w, s)), id="half of the weight"),
    ],
)
def test_what_is_left_out_is_missed(monkeypatch, how):
    assert lost(monkeypatch, how)


def test_remainders_of_models_are_needed(monkeypatch):
    problem = pp.boxes.Wave([0, 1], end=2.0, speed=3.0, initial="sin(40*x)")
    asked = problem.points([0.3])
    rough = pp.certify(problem, "sin(60*x*t)", asked, budget=4)
    fine = pp.certify(problem, "sin(60*x*t)", asked)
    assert rough.lower[0] <= fine.lower[0] <= fine.upper[0] <= rough.upper[0]
    monkeypatch.setattr(Volume, "sums", lambda self, i, tail: replace(SUMS(self, i, tail), remainder=0.0))
    bare = pp.certify(problem, "sin(60*x*t)", asked, budget=4)
    assert not bare.lower[0] <= fine.center[0] <= bare.upper[0]


def test_corners_and_ends_of_the_largest_error_are_needed(monkeypatch):
    problem = pp.boxes.Wave([0, 1], end=1.0, initial=1.0)
    monkeypatch.setattr(waves, "_corner", lambda *a: 0.0)
    assert pp.certify(problem, "0", problem.points([0.5], time=0.5)).lower[0] > -1.0
    held = pp.boxes.Wave([0, 1], end=1.0, dirichlet=1.0)
    assert pp.certify(held, "0", held.everywhere()).upper[0] >= 2.0  # u = 2 at ½ for ½ < t < 1
    monkeypatch.setattr(problems, "largest", lambda found: 0.0)
    assert pp.certify(held, "0", held.everywhere()).upper[0] < 2.0


def test_what_a_wave_cannot_do_is_refused():
    with pytest.raises(pp.InputError, match=r"must be inside, by 0\.8"):
        pp.boxes.Wave([0, 1], [0, 1], end=0.4, speed=2.0).points([[0.5, 0.5]])
    with pytest.raises(pp.InputError, match="out of sight"):
        pp.boxes.Wave([0, 1], [0, 1], end=0.4, boundary="neumann")
    with pytest.raises(pp.InputError, match="lines"):
        pp.boxes.Wave([0, 1], [0, 1], end=0.4).everywhere()
    with pytest.raises(pp.InputError, match="'dirichlet' or 'neumann'"):
        pp.boxes.Wave([0, 1], end=0.4, boundary="periodic")
    with pytest.raises(pp.InputError, match="no end is one"):
        pp.boxes.Wave([0, 1], end=0.4, neumann=1.0)
    with pytest.raises(pp.InputError, match="were not made by this wave"):
        pp.certify(pp.boxes.Wave([0, 1], end=0.4), "0", pp.Box([0, 1], end=0.4).points([0.5]))
    long = pp.boxes.Wave([0, 1e-4], end=1.0)
    with pytest.raises(pp.InputError, match="reflected more than 2000 times"):
        pp.certify(long, "0", long.points([5e-5]))


def test_a_sum_of_nothing_is_nothing():
    problem = pp.boxes.Wave([0, 1], end=1.0)
    found = pp.certify(problem, "0", problem.points([0.3]))
    assert found.center[0] == 0.0
    assert found.radius[0] < 1e-290
