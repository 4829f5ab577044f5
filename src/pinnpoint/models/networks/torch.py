"""Networks from torch modules: what their forward computes, where that is a chain of linear layers with one activation.

Two fences stand between a module and its network. The module's structure: known layers alone, called by a forward that
torch.fx traces to one chain, with nothing (hooks, parametrizations, another forward) that would change what they do.
And its values: at random points of several sizes module and network must agree to rounding.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, asked
from pinnpoint.base.errors import InputError
from pinnpoint.models.networks.layers import from_tensors, tensor_values
from pinnpoint.models.networks.mlp import ACTIVATIONS, MLP

SCALES = (0.1, 1.0, 10.0, 100.0)
POINTS = 32
STEEPEST = {"sigmoid": 0.25, "silu": 1.1, "gelu": 1.13, "gelu-tanh": 1.13}
"""Lipschitz constants of activations; those of the others are 1."""
LINEAR_BEYOND = 2.1e-9
"""log(1 + e^−20): by how much torch's Softplus differs from itself above its threshold of 20."""


def is_module(given: Any) -> bool:
    """Whether something is a torch module; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(given, torch.nn.Module)


def is_tensor(given: Any) -> bool:
    """Whether something is a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(given, torch.Tensor)


def from_torch(
    module: Any, activation: str | None = None, factor: str = "none", layers: Sequence[str] | None = None
) -> MLP:
    """The network of a module or of a ``state_dict``, its numbers taken exactly.

    What a module's forward really does is traced, and its values are compared with the network's; a module that does
    anything else than Linear, activation, …, Linear is refused. Above its threshold of 20 torch replaces softplus by
    its argument, which differs by up to 2.1e-9: what is certified is softplus itself. A ``state_dict`` has no forward:
    it is taken at the caller's word.

    Parameters
    ----------
    module
        A module whose forward is a chain of Linear layers and one kind of activation, or a ``state_dict``.
    activation
        Of a ``state_dict``; a module says it.
    factor
        As in `MLP`: what the module's output is multiplied with. A factor in the module's own forward is refused.
    layers
        Names of the layers of a ``state_dict``, first layer first, where their numbers do not say it.
    """
    if isinstance(module, Mapping):
        if activation is None:
            raise InputError("activation: say which, e.g. activation='tanh'; a state_dict does not hold it")
        return from_tensors(
            {str(name): tensor_values(name, t) for name, t in module.items()}, activation, factor, layers
        )
    if not is_module(module):
        raise InputError(f"module: must be a torch module or a state_dict; got {type(module).__name__}")
    from pinnpoint.models.traced import traced

    chain = traced(module)
    if activation not in (None, chain.activation or activation):
        raise InputError(f"activation: the module has {chain.activation}; got {activation!r}")
    if layers is not None and list(layers) != list(chain.names):
        raise InputError(f"layers: the module's forward calls {', '.join(chain.names)}; leave it out")
    bare = MLP(chain.weights, chain.biases, chain.activation or activation or "tanh")
    require_agreement(bare, chain.double, 2.0**-53)
    if (unit := {"float32": 2.0**-24, "float64": 2.0**-53}.get(chain.dtype)) is not None:
        require_agreement(bare, chain.own, unit)
    return MLP(bare.weights, bare.biases, bare.activation, factor)


def require_agreement(network: MLP, predict: Any, unit: float) -> None:
    """Refuse where values differ by more than the rounding of both, in floats with this unit roundoff.

    With h, z the values before and after a layer and n its inputs, an error of e in h becomes
    |W|e + γ_{n+2}(|W||h| + |b|) in z; an activation multiplies it by its Lipschitz constant and adds 16 u(|a| + |z|).
    """
    rng = np.random.default_rng(0)
    X = np.concatenate([s * rng.uniform(-1.0, 1.0, (POINTS, network.dim)) for s in SCALES])
    found = asked(predict, X, "module").reshape(len(X), -1)
    wanted, error = _with_rounding(network, X, unit)
    off = ~(np.abs(found - wanted) <= 4.0 * error) if found.shape == wanted.shape else np.ones((1, 1), dtype=bool)
    if off.any():
        k, j = (int(v[0]) for v in np.nonzero(off))
        said = f"{found[k, j]:.9g}" if found.shape == wanted.shape else f"shape {found.shape}"
        raise InputError(
            f"module: is not the network of its layers: at {X[k].tolist()} it gives {said}, they {wanted[k, j]:.9g}. "
            "Certify it as it answers with torch_predictor(module)"
        )


def _with_rounding(network: MLP, X: Vector, unit: float) -> tuple[Vector, Vector]:
    """Values, and how far those in floats with this unit roundoff may be off; both roundings, ours and theirs."""
    bend, steep = ACTIVATIONS[network.activation], STEEPEST.get(network.activation, 1.0)
    h, e = X, unit * np.abs(X)
    for k, (W, b) in enumerate(zip(network.weights, network.biases, strict=True)):
        size = np.abs(h) @ np.abs(W).T + np.abs(b)
        z, e = h @ W.T + b, e @ np.abs(W).T + 2.0 * (W.shape[1] + 2) * unit * size
        if k == len(network.weights) - 1:
            return z, e + 4.0 * unit * np.abs(z)
        h = bend(z)
        e = steep * e + 16.0 * unit * (np.abs(h) + np.abs(z)) + np.finfo(np.float32).tiny * (unit > 2.0**-50)
        if network.activation == "softplus":
            e = e + np.where(z > 19.0, LINEAR_BEYOND, 0.0)
    raise AssertionError("a network has a layer")
