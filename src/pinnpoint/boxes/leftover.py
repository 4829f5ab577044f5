"""What a prediction leaves of u_t − ∇·(κ∇u) + c u = f with κ(x), of its start and of its boundary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pinnpoint.base.brief import brief
from pinnpoint.formulas.expressions import Expression
from pinnpoint.models.lifts import Lift
from pinnpoint.models.smooth import model_at
from pinnpoint.rounding.arithmetic import TINY, UNIT
from pinnpoint.taylor.inputs import Data
from pinnpoint.taylor.jets import ZERO, Jet, jet_of, plus, times
from pinnpoint.taylor.models import TaylorModel, constant

Models = list[TaylorModel]


@dataclass(frozen=True, eq=False)
class Condition:
    """What holds on a part of the boundary: u = g, κ∂_n u = g, or κ∂_n u + αu = g."""

    kind: str
    coefficient: float
    data: Data

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Leftover:
    """The equation and its data; models of what a prediction leaves of them, from models of the coordinates."""

    names: tuple[str, ...]
    """Of the coordinates, t last."""
    end: float | None
    diffusion: Expression
    kappa: float | None
    """The diffusion where it is a number."""
    reaction: float
    source: Data
    initial: Data
    conditions: Mapping[str, Condition]
    centre: tuple[float, ...] = ()
    """Of a ball where s, the squared distance from there, is the only coordinate of space."""

    __repr__ = brief

    @property
    def d(self) -> int:
        """Number of coordinates of space."""
        return len(self.names) - int(self.end is not None)

    @property
    def folded(self) -> int:
        """Dimension of space where s is the only coordinate; else 0."""
        return len(self.centre)

    def value(self, lift: Lift, at: Sequence[float], time: float | None) -> tuple[float, float]:
        """The prediction at a point, and what the float may be off by."""
        place = [constant(v) for v in at]
        if self.folded:
            s = math.fsum((v - c) ** 2 for v, c in zip(at, self.centre, strict=True))
            place = [constant(s, 8.0 * UNIT * s + TINY)]  # region.md, step 4d
        found = lift.jet([*place, *(() if time is None else (constant(time),))], ()).value
        return float(found.C.flat[0]), float(found.e.flat[0])

    def residual(self, lift: Lift, X: Models) -> TaylorModel:
        """The model of f − u_θ,t + κΔu_θ + ∇κ·∇u_θ − c u_θ."""
        X, space = X[: len(self.names)], tuple(range(self.d))
        jet = lift.jet(X, space)
        left = model_at(self.source, X)
        kappa = jet_of(self.diffusion, X[: self.d], space)
        left = plus(left, times(kappa.value, self._laplacian(X[0], jet)))  # region.md, step 1a
        for slope, along in zip(kappa.gradient, jet.gradient, strict=True):
            left = plus(left, times(slope, along))  # region.md, step 1a
        if self.end is not None:
            rate = lift.jet(X, (self.d,)).gradient[0]
            left = left if rate is ZERO else left - rate
        return left - constant(self.reaction) * jet.value if self.reaction else left

    def _laplacian(self, s: TaylorModel, jet: Jet) -> TaylorModel:
        """Of space, also where s is its only coordinate."""
        if not self.folded:
            return jet.laplacian
        along = times(constant(2.0 * self.folded), jet.gradient[0])
        return plus(times(constant(4.0) * s, jet.laplacian), along)  # region.md, step 4a

    def start(self, lift: Lift, X: Models) -> TaylorModel:
        """u₀ − u_θ at t = 0."""
        X = X[: self.d]
        return model_at(self.initial, X) - lift.jet([*X, constant(0.0)], ()).value

    def at_rim(self, lift: Lift, said: Condition, normal: Sequence[TaylorModel], X: Models) -> TaylorModel:
        """The model of g − u_θ, or of g − κ∂_n u_θ − αu_θ, with the outward normal as a field around the rim."""
        X = X[: len(self.names)]
        if said.kind == "dirichlet":
            return model_at(said.data, X) - lift.jet(X, ()).value
        jet = lift.jet(X, tuple(range(self.d)))
        kappa = jet_of(self.diffusion, X[: self.d], ()).value
        left = model_at(said.data, X)
        for n, slope in zip(normal, jet.gradient, strict=True):
            if slope is not ZERO and n is not ZERO:
                left = left - times(kappa, times(n, slope))  # region.md, step 1a
        return left - constant(said.coefficient) * jet.value if said.coefficient else left

    def kappa_on(self, X: Models) -> TaylorModel:
        """κ."""
        return jet_of(self.diffusion, X[: self.d], ()).value
