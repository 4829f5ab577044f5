"""A scalar problem on a curved domain as one on the straight mesh: its data, carried back by the map of the mesh.

With û = u∘Φ, J = ∇Φ and cof J = det J · J^{−T} the weak form of −∇·(K∇u) + c u = f on Φ(Ω_h) is that of

    A = cof(J)ᵀ K∘Φ cof(J)/det J,     c∘Φ det J,     f∘Φ det J,     g∘Φ |cof(J) n̂|

on Ω_h: see docs/curved.md, section 1. Everything else is the transfer for coefficients that vary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.fem.data.coefficients import function
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.bent.maps import Bends, Local, Moved, total
from pinnpoint.taylor import functions
from pinnpoint.taylor.inputs import ORDER, enclosed, fixed, model_of
from pinnpoint.taylor.jets import jet_of
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.transfer.boundary.data_lift import differentiable
from pinnpoint.transfer.media.coefficients import Coefficient, matrix

BENT_DEGREE = {2: ORDER[2], 3: 8}
"""Of models of A on bent cells; the checker reads no higher one."""


def at(given: Coefficient, local: Local) -> TaylorModel:
    """The model of data at Φ."""
    known = fixed(given)
    return constant(*known) if known is not None else model_of(given, local.x)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Carried:
    """g∘Φ."""

    bends: Bends
    given: Any
    name: str

    __repr__ = brief

    def __call__(self, X: Vector) -> Vector:
        """Values at points of the straight mesh."""
        here = self.bends.where(X)
        return np.asarray(self.factor(here, X) * function(self.name, self.given)(here.Y))

    def factor(self, here: Moved, X: Vector) -> Any:
        """What the data is multiplied by, at points."""
        return 1.0

    @property
    def blurred(self) -> bool:
        """Whether the map is known to an error that smaller parts of cells do not make smaller: beside surfaces."""
        return len(self.bends.patches.faces) > 0

    def taylor(self, coordinates: Sequence[TaylorModel]) -> TaylorModel:
        """The model from those of the coordinates of the straight mesh."""
        local = self.bends.at(coordinates)
        return at(self.given, local)  # curved.md, step 1a


@dataclass(frozen=True, eq=False)
class CarriedFormula(Carried):
    """g∘Φ of a formula, with its derivatives."""

    __repr__ = brief

    def along(self, coordinates: Sequence[TaylorModel], direction: Sequence[TaylorModel]) -> TaylorModel:
        """The derivative along a direction of the straight mesh: ∇g∘Φ · J e."""
        local = self.bends.at(coordinates)
        slope = jet_of(self.given, local.x).gradient
        turn = [total([a * e for a, e in zip(row, direction, strict=True)]) for row in local.J]
        return total([g * t for g, t in zip(slope, turn, strict=True)])  # curved.md, step 3a


@dataclass(frozen=True, eq=False)
class Spread(Carried):
    """f∘Φ det J: sources and reactions."""

    __repr__ = brief

    def factor(self, here: Moved, X: Vector) -> Any:
        """The determinant."""
        return here.determinant

    def taylor(self, coordinates: Sequence[TaylorModel]) -> TaylorModel:
        """The model from those of the coordinates of the straight mesh."""
        local = self.bends.at(coordinates)
        return at(self.given, local) * local.determinant  # curved.md, step 1a


@dataclass(frozen=True, eq=False)
class Through(Carried):
    """g∘Φ |cof(J) n̂| on boundary facets: fluxes."""

    __repr__ = brief

    def factor(self, here: Moved, X: Vector) -> Any:
        """How much longer, or larger, the curved boundary is."""
        n = self.bends.normals(X, here.rows)
        return np.sqrt((np.einsum("nij,nj->ni", here.cofactors, n) ** 2).sum(axis=1))

    def taylor(self, coordinates: Sequence[TaylorModel]) -> TaylorModel:
        """The model from those of the coordinates of the straight mesh."""
        local = self.bends.at(coordinates)
        normal = self.bends.normal_models(coordinates, local.rows)
        pulled = [total([c * n for c, n in zip(row, normal, strict=True)]) for row in local.cofactors]
        return at(self.given, local) * functions.sqrt(total([v * v for v in pulled]))  # curved.md, step 1a


@dataclass(frozen=True, eq=False)
class Turned:
    """An entry of cof(J)ᵀ K∘Φ cof(J)/det J."""

    bends: Bends
    given: Any
    i: int
    j: int

    __repr__ = brief

    @property
    def model_degree(self) -> int:
        """In space the quotient needs more than data usually do: its error counts against ∇u_h·∇z_h itself."""
        return BENT_DEGREE[self.bends.d]

    def __call__(self, X: Vector) -> Vector:
        """Values at points of the straight mesh."""
        here = self.bends.where(X)
        cof, K, d = here.cofactors, matrix(self.given, self.bends.d), self.bends.d
        found = np.zeros(len(here.Y))
        for k in range(d):
            for m in range(d):
                if callable(K[k][m]) or K[k][m] != 0.0:
                    found += cof[:, k, self.i] * function("diffusion", K[k][m])(here.Y) * cof[:, m, self.j]
        return np.asarray(found / here.determinant)

    def taylor(self, coordinates: Sequence[TaylorModel]) -> TaylorModel:
        """The model from those of the coordinates of the straight mesh."""
        local = self.bends.at(coordinates)
        cof, d, i, j = local.cofactors, self.bends.d, self.i, self.j
        if not isinstance(self.given, tuple):
            square = total([cof[k][i] * cof[k][j] for k in range(d)])
            return at(self.given, local) * (square / local.determinant)  # curved.md, step 1a
        parts = [at(self.given[k][m], local) * (cof[k][i] * cof[m][j]) for k in range(d) for m in range(d)]
        return total(parts) / local.determinant  # curved.md, step 1a


def turned(bends: Bends, given: Any) -> tuple[tuple[Turned, ...], ...]:
    """A on the bent cells."""
    d = bends.d
    upper = {(i, j): Turned(bends, given, i, j) for i in range(d) for j in range(i, d)}
    return tuple(tuple(upper[min(i, j), max(i, j)] for j in range(d)) for i in range(d))


def carried(bends: Bends, given: Any, name: str, kind: type[Carried]) -> Any:
    """Data on facets or bent cells; of somebody's function only values are known."""
    if not callable(given):
        given = float(given)
        if given == 0.0 or kind is Carried:
            return given
    elif fixed(given) is not None and kind is Carried:
        return given
    smooth = isinstance(given, Expression) and differentiable(given)
    made = (CarriedFormula if kind is Carried and smooth else kind)(bends, given, name)
    return made if not callable(given) or enclosed(given) else partial(made.__call__)


def on_groups(bends: Bends, table: Mapping[str, Any], name: str, kind: type[Carried]) -> dict[str, Any]:
    """Boundary data by groups; that of groups without bent cells stays as it is."""
    mesh = bends.mesh
    touched = np.zeros(len(mesh.points), dtype=bool)
    touched[mesh.cells[bends.cells]] = True
    found = {}
    for group, given in table.items():
        near = touched[mesh.facets(group)].all(axis=1).any()
        found[group] = carried(bends, given, f"{name} '{group}'", kind) if near else given
    return found
