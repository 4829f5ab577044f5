"""The checker and the program that made a certificate share no code: what they prove from the same witnesses agrees.

A term that either of them drops is noticed by the other. Here witnesses are arbitrary, so that every term counts.
"""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.systems.queries import Point
from pinnpoint.taylor.bernstein import Density, pairs
from pinnpoint.transfer.energy.estimator import Estimator, Side
from pinnpoint.transfer.energy.norms import Norms
from pinnpoint.transfer.line.one_dimension import pointwise
from pinnpoint.transfer.nonlinear.remainder import remainder
from pinnpoint_verify import checker, cubics, lines

MESHES = {1: ("interval", 24), 2: ("square", 3), 3: ("cube", 2)}


class Arrays(dict):
    """A bundle's arrays, by name."""

    def __call__(self, name, *shape, **more):
        return self[name]


def modelled(d, degree, kappa, reaction):
    """A problem with one fixed face and one loaded face, seen from both programs."""
    kind, cells = MESHES[d]
    mesh = pp.io.generate(kind, cells)
    problem = pp.fem.ReactionDiffusion(
        mesh, 1.0, diffusion=kappa, reaction=reaction, dirichlet={"left": 0.0}, neumann={"right": 1.0}, degree=degree
    )
    model = problem.transfer(problem.points([[0.5] * d])).model
    return model, written(problem, model)


def written(problem, model, cubic=0.0):
    """The arrays of a mesh."""
    return Arrays(
        {
            "mesh/nodes": problem.nodes.points,
            "mesh/cells": np.sort(problem.mesh.cells, axis=1),
            "continuous/kappa": model.kappa,
            "continuous/reaction": model.reaction,
            "continuous/cubic": np.full(len(model.kappa), cubic),
            "continuous/kind": model.kind,
        }
    )


def anything(rng, model, *, rough):
    """A state, its data and a flux that have nothing to do with each other."""
    count, d = len(model.kappa), model.d

    def density(n, m):
        high, one, more = rng.uniform(0.0, rough, (3, n))
        return Density(rng.normal(size=(n, len(pairs(m)))), high, one, one + more)

    load = model.facet_load(model.boundary_load.facets, density(len(model.boundary_load.facets), d - 1))
    flux = rng.normal(size=(len(model.topology.facets), 1 if model.degree == 1 else d))
    closed = model.kind == 2
    closed[load.facets] = False
    flux[closed] = 0.0
    return Side(rng.normal(size=model.size), density(count, d), flux, load)


def stored(bundle, side, state, source, load, flux):
    """What a bundle would hold of it."""
    bundle[state], bundle[flux] = side.nodal, side.flux
    for name, what, at in (
        (source, side.source, np.arange(len(side.source.high))),
        (load, side.load.density, side.load.facets),
    ):
        order = np.argsort(at)
        bundle[f"{name}_at"], bundle[f"{name}_beta"] = at[order], what.coefficients[order]
        bundle[f"{name}_rest"] = np.stack([what.high, what.error1, what.error2], axis=1)[order]


NAMES = ("continuous/state", "source/f", "source/g", "continuous/flux")
DUAL = ("dual/z0", "dual/w0", "dual/g0", "dual/t0")
PLAIN = {"scale": 0.0, "constant": 0.0, "error": 0.0, "radius": None}
GOAL = {"scale": 0.01, "constant": 2.0, "error": 0.5, "radius": None}
"""Φ's mass is known to 1 %, its integral against f is 2 ± 0.5."""


def measured(bundle, degree):
    """The checker's side and query."""
    mesh = checker.Mesh(bundle, degree)
    p = checker.Side(bundle, mesh, *NAMES)
    asked = checker.Query(bundle, p, 0, flux=False)
    for g in mesh.parts():
        p.measure(g)
        asked.measure(g)
    p.finish()
    return p, asked


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_both_programs_find_the_same_bounds(d, degree):
    rng = np.random.default_rng(40 + 2 * d + degree)
    for kappa, reaction, rough, goal in (
        (1.0, 0.0, 0.0, PLAIN),
        (0.3, 0.0, 2.0, PLAIN),
        (2.0, 0.7, 2.0, GOAL),
        (1e-3, 50.0, 9.0, GOAL),
    ):
        model, bundle = modelled(d, degree, kappa, reaction)
        one, two = (anything(rng, model, rough=rough) for _ in range(2))
        stored(bundle, one, *NAMES)
        stored(bundle, two, *DUAL)
        p, asked = measured(bundle, degree)
        bounds, (pair,) = model.estimator.measure(one, [(two, 1.0, True)])
        low, high, _ = model.estimator.product_bound(bounds, pair)
        size = abs(pair.value) + goal["constant"] - low + high
        value, radius = asked.bound(None, goal)
        found = [checker.energy(p), checker.energy(asked.z), value, radius]
        energies = [model.estimator.energy(bounds), model.estimator.energy(pair.dual)]
        center = pair.value + goal["constant"] + 0.5 * (low + high)
        others = [*energies, center, 0.5 * (high - low) + pair.data + goal["error"] + 2.0 * goal["scale"] * size]
        assert found == pytest.approx(others, rel=1e-9, abs=1e-9 * energies[0] * energies[1]), (kappa, reaction)


def test_radii_of_balls_are_counted(monkeypatch):
    """Where all operations of the checker are less certain, every bound is wider."""
    model, bundle = modelled(2, 1, 0.5, 1.0)
    rng = np.random.default_rng(1)
    for names in (NAMES, DUAL):
        stored(bundle, anything(rng, model, rough=0.0), *names)

    def bounds():
        p, asked = measured(bundle, 1)
        radius, energy, z = asked.bound(None, PLAIN)[1], checker.energy(p), asked.z
        by_cells = (p.square, p.osc, p.defect, p.facet[p.facet > 1e-200], asked.both.r + np.abs(asked.both.m))
        scale = (checker.energy(z) / energy) ** 0.5
        ends = [checker.energy(p, z, 2.0 * (e * asked.both.m + asked.both.r), scale) for e in (-1.0, 1.0)]
        known = [asked.value, p.load_on(z.nodal)[0], z.load_on(p.nodal)[0]]
        rest = sum(float(ball.r) for ball in known)
        assert radius >= (0.125 * (ends[0] ** 2 + ends[1] ** 2) + rest) * (1.0 - 1e-12)
        return np.concatenate([*by_cells, [p.mean, energy, radius, rest]])

    before, mix = bounds(), checker.mix

    def loose(what, *given):
        found = mix(what, *given)
        known = what == "nc,nc->n"  # volumes and areas
        return found if known else checker.Ball(found.m, found.r + 1e-5 * np.abs(found.m))

    monkeypatch.setattr(checker, "mix", loose)
    assert np.all(bounds() > (1.0 + 1e-6) * before)


def test_both_programs_find_the_same_bounds_on_a_line(monkeypatch):
    """Values by the estimate in one dimension, of states that are no Galerkin solutions, with and without fluxes."""
    rng = np.random.default_rng(8)
    for degree, reaction, rough in (
        (1, 0.0, 0.0),
        (1, 0.0, 3.0),
        (1, 0.7, 1e-3),
        (2, 0.0, 3.0),
        (2, 3.0, 1.0),
        (1, 1e3, 1.0),
    ):
        model, bundle = modelled(1, degree, 0.6, reaction)
        side = anything(rng, model, rough=rough)
        vars(model)["boundary_load"] = side.load
        bounds = model.estimator.measure(side, [])[0]
        stored(bundle, side, *NAMES)
        p = checker.Side(bundle, checker.Mesh(bundle, degree), *NAMES)
        p.measure(checker.Cells(p.mesh, slice(0, p.mesh.C)))
        p.finish()
        for x, fluxes in product((0.03, 0.41, 0.77, 1.0), (True, False)):
            with monkeypatch.context() as patch:
                if not fluxes:
                    patch.setattr(lines, "energy", lambda p: np.inf)
                    patch.setattr(Estimator, "energy", lambda self, p: np.inf)
                value, radius, _ = pointwise(model, Point((x,)), side.nodal, bounds, side.source)
                assert lines.on_a_line(p, x) == pytest.approx((value, radius), rel=1e-9), (degree, reaction, x)


HELD = {
    "line": ("interval", 5, {"left": 0.0, "right": 0.0}, 0.0),
    "half a line": ("interval", 5, {"right": 0.0}, 0.3),
    "free line": ("interval", 5, {}, 0.3),
    "square": ("square", 3, {"boundary": 0.0}, 0.0),
    "square, stiff": ("square", 3, {"boundary": 0.0}, 40.0),
    "strip": ("square", 3, {"left": 0.0, "right": 0.0}, 0.0),
    "corner": ("square", 3, {"left": 0.0, "top": 0.0}, 0.2),
    "free square": ("square", 3, {}, 0.2),
    "cube": ("cube", 2, {"boundary": 0.0}, 0.0),
    "held cube": ("cube", 2, {"left": 0.0}, 0.2),
    "free cube": ("cube", 2, {}, 2.0),
}


@pytest.mark.parametrize("name", HELD)
def test_both_programs_use_the_same_constants(name):
    """Of norms, of products with kernels, and of what the linearised dual leaves of a cubic."""
    kind, cells, fixed, reaction = HELD[name]
    mesh = pp.io.generate(kind, cells)
    d = mesh.dim
    problem = pp.fem.ReactionDiffusion(mesh, 1.0, diffusion=0.7, reaction=reaction, dirichlet=fixed)
    model = problem.transfer(problem.points([[0.5] * d])).model
    norms, seen = Norms.of(model), checker.Mesh(written(problem, model, 3.0), 1)
    rng = np.random.default_rng(d)
    for shift in (-3.0, 0.0, 3.0):
        state, z = rng.normal(size=(2, model.size)) + shift
        own = cubics.Norms(SimpleNamespace(mesh=seen, nodal=state))
        assert (own.second, own.fourth, own.gradient) == pytest.approx(
            (norms.second, norms.fourth, norms.gradient), rel=1e-12
        )
        for average, R in ((0.0, 0.5), (0.1, 0.3), (0.0, 1e-3)):
            kernel = SimpleNamespace(radius=R, kappa=0.7, average_radius=average, d=d)
            assert own.weighted(R, 0.7, average == 0.0) == pytest.approx(norms.weighted(kernel), rel=1e-12)
            goal = {"radius": R, "kappa": 0.7, "kind": "ball" if average else "point"}
            for eta, eta_d in ((1e-3, 0.1), (0.1, 10.0), (10.0, 0.1)):
                other = remainder(norms, seen.cubic, state, eta, norms.weighted(kernel), z, eta_d)
                assert own.remainder(eta, eta_d, z, goal) == pytest.approx(other, rel=1e-12)
