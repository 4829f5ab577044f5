"""Crouzeix–Raviart matrices against exact ones, and the mesh constant against finer meshes' lower bounds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg as dense
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.base.errors import CertificationError
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.everywhere import mesh_constant as module
from pinnpoint.transfer.everywhere.crouzeix_raviart import assemble, mass_pattern
from pinnpoint.transfer.everywhere.mesh_constant import bordered_bound, eigenvalue_bound, mesh_constant, suggestion


def checkerboard(T, contrast):
    c = T.points[T.cells].mean(axis=1)
    return np.where((c[:, 0] > 0.5) ^ (c[:, 1] > 0.5), contrast, 1.0)


def distorted(kind, n, seed=0):
    """A mesh with its inner vertices moved."""
    mesh = generate(kind, n)
    T = Topology.of(mesh)
    inside = np.setdiff1d(np.arange(len(T.points)), T.facets[T.boundary])
    X = T.points.copy()
    X[inside] += 0.2 / n * np.random.default_rng(seed).uniform(-1, 1, X[inside].shape)
    return Topology(X, mesh.cells)


def refined(T, times=2):
    """Linear elements of the mesh with edges cut in `times` halves, as (stiffness, mass, injection) parts."""
    X, cells, P = T.points, T.cells, np.eye(len(T.points))
    parent = np.arange(len(cells))
    for _ in range(times):
        edges, number = np.unique(
            np.sort(cells[:, [[0, 1], [0, 2], [1, 2]]].reshape(-1, 2), axis=1), axis=0, return_inverse=True
        )
        m = (len(X) + number.reshape(-1, 3)).T
        a, b, c = cells.T
        cells = np.concatenate([np.stack(t, axis=1) for t in ((a, m[0], m[1]), (m[0], b, m[2]), (m[1], m[2], c), m)])
        parent = np.tile(parent, 4)
        X, P = np.concatenate([X, X[edges].mean(axis=1)]), np.concatenate([P, P[edges].mean(axis=1)])
    return Topology(X, cells), parent, P


def below(T, kappa, held):
    """M_h from below: the largest ‖v‖₂/‖v‖_a over the finer mesh's linear functions that are orthogonal to V_h."""
    fine, parent, P = refined(T)
    kappa = kappa[parent]
    G, V = fine.gradients, fine.volumes
    n = len(fine.points)
    A, M = np.zeros((n, n)), np.zeros((n, n))
    index = fine.cells[:, :, None], fine.cells[:, None, :]
    np.add.at(A, index, np.einsum("cik,cjk,c->cij", G, G, kappa * V))
    np.add.at(M, index, V[:, None, None] * (1 + np.eye(3)) / 12)
    on = np.zeros(len(T.points), dtype=bool)
    on[T.facets[held]] = True
    shut = P[:, on].sum(axis=1) > 1 - 1e-12  # fine vertices on held facets
    inner = np.setdiff1d(np.arange(n), np.flatnonzero(shut))
    coarse = P[np.ix_(inner, ~on)]
    A, M = A[np.ix_(inner, inner)], M[np.ix_(inner, inner)]
    N = dense.null_space((A @ coarse).T) if coarse.shape[1] else np.eye(len(A))
    return math.sqrt(dense.eigh(N.T @ M @ N, N.T @ A @ N, eigvals_only=True)[-1])


CASES = {
    "square": ("square", 1.0, None),
    "lshape": ("lshape", 1.0, None),
    "checkerboard": ("square", 100.0, None),
    "mixed": ("square", 1.0, ("left", "bottom")),
    "one side": ("square", 10.0, ("left",)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n", [2, 4])
def test_the_constant_lies_above_what_a_finer_mesh_attains(name, n):
    kind, contrast, sides = CASES[name]
    mesh = generate(kind, n)
    T = Topology.of(mesh)
    kappa = checkerboard(T, contrast)
    held = T.boundary.copy()
    if sides:
        held[:] = False
        for side in sides:
            held[T.numbers_of_group(mesh, side)] = True
    low, found = below(T, kappa, held), mesh_constant(T, kappa, held)
    assert low <= found.value <= 4.0 * low  # 0.29 to 0.64 of it in the long run


def test_the_factorization_proves_what_is_true_and_nothing_more(monkeypatch):
    """Against dense eigenvalues over the complement: any θ above λ⊥ is refused, whatever the penalty."""
    for T, contrast in ((distorted("square", 5), 30.0), (distorted("cube", 2), 1.0)):
        space = assemble(T, checkerboard(T, contrast), T.boundary)
        N = dense.null_space(space.coupling.toarray().T)
        A, M = space.stiffness.toarray(), space.mass.toarray()
        true = dense.eigvalsh(N.T @ A @ N, N.T @ M @ N)[0]
        assert suggestion(space)[0] == pytest.approx(true, rel=1e-2)
        for tau in (1e2, 1e4, 1e8):
            assert not eigenvalue_bound(space, 1.001 * true, tau) > true
            for order in (None, suggestion(space)[2]):
                assert not bordered_bound(space, 1.001 * true, tau, order) > true
        for bound in (eigenvalue_bound, bordered_bound):
            assert 0.97 * true < max(bound(space, 0.98 * true, tau) for tau in (1e3, 1e5, 1e6)) < true
        bare = dense.eigvalsh(A, M)[0]
        assert bare < 0.9 * true  # without the complement the claim would be another one
        assert not eigenvalue_bound(space, 0.98 * true, 1e-9) > 0.0
        assert not bordered_bound(space, 0.98 * true, 1e-9) > 0.0
        monkeypatch.setattr(module, "pivots", lambda S, own=module.pivots, off=0.5 * true: (own(S)[0], off))
        assert bordered_bound(space, 0.98 * true, 1e6) == -math.inf  # rounding above the corner proves nothing
        monkeypatch.undo()


@pytest.mark.parametrize(("kind", "n"), [("square", 3), ("cube", 1)])
def test_matrices_are_enclosed(kind, n):
    """Against exact rational arithmetic with the floats as given."""
    T = distorted(kind, n, seed=3)
    d, kappa = T.dim, np.random.default_rng(1).uniform(0.3, 7.0, len(T.cells))
    held = np.zeros(len(T.facets), dtype=bool)
    space = assemble(T, kappa, held)
    A, B, M = (np.full(X.shape, Fraction(0)) for X in (space.stiffness, space.coupling, space.mass))
    alpha = Fraction(d * d, (d + 1) * (d + 2))
    beta = 1 - Fraction(2 * d, d + 1) + alpha
    assert mass_pattern(d) == (float(alpha), float(beta))
    for cell, facets, k in zip(T.cells, T.cell_facets, kappa, strict=True):
        X = [[Fraction(x) for x in T.points[v]] for v in cell]
        E = [[x - y for x, y in zip(X[i + 1], X[0], strict=True)] for i in range(d)]
        det = _det(E)
        G = [[_cofactor(E, i, j) / det for j in range(d)] for i in range(d)]
        G = [[-sum(g[j] for g in G) for j in range(d)], *G]
        volume = abs(det) / math.factorial(d)
        for i in range(d + 1):
            for j in range(d + 1):
                local = Fraction(k) * volume * sum(x * y for x, y in zip(G[i], G[j], strict=True))
                A[facets[i], facets[j]] += d * d * local
                B[facets[i], cell[j]] -= d * local
                M[facets[i], facets[j]] += volume * (beta + alpha * (i == j))
    for exact, found, error in (
        (A, space.stiffness, space.stiffness_error + 1e-15 * abs(space.stiffness)),
        (B, space.coupling, space.coupling_error),
    ):
        off = np.abs(np.vectorize(Fraction)(found.toarray()) - exact).astype(float)
        assert np.all(off <= error.toarray())
        assert np.max(error.toarray()) < 1e-11 * np.max(np.abs(found.toarray()))
    mass = M.astype(float)
    slack = np.abs(np.vectorize(Fraction)(space.mass.toarray()) - M).astype(float)
    assert np.linalg.norm(slack, 2) <= space.mass_slack * np.linalg.eigvalsh(mass)[0]
    assert np.linalg.eigvalsh(mass - np.diag(space.mass_floor))[0] > -1e-15
    w = 2.0 ** np.random.default_rng(2).integers(-3, 20, len(T.points))
    exact = A + B @ np.diag([Fraction(x) for x in w]) @ B.T
    off = np.abs(np.vectorize(Fraction)(space.penalised(w).toarray()) - exact).astype(float)
    v = np.random.default_rng(4).uniform(0.1, 1.0, len(T.facets))
    assert np.all(off @ v <= space.penalised_error(w, v))
    D, Y, theta = np.ones(len(T.facets)), 2.0 ** (np.arange(len(T.points)) % 3), Fraction(7, 3)
    S, wrong = space.bordered(float(theta), D, Y, 0.25)
    stored = np.vectorize(Fraction)(space.mass.toarray())
    left = np.concatenate([A - Fraction(float(theta)) * stored, (B @ np.diag([Fraction(y) for y in Y])).T])
    off = np.abs(np.vectorize(Fraction)(S.toarray()[:, : len(D)]) - left).astype(float)
    assert np.linalg.norm(off, 2) <= wrong < 1e-9
    assert np.array_equal(S.toarray()[len(D) :, len(D) :], -0.25 * np.eye(len(Y)))


def _det(E):
    if len(E) == 1:
        return E[0][0]
    return sum((-1) ** j * E[0][j] * _det([row[:j] + row[j + 1 :] for row in E[1:]]) for j in range(len(E)))


def _cofactor(E, i, j):
    return (-1) ** (i + j) * _det([row[:j] + row[j + 1 :] for k, row in enumerate(E) if k != i])


def test_linear_functions_are_crouzeix_raviart_functions():
    T = distorted("cube", 2)
    space = assemble(T, np.ones(len(T.cells)), T.boundary)
    P = space.injection
    assert np.allclose((space.stiffness @ P).toarray(), space.coupling.toarray(), atol=1e-13)
    assert np.allclose((P.T @ space.stiffness @ P).toarray(), space.linear_stiffness.toarray(), atol=1e-13)


def test_the_interpolation_constant_holds_for_functions_with_facet_means_zero():
    """Radial extremals are not known; cubics on one triangle come within a half of it and never above."""
    X = np.array([[0.0, 0.0], [1.0, 0.1], [0.3, 0.8]])
    T = Topology(X, [[0, 1, 2]])
    bound = module.interpolation_constant(T, np.ones(1))
    t, w = np.polynomial.legendre.leggauss(12)
    t, w = (t + 1) / 2, w / 2
    s, r = np.meshgrid(t, t)
    bary = np.stack([(1 - s) * (1 - r), s * (1 - r), r], axis=-1).reshape(-1, 3)
    weight = (np.outer(w, w) * (1 - r)).ravel() * 2.0
    powers = [(i, j) for i in range(6) for j in range(6 - i)]
    x = bary @ X
    value = np.stack([x[:, 0] ** i * x[:, 1] ** j for i, j in powers])
    dx = np.stack([i * x[:, 0] ** max(i - 1, 0) * x[:, 1] ** j for i, j in powers])
    dy = np.stack([j * x[:, 0] ** i * x[:, 1] ** max(j - 1, 0) for i, j in powers])
    means = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        y = X[a] + t[:, None] * (X[b] - X[a])
        means.append([(w * y[:, 0] ** i * y[:, 1] ** j).sum() for i, j in powers])
    N = dense.null_space(np.array(means))
    M, A = (value * weight) @ value.T, (dx * weight) @ dx.T + (dy * weight) @ dy.T
    true = math.sqrt(dense.eigh(N.T @ M @ N, N.T @ A @ N, eigvals_only=True)[-1])
    assert 0.5 * bound < true < bound


def test_one_dimension_is_a_closed_form():
    T = Topology(np.array([0.0, 0.25, 1.0]), [[0, 1], [1, 2]])
    found = mesh_constant(T, np.array([1.0, 4.0]), T.boundary)
    assert found.value == pytest.approx(max(0.25, 0.75 / 2) / math.pi, rel=1e-14)
    assert found.value > 0.375 / math.pi


def test_reaction():
    """M_c of constant and of varying c: the ratio is never above it for the discrete forms of a fine mesh."""
    found = mesh_constant(Topology.of(generate("square", 4)), np.ones(32), Topology.of(generate("square", 4)).boundary)
    assert found.with_reaction(0.0, 1.0) == pytest.approx(found.value, rel=1e-12)
    assert found.with_reaction(50.0, 1.0) == pytest.approx(found.value * math.sqrt(1 + 50 * found.value**2), rel=1e-12)


def test_refusals(monkeypatch):
    T = Topology.of(generate("square", 4))
    with pytest.raises(CertificationError, match="no facet is Dirichlet"):
        mesh_constant(T, np.ones(32), np.zeros(len(T.facets), dtype=bool))
    monkeypatch.setitem(module.BUDGET, 2, 31)
    with pytest.raises(CertificationError, match="32 cells are beyond the 31"):
        mesh_constant(T, np.ones(32), T.boundary)


def test_the_order_of_linear_elements_keeps_factors_sparse():
    """Facets after the first of their vertices: fewer entries than minimum degree on the whole finds."""
    T = distorted("lshape", 12)
    space = assemble(T, np.ones(len(T.cells)), T.boundary)
    order = suggestion(space)[2]
    n = space.size + len(space.vertices)
    assert np.array_equal(np.sort(order), np.arange(n))
    S, _ = space.bordered(1.0, np.ones(space.size), np.ones(len(space.vertices)), 1.0)
    by = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True, "Equil": False}}
    own = spla.splu(sp.csc_array(S), permc_spec=module.MMD, **by)
    ours = spla.splu(module._reordered(S, order), permc_spec=module.NATURAL, **by)
    assert ours.nnz < own.nnz
