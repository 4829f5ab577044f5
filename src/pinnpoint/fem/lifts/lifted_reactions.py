"""Lifts beside nonlinear reactions: what a prediction leaves of −∇·(A∇u) + c u + g(u) = f."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from pinnpoint.base.arrays import Index, Limits, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.transfer import Route
from pinnpoint.fem.lifts.lifted import NATURAL, Lifted, lift_of
from pinnpoint.fem.problem import ScalarProblem
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quality import unjoined_notes
from pinnpoint.models.given import Prediction
from pinnpoint.models.lifts import Lift
from pinnpoint.systems.queries import Queries
from pinnpoint.transfer.nonlinear.reactions import ReactionTerm


@dataclass(frozen=True, eq=False)
class LiftedReaction(Lifted):
    """A semilinear problem seen from a prediction; `base` is its linear part, which has its values and boundary."""

    whole: Any = None
    """The problem itself."""

    __repr__ = brief

    @property
    def unlifted(self) -> Any:
        """The problem itself, with its reaction."""
        return self.whole

    def transfer(self, queries: Queries, tolerance: Limits = None, budget: int | None = None) -> Route:
        """The transfer of the rest, whose size is the prediction's error."""
        route: Route = self.rest.transfer(queries, tolerance, budget)
        return route

    def unsolved(self, queries: Queries, budget: int | None = None) -> Certificate:
        """The largest error from the residual alone, where g does not fall."""
        if ReactionTerm(self.whole.reaction).fall > 0.0:
            raise InputError(
                f"query '{queries.names[0]}': without a solve a reaction g(u) that does not fall is needed, and g′ is "
                f"only proved to be ≥ {-ReactionTerm(self.whole.reaction).fall:.6g}; leave solve=False out"
            )
        from pinnpoint.transfer.everywhere.unsolved import unsolved  # with all that bounds on cells need

        linear: Any = self.rest.linear  # type: ignore[attr-defined]
        model = replace(linear.continuum(linear.topology, budget), reacts=True)
        found = unsolved(model, queries, (self._claim(True),))  # indefinite.md, step 12e
        notes = (*unjoined_notes(self.mesh), *self.rest.curve_notes(), *found.notes)
        return replace(found, interval_of=self.rest.domain, notes=notes)

    def refined(self, mesh: Mesh, parents: Index) -> Self:
        """The same on a refined mesh."""
        groups = {k: v for k, v in mesh.facet_groups.items() if not k.startswith(NATURAL)}
        plain = Mesh.trusted(mesh.points, mesh.cells, mesh.cell_groups, groups)
        made: Self = self.whole.refined(plain, parents).lifted(self.lift)
        return made


def require_lifts(linear: ScalarProblem, prediction: Prediction, cubic: Vector | None) -> Lift:
    """The prediction as a lift beside a nonlinear reaction, or a refusal."""
    if linear.gluing is not None:
        raise InputError(
            "lift: beside a nonlinear reaction predictions are not lifted across periodic pairs; certify without it"
        )
    lift = lift_of(linear, prediction)
    if not isinstance(lift, Lift):
        raise InputError(
            "lift: beside a nonlinear reaction a network by its weights or a formula is needed, whose values and "
            "derivatives are enclosed; an opaque function has neither. Certify without the lift"
        )
    if cubic is not None and float(np.ptp(cubic)) != 0.0:
        raise InputError(
            f"lift: cubic must be one number; it is between {float(cubic.min())!r} and {float(cubic.max())!r}. Certify "
            "without the lift"
        )
    return lift
