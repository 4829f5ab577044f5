"""Residuals of stored systems as differentiable torch functions; no matrix is ever dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from pinnpoint.base.arrays import Matrix
from pinnpoint.base.errors import InputError
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.semilinear.base import AbstractSemilinear


class _Product(torch.autograd.Function):
    """Rows of y times Aᵀ, by SciPy; its derivative is the same product with the transposed matrix."""

    @staticmethod
    def forward(ctx: Any, y: Any, A: Matrix, T: Matrix) -> Any:
        """A y for y of shape (n,) or (B, n)."""
        ctx.pair = (T, A)
        return torch.from_numpy(np.ascontiguousarray((A @ y.detach().numpy().T).T))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """Aᵀ g."""
        return _Product.apply(g, *ctx.pair), None, None


def sparse_product(A: Matrix) -> Any:
    """Y ↦ A y for tensors (n,) or (B, n) in float64, differentiable to any order."""
    A = sp.csr_array(A)
    T = A.T.tocsr()
    return lambda y: _Product.apply(y, A, T)


class _Semilinear(torch.autograd.Function):
    """F(y) of a semilinear system; its derivative is the sparse Jacobian at y."""

    @staticmethod
    def forward(ctx: Any, y: Any, system: Any) -> Any:
        """F(y) for one state."""
        ctx.system, ctx.y = system, y.detach().numpy().copy()
        return torch.from_numpy(np.array(system.residual(ctx.y, rounding=False).hi))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """Jᵀg; J is symmetric."""
        J, _ = ctx.system.jacobian(ctx.y, rounding=False)
        return torch.from_numpy(np.asarray(J @ g.detach().numpy())), None


def compatible_residual(system: LinearSystem) -> Any:
    """Y ↦ r(U₀ + Z y), the residual that certificates are about, for float64 tensors.

    Linear systems take (n,) or (B, n); semilinear ones one state (n,).
    """
    if isinstance(system, AbstractSemilinear):
        return lambda y: _Semilinear.apply(y, system)
    if not isinstance(system, LinearSystem) or not system.is_matrix:
        raise InputError(f"system: must be a LinearSystem with a stored matrix, or semilinear; got {system!r}")
    Z = system.space.Z
    B = sp.csr_array(system.A @ Z)
    B = sp.csr_array(Z.T @ B) if system.reduction == "galerkin" else B
    product, start = sparse_product(B), torch.from_numpy(system.residual(system.space.U0))
    return lambda y: product(y) + start
