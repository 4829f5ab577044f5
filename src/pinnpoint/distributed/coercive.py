"""A proved smallest eigenvalue over all processes: an M-matrix witness, else paths of cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnpoint.distributed.partition import Part
from pinnpoint.distributed.rows import Rows
from pinnpoint.distributed.solver import Solver
from pinnpoint.fem.stability.coercivity import HOW, require_positive
from pinnpoint.fem.stability.quadratic_paths import quadratic_error
from pinnpoint.fem.stability.stored import stored_error
from pinnpoint.rounding.arithmetic import down, gamma, up
from pinnpoint.rounding.coercivity import NEARLY

PASSES = 6


def prove(rows: Rows, solver: Solver, part: Part, floor: Callable[[], float]) -> tuple[float, str]:
    """α with (A + Aᵀ)/2 ⪰ α I, and how it was proved; `floor` gives the bound of paths for exact integrals."""
    alpha = witness(rows, solver)
    if alpha > 0.0:
        return alpha, "M-matrix witness"
    local = rows.local
    lowest = rows.team.from_lead(floor)
    own = np.flatnonzero(part.own)

    def loss() -> float:
        if part.nodes.degree == 2:
            return quadratic_error(part.nodes, local.A, local.lam, local.mu, own)
        return stored_error(part.mesh, local.A, local.lam, local.mu, local.mass, own)

    lost = rows.team.together(loss)
    alpha = float(down(lowest - rows.team.most(lost)))
    require_positive(alpha, lowest)
    return alpha, HOW


def witness(rows: Rows, solver: Solver) -> float:
    """Collatz and Wielandt: min (Zw)_i/w_i over w > 0, less the positive entries off the diagonal; −∞ where it fails.

    Z is A without those entries, whose row and column sums bound what was left out. For A that is symmetric but for
    rounding, Zw ≥ αw and Zᵀw ≥ αw give the same for the symmetric part.
    """
    maps = [rows.reduced] if rows.symmetric else [rows.reduced, rows.turned]
    diagonal = rows.reduced.A[:, rows.here].diagonal()
    excess = 0.0
    for M in maps:
        A = M.A.tocoo()
        off = (A.data > 0.0) & (rows.here[A.row] != A.col)
        sums = np.bincount(A.row[off], A.data[off], minlength=len(rows.mine))
        excess = max(excess, float(up(sums.max(initial=0.0) * (1.0 + 2.0 * gamma(A.shape[1] + 1)))))
    excess = rows.team.most(excess)
    top = rows.team.most(float(diagonal.max(initial=0.0)))
    if excess > NEARLY * top:
        return -np.inf
    w, best = np.ones(len(rows.mine)), -np.inf
    for _ in range(PASSES):
        with np.errstate(all="ignore"):
            w = np.abs(solver.solve(w))
            largest = rows.team.most(float(w.max(initial=0.0)))
            w = w / largest
        if not rows.team.least(float(w.min(initial=1.0))) > 0.0:
            return best
        ratio = rows.team.least(min(_ratio(rows, w, turned=k > 0) for k in range(len(maps))))
        found = float(down(ratio - excess))
        if best > 0.0 and found < best * 1.001:
            return max(best, found)
        best = max(best, found)
    return best


def _ratio(rows: Rows, w: Any, *, turned: bool) -> float:
    """The smallest (Zw)_i / w_i, rounded down."""
    M = rows.turned if turned else rows.reduced
    low, err = rows.product(w, turned=turned).rounded()
    whole = rows.fetch(w)
    A = M.A.tocoo()
    off = (A.data > 0.0) & (rows.here[A.row] != A.col)
    extra = np.bincount(A.row[off], A.data[off] * whole[A.col[off]], minlength=len(w))
    low = low - err - up(extra * (1.0 + 2.0 * gamma(A.shape[1] + 1)))
    return float(np.min(down(down(low) / w, 8), initial=np.inf))
