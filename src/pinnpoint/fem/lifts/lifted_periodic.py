"""A smooth prediction kept beside periodic pairs: made periodic, and its slopes carried across.

û is the prediction less what it jumps by, and Q the field for which A∇û + Q has no jump at the pairs. What û leaves,
ê = u − û, is continuous there and has the load ∫ (r + ∇·Q) w + Q·∇w, r what û leaves of the equation inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.problem import ScalarProblem
from pinnpoint.mesh.gluing import axes_of
from pinnpoint.models.folds import Fold, Models
from pinnpoint.models.lifts import Lift
from pinnpoint.models.opaque import OpaqueLift
from pinnpoint.models.smooth import SmoothField
from pinnpoint.taylor.inputs import model_of
from pinnpoint.taylor.jets import ZERO, plus, times
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.transfer.boundary.seams import Seam
from pinnpoint.transfer.media.coefficients import Coefficients, matrix, modelled


@dataclass(frozen=True, eq=False)
class Sewing:
    """û with its flux across the pairs.

    Attributes
    ----------
    lift
        The prediction, made periodic.
    coefficients, kappa
        A, as formulas or as one number.
    dim
        Space dimension.
    """

    lift: Lift
    coefficients: Coefficients | None
    kappa: float
    dim: int

    __repr__ = brief

    @classmethod
    def of(cls, problem: ScalarProblem, lift: Lift | OpaqueLift) -> Sewing | None:
        """Of a prediction beside the pairs of a problem; None where there are none."""
        if problem.gluing is None:
            return None
        if not isinstance(lift, Lift):
            raise InputError(
                "lift: beside periodic pairs a network by its weights or a formula is needed; of other functions the "
                "jumps are not known. Certify without the lift"
            )
        X, found = problem.mesh.points, axes_of(problem.mesh.points, problem.gluing)
        if isinstance(found, str):
            raise InputError(f"lift: {found}. Certify without the lift")
        low, high = X.min(axis=0), X.max(axis=0)
        folds = [Fold(int(i), float(low[i]), float(high[i])) for i in np.flatnonzero(found)]
        return cls(lift.folded(folds), problem.coefficients, float(problem.diffusion.flat[0]), X.shape[1])

    def seam(self, residual: Any) -> Seam:
        """The load of what û leaves, from what it leaves inside."""
        if not isinstance(residual, SmoothField):
            raise InputError("lift: beside periodic pairs the source must be a number or a formula")
        axes = {fold.axis: fold for fold in self.lift.folds}
        fields = (self._field(partial(self._carried, axes[i])) if i in axes else None for i in range(self.dim))
        return Seam(self._field(partial(self._source, residual), residual.terms), tuple(fields))

    def left(self, given: Any, normal: Vector) -> SmoothField:
        """What û and Q leave of a flux through facets with this normal, from what û alone does."""
        if not isinstance(given, SmoothField):
            raise InputError("lift: beside periodic pairs fluxes must be numbers or formulas")
        return self._field(partial(self._left, given, normal))

    def _field(self, model: Any, terms: Any = 0.0) -> SmoothField:
        return SmoothField(model, self.lift.value.block, terms)

    def _across(self, axis: int, X: Models) -> TaylorModel:
        """The component (A∇û)_axis."""
        if self.coefficients is None:
            return times(constant(self.kappa), self.lift.jet(X, (axis,)).gradient[0])
        A, slopes, out = matrix(self.coefficients.diffusion[0], len(X)), self.lift.jet(X).gradient, ZERO
        for j, slope in enumerate(slopes):
            a = A[min(axis, j)][max(axis, j)]
            if a != 0.0:
                out = plus(out, times(modelled(a, X), slope))
        return out

    def _jump(self, fold: Fold, X: Models) -> TaylorModel:
        """What (A∇û)_axis falls by from one side to the other."""
        return -fold.rise(partial(self._across, fold.axis), X)

    def _carried(self, fold: Fold, X: Models) -> TaylorModel:
        return times(self._jump(fold, X), fold.ramp(X))  # lift.md, step 13b

    def _source(self, residual: SmoothField, X: Models) -> TaylorModel:
        out = model_of(residual, X)
        for fold in self.lift.folds:
            out = plus(out, times(self._jump(fold, X), fold.slope))  # lift.md, step 13b
        return out

    def _left(self, given: SmoothField, normal: Vector, X: Models) -> TaylorModel:
        out = model_of(given, X)
        for fold in self.lift.folds:
            if normal[fold.axis]:
                out = out - constant(float(normal[fold.axis])) * self._carried(fold, X)  # lift.md, step 13b
        return out
