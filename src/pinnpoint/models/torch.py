"""Networks from torch modules: chains of linear layers with one activation, read without importing torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pinnpoint.arrays import Vector
from pinnpoint.errors import InputError
from pinnpoint.models.layers import from_tensors
from pinnpoint.models.mlp import MLP

BENDS = {"Tanh": "tanh", "Sigmoid": "sigmoid", "Softplus": "softplus", "SiLU": "silu", "GELU": "gelu"}


def from_torch(
    module: Any, activation: str | None = None, factor: str = "none", layers: Sequence[str] | None = None
) -> MLP:
    """The network of a module or of a ``state_dict``, its numbers taken exactly.

    Parameters
    ----------
    module
        An ``nn.Sequential`` of Linear layers and one kind of activation, which is read from it; any other module, or a
        ``state_dict``, whose activation must be said.
    layers
        Names of the layers, first layer first, where their numbers do not say it.
    """
    if isinstance(module, Mapping):
        state = module
    elif hasattr(module, "state_dict"):
        state = module.state_dict()
        if type(module).__name__ == "Sequential":
            found = _activation(module)
            if activation is not None and found is not None and activation != found:
                raise InputError(f"activation: the module has {found}; got {activation!r}")
            activation = found or activation or "tanh"
    else:
        raise InputError(f"module: must be a torch module or a state_dict; got {type(module).__name__}")
    if activation is None:
        raise InputError("activation: say which, e.g. activation='tanh'; a state_dict does not hold it")
    return from_tensors({name: _array(name, t) for name, t in state.items()}, activation, factor, layers)


def _activation(module: Any) -> str | None:
    """The one activation of a Sequential: Linear, activation, Linear, …, Linear."""
    children = [c for c in module if type(c).__name__ != "Identity"]
    kinds = [type(c).__name__ for c in children]
    if any(k != "Linear" for k in kinds[::2]) or len(kinds) % 2 == 0 or any(k not in BENDS for k in kinds[1::2]):
        raise InputError(
            f"module: must be Linear, activation, …, Linear with {', '.join(BENDS)}; got {', '.join(kinds)}"
        )
    found = {_named(c) for c in children[1::2]}
    if len(found) > 1:
        raise InputError(f"module: one activation throughout is read; got {', '.join(sorted(found))}")
    return found.pop() if found else None


def _named(child: Any) -> str:
    kind = type(child).__name__
    if kind == "Softplus" and float(child.beta) != 1.0:
        raise InputError(f"module: Softplus must have beta = 1; got {child.beta}")
    return "gelu-tanh" if kind == "GELU" and child.approximate == "tanh" else BENDS[kind]


def _array(name: str, tensor: Any) -> Vector:
    """The numbers of a tensor in float64."""
    a = tensor.detach().cpu().double().numpy() if hasattr(tensor, "detach") else np.asarray(tensor)
    if a.dtype.kind != "f":
        raise InputError(f"{name}: must be floating point; got {a.dtype}")
    return np.array(a, dtype=np.float64)
