"""General reactions: −∇·(κ∇u) + c u + g(u) = f with g′ ≥ 0, g a formula of the case (docs/checking.md, section 12).

    J(u) = J(u_h) + R(z_h) + b(e₁, ε) − ∫ q G,   |q| = |g(u) − g(u_h) − μe| ≤ off |e| + ½ bend e²,

μ ≥ 0 a number on each cell. g(u_h) and f − g(u_h) are enclosed from the formulas, g′ and g″ derived from g.
"""

from __future__ import annotations

import math
import re
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint_verify.checker import (
    DIRICHLET,
    UNIT,
    Ball,
    Cells,
    Density,
    Mesh,
    Query,
    Side,
    length,
    means,
    mix,
    quadratic,
    total,
    up,
)
from pinnpoint_verify.cubics import Norms, faces
from pinnpoint_verify.derivatives import derivative, on_the_line, readable
from pinnpoint_verify.discs import Composed, Ranges
from pinnpoint_verify.enclosures import largest
from pinnpoint_verify.formulas import formula
from pinnpoint_verify.glued import joined
from pinnpoint_verify.own import data_bounds, kept_below, replaced
from pinnpoint_verify.reader import Array, Bundle, larger, need
from pinnpoint_verify.rows import is_number

Row = dict[str, Any]
PI_LOW = 3.141592653589793
SHARE = 2e-8
"""By which lower bounds of coefficients that vary may be missed, and more (varying.py)."""


class Reaction:
    """g of a bundle with its slopes on the cells and what they leave."""

    def __init__(self, bundle: Bundle, mesh: Mesh, proof: Row, case: Row) -> None:
        said = proof["reaction"]
        need(isinstance(said, dict) and said.keys() == {"g", "range", "bend"}, "reaction: not g, a range and a bound")
        self.mesh, self.text = mesh, readable(said["g"])
        self._of_the_case(case["problem"])
        need(
            proof["lift"] is None and not np.any(mesh.cubic) and np.all(mesh.c >= 0.0),
            "reaction: beside another kind of equation",
        )
        self.first = derivative(self.text)
        self.second = derivative(self.first)  # checking.md, step 12a
        need(on_the_line(self.first)[0] >= 0.0, "g: its derivative is not proved to be ≥ 0 on the real line")
        self.mu, self.off = (bundle(f"reaction/{k}", mesh.C) for k in ("slope", "off"))
        need(np.all(self.mu >= 0.0) and np.all(self.off >= 0.0), "reaction: a negative slope or bound")
        self.g = Density(bundle, "reaction/g", mesh.d, mesh.C)
        need(is_number(said["bend"]) and said["bend"] >= 0.0, "reaction: no bound of g″")
        self.bend, self.ends = float(said["bend"]), said["range"]
        names = [f"continuous/n{k}" for k in range(len(proof["neumann"]))]
        self.sides = [
            (bundle(n, None, whole=len(mesh.facets)), g) for n, g in zip(names, proof["neumann"], strict=True)
        ]
        fits = self.ends is None or (isinstance(self.ends, list) and len(self.ends) == 2)
        need(fits and (self.ends is None or all(map(is_number, self.ends))), "reaction: no range")

    def _of_the_case(self, problem: Row) -> None:
        given = problem.get("g")
        if given is not None:
            said = repr(float(given)) if is_number(given) else given
            need(isinstance(said, str) and said.strip() == self.text, "g: not that of the case")
            return
        factor = problem.get("cubic")
        need(is_number(factor) and self.text == f"({float(factor)!r})*u**3", "g: not that of the case")  # type: ignore[arg-type]

    def simplices(self, nodal: Array, cells: Array) -> Array:
        """Cells with further coordinates, affine on them: u_h, or barycentric ones and the values at nodes."""
        mesh = self.mesh
        V, w = mesh.points[mesh.cells[cells]], nodal[mesh.nodes_of(mesh.cells[cells])]
        if mesh.degree == 1:
            return np.concatenate([V, w[:, :, None]], axis=2)
        n = mesh.d + 1
        bary = np.broadcast_to(np.eye(n), (len(V), n, n))
        return np.concatenate([V, bary, np.broadcast_to(w[:, None, :], (len(V), n, w.shape[1]))], axis=2)

    def formula(self, source: Any = None) -> Composed:
        """G(u_h), or the source less it, of these coordinates."""
        text = self.text if source is None else f"({source})-({self.text})"
        return Composed.of(text, self.mesh.d, self.mesh.degree == 2)

    def enclose(self, p: Side, source: Any, close: float) -> None:
        """Bounds of f − g(u_h) and of g(u_h) from the formulas, in the place of those stored."""
        mesh = self.mesh
        cells = np.arange(mesh.C)
        V = self.simplices(p.nodal, cells)
        need(source is not None and not isinstance(source, list), "source: without a formula, beside a reaction")
        for own, text in ((p.source, self.formula(source)), (self.g, self.formula())):
            full, high, e1, e2 = own.on(0, mesh.C)
            rest, kept = data_bounds(text, V, full, np.stack([high, e1, e2], axis=1), close)
            need(not np.any(kept), "source, g: a kink beside a reaction")
            made = replaced(own, cells, full, rest)
            if own is p.source:
                p.source = made
            else:
                self.g = made

    def state(self, nodal: Array) -> Ball:
        """Bernstein coefficients on all cells."""
        mesh = self.mesh
        return quadratic(nodal[mesh.nodes_of(mesh.cells)], mesh.d, mesh.degree)[0]

    def join(self, query: Query, name: str) -> None:
        """The dual source w − (c + μ)Φ − μz_h, from w, Φ and z_h; what is stored of it must be the same."""
        mesh = self.mesh
        assert query.phi is not None
        w, f, old = (x.on(0, mesh.C) for x in (query.w, query.phi, query.z.source))
        # where coefficients vary c is part of w, indefinite.md, step 10b
        both, z = self.mu + (mesh.c if mesh.medium is None else 0.0), self.state(query.z.nodal)
        full = w[0] - both[:, None, None] * f[0] - self.mu[:, None, None] * z.m  # checking.md, step 12c
        size = np.abs(w[0]) + np.abs(both[:, None, None] * f[0]) + np.abs(self.mu[:, None, None] * z.m)
        blur = up(8.0 * UNIT * size.max(axis=(1, 2)) + self.mu * np.max(z.r + np.zeros_like(z.m), axis=(1, 2)))
        rest = np.stack([w[k] + both * f[k] for k in (1, 2, 3)], axis=1) * (1.0 + 8.0 * UNIT)
        rest[:, 1:] += blur[:, None]
        near = bool(np.all(np.abs(old[0] - full) <= 1e-9 * float(size.max(initial=0.0)) + 1e-300))
        sums = np.stack(old[1:], axis=1).sum(axis=0), rest.sum(axis=0)
        near = near and bool(np.all(np.abs(sums[0] - sums[1]) <= 0.5 * sums[1] + 1e-9 * size.sum()))
        need(near, f"dual source of {name!r}: not w − (c + μ)Φ − μz_h")
        query.z.source = replaced(query.z.source, np.arange(mesh.C), full, up(rest))

    def against(self, phi: Density, p: Side, part: Cells, terms: Ball, off: Array) -> tuple[Ball, Array]:
        """Terms of a query less the means of (c u_h + g(u_h))Φ on a range of cells, and what errors add."""
        d, at = self.mesh.d, (part.part.start, part.part.stop)
        P, high, e1, _ = phi.on(*at)
        G, rest, wrong, more = self.g.on(*at)
        M, top = means(d, 4), p.b.top.max(axis=(1, 2))
        c = part.c if self.mesh.medium is None else np.zeros(len(part.c))
        gone = mix("njk,jklm,nlm->n", P, M, G) + c * mix("njk,jklm,nlm->n", P, M, p.b)
        # Φ = P + k + ε′ and g = G + h + ε with h, k ⟂ quadratics: ∫gΦ − ∫GP = ∫hk + ∫ε(P + k) + ∫gε′
        slip = rest * high + wrong * np.abs(P).max(axis=(1, 2)) + more * high  # checking.md, step 12d
        return terms - gone, np.asarray(up(off + slip + (self._height(p) + c * top) * e1))

    def _height(self, p: Side) -> Array:
        """Upper bounds of |g(u_h)| on cells: g rises, so that its ends are those of the state's."""
        low, high = (p.b.m - p.b.r).min(axis=(1, 2)), (p.b.m + p.b.r).max(axis=(1, 2))
        ends = [Ranges(self._of_x(self.text), [Ball(x)]).value.top for x in (low, high)]
        return np.maximum(ends[0], ends[1])

    @staticmethod
    def _of_x(text: str) -> str:
        return re.sub(r"\bu\b", "x", text)

    def norms(self, p: Side, eta: float, source: Any) -> Left:
        """What the remainder rests on, proved: the range of u, g″ on it, and g′ − μ on the cells."""
        mesh, own = self.mesh, Norms(p)
        b = self.state(p.nodal)
        low, high = (b.m - b.r).min(axis=(1, 2)), (b.m + b.r).max(axis=(1, 2))
        B = np.broadcast_to(self.mu[:, None, None], (mesh.C, 2, 2))
        fits = kept_below(self._of_x(self.first), np.stack([low, high], axis=1)[:, :, None], B, self.off)
        need(fits, "reaction: g′ is further from its slopes on some cell")
        if self.ends is None:
            need(larger(*map(abs, on_the_line(self.second))) <= self.bend, "reaction: g″ is larger somewhere")
        else:
            ends = np.array(self.ends, dtype=float)
            need(ends[0] <= low.min() and high.max() <= ends[1], "reaction: the state leaves the range")
            self._in_range(p, own, eta, source, (float(low.min()), float(high.max())))
            zero = np.zeros((1, 2, 2))
            fits = kept_below(self._of_x(self.second), ends[None, :, None], zero, np.array([self.bend * (1.0 - 1e-9)]))
            need(fits, "reaction: g″ is larger in the range of u")
        slack = np.maximum(self.off * (1.0 + 1e-9), 1e-12 * float(np.max(self.mu, initial=0.0)))
        return Left(self, own, length(up(slack * np.sqrt(mesh.top))))

    def _in_range(self, p: Side, own: Norms, eta: float, source: Any, seen: tuple[float, float]) -> None:
        """U lies in the range: by C_pt in one dimension, else by comparison with a number, or by Talenti's theorem."""
        mesh = self.mesh
        if mesh.d == 1:
            far = own.top * eta
            fits = self.ends[0] <= seen[0] - up(far) and seen[1] + up(far) <= self.ends[1]
            need(fits, "reaction: u may leave the range")
            return
        facets = mesh.facets[mesh.kind == DIRICHLET]
        b = quadratic(p.nodal[mesh.nodes_of(facets)], mesh.d - 1, mesh.degree)[0]
        f = _ends(source, mesh)
        for side, end, load in ((1.0, float(self.ends[1]), f[1]), (-1.0, -float(self.ends[0]), -f[0])):
            start = larger(0.0, float(np.max(side * b.m + b.r, initial=0.0)))
            rises = p.load is None and end >= start and self._lifted(side, end) >= load
            fits = rises or self._spread(side, start, load) <= end or self._pushed(side, start, load, end)
            need(fits, "reaction: u may leave the range")

    def at_zero(self) -> tuple[float, float]:
        """Numbers that g(0) lies between."""
        value = Ranges(self._of_x(self.text), [Ball(np.zeros(1))]).value
        return float(value.m[0] - value.r[0]), float(value.m[0] + value.r[0])

    def _lifted(self, side: float, M: float) -> float:
        """A lower bound of cM + side · g(side · M)."""
        value = Ranges(self._of_x(self.text), [Ball(np.array([side * M]))]).value
        least = self.mesh.c.min() if self.mesh.medium is None else self.mesh.medium.least()
        return float(side * value.m[0] - value.r[0] + least * M * (1.0 - math.copysign(1e-12, least))) - 1e-300

    def _spread(self, side: float, start: float, load: float) -> float:
        """Talenti: start + sR²/(2d min κ) where all of the boundary is fixed."""
        mesh = self.mesh
        if np.any(mesh.kind > DIRICHLET) or mesh.pairs is not None:
            return math.inf
        if mesh.medium is not None and mesh.medium.least() < 0.0:
            return math.inf
        size, kappa = total(mesh.top) / PI_LOW, float(mesh.kappa.min()) * (1.0 - SHARE * (mesh.medium is not None))
        square = size if mesh.d == 2 else (0.75 * size) ** (2.0 / 3.0)
        s = larger(0.0, load - self._lifted(side, start))
        return float(up(start + s * square / (2.0 * mesh.d * kappa) * (1.0 + 1e-12)))

    def _pushed(self, side: float, start: float, load: float, end: float) -> bool:
        """Whether u stays below `end` in a box of one κ with fluxes that are numbers (indefinite.md, step 8b)."""
        mesh = self.mesh
        kappa, (on, kind) = float(mesh.kappa.min()), faces(mesh)
        one = np.all(mesh.kappa == kappa) and np.all(np.any(on, axis=(0, 1))) and _along_axes(mesh)
        one = one and mesh.medium is None
        if not one or not all(is_number(g) for _, g in self.sides):
            return False
        widths, G = np.ptp(mesh.points, axis=0) * (1.0 + 1e-12), np.zeros(mesh.d)
        for facets, given in self.sides:
            V = mesh.points[mesh.facets[facets]]
            for i in range(mesh.d):
                here = np.any(np.all(V[:, :, i] == V[:, :1, i], axis=1))
                G[i] = np.maximum(G[i], side * float(given)) if here else G[i]
        bent, raised = 2.0 * G / widths * (1.0 + 4e-12), G * widths / (4.0 * kappa)
        M = end * (1.0 - 1e-15) - float(raised.sum()) * (1.0 + 1e-12)
        if M >= start and self._lifted(side, M) >= larger(0.0, load) + float(bent.sum()):
            return True
        for j, two in enumerate(on):
            if any(np.all(kind[face] == DIRICHLET) for face in two):
                rest = np.arange(mesh.d) != j
                F = larger(0.0, load - self._lifted(side, start)) + float(bent[rest].sum())
                own = F * widths[j] ** 2 / (2.0 * kappa) + G[j] * widths[j] / kappa
                if (start + own + float(raised[rest].sum())) * (1.0 + 1e-12) <= end:
                    return True
        return False


class Left:
    """The remainder of a general reaction."""

    def __init__(self, own: Reaction, norms: Norms, spread: float) -> None:
        self.own, self.inner, self.spread = own, norms, spread

    def remainder(self, eta: float, eta_d: float, z: Array, goal: Row) -> tuple[float, float]:
        """Upper bounds of ∫q⁺G and ∫q⁻G: A η (‖off‖₂ + ½ bend C₂ η), from both sides."""
        n = self.inner
        A = float(np.max(self.own.state(z).top)) * n.second + n.fourth**2 * eta_d
        A += n.beside(goal)
        # checking.md, step 12e
        both = float(up(A * eta * (self.spread + 0.5 * self.own.bend * n.second * eta)))
        return both, both


def _along_axes(mesh: Mesh) -> bool:
    """Whether vertices of periodic pairs differ in one coordinate alone: then sums of functions of one are periodic."""
    if mesh.pairs is None:
        return True
    apart = mesh.points[mesh.pairs.second] != mesh.points[mesh.pairs.first]
    return bool(np.all(apart.any(axis=1).sum(axis=1) == 1))  # indefinite.md, step 11c


def _ends(source: Any, mesh: Mesh) -> tuple[float, float]:
    """Lower and upper bound of a source on the mesh."""
    if not isinstance(source, str):
        return float(source), float(source)
    V = mesh.points[mesh.cells]
    halves = [0.5 * (V[:, i] + V[:, j]) for i, j in combinations(range(mesh.d + 1), 2)]
    seen = formula(source, np.concatenate([mesh.points, V.mean(axis=1), *halves]))
    middle, half = 0.5 * float(seen.min() + seen.max()), 0.5 * float(np.ptp(seen))
    B = np.full((len(V), mesh.d + 1, mesh.d + 1), middle)
    far = largest(source, V, B, larger(1.01 * half, 1e-9 * abs(middle), 1e-300))
    return float(-up(far - middle)), float(up(far + middle)) if far + middle >= 0.0 else far + middle * (1.0 - 1e-12)


def reaction_load(bundle: Bundle, text: str, U: Array) -> Array:
    """Σ v φ g(u) at the points of the stored rule, in plain floats."""
    phi, v = bundle("system/shapes", None, None), bundle("system/weights", None, None)
    cells = complete_cells(bundle, phi.shape[1], len(U))
    need(len(cells) == len(v) and v.shape[1] == len(phi), "system/weights: of another mesh")
    g = formula(re.sub(r"\bu\b", "x", text), (U[cells] @ phi.T)[..., None])
    found = np.zeros(len(U))
    np.add.at(found, cells, (v * g) @ phi)
    return found


def complete_cells(bundle: Bundle, count: int, size: int) -> Array:
    """Vertices and, of quadratic elements, midpoints j < k of the cells."""
    cells = bundle("mesh/cells", None, None, whole=size)
    n = cells.shape[1]
    if count == n:
        return joined(bundle, cells)
    pairs = [np.sort(cells[:, [j, k]], axis=1) for j, k in combinations(range(n), 2)]
    points = int(cells.max()) + 1
    keys = [pair[:, 0] * points + pair[:, 1] for pair in pairs]
    known = np.unique(np.concatenate(keys))
    full = np.concatenate([cells, points + np.stack([np.searchsorted(known, k) for k in keys], axis=1)], axis=1)
    return joined(bundle, full, known)
