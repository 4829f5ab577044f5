"""The cell-wise ingredients of the vertex patch problems of `equilibration`, in every dimension and for both orders.

Fluxes of one patch live on the facets that contain its vertex a. On a facet with nodal densities t_0 … t_{q−1} (q = 1
for RT0, q = d for RT1) the coordinates are the mean t̄ and ζ_c = t_c − t̄, c = 1 … q−1; in a cell they count outward.
On the cell the part of the flux is σ_a = (d|K|)⁻¹ Σ_ij s_ij λ_j (x − v_i); for RT1 the diagonal follows from
div σ_a = ∇ψ_a·κ∇u_h − ψ_a r on linears, r the source. With the moments α_il = κ|K| ∇λ_i·∇u_h(v_l) and
μ_aj = ∫ r λ_a λ_j it is s_jj = −Σ_{i≠j} s_ij − d(d+2) μ_aj + d α_aj/(d+1), up to a constant that changes nothing.
The distance to the target is then a quadratic form of (coordinates, data) that depends on the cell through the Gram
matrix of its edges alone, so a small table of rationals does for all cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import gram, mean_of_powers, pairs

FREE, PRESCRIBED = 1, 2


@dataclass(frozen=True, eq=False)
class Ingredients:
    """What the patch problems need of every cell.

    Attributes
    ----------
    width
        q, the number of coordinates on a facet.
    metric
        (C, d(d+1)/2): Gram matrix of the cell's edges (upper triangle by rows) over d²κ|K|.
    alpha
        α, (C, d + 1, 1, m) for RT0 and (C, d + 1, d + 1, m) for RT1.
    load
        ∫ r λ_a, (C, d + 1, m).
    moments
        μ, (C, pairs, m); empty for RT0.
    table
        (d + 1, d(d+1)/2, dq, dq + data): see `form_table`.
    """

    width: int
    metric: Vector
    alpha: Vector
    load: Vector
    moments: Vector
    table: Vector

    @classmethod
    def of(
        cls,
        topology: Topology,
        kappa: Vector,
        gradients: Vector,
        source: Vector,
        order: int,
        metric: Vector | None = None,
    ) -> Ingredients:
        """Ingredients for given coefficients, ∇u_h at the vertices and source; lengths by `metric`, or by κ."""
        d, volumes = topology.dim, topology.volumes
        if order == 0 and gradients.shape[1] > 1:
            gradients = gradients.mean(axis=1, keepdims=True)
        weighted = topology.gradients * (kappa * volumes)[:, None, None]
        alpha = np.empty((len(weighted), d + 1, d + 1 if order else 1, gradients.shape[-1]))
        for where in range(alpha.shape[2]):
            np.matmul(weighted, gradients[:, where if gradients.shape[1] > 1 else 0], out=alpha[:, :, where])
        half = np.array([1.0 if i == j else 0.5 for i, j in pairs(d)])
        products = gram(d) * half[:, None]  # from β to the means of r λ_i λ_j
        load = np.matmul(first_moments(d), source) * volumes[:, None, None]
        moments = np.matmul(products, source) * volumes[:, None, None] if order else np.zeros((1, 1, source.shape[-1]))
        edges = edge_metric(topology, kappa, metric)
        return cls(d if order else 1, edges, alpha, load, moments, form_table(d, order))

    def data(self, cell: Index | slice | int, vertex: int) -> Vector:
        """Data of the patches of the local vertex in some cells, (n, data, m), in the order of the table."""
        alpha = self.alpha[cell]
        n, corners, _, m = alpha.shape
        d = corners - 1
        if alpha.shape[2] == 1:
            return np.asarray(np.delete(alpha[:, :, 0], vertex, axis=1))
        number = {pair: p for p, pair in enumerate(pairs(d))}
        mu = self.moments[cell][:, [number[min(vertex, j), max(vertex, j)] for j in range(d + 1)]]
        diagonal = (d / (d + 1)) * alpha[:, vertex] - d * (d + 2) * mu
        return np.concatenate([alpha[:, 1:].reshape(n, d * (d + 1), m), diagonal], axis=1)

    def balance(self, cell: Index | int, vertex: Index | int) -> Vector:
        """Required sums of outward facet means, ∫ ∇ψ_a·κ∇u_h − ψ_a r."""
        return np.asarray(self.alpha[cell, vertex].mean(axis=-2) - self.load[cell, vertex])


def edge_metric(topology: Topology, kappa: Vector, metric: Vector | None = None) -> Vector:
    """Gram matrices of the cells' edges over d²κ|K|, the upper triangle by rows; lengths by `metric`, or by κ."""
    d = topology.dim
    # varying.md, step 2d
    E = topology.edges if metric is None else np.einsum("kyx,kix->kiy", metric, topology.edges)
    scale = 1.0 / (d * d * kappa * topology.volumes)
    return np.stack([np.einsum("kx,kx->k", E[:, i], E[:, j]) * scale for i, j in pairs(d - 1)], axis=1)


@cache
def first_moments(d: int) -> Vector:
    """From Bernstein coefficients of f to the means of fλ_a over a simplex, (d + 1, pairs)."""
    found = np.zeros((d + 1, len(pairs(d))))
    for p, (i, j) in enumerate(pairs(d)):
        found[i] += 0.5 * gram(d)[p]
        found[j] += 0.5 * gram(d)[p]
    found.setflags(write=False)
    return found


@cache
def form_table(d: int, order: int) -> Vector:
    """Rows of the quadratic forms, (d + 1, components, dq, dq + data), for each local vertex a.

    The columns are the fields of the coordinates, facet after facet without the one opposite a, and then of the data:
    α_k, k ≠ a, for RT0 (target: the coordinates −α_k); α_il, i ≥ 1, and s_jj for RT1 (target: the RT1 interpolant of
    ψ_a κ∇u_h, so that the parts add up to κ∇u_h where that is an equilibrated RT1 field itself). A field is stored as
    c[l, j, k] with Σ_l Σ_jk c[l, j, k] λ_j λ_k (v_{l+1} − v_0); the entry for the component (l, n) is the mean of the
    product of the coefficients l and n of the two fields.
    """
    n, q = d + 1, d if order else 1
    means, ray = _means(n, 4), _rays(d)
    tables = []
    for a in range(n):
        faces = [[j for j in range(n) if j != k] for k in range(n)]
        others = faces[a]
        if order == 0:
            fields = [ray[k].sum(axis=0) for k in others]
            fields += fields
        else:
            bent = [{j: ray[k, j] - ray[j, j] for j in faces[k]} for k in range(n)]  # s_kj with the diagonal it implies
            fields = []
            for k in others:
                fields.append(sum(bent[k].values()))
                fields += [bent[k][j] - bent[k][faces[k][0]] for j in faces[k][1:]]
            for i in range(1, n):
                for where in range(n):
                    target = np.zeros((d, n, n))
                    target[i - 1, a, where] = -d
                    fields.append(_interpolant(target, ray))
            fields += [ray[j, j] for j in range(n)]
        F = np.array(fields)
        inner = np.einsum("pljk,jkrs,cnrs->lnpc", F[: d * q], means, F, optimize=True)
        tables.append([inner[x, y] + (inner[y, x] if x != y else 0.0) for x, y in pairs(d - 1)])
    table = np.array(tables)
    table.setflags(write=False)
    return table


def _means(n: int, factors: int) -> Vector:
    """Means of products of barycentric coordinates over a simplex with n vertices."""
    table = np.zeros((n,) * factors)
    for index in np.ndindex(table.shape):
        table[index] = float(mean_of_powers([index.count(i) for i in range(n)]))
    return table


def _rays(d: int) -> Vector:
    """The fields λ_j (x − v_i) in the form of `form_table`, indices i, j first."""
    n = d + 1
    ray = np.zeros((n, n, d, n, n))
    for i in range(n):
        for j in range(n):
            for k in range(1, n):
                ray[i, j, k - 1, j, k] += 1.0
            if i > 0:
                ray[i, j, i - 1, j, :] -= 1.0
    return ray


def _interpolant(field: Vector, ray: Vector) -> Vector:
    """RT1 interpolant of a quadratic field: the same moments of degree 1 on facets, and the same mean."""
    d = len(field)
    n, flat = d + 1, _means(d, 3)
    result = np.zeros_like(field)
    for k in range(n):
        outward = -field[k - 1] if k else field.sum(axis=0)  # −∇λ_k · field
        face = [j for j in range(n) if j != k]
        moments = np.einsum("jk,jkm->m", outward[np.ix_(face, face)], flat)
        for j, value in zip(face, d * n * (moments - moments.sum() / n), strict=True):
            result += value * ray[k, j]
    weights = _means(n, 2)
    inner = np.array([np.einsum("ljk,jk->l", ray[j, j], weights) for j in range(n)])
    missing = np.einsum("ljk,jk->l", field - result, weights)
    diagonal = np.linalg.lstsq(inner.T, missing, rcond=None)[0]
    return np.asarray(result + np.einsum("i,iljk->ljk", diagonal, ray[np.arange(n), np.arange(n)]))


@cache
def shares(d: int, order: int) -> Vector:
    """How prescribed densities t are divided among the vertices of a facet: coordinates (d, q, d) for each vertex.

    RT0: ∫ ψ_a g; RT1: the projection of ψ_a g onto linears on the facet.
    """
    triple = _means(d, 3)
    if order == 0:
        return np.asarray(triple.sum(axis=1)[:, None, :])
    nodal = d * (d + 1) * (triple - triple.sum(axis=1, keepdims=True) / (d + 1))
    mean = nodal.mean(axis=1, keepdims=True)
    return np.asarray(np.concatenate([mean, nodal[:, 1:] - mean], axis=1))


def to_nodal(out: Vector) -> Vector:
    """Sum over the vertices of each facet, and from the coordinates (t̄, ζ_1 …), (F, d, q, m), to nodal densities."""
    t = out[:, 0].copy()
    for a in range(1, out.shape[1]):
        t += out[:, a]
    if t.shape[1] > 1:
        mean = t[:, 0].copy()
        for c in range(1, t.shape[1]):
            t[:, 0] -= t[:, c]
            t[:, c] += mean
    return t


def parts(topology: Topology) -> tuple[Index, Index]:
    """Corners of every patch, (start, corner): the cells about a vertex that hang together by facets.

    A vertex has one patch, unless the mesh is not a manifold there.
    """
    d, C = topology.dim, len(topology.cells)
    if d == 1:
        return topology.corners
    flat = topology.cell_facets.ravel()
    order = np.argsort(flat, kind="stable")
    count = np.bincount(flat)
    one = (np.cumsum(count) - 2)[count == 2]
    sides = order[one], order[one + 1]
    where = np.array([[j for j in range(d + 1) if j != k] for k in range(d + 1)])
    ends = [(side // (d + 1) * (d + 1))[:, None] + where[side % (d + 1)] for side in sides]
    size = C * (d + 1)
    graph = coo_array((np.ones(ends[0].size, dtype=np.int8), (ends[0].ravel(), ends[1].ravel())), shape=(size, size))
    number, label = connected_components(graph, directed=False)
    start = np.concatenate([[0], np.cumsum(np.bincount(label, minlength=number))])
    return start.astype(np.intp), np.argsort(label, kind="stable")
