"""What the rounding of λ and μ does: intervals hold the solution of every material that near, kernels too."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem import Elasticity
from pinnpoint.fem.elastic import solids
from pinnpoint.fem.elastic.solids import solid_of
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.topology import Topology
from pinnpoint.systems.goals import Ball, Point, Strain, Stress
from pinnpoint.transfer.elastic.kelvin import kelvin_of
from pinnpoint.transfer.elastic.points import displacement, tensor_at
from tests.support import polynomials
from tests.support.balls import ball

NEAR = 1e-3


@pytest.mark.parametrize("nu", [-0.9999, -0.99, -0.7, -0.2, 0.1, 0.3, 0.499])
@pytest.mark.parametrize(("d", "plane"), [(2, "strain"), (2, "stress"), (3, "strain")])
def test_floats_are_as_near_to_the_material_as_is_said(d, plane, nu):
    """C has the eigenvalues 2μ and 2μ + dλ; E and ν are exact, λ and μ rational in them."""
    mesh, worst = generate("square" if d == 2 else "cube", 2), 0
    for young in (0.1, 0.7, 1.0, 3.3, 210e9 / 7.0):
        solid = solid_of(Elasticity(mesh, young, nu, None, {"left": 0.0}, plane=plane), Topology.of(mesh))
        exact = polynomials.lame(young, nu, plane)
        floats = [Fraction(float(x[0])) for x in (solid.lam, solid.mu)]
        for true, near in ((2 * m + k * lam, 2 * q + k * p) for (lam, m), (p, q) in [(exact, floats)] for k in (0, d)):
            assert abs(true - near) <= Fraction(solid.off) * near
            worst = max(worst, abs(true - near) / near)
        assert solid.off < 1e-13 / (1.0 + nu) ** 2
    assert worst > 0


def bar(young, pulled):
    """ν = 0 on rollers: u_x = x under a traction of `young`, or between ends that are held one apart."""
    mesh = generate("square", 3)
    mesh = Mesh(mesh.points, mesh.cells, {"all": np.ones(len(mesh.cells), dtype=bool)}, mesh.facet_groups)
    fixed, traction = {"left": (0.0, "free"), "bottom": ("free", 0.0)}, {}
    if pulled:
        traction["right"] = (1.0, 0.0)
    else:
        fixed["right"] = (1.0, "free")
    return Elasticity(mesh, young, 0.0, None, fixed, traction, degree=2)


@pytest.mark.parametrize("share", [-0.999, 0.999])
def test_materials_that_near_have_their_values_inside(monkeypatch, share):
    """With E off by a thousandth, displacements under a traction are, and stresses and reactions of held ends."""
    monkeypatch.setattr(solids, "material_error", lambda *given: NEAR)
    other = 1.0 + share * NEAR
    body = bar(1.0, True)
    asked = body.patch("right", "x") + body.compliance() + body.points([[0.4, 0.5]], "x", ["u"])
    found = pp.certify(body, body.space.U0, asked)
    assert found.contains([1.0 / other, 1.0 / other, 0.4 / other]).all()
    assert np.all(found.radius[:2] < 11.0 * NEAR)  # five times 2θ‖u‖‖z‖, for the checker
    body = bar(1.0, False)
    asked = body.reaction("right", "x") + body.stress("all", "xx", "mean")
    found = pp.certify(body, body.space.U0, asked)
    assert found.contains([other, other]).all()
    assert np.all(found.radius < 21.0 * NEAR)


@pytest.mark.parametrize("average", [0.0, 0.3])
@pytest.mark.parametrize(("d", "lam"), [(2, 1.5), (2, -0.4), (3, 1.5), (3, -0.3), (3, 50.0)])
def test_kernels_of_materials_that_near_are_near(d, lam, average):
    """∫|Φ − Φ̂| and ∫|∂_lΦ − ∂_lΦ̂|, by quadrature, are at most what is said."""
    mu, R, step = 0.6, 0.75, 1e-5
    K = kelvin_of(d, lam, mu, R, average)
    r, Y, W = ball(d, R, average, 12)
    e, most = Y / r[:, None, None], np.zeros(2)
    for a, b in ((1, 1), (1, -1), (-1, 1)):
        other = kelvin_of(d, lam * (1 + a * step), mu * (1 + b * step), R, average)
        A, D, dA, turned, over = (
            np.array([H.value(float(t))[0] - G.value(float(t))[0] for t in r])[:, None]
            for G, H in zip((*K.parts, *K.slopes), (*other.parts, *other.slopes), strict=True)
        )
        field = A[..., None] * np.eye(d)[0] - D[..., None] * e[..., :1] * e
        slope = dA[..., None] * e[..., :1] * np.eye(d)[0] - turned[..., None] * e[..., :1] ** 2 * e
        slope = slope - over[..., None] * (e[..., :1] * np.eye(d)[0] + e)
        most = np.maximum(most, [(W * np.linalg.norm(x, axis=-1)).sum() / step for x in (field, slope)])
    said = np.array([K.of_rounded_displacement, K.of_rounded_gradient])
    assert np.all(most <= said)
    assert np.all(most > 1e-7 * said)


@pytest.mark.parametrize("goal", [Point, Ball, Stress, Strain])
def test_data_terms_of_materials_that_near_are_inside(goal):
    """∫ f·Φ and its derivatives change with λ and μ; the error of the constant says so, and that of the integral."""
    mesh = generate("square", 3)
    body = ("60*sin(3*x + y)", "40*x**3*y**2")
    made = solid_of(Elasticity(mesh, 1.0, 0.3, body, {"left": 0.0}, degree=2), Topology.of(mesh))
    at = (0.45, 0.55)

    def term(lam, mu, off, budget=made.budget):
        solid = replace(made, lam=lam * made.lam, mu=mu * made.mu, off=off, budget=budget)
        if goal in (Point, Ball):
            J = displacement(solid, Ball(at, 0.2, 0) if goal is Ball else Point(at, 0), 0, "q")
        else:
            J = tensor_at(solid, goal(at, 0, 0), "q")
        return J

    step = 0.2
    here, sharp = term(1.0, 1.0, step), term(1.0, 1.0, 0.0)
    changes = []
    for lam, mu in ((1 + step, 1 - step), (1 + step, 1 + step)):
        other = term(lam, mu, 0.0)
        changes.append(abs(other.constant - here.constant) - other.error)
    if goal is not Stress:  # its factor C changes too, which is step 9d
        assert max(changes) <= here.error
        assert max(changes) > sharp.error
    assert here.error > 2.0 * sharp.error > 0.0
    rough = term(1.0, 1.0, 0.0, 400)
    assert abs(rough.constant - sharp.constant) <= rough.error + sharp.error
    assert rough.error > sharp.error
