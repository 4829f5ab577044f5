"""Temperatures of bulk data, TEMP and TEMPD, against those of MAT1 at which nothing is stressed, TREF."""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.io.decks.nastran.cards import Cards
from pinnpoint.io.decks.nastran.mesh import Elements, Grids, materials_of


def read_expansion(cards: dict[str, Cards], elements: Elements) -> tuple[Vector, Vector]:
    """Thermal expansion and reference temperature of each element's material."""
    rows = [(float(card.real(5, 0.0)[0]), float(card.real(6, 0.0)[0])) for card in materials_of(cards, elements)]
    _, which = np.unique(elements.properties, return_inverse=True)
    found = np.array(rows)[which.ravel()]
    return found[:, 0], found[:, 1]


def warmth(
    cards: dict[str, Cards], grids: Grids, rows: Index, chosen: int | None, expansion: tuple[Vector, Vector]
) -> Vector | None:
    """(n,) how much warmer the nodes, rows of GRID, are than where they are free of stress; None where not at all."""
    if chosen is None:
        return None
    alpha, reference = expansion
    free = np.unique(reference[alpha != 0.0])
    if len(free) > 1:
        raise InputError(f"TEMP(LOAD) = {chosen}: materials with different TREF are not read together; give them one")
    T, default = np.full(len(grids.ids), np.nan), cards.get("TEMPD")
    found = False
    for i in range(0 if default is None else len(default)):
        words = default.take([i]) if default is not None else None
        for k in range(0, 8, 2):
            if words is not None and words.given(k)[0] and int(words.whole(k)[0]) == chosen:
                T[:], found = float(words.real(k + 1)[0]), True
    table = cards.get("TEMP")
    table = None if table is None else table.take(table.whole(0) == chosen)
    for k in (1, 3, 5) if table is not None and len(table) else ():
        assert table is not None
        here = table.take(table.given(k))
        if len(here):
            at = grids.find(here.whole(k))
            if (at < 0).any():
                raise here.refuse(int(np.argmax(at < 0)), "its node is not given")
            T[at], found = here.real(k + 1), True
    if not found:
        raise InputError(f"TEMP(LOAD) = {chosen}: the deck has no such set of TEMP or TEMPD")
    if np.isnan(T[rows]).any():
        node = int(grids.ids[rows[np.argmax(np.isnan(T[rows]))]])
        raise InputError(f"TEMP(LOAD) = {chosen}: node {node} has no temperature; give TEMPD, or TEMP for all nodes")
    theta = T[rows] - (float(free[0]) if len(free) else 0.0)
    return theta if np.any(theta) and np.any(alpha) else None
