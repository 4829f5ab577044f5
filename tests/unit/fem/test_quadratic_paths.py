"""Coercivity of quadratic elements by paths: below the smallest eigenvalue, cell by cell, sabotage noticed."""

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

import pinnpoint as pp
from pinnpoint import fem
from pinnpoint.base.errors import CertificationError
from pinnpoint.fem.assembling.assembly import elasticity_matrix, load, pattern, stiffness
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.stability import quadratic_paths
from pinnpoint.fem.stability.coercivity import path_coercivity
from pinnpoint.fem.stability.quadratic_paths import cell_constants, quadratic_error
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh


def shaken(kind, cells, seed=0, size=0.2):
    mesh = generate(kind, cells)
    rng, inside = np.random.default_rng(seed), np.ones(len(mesh.points), dtype=bool)
    inside[np.unique(mesh.boundary)] = False
    points = mesh.points.copy()
    points[inside] += rng.uniform(-size, size, (inside.sum(), mesh.dim)) / cells
    return Mesh(points, mesh.cells, facet_groups=mesh.facet_groups)


def one_cell(d, seed):
    """A random simplex whose angles are not tiny."""
    rng = np.random.default_rng(seed)
    while True:
        points = rng.uniform(-1.0, 1.0, (d + 1, d))
        if abs(np.linalg.det(points[1:] - points[0])) > 0.2:
            return Mesh(points, np.arange(d + 1)[None])


def energies(mesh, elastic):
    """On one cell: ‖ε(u)‖², |K||ε(u₁)|² and |K| Σ|b_e|² as matrices over the values at the nodes."""
    nodes, d = Nodes(mesh, 2), mesh.dim
    if elastic:
        two = elasticity_matrix(nodes, np.zeros(1), np.full(1, 0.5), pattern(nodes)).toarray()
        one = elasticity_matrix(Nodes(mesh), np.zeros(1), np.full(1, 0.5), pattern(Nodes(mesh))).toarray()
    else:
        two, one = stiffness(nodes, np.ones(1))[0], stiffness(Nodes(mesh), np.ones(1))[0]
    count = d if elastic else 1
    linear = np.zeros_like(two)
    linear[: count * (d + 1), : count * (d + 1)] = one
    rows = np.zeros((len(nodes.edges), len(nodes)))
    for e, ends in enumerate(nodes.edges):
        rows[e, d + 1 + e], rows[e, ends] = 1.0, -0.5
    bubble = np.kron(rows, np.eye(count))
    return two, linear, mesh.volumes[0] * bubble.T @ bubble


def largest(over, under):
    """The largest quotient of two forms with a common kernel."""
    values, vectors = sl.eigh(under)
    keep = values > 1e-10 * values[-1]
    Z = vectors[:, keep] / np.sqrt(values[keep])
    assert np.abs(over @ vectors[:, ~keep]).max() < 1e-9 * np.abs(over).max()
    return sl.eigvalsh(Z.T @ over @ Z)[-1]


@pytest.mark.parametrize("elastic", [False, True])
@pytest.mark.parametrize("d", [2, 3])
def test_the_constants_of_a_cell_hold_and_are_not_idle(d, elastic):
    """Against eigenvalues on random cells; the best of them come within the factor that a trace may lose."""
    shares, bubbles = [], []
    for seed in range(40):
        mesh = one_cell(d, seed)
        (C,), (beta,) = cell_constants(mesh, elastic=elastic)
        energy, linear, beyond = energies(mesh, elastic)
        shares.append(largest(linear, energy) / C)
        bubbles.append(largest(beyond, energy) / beta)
    assert max(shares) <= 1.0
    assert max(bubbles) <= 1.0
    assert max(shares) > 0.5
    assert max(bubbles) > 0.02


@pytest.mark.parametrize("elastic", [False, True])
@pytest.mark.parametrize(("kind", "cells"), [("square", 4), ("cube", 2)])
def test_the_bound_stays_below_the_smallest_eigenvalue(kind, cells, elastic):
    mesh = shaken(kind, cells)
    if elastic:
        problem = fem.Elasticity(mesh, 2.0, 0.3, fixed={"left": 0.0}, degree=2)
    else:
        problem = fem.ReactionDiffusion(mesh, source=1.0, dirichlet={"left": 0.0}, degree=2)
    free = np.asarray(problem.space.free)
    smallest = eigsh(sp.csc_array(problem.system.A[free][:, free]), 1, sigma=0.0)[0][0]
    bound = path_coercivity(problem)
    assert bound.status == "verified"
    assert 0.0 < bound.alpha <= smallest
    assert bound.alpha > (1e-6 if elastic else 1e-3) * smallest


def test_supports_at_nodes_count_when_midpoints_are_held_too():
    mesh = generate("square", 3)
    whole = fem.Elasticity(mesh, 2.0, 0.3, fixed={"left": 0.0}, degree=2)
    by_nodes = fem.Elasticity(mesh, 2.0, 0.3, space=whole.space, degree=2)
    assert path_coercivity(by_nodes).alpha == path_coercivity(whole).alpha
    moving = np.concatenate([np.asarray(whole.space.free), np.arange(2 * len(mesh.points), whole.space.N)])
    Z = sp.csc_array(sp.eye_array(whole.space.N))[:, np.unique(moving)]
    corners = pp.AdmissibleSpace(np.zeros(whole.space.N), Z)
    with pytest.raises(CertificationError, match="no boundary facet"):
        path_coercivity(fem.Elasticity(mesh, 2.0, 0.3, space=corners, degree=2))


def test_a_matrix_that_is_another_is_noticed():
    """One entry off by 1e-9 costs as much; entries that the mesh has not are refused."""
    nodes = Nodes(shaken("cube", 2), 2)
    lam, mu = np.full(len(nodes.mesh.cells), 0.6), np.full(len(nodes.mesh.cells), 0.4)
    A = elasticity_matrix(nodes, lam, mu, pattern(nodes))
    assert quadratic_error(nodes, A, lam, mu) < 1e-14
    off = A.copy()
    off.data[7] += 1e-9
    assert 0.4e-9 < quadratic_error(nodes, off, lam, mu) < 1e-9
    steady = elasticity_matrix(nodes, lam, mu, pattern(nodes), steady=True)
    assert quadratic_error(nodes, steady, lam, mu) < 1e-14
    assert (steady != steady.T).nnz == 0


def test_what_is_not_proved_is_refused():
    problem = fem.ReactionDiffusion(generate("square", 3), 1.0, reaction=2.0, dirichlet={"boundary": 0.0}, degree=2)
    with pytest.raises(CertificationError, match="without reaction"):
        path_coercivity(problem)


def test_constants_rounded_down_are_noticed(monkeypatch):
    monkeypatch.setattr(quadratic_paths, "SLACK", 0.5)
    found = []
    for seed in range(12):
        mesh = one_cell(2, seed)
        energy, linear, _ = energies(mesh, True)
        found.append(largest(linear, energy) / cell_constants(mesh, elastic=True)[0][0])
    assert max(found) > 1.0


@pytest.mark.parametrize("degree", [1, 2])
def test_steady_sums_are_the_same_numbers_for_any_part_of_the_cells(degree):
    mesh = shaken("square", 5)
    used, cells = np.unique(mesh.cells[7:19], return_inverse=True)
    part = Mesh(mesh.points[used], cells.reshape(-1, 3))
    whole, some = (stiffness(Nodes(m, degree), np.ones(len(m.cells)), steady=True) for m in (mesh, part))
    assert np.array_equal(whole[7:19], some)
    nodes = Nodes(mesh, degree)
    f = lambda X: np.exp(X[:, 0])  # noqa: E731
    assert np.allclose(load(nodes, f, 6, steady=True), load(nodes, f, 6), rtol=1e-13)
