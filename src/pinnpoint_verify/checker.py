"""Re-check a certificate from the witnesses in its bundle alone. Needs numpy and scipy, and nothing that made them.

Read it from the top: arithmetic that encloses (1); what is proved for the discrete system (2) and for the PDE's own
solution (3). Proofs are in docs/proofs.md and docs/continuous.md. Set by hand, so that a formula is a line.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.sparse.csgraph import dijkstra

from pinnpoint_verify.glued import Pairs, glue, joined, names_of
from pinnpoint_verify.reader import Array, Bundle, need, smaller

# 1. Arithmetic in binary64, round to nearest, u = 2⁻⁵³: balls m ± r, and sums in twice the precision.

UNIT, TINY, PI = 2.0**-53, 1e-305, 3.141592653589793  # the last is below π

def gamma(k: float) -> float:
    """γ_k = k u/(1 − k u), with a little more."""
    return k * UNIT / (1.0 - k * UNIT) * (1.0 + 1e-9)

def up(x: Any) -> Any:
    """A little more than x ≥ 0: pays for a few dozen roundings."""
    return np.asarray(x) * (1.0 + 1e-14) + TINY

def total(x: Array) -> float:
    """Upper bound of the sum of x ≥ 0."""
    return float(up(np.sum(x) * (1.0 + gamma(np.size(x) + 4))))

def length(x: Array) -> float:
    """Upper bound of ‖x‖₂; zero is zero."""
    return float(up(math.sqrt(total(np.square(x))))) if np.any(x) else 0.0

class Ball:
    """Arrays of numbers known to lie in m ± r. Every operation adds what its rounding can do."""
    __array_ufunc__ = None

    def __init__(self, m: Any, r: Any = 0.0) -> None:
        self.m, r = np.asarray(m, dtype=float), np.asarray(r, dtype=float)
        self.r = r if r.shape == self.m.shape else np.broadcast_to(r, self.m.shape)

    def __getitem__(self, at: Any) -> Ball:
        return Ball(self.m[at], self.r[at])

    def __add__(self, b: Any) -> Ball:
        return rounded(self.m + ball(b).m, self.r + ball(b).r)

    def __mul__(self, b: Any) -> Ball:
        b = ball(b)
        return rounded(self.m * b.m, np.abs(self.m) * b.r + self.r * (np.abs(b.m) + b.r))

    def __truediv__(self, b: Any) -> Ball:
        b = ball(b)
        need(np.all(np.abs(b.m) > 2.0 * b.r), "arithmetic: a divisor is not separated from zero")
        return rounded(self.m / b.m, (self.r + np.abs(self.m / b.m) * b.r) / (np.abs(b.m) - b.r))

    def __neg__(self) -> Ball:
        return Ball(-self.m, self.r)

    def __sub__(self, b: Any) -> Ball:
        return self + -ball(b)

    def __rtruediv__(self, b: Any) -> Ball:
        return ball(b) / self

    __radd__, __rmul__, __rsub__ = __add__, __mul__, lambda self, b: ball(b) - self

    def sqrt(self) -> Ball:
        """|√a − √b| ≤ √|a − b|, and ≤ |a − b|/√a."""
        m = np.sqrt(np.maximum(self.m, 0.0))
        return rounded(m, np.minimum(np.sqrt(self.r), self.r / np.maximum(m, 1e-150)) * (1.0 + 1e-9))

    @property
    def top(self) -> Array:
        """Upper bound of the magnitude."""
        return up(np.abs(self.m) + self.r)

    @property
    def low(self) -> Array:
        """Lower bound of a positive number."""
        return (self.m - self.r) * (1.0 - 1e-14) - TINY

    def total(self) -> Ball:
        """The sum of all."""
        return rounded(math.fsum(self.m.ravel().tolist()), total(self.r))

def ball(x: Any) -> Ball:
    """Floats as they are."""
    return x if isinstance(x, Ball) else Ball(x)

def rounded(m: Any, more: Any) -> Ball:
    """The result m of one operation whose operands contribute `more`."""
    return Ball(m, up(more + UNIT * np.abs(m)))

def mix(what: str, *given: Any) -> Ball:
    """A sum of products, by einsum: off by γ times the sum of magnitudes, in whatever order it is taken."""
    parts, (inputs, output) = [ball(g) for g in given], what.split("->")
    words = zip(inputs.split(","), parts, strict=True)
    sizes = {k: n for word, p in words for k, n in zip(word, p.m.shape, strict=True)}
    count = math.prod(n for k, n in sizes.items() if k not in output) + 2 * len(parts)
    m, size, tops = (
        np.einsum(what, *x, optimize=len(x) > 1)
        for x in ([p.m for p in parts], [np.abs(p.m) for p in parts], [np.abs(p.m) + p.r for p in parts])
    )
    return Ball(m, up(np.maximum(tops - size, 0.0) + 3.0 * gamma(count) * tops))

def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """A + b = s + e exactly."""
    s = a + b
    return s, (a - (s - (s - a))) + (b - (s - a))

def two_prod(a: Array, b: Array) -> tuple[Array, Array]:
    """A b = p + e exactly (up to underflow, which TINY pays for)."""
    p, c, d = a * b, 134217729.0 * a, 134217729.0 * b
    ah, bh = c - (c - a), d - (d - b)
    return p, ((ah * bh - p) + ah * (b - bh) + (a - ah) * bh) + (a - ah) * (b - bh)

def product(A: Array, x: Array, b: Array) -> tuple[Array, Array, Array]:
    """A x − b as (hi, low, err): hi + low in twice the precision, |true − hi − low| ≤ err."""
    counts, rows = np.diff(A.indptr), np.argsort(-np.diff(A.indptr), kind="stable")
    hi, low, size = -b, np.zeros(len(b)), np.zeros(len(b))
    for k in range(int(counts.max(initial=0))):
        rows = rows[: np.searchsorted(-counts[rows], -k)]
        at = A.indptr[rows] + k
        p, e = two_prod(A.data[at], x[A.indices[at]])
        hi[rows], f = two_sum(hi[rows], p)
        low[rows] += e + f
        size[rows] += np.abs(e) + np.abs(f)
    return hi, low, up(gamma(3 * counts.max(initial=0) + 6) * size)

# 2. The discrete target. For F(y) = A U − b + N(U) on the free rows, N = 0 or the cubic reaction with weights ≥ 0, any
# state y and any vectors q: with d = y − y*, s = ℓ − F′(y)ᵀq and R(d) = N(y − d) − N(y) + N′(y) d,
#     ℓᵀy* = ℓᵀy − qᵀF(y) − qᵀR(d) − sᵀd .
# From (A + Aᵀ)/2 ⪰ α D⁻² and monotone N: dᵀA d ≤ dᵀF(y), so ‖D⁻¹d‖ ≤ ‖D F‖/α and |d_i| ≤ D_i ‖D F‖/α.

def coercivity(bundle: Bundle, B: Array, said: dict[str, Any]) -> tuple[float, Array]:
    """α and D with (B + Bᵀ)/2 ⪰ α D⁻², proved here from the witness, or declared; then the verdict names it."""
    n, one, alpha = B.shape[0], np.ones(B.shape[0]), float(said["alpha"])
    need(said["how"] in ("m-matrix", "shift", "declared") and alpha > 0.0, "coercivity: an unknown proof")
    if said["how"] == "declared":
        return alpha, one
    D = bundle("witness/scale", n)
    fits = np.all(np.frexp(D)[0] == 0.5) and np.all(np.abs(np.log2(D * D * B.diagonal())) <= 1.01)
    need(fits, "coercivity: the scales are not powers of two that fit the diagonal")
    S = sp.csr_array(sp.diags_array(D) @ sp.csr_array((B + B.T) * 0.5) @ sp.diags_array(D))
    off = 4.0 * UNIT * float((abs(S) @ one).max())  # of forming the symmetric part
    if said["how"] == "m-matrix":
        # a symmetric Z-matrix with w > 0 has λ_min ≥ min (S w)_i/w_i; positive entries off the diagonal are subtracted
        w, C = bundle("witness/w", n), S.tocoo()
        need(w.min() > 1e-200 and w.max() == 1.0, "coercivity: the witness w is not positive with maximum 1")
        plus = (C.row != C.col) & (C.data > 0.0)
        excess = float(np.bincount(C.row[plus], C.data[plus], minlength=n).max())
        Z = sp.csr_array((np.where(plus, 0.0, C.data), (C.row, C.col)), shape=S.shape)
        off += gamma(int(np.diff(Z.indptr).max()) + 4) * float(np.max((abs(Z) @ w) / w)) + 2.0 * excess
        proved = float(np.min((Z @ w) / w)) - float(up(off))
    else:  # S − θ = L V with positive pivots: |S − θ − LV| ≤ γ|L||V|, docs/proofs.md, 3e
        theta, options = float(said["theta"]), {"SymmetricMode": True, "Equil": False, "DiagPivotThresh": 0.0}
        lu = spla.splu(sp.csc_array(S - theta * sp.eye_array(n)), permc_spec="MMD_AT_PLUS_A", options=options)
        L, V = sp.csr_array(lu.L), sp.csr_array(lu.U)
        good = np.array_equal(lu.perm_r, lu.perm_c) and V.diagonal().min() > 0.0 and np.all(np.isfinite(L.data))
        need(good, "coercivity: the shifted matrix has no factorization with positive pivots")
        G, f = sp.csr_array(sp.diags_array(V.diagonal()) @ L.T), (np.diff(L.indptr) + 5.0) * UNIT
        skew = abs(G - V) + 4.0 * UNIT * abs(G)  # of K diag(V) Kᵀ, K half of L and half of what V says
        rows, columns = (f * (abs(L) @ (abs(V) @ one))).max(), (abs(V).T @ (abs(L).T @ f)).max()
        off += 0.25 * (skew.T @ ((skew @ one) / V.diagonal())).max() * (1.0 + 1e-9)
        off += math.sqrt(rows * columns) * (1.0 + 1e-9) + 2.0 * UNIT * float(S.diagonal().max() + theta)
        proved = theta - float(up(off))
    need(alpha <= proved, f"coercivity: {alpha!r} is claimed, {proved!r} is proved")
    return alpha, D

def complete(X: list[Array], degree: int) -> Array:
    """h_degree(X), the complete homogeneous symmetric polynomial."""
    h = [np.ones_like(X[0])] + [np.zeros_like(X[0])] * degree
    for x in X:
        for p in range(1, degree + 1):
            h[p] = h[p] + x * h[p - 1]
    return h[degree]

class Discrete:
    """System, state and queries of a bundle; `bounds` are the intervals that its witnesses prove."""
    def __init__(self, bundle: Bundle, count: int) -> None:
        self.U = bundle("system/u", None)
        self.N = N = len(self.U)
        self.L, self.constants = bundle.sparse("system/l", count, N), bundle("system/constants", count)
        self.free = bundle("system/free", None, whole=N)
        self.rows, self.b = bundle.sparse("system/a", len(self.free), N), bundle("system/b", len(self.free))
        need(len(self.free) and np.all(np.diff(self.free) > 0), "free: not a sorted list of unknowns")
        self.fixed = np.setdiff1d(np.arange(N), self.free)
        self.held = bundle("system/fixed", len(self.fixed))
        need(np.array_equal(self.U[self.fixed], self.held), "u: is not admissible, fixed entries have other values")
        self.w, self.cells = np.zeros(0), np.zeros((0, 0), int)
        if "system/cubic" in bundle:
            self.w = bundle("system/cubic", None)
            self.cells = joined(bundle, bundle("mesh/cells", len(self.w), None, whole=N))
            need(np.all(self.w >= 0.0), "cubic: a negative weight; only monotone reactions are checked")
    def residual(self, U: Array, rest: Array) -> tuple[Array, Array, Array]:
        """F(U + rest) on the free rows: hi, low, err; ∫_K λu³φ_i = w_K h₃(u_0, …, u_m, u_i), and then no rest."""
        hi, lo, err = product(self.rows, U, self.b)
        if not self.w.size:
            more, size = self.rows @ rest, abs(self.rows) @ np.abs(rest) + np.abs(lo)
            return *two_sum(hi, lo + more), up(err + gamma(int(np.diff(self.rows.indptr).max()) + 4) * size)
        X, sums = [np.asarray(U[c], np.longdouble) for c in self.cells.T], np.zeros((2, self.N), np.longdouble)
        for i, x in enumerate(X):
            np.add.at(sums[0], self.cells[:, i], self.w * complete([*X, x], 3))
            np.add.at(sums[1], self.cells[:, i], self.w * complete([np.abs(y) for y in (*X, x)], 3))
        more, size = sums[:, self.free]
        unit = float(np.finfo(np.longdouble).eps) * (40.0 + float(np.bincount(self.cells.ravel()).max()))
        s, e = two_sum(hi, more.astype(float))
        rest = lo + e + (more - more.astype(float)).astype(float)
        return s, rest, up(err + unit * size.astype(float) + 8.0 * UNIT * (np.abs(lo) + np.abs(e) + np.abs(rest)))
    def slope(self, U: Array) -> Array:
        """N′(U), off by γ₈₀ of the same of magnitudes: N′_ij = Σ w (1 + δ_ij) h₂(u, u_i, u_j)."""
        J, X = sp.csr_array((self.N, self.N)), [U[c] for c in self.cells.T]
        for i, j in np.ndindex(len(X), len(X)):
            data = (1.0 + (i == j)) * self.w * complete([*X, X[i], X[j]], 2)
            J = J + sp.csr_array((data, (self.cells[:, i], self.cells[:, j])), shape=J.shape)
        return J[self.free][:, self.free]
    def adjoint(self, G: Array, U: Array, what: str) -> tuple[Array, Array]:
        """s = ℓ − F′(U)ᵀg for every query and a bound of its rounding; s must be small."""
        J, size = (sp.csr_array(f(self.rows[:, self.free]) + self.slope(f(U))) for f in (lambda x: x, abs))
        ell = self.L[:, self.free].toarray()
        s = ell - (J.T @ G.T).T
        off = gamma(int(np.diff(sp.csc_array(J).indptr).max()) + 80) * ((size.T @ np.abs(G.T)).T + np.abs(ell))
        fits = np.linalg.norm(s, axis=1) <= 1e-8 * np.linalg.norm(ell, axis=1) + 10.0 * np.linalg.norm(off, axis=1)
        need(np.all(fits), f"{what}: a Green vector does not solve its equation")
        return s, off
    def bounds(self, bundle: Bundle, proof: dict[str, Any], known: Any = None) -> list[tuple[float, float]]:
        """Centre and radius of every query; coercivity may be known by paths."""
        alpha, D = known or coercivity(bundle, sp.csr_array(self.rows[:, self.free]), proof["coercivity"])
        K, state = self.L.shape[0], bundle("witness/state", self.N)
        rest = bundle("witness/rest", self.N) if "witness/rest" in bundle else np.zeros(self.N)
        good = np.array_equal(state[self.fixed], self.held) and not np.any(rest if self.w.size else rest[self.fixed])
        need(good, "state: is not admissible")
        hi, lo, err = self.residual(state, rest)
        t = float(up(length(D * up(np.abs(hi) + np.abs(lo) + err)) / alpha))
        G, r, found = bundle("witness/green", K, len(self.free)), hi + lo, []
        s, off = self.adjoint(G, state, "green")
        for i in range(K):
            q, row, bent = np.abs(G[i]), self.L[[i]], 0.0
            if self.w.size:  # |R_i| ≤ ∫ λ(3|u| + |e|) e² φ_i, and λ|K| = w (m + 4)!/(6 m!)
                e, g, m = np.zeros(self.N), np.zeros(self.N), self.cells.shape[1] - 1
                e[self.free], g[self.free] = up(t * D), q
                v, e, g = (np.abs(a)[self.cells].max(axis=1) for a in (state, e, g))
                bent = total(self.w * math.factorial(m + 4) / (6 * math.factorial(m)) * (3.0 * v + e) * e * e * g)
            both = (*two_prod(row.data, state[row.indices]), *two_prod(row.data, rest[row.indices]))
            parts = [*(x for two in both for x in two.tolist()), float(self.constants[i]), -float(G[i] @ r)]
            c = math.fsum(parts)
            loss = total(q * err) + gamma(len(r) + 8) * total(q * np.abs(r)) + abs(math.fsum([*parts, -c])) * 1.01
            found.append((c, float(up(t * length(D * (np.abs(s[i]) + off[i])) + bent + loss))))
        return found

# 3. The PDE's own solution: −∇·(κ∇u) + c u + λu³ = f, from any u_h, dual state z_h and fluxes: with S = f − λu_h³,
#     J(u) = J(u_h) + ∫(S − c u_h) z_h − ∫κ∇u_h·∇z_h + ∫g z_h + a(e, ε) − ∫q G ,   −η₋²/4 ≤ a(e, ε) ≤ η₊²/4 .
# Functions are quadratics Σ b_jk λ_j λ_k on cells; data are such plus h ⟂ quadratics, rms ≤ high, and errors e1, e2.

DIRICHLET, NEUMANN, CHUNK, LEAST = 1, 2, 20_000, 1e-90

@cache
def means(d: int, n: int) -> Ball:
    """Means of products of n barycentric coordinates over a d-simplex, (d + 1, …, d + 1)."""
    M = np.empty((d + 1,) * n)
    for at in np.ndindex(*M.shape):
        M[at] = math.prod(math.factorial(at.count(i)) for i in range(d + 1)) / math.prod(range(d + 1, d + n + 1))
    return Ball(M, 4.0 * UNIT * M)

def cross(p: Ball, q: Ball) -> Ball:
    """P × q."""
    return p[..., [1, 2, 0]] * q[..., [2, 0, 1]] - p[..., [2, 0, 1]] * q[..., [1, 2, 0]]

def areas(V: Array) -> Ball:
    """Measures of facets with corners (n, d, d)."""
    if V.shape[1] == 1:
        return Ball(np.ones(len(V)))
    E = Ball(V[:, 1:]) - V[:, :1]
    normal = E[:, 0] if V.shape[1] == 2 else 0.5 * cross(E[:, 0], E[:, 1])
    return mix("nc,nc->n", normal, normal).sqrt()

def even(x: Ball) -> Ball:
    """The symmetric part in j and k: all that a quadratic has of coefficients."""
    return 0.5 * (x + Ball(x.m.swapaxes(1, 2), x.r.swapaxes(1, 2)))

def quadratic(w: Array, d: int, degree: int) -> tuple[Ball, Ball]:
    """Coefficients b_jk, and b_jk − b_jj, from values at the vertices and, for degree 2, at the midpoints of j < k."""
    v = w[:, : d + 1]
    rise = 0.5 * (Ball(v[:, None, :]) - v[:, :, None])
    if degree == 2:
        middle = np.repeat(v[:, :, None], d + 1, axis=2)
        for place, (j, k) in enumerate(combinations(range(d + 1), 2)):
            middle[:, j, k] = middle[:, k, j] = w[:, d + 1 + place]
        rise = 2.0 * (Ball(middle) - v[:, :, None]) - rise
    return rise + v[:, :, None], rise

class Density:
    """Data on cells or facets, or on some of them: coefficients, high, e1, e2."""
    def __init__(self, bundle: Bundle, name: str, m: int, count: int) -> None:
        self.m, pairs = m, (m + 1) * (m + 2) // 2
        self.at = bundle(f"{name}_at", None, whole=count)
        self.beta, self.rest = bundle(f"{name}_beta", len(self.at), pairs), bundle(f"{name}_rest", len(self.at), 3)
        need(np.all(np.diff(self.at) > 0) and np.all(self.rest >= 0.0), f"{name}: out of order, or a bound is negative")
    def on(self, a: int, b: int) -> tuple[Array, Array, Array, Array]:
        """Symmetric coefficients, high, e1 and e2 for a range of places; zero where there is no data."""
        low, high = np.searchsorted(self.at, [a, b])
        found, full = np.zeros((b - a, self.beta.shape[1] + 3)), np.zeros((self.m + 1, self.m + 1), dtype=int)
        found[self.at[low:high] - a] = np.concatenate([self.beta[low:high], self.rest[low:high]], axis=1)
        full[np.triu_indices(self.m + 1)] = full.T[np.triu_indices(self.m + 1)] = np.arange(self.beta.shape[1])
        return found[:, full], found[:, -3], found[:, -2], found[:, -1]

class Grid:
    """Topology, recomputed: sorted cells, facets in lexicographic order."""
    def __init__(self, bundle: Bundle, degree: int) -> None:
        nodes = bundle("mesh/nodes", None, None)
        self.d, self.degree, self.size = d, _, _ = nodes.shape[1], degree, len(nodes)
        need(d in (1, 2, 3) and degree in (1, 2), "mesh: dimension or degree out of range")
        self.cells = T = bundle("mesh/cells", None, d + 1, whole=len(nodes))
        need(np.all(np.diff(T, axis=1) > 0), "mesh: vertices of a cell are not ascending")
        every = np.concatenate([T[:, list(e)] for e in combinations(range(d + 1), 2)])
        edges = np.unique(every, axis=0) if degree == 2 else every[:0]
        self.n, self.C, self.points = len(nodes) - len(edges), len(T), nodes
        apart = np.max(np.abs(nodes[self.n :] - nodes[edges].mean(axis=1)), initial=0.0)
        need(T.max() < self.n and apart <= 1e-13 * np.abs(nodes).max(), "mesh: wrong midpoints")
        self.keys = edges[:, 0] * self.n + edges[:, 1]
        every = np.stack([np.delete(T, i, axis=1) for i in range(d + 1)], axis=1).reshape(-1, d)
        _, first, number, times = np.unique(names_of(every, len(nodes)), True, True, True)
        self.facets = every[first]
        need(times.max() <= 2, "mesh: more than two cells share a facet")
        self.cell_facets, self.owner = number.reshape(-1, d + 1), first // (d + 1)
        self.sign = np.where(np.isin(np.arange(len(every)), first), 1.0, -1.0).reshape(-1, d + 1)
        self.inner = times == 2
        self.neighbour = np.full(len(first), -1)
        self.neighbour[self.cell_facets[self.sign < 0.0]] = np.nonzero(self.sign < 0.0)[0]
        self.pairs: Any = None  # periodic ones
        self.paired, self.seams = np.zeros(len(first), dtype=bool), np.zeros((0, d), dtype=int)
        if "mesh/pair0" in bundle:
            self.pairs = Pairs(bundle, nodes, T, self.keys if degree == 2 else None)
            self.seams = self.pairs.seams
            glue(self, self.pairs)
    def walls(self, some: Array) -> Array:
        """Corners of some facets, and of those of periodic pairs on both sides: no ball crosses them."""
        return self.points[np.concatenate([self.facets[some], self.seams])]
    def nodes_of(self, simplices: Array) -> Array:
        """Vertices, then edges j < k, of sorted simplices; of periodic ones what stands for them."""
        ends = [np.sort(simplices[:, pair], axis=1) for pair in map(list, combinations(range(simplices.shape[1]), 2))]
        two, found = [pair[:, 0] * self.n + pair[:, 1] for pair in ends], simplices
        if self.degree == 2 and two:
            found = np.concatenate([simplices, self.n + np.searchsorted(self.keys, np.stack(two, axis=1))], axis=1)
        return found if self.pairs is None else self.pairs.same[found]

class Mesh(Grid):
    """With coefficients and kinds of facets; constants of the means."""
    floating = False  # whether parts that nothing holds are allowed: their means then have no bound in the energy
    def __init__(self, bundle: Bundle, degree: int, own: Any = None) -> None:
        super().__init__(bundle, degree)
        d, nodes, inner = self.d, self.points, self.inner
        self.kappa, self.c, self.cubic = (bundle(f"continuous/{k}", self.C) for k in ("kappa", "reaction", "cubic"))
        need(np.all(self.kappa > LEAST) and np.all(self.cubic >= 0.0), "coefficients: of a wrong sign")
        need(np.all((self.c == 0.0) | (np.abs(self.c) > LEAST)), "reaction: too small to be told from none")
        self.kind = bundle("continuous/kind", len(self.facets), whole=3)
        need(np.array_equal(self.kind == 0, inner), "kind: not just the facets of the boundary have one")
        self.alpha = np.zeros(len(self.facets))  # lower bounds of α where κ∂_n u + αu = g
        self.exchange: Any = None
        if "robin/low" in bundle:
            from pinnpoint_verify.robin import Exchange
            self.exchange = Exchange(bundle, self)
            self.alpha[self.exchange.at] = self.exchange.low
        held_by = areas(self.points[self.facets]).low * self.alpha * (1.0 - 1e-14)
        self.grip = np.zeros(self.C)
        np.maximum.at(self.grip, self.owner, held_by)
        self.medium = self.reaction = cast(Any, None)  # of coefficients that vary inside cells; of g(u) but λu³
        if "medium/floor" in bundle:
            from pinnpoint_verify.varying import Medium
            self.medium = Medium(bundle, self, own)
        sizes = [(g.vol.low, g.vol.top, g.h) for g in self.parts()]
        self.low, self.top, self.h = (np.concatenate(x) for x in zip(*sizes, strict=True))
        # Payne–Weinberger; paths of cells to what is fixed; Friedrichs in the bounding box
        root = np.sqrt(self.kappa)
        self.convex, self.step = up(self.h / (PI * root)), up(self.h / (d * np.sqrt(self.low) * root))
        held = np.isin(np.arange(self.C), self.owner[self.kind == DIRICHLET])
        hop = up(4.0 * self.step**2)
        weight = np.maximum(np.where(self.c > 0.0, self.c * self.low, 0.0), self.grip)
        ends = np.nonzero(held | (weight > 1e-300))[0]
        start = up(hop + np.where(held, 0.0, 1.0 / np.maximum(weight, 1e-300)))[ends]
        a, b = self.owner[inner], self.neighbour[inner]
        rows, columns = (np.concatenate(x).astype(np.int32) for x in ((np.full(len(ends), self.C), a, b), (ends, b, a)))
        graph = sp.csr_array((np.concatenate([start, hop[b], hop[a]]), (rows, columns)), shape=(self.C + 1,) * 2)
        self.reach = up(np.sqrt(dijkstra(graph, indices=self.C)[: self.C]) * (1.0 + 1e-9))
        fits = self.floating or np.all(np.isfinite(self.reach))
        need(fits, "mesh: a part is joined to no Dirichlet facet and to no reaction")
        box = math.sqrt(float(np.sum((np.ptp(nodes, axis=0) * (1.0 + 1e-14)) ** -2.0)) * (1.0 - 1e-14))
        box_holds = not np.any(self.kind == NEUMANN) and self.pairs is None
        self.friedrichs = math.inf if not box_holds else float(up(1.0 / (PI * box * root.min())))
        self.growth = 1.0 if self.medium is None else self.medium.growth(self)
    def open(self, transposed: bool) -> Array:
        """Free facets with fluxes that depend on the state: αv_h, and of dual states b·n v_h."""
        found = [] if self.exchange is None else self.exchange.at
        leaving = self.medium.exit if transposed else None
        return np.isin(np.arange(len(self.facets)), found if leaving is None else leaving.at)
    def parts(self) -> Any:
        """Ranges of cells."""
        return (Cells(self, slice(a, smaller(a + CHUNK, self.C))) for a in range(0, self.C, CHUNK))
    def cost(self, defect: Array) -> float:
        """Upper bound of Σ m_K |mean_K w| / ‖w‖_a."""
        found = [total(defect * self.reach), self.friedrichs * length(up(defect / np.sqrt(self.low)))]
        if self.c.min() > 0.0:
            found.append(length(up(defect / np.sqrt(self.low * self.c))))
        return float(up(smaller(*found)))

class Shape:
    """Geometry of cells with vertices V: edges from the first, volumes, gradients of barycentric coordinates."""
    def __init__(self, V: Array) -> None:
        d = V.shape[2]
        self.E = Ball(V) - V[:, :1]
        E = self.E[:, 1:]
        co = (
            Ball(np.ones_like(E.m))
            if d == 1
            else E[:, ::-1][..., ::-1] * np.array([[1.0, -1.0], [-1.0, 1.0]])
            if d == 2
            else cross(E[:, [1, 2, 0]], E[:, [2, 0, 1]])
        )
        det = mix("nc,nc->n", E[:, 0], co[:, 0])
        need(np.all(det.r < 0.01 * np.abs(det.m)), "mesh: a cell is too flat")
        self.vol, G = det * (np.sign(det.m) / math.factorial(d)), co / det[:, None, None]
        first = -mix("nic->nc", G)
        self.grad = Ball(*(np.concatenate([a[:, None], b], axis=1) for a, b in ((first.m, G.m), (first.r, G.r))))
        sides = [((V[:, i] - V[:, j]) ** 2).sum(axis=1) for i, j in combinations(range(d + 1), 2)]
        self.h = up(np.sqrt(np.max(sides, axis=0)))

class Cells(Shape):
    """A range of cells with their coefficients."""
    def __init__(self, mesh: Mesh, part: slice) -> None:
        super().__init__(mesh.points[mesh.cells[part]])
        self.part, self.kappa, self.c, self.cubic = part, mesh.kappa[part], mesh.c[part], mesh.cubic[part]

class Side:
    """A state with its source, load and flux; on a range of cells δ = σ − κ∇u_h and ϱ = S − c u_h + ∇·σ."""
    transposed = False
    def __init__(self, bundle: Bundle, mesh: Mesh, state: str, source: str, load: str, flux: str) -> None:
        self.mesh, self.nodal, F = mesh, bundle(state, mesh.size), len(mesh.facets)
        self.source = Density(bundle, source, mesh.d, mesh.C)
        self.t = bundle(flux, F, 1 if mesh.degree == 1 else mesh.d)
        self.load = Density(bundle, load, mesh.d - 1, F) if f"{load}_at" in bundle else None
        loaded = np.isin(np.arange(F), [] if self.load is None else self.load.at)
        wanted = loaded | mesh.open(self.transposed)
        need(not np.any(self.t[(mesh.kind == NEUMANN) & ~wanted]), f"{flux}: not zero on Neumann facets without data")
        need(np.all(mesh.kind[loaded] == NEUMANN), f"{load}: not on Neumann facets")
        self.square, self.osc, self.defect, self.facet = np.zeros((4, mesh.C))
        self.edges: Any = None  # what is left on Robin facets
        self.raised: Any = None  # energy norms of a lift of Dirichlet data, by cell
    def measure(self, g: Cells) -> None:
        """Measure a range of cells."""
        mesh, d, part = self.mesh, self.mesh.d, g.part
        self.b, rise = quadratic(self.nodal[mesh.nodes_of(mesh.cells[part])], d, mesh.degree)
        self.slopes = mix("njk,nkc->njc", 2.0 * rise, g.grad)  # ∇u_h at the vertices
        self.read(g)
        # σ = 1/(d|K|) Σ s_ij λ_j (x − v_i) has normal components Σ_j s_ij λ_j/|F_i|: continuous, as t is stored once
        s, at = np.empty((len(g.c), d + 1, d + 1)), np.arange(d + 1)
        for i, j in np.ndindex(d + 1, d + 1):
            place = 0 if mesh.degree == 1 else smaller(j - (j > i), d - 1)
            s[:, i, j] = self.t[mesh.cell_facets[part, i], place] * mesh.sign[part, i]
        rest = self.f - self.lower
        if mesh.degree == 2:  # s_ii are free: they are chosen to leave little of degree 1
            r = np.einsum("njk,ijk->ni", rest.m, means(d, 3).m) * (d + 1.0)
            s[:, at, at] = 0.0
            D = -s.sum(axis=1) - d / (d + 1.0) * g.vol.m[:, None] * ((d + 2.0) * r - r.sum(axis=1, keepdims=True))
            s[:, at, at] = D - D.mean(axis=1, keepdims=True)
        columns, scale = mix("nij->nj", s), 1.0 / (g.vol * float(d))
        sigma = columns[:, :, None, None] * g.E[:, None] - mix("nij,nic->njc", s, g.E)[:, :, None]
        self.delta = even(scale[:, None, None, None] * sigma - self.own)
        div = scale[:, None] * ((d + 1.0) * columns - mix("ni->n", s[:, at, at])[:, None])
        rms, mean = spread(rest + even(div[:, :, None] + Ball(np.zeros(d + 1))), d, self.high)
        self.square[part] = self.against(self, g).top
        self.osc[part] = up(np.sqrt(g.vol.top) * (rms + self.e2))
        self.defect[part] = up(g.vol.top * (mean.top + self.e1))
    def read(self, g: Cells) -> None:
        """The source on a range of cells, and there κ∇u_h and c u_h."""
        self.given = self.f, self.high, self.e1, self.e2 = self.source.on(g.part.start, g.part.stop)
        self.own, self.lower = (g.kappa[:, None, None] * self.slopes)[:, :, None], g.c[:, None, None] * self.b
    def work(self, z: Side, g: Cells) -> tuple[Ball, Any]:
        """Means of κ∇u_h·∇z_h, and what errors of κ∇u_h add."""
        return g.kappa * mix("njc,jk,nkc->n", self.slopes, means(self.mesh.d, 2), z.slopes), 0.0
    def pull(self, p: Side, g: Cells) -> tuple[Any, Any]:
        """Means of q·∇u_h for a load q on gradients, and what its error adds."""
        return 0.0, 0.0
    def against(self, other: Side, g: Cells) -> Ball:
        """∫ κ⁻¹ δ₁·δ₂ on every cell."""
        return mix("njkc,jklm,nlmc->n", self.delta, means(self.mesh.d, 4), other.delta) * ball(g.vol / g.kappa)

    def finish(self) -> None:
        """The means by paths; what the flux leaves of g: oscillation by the trace inequality, means by paths."""
        mesh = self.mesh
        self.mean = mesh.cost(self.defect)
        if self.load is not None or np.any(mesh.open(self.transposed)):
            from pinnpoint_verify.robin import FreeSide

            left = FreeSide(self)
            self.facet, self.mean = left.facet, self.mean + left.means
            self.edges = left if np.any(mesh.alpha) else None

    def load_on(self, nodal: Array) -> tuple[Ball, float]:
        """∫ g v_h, and what g's own error adds."""
        mesh, m = self.mesh, self.mesh.d - 1
        if self.load is None:
            return Ball(0.0), 0.0
        T, (g, _, e1, _) = mesh.facets[self.load.at], (a[self.load.at] for a in self.load.on(0, len(mesh.facets)))
        v, area = quadratic(nodal[mesh.nodes_of(T)], m, mesh.degree if m else 1)[0], areas(mesh.points[T])
        return (mix("njk,jklm,nlm->n", g, means(m, 4), v) * area).total(), total(area.top * e1 * v.top.max(axis=(1, 2)))

def spread(f: Ball, d: int, high: Array) -> tuple[Array, Ball]:
    """Upper bound of the rms of f + h about its mean, and the mean."""
    mean = mix("njk,jk->n", f, means(d, 2))
    away = f - mean[:, None, None]
    return up(np.sqrt(np.maximum(mix("njk,jklm,nlm->n", away, means(d, 4), away).top, 0.0) + high**2)), mean

def energy(p: Side, z: Side | None = None, both: Any = 0.0, s: float = 1.0, sign: float = 1.0) -> float:
    """Upper bound of ‖e‖_a, or of ‖s e ± ε/s‖_a where `both` bounds ±2∫κ⁻¹δ₁·δ₂: δ, ϱ and means are combined first."""
    c = np.where(p.mesh.c > 0.0, p.mesh.c, 1e-300)
    square = p.square * s * s + (0.0 if z is None else z.square / (s * s))
    add: Any = lambda a: s * getattr(p, a) + (0.0 if z is None else getattr(z, a) / s)  # noqa: E731
    flat = np.sqrt(np.maximum(square + both, 0.0) + 8.0 * UNIT * (square + np.abs(both))) + add("facet")
    squares: Any = lambda q: np.minimum((q + p.mesh.convex * add("osc")) ** 2, q**2 + add("osc") ** 2 / c)  # noqa: E731
    cells = squares(flat)
    if p.edges is not None:
        from pinnpoint_verify.robin import edges

        cost, more = edges(p.edges, None if z is None else z.edges, sign, s, p.mesh.C)
        cells = np.minimum(up(cells + more), squares(flat + cost))
    if p.raised is not None:
        cells = (np.sqrt(cells) + s * p.raised) ** 2
    return float(up((math.sqrt(total(up(cells))) + add("mean")) * p.mesh.growth))

class Query:
    """J(u) by a dual state: terms are gathered from ranges of cells, then bounded."""
    def __init__(self, bundle: Bundle, p: Side, i: int, flux: bool) -> None:
        self.p, self.z = p, type(p)(bundle, p.mesh, f"dual/z{i}", f"dual/w{i}", f"dual/g{i}", f"dual/t{i}")
        self.sign, self.both, self.value, self.off = -1.0 if flux else 1.0, Ball(np.zeros(p.mesh.C)), Ball(0.0), 0.0
        self.w, self.phi = self.z.source, None
        # a cubic has z.source = w − (c + 3λu_h²)Φ − 3λu_h² z_h, and J(u_h) = ∫w u_h − ∫(c u_h + λu_h³)Φ
        if np.any(p.mesh.cubic) or f"dual/phi{i}_at" in bundle:
            self.w, self.phi = (Density(bundle, f"dual/{k}{i}", p.mesh.d, p.mesh.C) for k in ("m", "phi"))

    def measure(self, g: Cells) -> None:
        """∫ w u_h + (S − c u_h, z_h) − (κ∇u_h, ∇z_h) on a range of cells."""
        p, z, d = self.p, self.z, self.p.mesh.d
        z.measure(g)
        M, top_p, top_z = means(d, 4), p.b.top.max(axis=(1, 2)), z.b.top.max(axis=(1, 2))
        (done, wrong), (pulled, slip) = p.work(z, g), z.pull(p, g)
        terms = self.sign * (mix("njk,jklm,nlm->n", p.f - p.lower, M, z.b) - done)
        w, _, e1, _ = self.w.on(g.part.start, g.part.stop)
        terms = terms + (self.sign > 0.0) * mix("njk,jklm,nlm->n", w, M, p.b) + pulled
        off = p.e1 * top_z + e1 * top_p * (self.sign > 0.0) + wrong + slip
        if p.mesh.reaction is not None:
            terms, off = p.mesh.reaction.against(self.phi, p, g, terms, off)
        elif self.phi is not None:  # Φ = quadratic + h + ε, and u_h³ is quadratic up to (u_h − mean)³
            u, (f, high, e1, _) = p.nodal[p.mesh.nodes_of(p.mesh.cells[g.part])], self.phi.on(g.part.start, g.part.stop)
            cube = g.cubic * mix("na,nb,nc,njk,abcjk->n", u, u, u, f, means(d, 5))
            c = g.c if p.mesh.medium is None else 0.0 * g.c  # else part of w
            terms = terms - cube - c * mix("njk,jklm,nlm->n", f, M, p.b)
            off = off + g.cubic * (up(np.ptp(u, axis=1) ** 3) * high + top_p**3 * e1) + c * top_p * e1
        both = p.against(z, g)
        self.both.m[g.part], self.value = both.m, self.value + (terms * g.vol).total()
        self.both.r = np.array(self.both.r)
        self.both.r[g.part], self.off = both.r, self.off + total(up(off) * g.vol.top)

    def bound(self, norms: Any, goal: dict[str, Any], turned: Any = None) -> tuple[float, float]:
        """Centre and radius; `turned` gives bounds of B(e, ε) from those of a(e, ε) where the reaction is negative."""
        p, z = self.p, self.z
        z.finish()
        eta_p, eta_d, low, high, value, off = energy(p), energy(z), 0.0, 0.0, self.value, self.off
        if not (eta_p == 0.0 or eta_d == 0.0):  # what is no number stays
            s = math.sqrt(eta_d / eta_p)
            low, high = (0.25 * energy(p, z, 2.0 * (e * self.both.m + self.both.r), s, e) ** 2 for e in (-1.0, 1.0))
        if turned is not None:
            low, high = turned(low, high, eta_p, eta_d, z)
        for side, nodal, factor in ((p, z.nodal, self.sign), (z, p.nodal, 1.0)):
            integral, error = side.load_on(nodal)
            value, off = value + factor * integral, off + error
        if p.mesh.exchange is not None:
            from pinnpoint_verify.robin import taken

            integral, error = taken(p, z.nodal)
            value, off = value - self.sign * integral, off + error
        less, more = (low, high) if self.sign > 0.0 else (high, low)
        if norms is not None:
            a, b = norms.remainder(eta_p, eta_d, z.nodal, goal)
            less, more = less + a, more + b
        off = off + 0.5 * (less + more) + 2.0 * goal["scale"] * float(value.top + less + more + abs(goal["constant"]))
        return tuple_of(value + float(goal["constant"]) + 0.5 * (more - less), off + float(goal["error"]))

def tuple_of(x: Ball, more: float) -> tuple[float, float]:
    """Centre and radius of a number."""
    return float(x.m), float(up(x.r + more + 8.0 * UNIT * abs(float(x.m))))
