"""Families with a few parameters in the matrix: κ or Young's modulus on groups of cells, the discrete target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Matrix, number, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certifiers.families.affine import AffineSystem
from pinnpoint.certifiers.families.affine_outputs import AffineCertifier
from pinnpoint.fem.assembling.assembly import elasticity_matrix, pattern
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.systems.queries import Queries, require_linear

SNAPSHOTS = 4
"""Parameters behind the bases, for each of their functions."""


CORNERS = 4
"""Groups up to which all corners of the range of parameters are among them."""
MOST_FUNCTIONS = 100
"""Largest rank of bases: beyond, their own products cost what steps with the mesh do."""


def partition(mesh: Mesh, groups: Sequence[str], name: str) -> Index:
    """The number of the group that each cell is in; refused where a cell is in none or in several."""
    if isinstance(groups, str) or not len(groups):
        raise InputError(f"{name}: must be a list of cell groups; got {groups!r}")
    held, region = np.zeros(len(mesh.cells), dtype=int), np.zeros(len(mesh.cells), dtype=np.intp)
    for k, group in enumerate(groups):
        cells = mesh.cells_of(group)
        held[cells] += 1
        region[cells] = k
    if np.any(held != 1):
        cell = int(np.argmax(held != 1))
        raise InputError(f"{name}: groups must hold every cell once; cell {cell} is in {held[cell]} of them")
    return region


def between(within: Any) -> tuple[float, float]:
    """Two rising bounds of parameters."""
    if not (isinstance(within, tuple | list | np.ndarray) and len(within) == 2):
        raise InputError(f"within: must be two rising numbers; got {within!r}")
    low, high = (number("within", x, above=0.0) for x in within)
    if not low < high:
        raise InputError(f"within: must be two rising numbers; got {within!r}")
    return low, high


def rank_of(rank: Any) -> int:
    """A rank that bases may have."""
    found = whole("rank", rank, low=1)
    if found > MOST_FUNCTIONS:
        raise InputError(f"rank: must be at most {MOST_FUNCTIONS}; got {rank!r}; for more use operators(...).prepare")
    return found


def drawn_within(within: Any, count: int, width: int, seed: int = 0) -> Any:
    """Parameters between two bounds, evenly in their logarithms, (count, width)."""
    low, high = between(within)
    return np.exp(np.random.default_rng(seed).uniform(math.log(low), math.log(high), (count, width)))


def corners_within(within: Any, width: int, seed: int = 0) -> Any:
    """Parameters that are at one of two bounds each, in all ways but those that are all alike, or some of these."""
    low, high = between(within)
    if width <= CORNERS:
        sides = np.arange(1, 2**width - 1)[:, None] >> np.arange(width) & 1
    else:
        sides = np.random.default_rng(seed).integers(0, 2, (2**CORNERS, width))
    return np.where(sides == 1, high, low)


def require_own(problem: Any, queries: Queries) -> None:
    """Refuse queries that were made for another mesh, or with other data."""
    own = queries.L.shape[1] == problem.space.N
    if not own or any(problem.fingerprint(what) != made for what, made in queries.made_for.items()):
        raise InputError("queries: belong to another mesh or other data; make them from the family's problem")


def prepare_affine(
    problem: Any, terms: Sequence[Matrix], queries: Queries, rank: int, within: Any, what: str
) -> AffineCertifier:
    """Bases for Σ μ_q A_q U = b on the free unknowns of a problem; terms are over all unknowns."""
    space, rank = problem.space, rank_of(rank)
    drawn = drawn_within(within, SNAPSHOTS * rank, len(terms))
    require_linear(queries)
    if "matrix" in queries.made_for:
        raise InputError(
            f"queries: fluxes, stresses and reactions depend on {what} themselves; ask for values and averages"
        )
    require_own(problem, queries)
    if space.free is None or np.any(space.U0):
        raise InputError("rank: bases of the discrete target need values that are held, and held at zero")
    free = np.asarray(space.free)
    L = queries.L[:, free]
    rows = np.asarray(L.toarray() if not isinstance(L, np.ndarray) else L, dtype=np.float64)
    system = AffineSystem.of([A[free][:, free] for A in terms], np.asarray(problem.b)[free], rows)
    notes = (
        f"reduced bases of rank {rank}; {what} is one number on each group",
        "the target is the discrete solution for the sum of the stored terms",
    )
    return AffineCertifier.of(system, queries.names, np.asarray(queries.constants), drawn, rank, notes, queries.derived)


@dataclass(frozen=True, eq=False)
class YoungFamily:
    """All bodies that differ from one in Young's modulus alone, one number on each of some cell groups."""

    problem: Any
    groups: tuple[str, ...]

    __repr__ = brief

    @classmethod
    def of(cls, problem: Any, young: Sequence[str]) -> YoungFamily:
        """Check what was asked for."""
        partition(problem.mesh, young, "young")
        if problem.thermal is not None:
            raise InputError("young: loads by thermal expansion depend on it; certify such bodies one by one")
        return cls(problem, tuple(young))

    def reduce(self, queries: Queries, rank: int, within: tuple[float, float]) -> AffineCertifier:
        """Reduced states and duals for moduli between the bounds `within`, for displacements.

        *Guarantee:* for every E > 0, of the discrete solution; the bases only make intervals narrow.
        """
        problem = self.problem
        region, where = partition(problem.mesh, self.groups, "young"), pattern(problem.nodes)
        lam, mu = (x / problem.young_of_cells for x in problem.lame)
        terms = []
        for k in range(len(self.groups)):
            inside = (region == k).astype(np.float64)
            terms.append(elasticity_matrix(problem.nodes, lam * inside, mu * inside, where))
        return prepare_affine(problem, terms, queries, rank, within, "Young's modulus")
