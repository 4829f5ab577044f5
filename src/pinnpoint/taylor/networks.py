"""Networks as jets: the forward Laplacian with batches of Taylor models.

A layer z = W h + b acts on the models of h, of ∂h/∂x_i and of Δh alike, so its products are matrix products of
coefficients. With n inputs and e, ‖C‖ the remainders and coefficient norms of h, the remainder of z is

    |W| (e + γ_n ‖C‖) + u |z_0|,    z_0 the constant coefficient after the bias,

whatever the order of summation. Weights and biases are exactly the floats given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma
from pinnpoint.taylor import jets
from pinnpoint.taylor.jets import ZERO, Jet
from pinnpoint.taylor.models import TaylorModel, constant, settled
from pinnpoint.taylor.primitives import normal, sigmoid2, softplus

BLOCK = 256
"""Elements computed at once, so that a layer stays in the cache."""


def gelu_tanh(z: Jet) -> Jet:
    """The jet of z (1 + tanh(√(2/π) (z + 0.044715 z³)))/2."""
    d = len(z.gradient)
    root = Jet.constant(constant(np.sqrt(2.0 / np.pi), 8.0 * UNIT), d)
    cubic, half, one = (Jet.constant(v, d) for v in (constant(0.044715, UNIT), constant(0.5), constant(1.0)))
    inner = root * (z + cubic * z**3)
    return half * z * (one + inner.bent(jets.tanh))


ACTIVATIONS: dict[str, Callable[[Jet], Jet]] = {
    "tanh": lambda z: z.bent(jets.tanh),
    "sin": lambda z: z.bent(jets.sin),
    "sigmoid": lambda z: z.bent(sigmoid2),
    "softplus": lambda z: z.bent(softplus),
    "silu": lambda z: z * z.bent(sigmoid2),
    "gelu": lambda z: z * z.bent(normal),
    "gelu-tanh": gelu_tanh,
}


def network(weights: Sequence[Vector], biases: Sequence[Vector], activation: str, inputs: Sequence[Jet]) -> Jet:
    """The jet of W_L a(… a(W_1 x + b_1) …) + b_L from those of its inputs; a batch with one row an output."""
    if activation not in ACTIVATIONS:
        raise InputError(f"activation: models are proved for {', '.join(ACTIVATIONS)}; got {activation!r}")
    h = stacked(inputs)
    for k, (W, b) in enumerate(zip(weights, biases, strict=True)):
        gradient, mixed = (tuple(linear(W, g) for g in models) for models in (h.gradient, h.mixed))
        h = Jet(linear(W, h.value, b), gradient, linear(W, h.laplacian), h.pairs, mixed)
        if k < len(weights) - 1:
            h = ACTIVATIONS[activation](h)
    return h


def linear(W: Vector, h: TaylorModel, b: Vector | None = None) -> TaylorModel:
    """W h + b for a batch h."""
    if h is ZERO:
        return ZERO
    n, M, N = h.C.shape
    with np.errstate(all="ignore"):
        C = (W @ h.C.reshape(n, M * N)).reshape(len(W), M, N)
        e = np.abs(W) @ (h.e + gamma(n + 1) * h.norm) * (1.0 + 2.0 * gamma(n + 8))  # taylor.md, step 5a
        if b is not None:
            C[:, 0] += b[:, None]
            e = e + UNIT * np.abs(C[:, 0])  # taylor.md, step 5a
        return settled(h.space, C, e * (1.0 + 8.0 * UNIT) + TINY)


def stacked(rows: Sequence[Jet]) -> Jet:
    """One batch of several jets."""
    pairs = next((j.pairs for j in rows if j.pairs), ())
    gradients = zip(*(j.gradient for j in rows), strict=True)
    seconds = zip(*(j.second(pairs) for j in rows), strict=True)
    laplacian = _stack([j.laplacian for j in rows])
    return Jet(
        _stack([j.value for j in rows]), tuple(map(_stack, gradients)), laplacian, pairs, tuple(map(_stack, seconds))
    )


def row(h: Jet, k: int) -> Jet:
    """One jet of a batch."""

    def pick(x: TaylorModel) -> TaylorModel:
        return x if x is ZERO else TaylorModel(x.space, x.C[k], x.e[k])

    mixed = tuple(map(pick, h.mixed))
    return Jet(pick(h.value), tuple(map(pick, h.gradient)), pick(h.laplacian), h.pairs, mixed)


def _stack(rows: Sequence[TaylorModel]) -> TaylorModel:
    """Models of one batch: constants among polynomials become polynomials."""
    if all(r is ZERO for r in rows):
        return ZERO
    S = max((r.space for r in rows), key=lambda s: s.size)
    count = max(r.C.shape[-1] for r in rows)
    C, e = np.zeros((len(rows), S.size, count)), np.empty((len(rows), count))
    for k, r in enumerate(rows):
        C[k, : r.space.size], e[k] = r.C, r.e
    return TaylorModel(S, C, e)


def in_blocks(
    compute: Callable[[list[TaylorModel]], TaylorModel], coordinates: Sequence[TaylorModel], block: int
) -> TaylorModel:
    """A model computed for a few elements at a time."""
    widest = max(coordinates, key=lambda x: (x.space.size, x.C.shape[-1]))
    S, count = widest.space, max(x.C.shape[-1] for x in coordinates)
    C, e = np.zeros((S.size, count)), np.zeros(count)
    for start in range(0, count, block):
        part = slice(start, min(start + block, count))
        model = compute([_part(x, part) for x in coordinates])
        C[: model.space.size, part], e[part] = model.C, model.e
    return TaylorModel(S, C, e)


def _part(x: TaylorModel, part: slice) -> TaylorModel:
    if x.C.shape[-1] == 1:
        return x
    return TaylorModel(x.space, np.ascontiguousarray(x.C[:, part]), x.e[part], x.least, x.most)
