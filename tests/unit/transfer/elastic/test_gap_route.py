"""What held displacements that elements do not have change, each part by itself: exact duals, or a solution of zero."""

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem import Elasticity
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.quadrature import at_points, rule

MEAN = (1.0 - np.cos(3.0)) / 3.0
"""Of sin 3y over a side of the square."""


@pytest.mark.parametrize("degree", [1, 2])
def test_duals_that_are_linear_leave_the_gap_alone(degree):
    """ν = 0: a dual (x, 0) is among the elements, so that intervals are as wide as what is given needs them to be.

    By parts, ∫ E ∂_x u_x is the reaction of the right side where both are held; where it is free, both sides' means of
    u_x are the same.
    """
    mesh, wave = generate("square", 3), "sin(3*y)"
    held = {"left": (0.0, "free"), "right": (wave, "free"), "bottom": ("free", 0.0)}
    body = Elasticity(mesh, 2.0, 0.0, None, held, degree=degree)
    found = pp.certify(body, body.space.U0, body.reaction("right", "x"))
    assert found.contains([2.0 * MEAN]).all()
    assert abs(found.center[0] - 2.0 * MEAN) > 1e-5  # E is no rounding
    held = {"left": (wave, "free"), "bottom": ("free", 0.0)}
    body = Elasticity(mesh, 2.0, 0.0, None, held, degree=degree)
    found = pp.certify(body, body.space.U0, body.patch("right", "x"))
    assert found.contains([MEAN]).all()
    assert found.radius[0] < 1e-6


def test_a_formula_that_is_large_inside_costs_its_extension():
    """g = 0 on all sides, so u = u_h = 0 and e = −E: its energy and J(E) − a(E, z_h) = (δ_d, ε(E)) + … are counted."""
    text, d = "30*x*(1 - x)*y*(1 - y)*exp(x)", 2
    body = Elasticity(generate("square", 3), 1.0, 0.25, None, {"boundary": (text, 0.0)})
    asked = body.mean("x", "m")
    found = pp.certify(body, body.space.U0, asked)
    witness = found.evidence.witness
    assert not witness.primal.nodal.any()
    solid = witness.route.solid
    T, z = solid.topology, witness.duals[0].nodal
    bary, weights = rule(d, 8)
    X = at_points(T.points[T.cells], bary)
    x, y = X[..., 0], X[..., 1]
    g = 30 * x * (1 - x) * y * (1 - y) * np.exp(x)
    slope = np.stack([30 * (1 - x - x**2) * y * (1 - y) * np.exp(x), 30 * x * (1 - x) * (1 - 2 * y) * np.exp(x)], -1)
    P = T.points[T.cells]
    near = 30 * P[..., 0] * (1 - P[..., 0]) * P[..., 1] * (1 - P[..., 1]) * np.exp(P[..., 0])
    on = np.any((P == 0.0) | (P == 1.0), axis=2).astype(float)
    rest, steep = g - near @ bary.T, slope - np.einsum("ki,kix->kx", near, T.gradients)[:, None]
    chi = on @ bary.T
    G = chi[..., None] * steep + rest[..., None] * np.einsum("ki,kix->kx", on, T.gradients)[:, None]  # ∇E_x
    lam, mu = solid.lam[:, None], solid.mu[:, None]
    square = (2 * mu + lam) * G[..., 0] ** 2 + mu * G[..., 1] ** 2
    energy = np.sqrt(T.volumes @ (square @ weights))
    assert energy > 1.0
    assert found.details["energy_bound"] >= energy * (1.0 - 1e-9)
    H = np.einsum("kic,kix->kcx", z[T.cells], T.gradients)
    div = solid.lam * np.einsum("kcc->k", H)
    stress = np.stack([2 * solid.mu * H[:, 0, 0] + div, solid.mu * (H[:, 0, 1] + H[:, 1, 0])], -1)
    against = T.volumes @ np.einsum("q,kqx,kx->k", weights, G, stress)
    needed = T.volumes @ ((chi * rest) @ weights) - against
    assert abs(needed) > 1e-3
    assert found.terms["boundary"][0] >= abs(needed)
