"""Verified coercivity of assembled linear elements at linear cost: paths through the mesh, minus what was rounded.

A stored matrix A differs from the exact one A₀ of the stored points and coefficients by at most δ in norm, so
A ⪰ A₀ − δ ⪰ (path bound − δ) I.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.arrays import Vector
from pinnpoint.errors import CertificationError, InputError
from pinnpoint.fem import assembly
from pinnpoint.fem.coefficients import components
from pinnpoint.fem.elements import Nodes
from pinnpoint.fem.paths import path_bound
from pinnpoint.mesh import Index, Mesh
from pinnpoint.rounding.arithmetic import UNIT, down, gamma, up
from pinnpoint.rounding.bounds import Coercivity
from pinnpoint.threads import begin, on_all_cores

HOW = "paths of cells to held facets"
WIDE = float(np.finfo(np.longdouble).eps) / 2.0
"""Unit roundoff of extended precision; that of doubles on processors without one."""
CHUNK = 8192
"""Cells that are checked at a time, to stay in cache."""


def path_coercivity(problem: Any) -> Coercivity:
    """A verified α with the problem's reduced matrix ⪰ α I, far below its smallest eigenvalue.

    Use it where factorizations are too large: ``Exact(coercivity=path_coercivity(problem), refine=True, solver=…)``;
    refined Green vectors leave defects so small that a rough α is enough.

    *Guarantee:* deterministic, for the stored matrix. *Assumes:* linear elements of `Elasticity` or of
    `ReactionDiffusion` with a scalar diffusion, some facet held in all components. *Cost:* one assembly and a few
    passes over the cells.
    """
    if getattr(problem, "degree", 1) != 1:
        raise InputError("problem: paths bound linear elements; use degree = 1")
    mesh, count = problem.mesh, problem.components
    free = np.ones(count * len(mesh.points), dtype=bool)
    if problem.space.free is not None:
        free[:] = False
        free[np.asarray(problem.space.free)] = True
    table = problem.conditions["fixed" if count > 1 else "dirichlet"]
    moving = free.reshape(-1, count).any(axis=1)
    if count > 1:
        lam, mu = problem.lame
        least, mass = energy_floor(lam, mu, count), None
    else:
        lam, mu = None, problem.diffusion
        if mu.ndim != 1:
            raise CertificationError("coercivity: paths need a scalar diffusion")
        least, mass = mu, mass_matrix(problem)
    held = held_facets(mesh, table, count) if table or count == 1 else still_facets(mesh, moving)
    rounded = begin(lambda: stored_error(mesh, problem.system.A, lam, mu, mass))
    floor = path_bound(mesh, held, least, moving, elastic=count > 1)
    loss = rounded.result()
    if loss > 0.5 * floor and mass is None and WIDE < UNIT:
        loss = stored_error(mesh, problem.system.A, lam, mu, wide=True)
    alpha = float(down(floor - loss))
    require_positive(alpha, floor)
    return Coercivity(alpha, None, None, "operator", "verified", HOW, problem.system.fingerprint)


def require_positive(alpha: float, floor: float) -> None:
    """Refuse a bound that rounding has eaten up."""
    if not alpha > 0.0:
        raise CertificationError(
            f"coercivity: paths of cells prove {floor:.2e}, which does not exceed the rounding of the assembly; verify "
            "it by factorization, or declare it"
        )


def held_facets(mesh: Mesh, table: Any, count: int) -> Index:
    """Boundary facets that are fixed in every component."""
    groups = [g for g, what in table.items() if all(f is not None for f in components(f"fixed '{g}'", what, count))]
    found = [mesh.facets(g) for g in groups if len(mesh.facets(g))]
    if not found:
        raise CertificationError("coercivity: no boundary facet is fixed in all components, so no path can start")
    return np.concatenate(found)


def still_facets(mesh: Mesh, moving: Any) -> Index:
    """Boundary facets none of whose nodes moves, for problems whose supports are given by nodes."""
    found = mesh.boundary[~np.asarray(moving)[mesh.boundary].any(axis=1)]
    if not len(found):
        raise CertificationError("coercivity: no boundary facet is fixed in all components, so no path can start")
    return np.asarray(found)


def energy_floor(lam: Vector, mu: Vector, d: int) -> Vector:
    """Κ with λ tr(ε)² + 2μ|ε|² ≥ κ|ε|²: 2μ, or 2μ + dλ where λ < 0."""
    return np.asarray(np.where(lam >= 0.0, 2.0 * mu, down(2.0 * mu + d * lam, 8)))


def mass_matrix(problem: Any) -> Any:
    """The part of a scalar problem's matrix that is not stiffness: ∫ c φ φ by its own rule, or None."""
    if problem.reaction is None and not problem.reaction_varies:
        return None
    K = assembly.scalar_matrix(assembly.stiffness(problem.nodes, problem.diffusion), assembly.pattern(problem.nodes))
    return sp.csr_array(problem.system.A - K)


def stored_error(
    mesh: Mesh, A: Any, lam: Vector | None, mu: Vector, mass: Any = None, rows: Any = None, *, wide: bool = False
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
    d, count = mesh.dim, 1 if lam is None else mesh.dim
    size = up(2.0 * mu + np.abs(lam)) if lam is not None else mu
    entries = up(np.sqrt(d) * mu + mu + np.abs(lam), 8) if lam is not None else mu  # of |block|, in Frobenius' norm
    where = assembly.pattern(Nodes(mesh))
    shapes = _wide_shapes(mesh) if wide else None
    slope, volume = shape_errors(mesh, shapes)
    length = np.sqrt((mesh.gradients**2).sum(axis=2)) * (1.0 + 1e-13)
    V, g = mesh.volumes, length * (1.0 + slope)[:, None]
    wrong = up((2.0 + slope) * slope * (1.0 + volume) + volume, 16) * size
    shared = np.bincount(where.slot)
    diagonal = where.indices == np.repeat(np.arange(len(mesh.points)), np.diff(where.indptr))
    sums = 1.0 if mass is None else 4.0  # of the reference alone, or of A and K as well
    sums *= 4.0 * WIDE / UNIT if wide else 1.0
    many, few = (sums * gamma(int(shared[which].max(initial=1)) + 12) for which in (diagonal, ~diagonal))
    row = (wrong + few * entries)[:, None] * g.sum(axis=1, keepdims=True) + ((many - few) * entries)[:, None] * g
    row = up(row * g * V[:, None] * (1.0 + volume)[:, None], 32)
    at_node = np.bincount(mesh.cells.ravel(), row.ravel(), minlength=len(mesh.points))
    if shapes is not None:
        gap = _wide_gap(shapes, A, lam, mu, where)
    else:
        reference = _reference(mesh, lam, mu, where)
        gap = abs(sp.csr_array(A - (reference if mass is None else reference + mass)))
    if mass is not None:
        gap = gap + 2.0 * gamma(2048) * abs(mass)
    beside = 0.5 * np.asarray(gap.sum(axis=0) + gap.sum(axis=1)).reshape(-1, count).max(axis=1)
    at_node, beside = (at_node, beside) if rows is None else (at_node[rows], beside[rows])
    slack = 1.0 + gamma(4 * int(shared.max()) * (d + 1) * count + 64)
    return float(up((np.max(at_node, initial=0.0) + np.max(beside, initial=0.0)) * slack, 16))


def shape_errors(mesh: Mesh, shapes: Any = None) -> tuple[Vector, Vector]:
    """Per cell: bounds of the relative errors of its gradients and of its volume, or of those given.

    In extended precision where the processor has it, so that the bounds are the errors themselves.
    """
    G, V = (mesh.gradients, mesh.volumes) if shapes is None else shapes
    starts = range(0, len(mesh.cells), CHUNK)
    found = on_all_cores(lambda a: _shape_errors(mesh, slice(a, a + CHUNK), G, V), starts)
    slope, volume = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return slope, volume


def _shape_errors(mesh: Mesh, cells: slice, gradients: Any, volumes: Any) -> tuple[Vector, Vector]:
    d, wide = mesh.dim, np.longdouble
    u = float(np.finfo(wide).eps)
    P = mesh.points[mesh.cells[cells]].astype(wide)
    E = P[:, 1:] - P[:, :1]
    G, V = gradients[cells], volumes[cells]
    N = np.swapaxes(G[:, 1:], 1, 2).astype(wide)
    image = sum(N[:, :, k, None] * E[:, k, None, :] for k in range(d))
    loose = 8.0 * u * sum(np.abs(N[:, :, k, None] * E[:, k, None, :]) for k in range(d))
    r = np.sqrt(((np.abs(image - np.eye(d)) + loose + 4.0 * u) ** 2).sum(axis=(1, 2))).astype(float) * (1.0 + 1e-12)
    if not float(r.max()) < 1e-3:
        raise CertificationError("coercivity: a cell is so flat that its gradients are not known; mesh again")
    first = np.sqrt((G[:, 0] ** 2).sum(axis=1))  # is minus the rounded sum of the others
    unit = (UNIT if G.dtype == np.float64 else WIDE) * (1.0 + 1e-12)
    summed = ((d + 2) * unit * np.sqrt((G[:, 1:] ** 2).sum(axis=2)).sum(axis=1) / first).astype(float)
    value, magnitude = _determinant(E)
    factor = {1: 1.0, 2: 2.0, 3: 6.0}[d]
    off = (np.abs(np.abs(value) - factor * V.astype(wide)) + 24.0 * u * magnitude) / factor
    volume = off.astype(float) * (1.0 + 1e-12) / V.astype(float)
    if not float(volume.max()) < 1e-10:  # what `path_bound` allows for
        raise CertificationError("coercivity: a cell is so flat that its volume is not known; mesh again")
    return np.asarray(up(r / (1.0 - r) * (1.0 + 4.0 * summed) + 2.0 * summed, 32)), np.asarray(up(volume, 16))


def _determinant(E: Any) -> tuple[Any, Any]:
    """The expansion of each determinant, and the same sum of magnitudes."""
    if E.shape[1] == 1:
        return E[:, 0, 0], np.abs(E[:, 0, 0])
    if E.shape[1] == 2:
        a, b = E[:, 0, 0] * E[:, 1, 1], E[:, 0, 1] * E[:, 1, 0]
        return a - b, np.abs(a) + np.abs(b)
    parts = [E[:, 0, i] * E[:, 1, j] * E[:, 2, k] for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))]
    minus = [E[:, 0, i] * E[:, 1, j] * E[:, 2, k] for i, j, k in ((0, 2, 1), (1, 0, 2), (2, 1, 0))]
    return sum(parts) - sum(minus), sum(np.abs(p) for p in (*parts, *minus))


def _reference(mesh: Mesh, lam: Vector | None, mu: Vector, where: assembly.Pattern) -> Any:
    """The stiffness from the checked gradients and volumes, assembled here so that no other code is relied on."""
    G, V = mesh.gradients, mesh.volumes
    dot = np.einsum("cid,cjd->cij", G, G) * (mu * V)[:, None, None]
    if lam is None:
        return assembly.scalar_matrix(dot, where)
    d = mesh.dim
    blocks = np.empty((where.size, d, d))

    def entries(pair: tuple[int, ...]) -> None:
        a, b = pair
        K = (lam * V)[:, None, None] * G[:, :, None, a] * G[:, None, :, b]
        K += (mu * V)[:, None, None] * G[:, :, None, b] * G[:, None, :, a]
        K += dot if a == b else 0.0
        blocks[:, a, b] = assembly.summed(K, where)

    on_all_cores(entries, product(range(d), repeat=2))
    n = d * len(mesh.points)
    return sp.csr_array(sp.bsr_array((blocks, where.indices, where.indptr), shape=(n, n)))


def _wide_shapes(mesh: Mesh) -> tuple[Any, Any]:
    """Gradients and volumes in extended precision, by cofactors."""
    P = mesh.points[mesh.cells].astype(np.longdouble)
    E = P[:, 1:] - P[:, :1]
    det, _ = _determinant(E)
    if mesh.dim == 1:
        G = np.ones_like(E)
    elif mesh.dim == 2:
        G = np.stack([E[:, 1, ::-1] * [1, -1], E[:, 0, ::-1] * [-1, 1]], axis=1)
    else:
        G = np.stack([np.cross(E[:, (k + 1) % 3], E[:, (k + 2) % 3]) for k in range(3)], axis=1)
    G = G / det[:, None, None]
    return np.concatenate([-G.sum(axis=1, keepdims=True), G], axis=1), np.abs(det) / {1: 1, 2: 2, 3: 6}[mesh.dim]


def _wide_gap(shapes: tuple[Any, Any], A: Any, lam: Vector | None, mu: Vector, where: assembly.Pattern) -> Any:
    """|A − reference|, entry by entry, the reference from the given gradients and volumes in extended precision."""
    (G, V), n = shapes, A.shape[0]
    d = 1 if lam is None else int(G.shape[2])
    blocks = sp.csr_array(A).tobsr((d, d))
    blocks.sort_indices()
    if not (np.array_equal(blocks.indptr, where.indptr) and np.array_equal(blocks.indices, where.indices)):
        raise CertificationError("coercivity: the matrix has other entries than the mesh")
    order = np.argsort(where.slot, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(where.slot))[:-1]])
    dot = sum(G[:, :, None, k] * G[:, None, :, k] for k in range(G.shape[2])) * (mu * V)[:, None, None]
    gap = np.empty((where.size, d, d))
    for a, b in product(range(d), repeat=2):
        K = dot if a == b else np.zeros_like(dot)
        if lam is not None:
            K = K + (lam * V)[:, None, None] * G[:, :, None, a] * G[:, None, :, b]
            K += (mu * V)[:, None, None] * G[:, :, None, b] * G[:, None, :, a]
        entries = np.add.reduceat(K.reshape(-1)[order], start)
        gap[:, a, b] = up(np.abs(blocks.data[:, a, b] - entries).astype(float), 4)
    return sp.csr_array(sp.bsr_array((gap, where.indices, where.indptr), shape=(n, n)))
