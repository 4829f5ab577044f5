"""Peak memory of `pinnpoint certify`, from measured growth."""

from __future__ import annotations

import math

from pinnpoint.cli.watch import LARGE
from pinnpoint.rounding.matrices import LOAD_AFTER, PRODUCTS
from pinnpoint.solvers.choice import MODULES, Task, predicted

PROGRAM, COMPILED = 0.13e9, 0.03e9
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
