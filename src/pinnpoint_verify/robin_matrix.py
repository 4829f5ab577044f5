"""∫ αφ_iφ_j over facets with numbers α, in plain floats: for comparison with stored matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint_verify.checker import areas, means, quadratic
from pinnpoint_verify.reader import Array


def robin_matrix(at: Any, facets: Array, alpha: Array, size: int) -> Any:
    """The matrix over all entries, of facets given by their vertices."""
    points = at.points if hasattr(at, "points") else at.nodes
    if not len(facets):
        return sp.csr_array((size, size))
    on, m = at.nodes_of(facets), facets.shape[1] - 1
    hats = quadratic(np.eye(on.shape[1]), m, at.degree if m else 1)[0].m
    mass = np.einsum("pjk,jklm,qlm->pq", hats, means(m, 4).m, hats)
    local = (areas(points[facets]).m * alpha)[:, None, None] * mass
    i, j = np.broadcast_to(on[:, :, None], local.shape), np.broadcast_to(on[:, None, :], local.shape)
    return sp.csr_array((local.ravel(), (i.ravel(), j.ravel())), shape=(size, size))
