"""Any κ on the cells, the discrete target: a few steps towards a reference, and its inverse around what they leave."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Matrix, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.assembly import pattern, stiffness
from pinnpoint.fem.families.affine_families import require_own
from pinnpoint.rounding.arithmetic import UNIT, down, gamma, norm_up, up
from pinnpoint.rounding.coercivity import prove_coercivity
from pinnpoint.rounding.matrices import product_up
from pinnpoint.solvers.direct import SparseLU
from pinnpoint.solvers.reference import Sines, conjugate, cycles
from pinnpoint.systems.queries import Queries, require_linear
from pinnpoint.transfer.operators.prepared import Enclosures, settled

FORM = gamma(32)
"""Of an entry |K| ∇φ_i·∇φ_j as computed and made symmetric, relative to the products behind it, with room."""


@dataclass(frozen=True, eq=False)
class Cellwise:
    """Σ κ_K M_K U = b on the free nodes, M_K the stored matrices of the cells.

    Attributes
    ----------
    entries, sizes
        (slots, C): of the cells' matrices, and their magnitudes.
    where
        Row pointers and columns of the slots.
    loads
        b, then the queries' rows, (n, 1 + Q).
    mean, inverse
        Ā, the sum of the M_K as stored, and what inverts it; not trusted.
    alpha, off
        Ā ⪰ α I, and ‖Σ M_K − Ā‖ at most.
    floors, around
        M_K ⪰ −ε_K I, and which cells each node has, (N, C).
    terms
        The largest numbers of summands in a slot, and of slots in a row.
    """

    entries: Matrix
    sizes: Matrix
    where: tuple[Index, Index]
    free: Index
    loads: Vector
    constants: Vector
    mean: Matrix
    inverse: SparseLU | Sines
    alpha: float
    off: float
    floors: Vector
    around: Matrix
    terms: tuple[int, int]

    __repr__ = brief

    proved = True

    @property
    def with_duals(self) -> tuple[int, ...]:
        """Numbers of the queries that have a dual: all."""
        return tuple(range(len(self.constants)))

    def enclose(
        self,
        kappas: Vector,
        predictions: Vector,
        streams: Vector | None,
        steps: int,
        dual_steps: int,
        mu: Vector | None = None,
    ) -> Enclosures:
        """Of instances with κ > 0 (I, C) and predictions (I, N); there are no stream functions here."""
        with np.errstate(all="ignore"):
            each = [self._one(k, u[self.free], steps, dual_steps) for k, u in zip(kappas, predictions, strict=True)]
        return settled(tuple(np.array([e[i] for e in each]) for i in range(9)))

    def matrix(self, data: Vector) -> Any:
        """Over the free nodes, from its slots."""
        n = len(self.free)
        return sp.csr_array((data, self.where[1], self.where[0]), shape=(n, n), copy=False)

    def ends(self, kappa: Vector) -> tuple[float, float]:
        """θ_low and θ_high with θ_low Ā ⪯ A ⪯ θ_high Ā."""
        low, high = float(kappa.min()), float(kappa.max())
        under, over = (float(product_up(self.around, up(x * self.floors)).max()) for x in (kappa - low, high - kappa))
        # operators.md, step 14b
        return (
            float(down(low - float(up((low * self.off + under) / self.alpha, 8)))),
            float(up(high + float(up((high * self.off + over) / self.alpha, 8)))),
        )

    def _one(self, kappa: Vector, predicted: Vector, steps: int, dual_steps: int) -> tuple[Any, ...]:
        A, size = self.matrix(self.entries @ kappa), self.matrix(self.sizes @ kappa)
        states = self._steps(A, kappa, predicted, (steps, dual_steps))
        X = np.column_stack([states, predicted])
        R, rho = self._residuals(A, size, X)
        left = _Left.of(self, R, rho)
        low, high = self.ends(kappa)
        if not low > 0.0:
            low, high = 0.0, math.inf
        away = float(up(left.high[0] / math.sqrt(low), 4)) if low > 0.0 else math.inf
        norm = _length(A, size, states[:, 0], 0.0)
        moved = _length(A, size, states[:, 0] - predicted, UNIT)
        # operators.md, step 14e
        above = min(float(up(left.high[-1] / math.sqrt(low), 4)) if low > 0.0 else math.inf, float(up(moved[1] + away)))
        below = max(float(down(left.low[-1] / math.sqrt(high), 4)), float(down(moved[0] - away)), 0.0)
        most, least = float(up(norm[1] + away)), max(0.0, float(down(norm[0] - away)))
        center, radius = self._outputs(states, R, rho, left, (low, high))
        relative = [float(up(np.divide(x, least))) for x in (above, away)]
        lower = max(0.0, float(down(below / most)))
        return relative[0], lower, above, below, most, least, relative[1], center, radius

    def _steps(self, A: Any, kappa: Vector, predicted: Vector, counts: tuple[int, int]) -> Vector:
        """States that the steps end with, (n, 1 + Q): from the reference's or the prediction, not trusted."""
        solve = self.inverse.solve
        start = solve(self.loads)
        energy, work = (np.einsum("nm,nm->m", start, x) for x in (np.asarray(A @ start), self.loads))
        start *= np.where(energy > 0.0, work / np.where(energy > 0.0, energy, 1.0), 0.0)
        own = float(predicted @ (A @ predicted) - 2.0 * (predicted @ self.loads[:, 0]))
        if own < -float(start[:, 0] @ self.loads[:, 0]):
            start[:, 0] = predicted
        cycle = cycles(lambda: A, float(kappa.max() / kappa.min()), asked=None) if any(counts) else None
        for part, count in ((slice(0, 1), counts[0]), (slice(1, None), counts[1])):
            r = self.loads[:, part] - A @ start[:, part]
            start[:, part] += conjugate(lambda p: np.asarray(A @ p), cycle or solve, r, count)
        return np.asarray(start)

    def _residuals(self, A: Any, size: Any, X: Vector) -> tuple[Vector, Vector]:
        """Loads − A X as computed, with the problem's load for the last column, and bounds of its errors, entrywise."""
        B = np.column_stack([self.loads, self.loads[:, 0]])
        R = B - np.asarray(A @ X)
        wrong = gamma(sum(self.terms) + 8) * 1.01 * (np.asarray(size @ np.abs(X)) + np.abs(B))
        return R, np.asarray(up(wrong, 8))  # operators.md, step 14c

    def _outputs(
        self, states: Vector, R: Vector, rho: Vector, left: _Left, theta: tuple[float, float]
    ) -> tuple[Vector, Vector]:
        """Centres and radii of the queries."""
        n, U, Z, L = len(states), states[:, 0], states[:, 1:], self.loads[:, 1:]
        less, more = 1.0 / theta[1], 1.0 / theta[0] if theta[0] > 0.0 else math.inf
        middle, half = 0.5 * (more + less), 0.5 * (more - less) + 8.0 * UNIT * more
        pair, off = left.products()
        value, correction = L.T @ U, Z.T @ R[:, 0]
        center = value + correction + middle * pair + self.constants  # operators.md, step 14d
        sizes = np.abs(L).T @ np.abs(U) + np.abs(Z).T @ np.abs(R[:, 0])
        rounding = 2.0 * gamma(n + 8) * sizes + 1.01 * (np.abs(Z).T @ rho[:, 0])
        last = 16.0 * UNIT * (np.abs(value) + np.abs(correction) + np.abs(middle * pair) + np.abs(self.constants))
        width = half * left.high[0] * left.high[1:-1] + middle * off
        return center, np.asarray(up(width + rounding + last, 64))


@dataclass(frozen=True, eq=False)
class _Left:
    """Residuals in the norm of Ā⁻¹: what was computed, ṽ near Ā⁻¹ of it, and bounds, a column each.

    `slip` bounds the norm of the residuals' own error, `rest` is ‖s‖ with s = r − Āṽ.
    """

    R: Vector
    V: Vector
    low: Vector
    high: Vector
    slip: Vector
    rest: Vector
    alpha: float

    @classmethod
    def of(cls, family: Cellwise, R: Vector, rho: Vector) -> _Left:
        mean, n, w = family.mean, len(R), family.terms[1]
        V = np.asarray(family.inverse.solve(R))
        s = np.abs(R - np.asarray(mean @ V)) + gamma(w + 8) * 1.01 * (np.abs(R) + np.asarray(abs(mean) @ np.abs(V)))
        rest, slip, long = (np.array([norm_up(x) for x in np.asarray(up(y, 8)).T]) for y in (s, rho, np.abs(V)))
        slip = np.asarray(up(slip / math.sqrt(family.alpha), 4))
        square = np.einsum("nm,nm->m", V, R)
        loose = 2.0 * gamma(n + 8) * np.einsum("nm,nm->m", np.abs(V), np.abs(R)) + long * rest
        top = up(np.maximum(square, 0.0) + up(loose + rest * rest / family.alpha, 8), 8)
        high = up(np.sqrt(top) + slip, 8)  # operators.md, step 14c
        low = np.maximum(down(np.sqrt(np.maximum(down(square - up(loose, 8), 8), 0.0)), 4) - slip, 0.0)
        return cls(R, V, np.maximum(down(low), 0.0), np.asarray(high), slip, rest, family.alpha)

    def products(self) -> tuple[Vector, Vector]:
        """r_dᵀĀ⁻¹r_p of each dual with the first column, and bounds of the error."""
        R, V = self.R[:, 1:-1], self.V[:, 0]
        found = R.T @ V
        size, n = np.abs(R).T @ np.abs(V), len(V)
        long = np.array([norm_up(v) for v in self.V[:, 1:-1].T])
        off = 2.0 * gamma(n + 8) * size + long * self.rest[0] + self.rest[1:-1] * self.rest[0] / self.alpha
        off = off + self.slip[1:-1] * self.high[0] + self.slip[0] * self.high[1:-1]
        return found, np.asarray(up(off, 16))  # operators.md, step 14c


def _length(A: Any, size: Any, x: Vector, error: float) -> tuple[float, float]:
    """√(xᵀAx) from below and above, entries of x known to a relative error."""
    square, whole = float(x @ (A @ x)), float(np.abs(x) @ (size @ np.abs(x)))
    loose = float(up(2.0 * gamma(len(x) + 64) * 1.01 * whole, 8))
    off = float(up(error * math.sqrt(whole) * 1.01, 4))
    high = float(up(math.sqrt(max(square, 0.0) + loose) + off, 8)) if math.isfinite(square) else math.inf
    low = float(down(math.sqrt(max(float(down(square - loose)), 0.0)), 4)) - off
    return max(0.0, float(down(low))), high


def prepare_cellwise(problem: Any, queries: Queries) -> Cellwise:
    """Prove what the bounds rest on, once for the mesh."""
    if problem.degree != 1:
        raise InputError("target: 'discrete' with a κ of its own for every cell needs linear elements; say degree=1")
    require_linear(queries)
    if "matrix" in queries.made_for:
        raise InputError("queries: fluxes depend on κ themselves; ask for values and averages")
    require_own(problem, queries)
    space = problem.space
    if space.free is None or np.any(space.U0):
        raise InputError("target: 'discrete' needs values that are held, and held at zero")
    free, mesh = np.asarray(space.free), problem.mesh
    C = len(mesh.cells)
    where, unit = pattern(problem.nodes), stiffness(problem.nodes, np.ones(C))
    unit = 0.5 * (unit + np.swapaxes(unit, 1, 2))
    cell = np.repeat(np.arange(C), unit[0].size)
    whole = sp.csr_array((unit.ravel(), (where.slot, cell)), shape=(where.size, C))
    n = where.indptr.size - 1
    numbers = sp.csr_array((np.arange(1, where.size + 1), where.indices, where.indptr), shape=(n, n))[free][:, free]
    entries = sp.csr_array(whole[numbers.data - 1])
    sizes = abs(entries)
    terms = int(np.diff(entries.indptr).max()), int(np.diff(numbers.indptr).max())
    shape = len(free), len(free)
    mean, magnitude = (
        sp.csr_array((S @ np.ones(C), numbers.indices, numbers.indptr), shape=shape) for S in (entries, sizes)
    )
    off = float(up(gamma(terms[0] + 4) * float(np.max(product_up(magnitude, np.ones(len(free)))))))
    floors = np.asarray(up(FORM * np.einsum("cii->c", unit), 8))  # operators.md, step 14a
    nodes = mesh.cells.ravel(), np.repeat(np.arange(C), mesh.cells.shape[1])
    around = sp.csr_array((np.ones(mesh.cells.size), nodes), shape=(len(mesh.points), C))
    L = queries.L[:, free]
    rows = np.asarray(L.toarray() if not isinstance(L, np.ndarray) else L, dtype=np.float64)
    transforms = Sines.of(mean, mesh.points[free])
    return Cellwise(
        entries,
        sizes,
        (numbers.indptr, numbers.indices),
        free,
        np.column_stack([np.asarray(problem.b)[free], rows.T]),
        np.asarray(queries.constants),
        mean,
        SparseLU(mean) if transforms is None else transforms,
        prove_coercivity(mean).alpha,
        off,
        floors,
        around,
        terms,
    )
