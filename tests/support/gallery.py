"""Systems to certify: P1 finite elements assembled from their formulas, and random matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import pinnpoint as pp


@dataclass(frozen=True, eq=False)
class Case:
    """An assembled matrix with Dirichlet degrees of freedom, and where its degrees of freedom sit."""

    name: str
    A: Any
    b: np.ndarray
    fixed: np.ndarray
    points: np.ndarray

    @property
    def space(self) -> pp.AdmissibleSpace:
        return pp.AdmissibleSpace.dirichlet(self.b.size, self.fixed, 0.0)

    @property
    def free(self) -> np.ndarray:
        return np.setdiff1d(np.arange(self.b.size), self.fixed)

    def system(self, **options: Any) -> pp.LinearSystem:
        return pp.LinearSystem(self.A, self.b, space=self.space, **options)

    def reduced(self) -> tuple[Any, np.ndarray]:
        return self.A[self.free][:, self.free], self.b[self.free]


def grid(n: int, grading: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Triangulated unit square, n × n squares; grading > 1 packs points towards the origin."""
    x = np.linspace(0.0, 1.0, n + 1) ** grading
    X, Y = np.meshgrid(x, x, indexing="ij")
    p = np.stack([X.ravel(), Y.ravel()], axis=1)
    i = np.arange(n)[:, None] * (n + 1) + np.arange(n)[None, :]
    a, b, c, d = i.ravel(), i.ravel() + n + 1, i.ravel() + n + 2, i.ravel() + 1
    return p, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def gradients(p: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of the P1 shape functions (cells, 3, 2), and areas."""
    e = p[t[:, [2, 0, 1]]] - p[t[:, [1, 2, 0]]]
    area2 = e[:, 0, 0] * e[:, 1, 1] - e[:, 0, 1] * e[:, 1, 0]
    g = np.stack([-e[:, :, 1], e[:, :, 0]], axis=2) / area2[:, None, None]
    return g, 0.5 * np.abs(area2)


def poisson_1d(n: int, contrast: float = 1.0, grading: float = 1.0) -> Case:
    x = np.linspace(0.0, 1.0, n + 1) ** grading
    h = np.diff(x)
    k = np.where(0.5 * (x[1:] + x[:-1]) < 0.4, contrast, 1.0) / h
    A = sp.diags_array([np.append(k, 0) + np.append(0, k), -k, -k], offsets=[0, 1, -1]).tocsr()
    b = 0.5 * (np.append(h, 0) + np.append(0, h))
    return Case(f"poisson-1d-{n}-{contrast:g}-{grading:g}", A, b, np.array([0, n]), x[:, None])


def poisson_2d(n: int, contrast: float = 1.0, grading: float = 1.0) -> Case:
    p, t = grid(n, grading)
    g, area = gradients(p, t)
    c = p[t].mean(axis=1)
    kappa = np.where((c[:, 0] - 0.5) * (c[:, 1] - 0.5) > 0.0, contrast, 1.0)
    K = np.einsum("eia,eja,e->eij", g, g, kappa * area)
    A = sp.coo_array((K.ravel(), (np.repeat(t, 3, axis=1).ravel(), np.tile(t, (1, 3)).ravel()))).tocsr()
    b = np.bincount(t.ravel(), np.repeat(area / 3.0, 3), minlength=len(p))
    edge = np.nonzero((p.min(axis=1) == 0.0) | (p.max(axis=1) == 1.0))[0]
    A = sp.csr_array((A + A.T) * 0.5)
    return Case(f"poisson-2d-{n}-{contrast:g}-{grading:g}", A, b, edge, p)


def elasticity_2d(n: int, clamp: str = "all", grading: float = 1.0, contrast: float = 1.0) -> Case:
    """Plane strain, E = 1, nu = 0.3; degrees of freedom interleaved; not bitwise symmetric."""
    p, t = grid(n, grading)
    g, area = gradients(p, t)
    lam, mu = 0.3 / (1.3 * 0.4), 0.5 / 1.3
    scale = area * np.where(p[t].mean(axis=1)[:, 0] < 0.5, contrast, 1.0)
    dots = np.einsum("eia,eja->eij", g, g)
    K = (
        lam * np.einsum("eia,ejb->eiajb", g, g)
        + mu * np.einsum("eib,eja->eiajb", g, g)
        + mu * np.einsum("eij,ab->eiajb", dots, np.eye(2))
    ) * scale[:, None, None, None, None]
    dof = (2 * t[:, :, None] + np.arange(2)[None, None, :]).reshape(len(t), 6)
    A = sp.coo_array((K.ravel(), (np.repeat(dof, 6, axis=1).ravel(), np.tile(dof, (1, 6)).ravel()))).tocsr()
    load = np.bincount(t.ravel(), np.repeat(area / 3.0, 3), minlength=len(p))
    b = np.stack([0.3 * load, -load], axis=1).ravel()
    on = {
        "all": (p.min(axis=1) == 0.0) | (p.max(axis=1) == 1.0),
        "cantilever": p[:, 0] == 0.0,
    }[clamp]
    nodes = np.nonzero(on)[0]
    fixed = np.sort(np.concatenate([2 * nodes, 2 * nodes + 1]))
    return Case(f"elasticity-{clamp}-{n}-{contrast:g}-{grading:g}", A, b, fixed, np.repeat(p, 2, axis=0))


def random_matrix(rng: np.random.Generator, n: int, *, symmetric: bool) -> np.ndarray:
    T = rng.normal(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.15)
    A = T @ T.T + np.diag(rng.uniform(1.0, 3.0, n))
    return A if symmetric else A + 0.7 * T


def random_sparse(rng: np.random.Generator, m: int, n: int, density: float, draw: Any = None) -> Any:
    """A sparse matrix with that share of entries in random places, uniform in (0, 1) or as `draw(size=…)` draws them.

    SciPy's own draws differ, and are called differently, from version to version.
    """
    at = np.sort(rng.choice(m * n, round(density * m * n), replace=False))
    values = (draw or rng.uniform)(size=at.size)
    return sp.csr_array((values, (at // n, at % n)), shape=(m, n))


def random_spd(rng: np.random.Generator, n: int) -> Any:
    B = random_sparse(rng, n, n, 0.08)
    return sp.csr_array(B @ B.T + sp.diags_array(rng.uniform(0.5, 2.0, n)))
