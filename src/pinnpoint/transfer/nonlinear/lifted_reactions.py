"""The reaction as what a lift leaves over sees it: G(x, e) = g(u_θ(x) + e) − g(u_θ(x)).

G(x, ·) has the derivatives of g at u_θ + e, and vanishes at e = 0. So what `reactions` says of g about a state u_h is
true of G about e_h with u_θ + e_h in the place of u_h: slopes μ near g′(u_θ + e_h), what they leave of it, and sup|g″|
over the values of u, which are those of the problem with its own source. On a cell coordinates and e_h are polynomials
of barycentric ones, and models of the network go together with them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.models.smooth import SmoothField
from pinnpoint.rounding.arithmetic import up
from pinnpoint.taylor.bernstein import Density, pairs
from pinnpoint.taylor.inputs import model_of
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.simplices import density
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.nonlinear.reactions import ReactionTerm, composed, nodal_simplices


@dataclass(frozen=True, eq=False)
class LiftedTerm(ReactionTerm):
    """G(x, e), from g and a prediction that encloses itself.

    Attributes
    ----------
    value
        u_θ.
    whole
        The problem that u solves.
    tolerance
        How well G is wanted: as well as the residual.
    """

    value: SmoothField = field(kw_only=True)
    whole: Continuum = field(kw_only=True)
    tolerance: float = field(kw_only=True)

    __repr__ = brief

    @property
    def d(self) -> int:
        """Space dimension."""
        return self.whole.d

    @cached_property
    def vertices(self) -> Vector:
        """Of the cells, (C, d + 1, d)."""
        return np.asarray(self.whole.points[self.whole.topology.cells])

    @cached_property
    def _middle(self) -> Vector:
        """u_θ at the centres of the cells."""
        return np.asarray(self.value(self.vertices.mean(axis=1)))

    @cached_property
    def _quadratic(self) -> Expression:
        return composed(parse("u", ("u",)), self.d)

    def seen(self, model: Continuum) -> Continuum:
        """The problem with its own source."""
        return self.whole

    @property
    def at_zero(self) -> tuple[float, float]:
        """Nothing."""
        return 0.0, 0.0

    def values(self, w: Vector) -> Density:
        """G(x, e_h) on the cells."""
        limit = self.tolerance if self.tolerance > 0.0 else None
        # indefinite.md, step 12b
        return density(self._of(self.g.g, still=True), self._simplices(w), tolerance=limit, mean=True)

    def size(self, w: Vector) -> Vector:
        """Upper bounds of |G(x, e_h)|."""
        return supremum(self._of(self.g.g, still=True), self._simplices(w))[0]

    def slopes(self, w: Vector) -> Vector:
        """μ: g′ about the middle of the cell, and not below −γ."""
        least = -self.fall if self.fall > 0.0 else 0.0
        middle = self._middle + w[:, : self.d + 1].mean(axis=1)
        return np.maximum(self.g.values("first", middle, None)[0], least)  # indefinite.md, step 12c

    def off(self, w: Vector, mu: Vector) -> Vector:
        """Upper bounds of |g′(u_θ + e_h) − μ|."""
        minus = np.repeat(mu[:, None], len(pairs(self.d)), axis=1)
        return supremum(self._of(self.g.first), self._simplices(w), minus=minus)[0]  # indefinite.md, step 12c

    def ends(self, model: Continuum, state: Vector) -> tuple[float, float, Vector]:
        """Bounds of u_θ + e_h, which are those of its Dirichlet values too."""
        w = state[model.cell_nodes]
        middle = self._middle + w[:, : self.d + 1].mean(axis=1)
        minus = np.repeat(middle[:, None], len(pairs(self.d)), axis=1)
        far = supremum(self._of(parse("u", ("u",))), self._simplices(w), minus=minus)[0]
        far = up(far + 2.0**-50 * np.abs(middle))
        low, high = float(np.min(-up(far - middle))), float(np.max(up(middle + far)))
        return low, high, np.array([low, high])  # indefinite.md, step 12d

    def _simplices(self, w: Vector) -> Vector:
        """Cells whose coordinates are those of space and what e_h is made of."""
        if not self.quadratic:
            return np.concatenate([self.vertices, w[:, :, None]], axis=2)
        return np.concatenate([self.vertices, nodal_simplices(w, self.d)], axis=2)

    def _of(self, f: Expression, *, still: bool = False) -> SmoothField:
        """f(u_θ + e_h), less f(u_θ) where `still`, as data on these simplices."""
        return SmoothField(partial(self._model, f, still), self.value.block)

    def _model(self, f: Expression, still: bool, X: list[TaylorModel]) -> TaylorModel:
        u: Any = self.value.model(list(X[: self.d]))
        e = model_of(self._quadratic, X[self.d :]) if self.quadratic else X[self.d]
        found = model_of(f, [u + e])  # indefinite.md, step 12b
        return found - model_of(f, [u]) if still else found
