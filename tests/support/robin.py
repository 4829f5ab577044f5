"""Random Robin problems on boxes with known solutions: u = a + b·x + s sin(k·x + φ), and everything that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import pinnpoint as pp
from tests.support.continua import unit_mesh

AXES = "xyz"
SIDES = (("left", "right"), ("bottom", "top"), ("front", "back"))
RANGE = {1: (3, 20), 2: (3, 9), 3: (2, 4)}


@dataclass(frozen=True, eq=False)
class Wave:
    """The solution, as text and as a function."""

    a: float
    b: np.ndarray
    s: float
    k: np.ndarray
    phase: float

    @classmethod
    def random(cls, rng: Any, d: int) -> Wave:
        return cls(
            round(rng.normal(), 3),
            np.round(rng.normal(size=d), 3),
            round(rng.normal(), 3),
            np.round(rng.uniform(-3.0, 3.0, d), 3),
            round(rng.uniform(0.0, 6.0), 3),
        )

    @property
    def argument(self) -> str:
        return " + ".join(f"({k})*{x}" for k, x in zip(self.k, AXES, strict=False)) + f" + {self.phase}"

    @property
    def value(self) -> str:
        linear = " + ".join(f"({b})*{x}" for b, x in zip(self.b, AXES, strict=False))
        return f"({self.a} + {linear} + ({self.s})*sin({self.argument}))"

    def slope(self, i: int) -> str:
        return f"({self.b[i]} + ({self.s})*({self.k[i]})*cos({self.argument}))"

    def source(self, kappa: float, c: float) -> str:
        square = "+".join(f"({k})**2" for k in self.k)
        return f"{kappa}*({self.s})*({square})*sin({self.argument}) + {c}*{self.value}"

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return self.a + X @ self.b + self.s * np.sin(X @ self.k + self.phase)


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, what is asked, and the answers."""

    problem: Any
    queries: Any
    truths: np.ndarray
    label: str


def coefficient(rng: Any, d: int) -> str:
    """Numbers over twelve decades, and formulas, some of which touch zero."""
    kind = rng.integers(0, 4)
    size = float(f"{10.0 ** rng.uniform(-3.0, 4.0):.3g}")
    if kind == 0 or d == 1:
        return repr(size)
    t = AXES[rng.integers(0, d)]
    return {1: f"{size}*(1 + {t}**2)", 2: f"{size}*{t}*(2 - {t})", 3: f"{size}*exp(sin(3*{t}))"}[int(kind)]


def random_case(rng: Any, d: int) -> Case:
    """A box with Robin, Dirichlet and Neumann sides; at least one Robin side with α > 0, often nothing else."""
    degree, u = int(rng.integers(1, 3)), Wave.random(rng, d)
    low, high = RANGE[d]
    mesh = unit_mesh(rng, d, int(rng.integers(low, high)), "structured" if d == 3 else "perturbed")
    kappa = float(f"{10.0 ** rng.uniform(-1.0, 1.0):.3g}")
    c = float(rng.choice([0.0, 0.0, 1.0, 30.0]))
    names = [name for pair in SIDES[:d] for name in pair]
    kinds = rng.choice(["robin", "dirichlet", "neumann"], size=len(names), p=[0.6, 0.2, 0.2])
    kinds[rng.integers(0, len(names))] = "robin"
    tables: dict[str, dict[str, Any]] = {"robin": {}, "dirichlet": {}, "neumann": {}}
    for j, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        flux = f"({'' if j % 2 else '-'}{kappa})*{u.slope(j // 2)}"
        alpha = coefficient(rng, d)
        if kind == "robin":
            tables["robin"][name] = (alpha, f"{flux} + {alpha}*{u.value}")
        else:
            tables[kind][name] = u.value if kind == "dirichlet" else flux
    if not tables["dirichlet"] and c == 0.0:  # one that holds for sure
        name = next(iter(tables["robin"]))
        j = names.index(name)
        flux = f"({'' if j % 2 else '-'}{kappa})*{u.slope(j // 2)}"
        tables["robin"][name] = ("2.5", f"{flux} + 2.5*{u.value}")
    problem = pp.fem.ReactionDiffusion(mesh, u.source(kappa, c), kappa, c, degree=degree, **tables)
    X = rng.uniform(0.15, 0.85, (2, d))
    radius = 0.1
    queries = problem.points(X)
    truths = list(u(X))
    if d > 1:  # the mean over a ball of a linear function plus a sine: averages of sines by quadrature
        queries = queries + problem.averages(X[:1], radius)
        truths.append(_ball_mean(u, X[0], radius))
    side = next(iter(tables["robin"]))
    queries = queries + problem.patch(side)
    truths.append(_side_mean(u, d, names.index(side)))
    queries = queries + problem.flux(side)
    j = names.index(side)
    truths.append((1.0 if j % 2 else -1.0) * kappa * _side_slope(u, d, j))
    label = f"{d}D P{degree} {len(mesh.cells)} cells κ={kappa} c={c} {tables}"
    return Case(problem, queries, np.array(truths), label)


def _ball_mean(u: Wave, x: np.ndarray, r: float) -> float:
    """Of the sine: the value at the centre times the Fourier transform of the uniform ball."""
    from scipy.special import jv

    t, d = r * float(np.linalg.norm(u.k)), len(x)
    factor = 2.0 * jv(1, t) / t if d == 2 else 3.0 * (np.sin(t) - t * np.cos(t)) / t**3
    return float(u.a + x @ u.b + u.s * np.sin(x @ u.k + u.phase) * factor)


def _on_side(d: int, j: int) -> tuple[np.ndarray, np.ndarray]:
    t, w = np.polynomial.legendre.leggauss(30)
    t, w = 0.5 * (t + 1.0), 0.5 * w
    grid = (
        np.stack(np.meshgrid(*[t] * (d - 1), indexing="ij"), axis=-1).reshape(-1, d - 1) if d > 1 else np.zeros((1, 0))
    )
    weights = np.ones(1)
    for _ in range(d - 1):
        weights = np.outer(weights, w).ravel()
    return np.insert(grid, j // 2, float(j % 2), axis=1), weights


def _side_mean(u: Wave, d: int, j: int) -> float:
    X, w = _on_side(d, j)
    return float(w @ u(X))


def _side_slope(u: Wave, d: int, j: int) -> float:
    X, w = _on_side(d, j)
    i = j // 2
    return float(w @ (u.b[i] + u.s * u.k[i] * np.cos(X @ u.k + u.phase)))


def misses(case: Case) -> tuple[int, float, list[str]]:
    """How many intervals there are, the largest distance from a centre in radii, and what was missed."""
    c = pp.certify(case.problem, case.problem.space.U0, case.queries)
    assert str(c.guarantee) == "deterministic"
    assert c.target == "continuous"
    slack = 1e-13 * (1.0 + np.abs(case.truths))  # of the truths themselves
    off = np.abs(c.center - case.truths) - slack
    bad = off > c.radius
    said = [f"{case.label}: {n}" for n, b in zip(c.names, bad, strict=True) if b]
    return len(case.truths), float(np.max(off / c.radius)), said
