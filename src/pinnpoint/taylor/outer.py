"""Products of models in one coordinate each, as models in both."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np

from pinnpoint.base.arrays import Index
from pinnpoint.rounding.arithmetic import TINY, UNIT
from pinnpoint.taylor.models import TaylorModel, settled
from pinnpoint.taylor.spaces import MANY, space


def outer(x: TaylorModel, y: TaylorModel, i: Index, j: Index) -> TaylorModel:
    """x_i(ξ) y_j(η) for pairs of elements (i, j) of two models in one coordinate, cut at their degree.

    The remainder is that of a product: each coefficient is rounded once, and what is cut off is a sum over degrees
    that is formed for all elements at once.
    """
    q = x.space.q
    S = space(2, q)
    with np.errstate(all="ignore"):
        C = x.C[S.powers[:, 0]][:, i] * y.C[S.powers[:, 1]][:, j]
        A, B = np.abs(x.C), np.abs(y.C)
        weights = np.where(np.add.outer(np.arange(q + 1), np.arange(q + 1)) > q, 1.0, UNIT)
        cut = A.T @ (weights @ B)  # taylor.md, step 1c
        size, other = x.norm, y.norm
        incoming = np.outer(x.e, other + y.e) + np.outer(size, y.e)
        e = ((cut + np.where(np.isnan(incoming), np.inf, incoming)) * MANY + TINY)[i, j]
    return settled(S, C, e)


def sum_of(models: Sequence[TaylorModel]) -> TaylorModel:
    """Their sum."""
    return reduce(add, models)
