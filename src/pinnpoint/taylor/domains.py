"""Where a formula is undefined on simplices.

The arguments of its partial functions are enclosed on each simplex. One that keeps inside the domain of its function,
up to the rounding of the argument, is settled; one that is outside at a vertex or everywhere, or a divisor that changes
its sign, proves the formula undefined. The others are cut into children, the likeliest first. A pole that is still not
ruled out on simplices of 2^−DEPTH of the size counts as found: there the divisor is zero as far as floats tell. A root,
arcsine or positive power whose argument only touches the border of its domain is let pass: nothing is proved of it, and
its models have infinite remainders there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, attributes
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.rounding.arithmetic import UNIT
from pinnpoint.taylor import functions
from pinnpoint.taylor.formulas import PARTIAL, walk
from pinnpoint.taylor.geometry import Simplices, coordinates, path_order
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.remainders import FLOOR
from pinnpoint.taylor.spaces import space

ORDER = 2
"""Degree of the models."""
DEPTH = 40
KEPT = 512
"""Simplices that are looked into further, at each level."""
CHUNK = 8192
LAST_PLACES = 8.0
"""Half units in the last place by which a mesh's vertices may be off."""


@dataclass(frozen=True, eq=False)
class Argument:
    """What one partial function asks of its argument: 0 < low ≤ a, or a ≥ 0 for roots, or a ≠ 0 for divisors."""

    what: str
    kind: str
    low: Vector
    high: Vector
    centre: Vector
    slip: Vector


@dataclass
class Watched:
    """The partial functions of a formula, in the order of its program, on N elements."""

    N: int
    found: list[Argument] = field(default_factory=list)

    def watch(self, what: str, a: Sequence[TaylorModel], made: TaylorModel) -> None:
        """Take note of the argument that decides, shifted so that the border of the domain is zero."""
        one = constant(1.0)
        if what == "/":
            self._add(what, "divisor", a[1])
        elif what == "tan":
            self._add(what, "divisor", functions.cos(a[0]))
        elif what == "**":
            self._power(a[0], a[1])
        elif what in ("asin", "acos"):
            self._add(what, "root", one - a[0])
            self._add(what, "root", one + a[0])
        else:
            self._add(what, "root" if what == "sqrt" else "positive", a[0])

    def _power(self, a: TaylorModel, b: TaylorModel) -> None:
        exponent = float(b.C.flat[0]) if b.C.size == 1 and not b.e.any() else None
        if exponent is not None and exponent == round(exponent):
            if exponent < 0.0:
                self._add("**", "divisor", a)
        else:
            rising = bool(np.all(b.bounds[0] >= -1024.0 * UNIT * b.norm - FLOOR))  # to rounding; then 0 is allowed
            self._add("**", "root" if rising else "positive", a)

    def _add(self, what: str, kind: str, a: TaylorModel) -> None:
        slip = 1024.0 * UNIT * (a.norm + (1.0 if what in ("asin", "acos") else 0.0)) + FLOOR
        columns = (np.broadcast_to(v, self.N) for v in (*a.bounds, a.C[0], slip))
        self.found.append(Argument(what, kind, *columns))


def require_defined(f: Expression, vertices: ArrayLike, name: str) -> None:
    """Refuse a formula that is undefined somewhere on simplices (N, m + 1, d), and say where."""
    V = np.asarray(vertices, dtype=np.float64)
    if not partial(f) or not V.size or _in_box(f, V):
        return
    simplices, owner = Simplices(V, np.zeros((len(V), V.shape[2]))), np.arange(len(V))
    slips: list[Vector] | None = None
    for _ in range(DEPTH + 1 if V.shape[1] > 1 else 1):
        found = _arguments(f, simplices)
        slips = [a.slip for a in found] if slips is None else slips
        _require_at_vertices(f, name, simplices[~np.all([_inside(a) for a in found], axis=0)])
        sure = [_inside(a, slip[owner]) for a, slip in zip(found, slips, strict=True)]
        left = np.flatnonzero(~np.all(sure, axis=0))
        if not left.size:
            return
        chosen = left[np.argsort(_distance(found, sure)[left], kind="stable")[:KEPT]]
        last, owner = simplices[chosen], np.repeat(owner[chosen], 2**simplices.m)
        simplices = last.children()
    doubtful = [a for a, ok in zip(found, sure, strict=True) if a.kind != "root" and np.any(_finite(a) & ~ok)]
    if doubtful:
        raise _refusal(f, name, doubtful[0].what, last.vertices[0].mean(axis=0), "cannot be shown to be defined near")


def partial(f: Expression) -> bool:
    """Whether anything in a formula may be undefined; divisors and exponents that are plain numbers may not."""
    for (before, number), (_, what) in zip([("", None), *f.program], f.program, strict=False):
        harmless = before == "number" and (number > 0.0 if what == "/" else what == "**" and number % 1.0 == 0.0)
        if what in PARTIAL and not harmless:
            return True
    return False


def _in_box(f: Expression, V: Vector) -> bool:
    """Whether the formula is defined on the whole bounding box."""
    low, high = V.reshape(-1, V.shape[2]).min(axis=0), V.reshape(-1, V.shape[2]).max(axis=0)
    S, X = space(V.shape[2], ORDER), []
    for k, (a, b) in enumerate(zip(low, high, strict=True)):
        C = np.zeros((S.size, 1))
        C[0], C[1 + k] = 0.5 * (a + b), 0.5 * (b - a)
        X.append(TaylorModel(S, C, np.array([4.0 * UNIT * (abs(a) + abs(b))])))
    watched = Watched(1)
    walk(f, X, watched.watch)
    return all(bool(_inside(a)[0]) for a in watched.found)


def _arguments(f: Expression, simplices: Simplices) -> list[Argument]:
    """The arguments of all partial functions on each simplex."""
    parts = []
    for start in range(0, len(simplices), CHUNK):
        part = simplices[slice(start, start + CHUNK)]
        watched = Watched(len(part))
        walk(f, coordinates(part, path_order(part.vertices), ORDER if part.m else 0), watched.watch)
        parts.append(watched.found)
    joined = []
    for same in zip(*parts, strict=True):
        ends = [attributes(a, "low", "high", "centre", "slip").values() for a in same]
        columns = [np.concatenate(part) for part in zip(*ends, strict=True)]
        kind = "positive" if any(a.kind == "positive" for a in same) else same[0].kind
        joined.append(Argument(same[0].what, kind, *columns))
    return joined


def _inside(a: Argument, slip: Vector | float = 0.0) -> Any:
    """Where the argument is inside the domain; that of a root may seem to be outside by its slip."""
    if a.kind == "root":
        return a.low >= -slip
    return a.low > 0.0 if a.kind == "positive" else (a.low > 0.0) | (a.high < 0.0)


def _finite(a: Argument) -> Any:
    return np.isfinite(a.low) & np.isfinite(a.high)


def _distance(found: list[Argument], sure: list[Any]) -> Vector:
    """How far the arguments in doubt are inside their domains at the centres: the likeliest places come first."""
    with np.errstate(all="ignore"):
        size = [np.abs(a.centre) if a.kind == "divisor" else a.centre for a in found]
        return np.asarray(np.min([np.where(ok, np.inf, d) for d, ok in zip(size, sure, strict=True)], axis=0))


def _require_at_vertices(f: Expression, name: str, simplices: Simplices) -> None:
    """Refuse where an argument is outside at a vertex, known to a few units in its last place, or changes sign."""
    N, m = len(simplices), simplices.m
    if not N:
        return
    points = simplices.vertices.reshape(-1, 1, simplices.vertices.shape[2])
    slack = np.repeat(simplices.slack, m + 1, axis=0) + LAST_PLACES * UNIT * np.abs(points[:, 0])
    for a in _arguments(f, Simplices(points, slack)):
        known = _finite(a)
        bad = known & (a.high < 0.0 if a.kind == "root" else ~_inside(a))
        if bad.any():
            raise _refusal(f, name, a.what, points[int(np.argmax(bad)), 0], "is undefined, to rounding, at")
        if a.kind == "divisor":
            up, down = ((known & side).reshape(N, m + 1).any(axis=1) for side in (a.low > 0.0, a.high < 0.0))
            if (up & down).any():
                corners = simplices.vertices[int(np.argmax(up & down))]
                raise _refusal(f, name, a.what, corners.mean(axis=0), "is undefined near")


def _refusal(f: Expression, name: str, what: str, where: Vector, how: str) -> InputError:
    label = f.name if f.name != "expression" else name
    word = {"/": "a division", "**": "a power"}.get(what, what)
    shown = f.text if len(f.text) <= 60 else f.text[:57] + "..."
    at = [float(f"{v:.6g}") for v in where.tolist()]
    return InputError(
        f"{label} '{shown}': not defined everywhere; {word} {how} {at}. Write a formula that is defined on the whole "
        "mesh, for example with max(…) around the argument"
    )
