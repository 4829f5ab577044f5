"""Many states at once, in plain floating point: one pass over matrix and Green vectors for a block of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.threads import on_all_cores, share
from pinnpoint.base.workspace import Workspace
from pinnpoint.certifiers.green import GreenVectors
from pinnpoint.certifiers.ground import Ground, Observation
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.matrices import PlainMatrix, plain_products
from pinnpoint.rounding.slices import rows_of_product

BLOCK = 32
"""States that go through the matrix together."""


class Observer(Protocol):
    """What is needed of a certifier."""

    ground: Ground
    green: GreenVectors | None

    def observe(self, U: ArrayLike, load: ArrayLike | None = None) -> Observation:
        """Residual and values of one state."""

    def observation(self, y: Vector, U: Ball, r: Ball, value: Ball, b: Ball, pairs: Ball | None = None) -> Observation:
        """The same of a state whose residual and values are at hand."""


def observe_many(certifier: Observer, states: Vector, loads: Sequence[Any]) -> Iterator[Observation]:
    """What `observe` sees of every state, block by block where nothing has to be enclosed.

    An observation holds until the next block begins.
    """
    core = certifier.ground.core
    A = core.A.A if isinstance(core.A, PlainMatrix) else None
    if core.rounding or core.Z is not None or not sp.issparse(A) or not core.system.is_square:
        yield from (certifier.observe(U, b) for U, b in zip(states, loads, strict=True))
        return
    work = Workspace()
    for a in range(0, len(states), BLOCK):
        yield from _block(certifier, sp.csr_array(A), states[a : a + BLOCK], loads[a : a + BLOCK], work)


def _block(
    certifier: Observer, A: Matrix, states: Vector, loads: Sequence[Any], work: Workspace
) -> Iterator[Observation]:
    ground, core = certifier.ground, certifier.ground.core
    seen = [(*core.state(U), core.load(b)) for U, b in zip(states, loads, strict=True)]
    X = work.array("states", (core.system.N, len(seen)))
    np.stack([U.hi for _, U, _ in seen], axis=1, out=X)
    R = work.array("residuals", (len(seen), A.shape[0]))
    R[...] = _product(A, X, work.array("products", (A.shape[0], X.shape[1]))).T
    for r, (_, _, b) in zip(R, seen, strict=True):
        r -= b.hi
    values = np.asarray(ground.queries.stored @ X).T + ground.queries.constants
    green = certifier.green
    pairs = None
    if green is not None:
        pairs = plain_products(green.q, R.T).T
        pairs += 0.0 if green.q_lo is None else plain_products(green.q_lo, R.T).T
    for j, (y, U, b) in enumerate(seen):
        yield certifier.observation(y, U, exact(R[j]), exact(values[j]), b, None if pairs is None else Ball(pairs[j]))


def _product(A: Matrix, X: Vector, Y: Vector) -> Vector:
    """Y ← A X on all cores, each with rows of its own."""
    Y.fill(0.0)
    step = share(len(Y), A.nnz * X.shape[1])

    def part(a: int) -> None:
        rows_of_product(A, X, a, step, Y[a : a + step])

    on_all_cores(part, range(0, len(Y), step))
    return Y
