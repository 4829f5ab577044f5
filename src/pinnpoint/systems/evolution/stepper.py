"""Sweeps in time: M U′ + K U = f from the first level to the last, and the dual problem the other way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Matrix, Vector, is_symmetric
from pinnpoint.base.brief import brief
from pinnpoint.base.free_memory import free_memory
from pinnpoint.solvers.choice import Task, predicted
from pinnpoint.solvers.direct import factorize
from pinnpoint.solvers.protocol import Solver
from pinnpoint.systems.evolution.grid import TimeGrid

SHARE = 0.25
"""Of the free memory that factors may take; beyond it only the last one is kept."""

Loads = Vector | Callable[[int], Vector]
"""Right-hand sides (rows, n) or (rows, n, k), or a function from the slab's number to its own (m, …)."""


class SlabFactors:
    """Solvers of G ⊗ M + H ⊗ K for the small G and H of a slab, one for each that differs."""

    def __init__(self, M: Matrix, K: Matrix, different: int) -> None:
        self.M, self.K = sp.csr_array(M), sp.csr_array(K)
        self.symmetric = is_symmetric(self.K)
        self._made: dict[bytes, Solver] = {}
        self._lock = threading.Lock()
        one = predicted("superlu", Task.of(self.K, None, 1))
        self._keep = different * one < SHARE * free_memory()

    def of(self, G: Vector, H: Vector) -> Solver:
        """The solver of a slab, by the columns of its own levels."""
        key = np.concatenate([G.ravel(), H.ravel()]).tobytes()
        with self._lock:
            found = self._made.get(key)
            if found is None:
                if not self._keep:
                    self._made.clear()
                found = self._made[key] = factorize(sp.csr_array(self.block(G, H)))
        return found

    def block(self, G: Vector, H: Vector) -> Any:
        """G ⊗ M + H ⊗ K."""
        if G.shape == (1, 1):
            return float(G[0, 0]) * self.M + float(H[0, 0]) * self.K
        return sp.csr_array(sp.kron(G, self.M) + sp.kron(H, self.K))


@dataclass(frozen=True, eq=False)
class Stepper:
    """M U′ + K U = f on a time grid, with some entries of U held.

    Parameters
    ----------
    M, K
        Over all entries, n × n.
    grid
        The slabs and the scheme.
    free
        Numbers of the entries that are not held; None where all are free.
    """

    M: Any
    K: Any
    grid: TimeGrid
    free: Index | None = None
    factors: SlabFactors = field(default=None, repr=False)  # type: ignore[assignment]

    __repr__ = brief

    def __post_init__(self) -> None:
        if self.factors is not None:
            return
        M, K = (A if self.free is None else sp.csr_array(A[self.free][:, self.free]) for A in (self.M, self.K))
        different = len({self.grid.coefficients(n)[1].tobytes() for n in range(self.grid.steps)})
        object.__setattr__(self, "factors", SlabFactors(M, K, different))

    @property
    def n(self) -> int:
        """Entries of a level."""
        return int(self.M.shape[0])

    def forward(self, start: Vector, loads: Loads | None, held: Vector | None = None, out: Any = None) -> Vector:
        """States at all levels, (levels, n) or (levels, n, k), from the state at the first one.

        Parameters
        ----------
        start
            (n,) or (n, k).
        loads
            ∫ f L_r dt for every row, without the grid's `unit`; None for zero.
        held
            (levels, n) or (levels, n, k), of which the held entries are taken; None for zeros.
        out
            Where the states are written, for example an array that is mapped from a file.
        """
        grid, shape = self.grid, (self.grid.levels.size, *start.shape)
        U = np.zeros(shape) if out is None else out
        U[0] = start
        fixed = np.ones(self.n, dtype=bool)
        fixed[slice(None) if self.free is None else self.free] = False
        for slab in range(grid.steps):
            own, before = grid.own(slab), slab * grid.per_slab
            if held is not None:
                U[own, fixed] = held[own, fixed]
            if loads is not None:
                load = loads(slab) if callable(loads) else loads[before : before + grid.per_slab]
            else:
                load = np.zeros((grid.per_slab, *start.shape))
            self._step(slab, grid.unit * np.asarray(load), U[before : own.stop])
        return np.asarray(U)

    def _step(self, slab: int, load: Vector, U: Vector) -> None:
        """Fill in the free entries of a slab's own levels; those of `U` are zeros so far, and U[0] is its start."""
        (G, H), m = self.grid.coefficients(slab), self.grid.per_slab
        rest = load.astype(np.float64, copy=True)
        used = range(m + 1) if self.free is not None else (0,)
        for c in used:
            MU, KU = self.M @ U[c], self.K @ U[c]
            for r in range(m):
                rest[r] -= G[r, c] * MU + H[r, c] * KU
        solver = self.factors.of(G[:, 1:], H[:, 1:])
        chosen = rest if self.free is None else rest[:, self.free]
        found = solver.solve(np.ascontiguousarray(chosen.reshape(-1, *chosen.shape[2:]))).reshape(chosen.shape)
        if self.free is None:
            U[1:] = found
        else:
            U[1:, self.free] = found

    def dual(self) -> Stepper:
        """The sweep of the dual problem, M Z_s + KᵀZ = ω in s = T − t.

        Kᵀ is the matrix of −∇·(κ∇z) − b·∇z + (c − ∇·b)z with κ∂_n z + (b·n)z = 0 where u has a flux: by parts,
        ∫(b·∇v)z = −∫(b·∇z)v − ∫(∇·b)zv + ∫_Γ(b·n)zv.
        """
        shared = self.factors if self.factors.symmetric else None
        return Stepper(self.M, sp.csr_array(self.K.T), self.grid.reversed(), self.free, shared)  # type: ignore[arg-type]
