"""Data of a solid, from the case's formulas: stored quadratics stay, their bounds are replaced (docs/checking.md, 9).

Part of the proof. Where a formula has a kink inside a cell or a facet, what is stored stays: it is declared, and
compared with samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, Density, means, mix, up
from pinnpoint_verify.discs import Walk
from pinnpoint_verify.enclosures import enclosed, projection
from pinnpoint_verify.formulas import formula
from pinnpoint_verify.own import data_bounds, replaced
from pinnpoint_verify.reader import Array
from pinnpoint_verify.reference import compare


class Data:
    """Bounds of a solid's data; `kept` says of what the stored ones were used, `blind` what has no formula."""

    def __init__(self, close: float, blind: list[str]) -> None:
        self.close, self.blind, self.kept = close, blind, list[str]()

    def bounded(self, what: str, x: Density, at: Array, given: Any, V: Array) -> Density:
        """The stored quadratics of a density at places with simplices V, with bounds of how far a formula is."""
        if given is None:
            self.blind.append(what)
            return x
        data = x.on(0, int(at.max(initial=-1)) + 1)
        full, stored = data[0], np.stack(data[1:], axis=1)[at]
        rest, kept = data_bounds(given, V, full[at], stored, self.close)  # checking.md, step 9a
        self._left(what, kept, full[at], rest, V, given)
        return replaced(x, at, full, rest)

    def thermal(self, x: Density, kappa: Ball, given: Any, V: Array) -> Density:
        """The same for κϑ, κ a number on each cell, ϑ a formula or values at vertices (n, d + 1)."""
        full, C = x.on(0, len(V))[0], len(V)
        if isinstance(given, np.ndarray):
            true = (Ball(given)[:, :, None] + Ball(given)[:, None, :]) * 0.5 * kappa[:, None, None]
            far = up((np.abs(full - true.m) * (1.0 + 2.0 * UNIT) + true.r).max(axis=(1, 2)))
            return replaced(x, np.arange(C), full, np.stack([0.0 * far, far, far], axis=1))
        size, stored = np.where(kappa.m == 0.0, 1.0, kappa.m), x.rest
        scaled = full / size[:, None, None]
        rest, kept = data_bounds(given, V, scaled, stored / np.abs(size)[:, None], self.close)
        top = np.abs(scaled).max(axis=(1, 2)) + rest[:, 0] + rest[:, 2]
        off = np.abs(full - kappa.m[:, None, None] * scaled).max(axis=(1, 2)) * 2.0 + 4.0 * UNIT * np.abs(kappa.m) * top
        rest = rest * np.abs(kappa.m)[:, None] + np.array([0.0, 1.0, 1.0]) * (off + kappa.r * top)[:, None]
        self._left("thermal stress", kept, scaled, rest / np.abs(size)[:, None], V, given)
        return replaced(x, np.arange(C), full, up(rest))  # checking.md, step 9b

    def means(self, given: Any, V: Array) -> Ball:
        """Of a formula on simplices: those of its projection, whose error has a bound."""
        d = V.shape[1] - 1
        beta = projection(given, V)
        rest, kept = enclosed(given, V, beta, self.close)
        if kept.any():
            self.kept.append(f"means of {given!r} on {int(kept.sum())} facets")
            rest[kept] = 1e-9 * np.abs(beta).max()
        found = mix("njk,jk->n", Ball(beta), means(d, 2))
        return Ball(found.m, up(found.r + rest[:, 1]))  # checking.md, step 9c

    def at(self, given: Any, x0: Array) -> Ball:
        """The value of a formula at a point."""
        return Walk(given, [Ball(np.array([x])) for x in x0]).value[0]

    def _left(self, what: str, kept: Array, beta: Array, rest: Array, V: Array, given: Any) -> None:
        """Say, and compare, where what is stored was used."""
        if kept.any():
            self.kept.append(f"{what} on {int(kept.sum())} of {len(kept)} places")
            data = tuple(a[kept] for a in (beta, *rest.T))
            compare(what, data, V[kept], lambda X, bary, at: formula(given, X))
