"""The bound of the energy error of solids lies between the error and a few times it; what is left out is noticed."""

from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.quadrature import conical
from pinnpoint.transfer.elastic import equilibrium, product
from tests.support import polynomials as poly

CASES = [(2, 1, 6), (2, 2, 3), (3, 1, 3), (3, 2, 2)]
LARGEST = {1: 1.6, 2: 2.9}
"""Of the bound over the error, by degree."""


def solid(d, degree, n, wave=0):
    """A body with a known solution that is held all around, or an oscillating force on few cells."""
    u = [poly.bubble(d) * (poly.one(d) + k * poly.coordinate(k % d, d)) for k in range(d)]
    for _ in range(wave):
        u = [p * (poly.one(d) + -2 * poly.coordinate(0, d)) for p in u]
    lam, mu = poly.lame(1.0, 0.25)
    body = [p.text for p in poly.body(u, lam, mu)]
    mesh = poly.distorted(generate({2: "square", 3: "cube"}[d], n), np.random.default_rng(4), 0.3)
    return pp.fem.Elasticity(mesh, 1.0, 0.25, body, {"boundary": 0.0}, degree=degree), u


def energy_error(problem, u, U):
    """‖u − u_h‖_a by a rule that is exact but for rounding."""
    d, (lam, mu) = problem.mesh.dim, problem.lame
    bary, weights = conical(d, 10)
    X = problem.mesh.points[problem.mesh.cells]
    total = np.zeros(len(X))
    H = U.reshape(-1, d)
    for q, w in zip(bary, weights, strict=True):
        at = np.einsum("i,nix->nx", q, X)
        grad = np.zeros((len(X), d, d))
        for i in range(d):
            for j in range(d):
                slope = u[i].slope(j)
                grad[:, i, j] = sum(
                    float(c) * np.prod([at[:, k] ** e for k, e in enumerate(p)], axis=0) for p, c in slope.terms.items()
                )
        grad -= slopes(problem, H, q)
        strain = 0.5 * (grad + np.swapaxes(grad, 1, 2))
        trace = np.einsum("nii->n", strain)
        total += w * (2 * mu * (strain**2).sum(axis=(1, 2)) + lam * trace**2)
    return float(np.sqrt(np.sum(total * problem.mesh.volumes)))


def slopes(problem, H, q):
    """∇u_h at a barycentric point of every cell, (n, d, d): component, axis."""
    mesh, d = problem.mesh, problem.mesh.dim
    G, nodes = mesh.gradients, problem.nodes.cell_dofs
    if problem.degree == 1:
        return np.einsum("nic,nix->ncx", H[nodes], G)
    found = np.einsum("nic,nix,i->ncx", H[nodes[:, : d + 1]], G, 4 * q - 1)
    pairs = [(i, j) for i in range(d + 1) for j in range(i + 1, d + 1)]
    for k, (i, j) in enumerate(pairs):
        both = 4 * (q[i] * G[:, j] + q[j] * G[:, i])
        found += H[nodes[:, d + 1 + k]][:, :, None] * both[:, None, :]
    return found


def bound_and_error(d, degree, n, wave=0):
    problem, u = solid(d, degree, n, wave)
    certificate = pp.certify(problem, problem.space.U0, problem.mean(0))
    state = certificate.evidence.witness.primal.nodal.ravel()
    return certificate.details["energy_bound"], energy_error(problem, u, state)


@pytest.mark.parametrize(("d", "degree", "n"), CASES)
def test_energy_errors_are_bounded_from_above_and_not_by_much(d, degree, n):
    bound, error = bound_and_error(d, degree, n)
    assert error <= bound <= LARGEST[degree] * error


def without_rest(side):
    return replace(side, rest=np.zeros_like(side.rest), rest_data=np.zeros_like(side.rest))


def fine_waves():
    """u = (sin(8πx) sin(8πy), 0) on cells that are two waves wide: the bound, and the error, √(‖u‖² − ‖u_h‖²)."""
    lam, mu, k = 0.4, 0.4, 8.0 * np.pi
    body = (f"{lam + 3 * mu}*(8*pi)**2*sin(8*pi*x)*sin(8*pi*y)", f"{-lam - mu}*(8*pi)**2*cos(8*pi*x)*cos(8*pi*y)")
    problem = pp.fem.Elasticity(generate("square", 2), 1.0, 0.25, body, {"boundary": 0.0}, degree=2)
    certificate = pp.certify(problem, problem.space.U0, problem.mean(0))
    witness = certificate.evidence.witness
    of_state = witness.route.products.measure(witness.primal, [])[0].energy
    return certificate.details["energy_bound"], np.sqrt((lam + 3 * mu) * k**2 / 4.0 - of_state**2)


def test_what_data_leave_is_needed(monkeypatch):
    """Of waves within a cell the elements and their stresses see little."""
    bound, error = fine_waves()
    assert bound >= error
    made = equilibrium.Equilibrium.side
    monkeypatch.setattr(equilibrium.Equilibrium, "side", lambda *a, **k: without_rest(made(*a, **k)))
    assert fine_waves()[0] < 0.7 * error


@pytest.mark.parametrize("share", [0.7, 0.8])
def test_a_smaller_norm_is_noticed(monkeypatch, share):
    form = product.Products._form
    monkeypatch.setattr(product.Products, "_form", lambda *a: share**2 * form(*a))
    bound, error = bound_and_error(3, 1, 3)
    assert bound < error


def test_wrong_work_of_loads_is_noticed(monkeypatch):
    problem, u = solid(2, 2, 8)
    x = [0.4, 0.55]
    queries = problem.points([x], 0) + problem.mean(0, "mean")
    truth = [float(u[0](x)), float(poly.box_mean(u[0]))]
    assert pp.certify(problem, problem.space.U0, queries).contains(truth).all()
    work_of = product.work_of
    monkeypatch.setattr(product, "work_of", lambda *a: tuple(0.9 * w for w in work_of(*a)))
    assert not pp.certify(problem, problem.space.U0, queries).contains(truth).any()
