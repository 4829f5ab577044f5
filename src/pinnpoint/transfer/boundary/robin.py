"""Robin facets, κ∂_n u + αu = g: what they take of a state, and what a flux leaves there.

The energy has ∫ α v w on these facets, and the residual identity (see `cells`) the term (g − αv_h − σ·n, w)_F. The
data depends on the state, and the flux is made for it as for any other prescribed flux. What is left of it, G, costs
on a facet with α ≥ ω > 0 at most ω^{-1/2}‖G‖_F ‖√α w‖_F, and these squares add to those of the cells; or, as on
Neumann facets, what the trace inequality and the paths say. The smaller counts, cell by cell (docs/robin.md proves it).

With convection the dual asks for g − (α + b·n)z_h on such a facet (see `outflow`), and its energy has α + ½b·n ≥ α.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.claims import Claim
from pinnpoint.formulas.expressions import Expression
from pinnpoint.formulas.signs import nonnegative_on
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import TINY, UNIT, down, gamma, up
from pinnpoint.taylor.bernstein import Density, gram
from pinnpoint.taylor.inputs import fixed
from pinnpoint.taylor.simplices import density
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.boundary.facets import FacetLoad, Left, measures, trace
from pinnpoint.transfer.energy.products import LOOSE, multiplied, projected

NEAR = 1e-3
"""How closely the least value of a coefficient is bounded, relative to its range."""


@dataclass(frozen=True, eq=False)
class Exchange:
    """α on boundary facets.

    Attributes
    ----------
    facets, vertices, nodes
        As in `FacetLoad`; facets ascend.
    alpha
        α over these facets.
    weight
        Proved lower bounds ω ≥ 0 of α on each facet.
    top
        Upper bounds of α.
    """

    facets: Index
    vertices: Index
    nodes: Index
    alpha: Density
    weight: Vector
    top: Vector

    __repr__ = brief

    def wanted(self, load: FacetLoad | None, nodal: Vector, degree: int) -> FacetLoad:
        """The difference g − αv_h on all facets with data: the flux that a state asks for."""
        taken = times(self.alpha, nodal[self.nodes], self.vertices.shape[1] - 1, degree)
        if load is None:
            return FacetLoad(self.facets, self.vertices, self.nodes, _negative(taken))
        facets = np.union1d(self.facets, load.facets)
        mine, given = np.searchsorted(facets, self.facets), np.searchsorted(facets, load.facets)
        g = _spread(load.density, given, len(facets))
        v = _spread(taken, mine, len(facets))
        slip = 2.0 * UNIT * (np.abs(g.coefficients).max(axis=1) + np.abs(v.coefficients).max(axis=1))
        left = Density(
            g.coefficients - v.coefficients,  # robin.md, step 1b
            np.asarray(up(g.high + v.high)),
            np.asarray(up(g.error1 + v.error1 + slip)),
            np.asarray(up(g.error2 + v.error2 + slip)),
            None,
            g.proved and v.proved,
        )
        vertices = np.empty((len(facets), self.vertices.shape[1]), dtype=np.intp)
        nodes = np.empty((len(facets), self.nodes.shape[1]), dtype=np.intp)
        vertices[mine], nodes[mine] = self.vertices, self.nodes
        vertices[given], nodes[given] = load.vertices, load.nodes
        return FacetLoad(facets, vertices, nodes, left)

    def on_all(self, count: int) -> Vector:
        """ω on every facet of the mesh."""
        weight = np.zeros(count)
        weight[self.facets] = self.weight
        return weight

    def grip(self, points: Vector, topology: Topology) -> Vector:
        """A lower bound of ω|F| of the best facet of each cell; zero where there is none."""
        area, slack = measures(points[self.vertices])
        found = np.zeros(len(topology.cells))
        held_by = np.maximum(down(self.weight * area * (1.0 - slack), 8), 0.0)
        np.maximum.at(found, topology.facet_cells[self.facets, 0], held_by)  # robin.md, step 2c
        return found

    def claims(self) -> list[Claim]:
        """What is known of α."""
        low, high = float(self.weight.min()), float(self.top.max())
        if not self.alpha.proved:
            return [Claim("Robin coefficient: an opaque function; its sign and integrals are estimated", "declared")]
        return [Claim(f"Robin coefficient: proved to lie between {low:.6g} and {high:.6g}, and not below zero")]

    def energy(self, points: Vector, top: Vector) -> Vector:
        """Upper bounds of ∫ α v² on each facet for node values of at most `top`, (all degrees of freedom,)."""
        area, slack = measures(points[self.vertices])
        most = 3.0 * np.abs(top)[self.nodes].max(axis=1)  # shape functions add up to at most 3 in absolute value
        return np.asarray(up(self.top * area * (1.0 + slack) * most**2, 16))  # robin.md, step 4c


@dataclass(frozen=True, eq=False)
class Gaps:
    """What a flux leaves on the facets with ω > 0: G = quadratic + rest, weighed with ω^{-1/2}.

    Attributes
    ----------
    cell
        The cell of each facet.
    scale
        |F|/ω as computed.
    quadratic
        Bernstein coefficients, (n, pairs).
    square, size, fuzz
        ∫ quadratic²/ω as computed, an upper bound of its root and of the rounding behind it, and of the rest's norm.
    trace
        What the facet costs on its cell by the trace inequality instead.
    slack
        Relative errors of the areas.
    """

    cell: Index
    scale: Vector
    quadratic: Vector
    square: Vector
    size: Vector
    fuzz: Vector
    trace: Vector
    slack: Vector

    @classmethod
    def of(cls, left: Left, weight: Vector) -> Gaps:
        """From what a flux leaves on all facets with data, and ω there; facets with ω = 0 are left out."""
        on = np.flatnonzero(weight > 0.0)
        m = left.dim
        beta, scale = left.gap[on], left.area[on] / weight[on]
        square = np.einsum("np,pq,nq->n", beta, gram(m), beta, optimize=True) * scale  # robin.md, step 2a
        root = np.sqrt(up(scale * (1.0 + left.slack[on]), 4))
        return cls(
            left.cell[on],
            scale,
            beta,
            square,
            np.asarray(up(root * np.abs(beta).max(axis=1), 8)),
            np.asarray(up(root * (left.blur[on] + left.high[on] + left.error2[on]), 8)),
            left.cost[on],
            left.slack[on],
        )

    def product(self, other: Gaps) -> Vector:
        """∫ G₁G₂/ω of the quadratics as computed; true to γ times the product of the two `size`."""
        m = {1: 0, 3: 1, 6: 2}[self.quadratic.shape[1]]
        both = np.einsum("np,pq,nq->n", self.quadratic, gram(m), other.quadratic, optimize=True)
        return np.asarray(both * self.scale)

    def on_cells(self, count: int, s: float, other: Gaps | None, product: Vector | None) -> tuple[Vector, Vector]:
        """For s G₁ ± G₂/s: by cells, the sums of what facets cost by the trace, and of squares by the weight."""
        square, size, fuzz = self.square * (s * s), s * self.size, s * self.fuzz
        cost = s * self.trace
        if other is not None and product is not None:  # the product comes with its sign
            square = square + 2.0 * product + other.square / (s * s)  # robin.md, step 3b
            size, fuzz, cost = size + other.size / s, fuzz + other.fuzz / s, cost + other.trace / s
        N = np.sqrt(np.maximum(square, 0.0) + 4.0 * (self.slack + gamma(80)) * size * size) + fuzz
        N2 = up(N * N, 32)  # robin.md, step 2b
        costs, squares = (up(np.bincount(self.cell, a, minlength=count), 8) for a in (up(cost, 16), N2))
        return costs, squares


def held(left: Left, weight: Vector) -> Left:
    """The same with means of w that are bounded by ω where that is less than by paths."""
    on = weight > 0.0
    low = down(np.where(on, weight, 1.0) * left.area * (1.0 - left.slack), 8)
    way = np.where(on, up(1.0 / np.sqrt(low), 4), np.inf)  # robin.md, step 2c
    return replace(left, how_far=np.minimum(left.how_far, way))


def exchange(
    facets_with: Sequence[tuple[Index, Any]], points: Vector, facets: Index, nodes_of: Any, names: Sequence[str] = ()
) -> Exchange | None:
    """From facet numbers and the coefficient on them, proved nonnegative; None where there is none.

    Parameters
    ----------
    facets
        Vertices of all facets of the mesh.
    nodes_of
        Degrees of freedom of facets given by their vertices.
    names
        Of the coefficients, for refusals.
    """
    found = [(f, a, k) for k, (f, a) in enumerate(facets_with) if len(f) and fixed(a) != (0.0, 0.0)]
    if not found:
        return None
    parts, lows = [], []
    for f, a, k in found:
        V = points[facets[f]]
        parts.append(density(a, V))  # continuous.md, step 8a
        lows.append(least(a, V, parts[-1], names[k] if names else "robin"))
    numbers = np.concatenate([f for f, _, _ in found])
    order = np.argsort(numbers)
    alpha = Density(
        np.concatenate([p.coefficients for p in parts])[order],
        np.concatenate([p.high for p in parts])[order],
        np.concatenate([p.error1 for p in parts])[order],
        np.concatenate([p.error2 for p in parts])[order],
        None,
        all(p.proved for p in parts),
    )
    vertices = facets[numbers[order]]
    low, high = (np.concatenate([pair[i] for pair in lows])[order] for i in (0, 1))
    return Exchange(numbers[order], vertices, nodes_of(vertices), alpha, low, high)


def least(given: Any, V: Vector, model: Density, name: str) -> tuple[Vector, Vector]:
    """Proved bounds 0 ≤ ω ≤ α and α ≤ top on every facet, or a refusal; of opaque functions, sampled ones."""
    known = fixed(given)
    if known is not None:
        low, high = (np.full(len(V), known[0] + s * up(known[1])) for s in (-1.0, 1.0))
    else:
        top, _ = supremum(given, V)
        high = np.asarray(up(top))
        beta = np.broadcast_to(high[:, None], model.coefficients.shape)
        below, _ = supremum(given, V, minus=np.ascontiguousarray(beta), relative=NEAR)  # top − α ≥ 0
        low = high - np.asarray(up(below)) - 2.0 * UNIT * high  # robin.md, step 1c
    bad = low < 0.0
    if bad.any():
        low_box, high_box = V.min(axis=(0, 1)), V.max(axis=(0, 1))
        if not (isinstance(given, Expression) and nonnegative_on(given, low_box, high_box)):
            k = int(np.argmin(low))
            raise InputError(
                f"{name}: the coefficient must be ≥ 0, and the bound that is proved near {V[k].mean(axis=0).tolist()} "
                f"is {float(low[k]):.3g}; give one that is positive, or a formula whose terms show that it is not "
                "negative"
            )
        low = np.where(bad, 0.0, low)  # robin.md, step 1c
    if not np.all(np.isfinite(high)):
        raise InputError(f"{name}: the coefficient could not be bounded on its group; is it defined there?")
    return low, high


def times(alpha: Density, w: Vector, m: int, degree: int) -> Density:
    """α v_h on facets, from the nodal values w of the state on each.

    With α = p + h + ε, p v_h is a quartic; the mean of v_h times h is orthogonal to quadratics as h is, and the rest of
    v_h h, and v_h ε, count as errors.
    """
    v = trace(w, m, degree)
    blur = gamma(16) * np.abs(w).max(axis=1)
    a = alpha.coefficients
    size, top = np.abs(a).max(axis=1), up(np.abs(v).max(axis=1) + blur)
    mean = v.mean(axis=1)
    spread = up(np.abs(v - mean[:, None]).max(axis=1) + blur)
    even = bool(np.all(a == a[:, :1]))
    if even or m == 0:
        none = np.zeros(len(a))
        product = Density(a[:, :1] * v, none, none, none)
        slip = up(size * (2.0 * UNIT * top + blur) + TINY)
    else:
        product = projected(multiplied(a, v, m, 2, 2), m, 4, np.asarray(up(LOOSE * size * top + size * blur + TINY)))
        slip = np.zeros(len(a))
    return Density(
        product.coefficients,
        np.asarray(up(product.high + np.abs(mean) * alpha.high)),
        np.asarray(up(product.error1 + slip + spread * alpha.high + top * alpha.error1, 8)),  # robin.md, step 1b
        np.asarray(up(product.error2 + slip + spread * alpha.high + top * alpha.error2, 8)),
        None,
        alpha.proved,
    )


def _negative(a: Density) -> Density:
    return Density(-a.coefficients, a.high, a.error1, a.error2, None, a.proved)


def _spread(a: Density, at: Index, count: int) -> Density:
    return Density(a.coefficients, a.high, a.error1, a.error2, at, a.proved).on_all(count)
