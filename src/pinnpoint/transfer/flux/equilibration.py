"""Equilibrated fluxes, built patch by patch.

σ in RT0 or RT1 with ∇·σ + r = 0 on constants or linears of every cell (r = f − c u_h), close to κ∇u_h. For every vertex
a the part σ_a lives on the cells about a, vanishes on the facets opposite a, is free on Dirichlet facets and prescribed
on Neumann facets, and satisfies ∇·σ_a = ∇ψ_a·κ∇u_h − ψ_a r. Among those it minimises Σ_K κ⁻¹‖σ_a − target‖²; the target
is ψ_a κ∇u_h for RT1, and for RT0 the field with the d-th part of the facet fluxes of κ∇u_h, which is far better there.
σ = Σ_a σ_a. Where u_h does not solve its system, a patch without a Dirichlet facet has a defect, which is spread
over the patch by volume: σ stays continuous, and ∇·σ + r is what the defects left.
Nothing here is proved; bounds are to be computed from the flux that comes out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.base.threads import on_all_cores
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import pairs
from pinnpoint.taylor.meter import Meter
from pinnpoint.transfer.flux.equilibration_plane import solve_fans
from pinnpoint.transfer.flux.fans_lowest import LowestFans
from pinnpoint.transfer.flux.patches import FREE, PRESCRIBED, Ingredients, parts, shares, to_nodal

_meter = Meter(Path(__file__).with_name("equilibration_compiled.py"), load=0.35, make=16.0)
SECONDS = {(3, 0): 1.5e-5, (3, 1): 5.5e-5}
"""Of NumPy for a cell, by dimension and order; each further right-hand side is an eighth of that."""
_CHUNK = 2_000_000


def equilibrate(
    topology: Topology,
    kappa: Vector,
    gradients: Vector,
    source: Vector,
    kind: NDArray[np.int8],
    neumann: Vector | None = None,
    order: int = 0,
    *,
    metric: Vector | None = None,
    compiled: bool | None = None,
    columns: int = 0,
    only: NDArray[np.bool_] | None = None,
) -> Vector:
    """Nodal facet densities of an equilibrated flux, (F, 1, m) for order 0 and (F, d, m) for order 1.

    t[f, j] is |f| times σ·n_f at the j-th vertex of the facet f, n_f outward from facet_cells[f, 0].

    Parameters
    ----------
    topology
        The mesh.
    kappa
        Diffusion coefficient of each cell, (C,).
    gradients
        ∇u_h at the vertices of each sorted cell, (C, d + 1, d, m), or (C, 1, d, m) where it is constant.
    source
        Bernstein coefficients of f − c u_h on each sorted cell, (C, pairs, m).
    kind
        0 for interior facets, 1 for boundary facets where the flux is free (Dirichlet), 2 where it is prescribed.
    neumann
        Prescribed densities t, (F, d, m); read where kind is 2. None means zero.
    order
        0 for RT0, 1 for RT1.
    metric
        R of each cell, (C, d, d): lengths |Rσ| are made small instead of κ^{-1/2}|σ|.
    compiled
        Whether to use numba. By default in space, where it is installed and NumPy has done enough, or would have to.
    columns
        Right-hand sides of all calls for this mesh, where there will be several.
    only
        Vertices whose parts σ_a count, (N,); all by default. The others' are left out of the sum.
    """
    d, F, C = topology.dim, len(topology.facets), len(topology.cells)
    if order not in (0, 1):
        raise InputError(f"order: must be 0 or 1; got {order!r}")
    if gradients.ndim != 4 or gradients.shape[:3] not in ((C, 1, d), (C, d + 1, d)):
        raise InputError(f"gradients: must have shape ({C}, {d + 1} or 1, {d}, m); got {gradients.shape}")
    m = gradients.shape[3]
    for name, array, shape in (
        ("kappa", kappa, (C,)),
        ("source", source, (C, len(pairs(d)), m)),
        ("kind", kind, (F,)),
        ("neumann", neumann, (F, d, m)),
    ):
        if array is not None and array.shape != shape:
            raise InputError(f"{name}: must have shape {shape}; got {array.shape}")
    if np.any((kind == 0) == topology.boundary) or np.any((kind < 0) | (kind > PRESCRIBED)):
        raise InputError("kind: must be 0 on interior facets and 1 or 2 on boundary facets")
    cells = Ingredients.of(topology, kappa, gradients, source, order, metric)
    out = np.zeros((F, d, cells.width, m))  # the flux of each facet by vertex of the facet
    if neumann is not None:
        given = np.flatnonzero(kind == PRESCRIBED)
        out[given] = np.einsum("aqj,fjm->faqm", shares(d, order), neumann[given])
    if compiled is None:
        each = C * SECONDS.get((d, order), 0.0)
        now, ahead = (each * (0.88 + 0.12 * count) for count in (m, columns))
        compiled = d > 2 and not topology.glued and _meter.worth(now, ahead)
    if d == 1:
        _solve_intervals(topology, cells, kind, out)
    elif d == 2 and not compiled and order == 0:
        alpha, balances = cells.alpha[:, :, 0].T, (cells.alpha[:, :, 0] - cells.load).T
        found = np.ascontiguousarray(out[:, :, 0].T)
        made = LowestFans.of(topology, cells.metric, kind)
        on_all_cores(lambda i: made.solve(alpha[i], balances[i], found[i]), range(m))
        out[:, :, 0] = found.T
    elif d == 2 and not compiled:
        solve_fans(topology, cells, kind, out)
    elif compiled:
        from pinnpoint.transfer.flux.equilibration_compiled import solve_patches as run

        odd = run(topology, cells, kind, out)
        if len(odd):
            solve_patches(topology, cells, kind, out, odd)
    else:
        solve_patches(topology, cells, kind, out)
    if only is not None:
        out[~only[topology.facets]] = 0.0
    return to_nodal(out)  # continuous.md, step 1d


def _solve_intervals(topology: Topology, cells: Ingredients, kind: NDArray[np.int8], out: Vector) -> None:
    """In one dimension the balances leave nothing to minimise."""
    needed, volume = np.zeros((len(kind), 2, out.shape[-1])), np.zeros((len(kind), 2))
    for k in range(2):
        f = topology.cell_facets[:, k]
        side = (topology.sign[:, k] < 0).astype(np.intp)
        needed[f, side] = cells.balance(np.arange(len(f)), 1 - k)
        volume[f, side] = topology.volumes
    inner = kind == 0
    share = np.where(inner, volume[:, 0] / volume.sum(axis=1), 0.0)[:, None]
    t = needed[:, 0] - share * needed.sum(axis=1)
    free = kind != PRESCRIBED
    out[free, 0, 0] = t[free]


def solve_patches(
    topology: Topology, cells: Ingredients, kind: NDArray[np.int8], out: Vector, vertices: Index | None = None
) -> None:
    """Solve the patch problems of all or some vertices as dense saddle point systems of equal shape; fills ``out``."""
    for shape in patches(topology, cells.width, vertices):
        _solve(topology, cells, kind, out, *shape)


def patches(topology: Topology, q: int, vertices: Index | None = None) -> Iterator[tuple[Index, ...]]:
    """Patches of equal shape.

    Cells K with local vertex a, (B, n), their facets, each facet's number in the patch
    (B, n, d), and the facets about each vertex of a cell.
    """
    d = topology.dim
    start, corner = parts(topology)
    around = np.array([[j for j in range(d + 1) if j != k] for k in range(d + 1)])
    sizes = np.diff(start)
    if vertices is not None:
        sizes = np.where(np.isin(topology.cells.ravel()[corner[start[:-1]]], vertices), sizes, 0)
    for n in np.unique(sizes[sizes > 0]):
        patch = np.flatnonzero(sizes == n)
        block = max(1, _CHUNK // int((d * n * q + n) * n * d))
        for low in range(0, len(patch), block):
            c = corner[start[patch[low : low + block], None] + np.arange(n)]
            K, a = c // (d + 1), c % (d + 1)
            F = topology.cell_facets[K[..., None], around[a]].reshape(len(c), -1)
            order = np.argsort(F, axis=1, kind="stable")
            ranked = np.take_along_axis(F, order, axis=1)
            rank = np.concatenate([np.zeros((len(c), 1), dtype=np.intp), np.cumsum(np.diff(ranked) != 0, axis=1)], 1)
            local = np.empty_like(F)
            np.put_along_axis(local, order, rank, axis=1)
            numbers = rank[:, -1] + 1
            for count in np.unique(numbers):
                same = np.flatnonzero(numbers == count)
                step = max(1, _CHUNK // int((count * q + n) ** 2))
                for s in range(0, len(same), step):
                    w = same[s : s + step]
                    faces = np.empty((len(w), count), dtype=np.intp)
                    np.put_along_axis(faces, local[w], F[w], axis=1)
                    yield K[w], a[w], faces, local[w].reshape(len(w), n, d), around


def _solve(
    topology: Topology,
    cells: Ingredients,
    kind: NDArray[np.int8],
    out: Vector,
    K: Index,
    a: Index,
    faces: Index,
    local: Index,
    around: Index,
) -> None:
    """Patches of one shape: cells K with local vertex a, (B, n), their facets, and each facet's number in the patch."""
    (B, n), d, q, m = K.shape, topology.dim, cells.width, out.shape[-1]
    size = faces.shape[1] * q
    vertex = topology.cells[K[:, 0], a[:, 0]]
    place = np.argmax(topology.facets[faces] == vertex[:, None, None], axis=2)
    given = kind[faces] == PRESCRIBED
    grounded = np.any(kind[faces] == FREE, axis=1)
    forms = np.empty((B, n, d * q, d * q))
    linear = np.empty((B, n, d * q, m))
    for i in range(d + 1):
        here = a == i
        T = cells.table[i]
        both = (cells.metric[K[here]] @ T.reshape(len(T), -1)).reshape(-1, *T.shape[1:])
        forms[here] = both[..., : d * q]
        linear[here] = both[..., d * q :] @ cells.data(K[here], i)
    sign = topology.sign[K[..., None], around[a]]
    signs = np.repeat(sign, q, axis=2)
    scale = np.einsum("bnii->b", forms) / (n * d * q)
    forms *= signs[..., :, None] * signs[..., None, :] / scale[:, None, None, None]
    linear *= signs[..., None] / scale[:, None, None, None]
    A, b = np.zeros((B, size + n, size + n)), np.zeros((B, size + n, m))
    index = (local[..., None] * q + np.arange(q)).reshape(B, n, d * q)
    row = np.arange(B)[:, None]
    for k in range(n):
        A[row[..., None], index[:, k, :, None], index[:, k, None, :]] += forms[:, k]
        b[row, index[:, k]] -= linear[:, k]
        A[row, size + k, local[:, k] * q] = sign[:, k]
        A[row, local[:, k] * q, size + k] = sign[:, k]
    b[:, size:] = cells.balance(K, a)
    x = np.where(given[..., None, None], out[faces, place], 0.0).reshape(B, size, m)
    if given.any():
        fixed = np.repeat(given, q, axis=1)
        b -= A[:, :, :size] @ x
        free = np.concatenate([~fixed, np.ones((B, n), dtype=bool)], axis=1)
        A *= free[:, :, None] & free[:, None, :]
        b[~free] = 0.0
        which = np.nonzero(fixed)
        A[which[0], which[1], which[1]] = 1.0
    if not grounded.all():
        volume = topology.volumes[K] * ~grounded[:, None]
        share = volume / np.where(grounded, 1.0, volume.sum(axis=1))[:, None]
        b[:, size:] -= share[..., None] * b[:, size:].sum(axis=1, keepdims=True)
        A[~grounded, size:, size:] -= 1.0  # the constraints add up to zero: fixes the constant multiplier
    x += np.linalg.solve(A, b)[:, :size]
    out[faces, place] = x.reshape(B, -1, q, m)
