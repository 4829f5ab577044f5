"""Problems with a cubic reaction whose solutions are known, and random ones of them."""

from __future__ import annotations

import numpy as np

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh

KINDS = {1: "interval", 2: "square", 3: "cube"}


def manufactured(mesh, cubic, u, laplacian, points, kappa=1.0, reaction=0.0, **options):
    """−κΔu + c u + λu³ with a known u: the problem, its point queries and their true values."""
    source = f"-{kappa!r}*({laplacian})+{reaction!r}*({u})+{cubic!r}*({u})**3"
    problem = pp.fem.Semilinear(mesh, cubic, source, kappa, reaction, **options)
    return problem, problem.points(points), parse(u)(np.asarray(points))


def dual_solver(problem, state):
    """Coefficients of the linearised dual at a state."""
    J = problem.system.jacobian(state[problem.space.free], rounding=False)[0].toarray()

    def solve(b):
        z = np.zeros(len(b))
        z[problem.space.free] = np.linalg.solve(J, b[problem.space.free])
        return z

    return solve


def shaken(d, n, rng, size=0.25):
    """A generated mesh with its inner vertices moved."""
    mesh = generate(KINDS[d], n)
    P = mesh.points.copy()
    inner = np.all((P > 1e-9) & (P < 1.0 - 1e-9), axis=1)
    P[inner] += rng.uniform(-size / n, size / n, (int(inner.sum()), d)) / d
    return Mesh(P, mesh.cells)


def polynomial(d, rng):
    """A random cubic in d variables and its Laplacian, as formulas."""
    u, laplacian = [], []
    for a in range(4):
        for b in range(4 - a if d > 1 else 1):
            for c in range(4 - a - b if d > 2 else 1):
                k = round(float(rng.uniform(-1.5, 1.5)), 2)
                powers = dict(zip("xyz"[:d], (a, b, c), strict=False))
                u.append(f"({k!r})*" + "*".join(f"{x}**{p}" for x, p in powers.items()))
                for x, p in powers.items():
                    if p >= 2:
                        rest = {**powers, x: p - 2}
                        laplacian.append(f"({k!r})*{p * (p - 1)}*" + "*".join(f"{y}**{q}" for y, q in rest.items()))
    return "(" + "+".join(u) + ")", "(" + "+".join(laplacian) + ")"


def random_case(d, rng, n, points=2):
    """A random problem, state and dual solver, none of them solved: route, state, solver, true values, slip of g_D."""
    u, laplacian = polynomial(d, rng)
    cubic, reaction = float(10.0 ** rng.uniform(-2, 2.5)), float(rng.choice([0.0, 2.0, 50.0]))
    kappa = float(10.0 ** rng.uniform(-1, 1))
    X = rng.uniform(0.05, 0.95, (points, d))
    problem, queries, truth = manufactured(
        shaken(d, n, rng), cubic, u, laplacian, X, kappa, reaction, dirichlet={"boundary": u}
    )
    nodes = problem.mesh.points
    bump = np.prod(np.sin(np.pi * nodes), axis=1) * rng.choice([1.0, 0.0, rng.normal()], len(nodes))
    state = problem.space.project(parse(u)(nodes) + 10.0 ** rng.uniform(-5, 0) * bump).U
    solve, noise = dual_solver(problem, state), 10.0 ** rng.uniform(-6, -1)
    route = problem.transfer(queries)

    def dual(b):
        return solve(b) * (1.0 + noise * rng.normal(size=len(b)))

    return route, state, dual, truth, route.model.mismatch(state)[0]


def shares(route, state, dual, truth, slip):
    """|center − truth| of each value against its radius; at most 1 where the interval holds."""
    _, found = route.enclosed(state, dual)
    return [abs(v.center - t) / (v.radius + slip + 1e-15) for v, t in zip(found, truth, strict=True)]
