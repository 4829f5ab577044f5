"""Coefficients that vary inside cells: what stays declared of them, compared with the case's formulas in samples.

Nothing here is part of a proof, and nothing here can make a bundle verify: it can only refuse. Derivatives of formulas
are carried through them (lifts.py). Points have kernels (point_kernels.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from pinnpoint_verify.bent import Bent
from pinnpoint_verify.checker import NEUMANN, Cells, Mesh, Shape
from pinnpoint_verify.coefficients import basis
from pinnpoint_verify.formulas import formula, plain
from pinnpoint_verify.lifts import Lift
from pinnpoint_verify.point_kernels import Kernel, jet
from pinnpoint_verify.polynomials import degree_of
from pinnpoint_verify.reader import Array, larger, need, smaller
from pinnpoint_verify.reference import distance, rule
from pinnpoint_verify.rows import from_file, is_number, near

Row = dict[str, Any]
FINE = {1: 16, 2: 8, 3: 5}
"""Steps of the lattices on which lower bounds are looked at."""
WORDS = {"a": "a model of A is not that of its formula", "b": "a model of b is not that of its formula"}
WORDS |= {"c": "a model of c is not that of its formula", "t": "a model of c − ∇·b is not that of its formulas"}


class Coefficients:
    """A, b and c of each region, as the proof has them, at points."""

    def __init__(self, mesh: Mesh, proof: Row, case: Row, bent: Bent | None = None) -> None:
        said, self.mesh, self.blind, self.bent = proof["medium"], mesh, list[str](), bent
        given, keys = case["problem"], {"diffusion", "reaction"}
        has = given.get("convection") is not None
        need(said.keys() == keys | ({"convection"} if has else set()), "medium: not the coefficients of the case")
        count = len(said["diffusion"])
        need(np.array_equal(np.unique(mesh.medium.region), np.arange(count)), "medium: regions of no cell, or unknown")
        for word, usual in (("diffusion", 1.0), ("reaction", 0.0), ("convection", [0.0] * mesh.d)):
            if word not in said:
                continue
            if given.get(word, usual) is None or from_file(given.get(word)):
                self.blind.append(f"{word} by cells")
                continue
            what = _leaves(given.get(word, usual))
            known = list(what.values()) if isinstance(what, dict) else [what]
            known = [_entry(k) for k in known]
            fits = len(said[word]) == count and all(_entry(_leaves(x)) in known for x in said[word])
            need(fits, f"{word}: not that of the case")
        if count > 1:
            self.blind.append("which cells the groups of coefficients are")
        self.A, self.c = said["diffusion"], said["reaction"]
        self.b = said.get("convection")
        self.scalar = not any(isinstance(A, list) for A in self.A) and bent is None

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
                [np.stack([formula(A[smaller(i, j)][larger(i, j)], Y) for j in range(d)], -1) for i in range(d)], -2
            )

        if self.bent is None:
            return self._each(X, cells, (d, d), at)
        Y, J = self.bent.at(X, cells)  # curved.md, step 1a
        K, cof = self._each(Y, cells, (d, d), at), np.linalg.inv(J).swapaxes(2, 3)
        return np.asarray(np.einsum("nqki,nqkl,nqlj->nqij", cof, K, cof) * np.linalg.det(J)[..., None, None])

    def reaction(self, X: Array, cells: Array) -> Array:
        """C at points, (n, q)."""
        if self.bent is None:
            return self._each(X, cells, (), lambda r, Y: formula(self.c[r], Y))
        Y, J = self.bent.at(X, cells)
        return self._each(Y, cells, (), lambda r, Y: formula(self.c[r], Y)) * np.linalg.det(J)

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
        between = np.nonzero((mesh.neighbour >= 0) & ~mesh.paired & (region[mesh.owner] != region[mesh.neighbour]))[0]
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
            own = beta[g.part] @ basis(mesh.d, degree_of(beta.shape[1], mesh.d), bary).T
            size = np.abs(values[word]).max(axis=1) + np.abs(beta[g.part]).max(axis=1) + np.abs(c).max(axis=1)
            far = np.abs(own - values[word]).max(axis=1)
            need(
                np.all(far <= medium.error[word][g.part] * (1.0 + 1e-9) + 1e-12 * size),
                f"medium: {WORDS[word[0]]} (sampled)",
            )

    def kernel(self, goal: Row, name: str) -> Kernel:
        """The kernel of a point, in a ball inside one region."""
        mesh, x0, R = self.mesh, np.array(goal["at"], dtype=float), float(goal["radius"])
        region, every = mesh.medium.region, range(len(self.A))
        jump = (mesh.neighbour < 0) | (region[mesh.owner] != region[mesh.neighbour])
        gaps = np.argsort(((mesh.points[mesh.cells].mean(axis=1) - x0) ** 2).sum(axis=1))[:64]
        r = int(region[holding(mesh, x0, gaps, name) if self.bent is None else self.bent.back(x0, gaps, name)[0]])
        found = Kernel(self.A[r], self.c[r], x0, R, None if self.b is None or is_number(self.b[r]) else self.b[r])
        if self.bent is not None:  # regions that say the same are one; curves are followed
            alike = np.array([[self.A[i] == self.A[j] and self.c[i] == self.c[j] for j in every] for i in every])
            jump = (mesh.neighbour < 0) | ~alike[region[mesh.owner], region[mesh.neighbour]]
        corners = mesh.walls(jump)
        corners = corners if self.bent is None else self.bent.followed(corners, mesh.owner[jump])
        fits = 0.0 < R <= distance(np.zeros(mesh.d), found.stretched(corners)) * (1.0 + 1e-9)
        need(fits, f"{name!r}: the ball leaves where the coefficients are smooth")
        need(near(goal["kappa"], found.kappa0, 1e-12), f"{name!r}: not the diffusion at the point")
        return found


def holding(mesh: Mesh, x0: Array, some: Array, name: str) -> int:
    """A cell that holds a point, among some."""
    V = mesh.points[mesh.cells[some]]
    t = np.linalg.solve((V[:, 1:] - V[:, :1]).swapaxes(1, 2), (x0 - V[:, 0])[:, :, None])[:, :, 0]
    least = np.minimum(t.min(axis=1), 1.0 - t.sum(axis=1))
    need(least.max() > -1e-9, f"{name!r}: the point is outside the mesh")
    return int(some[np.argmax(least)])


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
    return [[given[smaller(i, j)][larger(i, j)] for j in range(len(given))] for i in range(len(given))]
