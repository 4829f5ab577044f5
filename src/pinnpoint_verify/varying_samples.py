"""Coefficients that vary inside cells: what is declared of them, compared with the case's formulas in samples.

Nothing here is part of a proof, and nothing here can make a bundle verify: it can only refuse. Derivatives of formulas
are carried through them (lifts.py). A point has the kernel Ψ = gΦ of docs/kernels.md, Φ from radial quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from pinnpoint_verify.checker import NEUMANN, Cells, Density, Mesh, Query, Shape
from pinnpoint_verify.formulas import formula, plain
from pinnpoint_verify.lifts import Jet, Lift, formula_jet
from pinnpoint_verify.polynomials import degree_of, indices
from pinnpoint_verify.reader import Array, need
from pinnpoint_verify.reference import compare, directions, distance, rule
from pinnpoint_verify.rows import is_number, near

Row = dict[str, Any]
FINE = {1: 16, 2: 8, 3: 5}
"""Steps of the lattices on which lower bounds are looked at."""
WORDS = {"a": "a model of A is not that of its formula", "b": "a model of b is not that of its formula"}
WORDS |= {"c": "a model of c is not that of its formula", "t": "a model of c − ∇·b is not that of its formulas"}
DEGREE = 60
"""Of radial functions."""
RULES = {1: ((1, 40), (1, 60), (1, 90)), 2: ((32, 40), (64, 60), (128, 90)), 3: ((24, 32), (40, 48), (64, 64))}
"""Directions and radii of samples of integrals over balls, ever finer."""


class Coefficients:
    """A, b and c of each region, as the proof has them, at points."""

    def __init__(self, mesh: Mesh, proof: Row, case: Row) -> None:
        said, self.mesh, self.blind = proof["medium"], mesh, list[str]()
        given, keys = case["problem"], {"diffusion", "reaction"}
        has = given.get("convection") is not None
        need(said.keys() == keys | ({"convection"} if has else set()), "medium: not the coefficients of the case")
        count = len(said["diffusion"])
        need(np.array_equal(np.unique(mesh.medium.region), np.arange(count)), "medium: regions of no cell, or unknown")
        for word, usual in (("diffusion", 1.0), ("reaction", 0.0), ("convection", [0.0] * mesh.d)):
            if word not in said:
                continue
            what = _leaves(given.get(word, usual))
            if given.get(word, usual) is None:
                self.blind.append(f"{word} by cells")
                continue
            known = list(what.values()) if isinstance(what, dict) else [what]
            known = [_entry(k) for k in known]
            fits = len(said[word]) == count and all(_entry(_leaves(x)) in known for x in said[word])
            need(fits, f"{word}: not that of the case")
        if count > 1:
            self.blind.append("which cells the groups of coefficients are")
        self.A, self.c = said["diffusion"], said["reaction"]
        self.b = said.get("convection")
        self.scalar = not any(isinstance(A, list) for A in self.A)

    def _each(self, X: Array, cells: Array, shape: tuple[int, ...], f: Callable[[int, Array], Any]) -> Array:
        """What each region says at points (n, q, d) of cells."""
        found, region = np.zeros((*X.shape[:2], *shape)), self.mesh.medium.region[cells]
        for r in np.unique(region):
            found[region == r] = f(int(r), X[region == r])
        need(np.all(np.isfinite(found)), "medium: coefficients are not finite (sampled)")
        return found

    def diffusion(self, X: Array, cells: Array) -> Array:
        """A at points, (n, q, d, d); what stands below the diagonal is not looked at."""
        d = self.mesh.d

        def at(r: int, Y: Array) -> Array:
            A = (
                self.A[r]
                if isinstance(self.A[r], list)
                else [[self.A[r] if i == j else 0.0 for j in range(d)] for i in range(d)]
            )
            need(len(A) == d and all(len(row) == d for row in A), "diffusion: a matrix of another size")
            return np.stack(
                [np.stack([formula(A[min(i, j)][max(i, j)], Y) for j in range(d)], -1) for i in range(d)], -2
            )

        return self._each(X, cells, (d, d), at)

    def reaction(self, X: Array, cells: Array) -> Array:
        """C at points, (n, q)."""
        return self._each(X, cells, (), lambda r, Y: formula(self.c[r], Y))

    def convection(self, X: Array, cells: Array) -> tuple[Array, Array]:
        """B, (n, q, d), and its divergence, at points."""
        d = self.mesh.d
        zero = [0.0] * d
        b = [zero if is_number(v) else v for v in self.b or [zero] * len(self.A)]
        need(all(len(v) == d for v in b), "convection: another number of components")
        field = self._each(X, cells, (d,), lambda r, Y: np.stack([formula(v, Y) for v in b[r]], -1))
        rise = self._each(X, cells, (), lambda r, Y: sum(jet(v, Y).g[i] for i, v in enumerate(b[r])))
        return field, rise

    def flow(self) -> None:
        """Nothing flows in through free facets, and b·n does not jump between regions (varying.md, steps 1d and 1e)."""
        mesh, m = self.mesh, self.mesh.d - 1
        bary, region = np.concatenate([np.eye(m + 1), rule(m, 5)[0]]), mesh.medium.region
        free = np.nonzero(mesh.kind == NEUMANN)[0]
        between = np.nonzero((mesh.neighbour >= 0) & (region[mesh.owner] != region[mesh.neighbour]))[0]
        for facets, other in ((free, False), (between, True)):
            cells = mesh.owner[facets]
            local = np.argmax(mesh.cell_facets[cells] == facets[:, None], axis=1)
            n = -Shape(mesh.points[mesh.cells[cells]]).grad.m[np.arange(len(cells)), local]
            n = n / np.linalg.norm(n, axis=1, keepdims=True)
            X = np.einsum("qi,nic->nqc", bary, mesh.points[mesh.facets[facets]])
            b = self.convection(X, cells)[0]
            size = 1e-10 * np.abs(b).max(initial=0.0)
            if other:
                b = b - self.convection(X, mesh.neighbour[facets])[0]
            through = np.einsum("nqc,nc->nq", b, n)
            fits = np.all(np.abs(through) <= size) if other else np.all(through >= -size)
            need(fits, "medium: convection jumps between regions, or flows in through a free facet (sampled)")

    def applied(self, lift: Lift, X: Array) -> Array:
        """Div(A∇u) − b·∇u − c u of a lifted prediction at points (…, d), where there is one formula for each."""
        need(len(self.A) == 1, "lift: A∇u jumps between regions")
        own, d, total = lift(X), self.mesh.d, -formula(self.c[0], X) * lift(X).v
        total = total - sum(formula(v, X) * own.g[j] for j, v in enumerate((self.b or [[0.0] * d])[0]))
        if self.scalar:
            kappa = jet(self.A[0], X)
            return np.asarray(total + kappa.v * own.lap + (kappa.g * own.g).sum(axis=0))
        for i, j in combinations_with_replacement(range(d), 2):
            a, both = jet(self.A[0][i][j], X), np.eye(d)[i] + np.eye(d)[j]
            if i == j:
                total = total + a.v * lift(X, np.eye(d)[[i]]).lap + a.g[i] * own.g[i]
                continue
            mixed = 0.25 * (lift(X, both[None]).lap - lift(X, (np.eye(d)[i] - np.eye(d)[j])[None]).lap)
            total = total + 2.0 * a.v * mixed + a.g[i] * own.g[j] + a.g[j] * own.g[i]
        return np.asarray(total)

    def bounds(self, g: Cells) -> None:
        """R A Rᵀ ≥ I and c − ½∇·b ≥ m on a lattice of every cell of a range."""
        mesh, cells = self.mesh, np.arange(g.part.start, g.part.stop)
        X = np.einsum("qi,nic->nqc", lattice(mesh.d, FINE[mesh.d]), mesh.points[mesh.cells[g.part]])
        R = mesh.medium.R[g.part]
        N = np.einsum("nki,nqij,nlj->nqkl", R, self.diffusion(X, cells), R, optimize=True)
        least = np.linalg.eigvalsh(N)[..., 0]
        need(np.all(least >= 1.0 - 1e-9), "medium: a lower bound of the diffusion is not one (sampled)")
        (_, rise), c = self.convection(X, cells), self.reaction(X, cells)
        slip = (
            1e-11 * (np.abs(c) + np.abs(rise)).max(axis=1, initial=0.0) + 1e-13 * np.abs(g.c).max(initial=0.0) + 1e-13
        )
        low = (c - 0.5 * rise).min(axis=1) + slip
        need(np.all(mesh.medium.floor[g.part] <= low), "medium: a lower bound of c − ½∇·b is not one (sampled)")

    def models(self, g: Cells) -> None:
        """The stored polynomials are no further from the formulas than they say, at points of a range of cells."""
        mesh, medium, cells = self.mesh, self.mesh.medium, np.arange(g.part.start, g.part.stop)
        bary = np.concatenate([lattice(mesh.d, FINE[mesh.d]), rule(mesh.d, 4)[0]])
        X = np.einsum("qi,nic->nqc", bary, mesh.points[mesh.cells[g.part]])
        (b, rise), c, A = self.convection(X, cells), self.reaction(X, cells), self.diffusion(X, cells)
        values = {"c": c, "t": c - rise, "a": A[..., 0, 0]}
        values |= {f"b{i}": b[..., i] for i in range(mesh.d)}
        values |= {f"a{i}{j}": A[..., i, j] for i in range(mesh.d) for j in range(i, mesh.d)}
        for word, beta in medium.beta.items():
            own = beta[g.part] @ basis(mesh.d, beta.shape[1], bary).T
            size = np.abs(values[word]).max(axis=1) + np.abs(beta[g.part]).max(axis=1) + np.abs(c).max(axis=1)
            far = np.abs(own - values[word]).max(axis=1)
            need(
                np.all(far <= medium.error[word][g.part] * (1.0 + 1e-9) + 1e-12 * size),
                f"medium: {WORDS[word[0]]} (sampled)",
            )

    def kernel(self, goal: Row, name: str) -> Kernel:
        """The kernel of a point, in a ball inside one region."""
        mesh, x0, R = self.mesh, np.array(goal["at"], dtype=float), float(goal["radius"])
        region = mesh.medium.region
        jump = (mesh.neighbour < 0) | (region[mesh.owner] != region[mesh.neighbour])
        fits = (
            0.0 < R <= distance(x0, mesh.points[mesh.facets[jump]]) * (1.0 + 1e-12) and self.scalar and self.b is None
        )
        need(fits, f"{name!r}: the ball leaves where the coefficients are smooth, or there is no kernel for them")
        gaps = np.argsort(((mesh.points[mesh.cells].mean(axis=1) - x0) ** 2).sum(axis=1))[:64]
        r = int(region[holding(mesh, x0, gaps, name)])
        found = Kernel(self.A[r], self.c[r], x0, R)
        need(near(goal["kappa"], found.kappa0, 1e-12), f"{name!r}: not the diffusion at the point")
        return found


class Kernel:
    """Ψ = gΦ and w of a point where κ and c vary and there is no convection (kernels.md, section 1)."""

    def __init__(self, kappa: Any, c: Any, x0: Array, R: float) -> None:
        self.kappa, self.c, self.x0, self.R, self.d = kappa, c, x0, R, len(x0)
        at = jet(kappa, x0[None])
        self.kappa0 = float(at.v[0])
        self.nu2 = 0.0
        self.nu2 = max(0.0, -float(self.bracket(x0[None])[0]) / self.kappa0)
        self.phi, self.height = radial_kernel(self.d, math.sqrt(self.nu2) * R)
        self.height /= R**self.d

    def bracket(self, X: Array) -> Array:
        """E at points."""
        k = jet(self.kappa, X)
        bent = (k.g**2).sum(axis=0) / (4.0 * k.v)
        return np.asarray(k.v * self.nu2 - 0.5 * k.lap + bent - formula(self.c, X))

    def weight(self, X: Array) -> Array:
        """G at points."""
        return np.asarray(1.0 / np.sqrt(formula(self.kappa, X) * self.kappa0))

    def potential(self, X: Array) -> Array:
        """Φ at points."""
        r = np.sqrt(((X - self.x0) ** 2).sum(axis=-1)) / self.R
        return np.asarray(np.where(r < 1.0, self.phi(np.clip(r, 1e-12, 1.0)), 0.0) * self.R ** (2 - self.d))

    def density(self, X: Array) -> Array:
        """W at points."""
        s = ((X - self.x0) ** 2).sum(axis=-1) / self.R**2
        own = self.height * np.maximum(0.0, 1.0 - s) ** 2
        return np.asarray(
            self.weight(X) * (formula(self.kappa, X) * own + self.bracket(X) * self.potential(X)) * (s < 1.0)
        )

    def integral(self, f: Any, count: int, n: int) -> tuple[float, float]:
        """∫ fΨ and ∫ |fΨ| over the ball."""
        unit, weights = directions(self.d, count)
        t, w = special.roots_legendre(n)
        t, w = 0.5 * (1.0 + t), 0.5 * w
        r = t * t  # Φ is singular at the centre
        X = self.x0 + self.R * r[:, None, None] * unit
        values = (f(X) if callable(f) else formula(f, X)) * self.weight(X) * self.potential(X) * weights
        sphere = {1: 2.0, 2: 2.0 * math.pi, 3: 4.0 * math.pi}[self.d] * self.R**self.d
        shells = sphere * w * 2.0 * t * r ** (self.d - 1)
        return float(shells @ values.sum(axis=1)), float(shells @ np.abs(values).sum(axis=1))

    def near_enough(self, f: Any, given: float, error: float) -> tuple[bool, float]:
        """Whether a number is ∫ fΨ, as far as ever finer rules tell it; and that."""
        value = self.integral(f, *RULES[self.d][0])[0]
        for sizes in RULES[self.d][1:]:
            last, (value, size) = value, self.integral(f, *sizes)
            if abs(given - value) <= error + 4.0 * abs(value - last) + 1e-8 * size:
                return True, value
        return False, value


def radial_kernel(d: int, decay: float) -> tuple[Callable[[Array], Array], float]:
    """Φ of the unit ball, (−Δ + decay²)Φ = δ − C(1 − r²)², as a function of r, and C."""
    h: Any = {1: np.cosh, 2: special.i0, 3: lambda z: np.where(z > 1e-8, np.sinh(z) / np.maximum(z, 1e-8), 1.0)}[d]
    solution: Callable[[Array], Array] = lambda r: np.asarray(h(decay * r))  # noqa: E731
    sphere = {1: 2.0, 2: 2.0 * math.pi, 3: 4.0 * math.pi}[d]
    domain: Callable[[Array], Array] = lambda r: 2.0 * np.asarray(r) - 1.0  # noqa: E731

    def fitted(f: Callable[[Array], Array]) -> Array:
        """Coefficients of the integral from 0 of a function on (0, 1)."""
        return 0.5 * chebyshev.chebint(chebyshev.chebinterpolate(lambda y: f(0.5 * (1.0 + y)), DEGREE), lbnd=-1)

    mass = fitted(lambda r: r ** (d - 1) * (1.0 - r * r) ** 2 * solution(r))
    whole = float(chebyshev.chebval(1.0, mass))

    def left(r: Array) -> Array:
        F = 1.0 - chebyshev.chebval(domain(r), mass) / whole
        return np.asarray((F / solution(r) ** 2 - 1.0) / r ** (d - 1))

    rest = fitted(left)
    end = float(chebyshev.chebval(1.0, rest))
    start: Any = {1: lambda r: 1.0 - r, 2: lambda r: -np.log(r), 3: lambda r: 1.0 / r - 1.0}[d]

    def phi(r: Array) -> Array:
        return np.asarray(solution(r) * (start(r) + end - chebyshev.chebval(domain(r), rest)) / sphere)

    return phi, 1.0 / (sphere * whole)


def point_agrees(kernel: Kernel, query: Query, g: Cells, name: str) -> None:
    """W of a point on a range of cells; those about it, where Φ is singular, count in its mass alone."""
    mesh, R = query.p.mesh, kernel.R
    V, data = mesh.points[mesh.cells[g.part]], query.w.on(g.part.start, g.part.stop)
    far = np.sqrt(((V - kernel.x0) ** 2).sum(axis=2))
    first, last = far.min(axis=1), far.max(axis=1)
    stored = np.any(data[0], axis=(1, 2)) | (data[1] + data[2] + data[3] > 0.0)
    here = np.nonzero((stored | (first - g.h < R)) & ((first > g.h) | (mesh.d == 1)))[0]
    cut = ((last > R * (1.0 - 1e-9)) & (first - g.h < R))[here]
    size = kernel.height
    loose = np.where(cut, 0.02 * size * np.minimum(1.0, g.h[here] / R), 1e-7 * size)
    compare(f"density of {name!r}", tuple(x[here] for x in data), V[here], lambda X, bary, at: kernel.density(X), loose)


def constants_agree(kernel: Kernel, w: Density, mesh: Mesh, source: Any, goal: Row, name: str) -> None:
    """∫ fΨ, and the integral of w: with u = 1 in the identity it is 1 − ∫ cΨ."""
    fits, value = kernel.near_enough(source, goal["constant"], goal["error"])
    need(fits, f"{name!r}: ∫fΨ is {value!r}, not {goal['constant']!r} (sampled)")
    held = float(np.sum(w.beta.mean(axis=1) * mesh.top[w.at]))
    off = float(np.sum(mesh.top[w.at] * w.rest[:, 1])) + 1e-7
    fits, value = kernel.near_enough(kernel.c, 1.0 - held, off)
    need(fits, f"density of {name!r}: its integral is {held!r}, not {1.0 - value!r} (sampled)")


def basis(d: int, count: int, bary: Array) -> Array:
    """B_α at points, (points, count)."""
    alpha = indices(d, degree_of(count, d))
    factor = [math.factorial(int(a.sum())) / math.prod(math.factorial(k) for k in a.tolist()) for a in alpha]
    return np.asarray(np.prod(bary[:, None, :] ** alpha[None], axis=2) * np.array(factor))


def holding(mesh: Mesh, x0: Array, some: Array, name: str) -> int:
    """A cell that holds a point, among some."""
    V = mesh.points[mesh.cells[some]]
    t = np.linalg.solve((V[:, 1:] - V[:, :1]).swapaxes(1, 2), (x0 - V[:, 0])[:, :, None])[:, :, 0]
    least = np.minimum(t.min(axis=1), 1.0 - t.sum(axis=1))
    need(least.max() > -1e-9, f"{name!r}: the point is outside the mesh")
    return int(some[np.argmax(least)])


def jet(given: Any, X: Array) -> Jet:
    """A formula at points (…, d), with its slopes and its Laplacian."""
    zero = np.zeros(X.shape[:-1])
    unit = np.eye(X.shape[-1])
    slopes = [np.stack([np.full_like(zero, unit[i, j]) for j in range(len(unit))]) for i in range(len(unit))]
    return formula_jet(given, [Jet(X[..., i], slopes[i], zero) for i in range(len(unit))])


@cache
def lattice(d: int, n: int) -> Array:
    """Barycentric coordinates i/n."""
    found = [(*k, n - sum(k)) for k in product(range(n + 1), repeat=d) if sum(k) <= n]
    return np.array(found, dtype=float) / n


def _leaves(given: Any) -> Any:
    """A case's words with numbers for formulas in which no coordinate enters."""
    if isinstance(given, dict):
        return {group: _leaves(x) for group, x in given.items()}
    return [_leaves(x) for x in given] if isinstance(given, list | tuple) else plain(given)


def _entry(given: Any) -> Any:
    """A matrix of one entry is a number; of others what stands below the diagonal is what stands above it."""
    if not isinstance(given, list) or not all(isinstance(row, list) for row in given):
        return given
    if len(given) == 1:
        return given[0][0]
    need(all(len(row) == len(given) for row in given), "diffusion: not a square matrix")
    return [[given[min(i, j)][max(i, j)] for j in range(len(given))] for i in range(len(given))]
