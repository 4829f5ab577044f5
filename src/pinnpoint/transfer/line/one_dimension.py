"""Point values in one dimension: the paper's residual estimator and its constant C_pt.

For −(κu′)′ + c u = f with κ, c constant on each interval and any state u_h (thm. 1d_fully_computable_transfer, with the
nodal residuals r_i of u_h that a Galerkin solution does not have): with v − J_h v ∈ H₀¹(K) on every interval,

    ‖u − u_h‖_a ≤ ( Σ_K (h_K/(π√κ))² ‖f + κu_h″ − c u_h‖_K² )^{1/2} + Σ_i |r_i| C_pt(x_i),
    |u(x) − u_h(x)| ≤ C_pt(x) ‖u − u_h‖_a,     C_pt(x)² = min over fixed ends of |∫ κ⁻¹| between that end and x.

Without a fixed end, the cell K of x has |w(x) − mean_K w| ≤ √(h/κ) ‖√κ w′‖_K, and `anchors` bounds the mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import at_most, dot_up, gamma, norm_up, up
from pinnpoint.systems.queries import Goal, Point
from pinnpoint.taylor.bernstein import Density, gram
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.energy.cells import State
from pinnpoint.transfer.energy.geometry import Shapes

if TYPE_CHECKING:
    from pinnpoint.transfer.continuum import Continuum
    from pinnpoint.transfer.energy.estimator import Bounds


def pointwise(
    model: Continuum, goal: Goal | None, state: Vector, primal: Bounds, load: Density | None = None
) -> tuple[float, float, float] | None:
    """Centre, radius and the data's share of it for a point value; None where there is no such bound.

    `load` is the source, where it is not the problem's own.
    """
    if model.d != 1 or not isinstance(goal, Point):
        return None
    x = goal.at[0]
    value, wrong = evaluate(model, state, x)
    cell = _cell(model, x)
    C = min(float(reach(model, np.array([x]))[0]), float(up(model.anchors.reach[cell] + model.anchors.step[cell])))
    if model.medium is not None:  # continuous.md, step 6a, with α for κ; varying.md, step 2e
        return value, float(up(C * up(model.growth * model.estimator.energy(primal)) + wrong)), 0.0
    eta, share = residual_estimate(model, state, load)
    flux = model.estimator.energy(primal)
    if flux < eta:  # continuous.md, step 6d
        eta, share = flux, 0.0
    return value, float(up(C * eta + wrong)), float(up(C * share))  # continuous.md, step 6a; paper, eq. 5.29


def reach(model: Continuum, x: Vector) -> Vector:
    """Upper bounds of C_pt at points; infinite where no end is fixed."""
    X, T = model.points[:, 0], model.topology
    P = np.sort(X[T.cells], axis=1)
    order = np.argsort(P[:, 0])
    low, high, k = P[order, 0], P[order, 1], model.kappa[order]
    cost = up((high - low) / k)
    before = np.concatenate([[0.0], np.cumsum(cost)]) * (1.0 + gamma(2.0 * len(cost) + 8.0))
    after = np.concatenate([np.cumsum(cost[::-1])[::-1], [0.0]]) * (1.0 + gamma(2.0 * len(cost) + 8.0))
    at = np.clip(np.searchsorted(low, x, side="right") - 1, 0, len(low) - 1)
    left = before[at] + up(np.maximum(x - low[at], 0.0) / k[at])
    right = after[at + 1] + up(np.maximum(high[at] - x, 0.0) / k[at])
    fixed = X[T.facets[model.dirichlet_facets(), 0]]
    found = np.full(len(x), np.inf)
    for end, way in ((X.min(), left), (X.max(), right)):
        if np.any(fixed == end):
            found = np.minimum(found, way)
        found = np.minimum(found, way + _give(model, end))
    return np.asarray(up(np.sqrt(up(found))))  # continuous.md, step 6a; paper, eq. 5.28


def _give(model: Continuum, end: float) -> float:
    """1/ω of a Robin end: w(end)² ≤ ‖w‖_a²/ω; infinite where it has none."""
    at = model.exchange
    here = [] if at is None else at.weight[model.points[at.vertices[:, 0], 0] == end]
    return float(up(1.0 / max(here))) if len(here) and max(here) > 0.0 else np.inf  # robin.md, step 4d


def evaluate(model: Continuum, state: Vector, x: float) -> tuple[float, float]:
    """u_h(x) and a bound of its rounding."""
    X, T = model.points[:, 0], model.topology
    a, b = X[T.cells].T
    cell = _cell(model, x)
    t = (x - a[cell]) / (b[cell] - a[cell])
    s = (b[cell] - x) / (b[cell] - a[cell])
    w = state[model.cell_nodes[cell]]
    terms = [s * w[0], t * w[1]]
    if model.degree == 2:
        terms = [s * (s - t) * w[0], t * (t - s) * w[1], 4.0 * s * t * w[2]]
    return float(sum(terms)), float(up(gamma(40) * 4.0 * np.abs(w).sum()))


def _cell(model: Continuum, x: float) -> int:
    """The first cell that holds x."""
    P = model.points[model.topology.cells, 0]
    return int(np.argmax((P.min(axis=1) <= x) & (x <= P.max(axis=1))))


def residual_estimate(model: Continuum, state: Vector, load: Density | None = None) -> tuple[float, float]:
    """η of the module's text, and the part of it that is due to the data's error."""
    T, f = model.topology, model.load if load is None else load
    shapes = Shapes.of(model.points, T.cells)
    u = State.of(shapes, state[model.cell_nodes].T, model.degree)
    source = f.coefficients.T
    rest = source - model.reaction * u.coefficients
    slack = shapes.slack + gamma(60)
    size = np.abs(source).max(axis=0) + np.abs(model.reaction) * (u.top + u.blur / UNIT_GAP)
    if model.degree == 2:  # κu″: the slopes at the two ends differ by h u″
        bend = (u.slopes[1, 0] - u.slopes[0, 0]) * (shapes.gradients[1, 0] - shapes.gradients[0, 0]) * 0.5
        rest = rest + model.kappa * bend
        size = size + 4.0 * model.kappa * u.size * shapes.steep
    rms = np.sqrt(
        np.maximum(np.einsum("pn,pq,qn->n", rest, gram(1), rest), 0.0)
        + gamma(60) * np.abs(rest).max(axis=0) ** 2
        + f.high**2
    )
    blur = up(slack * size, 8)
    root = np.sqrt(up(shapes.volume * (1.0 + shapes.slack)))
    weight = up(model.anchors.convex * root, 8)
    all_data = norm_up(up(weight * f.error2, 4))
    eta = norm_up(up(weight * (rms + blur + f.error2), 8))  # continuous.md, step 6b; paper, eq. 5.26
    nodal, off, data = _nodal_residuals(model, shapes, u, f, state)
    inside = model.kind_of_vertices() != DIRICHLET
    C = np.where(inside, reach(model, model.points[:, 0]), 0.0)
    extra = dot_up(np.where(inside, up(np.abs(nodal) + off + data), 0.0), C)  # continuous.md, step 6c
    share = up(all_data + dot_up(np.where(inside, data, 0.0), C))
    return at_most(float(up(eta + extra))), at_most(float(share))


UNIT_GAP = gamma(60)
"""A blur divided by this is a size whose rounding it is."""


def _nodal_residuals(
    model: Continuum, shapes: Shapes, u: State, f: Density, state: Vector
) -> tuple[Vector, Vector, Vector]:
    """∫ f φ_i + g_i − a(u_h, φ_i) for the hat functions, bounds of the rounding, and of the data's error."""
    T, n, source = model.topology, len(model.points), f.coefficients.T
    rest = source - model.reaction * u.coefficients
    hats = np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])
    mean_slope = 0.5 * (u.slopes[0, 0] + u.slopes[1, 0])
    size = np.abs(source).max(axis=0) + np.abs(model.reaction) * (u.top + u.blur / UNIT_GAP)
    slack = 3.0 * (shapes.slack + gamma(60))
    value, off, data = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in (0, 1):
        # continuous.md, step 6c
        part = (hats[i] @ gram(1) @ rest - model.kappa * mean_slope * shapes.gradients[i, 0]) * shapes.volume
        wrong = slack * (size + model.kappa * u.size * shapes.steep) * shapes.volume
        value += np.bincount(T.cells[:, i], part, minlength=n)
        off += np.bincount(T.cells[:, i], up(wrong + 2.0 * gamma(8) * np.abs(part)), minlength=n)
        data += np.bincount(T.cells[:, i], up(f.error1 * shapes.volume * (1.0 + shapes.slack)), minlength=n)
    load = model.wanted(state, model.boundary_load, dual=False)  # robin.md, step 4d
    load = model.boundary_load if load is None else load
    if load is not None:
        at, g = load.vertices[:, 0], load.density
        value += np.bincount(at, g.coefficients[:, 0], minlength=n)
        data += np.bincount(at, g.error1, minlength=n)
        off += np.bincount(at, gamma(8) * np.abs(value[at]), minlength=n)
    return value, np.asarray(up(off, 8)), np.asarray(up(data, 8))
