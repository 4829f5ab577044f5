"""What a state and a flux leave over on each cell where A, b and c vary: `cells` with the actions of a `Medium`.

With δ = σ + q − A∇v_h and ϱ = f − (b·∇v_h + c v_h) + ∇·σ, q the part of a query's load that acts on gradients,

    ‖A^{-1/2}δ‖_K ≤ ‖Rδ‖_K ≤ ( ∫|R(σ + q − Π A∇v_h)|² + ‖R h‖² )^{1/2} + ‖R ε‖,

h what the projection Π onto quadratics leaves, which is orthogonal to them, and ε the errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.taylor.bernstein import pairs
from pinnpoint.transfer.energy.cells import COUNT, Remains, State, balance, left_over, mean_product
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.media.medium import Action

ROOM = 4.0
"""How much more than our own error of A∇u_h counts, so that another enclosure of A proves the claim too."""


@dataclass(frozen=True, eq=False)
class Given:
    """A right-hand side on some cells: a source and, for queries that act on gradients, a field.

    Attributes
    ----------
    source, high, error1, error2
        The source as a `Density` on these cells, coefficients (pairs, n).
    field, field_high, field_error1, field_error2
        The field as a `Field`, coefficients (pairs, d, n), bounds (d, n); None where there is none.
    """

    source: Vector
    high: Vector
    error1: Vector
    error2: Vector
    field: Vector | None = None
    field_high: Vector | float = 0.0
    field_error1: Vector | float = 0.0
    field_error2: Vector | float = 0.0


def varied_remains(
    shapes: Shapes, R: Vector, action: Action, given: Given, outward: Vector, order: int
) -> tuple[Remains, Vector]:
    """Rδ and ϱ of one state, and bounds of ‖R h‖_K; R is (d, d, n), `outward` as in `cells.remains`."""
    d, s, scale = shapes.d, outward, 1.0 / (shapes.d * shapes.volume)
    total = given.source - action.lower
    if order == 1:
        s = s.copy()
        balance(shapes, s, total)
    columns, heavy = s.sum(axis=0), np.abs(s).sum(axis=0).max(axis=0)
    slack = shapes.slack + gamma(COUNT)
    E = shapes.vertices - shapes.vertices[0]
    moments = np.einsum("ijn,icn->jcn", s, E)  # continuous.md, step 1c
    delta = np.empty_like(action.flux)
    for p, (j, k) in enumerate(pairs(d)):
        both = columns[j] * E[k] + columns[k] * E[j] - moments[j] - moments[k]
        delta[p] = (0.5 * scale) * both - action.flux[p]  # varying.md, step 2a
    wrong = slack * 2.0 * heavy * shapes.diameter * scale + gamma(4) * np.abs(action.flux).max(axis=0)
    high, wrong = action.flux_high, wrong + action.flux_error
    if given.field is not None:
        delta = delta + given.field  # varying.md, step 4a
        wrong = wrong + gamma(4) * np.abs(given.field).max(axis=0) + given.field_error2
        high = high + given.field_high
    size = np.abs(R)
    y = np.einsum("kin,pin->pkn", R, delta)
    behind = np.einsum("kin,in->kn", size, np.abs(delta).max(axis=0))
    loose = np.einsum("kin,in->kn", size, wrong) + gamma(d + 4) * behind
    vol = up(shapes.volume * (1.0 + shapes.slack), 4)

    def length(parts: Vector) -> Vector:
        return np.asarray(up(np.sqrt(vol * (parts * parts).sum(axis=0)), 32))

    fuzz, rest = length(loose), length(np.einsum("kin,in->kn", size, high))  # varying.md, step 2c
    weight = np.abs(given.source).max(axis=0) + np.abs(action.lower).max(axis=0)
    errors = given.error1 + action.lower_error, given.error2 + action.lower_error
    left = left_over(shapes, s, total, weight, 0.0, given.high + action.lower_high, *errors)
    return Remains(y, length(behind + loose), fuzz, *left), rest


def varied_inner(shapes: Shapes, one: Vector, two: Vector) -> Vector:
    """∫_K Rδ₁·Rδ₂ as computed; true to γ times the product of the two `size`."""
    total = sum(mean_product(one[:, i], two[:, i], shapes.d) for i in range(shapes.d))
    return np.asarray(total * shapes.volume)


def varied_weak(
    shapes: Shapes, action: Action, u: State, f: Given, z: State, w: Given | None, sign: float
) -> tuple[Vector, Vector, Vector]:
    """∫_K w u_h + q·∇u_h + sign [∫ (f − b·∇u_h − c u_h) z_h − A∇u_h·∇z_h], and bounds of its rounding and of errors.

    z_h and ∇z_h are quadratics, so what projections leave over does not enter.
    """
    d, vol = shapes.d, shapes.volume
    rest = f.source - action.lower
    total = mean_product(rest, z.coefficients, d)
    wide = np.abs(f.source).max(axis=0) + np.abs(action.lower).max(axis=0)
    flux = np.abs(action.flux).max(axis=0).sum(axis=0)
    slack = 3.0 * (shapes.slack + gamma(COUNT))
    wrong = slack * (wide * z.top + flux * z.size) + z.blur * wide
    off = (f.error1 + action.lower_error) * z.top + ROOM * (action.flux_error * z.steepest(shapes)).sum(axis=0)
    for i in range(d):
        total = total - mean_product(action.flux[:, i], _along(z, i), d)
    total = sign * total  # varying.md, step 3a
    if f.field is not None:
        more, blur, unknown = against_slopes(shapes, f, z)
        total, wrong, off = total + sign * more / vol, wrong + blur / vol, off + unknown / vol  # lift.md, step 13b
    if w is not None:
        top = np.abs(w.source).max(axis=0)
        total = total + mean_product(w.source, u.coefficients, d)  # continuous.md, step 3a
        wrong = wrong + slack * top * u.top + u.blur * top
        off = off + w.error1 * u.top
        if w.field is not None:
            more, blur, unknown = against_slopes(shapes, w, u)
            total, wrong, off = total + more / vol, wrong + blur / vol, off + unknown / vol  # varying.md, step 4a
    return total * vol, np.asarray(up(wrong * vol, 16)), np.asarray(up(off * vol * (1.0 + 4.0 * shapes.slack), 16))


def against_slopes(shapes: Shapes, given: Given, v: State) -> tuple[Vector, Vector, Vector]:
    """∫_K q·∇v_h, and bounds of its rounding and of what q's error does; what projections leave is orthogonal."""
    assert given.field is not None
    d, vol = shapes.d, shapes.volume
    total = sum(mean_product(given.field[:, i], _along(v, i), d) for i in range(d))
    slack = 3.0 * (shapes.slack + gamma(COUNT))
    wrong = slack * np.abs(given.field).max(axis=0).sum(axis=0) * v.size
    off = (given.field_error1 * v.steepest(shapes)).sum(axis=0) * (1.0 + 4.0 * shapes.slack)
    return np.asarray(total * vol), np.asarray(up(wrong * vol, 16)), np.asarray(up(off * vol, 16))


def pushed(shapes: Shapes, kappa: Vector, left: Remains, given: Given) -> tuple[Remains, Vector]:
    """What a state leaves where κ is a number on each cell and its load acts on gradients too; bounds of ‖h‖_K/√κ."""
    assert given.field is not None
    vol = up(shapes.volume * (1.0 + shapes.slack), 4)
    delta = left.delta + given.field  # lift.md, step 13b
    wrong = gamma(4) * np.abs(given.field).max(axis=0) + gamma(4) * np.abs(left.delta).max(axis=0) + given.field_error2

    def length(parts: Vector | float) -> Vector:
        return np.asarray(up(np.sqrt(vol / kappa * np.square(parts).sum(axis=0)), 32))

    fuzz = up(left.fuzz + length(wrong), 4)
    size = up(length(np.abs(delta).max(axis=0)) + fuzz, 4)
    return replace(left, delta=delta, size=size, fuzz=fuzz), length(given.field_high)


def _along(v: State, axis: int) -> Vector:
    """Bernstein coefficients of a derivative, from its vertex values."""
    s = v.slopes[:, axis]
    return np.stack([0.5 * (s[j] + s[k]) for j, k in pairs(len(s) - 1)])
