"""The largest error of a lift with no solve at all: from its residual and its boundary values."""

from __future__ import annotations

import math

import numpy as np

from pinnpoint.certificates.assembly import Findings, assemble
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim, domain_words
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.settled import settled
from pinnpoint.certificates.transfer import TransferBound
from pinnpoint.rounding.arithmetic import require_round_to_nearest
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.inputs import enclosed
from pinnpoint.taylor.simplices import density
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.everywhere.drift import drift
from pinnpoint.transfer.everywhere.grounds import require_grounds
from pinnpoint.transfer.everywhere.residual import sizes
from pinnpoint.transfer.everywhere.suprema import Suprema, extreme_rows, only_checked, require_barriers, witnesses
from pinnpoint.transfer.media.regional import Regional
from pinnpoint.transfer.points.work import BUDGET

SHARE = 0.1
"""The remainder of the residual's models against its root mean square."""


def enclosed_residual(model: Continuum) -> Density:
    """The source with remainders that matter little, found by sampling its size first."""
    if isinstance(model.source, Regional):  # of curved domains: what is carried back to bent cells, and the rest
        return model.load
    X = model.points[model.topology.cells]
    if not callable(model.source) or not enclosed(model.source):
        return density(model.source, X)
    inside = 0.6 * X[:, 0] + (0.4 / model.d) * X[:, 1:].sum(axis=1)
    rms = math.sqrt(float(np.mean(np.asarray(model.source(inside)) ** 2)))
    return density(  # everywhere.md, step 4b
        model.source, X, tolerance=max(SHARE * rms, model.floor) or None, mean=True, work=model.budget / BUDGET
    )


def unsolved(model: Continuum, queries: Queries, claims: tuple[Claim, ...]) -> Certificate:
    """Intervals of the largest error, where nothing else is asked."""
    require_round_to_nearest()
    require_grounds(model, queries.names[0], solved=False)
    load, boundary = enclosed_residual(model), model.mismatch(np.zeros(model.size))
    if witnesses(queries.goals):
        require_barriers(model)
    if model.coefficients is not None and model.coefficients.convective:
        found = tuple(drift(model, load, boundary))
    else:
        found = tuple(sizes(model, load, boundary, witnesses(queries.goals)))
    state, rows = np.zeros(model.size), tuple(extreme_rows(queries.goals))
    known = Suprema(model, rows, queries.names, True, state, boundary, (), found, (), only_checked(queries.goals))
    zero, infinite = np.zeros(len(queries)), np.full(len(queries), np.inf)
    said = (
        Claim(f"continuous target: the weak solution on {domain_words(model.stretch is not None)}"),
        Claim("no system was solved: comparison with the size of what the prediction leaves of the equation"),
        *claims,
    )
    bound = TransferBound(
        {"transfer": infinite, "rounding": zero}, said, center=zero, evidence=Evidence(extremes=known)
    )
    findings = Findings(
        queries=queries, method="residual", value=zero, center=zero, terms={}, counted=(), claims=(), raw=zero, dofs=0
    )
    return settled(assemble(findings, bound), state)
