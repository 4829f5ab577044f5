"""Training that is watched by what is proved of its network, and stops when that is good enough.

A loss is a mean over some points: it says nothing of the error anywhere else, and no number of points changes that.
What is watched here is a bound of the error itself, in exact arithmetic, of the network with the weights that training
has reached.
"""

from __future__ import annotations

import csv
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pinnpoint.base.arrays import number, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, DependencyMissingError, InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Guarantee
from pinnpoint.certifiers.verb import certify
from pinnpoint.fem.problem import ScalarProblem
from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks.torch import is_tensor
from pinnpoint.systems.queries import Queries


@dataclass(frozen=True)
class Check:
    """What was proved of a network on the way.

    Attributes
    ----------
    step, loss
        When, and the loss that training had there.
    lower, upper
        Bounds of the largest error of the queries: of the network over the whole domain, by default. Infinite where
        nothing is proved.
    seconds, training
        What the check took, and how long training had gone on before it, checks not counted.
    """

    step: int
    loss: float
    lower: float
    upper: float
    seconds: float
    training: float


@dataclass(eq=False)
class Certified:
    """Certifies a network every so many steps of its training, and says when to stop.

        watch = Certified(problem, below=1e-2, every=500, factor="x*(1-x)*y*(1-y)")
        for step in range(20_000):
            …
            if watch(step, loss, module):
                break

    *Guarantee:* where it says stop, the network as it is then is proved to be wrong by at most `below`, everywhere or
    in the queries that were given. *Cost:* at most about the share `budget` of the training time, but for the first
    check.

    Parameters
    ----------
    problem
        What the network is to solve: `fem.ReactionDiffusion` with data given by numbers and formulas, κ and c the same
        everywhere. Its mesh is for the proof; a coarse one will do, and makes checks cheap.
    below
        The error at which training may stop; None to watch alone.
    every
        Steps between checks, at least.
    budget
        The largest share of the training time that checks may take; a check that would exceed it waits.
    queries
        What the error is of; by default all of the domain, ``problem.everywhere(solve=False)``, without any solve.
    factor, offset, inputs
        What is done to the network, as in `Lift`: u = offset + factor · network(inputs).
    """

    problem: ScalarProblem
    below: float | None = None
    every: int = 500
    budget: float = 0.2
    queries: Queries | None = None
    factor: Any = None
    offset: Any = None
    inputs: Sequence[Any] | None = None
    history: list[Check] = field(default_factory=list, init=False)
    certificate: Certificate | None = field(default=None, init=False)
    """Of the last check."""
    _begun: float | None = field(default=None, init=False)
    _next: int = field(default=0, init=False)

    __repr__ = brief

    def __post_init__(self) -> None:
        if not isinstance(self.problem, ScalarProblem):
            raise InputError(f"problem: must be a scalar problem, such as fem.ReactionDiffusion; got {self.problem!r}")
        self.below = None if self.below is None else number("below", self.below, above=0.0)
        self.every = whole("every", self.every, low=1)
        self.budget = number("budget", self.budget, above=0.0)

    def __call__(self, step: int, loss: Any, network: Any) -> bool:
        """Whether training may stop; to be called after every step. Most calls do nothing.

        Parameters
        ----------
        step, loss
            The number of the step, and the loss there: a number or a tensor of one.
        network
            A torch module that `models.from_torch` reads, an `MLP`, or anything else that `Lift` takes.
        """
        return self.due(step) and self.good(self.check(step, loss, network))

    def due(self, step: int) -> bool:
        """Whether a check is due after a step and within the budget; training begins with the first question."""
        now = time.perf_counter()
        if self._begun is None:
            self._begun, self._next = now, step + self.every - 1
        if step < self._next:
            return False
        later = [check.seconds for check in self.history[1:]]  # the first one has much to load and to compile
        return not later or math.fsum(later) + later[-1] <= self.budget * self._trained(now)

    def check(self, step: int, loss: Any, network: Any) -> Check:
        """Certify the network as it is, whatever that costs."""
        begun = time.perf_counter()
        trained = self._trained(begun)
        if self._begun is None:
            self._begun = begun
        self._next = step + self.every
        lower, upper = self._proved(self.lift(network))
        value = float(loss.detach() if is_tensor(loss) else loss)
        self.history.append(Check(int(step), value, lower, upper, time.perf_counter() - begun, trained))
        return self.history[-1]

    def lift(self, network: Any) -> Lift:
        """The function that is certified."""
        return network if isinstance(network, Lift) else Lift(network, self.factor, self.offset, self.inputs)

    def good(self, check: Check) -> bool:
        """Whether a check proves what training is to reach."""
        return self.below is not None and check.upper <= self.below

    def _proved(self, lift: Lift) -> tuple[float, float]:
        asked = self._everywhere() if self.queries is None else self.queries
        try:
            found = certify(self.problem, lift, asked, lift=True)
        except CertificationError:  # no bound is a bound
            self.certificate = None
            return 0.0, math.inf
        self.certificate = found
        assert found.off is not None
        least, most = (float(np.max(x)) for x in found.off)
        return (0.0, math.inf) if found.guarantee is Guarantee.ESTIMATE else (least, most)

    def _everywhere(self) -> Queries:
        ask: Callable[..., Queries] = self.problem.everywhere  # type: ignore[attr-defined]
        return ask(solve=False)

    @property
    def checking(self) -> float:
        """Seconds spent on checks."""
        return math.fsum(check.seconds for check in self.history)

    def _trained(self, now: float) -> float:
        return 0.0 if self._begun is None else max(0.0, now - self._begun - self.checking)

    @property
    def share(self) -> float:
        """Time of the checks against that of training up to the last of them; NaN before the first."""
        if not self.history or self.history[-1].training <= 0.0:
            return math.nan
        return self.checking / self.history[-1].training

    @property
    def reached(self) -> Check | None:
        """The first check that proves what training is to reach."""
        return next((check for check in self.history if self.good(check)), None)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """The history as a table."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.DictWriter(file, list(Check.__dataclass_fields__), lineterminator="\n")
            rows.writeheader()
            rows.writerows(asdict(check) for check in self.history)

    def plot(self, ax: Any = None) -> Any:
        """The loss and the proved error over the steps, with what the checks cost; the axes."""
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise DependencyMissingError("plot needs matplotlib: pip install 'pinnpoint[plot]'") from error
        ax = pyplot.subplots()[1] if ax is None else ax
        steps = [check.step for check in self.history]
        upper = [check.upper if math.isfinite(check.upper) else math.nan for check in self.history]
        ax.plot(steps, [check.loss for check in self.history], "o--", color="#888888", label="loss")
        ax.plot(steps, upper, "o-", color="#1f5f8b", label="proved error")
        ax.fill_between(steps, [max(check.lower, 1e-300) for check in self.history], upper, color="#1f5f8b", alpha=0.2)
        if self.below is not None:
            ax.axhline(self.below, color="#c8913a", linewidth=1.0, label=f"stop below {self.below:g}")
        ax.set_yscale("log")
        ax.set_xlabel("step")
        share = "" if math.isnan(self.share) else f"checks took {100.0 * self.share:.1f} % of the training time"
        ax.set_title(share, fontsize="medium")
        ax.legend()
        return ax
