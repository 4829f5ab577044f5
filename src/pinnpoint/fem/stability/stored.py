"""By how much a stored stiffness of linear elements can differ from the exact one: checked cell by cell."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Matrix, Vector
from pinnpoint.base.errors import CertificationError
from pinnpoint.base.threads import on_all_cores
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.stability.compared import Cells, gap, half_sums, in_order, reference, summed
from pinnpoint.fem.stability.wide import WIDE, columns, determinant, wide_gap, wide_shapes
from pinnpoint.mesh.facets import chunks
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.rounding.arithmetic import UNIT, gamma, up


def stored_error(
    mesh: Mesh,
    A: Matrix,
    lam: Vector | None,
    mu: Vector,
    mass: Matrix | None = None,
    rows: Index | None = None,
    *,
    wide: bool = False,
) -> float:
    """Upper bound of the norm of the symmetric part of A − A₀, A₀ the exact stiffness of the stored numbers.

    Gradients, the columns of N, are checked by the residual N E − I of the edge vectors E, the rows: with r its norm,
    each differs from its exact value by at most r/(1 − r) of itself. Volumes are checked by the expansion of the
    determinant. A reference is assembled from both, with every rounding counted, and A is compared with it entry by
    entry. Norms of block rows, or the means of row and column sums, bound the whole: ‖·‖₂ ≤ max_i Σ_j ‖·_ij‖; a block
    of a cell is at most V (|λ| + 2μ) |∇λ_i| |∇λ_j|.

    A reaction is a part M = A − K with nonnegative entries and weights: it is positive semidefinite but for the
    roundings of its own quadrature, of fewer than 2,000 points, and of the sums A and K.

    Parameters
    ----------
    rows
        Nodes whose rows are meant; all unless told.
    wide
        Assemble the reference in extended precision: slower, and its own rounding hardly counts. Without a mass.
    """
    d, n, count = mesh.dim, len(mesh.points), 1 if lam is None else mesh.dim
    shapes = wide_shapes(mesh) if wide else None
    errors = [shape_errors(mesh)] if shapes is None else [shape_errors(mesh, shapes), shape_errors(mesh)]
    cells = in_order(mesh)
    at_nodes = int(np.bincount(mesh.cells.ravel()).max())  # cells of a node, and of an edge
    at_edges = int(cells.shared.max())
    sums = 1.0 if mass is None else 4.0  # of the reference alone, or of A and K as well
    sums *= 4.0 * WIDE / UNIT if wide else 1.0
    many, few = (sums * gamma(shared + 12) for shared in (at_nodes, at_edges))
    at_node = _cell_errors(mesh, cells, lam, mu, errors, (many, few))
    if shapes is not None:
        beside = half_sums(wide_gap(Nodes(mesh), shapes, A, lam, mu))
    else:
        beside = gap(A, cells, reference(mesh, cells, lam, mu), mass)
    beside = beside.reshape(n, count).max(axis=1)
    at_node, beside = (at_node, beside) if rows is None else (at_node[rows], beside[rows])
    slack = 1.0 + gamma(4 * at_nodes * (d + 1) * count + 64)
    return float(up((np.max(at_node, initial=0.0) + np.max(beside, initial=0.0)) * slack, 16))


def shape_errors(mesh: Mesh, shapes: Any = None) -> tuple[Vector, Vector]:
    """Per cell: bounds of the relative errors of its gradients and of its volume, or of those given.

    In extended precision where the processor has it, so that the bounds are the errors themselves.
    """
    G, V = (mesh.gradients, mesh.volumes) if shapes is None else shapes
    found = on_all_cores(lambda part: _shape_errors(mesh, part, G[part], V[part]), chunks(len(mesh.cells)))
    slope, volume = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return slope, volume


def _shape_errors(mesh: Mesh, cells: slice, gradients: Any, V: Any) -> tuple[Vector, Vector]:
    """Sizes are in doubles, whose roundings the factors 1 + 1e-12 cover; what nearly cancels is in long ones."""
    d, wide = mesh.dim, np.longdouble
    u = float(np.finfo(wide).eps)
    P = columns(mesh.points.take(mesh.cells[cells], axis=0))
    E, N = np.subtract(P[1:], P[:1], dtype=wide), columns(gradients)
    G = N[1:].astype(wide)
    e, g = np.abs(P[1:] - P[:1]), np.abs(G).astype(float)
    r = np.zeros(P.shape[2])
    for i, j in product(range(d), repeat=2):
        image = G[0, i] * E[0, j]
        size = g[0, i] * e[0, j]
        for k in range(1, d):
            image += G[k, i] * E[k, j]
            size += g[k, i] * e[k, j]
        image -= i == j
        r += (np.abs(image.astype(float)) + 8.0 * u * size + 4.0 * u) ** 2
    r = np.sqrt(r) * (1.0 + 1e-12)
    if not float(r.max()) < 1e-3:
        raise CertificationError("coercivity: a cell is so flat that its gradients are not known; mesh again")
    first = np.sqrt((N[0] ** 2).sum(axis=0))  # is minus the rounded sum of the others
    unit = (UNIT if N.dtype == np.float64 else WIDE) * (1.0 + 1e-12)
    summed = ((d + 2) * unit * np.sqrt((N[1:] ** 2).sum(axis=1)).sum(axis=0) / first).astype(float)
    factor = {1: 1.0, 2: 2.0, 3: 6.0}[d]
    off = np.abs(np.abs(determinant(E)) - factor * V.astype(wide)).astype(float)
    volume = (off + 24.0 * u * determinant(e, 1.0)) / factor * (1.0 + 1e-12) / V.astype(float)
    if not float(volume.max()) < 1e-10:  # what `path_bound` allows for
        raise CertificationError("coercivity: a cell is so flat that its volume is not known; mesh again")
    return np.asarray(up(r / (1.0 - r) * (1.0 + 4.0 * summed) + 2.0 * summed, 32)), np.asarray(up(volume, 16))


def _cell_errors(
    mesh: Mesh,
    cells: Cells,
    lam: Vector | None,
    mu: Vector,
    errors: list[tuple[Vector, Vector]],
    sums: tuple[float, float],
) -> Vector:
    """For each node: what the roundings of gradients, volumes and sums add to its row of blocks, at most.

    `errors` are those of the reference's gradients and volumes, and those of the mesh's where these are others: sizes
    are the mesh's, and both may be too small.
    """
    (many, few), d, (slope, volume) = sums, mesh.dim, errors[0]
    weights = np.empty(cells.vertices.shape)

    def fill(part: slice) -> None:
        m, s, v = mu[part], slope[part], volume[part]
        size = m if lam is None else up(2.0 * m + np.abs(lam[part]))
        entries = m if lam is None else up(np.sqrt(d) * m + m + np.abs(lam[part]), 8)  # of |block|, Frobenius' norm
        longer, larger = (math.prod(1.0 + error[k][part] for error in errors) for k in (0, 1))
        g = np.sqrt((cells.gradients[:, :, part] ** 2).sum(axis=1)) * (1.0 + 1e-13) * longer
        wrong = up((2.0 + s) * s * (1.0 + v) + v, 16) * size  # proofs.md, step 3i
        row = (wrong + few * entries) * g.sum(axis=0) + ((many - few) * entries) * g
        weights[:, part] = up(row * g * mesh.volumes[part] * larger, 32)

    on_all_cores(fill, chunks(len(mesh.cells)))
    return summed(weights, cells.vertices, len(mesh.points))
