"""The stored ℓ of a query of an elastic body against its kind, place and component.

Nothing here is part of a proof, and nothing here can make a bundle verify: it can only refuse.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from pinnpoint_verify.checker import Discrete, areas
from pinnpoint_verify.domains import sides_agree
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.rows import cells_agree
from pinnpoint_verify.systems import Found, Where

Row = dict[str, Any]
AXES = ("x", "y", "z")
KINDS = ("cells", "mean", "strain", "stress", "reaction", "compliance")
CLOSE = 1e-9
"""Of the largest entry of ℓ."""


class Places(Where, Protocol):
    """Nodes, cells and groups of a bundle."""

    X: Array

    def facets(self, bundle: Bundle, i: int, name: str) -> Array:
        """The facets that are stored for a query."""


def is_elastic(row: Row) -> bool:
    """Whether ℓ has several components, or is of a kind that only elastic bodies have."""
    return row["kind"] in KINDS or (row["kind"] == "patch" and row.get("component") not in (*AXES, None))


def elastic_agrees(bundle: Bundle, d: Discrete, at: Places, i: int, row: Row, case: Row, known: Found) -> None:
    """ℓ is that of the query."""
    name, stored = row["name"], d.L[[i]].toarray().ravel()
    need(at.count == at.d > 1, f"{name!r}: a query of an elastic body, and there is none")
    if row["kind"] == "reaction":
        reaction_agrees(d, at, row, at.facets(bundle, i, name), stored, case, known, float(d.constants[i]))
        return
    warm = case["problem"].get("expansion") is not None or "deck" in case["problem"]
    heated = row["kind"] == "stress" and warm
    need(heated or d.constants[i] == 0.0, f"{name!r}: a {row['kind']} has no constant")
    if row["kind"] == "stress" and isinstance(row["component"], list):
        return  # along a tensor: not compared
    if row["kind"] == "compliance":
        need(np.array_equal(stored[d.free], d.b), f"{name!r}: ℓ is not the load")
        if known.load is not None and known.slack is not None:
            off = np.abs(stored - known.load) <= known.slack
            need(np.all(off), f"{name!r}: ℓ is not the load of the case (sampled)")
        return
    if row["kind"] == "patch":
        F = at.facets(bundle, i, name)
        sides_agree(at.nodes, {str(row["group"]): F}, case)
        found = [directed(at, F, row["component"], name)]
        middle_agrees(at, row, F, areas(at.nodes[F]).m)
    elif row["kind"] in ("cells", "mean"):
        cells = chosen(bundle, at, i, row)
        found = [mean(at, cells, component(row["component"], at.d, name))]
        middle_agrees(at, row, at.cells[cells], volumes(at, cells))
    elif row["kind"] == "stress" and known.law is None:
        return  # the material is not known here, which `Found.blind` tells
    else:
        found = tensors(bundle, at, i, row, known)
    size = larger(float(np.abs(stored).max()), 1e-300)
    off = smaller(float(np.abs(stored - ell).max()) for ell in found)
    need(off <= CLOSE * size, f"{name!r}: ℓ is not that of the {row['kind']}, {off!r} away")


def middle_agrees(at: Places, row: Row, simplices: Array, size: Array) -> None:
    """Where an average is said to be is the middle of what it is over."""
    if "at" not in row:
        return
    middle, said = size @ at.nodes[simplices].mean(axis=1) / size.sum(), np.array(row["at"], dtype=float)
    close = said.shape == middle.shape and np.abs(said - middle).max() <= 1e-9 * np.abs(at.nodes).max()
    need(close, f"{row['name']!r}: at is not the middle of the group")


def component(given: Any, count: int, name: str) -> int:
    """The number of an axis."""
    need(given in AXES[:count], f"{name!r}: no component of these")
    return AXES.index(given)


def chosen(bundle: Bundle, at: Places, i: int, row: Row) -> Array:
    """The cells of a group, as they are stored, or all."""
    if row["kind"] == "mean":
        return np.arange(len(at.cells))
    cells = bundle(f"mesh/chosen{i}", None, whole=len(at.cells))
    need(len(cells) and np.all(np.diff(cells) > 0), f"{row['name']!r}: its cells are none, or not ascending")
    cells_agree(row, cells)
    return cells


def volumes(at: Places, cells: Array) -> Array:
    """Measures of cells."""
    X = at.X[cells]
    return np.asarray(np.abs(np.linalg.det(X[:, 1:] - X[:, :1])) / math.factorial(at.d))


def mean(at: Places, cells: Array, k: int) -> Array:
    """The mean of a component: linear elements have 1/(d + 1) at each vertex, quadratic ones also middles of edges."""
    d, on = at.d, at.nodes_of(at.cells[cells])
    share = np.full(d + 1, 1.0 / (d + 1))
    if at.degree == 2:
        share = np.array([2.0 - d] * (d + 1) + [4.0] * (on.shape[1] - d - 1)) / ((d + 1) * (d + 2))
    size = volumes(at, cells)
    ell = np.zeros((len(at.nodes), d))
    np.add.at(ell[:, k], on, size[:, None] * share / size.sum())
    return ell.ravel()


def directed(at: Places, F: Array, given: Any, name: str) -> Array:
    """The mean of u·v over facets, v a vector or the outer normal."""
    area, d = areas(at.nodes[F]).m, at.d
    if given == "normal":
        V = normals(at, F, name)
    else:
        fits = isinstance(given, list) and len(given) == d and all(type(v) in (int, float) for v in given)
        need(fits, f"{name!r}: neither a component nor a direction")
        V = np.broadcast_to(np.array(given, dtype=float), (len(F), d))
    on = at.nodes_of(F)
    share = np.full(d, 1.0 / d)
    if at.degree == 2:  # the mean of a quadratic over a segment is Simpson's, over a triangle that of its middles
        share = np.array([1.0, 1.0, 4.0]) / 6.0 if d == 2 else np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]) / 3.0
    ell = np.zeros((len(at.nodes), d))
    np.add.at(ell, on, (area / area.sum())[:, None, None] * share[None, :, None] * V[:, None, :])
    return ell.ravel()


def normals(at: Places, F: Array, name: str) -> Array:
    """Outer unit normals of facets, each of one cell."""
    found, sides = np.zeros((len(F), at.d)), np.zeros(len(F), dtype=int)
    key = {tuple(f): k for k, f in enumerate(F.tolist())}
    for j in range(at.d + 1):
        rest = np.delete(at.cells, j, axis=1)
        mine = np.nonzero(np.isin(rest[:, 0], F[:, 0]) & np.isin(rest[:, -1], F[:, -1]))[0]
        for c in mine.tolist():
            k = key.get(tuple(rest[c].tolist()))
            if k is not None:
                found[k] = -slopes(at, np.array([c]))[0, j]
                sides[k] += 1
    need(np.all(sides == 1), f"{name!r}: facets that are not on the boundary have no outer normal")
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def slopes(at: Places, cells: Array) -> Array:
    """Gradients of barycentric coordinates, (n, d + 1, d)."""
    X = at.X[cells]
    inverse = np.linalg.inv(X[:, 1:] - X[:, :1]).swapaxes(1, 2)
    return np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)


def tensors(bundle: Bundle, at: Places, i: int, row: Row, known: Found) -> list[Array]:
    """ℓ of a strain or stress: the mean over cells, or in each of the cells that hold the point."""
    name, word = row["name"], row["component"]
    fits = isinstance(word, str) and len(word) == 2 and set(word) <= set(AXES[: at.d])
    need(fits, f"{name!r}: no component of a tensor")
    p, q = (AXES.index(a) for a in word)
    if row.get("group") is not None:
        cells = chosen(bundle, at, i, row)
        size, middle = volumes(at, cells), np.full((len(cells), at.d + 1), 1.0 / (at.d + 1))
        each = tensor(at, cells, middle, p, q, known.law if row["kind"] == "stress" else None)
        middle_agrees(at, row, at.cells[cells], size)
        return [assembled(at, cells, each * (size / size.sum())[:, None, None])]
    x = np.array(row["at"], dtype=float)
    need(x.shape == (at.d,), f"{name!r}: the point has another dimension")
    bary = np.einsum("cjk,ck->cj", slopes(at, np.arange(len(at.cells))), x - at.X[:, 0])
    bary[:, 0] += 1.0
    cells = np.nonzero(bary.min(axis=1) > -CLOSE)[0]
    need(len(cells), f"{name!r}: the point lies in no cell")
    each = tensor(at, cells, bary[cells], p, q, known.law if row["kind"] == "stress" else None)
    return [assembled(at, cells[[k]], each[[k]]) for k in range(len(cells))]


def tensor(at: Places, cells: Array, bary: Array, p: int, q: int, law: tuple[Array, Array] | None) -> Array:
    """ε_pq or σ_pq of the basis functions at points of cells, (n, nodes, d)."""
    G, d = slopes(at, cells), at.d
    D = G
    if at.degree == 2:
        edges = [4.0 * (bary[:, [a]] * G[:, b] + bary[:, [b]] * G[:, a]) for a, b in combinations(range(d + 1), 2)]
        D = np.concatenate([(4.0 * bary - 1.0)[:, :, None] * G, np.stack(edges, axis=1)], axis=1)
    ell = np.zeros_like(D)
    ell[:, :, p] += 0.5 * D[:, :, q]
    ell[:, :, q] += 0.5 * D[:, :, p]
    if law is None:
        return ell
    lam, mu = (one[cells][:, None, None] for one in law)
    return np.asarray(2.0 * mu * ell + (lam * D if p == q else 0.0))


def assembled(at: Places, cells: Array, each: Array) -> Array:
    """ℓ over all entries from those of cells."""
    ell = np.zeros((len(at.nodes), at.d))
    np.add.at(ell, at.nodes_of(at.cells[cells]), each)
    return ell.ravel()


def reaction_agrees(
    d: Discrete, at: Places, row: Row, F: Array, stored: Array, case: Row, known: Found, constant: float
) -> None:
    """ℓ is a sum of columns of K, which is symmetric, and the constant the load on the group."""
    name, k = row["name"], component(row["component"], at.d, row["name"])
    sides_agree(at.nodes, {str(row["group"]): F}, case)
    on = at.count * np.unique(at.nodes_of(F)) + k
    need(not np.isin(on, d.free).any(), f"{name!r}: a reaction of what is not held")
    known.sum_agrees(d, on, stored, constant, name)
