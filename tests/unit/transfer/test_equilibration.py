"""Equilibrated fluxes: balance, continuity, closeness to the best flux, and agreement of the two implementations."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import combinations, permutations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve
from scipy.spatial import Delaunay

from pinnpoint.base.errors import InputError
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor import bernstein
from pinnpoint.taylor.bernstein import gram, pairs
from pinnpoint.transfer.flux.equilibration import equilibrate, solve_patches
from pinnpoint.transfer.flux.patches import Ingredients, shares, to_nodal

RNG = np.random.default_rng
BOTH = (False, True) if find_spec("numba") else (False,)


def grid(d, n, perturb=0.0, seed=0):
    """Kuhn triangulation of the unit cube, its inner points moved, its cells and vertices shuffled."""
    rng = RNG(seed)
    axis = np.arange(n + 1) / n
    P = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), -1).reshape(-1, d)
    number = np.arange(len(P)).reshape((n + 1,) * d)
    cells = []
    for way in permutations(range(d)):
        corner = np.zeros(d, dtype=int)
        steps = [corner.copy()]
        for k in way:
            corner[k] += 1
            steps.append(corner.copy())
        cells.append(np.stack([number[tuple(slice(x, x + n) for x in s)].ravel() for s in steps], 1))
    inside = np.all((P > 1e-9) & (P < 1 - 1e-9), axis=1)
    P = P + inside[:, None] * rng.uniform(-perturb, perturb, P.shape) / n
    new = rng.permutation(len(P))
    Q = np.empty_like(P)
    Q[new] = P
    T = new[np.concatenate(cells)]
    return Topology(Q, T[rng.permutation(len(T))])


def cloud(d, count, seed=0):
    """Delaunay mesh of random points and a grid on the boundary of the unit cube."""
    rng = RNG(seed)
    n = 5
    axis = np.arange(n + 1) / n
    P = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), -1).reshape(-1, d)
    P = P[np.any((P < 1e-9) | (P > 1 - 1e-9), axis=1)]
    P = np.concatenate([P, rng.uniform(0.07, 0.93, (count, d))])
    T = Delaunay(P).simplices
    E = P[T[:, 1:]] - P[T[:, :1]]
    T = T[np.abs(np.linalg.det(E)) > 1e-9]
    return Topology(P, T)


MESHES = {
    "1d": lambda: grid(1, 9, 0.2),
    "2d": lambda: grid(2, 5),
    "2d perturbed": lambda: grid(2, 6, 0.25),
    "2d cloud": lambda: cloud(2, 40),
    "3d": lambda: grid(3, 2),
    "3d perturbed": lambda: grid(3, 3, 0.2),
    "3d cloud": lambda: cloud(3, 25),
}


class Space:
    """Continuous P1 or P2 functions, by brute force."""

    def __init__(self, top, degree):
        self.top, self.degree, d = top, degree, top.dim
        self.dofs, self.places = top.cells, top.points
        if degree == 2:
            edge = list(combinations(range(d + 1), 2))
            every = top.cells[:, edge].reshape(-1, 2)
            unique, inverse = np.unique(every, axis=0, return_inverse=True)
            self.dofs = np.concatenate([top.cells, len(top.points) + inverse.reshape(-1, len(edge))], axis=1)
            self.places = np.concatenate([top.points, top.points[unique].mean(axis=1)])
        w = np.eye(self.dofs.shape[1])  # Bernstein coefficients of the basis, and its derivatives by λ at the vertices
        self.basis = (bernstein.from_linear if degree == 1 else lambda x: bernstein.from_quadratic(x, d))(w)
        slope = np.zeros((len(w), d + 1, d + 1))  # [basis, vertex, by λ_i]
        for p, (i, j) in enumerate(pairs(d)):
            slope[:, i, j] += self.basis[:, p] * 2
            if i != j:
                slope[:, j, i] += self.basis[:, p] * 2
        self.slope = slope

    def gradients(self, u):
        return np.einsum("bvi,kix,kb...->kvx...", self.slope, self.top.gradients, u[self.dofs])

    def coefficients(self, u):
        return np.einsum("bp,kb...->kp...", self.basis, u[self.dofs])

    def solve(self, kappa, c, f, dirichlet, values, neumann):
        """Galerkin solution for one source f (Bernstein coefficients), Dirichlet facets and Neumann densities t."""
        top, d = self.top, self.top.dim
        mass1 = (np.ones((d + 1, d + 1)) + np.eye(d + 1)) / ((d + 1) * (d + 2))
        G = np.einsum("bvi,kix->kbvx", self.slope, top.gradients)
        local = np.einsum("kbvx,vw,kcwx->kbc", G, mass1, G, optimize=True) * (kappa * top.volumes)[:, None, None]
        products = self.basis @ gram(d)
        local += (products @ self.basis.T) * (c * top.volumes)[:, None, None]
        n, D = len(self.places), self.dofs
        rows, columns = np.repeat(D, D.shape[1], 1).ravel(), np.tile(D, (1, D.shape[1])).ravel()
        A = sp.csr_array((local.ravel(), (rows, columns)), shape=(n, n))
        b = np.bincount(D.ravel(), ((f @ products.T) * top.volumes[:, None]).ravel(), minlength=n)
        for k in range(d + 1):  # ∫ g φ on facets: restrict the basis to λ_k = 0
            t = top.sign[:, k, None] * neumann[top.cell_facets[:, k]]
            keep = [p for p, pair in enumerate(pairs(d)) if k not in pair]
            linear = bernstein.from_linear(t) if d > 1 else t
            restricted = self.basis[:, keep] @ (gram(d - 1) if d > 1 else np.ones((1, 1)))
            b += np.bincount(D.ravel(), (linear @ restricted.T).ravel(), minlength=n)
        held = np.zeros(n, dtype=bool)
        for k in range(d + 1):
            cells = dirichlet[top.cell_facets[:, k]]
            on = [i for i in range(D.shape[1]) if np.any(self.basis[i, [k not in p for p in pairs(d)]] != 0)]
            held[D[cells][:, on]] = True
        u = np.where(held, values, 0.0)
        free = np.flatnonzero(~held)
        u[free] = spsolve(sp.csc_matrix(A[free][:, free]), b[free] - A[free] @ u)
        return u


def local_densities(top, t, r):
    """s[K, i, j] outward with the diagonal of RT1 from the source's vertex values r, or of RT0."""
    d, m = top.dim, t.shape[-1]
    C = len(top.cells)
    s = np.zeros((C, d + 1, d + 1, m))
    for k in range(d + 1):
        y = top.sign[:, k, None, None] * t[top.cell_facets[:, k]]
        for p, j in enumerate([j for j in range(d + 1) if j != k]):
            s[:, k, j] = y[:, p if r is not None else 0]
        if r is None:
            s[:, k, k] = y[:, 0]
    if r is not None:
        D = -s.sum(axis=1) - d * top.volumes[:, None, None] * r / (d + 1)
        D -= D.mean(axis=1, keepdims=True)
        for j in range(d + 1):
            s[:, j, j] = D[:, j]
    return s


def linear_part(top, source):
    """Vertex values of the L² projection onto linears."""
    d = top.dim
    to_linear = bernstein.from_linear(np.eye(d + 1))
    B = to_linear @ gram(d)
    return np.einsum("ip,kpm->kim", np.linalg.solve(B @ to_linear.T, B), source)


def divergence(top, s):
    """Vertex values."""
    d = top.dim
    trace = np.einsum("kiim->km", s)
    return ((d + 1) * s.sum(axis=1) - trace[:, None]) / (d * top.volumes)[:, None, None]


def distance(top, kappa, gradients, s):
    """Σ_K κ⁻¹ ‖σ − κ∇u_h‖² by cell, and the Bernstein coefficients of the difference."""
    d = top.dim
    P = top.points[top.cells]
    offset = P[:, None, :, :] - P[:, :, None, :]  # [i, l]: v_l − v_i
    a = np.einsum("kijm,kilx->kjlxm", s, offset) / (d * top.volumes)[:, None, None, None, None]
    g = kappa[:, None, None, None] * gradients
    delta = np.stack([0.5 * (a[:, j, q] + a[:, q, j] - g[:, j] - g[:, q]) for j, q in pairs(d)], axis=1)
    return np.einsum("kpxm,pr,krxm->km", delta, gram(d), delta) * (top.volumes / kappa)[:, None], delta


class Problem:
    """−∇·κ∇u + c u = f with mixed conditions, solved with P1 or P2; m = 1."""

    def __init__(self, top, degree, *, jump=1.0, c=0.0, neumann=False, side=False, f=None, u=None, g=None, seed=1):
        self.top, d = top, top.dim
        rng = RNG(seed)
        center = top.points[top.cells].mean(axis=1)
        self.kappa = np.where(center[:, 0] < 0.5, 1.0, jump)
        boundary = top.boundary
        middle = top.points[top.facets].mean(axis=1)
        natural = (
            boundary & (middle[:, -1] > 1e-9) & (rng.uniform(size=len(boundary)) < 0.8) if neumann else boundary & 0
        )
        if side:  # one side without flux
            natural = boundary & (middle[:, 0] > 1 - 1e-9)
        self.kind = np.where(natural, 2, boundary).astype(np.int8)
        self.neumann = np.where(natural[:, None] & (not side), rng.normal(size=(len(boundary), d)), 0.0)[..., None]
        if g is not None:
            self.neumann = g(top, natural)[..., None]
        P = top.points[top.cells]
        nodes = np.concatenate([P, *[0.5 * (P[:, [i]] + P[:, [j]]) for i, j in combinations(range(d + 1), 2)]], axis=1)
        f = f or (lambda x: 1.0 + np.cos(3.0 * x.sum(axis=-1)))
        self.f = bernstein.from_quadratic(f(nodes), d)
        self.space = Space(top, degree)
        values = u(self.space.places) if u else np.zeros(len(self.space.places))
        self.u = self.space.solve(self.kappa, c, self.f, self.kind == 1, values, self.neumann[..., 0])
        self.gradients = self.space.gradients(self.u[:, None])
        self.source = (self.f - c * self.space.coefficients(self.u))[..., None]

    def flux(self, order, **options):
        return equilibrate(self.top, self.kappa, self.gradients, self.source, self.kind, self.neumann, order, **options)

    def densities(self, t, order):
        return local_densities(self.top, t, linear_part(self.top, self.source) if order else None)

    def eta2(self, t, order):
        return distance(self.top, self.kappa, self.gradients, self.densities(t, order))[0]

    def defect(self, t, order):
        """Largest |div σ + Π r| relative to the data, and what Neumann facets miss."""
        s = self.densities(t, order)
        r = linear_part(self.top, self.source)
        miss = divergence(self.top, s) + r
        if order == 0:
            miss = miss.mean(axis=1)
        on = self.kind == 2
        wanted = self.neumann if order else self.neumann.mean(axis=1, keepdims=True)
        scale = self.kappa.max() * np.abs(self.u).max() / self.top.diameters.min() ** 2 + np.abs(r).max()
        return np.abs(miss).max() / scale, np.abs((t - wanted)[on]).max(initial=0.0)


def agreeing(problem, order):
    """The flux, after checking both implementations."""
    sizes = []
    for compiled in BOTH:
        t = problem.flux(order, compiled=compiled)
        balance, natural = problem.defect(t, order)
        assert balance < 1e-12
        assert natural < 1e-13 * max(1.0, np.abs(t).max())
        sizes.append(np.sqrt(problem.eta2(t, order).sum()))
    assert sizes[-1] == pytest.approx(sizes[0], rel=1e-6, abs=1e-12)
    return t


CASES = [dict(), dict(jump=1000.0, neumann=True), dict(c=5.0, neumann=True, jump=0.01)]


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize(("degree", "order"), [(1, 0), (1, 1), (2, 1), (2, 0)])
def test_balance_and_agreement(name, degree, order):
    for case in CASES:
        agreeing(Problem(MESHES[name](), degree, **case), order)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_formulas_of_the_representation(d):
    """Normal components and the divergence, against values of σ itself."""
    top, rng = grid(d, 2, 0.1), RNG(3)
    s = rng.normal(size=(len(top.cells), d + 1, d + 1, 1))
    P, G = top.points[top.cells], top.gradients
    wanted = divergence(top, s)

    def sigma(K, x):
        lam = np.array([1.0 if i == 0 else 0.0 for i in range(d + 1)]) + G[K] @ (x - P[K, 0])
        return sum(s[K, i, j, 0] * lam[j] * (x - P[K, i]) for i in range(d + 1) for j in range(d + 1)) / (
            d * top.volumes[K]
        )

    for K in range(0, len(top.cells), 5):
        for i in range(d + 1):
            area = d * top.volumes[K] * np.linalg.norm(G[K, i])
            normal = -G[K, i] / np.linalg.norm(G[K, i])
            for j in set(range(d + 1)) - {i}:
                assert sigma(K, P[K, j]) @ normal * area == pytest.approx(s[K, i, j, 0], abs=1e-11)
            steps = np.eye(d) * 1e-3  # σ is quadratic: central differences are exact
            slope = sum((sigma(K, P[K, i] + h) - sigma(K, P[K, i] - h)) @ h / (2 * h @ h) for h in steps)
            assert slope == pytest.approx(wanted[K, i, 0], rel=1e-8, abs=1e-7)


@pytest.mark.parametrize(("d", "n"), [(1, 8), (2, 4), (3, 2)])
@pytest.mark.parametrize("neumann", [False, True])
def test_piecewise_quadratics_are_met_exactly(d, n, neumann):
    """κ 1 : 50 across x = ½; RT1 contains κ∇u, so the flux is it."""
    top = grid(d, n)
    kappa = np.where(top.points[top.cells].mean(axis=1)[:, 0] < 0.5, 1.0, 50.0)
    k = np.where

    def u(x):
        return ((x[:, 0] - 0.2) ** 2 - 0.09) / (2 * k(x[:, 0] < 0.5, 1.0, 50.0)) + (d > 1) * x[:, -1] ** 2

    def prescribed(top, natural):
        t = np.zeros((len(top.facets), d))
        for f in np.flatnonzero(natural):
            K = top.facet_cells[f, 0]
            i = int(np.flatnonzero(top.cell_facets[K] == f)[0])
            for j, v in enumerate(top.facets[f]):
                x = top.points[v]
                flux = np.zeros(d)
                flux[0] = x[0] - 0.2
                flux[-1] += (d > 1) * 2.0 * kappa[K] * x[-1]
                t[f, j] = -d * top.volumes[K] * flux @ top.gradients[K, i]
        return t

    def f(x):
        cell = k(x.mean(axis=1)[:, 0] < 0.5, 1.0, 50.0)
        return np.repeat((-1.0 - (d > 1) * 2.0 * cell)[:, None], x.shape[1], axis=1)

    problem = Problem(top, 2, jump=50.0, neumann=neumann, u=u, f=f, g=prescribed)
    t = agreeing(problem, 1)
    assert np.abs(problem.u - u(problem.space.places)).max() < 1e-12
    assert np.sqrt(problem.eta2(t, 1).sum()) < 1e-12


@pytest.mark.parametrize(
    ("make", "order", "degree", "within"),
    [
        (lambda: grid(2, 6, 0.25), 0, 1, 1.02),
        (lambda: cloud(2, 40), 0, 1, 1.05),
        (lambda: grid(3, 3, 0.2), 0, 1, 1.05),
        (lambda: grid(2, 4, 0.2), 1, 2, 1.1),
    ],
)
def test_close_to_the_best_flux(make, order, degree, within):
    """The best flux of the whole space, by a dense saddle point system."""
    problem = Problem(make(), degree, side=True, f=lambda x: 1.0 + x[..., 0])
    top = problem.top
    t = agreeing(problem, order)
    q = t.shape[1]
    free = np.repeat(problem.kind != 2, q)
    base = np.where(free, 0.0, t.ravel())
    probes = np.concatenate([base[:, None], base[:, None] + np.eye(t.size)[:, free]], axis=1)
    r = linear_part(top, problem.source) if order else None
    s = local_densities(top, probes.reshape(len(top.facets), q, -1), r)
    _, delta = distance(top, problem.kappa, problem.gradients, s)
    weight = (top.volumes / problem.kappa)[:, None, None, None]
    flat = np.linalg.cholesky(gram(top.dim)).T @ (delta * np.sqrt(weight)).reshape(len(delta), delta.shape[1], -1)
    flat = flat.reshape(-1, probes.shape[1])
    facing = np.array([[j for j in range(top.dim + 1) if j != k] for k in range(top.dim + 1)])
    outward = sum(s[:, k][:, facing[k]].mean(axis=1) for k in range(top.dim + 1))
    G, B = flat[:, 1:] - flat[:, :1], outward[:, 1:] - outward[:, :1]
    wanted = -(linear_part(top, problem.source).mean(axis=1)[:, 0] * top.volumes) - outward[:, 0]
    system = np.block([[G.T @ G, B.T], [B, np.zeros((len(B), len(B)))]])
    y = np.linalg.lstsq(system, np.concatenate([-G.T @ flat[:, 0], wanted]), rcond=None)[0][: G.shape[1]]
    best = np.linalg.norm(G @ y + flat[:, 0])
    ours = np.sqrt(problem.eta2(t, order).sum())
    assert best * (1 - 1e-9) <= ours <= within * best


def exact_energy(d):
    """∫ |∇u|² for −Δu = 1 on the unit cube, u = 0 on its boundary."""
    n = np.arange(1, 202, 2.0)
    grids = np.meshgrid(*[n] * d, indexing="ij")
    return float(np.sum((8 / np.pi**2) ** d / np.prod(grids, axis=0) ** 2 / sum(g**2 for g in grids))) / np.pi**2


@pytest.mark.parametrize(
    ("d", "n", "degree", "order"),
    [(1, 20, 1, 0), (2, 16, 1, 0), (2, 8, 1, 1), (2, 8, 2, 1), (3, 6, 1, 0), (3, 3, 2, 1)],
)
def test_the_flux_is_within_sixty_percent_of_the_error(d, n, degree, order):
    problem = Problem(grid(d, n), degree, f=lambda x: np.ones(x.shape[:-1]))
    t = agreeing(problem, order)
    found = distance(problem.top, problem.kappa, problem.gradients, 0 * problem.densities(t, order))[0].sum()
    error = np.sqrt(exact_energy(d) - found)
    assert 1.0 - 1e-3 <= np.sqrt(problem.eta2(t, order).sum()) / error <= 1.6


def test_a_state_that_solves_nothing_keeps_continuity_and_spreads_its_residual():
    """∫_K (∇·σ + r) = −Σ_a r_a |K|/|ω_a| over the vertices without a Dirichlet facet."""
    for top, degree, order in ((grid(2, 5, 0.2), 1, 0), (grid(2, 4, 0.2), 2, 1), (grid(3, 3, 0.2), 1, 0)):
        d, problem = top.dim, Problem(top, degree, neumann=True, c=2.0)
        u = RNG(5).normal(size=len(problem.u))
        problem.gradients = problem.space.gradients(u[:, None])
        means = problem.gradients.mean(axis=1)
        hat = bernstein.from_linear(np.eye(d + 1)) @ gram(d)
        local = np.einsum("kix,kxm->kim", top.gradients, means) * (problem.kappa * top.volumes)[:, None, None]
        local -= np.einsum("ip,kpm->kim", hat, problem.source) * top.volumes[:, None, None]
        residual = np.bincount(top.cells.ravel(), local.ravel())
        on = problem.kind == 2
        mass = (np.ones((d, d)) + np.eye(d)) / (d * (d + 1))
        np.subtract.at(residual, top.facets[on], problem.neumann[on, :, 0] @ mass)
        residual[top.facets[problem.kind == 1]] = 0.0
        density = residual / np.bincount(top.cells.ravel(), np.repeat(top.volumes, d + 1))
        wanted = -density[top.cells].sum(axis=1)
        for compiled in BOTH:
            t = problem.flux(order, compiled=compiled)
            s = problem.densities(t, order)
            found = (divergence(top, s) + linear_part(top, problem.source)).mean(axis=1)[:, 0]
            if order:  # the diagonal of s was made for equilibrium: read the balance off the facets
                outward = np.array([s[:, k, [j for j in range(d + 1) if j != k], 0].mean(axis=1) for k in range(d + 1)])
                found = outward.sum(axis=0) / top.volumes + linear_part(top, problem.source).mean(axis=1)[:, 0]
            assert np.abs(found - wanted).max() < 1e-11 * np.abs(wanted).max()


def touching(name):
    """Meshes that are not manifolds at a vertex."""
    if name == "triangles at a vertex":
        return Topology([[0, 0], [1, 0], [0, 1], [-1, 0.2], [0, -1.3]], [[0, 1, 2], [0, 3, 4]])
    P = [[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [-1, 0, 0.1], [0, -1.2, 0]]
    if name == "tetrahedra at an edge":
        return Topology(P, [[0, 1, 2, 3], [0, 1, 4, 5]])
    if name == "tetrahedra at a vertex":
        return Topology([*P[:1], [0.2, 0, 1], *P[2:], [0.1, 0, -1]], [[0, 1, 2, 3], [0, 4, 5, 6]])
    square = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1.0]])  # "a ring about a vertex": cone over an annulus
    P = np.concatenate([[[0, 0, 0]], np.c_[square, np.ones(4)], np.c_[2.5 * square, np.ones(4)]])
    cells = []
    for i in range(4):
        j = (i + 1) % 4
        cells += [[0, 1 + i, 1 + j, 5 + i], [0, 1 + j, 5 + i, 5 + j]]
    return Topology(P, cells)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    "name", ["triangles at a vertex", "tetrahedra at an edge", "tetrahedra at a vertex", "a ring about a vertex"]
)
def test_vertices_where_the_mesh_is_no_manifold(name, order):
    top = touching(name)
    for share in (0.0, 0.4):
        problem = Problem(top, 1, u=lambda x: np.sin(1 + 2 * x[:, 0] - x[:, -1]))
        problem.kind[top.boundary] = np.where(RNG(2).uniform(size=top.boundary.sum()) < share, 2, 1)
        problem.neumann[:] = RNG(3).normal(size=problem.neumann.shape) * (problem.kind == 2)[:, None, None]
        sizes = []
        for compiled in BOTH:
            t = problem.flux(order, compiled=compiled)
            sizes.append(problem.eta2(t, order).sum())
            if share == 0.0:
                assert problem.defect(t, order)[0] < 1e-12
        assert sizes[-1] == pytest.approx(sizes[0], rel=1e-6)


@pytest.mark.optional
@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
@pytest.mark.parametrize("order", [0, 1])
def test_threads_and_columns_change_nothing(monkeypatch, order):
    from pinnpoint.transfer.flux import equilibration_compiled

    problem = Problem(grid(2, 60, 0.2), 1, neumann=True)
    one = problem.flux(order, compiled=True)
    monkeypatch.setattr(equilibration_compiled, "CORES", 3)
    assert np.array_equal(one, problem.flux(order, compiled=True))
    three = [
        np.concatenate([x, 0 * x, -2.0 * x], axis=-1) for x in (problem.gradients, problem.source, problem.neumann)
    ]
    for compiled in BOTH:
        t = equilibrate(problem.top, problem.kappa, *three[:2], problem.kind, three[2], order, compiled=compiled)
        assert t.shape == (*one.shape[:2], 3)
        assert np.abs(t - one * [1.0, 0.0, -2.0]).max() < 1e-10 * np.abs(one).max()


def test_constant_gradients_may_be_given_once():
    problem = Problem(grid(3, 2, 0.2), 1)
    for order in (0, 1):
        for compiled in BOTH:
            full = problem.flux(order, compiled=compiled)
            short = equilibrate(
                problem.top, problem.kappa, problem.gradients[:, :1], problem.source, problem.kind, None, order,
                compiled=compiled,
            )  # fmt: skip
            assert np.abs(full - short).max() < 1e-12


def test_bad_data_of_a_flux_are_refused():
    top = grid(2, 2)
    C, F = len(top.cells), len(top.facets)
    fine = dict(
        kappa=np.ones(C),
        gradients=np.zeros((C, 1, 2, 1)),
        source=np.zeros((C, 6, 1)),
        kind=top.boundary.astype(np.int8),
        neumann=None,
        order=0,
    )
    assert equilibrate(top, **fine).shape == (F, 1, 1)
    wrong = dict(
        kappa=np.ones(C + 1),
        gradients=np.zeros((C, 2, 2, 1)),
        source=np.zeros((C, 3, 1)),
        kind=np.zeros(F, dtype=np.int8),
        neumann=np.zeros((F, 1, 1)),
        order=2,
    )
    for name, value in wrong.items():
        with pytest.raises(InputError, match=name):
            equilibrate(top, **{**fine, name: value})


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("boundary", ["free", "mixed", "prescribed"])
def test_going_round_a_vertex_solves_the_patch_problems(order, boundary):
    """As dense systems with multipliers do, for states that solve nothing: defects are spread in the same way."""
    top, rng, m = grid(2, 5, 0.2), np.random.default_rng(4), 35
    kind = np.where(top.boundary, {"free": 1, "mixed": 1, "prescribed": 2}[boundary], 0).astype(np.int8)
    if boundary == "mixed":
        kind[top.boundary] = rng.integers(1, 3, int(top.boundary.sum()))
    gradients, source = rng.normal(size=(len(top.cells), 3, 2, m)), rng.normal(size=(len(top.cells), 6, m))
    neumann = np.where((kind == 2)[:, None, None], rng.normal(size=(len(top.facets), 2, m)), 0.0)
    kappa = rng.uniform(0.01, 10.0, len(top.cells))
    t = equilibrate(top, kappa, gradients, source, kind, neumann, order, compiled=False)
    cells = Ingredients.of(top, kappa, gradients, source, order)
    dense = np.zeros((len(top.facets), 2, cells.width, m))
    dense[kind == 2] = np.einsum("aqj,fjm->faqm", shares(2, order), neumann[kind == 2])
    solve_patches(top, cells, kind, dense)
    assert np.abs(t - to_nodal(dense)).max() < 1e-11 * np.abs(t).max()
