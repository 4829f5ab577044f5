"""What refinement is to reach: radii of queries, and of what follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Limits, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.derived import form, tensor
from pinnpoint.certificates.verdicts import accept_limits
from pinnpoint.systems.derived import PRINCIPAL, Derived
from pinnpoint.systems.queries import Queries

NONE = 1e300
"""The limit of a query that has none."""


@dataclass(frozen=True, eq=False)
class Aims:
    """The largest radii that will do.

    Attributes
    ----------
    queries, derived
        One for each; `NONE` where nothing is asked.
    """

    queries: Vector
    derived: Vector

    __repr__ = brief

    @classmethod
    def of(cls, queries: Queries, tolerance: Limits) -> Aims:
        """From one number for the queries, one for each, or one for each and for each derived quantity after them."""
        if tolerance is None:
            raise InputError("tolerance: is missing; say how narrow the proof must be, one number or one per query")
        n, more = len(queries), len(queries.derived)
        both = more > 0 and isinstance(tolerance, list | tuple | np.ndarray) and len(tolerance) == n + more
        asked = accept_limits(tolerance, n + more if both else n, "tolerance")
        limits = np.full(n, NONE) if asked is None else np.minimum(asked, NONE)
        return cls(limits[:n], limits[n:] if both else np.full(more, NONE))

    def worst(self, certificate: Certificate) -> float:
        """The largest radius against its limit."""
        own = np.array([one.radius for one in certificate.derived])
        return excess(certificate.radius, self.queries, own, self.derived)

    def reached(self, certificate: Certificate) -> bool:
        """Whether every radius is small enough."""
        own = np.array([one.radius for one in certificate.derived])
        return bool(np.all(certificate.radius <= self.queries) and np.all(own <= self.derived))

    def limits(self, queries: Queries, certificate: Certificate | None = None) -> Vector:
        """Radii of the queries beyond which indicators count them; the certificate is that of the mesh before.

        A component of a derived quantity counts while it makes up more than half of its share of the quantity's width,
        to first order.
        """
        limits, place = self.queries.copy(), {name: i for i, name in enumerate(queries.names)}
        for one, limit in zip(queries.derived, self.derived, strict=True):
            if limit < NONE and one.along is not None and one.toward is not None:
                self._along(one, limit, limits, place, certificate)
            elif limit < NONE:
                at = [place[name] for name in one.of]
                steep = np.ones(len(at)) if certificate is None else slopes(one, certificate.center[at])
                limits[at] = np.minimum(limits[at], 0.5 * limit / (len(at) * np.maximum(steep, 1e-12)))
        return limits

    def _along(
        self, one: Derived, limit: float, limits: Vector, place: dict[str, int], certificate: Certificate | None
    ) -> None:
        """The query along the stress has the first order's width, the components that of the second order."""
        assert one.along is not None
        y = np.array(one.toward)
        k, size = place[one.along], math.sqrt(max(0.0, float(y @ form(one) @ y)))
        limits[k] = min(limits[k], 0.5 * limit * size)
        if certificate is not None:
            at = [place[name] for name in one.of]
            height = abs(float(certificate.center[k])) / max(size, 1e-300)
            enough = math.sqrt(0.4 * limit * max(height, limit)) / (3.0 * math.sqrt(len(at)))
            limits[at] = np.minimum(limits[at], enough)


def excess(radius: Vector, limits: Vector, derived: Vector, aims: Vector) -> float:
    """The largest quotient of a radius and its limit."""
    with np.errstate(over="ignore"):
        return float(max(np.max(radius / limits), np.max(derived / aims, initial=0.0)))


def slopes(one: Derived, x: Vector) -> Vector:
    """How much a derived quantity changes with each component at x, in plain floats; ones where it has no slope."""
    if not np.all(np.isfinite(x)):
        return np.ones(len(x))
    if one.kind == PRINCIPAL:
        V = np.linalg.eigh(tensor(x))[1][:, -one.order]
        i, j = np.triu_indices(len(V))
        return np.asarray(np.where(i == j, 1.0, 2.0) * np.abs(V[i] * V[j]))
    g = form(one) @ x
    size = math.sqrt(max(0.0, float(x @ g)))
    return np.asarray(np.abs(g) / size if size > 0.0 else np.ones(len(x)))
