"""Point values where the diffusion is a matrix that varies: the kernel of A(x₀), and a load in divergence form.

With A₀ = A(x₀), the identity of `weights` for the constant matrix A₀ and its Ψ, and −∇·(A∇Ψ) = −∇·(A₀∇Ψ) + ∇·q,

    u(x₀) = ∫ w u + ∫ f Ψ + ∫ q·∇u,      q = (A₀ − A)∇Ψ = g (A₀ − A)(−βΦ + (2/R²) Φ_s A₀⁻¹y).

q is bounded in 2D and O(1/r) in 3D, for A is Lipschitz.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.formulas.expressions import Expression
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor.jets import ZERO, jet_of, plus, times
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.transfer.media.coefficients import Field
from pinnpoint.transfer.media.surroundings import Table, largest
from pinnpoint.transfer.media.weights import Point, Weight, added, touched


@dataclass(frozen=True, eq=False)
class Row:
    """One component of q as smooth data.

    Attributes
    ----------
    weight
        w of the same point: coefficients, R, radial functions and the cap.
    table, i
        A(x), and which component.
    """

    weight: Weight
    table: Table
    i: int

    __repr__ = brief

    def __call__(self, X: Vector) -> Vector:
        """Values (N,), in floating point."""
        model = self.taylor([constant(x) for x in np.asarray(X, dtype=np.float64).T])
        return np.asarray(np.broadcast_to(model.C[0], len(X)))

    def taylor(self, coordinates: Sequence[TaylorModel]) -> TaylorModel:
        """The model of q_i; 0 outside the ellipsoid."""
        return self.weight.within(coordinates, self._inside)

    def _inside(self, X: Sequence[TaylorModel], Y: Sequence[TaylorModel], s: TaylorModel) -> TaylorModel:
        weight = self.weight
        place, radial, d = weight.place, weight.functions, len(Y)
        at, matrix = place.local, place.matrix
        assert matrix is not None
        scale = -2.0 / weight.radius**2
        if at.beta is None:
            value, slope = None, radial.slope(s, weight.cap)
        else:
            value, slope = radial.both(s, weight.cap)
        slope = constant(scale, 4.0 * UNIT * abs(scale)) * slope
        total = constant(0.0) * s
        for j in range(d):
            gap = constant(*matrix[self.i][j]) - modelled(self.table[self.i][j], X)
            along = ZERO
            for k in range(d):
                along = plus(along, times(constant(*at.inverse[j][k].rounded()), Y[k]))
            steep = slope * along
            if value is not None and at.beta is not None:
                steep = steep - constant(*at.beta[j].rounded()) * value
            total = total + gap * steep  # kernels.md, step 6b
        return place.weight(place.jets(X), Y) * total


def modelled(given: float | Expression, X: Sequence[TaylorModel]) -> TaylorModel:
    """The model of an entry of A."""
    return jet_of(given, X, ()).value if isinstance(given, Expression) else constant(given)


def core(point: Point, table: Table, rho: float) -> tuple[float, float]:
    """Bounds of the integral and of the L² norm of what the cap changes in q."""
    place, radial, R = point.place, point.functions, point.kernel.radius
    at, X, square = place.local, point.box(rho), 0.0
    for row in table:
        for entry in row:
            if isinstance(entry, Expression) and entry.variables_used:
                for slope in jet_of(entry, X, bends=True).gradient:
                    square = float(up(square + largest(slope) ** 2, 8))
    tall, inverse = (math.sqrt(sum(x.size() ** 2 for row in rows for x in row)) for rows in (at.A, at.inverse))
    turn = math.sqrt(square) * math.sqrt(tall)  # |A₀ − A| ≤ turn ρR
    drift = 0.0 if at.beta is None else math.sqrt(sum(x.size() ** 2 for x in at.beta))
    A, steep = radial.singular.size(rho * rho), radial.singular.steepness(rho * rho)
    first = turn * rho * R * drift * A + 2.0 * turn * math.sqrt(inverse) * rho * rho * steep
    second = 2.0 * turn * math.sqrt(inverse) * A
    return point.differences(rho, float(up(first, 64)), float(up(second, 64)))  # kernels.md, step 6c


def field(point: Point, table: Table, points: Vector, cells: Index, volumes: Vector, target: float) -> Field:
    """The field q on the cells that the ellipsoid meets; `target` is the wanted bound of ∫|ε|, roughly."""
    found = point.reached(points, cells, volumes)
    rho = point.cap(found)
    parts = [
        point.enclosed(partial(_row, point, table, i), found, rho, target / point.place.d) for i in range(point.place.d)
    ]
    missing, near = core(point, table, rho), touched(found, rho)
    parts = [added(p, missing, found, near) for p in parts]  # a bound of the length is one of each component
    beta = np.stack([p.coefficients for p in parts], axis=2)
    high, error1, error2 = (
        np.stack(rows, axis=1)
        for rows in ([p.high for p in parts], [p.error1 for p in parts], [p.error2 for p in parts])
    )
    return Field(beta, high, error1, error2, found.cells)


def _row(point: Point, table: Table, i: int, cap: float) -> Row:
    return Row(point.weight(cap), table, i)
