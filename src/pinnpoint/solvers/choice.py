"""Which solver for which matrix: the one whose forecast cost is least, of those that are installed and fit into memory.

Small matrices are factorised by SuperLU at once. For others the cost of each backend is forecast, from the fill of a
factor and the number of queries. Nothing of it is trusted: whatever solves, its defects are enclosed. A poor choice
costs time or memory only, and memory is predicted before anything is allocated.
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, replace

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.free_memory import free_memory
from pinnpoint.solvers.cholmod import on_reference_blas
from pinnpoint.solvers.forecast import CHOLESKY, QUICK, REFERENCE, Fill, seconds
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
FLAT_UP_TO, SOLID_UP_TO = 120_000, 15_000
"""Unknowns up to which SuperLU is taken at once in the plane, and in space, where it fills in."""
ROUGH_FROM = 40_000
"""Unknowns from which a solid's stability is bounded roughly, at linear cost, not by a factorization of its own."""
ROOM = 0.9
"""Share of the free memory that a solver may plan with."""
GB = 1e9
STORED = 9.5
"""Bytes for each entry that a Cholesky factor is forecast to have; supernodes hold some zeros."""
COUNTED, COUNTED_FROM = 40.0, 150_000
"""Bytes for each entry of a factor whose rows the proof counts, and unknowns from which it does."""
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
    fill
        Of its factor, where it was analysed; else the usual one of its size and dimension is meant.
    """

    n: int
    nnz: int
    dim: int
    queries: int
    definite: bool
    fill: Fill | None = None

    @classmethod
    def of(cls, B: Matrix, points: Vector | None, queries: int = 0, *, definite: bool = True) -> Task:
        """The task of a matrix, and of where its unknowns are; without that, its graph shows the dimension."""
        dim = graph_dimension(B) if points is None else int(points.shape[1])
        return cls(B.shape[0], int(B.nnz), dim, queries, definite)

    def analysed(self, B: Matrix, points: Vector | None) -> Task:
        """The same with the fill of its matrix, where the choice depends on it."""
        return self if self.small or not self.definite else replace(self, fill=Fill.of(B, points))

    @property
    def small(self) -> bool:
        """Whether it is factorised without further thought."""
        return self.n <= (SOLID_UP_TO if self.solid else FLAT_UP_TO)

    @property
    def expected(self) -> Fill:
        """The fill that was analysed, or the usual one."""
        if self.fill is not None:
            return self.fill
        entries = usual(self) / 8.0
        return Fill(entries, (0.25 if self.solid else 0.08) * math.pow(entries, 1.5))

    def seconds(self, name: str, iterations: float = QUICK) -> float:
        """What a backend is forecast to need."""
        slow = REFERENCE if name == "cholmod" and on_reference_blas() else 1.0
        return seconds(name, self.n, self.nnz, self.dim, self.queries, self.expected, iterations, slow)

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


def usual(task: Task) -> float:
    """Bytes of a Cholesky factor: 48 (r/15)^0.7 n^(4/3) in space, r entries a row; 26 (r/7) n log₂ n in the plane."""
    n, row = float(task.n), task.nnz / max(task.n, 1)
    if task.dim == 1:
        return 60.0 * n
    if task.solid:
        return float(48.0 * (row / 15.0) ** 0.7 * n ** (4.0 / 3.0))
    return 26.0 * (row / 7.0) * n * math.log2(max(n, 2.0))


def predicted(name: str, task: Task) -> float:
    """Bytes that a backend needs for a task, from measured growth; Green vectors and their work space included.

    Cholesky factors hold what was analysed, or the `usual`; the proof of stability makes a second one, but not for
    large solids (`ROUGH_FROM`). SuperLU holds both of its factors and two copies of one, and, where the proof needs
    more than a positive vector, those of a second factorization with their products. A multigrid hierarchy takes the
    matrix eight times while it is made, and for vectors a coarsest level that is inverted densely.
    """
    n, row = float(task.n), task.nnz / max(task.n, 1)
    cholesky = usual(task) if task.fill is None else STORED * task.fill.entries
    rough = task.solid and task.n >= ROUGH_FROM
    factors = 1.2 if rough else 2.4
    counts = 0.0 if rough or task.n < COUNTED_FROM else COUNTED * cholesky / STORED
    lu = (8.0 if task.solid else 5.0 if row <= 9.0 else 20.0) * usual(task)
    if task.solid and row > 16.0:
        lu = (8.2 if task.n < ROUGH_FROM else 3.3) * row * math.pow(n, 1.6)
    own = {
        "superlu": lu,
        "cholmod": factors * cholesky + counts,
        "pardiso": factors * cholesky,
        "cvxopt": factors * cholesky + 16.0 * task.nnz + counts,
        "amg": 90.0 * task.nnz + 64.0 * n * min(task.queries, 32) + (COARSE * min(1.0, n / 2e4) if row > 20.0 else 0.0),
        "petsc": 60.0 * task.nnz,
        "krylov": 64.0 * n,
    }[name]
    return float(own + 12.0 * task.nnz + 16.0 * n * task.queries)


REASONS = {
    "superlu": "factors fill in little",
    **dict.fromkeys(CHOLESKY, "one factorization serves all queries"),
    "amg": "multigrid needs no factor",
    "krylov": "nothing better is installed that fits",
}


def candidates(task: Task) -> list[tuple[str, str]]:
    """Backends in the order of preference, each with its reason."""
    if not task.definite:
        general = [("superlu", "factorises any matrix"), ("krylov", "GMRES needs little memory")]
        large = task.solid and task.n > SOLID_UP_TO
        return [("pardiso", "LU with little fill for a large matrix"), *general] if large else general
    if task.small:
        others = [(name, why) for name, why in REASONS.items() if name != "superlu"]
        return [("superlu", "small enough to factorise"), *others]
    return [
        (name, f"{REASONS[name]}, {task.seconds(name):.2g} s forecast") for name in sorted(REASONS, key=task.seconds)
    ]


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
