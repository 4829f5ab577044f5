"""A certifier for routes that stand on their own: nothing of a discrete system is solved or proved for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.assembly import Findings, assemble
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.transfer import Transfer, TransferContext
from pinnpoint.certifiers.protocols import Certifier
from pinnpoint.systems.queries import Queries


@dataclass(frozen=True, eq=False)
class Standing(Certifier):
    """Intervals from a transfer's own centres and terms.

    Parameters
    ----------
    asked
        The route's functionals.
    dofs
        Unknowns of the discrete problem behind the route.
    state
        Makes the discrete problem's own solution, as it is drawn beside a prediction.
    notes
        How the data came about, where it is not plain.
    """

    asked: Queries
    dofs: int
    state: Callable[[], Vector]
    notes: Sequence[str] = field(default=())
    name: str = "exact"

    __repr__ = brief

    @property
    def queries(self) -> Queries:
        """What is asked."""
        return self.asked

    @property
    def load(self) -> Vector:
        """No system, no load."""
        return np.zeros(0)

    def _certify(
        self, U: ArrayLike, raw: ArrayLike | None, transfer: Transfer | None, load: ArrayLike | None
    ) -> Certificate:
        if transfer is None or load is not None:
            raise InputError("transfer: is missing, or another load was given; certify the problem itself")
        state = vector("U", U, self.asked.L.shape[1])
        value = np.asarray(self.asked.stored @ state + self.asked.constants)
        context = TransferContext(self.asked.names, None, lambda _: math.inf, False, None)
        given = [Claim(note) for note in self.notes]
        findings = Findings(
            queries=self.asked,
            method=self.name,
            value=value,
            center=value,
            terms={},
            counted=(),
            claims=given,
            lasting=given,
            dofs=self.dofs,
        )
        return assemble(findings, transfer.bound(context), raw)

    def evidence(self, U: Vector) -> Evidence:
        """The discrete problem's own solution."""
        return Evidence(corrected=self.state())
