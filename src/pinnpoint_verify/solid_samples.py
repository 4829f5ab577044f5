"""What is declared of a solid, compared with samples: densities of balls, and ∫f·Φ. It can only refuse."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special

from pinnpoint_verify.checker import Density, Shape, means, up
from pinnpoint_verify.formulas import formula
from pinnpoint_verify.reader import Array, Bundle, need, smaller
from pinnpoint_verify.reference import compare, directions, distance
from pinnpoint_verify.rows import Row
from pinnpoint_verify.solid_data import Data
from pinnpoint_verify.solid_heat import Heat
from pinnpoint_verify.solids import Body, Query

AXES, SPHERE = ("x", "y", "z"), {2: 2.0 * math.pi, 3: 4.0 * math.pi}
RULES = ((24, 40), (48, 80), (96, 160))
"""Directions and radii of samples of ∫f·Φ."""


def held_agrees(bundle: Bundle, body: Body, said: Row, row: Row, goal: Row, data: Data) -> None:
    """A point of a held facet has the given value, which is proved."""
    x0, k, far = np.array(row["at"], dtype=float), AXES.index(row["component"]), [math.inf]
    for n, given in enumerate(said["held"]):
        V = body.points[body.facets[bundle(f"continuous/d{n}", None, whole=len(body.facets))]]
        if given[k] is not None and len(V) and distance(x0, V) <= 1e-12 * float(body.h.max()):
            value = data.at(given[k], x0)
            off = abs(float(value.m) - goal["constant"])
            if off <= goal["error"] + value.r + 1e-12 * abs(float(value.m)) * isinstance(given[k], str):
                far.append(float(up(off + value.r)))
    need(smaller(far) < math.inf, f"{row['name']!r}: not the held value at the point")
    goal["error"] = smaller(far)


def ball_agrees(
    bundle: Bundle,
    body: Body,
    said: Row,
    i: int,
    row: Row,
    goal: Row,
    query: Query,
    blind: list[str],
    *,
    heat: Heat,
    weights: Array | None,
    force: Any = None,
) -> None:
    """The ball lies in one material, ϱ is its density, and the constant is ∫f·Φ."""
    name, d, R, a = row["name"], body.d, float(goal["radius"]), float(row.get("ball", 0.0))
    x0 = np.array(row["at"], dtype=float)
    lam, mu = body.lam, body.mu
    jump = ~body.inner | (lam[body.owner] != lam[body.neighbour]) | (mu[body.owner] != mu[body.neighbour])
    jump |= heat.jumps(body.owner, body.neighbour)
    if weights is not None:
        jump |= np.any(weights[body.owner] != weights[body.neighbour], axis=1)
    inside = x0.shape == (d,) and 0.0 < R <= distance(x0, body.points[body.facets[jump]]) * (1.0 + 1e-12) and a <= R
    need(inside and (a > 0.0) == (row["kind"] == "average"), f"{name!r}: the ball leaves its material")
    near = np.argsort(((body.points[body.cells].mean(axis=1) - x0) ** 2).sum(axis=1))[:64]
    V = body.points[body.cells[near]]
    t = np.linalg.solve((V[:, 1:] - V[:, :1]).swapaxes(1, 2), (x0 - V[:, 0])[:, :, None])[:, :, 0]
    least = np.minimum(t.min(axis=1), 1.0 - t.sum(axis=1))
    need(least.max() > -1e-9, f"{name!r}: the point is outside the mesh")
    cell = int(near[np.argmax(least)])
    kernel = Kernel(d, float(lam[cell]), float(mu[cell]), R, a)
    w = Density(bundle, f"dual/w{i}", d, body.C)
    data, far = w.on(0, body.C), ((body.points[body.cells] - x0) ** 2).sum(axis=2)
    here = np.nonzero(np.isin(np.arange(body.C), w.at) | (np.sqrt(far.min(axis=1)) - body.h < R))[0]

    def rho(X: Array, bary: Array, at: Array) -> Array:
        return kernel.density(((X - x0) ** 2).sum(axis=-1) / R**2)

    compare(
        f"density of {name!r}",
        tuple(x[here] for x in data),
        body.points[body.cells[here]],
        rho,
        1e-9 * kernel.density(np.zeros(1))[0],
    )
    moments_agree(body, w, x0, d * a * a / (d + 2.0), name)
    if heat.given:
        need(
            all(not isinstance(f, str) for f in said["body"]), f"{name!r}: at a point of a heated body under a formula"
        )
        heat.at_point(row, cell, goal)
        return
    if force is None and None in said["body"]:
        blind.append(f"∫f·Φ of {name!r}")
        return
    if force is None and not any(isinstance(f, str) for f in said["body"]):  # Φ's moments of degree 0 vanish
        need(abs(goal["constant"]) <= goal["error"] + 1e-300, f"{name!r}: ∫f·Φ of a constant force is zero")
        return
    f = force or (lambda X: np.stack([formula(g, X) for g in said["body"]], axis=-1))
    seen = [kernel.integral(f, x0, row, *RULES[0])]
    for count, n in RULES[1:]:
        seen.append(kernel.integral(f, x0, row, count, n))
        (rough, _), (value, size) = seen[-2:]
        if abs(goal["constant"] - value) <= goal["error"] + 10.0 * abs(value - rough) + 1e-9 * size:
            return
    need(False, f"{name!r}: ∫f·Φ is {seen[-1][0]!r}, not {goal['constant']!r} (sampled)")


def moments_agree(body: Body, w: Density, x0: Array, second: float, name: str) -> None:
    """∫ϱ = 1, ∫ϱy = 0 and ∫ϱ|y|² are those of the query; what is stored is exact for quadratics, but for its error."""
    V = body.points[body.cells[w.at]] - x0
    vol, beta = Shape(body.points[body.cells[w.at]]).vol.m, w.on(0, body.C)[0][w.at]
    one = np.ones(V.shape[:2])
    tests = [(one, one, 1.0), *((V[:, :, c], one, 0.0) for c in range(body.d))]
    squares = [(V[:, :, c], V[:, :, c]) for c in range(body.d)]
    for parts, wanted in [*(([(p, q)], v) for p, q, v in tests), (squares, second)]:
        p = sum(0.5 * (u[:, :, None] * v[:, None] + u[:, None] * v[:, :, None]) for u, v in parts)
        top = vol * np.abs(p).max(axis=(1, 2))
        found = float(np.sum(vol * np.einsum("njk,jklm,nlm->n", beta, means(body.d, 4).m, p, optimize=True)))
        off = float(np.sum(top * w.rest[:, 1])) + 1e-10 * float(np.sum(top * np.abs(beta).max(axis=(1, 2))))
        need(abs(found - wanted) <= off, f"{name!r}: its density has other moments (sampled)")


class Kernel:
    """ϱ = A₃(1 − s)³ + A₄(1 − s)⁴ with ∫ϱ = 1, ∫ϱr² = d a²/(d + 2), and Φ_k of docs/elasticity.md, section 8."""

    def __init__(self, d: int, lam: float, mu: float, R: float, a: float) -> None:
        self.d, self.lam, self.mu, self.R, self.q = d, lam, mu, R, a / R
        self.theta = 2.0 * (lam + mu) / (lam + 2.0 * mu)
        M = np.array([[0.5 * special.beta(k + 1, d / 2 + i) for k in (3, 4)] for i in (0, 1)])
        self.A = np.linalg.solve(M, np.array([1.0, d * self.q**2 / (d + 2)]))
        p = [(-1) ** j * (self.A[0] * math.comb(3, j) + self.A[1] * math.comb(4, j)) for j in range(5)]
        self.c = np.array([x / (2 * j + d) for j, x in enumerate(p)])

    def density(self, s: Array) -> Array:
        """ϱ."""
        t = np.maximum(0.0, 1.0 - s)
        return (self.A[0] * t**3 + self.A[1] * t**4) / (SPHERE[self.d] * self.R**self.d)

    def radial(self, r: Array) -> tuple[Array, ...]:
        """A, D and their derivatives, times 2μ."""
        d, q, x = self.d, self.q, r / self.R
        j = np.arange(5)
        terms, below = x[:, None] ** (2 * j + 2), self.c / (2 * j + 2)
        mass = x**d * (x[:, None] ** (2 * j) @ self.c)
        N, Q = terms @ below - below.sum(), terms @ (below / (2 * j + 2 + d)) - below.sum() / d
        out = x >= q
        y = np.maximum(x, 1e-300)
        if d == 2:
            S, SQ = -np.log(y), -np.log(y) / 2 + 0.25
        else:
            S, SQ = 1.0 / y - 1.0, 0.5 / y - 1.0 / d
        if q > 0.0:
            first = (-math.log(q) if d == 2 else 1.0 / q - 1.0) + 0.5 * q ** (2 - d)
            S = np.where(out, S, first - x**2 / (2.0 * q**d))
            SQ = np.where(out, SQ - q**2 * y**-d / (2.0 * (d + 2)), first / d - x**2 / (2.0 * q**d * (d + 2)))
        scale = 1.0 / (SPHERE[d] * self.R ** (d - 2))
        N, Q = (N + S) * scale, (Q + SQ) * scale
        point = np.where(out, 1.0, (x / q) ** d if q > 0.0 else 1.0)
        dN = -(point - mass) / (SPHERE[d] * r ** (d - 1))
        dQ = (N - d * Q) / r
        return (
            2.0 * N - self.theta * Q,
            self.theta * (N - d * Q),
            2.0 * dN - self.theta * dQ,
            self.theta * (dN - d * dQ),
        )

    def integral(self, f: Any, x0: Array, row: Row, count: int, n: int) -> tuple[float, float]:
        """∫f·Φ_k, or −∫f·∂Φ of a strain or a stress, and the size of what is summed."""
        e, weights = directions(self.d, count)
        knots = [0.0, *([self.q] if 0.0 < self.q < 1.0 else []), 1.0]
        x, w = special.roots_legendre(n)
        value, size, t = 0.0, 0.0, 0.5 * (1.0 + x)
        for low, high in pairwise(knots):
            r = self.R * (low + (high - low) * t**2)  # finer towards the singularity
            dr = 0.5 * w * self.R * (high - low) * 2.0 * t
            found = self.product(r, e, f(x0 + r[:, None, None] * e), row)
            share = (dr * r ** (self.d - 1))[:, None] * weights * SPHERE[self.d] / (2.0 * self.mu)
            value, size = value + float(np.sum(share * found)), size + float(np.sum(np.abs(share * found)))
        return value, size

    def product(self, r: Array, e: Array, F: Array, row: Row) -> Array:
        """2μ f·Φ_k, or its part in a strain or a stress, at x₀ + re."""
        along, rr = np.einsum("rqc,qc->rq", F, e), r[:, None]
        A, D, dA, dD = (y[:, None] for y in self.radial(r))
        letters = [AXES.index(c) for c in row["component"]]
        if len(letters) == 1:
            return np.asarray(A * F[..., letters[0]] - D * e[:, letters[0]] * along)

        def slope(k: int, axis: int) -> Array:
            bend = (dD - 2.0 * D / rr) * e[:, k] * e[:, axis] * along
            return dA * e[:, axis] * F[..., k] - bend - D / rr * (e[:, k] * F[..., axis] + along * (k == axis))

        a, b = letters
        found = -0.5 * (slope(a, b) + slope(b, a))
        if row["kind"] == "stress":
            trace = sum((slope(k, k) for k in range(self.d)), np.zeros(1))
            found = 2.0 * self.mu * found - (self.lam * trace if a == b else 0.0)
        return np.asarray(found)
