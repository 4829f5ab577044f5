"""Averages over cells, blocks and balls, derivatives and fluxes at points: their ℓ and their densities.

Apart from `reach`, nothing here is part of a proof, and nothing here can make a bundle verify: it can only refuse.
Blocks are cut out of cells by halving edges that cross a face. The derivative of a solution is the value of another
one: in u's part along e_l, r q(r) e_l, the radial q solves the same equation in two dimensions more, with the source
f_l/r, where f_l is d times the mean of f e_l over spheres; ∂_l u(x₀) = q(0), and the density is that of a point there.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from pinnpoint_verify.bent import Bent
from pinnpoint_verify.checker import Cells, Density, Mesh, Query, means, total, up
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.reference import BALL, compare, directions, distance, radial, rule
from pinnpoint_verify.rows import cells_agree

Row = dict[str, Any]
AXES = ("x", "y", "z")
"""Kinds of bounded forms that are looked at here; and balls without a kernel."""
CLOSE = 1e-9
"""Of the largest entry of ℓ."""


class Places(Protocol):
    """Nodes and cells of a bundle."""

    nodes: Array
    cells: Array
    X: Array
    d: int

    def nodes_of(self, simplices: Array) -> Array:
        """Vertices, then midpoints of edges."""

    def shapes(self, bary: Array) -> Array:
        """Basis functions in the order of `nodes_of`."""


def is_scalar(row: Row, count: int) -> bool:
    """Whether a query's ℓ is looked at here."""
    pointed = row["kind"] == "flux" and "group" not in row
    return count == 1 and (row["kind"] in ("cells", "mean", "gradient") or pointed)


def bare(goal: Row) -> bool:
    """Whether a query's density has no kernel: 1/|G| on cells, on a block or on a ball."""
    return goal["kind"] in ("cells", "block") or (goal["kind"] == "ball" and goal["radius"] is None)


def volumes(V: Array) -> Array:
    """Of simplices."""
    return np.asarray(np.abs(np.linalg.det(V[:, 1:] - V[:, :1])) / math.factorial(V.shape[2]))


def faces(row: Row, d: int) -> tuple[Array, Array]:
    """The low and the high faces of a block."""
    at, half = np.array(row["at"], dtype=float), 0.5 * float(row["side"])
    need(at.shape == (d,) and half > 0.0, f"{row.get('name', 'block')!r}: no block")
    return at - half, at + half


def cut_out(V: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Simplices that make up the part of cells in a block, and the cells' numbers."""
    near = np.nonzero(np.all((V.max(axis=1) > low) & (V.min(axis=1) < high), axis=1))[0]
    parts, owner = V[near], near
    for axis in range(V.shape[2]):
        for level, side in ((low[axis], 1.0), (high[axis], -1.0)):
            parts, owner = _one_side(parts, owner, axis, float(level), side)
    return parts, owner


def _one_side(V: Array, owner: Array, axis: int, level: float, side: float) -> tuple[Array, Array]:
    edges, done = list(combinations(range(V.shape[1]), 2)), list[tuple[Array, Array]]()
    while len(V):
        y = V[:, :, axis] - level
        y = np.where(np.abs(y) <= 1e-14 * (np.abs(V[:, :, axis]).max(axis=1) + abs(level))[:, None], 0.0, y)
        crossed = np.stack([y[:, i] * y[:, j] < 0.0 for i, j in edges], axis=1)
        which, some = np.argmax(crossed, axis=1), crossed.any(axis=1)
        keep = ~some & (side * y.sum(axis=1) > 0.0)
        done.append((V[keep], owner[keep]))
        V, owner, y, which = V[some], owner[some], y[some], which[some]
        at, ends = np.arange(len(V)), np.array(edges)[which]
        one, two = V[at, ends[:, 0]], V[at, ends[:, 1]]
        t = y[at, ends[:, 0]] / (y[at, ends[:, 0]] - y[at, ends[:, 1]]) if len(V) else np.zeros(0)
        middle = one + t[:, None] * (two - one)
        middle[:, axis] = level
        halves = []
        for k in (0, 1):
            half = V.copy()
            half[at, ends[:, k]] = middle
            halves.append(half)
        V, owner = np.concatenate(halves), np.tile(owner, 2)
    return np.concatenate([v for v, _ in done]), np.concatenate([o for _, o in done])


def within(V: Array, X: Array) -> Array:
    """Barycentric coordinates of points (n, q, d) in simplices (n, d + 1, d)."""
    E = (V[:, 1:] - V[:, :1]).swapaxes(1, 2)
    t = np.linalg.solve(E[:, None], (X - V[:, None, 0])[..., None])[..., 0]
    return np.concatenate([1.0 - t.sum(axis=2, keepdims=True), t], axis=2)


def chosen(bundle: Bundle, i: int, row: Row, count: int) -> Array:
    """The cells of a group, as they are stored, or all."""
    if row["kind"] == "mean":
        return np.arange(count)
    cells = bundle(f"mesh/chosen{i}", None, whole=count)
    need(len(cells) and np.all(np.diff(cells) > 0), f"{row['name']!r}: its cells are none, or not ascending")
    cells_agree(row, cells)
    return np.asarray(cells)


def scalar_agrees(bundle: Bundle, at: Places, i: int, row: Row, stored: Array, constant: float, case: Row) -> None:
    """ℓ of an average or of a derivative is that of its place."""
    name, kind = row["name"], row["kind"]
    need(constant == 0.0, f"{name!r}: a {kind} has no constant")
    if kind in ("gradient", "flux"):
        found = slopes(at, row, case, stored)
    else:
        need(row.get("component") is None, f"{name!r}: a scalar has no components")
        found = [average(bundle, at, i, row)]
    size = larger(float(np.abs(stored).max()), 1e-300)
    off = smaller((float(np.abs(stored - ell).max()) for ell in found), default=math.inf)
    need(off <= CLOSE * size, f"{name!r}: ℓ is not that of the {kind}, {off!r} away")


def average(bundle: Bundle, at: Places, i: int, row: Row) -> Array:
    """The mean over cells or a block, by the nodes."""
    if "side" in row:
        parts, owner = cut_out(at.X, *faces(row, at.d))
        need(len(parts), f"{row['name']!r}: the block is outside of the mesh")
    else:
        owner = chosen(bundle, i, row, len(at.cells))
        parts = at.X[owner]
    bary, weights = rule(at.d, 2)
    X, size = np.einsum("qi,nic->nqc", bary, parts), volumes(parts)
    values = np.einsum("nqp,q->np", _shaped(at, within(at.X[owner], X)), weights) * (size / size.sum())[:, None]
    if "side" not in row and "at" in row:
        middle, said = size @ parts.mean(axis=1) / size.sum(), np.array(row["at"], dtype=float)
        close = said.shape == middle.shape and np.abs(middle - said).max() <= 1e-9 * np.abs(at.nodes).max()
        need(close, f"{row['name']!r}: at is not the middle of the group")
    ell = np.zeros(len(at.nodes))
    np.add.at(ell, at.nodes_of(at.cells[owner]), values)
    return ell


def _shaped(at: Places, bary: Array) -> Array:
    flat = at.shapes(bary.reshape(-1, bary.shape[2]))
    return np.asarray(flat.reshape(*bary.shape[:2], -1))


def slopes(at: Places, row: Row, case: Row, stored: Array) -> list[Array]:
    """Derivatives along an axis in each cell that holds the point; times a diffusion of the case for fluxes."""
    x, name = np.array(row["at"], dtype=float), row["name"]
    need(x.shape == (at.d,) and row.get("component") in AXES[: at.d], f"{name!r}: no point, or no direction")
    found = _gradients(at, x, AXES.index(row["component"]), name)
    if row["kind"] == "gradient":
        return found
    given = case["problem"].get("diffusion")
    known = list(given.values()) if isinstance(given, dict) else [given]
    if all(isinstance(k, int | float) for k in known):
        return [k * ell for k in known for ell in found]
    return [float(stored @ ell) / float(ell @ ell) * ell for ell in found]  # in Python: any number


def _gradients(at: Places, x: Array, axis: int, name: str) -> list[Array]:
    box = np.all((at.X.min(axis=1) <= x + 1e-9) & (x - 1e-9 <= at.X.max(axis=1)), axis=1)
    near = np.nonzero(box)[0]
    bary = within(at.X[near], np.broadcast_to(x, (len(near), 1, at.d)))[:, 0]
    holds = near[bary.min(axis=1) > -1e-9]
    need(len(holds), f"{name!r}: the point lies in no cell")
    found = []
    for cell in holds.tolist():
        step = 1e-3 * float(np.ptp(at.X[cell], axis=0).max())  # shapes are quadratic: differences are exact
        X = x + step * np.outer([1.0, -1.0], np.eye(at.d)[axis])
        both = _shaped(at, within(at.X[[cell]], X[None]))[0]
        ell = np.zeros(len(at.nodes))
        ell[at.nodes_of(at.cells[[cell]])[0]] = (both[0] - both[1]) / (2.0 * step)
        found.append(ell)
    return found


def density_agrees(
    bundle: Bundle, mesh: Mesh, i: int, w: Density, g: Cells, goal: Row, row: Row, bent: Bent | None = None
) -> None:
    """W = 1/|G| of an average on a range of cells."""
    name, low, high = row["name"], g.part.start, g.part.stop
    V, data = mesh.points[mesh.cells[g.part]], w.on(low, high)
    if goal["kind"] == "cells":
        cells = chosen(bundle, i, row, mesh.C)
        if bent is not None and np.any(bent.bent[cells]):
            _curved_cells_agree(mesh, bent, cells, data, g, row["name"], float(goal["scale"]))
            return
        size = float(volumes(mesh.points[mesh.cells[cells]]).sum())
        inside = np.isin(np.arange(low, high), cells)
        flat = np.abs(data[0] - np.where(inside, 1.0 / size, 0.0)[:, None, None]).max(axis=(1, 2), initial=0.0)
        fits = np.all(flat * size <= 1e-10) and not np.any(data[1:])
        need(fits and goal["scale"] >= 1e-15, f"{name!r}: not the density of its cells")
        return
    if bent is not None:
        at, half = np.array(goal["at"], dtype=float), float(goal["average"] if goal["kind"] == "ball" else goal["side"])
        near = np.all((V.min(axis=1) < at + half) & (V.max(axis=1) > at - half), axis=1)
        held = np.any(data[0], axis=(1, 2))
        need(not np.any(bent.bent[g.part] & near & held), f"{name!r}: it meets cells at a curve")
    if goal["kind"] == "block":
        _block_agrees(V, data, *faces({**goal, "name": name}, mesh.d), name)
        return
    x0, R = np.array(goal["at"], dtype=float), float(goal["average"])
    rim = mesh.walls(mesh.neighbour < 0)
    need(0.0 < R <= distance(x0, rim) * (1.0 + 1e-12), f"{name!r}: the ball leaves the domain")
    far = np.sqrt(((V - x0) ** 2).sum(axis=2))
    first, last = far.min(axis=1) - g.h, far.max(axis=1)
    C = 1.0 / (BALL[mesh.d] * R**mesh.d)
    whole, out = last <= R * (1.0 - 1e-12), first > R * (1.0 + 1e-12)
    flat = np.abs(data[0] - np.where(whole, C, 0.0)[:, None, None]).max(axis=(1, 2), initial=0.0)
    sure = whole | out
    need(np.all(flat[sure] <= 1e-9 * C) and np.all(np.stack(data[1:])[:, sure] <= 1e-9 * C), f"{name!r}: not its ball")
    cut = np.nonzero(~sure)[0]

    def inside_of(X: Array, bary: Array, at: Array) -> Array:
        return np.asarray(C * (((X - x0) ** 2).sum(axis=-1) <= R**2))

    compare(f"density of {name!r}", tuple(x[cut] for x in data), V[cut], inside_of, 0.05 * C)


def curved_mean_agrees(bundle: Bundle, places: Places, bent: Bent, i: int, row: Row, stored: Array) -> None:
    """ℓ of the mean over cells as they are in a curved domain: ∫ φ det J/∫ det J."""
    cells = chosen(bundle, i, row, len(places.cells))
    bary, weights = rule(places.d, 8)
    V = places.X[cells]
    J = bent.at(np.einsum("qi,nic->nqc", bary, V), cells)[1]
    mix = volumes(V)[:, None] * weights * np.linalg.det(J)
    ell = np.zeros(len(stored))
    np.add.at(ell, places.nodes_of(places.cells[cells]), (mix @ places.shapes(bary)) / mix.sum())
    far = np.abs(ell - stored).max()
    need(far <= 1e-5 * np.abs(ell).max(), f"{row['name']!r}: ℓ is not that of its cells (sampled)")


def _curved_cells_agree(mesh: Mesh, bent: Bent, cells: Array, data: Any, g: Cells, name: str, scale: float) -> None:
    """W = det J/∫det J of an average over cells as they are in a curved domain, up to a share of it as a whole."""
    need(0.0 <= scale < 0.1, f"{name!r}: not the density of its cells")
    bary, weights = rule(mesh.d, 6)
    V = mesh.points[mesh.cells[cells]]
    J = bent.at(np.einsum("qi,nic->nqc", bary, V), cells)[1]
    size = float(volumes(V) @ (np.linalg.det(J) @ weights))
    inside = np.nonzero(np.isin(np.arange(g.part.start, g.part.stop), cells))[0]
    out = np.delete(np.arange(len(data[0])), inside)
    need(not any(np.any(x[out]) for x in data), f"{name!r}: not the density of its cells")

    def w(X: Array, bary: Array, at: Array) -> Array:
        return np.linalg.det(bent.at(X, g.part.start + inside[at])[1]) / size

    rows = tuple(x[inside] for x in data)
    compare(f"density of {name!r}", rows, mesh.points[mesh.cells[g.part]][inside], w, (1e-7 + 2.0 * scale) / size)


def _block_agrees(V: Array, data: tuple[Array, ...], low: Array, high: Array, name: str) -> None:
    """Moments and mean squares of the stored density against those of the parts that are cut out."""
    d = V.shape[2]
    height = 1.0 / float(np.prod(high - low))
    parts, owner = cut_out(V, low, high)
    bary, weights = rule(d, 3)
    moments, share = np.zeros((len(V), d + 1, d + 1)), np.zeros(len(V))
    if len(parts):
        local = within(V[owner], np.einsum("qi,nic->nqc", bary, parts))
        size = volumes(parts) / volumes(V)[owner]
        np.add.at(moments, owner, np.einsum("nqj,nqk,q,n->njk", local, local, weights, size, optimize=True))
        np.add.at(share, owner, size)
    stored = np.einsum("njk,jklm->nlm", data[0], means(d, 4).m)
    off = np.abs(stored - height * moments).max(axis=(1, 2), initial=0.0)
    need(np.all(off <= data[2] + 1e-10 * height), f"{name!r}: not the density of its block (sampled)")
    left = height**2 * share - np.einsum("nlm,nlm->n", stored, data[0])
    good = np.sqrt(np.maximum(left, 0.0)) <= 1.001 * (data[1] + data[3]) + 1e-5 * height
    need(np.all(good), f"{name!r}: the stored bounds of its block are too small (sampled)")


def slope_height(d: int, kappa: float, c: float, R: float, f: Any, n: int) -> tuple[float, float, float]:
    """A of −∂_l w = A (1 − s)(x − x₀)_l/R, and −∫f ∂_lΦ with its size, from a solution in two dimensions more.

    `f` are the means of f e_l over spheres.
    """
    C, value, size = radial(d + 2, kappa, c, R, 0.0, lambda r: d * f(r) / r, n)  # gradients.md, step 3b
    return 2.0 * math.pi * R * C, value, size


def slope_agrees(mesh: Mesh, w: Density, g: Cells, goal: Row, name: str, height: float, off: float) -> None:
    """The odd density of a derivative on a range of cells."""
    V, data = mesh.points[mesh.cells[g.part]], w.on(g.part.start, g.part.stop)
    x0, R, axis = np.array(goal["at"], dtype=float), float(goal["radius"]), int(goal["axis"])
    far = np.sqrt(((V - x0) ** 2).sum(axis=2))
    first, last = far.min(axis=1), far.max(axis=1)
    stored = np.any(data[0], axis=(1, 2)) | (data[1] + data[2] + data[3] > 0.0)
    here = np.nonzero(stored | (first - g.h < R))[0]
    cut = ((last > R * (1.0 - 1e-9)) & (first - g.h < R))[here]
    loose = np.where(cut, 0.02 * height * np.minimum(1.0, g.h[here] / R), off)

    def odd(X: Array, bary: Array, at: Array) -> Array:
        Y = X - x0
        return np.asarray(height * np.maximum(0.0, 1.0 - (Y**2).sum(axis=-1) / R**2) * Y[..., axis] / R)

    compare(f"density of {name!r}", tuple(x[here] for x in data), V[here], odd, loose)


def mean_along(d: int, axis: int, x0: Array, value: Any, count: int) -> Any:
    """Means of f e_l over spheres, as a function of their radii."""
    points, weights = directions(d, count)
    return lambda r: value(x0 + r[:, None, None] * points) @ (weights * points[:, axis])


def reach(query: Query, mesh: Mesh) -> float:
    """Upper bound of ∫|w| of a derivative: what a change of u by one can do. Part of the proof."""
    w = query.w
    beta = np.abs(w.beta)
    square = np.einsum("nj,jk,nk->n", w.beta, _gram(mesh.d), w.beta)
    square = np.maximum(square, 0.0) + 1e-13 * beta.max(axis=1, initial=0.0) ** 2
    return float(up(total(up((np.sqrt(square) + w.rest[:, 0] + w.rest[:, 1]) * mesh.top[w.at]))))


def _gram(d: int) -> Array:
    """Means of products of the quadratics of a density's coefficients."""
    pairs = [(j, k) for j in range(d + 1) for k in range(j, d + 1)]
    M = means(d, 4).m
    factor = np.array([1.0 if j == k else 2.0 for j, k in pairs])
    rows = [[M[j, k, p, q] for p, q in pairs] for j, k in pairs]
    return np.asarray(rows) * factor[:, None] * factor[None, :]
