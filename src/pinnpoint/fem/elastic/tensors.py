"""Components of strains and stresses, and their rows over an element's nodes."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.fields import AXES, Component, component_of, slope_rows

Pair = str | tuple[Component, Component]
"""Two axes of a tensor's component, "xy" or (0, 1), in any order."""


def voigt(d: int) -> list[tuple[int, int]]:
    """Components of a symmetric tensor in order."""
    return [(i, j) for i in range(d) for j in range(i, d)]


def pair_of(given: Any, dim: int) -> tuple[int, int]:
    """Numbers i ≤ j of a tensor's component, from "xy" or a pair of axes."""
    axes = [*AXES[:dim], *range(dim)]
    if isinstance(given, str | tuple | list) and len(given) == 2 and all(k in axes for k in given):
        i, j = sorted(component_of(k, dim) for k in given)
        return i, j
    known = ", ".join(f"'{AXES[i]}{AXES[j]}'" for i, j in voigt(dim))
    raise InputError(f"component: must be one of {known}; got {given!r}")


def tensor_rows(
    nodes: Nodes, *, cell: Index, bary: Vector, mix: Any, i: int, j: int, law: tuple[Vector, Vector] | None
) -> Any:
    """Mixed strains ε_ij at points of cells, or stresses by Lamé's (λ, μ) there, as rows over an element's nodes."""
    d = nodes.mesh.dim

    def slope(axis: int, k: int) -> Any:
        return slope_rows(nodes, cell=cell, bary=bary, axis=axis, k=k, count=d)

    shear = 0.5 * (slope(j, i) + slope(i, j))
    if law is None:
        return sp.csr_array(mix @ shear)
    found = sp.diags_array(2.0 * law[1]) @ shear
    if i == j:
        found = found + sp.diags_array(law[0]) @ sum(slope(k, k) for k in range(d))
    return sp.csr_array(mix @ found)
