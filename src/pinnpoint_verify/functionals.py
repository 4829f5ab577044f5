"""The stored ℓ of a query against its kind, place and mesh: points, averages over balls and groups, fluxes."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from pinnpoint_verify.averages import curved_mean_agrees, is_scalar, scalar_agrees
from pinnpoint_verify.bent import Bent
from pinnpoint_verify.bent_systems import bent_system_agrees
from pinnpoint_verify.checker import Discrete, areas, means, quadratic
from pinnpoint_verify.cover import covers_once
from pinnpoint_verify.domains import domain_agrees, outer, sides_agree
from pinnpoint_verify.elastic import elastic_agrees, is_elastic
from pinnpoint_verify.formulas import plain
from pinnpoint_verify.glued import Pairs, is_glued, names_of, pairs_agree
from pinnpoint_verify.lengths import WHOLE
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.systems import Found, system_agrees

Row = dict[str, Any]
RULE = {1: (8, 2), 2: (8, 24), 3: (8, 8)}
"""Radial and angular points of the rule that stands for the average over a ball."""
CLOSE = 1e-9
"""Of ℓ, in entries of size 1; barycentric coordinates of flat cells have lost digits."""


class Places:
    """Nodes and cells of a bundle, and functionals of fields on them."""

    def __init__(self, bundle: Bundle, proof: Row) -> None:
        self.count, degree = proof["components"], proof["degree"]
        need(type(self.count) is int and 1 <= self.count <= 3, "proof.json: a wrong number of components")
        self.nodes = bundle("mesh/nodes", None, None)
        self.d = self.nodes.shape[1]
        need(self.d in (1, 2, 3) and self.count in (1, self.d), "mesh: dimension or components out of range")
        self.cells = bundle("mesh/cells", None, self.d + 1, whole=len(self.nodes))
        need(len(self.cells) and np.all(np.diff(self.cells, axis=1) > 0), "mesh: vertices of a cell are not ascending")
        self.n = int(self.cells.max()) + 1
        self.degree = 1 if self.n == len(self.nodes) else 2
        need(degree == self.degree, "mesh: not of the degree of the proof")
        self.X = self.nodes[self.cells]
        self.same: Any = None  # of periodic pairs: what stands for each node
        if is_glued(bundle):
            need(self.count == 1, "mesh/pair: of a problem with components")
            self.same = Pairs(bundle, self.nodes, self.cells, self.keys if self.degree == 2 else None).same

    @cached_property
    def keys(self) -> Array:
        """Edges in the order of their midpoints."""
        every = np.concatenate([self.cells[:, list(e)] for e in combinations(range(self.d + 1), 2)])
        edges = np.unique(every, axis=0)
        apart = np.abs(self.nodes[self.n :] - self.nodes[edges].mean(axis=1)) if self.degree == 2 else np.zeros(0)
        good = len(edges) == len(self.nodes) - self.n and np.max(apart, initial=0.0) <= 1e-12 * np.abs(self.nodes).max()
        need(self.degree == 1 or good, "mesh: wrong midpoints")
        return edges[:, 0] * self.n + edges[:, 1]

    @cached_property
    def rim(self) -> Array:
        """Facets of one cell only, as sorted vertices."""
        return outer(self.cells)

    @cached_property
    def sides(self) -> Array:
        """Names of the facets of all cells, in order."""
        every = [names_of(np.delete(self.cells, k, axis=1), self.n) for k in range(self.d + 1)]
        return np.sort(np.concatenate(every))

    @cached_property
    def around(self) -> Array:
        """Cells of every node, or of those that are one with it."""
        of = self.nodes_of(self.cells)
        rows, columns = of.ravel(), np.repeat(np.arange(len(self.cells)), of.shape[1])
        return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(self.nodes), len(self.cells)))

    def nodes_of(self, simplices: Array) -> Array:
        """Vertices, then midpoints of edges, of simplices."""
        ends = [np.sort(simplices[:, pair], axis=1) for pair in map(list, combinations(range(simplices.shape[1]), 2))]
        two, found = [pair[:, 0] * self.n + pair[:, 1] for pair in ends], simplices
        if self.degree == 2 and two:
            at = np.searchsorted(self.keys, np.stack(two, axis=1))
            need(at.max(initial=0) < len(self.keys), "mesh: wrong midpoints")
            found = np.concatenate([simplices, self.n + at], axis=1)
        return found if self.same is None else self.same[found]

    def point(self, P: Array, weights: Array, some: Array) -> Array:
        """Σ weights · v(P) by the nodes, for points in some of the cells."""
        near, left, ell = cKDTree(self.X[some].mean(axis=1)), np.arange(len(P)), np.zeros(len(self.nodes))
        for most in (smaller(16, len(some)), smaller(400, len(some)), len(some)):
            if not len(left):
                break
            for part in np.array_split(left, larger(1, len(left) * most // 200_000)):
                found = some[near.query(P[part], k=most)[1].reshape(len(part), most)]
                V = self.X[found]
                E = (V[:, :, 1:] - V[:, :, :1]).swapaxes(2, 3)
                t = np.linalg.solve(E, (P[part, None] - V[:, :, 0])[..., None])[..., 0]
                bary = np.concatenate([1.0 - t.sum(axis=2, keepdims=True), t], axis=2)
                best = np.argmax(bary.min(axis=2), axis=1)
                bary, cell = bary[np.arange(len(part)), best], found[np.arange(len(part)), best]
                inside = bary.min(axis=1) > -1e-9
                values = weights[part, None] * self.shapes(bary)
                np.add.at(ell, self.nodes_of(self.cells[cell[inside]]), values[inside])
                left = np.setdiff1d(left, part[inside])
        need(not len(left), "query: a point lies in no cell that its ℓ knows")
        return ell

    def shapes(self, bary: Array) -> Array:
        """Basis functions in the order of `nodes_of`."""
        if self.degree == 1:
            return bary
        pairs = list(combinations(range(self.d + 1), 2))
        return np.concatenate(
            [bary * (2.0 * bary - 1.0), np.stack([4.0 * bary[:, j] * bary[:, k] for j, k in pairs], axis=1)], axis=1
        )

    def group(self, facets: Array) -> Array:
        """The mean over facets."""
        on, m, area = self.nodes_of(facets), self.d - 1, areas(self.nodes[facets]).m
        hats = quadratic(np.eye(on.shape[1]), m, self.degree if m else 1)[0].m
        share = np.einsum("pjk,jk->p", hats, means(m, 2).m) / area.sum()
        return np.bincount(on.ravel(), (area[:, None] * share).ravel(), minlength=len(self.nodes))

    def facets(self, bundle: Bundle, i: int, name: str) -> Array:
        """The facets that are stored for a query, each of some cell."""
        F = bundle(f"mesh/facets{i}", None, self.d, whole=self.n)
        fits = len(F) and np.all(np.diff(F, axis=1) > 0) and np.array_equal(np.unique(F, axis=0), F)
        need(fits, f"{name!r}: its facets are not different, or not sorted")
        names = names_of(F, self.n)
        at = np.searchsorted(self.sides, names).clip(max=len(self.sides) - 1)
        need(np.all(self.sides[at] == names), f"{name!r}: its facets are not those of cells")
        return F


def ball_rule(d: int) -> tuple[Array, Array]:
    """Points of the unit ball and weights that sum to one: Gauss in the radius, equal angles, Gauss in z."""
    radial, count = RULE[d]
    t, w = np.polynomial.legendre.leggauss(radial)
    r = 0.5 * (t + 1.0)
    w = 0.5 * w * d * r ** (d - 1)
    angle = 2.0 * np.pi * (np.arange((d - 1) * count) + 0.5) / larger(1, (d - 1) * count)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if d == 1:
        unit, share = np.array([[-1.0], [1.0]]), np.full(2, 0.5)
    elif d == 2:
        unit, share = ring, np.full(count, 1.0 / count)
    else:
        z, v = np.polynomial.legendre.leggauss(count)
        flat = np.sqrt(1.0 - z**2)[:, None, None] * ring
        unit = np.concatenate([flat, np.broadcast_to(z[:, None, None], (*flat.shape[:2], 1))], axis=2).reshape(-1, 3)
        share = np.repeat(0.5 * v / len(ring), len(ring))
    return (r[:, None, None] * unit).reshape(-1, d), (w[:, None] * share).ravel()


def functionals_agree(bundle: Bundle, d: Discrete, rows: list[Row], case: Row, proof: Row) -> Found:
    """Every ℓ is that of its query: of the kind, the place, the radius, the group and the component that it has.

    Returns what of A and b was compared with the case.
    """
    if "mesh/nodes" not in bundle:
        fits = proof["components"] == proof["degree"] == 1 and all(row["kind"] == "functional" for row in rows)
        need(fits, "certificate: a query of a place, and no mesh")
        return Found(blind=("A", "b"))
    places = Places(bundle, proof)
    need(d.N == places.count * len(places.nodes), "nodes: their number does not fit the unknowns")
    degree = case["problem"].get("degree", places.degree)
    need(degree == places.degree, "mesh: not of the degree of the case")
    domain_agrees(places.nodes[: places.n], places.cells, case, bundle.json["certificate.json"])
    pairs_agree(bundle, case, places.nodes[: places.n], sides_agree)
    bent = Bent(bundle, proof, case, places.nodes[: places.n], places.cells) if "bent" in proof else None
    if bent is None:
        known = system_agrees(bundle, d, places, case)
    else:
        known = bent_system_agrees(bundle, d, places, bent, case)
    covers_once(places.nodes[: places.n], places.cells)
    for i, row in enumerate(rows):
        name, kind, here = row["name"], row["kind"], d.L[[i]]
        if kind == "functional":
            continue
        if kind in WHOLE:
            need(proof["target"] == "continuous", f"{name!r}: no theorem for a {kind} of a discrete system")
            need(not np.any(here.data) and d.constants[i] == 0.0, f"{name!r}: ℓ is not zero")
            continue
        need(len(here.indices), f"{name!r}: ℓ is empty")
        if is_scalar(row, places.count):
            ell = np.zeros(len(places.nodes))
            ell[here.indices] = here.data
            curved = row["kind"] in ("cells", "mean") and "side" not in row
            if curved and bent is not None:
                need(d.constants[i] == 0.0, f"{name!r}: a mean has no constant")
                curved_mean_agrees(bundle, places, bent, i, row, ell)
            else:
                scalar_agrees(bundle, places, i, row, ell, float(d.constants[i]), case)
            continue
        if is_elastic(row):
            elastic_agrees(bundle, d, places, i, row, case, known)
            continue
        need(kind in ("point", "average", "patch", "flux"), f"{name!r}: a {kind} is no query of such a body")
        k, axis = int(here.indices[0]) % places.count, row.get("component")
        fits = axis == ("x", "y", "z")[k] if places.count > 1 else axis is None
        need(fits and np.all(here.indices % places.count == k), f"{name!r}: ℓ belongs to another component")
        stored = np.zeros(len(places.nodes))
        stored[here.indices // places.count] = here.data
        if kind in ("patch", "flux"):
            group_agrees(bundle, places, d, i, row, stored, case, known)
            continue
        x = np.array(row["at"], dtype=float)
        need(x.shape == (places.d,), f"{name!r}: the point has another dimension")
        near = np.unique(places.around[np.nonzero(stored)[0]].indices)
        need(len(near), f"{name!r}: ℓ is of no cell")
        x = x if bent is None or kind != "point" else bent.back(x, near, name)[1]
        offsets, weights = ball_rule(places.d) if kind == "average" else (np.zeros((1, places.d)), np.ones(1))
        ell = places.point(x + row.get("ball", 0.0) * offsets, weights, near)
        off = float(np.abs(ell - stored).max())
        need(off <= CLOSE, f"{name!r}: ℓ is not that of the {kind}, {off!r} away")
        need(d.constants[i] == 0.0, f"{name!r}: a {kind} has no constant")
    return known


def group_agrees(
    bundle: Bundle, places: Places, d: Discrete, i: int, row: Row, stored: Array, case: Row, known: Found
) -> None:
    """A mean over a group, or the flux through one: K is symmetric, so that its free part is a sum of columns."""
    name, F = row["name"], places.facets(bundle, i, row["name"])
    sides_agree(places.nodes, {str(row["group"]): F}, case)
    if row["kind"] == "patch":
        need(np.abs(places.group(F) - stored).max() <= CLOSE, f"{name!r}: ℓ is not that of the group")
        need(d.constants[i] == 0.0, f"{name!r}: a patch has no constant")
        center = stored @ places.nodes
        close = "at" not in row or np.abs(center - np.array(row["at"])).max() <= 1e-9 * np.abs(places.nodes).max()
        need(close, f"{name!r}: at is not the middle of the group")
        return
    need("at" not in row, f"{name!r}: a flux is at no point")
    on = np.unique(places.nodes_of(F))
    robin = case["problem"].get("robin") or {}
    if row["group"] in robin:  # ∫ g − ∫ αu
        alpha = plain(robin[row["group"]][0])
        if isinstance(alpha, str):  # by the producer's own rule
            return
        ell = -float(alpha) * float(areas(places.nodes[F]).m.sum()) * places.group(F)
        need(np.abs(ell - stored).max() <= CLOSE * larger(1.0, float(alpha)), f"{name!r}: ℓ is not that of the group")
        return
    need(not np.isin(on, d.free).any(), f"{name!r}: a flux through what is not fixed")
    if case["problem"].get("convection") is not None:  # ℓ is a sum of rows that are not stored, and K not symmetric
        return
    known.sum_agrees(d, on, stored, float(d.constants[i]), name)
