"""Torch modules on points, as they are: in evaluation mode, without gradients, in their own number format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from pinnpoint.arrays import Vector
from pinnpoint.errors import DependencyMissingError, InputError
from pinnpoint.models.adapters.predictor import CHUNK, Predictor

TRIAL = 16
"""Points at which a module is asked twice: together with others, and alone."""


def torch_predictor(module: Any, *, chunk: int = CHUNK) -> Predictor:
    """An ``nn.Module`` that maps (N, d) to (N,) or (N, c).

    It is evaluated in evaluation mode (and put back afterwards), on the device and in the dtype of its parameters;
    `from_torch` reads plain networks exactly instead, which the neural lift needs. One that answers otherwise when it
    is asked again, or in other company, is no function of points and refused.
    """
    try:
        import torch
    except ImportError as error:
        raise DependencyMissingError("torch_predictor needs torch: pip install 'pinnpoint[torch]'") from error
    if isinstance(module, Mapping):
        raise InputError(
            "module: is a state_dict, weights without a forward; load it into its module, or say "
            "from_torch(state, activation='tanh') for a plain chain of layers"
        )
    if not callable(module):
        raise InputError(f"module: must be a torch module or a function of a tensor; got {type(module).__name__}")
    tensors = [*module.parameters(), *module.buffers()] if isinstance(module, torch.nn.Module) else []
    own = next((t for t in tensors if t.is_floating_point()), None)
    dtype, device = (torch.float64, "cpu") if own is None else (own.dtype, own.device)
    tried = False

    def answer(X: Vector) -> Vector:
        found = module(torch.as_tensor(X, dtype=dtype, device=device))
        if not isinstance(found, torch.Tensor):
            raise InputError(f"module: must return a tensor; got {type(found).__name__}")
        if found.is_complex():
            raise InputError(f"module: must return real numbers; got {found.dtype}")
        return np.asarray(found.detach().cpu().double().numpy())

    def evaluate(X: Vector) -> Vector:
        nonlocal tried
        with _evaluating(module), torch.no_grad():
            values = answer(X)
            if not tried and values.shape[:1] == (len(X),):
                tried, eps = True, torch.finfo(dtype).eps
                alone = answer(X[:TRIAL])
                _require_same(alone, answer(X[:TRIAL]), 4096.0 * eps)
                _require_same(values[:TRIAL], alone, 64.0 * float(np.sqrt(eps)))  # sums in another order
        return values

    return Predictor(evaluate, f"torch {torch.__version__}, {str(dtype).removeprefix('torch.')}", chunk)


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """Evaluation mode, and every part put back to the mode that it had."""
    from torch.nn import Module

    modes = [(m, m.training) for m in module.modules()] if isinstance(module, Module) else []
    training = any(mode for _, mode in modes)
    if training:
        try:
            module.eval()
        except NotImplementedError:  # an exported program is as it was exported
            training = False
    try:
        yield
    finally:
        if training:
            module.train()
            for m, mode in modes:
                m.training = mode


def _require_same(values: Vector, again: Vector, share: float) -> None:
    """The same points must get the same values, up to a share of the largest."""
    known = np.isfinite(values) if values.shape == again.shape else np.zeros(values.shape, dtype=bool)
    scale = float(np.max(np.abs(values), initial=0.0, where=known))
    off = np.abs(np.where(known, values, 0.0) - np.where(known, again, 0.0)) if values.shape == again.shape else np.inf
    if not np.all(off <= share * scale):
        raise InputError(
            "module: gives other values when the same points are asked again or in other company; is dropout or "
            "noise on, or are statistics of the batch used?"
        )
