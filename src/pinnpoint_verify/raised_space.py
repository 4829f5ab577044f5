"""Dirichlet data that the state does not meet, lifted into the cells around its edges and faces: in space.

Edges (a, b) and faces (a, b, c) of Γ_D have polynomials λ_aλ_bΣ c_j(λ_b − λ_a)^j and λ_aλ_bλ_cΣ c_jk(λ_b − λ_a)^j
(λ_c − λ_a)^k, j + 2 and j + k + 3 at most 6, with the stored floats c. They are continuous and vanish on facets without
their edge or face. Their sum E has Bernstein coefficients on every cell. With |g − u_h − E| ≤ `ends` on Γ_D, which is
compared with samples, u differs by at most `ends` from the solution with the values u_h + E, and for that one

    J(u) = J(u_h) + [residual of u_h at z_h] − ∫_{Γ_D} (τ·n) E + (ϱ_d, E) + (δ_d, ∇E) + ∫_{Γ_N} (g_d − αz_h − τ·n) E
           + a(e, ε),     e = u − u_h − E,

and ‖e‖_a is bounded with ‖κ^½∇E‖_K + ‖c^½E‖_K + ‖α^½E‖_F more on each cell (docs/curved.md, 3e to 3g).
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np

from pinnpoint_verify.checker import (
    DIRICHLET,
    NEUMANN,
    Ball,
    Query,
    Shape,
    Side,
    areas,
    means,
    mix,
    quadratic,
    total,
    up,
)
from pinnpoint_verify.polynomials import against, indices
from pinnpoint_verify.raised import rest_of, tops_of
from pinnpoint_verify.reader import Array, Bundle, need
from pinnpoint_verify.robin import asked

DEGREE, EDGE, FACE = 6, 5, 10
STEP = 2_000


@cache
def coefficients(m: int) -> Ball:
    """Bernstein coefficients of degree 6 of an m-simplex's modes, (modes, indices): edges, then faces."""
    place = {tuple(a): k for k, a in enumerate(indices(m, DEGREE).tolist())}
    rows = []
    for size in (2, 3):
        for at in combinations(range(m + 1), size):
            for powers in product(range(DEGREE), repeat=size - 1):
                if sum(powers) + size <= DEGREE:
                    rows.append(_row(m, at, powers, place))
    table = np.array(rows)
    return Ball(table, 4.0 * 2.0**-53 * np.abs(table))


def _row(m: int, at: tuple[int, ...], powers: tuple[int, ...], place: dict[tuple[int, ...], int]) -> list[float]:
    """One mode: its factors are multiplied out with powers of Σλ = 1, in whole numbers."""
    unit = [tuple(int(i == k) for i in range(m + 1)) for k in range(m + 1)]
    factors: list[dict[tuple[int, ...], int]] = [{unit[a]: 1} for a in at]
    for b, power in zip(at[1:], powers, strict=True):
        factors += [{unit[b]: 1, unit[at[0]]: -1}] * power
    factors += [dict.fromkeys(unit, 1)] * (DEGREE - len(factors))
    whole = {(0,) * (m + 1): 1}
    for factor in factors:
        more: dict[tuple[int, ...], int] = {}
        for (one, x), (two, y) in product(whole.items(), factor.items()):
            key = tuple(i + j for i, j in zip(one, two, strict=True))
            more[key] = more.get(key, 0) + x * y
        whole = more
    row = [0.0] * len(place)
    for key, x in whole.items():
        row[place[key]] = x * math.prod(math.factorial(i) for i in key) / math.factorial(DEGREE)
    return row


@cache
def _lower(m: int) -> Array:
    """Of every index of degree 5, where the indices with one more in each place stand, (indices, m + 1)."""
    place = {tuple(a): k for k, a in enumerate(indices(m, DEGREE).tolist())}
    rows = indices(m, DEGREE - 1).tolist()
    return np.array([[place[tuple(x + (i == k) for i, x in enumerate(a))] for k in range(m + 1)] for a in rows])


class RaisedSpace:
    """The lift of a bundle's Dirichlet data."""

    def __init__(self, bundle: Bundle, p: Side, said: dict[str, Any]) -> None:
        mesh = p.mesh
        medium = mesh.medium
        fits = mesh.d == 3 and (medium is None or not (medium.convective or float(medium.floor.min()) < 0.0))
        need(fits, "raised: Dirichlet data is lifted without convection, where c ≥ 0")
        self.p, self.ends = p, float(said["ends"])
        need(self.ends >= 0.0, "raised: a bound is negative")
        self.at = at = np.nonzero(mesh.kind == DIRICHLET)[0]
        T = mesh.facets[at]
        pairs = np.stack([T[:, list(two)] for two in combinations(range(3), 2)], axis=1).reshape(-1, 2)
        keys = np.unique(pairs[:, 0] * mesh.n + pairs[:, 1])
        edges = np.concatenate([bundle("raised/edges", len(keys), EDGE), np.zeros((1, EDGE))])
        faces = np.concatenate([bundle("raised/faces", len(at), FACE), np.zeros((1, FACE))])
        self.keys = keys
        self.own = self._modes(edges, faces, T, np.arange(len(at))[:, None])
        self.cell = mesh.owner[at]
        self.local = np.argmax(mesh.cell_facets[self.cell] == at[:, None], axis=1)
        number = np.full(len(mesh.facets), len(at))
        number[at] = np.arange(len(at))
        self.gradient, self.size = np.zeros((2, mesh.C))
        touched = np.nonzero((self._edges(mesh.cells) < len(keys)).any(axis=1))[0]
        for start in range(0, len(touched), STEP):
            some = touched[start : start + STEP]
            v = self._modes(edges, faces, mesh.cells[some], number[mesh.cell_facets[some][:, ::-1]])
            self.gradient[some], self.size[some] = _norms(Shape(mesh.points[mesh.cells[some]]), v)
        kappa, c = (mesh.kappa, mesh.c) if medium is None else (np.zeros(mesh.C), np.zeros(mesh.C))
        if medium is not None:
            kappa[touched], c[touched] = tops_of(medium, touched)
        self.gradient = up(np.sqrt(kappa) * self.gradient)
        self.energy = up(self.gradient + np.sqrt(c) * self.size)
        # beside Γ_D: |E| ≤ ¼Σ|c_j| on a free facet with edges of Γ_D
        free = np.nonzero(mesh.kind == NEUMANN)[0]
        self.beside = np.zeros(len(mesh.facets))
        self.beside[free] = up(0.25 * np.abs(edges[self._edges(mesh.facets[free])]).sum(axis=(1, 2)))
        if mesh.exchange is not None:
            own = mesh.exchange
            more = up(np.sqrt(own.mean * areas(mesh.points[mesh.facets[own.at]]).top) * self.beside[own.at])
            np.add.at(self.energy, mesh.owner[own.at], more)

    def _edges(self, simplices: Array) -> Array:
        """Of each pair of vertices the row of that edge of Γ_D, or their number where it is none."""
        pairs = combinations(range(simplices.shape[1]), 2)
        codes = np.stack([simplices[:, j] * self.p.mesh.n + simplices[:, k] for j, k in pairs], axis=1)
        row = np.minimum(np.searchsorted(self.keys, codes), len(self.keys) - 1)
        return np.asarray(np.where(self.keys[row] == codes, row, len(self.keys)))

    def _modes(self, edges: Array, faces: Array, simplices: Array, rows: Array) -> Array:
        """Coefficients of all modes of simplices whose faces have the rows given."""
        own = edges[self._edges(simplices)].reshape(len(simplices), -1)
        return np.concatenate([own, faces[rows].reshape(len(simplices), -1)], axis=1)

    def bound(self, query: Query, goal: dict[str, Any]) -> tuple[float, float]:
        """Centre and radius of a query, but for what the data costs that E leaves."""
        p, z, mesh = self.p, query.z, self.p.mesh
        p.raised = self.energy
        center, radius = query.bound(None, goal)
        p.raised = None
        t = np.broadcast_to(z.t[self.at], (len(self.at), 3)) * mesh.sign[self.cell, self.local][:, None]
        b = mix("nm,ma->na", self.own, coefficients(2))
        across = mix("nj,ja,na->n", t, against(2, 1, DEGREE)[::-1], b).total()
        left = total(rest_of(self, z)) + self._free(z)
        center = center - query.sign * float(across.m)
        more = float(across.r) + left + 8.0 * 2.0**-53 * (abs(center) + abs(float(across.m)))
        return center, float(up(radius + more))

    def _free(self, z: Side) -> float:
        """Upper bound of |∫ (g_d − αz_h − τ·n) E| over free facets."""
        mesh = self.p.mesh
        if z.load is None and not np.any(mesh.open(z.transposed)):
            return 0.0
        at, (wanted, high, _, e2) = asked(z)
        t, area = np.broadcast_to(z.t[at], (len(at), 3)), areas(mesh.points[mesh.facets[at]])
        gap = wanted - 0.5 * (Ball(t[:, :, None]) + t[:, None, :]) / area[:, None, None]
        square = mix("njk,jklm,nlm->n", gap, means(2, 4), gap).top + high**2
        return total(up(area.top * (np.sqrt(square) + e2) * self.beside[at]))

    def through(self, query: Query) -> float:
        """What the data that E leaves change of a flux: ϱ Σ_K (2κ|∂K| max|∇z_h| + c|K| max|z_h|) + ϱ∫α|z_h|."""
        mesh, z, found = self.p.mesh, query.z.nodal, [0.0]
        need(mesh.medium is None, "raised: fluxes of coefficients that vary")
        for g in mesh.parts():
            b, rise = quadratic(z[mesh.nodes_of(mesh.cells[g.part])], 3, mesh.degree)
            slopes = mix("njk,nkc->njc", 2.0 * rise, g.grad)
            steep = up(np.sqrt((slopes.top**2).sum(axis=2)).max(axis=1))
            sides = up(3.0 * np.sqrt((g.grad.top**2).sum(axis=2)).sum(axis=1))
            each = 2.0 * g.kappa * sides * steep + np.abs(g.c) * b.top.max(axis=(1, 2))
            found.append(total(up(each * g.vol.top)))
        if mesh.exchange is not None:
            own = mesh.exchange
            T = mesh.facets[own.at]
            most = 3.0 * np.abs(z[mesh.nodes_of(T)]).max(axis=1)
            found.append(total(up(own.mean * areas(mesh.points[T]).top * most)))
        return float(up(self.ends * total(np.array(found))))

    def tops(self, facets: Array) -> Array:
        """Upper bounds of |g − u_h| on facets, as the polynomials have it."""
        rows = np.searchsorted(self.at, facets)
        return np.asarray(up(mix("nm,ma->na", self.own[rows], coefficients(2)).top.max(axis=1) + self.ends))

    def compare(self, facets: Array, value: Array, bary: Array) -> None:
        """The polynomials of some facets against samples (n, q) of g − u_h at the corners and at points (q, 3)."""
        rows, every = np.searchsorted(self.at, facets), np.concatenate([np.eye(3), bary])
        factors = [
            math.factorial(DEGREE) / math.prod(math.factorial(i) for i in a) for a in indices(2, DEGREE).tolist()
        ]
        basis = (every[:, None, :] ** indices(2, DEGREE)[None]).prod(axis=2) * np.array(factors)
        found = (self.own[rows] @ coefficients(2).m) @ basis.T
        slip = 1e-12 * np.abs(value).max(initial=0.0) + 1e-13 * float(np.abs(self.p.nodal).max(initial=0.0))
        fits = np.abs(value - found) <= self.ends * (1.0 + 1e-9) + slip
        need(np.all(fits), "raised: not the Dirichlet data (sampled)")


def _norms(g: Shape, v: Array) -> tuple[Array, Array]:
    """Upper bounds of ‖∇E‖_K and ‖E‖_K on tetrahedra."""
    b = mix("nm,ma->na", v, coefficients(3))
    slope = float(DEGREE) * mix("nai,nic->nac", b[:, _lower(3)], g.grad)
    found = []
    for x, q in ((slope, DEGREE - 1), (Ball(b.m[..., None], b.r[..., None]), DEGREE)):
        square = mix("nac,ab,nbc->n", x, against(3, q, q), x) * g.vol
        found.append(up(np.sqrt(np.maximum(square.top, 0.0))))
    return found[0], found[1]
