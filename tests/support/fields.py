"""Polynomial displacement fields on one simplex: the largest quotients that they reach bound constants from below."""

from __future__ import annotations

from itertools import product

import numpy as np


def rule(m, n):
    """Collapsed Gauss rule on an m-simplex: barycentric points (k, m + 1), weights of sum 1, exact to degree 2n − m."""
    x, w = np.polynomial.legendre.leggauss(n)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    bary, weight = np.ones((1, 1)), np.ones(1)
    for k in range(1, m + 1):  # a new vertex: the old coordinates shrink by 1 − x
        bary = np.concatenate([np.concatenate([bary * (1.0 - t), np.full((len(bary), 1), t)], axis=1) for t in x])
        weight = np.concatenate([weight * (1.0 - t) ** (k - 1) * v * k for t, v in zip(x, w, strict=True)])
    return bary, weight


def monomials(X, degree):
    """Values (k, p) and gradients (k, p, d) of all monomials at points (k, d)."""
    d = X.shape[1]
    powers = [a for a in product(range(degree + 1), repeat=d) if sum(a) <= degree]
    values = np.stack([np.prod(X ** np.array(a), axis=1) for a in powers], axis=1)
    gradients = np.zeros((*values.shape, d))
    for c in range(d):
        for p, a in enumerate(powers):
            if a[c]:
                b = np.array(a) - np.eye(d, dtype=int)[c]
                gradients[:, p, c] = a[c] * np.prod(X**b, axis=1)
    return values, gradients


class Fields:
    """All vector fields of a degree on the simplex with vertices V, as combinations of (monomial, component)."""

    def __init__(self, V, degree=5):
        self.V, self.d, self.degree = V, V.shape[1], degree
        self.centre, self.size = V.mean(axis=0), np.abs(V - V.mean(axis=0)).max()
        edges = V[1:] - V[0]
        self.volume = abs(np.linalg.det(edges)) / np.prod(np.arange(1, self.d + 1))
        self.bary, w = rule(self.d, degree + 3)
        self.weights = w * self.volume
        self.points = self.bary @ V
        self.values, self.gradients = self.at(self.points)

    def at(self, X):
        """Values (k, fields, d) and strains (k, fields, d, d)."""
        v, g = monomials((X - self.centre) / self.size, self.degree)
        e = np.eye(self.d)
        values = np.einsum("kp,ab->kpab", v, e).reshape(len(X), -1, self.d)
        slopes = np.einsum("kpc,ab->kpabc", g / self.size, e).reshape(len(X), -1, self.d, self.d)
        return values, 0.5 * (slopes + np.swapaxes(slopes, 2, 3))

    def energy(self, lam=0.0, mu=0.5):
        """a(v, w) of all fields; ∫ ε : ε by default."""
        e = self.gradients
        trace = np.einsum("kpaa->kp", e)
        return 2.0 * mu * np.einsum("kpab,kqab,k->pq", e, e, self.weights, optimize=True) + lam * np.einsum(
            "kp,kq,k->pq", trace, trace, self.weights, optimize=True
        )

    def work(self, values):
        """∫ f·v of all fields for the values (k, d) of f at `points`."""
        return np.einsum("ka,kpa,k->p", values, self.values, self.weights, optimize=True)

    def dual_norm(self, load, lam=0.0, mu=0.5):
        """max of load(v)/‖v‖_a: a lower bound of the norm of the functional, for loads that no rigid motion feels."""
        values, vectors = np.linalg.eigh(self.energy(lam, mu))
        keep = values > 1e-9 * values[-1]
        return float(np.sqrt((((vectors.T @ load)[keep]) ** 2 / values[keep]).sum()))

    def largest(self, form):
        """max of form(v, v)/‖ε(v)‖², for forms that vanish on rigid motions."""
        values, vectors = np.linalg.eigh(self.energy())
        keep = values > 1e-9 * values[-1]
        W = vectors[:, keep] / np.sqrt(values[keep])
        return float(np.linalg.eigvalsh(W.T @ form @ W)[-1])


def without(values, weights, basis):
    """∫ of products of fields (k, fields, d) without their parts in the span of a basis (k, functions, d)."""
    full = np.einsum("kpa,kqa,k->pq", values, values, weights, optimize=True)
    cross = np.einsum("kpa,kra,k->pr", values, basis, weights, optimize=True)
    own = np.einsum("kra,ksa,k->rs", basis, basis, weights, optimize=True)
    return full - cross @ np.linalg.pinv(own, rcond=1e-10) @ cross.T


def rigid(X):
    """Rigid motions at points, (k, d(d + 1)/2, d)."""
    d = X.shape[1]
    columns = [np.tile(e, (len(X), 1)) for e in np.eye(d)]
    for a in range(d):
        for b in range(a):
            turn = np.zeros_like(X)
            turn[:, a], turn[:, b] = -X[:, b], X[:, a]
            columns.append(turn)
    return np.stack(columns, axis=1)


def linear(bary, d):
    """Linear fields on a simplex at points given by barycentric coordinates, (k, functions, d)."""
    return np.einsum("ki,ab->kiab", bary, np.eye(d)).reshape(len(bary), -1, d)
