"""What is proved of A, b and c on each cell, and what they make of a finite-element function there.

On a cell K the matrix R has R A(x) Rᵀ ≥ I for all x in K, so that |δ·∇w| ≤ |Rδ| |A^{1/2}∇w|: for a scalar κ it is
1/√(min κ), for a matrix the inverse of a Cholesky factor of A at the centre, enlarged. α is a lower bound of A's
eigenvalues, and m_K one of m = c − ½∇·b, the symmetric part of b·∇ + c.

A∇v_h and b·∇v_h + c v_h (or −b·∇v_h + (c − ∇·b) v_h) are products of Taylor models, projected onto quadratics: what the
projection leaves is orthogonal to them, and the remainder is a proved error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import dot_up, down, gamma, up
from pinnpoint.taylor.bernstein import pairs
from pinnpoint.taylor.geometry import Simplices, path_order
from pinnpoint.taylor.inputs import ORDER, Graded, enclosed, fixed, models
from pinnpoint.taylor.minima import minimum
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.simplices import projected, quadratic
from pinnpoint.taylor.spaces import POINT, Space, space
from pinnpoint.transfer.energy.anchors import Anchors
from pinnpoint.transfer.energy.cells import State
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.media.coefficients import Coefficient, Coefficients, balance, matrix
from pinnpoint.transfer.media.metric import Metric
from pinnpoint.transfer.media.outflow import Outflow, require_outward

CHUNK = 2048
FAST = 3.0
"""Péclet numbers of cells from which on convection makes intervals wider."""
SPARE = 1e-6
"""The share of coercivity that c − ½∇·b ≥ 0, proved up to rounding only, may cost."""
DEEPEST = 0.9
"""The share that a reaction below zero may cost where nothing convects."""


@dataclass(frozen=True, eq=False)
class Piece:
    """The models of one coefficient on all cells; a coefficient that is constant on each cell has one row."""

    space: Space
    C: Vector
    e: Vector

    __repr__ = brief

    @property
    def vanishes(self) -> bool:
        """Whether it is zero everywhere."""
        return not (self.C.any() or self.e.any())

    def on(self, part: slice) -> TaylorModel:
        """The models on some cells."""
        return TaylorModel(self.space, np.ascontiguousarray(self.C[:, part]), self.e[part])

    @classmethod
    def of(cls, given: Sequence[Coefficient], regions: Index, vertices: Vector, order: int) -> Piece:
        """From what is given in each region, models of degree `order`."""
        known = [fixed(g) for g in given]
        value, error = (np.array([0.0 if k is None else k[i] for k in known])[regions] for i in (0, 1))
        if all(k is not None for k in known):
            return cls(POINT, value[None], error)
        d = vertices.shape[2]
        S = space(d, order, simplex=True)
        C, e = np.zeros((S.size, len(regions))), error.copy()
        C[0] = value
        formulas = {id(g): g for g, k in zip(given, known, strict=True) if k is None}
        for key, g in formulas.items():
            assert enclosed(g)
            mine = np.array([id(x) == key for x in given])
            cells = np.flatnonzero(mine[regions])
            for a in range(0, len(cells), CHUNK):
                some = cells[a : a + CHUNK]
                V = vertices[some]
                model, _ = models(g, Simplices(V, np.zeros((len(V), d))), S.q)
                C[:, some], e[some] = model.C, model.e
        return cls(S, C, e)


@dataclass(frozen=True, eq=False)
class Action:
    """A∇v_h and the terms of lower order of a state on some cells, as quadratics with what they leave over.

    Attributes
    ----------
    flux, flux_high, flux_error
        β of A∇v_h, (pairs, d, n), and bounds of the root mean square of the rest and of the error of each component.
    lower, lower_high, lower_error
        The same for b·∇v_h + c v_h, or its transpose.
    """

    flux: Vector
    flux_high: Vector
    flux_error: Vector
    lower: Vector
    lower_high: Vector
    lower_error: Vector


@dataclass(frozen=True, eq=False)
class Medium:
    """A, b and c on the sorted cells of a mesh with vertices (C, d + 1, d)."""

    coefficients: Coefficients
    vertices: Vector

    __repr__ = brief

    @property
    def d(self) -> int:
        """Space dimension."""
        return int(self.vertices.shape[2])

    @cached_property
    def order(self) -> int:
        """Degree of the models: the usual one, or what diffusion asks for that a map has bent."""
        entries = [x for A in self.coefficients.diffusion for row in matrix(A, self.d) for x in row]
        return max([ORDER[self.d], *(x.model_degree for x in entries if isinstance(x, Graded))])

    @cached_property
    def _which(self) -> Index:
        return path_order(self.vertices)

    def _piece(self, given: Sequence[Coefficient]) -> Piece:
        """The models of what is given in each region."""
        return Piece.of(given, self.coefficients.regions, self.vertices, self.order)

    @cached_property
    def diffusion(self) -> tuple[tuple[Piece, ...], ...]:
        """The entries of A; those below the diagonal are the ones above it."""
        A, d = [matrix(a, self.d) for a in self.coefficients.diffusion], self.d
        upper = {(i, j): self._piece([a[i][j] for a in A]) for i in range(d) for j in range(i, d)}
        return tuple(tuple(upper[min(i, j), max(i, j)] for j in range(d)) for i in range(d))

    @cached_property
    def convection(self) -> tuple[Piece, ...] | None:
        """The entries of b, or None."""
        if not self.coefficients.convective:
            return None
        still = (0.0,) * self.d
        b = [still if v is None else v for v in self.coefficients.convection]
        return tuple(self._piece([v[i] for v in b]) for i in range(self.d))

    def _balance(self, weight: float) -> list[Coefficient]:
        """What c − weight ∇·b is in each region."""
        given = self.coefficients
        return [balance(c, b, weight) for c, b in zip(given.reaction, given.convection, strict=True)]

    @cached_property
    def reaction(self) -> Piece:
        """The coefficient c."""
        return self._piece(self.coefficients.reaction)

    @cached_property
    def transposed(self) -> Piece:
        """The coefficient c − ∇·b."""
        return self.reaction if self.convection is None else self._piece(self._balance(1.0))

    @cached_property
    def metric(self) -> Metric:
        """R and α on each cell."""
        return Metric.of(self.diffusion, self.coefficients, self.vertices)

    @cached_property
    def floor(self) -> Vector:
        """Lower bounds of m = c − ½∇·b on each cell."""
        return self._least(self._balance(0.5))  # varying.md, step 1c

    @cached_property
    def least_reaction(self) -> float:
        """A lower bound of c."""
        return float(self._least(self.coefficients.reaction).min())

    @cached_property
    def least_transposed(self) -> float:
        """A lower bound of c − ∇·b."""
        return self.least_reaction if self.convection is None else float(self._least(self._balance(1.0)).min())

    def _least(self, each: Sequence[Coefficient]) -> Vector:
        known = [fixed(g) for g in each]
        regions = self.coefficients.regions
        found = np.array([0.0 if k is None else k[0] if k[1] == 0.0 else down(k[0] - k[1], 1) for k in known])[regions]
        for r, given in enumerate(each):
            if enclosed(given) and known[r] is None:
                cells = np.flatnonzero(regions == r)
                found[cells] = minimum(given, self.vertices[cells])
        return np.asarray(found)

    @cached_property
    def peclet(self) -> float:
        """The largest h|b|/α, about; zero without convection."""
        if self.convection is None:
            return 0.0
        speed = np.sqrt(sum(np.broadcast_to(b.C[0], len(self.vertices)) ** 2 for b in self.convection))
        h = np.sqrt(((self.vertices[:, :, None] - self.vertices[:, None]) ** 2).sum(axis=3).max(axis=(1, 2)))
        return float(np.max(h * speed / self.metric.alpha))

    def outlook(self) -> str:
        """What is to be expected of intervals where convection dominates; empty where it does not."""
        if self.peclet <= FAST:
            return ""
        return (
            f"convection: the Péclet number h|b|/A of cells is up to {self.peclet:.3g}; above {FAST:g} radii grow with "
            f"it, here up to {self.peclet / FAST:.2g} times. Refine along the flow, or give a tolerance"
        )

    def act(self, part: slice, shapes: Shapes, v: State, *, transposed: bool) -> Action:
        """What A, b and c make of a state on some cells."""
        d, which = self.d, self._which[part]
        slope = [self._slope(v, i, which, shapes) for i in range(d)]
        value = quadratic(np.ascontiguousarray(v.coefficients.T), which, self.order, v.blur)
        flux = []
        for i in range(d):
            terms = [(self.diffusion[i][j], slope[j]) for j in range(d)]
            flux.append(self._read(terms, part))  # varying.md, step 2a
        lower = [(self.transposed if transposed else self.reaction, value)]
        if self.convection is not None:
            lower += [(b, -g if transposed else g) for b, g in zip(self.convection, slope, strict=True)]
        beta, high, error = self._read(lower, part)  # varying.md, step 2b
        F = np.stack([f[0] for f in flux], axis=1)
        return Action(F, np.stack([f[1] for f in flux]), np.stack([f[2] for f in flux]), beta, high, error)

    def _slope(self, v: State, axis: int, which: Index, shapes: Shapes) -> TaylorModel:
        """The model of ∂v_h/∂x_axis, whose vertex values are known up to rounding."""
        s = v.slopes[:, axis]
        beta = np.stack([0.5 * (s[j] + s[k]) for j, k in pairs(shapes.d)], axis=1)
        wrong = up((shapes.slack + gamma(60)) * v.size, 8)
        return quadratic(beta, which, self.order, wrong)

    def _read(self, terms: Sequence[tuple[Piece, TaylorModel]], part: slice) -> tuple[Vector, Vector, Vector]:
        """The sum of products as a quadratic (pairs, n), what is left of it, and its error."""
        total: TaylorModel | None = None
        for piece, model in terms:
            if not piece.vanishes:
                product = piece.on(part) * model
                total = product if total is None else total + product
        which = self._which[part]
        if total is None:
            return np.zeros((len(pairs(self.d)), len(which))), np.zeros(len(which)), np.zeros(len(which))
        beta, high, error = projected(total, which)
        return np.ascontiguousarray(beta.T), high, error


def place(vertices: Vector) -> list[float]:
    """Where a cell is, for messages."""
    return [float(x) for x in np.round(vertices.mean(axis=0), 6)]


def mean_square(anchors: Anchors) -> float:
    """P² with ‖v‖₂ ≤ P‖v‖ for all v that vanish on the Dirichlet part."""
    if math.isfinite(anchors.friedrichs):
        return float(up(anchors.friedrichs**2, 4))
    if not np.isfinite(anchors.reach).all():
        return math.inf
    means = dot_up(up(anchors.volume * (1.0 + 4.0 * anchors.slack), 4), up(anchors.reach**2, 4))
    return float(up(means + float(anchors.convex.max()) ** 2, 8))  # varying.md, step 1c


def sinks(medium: Medium, anchors: Anchors) -> bool:
    """Whether c falls below zero further than `DEEPEST` of coercivity pays for, where nothing convects."""
    lack = max(0.0, -float(medium.floor.min()))
    if medium.coefficients.convective or lack == 0.0:
        return False
    return not float(up(lack * mean_square(anchors))) <= DEEPEST  # indefinite.md, step 13a


def spared(medium: Medium, anchors: Anchors, topology: Topology, outflow: Outflow | None) -> float:
    """A factor ≥ 1 by which norms of errors may be larger because m = c − ½∇·b is only proved to be ≥ −ε, or b·n is.

    With ‖v‖² = ∫ A∇v·∇v + m⁺v² and ‖v‖₂ ≤ P‖v‖ the symmetric part is at least (1 − εP²)‖v‖². Where a formula's m
    vanishes identically, ε is rounding; a true m < 0 is refused.
    """
    worst = int(np.argmin(medium.floor))
    lack = max(0.0, -float(medium.floor[worst]))
    if lack == 0.0 and (outflow is None or float(outflow.floor.min()) >= 0.0):
        return 1.0
    square = mean_square(anchors)
    share = float(up(lack * square))  # varying.md, step 1c
    if not share <= (SPARE if medium.coefficients.convective else DEEPEST):
        raise InputError(
            "convection, reaction: c − ½∇·b must be ≥ 0, which could not be proved; the lower bound found near "
            f"{place(medium.vertices[worst])} is {-lack:.3e}; give a larger reaction, or say target='discrete'"
        )
    if outflow is not None:
        through = outflow.lack(topology, anchors, square)
        if not through <= SPARE:
            require_outward(outflow, topology)
        share = float(up(share + through))
    return float(up(1.0 / down(math.sqrt(float(down(1.0 - share))), 2), 4))  # varying.md, step 1c
