"""What fluxes are to be near where coefficients vary, and loads that act on gradients. Nothing here is proved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import from_linear, gram, linear_projection, pairs
from pinnpoint.transfer.energy.cells import State
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.media.coefficients import Field
from pinnpoint.transfer.media.medium import CHUNK, Medium


def targets(
    medium: Medium,
    topology: Topology,
    nodes: Index,
    degree: int,
    nodal: Vector,
    fields: Sequence[Field | None],
    *,
    transposed: bool,
) -> tuple[Vector, Vector]:
    """A∇v_h − q, as vertex values of its linear projection or as means (C, d + 1 or 1, d, m), and the lower order.

    The latter are β of b·∇v_h + c v_h, or of its transpose, (C, pairs, m).
    """
    d, C, m = medium.d, len(nodes), len(nodal)
    flux, lower = np.empty((C, d + 1 if degree == 2 else 1, d, m)), np.empty((C, len(pairs(d)), m))
    whole = [None if q is None else q.on_all(C).coefficients for q in fields]
    for a in range(0, C, CHUNK):
        part = slice(a, min(a + CHUNK, C))
        shapes = Shapes.of(topology.points, topology.cells[part])
        for i in range(m):
            state = State.of(shapes, nodal[i][nodes[part]].T, degree)  # varying.md, step 2d
            action = medium.act(part, shapes, state, transposed=transposed)
            q = whole[i]
            F = action.flux if q is None else action.flux - np.moveaxis(q[part], 0, -1)
            if degree == 2:
                flux[part, :, :, i] = np.einsum("jp,pcn->njc", linear_projection(d), F)
            else:
                flux[part, 0, :, i] = F.mean(axis=0).T
            lower[part, :, i] = action.lower.T
    return flux, lower


def against_gradients(topology: Topology, nodes: Index, size: int, table: Vector, field: Field) -> Vector:
    """∫ q·∇φ_i for every degree of freedom; `table` holds the Bernstein coefficients of the nodal basis."""
    d = topology.dim
    which = slice(None) if field.cells is None else field.cells
    moments = np.einsum("jp,npc->njc", from_linear(np.eye(d + 1)) @ gram(d), field.coefficients)
    square = np.zeros((len(table), d + 1, d + 1))
    for p, (j, k) in enumerate(pairs(d)):
        square[:, j, k] = square[:, k, j] = table[:, p]
    # ∇ Σ β_jk λ_j λ_k = 2 Σ_j λ_j Σ_k β_jk ∇λ_k
    local = 2.0 * np.einsum("ijk,nkc,njc->ni", square, topology.gradients[which], moments, optimize=True)
    local *= topology.volumes[which, None]
    return np.bincount(nodes[which].ravel(), local.ravel(), minlength=size).astype(np.float64)
