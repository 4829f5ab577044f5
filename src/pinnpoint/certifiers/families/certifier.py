"""A prepared family: intervals for any μ, with or without a predicted state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Limits, Vector, floats, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certifiers.base import AbstractCertifier
from pinnpoint.certifiers.families.batch import FamilyBatch
from pinnpoint.certifiers.families.reduced import ReducedStates
from pinnpoint.certifiers.families.residuals import ResidualNorms, lengths_up
from pinnpoint.certifiers.families.table import Table, fill, total
from pinnpoint.certifiers.ground import Ground
from pinnpoint.certifiers.protocols import Prepared
from pinnpoint.models.given import Prediction
from pinnpoint.rounding.arithmetic import require_range
from pinnpoint.systems.derived import Derived
from pinnpoint.systems.queries import Queries

BLOCK_BYTES = 64_000_000
"""Predicted states that are held at once, in bytes."""
GROUP = 16
"""States that the compiled product of `ResidualNorms` takes at a time."""


def prepare(certifier: AbstractCertifier, F: Vector, base: Vector) -> FamilyCertifier:
    """Fill the table of a prepared method."""
    return FamilyCertifier(certifier, F, base, fill(certifier, F, base))


@dataclass(frozen=True, eq=False)
class FamilyCertifier(Prepared):
    """`LoadFamily`, prepared for queries.

    The tightest interval of ℓᵀU*(μ) needs μ alone: the signed correction of any state recovers the discrete target, so
    the corrected centre is the same for all of them. A state adds its value, residual norm and distance.
    """

    certifier: AbstractCertifier
    F: Vector
    base: Vector
    table: Table

    __repr__ = brief

    @property
    def ground(self) -> Ground:
        """System, queries and proof."""
        return self.certifier.ground

    @property
    def queries(self) -> Queries:
        """What is asked."""
        return self.ground.queries

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the queries."""
        return self.queries.names

    @property
    def derived(self) -> tuple[Derived, ...]:
        """What follows from them."""
        return self.queries.derived

    def certify(
        self,
        prediction: Prediction | None = None,
        *,
        mu: ArrayLike | None,
        raw: ArrayLike | None = None,
        residuals: bool = True,
        accept: Limits = None,
        limit: Any = None,
    ) -> Certificate:
        """One load: an admissible state, raw outputs at the queries, both, or none; verdicts as in `certify_many`."""
        state, outputs = (
            None if x is None else _row(name, x) for name, x in (("prediction", prediction), ("raw", raw))
        )
        asked = {"accept": accept, "limit": limit}
        many = self.certify_many(state, _row("mu", mu), raw=outputs, residuals=residuals, **asked)
        certificate: Certificate = many[0]
        return certificate

    def certify_raw(self, raw: ArrayLike, mu: ArrayLike, *, accept: Limits = None, limit: Any = None) -> FamilyBatch:
        """Raw outputs (S, K) alone, at O(K p) a load."""
        return self.certify_many(None, mu, raw=raw, accept=accept, limit=limit)

    def certify_many(
        self,
        predictions: Prediction,
        mu: ArrayLike,
        *,
        raw: ArrayLike | None = None,
        residuals: bool = True,
        block: int | None = None,
        report: Callable[[int, int], None] | None = None,
        accept: Limits = None,
        limit: Any = None,
    ) -> FamilyBatch:
        """Many loads, in blocks.

        Parameters
        ----------
        predictions
            Admissible states (S, N), which may be a memory map; a function from a block of μ to states; or None where
            only raw outputs are to be certified.
        mu
            (S, p).
        raw
            The model's own outputs at the queries, (S, K).
        residuals
            Bound ‖r‖_W of every state as well: one sparse product each.
        block
            States held at once; by default as many as fit in 64 MB.
        report
            Called after each block with the number done and the number of all.
        accept, limit
            How wrong predictions may be, and where true values must lie; see `Certificate.judged`.
        """
        self.ground.core.require_sound()
        m = self.table.coefficients(mu)
        outputs = self._outputs(raw, len(m))
        value = norms = None
        if predictions is not None:
            value, norms, own = self._states(predictions, m, residuals, block, report)
            outputs = own if outputs is None else outputs
        return self.batch(m, value, outputs, norms).judged(accept, limit)

    def reduced(self, V: ArrayLike, offset: ArrayLike | None = None) -> ReducedCertifier:
        """For predictors U = offset + V a: products with V are made once. See `ReducedStates`."""
        return ReducedCertifier(self, ReducedStates(self.ground, self.F, self.base, V, offset))

    def batch(self, mu: Vector, value: Vector | None, raw: Vector | None, norms: Vector | None) -> FamilyBatch:
        """Centres and radii from the table, beside what the states gave."""
        center, terms = self.table.combine(mu)
        for name, found in (("mu", center), ("predictions", value)):
            if found is not None and not np.all(np.isfinite(found)):
                row = int(np.argmin(np.isfinite(found).all(axis=1)))
                raise InputError(f"{name}: row {row} leads to values beyond the range of float64; rescale the loads")
        return FamilyBatch(
            queries=self.queries,
            mu=mu,
            center=center,
            radius=total(terms, center.shape),
            terms=terms,
            value=value,
            raw=raw,
            residual_norm=norms,
            guarantee=self.table.guarantee,
            confidence=self.table.confidence,
            covered=self.table.covered,
            method=f"{self.certifier.name} (load family)",
            claims=self.table.claims,
            sigma=self.table.sigma,
            dofs=self.ground.core.system.n,
        )

    def _outputs(self, raw: ArrayLike | None, count: int) -> Vector | None:
        if raw is None:
            return None
        a = floats("raw", raw)
        if a.shape != (count, self.ground.K):
            raise InputError(f"raw: must have shape ({count}, {self.ground.K}), loads by queries; got {a.shape}")
        if not np.all(np.isfinite(a)):
            raise InputError(f"raw: row {int(np.argmin(np.isfinite(a).all(axis=1)))} holds NaN or infinity")
        return a

    @cached_property
    def _norms(self) -> ResidualNorms:
        return ResidualNorms(self.ground, self.F, self.base)

    def _states(self, given: Any, mu: Vector, residuals: bool, block: int | None, report: Any) -> Any:
        """Values, residual norms, and the values of states as they were given where some are admissible only almost."""
        L, constants = self.ground.queries.stored, self.ground.queries.constants
        used = np.unique(L.indices)
        some = used.size < L.shape[1] // 4
        L = L[:, used] if some else L
        value = np.empty((len(mu), self.ground.K))
        norms = np.empty(len(mu)) if residuals else None
        changed = dict[int, Vector]()
        for at, U, lengths, before in self._blocks(given, mu, block):
            value[at] = (L @ (U[:, used] if some else U).T).T + constants
            for i, V in before.items():
                own = self.queries.before(V, V - U[i], value[at][i])
                changed |= {} if own is None else {at.start + i: own}
            if norms is not None:
                norms[at] = self._norms(U, mu[at], lengths)
            if report is not None:
                report(at.stop, len(mu))
        if not changed:
            return value, norms, None
        outputs = value.copy()
        outputs[list(changed)] = list(changed.values())
        return value, norms, outputs

    def _blocks(
        self, given: Any, mu: Vector, block: int | None
    ) -> Iterator[tuple[slice, Vector, Vector, dict[int, Vector]]]:
        """States that are finite and admissible, by blocks, upper bounds of their lengths, and those changed for it."""
        space, N, count = self.ground.core.system.space, self.ground.core.system.N, len(mu)
        step = whole("block", _fitting(N) if block is None else block, low=1)
        if not callable(given) and np.shape(given) != (count, N):
            raise InputError(f"predictions: must have shape ({count}, {N}), one state per load; got {np.shape(given)}")
        for a in range(0, count, step):
            at = slice(a, min(a + step, count))
            U = floats("predictions", given(mu[at]) if callable(given) else given[at], copy=False)
            if U.shape != (at.stop - at.start, N):
                raise InputError(f"predictions: must give {at.stop - at.start} states of length {N}; got {U.shape}")
            lengths = lengths_up(U)
            if not np.all(np.isfinite(lengths)) and not np.all(np.isfinite(U)):
                raise InputError(f"predictions: state {a + int(np.argmin(np.isfinite(U).all(axis=1)))} is not finite")
            off = space.free is None or (U[:, space.fixed] != space.U0[space.fixed]).any(axis=1)
            for i in np.flatnonzero(np.broadcast_to(off, len(U))):
                space.require_member(U[i], f"predictions[{a + i}]")
            before = dict[int, Vector]()
            if space.free is not None and np.any(off):  # what is certified has its prescribed values exactly
                before = {int(i): U[i] for i in np.flatnonzero(off)}
                U = U.copy()
                U[:, space.fixed] = space.U0[space.fixed]
                lengths = lengths_up(U)
            yield at, U, lengths, before


def _row(name: str, x: Any) -> Vector:
    a = floats(name, x, copy=False)
    if np.ndim(x) != 1:
        raise InputError(f"{name}: must be a vector; got shape {np.shape(x)}; certify_many takes many")
    return a[None, :]


def _fitting(N: int) -> int:
    """States of a block: whole groups of the compiled product where one fits."""
    fit = max(1, BLOCK_BYTES // (8 * N))
    return fit - fit % GROUP if fit > GROUP else fit


@dataclass(frozen=True, eq=False)
class ReducedCertifier:
    """`FamilyCertifier` for states U_a + V a given by their coefficients."""

    family: FamilyCertifier
    states: ReducedStates

    __repr__ = brief

    def certify_many(
        self,
        coefficients: ArrayLike | Callable[[Vector], Vector],
        mu: ArrayLike,
        *,
        raw: ArrayLike | None = None,
        accept: Limits = None,
        limit: Any = None,
    ) -> FamilyBatch:
        """Coefficients (S, m) and μ (S, p), or a function from μ to coefficients."""
        m = self.family.table.coefficients(mu)
        a = floats("coefficients", coefficients(m) if callable(coefficients) else coefficients)
        if a.shape != (len(m), self.states.m) or not np.all(np.isfinite(a)):
            raise InputError(f"coefficients: must be finite, shape ({len(m)}, {self.states.m}); got {a.shape}")
        require_range("coefficients", a)
        with np.errstate(over="ignore", invalid="ignore"):
            value = a @ self.states.values.T + self.states.constant
        found = self.family.batch(m, value, self.family._outputs(raw, len(m)), self.states.norms(a, m))
        return found.judged(accept, limit)
