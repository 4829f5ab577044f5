"""Witnesses of the discrete target: a solved state, Green vectors, and what proves coercivity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import CertificationError
from pinnpoint.base.free_memory import free_memory
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certifiers.protocols import Problem
from pinnpoint.fem.data.coefficients import per_cell
from pinnpoint.fem.lifts.lifted import Lifted
from pinnpoint.fem.problem import FiniteElements
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.fem.semilinear import Semilinear
from pinnpoint.mesh.gluing import Gluing
from pinnpoint.mesh.quadrature import rule
from pinnpoint.outputs.bundle.files import Writer
from pinnpoint.outputs.bundle.paths import paths
from pinnpoint.rounding.arithmetic import UNIT
from pinnpoint.rounding.coercivity import equilibration, lu_defect, scaled, symmetric_part, verify_coercivity, z_part
from pinnpoint.rounding.stepped import Stepped
from pinnpoint.solvers.amg import Multigrid
from pinnpoint.solvers.choice import GB, ROOM, Task, predicted
from pinnpoint.solvers.direct import factorize
from pinnpoint.solvers.petsc import Petsc
from pinnpoint.solvers.protocol import Solver, answer, is_accurate
from pinnpoint.systems.evolution.energy import StepMatrices, step_weights
from pinnpoint.systems.goals import Cells, CellStrain, CellStress, CellStressAlong, Flux, Patch, Reaction
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.semilinear.cubic import CubicSystem
from pinnpoint.systems.semilinear.reaction import ReactionSystem

SAFETY = 1e-6
"""Stored coercivity bounds are this much smaller than computed ones, so that another rounding also proves them."""
LOADS = ("neumann", "robin", "traction", "force")
"""Conditions that are part of b, in the order of their facets in a bundle."""
COEFFICIENTS = ("diffusion", "reaction", "young", "poisson")
"""Of A; where they are tables the bundle says which cell has which number."""
ROWS = 65_536
"""Rows whose residuals are made at a time, in extended precision."""
ROOMY = 0.01
"""γT of a floor that another program can prove as well, where one is needed at all."""
CLOSE = 1e-8
"""Coercivity bounds below this are close to rounding."""
SMALL_STEP = 1e-9
"""A correction of a state that is relatively smaller leaves nothing to the next one: its error is as small again."""


def system(out: Writer, problem: Any, queries: Queries) -> dict[str, Any]:
    """A, b, ℓ, what is fixed, and the mesh of a problem; a system has none."""
    on_mesh = isinstance(problem, Problem)
    system = problem.system if on_mesh else problem
    space = system.space
    if on_mesh:
        out.array("mesh/nodes", problem.nodes.points)
        out.array("mesh/cells", np.sort(problem.mesh.cells, axis=1))
        for i, goal in enumerate(queries.goals or ()):
            if isinstance(goal, Patch | Flux | Reaction):
                out.array(f"mesh/facets{i}", np.unique(np.sort(problem.mesh.facets(goal.group), axis=1), axis=0))
            if isinstance(goal, Cells | CellStrain | CellStress | CellStressAlong) and goal.cells is not None:
                named = isinstance(goal.cells, str)
                cells = problem.mesh.cells_of(goal.cells) if named else np.array(goal.cells, dtype=np.intp)
                out.array(f"mesh/chosen{i}", np.sort(cells))
        _defined(out, problem)
        _paired(out, problem)
    out.sparse("system/a", system.free_rows if isinstance(system, LinearSystem) else sp.csr_array(system.A)[space.free])
    out.array("system/b", system.b[space.free])
    out.array("system/free", space.free)
    out.array("system/fixed", space.U0[space.fixed])
    out.sparse("system/l", queries.L)
    out.array("system/constants", queries.constants)
    if isinstance(system, CubicSystem):
        out.array("system/cubic", system.w)
    if isinstance(system, ReactionSystem):
        out.array("system/shapes", system.phi)
        out.array("system/weights", system.v)
    return {
        "components": problem.components if on_mesh else 1,
        "degree": problem.degree if on_mesh else 1,
        "weighted": system.weight is not None,
    }


def _paired(out: Writer, problem: Any) -> None:
    """Facets of periodic pairs, vertex by vertex."""
    own = problem.base if isinstance(problem, Lifted) else problem
    own = own.linear if isinstance(own, Semilinear) else own
    if isinstance(own, ReactionDiffusion) and own.loops is not None:
        for k, (one, two) in enumerate(own.loops.pairs.items()):
            pair = Gluing.of(own.mesh, {one: two})
            out.array(f"mesh/pair{k}", np.stack([pair.first, pair.second], axis=1))


def _defined(out: Writer, problem: Any) -> None:
    """What else defines A and b: the rules, the facets of loads, and coefficients that are tables of groups.

    What a lifted prediction leaves has none of them: its data are not those of a case.
    """
    if not isinstance(problem, FiniteElements):
        return
    order, d = problem.quadrature, problem.mesh.dim
    for name, m, q in (("cells", d, order), ("mass", d, max(order, 2 * problem.degree)), ("facets", d - 1, order)):
        bary, weights = rule(m, q)
        out.array(f"rule/{name}_at", bary)
        out.array(f"rule/{name}_w", weights)
    groups = [group for word in LOADS for group in problem.conditions.get(word, {})]
    for k, group in enumerate(groups):
        facets = problem.mesh.facets(group)
        first = np.unique(np.sort(facets, axis=1), axis=0, return_index=True)[1]
        out.array(f"mesh/load{k}", facets[first])
    if np.any(np.diff(problem.mesh.cells, axis=1) < 0):  # not all rules are the same for every order of vertices
        out.array("mesh/own", problem.mesh.cells)
    for word in COEFFICIENTS:
        given = problem.given.get(word)
        numbers = isinstance(given, Mapping) and not any(callable(v) or np.ndim(v) for v in given.values())
        if numbers:
            out.array(f"system/{word}", per_cell(word, given, problem.mesh))


def linear(out: Writer, problem: Any, queries: Queries, evidence: Evidence) -> dict[str, Any]:
    """A solved state, Green vectors and a coercivity witness; they prove any linear method's claim.

    A state that is a ball, a pair of floats, is taken as it is.
    """
    system: LinearSystem = problem.system if isinstance(problem, Problem) else problem
    free, solver, green, positive = system.space.free, evidence.solver, evidence.green, evidence.positive
    assert free is not None
    state, coercivity = evidence.state, evidence.coercivity
    B = None if coercivity is not None and solver is not None else system.free_block
    iterates = positive is not None and isinstance(solver, Multigrid | Petsc)  # then no factor is needed
    if solver is None or not (is_accurate(solver) or B is None or iterates):
        _require_room(system, B)
        solver = factorize(B, system.row_points)
    if state is not None and state.lo is not None:
        out.array("witness/state", state.hi)
        out.array("witness/rest", state.lo)
    else:
        solved = _solved(system, solver, evidence.corrected if state is None else state.hi)
        out.array("witness/state", solved)
        if B is None:  # a bound of coercivity by paths is small, and divides what rounding leaves of the residual
            out.array("witness/rest", _rest(system, solver, solved))
    if green is None or green.dtype != np.float64 or green.shape != (len(queries), len(free)):
        green = answer(solver.solve_transposed, np.ascontiguousarray(queries.L[:, free].toarray().T)).T
    out.array("witness/green", green)
    if B is None:
        assert coercivity is not None
        found = paths(out, problem, coercivity)
        return {"coercivity": {"how": "declared", "alpha": coercivity} if found is None else found}
    steps = _by_steps(system)
    if steps is not None:
        return {"coercivity": stepped(out, steps)}
    if positive is None and z_part(B)[1] > 0.0:
        _require_room(system, B)
    return {"coercivity": coercive(out, B, solver, positive)}


def _by_steps(system: LinearSystem) -> Stepped | None:
    """The proof from matrices of one level, where the system has it."""
    try:
        return None if system.stability is None else system.stability()
    except CertificationError:
        return None


class _Renamed:
    """A writer of one of two witnesses of coercivity."""

    def __init__(self, out: Writer, name: str) -> None:
        self.out, self.name = out, name

    def array(self, name: str, a: Any) -> None:
        """Under its name here."""
        self.out.array(f"steps/{self.name}_{name.removeprefix('witness/')}", a)


def stepped(out: Writer, steps: Stepped) -> dict[str, Any]:
    """Matrices and lengths of steps in time, and what proves that the one is definite and how far the other falls."""
    made: StepMatrices = steps.made_of
    M, K, grid = made.M, made.K, made.grid
    grows = 0.0 if made.gamma == 0.0 else max(made.gamma, ROOMY / grid.end)
    out.sparse("steps/m", M)
    out.sparse("steps/k", K)
    out.array("steps/lengths", grid.lengths)
    S = sp.csr_array(K + grows * M)
    mass, floor = (coercive(_Renamed(out, name), B, factorize(B)) for name, B in (("mass", M), ("floor", S)))
    again = step_weights(grid, grows, 2.0 * made.sizes[0], 2.0 * made.sizes[1])
    lengths = [float(np.linalg.norm(w)) for w in again]
    alpha = 0.5 * mass["alpha"] / (float(steps.scale.max()) ** 2 * lengths[0] * lengths[1])
    return {
        "how": "steps",
        "alpha": alpha,
        "scheme": grid.scheme,
        "damped": grid.damped,
        "gamma": grows,
        "mass": mass,
        "floor": floor,
    }


def _solved(system: LinearSystem, solver: Solver, state: Vector | None) -> Vector:
    """The solution as far as floats hold it, from a given state or from nothing."""
    space = system.space
    good = state is not None and is_accurate(solver)
    y = np.asarray(state)[space.free] if good else np.zeros(system.n)
    for _ in range(1 if good else 3):
        step = answer(solver.solve, _plain_residual(system, space.vector_of(y)))
        y = y - step
        if float(np.max(np.abs(step))) <= SMALL_STEP * float(np.max(np.abs(y))):
            break
    return space.vector_of(y)


def _rest(system: LinearSystem, solver: Solver, state: Vector) -> Vector:
    """What a state misses to the solution because it is rounded to floats: the second of a pair of floats."""
    rest = np.zeros(len(state))
    rest[system.space.free] = -answer(solver.solve, _plain_residual(system, state))
    return rest


def _require_room(system: LinearSystem, B: Any) -> None:
    """No witness rather than one whose factors do not fit into memory."""
    need, room = predicted("superlu", Task.of(B, system.row_points)), ROOM * free_memory()
    if need > room:
        raise CertificationError(
            f"coercivity: its witness needs a factorization of about {need / GB:.3g} GB, and {room / GB:.3g} GB are at "
            "hand"
        )


def _plain_residual(system: Any, U: Vector) -> Vector:
    """A U − b on the free rows, in extended precision where the machine has it."""
    A, free, found = sp.csr_array(system.A), system.space.free, np.empty(len(system.b))
    for a in range(0, A.shape[0], ROWS):
        start = A.indptr[a : a + ROWS + 1]
        part = slice(start[0], start[-1])
        terms = A.data[part].astype(np.longdouble) * U[A.indices[part]]
        rows = np.add.reduceat(np.append(terms, np.longdouble(0.0)), start[:-1] - start[0])
        rows[start[1:] == start[:-1]] = 0.0
        found[a : a + ROWS] = rows - system.b[a : a + ROWS]
    return np.asarray(found[free])


def cubic(out: Writer, system: CubicSystem, queries: Any, U: Vector, polish: int = 0) -> dict[str, Any]:
    """A root of the discrete system by Newton's method, Green vectors there, and a coercivity witness for A.

    Sensitivities are those of the base point, `polish` Newton steps from U.
    """
    y, free = system.space.require_member(U), system.space.free
    right = np.ascontiguousarray(queries.L[:, free].toarray().T)
    for k in range(150 + polish):  # from afar λu³ lets Newton's method come nearer by a third at a time
        solver = factorize(system.jacobian(y, rounding=False)[0])
        if k == polish:
            out.array("witness/base", answer(solver.solve_transposed, right).T)
        step = answer(solver.solve, system.residual(y).hi)
        y = y - step
        if k < polish:
            continue
        if float(np.max(np.abs(step))) <= 1e-15 * max(1e-300, float(np.max(np.abs(y)))):
            break
    solver = factorize(system.jacobian(y, rounding=False)[0])
    q = np.asarray(answer(solver.solve_transposed, right).T)
    out.array("witness/state", system.space.vector_of(y))
    out.array("witness/green", q)
    B = sp.csr_array(system.A[free][:, free])
    return {"coercivity": coercive(out, B, factorize(B))}


def coercive(out: Writer | _Renamed, B: Any, solver: Solver, positive: Vector | None = None) -> dict[str, Any]:
    """α and D with (B + Bᵀ)/2 ⪰ αD⁻²: a vector w of an M-matrix, or a shift to factorise at."""
    S = symmetric_part(B).S
    D = equilibration(S)
    out.array("witness/scale", D)
    C = scaled(S, D)
    w, ratio = _positive(C, solver, D, positive)
    if w is not None:
        out.array("witness/w", w)
        return {"how": "m-matrix", "alpha": ratio * (1.0 - SAFETY)}
    theta = verify_coercivity(B, equilibrate=True, method="shift", solve=solver.solve).alpha
    alpha = theta * (1.0 - 1e-3)
    if theta < CLOSE:  # then rounding is a part of it, and the checker's is another one
        alpha -= 3.0 * (lu_defect(C, theta, None) + 8.0 * UNIT * float((abs(C) @ np.ones(len(D))).max()))
    if not alpha > 0.0:
        raise CertificationError("coercivity: too small to be proved twice")
    return {"how": "shift", "theta": theta, "alpha": alpha}


def _positive(C: Any, solver: Solver, D: Vector, given: Vector | None) -> tuple[Vector | None, float]:
    """W > 0 with C w ≥ ratio · w, in plain floats; None where C is no M-matrix to speak of.

    Without a given one the first is kept: the states are solved so well that a sharper bound would narrow nothing.
    """
    Z, excess = z_part(C)
    if 2.0 * excess > 1e-10:
        return None, 0.0
    w = np.abs(answer(solver.solve, 1.0 / D) / D) if given is None else given
    w = w / float(w.max())
    if not float(w.min()) > 0.0:
        return None, 0.0
    ratio = float(np.min((Z @ w - 1e-14 * (abs(Z) @ w)) / w)) - 2.0 * excess
    return (w, ratio) if ratio > 0.0 else (None, 0.0)
