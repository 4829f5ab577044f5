"""Prescribed fluxes on facets × slabs from the case's formulas: modes in time, and what they are beyond these.

On a facet x = v₀ + Σ λ_i (v_i − v₀) with λ_i = (1 + ξ_i)/2, and g is a polynomial with a remainder in (ξ, θ). Its
modes are quadratics like those of a source (docs/slabs.md, steps 2h and 8i).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pinnpoint_verify.checker import NEUMANN, UNIT, Ball, Mesh, areas, total, up
from pinnpoint_verify.enclosures import rule
from pinnpoint_verify.model_jets import coordinates
from pinnpoint_verify.models import Model, space
from pinnpoint_verify.reader import Array, larger, need
from pinnpoint_verify.slab_data import ORDERS, put
from pinnpoint_verify.slab_fits import Fits, Modes

Made = Callable[[list[Model]], Model]
"""From models of the coordinates, time last, to the flux."""


class Load:
    """One mode on the facets `at`."""

    def __init__(self, at: Array, count: int, modes: Modes, k: int) -> None:
        self.at, self.count, self.modes, self.k = at, count, modes, k

    def on(self, a: int, b: int) -> tuple[Array, Array, Array, Array]:
        """Symmetric coefficients, high, e1 and e2 for a range of facets; zero where there is no data."""
        M, k, own = self.modes, self.k, self.at
        found = [np.zeros((self.count, *x.shape[2:])) for x in (M.beta, M.high, M.e1, M.e2)]
        for out, x in zip(found, (M.beta, M.high, M.e1, M.e2), strict=True):
            out[own] = x[k]
        return found[0][a:b], found[1][a:b], found[2][a:b], found[3][a:b]


class Fluxes:
    """G by groups of facets, on all slabs."""

    def __init__(self, groups: list[tuple[Array, Made]], mesh: Mesh, count: int, close: float) -> None:
        self.mesh, self.count, self.close = mesh, count, close
        self.at = np.sort(np.concatenate([facets for facets, _ in groups]))
        need(np.all(np.diff(self.at) > 0), "neumann: a facet belongs to two groups")
        need(np.all(mesh.kind[self.at] == NEUMANN), "neumann: data on other facets")
        self.groups: list[tuple[Array, Made]] = [(np.searchsorted(self.at, f), made) for f, made in groups]
        self.V = mesh.points[mesh.facets[self.at]]
        self.area = areas(self.V).top
        self.trace = trace_constant(mesh)

    def _model(self, rows: Array, made: Made, start: float, end: float) -> Model:
        """Of a group on a slab; the degree is the first that is good enough."""
        found = None
        for q in ORDERS[larger(1, self.mesh.d - 1)]:
            found = made(placed(self.V[rows], start, end, q))
            if np.all(found.e <= self.close * larger(float(np.abs(found.C).max(initial=0.0)), 1e-300)):
                break
        assert found is not None
        need(np.all(np.isfinite(found.e)), "neumann: the checker has no bound of it")
        return found

    def slab(self, start: float, end: float) -> tuple[list[Any], float]:
        """The modes of a slab, and an upper bound of ‖g_⊥‖ over Γ × I."""
        m, F = self.mesh.d - 1, len(self.mesh.facets)
        modes = Modes(self.count, len(self.at), m)
        for rows, made in self.groups:
            found = self._model(rows, made, start, end)
            put(modes, rows, found, [np.repeat(x, len(rows), axis=0) for x in _fits(m, found.S.q)], True)
        rest = total(up(self.area * modes.rest**2)) * (end - start)  # slabs.md, step 8i
        return [Load(self.at, F, modes, k) for k in range(self.count)], float(up(math.sqrt(rest) * (1.0 + 1e-12)))


def placed(V: Array, start: float, end: float, q: int) -> list[Model]:
    """Coordinates on facets (n, m + 1, d) and a slab, as models in (ξ, θ)."""
    n, m = len(V), V.shape[1] - 1
    low, high = (np.repeat([[x] * m + [t]], n, axis=0) for x, t in ((0.0, start), (1.0, end)))
    own = coordinates(low, high, np.zeros(m + 1), np.ones(m + 1), {}, m + 1, q)
    found = []
    for c in range(V.shape[2]):
        x = own[0].scaled(Ball(0.0)).raised(Ball(V[:, 0, c]))
        for i in range(m):
            x = x + own[i].scaled(Ball(V[:, i + 1, c]) - V[:, 0, c])
        found.append(x)
    return [*found, own[m]]


def _fits(m: int, q: int) -> list[Array]:
    """Of the monomials in ξ up to a degree on the simplex itself."""
    S, (B, _, _) = space(m, q), rule(m, q + 1)
    xi = 2.0 * B[:, 1:] - 1.0
    values = np.stack([np.prod(xi**p, axis=1) for p in S.powers])[None]
    fits = Fits(values, m, q + 1, np.full((1, 1), 64.0 * q * UNIT))
    return [fits.beta, fits.high, fits.error]


def trace_constant(mesh: Mesh) -> float:
    """C with ‖v‖ ≤ C‖v‖_a over the facets without values (docs/slabs.md, step 2h)."""
    square, d = mesh.friedrichs**2, mesh.d
    if not math.isfinite(square):  # varying.md, step 1c
        square = total(up(mesh.top * mesh.reach**2)) + float(mesh.convex.max()) ** 2
    need(math.isfinite(square), "neumann: fluxes where nothing holds the solution")
    at = np.flatnonzero(mesh.kind == NEUMANN)
    cell = mesh.owner[at]
    thin = up(areas(mesh.points[mesh.facets[at]]).top / mesh.low[cell])
    way = up(2.0 * mesh.h[cell] / (d * np.sqrt(mesh.kappa[cell])) * math.sqrt(square))
    worst = float(np.max(thin)) * square + float(np.max(thin * way))
    return float(up(math.sqrt((d + 1.0) * worst) * (1.0 + 1e-12)))


def along(mesh: Mesh, facets: Array) -> list[tuple[Array, int, float]]:
    """Facets parallel to the axes by their outward normals: which, the axis and its sign; others are refused."""
    V, d = mesh.points[mesh.facets[facets]], mesh.d
    flat = np.ptp(V, axis=1) == 0.0
    need(np.all(flat.any(axis=1)), "lift: a flux through facets that are not parallel to the axes")
    axis, every = np.argmax(flat, axis=1), np.arange(len(facets))
    middle = mesh.points[mesh.cells[mesh.owner[facets]]].mean(axis=1)
    sign = np.sign(V[every, 0, axis] - middle[every, axis])
    need(np.all(sign != 0.0), "lift: a facet without an outside")
    found = [(facets[(axis == i) & (sign == s)], i, s) for i in range(d) for s in (-1.0, 1.0)]
    return [one for one in found if len(one[0])]
