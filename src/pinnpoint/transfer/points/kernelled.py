"""Point values and ball averages with kernels: the mollifiers and data terms of all of them, made together."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.taylor.bernstein import Density
from pinnpoint.transfer.points.data_term import data_terms
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.mollifier import densities
from pinnpoint.transfer.points.work import Work


@dataclass(frozen=True, eq=False)
class Kernelled:
    """A query before its mollifier w and its data term ∫ fΦ.

    Attributes
    ----------
    small, tolerance
        The errors that w and ∫ fΦ may have.
    f
        The source in the ball.
    outlook, spent
        What was to be expected beforehand, and what may be spent.
    """

    kernel: Kernel
    x0: Vector
    small: float
    f: Any
    tolerance: float
    outlook: str
    spent: Work

    __repr__ = brief


def completed(
    points: Vector, cells: Index, waiting: Sequence[Kernelled]
) -> Iterator[tuple[Density, float, float, bool]]:
    """w, ∫ fΦ, a bound of its error, and whether that is proved, of each query.

    Mollifiers of one shape are made together, and so are the models of one source.
    """
    mollifiers, terms = dict[int, Density](), dict[int, tuple[float, float, bool]]()
    for some in _alike([one.kernel.profile for one in waiting]):
        these = [waiting[i] for i in some]
        kernels, X, spent = [q.kernel for q in these], np.array([q.x0 for q in these]), [q.spent for q in these]
        made = densities(kernels, points, cells, X, [q.small for q in these], spent)  # continuous.md, step 8c
        mollifiers.update(zip(some, made, strict=True))
    for some in _alike([id(one.f) for one in waiting]):
        these = [waiting[i] for i in some]
        kernels, X, spent = [q.kernel for q in these], np.array([q.x0 for q in these]), [q.spent for q in these]
        data = data_terms(kernels, these[0].f, X, [q.tolerance for q in these], spent)  # continuous.md, step 4b
        terms.update(zip(some, data, strict=True))
    return ((mollifiers[i], *terms[i]) for i in range(len(waiting)))


def _alike(keys: Sequence[Hashable]) -> list[list[int]]:
    """Numbers of those with the same key."""
    found: dict[Hashable, list[int]] = {}
    for i, key in enumerate(keys):
        found.setdefault(key, []).append(i)
    return list(found.values())
