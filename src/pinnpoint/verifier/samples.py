"""What is declared, compared with samples: stored data against the case's formulas, mollifiers and ∫fΦ.

Nothing here is part of a proof, and nothing here can make a bundle verify: it can only refuse. Quadrature is done with
two rules, and what they differ by is allowed.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.polynomial import chebyshev
from scipy import special

from pinnpoint.verifier.checker import DIRICHLET, Cells, Density, Discrete, Mesh, Query, Side, areas, means, quadratic
from pinnpoint.verifier.reader import Array, Bundle, Refused, need

Row = dict[str, Any]
FUNCTIONS = {n: getattr(np, n) for n in "sin cos tan sinh cosh tanh exp log sqrt abs".split()}
FUNCTIONS |= {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "min": np.minimum, "max": np.maximum}
BINARY = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.power}
BALL = {1: 2.0, 2: math.pi, 3: 4.0 * math.pi / 3.0}


def formula(given: Any, X: Array) -> Array:
    """A number, or a formula in x, y, z at points (…, d): a walk over its syntax tree, nothing is executed."""

    def walk(node: Any) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in ("pi", "e"):
            return getattr(math, node.id)
        if isinstance(node, ast.Name) and node.id in ("x", "y", "z")[: X.shape[-1]]:
            return X[..., "xyz".index(node.id)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            return walk(node.operand) * (-1.0 if isinstance(node.op, ast.USub) else 1.0)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            return BINARY[type(node.op)](walk(node.left), walk(node.right))
        known = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS
        need(known and node.args, "formula: unknown part")
        first, *more = [walk(a) for a in node.args]
        f = FUNCTIONS[node.func.id]
        if node.func.id not in ("min", "max"):
            need(not more, "formula: a function of one number")
            return f(first)
        for a in more:
            first = f(first, a)
        return first

    if isinstance(given, str):
        need(len(given) <= 2000, "formula: too long")
        try:
            given = walk(ast.parse(given.strip(), mode="eval").body)
        except (SyntaxError, RecursionError) as error:
            raise Refused("formula: cannot be read") from error
    return np.broadcast_to(np.asarray(given, dtype=float), X.shape[:-1])


def rule(m: int, n: int) -> tuple[Array, Array]:
    """Barycentric points and weights on an m-simplex: Gauss points in collapsed coordinates."""
    bary, weights = np.ones((1, 1)), np.ones(1)
    for k in range(1, m + 1):
        x, w = special.roots_jacobi(n, 0, k - 1)
        x, w = 0.5 * (1.0 + x), w / w.sum()
        bary = np.concatenate([np.repeat(1.0 - x, len(bary))[:, None], np.kron(x[:, None], bary)], axis=1)[:, ::-1]
        weights = np.kron(w, weights)
    return bary, weights


def compare(what: str, data: tuple[Array, ...], V: Array, f: Callable[[Array, Array], Array], loose: Any = 0.0) -> None:
    """Stored coefficients and bounds against a function of points and barycentric coordinates, cells (n, m + 1, d)."""
    beta, high, e1, e2 = data
    m, found = V.shape[1] - 1, []
    for n in (5, 8):
        bary, weights = rule(m, n)
        X = np.einsum("qi,nic->nqc", bary, V)
        gap = f(X, bary) - np.einsum("njk,qj,qk->nq", beta, bary, bary, optimize=True)
        need(np.all(np.isfinite(gap)), f"{what}: the data are not finite (sampled)")
        moments = np.einsum("nq,q,qj,qk->njk", gap, weights, bary, bary, optimize=True)
        found.append((moments, np.sqrt((gap**2) @ weights), np.abs(gap).max(axis=1)))
    (rough, some, _), (fine, rms, top) = found
    size = 1e-10 * (np.abs(beta).max(axis=(1, 2)) + top) + loose
    apart = 4.0 * np.abs(fine - rough).max(axis=(1, 2))
    fits = np.abs(fine).max(axis=(1, 2)) <= e1 + apart + size
    need(np.all(fits), f"{what}: its stored coefficients are not those of the data (sampled)")
    fits = rms <= 1.001 * (high + e2) + 4.0 * np.abs(rms - some) + 10.0 * size
    need(np.all(fits), f"{what}: its stored bounds are too small (sampled)")


def distance(x: Array, V: Array) -> float:
    """Smallest distance of a point from simplices with corners (n, k, d): the nearest point of each of their faces."""
    best, P = math.inf, V - x
    for size in range(1, V.shape[1] + 1):
        for corners in combinations(range(V.shape[1]), size):
            a, E = P[:, corners[0]], P[:, corners[1:]] - P[:, corners[:1]]
            G = E @ E.swapaxes(1, 2)
            t = -np.linalg.solve(G, (E @ a[:, :, None]))[:, :, 0] if size > 1 else np.zeros((len(V), 0))
            inside = np.all(t >= 0.0, axis=1) & (t.sum(axis=1) <= 1.0)
            gap = np.sqrt(((a + np.einsum("nk,nkc->nc", t, E)) ** 2).sum(axis=1))
            best = min(best, float(gap[inside].min(initial=math.inf)))
    return best


def directions(d: int, n: int) -> tuple[Array, Array]:
    """Points of the sphere, and weights that add up to one."""
    if d == 1:
        return np.array([[1.0], [-1.0]]), np.full(2, 0.5)
    angle = math.pi * (np.arange(2 * n) + 0.5) / n
    flat = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if d == 2:
        return flat, np.full(2 * n, 0.5 / n)
    z, w = special.roots_legendre(n)
    ring = np.sqrt(1.0 - z**2)[:, None, None] * flat
    points = np.concatenate([ring, np.broadcast_to(z[:, None, None], (n, 2 * n, 1))], axis=2)
    return points.reshape(-1, 3), np.repeat(w, 2 * n) / (4.0 * n)


def radial(d: int, kappa: float, c: float, R: float, a: float, f: Callable[[Array], Array], n: int) -> Any:
    """C of w = C (1 − s), s = r²/R², and ∫fΦ, with the size of what it is the difference of.

    For the mean v of a solution over spheres −κ(4 s v″ + 2 d v′)/R² + c v = f̄(s). The query of v is ∫w v + ∫fΦ; with
    f = 0 this gives C, with v(0) = 0 it gives ∫fΦ. Collocation at Chebyshev points in s.
    """
    s = 0.5 * (1.0 - np.cos(math.pi * (np.arange(n) + 0.5) / n))

    def at(y: Array, k: int = 0) -> Array:
        return chebyshev.chebvander(2.0 * y - 1.0, n - k) @ (2.0**k * chebyshev.chebder(np.eye(n + 1), k))

    op = c * at(s) - kappa / R**2 * (4.0 * s[:, None] * at(s, 2) + 2.0 * d * at(s, 1))
    system = np.concatenate([op, at(np.zeros(1))])
    right = np.zeros((n + 1, 2))
    right[-1, 0], right[:-1, 1] = 1.0, f(R * np.sqrt(s))
    both = np.linalg.solve(system, right)
    x, w = special.roots_legendre(2 * n)
    x, w = 0.5 * (1.0 + x), 0.5 * w * d
    w = w * x ** (d - 1)
    h, v = ((w @ at((a / R * x) ** 2) @ part, (w * (1.0 - x**2)) @ at(x**2) @ part) for part in both.T)
    C = h[0] / (BALL[d] * R**d * h[1])
    rest = C * BALL[d] * R**d * v[1]
    return C, v[0] - rest, abs(v[0]) + abs(rest)


def potential(d: int, kappa: float, R: float, a: float, r: Array) -> Array:
    """Φ for c = 0 and the mollifier C (1 − s): in closed form."""
    p, q = np.maximum(r, max(a, 1e-300)) / R, a / R
    s = p**2
    factor = {1: R / kappa, 2: 1.0 / (4.0 * math.pi * kappa), 3: 1.0 / (4.0 * math.pi * kappa * R)}[d]
    y = np.maximum(0.0, q**2 - (r / R) ** 2)
    if d == 1:
        out, slope = 3 / 16 - p / 2 + 3 * s / 8 - s**2 / 16, (1 / (4 * q) if q else 0.0) - 3 / 8 + q**2 / 8
        bend = 1 / 16
    elif d == 2:
        out, slope, bend = -np.log(s) - 1.5 + 2 * s - s**2 / 2, (1 / q**2 if q else 0.0) + q**2 - 2, 0.5
    else:
        out, slope = 1 / p - 15 / 8 + 5 * s / 4 - 3 * s**2 / 8, (0.5 / q**3 if q else 0.0) - 5 / 4 + 3 * q**2 / 4
        bend = 3 / 8
    return factor * np.where(r < R, out + y * slope - y**2 * bend, 0.0)


class Samples:
    """All comparisons of one bundle."""

    def __init__(self, bundle: Bundle, mesh: Mesh, proof: Row, case: Row) -> None:
        self.bundle, self.mesh, self.proof = bundle, mesh, proof
        self.nonlinear = bool(np.any(mesh.cubic))
        self.balls: dict[int, tuple[Array, float, float, float, float]] = {}
        problem = case["problem"]
        if proof.get("lift") is None:
            need(proof["source"] == problem["source"], "source: not that of the case")
        for key, values in (("diffusion", mesh.kappa), ("reaction", mesh.c), ("cubic", mesh.cubic)):
            given = problem.get(key)
            need(not isinstance(given, int | float) or np.all(values == given), f"{key}: not that of the case")

    def system(self, d: Discrete, rows: list[Row]) -> None:
        """The stored matrix is that of the mesh and the coefficients; ℓ of groups are their means or fluxes."""
        mesh, m = self.mesh, self.mesh.d
        T = mesh.nodes_of(mesh.cells)
        hats, rises = (x.m for x in quadratic(np.eye(T.shape[1]), m, mesh.degree))
        one, two = means(m, 2).m, means(m, 4).m
        mass = np.einsum("pjk,jklm,qlm->pq", hats, two, hats)
        K = sp.csr_array((d.N, d.N))
        for g in mesh.parts():
            slopes = 2.0 * np.einsum("pjk,nkc->npjc", rises, g.grad.m)
            local = np.einsum("npjc,jk,nqkc->npq", slopes, one, slopes, optimize=True) * g.kappa[:, None, None]
            local = (local + g.c[:, None, None] * mass) * g.vol.m[:, None, None]
            at = T[g.part]
            i, j = np.broadcast_to(at[:, :, None], local.shape), np.broadcast_to(at[:, None, :], local.shape)
            K = K + sp.csr_array((local.ravel(), (i.ravel(), j.ravel())), shape=K.shape)
        far = abs(K[d.free] - d.rows).max()
        need(far <= 1e-11 * abs(K).max(), "a: is not the matrix of the mesh and the coefficients (sampled)")
        for number, row in enumerate(rows):
            if row["kind"] not in ("patch", "flux"):
                continue
            facets = mesh.facets[self.bundle(f"dual/facets{number}", None, whole=len(mesh.facets))]
            on = mesh.nodes_of(facets)
            area = areas(mesh.points[facets]).m
            hats = quadratic(np.eye(on.shape[1]), m - 1, mesh.degree if m > 1 else 1)[0].m
            share = np.einsum("pjk,jk->p", hats, means(m - 1, 2).m) / area.sum()
            ell = np.bincount(on.ravel(), (area[:, None] * share).ravel(), minlength=d.N)
            if row["kind"] == "flux":
                ell = K[np.unique(on)].sum(axis=0)
            gap = np.abs(d.L[[number]].toarray()[0] - ell).max()
            need(gap <= 1e-10 * np.abs(ell).max(), f"{row['name']!r}: ℓ is not that of the group (sampled)")

    def primal(self, p: Side, g: Cells) -> None:
        """S = f − λu_h³ on a range of cells."""
        if self.proof["source"] is None:
            return
        u = p.nodal[self.mesh.cells[g.part]]
        f = lambda X, bary: formula(self.proof["source"], X) - g.cubic[:, None] * (u @ bary.T) ** 3  # noqa: E731
        compare("source", (p.f, p.high, p.e1, p.e2), self.mesh.points[self.mesh.cells[g.part]], f)

    def boundary(self, p: Side) -> float:
        """Max |g_D − u_h| on Γ_D: proved for numbers, the stored bound compared with samples for formulas; g_N."""
        mesh, claimed, seen, m = self.mesh, float(self.proof["mismatch"]), list[int](), self.mesh.d - 1
        for k, given in enumerate(self.proof["dirichlet"]):
            facets = self.bundle(f"continuous/d{k}", None, whole=len(mesh.facets))
            seen += facets.tolist()
            need(np.all(np.diff(facets) > 0), "kind: facets are not in order")
            T = mesh.facets[facets]
            b = quadratic(p.nodal[mesh.nodes_of(T)], m, mesh.degree if m else 1)[0].m
            bary, _ = rule(m, 5)
            at = np.einsum("njk,qj,qk->nq", b, bary, bary, optimize=True) if isinstance(given, str) else b
            X = np.einsum("qi,nic->nqc", bary, mesh.points[T])
            gap = 0.0 if given is None else np.abs(formula(given, X) - at if isinstance(given, str) else at - given)
            top = 1e-13 * float(np.abs(b).max(initial=0.0)) * isinstance(given, str)
            need(np.max(gap, initial=0.0) <= claimed * (1.0 + 1e-9) + top, "state: misses the Dirichlet data")
        fixed = np.nonzero(mesh.kind == DIRICHLET)[0].tolist()
        need(sorted(seen) == fixed, "kind: not the facets with Dirichlet data")
        left = set() if p.load is None else set(p.load.at.tolist())
        for k, given in enumerate(self.proof["neumann"]):
            facets = self.bundle(f"continuous/n{k}", None, whole=len(mesh.facets))
            need(np.all(np.diff(facets) > 0), "Neumann data: facets are not in order")
            if given == 0.0:
                continue
            need(p.load is not None and set(facets.tolist()) <= left, "Neumann data: facets without their load")
            left -= set(facets.tolist())
            if given is not None and p.load is not None:
                data = tuple(a[facets] for a in p.load.on(0, len(mesh.facets)))
                f = lambda X, bary, given=given: formula(given, X)  # noqa: E731
                compare("Neumann data", data, mesh.points[mesh.facets[facets]], f)
        need(not left, "Neumann data: a load that the case does not have")
        return claimed

    def ball(self, i: int, goal: Row, row: Row) -> tuple[Array, float, float, float, float]:
        """x₀, R, the radius of the average, C and its error; the ball must lie where the coefficients are constant."""
        if i in self.balls:
            return self.balls[i]
        mesh, name, d = self.mesh, row["name"], self.mesh.d
        x0, a, R = np.array(goal["at"], dtype=float), float(goal["average"]), float(goal["radius"])
        need(goal["at"] == row["at"] and (a > 0.0) == (row["kind"] == "average"), f"{name!r}: not the query's ball")
        facets = mesh.points[mesh.facets]
        jump = (mesh.neighbour < 0) | (mesh.kappa[mesh.owner] != mesh.kappa[mesh.neighbour])
        if not self.nonlinear:
            jump |= mesh.c[mesh.owner] != mesh.c[mesh.neighbour]
        inside = 0.0 < R <= distance(x0, facets[jump]) * (1.0 + 1e-12) and a <= R
        need(inside, f"{name!r}: the ball leaves where the coefficients are constant")
        gaps = ((mesh.points[mesh.cells].mean(axis=1) - x0) ** 2).sum(axis=1)
        cell = self.cell_of(x0, np.argsort(gaps)[:64])
        need(cell >= 0, f"{name!r}: the point is outside the mesh")
        kappa, c = float(mesh.kappa[cell]), 0.0 if self.nonlinear else float(mesh.c[cell])
        need(goal["kappa"] == kappa, f"{name!r}: not the diffusion at the point")
        C0 = C = math.nan
        if R * math.sqrt(c / kappa) < 20.0 and self.proof["source"] is not None:
            points, weights = directions(d, 24)
            f = lambda r: formula(self.proof["source"], x0 + r[:, None, None] * points) @ weights  # noqa: E731
            (C0, rough, _), (C, value, size) = (radial(d, kappa, c, R, a, f, n) for n in (24, 32))
            off = goal["error"] + 10.0 * abs(value - rough) + 1e-9 * size
            fits = abs(goal["constant"] - value) <= off
            need(fits, f"{name!r}: ∫fΦ is {value!r}, not {goal['constant']!r} (sampled)")
        elif R * math.sqrt(c / kappa) < 20.0:
            C0, C = (radial(d, kappa, c, R, a, lambda r: 0.0 * r, n)[0] for n in (24, 32))
        self.balls[i] = x0, R, a, C, 1e-8 * abs(C) + 10.0 * abs(C - C0)
        return self.balls[i]

    def cell_of(self, x0: Array, some: Array) -> int:
        """A cell that holds a point, among some; −1 where none does."""
        V = self.mesh.points[self.mesh.cells[some]]
        E = (V[:, 1:] - V[:, :1]).swapaxes(1, 2)
        t = np.linalg.solve(E, (x0 - V[:, 0])[:, :, None])[:, :, 0]
        least = np.minimum(t.min(axis=1), 1.0 - t.sum(axis=1))
        return int(some[np.argmax(least)]) if least.max() > -1e-9 else -1

    def dual(self, i: int, query: Query, g: Cells, goal: Row, row: Row) -> None:
        """W of a point or a ball on a range of cells: C (1 − s), and what the cubic adds."""
        if goal["radius"] is None:
            return
        mesh, z = self.mesh, query.z
        x0, R, a, C, off = self.ball(i, goal, row)
        low, high = np.searchsorted(z.source.at, [g.part.start, g.part.stop])
        here = z.source.at[low:high] - g.part.start
        V = mesh.points[mesh.cells[g.part]][here]
        far, h = np.sqrt(((V - x0) ** 2).sum(axis=2)), g.h[here]
        cut = (far.max(axis=1) > R * (1.0 - 1e-9)) & (far.min(axis=1) - h < R)
        if math.isnan(C):
            return
        loose = np.where(cut, 0.1 * C * np.minimum(1.0, h / R), off)
        apart = far.min(axis=1) > h
        u, v = (side.nodal[mesh.cells[g.part]][here] for side in (query.p, z))
        c, cubic = g.c[here][:, None], g.cubic[here][:, None]

        def w(X: Array, bary: Array) -> Array:
            r = np.sqrt(((X - x0) ** 2).sum(axis=-1))
            found = C * np.maximum(0.0, 1.0 - (r / R) ** 2)
            if not self.nonlinear:
                return found
            slope = 3.0 * cubic * (u[:, : mesh.d + 1] @ bary.T) ** 2
            phi = potential(mesh.d, float(goal["kappa"]), R, a, r)
            return found - (c + slope) * phi - slope * (v[:, : mesh.d + 1] @ bary.T)

        data = tuple(x[here] for x in (z.f, z.high, z.e1, z.e2))
        if self.nonlinear:  # Φ is singular, and kinks at its spheres
            keep = apart & ~cut & ((far.min(axis=1) > a) | (far.max(axis=1) < a))
            data, V, loose = tuple(x[keep] for x in data), V[keep], (1e-6 * C + 0.0 * loose)[keep]
            u, v, c, cubic = u[keep], v[keep], c[keep], cubic[keep]
        compare(f"mollifier of {row['name']!r}", data, V, w, loose)

    def goal(self, i: int, query: Query | None, p: Side, goal: Row, row: Row) -> None:
        """What else a query's form consists of: masses, loads of groups, values on the Dirichlet boundary."""
        mesh, name, kind = self.mesh, row["name"], goal["kind"]
        if kind in ("patch", "flux"):
            self._group(i, query, p, goal, name)
        elif goal["known"]:
            x0 = np.array(goal["at"], dtype=float)
            V = mesh.points[mesh.facets[mesh.kind == DIRICHLET]]
            on = goal["at"] == row["at"] and distance(x0, V) <= 1e-9 * float(mesh.h.max())
            need(on, f"{name!r}: not on the Dirichlet boundary")
            values = [float(formula(f, x0[None, :])[0]) for f in self.proof["dirichlet"] if f is not None]
            off = goal["error"] + float(self.proof["mismatch"]) + 1e-12 * abs(goal["constant"]) + 1e-15
            fits = None in self.proof["dirichlet"] or any(abs(goal["constant"] - v) <= off for v in values)
            need(fits, f"{name!r}: not the value on the Dirichlet boundary (sampled)")
        elif query is not None and query.z.load is not None:
            at = query.z.load
            end = mesh.d == 1 and np.all(at.beta == 1.0) and mesh.points[mesh.facets[at.at, 0], 0] == goal["at"][0]
            need(end and goal["constant"] == 0.0 and not np.any(query.z.source.beta), f"{name!r}: not a unit load")
        elif query is not None and not self.nonlinear:
            _, R, _, C, known = self.ball(i, goal, row)
            mass = C * {1: 4.0 / 3.0, 2: math.pi / 2.0, 3: 8.0 * math.pi / 15.0}[mesh.d] * R**mesh.d
            w = query.z.source
            held = float(np.sum(w.beta.mean(axis=1) * mesh.top[w.at]))
            off = known / C * mass + float(np.sum(mesh.top[w.at] * w.rest[:, 1]))
            fits = math.isnan(mass) or abs(held - mass) <= off
            need(fits, f"mollifier of {name!r}: its mass is not {mass!r} (sampled)")

    def _group(self, i: int, query: Query | None, p: Side, goal: Row, name: str) -> None:
        """An average over a group, or a flux through it."""
        mesh, kind = self.mesh, goal["kind"]
        part = self.bundle(f"dual/facets{i}", None, whole=len(mesh.facets))
        need(len(part) and np.all(np.diff(part) > 0), f"{name!r}: facets are not in order")
        need(query is None or self.nonlinear or not np.any(query.z.source.beta), f"{name!r}: not the form of a {kind}")
        if kind == "flux":
            need(goal["constant"] == 0.0, f"{name!r}: a flux has no constant")
            return
        area, fixed = areas(mesh.points[mesh.facets[part]]).m, mesh.kind[part] == DIRICHLET
        load: Density | None = None if query is None else query.z.load
        places = np.zeros(0, int) if load is None else load.at
        even = load is None or np.allclose(load.beta * area.sum(), 1.0, rtol=1e-12)
        need(even and np.array_equal(places, part[~fixed]), f"{name!r}: not the load of the group")
        at, degree = p.nodal[mesh.nodes_of(mesh.facets[part[fixed]])], mesh.degree if mesh.d > 1 else 1
        b = quadratic(at, mesh.d - 1, degree)[0].m
        mean = np.einsum("njk,jk->n", b, (1.0 + np.eye(mesh.d)) / (mesh.d * (mesh.d + 1)))
        value = float(area[fixed] @ mean / area.sum())
        off = goal["error"] + float(self.proof["mismatch"]) + 1e-12 * abs(value)
        need(abs(goal["constant"] - value) <= off, f"{name!r}: the Dirichlet part has the mean {value!r} (sampled)")
