"""b·n on free facets, from the models of b on their cells: part of the proof (docs/varying.md, steps 1d and 4b)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import NEUMANN, Ball, Mesh, Shape, areas, mix, up
from pinnpoint_verify.polynomials import degree_of, indices, not_above, plus
from pinnpoint_verify.reader import Array
from pinnpoint_verify.robin import Found, product


class Exit:
    """Polynomials of b·n on the free facets `at`, and bounds of their errors."""

    def __init__(self, mesh: Mesh, medium: Any) -> None:
        d, self.m = mesh.d, mesh.d - 1
        self.at = np.nonzero(mesh.kind == NEUMANN)[0]
        cell = mesh.owner[self.at]
        local = np.argmax(mesh.cell_facets[cell] == self.at[:, None], axis=1)
        grad = Shape(mesh.points[mesh.cells[cell]]).grad[np.arange(len(cell)), local]
        n = -grad / mix("nc,nc->n", grad, grad).sqrt()[:, None]  # outward, of length one
        found: Any = None
        self.error = np.zeros(len(cell))
        for c in range(d):
            beta = medium.beta[f"b{c}"][cell]
            q = degree_of(beta.shape[1], d)
            # on the facet across vertex i are the coefficients with α_i = 0, in their order
            keep = np.stack([np.nonzero(indices(d, q)[:, i] == 0)[0] for i in range(d + 1)])
            part = Ball(np.take_along_axis(beta, keep[local], axis=1)) * n[:, c : c + 1]
            found = part if found is None else plus(found, part, self.m) if self.m else found + part
            self.error = up(self.error + medium.error[f"b{c}"][cell] * n[:, c].top)
        self.flow: Ball = found

    def times(self, v: Ball) -> Found:
        """b·n v_h on these facets."""
        beta, high, error = product(self.flow, v, self.m)
        wrong = up(error + self.error * v.top.max(axis=(1, 2)))
        return beta, high, wrong, wrong

    def lack(self, mesh: Mesh, square: float, share: float) -> Array:
        """Facets on which b·n ≥ −ε is not proved, ε such that it costs at most this share of coercivity."""
        cell, root = mesh.owner[self.at], math.sqrt(square)
        # ∫_F v² ≤ |F|/|K| (‖v‖² + 2h/d ‖v‖ ‖∇v‖), varying.md, step 1d
        thin = areas(mesh.points[mesh.facets[self.at]]).top / mesh.low[cell]
        way = 2.0 * mesh.h[cell] / (mesh.d * np.sqrt(mesh.kappa[cell])) * root
        trace = float(np.max(thin, initial=0.0)) * square + float(np.max(thin * way, initial=0.0))
        aim = np.full(len(cell), -share / (0.5 * (mesh.d + 1) * trace * (1.0 + 1e-12)))
        if self.m == 0:
            return np.nonzero((self.flow.m - self.flow.r)[:, 0] - self.error < aim)[0]
        return not_above(Ball(self.flow.m[:, None], self.flow.r[:, None]), self.error[:, None], aim, self.m)
