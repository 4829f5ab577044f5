"""Negative reactions: between which eigenvalues they lie, by counts of negative pivots; part of the proof.

q = max(−c, 0), a = ∫κ∇v·∇w + c⁺vw, a(v, ·) = λ(qv, ·). From below by Crouzeix–Raviart functions φ_F = 1 − dλ_i, from
above by quadratics (docs/indefinite.md, 1 to 4, and 13 for Robin groups and periodic pairs beside numbers). Matrices
are entries with bounds of their errors. Pairs are facets like those inside.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint_verify.checker import (
    DIRICHLET,
    UNIT,
    Ball,
    Mesh,
    Query,
    Side,
    areas,
    gamma,
    length,
    means,
    mix,
    quadratic,
    total,
    up,
)
from pinnpoint_verify.mesh_constant import eigenvalue, most, negative
from pinnpoint_verify.reader import Array, larger, need, smaller

Row = dict[str, Any]
LEAST, SHARE = 1e-3, 0.1
"""Of the largest q, to which it is raised; and of ‖∇(v − Πv)‖² that pays for c⁺."""


class Sparse:
    """A symmetric matrix over some numbers, with a bound of the norm of what is not known of it."""

    def __init__(self, at: Array, local: Ball, size: int) -> None:
        n = at.shape[1]
        rows, cols = np.repeat(at, n, axis=1).ravel(), np.tile(at, (1, n)).ravel()
        there, shape = (rows >= 0) & (cols >= 0), (size, size)
        where = rows[there], cols[there]
        self.A = sp.csr_array((local.m.ravel()[there], where), shape=shape)
        loose = local.r + gamma(64) * np.abs(local.m)  # of sums over the cells of an entry
        self.E = sp.csr_array((loose.ravel()[there], where), shape=shape)

    @property
    def error(self) -> float:
        """‖·‖₂ of what is not known."""
        return math.sqrt(most(self.E) * most(sp.csr_array(self.E.T)))


class Counts:
    """Crouzeix–Raviart functions of a mesh, and eigenvalues from below."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh, d = mesh, mesh.d
        E = mesh.points[mesh.cells]
        squares = np.stack([((E[:, i] - E[:, j]) ** 2).sum(axis=1) for i, j in combinations(range(d + 1), 2)])
        pi = 3.141592653589793
        rest = 0.0 if d == 1 else squares.sum(axis=0) / (d * d * (d + 1) ** 2 * (d + 2))
        self.C2 = up(squares.max(axis=0) / pi**2 + rest)  # ‖v − Πv‖² ≤ C² ‖∇(v − Πv)‖² on cells
        self._crouzeix_raviart(mesh.kind == DIRICHLET)

    def _stiffness(self) -> Ball:
        """κ|K|∇λ_i·∇λ_j."""
        found = [mix("nic,njc->nij", g.grad, g.grad) * (g.vol * g.kappa)[:, None, None] for g in self.mesh.parts()]
        return Ball(*(np.concatenate([getattr(x, k) for x in found]) for k in "mr"))

    def _crouzeix_raviart(self, held: Array) -> None:
        mesh, d = self.mesh, self.mesh.d
        number = np.where(held, -1, np.cumsum(~held) - 1)
        self.at, self.size = number[mesh.cell_facets], int((~held).sum())
        self.k = self._stiffness()
        self.A = Sparse(self.at, float(d * d) * self.k, self.size)
        if mesh.exchange is not None:  # Π keeps means over facets: indefinite.md, step 13d
            on, count = mesh.exchange.at, len(mesh.facets)
            size = np.zeros(count)
            size[on] = areas(mesh.points[mesh.facets[on]]).low * mesh.alpha[on] * (1.0 - 1e-14)
            self.A.A = sp.csr_array(self.A.A + sp.diags_array(size[~held]))
            self.A.E = sp.csr_array(self.A.E + 4.0 * UNIT * sp.diags_array(self.A.A.diagonal()))
        alpha = d * d / ((d + 1) * (d + 2))
        self.pattern = alpha * np.eye(d + 1) + 1.0 - 2.0 * d / (d + 1) + alpha
        self.least = float(np.linalg.eigvalsh(self.pattern)[0]) * (1.0 - 1e-9)

    def _mass(self, weight: Array) -> tuple[Sparse, float]:
        """∫ w φ_F φ_G and a lower bound of it."""
        vol = Ball(0.5 * (self.mesh.low + self.mesh.top), up(0.5 * (self.mesh.top - self.mesh.low)))
        local = (vol * weight)[:, None, None] * Ball(self.pattern, 8.0 * UNIT)
        each = np.repeat(self.mesh.low * weight * self.least, self.mesh.d + 1)
        sums = np.bincount(self.at.ravel() + 1, each, minlength=self.size + 1)[1:]
        return Sparse(self.at, local, self.size), float(sums.min() * (1.0 - 1e-12))

    def from_below(self, weight: Array, theta: float, m: int, positive: bool = True) -> float:
        """λ_{m+1} ≥ θ/(1 + C²θ), θ lowered by what rounding may hide."""
        mesh = self.mesh
        M, floor = self._mass(weight)
        A, error, C2 = self.A.A, self.A.error, float(np.max(self.C2 * weight / mesh.kappa)) * (1.0 + 1e-12)
        c = np.maximum(mesh.c, 0.0)
        if positive and np.any(c):
            X = float(np.max(self.C2 * c / mesh.kappa)) * (1.0 + 1e-12)
            t = X / (SHARE + X)
            more, _ = self._mass(c * (1.0 - t))
            A, error = A + more.A, error + more.error + 8.0 * UNIT * most(abs(A) + abs(more.A))
            C2 = C2 / (1.0 - X * (1.0 - t) / t * (1.0 + 1e-12)) * (1.0 + 1e-12)
        size = most(abs(A) + theta * abs(M.A))
        found, off = negative(A - theta * M.A, error + theta * M.error + 8.0 * UNIT * size)
        need(found <= m, f"spectrum: {found} eigenvalues may lie below, {m} are claimed")
        low = (theta - off / floor) * (1.0 - 1e-12)
        need(low > 0.0, "spectrum: rounding hides the eigenvalue")
        return low / (1.0 + C2 * low) * (1.0 - 1e-12)


class Spectrum(Counts):
    """t₋, t₊ and M of a problem, proved from m and the shifts that are stored."""

    def __init__(self, mesh: Mesh, said: Row) -> None:
        need(said.keys() == {"count", "above", "below", "first", "mesh"}, "spectrum: a key is missing")
        need(type(said["count"]) is int and said["count"] >= 0, "spectrum: not a count")
        self.q, self.m = np.maximum(-mesh.c, 0.0), said["count"]
        self.weight = float(self.q.max())
        held = mesh.kind == DIRICHLET
        need(self.weight > 0.0, "spectrum: of a reaction that is nowhere negative")
        need(bool(np.any(held) or np.any(mesh.alpha > 0.0)), "spectrum: nothing is held")
        self.joined = mesh.exchange is not None or mesh.pairs is not None
        super().__init__(mesh)
        self.low, self.above = 0.0, 0.0
        box = mesh.friedrichs
        self.floor = 0.0 if math.isinf(box) else (1.0 - 1e-12) / box**2
        if said["below"] is None:
            need(said["above"] is None and self.m == 0 and self.floor > 0.0, "spectrum: nothing proves it")
            self.above = self.floor / self.weight * (1.0 - 1e-12)
        else:
            if self.floor == 0.0:
                self.floor = self.from_below(mesh.kappa * 0.0 + 1.0, float(said["first"]), 0, positive=False)
            self.above = self.from_below(np.maximum(self.q, LEAST * self.weight), float(said["below"]), self.m)
            need(self.m == 0 or said["above"] is not None, "spectrum: no count from above")
            if self.m:
                self.low = -self._from_above(float(said["above"]))
        need(self.above > 1.0 + 1e-12, "spectrum: the reaction is not proved to be below the next eigenvalue")
        self.high = float(up(self.above / (self.above - 1.0) * (1.0 + 1e-12)))
        self.gain = larger(-self.low, self.high)
        self.M = self._mesh_constant(said["mesh"], held)

    def _from_above(self, theta: float) -> float:
        """λ̄/(1 − λ̄) for λ_m ≤ λ̄ by quadratics with coefficients b_jk of λ_jλ_k, θ raised."""
        mesh, d = self.mesh, self.mesh.d
        pairs = [(j, k) for j in range(d + 1) for k in range(j, d + 1)]
        T, G = np.zeros((len(pairs), len(pairs), d + 1, d + 1)), np.zeros((len(pairs), len(pairs)))
        two, four = means(d, 2).m, means(d, 4).m
        for p, one in enumerate(pairs):
            for q, other in enumerate(pairs):
                scale = (1.0 + (one[0] != one[1])) * (1.0 + (other[0] != other[1]))
                G[p, q] = scale * four[(*one, *other)]
                for i, b in (one, one[::-1]):
                    for j, f in (other, other[::-1]):
                        T[p, q, i, j] += scale * two[b, f]
        of = np.arange(mesh.n) if mesh.pairs is None else mesh.pairs.same[: mesh.n]
        cells, facets = of[mesh.cells], of[mesh.facets]
        edges = np.unique(np.concatenate([cells[:, list(e)] for e in combinations(range(d + 1), 2)]), axis=0)
        keys = edges[:, 0] * mesh.n + edges[:, 1]

        def place(S: Array, j: int, k: int) -> Array:
            return S[:, j] if j == k else mesh.n + np.searchsorted(keys, S[:, j] * mesh.n + S[:, k])

        whole = np.stack([place(cells, j, k) for j, k in pairs], axis=1)
        free, some = np.zeros(mesh.n + len(edges), dtype=bool), [p for p, (_, k) in enumerate(pairs) if k < d]
        free[whole] = True
        sides = np.stack([place(facets, *pairs[p]) for p in some], axis=1)  # of a facet's d vertices
        free[sides[mesh.kind == DIRICHLET]] = False
        number = np.where(free, np.cumsum(free) - 1, -1)
        at, size = number[whole], int(free.sum())
        vol = Ball(0.5 * (mesh.low + mesh.top), up(0.5 * (mesh.top - mesh.low)))
        gram = Ball(G, 16.0 * UNIT * np.abs(G))
        local = mix("pqij,nij->npq", Ball(T, 16.0 * UNIT * T), self.k)
        A = Sparse(at, local + (vol * np.maximum(mesh.c, 0.0))[:, None, None] * gram, size)
        M = Sparse(at, (vol * self.q)[:, None, None] * gram, size)
        if mesh.exchange is not None:
            on, weights = mesh.exchange.at, [(1.0 + (j != k)) for j, k in (pairs[p] for p in some)]
            flat = means(d - 1, 4).m
            table = np.array([[flat[(*pairs[p], *pairs[q])] for q in some] for p in some]) * np.outer(weights, weights)
            local = (areas(mesh.points[mesh.facets[on]]) * mesh.exchange.most)[:, None, None] * Ball(
                table, 16.0 * UNIT * table
            )
            more = Sparse(number[sides[on]], local, size)  # indefinite.md, step 13e
            A.A, A.E = sp.csr_array(A.A + more.A), sp.csr_array(A.E + more.E + 4.0 * UNIT * (abs(A.A) + abs(more.A)))
        least = float(np.linalg.eigvalsh(G)[0]) * (1.0 - 1e-9)
        sums = np.bincount(at.ravel() + 1, np.repeat(mesh.low, len(pairs)), minlength=size + 1)[1:]
        bulk = most(abs(A.A) + theta * abs(M.A))
        found, off = negative(A.A - theta * M.A, A.error + theta * M.error + 8.0 * UNIT * bulk)
        need(found >= self.m, f"spectrum: {found} eigenvalues are below, {self.m} are claimed")
        share = off / (self.floor * least * float(sums.min())) * (1.0 + 1e-12)
        need(share < 0.5, "spectrum: rounding hides the eigenvalue")
        below = theta / (1.0 - share) * (1.0 + 1e-12)
        need(below < 1.0 - 1e-12, "spectrum: the reaction is not proved to be above an eigenvalue")
        return float(up(below / (1.0 - below) * (1.0 + 1e-12)))

    def _mesh_constant(self, said: Any, held: Array) -> float:
        """M with ‖v‖_q ≤ M‖v‖_a for v orthogonal to linear elements; infinite where nothing is stored.

        M_h² ≤ 1/λ⊥ + C_h², λ⊥ ≥ θ by one factorization, and √(max q) M_h where c ≤ 0 and nothing is joined.
        """
        mesh, d = self.mesh, self.mesh.d
        if said == []:
            return math.inf
        need(bool(np.any(held)), "spectrum: a mesh constant where nothing is held")
        square = float(np.max(self.C2 / mesh.kappa)) * (1.0 + 1e-12)
        if d > 1:
            theta, tau = (float(x) for x in said)
            need(theta > 0.0 and tau > 0.0, "spectrum: θ and τ must be positive")
            low = eigenvalue(mesh, np.nonzero(~held)[0], theta, tau)
            need(low > 0.0, "spectrum: the mesh constant is not proved")
            square = 1.0 / low + square
        gone = float(np.maximum(mesh.c, 0.0).max()) * square + self._through(math.sqrt(square))
        # indefinite.md, step 13g
        return float(up(math.sqrt(self.weight) * (math.sqrt(square) + math.sqrt(gone / self.floor)) * (1.0 + 1e-12)))

    def _through(self, M: float) -> float:
        """Upper bound of ∫αv² over Robin facets where ‖v‖₂ ≤ M‖∇v‖ and that length is 1."""
        mesh, on = self.mesh, self.mesh.exchange
        if on is None:
            return 0.0
        area = areas(mesh.points[mesh.facets[on.at]]).top
        share = up(np.bincount(mesh.owner[on.at], up(area * on.most), minlength=mesh.C) / mesh.low)
        steep = up(share * 2.0 * mesh.h / (mesh.d * np.sqrt(mesh.kappa)))
        return float(up(share.max() * M * M + steep.max() * M))  # indefinite.md, step 13f

    def defect(self, side: Side) -> float:
        """√(max q/ℓ) sup R(v_h)/‖v_h‖_a over linear v_h, from the residuals of hat functions."""
        if math.isinf(self.M):
            return math.inf
        mesh, d = self.mesh, self.mesh.d
        value, off, heavy = np.zeros((3, mesh.n))
        of = np.arange(mesh.n) if mesh.pairs is None else mesh.pairs.same[: mesh.n]
        for g in mesh.parts():
            side.measure(g)
            T = of[mesh.cells[g.part]]
            rest, slope = side.f - g.c[:, None, None] * side.b, mix("njc->nc", side.slopes) / float(d + 1)
            each = mix("njk,ijk->ni", rest, means(d, 3)) - g.kappa[:, None] * mix("nc,nic->ni", slope, g.grad)
            each = each * g.vol[:, None]
            np.add.at(value, T, each.m)
            np.add.at(off, T, each.r + gamma(64) * np.abs(each.m) + (side.e1 * g.vol.top)[:, None])
            np.add.at(heavy, T, np.repeat(g.vol.low[:, None] / (d + 1), d + 1, axis=1))
        if side.load is not None or mesh.exchange is not None:
            from pinnpoint_verify.robin import asked

            at, (g, _, e1, _) = asked(side)  # g − αv_h
            facets, area = of[mesh.facets[at]], areas(mesh.points[mesh.facets[at]])
            each = mix("njk,ijk->ni", g, means(d - 1, 3)) * area[:, None]
            np.add.at(value, facets, each.m)
            np.add.at(off, facets, each.r + gamma(64) * np.abs(each.m) + (e1 * area.top)[:, None])
        free = heavy > 0.0
        free[of[mesh.facets[mesh.kind == DIRICHLET].ravel()]] = False
        r = up((np.abs(value) + off * (1.0 + 1e-12))[free] / np.sqrt(heavy[free] * (1.0 - 1e-12)))
        return float(up(math.sqrt(self.weight * (d + 2)) / self.floor * length(r)))

    def ends(self, less: float, more: float, p: tuple[float, float], z: tuple[float, float]) -> tuple[float, float]:
        """Bounds −less and more of B(e, ε) from E₋, E₊, and η and r of both sides; the narrower ones."""
        found = up(self.high * less - self.low * more), up(self.high * more - self.low * less)
        if math.isfinite(self.M):
            extra = self.gain * (self.M * p[0] + p[1]) * (self.M * z[0] + z[1])
            other = up(less + extra), up(more + extra)
            found = other if sum(other) < sum(found) else found
        return float(found[0]), float(found[1])

    def error(self, eta: float, r: float) -> float:
        """Upper bound of ‖e‖_a from η and r of the state."""
        plain = float(up(self.gain * eta))  # indefinite.md, step 1d
        if math.isinf(self.M):
            return plain
        # indefinite.md, step 3f
        return float(smaller(plain, float(up(0.5 * eta + math.hypot(0.5 * eta, self._length(eta, r))))))

    def _length(self, eta: float, r: float) -> float:
        """Upper bound of ‖e‖_q."""
        return float(up(self.gain * (self.M * eta + r)))  # indefinite.md, step 3c

    def carried(self, eta: float, r: float) -> float:
        """Upper bound of ‖qe‖₂."""
        found = self.weight * self.mean(eta, r)
        if math.isfinite(self.M):
            found = smaller(found, math.sqrt(self.weight) * self._length(eta, r))
        return float(up(found))  # everywhere.md, step 2h

    def mean(self, eta: float, r: float) -> float:
        """Upper bound of ‖e‖₂."""
        found = self.error(eta, r) / math.sqrt(self.floor)
        if math.isfinite(self.M) and float(self.q.min()) == self.weight:
            found = smaller(found, self._length(eta, r) / math.sqrt(self.weight))
        return float(up(found))  # band.md, step 8c

    def spread(self, constant: float) -> float:
        """How many times its size data of the boundary may change the solution; |v| ≤ `constant` ‖f‖₂."""
        root = math.sqrt(total(self.mesh.top))
        one, two = self.weight * root, self.weight**2 * self.gain / self.floor * root  # ‖qw₀‖₂ and ‖qv‖₂
        return float(up(1.0 + constant * (one + two)))  # everywhere.md, step 2h

    def missed(self, query: Query | None, p: Side, goal: Row, mismatch: float, eta: float) -> float:
        """What data that the state does not meet changes."""
        mesh = self.mesh
        if goal["known"] or mismatch == 0.0:
            return 0.0
        whole, share = math.sqrt(self.weight * total(mesh.top)), math.sqrt(self.weight / self.floor)
        if query is None:
            return float(up(mismatch * (1.0 + self.gain * share * whole * math.sqrt(total(mesh.top / mesh.kappa)))))
        if query.sign < 0.0:  # indefinite.md, step 4d
            from pinnpoint_verify.gaps import energies

            own, z = energies(query, mismatch)
            return float(up(own * (z + math.sqrt(1.0 + self.weight / self.floor) * self.gain * eta)))
        own, top = sizes(query)
        heavy = total(up(self.q * top * mesh.top))
        return float(up(mismatch * (own + heavy + whole * self.gain * share * eta)))


def first_eigenvalue(mesh: Mesh, theta: float) -> float:
    """A lower bound of λ_1 of −∇·(κ∇·) by the stored shift, with ∫αv²."""
    need(theta > 0.0, "spectrum: no shift")
    return Counts(mesh).from_below(mesh.kappa * 0.0 + 1.0, theta, 0, positive=False)  # indefinite.md, step 2b


def sizes(query: Query) -> tuple[float, Array]:
    """∫|w| + ∫|g| of a query, and the means of |z_h| on cells, from above."""
    z, mesh, own = query.z, query.z.mesh, 0.0
    b = quadratic(z.nodal[mesh.nodes_of(mesh.cells)], mesh.d, mesh.degree)[0]
    top = np.sqrt(np.maximum(mix("njk,jklm,nlm->n", b, means(mesh.d, 4), b).top, 0.0))
    for density, size, m in ((query.w, mesh.top, mesh.d), (z.load, None, mesh.d - 1)):
        if density is None:
            continue
        count = mesh.C if size is not None else len(mesh.facets)
        f, high, _, e2 = (a[density.at] for a in density.on(0, count))
        area = size[density.at] if size is not None else areas(mesh.points[mesh.facets[density.at]]).top
        rms = np.sqrt(np.maximum(mix("njk,jklm,nlm->n", f, means(m, 4), f).top, 0.0) + high**2) + e2
        own += total(up(rms * area))
    return own, np.asarray(top)
