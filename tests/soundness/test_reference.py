"""Steps towards a reference in the place of solves: as narrow after three, and true however few there are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.solvers.reference import Sines
from pinnpoint_verify.claims import verify

HELD = {"dirichlet": {"boundary": 0.0}}


def coefficient(mesh, contrast=4.0, seed=0):
    rng, x = np.random.default_rng(seed), mesh.points[mesh.cells].mean(axis=1)
    waves = np.cos(6.0 * rng.normal(size=(3, mesh.dim)) @ x.T + rng.uniform(0.0, 6.0, (3, 1))).sum(axis=0)
    return np.where(waves > 0.0, contrast, 1.0)


def both(mesh, queries, reference=None, contrast=4.0, **given):
    """A problem certified by tight solves and by steps."""
    p = pp.fem.ReactionDiffusion(mesh, 1.0, coefficient(mesh, contrast), **given)
    plain = {k: v for k, v in given.items() if k in ("dirichlet", "neumann", "degree")}
    reference = pp.fem.ReactionDiffusion(mesh, 1.0, **plain).reference(steps=3) if reference is None else reference
    U = np.array(p.space.U0)
    return pp.certify(p, U, queries(p)), pp.certify(p, U, queries(p), pp.Exact(solver=reference))


def mean_and_ball(p):
    low, high = p.mesh.points.min(axis=0), p.mesh.points.max(axis=0)
    at = low + 0.3 * (high - low)
    return p.mean() + p.averages([at], 0.1 * float(high[0] - low[0]))


@pytest.mark.parametrize(("kind", "cells"), [("square", 32), ("lshape", 8), ("cube", 6)])
def test_three_steps_are_as_good_as_a_solve(kind, cells):
    tight, some = both(pp.io.generate(kind, cells), mean_and_ball, **HELD)
    assert some.details["energy_bound"] < 1.1 * tight.details["energy_bound"]
    assert np.all(some.radius < 1.15 * tight.radius)
    assert np.all(np.abs(some.center - tight.center) <= some.radius + tight.radius)
    assert some.guarantee == tight.guarantee


@pytest.mark.parametrize(
    "given",
    [
        HELD | {"reaction": 20.0},
        HELD | {"degree": 2},
        {"dirichlet": {"left": 1.0}, "neumann": {"right": 0.5}},
        {"dirichlet": {"left": 0.0}, "robin": {"right": (2.0, 1.0)}},
    ],
    ids=["reaction", "quadratic", "mixed", "robin"],
)
def test_with_other_parts_of_the_equation(given):
    tight, some = both(pp.io.generate("square", 16), mean_and_ball, **given)
    assert some.details["energy_bound"] < 1.1 * tight.details["energy_bound"]
    assert np.all(np.abs(some.center - tight.center) <= some.radius + tight.radius)


def test_a_flux_and_a_point():
    def asked(p):
        return p.flux("left") + p.points([[0.3, 0.4]])

    mesh = pp.io.generate("square", 16)
    given = {"dirichlet": {"left": 0.0, "right": 1.0}}
    tight, some = both(mesh, asked, contrast=1.0 + 1e-9, **given)  # one value about the point
    assert np.all(some.radius < 1.05 * tight.radius)
    assert np.all(np.abs(some.center - tight.center) <= some.radius + tight.radius)


@pytest.mark.parametrize("steps", [0, 1, 3])
@pytest.mark.parametrize("contrast", [4.0, 100.0])
def test_layers_have_a_closed_form(steps, contrast):
    """κ = 1 left of the middle and c right of it, u = 0 on both sides: −(κu′)′ = 1."""
    mesh = pp.io.generate("square", 8)
    right = mesh.points[mesh.cells].mean(axis=1)[:, 0] > 0.5
    held = {"dirichlet": {"left": 0.0, "right": 0.0}}
    p = pp.fem.ReactionDiffusion(mesh, 1.0, np.where(right, contrast, 1.0), **held)
    # κu′ = a − x, u(½) from both sides: a/2 − 1/8 = −(a/2 − 3/8)/c
    a = (0.125 + 0.375 / contrast) / (0.5 + 0.5 / contrast)
    x = np.linspace(0.0, 1.0, 200_001)
    slope = np.where(x < 0.5, a - x, (a - x) / contrast)
    u = np.concatenate([[0.0], np.cumsum(0.5 * (slope[1:] + slope[:-1]) * np.diff(x))])
    mean = float(np.sum(0.5 * (u[1:] + u[:-1]) * np.diff(x)))
    reference = pp.fem.ReactionDiffusion(mesh, 1.0, **held).reference(steps=steps)
    found = pp.certify(p, np.zeros(len(mesh.points)), p.mean(), pp.Exact(solver=reference))
    assert abs(found.center[0] - mean) <= found.radius[0] + 1e-8
    if steps == 3 and contrast == 4.0:
        tight = pp.certify(p, np.zeros(len(mesh.points)), p.mean())
        assert found.radius[0] < 1.02 * tight.radius[0]


def test_without_what_the_steps_leave_bounds_are_far_wider():
    mesh = pp.io.generate("square", 64)
    p = pp.fem.ReactionDiffusion(mesh, 1.0, coefficient(mesh), **HELD)
    base = pp.fem.ReactionDiffusion(mesh, 1.0, **HELD).reference(steps=2)
    steps = base.on(p.system.free_block, p.system.made_on, p.space.free)

    class Bare:  # the same states: a second solve for what the first one left does nothing
        name, accurate, calls = "steps", True, 0
        solve_transposed = staticmethod(steps.solve)

        def solve(self, b):
            self.calls += 1
            return steps.solve(b) if self.calls % 2 else np.zeros_like(b)

    class Wrong:
        name = "twice"
        solve = staticmethod(lambda b: 2.0 * base.inverse.solve(b))

    U, q = np.zeros(len(mesh.points)), p.mean()
    found = [pp.certify(p, U, q, pp.Exact(solver=s)) for s in (base, Bare(), replace(base, inverse=Wrong()))]
    eta = [c.details["energy_bound"] for c in found]
    assert eta[1] > 2.0 * eta[0]
    assert eta[2] > 2.0 * eta[0]  # v that is not Ā⁻¹(b − Au): the means say so
    for c in found[1:]:
        assert np.all(np.abs(c.center - found[0].center) <= c.radius + found[0].radius)


def test_steps_go_on_to_a_tolerance():
    mesh = pp.io.generate("square", 16)
    reference = pp.fem.ReactionDiffusion(mesh, 1.0, **HELD).reference()
    tight, some = both(mesh, mean_and_ball, reference, contrast=1000.0, **HELD)
    assert np.all(some.radius < 1.01 * tight.radius)


def test_bundles_are_proved_by_the_checker(tmp_path):
    mesh = pp.io.generate("square", 8)
    p = pp.fem.ReactionDiffusion(mesh, "1 + x", coefficient(mesh), **HELD)
    reference = pp.fem.ReactionDiffusion(mesh, 1.0, **HELD).reference(steps=1)
    q, U = mean_and_ball(p), np.zeros(len(mesh.points))
    certificate = pp.certify(p, U, q, pp.Exact(solver=reference))
    pp.write_bundle(tmp_path / "b", certificate, p, U, q)
    assert sum("proved" in line for line in verify(tmp_path / "b")) >= 2


def test_a_reference_of_another_kind_is_refused():
    mesh = pp.io.generate("square", 8)
    base = pp.fem.ReactionDiffusion(mesh, 1.0, **HELD)
    U, solver = np.zeros(len(mesh.points)), pp.Exact(solver=base.reference())
    other = pp.fem.ReactionDiffusion(mesh, 1.0, dirichlet={"left": 0.0})
    with pytest.raises(InputError, match="solver: the reference is one of another mesh"):
        pp.certify(other, U, other.mean(), solver)
    varying = pp.fem.ReactionDiffusion(mesh, 1.0, "1+x", **HELD)
    with pytest.raises(InputError, match="solver: steps towards a reference are for coefficients"):
        pp.certify(varying, U, varying.mean(), solver)
    with pytest.raises(InputError, match="values, averages and fluxes"):
        pp.certify(base, U, base.everywhere(), solver)
    convected = pp.fem.ReactionDiffusion(mesh, 1.0, convection=("1", "0"), **HELD)
    with pytest.raises(InputError, match="symmetric"):
        pp.certify(convected, U, convected.mean(), solver)
    with pytest.raises(InputError, match="reference: κ̄ must be one number"):
        varying.reference()
    with pytest.raises(InputError, match="reference: needs values that are held"):
        pp.fem.ReactionDiffusion(mesh, 1.0, reaction=1.0, dirichlet={}).reference()


def test_transforms_are_the_inverse_of_lattices_and_of_nothing_else():
    for kind, cells in (("square", 8), ("cube", 5)):
        p = pp.fem.ReactionDiffusion(pp.io.generate(kind, cells), 1.0, 3.0, **HELD)
        reference = p.reference()
        assert isinstance(reference.inverse, Sines)
        b = np.random.default_rng(1).normal(size=(p.unknowns, 2))
        np.testing.assert_allclose(p.system.free_block @ reference.inverse.solve(b), b, atol=1e-11)
    mesh = pp.io.generate("square", 8)
    bent = Mesh(mesh.points + 0.01 * np.sin(9.0 * mesh.points[:, ::-1]), mesh.cells)
    assert not isinstance(pp.fem.ReactionDiffusion(bent, 1.0, **HELD).reference().inverse, Sines)
