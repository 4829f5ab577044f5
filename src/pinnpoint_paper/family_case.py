"""The load family on the bracket: four loads, 28 queries, networks on reduced bases, and references by linearity."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.certifiers.exact import Exact
from pinnpoint.systems.queries import Queries
from pinnpoint_paper import bracket_case as case
from pinnpoint_paper.bracket_given import Which
from pinnpoint_paper.predictions import STAND_IN, TRAINED, trainer

KINDS = ("patch average", "surface point", "interior point")
COUNTS = (4, 16, 8)
KIND_OF = np.repeat(np.arange(3), COUNTS)


def loads(which: str) -> Any:
    """Random scaled combinations: 512 for training, 128 for validation, 256 for tests, as in the paper."""
    seed, count = {"train": (1, 512), "validation": (2, 128), "test": (3, 256)}[which]
    rng = np.random.default_rng([17, seed])
    return rng.uniform(-1.0, 1.0, (count, 4)) * rng.uniform(0.5, 1.5, (count, 1))


@cache
def queries(which: Which) -> Queries:
    """u_z: the four patches, 16 points inside surface facets, 8 inside cells."""
    found = case.make(which)
    mesh, N = found.problem.mesh, found.problem.system.N
    rng = np.random.default_rng(23)
    rows = []
    for simplices, count in ((found.given.surface, COUNTS[1]), (mesh.cells, COUNTS[2])):
        chosen = rng.choice(len(simplices), count, replace=False)
        bary = rng.dirichlet(np.ones(simplices.shape[1]), count)
        rows += [np.bincount(3 * simplices[c] + 2, b, minlength=N) for c, b in zip(chosen, bary, strict=True)]
    L = sp.vstack([sp.csr_array(found.queries.L), sp.csr_array(np.array(rows))])
    names = [f"{kind} {i + 1}" for kind, count in zip(KINDS, COUNTS, strict=True) for i in range(count)]
    return Queries(sp.csr_array(L), names)


@cache
def certifier(which: Which) -> tuple[Any, float]:
    """The family's certifier, and the processor seconds it took to prepare."""
    found = case.make(which)
    start = time.process_time()
    family = found.problem.family(list(found.given.loads))
    prepared = family.prepare(queries(which), Exact(refine=True, coercivity=found.coercivity))
    return prepared, time.process_time() - start


@cache
def solutions(which: Which) -> Any:
    """Solutions (4, N) of the single loads by a solver that no certificate uses."""
    found, (prepared, _) = case.make(which), certifier(which)
    free = np.asarray(found.problem.space.free)
    U = np.zeros((len(prepared.F), found.problem.system.N))
    for k, F in enumerate(prepared.F):
        U[k, free] = case.solve(found, np.asarray(F)[free])
    return U


def truth(which: Which) -> Any:
    """Values of the test loads at all queries, by linearity."""
    return loads("test") @ (queries(which).L @ solutions(which).T).T


@cache
def basis(which: Which, rank: int) -> Any:
    """(N, rank): directions of most energy of the training loads' solutions; a fourth one from gravity.

    Three of the loads act at one point, so that solutions span three directions.
    """
    found, U = case.make(which), solutions(which)
    free = np.asarray(found.problem.space.free)
    m = loads("train")
    G = U[:, free] @ (found.A @ U[:, free].T)
    values, vectors = np.linalg.eigh(0.5 * (G + G.T))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    left = np.linalg.svd(root.T @ (m.T @ m / len(m)) @ root)[0]
    V = U.T @ (np.linalg.pinv(root.T, rcond=1e-7) @ left[:, : min(rank, 3)])
    if rank == 4:
        extra = np.zeros((len(V), 1))
        extra[free, 0] = case.solve(found, found.problem.load(body=("0", "0", "-1"))[free])
        V = np.concatenate([V, extra / np.sqrt(extra[free, 0] @ (found.A @ extra[free, 0]))], axis=1)
    return V


def galerkin(which: Which, rank: int, mu: Any) -> Any:
    """Coefficients of the linear surrogate: the best in energy, a = (VᵀAV)⁻¹VᵀF μ."""
    found, (prepared, _), V = case.make(which), certifier(which), basis(which, rank)
    free = np.asarray(found.problem.space.free)
    small = V[free].T @ (found.A @ V[free])
    return mu @ np.linalg.solve(small, V[free].T @ np.asarray(prepared.F)[:, free].T).T


def network(which: Which, rank: int, epochs: int) -> tuple[Any, str, dict[str, Any]]:
    """μ ↦ coefficients: the paper's network where torch is there, else the linear surrogate, one per cent off."""
    training = trainer()
    prepared, _ = certifier(which)
    if training is None:
        off = 1.0 + 0.01 * np.random.default_rng(5).normal(size=rank)
        return (lambda mu: galerkin(which, rank, mu) * off), STAND_IN, {}
    import torch

    torch.set_num_threads(1)
    settings = training.Settings(epochs=epochs, optimizer="adamw", batch=64)
    found = training.train_family(prepared, basis(which, rank), loads("train"), loads("validation"), settings)
    h = found.history
    step = max(1, len(h.loss) // 60)
    told = {"loss": list(h.loss[::step]), "validation": list(h.validation[::step]), "step": step, "best": h.best_loss}
    return found, TRAINED, told


def fresh_solve(which: Which) -> tuple[float, int]:
    """Processor seconds and steps of conjugate gradients with Jacobi preconditioning to 1e-10, for one test load."""
    found, (prepared, _) = case.make(which), certifier(which)
    b = (loads("test")[0] @ np.asarray(prepared.F))[np.asarray(found.problem.space.free)]
    d, steps = 1.0 / found.A.diagonal(), 0

    def count(_: Any) -> None:
        nonlocal steps
        steps += 1

    start = time.process_time()
    spla.cg(found.A, b, rtol=1e-10, M=spla.LinearOperator(found.A.shape, matvec=lambda v: d * v), callback=count)
    return time.process_time() - start, steps
