"""Random problems with closed-form solutions, predictions of them, and the errors of these on many points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import values
from pinnpoint.transfer.continuum import bernstein

NAMES = "xyz"
SIDES = ("left", "right", "bottom", "top", "front", "back")


@dataclass(frozen=True, eq=False)
class Worst:
    """A problem, its solution as a function of points, and a prediction by its values at the nodes."""

    label: str
    problem: Any
    solution: Callable[[np.ndarray], np.ndarray]
    prediction: np.ndarray

    def errors(self, most: int = 10_000) -> np.ndarray:
        """|v − u| at points of a lattice in every cell, (C, q), for the finite-element function v."""
        model = self.problem.continuum(Topology.of(self.problem.mesh))
        d, cells = model.d, model.topology.cells
        n = max(2, math.ceil((most * math.factorial(d) / len(cells)) ** (1.0 / d)))
        grid = np.stack(np.meshgrid(*[np.arange(n + 1.0)] * d, indexing="ij"), axis=-1).reshape(-1, d)
        grid = grid[grid.sum(axis=1) <= n] / n
        bary = np.concatenate([1.0 - grid.sum(axis=1, keepdims=True), grid], axis=1)
        X = np.einsum("qi,cid->cqd", bary, model.points[cells])
        b = bernstein(self.prediction[model.cell_nodes], d, model.degree)
        v = b @ values(bary).T
        return np.abs(v - self.solution(X.reshape(-1, d)).reshape(v.shape))


def _mesh(d: int, rng: np.random.Generator) -> Any:
    n = int(rng.integers(*{1: (4, 30), 2: (3, 9), 3: (2, 4)}[d]))
    return pp.io.generate({1: "interval", 2: "square", 3: "cube"}[d], n)


def smooth(rng: np.random.Generator, d: int, *, mixed: bool = False) -> Worst:
    """Sines and a polynomial, κ and c of any size; with Neumann data on one side across some axes."""
    a, k = rng.normal(size=2), rng.integers(1, 4, d)
    kappa, c = float(10 ** rng.uniform(-1, 1)), float(rng.choice([0.0, 3.0]))
    q = rng.normal(size=d) * rng.integers(0, 2)
    waves = "*".join(f"sin({k[i]}*pi*{NAMES[i]})" for i in range(d))
    poly = "+".join(f"({float(q[i])!r})*{NAMES[i]}**2" for i in range(d))
    u = f"({float(a[0])!r})*{waves}+{poly}"
    lap = f"({float(-a[0])!r})*{int((k**2).sum())}*pi**2*{waves}+({float(2 * q.sum())!r})"
    f = f"-({kappa!r})*({lap})+({c!r})*({u})"
    degree = int(rng.integers(1, 3))
    free: dict[str, str] = {}
    if mixed:
        for i in rng.permutation(d)[: int(rng.integers(1, d + 1))].tolist():
            side = int(rng.integers(0, 2))
            rest = "*".join(f"sin({k[j]}*pi*{NAMES[j]})" for j in range(d) if j != i) or "1"
            cosine = (-1.0) ** (int(k[i]) * side) * k[i]
            slope = f"({float(a[0] * cosine)!r})*pi*{rest}+({float(2 * q[i] * side)!r})"
            free[SIDES[2 * i + side]] = f"({kappa * (1.0 if side else -1.0)!r})*({slope})"
        if len(free) == 2 * d or (d == 1 and len(free) > 1):
            free.popitem()
    held = {SIDES[i]: u for i in range(2 * d) if SIDES[i] not in free}
    p = pp.fem.ReactionDiffusion(
        _mesh(d, rng), source=f, diffusion=kappa, reaction=c, dirichlet=held, neumann=free, degree=degree
    )

    def solution(X: np.ndarray) -> np.ndarray:
        found = a[0] * np.prod([np.sin(k[i] * np.pi * X[:, i]) for i in range(d)], axis=0)
        return found + (X**2) @ q

    return _predicted(f"smooth {d}D degree {degree} kappa {kappa:.2g} free {list(free)}", p, solution, rng)


def jump(rng: np.random.Generator) -> Worst:
    """κ jumps at x = ½ by up to 1:100: u = w/κ, where w and its right-hand side are smooth and w = 0 on the jump."""
    n, degree = 2 * int(rng.integers(2, 6)), int(rng.integers(1, 3))
    mesh = pp.io.generate("square", n)
    left = mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5
    low, high = 1.0, float(10 ** rng.uniform(0, 2))
    k = int(rng.integers(1, 3))
    p = pp.fem.ReactionDiffusion(
        mesh,
        source=f"{4 + k * k}*pi**2*sin(2*pi*x)*sin({k}*pi*y)",
        diffusion=np.where(left, low, high),
        dirichlet={"boundary": 0.0},
        degree=degree,
    )

    def solution(X: np.ndarray) -> np.ndarray:
        w = np.sin(2 * np.pi * X[:, 0]) * np.sin(k * np.pi * X[:, 1])
        return w / np.where(X[:, 0] < 0.5, low, high)

    return _predicted(f"jump 1:{high:.3g} n {n} degree {degree}", p, solution, rng)


def corner(rng: np.random.Generator) -> Worst:
    """r^{2/3} sin(2θ/3) on the L-shape, harmonic, with its own values on the boundary."""
    mesh = pp.io.generate("lshape", int(rng.integers(2, 7)))
    degree = int(rng.integers(1, 3))
    r = "(x**2+y**2)**(1/3)"
    angle = {
        "right": "atan(y/x)",
        "top": "pi/2-atan(x/y)",
        "left": "pi+atan(y/x)",
        "bottom": "3*pi/2-atan(x/y)",
    }
    data: dict[str, Any] = {group: f"{r}*sin(2/3*({t}))" for group, t in angle.items()} | {"reentrant": 0.0}
    p = pp.fem.ReactionDiffusion(mesh, source=0.0, dirichlet=data, degree=degree)

    def solution(X: np.ndarray) -> np.ndarray:
        t = np.mod(np.arctan2(X[:, 1], X[:, 0]), 2 * np.pi)
        t = np.where(t > 1.5 * np.pi + 1e-9, 0.0, t)  # the side θ = 0 by rounding
        return np.hypot(X[:, 0], X[:, 1]) ** (2 / 3) * np.sin(2 / 3 * t)

    return _predicted(f"corner {len(mesh.cells)} cells degree {degree}", p, solution, rng)


def _predicted(label: str, p: Any, solution: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator) -> Worst:
    """The interpolant, moved by nothing, a little or much."""
    size = float(rng.choice([0.0, 1e-3, 0.3]))
    nodal = solution(p.nodes.points) + size * rng.normal(size=len(p.nodes))
    return Worst(label, p, solution, nodal)


FAMILIES: dict[str, Callable[[np.random.Generator], Worst]] = {
    "1D": lambda rng: smooth(rng, 1),
    "2D": lambda rng: smooth(rng, 2),
    "3D": lambda rng: smooth(rng, 3),
    "mixed 1D": lambda rng: smooth(rng, 1, mixed=True),
    "mixed 2D": lambda rng: smooth(rng, 2, mixed=True),
    "mixed 3D": lambda rng: smooth(rng, 3, mixed=True),
    "jump": jump,
    "corner": corner,
}
