"""A mesh in a notebook: numbers, groups, and a drawing of its edges."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Protocol

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.display import table

MOST = 3000
"""Edges of a drawing; beyond, only the boundary's, and of these so many."""
SIZE = 320.0
COLOURS = ("#00507a", "#d1495b", "#2e7d32", "#b8860b", "#6a4c93", "#00838f")
SPACE = np.array([[0.87, -0.5, 0.0], [0.35, 0.6, 0.72]])
"""Where three axes point to in the drawing."""


class Drawable(Protocol):
    """What is read of a mesh."""

    @property
    def dim(self) -> int: ...  # noqa: D102
    @property
    def points(self) -> Vector: ...  # noqa: D102
    @property
    def cells(self) -> Index: ...  # noqa: D102
    @property
    def boundary(self) -> Index: ...  # noqa: D102
    @property
    def cell_groups(self) -> Mapping[str, Index]: ...  # noqa: D102
    @property
    def facet_groups(self) -> Mapping[str, Index]: ...  # noqa: D102


def mesh_html(mesh: Drawable) -> str:
    """Name, numbers, groups and a drawing."""
    kind = {1: "intervals", 2: "triangles", 3: "tetrahedra"}[mesh.dim]
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    extent = " × ".join(f"[{a:.6g}, {b:.6g}]" for a, b in zip(low, high, strict=True))
    told = [("points", f"{len(mesh.points):,}"), (kind, f"{len(mesh.cells):,}"), ("extent", extent)]
    told += [(f"cells “{name}”", f"{len(rows):,}") for name, rows in mesh.cell_groups.items()]
    told += [(f"boundary “{name}”", f"{len(rows):,} facets") for name, rows in mesh.facet_groups.items()]
    return f"<p><b>Mesh</b> of {kind}</p>{table(told)}{drawing(mesh)}"


def drawing(mesh: Drawable) -> str:
    """The edges as SVG, groups of the boundary in colours."""
    if mesh.dim == 1:
        return ""
    inner = edges(mesh.cells)
    if len(inner) > MOST or mesh.dim == 3:
        inner = edges(mesh.boundary)
    flat = mesh.points if mesh.dim == 2 else mesh.points @ SPACE.T
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = SIZE / float(np.max(high - low))
    P = (flat - low) * scale + 4.0
    width, height = (high - low) * scale + 8.0
    P[:, 1] = height - P[:, 1]
    parts = [f'<path d="{_path(P, inner[:MOST])}" stroke="#b5bcc4" stroke-width="0.6" fill="none"/>']
    names = []
    for k, (name, facets) in enumerate(list(mesh.facet_groups.items())[: len(COLOURS)]):
        rows = edges(facets) if mesh.dim == 3 else facets
        if mesh.dim == 2 and len(rows) <= MOST:
            parts.append(f'<path d="{_path(P, rows)}" stroke="{COLOURS[k]}" stroke-width="1.8" fill="none"/>')
            names.append(f'<span style="color:{COLOURS[k]}">{escape(name)}</span>')
    said = f'<p style="font-size:85%">{" · ".join(names)}</p>' if names else ""
    return f'<svg width="{width:.0f}" height="{height:.0f}" role="img">{"".join(parts)}</svg>{said}'


def edges(simplices: Index) -> Index:
    """Each edge of simplices once."""
    n = simplices.shape[1]
    pairs = np.concatenate([simplices[:, [i, j]] for i in range(n) for j in range(i + 1, n)])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _path(P: Vector, rows: Index) -> str:
    """Lines between points, to a tenth of a pixel."""
    ends = P[rows].reshape(-1, 4)
    return "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in ends)
