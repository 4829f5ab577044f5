"""The networks: plain perceptrons in float64, times a factor that vanishes on the boundary."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, TypedDict

import torch

from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.data.coefficients import Data
from pinnpoint.training.trainer import seeded


class Shape(TypedDict, total=False):
    """Of a coordinate network, as keywords: see `coordinate_network`."""

    factor: Any
    width: int
    depth: int
    activation: str


class CoordinateNetwork(NamedTuple):
    """A network on points, the torch function that it is multiplied with, and what both were made from."""

    net: Any
    vanish: Any
    factor: Any
    activation: str

    def __repr__(self) -> str:
        return brief(self)


BENDS = {"tanh": torch.nn.Tanh, "gelu": torch.nn.GELU, "silu": torch.nn.SiLU, "sigmoid": torch.nn.Sigmoid}


def perceptron(inputs: int, outputs: int, width: int, depth: int, activation: str, seed: int) -> Any:
    """`depth` hidden layers of one width, as an ``nn.Sequential`` of Linear layers and activations."""
    if activation not in BENDS:
        raise InputError(f"activation: must be one of {', '.join(BENDS)}; got {activation!r}")

    def make() -> Any:
        sizes = [inputs, *[width] * depth, outputs]
        parts: list[Any] = []
        for n, m in pairwise(sizes):
            parts += [torch.nn.Linear(n, m, dtype=torch.float64), BENDS[activation]()]
        return torch.nn.Sequential(*parts[:-1])

    return seeded(seed, make)


def factor_of(given: Data) -> Any:
    """A torch function of points (N, d): ``"unit-box"`` is ∏ x(1 − x), ``"none"`` is one."""
    if given == "none":
        return lambda X: torch.ones(len(X), dtype=X.dtype)
    if given == "unit-box":
        return lambda X: (X * (1.0 - X)).prod(dim=1)
    if callable(given):
        return given
    raise InputError(f"factor: must be 'unit-box', 'none' or a function of a tensor of points; got {given!r}")


def coordinate_network(
    inputs: int,
    outputs: int,
    seed: int,
    *,
    factor: Any = "unit-box",
    width: int = 96,
    depth: int = 3,
    activation: str = "tanh",
) -> CoordinateNetwork:
    """The paper's by default: three hidden layers of 96 tanh units, times ∏ x(1 − x)."""
    net = perceptron(inputs, outputs, width, depth, activation, seed)
    return CoordinateNetwork(net, factor_of(factor), factor, activation)
