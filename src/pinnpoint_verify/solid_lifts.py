"""A displacement that was lifted: what it leaves of a solid's data, and its own values; compared, nothing is proved.

For u = u_θ + e the loads of e are f + ∇·Cε(u_θ) = f + μΔu_θ + (λ + μ)∇∇·u_θ in the body and t − Cε(u_θ)n on what is not
held, and e = g − u_θ where displacements are given. In plain floats, as in lifts.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnpoint_verify.checker import Density, Discrete, Shape, areas
from pinnpoint_verify.formulas import formula
from pinnpoint_verify.lifts import Lift, said_agrees
from pinnpoint_verify.reader import Array, Bundle, need, smaller
from pinnpoint_verify.reference import compare, directions, rule
from pinnpoint_verify.rows import Row, near
from pinnpoint_verify.solids import Body, Load, Traction

AXES = ("x", "y", "z")
SMALL = 1e-11
"""Of what is summed: samples are floats."""


class Displacement:
    """A lifted prediction with a part for each component, and the material, which is the same everywhere."""

    def __init__(self, bundle: Bundle, said: Row, body: Body, solid: Row) -> None:
        need(said.keys() == {"kind", "parts"} and len(said["parts"]) == body.d, "lift: not a displacement")
        self.parts = [Lift(bundle, one, f"lift/c{c}_") for c, one in enumerate(said["parts"])]
        self.body, self.solid, self.bundle = body, solid, bundle
        need(not np.any(np.ptp(body.lam)) and not np.any(np.ptp(body.mu)), "lift: across a jump of the material")
        self.lam, self.mu = float(body.lam[0]), float(body.mu[0])

    def values(self, X: Array) -> Array:
        """u_θ, (…, d)."""
        return np.stack([part(X).v for part in self.parts], axis=-1)

    def strain(self, X: Array) -> Array:
        """ε(u_θ), (…, d, d)."""
        slope = np.stack([np.moveaxis(part(X).g, 0, -1) for part in self.parts], axis=-2)
        return 0.5 * (slope + np.swapaxes(slope, -1, -2))

    def stress(self, X: Array) -> Array:
        """Cε(u_θ), (…, d, d)."""
        strain = self.strain(X)
        trace = np.trace(strain, axis1=-2, axis2=-1)
        return 2.0 * self.mu * strain + self.lam * trace[..., None, None] * np.eye(self.body.d)

    def bent(self, X: Array) -> Array:
        """∇·Cε(u_θ), (…, d); ∂_i∂_j of u are differences of second derivatives along e_i + e_j and the axes."""
        d, eye = self.body.d, np.eye(self.body.d)
        each = [[part(X, eye[[i]]).lap for i in range(d)] for part in self.parts]
        found = [self.mu * sum(each[c]) for c in range(d)]
        for i in range(d):
            for j in range(d):
                mixed = (
                    each[j][i]
                    if i == j
                    else 0.5 * (self.parts[j](X, (eye[i] + eye[j])[None]).lap - each[j][i] - each[j][j])
                )
                found[i] = found[i] + (self.lam + self.mu) * mixed
        return np.stack(found, axis=-1)

    def force(self, X: Array) -> Array:
        """F + ∇·Cε(u_θ), (…, d)."""
        return np.stack([formula(f, X) for f in self.solid["body"]], axis=-1) + self.bent(X)

    def given(self, facets: Array, X: Array) -> Array:
        """T on facets, at points (n, q, d); zero where nothing loads."""
        found = np.zeros_like(X)
        for letter, key in (("n", "traction"), ("q", "force")):
            for k, row in enumerate(self.solid[key]):
                own = self.bundle(f"continuous/{letter}{k}", None, whole=len(self.body.facets))
                mine = np.isin(facets, own)
                share = float(areas(self.body.points[self.body.facets[own]]).m.sum()) if key == "force" else 1.0
                for c, t in enumerate(row):
                    if t is not None and np.any(mine):
                        found[mine, :, c] += formula(t, X[mine]) / share
        return found

    def normals(self, facets: Array) -> Array:
        """Outward, (n, d)."""
        cell = self.body.owner[facets]
        g = Shape(self.body.points[self.body.cells[cell]])
        place = np.argmax(self.body.cell_facets[cell] == facets[:, None], axis=1)
        n = -g.grad.m[np.arange(len(facets)), place]
        return np.asarray(n / np.sqrt((n**2).sum(axis=1))[:, None])

    def left(self, facets: Array, X: Array) -> Array:
        """T − Cε(u_θ)n on facets, (n, q, d)."""
        return self.given(facets, X) - np.einsum("nqab,nb->nqa", self.stress(X), self.normals(facets))


def acting_on_rest(bundle: Bundle, body: Body, u: Displacement) -> Load:
    """The loads of what is left, as stored, on every cell and on every pair that is not held; held against samples."""
    load, F, d = Load(body), len(body.facets), body.d
    V = body.points[body.cells]
    size = np.abs(u.bent(V)).max(initial=0.0) + np.abs(u.force(V)).max(initial=0.0)
    for c in range(d):
        load.f[c] = Density(bundle, f"source/f{c}", d, body.C)
        data = load.f[c].on(0, body.C)
        compare(f"body force {AXES[c]}", data, V, lambda X, b, at, c=c: u.force(X)[..., c], SMALL * size)
    covered, k = np.zeros((F, d), dtype=bool), 0
    while f"continuous/s{k}" in bundle:
        facets = bundle(f"continuous/s{k}", None, whole=F)
        for c in range(d):
            name = f"source/t{k}_{c}"
            if f"{name}_at" not in bundle:
                continue
            x = Density(bundle, name, d - 1, F)
            need(np.array_equal(x.at, facets) and not np.any(covered[facets, c]), f"{name}: on other facets, or twice")
            covered[facets, c] = True
            beta, high, e1, e2 = (a[facets] for a in x.on(0, F))
            data, W = (beta, high, e1, e2), body.points[body.facets[facets]]
            most = np.abs(u.stress(W)).max(initial=0.0) + np.abs(u.given(facets, W)).max(initial=0.0)
            compare(
                f"traction {AXES[c]}", data, W, lambda X, b, at, c=c, on=facets: u.left(on[at], X)[..., c], SMALL * most
            )
            load.tractions.append(Traction(c, facets, beta, high, e1, e2, False))
        k += 1
    need(np.array_equal(covered, body.fixed), "traction: what is left of it is not on all that is free")
    return load


def rest_agrees(bundle: Bundle, body: Body, said: Row, u: Displacement) -> None:
    """What is left of held displacements: zero or a formula, g − u_θ at points of the facets."""
    bary, _ = rule(body.d - 1, 6)
    need(len(said["rest"]) == len(said["held"]), "rest: of other groups")
    for k, (given, left) in enumerate(zip(said["held"], said["rest"], strict=True)):
        facets = bundle(f"continuous/d{k}", None, whole=len(body.facets))
        X = np.einsum("qi,nic->nqc", bary, body.points[body.facets[facets]])
        own = u.values(X)
        for c, (g, r) in enumerate(zip(given, left, strict=True)):
            need((g is None) == (r is None), "rest: held in other components")
            if g is not None and X.size:
                wanted, size = formula(g, X) - own[..., c], np.abs(own[..., c]).max() + np.abs(formula(g, X)).max()
                fits = np.abs(formula(r, X) - wanted) <= SMALL * size + 1e-300
                need(np.all(fits), "rest: not what the prediction leaves of a held displacement (sampled)")


def own_agrees(row: Row, own: Any, u: Displacement, cells: Array, facets: Array, v: Array) -> None:
    """The prediction's own value of a query; averages by two rules, whose difference is allowed."""
    fits = isinstance(own, list) and len(own) == 2 and own[1] >= 0.0
    need(fits, f"{row['name']!r}: no value of its own")
    (rough, _), (value, size) = (own_value(row, u, cells, facets, v, n) for n in (8, 12))
    fits = near(own[0], value, 0.0, own[1] + 4.0 * abs(value - rough) + 1e-10 * size + 1e-300)
    need(fits, f"{row['name']!r}: {own[0]!r} is not the value of the prediction that was lifted, {value!r} (sampled)")


def own_value(row: Row, u: Displacement, cells: Array, facets: Array, v: Array, n: int) -> tuple[float, float]:
    """By a rule of n points a direction, and the size of what is averaged."""
    body, d, kind = u.body, u.body.d, row["kind"]
    X, weights = np.array([row.get("at", [0.0] * d)], dtype=float), np.ones(1)
    if kind == "average":
        unit, share = directions(d, 4 * n)
        t, w = np.polynomial.legendre.leggauss(n)
        r = 0.5 * (t + 1.0)
        X = X + float(row["ball"]) * (r[:, None, None] * unit).reshape(-1, d)
        weights = ((0.5 * w * d * r ** (d - 1))[:, None] * share).ravel()
    elif len(cells):
        bary, w = rule(d, smaller(n, 8) if n > 8 else 5)
        size = np.abs(Shape(body.points[body.cells[cells]]).vol.m)
        X, weights = np.einsum("qi,nic->nqc", bary, body.points[body.cells[cells]]), size[:, None] / size.sum() * w
    elif len(facets):
        bary, w = rule(d - 1, n)
        size = areas(body.points[body.facets[facets]]).m
        X, weights = np.einsum("qi,nic->nqc", bary, body.points[body.facets[facets]]), size[:, None] * w
        weights = weights if kind == "reaction" else weights / size.sum()
    values = integrand(row, u, facets, v)(X)
    return float(np.sum(values * weights)), float(np.sum(np.abs(values * weights)))


def integrand(row: Row, u: Displacement, facets: Array, v: Array) -> Callable[[Array], Array]:
    """Of which a query is the value or the average."""
    kind = row["kind"]
    if kind in ("stress", "strain"):
        i, j = (AXES.index(c) for c in row["component"])
        return lambda X: (u.stress if kind == "stress" else u.strain)(X)[..., i, j]
    if kind == "reaction":
        k, n = AXES.index(row["component"]), u.normals(facets)
        return lambda X: np.einsum("nqb,nb->nq", u.stress(X)[..., k, :], n)
    if kind == "patch":
        return lambda X: np.einsum("nqa,na->nq", u.values(X), v)
    k = AXES.index(row["component"])
    return lambda X: u.values(X)[..., k]


def kept_agrees(bundle: Bundle, proof: Row, d: Discrete, rows: list[Row], case: Row) -> None:
    """The displacement that was lifted is the case's; values and raw values, which verdicts are of, are its own."""
    body = Body(bundle, int(proof["degree"]))
    u = Displacement(bundle, proof["lift"], body, proof["solid"])
    given = case.get("prediction")
    source = None if given is None else given["source"]
    for c, one in enumerate(proof["lift"]["parts"]):
        part = given
        if given is not None and source == "expression":
            part = {**given, "expression": given["expression"][c]}
        if given is not None and isinstance(given.get("factor"), list):
            part = {**(part or {}), "factor": given["factor"][c]}
        said_agrees(one, part)
    V = u.values(bundle("mesh/nodes", None, None)).ravel()
    V[d.fixed] += d.held  # which are what it leaves of the data
    values, sizes = d.L @ V + d.constants, abs(d.L) @ np.abs(V) + np.abs(d.constants)
    for row, goal, value, size in zip(rows, proof["goals"], values.tolist(), sizes.tolist(), strict=True):
        own, error = goal["own"]
        need(near(row["raw"], own, 1e-14, error), f"{row['name']!r}: raw is not that of the prediction, {own!r}")
        fits = near(row["value"], value, 0.0, 1e-9 * size + 1e-300)
        need(fits, f"{row['name']!r}: value is not that of the prediction that was lifted, {value!r} (sampled)")
