"""Coefficient networks of a load family: μ ↦ coefficients of a reduced compatible basis."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certifiers.families.certifier import FamilyCertifier
from pinnpoint.models.networks.safetensors import write_safetensors
from pinnpoint.solvers.protocol import answer
from pinnpoint.training.networks import perceptron
from pinnpoint.training.trainer import History, Report, Settings, fit


def reduced_basis(certifier: FamilyCertifier, rank: int, mu: ArrayLike) -> Vector:
    """The `rank` directions (N, rank) that hold most energy of the solutions for these μ, scaled to energy one.

    With solutions U_k of the single loads (p solves with the prepared solver) and Gram matrix G_jk = U_jᵀA U_k, the
    proper orthogonal decomposition of Σ μ_k U_k in the energy norm is an eigenvalue problem of size p.
    """
    core, m = certifier.ground.core, certifier.table.coefficients(mu)
    rank = whole("rank", rank, low=1)
    if rank > len(certifier.F):
        raise InputError(f"rank: must be at most {len(certifier.F)}, the number of loads; got {rank}")
    if not core.system.is_square:
        raise InputError("certifier: a reduced basis needs a square system")
    bare = core.homogeneous()
    rows = [bare.load(f).hi for f in certifier.F]
    if core._restrict is not None:
        rows = [core._restrict.affine(bare.load(f)).hi for f in certifier.F]
    y = np.stack([answer(certifier.certifier._solver.solve, f) for f in rows], axis=1)
    G = np.stack(rows) @ y
    G = 0.5 * (G + G.T)
    values, vectors = np.linalg.eigh(G)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    left, size, _ = np.linalg.svd(root.T @ (m.T @ m / len(m)) @ root)
    if not size[rank - 1] > 1e-14 * size[0]:
        raise InputError(f"rank: the loads span fewer than {rank} directions")
    T = np.linalg.pinv(root.T) @ left[:, :rank]
    V = np.zeros((core.system.N, rank))
    for j, column in enumerate((y @ T).T):
        V[:, j] = bare.expand(column).hi
    return V


@dataclass(frozen=True, eq=False)
class TrainedFamily:
    """A trained coefficient network: a callable on μ (S, p), giving coefficients (S, rank) of its basis."""

    module: Any
    basis: Vector
    scale: Vector
    activation: str
    history: History

    __repr__ = brief

    def __call__(self, mu: ArrayLike) -> Vector:
        """Coefficients for rows of μ."""
        with torch.no_grad():
            x = torch.as_tensor(np.asarray(mu, dtype=np.float64) / self.scale)
            return np.asarray(self.module(x).numpy())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write weights, basis and the scale of μ as safetensors."""
        state = {name: t.detach().numpy() for name, t in self.module.state_dict().items()}
        told = {"activation": self.activation, "best_loss": repr(self.history.best_loss)}
        return write_safetensors(path, {**state, "basis": self.basis, "scale": self.scale}, told)


def train_family(
    certifier: FamilyCertifier,
    basis: Any,
    mu: ArrayLike,
    validation: Any,
    settings: Settings | None = None,
    *,
    width: int = 128,
    depth: int = 3,
    activation: str = "gelu",
    report: Report | None = None,
) -> TrainedFamily:
    """Train μ ↦ a on the normalised compatible residual, mean of ‖A(U₀ + V a) − b_μ‖² / ‖A U₀ − b_μ‖² over the loads.

    The residual is M x with x = (1, a, −μ) and M = [A U₀ − b₀, A V, F] = QR, so its norm is that of R x: after one
    factorization a step costs nothing that grows with the mesh. The best weights by validation loss are kept. Without
    `settings` they are the paper's: AdamW, rate 2e-3, batches of 64, 1200 epochs.
    """
    settings = Settings(epochs=1200, optimizer="adamw", batch=64) if settings is None else settings
    states = certifier.reduced(basis).states
    if states.R is None:
        raise InputError("certifier: training needs an identity or diagonal weight")
    train, check = certifier.table.coefficients(mu), certifier.table.coefficients(validation)
    scale = np.maximum(np.abs(train).max(axis=0), np.finfo(np.float64).tiny)
    net = perceptron(train.shape[1], states.m, width, depth, activation, settings.seed)
    Rt = torch.from_numpy(np.ascontiguousarray(states.R.T))

    def losses(given: Vector) -> Any:
        m = torch.from_numpy(np.ascontiguousarray(given))
        x, one = m / torch.from_numpy(scale), torch.ones((len(m), 1), dtype=torch.float64)
        zero = torch.zeros((len(m), states.m), dtype=torch.float64)
        start = ((torch.cat([one, zero, -m], dim=1) @ Rt) ** 2).sum(dim=1)
        if not bool((start > 0.0).all()):
            raise InputError("mu: a load without residual at the start cannot be normalised; leave zero loads out")

        def loss(at: ArrayLike) -> Any:
            r = torch.cat([one[at], net(x[at]), -m[at]], dim=1) @ Rt
            return ((r * r).sum(dim=1) / start[at]).mean()

        return loss

    every = torch.arange(len(check))
    check_loss = losses(check)
    history = fit(net, losses(train), len(train), settings, lambda: float(check_loss(every)), report)
    return TrainedFamily(net, states.V, scale, activation, history)
