"""Held displacements that are formulas: what a state leaves of them, beside solids.py.

A continuous field E that equals g − u_h on all held pairs (facet, component) makes u − u_h − E admissible. Of it the
proof needs ‖E‖_a, ‖E‖ and max|E| on each cell, and on held facets the linear part of g − u_h: these are declared, and
compared with samples of E_c = χ (g_c − Ig_c), χ the sum of the hats of the vertices with the formula g_c, Ig_c the
element function with u_h's values where it is given and g_c's elsewhere. What they do to an interval is proved here:

    J(u) = J(u_h) + [residual of u_h at z_h] − ∫_held (σ_d n)·(g − u_h) + (δ_d, ε(E)) + (ϱ_d, E) + a(e, z − z_h) .
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.calm import calm
from pinnpoint_verify.checker import UNIT, Shape, total, up
from pinnpoint_verify.formulas import formula
from pinnpoint_verify.lifts import Jet, formula_jet
from pinnpoint_verify.reader import Array, Bundle, need
from pinnpoint_verify.reference import rule
from pinnpoint_verify.rows import Row
from pinnpoint_verify.solids import CHUNK, Body, Query

DECLARED = "what the state leaves of held displacements that are formulas"
NAMES = ("energy", "length", "top")
ROUND = 1e-11
"""Of the size of a formula: samples are floats."""


class Gap:
    """Declared bounds of E, held against samples; none where all that is held are numbers."""

    def __init__(self, bundle: Bundle, body: Body, said: Row, nodal: Array) -> None:
        self.body, self.nodal, C, d = body, nodal, body.C, body.d
        self.given = [
            (bundle(f"continuous/d{k}", None, whole=len(body.facets)), c, g)
            for k, row in enumerate(said["held"])
            for c, g in enumerate(row)
            if g is not None
        ]
        self.open = any(isinstance(g, str) for _, _, g in self.given)
        if not self.open:
            need("gap/energy" not in bundle, "gap: held displacements are numbers")
            return
        self.energy, self.length, self.top = (bundle(f"gap/{name}", C) for name in NAMES)
        need(all(np.all(x >= 0.0) for x in (self.energy, self.length, self.top)), "gap: a bound is negative")
        self.at = bundle("gap/facets", None, whole=len(body.facets))
        n = len(self.at)
        self.component, self.errors = bundle("gap/components", n, whole=d), bundle("gap/errors", n)
        self.values = bundle("gap/values", n, d)
        pairs = self.at * d + self.component
        fits = np.all(body.held[self.at, self.component]) and len(np.unique(pairs)) == n and np.all(self.errors >= 0.0)
        need(fits, "gap: on facets that are not held, or a pair twice")
        self._facets_agree()
        self._cells_agree()

    def _facets_agree(self) -> None:
        """(Π₁v)_i = d mean(((d + 1)λ_i − 1) v) of v = g − u_h, against what is stored, which is 0 where nothing is."""
        body, d = self.body, self.body.d
        place = np.full((len(body.facets), d), -1)
        place[self.at, self.component] = np.arange(len(self.at))
        bary, w = rule(d - 1, 8)
        for facets, c, g in self.given:
            on = place[facets, c]
            need(isinstance(g, str) or np.all(on < 0), "gap: on a facet whose displacement is a number")
            if not isinstance(g, str):
                continue
            values = formula(g, np.einsum("qi,nic->nqc", bary, body.points[body.facets[facets]]))
            own = self.nodal[body.nodes_of(body.facets[facets])][:, :, c] @ shapes(bary, body.degree).T
            found = d * np.einsum("nq,qi->ni", values - own, w[:, None] * ((d + 1) * bary - 1.0))
            stored = np.where(on[:, None] >= 0, self.values[on], 0.0) if len(self.at) else np.zeros_like(found)
            error = np.where(on >= 0, self.errors[on], 0.0) if len(self.at) else np.zeros(len(on))
            size = np.abs(values).max(initial=0.0) + np.abs(own).max(initial=0.0)
            far = np.abs(found - stored) <= error[:, None] + ROUND * size + 1e-300
            need(np.all(far), "gap: another linear part of g − u_h on a facet (sampled)")

    def _cells_agree(self) -> None:
        """‖E‖_a, ‖E‖ and max|E| of samples are at most what is stored; formulas that meet other data are met."""
        body, d, n = self.body, self.body.d, len(self.body.points)
        merged = dict[tuple[int, Any], list[Array]]()
        for facets, c, g in self.given:
            merged.setdefault((c, g), []).append(facets)
        fields = []
        for (c, g), parts in merged.items():
            on = np.zeros(n, dtype=bool)
            on[body.facets[np.concatenate(parts)]] = True
            others = [f for (k, h), f in merged.items() if k == c and h != g]
            beside = np.zeros(n, dtype=bool)
            beside[body.facets[np.concatenate([np.zeros(0, dtype=int), *(x for f in others for x in f)])]] = True
            if isinstance(g, str):
                nodes = np.unique(body.nodes_of(body.facets[np.concatenate(parts)]))
                fields.append((c, g, on, nodes, bool(np.any(on & beside))))
        for c, g, on, _, _ in fields:
            cells = np.flatnonzero(on[body.cells].any(axis=1))
            size = float(np.abs(self.nodal[:, c]).max(initial=0.0))
            calm(f"held: {g!r}", g, None, body.points[body.cells[cells]], cells, size)
        bary, w = rule(d, 6)
        for part, shape in body.parts(CHUNK):
            count = part.stop - part.start
            E, slope, noise = np.zeros((count, len(w), d)), np.zeros((count, len(w), d, d)), np.zeros(count)
            for c, g, on, nodes, meets in fields:
                value, rise, size = self._sample(part, shape, bary, c, g, on, nodes)
                need(not meets or np.all(np.abs(value) <= ROUND * size[:, None]), f"held: {g!r} meets other data")
                E[:, :, c], slope[:, :, c], noise = E[:, :, c] + value, slope[:, :, c] + rise, noise + size
            self._norms_agree(part, shape, w, E, slope, ROUND * noise)

    def _sample(
        self, part: slice, shape: Shape, bary: Array, c: int, g: str, on: Array, nodes: Array
    ) -> tuple[Array, Array, Array]:
        """E_c (n, q), its slopes (n, q, d) and the size of the formula, (n,), at points of cells."""
        body, d = self.body, self.body.d
        cells = body.cells[part]
        X = np.einsum("qi,nic->nqc", bary, body.points[cells])
        eye = np.eye(d)
        x = [
            Jet(X[..., i], np.broadcast_to(eye[i][:, None, None], (d, *X.shape[:2])), 0.0 * X[..., i]) for i in range(d)
        ]
        with np.errstate(all="ignore"):
            jet = formula_jet(g, x)
            at = body.nodes_of(cells)
            near = formula(g, self._places()[at])
        held = np.isin(at, nodes)
        near = np.where(held, self.nodal[at][:, :, c], near)
        chi = on[cells].astype(float)
        some = chi.any(axis=1)
        rest = jet.v - near @ shapes(bary, body.degree).T
        rise = np.moveaxis(jet.g, 0, -1) - np.einsum("nk,qkj,njc->nqc", near, slopes(bary, body.degree), shape.grad.m)
        hat = chi @ bary.T
        steep = np.einsum("nj,njc->nc", chi, shape.grad.m)
        value = np.where(some[:, None], hat * rest, 0.0)
        found = np.where(some[:, None, None], hat[..., None] * rise + rest[..., None] * steep[:, None], 0.0)
        need(
            np.all(np.isfinite(value)) and np.all(np.isfinite(found)),
            f"held: {g!r} is not finite near where it is held",
        )
        return value, found, np.where(some, np.abs(jet.v).max(axis=1) + np.abs(near).max(axis=1), 0.0)

    def _norms_agree(self, part: slice, shape: Shape, w: Array, E: Array, slope: Array, noise: Array) -> None:
        body, vol = self.body, shape.vol.m
        strain = 0.5 * (slope + np.swapaxes(slope, 2, 3))
        density = 2.0 * body.mu[part, None] * (strain**2).sum(axis=(2, 3))
        density = density + body.lam[part, None] * np.einsum("nqaa->nq", strain) ** 2
        steep = np.abs(shape.grad.m).sum(axis=(1, 2))
        stiff = np.sqrt(vol * (2.0 * body.mu[part] + np.abs(body.lam[part])))
        found = (
            (np.sqrt(np.maximum(vol * (density @ w), 0.0)), self.energy, noise * steep * stiff * body.d),
            (np.sqrt(vol * ((E**2).sum(axis=2) @ w)), self.length, noise * np.sqrt(vol) * body.d),
            (np.sqrt((E**2).sum(axis=2)).max(axis=1), self.top, noise * body.d),
        )
        for name, (seen, stored, off) in zip(NAMES, found, strict=True):
            fits = seen <= stored[part] * (1.0 + 1e-9) + off
            need(np.all(fits), f"gap: {name} of what the state leaves is larger on a cell (sampled)")

    def _places(self) -> Array:
        """Of all nodes."""
        body = self.body
        X = np.zeros((body.size, body.d))
        X[: len(body.points)] = body.points
        if body.degree == 2:
            V = body.points[body.cells]
            i, j = np.triu_indices(body.d + 1, 1)
            X[body.nodes_of(body.cells)[:, body.d + 1 :]] = 0.5 * (V[:, i] + V[:, j])
        return X

    def moved(self, query: Query, centre: float, radius: float) -> tuple[float, float]:
        """An interval with what the gap adds; docs/elasticity.md, section 7."""
        if not self.open:
            return centre, radius
        body, d, z = self.body, self.body.d, query.z
        if query.sign < 0.0:  # of a reaction, whose dual state is not zero where the body is held
            return centre, float(up(radius + math.sqrt(total(self.energy**2)) * math.sqrt(z.energy) * (1.0 + 1e-9)))
        terms = z.m[self.at, :, self.component]
        shift = -math.fsum((terms * self.values).ravel().tolist())
        wrong = total(np.abs(terms).sum(axis=1) * self.errors * (1.0 + 1e-12)) + 4.0 * UNIT * total(
            np.abs(terms * self.values).ravel()
        )
        size = up(np.sqrt(np.maximum(z.square, 0.0) + z.wide) + z.rest)
        for part, g in body.parts():
            steep = up(np.sqrt((g.grad.top**2).sum(axis=2)).sum(axis=1))
            left = up(z.force[part] + 0.5 * z.moment[part] * steep)
            left = up((d + 1.0) ** 1.5 * left / np.sqrt(g.vol.low))
            each = self.energy[part] * size[part] + self.length[part] * left
            wrong += total(up(each + d * (d + 2.0) * self.top[part] * z.gap[part]))
        return centre + shift, float(up(radius + wrong + 4.0 * UNIT * (abs(centre) + abs(shift))))


def shapes(bary: Array, degree: int) -> Array:
    """Of the elements at points (q, k): (q, nodes)."""
    i, j = np.triu_indices(bary.shape[1], 1)
    return bary if degree == 1 else np.hstack([bary * (2.0 * bary - 1.0), 4.0 * bary[:, i] * bary[:, j]])


def slopes(bary: Array, degree: int) -> Array:
    """∂φ/∂λ_j at points, (q, nodes, k)."""
    q, k = bary.shape
    if degree == 1:
        return np.broadcast_to(np.eye(k), (q, k, k))
    found = np.zeros((q, k + k * (k - 1) // 2, k))
    found[:, np.arange(k), np.arange(k)] = 4.0 * bary - 1.0
    for e, (i, j) in enumerate(zip(*np.triu_indices(k, 1), strict=True)):
        found[:, k + e, i], found[:, k + e, j] = 4.0 * bary[:, j], 4.0 * bary[:, i]
    return found
