"""Quadratic elements of −∇·(A∇v) + (c + q)v and of the weight q, enclosed: eigenvalues from above.

On a cell with k^r_ij = |K|∇λ_i·A_r∇λ_j, Σ A_r B_r the projection of A onto quadratics, and the Bernstein basis B_jl of
`taylor.bernstein`, ∇B_jl = c_jl (λ_l∇λ_j + λ_j∇λ_l) with c_jj = 1 and c_jl = 2 else, so that ∫A∇B_p·∇B_q is
Σ_rij T_pqijr k^r_ij with T of rational numbers: products of gradients are quadratics. Functions are continuous where
coefficients are shared, also across periodic pairs, and vanish on facets whose coefficients do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.rounding.arithmetic import down, gamma, up
from pinnpoint.rounding.matrices import product_up
from pinnpoint.taylor.bernstein import gram, mean_of_powers, pairs
from pinnpoint.transfer.boundary.facets import measures
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.energy.estimator import CHUNK
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.spectrum.forms import Forms, Known

PEAK = {1: 3.0, 2: 6.0, 3: 10.0}
"""sup |v| ≤ PEAK |K|^{-1/2} ‖v‖_K for quadratics: the root of their kernel's largest value, at vertices."""


@dataclass(frozen=True, eq=False)
class Conforming:
    """Matrices of functions that vanish on the Dirichlet part, as computed.

    Attributes
    ----------
    stiffness, mass
        An upper bound of a, true to a matrix of norm `stiffness_error`, and a lower one of ∫q vw, to `mass_error`.
    floor
        Lower bound of the smallest eigenvalue of ∫vw.
    """

    stiffness: Any
    stiffness_error: float
    mass: Any
    mass_error: float
    floor: float


def _powers(m: int, *indices: int) -> list[int]:
    found = [0] * (m + 1)
    for k in indices:
        found[k] += 1
    return found


def _share(pair: tuple[int, int]) -> int:
    return 1 if pair[0] == pair[1] else 2


@cache
def products(d: int) -> Vector:
    """T of the module's text, (pairs, pairs, d + 1, d + 1, pairs); its sum over the last axis is that of constants."""
    P, table = pairs(d), np.zeros((len(pairs(d)),) * 2 + (d + 1, d + 1, len(pairs(d))))
    for p, one in enumerate(P):
        for q, two in enumerate(P):
            for r, three in enumerate(P):
                for i, b in (one, one[::-1]):
                    for j, f in (two, two[::-1]):
                        mean = mean_of_powers(_powers(d, b, f, *three))
                        table[p, q, i, j, r] += _share(one) * _share(two) * _share(three) * float(mean)
    table.flags.writeable = False
    return table


@cache
def triple(d: int) -> Vector:
    """Means of B_p B_q B_r, (pairs, pairs, pairs)."""
    P = pairs(d)
    table = np.array(
        [
            [[float(_share(a) * _share(b) * _share(c) * mean_of_powers(_powers(d, *a, *b, *c))) for c in P] for b in P]
            for a in P
        ]
    )
    table.flags.writeable = False
    return table


@dataclass(frozen=True, eq=False)
class _Numbering:
    """Which functions are free, and where entries of cells or facets go."""

    size: int

    def matrix(self, values: Vector, at: Index) -> Any:
        rows, columns = np.repeat(at, at.shape[1], axis=1).ravel(), np.tile(at, (1, at.shape[1])).ravel()
        there = (rows >= 0) & (columns >= 0)
        made = sp.csr_array((values.ravel()[there], (rows[there], columns[there])), shape=(self.size, self.size))
        made.sum_duplicates()
        return sp.csr_array((made + made.T) * 0.5)


def conforming(model: Continuum, forms: Forms) -> Conforming:
    """Matrices of a problem with an upper bound of its energy and a lower one of what the reaction takes."""
    T, d = model.topology, model.d
    local, wrong, volume, slack = _local(model, forms)
    ends = np.array(list(combinations(range(d + 1), 2)), dtype=np.intp).reshape(-1, 2)
    n = len(model.points)
    of = np.arange(n) if model.gluing is None else model.gluing.vertex
    edges = np.unique(np.sort(of[T.cells][:, ends].reshape(-1, 2), axis=1), axis=0)
    at, held = _at(of[T.cells], n, edges), np.zeros(n + len(edges), dtype=bool)
    held[np.unique(_at(of[T.facets[model.kind == DIRICHLET]], n, edges))] = True
    live = np.zeros(n + len(edges), dtype=bool)
    live[np.unique(at)] = True
    free = live & ~held
    number = np.where(free, np.cumsum(free) - 1, -1)
    numbering = _Numbering(int(free.sum()))

    def norm(errors: Vector, where: Index) -> float:
        """Upper bound of the norm of a matrix whose entries are at most these."""
        E = numbering.matrix(errors, where)
        return float(up(product_up(sp.csr_array(E), np.ones(numbering.size)).max(initial=0.0), 64))

    G, places = gram(d), number[at]
    rise, sink = _local_mass(forms.rise, volume, 1.0, d), _local_mass(forms.sink, volume, -1.0, d)
    A, M = numbering.matrix(local + rise[0], places), numbering.matrix(sink[0], places)
    loose = (slack + gamma(64))[:, None, None]
    sums = gamma(64) * (np.abs(local) + np.abs(rise[0]))
    stiff = norm(wrong + loose * rise[1] + sums, places)
    heavy = norm(loose * sink[1] + gamma(64) * np.abs(sink[0]), places)
    if model.exchange is not None:
        on = model.exchange
        area, off = measures(model.points[on.vertices])
        faces = (area * on.top)[:, None, None] * gram(d - 1)  # indefinite.md, step 13e
        there = number[_at(of[on.vertices], n, edges)]
        A = sp.csr_array(A + numbering.matrix(faces, there))
        stiff = float(up(stiff + norm(faces * (off + gamma(64))[:, None, None], there)))
        stiff = float(up(stiff + gamma(4) * product_up(sp.csr_array(abs(A)), np.ones(numbering.size)).max()))
    least = float(np.linalg.eigvalsh(G)[0]) * (1.0 - 1e-9)
    touched = np.zeros(n + len(edges))
    np.add.at(touched, at.ravel(), np.repeat(down(volume * (1.0 - slack), 4), at.shape[1]))
    return Conforming(A, stiff, M, heavy, float(down(least * touched[free].min(initial=np.inf), 64)))


def _at(simplices: Index, n: int, edges: Index) -> Index:
    """Numbers of Bernstein coefficients of simplices, in the order of `pairs`: vertices, then edges after them."""
    known = edges[:, 0] * n + edges[:, 1]
    columns = []
    for j, k in pairs(simplices.shape[1] - 1):
        a, b = simplices[:, j], simplices[:, k]
        columns.append(a if j == k else n + np.searchsorted(known, np.minimum(a, b) * n + np.maximum(a, b)))
    return np.stack(columns, axis=1)


def _local_mass(what: Known, volume: Vector, side: float, d: int) -> tuple[Vector, Vector]:
    """Matrices of a weight on the cells, an upper bound of it for side 1 and a lower one for −1, and of its size."""
    table = triple(d) if what.beta.shape[1] > 1 else gram(d)[:, :, None]
    left = np.where(what.high > 0.0, up(PEAK[d] * what.high), 0.0) + what.error  # indefinite.md, step 13e
    size = volume * (np.abs(what.beta).max(axis=1) + left)
    local = np.einsum("pqr,nr,n->npq", table, what.beta, volume, optimize=True)
    local = local + (side * up(volume * left))[:, None, None] * gram(d)
    return local, size[:, None, None] * gram(d)


def _local(model: Continuum, forms: Forms) -> tuple[Vector, Vector, Vector, Vector]:
    """Stiffness matrices of the cells in Bernstein's basis, bounds of their entries' errors, volumes and slacks."""
    A, C, d, T = forms.diffusion, len(model.kappa), model.d, products(model.d)
    T = T if A.shape[1] > 1 else T.sum(axis=4, keepdims=True)
    whole = np.abs(products(d)).sum(axis=(2, 3, 4))
    m = len(pairs(d))
    local, wrong, volume, slack = np.empty((C, m, m)), np.empty((C, m, m)), np.empty(C), np.empty(C)
    for a in range(0, C, CHUNK):
        part = slice(a, min(a + CHUNK, C))
        shapes = Shapes.of(model.points, model.topology.cells[part])
        g, some, more = shapes.gradients, A[part], forms.diffusion_error[part]
        if A.ndim == 2:
            k = np.einsum("icn,jcn,nr,n->nijr", g, g, some, shapes.volume, optimize=True)
            entries = d * np.abs(some).max(axis=1)
        else:
            k = np.einsum("icn,nrce,jen,n->nijr", g, some, g, shapes.volume, optimize=True)
            entries = np.abs(some).max(axis=1).sum(axis=(1, 2))
        size = shapes.volume * entries * shapes.steep**2  # of each entry and of the products behind it
        # what is left of A is at most its norm times the identity: indefinite.md, step 13e
        even = np.einsum("icn,jcn,n,n->nij", g, g, shapes.volume, more, optimize=True)
        local[part] = np.einsum("pqijr,nijr->npq", T, k, optimize=True)
        local[part] += np.einsum("pqij,nij->npq", products(d).sum(axis=4), even, optimize=True)
        size = up(size + d * shapes.volume * more * shapes.steep**2, 8)
        # indefinite.md, step 2d
        wrong[part] = up(size * (4.0 * shapes.slack + gamma(256)), 16)[:, None, None] * whole
        volume[part], slack[part] = shapes.volume, shapes.slack
    return local, wrong, volume, slack
