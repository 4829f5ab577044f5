"""Random problems whose own solution is known from outside, by family, with queries and their true values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
import scipy.sparse.linalg as spla
from flint import arb
from scipy.spatial import Delaunay

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.mesh import Mesh
from tests.support.truths import Factor, Layers, Separable, exactly, holds

SIDES = (("left", "right"), ("bottom", "top"), ("front", "back"))


@dataclass(frozen=True, eq=False)
class Known:
    """A problem, what is asked, and the answers."""

    label: str
    problem: Any
    queries: Any
    truths: list[arb]

    def solved(self) -> np.ndarray:
        """A plain solve."""
        p = self.problem
        U = np.array(p.extract(np.zeros(len(p.nodes))).U)
        free = slice(None) if p.space.free is None else p.space.free
        A = p.A.tocsr()
        U[free] += spla.spsolve(A[free][:, free].tocsc(), (p.b - A @ U)[free])
        return U


@dataclass
class Tally:
    """Counts of a family.

    ratios: radius / error of the plain solve, by interval; by_case: the same for the largest of each among a case's
    queries, since plain errors vanish by chance, where the plain solve is not exact.
    """

    cases: int = 0
    intervals: int = 0
    misses: list[str] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    by_case: list[float] = field(default_factory=list)
    worst: str = ""

    def add(self, known: Known, certificate: Any, plain: np.ndarray | None = None) -> None:
        """Compare a certificate with the truth; ratios are radius / error of the plain solve."""
        self.cases += 1
        errors = None
        if plain is not None:
            errors = [abs(float(exactly(float(v)) - t)) for v, t in zip(plain, known.truths, strict=True)]
            size = 1.0 + max(abs(float(t)) for t in known.truths)
            if max(errors) > 1e-10 * size:
                ratio = float(np.max(certificate.radius)) / max(errors)
                if ratio >= max(self.by_case, default=0.0):
                    self.worst = f"{known.label} · {certificate.names[int(np.argmax(certificate.radius))]}"
                self.by_case.append(ratio)
        for i, truth in enumerate(known.truths):
            self.intervals += 1
            low, high = float(certificate.lower[i]), float(certificate.upper[i])
            name = f"{known.label} · {certificate.names[i]} · {certificate.method}"
            if not holds(low, high, truth):
                self.misses.append(f"{name}: {float(truth)!r} is not in [{low!r}, {high!r}]")
            if errors is not None:
                self.ratios.append(float(certificate.radius[i]) / max(errors[i], 1e-13))


def run(known: Known, tally: Tally, method: Any = None, state: Any = None) -> Any:
    """Certify a state (by default a plain solve) and compare with the truth."""
    U = known.solved() if state is None else state
    certificate = pp.certify(known.problem, U, known.queries, method)
    assert certificate.target == "continuous"
    assert certificate.guarantee != "estimate"
    tally.add(known, certificate, certificate.value if state is None else None)
    return certificate


def box(
    lines: list[np.ndarray], keep: Callable[[np.ndarray], np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Points and cells of a tensor grid, each box cut into simplices along one diagonal."""
    d, shape = len(lines), tuple(len(x) for x in lines)
    number = np.arange(np.prod(shape)).reshape(shape)
    X = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, d)
    low = number[tuple(slice(-1) for _ in lines)].ravel()
    cells = []
    for order in permutations(range(d)):
        steps = np.cumsum([0, *(int(np.prod(shape[a + 1 :])) for a in order)])
        cells.append(low[:, None] + steps)
    T = np.concatenate(cells)
    if keep is not None:
        T = T[keep(X[T].mean(axis=1))]
    used, T = np.unique(T, return_inverse=True)
    return X[used], T.reshape(-1, d + 1)


def with_sides(X: np.ndarray, T: np.ndarray, **more: Any) -> Mesh:
    """A mesh with groups for the sides of its bounding box; `more` are predicates on facet vertices (F, d, d)."""
    mesh = Mesh(X, T)
    F = mesh.boundary
    V = X[F]
    groups = {}
    for axis, names in enumerate(SIDES[: X.shape[1]]):
        for name, value in zip(names, (X[:, axis].min(), X[:, axis].max()), strict=True):
            groups[name] = F[np.all(V[..., axis] == value, axis=1)]
    groups |= {name: F[test(V)] for name, test in more.items()}
    return Mesh(X, T, facet_groups=groups)


def lines(rng: Any, n: int, low: float = 0.0, high: float = 1.0, extra: Any = ()) -> np.ndarray:
    """n random, not too uneven coordinates between two ends, and some given ones."""
    x = np.linspace(low, high, n + 1)
    x[1:-1] += rng.uniform(-0.35, 0.35, n - 1) * (high - low) / n
    extra = np.asarray(extra, dtype=float)
    apart = np.all(np.abs(x[:, None] - extra) > 0.15 * (high - low) / n, axis=1) if extra.size else np.ones(n + 1, bool)
    apart[[0, -1]] = True
    return np.unique(np.concatenate([x[apart], extra]))


def perturbed(rng: Any, X: np.ndarray, T: np.ndarray, fixed: np.ndarray, size: float) -> np.ndarray:
    """Move points where not fixed (N, d), less and less until no cell is inverted."""

    def volumes(P: np.ndarray) -> np.ndarray:
        E = P[T]
        return np.linalg.det(E[:, 1:] - E[:, :1])

    old = volumes(X)
    move = np.where(fixed, 0.0, rng.uniform(-1.0, 1.0, X.shape)) * size
    while np.any(volumes(X + move) * old <= 0.05 * old**2):
        move *= 0.7
    return X + move


def unit_mesh(rng: Any, d: int, n: int, kind: str) -> Mesh:
    """The unit square or cube: structured, perturbed, uneven or Delaunay of random points."""
    if kind != "delaunay":
        x = [np.linspace(0.0, 1.0, n + 1)] * d if kind != "uneven" else [lines(rng, n) for _ in range(d)]
        X, T = box(x)
        if kind == "perturbed":
            X = perturbed(rng, X, T, (X == 0.0) | (X == 1.0), 0.4 / n)
        return with_sides(X, T)
    while True:
        grid = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, n + 1)] * d, indexing="ij"), axis=-1).reshape(-1, d)
        edge = (grid == 0.0) | (grid == 1.0)
        X = np.where(edge, grid, grid + rng.uniform(-0.45, 0.45, grid.shape) / n)
        T = np.asarray(Delaunay(X).simplices)
        E = X[T]
        volume = np.abs(np.linalg.det(E[:, 1:] - E[:, :1]))
        T = T[volume > 1e-9 * volume.max()]
        try:
            mesh = with_sides(X, T)
        except InputError:
            continue
        V = X[mesh.boundary]
        flat = np.any(np.all(V == V[:, :1], axis=1) & ((V[:, 0] == 0.0) | (V[:, 0] == 1.0)), axis=1)
        if flat.all() and abs(mesh.volumes.sum() - 1.0) < 1e-9:
            return mesh


def decimal(rng: Any, low: float, high: float) -> str:
    """A random number with three digits, as a decimal."""
    return f"{rng.uniform(low, high):.3f}"


def random_factor(rng: Any) -> Factor:
    kind = rng.choice(["sin", "cos", "exp", "poly"])
    if kind == "poly":
        return Factor("poly", tuple(decimal(rng, -1.0, 1.0) for _ in range(int(rng.integers(1, 6)))))
    if kind == "exp":
        return Factor("exp", (decimal(rng, -2.0, 2.0),))
    return Factor(kind, (decimal(rng, 0.5, 5.0), decimal(rng, -3.0, 3.0)))


def interval(rng: Any, degree: int) -> Known:
    """1D: uneven meshes, κ to 1e3, c from 0 to 100, all kinds of ends; points anywhere."""
    n = int(rng.integers(2, 40 if degree == 1 else 20))
    while True:
        x = np.sort(np.concatenate([[0.0, 1.0], rng.uniform(0.0, 1.0, n - 1)]))
        if np.diff(x).min() > 1e-4:
            break
    if rng.uniform() < 0.3:
        x = x * float(rng.choice([0.25, 8.0])) - float(rng.choice([0.0, 3.0]))
    layers = int(rng.integers(1, min(5, n) + 1))
    at = np.sort(rng.choice(np.arange(1, n), layers - 1, replace=False))
    ends = np.concatenate([[0], at, [n]]).astype(int)
    k = (
        10.0 ** rng.uniform(-1.5, 1.5, layers)
        if rng.uniform() < 0.7
        else np.full(layers, float(rng.choice([1.0, 0.1])))
    )
    c = rng.choice([0.0, 0.0, 1.0, 100.0 * rng.uniform()], layers)
    sort = str(rng.choice(["DD", "DN", "ND", "NN"]))
    if sort == "NN" and not c.any():
        c[int(rng.integers(layers))] = float(rng.choice([0.01, 3.0, 100.0]))
    pick = int(rng.integers(4))
    terms = [
        [Factor("poly", ("1.0",))],
        [Factor("poly", tuple(decimal(rng, -2.0, 2.0) for _ in range(3)))],
        [Factor("sin", (decimal(rng, 1.0, 20.0), decimal(rng, -1.0, 1.0)))],
        [Factor("exp", (decimal(rng, -1.0, 1.0),)), Factor("poly", ("0.5",))],
    ][pick]
    source: Any = 1.0 if pick == 0 else " + ".join(F.text("x") for F in terms)
    data = rng.choice([0.0, 1.0, -0.5, 0.3], 2)
    given: dict[str, dict[str, float]] = {"D": {}, "N": {}}
    for side, kind, g in zip(("left", "right"), sort, data, strict=True):
        given[kind][side] = float(g)
    cells = np.stack([np.arange(n), np.arange(1, n + 1)], axis=1)
    mesh = Mesh(x[:, None], cells, facet_groups={"left": [[0]], "right": [[n]]})
    per = np.repeat(np.arange(layers), np.diff(ends))
    problem = pp.fem.ReactionDiffusion(
        mesh, source, k[per], c[per], dirichlet=given["D"], neumann=given["N"], degree=degree
    )
    kinds = {"D": "value", "N": "flux"}
    phi = Layers(x[ends], k, c, terms, tuple((kinds[s], float(g)) for s, g in zip(sort, data, strict=True)))
    inner = [float(x[i]) for i in at[:2]]
    some = [float(x[0]), float(x[-1]), float(x[n // 2]), *inner, *rng.uniform(x[0], x[-1], 3).tolist()]
    some += [x[0] + 1e-6 * (x[-1] - x[0]), x[-1] - 1e-12]
    queries = problem.points(np.array(some)[:, None])
    truths = [phi(t) for t in some]
    for group, place, sign, kind, piece in (("left", 0, -1, sort[0], 0), ("right", -1, 1, sort[1], -1)):
        queries = queries + problem.patch(group)
        truths.append(phi(float(x[place])))
        if kind == "D":
            queries = queries + problem.flux(group)
            truths.append(phi(float(x[place]), True) * exactly(k[piece]) * sign)
    return Known(f"1D P{degree} {sort} n={n} layers={layers} source {pick}", problem, queries, truths)


def smooth(rng: Any, d: int, degree: int) -> Known:
    """Manufactured: data as formulas, all mixes of sides, points, balls and patches."""
    n = int(rng.integers(3, {2: {1: 14, 2: 8}, 3: {1: 5, 2: 3}}[d][degree] + 1))
    kind = str(rng.choice(["structured", "perturbed", "uneven", "delaunay"]))
    mesh = unit_mesh(rng, d, n, kind)
    u = Separable(tuple(tuple(random_factor(rng) for _ in range(d)) for _ in range(int(rng.integers(1, 3)))))
    kappa, c = float(rng.choice([1.0, 2.5, 0.125, 40.0])), float(rng.choice([0.0, 0.0, 0.5, 7.0, 100.0]))
    sides = [(name, axis, float(end)) for axis, pair in enumerate(SIDES[:d]) for end, name in enumerate(pair)]
    free = [s for s in sides if rng.uniform() < 0.4]
    if len(free) == len(sides) and c == 0.0:
        free = free[1:]
    neumann = {name: u.slope(axis, kappa if end else -kappa) for name, axis, end in free}
    dirichlet = {name: u.text() for name, _, _ in sides if name not in neumann}
    problem = pp.fem.ReactionDiffusion(
        mesh, u.source(kappa, c), kappa, c, dirichlet=dirichlet, neumann=neumann, degree=degree
    )
    X = rng.uniform(0.02, 0.98, (2, d))
    X[0] = mesh.points[int(rng.integers(len(mesh.points)))] if rng.uniform() < 0.3 else X[0]
    X = X[np.all((X > 1e-3) & (X < 1 - 1e-3), axis=1)]
    queries, truths = problem.points(X), [u(x) for x in X]
    centre = rng.uniform(0.3, 0.7, d)
    radius = float(rng.uniform(0.02, 0.25))
    queries = queries + problem.averages(centre[None, :], radius)
    truths.append(u.ball_average(centre, radius))
    for name, axis, end in [sides[i] for i in rng.choice(len(sides), 2, replace=False)]:
        queries = queries + problem.patch(name)
        truths.append(u.line_integrals([0.0] * d, [1.0] * d, axis, end, 0))
    label = f"{d}D P{degree} {kind} n={n} κ={kappa} c={c} N={','.join(neumann)}"
    return Known(label, problem, queries, truths)


def strip(rng: Any, d: int, degree: int) -> Known:
    """Fluxes through Dirichlet sides with constant data and Neumann sides with formulas."""
    n = int(rng.integers(3, {2: {1: 12, 2: 7}, 3: {1: 5, 2: 3}}[d][degree] + 1))
    mesh = unit_mesh(rng, d, n, str(rng.choice(["structured", "perturbed", "delaunay"])))
    bump = Factor("sin", ("pi", "0")) if rng.uniform() < 0.5 else Factor("poly", ("0", "1", "-1"))
    one = Factor("poly", ("1",))
    u = Separable(
        ((bump, *(random_factor(rng) for _ in range(d - 1))), (Factor("poly", ("0", "1.5")), *([one] * (d - 1))))
    )
    kappa, c = float(rng.choice([1.0, 2.5, 0.125])), float(rng.choice([0.0, 0.5, 30.0]))
    neumann = {
        name: u.slope(axis, kappa if end else -kappa)
        for axis, pair in enumerate(SIDES[:d])
        for end, name in enumerate(pair)
        if axis > 0
    }
    problem = pp.fem.ReactionDiffusion(
        mesh, u.source(kappa, c), kappa, c, dirichlet={"left": 0.0, "right": 1.5}, neumann=neumann, degree=degree
    )
    queries = problem.flux("left") + problem.flux("right") + problem.points(rng.uniform(0.1, 0.9, (1, d)))
    truths = [
        sign * exactly(kappa) * u.line_integrals([0.0] * d, [1.0] * d, 0, end, 1) for end, sign in ((0.0, -1), (1.0, 1))
    ]
    truths.append(u([float(t) for t in queries.goals[-1].at]))
    return Known(f"strip {d}D P{degree} n={n} κ={kappa} c={c}", problem, queries, truths)


def ring(rng: Any, degree: int) -> Known:
    """(−1, 1)² without [−½, ½]², zero on the inner boundary, its flux; the outer one of either kind."""
    n = int(rng.integers(2, 5)) if degree == 1 else int(rng.integers(1, 3))
    x = np.linspace(-1.0, 1.0, 4 * n + 1)
    X, T = box([x, x], lambda c: np.abs(c).max(axis=1) > 0.5)
    fixed = (np.abs(np.abs(X).max(axis=1) - 0.5) < 1e-12) | (np.abs(X).max(axis=1) == 1.0)
    X = perturbed(rng, X, T, np.repeat(fixed[:, None], 2, axis=1), float(rng.uniform(0.0, 0.2)) / n)
    mesh = with_sides(
        X, T, inner=lambda V: np.abs(V).max(axis=(1, 2)) < 0.6, outer=lambda V: np.abs(V).max(axis=(1, 2)) > 0.6
    )
    shape = Factor("poly", ("0.25", "0", "-1.25", "0", "1"))
    tilt = Factor("poly", ("0", "0.25", "0", "-1.25", "0", "1"))
    u = Separable(((shape, shape), (tilt, shape)))
    kappa, c = float(rng.choice([1.0, 2.5])), float(rng.choice([0.0, 10.0]))
    neumann = {}
    if rng.uniform() < 0.5:
        neumann = {
            name: u.slope(axis, kappa if end else -kappa)
            for axis, pair in enumerate(SIDES[:2])
            for end, name in enumerate(pair)
        }
    dirichlet = {"inner": 0.0} if neumann else {"inner": 0.0, "outer": 0.0}
    problem = pp.fem.ReactionDiffusion(
        mesh, u.source(kappa, c), kappa, c, dirichlet=dirichlet, neumann=neumann, degree=degree
    )
    low, high = [-0.5, -0.5], [0.5, 0.5]
    flux = arb(0)
    for axis in (0, 1):
        for at, sign in ((-0.5, 1), (0.5, -1)):
            flux += sign * exactly(kappa) * u.line_integrals(low, high, axis, at, 1)
    where = np.array([[0.75, float(rng.uniform(-0.9, 0.9))], [-0.6, 0.7]])
    queries = problem.flux("inner") + problem.points(where)
    return Known(
        f"ring P{degree} n={n} κ={kappa} c={c} {'N' if neumann else 'D'}",
        problem,
        queries,
        [flux, *(u(p) for p in where)],
    )


def layered(rng: Any, d: int, degree: int, near: bool = False) -> Known:
    """u = φ(x) S(πy)[S(πz)], S = sin, cos or 1, κ and c constant in layers of x; with points `near` a jump or away."""
    count = int(rng.integers(2, 5))
    n = int(rng.integers(3, {2: {1: 12, 2: 7}, 3: {1: 5, 2: 3}}[d][degree] + 1))
    while True:
        breaks = np.sort(rng.uniform(0.1, 0.9, count - 1)).round(int(rng.integers(2, 17)))
        if np.diff([0.0, *breaks, 1.0]).min() > 0.08:
            break
    x = lines(rng, n + 2, extra=breaks)
    X, T = box([x, *[np.linspace(0.0, 1.0, n + 1)] * (d - 1)])
    held = (X == 0.0) | (X == 1.0)
    held[:, 0] = True
    X = perturbed(rng, X, T, held, float(rng.uniform(0.0, 0.3)) / n)
    mesh = with_sides(X, T)
    layer = np.searchsorted(breaks, X[T].mean(axis=1)[:, 0])
    k = 10.0 ** rng.uniform(-1.5, 1.5, count)
    c = rng.choice([0.0, 0.0, 2.0, 60.0], count)
    modes = [str(rng.choice(["sin", "cos", "one"])) for _ in range(d - 1)]
    waves = sum(m != "one" for m in modes)
    shape = "*".join(
        {"sin": f"sin(pi*{v})", "cos": f"cos(pi*{v})", "one": "1"}[m] for m, v in zip(modes, "yz", strict=False)
    )
    F = [Factor("poly", tuple(decimal(rng, -2.0, 4.0) for _ in range(int(rng.integers(1, 4)))))]
    lift = waves * arb.pi() ** 2
    ends = [(str(rng.choice(["value", "flux"])), float(rng.choice([0.0, 1.0, -0.5]))) for _ in range(2)]
    if "sin" not in modes and not c.any():
        ends[0] = ("value", ends[0][1])
    phi = Layers(
        [0.0, *breaks, 1.0], k, [exactly(a) + lift * exactly(b) for a, b in zip(c, k, strict=True)], F, tuple(ends)
    )
    dirichlet: dict[str, Any] = {}
    neumann: dict[str, Any] = {}
    for (what, g), name in zip(ends, ("left", "right"), strict=True):
        (dirichlet if what == "value" else neumann)[name] = g if g == 0.0 or waves == 0 else f"({g})*{shape}"
    for m, pair in zip(modes, SIDES[1:], strict=False):
        dirichlet |= dict.fromkeys(pair, 0.0) if m == "sin" else {}
    source = f"{F[0].text('x')}*{shape}"
    problem = pp.fem.ReactionDiffusion(
        mesh, source, k[layer], c[layer], dirichlet=dirichlet, neumann=neumann, degree=degree
    )

    def u(p: Any) -> arb:
        total = phi(float(p[0]))
        for m, t in zip(modes, p[1:], strict=True):
            s = exactly(float(t)) * arb.pi()
            total *= {"sin": s.sin, "cos": s.cos, "one": lambda: arb(1)}[m]()
        return total

    P = rng.uniform(0.05, 0.95, (3, d))
    if near:
        P[:, 0] = breaks[0] + rng.choice([-1.0, 1.0], 3) * 10.0 ** rng.uniform(-6.0, -2.0, 3)
    else:
        edges = np.array([0.0, *breaks, 1.0])
        i = rng.integers(count, size=3)
        P[:, 0] = edges[i] + rng.uniform(0.3, 0.7, 3) * (edges[i + 1] - edges[i])
    queries, truths = problem.points(P), [u(p) for p in P]
    if waves == 0:
        for name, place, sign, piece in (("left", 0.0, -1, 0), ("right", 1.0, 1, -1)):
            if name in dirichlet:
                queries = queries + problem.flux(name)
                truths.append(sign * exactly(k[piece]) * phi(place, True))
            else:
                queries = queries + problem.patch(name)
                truths.append(phi(place))
    label = f"layers {d}D P{degree} n={n} κ={k.round(3).tolist()} c={c.tolist()} {modes} {ends}"
    return Known(label, problem, queries, truths)


ANGLES = {
    "right": "atan(y/x)",
    "top": "(pi/2 - atan(x/y))",
    "left": "(pi + atan(y/x))",
    "bottom": "(3*pi/2 - atan(x/y))",
    "lower": "(2*pi + atan(y/x))",
}
"""θ in [0, 2π) on the sides of (−1, 1)²; `lower` is the half of the right side below the axis."""


def polar(p: Any) -> tuple[arb, arb]:
    """r and θ in [0, 2π) of a point, in high precision."""
    x, y = exactly(float(p[0])), exactly(float(p[1]))
    r = (x * x + y * y).sqrt()
    theta = arb.atan2(y, x)
    return r, theta + 2 * arb.pi() if float(p[1]) < 0.0 else theta


def corner(rng: Any, d: int, degree: int) -> Known:
    """The L-shape (extruded for d = 3) with r^α sin(αθ), α = 2/3, or 1/3 with one Neumann edge at the corner."""
    n = int(rng.integers(2, {2: {1: 9, 2: 6}, 3: {1: 4, 2: 2}}[d][degree] + 1))
    x = np.linspace(-1.0, 1.0, 2 * n + 1)
    if rng.uniform() < 0.5:
        x = np.sign(x) * np.abs(x) ** float(rng.choice([1.5, 2.5]))
    X, T = box([x, x, np.linspace(0.0, 1.0, 3)][:d], lambda c: (c[:, 0] < 0.0) | (c[:, 1] > 0.0))
    mesh = with_sides(
        X,
        T,
        across=lambda V: np.all(V[..., 1] == 0.0, axis=1),
        down=lambda V: np.all(V[..., 0] == 0.0, axis=1),
    )
    mixed = rng.uniform() < 0.4
    alpha, text = (arb(1) / 3, "(1/3)") if mixed else (arb(2) / 3, "(2/3)")
    data: dict[str, Any] = {
        name: f"(x*x + y*y)**({text}/2)*sin({text}*{ANGLES[name]})" for name in ("right", "top", "left", "bottom")
    }
    data["across"] = 0.0
    if not mixed:
        data["down"] = 0.0
    kappa = float(rng.choice([1.0, 4.0]))
    problem = pp.fem.ReactionDiffusion(mesh, 0.0, kappa, 0.0, dirichlet=data, degree=degree)
    P = [[-0.1, 0.1], [-0.5, -0.3], [0.6, 0.4], rng.uniform(-0.9, -0.05, 2)]
    P = np.array([[*p, *[0.4] * (d - 2)] for p in P])

    def u(p: Any) -> arb:
        r, theta = polar(p)
        return r**alpha * (alpha * theta).sin()

    queries = problem.points(P)
    return Known(f"corner {d}D P{degree} n={n} α={text}", problem, queries, [u(p) for p in P])


def cross_point(rng: Any, degree: int) -> Known:
    """Kellogg's checkerboard: κ = a, 1, a, 1 in the quadrants, u = r^γ μ(θ) with tan(γπ/4) = a^{-1/2}."""
    a = float(rng.choice([5.0, 20.0, 100.0]))
    n = int(rng.integers(2, (9 if degree == 1 else 6) + 1))
    x = np.linspace(-1.0, 1.0, 2 * n + 1)
    x = np.sign(x) * np.abs(x) ** float(rng.choice([1.0, 2.0, 3.0]))
    X, T = box([x, x])
    middle = X[T].mean(axis=1)
    odd = middle[:, 0] * middle[:, 1] < 0.0
    on = {"right": (0, 1.0), "left": (0, -1.0), "top": (1, 1.0), "bottom": (1, -1.0)}
    halves, data = {}, {}
    g = f"(4/pi*atan(1/sqrt({a})))"
    waves = [f"cos({g}*(T - pi/4))", f"sin({g}*(3*pi/4 - T))", f"-cos({g}*(T - 5*pi/4))", f"-sin({g}*(7*pi/4 - T))"]
    cot = f"(cos({g}*pi/4)/sin({g}*pi/4))"
    for side, (axis, at) in on.items():
        for half in (-1.0, 1.0):
            name = f"{side}{'+' if half > 0 else '-'}"

            def inside(V: np.ndarray, axis: int = axis, at: float = at, half: float = half) -> np.ndarray:
                return np.all(V[..., axis] == at, axis=1) & np.all(V[..., 1 - axis] * half >= 0.0, axis=1)

            halves[name] = inside
            place = (at, half) if axis == 0 else (half, at)
            quadrant = {(1, 1): 0, (-1, 1): 1, (-1, -1): 2, (1, -1): 3}[int(place[0]), int(place[1])]
            angle = ANGLES["lower" if name == "right-" else side]
            scale = cot if quadrant % 2 else "1"
            data[name] = f"(x*x + y*y)**({g}/2)*{scale}*({waves[quadrant].replace('T', angle)})"
    mesh = with_sides(X, T, **halves)
    problem = pp.fem.ReactionDiffusion(mesh, 0.0, np.where(odd, 1.0, a), 0.0, dirichlet=data, degree=degree)
    gamma = 4 / arb.pi() * (1 / exactly(a).sqrt()).atan()

    def u(p: Any) -> arb:
        r, theta = polar(p)
        q = [(1, 1), (-1, 1), (-1, -1), (1, -1)].index((int(np.sign(p[0])), int(np.sign(p[1]))))
        pi, s = arb.pi(), gamma * arb.pi() / 4
        scale = s.cos() / s.sin() if q % 2 else arb(1)
        wave = [
            lambda: (gamma * (theta - pi / 4)).cos(),
            lambda: (gamma * (3 * pi / 4 - theta)).sin(),
            lambda: -(gamma * (theta - 5 * pi / 4)).cos(),
            lambda: -(gamma * (7 * pi / 4 - theta)).sin(),
        ][q]()
        return r**gamma * scale * wave

    P = np.array([[0.3, 0.4], [-0.5, 0.2], [-0.05, -0.06], [0.6, -0.7]])
    return Known(f"cross point P{degree} n={n} a={a}", problem, problem.points(P), [u(p) for p in P])


def constants(rng: Any, degree: int) -> Known:
    """−Δu = 1 with zero values, where series and long computations know the answer."""
    which = str(rng.choice(["square", "cube", "frame"]))
    if which == "frame":
        n = int(rng.integers(3 - degree, 5))
        x = np.linspace(-1.0, 1.0, 4 * n + 1)
        X, T = box([x, x], lambda c: np.abs(c).max(axis=1) > 0.5)
        P, answers, doubt = np.array([[0.75, 0.75]]), ["0.0334473"], 1.0e-7
        mesh = with_sides(X, T)
    elif which == "square":
        mesh = unit_mesh(
            rng,
            2,
            int(rng.integers(2, 18 if degree == 1 else 10)),
            str(rng.choice(["structured", "perturbed", "delaunay"])),
        )
        P, answers, doubt = np.array([[0.5, 0.5], [0.25, 0.5]]), ["0.0736713532815138", "0.0573349064746083"], 1e-16
    else:
        mesh = unit_mesh(
            rng,
            3,
            int(rng.integers(2, 6 if degree == 1 else 4)),
            str(rng.choice(["structured", "perturbed", "delaunay"])),
        )
        P, answers, doubt = np.array([[0.5, 0.5, 0.5]]), ["0.0562128298294354"], 1e-16
    problem = pp.fem.ReactionDiffusion(mesh, 1.0, degree=degree)
    return Known(
        f"{which} P{degree} {len(mesh.cells)} cells",
        problem,
        problem.points(P),
        [arb(a) + arb(0, doubt) for a in answers],
    )


FAMILIES: dict[str, Callable[[Any], Known]] = {
    "1D, P1": lambda rng: interval(rng, 1),
    "1D, P2": lambda rng: interval(rng, 2),
    "smooth 2D, P1": lambda rng: smooth(rng, 2, 1),
    "smooth 2D, P2": lambda rng: smooth(rng, 2, 2),
    "smooth 3D, P1": lambda rng: smooth(rng, 3, 1),
    "smooth 3D, P2": lambda rng: smooth(rng, 3, 2),
    "strips with fluxes 2D": lambda rng: strip(rng, 2, int(rng.integers(1, 3))),
    "strips with fluxes 3D": lambda rng: strip(rng, 3, int(rng.integers(1, 3))),
    "rings with fluxes": lambda rng: ring(rng, int(rng.integers(1, 3))),
    "layers 2D, P1": lambda rng: layered(rng, 2, 1),
    "layers 2D, P2": lambda rng: layered(rng, 2, 2),
    "layers 3D": lambda rng: layered(rng, 3, int(rng.integers(1, 3))),
    "layers, near a jump": lambda rng: layered(rng, int(rng.integers(2, 4)), int(rng.integers(1, 3)), True),
    "corners 2D": lambda rng: corner(rng, 2, int(rng.integers(1, 3))),
    "corners 3D": lambda rng: corner(rng, 3, int(rng.integers(1, 3))),
    "cross points": lambda rng: cross_point(rng, int(rng.integers(1, 3))),
    "−Δu = 1": lambda rng: constants(rng, int(rng.integers(1, 3))),
}
"""Family to a random member of it."""
