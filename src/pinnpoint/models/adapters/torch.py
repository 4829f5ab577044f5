"""Torch modules on points, as they are: in evaluation mode, without gradients, in their own number format."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.arrays import Vector
from pinnpoint.errors import DependencyMissingError, InputError
from pinnpoint.models.adapters.predictor import CHUNK, Predictor


def torch_predictor(module: Any, *, chunk: int = CHUNK) -> Predictor:
    """An ``nn.Module`` that maps (N, d) to (N,) or (N, c).

    It is evaluated in evaluation mode (and put back afterwards), on the device and in the dtype of its parameters;
    `from_torch` reads plain networks exactly instead, which the neural lift needs.
    """
    try:
        import torch
    except ImportError as error:
        raise DependencyMissingError("torch_predictor needs torch: pip install 'pinnpoint[torch]'") from error
    if not callable(module):
        raise InputError(f"module: must be a torch module or a function of a tensor; got {type(module).__name__}")
    tensors = [*module.parameters(), *module.buffers()] if isinstance(module, torch.nn.Module) else []
    own = next((t for t in tensors if t.is_floating_point()), None)
    dtype, device = (torch.float64, "cpu") if own is None else (own.dtype, own.device)

    def evaluate(X: Vector) -> Vector:
        training = isinstance(module, torch.nn.Module) and module.training
        if training:
            try:
                module.eval()
            except NotImplementedError:  # an exported program is as it was exported
                training = False
        try:
            with torch.no_grad():
                found = module(torch.as_tensor(X, dtype=dtype, device=device))
        finally:
            if training:
                module.train()
        if not isinstance(found, torch.Tensor):
            raise InputError(f"module: must return a tensor; got {type(found).__name__}")
        return np.asarray(found.detach().cpu().double().numpy())

    return Predictor(evaluate, f"torch {torch.__version__}, {str(dtype).removeprefix('torch.')}", chunk)
