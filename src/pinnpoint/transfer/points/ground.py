"""Points of a curved domain: their balls may reach into bent cells, where densities are carried back by the map.

With the map Φ of docs/curved.md, u(x₀) = ∫_Ω w u + ∫_Ω f Ψ and ∫_Ω w u = ∫ (w∘Φ) det J û over the straight mesh. The
kernel Ψ, its density w and the data's integral are those of the domain itself; what is given there is kept here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.bent.maps import Bends
from pinnpoint.mesh.bent.places import back, followed, moves
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.inputs import Smooth
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.transfer.media.coefficients import Coefficients
from pinnpoint.transfer.media.regional import Regional
from pinnpoint.transfer.points.distances import distances

ROOMY = 3.0
"""Balls that are so many cells wide need no bent cells."""
WORTH = 1.25
"""How much larger a ball must be to be worth reaching into bent cells."""


@dataclass(frozen=True, eq=False)
class Pulled:
    """(w∘Φ) det J of a density w of the domain."""

    bends: Bends
    data: Smooth

    __repr__ = brief

    def __call__(self, X: Vector) -> Vector:
        """Values at points of the straight mesh."""
        Y, J, _ = self.bends.moved(X)
        return np.asarray(self.data(Y) * np.linalg.det(J))

    @property
    def blurred(self) -> bool:
        """Whether the map is known to an error that smaller parts of cells do not make smaller."""
        return len(self.bends.patches.faces) > 0

    def taylor(self, coordinates: Sequence[TaylorModel]) -> TaylorModel:
        """The model from those of the coordinates of the straight mesh."""
        local = self.bends.at(coordinates)
        return self.data.taylor(local.x) * local.determinant  # curved.md, step 1f


@dataclass(frozen=True, eq=False)
class Ground:
    """What is given in a curved domain, by regions of its mesh.

    Attributes
    ----------
    bends
        The map onto the domain.
    coefficients, source
        As they are there.
    """

    bends: Bends
    coefficients: Coefficients
    source: Any

    __repr__ = brief

    def source_at(self, cell: int) -> Any:
        """The source in a cell and around it."""
        return self.source.at(cell) if isinstance(self.source, Regional) else self.source

    def bent(self, cell: int) -> bool:
        """Whether the map is not the identity on a cell."""
        return bool(self.bends.row_of[cell] < len(self.bends.cells))

    def meets(self, x0: Vector, radius: float) -> bool:
        """Whether a ball may meet bent cells."""
        return self.bends.meets(x0, radius)

    def blocking(self, facet_cells: Index) -> Mask:
        """Facets that a ball may not cross, given by the cells on their two sides."""
        jump = self.coefficients.jumps(facet_cells)
        return jump | self.source.jumps(facet_cells) if isinstance(self.source, Regional) else jump

    def about(self, T: Topology, x0: Vector, name: str) -> tuple[int, Vector, Vector, float]:
        """The cell that is bent onto x₀, the facets that a ball may not cross, how far they move, and the radius."""
        cell, _, off = back(self.bends, x0[None], f"query '{name}'")
        blocked = np.flatnonzero(self.blocking(T.facet_cells))
        facets, moved = self._walls(T, blocked, x0)
        R = float((distances(x0, facets) - moved).min())  # curved.md, step 1f
        if self.bent(int(cell[0])) and not float(off[0]) < 0.5 * R:
            raise InputError(
                f"query '{name}': {x0.tolist()} lies on the curved boundary, or on a jump of coefficients in a cell "
                f"there: the largest ball about it that is proved to stay inside has the radius {max(R, 0.0):.3g}. "
                "Move the point inside, refine the mesh there, or say target='discrete'"
            )
        return int(cell[0]), facets, moved, R

    def _walls(self, T: Topology, blocked: Index, x0: Vector) -> tuple[Vector, Vector]:
        """Simplices (n, d, d), and distances from them within which these facets are in the domain; fine near x₀."""
        facets, moved = T.points[T.facets[blocked]], moves(self.bends, T.facets[blocked])
        away = distances(x0, facets)
        near = (moved > 0.0) & (away - moved <= (away + moved).min())
        if not near.any():
            return facets, moved
        fine, left = followed(self.bends, facets[near])
        return np.concatenate([facets[~near], fine]), np.concatenate([moved[~near], left])
