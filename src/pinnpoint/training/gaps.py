"""The certified bound of the energy error as a loss: it needs no solved instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from pinnpoint.base.brief import brief
from pinnpoint.fem.families.source_flux import SourceFlux


@dataclass(frozen=True, eq=False)
class EnergyGap(SourceFlux):
    """η² = ∫ κ⁻¹ |σ₀ + curl ψ − κ∇u|² for −∇·(κ∇u) = f, f one number, u = 0 on the boundary.

    η bounds the energy error of u for every u that vanishes on the boundary and every ψ (Prager and Synge;
    [operators](operators.md), step 2b). A network that makes η² small has therefore learnt to solve, and nobody has
    solved anything for it.
    """

    __repr__ = brief

    def tensors(self, dtype: Any) -> tuple[Any, ...]:
        """What the loss needs, in a number format."""
        arrays = (self.slopes, self.areas, self.flux, self.tail)
        return (torch.tensor(self.cells), *(torch.tensor(a, dtype=dtype) for a in arrays))  # frozen arrays: copies

    def __call__(self, kappa: Any, u: Any, psi: Any) -> tuple[Any, Any]:
        """η² and ‖σ‖², weighted by 1/κ, of each instance, from κ (S, C) and values at the nodes (S, N)."""
        cells, slopes, areas, flux, tail = self.tensors(u.dtype)
        g = torch.einsum("scv,cvd->scd", u[:, cells], slopes)
        s = torch.einsum("scv,cvd->scd", psi[:, cells], slopes)
        sigma = flux + torch.stack([s[..., 1], -s[..., 0]], -1)
        weight = areas / kappa
        delta = sigma - kappa[..., None] * g
        gap = (weight * ((delta**2).sum(-1) + tail)).sum(-1)
        return gap, (weight * ((sigma**2).sum(-1) + tail)).sum(-1)
