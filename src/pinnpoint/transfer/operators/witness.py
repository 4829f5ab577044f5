"""What one instance's bounds rest on, for whoever does not believe them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief

MORE = 1e-9
"""Claims of a witness are this much wider: its fluxes are rounded once more."""


@dataclass(frozen=True, eq=False)
class Witness:
    """One instance with states, fluxes and claims; ``pinnpoint verify`` proves them again from these.

    Attributes
    ----------
    points, cells, kappa, source
        The problem: f is one number a cell, u = 0 on the boundary.
    prediction, state, flux
        Values at the nodes, and the flux by its facets.
    energies
        The prediction's energy error from above and below, ‖u‖_a from above and below.
    center, radius, members
        Of the queries, averages over cells, (Q,) and (Q, C).
    has_dual, duals, dual_fluxes
        Which queries have a dual, their states and fluxes.
    """

    points: Vector
    cells: Index
    kappa: Vector
    source: Vector
    prediction: Vector
    state: Vector
    flux: Vector
    energies: Vector
    center: Vector
    radius: Vector
    members: NDArray[np.bool_]
    has_dual: NDArray[np.bool_]
    duals: Vector
    dual_fluxes: Vector

    __repr__ = brief

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an .npz file."""
        where = Path(path)
        sizes = np.array([len(self.points), len(self.cells), len(self.center)])
        with where.open("wb") as out:
            np.savez_compressed(out, sizes=sizes, **vars(self))
        return where


def widened(energies: Vector, center: Vector, radius: Vector) -> tuple[Vector, Vector]:
    """Claims that leave room for one more rounding of the fluxes."""
    up, down = 1.0 + MORE, 1.0 - MORE  # operators.md, step 8a
    return energies * np.array([up, down, up, down]), radius * up + MORE * np.abs(center)
