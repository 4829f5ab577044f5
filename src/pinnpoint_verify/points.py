"""Points where κ and c are constant: the density w and ∫fΦ from κ, c, R and the case's formula, not as stored.

Part of the proof (docs/checking.md, sections 7 and 8): stored quadratics are brought closer to w and bounded anew.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import Density, Mesh, Query, means, total, up
from pinnpoint_verify.mollifiers import DEPTH, clear, density_bounds
from pinnpoint_verify.own import replaced
from pinnpoint_verify.potentials import Potential, data_term
from pinnpoint_verify.reader import Array, need

Row = dict[str, Any]


def is_plain(goal: Row, mesh: Mesh, query: Query | None) -> bool:
    """Whether a query is the value at a point of a linear problem whose coefficients are constant on cells."""
    point = goal["kind"] == "point" and goal["radius"] is not None and not goal["average"]
    return bool(point and query is not None and query.phi is None and mesh.medium is None)


def proved_point(query: Query, goal: Row, row: Row, text: Any, parted: Array, cell: int) -> bool:
    """Replace what is stored of a point; False, and nothing done, where kernel or source have no bound here."""
    mesh, name = query.p.mesh, row["name"]
    x0, R, kappa, c = np.array(goal["at"], dtype=float), float(goal["radius"]), mesh.kappa[cell], mesh.c[cell]
    jump = (mesh.neighbour < 0) | (mesh.kappa[mesh.owner] != mesh.kappa[mesh.neighbour])
    jump |= (mesh.c[mesh.owner] != mesh.c[mesh.neighbour]) | parted
    walls = mesh.walls(jump)
    near = np.sqrt(((walls - x0) ** 2).sum(axis=2)).min(axis=1) - mesh.h.max() <= 1.01 * R
    inside = R > 0.0 and clear(x0, walls[near], R)
    need(inside and goal["kappa"] == kappa, f"{name!r}: the ball leaves where the coefficients are constant")
    potential = Potential(mesh.d, float(kappa), float(c), R)
    if not potential.known:
        return False
    value, error = data_term(text, x0, potential, max(1e-8 * row["radius"], 0.5 * goal["error"], 1e-300))
    if not math.isfinite(error):
        return False
    fits = abs(goal["constant"] - value) <= goal["error"] + error
    need(fits, f"{name!r}: ∫fΦ is {value!r} ± {error:.1e}, not {goal['constant']!r}")
    goal["constant"], goal["error"] = value, error
    stored = query.w
    query.w = query.z.source = _density(stored, mesh, x0, R, potential)
    own, told = query.w.on(0, mesh.C), stored.on(0, mesh.C)
    gap = own[0] - told[0]  # ‖Π(w − Q)‖ is at most the error that is stored, but for errors of both
    size = np.sqrt(np.maximum(np.einsum("njk,jklm,nlm->n", gap, means(mesh.d, 4).m, gap), 0.0))
    noise = 1e-10 * (np.abs(own[0]) + np.abs(told[0])).max(axis=(1, 2))
    need(np.all(size <= 1.001 * (told[3] + own[3]) + noise), f"mollifier of {name!r}: not that of the point")
    return True


def _density(stored: Density, mesh: Mesh, x0: Array, R: float, potential: Potential) -> Density:
    """Coefficients close to the stored ones with bounds of their distance from w; cells are cut while that helps."""
    far = np.sqrt(((mesh.points[mesh.cells] - x0) ** 2).sum(axis=2)).min(axis=1)
    here = np.union1d(stored.at, np.nonzero(far - mesh.h <= 1.01 * R)[0])
    full, V, least = stored.on(0, mesh.C)[0], mesh.points[mesh.cells[here]], [math.inf, math.inf]
    told = _sizes(mesh.top[stored.at], stored.rest)
    for depth in range(1, DEPTH[mesh.d] + 1):
        full[here] += density_bounds(V, full[here], x0, R, potential.peak, depth)[1]  # any Q will do
        rest = density_bounds(V, full[here], x0, R, potential.peak, depth)[0]
        last, least = least, _sizes(mesh.top[here], rest)
        small = [now <= 0.5 * then for now, then in zip(least, told, strict=True)]
        if all(small) or all(now > 0.9 * then for now, then in zip(least, last, strict=True)):
            break
    rest[:, 1:] = up(rest[:, 1:] + potential.cut)
    return replaced(stored, here, full, rest)


def _sizes(volume: Array, rest: Array) -> list[float]:
    """How large errors of the density are, in the mean and in the mean square."""
    return [total(volume * rest[:, 1]), math.sqrt(total(volume * rest[:, 2] ** 2))]
