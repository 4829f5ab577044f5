"""Closed forms of elasticity with random numbers: waves, Lamé, Kirsch, Timoshenko, layers 1:1000, thick plates.

Each function draws a problem, its queries, the true values, and a few words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from tests.support import polynomials as poly
from tests.support import solids

SIDES = {2: ("left", "right", "bottom", "top"), 3: ("left", "right", "bottom", "top", "front", "back")}
Case = tuple[Any, Any, list[Any], str]


def drawn_poisson(rng: np.random.Generator) -> float:
    """From −0.2 to 0.499, both ends among them."""
    ends = [-0.2, 0.499]
    return float(ends[int(rng.integers(0, 2))] if rng.random() < 0.2 else rng.uniform(-0.2, 0.499))


def conditions(
    rng: np.random.Generator, u: Sequence[str], traction: Callable[[int, int, int], str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Clamps, rollers and tractions at random on the sides of a box, the first one a clamp.

    `traction` makes the formula of a component's traction from its number, the axis of the side, and ±1.
    """
    d, fixed, given = len(u), dict[str, Any](), dict[str, Any]()
    for number, name in enumerate(SIDES[d]):
        axis, side = divmod(number, 2)
        kind = "clamp" if number == 0 else str(rng.choice(["clamp", "roller", "traction", "traction"]))
        pulls = tuple(traction(c, axis, 2 * side - 1) for c in range(d))
        if kind == "clamp":
            fixed[name] = tuple(u)
        elif kind == "roller":
            fixed[name] = tuple(u[c] if c == axis else "free" for c in range(d))
            given[name] = tuple(None if c == axis else pulls[c] for c in range(d))
        else:
            given[name] = pulls
    return fixed, given


class Waves:
    """u_i = a_i sin(w_i·x + s_i): its stress and its load, as formulas with exact coefficients and as numbers."""

    def __init__(self, rng: np.random.Generator, d: int, lam: Fraction, mu: Fraction) -> None:
        self.d, self.lam, self.mu = d, lam, mu
        self.a = [Fraction(int(v), 4) for v in rng.integers(1, 9, d)]
        self.w = [[Fraction(int(v), 4) for v in row] for row in rng.integers(-10, 11, (d, d))]
        self.s = [Fraction(int(v), 4) for v in rng.integers(0, 12, d)]

    def phase(self, i: int) -> str:
        """w_i·x + s_i."""
        return " + ".join([f"({w})*{x}" for w, x in zip(self.w[i], "xyz", strict=False)] + [f"({self.s[i]})"])

    def slopes(self, i: int, j: int) -> list[tuple[Fraction, int]]:
        """σ_ij as coefficients of the waves' cosines."""
        found = [(self.mu * self.a[i] * self.w[i][j], i), (self.mu * self.a[j] * self.w[j][i], j)]
        return found + ([(self.lam * self.a[k] * self.w[k][k], k) for k in range(self.d)] if i == j else [])

    def texts(self) -> list[str]:
        """The displacement."""
        return [f"({self.a[i]})*sin({self.phase(i)})" for i in range(self.d)]

    def traction(self, c: int, axis: int, sign: int) -> str:
        """±σ_{c, axis}."""
        return " + ".join(f"({sign * f})*cos({self.phase(k)})" for f, k in self.slopes(c, axis))

    def body(self) -> list[str]:
        """−∇·σ."""
        found = []
        for i in range(self.d):
            terms = [(self.mu * self.a[i] * sum(v * v for v in self.w[i]), i)]
            terms += [((self.lam + self.mu) * self.a[j] * self.w[j][i] * self.w[j][j], j) for j in range(self.d)]
            found.append(" + ".join(f"({f})*sin({self.phase(k)})" for f, k in terms))
        return found

    def _angles(self, x: Any) -> list[float]:
        return [
            float(sum(w * Fraction(float(v)) for w, v in zip(row, x, strict=True)) + s)
            for row, s in zip(self.w, self.s, strict=True)
        ]

    def shift(self, x: Any) -> list[float]:
        """u(x)."""
        return [float(a) * np.sin(t) for a, t in zip(self.a, self._angles(x), strict=True)]

    def stress(self, x: Any, i: int, j: int) -> float:
        """σ_ij(x)."""
        t = self._angles(x)
        return float(sum(float(f) * np.cos(t[k]) for f, k in self.slopes(i, j)))


def waves(rng: np.random.Generator, quick: bool) -> Case:
    """Trigonometric displacements, given by formulas on held sides; tractions and forces by formulas too."""
    d, degree = int(rng.choice([2, 2, 2, 3])), int(rng.integers(1, 3))
    n = int(rng.integers(3, 5 if quick else 13)) if d == 2 else int(rng.integers(2, 3 if quick else 5))
    plane = str(rng.choice(["strain", "stress"])) if d == 2 else "strain"
    young, nu = float(rng.choice([0.5, 1.0, 300.0])), drawn_poisson(rng)
    field = Waves(rng, d, *poly.lame(young, nu, plane))
    fixed, traction = conditions(rng, field.texts(), field.traction)
    mesh = poly.distorted(generate({2: "square", 3: "cube"}[d], n), rng, float(rng.choice([0.0, 0.3])))
    problem = pp.fem.Elasticity(mesh, young, nu, field.body(), fixed, traction, plane=plane, degree=degree)
    x, k = rng.uniform(0.2, 0.8, d), int(rng.integers(0, d))
    i, j = sorted(rng.integers(0, d, 2).tolist())
    queries = problem.points([x], k, ["u"]) + problem.stress([x], "xyz"[i] + "xyz"[j], ["stress"])
    queries = queries + problem.magnitude([x], ["length"])
    u = field.shift(x)
    exact = [u[k], field.stress(x, i, j), *u, float(np.linalg.norm(u))]
    return problem, queries, exact, f"waves {d}D P{degree} n={n} nu={nu:.3f} {plane}"


def plane_case(rng: np.random.Generator, made: tuple[Any, Any, Any], at: Any, words: str) -> Case:
    """Displacements and stresses at a point of a plane body with closed forms."""
    problem, shift, stress = made
    pair, k = str(rng.choice(["xx", "xy", "yy"])), int(rng.integers(0, 2))
    queries = problem.points(at, k, ["u"]) + problem.stress(at, pair, ["stress"]) + problem.von_mises(at, ["mises"])
    s = {c: float(v[0]) for c, v in stress(at).items()}
    nu, plane = float(problem.given["poisson"]), problem.given["plane"]
    zz = nu * (s["xx"] + s["yy"]) if plane == "strain" else 0.0
    a, b, c = s["xx"], s["yy"], zz
    mises = np.sqrt(0.5 * ((a - b) ** 2 + (b - c) ** 2 + (c - a) ** 2) + 3.0 * s["xy"] ** 2)
    exact = [float(shift(at)[0, k]), s[pair], s["xx"], s["xy"], s["yy"], float(mises)]
    return problem, queries, exact, f"{words} P{problem.degree} nu={nu:.3f} {plane}"


def lame(rng: np.random.Generator, quick: bool) -> Case:
    """Lamé's ring, under the exact tractions of the polygon's sides."""
    n, plane = int(rng.integers(4, 7 if quick else 17)), str(rng.choice(["strain", "stress"]))
    A, B = (float(v) for v in rng.uniform(-1.0, 1.0, 2))
    given = {"young": float(rng.choice([0.5, 2.0, 200.0])), "poisson": drawn_poisson(rng), "plane": plane}
    made = solids.ring(n, degree=int(rng.integers(1, 3)), A=A, B=B, **given)
    r, t = rng.uniform(1.25, 1.75), rng.uniform(0.25, 1.3)
    return plane_case(rng, made, [[r * np.cos(t), r * np.sin(t)]], f"ring n={n}")


def kirsch(rng: np.random.Generator, quick: bool) -> Case:
    """Kirsch's plate, under his own tractions."""
    n, plane = int(rng.integers(6, 9 if quick else 21)), str(rng.choice(["strain", "stress"]))
    given = {"young": float(rng.choice([0.5, 2.0, 200.0])), "poisson": drawn_poisson(rng), "plane": plane}
    made = solids.kirsch(n, degree=int(rng.integers(1, 3)), **given)
    r, t = rng.uniform(0.4, 0.85), rng.uniform(0.3, 1.2)
    return plane_case(rng, made, [[r * np.cos(t), r * np.sin(t)]], f"Kirsch n={n}")


def beam(rng: np.random.Generator, quick: bool) -> Case:
    """Timoshenko's beam."""
    n, long, high = int(rng.integers(2, 4 if quick else 9)), float(rng.uniform(2.0, 8.0)), float(rng.uniform(0.7, 1.5))
    given = {"length": long, "height": high, "poisson": drawn_poisson(rng)}
    made = solids.timoshenko(n, degree=int(rng.integers(1, 3)), **given)
    at = [[long * rng.uniform(0.2, 0.8), high * rng.uniform(-0.3, 0.3)]]
    return plane_case(rng, made, at, f"beam n={n} {long:.1f} x {high:.1f}")


class Layers:
    """Two materials that meet at x = ½: displacements p(x) along x and q(x) across, and a stretch e along y.

    (λ + 2μ)p′ + λe = F and μq′ = G are one polynomial for both, so tractions are continuous; the force is −F′, −G′.
    """

    def __init__(self, rng: np.random.Generator, d: int, materials: list[tuple[Fraction, Fraction]]) -> None:
        self.d, self.materials = d, materials
        self.flow = [self._line([Fraction(int(v), 2) for v in rng.integers(-4, 5, 3)]) for _ in range(d)]
        self.e = Fraction(int(rng.integers(-4, 5)), 8 * max(int(lam + 2 * mu) for lam, mu in materials))
        starts = [[Fraction(0)] * d]
        half = [Fraction(1, 2), *[Fraction(0)] * (d - 1)]
        starts.append([self._whole(0, c, starts[0])(half) - self._whole(1, c, starts[0])(half) for c in range(d)])
        self.u = [[self._whole(m, c, start) for c in range(d)] for m, start in enumerate(starts)]

    def _line(self, coefficients: list[Fraction]) -> Any:
        return poly.Polynomial({(k, *[0] * (self.d - 1)): v for k, v in enumerate(coefficients)})

    def _whole(self, m: int, c: int, start: list[Fraction]) -> Any:
        lam, mu = self.materials[m]
        slope = (
            (self.flow[0] + -lam * self.e * poly.one(self.d)) * (1 / (lam + 2 * mu))
            if c == 0
            else self.flow[c] * (1 / mu)
        )
        found = poly.Polynomial({(p[0] + 1, *p[1:]): v / (p[0] + 1) for p, v in slope.terms.items()})
        found = found + start[c] * poly.one(self.d)
        return found + self.e * poly.coordinate(1, self.d) if c == 1 else found

    def stress(self, m: int, i: int, j: int) -> Any:
        """σ_ij of a material, a polynomial."""
        return poly.stress(self.u[m], *self.materials[m], i, j)

    def body(self) -> list[str]:
        """−∇·σ."""
        return [(-1 * f.slope(0)).text for f in self.flow]


def layers(rng: np.random.Generator, quick: bool) -> Case:
    """Young's moduli up to 1:1000 on the two sides of x = ½, which vertices stay on; any ν on each side."""
    d, degree = int(rng.choice([2, 2, 2, 3])), int(rng.integers(1, 3))
    n = 2 * int(rng.integers(1, 3 if quick else 7)) if d == 2 else 2 * int(rng.integers(1, 2 if quick else 3))
    ratio = float(rng.choice([1000.0, 1000.0, 1 / 1024, 16.0]))
    young, nu = [1.0, ratio], [drawn_poisson(rng), drawn_poisson(rng)]
    field = Layers(rng, d, [poly.lame(E, v) for E, v in zip(young, nu, strict=True)])
    box = generate({2: "square", 3: "cube"}[d], n)
    X = poly.distorted(box, rng, float(rng.choice([0.0, 0.3]))).points.copy()
    middle = box.points[:, 0] == 0.5
    X[middle, 0] = 0.5
    soft = box.points[box.cells].mean(axis=1)[:, 0] < 0.5
    groups, traction = {"left": box.facets("left"), "right": box.facets("right")}, dict[str, Any]()
    for number, name in enumerate(SIDES[d][1:], start=1):
        axis, side = divmod(number, 2)
        facets = box.facets(name)
        low = box.points[facets].mean(axis=1)[:, 0] < 0.5
        for m, rows in enumerate((low, ~low)):
            if not rows.any():
                continue
            groups[f"{name} {m}"] = facets[rows]
            traction[f"{name} {m}"] = tuple(((2 * side - 1) * field.stress(m, c, axis)).text for c in range(d))
    fixed = {"left": tuple(p.text for p in field.u[0])}
    mesh = Mesh(X, box.cells, facet_groups=groups)
    by_cell = [np.where(soft, *pair) for pair in (young, nu)]
    problem = pp.fem.Elasticity(mesh, *by_cell, field.body(), fixed, traction, degree=degree)
    m, k = int(rng.integers(0, 2)), int(rng.integers(0, d))
    x = np.array([0.5 * m + rng.uniform(0.15, 0.35), *rng.uniform(0.2, 0.8, d - 1)])
    i, j = sorted(rng.integers(0, d, 2).tolist())
    queries = problem.points([x], k, ["u"]) + problem.stress([x], "xyz"[i] + "xyz"[j], ["stress"])
    queries = queries + problem.patch("right", "x", "end") + problem.reaction("left", "y", "reaction")
    end = poly.face_mean(field.u[1][0], 0, 1)
    exact = [field.u[m][k](x), field.stress(m, i, j)(x), end, -poly.face_mean(field.stress(0, 1, 0), 0, 0)]
    return problem, queries, exact, f"layers {d}D P{degree} n={n} 1:{ratio:g} nu={nu[0]:.3f}, {nu[1]:.3f}"


def slab(rng: np.random.Generator, quick: bool) -> Case:
    """A thick plate on simple supports under a sine of pressure, after Navier and Vlasov."""
    n, m, nu = int(rng.integers(2, 4 if quick else 7)), int(rng.integers(1, 3)), drawn_poisson(rng)
    high, young = float(rng.uniform(0.3, 1.0)), float(rng.choice([1.0, 70.0]))
    problem, shift, stress = solids.slab(n, m, high=high, young=young, poisson=nu, degree=int(rng.integers(1, 3)))
    x = [[rng.uniform(0.3, 0.7), rng.uniform(0.3, 0.7), high * rng.uniform(0.3, 0.7)]]
    pair = str(rng.choice(["xx", "zz", "xz"]))
    queries = problem.points(x, "z", ["w"]) + problem.stress(x, pair, ["stress"]) + problem.points(x, "x", ["u"])
    u = shift(x)[0]
    exact = [float(u[2]), float(stress(x)[pair][0]), float(u[0])]
    return problem, queries, exact, f"slab n={n} {m} h={high:.2f} P{problem.degree} nu={nu:.3f}"
