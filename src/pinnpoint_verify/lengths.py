"""The prediction's error in L² and in the energy norm: ‖ũ − v‖ and a bound of ‖u − ũ‖ (docs/band.md, 8a and 8b)."""

from __future__ import annotations

import math

import numpy as np

from pinnpoint_verify.checker import Ball, Cells, Side, means, mix, quadratic, rounded, total, up
from pinnpoint_verify.reader import Array, larger, need

NORMS = ("l2-error", "energy-error")
EXTREMES = ("maximum", "minimum")
WHOLE = ("everywhere", *EXTREMES, *NORMS)
"""Kinds of queries that are norms of the prediction's error."""


class Lengths:
    """Squares of ‖ũ − v‖ in both norms, gathered from ranges of cells; v by its values at the nodes."""

    def __init__(self, p: Side) -> None:
        self.p, self.squares = p, {kind: Ball(0.0) for kind in NORMS}

    def measure(self, g: Cells, given: Array) -> None:
        """A range of cells that `p` has measured."""
        p, mesh, d = self.p, self.p.mesh, self.p.mesh.d
        at = mesh.nodes_of(mesh.cells[g.part])
        (own, own_rise), (other, other_rise) = (quadratic(w[at], d, mesh.degree) for w in (p.nodal, given))
        apart = own - other
        square = mix("njk,nlm,jklm->n", apart, apart, means(d, 4)) * g.vol
        slope = 2.0 * mix("njk,nkc->njc", own_rise - other_rise, g.grad)  # ∇ = Σ_j λ_j slope_j
        steep = mix("njc,nlc,jl->n", slope, slope, means(d, 2)) * g.vol * g.kappa
        for kind, part in zip(NORMS, (square, steep + square * np.maximum(g.c, 0.0)), strict=True):
            self.squares[kind] = rounded(self.squares[kind].m + part.total().m, self.squares[kind].r + part.total().r)

    def interval(self, kind: str, error: float, mismatch: float, name: str) -> tuple[float, float]:
        """Centre and radius of ‖u − v‖, from a bound of ‖u − ũ‖ in that norm."""
        square, mesh = self.squares[kind], self.p.mesh
        if kind == "energy-error":
            need(mismatch == 0.0, f"{name!r}: no theorem for Dirichlet data that is missed")
        bound = float(up(error + mismatch * math.sqrt(total(mesh.top)) * (1.0 + 1e-15)))
        low, high = math.sqrt(larger(0.0, float(square.low))) * (1.0 - 1e-15), float(up(math.sqrt(float(square.top))))
        least, most = larger(0.0, (low - bound) * (1.0 - 1e-15)), float(up(high + bound))
        if least <= 1e-6 * most:  # it is not negative
            return (float(up(0.5 * most)),) * 2
        return 0.5 * (least + most), float(up(0.5 * (most - least) + 2.0**-52 * most))
