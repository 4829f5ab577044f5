"""Bounds of the solution that need no flux: comparison with functions of one coordinate (docs/continuous.md, 11)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import DIRICHLET, NEUMANN, PI, Mesh, Side, quadratic, total, up
from pinnpoint_verify.formulas import formula
from pinnpoint_verify.intervals import widened
from pinnpoint_verify.reader import larger, need, smaller
from pinnpoint_verify.reference import rule

Row = dict[str, Any]
Bounds = tuple[float, float]


def compared(p: Side, proof: Row, goal: Row, best: Bounds) -> Bounds:
    """What an interval, a centre and a radius, has in common with the bounds for u with the state's boundary values."""
    if not goal["compared"]:
        return best
    zero = proof["range"] is not None and not goal["known"] and all(g == 0.0 for g in proof["neumann"])
    need(zero and goal["kind"] not in ("flux", "gradient"), "range: nothing to compare a query with")
    mesh = p.mesh
    low, high = _source(mesh, proof)
    bent = mesh.reaction is not None or bool(np.any(mesh.cubic))
    if mesh.reaction is not None:  # continuous.md, section 11: F is for f − g(0)
        least, most = mesh.reaction.at_zero()
        low, high = _outward(low - most, -1.0), _outward(high - least, 1.0)
    facets = mesh.facets[mesh.kind == DIRICHLET]
    b = quadratic(p.nodal[mesh.nodes_of(facets)], mesh.d - 1, mesh.degree if mesh.d > 1 else 1)[0]
    data = np.stack([(b.m - b.r).ravel(), (b.m + b.r).ravel()])
    if not data.size or np.any(mesh.c) or bent or mesh.exchange is not None:
        data = np.concatenate([data, np.zeros((2, 1))], axis=1)
    top = _top(mesh, goal, float(data[1].max()), larger(0.0, high))
    bottom = -_top(mesh, goal, float(-data[0].min()), larger(0.0, -low))
    if math.isfinite(best[1]):
        bottom, top = larger(bottom, _outward(best[0] - best[1], -1.0)), smaller(top, _outward(best[0] + best[1], 1.0))
    middle = 0.5 * bottom + 0.5 * top
    half = float(up(larger(top - middle, middle - bottom)))
    return (middle, half) if half < best[1] else best


def _outward(x: float, side: float) -> float:
    return x + side * (1e-15 * abs(x) + 1e-300)


def _source(mesh: Mesh, proof: Row) -> Bounds:
    """The range that is claimed of the source: proved, or compared at points, which is said (samples.py)."""
    low, high = (float(x) for x in proof["range"])
    need(math.isfinite(low) and math.isfinite(high) and low <= high, "range: not two numbers")
    if proof["source"] is not None and not isinstance(proof["source"], list):  # of groups the means are compared
        bary, _ = rule(mesh.d, 4)
        X = np.einsum("qi,nic->nqc", np.concatenate([bary, np.eye(mesh.d + 1)]), mesh.points[mesh.cells])
        f = formula(proof["source"], X)
        slip = 1e-12 * larger(abs(low), abs(high)) * isinstance(proof["source"], str)
        need(low - slip <= f.min() and f.max() <= high + slip, "range: the source has other values (sampled)")
    one, two = widened(np.array(low), np.array(high))
    return float(one), float(two)


def _top(mesh: Mesh, goal: Row, M: float, F: float) -> float:
    """An upper bound of the value, for a source of at most F ≥ 0 and boundary values of at most M."""
    found, d, kappa = [math.inf], mesh.d, float(mesh.kappa.min())
    X = mesh.points[: mesh.n]
    for axis in range(d if np.all(mesh.kappa == kappa) else 0):
        a, b = float(X[:, axis].min()), float(X[:, axis].max())
        near, far = (goal["at"][axis] - a, b - goal["at"][axis]) if "at" in goal else (b - a, 0.0)
        both = near * far / 2.0 if "at" in goal else (b - a) ** 2 / 8.0
        signs = _signs(mesh, axis)
        found += [both] if not signs else []
        found += [near * (far + near / 2.0)] if signs <= {1.0} else []
        found += [far * (near + far / 2.0) if "at" in goal else (b - a) ** 2 / 2.0] if signs <= {-1.0} else []
    if not np.any(mesh.kind == NEUMANN):
        size = total(mesh.top) / (2.0 if d == 1 else PI)
        found.append({1: size**2, 2: size, 3: (0.75 * size) ** (2.0 / 3.0)}[d] / (2.0 * d))
    best = _outward(M + F * smaller(found) / kappa * (1.0 + 1e-14) if F else M, 1.0)
    least = float(mesh.c.min())
    return smaller(best, larger(M, _outward(F / least, 1.0))) if least > 0.0 else best


def _signs(mesh: Mesh, axis: int) -> set[float]:
    """Signs of an axis' component of the normals of Neumann facets; none where all are zero, both where unknown."""
    at = np.nonzero(mesh.kind == NEUMANN)[0]
    V = mesh.points[mesh.facets[at]]
    flat = np.ptp(V, axis=1) == 0.0
    rest = ~np.delete(flat, axis, axis=1).any(axis=1)
    if not np.all(flat[rest, axis]):
        return {-1.0, 1.0}
    inside = mesh.points[mesh.cells[mesh.owner[at[rest]]]].mean(axis=1)[:, axis]
    return {float(s) for s in np.sign(V[rest, 0, axis] - inside)}
