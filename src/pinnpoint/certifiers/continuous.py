"""Certificates of a nonlinear PDE's own solution by a transfer that stands alone: nothing discrete is proved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.assembly import Findings, assemble
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.transfer import Transfer, TransferContext
from pinnpoint.certifiers.core import Core
from pinnpoint.certifiers.green import FEW, FILLS_FROM
from pinnpoint.certifiers.ground import own_values
from pinnpoint.certifiers.nonlinear.basepoint import ReducedQueries
from pinnpoint.certifiers.protocols import Certifier
from pinnpoint.certifiers.setup import solver_for
from pinnpoint.rounding.arithmetic import LIMIT, norm_up
from pinnpoint.solvers.choice import Task
from pinnpoint.solvers.protocol import Solver, answer
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.semilinear.base import AbstractSemilinear

STEPS = 400
"""Newton steps at most; a cubic's take off a third each until they are near."""


def newton(system: LinearSystem, y: Vector, few: bool = True) -> tuple[Vector, Solver]:
    """Damped Newton steps towards the root of a monotone system, and the solver of the last Jacobian; not trusted.

    F is the gradient of a convex function, whose slope along the step, −dᵀF, tells when a step goes too far.
    """
    before = np.inf
    solver, d = _step(system, y, few)
    for _ in range(STEPS):
        y, size = _searched(system, y, d)
        length, scale = float(np.max(np.abs(size * d), initial=0.0)), float(np.max(np.abs(y), initial=0.0))
        if length <= 1e-13 * scale or (length <= 1e-9 * scale and length > 0.3 * before):
            break
        before = length
        solver, d = _step(system, y, few)
    return y, solver


def _searched(system: Any, y: Vector, d: Vector) -> tuple[Vector, float]:
    """The state after a step, and the share of it that was taken."""
    size = 1.0
    with np.errstate(all="ignore"):
        drop = float(d @ system.residual(y, rounding=False).hi)
        while size > 1e-200:
            slope = float(d @ system.residual(y - size * d, rounding=False).hi)
            if slope >= -0.9 * abs(drop):
                break
            size *= 0.5 if slope >= -1e6 * abs(drop) else 1e-2
    return y - size * d, size


def _step(system: Any, y: Vector, few: bool) -> tuple[Solver, Vector]:
    with np.errstate(all="ignore"):
        J, _ = system.jacobian(y, rounding=False)
        F = system.residual(y, rounding=False).hi
    if not (np.all(np.isfinite(F)) and float(np.max(np.abs(J.data), initial=0.0)) < LIMIT):
        raise CertificationError(
            "the reaction leaves the range of float64 on the way to the discrete root; start from a smaller prediction "
            "or rescale the problem"
        )
    core = Core(LinearSystem(J, np.zeros(system.n)), rounding=False)
    fills = few and system.n > FILLS_FROM and Task.of(J, None).solid
    solver = solver_for(core, "krylov" if fills else None)[0]
    return solver, answer(solver.solve, F)


def require_own_load(load: ArrayLike | None) -> None:
    """Refuse another load."""
    if load is not None:
        raise InputError("load: nonlinear systems are certified under their own; build the system with that load")


class NonlinearCertifier(Certifier):
    """What all certifiers of nonlinear systems have."""

    if TYPE_CHECKING:  # fields of each

        @property
        def system(self) -> Any: ...  # noqa: D102
        @property
        def seen(self) -> ReducedQueries: ...  # noqa: D102

    @property
    def queries(self) -> Queries:
        """What is asked."""
        return self.seen.queries

    @property
    def load(self) -> Vector:
        """The system's own right-hand side; a residual function has none."""
        return self.system.b if isinstance(self.system, AbstractSemilinear) else np.zeros(self.system.N)

    def start(self, U: ArrayLike, name: str = "U") -> Vector:
        """Free coordinates of an admissible state."""
        space = self.system.space
        return np.asarray(space.require_member(vector(name, U, space.N), name))


@dataclass(frozen=True, eq=False)
class ContinuousCertifier(NonlinearCertifier):
    """A nonlinear method whose target is the PDE's own solution.

    The state of the transfer is the discrete root as Newton's method finds it, so that the interval does not depend on
    the prediction (beyond rounding); the prediction's distance from it is the term ``correction``.
    """

    system: Any
    seen: ReducedQueries
    name: str

    __repr__ = brief

    def newton(self, U: ArrayLike) -> Vector:
        """The discrete root near an admissible state."""
        return np.asarray(self.system.space.vector_of(newton(self.system, self.start(U))[0]))

    def evidence(self, U: Vector) -> Evidence:
        """The discrete root near a state."""
        return Evidence(corrected=self.newton(U))

    def _certify(
        self, U: ArrayLike, raw: ArrayLike | None, transfer: Transfer | None, load: ArrayLike | None
    ) -> Certificate:
        require_own_load(load)
        queries, start = self.seen.queries, self.start(U)
        values = self.seen.values(start)
        raw = own_values(queries, self.system.space, U, start, values) if raw is None else raw
        value, _ = values.rounded()
        if not isinstance(transfer, Transfer):
            raise InputError("transfer: prepared for the continuous target, which needs the problem's own transfer")
        roots: list[Vector] = []

        def root(b: Vector) -> tuple[Vector, Any]:
            y, solver = newton(replace(self.system, b=b), start, len(queries) <= FEW)
            roots.append(y)
            return self.system.space.vector_of(y), lambda r: answer(solver.solve, r)

        bound = transfer.bound(self._context(root))
        if bound.center is None or not roots:
            raise CertificationError("transfer: needs a proved discrete target; prepare with discrete=True")
        correction = value - self.seen.values(roots[0]).rounded()[0]
        claims = [Claim(n) for n in (*queries.notes, *self.system.space.notes)]
        findings = Findings(
            queries=queries,
            method=self.name,
            value=value,
            center=bound.center,
            terms={"correction": np.abs(correction)},
            counted=(),
            claims=claims,
            lasting=claims,
            correction=correction,
            residual_norm=norm_up(np.asarray(self.system.residual(start).magnitude())),
            dofs=self.system.n,
        )
        return assemble(findings, bound, raw)

    def _context(self, root: Any) -> TransferContext:
        return TransferContext(
            self.seen.queries.names,
            None,
            lambda U: norm_up(np.asarray(self.system.residual(self.start(U)).magnitude())),
            False,
            None,
            self.system.space.free,
            root=root,
        )
