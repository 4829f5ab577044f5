"""A neural operator for Darcy flow with two heads, in numpy alone: a state and a stream function for each coefficient.

The network learns polarizations. Each layer sees κ on the pixels and what state and flux leave over,
δ = σ₀ + curl ψ − κ∇u, and answers with two vector fields on the pixels; a state and a stream function are added that
have these as gradient and curl as far as any can, (∇u, ∇φ) = (q, ∇φ) and (curl ψ, curl φ) = (t, curl φ), by sine and
cosine transforms that know nothing of κ. So the state vanishes on the boundary, whatever the weights are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.models.networks.safetensors import read_safetensors

FILE = "two_heads.safetensors"
HEADS = 4
"""Channels of a layer's answer: two components for the state's gradient, two for the curl."""
SEEN = 11
"""Channels that every layer sees besides its memory: three of κ, two of the place, δ, δ/κ, σ."""
GAIN = 4.0
"""Fluxes of a unit source are about a quarter."""
Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Tables:
    """Sines and cosines of an n × n grid, with the inverses of the constant-coefficient operators' eigenvalues.

    ``sines`` diagonalizes the five-point operator of the inner nodes; ``cosines`` that of all nodes with natural
    boundary, K v = λ D v with D the halves of the boundary, so that ψ = Φ((ΦᵀbΦ)/(λ + λ))Φᵀ; constants have no curl
    and are left out.
    """

    sines: Vector
    inner: Vector
    cosines: Vector
    natural: Vector

    __repr__ = brief


@lru_cache(8)
def tables(n: int) -> Tables:
    """Those of n squares a side, once."""
    i = np.arange(n + 1)
    eigen = 2.0 - 2.0 * np.cos(np.pi * i / n)
    total = eigen[:, None] + eigen
    total[0, 0] = np.inf
    angle = np.pi * np.outer(i, i) / n
    root = np.sqrt(2.0 / n)
    ends = np.where((i == 0) | (i == n), np.sqrt(0.5), 1.0)
    return Tables(root * np.sin(angle)[1:-1, 1:-1], 1.0 / total[1:-1, 1:-1], root * np.cos(angle) * ends, 1.0 / total)


@dataclass(frozen=True, eq=False)
class Layer:
    """A 3 × 3 convolution, a smooth step, a 1 × 1 convolution."""

    first: Array
    first_bias: Array
    second: Array
    second_bias: Array

    __repr__ = brief

    def __call__(self, x: Array) -> Array:
        """From (S, channels, n, n) to (S, memory + 4, n, n)."""
        S, _, n, _ = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        y = np.zeros((S, len(self.first), n * n), dtype=np.float32)
        for a in range(3):
            for b in range(3):
                y += self.first[:, :, a, b] @ padded[:, :, a : a + n, b : b + n].reshape(S, -1, n * n)
        y += self.first_bias[:, None]
        y *= scipy.special.ndtr(y)  # GELU
        return np.asarray(self.second @ y + self.second_bias[:, None]).reshape(S, -1, n, n)


@dataclass(frozen=True, eq=False)
class DarcyOperator:
    """From κ on the n × n pixels of the unit square to a state and a stream function at its (n + 1)² nodes.

    For −∇·(κ∇u) = 1, u = 0 on the boundary: u is meant for the solution and σ = −(x − c)/2 + curl ψ, c the square's
    centre, for its flux κ∇u. ``training.TwoHeads`` makes the weights.
    """

    layers: tuple[Layer, ...]

    __repr__ = brief

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> DarcyOperator:
        """From the arrays of a file, ``first.0.weight`` and so on."""
        names = ("first.{}.weight", "first.{}.bias", "second.{}.weight", "second.{}.bias")
        layers: list[Layer] = []
        while names[0].format(len(layers)) in arrays:
            parts = [name.format(len(layers)) for name in names]
            missing = [name for name in parts if name not in arrays]
            if missing:
                raise InputError(f"{missing[0]}: missing; the file has {', '.join(sorted(arrays))}")
            W, a, V, b = (np.asarray(arrays[name], dtype=np.float32) for name in parts)
            layers.append(Layer(W, a, V.reshape(len(V), -1), b))
        if not layers:
            raise InputError("first.0.weight: missing; this is no file of a network with two heads")
        return cls(tuple(layers))

    def __call__(self, kappa: Any) -> tuple[Vector, Vector]:
        """States and stream functions, (S, n + 1, n + 1) each, of coefficients (S, n, n)."""
        K = floats("kappa", kappa)
        if K.ndim != 3 or K.shape[1] != K.shape[2] or not K.size or not np.all(np.isfinite(K) & (K > 0.0)):
            raise InputError(f"kappa: must be positive numbers of shape (S, n, n); got {K.shape}")
        n, scale = K.shape[1], K.mean(axis=(1, 2))
        k = (K / scale[:, None, None]).astype(np.float32)[:, None]
        t = ((np.arange(n) + 0.5) / n - 0.5).astype(np.float32)
        place = np.broadcast_to(np.stack(np.meshgrid(t, t, indexing="ij")), (len(K), 2, n, n))
        seen = np.concatenate([k - 1.0, 1.0 / k - 1.0, np.log(k), 2.0 * place], axis=1)
        u = np.zeros((len(K), n + 1, n + 1), dtype=np.float32)
        psi, memory = u, np.zeros((len(K), 0, n, n), dtype=np.float32)
        for layer in self.layers:
            slope = gradients(psi)
            sigma = np.stack([slope[:, 1], -slope[:, 0]], axis=1) - 0.5 * place
            delta = sigma - k * gradients(u)
            y = layer(np.concatenate([memory, seen, GAIN * delta, GAIN * delta / k, GAIN * sigma], axis=1))
            memory = y[:, :-HEADS] + (memory if memory.shape[1] else 0.0)
            q = y[:, -HEADS:]
            u, psi = u + state(q[:, :2]), psi + stream(q[:, 2:])
        return u.astype(np.float64) / scale[:, None, None], psi.astype(np.float64)


def load(path: str | os.PathLike[str] | None = None) -> DarcyOperator:
    """A network of `training.TwoHeads.save`; by default the one that comes with the package.

    ``studies/train_two_heads.py`` made its weights and says how.
    """
    if path is not None:
        return DarcyOperator.from_arrays(read_safetensors(path))
    with as_file(files("pinnpoint") / "data" / FILE) as own:
        return DarcyOperator.from_arrays(read_safetensors(own))


def gradients(u: Array) -> Array:
    """Mean gradients on the squares, (S, 2, n, n), of linear elements on their triangles."""
    half = np.float32(0.5 * (u.shape[1] - 1))
    a, b, c, d = u[:, :-1, :-1], u[:, 1:, :-1], u[:, :-1, 1:], u[:, 1:, 1:]
    return half * np.stack([b - a + d - c, c - a + d - b], axis=1)


def state(q: Array) -> Array:
    """The elements that vanish on the boundary with (∇u, ∇φ) = (q, ∇φ) for all such φ."""
    T, r = tables(q.shape[2]), against_hats(q)[:, 1:-1, 1:-1]
    S, inverse = T.sines.astype(np.float32), T.inner.astype(np.float32)
    return np.pad(S @ ((S @ r @ S) * inverse) @ S, ((0, 0), (1, 1), (1, 1)))


def stream(t: Array) -> Array:
    """The elements with (curl ψ, curl φ) = (t, curl φ) for all φ."""
    T, r = tables(t.shape[2]), against_hats(np.stack([-t[:, 1], t[:, 0]], axis=1))
    C, inverse = T.cosines.astype(np.float32), T.natural.astype(np.float32)
    return np.asarray(C @ ((C.T @ r @ C) * inverse) @ C.T)


def against_hats(q: Array) -> Array:
    """(q, ∇φ) for the hat function of every node."""
    half = np.float32(0.5 / q.shape[2])
    x, y = (np.pad(c, ((0, 0), (1, 1), (1, 1))) for c in (q[:, 0], q[:, 1]))
    across = x[:, :-1, :-1] + x[:, :-1, 1:] - x[:, 1:, :-1] - x[:, 1:, 1:]
    along = y[:, :-1, :-1] + y[:, 1:, :-1] - y[:, :-1, 1:] - y[:, 1:, 1:]
    return np.asarray(half * (across + along))
