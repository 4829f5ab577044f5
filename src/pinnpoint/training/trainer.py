"""One small training loop: seeded, in float64, with early stopping and the best checkpoint kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import attributes, number, set_fields, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError

Report = Callable[[int, float, float | None], None]
OPTIMIZERS = ("adam", "adamw", "lbfgs")


@dataclass(frozen=True)
class Settings:
    """How to train.

    Parameters
    ----------
    epochs
        Passes over the data at most.
    rate
        Learning rate.
    optimizer
        ``"adam"``, ``"adamw"`` or ``"lbfgs"`` (full batches; an epoch is one step of up to 20 evaluations).
    batch
        Rows a step; None for all.
    seed
        Of the initial weights and the order of the batches.
    patience
        Epochs without a better (validation) loss before training stops; None to never stop early.
    decay
        The learning rate falls to this multiple over all epochs, along a cosine; 1 keeps it.
    every
        Epochs between reports.
    """

    epochs: int = 600
    rate: float = 2e-3
    optimizer: str = "adam"
    batch: int | None = None
    seed: int = 0
    patience: int | None = None
    decay: float = 1.0
    every: int = 50

    __repr__ = brief

    def __post_init__(self) -> None:
        for name, value in attributes(self, "epochs", "every", "batch", "patience").items():
            if value is not None or name in ("epochs", "every"):
                set_fields(self, **{name: whole(name, value, low=1)})
        set_fields(self, seed=whole("seed", self.seed), rate=number("rate", self.rate, above=0.0))
        number("decay", self.decay, above=0.0, high=1.0)
        if self.optimizer not in OPTIMIZERS:
            raise InputError(f"optimizer: must be one of {', '.join(OPTIMIZERS)}; got {self.optimizer!r}")


@dataclass(frozen=True)
class History:
    """What training did: losses by epoch, the epoch whose weights were kept, and the time it took."""

    loss: tuple[float, ...]
    validation: tuple[float, ...]
    best: int
    seconds: float
    stopped: str = ""

    __repr__ = brief

    @property
    def best_loss(self) -> float:
        """The loss that decided which weights were kept."""
        return (self.validation or self.loss)[self.best]


def seeded(seed: int, make: Callable[[], Any]) -> Any:
    """make() with its own random numbers; the caller's generator is left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def fit(
    module: Any,
    loss: Callable[[Any], Any],
    rows: int,
    settings: Settings,
    validate: Callable[[], float] | None = None,
    report: Report | None = None,
) -> History:
    """Minimise loss(indices of rows) over the module's parameters, in place; keeps the best weights.

    A loss that is no longer finite ends training; the best weights so far are kept.
    """
    order = torch.Generator().manual_seed(settings.seed)
    optimizer = _optimizer(module, settings)
    curve = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: _fraction(k / settings.epochs, settings.decay))
    losses: list[float] = []
    checks: list[float] = []
    best, kept, stopped, start = 0, _weights(module), "", time.perf_counter()
    for epoch in range(settings.epochs):
        weights = _weights(module)  # the loss of a step is that of the weights before it
        losses.append(_epoch(optimizer, loss, rows, settings, order))
        curve.step()
        if validate is not None:
            weights = _weights(module)
            with torch.no_grad():
                checks.append(float(validate()))
        seen = (checks or losses)[-1]
        if not math.isfinite(seen):
            stopped = f"the loss is not finite after {epoch + 1} epochs"
            break
        if epoch == 0 or seen < (checks or losses)[best]:
            best, kept = epoch, weights
        if report is not None and (epoch + 1) % settings.every == 0:
            report(epoch + 1, losses[-1], checks[-1] if checks else None)
        if settings.patience is not None and epoch - best >= settings.patience:
            stopped = f"no better for {settings.patience} epochs"
            break
    module.load_state_dict(kept)
    module.eval()
    return History(tuple(losses), tuple(checks), best, time.perf_counter() - start, stopped)


def _epoch(optimizer: Any, loss: Callable[[Any], Any], rows: int, settings: Settings, order: Any) -> float:
    size = rows if settings.batch is None else min(settings.batch, rows)
    shuffled = torch.randperm(rows, generator=order) if size < rows else torch.arange(rows)
    sum_of = 0.0
    for at in shuffled.split(size):

        def closure(at: ArrayLike = at) -> Any:
            optimizer.zero_grad()
            value = loss(at)
            value.backward()
            return value

        sum_of += float(optimizer.step(closure).detach()) * len(at)
    return sum_of / rows


def _optimizer(module: Any, settings: Settings) -> Any:
    if settings.optimizer == "lbfgs":
        return torch.optim.LBFGS(
            module.parameters(), lr=1.0, max_iter=20, history_size=50, line_search_fn="strong_wolfe"
        )
    kind = torch.optim.Adam if settings.optimizer == "adam" else torch.optim.AdamW
    return kind(module.parameters(), lr=settings.rate)


def _fraction(done: float, end: float) -> float:
    return end + (1.0 - end) * 0.5 * (1.0 + math.cos(math.pi * min(1.0, done)))


def _weights(module: Any) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}
