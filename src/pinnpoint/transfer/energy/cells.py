"""What one state and one flux leave over on each cell: the numbers that every bound is made of.

A state v_h (linear or quadratic elements) with source f and flux σ in H(div) satisfies, for every w that vanishes on
the Dirichlet part, with δ = σ − κ∇v_h and ϱ = f − c v_h + ∇·σ,

    ∫ f w + ∫_N g w − a(v_h, w) = Σ_K [ (ϱ, w)_K + (δ, ∇w)_K ] + Σ_{F ⊂ Γ_N} (g − σ·n, w)_F .        (residual identity)

The flux is given by its facet densities t: σ·n = Σ_j t_j λ_j / |F|, one array for both sides, so it is in H(div) by
representation, whatever rounding went into t. On a cell with outward densities s_kj,

    σ = 1/(d|K|) Σ_ij s_ij λ_j (x − v_i),      ∇·σ = 1/(d|K|) [(d + 1) Σ_j (Σ_i s_ij) λ_j − tr s].

Everything is a quadratic in Bernstein form; an error of its coefficients is at most as large in the maximum norm.
Arrays keep the cells on the last axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import TINY, gamma, up
from pinnpoint.taylor.bernstein import gram, linear_projection, pairs
from pinnpoint.transfer.energy.geometry import Shapes

COUNT = 60
"""More than the roundings in any coefficient computed here."""


@dataclass(frozen=True, eq=False)
class State:
    """A finite-element function on a chunk of cells.

    Attributes
    ----------
    coefficients
        Bernstein coefficients, (pairs, n), as computed.
    slopes
        ∇v_h at the vertices, (d + 1, d, n).
    size
        Upper bounds of the absolute products behind the slopes, per component; each slope is true to
        ``(slack + γ) * size``.
    top
        Upper bounds of |v_h| and of its coefficients, (n,).
    blur
        Upper bounds of the rounding in the coefficients, (n,).
    """

    coefficients: Vector
    slopes: Vector
    size: Vector
    top: Vector
    blur: Vector

    @classmethod
    def of(cls, shapes: Shapes, nodal: Vector, degree: int) -> State:
        """From nodal values in the cell's order, (vertices, then midpoints of pairs j < l; n)."""
        d = shapes.d
        w, rise, b = nodal[: d + 1], {}, np.empty((len(pairs(d)), nodal.shape[1]))
        middle = d + 1
        size = np.zeros(nodal.shape[1])
        for p, (j, k) in enumerate(pairs(d)):
            if j == k:
                b[p] = w[j]
                continue
            if degree == 1:
                b[p] = 0.5 * (w[j] + w[k])
                half = 0.5 * (w[k] - w[j])
                rise[j, k], rise[k, j] = half, -half
                size = np.maximum(size, np.abs(half))
            else:
                m = nodal[middle]
                middle += 1
                b[p] = 2.0 * m - 0.5 * (w[j] + w[k])
                step = 0.5 * (w[k] - w[j])
                rise[j, k], rise[k, j] = 2.0 * (m - w[j]) - step, 2.0 * (m - w[k]) + step
                size = np.maximum(size, 2.0 * np.maximum(np.abs(m - w[j]), np.abs(m - w[k])) + np.abs(step))
        G = shapes.gradients
        count = 1 if degree == 1 else d + 1
        slopes = np.stack([2.0 * sum(rise[j, k] * G[k] for k in range(d + 1) if k != j) for j in range(count)])
        slopes = np.broadcast_to(slopes, (d + 1, *slopes.shape[1:]))
        blur = gamma(16) * np.abs(nodal).max(axis=0)
        return cls(b, slopes, up(2.0 * d * size * shapes.steep, 8), up(np.abs(b).max(axis=0) + blur, 4), blur)

    def steepest(self, shapes: Shapes) -> Vector:
        """Upper bounds of |∂_i v_h|, (d, n): slopes are linear, so that the vertices have the largest."""
        return np.asarray(up(np.abs(self.slopes).max(axis=0) + (shapes.slack + gamma(COUNT)) * self.size, 4))


@dataclass(frozen=True, eq=False)
class Remains:
    """What the residual identity leaves on each cell for one state and flux.

    Attributes
    ----------
    delta
        Bernstein coefficients of δ as computed, (pairs, d, n).
    size
        Upper bounds of κ^{-1/2}‖δ‖_K and of all sums of absolute products behind its square.
    fuzz
        Upper bounds of the rounding in δ, as κ^{-1/2}‖Δδ‖_K.
    oscillation
        Upper bounds of ‖ϱ − mean ϱ‖_K.
    defect
        Upper bounds of |∫_K ϱ|.
    data
        The part of `oscillation` and of `defect` that comes from the error of the source: (2, n).
    """

    delta: Vector
    size: Vector
    fuzz: Vector
    oscillation: Vector
    defect: Vector
    data: Vector


class Keeper(Protocol):
    """Who wants to see what a state leaves, cells by cells, while it is measured."""

    def take(self, part: slice, shapes: Shapes, state: State, left: Remains, high: Vector | float) -> None:
        """Some cells."""


def remains(
    shapes: Shapes,
    kappa: Vector,
    reaction: Vector,
    state: State,
    source: Vector,
    high: Vector,
    error1: Vector,
    error2: Vector,
    outward: Vector,
    order: int,
) -> Remains:
    """δ and ϱ of one state.

    Parameters
    ----------
    source, high, error1, error2
        The source as a `Density` on these cells, coefficients (pairs, n).
    outward
        s_kj, (d + 1, d + 1, n): densities of the outward flux at vertex j of the facet opposite k. The diagonal is
        ignored for order 1, where it is chosen to balance ϱ up to degree 1, and s_kk = s_kj for order 0.
    """
    d, n = shapes.d, kappa.size
    s, scale = outward, 1.0 / (d * shapes.volume)
    total = source - reaction * state.coefficients
    if order == 1:
        s = s.copy()
        balance(shapes, s, total)
    columns, heavy = s.sum(axis=0), np.abs(s).sum(axis=0).max(axis=0)
    slack = shapes.slack + gamma(COUNT)

    E = shapes.vertices - shapes.vertices[0]
    moments = np.einsum("ijn,icn->jcn", s, E)  # continuous.md, step 1c
    delta = np.empty((len(pairs(d)), d, n))
    half_flux = (0.5 * kappa) * state.slopes
    for p, (j, k) in enumerate(pairs(d)):
        both = columns[j] * E[k] + columns[k] * E[j] - moments[j] - moments[k]
        delta[p] = (0.5 * scale) * both - half_flux[j] - half_flux[k]  # continuous.md, step 1a
    wrong = slack * (2.0 * heavy * shapes.diameter * scale + kappa * state.size)  # continuous.md, step 8f
    vol = up(shapes.volume * (1.0 + shapes.slack), 4)
    root = np.sqrt(d * vol / kappa)
    size = up(root * (np.abs(delta).max(axis=(0, 1)) + wrong), 16)
    fuzz = up(root * wrong, 16)

    weight = np.abs(source).max(axis=0) + np.abs(reaction) * state.top
    loose = np.abs(reaction) * state.blur
    return Remains(delta, size, fuzz, *left_over(shapes, s, total, weight, loose, high, error1, error2))


def left_over(
    shapes: Shapes,
    s: Vector,
    total: Vector,
    weight: Vector,
    loose: Vector | float,
    high: Vector,
    error1: Vector,
    error2: Vector,
) -> tuple[Vector, Vector, Vector]:
    """Oscillation, defect and data of ϱ = `total` + ∇·σ, for a flux with outward densities s.

    Parameters
    ----------
    total, high, error1, error2
        What ϱ is but for ∇·σ, as a `Density` on these cells, coefficients (pairs, n).
    weight, loose
        Bounds of the sums of absolute values behind `total`, and of its rounding beyond that.
    """
    d = shapes.d
    scale = 1.0 / (d * shapes.volume)
    columns, trace = s.sum(axis=0), np.einsum("kkn->n", s)
    heavy = np.abs(s).sum(axis=0).max(axis=0)
    slack = shapes.slack + gamma(COUNT)
    vol = up(shapes.volume * (1.0 + shapes.slack), 4)
    divergence = scale * ((d + 1.0) * columns - trace)  # continuous.md, step 1c
    # continuous.md, step 1a
    rho = np.stack([total[p] + 0.5 * (divergence[j] + divergence[k]) for p, (j, k) in enumerate(pairs(d))])
    weight = weight + 2.0 * (d + 1.0) ** 2 * heavy * scale
    blur = up(slack * weight + loose, 8) + TINY  # continuous.md, step 8f
    mean = rho.mean(axis=0)
    away = rho - mean
    spread = mean_product(away, away, d)
    spread = np.sqrt(np.maximum(spread, 0.0) + gamma(COUNT) * np.abs(away).max(axis=0) ** 2 + high**2)
    data = np.stack([up(np.sqrt(vol) * error2, 4), up(vol * error1, 4)])  # continuous.md, step 8a
    return (
        np.asarray(up(np.sqrt(vol) * (spread + blur) + data[0], 8)),  # continuous.md, step 2a
        np.asarray(up(vol * (np.abs(mean) + blur) + data[1], 8)),  # continuous.md, step 2d
        data,
    )


def balance(shapes: Shapes, s: Vector, total: Vector) -> None:
    """Set the diagonal of s (the interior degrees of freedom of RT1) so that ϱ has no part of degree ≤ 1.

    Any diagonal gives a true flux. With r_j the vertex values of the linear projection of f − c v_h, this one solves
    (d + 1)(o_j + s_jj) − tr s = −d|K| r_j up to the mean, which the facets determine.
    """
    d = shapes.d
    r = np.einsum("jp,pn->jn", linear_projection(d), total)
    index = np.arange(d + 1)
    s[index, index] = 0.0
    D = -s.sum(axis=0) - (d / (d + 1.0)) * shapes.volume * r
    s[index, index] = D - D.mean(axis=0)  # continuous.md, step 1d


def inner(shapes: Shapes, kappa: Vector, one: Vector, two: Vector) -> Vector:
    """∫_K κ⁻¹ δ₁·δ₂ as computed; true to γ times the product of the two `size`."""
    total = sum(mean_product(one[:, i], two[:, i], shapes.d) for i in range(shapes.d))
    return np.asarray(total * shapes.volume / kappa)


def mean_product(one: Vector, two: Vector, d: int) -> Vector:
    """Means over the cells of products of two quadratics, (pairs, n) each.

    einsum by itself: BLAS would spread such small products over threads, which wait for each other.
    """
    return np.asarray(np.einsum("pn,pn->n", one, np.einsum("pq,qn->pn", gram(d), two)))
