"""What stands behind intervals, for those who check, refine or draw; no interval is read from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.certificates.extremes import Extremes
from pinnpoint.rounding.balls import Ball
from pinnpoint.solvers.protocol import Solver


@dataclass(frozen=True, eq=False)
class Evidence:
    """Of a certificate or of a prepared certifier; each part where it is at hand.

    Attributes
    ----------
    predicted
        Whether a prediction stands behind ``value``; a family asked for μ alone has none.
    polish
        Newton steps before the base point of a nonlinear proof.
    state
        The state that a discrete proof started from, as a pair of floats.
    corrected
        The state one correction on from the prediction, as it is drawn.
    green
        Green vectors as rows, over the free coordinates.
    solver
        Of the reduced matrix; not trusted.
    positive
        The vector that proves coercivity of an M-matrix.
    coercivity
        A bound that was proved at linear cost, where a witness would need a factorization.
    witness
        The states and fluxes of a continuous proof.
    indicators
        Shares of the cells in the bounds, for refinement.
    mismatched_cells
        Cells at which the Dirichlet data is not met.
    remarks
        What the transfer has to say to people.
    extremes
        What a transfer knows of extremes over the domain, such as the largest error of any prediction.
    """

    predicted: bool = True
    polish: int = 0
    state: Ball | None = None
    corrected: Vector | None = None
    green: Vector | None = None
    solver: Solver | None = None
    positive: Vector | None = None
    coercivity: float | None = None
    witness: Any = None
    indicators: Vector | None = None
    mismatched_cells: Index | None = None
    remarks: tuple[str, ...] = ()
    extremes: Extremes | None = None

    __repr__ = brief
