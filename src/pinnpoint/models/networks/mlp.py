"""Multilayer perceptrons with their first and second derivatives, in float64 and numpy alone."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, point_list, set_fields, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import write_whole

CHUNK = 4096
"""Points evaluated at once."""
FACTORS = ("none", "unit-box")
Bent = tuple[Vector, Vector, Vector]


def _tanh(z: Vector) -> Bent:
    t = np.tanh(z)
    slope = 1.0 - t * t
    return t, slope, -2.0 * t * slope


def _sin(z: Vector) -> Bent:
    s = np.sin(z)
    return s, np.cos(z), -s


def _sigmoid(z: Vector) -> Bent:
    t, slope, bend = _tanh(0.5 * z)
    return 0.5 + 0.5 * t, 0.25 * slope, 0.125 * bend


def _softplus(z: Vector) -> Bent:
    s, slope, _ = _sigmoid(z)
    return np.logaddexp(0.0, z), s, slope


def _normal(z: Vector) -> Bent:
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return scipy.special.ndtr(z), density, -z * density


def _gate(z: Vector) -> Bent:
    """The gate (1 + tanh p)/2 of the tanh form of GELU, with p = √(2/π) (z + 0.044715 z³)."""
    root = np.sqrt(2.0 / np.pi)
    t, slope, bend = _tanh(root * (z + 0.044715 * z**3))
    p1, p2 = root * (1.0 + 3.0 * 0.044715 * z * z), root * 6.0 * 0.044715 * z
    return 0.5 + 0.5 * t, 0.5 * slope * p1, 0.5 * (bend * p1 * p1 + slope * p2)


def _gated(gate: Callable[[Vector], Bent]) -> Callable[[Vector], Bent]:
    """The function z g(z) with its derivatives, from g with its own."""

    def bent(z: Vector) -> Bent:
        g, slope, bend = gate(z)
        return z * g, g + z * slope, 2.0 * slope + z * bend

    return bent


_BENT: dict[str, Callable[[Vector], Bent]] = {
    "tanh": _tanh,
    "sin": _sin,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "silu": _gated(_sigmoid),
    "gelu": _gated(_normal),
    "gelu-tanh": _gated(_gate),
}
ACTIVATIONS: dict[str, Callable[[Vector], Vector]] = {
    "tanh": np.tanh,
    "sin": np.sin,
    "sigmoid": lambda z: _sigmoid(z)[0],
    "softplus": lambda z: np.asarray(np.logaddexp(0.0, z)),
    "silu": lambda z: z * _sigmoid(z)[0],
    "gelu": lambda z: z * np.asarray(scipy.special.ndtr(z)),
    "gelu-tanh": lambda z: z * _gate(z)[0],
}


@dataclass(frozen=True, eq=False)
class MLP:
    """u(x) = w(x) · (W_L a(… a(W_1 x + b_1) …) + b_L), with a factor w that may vanish on the boundary.

    Parameters
    ----------
    weights
        W_k of shape (outputs, inputs), first layer first.
    biases
        b_k of shape (outputs,), as many as there are weights.
    activation
        After every layer but the last: ``"tanh"``, ``"sin"``, ``"sigmoid"``, ``"softplus"``, ``"silu"``, ``"gelu"``
        (by the normal distribution) or ``"gelu-tanh"``.
    factor
        ``"none"`` (w = 1) or ``"unit-box"``: w = ∏ x_i (1 − x_i), so that u is exactly zero on the unit box's boundary.
    """

    weights: tuple[Vector, ...]
    biases: tuple[Vector, ...]
    activation: str
    factor: str

    __repr__ = brief

    def __init__(
        self, weights: Sequence[Any], biases: Sequence[Any], activation: str = "tanh", factor: str = "none"
    ) -> None:
        if activation not in ACTIVATIONS:
            raise InputError(f"activation: must be one of {', '.join(map(repr, ACTIVATIONS))}; got {activation!r}")
        if factor not in FACTORS:
            raise InputError(f"factor: must be 'none' or 'unit-box'; got {factor!r}")
        if not len(weights) or len(weights) != len(biases):
            raise InputError(
                f"weights: must be one matrix a layer with one bias each; got {len(weights)} weights and "
                f"{len(biases)} biases"
            )
        W = tuple(_matrix(f"weights[{k}]", w) for k, w in enumerate(weights))
        b = tuple(vector(f"biases[{k}]", v, len(w)) for k, (v, w) in enumerate(zip(biases, W, strict=True)))
        for k in range(1, len(W)):
            if W[k].shape[1] != W[k - 1].shape[0]:
                raise InputError(
                    f"weights[{k}]: must have {W[k - 1].shape[0]} columns, the outputs of the layer before; "
                    f"got shape {W[k].shape}"
                )
        for array in (*W, *b):
            array.flags.writeable = False
        set_fields(self, weights=W, biases=b, activation=activation, factor=factor)

    @property
    def dim(self) -> int:
        """Number of inputs d."""
        return int(self.weights[0].shape[1])

    @property
    def outputs(self) -> int:
        """Number of outputs c."""
        return int(self.weights[-1].shape[0])

    def __call__(self, X: ArrayLike) -> Vector:
        """Values at N points (N, d): shape (N,), or (N, c) for several outputs."""
        (u,) = self._in_chunks(lambda P: (self._value(P),), X)
        return u[:, 0] if self.outputs == 1 else u

    def laplacian(self, X: ArrayLike) -> Vector:
        """Δu at N points (N, d): shape (N,), or (N, c) for several outputs."""
        return self.derivatives(X)[2]

    def derivatives(self, X: ArrayLike) -> tuple[Vector, Vector, Vector]:
        """Values, gradients and Laplacians by the chain rule, layer after layer; no differences are taken.

        Returns
        -------
        value, gradient, laplacian
            Shapes (N,), (N, d), (N,); for several outputs (N, c), (N, d, c), (N, c).
        """
        u, g, s = self._in_chunks(self._derivatives, X)
        return (u[:, 0], g[:, :, 0], s[:, 0]) if self.outputs == 1 else (u, g, s)

    def save(self, path: str | os.PathLike[str], **more: Any) -> Path:
        """Write an .npz file whole or not at all; further arrays may travel in it, and `load` passes over them."""
        fields: dict[str, Any] = {"activation": np.array(self.activation), "factor": np.array(self.factor)}
        for k, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            fields |= {f"weights_{k}": W, f"biases_{k}": b}
        for name, array in more.items():
            if name in fields or name.startswith(("weights_", "biases_")):
                raise InputError(f"{name}: this name is the network's own; call the further array something else")
            if np.asarray(array).dtype.hasobject:
                raise InputError(f"{name}: must be numbers or text; Python objects are not written")
        content = io.BytesIO()
        np.savez(content, **fields, **more)
        return write_whole(path, [content.getvalue()])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MLP:
        """Read what `save` wrote; refuses pickled objects, missing layers, wrong shapes and numbers not finite."""
        return cls.from_arrays(read_arrays(path))

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> MLP:
        """The network among the arrays of a file, by their names."""
        count = max(1, sum(name.startswith("weights_") for name in arrays))
        weights = [_floating(arrays, f"weights_{k}") for k in range(count)]
        biases = [_floating(arrays, f"biases_{k}") for k in range(count)]
        own = {f"{kind}_{k}" for kind in ("weights", "biases") for k in range(count)}
        left = sorted(name for name in arrays if name.startswith(("weights_", "biases_")) and name not in own)
        if left:
            raise InputError(f"{left[0]}: belongs to no layer; {count} layers are numbered from 0")
        return cls(weights, biases, entry_text(arrays, "activation"), entry_text(arrays, "factor"))

    def _in_chunks(self, compute: Callable[[Vector], tuple[Vector, ...]], X: Any) -> tuple[Vector, ...]:
        if not np.ndim(X):
            raise InputError(f"X: must be points of dimension {self.dim}, one row each; got a single number")
        P = point_list("X", X, len(X))
        if P.shape[1] != self.dim:
            raise InputError(f"X: must be points of dimension {self.dim}, one row each; got shape {P.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            parts = [compute(P[i : i + CHUNK]) for i in range(0, max(len(P), 1), CHUNK)]
        whole = tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        for a in whole:
            if not np.all(np.isfinite(a)):
                raise InputError("X: the network's output leaves the range of float64 there")
        return whole

    def _value(self, P: Vector) -> Vector:
        h = P
        bend = ACTIVATIONS[self.activation]
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = bend(h @ W.T + b)
        u = h @ self.weights[-1].T + self.biases[-1]
        return u if self.factor == "none" else np.prod(P * (1.0 - P), axis=1)[:, None] * u

    def _derivatives(self, P: Vector) -> tuple[Vector, Vector, Vector]:
        n, d = P.shape
        h, g, s = P, np.broadcast_to(np.eye(d), (n, d, d)), np.zeros((n, d))  # value, ∇, Δ of every unit
        for k, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            h, g, s = h @ W.T + b, g @ W.T, s @ W.T
            if k < len(self.weights) - 1:
                h, slope, bend = _BENT[self.activation](h)
                s = bend * np.sum(g * g, axis=1) + slope * s  # Δa(z) = a″|∇z|² + a′Δz
                g = slope[:, None, :] * g
        if self.factor == "none":
            return h, g, s
        w, dw, ddw = _unit_box(P)
        product = w * h
        slope_of_product = w[:, :, None] * g + dw[:, :, None] * h[:, None, :]
        return product, slope_of_product, w * s + 2.0 * np.sum(dw[:, :, None] * g, axis=1) + ddw * h


def _unit_box(P: Vector) -> Bent:
    """∏ x_i (1 − x_i), its gradient and its Laplacian, of shapes (n, 1), (n, d), (n, 1)."""
    p = P * (1.0 - P)
    others = np.stack([np.prod(np.delete(p, i, axis=1), axis=1) for i in range(P.shape[1])], axis=1)
    return np.prod(p, axis=1)[:, None], (1.0 - 2.0 * P) * others, -2.0 * np.sum(others, axis=1)[:, None]


def _matrix(name: str, W: Vector) -> Vector:
    if np.ndim(W) != 2 or 0 in np.shape(W):
        raise InputError(f"{name}: must be a matrix (outputs, inputs); got shape {np.shape(W)}")
    return point_list(name, W, len(W))


def read_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Every array of an .npz file; nothing in it is executed."""
    try:
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):
                raise ValueError("this is none")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                found = {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except (ValueError, OSError, EOFError, KeyError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path}: must be an .npz archive of plain arrays; {error}") from error
    for name, array in found.items():
        if not isinstance(array, np.ndarray):  # a member that is no .npy file comes back as bytes
            raise InputError(f"{path}: {name} is not an array")
    return found


def entry(arrays: dict[str, Any], name: str) -> Any:
    """One array of a file, or a refusal that names it."""
    if name not in arrays:
        raise InputError(f"{name}: missing; the file has {', '.join(sorted(arrays)) or 'nothing'}")
    return arrays[name]


def _floating(arrays: dict[str, Any], name: str) -> Any:
    a = entry(arrays, name)
    if a.dtype not in (np.float32, np.float64):
        raise InputError(f"{name}: must be float64 or float32; got {a.dtype}")
    return a


def entry_text(arrays: dict[str, Any], name: str) -> str:
    """A piece of text among the arrays of a file."""
    a = entry(arrays, name)
    if a.dtype.kind != "U" or a.ndim:
        raise InputError(f"{name}: must be text; got {a.dtype} of shape {a.shape}")
    return str(a)
