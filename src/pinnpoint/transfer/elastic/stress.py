"""Stresses that are given by the moments of their tractions, and how far they are from equilibrium.

m[F, i] = ∫_F (σn_F) λ_i, one vector for each vertex of each facet and n_F outward of the facet's first cell, is
all that is stored: σn is continuous by representation. With fm[K, i] = ∫_K f λ_i and B the affine map of the
reference simplex,

    σ_h = B (R m̂/den + R_f f̂) Bᵀ/|det B|,   m̂ = B⁻¹(±m),  f̂ = B⁻¹fm,
    t_i = Σ_{j≠i} ±m_{F_j,i} + fm_i,         −div σ_h has the moments fm_i + ρ_i against λ_i.

ρ vanishes on a cell exactly if Σ t_i = 0 and Σ t_i ∧ (x_i − x̄) = 0: the two numbers of `balance`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.base.threads import on_all_cores
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import TINY, gamma, up
from pinnpoint.transfer.elastic.compensated import unbalanced
from pinnpoint.transfer.elastic.material import least_stiffness
from pinnpoint.transfer.elastic.reference import Integers, congruence, numerators, roots, slots, voigt
from pinnpoint.transfer.energy.geometry import Shapes, cofactors

CHUNK = 2048
"""Cells at once."""
ROWS = 64
"""Rows of a product with a reference table that BLAS does not spread over threads."""
COUNT = 64
"""More than the roundings in any number computed here."""


@dataclass(frozen=True, eq=False)
class Aim:
    """A stress to come close to.

    Attributes
    ----------
    linear
        Values at the vertices of each cell, (C, d + 1, ns); linear in between.
    cells, extra
        Cells (ascending) on which values at the split nodes, (n, d + 1, d + 1, ns), are added.
    """

    linear: Vector
    cells: Index | None = None
    extra: Vector | None = None

    def __post_init__(self) -> None:
        if (self.cells is None) != (self.extra is None):
            raise InputError("aim: cells and extra come together")
        if self.cells is not None and np.any(np.diff(self.cells) <= 0):
            raise InputError("aim: cells must ascend")

    def nodes(self, part: slice, rooted: Vector) -> Vector:
        """Values on the split of some cells, (n, (d + 1)², ns), times the root of the mass matrix."""
        values = np.matmul(rooted, self.linear[part])
        if self.cells is None or self.extra is None:
            return np.asarray(values)
        start, stop = np.searchsorted(self.cells, [part.start, part.stop])
        n1 = self.linear.shape[1]
        root = np.eye(n1) + (np.sqrt(n1 + 1.0) - 1.0) / n1
        more = np.matmul(root, self.extra[start:stop])
        values[self.cells[start:stop] - part.start] += more.reshape(len(more), n1 * n1, more.shape[-1])
        return np.asarray(values)


@dataclass(frozen=True, eq=False)
class StressSpace:
    """All stresses of one mesh and material.

    Attributes
    ----------
    topology
        Sorted cells and facets.
    lam, mu
        Lamé's numbers of each cell.
    first, second
        (F,): which entry of a (C, d + 1) table of cells and local facets is the facet, seen from its first and from its
        second cell; −1 where there is none.
    metric
        (C, ns, ns): the sum over all nodes of metric(S, S) is ‖σ‖²_{C⁻¹} for S of `reference.roots`.
    """

    topology: Topology
    lam: Vector
    mu: Vector
    first: Index
    second: Index
    metric: Vector

    @classmethod
    def of(cls, topology: Topology, lam: Vector, mu: Vector) -> StressSpace:
        """From λ and μ of each cell; 2μ + dλ and μ must be positive."""
        T, d = topology, topology.dim
        C = len(T.cells)
        lam, mu = (np.ascontiguousarray(np.broadcast_to(x, C), dtype=np.float64) for x in (lam, mu))
        if not (np.all(mu > 0.0) and np.all(2.0 * mu + d * lam > 0.0)):
            raise InputError("lam, mu: the material must be stable: mu > 0 and 2 mu + d lam > 0 on every cell")
        numbers = np.arange(C * (d + 1)).reshape(C, d + 1)
        first, second = np.full(len(T.facets), -1, dtype=np.intp), np.full(len(T.facets), -1, dtype=np.intp)
        outward = T.sign > 0.0
        first[T.cell_facets[outward]] = numbers[outward]
        second[T.cell_facets[~outward]] = numbers[~outward]
        metric, edges, volumes = np.empty((C, len(voigt(d)), len(voigt(d)))), T.edges, T.volumes

        def work(part: slice) -> None:
            B = np.swapaxes(edges[part], 1, 2)
            metric[part] = _metric(B, lam[part], mu[part], volumes[part])

        on_all_cores(work, parts(C))
        return cls(T, lam, mu, first, second, metric)

    @property
    def d(self) -> int:
        """Space dimension."""
        return self.topology.dim

    def outward(self, m: Vector, cells: slice | Index) -> Vector:
        """±m of these cells in the order of the slots, (n, d + 1, d, d)."""
        T = self.topology
        return np.asarray(m[T.cell_facets[cells]] * T.sign[cells][:, :, None, None])  # elasticity.md, step 1a

    def summed(self, by_cell: Vector) -> Vector:
        """Σ ± over the cells of each facet, (F, d, d): the transpose of `outward`."""
        flat = by_cell.reshape(-1, self.d, self.d)
        found = np.empty((len(self.first), self.d, self.d))
        for part in parts(len(self.first)):
            one, two = flat[self.first[part]], self.second[part]
            inside = np.flatnonzero(two >= 0)
            one[inside] -= flat[two[inside]]
            found[part] = one
        return found

    def vertex_forces(self, m: Vector, fm: Vector | None) -> Vector:
        """t_i of every cell, (C, d + 1, d), as computed."""
        C, d = len(self.mu), self.d
        found = np.zeros((C, d + 1, d)) if fm is None else fm.copy()

        def work(part: slice) -> None:
            out = self.outward(m, part).reshape(-1, (d + 1) * d, d)
            for k, (_, i) in enumerate(slots(d)):
                found[part, i] += out[:, k]

        on_all_cores(work, parts(C))
        return found

    def nodal(
        self, m: Vector, fm: Vector | None, cells: slice | Index, fm_error: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """σ_h at the split nodes of some cells, and how far off they may be.

        Parameters
        ----------
        fm_error
            Upper bounds of the error in any entry of fm, (C,); zero if not given.

        Returns
        -------
        values
            (n, d + 1, d + 1, ns).
        error
            (n,): upper bounds of the rounding, and of what the error of fm does, in any entry.

        Guarantee: |values − σ_h| ≤ error, σ_h of the stored m, the exact fm, the exact tables and the exact map.
        """
        d, (R, Rf, den) = self.d, numerators(self.d)
        shapes = Shapes.of(self.topology.points, self.topology.cells[cells])
        edges = shapes.vertices[1:] - shapes.vertices[0]
        n, B = len(shapes.volume), np.transpose(edges, (2, 1, 0))
        back = np.transpose(shapes.gradients[1:], (2, 1, 0))  # elasticity.md, step 1a
        scale = 1.0 / (den * factorial(d) * shapes.volume)
        sizes = np.transpose(cofactors(np.abs(edges), absolute=True), (2, 1, 0)) * (den * scale)[:, None, None]
        slack = shapes.slack + gamma(COUNT)
        moments = self.outward(m, cells).reshape(n, -1, d)
        S = product(np.matmul(moments, back).reshape(n, -1), R.T)
        wrong = slack[:, None] * product(np.matmul(np.abs(moments), sizes).reshape(n, -1), _tops(d, R))
        if fm is not None:
            S += product(np.matmul(fm[cells], back).reshape(n, -1), den * Rf.T)
            stray = np.zeros(n) if fm_error is None else 1.02 * fm_error[cells]
            forces = slack[:, None, None] * np.abs(fm[cells]) + stray[:, None, None]
            wrong += product(np.matmul(forces, sizes).reshape(n, -1), den * _tops(d, Rf))
        S = S.reshape(n, (d + 1) ** 2, -1)
        values = np.matmul(S, np.swapaxes(congruence(B), 1, 2)) * scale[:, None, None]
        # elasticity.md, step 1f
        wrong = up(wrong + (slack[:, None] * np.abs(S).max(axis=1) + TINY), COUNT)
        error = np.matmul(congruence(np.abs(B)), wrong[:, :, None])[:, :, 0].max(axis=1)
        return values.reshape(n, d + 1, d + 1, -1), up(1.02 * scale * error, COUNT)

    def balance(self, m: Vector, fm: Vector | None, fm_error: Vector | None = None) -> tuple[Vector, Vector]:
        """Upper bounds of |Σ t_i| and of |Σ t_i ∧ (x_i − x̄)| of every cell, (C,) each.

        Sums are made in twice the working precision, so that the bounds are as large as what the stored m leave over
        and not as the rounding of a sum.

        Guarantee: rounding and the error of fm (`fm_error`, as in `nodal`) are counted.
        """
        C, d = len(self.mu), self.d
        force, moment = np.empty(C), np.empty(C)

        def work(part: slice) -> None:
            out = np.transpose(self.outward(m, part), (1, 2, 3, 0))
            body = None if fm is None else np.transpose(fm[part], (1, 2, 0))
            X = np.transpose(self.topology.points[self.topology.cells[part]], (1, 2, 0))
            force[part], moment[part] = unbalanced(out, body, X)  # elasticity.md, step 1d
            if fm_error is not None:  # elasticity.md, step 1g
                stray = up((d + 1.0) * np.sqrt(d) * fm_error[part], 4)
                longest = np.max([np.sqrt(((X - X[i]) ** 2).sum(axis=1)).max(axis=0) for i in range(d + 1)], axis=0)
                force[part] = up(force[part] + stray)
                moment[part] = up(moment[part] + up(longest, 8) * stray)

        on_all_cores(work, parts(C))
        return force, moment

    def gradient(self, m: Vector, fm: Vector | None, aim: Aim | None) -> tuple[Vector, Vector]:
        """‖σ_h − aim‖²_{C⁻¹} by cells, (C,), and the gradient of their sum with respect to m, (F, d, d); floats."""
        T, C, d = self.topology, len(self.mu), self.d
        of_moments, of_forces, of_linear = roots(d)
        energy, by_cell, gradients = np.empty(C), np.empty((C, d + 1, d, d)), T.gradients

        def work(part: slice) -> None:
            inverse = gradients[part, 1:]
            n, back = len(inverse), np.swapaxes(inverse, 1, 2)
            x = self.outward(m, part).reshape(n, -1, d)
            S = product(np.matmul(x, back).reshape(n, -1), of_moments.T)
            if fm is not None:
                S += product(np.matmul(fm[part], back).reshape(n, -1), of_forces.T)
            S = S.reshape(n, (d + 1) ** 2, -1)
            if aim is not None:
                scale = (d + 1) * factorial(d) * T.volumes[part]
                pull = congruence(inverse) * scale[:, None, None]
                S -= np.matmul(aim.nodes(part, of_linear), np.swapaxes(pull, 1, 2))
            Q = np.matmul(S, self.metric[part])
            energy[part] = np.einsum("nka,nka->n", S, Q)
            slope = product(Q.reshape(n, -1), of_moments).reshape(n, -1, d)
            by_cell[part] = np.matmul(slope, 2.0 * inverse).reshape(n, d + 1, d, d)

        on_all_cores(work, parts(C))
        return energy, self.summed(by_cell)

    @cached_property
    def norm_factor(self) -> Vector:
        """Upper bounds N_K, (C,): ‖σ(m)‖_{C⁻¹,K} ≤ N_K Σ |m_slot| over the slots of the cell, for fm = 0."""
        C = len(self.mu)
        found, low = np.empty(C), least_stiffness(self.lam, self.mu, self.d)

        def work(part: slice) -> None:
            shapes = Shapes.of(self.topology.points, self.topology.cells[part])
            with np.errstate(divide="ignore"):
                # elasticity.md, step 1e
                found[part] = up(np.sqrt(up(_slot_norms(shapes) / low[part], 4)), 4)

        on_all_cores(work, parts(C))
        return found


def product(X: Vector, table: Vector | Integers) -> Vector:
    """X @ table, a few rows at once: BLAS would spread larger products over threads, which wait for each other."""
    A = np.ascontiguousarray(table, dtype=np.float64)
    full = len(X) // ROWS * ROWS
    found = np.empty((len(X), A.shape[1]))
    np.matmul(X[:full].reshape(-1, ROWS, X.shape[1]), A, out=found[:full].reshape(-1, ROWS, A.shape[1]))
    np.matmul(X[full:], A, out=found[full:])
    return found


def parts(count: int) -> list[slice]:
    """Portions of so many cells."""
    return [slice(a, min(a + CHUNK, count)) for a in range(0, count, CHUNK)]


def _tops(d: int, table: Integers) -> Integers:
    """(columns, ns): the largest absolute value of each column at all nodes, by entry of the stress."""
    return np.asarray(np.abs(table.reshape((d + 1) ** 2, len(voigt(d)), -1)).max(axis=0).T)


def _frobenius(G: Vector) -> Vector:
    """Matrices of S ↦ tr(S G S G) on stored entries, (n, ns, ns): |B S Bᵀ|² for G = BᵀB."""
    p, q = np.array(voigt(G.shape[1])).T
    f = np.where(p == q, 1.0, 2.0)
    both = G[:, p[:, None], p] * G[:, q[:, None], q] + G[:, p[:, None], q] * G[:, q[:, None], p]
    return np.asarray((0.5 * np.outer(f, f)) * both)


def _metric(B: Vector, lam: Vector, mu: Vector, volume: Vector) -> Vector:
    """C⁻¹ in reference coordinates, with the weights of the nodes' mass matrix; floats."""
    d = B.shape[1]
    p, q = np.array(voigt(d)).T
    G = np.matmul(np.swapaxes(B, 1, 2), B)
    trace = np.where(p == q, 1.0, 2.0) * G[:, p, q]
    weight = _weight(d, volume) / (2.0 * mu)
    part = lam / (d * lam + 2.0 * mu)
    found = _frobenius(G) - part[:, None, None] * trace[:, :, None] * trace[:, None, :]
    return np.asarray(found * weight[:, None, None])


def _weight(d: int, volume: Vector) -> Vector:
    """|K|/((d + 1)²(d + 2)), the weight of 1 + δ for nodes of a sub-simplex, over (den |det B|)²."""
    return np.asarray(1.0 / ((d + 1.0) ** 4 * (d + 2.0) * factorial(d) ** 2 * volume))


def _slot_norms(shapes: Shapes) -> Vector:
    """Upper bounds of ∫_K |σ(m)|² over all m with one slot only, of length one, (n,)."""
    d, n = shapes.d, len(shapes.volume)
    table = _slot_table(d)
    B = np.transpose(shapes.vertices[1:] - shapes.vertices[0], (2, 1, 0))
    inverse = np.transpose(shapes.gradients[1:], (2, 0, 1))
    weight = _weight(d, shapes.volume)
    form = _frobenius(np.matmul(np.swapaxes(B, 1, 2), B)).reshape(n, -1)
    A = np.abs(B)
    bulk = _frobenius(np.matmul(np.swapaxes(A, 1, 2), A)).reshape(n, -1)
    blocks = product(form, table.reshape(form.shape[1], -1)).reshape(n, -1, d, d)
    blocks = np.matmul(np.swapaxes(inverse, 1, 2)[:, None], np.matmul(blocks, inverse[:, None]))
    # the spectral norm of a symmetric matrix is at most its Frobenius norm; elasticity.md, step 1e
    size = np.sqrt((blocks**2).sum(axis=(2, 3))).max(axis=1)
    heavy = product(bulk, np.abs(table).sum(axis=(2, 3))).max(axis=1) * shapes.steep**2
    wrong = (5.0 * shapes.slack + gamma(3 * COUNT)) * heavy
    return np.asarray(up(weight * (1.0 + 2.0 * shapes.slack) * (size + d * wrong), 16))


def _slot_table(d: int) -> Vector:
    """(ns², slots, d, d): products of the table's rows under 1 + δ, integers, for the square of each slot by itself."""
    n1, ns = d + 1, len(voigt(d))
    R = numerators(d)[0].reshape(n1, n1, ns, n1 * d, d)
    Q = R + R.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("sxakp,sxbkq->abkpq", R, Q).reshape(ns * ns, n1 * d, d, d), dtype=np.float64)
