"""Turned ellipses and level sets: random problems on them against closed forms: studies/curved_levels.py [--parts N].

Domains are bounded by an ellipse turned by any angle, or by the zero set of one of four formulas with random numbers.
Values at points and the mean over the domain are certified from a solve and, where values are given on the curve, from
a prediction that is kept (`lift`), with its largest error. Truths: a closed form at points, a rule in polar coordinates
for the mean, and for the largest error values at its points from below. "missed" counts intervals that do not hold the
truth or are not proved.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.bent.projection import onto
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.round import disc_mesh

OUT = Path(__file__).parent / "results" / "curved_levels.json"
COUNT = 20
"""Problems of a part."""


def shape(rng: np.random.Generator) -> tuple[Any, tuple[str, str], Any, str]:
    """A curve, its formula's gradient, a point inside, and what it is."""
    a, b, t = (float(v) for v in (rng.uniform(0.7, 1.3), rng.uniform(0.5, 1.2), rng.uniform(-3.0, 3.0)))
    c = [float(v) for v in rng.uniform(-0.4, 0.4, 2)]
    X, Y = (f"({v} - ({p!r}))" for v, p in zip("xy", c, strict=True))
    kind = int(rng.integers(5))
    if kind == 0:
        one, two = f"(cos({t!r})*{X} + sin({t!r})*{Y})/{a * a!r}", f"(cos({t!r})*{Y} - sin({t!r})*{X})/{b * b!r}"
        slope = f"{one}*cos({t!r}) - {two}*sin({t!r})", f"{one}*sin({t!r}) + {two}*cos({t!r})"
        return pp.Ellipse((c[0], c[1]), (a, b), t), slope, np.array(c), "ellipse, turned"
    square, e, k = f"({X}**2 + {Y}**2)", 0.15 * a, 0.3 * a
    if kind == 1:
        text, slope = f"{X}**2/{a * a!r} + {b!r}*{Y}**4 - 1", (f"2*{X}/{a * a!r}", f"{4 * b!r}*{Y}**3")
    elif kind == 2:
        text = f"{square} + {e!r}*({X}**3 - 3*{X}*{Y}**2) - {b!r}"
        slope = f"2*{X} + {3 * e!r}*({X}**2 - {Y}**2)", f"2*{Y} - {6 * e!r}*{X}*{Y}"
    elif kind == 3:
        text = f"exp({k!r}*{X})*{square} - {b!r} + 0.1*sin(2*{Y})"
        slope = f"exp({k!r}*{X})*({k!r}*{square} + 2*{X})", f"2*exp({k!r}*{X})*{Y} + 0.2*cos(2*{Y})"
    else:
        inner = f"(0.2 + {X}**2/{a!r} + {Y}**2/{b!r})"
        text = f"log{inner} + 0.1*cos(3*{X})"
        slope = f"2*{X}/({a!r}*{inner}) - 0.3*sin(3*{X})", f"2*{Y}/({b!r}*{inner})"
    return pp.LevelSet(text), slope, np.array(c), f"level set {kind}"


def reach(level: Any, c: Any, angle: Any) -> Any:
    """Distances from a point inside to the curve along rays, by bisection."""
    d = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    low, high = np.zeros(len(angle)), np.full(len(angle), 4.0)
    for r in np.linspace(4.0, 0.02, 400):
        high = np.where(level(c + r * d) > 0.0, r, high)
    low = high - 0.02
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = level(c + middle[:, None] * d) < 0.0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return 0.5 * (low + high)


def meshed(given: Any, c: Any, n: int) -> Mesh:
    """A disc's mesh with its rings stretched to the curve."""
    plain = disc_mesh(n)
    P = plain.points
    X = c + P * reach(given.level, c, np.arctan2(P[:, 1], P[:, 0]))[:, None]
    rim = np.unique(plain.facets("rim"))
    X[rim] = onto(given.level, X[rim])
    return Mesh(X, plain.cells, {}, dict(plain.facet_groups))


def rule(level: Any, c: Any) -> tuple[Any, Any]:
    """Points and weights of a rule for means over the domain."""
    angle = 2.0 * np.pi * np.arange(400) / 400
    R = reach(level, c, angle)[:, None]
    x, w = np.polynomial.legendre.leggauss(24)
    r = 0.5 * R * (x + 1.0)
    X = c + np.stack([r * np.cos(angle)[:, None], r * np.sin(angle)[:, None]], axis=-1).reshape(-1, 2)
    weight = (R * w * r).ravel()
    return X, weight / weight.sum()


def rows_of(rng: np.random.Generator) -> list[dict[str, Any]]:
    """One random problem."""
    given, slope, c, what = shape(rng)
    mesh = meshed(given, c, int(rng.integers(5, 9)))
    a, b, t = (float(v) for v in (rng.uniform(0.5, 1.5), rng.uniform(0.5, 2.5), rng.uniform(-1.0, 1.0)))
    kappa, reaction = float(rng.choice([0.1, 1.0, 7.0])), float(rng.choice([0.0, 2.0]))
    kind = str(rng.choice(["dirichlet", "dirichlet", "neumann", "robin"]))
    reaction = 2.0 if kind == "neumann" else reaction
    phase = f"({b!r}*y + ({t!r}))"
    u = f"(2 + exp({a!r}*x)*sin{phase})"
    ux, uy = f"{a!r}*exp({a!r}*x)*sin{phase}", f"{b!r}*exp({a!r}*x)*cos{phase}"
    flux = f"{kappa!r}*({ux}*({slope[0]}) + {uy}*({slope[1]}))/sqrt(({slope[0]})**2 + ({slope[1]})**2)"
    data: dict[str, Any] = {"dirichlet": {"rim": u} if kind == "dirichlet" else {}}
    if kind == "neumann":
        data["neumann"] = {"rim": flux}
    elif kind == "robin":
        data["robin"] = {"rim": (1.3, f"{flux} + 1.3*{u}")}
    degree = 2 if rng.uniform() < 0.8 else 1
    source = f"{kappa * (b * b - a * a)!r}*({u} - 2) + {reaction!r}*{u}"
    problem = pp.fem.ReactionDiffusion(
        mesh, source, kappa, reaction=reaction, degree=degree, geometry={"rim": given}, **data
    )

    def value(X: Any) -> Any:
        return 2.0 + np.exp(a * X[:, 0]) * np.sin(b * X[:, 1] + t)

    X = c + rng.uniform(-0.15, 0.15, (3, 2))
    P, weight = rule(given.level, c)
    truth = np.append(value(X), weight @ value(P))
    asked = problem.points(X) + problem.mean()
    found = [(f"{what}, {kind}", pp.certify(problem, problem.space.U0, asked), truth)]
    if kind == "dirichlet":
        size = float(rng.choice([1e-2, 1e-3]))
        kept = pp.certify(problem, f"{u} + {size!r}*cos(3*x - 2*y)", asked + problem.everywhere(), lift="anyway")
        worst = size * np.abs(np.cos(3.0 * P[:, 0] - 2.0 * P[:, 1])).max()
        found.append((f"{what}, kept", kept, np.append(truth, worst)))
    return [row for name, certificate, true in found for row in judged(name, certificate, true)]


def judged(name: str, certificate: Any, truth: Any) -> list[dict[str, Any]]:
    """A row for each interval; a largest error is only known from below, by samples."""
    proved = certificate.guarantee == "deterministic"
    found = []
    for i, t in enumerate(truth):
        low, high = float(certificate.lower[i]), float(certificate.upper[i])
        missed = not (proved and low <= t <= high) if i < 4 else not (proved and t <= high)
        share = float(certificate.radius[i] / abs(t))
        off = float(abs(certificate.center[i] - t) / certificate.radius[i])
        found.append({"what": name, "missed": missed, "share": share, "off": off, "bound": i == 4})
    return found


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of intervals."""
    share = [row["share"] for row in rows if not row["bound"]]
    return {
        "intervals": len(rows),
        "missed": sum(row["missed"] for row in rows),
        "narrower than 1 %": sum(s < 0.01 for s in share),
        "median share": float(np.median(share)),
        "widest share": max(share),
    }


def part(seed: int, count: int) -> list[dict[str, Any]]:
    """So many random problems."""
    rng = np.random.default_rng(seed)
    return [row for _ in range(count) for row in rows_of(rng)]


def main(arguments: list[str]) -> dict[str, Any]:
    """Parts are kept one by one and not run again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", type=int, default=3)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args(arguments)
    before = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else {}
    parts, found = dict(before.get("parts", {})), before
    for seed in range(1, asked.parts + 1):
        if str(seed) not in parts:
            parts[str(seed)] = part(seed, COUNT)
        rows = [row for each in parts.values() for row in each]
        kinds = sorted({row["what"] for row in rows})
        table = {what: summary([row for row in rows if row["what"] == what]) for what in kinds}
        found = {"all": summary(rows), **table, "parts": parts}
        asked.out.write_text(json.dumps(found) + "\n", encoding="utf-8")
        print(seed, found["all"], flush=True)
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
