"""The network of `models.networks.two_heads` as a torch module, to be trained."""

from __future__ import annotations

from typing import Any

import torch

from pinnpoint.base.arrays import whole
from pinnpoint.models.networks.two_heads import GAIN, HEADS, SEEN, tables

F = torch.nn.functional


class Polarized(torch.nn.Module):
    """From κ on n × n pixels, (S, n, n), to states and stream functions at the nodes, (S, n + 1, n + 1) each.

    Parameters
    ----------
    width
        Channels of the memory that layers hand on.
    depth
        Layers; each one applies a pair of transforms, as a layer of a Fourier neural operator does.
    """

    def __init__(self, width: int = 8, depth: int = 3) -> None:
        super().__init__()
        w = self.width = whole("width", width, low=1)
        self.depth = whole("depth", depth, low=1)
        seen = [SEEN + (w if layer else 0) for layer in range(self.depth)]
        self.first = torch.nn.ModuleList(torch.nn.Conv2d(inputs, 2 * w, 3, padding=1) for inputs in seen)
        self.second = torch.nn.ModuleList(torch.nn.Conv2d(2 * w, w + HEADS, 1) for _ in seen)
        for last in self.second:  # a small beginning: the first answers are near those of no network
            torch.nn.init.normal_(last.weight, std=0.1 / (2 * w) ** 0.5)

    def forward(self, kappa: Any) -> tuple[Any, Any]:
        """States and stream functions of −∇·(κ∇u) = 1, u = 0 on the boundary of the unit square."""
        n, S = kappa.shape[-1], len(kappa)
        mean = kappa.mean((1, 2), keepdim=True)
        k = (kappa / mean)[:, None]
        t = (torch.arange(n, dtype=kappa.dtype) + 0.5) / n - 0.5
        place = torch.stack(torch.meshgrid(t, t, indexing="ij")).expand(S, 2, n, n)
        seen = torch.cat([k - 1.0, 1.0 / k - 1.0, k.log(), 2.0 * place], 1)
        u = kappa.new_zeros(S, n + 1, n + 1)
        psi, memory = u, kappa.new_zeros(S, 0, n, n)
        for first, second in zip(self.first, self.second, strict=True):
            slope = gradients(psi)
            sigma = torch.stack([slope[:, 1], -slope[:, 0]], 1) - 0.5 * place
            delta = sigma - k * gradients(u)
            y = second(F.gelu(first(torch.cat([memory, seen, GAIN * delta, GAIN * delta / k, GAIN * sigma], 1))))
            memory = y[:, :-HEADS] + (memory if memory.shape[1] else 0.0)
            q = y[:, -HEADS:]
            u, psi = u + state(q[:, :2]), psi + stream(q[:, 2:])
        return u / mean, psi


def gradients(u: Any) -> Any:
    """Mean gradients on the squares, (S, 2, n, n)."""
    half = 0.5 * (u.shape[1] - 1)
    a, b, c, d = u[:, :-1, :-1], u[:, 1:, :-1], u[:, :-1, 1:], u[:, 1:, 1:]
    return half * torch.stack([b - a + d - c, c - a + d - b], 1)


def state(q: Any) -> Any:
    """The elements that vanish on the boundary with (∇u, ∇φ) = (q, ∇φ)."""
    T = tables(q.shape[2])
    S, inverse = torch.as_tensor(T.sines, dtype=q.dtype), torch.as_tensor(T.inner, dtype=q.dtype)
    return F.pad(S @ ((S @ _against_hats(q)[:, 1:-1, 1:-1] @ S) * inverse) @ S, (1, 1, 1, 1))


def stream(t: Any) -> Any:
    """The elements with (curl ψ, curl φ) = (t, curl φ)."""
    T = tables(t.shape[2])
    C, inverse = torch.as_tensor(T.cosines, dtype=t.dtype), torch.as_tensor(T.natural, dtype=t.dtype)
    return C @ ((C.T @ _against_hats(torch.stack([-t[:, 1], t[:, 0]], 1)) @ C) * inverse) @ C.T


def _against_hats(q: Any) -> Any:
    x, y = F.pad(q[:, 0], (1, 1, 1, 1)), F.pad(q[:, 1], (1, 1, 1, 1))
    across = x[:, :-1, :-1] + x[:, :-1, 1:] - x[:, 1:, :-1] - x[:, 1:, 1:]
    along = y[:, :-1, :-1] + y[:, 1:, :-1] - y[:, :-1, 1:] - y[:, 1:, 1:]
    return 0.5 / q.shape[2] * (across + along)
