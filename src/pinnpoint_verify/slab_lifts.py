"""A prediction of space and time kept as it is: what it leaves of the case's data (docs/slabs.md, sections 6 and 8).

The bundle holds the prediction, by its formula or its weights. e = u − u_θ solves the case's equation with the source
f − ∂_t u_θ + κΔu_θ − b·∇u_θ − c u_θ, the initial values u₀ − u_θ and the boundary values g − u_θ, which become
polynomials with remainders like any other data; u_θ's own value is added at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnpoint_verify.boxes import Prediction, left_inside, value_at
from pinnpoint_verify.checker import Ball, Mesh
from pinnpoint_verify.model_jets import Jet, coordinates, formula, jets
from pinnpoint_verify.models import Model
from pinnpoint_verify.reader import Array, Bundle, larger, need
from pinnpoint_verify.slab_data import NAMES, Datum, Source

Row = dict[str, Any]


class Rest(Datum):
    """What a prediction leaves, made from models of the coordinates; time is zero where it does not move."""

    vanishes = False

    def __init__(self, made: Callable[[list[Model]], Model], moves: bool, block: int) -> None:
        self.made, self.moves, self.block = made, moves, block

    def models(self, low: Array, high: Array, q: int) -> Model:
        """On boxes, some at a time."""
        D = low.shape[1] + (0 if self.moves else 1)
        fixed = {} if self.moves else {D - 1: 0.0}
        found = []
        for a in range(0, len(low), self.block):
            rows = slice(a, a + self.block)
            found.append(self.made(coordinates(low[rows], high[rows], np.zeros(D), np.ones(D), fixed, D, q)))
        return Model(found[0].S, np.concatenate([m.C for m in found], axis=1), np.concatenate([m.e for m in found]))


class Left:
    """What a stored prediction leaves of a case in time."""

    def __init__(self, bundle: Bundle, lift: Row, said: Row, mesh: Mesh, flow: Array | None) -> None:
        d, kappa, c = mesh.d, mesh.kappa, mesh.c
        self.names = (*NAMES[:d], "t")
        self.u, self.said = Prediction(bundle, lift, self.names), said
        need(np.ptp(kappa) == 0.0 and np.ptp(c) == 0.0, "lift: coefficients that jump")
        need(not isinstance(said["source"], dict), "lift: a source by groups of cells")
        self.kappa, self.c = [float(kappa[0])] * d, float(c[0])
        self.flow = [0.0] * d if flow is None else flow.tolist()
        self.block = larger(16, 4096 // self.u.widest)

    def source(self) -> Datum:
        """F − ∂_t u_θ + κΔu_θ − b·∇u_θ − c u_θ (docs/slabs.md, step 8j)."""
        f = self.said["source"]
        return Rest(lambda M: left_inside(self.u, f, self.kappa, self.flow, self.c, M), True, self.block)

    def start(self, V: Array, close: float) -> tuple[Array, Array]:
        """u₀ − u_θ on cells: symmetric coefficients, and high, e1, e2 (C, 3)."""
        given = self.said["initial"]
        datum = Rest(lambda M: self.beside(given, still(M)), False, self.block)
        found = Source([(np.arange(len(V)), datum)], V, 1, close).slab(0.0, 0.0)
        return found.beta[0], np.stack([found.high[0], found.e1[0], found.e2[0]], axis=1)

    def beside(self, g: Any, X: list[Jet]) -> Model:
        """The model of g − u_θ."""
        return formula(g, X, self.names).v + -self.u(X).v

    def through(self, g: Any, axis: int, sign: float) -> Callable[[list[Model]], Model]:
        """The models of g − κ∂_n u_θ on facets whose normal is along an axis (docs/slabs.md, step 6c)."""

        def made(M: list[Model]) -> Model:
            X = jets(M, len(M) - 1)
            slope, given = self.u(X).g[axis], formula(g, X, self.names).v
            return given if slope is None else given + slope.scaled(Ball(-sign * self.kappa[axis]))

        return made

    def value(self, at: Array, time: float) -> Ball:
        """u_θ at a point and a time."""
        return value_at(self.u, at, time)


def still(M: list[Model]) -> list[Jet]:
    """Coordinates whose derivatives nobody asks for."""
    return [Jet(m, [None] * len(M), [None] * (len(M) - 1)) for m in M]
