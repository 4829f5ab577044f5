"""Double-double products in plain numpy: many sums advance together, one per lane.

A sparse matrix is cut into segments of at most `SEGMENT` entries, segments of equal length are stacked, and
entry j of every segment is handled by one array operation. Arrays are kept small enough to stay in cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import TINY, dot_up, gamma, gammas, split, two_prod, two_sum, up

SEGMENT = 32
LANES = 8192


@dataclass(frozen=True, eq=False)
class Block:
    """Segments of one stack: values and columns, shape (entries, segments), padded with zeros."""

    values: NDArray[np.float64]
    columns: NDArray[np.intp]
    segments: slice


@dataclass(frozen=True, eq=False)
class Lanes:
    """A CSR matrix rearranged for lane-wise summation."""

    blocks: tuple[Block, ...]
    row: NDArray[np.intp]
    """Row of each segment, in the order in which blocks hold them."""
    order: NDArray[np.intp]
    """Segments sorted by row, and, within a row, by position."""
    first: NDArray[np.intp]
    """For each row its first entry in `order`, and the end."""
    length: NDArray[np.intp]
    """Entries of each row."""


def arrange(indptr: NDArray[Any], indices: NDArray[Any], data: Vector) -> Lanes:
    """Cut rows into segments, sort them by length and stack them."""
    length = np.diff(indptr).astype(np.intp)
    pieces = np.maximum(1, -(-length // SEGMENT))
    row = np.repeat(np.arange(length.size), pieces)
    first = np.concatenate([[0], np.cumsum(pieces)])
    part = np.arange(row.size) - first[row]
    start = indptr[row].astype(np.intp) + part * SEGMENT
    size = np.minimum(length[row] - part * SEGMENT, SEGMENT)
    by_size = np.argsort(-size, kind="stable")
    blocks = []
    for a in range(0, row.size, LANES):
        segments = by_size[a : a + LANES]
        k = int(size[segments[0]]) if segments.size else 0
        j = np.arange(k)[:, None]
        inside = j < size[segments][None, :]
        where = np.where(inside, start[segments][None, :] + j, 0)
        if data.size:
            values, columns = np.where(inside, data[where], 0.0), np.where(inside, indices[where], 0)
        else:
            values, columns = np.zeros(where.shape), np.zeros(where.shape, dtype=np.intp)
        blocks.append(Block(values, columns.astype(np.intp), slice(a, a + segments.size)))
    order = np.argsort(by_size, kind="stable")
    return Lanes(tuple(blocks), row[by_size], order, first, length)


@np.errstate(over="ignore", invalid="ignore")  # overflow ends as NaN or infinity, which every user refuses
def product(lanes: Lanes, x: Vector, x_lo: Vector | None, b: Vector | None, b_lo: Vector | None) -> Any:
    """Double-double enclosure (hi, lo, err) of A (x + x_lo) − (b + b_lo).

    Each product and each addition to the running sum s splits exactly into a float and a small term; with c the
    float sum of the m small terms and C that of their magnitudes, the exact row value differs from s + c by at
    most γ_m C / (1 − γ_m), whatever m ≤ 3k + pieces + 3 roundings were made.
    """
    n = lanes.row.size
    s, c, C = np.empty(n), np.empty(n), np.empty(n)
    for block in lanes.blocks:
        at = block.segments
        width = block.values.shape[1]
        bs, bc, bC = np.zeros(width), np.zeros(width), np.zeros(width)
        for a, column in zip(block.values, block.columns, strict=True):
            p, e = two_prod(a, x[column])  # proofs.md, step 5c
            bs, t = two_sum(bs, p)  # proofs.md, step 5c
            bc += e
            bc += t
            bC += np.abs(e)
            bC += np.abs(t)
            if x_lo is not None:
                f = a * x_lo[column]
                bc += f
                bC += np.abs(f)
        s[at], c[at], C[at] = bs, bc, bC
    s, c, C = s[lanes.order], c[lanes.order], C[lanes.order]
    return _finish(s, c, C, lanes, b, b_lo)


def _finish(s: Vector, c: Vector, C: Vector, lanes: Lanes, b: Vector | None, b_lo: Vector | None) -> Any:
    """Add the segments of each row, subtract the right-hand side and close the error bound."""
    head = lanes.first[:-1]
    pieces = np.diff(lanes.first)
    S, c_row, C_row = s[head], c[head], C[head]
    for j in range(1, int(pieces.max(initial=1))):
        rows = np.nonzero(pieces > j)[0]
        at = head[rows] + j
        S[rows], t = two_sum(S[rows], s[at])
        c_row[rows] += c[at]
        c_row[rows] += t
        C_row[rows] += C[at]
        C_row[rows] += np.abs(t)
    if b is not None:
        S, t = two_sum(S, -b)
        c_row, C_row = c_row + t, C_row + np.abs(t)
    if b_lo is not None:
        c_row, C_row = c_row - b_lo, C_row + np.abs(b_lo)
    m = 3 * lanes.length + 2 * pieces + 4
    hi, lo = two_sum(S, c_row)
    return hi, lo, up(2.0 * gammas(m) * C_row + 16.0 * m * TINY, 8)  # proofs.md, step 5d


@np.errstate(over="ignore", invalid="ignore")
def dots(G: Vector, G_lo: Vector | None, x: Vector, x_lo: Vector | None, x_err: Vector | None) -> Any:
    """Double-double enclosure (hi, lo, err) of (G + G_lo)(x + x_lo ± x_err) for dense G of shape (K, n)."""
    K, n = G.shape
    width = min(n, LANES)
    s, c, C = np.zeros((K, width)), np.zeros((K, width)), np.zeros((K, width))
    m = 4 * (-(-n // LANES)) + LANES + 16  # at least the additions that any small term passes through
    for a in range(0, n, LANES):
        v = x[a : a + LANES]
        w, parts = v.size, split(v)
        for i in range(K):
            g = np.asarray(G[i, a : a + LANES], dtype=np.float64)
            p, e = two_prod(g, v, parts)
            s[i, :w], t = two_sum(s[i, :w], p)
            small = [e, t]
            if x_lo is not None:
                small.append(g * x_lo[a : a + LANES])
            if G_lo is not None:
                small.append(G_lo[i, a : a + LANES] * v)
            for f in small:
                c[i, :w] += f
                C[i, :w] += np.abs(f)
            if G_lo is not None and x_lo is not None:  # second order: only its size matters
                C[i, :w] += np.abs(G_lo[i, a : a + LANES] * x_lo[a : a + LANES]) / gamma(m)
    s, c, C = _fold(s, c, C)
    hi, lo, err = np.zeros(K), np.zeros(K), np.zeros(K)
    for i in range(K):
        if not (np.all(np.isfinite(s[i])) and np.all(np.isfinite(c[i]))):
            hi[i], err[i] = np.nan, np.inf  # overflow: nothing is known, and a certificate refuses it
            continue
        head = math.fsum(s[i])  # correctly rounded, so its own remainder is fsum(s − head)
        tail = math.fsum([*s[i], -head])
        hi[i], lo[i] = two_sum(head, tail + float(np.sum(c[i])))
        err[i] = up(2.0 * gamma(m) * (float(np.sum(C[i])) + abs(tail)) + 32.0 * n * TINY, 8)  # proofs.md, step 5d
        if x_err is not None:
            size = np.abs(G[i], dtype=np.float64)
            size = size if G_lo is None else size + np.abs(G_lo[i])
            err[i] = up(err[i] + dot_up(size, x_err))
    return hi, lo, err


def _fold(s: Vector, c: Vector, C: Vector) -> tuple[Vector, Vector, Vector]:
    """Halve the number of lanes, without loss, until few are left."""
    while s.shape[1] > 64:
        half = s.shape[1] // 2
        odd = s.shape[1] - 2 * half
        s_half, t = two_sum(s[:, :half], s[:, half : 2 * half])  # proofs.md, step 5c
        c_half = c[:, :half] + c[:, half : 2 * half] + t
        C_half = C[:, :half] + C[:, half : 2 * half] + np.abs(t)
        if odd:
            s_half, c_half, C_half = (
                np.concatenate([x, y[:, -1:]], axis=1) for x, y in ((s_half, s), (c_half, c), (C_half, C))
            )
        s, c, C = s_half, c_half, C_half
    return s, c, C
