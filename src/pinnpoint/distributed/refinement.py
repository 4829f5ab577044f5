"""States and Green vectors that are corrected with enclosed residuals; the solver proposes, the residuals decide.

Whatever the state Ũ and the vector q, ℓᵀU* = ℓᵀŨ − qᵀr̃ − sᵀA⁻¹r̃ with r̃ = AŨ − b, s = ℓ̂ − Aᵀq. The last term is at most
‖s‖‖r̃‖/α: a state that is refined as a pair of floats serves all queries at once, and their Green vectors need one
solve each.
"""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.distributed.rows import Rows
from pinnpoint.distributed.solver import Solver
from pinnpoint.rounding.arithmetic import two_sum
from pinnpoint.rounding.balls import Ball, exact

REFINEMENTS = 5
ENOUGH = 1e-27
"""Of ‖r‖: where refinement of the state stops."""
UNSEEN = 1e-17
"""Of the value: an algebraic error that rounding hides."""
SHARP = 0.05
"""Of ‖q‖: what the sensitivity may lose to the defect of q."""


def polish(rows: Rows, solver: Solver, U: Vector) -> tuple[Ball, Ball, float]:
    """A state near the solution, as a pair of floats at all unknowns of the part, its residual, and the bound of ‖r̃‖.

    Entries of other processes are fetched from them, so that all hold parts of one vector.
    """
    team, best = rows.team, Ball(U, np.zeros_like(U))
    r = rows.residual(best)
    length = first = team.norm(r)
    for _ in range(REFINEMENTS):
        if length <= ENOUGH * first:
            break
        step = solver.solve(r.rounded()[0])
        hi, lo = best.hi.copy(), np.array(best.lo)
        new = _plus(hi[rows.mine], lo[rows.mine], -step)
        hi[rows.columns], lo[rows.columns] = (rows.fetch(x) for x in new)
        found = rows.residual(Ball(hi, lo))
        size = team.norm(found)
        if not size < length:
            break
        enough = size > 0.1 * length
        best, r, length = Ball(hi, lo), found, size
        if enough:
            break
    return best, r, length


def green(
    rows: Rows, solver: Solver, L: Matrix, allowed: Vector, alpha: float
) -> tuple[Vector, Vector, Vector, Vector]:
    """Green vectors as pairs of floats, and upper bounds of ‖s‖ and of ‖q‖.

    A vector is solved for again with its enclosed defect until ‖s‖ is at most `allowed` and the sensitivity is known
    well; as a rule the first solve is enough.
    """
    K, team = L.shape[0], rows.team
    Q, Q_lo = np.zeros((K, len(rows.mine))), np.zeros((K, len(rows.mine)))
    left, norms = np.full(K, np.inf), np.zeros(K)
    for i in range(K):
        ell = L[[i]].toarray()[0]
        if team.norm(exact(ell)) == 0.0:
            left[i] = 0.0
            continue
        hi, lo = solver.solve(ell), np.zeros(len(rows.mine))
        for _ in range(REFINEMENTS):
            s = rows.defect(Ball(hi, lo), ell)
            defect = team.norm(s)
            better = defect < 0.1 * left[i]
            if defect < left[i]:
                Q[i], Q_lo[i], left[i] = hi, lo, defect
                norms[i] = team.norm(Ball(hi, lo))
            if not better or defect <= min(allowed[i], SHARP * alpha * norms[i]):
                break
            hi, lo = _plus(hi, lo, -solver.solve(s.rounded()[0]))
    return Q, Q_lo, left, norms


def _plus(hi: Vector, lo: Vector, step: Vector) -> tuple[Vector, Vector]:
    """The sum as a pair again; any rounding here only changes which vector it is."""
    s, t = two_sum(hi, step)
    return two_sum(s, t + lo)
