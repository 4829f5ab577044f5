"""The one place where certificates are made: what a method found out, carried over by a transfer, summed up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, per_query
from pinnpoint.base.brief import brief
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim, Guarantee
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.transfer import LEAST, TransferBound
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.systems.queries import Queries

NEGLECTED = Claim("floating-point rounding is negligible (not covered)", "declared")


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """What a method found out about one state, before any transfer.

    Attributes
    ----------
    center
        Of the discrete target's intervals; any numbers where the transfer stands alone.
    terms, counted
        Contributions by source, and the names of those that make up the radius.
    claims
        What the discrete intervals rest on.
    lasting
        Those of the claims that intervals of a transfer that stands alone rest on too.
    covered
        Whether rounding is covered.
    radius
        The sum of the terms that count, where it is known already.
    """

    queries: Queries
    method: str
    value: Vector
    center: Vector
    terms: Mapping[str, Vector]
    counted: Sequence[str]
    claims: Sequence[Claim]
    lasting: Sequence[Claim] = ()
    covered: bool = True
    guarantee: Guarantee = Guarantee.DETERMINISTIC
    confidence: float = 1.0
    radius: Vector | None = None
    raw: Vector | None = None
    correction: Vector | None = None
    sigma: Vector | None = None
    residual_norm: float | None = None
    effective_residual_norm: float | None = None
    coefficient_bound: float | None = None
    dofs: int
    accept: Vector | None = None
    limit: Vector | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)

    __repr__ = brief


def assemble(findings: Findings, bound: TransferBound | None = None, raw: ArrayLike | None = None) -> Certificate:
    """The certificate of one state.

    Parameters
    ----------
    bound
        What leads on to the continuous target.
    raw
        The model's own outputs at the queries.
    """
    found = findings if bound is None else carried_over(findings, bound)
    claims, terms, queries = list(found.claims), dict(found.terms), found.queries
    if not found.covered:
        claims.append(NEGLECTED)
    elif bound is None and "rounding" in found.counted and found.radius is None:
        tiny = np.where(terms["rounding"] > 0.0, LEAST, 0.0)  # another program squares what is next to nothing
        terms["rounding"] = np.asarray(terms["rounding"] + tiny)
    if raw is not None:
        raw = per_query("raw", raw, len(queries))
        terms["mismatch"] = np.abs(raw - found.value)
    return Certificate(
        names=queries.names,
        value=found.value,
        center=found.center,
        radius=total(terms, found.counted, len(queries)) if found.radius is None else found.radius,
        terms=terms,
        radius_terms=tuple(found.counted),
        guarantee=found.guarantee,
        method=found.method,
        target="discrete" if bound is None else "continuous",
        confidence=found.confidence,
        rounding="covered" if found.covered else "not covered",
        correction=found.correction,
        sigma=found.sigma,
        residual_norm=found.residual_norm,
        effective_residual_norm=found.effective_residual_norm,
        coefficient_bound=found.coefficient_bound,
        raw=found.raw if raw is None else raw,
        assumptions=tuple(claims),
        points=queries.points,
        times=queries.times,
        dofs=found.dofs,
        accept=found.accept,
        limit=found.limit,
        details=found.details,
        evidence=found.evidence,
        derivations=queries.derived,
    )


def carried_over(findings: Findings, bound: TransferBound) -> Findings:
    """The same about the continuous target: shifted and widened, or the transfer's own where it stands alone."""
    center, terms, counted = findings.center, dict(findings.terms), list(findings.counted)
    claims, covered = list(findings.claims), findings.covered
    for name, term in bound.terms.items():
        terms[name] = np.asarray(up(terms[name] + term)) if name in counted else term
        counted += [] if name in counted else [name]
    if bound.center is not None:  # nothing discrete is used
        center, counted, claims, covered = bound.center, list(bound.terms), list(findings.lasting), True
        terms |= bound.terms
    elif bound.shift is not None:
        before, center = center, center + bound.shift  # continuous.md, step 9a
        shifted = np.asarray(up(UNIT * (np.abs(before) + np.abs(center)) + terms.get("rounding", 0.0)))
        terms["rounding"], counted = shifted, list(dict.fromkeys([*counted, "rounding"]))
    return replace(
        findings,
        center=center,
        terms=terms,
        counted=counted,
        claims=[*claims, *bound.claims],
        covered=covered,
        guarantee=findings.guarantee if bound.proved else Guarantee.ESTIMATE,
        details={**findings.details, **bound.details},
        evidence=replace(
            findings.evidence,
            witness=bound.evidence.witness,
            indicators=bound.evidence.indicators,
            mismatched_cells=bound.evidence.mismatched_cells,
            remarks=bound.evidence.remarks,
            extremes=bound.evidence.extremes,
        ),
    )


def total(terms: Mapping[str, Vector], names: Sequence[str], count: int) -> Vector:
    """The sum of some terms, rounded up."""
    radius = np.zeros(count)
    for name in names:
        radius = np.asarray(up(radius + terms[name]))  # paper, eq. 5.2; paper, eq. 5.4
    return radius
