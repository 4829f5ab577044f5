"""Point values where coefficients vary inside cells: the ellipsoid, the density and the integral of the data.

See docs/kernels.md. κ(x) with second derivatives, or a matrix with first ones; b(x) with first ones; any c(x).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.bent.maps import Bends
from pinnpoint.rounding.arithmetic import UNIT, at_most, up
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.branches import Bend, bends, branch
from pinnpoint.taylor.inputs import costly, enclosed, fixed, model_of
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.simplices import enclose
from pinnpoint.transfer.media.coefficients import Coefficient, Coefficients, Diffusion, Field
from pinnpoint.transfer.media.frozen import field
from pinnpoint.transfer.media.surroundings import DIGITS, Surroundings, Table
from pinnpoint.transfer.media.weights import Point
from pinnpoint.transfer.points.data_term import agreed, product_rule
from pinnpoint.transfer.points.decimals import precision
from pinnpoint.transfer.points.distances import distances, largest_ball, largest_ellipsoid
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.polar_models import against
from pinnpoint.transfer.points.work import Work

Pairs = tuple[tuple[tuple[float, float], ...], ...]
POWER = 2
"""k of the mollifier: cells that the sphere cuts cost little."""
SMALLER = (1.0, 0.9, 0.7, 0.4)
"""Shares of R that are tried until the coefficients' derivatives are bounded in the ball."""
LONGEST = 8.0
"""Balls are not taken larger than this many lengths 1/ν, beyond which e^{νR} costs digits."""
STEP, STEPS = 0.85, 24
"""Balls are made smaller by this factor, and so often at most, until κ does not bend in them."""
ILL = 1e8
"""Matrices with a larger condition number are refused."""


@dataclass(frozen=True, eq=False)
class Found:
    """u(x₀) = ∫ w u + ∫ q·∇u + value, to within the errors of all.

    Attributes
    ----------
    source, field
        w and q, of matrices that vary.
    value, error, proved
        ∫ f Ψ, a bound of its error, and whether that is proved.
    radius
        Of the ball, or of the ellipsoid |L⁻¹(x − x₀)| < R.
    potential, height
        Ψ itself where it is asked for, and a number with Ψ ≤ height · Φ, Φ the kernel for κ = 1.
    stretch
        Upper bounds of ‖L‖ and of (det L)^¼ where Φ is one of |L⁻¹(x − x₀)|.
    """

    source: Density
    field: Field | None
    value: float
    error: float
    proved: bool
    radius: float
    potential: Density | None = None
    height: float = 0.0
    stretch: tuple[float, float] = (1.0, 1.0)

    __repr__ = brief


def surroundings_at(coefficients: Coefficients, cell: int, x0: Vector, name: str) -> Surroundings:
    """The coefficients about a point of a cell."""
    region = int(coefficients.regions[cell])
    kappa, matrix, table = _diffusion(coefficients.diffusion[region], x0, name)
    b = coefficients.convection[region]
    drift = None if b is None or all(fixed_zero(v) for v in b) else tuple(_formula(v, "convection", name) for v in b)
    c, at = coefficients.reaction[region], tuple(map(float, x0))
    if not (isinstance(kappa, Expression) and bends(kappa)):
        return Surroundings(at, kappa, matrix, drift, c, table)
    smooth = branch(kappa, [constant(v) for v in at])  # kernels.md, step 4e
    if isinstance(smooth, Bend):
        raise _bent(name, kappa, smooth, x0, 0.0)
    return Surroundings(at, smooth, matrix, drift, c, table, kappa)


def reach(place: Surroundings, x0: Vector, facets: Vector, name: str = "point", moved: Vector | None = None) -> float:
    """The largest R whose ellipsoid meets none of the facets and no bend of κ, but no more than `LONGEST` lengths 1/ν.

    Whether κ bends is asked of ever smaller boxes. Facets of a curved domain are `moved` by at most so much.
    """
    if place.matrix is None and moved is not None:
        R = float((distances(x0, facets) - moved).min(initial=math.inf))  # curved.md, step 1f
    elif place.matrix is None:
        R = largest_ball(x0, facets)  # continuous.md, step 4e
    else:
        A, error = (np.array([[pair[i] for pair in row] for row in place.matrix]) for i in (0, 1))
        spread = [sum(x.size() ** 2 for row in rows for x in row) for rows in (place.local.A, place.local.inverse)]
        condition = math.sqrt(spread[0] * spread[1])
        if not condition <= ILL:
            raise InputError(f"diffusion: the matrix has the condition number {condition:.3g}; at most {ILL:g} may be")
        R = largest_ellipsoid(x0, facets, A, error)  # kernels.md, step 2b
        if moved is not None and len(moved):  # curved.md, step 1f
            R = R - float(up(moved.max() * math.sqrt(spread[1]), 8))
    nu2 = place.exponent()
    R = min(R, LONGEST / math.sqrt(nu2)) if nu2 > 0.0 else R  # kernels.md, step 4b
    if place.bent is None:
        return R
    for k in range(STEPS + 1):
        found = branch(place.bent, place.box(R))
        if found == place.kappa:
            return R  # kernels.md, step 4e
        if k < STEPS:
            R *= STEP
    assert isinstance(found, Bend)
    raise _bent(name, place.bent, found, x0, R)


def _bent(name: str, kappa: Expression, at: Bend, x0: Vector, R: float) -> InputError:
    """The refusal of a point at a bend of κ."""
    where = f"within {R:.3g} of {[round(float(v), 6) for v in x0]}" if R else f"at {[float(v) for v in x0]}"
    return InputError(
        f"query '{name}': the kernel of a point needs second derivatives of the diffusion, but {kappa.name} "
        f"'{kappa.text[:60]}' bends {where}: the argument {at.argument[:40]} of {at.what} is between {at.low:.3g} and "
        f"{at.high:.3g} there. Move the point, ask for an average, write a smooth formula, or give each side a formula "
        "of its own by groups of cells"
    )


def found(
    place: Surroundings,
    radius: float,
    points: Vector,
    cells: Index,
    volumes: Vector,
    small: float,
    f: Any,
    size: float,
    spent: Work,
    bends: Bends | None = None,
    *,
    whole: bool = False,
) -> Found:
    """The functional of a point.

    Parameters
    ----------
    radius
        R.
    points, cells, volumes
        The mesh, with lower bounds of |K|.
    small
        Wanted bound of ∫|ε| of the density.
    f, size
        The source, and the error of it that may be left to its integral.
    bends
        The map onto a curved domain, where the ball may reach into bent cells.
    whole
        Whether Ψ itself is wanted too.
    """
    for share in SMALLER:  # kernels.md, step 4d
        point = Point(place, Kernel.build(place.d, 1.0, place.exponent(), share * radius, POWER), bends)
        if share < 1.0 and not point.promising(points, cells, volumes):
            continue
        kernel = point.kernel
        w = point.density(points, cells, volumes, small)
        # kernels.md, step 6a
        q = None if place.table is None else field(point, place.table, points, cells, volumes, small)
        if bounded(w) and (q is None or bounded(q)):
            break
    tolerance = size * kernel.radius**2 / float(place.local.kappa.value)
    value, error, sure = data_term(place, kernel, f, tolerance, spent)
    if not whole:
        return Found(w, q, value, error, sure, kernel.radius)
    psi = point.potential(points, cells, volumes, small * kernel.radius**2 / float(place.local.kappa.value))
    return Found(w, q, value, error, sure, kernel.radius, psi, point.largest(1.0), _stretch(place))


def _stretch(place: Surroundings) -> tuple[float, float]:
    """Upper bounds of ‖L‖, by ‖A‖ ≤ ‖A‖_F, and of (det L)^¼; 1 where there is no matrix."""
    if place.matrix is None:
        return 1.0, 1.0
    frobenius = math.sqrt(up(sum(x.size() ** 2 for row in place.local.A for x in row), 16))  # indefinite.md, step 10d
    return float(up(math.sqrt(frobenius), 16)), float(up(math.sqrt(math.sqrt(place.local.root.size())), 16))


def averaged(
    place: Surroundings,
    radius: float,
    average: float,
    mesh: tuple[Vector, Index, Vector],
    small: float,
    f: Any,
    size: float,
    spent: Work,
    bends: Bends,
    name: str,
) -> Found:
    """The functional of an average over a ball where κ and c are numbers: a point's density times the average of h.

    Parameters
    ----------
    mesh
        Points, cells and lower bounds of |K|; the others as in `found`.
    """
    known, q = [fixed(v) for v in (place.kappa, place.reaction)], place.exponent()
    exact = all(v is not None and v[1] == 0.0 for v in known) and place.convection is None and place.matrix is None
    if not exact or Fraction(q) * Fraction(known[0][0]) != Fraction(known[1][0]):  # type: ignore[index]
        raise InputError(
            f"query '{name}': averages over balls that meet cells at a curved boundary need a diffusion and a reaction "
            "that are numbers, c/κ a float; make the radius smaller, or refine the mesh"
        )
    kernel = Kernel.build(place.d, 1.0, q, radius, POWER, average)
    plain = Kernel.build(place.d, 1.0, q, kernel.radius, POWER)
    if plain.radius != kernel.radius:
        raise InputError(f"query '{name}': the ball of radius {average:g} is many decay lengths wide; make it smaller")
    w = Point(place, plain, bends).density(*mesh, small)
    ratio = kernel.peak / plain.peak  # curved.md, step 1g
    off = float(up(1.1 * (kernel.peak_error / kernel.peak + plain.peak_error / plain.peak) + 4.0 * UNIT))
    most = float(up(ratio * (1.0 + off), 2))
    blur = up(off * most * np.abs(w.coefficients).max(axis=1), 4)
    w = Density(
        ratio * w.coefficients,
        up(most * w.high, 2),
        up(most * w.error1 + blur, 2),
        up(most * w.error2 + blur, 2),
        w.cells,
        w.proved,
    )
    tolerance = size * kernel.radius**2 / float(place.local.kappa.value)
    value, error, sure = data_term(place, kernel, f, tolerance, spent)
    return Found(w, None, value, error, sure, kernel.radius)


def bounded(given: Density | Field) -> bool:
    """Whether all errors are finite."""
    return bool(np.all(np.isfinite(given.error2)) and np.all(np.isfinite(given.high)))


def data_term(place: Surroundings, kernel: Kernel, f: Any, tolerance: float, spent: Work) -> tuple[float, float, bool]:
    """∫ f Ψ dx, a bound of the error, and whether that is proved; in polar coordinates of L⁻¹(x − x₀)."""
    at = place.local
    with precision(DIGITS):
        L = [[x.rounded() for x in row] for row in at.L]
        root = at.root.rounded()
    origin = np.zeros(place.d)

    def stretched(Y: Sequence[TaylorModel]) -> list[TaylorModel]:
        """L y."""
        if place.matrix is None:
            return list(Y)
        rows = []
        for i in range(place.d):
            total = constant(*L[i][0]) * Y[0]
            for j in range(1, i + 1):
                total = total + constant(*L[i][j]) * Y[j]
            rows.append(total)
        return rows

    def weighted(Y: Sequence[TaylorModel]) -> tuple[list[TaylorModel], TaylorModel]:
        """x, and √det A g."""
        away = stretched(Y)
        X = [constant(a) + y for a, y in zip(place.at, away, strict=True)]
        return X, constant(*root) * place.weight(place.jets(X), away)

    if not callable(f) or enclosed(f):
        known = fixed(f)

        def parts(Y: Sequence[TaylorModel], _: Any) -> tuple[TaylorModel]:
            X, g = weighted(Y)
            return (g * (constant(*known) if known is not None else model_of(f, X)),)  # kernels.md, step 5a

        if known == (0.0, 0.0):
            return 0.0, 0.0, True
        return (*against((kernel,), parts, origin, tolerance, spent, dear=costly(f)), True)

    def sampled(Y: Vector) -> Vector:
        X, g = weighted([constant(y) for y in Y.T])
        P = np.stack([np.broadcast_to(x.C[0], len(Y)) for x in X], axis=1)
        return np.asarray(np.asarray(f(P)) * np.broadcast_to(g.C[0], len(Y)), dtype=np.float64)

    value, error = agreed(lambda *sizes: product_rule(kernel, sampled, origin, *sizes), tolerance)
    return value, at_most(float(up(error + 64.0 * UNIT * abs(value)))), False


def fixed_zero(given: Coefficient) -> bool:
    """Whether a coefficient is the number 0."""
    return (not callable(given) or isinstance(given, Expression)) and fixed(given) == (0.0, 0.0)


def _diffusion(given: Diffusion, x0: Vector, name: str) -> tuple[float | Expression, Pairs | None, Table | None]:
    """κ, A at the point, and A(x) where it varies."""
    if not isinstance(given, tuple):
        return _formula(given, "diffusion", name), None, None
    d = len(x0)
    table = tuple(tuple(_formula(v, "diffusion", name) for v in row) for row in given)
    off = [table[i][j] for i in range(d) for j in range(d) if i != j]
    if all(table[i][i] == table[0][0] for i in range(d)) and all(fixed_zero(v) for v in off):
        return table[0][0], None, None
    at = tuple(tuple(_at(v, x0) for v in row) for row in table)
    if any(table[i][j] != table[j][i] for i in range(d) for j in range(i)):
        raise InputError(f"diffusion: the matrix must be symmetric; got {[[v for v, _ in row] for row in at]}")
    varies = any(fixed(v) is None for row in table for v in row)
    return 1.0, at, table if varies else None


def _at(given: float | Expression, x0: Vector) -> tuple[float, float]:
    """A coefficient at the point, and a bound of the error."""
    known = fixed(given)
    if known is not None:
        return known
    value, error = enclose(given, x0[None, :])
    return float(value[0]), float(error[0])


def _formula(given: Coefficient, what: str, name: str) -> float | Expression:
    if not callable(given) or isinstance(given, Expression):
        return given
    raise InputError(
        f"query '{name}': the {what} about a point must be a number or a formula, whose derivatives are known; got "
        f"{type(given).__name__}. Ask for averages, or say target='discrete'"
    )
