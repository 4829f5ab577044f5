"""Random problems −∇·(A∇u) + b·∇u + c u = f with a known u, on boxes, for formulas, matrices and convection.

u = ΠX_i(x_i) vanishes where it is fixed. Everything is written as text, and the source is put together by the product
rule from derivatives that are written out by hand: nothing of it is computed by the code under test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import spsolve

import pinnpoint as pp
from pinnpoint.fem.assembling.varied_assembly import shape_derivatives
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.quadrature import at_points, rule
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.energy.estimator import Side
from pinnpoint.transfer.media.coefficients import balance, matrix

DOMAINS = {1: "interval", 2: "square", 3: "cube"}
NAMES = "xyz"
SIDES = {
    1: ["left", "right"],
    2: ["left", "right", "bottom", "top"],
    3: ["left", "right", "bottom", "top", "front", "back"],
}


def factor(rng: np.random.Generator, v: str, free: bool) -> tuple[str, str, str]:
    """A function of one coordinate with its two derivatives; it vanishes at 0, and at 1 unless that end is free."""
    a = f"({rng.uniform(-1.0, 1.0):.2f})"
    if rng.random() < 0.5:
        w = f"({rng.integers(1, 3)}*pi)" if not free else f"({rng.integers(0, 2)}+0.5)*pi"
        w = f"({w})"
        return f"sin({w}*{v})", f"({w}*cos({w}*{v}))", f"(-{w}**2*sin({w}*{v}))"
    e = f"exp({a}*{v})"
    if free:
        return f"({v}*{e})", f"((1+{a}*{v})*{e})", f"((2*{a}+{a}**2*{v})*{e})"
    return (
        f"(4*{v}*(1-{v})*{e})",
        f"(4*(1-2*{v}+{a}*{v}*(1-{v}))*{e})",
        f"(4*(-2+2*{a}*(1-2*{v})+{a}**2*{v}*(1-{v}))*{e})",
    )


@dataclass(frozen=True)
class Wavy:
    """base + size·sin(k·x + t) or base·exp(size·(k·x)), with its derivatives."""

    text: str
    slopes: tuple[str, ...]

    @classmethod
    def random(cls, rng: np.random.Generator, d: int, base: float, size: float) -> Wavy:
        k, t = np.round(rng.uniform(-3.0, 3.0, d), 2), round(float(rng.uniform(0.0, 6.0)), 2)
        phase = "+".join(f"({k[i]})*{NAMES[i]}" for i in range(d)) + f"+{t}"
        if base > 0.0 and rng.random() < 0.5:
            s = round(size / base / 6.0, 3)
            text = f"({base:g}*exp({s}*({phase})))"
            return cls(text, tuple(f"({s}*({k[i]})*{text})" for i in range(d)))
        return cls(f"({base}+{size}*sin({phase}))", tuple(f"({size}*({k[i]})*cos({phase}))" for i in range(d)))


def constant(value: float, d: int) -> Wavy:
    return Wavy(f"({value})", ("0",) * d)


@dataclass(frozen=True)
class Case:
    """A problem with its solution; `points` says whether point values are to be asked for."""

    d: int
    kind: str
    problem: Any
    u: str
    first: list[str]
    flux: tuple[str, ...]
    free: bool
    points: bool

    def value(self, X: np.ndarray) -> np.ndarray:
        return parse(self.u)(X)

    def over(self, side: str, text: str) -> float:
        """The integral of a formula over a side of the box, by Gauss's rule."""
        axis, end = divmod(SIDES[self.d].index(side), 2)
        x, w = np.polynomial.legendre.leggauss(30)
        x, w = 0.5 + 0.5 * x, 0.5 * w
        rest = np.meshgrid(*[x] * (self.d - 1), indexing="ij")
        weight = np.ones(1)
        for _ in range(self.d - 1):
            weight = np.outer(weight, w).ravel()
        columns = [r.ravel() for r in rest]
        columns.insert(axis, np.full(weight.size, float(end)))
        return float(weight @ parse(text)(np.stack(columns, axis=1)))


def draw(seed: int, kind: str, d: int, n: int) -> Case:
    """A random case: kind is "scalar", "constant matrix", "matrix" or "convection"."""
    rng = np.random.default_rng([seed, d, len(kind)])
    free, degree = bool(rng.random() < 0.5), int(rng.integers(1, 3))
    X = [factor(rng, NAMES[i], free and i == 0) for i in range(d)]
    u = "*".join(f[0] for f in X)
    first = ["*".join(X[i][int(i == j)] for i in range(d)) for j in range(d)]
    second = [["*".join(X[i][(i == j) + (i == k)] for i in range(d)) for k in range(d)] for j in range(d)]
    A = [[constant(0.0, d)] * d for _ in range(d)]
    scale = float(np.round(10.0 ** rng.uniform(-1.0, 1.0), 3))
    if kind in ("scalar", "convection"):
        one = Wavy.random(rng, d, scale, round(0.6 * scale, 4)) if kind == "scalar" else constant(scale, d)
        for i in range(d):
            A[i][i] = one
    else:
        vary = kind == "matrix"
        for i in range(d):
            for j in range(i, d if d < 3 else min(d, i + 2 - min(i, 1))):
                base = scale * (1.0 + 0.5 * i) if i == j else round(0.2 * scale, 4)
                A[i][j] = A[j][i] = Wavy.random(rng, d, base, round(0.3 * base, 4)) if vary else constant(base, d)
    b = [constant(0.0, d)] * d
    c = Wavy.random(rng, d, 2.0, 1.0) if rng.random() < 0.5 else constant(float(rng.integers(0, 3)), d)
    if kind == "convection":
        speed = scale * float(np.round(10.0 ** rng.uniform(-0.5, 1.0), 2))
        b = [Wavy.random(rng, d, 0.0, round(0.3 * speed, 3)) for _ in range(d)]
        b[0] = Wavy(f"({speed}+{b[0].text})", b[0].slopes)
        c = constant(round(0.5 * sum(0.9 * speed for _ in range(d)) + 0.1, 3), d)
        if free:  # nothing may flow in through x = 1
            b[0] = Wavy(f"({speed}*(1+0.2*{NAMES[0]}))", (f"({0.2 * speed})", *("0",) * (d - 1)))
    there = [(i, j) for i in range(d) for j in range(d) if A[i][j].text != "(0.0)"]
    flux = tuple("+".join(f"{A[i][j].text}*{first[j]}" for k, j in there if k == i) for i in range(d))
    div = "+".join(f"{A[i][j].text}*{second[i][j]}" for i, j in there)
    slopes = [f"{A[i][j].slopes[i]}*{first[j]}" for i, j in there if A[i][j].slopes[i] != "0"]
    div = "+".join([div, *slopes])
    drift = "+".join(f"{b[i].text}*{first[i]}" for i in range(d))
    source = f"-({div})+{c.text}*{u}" + (f"+{drift}" if kind == "convection" else "")
    fixed = [s for s in SIDES[d] if not (free and s == "right")]
    diffusion: Any = A[0][0].text if kind in ("scalar", "convection") else [[a.text for a in row] for row in A]
    problem = pp.fem.ReactionDiffusion(
        generate(DOMAINS[d], n),
        source,
        diffusion,
        c.text,
        dict.fromkeys(fixed, 0.0),
        {"right": flux[0]} if free else {},
        convection=tuple(v.text for v in b) if kind == "convection" else None,
        degree=degree,
    )
    return Case(d, kind, problem, u, first, flux, free, kind != "matrix" or d < 3)


def ask(case: Case, rng: np.random.Generator, *, points: bool) -> tuple[Any, np.ndarray]:
    """Queries of a case, and the truth."""
    p, sides = case.problem, SIDES[case.d]
    if case.free:
        queries, truth = p.patch("right"), [case.over("right", case.u)]
        if case.d == 1:
            queries, truth = queries + p.flux("left"), [*truth, -case.over("left", case.flux[0])]
    else:
        total = sum((-1.0 if k % 2 == 0 else 1.0) * case.over(s, case.flux[k // 2]) for k, s in enumerate(sides))
        queries, truth = p.flux("boundary"), [total]
    if points and case.points:
        X = rng.uniform(0.3, 0.7, (1, case.d))
        queries, truth = queries + p.points(X), [*truth, *case.value(X)]
    return queries, np.array(truth)


def energy_error(problem: Any, U: np.ndarray, u: str, first: list[str]) -> float:
    """(∫ A∇e·∇e + m e²)^½ of e = u − u_h by quadrature of a high order, u and its derivatives given as text."""
    mesh, nodes, d = problem.mesh, problem.nodes, problem.mesh.dim
    bary, weights = rule(d, 15)
    X = at_points(mesh.points[mesh.cells], bary)
    flat = X.reshape(-1, d)
    local = U[nodes.cell_dofs]
    value = np.einsum("qi,ci->cq", nodes.shapes(bary), local) - parse(u)(flat).reshape(X.shape[:2])
    slopes = np.einsum("qia,ci,cax->cqx", shape_derivatives(nodes, bary), local, mesh.gradients)
    slopes = slopes - np.stack([parse(t)(flat).reshape(X.shape[:2]) for t in first], axis=2)
    given = problem.coefficients
    A = np.stack([[at(a, flat) for a in row] for row in matrix(given.diffusion[0], d)])
    A = np.moveaxis(A, 2, 0).reshape(*X.shape[:2], d, d)
    m = at(balance(given.reaction[0], given.convection[0], 0.5), flat).reshape(X.shape[:2])
    density = np.einsum("cqx,cqxy,cqy->cq", slopes, A, slopes) + m * value**2
    return float(np.sqrt(np.einsum("cq,q,c->", density, weights, mesh.volumes)))


def at(given: Any, X: np.ndarray) -> np.ndarray:
    """Values of a coefficient at points."""
    return given(X) if callable(given) else np.full(len(X), float(given))


def solved(problem: Any) -> np.ndarray:
    """The Galerkin solution, by a factorization that nobody trusts."""
    free, U = problem.space.free, problem.space.U0.copy()
    A = problem.A.tocsr()
    U[free] = spsolve(A[free][:, free].tocsc(), (problem.b - A @ U)[free])
    return U


def primal(problem: Any, U: np.ndarray) -> tuple[Any, Any]:
    """The problem as its transfer sees it, and a state with its flux."""
    model = problem.continuum(Topology.of(problem.mesh))
    flux = model.fluxes(U[None, :], [model.load], [model.boundary_load])[..., 0]
    return model, Side(U, model.load, flux, model.boundary_load)


def energy_bound(problem: Any, U: np.ndarray) -> float:
    """η of a state."""
    model, side = primal(problem, U)
    return model.estimator.energy(model.estimator.measure(side, [])[0])
