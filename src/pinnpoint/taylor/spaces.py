"""Monomials up to a degree in a few coordinates, and the tables to multiply them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.rounding.arithmetic import UNIT, gammas

Triples = NDArray[np.int64]

MANY = 1.0 + 4096.0 * UNIT
"""Covers the roundings of a nonnegative sum of up to 1000 terms, with room to spare."""


@dataclass(frozen=True)
class Space:
    """Monomials ξ^α, |α| ≤ q, in d coordinates, sorted by degree, and the tables to multiply them.

    With `simplex` the set Ω is 1 ≥ ξ_1 ≥ … ≥ ξ_d ≥ −1, else the whole box; ranges are sharper there.
    """

    d: int
    q: int
    simplex: bool = False

    @cached_property
    def powers(self) -> Index:
        """Exponents α, (M, d)."""
        found = [a for a in product(range(self.q + 1), repeat=self.d) if sum(a) <= self.q]
        found.sort(key=lambda a: (sum(a), tuple(-p for p in a)))
        return np.array(found, dtype=np.intp).reshape(len(found), self.d)

    @cached_property
    def degree(self) -> Index:
        """|α| of each monomial."""
        return np.asarray(self.powers.sum(axis=1), dtype=np.intp)

    @property
    def size(self) -> int:
        """Number of monomials."""
        return len(self.powers)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where the monomials of each degree stand."""
        first = np.searchsorted(self.degree, np.arange(self.q + 2))
        return tuple(slice(a, b) for a, b in pairwise(first.tolist()))

    @cached_property
    def triples(self) -> Triples:
        """(i, j, g) with ξ^{α_i} ξ^{α_j} = ξ^{α_g}, sorted by g."""
        i, j = np.nonzero(self.degree[:, None] + self.degree <= self.q)
        code = (self.powers * (self.q + 1) ** np.arange(self.d)).sum(axis=1)  # digits of which none is carried
        order = np.argsort(code)
        g = order[np.searchsorted(code, code[i] + code[j], sorter=order)]
        by = np.lexsort((i, g))
        return np.stack([i, j, g], axis=1)[by].astype(np.int64)

    @cached_property
    def ones(self) -> Vector:
        """Weight one for each triple."""
        return np.ones(len(self.triples))

    @cached_property
    def terms(self) -> Index:
        """The largest number of products that meet in a coefficient of degree k, and monomials of degree k."""
        met = np.bincount(self.triples[:, 2], minlength=self.size)
        return np.array([max(int(met[s].max()), s.stop - s.start) for s in self.slices], dtype=np.intp)

    @cached_property
    def euler(self) -> tuple[tuple[Triples, Vector], ...]:
        """For each k the triples of degree k whose first factor has degree j ≥ 1, with the weights j/k."""
        first, whole = self.degree[self.triples[:, 0]], self.degree[self.triples[:, 2]]
        chosen = [(whole == k) & (first >= 1) for k in range(self.q + 1)]
        return tuple((self.triples[c], first[c] / max(k, 1)) for k, c in enumerate(chosen))

    @cached_property
    def inner(self) -> tuple[tuple[Triples, Vector], ...]:
        """The same for 1 ≤ j < k."""
        first, whole = self.degree[self.triples[:, 0]], self.degree[self.triples[:, 2]]
        chosen = [(whole == k) & (first >= 1) & (first < k) for k in range(self.q + 1)]
        return tuple((self.triples[c], first[c] / max(k, 1)) for k, c in enumerate(chosen))

    @cached_property
    def full(self) -> tuple[tuple[Triples, Vector], ...]:
        """The same for all j, with weights one."""
        whole = self.degree[self.triples[:, 2]]
        return tuple((self.triples[whole == k], np.ones(int((whole == k).sum()))) for k in range(self.q + 1))

    @cached_property
    def charges(self) -> Vector:
        """What A_j B_k costs a product's remainder, by j + k: rounding up to q, all of it beyond."""
        return np.concatenate([gammas(self.terms + 3), np.ones(self.q)])  # taylor.md, step 1c

    @property
    def line(self) -> Space:
        """Univariate polynomials of the same order, for majorants."""
        return space(1, self.q)


@cache
def space(d: int, q: int, *, simplex: bool = False) -> Space:
    """The space with its tables, made once."""
    return Space(d, q, simplex)


POINT = space(0, 0)
"""Constants: models without coordinates."""
