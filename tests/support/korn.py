"""Korn's constants of the reference simplices by verified eigenvalue bounds (docs/elasticity.md, steps 5c to 5f).

Kuhn's simplex {n ≥ x_1 ≥ … ≥ x_d ≥ 0} is cut into n^d copies of the unit one. A Johnson–Mercier stress on each copy,
tied to its neighbours by multipliers y (one vector for each facet and vertex of it) and to the P1 moments of its
divergence by multipliers x (one for each cell and vertex), gives a matrix of exact rationals; that it bounds a mass
matrix from below is proved by a Cholesky factorization in floating point, all rounding counted.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from math import factorial

import numpy as np
import scipy.sparse as sp
from flint import fmpq, fmpq_mat
from scipy.sparse.linalg import splu

from pinnpoint.rounding.arithmetic import UNIT, gamma
from pinnpoint.rounding.coercivity import lu_defect
from pinnpoint.taylor.bernstein import exact_gram, pairs
from pinnpoint.transfer.elastic.lift import mass, table


def voigt(d):
    return [(a, b) for a in range(d) for b in range(a, d)]


def path(d):
    """Vertices of the unit Kuhn simplex: 0, e_1, e_1 + e_2, …"""
    return np.tril(np.ones((d + 1, d), dtype=int), -1)


def gradients(d):
    """∇λ_i of the unit Kuhn simplex: λ_0 = 1 − x_1, λ_i = x_i − x_{i+1}, λ_d = x_d."""
    G = np.zeros((d + 1, d), dtype=int)
    for i in range(d):
        G[i + 1, i] += 1
        G[i, i] -= 1
    return G


@cache
def stress_mass(d):
    """A: ‖σ‖² on the unit Kuhn simplex in the moments (slot, component) and |K| times the mean stress, exact."""
    G, si, n1 = gradients(d), voigt(d), d + 1
    ns, volume = len(si), fmpq(1, factorial(d))
    size = n1 * n1 * ns
    rows = []

    def traction(parts):
        new = [[fmpq(0)] * size for _ in range(d)]
        for s, a, normal, factor in parts:
            for k, (p, q) in enumerate(si):
                at = (s * n1 + a) * ns + k
                new[p][at] += factor * normal[q]
                if p != q:
                    new[q][at] += factor * normal[p]
        rows.extend(new)

    for s, t in combinations(range(n1), 2):  # λ_s = λ_t on the facet between the sub-simplices s and t
        normal = [int(g) for g in G[s] - G[t]]
        for a, b in [(v, v) for v in range(n1) if v not in (s, t)] + [(s, t)]:
            traction([(s, a, normal, fmpq(1)), (t, b, normal, fmpq(-1))])
    inner = len(rows)
    slots = [(j, i) for j in range(n1) for i in range(n1) if i != j]
    for j, i in slots:
        normal = [fmpq(-d) * volume * int(g) for g in G[j]]
        traction([(j, a, normal, fmpq(2 if a == i else 1, d * n1)) for a in range(n1) if a != j])
    for k in range(ns):
        rows.append([volume / (n1 * n1) if at % ns == k else fmpq(0) for at in range(size)])
    full = fmpq_mat(rows).inv()
    N = fmpq_mat([[full[r, c] for c in range(inner, size)] for r in range(size)])  # nodal values from moments and mean
    unit = volume / (n1 * n1 * (d + 2))
    mass = fmpq_mat(size, size)
    for s in range(n1):
        for a in range(n1):
            for b in range(n1):
                for k, (p, q) in enumerate(si):
                    mass[(s * n1 + a) * ns + k, (s * n1 + b) * ns + k] = unit * (1 + (a == b)) * (1 + (p != q))
    return N.transpose() * mass * N


@cache
def element(d):
    """E: |σ|² dual to (x, y): max over stresses σ of 2 x·(P1 moments of −div σ) + 2 y·(moments of σn) − ‖σ‖²."""
    G, si, n1 = gradients(d), voigt(d), d + 1
    ns, nm, A = len(si), n1 * d * d, stress_mass(d)
    slots = [(j, i) for j in range(n1) for i in range(n1) if i != j]
    C = fmpq_mat(n1 * d + nm, nm + ns)
    for i in range(n1):
        for c in range(d):
            for k, (p, q) in enumerate(si):
                C[i * d + c, nm + k] = fmpq(int(G[i, q]) * (c == p) + int(G[i, p]) * (c == q and p != q))
    for k, (_, i) in enumerate(slots):
        for c in range(d):
            C[i * d + c, k * d + c] = fmpq(-1)
            C[n1 * d + k * d + c, k * d + c] = fmpq(1)
    E = C * A.inv() * C.transpose()
    return np.array([[int(e.p) / int(e.q) for e in row] for row in E.tolist()])


class Cut:
    """Kuhn's simplex of side n in n^d unit copies, and the matrix of all multipliers."""

    def __init__(self, d, n):
        grid = np.stack(np.meshgrid(*[np.arange(n)] * d, indexing="ij"), -1).reshape(-1, d)
        cells, orders = [], []
        for order in permutations(range(d)):
            steps = np.zeros((d + 1, d), dtype=int)
            for k, axis in enumerate(order):
                steps[k + 1 :, axis] += 1
            P = grid[:, None] + steps
            centre = P.sum(axis=1)
            inside = np.all(centre[:, :-1] > centre[:, 1:], axis=1)
            cells.append(P[inside])
            orders += [order] * int(inside.sum())
        self.d, self.n, self.X, self.orders = d, n, np.concatenate(cells), np.array(orders)
        assert len(self.X) == n**d
        others = [[i for i in range(d + 1) if i != j] for j in range(d + 1)]
        every = self.X[:, others].reshape(-1, d * d)  # facet j without vertex j; paths keep one order in all cells
        self.facets, self.number, count = np.unique(every, axis=0, return_inverse=True, return_counts=True)
        self.facets, self.number = self.facets.reshape(-1, d, d), self.number.reshape(-1, d + 1)
        self.boundary = count == 1
        self.nx = len(self.X) * (d + 1) * d
        self.size = self.nx + len(self.facets) * d * d

    def stiffness(self):
        """The sum of the elements' matrices: at most two of them meet in an entry."""
        d, E = self.d, element(self.d)
        K = np.arange(len(self.X))
        x = ((K[:, None] * (d + 1) + np.arange(d + 1)) * d)[:, :, None] + self.orders[:, None, :]
        y = (self.nx + (self.number[:, :, None] * d + np.arange(d)) * d)[..., None] + self.orders[:, None, None, :]
        dof = np.concatenate([x.reshape(len(K), -1), y.reshape(len(K), -1)], axis=1)
        k = dof.shape[1]
        row, column = np.repeat(dof, k, axis=1).ravel(), np.tile(dof, (1, k)).ravel()
        data = np.tile(E.ravel(), len(K))
        return sp.csr_array(sp.coo_array((data, (row, column)), shape=(self.size, self.size)))

    def on_facet(self, j):
        """Unknowns y of the small facets on the facet λ_j = 0 of the whole, their points, and |F|² of a small one."""
        d, G = self.d, gradients(self.d)
        here = np.all(self.facets @ G[j] + (self.n if j == 0 else 0) == 0, axis=1)
        on = np.flatnonzero(self.boundary & here)
        assert len(on) == self.n ** (d - 1)
        at = self.nx + (on[:, None] * d + np.arange(d))[:, :, None] * d + np.arange(d)
        e = np.diff(np.delete(path(d), j, axis=0), axis=0)
        square = round(np.linalg.det(e @ e.T)), factorial(d - 1) ** 2
        return at.ravel(), self.facets[on].reshape(-1, d), square


def rigid_motions(X):
    """Rigid motions at integer points, (points · d, d(d + 1)/2)."""
    d, columns = X.shape[1], []
    for a in range(d):
        columns.append(np.eye(d, dtype=int)[a] + 0 * X)
    for a, b in combinations(range(d), 2):
        turn = np.zeros_like(X)
        turn[:, a], turn[:, b] = -X[:, b], X[:, a]
        columns.append(turn)
    return np.stack(columns, axis=-1).reshape(len(X) * d, -1)


def linear_fields(X, corners):
    """Linear fields on a simplex with these integer corners, at integer points of it: (points · d, corners · d)."""
    d = X.shape[1]
    bary = np.linalg.lstsq(
        np.vstack([corners.T, np.ones(len(corners))]), np.vstack([X.T, np.ones(len(X))]), rcond=None
    )[0]
    side = int(np.abs(corners).max())
    whole = np.rint(side * bary).astype(int)  # λ_i times the side is an integer on the lattice
    assert np.array_equal(whole.T @ corners, side * X)
    assert np.all(whole.sum(axis=0) == side)
    return np.einsum("kp,ab->pakb", whole, np.eye(d, dtype=int)).reshape(len(X) * d, -1)


def without(Z, blocks, k, d):
    """Mass · (I − projection onto Z): (1 + δ_ij) on blocks of k vertices, d components; and the sizes behind it."""
    local = np.kron(np.ones((k, k), dtype=int) + np.eye(k, dtype=int), np.eye(d, dtype=int))
    W = np.einsum("ij,bjz->biz", local, Z.reshape(blocks, k * d, -1)).reshape(blocks * k * d, -1)  # exact integers
    inverse = fmpq_mat([[fmpq(int(v)) for v in row] for row in W.T @ Z]).inv()
    inverse = np.array([[int(e.p) / int(e.q) for e in row] for row in inverse.tolist()])
    mass = np.kron(np.eye(blocks), local)
    return mass - W @ inverse @ W.T, mass + np.abs(W) @ np.abs(inverse) @ np.abs(W).T


def cells_proved(cut, mu):
    """Whether ‖σ‖² ≥ μ‖v‖² in the dual form for all P1 fields v ⟂ rigid motions: at most d(d + 1)/2 negative pivots."""
    d = cut.d
    S, unit = cut.stiffness(), 1.0 / (factorial(d) * (d + 1) * (d + 2))
    local = np.kron(np.ones((d + 1, d + 1)) + np.eye(d + 1), np.eye(d))
    mass = sp.block_diag([sp.kron(sp.eye_array(len(cut.X)), local), sp.csr_array((cut.size - cut.nx,) * 2)]) * unit
    theta = 1e-9 * float(S.diagonal().max())
    C = sp.csr_array(S - mu * mass - theta * sp.eye_array(cut.size))
    entries = gamma(16) * float((2.0 * abs(S) + mu * mass).sum(axis=1).max() + theta)
    defect, negative = inertia(C)
    return negative <= d * (d + 1) // 2 and defect + entries < theta


def facet_proved(cut, j, mu):
    """Whether ‖σ‖² ≥ μ‖y − its part that is linear on the facet λ_j = 0‖² in the dual form, on that facet."""
    d = cut.d
    at, X, square = cut.on_facet(j)
    corners = np.delete(cut.n * path(d), j, axis=0)
    mass, size = without(linear_fields(X, corners), len(X) // d, d, d)
    unit = np.sqrt(square[0] / square[1]) / (d * (d + 1))
    S = cut.stiffness()
    R = rigid_motions(X) / (cut.n * np.sqrt(len(X)))  # the common kernel, lifted out of the way
    lifted = float(S.diagonal().max()) * (R @ R.T) - mu * unit * mass
    lifted = 0.5 * (lifted + lifted.T)
    sizes = float(S.diagonal().max()) * (np.abs(R) @ np.abs(R).T) + mu * unit * size
    place = sp.csr_array((np.ones(len(at)), (at, np.arange(len(at)))), shape=(cut.size, len(at)))
    C = sp.csr_array(S + place @ sp.csr_array(lifted) @ place.T)
    theta = 1e-9 * float(S.diagonal().max())
    wrong = gamma(4 * d * (d + 1) + 40) * (float(abs(S).sum(axis=1).max()) * 2.0 + float(sizes.sum(axis=1).max()))
    return lu_defect(C, theta) + wrong < theta


def inertia(C):
    """‖C − L D Lᵀ‖ at most, and the number of negative pivots in D; as `lu_defect` of the library, with signs."""
    lu = splu(
        sp.csc_array(C),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True, "Equil": False},
    )
    if not np.array_equal(lu.perm_r, lu.perm_c):
        return np.inf, C.shape[0]
    L, U = lu.L.tocsr(), lu.U.tocsr()
    pivots = U.diagonal()
    DLt = (sp.diags_array(pivots) @ L.T).tocsr()
    skew = abs(DLt - U) + 4.0 * UNIT * abs(DLt)
    count = max(int(np.diff(M.indptr).max()) for M in (L, U, L.tocsc(), U.tocsc()))
    aL, aU, f, one = abs(L), abs(U), gamma(count + 4), np.ones(C.shape[0])
    rows = float((f * (aL @ (aU @ one)) + aL @ (skew @ one)).max())
    columns = float((f * (aU.T @ (aL.T @ one)) + skew.T @ (aL.T @ one)).max())
    return np.sqrt(rows * columns) * (1.0 + 4.0 * gamma(4 * count + 10)), int((pivots < 0.0).sum())


def mean_stress_form(d):
    """‖σ‖² on the unit Kuhn simplex of the stress without facet moments that belongs to body moments e, exact."""
    si, n1, A = voigt(d), d + 1, stress_mass(d)
    nm, X = n1 * d * d, path(d)
    S = fmpq_mat(len(si), n1 * d)
    for i in range(n1):
        arm = [fmpq(int(n1 * X[i, c] - X[:, c].sum()), n1) for c in range(d)]
        for k, (p, q) in enumerate(si):
            S[k, i * d + p] += arm[q] / 2
            S[k, i * d + q] += arm[p] / 2
    block = fmpq_mat([[A[nm + a, nm + b] for b in range(len(si))] for a in range(len(si))])
    return S.transpose() * block * S


def coarse_quadratics(cut):
    """n² times the quadratics B_jl of the whole simplex on the cells, in Bernstein form, (cells, pairs, functions)."""
    d, n = cut.d, cut.n
    G = gradients(d)
    bary = cut.X @ G.T + np.eye(d + 1, dtype=int)[0] * n  # n λ_i of the whole at the cells' vertices
    columns = []
    for j, k in pairs(d):
        u, v = bary[:, :, j], bary[:, :, k]
        polar = [u[:, a] * v[:, b] + (u[:, b] * v[:, a] if j != k else 0) for a, b in pairs(d)]
        columns.append(np.stack(polar, axis=1))
    return np.stack(columns, axis=2)


def projected(beta, d):
    """(d + 2)(d + 3) times the vertex values of the linear projection, integers."""
    k = np.full((d + 1, len(pairs(d))), 2)
    for p, (i, j) in enumerate(pairs(d)):
        k[i, p] += 2
        k[j, p] += 2
    return np.einsum("ip,npf->nif", (d + 2) * k - k.sum(axis=0), beta)


def exact(A):
    return fmpq_mat([[fmpq(int(v)) for v in row] for row in A])


def definite(A):
    """Whether an exact symmetric matrix is positive definite: elimination with positive pivots."""
    A = [[A[i, j] for j in range(A.ncols())] for i in range(A.nrows())]
    for k in range(len(A)):
        if not A[k][k] > 0:
            return False
        for i in range(k + 1, len(A)):
            f = A[i][k] / A[k][k]
            A[i] = [x - f * y for x, y in zip(A[i], A[k], strict=True)]
    return True


def quadratics_near(cut, kappa):
    """Whether ‖v − Π₁v‖ ≤ κ‖Π₁v‖ for all quadratics v on the whole, Π₁ the projection onto linears on the cells."""
    d = cut.d
    beta = coarse_quadratics(cut)
    own, scale = projected(beta, d), (d + 2) * (d + 3)
    powers = factorial(d + 4) // factorial(d)
    gram = np.array([[int(v * powers) for v in row] for row in exact_gram(d)])  # exact: powers clears the denominators
    full = np.einsum("npf,pq,nqg->fg", beta, gram, beta)
    local = np.ones((d + 1, d + 1), dtype=int) + np.eye(d + 1, dtype=int)
    part = np.einsum("nif,ij,njg->fg", own, local, own)
    whole = exact(full) / fmpq(powers)
    linear = exact(part) / fmpq((d + 1) * (d + 2) * scale**2)
    return definite(linear * (kappa**2) - (whole - linear))


def quadratics_proved(cut, mu):
    """Whether S ⪰ μ (mass without its part on Π₁ of the whole's quadratics): negative pivots of a bordered matrix."""
    d = cut.d
    own = projected(coarse_quadratics(cut), d)
    Z = np.einsum("nif,ab->niafb", own, np.eye(d, dtype=int)).reshape(cut.nx, -1)
    unit = 1.0 / (factorial(d) * (d + 1) * (d + 2))
    local = np.kron(np.ones((d + 1, d + 1), dtype=int) + np.eye(d + 1, dtype=int), np.eye(d, dtype=int))
    W = np.einsum("ij,bjz->biz", local, Z.reshape(len(cut.X), len(local), -1)).reshape(cut.nx, -1)
    scale = 2.0 ** np.round(np.log2(np.sqrt(unit * np.einsum("xz,xz->z", W, Z) / mu / 4.0)))
    border = unit * W / scale
    corner = -unit * (W.T @ Z) / np.outer(scale, scale) / mu
    S, r = cut.stiffness(), Z.shape[1]
    mass = sp.block_diag([sp.kron(sp.eye_array(len(cut.X)), local), sp.csr_array((cut.size - cut.nx,) * 2)]) * unit
    tall = sp.vstack([sp.csr_array(border), sp.csr_array((cut.size - cut.nx, r))])
    N = sp.block_array([[S - mu * mass, tall], [tall.T, sp.csr_array(corner)]], format="csr")
    theta = 1e-6 * float(S.diagonal().max())
    sizes = float((2.0 * abs(S) + mu * mass).sum(axis=1).max())
    sizes += float(
        np.abs(border).sum(axis=1).max() + np.abs(border).sum(axis=0).max() + np.abs(corner).sum(axis=1).max()
    )
    defect, negative = inertia(N - theta * sp.eye_array(cut.size + r))
    return negative <= r + d * (d + 1) // 2 and defect + gamma(24) * (sizes + theta) < theta


def lift_norm(d, t):
    """Whether the stored lift of linear forces p has ‖τ‖ ≤ t‖p‖ on the unit Kuhn simplex, exactly."""
    A, den = table(d)
    n1, ns, P = d + 1, len(voigt(d)), len(pairs(d))
    T = exact(A.astype(np.int64)) / fmpq(den)
    B = exact((path(d)[1:] - path(d)[0]).T)
    inverse = B.inv()
    load = fmpq_mat(P * d, n1 * d)  # reference coefficients from physical vertex values
    for p, (j, k) in enumerate(pairs(d)):
        for a in range(d):
            for c in range(d):
                load[p * d + a, j * d + c] += inverse[a, c] / 2
                load[p * d + a, k * d + c] += inverse[a, c] / 2
    tau = T * load
    metric = (B.transpose() * B).tolist()
    si = voigt(d)
    form = fmpq_mat(n1 * d, n1 * d)
    M = [[Fraction(float(x)).limit_denominator(10**7) for x in row] for row in mass(d, 3)]
    nodes = len(M)
    W = fmpq_mat(ns, ns)  # |B S Bᵀ|² = tr(S G S G)
    for a, (p, q) in enumerate(si):
        for b, (r, s) in enumerate(si):
            both = metric[p][r] * metric[q][s] + metric[p][s] * metric[q][r]
            W[a, b] = both * fmpq((1 + (p != q)) * (1 + (r != s)), 2)
    N = fmpq_mat([[fmpq(x.numerator, x.denominator) for x in row] for row in M])
    for s in range(n1):
        parts = [
            fmpq_mat([[tau[(s * nodes + v) * ns + k, c] for c in range(n1 * d)] for v in range(nodes)])
            for k in range(ns)
        ]
        for a in range(ns):
            for b in range(ns):
                if W[a, b] != 0:
                    form += parts[a].transpose() * N * parts[b] * W[a, b]
    form = form / fmpq(n1)  # over |K|
    local = np.kron(np.ones((n1, n1), dtype=int) + np.eye(n1, dtype=int), np.eye(d, dtype=int))
    return definite(exact(local) * (t**2 / fmpq(n1 * (d + 2))) - form)
