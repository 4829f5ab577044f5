"""Facets of simplices, numbered by sorting; a facet's key is one number whose order is that of its sorted vertices."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.threads import on_all_cores

CHUNK = 8192
"""Cells that are worked on at a time, to stay in cache."""


def chunks(count: int) -> list[slice]:
    """Ranges of `CHUNK` cells that cover so many."""
    return [slice(a, min(a + CHUNK, count)) for a in range(0, count, CHUNK)]


def facet_keys(facets: Index, n: int) -> Any:
    """The keys of facets (F, d) of a mesh of n points, their vertices in any order."""
    return _joined(_ascending(list(facets.T)), n)


def facet_table(cells: Index, n: int) -> tuple[Any, Any, Any]:
    """All facets once (sorted vertices), the facet opposite each cell vertex, and how many cells each one has.

    Facets ascend. Row k of the second holds the facets opposite the vertices d − k.
    """
    d = cells.shape[1] - 1
    unique, opposite, count = _numbered(cells, n, list(combinations(range(d + 1), d)))
    return _split(unique, n, d), opposite, count


def edge_table(cells: Index, n: int) -> tuple[Any, Any, Any]:
    """All edges once, (E, 2), smaller vertex first, the edges of each cell, and how many cells each one has.

    Edges ascend. Rows of the second are the pairs of combinations(range(d + 1), 2).
    """
    unique, edge, count = _numbered(cells, n, list(combinations(range(cells.shape[1]), 2)))
    return _split(unique, n, 2), edge, count


def _numbered(cells: Index, n: int, faces: list[tuple[int, ...]]) -> tuple[Any, Any, Any]:
    """Keys of the cells' faces, each once and ascending; the number of each cell's; and how many cells each one has."""
    C = len(cells)
    small = np.int32 if len(faces) * C < 2**31 else np.int64
    keys = np.empty((len(faces), C), dtype=_key_type(n, len(faces[0])))

    def fill(part: slice) -> None:
        vertices = np.ascontiguousarray(cells[part].T)
        for k, local in enumerate(faces):
            keys[k, part] = _joined(_ascending([vertices[j] for j in local]), n)

    on_all_cores(fill, chunks(C))
    flat = keys.ravel()
    order = _argsort(flat)
    ordered = flat.take(order)
    new = np.zeros(len(order), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    number = np.empty(keys.shape, dtype=small)
    number.ravel()[order] = np.cumsum(new, dtype=small)
    new[:1] = True
    start = np.flatnonzero(new)
    return ordered[start], number, np.diff(start, append=len(order)).astype(small)


def both(opposite: Index, values: Vector, count: int) -> tuple[Any, Any]:
    """Of each of `count` facets the values (d + 1, C) of its first and its last cell, which may be one."""
    first, last = (np.zeros(count, dtype=values.dtype) for _ in range(2))
    for facets, given in zip(opposite, values, strict=True):
        last[facets] = given  # of several values the last one stays
    for facets, given in zip(opposite[::-1], values[::-1], strict=True):
        first[facets[::-1]] = given[::-1]
    return first, last


def sides(cells: Index, negative: Mask) -> Any:
    """Which side of its facets, in the order of `facet_table`, each cell lies on.

    The side of a facet with ascending vertices that a further vertex lies on is the sign of the cell's determinant
    with its vertices so ordered, that one last: a transposition for each pair out of order.

    Parameters
    ----------
    cells
        (C, d + 1).
    negative
        Whether a cell's determinant is.
    """
    C, d = len(cells), cells.shape[1] - 1
    found = np.empty((d + 1, C), dtype=bool)

    def fill(part: slice) -> None:
        vertices = np.ascontiguousarray(cells[part].T)
        swapped = {(i, j): vertices[i] > vertices[j] for i, j in combinations(range(d + 1), 2)}
        odd = np.logical_xor.reduce([negative[part], *swapped.values()])
        for k in range(d + 1):
            v = d - k
            later = [swapped[j, v] if j < v else ~swapped[v, j] for j in range(d + 1) if j != v]
            found[k, part] = np.logical_xor.reduce([odd, *later])

    on_all_cores(fill, chunks(C))
    return found


def _ascending(columns: list[Any]) -> list[Any]:
    """Columns with every row in order, by exchanges of neighbours."""
    for last in range(len(columns) - 1, 0, -1):
        for i in range(last):
            a, b = columns[i : i + 2]
            columns[i : i + 2] = np.minimum(a, b), np.maximum(a, b)
    return columns


def _key_type(n: int, d: int) -> Any:
    return object if n**d >= 2**62 else np.int64


def _joined(columns: list[Any], n: int) -> Any:
    key = columns[0].astype(_key_type(n, len(columns)))
    for column in columns[1:]:
        key = key * n + column
    return key


def _split(keys: Index, n: int, d: int) -> Any:
    """The facets (F, d) of keys."""
    facets = np.empty((len(keys), d), dtype=np.int32 if n < 2**31 else np.int64)
    for i in reversed(range(1, d)):
        above = keys // n
        facets[:, i] = keys - above * n
        keys = above
    facets[:, 0] = keys
    return facets


def _argsort(keys: Index) -> NDArray[np.intp]:
    """As np.argsort, by sorts of numbers that carry their places along where these fit into 63 bits: twice as fast.

    First by the upper bits of the keys, then by the rank of these and the lower bits.
    """
    place, size = len(keys).bit_length(), 0 if keys.dtype == object else int(keys.max(initial=0)).bit_length()
    once = size + place <= 63
    lower = 0 if once else 63 - 2 * place
    if keys.dtype == object or lower < 0 or size - lower + place > 63:
        return np.argsort(keys)
    packed = keys >> lower
    packed <<= place
    packed |= np.arange(len(keys))
    packed.sort()
    if not once:
        order = packed & ((1 << place) - 1)
        packed >>= place
        new = packed[1:] != packed[:-1]
        np.cumsum(new, out=packed[1:])  # ranks
        packed[:1] = 0
        packed <<= lower
        packed |= keys.take(order) & ((1 << lower) - 1)
        packed <<= place
        packed |= order
        packed.sort()
    packed &= (1 << place) - 1
    return np.asarray(packed)
