"""Small elastic problems with known solutions: shaken meshes, plain elements, moments of data by Gauss rules."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations
from math import factorial

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from pinnpoint.mesh.topology import Topology


def shaken(d, n, by=0.15, seed=0):
    """The unit cube in Kuhn's simplices, inner points moved, points and cells in any order."""
    rng = np.random.default_rng(seed)
    P = np.stack(np.meshgrid(*[np.arange(n + 1) / n] * d, indexing="ij"), -1).reshape(-1, d)
    corner = np.arange(len(P)).reshape((n + 1,) * d)[(slice(-1),) * d].ravel()
    steps = (n + 1) ** np.arange(d)[::-1]
    cells = [np.stack([corner + s for s in np.cumsum([0, *way])], 1) for way in permutations(steps)]
    inside = (P > 0.0) & (P < 1.0)
    P = P + by / n * rng.uniform(-1.0, 1.0, P.shape) * inside
    new = rng.permutation(len(P))
    Q = np.empty_like(P)
    Q[new] = P
    T = new[np.concatenate(cells)]
    return Topology(Q, T[rng.permutation(len(T))])


def gauss(d, n=5):
    """Barycentric points and weights (summing to one) on a simplex, exact for degree 2n − d."""
    x, w = np.polynomial.legendre.leggauss(n)
    x, w = (x + 1.0) / 2.0, w / 2.0
    grids = np.stack(np.meshgrid(*[x] * d, indexing="ij"), -1).reshape(-1, d)
    weights = np.prod(np.stack(np.meshgrid(*[w] * d, indexing="ij"), -1).reshape(-1, d), axis=1)
    L, left = np.empty((len(grids), d + 1)), np.ones(len(grids))
    for k in range(d):
        weights = weights * (1.0 - grids[:, k]) ** (d - 1 - k)
        L[:, k + 1] = grids[:, k] * left
        left = left * (1.0 - grids[:, k])
    L[:, 0] = left
    return L, weights * factorial(d)


def facet_areas(T):
    """Outward area vectors of the facets' first cells, (F, d)."""
    d = T.dim
    E = T.points[T.facets[:, 1:]] - T.points[T.facets[:, :1]]
    n = np.stack([E[:, 0, 1], -E[:, 0, 0]], 1) if d == 2 else 0.5 * np.cross(E[:, 0], E[:, 1])
    inward = T.points[T.cells[T.facet_cells[:, 0]]].mean(axis=1) - T.points[T.facets[:, 0]]
    return n * -np.sign(np.einsum("fa,fa->f", n, inward))[:, None]


def body_moments(T, f):
    """∫_K f λ_i, (C, d + 1, d)."""
    L, w = gauss(T.dim)
    X = np.einsum("qi,nia->nqa", L, T.points[T.cells])
    return np.einsum("nqa,qi,q,n->nia", f(X), L, w, T.volumes)


def traction_moments(T, sigma):
    """∫_F (σ n_F) λ_i of a stress sigma(X), (F, d, d)."""
    L, w = gauss(T.dim - 1)
    X = np.einsum("qi,fia->fqa", L, T.points[T.facets])
    return np.einsum("fqab,fb,qi,q->fia", sigma(X), facet_areas(T), L, w)


def entries(S):
    """The stored entries of symmetric matrices."""
    d = S.shape[-1]
    return np.stack([S[..., a, b] for a in range(d) for b in range(a, d)], -1)


def hooke(lam, mu, gradient):
    """Stresses of displacement gradients (C, …, d, d) with Lamé's numbers of each cell."""
    d = gradient.shape[-1]
    shape = (-1,) + (1,) * (gradient.ndim - 1)
    trace = np.einsum("...aa->...", gradient)[..., None, None]
    lam, mu = np.reshape(lam, shape), np.reshape(mu, shape)
    return mu * (gradient + np.swapaxes(gradient, -1, -2)) + lam * trace * np.eye(d)


@dataclass
class Elements:
    """Linear or quadratic elements: hats of vertices and bubbles 4 λ_a λ_b of edges."""

    T: Topology
    lam: np.ndarray
    mu: np.ndarray
    degree: int

    def __post_init__(self):
        T, d, N = self.T, self.T.dim, len(self.T.points)
        self.pairs = list(combinations(range(d + 1), 2)) if self.degree == 2 else []
        keys = [T.cells[:, a] * N + T.cells[:, b] for a, b in self.pairs]
        self.keys, number = np.unique(np.array(keys, dtype=np.intp), return_inverse=True)
        edges = number.reshape(len(self.pairs), len(T.cells)).T
        self.nodes = np.concatenate([T.cells, N + edges], axis=1)
        self.count = N + len(self.keys)
        G = np.zeros((len(T.cells), d + 1, self.nodes.shape[1], d))  # gradients of the shapes at the vertices
        G[:, :, : d + 1] = T.gradients[:, None]
        for e, (a, b) in enumerate(self.pairs):
            G[:, a, d + 1 + e], G[:, b, d + 1 + e] = 4.0 * T.gradients[:, b], 4.0 * T.gradients[:, a]
        self.slopes = G

    def matrix(self):
        T, d = self.T, self.T.dim
        mass = (np.ones((d + 1, d + 1)) + np.eye(d + 1)) / ((d + 1) * (d + 2))
        t = np.einsum("nisa,ij,njtb,n->nsatb", self.slopes, mass, self.slopes, T.volumes, optimize=True)
        lam, mu = (x[:, None, None, None, None] for x in (self.lam, self.mu))
        K = lam * t + mu * np.swapaxes(t, 2, 4)
        K = K + mu * np.einsum("nsata->nst", t)[:, :, None, :, None] * np.eye(d)[:, None, :]
        dofs = (self.nodes[:, :, None] * d + np.arange(d)).reshape(len(T.cells), -1)
        size = dofs.shape[1]
        rows, columns = np.repeat(dofs, size, axis=1).ravel(), np.tile(dofs, (1, size)).ravel()
        return sp.coo_matrix((K.ravel(), (rows, columns)), shape=(self.count * d,) * 2).tocsc()

    def shapes(self, L):
        return np.concatenate([L, *(4.0 * L[:, [a]] * L[:, [b]] for a, b in self.pairs)], axis=1)

    def load(self, f, sigma, fixed):
        """∫ f φ + ∫ (σ n) φ over the prescribed components."""
        T, d = self.T, self.T.dim
        L, w = gauss(d)
        X = np.einsum("qi,nia->nqa", L, T.points[T.cells])
        b = np.zeros((self.count, d))
        np.add.at(b, self.nodes, np.einsum("nqa,qs,q,n->nsa", f(X), self.shapes(L), w, T.volumes, optimize=True))
        L, w = gauss(d - 1)
        facets = T.facets
        X = np.einsum("qi,fia->fqa", L, T.points[facets])
        t = np.einsum("fqab,fb->fqa", sigma(X), facet_areas(T)) * fixed[:, None]
        np.add.at(b, facets, np.einsum("fqa,qi,q->fia", t, L, w))
        if self.degree == 2:
            outer = T.boundary
            for i, j in combinations(range(d), 2):
                number = np.searchsorted(self.keys, facets[outer, i] * len(T.points) + facets[outer, j])
                np.add.at(b, len(T.points) + number, np.einsum("fqa,q->fa", t, 4.0 * L[:, i] * L[:, j] * w)[outer])
        return b

    def interpolated(self, u):
        """Coefficients of a displacement's nodal interpolant."""
        P, N = self.T.points, len(self.T.points)
        a, b = self.keys // N, self.keys % N
        U = u(P)
        return np.concatenate([U, u((P[a] + P[b]) / 2.0) - (U[a] + U[b]) / 2.0])

    def solved(self, b, held, given):
        """The state with these loads, equal to `given` where facets are held."""
        T, d, N = self.T, self.T.dim, len(self.T.points)
        at = np.zeros((self.count, d), dtype=bool)
        for c in range(d):
            facets = T.facets[held[:, c]]
            at[facets, c] = True
            for i, j in combinations(range(d), 2):
                if self.degree == 2:
                    at[N + np.searchsorted(self.keys, facets[:, i] * N + facets[:, j]), c] = True
        A, free = self.matrix(), np.flatnonzero(~at.ravel())
        x = np.where(at, given, 0.0).ravel()
        rest = b.ravel() - A @ x
        inner = A[free][:, free]
        x[free] = spsolve(inner, rest[free])
        x[free] += spsolve(inner, (b.ravel() - A @ x)[free])
        return x.reshape(-1, d)

    def gradients(self, U):
        """Displacement gradients at the vertices of each cell, (C, d + 1, d, d)."""
        return np.einsum("nsa,nisb->niab", U[self.nodes], self.slopes)

    def stress(self, U):
        """Stresses at the vertices of each cell, (C, d + 1, ns)."""
        return entries(hooke(self.lam, self.mu, self.gradients(U)))

    def energy_error(self, U, gradient):
        """‖u − u_h‖_a for the displacement gradient of u."""
        T, (L, w) = self.T, gauss(self.T.dim)
        X = np.einsum("qi,nia->nqa", L, T.points[T.cells])
        D = gradient(X) - np.einsum("niab,qi->nqab", self.gradients(U), L)
        return float(np.sqrt(np.einsum("nqab,nqab,q,n->", hooke(self.lam, self.mu, D), D, w, T.volumes)))


def boundary_kinds(T, clamped=True, roller=True):
    """held and fixed: clamped at x = 0, held in y at y = 0, tractions elsewhere."""
    X = T.points[T.facets]
    held = np.zeros((len(T.facets), T.dim), dtype=bool)
    if clamped:
        held[np.all(X[..., 0] == 0.0, axis=1)] = True
    if roller:
        held[np.all(X[..., 1] == 0.0, axis=1), 1] = True
    held &= T.boundary[:, None]
    return held, T.boundary[:, None] & ~held
