"""Who shares the work of a transfer: other processes, each with a part of the mesh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.simplices import Rows


@dataclass(frozen=True, eq=False)
class OnCells:
    """What the sides of a bound leave on cells, before it is put together.

    Attributes
    ----------
    rows
        Numbers of each side, (K + 1, C) by name.
    product, values
        Of each dual with the primal side, (K, C); of the latter the sums matter alone, and compiled code leaves those
        of parts of the cells, as pairs of floats.
    added
        What parts of the cells add to the rounding and to the data's error of each value, (parts, K, 2).
    compiled
        Whether compiled code made all rows of duals.
    """

    rows: dict[str, Vector]
    product: Vector  # continuous.md, step 3b
    values: Vector  # continuous.md, step 3a
    added: Vector
    compiled: bool = False


class Helpers(Protocol):
    """Work of which each cell, patch or query is done by one process; what is put together is put together by one."""

    def fluxes(self, model: Any, nodal: Vector, source: Vector, prescribed: Vector | None) -> Vector:
        """Facet densities of equilibrated fluxes of a `Continuum`'s states, as `Continuum.balanced` makes them."""
        ...

    def on_cells(self, primal: Any, duals: Sequence[tuple[Any, float, bool]]) -> OnCells:
        """What `Estimator.on_cells` finds, of the model whose fluxes were made last."""
        ...

    def look(self, f: Any, vertices: Vector, order: int, limit: Vector, few: int) -> tuple[Rows, Index]:
        """What `taylor.simplices.look` finds."""
        ...

    def completed(
        self, points: Vector, cells: Index, waiting: Sequence[Any]
    ) -> Iterator[tuple[Density, float, float, bool]]:
        """What `kernelled.completed` finds."""
        ...
