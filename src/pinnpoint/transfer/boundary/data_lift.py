"""A lift of the Dirichlet data that the elements do not meet, in the plane: docs/curved.md, section 3.

On a facet of Γ_D let m = g − u_h less the line through its end values, t its parameter. On the facet's cell, v₃
opposite, E(v₃ + r (F(t) − v₃)) = r m(t): zero on the other facets, m on this one. With h the height and L the longest
side at v₃

    ‖∇E‖_K ≤ |K|^{1/2} (‖m‖/h + L/(2|K|) ‖m′‖),      ‖E‖_K = (|K|/2)^{1/2} ‖m‖,

norms over t in [0, 1]. The end values are rounding, and count by the maximum principle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.formulas.expressions import Expression
from pinnpoint.rounding.arithmetic import down, gamma, sum_up, up
from pinnpoint.taylor.geometry import Simplices, coordinates
from pinnpoint.taylor.inputs import ORDER, fixed, model_of
from pinnpoint.taylor.jets import jet_of
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.simplices import quadratic
from pinnpoint.transfer.continuum import Continuum, bernstein
from pinnpoint.transfer.energy.estimator import Bounds, Side

Q = ORDER[1]


@runtime_checkable
class Directed(Protocol):
    """Data that encloses its derivatives along directions too."""

    def taylor(self, coordinates: Any, /) -> TaylorModel:
        """The model from those of the coordinates."""

    def along(self, coordinates: Any, direction: Any, /) -> TaylorModel:
        """The model of the derivative along a direction, models of its components."""


def differentiable(given: Any) -> bool:
    """Whether derivatives of Dirichlet data can be enclosed."""
    if isinstance(given, Expression):
        return not any(kind == "fold" or what == "abs" for kind, what in given.program)
    return not callable(given) or isinstance(given, Directed)


@dataclass(frozen=True, eq=False)
class DataLift:
    """What is known of m on the Dirichlet facets.

    Attributes
    ----------
    facets, cells, sign
        Their numbers, the cells they belong to, and 1 where the flux through them is stored outward, else −1.
    value, slope, error
        Polynomials near m and m′ in ξ = 2t − 1, (Q + 1, F), and bounds of the errors of both, (2, F).
    moments, moment_error
        ∫ m λ_j dt for both ends j, (F, 2), and bounds of their errors.
    ends
        An upper bound of |g − u_h| at vertices.
    gradient, size
        On every cell, bounds of ‖A^{1/2}∇E‖_K and of ‖E‖_K.
    energy
        On every cell, e_K = ‖A^{1/2}∇E‖_K + ‖c^{1/2}E‖_K.
    """

    facets: Index
    cells: Index
    sign: Vector
    value: Vector
    slope: Vector
    error: Vector
    moments: Vector
    moment_error: Vector
    ends: float
    gradient: Vector
    size: Vector
    energy: Vector

    __repr__ = brief

    @classmethod
    def of(cls, model: Continuum, state: Vector) -> DataLift | None:
        """From the data and a state; None where derivatives of the data cannot be enclosed."""
        if not all(differentiable(given) for _, given in model.dirichlet):
            return None
        parts = [_facets(model, facets, given, state) for facets, given in model.dirichlet if len(facets)]
        if not parts:
            return None
        facets = np.concatenate([f for f, _ in model.dirichlet if len(f)])
        C, e, C1, e1 = (np.concatenate([p[i] for p in parts], axis=-1) for i in range(4))
        if not (np.isfinite(e).all() and np.isfinite(e1).all()):
            return None
        return cls._made(model, facets, C, e, C1, e1)

    @classmethod
    def _made(cls, model: Continuum, facets: Index, C: Vector, e: Vector, C1: Vector, e1: Vector) -> DataLift:
        """From models of g − u_h and of its derivative on facets, coefficients (Q + 1, F) in [−1, 1]."""
        T = model.topology
        first, last = C[::2].sum(axis=0) - C[1::2].sum(axis=0), C.sum(axis=0)
        blur = gamma(2 * Q) * np.abs(C).sum(axis=0)
        ends = float(up(np.maximum(np.abs(first), np.abs(last)) + e + blur, 4).max())
        P, P1 = C.copy(), C1.copy()
        P[0] -= 0.5 * (first + last)
        P[1] -= 0.5 * (last - first)
        P1[0] -= last - first
        error, error1 = up(2.0 * (e + blur), 4), up(e1 + 2.0 * (e + blur), 4)  # curved.md, step 3a
        value, slope = rms(P, error), rms(P1, error1)
        cells = T.facet_cells[facets, 0]
        local = np.argmax(T.cell_facets[cells] == facets[:, None], axis=1)
        moments, wrong = _moments(P)
        top, bottom = coefficient_bounds(model, cells)
        gradient, size = _norms(model, facets, cells, local, value, slope)
        gradient = up(np.sqrt(top) * gradient, 4)
        every = np.zeros((3, len(T.cells)))
        for row, each in zip(every, (gradient, size, up(gradient + np.sqrt(bottom) * size, 8)), strict=True):
            np.add.at(row, cells, each)
        found = up(every, 8)
        polynomials = (P, P1, np.stack([error, error1]))
        return cls(
            facets, cells, T.sign[cells, local], *polynomials, moments, up(wrong + error[:, None], 2), ends, *found
        )

    def over(self, primal: Bounds) -> Bounds:
        """The bounds of a state with E added to it."""
        return replace(primal, lift=self.energy)  # curved.md, step 3b

    def across(self, model: Continuum, dual: Side) -> tuple[float, float]:
        """∫ (τ·n) m over the Dirichlet part of the flux τ of a dual, and a bound of the error."""
        t = dual.flux[self.facets] * self.sign[:, None]  # |F| τ·n at the facets' ends
        t = np.broadcast_to(t, (len(t), 2))
        parts = t * self.moments  # curved.md, step 3c
        off = up(np.abs(t) * self.moment_error + gamma(8) * np.abs(parts), 4)
        return math.fsum(parts.ravel().tolist()), sum_up(off.ravel())

    def left(self, model: Continuum, dual: Bounds) -> float:
        """Upper bound of |(ϱ_d, E) + (δ_d, ∇E)|."""
        return against(model, dual, self.energy, self.gradient, self.size)


def against(model: Continuum, dual: Bounds, energy: Vector, gradient: Vector, size: Vector) -> float:
    """Upper bound of |(ϱ_d, E) + (δ_d, ∇E)| from norms of E on cells."""
    at = np.flatnonzero(energy > 0.0)
    q = model.estimator.deviation(dual)[at]
    volume = down(model.anchors.volume[at] * (1.0 - 4.0 * model.anchors.slack[at]), 4)
    rest = dual.oscillation[at] + dual.defect[at] / np.sqrt(volume)
    return sum_up(up(q * gradient[at] + rest * size[at], 16))  # curved.md, step 3c


def rms(C: Vector, error: Vector) -> Vector:
    """Upper bounds of root mean squares over [−1, 1] of polynomials (n, F) known to an error."""
    n = np.arange(len(C))
    both = n[:, None] + n[None, :]
    gram = np.where(both % 2 == 0, 1.0 / (both + 1.0), 0.0)
    square = np.einsum("if,ij,jf->f", C, gram, C) + gamma(len(C) ** 2 + 4) * np.abs(C).sum(axis=0) ** 2
    return np.asarray(up(np.sqrt(np.maximum(square, 0.0)) + error, 8))


def _moments(P: Vector) -> tuple[Vector, Vector]:
    """∫ P λ_j dt for both ends of [−1, 1], (F, 2), and bounds of rounding."""
    n = np.arange(len(P))
    even, odd = np.where(n % 2 == 0, 1.0 / (n + 1.0), 0.0), np.where(n % 2 == 1, 1.0 / (n + 2.0), 0.0)
    mean, tilt = even @ P, odd @ P
    wrong = gamma(len(P) + 4) * np.abs(P).sum(axis=0)
    return np.stack([0.5 * (mean - tilt), 0.5 * (mean + tilt)], axis=1), np.stack([wrong, wrong], axis=1)


def _facets(model: Continuum, facets: Index, given: Any, state: Vector) -> tuple[Vector, Vector, Vector, Vector]:
    """Models of g − u_h and of its derivative in t on facets: coefficients and remainders."""
    vertices = model.topology.facets[facets]
    V = model.points[vertices]
    X = coordinates(Simplices(V, np.zeros((len(V), 2))), np.zeros(len(V), dtype=np.intp), Q)
    w = state[model.nodes_of(vertices)]
    size = np.abs(w).max(axis=1)
    u = quadratic(bernstein(w, 1, model.degree), np.zeros(len(V), dtype=np.intp), Q, up(gamma(16) * size))
    ends = (w[:, 1] - w[:, 0],) * 2
    if model.degree == 2:
        a, b, c = w.T
        ends = 4.0 * c - 3.0 * a - b, 3.0 * b + a - 4.0 * c
    C = np.zeros_like(u.C)
    C[0], C[1] = 0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0])
    slope = TaylorModel(u.space, C, up(gamma(16) * 16.0 * size))
    direction = [constant(V[:, 1, k]) - constant(V[:, 0, k]) for k in range(2)]
    known = fixed(given)
    if known is not None:
        m, rate = constant(*known) - u, -slope
    elif isinstance(given, Expression):
        jet = jet_of(given, X)
        m = jet.value - u
        rate = jet.gradient[0] * direction[0] + jet.gradient[1] * direction[1] - slope
    else:
        m, rate = model_of(given, X) - u, given.along(X, direction) - slope
    return m.C, m.e, rate.C, rate.e


def coefficient_bounds(model: Continuum, cells: Index) -> tuple[Vector, Vector]:
    """Upper bounds of A's largest eigenvalue and of c on some cells."""
    if model.medium is None:
        return model.kappa[cells], model.reaction[cells]

    def top(piece: Any) -> Vector:
        C = np.abs(np.broadcast_to(piece.C, (len(piece.C), len(model.kappa)))[:, cells]).sum(axis=0)
        return np.asarray(up(C + piece.e[cells], 64))

    rows = [up(sum(top(entry) for entry in row), 4) for row in model.medium.diffusion]
    return np.max(rows, axis=0), top(model.medium.reaction)


def _norms(
    model: Continuum, facets: Index, cells: Index, local: Index, value: Vector, slope: Vector
) -> tuple[Vector, Vector]:
    """Bounds of ‖∇E‖_K and ‖E‖_K of each facet's part."""
    P, T = model.points, model.topology
    A, B, apex = P[T.facets[facets, 0]], P[T.facets[facets, 1]], P[T.cells[cells, local]]
    base, one, two = (up(np.sqrt(((p - q) ** 2).sum(axis=1)), 8) for p, q in ((A, B), (A, apex), (B, apex)))
    slack = 4.0 * model.anchors.slack[cells]
    low, high = down(model.anchors.volume[cells] * (1.0 - slack), 4), up(model.anchors.volume[cells] * (1.0 + slack), 4)
    # curved.md, step 3a
    gradient = up((base * value + np.maximum(one, two) * slope) / (2.0 * down(np.sqrt(low), 2)), 8)
    return np.asarray(gradient), np.asarray(up(np.sqrt(0.5 * high) * value, 8))
