"""The nouns of every path: prepared certifiers, problems and what they can do, and who watches the work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence, Sized
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Limits, Vector, floats, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.display import rich
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.batch import CertificateBatch
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.printed import changed_line
from pinnpoint.certificates.transfer import Route, Transfer
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.refine import Refiner
from pinnpoint.models.given import Prediction, as_prediction
from pinnpoint.solvers.protocol import Solver
from pinnpoint.systems.derived import Derived
from pinnpoint.systems.queries import Apart, Goal, Queries
from pinnpoint.systems.spaces import ADMISSIBLE, AdmissibleSpace


class Prepared:
    """Everything that does not depend on the state, ready for states."""

    if TYPE_CHECKING:

        @property
        def names(self) -> tuple[str, ...]: ...  # noqa: D102

        @property
        def derived(self) -> tuple[Derived, ...]: ...  # noqa: D102


class Certifier(Prepared, ABC):
    """A prepared method."""

    name: str

    @property
    @abstractmethod
    def queries(self) -> Queries:
        """What is asked."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the queries."""
        return self.queries.names

    @property
    def derived(self) -> tuple[Derived, ...]:
        """What follows from them."""
        return self.queries.derived

    @property
    @abstractmethod
    def load(self) -> Vector:
        """The system's own right-hand side; zero where it has none."""

    def certify(
        self,
        U: ArrayLike,
        *,
        raw: ArrayLike | None = None,
        transfer: Transfer | None = None,
        load: ArrayLike | None = None,
        accept: Limits = None,
        limit: Any = None,
    ) -> Certificate:
        """Intervals for one state.

        Parameters
        ----------
        U
            Admissible coefficient vector.
        raw
            The unprojected model's own outputs at the queries, to be certified as well.
        transfer
            Bounds that carry the discrete target over to the continuous one.
        load
            Another right-hand side b of the same system, where it is linear.
        accept, limit
            How wrong the prediction may be, and where the true value must lie; see `Certificate.judged`.
        """
        _require_transfer(transfer)
        return self._certify(U, raw, transfer, load).judged(accept, limit)

    def certify_many(
        self,
        U_batch: ArrayLike,
        loads: ArrayLike | None = None,
        *,
        raw: ArrayLike | None = None,
        transfer: Transfer | None = None,
        accept: Limits = None,
        limit: Any = None,
    ) -> CertificateBatch:
        """Intervals for many states, shape (states, N), each with its own load where `loads` are given."""
        _require_transfer(transfer)
        states = floats("U_batch", U_batch)
        if states.ndim != 2:
            raise InputError(f"U_batch: must have shape (states, {self.queries.L.shape[1]}); got {states.shape}")
        bs, raws = _of_each("loads", loads, len(states)), _of_each("raw", raw, len(states))
        return CertificateBatch(self._certify_many(states, bs, raws, transfer)).judged(accept, limit)

    @abstractmethod
    def _certify(
        self, U: ArrayLike, raw: ArrayLike | None, transfer: Transfer | None, load: ArrayLike | None
    ) -> Certificate:
        """`certify`, before the prediction is judged."""

    def _certify_many(
        self, states: Vector, loads: Sequence[Any], raws: Sequence[Any], transfer: Transfer | None
    ) -> list[Certificate]:
        """`certify_many` of as many rows each."""
        return [self._certify(U, raw, transfer, b) for U, b, raw in zip(states, loads, raws, strict=True)]

    @abstractmethod
    def evidence(self, U: Vector) -> Evidence:
        """What fields, report and bundle may use of a state."""


def _require_transfer(transfer: Transfer | None) -> None:
    """Refuse what is no transfer."""
    if transfer is not None and not isinstance(transfer, Transfer):
        raise InputError(f"transfer: must be a transfer such as pinnpoint.Comparison(...); got {transfer!r}")


def _of_each(name: str, given: ArrayLike | None, count: int) -> list[Any]:
    """What belongs to each of many states; None where nothing was given."""
    rows = count if given is None else (len(given) if isinstance(given, Sized) else 0)
    if rows != count:
        raise InputError(f"{name}: must have {count} rows, one per state; got {rows}")
    return [None] * count if given is None else list(cast(Sequence[Any], given))


@dataclass(frozen=True, eq=False)
class Extraction:
    """The certified vector and how it came about."""

    U: Vector
    mismatch: Vector
    """Extracted minus admissible, entry by entry: what the boundary conditions changed."""
    how: str
    distance: float = 0.0
    """Largest distance between a given point and its mesh node, where points were matched."""
    given: Vector | None = None
    """The vector before the boundary conditions changed it."""
    by_nodes: bool = False
    """Whether values at nodes are all that was given, so that `given` is the prediction itself."""
    apart: Apart | None = None
    """Where `given` has two values and the problem one."""

    __repr__ = brief

    @property
    def changed(self) -> float:
        """The largest change that the boundary conditions made."""
        return float(np.max(np.abs(self.mismatch), initial=0.0))

    def outputs(self, queries: Queries, value: Vector, raw: Vector | None = None) -> Vector | None:
        """The prediction's own values of the queries, which verdicts are on; None where `value` has them.

        Those of values at nodes are ℓᵀ of them as they were given. A function has outputs of its own, `raw`; where they
        do not make a query, as of a flux, and more than rounding was changed, its values at the nodes stand for it.

        Parameters
        ----------
        value
            The queries' values of `U`.
        """
        if self.given is None or (raw is not None and not np.any(np.isnan(raw))):
            return raw
        slight = self.changed <= ADMISSIBLE * float(np.max(np.abs(self.given), initial=0.0))
        if slight and not self.by_nodes:
            return raw
        needed = np.full(len(queries), not slight) if raw is None else np.isnan(raw) & (not slight)
        rows = None if self.apart is None else self.apart.rows(queries, needed)
        own = queries.before(self.given, self.mismatch, value, rows)
        return own if own is None or raw is None else np.where(np.isnan(raw), own, raw)

    def beside(self, certificate: Certificate, queries: Queries) -> Certificate:
        """The same intervals beside the prediction as it was given, and a note where that is not what was certified."""
        own = self.outputs(queries, certificate.value, certificate.raw)
        judged = certificate if own is None else certificate.beside(own)
        least = 0.0 if self.apart is None or self.given is None else ADMISSIBLE * float(np.max(np.abs(self.given)))
        if not self.by_nodes or self.changed <= least:
            return judged
        return replace(judged, notes=(*judged.notes, f"{changed_line(self.changed)}; it is judged as it was given"))


class Method(Protocol):
    """A way to certify, before it is prepared for a system."""

    def prepare(self, system: Any, queries: Queries, *, discrete: bool = True) -> Certifier:
        """Everything that does not depend on the state."""
        ...


class SelfCertifying(ABC):
    """A problem without a discrete system, which proves its intervals by itself."""

    _repr_html_ = rich

    @abstractmethod
    def certified(self, prediction: Prediction, queries: Queries, budget: int | None = None) -> Certificate:
        """Intervals of the PDE's own solution at the queries."""


class Problem(ABC):
    """A discretized PDE: its system, the way in for predictions, and what its certificates say."""

    surely_linear: ClassVar[bool] = False
    """Whether it is known to be linear before its system is made."""

    if TYPE_CHECKING:  # read-only; each problem has them as fields or as properties

        @property
        def system(self) -> Any: ...  # noqa: D102
        @property
        def space(self) -> AdmissibleSpace: ...  # noqa: D102
        @property
        def mesh(self) -> Mesh: ...  # noqa: D102
        @property
        def degree(self) -> int: ...  # noqa: D102
        @property
        def quadrature(self) -> int: ...  # noqa: D102
        @property
        def components(self) -> int: ...  # noqa: D102
        @property
        def notes(self) -> tuple[str, ...]: ...  # noqa: D102

    @abstractmethod
    def extract(self, prediction: Prediction, how: str = "nodal") -> Extraction:
        """Π_h: the admissible vector of a prediction."""

    def prediction(self, given: Prediction) -> Prediction:
        """A prediction as it was handed in, made into values or a function of what the problem's points are."""
        return cast(Prediction, as_prediction(given))

    def drawn(self, U: Vector) -> dict[str, Vector]:
        """Further fields of a state that people look at, by name, with a row for every node."""
        return {}

    def why_singular(self) -> str:
        """What of the data makes the matrix singular in float64, and what to do; empty where nothing is known to."""
        return ""

    @abstractmethod
    def fingerprint(self, what: str) -> str:
        """A digest of what queries may have been made from: "mesh", "matrix", "load", "group '…'" or "cells '…'"."""

    def require_discrete(self) -> None:
        """Refuse a mesh that stands for other elements than its own: their discrete solution is another one."""
        if self.mesh.is_cut:  # curved.md, step 4a
            raise InputError(
                "target: the file's elements were cut into simplices, whose discrete solution is not theirs; certify "
                "the PDE's own solution (target='continuous'), or give their matrix (pp.LinearSystem)"
            )

    @abstractmethod
    def finish(
        self, certificate: Certificate, queries: Queries, U: Vector, certifier: Certifier, *, own: bool
    ) -> Certificate:
        """The same intervals with what they are of, and what is to be said of them; `own`: by its own transfer."""


class Transferable(Problem):
    """A problem with a proved way to the PDE's own solution."""

    @abstractmethod
    def require_transfer(self) -> None:
        """Refuse data for which no transfer to the PDE's own solution is proved."""

    @abstractmethod
    def transfer(self, queries: Queries, tolerance: Limits = None, budget: int | None = None) -> Route:
        """The way from these queries' discrete values to the PDE's own solution."""

    def prepared(self, method: Method, route: Route) -> Certifier:
        """A method, ready for states that the route carries over."""
        return method.prepare(self.system, route.functionals, discrete=False)

    @abstractmethod
    def ask(self, goals: Sequence[Goal | None], names: Sequence[str]) -> Queries:
        """Queries for what is asked of the PDE's own solution."""

    @abstractmethod
    def refined(self, mesh: Mesh, parents: Index) -> Self:
        """The same problem on a refined mesh, whose cells came from these."""

    cuts: int = 1
    """How often marked cells are bisected at a time."""
    helpers: Any = None
    """Other processes that take part in the work of the transfer (`transfer.helpers.Helpers`)."""

    def shared(self, helpers: Any) -> Self:
        """The same problem, with others that take part in the work of its transfer."""
        shared = copy(self)
        set_fields(shared, helpers=helpers)
        return shared

    def refiner(self) -> Refiner:
        """How the mesh is refined."""
        return Refiner(self.mesh)

    @property
    def unknowns(self) -> int:
        """Of the discrete problem."""
        return int(self.system.n)

    def ahead(self, share: float) -> float:
        """About how many unknowns the problem will have once so much of the cells is refined."""
        return self.unknowns * (1.0 + 2.0 * share)

    def carried(self, given: Vector, refiner: Refiner) -> Vector:
        """Values at the nodes, before boundary conditions, as values at those of the refined problem."""
        return refiner.prolong(given if self.components == 1 else given.reshape(-1, self.components))

    def unsolved(self, queries: Queries, budget: int | None = None) -> Certificate:
        """Intervals of extremes with no solve at all, where the problem has them."""
        raise InputError(f"query '{queries.names[0]}': needs a solve here; leave solve=False out")

    def beside(self, certificate: Certificate, queries: Queries, U: Vector, raw: Vector | None) -> Certificate:
        """The intervals of the route beside the prediction's own values."""
        return certificate.seen_at(queries, U, raw)


class Forecast(Protocol):
    """What a lift will cost."""

    @property
    def seconds(self) -> float: ...  # noqa: D102
    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def long(self) -> bool: ...  # noqa: D102


class Liftable(Transferable):
    """A problem that can keep a prediction unprojected and certify what it leaves over."""

    @abstractmethod
    def lift_of(self, prediction: Prediction) -> Any:
        """The prediction as a lift of this problem, or a refusal."""

    @abstractmethod
    def lifted(self, prediction: Prediction) -> Transferable:
        """The problem of what a prediction leaves over, to be certified in the place of this one."""

    @abstractmethod
    def lift_cost(self, lift: Any, queries: int) -> Forecast:
        """What a lift will cost, before it is begun."""

    @abstractmethod
    def require_worth(self, lift: Any, plain: Certificate, solver: Solver, ahead: Forecast) -> None:
        """Refuse a lift that is forecast to make the proof no narrower than `plain`."""


@dataclass(frozen=True)
class Step:
    """One mesh on the way."""

    dofs: int
    cells: int
    radius: Vector
    """Radii of all queries."""
    expected: float
    """Unknowns at which the tolerance is expected, from the last two steps; NaN at first."""

    __repr__ = brief


class Events:
    """Who watches the work; what is of no interest stays as it is here."""

    def stage(self, text: str) -> None:
        """A stage begins."""

    def meshed(self, mesh: Mesh) -> None:
        """The mesh is there, and nothing has been made on it."""

    def prepared(self, certifier: Certifier) -> None:
        """The certifier of a discrete target is ready, and no state has been certified."""

    def refined(self, step: Step) -> None:
        """One more mesh on the way to a tolerance is certified."""
