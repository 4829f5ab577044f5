"""Torch modules on points, as they are: in evaluation mode, without gradients, in their own number format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.models.runtimes.predictor import CHUNK, Predictor


def torch_predictor(module: Any, *, chunk: int = CHUNK) -> Predictor:
    """An ``nn.Module`` that maps (N, d) to (N,) or (N, c).

    It is evaluated in evaluation mode (and put back afterwards), on the device and in the dtype of its parameters;
    `from_torch` reads plain networks exactly instead, which the neural lift needs. A forward that differentiates (a
    stream function, a stress) may do so.
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

    def answer(X: Vector) -> Any:
        return module(torch.as_tensor(X, dtype=dtype, device=device))

    def evaluate(X: Vector) -> Vector:
        with _evaluating(module):
            try:
                with torch.no_grad():
                    found = answer(X)
            except RuntimeError as error:
                if "does not require grad" not in str(error):
                    raise
                with torch.enable_grad():
                    found = answer(X)
        if not isinstance(found, torch.Tensor):
            raise InputError(f"module: must return a tensor; got {type(found).__name__}")
        if found.is_complex():
            raise InputError(f"module: must return real numbers; got {found.dtype}")
        return floats("prediction", found)

    told = f"torch {torch.__version__}, {str(dtype).removeprefix('torch.')}"
    return Predictor(evaluate, told, chunk, eps=torch.finfo(dtype).eps)


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
