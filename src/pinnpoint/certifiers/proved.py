"""Intervals of a problem's own solution, proved once: every prediction is compared with them.

The interval of a point or an average is the same for every prediction. That of the largest error, or of a norm of it,
is made anew for each from bounds that do not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, per_query
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.printed import CHANGED
from pinnpoint.certificates.settled import settled
from pinnpoint.certificates.transfer import Transfer
from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.protocols import Certifier, Problem
from pinnpoint.certifiers.verb import outputs_of, run
from pinnpoint.systems.queries import Queries


@dataclass(frozen=True, eq=False)
class Proved(Certifier):
    """A certificate of the continuous target, for any prediction by its values at nodes or as a function."""

    problem: Problem
    asked: Queries
    certificate: Certificate
    name: str = "exact"

    __repr__ = brief

    @classmethod
    def of(cls, problem: Problem, queries: Queries) -> Proved:
        """Certify the problem's own solution once."""
        if not isinstance(problem, Problem):
            raise InputError(f"problem: must be one of pinnpoint.fem; got {type(problem).__name__}")
        found = run(Exact(), problem, problem.system.space.U0, queries, target="continuous")[0]
        return cls.known(problem, queries, found)

    @classmethod
    def known(cls, problem: Problem, queries: Queries, certificate: Certificate) -> Proved:
        """From a certificate of some prediction, without the notes on that one."""
        notes = tuple(note for note in certificate.notes if not note.startswith(CHANGED))
        return cls(problem, queries, replace(certificate, notes=notes))

    @property
    def queries(self) -> Queries:
        """What is asked."""
        return self.asked

    @property
    def load(self) -> Vector:
        """The problem's own; no other is certified."""
        return np.asarray(self.problem.system.b)

    def evidence(self, U: Vector) -> Evidence:
        """That of the proof."""
        return self.certificate.evidence

    def _certify(self, U: Any, raw: ArrayLike | None, transfer: Transfer | None, load: ArrayLike | None) -> Certificate:
        if transfer is not None or load is not None:
            raise InputError("transfer, load: the solution of this very problem is proved already; leave them out")
        given = self.problem.extract(U)
        outputs = outputs_of(U, self.queries) if raw is None else per_query("raw", raw, len(self.queries))
        seen = given.beside(self.certificate.seen_at(self.queries, given.U, outputs), self.queries)
        return settled(seen, given.U if given.given is None else given.given)
