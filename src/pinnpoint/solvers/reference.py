"""A reference operator inverted once: a few preconditioned steps in the place of solves with matrices near it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

import numpy as np
import scipy
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Matrix, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.solvers.amg import Multigrid
from pinnpoint.solvers.protocol import Solver

SMALL = 1e-24
"""A field's steps end where its rᵀz has fallen this far: beyond, its quotients are rounding."""
MOST = 48
"""Steps after which none is gone on with."""
FAR = 4.5
"""Spread of κ/κ̄ beyond which steps are preconditioned by cycles of the matrix itself, where PyAMG is there."""
EVEN = 1e-9
"""How far, against the spacing, lines of a lattice may be from even."""


def conjugate(
    operate: Callable[[Vector], Vector],
    precondition: Callable[[Vector], Vector],
    r: Vector,
    steps: int,
    small: float = SMALL,
) -> Vector:
    """Steps of conjugate gradients from zero for every column at once; nothing here is trusted."""
    x, p, old, first = np.zeros_like(r), np.zeros_like(r), None, None
    with np.errstate(all="ignore"):
        for _ in range(steps):
            z = precondition(r)
            new = np.einsum("nm,nm->m", r, z)
            first = new if first is None else first
            going = new > small * first  # operators.md, step 4c
            if not going.any():
                break
            p = z if old is None else z + np.where(going, new / np.where(going, old, 1.0), 0.0) * p
            q = operate(p)
            curvature = np.einsum("nm,nm->m", p, q)
            going &= curvature > 0.0
            step = np.where(going, new / np.where(going, curvature, 1.0), 0.0)
            x, r, old = x + step * p, r - step * q, new
    return x


def cycles(matrix: Callable[[], Matrix], spread: float, *, asked: bool | None) -> Callable[[Vector], Vector] | None:
    """One multigrid cycle of a matrix that is far from its reference; None to stay with the reference's inverse.

    `asked`: True to insist, False not to, None where the spread of κ/κ̄ is large and PyAMG (extra ``amg``) is there.
    """
    if asked is False or (asked is None and not (spread > FAR and find_spec("pyamg") is not None)):
        return None
    A = matrix()
    return Multigrid(0.5 * (A + A.T)).roughly  # operators.md, step 13d


@dataclass(frozen=True, eq=False)
class Sines:
    """The inverse of the stiffness matrix of one number κ̄ on the interior nodes of a lattice, by sine transforms.

    Attributes
    ----------
    order
        Unknowns in the lattice's order.
    inverse
        One over the eigenvalues, in the shape of the interior nodes.
    """

    order: Index
    inverse: Vector
    name = "sine transforms"

    __repr__ = brief

    @classmethod
    def of(cls, A: Matrix, points: Vector) -> Sines | None:
        """Of a matrix and where its unknowns are; None where transforms do not invert it."""
        axes = [np.unique(x) for x in points.T]
        shape, d = tuple(len(x) for x in axes), points.shape[1]
        if d < 2 or int(np.prod(shape)) != len(points) or min(shape) < 2:
            return None
        gaps = np.concatenate([np.diff(x) for x in axes])
        h = float(gaps.mean())
        if float(np.ptp(gaps)) > EVEN * h:
            return None
        places = [np.searchsorted(axis, x) for axis, x in zip(axes, points.T, strict=True)]
        order = np.argsort(np.ravel_multi_index(tuple(places), shape))
        waves = [2.0 - 2.0 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1)) for n in shape]
        scale = float(A.diagonal()[0]) / (2.0 * d)
        made = cls(order, 1.0 / (scale * sum(np.ix_(*waves))))
        tried = np.random.default_rng(0).normal(size=(len(points), 1))
        off = float(np.abs(made.solve(A @ tried) - tried).max())
        return made if off < EVEN else None

    def solve(self, b: Vector) -> Vector:
        """Of columns, or of a vector."""
        shape, columns = self.inverse.shape, b.reshape(len(b), -1)
        axes = tuple(range(1, len(shape) + 1))
        fields = np.ascontiguousarray(columns[self.order].T).reshape(-1, *shape)
        fields = scipy.fft.dstn(fields, type=1, axes=axes, norm="ortho") * self.inverse
        solution = np.empty_like(columns)
        solution[self.order] = scipy.fft.dstn(fields, type=1, axes=axes, norm="ortho").reshape(columns.shape[::-1]).T
        return solution.reshape(b.shape)

    solve_transposed = solve


@dataclass(frozen=True, eq=False)
class Reference:
    """Ā = ∫ κ̄∇φ_i·∇φ_j on the free nodes of a mesh, inverted once for all problems there.

    Problems of the same mesh with values held at the same nodes take it as ``Exact(solver=reference)`` for their own
    solution: their states come from a few steps, and v = Ā⁻¹(b − Au) makes their fluxes balance
    ([operators](operators.md), section 13).

    Attributes
    ----------
    made_on, free
        The mesh's fingerprint, and the numbers of its free nodes.
    kappa
        κ̄ on the cells.
    inverse
        Ā⁻¹: a factor, or transforms.
    diagonal
        Of Ā.
    steps
        Steps beyond the reference's own state; None to go on until what is left is `tolerance` of the load, in the
        norm of Ā⁻¹.
    multigrid
        Whether steps are preconditioned by one multigrid cycle of the problem's own matrix (extra ``amg``), not by
        Ā⁻¹; None to do so where κ/κ̄ spreads widely.
    """

    made_on: str
    free: Index
    kappa: Vector
    inverse: Solver
    diagonal: Vector
    steps: int | None = None
    tolerance: float = 1e-3
    multigrid: bool | None = None

    __repr__ = brief

    def on(self, matrix: Matrix, made_on: str | None, free: NDArray[np.intp] | None) -> Steps:
        """Steps for a problem's matrix on its free nodes."""
        if made_on != self.made_on or free is None or not np.array_equal(free, self.free):
            raise InputError(
                "solver: the reference is one of another mesh, or of values held at other nodes; make it from a "
                "problem with this mesh and these Dirichlet groups"
            )
        return Steps(self, matrix)


@dataclass(frozen=True, eq=False)
class Steps:
    """`Reference`'s steps towards one matrix. What they leave is known, and not trusted to be small."""

    reference: Reference
    matrix: Matrix
    name = "steps towards a reference"
    accurate = True
    """That no second solve is needed, not that there is nothing left."""

    __repr__ = brief

    @cached_property
    def _precondition(self) -> Callable[[Vector], Vector]:
        share = self.matrix.diagonal() / self.reference.diagonal
        own = cycles(lambda: self.matrix, float(share.max() / share.min()), asked=self.reference.multigrid)
        return self.reference.inverse.solve if own is None else own

    def solve(self, b: Vector) -> Vector:
        """Of columns, or of a vector."""
        r, A = b.reshape(len(b), -1), self.matrix
        steps, tolerance = self.reference.steps, self.reference.tolerance
        most, small = (MOST, tolerance * tolerance) if steps is None else (steps + 1, SMALL)
        # of steps from zero the first one is the reference's state, as a multiple of least energy
        return conjugate(lambda p: np.asarray(A @ p), self._precondition, r, most, small).reshape(b.shape)

    solve_transposed = solve
