"""Lengths of residuals of sixteen states at a time, compiled with numba: one pass over the matrix for all of them.

The states of a group are interleaved, so that an entry of the matrix meets one contiguous vector of sixteen numbers,
and no residual is ever stored. Importing this module needs the extra ``fast``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.threads import on_all_cores, share
from pinnpoint.base.workspace import Workspace

cgutils: Any = _cgutils
WIDTH = 16
"""States of one group."""
_TILE = 64


def _row_code(typing_context: Any, indices: Any, data: Any, P: Matrix, total: Any, start: Any, end: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        several, index = ir.VectorType(ir.DoubleType(), WIDTH), ir.IntType(64)
        none = ir.Constant(several, ir.Undefined)
        first = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        arrays = zip(signature.args[:4], arguments[:4], strict=True)
        columns, values, states, sums = (context.make_array(t)(context, builder, v).data for t, v in arrays)
        fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(several, [several] * 3), f"llvm.fma.v{WIDTH}f64"
        )
        place = builder.bitcast(sums, several.as_pointer())
        kept = cgutils.alloca_once(builder, several)
        builder.store(builder.load(place, align=8), kept)
        one = ir.Constant(index, 1)
        with cgutils.for_range_slice(builder, arguments[4], arguments[5], one, index) as (q, _):
            column = builder.sext(builder.load(builder.gep(columns, [q])), index)
            at = builder.gep(states, [builder.mul(column, ir.Constant(index, WIDTH))])
            x = builder.load(builder.bitcast(at, several.as_pointer()), align=8)
            a = builder.load(builder.gep(values, [q]))
            a = builder.shuffle_vector(builder.insert_element(none, a, ir.Constant(ir.IntType(32), 0)), none, first)
            builder.store(builder.call(fused, [a, x, builder.load(kept)]), kept)
        builder.store(builder.load(kept), place, align=8)
        return context.get_dummy_value()

    return types.void(indices, data, P, total, types.int64, types.int64), codegen


_add_row: Any = intrinsic(_row_code)
"""total[w] ← total[w] + Σ_q data[q] P[indices[q], w] over start ≤ q < end, each product fused with its addition."""


@njit(nogil=True, cache=True, error_model="numpy")
def _interleave(U, P, a, b):  # type: ignore[no-untyped-def]
    for first in range(a, b, _TILE):
        last = min(b, first + _TILE)
        for w in range(U.shape[0]):
            for j in range(first, last):
                P[j, w] = U[w, j]
        for w in range(U.shape[0], WIDTH):
            for j in range(first, last):
                P[j, w] = 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def _squares(indptr, indices, data, P, loads, mu, own, roots, out, a, b):  # type: ignore[no-untyped-def]
    r = np.empty(WIDTH)
    for i in range(a, b):
        for w in range(WIDTH):
            r[w] = -own[i]
        for k in range(loads.shape[0]):
            f = loads[k, i]
            if f != 0.0:
                for w in range(WIDTH):
                    r[w] -= f * mu[k, w]
        _add_row(indices, data, P, r, np.int64(indptr[i]), np.int64(indptr[i + 1]))
        if roots.size > 0:
            for w in range(WIDTH):
                r[w] *= roots[i]
        for w in range(WIDTH):
            out[w] += r[w] * r[w]


def squared_lengths(
    A: Any, U: Vector, loads: Vector, mu: Vector, own: Vector, roots: Vector | None, work: Workspace
) -> Vector:
    """Σ_i (√w_i (A u − Fᵀμ − b₀)_i)² for each row u of U and μ of mu, as rounded.

    Each entry of a residual is a sum of its k products, those with the p loads and b₀ in some order, with or without
    fused products: at most k + p + 1 roundings; then one for the root, one for the square and n for the sum.
    """
    n, N = A.shape
    found = np.empty(len(U))
    P = work.array("interleaved states", (N, WIDTH))
    roots = np.empty(0) if roots is None else roots
    wide, tall = share(N, N * WIDTH), share(n, A.nnz * WIDTH)
    for s in range(0, len(U), WIDTH):
        group = U[s : s + WIDTH]
        several = np.zeros((loads.shape[0], WIDTH))
        several[:, : len(group)] = mu[s : s + WIDTH].T
        parts = np.zeros((-(-n // tall), WIDTH))

        def interleave(a: int, group: Any = group) -> None:
            _interleave(group, P, a, min(N, a + wide))

        def add(a: int, several: Any = several, parts: Any = parts) -> None:
            b = min(n, a + tall)
            _squares(A.indptr, A.indices, A.data, P, loads, several, own, roots, parts[a // tall], a, b)

        on_all_cores(interleave, range(0, N, wide))
        on_all_cores(add, range(0, n, tall))
        found[s : s + WIDTH] = parts.sum(axis=0)[: len(group)]
    return found
