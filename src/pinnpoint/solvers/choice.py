"""Which solver for which matrix: by its size, its dimension, the number of queries, what is installed and free memory.

Nothing of it is trusted: whatever solves, its defects are enclosed. A poor choice costs time or memory only, and
memory is predicted before anything is allocated.
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, replace

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.machine import free_memory
from pinnpoint.solvers.graphs import dimension as graph_dimension
from pinnpoint.solvers.protocol import Solver, is_accurate

MODULES = {
    "superlu": "scipy",
    "cholmod": "sksparse",
    "pardiso": "pypardiso",
    "cvxopt": "cvxopt",
    "amg": "pyamg",
    "petsc": "petsc4py",
}
NAMES = ("auto", "direct", "superlu", "cholmod", "pardiso", "cvxopt", "amg", "petsc", "krylov", "lsmr", "lsqr")
"""What `solver` may say; the last two are for least-squares systems."""
FLAT_UP_TO, SOLID_UP_TO = 400_000, 15_000
"""Unknowns up to which SuperLU is the first choice in the plane, and in space, where it fills in."""
ROUGH_FROM = 40_000
"""Unknowns from which a solid's stability is bounded roughly, at linear cost, not by a factorization of its own."""
ROOM = 0.9
"""Share of the free memory that a solver may plan with."""
GB = 1e9
COARSE = 1.5e8
"""Bytes to invert the coarsest multigrid level of a solid, of about 2,000 unknowns."""


@dataclass(frozen=True)
class Task:
    """What a choice depends on.

    Parameters
    ----------
    n, nnz
        Unknowns and stored entries.
    dim
        Dimension of the mesh.
    queries
        Right-hand sides to come.
    definite
        Whether the matrix is symmetric with a positive diagonal.
    """

    n: int
    nnz: int
    dim: int
    queries: int
    definite: bool

    @classmethod
    def of(cls, B: Matrix, points: Vector | None, queries: int = 0, *, definite: bool = True) -> Task:
        """The task of a matrix, and of where its unknowns are; without that, its graph shows the dimension."""
        dim = graph_dimension(B) if points is None else int(points.shape[1])
        return cls(B.shape[0], int(B.nnz), dim, queries, definite)

    @property
    def solid(self) -> bool:
        """Whether factors fill in as in space."""
        return self.dim == 3

    @property
    def words(self) -> str:
        """The task in words."""
        shape = "symmetric" if self.definite else "not symmetric positive definite"
        return f"{self.dim}D, {shape}, {self.n} unknowns, {self.queries} queries"


@dataclass(frozen=True)
class Choice:
    """A backend with the reason for it and the memory that it needs [bytes], Green vectors included."""

    name: str
    why: str
    memory: float

    own: bool = False
    """Whether it is an object of the caller's."""
    accurate: bool = False
    """Whether the solver, once it is made, calls itself backward stable."""

    __repr__ = brief

    def of(self, solver: Solver) -> Choice:
        """The same, with what the solver that was made says of itself."""
        return replace(self, accurate=is_accurate(solver))

    def __str__(self) -> str:
        need = f"; about {self.memory / GB:.2g} GB" if self.memory else ""
        return f"{self.name} ({self.why}{need})"


def installed(name: str) -> bool:
    """Whether a backend's package is there."""
    return importlib.util.find_spec(MODULES[name]) is not None if name in MODULES else True


def predicted(name: str, task: Task) -> float:
    """Bytes that a backend needs for a task, from measured growth; Green vectors and their work space included.

    Cholesky factors hold about 48 (r/15)^0.7 n^(4/3) bytes in space, r entries per row, and 26 (r/7) n log₂ n in the
    plane; the proof of stability makes a second one, but not for large solids (`ROUGH_FROM`). SuperLU holds both of its
    factors and two copies of one, and, where the proof needs more than a positive vector, those of a second
    factorization with their products. A multigrid hierarchy takes the matrix eight times while it is made, and for
    vectors a coarsest level that is inverted densely.
    """
    n, row = float(task.n), task.nnz / max(task.n, 1)
    if task.solid:
        cholesky = 48.0 * (row / 15.0) ** 0.7 * n ** (4.0 / 3.0)
    else:
        cholesky = 26.0 * (row / 7.0) * n * math.log2(max(n, 2.0))
    if task.dim == 1:
        cholesky = 60.0 * n
    factors = 1.2 if task.solid and task.n >= ROUGH_FROM else 2.4
    lu = (8.0 if task.solid else 5.0 if row <= 9.0 else 20.0) * cholesky
    if task.solid and row > 16.0:
        lu = (8.2 if task.n < ROUGH_FROM else 3.3) * row * math.pow(n, 1.6)
    own = {
        "superlu": lu,
        "cholmod": factors * cholesky,
        "pardiso": factors * cholesky,
        "cvxopt": factors * cholesky + 16.0 * task.nnz,
        "amg": 90.0 * task.nnz + 64.0 * n * min(task.queries, 32) + (COARSE * min(1.0, n / 2e4) if row > 20.0 else 0.0),
        "petsc": 60.0 * task.nnz,
        "krylov": 64.0 * n,
    }[name]
    return float(own + 12.0 * task.nnz + 16.0 * n * task.queries)


def candidates(task: Task) -> list[tuple[str, str]]:
    """Backends in the order of preference, each with its reason."""
    if not task.definite:
        general = [("superlu", "factorises any matrix"), ("krylov", "GMRES needs little memory")]
        large = task.solid and task.n > SOLID_UP_TO
        return [("pardiso", "LU with little fill for a large matrix"), *general] if large else general
    cholesky = [(name, "one factorization serves all queries") for name in ("cholmod", "pardiso", "cvxopt")]
    multigrid = [("amg", "multigrid needs little memory"), ("krylov", "nothing better is installed that fits")]
    most = SOLID_UP_TO if task.solid else FLAT_UP_TO
    if task.n <= most:
        return [("superlu", "small enough to factorise"), *cholesky, *multigrid]
    if task.solid and task.queries < 2:
        return [("amg", "one solve is cheaper than a factorization"), *cholesky, multigrid[-1]]
    if task.solid:
        return [*cholesky, ("amg", "factors would fill in, and no Cholesky package fits"), multigrid[-1]]
    return [*cholesky, ("superlu", "factors fill in little"), *multigrid]


def choose(task: Task, free: float | None = None) -> list[Choice]:
    """All backends that are installed and fit into memory, the best one first.

    Raises
    ------
    InputError
        Where none fits, with the memory that the smallest one needs.
    """
    room = ROOM * (free_memory() if free is None else free)
    found: list[Choice] = []
    missing: list[str] = []
    least = math.inf
    for name, why in candidates(task):
        need = predicted(name, task)
        if not installed(name):
            missing.append(name)
            continue
        least = min(least, need)
        if need <= room:
            note = f"; not installed: {', '.join(missing)}" if missing and not found else ""
            found.append(Choice(name, f"{task.words}: {why}{note}", need))
    if not found:
        raise InputError(
            f"solver: every solver needs more than the {room / GB:.3g} GB at hand, the smallest about "
            f"{least / GB:.3g} GB, for {task.words}; use fewer queries, a coarser mesh or a machine with more memory"
        )
    return found


def asked_for(name: str, task: Task, free: float | None = None) -> Choice:
    """The backend that the caller named, if it fits into memory."""
    need, room = predicted(name, task), ROOM * (free_memory() if free is None else free)
    if need > room:
        raise InputError(
            f"solver: '{name}' needs about {need / GB:.3g} GB for {task.words}, and {room / GB:.3g} GB are at hand; "
            "use solver='auto', fewer queries or a coarser mesh"
        )
    return Choice(name, "asked for", need)
