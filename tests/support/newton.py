"""Roots of cubic systems in 300-bit arithmetic (python-flint), from closed forms of their own."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import factorial

import numpy as np
from flint import arb, arb_mat, ctx

import pinnpoint as pp
from pinnpoint.mesh.domains import generate

BITS = 300
SIZES = (1e-2, 1e-3, 1e-5, 1e-8, 0.0)
SMOOTH = "pi**2*sin(pi*x) + 20*sin(pi*x)**3"
ROUGH = "-3.75*x**0.5 + 8.75*x**1.5 + 20*(x**2.5*(1-x))**3"
SOLUTIONS = {SMOOTH: lambda x: np.sin(np.pi * x), ROUGH: lambda x: x**2.5 * (1 - x)}


def tensor(m: int):
    """Means of λ_i λ_j λ_k λ_l over an m-simplex, divided by the share m! 3!/(m + 4)! that the stored weights hold."""
    ctx.prec = BITS
    found = {}
    for index in product(range(m + 1), repeat=4):
        counts = [index.count(a) for a in range(m + 1)]
        top = factorial(m)
        for c in counts:
            top *= factorial(c)
        found[index] = arb(top) / (factorial(m) * 6)
    return found


class Cubic:
    """F and J of a stored cubic system at free coordinates given as arbs."""

    def __init__(self, system) -> None:
        ctx.prec = BITS
        self.system = system
        self.free = list(system.space.free)
        self.T = tensor(system.m)
        self.A = system.A.tocsr()
        self.back = {int(g): i for i, g in enumerate(self.free)}

    def full(self, y):
        U = [arb(float(v)) for v in self.system.space.U0]
        for i, g in enumerate(self.free):
            U[g] = y[i]
        return U

    def at(self, y):
        """F as a list and J as a dense arb matrix."""
        s, k = self.system, self.system.m + 1
        U, n = self.full(y), len(self.free)
        F = [-arb(float(s.b[g])) for g in self.free]
        J = [[arb(0)] * n for _ in range(n)]
        for i, g in enumerate(self.free):
            for p in range(self.A.indptr[g], self.A.indptr[g + 1]):
                column, a = int(self.A.indices[p]), arb(float(self.A.data[p]))
                F[i] += a * U[column]
                if column in self.back:
                    J[i][self.back[column]] += a
        for cell, w in zip(s.cells.tolist(), s.w.tolist(), strict=True):
            w = arb(w)
            for a, b in product(range(k), repeat=2):
                if cell[a] not in self.back:
                    continue
                mass = arb(0)
                for c, d in product(range(k), repeat=2):
                    mass += self.T[a, b, c, d] * U[cell[c]] * U[cell[d]]
                F[self.back[cell[a]]] += w * mass * U[cell[b]]
                if cell[b] in self.back:
                    J[self.back[cell[a]]][self.back[cell[b]]] += 3 * w * mass
        return F, J

    def second(self, y, z):
        """Σ_k z_k ∇²F_k, dense."""
        s, k, n = self.system, self.system.m + 1, len(self.free)
        U, G = self.full(y), [[arb(0)] * n for _ in range(n)]
        Z = {g: z[i] for i, g in enumerate(self.free)}
        for cell, w in zip(s.cells.tolist(), s.w.tolist(), strict=True):
            for a, b, c, d in product(range(k), repeat=4):
                if cell[a] in self.back and cell[b] in self.back and cell[c] in Z:
                    part = 6 * arb(w) * self.T[a, b, c, d] * Z[cell[c]] * U[cell[d]]
                    G[self.back[cell[a]]][self.back[cell[b]]] += part
        return G

    def root(self, y0: np.ndarray):
        """Newton from floats until the step is below 10⁻⁷⁰."""
        ctx.prec = BITS
        y = [arb(float(v)) for v in y0]
        n = len(y)
        for _ in range(12):
            F, J = self.at(y)
            d = arb_mat(J).solve(arb_mat(n, 1, F))
            y = [(y[i] - d[i, 0]).mid() for i in range(n)]
            if all(abs(d[i, 0]) < arb("1e-70") for i in range(n)):
                return y
        raise AssertionError("no convergence")


def value(queries, cubic: Cubic, y, i: int):
    """ℓ_iᵀU + constant."""
    row, U = queries.L[[i]].tocoo(), cubic.full(y)
    total = arb(float(queries.constants[i]))
    for j, a in zip(row.col if hasattr(row, "col") else row.coords[1], row.data, strict=True):
        total += arb(float(a)) * U[int(j)]
    return total


def inside(lower: float, upper: float, truth) -> bool:
    ctx.prec = BITS
    return bool(arb(float(lower)) <= truth) and bool(truth <= arb(float(upper)))


def within(center: float, radius: float, truth) -> bool:
    ctx.prec = BITS
    return bool(abs(arb(float(center)) - truth) <= arb(float(radius)))


def largest_gap(y: np.ndarray, truth) -> arb:
    """‖y − truth‖_∞."""
    ctx.prec = BITS
    best = arb(0)
    for a, b in zip(y, truth, strict=True):
        gap = abs(arb(float(a)) - b)
        best = gap if gap > best else best
    return best


@cache
def line(source: str, nodes: int, cubic: float = 20.0):
    """The problem, its queries, and the discrete root."""
    problem = pp.fem.Semilinear(generate("interval", nodes + 1), cubic=cubic, source=source)
    queries = problem.points([[0.1], [0.37], [0.5], [0.8]])
    truth = Cubic(problem.system)
    y = solved(problem, SOLUTIONS.get(source, lambda x: 0.0 * x)(problem.mesh.points[:, 0]))
    root = truth.root(y[problem.space.free])
    return problem, queries, root, [value(queries, truth, root, i) for i in range(len(queries))]


def solved(problem, U):
    """Newton in floats."""
    s = problem.system
    y = problem.space.project(U).y
    for _ in range(8):
        y = y - np.linalg.solve(s.jacobian(y, rounding=False)[0].toarray(), s.residual(y, rounding=False).hi)
    return s.space.vector_of(y)


def states(problem, source: str, root, seed: int = 0):
    """From 1 % error to solved: smooth and rough ones."""
    x = problem.mesh.points[:, 0]
    exact = problem.space.vector_of(np.array([float(v) for v in root]))
    rng = np.random.default_rng([len(x), seed])
    for size in SIZES:
        yield size, problem.space.project(exact + size * np.sin(3 * np.pi * x)).U
        yield size, problem.space.project(exact + size * rng.uniform(-0.3, 0.3, x.size)).U
    yield None, problem.extract(SOLUTIONS[source](x)).U
