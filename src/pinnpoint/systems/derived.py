"""What is derived from several queries: norms and principal values of their vector or tensor.

No functional is linear here, so that nothing is certified of these by itself: their intervals follow from those of the
components (`pinnpoint.certificates.derived`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pinnpoint.base.brief import brief
from pinnpoint.systems.limits import Limit

MAGNITUDE, VON_MISES, PRINCIPAL = ("magnitude", "von-mises", "principal")
DERIVED = (VON_MISES, PRINCIPAL, MAGNITUDE)


@dataclass(frozen=True)
class Derived:
    """One number that follows from the values of other queries.

    Attributes
    ----------
    name
        Different from those of all queries.
    kind
        "magnitude": |u|; "von-mises": of the stress; "principal": an eigenvalue of the stress.
    of
        Names of the components' queries: x, y (, z), or xx, xy, yy, or xx, xy, xz, yy, yz, zz.
    poisson
        ν in plane strain, where σ_zz = ν (σ_xx + σ_yy); elsewhere None: in the plane σ_zz = 0 then.
    order
        Of a principal value, 1 for the largest; in the plane they are the two of the plane.
    along, toward
        Of a von Mises stress: the name of one more query, and floats y by components such that it asks for yᵀBσ, B the
        form of the norm; it narrows the interval where y is nearly a multiple of the stress.
    accept
        How wrong the prediction may be; None where it was not asked.
    limit
        Of the true value; None where it was not asked.
    """

    name: str
    kind: str
    of: tuple[str, ...]
    poisson: float | None = None
    order: int = 0
    accept: float | None = None
    limit: Limit | None = None
    along: str | None = None
    toward: tuple[float, ...] | None = None

    __repr__ = brief


def said(one: Derived) -> dict[str, Any]:
    """As certificates and cases have it."""
    row: dict[str, Any] = {"name": one.name, "kind": one.kind, "derived_from": list(one.of)}
    row |= {} if one.poisson is None else {"poisson": one.poisson}
    row |= {"order": one.order} if one.order else {}
    row |= {} if one.along is None or one.toward is None else {"along": one.along, "toward": list(one.toward)}
    row |= {} if one.accept is None else {"accept": one.accept}
    return row | ({} if one.limit is None else {"limit": one.limit.said()})
