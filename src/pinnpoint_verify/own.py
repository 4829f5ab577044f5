"""Data of a bundle, from the case's formulas: stored quadratics stay, their error bounds are replaced by proved ones.

Part of the proof (docs/checking.md, section 2). Where a formula has a kink inside a cell, where a prediction was lifted
or where nothing is known of the data, the stored bounds stay: they are declared, and compared with samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint_verify.checker import Ball, Density, Side, mix
from pinnpoint_verify.enclosures import enclosed, largest, pairs
from pinnpoint_verify.networks import Left
from pinnpoint_verify.reader import Array, larger, smaller
from pinnpoint_verify.rows import is_number

Row = dict[str, Any]
CREDIT = 8.0
"""Beside kinks and singularities stored bounds count unless proved ones exceed them by this, and by a hundredth of the
data."""


def wanted(rows: list[Row]) -> float:
    """How small errors of the data are to be, relative to the data, so that they are lost in the claimed radii."""
    shares = [row["radius"] / larger(abs(row["center"]), row["radius"]) for row in rows if row["radius"]]
    return float(np.clip(1e-7 * smaller(shares, default=1.0), 1e-14, 1e-9))


def source_bounds(p: Side, texts: list[Any], region: Array, close: float) -> Array:
    """Replace the bounds of f − λu_h³ on cells of groups with formulas; which cells keep what was stored."""
    mesh = p.mesh
    full, high, e1, e2 = p.source.on(0, mesh.C)
    rest, kept = np.stack([high, e1, e2], axis=1), np.ones(mesh.C, dtype=bool)
    for k, text in enumerate(texts):
        cells = np.nonzero(region == k)[0]
        if text is None or not len(cells) or (mesh.degree == 2 and np.any(mesh.cubic[cells])):
            continue
        rest[cells], kept[cells] = data_bounds(
            text, mesh.points[mesh.cells[cells]], full[cells], rest[cells], close, p, cells
        )
    p.source = replaced(p.source, np.arange(mesh.C), full, rest)
    return kept


def load_bounds(p: Side, texts: list[Any], groups: list[Array], close: float) -> Array:
    """Replace the bounds of Neumann and Robin data on facets of groups; which facets keep what was stored."""
    mesh, kept = p.mesh, np.ones(len(p.mesh.facets), dtype=bool)
    if p.load is None:
        return kept
    full, high, e1, e2 = p.load.on(0, len(mesh.facets))
    rest = np.stack([high, e1, e2], axis=1)
    for text, facets in zip(texts, groups, strict=True):
        if text is not None and len(facets):
            V = mesh.points[mesh.facets[facets]]
            rest[facets], kept[facets] = data_bounds(text, V, full[facets], rest[facets], close)
    p.load = replaced(p.load, p.load.at, full, rest[p.load.at])
    return kept


def data_bounds(
    text: Any, V: Array, full: Array, stored: Array, close: float, p: Side | None = None, cells: Any = None
) -> tuple[Array, Array]:
    """Bounds on simplices, and which keep those that were stored."""
    if isinstance(text, Left):
        return text.bounds(V, full, stored[:, 1]), np.zeros(len(V), dtype=bool)
    bent = p is not None and bool(np.any(p.mesh.cubic[cells]))
    if is_number(text) and not bent and np.all(full == float(text)):
        return np.zeros_like(stored), np.zeros(len(V), dtype=bool)
    bend: Any = None
    if bent:
        assert p is not None
        u, factor = p.nodal[p.mesh.nodes_of(p.mesh.cells[cells])], p.mesh.cubic[cells]

        def bend(at: Array, L: Array) -> Ball:
            v = mix("nj,nqj->nq", u[at], L)
            return -(v * v * v * Ball(factor[at, None]))

    found, rough = enclosed(text, V, full, close, 3 if bent else 0, bend)
    most = CREDIT * stored + np.array([0.1, 0.01, 0.01]) * float(np.abs(full).max(initial=0.0))
    kept = rough & np.any(found > stored, axis=1) & np.all(found <= most, axis=1)  # checking.md, step 4c
    return np.where(kept[:, None], stored, found), kept


def replaced(old: Density, at: Array, full: Array, rest: Array) -> Density:
    """The same coefficients with other bounds."""
    own = object.__new__(Density)
    j, k = np.array(pairs(old.m)).T
    own.m, own.at, own.beta, own.rest = old.m, at, full[at][:, j, k], rest
    return own


def held_gap(text: Any, V: Array, b: Array, most: float) -> float:
    """Upper bound of |g − u_h| on facets."""
    if isinstance(text, Left):
        return text.top(V, b, larger(most, text.close))
    return largest(text, V, b, larger(most, 4e-15 * float(np.abs(b).max(initial=0.0))))


def kept_below(text: Any, V: Array, b: Array, tops: Array) -> bool:
    """Whether |g − u_h| is below the bounds `tops` (n,) on facets, but for rounding."""
    size = float(np.abs(b).max(initial=0.0)) + 1e-290
    return largest(text, V, b, np.maximum(tops * (1.0 + 1e-9), 1e-12 * size)) <= 1.0
