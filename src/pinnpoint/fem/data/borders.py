"""Which cells have the same coefficients and sources; borders between others may be curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index
from pinnpoint.mesh.mesh import Mesh

PER_CELL = ("diffusion", "reaction", "source", "convection", "young", "poisson", "expansion")
FEW = 32
"""More values than so many are a picture or a field, not bodies with borders."""


def bodies(mesh: Mesh, given: Mapping[str, Any]) -> Index:
    """A number for each cell: the same where all tables by groups, and values by cells that are few, are the same."""
    label = np.zeros(len(mesh.cells), dtype=np.intp)
    for name in PER_CELL:
        what = given.get(name)
        mark = np.zeros(len(mesh.cells), dtype=np.intp)
        if isinstance(what, Mapping):
            kinds = list(dict.fromkeys(map(repr, what.values())))
            for group, value in what.items():
                mark[mesh.cells_of(group)] = kinds.index(repr(value))
        elif isinstance(what, np.ndarray) and what.ndim == 1:
            mark = np.unique(what, return_inverse=True)[1].reshape(-1)
        if mark.max(initial=0) < FEW:
            label = np.unique(FEW * label + mark, return_inverse=True)[1].reshape(-1)
    return label
