"""The fields that studies certify: numerical PINNs trained here where torch is installed, else labelled stand-ins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import DependencyMissingError

TRAINED = "trained"
STAND_IN = "seeded perturbation of the solution"


@dataclass(frozen=True, eq=False)
class Prediction:
    """A callable field, where it comes from, and its training loss."""

    field: Callable[[Any], Vector]
    kind: str
    loss: float


def trainer() -> Any:
    """The training package, or None where torch is missing."""
    try:
        from pinnpoint import training
    except DependencyMissingError:
        return None
    return training


def predict(problem: Any, exact: Callable[[Vector], Vector], seed: int, epochs: int, size: float) -> Prediction:
    """Train on the problem's compatible residual: 3 hidden layers of 96 tanh units, Adam, rate 2e-3 (the paper's).

    Without torch: u* plus `size` times a smooth random field that vanishes on the boundary of the unit box.
    """
    training = trainer()
    if training is not None:
        import torch

        torch.set_num_threads(1)
        found = training.train_field(problem, training.Settings(epochs=epochs, rate=2e-3, seed=seed))
        return Prediction(found, TRAINED, float(found.history.best_loss))
    rng = np.random.default_rng([seed, 11])
    waves, sizes = rng.integers(1, 6, (12, problem.mesh.dim)), rng.normal(size=12)

    def field(X: Any) -> Vector:
        X = np.asarray(X, dtype=float)
        bends = np.prod(np.sin(np.pi * waves[:, None, :] * X[None, :, :]), axis=2)
        return np.asarray(exact(X) + size * (sizes @ bends))

    return Prediction(field, STAND_IN, 0.0)


def source_of(kinds: Any) -> str:
    """What the predictions are, in words for tables and captions."""
    kinds = set(kinds)
    if kinds == {TRAINED}:
        return "numerical PINNs trained here (3 × 96 tanh, Adam 2e-3)"
    return f"no trained networks (torch is not installed): a {STAND_IN}"
