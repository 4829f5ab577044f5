"""Peak memory of `pinnpoint certify`, from measured growth."""

from __future__ import annotations

import math

from pinnpoint.cli.watch import LARGE
from pinnpoint.fem.parabolic.asking import MovingQueries
from pinnpoint.rounding.matrices import LOAD_AFTER, PRODUCTS
from pinnpoint.solvers.choice import MODULES, Task, predicted
from pinnpoint.transfer.slabs.enclosure import held_at_once

PROGRAM, COMPILED = 0.10e9, 0.03e9
"""Bytes of the program with its libraries, and of compiled loops, which large cases load."""
CELL = {1: (600.0, 600.0), 2: (640.0, 870.0), 3: (900.0, 1280.0)}
"""Bytes for each cell to make mesh and matrix, for scalars and for vectors."""
STAYS = 0.6
"""Share of them that is not used again by what follows; small solids and plates, which keep memory, use none."""
ROWS, ENTRY = 65_536, 50.0
"""Rows whose residuals are made at a time in extended precision for the bundle, and bytes for each entry of them."""


def peak(name: str, task: Task, cells: int, components: int, degree: int, *, easy: bool, rough: bool) -> float:
    """Bytes at the peak: the program, mesh and matrix, and the solver or, where it is larger, the bundle's witness.

    An M-matrix (`easy`) is proved by a positive vector, a large solid (`rough`) by paths of cells; for others the
    witness is a sparse LU factorization with its products, whatever solver was used.
    """
    program = PROGRAM + (COMPILED if PRODUCTS * task.nnz + task.n * task.queries >= LOAD_AFTER else 0.0)
    build = cells * CELL[task.dim or 2][components > 1] * (1.0 if degree == 1 else 3.0)
    vectors = 24.0 * task.n * task.queries
    witness = 0.0 if easy or rough else factors(task, components, degree, easy=False)
    if name == "krylov":
        witness = 0.0 if rough else factors(task, components, degree, easy=easy)
    lean = name == "krylov" or (name in MODULES and name != "superlu")
    own = predicted(name, task) if lean else vectors + factors(task, components, degree, easy=easy)
    stays = 1.0 if components > 1 and task.n <= LARGE else STAYS
    residuals = ENTRY * task.nnz * min(1.0, ROWS / max(task.n, 1))
    return program + max(build, stays * build + residuals + max(own, witness + vectors))


def factors(task: Task, components: int, degree: int, *, easy: bool) -> float:
    """Bytes of SuperLU's factors; those of a matrix that is no M-matrix are made twice, and multiplied."""
    n, dim = float(task.n), task.dim or 2
    flat, solid = n * math.log2(max(n, 2.0)), math.pow(n, 4.0 / 3.0)
    if dim == 1:
        return 60.0 * flat
    if degree == 2:
        return 440.0 * math.pow(n, 1.5) if dim == 3 else 480.0 * flat
    if dim == 2:
        return (793.0 if components > 1 else 133.0 if easy else 400.0) * flat
    if components > 1:
        return 345.0 * math.pow(n, 1.6)
    return (400.0 if easy else 1100.0) * solid


COEFFICIENT, MAPPED = 110.0, 60.0
"""Bytes for each coefficient of the sources of all modes that fluxes are made for at a time, by patches or a map."""
KERNEL = {1: (0.0, 0.0), 2: (0.02e9, 0.01e9), 3: (0.6e9, 0.15e9)}
"""Bytes of the cells that a point's kernel is cut into, while they are made, and for each query by dimension."""
ENTRIES = 90.0
"""Bytes for each entry of the matrix of all steps: itself, its parts, its enclosures."""


def moving_bytes(problem: MovingQueries, queries: int, *, discrete: bool) -> float:
    """Bytes at the peak of a problem in time: factors of all slabs, states, and the matrix of all steps if it is made.

    The proof for the PDE's own solution takes cells and modes of a slab at a time, and data on all of them.
    """
    grid, K, n, dim = problem.grid, problem.stationary.A, len(problem.nodes), problem.mesh.dim
    free, m = problem.stationary.space.n, grid.per_slab
    different = len(set(grid.lengths.tolist()))
    one = Task(m * free, m * m * int(K.nnz), dim, 1, True)
    kept = different * 0.5 * factors(one, 1, problem.degree, easy=True)
    build = len(problem.mesh.cells) * CELL[dim][0] * (1.0 if problem.degree == 1 else 3.0)
    states = 8.0 * n * grid.levels.size * (4.0 + (3.0 * queries if discrete else queries))
    blocks = ENTRIES * K.nnz * grid.steps * m * (m + 1) if discrete else 0.0
    each = MAPPED if dim > 1 and problem.degree == 1 and not problem.given["robin"] else COEFFICIENT
    slabs = 0.0 if discrete else each * held_at_once(len(problem.mesh.cells), dim, m + 2, queries, grid.steps)
    making, own = KERNEL[dim]
    kernels = 0.0 if discrete else making + own * (queries - 1)
    return PROGRAM + COMPILED + build + states + blocks + slabs + kept + kernels
