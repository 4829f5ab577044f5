"""What a predicted displacement leaves of given ones: exactly nothing, a formula, or a refusal."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.fem.data.held import Held
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.formulas.vanishing import Polynomial, TooLongError, atom, minus, number, plus, restricted, times
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.vector_lifts import VectorLift


def left_of(mesh: Mesh, part: Held, lift: VectorLift) -> list[Any]:
    """G − u on a held part, by components: zero where that is proved, else a formula; None where it is free."""
    found: list[Any] = []
    for c, (g, u) in enumerate(zip(part.given, lift.parts, strict=True)):
        if g is None:
            found.append(None)
        elif not len(part.facets) or _met(mesh.points[part.facets], g, u):
            found.append(0.0)
        else:
            found.append(_difference(part, c, g, u, mesh))
    return found


def _met(V: Vector, g: Any, u: Lift) -> bool:
    """Whether u = g on facets with these vertices (n, d, d) by exact arithmetic."""
    if callable(g) and not isinstance(g, Expression):
        return False
    try:
        return all(not _rest(place, g, u) for place in _places(V))  # lift.md, step 7
    except TooLongError:
        return False


def _rest(place: list[Polynomial], g: Any, u: Lift) -> Polynomial:
    """What the prediction with its factor and offset leaves of g on a flat set, with the sign turned."""
    p = u.prediction
    if isinstance(p, MLP):
        found = atom("network")
        for x in place if p.factor == "unit-box" else []:
            found = times(times(x, minus(number(1), x)), found)
    else:
        found = _on(p, place)
    found = found if u.factor is None else times(_on(u.factor, place), found)
    found = found if u.offset is None else plus(_on(u.offset, place), found)
    return minus(found, _on(g, place))


def _on(f: Any, place: list[Polynomial]) -> Polynomial:
    return restricted(f, place) if isinstance(f, Expression) else number(float(f))


def _places(V: Vector) -> list[list[Polynomial]]:
    """The coordinates on each of the planes along axes that hold facets, and on each other facet."""
    d = V.shape[2]
    flat = np.ptp(V, axis=1) == 0.0
    level = flat.any(axis=1)
    axis = np.argmax(flat[level], axis=1)
    planes = {(int(k), float(x)) for k, x in zip(axis, V[level, 0, axis], strict=True)}
    found = [[number(x) if c == k else atom("x", c) for c in range(d)] for k, x in sorted(planes)]
    return found + [_spanned(v) for v in V[~level]]


def _spanned(v: Vector) -> list[Polynomial]:
    """x_c = v_0c + Σ s_i (v_ic − v_0c)."""
    exact = [[Fraction(x) for x in row] for row in v.tolist()]
    found = []
    for c in range(v.shape[1]):
        x = number(exact[0][c])
        for i, row in enumerate(exact[1:]):
            x = plus(x, times(number(row[c] - exact[0][c]), atom("s", i)))
        found.append(x)
    return found


def _difference(part: Held, c: int, g: Any, u: Lift, mesh: Mesh) -> Expression:
    """The formula g − u; networks, and data that are no formulas, are refused."""
    label = f"fixed[{c}] '{part.group}'"
    if isinstance(u.prediction, MLP) or (callable(g) and not isinstance(g, Expression)):
        X = mesh.points[np.unique(part.facets)]
        off = float(np.max(np.abs(u.value(X) - (g(X) if callable(g) else g))))
        raise InputError(
            f"lift: on '{part.group}' the prediction is not proved to have the given displacement along {'xyz'[c]} (it "
            f"is {off:.2g} away at nodes); make it do so by formulas, VectorLift(network, factor=…, offset=…) with a "
            "factor that vanishes there and an offset that has the given values, or certify without the lift"
        )
    text = _text(u.prediction)
    text = text if u.factor is None else f"({u.factor.text})*({text})"
    text = text if u.offset is None else f"({u.offset.text})+({text})"
    return parse(f"({_text(g)})-({text})", name=label)


def _text(f: Any) -> str:
    """A formula's text, or all digits of a number."""
    return f.text if isinstance(f, Expression) else format(Decimal(float(f)), "f")
