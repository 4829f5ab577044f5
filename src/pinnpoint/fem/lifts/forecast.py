"""What a lift will cost, and whether it can pay, before it is begun.

*Cost.* Models of the residual through the network are almost all of it. Their number follows from the remainders of two
degrees on some cells, as where `taylor.simplices` chooses a degree; one through 96 neurons of degree 8 in two
dimensions takes about 0.29 ms of one core, and the cost grows with neurons and products. The same numbers give the same
forecast on every machine.

*Gain.* A proved radius goes with the energy error of its elements, for linear ones with h|u|_{H²}. What the solution
has of it is read off the jumps of ∇u_h (for quadratic elements: ∇²u_h), by comparison with those of a power of known
derivatives; what the prediction leaves over has about ‖r‖/κ (for quadratic elements ‖∇r‖/κ), sampled. What the elements
do not meet of the boundary values is sampled too. Nothing here is proved, and no interval rests on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certifiers.protocols import Forecast as Cost
from pinnpoint.fem.data.coefficients import Data
from pinnpoint.fem.lifts.lifted import residual_of
from pinnpoint.fem.problem import ScalarProblem
from pinnpoint.mesh.quadrature import at_points, rule
from pinnpoint.mesh.topology import Topology
from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.solvers.protocol import Solver
from pinnpoint.taylor.geometry import Simplices
from pinnpoint.taylor.inputs import ORDER, enclosed
from pinnpoint.taylor.simplices import MOST_COSTLY, works
from pinnpoint.transfer.continuum import FLOOR, SHARE

SAMPLED = 256
"""Cells on which the residual is looked at."""
MODEL, POINT, QUERY = 0.29e-3, 25e-6, 2.5
"""Seconds of one core, for 96 neurons: a model of degree 8, a value of the residual, and the data near a query."""
HEAVY = {"gelu": 2.0, "gelu-tanh": 2.0, "silu": 1.3, "softplus": 1.3}
LONG = 10.0
"""Seconds from which a lift that is forecast to be in vain is refused."""
WORTH = 1.0
"""A lift forecast to make the proof narrower by less than this factor is in vain; forecasts are rather too kind."""


@dataclass(frozen=True)
class Forecast:
    """Seconds of one core that a lift takes, about."""

    seconds: float
    cells: int

    @property
    def long(self) -> bool:
        """Whether it is worth asking beforehand if the lift can pay."""
        return self.seconds >= LONG

    @property
    def text(self) -> str:
        """For people."""
        return f"lifting the prediction on {self.cells} cells, about {max(1.0, self.seconds):.0f} s of one core"


ROUGHLY = 2.0
"""Models of the residual for each cell of a curved domain."""


def cost(problem: ScalarProblem, lift: Any, queries: int, models: float | None = None) -> Forecast:
    """What it takes to certify what a prediction leaves over; zero where nothing is known about a function.

    `models` of the residual for each cell are tried out where they are not said.
    """
    mesh, d = problem.mesh, problem.mesh.dim
    N = len(mesh.cells)
    if not isinstance(lift, Lift):
        return Forecast(0.0, N)
    u = lift.prediction
    size = 0.04  # a formula's
    if isinstance(u, MLP):
        size = sum(len(W) for W in u.weights[:-1]) / 96.0 * HEAVY.get(u.activation, 1.0)
    points = N * len(rule(d, max(problem.quadrature, 8))[1])
    spent = size * (POINT * points + QUERY * queries)
    count = _models(problem, lift) if models is None else N * models
    spent += size * MODEL * count * (d + 2) / 4.0
    return Forecast(spent, N)


def _models(problem: ScalarProblem, lift: Lift) -> float:
    """How many models of the residual, each counted by its products against one of degree 8 in two dimensions."""
    mesh, d = problem.mesh, problem.mesh.dim
    cells = _some(len(mesh.cells), 24)
    r, X = residual_of(problem, lift), mesh.points[mesh.cells[cells]]
    if not enclosed(r):  # a function of points: quadrature alone
        return 0.0
    extent = float(np.max(np.ptp(mesh.points, axis=0)))
    spacing = float(np.mean(mesh.volumes) ** (1.0 / d))
    middle = X.mean(axis=1)
    height = float(np.max(np.abs(r(middle)), initial=0.0))
    small = SHARE[problem.degree] * (spacing / extent) ** (2 * problem.degree) * height
    limit = max(small, FLOOR * float(np.max(np.abs(_values(problem.given["source"], middle)), initial=0.0)), 1e-300)
    counts = works(r, Simplices(X, np.zeros((len(X), d))), ORDER[d], np.full(len(X), limit))
    N = len(mesh.cells)
    most = 1.0 + max(4.0, MOST_COSTLY / N) + 8.0 * MOST_COSTLY / N
    weight = {q: (math.comb(q + 2 * d, 2 * d) + 400.0) / 895.0 for q in counts}
    if d != 2:
        return N * min(counts[ORDER[d]], most) * weight[ORDER[d]]
    return N * min(min(count, most) * weight[q] for q, count in counts.items())


def require_worth(problem: ScalarProblem, lift: Lift, plain: Certificate, solver: Solver, ahead: Cost) -> None:
    """Refuse a lift that is forecast to make no proof narrower.

    Parameters
    ----------
    plain, solver
        The certificate without the prediction on the same mesh, and the solver that it used.
    """
    expected = narrowing(problem, lift, plain, solver)
    if expected < WORTH:
        raise InputError(
            f"lift: would take about {ahead.seconds:.0f} s of one core to make the proof wider: by the prediction's "
            f"residual, sampled, {expected:.2g} times narrower than without it; leave lift out, train the prediction "
            "further, or say lift = 'anyway'"
        )


def narrowing(problem: ScalarProblem, lift: Lift, plain: Certificate, solver: Solver) -> float:
    """By which factor the proof of the luckiest query is expected to be narrower; infinite where nothing is known."""
    free = problem.space.free
    U = problem.space.U0.copy()
    U[free] -= np.asarray(solver.solve(problem.system.residual(problem.space.U0)))
    ratio = _left_over(problem, lift) / max(_in_solution(problem, U), 1e-300)
    radius = plain.radius[np.isfinite(plain.radius)]
    if not radius.size or not math.isfinite(ratio):
        return math.inf
    return float(np.max(radius / np.maximum(radius * ratio + _off_boundary(problem, lift), 1e-300)))


def _values(given: Any, X: Vector) -> Vector:
    return np.asarray(given(X)) if callable(given) else np.full(len(X), float(given))


def _some(count: int, most: int) -> Any:
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.intp))


def _left_over(problem: ScalarProblem, lift: Lift) -> float:
    """Root mean square of r/κ, or of |∇r|/κ for quadratic elements, over some cells."""
    mesh, d = problem.mesh, problem.mesh.dim
    cells = _some(len(mesh.cells), SAMPLED)
    bary, weights = rule(d, 4)
    X = at_points(mesh.points[mesh.cells[cells]], bary)
    r = residual_of(problem, lift)(X.reshape(-1, d)).reshape(X.shape[:2]) / float(problem.diffusion.flat[0])
    share = mesh.volumes[cells] / mesh.volumes[cells].sum()
    if problem.degree == 1:
        return math.sqrt(float(share @ (r * r @ weights)))
    slopes = r @ np.linalg.pinv(bary).T  # the linear fit's values at the vertices
    gradient = np.einsum("ci,cij->cj", slopes, mesh.gradients[cells])
    return math.sqrt(float(share @ (gradient * gradient).sum(axis=1)))


def _in_solution(problem: ScalarProblem, U: Vector) -> float:
    """The same of the solution: jumps of the highest derivatives of u_h against those of a function with known ones."""
    X, d, k = problem.nodes.points, problem.mesh.dim, problem.degree
    known = (X ** (k + 1)).sum(axis=1) / math.factorial(k + 1)  # the next derivatives are 1 along the axes
    jumps = [_jumps(problem, v) for v in (U, known)]
    return math.sqrt(d) * jumps[0] / max(jumps[1], 1e-300)


def _jumps(problem: ScalarProblem, U: Vector) -> float:
    """Root of Σ |F| h_F |[D^k u_h]|² over some interior facets; ∇u_h, or ∇²u_h for quadratic elements."""
    T = Topology.of(problem.mesh)
    inside = np.flatnonzero(T.facet_cells[:, 1] >= 0)
    if not len(inside):
        return 0.0
    one, two = T.facet_cells[inside[_some(len(inside), 20_000)]].T
    jump = _constant_derivatives(problem, U, one) - _constant_derivatives(problem, U, two)
    return math.sqrt(float((jump * jump).sum(axis=1) @ problem.mesh.volumes[one]))


def _constant_derivatives(problem: ScalarProblem, U: Vector, cells: Any) -> Vector:
    """∇u_h of linear elements, (n, d), or ∇²u_h of quadratic ones, (n, d²)."""
    nodes, d = problem.nodes, problem.mesh.dim
    u = U[nodes.cell_dofs[cells]]

    def gradient(bary: Vector) -> Vector:
        place = np.broadcast_to(bary, (len(cells), d + 1))
        return np.stack([(nodes.derivatives(cells, place, i) * u).sum(axis=1) for i in range(d)], axis=1)

    if problem.degree == 1:
        return gradient(np.full(d + 1, 1.0 / (d + 1)))
    corners = np.stack([gradient(e) for e in np.eye(d + 1)], axis=1)
    H = np.einsum("cia,cib->cab", corners, problem.mesh.gradients[cells])
    return np.asarray(H.reshape(len(cells), d * d))


def _off_boundary(problem: ScalarProblem, lift: Lift) -> float:
    """The largest distance, at some points, between g − u and its interpolation by the elements."""
    mesh, d, worst = problem.mesh, problem.mesh.dim, 0.0
    if d == 1:
        return 0.0
    for part in problem.held.parts:
        V = mesh.points[part.facets[_some(len(part.facets), SAMPLED)]] if len(part.facets) else np.zeros((0, d, d))
        if not len(V):
            continue

        def at(X: Vector, g: Data = part.given[0]) -> Vector:
            return _values(g, X) - np.asarray(lift.value(X))

        ends = [at(V[:, i]) for i in range(d)]
        mids = at(V.mean(axis=1))
        if problem.degree == 1:
            worst = max(worst, float(np.max(np.abs(mids - np.mean(ends, axis=0)))))
        elif d == 2:
            quarter = at(0.75 * V[:, 0] + 0.25 * V[:, 1])
            worst = max(worst, float(np.max(np.abs(quarter - (0.375 * ends[0] - 0.125 * ends[1] + 0.75 * mids)))))
    return worst
