"""Points, averages over balls and derivatives where κ and c are constant: the density w and ∫fΦ, not as stored.

Part of the proof (docs/checking.md, sections 7 and 8): quadratics close to w are made here, and bounded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, Density, Mesh, Query, means, total, up
from pinnpoint_verify.mollifiers import DEPTH, clear, density_bounds
from pinnpoint_verify.network_points import network_term
from pinnpoint_verify.networks import Left
from pinnpoint_verify.own import replaced
from pinnpoint_verify.potentials import Potential, data_term
from pinnpoint_verify.reader import Array, larger, need

Row = dict[str, Any]


def is_plain(goal: Row, mesh: Mesh, query: Query | None) -> bool:
    """Whether a query of a linear problem has a kernel in a ball where coefficients are constant on cells."""
    point = goal["kind"] in ("point", "ball", "gradient") and goal["radius"] is not None
    return bool(point and query is not None and query.phi is None and mesh.medium is None)


def proved_point(query: Query, goal: Row, row: Row, text: Any, parted: Array, cell: int) -> bool:
    """Replace what is stored of a point; False, and nothing done, where kernel or source have no bound here."""
    mesh, name = query.p.mesh, row["name"]
    x0, R, kappa, c = np.array(goal["at"], dtype=float), float(goal["radius"]), mesh.kappa[cell], mesh.c[cell]
    slope, average = goal["kind"] == "gradient", float(goal.get("average") or 0.0)
    fits = slope or (average > 0.0) == (row["kind"] == "average")
    need(fits and (goal["kind"] == "ball") == (average > 0.0), f"{name!r}: not the query's ball")
    jump = (mesh.neighbour < 0) | (mesh.kappa[mesh.owner] != mesh.kappa[mesh.neighbour])
    jump |= (mesh.c[mesh.owner] != mesh.c[mesh.neighbour]) | parted
    walls = mesh.walls(jump)
    near = np.sqrt(((walls - x0) ** 2).sum(axis=2)).min(axis=1) - mesh.h.max() <= 1.01 * R
    inside = R > 0.0 and clear(x0, walls[near], R)
    need(inside and goal["kappa"] == kappa, f"{name!r}: the ball leaves where the coefficients are constant")
    axis, share = (int(goal["axis"]), float(kappa) if goal["flux"] else 1.0) if slope else (None, 1.0)
    potential = Potential(mesh.d, float(kappa), float(c), R, average, axis, share)
    if not potential.known:
        return False
    made = network_term if isinstance(text, Left) else data_term
    value, error = made(text, x0, potential, larger(1e-8 * row["radius"], 0.5 * goal["error"], 1e-300))
    if not math.isfinite(error):
        return False
    fits = abs(goal["constant"] - value) <= goal["error"] + error
    need(fits, f"{name!r}: ∫fΦ is {value!r} ± {error:.1e}, not {goal['constant']!r}")
    goal["constant"], goal["error"] = value, error
    stored = query.w
    query.w = query.z.source = _density(stored, mesh, (x0, R, potential.peak), 1, potential.axis, potential.cut)
    close(stored, query.w, mesh, f"mollifier of {name!r}: not that of the point")
    return True


def proved_ball(query: Query, goal: Row, name: str) -> None:
    """Replace the density 1/|B| of an average over a ball without a kernel."""
    mesh, x0, R = query.p.mesh, np.array(goal["at"], dtype=float), float(goal["average"])
    need(R > 0.0 and clear(x0, mesh.walls(mesh.neighbour < 0), R), f"{name!r}: the ball leaves the domain")
    pi, r = Ball(math.pi, 4.0 * UNIT), Ball(R)
    size = {1: 2.0 * r, 2: pi * r * r, 3: pi * r * r * r * 4.0 / 3.0}[mesh.d]
    stored = query.w
    query.w = query.z.source = _density(stored, mesh, (x0, R, 1.0 / size), 0, None, 0.0)  # checking.md, step 8e
    close(stored, query.w, mesh, f"mollifier of {name!r}: not that of the point")


def close(stored: Density, made: Density, mesh: Mesh, line: str) -> None:
    """The stored coefficients are no further off than they say."""
    own, told = made.on(0, mesh.C), stored.on(0, mesh.C)
    gap = own[0] - told[0]  # ‖Π(w − Q)‖ is at most the error that is stored, but for errors of both
    size = np.sqrt(np.maximum(np.einsum("njk,jklm,nlm->n", gap, means(mesh.d, 4).m, gap), 0.0))
    noise = 1e-10 * (np.abs(own[0]) + np.abs(told[0])).max(axis=(1, 2))
    need(np.all(size <= 1.001 * (told[3] + own[3]) + noise), line)


def _density(
    stored: Density, mesh: Mesh, form: tuple[Array, float, Ball], power: int, axis: int | None, more: float
) -> Density:
    """Coefficients close to w, with bounds of their distance from it; cells are cut while that helps."""
    x0, R, peak = form
    far = np.sqrt(((mesh.points[mesh.cells] - x0) ** 2).sum(axis=2)).min(axis=1)
    here = np.union1d(stored.at, np.nonzero(far - mesh.h <= 1.01 * R)[0])
    volume, last = mesh.top[here], [math.inf, math.inf]
    least = 1e-13 * abs(float(peak.m)) * total(volume)  # where rounding is more
    told = [larger(0.5 * one, least) for one in _sizes(mesh.top[stored.at], *stored.rest[:, 1:].T)]

    def enough(first: Array, second: Array) -> bool:
        now = _sizes(volume, first, np.sqrt(second))
        done = all(a <= b for a, b in zip(now, told, strict=True))
        stuck = all(a > 0.9 * b for a, b in zip(now, last, strict=True))
        last[:] = now
        return done or stuck

    full = np.zeros((mesh.C, mesh.d + 1, mesh.d + 1))
    V = mesh.points[mesh.cells[here]]
    full[here], rest = density_bounds(V, x0, R, peak, DEPTH[mesh.d], power, axis, enough)  # any Q will do
    rest[:, 1:] = up(rest[:, 1:] + more)
    return replaced(stored, here, full, rest)


def _sizes(volume: Array, first: Array, second: Array) -> list[float]:
    """How large errors of the density are, in the mean and in the mean square."""
    return [total(volume * first), math.sqrt(total(volume * second**2))]
