"""Networks from named tensors: which of them are layers, and in which order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.errors import InputError
from pinnpoint.models.networks.mlp import MLP

NUMBER = re.compile(r"\d+")


def from_tensors(
    tensors: Mapping[str, Any], activation: str, factor: str = "none", layers: Sequence[str] | None = None
) -> MLP:
    """The network whose layers are pairs ``name.weight`` (outputs, inputs) and ``name.bias``; none at all means zero.

    Parameters
    ----------
    tensors
        Arrays by name, as in a torch ``state_dict``.
    layers
        Names of the layers, first layer first. Without it the names must differ in one number alone, as in ``net.0``,
        ``net.2``, which then gives the order.
    """
    found = {name.removesuffix(".weight") for name in tensors if name.endswith(".weight")}
    order = _by_number(sorted(found)) if layers is None else list(layers)
    bare = [name for name in order if f"{name}.bias" not in tensors]
    if layers is None and bare and len(bare) < len(order):
        raise InputError(
            f"tensors: {bare[0]} has no bias, which other layers have; say layers=[…] if it is meant to be zero"
        )
    used: set[str] = set()
    weights, biases = [], []
    for name in order:
        if f"{name}.weight" not in tensors:
            raise InputError(f"layers: {name}.weight is missing; there are {_listed(tensors)}")
        W = floats(f"{name}.weight", tensors[f"{name}.weight"])
        weights.append(W)
        biases.append(floats(f"{name}.bias", tensors.get(f"{name}.bias", np.zeros(len(W) if W.ndim else 0))))
        used |= {f"{name}.weight", f"{name}.bias"}
    left = sorted(set(tensors) - used)
    if left or not weights:
        raise InputError(
            f"tensors: only layers with .weight and .bias are read; got {_listed(left) if left else 'nothing'} beside "
            "them; write the network as one chain of linear layers"
        )
    return MLP(weights, biases, activation, factor)


def tensor_values(name: str, tensor: Any) -> Vector:
    """The numbers of a tensor in float64."""
    kind = str(getattr(tensor, "dtype", type(tensor).__name__)).removeprefix("torch.")
    if "float" not in kind:
        raise InputError(f"{name}: must be floating point; got {kind}")
    return floats(name, tensor)


def _by_number(names: Sequence[str]) -> list[str]:
    """Names that differ in one number alone, in the order of it."""
    parts = [NUMBER.split(name) for name in names]
    numbers = [[int(n) for n in NUMBER.findall(name)] for name in names]
    varying = {i for row in numbers for i, n in enumerate(row) if parts[0] == parts[-1] and n != numbers[0][i]}
    if any(p != parts[0] for p in parts) or len(varying) > 1:
        raise InputError(
            f"layers: the names {_listed(names)} do not say their order; say layers=[…], first layer first"
        )
    return [name for _, name in sorted(zip(numbers, names, strict=True))]


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "") if names else "none"
