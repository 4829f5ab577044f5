"""Reactions as `monotone` sees them: their densities, a linearisation m ≥ 0, and what that leaves over.

For the cubic, m = 3λu_h². For any other nondecreasing g, m is a number μ ≥ 0 on each cell, g′ at the middle of the
state's range there, and, with e = u − u_h,

    |q| = |g(u) − g(u_h) − μe| ≤ osc |e| + ½ sup|g″| e²,     osc = sup |g′ − μ| over the cell's range,

where sup|g″| is over the values between u and u_h. With ‖eG‖₂ ≤ A t as in `remainder`,

    |∫qG| ≤ A η (‖osc‖₂ + ½ sup|g″| C₂ η).

*Range of u.* In one dimension |e| ≤ C η. Else, where the fluxes given are zero, u ≤ M for every M ≥ 0 that is at least
the Dirichlet data and has c M + g(M) ≥ f: test with (u − M)⁺. Where all of ∂Ω is Dirichlet and M ≥ 0 bounds the data,
−∇·(κ∇u) ≤ s = (sup f − c M − g(M))⁺ where u > M, so u ≤ M + sR²/(2d min κ), R the radius of the ball with Ω's volume
(Talenti). From below, the same holds for −u and −g(−u).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.formulas.signs import bounds
from pinnpoint.rounding.arithmetic import at_most, down, gamma, norm_up, sum_up, up
from pinnpoint.systems.semilinear.reaction import Reaction
from pinnpoint.taylor.bernstein import Density, from_linear, from_quadratic, pairs
from pinnpoint.taylor.inputs import fixed
from pinnpoint.taylor.simplices import density, enclose
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.continuum import Continuum, bernstein
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.energy.norms import PI_DOWN, Norms, faces_of
from pinnpoint.transfer.energy.products import combined, square_times, square_times_linear
from pinnpoint.transfer.nonlinear.remainder import amplitude, remainder

ROOM = 1e-6
"""How much wider ranges and bounds are taken than they were found, so that another program finds them too."""
FAR = 1e-2
"""Of the source's range, by which both ends are moved where u is compared with it: another program needs room."""
PIECES = 64
"""Of the range of u, on each of which g″ is bounded: products of bounds on all of it may be far too large."""


@dataclass(frozen=True, eq=False)
class Left:
    """What is left of g about a state: |g(u) − g(u_h) − μe| ≤ off |e| + ½ bend e² for values of u in a range.

    Attributes
    ----------
    slopes, off
        μ and sup|g′ − μ| on each cell, (C,).
    bend, low, high
        Upper bound of |g″| between two numbers, which u and u_h lie between; they are infinite where it holds always.
    """

    slopes: Vector
    off: Vector
    bend: float
    low: float
    high: float


class Term(Protocol):
    """A nondecreasing reaction."""

    @property
    def claim(self) -> str:
        """What makes the solution unique, in words."""
        ...

    @property
    def fall(self) -> float:
        """γ ≥ 0, where the derivative is at least −γ."""
        ...

    def values(self, w: Vector) -> Density:
        """The density g(u_h) on every cell, from vertex values."""
        ...

    def size(self, w: Vector) -> Vector:
        """Upper bounds of |g(u_h)| on the cells."""
        ...

    def simple(self, values: Density, w: Vector) -> Density:
        """The density of g(u_h) with bounds that are easy to check, for its product with a kernel."""
        ...

    def on_density(self, w: Vector, given: Density) -> Density:
        """The product of m and a density, on all cells."""
        ...

    def on_state(self, w: Vector, z: Vector) -> Density:
        """The product of m and the linear function with vertex values z."""
        ...

    @property
    def at_zero(self) -> tuple[float, float]:
        """The reaction at zero and a bound of its error."""
        ...

    def rest(
        self, model: Continuum, norms: Norms, state: Vector, eta: float, beside: float, z: Vector, eta_z: float
    ) -> tuple[float, float]:
        """Upper bounds of ∫q⁺G and ∫q⁻G; `beside` bounds ‖vΦ‖₂ by ‖v‖_a."""
        ...


@dataclass(frozen=True, eq=False)
class CubicTerm:
    """λu³ with λ ≥ 0 on each cell."""

    cubic: Vector
    claim: str = "κ, c ≥ 0 and λ ≥ 0 are constant on each cell; the reaction λu³ is monotone, so u is unique"
    fall: float = 0.0

    def values(self, w: Vector) -> Density:
        """λu_h³."""
        return square_times_linear(w, self.cubic, w)  # continuous.md, step 10a

    def size(self, w: Vector) -> Vector:
        """λ max|u_h|³."""
        return np.asarray(up(self.cubic * np.abs(w).max(axis=1) ** 3, 8))

    def simple(self, values: Density, w: Vector) -> Density:
        """u_h³ is quadratic up to (u_h − mean)³, which is at most the range cubed."""
        return replace(values, high=np.asarray(up(self.cubic * np.ptp(w, axis=1) ** 3, 8)))

    def on_density(self, w: Vector, given: Density) -> Density:
        """3λu_h² times it."""
        near = slice(None) if given.cells is None else given.cells
        return square_times(w[near], 3.0 * self.cubic[near], given).on_all(len(w))

    def on_state(self, w: Vector, z: Vector) -> Density:
        """3λu_h² z."""
        return square_times_linear(w, 3.0 * self.cubic, z)

    @property
    def at_zero(self) -> tuple[float, float]:
        """Nothing."""
        return 0.0, 0.0

    def rest(
        self, model: Continuum, norms: Norms, state: Vector, eta: float, beside: float, z: Vector, eta_z: float
    ) -> tuple[float, float]:
        """See `remainder`."""
        return remainder(norms, self.cubic, state, eta, beside, z, eta_z)


@dataclass(frozen=True, eq=False)
class ReactionTerm:
    """g, a formula whose derivative is proved to be nonnegative, or at least −γ."""

    g: Reaction
    quadratic: int = 0
    """The dimension where states are quadratic; zero where they are linear."""

    @property
    def claim(self) -> str:
        """Of the derivative."""
        if self.fall > 0.0:
            return f"κ and c are constant on each cell; g′ ≥ −{self.fall:.6g} is proved on the real line"
        return "κ and c ≥ 0 are constant on each cell; g′ ≥ 0 is proved on the real line, so u is unique"

    @cached_property
    def fall(self) -> float:
        """γ; infinite where none is proved."""
        found = bounds(self.g.first)
        if found is None or found[0] == -math.inf:
            return math.inf
        return 0.0 if found[0] >= 0 else float(up(float(-found[0])))  # indefinite.md, step 6a

    def values(self, w: Vector) -> Density:
        """The density of g over the values of the state, in which every cell is affine."""
        if self.quadratic:
            return density(composed(self.g.g, self.quadratic), nodal_simplices(w, self.quadratic))
        m = w.shape[1] - 1
        V = np.zeros((*w.shape, max(1, m)))
        V[:, :, 0] = w
        return density(self.g.g, V)

    def size(self, w: Vector) -> Vector:
        """The supremum over the cell's range."""
        return supremum(self.g.g, self._ranges(w))[0]

    def simple(self, values: Density, w: Vector) -> Density:
        """As it is."""
        return values

    def slopes(self, w: Vector) -> Vector:
        """μ: g′ at the middle of the range, and not below zero."""
        w = self.coefficients(w)
        middle = 0.5 * (w.min(axis=1) + w.max(axis=1))
        least = -self.fall if self.fall > 0.0 else 0.0
        return np.maximum(self.g.values("first", middle, None)[0], least)  # continuous.md, step 10l

    def on_density(self, w: Vector, given: Density) -> Density:
        """μ times it."""
        return combined([(self.slopes(w), given.on_all(len(w)))])

    def on_state(self, w: Vector, z: Vector) -> Density:
        """μz."""
        blur = np.asarray(up(gamma(16 if self.quadratic else 4) * np.abs(z).max(axis=1)))
        b = from_quadratic(z, self.quadratic) if self.quadratic else from_linear(z)
        return combined([(self.slopes(w), Density(b, np.zeros(len(z)), blur, blur))])

    def coefficients(self, w: Vector) -> Vector:
        """Numbers between which a state lies on each cell: its values at vertices, or Bernstein's coefficients."""
        if not self.quadratic:
            return w
        b = from_quadratic(w, self.quadratic)
        blur = up(gamma(16) * np.abs(w).max(axis=1, keepdims=True))
        return np.concatenate([b - blur, b + blur], axis=1)

    def _ranges(self, w: Vector) -> Vector:
        w = self.coefficients(w)
        return np.stack([w.min(axis=1), w.max(axis=1)], axis=1)[:, :, None]

    @property
    def at_zero(self) -> tuple[float, float]:
        """Enclosed like any other value."""
        value, error = enclose(self.g.g, np.zeros((1, 1)))
        return float(value[0]), float(error[0])

    def rest(
        self, model: Continuum, norms: Norms, state: Vector, eta: float, beside: float, z: Vector, eta_z: float
    ) -> tuple[float, float]:
        """As in the module's text, the same from both sides."""
        A = amplitude(norms, beside, self.coefficients(z[model.cell_nodes]) if self.quadratic else z, eta_z)
        left = self.left(model, norms, state, eta)
        volume = up(model.topology.volumes * (1.0 + model.anchors.slack), 4)
        spread = norm_up(up(left.off * up(np.sqrt(volume)), 4))
        # continuous.md, step 10l
        both = at_most(float(up(A * eta * (spread + 0.5 * left.bend * norms.second * eta), 32)))
        return both, both

    def left(self, model: Continuum, norms: Norms, state: Vector, eta: float) -> Left:
        """What the slopes μ leave of g about a state, with room for another program's roundings."""
        w, seen = state[model.cell_nodes], self.seen(model)
        mu = self.slopes(w)
        off = self.off(w, mu)
        off = np.asarray(up(off * (1.0 + ROOM) + ROOM**2 * float(np.max(np.abs(mu), initial=0.0))))
        whole = bounds(self.g.second)
        most = math.inf if whole is None else float(max(abs(x) for x in whole))
        plain = seen.d == 1 or all(fixed(given) is not None for _, given in seen.neumann)
        try:
            low, high = self._range(model, norms, state, eta) if plain or most == math.inf else (-math.inf, math.inf)
        except InputError:
            if most == math.inf:
                raise
            low, high = -math.inf, math.inf
        if not math.isfinite(high - low):
            return Left(mu, off, float(up(most * (1.0 + ROOM))), low, high)  # indefinite.md, step 8a
        more = ROOM * max(abs(low), abs(high))
        low, high = float(-up(more - low)), float(up(high + more))
        ends = np.linspace(low, high, PIECES + 1)
        bend = min(float(self.g.top(ends[:-1], ends[1:]).max()), most)  # continuous.md, step 10m
        return Left(mu, off, float(up(bend * (1.0 + ROOM))), low, high)

    def seen(self, model: Continuum) -> Continuum:
        """The problem that u itself solves, which has g(u)."""
        return model

    def off(self, w: Vector, mu: Vector) -> Vector:
        """Upper bounds of |g′ − μ| on the cells."""
        # continuous.md, step 10l
        return supremum(self.g.first, self._ranges(w), minus=np.repeat(mu[:, None], len(pairs(1)), axis=1))[0]

    def ends(self, model: Continuum, state: Vector) -> tuple[float, float, Vector]:
        """Bounds of a state, and of its Dirichlet values."""
        values = self.coefficients(state[model.cell_nodes]) if self.quadratic else state
        facets = model.topology.facets[model.dirichlet_facets()]
        data = (
            bernstein(state[model.nodes_of(facets)], model.d - 1, model.degree).ravel()
            if self.quadratic
            else (state[np.unique(facets)] if facets.size else np.zeros(0))
        )
        return float(values.min()), float(values.max()), data

    def _range(self, model: Continuum, norms: Norms, state: Vector, eta: float) -> tuple[float, float]:
        low, high, data = self.ends(model, state)
        if model.d == 1:
            far = norms.top * eta * (1.0 + 1e-3)
            return float(-up(far - low)), float(up(high + far))  # continuous.md, step 10m
        model = self.seen(model)
        least, most = model.range
        least, most = least - FAR * (most - least), most + FAR * (most - least)
        top = self._ceiling(model, norms, data, most, 1.0)
        bottom = self._ceiling(model, norms, -data, -least, -1.0)
        if not (math.isfinite(top) and math.isfinite(bottom)):
            raise InputError(
                "target: the range of the solution was not bounded, which the continuous target of a general reaction "
                "needs in two and three dimensions: give Dirichlet data on the whole boundary, let the fluxes be zero "
                "and g grow beyond the source, or take a box of one diffusion. None is needed where g″ is bounded on "
                f"the real line, which of g″ = {self.g.second.text[:80]} was not proved: sin and tanh are such, and a "
                "sigmoid is 0.5 + 0.5*tanh(u/2). Or say target='discrete'"
            )
        return min(low, -bottom), max(high, top)

    def _ceiling(self, model: Continuum, norms: Norms, data: Vector, load: float, side: float) -> float:
        """An upper bound of side · u, for the mirrored reaction −g(−u) where side is −1."""
        least = least_reaction(model)

        def lift(M: float) -> float:
            value, error = enclose(self.g.g, np.array([[side * M]]))
            return float(down(down(side * value[0] - error[0]) + down(least * M)))

        def first(load: float) -> float:
            """M ≥ 0 above the data with cM + g(M) ≥ load."""
            tried = (float(start + step) for step in (0.0, *np.geomspace(2.0**-10, 2.0**20, 140)))
            return next((M for M in tried if lift(M) >= load), math.inf)  # continuous.md, step 10m

        start = max(0.0, float(np.max(data, initial=-math.inf)))
        if all(fixed(g) == (0.0, 0.0) for _, g in model.neumann):
            found = first(load)
        else:
            found = self._pushed(model, norms, side, start, load, (first, lift))
        if held_all_around(model):
            s = max(0.0, float(up(load - lift(start))))
            found = min(found, float(up(start + s * height(model, norms), 32)))  # continuous.md, step 10m
        return found

    def _pushed(self, model: Continuum, norms: Norms, side: float, start: float, load: float, ways: Any) -> float:
        """The same in a box with fluxes, where κ is one number: quadratics of one coordinate carry them."""
        faces, kappa = faces_of(model), float(model.kappa.min())
        plain = model.medium is None and np.all(model.kappa == kappa) and norms.fall == 0.0
        if faces is None or not plain or not along_axes(model):
            return math.inf
        first, lift = ways
        widths = model.points.max(axis=0) - model.points.min(axis=0)
        G = fluxes(model, side)
        bent, raised = up(2.0 * G / down(widths)), up(G * up(widths) / (4.0 * kappa))  # indefinite.md, step 8b
        found = [first(float(up(max(0.0, load) + float(bent.sum())))) + float(raised.sum())]
        for j in np.flatnonzero(faces > 0):
            rest = np.arange(model.d) != j
            F = max(0.0, float(up(load - lift(start)))) + float(bent[rest].sum())
            own = F * up(widths[j] ** 2) / (2.0 * kappa) + G[j] * up(widths[j]) / kappa
            found.append(start + own + float(raised[rest].sum()))  # indefinite.md, step 8b
        return float(up(min(found), 32))


def along_axes(model: Continuum) -> bool:
    """Whether vertices of periodic pairs differ in one coordinate alone: then sums of functions of one are periodic."""
    if model.gluing is None:
        return True
    apart = model.points[model.gluing.second] != model.points[model.gluing.first]
    return bool(np.all(apart.any(axis=1).sum(axis=1) == 1))  # indefinite.md, step 11c


def held_all_around(model: Continuum) -> bool:
    """Whether values are given on the whole boundary; a glued domain is no part of space."""
    outside = model.topology.facet_cells[:, 1] < 0
    return model.gluing is None and bool(np.all(model.kind[outside] == DIRICHLET))


def least_reaction(model: Continuum) -> float:
    """A lower bound of c."""
    return float(model.reaction.min()) if model.medium is None else model.medium.least_reaction


def fluxes(model: Continuum, side: float) -> Vector:
    """Upper bounds of side · g_N, and not below zero, on the faces of a box across each axis."""
    found = np.zeros(model.d)
    for facets, given in model.neumann:
        V = model.points[model.topology.facets[facets]]
        known = fixed(given)
        if known is not None:
            bound = np.full(len(V), up(max(0.0, side * known[0]) + known[1]))
        else:
            bound = supremum(given, V)[0]
        for axis in range(model.d):
            here = np.all(V[:, :, axis] == V[:, :1, axis], axis=1)
            found[axis] = max(found[axis], float(np.max(bound[here], initial=0.0)))
    return found


def height(model: Continuum, norms: Norms) -> float:
    """K ≥ sup v, where −∇·(κ∇v) ≤ 1 + γv and v vanishes on all of ∂Ω."""
    whole, kappa, d = (
        sum_up(up(model.topology.volumes * (1.0 + model.anchors.slack))),
        float(model.kappa.min()),
        model.d,
    )
    size = whole / {1: 2.0, 2: PI_DOWN, 3: PI_DOWN}[d]
    square = {1: size * size, 2: size, 3: (0.75 * size) ** (2.0 / 3.0)}[d]
    found = square / (2.0 * d * kappa)  # continuous.md, step 10m
    if norms.fall > 0.0:
        R = math.sqrt(square)
        constant = {
            1: whole**1.5 / (4.0 * math.sqrt(3.0)),
            2: R / math.sqrt(8.0 * PI_DOWN),
            3: math.sqrt(R / (12.0 * PI_DOWN)),
        }[d]
        # indefinite.md, step 6d
        found = found + norms.fall * up(constant, 16) * math.sqrt(whole) * norms.second**2 / (kappa * norms.slope)
    return float(up(found, 32))


def composed(g: Expression, d: int) -> Expression:
    """A formula of barycentric coordinates and node values: g of the quadratic with these values at its nodes."""
    t, w = [f"t{i}" for i in range(d + 1)], [f"w{i}" for i in range(len(pairs(d)))]
    ends = [(i, j) for i, j in pairs(d) if i < j]
    terms = [f"{w[i]}*{t[i]}*(2*{t[i]}-1)" for i in range(d + 1)]
    terms += [f"4*{w[d + 1 + k]}*{t[i]}*{t[j]}" for k, (i, j) in enumerate(ends)]
    return parse(re.sub(r"\bu\b", f"({'+'.join(terms)})", g.text), (*t, *w), name="g")  # indefinite.md, step 9a


def nodal_simplices(w: Vector, d: int) -> Vector:
    """Simplices whose coordinates are barycentric ones and, the same at all vertices, the values at the nodes."""
    V = np.empty((len(w), d + 1, d + 1 + w.shape[1]))
    V[:, :, : d + 1] = np.eye(d + 1)
    V[:, :, d + 1 :] = w[:, None, :]
    return V
