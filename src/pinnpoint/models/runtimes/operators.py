"""Neural operators of other libraries: from coefficients on pictures to predictions, a chunk of instances at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats, point_list, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import DependencyMissingError, InputError

CHUNK = 16
"""Instances handed to a model at once."""


@dataclass(frozen=True, eq=False)
class OperatorPredictor:
    """From coefficients (S, …) to predictions (S, …) in float64.

    Attributes
    ----------
    evaluate
        From at most `chunk` instances to as many predictions.
    description
        Library and number format.
    """

    evaluate: Callable[[Vector], Any]
    description: str
    chunk: int = CHUNK

    __repr__ = brief

    def __post_init__(self) -> None:
        whole("chunk", self.chunk, low=1)

    def __call__(self, kappas: Any) -> Vector:
        """Predictions for coefficients, which may be memory-mapped: a chunk is read at a time."""
        parts = []
        for start in range(0, len(kappas), self.chunk):
            K = floats("kappas", kappas[start : start + self.chunk])
            found = floats("prediction", self.evaluate(K))
            if len(found) != len(K):
                raise InputError(f"model: must give a prediction for each of {len(K)} coefficients; got {found.shape}")
            parts.append(found)
        if not parts:
            raise InputError("kappas: there are none")
        return np.concatenate(parts)


def neuralop_operator(model: Any, *, processor: Any = None, chunk: int = CHUNK) -> OperatorPredictor:
    """A model of neuraloperator, such as an FNO, from κ (S, n_x, n_y) to u (S, n_x, n_y).

    Parameters
    ----------
    model
        A torch module from (S, 1, n_x, n_y) to (S, 1, n_x, n_y).
    processor
        The data processor it was trained with: its ``in_normalizer`` and ``out_normalizer`` are applied, where it has
        any.
    """
    try:
        import torch
    except ImportError as error:
        raise DependencyMissingError("neuralop_operator needs torch: pip install 'pinnpoint[neuralop]'") from error
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"model: must be a torch module; got {type(model).__name__}")
    into, back = (getattr(processor, name, None) for name in ("in_normalizer", "out_normalizer"))
    dtype = next((p.dtype for p in model.parameters() if not p.is_complex()), torch.float32)

    def evaluate(K: Vector) -> Any:
        training = model.training
        model.eval()
        try:
            with torch.no_grad():
                x = torch.as_tensor(K, dtype=dtype)[:, None]
                out = model(x if into is None else into.transform(x))
                out = out if back is None else back.inverse_transform(out)
        finally:
            model.train(training)
        if out.ndim != 4 or out.shape[1] != 1:
            raise InputError(f"model: must return one channel, (S, 1, n_x, n_y); got {tuple(out.shape)}")
        return out[:, 0]

    return OperatorPredictor(evaluate, f"{type(model).__name__}, torch {torch.__version__}, {dtype}", chunk)


def deeponet_operator(model: Any, points: ArrayLike, *, sensors: Any = None, chunk: int = CHUNK) -> OperatorPredictor:
    """A DeepONet of DeepXDE (``DeepONetCartesianProd``), from κ (S, …) to u at points (S, N), such as a mesh's nodes.

    Parameters
    ----------
    model
        A compiled ``deepxde.Model``.
    points
        Where the trunk is evaluated, (N, d).
    sensors
        Which numbers of the flattened κ the branch takes; all by default.
    """
    if not callable(getattr(model, "predict", None)) or not hasattr(model, "net"):
        raise InputError(f"model: must be a deepxde.Model with a net; got {type(model).__name__}")
    import deepxde  # it made the model, so it is there

    dtype = np.dtype(deepxde.config.default_float())
    given = np.asarray(points)
    trunk = point_list("points", given, len(given)).astype(dtype)

    def evaluate(K: Vector) -> Any:
        branch = K.reshape(len(K), -1) if sensors is None else K.reshape(len(K), -1)[:, np.asarray(sensors)]
        out = np.asarray(model.predict((branch.astype(dtype), trunk)))
        if out.shape != (len(K), len(trunk)):
            raise InputError(f"model: must return values (S, N) = {(len(K), len(trunk))}; got {out.shape}")
        return out

    return OperatorPredictor(evaluate, f"deepxde {deepxde.__version__} DeepONet, {dtype.name}", chunk)
